# Generated from the rows in src/rust/core/src/ops/ by `make generate`. Do not edit by hand.

#' Real part
#'
#' The real part of a real number is the number itself.
#'
#' @param operand A tensor or traced value of any dtype. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape and ambiguity, and of the dtype of its parts: `f32` for `c64`,
#'   `f64` for `c128`; a real operand's own.
#' @section Properties:
#' * Dtypes: Any dtype.
#' * Accuracy: Results are exact.
#' * Derivative: Differentiable, linear in `operand`.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `Re(x)` is the same on tensors.
#' @examples
#' nv_real(nv_tensor(c(3+4i, -1i)))
#' @export
nv_real <- function(operand) .External(anvil_op, "real", operand)

#' Imaginary part
#'
#' The imaginary part of a real number is 0.
#'
#' @param operand A tensor or traced value of any dtype. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape and ambiguity, and of the dtype of its parts: `f32` for `c64`,
#'   `f64` for `c128`; a real operand's own.
#' @section Properties:
#' * Dtypes: Any dtype.
#' * Accuracy: Results are exact.
#' * Derivative: Differentiable, linear in `operand`.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `Im(x)` is the same on tensors.
#' @examples
#' nv_imag(nv_tensor(c(3+4i, -1i)))
#' @export
nv_imag <- function(operand) .External(anvil_op, "imag", operand)

#' Argument: the angle from the positive real axis, in radians
#'
#' Between -pi and pi; for a real number 0, or pi if it is negative. Integers and booleans are promoted
#' to `f32`.
#'
#' @param operand A tensor or traced value of any dtype. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape and ambiguity, and of the dtype of its parts: `f32` for `c64`,
#'   `f64` for `c128`; a real operand's own.
#' @section Properties:
#' * Dtypes: Any dtype.
#' * Accuracy: The error is at most 2 ulps (units in the last place) in `f32` and `f64`.
#' * Derivative: Differentiable with respect to `operand`.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `Arg(x)` is the same on tensors.
#' @examples
#' nv_arg(nv_tensor(c(3+4i, -1i)))
#' @export
nv_arg <- function(operand) .External(anvil_op, "arg", operand)
