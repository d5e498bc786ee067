# Factors of traced codes beside other values, see mask-groups.R: as in R, they are their labels there.

# Called by Rust with list(name, operands, attributes, elementwise) of an op that compares a traced factor, or
# takes the first or last level of an ordered one.
on_factors <- function(call) {
  name <- call[[1L]]
  operands <- call[[2L]]
  op <- function(...) .External(anvil_op, name, ...)
  switch(name,
    eq = , ne = do.call(op, labels_alike(operands[[1L]], operands[[2L]], TRUE), quote = TRUE),
    isin = do.call(op, labels_alike(operands[[1L]], operands[[2L]]), quote = TRUE),
    reduce_max = , reduce_min = end_of_levels(op, operands[[1L]], call[[3L]]),
    in_order_of_levels(op, operands[[1L]], operands[[2L]])
  )
}

# The codes of a factor in its shape and with its names, as numbers. 0, or NaN, is the code of what is none of
# the levels.
bare_codes <- function(f) .External(anvil_op, "identity", f)

# Known values at the codes of a factor, in its shape; `none` where the code is that of no level.
at_codes <- function(f, values, none) {
  with_names_of(nv_reshape(nv_subset(value_of(array(c(none, values))), codes_of(f) + 1L), shape(f)), f)
}

# The numbers that labels say, NaN for other text.
numbers_of_labels <- function(labels) {
  out <- suppressWarnings(as.numeric(labels))
  replace(out, is.na(out) | as.character(out) != labels, NaN)
}

# Two values, of which one is a traced factor, as numbers that are equal where the labels are. What is none of
# the levels equals nothing. For `==` two factors must have the same levels, if not in the same order.
labels_alike <- function(x, y, by_equal_levels = FALSE) {
  if (!is_traced_factor(x)) return(rev(labels_alike(y, x, by_equal_levels)))
  labels <- as.vector(levels(x))
  if (is_traced_factor(y)) {
    others <- as.vector(levels(y))
    if (by_equal_levels && !setequal(labels, others)) abort_other_levels(labels, others)
    at <- match(others, labels, nomatch = -1L)
    if (!identical(labels, others)) return(list(bare_codes(x), at_codes(y, at, -1L)))
    codes <- bare_codes(y)
    return(list(bare_codes(x), nv_ifelse(codes > 0L, codes, -1L)))
  }
  if (is_traced(y)) {
    if (inherits(dtype(y), "BooleanType")) {
      at <- match(c("FALSE", "TRUE"), labels, nomatch = -1L)
      return(list(bare_codes(x), nv_ifelse(y, at[2L], at[1L])))
    }
    numbers <- numbers_of_labels(labels)
    if (all(is.nan(numbers))) abort_no_label(labels, y)
    return(list(at_codes(x, numbers, NaN), y))
  }
  list(bare_codes(x), codes_of_labels(y, labels))
}

# The codes of known labels in the shape that they have, -1 of what is no level. What holds no labels is left
# to the op.
codes_of_labels <- function(x, labels) {
  if (is_value(x)) x <- as_array(x)
  if (!is.atomic(x) || is.null(x)) return(x)
  codes <- match(as.character(x), labels, nomatch = -1L)
  if (length(dim(x))) array(codes, dim(x)) else codes
}

# `<` and its like of an ordered factor and one with the same levels, or labels. As `==`, they are FALSE of
# what is none of the levels.
in_order_of_levels <- function(op, x, y) {
  factors <- Filter(is_traced_factor, list(x, y))
  labels <- as.vector(levels(factors[[1L]]))
  for (f in factors) {
    if (!is_ordered(f)) check_no_factor(f, "operand")
    if (!identical(as.vector(levels(f)), labels)) abort_other_levels(labels, as.vector(levels(f)), "in order")
  }
  codes <- lapply(list(x, y), function(value) {
    if (is_traced_factor(value)) bare_codes(value) else level_numbers(value, labels)
  })
  out <- op(codes[[1L]], codes[[2L]])
  for (code in codes) if (is_traced(code)) out <- out & code > 0L
  out
}

# The numbers of the levels that values are, next to an ordered factor with these levels.
level_numbers <- function(x, labels) {
  if (is_traced(x)) {
    numbers <- numbers_of_labels(labels)
    known <- which(!is.nan(numbers))
    if (inherits(dtype(x), "BooleanType") || !length(known)) abort_no_label(labels, x)
    return(nv_reshape(taken_or_none(known, codes_among(x, numbers[known])), shape(x)))
  }
  if (is.factor(x)) {
    if (!is.ordered(x)) abort_arg("operand", "an ordered factor, or labels of one", describe(x))
    if (!identical(levels(x), labels)) abort_other_levels(labels, levels(x), "in order")
  }
  codes <- codes_of_labels(x, labels)
  if (is.numeric(codes) && any(codes < 0L)) abort_no_label(labels, as.vector(x)[codes < 0L][1L])
  codes
}

# The first or last level that is there, as a factor; none of the levels if an element is none.
end_of_levels <- function(op, f, attributes) {
  codes <- bare_codes(f)
  end <- do.call(op, c(list(nv_ifelse(codes > 0L, codes, NaN)), attributes), quote = TRUE)
  codes <- nv_convert(nv_ifelse(nv_is_nan(end) | nv_is_infinite(end), 0, end), "i32")
  factor_of(codes, levels(f))
}

# Traced values as codes of these levels, to be assigned to elements of a factor.
codes_to_assign <- function(value, labels) {
  if (is_traced_factor(value)) {
    return(at_codes(value, match(as.vector(levels(value)), labels, nomatch = 0L), 0L))
  }
  nv_convert(level_numbers(value, labels), "i32")
}

shown_labels <- function(labels) {
  shown <- paste0("\"", utils::head(labels, 5L), "\"", collapse = ", ")
  paste0(shown, if (length(labels) > 5L) ", ...")
}

abort_other_levels <- function(labels, others, which = NULL) {
  abort_arg(
    "operand", paste(c("a factor with the same levels", which), collapse = " "),
    paste0("one with the levels ", shown_labels(others), " beside one with ", shown_labels(labels)),
    "Give both the same: `factor(g, levels = levels(f))`."
  )
}

abort_no_label <- function(labels, x) {
  abort_arg(
    "operand", paste("a level of the factor,", shown_labels(labels)),
    if (is_traced(x)) paste("traced values of dtype", as.character(dtype(x))) else describe(x),
    "`as.integer(f)` are the codes of a factor."
  )
}
