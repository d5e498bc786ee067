# What the body of nv_scan() returns.

vec <- function(...) nv_tensor(c(...), dtype = "f32")

# The result of a function, which is the same jitted.
both <- function(f, ...) {
  out <- f(...)
  expect_identical(jit(f)(...), out)
  out
}

test_that("the body of nv_scan() returns by name, or by position without names", {
  x <- vec(1, 2, 3)
  init <- nv_scalar(0, dtype = "f32")
  want <- both(function(x) nv_scan(function(s, x) list(s + x, s * x), init, x), x)
  expect_nv(want$carry, 6, "f32", shape = integer())
  expect_nv(want$ys, c(0, 2, 9), "f32")
  for (body in list(
    function(s, x) list(carry = s + x, ys = s * x), function(s, x) list(ys = s * x, carry = s + x),
    function(s, x) setNames(list(s + x, s * x), c("", ""))
  )) expect_identical(both(user_env(function(x) nv_scan(body, init, x), body = body, init = init), x), want)
  # No results to stack, and a state that is a list.
  out <- both(function(x) {
    step <- function(s, x) list(ys = NULL, carry = list(n = s$n + 1L, sum = s$sum + x))
    nv_scan(step, list(n = 0L, sum = 0), x)
  }, x)
  expect_null(out$ys)
  expect_identical(lapply(out$carry, as.double), list(n = 3, sum = 6))
  swapped <- function(x) nv_scan(function(s, x) list(ys = s, carry = s * x), nv_scalar(2, "f32"), x)
  loss <- function(x) swapped(x)$carry + sum(swapped(x)$ys)
  expect_nv(gradient(loss)(x)$x, c(12 + 2 + 4, 6 + 2, 4), "f32")
  expect_identical(jit(gradient(loss))(x), gradient(loss)(x))
})

test_that("other names are an error", {
  x <- vec(1, 2)
  refused <- function(expr, arg, got) {
    e <- expect_error(expr, class = "anvil_error_arg", got, fixed = TRUE)
    expect_identical(e$arg, arg)
  }
  refused(nv_scan(function(s, x) list(state = s, y = x), 0, x), "f", "one with the names `state` and `y`")
  refused(nv_scan(function(s, x) list(carry = s, x), 0, x), "f", "one with the names `carry` and none")
  refused(nv_scan(function(s, x) list(s, ys = x), 0, x), "f", "one with the names none and `ys`")
  refused(
    nv_scan(function(s, x) list(carry = s, carry = x), 0, x), "f", "one with the names `carry` and `carry`"
  )
  refused(nv_scan(function(s, x) list(carry = s), 0, x), "f", "one that gives a list of length 1")
  refused(
    jit(function(x) nv_scan(function(s, x) list(carry = s, y = x), 0, x))(x), "f",
    "one with the names `carry` and `y`"
  )
  expect_no_open_trace()
})

test_that("long loops over many elements begin with values that nothing is read for", {
  n <- 20000L
  z <- matrix(sin(seq_len(20 * n)), 20)
  paths <- function(z) {
    nv_scan(function(x, v, z) {
      root <- sqrt(pmax(v, 0))
      list(carry = list(x = x + root * z, v = v * 0.9 + 0.01 * z), ys = NULL)
    }, list(x = nv_fill(0, n, dtype = "f64"), v = nv_fill(0.04, n, dtype = "f64")), z)$carry$x
  }
  x <- numeric(n)
  v <- rep(0.04, n)
  for (i in 1:20) {
    x <- x + sqrt(pmax(v, 0)) * z[i, ]
    v <- v * 0.9 + 0.01 * z[i, ]
  }
  expect_equal(as.vector(jit(paths)(nv_tensor(z, "f64"))), x)
})

test_that("nv_scan() without slices takes their number alone", {
  out <- both(function(x) nv_scan(function(s, x) list(s * 2, s), x, length = 3L), vec(1))
  expect_nv(out$carry, 8, "f32")
  expect_identical(shape(out$ys), c(3L, 1L))
  expect_error(nv_scan(function(s, x) list(s, s), vec(1)), class = "anvil_error_arg", "length")
})
