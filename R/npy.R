#' Read and write NumPy files
#'
#' `nv_write_npy()` writes a tensor as a `.npy` file, the format of `numpy.save()`; `nv_read_npy()` reads one.
#'
#' Elements are written as they are in memory, in column-major order (`fortran_order: True`), which NumPy
#' reads as it reads its own. Files in either order and of either byte order can be read, of the versions 1.0
#' to 3.0 of the format.
#'
#' NumPy has no `bf16`. As Python's `ml_dtypes` package does, it is stored as two bytes without a type (`V2`);
#' in Python `x.view(ml_dtypes.bfloat16)` restores the numbers, here `nv_read_npy(path, dtype = "bf16")`.
#'
#' @param x A tensor; or an R number, logical or array, which is written as R holds it, as an argument of a
#'   jitted function is passed: doubles as `f64`, integers as `i32`, logicals as `i1`, complex numbers as
#'   `c128`. So are ambiguous tensors, whatever their default dtype.
#' @param path Path of the file. It is written whole or not at all: one that exists is replaced at the end,
#'   and keeps its mode. Links are followed. Anything but a regular file, such as a folder, a device or a
#'   pipe, is not replaced: that is an error.
#' @param dtype The dtype of the elements: its name, or a dtype object. `NULL` is the one that the file names.
#' @return `nv_write_npy()`: `path`, invisibly. `nv_read_npy()`: a tensor of known dtype, and the shape of the
#'   file's array.
#' @section Errors: `anvil_error_file`, with the fields `path` and `reason`, for a file that cannot be read or
#' written, that is no `.npy` file or is shorter or longer than it says; also for headers that NumPy refuses.
#' `anvil_error_dtype` for elements that no dtype has (objects, strings, times, records), and if `dtype` is
#' not the file's. `anvil_error_arg` for an `x` that is no tensor, and a path that is no string.
#' @references NumPy reference, `numpy.lib.format`.
#' @examples
#' path <- tempfile(fileext = ".npy")
#' nv_write_npy(nv_tensor(matrix(1:6, nrow = 2)), path)
#' nv_read_npy(path)
#' @export
nv_write_npy <- function(x, path) {
  path <- check_path(path)
  x <- written(x)
  write_whole(path, function(con) write_npy(x, con))
  invisible(path)
}

#' @rdname nv_write_npy
#' @export
nv_read_npy <- function(path, dtype = NULL) {
  path <- check_path(path)
  dtype <- if (!is.null(dtype)) as.character(as_dtype(dtype))
  target <- readable_file(path)
  con <- tryCatch(file(target, "rb"), error = pass_time_limit, warning = identity)
  if (inherits(con, "condition")) abort_file("read", path, system_reason(con))
  on.exit(close(con))
  read_npy(con, file.size(target), dtype, path)
}

# ---- the format ----

# Type characters and bytes of NumPy's dtypes.
npy_types <- c(
  i1 = "b1", i8 = "i1", i16 = "i2", i32 = "i4", i64 = "i8", ui8 = "u1", ui16 = "u2", ui32 = "u4", ui64 = "u8",
  bf16 = "V2", f16 = "f2", f32 = "f4", f64 = "f8", c64 = "c8", c128 = "c16"
)

# Bytes of an element of a dtype.
bytes_of <- function(dtype) as.integer(substring(npy_types[[dtype]], 2L))

npy_magic <- as.raw(c(0x93, utf8ToInt("NUMPY")))

# The byte order of this machine.
native_order <- function() if (.Platform$endian == "little") "<" else ">"

write_npy <- function(x, con) {
  write_npy_header(x, con)
  write_elements(.Call(anvil_tensor_data, x), con)
}

write_npy_header <- function(x, con) {
  type <- npy_types[[as.character(dtype(x))]]
  order <- if (endsWith(type, "1")) "|" else native_order()
  shape <- paste0(format(shape(x), scientific = FALSE, trim = TRUE), recycle0 = TRUE)
  shape <- if (length(shape) == 1L) paste0(shape, ",") else paste(shape, collapse = ", ")
  header <- sprintf("{'descr': '%s%s', 'fortran_order': True, 'shape': (%s), }", order, type, shape)
  # NumPy wants the elements at a multiple of 64 bytes, and a newline before them.
  blanks <- -(length(npy_magic) + 4L + nchar(header) + 1L) %% 64L
  header <- charToRaw(paste0(header, strrep(" ", blanks), "\n"))
  writeBin(
    c(npy_magic, as.raw(c(1, 0)), as.raw(c(length(header) %% 256L, length(header) %/% 256L)), header), con
  )
}

# writeBin() takes less than 2^31 bytes at once, and readBin() as many. Parts of a vector cost more than the
# whole.
write_elements <- function(data, con, at_once = 2^30 / element_bytes(typeof(data))) {
  if (length(data) <= at_once) return(writeBin(data, con))
  for (first in seq(1, length(data), by = at_once)) {
    writeBin(data[first:min(first + at_once - 1, length(data))], con)
  }
}

element_bytes <- function(mode) switch(mode, raw = 1, integer = 4, double = 8, complex = 16)

# Elements in the R vector that a tensor of the dtype has, in the byte order of this machine.
read_elements <- function(con, type, count, at_once = 2^30 / element_bytes(mode)) {
  mode <- switch(type$dtype, f64 = "double", i32 = "integer", c128 = "complex", "raw")
  total <- if (mode == "raw") count * type$size else count
  # Without this, R would take a vector of doubles in the other order for what it is not.
  endian <- if (type$swap) setdiff(c("little", "big"), .Platform$endian) else .Platform$endian
  parts <- c(rep(at_once, total %/% at_once), total %% at_once)
  data <- lapply(parts, function(n) readBin(con, mode, n, endian = endian))
  data <- if (length(data) == 1L) data[[1L]] else do.call(c, data)
  # Both parts of a complex number are swapped for themselves.
  unit <- if (type$dtype == "c64") 4L else type$size
  if (mode == "raw" && type$swap && unit > 1L) {
    dim(data) <- c(unit, length(data) / unit)
    data <- as.vector(data[unit:1L, ])
  }
  data
}

# The tensor in a connection of so many bytes.
read_npy <- function(con, size, dtype, path) {
  header <- read_npy_header(con, path)
  type <- npy_dtype(header$descr, dtype, path)
  if (any(header$shape > .Machine$integer.max)) {
    abort_file("read", path, "a size in its shape is above 2^31 - 1")
  }
  count <- prod(header$shape)
  left <- size - header$offset - count * type$size
  if (left != 0) {
    bytes <- paste0(format(abs(left), digits = 15L), if (abs(left) == 1) " byte" else " bytes")
    reason <- if (left < 0) {
      paste("it ends", bytes, "too early")
    } else {
      paste("its last element is", bytes, "before its end")
    }
    abort_file("read", path, reason, "Copy it again.")
  }
  data <- tryCatch(read_elements(con, type, count), error = pass_time_limit)
  if (inherits(data, "condition")) {
    abort_file("read", path, conditionMessage(data), "Free some memory.")
  }
  sizes <- header$shape
  # Row-major order is column-major order of the axes in reverse.
  turned <- !header$fortran && sum(sizes != 1) > 1L
  x <- tryCatch(
    .Call(anvil_tensor_around, data, type$dtype, if (turned) rev(sizes) else sizes),
    anvil_error_arg = function(e) abort_file("read", path, "a boolean in it is neither 0 nor 1")
  )
  if (turned) nv_transpose(x) else x
}

# Bytes of a header that NumPy itself reads, at most.
npy_longest <- 10000L

# list(descr, fortran, shape, offset) of an open file.
read_npy_header <- function(con, path) {
  refuse <- function(reason) abort_file("read", path, reason)
  start <- readBin(con, "raw", 8L)
  if (length(start) < 8L || !identical(start[1:6], npy_magic)) {
    abort_file("read", path, "it is no .npy file", "Write it with `numpy.save()` or `nv_write_npy()`.")
  }
  version <- paste(as.integer(start[7:8]), collapse = ".")
  if (!version %in% c("1.0", "2.0", "3.0")) refuse(paste("version", version, "of its format is unknown"))
  size <- as.integer(readBin(con, "raw", if (version == "1.0") 2L else 4L))
  length <- sum(size * 256^(seq_along(size) - 1L))
  if (length > npy_longest) {
    refuse(paste0("its header has ", length, " bytes, and NumPy reads at most ", npy_longest))
  }
  header <- readBin(con, "raw", length)
  if (length(header) != length || any(header == 0L)) refuse("its header is cut or broken")
  if (version == "3.0" && !validUTF8(rawToChar(header))) refuse("its header is no UTF-8")
  # Only names of a record's fields can be other than ASCII; what they are does not matter.
  header[header > 0x7f] <- charToRaw("?")
  text <- rawToChar(header)
  dict <- npy_dict(text)
  if (is.null(dict)) {
    refuse(paste0("its header is broken: ", encodeString(substr(text, 1L, 80L), quote = "\"")))
  }
  c(dict, list(offset = 8 + base::length(size) + length))
}

# The three entries of a header, a Python dict; NULL for anything else. As Python reads it, but each key
# stands there once.
npy_dict <- function(text) {
  quoted <- "(?:'[^'\n]*'|\"[^\"\n]*\")"
  # Python 2 wrote sizes as 2L. A tuple of one has a comma, and no number begins with 0.
  size <- "(?:0|[1-9][0-9]*)L?"
  values <- c(
    # A record has a list of fields in the place of the type; what is in it does not matter.
    descr = paste0(quoted, "|\\[.*?\\]|\\(.*?\\)"), fortran_order = "True|False",
    shape = paste0(
      "\\(\\s*\\)|\\(\\s*", size, "\\s*,\\s*\\)|\\(\\s*", size, "(?:\\s*,\\s*", size, ")+\\s*,?\\s*\\)"
    )
  )
  entry <- paste0(
    "(?s)^\\s*(?:'", names(values), "'|\"", names(values), "\")\\s*:\\s*(", values, ")\\s*(,|\\}\\s*$)"
  )
  rest <- sub("^[ \t\n]*\\{", "", text)
  if (identical(rest, text)) return(NULL)
  found <- list()
  while (length(found) < 3L) {
    matches <- lapply(entry, function(entry) regmatches(rest, regexec(entry, rest, perl = TRUE))[[1L]])
    i <- which(lengths(matches) > 0L)
    if (length(i) != 1L || !is.null(found[[names(values)[i]]])) return(NULL)
    found[[names(values)[i]]] <- matches[[i]][2L]
    rest <- substring(rest, nchar(matches[[i]][1L]) + 1L)
    if (matches[[i]][3L] != ",") break
  }
  # After a last comma there is the end.
  if (length(found) != 3L || matches[[i]][3L] == "," && !grepl("^\\s*\\}\\s*$", rest)) return(NULL)
  sizes <- strsplit(gsub("[() L\n\t\r]", "", found$shape), ",", fixed = TRUE)[[1L]]
  list(
    descr = gsub("['\"]", "", found$descr), fortran = found$fortran_order == "True", shape = as.double(sizes)
  )
}

# list(dtype, size, swap) of a type as NumPy writes it.
npy_dtype <- function(descr, dtype, path) {
  order <- substr(descr, 1L, 1L)
  type <- substring(descr, 2L)
  name <- names(npy_types)[npy_types == type]
  if (!length(name) || !order %in% c("<", ">", "|", "=")) {
    what <- switch(
      substr(type, 1L, 1L), O = "Python objects", U = , S = "strings", M = , m = "times",
      V = "bytes without a type", if (order == "[") "records" else "of another type"
    )
    abort(
      "anvil_error_dtype",
      paste0(
        "Cannot read the elements of ", encodeString(path, quote = "\""), ".\nx They are ", what, " (",
        encodeString(descr),
        "), for which there is no dtype.\ni In Python, convert them first: `x.astype(\"float32\")`."
      ),
      path = path, got = descr
    )
  }
  if (name == "bf16" && is.null(dtype)) {
    abort(
      "anvil_error_dtype",
      paste0(
        "The elements of ", encodeString(path, quote = "\""), " are two bytes without a type (V2).\n",
        "i If they are `bf16`, say so with `dtype = \"bf16\"`."
      ),
      path = path, got = descr
    )
  }
  if (!is.null(dtype) && dtype != name) {
    abort(
      "anvil_error_dtype",
      paste0(
        "The elements of ", encodeString(path, quote = "\""), " are ", name, ", not ", dtype, ".\n",
        "i Read them as they are, and convert them with `nv_convert()`."
      ),
      path = path, expected = dtype, got = name
    )
  }
  size <- as.integer(substring(type, 2L))
  list(dtype = name, size = size, swap = size > 1L && order %in% c("<", ">") && order != native_order())
}

# What is written for a value: a tensor.
written <- function(x, arg = "x") {
  if (is_traced(x)) abort_concrete("a file", x)
  if (inherits(x, "AnvilTensor")) {
    # Donated, or of broken parts.
    .Call(anvil_summary, x)
    # A file knows no ambiguity: it has all digits.
    return(if (ambiguous(x)) .External(anvil_op, "stored", x) else x)
  }
  bare <- is.atomic(x) && !is.object(x) && !is.character(x) && !is.raw(x) && !is.null(x)
  if (!bare || is.null(dim(x)) && length(x) != 1L) {
    hint <- if (bare) "Make it a tensor with `nv_tensor()`, or an array with `array()`." else NULL
    abort_arg(arg, "a tensor, or an R number, logical or array", describe(x), hint)
  }
  dtype <- switch(typeof(x), double = "f64", integer = "i32", logical = "i1", complex = "c128")
  if (is.null(dim(x))) nv_scalar(x, dtype) else nv_tensor(x, dtype)
}
