# Statistics of the elements along axes.

#' Variance and standard deviation
#'
#' The variance is the sum of the squared deviations of the elements from their mean, divided by their number
#' less `correction`: `correction = 1` is the unbiased estimate that [stats::var()] gives, `correction = 0` is
#' the mean of the squares. The standard deviation is its square root. The operand is read once, and the sum
#' is computed in double precision: see [nv_reduce_squares()]. Integers and booleans are converted to `f32`
#' first; `bf16` and `f16` too, and the result is rounded once.
#'
#' `var(x)` of a vector and `sd(x)` are the same; `var()` of a matrix is [nv_cov()].
#'
#' @inheritParams nv_reduce_sum
#' @param operand A tensor, a traced value, or an R number, logical or array, but not of complex numbers.
#' @param correction What the number of elements is reduced by: one finite number, at least 0.
#' @param na_rm Whether NaN is left out. What is left out has gradient 0.
#' @return A tensor without the reduced axes (or with size 1 there); of `operand`'s dtype and ambiguity
#'   if that is a float, else an ambiguous `f32`. NaN over no more than `correction` elements, where
#'   [stats::var()] gives `NA`, and if any element is infinite or NaN. The gradient of a standard deviation of
#'   0 is 0.
#' @section Errors: `anvil_error_axis` for axes out of range or given twice, `anvil_error_dtype`
#' for complex numbers, `anvil_error_arg` for any other `correction`.
#' @inherit nv_reduce_sum references
#' @seealso [nv_mean()], [nv_cov()], [nv_moment()]
#' @examples
#' nv_var(nv_tensor(c(1, 2, 6)))
#' nv_var(nv_tensor(c(1, 2, 6)), correction = 0)
#' nv_var(nv_tensor(1:6, shape = c(2, 3)), axes = 2)
#' # Standard deviations of columns
#' nv_sd(nv_tensor(matrix(c(1, 2, 6, 4, 4, 4), 3)), axes = 1)
#' nv_sd(nv_tensor(c(1, NaN, 6)), na_rm = TRUE)
#' @export
nv_var <- function(operand, axes = NULL, drop = TRUE, correction = 1, na_rm = FALSE) {
  .External(anvil_op, "var", operand, axes = axes, drop = drop, correction = correction, na_rm = na_rm)
}

#' @rdname nv_var
#' @export
nv_sd <- function(operand, axes = NULL, drop = TRUE, correction = 1, na_rm = FALSE) {
  .External(anvil_op, "sd", operand, axes = axes, drop = drop, correction = correction, na_rm = na_rm)
}

#' Weighted mean
#'
#' The sum of the elements times their weights, divided by the sum of the weights. As in R, an element of
#' weight 0 is left out, be it infinite or NaN. `weighted.mean(x, w)` is the same.
#'
#' @inheritParams nv_reduce_sum
#' @param operand,x A tensor, a traced value, or an R number, logical or array.
#' @param weights,w Weights: of the shape of the operand, or 1-d and as long as the one axis in `axes`.
#' @param na_rm,na.rm Whether elements that are NaN are left out with their weights.
#' @param ... Not used.
#' @return A tensor without the reduced axes (or with size 1 there), of the common dtype of both, or of the
#'   float that integers and booleans are promoted to. NaN if the weights sum to 0.
#' @section Errors: `anvil_error_shape` for weights of another shape, `anvil_error_axis` for axes out of range
#'   or given twice.
#' @seealso [nv_mean()]
#' @examples
#' nv_weighted_mean(nv_tensor(c(1, 2, 6)), c(2, 1, 1))
#' x <- nv_tensor(matrix(c(1, 2, 3, 4, 5, 6), 2))
#' nv_weighted_mean(x, c(1, 0, 1), axes = 2)
#' weighted.mean(nv_tensor(c(1, NaN)), c(1, 1), na.rm = TRUE)
#' @export
nv_weighted_mean <- function(operand, weights, axes = NULL, drop = TRUE, na_rm = FALSE) {
  .External(
    anvil_op, "weighted_mean", as_operand(operand), as_operand(weights), axes = axes, drop = drop,
    na_rm = na_rm
  )
}

#' @rdname nv_weighted_mean
#' @method weighted.mean AnvilValue
#' @export
weighted.mean.AnvilValue <- function(x, w = NULL, ..., axes = NULL, drop = TRUE, na.rm = FALSE) {
  check_dots(...)
  check_flag("na.rm", na.rm)
  if (is.null(w)) return(nv_mean(x, axes, drop, na.rm))
  nv_weighted_mean(x, w, axes, drop, na.rm)
}

#' Moments
#'
#' `nv_moment()` is the mean of a power of the elements, or of their deviations from the mean. `nv_skewness()`
#' is the third central moment divided by the third power of the standard deviation, `nv_kurtosis()` the
#' fourth divided by the square of the variance, where both divide by the number of elements: 0 and 3 for
#' normal numbers. Integers and booleans are converted to `f32` first; `bf16` and `f16` too, and results are
#' rounded once.
#'
#' @inheritParams nv_var
#' @param order The power: a whole number from 0 to 1024.
#' @param central Whether the mean is subtracted first.
#' @param excess Whether 3 is subtracted, so that normal numbers have 0.
#' @return A tensor without the reduced axes (or with size 1 there); of `operand`'s dtype and ambiguity
#'   if that is a float, else an ambiguous `f32`. NaN over no elements; skewness and kurtosis also of equal
#'   elements.
#' @section Errors: `anvil_error_axis` for axes out of range or given twice, `anvil_error_dtype`
#' for complex numbers, `anvil_error_arg` for any other `order`.
#' @seealso [nv_mean()], [nv_var()]
#' @examples
#' x <- nv_tensor(c(1, 2, 6))
#' nv_moment(x, 2)
#' nv_moment(x, 2, central = FALSE)
#' nv_skewness(x)
#' nv_kurtosis(x)
#' @export
nv_moment <- function(operand, order, axes = NULL, drop = TRUE, central = TRUE, na_rm = FALSE) {
  .External(
    anvil_op, "moment", operand, order = order, axes = axes, drop = drop, central = central, na_rm = na_rm
  )
}

#' @rdname nv_moment
#' @export
nv_skewness <- function(operand, axes = NULL, drop = TRUE, na_rm = FALSE) {
  .External(anvil_op, "skewness", operand, axes = axes, drop = drop, na_rm = na_rm)
}

#' @rdname nv_moment
#' @export
nv_kurtosis <- function(operand, axes = NULL, drop = TRUE, excess = FALSE, na_rm = FALSE) {
  .External(anvil_op, "kurtosis", operand, axes = axes, drop = drop, excess = excess, na_rm = na_rm)
}

#' Covariance and correlation
#'
#' Covariances and correlations of the columns of `x`, or of those of `x` and those of `y`. Rows are
#' observations; axes before the last two are a batch. As in R, the diagonal of `nv_cor(x)` is 1.
#'
#' Integers and booleans are converted to `f32` first; `bf16` and `f16` too, and results are rounded once.
#' `cov()`, `cor()`, and `var()` of matrices are the same, with R's arguments: see [base-functions].
#'
#' @param x,y Tensors, traced values, or R vectors or matrices, not of complex numbers. A vector is a matrix
#'   of one column. `NULL` for `y` is `x`, which has at least 2 axes then.
#' @param correction What the number of rows is reduced by: one finite number, at least 0.
#' @param na_rm Whether rows with NaN are left out, as with `use = "complete.obs"` in R.
#' @return A tensor of shape `(b..., columns of x, columns of y)`, 0-d for two vectors; of the common dtype
#'   and ambiguity if that is a float, else an ambiguous `f32`. NaN for covariances over no more than
#'   `correction` rows and for correlations with a constant column, where R gives `NA`.
#' @section Errors: `anvil_error_shape` for other numbers of rows and for a vector alone, `anvil_error_dtype`
#'   for complex numbers, `anvil_error_arg` for any other `correction`.
#' @seealso [nv_var()]
#' @examples
#' x <- nv_tensor(cbind(c(1, 2, 3, 4), c(2, 1, 4, 3)))
#' nv_cov(x)
#' nv_cor(x)
#' nv_cor(c(1, 2, 3, 4), nv_tensor(c(2, 1, 4, 3)))
#' @export
nv_cov <- function(x, y = NULL, correction = 1, na_rm = FALSE) {
  .External(anvil_op, "cov", operands = observations(x, y), correction = correction, na_rm = na_rm)
}

#' @rdname nv_cov
#' @export
nv_cor <- function(x, y = NULL, na_rm = FALSE) {
  .External(anvil_op, "cor", operands = observations(x, y), na_rm = na_rm)
}

observations <- function(x, y) c(list(as_operand(x)), if (!is.null(y)) list(as_operand(y)))

#' Scale and normalize
#'
#' `nv_scale()` subtracts from each column its mean, and divides it by its standard deviation, as [scale()]
#' does. `nv_normalize()` divides by the norm along axes.
#'
#' `scale(x)` of a tensor is `nv_scale()` with `na_rm = TRUE`, with the names and the attributes
#' `"scaled:center"` and `"scaled:scale"` that R gives it, which what computes with it does not keep.
#'
#' Without `center`, columns are divided by their root mean square, whose sum is divided by the number of
#' elements less 1, as in R.
#'
#' @param operand,x A tensor, a traced value, or an R vector or array; for `nv_scale()` not of complex
#'   numbers.
#' @param center,scale Whether the mean is subtracted, and whether it is divided by the standard deviation; or
#'   what is used in their place: a number, or one for each column, as a tensor or R vector.
#' @param axis The axis along which means are taken, from 1 or negative from the end. `NULL` is that of the
#'   rows: the last but one, or the only one.
#' @param na_rm Whether NaN is left out of the mean and the standard deviation.
#' @param axes The axes along which the norm is taken, from 1 or negative from the end; `NULL` is all.
#' @param p Which norm: the `p`-th root of the sum of the `p`-th powers of absolute values; `Inf` is the
#'   largest of these.
#' @param epsilon The least number to divide by: one finite number, at least 0.
#' @return A tensor of `operand`'s shape; of its dtype and ambiguity if that is a float (for `nv_normalize()`
#'   also a complex dtype), else an ambiguous `f32`.
#' @section Errors: `anvil_error_axis` for axes out of range or given twice, `anvil_error_arg` for other `p`
#'   and `epsilon`, `anvil_error_shape` for a `center` or `scale` that does not fit, `anvil_error_dtype` for
#'   complex numbers.
#' @seealso [nv_mean()], [nv_sd()]
#' @examples
#' x <- nv_tensor(matrix(c(1, 2, 6, 4, 5, 9), 3))
#' nv_scale(x)
#' nv_scale(x, center = c(1, 4), scale = FALSE)
#' scale(x, scale = FALSE)
#' nv_normalize(nv_tensor(c(3, 4)))
#' nv_normalize(x, axes = 1, p = Inf)
#' @export
nv_scale <- function(operand, center = TRUE, scale = TRUE, axis = NULL, na_rm = FALSE) {
  is_flag <- function(x) is.logical(x) && !is.object(x) && length(x) == 1L
  given <- Filter(function(x) !is_flag(x), list(center, scale))
  .External(
    anvil_op, "scale", operands = lapply(c(list(operand), given), as_operand),
    center = if (is_flag(center)) center, scale = if (is_flag(scale)) scale, axis = axis, na_rm = na_rm
  )
}

#' @rdname nv_scale
#' @export
scale.AnvilValue <- function(x, center = TRUE, scale = TRUE) {
  if (ndims(x) > 2L) {
    abort_arg(
      "x", "a matrix or a vector", paste("a tensor of shape", format_shape(shape(x))),
      "`nv_scale()` takes a batch of matrices."
    )
  }
  # As in R, a vector is a matrix of one column.
  if (ndims(x) < 2L) x <- with_names(nv_reshape(x, c(length(x), 1L)), list(names(x), NULL))
  out <- with_names(nv_scale(x, center, scale, na_rm = TRUE), dimnames(x))
  # As R has it, the result knows what was subtracted and what divided by, for new data.
  # nolint start: object_name_linter. Attributes have the names that they have in R.
  if (isTRUE(center)) center <- with_names(nv_mean(x, 1L, na_rm = TRUE), list(colnames(x)))
  if (isTRUE(scale)) scale <- with_names(root_mean_squares(x, center), list(colnames(x)))
  if (!isFALSE(center)) attr(out, "scaled:center") <- center
  if (!isFALSE(scale)) attr(out, "scaled:scale") <- scale
  # nolint end
  out
}

# Of the columns, with a sum of squares that is divided by the number of elements less 1.
root_mean_squares <- function(x, center) {
  if (!isFALSE(center)) x <- sweep.AnvilValue(x, 2L, center)
  count <- nv_reduce_sum(!nv_is_nan(x), axes = 1L)
  sqrt(.External(anvil_op, "reduce_sum", x^2, axes = 1L, drop = TRUE, na_rm = TRUE) / nv_max(count - 1L, 1L))
}

#' @rdname nv_scale
#' @export
nv_normalize <- function(operand, axes = -1L, p = 2, epsilon = 1e-12) {
  .External(anvil_op, "normalize", as_operand(operand), axes = axes, p = p, epsilon = epsilon)
}

#' Softmax and logarithms of sums of exponentials
#'
#' `nv_logsumexp()` is `log(sum(exp(x)))`, `nv_softmax()` is `exp(x) / sum(exp(x))`, and `nv_log_softmax()` is
#' `x - log(sum(exp(x)))`, each computed from the differences to the largest element, so that nothing
#' overflows. Integers and booleans are converted to `f32` first; `bf16` and `f16` too, and results are
#' rounded once.
#'
#' @inheritParams nv_var
#' @param axes The axes along which the sum is taken, from 1 or negative from the end; `NULL` is all.
#' @return For `nv_logsumexp()` a tensor without the reduced axes (or with size 1 there), for the others one
#'   of `operand`'s shape; of `operand`'s dtype and ambiguity if that is a float, else an ambiguous `f32`.
#'   `nv_logsumexp()` is -Inf over no elements and where all are -Inf, with a gradient of 0, and Inf where one
#'   is. The others are NaN where the largest element is infinite.
#' @section Errors: `anvil_error_axis` for axes out of range or given twice, `anvil_error_dtype`
#' for complex numbers.
#' @examples
#' x <- nv_tensor(c(1000, 1001, 999))
#' nv_logsumexp(x)
#' nv_softmax(x)
#' nv_log_softmax(x)
#' nv_softmax(nv_tensor(matrix(1:6, 2)), axes = 2)
#' @export
nv_logsumexp <- function(operand, axes = NULL, drop = TRUE, na_rm = FALSE) {
  .External(anvil_op, "logsumexp", operand, axes = axes, drop = drop, na_rm = na_rm)
}

#' @rdname nv_logsumexp
#' @export
nv_softmax <- function(operand, axes = -1L) {
  .External(anvil_op, "softmax", operand, axes = axes, drop = FALSE)
}

#' @rdname nv_logsumexp
#' @export
nv_log_softmax <- function(operand, axes = -1L) {
  .External(anvil_op, "log_softmax", operand, axes = axes, drop = FALSE)
}
