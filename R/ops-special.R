# Generated from the rows in src/rust/core/src/ops/ by `make generate`. Do not edit by hand.

#' Beta function, `gamma(a) gamma(b) / gamma(a + b)`
#'
#' Inf where `a` or `b` is 0, NaN where one is negative.
#'
#' @param a,b Tensors or traced values of floats; integers and booleans are promoted to an ambiguous `f32`. R
#'   numbers, logicals and arrays are accepted too.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one operand a
#'   single number, or 1-d and as long as the first axes of the other, see [nv_broadcast_to()].
#' @return A tensor of the common dtype and of the shape with the most axes; ambiguous if both operands are,
#'   once promoted.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`); integers and booleans are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 8 ulps (units in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once.
#' * Derivative: `nv_beta(a, b) * (digamma(a) - digamma(a + b))` with respect to `a`; `nv_beta(a, b) *
#'   (digamma(b) - digamma(a + b))` with respect to `b`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than floats, integers and booleans.
#' `anvil_error_shape` with both shapes if they do not meet so.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_beta(nv_tensor(c(1, 2.5)), nv_tensor(c(3, 0.5)))
#' @export
nv_beta <- function(a, b) .External(anvil_op, "beta", a, b)

#' Logarithm of the beta function
#'
#' Where [nv_beta()] overflows or underflows too.
#'
#' @param a,b Tensors or traced values of floats; integers and booleans are promoted to an ambiguous `f32`. R
#'   numbers, logicals and arrays are accepted too.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one operand a
#'   single number, or 1-d and as long as the first axes of the other, see [nv_broadcast_to()].
#' @return A tensor of the common dtype and of the shape with the most axes; ambiguous if both operands are,
#'   once promoted.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`); integers and booleans are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 4 ulps (units in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once. Beside its zeros, where the beta function is 1, the bound is that
#'   many ulps of 1.
#' * Derivative: `digamma(a) - digamma(a + b)` with respect to `a`; `digamma(b) - digamma(a + b)` with respect
#'   to `b`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than floats, integers and booleans.
#' `anvil_error_shape` with both shapes if they do not meet so.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_lbeta(nv_tensor(c(1, 2.5)), nv_tensor(c(3, 500)))
#' @export
nv_lbeta <- function(a, b) .External(anvil_op, "lbeta", a, b)

#' Binomial coefficient, `n` over `k`
#'
#' As R has it: `n` is any number, `k` is rounded to a whole one, and the result is 0 where that is negative.
#' It is a whole number where `n` is one. The derivative with respect to `n` is not a number where `n` is
#' a whole number below `k`.
#'
#' @param n,k Tensors or traced values of floats; integers and booleans are promoted to an ambiguous `f32`. R
#'   numbers, logicals and arrays are accepted too.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one operand a
#'   single number, or 1-d and as long as the first axes of the other, see [nv_broadcast_to()].
#' @return A tensor of the common dtype and of the shape with the most axes; ambiguous if both operands are,
#'   once promoted.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`); integers and booleans are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 100 ulps (units in the last place) in `f32` and `f64`; `bf16` and `f16`
#'   are computed in `f32` and rounded once. Whole numbers below `2^53` are exact in `f64`.
#' * Derivative: `nv_choose(n, k) * (digamma(n + 1) - digamma(n - nv_round(k) + 1))` with respect to `n`; `0`
#'   with respect to `k`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than floats, integers and booleans.
#' `anvil_error_shape` with both shapes if they do not meet so.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_choose(nv_tensor(c(5, 0.5)), nv_tensor(c(2, 3)))
#' @export
nv_choose <- function(n, k) .External(anvil_op, "choose", n, k)

#' Logarithm of the absolute value of a binomial coefficient
#'
#' See [nv_choose()].
#'
#' @param n,k Tensors or traced values of floats; integers and booleans are promoted to an ambiguous `f32`. R
#'   numbers, logicals and arrays are accepted too.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one operand a
#'   single number, or 1-d and as long as the first axes of the other, see [nv_broadcast_to()].
#' @return A tensor of the common dtype and of the shape with the most axes; ambiguous if both operands are,
#'   once promoted.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`); integers and booleans are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 8 ulps (units in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once. Beside its zeros the bound is that many ulps of 1.
#' * Derivative: `digamma(n + 1) - digamma(n - nv_round(k) + 1)` with respect to `n`; `0` with respect to `k`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than floats, integers and booleans.
#' `anvil_error_shape` with both shapes if they do not meet so.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_lchoose(nv_tensor(c(500, 0.5)), nv_tensor(c(250, 3)))
#' @export
nv_lchoose <- function(n, k) .External(anvil_op, "lchoose", n, k)

#' Exponential integral `Ei(x)`, the integral of `exp(t) / t` up to `x`
#'
#' The principal value for positive `x`; -Inf at 0. [nv_expint()] gives `E_n(x)`.
#'
#' @param x A tensor or traced value of floats; integers and booleans are promoted to an ambiguous `f32`. R
#'   numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`); integers and booleans are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 16 ulps (units in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once. Beside its zero at 0.3725 the bound is that many ulps of 1.
#' * Derivative: `exp(x) / x`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than floats, integers and booleans.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_expi(nv_tensor(c(-1, 0.5, 2)))
#' @export
nv_expi <- function(x) .External(anvil_op, "expi", x)

#' Owen's T function
#'
#' The probability that one of two independent standard normal variables is above `h`, and the other between 0
#' and `a` times the first.
#'
#' @param h,a Tensors or traced values of floats; integers and booleans are promoted to an ambiguous `f32`. R
#'   numbers, logicals and arrays are accepted too.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one operand a
#'   single number, or 1-d and as long as the first axes of the other, see [nv_broadcast_to()].
#' @return A tensor of the common dtype and of the shape with the most axes; ambiguous if both operands are,
#'   once promoted.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`); integers and booleans are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 16 ulps (units in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once.
#' * Derivative: `exp(h^2 * -0.5) * nv_erf(a * h * 0.7071067811865476) * -0.19947114020071635` with respect to
#'   `h`; `exp(h^2 * -0.5 * (a^2 + 1)) / ((a^2 + 1) * 6.283185307179586)` with respect to `a`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than floats, integers and booleans.
#' `anvil_error_shape` with both shapes if they do not meet so.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_owens_t(nv_tensor(c(0.5, 1, 2)), nv_tensor(c(1, 0.2, 3)))
#' @export
nv_owens_t <- function(h, a) .External(anvil_op, "owens_t", h, a)
