# Generated from the rows in src/rust/core/src/ops/ by `make generate`. Do not edit by hand.

#' Sum
#'
#' Integers wrap; booleans count as `i32`, as in R.
#'
#' @param lhs,rhs Tensors or traced values of any dtype. R numbers, logicals and arrays are accepted too.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one operand a
#'   single number, or 1-d and as long as the first axes of the other, see [nv_broadcast_to()].
#' @return A tensor of the common dtype and of the shape with the most axes; ambiguous if both operands are,
#'   once promoted.
#' @section Properties:
#' * Dtypes: Any dtype; booleans count as `i32`.
#' * Accuracy: Floats are correctly rounded (0.5 ulp). So are the parts of complex numbers.
#' * Derivative: `1` with respect to `lhs`; `1` with respect to `rhs`.
#' @section Errors:
#' `anvil_error_shape` with both shapes if they do not meet so.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `x + y` is the same on tensors.
#' @examples
#' nv_add(nv_tensor(c(1, 2)), nv_tensor(c(3, 4)))
#' @export
nv_add <- function(lhs, rhs) .External(anvil_op, "add", lhs, rhs)

#' Difference
#'
#' Integers wrap; booleans count as `i32`, as in R.
#'
#' @param lhs,rhs Tensors or traced values of integers, floats and complex numbers. R numbers, logicals and
#'   arrays are accepted too.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one operand a
#'   single number, or 1-d and as long as the first axes of the other, see [nv_broadcast_to()].
#' @return A tensor of the common dtype and of the shape with the most axes; ambiguous if both operands are,
#'   once promoted.
#' @section Properties:
#' * Dtypes: Integers (`i8` to `i64`, `ui8` to `ui64`), floats (`bf16`, `f16`, `f32`, `f64`) and complex
#'   numbers (`c64`, `c128`); booleans count as `i32`.
#' * Accuracy: Floats are correctly rounded (0.5 ulp). So are the parts of complex numbers.
#' * Derivative: `1` with respect to `lhs`; `-1` with respect to `rhs`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than integers, floats and complex numbers.
#' `anvil_error_shape` with both shapes if they do not meet so.
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
#' @param lhs,rhs Tensors or traced values of any dtype. R numbers, logicals and arrays are accepted too.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one operand a
#'   single number, or 1-d and as long as the first axes of the other, see [nv_broadcast_to()].
#' @return A tensor of the common dtype and of the shape with the most axes; ambiguous if both operands are,
#'   once promoted.
#' @section Properties:
#' * Dtypes: Any dtype.
#' * Accuracy: Floats are correctly rounded (0.5 ulp). No bound is stated for complex numbers.
#' * Derivative: `rhs` with respect to `lhs`; `lhs` with respect to `rhs`.
#' @section Errors:
#' `anvil_error_shape` with both shapes if they do not meet so.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `x * y` is the same on tensors.
#' @examples
#' nv_mul(nv_tensor(c(1, 2)), nv_tensor(c(3, 4)))
#' @export
nv_mul <- function(lhs, rhs) .External(anvil_op, "mul", lhs, rhs)

#' Product that is 0 wherever the second operand is 0
#'
#' Also where the first one is infinite or NaN: so an expression such as `x * log(x)` can be 0 at 0.
#' Elsewhere it is the product, with the sign that the product has.
#'
#' @param lhs,rhs Tensors or traced values of floats and complex numbers; integers and booleans are promoted
#'   to an ambiguous `f32`. R numbers, logicals and arrays are accepted too.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one operand a
#'   single number, or 1-d and as long as the first axes of the other, see [nv_broadcast_to()].
#' @return A tensor of the common dtype and of the shape with the most axes; ambiguous if both operands are,
#'   once promoted.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`) and complex numbers (`c64`, `c128`); integers and booleans
#'   are promoted to an ambiguous `f32`.
#' * Accuracy: Floats are correctly rounded (0.5 ulp). No bound is stated for complex numbers.
#' * Derivative: `rhs` with respect to `lhs`; `lhs` with respect to `rhs`.
#' @section Errors:
#' `anvil_error_shape` with both shapes if they do not meet so.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_mul_no_nan(nv_tensor(c(-Inf, 2)), nv_tensor(c(0, 3)))
#' @export
nv_mul_no_nan <- function(lhs, rhs) .External(anvil_op, "mul_no_nan", lhs, rhs)

#' Quotient, of integers the whole one
#'
#' Of integers it is truncated toward zero; `\%/\%` rounds down, and `x / y` is the quotient of floats.
#' Where the divisor is 0, it is -1 for signed integers, and the largest value for unsigned ones; the
#' smallest signed integer divided by -1 is itself. Quotients of complex numbers neither overflow nor
#' underflow on the way.
#'
#' @param lhs,rhs Tensors or traced values of integers, floats and complex numbers. R numbers, logicals and
#'   arrays are accepted too.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one operand a
#'   single number, or 1-d and as long as the first axes of the other, see [nv_broadcast_to()].
#' @return A tensor of the common dtype and of the shape with the most axes; ambiguous if both operands are,
#'   once promoted.
#' @section Properties:
#' * Dtypes: Integers (`i8` to `i64`, `ui8` to `ui64`), floats (`bf16`, `f16`, `f32`, `f64`) and complex
#'   numbers (`c64`, `c128`).
#' * Accuracy: Floats are correctly rounded (0.5 ulp). No bound is stated for complex numbers.
#' * Derivative: `1 / rhs` with respect to `lhs`; `-(lhs / rhs) / rhs` with respect to `rhs`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than integers, floats and complex numbers.
#' `anvil_error_shape` with both shapes if they do not meet so.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_div(nv_tensor(c(-7L, 7L)), nv_tensor(c(2L, 2L)))
#' @export
nv_div <- function(lhs, rhs) .External(anvil_op, "div", lhs, rhs)

#' Power, `lhs` to the `rhs`
#'
#' `x^0` is 1 for every `x`. Integers wrap; a negative exponent gives 0, except for the bases 1 and -1.
#' Of complex numbers the principal value.
#'
#' @param lhs,rhs Tensors or traced values of integers, floats and complex numbers. R numbers, logicals and
#'   arrays are accepted too.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one operand a
#'   single number, or 1-d and as long as the first axes of the other, see [nv_broadcast_to()].
#' @return A tensor of the common dtype and of the shape with the most axes; ambiguous if both operands are,
#'   once promoted.
#' @section Properties:
#' * Dtypes: Integers (`i8` to `i64`, `ui8` to `ui64`), floats (`bf16`, `f16`, `f32`, `f64`) and complex
#'   numbers (`c64`, `c128`).
#' * Accuracy: The error is at most 1 ulp (unit in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once. The exponents -4 to -1, 2 to 8, and -1.5, -0.5, 0.5, 1.5 and 2.5 are
#'   products of the base, of its reciprocal and of its root, whether the exponent is a number or a tensor:
#'   the bound is `n - 1.5` ulps for a whole `n`, `2 * n - 1.5` for a whole `-n`, and 3 for the others. No
#'   bound is stated for complex numbers.
#' * Derivative: `lhs^ifelse(nv_and(lhs == 0, rhs == 0), 0, rhs - 1) * rhs` with respect to `lhs`;
#'   `log(ifelse(lhs == 0, 1, lhs)) * lhs^rhs` with respect to `rhs`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than integers, floats and complex numbers.
#' `anvil_error_shape` with both shapes if they do not meet so.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `x ^ y` is the same on tensors.
#' @examples
#' nv_pow(nv_tensor(c(2, 3)), nv_tensor(c(3, 0.5)))
#' @export
nv_pow <- function(lhs, rhs) .External(anvil_op, "pow", lhs, rhs)

#' Remainder with the sign of the dividend, C's `fmod()`
#'
#' The remainder of `x` and 0 is NaN for floats and `x` for integers. [nv_mod()] has the sign of the divisor.
#'
#' @param lhs,rhs Tensors or traced values of integers and floats. R numbers, logicals and arrays are accepted
#'   too.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one operand a
#'   single number, or 1-d and as long as the first axes of the other, see [nv_broadcast_to()].
#' @return A tensor of the common dtype and of the shape with the most axes; ambiguous if both operands are,
#'   once promoted.
#' @section Properties:
#' * Dtypes: Integers (`i8` to `i64`, `ui8` to `ui64`) and floats (`bf16`, `f16`, `f32`, `f64`).
#' * Accuracy: Results are exact.
#' * Derivative: `1` with respect to `lhs`; `-trunc(lhs / rhs)` with respect to `rhs`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than integers and floats.
#' `anvil_error_shape` with both shapes if they do not meet so.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_remainder(nv_tensor(c(-7, 7)), nv_tensor(c(3, -3)))
#' @export
nv_remainder <- function(lhs, rhs) .External(anvil_op, "remainder", lhs, rhs)

#' Remainder with the sign of the divisor, R's `%%`
#'
#' `x \%\% 0` is NaN for floats and `x` for integers. [nv_remainder()] has the sign of the dividend.
#'
#' @param lhs,rhs Tensors or traced values of integers and floats. R numbers, logicals and arrays are accepted
#'   too.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one operand a
#'   single number, or 1-d and as long as the first axes of the other, see [nv_broadcast_to()].
#' @return A tensor of the common dtype and of the shape with the most axes; ambiguous if both operands are,
#'   once promoted.
#' @section Properties:
#' * Dtypes: Integers (`i8` to `i64`, `ui8` to `ui64`) and floats (`bf16`, `f16`, `f32`, `f64`).
#' * Accuracy: Floats are correctly rounded (0.5 ulp).
#' * Derivative: `1` with respect to `lhs`; `-floor(lhs / rhs)` with respect to `rhs`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than integers and floats.
#' `anvil_error_shape` with both shapes if they do not meet so.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `x \%\% y` is the same on tensors.
#' @examples
#' nv_mod(nv_tensor(c(-7, 7)), nv_tensor(c(3, -3)))
#' @export
nv_mod <- function(lhs, rhs) .External(anvil_op, "mod", lhs, rhs)

#' Quotient rounded down, R's `%/%`
#'
#' Consistent with [nv_mod()]. A zero divisor gives what [nv_div()] gives: of integers -1, or the largest
#' value of an unsigned dtype. So does an infinite dividend: that is infinite, as in R, where NumPy and
#' PyTorch have NaN.
#'
#' @param lhs,rhs Tensors or traced values of integers and floats. R numbers, logicals and arrays are accepted
#'   too.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one operand a
#'   single number, or 1-d and as long as the first axes of the other, see [nv_broadcast_to()].
#' @return A tensor of the common dtype and of the shape with the most axes; ambiguous if both operands are,
#'   once promoted.
#' @section Properties:
#' * Dtypes: Integers (`i8` to `i64`, `ui8` to `ui64`) and floats (`bf16`, `f16`, `f32`, `f64`).
#' * Accuracy: Quotients of floats are exact up to `2^22` in `f32` and `2^51` in `f64`, larger ones are within
#'   2 ulps.
#' * Derivative: Zero everywhere.
#' @section Errors:
#' `anvil_error_dtype` for operands other than integers and floats.
#' `anvil_error_shape` with both shapes if they do not meet so.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `x \%/\% y` is the same on tensors.
#' @examples
#' nv_floor_div(nv_tensor(c(-7, 7)), nv_tensor(c(2, 2)))
#' @export
nv_floor_div <- function(lhs, rhs) .External(anvil_op, "floor_div", lhs, rhs)

#' Larger of two values, element by element
#'
#' NaN if either operand is; the larger of -0 and 0 is 0; for booleans the logical or.
#'
#' @param lhs,rhs Tensors or traced values of any dtype but complex. R numbers, logicals and arrays are
#'   accepted too.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one operand a
#'   single number, or 1-d and as long as the first axes of the other, see [nv_broadcast_to()].
#' @return A tensor of the common dtype and of the shape with the most axes; ambiguous if both operands are,
#'   once promoted.
#' @section Properties:
#' * Dtypes: Any dtype but complex numbers.
#' * Accuracy: Results are exact.
#' * Derivative: `ifelse(lhs > rhs, 1, ifelse(lhs == rhs, 0.5, 0))` with respect to `lhs`; `ifelse(rhs > lhs,
#'   1, ifelse(lhs == rhs, 0.5, 0))` with respect to `rhs`.
#' @section Errors:
#' `anvil_error_dtype` for complex operands.
#' `anvil_error_shape` with both shapes if they do not meet so.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_max(nv_tensor(c(1, 5)), nv_tensor(c(3, 4)))
#' @export
nv_max <- function(lhs, rhs) .External(anvil_op, "max", lhs, rhs)

#' Smaller of two values, element by element
#'
#' NaN if either operand is; the smaller of -0 and 0 is -0; for booleans the logical and.
#'
#' @param lhs,rhs Tensors or traced values of any dtype but complex. R numbers, logicals and arrays are
#'   accepted too.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one operand a
#'   single number, or 1-d and as long as the first axes of the other, see [nv_broadcast_to()].
#' @return A tensor of the common dtype and of the shape with the most axes; ambiguous if both operands are,
#'   once promoted.
#' @section Properties:
#' * Dtypes: Any dtype but complex numbers.
#' * Accuracy: Results are exact.
#' * Derivative: `ifelse(lhs < rhs, 1, ifelse(lhs == rhs, 0.5, 0))` with respect to `lhs`; `ifelse(rhs < lhs,
#'   1, ifelse(lhs == rhs, 0.5, 0))` with respect to `rhs`.
#' @section Errors:
#' `anvil_error_dtype` for complex operands.
#' `anvil_error_shape` with both shapes if they do not meet so.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_min(nv_tensor(c(1, 5)), nv_tensor(c(3, 4)))
#' @export
nv_min <- function(lhs, rhs) .External(anvil_op, "min", lhs, rhs)

#' Angle of the point (`rhs`, `lhs`) in radians: inverse tangent of `lhs / rhs` in its quadrant
#'
#' @param lhs,rhs Tensors or traced values of floats; integers and booleans are promoted to an ambiguous
#'   `f32`. R numbers, logicals and arrays are accepted too.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one operand a
#'   single number, or 1-d and as long as the first axes of the other, see [nv_broadcast_to()].
#' @return A tensor of the common dtype and of the shape with the most axes; ambiguous if both operands are,
#'   once promoted.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`); integers and booleans are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 2 ulps (units in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once.
#' * Derivative: `rhs / (rhs^2 + lhs^2)` with respect to `lhs`; `-lhs / (rhs^2 + lhs^2)` with respect to
#'   `rhs`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than floats, integers and booleans.
#' `anvil_error_shape` with both shapes if they do not meet so.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_atan2(nv_tensor(c(1, -1)), nv_tensor(c(1, -1)))
#' @export
nv_atan2 <- function(lhs, rhs) .External(anvil_op, "atan2", lhs, rhs)

#' Logical and of booleans, bitwise and of integers
#'
#' @param lhs,rhs Tensors or traced values of booleans and integers. R numbers, logicals and arrays are
#'   accepted too.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one operand a
#'   single number, or 1-d and as long as the first axes of the other, see [nv_broadcast_to()].
#' @return A tensor of the common dtype and of the shape with the most axes; ambiguous if both operands are,
#'   once promoted.
#' @section Properties:
#' * Dtypes: Booleans (`i1`) and integers (`i8` to `i64`, `ui8` to `ui64`).
#' * Derivative: None: integers and booleans have no gradient.
#' @section Errors:
#' `anvil_error_dtype` for operands other than booleans and integers.
#' `anvil_error_shape` with both shapes if they do not meet so.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `x & y` is the same on tensors.
#' @examples
#' nv_and(nv_tensor(c(TRUE, TRUE)), nv_tensor(c(TRUE, FALSE)))
#' @export
nv_and <- function(lhs, rhs) .External(anvil_op, "and", lhs, rhs)

#' Logical or of booleans, bitwise or of integers
#'
#' @param lhs,rhs Tensors or traced values of booleans and integers. R numbers, logicals and arrays are
#'   accepted too.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one operand a
#'   single number, or 1-d and as long as the first axes of the other, see [nv_broadcast_to()].
#' @return A tensor of the common dtype and of the shape with the most axes; ambiguous if both operands are,
#'   once promoted.
#' @section Properties:
#' * Dtypes: Booleans (`i1`) and integers (`i8` to `i64`, `ui8` to `ui64`).
#' * Derivative: None: integers and booleans have no gradient.
#' @section Errors:
#' `anvil_error_dtype` for operands other than booleans and integers.
#' `anvil_error_shape` with both shapes if they do not meet so.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @details `x | y` is the same on tensors.
#' @examples
#' nv_or(nv_tensor(c(TRUE, FALSE)), nv_tensor(c(FALSE, FALSE)))
#' @export
nv_or <- function(lhs, rhs) .External(anvil_op, "or", lhs, rhs)

#' Exclusive or: logical of booleans, bitwise of integers
#'
#' @param lhs,rhs Tensors or traced values of booleans and integers. R numbers, logicals and arrays are
#'   accepted too.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one operand a
#'   single number, or 1-d and as long as the first axes of the other, see [nv_broadcast_to()].
#' @return A tensor of the common dtype and of the shape with the most axes; ambiguous if both operands are,
#'   once promoted.
#' @section Properties:
#' * Dtypes: Booleans (`i1`) and integers (`i8` to `i64`, `ui8` to `ui64`).
#' * Derivative: None: integers and booleans have no gradient.
#' @section Errors:
#' `anvil_error_dtype` for operands other than booleans and integers.
#' `anvil_error_shape` with both shapes if they do not meet so.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_xor(nv_tensor(c(TRUE, TRUE)), nv_tensor(c(TRUE, FALSE)))
#' @export
nv_xor <- function(lhs, rhs) .External(anvil_op, "xor", lhs, rhs)

#' Bits shifted toward the high end
#'
#' 0 if the amount is negative, or the width of the dtype or more.
#'
#' @param lhs,rhs Tensors or traced values of integers. R numbers, logicals and arrays are accepted too.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one operand a
#'   single number, or 1-d and as long as the first axes of the other, see [nv_broadcast_to()].
#' @return A tensor of the common dtype and of the shape with the most axes; ambiguous if both operands are,
#'   once promoted.
#' @section Properties:
#' * Dtypes: Integers (`i8` to `i64`, `ui8` to `ui64`).
#' * Derivative: None: integers and booleans have no gradient.
#' @section Errors:
#' `anvil_error_dtype` for operands other than integers.
#' `anvil_error_shape` with both shapes if they do not meet so.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_shift_left(nv_tensor(c(1L, 3L)), nv_tensor(c(2L, 1L)))
#' @export
nv_shift_left <- function(lhs, rhs) .External(anvil_op, "shift_left", lhs, rhs)

#' Bits shifted toward the low end; zeros enter
#'
#' 0 if the amount is negative, or the width of the dtype or more.
#'
#' @param lhs,rhs Tensors or traced values of integers. R numbers, logicals and arrays are accepted too.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one operand a
#'   single number, or 1-d and as long as the first axes of the other, see [nv_broadcast_to()].
#' @return A tensor of the common dtype and of the shape with the most axes; ambiguous if both operands are,
#'   once promoted.
#' @section Properties:
#' * Dtypes: Integers (`i8` to `i64`, `ui8` to `ui64`).
#' * Derivative: None: integers and booleans have no gradient.
#' @section Errors:
#' `anvil_error_dtype` for operands other than integers.
#' `anvil_error_shape` with both shapes if they do not meet so.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_shift_right_logical(nv_tensor(c(8L, -8L)), nv_tensor(c(1L, 1L)))
#' @export
nv_shift_right_logical <- function(lhs, rhs) .External(anvil_op, "shift_right_logical", lhs, rhs)

#' Bits shifted toward the low end; copies of the sign bit enter
#'
#' 0 or -1, by the sign, if the amount is negative, or the width of the dtype or more.
#'
#' @param lhs,rhs Tensors or traced values of integers. R numbers, logicals and arrays are accepted too.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one operand a
#'   single number, or 1-d and as long as the first axes of the other, see [nv_broadcast_to()].
#' @return A tensor of the common dtype and of the shape with the most axes; ambiguous if both operands are,
#'   once promoted.
#' @section Properties:
#' * Dtypes: Integers (`i8` to `i64`, `ui8` to `ui64`).
#' * Derivative: None: integers and booleans have no gradient.
#' @section Errors:
#' `anvil_error_dtype` for operands other than integers.
#' `anvil_error_shape` with both shapes if they do not meet so.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_shift_right_arithmetic(nv_tensor(c(8L, -8L)), nv_tensor(c(1L, 1L)))
#' @export
nv_shift_right_arithmetic <- function(lhs, rhs) .External(anvil_op, "shift_right_arithmetic", lhs, rhs)

#' Derivative of order `n` of [nv_digamma()]
#'
#' `n` is a whole number, at least 0, in a float dtype; anything else gives NaN. Order 1 is `trigamma()`.
#'
#' @param n,x Tensors or traced values of floats; integers and booleans are promoted to an ambiguous `f32`. R
#'   numbers, logicals and arrays are accepted too.
#'   They are promoted to their common dtype, see [common_dtype()]; shapes must be equal, or one operand a
#'   single number, or 1-d and as long as the first axes of the other, see [nv_broadcast_to()].
#' @return A tensor of the common dtype and of the shape with the most axes; ambiguous if both operands are,
#'   once promoted.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`); integers and booleans are promoted to an ambiguous `f32`.
#' * Accuracy: The error is at most 8 ulps (units in the last place) in `f32` and `f64`; `bf16` and `f16` are
#'   computed in `f32` and rounded once. For even `n` and negative `x`, where digits cancel near the zeros,
#'   the bound is that many ulps of the term of the nearest pole.
#' * Derivative: None with respect to `n`, since it is not known how the result changes with `n`;
#'   `nv_polygamma(n + 1, x)` with respect to `x`.
#' @section Errors:
#' `anvil_error_dtype` for operands other than floats, integers and booleans.
#' `anvil_error_shape` with both shapes if they do not meet so.
#' `anvil_error_arg` for anything that is neither tensor, number nor array.
#' @examples
#' nv_polygamma(nv_tensor(c(1, 2)), nv_tensor(c(0.5, 3)))
#' @export
nv_polygamma <- function(n, x) .External(anvil_op, "polygamma", n, x)
