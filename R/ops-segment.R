#' Sums, means and extremes of segments
#'
#' What the elements of each segment along an axis amount to: those with the same code, wherever they are.
#' With the codes of a factor this is what [rowsum()] and [tapply()] are for R's vectors and matrices.
#'
#' `rowsum(x, group)` sums the rows of a matrix, or the elements of a vector, by groups that R knows: a vector
#' or factor, as in base R. Its rows are named after the groups. In a traced function a factor may be traced:
#' there is a row for each of its levels, also for those without elements.
#'
#' Sums of `f32` are computed in `f64`, those of `c64` in `c128`, and those of `bf16` and `f16` in `f32`, and
#' rounded once; integers wrap, booleans are counted as `i32`. A segment without elements has the sum 0, the
#' mean NaN, and as largest element the lowest value of the dtype, as smallest the highest.
#'
#' @param operand A tensor, a traced value, or an R number, logical or array: anything but complex numbers for
#'   `nv_segment_max()` and `nv_segment_min()`.
#' @param codes The segment of each element along the axis, from 1: integers, or a factor.
#' @param n How many segments there are, which is the size of the result. `NULL`: as many as a factor has
#'   levels, or the largest code; it must be given for traced codes.
#' @param axis The axis along which segments are, from 1.
#' @param mode What becomes of elements whose code is below 1, above `n` or missing: `"error"`; `"drop"`, they
#'   are left out; `"clip"`, they belong to the nearest segment.
#' @param x A tensor or traced value of at most two axes.
#' @param group The group of each row: a vector or factor of R.
#' @param reorder Whether groups are sorted; else they come in the order in which they are met.
#' @param na.rm Whether NaN is left out: `TRUE` or `FALSE`.
#' @param ... Not used.
#' @return A tensor with `n` instead of the size along the axis. Of `operand`'s dtype and ambiguity; sums of
#'   booleans are `i32`, and means of integers and booleans an ambiguous `f32`.
#' @section Errors: `anvil_error_index` for a code that is out of range; `anvil_error_arg` for codes that are
#' not one for each element, an `n` that is no number of segments or left out for traced codes, and a `group`
#' that is no vector of R; `anvil_error_axis` for an axis out of range; `anvil_error_dtype` for codes that are
#' no integers, and for complex numbers where an order is needed.
#' @seealso [nv_scatter()], of which these are cases; [nv_reduce_sum()] and its like for all elements.
#' @examples
#' x <- nv_tensor(c(1, 2, 3, 4))
#' nv_segment_sum(x, c(1, 2, 1, 2))
#' nv_segment_mean(x, factor(c("a", "b", "a", "a")))
#' nv_segment_max(nv_tensor(matrix(1:6, 2)), c(1, 1, 2), n = 3, axis = 2)
#' rowsum(nv_tensor(matrix(1:6, 3)), c("b", "a", "b"))
#' @name nv_segment_sum
NULL

#' @rdname nv_segment_sum
#' @export
nv_segment_sum <- function(operand, codes, n = NULL, axis = 1L, mode = "error") {
  by_segment("segment_sum", operand, codes, n, axis, mode)
}

#' @rdname nv_segment_sum
#' @export
nv_segment_mean <- function(operand, codes, n = NULL, axis = 1L, mode = "error") {
  by_segment("segment_mean", operand, codes, n, axis, mode)
}

#' @rdname nv_segment_sum
#' @export
nv_segment_max <- function(operand, codes, n = NULL, axis = 1L, mode = "error") {
  by_segment("segment_max", operand, codes, n, axis, mode)
}

#' @rdname nv_segment_sum
#' @export
nv_segment_min <- function(operand, codes, n = NULL, axis = 1L, mode = "error") {
  by_segment("segment_min", operand, codes, n, axis, mode)
}

by_segment <- function(op, operand, codes, n, axis, mode) {
  if (is.factor(codes)) {
    n <- n %||% nlevels(codes)
    codes <- as.integer(codes)
  }
  if (is_traced_factor(codes)) {
    n <- n %||% nlevels(codes)
    codes <- codes_of(codes)
  }
  if (is.null(n)) {
    if (is_traced(codes)) {
      abort_arg("n", "given, as the codes are traced", "left out", "It is the size of the result.")
    }
    known <- if (is_numeric(codes) || inherits(codes, "AnvilTensor")) as.vector(codes[!is.na(codes)]) else 0
    n <- max(known, 0)
  }
  if (!is.object(codes) && is.numeric(codes)) {
    # A missing code is none of those from 1 on.
    if (!identical(mode, "clip")) codes[is.na(codes)] <- 0L
    if (length(codes) == 1L) codes <- array(codes)
  }
  codes <- as_index(codes)
  .External(anvil_op, op, operand, codes, n = n, axis = axis, mode = mode)
}

#' @rdname nv_segment_sum
#' @export
rowsum.AnvilValue <- function(x, group, reorder = TRUE, na.rm = FALSE, ...) {
  check_dots(...)
  check_flag("reorder", reorder)
  check_flag("na.rm", na.rm)
  if (is_traced(group)) group <- with_known_levels(group)
  if (is_traced(group) && is.null(levels(group))) abort_concrete("rowsum()", group)
  if (inherits(group, "AnvilTensor")) group <- as_array(group)
  if (!is.atomic(group) || is.null(group)) abort_arg("group", "a vector or factor", describe(group))
  if (is_traced(group) && !reorder) {
    abort_arg("reorder", "TRUE for traced groups", "FALSE", "Which group comes first is not known.")
  }
  if (ndims(x) > 2L) abort_arg("x", "a tensor of at most two axes", paste("one of", ndims(x)))
  if (ndims(x) < 2L) x <- nv_reshape(x, c(length(x), 1L))
  if (length(group) != nrow(x)) {
    abort_arg("group", paste("as long as `x` has rows,", nrow(x)), paste("of length", length(group)))
  }
  if (na.rm && is_inexact(x)) x <- nv_ifelse(nv_is_nan(x), nv_scalar(0, dtype(x), ambiguous(x)), x)
  if (is_traced(group)) {
    # All levels, since which of them have elements is not known.
    sums <- nv_segment_sum(x, codes_of(group), nlevels(group), mode = "drop")
    dimnames(sums) <- list(levels(group), colnames(x))
    return(sums)
  }
  # Factors are sorted by their levels and dates as dates, and not as the text that they are printed as.
  if (!is.object(group)) group <- as.vector(group)
  groups <- unique(group)
  if (reorder) groups <- sort(groups, na.last = TRUE, method = "quick")
  sums <- nv_segment_sum(x, match(group, groups), length(groups))
  dimnames(sums) <- list(as.character(groups), colnames(x))
  sums
}
