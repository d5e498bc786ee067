#' Convert a tensor to R data
#'
#' `as_array()` gives the elements as an R array; the `as.*()` methods convert that array as base R does.
#'
#' `i1` becomes logical; integers of up to 32 bits become integer, `ui32`, `i64` and `ui64` double; floats
#' become double and complex numbers complex, without rounding. `f64`, `i32` and `c128` tensors are not copied
#' where R allows it. Two losses are possible, and each is a warning that counts the values: a 64-bit integer
#' beyond 2^53 that a double cannot hold (class `anvil_warning_rounded`), and the smallest 32-bit integer,
#' which is `NA` to R (class `anvil_warning_na`).
#'
#' @param x A tensor.
#' @param integer64 Whether `ui32`, `i64` and `ui64` become `bit64::integer64`, which holds all values of
#'   `i64` but the smallest, and those of `ui64` up to 2^63 - 1.
#' @param mode A mode of R vectors, as in [as.vector()].
#' @param ... Not used.
#' In a traced function there are no elements yet: `as_array()` and `as.array()` are errors there. The methods
#' of base R's functions give traced values: `as.vector()`, `as.double()` and `as.numeric()`, `as.integer()`
#' and `as.logical()` vectors of floats, integers and booleans, and 0-d values of 0-d ones, `as.list()` the
#' elements as 0-d values, `as.matrix()` of a vector one column. Floats keep their dtype where floats are
#' asked for, integers theirs; others become ambiguous, as R data are.
#'
#' @return An R array with `dim` equal to `shape(x)`, first axis fastest; a plain vector of length 1 for
#'   a 0-d tensor. `as.vector()`, `as.double()`, `as.integer()`, `as.logical()` and `as.complex()` give
#'   vectors without `dim`.
#' @section Errors: `anvil_error_concrete` for a value that is being traced: it has no elements yet.
#' `anvil_error_donated` for a tensor whose memory was given away. `anvil_error_value` for a `ui64` that
#' `integer64` cannot hold. `anvil_error_dtype` for complex numbers where real ones are required:
#' use [nv_real()], [nv_imag()] or [nv_abs()].
#' @examples
#' as_array(nv_tensor(1:6, shape = c(2, 3)))
#' as.double(nv_scalar(0.5))
#' as_array(nv_tensor("9007199254740993", dtype = "i64"), integer64 = TRUE)
#' as.complex(nv_tensor(c(1+2i, -1i)))
#' @export
as_array <- function(x, integer64 = FALSE) {
  if (is_traced(x) || is_selection(x)) abort_concrete("as_array()", x)
  out <- .Call(anvil_to_r, x, integer64)
  count <- function(n) sprintf("%.0f value%s of dtype %s", n, if (n == 1) "" else "s", as.character(dtype(x)))
  if ((n <- out[[2L]]) > 0) {
    advice <- "Use `as_array(x, integer64 = TRUE)`."
    warn(
      "anvil_warning_rounded", paste0(count(n), " cannot be represented exactly as double.\ni ", advice),
      count = n
    )
  }
  if ((n <- out[[3L]]) > 0) {
    what <- paste(if (n == 1) "is" else "are", "the smallest integer, which R reads as NA.")
    warn(
      "anvil_warning_na", paste0(count(n), " ", what, "\ni Use `nv_convert(x, \"f64\")` first."), count = n
    )
  }
  if ((n <- out[[4L]]) > 0) {
    advice <- "Use `integer64 = FALSE`, which rounds to double."
    message <- paste0(count(n), " cannot be represented as integer64.\ni ", advice)
    abort("anvil_error_value", message, dtype = as.character(dtype(x)), count = n)
  }
  # Its methods, for printing and arithmetic.
  if (inherits(out[[1L]], "integer64")) requireNamespace("bit64", quietly = TRUE)
  out[[1L]]
}

# Elements as a vector without dim.
elements <- function(x, what) {
  if (is_traced(x)) abort_concrete(what, x)
  out <- as_array(x)
  dim(out) <- NULL
  out
}

# As `elements()`, where an imaginary part would be lost: R drops it with a warning at most, `nv_convert()`
# does not.
real_elements <- function(x, what, to) {
  if (inherits(dtype(x), "ComplexType")) {
    from <- as.character(dtype(x))
    abort(
      "anvil_error_dtype",
      paste0(
        what, " cannot convert ", from, " to ", to, ": the imaginary part would be lost.\n",
        "i Take `nv_real()`, `nv_imag()` or `nv_abs()` first."
      ),
      from = from, to = to
    )
  }
  elements(x, what)
}

#' @rdname as_array
#' @export
as.array.AnvilValue <- function(x, ...) {
  check_dots(...)
  as_array(x)
}

#' @rdname as_array
#' @export
as.matrix.AnvilValue <- function(x, ...) {
  # Code that says more than R reads, such as `as.matrix(x, ncol = 1)`, is as good as any.
  check_dots(..., .known = c("rownames.force", "nrow", "ncol", "drop"))
  if (!is.null(attr(x, "Size"))) return(matrix_of_distances(x))
  if (is_selection(x) && is.matrix(x)) return(x)
  if (is_traced(x) && ndims(x) <= 2L) {
    check_no_factor(x)
    if (ndims(x) == 2L) return(x)
    return(with_names(nv_reshape(x, c(length(x), 1L)), c(axis_names(x), list(NULL))))
  }
  as.matrix(as_array(x))
}

# A traced value as the vector of a mode, as base R's functions convert it.
traced_vector <- function(x, mode, what) {
  if (is_traced_factor(x)) {
    if (mode == "list") return(elements_of_factor(x))
    # R has the labels of these, or what the labels say.
    if (!mode %in% c("integer", "numeric", "double")) abort_concrete(what, x)
  }
  # A number stays one, as base R has no other.
  flat <- unname(if (ndims(x) == 0L) x else from_r(as_flat(x)))
  # What is left of a factor are its codes, which are compared as numbers.
  if (is_traced_factor(x)) flat <- checked_codes(codes_of(x), nlevels(x))
  flat <- no_distances(flat)
  is_complex <- inherits(dtype(x), "ComplexType")
  if (mode == "list") return(lapply(seq_along(flat), function(i) flat[[i]]))
  if (mode == "any" || mode == "complex" && is_complex) return(flat)
  if (mode %in% c("character", "raw", "expression", "symbol")) abort_concrete(what, x)
  if (mode == "complex") return(nv_promote_to_common(flat, 0i)[[1L]])
  if (is_complex) return(real_elements(x, what, mode))
  is_boolean <- inherits(dtype(x), "BooleanType")
  if (mode == "logical") return(if (is_boolean) flat else nv_convert(flat, "i1"))
  if (mode == "integer") {
    return(if (is_float(dtype(x)) || is_boolean) nv_convert(flat, "i32", ambiguous = TRUE) else flat)
  }
  # The type of a number of R's.
  if (is_float(dtype(x))) flat else nv_promote_to_common(flat, 1)[[1L]]
}

elements_of_factor <- function(f) {
  codes <- codes_of(f)
  lapply(seq_along(codes), function(i) factor_of(codes[i], levels(f)))
}

# Those of as.vector() that elements can be of.
vector_modes <- c(
  "any", "logical", "integer", "numeric", "double", "complex", "character", "raw", "list", "expression",
  "symbol"
)

#' @rdname as_array
#' @export
as.vector.AnvilValue <- function(x, mode = "any") {
  if (!is.character(mode) || length(mode) != 1L || !mode %in% vector_modes) {
    abort_arg("mode", paste0("one of ", paste0("\"", vector_modes, "\"", collapse = ", ")), describe(mode))
  }
  if (is_traced(x)) return(traced_vector(x, mode, "as.vector()"))
  real <- c("double", "numeric", "integer", "logical", "raw")
  values <- if (mode %in% real) real_elements(x, "as.vector()", mode) else elements(x, "as.vector()")
  as.vector(values, mode)
}

#' @rdname as_array
#' @export
as.double.AnvilValue <- function(x, ...) {
  check_dots(...)
  if (is_traced(x)) return(traced_vector(x, "double", "as.double()"))
  as.double(real_elements(x, "as.double()", "double"))
}

#' @rdname as_array
#' @export
as.integer.AnvilValue <- function(x, ...) {
  check_dots(...)
  if (is_traced(x)) return(traced_vector(x, "integer", "as.integer()"))
  as.integer(real_elements(x, "as.integer()", "integer"))
}

#' @rdname as_array
#' @export
as.logical.AnvilValue <- function(x, ...) {
  check_dots(...)
  if (is_traced(x)) return(traced_vector(x, "logical", "as.logical()"))
  as.logical(real_elements(x, "as.logical()", "logical"))
}

#' @export
as.character.AnvilValue <- function(x, ...) {
  check_dots(...)
  if (as.character(dtype(x)) %in% c("ui32", "i64", "ui64") && inherits(x, "AnvilTensor")) return(digits_of(x))
  as.character(elements(x, "as.character()"))
}

# Integers that are doubles to R in two halves, which doubles hold: whole billions, and what is left.
halves_of <- function(x) {
  unit <- nv_scalar("1000000000", dtype(x))
  list(high = as.double(nv_div(x, unit)), low = as.double(nv_remainder(x, unit)))
}

# All digits of such integers.
digits_of <- function(x) {
  halves <- halves_of(x)
  high <- halves$high
  low <- halves$low
  short <- sprintf("%.0f", abs(low))
  text <- ifelse(high == 0, short, paste0(sprintf("%.0f", abs(high)), sprintf("%09.0f", abs(low))))
  paste0(ifelse(high < 0 | low < 0, "-", ""), text)
}

#' @rdname as_array
#' @export
as.complex.AnvilValue <- function(x, ...) {
  check_dots(...)
  if (is_traced(x)) return(traced_vector(x, "complex", "as.complex()"))
  as.complex(elements(x, "as.complex()"))
}

#' @export
as.raw.AnvilValue <- function(x) as.raw(real_elements(x, "as.raw()", "raw"))

#' @export
as.list.AnvilValue <- function(x, ...) {
  check_dots(...)
  if (is_traced(x)) {
    out <- traced_vector(x, "list", "as.list()")
    if (ndims(x) < 2L) names(out) <- names(x)
    return(out)
  }
  as.list(array_names(as_array(x)))
}

#' @export
as.data.frame.AnvilValue <- function(x, row.names = NULL, optional = FALSE, ...) {
  check_dots(..., .known = taken_by("as.data.frame", "matrix"))
  check_flag("optional", optional)
  label <- deparse1(substitute(x))
  # As data.frame() makes one of vectors that are traced, and R of a data frame with such columns. Names are
  # those of rows, if no two are the same.
  if (is_traced(x) && ndims(x) < 2L && is.null(row.names)) {
    rows <- names(x)
    if (is.null(rows) || anyDuplicated(rows)) rows <- .set_row_names(length(x))
    return(structure(
      list(unname(as_flat(x))), names = if (!optional) label, class = "data.frame", row.names = rows
    ))
  }
  if (is_traced(x) && ndims(x) == 2L && is.null(row.names)) {
    columns <- lapply(seq_len(ncol(x)), function(j) unname(x[, j]))
    names(columns) <- colnames(x) %||% if (!optional) paste0("V", seq_len(ncol(x)))
    return(structure(columns, class = "data.frame", row.names = rownames(x) %||% .set_row_names(nrow(x))))
  }
  values <- as_array(x)
  rows <- NROW(values)
  named <- (is.character(row.names) || is_numeric(row.names)) && length(row.names) == rows
  if (!is.null(row.names) && (!named || anyNA(row.names) || anyDuplicated(row.names))) {
    abort_arg(
      "row.names", paste("NULL, or a different name or number for each row,", rows, "of them"),
      describe(row.names)
    )
  }
  out <- as.data.frame(values, row.names = row.names, optional = optional, ...)
  # The one column of a vector has the name of what the user wrote, as R's own has.
  if (!optional && length(dim(values)) < 2L) names(out) <- label
  out
}
