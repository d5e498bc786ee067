# Files of NumPy. Those in tests/testdata/npy were made by NumPy, see make.py there.

numpy_file <- function(name) test_path("..", "testdata", "npy", paste0(name, ".npy"))

written_file <- function(x, env = parent.frame()) {
  path <- file_for_now(env)
  nv_write_npy(x, path)
  path
}

file_for_now <- function(env = parent.frame()) {
  path <- tempfile(fileext = ".npy")
  do.call(on.exit, list(substitute(unlink(path), list(path = path)), add = TRUE), envir = env)
  path
}

# A file with this header and these bytes.
forged_file <- function(header, data = raw(), version = c(1, 0), env = parent.frame()) {
  path <- file_for_now(env)
  if (is.character(header)) header <- charToRaw(header)
  size <- as.raw(c(length(header) %% 256, length(header) %/% 256, if (version[1L] > 1) c(0, 0)))
  writeBin(c(as.raw(c(0x93, utf8ToInt("NUMPY"), version)), size, header, data), path)
  path
}

test_that("each dtype comes back from a file with all its bits", {
  for (dtype in dtypes) {
    for (shape in list(integer(), 1L, 3L, c(2L, 3L), c(0L, 4L), c(2L, 1L, 3L, 2L))) {
      x <- nv_convert(nv_iota(1L, "i32", c(prod(shape))) - 2L, if (dtype == "i1") "i32" else dtype)
      if (dtype == "i1") x <- x > 0L
      x <- nv_reshape(x, shape)
      expect_identical(
        nv_read_npy(written_file(x), dtype), x, label = paste(dtype, paste(shape, collapse = "x"))
      )
    }
  }
})

test_that("the header is that of NumPy: a multiple of 64 bytes, columns first", {
  path <- written_file(nv_fill(1, c(2, 3), "f32"))
  bytes <- readBin(path, "raw", 1000L)
  expect_length(bytes, 128L + 24L)
  expect_identical(bytes[1:10], as.raw(c(0x93, utf8ToInt("NUMPY"), 1, 0, 118, 0)))
  header <- rawToChar(bytes[11:128])
  expect_match(header, "^\\{'descr': '[<>]f4', 'fortran_order': True, 'shape': \\(2, 3\\), \\} +\n$")
  header_of <- function(x) rawToChar(readBin(written_file(x), "raw", 128L)[11:128])
  expect_match(header_of(nv_scalar(1)), "'shape': ()", fixed = TRUE)
  expect_match(
    header_of(nv_fill(1L, 1e5, "i8")), "'|i1', 'fortran_order': True, 'shape': (100000,)", fixed = TRUE
  )
  expect_match(header_of(nv_fill(1, 2, "bf16")), "V2'", fixed = TRUE)
})

test_that("files of NumPy are read: all dtypes, both orders, both byte orders", {
  types <- anvil:::npy_types[!names(anvil:::npy_types) %in% c("i1", "bf16")]
  for (dtype in names(types)) {
    rows <- nv_read_npy(numpy_file(paste0(types[[dtype]], "-rows")))
    columns <- nv_read_npy(numpy_file(paste0(types[[dtype]], "-columns-swapped")))
    expect_identical(rows, columns, label = dtype)
    expect_identical(as.character(dtype(rows)), dtype)
    expect_identical(shape(rows), c(2L, 3L))
    if (dtype %in% integers) {
      ends <- nv_tensor(c(lowest[[dtype]], highest[[dtype]]), dtype = dtype)
      expect_identical(nv_flatten(rows)[c(1, 6)], ends, label = dtype)
      expect_identical(as.double(nv_flatten(rows, order = "row")[2:5]), as.double(1:4))
    } else {
      expected <- matrix(0:5 / -2, 2, byrow = TRUE)
      if (dtype %in% complexes) expected <- expected + 0.25i
      expect_equal(as_array(rows), expected)
    }
  }
  expect_identical(as_array(nv_read_npy(numpy_file("b1"))), matrix(0:5 %% 2 == 1, 2, byrow = TRUE))
  expect_identical(
    nv_read_npy(numpy_file("bf16"), "bf16"), nv_convert(nv_matrix(0:5 / 2, 2, 3, order = "row"), "bf16")
  )
  expect_identical(nv_read_npy(numpy_file("scalar")), nv_scalar(2.5, "f64"))
  expect_identical(nv_read_npy(numpy_file("empty")), nv_empty("f32", c(0L, 3L)))
  expect_identical(
    nv_read_npy(numpy_file("four-dims")), nv_tensor(0:23, shape = c(2L, 3L, 1L, 4L), order = "row")
  )
  for (version in 2:3) {
    x <- nv_read_npy(numpy_file(paste0("version-", version)))
    expect_identical(x, nv_tensor(0:5, "f32", c(2L, 3L), order = "row"))
  }
})

test_that("R's values are written as R holds them", {
  expect_identical(nv_read_npy(written_file(0.1)), nv_scalar(0.1, "f64"))
  expect_identical(nv_read_npy(written_file(matrix(1:4, 2))), nv_matrix(1:4, 2, 2))
  expect_identical(nv_read_npy(written_file(TRUE)), nv_scalar(TRUE))
  expect_identical(nv_read_npy(written_file(1i)), nv_scalar(1i, "c128"))
  expect_fields(
    nv_write_npy(c(1, 2), tempfile()), "anvil_error_arg", arg = "x", got = "a double vector of length 2"
  )
  expect_error(nv_write_npy("a", tempfile()), class = "anvil_error_arg")
  expect_error(nv_write_npy(list(1), tempfile()), class = "anvil_error_arg")
  expect_error(nv_write_npy(NULL, tempfile()), class = "anvil_error_arg")
  expect_error(jit(function(x) nv_write_npy(x, tempfile()))(1), "Return it", class = "anvil_error_concrete")
})

test_that("elements are written and read in parts", {
  path <- file_for_now()
  for (data in list(as.raw(1:20), 1:20, 1:20 / 3, complex(real = 1:20, imaginary = -1))) {
    con <- file(path, "wb")
    anvil:::write_elements(data, con, at_once = 7)
    close(con)
    con <- file(path, "rb")
    dtype <- switch(typeof(data), raw = "ui8", integer = "i32", double = "f64", complex = "c128")
    type <- list(dtype = dtype, size = 1L, swap = FALSE)
    expect_identical(anvil:::read_elements(con, type, 20, at_once = 7), data)
    close(con)
  }
})

test_that("ambiguity and dimnames stay in R", {
  x <- nv_read_npy(written_file(nv_scalar(1)))
  expect_identical(x, nv_scalar(1, "f64"))
  x <- nv_read_npy(written_file(nv_tensor(c(0.1 + 1i, 2), ambiguous = TRUE)))
  expect_identical(x, nv_tensor(c(0.1 + 1i, 2), "c128"))
})

test_that("elements that no dtype has are refused with what they are", {
  kinds <- c(
    objects = "Python objects", strings = "strings", times = "times", records = "records",
    longdouble = "of another type"
  )
  for (name in names(kinds)) {
    error <- expect_error(nv_read_npy(numpy_file(name)), class = "anvil_error_dtype")
    expect_match(conditionMessage(error), kinds[[name]], fixed = TRUE)
  }
  error <- expect_error(nv_read_npy(numpy_file("bf16")), class = "anvil_error_dtype")
  expect_match(conditionMessage(error), "dtype = \"bf16\"", fixed = TRUE)
  error <- expect_fields(
    nv_read_npy(numpy_file("f4-rows"), "f64"), "anvil_error_dtype", expected = "f64", got = "f32"
  )
  expect_match(conditionMessage(error), "nv_convert()", fixed = TRUE)
  expect_identical(
    nv_read_npy(numpy_file("f4-rows"), "f32"), nv_read_npy(numpy_file("f4-rows"), as_dtype("f32"))
  )
  expect_error(nv_read_npy(numpy_file("f4-rows"), "f31"), class = "anvil_error_dtype")
})

test_that("files that are broken are refused with the reason", {
  good <- "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n"
  eight <- as.raw(1:8)
  expect_identical(shape(nv_read_npy(forged_file(good, eight))), 2L)
  refused <- function(path, reason) {
    error <- expect_fields(nv_read_npy(path), "anvil_error_file", path = path)
    expect_match(error$reason, reason, fixed = TRUE)
  }
  refused(forged_file(good, eight[1:7]), "it ends 1 byte too early")
  refused(forged_file(good, c(eight, eight)), "its last element is 8 bytes before its end")
  refused(forged_file(good, eight, c(4, 0)), "version 4.0 of its format is unknown")
  headers <- c(
    "", "{}", "{'descr': '<f4', 'shape': (2,)}", sub("2,", "2;", good, fixed = TRUE),
    sub("(2,)", "(-2,)", good, fixed = TRUE),
    sub("False", "0", good), sub("}", ", 'x': 1}", good, fixed = TRUE), sub("{", "", good, fixed = TRUE),
    "system('true')", sub("(2,)", "(2,,3)", good, fixed = TRUE)
  )
  for (header in headers) refused(forged_file(header, eight), "its header is broken")
  # A size that no machine has is no reason to ask for the memory.
  refused(forged_file(sub("2,", "2000000000,", good, fixed = TRUE), eight), "too early")
  for (size in c("2147483648", "200000000000000", strrep("9", 400))) {
    refused(forged_file(sub("2", size, good, fixed = TRUE), eight), "a size in its shape is above 2^31 - 1")
    refused(
      forged_file(sub("2,", paste0("0, ", size), good, fixed = TRUE)), "a size in its shape is above 2^31 - 1"
    )
  }
  cut <- tempfile()
  writeBin(as.raw(c(0x93, utf8ToInt("NUMPY"), 1, 0, 118, 0, 65)), cut)
  refused(cut, "its header is cut or broken")
  writeBin(charToRaw("no"), cut)
  refused(cut, "it is no .npy file")
  writeBin(raw(), cut)
  refused(cut, "it is no .npy file")
  unlink(cut)
  refused(
    forged_file("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }\n", as.raw(1:2)), "neither 0 nor 1"
  )
  # Python 2 and other writers are less neat.
  header <- "{\"shape\":(2L, 1L),\"fortran_order\":True,\"descr\":\"<i4\"}"
  expect_identical(nv_read_npy(forged_file(header, as.raw(c(1, 0, 0, 0, 2, 0, 0, 0)))), nv_matrix(1:2, 2, 1))
})

test_that("paths that cannot be are refused, and nothing is left behind", {
  folder <- tempfile()
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  lost <- file.path(folder, "nowhere", "x.npy")
  error <- expect_fields(nv_write_npy(1, lost), "anvil_error_file", path = lost)
  expect_match(error$reason, "there is no folder", fixed = TRUE)
  expect_identical(call_of(nv_write_npy(1, lost)), "nv_write_npy(1, lost)")
  expect_error(nv_write_npy(1, folder), "there is a folder of this name", class = "anvil_error_file")
  expect_error(nv_read_npy(folder), class = "anvil_error_file")
  expect_error(nv_read_npy(lost), "there is no such file", class = "anvil_error_file")
  for (path in list(1, "", NA_character_, c("a", "b"), NULL)) {
    expect_error(nv_write_npy(1, path), class = "anvil_error_arg")
    expect_error(nv_read_npy(path), class = "anvil_error_arg")
  }
  # A file is replaced as a whole.
  path <- file.path(folder, "x.npy")
  nv_write_npy(1, path)
  expect_error(nv_write_npy(1:2, path), class = "anvil_error_arg")
  expect_identical(nv_read_npy(path), nv_scalar(1, "f64"))
  expect_identical(withVisible(nv_write_npy(2, path)), list(value = path, visible = FALSE))
  expect_identical(list.files(folder, all.files = TRUE, no.. = TRUE), "x.npy")
  donated <- nv_tensor(c(1, 2))
  jit(function(x) x + 1, donate = "x")(donated)
  expect_error(nv_write_npy(donated, path), class = "anvil_error_donated")
})

# Whether NumPy reads a file with such a header is in headers.csv, see headers.py; `ours` says why we do not
# where it does.
test_that("headers that NumPy refuses are refused, the others are read but for those with a reason", {
  cases <- utils::read.csv(
    test_path("..", "testdata", "npy", "headers.csv"), colClasses = "character", comment.char = "#"
  )
  expect_gt(nrow(cases), 60L)
  for (i in seq_len(nrow(cases))) {
    header <- as.raw(strtoi(strsplit(cases$header[i], " ", fixed = TRUE)[[1L]], 16L))
    path <- forged_file(header, raw(as.integer(cases$bytes[i])), c(as.integer(cases$version[i]), 0))
    header <- rawToChar(header)
    got <- tryCatch(nv_read_npy(path), error = identity)
    if (cases$numpy[i] == "reads" && cases$ours[i] == "") {
      expect_true(inherits(got, "AnvilTensor"), label = paste("reading", encodeString(header)))
    } else {
      expect_true(
        inherits(got, c("anvil_error_file", "anvil_error_dtype")),
        label = paste("refusing", encodeString(header))
      )
    }
  }
})
