# Generated from the rows in src/rust/core/src/ops/ by `make generate`. Do not edit by hand.

#' Sine; the operand is in radians
#'
#' @param operand A tensor or traced value of floats and complex numbers; integers and booleans are promoted
#'   to an ambiguous `f32`. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`) and complex numbers (`c64`, `c128`); integers and booleans
#'   are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 2 ulps (units in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once. In `f64` it is at most 1 ulp. No bound is stated for complex numbers.
#' * Derivative: `cos(operand)`.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `sin(x)` is the same on tensors.
#' @examples
#' nv_sin(nv_tensor(c(0, pi / 2, 1)))
#' @export
nv_sin <- function(operand) .External(anvil_op, "sin", operand)

#' Cosine; the operand is in radians
#'
#' @param operand A tensor or traced value of floats and complex numbers; integers and booleans are promoted
#'   to an ambiguous `f32`. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`) and complex numbers (`c64`, `c128`); integers and booleans
#'   are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 2 ulps (units in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once. In `f64` it is at most 1 ulp. No bound is stated for complex numbers.
#' * Derivative: `-sin(operand)`.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `cos(x)` is the same on tensors.
#' @examples
#' nv_cos(nv_tensor(c(0, pi / 2, 1)))
#' @export
nv_cos <- function(operand) .External(anvil_op, "cos", operand)

#' Tangent; the operand is in radians
#'
#' @param operand A tensor or traced value of floats and complex numbers; integers and booleans are promoted
#'   to an ambiguous `f32`. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`) and complex numbers (`c64`, `c128`); integers and booleans
#'   are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 2 ulps (units in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once. No bound is stated for complex numbers.
#' * Derivative: `tan(operand)^2 + 1`.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `tan(x)` is the same on tensors.
#' @examples
#' nv_tan(nv_tensor(c(0, pi / 4, 1)))
#' @export
nv_tan <- function(operand) .External(anvil_op, "tan", operand)

#' Sine of `pi * x`
#'
#' Exact at multiples of a half, also far from zero.
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous
#'   `f32`. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`); integers and booleans are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 1 ulp (unit in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once.
#' * Derivative: `cospi(operand) * 3.141592653589793`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than floats, integers and booleans.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `sinpi(x)` is the same on tensors.
#' @examples
#' nv_sinpi(nv_tensor(c(0, 0.5, 1)))
#' @export
nv_sinpi <- function(operand) .External(anvil_op, "sinpi", operand)

#' Cosine of `pi * x`
#'
#' Exact at multiples of a half, also far from zero.
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous
#'   `f32`. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`); integers and booleans are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 1 ulp (unit in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once.
#' * Derivative: `sinpi(operand) * -3.141592653589793`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than floats, integers and booleans.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `cospi(x)` is the same on tensors.
#' @examples
#' nv_cospi(nv_tensor(c(0, 0.5, 1)))
#' @export
nv_cospi <- function(operand) .External(anvil_op, "cospi", operand)

#' Tangent of `pi * x`
#'
#' Exact at multiples of a quarter; NaN halfway between whole numbers, as in R.
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous
#'   `f32`. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`); integers and booleans are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 2 ulps (units in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once.
#' * Derivative: `(tanpi(operand)^2 + 1) * 3.141592653589793`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than floats, integers and booleans.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `tanpi(x)` is the same on tensors.
#' @examples
#' nv_tanpi(nv_tensor(c(0, 0.25, 1)))
#' @export
nv_tanpi <- function(operand) .External(anvil_op, "tanpi", operand)

#' Inverse sine, in radians
#'
#' NaN outside of `[-1, 1]`. Of complex numbers the principal value; there the sign of a zero imaginary
#' part says on which side of the cut it is, as in C99.
#'
#' @param operand A tensor or traced value of floats and complex numbers; integers and booleans are promoted
#'   to an ambiguous `f32`. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`) and complex numbers (`c64`, `c128`); integers and booleans
#'   are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 2 ulps (units in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once. No bound is stated for complex numbers.
#' * Derivative: `1 / sqrt((1 - operand) * (1 + operand))`.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `asin(x)` is the same on tensors.
#' @examples
#' nv_asin(nv_tensor(c(-1, 0, 0.5)))
#' @export
nv_asin <- function(operand) .External(anvil_op, "asin", operand)

#' Inverse cosine, in radians
#'
#' NaN outside of `[-1, 1]`. Of complex numbers the principal value; there the sign of a zero imaginary
#' part says on which side of the cut it is, as in C99.
#'
#' @param operand A tensor or traced value of floats and complex numbers; integers and booleans are promoted
#'   to an ambiguous `f32`. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`) and complex numbers (`c64`, `c128`); integers and booleans
#'   are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 2 ulps (units in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once. No bound is stated for complex numbers.
#' * Derivative: `-1 / sqrt((1 - operand) * (1 + operand))`.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `acos(x)` is the same on tensors.
#' @examples
#' nv_acos(nv_tensor(c(-1, 0, 0.5)))
#' @export
nv_acos <- function(operand) .External(anvil_op, "acos", operand)

#' Inverse tangent, in radians
#'
#' @param operand A tensor or traced value of floats and complex numbers; integers and booleans are promoted
#'   to an ambiguous `f32`. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`) and complex numbers (`c64`, `c128`); integers and booleans
#'   are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 2 ulps (units in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once. No bound is stated for complex numbers.
#' * Derivative: `1 / (operand^2 + 1)`.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `atan(x)` is the same on tensors.
#' @examples
#' nv_atan(nv_tensor(c(-1, 0, 0.5)))
#' @export
nv_atan <- function(operand) .External(anvil_op, "atan", operand)

#' Hyperbolic sine
#'
#' @param operand A tensor or traced value of floats and complex numbers; integers and booleans are promoted
#'   to an ambiguous `f32`. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`) and complex numbers (`c64`, `c128`); integers and booleans
#'   are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 2 ulps (units in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once. No bound is stated for complex numbers.
#' * Derivative: `cosh(operand)`.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `sinh(x)` is the same on tensors.
#' @examples
#' nv_sinh(nv_tensor(c(-1, 0, 1)))
#' @export
nv_sinh <- function(operand) .External(anvil_op, "sinh", operand)

#' Hyperbolic cosine
#'
#' @param operand A tensor or traced value of floats and complex numbers; integers and booleans are promoted
#'   to an ambiguous `f32`. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`) and complex numbers (`c64`, `c128`); integers and booleans
#'   are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 1 ulp (unit in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once. No bound is stated for complex numbers.
#' * Derivative: `sinh(operand)`.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `cosh(x)` is the same on tensors.
#' @examples
#' nv_cosh(nv_tensor(c(-1, 0, 1)))
#' @export
nv_cosh <- function(operand) .External(anvil_op, "cosh", operand)

#' Hyperbolic tangent
#'
#' @param operand A tensor or traced value of floats and complex numbers; integers and booleans are promoted
#'   to an ambiguous `f32`. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`) and complex numbers (`c64`, `c128`); integers and booleans
#'   are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 2 ulps (units in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once. No bound is stated for complex numbers.
#' * Derivative: `(1 - tanh(operand)) * (1 + tanh(operand))`.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `tanh(x)` is the same on tensors.
#' @examples
#' nv_tanh(nv_tensor(c(-1, 0, 1)))
#' @export
nv_tanh <- function(operand) .External(anvil_op, "tanh", operand)

#' Inverse hyperbolic sine
#'
#' @param operand A tensor or traced value of floats and complex numbers; integers and booleans are promoted
#'   to an ambiguous `f32`. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`) and complex numbers (`c64`, `c128`); integers and booleans
#'   are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 2 ulps (units in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once. No bound is stated for complex numbers.
#' * Derivative: `1 / sqrt(operand^2 + 1)`.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `asinh(x)` is the same on tensors.
#' @examples
#' nv_asinh(nv_tensor(c(-1, 0, 1)))
#' @export
nv_asinh <- function(operand) .External(anvil_op, "asinh", operand)

#' Inverse hyperbolic cosine
#'
#' NaN below 1. Of complex numbers the principal value; on the branch cut, the sign of a zero imaginary
#' part says which side it is.
#'
#' @param operand A tensor or traced value of floats and complex numbers; integers and booleans are promoted
#'   to an ambiguous `f32`. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`) and complex numbers (`c64`, `c128`); integers and booleans
#'   are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 2 ulps (units in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once. No bound is stated for complex numbers.
#' * Derivative: `1 / (sqrt(operand - 1) * sqrt(operand + 1))`.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `acosh(x)` is the same on tensors.
#' @examples
#' nv_acosh(nv_tensor(c(1, 2, 3)))
#' @export
nv_acosh <- function(operand) .External(anvil_op, "acosh", operand)

#' Inverse hyperbolic tangent
#'
#' Infinite at -1 and 1, NaN beyond. Of complex numbers the principal value; on the branch cuts, the sign
#' of a zero imaginary part says which side it is.
#'
#' @param operand A tensor or traced value of floats and complex numbers; integers and booleans are promoted
#'   to an ambiguous `f32`. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`) and complex numbers (`c64`, `c128`); integers and booleans
#'   are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 2 ulps (units in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once. No bound is stated for complex numbers.
#' * Derivative: `1 / ((1 - operand) * (1 + operand))`.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `atanh(x)` is the same on tensors.
#' @examples
#' nv_atanh(nv_tensor(c(-0.5, 0, 0.5)))
#' @export
nv_atanh <- function(operand) .External(anvil_op, "atanh", operand)
