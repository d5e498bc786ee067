recurrence <- function(x, y) list(a = x$a * y$a, b = x$b * y$a + y$b)

test_that("a linear recurrence is that of JAX, in both directions", {
  rows <- utils::read.csv(
    testthat::test_path("..", "testdata", "sequences", "sequences.csv"), comment.char = "#",
    colClasses = "character"
  )
  numbers <- function(what) as.double(strsplit(rows$values[rows$what == what], " ")[[1L]])
  for (i in which(rows$what == "recurrence")) {
    n <- as.integer(rows$shape[i])
    first <- function(what) nv_tensor(numbers(what)[seq_len(n)], "f64")
    xs <- list(a = first("x"), b = first("weights"))
    got <- nv_associative_scan(recurrence, xs, reverse = rows$reverse[i] == "TRUE")
    expect_named(got, c("a", "b"))
    expect_equal(as.double(got$b), as.double(strsplit(rows$values[i], " ")[[1L]]), tolerance = 1e-14)
  }
})

test_that("every number of elements gives what one by one gives, in order", {
  # Not commutative: of affine functions, and of what comes first.
  first <- function(x, y) x
  for (n in 0:17) {
    x <- nv_tensor(as.integer(seq_len(n) * 7L %% 13L), "i32", shape = n)
    expect_identical(nv_associative_scan(nv_add, x), nv_cumsum(x))
    expect_identical(nv_associative_scan(nv_max, x, reverse = TRUE), nv_cummax(x, reverse = TRUE))
    if (n) expect_identical(as.integer(nv_associative_scan(first, x)), rep(as.integer(x[1]), n))
    if (n) expect_identical(as.integer(nv_reduce(function(x, y) y, x)), as.integer(x[n]))
    expect_identical(nv_reduce(nv_add, x, 5L), sum(x) + 5L)
  }
})

test_that("any axis, jitted, differentiated", {
  m <- nv_tensor(matrix(c(1, 2, 3, 4, 5, 6), 2), "f64")
  expect_equal(as_array(nv_associative_scan(nv_mul, m, axis = 2)), as_array(nv_cumprod(m, 2)))
  expect_jit_equal(function(m) nv_associative_scan(nv_mul, m, axis = 2), m)
  expect_jit_equal(function(m) nv_reduce(nv_mul, m, 2, axis = 2), m)
  f <- function(scan) gradient(function(m) sum(scan(m) * m))(m)$m
  expect_equal(
    as_array(f(function(m) nv_associative_scan(nv_mul, m, axis = 2))),
    as_array(f(function(m) nv_cumprod(m, 2)))
  )
  expect_identical(as.double(nv_reduce(nv_add, m, axis = 2)), c(9, 12))
  # Matrices along the last axis: the order matters.
  x <- nv_tensor(array(c(1, 2, 0, 1, 3, 1, 1, 0, 2, 2, 1, 1), c(2, 2, 3)), "f64")
  product <- vmap(function(a, b) a %*% b, in_axes = 3, out_axes = 3)
  want <- x[, , 1] %*% x[, , 2] %*% x[, , 3]
  expect_identical(nv_reduce(product, x, axis = 3), want)
  expect_identical(nv_associative_scan(product, x, axis = 3)[, , 3], want)
})

test_that("what a reduction begins with", {
  expect_nv(nv_reduce(nv_mul, nv_tensor(c(2, 3)), init = 4), 24, "f32", shape = integer())
  expect_nv(nv_reduce(nv_add, nv_fill(1, c(0L, 2L)), init = 3), c(3, 3), "f32")
  expect_nv(nv_reduce(nv_add, nv_fill(1, c(2L, 2L)), init = nv_tensor(c(10, 20))), c(12, 22), "f32")
  expect_nv(nv_reduce(nv_max, nv_tensor(c(2L, 7L))), 7, "i32", shape = integer())
  expect_fields(nv_reduce(nv_add, nv_fill(1, 0L)), "anvil_error_arg", arg = "init")
  expect_fields(nv_reduce(nv_add, nv_fill(1, c(2L, 2L)), nv_tensor(1:3)), "anvil_error_arg", arg = "init")
  two <- list(a = nv_fill(1, 2L), b = nv_fill(1, 2L))
  expect_fields(nv_reduce(recurrence, two, 1), "anvil_error_arg", arg = "init")
  out <- nv_reduce(recurrence, list(a = nv_tensor(c(2, 3)), b = nv_tensor(c(1, 1))), list(a = 1, b = 10))
  expect_identical(as.double(out$b), ((10 * 2) + 1) * 3 + 1)
})

test_that("bad arguments are named", {
  x <- nv_tensor(c(1, 2, 3))
  for (f in list(nv_associative_scan, nv_reduce)) {
    arg <- if (identical(f, nv_reduce)) "x" else "xs"
    expect_fields(f(1, x), "anvil_error_arg", arg = "f")
    expect_fields(f(function(x) x, x), "anvil_error_arg", arg = "f")
    expect_fields(f(nv_add, list()), "anvil_error_arg", arg = arg)
    expect_fields(f(nv_add, nv_scalar(1)), "anvil_error_arg", arg = arg)
    expect_fields(f(nv_add, x, axis = 2), "anvil_error_arg", arg = arg)
    expect_fields(f(nv_add, x, axis = 1.5), "anvil_error_arg", arg = "axis")
    expect_fields(f(recurrence, list(a = x, b = nv_tensor(1:2))), "anvil_error_arg", arg = arg)
    expect_fields(f(function(x, y) list(x, y), x), "anvil_error_arg", arg = "f")
    expect_fields(f(function(x, y) sum(x + y), x), "anvil_error_arg", arg = "f")
    expect_fields(f(function(x, y) "a", x), "anvil_error_arg", arg = "f")
  }
  expect_fields(nv_associative_scan(nv_add, x, reverse = 1), "anvil_error_arg", arg = "reverse")
})
