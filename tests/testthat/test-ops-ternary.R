test_that("nv_ifelse() chooses elements on every dtype", {
  for (dtype in dtypes) {
    x <- nv_tensor(c(0, 1, 1), dtype = dtype)
    y <- nv_tensor(c(1, 0, 1), dtype = dtype)
    p <- nv_tensor(c(TRUE, FALSE, TRUE))
    got <- nv_ifelse(p, x, y)
    expect_identical(type_of(got), paste0(dtype, "[3]"))
    expect_equal(as.double(as_array(got)), ifelse(c(TRUE, FALSE, TRUE), c(0, 1, 1), c(1, 0, 1)))
  }
  x <- nv_tensor(c(-1, NaN, 2, -Inf))
  expect_jit_equal(function(x) nv_ifelse(nv_is_nan(x) | x < 0, 0, x), x, r = c(0, 0, 2, 0))
})

test_that("nv_ifelse() promotes its values, not its condition, and broadcasts scalars", {
  x <- nv_tensor(1:3)
  p <- x > 1L
  expect_elements(nv_ifelse(p, x, 0.5), c(0.5, 2, 3), "f32?[3]")
  expect_elements(nv_ifelse(p, nv_tensor(c(1, 2, 3), dtype = "f64"), 0.1), c(0.1, 2, 3), "f64[3]")
  expect_elements(nv_ifelse(p, 1L, 0L), c(0L, 1L, 1L), "i32?[3]")
  expect_elements(nv_ifelse(TRUE, x, -x), 1:3, "i32[3]")
  expect_elements(nv_ifelse(nv_scalar(FALSE), x, 0L), c(0L, 0L, 0L), "i32[3]")
  expect_elements(nv_ifelse(TRUE, 1, 2), 1, "f32?[]")
  expect_elements(nv_ifelse(array(c(TRUE, FALSE), 2), nv_tensor(1:2), 9L), c(1L, 9L), "i32[2]")
  expect_identical(type_of(nv_ifelse(nv_empty("i1", 0), nv_empty("f32", 0), 1)), "f32[0]")
  # Ambiguous only if both values are.
  expect_identical(type_of(nv_ifelse(p, nv_scalar(1), nv_scalar(2, dtype = "f32"))), "f32[3]")
})

test_that("nv_ifelse() says what does not fit", {
  x <- nv_tensor(1:3)
  e <- expect_error(nv_ifelse(x, x, x), class = "anvil_error_dtype", "booleans, not i32")
  expect_identical(e[c("op", "operand")], list(op = "nv_ifelse", operand = "pred"))
  expect_match(conditionMessage(e), "x != 0L", fixed = TRUE)
  expect_error(nv_ifelse(1, x, x), class = "anvil_error_dtype")
  expect_error(nv_ifelse(nv_tensor(c(TRUE, FALSE)), x, x), class = "anvil_error_shape")
  expect_error(nv_ifelse(TRUE, x, nv_tensor(1:2)), class = "anvil_error_shape", "(3) and (2)", fixed = TRUE)
})

test_that("nv_clamp() keeps elements within bounds on every dtype", {
  for (dtype in c(integers, floats)) {
    x <- nv_tensor(c(0, 3, 9), dtype = dtype)
    expect_equal(as.double(as_array(nv_clamp(2L, x, 5L))), c(2, 3, 5), label = dtype)
    expect_identical(type_of(nv_clamp(2L, x, 5L)), paste0(dtype, "[3]"))
  }
  expect_elements(nv_clamp(TRUE, nv_tensor(c(TRUE, FALSE)), TRUE), c(TRUE, TRUE), "i1[2]")
  expect_jit_equal(function(x) nv_clamp(-1, x, 1), nv_tensor(c(-3, 0.5, 2)), r = c(-1, 0.5, 1))
})

test_that("nv_clamp(): NaN stays, the upper bound wins, zeros and infinities", {
  expect_elements(nv_clamp(-1, nv_tensor(c(NaN, Inf, -Inf)), 1), c(NaN, 1, -1), "f32[3]")
  expect_elements(nv_clamp(5, nv_tensor(c(0, 3, 9)), 2), c(2, 2, 2), "f32[3]")
  expect_elements(nv_clamp(NaN, nv_tensor(c(0, 3)), 2), c(NaN, NaN), "f32[2]")
  expect_elements(nv_clamp(-Inf, nv_tensor(c(-5, 5)), Inf), c(-5, 5), "f32[2]")
})

test_that("nv_clamp(): bounds take the operand's dtype, and may be tensors of its shape", {
  x <- nv_tensor(c(0, 0.5, 1), dtype = "f64")
  # 1e-7 and 1 - 1e-7 are not rounded to f32 on the way.
  expect_elements(nv_clamp(1e-7, x, 1 - 1e-7), c(1e-7, 0.5, 1 - 1e-7), "f64[3]")
  expect_identical(type_of(nv_clamp(nv_scalar(0, dtype = "f64"), nv_tensor(1), 2)), "f32[1]")
  expect_identical(type_of(nv_clamp(0, nv_scalar(1), 2)), "f32?[]")
  expect_elements(nv_clamp(nv_tensor(1:3), nv_tensor(c(0L, 9L, 3L)), nv_tensor(4:6)), c(1L, 5L, 3L), "i32[3]")
  expect_elements(nv_clamp(1.9, nv_tensor(0:3), 2.9), c(1L, 1L, 2L, 2L), "i32[4]")
  expect_error(nv_clamp(nv_tensor(1:2), nv_tensor(1:3), 4L), class = "anvil_error_shape")
})
