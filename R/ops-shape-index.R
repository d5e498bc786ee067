# Functions of positions along an axis.

#' Take and put
#'
#' `nv_take()` gives the elements at positions along an axis, `nv_put()` a tensor with others in their place.
#' Positions may have any shape, and may be computed by the program. [nv_subset()] takes several axes at once,
#' and R's subscripts.
#'
#' A position out of range is an error when the program has run, unless `mode` chooses otherwise, see
#' [nv_subset()]. Negative positions are out of range.
#'
#' @param operand A tensor, a traced value, or an R number, logical or array.
#' @param indices Positions, from 1: a tensor of integers, or whole numbers.
#' @param axis The axis, from 1; negative numbers count from the end. `NULL` is that of all elements as a
#'   vector, in column-major order.
#' @param value What is put there: 0-d, or of the shape of `nv_take(operand, indices, axis)`, and of a dtype
#'   that is promotable to `operand`'s.
#' @param mode What becomes of positions that are out of range: `"error"`; `"clip"`, the nearest is used;
#'   `"drop"`, nothing is written, and what is read is NaN, the smallest integer of a signed and the largest
#'   of an unsigned dtype, or `TRUE`.
#' @param update_computation What becomes of an element and its new value: `"replace"`, the value; or `"add"`,
#'   `"mul"`, `"min"` or `"max"` of both. With `"replace"`, of several values for one position the last is
#'   kept.
#' @return `nv_take()`: a tensor with the axes of `indices` in the place of the axis. `nv_put()`: one of
#'   `operand`'s shape. Both of `operand`'s dtype and ambiguity; numbers of R yield to the known dtype of a
#'   value.
#' @section Errors: `anvil_error_index` for a position out of range, with the `value`, the `axis` and its
#'   `size`; `anvil_error_dtype` for positions that are no integers, and a value of a dtype above the
#'   operand's; `anvil_error_shape` for a value of another shape; `anvil_error_axis` for an axis out of range.
#' @seealso [nv_gather()], of which these are cases.
#' @examples
#' x <- nv_tensor(matrix(1:6, 2))
#' nv_take(x, c(3, 1), axis = 2)
#' nv_take(x, c(6, 1))
#' nv_take(nv_tensor(c(10, 20, 30)), nv_tensor(matrix(c(1L, 3L, 2L, 1L), 2)))
#' nv_put(x, c(3, 1), 0L, axis = 2)
#' nv_put(nv_fill(0, 3), c(1, 3, 3), 1, update_computation = "add")
#' @export
nv_take <- function(operand, indices, axis = NULL, mode = "error") {
  .External(anvil_op, "take", operand, as_operand(as_index(indices)), axis = axis, mode = mode)
}

#' @rdname nv_take
#' @export
nv_put <- function(operand, indices, value, axis = NULL, mode = "error", update_computation = "replace") {
  value <- as_update(value)
  # Numbers of R yield to a known dtype, as in `x[i] <- value`.
  if (is_operand(operand) && inherits(value, "AnvilValue")) {
    operand <- yielding(if (inherits(operand, "AnvilValue")) operand else value_of(operand), value)
  }
  .External(
    anvil_op, "put", operand, as_operand(as_index(indices)), value, axis = axis, mode = mode,
    update_computation = update_computation
  )
}

#' One-hot encoding
#'
#' For each position a vector that is 1 there, and 0 elsewhere.
#'
#' @param operand Positions, from 1: a tensor of integers, or whole numbers. For others than `1:num_classes`
#'   the vector is 0 everywhere.
#' @param num_classes The length of the vectors.
#' @param axis The axis of the vectors, as numbered in the result, from 1 or negative from the end.
#' @param dtype A dtype: its name, or a dtype object; `NULL` is the default float, see [default_dtypes()].
#' @param ambiguous Whether the result is ambiguous, see [common_dtype()].
#' @return A tensor with one axis more than `operand`.
#' @section Errors: `anvil_error_dtype` for positions that are no integers, `anvil_error_axis` for an axis out
#'   of range, `anvil_error_arg` unless `num_classes` is a whole number.
#' @examples
#' nv_one_hot(c(1, 3), 3)
#' nv_one_hot(nv_tensor(2:1), 2, axis = 1, dtype = "i1")
#' @export
nv_one_hot <- function(operand, num_classes, axis = -1L, dtype = NULL, ambiguous = FALSE) {
  dtype <- .Call(anvil_dtype_name, dtype %||% default_float())
  .External(
    anvil_op, "one_hot", as_operand(as_index(operand)), num_classes = num_classes, axis = axis, dtype = dtype,
    ambiguous = ambiguous
  )
}
