#' Choose elements by a condition
#'
#' `true_value` where `pred` is true, `false_value` elsewhere. Both are computed; one is chosen.
#'
#' @param pred A boolean tensor or traced value, or an R logical or array.
#' @param true_value,false_value Tensors, traced values, or R numbers, logicals or arrays. They are promoted
#'   to their common dtype.
#' @return A tensor of the common dtype, ambiguous if both values are, and of the shape with the most axes:
#'   shapes must be equal, or single numbers, or 1-d and as long as the first axes of that, see
#'   [nv_broadcast_to()].
#' @section Properties:
#' * Dtypes: `true_value` and `false_value`: any dtype; `pred`: booleans.
#' * Accuracy: Results are exact.
#' * Derivative: Differentiable, linear in `true_value` and `false_value` together.
#' @section Errors: `anvil_error_dtype` for a condition that is not boolean, `anvil_error_shape` with both
#' shapes if they do not meet so.
#' @examples
#' x <- nv_tensor(c(-1, 0, 2))
#' nv_ifelse(x > 0, x, 0)
#' @export
nv_ifelse <- function(pred, true_value, false_value) {
  .External(anvil_op, "select", pred, true_value, false_value)
}

#' Keep elements within bounds
#'
#' `min(max(operand, min_val), max_val)`. NaN stays NaN; where the lower bound is above the upper, the upper
#' wins.
#'
#' @param min_val,max_val The bounds: tensors, traced values, or R numbers, logicals or arrays. They are
#'   converted to the dtype of `operand`.
#' @param operand A tensor, a traced value, or an R number, logical or array.
#' @return A tensor of `operand`'s dtype and ambiguity, and of the shape with the most axes: shapes must be
#'   equal, or single numbers, or 1-d and as long as the first axes of that, see [nv_broadcast_to()].
#' @section Properties:
#' * Dtypes: Any dtype but complex numbers; `min_val` and `max_val` are converted to the dtype of `operand`.
#' * Accuracy: Results are exact.
#' * Derivative: Differentiable with respect to `min_val`, `operand` and `max_val`.
#' @section Errors:
#' `anvil_error_shape` with both shapes if they do not meet so.
#' @examples
#' nv_clamp(0, nv_tensor(c(-1, 0.5, 2)), 1)
#' @export
nv_clamp <- function(min_val, operand, max_val) .External(anvil_op, "clamp", min_val, operand, max_val)

#' Round to whole numbers
#'
#' @param operand A tensor, a traced value, or an R number, logical or array. Integers stay as they are.
#' @param method Where ties go: `"nearest_even"`, to the even neighbour, as R and IEEE 754 do; or `"afz"`,
#'   away from zero.
#' @return A tensor of `operand`'s shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Integers (`i8` to `i64`, `ui8` to `ui64`) and floats (`bf16`, `f16`, `f32`, `f64`).
#' * Accuracy: Results are exact.
#' * Derivative: Zero everywhere.
#' @section Errors:
#' `anvil_error_arg` for another method, `anvil_error_dtype` for booleans.
#' @seealso [nv_floor()], [nv_ceiling()], [nv_trunc()]; `round(x, digits)` rounds to decimals.
#' @examples
#' nv_round(nv_tensor(c(0.5, 1.5, -2.5)))
#' nv_round(nv_tensor(c(0.5, 1.5, -2.5)), "afz")
#' @export
nv_round <- function(operand, method = "nearest_even") {
  if (!identical(method, "nearest_even") && !identical(method, "afz")) {
    abort_arg("method", "\"nearest_even\" or \"afz\"", describe(method))
  }
  if (method == "afz") {
    .External(anvil_op, "round_nearest_afz", operand)
  } else {
    .External(anvil_op, "round_nearest_even", operand)
  }
}
