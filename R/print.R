#' Print a tensor
#'
#' One line per row of the last two axes; wide matrices are shown in windows of columns, tensors of more
#' than two axes slice by slice. A vector of more than ten elements prints in rows, each after the number of
#' its first element, as R's vectors do; a shorter one is a column. Vectors and arrays with names are laid out
#' as R lays out its own, if they are shown as a whole, and so are numbers with `digits`. The last
#' line gives device, dtype (`?` if ambiguous) and shape. Integers print all digits, booleans 0 and 1, complex
#' numbers as in R, with the same four decimals for both parts.
#'
#' The options `anvil.print_max_rows` (30), `anvil.print_max_width` (85, and for vectors R's option `width`)
#' and `anvil.print_max_rows_slice` (as `anvil.print_max_rows`) limit what is shown; -1 or `Inf` means no
#' limit.
#'
#' @param x A tensor, or a traced value.
#' @param header Whether the line `AnvilTensor` comes first.
#' @param digits How many significant digits floats and complex numbers have, as in [print.default()].
#' @param object A tensor.
#' @param ... For `format()`, arguments of [base::format()] for elements, such as `digits`. Not used
#'   otherwise.
#' @return `print()` gives `x`, invisibly; `summary()` the quantiles and mean of the elements, as [summary()]
#'   of their vector. `format()` gives one string with dtype and shape; with further arguments it formats the
#'   elements, as base R's does, and as R's own functions ask it to, which print models and data frames: a
#'   string for each, in the tensor's shape.
#' @section Errors: `anvil_error_arg` for an option that is not a whole number, or is 0; `anvil_error_donated`
#' for a tensor whose memory was given away.
#' @examples
#' print(nv_tensor(array(1:12, c(2, 3, 2))))
#' print(nv_tensor(1:30))
#' format(nv_scalar(1))
#' format(nv_tensor(c(1, pi)), digits = 3)
#' summary(nv_tensor(c(1, 2, 10)))
#' @name print.AnvilTensor
#' @export
print.AnvilTensor <- function(x, header = TRUE, digits = NULL, ...) {
  check_dots(..., .known = taken_by("print"))
  check_flag("header", header)
  if (!is.null(digits) && !(is_whole(digits) && digits >= 0 && digits <= 22)) {
    abort_arg("digits", "a whole number from 0 to 22", describe(digits))
  }
  rows <- print_limit("anvil.print_max_rows", 30)
  width <- print_limit("anvil.print_max_width", if (ndims(x) == 1L) getOption("width") else 85)
  limits <- c(rows, width, print_limit("anvil.print_max_rows_slice", rows))
  lines <- lines_of(x, limits, digits)
  cat(c(if (header) "AnvilTensor", lines, .Call(anvil_footer, x, "cpu")), sep = "\n")
  invisible(x)
}

# The lines of the elements. Those with names, and those with as many digits as the user asks for, are laid
# out by R.
lines_of <- function(x, limits, digits) {
  columns <- if (ndims(x) > 1L) dim(x)[2L] else 1L
  most <- if (limits[1L] < 0) Inf else limits[1L] * columns
  if (!is.null(digits) && (is_float(dtype(x)) || inherits(dtype(x), "ComplexType"))) {
    return(laid_out(as_array(x), digits = digits, max = as.integer(min(most, .Machine$integer.max))))
  }
  names <- axis_names(x)
  if (!length(names) || !length(x) || length(x) > most) return(.Call(anvil_lines, x, limits))
  # A column has a line for each element, perhaps after one with the power of ten of all.
  lines <- trimws(.Call(anvil_lines, nv_reshape(x, c(length(x), 1L)), c(-1, -1, -1)))
  words <- utils::tail(lines, length(x))
  if (ndims(x) > 1L) dim(words) <- dim(x)
  c(utils::head(lines, -length(x)), laid_out(with_names(words, names), quote = FALSE, right = TRUE))
}

laid_out <- function(x, ...) utils::capture.output(print(x, ...))

print_limit <- function(option, default) {
  value <- getOption(option, default)
  if (identical(value, Inf)) return(-1)
  if (!is_whole(value)) abort_arg(option, "a whole number", describe(value), "-1 means no limit.")
  as.double(value)
}

#' @rdname print.AnvilTensor
#' @export
format.AnvilTensor <- function(x, ...) {
  check_dots(..., .known = taken_by("format"))
  # Functions of R's, such as those that print models, write the elements.
  if (...length() || is_called_by_r(parent.frame())) formatted(x, ...) else .Call(anvil_summary, x)
}

# The elements as strings of one width, in the shape of the tensor.
formatted <- function(x, ...) {
  values <- suppressWarnings(as_array(x), classes = "anvil_warning")
  if (!is.double(values) || is_float(dtype(x))) return(format(values, ...))
  # Integers that doubles may not hold: to the right, as numbers are.
  values[] <- format(as.character(x), justify = "right")
  values
}

#' @rdname print.AnvilTensor
#' @export
summary.AnvilTensor <- function(object, ...) {
  # Data frames pass on what their columns of factors take.
  check_dots(..., .known = c(taken_by("summary"), "maxsum"))
  digits <- list(...)$digits
  if (!is.null(digits) && !is_whole(digits)) abort_arg("digits", "a whole number", describe(digits))
  summary(as.vector(object), ...)
}

#' @export
summary.AnvilTracer <- function(object, ...) {
  check_dots(..., .known = c(taken_by("summary"), "maxsum"))
  if (is_traced_factor(object)) return(mask_groups$table(object))
  if (inherits(dtype(object), c("BooleanType", "ComplexType")) || ndims(object) > 1L) {
    abort_concrete("summary()", object)
  }
  # Of NaN, which R leaves out and counts, the program knows when it runs.
  summary_of(quantile.AnvilValue(object, na.rm = TRUE, names = FALSE), nv_mean(object, na_rm = TRUE))
}

summary_of <- function(quartiles, mean) {
  out <- joined(list(quartiles[1:3], mean, quartiles[4:5]))
  names(out) <- c("Min.", "1st Qu.", "Median", "Mean", "3rd Qu.", "Max.")
  out
}

#' @export
str.AnvilTensor <- function(object, ...) {
  check_dots(..., .known = taken_by("str"))
  shown <- taken(object, seq_len(min(length(object), 10L)))
  shown <- trimws(formatted(shown, digits = 3L))
  cat(" ", format(object), ":", sep = "")
  cat("", shown, if (length(object) > 10L) "...")
  cat("\n")
  invisible()
}

setMethod("show", "AnvilTensor", function(object) print(object))
setMethod("show", "AnvilTracer", function(object) print(object))

#' @export
format.AnvilTracer <- function(x, ...) {
  check_dots(..., .known = taken_by("format"))
  type <- paste0(as.character(dtype(x)), if (ambiguous(x)) "?")
  # A data frame shows a string for each row.
  if (identical(sys.function(sys.parent()), base::format.data.frame)) {
    return(rep(if (is_traced_factor(x)) "factor" else type, NROW(x)))
  }
  paste0("AnvilTracer(dtype=", type, ", shape=", paste(shape(x), collapse = "x"), ")")
}

#' @rdname print.AnvilTensor
#' @export
print.AnvilTracer <- function(x, ...) {
  check_dots(..., .known = taken_by("print"))
  cat(format(x), "\n", sep = "")
  invisible(x)
}

#' @importFrom utils head str
#' @export
str.AnvilTracer <- function(object, ...) {
  check_dots(..., .known = taken_by("str"))
  cat(" ", format(object), "\n", sep = "")
}

# What testthat compares: the elements as numbers, so that a tolerance has a meaning.
compare_proxy_tensor <- function(x, path) {
  exact <- TRUE
  lossy <- function(warning) {
    exact <<- FALSE
    invokeRestart("muffleWarning")
  }
  # Without dim, which is compared as the shape: waldo shows vectors better than arrays of one axis.
  data <- withCallingHandlers(as.vector(x), anvil_warning = lossy)
  object <- list(data = data, dtype = as.character(dtype(x)), shape = shape(x), ambiguous = ambiguous(x))
  # Integers that R cannot tell apart differ in their bytes.
  if (!exact) object$bytes <- .Call(anvil_tensor_data, x)
  list(object = object, path = paste0("compare_proxy(", path, ")"))
}

#' Compare tensors
#'
#' @param target,current Tensors.
#' @param tolerance Largest relative difference of the elements, as in [all.equal()].
#' @param ... Passed to [all.equal()] of the elements.
#' @details The tolerance of dtypes of low precision is at least about eight times the distance between 1 and
#'   the next number: 1e-6 for `f32` and `c64`, 1e-2 for `f16`, 6e-2 for `bf16`.
#' @return `TRUE`, or a character vector that describes differences in dtype, shape, ambiguity, and elements.
#' @examples
#' all.equal(nv_scalar(1), nv_scalar(1 + 1e-7))
#' all.equal(nv_scalar(1), nv_scalar(1L))
#' @method all.equal AnvilTensor
#' @export
all.equal.AnvilTensor <- function(target, current, tolerance = 1.5e-8, ...) {
  # Those of lists are handed on to what is in them.
  check_dots(..., .known = c(taken_by("all.equal", "numeric"), taken_by("all.equal", "list")))
  if (!is_numeric(tolerance) || length(tolerance) != 1L || is.na(tolerance)) {
    abort_arg("tolerance", "one number", describe(tolerance))
  }
  if (!inherits(current, "AnvilTensor")) return(paste0("current is not a tensor: ", describe(current)))
  parts <- type_differences(target, current)
  # A tolerance below the digits of the dtype would compare noise.
  least <- switch(as.character(dtype(target)), f32 = , c64 = 1e-6, f16 = 1e-2, bf16 = 6e-2, 0)
  tolerance <- max(tolerance, least)
  if (identical(shape(target), shape(current))) {
    values <- suppressWarnings(list(as.vector(target), as.vector(current)), classes = "anvil_warning")
    same <- all.equal(values[[1L]], values[[2L]], tolerance = tolerance, ...)
    if (!isTRUE(same)) parts <- c(parts, same)
  }
  if (length(parts)) parts else TRUE
}
