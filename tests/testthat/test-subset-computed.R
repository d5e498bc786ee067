# Subscripts that a program computes: floats, and masks of which one number is assigned.

test_that("floats are positions, truncated as in R", {
  x <- nv_tensor(c(10, 20, 30), "f64")
  y <- nv_tensor(c(0.7, 0.2, 0.9), "f64")
  r <- c(10, 20, 30)
  s <- c(0.7, 0.2, 0.9)
  for (f in list(
    function(x, y) x[rank(y)], function(x, y) x[sum(y > 0.5) + 1], function(x, y) x[floor(3 * y) + 1],
    function(x, y) x[2.9 + y[2]], function(x, y) {
      x[3 * y[3]] <- 7
      x
    }
  )) {
    expect_equal(as.vector(as_array(jit(f)(x, y))), f(r, s))
    expect_equal(as.vector(as_array(f(x, y))), f(r, s))
  }
  expect_nv(x[nv_scalar(2.7, "f32")], 20, "f64", integer())
  expect_error(jit(function(x) x[x[1] * NaN])(x), class = "anvil_error_index", "Index 0")
  long <- nv_fill(0, 2^24 + 1, dtype = "i8")
  expect_error(long[nv_scalar(1, "f32")], class = "anvil_error_index", "tell apart")
  expect_nv(long[nv_scalar(1, "f64")], 0, "i8", integer())
})

test_that("one number is assigned to masks of rows and columns that a program computes", {
  r <- matrix(c(-1, 2, 3, 4, -5, 6), 2)
  m <- nv_tensor(r, "f64")
  for (f in list(
    function(m) {
      m[m[, 1] > 0, ] <- 0
      m
    },
    function(m) {
      m[m[, 1] > 0, 2] <- 9
      m
    },
    function(m) {
      m[, colSums(m) > 3] <- 0
      m
    },
    function(m) {
      m[m[, 1] > 0, m[1, ] > 0] <- 7
      m
    },
    function(m) {
      m[m[, 1] > 0, 2:3] <- m[1, 1]
      m
    },
    function(m) {
      m[m[, 1] > 0, which.max(m[2, ])] <- 8
      m
    }
  )) {
    expect_equal(as_array(jit(f)(m)), f(r))
  }
  several <- function(m) {
    m[m[, 1] > 0, ] <- m[1, ]
    m
  }
  expect_error(jit(several)(m), class = "anvil_error_arg", "not of shape \\(3\\)")
  short <- function(m) {
    m[m[1, ] > 0, 1] <- 0
    m
  }
  expect_error(jit(short)(m), class = "anvil_error_index", "a mask of length 2")
  expect_error(jit(function(m) m[m[, 1] > 0, ])(m), class = "anvil_error_arg", "nv_ifelse")
  g <- gradient(function(m) {
    m[m[, 1] > 0, ] <- 0
    sum(m^2)
  })(m)
  expect_equal(as_array(g$m), rbind(2 * r[1, ], 0))
})
