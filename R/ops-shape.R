# Functions that arrange elements along axes.

#' Axes of size 1
#'
#' `nv_squeeze()` leaves out axes of size 1, `nv_unsqueeze()` adds some.
#'
#' @param operand A tensor, a traced value, or an R number, logical or array.
#' @param axes For `nv_squeeze()` the axes to leave out, from 1; `NULL` is all of size 1. For `nv_unsqueeze()`
#'   the new axes, as numbered in the result. Negative numbers count from the end, so that
#'   `nv_unsqueeze(x, -1)` adds a last axis.
#' @return A tensor of the same elements, dtype and ambiguity.
#' @section Errors: `anvil_error_axis` for axes out of range or given twice, `anvil_error_arg` for an axis of
#'   another size than 1.
#' @seealso [nv_reshape()], [nv_flatten()]
#' @examples
#' x <- nv_tensor(1:3)
#' shape(nv_unsqueeze(x, 1))
#' shape(nv_unsqueeze(x, c(1, -1)))
#' shape(nv_squeeze(nv_fill(0, c(1, 3, 1))))
#' shape(nv_squeeze(nv_fill(0, c(1, 3, 1)), -1))
#' @export
nv_squeeze <- function(operand, axes = NULL) .External(anvil_op, "squeeze", operand, axes = axes)

#' @rdname nv_squeeze
#' @export
nv_unsqueeze <- function(operand, axes) .External(anvil_op, "unsqueeze", operand, axes = axes)

#' Stack and split
#'
#' `nv_stack()` joins values of one shape along a new axis; [nv_concatenate()] joins them along one that they
#' have. `nv_split()` cuts a value into parts along an axis.
#'
#' @param ... Tensors, traced values, or R numbers, logicals or arrays, of one shape; at least one, or one
#'   list of these. They are promoted to their common dtype. 0-d values next to others are repeated.
#' @param axis For `nv_stack()` the new axis, as numbered in the result; for `nv_split()` the axis that is
#'   cut. From 1; negative numbers count from the end.
#' @param operand A tensor, a traced value, or an R array.
#' @param sections The number of parts, which are equally large: a divisor of the size.
#' @param sizes The sizes of the parts, whose sum is the size of the axis; in place of `sections`.
#' @return `nv_stack()`: a tensor with one axis more. `nv_split()`: a list of tensors.
#' @section Errors: `anvil_error_shape` with both shapes if they differ, `anvil_error_axis` for an axis out of
#'   range, `anvil_error_arg` for parts that do not make the whole.
#' @examples
#' nv_stack(nv_tensor(1:3), nv_tensor(4:6))
#' nv_stack(nv_tensor(1:3), 0L, axis = -1)
#' nv_stack(lapply(1:3, function(i) nv_tensor(1:2) * i))
#' x <- nv_tensor(matrix(1:12, 2))
#' nv_split(x, 3, axis = 2)
#' nv_split(x, sizes = c(1, 5), axis = 2)
#' @export
nv_stack <- function(..., axis = 1L) {
  check_dots(..., .values = TRUE)
  .External(anvil_op, "stack", operands = listed(...), axis = axis)
}

#' @rdname nv_stack
#' @export
nv_split <- function(operand, sections = NULL, axis = 1L, sizes = NULL) {
  .External(anvil_ops, "split", operand, axis = axis, sections = sections, sizes = sizes)
}

#' Repeat and roll
#'
#' `nv_tile()` repeats the whole along each axis, as `rep(x, times = )` does for a vector; `nv_repeat()`
#' repeats each element along one, as `rep(x, each = )` does, or each as often as given. `nv_roll()` moves
#' elements along axes, and puts those that are moved beyond the end at the start.
#'
#' [rep()] of a tensor gives a vector, as it does of an array.
#'
#' @param operand A tensor, a traced value, or an R number, logical or array.
#' @param times How often: for `nv_tile()` one whole number for each axis; for `nv_repeat()` one, or one for
#'   each element along the axis.
#' @param axis The axis, from 1; negative numbers count from the end. `NULL` is that of all elements as a
#'   vector, in column-major order.
#' @param shift By how many positions, towards the end; toward the start if negative. One whole number, or one
#'   for each axis.
#' @param axes The axes along which elements are moved, from 1 or negative from the end; `NULL` moves all as a
#'   vector, in column-major order, and keeps the shape.
#' @return A tensor of `operand`'s dtype and ambiguity.
#' @section Errors: `anvil_error_arg` unless there are as many numbers as needed, each whole, and for `times`
#'   at least 0; `anvil_error_axis` for axes out of range or given twice.
#' @examples
#' x <- nv_tensor(matrix(1:4, 2))
#' nv_tile(x, c(1, 2))
#' nv_repeat(x, 2, axis = 1)
#' nv_repeat(nv_tensor(1:3), c(0, 2, 1))
#' nv_roll(nv_tensor(1:5), 2)
#' nv_roll(x, 1, axes = 2)
#' @export
nv_tile <- function(operand, times) .External(anvil_op, "tile", operand, times = times)

#' @rdname nv_tile
#' @export
nv_repeat <- function(operand, times, axis = NULL) {
  if (is.null(axis)) {
    operand <- nv_flatten(operand)
    axis <- 1L
  }
  if (length(times) == 1L) return(.External(anvil_op, "repeat", operand, axis = axis, times = times))
  axis <- axis_number(axis, operand)
  size <- shape(operand)[axis]
  if (!is_numeric(times) || length(times) != size || !all(is.finite(times) & times >= 0 & times %% 1 == 0)) {
    abort_arg(
      "times", paste0("one whole number, at least 0, or one for each of ", size, " elements"), describe(times)
    )
  }
  nv_take(operand, array(rep(seq_len(size), times)), axis)
}

#' @rdname nv_tile
#' @export
nv_roll <- function(operand, shift, axes = NULL) {
  .External(anvil_op, "roll", operand, shift = shift, axes = axes)
}

#' Evenly spaced numbers, and grids
#'
#' `nv_linspace()` has so many numbers from `start` to `end`, both of which are exact and may be computed by
#' the program. `nv_meshgrid()` gives the coordinates of a grid: each vector along its own axis, repeated
#' along the others.
#'
#' @param start,end First and last number: R numbers or tensors; of tensors, a row of numbers is made for each
#'   element, along a new last axis.
#' @param steps How many numbers.
#' @param endpoint Whether `end` is the last number, or that which would follow.
#' @param dtype A dtype of floats or complex numbers: its name, or a dtype object. `NULL` is the common dtype
#'   of `start` and `end`, `f32` for integers and R numbers.
#' @param ambiguous Whether the result is ambiguous, see [common_dtype()].
#' @param ... Vectors: 1-d tensors, traced values, or R vectors and numbers.
#' @param indexing The order of axes: `"ij"`, that of the vectors, as in [expand.grid()]; or `"xy"`, with the
#'   first two exchanged, so that the first vector goes along the columns, as NumPy and JAX do by default.
#' @return `nv_linspace()`: a tensor. `nv_meshgrid()`: a list of tensors of one shape, each of its vector's
#'   dtype.
#' @section Errors: `anvil_error_arg` for `steps` that are no whole number and for other dtypes,
#'   `anvil_error_shape` for what is no vector.
#' @seealso [nv_seq()] for whole numbers
#' @examples
#' nv_linspace(0, 1, 5)
#' nv_linspace(0, 1, 4, endpoint = FALSE)
#' jit(function(to) nv_linspace(0, to, 3))(nv_tensor(c(1, 2)))
#' grid <- nv_meshgrid(1:3, c(10, 20))
#' grid[[1]] + grid[[2]]
#' @export
nv_linspace <- function(start, end, steps, endpoint = TRUE, dtype = NULL, ambiguous = FALSE) {
  if (!is.null(dtype)) dtype <- .Call(anvil_dtype_name, dtype)
  .External(
    anvil_op, "linspace", start, end, steps = steps, endpoint = endpoint, dtype = dtype, ambiguous = ambiguous
  )
}

#' @rdname nv_linspace
#' @export
nv_meshgrid <- function(..., indexing = "ij") {
  check_dots(..., .values = TRUE)
  .External(anvil_ops, "meshgrid", operands = lapply(list(...), as_operand), indexing = indexing)
}
