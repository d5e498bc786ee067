# Generated from the rows in src/rust/core/src/ops/ by `make generate`. Do not edit by hand.

#' @method - AnvilValue
#' @export
`-.AnvilValue` <- function(e1, e2) {
  if (missing(e2)) .External(anvil_op, "negate", e1) else .External(anvil_op, "sub", e1, e2)
}

#' @method abs AnvilValue
#' @export
`abs.AnvilValue` <- function(x) .External(anvil_op, "abs", x)

#' @method sign AnvilValue
#' @export
`sign.AnvilValue` <- function(x) .External(anvil_op, "sign", x)

#' @method sqrt AnvilValue
#' @export
`sqrt.AnvilValue` <- function(x) .External(anvil_op, "sqrt", x)

#' @method exp AnvilValue
#' @export
`exp.AnvilValue` <- function(x) .External(anvil_op, "exp", x)

#' @method expm1 AnvilValue
#' @export
`expm1.AnvilValue` <- function(x) .External(anvil_op, "expm1", x)

#' @method log1p AnvilValue
#' @export
`log1p.AnvilValue` <- function(x) .External(anvil_op, "log1p", x)

#' @method log2 AnvilValue
#' @export
`log2.AnvilValue` <- function(x) .External(anvil_op, "log2", x)

#' @method log10 AnvilValue
#' @export
`log10.AnvilValue` <- function(x) .External(anvil_op, "log10", x)

#' @method sin AnvilValue
#' @export
`sin.AnvilValue` <- function(x) .External(anvil_op, "sin", x)

#' @method cos AnvilValue
#' @export
`cos.AnvilValue` <- function(x) .External(anvil_op, "cos", x)

#' @method tan AnvilValue
#' @export
`tan.AnvilValue` <- function(x) .External(anvil_op, "tan", x)

#' @method sinpi AnvilValue
#' @export
`sinpi.AnvilValue` <- function(x) .External(anvil_op, "sinpi", x)

#' @method cospi AnvilValue
#' @export
`cospi.AnvilValue` <- function(x) .External(anvil_op, "cospi", x)

#' @method tanpi AnvilValue
#' @export
`tanpi.AnvilValue` <- function(x) .External(anvil_op, "tanpi", x)

#' @method asin AnvilValue
#' @export
`asin.AnvilValue` <- function(x) .External(anvil_op, "asin", x)

#' @method acos AnvilValue
#' @export
`acos.AnvilValue` <- function(x) .External(anvil_op, "acos", x)

#' @method atan AnvilValue
#' @export
`atan.AnvilValue` <- function(x) .External(anvil_op, "atan", x)

#' @method sinh AnvilValue
#' @export
`sinh.AnvilValue` <- function(x) .External(anvil_op, "sinh", x)

#' @method cosh AnvilValue
#' @export
`cosh.AnvilValue` <- function(x) .External(anvil_op, "cosh", x)

#' @method tanh AnvilValue
#' @export
`tanh.AnvilValue` <- function(x) .External(anvil_op, "tanh", x)

#' @method asinh AnvilValue
#' @export
`asinh.AnvilValue` <- function(x) .External(anvil_op, "asinh", x)

#' @method acosh AnvilValue
#' @export
`acosh.AnvilValue` <- function(x) .External(anvil_op, "acosh", x)

#' @method atanh AnvilValue
#' @export
`atanh.AnvilValue` <- function(x) .External(anvil_op, "atanh", x)

#' @method gamma AnvilValue
#' @export
`gamma.AnvilValue` <- function(x) .External(anvil_op, "gamma", x)

#' @method lgamma AnvilValue
#' @export
`lgamma.AnvilValue` <- function(x) .External(anvil_op, "lgamma", x)

#' @method digamma AnvilValue
#' @export
`digamma.AnvilValue` <- function(x) .External(anvil_op, "digamma", x)

#' @method floor AnvilValue
#' @export
`floor.AnvilValue` <- function(x) .External(anvil_op, "floor", x)

#' @method ceiling AnvilValue
#' @export
`ceiling.AnvilValue` <- function(x) .External(anvil_op, "ceiling", x)

#' @method Conj AnvilValue
#' @export
`Conj.AnvilValue` <- function(z) .External(anvil_op, "conj", z)

#' @method ! AnvilValue
#' @export
`!.AnvilValue` <- function(x) .External(anvil_op, "not", x)

#' @method is.finite AnvilValue
#' @export
`is.finite.AnvilValue` <- function(x) .External(anvil_op, "is_finite", x)

#' @method is.infinite AnvilValue
#' @export
`is.infinite.AnvilValue` <- function(x) .External(anvil_op, "is_infinite", x)

#' @method is.nan AnvilValue
#' @export
`is.nan.AnvilValue` <- function(x) .External(anvil_op, "is_nan", x)

#' @method Re AnvilValue
#' @export
`Re.AnvilValue` <- function(z) .External(anvil_op, "real", z)

#' @method Im AnvilValue
#' @export
`Im.AnvilValue` <- function(z) .External(anvil_op, "imag", z)

#' @method Arg AnvilValue
#' @export
`Arg.AnvilValue` <- function(z) .External(anvil_op, "arg", z)

#' @method Mod AnvilValue
#' @export
`Mod.AnvilValue` <- function(z) .External(anvil_op, "magnitude", z)

#' @method + AnvilValue
#' @export
`+.AnvilValue` <- function(e1, e2) {
  if (missing(e2)) e1 else .External(anvil_op, "add", e1, e2)
}

#' @method * AnvilValue
#' @export
`*.AnvilValue` <- function(e1, e2 = abort_missing("e2")) .External(anvil_op, "mul", e1, e2)

#' @method ^ AnvilValue
#' @export
`^.AnvilValue` <- function(e1, e2 = abort_missing("e2")) .External(anvil_op, "pow", e1, e2)

#' @method %% AnvilValue
#' @export
`%%.AnvilValue` <- function(e1, e2 = abort_missing("e2")) .External(anvil_op, "mod", e1, e2)

#' @method %/% AnvilValue
#' @export
`%/%.AnvilValue` <- function(e1, e2 = abort_missing("e2")) .External(anvil_op, "floor_div", e1, e2)

#' @method & AnvilValue
#' @export
`&.AnvilValue` <- function(e1, e2 = abort_missing("e2")) .External(anvil_op, "and", e1, e2)

#' @method | AnvilValue
#' @export
`|.AnvilValue` <- function(e1, e2 = abort_missing("e2")) .External(anvil_op, "or", e1, e2)

#' @method == AnvilValue
#' @export
`==.AnvilValue` <- function(e1, e2 = abort_missing("e2")) .External(anvil_op, "eq", e1, e2)

#' @method != AnvilValue
#' @export
`!=.AnvilValue` <- function(e1, e2 = abort_missing("e2")) .External(anvil_op, "ne", e1, e2)

#' @method > AnvilValue
#' @export
`>.AnvilValue` <- function(e1, e2 = abort_missing("e2")) .External(anvil_op, "gt", e1, e2)

#' @method >= AnvilValue
#' @export
`>=.AnvilValue` <- function(e1, e2 = abort_missing("e2")) .External(anvil_op, "ge", e1, e2)

#' @method < AnvilValue
#' @export
`<.AnvilValue` <- function(e1, e2 = abort_missing("e2")) .External(anvil_op, "lt", e1, e2)

#' @method <= AnvilValue
#' @export
`<=.AnvilValue` <- function(e1, e2 = abort_missing("e2")) .External(anvil_op, "le", e1, e2)
