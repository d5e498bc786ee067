test_that("floats: finite, infinite, NaN", {
  x <- c(1, NaN, Inf, -Inf, -0, NA, 1e308)
  for (dtype in floats) {
    t <- nv_tensor(x, dtype = dtype)
    # 1e308 is infinite in f32.
    values <- as_array(t)
    expect_elements(nv_is_finite(t), is.finite(values), "i1[7]")
    expect_elements(nv_is_infinite(t), is.infinite(values), "i1[7]")
    expect_elements(nv_is_nan(t), is.na(values), "i1[7]")
  }
  expect_elements(nv_is_finite(nv_tensor(c(1e-45, 3.4e38))), c(TRUE, TRUE), "i1[2]")
})

test_that("integers and booleans are finite", {
  for (dtype in c("i1", integers)) {
    t <- nv_tensor(c(0, 1), dtype = dtype)
    expect_elements(nv_is_finite(t), c(TRUE, TRUE), "i1[2]")
    expect_elements(nv_is_infinite(t), c(FALSE, FALSE), "i1[2]")
    expect_elements(nv_is_nan(t), c(FALSE, FALSE), "i1[2]")
  }
})

test_that("the result is a known boolean of the operand's shape, jitted too", {
  expect_identical(type_of(nv_is_nan(nv_scalar(1))), "i1[]")
  expect_identical(type_of(nv_is_nan(nv_empty("f32", c(0, 2)))), "i1[0, 2]")
  x <- nv_tensor(c(NaN, 1, -Inf, 2), shape = c(2, 2))
  for (f in list(nv_is_finite, nv_is_infinite, nv_is_nan)) expect_jit_equal(f, x)
  expect_jit_equal(function(x) is.finite(t(x)), x, r = TRUE)
})
