data_file <- function(name) testthat::test_path("..", "testdata", "safetensors", name)
counts <- matrix(0:5, 2, byrow = TRUE)

test_that("archives of NumPy are read, stored and compressed", {
  for (file in c("stored.npz", "deflated.npz")) {
    x <- nv_read_npz(data_file(file))
    expect_nv(x$a, counts, "f32")
    expect_nv(x[["b c"]], counts, "i64")
    expect_nv(x$scalar, 2.5, "f64", shape = integer())
    expect_identical(nv_read_npz(data_file(file), names = c("scalar", "a")), x[c("scalar", "a")])
  }
  expect_identical(as_array(x$zeros), matrix(0, 10, 10))
  expect_fields(nv_read_npz(data_file("stored.npz"), "q"), "anvil_error_arg", arg = "names")
  expect_error(nv_read_npz(data_file("stored.npz"), dtype = "f32"), class = "anvil_error_dtype")
})

test_that("what is written is read, here and by R's unzip()", {
  path <- withr::local_tempfile()
  x <- list(
    a = nv_tensor(matrix(1:6, 2), "i16"), b = nv_tensor(c(1.5, 2)), s = nv_scalar(TRUE), e = nv_fill(1, 0L)
  )
  names(x)[2L] <- "gr\u00f6\u00dfe"
  expect_identical(nv_write_npz(x, path), path)
  expect_identical(nv_read_npz(path), x)
  inside <- utils::unzip(path, list = TRUE)
  expect_identical(nrow(inside), 4L)
  folder <- withr::local_tempdir()
  utils::unzip(path, files = "a.npy", exdir = folder)
  expect_identical(nv_read_npy(file.path(folder, "a.npy")), x$a)
  nv_write_npz(list(), path)
  expect_identical(nv_read_npz(path), setNames(list(), character()))
  for (bad in list(nv_tensor(1), list(nv_tensor(1)), list(a = 1, a = 2), list(a = "x"))) {
    expect_error(nv_write_npz(bad, path), class = "anvil_error_arg")
  }
})

test_that("archives that lie are errors", {
  path <- withr::local_tempfile()
  for (file in c("stored.npz", "deflated.npz")) {
    good <- readBin(data_file(file), "raw", 1e5)
    for (n in seq(0, length(good) - 1, by = 7)) {
      writeBin(good[seq_len(n)], path)
      expect_error(nv_read_npz(path), class = "anvil_error_file")
    }
    whole <- nv_read_npz(data_file(file))
    for (i in seq_along(good)) {
      writeBin(replace(good, i, xor(good[i], as.raw(64))), path)
      out <- tryCatch(nv_read_npz(path), anvil_error_file = function(e) "refused")
      # Times and versions do not matter, and a name can be another one.
      expect_true(identical(out, "refused") || identical(unname(out), unname(whole)), label = paste(file, i))
    }
  }
  writeBin(charToRaw("PK"), path)
  e <- expect_error(nv_read_npz(path), class = "anvil_error_file")
  expect_match(e$reason, "no .npz file")
})
