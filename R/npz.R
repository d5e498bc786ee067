#' Read and write NumPy archives
#'
#' `nv_write_npz()` writes tensors as a `.npz` file, the format of `numpy.savez()`: a zip archive of `.npy`
#' files. `nv_read_npz()` reads one, of `numpy.savez()` or `numpy.savez_compressed()`.
#'
#' Entries are written without compression, as `numpy.savez()` does, and each as [nv_write_npy()] writes it;
#' read, they may be compressed.
#'
#' @param x A list of tensors, or of R numbers, logicals and arrays, as [nv_write_npy()] takes them, with a
#'   different name for each.
#' @param path Path of the file. It is written whole or not at all, see [nv_write_npy()].
#' @param names Names of arrays in the file, which are read; `NULL` is all.
#' @param dtype As in [nv_read_npy()]; it holds for all that are read.
#' @return `nv_write_npz()`: `path`, invisibly. `nv_read_npz()`: a list of tensors with the names in the file.
#' @section Errors: `anvil_error_file` for a file that cannot be read or written, that is no zip archive, or
#' whose entries are cut, have another checksum than it says, or are no `.npy` files; and for tensors of 4 GiB
#' and more, which are not written. `anvil_error_dtype` as [nv_read_npy()]. `anvil_error_arg` for an `x` that
#' is no list with names, and for `names` that are not in the file.
#' @seealso [nv_save()] for nested lists.
#' @references NumPy reference, `numpy.savez`. PKWARE, APPNOTE.TXT.
#' @examples
#' path <- tempfile(fileext = ".npz")
#' nv_write_npz(list(a = nv_tensor(1:3), b = nv_scalar(2.5)), path)
#' nv_read_npz(path)
#' nv_read_npz(path, names = "b")
#' @export
nv_write_npz <- function(x, path) {
  path <- check_path(path)
  expected <- "a list of tensors, with a different name for each"
  if (!is.list(x) || is.object(x)) abort_arg("x", expected, describe(x))
  names <- names(x)
  if (is.null(names) && !length(x)) names <- character()
  if (is.null(names) || anyNA(names) || any(names == "") || anyDuplicated(names)) {
    abort_arg("x", expected, "a list without such names")
  }
  values <- Map(function(value, name) written(value, paste0("x$", name)), x, names)
  write_whole(path, function(con) write_zip(values, enc2utf8(names), con, path))
  invisible(path)
}

#' @rdname nv_write_npz
#' @export
nv_read_npz <- function(path, names = NULL, dtype = NULL) {
  path <- check_path(path)
  check_wanted_names(names)
  if (!is.null(dtype)) dtype <- as.character(as_dtype(dtype))
  target <- readable_file(path)
  con <- tryCatch(file(target, "rb"), error = pass_time_limit, warning = identity)
  if (inherits(con, "condition")) abort_file("read", path, system_reason(con))
  on.exit(close(con))
  entries <- zip_entries(con, file.size(target), path)
  known <- sub("\\.npy$", "", entries$name)
  wanted <- if (is.null(names)) seq_along(known) else match(enc2utf8(names), known)
  if (anyNA(wanted)) {
    abort_arg(
      "names", paste("names of arrays in", encodeString(path, quote = "\"")),
      encodeString(names[is.na(wanted)][1L], quote = "\""),
      known_names(known)
    )
  }
  out <- lapply(wanted, function(i) read_zipped(con, lapply(entries, `[`, i), dtype, path))
  structure(out, names = known[wanted])
}

# ---- writing ----

# The bytes of a whole number, lowest first.
little <- function(x, bytes) as.raw(x %/% 256^(seq_len(bytes) - 1L) %% 256)
number <- function(bytes) sum(as.integer(bytes) * 256^(seq_along(bytes) - 1L))

zip_marks <- list(local = 0x04034b50, central = 0x02014b50, end = 0x06054b50)

# Each entry is stored as it is: what its parts are, PKWARE's APPNOTE.TXT says. The time of all is 1980-01-01,
# as that of files which are to be the same whenever they are made.
write_zip <- function(values, names, con, path) {
  at <- 0
  central <- lapply(seq_along(values), function(i) {
    header <- rawConnection(raw(), "wb")
    on.exit(close(header))
    write_npy_header(values[[i]], header)
    start <- rawConnectionValue(header)
    data <- .Call(anvil_tensor_data, values[[i]])
    size <- length(start) + length(data) * element_bytes(typeof(data))
    if (size + at >= 2^32 - 2^16) {
      abort_file("write", path, "a .npz file of 4 GiB and more is not written", "See `nv_save()`.")
    }
    crc <- .Call(anvil_crc32, data, .Call(anvil_crc32, start, 0))
    name <- charToRaw(paste0(names[i], ".npy"))
    # Version 2.0, names in UTF-8, stored, no time, then checksum and sizes.
    shared <- c(
      little(20, 2L), little(2048, 2L), little(0, 2L), little(0, 2L), little(33, 2L), little(crc, 4L),
      little(size, 4L), little(size, 4L), little(length(name), 2L), little(0, 2L)
    )
    writeBin(c(little(zip_marks$local, 4L), shared, name, start), con)
    write_elements(data, con)
    entry <- c(little(zip_marks$central, 4L), little(20, 2L), shared, little(0, 10L), little(at, 4L), name)
    at <<- at + 30 + length(name) + size
    entry
  })
  central <- as.raw(unlist(central))
  count <- little(length(values), 2L)
  writeBin(
    c(
      central, little(zip_marks$end, 4L), little(0, 4L), count, count, little(length(central), 4L),
      little(at, 4L), little(0, 2L)
    ), con
  )
}

# ---- reading ----

# list(name, method, crc, packed, size, at) of the entries of an archive, from the directory at its end.
zip_entries <- function(con, size, path) {
  refuse <- function(reason) {
    abort_file("read", path, reason, "Write it with `numpy.savez()` or `nv_write_npz()`.")
  }
  # The end has 22 bytes and a comment of less than 2^16.
  tail <- min(size, 22 + 65535)
  seek(con, size - tail)
  bytes <- readBin(con, "raw", tail)
  mark <- little(zip_marks$end, 4L)
  starts <- if (length(bytes) >= 22L) which(bytes[seq_len(length(bytes) - 21L)] == mark[1L]) else integer()
  starts <- Filter(function(i) identical(bytes[i + 0:3], mark), rev(starts))
  if (!length(starts)) refuse("it was cut, or is no .npz file: it has no directory of a zip archive")
  end <- bytes[starts[1L] + 0:21]
  count <- number(end[11:12])
  length <- number(end[13:16])
  at <- number(end[17:20])
  if (at == 2^32 - 1 || count == 2^16 - 1) refuse("archives of 4 GiB or 65,535 entries and more are not read")
  if (at + length > size) refuse("its directory is beyond its end")
  seek(con, at)
  directory <- readBin(con, "raw", length)
  entries <- vector("list", count)
  from <- 0
  for (i in seq_len(count)) {
    if (from + 46 > base::length(directory)) refuse("its directory is cut")
    head <- directory[from + 1:46]
    sizes <- vapply(list(29:30, 31:32, 33:34), function(j) number(head[j]), 0)
    whole <- 46 + sum(sizes)
    if (number(head[1:4]) != zip_marks$central || from + whole > base::length(directory)) {
      refuse("its directory is broken")
    }
    name <- directory[from + 46 + seq_len(sizes[1L])]
    if (any(name == 0L)) refuse("a name in its directory is broken")
    name <- rawToChar(name)
    Encoding(name) <- "UTF-8"
    if (!validUTF8(name)) refuse("a name in its directory is no UTF-8")
    entries[[i]] <- list(
      name = name, flags = number(head[9:10]), method = number(head[11:12]), crc = number(head[17:20]),
      packed = number(head[21:24]), size = number(head[25:28]), at = number(head[43:46])
    )
    from <- from + whole
  }
  all <- lapply(c("name", "flags", "method", "crc", "packed", "size", "at"), function(part) {
    vapply(entries, `[[`, if (part == "name") "" else 0, part)
  })
  names(all) <- c("name", "flags", "method", "crc", "packed", "size", "at")
  if (anyDuplicated(all$name)) refuse("it has two entries of one name")
  all
}

# The tensor in one of the entries.
read_zipped <- function(con, entry, dtype, path) {
  shown <- paste("the entry", encodeString(entry$name, quote = "\""))
  refuse <- function(reason) abort_file("read", path, paste(shown, reason), "Copy it again.")
  if (entry$flags %% 2 == 1) refuse("is encrypted")
  if (!entry$method %in% c(0, 8)) refuse("is compressed by a method that NumPy does not use")
  if (max(entry$size, entry$packed) >= .Machine$integer.max) refuse("has 2 GiB or more")
  seek(con, entry$at)
  head <- readBin(con, "raw", 30L)
  if (length(head) < 30L || number(head[1:4]) != zip_marks$local) refuse("is not where the directory says")
  seek(con, entry$at + 30 + number(head[27:28]) + number(head[29:30]))
  bytes <- readBin(con, "raw", entry$packed)
  if (length(bytes) != entry$packed) refuse("is cut")
  if (entry$method == 8) bytes <- inflated(bytes, entry, refuse)
  if (length(bytes) != entry$size) refuse("has another size than the directory says")
  if (.Call(anvil_crc32, bytes, 0) != entry$crc) refuse("has another checksum than the directory says")
  npy <- rawConnection(bytes, "rb")
  on.exit(close(npy))
  read_npy(npy, length(bytes), dtype, path)
}

# The bytes that a deflated entry stands for: as a file of gzip, which R reads.
inflated <- function(bytes, entry, refuse) {
  # Deflate makes at most 1,032 bytes of one.
  if (entry$size > 1032 * (length(bytes) + 1)) refuse("has another size than the directory says")
  gzip <- c(
    as.raw(c(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255)), bytes, little(entry$crc, 4L), little(entry$size, 4L)
  )
  # A connection, since memDecompress() never ends on bytes that are cut. One byte more is asked for than
  # there are, which comes if the entry is longer than it says.
  tryCatch(
    {
      packed <- gzcon(rawConnection(gzip, "rb"))
      tryCatch(readBin(packed, "raw", entry$size + 1), finally = close(packed))
    },
    error = function(e) {
      pass_time_limit(e)
      refuse(paste("cannot be decompressed:", conditionMessage(e)))
    },
    warning = function(w) refuse(paste("cannot be decompressed:", conditionMessage(w)))
  )
}
