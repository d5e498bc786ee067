#' Matrix product
#'
#' The matrix product over the last two axes; leading axes are a batch and must be equal. Of matrices and
#' batches `x %*% y` is the same; `crossprod(x, y)` and `tcrossprod(x, y)` transpose the last two axes of `x`,
#' or of `y`.
#'
#' In `%*%`, `crossprod()` and `tcrossprod()` a 1-d operand is a vector, as in R: next to a matrix it is the
#' row or the column that fits, so that `x %*% v` is a matrix of one column and `v %*% x` one of one row; of
#' two vectors of one length `v %*% w` and `crossprod(v, w)` are the inner product, a matrix of one element,
#' and `tcrossprod(v, w)` is the outer product. A 0-d operand is a vector of one element. `nv_matmul()`
#' refuses them: whether one of its operands is a batch is seen from its axes alone.
#'
#' Floats and complex numbers accumulate in their own dtype, `bf16` and `f16` in `f32`, from which each
#' element is rounded once; integers wrap, booleans count as `i32`.
#'
#' @param lhs,rhs Tensors, traced values or R arrays of shapes `(b..., m, k)` and `(b..., k, n)`, at least
#'   2-d. They are promoted to their common dtype.
#' @return A tensor of shape `(b..., m, n)` and the common dtype and ambiguity.
#' @section Errors: `anvil_error_shape` with both shapes if they do not fit, or an operand of `nv_matmul()`
#' has fewer than 2 axes.
#' @seealso [nv_dot_general()] for sums over other axes.
#' @examples
#' x <- nv_tensor(1:6, shape = c(2, 3))
#' x %*% t(x)
#' tcrossprod(x)
#' x %*% nv_tensor(c(1L, 10L, 100L))
#' @aliases %*% %*%,AnvilValue,AnvilValue-method %*%,AnvilValue,ANY-method %*%,ANY,AnvilValue-method
#' @aliases crossprod tcrossprod
#' @export
nv_matmul <- function(lhs, rhs) .External(anvil_op, "matmul", lhs, rhs)

#' General tensor contraction
#'
#' The product of two tensors, summed over contracting axes. Batching axes are matched; the result has them
#' and all other axes.
#'
#' @param lhs,rhs Tensors, traced values or R arrays. They are promoted to their common dtype.
#' @param contracting_axes,batching_axes A list of two vectors of axes, from 1 or negative from the end, one
#'   for each operand, which are paired in order; paired axes have equal sizes.
#' @return A tensor of the common dtype and ambiguity. Its axes are those of the batch, then the
#'   others of `lhs`, then the others of `rhs`.
#' @section Properties:
#' * Dtypes: Any dtype; booleans count as `i32`.
#' * Accuracy: Terms are summed in the dtype of the operands, of `bf16` and `f16` in `f32`, and blocks of a
#'   long sum in double precision: the error grows with the number of terms.
#' * Derivative: Differentiable, linear in each of `lhs` and `rhs`.
#' @section Errors: `anvil_error_shape` if paired sizes differ, `anvil_error_axis` for axes out
#' of range or given twice, `anvil_error_arg` for anything but such lists.
#' @references StableHLO specification, `dot_general`.
#' @examples
#' x <- nv_tensor(1:6, shape = c(2, 3))
#' nv_dot_general(x, x, contracting_axes = list(1, 1))
#' @export
nv_dot_general <- function(lhs, rhs, contracting_axes, batching_axes = list(integer(), integer())) {
  .External(
    anvil_op, "dot_general", lhs, rhs, contracting_axes = contracting_axes, batching_axes = batching_axes
  )
}
