#' Reshape
#'
#' The same elements in another shape of the same size.
#'
#' @param operand A tensor, a traced value, or an R number, logical or array.
#' @param shape Sizes of the axes of the result. One of them may be -1, which follows from the others.
#' @param order Order in which elements are read from `operand` and written to the result: `"column"`, first
#'   axis fastest, as [array()] and `dim<-` do; or `"row"`, last axis fastest, as in StableHLO, JAX and NumPy.
#'   Tensors are stored by columns, so that reshaping by columns copies nothing inside a program.
#' @return A tensor of shape `shape`, and of `operand`'s dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Any dtype.
#' * Accuracy: Results are exact.
#' * Derivative: Differentiable, linear in `operand`.
#' @section Errors:
#' `anvil_error_shape` if the sizes differ, `anvil_error_arg` for a shape or order that is none.
#' @examples
#' x <- nv_tensor(1:6, shape = c(2, 3))
#' nv_reshape(x, c(3, 2))
#' nv_reshape(x, c(3, 2), order = "row")
#' nv_reshape(x, c(1, -1))
#' @export
nv_reshape <- function(operand, shape, order = "column") {
  .External(anvil_op, "reshape", operand, shape = shape, order = order)
}

#' Flatten
#'
#' All elements along one axis, as [as.vector()] has them.
#'
#' @inheritParams nv_reshape
#' @return A 1-d tensor of `operand`'s dtype and ambiguity, with as many elements.
#' @section Errors:
#' `anvil_error_arg` for an order that is none.
#' @seealso [nv_reshape()], of which it is a case.
#' @examples
#' x <- nv_tensor(1:6, shape = c(2, 3))
#' nv_flatten(x)
#' nv_flatten(x, order = "row")
#' nv_flatten(x)[2]
#' @export
nv_flatten <- function(operand, order = "column") .External(anvil_op, "flatten", operand, order = order)

#' Transpose
#'
#' Axes in another order. `t(x)` reverses them.
#'
#' @param operand A tensor, a traced value, or an R number, logical or array.
#' @param permutation The axes of `operand`, from 1 or negative from the end, in the order of the result.
#'   `NULL` reverses them.
#' @return A tensor whose axis `i` is axis `permutation[i]` of `operand`; of the same dtype and
#'   ambiguity.
#' @section Properties:
#' * Dtypes: Any dtype.
#' * Accuracy: Results are exact.
#' * Derivative: Differentiable, linear in `operand`.
#' @section Errors:
#' `anvil_error_axis` unless `permutation` holds each axis once.
#' @examples
#' nv_transpose(nv_tensor(1:6, shape = c(2, 3)))
#' shape(nv_transpose(nv_fill(0, c(2, 3, 4)), c(2, 3, 1)))
#' @export
nv_transpose <- function(operand, permutation = NULL) {
  .External(anvil_op, "transpose", operand, permutation = permutation)
}

#' Broadcast
#'
#' Repeats elements along new axes and axes of size 1. `nv_broadcast_to()` broadcasts one value to a shape,
#' `nv_broadcast_tensors()` several to their common shape. Axes are aligned from the last, as in NumPy: sizes
#' must be equal, or one of them 1. `nv_broadcast_in_dim()` is told which axes they become.
#'
#' `nv_broadcast_scalars()` brings values to the shape in which operands of elementwise functions meet, see
#' below: 0-d values, and 1-d ones that recycle.
#'
#' @section Shapes of operands: In operators and in all elementwise functions (of two operands and more, such
#' as [nv_add()], [nv_ifelse()] or [nv_clamp()]) shapes meet as in base R, and no further. Operands may have
#' * equal shapes;
#' * no axes, or one axis of one element: a number, a 0-d tensor or a vector of one element goes with any
#'   shape;
#' * one axis, as long as the first axes of the operand with the most axes: it is repeated along the others,
#'   as R recycles a vector in column-major order. A vector of length 2 or 6 goes with a matrix of 2 rows and
#'   3 columns, one of length 2, 6 or 24 with a tensor of shape `c(2, 3, 4)`. So in `x / sum(x, axes = 2)`
#'   each row of a matrix is divided by its sum.
#'
#' The result has the shape of the operand with the most axes. All else is an `anvil_error_shape` with advice:
#' a vector that R would recycle in part, or for each column of a matrix in turn; and axes of size 1, which no
#' op repeats by itself. A gradient sums over what was repeated.
#'
#'
#' @param operand A tensor, a traced value, or an R number, logical or array.
#' @param shape Sizes of the axes of the result.
#' @param broadcast_axes For each axis of `operand`, the axis of the result that it becomes, from 1 or
#'   negative from the end. Those of a transposed order exchange axes.
#' @param ... Tensors, traced values, or R numbers, logicals or arrays.
#' @return A tensor of shape `shape`, or a list of tensors of one shape; dtypes and ambiguities as they were.
#' @section Properties:
#' * Dtypes: Any dtype.
#' * Accuracy: Results are exact.
#' * Derivative: Differentiable, linear in `operand`.
#' @section Errors:
#' `anvil_error_shape` with both shapes if they are not compatible; `anvil_error_axis` for axes out of range
#' or given twice, `anvil_error_arg` unless there is one for each axis of `operand`.
#' @examples
#' nv_broadcast_to(nv_tensor(1:3), c(2, 3))
#' nv_broadcast_in_dim(nv_tensor(1:3), c(3, 2), broadcast_axes = 1)
#' nv_broadcast_tensors(nv_fill(1, c(2, 1)), nv_fill(2, c(1, 3)))
#' x <- nv_tensor(1:6, shape = c(2, 3))
#' x * nv_tensor(c(1L, 10L))
#' x * nv_broadcast_to(nv_tensor(c(1L, 10L, 100L)), c(2, 3))
#' @export
nv_broadcast_to <- function(operand, shape) .External(anvil_op, "broadcast_to", operand, shape = shape)

#' @rdname nv_broadcast_to
#' @export
nv_broadcast_in_dim <- function(operand, shape, broadcast_axes) {
  .External(anvil_op, "broadcast_in_dim", operand, shape = shape, broadcast_axes = broadcast_axes)
}

#' @rdname nv_broadcast_to
#' @export
nv_broadcast_tensors <- function(...) {
  check_dots(..., .values = TRUE)
  .External(anvil_ops, "broadcast", operands = list(...))
}

#' @rdname nv_broadcast_to
#' @export
nv_broadcast_scalars <- function(...) {
  check_dots(..., .values = TRUE)
  .External(anvil_ops, "broadcast_scalars", operands = list(...))
}

#' Concatenate
#'
#' Joins values along one axis.
#'
#' @param ... Tensors, traced values, or R numbers, logicals or arrays; at least one, or one list of these.
#'   They are promoted to their common dtype. 0-d values get size 1 along the axis, and are repeated along the
#'   others.
#' @param axis The axis along which they are joined, from 1 or negative from the end. It may be left out if no
#'   value has more than one.
#' @return A tensor whose size along `axis` is the sum of theirs; ambiguous if all are.
#' @section Properties:
#' * Dtypes: Any dtype.
#' * Accuracy: Results are exact.
#' * Derivative: Differentiable, linear in `...`.
#' @section Errors: `anvil_error_shape` with both shapes if other sizes differ, `anvil_error_axis` for an axis
#' out of range, `anvil_error_arg` if the axis is needed, or there is nothing to join.
#' @examples
#' nv_concatenate(nv_tensor(1:2), 3L)
#' nv_concatenate(nv_fill(1, c(2, 2)), nv_fill(0, c(1, 2)), axis = 1)
#' @export
nv_concatenate <- function(..., axis = NULL) {
  check_dots(..., .values = TRUE)
  .External(anvil_op, "concatenate", operands = listed(...), axis = axis)
}
