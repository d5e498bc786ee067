#' Bytes of tensors
#'
#' `as_raw()` gives the bytes of a tensor's elements as they are in memory, `nv_from_raw()` makes a tensor of
#' such bytes: what files, sockets and other programs exchange. The bytes of an element have the order of the
#' machine.
#'
#' [as.raw()] is base R's conversion of values, one byte for each; `nv_tensor()` takes a raw vector as whole
#' numbers from 0 to 255.
#'
#' @param x A tensor; or an R number, logical or array, with the dtype in which R holds it, see
#'   [nv_write_npy()]. An ambiguous tensor has the bytes of the dtype that it is stored in.
#' @param data A raw vector: as many bytes as the elements have.
#' @param dtype The dtype of the elements: its name, or a dtype object.
#' @param shape Sizes of the axes. `NULL` is one axis with all elements.
#' @param row_major Whether elements lie in row-major order, the last axis fastest, as in C and NumPy; else
#'   the first axis is fastest, as in R.
#' @return `as_raw()`: a raw vector. `nv_from_raw()`: a tensor.
#' @section Errors: `anvil_error_arg` for data that are not raw or not as many bytes as the shape asks for,
#' for booleans whose byte is neither 0 nor 1, and for a bad shape or flag; `anvil_error_concrete` for a
#' traced value.
#' @seealso [nv_bitcast_convert()] for bits inside of a program, [nv_serialize()] for bytes that know their
#'   type.
#' @examples
#' as_raw(nv_tensor(c(1, 2), "f32"))
#' x <- nv_tensor(matrix(1:6, 2), "i16")
#' as_raw(x, row_major = TRUE)
#' nv_from_raw(as_raw(x), "i16", c(2, 3))
#' @export
as_raw <- function(x, row_major = FALSE) {
  check_flag("row_major", row_major)
  if (is_traced(x)) abort_concrete("as_raw()", x)
  x <- written(x)
  data <- .Call(anvil_tensor_data, if (row_major) by_rows(x) else x)
  if (is.raw(data)) return(data)
  con <- rawConnection(raw(), "wb")
  on.exit(close(con))
  write_elements(data, con)
  rawConnectionValue(con)
}

#' @rdname as_raw
#' @export
nv_from_raw <- function(data, dtype, shape = NULL, row_major = FALSE) {
  check_flag("row_major", row_major)
  if (!is.raw(data) || is.object(data)) abort_arg("data", "a raw vector", describe(data))
  dtype <- as.character(as_dtype(dtype))
  size <- bytes_of(dtype)
  if (is.null(shape)) {
    if (length(data) %% size != 0) {
      abort_arg("data", paste("a whole number of elements of", size, "bytes"), paste(length(data), "bytes"))
    }
    shape <- length(data) %/% size
  }
  sizes <- shape(nv_abstract(dtype, shape))
  if (prod(sizes) * size != length(data)) {
    abort_arg(
      "data", paste(format(prod(sizes) * size, digits = 15L), "bytes, as dtype and shape ask for"),
      paste(length(data), "bytes")
    )
  }
  con <- rawConnection(data, "rb")
  on.exit(close(con))
  elements <- read_elements(con, list(dtype = dtype, size = size, swap = FALSE), prod(sizes))
  turned <- row_major && sum(sizes != 1L) > 1L
  x <- tryCatch(
    .Call(anvil_tensor_around, elements, dtype, if (turned) rev(sizes) else sizes),
    anvil_error_arg = function(e) abort_arg("data", "booleans, each a byte that is 0 or 1", "other bytes")
  )
  if (turned) nv_transpose(x) else x
}
