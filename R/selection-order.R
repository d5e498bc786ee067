# Functions of R for which the order of what is selected matters, see selection.R: sums one after the other,
# sorted elements, the first and the last ones, elements by their number among those selected.

# nolint start: object_name_linter. Names are those of R.

# Where the elements of a vector are among those selected, from 1: read where the mask holds.
numbered <- function(parts) nv_cumsum(nv_convert(parts$mask, "i32"))

# What is selected, put first in its order, of which `count` are selected. `keys` are sorted by before that.
selected_first <- function(parts, ..., decreasing = FALSE) {
  order <- nv_order(!parts$mask, ..., decreasing = c(FALSE, rep(decreasing, ...length())))
  values <- if (ndims(parts$values) == 1L) {
    parts$values[order]
  } else {
    subset_of(parts$values, replace(rep(list(TRUE), ndims(parts$values)), parts$axis, list(order)))
  }
  list(values = values, count = selected_count(parts), axis = parts$axis)
}

# The selection of the first `count` of such values. `base` is the mask by which they were selected, if they
# are all of these.
first_of <- function(values, count, base = NULL) {
  selection(values, based_on(nv_iota(1L, "i32", length(values)) <= count, base), 1L)
}

# A mask that holds as often as another one, elsewhere.
based_on <- function(mask, base) {
  attr(mask, "base") <- base
  mask
}

base_of <- function(mask) attr(mask, "base") %||% mask

# Parts of selections that are as many, by masks in other orders, with what is selected first: `sort(s) * s`.
aligned <- function(parts) {
  first <- parts[[1L]]
  is_alike <- function(x) x$axis == first$axis && .Call(anvil_equal, first$mask, x$mask)
  if (all(vapply(parts, is_alike, NA))) return(parts)
  as_many <- function(x) {
    length(shape(x$values)) == 1L && .Call(anvil_equal, base_of(first$mask), base_of(x$mask))
  }
  if (!all(vapply(parts, as_many, NA))) return(parts)
  base <- base_of(first$mask)
  mask <- based_on(nv_iota(1L, "i32", length(base)) <= nv_reduce_sum(base), base)
  lapply(parts, function(x) selected(selection(selected_first(x)$values, mask, 1L)))
}

# The parts of a selection as those of a vector, in R's order.
vector_parts <- function(x) {
  parts <- selected(x)
  if (length(shape(parts$values)) > 1L) flat_parts(parts) else parts
}

# Of one element after the other: those that are not selected are what changes nothing.
accumulated <- function(x, op, generic) {
  parts <- vector_parts(x)
  fill <- nv_convert(neutral(generic, dtype(parts$values)), dtype(parts$values), ambiguous(parts$values))
  selection(op(filled(parts, fill)), parts$mask, 1L)
}

#' @export
cumsum.AnvilSelection <- function(x) accumulated(x, cumsum, "sum")

#' @export
cumprod.AnvilSelection <- function(x) accumulated(x, cumprod, "prod")

#' @export
cummax.AnvilSelection <- function(x) accumulated(x, cummax, "max")

#' @export
cummin.AnvilSelection <- function(x) accumulated(x, cummin, "min")

#' @export
rev.AnvilSelection <- function(x) {
  parts <- vector_parts(x)
  selection(rev(parts$values), based_on(rev(parts$mask), base_of(parts$mask)), 1L)
}

#' @export
sort.AnvilSelection <- function(x, decreasing = FALSE, na.last = NA, ...) {
  check_dots(..., .known = c("", "method"))
  check_flag("decreasing", decreasing)
  if (!isTRUE(na.last) && !identical(na.last, NA)) {
    abort_arg("na.last", "TRUE, or NA as it is by default", describe(na.last), "NaN comes last.")
  }
  parts <- vector_parts(x)
  sorted <- selected_first(parts, parts$values, decreasing = decreasing)
  first_of(sorted$values, sorted$count, base_of(parts$mask))
}

#' @export
signif.AnvilSelection <- function(x, digits = 6) on_values(list(x), signif, list(digits))

#' @export
diff.AnvilSelection <- function(x, lag = 1L, differences = 1L, ...) {
  check_dots(...)
  if (is.matrix(x)) abort_arg("x", "a selection of elements", format(x))
  first <- selected_first(vector_parts(x))
  out <- nv_diff(first$values, lag, differences)
  first_of(out, first$count - as.integer(lag * differences))
}

#' @method head AnvilSelection
#' @export
head.AnvilSelection <- function(x, n = 6L, ...) {
  check_dots(...)
  parts <- selected(x)
  check_one_axis(parts, "head()")
  if (!is_whole(n)) abort_arg("n", "a whole number", describe(n))
  at <- numbered(parts)
  last <- if (n < 0) selected_count(parts) + as.integer(n) else as.integer(n)
  new_selection(parts$values, parts$mask & at <= last, parts$axis, parts$named)
}

#' @method tail AnvilSelection
#' @export
tail.AnvilSelection <- function(x, n = 6L, ...) {
  check_dots(...)
  parts <- selected(x)
  check_one_axis(parts, "tail()")
  if (!is_whole(n)) abort_arg("n", "a whole number", describe(n))
  at <- numbered(parts)
  before <- if (n < 0) -as.integer(n) else selected_count(parts) - as.integer(n)
  new_selection(parts$values, parts$mask & at > before, parts$axis, parts$named)
}

#' @method rank AnvilSelection
#' @export
rank.AnvilSelection <- function(x, na.last = "keep",
                                ties.method = c("average", "first", "last", "random", "max", "min")) {
  parts <- vector_parts(x)
  # Those that are not selected come last, as NaN does.
  if (!is_float(dtype(parts$values))) parts$values <- nv_convert(parts$values, "f64")
  ranks <- rank.AnvilValue(filled(parts, NaN), na.last, ties.method)
  selection(ranks, parts$mask, 1L)
}

# Where the largest or smallest selected element is among those selected: at no place if there is none.
which_extreme <- function(x, generic) {
  parts <- vector_parts(x)
  values <- if (is_float(dtype(parts$values))) !nv_is_nan(parts$values) else TRUE
  parts$mask <- parts$mask & values
  fill <- nv_convert(neutral(generic, dtype(parts$values)), dtype(parts$values), ambiguous(parts$values))
  is_it <- parts$mask & parts$values == do.call(generic, list(filled(parts, fill)), quote = TRUE)
  at <- nv_ifelse(nv_reduce_any(is_it), nv_argmax(is_it), 0L)
  numbered(selected(x))[at]
}

#' @method which.max AnvilSelection
#' @export
which.max.AnvilSelection <- function(x) which_extreme(x, "max")

#' @method which.min AnvilSelection
#' @export
which.min.AnvilSelection <- function(x) which_extreme(x, "min")

#' @method findInterval AnvilSelection
#' @export
findInterval.AnvilSelection <- function(x, vec, ...) {
  if (is_selection(vec)) abort_arg("vec", "a known number of numbers", describe(vec))
  on_values(list(x), function(values) findInterval.AnvilValue(values, vec, ...))
}

#' @method tabulate AnvilSelection
#' @export
tabulate.AnvilSelection <- function(bin, nbins = NULL) {
  parts <- selected(bin)
  # 0 is in no bin.
  tabulate.AnvilValue(as_flat(filled(parts, nv_scalar(0, dtype(parts$values)))), nbins)
}

# ---- elements by their number ------------------------------------------------------------------------------

# Whether a subscript has numbers that say which of those selected are taken.
are_numbers <- function(i) {
  if (is_traced(i)) {
    return(ndims(i) < 2L && !inherits(dtype(i), c("BooleanType", "ComplexType")) && !is_negation(i))
  }
  is.numeric(i) && !is.object(i) && length(i) > 0L && !anyNA(i) && all(i >= 1) && all(i == trunc(i))
}

# Of the selected elements, or rows, those of these numbers: a value of known size. One beyond those that are
# selected is no position, as one that an axis does not have.
nth_selected <- function(parts, i, others = list(), drop = TRUE) {
  first <- selected_first(parts)
  if (is_traced(i)) {
    i <- nv_convert(i, "i32")
  } else {
    i <- as.integer(pmin(i, length(parts$mask) + 1L))
    if (length(i) > 1L) i <- array(i)
  }
  at <- nv_ifelse(i > first$count, 0L, i)
  if (ndims(first$values) == 1L) return(first$values[at])
  others[[parts$axis]] <- at
  subset_of(first$values, others, drop)
}

# Without those selected of these numbers, which are negative.
without_numbers <- function(parts, i) {
  at <- numbered(parts)
  if (is_traced(i)) return(parts$mask & at != nv_convert(-i, "i32"))
  Reduce(function(mask, number) mask & at != number, as.integer(-i), parts$mask)
}

are_left_out <- function(i) {
  if (is_traced(i)) return(is_negation(i))
  is.numeric(i) && !is.object(i) && length(i) > 0L && !anyNA(i) && all(i <= -1) && all(i == trunc(i))
}

# Whether a traced number is written as `-k`, which a subscript of a vector knows: it leaves out one position,
# so that what it takes has an axis. That one takes all others is known, unlike which.
is_negation <- function(i) {
  if (is_selection(i) || ndims(i) != 0L || inherits(dtype(i), c("BooleanType", "ComplexType"))) return(FALSE)
  ndims(nv_iota(1L, "i32", 2L)[i]) == 1L
}

# ---- joining -----------------------------------------------------------------------------------------------

# c() of values among which are selections: what is no selection is selected as a whole.
joined_selections <- function(values) {
  parts <- lapply(values[lengths_known(values) != 0L], function(x) {
    if (is_selection(x)) return(vector_parts(x))
    if (!is_operand(x)) abort_arg("...", "tensors, or R numbers, vectors or arrays", describe(x))
    x <- if (is_value(x)) as_flat(x) else array(x)
    list(values = x, mask = nv_fill(TRUE, length(x)))
  })
  masks <- do.call(nv_concatenate, lapply(parts, `[[`, "mask"))
  selection(joined(lapply(parts, `[[`, "values")), masks, 1L)
}

# Lengths of those whose length is known.
lengths_known <- function(values) vapply(values, function(x) if (is_selection(x)) 1L else length(x), 1L)

#' @export
c.AnvilSelection <- function(..., recursive = FALSE, use.names = TRUE) {
  values <- list(...)
  if (length(values) == 1L) return(values[[1L]])
  if (any(vapply(values, is.list, NA))) abort_concrete("c()", values[[1L]])
  joined_selections(values)
}

# nolint end

# cbind() and rbind() of selections by one mask, and of numbers: a selection of rows, or of columns.
bind_selections <- function(how, values) {
  axis <- if (how == "cbind") 1L else 2L
  parts <- lapply(values, selected)
  is_one <- !vapply(parts, is.null, NA)
  first <- within_axis(parts[is_one][[1L]])
  for (i in which(is_one)) {
    of_matrix <- length(shape(parts[[i]]$values)) == 2L
    if (length(shape(parts[[i]]$values)) > 2L || of_matrix && parts[[i]]$axis != axis) {
      abort_arg(
        paste0("..", i), paste("a selection of elements or of", if (axis == 1L) "rows" else "columns"),
        format(values[[i]])
      )
    }
    check_same_mask(first, within_axis(parts[[i]]))
    values[[i]] <- parts[[i]]$values
  }
  values[!is_one] <- lapply(values[!is_one], beside_selection, parts[is_one][[1L]])
  out <- do.call(how, c(values, deparse.level = 0), quote = TRUE)
  selection(out, first$mask, axis, !is.null(dimnames(out)))
}
