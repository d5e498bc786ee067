# Tensors of data frames, factors and times.

# The kinds of numbers, in the order in which those of several columns become one.
number_kinds <- c("logical", "integer", "integer64", "double", "time", "complex")
whole_kinds <- number_kinds[1:3]

# A vector or a column as list(kind, data), data being bare numbers with shape and names. `arg` says which it
# is.
plain_data <- function(x, arg) {
  refuse <- function(hint) abort_arg(arg, "numbers, logicals, a factor or times", describe(x), hint)
  if (inherits(x, "factor")) return(list(kind = "integer", data = bare(as.integer(x), x)))
  if (inherits(x, "POSIXlt")) x <- as.POSIXct(x)
  if (inherits(x, c("Date", "POSIXct", "difftime"))) {
    return(list(kind = "time", data = bare(as.double(x), x)))
  }
  if (inherits(x, "integer64")) return(list(kind = "integer64", data = x))
  if (is.character(x)) refuse("Make it a factor with `factor()`, or leave it out.")
  if (!is.atomic(x) || is.null(x)) refuse("Leave it out, or take numbers out of it.")
  if (is_own_object(x) && !inherits(x, c("AsIs", "ts", "table"))) {
    refuse("Use `unclass()` or `as.numeric()` first.")
  }
  kind <- switch(typeof(x), logical = , integer = , complex = typeof(x), raw = "integer", "double")
  list(kind = kind, data = bare(if (is.raw(x)) as.integer(x) else as.vector(x), x))
}

# Values with the shape and the names of an object.
bare <- function(values, x) {
  if (is.null(dim(x))) return(setNames(values, names(x)))
  array(values, dim(x), dimnames(x))
}

# A factor as a matrix with a column for each level, by which it is named. A missing one is a row of NA.
one_hot <- function(x) {
  columns <- outer(as.integer(x), seq_along(levels(x)), "==")
  list(kind = "double", data = array(as.double(columns), dim(columns), list(names(x), levels(x))))
}

# integer64 keeps NA as the smallest integer, whose bits are those of -0.
are_missing <- function(x) {
  if (!inherits(x, "integer64")) return(is.na(x))
  bits <- unclass(x)
  !is.na(bits) & bits == 0 & 1 / bits < 0
}

# The elements, or the rows of a matrix, that are kept.
keep_of <- function(x, keep) {
  bits <- unclass(x)
  structure(if (length(dim(x)) == 2L) bits[keep, , drop = FALSE] else bits[keep], class = oldClass(x))
}

as_doubles <- function(x, missing) {
  if (!inherits(x, "integer64")) return(bare(as.double(x), x))
  values <- structure(replace(as.vector(unclass(x)), missing, 0), class = "integer64")
  bare(replace(as.double(nv_tensor(values, "f64")), missing, NA), x)
}

# The dtype of a kind of numbers if none is said; NULL is that of R's vectors. Times have more digits than an
# `f32`.
dtype_of_kind <- function(kind) switch(kind, time = "f64", integer64 = "i64", NULL)

# A tensor of a vector or a data frame as as_nv_tensor() makes it.
tensor_of_data <- function(x, dtype, na, factors) {
  na <- check_choice("na", na %||% "error", c("error", "nan", "omit"))
  factors <- check_choice("factors", factors, c("codes", "one_hot"))
  if (inherits(x, "data.frame")) return(tensor_of_frame(x, dtype, na, factors))
  given <- if (factors == "one_hot" && inherits(x, "factor")) one_hot(x) else plain_data(x, "x")
  data <- given$data
  missing <- are_missing(data)
  if (any(missing)) {
    if (na == "error") {
      shown <- paste(utils::head(which(missing), 5L), collapse = ", ")
      abort_missing_values("x", sum(missing), paste0(", first at position ", shown))
    }
    if (na == "omit") data <- keep_of(data, if (is.matrix(data)) rowSums(missing) == 0 else !missing)
  }
  if (na == "nan") {
    if (given$kind %in% whole_kinds) {
      given$kind <- "double"
      data <- as_doubles(data, missing)
    }
    data[missing] <- NaN
  }
  is_number <- length(x) == 1L && is.null(dim(data)) && na != "omit"
  nv_tensor(data, dtype %||% dtype_of_kind(given$kind), if (is_number) integer())
}

abort_missing_values <- function(arg, count, where) {
  abort(
    "anvil_error_value",
    paste0(
      "`", arg, "` has ", count, " missing value", if (count != 1L) "s", where, ".\ni Replace ",
      if (count == 1L) "it" else "them", ", or choose `na = \"omit\"`, which leaves out ",
      "what has one, or `na = \"nan\"`, which makes it NaN."
    ),
    arg = arg, count = count
  )
}

# Signals an error for missing values in columns, or variables, that are named.
check_columns <- function(arg, missing, names) {
  counts <- vapply(missing, function(m) as.double(sum(m)), 0)
  if (!any(counts > 0)) return()
  has <- which(counts > 0)
  shown <- paste0("`", names[has], "` (", counts[has], ")", collapse = ", ")
  abort_missing_values(arg, sum(counts), paste0(", in ", shown))
}

# The columns of a data frame side by side, in one dtype.
tensor_of_frame <- function(x, dtype, na, factors) {
  if (any(vapply(x, inherits, NA, "AnvilValue"))) return(tensor_of_values(x, dtype))
  columns <- lapply(seq_along(x), function(i) column_of(x[[i]], names(x)[i], factors))
  missing <- lapply(columns, function(column) are_missing(column$data))
  if (na == "error") check_columns("x", missing, names(x))
  count <- nrow(x)
  rows <- if (.row_names_info(x) > 0L) as.character(attr(x, "row.names"))
  if (na == "omit") {
    keep <- Reduce(`&`, lapply(missing, function(m) rowSums(as.matrix(m)) == 0), rep(TRUE, count))
    for (i in seq_along(columns)) columns[[i]]$data <- keep_of(columns[[i]]$data, keep)
    count <- sum(keep)
    rows <- rows[keep]
  }
  kind <- number_kinds[max(0L, match(vapply(columns, function(column) column$kind, ""), number_kinds))]
  if (!length(columns) || na == "nan" && kind %in% whole_kinds) kind <- "double"
  if (kind != "integer64") {
    for (i in seq_along(columns)) {
      if (columns[[i]]$kind == "integer64") {
        columns[[i]]$data <- as_doubles(columns[[i]]$data, are_missing(columns[[i]]$data))
      }
    }
  }
  dtype <- dtype %||% dtype_of_kind(kind)
  names <- list(rows, as.character(unlist(lapply(columns, function(column) column$names))))
  if (kind == "integer64") {
    parts <- lapply(columns, function(column) {
      nv_tensor(column$data, dtype, c(count, length(column$names)))
    })
    out <- do.call(nv_concatenate, c(parts, list(axis = 2L)))
    dimnames(out) <- names
    return(out)
  }
  data <- unlist(lapply(columns, function(column) as.vector(column$data)))
  if (kind == "double" && !is.double(data)) data <- as.double(data)
  if (na == "nan") data[is.na(data)] <- NaN
  nv_tensor(array(data, c(count, length(names[[2L]])), names), dtype)
}

# The same of columns that are tensors or traced values, whose elements nobody has read.
tensor_of_values <- function(x, dtype = NULL, ambiguous = FALSE) {
  columns <- lapply(seq_along(x), function(i) {
    column <- x[[i]]
    if (!inherits(column, "AnvilValue")) column <- plain_data(column, paste0("x$", names(x)[i]))$data
    nv_reshape(column, c(nrow(x), length(column) / max(nrow(x), 1)))
  })
  out <- do.call(nv_concatenate, c(columns, list(axis = 2L)))
  if (!ambiguous || !is.null(dtype)) out <- nv_convert(out, dtype %||% dtype_of(out))
  if (ncol(out) == length(x)) dimnames(out) <- list(NULL, names(x))
  out
}

# `dtype()`, where that is the name of an argument too.
dtype_of <- function(x) dtype(x)

# One column of a data frame: its numbers, and the names of what it becomes.
column_of <- function(x, name, factors) {
  if (factors == "one_hot" && inherits(x, "factor")) {
    return(c(one_hot(x), list(names = paste0(name, levels(x)))))
  }
  arg <- paste0("x$", name)
  given <- plain_data(x, arg)
  count <- length(dim(given$data))
  if (count > 2L) abort_arg(arg, "a vector or a matrix", describe(given$data))
  if (count == 2L) {
    own <- colnames(given$data) %||% seq_len(ncol(given$data))
    return(c(given, list(names = paste(rep(name, length(own)), own, sep = ".", recycle0 = TRUE))))
  }
  c(given, list(names = name))
}

# ---- data frames as arguments ----

# The columns of a data frame as arguments, for flatten_object(): NULL as the kind of a list, and what its
# rows are called.
columns_of_frame <- function(x) {
  columns <- lapply(seq_along(x), function(i) {
    column <- x[[i]]
    # Text is part of the structure.
    if (inherits(column, "AnvilValue") || is.character(column) && !is.object(column)) return(column)
    data_as_argument(column, names(x)[i])
  })
  rows <- attr(x, "row.names")
  list(setNames(columns, names(x)), NULL, if (is.character(rows)) rows else length(rows))
}

# A column as an argument: bare numbers, or a tensor of integers of 64 bits. Called by Rust with a factor.
data_as_argument <- function(x, arg = "x") {
  given <- plain_data(x, arg)
  # As a program computes them, missing values are NaN, which only floats have.
  missing <- if (given$kind %in% whole_kinds) are_missing(given$data)
  if (any(missing)) {
    given$data <- replace(as_doubles(given$data, missing), missing, NaN)
    given$kind <- "double"
  }
  if (is.factor(x)) {
    # The codes of a factor know their levels, for levels() and `==`.
    labels <- levels(x)
    attr(labels, "contrasts") <- attr(x, "contrasts")
    attr(given$data, "levels") <- labels
    return(with_order(given$data, is.ordered(x)))
  }
  if (given$kind == "integer64") nv_tensor(given$data) else given$data
}

# Called by Rust with list(columns, rows): the data frame that a traced function sees. Tensors, which R cannot
# print as columns, and what is not as long as the rows stay a list.
frame_of_columns <- function(parts) {
  rows <- parts[[2L]]
  count <- if (is.character(rows)) length(rows) else rows
  fits <- vapply(parts[[1L]], function(x) !inherits(x, "AnvilTensor") && NROW(x) == count, NA)
  if (!all(fits)) return(parts[[1L]])
  structure(
    parts[[1L]], class = "data.frame", row.names = if (is.character(rows)) rows else .set_row_names(rows)
  )
}

# Codes of an ordered factor, whose levels say so: they stay with what is made of the codes, as contrasts that
# a factor has do.
with_order <- function(x, is_ordered = TRUE) {
  if (is_ordered && !is.null(attr(x, "levels"))) attr(attr(x, "levels"), "ordered") <- TRUE
  x
}

# ---- data frames of traced columns -------------------------------------------------------------------------

# Whether it is a data frame with traced columns: what a traced function sees of one that is an argument.
is_traced_frame <- function(x) {
  if (!inherits(x, "data.frame")) return(FALSE)
  for (column in unclass(x)) if (is_traced(column)) return(TRUE)
  FALSE
}

# The matrix of the columns of such a data frame, where a function of R's takes matrices; anything else as
# it is. `codes` says whether factors are their codes, as to data.matrix(); R makes strings of them otherwise.
as_matrix_of_values <- function(x, codes = FALSE) {
  if (inherits(x, "AnvilRows")) return(as.matrix.AnvilRows(x))
  if (!is_traced_frame(x)) return(x)
  is_factor <- vapply(x, function(column) !is.null(levels(column)), NA)
  if (any(is_factor) && !codes) {
    abort_arg(
      "x", "a data frame of numbers", paste0("one with the factor `", names(x)[is_factor][1L], "`"),
      "Leave it out, or take `data.matrix(x)`, which has its codes."
    )
  }
  x[is_factor] <- lapply(x[is_factor], function(codes) nv_reshape(codes, c(length(codes), 1L)))
  # The columns of R's data frames are numbers of R, and so is their matrix: with all digits.
  out <- tensor_of_values(x, ambiguous = TRUE)
  if (.row_names_info(x) > 0L) dimnames(out) <- list(as.character(attr(x, "row.names")), colnames(out))
  out
}

frame_stand_in <- structure(list(), class = "AnvilFrame")

# The method for such data frames of a generic of ours: it takes the matrix of the columns.
for_frames <- function(name) {
  force(name)
  function(...) do.call(name, lapply(list(...), as_matrix_of_values), quote = TRUE)
}
