# Generics of base R that need more than their op: the others are generated in ops-elementwise.R. One class, AnvilValue,
# for tensors and tracers, so that an expression of both finds one method.

#' Base R's functions on tensors
#'
#' Operators and mathematical functions of base R work on tensors and on traced values as they do on numbers, alone or
#' mixed with R numbers and arrays: `+ - * / ^ %% %/%`, `== != < <= > >=`, `! & |`, `abs sign sqrt exp expm1 log log1p
#' log2 log10 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh lgamma digamma trigamma floor ceiling trunc
#' round`, `sum prod max min range any all mean`, `is.nan is.finite is.infinite`, `%*%`, `t`.
#'
#' What differs from numbers: dtypes follow [common_dtype()]; shapes must be equal, or one operand 0-d (nothing is
#' recycled); the quotient of integers is an integer; `&`, `|` and `!` on integers are bitwise; there is no `NA`, so
#' `na.rm = TRUE` is an error. `sum()` and `prod()` count booleans, as R does.
#'
#' @param x A tensor or a traced value.
#' @param base Base of the logarithm.
#' @param digits Number of decimals; may be negative. Ties go to even, as in R.
#' @param dims Dimensions to reduce, from 1; `NULL` is all.
#' @param drop Whether reduced dimensions disappear, or stay with size 1.
#' @param na.rm,trim Must have their defaults: tensors hold no `NA`, and there is no trimmed mean.
#' @param ... Further tensors for `sum()`, `prod()`, `max()`, `min()`, `range()`, `any()`, `all()`: all are reduced
#'   together. Not used otherwise.
#' @return A tensor, as from the op of that name.
#' @section Errors:
#' `anvil_error_unsupported` for a function of these groups without a counterpart, otherwise as the op.
#' @examples
#' x <- nv_tensor(c(1, 2, 4))
#' log(x, base = 2)
#' round(nv_tensor(c(0.125, 2.5)), 2)
#' sum(x > 1)
#' range(x)
#' @name base-generics
NULL

#' @rdname base-generics
#' @export
log.AnvilValue <- function(x, base = exp(1)) {
  if (missing(base)) return(nv_log(x))
  if (identical(base, 2)) return(nv_log2(x))
  if (identical(base, 10)) return(nv_log10(x))
  nv_log(x) / (if (inherits(base, "AnvilValue")) nv_log(base) else log(base))
}

#' @rdname base-generics
#' @export
round.AnvilValue <- function(x, digits = 0) {
  if (identical(as.double(digits), 0)) return(nv_round(x))
  if (!is_whole(digits)) abort_arg("digits", "a whole number", describe(digits))
  # Dividing by a power of ten rounds correctly, multiplying by 0.1 does not.
  if (digits > 0) nv_round(x * 10^digits) / 10^digits else nv_round(x / 10^-digits) * 10^-digits
}

#' @rdname base-generics
#' @export
trunc.AnvilValue <- function(x, ...) nv_trunc(x)

#' @rdname base-generics
#' @export
trigamma.AnvilValue <- function(x) nv_polygamma(1, x)

#' @rdname base-generics
#' @export
mean.AnvilValue <- function(x, dims = NULL, drop = TRUE, trim = 0, na.rm = FALSE, ...) {
  check_na_rm(na.rm)
  if (!identical(as.double(trim), 0)) abort_arg("trim", "0", describe(trim), "There is no trimmed mean of tensors.")
  nv_mean(x, dims, drop)
}

#' @rdname base-generics
#' @export
Summary.AnvilValue <- function(..., na.rm = FALSE, dims = NULL, drop = TRUE) {
  check_na_rm(na.rm)
  values <- list(...)
  reduce <- function(op, combine) {
    Reduce(combine, lapply(values, function(x) .External(anvil_op, op, x, dims = dims, drop = drop)))
  }
  switch(.Generic,
    sum = reduce("reduce_sum", nv_add),
    prod = reduce("reduce_prod", nv_mul),
    max = reduce("reduce_max", nv_max),
    min = reduce("reduce_min", nv_min),
    any = reduce("reduce_any", nv_or),
    all = reduce("reduce_all", nv_and),
    range = {
      low <- reduce("reduce_min", nv_min)
      high <- reduce("reduce_max", nv_max)
      if (ndims(low) == 0L) return(nv_concatenate(low, high))
      one <- c(1L, shape(low))
      nv_concatenate(nv_reshape(low, one), nv_reshape(high, one), dimension = 1L)
    }
  )
}

check_na_rm <- function(na.rm) {
  if (!identical(na.rm, FALSE)) {
    abort_arg("na.rm", "FALSE", describe(na.rm), "Tensors hold no NA. Use `nv_ifelse()` to replace NaN.")
  }
}

#' @export
Math.AnvilValue <- function(x, ...) unsupported(.Generic)

#' @export
Ops.AnvilValue <- function(e1, e2) unsupported(.Generic)

#' @export
Complex.AnvilValue <- function(z) unsupported(.Generic)

unsupported <- function(generic) {
  abort(
    "anvil_error_unsupported",
    paste0("`", generic, "()` is not available for tensors.\ni `as_array(x)` gives R's own array."),
    generic = generic
  )
}

#' @export
t.AnvilValue <- function(x) nv_transpose(x)

#' @export
is.na.AnvilValue <- function(x) nv_is_nan(x)

#' @export
c.AnvilValue <- function(...) {
  flat <- lapply(unname(list(...)), function(x) if (ndims(x) > 1L) nv_reshape(x, length(x), order = "column") else x)
  nv_concatenate(flat, dimension = 1L)
}

# Functions of R that would otherwise take the record apart, or return it changed, without a word.

#' @export
`[[.AnvilValue` <- function(x, ...) unsupported("[[")

#' @export
`[<-.AnvilValue` <- function(x, ..., value) unsupported("[<-")

#' @export
`[[<-.AnvilValue` <- function(x, ..., value) unsupported("[[<-")

#' @export
`$<-.AnvilValue` <- function(x, name, value) unsupported("$<-")

#' @export
`dim<-.AnvilValue` <- function(x, value) {
  abort(
    "anvil_error_unsupported", "`dim<-()` is not available for tensors.\ni Use `nv_reshape(x, shape, order = \"column\")`.",
    generic = "dim<-"
  )
}

#' @export
`length<-.AnvilValue` <- function(x, value) unsupported("length<-")

#' @export
`[.AnvilValue` <- function(x, ...) unsupported("[")

#' @export
rep.AnvilValue <- function(x, ...) unsupported("rep")

#' @export
rev.AnvilValue <- function(x) unsupported("rev")

#' @export
sort.AnvilValue <- function(x, decreasing = FALSE, ...) unsupported("sort")

#' @importFrom stats median quantile
#' @export
median.AnvilValue <- function(x, na.rm = FALSE, ...) unsupported("median")

#' @export
quantile.AnvilValue <- function(x, ...) unsupported("quantile")

#' @export
unique.AnvilValue <- function(x, incomparables = FALSE, ...) unsupported("unique")
