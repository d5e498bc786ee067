# Doubles that are no f32, so that a matrix converted too early shows.
a <- matrix(c(0.1, -2, 3.3, 4, 5.7, 6), 2, 3)
b <- matrix(c(1, 2.2, -3, 0.4), 2, 2)
x <- nv_tensor(a, dtype = "f64")
y <- nv_tensor(b, dtype = "f64")

# As R from 4.3 on makes and saves them.
without_bit <- function(x) asS4(x, FALSE, complete = FALSE)

test_that("crossprod() and tcrossprod() are base R's, of tensors, R matrices and traced values", {
  expect_jit_equal(crossprod, x, r = TRUE, tolerance = 1e-15)
  expect_jit_equal(tcrossprod, x, r = TRUE, tolerance = 1e-15)
  expect_jit_equal(crossprod, x, y, r = TRUE, tolerance = 1e-15)
  expect_jit_equal(tcrossprod, y, t(x), r = TRUE, tolerance = 1e-15)
  expect_jit_equal(function(y) crossprod(a, y), y, r = crossprod(a, b), tolerance = 1e-15)
  expect_jit_equal(function(x) crossprod(x, b), x, r = crossprod(a, b), tolerance = 1e-15)
  expect_jit_equal(function(y) tcrossprod(y, t(a)), y, r = tcrossprod(b, t(a)), tolerance = 1e-15)
  expect_jit_equal(function(x) tcrossprod(b, t(x)), x, r = tcrossprod(b, t(a)), tolerance = 1e-15)
  expect_identical(crossprod(x, NULL), crossprod(x))
  expect_identical(tcrossprod(x, y = NULL), tcrossprod(x))
  # R matrices are still base R's.
  expect_identical(crossprod(a, b), base::crossprod(a, b))
  expect_identical(tcrossprod(a), base::tcrossprod(a))
  expect_identical(a %*% t(a), base::tcrossprod(a))
})

test_that("the product of a tensor and its transpose has gradients", {
  expect_equal(gradient(function(x) sum(crossprod(x)), "x")(x), gradient(function(x) sum(t(x) %*% x), "x")(x))
})

test_that("axes before the last two are a batch", {
  z <- nv_tensor(array(as.double(1:24), c(2, 3, 4)), dtype = "f64")
  both <- crossprod(z)
  expect_identical(shape(both), c(2L, 4L, 4L))
  for (i in 1:2) expect_equal(as_array(both)[i, , ], crossprod(as_array(z)[i, , ]))
  expect_identical(shape(tcrossprod(z)), c(2L, 3L, 3L))
})

test_that("shapes that do not fit are an error with the user's call", {
  expect_fields(crossprod(x, t(x)), "anvil_error_shape", lhs = c(3, 2), rhs = c(3, 2))
  expect_identical(call_of(crossprod(x, t(x))), "crossprod(x, t(x))")
  expect_identical(call_of(tcrossprod(x, y)), "tcrossprod(x, y)")
  expect_identical(call_of(x %*% x), "x %*% x")
  expect_error(crossprod(x, nv_tensor(1:2)), class = "anvil_error_shape")
  expect_error(crossprod(x, "a"), class = "anvil_error_arg")
  expect_error(tcrossprod(list(1), x), class = "anvil_error_arg")
})

test_that("a product dispatches whether or not an operand is an S4 object", {
  for (u in list(x, without_bit(x))) {
    for (v in list(t(x), without_bit(t(x)))) expect_identical(as_array(u %*% v), as_array(x %*% t(x)))
    for (v in list(y, without_bit(y))) expect_identical(as_array(crossprod(u, v)), as_array(crossprod(x, y)))
    expect_identical(as_array(tcrossprod(u)), as_array(tcrossprod(x)))
    expect_equal(as_array(u %*% t(a)), a %*% t(a))
    expect_equal(as_array(t(a) %*% u), t(a) %*% a)
  }
})

test_that("tensors that another R saved are multiplied", {
  for (name in c("4.2", "4.5")) {
    saved <- readRDS(test_path("..", "testdata", paste0("tensors-r", name, ".rds")))
    expect_equal(as_array(saved$x %*% saved$y), as_array(saved$x) %*% as_array(saved$y))
    expect_equal(as_array(crossprod(saved$x)), crossprod(as_array(saved$x)))
    expect_equal(as_array(tcrossprod(saved$y, saved$y)), tcrossprod(as_array(saved$y)))
    expect_equal(
      as_array(jit(function(x, y) x %*% y)(saved$x, saved$y)), as_array(saved$x) %*% as_array(saved$y)
    )
  }
})

test_that("base R's operator takes tensors in code that does not see this package's", {
  multiply <- function(x, y) base::`%*%`(x, y)
  expect_identical(multiply(x, t(x)), x %*% t(x))
  expect_identical(multiply(a, t(x)), a %*% t(x))
  expect_identical(multiply(x, t(a)), x %*% t(a))
})
