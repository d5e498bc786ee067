# Sorting: elements in order, their order and ranks, the first of them, searches in what is sorted.

#' Sorting
#'
#' `nv_sort()` gives the elements in order, `nv_order()` their positions in that order, `nv_rank_of()` the
#' place of each in it, `nv_top_k()` the first `k` and their positions, which takes less time than a whole
#' order.
#'
#' Without `axis`, all elements are taken as one vector in R's order, as [sort()], [order()] and [rank()] take
#' those of a matrix; with `axis = 1`, each column of a matrix is sorted for itself, with `axis = 2` each row.
#'
#' **NaN comes last**, whether the order is increasing or decreasing. `-0` equals `0`. The order is stable:
#' equal elements stay in their order, also in a decreasing one. `FALSE` comes before `TRUE`. Complex numbers
#' are ordered by their real parts, then by the imaginary ones, as in R; NaN in either comes last.
#'
#' `nv_order(a, b)` orders by `a`, and what is equal there by `b`, as [order()] does. Positions can be used
#' where R takes them, as in `x[nv_order(x)]`.
#'
#' Ranks count from 1. Equal elements have the mean of their ranks (`"average"`), the least or the largest of
#' them (`"min"`, `"max"`), or ranks in their order or the opposite one (`"first"`, `"last"`), as in [rank()].
#' NaN equals nothing, not even NaN, and has the last ranks, as with `rank(na.last = TRUE)`.
#'
#' The derivative of sorted elements, and of the `values` of `nv_top_k()`, is that of the elements which came
#' to their places; of equal elements each has the derivative of the place that a stable order gives it.
#' Positions and ranks have none.
#'
#' @param operand A tensor, a traced value, or an R number, logical or array; not of complex numbers for
#'   `nv_top_k()`.
#' @param ... Tensors of one shape: the first is what is ordered by, a further one orders what is equal in
#'   those before.
#' @param axis The axis to sort along, from 1; `NULL` is all elements as one vector.
#' @param decreasing Whether the largest comes first; for `nv_order()` also one flag for each tensor.
#' @param k How many: a whole number, at most the number of elements along the axis.
#' @param ties What ranks equal elements have: `"average"`, `"first"`, `"last"`, `"min"` or `"max"`.
#' @return
#' * `nv_sort()`: a tensor of `operand`'s dtype and ambiguity, with its shape, or 1-d without `axis`.
#' * `nv_order()`: positions from 1, `i32`, in the shape of the tensors, or 1-d without `axis`.
#' * `nv_rank_of()`: ranks in the shape of `operand`: `i32`, or an ambiguous `f32` for `"average"`.
#' * `nv_top_k()`: a list of `values`, of `operand`'s dtype and ambiguity, and `indices`, positions from 1 in
#'   `i32`; both have `k` elements along the axis, or are 1-d without `axis`.
#' @section Properties:
#' * Dtypes: Any dtype but complex numbers.
#' * Accuracy:
#'     * `nv_sort()`: Results are exact.
#' * Derivative:
#'     * `nv_sort()`: Differentiable with respect to `operand`.
#'     * `nv_order()` and `nv_top_k()`: Zero: the result is an integer.
#' @section Errors: `anvil_error_axis` for an axis out of range, `anvil_error_shape` for tensors of several
#' shapes, `anvil_error_arg` for no tensor, for `k` that is negative or too large, for another `decreasing` or
#' `ties`, `anvil_error_dtype` for complex numbers in `nv_top_k()`.
#' @seealso [nv_argmax()], [nv_quantile()], [nv_unique()], [nv_search_sorted()], [base-functions] for [sort()]
#' @examples
#' x <- nv_tensor(c(3, 1, NaN, 2))
#' nv_sort(x)
#' nv_sort(x, decreasing = TRUE)
#' x[nv_order(x)]
#' m <- nv_tensor(matrix(c(3L, 1L, 2L, 4L, 6L, 5L), 3))
#' nv_sort(m, axis = 1)
#' nv_order(c(1, 2, 1, 2), c(4, 3, 2, 1), decreasing = c(FALSE, TRUE))
#' nv_rank_of(c(10, 20, 10))
#' nv_top_k(x, 2)
#' # The gradient of the median of three
#' gradient(function(x) nv_sort(x)[2])(nv_tensor(c(3, 1, 2)))
#' @name nv_sort
NULL

#' @rdname nv_sort
#' @export
nv_sort <- function(operand, axis = NULL, decreasing = FALSE) {
  .External(anvil_op, "sort", operand, axis = axis, decreasing = decreasing)
}

#' @rdname nv_sort
#' @export
nv_order <- function(..., axis = NULL, decreasing = FALSE) {
  check_dots(..., .values = TRUE)
  operands <- list(...)
  flags <- is.logical(decreasing) && !is.object(decreasing) && !anyNA(decreasing)
  if (!flags || !length(decreasing) %in% c(1L, length(operands))) {
    abort_arg("decreasing", "TRUE or FALSE, once or for each tensor", describe(decreasing))
  }
  decreasing <- rep_len(decreasing, length(operands))
  .External(anvil_op, "order", operands = operands, axis = axis, decreasing = as.list(decreasing))
}

#' @rdname nv_sort
#' @export
nv_rank_of <- function(operand, ties = "average", axis = NULL) {
  .External(anvil_op, "rank_of", operand, ties = ties, axis = axis)
}

#' @rdname nv_sort
#' @export
nv_top_k <- function(operand, k, axis = NULL, decreasing = TRUE) {
  found <- .External(anvil_ops, "top_k", operand, k = k, axis = axis, decreasing = decreasing)
  names(found) <- c("values", "indices")
  found
}

#' Positions of extremes, and of what is true
#'
#' `nv_argmax()` and `nv_argmin()` give the position of the largest or smallest element, of several equal ones
#' the first; `nv_which()` the positions of elements that are true.
#'
#' Without `axis`, the position is that in R's order of all elements, as [which.max()] and [which()] have it.
#'
#' NaN counts as the largest and as the smallest, as in [nv_reduce_max()] and in JAX: the position is that of
#' the first NaN. [which.max()] leaves NaN out; `nv_argmax(nv_ifelse(is.nan(x), -Inf, x))` does so too.
#'
#' A program must know the size of its results, so that `nv_which()` takes it as `size` in a traced function.
#' If fewer elements are true, `fill` follows their positions, if more are, the last positions are left out.
#'
#' @param operand A tensor, a traced value, or an R number, logical or array: booleans for `nv_which()`, not
#'   of complex numbers for the others.
#' @param axis The axis along which to look, from 1; `NULL` is all elements.
#' @param drop Whether the axis disappears, or stays with size 1.
#' @param size How many positions. `NULL` is as many as there are, outside of traced functions only.
#' @param fill What follows the positions if they are fewer: a whole number.
#' @return Positions from 1, `i32`.
#' @section Errors: `anvil_error_axis` for an axis out of range; `anvil_error_arg` if there is no element
#'   along it, for `size` that is `NULL` in a traced function, or no whole number, for `fill` that is none;
#'   `anvil_error_dtype` for complex numbers, for numbers in `nv_which()`.
#' @seealso [nv_sort()], [nv_reduce_max()]
#' @examples
#' x <- nv_tensor(c(2, 5, 1, 5))
#' nv_argmax(x)
#' nv_argmin(nv_tensor(matrix(c(3, 1, 2, 4), 2)), axis = 1)
#' nv_which(x > 1)
#' jit(function(x) nv_which(x > 1, size = 4, fill = 0L))(x)
#' @export
nv_argmax <- function(operand, axis = NULL, drop = TRUE) {
  .External(anvil_op, "argmax", operand, axis = axis, drop = drop)
}

#' @rdname nv_argmax
#' @export
nv_argmin <- function(operand, axis = NULL, drop = TRUE) {
  .External(anvil_op, "argmin", operand, axis = axis, drop = drop)
}

#' @rdname nv_argmax
#' @export
nv_which <- function(operand, size = NULL, fill = 0L) {
  if (is.null(size)) size <- counted_size(operand, nv_reduce_sum)
  .External(anvil_op, "which", operand, size = size, fill = fill)
}

# The size of a result that depends on elements: as R's number, by a function that counts them.
counted_size <- function(operand, count) {
  if (is_traced(operand)) {
    abort_arg(
      "size", "a whole number in a traced function", "NULL",
      "The elements are not known yet: give the size of the result, with `fill` for what is left of it."
    )
  }
  as.vector(count(operand))
}

#' Distinct elements, and membership
#'
#' `nv_unique()` gives the distinct elements, in the order in which they first appear as [unique()] has them,
#' or sorted; `nv_isin()` says of each element whether a table holds it, as [`%in%`] does. NaN equals NaN, and
#' `-0` equals `0`.
#'
#' A program must know the size of its results, so that `nv_unique()` takes it as `size` in a traced function.
#' If fewer elements are distinct, `fill` follows them, or if that is `NULL`, the first of them is repeated;
#' if more are, the last ones are left out.
#'
#' @param operand A tensor, a traced value, or an R number, logical or array.
#' @param size How many elements. `NULL` is as many as there are, outside of traced functions only.
#' @param fill What follows if they are fewer: one number, of a dtype that `operand`'s holds.
#' @param sort Whether they are sorted.
#' @param table A tensor, or an R number, logical or array.
#' @return `nv_unique()`: a 1-d tensor of `operand`'s dtype and ambiguity. `nv_isin()`: booleans in the shape
#'   of `operand`.
#' @section Errors: `anvil_error_arg` for `size` that is `NULL` in a traced function, or no whole number, for
#'   `size` above 0 without elements and `fill`, for `fill` that is not 0-d; `anvil_error_dtype` for `fill` of
#'   a dtype above `operand`'s, and for complex numbers in `nv_isin()`.
#' @seealso [nv_sort()], [nv_search_sorted()]
#' @examples
#' x <- nv_tensor(c(3L, 1L, 3L, 2L))
#' nv_unique(x)
#' jit(function(x) nv_unique(x, size = 4, fill = 0L, sort = TRUE))(x)
#' nv_isin(x, c(2L, 3L))
#' @export
nv_unique <- function(operand, size = NULL, fill = NULL, sort = FALSE) {
  if (is.null(size)) size <- counted_size(operand, function(x) .External(anvil_op, "count_unique", x))
  operands <- c(list(operand), if (!is.null(fill)) list(fill))
  .External(anvil_op, "unique", operands = operands, size = size, sort = sort)
}

#' @rdname nv_unique
#' @export
nv_isin <- function(operand, table) .External(anvil_op, "isin", operand, table)

#' Search in a sorted vector, and counts
#'
#' `nv_search_sorted()` counts the elements of a sorted vector that come before a value: those that are less
#' (`side = "left"`), or less or equal (`side = "right"`). As an index from 0 it is the place at which the
#' value keeps the vector sorted, as in NumPy and JAX; as an index from 1 it is the interval that the value
#' lies in, which [findInterval()] gives: for `side = "right"`, and with `left.open = TRUE` for `side =
#' "left"`.
#'
#' `nv_tabulate()` counts how often each of the numbers from 1 to `nbins` occurs, as [tabulate()] does; others
#' are left out. `nv_histogram()` counts elements between breaks, as [graphics::hist()] does: an interval
#' contains its upper end, or with `right = FALSE` its lower one, and the first, or the last, both. Elements
#' outside of all intervals, and NaN, are left out.
#'
#' @param sorted A sorted 1-d tensor, NaN last: see [nv_sort()].
#' @param operand A tensor, a traced value, or an R number, logical or array; not of complex numbers.
#' @param side `"left"` or `"right"`.
#' @param bin Integers.
#' @param nbins How many numbers: a whole number.
#' @param weights What each element counts: a tensor of the shape of the elements, or `NULL` for 1.
#' @param breaks The ends of the intervals, increasing, or the number of intervals of equal width from the
#'   smallest to the largest element.
#' @param right Whether an interval contains its upper end and not its lower one.
#' @param density Whether counts are divided by their sum and the widths of the intervals.
#' @return `nv_search_sorted()`: counts, `i32`, in the shape of `operand`. `nv_tabulate()`: a 1-d tensor of
#'   `nbins` counts, `i32`, or sums of weights in their dtype. `nv_histogram()`: a list of `counts`, or sums
#'   of weights, and `breaks`; with `density` a list of `density` and `breaks`.
#' @section Errors: `anvil_error_shape` for `sorted` or `breaks` that are not 1-d, and weights of another
#'   shape; `anvil_error_dtype` for complex numbers, and for bins that are no integers; `anvil_error_arg` for
#'   `side` and `nbins` of another kind, and for fewer than two breaks.
#' @seealso [nv_sort()], [nv_unique()]
#' @examples
#' nv_search_sorted(c(1, 2, 2, 4), c(0, 2, 3))
#' nv_search_sorted(c(1, 2, 2, 4), c(0, 2, 3), side = "right")
#' nv_tabulate(c(2L, 3L, 3L, 5L), nbins = 4)
#' nv_histogram(c(1, 2, 2.5, 4), breaks = c(0, 2, 3, 4))
#' @export
nv_search_sorted <- function(sorted, operand, side = "left") {
  .External(anvil_op, "search_sorted", sorted, operand, side = side)
}

#' @rdname nv_search_sorted
#' @export
nv_tabulate <- function(bin, nbins, weights = NULL) {
  if (!is_whole(nbins) || nbins < 0) abort_arg("nbins", "a whole number, at least 0", describe(nbins))
  bin <- nv_flatten(as_index(bin))
  weights <- if (is.null(weights)) nv_fill(1L, length(bin), "i32") else nv_flatten(weights)
  if (length(weights) != length(bin)) {
    abort_arg("weights", paste(length(bin), "numbers, one for each element"), paste(length(weights)))
  }
  nv_scatter(
    nv_fill(nv_scalar(0L, dtype(weights)), nbins), bin, weights, update_window_axes = NULL,
    inserted_window_axes = 1L, scatter_axes_to_operand_axes = 1L, index_vector_axis = 2L,
    update_computation = "add", mode = "drop"
  )
}

#' @rdname nv_search_sorted
#' @export
nv_histogram <- function(operand, breaks, right = TRUE, weights = NULL, density = FALSE) {
  check_flag("right", right)
  check_flag("density", density)
  x <- nv_flatten(operand)
  equal <- is_whole(breaks) && breaks >= 1
  breaks <- if (equal) equal_breaks(x, breaks) else .External(anvil_op, "identity", breaks)
  if (length(breaks) < 2L) abort_arg("breaks", "two numbers or more, or one whole number", describe(breaks))
  n <- length(breaks)
  bin <- nv_search_sorted(breaks, x, side = if (right) "left" else "right")
  # The first interval, or the last, contains both of its ends.
  end <- if (right) 1L else n
  bin <- nv_ifelse(nv_eq(x, breaks[end]), if (right) 1L else n - 1L, bin)
  counts <- nv_tabulate(bin, n - 1L, weights)
  if (!density) return(list(counts = counts, breaks = breaks))
  widths <- nv_sub(breaks[-1L], breaks[-n])
  list(density = counts / sum(counts) / widths, breaks = breaks)
}

# Ends of so many intervals of equal width, from the smallest to the largest element.
equal_breaks <- function(x, count) {
  low <- nv_reduce_min(x)
  high <- nv_reduce_max(x)
  same <- low == high
  low <- nv_ifelse(same, low - 0.5, low)
  high <- nv_ifelse(same, high + 0.5, high)
  steps <- nv_seq(0L, count) / count
  low * (1 - steps) + high * steps
}

#' Quantiles and the median
#'
#' `nv_quantile()` gives the quantiles of the elements for probabilities, by one of the nine types of
#' [stats::quantile()] or one of the five methods of NumPy; `nv_median()` the element in the middle, or the
#' mean of the two there.
#'
#' Types 1 to 3 are an element, or the mean of two; types 4 to 9 take two neighbours together, each by its own
#' formula for the position (Hyndman and Fan, 1996). `"linear"` is type 7; `"lower"`, `"higher"`, `"nearest"`
#' and `"midpoint"` take the one below the position of type 7, the one above it, the nearer one, the mean of
#' both.
#'
#' Elements are sorted in their own dtype, and taken together in double precision; the result is rounded once.
#' If an element is NaN, so is the result, unless `na_rm = TRUE` leaves NaN out; the quantile of no elements
#' is NaN. A probability that a program computes and that is not from 0 to 1 has the quantile NaN.
#'
#' The derivative is that of the one or two elements which the result is made of, and of their distance with
#' respect to the probability.
#'
#' @param operand A tensor, a traced value, or an R number, logical or array; not of complex numbers.
#' @param probs Probabilities from 0 to 1: an R number or vector, or a tensor of at most one axis.
#' @param axis The axis along which to take the quantiles, from 1; `NULL` is all elements.
#' @param type A number from 1 to 9, or `"linear"`, `"lower"`, `"higher"`, `"nearest"` or `"midpoint"`.
#' @param na_rm Whether NaN is left out.
#' @param drop Whether the axis disappears, or stays with size 1.
#' @return A tensor of `operand`'s dtype and ambiguity if that is a float, else an ambiguous `f32`.
#'   `nv_quantile()`: one quantile for each probability, along the axis in place of the elements, or a 1-d
#'   tensor of them. `nv_median()`: without the axis (or with size 1 there).
#' @section Errors: `anvil_error_axis` for an axis out of range, `anvil_error_dtype` for complex numbers,
#'   `anvil_error_shape` for probabilities with several axes, `anvil_error_arg` for R numbers that are no
#'   probabilities, and for another `type`.
#' @references R. J. Hyndman and Y. Fan (1996). Sample quantiles in statistical packages. *The American
#'   Statistician* 50, 361-365. \doi{10.1080/00031305.1996.10473566}
#' @seealso [nv_sort()], [nv_mean()]
#' @examples
#' x <- nv_tensor(c(4, 1, 3, 2))
#' nv_median(x)
#' nv_quantile(x, c(0.1, 0.9))
#' nv_quantile(x, 0.4, type = "nearest")
#' nv_quantile(nv_tensor(matrix(c(4, 1, NaN, 2, 5, 3), 3)), c(0.25, 0.75), axis = 1, na_rm = TRUE)
#' gradient(function(x) nv_median(x))(x)
#' @export
nv_quantile <- function(operand, probs = c(0, 0.25, 0.5, 0.75, 1), axis = NULL, type = 7, na_rm = FALSE) {
  # As R has it: rounding may leave the interval.
  if (is_numeric(probs) && (anyNA(probs) || any(abs(probs - 0.5) > 0.5 + 100 * .Machine$double.eps))) {
    abort_arg("probs", "numbers from 0 to 1", describe(probs))
  }
  .External(anvil_op, "quantile", operand, probs, axis = axis, type = type, na_rm = na_rm)
}

#' @rdname nv_quantile
#' @export
nv_median <- function(operand, axis = NULL, drop = TRUE, na_rm = FALSE) {
  .External(anvil_op, "median", operand, axis = axis, drop = drop, na_rm = na_rm)
}
