# Generated from the rows in src/rust/core/src/ops/ by `make generate`. Do not edit by hand.

#' Whether elements are equal
#'
#' NaN equals nothing; -0 equals 0.
#'
#' @param lhs,rhs Tensors or traced values of any dtype. R numbers, logicals and arrays are accepted too.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one operand a
#'   single number, or 1-d and as long as the first axes of the other, see [nv_broadcast_to()].
#' @return A tensor of dtype `i1` and of the shape with the most axes; ambiguous if both operands are, once
#'   promoted.
#' @section Properties:
#' * Dtypes: Any dtype.
#' * Derivative: Zero: the result is boolean.
#' @section Errors:
#' `anvil_error_shape` with both shapes if they do not meet so.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `x == y` is the same on tensors.
#' @examples
#' nv_eq(nv_tensor(c(1, 2, 3)), nv_tensor(c(3, 2, 1)))
#' @export
nv_eq <- function(lhs, rhs) .External(anvil_op, "eq", lhs, rhs)

#' Whether elements differ
#'
#' NaN differs from everything.
#'
#' @param lhs,rhs Tensors or traced values of any dtype. R numbers, logicals and arrays are accepted too.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one operand a
#'   single number, or 1-d and as long as the first axes of the other, see [nv_broadcast_to()].
#' @return A tensor of dtype `i1` and of the shape with the most axes; ambiguous if both operands are, once
#'   promoted.
#' @section Properties:
#' * Dtypes: Any dtype.
#' * Derivative: Zero: the result is boolean.
#' @section Errors:
#' `anvil_error_shape` with both shapes if they do not meet so.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `x != y` is the same on tensors.
#' @examples
#' nv_ne(nv_tensor(c(1, 2, 3)), nv_tensor(c(3, 2, 1)))
#' @export
nv_ne <- function(lhs, rhs) .External(anvil_op, "ne", lhs, rhs)

#' Whether elements of the first operand are greater
#'
#' FALSE if either is NaN; FALSE is less than TRUE.
#'
#' @param lhs,rhs Tensors or traced values of any dtype but complex. R numbers, logicals and arrays are
#'   accepted too.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one operand a
#'   single number, or 1-d and as long as the first axes of the other, see [nv_broadcast_to()].
#' @return A tensor of dtype `i1` and of the shape with the most axes; ambiguous if both operands are, once
#'   promoted.
#' @section Properties:
#' * Dtypes: Any dtype but complex numbers.
#' * Derivative: Zero: the result is boolean.
#' @section Errors:
#' `anvil_error_dtype` for complex operands.
#' `anvil_error_shape` with both shapes if they do not meet so.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `x > y` is the same on tensors.
#' @examples
#' nv_gt(nv_tensor(c(1, 2, 3)), nv_tensor(c(3, 2, 1)))
#' @export
nv_gt <- function(lhs, rhs) .External(anvil_op, "gt", lhs, rhs)

#' Whether elements of the first operand are greater or equal
#'
#' FALSE if either is NaN; FALSE is less than TRUE.
#'
#' @param lhs,rhs Tensors or traced values of any dtype but complex. R numbers, logicals and arrays are
#'   accepted too.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one operand a
#'   single number, or 1-d and as long as the first axes of the other, see [nv_broadcast_to()].
#' @return A tensor of dtype `i1` and of the shape with the most axes; ambiguous if both operands are, once
#'   promoted.
#' @section Properties:
#' * Dtypes: Any dtype but complex numbers.
#' * Derivative: Zero: the result is boolean.
#' @section Errors:
#' `anvil_error_dtype` for complex operands.
#' `anvil_error_shape` with both shapes if they do not meet so.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `x >= y` is the same on tensors.
#' @examples
#' nv_ge(nv_tensor(c(1, 2, 3)), nv_tensor(c(3, 2, 1)))
#' @export
nv_ge <- function(lhs, rhs) .External(anvil_op, "ge", lhs, rhs)

#' Whether elements of the first operand are less
#'
#' FALSE if either is NaN; FALSE is less than TRUE.
#'
#' @param lhs,rhs Tensors or traced values of any dtype but complex. R numbers, logicals and arrays are
#'   accepted too.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one operand a
#'   single number, or 1-d and as long as the first axes of the other, see [nv_broadcast_to()].
#' @return A tensor of dtype `i1` and of the shape with the most axes; ambiguous if both operands are, once
#'   promoted.
#' @section Properties:
#' * Dtypes: Any dtype but complex numbers.
#' * Derivative: Zero: the result is boolean.
#' @section Errors:
#' `anvil_error_dtype` for complex operands.
#' `anvil_error_shape` with both shapes if they do not meet so.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `x < y` is the same on tensors.
#' @examples
#' nv_lt(nv_tensor(c(1, 2, 3)), nv_tensor(c(3, 2, 1)))
#' @export
nv_lt <- function(lhs, rhs) .External(anvil_op, "lt", lhs, rhs)

#' Whether elements of the first operand are less or equal
#'
#' FALSE if either is NaN; FALSE is less than TRUE.
#'
#' @param lhs,rhs Tensors or traced values of any dtype but complex. R numbers, logicals and arrays are
#'   accepted too.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one operand a
#'   single number, or 1-d and as long as the first axes of the other, see [nv_broadcast_to()].
#' @return A tensor of dtype `i1` and of the shape with the most axes; ambiguous if both operands are, once
#'   promoted.
#' @section Properties:
#' * Dtypes: Any dtype but complex numbers.
#' * Derivative: Zero: the result is boolean.
#' @section Errors:
#' `anvil_error_dtype` for complex operands.
#' `anvil_error_shape` with both shapes if they do not meet so.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `x <= y` is the same on tensors.
#' @examples
#' nv_le(nv_tensor(c(1, 2, 3)), nv_tensor(c(3, 2, 1)))
#' @export
nv_le <- function(lhs, rhs) .External(anvil_op, "le", lhs, rhs)
