#' Reductions
#'
#' Sum, product, largest and smallest element, whether any or all are true, and the sum of the squared
#' deviations from the mean, over some or all axes.
#'
#' Integers wrap; booleans are counted as `i32`. The largest and smallest are NaN if any element is, unless
#' `na_rm = TRUE`. Over no elements, the sum is 0, the product 1, the largest the lowest value of the dtype,
#' the smallest the highest, `any` is `FALSE` and `all` is `TRUE`.
#'
#' `nv_reduce_squares()` reads its operand once, as a sum does, and computes in double precision: deviations
#' are taken from a number near the mean of each block of 1,024 elements, and the sums of blocks are combined
#' by the pairwise update of Chan, Golub and LeVeque (1983). It is 0 over no elements or one, and NaN if any
#' element is infinite or NaN. [nv_var()] is the variance.
#'
#' @param operand A tensor, a traced value, or an R number, logical or array; booleans for `any` and `all`,
#'   anything but complex numbers for `max` and `min`, floats for `squares`.
#' @param axes The axes to reduce, from 1; negative numbers count from the end. `NULL` is all of them,
#'   `integer()` is none.
#' @param drop Whether reduced axes disappear, or stay with size 1.
#' @param na_rm Whether NaN is left out. What is left out has gradient 0, and changes nothing for integers and
#'   booleans, which have no NaN.
#' @return A tensor without the reduced axes (or with size 1 there), of `operand`'s dtype and ambiguity;
#'   `i32` for the sum or product of booleans.
#' @section Properties:
#' * Dtypes:
#'     * `nv_reduce_sum()` and `nv_reduce_prod()`: Any dtype; booleans count as `i32`.
#'     * `nv_reduce_max()` and `nv_reduce_min()`: Any dtype but complex numbers.
#'     * `nv_reduce_any()` and `nv_reduce_all()`: Booleans (`i1`).
#'     * `nv_reduce_squares()`: Floats (`bf16`, `f16`, `f32`, `f64`).
#' * Accuracy:
#'     * `nv_reduce_sum()` and `nv_reduce_prod()`: `f32`, `f64` and complex numbers are summed and multiplied
#'       in double precision, `bf16` and `f16` in `f32`, and rounded once; sums are compensated.
#'     * `nv_reduce_max()` and `nv_reduce_min()`: Results are exact.
#'     * `nv_reduce_squares()`: Deviations are squared and summed in double precision and the sum is rounded
#'       once.
#' * Derivative:
#'     * `nv_reduce_sum()`: Differentiable, linear in `operand`.
#'     * `nv_reduce_prod()`, `nv_reduce_max()`, `nv_reduce_min()` and `nv_reduce_squares()`: Differentiable
#'       with respect to `operand`.
#'     * `nv_reduce_any()` and `nv_reduce_all()`: None: integers and booleans have no gradient.
#' @section Errors: `anvil_error_axis` for axes out of range or given twice, `anvil_error_dtype`
#' for `any` and `all` of numbers: compare them first, such as with `x != 0`; for `max` and `min` of complex
#' numbers, which have no order; and for `squares` of anything but floats.
#' @references T. F. Chan, G. H. Golub and R. J. LeVeque (1983). Algorithms for computing the sample variance:
#'   analysis and recommendations. *The American Statistician* 37, 242-247.
#'   \doi{10.1080/00031305.1983.10483115}
#' @seealso [nv_mean()], [nv_var()]
#' @examples
#' x <- nv_tensor(1:6, shape = c(2, 3))
#' nv_reduce_sum(x)
#' nv_reduce_sum(x, axes = 1)
#' nv_reduce_max(x, axes = 2, drop = FALSE)
#' nv_reduce_any(x > 5L)
#' nv_reduce_squares(nv_tensor(c(1, 2, 6)))
#' nv_reduce_sum(nv_tensor(c(1, NaN, 6)), na_rm = TRUE)
#' @name nv_reduce_sum
NULL

#' @rdname nv_reduce_sum
#' @export
nv_reduce_sum <- function(operand, axes = NULL, drop = TRUE, na_rm = FALSE) {
  .External(anvil_op, "reduce_sum", operand, axes = axes, drop = drop, na_rm = na_rm)
}

#' @rdname nv_reduce_sum
#' @export
nv_reduce_prod <- function(operand, axes = NULL, drop = TRUE, na_rm = FALSE) {
  .External(anvil_op, "reduce_prod", operand, axes = axes, drop = drop, na_rm = na_rm)
}

#' @rdname nv_reduce_sum
#' @export
nv_reduce_max <- function(operand, axes = NULL, drop = TRUE, na_rm = FALSE) {
  .External(anvil_op, "reduce_max", operand, axes = axes, drop = drop, na_rm = na_rm)
}

#' @rdname nv_reduce_sum
#' @export
nv_reduce_min <- function(operand, axes = NULL, drop = TRUE, na_rm = FALSE) {
  .External(anvil_op, "reduce_min", operand, axes = axes, drop = drop, na_rm = na_rm)
}

#' @rdname nv_reduce_sum
#' @export
nv_reduce_any <- function(operand, axes = NULL, drop = TRUE, na_rm = FALSE) {
  .External(anvil_op, "reduce_any", operand, axes = axes, drop = drop, na_rm = na_rm)
}

#' @rdname nv_reduce_sum
#' @export
nv_reduce_all <- function(operand, axes = NULL, drop = TRUE, na_rm = FALSE) {
  .External(anvil_op, "reduce_all", operand, axes = axes, drop = drop, na_rm = na_rm)
}

#' @rdname nv_reduce_sum
#' @export
nv_reduce_squares <- function(operand, axes = NULL, drop = TRUE, na_rm = FALSE) {
  .External(anvil_op, "reduce_squares", operand, axes = axes, drop = drop, na_rm = na_rm)
}

#' Mean
#'
#' The sum of the elements divided by their number. Integers and booleans are converted to `f32` first, so
#' that nothing wraps; `bf16` and `f16` too, and the mean is rounded once.
#'
#' @inheritParams nv_reduce_sum
#' @param operand A tensor, a traced value, or an R number, logical or array.
#' @return A tensor without the reduced axes (or with size 1 there); of `operand`'s dtype and ambiguity
#'   if that is a float or complex, else an ambiguous `f32`. NaN over no elements.
#' @section Errors:
#' `anvil_error_axis` for axes out of range or given twice.
#' @examples
#' nv_mean(nv_tensor(c(1, 2, 6)))
#' nv_mean(nv_tensor(1:6, shape = c(2, 3)), axes = 2)
#' @export
nv_mean <- function(operand, axes = NULL, drop = TRUE, na_rm = FALSE) {
  .External(anvil_op, "mean", operand, axes = axes, drop = drop, na_rm = na_rm)
}
