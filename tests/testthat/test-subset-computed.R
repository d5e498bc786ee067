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
  # A double of R's as an argument.
  expect_nv(jit(function(m, i) m[i, ])(nv_tensor(matrix(1:6, 3)), 2.7), c(2, 5), "i32")
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

test_that("a negated position that the program computes leaves out that one", {
  r <- c(3, 9, 1, 4)
  a <- matrix(as.double(1:6), 2)
  x <- nv_tensor(r, "f64")
  m <- nv_tensor(a, "f64")
  jitted <- function(f, ..., r) expect_equal(as_array(jit(f)(...)), r, ignore_attr = TRUE)
  expect_jit_equal(function(x) x[-which.max(x)], x, r = r[-2])
  expect_jit_equal(function(x) { x[-which.max(x)] <- 0; x }, x, r = c(0, 9, 0, 0))
  jitted(function(m, k) m[, -k], m, nv_scalar(3L), r = a[, -3])
  jitted(function(m, k) m[-k, ], m, nv_scalar(1L), r = a[-1, , drop = FALSE])
  jitted(function(m, k) m[-k, -(k + 1L)], m, nv_scalar(2L), r = a[-2, -3, drop = FALSE])
  for (dtype in c("i8", "ui8", "ui32", "i64", "ui64", "f32", "f64")) {
    for (k in 1:4) jitted(function(x, k) x[-k], x, nv_scalar(k, dtype), r = r[-k])
  }
  jitted(function(x, k) x[-k], x, nv_tensor(2L, shape = 1L), r = r[-2])
  jitted(function(x, k) x[-k], nv_tensor(7), nv_scalar(1L), r = numeric())
  # Outside of a program nobody sees how a negative number was made, which is out of range.
  expect_error(x[-nv_scalar(2L)], class = "anvil_error_index", "In a traced function")
  expect_elements(
    vmap(function(x, k) x[-k])(nv_tensor(rbind(1:3, 4:6)), nv_tensor(c(1L, 3L))), c(2, 4, 3, 5), "i32[2, 2]"
  )
  expect_identical(as.vector(gradient(function(x) sum(x[-which.max(x)]^2))(x)$x), c(6, 0, 2, 8))
  for (k in c(-3L, 0L, 5L)) {
    expect_fields(jit(function(x, k) x[-k])(x, k), "anvil_error_index", value = as.double(k))
  }
  # To another mode it is out of range.
  expect_jit_equal(function(x, k) nv_subset(x, -k, mode = "clip"), x, nv_scalar(2L), r = 3)
  # How many elements several leave out is known to the user alone: what is left is a selection.
  i <- nv_tensor(c(4L, 1L, 4L))
  jitted(function(x, i) mean(x[-i]), x, i, r = mean(r[-c(4, 1)]))
  jitted(function(x, i) sum(x[-(i + 5)]), x, i, r = sum(r))
  jitted(function(x, i) { x[-i] <- 0; x }, x, i, r = replace(r, -c(4, 1), 0))
  jitted(function(m, i) rowSums(m[, -i]), m, nv_tensor(c(1L, 3L)), r = a[, 2])
  jitted(function(m, i) { m[, -i] <- 0; m }, m, nv_tensor(c(1L, 3L)), r = { a[, 2] <- 0; a })
  expect_error(jit(function(x, k) x[-k])(x, i), class = "anvil_error_arg", "nv_which")
  f <- function(x, i) x[nv_which(!nv_isin(seq_along(x), i), size = 2)]
  expect_elements(jit(f)(x, nv_tensor(1:2)), c(1, 4), "f64[2]")
})

test_that("a range between computed places says what to write, which works", {
  x <- nv_tensor(c(3, 1, 2, 5, 4), "f64")
  k <- nv_tensor(c(2L, 4L))
  for (f in list(function(x, k) x[k[1]:k[2]], function(x, k) sum(x[1:k[2]]))) {
    error <- expect_error(jit(user(f))(x, k), class = "anvil_error_concrete")
    expect_match(conditionMessage(error), "`x[seq_along(x) >= a & seq_along(x) <= b]`", fixed = TRUE)
  }
  expect_elements(jit(function(x, a) x[a + 0:2])(x, k[1]), c(1, 2, 5), "f64[3]")
  within <- jit(function(x, k) sum(x[seq_along(x) >= k[1] & seq_along(x) <= k[2]]))
  expect_elements(within(x, k), 8, "f64[]")
})
