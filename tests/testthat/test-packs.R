# What is written once for each column, row or slice, and then joined, is computed as a whole.

matrix_of <- function(...) nv_tensor(array(sin(seq_len(prod(...))), c(...)), "f64")

same_steps <- function(f, whole, ...) {
  f <- user(f)
  expect_identical(as_array(jit(f)(...)), as_array(jit(whole)(...)))
  steps <- function(f) nrow(explain_plan(f, ...))
  expect_lte(steps(f), steps(whole))
}

test_that("columns, rows and slices are computed as a whole", {
  x <- matrix_of(50, 12)
  y <- matrix_of(12, 5, 7)
  same_steps(function(x) sapply(1:12, function(j) exp(-x[, j])), function(x) exp(-x), x)
  same_steps(function(x) do.call(cbind, lapply(1:12, function(j) exp(-x[, j]))), function(x) exp(-x), x)
  same_steps(function(x) t(sapply(1:50, function(i) exp(-x[i, ]))), function(x) exp(-x), x)
  same_steps(function(x) {
    for (j in 12:1) x[, j] <- exp(-x[, j])
    x
  }, function(x) exp(-x), x)
  slices <- function(y) nv_stack(lapply(1:12, function(i) sqrt(abs(y[i, , ]) + 1)))
  same_steps(slices, function(y) sqrt(abs(y) + 1), y)
  same_steps(
    function(x) sapply(1:12, function(j) x[, j] * j + x[, 1]), function(x) sweep(x, 2, 1:12, "*") + x[, 1], x
  )
})

test_that("gradients of what is joined are computed as a whole", {
  x <- matrix_of(50, 12)
  whole <- gradient(function(x) sum(sin(x) * x))
  expect_identical(
    as_array(jit(gradient(user(function(x) sum(sapply(1:12, function(j) sin(x[, j]) * x[, j])))))(x)$x),
    as_array(jit(whole)(x)$x)
  )
  steps <- function(f) nrow(explain_plan(f, x))
  expect_lte(steps(gradient(user(function(x) {
    parts <- do.call(cbind, lapply(1:12, function(j) sin(x[, j])))
    sum(parts * x)
  }))), 2)
})

test_that("parts of several values, and those that something else reads, are as they were", {
  x <- matrix_of(20, 4)
  v <- matrix_of(80)
  f <- user(function(x, v) cbind(x[, 1], v[1:20], v[21:40], v[41:60]))
  expect_identical(as_array(jit(f)(x, v)), as_array(f(x, v)))
  g <- user(function(x) {
    parts <- lapply(1:4, function(j) exp(x[, j]))
    list(do.call(cbind, parts), parts[[2]], sum(parts[[3]]))
  })
  expect_identical(lapply(jit(g)(x), as_array), lapply(g(x), as_array))
})
