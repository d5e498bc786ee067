# Generated from the rows in src/rust/core/src/ops/ by `make generate`. Do not edit by hand.

#' Negation, `-x`
#'
#' Integers wrap: the negative of the smallest one is itself, and unsigned ones are taken modulo
#' `2^bits`. Booleans count as `i32`, as in R.
#'
#' @param operand A tensor or traced value of integers, floats and complex numbers. R numbers, logicals and
#'   arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Integers (`i8` to `i64`, `ui8` to `ui64`), floats (`bf16`, `f16`, `f32`, `f64`) and complex
#'   numbers (`c64`, `c128`); booleans count as `i32`.
#' * Accuracy: Results are exact.
#' * Derivative: `-1`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than integers, floats and complex numbers.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `-x` is the same on tensors.
#' @examples
#' nv_negate(nv_tensor(c(-1, 0, 2)))
#' @export
nv_negate <- function(operand) .External(anvil_op, "negate", operand)

#' Absolute value
#'
#' The absolute value of the smallest signed integer is that integer itself; that of a complex number has
#' the dtype of its parts.
#'
#' @param operand A tensor or traced value of signed integers, floats and complex numbers. R numbers, logicals
#'   and arrays are accepted too.
#' @return A tensor of the operand's shape and ambiguity, and of the dtype of its parts: `f32` for `c64`,
#'   `f64` for `c128`; a real operand's own.
#' @section Properties:
#' * Dtypes: Signed integers (`i8` to `i64`), floats (`bf16`, `f16`, `f32`, `f64`) and complex numbers (`c64`,
#'   `c128`).
#' * Accuracy:
#'     * Other numbers: Results are exact.
#'     * Complex numbers: The error is at most 1 ulp (unit in the last place) in `f32` and `f64`.
#' * Derivative:
#'     * Other numbers: `sign(operand)`.
#'     * Complex numbers: Differentiable with respect to `operand`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than signed integers, floats and complex numbers.
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
#' @param operand A tensor or traced value of signed integers and floats. R numbers, logicals and arrays are
#'   accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Signed integers (`i8` to `i64`) and floats (`bf16`, `f16`, `f32`, `f64`).
#' * Accuracy: Results are exact.
#' * Derivative: Zero everywhere.
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
#' NaN below zero. The root of a complex number is the one whose real part is not negative.
#'
#' @param operand A tensor or traced value of floats and complex numbers; integers and booleans are promoted
#'   to an ambiguous `f32`. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`) and complex numbers (`c64`, `c128`); integers and booleans
#'   are promoted to an ambiguous `f32`.
#' * Accuracy: Floats are correctly rounded (0.5 ulp). No bound is stated for complex numbers.
#' * Derivative: `0.5 / sqrt(operand)`.
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
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous
#'   `f32`. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`); integers and booleans are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 2 ulps (units in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once.
#' * Derivative: `-0.5 * nv_rsqrt(operand) / operand`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than floats, integers and booleans.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_rsqrt(nv_tensor(c(0.25, 1, 4)))
#' @export
nv_rsqrt <- function(operand) .External(anvil_op, "rsqrt", operand)

#' Cube root, of negative numbers too
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous
#'   `f32`. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`); integers and booleans are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 1 ulp (unit in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once.
#' * Derivative: `1 / (3 * nv_cbrt(operand)^2)`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than floats, integers and booleans.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_cbrt(nv_tensor(c(-8, 0, 27)))
#' @export
nv_cbrt <- function(operand) .External(anvil_op, "cbrt", operand)

#' Error function, `2 / sqrt(pi)` times the integral of `exp(-t^2)` from 0 to `x`
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous
#'   `f32`. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`); integers and booleans are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 1.5 ulps (units in the last place) in `f32` and `f64`; `bf16` and `f16`
#'   are computed in `f32` and rounded once.
#' * Derivative: `exp(-operand^2) * 2 / sqrt(pi)`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than floats, integers and booleans.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_erf(nv_tensor(c(-1, 0, 0.5)))
#' @export
nv_erf <- function(operand) .External(anvil_op, "erf", operand)

#' Complementary error function, `1 - erf(x)`
#'
#' Accurate for large `x`, where the difference is not.
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous
#'   `f32`. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`); integers and booleans are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 4 ulps (units in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once.
#' * Derivative: `exp(-operand^2) * -2 / sqrt(pi)`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than floats, integers and booleans.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_erfc(nv_tensor(c(-1, 0, 5)))
#' @export
nv_erfc <- function(operand) .External(anvil_op, "erfc", operand)

#' Scaled complementary error function, `exp(x^2) * nv_erfc(x)`
#'
#' Where [nv_erfc()] underflows too; Inf far below zero.
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous
#'   `f32`. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`); integers and booleans are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 3 ulps (units in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once.
#' * Derivative: `ifelse(operand > 20, 1 / ifelse(operand > 20, operand, 20)^2 * (1 / ifelse(operand > 20,
#'   operand, 20)^2 * (1 / ifelse(operand > 20, operand, 20)^2 * (1 / ifelse(operand > 20, operand, 20)^2 *
#'   6.5625 - 1.875) + 0.75) - 0.5) * 2 / 1.7724538509055159, (operand * nv_erfcx(operand) -
#'   0.5641895835477563) * 2)`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than floats, integers and booleans.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_erfcx(nv_tensor(c(-1, 0, 50)))
#' @export
nv_erfcx <- function(operand) .External(anvil_op, "erfcx", operand)

#' Quantile of the standard normal distribution, the inverse of its distribution function
#'
#' Also known as `qnorm()`. Infinite at 0 and 1, NaN outside.
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous
#'   `f32`. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`); integers and booleans are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 4 ulps (units in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once.
#' * Derivative: `exp(nv_probit(operand)^2 * 0.5) * 2.5066282746310002`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than floats, integers and booleans.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_probit(nv_tensor(c(0.025, 0.5, 0.9)))
#' @export
nv_probit <- function(operand) .External(anvil_op, "probit", operand)

#' Inverse of the error function
#'
#' Infinite at -1 and 1, NaN beyond.
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous
#'   `f32`. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`); integers and booleans are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 3 ulps (units in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once.
#' * Derivative: `exp(nv_erf_inv(operand)^2) / (2 / sqrt(pi))`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than floats, integers and booleans.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_erf_inv(nv_tensor(c(-0.5, 0, 0.9)))
#' @export
nv_erf_inv <- function(operand) .External(anvil_op, "erf_inv", operand)

#' Gamma function
#'
#' NaN at zero and at negative whole numbers, as in R.
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous
#'   `f32`. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`); integers and booleans are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 4 ulps (units in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once.
#' * Derivative: `gamma(operand) * digamma(operand)`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than floats, integers and booleans.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `gamma(x)` is the same on tensors.
#' @examples
#' nv_gamma(nv_tensor(c(-0.5, 0.5, 5)))
#' @export
nv_gamma <- function(operand) .External(anvil_op, "gamma", operand)

#' Logarithm of the absolute value of the gamma function
#'
#' Inf at zero and at negative whole numbers.
#'
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous
#'   `f32`. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`); integers and booleans are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 3 ulps (units in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once. Below 0, where digits cancel near the zeros, the bound is that many
#'   ulps of `max(1, lgamma(1 - operand))`.
#' * Derivative: `digamma(operand)`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than floats, integers and booleans.
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
#' @param operand A tensor or traced value of floats; integers and booleans are promoted to an ambiguous
#'   `f32`. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`); integers and booleans are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 4 ulps (units in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once. Below 0, where digits cancel near the zeros, the bound is that many
#'   ulps of `max(1, digamma(1 - operand))`.
#' * Derivative: `nv_polygamma(1, operand)`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than floats, integers and booleans.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `digamma(x)` is the same on tensors.
#' @examples
#' nv_digamma(nv_tensor(c(0.5, 1, 10)))
#' @export
nv_digamma <- function(operand) .External(anvil_op, "digamma", operand)

#' Largest whole number not above the operand
#'
#' @param operand A tensor or traced value of integers and floats. R numbers, logicals and arrays are accepted
#'   too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Integers (`i8` to `i64`, `ui8` to `ui64`) and floats (`bf16`, `f16`, `f32`, `f64`).
#' * Accuracy: Results are exact.
#' * Derivative: Zero everywhere.
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
#' @param operand A tensor or traced value of integers and floats. R numbers, logicals and arrays are accepted
#'   too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Integers (`i8` to `i64`, `ui8` to `ui64`) and floats (`bf16`, `f16`, `f32`, `f64`).
#' * Accuracy: Results are exact.
#' * Derivative: Zero everywhere.
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
#' @param operand A tensor or traced value of integers and floats. R numbers, logicals and arrays are accepted
#'   too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Integers (`i8` to `i64`, `ui8` to `ui64`) and floats (`bf16`, `f16`, `f32`, `f64`).
#' * Accuracy: Results are exact.
#' * Derivative: Zero everywhere.
#' @section Errors:
#' `anvil_error_dtype` for operands other than integers and floats.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_trunc(nv_tensor(c(-1.5, 0.5, 2)))
#' @export
nv_trunc <- function(operand) .External(anvil_op, "trunc", operand)

#' Complex conjugate: the imaginary part with the other sign
#'
#' The conjugate of a real number is the number itself.
#'
#' @param operand A tensor or traced value of integers, floats and complex numbers. R numbers, logicals and
#'   arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Integers (`i8` to `i64`, `ui8` to `ui64`), floats (`bf16`, `f16`, `f32`, `f64`) and complex
#'   numbers (`c64`, `c128`).
#' * Accuracy: Results are exact.
#' * Derivative: `1` for real numbers; the gradient with respect to a complex number is the conjugate of that
#'   of the result.
#' @section Errors:
#' `anvil_error_dtype` for operands other than integers, floats and complex numbers.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `Conj(x)` is the same on tensors.
#' @examples
#' nv_conj(nv_tensor(c(3+4i, -1i)))
#' @export
nv_conj <- function(operand) .External(anvil_op, "conj", operand)

#' The value itself, taken for a constant by [gradient()]
#'
#' Nothing that it is computed from contributes to the gradient: for targets, running averages and other
#' values that are not trained.
#'
#' @param operand A tensor or traced value of any dtype. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Any dtype.
#' * Accuracy: Results are exact.
#' * Derivative: Zero everywhere.
#' @section Errors:
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_stop_gradient(nv_tensor(c(1, 2)))
#' @export
nv_stop_gradient <- function(operand) .External(anvil_op, "stop_gradient", operand)

#' Logical negation of booleans, complement of the bits of integers
#'
#' `!x` on an integer tensor is therefore bitwise, as `x & y` and `x | y` are: use `x == 0L` for a
#' logical result.
#'
#' @param operand A tensor or traced value of booleans and integers. R numbers, logicals and arrays are
#'   accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Booleans (`i1`) and integers (`i8` to `i64`, `ui8` to `ui64`).
#' * Derivative: None: integers and booleans have no gradient.
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
#' @param operand A tensor or traced value of integers. R numbers, logicals and arrays are accepted too.
#' @return A tensor of the operand's shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Integers (`i8` to `i64`, `ui8` to `ui64`).
#' * Derivative: None: integers and booleans have no gradient.
#' @section Errors:
#' `anvil_error_dtype` for operands other than integers.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_popcnt(nv_tensor(c(0L, 7L, -1L)))
#' @export
nv_popcnt <- function(operand) .External(anvil_op, "popcnt", operand)
