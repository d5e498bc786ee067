# What calls functions in traced functions: values as of base R.

x <- c(1.5, -2, 3.25, 0.5)
m <- matrix(c(4, 1, 0.5, 3), 2)

expect_as_r <- function(f, ...) {
  got <- do.call(jit(user(f)), lapply(list(...), nv_tensor))
  expect_equal(lapply(as.list(got), as.vector), lapply(as.list(f(...)), as.vector), label = deparse1(body(f)))
}

test_that("rapply() knows the class of the vector that a traced value stands for", {
  expect_as_r(function(x) rapply(list(1, x), function(v) v * 2, classes = "numeric", how = "replace"), x)
  expect_as_r(function(x) rapply(list(a = x, b = "s"), sum, "numeric", deflt = 0, how = "unlist"), x)
  expect_as_r(function(x, k) rapply(list(x, k), sum, classes = "integer", deflt = 0, how = "unlist"), x, 1:3)
  expect_as_r(function(x, m) rapply(list(x, m), sum, classes = "matrix", deflt = 0, how = "list"), x, m)
  expect_as_r(function(x) rapply(list(x > 0, x), sum, classes = "logical", deflt = 9, how = "list"), x)
  expect_as_r(function(x) rapply(list(x, list(2, x)), sum, how = "unlist"), x)
})

test_that("Filter() of a traced value selects its elements", {
  expect_as_r(function(x) sum(Filter(function(v) v > 0, x)), x)
  expect_as_r(function(x) length(Filter(function(v) v > 0, x)), x)
  expect_as_r(function(x) Filter(function(v) length(v) == 1, x), x)
  # A list has no such selection.
  listed <- function(x) Filter(function(v) v > 0, list(x[1], x[2]))
  expect_error(jit(user(listed))(nv_tensor(x)), class = "anvil_error_concrete")
})
