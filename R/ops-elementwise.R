# Generated from the rows in src/rust/core/src/ops/ by `make generate`. Do not edit by hand.

#' Negation, `-x`
#'
#' Integers wrap: the negative of the smallest one is itself, and unsigned ones are taken modulo `2^bits`.
#'
#' @param operand A tensor or traced value of integers and floats. R numbers, logicals and arrays do as well.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Errors:
#' `anvil_error_dtype` for operands other than integers and floats.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `-x` is the same on tensors.
#' @examples
#' nv_negate(nv_tensor(c(-1, 0, 2)))
#' @export
nv_negate <- function(operand) .External(anvil_op, "negate", operand)

#' Absolute value
#'
#' That of the smallest signed integer is itself.
#'
#' @param operand A tensor or traced value of signed integers and floats. R numbers, logicals and arrays do as well.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Errors:
#' `anvil_error_dtype` for operands other than signed integers and floats.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `abs(x)` is the same on tensors.
#' @examples
#' nv_abs(nv_tensor(c(-1, 0, 2)))
#' @export
nv_abs <- function(operand) .External(anvil_op, "abs", operand)

#' Sign: -1, 0 or 1
#'
#' NaN stays NaN, and a zero keeps its sign.
#'
#' @param operand A tensor or traced value of signed integers and floats. R numbers, logicals and arrays do as well.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Errors:
#' `anvil_error_dtype` for operands other than signed integers and floats.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `sign(x)` is the same on tensors.
#' @examples
#' nv_sign(nv_tensor(c(-1.5, 0, 2)))
#' @export
nv_sign <- function(operand) .External(anvil_op, "sign", operand)

#' Square root
#'
#' NaN below zero; correctly rounded.
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous `f32`. R numbers, logicals and arrays do as well.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `sqrt(x)` is the same on tensors.
#' @examples
#' nv_sqrt(nv_tensor(c(0, 1, 2)))
#' @export
nv_sqrt <- function(operand) .External(anvil_op, "sqrt", operand)

#' Reciprocal square root, `1 / sqrt(x)`
#'
#' Inf at 0, -Inf at -0, NaN below.
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous `f32`. R numbers, logicals and arrays do as well.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_rsqrt(nv_tensor(c(0.25, 1, 4)))
#' @export
nv_rsqrt <- function(operand) .External(anvil_op, "rsqrt", operand)

#' Cube root, of negative numbers too
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous `f32`. R numbers, logicals and arrays do as well.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_cbrt(nv_tensor(c(-8, 0, 27)))
#' @export
nv_cbrt <- function(operand) .External(anvil_op, "cbrt", operand)

#' Exponential, `e^x`
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous `f32`. R numbers, logicals and arrays do as well.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `exp(x)` is the same on tensors.
#' @examples
#' nv_exp(nv_tensor(c(-1, 0, 1)))
#' @export
nv_exp <- function(operand) .External(anvil_op, "exp", operand)

#' `e^x - 1`
#'
#' Accurate near zero, where `exp(x) - 1` is not.
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous `f32`. R numbers, logicals and arrays do as well.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `expm1(x)` is the same on tensors.
#' @examples
#' nv_expm1(nv_tensor(c(-1, 1e-10, 1)))
#' @export
nv_expm1 <- function(operand) .External(anvil_op, "expm1", operand)

#' Natural logarithm
#'
#' -Inf at 0, NaN below. `log(x, base)` gives a logarithm to another base.
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous `f32`. R numbers, logicals and arrays do as well.
#' @return A tensor of the operand's shape, dtype and ambiguity.
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
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous `f32`. R numbers, logicals and arrays do as well.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `log1p(x)` is the same on tensors.
#' @examples
#' nv_log1p(nv_tensor(c(-0.5, 1e-10, 1)))
#' @export
nv_log1p <- function(operand) .External(anvil_op, "log1p", operand)

#' Logarithm to base 2
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous `f32`. R numbers, logicals and arrays do as well.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `log2(x)` is the same on tensors.
#' @examples
#' nv_log2(nv_tensor(c(0.5, 1, 8)))
#' @export
nv_log2 <- function(operand) .External(anvil_op, "log2", operand)

#' Logarithm to base 10
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous `f32`. R numbers, logicals and arrays do as well.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `log10(x)` is the same on tensors.
#' @examples
#' nv_log10(nv_tensor(c(0.1, 1, 100)))
#' @export
nv_log10 <- function(operand) .External(anvil_op, "log10", operand)

#' Sine; the operand is in radians
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous `f32`. R numbers, logicals and arrays do as well.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `sin(x)` is the same on tensors.
#' @examples
#' nv_sin(nv_tensor(c(0, pi / 2, 1)))
#' @export
nv_sin <- function(operand) .External(anvil_op, "sin", operand)

#' Cosine; the operand is in radians
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous `f32`. R numbers, logicals and arrays do as well.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `cos(x)` is the same on tensors.
#' @examples
#' nv_cos(nv_tensor(c(0, pi / 2, 1)))
#' @export
nv_cos <- function(operand) .External(anvil_op, "cos", operand)

#' Tangent; the operand is in radians
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous `f32`. R numbers, logicals and arrays do as well.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `tan(x)` is the same on tensors.
#' @examples
#' nv_tan(nv_tensor(c(0, pi / 4, 1)))
#' @export
nv_tan <- function(operand) .External(anvil_op, "tan", operand)

#' Inverse sine, in radians
#'
#' NaN outside of `[-1, 1]`.
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous `f32`. R numbers, logicals and arrays do as well.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `asin(x)` is the same on tensors.
#' @examples
#' nv_asin(nv_tensor(c(-1, 0, 0.5)))
#' @export
nv_asin <- function(operand) .External(anvil_op, "asin", operand)

#' Inverse cosine, in radians
#'
#' NaN outside of `[-1, 1]`.
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous `f32`. R numbers, logicals and arrays do as well.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `acos(x)` is the same on tensors.
#' @examples
#' nv_acos(nv_tensor(c(-1, 0, 0.5)))
#' @export
nv_acos <- function(operand) .External(anvil_op, "acos", operand)

#' Inverse tangent, in radians
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous `f32`. R numbers, logicals and arrays do as well.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `atan(x)` is the same on tensors.
#' @examples
#' nv_atan(nv_tensor(c(-1, 0, 0.5)))
#' @export
nv_atan <- function(operand) .External(anvil_op, "atan", operand)

#' Hyperbolic sine
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous `f32`. R numbers, logicals and arrays do as well.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `sinh(x)` is the same on tensors.
#' @examples
#' nv_sinh(nv_tensor(c(-1, 0, 1)))
#' @export
nv_sinh <- function(operand) .External(anvil_op, "sinh", operand)

#' Hyperbolic cosine
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous `f32`. R numbers, logicals and arrays do as well.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `cosh(x)` is the same on tensors.
#' @examples
#' nv_cosh(nv_tensor(c(-1, 0, 1)))
#' @export
nv_cosh <- function(operand) .External(anvil_op, "cosh", operand)

#' Hyperbolic tangent
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous `f32`. R numbers, logicals and arrays do as well.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `tanh(x)` is the same on tensors.
#' @examples
#' nv_tanh(nv_tensor(c(-1, 0, 1)))
#' @export
nv_tanh <- function(operand) .External(anvil_op, "tanh", operand)

#' Inverse hyperbolic sine
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous `f32`. R numbers, logicals and arrays do as well.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `asinh(x)` is the same on tensors.
#' @examples
#' nv_asinh(nv_tensor(c(-1, 0, 1)))
#' @export
nv_asinh <- function(operand) .External(anvil_op, "asinh", operand)

#' Inverse hyperbolic cosine
#'
#' NaN below 1.
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous `f32`. R numbers, logicals and arrays do as well.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `acosh(x)` is the same on tensors.
#' @examples
#' nv_acosh(nv_tensor(c(1, 2, 3)))
#' @export
nv_acosh <- function(operand) .External(anvil_op, "acosh", operand)

#' Inverse hyperbolic tangent
#'
#' Infinite at -1 and 1, NaN beyond.
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous `f32`. R numbers, logicals and arrays do as well.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `atanh(x)` is the same on tensors.
#' @examples
#' nv_atanh(nv_tensor(c(-0.5, 0, 0.5)))
#' @export
nv_atanh <- function(operand) .External(anvil_op, "atanh", operand)

#' Logistic function, `1 / (1 + exp(-x))`
#'
#' The inverse of the logit; it never overflows. Also known as the sigmoid, and as `plogis()`.
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous `f32`. R numbers, logicals and arrays do as well.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_logistic(nv_tensor(c(-2, 0, 2)))
#' @export
nv_logistic <- function(operand) .External(anvil_op, "logistic", operand)

#' Error function, `2 / sqrt(pi)` times the integral of `exp(-t^2)` from 0 to `x`
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous `f32`. R numbers, logicals and arrays do as well.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_erf(nv_tensor(c(-1, 0, 0.5)))
#' @export
nv_erf <- function(operand) .External(anvil_op, "erf", operand)

#' Complementary error function, `1 - erf(x)`
#'
#' Accurate for large `x`, where the difference is not.
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous `f32`. R numbers, logicals and arrays do as well.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_erfc(nv_tensor(c(-1, 0, 5)))
#' @export
nv_erfc <- function(operand) .External(anvil_op, "erfc", operand)

#' Inverse of the error function
#'
#' Infinite at -1 and 1, NaN beyond.
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous `f32`. R numbers, logicals and arrays do as well.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_erf_inv(nv_tensor(c(-0.5, 0, 0.9)))
#' @export
nv_erf_inv <- function(operand) .External(anvil_op, "erf_inv", operand)

#' Logarithm of the absolute value of the gamma function
#'
#' Inf at zero and at negative whole numbers.
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous `f32`. R numbers, logicals and arrays do as well.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `lgamma(x)` is the same on tensors.
#' @examples
#' nv_lgamma(nv_tensor(c(0.5, 1, 10)))
#' @export
nv_lgamma <- function(operand) .External(anvil_op, "lgamma", operand)

#' Derivative of the logarithm of the gamma function
#'
#' NaN at zero and at negative whole numbers. [nv_polygamma()] gives higher derivatives.
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous `f32`. R numbers, logicals and arrays do as well.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `digamma(x)` is the same on tensors.
#' @examples
#' nv_digamma(nv_tensor(c(0.5, 1, 10)))
#' @export
nv_digamma <- function(operand) .External(anvil_op, "digamma", operand)

#' Largest whole number not above the operand
#'
#' @param operand A tensor or traced value of integers and floats. R numbers, logicals and arrays do as well.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Errors:
#' `anvil_error_dtype` for operands other than integers and floats.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `floor(x)` is the same on tensors.
#' @examples
#' nv_floor(nv_tensor(c(-1.5, 0.5, 2)))
#' @export
nv_floor <- function(operand) .External(anvil_op, "floor", operand)

#' Smallest whole number not below the operand
#'
#' @param operand A tensor or traced value of integers and floats. R numbers, logicals and arrays do as well.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Errors:
#' `anvil_error_dtype` for operands other than integers and floats.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `ceiling(x)` is the same on tensors.
#' @examples
#' nv_ceiling(nv_tensor(c(-1.5, 0.5, 2)))
#' @export
nv_ceiling <- function(operand) .External(anvil_op, "ceiling", operand)

#' Whole part: the nearest whole number toward zero
#'
#' @param operand A tensor or traced value of integers and floats. R numbers, logicals and arrays do as well.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Errors:
#' `anvil_error_dtype` for operands other than integers and floats.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_trunc(nv_tensor(c(-1.5, 0.5, 2)))
#' @export
nv_trunc <- function(operand) .External(anvil_op, "trunc", operand)

#' Logical negation of booleans, complement of the bits of integers
#'
#' `!x` on an integer tensor is therefore bitwise, as `x & y` and `x | y` are: use `x == 0L` for a logical result.
#'
#' @param operand A tensor or traced value of booleans and integers. R numbers, logicals and arrays do as well.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Errors:
#' `anvil_error_dtype` for operands other than booleans and integers.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `!x` is the same on tensors.
#' @examples
#' nv_not(nv_tensor(c(TRUE, FALSE)))
#' @export
nv_not <- function(operand) .External(anvil_op, "not", operand)

#' Number of bits that are set
#'
#' @param operand A tensor or traced value of integers. R numbers, logicals and arrays do as well.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Errors:
#' `anvil_error_dtype` for operands other than integers.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_popcnt(nv_tensor(c(0L, 7L, -1L)))
#' @export
nv_popcnt <- function(operand) .External(anvil_op, "popcnt", operand)

#' Whether each element is finite: neither infinite nor NaN
#'
#' @param operand A tensor or traced value of any dtype. R numbers, logicals and arrays do as well.
#' @return A tensor of the operand's shape and of dtype `i1`.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `is.finite(x)` is the same on tensors.
#' @examples
#' nv_is_finite(nv_tensor(c(-Inf, NaN, 0, 1)))
#' @export
nv_is_finite <- function(operand) .External(anvil_op, "is_finite", operand)

#' Whether each element is infinite, of either sign
#'
#' @param operand A tensor or traced value of any dtype. R numbers, logicals and arrays do as well.
#' @return A tensor of the operand's shape and of dtype `i1`.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `is.infinite(x)` is the same on tensors.
#' @examples
#' nv_is_infinite(nv_tensor(c(-Inf, NaN, 0, 1)))
#' @export
nv_is_infinite <- function(operand) .External(anvil_op, "is_infinite", operand)

#' Whether each element is NaN (`NA_real_` is one)
#'
#' @param operand A tensor or traced value of any dtype. R numbers, logicals and arrays do as well.
#' @return A tensor of the operand's shape and of dtype `i1`.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `is.nan(x)` is the same on tensors.
#' @examples
#' nv_is_nan(nv_tensor(c(-Inf, NaN, 0, 1)))
#' @export
nv_is_nan <- function(operand) .External(anvil_op, "is_nan", operand)

#' Sum
#'
#' Integers wrap; the sum of booleans is their logical or.
#'
#' @param lhs,rhs Tensors or traced values of any dtype. R numbers, logicals and arrays do as well.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one of them 0-d.
#' @return A tensor of the operands' shape and common dtype; ambiguous if both operands are.
#' @section Errors:
#' `anvil_error_shape` with both shapes if they differ and neither is 0-d.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `x + y` is the same on tensors.
#' @examples
#' nv_add(nv_tensor(c(1, 2)), nv_tensor(c(3, 4)))
#' @export
nv_add <- function(lhs, rhs) .External(anvil_op, "add", lhs, rhs)

#' Difference
#'
#' Integers wrap.
#'
#' @param lhs,rhs Tensors or traced values of integers and floats. R numbers, logicals and arrays do as well.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one of them 0-d.
#' @return A tensor of the operands' shape and common dtype; ambiguous if both operands are.
#' @section Errors:
#' `anvil_error_dtype` for operands other than integers and floats.
#' `anvil_error_shape` with both shapes if they differ and neither is 0-d.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `x - y` is the same on tensors.
#' @examples
#' nv_sub(nv_tensor(c(1, 2)), nv_tensor(c(3, 4)))
#' @export
nv_sub <- function(lhs, rhs) .External(anvil_op, "sub", lhs, rhs)

#' Product
#'
#' Integers wrap; the product of booleans is their logical and.
#'
#' @param lhs,rhs Tensors or traced values of any dtype. R numbers, logicals and arrays do as well.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one of them 0-d.
#' @return A tensor of the operands' shape and common dtype; ambiguous if both operands are.
#' @section Errors:
#' `anvil_error_shape` with both shapes if they differ and neither is 0-d.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `x * y` is the same on tensors.
#' @examples
#' nv_mul(nv_tensor(c(1, 2)), nv_tensor(c(3, 4)))
#' @export
nv_mul <- function(lhs, rhs) .External(anvil_op, "mul", lhs, rhs)

#' Quotient
#'
#' Unlike in base R, the quotient of two integer tensors is an integer, truncated toward zero: convert one of them
#' to a float for a fraction. `x / 0` is -1 for signed integers, and the largest value for unsigned ones; the
#' smallest signed integer divided by -1 is itself.
#'
#' @param lhs,rhs Tensors or traced values of integers and floats. R numbers, logicals and arrays do as well.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one of them 0-d.
#' @return A tensor of the operands' shape and common dtype; ambiguous if both operands are.
#' @section Errors:
#' `anvil_error_dtype` for operands other than integers and floats.
#' `anvil_error_shape` with both shapes if they differ and neither is 0-d.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `x / y` is the same on tensors.
#' @examples
#' nv_div(nv_tensor(c(1, 2)), nv_tensor(c(3, 4)))
#' @export
nv_div <- function(lhs, rhs) .External(anvil_op, "div", lhs, rhs)

#' Power, `lhs` to the `rhs`
#'
#' `x^0` is 1 for every `x`. Integers wrap; a negative exponent gives 0, except for the bases 1 and -1.
#'
#' @param lhs,rhs Tensors or traced values of integers and floats. R numbers, logicals and arrays do as well.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one of them 0-d.
#' @return A tensor of the operands' shape and common dtype; ambiguous if both operands are.
#' @section Errors:
#' `anvil_error_dtype` for operands other than integers and floats.
#' `anvil_error_shape` with both shapes if they differ and neither is 0-d.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `x ^ y` is the same on tensors.
#' @examples
#' nv_pow(nv_tensor(c(2, 3)), nv_tensor(c(3, 0.5)))
#' @export
nv_pow <- function(lhs, rhs) .External(anvil_op, "pow", lhs, rhs)

#' Remainder with the sign of the dividend, C's `fmod()`
#'
#' `x rem 0` is NaN for floats and `x` for integers. [nv_mod()] has the sign of the divisor.
#'
#' @param lhs,rhs Tensors or traced values of integers and floats. R numbers, logicals and arrays do as well.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one of them 0-d.
#' @return A tensor of the operands' shape and common dtype; ambiguous if both operands are.
#' @section Errors:
#' `anvil_error_dtype` for operands other than integers and floats.
#' `anvil_error_shape` with both shapes if they differ and neither is 0-d.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_remainder(nv_tensor(c(-7, 7)), nv_tensor(c(3, -3)))
#' @export
nv_remainder <- function(lhs, rhs) .External(anvil_op, "remainder", lhs, rhs)

#' Remainder with the sign of the divisor, R's `%%`
#'
#' `x mod 0` is NaN for floats and `x` for integers. [nv_remainder()] has the sign of the dividend.
#'
#' @param lhs,rhs Tensors or traced values of integers and floats. R numbers, logicals and arrays do as well.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one of them 0-d.
#' @return A tensor of the operands' shape and common dtype; ambiguous if both operands are.
#' @section Errors:
#' `anvil_error_dtype` for operands other than integers and floats.
#' `anvil_error_shape` with both shapes if they differ and neither is 0-d.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `x \%\% y` is the same on tensors.
#' @examples
#' nv_mod(nv_tensor(c(-7, 7)), nv_tensor(c(3, -3)))
#' @export
nv_mod <- function(lhs, rhs) .External(anvil_op, "mod", lhs, rhs)

#' Quotient rounded down, R's `%/%`
#'
#' Consistent with [nv_mod()]. A zero divisor gives what [nv_div()] gives.
#'
#' @param lhs,rhs Tensors or traced values of integers and floats. R numbers, logicals and arrays do as well.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one of them 0-d.
#' @return A tensor of the operands' shape and common dtype; ambiguous if both operands are.
#' @section Errors:
#' `anvil_error_dtype` for operands other than integers and floats.
#' `anvil_error_shape` with both shapes if they differ and neither is 0-d.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `x \%/\% y` is the same on tensors.
#' @examples
#' nv_floor_div(nv_tensor(c(-7, 7)), nv_tensor(c(2, 2)))
#' @export
nv_floor_div <- function(lhs, rhs) .External(anvil_op, "floor_div", lhs, rhs)

#' Larger of two values, element by element
#'
#' NaN if either is; the larger of -0 and 0 is 0; for booleans the logical or.
#'
#' @param lhs,rhs Tensors or traced values of any dtype. R numbers, logicals and arrays do as well.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one of them 0-d.
#' @return A tensor of the operands' shape and common dtype; ambiguous if both operands are.
#' @section Errors:
#' `anvil_error_shape` with both shapes if they differ and neither is 0-d.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_max(nv_tensor(c(1, 5)), nv_tensor(c(3, 4)))
#' @export
nv_max <- function(lhs, rhs) .External(anvil_op, "max", lhs, rhs)

#' Smaller of two values, element by element
#'
#' NaN if either is; the smaller of -0 and 0 is -0; for booleans the logical and.
#'
#' @param lhs,rhs Tensors or traced values of any dtype. R numbers, logicals and arrays do as well.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one of them 0-d.
#' @return A tensor of the operands' shape and common dtype; ambiguous if both operands are.
#' @section Errors:
#' `anvil_error_shape` with both shapes if they differ and neither is 0-d.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_min(nv_tensor(c(1, 5)), nv_tensor(c(3, 4)))
#' @export
nv_min <- function(lhs, rhs) .External(anvil_op, "min", lhs, rhs)

#' Angle of the point (`rhs`, `lhs`), in radians: the inverse tangent of `lhs / rhs` in the right quadrant
#'
#' @param lhs,rhs Tensors or traced values of floats; integers and booleans are promoted to an ambiguous `f32`. R numbers, logicals and arrays do as well.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one of them 0-d.
#' @return A tensor of the operands' shape and common dtype; ambiguous if both operands are.
#' @section Errors:
#' `anvil_error_shape` with both shapes if they differ and neither is 0-d.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_atan2(nv_tensor(c(1, -1)), nv_tensor(c(1, -1)))
#' @export
nv_atan2 <- function(lhs, rhs) .External(anvil_op, "atan2", lhs, rhs)

#' Logical and of booleans, bitwise and of integers
#'
#' @param lhs,rhs Tensors or traced values of booleans and integers. R numbers, logicals and arrays do as well.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one of them 0-d.
#' @return A tensor of the operands' shape and common dtype; ambiguous if both operands are.
#' @section Errors:
#' `anvil_error_dtype` for operands other than booleans and integers.
#' `anvil_error_shape` with both shapes if they differ and neither is 0-d.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `x & y` is the same on tensors.
#' @examples
#' nv_and(nv_tensor(c(TRUE, TRUE)), nv_tensor(c(TRUE, FALSE)))
#' @export
nv_and <- function(lhs, rhs) .External(anvil_op, "and", lhs, rhs)

#' Logical or of booleans, bitwise or of integers
#'
#' @param lhs,rhs Tensors or traced values of booleans and integers. R numbers, logicals and arrays do as well.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one of them 0-d.
#' @return A tensor of the operands' shape and common dtype; ambiguous if both operands are.
#' @section Errors:
#' `anvil_error_dtype` for operands other than booleans and integers.
#' `anvil_error_shape` with both shapes if they differ and neither is 0-d.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `x | y` is the same on tensors.
#' @examples
#' nv_or(nv_tensor(c(TRUE, FALSE)), nv_tensor(c(FALSE, FALSE)))
#' @export
nv_or <- function(lhs, rhs) .External(anvil_op, "or", lhs, rhs)

#' Exclusive or: logical of booleans, bitwise of integers
#'
#' @param lhs,rhs Tensors or traced values of booleans and integers. R numbers, logicals and arrays do as well.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one of them 0-d.
#' @return A tensor of the operands' shape and common dtype; ambiguous if both operands are.
#' @section Errors:
#' `anvil_error_dtype` for operands other than booleans and integers.
#' `anvil_error_shape` with both shapes if they differ and neither is 0-d.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_xor(nv_tensor(c(TRUE, TRUE)), nv_tensor(c(TRUE, FALSE)))
#' @export
nv_xor <- function(lhs, rhs) .External(anvil_op, "xor", lhs, rhs)

#' Bits shifted toward the high end
#'
#' 0 if the amount is negative, or the width of the dtype or more.
#'
#' @param lhs,rhs Tensors or traced values of integers. R numbers, logicals and arrays do as well.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one of them 0-d.
#' @return A tensor of the operands' shape and common dtype; ambiguous if both operands are.
#' @section Errors:
#' `anvil_error_dtype` for operands other than integers.
#' `anvil_error_shape` with both shapes if they differ and neither is 0-d.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_shift_left(nv_tensor(c(1L, 3L)), nv_tensor(c(2L, 1L)))
#' @export
nv_shift_left <- function(lhs, rhs) .External(anvil_op, "shift_left", lhs, rhs)

#' Bits shifted toward the low end; zeros enter
#'
#' 0 if the amount is negative, or the width of the dtype or more.
#'
#' @param lhs,rhs Tensors or traced values of integers. R numbers, logicals and arrays do as well.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one of them 0-d.
#' @return A tensor of the operands' shape and common dtype; ambiguous if both operands are.
#' @section Errors:
#' `anvil_error_dtype` for operands other than integers.
#' `anvil_error_shape` with both shapes if they differ and neither is 0-d.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_shift_right_logical(nv_tensor(c(8L, -8L)), nv_tensor(c(1L, 1L)))
#' @export
nv_shift_right_logical <- function(lhs, rhs) .External(anvil_op, "shift_right_logical", lhs, rhs)

#' Bits shifted toward the low end; copies of the sign bit enter
#'
#' 0 or -1, by the sign, if the amount is negative, or the width of the dtype or more.
#'
#' @param lhs,rhs Tensors or traced values of integers. R numbers, logicals and arrays do as well.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one of them 0-d.
#' @return A tensor of the operands' shape and common dtype; ambiguous if both operands are.
#' @section Errors:
#' `anvil_error_dtype` for operands other than integers.
#' `anvil_error_shape` with both shapes if they differ and neither is 0-d.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_shift_right_arithmetic(nv_tensor(c(8L, -8L)), nv_tensor(c(1L, 1L)))
#' @export
nv_shift_right_arithmetic <- function(lhs, rhs) .External(anvil_op, "shift_right_arithmetic", lhs, rhs)

#' Derivative of order `n` of [nv_digamma()]
#'
#' `n` is a whole number, at least 0, in a float dtype; anything else gives NaN. Order 1 is `trigamma()`.
#'
#' @param n,x Tensors or traced values of floats; integers and booleans are promoted to an ambiguous `f32`. R numbers, logicals and arrays do as well.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one of them 0-d.
#' @return A tensor of the operands' shape and common dtype; ambiguous if both operands are.
#' @section Errors:
#' `anvil_error_shape` with both shapes if they differ and neither is 0-d.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_polygamma(nv_tensor(c(1, 2)), nv_tensor(c(0.5, 3)))
#' @export
nv_polygamma <- function(n, x) .External(anvil_op, "polygamma", n, x)

#' Whether elements are equal
#'
#' NaN equals nothing; -0 equals 0.
#'
#' @param lhs,rhs Tensors or traced values of any dtype. R numbers, logicals and arrays do as well.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one of them 0-d.
#' @return A tensor of the operands' shape and of dtype `i1`; ambiguous if both operands are.
#' @section Errors:
#' `anvil_error_shape` with both shapes if they differ and neither is 0-d.
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
#' @param lhs,rhs Tensors or traced values of any dtype. R numbers, logicals and arrays do as well.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one of them 0-d.
#' @return A tensor of the operands' shape and of dtype `i1`; ambiguous if both operands are.
#' @section Errors:
#' `anvil_error_shape` with both shapes if they differ and neither is 0-d.
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
#' @param lhs,rhs Tensors or traced values of any dtype. R numbers, logicals and arrays do as well.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one of them 0-d.
#' @return A tensor of the operands' shape and of dtype `i1`; ambiguous if both operands are.
#' @section Errors:
#' `anvil_error_shape` with both shapes if they differ and neither is 0-d.
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
#' @param lhs,rhs Tensors or traced values of any dtype. R numbers, logicals and arrays do as well.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one of them 0-d.
#' @return A tensor of the operands' shape and of dtype `i1`; ambiguous if both operands are.
#' @section Errors:
#' `anvil_error_shape` with both shapes if they differ and neither is 0-d.
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
#' @param lhs,rhs Tensors or traced values of any dtype. R numbers, logicals and arrays do as well.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one of them 0-d.
#' @return A tensor of the operands' shape and of dtype `i1`; ambiguous if both operands are.
#' @section Errors:
#' `anvil_error_shape` with both shapes if they differ and neither is 0-d.
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
#' @param lhs,rhs Tensors or traced values of any dtype. R numbers, logicals and arrays do as well.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one of them 0-d.
#' @return A tensor of the operands' shape and of dtype `i1`; ambiguous if both operands are.
#' @section Errors:
#' `anvil_error_shape` with both shapes if they differ and neither is 0-d.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `x <= y` is the same on tensors.
#' @examples
#' nv_le(nv_tensor(c(1, 2, 3)), nv_tensor(c(3, 2, 1)))
#' @export
nv_le <- function(lhs, rhs) .External(anvil_op, "le", lhs, rhs)

#' @method - AnvilValue
#' @export
`-.AnvilValue` <- function(e1, e2) if (missing(e2)) .External(anvil_op, "negate", e1) else .External(anvil_op, "sub", e1, e2)

#' @method abs AnvilValue
#' @export
`abs.AnvilValue` <- function(x) .External(anvil_op, "abs", x)

#' @method sign AnvilValue
#' @export
`sign.AnvilValue` <- function(x) .External(anvil_op, "sign", x)

#' @method sqrt AnvilValue
#' @export
`sqrt.AnvilValue` <- function(x) .External(anvil_op, "sqrt", x)

#' @method exp AnvilValue
#' @export
`exp.AnvilValue` <- function(x) .External(anvil_op, "exp", x)

#' @method expm1 AnvilValue
#' @export
`expm1.AnvilValue` <- function(x) .External(anvil_op, "expm1", x)

#' @method log1p AnvilValue
#' @export
`log1p.AnvilValue` <- function(x) .External(anvil_op, "log1p", x)

#' @method log2 AnvilValue
#' @export
`log2.AnvilValue` <- function(x) .External(anvil_op, "log2", x)

#' @method log10 AnvilValue
#' @export
`log10.AnvilValue` <- function(x) .External(anvil_op, "log10", x)

#' @method sin AnvilValue
#' @export
`sin.AnvilValue` <- function(x) .External(anvil_op, "sin", x)

#' @method cos AnvilValue
#' @export
`cos.AnvilValue` <- function(x) .External(anvil_op, "cos", x)

#' @method tan AnvilValue
#' @export
`tan.AnvilValue` <- function(x) .External(anvil_op, "tan", x)

#' @method asin AnvilValue
#' @export
`asin.AnvilValue` <- function(x) .External(anvil_op, "asin", x)

#' @method acos AnvilValue
#' @export
`acos.AnvilValue` <- function(x) .External(anvil_op, "acos", x)

#' @method atan AnvilValue
#' @export
`atan.AnvilValue` <- function(x) .External(anvil_op, "atan", x)

#' @method sinh AnvilValue
#' @export
`sinh.AnvilValue` <- function(x) .External(anvil_op, "sinh", x)

#' @method cosh AnvilValue
#' @export
`cosh.AnvilValue` <- function(x) .External(anvil_op, "cosh", x)

#' @method tanh AnvilValue
#' @export
`tanh.AnvilValue` <- function(x) .External(anvil_op, "tanh", x)

#' @method asinh AnvilValue
#' @export
`asinh.AnvilValue` <- function(x) .External(anvil_op, "asinh", x)

#' @method acosh AnvilValue
#' @export
`acosh.AnvilValue` <- function(x) .External(anvil_op, "acosh", x)

#' @method atanh AnvilValue
#' @export
`atanh.AnvilValue` <- function(x) .External(anvil_op, "atanh", x)

#' @method lgamma AnvilValue
#' @export
`lgamma.AnvilValue` <- function(x) .External(anvil_op, "lgamma", x)

#' @method digamma AnvilValue
#' @export
`digamma.AnvilValue` <- function(x) .External(anvil_op, "digamma", x)

#' @method floor AnvilValue
#' @export
`floor.AnvilValue` <- function(x) .External(anvil_op, "floor", x)

#' @method ceiling AnvilValue
#' @export
`ceiling.AnvilValue` <- function(x) .External(anvil_op, "ceiling", x)

#' @method ! AnvilValue
#' @export
`!.AnvilValue` <- function(x) .External(anvil_op, "not", x)

#' @method is.finite AnvilValue
#' @export
`is.finite.AnvilValue` <- function(x) .External(anvil_op, "is_finite", x)

#' @method is.infinite AnvilValue
#' @export
`is.infinite.AnvilValue` <- function(x) .External(anvil_op, "is_infinite", x)

#' @method is.nan AnvilValue
#' @export
`is.nan.AnvilValue` <- function(x) .External(anvil_op, "is_nan", x)

#' @method + AnvilValue
#' @export
`+.AnvilValue` <- function(e1, e2) if (missing(e2)) e1 else .External(anvil_op, "add", e1, e2)

#' @method * AnvilValue
#' @export
`*.AnvilValue` <- function(e1, e2) .External(anvil_op, "mul", e1, e2)

#' @method / AnvilValue
#' @export
`/.AnvilValue` <- function(e1, e2) .External(anvil_op, "div", e1, e2)

#' @method ^ AnvilValue
#' @export
`^.AnvilValue` <- function(e1, e2) .External(anvil_op, "pow", e1, e2)

#' @method %% AnvilValue
#' @export
`%%.AnvilValue` <- function(e1, e2) .External(anvil_op, "mod", e1, e2)

#' @method %/% AnvilValue
#' @export
`%/%.AnvilValue` <- function(e1, e2) .External(anvil_op, "floor_div", e1, e2)

#' @method & AnvilValue
#' @export
`&.AnvilValue` <- function(e1, e2) .External(anvil_op, "and", e1, e2)

#' @method | AnvilValue
#' @export
`|.AnvilValue` <- function(e1, e2) .External(anvil_op, "or", e1, e2)

#' @method == AnvilValue
#' @export
`==.AnvilValue` <- function(e1, e2) .External(anvil_op, "eq", e1, e2)

#' @method != AnvilValue
#' @export
`!=.AnvilValue` <- function(e1, e2) .External(anvil_op, "ne", e1, e2)

#' @method > AnvilValue
#' @export
`>.AnvilValue` <- function(e1, e2) .External(anvil_op, "gt", e1, e2)

#' @method >= AnvilValue
#' @export
`>=.AnvilValue` <- function(e1, e2) .External(anvil_op, "ge", e1, e2)

#' @method < AnvilValue
#' @export
`<.AnvilValue` <- function(e1, e2) .External(anvil_op, "lt", e1, e2)

#' @method <= AnvilValue
#' @export
`<=.AnvilValue` <- function(e1, e2) .External(anvil_op, "le", e1, e2)
