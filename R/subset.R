#' Subset a tensor
#'
#' `x[...]` and `nv_subset(x, ...)` take elements of a tensor, `x[...] <- value` and `nv_subset_assign(x, ...,
#' value = value)` give a tensor with other elements in their place. They work alike on tensors and on traced
#' values.
#'
#' Each axis has a subscript; an axis whose subscript is left out, between commas or at the end, is taken
#' whole. A subscript is \describe{ \item{a number}{One position, counted from 1. The axis disappears, unless
#' `drop = FALSE`.} \item{a range `a:b`}{These positions. The axis stays, also if there is only one position:
#' a range is a subscript that is written with a colon.} \item{a vector of several numbers, an array of one
#' axis, a `list()` of numbers}{These positions, in this order, repeated ones too. Several such subscripts
#' select each combination, as in base R. The axis stays.} \item{negative numbers}{All positions but these.
#' The axis stays.} \item{a logical vector}{The positions where it is `TRUE`. It is recycled along the axis,
#' of which its length must be a whole part.} \item{names}{The positions with these names, of a tensor that
#' has such names: one name is as a number, several are as numbers.} \item{a 0-d tensor of
#' integers}{One position that the program computes. The axis disappears. Negated where it is the subscript,
#' `x[-i]`, it is left out, as `x[-which.max(x)]`: all others stay.} \item{a 1-d tensor of integers,
#' such as [nv_seq()] gives}{Several such positions. The axis stays. Negated, `x[-i]`, they are left out: how
#' many elements stay is not known, a selection, see [selections].} \item{a tensor of floats}{As one
#' of integers: they are truncated, as in R. The dtype must tell all positions of the axis apart.}
#' \item{a factor}{The codes of its levels, as in R.} }
#'
#' A position that the axis does not have is an error: of a number when the function is called or traced, of a
#' tensor when the program has run. Programs pay for that with a flag, not with a branch for each element.
#' What a program does not read or write is not checked: in a branch that is not taken, in an iteration that
#' is not run, and where nothing depends on what is read. (Both sides of [nv_ifelse()] are computed;
#' [nv_if()] computes one.) For tensors, `mode` chooses otherwise. `"clip"` moves a position to the nearest.
#' `"drop"` writes nothing there, and reads what JAX reads with `mode = "fill"`: NaN, the smallest integer of
#' a signed and the largest of an unsigned dtype, `TRUE`; R shows the smallest `i32` as `NA`. In a program
#' that is exported to StableHLO nothing is checked: there `"error"` reads as `"clip"` and writes as
#' `"drop"`.
#'
#' If a position is written twice, the value that comes last in R's order is kept.
#'
#' A single subscript of a tensor of several axes selects elements, as in R, where it can mean nothing else:
#' `A[mask]` with an R logical or a boolean tensor of the shape of `A`, in column-major order, and `A[cbind(i,
#' j)]` with a matrix of numbers that has a column for each axis, and a row for each element. `A[2]` is an
#' element in R, and a position of the first axis in tensor libraries, so that it is an error, which shows
#' what to write for either: `A[2, ]` and `nv_flatten(A)[2]`. Of one column, such as `A %*% b`, it is an
#' element. (What a traced function has made of R's vectors, as [masked-functions] do, keeps R's meaning.)
#'
#' How many elements a mask selects must be known when a function is traced: a mask is an R logical or a
#' boolean tensor. With one that the program computes, `x[mask]`, `x[mask, ]` and `x[mask, j]` are
#' [selections]: what takes these, needs no such number, as in `mean(x[x > 0])`. `x[mask] <- value` assigns
#' one number, as `x <- nv_ifelse(mask, value, x)` does, or a selection by the same mask, and so do
#' `x[mask, ] <- value` and `x[mask, j] <- value`.
#'
#' Zeros and `NULL` select nothing, as in R. Unlike there, a negative number beyond the size is an error, and
#' there is no index `NA`.
#'
#' What R's own functions assign is as they mean it: `base::ifelse(x > 0, x, 0)` gives the values their type,
#' and text, which `print()` makes of numbers, is assigned to a vector of R.
#'
#' Elements keep their names, see [nv_tensor()]; those at positions that the program computes have none.
#' `x[[i]]` and `A[[i, j]]` take one element, as a 0-d tensor without a name; `A[[i, j]] <- value` replaces
#' it: each axis needs a number, or a 0-d tensor of integers that the program computes.
#'
#' A value that is assigned is converted to the dtype of `x`, which must be the common dtype of both: a double
#' cannot be assigned to elements of an `i32`. An ambiguous `x`, such as the state of a loop that begins with
#' a vector of R, yields to a known dtype: it becomes an `f64` where one is assigned.
#'
#' `nv_select()` has one subscript, for the axis `axis`. `head()` and `tail()` take elements at the start and
#' at the end of axes, as base R's do for arrays; `rev()` reverses all elements.
#'
#' @param x,operand A tensor or a traced value; for the functions also an R number, logical or array.
#' @param ... Subscripts. Not used by `head()` and `tail()`.
#' @param drop Whether axes with one number as subscript disappear.
#' @param mode What becomes of positions in a tensor that are out of bounds: `"error"`, `"clip"` or `"drop"`.
#' @param value A tensor, a traced value, or an R number, logical, vector or array: one element, or as many as
#'   it is assigned to, which these become in column-major order, as in R: `M[1, ] <- M %*% v`.
#' @param axis The axis that `index` belongs to, from 1; negative numbers count from the end.
#' @param index A subscript, as described below.
#' @param n How many elements of the first axis; or of the first axes if it has several numbers,
#'   `NA` for all. If negative, all but so many.
#' @return A tensor of `x`'s dtype and ambiguity. Its shape has, for each axis that stays, the number of
#'   positions; that of an assignment is `x`'s.
#' @section Errors: `anvil_error_index` for a position out of bounds, with the axis and its size, and for one
#' that a program computed the `value`; for too many subscripts, a single one of several axes, and for what is
#' no subscript; `anvil_error_dtype` for a tensor of another dtype as subscript, a computed boolean included,
#' and for a value whose dtype is above that of `x`; `anvil_error_shape` for a value of another number of
#' elements.
#' @examples
#' x <- nv_tensor(matrix(1:6, 2))
#' x[1, ]
#' x[1, , drop = FALSE]
#' x[, 2:2]
#' x[, c(3, 1)]
#' x[-1, c(TRUE, FALSE, TRUE)]
#' nv_seq(1L, 6L)[c(TRUE, FALSE)]
#' x[[2, 3]]
#' try(x[2])
#' x[as_array(x > 2L)]
#' x[cbind(1:2, c(3, 1))]
#' nv_ifelse(x > 2L, x, 0L)
#' x[1, ] <- 0L
#' x
#' jit(function(x, i) x[i, ])(x, nv_scalar(2L))
#' nv_select(x, axis = 2, index = 3)
#' try(nv_select(x, axis = 2, index = nv_scalar(4L)))
#' nv_select(x, axis = 2, index = nv_scalar(4L), mode = "clip")
#' head(x, 1)
#' @name nv_subset
NULL

# Called by Rust: a 0-d tensor with a subscript is a vector of one element, as any number of R.
as_vector_of_one <- function(x) nv_reshape(x, 1L)
as_number <- function(x) nv_reshape(x, integer())

# Called by Rust with a matrix of positions that the program computes, a row for each element, and the sizes
# of the axes: the positions among all elements, in column-major order, 0 where one is beyond its axis.
positions_of_rows <- function(given) {
  rows <- nv_convert(given[[1L]], "i32")
  sizes <- given[[2L]]
  at <- 1L
  inside <- TRUE
  is_float <- is_inexact(given[[1L]])
  for (axis in seq_along(sizes)) {
    one <- rows[, axis]
    inside <- inside & one >= 1L & one <= sizes[axis]
    # What is no whole number is no position.
    if (is_float) inside <- inside & one == given[[1L]][, axis]
    at <- at + (one - 1L) * as.integer(prod(sizes[seq_len(axis - 1L)]))
  }
  nv_ifelse(inside, at, 0L)
}

# Called by Rust: a factor is its codes to a subscript, whatever names there are.
codes_of_factor <- function(x) as.vector(unclass(x))

# Called by Rust with list(i, names) for `x[i]` with a matrix of names, a row for each element: the matrix of
# their positions along each axis.
rows_of_labels <- function(parts) {
  i <- parts[[1L]]
  of_axis <- function(axis) {
    own <- if (length(parts[[2L]]) >= axis) parts[[2L]][[axis]]
    at <- match(i[, axis], own)
    if (!anyNA(at)) return(at)
    unknown <- i[, axis][is.na(at)][1L]
    abort("anvil_error_index", paste0(
      "Column ", axis, " of a matrix of names must have names of axis ", axis, ", not ",
      if (is.na(unknown)) "NA" else paste0("\"", unknown, "\""), ".\n",
      if (is.null(own)) "i The axis has no names: `?nv_tensor` says what keeps them." else
        paste0("i Its names are ", toString(paste0("\"", own[seq_len(min(5L, length(own)))], "\"")),
               if (length(own) > 5L) ", ...", ".")
    ))
  }
  array(vapply(seq_len(ncol(i)), of_axis, integer(nrow(i))), dim(i))
}

# Called by Rust with list(i, size) for `x[-i]` with one position that the program computes: all others. Of
# one that the axis does not have, each is that one, which is an error where they are read.
positions_but <- function(parts) {
  size <- parts[[2L]]
  if (size < 2L) return(integer())
  at <- nv_reshape(parts[[1L]], integer())
  wide <- if (as.character(dtype(at)) %in% c("ui32", "i64", "ui64")) "i64" else "i32"
  at <- nv_convert(at, wide)
  others <- nv_seq(1L, size - 1L, dtype = wide)
  others <- others + nv_convert(others >= at, wide)
  nv_ifelse(at >= 1L & at <= size, others, at)
}

# Called by Rust with list(i, size) for `x[-i]` with several positions that the program computes. As in R,
# those that the axis does not have leave nothing out, and of floats counts the whole part.
mask_but <- function(parts) {
  at <- parts[[1L]]
  if (is_float(dtype(at))) at <- nv_trunc(at)
  !nv_isin(nv_iota(1L, "i32", parts[[2L]]), at)
}

as_vector_subscript <- function(i) if (inherits(i, "AnvilValue")) as_flat(i) else array(i)

# The expressions of the subscripts go to Rust with the frame that holds them: only they say what was left
# out, and what is written as a range. Tensors and traced values have methods of their first class, so that R
# looks for one method, as those in ops-generics.R.

#' @rdname nv_subset
#' @export
nv_subset <- function(x, ..., drop = TRUE, mode = "error") {
  .External(anvil_subset, x, substitute(...()), environment(), FALSE, mode, drop)
}

#' @rdname nv_subset
#' @export
nv_subset_assign <- function(x, ..., value, mode = "error") {
  if (!missing(value) && is_selection(value)) return(assign_selection(x, value, ...))
  value <- as_update(value)
  x <- yielding(x, value)
  .External(anvil_subset_assign, x, substitute(...()), environment(), FALSE, mode, value)
}

#' @rdname nv_subset
#' @export
#' @rawNamespace S3method("[",AnvilTensor,"[.AnvilValue")
#' @rawNamespace S3method("[",AnvilTracer,"[.AnvilTracer")
`[.AnvilValue` <- function(x, ..., drop = TRUE) {
  # To a function of R's, one number is the place of an element.
  if (...length() == 1L && length(dim(x)) > 1L && are_places(x, ...) && is_called_by_r(parent.frame())) {
    return(nv_flatten(x)[..1])
  }
  .External(anvil_subset, x, substitute(...()), environment(), FALSE, NULL, drop)
}

# The method of traced values.
`[.AnvilTracer` <- function(x, ..., drop = TRUE) {
  if (...length() == 1L && length(dim(x)) > 1L && are_places(x, ...) && is_called_by_r(parent.frame())) {
    return(nv_flatten(x)[..1])
  }
  out <- .External(anvil_subset, x, substitute(...()), environment(), FALSE, NULL, drop)
  with_unknown_names(out, x)
}

# What is computed which names of `x` it has: it has none, and names() says so, see mask-functions.R.
with_unknown_names <- function(out, x) {
  if (!inherits(out, "AnvilTracer") || is.null(names(x)) && is.null(attr(x, "unknown_names"))) return(out)
  if (length(dim(x)) == 1L && is.null(axis_names(out))) attr(out, "unknown_names") <- TRUE
  out
}

#' @rdname nv_subset
#' @export
#' @rawNamespace S3method("[<-",AnvilTensor,"[<-.AnvilValue")
#' @rawNamespace S3method("[<-",AnvilTracer,"[<-.AnvilValue")
`[<-.AnvilValue` <- function(x, ..., value) {
  if (!missing(value) && is_selection(value)) return(assign_selection(x, value, ...))
  # Where they are of one type, nothing depends on who assigns; that is asked for where it may matter.
  if (!missing(value) && (is.object(value) || is.logical(x) || typeof(value) != typeof(x))) {
    by_ifelse <- identical(sys.function(sys.parent()), base::ifelse)
    by_r <- by_ifelse || is.character(value) && is_called_by_r(parent.frame())
    if (by_r) x <- as_r_assigns(x, value, by_ifelse)
    if (!is_value(x)) return(`[<-`(x, ..., value = value))
  }
  if (...length() == 1L && length(dim(x)) > 1L && are_places(x, ...) && is_called_by_r(parent.frame())) {
    return(with_names_of(nv_reshape(`[<-`(nv_flatten(x), ..1, value = value), shape(x)), x))
  }
  value <- as_update(value)
  x <- yielding(x, value)
  .External(anvil_subset_assign, x, substitute(...()), environment(), FALSE, NULL, value)
}

#' @rdname nv_subset
#' @export
#' @rawNamespace S3method("[[",AnvilTensor,"[[.AnvilValue")
#' @rawNamespace S3method("[[",AnvilTracer,"[[.AnvilValue")
`[[.AnvilValue` <- function(x, ...) {
  # A data frame, of which an element is taken, says so of its column.
  if ("exact" %in% ...names()) return((function(..., exact) x[[...]])(...))
  # Such as mapply(), to which it is an element of the vector.
  if (...length() == 1L && length(dim(x)) > 1L && is_called_by_r(parent.frame(), for_user = list())) {
    return(nv_flatten(x)[[..1]])
  }
  .External(anvil_subset, x, substitute(...()), environment(), TRUE, NULL, TRUE)
}

#' @rdname nv_subset
#' @export
#' @rawNamespace S3method("[[<-",AnvilTensor,"[[<-.AnvilValue")
#' @rawNamespace S3method("[[<-",AnvilTracer,"[[<-.AnvilValue")
`[[<-.AnvilValue` <- function(x, ..., value) {
  value <- as_update(value)
  x <- yielding(x, value)
  .External(anvil_subset_assign, x, substitute(...()), environment(), TRUE, NULL, value)
}

#' @rdname nv_subset
#' @export
nv_select <- function(operand, axis, index, mode = "error") {
  axis <- axis_number(axis, operand)
  subscripts <- rep(list(quote(expr = )), ndims(operand))
  # A range keeps its axis here too.
  range <- is.call(substitute(index)) && identical(substitute(index)[[1L]], quote(`:`))
  subscripts[[axis]] <- if (range) array(index) else index
  do.call(nv_subset, c(list(operand), subscripts, list(mode = mode)), quote = TRUE)
}

# A vector of R, which has no `dim`, as an array of one axis.
as_operand <- function(x) {
  if (is.atomic(x) && !is.null(x) && !is.object(x) && length(x) != 1L && is.null(dim(x))) array(x) else x
}

# What is assigned.
as_update <- function(value) {
  # In the method that calls.
  if (missing(value)) abort_missing("value")
  if (!is_operand(value)) abort_arg("value", "a tensor, or an R number, logical or array", describe(value))
  as_operand(value)
}

# What is assigned to. Numbers of R, such as the state of a loop that begins with `numeric(n)`, yield to a
# known dtype, here as in all ops.
yielding <- function(x, value) {
  yields <- inherits(value, "AnvilValue") && inherits(x, "AnvilValue") && ambiguous(x) && !ambiguous(value) &&
    dtype(x) != dtype(value)
  if (!yields) return(x)
  # Rules may refuse the pair, which the assignment then does too.
  common <- if_it_fails(common_dtype(dtype(x), dtype(value), TRUE, FALSE), NULL)
  if (is.null(common) || common$ambiguous) return(x)
  with_names_of(nv_convert(x, common$dtype), x)
}

# Whether one subscript is a vector of numbers of R, or of logicals, one for each element.
are_places <- function(x, ...) {
  if (missing(..1) || is.object(..1) || !is.null(dim(..1))) return(FALSE)
  is.numeric(..1) || is.logical(..1) && length(..1) == length(x)
}

# What a function of R assigns to. Text, such as print() assigns of numbers, goes to a vector of R; and in
# ifelse() the values go to the condition, which becomes of their type.
as_r_assigns <- function(x, value, by_ifelse) {
  if (is_traced(x) || is_traced(value)) return(x)
  fits <- is_operand(value) && !(by_ifelse && is.logical(value) && anyNA(value))
  if (fits && !by_ifelse) return(x)
  if (fits) return(with_names_of(nv_promote_to_common(x, value)[[1L]], x))
  if (length(dim(x)) > 1L) as_array(x) else setNames(as.vector(x), names(x))
}

# The range of positions that head() and tail() take of each axis.
ends <- function(x, n, last) {
  if (ndims(x) == 0L) x <- as_vector_of_one(x)
  sizes <- shape(x)
  if (!is_numeric(n) || !length(n) || length(n) > length(sizes) || any(n != round(n), na.rm = TRUE)) {
    expected <- if (length(sizes) == 1L) {
      "a whole number"
    } else {
      paste0("1 to ", length(sizes), " whole numbers, one for each axis")
    }
    abort_arg("n", expected, describe(n))
  }
  n <- c(n, rep(NA, length(sizes) - length(n)))
  kept <- ifelse(is.na(n), sizes, ifelse(n < 0, pmax(sizes + n, 0), pmin(n, sizes)))
  start <- if (last) sizes - kept + 1 else rep(1, length(sizes))
  nv_static_slice(x, start, start + kept - 1)
}

#' @rdname nv_subset
#' @importFrom utils head
#' @method head AnvilValue
#' @export
head.AnvilValue <- function(x, n = 6L, ...) {
  check_dots(...)
  ends(x, n, last = FALSE)
}

#' @rdname nv_subset
#' @importFrom utils tail
#' @method tail AnvilValue
#' @export
tail.AnvilValue <- function(x, n = 6L, ...) {
  check_dots(...)
  ends(x, n, last = TRUE)
}

#' @rdname nv_subset
#' @export
rev.AnvilValue <- function(x) {
  if (ndims(x) == 0L) return(x)
  nv_reverse(if (ndims(x) == 1L) x else nv_flatten(x), 1L)
}
