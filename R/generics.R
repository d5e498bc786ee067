# Generics of base R that need more than one op: the others are generated in ops-generics.R. Tensors and
# tracers share the class AnvilValue, so that an expression of both dispatches to one method.

#' Base R's functions on tensors
#'
#' Operators and mathematical functions of base R work on tensors and on traced values as they do on numbers,
#' alone or mixed with R numbers and arrays: `+ - * / ^ %% %/%`, `== != < <= > >=`, `! & |`, `abs sign sqrt
#' exp expm1 log log1p log2 log10 sin cos tan sinpi cospi tanpi asin acos atan sinh cosh tanh asinh acosh
#' atanh gamma lgamma digamma trigamma floor ceiling trunc round signif`, `Re Im Mod Arg Conj`, `sum prod max
#' min range any all mean`, `is.nan is.finite is.infinite`, `%*%`, `crossprod tcrossprod`, `t`. For `x[...]`,
#' `head`, `tail` and `rev` see [nv_subset()].
#'
#' A function of R that has no method for tensors takes them as the vectors that they are, and gives an R
#' value: `c(0, x)`, `table(x)`, `quantile(x)`, `lm(y ~ x)`. In a traced function there are no elements to
#' take: what joins, fills and maps R's vectors makes traced values of them, see [masked-functions]; what
#' reads elements is an `anvil_error_concrete` that names the function and says what to write.
#'
#' `x / y` of integers and booleans is their quotient as floats, of the dtype that the promotion rules give a
#' float and them; `x %/% y` is the whole quotient rounded down, [nv_div()] the one rounded toward zero.
#'
#' Shapes meet as in R: they are equal, or one operand is 0-d, or a vector of one element, or 1-d and as long
#' as the first axes of the other, down which it is recycled; see [nv_broadcast_to()]. What R would recycle in
#' part, or with a warning, is an error.
#'
#' Differences from R numbers: dtypes follow [common_dtype()]; `&`, `|` and `!` on integers are bitwise;
#' integers divided by 0 with `%/%` give -1, or the largest value of an unsigned dtype, and `x %% 0L` is `x`,
#' where R has `NA`. `sum()`, `prod()`, `+` and `-` count booleans, as R does; their product is a boolean.
#' Complex tensors have no order, as in R: `<` and its like, `floor()`, `sign()`, `max()` refuse them. Where a
#' function has a branch cut, the sign of a zero says on which side of the cut a number is, as in C99; base
#' R does so for some functions only.
#'
#' @section Reductions: `sum()`, `prod()`, `max()`, `min()`, `range()`, `any()`, `all()` and `mean()` reduce
#' all axes, as in R, or those in `axes`: `sum(x, axes = 1)` has the sums of columns of a matrix, as
#' [colSums()] does, and `max(x, axes = 2)` the largest of each row. With `drop = FALSE` reduced axes stay
#' with size 1. `range()` has the lowest and highest values along a new first axis.
#'
#' Tensors hold no `NA`, but floats and complex numbers may be NaN, which R counts as missing: `na.rm = TRUE`
#' leaves NaN out, as in R, and changes nothing for integers and booleans. What is left out has gradient 0.
#' Where nothing is left, `sum()` is 0, `prod()` 1, `mean()` NaN, `max()` -Inf and `min()` Inf, without the
#' warning that R gives: a program does not know its values before it runs.
#'
#' @param x A tensor or a traced value.
#' @param base Base of the logarithm: a number or a tensor.
#' @param digits Number of decimals, which may be negative; of `signif()` that of significant digits. Ties go
#'   to the even digit, as in R. Integers stay integers.
#' @param axes Axes to reduce, from 1 or negative from the end; `NULL` is all.
#' @param drop Whether reduced axes disappear, or stay with size 1.
#' @param na.rm Whether NaN is left out: `TRUE` or `FALSE`.
#' @param trim Must be 0: there is no trimmed mean.
#' @param ... Further tensors for `sum()`, `prod()`, `max()`, `min()`, `range()`, `any()`, `all()`: all are
#'   reduced together. Not used otherwise.
#' @return A tensor, as the op of that name returns it.
#' @section Errors: `anvil_error_unsupported` for a function of these groups without a counterpart,
#' `anvil_error_dtype` for complex numbers where an order is needed, `anvil_error_arg` for `na.rm` that is
#' neither `TRUE` nor `FALSE`, otherwise as the op.
#' @examples
#' x <- nv_tensor(c(1, 2, 4))
#' log(x, base = 2)
#' round(nv_tensor(c(0.125, 2.5)), 2)
#' sum(x > 1)
#' range(x)
#' m <- nv_tensor(matrix(c(1, NaN, 3, 4, 5, 6), 2))
#' sum(m, axes = 1, na.rm = TRUE)
#' max(m, axes = 2, drop = FALSE)
#' mean(m, axes = 2, na.rm = TRUE)
#' Mod(nv_tensor(3+4i))
#' @name base-generics
NULL

#' @method / AnvilValue
#' @export
`/.AnvilValue` <- function(e1, e2 = abort_missing("e2")) .External(anvil_op, "quotient", e1, e2)

#' @rdname base-generics
#' @export
log.AnvilValue <- function(x, base = exp(1)) {
  if (missing(base)) return(nv_log(x))
  if (is_base_first(sys.call()) && log_swaps()) {
    given <- base
    base <- x
    x <- given
  }
  if (inherits(base, "AnvilValue")) return(nv_log(x) / nv_log(base))
  if (!(is_numeric(base) || is.complex(base)) || length(base) != 1L) {
    abort_arg("base", "one number or a tensor", describe(base))
  }
  if (base %in% 2) return(nv_log2(x))
  if (base %in% 10) return(nv_log10(x))
  # R warns of the NaN that the logarithm of a negative number is; tensors do not.
  nv_log(x) / suppressWarnings(log(base))
}

# Whether a call of log() has the base before what the logarithm is of.
is_base_first <- function(call) {
  first <- names(call)[2L]
  !is.null(first) && nzchar(first) && startsWith("base", first)
}

# Whether R gives a method of log() its arguments by their places, not by their names: R 4.2 does, for
# `log(base = 2, x)`, and tells nobody.
log_swaps <- local({
  known <- NULL
  function() {
    if (is.null(known)) {
      # nolint start: object_name_linter, object_usage_linter.
      log.anvil_asked <- function(x, base) !inherits(x, "anvil_asked")
      # nolint end
      known <<- log(base = 2, x = structure(1, class = "anvil_asked"))
    }
    known
  }
})

#' @rdname base-generics
#' @export
trigamma.AnvilValue <- function(x) nv_polygamma(1, x)

#' @rdname base-generics
#' @export
mean.AnvilValue <- function(x, axes = NULL, drop = TRUE, trim = 0, na.rm = FALSE, ...) {
  check_dots(...)
  check_flag("na.rm", na.rm)
  if (!is_numeric(trim) || length(trim) != 1L || !isTRUE(trim >= 0)) {
    abort_arg("trim", "a number, at least 0", describe(trim))
  }
  if (trim == 0) return(nv_mean(x, axes, drop, na.rm))
  if (!is.null(axes)) {
    abort_arg("trim", "0 beside `axes`", describe(trim), "A trimmed mean is of all elements.")
  }
  if (na.rm) {
    abort_arg("trim", "0 beside `na.rm = TRUE`", describe(trim), "How many are NaN must be known.")
  }
  # As in R: they have no order of which there were a middle.
  if (inherits(dtype(x), "ComplexType")) abort_arg("trim", "0 for complex numbers", describe(trim))
  trimmed_mean(as_flat(x), trim)
}

# The mean of the middle of the sorted elements, as mean.default() has it: NaN if an element is, wherever it
# is sorted to.
trimmed_mean <- function(x, trim) {
  if (trim >= 0.5) return(nv_median(x))
  low <- floor(length(x) * trim) + 1
  middle <- nv_mean(nv_static_slice(nv_sort(x), low, length(x) + 1 - low))
  if (is_float(dtype(x))) nv_ifelse(nv_reduce_any(nv_is_nan(x)), NaN, middle) else middle
}

#' @rdname base-generics
#' @export
Summary.AnvilValue <- function(..., na.rm = FALSE, axes = NULL, drop = TRUE) {
  if (.Generic == "range" && "finite" %in% ...names()) return(finite_range(..., na_rm = na.rm))
  check_dots(..., .values = TRUE, .named = TRUE)
  check_flag("na.rm", na.rm)
  if (...length() > 1L && any_selection(...)) {
    return(summary_of_selections(.Generic, unname(list(...)), list(na.rm = na.rm, axes = axes, drop = drop)))
  }
  # That of the first is what R looks for a method of.
  if (...length() > 1L && is_traced_factor(..1)) {
    are_ordered <- all(vapply(list(...), function(x) is_traced_factor(x) && is_ordered(x), NA))
    if (!are_ordered || !.Generic %in% c("max", "min", "range")) check_no_factor(..1)
    return(do.call(.Generic, list(c.AnvilValue(...), na.rm = na.rm), quote = TRUE))
  }
  # Promoted before they are reduced: a number keeps its digits next to an f64, and a sum the width of the
  # widest.
  values <- unname(list(...))
  if (...length() > 1L) {
    # As in R, NULL has no elements.
    values <- do.call(nv_promote_to_common, values[!vapply(values, is.null, NA)], quote = TRUE)
  }
  reduce <- function(op, combine) {
    out <- NULL
    for (x in values) {
      one <- .External(anvil_op, op, x, axes = axes, drop = drop, na_rm = na.rm)
      out <- if (is.null(out)) one else combine(out, one)
    }
    out
  }
  switch(.Generic,
    sum = reduce("reduce_sum", nv_add),
    prod = reduce("reduce_prod", nv_mul),
    max = reduce("reduce_max", nv_max),
    min = reduce("reduce_min", nv_min),
    any = reduce("reduce_any", nv_or),
    all = reduce("reduce_all", nv_and),
    range = nv_stack(reduce("reduce_min", nv_min), reduce("reduce_max", nv_max)),
    unsupported(.Generic)
  )
}

check_no_factor <- function(x, arg = "x") {
  if (!is_traced_factor(x)) return(invisible())
  expected <- "numbers: `as.integer(f)` are the codes of a factor"
  abort_arg(arg, expected, "a factor, which R refuses or makes NA")
}

# What follows a plus sign: of a factor R makes NA.
unsigned <- function(x) {
  check_no_factor(x)
  x
}

# range() that leaves out what is not finite: NaN, which `na.rm` leaves out.
finite_range <- function(..., finite = FALSE, na_rm = FALSE) {
  check_flag("finite", finite)
  values <- list(...)
  if (finite) {
    as_missing <- function(x) if (is_value(x) && is_inexact(x)) nv_ifelse(is.finite(x), x, NaN) else x
    values <- lapply(values, as_missing)
  }
  do.call(range, c(values, na.rm = na_rm || finite), quote = TRUE)
}

unsupported <- function(generic, advice = "`as_array(x)` gives R's own array.", what = "tensors") {
  shown <- if (grepl("^[[:alpha:]]", generic) && !grepl("<-", generic)) paste0(generic, "()") else generic
  abort(
    "anvil_error_unsupported", paste0("`", shown, "` is not available for ", what, ".\ni ", advice),
    generic = generic
  )
}

# R's functions that keep the attributes of their argument: without them, their results are R values like
# those of others.
#' @export
Math.AnvilValue <- function(x, ...) {
  check_dots(...)
  if (is_traced(x) || is_selection(x)) abort_concrete(paste0(.Generic, "()"), x)
  by_base(get(.Generic, baseenv())(as_array(x), ...))
}

#' @export
t.AnvilValue <- function(x) {
  check_no_factor(x)
  if (ndims(x) != 1L) return(nv_transpose(x))
  with_names(nv_reshape(x, c(1L, length(x))), c(list(NULL), axis_names(x)))
}

#' @export
is.na.AnvilValue <- function(x) {
  # The code of what is none of the levels of a factor is 0.
  if (is_traced_factor(x) && !is_inexact(x)) nv_lt(codes_of(x), 1L) else nv_is_nan(x)
}

#' @export
anyNA.AnvilValue <- function(x, recursive = FALSE) nv_reduce_any(is.na.AnvilValue(x))

#' @export
c.AnvilValue <- function(..., recursive = FALSE, use.names = TRUE) { # nolint: object_name_linter.
  values <- list(...)
  # Names as base R makes them of those of arguments and elements.
  of_length <- function(x) structure(rep(0L, length(x)), names = names(x))
  names <- names(do.call(base::c, lapply(values, of_length)))
  values <- unname(values)
  for (i in seq_along(values)) {
    x <- values[[i]]
    if (ndims(x) < 2L) next
    # An R array keeps its digits until it is promoted.
    values[[i]] <- if (inherits(x, "AnvilValue")) nv_flatten(x) else array(x)
  }
  out <- .External(anvil_op, "concatenate", operands = values, axis = 1L)
  if (use.names && !is.null(names)) names(out) <- names
  out
}

# As in R, a vector that becomes longer has missing values at its end: NaN, which only floats have.
#' @export
`length<-.AnvilValue` <- function(x, value) {
  if (!is_whole(value) || value < 0) abort_arg("value", "a whole number, at least 0", describe(value))
  n <- length(x)
  if (value <= n) return(as_flat(x)[array(seq_len(value))])
  if (!is_inexact(x)) {
    abort_arg("value", paste("at most", n, "for a tensor that holds no missing values"), describe(value))
  }
  filler <- rep(NaN, value - n)
  names <- if (!is.null(names(x))) base::c(names(x), character(value - n))
  out <- nv_concatenate(unname(as_flat(x)), nv_convert(array(filler), dtype(x), ambiguous(x)))
  names(out) <- names
  out
}

# Sizes are part of the type: a vector's `dim<-` would leave a traced value's as they are.
#' @export
`dim<-.AnvilValue` <- function(x, value) nv_reshape(x, value %||% length(x))

#' @export
`$.AnvilValue` <- function(x, name) unsupported("$", advice = "A tensor has no named parts: it is a vector.")

#' @export
`$<-.AnvilValue` <- function(x, name, value) unsupported("$<-", advice = "A tensor is a vector, not a list.")
