# Hostile files: .npy files with bytes changed, cut, put in or taken out, with headers made of nasty fields,
# and what is no regular file; and writing to all of these. What is read is right or refused, and what is
# written is whole or not there.

npy_bytes <- function(x) {
  path <- tempfile(fileext = ".npy")
  on.exit(unlink(path))
  nv_write_npy(x, path)
  readBin(path, "raw", file.size(path))
}

# A file of these bytes, in version 1.0 or another, with a header of this text.
npy_of <- function(header, data = raw(), version = c(1L, 0L), pad = TRUE) {
  text <- if (is.raw(header)) header else charToRaw(header)
  wide <- version[1L] > 1L
  size <- length(text) + 1L
  if (pad) {
    fill <- -(size + 6L + 2L + if (wide) 4L else 2L) %% 64L
    text <- c(text, rep(charToRaw(" "), fill), charToRaw("\n"))
  }
  count <- writeBin(length(text), raw(), endian = "little")
  c(
    as.raw(0x93), charToRaw("NUMPY"), as.raw(version %% 256L), count[seq_len(if (wide) 4L else 2L)], text,
    data
  )
}

# Reads what these bytes are in a file; a tensor that is read must be one that can be written and read again.
read_bytes <- function(bytes, dtype = NULL) {
  path <- tempfile(fileext = ".npy")
  on.exit(unlink(path))
  writeBin(bytes, path)
  x <- nv_read_npy(path, dtype)
  nv_write_npy(x, path)
  back <- nv_read_npy(path, dtype)
  claim(identical(x, back), "a file that was read is another when written and read again")
  x
}

descr_values <- c(
  "'<f4'", "'<f8'", "'>f4'", "'|b1'", "'|i1'", "'<i8'", "'>u8'", "'<c8'", "'>c16'", "'<f2'", "'|V2'", "'|O'",
  "'<U3'",
  "'|S0'", "'<M8[ns]'",
  "'f4'", "'=f4'", "'<f3'", "'<f99999999999999999999'", "'<f-4'", "''", "None", "42", "[('a', '<f4')]",
  "[('a', '<f4'), ('a', '<i8')]", "'<f4", "\"<f4\"",
  "b'<f4'", "u'<f4'", "'<f4' '<f4'", "('<f4', (2,))", "'|f4'", "'<b1'", "True", "'<f4\\x00'", "'\\u00e9'",
  "'\u00e9'",
  "'''<f4'''", "'<F4'", "'<f4 '"
)
order_values <- c(
  "True", "False", "true", "1", "0", "None", "'True'", "", "not False", "TRUE", "True,", "(True)"
)
shape_values <- c(
  "()", "(3,)", "(3)", "(2, 2)", "(2, 2,)", "[2, 2]", "(0,)", "(0, 5)", "(-1,)", "(-1, -3)", "(2.0,)",
  "(3L,)",
  "(0x3,)", "(True,)", "('3',)", "(None,)",
  "(1e3,)", "(03,)", "(99999999999999999999999,)", "(2147483648,)", "(4294967296, 4294967296)",
  "(9223372036854775807,)", "(18446744073709551616, 0)",
  "(0, 18446744073709551616)", "(,)", "(3,,)", "(3, )", "( 3 , )", "(3,", "3,)", "((3,),)", "(3, 4", "(1,)*3",
  "(+3,)",
  "(3_0,)", "(3 ,\n)", "(3,) # x",
  "(\u0663,)", "", "(NaN,)", "(", ")"
)
big_shape <- function() switch(sample.int(3L, 1L),
  paste0("(", strrep("9", sample(20:4000, 1L)), ",)"),
  paste0("(", strrep("1, ", sample(1:3000, 1L)), ")"),
  paste0(strrep("(", sample(2:5000, 1L)), "3,", strrep(")", sample(2:5000, 1L)))
)

hostile_header <- function() {
  one <- function(usual, others) if (stats::runif(1L) < 0.5) usual else sample(others, 1L)
  shape <- if (stats::runif(1L) < 0.1) big_shape() else one("(2, 2)", shape_values)
  fields <- c(
    paste0("'descr': ", one("'<f4'", descr_values)), paste0("'fortran_order': ", one("False", order_values)),
    paste0("'shape': ", shape)
  )
  luck <- stats::runif(1L)
  if (luck < 0.05) fields <- fields[-sample.int(3L, 1L)]
  if (luck > 0.95) fields <- c(fields, sample(fields, 1L))
  if (luck > 0.9 && luck < 0.95) {
    fields <- c(fields, sample(c("'x': 1", "1: 2", "'\\n': None", "'descr ': 3", "**{}"), 1L))
  }
  if (luck > 0.8 && luck < 0.9) fields <- sample(fields)
  if (luck > 0.75 && luck < 0.8) fields <- gsub("'", "\"", fields, fixed = TRUE)
  other_ends <- list(c("{", "}"), c("", ""), c("{", ""), c("dict(", ")"), c(" {", "} "), c("{", "}}"))
  ends <- if (stats::runif(1L) < 0.85) c("{", ", }") else one_of(other_ends)
  text <- paste0(ends[1L], paste(fields, collapse = ", "), ends[2L])
  if (stats::runif(1L) < 0.1) {
    # A character that is none, or NUL, somewhere.
    bytes <- charToRaw(enc2utf8(text))
    at <- sample.int(length(bytes), 1L)
    bytes <- append(bytes, as.raw(sample(c(0L, 0xff, 0xc3, 0x80, 0x1a, 0x0a, 0x22), 1L)), at)
    return(bytes)
  }
  enc2utf8(text)
}

hostile_bytes <- function() {
  luck <- stats::runif(1L)
  if (luck < 0.6) {
    data <- as.raw(sample(0:255, sample(c(0L, 4L, 16L, 32L, 33L), 1L), TRUE))
    version <- if (stats::runif(1L) < 0.8) c(sample.int(3L, 1L), 0L) else sample(0:255, 2L, TRUE)
    return(npy_of(hostile_header(), data, version, stats::runif(1L) < 0.95))
  }
  bytes <- npy_bytes(eval(draw_value("tensor")))
  # What is told of the file stands at its beginning.
  spot <- function() sample.int(if (stats::runif(1L) < 0.8) min(length(bytes), 130L) else length(bytes), 1L)
  for (i in seq_len(sample.int(3L, 1L))) {
    if (length(bytes) < 2L) break
    at <- spot()
    bytes <- switch(sample.int(5L, 1L),
      replace(bytes, at, as.raw(sample(0:255, 1L))),
      replace(bytes, at, xor(bytes[at], as.raw(2^sample(0:7, 1L)))),
      bytes[seq_len(at - 1L)],
      append(bytes, as.raw(sample(0:255, sample.int(5L, 1L), TRUE)), at),
      bytes[-(at:min(length(bytes), at + sample.int(5L, 1L)))]
    )
  }
  if (length(bytes) > 4000L) bytes[1:4000] else bytes
}

# ---- what is no regular file ----

# Makes something called `path` of some kind; FALSE if the system does not let us.
make_strange <- function(kind, path) {
  run <- function(...) suppressWarnings(system2(..., stdout = FALSE, stderr = FALSE)) == 0L
  switch(kind,
    missing = TRUE,
    regular = {
      nv_write_npy(tensor("f64"), path)
      TRUE
    },
    empty = file.create(path),
    folder = dir.create(path),
    fifo = run("mkfifo", path),
    device = run("mknod", c(path, "c", "1", "3")),
    link = {
      nv_write_npy(tensor("f64"), paste0(path, ".target"))
      Sys.chmod(paste0(path, ".target"), "640")
      file.symlink(paste0(path, ".target"), path)
    },
    dangling = file.symlink(paste0(path, ".target"), path),
    circle = file.symlink(path, path),
    to_device = file.symlink("/dev/null", path),
    to_folder = dir.create(paste0(path, ".target")) && file.symlink(paste0(path, ".target"), path),
    unreadable = {
      nv_write_npy(tensor("f64"), path)
      Sys.chmod(path, "000")
    }
  )
}

kind_of_file <- function(path) {
  # A link itself, not what it leads to.
  link <- Sys.readlink(path)
  if (!is.na(link) && nzchar(link)) return(paste("link to", link))
  listed <- suppressWarnings(system2("ls", c("-ld", shQuote(path)), stdout = TRUE, stderr = FALSE))
  if (length(listed)) substr(listed[1L], 1L, 1L) else "none"
}

# Writes to and reads from something strange: what is no regular file stays what it is, a link stays and is
# followed, and modes are kept; what fails leaves nothing behind.
meet_strange <- function(kind, use) {
  folder <- tempfile("strange")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE, force = TRUE))
  path <- file.path(folder, "x.npy")
  if (!make_strange(kind, path)) return(invisible())
  before <- kind_of_file(path)
  mode <- file.mode(path)
  present <- list.files(folder, all.files = TRUE)
  failed <- NULL
  out <- withCallingHandlers(
    tryCatch(
      switch(use,
        read = nv_read_npy(path),
        write = nv_write_npy(tensor("i32"), path),
        export = nv_write_stablehlo(stablehlo(function(x) x + 1, nv_abstract("f32", 2L)), path)
      ),
      anvil_error_file = function(e) failed <<- e
    )
  )
  after <- kind_of_file(path)
  new <- setdiff(list.files(folder, all.files = TRUE), present)
  claim(!length(grep("^[.]anvil", new)), use, " of ", kind, " leaves ", toString(new), " behind")
  if (!is.null(failed) || use == "read") {
    claim(identical(before, after), use, " of ", kind, " turned ", before, " into ", after)
    return(invisible())
  }
  if (kind %in% c("regular", "empty", "unreadable")) {
    claim(
      identical(mode, file.mode(path)), use, " of ", kind, " changed the mode ", mode, " to ", file.mode(path)
    )
  } else if (kind %in% c("link", "dangling")) {
    claim(identical(before, after), use, " of ", kind, " turned ", before, " into ", after)
    if (kind == "link") {
      claim(identical(mode, file.mode(path)), use, " of ", kind, " changed the mode of what it leads to")
    }
  } else if (kind != "missing") {
    claim(identical(before, after), use, " of ", kind, " turned ", before, " into ", after)
  }
  if (use == "write" && kind %in% c("missing", "regular", "empty", "unreadable", "link", "dangling")) {
    claim(identical(nv_read_npy(path), tensor("i32")), "what was written to ", kind, " is not what is read")
  }
  invisible(out)
}

strange_kinds <- c(
  "missing", "regular", "empty", "folder", "fifo", "device", "link", "dangling", "circle", "to_device",
  "to_folder",
  "unreadable"
)

generate_files <- function(n) {
  # All kinds once in 300 cases; each in a process of its own would not be worth it.
  all <- expand.grid(kind = strange_kinds, use = c("read", "write", "export"), stringsAsFactors = FALSE)
  turn <- (n - 1) %% 300 + 1
  if (turn <= nrow(all)) {
    return(list(setup = list(), code = bquote(meet_strange(.(all$kind[turn]), .(all$use[turn])))))
  }
  if (stats::runif(1L) < 0.05) {
    setup <- list(
      a1 = draw_value(c("string", "nothing", "number", "object")),
      a2 = draw_value(c("tensor", "number", "anvil", "object"))
    )
    call <- one_of(alist(
      nv_read_npy(a1), nv_write_npy(a2, a1), nv_read_npy(a1, a2), nv_write_stablehlo(a2, a1)
    ))
    return(list(setup = setup, code = call))
  }
  bytes <- hostile_bytes()
  dtype <- if (stats::runif(1L) < 0.1) draw_value("dtype")
  hex <- paste(as.character(bytes), collapse = "")
  code <- if (is.null(dtype)) {
    bquote(read_bytes(of_hex(.(hex))))
  } else {
    bquote(read_bytes(of_hex(.(hex)), .(dtype)))
  }
  list(setup = list(), code = code)
}

of_hex <- function(text) {
  at <- seq(1L, by = 2L, length.out = nchar(text) %/% 2L)
  as.raw(strtoi(substring(text, at, at + 1L), 16L))
}
