#' Slices
#'
#' `nv_static_slice()` takes elements from a first to a last position along each axis.
#' `nv_dynamic_slice()` takes a window whose start is a tensor,
#' `nv_dynamic_update_slice()` replaces such a window. [nv_subset()] is the easier way to most of these.
#'
#' A window that exceeds the bounds is an error when the program has run, unless `mode` chooses otherwise. See
#' [nv_subset()] for what is checked, and for export to StableHLO, where `"error"` means `"clip"`.
#'
#' @param operand A tensor, a traced value, or an R number, logical or array.
#' @param start_indices,limit_indices First and last position along each axis, from 1. A last position
#'   that is 1 less than the first takes nothing.
#' @param strides Distance between positions along each axis, at least 1. `NULL` is 1 everywhere.
#' @param ... The first position along each axis, from 1: 0-d tensors of integers, or whole numbers.
#' @param slice_sizes Sizes of the window.
#' @param mode What becomes of a window that exceeds the bounds: `"error"`; `"clip"`, it is moved so that it
#'   fits; `"drop"`, nothing is written, and what is read is NaN, the smallest integer of a signed and the
#'   largest of an unsigned dtype, or `TRUE`.
#' @param update The new elements of the window, with as many axes as `operand`, and of a dtype that is
#'   promotable to its dtype.
#' @return A tensor of `operand`'s dtype and ambiguity; its shape is that of the slice, and for
#'   `nv_dynamic_update_slice()` that of `operand`.
#' @section Properties:
#' * Dtypes:
#'     * `nv_static_slice()`: Any dtype.
#'     * `nv_dynamic_slice()`: `operand`: any dtype; `...`: integers.
#'     * `nv_dynamic_update_slice()`: `operand`: any dtype; `update` is converted to the dtype of `operand`;
#'       `...`: integers.
#' * Accuracy: Results are exact.
#' * Derivative:
#'     * `nv_static_slice()` and `nv_dynamic_slice()`: Differentiable, linear in `operand`.
#'     * `nv_dynamic_update_slice()`: Differentiable, linear in `operand` and `update` together.
#' @section Errors: `anvil_error_index` for positions out of bounds; `anvil_error_shape` for a window
#' that is larger than the operand, and positions that are not 0-d; `anvil_error_dtype` for positions that are
#' no integers, and an update of a dtype above the operand's; `anvil_error_arg` unless there is one number for
#' each axis.
#' @examples
#' x <- nv_tensor(matrix(1:12, 3))
#' nv_static_slice(x, c(1, 1), c(3, 4), strides = c(2, 3))
#' nv_dynamic_slice(x, nv_scalar(2L), nv_scalar(3L), slice_sizes = c(2, 2))
#' nv_dynamic_slice(x, nv_scalar(2L), nv_scalar(9L), slice_sizes = c(2, 2), mode = "clip")
#' nv_dynamic_update_slice(x, nv_fill(0L, c(2, 2)), 1, 1)
#' @export
nv_static_slice <- function(operand, start_indices, limit_indices, strides = NULL) {
  .External(
    anvil_op, "static_slice", operand, start_indices = start_indices, limit_indices = limit_indices,
    strides = strides
  )
}

#' @rdname nv_static_slice
#' @export
nv_dynamic_slice <- function(operand, ..., slice_sizes, mode = "error") {
  check_dots(..., .values = TRUE)
  .External(
    anvil_op, "dynamic_slice", operand, operands = lapply(list(...), as_index), slice_sizes = slice_sizes,
    mode = mode
  )
}

#' @rdname nv_static_slice
#' @export
nv_dynamic_update_slice <- function(operand, update, ..., mode = "error") {
  check_dots(..., .values = TRUE)
  .External(
    anvil_op, "dynamic_update_slice", operand, update, operands = lapply(list(...), as_index), mode = mode
  )
}

# Doubles of R that are positions, as integers.
as_index <- function(x) {
  if (is.object(x) || !is.numeric(x)) return(x)
  x <- as_operand(x)
  if (is.double(x) && all(is.finite(x) & x == round(x) & abs(x) < 2^31)) storage.mode(x) <- "integer"
  x
}

#' Pad
#'
#' Puts a value around the elements of a tensor, and between them.
#'
#' @param operand A tensor, a traced value, or an R number, logical or array.
#' @param padding_value The value: 0-d, and of a dtype that is not above the operand's.
#' @param edge_padding_low,edge_padding_high How many times it comes before the first and after the last
#'   element, along each axis. A negative number cuts elements off, after `interior_padding` has been put
#'   between them.
#' @param interior_padding How many times it comes between two neighbours, along each axis, at least 0.
#'   `NULL` is not at all.
#' @return A tensor of `operand`'s dtype and ambiguity, whose sizes are `low + n + (n - 1) * interior + high`.
#' @section Properties:
#' * Dtypes: `operand`: any dtype; `padding_value` is converted to the dtype of `operand`.
#' * Accuracy: Results are exact.
#' * Derivative: Differentiable, linear in `operand` and `padding_value` together.
#' @section Errors: `anvil_error_arg` unless there is one number for each axis, or if more is cut off
#' than there is; `anvil_error_dtype` for a value of a dtype above the operand's, `anvil_error_shape` for one
#' that is not 0-d.
#' @examples
#' x <- nv_tensor(1:3)
#' nv_pad(x, 0L, 1, 2)
#' nv_pad(x, 0L, -1, 0, interior_padding = 2)
#' @export
nv_pad <- function(operand, padding_value, edge_padding_low, edge_padding_high, interior_padding = NULL) {
  .External(
    anvil_op, "pad", operand, padding_value, edge_padding_low = edge_padding_low,
    edge_padding_high = edge_padding_high, interior_padding = interior_padding
  )
}

#' Reverse
#'
#' Elements in reverse order along some axes.
#'
#' @param operand A tensor, a traced value, or an R number, logical or array.
#' @param axes The axes to reverse, from 1 or negative from the end.
#' @return A tensor of `operand`'s shape, dtype and ambiguity.
#' @section Properties:
#' * Dtypes: Any dtype.
#' * Accuracy: Results are exact.
#' * Derivative: Differentiable, linear in `operand`.
#' @section Errors:
#' `anvil_error_axis` for axes out of range or given twice.
#' @examples
#' nv_reverse(nv_tensor(matrix(1:6, 2)), 2)
#' @export
nv_reverse <- function(operand, axes) .External(anvil_op, "reverse", operand, axes = axes)

#' Gather and scatter
#'
#' `nv_gather()` reads windows of a tensor at positions in another and stacks them; `nv_scatter()` updates
#' windows of a tensor from such a stack. They are StableHLO's ops of these names, in full generality;
#' [nv_subset()] is easier to use for common cases.
#'
#' All axes count from 1, or from the end if they are negative. Along axis `index_vector_axis`, the indices
#' hold vectors: element `k` of one is the position, along
#' axis `start_index_map[k]` of the operand, at which a window starts. The result has an axis for
#' each other axis of the indices, and one, at `offset_axes`, for each axis of the windows; those in
#' `collapsed_slice_axes` have size 1 and are left out. A scatter has the same parts, under StableHLO's other
#' names.
#'
#' A window that exceeds the bounds is an error when the program has run, unless `mode` chooses otherwise. See
#' [nv_subset()] for what is checked, and for export to StableHLO, where `"error"` means `"clip"` for
#' `nv_gather()` and `"drop"` for `nv_scatter()`. Windows that overlap are updated one after the other, in the
#' order of `update`.
#'
#' @section Gradients: `"replace"` and `"add"` have derivatives of any order. So do `"min"` and `"max"`,
#' where elements that tie share the gradient in equal parts, and `"mul"` as long as no factor is 0 of an
#' element that is updated more than once: where one is, the first derivative holds, and higher ones may
#' not. Windows that are left out have gradient 0. An update computation that is a function has no gradient:
#' [gradient()] signals `anvil_error_grad`.
#'
#' @param operand,input A tensor, a traced value, or an R number, logical or array.
#' @param start_indices,scatter_indices Positions, from 1: integers.
#' @param slice_sizes Sizes of a window, one for each axis of the operand.
#' @param offset_axes,update_window_axes The axes of the stack that are axes of the windows, ascending.
#' @param collapsed_slice_axes,inserted_window_axes Axes of the operand that windows do not have,
#'   ascending.
#' @param operand_batching_axes,input_batching_axes Batch axes of the operand, ascending: a window is at the
#'   position of its index along them.
#' @param start_indices_batching_axes,scatter_indices_batching_axes The batch axes of the indices that belong
#'   to these, in the same order.
#' @param start_index_map,scatter_axes_to_operand_axes The axes of the operand that elements of an index
#'   vector belong to.
#' @param index_vector_axis The axis of the indices that holds the index vectors; the number of axes plus 1 if
#'   each index is a vector of length 1.
#' @param mode What becomes of windows that exceed the bounds: `"error"`; `"clip"`, they are moved so that
#'   they fit; `"drop"`, they are not written, and what is read is NaN, the smallest integer of a signed and
#'   the largest of an unsigned dtype, or `TRUE`.
#' @param indices_are_sorted,unique_indices Promises to a compiler, which are kept in the graph and change no
#'   result.
#' @param update The stack of windows, of a dtype that is not above the input's.
#' @param update_computation How an element is updated: `"replace"` or `NULL`, the update; the name of the op
#'   that joins it with the update: `"add"`, `"mul"`, `"min"` or `"max"`; or a function of both, as 0-d
#'   values, that gives one 0-d value of their dtype. The function is traced once, and may use all ops, and
#'   values of its surroundings. One that adds, multiplies, or takes the smaller or larger of its arguments,
#'   and does nothing else, is the update of that name.
#' @return A tensor of the operand's dtype and ambiguity: the stack of windows, or the updated input.
#' @section Properties:
#' * Dtypes:
#'     * `nv_gather()`: `operand`: any dtype; `start_indices`: integers.
#'     * `nv_scatter()`: `input`: any dtype; `scatter_indices`: integers; `update` is converted to the dtype
#'       of `input`.
#' * Accuracy:
#'     * `nv_gather()`: Results are exact.
#'     * `nv_scatter()`: Each sum or product of an update is rounded; other updates by name are exact.
#' * Derivative:
#'     * `nv_gather()`: Differentiable, linear in `operand`.
#'     * `nv_scatter()`: Differentiable with respect to `input` and `update`. Not for all arguments: updates
#'       by a function have no rule; give an update that has one, by name ("replace", "add", "mul", "min" or
#'       "max").
#' @section Errors: `anvil_error_index` for a window that exceeds the bounds, with the `value`, the `axis`
#' and its `size`; `anvil_error_arg` with its name for a set of axes that does not fit; `anvil_error_shape`
#' for windows and updates that do not; `anvil_error_dtype` for indices that are no integers, an update of a
#' dtype above the input's, and dtypes that the update computation does not take. For a function as update
#' computation, `anvil_error_arg` unless it takes two arguments and gives one value, `anvil_error_structure`
#' if that is of another dtype or not 0-d.
#' @examples
#' x <- nv_tensor(matrix(1:12, 3))
#' # Columns 4 and 1.
#' nv_gather(
#'   x, c(4, 1), slice_sizes = c(3, 1), offset_axes = 1, collapsed_slice_axes = 2, start_index_map = 2,
#'   index_vector_axis = 2
#' )
#' # How often each number occurs.
#' nv_scatter(
#'   nv_fill(0L, 3), c(2, 2, 3), nv_fill(1L, 3), update_window_axes = NULL, inserted_window_axes = 1,
#'   scatter_axes_to_operand_axes = 1, index_vector_axis = 2, update_computation = "add"
#' )
#' # Steps towards the updates, one after the other.
#' nv_scatter(
#'   nv_fill(0, 3), c(2, 2, 3), nv_fill(1, 3), update_window_axes = NULL, inserted_window_axes = 1,
#'   scatter_axes_to_operand_axes = 1, index_vector_axis = 2,
#'   update_computation = function(old, new) old + (new - old) / 2
#' )
#' @export
nv_gather <- function(operand, start_indices, slice_sizes, offset_axes, collapsed_slice_axes,
                      operand_batching_axes = NULL, start_indices_batching_axes = NULL, start_index_map,
                      index_vector_axis, indices_are_sorted = FALSE, mode = "error") {
  .External(
    anvil_op, "gather", operand, as_index(start_indices), slice_sizes = slice_sizes,
    offset_axes = offset_axes, collapsed_slice_axes = collapsed_slice_axes,
    operand_batching_axes = operand_batching_axes, start_indices_batching_axes = start_indices_batching_axes,
    start_index_map = start_index_map, index_vector_axis = index_vector_axis,
    indices_are_sorted = indices_are_sorted, mode = mode
  )
}

#' @rdname nv_gather
#' @export
nv_scatter <- function(input, scatter_indices, update, update_window_axes, inserted_window_axes,
                       input_batching_axes = NULL, scatter_indices_batching_axes = NULL,
                       scatter_axes_to_operand_axes, index_vector_axis, indices_are_sorted = FALSE,
                       unique_indices = FALSE,
                       update_computation = "replace", mode = "error") {
  scatter <- function(input, how) {
    .External(
      anvil_op, "scatter", input, as_index(scatter_indices), as_operand(update),
      update_window_axes = update_window_axes, inserted_window_axes = inserted_window_axes,
      input_batching_axes = input_batching_axes,
      scatter_indices_batching_axes = scatter_indices_batching_axes,
      scatter_axes_to_operand_axes = scatter_axes_to_operand_axes, index_vector_axis = index_vector_axis,
      indices_are_sorted = indices_are_sorted, unique_indices = unique_indices, update_computation = how,
      mode = mode
    )
  }
  # A graph is what a function becomes, and nothing that a user gives.
  if (inherits(update_computation, "AnvilGraph")) {
    abort_arg("update_computation", "a function of two values, NULL, or a name", describe(update_computation))
  }
  if (!is.function(update_computation)) return(scatter(input, update_computation))
  check_two_arguments(update_computation, "update_computation")
  # Evaluated before a trace is opened.
  list(input, scatter_indices, update)
  settle_function(update_computation)
  at_once(function() {
    input <- value_of(input)
    element <- nv_abstract(dtype(input), integer(), ambiguous(input))
    region <- trace_region(
      update_computation, list(element, element), "the update computation of nv_scatter()",
      function(out) check_update(out, element)
    )
    scatter(input, region)
  })
}

# A function that can be called with two arguments in order.
check_two_arguments <- function(f, name) {
  order <- by_order(f, 2L)
  if (order$enough && !order$left_out) return()
  count <- if (order$enough) min(2L, order$before) + order$left_out else order$before
  got <- if (count == 0L) {
    "one without arguments"
  } else {
    paste("one of", count, if (count == 1L) "argument" else "arguments")
  }
  abort_arg(name, "a function of two values, the old one and the update", got)
}

# What an update computation gives: a value of the elements' type.
check_update <- function(out, element) {
  if (!is_operand(out)) {
    abort_arg(
      "update_computation", "a function that gives one tensor or R number",
      paste("one that gives", describe(out))
    )
  }
  check_same_types(
    value_types(element, "result"), value_types(out, "result"),
    "An update computation must give a value of the type of the elements.",
    function(was, is) paste(is, "for elements of", was),
    "Convert it in the function, or reduce it to one element."
  )
  out
}
