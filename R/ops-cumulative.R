#' Cumulative sums, products and extremes
#'
#' What the elements of an axis amount to, up to each of them: their sum, product, largest, smallest, or the
#' logarithm of the sum of their exponentials.
#'
#' Integers wrap; booleans are counted as `i32` in sums and products. From the first NaN on, all results are
#' NaN, as in R. `cumsum(x)`, `cumprod(x)`, `cummax(x)` and `cummin(x)` are these functions of all elements;
#' R's own give `NA` where the sum of integers exceeds their range. Of elements that are equal, the first has
#' the derivative of the largest and smallest so far.
#'
#' `nv_cumlogsumexp(x)` is `log(cumsum(exp(x)))`, but nothing overflows or vanishes.
#'
#' @param operand,x A tensor, a traced value, or an R number, logical or array: anything but complex numbers
#'   for `nv_cummax()` and `nv_cummin()`; for `nv_cumlogsumexp()` floats, which integers and booleans become.
#' @param axis The axis along which elements are taken, from 1. `NULL`: all elements, in column-major order,
#'   as [cumsum()] takes those of a matrix.
#' @param reverse Whether they are taken from the last to the first: each result is of the elements from its
#'   own on.
#' @return A tensor of `operand`'s shape; 1-d if `axis` is `NULL`. Of its dtype and ambiguity; `i32` for the
#'   sum or product of booleans.
#' @section Properties:
#' * Dtypes:
#'     * `nv_cumsum()` and `nv_cumprod()`: Any dtype; booleans count as `i32`.
#'     * `nv_cummax()` and `nv_cummin()`: Any dtype but complex numbers.
#'     * `nv_cumlogsumexp()`: Floats (`bf16`, `f16`, `f32`, `f64`); integers and booleans are promoted to an
#'       ambiguous `f32`.
#' * Accuracy:
#'     * `nv_cumsum()`: `f32`, `f64` and complex numbers are summed in double precision, `bf16` and `f16` in
#'       `f32`, and rounded once; sums of blocks of 1,024 elements are compensated.
#'     * `nv_cumprod()`: `f32`, `f64` and complex numbers are multiplied in double precision, `bf16` and `f16`
#'       in `f32`, and rounded once.
#'     * `nv_cummax()` and `nv_cummin()`: Results are exact.
#'     * `nv_cumlogsumexp()`: Exponentials are taken less an element that is the largest so far but for 1,
#'       summed in double precision, and the logarithm is rounded once.
#' * Derivative:
#'     * `nv_cumsum()`: Differentiable, linear in `operand`.
#'     * `nv_cumprod()`, `nv_cummax()`, `nv_cummin()` and `nv_cumlogsumexp()`: Differentiable with respect to
#'       `operand`.
#' @section Errors: `anvil_error_axis` for an axis out of range, `anvil_error_arg` for several, and for
#' `reverse` that is neither `TRUE` nor `FALSE`, `anvil_error_dtype` for complex numbers where there are none.
#' @seealso [nv_associative_scan()] for other functions of two elements, [nv_scan()] for those of a state and
#'   an element, [nv_reduce()] and [nv_diff()].
#' @examples
#' x <- nv_tensor(c(3, 1, 4, 1, 5))
#' cumsum(x)
#' nv_cumsum(x, reverse = TRUE)
#' nv_cummax(x)
#' m <- nv_tensor(1:6, shape = c(2, 3))
#' nv_cumprod(m, axis = 2)
#' nv_cumlogsumexp(c(1000, 1000, 1001))
#' @name nv_cumsum
NULL

#' @rdname nv_cumsum
#' @export
nv_cumsum <- function(operand, axis = NULL, reverse = FALSE) {
  .External(anvil_op, "cumsum", operand, axis = axis, reverse = reverse)
}

#' @rdname nv_cumsum
#' @export
nv_cumprod <- function(operand, axis = NULL, reverse = FALSE) {
  .External(anvil_op, "cumprod", operand, axis = axis, reverse = reverse)
}

#' @rdname nv_cumsum
#' @export
nv_cummax <- function(operand, axis = NULL, reverse = FALSE) {
  .External(anvil_op, "cummax", operand, axis = axis, reverse = reverse)
}

#' @rdname nv_cumsum
#' @export
nv_cummin <- function(operand, axis = NULL, reverse = FALSE) {
  .External(anvil_op, "cummin", operand, axis = axis, reverse = reverse)
}

#' @rdname nv_cumsum
#' @export
nv_cumlogsumexp <- function(operand, axis = NULL, reverse = FALSE) {
  .External(anvil_op, "cumlogsumexp", operand, axis = axis, reverse = reverse)
}

#' @rdname nv_cumsum
#' @export
cumsum.AnvilValue <- function(x) nv_cumsum(x)

#' @rdname nv_cumsum
#' @export
cumprod.AnvilValue <- function(x) nv_cumprod(x)

#' @rdname nv_cumsum
#' @export
cummax.AnvilValue <- function(x) nv_cummax(x)

#' @rdname nv_cumsum
#' @export
cummin.AnvilValue <- function(x) nv_cummin(x)

#' Differences
#'
#' The difference of each element along an axis and the one `lag` before it; of these differences again, as
#' often as `differences` says. [diff()] is this function along the first axis.
#'
#' @param operand A tensor, a traced value, or an R number, logical or array. Booleans are counted as `i32`,
#'   unsigned integers wrap.
#' @param lag How far apart elements are: a whole number, at least 1.
#' @param differences How often differences are taken: a whole number, at least 1.
#' @param axis The axis, from 1.
#' @return A tensor of `operand`'s dtype and ambiguity, shorter by `lag * differences` along the axis, or of
#'   size 0 there.
#' @section Errors: `anvil_error_arg` for a `lag` or `differences` that is none, `anvil_error_axis` for an
#' axis out of range.
#' @seealso [nv_cumsum()], the inverse.
#' @examples
#' nv_diff(nv_tensor(c(1, 4, 9, 16)))
#' nv_diff(nv_tensor(c(1, 4, 9, 16)), differences = 2)
#' nv_diff(nv_tensor(matrix(1:6, 2)), axis = 2)
#' @export
nv_diff <- function(operand, lag = 1L, differences = 1L, axis = 1L) {
  .External(anvil_op, "diff", operand, lag = lag, differences = differences, axis = axis)
}
