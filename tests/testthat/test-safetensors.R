data_file <- function(name) testthat::test_path("..", "testdata", "safetensors", name)

test_that("a file of Python's safetensors is read, with all dtypes", {
  x <- nv_load(data_file("numpy.safetensors"))
  counts <- matrix(0:5, 2, byrow = TRUE)
  for (dtype in setdiff(dtypes, "c128")) {
    whole <- if (dtype == "i1") counts != 0 else counts
    want <- switch(substr(dtype, 1L, 1L), f = , b = -counts / 2, c = counts * (1 - 0.5i), whole)
    expect_nv(x[[dtype]], want, dtype, shape = 2:3)
  }
  expect_nv(x[["layer.0.weight"]], aperm(array(0:23, c(4, 1, 3, 2)), 4:1), "f32", shape = c(2, 3, 1, 4))
  expect_nv(x$scalar, 2.5, "f64", shape = integer())
  expect_identical(shape(x$empty), c(0L, 3L))
  expect_nv(x[["gr\u00f6\u00dfe"]], 1:2, "i32")
  others <- c("layer.0.weight", "scalar", "empty", "gr\u00f6\u00dfe")
  expect_setequal(names(x), c(setdiff(dtypes, "c128"), others))
  some <- nv_load(data_file("numpy.safetensors"), names = c("scalar", "i8"))
  expect_identical(some, x[c("scalar", "i8")])
})

test_that("nested lists come back as they were, in files and in memory", {
  path <- withr::local_tempfile()
  m <- matrix(c(1.5, 2, -3, 4, 5, 6), 2)
  cases <- list(
    nv_tensor(m), nv_scalar(2), 3L, matrix(1:4, 2), NULL, list(), list(a = NULL),
    list(list(), list(nv_tensor(1:3))),
    list(w = nv_tensor(m, "bf16"), b = list(nv_scalar(1), NULL, last = nv_tensor(TRUE))),
    list(a = nv_tensor(1), a = nv_tensor(2), nv_tensor(3)),
    list(`a.b` = nv_tensor(1), a = list(b = nv_tensor(2)), `__metadata__` = nv_tensor(3)),
    setNames(list(nv_tensor(array(1:24, 2:4), "i64")), "gr\u00f6\u00dfe \"x\"\n\\"),
    list(z = nv_tensor(matrix(c(1+2i, 3i, 0, -1i), 2), "c128"), y = nv_tensor(1i)),
    list(e = nv_fill(1, c(0L, 3L), "c128"), f = nv_fill(TRUE, c(2L, 0L)))
  )
  tensors <- function(x) {
    if (is.list(x)) return(lapply(x, tensors))
    if (is.null(x) || inherits(x, "AnvilTensor")) x else written_as(x)
  }
  written_as <- function(x) {
    dtype <- switch(typeof(x), double = "f64", integer = "i32")
    if (is.null(dim(x))) nv_scalar(x, dtype) else nv_tensor(x, dtype)
  }
  for (x in cases) {
    expect_identical(nv_save(x, path), path)
    expect_identical(nv_load(path), tensors(x))
    bytes <- nv_serialize(x)
    expect_identical(readBin(path, "raw", 1e6), bytes)
    expect_identical(nv_unserialize(bytes), tensors(x))
  }
})

test_that("all dtypes and ambiguous ones keep their elements", {
  for (dtype in dtypes) {
    x <- nv_tensor(if (dtype == "i1") c(TRUE, FALSE) else c(1L, 3L), dtype)
    expect_identical(nv_unserialize(nv_serialize(x)), x)
    flagged <- nv_convert(x, dtype, ambiguous = TRUE)
    back <- nv_unserialize(nv_serialize(list(x = flagged)))$x
    expect_identical(back, flagged)
    expect_true(ambiguous(back))
  }
  # An ambiguous float has all digits of a double.
  third <- nv_scalar(1 / 3)
  expect_identical(as.double(nv_unserialize(nv_serialize(third))), 1 / 3)
  big <- nv_tensor("9223372036854775807", "i64")
  expect_identical(as.character(nv_unserialize(nv_serialize(big))), "9223372036854775807")
  flagged <- nv_convert(big, "i64", ambiguous = TRUE)
  expect_identical(as.character(nv_unserialize(nv_serialize(flagged))), "9223372036854775807")
})

test_that("what is read by name has its dtype too", {
  path <- withr::local_tempfile()
  x <- list(a = list(z = nv_tensor(1i, "c128"), s = nv_scalar(2)), b = nv_tensor(1:3))
  nv_save(x, path)
  expect_identical(nv_load(path, "a.z"), list(`a.z` = x$a$z))
  expect_identical(nv_load(path, c("b", "a.s")), list(b = x$b, `a.s` = x$a$s))
  expect_identical(nv_load(path, character()), setNames(list(), character()))
  e <- expect_fields(nv_load(path, c("b", "c")), "anvil_error_arg", arg = "names", got = "\"c\"")
  expect_match(conditionMessage(e), "\"a.z\"", fixed = TRUE)
  expect_fields(nv_load(path, 1), "anvil_error_arg", arg = "names")
  expect_fields(nv_load(path, c("b", "b")), "anvil_error_arg", arg = "names")
})

test_that("other programs' changes are read as they are", {
  header <- function(text, data = raw()) {
    text <- charToRaw(enc2utf8(text))
    c(as.raw(length(text) %/% 256^(0:7) %% 256), text, data)
  }
  entry <- '"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}'
  x <- list(x = nv_tensor(as.raw(1:2)))
  read <- function(own) {
    own <- gsub('"', '\\"', own, fixed = TRUE)
    text <- paste0('{"__metadata__":{"anvil":"', own, '","other":"y"},', entry, "}")
    nv_unserialize(header(text, as.raw(1:2)))
  }
  for (own in c(
    "", "{", "[]", "1", "null", '{"tree":1}', '{"tree":"y"}', '{"tree":["x","x"]}', '{"tree":{"a":"x"}}',
    '{"tree":{"names":["a"],"values":[]}}', '{"tree":{"names":"a","values":"x"}}', '{"tree":[["x",1]]}',
    '{"tree":"y","ambiguous":{"x":"f32","y":"f32"},"c128":["x"]}',
    '{"tree":"y","ambiguous":["x"],"c128":{"x":1}}'
  )) {
    expect_identical(read(own), x, label = own)
  }
  expect_identical(read('{"tree":["x"]}'), unname(x))
  expect_identical(read('{"tree":{"names":["y"],"values":["x"]}}'), list(y = x$x))
  expect_identical(nv_unserialize(header(paste0("{", entry, "}  "), as.raw(1:2))), x)
})

test_that("bytes that lie are errors, and nothing is returned in part", {
  good <- nv_serialize(list(a = nv_tensor(matrix(1:6, 2)), b = nv_tensor(c(TRUE, FALSE))))
  path <- withr::local_tempfile()
  refused <- function(bytes, reason) {
    writeBin(bytes, path)
    e <- expect_error(nv_load(path), class = "anvil_error_file", label = reason)
    expect_match(e$reason, reason)
    expect_identical(e$path, path)
    expect_fields(nv_unserialize(bytes), "anvil_error_arg", arg = "x")
  }
  for (n in c(0, 1, 7)) refused(good[seq_len(n)], "fewer than 8 bytes")
  for (n in 8:(length(good) - 1)) {
    writeBin(good[seq_len(n)], path)
    expect_error(nv_load(path), class = "anvil_error_file")
  }
  refused(c(good, as.raw(0)), "before its end")
  refused(good[-length(good)], "1 byte too early")
  refused(c(as.raw(rep(255, 8)), good[-(1:8)]), "which the format forbids")
  npy <- withr::local_tempfile()
  nv_write_npy(nv_tensor(1:3), npy)
  expect_error(nv_load(npy), "it is no .safetensors file", class = "anvil_error_file", fixed = TRUE)
  refused(c(as.raw(c(0, 0, 0, 5, 0, 0, 0, 0)), good[-(1:8)]), "beyond its end")
  refused(replace(good, length(good), as.raw(7)), "neither 0 nor 1")
  header <- function(text, data = raw()) c(as.raw(nchar(text) %/% 256^(0:7) %% 256), charToRaw(text), data)
  # One tensor with these entries.
  x <- function(dtype, shape, offsets) {
    paste0('"x":{"dtype":"', dtype, '","shape":[', shape, '],"data_offsets":[', offsets, "]}")
  }
  braced <- function(...) paste0("{", paste(..., sep = ","), "}")
  for (text in c(
    "", "{", "[]", "null", strrep("[", 5000), '{"x":1}', '{"x":{}}',
    braced(x("F99", 1, "0,1")), braced(x("U8", -1, "0,1")), braced(x("U8", 1.5, "0,1")),
    braced(x("U8", 2, "0,1")), braced(x("U8", 1, "1,2")), braced(x("U8", 1, "1,0")),
    braced(x("U8", "4294967296,4294967296,4294967296", "0,1")),
    braced(x("U8", 1, "0,1"), x("U8", 2, "0,2")), braced('"__metadata__":{"a":1}', x("U8", 1, "0,1"))
  )) {
    refused(header(text, as.raw(1)), "header is broken|before its end|too early")
  }
  refused(c(header("{}"), as.raw(1)), "before its end")
  refused(header(braced(x("U8", "0,4294967296", "0,0"))), "above 2\\^31 - 1")
  expect_identical(nv_unserialize(header("{}")), setNames(list(), character()))
  narrow <- header(braced(x("F8_E4M3", 1, "0,1"), sub("x", "y", x("U8", 1, "1,2"))), as.raw(1:2))
  expect_fields(nv_unserialize(narrow), "anvil_error_dtype", got = "F8_E4M3")
  expect_identical(nv_unserialize(narrow, "y"), list(y = nv_tensor(as.raw(2))))
  # Any one byte of the header changed: an error of ours, or a list.
  for (i in seq_len(sum(as.integer(good[1:8]) * 256^(0:7)) + 8)) {
    changed <- replace(good, i, xor(good[i], as.raw(1)))
    out <- tryCatch(nv_unserialize(changed), anvil_error = function(e) "refused")
    expect_true(identical(out, "refused") || is.list(out))
  }
  expect_error(nv_load(withr::local_tempdir()), class = "anvil_error_file")
  expect_error(nv_load(file.path(tempdir(), "nothing")), class = "anvil_error_file")
  expect_fields(nv_unserialize("a"), "anvil_error_arg", arg = "x")
})

test_that("what cannot be saved is named, and leaves the file as it was", {
  path <- withr::local_tempfile()
  nv_save(nv_tensor(1), path)
  before <- readBin(path, "raw", 1e4)
  for (bad in list("a", list(1, b = list("a")), list(sum), c(1, 2), list(a = NA), factor("a"), quote(x))) {
    expect_error(nv_save(bad, path), class = "anvil_error")
  }
  e <- expect_error(nv_save(list(a = 1, b = list(1, "a")), path), class = "anvil_error_arg")
  expect_identical(e$arg, "x$b[[2]]")
  deep <- nv_tensor(1)
  for (i in 1:100) deep <- list(deep)
  expect_fields(nv_save(deep, path), "anvil_error_arg", arg = "x")
  expect_error(jit(function(x) {
    nv_save(list(x), path)
    x
  })(nv_tensor(1)), class = "anvil_error_concrete")
  expect_identical(readBin(path, "raw", 1e4), before)
  expect_fields(nv_save(nv_tensor(1), 1), "anvil_error_arg", arg = "path")
  expect_error(nv_save(nv_tensor(1), file.path(tempdir(), "no", "folder")), class = "anvil_error_file")
  expect_identical(list.files(dirname(path), pattern = "^[.]anvil-", all.files = TRUE), character())
})

test_that("Python's safetensors reads what is written here", {
  python <- Sys.getenv("ANVIL_PYTHON", "python3")
  script <- paste(
    "import sys, numpy", "from safetensors.numpy import load_file", "x = load_file(sys.argv[1])",
    "print(x['m'].tolist(), x['a.1'].dtype, x['a.2'].tolist(), x['z'].shape)", sep = "\n"
  )
  skip_if(!nzchar(Sys.which(python)), "there is no Python")
  has <- system2(python, c("-c", shQuote("import safetensors.numpy")), stdout = FALSE, stderr = FALSE)
  skip_if(suppressWarnings(has) != 0L, "Python has no safetensors")
  path <- withr::local_tempfile()
  x <- list(m = nv_tensor(matrix(1:6, 2)), a = list(nv_tensor(1, "f16"), TRUE), z = nv_tensor(1i, "c128"))
  nv_save(x, path)
  printed <- system2(python, c("-c", shQuote(script), path), stdout = TRUE)
  expect_identical(printed, "[[1, 3, 5], [2, 4, 6]] float16 True (1, 2)")
})
