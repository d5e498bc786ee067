#' Reductions
#'
#' Sum, product, largest and smallest element, and whether any or all are true, over some or all dimensions.
#'
#' Sums and products of `f32` and of complex numbers are computed in double precision, those of `bf16` and `f16` in `f32`,
#' and rounded once; sums have a correction for rounding. Integers wrap; booleans are counted as `i32`. The largest and smallest are NaN if any element is. Over no elements, the sum is 0,
#' the product 1, the largest the lowest value of the dtype, the smallest the highest, `any` is `FALSE` and `all` is
#' `TRUE`.
#'
#' @param operand A tensor, a traced value, or an R number, logical or array; booleans for `any` and `all`, anything but
#'   complex numbers for `max` and `min`.
#' @param dims The dimensions to reduce, from 1. `NULL` is all of them, `integer()` is none.
#' @param drop Whether reduced dimensions disappear, or stay with size 1.
#' @return A tensor without the reduced dimensions (or with size 1 there), of `operand`'s dtype and ambiguity; `i32` for
#'   the sum or product of booleans.
#' @section Errors:
#' `anvil_error_axis` for dimension numbers out of range or given twice, `anvil_error_dtype` for `any` and `all` of
#' numbers: compare them first, such as with `x != 0`; and for `max` and `min` of complex numbers, which have no order.
#' @seealso [nv_mean()]
#' @examples
#' x <- nv_tensor(1:6, shape = c(2, 3))
#' nv_reduce_sum(x)
#' nv_reduce_sum(x, dims = 1)
#' nv_reduce_max(x, dims = 2, drop = FALSE)
#' nv_reduce_any(x > 5L)
#' @name nv_reduce
NULL

#' @rdname nv_reduce
#' @export
nv_reduce_sum <- function(operand, dims = NULL, drop = TRUE) {
  .External(anvil_op, "reduce_sum", operand, dims = dims, drop = drop)
}

#' @rdname nv_reduce
#' @export
nv_reduce_prod <- function(operand, dims = NULL, drop = TRUE) {
  .External(anvil_op, "reduce_prod", operand, dims = dims, drop = drop)
}

#' @rdname nv_reduce
#' @export
nv_reduce_max <- function(operand, dims = NULL, drop = TRUE) {
  .External(anvil_op, "reduce_max", operand, dims = dims, drop = drop)
}

#' @rdname nv_reduce
#' @export
nv_reduce_min <- function(operand, dims = NULL, drop = TRUE) {
  .External(anvil_op, "reduce_min", operand, dims = dims, drop = drop)
}

#' @rdname nv_reduce
#' @export
nv_reduce_any <- function(operand, dims = NULL, drop = TRUE) {
  .External(anvil_op, "reduce_any", operand, dims = dims, drop = drop)
}

#' @rdname nv_reduce
#' @export
nv_reduce_all <- function(operand, dims = NULL, drop = TRUE) {
  .External(anvil_op, "reduce_all", operand, dims = dims, drop = drop)
}

#' Mean
#'
#' The sum of the elements divided by their number. Integers and booleans are converted to `f32` first, so that nothing
#' wraps; `bf16` and `f16` too, and the mean is rounded once.
#'
#' @inheritParams nv_reduce
#' @param operand A tensor, a traced value, or an R number, logical or array.
#' @return A tensor without the reduced dimensions (or with size 1 there); of `operand`'s dtype and ambiguity if that is a
#'   float or complex, else an ambiguous `f32`. NaN over no elements.
#' @section Errors:
#' `anvil_error_axis` for dimension numbers out of range or given twice.
#' @examples
#' nv_mean(nv_tensor(c(1, 2, 6)))
#' nv_mean(nv_tensor(1:6, shape = c(2, 3)), dims = 2)
#' @export
nv_mean <- function(operand, dims = NULL, drop = TRUE) {
  .External(anvil_op, "mean", operand, dims = dims, drop = drop)
}
