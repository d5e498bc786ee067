# Data frames of traced columns in a traced function, see mask.R: their rows by what is computed, their
# comparisons, and data frames one below the other. R looks for methods of its generics where these are
# called, so that the mask's methods are found before those of base R.

# nolint start: object_name_linter. Arguments have the names that they have in base R.

# R's own method with the arguments that were not left out. NextMethod() in it needs the call by name.
own_frame_method <- function(name, ..., given) {
  eval(as.call(c(as.name(name), given)), list(...), baseenv())
}

# The arguments of a subscript: `i`, `j` and `drop` where they are written, empty where they are left out.
subscripts_given <- function(count, no_i, no_j, no_drop) {
  c(
    list(quote(x)), if (count > 1L) list(if (no_i) quote(expr = ) else quote(i)),
    if (count > 2L) list(if (no_j) quote(expr = ) else quote(j)), if (!no_drop) list(drop = quote(drop))
  )
}

# Rows of a data frame where a computed mask holds, or at computed positions.
rows_of_frame <- function(x, i) {
  if (is_traced(i) && ndims(i) > 1L) abort_concrete("`[`", i)
  is_mask <- is_traced(i) && inherits(dtype(i), "BooleanType")
  if (is_mask && length(i) != nrow(x)) {
    abort_arg("i", paste("as long as there are rows,", nrow(x)), paste("of length", length(i)))
  }
  if (is_mask) return(rows_where(x, i))
  if (is_traced(i) && !is_selection(i)) {
    # A subscript knows whether it is written as `-i`, which leaves rows out.
    rows <- nv_iota(1L, "i32", nrow(x))[i]
    if (is_selection(rows)) return(rows_where(x, selected(rows)$mask))
    if (ndims(rows) > ndims(i)) i <- rows
  }
  column <- function(v) {
    if (!is_value(v)) v <- column_value(v)
    if (length(dim(v)) == 2L) v[i, , drop = FALSE] else as_flat(v)[i]
  }
  if (is_traced(i)) i <- as_flat(i)
  columns <- lapply(unclass(x), column)
  if (is_selection(i)) frame_rows(columns) else frame_of(columns, length(i))
}

frame_of <- function(columns, count = NROW(columns[[1L]])) {
  structure(columns, class = "data.frame", row.names = .set_row_names(count))
}

# What `value` assigns to each of `count` columns.
values_of_columns <- function(value, count) {
  if (is_selection(value)) return(rep(list(value), count))
  if (is.list(value)) return(rep_len(unclass(value), count))
  if (length(dim(value)) != 2L) return(rep(list(value), count))
  if (ncol(value) != count) {
    abort_arg("value", paste("a matrix of", count, "columns"), shown_shape(value))
  }
  lapply(seq_len(count), function(k) value[, k])
}

# Columns of a data frame by subscript; new ones have names that are not there yet.
column_names <- function(x, j) {
  if (is.character(j)) return(j)
  if (is_value(j)) abort_concrete("`[<-`", j)
  names <- names(x)[j]
  if (!anyNA(names)) return(names)
  abort_arg("j", paste("columns from 1 to", length(x), "or names"), describe(j))
}

# x[i, j] <- value, with all rows if `i` is NULL.
assigned_rows <- function(x, i, j, value) {
  names <- column_names(x, j)
  values <- values_of_columns(value, length(names))
  for (k in seq_along(names)) {
    old <- x[[names[k]]]
    new <- values[[k]]
    if (is.null(i)) {
      new <- if (length(new) == nrow(x)) new else filling(as_flat(value_of(as_operand(new))), nrow(x))
    } else {
      if (is.factor(old) || is.character(old)) old <- column_value(old)
      if (!is.null(levels(old)) && is.character(new)) new <- match(new, levels(old))
      new <- with_levels(assigned(old %||% rep(NA_real_, nrow(x)), new, FALSE, i), old)
    }
    x <- base::`[[<-.data.frame`(x, names[k], value = new)
  }
  x
}

# The same with known rows. The elements of a vector go to one column after the other, as in R, and rows
# beyond the last become new ones, if all columns are assigned.
assigned_cells <- function(x, i, names, value) {
  count <- nrow(x)
  at <- if (is.numeric(i) && all(i > 0)) i else setNames(seq_len(count), row.names(x))[i]
  if (is.null(i)) at <- seq_len(count)
  if (anyNA(at)) abort_arg("i", "rows that the data frame has", describe(i))
  if (is_traced(value) && length(value) > 1L) {
    sizes <- c(length(at), length(names))
    value <- nv_reshape(fitted_value(as_flat(value), sizes), sizes)
  }
  if (max(at, 0) > count) {
    if (!setequal(names, names(x))) abort_arg("i", "rows that the data frame has", describe(i))
    grow <- function(old, new) with_rows(old, new, at, count)
    columns <- Map(grow, unclass(x)[names], values_of_columns(value, length(names)))
    out <- frame_of(columns[names(x)], max(at))
    # As R numbers them, which are then names of rows.
    rows <- attr(x, "row.names")
    attr(out, "row.names") <- if (is.character(rows)) c(rows, seq(count + 1L, max(at))) else seq_len(max(at))
    return(out)
  }
  assigned_rows(x, unname(at), names, value)
}

# A column with more rows. One that is traced has no places beyond its last: what follows is joined to it.
with_rows <- function(old, new, at, count) {
  follows <- identical(as.double(at), count + as.double(seq_along(at)))
  if (!follows || !is_traced(old) || is_traced_factor(old)) return(assigned(old, new, FALSE, at))
  c(as_flat(old), rep_len(as_flat(value_of(as_operand(new))), length(at)))
}

with_levels <- function(x, old) if (is.null(levels(old))) x else factor_of(x, levels(old))

# `x[i, j] <- value`, or `x[i] <- value`, as mask-assign.R has it for data frames.
assigned_in_frame <- function(x, i, j, value) {
  of_rows <- nargs() > 3L
  computed <- !missing(i) && (is_traced(i) || is_selection(i))
  is_matrix <- is_traced(value) && ndims(value) == 2L
  if (of_rows && (computed || is_matrix)) {
    return(assigned_rows(x, if (!missing(i)) i, if (missing(j)) seq_along(x) else j, value))
  }
  if (!of_rows && computed && ndims(i) == 2L) {
    for (k in seq_along(x)) {
      x[[k]] <- with_levels(assigned(x[[k]], value, FALSE, i[, k]), x[[k]])
    }
    return(x)
  }
  if (!of_rows && is_matrix) return(assigned_rows(x, NULL, if (missing(i)) seq_along(x) else i, value))
  if (of_rows && (is_traced(value) || is.list(value) && holds_tracer(value))) {
    i <- if (!missing(i)) i
    return(assigned_cells(x, i, column_names(x, if (missing(j)) seq_along(x) else j), value))
  }
  given <- subscripts_given(if (of_rows) 3L else 2L, missing(i), missing(j), TRUE)
  if (missing(i)) i <- NULL
  if (missing(j)) j <- NULL
  own_frame_method("[<-.data.frame", x = x, i = i, j = j, value = value, given = c(
    given, list(value = quote(value))
  ))
}

# An operand as the matrix that an operator of data frames takes: R repeats a vector down the columns.
operand_of_frame <- function(x, sizes) {
  if (is.data.frame(x)) return(as_matrix_of_values(x))
  if (is_value(x) || length(x) == 1L) x else array(rep_len(x, prod(sizes)), sizes)
}

# Where no column has NaN or NA.
complete_rows <- function(columns) {
  Reduce(`&`, lapply(columns, function(x) {
    missing <- is.na(x)
    !(if (length(dim(missing)) == 2L) rowSums(missing) > 0 else missing)
  }))
}

# Data frames one below the other; the columns of the first are found in the others by name.
bound_frames <- function(frames) {
  frames <- frames[!vapply(frames, function(x) is.null(x) || is.data.frame(x) && !length(x), NA)]
  first <- Find(is.data.frame, frames)
  names <- names(first)
  columns_in <- function(x) {
    if (inherits(x, "AnvilRows")) abort_concrete("rbind()", x[[1L]])
    if (!is.list(x)) x <- as.list(x)
    if (length(x) != length(names)) {
      abort_arg("...", paste("data frames of", length(names), "columns"), paste("one of", length(x)))
    }
    if (is.null(names(x))) return(setNames(unclass(x), names))
    lost <- setdiff(names, names(x))
    if (length(lost)) {
      abort_arg("...", paste0("data frames with a column `", lost[1L], "`"), "one without it")
    }
    unclass(x)[names]
  }
  parts <- lapply(unname(frames), columns_in)
  columns <- lapply(setNames(nm = names), function(name) joined_columns(lapply(parts, `[[`, name)))
  frame_of(columns)
}

# The parts of one column, one after the other: of factors with the levels of all of them.
joined_columns <- function(parts) {
  levels <- lapply(parts, function(x) if (is.character(x)) unique(x) else plain_levels(x))
  if (!any(lengths(levels))) return(if (any_traced_in(parts)) unname(joined(parts)) else unlist(parts))
  if (!any_traced_in(parts)) return(do.call(c, parts))
  all <- unique(unlist(levels))
  codes <- Map(function(x, own) {
    if (is.factor(x) || is.character(x)) return(array(match(as.character(x), all, nomatch = 0L)))
    if (is.null(own)) abort_arg("...", "factors in the same column", "numbers beside a factor")
    taken_or_none(match(own, all), codes_of(x))
  }, parts, levels)
  is_one <- vapply(parts, function(x) is.ordered(x) || is_ordered(x), NA) & vapply(levels, identical, NA, all)
  with_order(factor_of(joined(codes), all), all(is_one))
}

# ---- rows of a data frame ----------------------------------------------------------------------------------

# Rows of a data frame with traced columns where a mask holds: its columns, each a selection.
frame_rows <- function(columns) structure(columns, class = "AnvilRows")

#' @export
dim.AnvilRows <- function(x) {
  first <- unclass(x)[[1L]]
  counted(nv_stack(selected_count(selected(first)), nv_scalar(length(unclass(x)), "i32")))
}

#' @export
`[.AnvilRows` <- function(x, i, j, drop = TRUE) {
  subscripts <- nargs() - 1L - !missing(drop)
  if (subscripts == 2L && !missing(i)) {
    given <- unclass(x)[if (missing(j)) TRUE else j]
    rows <- lapply(given, function(column) column[i])
    if (length(rows) == 1L && drop) return(rows[[1L]])
    # One row is a data frame, too.
    rows <- lapply(rows, function(x) if (is_selection(x)) x else with_levels(as_flat(x), x))
    return(if (any_selection_in(rows)) frame_rows(rows) else frame_of(rows, length(rows[[1L]])))
  }
  columns <- if (subscripts == 1L) i else if (!missing(j)) j
  if (is.null(columns) || is_value(columns)) {
    abort_arg("i", "columns, or rows with a comma", describe(columns), "Subscript rows as `d[i, ]`.")
  }
  if (length(columns) == 1L && subscripts == 2L && drop) x[[columns]] else frame_rows(unclass(x)[columns])
}

#' @export
as.matrix.AnvilRows <- function(x, ...) {
  check_dots(...)
  do.call(cbind, lapply(unclass(x), value_without_levels), quote = TRUE)
}

value_without_levels <- function(x) {
  if (is.null(levels(x))) return(x)
  abort_arg("x", "rows of numbers", "rows with a factor", "Take columns, as `d[c(\"x\", \"y\")]`.")
}

#' @export
print.AnvilRows <- function(x, ...) {
  check_dots(..., .known = taken_by("print"))
  for (name in names(x)) cat("$", name, " ", format(x[[name]]), "\n", sep = "")
  invisible(x)
}

# ---- what the mask binds -----------------------------------------------------------------------------------

mask_frames <- list(
  `[.data.frame` = function(x, i, j, drop) {
    count <- nargs() - !missing(drop)
    computed <- count > 2L && !missing(i) && (is_traced(i) || is_selection(i))
    if (!computed) {
      given <- subscripts_given(count, missing(i), missing(j), missing(drop))
      if (missing(i)) i <- NULL
      if (missing(j)) j <- NULL
      if (missing(drop)) drop <- NULL
      return(own_frame_method("[.data.frame", x = x, i = i, j = j, drop = drop, given = given))
    }
    rows <- rows_of_frame(if (missing(j)) x else x[j], i)
    if (missing(drop)) drop <- length(unclass(rows)) == 1L
    if (drop && length(unclass(rows)) == 1L) rows[[1L]] else rows
  },

  Ops.data.frame = function(e1, e2 = NULL) {
    compares <- .Generic %in% c("==", "!=", "<", "<=", ">", ">=", "&", "|", "!")
    if (compares && (is_traced_frame(e1) || is_traced_frame(e2))) {
      sizes <- dim(if (is.data.frame(e1)) e1 else e2)
      first <- operand_of_frame(e1, sizes)
      f <- get(.Generic, baseenv())
      return(if (nargs() == 1L) f(first) else f(first, operand_of_frame(e2, sizes)))
    }
    own <- base::Ops.data.frame
    # It reads what dispatch says of the call.
    environment(own) <- list2env(list(.Generic = .Generic, .Method = .Method), parent = baseenv())
    if (nargs() == 1L) own(e1) else own(e1, e2)
  },

  transform = function(`_data`, ...) {
    if (!is_traced_frame(`_data`)) return(own_call("transform", sys.call(), parent.frame()))
    new <- eval(substitute(list(...)), unclass(`_data`), parent.frame())
    for (name in names(new)) `_data`[[name]] <- new[[name]]
    `_data`
  },

  na.omit = function(object, ...) {
    if (!is_traced_frame(object)) return(called_from("na.omit", parent.frame())(object, ...))
    rows_where(object, complete_rows(unclass(object)))
  },

  `contrasts<-` = function(x, how.many = NULL, value) {
    if (!is_traced(x)) return(stats::`contrasts<-`(x, how.many, value))
    if (!is_traced_factor(x)) abort_arg("x", "a factor", "a traced value that is none")
    levels <- as.vector(levels(x))
    known <- by_r("value", stats::`contrasts<-`(factor(levels, levels), how.many, value))
    attr(attr(x, "levels"), "contrasts") <- attr(known, "contrasts")
    x
  },

  # R repeats the elements of its own vectors alone.
  data.frame = function(...) {
    if (!any_traced(...)) return(data.frame(...))
    values <- list_dots(...)
    names <- names(values) %||% character(length(values))
    are_columns <- !names %in% setdiff(names(formals(data.frame)), "...")
    count <- max(vapply(values[are_columns], NROW, 0L))
    is_short <- are_columns & vapply(values, function(x) {
      is_traced(x) && ndims(x) < 2L && length(x) < count && count %% max(length(x), 1L) == 0L
    }, NA)
    if (!any(is_short)) return(data.frame(...))
    written <- as.list(substitute(list(...)))[-1L]
    unnamed <- which(are_columns & names == "" & lengths(lapply(values, dim)) < 2L)
    names[unnamed] <- vapply(written[unnamed], deparse1, "")
    values[is_short] <- lapply(values[is_short], rep_len, count)
    do.call(data.frame, setNames(values, names), quote = TRUE)
  },

  rbind = function(..., deparse.level = 1) {
    frames <- list_dots(...)
    if (any(vapply(frames, function(x) is_traced_frame(x) || inherits(x, "AnvilRows"), NA))) {
      return(bound_frames(frames))
    }
    rbind(..., deparse.level = deparse.level)
  },

  rowsum = function(x, group, ...) {
    if (is_traced_frame(x)) {
      sums <- rowsum.AnvilValue(as_matrix_of_values(x), group, ...)
      columns <- lapply(setNames(seq_along(x), names(x)), function(k) unname(sums[, k]))
      return(structure(frame_of(columns), row.names = rownames(sums)))
    }
    if (is_traced(group) && is_r_vector(x)) x <- value_of(as_operand(x))
    if (is.list(x) && holds_tracer(x)) abort_arg("x", "a vector, a matrix or a data frame", describe(x))
    called_from("rowsum", parent.frame())(x, group, ...)
  },

  stack = function(x, ...) {
    if (!is_traced_frame(x) && !(is.list(x) && !is.object(x) && holds_tracer(x))) {
      return(called_from("stack", parent.frame())(x, ...))
    }
    check_dots(...)
    x <- Filter(function(v) is.null(levels(v)) && !is.character(v), as.list(x))
    names <- factor(rep(names(x), lengths(x)), unique(names(x)))
    frame_of(list(values = unname(joined(unname(x))), ind = names))
  }
)

# nolint end
