# What functions of base R and stats give for a selection, see selection.R: reductions of its values, in which
# those that are not selected are what changes nothing.

# nolint start: object_name_linter. Names are those of R.

# The number of selected positions.
selected_count <- function(parts) nv_reduce_sum(parts$mask)

# A number that says how many elements are selected: a function of R that needs it says so, not that it is a
# traced value.
counted <- function(x) {
  attr(x, "of_selection") <- TRUE
  x
}

any_selection <- function(...) {
  for (i in seq_len(...length())) if (is_selection(...elt(i))) return(TRUE)
  FALSE
}

# What asks a selection for its size and gives it back. Other functions of R's or of ours compute with it.
askers <- list(nrow, ncol, NROW, NCOL, lapply, base::vapply, mapply)

#' @export
length.AnvilSelection <- function(x) {
  if (is_called_by_r(parent.frame(), TRUE, askers)) abort_concrete("length()", x)
  parts <- selected(x)
  others <- prod(shape(parts$values)[-parts$axis])
  counted(if (others == 1) selected_count(parts) else selected_count(parts) * as.integer(others))
}

#' @export
dim.AnvilSelection <- function(x) {
  if (is_called_by_r(parent.frame(), TRUE, askers)) abort_concrete("dim()", x)
  parts <- selected(x)
  sizes <- shape(parts$values)
  if (length(sizes) == 1L) return(NULL)
  sizes <- lapply(sizes, nv_scalar, dtype = "i32")
  masks <- if (parts$axis == no_axis) attr(parts$mask, "along") else setNames(list(parts$mask), parts$axis)
  sizes[as.integer(names(masks))] <- lapply(masks, nv_reduce_sum)
  counted(do.call(nv_stack, sizes))
}

# Names are known of all elements, not of those that are selected.
#' @export
names.AnvilSelection <- function(x) if (selected(x)$named) abort_concrete("names()", x)

#' @export
dimnames.AnvilSelection <- function(x) if (selected(x)$named) abort_concrete("dimnames()", x)

#' @export
`names<-.AnvilSelection` <- function(x, value) if (is.null(value)) x else abort_concrete("`names<-`", x)

#' @export
`dimnames<-.AnvilSelection` <- function(x, value) if (is.null(value)) x else abort_concrete("`dimnames<-`", x)

#' @export
`levels<-.AnvilSelection` <- function(x, value) abort_concrete("`levels<-`", x)

#' @method is.matrix AnvilSelection
#' @export
is.matrix.AnvilSelection <- function(x) length(shape(selected(x)$values)) == 2L

#' @method is.array AnvilSelection
#' @export
is.array.AnvilSelection <- function(x) length(shape(selected(x)$values)) > 1L

#' @export
format.AnvilSelection <- function(x, ...) {
  check_dots(..., .known = taken_by("format"))
  parts <- selected(x)
  type <- paste0(as.character(dtype(x)), if (ambiguous(x)) "?")
  sizes <- shape(parts$values)
  along <- if (parts$axis == no_axis) seq_along(sizes) else parts$axis
  sizes[along] <- paste0("?/", sizes[along])
  paste0("AnvilSelection(dtype=", type, ", shape=", paste(sizes, collapse = "x"), ")")
}

#' @export
print.AnvilSelection <- function(x, ...) {
  check_dots(..., .known = taken_by("print"))
  cat(format(x), "\n", sep = "")
  invisible(x)
}

setMethod("show", "AnvilSelection", function(object) print(object))

#' @export
str.AnvilSelection <- function(object, ...) {
  check_dots(..., .known = taken_by("str"))
  cat(" ", format(object), "\n", sep = "")
  invisible()
}

#' @export
summary.AnvilSelection <- function(object, ...) {
  check_dots(..., .known = c(taken_by("summary"), "maxsum"))
  values <- selected(object)$values
  is_no_number <- inherits(dtype(values), c("BooleanType", "ComplexType")) || !is.null(levels(object))
  if (is_no_number || ndims(values) > 1L) abort_concrete("summary()", object)
  summary_of(quantile(object, na.rm = TRUE, names = FALSE), mean(object, na.rm = TRUE))
}

# ---- reductions --------------------------------------------------------------------------------------------

# The result of a reduction over axes: over others than that of the mask, it is a selection too.
reduced <- function(out, parts, axes, drop = TRUE) {
  rank <- length(shape(parts$values))
  axes <- axes %||% seq_len(rank)
  axes <- ifelse(axes < 0, rank + 1L + axes, axes)
  if (parts$axis %in% axes) return(out)
  if (parts$axis == no_axis) return(reduced_along(out, attr(parts$mask, "along"), axes, drop))
  new_selection(out, parts$mask, parts$axis - if (drop) sum(axes < parts$axis) else 0L)
}

# The same by masks of several axes: by those of the axes that are left.
reduced_along <- function(out, masks, axes, drop) {
  left <- masks[!names(masks) %in% axes]
  if (!length(left)) return(out)
  at <- as.integer(names(left))
  if (drop) at <- at - vapply(at, function(axis) sum(unique(axes) < axis), 0L)
  if (length(left) == 1L) return(selection(out, left[[1L]], at))
  selection(out, mask_of_axes(setNames(left, at), shape(out)), no_axis)
}

# What changes nothing in a reduction, of a type; the largest and smallest are those of no elements.
neutral <- function(generic, dtype) {
  switch(generic,
    sum = , any = nv_scalar(0, dtype),
    prod = , all = nv_scalar(1, dtype),
    max = nv_reduce_max(nv_empty(dtype, 0L)),
    min = nv_reduce_min(nv_empty(dtype, 0L))
  )
}

#' @export
Summary.AnvilSelection <- function(..., na.rm = FALSE, axes = NULL, drop = TRUE) {
  check_dots(..., .values = TRUE, .named = TRUE)
  check_flag("na.rm", na.rm)
  summary_of_selections(.Generic, unname(list(...)), list(na.rm = na.rm, axes = axes, drop = drop))
}

# What which() gives.
are_positions <- function(x) is_selection(x) && !is.null(attr(x, "which"))

# sum() and its like of values among which are selections.
summary_of_selections <- function(generic, values, args) {
  if (generic == "range") {
    return(nv_stack(summary_of_selections("min", values, args), summary_of_selections("max", values, args)))
  }
  parts <- lapply(values, selected)
  is_one <- !vapply(parts, is.null, NA)
  factor <- Find(function(part) !is.null(levels(part$values)), parts)
  if (!is.null(factor)) {
    if (length(parts) > 1L || !is_ordered(factor$values) || !generic %in% c("max", "min")) {
      check_no_factor(factor$values)
    }
    # What is not selected is none of the levels.
    codes <- nv_ifelse(factor$mask, codes_of(factor$values), 0L)
    return(do.call(generic, list(factor_of(codes, levels(factor$values)), na.rm = TRUE), quote = TRUE))
  }
  # Of no positions R has Inf or -Inf, which no integer is: the lowest would be taken for one.
  if (generic %in% c("max", "min") && all(vapply(values, are_positions, NA))) {
    return(do.call(generic, c(lapply(values, function(x) x + 0), args), quote = TRUE))
  }
  values[is_one] <- lapply(parts[is_one], `[[`, "values")
  # Of one type before they are filled: the lowest of one is not that of another.
  if (length(values) > 1L) values <- do.call(nv_promote_to_common, lapply(values, as_operand))
  for (i in which(is_one)) {
    parts[[i]]$values <- values[[i]]
    fill <- nv_convert(neutral(generic, dtype(values[[i]])), dtype(values[[i]]), ambiguous(values[[i]]))
    values[[i]] <- filled(parts[[i]], fill)
  }
  out <- do.call(generic, c(values, args), quote = TRUE)
  if (length(values) == 1L) reduced(out, parts[[1L]], args$axes, args$drop) else out
}

# The parts of a selection, as floats.
floats_of <- function(x) {
  parts <- selected(x)
  parts$values <- .External(anvil_op, "floats", parts$values)
  parts
}

# The mean of selected values that are floats or complex; as nv_mean(), rounded once.
mean_of <- function(parts, axes = NULL, drop = TRUE, na_rm = FALSE) {
  x <- parts$values
  is_half <- as.character(dtype(x)) %in% c("f16", "bf16")
  if (is_half) x <- nv_convert(x, "f32")
  kept <- mask_along(parts$mask, shape(x), parts$axis)
  if (na_rm) kept <- kept & !nv_is_nan(x)
  out <- nv_reduce_sum(nv_ifelse(kept, x, 0), axes, drop) / nv_reduce_sum(kept, axes, drop)
  if (is_half) nv_convert(out, dtype(parts$values), ambiguous(parts$values)) else out
}

#' @export
mean.AnvilSelection <- function(x, axes = NULL, drop = TRUE, trim = 0, na.rm = FALSE, ...) {
  check_dots(...)
  check_flag("na.rm", na.rm)
  if (!is_numeric(trim) || !identical(as.double(trim), 0)) {
    abort_arg("trim", "0", describe(trim), "There is no trimmed mean of a selection.")
  }
  parts <- floats_of(x)
  reduced(mean_of(parts, axes, drop, na.rm), parts, axes, drop)
}

#' @method weighted.mean AnvilSelection
#' @export
weighted.mean.AnvilSelection <- function(x, w = NULL, ..., na.rm = FALSE) {
  check_dots(...)
  check_flag("na.rm", na.rm)
  if (is.null(w)) return(mean(x, na.rm = na.rm))
  if (!is_selection(w)) abort_arg("w", "a selection by the same mask", describe(w))
  parts <- floats_of(x)
  weights <- floats_of(w)
  check_same_mask(parts, weights)
  nv_weighted_mean(parts$values, filled(weights, 0), na_rm = na.rm)
}

# A statistic that leaves out NaN, of what is selected; NaN, if NaN is selected and counts.
without_unselected <- function(x, na_rm, statistic) {
  check_flag("na.rm", na_rm)
  parts <- floats_of(x)
  if (length(shape(parts$values)) > 1L) parts <- flat_parts(parts)
  out <- statistic(filled(parts, NaN))
  if (na_rm) return(out)
  nv_ifelse(nv_reduce_any(nv_is_nan(parts$values) & parts$mask), NaN, out)
}

# All elements of rows or columns, as those of a vector.
flat_parts <- function(parts) {
  mask <- as_flat(mask_along(parts$mask, shape(parts$values), parts$axis))
  list(values = as_flat(parts$values), mask = mask, axis = 1L)
}

#' @method var AnvilSelection
#' @export
var.AnvilSelection <- function(x, y = NULL, na.rm = FALSE, use = NULL) {
  if (!is.null(y) || is_rows(x)) return(cov(x, y, use %||% if (na.rm) "na.or.complete" else "everything"))
  complete <- na.rm || !is.null(use) && leaves_out(use)
  variance_of(x, complete)
}

# The variance of what is selected, in two passes, each of which leaves out what is not.
variance_of <- function(x, na_rm, of = identity) {
  check_flag("na.rm", na_rm)
  parts <- floats_of(x)
  whole <- parts$values
  if (as.character(dtype(whole)) %in% c("f16", "bf16")) parts$values <- nv_convert(whole, "f32")
  if (length(shape(whole)) > 1L) parts <- flat_parts(parts)
  kept <- parts$mask
  if (na_rm) kept <- kept & !nv_is_nan(parts$values)
  count <- nv_reduce_sum(kept)
  apart <- parts$values - nv_reduce_sum(nv_ifelse(kept, parts$values, 0)) / count
  squares <- if (is_complex_value(apart)) Mod(apart)^2 else apart * apart
  out <- of(nv_ifelse(count > 1L, nv_reduce_sum(nv_ifelse(kept, squares, 0)) / (count - 1L), NaN))
  if (identical(dtype(parts$values), dtype(whole))) out else nv_convert(out, dtype(whole), ambiguous(whole))
}

is_rows <- function(x) is_selection(x) && is.matrix(x)

#' @method sd AnvilSelection
#' @export
sd.AnvilSelection <- function(x, na.rm = FALSE) {
  variance_of(x, na.rm, sqrt)
}

#' @export
median.AnvilSelection <- function(x, na.rm = FALSE, ...) {
  check_dots(...)
  without_unselected(x, na.rm, function(values) nv_median(values, na_rm = TRUE))
}

#' @export
quantile.AnvilSelection <- function(x, probs = seq(0, 1, 0.25), na.rm = FALSE, names = TRUE, type = 7, ...) {
  labels <- NULL
  out <- without_unselected(x, na.rm, function(values) {
    out <- quantile.AnvilValue(values, probs, na.rm = TRUE, names = names, type = type, ...)
    labels <<- names(out)
    out
  })
  if (!is.null(labels)) names(out) <- labels
  out
}

#' @method IQR AnvilSelection
#' @export
IQR.AnvilSelection <- function(x, na.rm = FALSE, type = 7) {
  without_unselected(x, na.rm, function(values) IQR.AnvilValue(values, na.rm = TRUE, type = type))
}

#' @method fivenum AnvilSelection
#' @export
fivenum.AnvilSelection <- function(x, na.rm = TRUE) {
  without_unselected(x, na.rm, function(values) fivenum.AnvilValue(values, na.rm = TRUE))
}

#' @export
anyNA.AnvilSelection <- function(x, recursive = FALSE) any(nv_is_nan(x))

# The parts of a selection of rows, or of elements as one column, for statistics of columns that leave out
# rows with NaN: those that are not selected are NaN. NaN that is selected is 0 there, and its columns are
# `broken`, unless its rows are left out too.
observed <- function(x, arg, complete) {
  if (!is_selection(x)) abort_arg(arg, "a selection by the same mask", describe(x))
  parts <- floats_of(x)
  if (parts$axis != 1L || length(shape(parts$values)) > 2L) {
    abort_arg(arg, "a selection of elements or of rows", format(x))
  }
  parts$columns <- colnames(parts$values)
  if (!complete) {
    is_nan <- nv_is_nan(parts$values)
    selected_nan <- is_nan & mask_along(parts$mask, shape(parts$values), 1L)
    parts$broken <- nv_reduce_any(selected_nan, axes = 1L)
    parts$values <- nv_ifelse(is_nan, 0, parts$values)
  }
  parts$values <- filled(parts, NaN)
  parts
}

# Covariances or correlations of columns. As in R, a column is like itself whatever it holds: `alike` are the
# correlations of one selection.
of_columns <- function(x, y, use, statistic, alike = FALSE) {
  complete <- leaves_out(use)
  x <- observed(x, "x", complete)
  if (!is.null(y)) {
    y <- observed(y, "y", complete)
    check_same_mask(x, y)
  }
  out <- statistic(x$values, y$values, na_rm = TRUE)
  if (!complete) {
    broken <- outer_or(x$broken, (y %||% x)$broken, shape(out))
    if (alike) broken <- broken & nv_eye(nrow(out)) == 0
    out <- nv_ifelse(broken, NaN, out)
  }
  if (length(shape(out)) < 2L) out else with_names(out, list(x$columns, (y %||% x)$columns))
}

# Whether the one of rows or the one of columns is TRUE.
outer_or <- function(rows, columns, sizes) {
  if (!length(sizes)) return(rows | columns)
  over <- function(x, axis) nv_broadcast_in_dim(nv_reshape(x, sizes[axis]), sizes, axis)
  over(rows, 1L) | over(columns, 2L)
}

#' @method cov AnvilSelection
#' @export
cov.AnvilSelection <- function(x, y = NULL, use = "everything", method = "pearson") {
  chosen("method", method, "pearson")
  if (is.null(y) && !is_rows(x)) {
    abort_arg("x", "a matrix if there is no `y`", "a vector", "`var(x)` takes a vector.")
  }
  of_columns(x, y, use, nv_cov)
}

#' @method cor AnvilSelection
#' @export
cor.AnvilSelection <- function(x, y = NULL, use = "everything", method = "pearson") {
  chosen("method", method, "pearson")
  if (is.null(y) && !is_rows(x)) abort_arg("x", "a matrix if there is no `y`", "a vector")
  of_columns(x, y, use, nv_cor, alike = is.null(y))
}

# ---- rows and columns --------------------------------------------------------------------------------------

# The axes that rowSums() and its like reduce, of a matrix.
checked_rows <- function(x, dims, axis) {
  if (!identical(as.double(dims), 1)) abort_arg("dims", "1 for a selection", describe(dims))
  if (is_rows(x)) return(axis)
  abort_arg("x", "a selection of rows or columns", format(x), "`X[mask, ]` selects rows.")
}

# One value for each column of selected rows, with its name.
of_named_columns <- function(out, x) {
  if (is_selection(out)) out else with_names(out, list(colnames(selected(x)$values)))
}

#' @method colSums AnvilSelection
#' @export
colSums.AnvilSelection <- function(x, na.rm = FALSE, dims = 1L) {
  of_named_columns(sum(x, axes = checked_rows(x, dims, 1L), na.rm = na.rm), x)
}

#' @method rowSums AnvilSelection
#' @export
rowSums.AnvilSelection <- function(x, na.rm = FALSE, dims = 1L) {
  sum(x, axes = checked_rows(x, dims, 2L), na.rm = na.rm)
}

#' @method colMeans AnvilSelection
#' @export
colMeans.AnvilSelection <- function(x, na.rm = FALSE, dims = 1L) {
  of_named_columns(mean(x, axes = checked_rows(x, dims, 1L), na.rm = na.rm), x)
}

#' @method rowMeans AnvilSelection
#' @export
rowMeans.AnvilSelection <- function(x, na.rm = FALSE, dims = 1L) {
  mean(x, axes = checked_rows(x, dims, 2L), na.rm = na.rm)
}

#' @export
t.AnvilSelection <- function(x) {
  parts <- selected(x)
  rank <- length(shape(parts$values))
  if (rank > 2L) abort_arg("x", "a vector or a matrix", format(x))
  if (parts$axis == no_axis) {
    masks <- attr(parts$mask, "along")
    names(masks) <- 3L - as.integer(names(masks))
    return(new_selection(t(parts$values), mask_of_axes(masks, rev(shape(parts$values))), no_axis))
  }
  new_selection(t(parts$values), parts$mask, if (rank == 1L) 2L else 3L - parts$axis)
}

#' @method sweep AnvilSelection
#' @export
sweep.AnvilSelection <- function(x, MARGIN, STATS, FUN = "-", check.margin = TRUE, ...) {
  FUN <- function_of(FUN)
  parts <- selected(x)
  check_one_axis(parts, "sweep()")
  sizes <- shape(parts$values)
  MARGIN <- checked_margin(MARGIN, parts$values, "MARGIN")
  if (length(MARGIN) != 1L) abort_arg("MARGIN", "one axis of a selection", describe(MARGIN))
  if (MARGIN == parts$axis) {
    # A number for each selected position.
    stats <- selected(STATS)
    if (is.null(stats)) abort_arg("STATS", "a selection by the same mask", describe(STATS))
    check_same_mask(list(mask = parts$mask, axis = 1L), stats)
    stats <- stats$values
  } else {
    if (is_selection(STATS) || !is_operand(STATS) || length(STATS) != sizes[MARGIN]) {
      abort_arg("STATS", paste(sizes[MARGIN], "numbers, as many as `MARGIN` has"), describe(STATS))
    }
    stats <- nv_reshape(as_operand(STATS), sizes[MARGIN])
  }
  FUN(x, selection(nv_broadcast_in_dim(stats, sizes, MARGIN), parts$mask, parts$axis), ...)
}

# The axes that products sum over: of the first operand, of the second; NA is the last one of a matrix and the
# only one of a vector.
contracted_axes <- list(matrix_product = c(NA, 1L), crossprod = c(1L, 1L), tcrossprod = c(2L, 2L))

# What is not selected adds nothing to a product that sums over it; a product that does not is a selection of
# its rows or columns.
selected_product <- function(name, operands) {
  parts <- lapply(operands, selected)
  is_one <- !vapply(parts, is.null, NA)
  axes <- contracted_axes[[name]]
  given <- operands
  sums_over <- logical(2L)
  for (i in which(is_one)) {
    check_one_axis(parts[[i]], "A product of matrices")
    rank <- length(shape(parts[[i]]$values))
    sums_over[i] <- parts[[i]]$axis == if (is.na(axes[i])) rank else axes[i]
    names <- axis_names(parts[[i]]$values)
    # Which rows there are is not known, but all columns are.
    if (rank == 2L && length(names)) names[parts[[i]]$axis] <- list(NULL)
    zero <- nv_scalar(0, dtype(parts[[i]]$values), ambiguous(parts[[i]]$values))
    operands[[i]] <- with_names(unname(filled(parts[[i]], zero)), if (rank == 2L) names)
  }
  product <- function() .External(anvil_op, name, operands[[1L]], operands[[2L]])
  if (all(sums_over)) {
    check_same_mask(within_axis(parts[[1L]]), within_axis(parts[[2L]]))
    return(product())
  }
  if (sum(is_one) != 1L || any(sums_over)) refuse_selections(name, given)
  new_selection(product(), parts[[which(is_one)]]$mask, which(is_one))
}

within_axis <- function(parts) list(mask = parts$mask, axis = 1L)

# ---- elements ----------------------------------------------------------------------------------------------

#' @method pmax AnvilSelection
#' @export
pmax.AnvilSelection <- function(..., na.rm = FALSE) extremes_of_selections(list(...), na.rm, nv_max)

#' @method pmin AnvilSelection
#' @export
pmin.AnvilSelection <- function(..., na.rm = FALSE) extremes_of_selections(list(...), na.rm, nv_min)

extremes_of_selections <- function(values, na.rm, op) {
  if (!isFALSE(na.rm)) abort_arg("na.rm", "FALSE for a selection", describe(na.rm))
  Reduce(op, values)
}

#' @method ifelse AnvilSelection
#' @export
ifelse.AnvilSelection <- function(test, yes, no) {
  nv_ifelse(if (is.logical(test)) test else test != 0, yes, no)
}

# nolint end

# apply() to the lines of what is selected: any function of those along the axis of the selection, each of
# which is a selection; sums and means of those that are selected. NULL of anything else.
applied_to_lines <- function(x, margin, f, ..., simplify = TRUE) {
  parts <- selected(x)
  is_line <- is_whole(margin) && margin %in% 1:2 && length(shape(parts$values)) == 2L
  if (!is_line) return(NULL)
  if (!...length() && is_function_of_r(f, "sum")) return(if (margin == 1) rowSums(x) else colSums(x))
  if (!...length() && is_function_of_r(f, "mean")) return(if (margin == 1) rowMeans(x) else colMeans(x))
  if (parts$axis != 3L - margin) return(NULL)
  count <- shape(parts$values)[margin]
  line <- function(i) if (margin == 1) x[i, , drop = TRUE] else x[, i, drop = TRUE]
  answers <- lapply(seq_len(count), function(i) f(line(i), ...))
  over_margin(answers, count, simplify, dimnames(parts$values)[margin])
}
