# Generated from the rows in src/rust/core/src/ops/ by `make generate`. Do not edit by hand.

#' Whether each element is finite: neither infinite nor NaN
#'
#' @param operand A tensor or traced value of any dtype. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape and of dtype `i1`.
#' @section Properties:
#' * Dtypes: Any dtype.
#' * Derivative: Zero: the result is boolean.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `is.finite(x)` is the same on tensors.
#' @examples
#' nv_is_finite(nv_tensor(c(-Inf, NaN, 0, 1)))
#' @export
nv_is_finite <- function(operand) .External(anvil_op, "is_finite", operand)

#' Whether each element is infinite, of either sign
#'
#' @param operand A tensor or traced value of any dtype. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape and of dtype `i1`.
#' @section Properties:
#' * Dtypes: Any dtype.
#' * Derivative: Zero: the result is boolean.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `is.infinite(x)` is the same on tensors.
#' @examples
#' nv_is_infinite(nv_tensor(c(-Inf, NaN, 0, 1)))
#' @export
nv_is_infinite <- function(operand) .External(anvil_op, "is_infinite", operand)

#' Whether each element is NaN (`NA_real_` is one)
#'
#' @param operand A tensor or traced value of any dtype. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape and of dtype `i1`.
#' @section Properties:
#' * Dtypes: Any dtype.
#' * Derivative: Zero: the result is boolean.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `is.nan(x)` is the same on tensors.
#' @examples
#' nv_is_nan(nv_tensor(c(-Inf, NaN, 0, 1)))
#' @export
nv_is_nan <- function(operand) .External(anvil_op, "is_nan", operand)
