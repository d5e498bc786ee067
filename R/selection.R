# Selections: `x[mask]` with a mask that the program computes. How many elements it has is not known while
# tracing, so a selection holds all values and the mask. What it is to functions of R, is in
# selection-functions.R.

#' Selections: elements where a computed mask holds
#'
#' In a traced function, `x[mask]` with a mask that the program computes, such as `x[x > 0]`, is a
#' *selection*. How many elements it has is not known while tracing; where that need not be known, a selection
#' is what R's `x[mask]` is.
#'
#' A mask selects elements, `x[mask]` of a vector or `A[mask]` of an array of its shape, or positions of an
#' axis: rows `X[mask, ]`, columns `X[, mask]`, elements of a column `X[mask, j]`, of both `X[mask, mask2]`.
#'
#' @section What takes a selection:
#' * reductions: `sum prod mean max min range any all var sd median mad quantile IQR fivenum summary anyNA
#'   weighted.mean`, `table`, `cov cor` of two selections or of rows, and `length nrow ncol NROW NCOL dim`,
#'   which the program computes: `sum(x[m]) / length(x[m])`. Of rows or columns also `colSums colMeans rowSums
#'   rowMeans crossprod tcrossprod %*%`, and `apply()`, which calls a function for each column of selected
#'   rows, or each row of selected columns, and sums and means for those that are selected;
#' * what is computed for each element: operators, `log exp sqrt abs round` and the like, `is.na ifelse pmax
#'   pmin`, `dnorm` and its like, `sweep t` of rows, and the `nv_` functions of this kind. The result is a
#'   selection by the same mask. Two selections need the same mask: a variable, or the same expression
#'   twice, as in `x[x > 0] - y[x > 0]`. Any other operand is one number.
#' * what depends on the order: `cumsum cumprod cummax cummin sort rev diff rank head tail seq_along
#'   findInterval`, whose results are selections, `which.max which.min tabulate`, and `c cbind rbind`, which
#'   join selections: `mean(c(x[m], x[k]))`, `crossprod(cbind(1, x[m]), y[m])`;
#' * elements by their number: `x[m][1]`, `sort(x[m])[1:2]`, `X[m, ][1, ]`, `which(m)[1]`, all of a known
#'   size, also by numbers that the program computes, `x[m][which.max(x[m])]`, and without some, `x[m][-1]`
#'   and `x[m][-length(x[m])]`, selections. A number beyond those selected is an error, as beyond the elements
#'   of a tensor;
#' * assignment: `x[m] <- log(x[m])`, `X[m, ] <- X[m, ] / 2`, by the same mask;
#' * positions: `which(m)` is a selection of them, `length(which(m))` how many there are, `max(which(m))` the
#'   last; `x[which(m)]` is `x[m]`, also where it is assigned, and `x[-which(m)]` the others: as in R, none if
#'   there are no such positions;
#' * subscripts: `s <- x[m]; s[s > 1]` selects among what is selected, `X[m, ][, j]` takes columns of rows,
#'   and `x[i[m]]` the elements at positions that are selected;
#' * several axes: `X[m, k]` is reduced by `sum mean sd median colSums rowSums` and their like, computed with
#'   one by one, and assigned.
#'
#' Everything else, such as `order(x[m])`, `outer(x[m], y)` or returning a selection, is an error of class
#' `anvil_error_concrete` or `anvil_error_arg` that says so. `nv_ifelse(mask, x, y)` has all elements;
#' `x[nv_which(mask, size = n)]` has a known number of them.
#'
#' What is not selected changes nothing, be it NaN or infinite: neither a result nor a gradient. Of no
#' elements, `sum()` is 0, `prod()` 1, `mean()` NaN, `max()` -Inf and `min()` Inf without a warning, and
#' `var()`, `median()` and `quantile()` are NaN, where R gives `NA`; of integers `max()` is the lowest value
#' of the dtype. Of positions, `max(which(m))` and `min(which(m))` are floats, and infinite if there are none.
#' With NaN `quantile()` is NaN, where R stops. Rows and columns that are selected keep both axes, as with
#' `drop = FALSE`, be it one or none, and so do `cbind()` and `rbind()` of selections. A comparison with NaN
#' is `FALSE`, so that it selects nothing.
#'
#' A mask of R logicals or an eager tensor is known: it selects exactly, and gives an ordinary tensor.
#'
#' @section Errors: `anvil_error_concrete` for a function that takes no selection, `anvil_error_shape` for
#'   selections by different masks, and for a selection with a vector that is none, `anvil_error_arg` where a
#'   selection is given as an operand or returned.
#' @examples
#' f <- jit(function(x) c(mean(x[x > 0]), sd(x[x > 0]), length(x[x > 0])))
#' f(nv_tensor(c(-1, 2, 4)))
#' g <- jit(function(x) {
#'   x[x > 0] <- log(x[x > 0])
#'   x
#' })
#' g(nv_tensor(c(-1, 1, 4)))
#' jit(function(X, g) colMeans(X[g == 1, ]))(nv_tensor(matrix(1:6, 3)), nv_tensor(c(1, 2, 1)))
#' gradient(function(x) sum(log(x[x > 0])))(nv_tensor(c(0, 1, 4)))
#' try(jit(function(x) x[x > 0])(nv_tensor(c(-1, 1))))
#' @seealso [nv_subset()]
#' @name selections
NULL

# Called by Rust with list(values, mask, axis): those along the axis where the mask holds, or with axis 0 the
# elements of an array, as a vector. Masks of several axes are list(values, mask, axis, mask, axis).
selection_of <- function(parts) {
  x <- parts[[1L]]
  named <- !is.null(names(x)) || !is.null(dimnames(x))
  if (length(parts) > 3L) {
    at <- seq(2L, length(parts), by = 2L)
    masks <- setNames(lapply(parts[at], as_flat), parts[at + 1L])
    return(selection(x, mask_of_axes(masks, shape(x)), no_axis, named))
  }
  mask <- as_flat(parts[[2L]])
  if (parts[[3L]] > 0L) selection(x, mask, parts[[3L]], named) else selection(as_flat(x), mask, 1L, named)
}

# which(mask): the positions where a mask holds. As a subscript it is the mask, which it keeps for that;
# nothing that is computed of it does but `-which(mask)`.
selected_positions <- function(mask) {
  out <- selection(nv_iota(1L, "i32", length(mask)), as_flat(mask), 1L, !is.null(names(mask)))
  attr(out, "which") <- mask
  out
}

# The mask of what which() gives as a subscript; any other subscript as it is.
mask_of_which <- function(i) (if (is_selection(i)) attr(i, "which")) %||% i

# The values that are not selected become 1, where most functions are finite. Only a choice takes a gradient
# away: 0 times the infinite slope of log() at 0 is NaN.
selection <- function(values, mask, axis, named = FALSE) {
  chosen <- nv_ifelse(mask_along(mask, shape(values), axis), values, one_like(values))
  # Codes of a factor stay such.
  attr(chosen, "levels") <- levels(values)
  # Which rows there are is not known, but all columns are.
  if (axis == 1L && length(dim(values)) == 2L) chosen <- with_names(chosen, list(NULL, colnames(values)))
  new_selection(chosen, mask, axis, named)
}

one_like <- function(x) nv_scalar(1, dtype(x), ambiguous(x))
zero_like <- function(x) nv_scalar(0, dtype(x), ambiguous(x))

# The axis of a selection by masks of several axes, `A[m, k]`: its mask has the shape of the values.
no_axis <- 0L

# The mask of all elements by masks along axes, by whose numbers these are named. It knows them.
mask_of_axes <- function(masks, sizes) {
  along <- lapply(names(masks), function(axis) nv_broadcast_in_dim(masks[[axis]], sizes, as.integer(axis)))
  out <- Reduce(`&`, along)
  attr(out, "along") <- masks
  out
}

# What needs the one axis along which is selected.
check_one_axis <- function(parts, what) {
  if (parts$axis != no_axis) return(invisible())
  abort(
    "anvil_error_concrete",
    paste0(
      what, " does not take a selection by masks of several axes, `A[m, k]`: all of its elements can be ",
      "reduced, computed with one by one, and assigned.
",
      "i Select along one axis and compute, then along the other: `colSums(A[m, ])[k]`."
    ),
    where = gsub("`", "", what, fixed = TRUE)
  )
}

# A mask in the shape of what it selects of.
mask_along <- function(mask, sizes, axis) {
  if (length(sizes) == 1L || axis == no_axis) mask else nv_broadcast_in_dim(mask, sizes, axis)
}

# Called by Rust with the parts of a selection of positions: 1 where none is selected.
selected_or_first <- function(parts) nv_ifelse(parts$mask, parts$values, one_like(parts$values))

# `values` are a traced value, `mask` one of booleans and as long as the axis; `named` says whether what is
# selected has names.
new_selection <- function(values, mask, axis, named = FALSE) {
  out <- .Call(anvil_select, list(values = values, mask = mask, axis = axis, named = named))
  class(out) <- c("AnvilSelection", "AnvilValue")
  if (!is.null(levels(values))) attr(out, "levels") <- levels(values)
  # See matmul-methods.R.
  if (getRversion() < "4.3.0") asS4(out) else out
}

is_selection <- function(x) is.object(x) && inherits(x, "AnvilSelection")

# list(values, mask, axis, named) of a selection, whatever its class is now; NULL for anything else.
selected <- function(x) .Call(anvil_selected, x)

# The values of a selection with another value where the mask does not hold.
filled <- function(parts, fill) {
  nv_ifelse(mask_along(parts$mask, shape(parts$values), parts$axis), parts$values, fill)
}

advice_on_selections <- paste(
  "`nv_ifelse(mask, x, y)` has all elements, `x[nv_which(mask, size = n)]` a known number; `?selections`",
  "says which functions take a selection."
)

# What reads a selection, see reading_call(), does not take one.
abort_selection <- function(reader) {
  abort(
    "anvil_error_concrete",
    paste0(
      reader$what, " does not take a selection, the elements where a computed mask holds: how many there ",
      "are is not known while tracing.\ni ", advice_on_selections
    ),
    where = gsub("`", "", reader$what, fixed = TRUE), call = reader$call
  )
}

# A function of R needs the number of elements that a selection has.
abort_selection_size <- function(reader) {
  abort(
    "anvil_error_concrete",
    paste0(
      reader$what, " needs the size of a selection, the elements where a computed mask holds: how many ",
      "there are is not known while tracing.\ni It is a traced value: compute with it. ", advice_on_selections
    ),
    where = gsub("`", "", reader$what, fixed = TRUE), call = reader$call
  )
}

# Selections meet where they have the same mask, along the same axis.
check_same_mask <- function(x, y) {
  if (x$axis == y$axis && .Call(anvil_equal, x$mask, y$mask)) return(invisible())
  abort("anvil_error_shape", paste0(
    "Two selections must be by the same mask",
    if (x$axis != y$axis) paste0(", along the same axis, not along ", x$axis, " and ", y$axis), ".\n",
    "i Assign the mask to a variable and use it for both: `m <- x > 0; x[m] - y[m]`."
  ))
}

# Called by Rust with list(name, operands, attributes, elementwise) of an op that is given selections.
on_selections <- function(call) {
  name <- call[[1L]]
  operands <- call[[2L]]
  if (!call[[4L]]) {
    if (name %in% names(contracted_axes)) return(selected_product(name, operands))
    refuse_selections(name, operands)
  }
  out <- on_values(operands, function(...) .External(anvil_op, name, ...), call[[3L]])
  if (name == "negate") left_out(out, operands[[1L]]) else out
}

# -which(m) as a subscript is all but these positions; as in R, none at all if there are no such positions.
left_out <- function(out, positions) {
  mask <- attr(positions, "which")
  if (is.null(mask) || !is.null(attr(positions, "left_out"))) return(out)
  attr(out, "which") <- !mask & nv_reduce_any(mask)
  attr(out, "left_out") <- TRUE
  out
}

# The selection of what a function computes of the values of selections by one mask, element by element;
# `more` are arguments that are no operands.
on_values <- function(operands, f, more = list()) {
  parts <- lapply(operands, selected)
  is_one <- !vapply(parts, is.null, NA)
  if (sum(is_one) > 1L) parts[is_one] <- aligned(parts[is_one])
  first <- parts[is_one][[1L]]
  for (other in parts[is_one][-1L]) check_same_mask(first, other)
  operands[is_one] <- lapply(parts[is_one], `[[`, "values")
  operands[!is_one] <- lapply(operands[!is_one], beside_selection, first)
  new_selection(do.call(f, c(operands, more), quote = TRUE), first$mask, first$axis)
}

# An op that takes no selection, by the name of what the user called.
refuse_selections <- function(op, operands) {
  call <- user_call()
  name <- if (is.call(call) && is.name(call[[1L]])) as.character(call[[1L]]) else paste0("nv_", op)
  what <- if (grepl("^[[:alpha:].]", name)) paste0(name, "()") else paste0("`", name, "`")
  abort_concrete(what, Find(function(x) !is.null(selected(x)), operands))
}

# An operand beside a selection: one number. A traced one is chosen where the mask holds, so that it has no
# gradient of what is not selected.
beside_selection <- function(x, parts) {
  if (!is_operand(x)) return(x)
  size <- if (is_value(x)) prod(shape(x)) else length(x)
  if (size != 1) {
    abort("anvil_error_shape", paste0(
      "Beside a selection an operand must be one number, or a selection by the same mask, not a value of ",
      size, " elements.\n",
      "x How many elements a mask selects is not known while tracing.\n",
      "i Select from it as well: `x[m] * w[m]`; or compute with all elements, then select: `(x * w)[m]`."
    ))
  }
  if (!is_value(x)) return(as.vector(x))
  x <- nv_reshape(x, integer())
  if (!is_traced(x) || !is_inexact(x)) return(x)
  nv_ifelse(mask_along(parts$mask, shape(parts$values), parts$axis), x, one_like(x))
}

# ---- subscripts --------------------------------------------------------------------------------------------

#' @export
`[.AnvilSelection` <- function(x, ..., drop = TRUE) {
  check_unnamed(...names())
  subscripts <- subscripts_of(...)
  parts <- selected(x)
  sizes <- shape(parts$values)
  is_whole <- vapply(subscripts, identical, NA, TRUE)
  if (all(is_whole) && length(subscripts) %in% c(0L, 1L, length(sizes))) return(x)
  if (length(subscripts) == 1L) {
    i <- subscripts[[1L]]
    if (length(sizes) == 1L && are_numbers(i)) return(nth_selected(parts, i))
    if (length(sizes) == 1L && are_left_out(i)) {
      return(selection(parts$values, without_numbers(parts, i), 1L))
    }
    mask <- mask_within(parts, i)
    return(selection(as_flat(parts$values), as_flat(mask), 1L))
  }
  if (length(subscripts) != length(sizes)) {
    abort("anvil_error_index", paste0(
      "A selection of ", length(sizes), if (length(sizes) == 1L) " axis has" else " axes has", " not ",
      length(subscripts), " subscripts."
    ))
  }
  check_one_axis(parts, "`[`")
  axis <- parts$axis
  mask <- parts$mask
  others <- replace(subscripts, axis, TRUE)
  if (any(vapply(others, is_selection, NA))) abort_concrete("A subscript of another axis", x)
  if (are_numbers(subscripts[[axis]])) return(nth_selected(parts, subscripts[[axis]], others, drop))
  # Along its axis, numbers and a selection by the same mask say which of them are taken.
  if (are_left_out(subscripts[[axis]])) {
    mask <- without_numbers(parts, subscripts[[axis]])
  } else if (!is_whole[axis]) {
    of_axis <- list(values = mask, mask = mask, axis = 1L)
    mask <- mask_within(of_axis, subscripts[[axis]])
  }
  subscripts[[axis]] <- TRUE
  values <- subset_of(parts$values, subscripts, drop)
  if (is_selection(values)) abort_concrete("A mask of another axis", x)
  before <- subscripts[seq_len(axis - 1L)]
  selection(values, mask, axis - if (drop) sum(vapply(before, is_one_position, NA)) else 0L)
}

# Subscripts are told by their positions.
check_unnamed <- function(names) {
  named <- names[nzchar(names)]
  if (!length(named)) return(invisible())
  abort_arg(named[1L], "a subscript without a name, or `drop`", "an argument of another name")
}

# The mask of what a selection by the same mask selects of a selection, in the shape of all values.
mask_within <- function(parts, i) {
  sizes <- shape(parts$values)
  inner <- selected(i)
  if (is.null(inner) || !inherits(dtype(i), "BooleanType") || !identical(shape(inner$values), sizes)) {
    abort("anvil_error_shape", paste0(
      "A subscript of a selection must be a logical selection by the same mask, as in `s <- x[m]; s[s > 0]`",
      ", not ", describe(i), ".\n",
      "x How many elements a mask selects is not known while tracing.\ni ", advice_on_selections
    ))
  }
  check_same_mask(parts, inner)
  mask_along(parts$mask, sizes, parts$axis) & inner$values
}

# `x[...]` with these subscripts, `TRUE` for one that is left out.
subset_of <- function(x, subscripts, drop = TRUE) {
  do.call(nv_subset, c(list(x), as_left_out(subscripts), list(drop = drop)), quote = TRUE)
}

as_left_out <- function(subscripts) {
  lapply(subscripts, function(i) if (identical(i, TRUE)) quote(expr = ) else i)
}

# Whether a subscript drops its axis.
is_one_position <- function(i) {
  if (is_value(i)) return(ndims(i) == 0L && !inherits(dtype(i), "BooleanType"))
  length(i) == 1L && is.null(dim(i)) && (is.character(i) || is.numeric(i) && i > 0)
}

#' @export
`[[.AnvilSelection` <- function(x, ...) {
  i <- list(...)
  parts <- selected(x)
  is_one <- length(i) == 1L && length(shape(parts$values)) == 1L && length(i[[1L]]) == 1L
  if (!is_one || !are_numbers(i[[1L]])) abort_concrete("`[[`", x)
  nth_selected(parts, i[[1L]])
}

#' @export
`[<-.AnvilSelection` <- function(x, ..., value) {
  check_unnamed(...names())
  parts <- selected(x)
  subscripts <- subscripts_of(...)
  if (length(subscripts) != 1L || identical(subscripts[[1L]], TRUE)) abort_concrete("`[<-`", x)
  mask <- mask_within(parts, subscripts[[1L]])
  values <- if (is_selection(value)) {
    assign_selection(parts$values, value, mask)
  } else {
    nv_subset_assign(parts$values, mask, value = value)
  }
  new_selection(values, parts$mask, parts$axis)
}

#' @export
`[[<-.AnvilSelection` <- function(x, ..., value) abort_concrete("`[[<-`", x)

# `x[...] <- value` with a selection, by the mask among the subscripts.
assign_selection <- function(x, value, ...) {
  subscripts <- subscripts_of(...)
  parts <- selected(value)
  is_mask <- vapply(subscripts, function(i) is_traced(i) && inherits(dtype(i), "BooleanType"), NA)
  target <- if (any(is_mask)) selected(subset_of(x, subscripts))
  if (is.null(target)) {
    abort("anvil_error_shape", paste0(
      "A selection is assigned where the same mask selects, as in `x[m] <- log(x[m])`.\n",
      "i How many elements it has is not known while tracing."
    ))
  }
  check_same_mask(target, parts)
  wanted <- shape(target$values)
  # One column is a vector, as in R.
  is_column <- length(wanted) == 1L && identical(shape(parts$values), c(wanted, 1L))
  if (is_column) parts$values <- as_flat(parts$values)
  if (!identical(wanted, shape(parts$values))) {
    abort("anvil_error_shape", paste0(
      "What is assigned must be of the shape of what the mask selects of, ", format_shape(wanted), ", not ",
      format_shape(shape(parts$values)), "."
    ))
  }
  if (length(subscripts) == 1L) {
    new <- nv_reshape(parts$values, shape(x))
    return(nv_subset_assign(x, value = nv_ifelse(nv_reshape(parts$mask, shape(x)), new, x)))
  }
  subscripts[is_mask] <- TRUE
  old <- subset_of(x, subscripts)
  new <- nv_ifelse(mask_along(parts$mask, wanted, parts$axis), parts$values, old)
  do.call(nv_subset_assign, c(list(x), as_left_out(subscripts), list(value = new)), quote = TRUE)
}
