#' Promotion
#'
#' The dtype that operands of two dtypes are converted to before an op sees them: the least upper bound of
#' both in one lattice. Booleans are below integers, integers below floats, and floats below complex numbers.
#' Within a kind, a wider type is above a narrower one. Where neither of two types holds the other, the result
#' is the narrowest type of the kind that holds both: `i16` for `i8` and `ui8`, `f32` for `bf16` and `f16`,
#' `c128` for `f64` and `c64`. Nothing holds both `ui64` and a signed integer; they become `i64`.
#'
#' A type is *ambiguous* if it is only a default, as that of an R number is (JAX calls this weak). An
#' ambiguous type yields to a known one of the same or a later kind, whatever their widths. If it is of a
#' later kind itself, as a float next to known integers is, the result is the ambiguous type, and still
#' ambiguous.
#'
#' The type of an ambiguous float is only a name: it is computed and stored in double precision, as a number
#' of R, and is rounded once, where it meets a known dtype or is converted. So `exp(0.1) * x` has all digits
#' of an `f64` `x`. An ambiguous complex number is a `c128` likewise. An ambiguous integer has its default
#' width.
#'
#' @param lhs_dtype,rhs_dtype A dtype: its name, or a dtype object.
#' @param lhs_ambiguous,rhs_ambiguous Whether the type is ambiguous: `TRUE` or `FALSE`. A name with `?` is so
#'   anyway: `"f32?"`.
#' @param rules Name of the promotion rules, see [promotion_rules()]; `NULL` for those in force, see
#'   [with_promotion_rules()]. anvil's own are described here.
#' @return `common_dtype()` gives `list(dtype, ambiguous)`: a dtype object and a flag.
#' @section Errors: `anvil_error_dtype` for a string that names no dtype, `anvil_error_arg` for an argument of
#' another type or an unknown name of rules, `anvil_error_promotion` for a pair that the rules refuse, with
#' the fields `lhs`, `rhs` and `rules`. anvil's rules refuse none.
#' @seealso [promotion_table()] for all pairs, [with_promotion_rules()] for other rules, [explain_dtypes()]
#'   for the promotions in a function, `vignette("type-promotion", "anvil")`
#' @examples
#' common_dtype("f64", "f32")$dtype
#' common_dtype("i64", "f32")$dtype
#' common_dtype("f32", "f64", FALSE, TRUE)
#' common_dtype("f32", "f64?")
#' common_dtype("i64", "f32", rules = "torch")$dtype
#' @export
common_dtype <- function(lhs_dtype, rhs_dtype, lhs_ambiguous = FALSE, rhs_ambiguous = FALSE, rules = NULL) {
  common <- .Call(anvil_common_dtype, lhs_dtype, rhs_dtype, lhs_ambiguous, rhs_ambiguous, rules)
  list(dtype = dtype_objects[[common[[1L]]]], ambiguous = common[[2L]])
}

#' Promote values to their common dtype
#'
#' Every op of several operands does this by itself.
#'
#' @param ... Tensors, traced values, or R numbers, logicals or arrays; at least one. An R number is converted
#'   once, to the dtype it is promoted to: `0.1` next to an `f64` is exactly `0.1`.
#' @return A list of the values, in order, with the shapes they had and the dtype that [common_dtype()] gives.
#' @section Errors:
#' `anvil_error_arg` without arguments, or for one of another type.
#' @examples
#' nv_promote_to_common(nv_tensor(1:3, dtype = "i8"), nv_tensor(c(1, 2, 3)), 0.5)
#' @export
nv_promote_to_common <- function(...) {
  check_dots(..., .values = TRUE)
  .External(anvil_ops, "promote", operands = list(...))
}

#' Convert to another dtype
#'
#' `nv_convert()` keeps the value as far as the dtype can hold it, `nv_bitcast_convert()` keeps the bits.
#'
#' Values: float to integer drops the fraction, saturates at the range of the dtype, and turns NaN into 0;
#' integer to narrower integer wraps; anything but 0 (NaN too) is `TRUE`; numbers round to the nearest float,
#' ties to even, beyond its range to an infinity; real numbers become complex with an imaginary part of 0.
#' Complex numbers do not become real: [nv_real()], [nv_imag()] and [nv_abs()] say which real number is meant.
#' `NA` of R is no number in any dtype, and an error for those without NaN; to import R data with all checks,
#' use [nv_tensor()]. In a tensor `NA` is a NaN.
#'
#' An ambiguous float or complex number is of double precision whatever its `dtype`, see [common_dtype()]: a
#' conversion to one keeps all digits, and one from it rounds once. Its bits are those of the dtype that it
#' shows, to which it is rounded first.
#'
#' Bits: a dtype of the same width keeps the shape; a narrower one adds a last axis of the ratio of the
#' widths, low bits first; a wider one takes a last axis of that size away. Booleans convert only to
#' booleans. The real part of a complex number comes before the imaginary one.
#'
#' @param operand A tensor, a traced value, or an R number, logical or array.
#' @param dtype A dtype: its name, or a dtype object.
#' @param ambiguous Whether the result is ambiguous.
#' @return `nv_convert()`: a tensor of the same shape and of dtype `dtype`, known unless `ambiguous`.
#'   `nv_bitcast_convert()`: a known tensor of dtype `dtype`, see above for its shape.
#' @section Properties:
#' * Dtypes: Any dtype.
#' * Accuracy:
#'     * `nv_convert()`: Floats are correctly rounded (0.5 ulp).
#'     * `nv_bitcast_convert()`: Results are exact.
#' * Derivative:
#'     * `nv_convert()`: Differentiable, linear in `operand`.
#'     * `nv_bitcast_convert()`: Zero everywhere.
#' @section Errors: `anvil_error_dtype` for an unknown dtype, complex numbers and a dtype that is not, or bits
#' that cannot be read as the dtype; `anvil_error_value` for `NA` of R and a dtype without NaN;
#' `anvil_error_arg` for an argument of another type.
#' @references StableHLO specification, `convert` and `bitcast_convert`; conversions to integers as XLA
#'   defines them.
#' @examples
#' nv_convert(nv_tensor(c(-1.5, 2.9, 300)), "ui8")
#' nv_bitcast_convert(nv_scalar(1, dtype = "f32"), "ui32")
#' @export
nv_convert <- function(operand, dtype, ambiguous = FALSE) {
  dtype <- .Call(anvil_dtype_name, dtype)
  if (!is_own_object(operand) && is.double(operand) && anyNA(operand)) check_no_missing(operand, dtype)
  .External(anvil_op, "convert", operand, dtype = dtype, ambiguous = ambiguous)
}

# R's NA is no number: that of doubles would become 0 or TRUE in a dtype that has no NaN.
check_no_missing <- function(operand, dtype) {
  count <- sum(is.na(operand) & !is.nan(operand))
  if (count == 0L || grepl("^(b?f|c)[0-9]", dtype)) return()
  abort(
    "anvil_error_value",
    paste0(
      "`operand` holds ", count, " missing value", if (count != 1L) "s", ", which ", dtype,
      " cannot represent.\ni Replace ", if (count == 1L) "it" else "them", " first, or convert to a float."
    ),
    arg = "operand", dtype = dtype, count = count
  )
}

#' @rdname nv_convert
#' @export
nv_bitcast_convert <- function(operand, dtype) {
  .External(anvil_op, "bitcast_convert", operand, dtype = .Call(anvil_dtype_name, dtype))
}
