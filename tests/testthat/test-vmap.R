numbers <- function(x, ...) nv_tensor(x, dtype = "f64", ...)

# The elements, as an R vector where there is one axis.
plain <- function(x) if (ndims(x) == 1L) as.vector(as_array(x)) else as_array(x)

test_that("vmap() computes each example", {
  f <- function(x, y) sum(x * y) / (1 + max(abs(x)))
  x <- numbers(matrix(c(1, 2, 3, 4, 5, 6), 3))
  y <- numbers(c(0.5, -1))
  want <- sapply(1:3, function(i) plain(f(x[i, ], y)))
  expect_equal(plain(vmap(f, list(1L, NULL))(x, y)), want)
  expect_equal(plain(vmap(f, list(x = 1L))(x, y)), want)
  expect_equal(plain(vmap(f, list(x = -2L, y = NULL))(x, y)), want)
  expect_equal(plain(vmap(f, list(2L, NULL))(numbers(t(plain(x))), y)), want)
  expect_equal(plain(jit(vmap(f, list(1L, NULL)))(x, y)), want)
  each <- vmap(function(x) x * 2, out_axes = 2L)(x)
  expect_identical(plain(each), t(plain(x)) * 2)
  expect_identical(vmap(function(x) x * 2, out_axes = -1L)(x), each)
})

test_that("axes follow nested arguments and results", {
  f <- function(p, scale) list(a = p$w * scale, b = list(p$b + 1, sum(p$w)))
  p <- list(w = numbers(matrix(1:6, 2)), b = numbers(c(10, 20)))
  got <- vmap(f, in_axes = list(p = list(w = 1L, b = 1L)), out_axes = list(a = 2L, b = 1L))(p, 3)
  expect_identical(plain(got$a), t(matrix(1:6, 2) * 3))
  expect_identical(plain(got$b[[1L]]), c(11, 21))
  expect_identical(plain(got$b[[2L]]), c(9, 12))
  shared <- vmap(f, in_axes = list(p = list(w = 1L)), out_axes = list(a = 1L, b = list(NULL, 1L)))(p, 3)
  expect_identical(plain(shared$b[[1L]]), c(11, 21))
  repeated <- vmap(function(x, y) y, list(1L, NULL))(numbers(1:3), numbers(c(7, 8)))
  expect_identical(plain(repeated), matrix(c(7, 8), 3, 2, byrow = TRUE))
  # What is no data is passed on.
  expect_identical(plain(vmap(function(x, g) g(x), list(1L, NULL))(numbers(1:3), sum)), c(1, 2, 3))
})

test_that("examples take their own branches and end their own loops", {
  x <- numbers(c(-1, 2, -3, 4))
  expect_identical(plain(vmap(function(x) nv_if(x > 0, x * 10, -x))(x)), c(1, 20, 3, 40))
  double <- function(n) {
    nv_while(list(i = 0L, x = n), function(s) s$x < 100, function(s) list(i = s$i + 1L, x = s$x * 2))
  }
  got <- vmap(double)(numbers(c(1, 3, 50, 200)))
  expect_identical(plain(got$i), c(7L, 6L, 1L, 0L))
  expect_identical(plain(got$x), c(128, 192, 100, 200))
  scanned <- function(x) nv_scan(function(s, y) list(s + y, s * y), x, numbers(1:3))
  got <- vmap(scanned)(numbers(c(0, 1)))
  expect_identical(plain(got$carry), c(6, 7))
  expect_identical(plain(got$ys), rbind(c(0, 2, 9), c(1, 4, 12)))
  # An index is checked where its example reads.
  y <- numbers(c(5, 6))
  safe <- vmap(function(i) nv_if(i <= 2L, y[i], nv_scalar(0, "f64")))
  expect_identical(plain(safe(nv_tensor(c(1L, 9L, 2L)))), c(5, 0, 6))
  expect_error(vmap(function(i) y[i])(nv_tensor(c(1L, 9L))), class = "anvil_error_index")
})

test_that("vmap() nests, and commutes with derivatives", {
  x <- numbers(c(1, 2, 3))
  y <- numbers(c(10, 20))
  outer <- vmap(vmap(function(a, b) a * b, list(NULL, 1L)), list(1L, NULL))(x, y)
  expect_identical(plain(outer), outer(c(1, 2, 3), c(10, 20)))
  f <- function(w, x) sum(sin(x * w)^2)
  w <- numbers(c(0.5, -1))
  data <- numbers(matrix(c(1, 2, 3, 4, 5, 6), 3))
  each <- vmap(gradient(f, "w"), list(w = NULL, x = 1L))(w, data)$w
  want <- t(sapply(1:3, function(i) plain(gradient(f, "w")(w, data[i, ])$w)))
  expect_equal(plain(each), want)
  total <- gradient(function(w) sum(vmap(f, list(NULL, 1L))(w, data)))(w)$w
  expect_equal(plain(total), colSums(want))
  both <- vmap(hessian(f, "w", flat = FALSE), list(w = NULL, x = 1L))(w, data)$w$w
  expect_equal(plain(both[2, , ]), plain(hessian(f, "w")(w, data[2, ])$w$w))
})

test_that("one and no example are batches", {
  f <- function(x) sum(x) * 2
  expect_identical(plain(vmap(f)(numbers(matrix(1:3, 1)))), 12)
  expect_identical(shape(vmap(f)(nv_empty("f64", c(0L, 3L)))), 0L)
  expect_identical(shape(vmap(function(x) x, out_axes = 2L)(nv_empty("f64", c(3L, 0L)))), c(0L, 3L))
  expect_identical(plain(vmap(function(x) x + 1)(c(1, 2))), c(2, 3))
})

test_that("bad batches are refused", {
  x <- numbers(matrix(1:6, 3))
  refused <- function(expr, class, text) {
    e <- expect_error(expr, class = class)
    expect_match(conditionMessage(e), text, fixed = TRUE)
  }
  f <- function(x, y) x * y
  e <- expect_error(vmap(f)(numbers(1:3), numbers(1:4)), class = "anvil_error_batch")
  expect_identical(e$sizes, c(x = 3L, y = 4L))
  refused(vmap(f)(numbers(1:3), numbers(1)[1]), "anvil_error_arg", "an axis of `y`, which has none")
  refused(vmap(f, 3L)(x, x), "anvil_error_arg", "an axis of `x`, which has 2")
  refused(vmap(f, list(NULL, NULL))(x, x), "anvil_error_arg", "at least one argument")
  refused(vmap(f, list(1L))(x, x), "anvil_error_arg", "a list of 2")
  refused(vmap(f, list(z = 1L)), "anvil_error_arg", "arguments of `f` (x, y)")
  refused(vmap(f, 0L), "anvil_error_arg", "`in_axes`")
  refused(vmap(f, "x"), "anvil_error_arg", "`in_axes`")
  refused(vmap(f, list(list(a = 1L), NULL))(x, x), "anvil_error_arg", "structure")
  refused(vmap(f, out_axes = NULL)(x, x), "anvil_error_batch", "differs between examples")
  refused(vmap(f, out_axes = 4L)(x, x), "anvil_error_arg", "`out_axes`")
  refused(vmap(2), "anvil_error_arg", "`f`")
  refused(vmap(function(x, g) x, list(1L, 1L))(x, sum), "anvil_error_arg", "NULL for `g`")
})

test_that("nv_map() means the same at any batch size", {
  f <- function(x) list(s = sum(x^2), y = x / 2)
  x <- numbers(matrix(as.double(1:14), 7))
  want <- vmap(f)(x)
  for (size in list(NULL, 1L, 2L, 3L, 7L, 10L)) {
    got <- nv_map(f, x, batch_size = size)
    expect_equal(plain(got$s), plain(want$s))
    expect_equal(plain(got$y), plain(want$y))
  }
  expect_equal(plain(gradient(function(x) sum(nv_map(f, x, batch_size = 2L)$s))(x)$x), 2 * plain(x))
  expect_error(nv_map(f, x, batch_size = 0L), class = "anvil_error_arg")
  expect_error(nv_map(f, list(x, numbers(1:3))), class = "anvil_error_batch")
})
