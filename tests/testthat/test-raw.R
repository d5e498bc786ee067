test_that("bytes of all dtypes, there and back", {
  for (dtype in dtypes) {
    values <- if (dtype == "i1") c(TRUE, FALSE, FALSE, TRUE, TRUE, TRUE) else 1:6
    x <- nv_tensor(matrix(values, 2), dtype)
    bytes <- as_raw(x)
    expect_type(bytes, "raw")
    expect_identical(length(bytes), 6L * max(1L, bits(dtype) %/% 8L))
    expect_identical(nv_from_raw(bytes, dtype, 2:3), x)
    expect_identical(nv_from_raw(bytes, dtype), nv_flatten(x))
    rows <- as_raw(x, row_major = TRUE)
    expect_identical(rows, as_raw(nv_transpose(x)))
    expect_identical(nv_from_raw(rows, dtype, 2:3, row_major = TRUE), x)
  }
  skip_if_not(.Platform$endian == "little")
  expect_identical(as_raw(nv_tensor(c(1, -2), "f32")), as.raw(c(0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0)))
  expect_identical(as_raw(nv_tensor(matrix(1:4, 2), "ui8"), TRUE), as.raw(c(1, 3, 2, 4)))
  expect_identical(as_raw(258L), as.raw(c(2, 1, 0, 0)))
  # An ambiguous float is stored as a double.
  expect_identical(as_raw(nv_scalar(1)), writeBin(1, raw()))
})

test_that("empty ones and scalars", {
  expect_identical(as_raw(nv_fill(1, 0L)), raw())
  expect_identical(shape(nv_from_raw(raw(), "f64", c(0, 3))), c(0L, 3L))
  expect_nv(nv_from_raw(as.raw(7), "ui8", integer()), 7, "ui8", shape = integer())
})

test_that("bad bytes are named", {
  expect_fields(nv_from_raw(1:3, "f32"), "anvil_error_arg", arg = "data")
  expect_fields(nv_from_raw(as.raw(1:3), "f32"), "anvil_error_arg", arg = "data")
  expect_fields(nv_from_raw(as.raw(1:4), "f32", 2), "anvil_error_arg", arg = "data")
  expect_fields(nv_from_raw(as.raw(2), "i1"), "anvil_error_arg", arg = "data")
  expect_error(nv_from_raw(as.raw(2), "i9"), class = "anvil_error_dtype")
  expect_fields(nv_from_raw(as.raw(2), "i8", row_major = NA), "anvil_error_arg", arg = "row_major")
  expect_error(nv_from_raw(as.raw(2), "i8", -1), class = "anvil_error_arg")
  expect_fields(as_raw(nv_tensor(1), 1), "anvil_error_arg", arg = "row_major")
  expect_error(as_raw("a"), class = "anvil_error_arg")
  expect_error(jit(function(x) as_raw(x))(nv_tensor(1)), class = "anvil_error_concrete")
})
