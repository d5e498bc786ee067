# Generated from the rows in src/rust/core/src/ops/ by `make generate`. Do not edit by hand.

#' Exponential, `e^x`
#'
#' @param operand A tensor or traced value of floats and complex numbers; integers and booleans are promoted
#'   to an ambiguous `f32`. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`) and complex numbers (`c64`, `c128`); integers and booleans
#'   are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 1 ulp (unit in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once. No bound is stated for complex numbers.
#' * Derivative: `exp(operand)`.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `exp(x)` is the same on tensors.
#' @examples
#' nv_exp(nv_tensor(c(-1, 0, 1)))
#' @export
nv_exp <- function(operand) .External(anvil_op, "exp", operand)

#' Power of 2, `2^x`
#'
#' Exact for whole numbers.
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous
#'   `f32`. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`); integers and booleans are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 1 ulp (unit in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once.
#' * Derivative: `nv_exp2(operand) * log(2)`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than floats, integers and booleans.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_exp2(nv_tensor(c(-1, 0, 3)))
#' @export
nv_exp2 <- function(operand) .External(anvil_op, "exp2", operand)

#' `e^x - 1`
#'
#' Accurate near zero, where `exp(x) - 1` is not.
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous
#'   `f32`. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`); integers and booleans are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 1.1 ulps (units in the last place) in `f32` and `f64`; `bf16` and `f16`
#'   are computed in `f32` and rounded once.
#' * Derivative: `expm1(operand) + 1`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than floats, integers and booleans.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `expm1(x)` is the same on tensors.
#' @examples
#' nv_expm1(nv_tensor(c(-1, 1e-10, 1)))
#' @export
nv_expm1 <- function(operand) .External(anvil_op, "expm1", operand)

#' Natural logarithm
#'
#' -Inf at 0, NaN below; of complex numbers the principal value. `log(x, base)` gives a logarithm to
#' another base.
#'
#' @param operand A tensor or traced value of floats and complex numbers; integers and booleans are promoted
#'   to an ambiguous `f32`. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`) and complex numbers (`c64`, `c128`); integers and booleans
#'   are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 1 ulp (unit in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once. No bound is stated for complex numbers.
#' * Derivative: `1 / operand`.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_log(nv_tensor(c(0.5, 1, 2)))
#' @export
nv_log <- function(operand) .External(anvil_op, "log", operand)

#' Natural logarithm of `1 + x`
#'
#' Accurate near zero, where `log(1 + x)` is not.
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous
#'   `f32`. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`); integers and booleans are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 1 ulp (unit in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once.
#' * Derivative: `1 / (operand + 1)`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than floats, integers and booleans.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `log1p(x)` is the same on tensors.
#' @examples
#' nv_log1p(nv_tensor(c(-0.5, 1e-10, 1)))
#' @export
nv_log1p <- function(operand) .External(anvil_op, "log1p", operand)

#' Logarithm to base 2
#'
#' @param operand A tensor or traced value of floats and complex numbers; integers and booleans are promoted
#'   to an ambiguous `f32`. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`) and complex numbers (`c64`, `c128`); integers and booleans
#'   are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 1 ulp (unit in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once. No bound is stated for complex numbers.
#' * Derivative: `1 / (operand * log(2))`.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `log2(x)` is the same on tensors.
#' @examples
#' nv_log2(nv_tensor(c(0.5, 1, 8)))
#' @export
nv_log2 <- function(operand) .External(anvil_op, "log2", operand)

#' Logarithm to base 10
#'
#' @param operand A tensor or traced value of floats and complex numbers; integers and booleans are promoted
#'   to an ambiguous `f32`. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`) and complex numbers (`c64`, `c128`); integers and booleans
#'   are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 1 ulp (unit in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once. No bound is stated for complex numbers.
#' * Derivative: `1 / (operand * log(10))`.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `log10(x)` is the same on tensors.
#' @examples
#' nv_log10(nv_tensor(c(0.1, 1, 100)))
#' @export
nv_log10 <- function(operand) .External(anvil_op, "log10", operand)

#' Logistic function, `1 / (1 + exp(-x))`
#'
#' The inverse of the logit; it never overflows. Also known as the sigmoid, and as `plogis()`.
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous
#'   `f32`. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`); integers and booleans are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 2 ulps (units in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once.
#' * Derivative: `nv_logistic(operand) * (1 - nv_logistic(operand))`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than floats, integers and booleans.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_logistic(nv_tensor(c(-2, 0, 2)))
#' @export
nv_logistic <- function(operand) .External(anvil_op, "logistic", operand)

#' Soft maximum of 0 and the operand, `log(1 + exp(x))`
#'
#' It never overflows, and keeps its digits far below 0, where it is `exp(x)`. Its derivative is
#' [nv_logistic()].
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous
#'   `f32`. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`); integers and booleans are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 2 ulps (units in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once.
#' * Derivative: `nv_logistic(operand)`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than floats, integers and booleans.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_softplus(nv_tensor(c(-2, 0, 2)))
#' @export
nv_softplus <- function(operand) .External(anvil_op, "softplus", operand)
