test_that("tensors like another have its type", {
  for (dtype in dtypes) {
    x <- nv_fill(1L, c(2, 3), dtype)
    expect_identical(nv_fill_like(x, 1L), x)
    expect_identical(nv_empty_like(x), nv_empty(dtype, c(2, 3)))
    expect_identical(nv_eye_like(x, 2), nv_eye(2, dtype = dtype))
    expect_identical(nv_tensor_like(x, c(1, 0)), nv_tensor(c(1, 0), dtype))
    expect_identical(nv_scalar_like(x, 1), nv_scalar(1, dtype))
    if (dtype %in% c(integers, floats)) {
      expect_identical(nv_iota_like(x, -1), nv_iota(2, dtype, c(2, 3)))
      expect_identical(nv_seq_like(x, 1, 3), nv_seq(1, 3, dtype = dtype))
    }
  }
  y <- nv_fill(0.5, 2, ambiguous = TRUE)
  expect_identical(type_of(nv_fill_like(y, 1)), "f32?[2]")
  expect_identical(type_of(nv_fill_like(y, 1, dtype = "f64")), "f64[2]")
  expect_identical(type_of(nv_fill_like(y, 1, ambiguous = FALSE)), "f32[2]")
  expect_identical(type_of(nv_fill_like(2L, 1)), "i32?[]")
  expect_identical(type_of(nv_empty_like(y, shape = c(0, 2))), "f32?[0, 2]")
  expect_identical(type_of(nv_iota_like(y, 1, shape = 3, start = 0L)), "f32?[3]")
  expect_identical(nv_seq_like(nv_scalar(1, "f64"), 0, 1, steps = 3), nv_seq(0, 1, 3, dtype = "f64"))
  expect_identical(nv_eye_like(y, 2, 3, dtype = "i8"), nv_eye(2, 3, dtype = "i8"))
  expect_identical(nv_tensor_like(nv_scalar(1, "f64"), 1:4, shape = c(2, 2)), nv_tensor(1:4, "f64", c(2, 2)))
})

test_that("a traced value serves, and a value of each example", {
  x <- nv_tensor(matrix(1:6 + 0, 2), "f64")
  expect_jit_equal(
    function(x) x + nv_fill_like(x, 2) * nv_iota_like(x, 1), x, r = matrix(1:6, 2) + 2 * row(matrix(0, 2, 3))
  )
  expect_identical(vmap(function(x) x + nv_fill_like(x, 1))(x), x + 1)
  expect_identical(as.vector(as_array(gradient(function(x) sum(nv_fill_like(x, 3) * x))(x)$x)), rep(3, 6))
  expect_error(nv_fill_like("a", 1), class = "anvil_error_arg")
  expect_error(nv_fill_like(x, "a"), class = "anvil_error")
  expect_error(nv_iota_like(x, 3), class = "anvil_error_axis")
})
