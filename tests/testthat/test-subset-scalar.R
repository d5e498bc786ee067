# Subscripts of 0-d tensors: a number of R is a vector of one element.

test_that("a 0-d tensor with one subscript is a vector of one element", {
  s <- nv_scalar(3, "f64")
  expect_identical(s[1], s)
  expect_identical(s[[1]], s)
  expect_nv(s[s < 2], numeric(), "f64", 0)
  s[s > 2] <- 5
  expect_identical(s, nv_scalar(5, "f64"))
  s[s > 9] <- 1
  expect_identical(s, nv_scalar(5, "f64"))
  expect_error(s[2], class = "anvil_error_index")
  expect_error(s[1, 1], class = "anvil_error_index", "x[]", fixed = TRUE)
  expect_identical(jit(function(x) x[1] + 1)(s), nv_scalar(6, "f64"))
  root <- uniroot(function(v) nv_scalar(v, "f64")^2 - 2, c(0, 2), tol = 1e-9)$root
  expect_equal(root, sqrt(2), tolerance = 1e-8)
})
