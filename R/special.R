# Special functions whose ops have parameters of R: which tail, which branch, scaled or not.

# The op of a tail of a distribution.
tail_op <- function(lower_op, upper_op, lower, log) {
  check_flag("lower", lower)
  check_flag("log", log)
  paste0(if (log) "log_", if (lower) lower_op else upper_op)
}

#' Regularised incomplete gamma functions
#'
#' The lower tail `P(a, x)`, the integral of `t^(a - 1) * exp(-t) / gamma(a)` from 0 to `x`, or the upper tail
#' `Q(a, x)`, that from `x` on: what `pgamma(x, a, lower.tail = lower, log.p = log)` is in R. Both tails and
#' both logarithms are computed by themselves, so that none is what rounding leaves of another.
#'
#' The function is called, and takes its operands in the order, as in SciPy (`gammainc()`, `gammaincc()`) and
#' in DLMF 8.2: the parameter comes first, since this is the special function, not a distribution with a
#' rate. NaN where `a` or `x` is negative, or both are 0 or infinite.
#'
#' The gradient with respect to `a` is that of the same series and integrals; in a trace it is an op of its
#' own, `log_gammainc_da`, the derivative of the logarithm, and `log_gammainc_dx` is the logarithm of the
#' density.
#'
#' @param a,x Tensors or traced values of floats; integers and booleans are promoted to an ambiguous `f32`.
#'   R numbers, logicals and arrays are accepted too. They are promoted to their common dtype, see
#'   [common_dtype()]; shapes must be equal, or one operand a single number, or 1-d and as long as the first
#'   axes of the other, see [nv_broadcast_to()].
#' @param lower Whether the lower tail is meant: `TRUE` or `FALSE`.
#' @param log Whether its logarithm is meant: `TRUE` or `FALSE`.
#' @return A tensor of the common dtype and of the shape with the most axes; ambiguous if both operands are,
#'   once promoted.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`); integers and booleans are promoted to an ambiguous `f32`.
#' * Accuracy:
#'     * `gammainc`, `gammaincc`, `log_gammainc` and `log_gammaincc`: The error is at most 32 ulps (units in
#'       the last place) in `f32` and `f64`; `bf16` and `f16` are computed in `f32` and rounded once.
#'     * `log_gammainc_dx`: The error is at most 8 ulps (units in the last place) in `f32` and `f64`; `bf16`
#'       and `f16` are computed in `f32` and rounded once. Beside its zeros the bound is that many ulps of 1.
#'     * `log_gammainc_da` and `log_gammaincc_da`: The error is at most 256 ulps (units in the last place) in
#'       `f32` and `f64`; `bf16` and `f16` are computed in `f32` and rounded once.
#' * Derivative:
#'     * `gammainc`: `nv_gammainc(a, x) * log_gammainc_da(a, x)` with respect to `a`; `exp(log_gammainc_dx(a,
#'       x))` with respect to `x`.
#'     * `gammaincc`: `gammaincc(a, x) * log_gammaincc_da(a, x)` with respect to `a`; `-exp(log_gammainc_dx(a,
#'       x))` with respect to `x`.
#'     * `log_gammainc`: `log_gammainc_da(a, x)` with respect to `a`; `exp(log_gammainc_dx(a, x) -
#'       log_gammainc(a, x))` with respect to `x`.
#'     * `log_gammaincc`: `log_gammaincc_da(a, x)` with respect to `a`; `-exp(log_gammainc_dx(a, x) -
#'       log_gammaincc(a, x))` with respect to `x`.
#'     * `log_gammainc_dx`: `log(x) - digamma(a)` with respect to `a`; `(a - 1) / x - 1` with respect to `x`.
#'     * `log_gammainc_da`: None with respect to `a`, since second derivatives with respect to parameters are
#'       not written; `exp(log_gammainc_dx(a, x) - log_gammainc(a, x)) * (log(x) - digamma(a) -
#'       log_gammainc_da(a, x))` with respect to `x`.
#'     * `log_gammaincc_da`: None with respect to `a`, since second derivatives with respect to parameters are
#'       not written; `exp(log_gammainc_dx(a, x) - log_gammaincc(a, x)) * (log_gammaincc_da(a, x) - (log(x) -
#'       digamma(a)))` with respect to `x`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than floats, integers and booleans.
#' `anvil_error_shape` with both shapes if they do not meet so.
#' `anvil_error_arg` for anything that is neither tensor, number nor array, and for flags that are none.
#' @references DLMF, sections 8.2, 8.7 and 8.11, <https://dlmf.nist.gov/8>.
#' @seealso [nv_gammaincinv()] for the inverse, [nv_betainc()], [nv_lgamma()].
#' @examples
#' nv_gammainc(2, c(0.5, 1, 50))
#' nv_gammainc(2, c(0.5, 1, 50), lower = FALSE)
#' nv_gammainc(2, c(0.5, 1, 5000), lower = FALSE, log = TRUE)
#' gradient(function(a) nv_gammainc(a, 1.5))(nv_scalar(2))
#' @export
nv_gammainc <- function(a, x, lower = TRUE, log = FALSE) {
  .External(anvil_op, tail_op("gammainc", "gammaincc", lower, log), a, x)
}

#' Inverse of the incomplete gamma functions
#'
#' The `x` with `nv_gammainc(a, x, lower, log) == p`: what `qgamma(p, a, lower.tail = lower, log.p = log)` is
#' in R. 0 and Inf at the ends; NaN where `p` is no probability, or no logarithm of one.
#'
#' @param a,p Tensors or traced values of floats; integers and booleans are promoted to an ambiguous `f32`.
#'   R numbers, logicals and arrays are accepted too. They are promoted to their common dtype, see
#'   [common_dtype()]; shapes must be equal, or one operand a single number, or 1-d and as long as the first
#'   axes of the other, see [nv_broadcast_to()].
#' @inheritParams nv_gammainc
#' @return A tensor of the common dtype and of the shape with the most axes; ambiguous if both operands are,
#'   once promoted.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`); integers and booleans are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 32 ulps (units in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once. The bound is that of the point whose probability is within so many
#'   ulps of the one given, or of so many ulps.
#' * Derivative: Differentiable with respect to `a` and `p`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than floats, integers and booleans.
#' `anvil_error_shape` with both shapes if they do not meet so.
#' `anvil_error_arg` for anything that is neither tensor, number nor array, and for flags that are none.
#' @examples
#' nv_gammaincinv(2, c(0.05, 0.5, 0.95))
#' nv_gammaincinv(2, -1000, lower = FALSE, log = TRUE)
#' @export
nv_gammaincinv <- function(a, p, lower = TRUE, log = FALSE) {
  .External(anvil_op, tail_op("gammaincinv", "gammainccinv", lower, log), a, p)
}

#' Regularised incomplete beta function
#'
#' The lower tail `I_x(a, b)`, the integral of `t^(a - 1) * (1 - t)^(b - 1) / beta(a, b)` from 0 to `x`, or
#' the upper tail, that from `x` to 1: what `pbeta(x, a, b, lower.tail = lower, log.p = log)` is in R. Called
#' as in SciPy and JAX (`betainc()`) and in DLMF 8.17, with the parameters first.
#'
#' NaN where `x` is not from 0 to 1, or a parameter is negative, or both are 0 or infinite. Gradients with
#' respect to `a` and `b` come from the same series and integrals; in a trace they are ops of their own,
#' `log_betainc_da` and `log_betainc_db`, the derivatives of the logarithm, and `log_betainc_dx` is the
#' logarithm of the density.
#'
#' @param a,b,x Tensors or traced values of floats; integers and booleans are promoted to an ambiguous `f32`.
#'   R numbers, logicals and arrays are accepted too. They are promoted to their common dtype, see
#'   [common_dtype()]; shapes must be equal, or single numbers, or 1-d and as long as the first axes of the
#'   one with the most, see [nv_broadcast_to()].
#' @inheritParams nv_gammainc
#' @return A tensor of the common dtype and of the shape with the most axes; ambiguous if all operands are,
#'   once promoted.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`); integers and booleans are promoted to an ambiguous `f32`.
#' * Accuracy:
#'     * `betainc`, `betaincc`, `log_betainc` and `log_betaincc`: The error is at most 64 ulps (units in the
#'       last place) in `f32` and `f64`; `bf16` and `f16` are computed in `f32` and rounded once.
#'     * `log_betainc_dx`: The error is at most 8 ulps (units in the last place) in `f32` and `f64`; `bf16`
#'       and `f16` are computed in `f32` and rounded once. Beside its zeros the bound is that many ulps of 1.
#'     * `log_betainc_da`, `log_betainc_db`, `log_betaincc_da` and `log_betaincc_db`: The error is at most 512
#'       ulps (units in the last place) in `f32` and `f64`; `bf16` and `f16` are computed in `f32` and rounded
#'       once.
#' * Derivative:
#'     * `betainc`: `nv_betainc(a, b, x) * log_betainc_da(a, b, x)` with respect to `a`; `nv_betainc(a, b,
#'       x) * log_betainc_db(a, b, x)` with respect to `b`; `exp(log_betainc_dx(a, b, x))` with respect to
#'       `x`.
#'     * `betaincc`: `betaincc(a, b, x) * log_betaincc_da(a, b, x)` with respect to `a`; `betaincc(a, b, x) *
#'       log_betaincc_db(a, b, x)` with respect to `b`; `-exp(log_betainc_dx(a, b, x))` with respect to `x`.
#'     * `log_betainc`: `log_betainc_da(a, b, x)` with respect to `a`; `log_betainc_db(a, b, x)` with respect
#'       to `b`; `exp(log_betainc_dx(a, b, x) - log_betainc(a, b, x))` with respect to `x`.
#'     * `log_betaincc`: `log_betaincc_da(a, b, x)` with respect to `a`; `log_betaincc_db(a, b, x)` with
#'       respect to `b`; `-exp(log_betainc_dx(a, b, x) - log_betaincc(a, b, x))` with respect to `x`.
#'     * `log_betainc_dx`: `log(x) - digamma(a) + digamma(a + b)` with respect to `a`; `log1p(-x) -
#'       digamma(b) + digamma(a + b)` with respect to `b`; `(a - 1) / x - (b - 1) / (1 - x)` with respect to
#'       `x`.
#'     * `log_betainc_da`: None with respect to `a`, since second derivatives with respect to parameters are
#'       not written; none with respect to `b`, since second derivatives with respect to parameters are not
#'       written; `exp(log_betainc_dx(a, b, x) - log_betainc(a, b, x)) * (log(x) - digamma(a) + digamma(a +
#'       b) - log_betainc_da(a, b, x))` with respect to `x`.
#'     * `log_betainc_db`: None with respect to `a`, since second derivatives with respect to parameters are
#'       not written; none with respect to `b`, since second derivatives with respect to parameters are not
#'       written; `exp(log_betainc_dx(a, b, x) - log_betainc(a, b, x)) * (log1p(-x) - digamma(b) + digamma(a +
#'       b) - log_betainc_db(a, b, x))` with respect to `x`.
#'     * `log_betaincc_da`: None with respect to `a`, since second derivatives with respect to parameters are
#'       not written; none with respect to `b`, since second derivatives with respect to parameters are not
#'       written; `-(exp(log_betainc_dx(a, b, x) - log_betaincc(a, b, x)) * (log(x) - digamma(a) + digamma(a +
#'       b) - log_betaincc_da(a, b, x)))` with respect to `x`.
#'     * `log_betaincc_db`: None with respect to `a`, since second derivatives with respect to parameters are
#'       not written; none with respect to `b`, since second derivatives with respect to parameters are not
#'       written; `-(exp(log_betainc_dx(a, b, x) - log_betaincc(a, b, x)) * (log1p(-x) - digamma(b) +
#'       digamma(a + b) - log_betaincc_db(a, b, x)))` with respect to `x`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than floats, integers and booleans.
#' `anvil_error_shape` with both shapes if they do not meet so.
#' `anvil_error_arg` for anything that is neither tensor, number nor array, and for flags that are none.
#' @references DLMF, section 8.17, <https://dlmf.nist.gov/8.17>.
#' @seealso [nv_betaincinv()] for the inverse, [nv_beta()], [nv_gammainc()].
#' @examples
#' nv_betainc(2, 3, c(0.1, 0.5, 0.9))
#' nv_betainc(200, 3, 1e-3, log = TRUE)
#' gradient(function(a, b) nv_betainc(a, b, 0.4))(nv_scalar(2), nv_scalar(3))
#' @export
nv_betainc <- function(a, b, x, lower = TRUE, log = FALSE) {
  .External(anvil_op, tail_op("betainc", "betaincc", lower, log), a, b, x)
}

#' Inverse of the incomplete beta function
#'
#' The `x` with `nv_betainc(a, b, x, lower, log) == p`: what `qbeta(p, a, b, lower.tail = lower, log.p = log)`
#' is in R. NaN where `p` is no probability, or no logarithm of one.
#'
#' @param a,b,p Tensors or traced values of floats; integers and booleans are promoted to an ambiguous `f32`.
#'   R numbers, logicals and arrays are accepted too. They are promoted to their common dtype, see
#'   [common_dtype()]; shapes must be equal, or single numbers, or 1-d and as long as the first axes of the
#'   one with the most, see [nv_broadcast_to()].
#' @inheritParams nv_gammainc
#' @return A tensor of the common dtype and of the shape with the most axes; ambiguous if all operands are,
#'   once promoted.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`); integers and booleans are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 64 ulps (units in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once. The bound is that of the point whose probability is within so many
#'   ulps of the one given, or of so many ulps.
#' * Derivative: Differentiable with respect to `a`, `b` and `p`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than floats, integers and booleans.
#' `anvil_error_shape` with both shapes if they do not meet so.
#' `anvil_error_arg` for anything that is neither tensor, number nor array, and for flags that are none.
#' @examples
#' nv_betaincinv(2, 3, c(0.05, 0.5, 0.95))
#' @export
nv_betaincinv <- function(a, b, p, lower = TRUE, log = FALSE) {
  .External(anvil_op, tail_op("betaincinv", "betainccinv", lower, log), a, b, p)
}

#' Bessel functions
#'
#' `nv_bessel_i()` and `nv_bessel_k()` are the modified Bessel functions of the first and the second kind, of
#' any real order `nu`; `nv_bessel_j()` and `nv_bessel_y()` those of the first and the second kind, of order 0
#' or 1. They are base R's `besselI()`, `besselK()`, `besselJ()` and `besselY()`, with its order of arguments.
#'
#' Beyond base R, `x` may be negative where the function is real there: for whole orders of `nv_bessel_i()`,
#' and for `nv_bessel_j()`. Elsewhere a negative `x` gives NaN. At 0 `nv_bessel_k()` is Inf and
#' `nv_bessel_y()` is -Inf.
#'
#' @param x Tensors or traced values of floats; integers and booleans are promoted to an ambiguous `f32`. R
#'   numbers, logicals and arrays are accepted too.
#' @param nu The order. Of `nv_bessel_i()` and `nv_bessel_k()` as `x`; they are promoted to their common
#'   dtype, and shapes must be equal, or one operand a single number, or 1-d and as long as the first axes of
#'   the other. Of `nv_bessel_j()` and `nv_bessel_y()` the number 0 or 1.
#' @param scaled Whether the result is times `exp(-abs(x))` for `nv_bessel_i()` and times `exp(x)` for
#'   `nv_bessel_k()`, so that it neither overflows nor underflows: `expon.scaled` in base R.
#' @return A tensor of the common dtype and of the shape with the most axes; ambiguous if all operands are,
#'   once promoted.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`); integers and booleans are promoted to an ambiguous `f32`.
#' * Accuracy:
#'     * `bessel_i`, `bessel_ie`, `bessel_k` and `bessel_ke`: The error is at most 16 ulps (units in the last
#'       place) in `f32` and `f64`; `bf16` and `f16` are computed in `f32` and rounded once.
#'     * `bessel_j0` and `bessel_j1`: The error is at most 4 ulps (units in the last place) in `f32` and
#'       `f64`; `bf16` and `f16` are computed in `f32` and rounded once. Beside their zeros the bound of
#'       Bessel functions is that many ulps of `sqrt(2 / (pi * x))`.
#'     * `bessel_y0` and `bessel_y1`: The error is at most 4 ulps (units in the last place) in `f32` and
#'       `f64`; `bf16` and `f16` are computed in `f32` and rounded once. Beside their zeros the bound of
#'       Bessel functions is that many ulps of 1 or of `sqrt(2 / (pi * x))`.
#' * Derivative:
#'     * `bessel_i`: `(nv_bessel_i(x, nu - 1) + nv_bessel_i(x, nu + 1)) * 0.5` with respect to `x`; none with
#'       respect to `nu`, since there is no closed formula for the derivative with respect to the order.
#'     * `bessel_ie`: `(bessel_ie(x, nu - 1) + bessel_ie(x, nu + 1)) * 0.5 - sign(x) * bessel_ie(x, nu)` with
#'       respect to `x`; none with respect to `nu`, since there is no closed formula for the derivative with
#'       respect to the order.
#'     * `bessel_k`: `(nv_bessel_k(x, nu - 1) + nv_bessel_k(x, nu + 1)) * -0.5` with respect to `x`; none with
#'       respect to `nu`, since there is no closed formula for the derivative with respect to the order.
#'     * `bessel_ke`: `bessel_ke(x, nu) - (bessel_ke(x, nu - 1) + bessel_ke(x, nu + 1)) * 0.5` with respect to
#'       `x`; none with respect to `nu`, since there is no closed formula for the derivative with respect to
#'       the order.
#'     * `bessel_j0`: `-bessel_j1(x)`.
#'     * `bessel_j1`: `bessel_j0(x) - ifelse(x == 0, 0.5, bessel_j1(x) / ifelse(x == 0, 1, x))`.
#'     * `bessel_y0`: `-bessel_y1(x)`.
#'     * `bessel_y1`: `bessel_y0(x) - bessel_y1(x) / x`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than floats, integers and booleans.
#' `anvil_error_shape` with both shapes if they do not meet so.
#' `anvil_error_arg` for anything that is neither tensor, number nor array, for an order of `nv_bessel_j()`
#' and `nv_bessel_y()` that is neither 0 nor 1, and for a flag that is none.
#' @references DLMF, chapter 10, <https://dlmf.nist.gov/10>. Temme, N. M. (1975), On the numerical evaluation
#'   of the modified Bessel function of the third kind, Journal of Computational Physics 19.
#' @examples
#' nv_bessel_i(c(0.5, 1, 2), 0)
#' nv_bessel_i(1000, 2.5, scaled = TRUE)
#' nv_bessel_k(c(0.5, 1, 2), 1 / 3)
#' nv_bessel_j(c(0.5, 1, 2), 0)
#' @name bessel
NULL

#' @rdname bessel
#' @export
nv_bessel_i <- function(x, nu, scaled = FALSE) {
  check_flag("scaled", scaled)
  .External(anvil_op, if (scaled) "bessel_ie" else "bessel_i", x, nu)
}

#' @rdname bessel
#' @export
nv_bessel_k <- function(x, nu, scaled = FALSE) {
  check_flag("scaled", scaled)
  .External(anvil_op, if (scaled) "bessel_ke" else "bessel_k", x, nu)
}

#' @rdname bessel
#' @export
nv_bessel_j <- function(x, nu) .External(anvil_op, paste0("bessel_j", low_order(nu)), x)

#' @rdname bessel
#' @export
nv_bessel_y <- function(x, nu) .External(anvil_op, paste0("bessel_y", low_order(nu)), x)

low_order <- function(nu) {
  if (!is.object(nu) && is.numeric(nu) && length(nu) == 1L && nu %in% 0:1) return(as.integer(nu))
  hint <- "Of other orders there are `nv_bessel_i()` and `nv_bessel_k()`."
  abort_arg("nu", "0 or 1, a number that is known when the function is traced", describe(nu), hint)
}

#' Exponential integral `E_n(x)`
#'
#' The integral of `exp(-x * t) / t^n` for `t` from 1 on, for `x >= 0` and whole `n >= 0`; NaN elsewhere.
#' [nv_expi()] gives `Ei(x)`.
#'
#' @param x Tensors or traced values of floats; integers and booleans are promoted to an ambiguous `f32`. R
#'   numbers, logicals and arrays are accepted too.
#' @param n The order, as `x`. They are promoted to their common dtype; shapes must be equal, or one operand
#'   a single number, or 1-d and as long as the first axes of the other.
#' @return A tensor of the common dtype and of the shape with the most axes; ambiguous if both operands are,
#'   once promoted.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`); integers and booleans are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 16 ulps (units in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once.
#' * Derivative: `ifelse(n == 0, -(nv_expint(x, n) * (1 / x + 1)), -nv_expint(x, n - 1))` with respect to `x`;
#'   none with respect to `n`, since there is no closed formula for the derivative with respect to the order.
#' @section Errors:
#' `anvil_error_dtype` for operands other than floats, integers and booleans.
#' `anvil_error_shape` with both shapes if they do not meet so.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @references DLMF, sections 6.2 and 8.19, <https://dlmf.nist.gov/8.19>.
#' @examples
#' nv_expint(c(0.1, 1, 10))
#' nv_expint(c(0.1, 1, 10), n = 2)
#' @export
nv_expint <- function(x, n = 1) .External(anvil_op, "expint", x, n)

#' Zeta function
#'
#' That of Riemann, and for another `q` that of Hurwitz, the sum of `(q + k)^-s` over whole `k >= 0`, for `s >
#' 1` and `q > 0`. For `q = 1` it is defined for any `s`. Inf where `s` is 1 or `q` is 0, NaN elsewhere.
#'
#' @param s,q Tensors or traced values of floats; integers and booleans are promoted to an ambiguous `f32`.
#'   R numbers, logicals and arrays are accepted too. They are promoted to their common dtype; shapes must be
#'   equal, or one operand a single number, or 1-d and as long as the first axes of the other.
#' @return A tensor of the common dtype and of the shape with the most axes; ambiguous if both operands are,
#'   once promoted.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`); integers and booleans are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 64 ulps (units in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once.
#' * Derivative: None with respect to `s`, since there is no closed formula for the derivative with respect to
#'   `s`; `-s * nv_zeta(s + 1, q)` with respect to `q`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than floats, integers and booleans.
#' `anvil_error_shape` with both shapes if they do not meet so.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @references DLMF, sections 25.2 and 25.11, <https://dlmf.nist.gov/25>.
#' @examples
#' nv_zeta(c(-1, 0, 2, 4))
#' nv_zeta(2, c(0.5, 1, 10))
#' @export
nv_zeta <- function(s, q = 1) .External(anvil_op, "zeta", s, q)

#' Function of Lambert
#'
#' The `w` with `w * exp(w) == x`: the branch of at least -1, which is real for `x` from `-exp(-1)` on, or the
#' branch of at most -1, real for `x` from `-exp(-1)` to 0. NaN elsewhere.
#'
#' @param x A tensor or traced value of floats; integers and booleans are promoted to an ambiguous `f32`. R
#'   numbers, logicals and arrays are accepted too.
#' @param branch 0 for the upper branch, -1 for the lower one.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`); integers and booleans are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 4 ulps (units in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once.
#' * Derivative:
#'     * `lambert_w0`: `exp(-lambert_w0(x)) / (lambert_w0(x) + 1)`.
#'     * `lambert_wm1`: `exp(-lambert_wm1(x)) / (lambert_wm1(x) + 1)`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than floats, integers and booleans.
#' `anvil_error_arg` for anything that is neither tensor, number nor array, and for another branch.
#' @references Corless, R. M. et al. (1996), On the Lambert W function, Advances in Computational Mathematics
#'   5.
#' @examples
#' nv_lambertw(c(-0.2, 0, 1, 1e6))
#' nv_lambertw(-0.2, branch = -1)
#' @export
nv_lambertw <- function(x, branch = 0) {
  if (!is_numeric(branch) || length(branch) != 1L || !branch %in% c(0, -1)) {
    abort_arg("branch", "0 or -1", describe(branch), "The other branches are not real.")
  }
  .External(anvil_op, if (branch == 0) "lambert_w0" else "lambert_wm1", x)
}

#' Log-odds of a probability
#'
#' `log(p / (1 - p))`, the inverse of [nv_logistic()] and `qlogis()` in R, without the digits that `1 - p` or
#' a logarithm next to 1 would lose. Infinite at 0 and 1, NaN outside.
#'
#' @param p A tensor or traced value of floats, integers or booleans. R numbers, logicals and arrays are
#'   accepted too.
#' @return A tensor of the operand's shape, of its dtype if that is a float, else of the dtype that the
#'   promotion rules give its quotient by a number.
#' @section Errors:
#' `anvil_error_dtype` for complex numbers.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_logit(c(0.1, 0.5, 0.999))
#' @export
nv_logit <- function(p) {
  p <- .External(anvil_op, "floats", p)
  # Below 1/4 the quotient is far from 1; above, `2 * p - 1` has no rounding error.
  nv_ifelse(p < 0.25, nv_log(p / (1 - p)), 2 * nv_atanh(2 * p - 1))
}

#' Logarithm of `1 - exp(-x)`
#'
#' For `x >= 0`, with all digits of small and of large `x`: the logarithm of the probability of the rest,
#' where that of an event is `-x`. -Inf at 0, NaN below.
#'
#' @param x A tensor or traced value of floats, integers or booleans. R numbers, logicals and arrays are
#'   accepted too.
#' @return A tensor of the operand's shape, of its dtype if that is a float, else of the dtype that the
#'   promotion rules give it and a number.
#' @section Errors:
#' `anvil_error_dtype` for complex numbers.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @references Maechler, M. (2012), Accurately computing log(1 - exp(-|a|)), vignette of the package Rmpfr.
#' @examples
#' nv_log1mexp(c(1e-10, 1, 100))
#' @export
nv_log1mexp <- function(x) {
  x <- .External(anvil_op, "floats", x)
  below <- 0 - x
  nv_ifelse(x <= log(2), nv_log(-nv_expm1(below)), nv_log1p(-nv_exp(below)))
}
