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

test_that("a vector of one element is the number that it is", {
  x <- nv_tensor(c(1, 2, 3), "f64")
  one <- nv_tensor(7, "f64", shape = 1L)
  y <- x
  y[2] <- one
  expect_identical(as.vector(y), c(1, 7, 3))
  y[2:3] <- one
  expect_identical(as.vector(y), c(1, 7, 7))
  expect_identical(as.vector(jit(function(x, one) {x[x > 1] <- one; x})(x, one)), c(1, 7, 7))
  expect_identical(as.vector(ave(x, c(1, 1, 2), FUN = cumsum)), c(1, 3, 3))
})
