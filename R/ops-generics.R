# Generated from the rows in src/rust/core/src/ops/ by `make generate`. Do not edit by hand.

#' @method - AnvilValue
#' @export
#' @rawNamespace S3method("-",AnvilTensor,"-.AnvilValue")
#' @rawNamespace S3method("-",AnvilTracer,"-.AnvilValue")
`-.AnvilValue` <- function(e1, e2) {
  if (missing(e2)) .External(anvil_op, "negate", e1) else .External(anvil_op, "sub", e1, e2)
}

#' @method abs AnvilValue
#' @export
#' @rawNamespace S3method("abs",AnvilTensor,"abs.AnvilValue")
#' @rawNamespace S3method("abs",AnvilTracer,"abs.AnvilValue")
`abs.AnvilValue` <- function(x) .External(anvil_op, "abs", x)

#' @method sign AnvilValue
#' @export
#' @rawNamespace S3method("sign",AnvilTensor,"sign.AnvilValue")
#' @rawNamespace S3method("sign",AnvilTracer,"sign.AnvilValue")
`sign.AnvilValue` <- function(x) .External(anvil_op, "sign", x)

#' @method sqrt AnvilValue
#' @export
#' @rawNamespace S3method("sqrt",AnvilTensor,"sqrt.AnvilValue")
#' @rawNamespace S3method("sqrt",AnvilTracer,"sqrt.AnvilValue")
`sqrt.AnvilValue` <- function(x) .External(anvil_op, "sqrt", x)

#' @method exp AnvilValue
#' @export
#' @rawNamespace S3method("exp",AnvilTensor,"exp.AnvilValue")
#' @rawNamespace S3method("exp",AnvilTracer,"exp.AnvilValue")
`exp.AnvilValue` <- function(x) .External(anvil_op, "exp", x)

#' @method expm1 AnvilValue
#' @export
#' @rawNamespace S3method("expm1",AnvilTensor,"expm1.AnvilValue")
#' @rawNamespace S3method("expm1",AnvilTracer,"expm1.AnvilValue")
`expm1.AnvilValue` <- function(x) .External(anvil_op, "expm1", x)

#' @method log1p AnvilValue
#' @export
#' @rawNamespace S3method("log1p",AnvilTensor,"log1p.AnvilValue")
#' @rawNamespace S3method("log1p",AnvilTracer,"log1p.AnvilValue")
`log1p.AnvilValue` <- function(x) .External(anvil_op, "log1p", x)

#' @method log2 AnvilValue
#' @export
#' @rawNamespace S3method("log2",AnvilTensor,"log2.AnvilValue")
#' @rawNamespace S3method("log2",AnvilTracer,"log2.AnvilValue")
`log2.AnvilValue` <- function(x) .External(anvil_op, "log2", x)

#' @method log10 AnvilValue
#' @export
#' @rawNamespace S3method("log10",AnvilTensor,"log10.AnvilValue")
#' @rawNamespace S3method("log10",AnvilTracer,"log10.AnvilValue")
`log10.AnvilValue` <- function(x) .External(anvil_op, "log10", x)

#' @method sin AnvilValue
#' @export
#' @rawNamespace S3method("sin",AnvilTensor,"sin.AnvilValue")
#' @rawNamespace S3method("sin",AnvilTracer,"sin.AnvilValue")
`sin.AnvilValue` <- function(x) .External(anvil_op, "sin", x)

#' @method cos AnvilValue
#' @export
#' @rawNamespace S3method("cos",AnvilTensor,"cos.AnvilValue")
#' @rawNamespace S3method("cos",AnvilTracer,"cos.AnvilValue")
`cos.AnvilValue` <- function(x) .External(anvil_op, "cos", x)

#' @method tan AnvilValue
#' @export
#' @rawNamespace S3method("tan",AnvilTensor,"tan.AnvilValue")
#' @rawNamespace S3method("tan",AnvilTracer,"tan.AnvilValue")
`tan.AnvilValue` <- function(x) .External(anvil_op, "tan", x)

#' @method sinpi AnvilValue
#' @export
#' @rawNamespace S3method("sinpi",AnvilTensor,"sinpi.AnvilValue")
#' @rawNamespace S3method("sinpi",AnvilTracer,"sinpi.AnvilValue")
`sinpi.AnvilValue` <- function(x) .External(anvil_op, "sinpi", x)

#' @method cospi AnvilValue
#' @export
#' @rawNamespace S3method("cospi",AnvilTensor,"cospi.AnvilValue")
#' @rawNamespace S3method("cospi",AnvilTracer,"cospi.AnvilValue")
`cospi.AnvilValue` <- function(x) .External(anvil_op, "cospi", x)

#' @method tanpi AnvilValue
#' @export
#' @rawNamespace S3method("tanpi",AnvilTensor,"tanpi.AnvilValue")
#' @rawNamespace S3method("tanpi",AnvilTracer,"tanpi.AnvilValue")
`tanpi.AnvilValue` <- function(x) .External(anvil_op, "tanpi", x)

#' @method asin AnvilValue
#' @export
#' @rawNamespace S3method("asin",AnvilTensor,"asin.AnvilValue")
#' @rawNamespace S3method("asin",AnvilTracer,"asin.AnvilValue")
`asin.AnvilValue` <- function(x) .External(anvil_op, "asin", x)

#' @method acos AnvilValue
#' @export
#' @rawNamespace S3method("acos",AnvilTensor,"acos.AnvilValue")
#' @rawNamespace S3method("acos",AnvilTracer,"acos.AnvilValue")
`acos.AnvilValue` <- function(x) .External(anvil_op, "acos", x)

#' @method atan AnvilValue
#' @export
#' @rawNamespace S3method("atan",AnvilTensor,"atan.AnvilValue")
#' @rawNamespace S3method("atan",AnvilTracer,"atan.AnvilValue")
`atan.AnvilValue` <- function(x) .External(anvil_op, "atan", x)

#' @method sinh AnvilValue
#' @export
#' @rawNamespace S3method("sinh",AnvilTensor,"sinh.AnvilValue")
#' @rawNamespace S3method("sinh",AnvilTracer,"sinh.AnvilValue")
`sinh.AnvilValue` <- function(x) .External(anvil_op, "sinh", x)

#' @method cosh AnvilValue
#' @export
#' @rawNamespace S3method("cosh",AnvilTensor,"cosh.AnvilValue")
#' @rawNamespace S3method("cosh",AnvilTracer,"cosh.AnvilValue")
`cosh.AnvilValue` <- function(x) .External(anvil_op, "cosh", x)

#' @method tanh AnvilValue
#' @export
#' @rawNamespace S3method("tanh",AnvilTensor,"tanh.AnvilValue")
#' @rawNamespace S3method("tanh",AnvilTracer,"tanh.AnvilValue")
`tanh.AnvilValue` <- function(x) .External(anvil_op, "tanh", x)

#' @method asinh AnvilValue
#' @export
#' @rawNamespace S3method("asinh",AnvilTensor,"asinh.AnvilValue")
#' @rawNamespace S3method("asinh",AnvilTracer,"asinh.AnvilValue")
`asinh.AnvilValue` <- function(x) .External(anvil_op, "asinh", x)

#' @method acosh AnvilValue
#' @export
#' @rawNamespace S3method("acosh",AnvilTensor,"acosh.AnvilValue")
#' @rawNamespace S3method("acosh",AnvilTracer,"acosh.AnvilValue")
`acosh.AnvilValue` <- function(x) .External(anvil_op, "acosh", x)

#' @method atanh AnvilValue
#' @export
#' @rawNamespace S3method("atanh",AnvilTensor,"atanh.AnvilValue")
#' @rawNamespace S3method("atanh",AnvilTracer,"atanh.AnvilValue")
`atanh.AnvilValue` <- function(x) .External(anvil_op, "atanh", x)

#' @method gamma AnvilValue
#' @export
#' @rawNamespace S3method("gamma",AnvilTensor,"gamma.AnvilValue")
#' @rawNamespace S3method("gamma",AnvilTracer,"gamma.AnvilValue")
`gamma.AnvilValue` <- function(x) .External(anvil_op, "gamma", x)

#' @method lgamma AnvilValue
#' @export
#' @rawNamespace S3method("lgamma",AnvilTensor,"lgamma.AnvilValue")
#' @rawNamespace S3method("lgamma",AnvilTracer,"lgamma.AnvilValue")
`lgamma.AnvilValue` <- function(x) .External(anvil_op, "lgamma", x)

#' @method digamma AnvilValue
#' @export
#' @rawNamespace S3method("digamma",AnvilTensor,"digamma.AnvilValue")
#' @rawNamespace S3method("digamma",AnvilTracer,"digamma.AnvilValue")
`digamma.AnvilValue` <- function(x) .External(anvil_op, "digamma", x)

#' @method floor AnvilValue
#' @export
#' @rawNamespace S3method("floor",AnvilTensor,"floor.AnvilValue")
#' @rawNamespace S3method("floor",AnvilTracer,"floor.AnvilValue")
`floor.AnvilValue` <- function(x) .External(anvil_op, "floor", x)

#' @method ceiling AnvilValue
#' @export
#' @rawNamespace S3method("ceiling",AnvilTensor,"ceiling.AnvilValue")
#' @rawNamespace S3method("ceiling",AnvilTracer,"ceiling.AnvilValue")
`ceiling.AnvilValue` <- function(x) .External(anvil_op, "ceiling", x)

#' @method Conj AnvilValue
#' @export
#' @rawNamespace S3method("Conj",AnvilTensor,"Conj.AnvilValue")
#' @rawNamespace S3method("Conj",AnvilTracer,"Conj.AnvilValue")
`Conj.AnvilValue` <- function(z) .External(anvil_op, "conj", z)

#' @method ! AnvilValue
#' @export
#' @rawNamespace S3method("!",AnvilTensor,"!.AnvilValue")
#' @rawNamespace S3method("!",AnvilTracer,"!.AnvilValue")
`!.AnvilValue` <- function(x) .External(anvil_op, "not", x)

#' @method is.finite AnvilValue
#' @export
#' @rawNamespace S3method("is.finite",AnvilTensor,"is.finite.AnvilValue")
#' @rawNamespace S3method("is.finite",AnvilTracer,"is.finite.AnvilValue")
`is.finite.AnvilValue` <- function(x) .External(anvil_op, "is_finite", x)

#' @method is.infinite AnvilValue
#' @export
#' @rawNamespace S3method("is.infinite",AnvilTensor,"is.infinite.AnvilValue")
#' @rawNamespace S3method("is.infinite",AnvilTracer,"is.infinite.AnvilValue")
`is.infinite.AnvilValue` <- function(x) .External(anvil_op, "is_infinite", x)

#' @method is.nan AnvilValue
#' @export
#' @rawNamespace S3method("is.nan",AnvilTensor,"is.nan.AnvilValue")
#' @rawNamespace S3method("is.nan",AnvilTracer,"is.nan.AnvilValue")
`is.nan.AnvilValue` <- function(x) .External(anvil_op, "is_nan", x)

#' @method Re AnvilValue
#' @export
#' @rawNamespace S3method("Re",AnvilTensor,"Re.AnvilValue")
#' @rawNamespace S3method("Re",AnvilTracer,"Re.AnvilValue")
`Re.AnvilValue` <- function(z) .External(anvil_op, "real", z)

#' @method Im AnvilValue
#' @export
#' @rawNamespace S3method("Im",AnvilTensor,"Im.AnvilValue")
#' @rawNamespace S3method("Im",AnvilTracer,"Im.AnvilValue")
`Im.AnvilValue` <- function(z) .External(anvil_op, "imag", z)

#' @method Arg AnvilValue
#' @export
#' @rawNamespace S3method("Arg",AnvilTensor,"Arg.AnvilValue")
#' @rawNamespace S3method("Arg",AnvilTracer,"Arg.AnvilValue")
`Arg.AnvilValue` <- function(z) .External(anvil_op, "arg", z)

#' @method Mod AnvilValue
#' @export
#' @rawNamespace S3method("Mod",AnvilTensor,"Mod.AnvilValue")
#' @rawNamespace S3method("Mod",AnvilTracer,"Mod.AnvilValue")
`Mod.AnvilValue` <- function(z) .External(anvil_op, "magnitude", z)

#' @method + AnvilValue
#' @export
#' @rawNamespace S3method("+",AnvilTensor,"+.AnvilValue")
#' @rawNamespace S3method("+",AnvilTracer,"+.AnvilValue")
`+.AnvilValue` <- function(e1, e2) {
  if (missing(e2)) unsigned(e1) else .External(anvil_op, "add", e1, e2)
}

#' @method * AnvilValue
#' @export
#' @rawNamespace S3method("*",AnvilTensor,"*.AnvilValue")
#' @rawNamespace S3method("*",AnvilTracer,"*.AnvilValue")
`*.AnvilValue` <- function(e1, e2 = abort_missing("e2")) .External(anvil_op, "mul", e1, e2)

#' @method ^ AnvilValue
#' @export
#' @rawNamespace S3method("^",AnvilTensor,"^.AnvilValue")
#' @rawNamespace S3method("^",AnvilTracer,"^.AnvilValue")
`^.AnvilValue` <- function(e1, e2 = abort_missing("e2")) .External(anvil_op, "pow", e1, e2)

#' @method %% AnvilValue
#' @export
#' @rawNamespace S3method("%%",AnvilTensor,"%%.AnvilValue")
#' @rawNamespace S3method("%%",AnvilTracer,"%%.AnvilValue")
`%%.AnvilValue` <- function(e1, e2 = abort_missing("e2")) .External(anvil_op, "mod", e1, e2)

#' @method %/% AnvilValue
#' @export
#' @rawNamespace S3method("%/%",AnvilTensor,"%/%.AnvilValue")
#' @rawNamespace S3method("%/%",AnvilTracer,"%/%.AnvilValue")
`%/%.AnvilValue` <- function(e1, e2 = abort_missing("e2")) .External(anvil_op, "floor_div", e1, e2)

#' @method & AnvilValue
#' @export
#' @rawNamespace S3method("&",AnvilTensor,"&.AnvilValue")
#' @rawNamespace S3method("&",AnvilTracer,"&.AnvilValue")
`&.AnvilValue` <- function(e1, e2 = abort_missing("e2")) .External(anvil_op, "and", e1, e2)

#' @method | AnvilValue
#' @export
#' @rawNamespace S3method("|",AnvilTensor,"|.AnvilValue")
#' @rawNamespace S3method("|",AnvilTracer,"|.AnvilValue")
`|.AnvilValue` <- function(e1, e2 = abort_missing("e2")) .External(anvil_op, "or", e1, e2)

#' @method == AnvilValue
#' @export
#' @rawNamespace S3method("==",AnvilTensor,"==.AnvilValue")
#' @rawNamespace S3method("==",AnvilTracer,"==.AnvilValue")
`==.AnvilValue` <- function(e1, e2 = abort_missing("e2")) .External(anvil_op, "eq", e1, e2)

#' @method != AnvilValue
#' @export
#' @rawNamespace S3method("!=",AnvilTensor,"!=.AnvilValue")
#' @rawNamespace S3method("!=",AnvilTracer,"!=.AnvilValue")
`!=.AnvilValue` <- function(e1, e2 = abort_missing("e2")) .External(anvil_op, "ne", e1, e2)

#' @method > AnvilValue
#' @export
#' @rawNamespace S3method(">",AnvilTensor,">.AnvilValue")
#' @rawNamespace S3method(">",AnvilTracer,">.AnvilValue")
`>.AnvilValue` <- function(e1, e2 = abort_missing("e2")) .External(anvil_op, "gt", e1, e2)

#' @method >= AnvilValue
#' @export
#' @rawNamespace S3method(">=",AnvilTensor,">=.AnvilValue")
#' @rawNamespace S3method(">=",AnvilTracer,">=.AnvilValue")
`>=.AnvilValue` <- function(e1, e2 = abort_missing("e2")) .External(anvil_op, "ge", e1, e2)

#' @method < AnvilValue
#' @export
#' @rawNamespace S3method("<",AnvilTensor,"<.AnvilValue")
#' @rawNamespace S3method("<",AnvilTracer,"<.AnvilValue")
`<.AnvilValue` <- function(e1, e2 = abort_missing("e2")) .External(anvil_op, "lt", e1, e2)

#' @method <= AnvilValue
#' @export
#' @rawNamespace S3method("<=",AnvilTensor,"<=.AnvilValue")
#' @rawNamespace S3method("<=",AnvilTracer,"<=.AnvilValue")
`<=.AnvilValue` <- function(e1, e2 = abort_missing("e2")) .External(anvil_op, "le", e1, e2)
