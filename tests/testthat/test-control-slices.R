# Slices that loops stack and read.

test_that("stacked parts of a loop are read in their places, whatever nothing reads beside them", {
  of <- function(u, w) {
    step <- function(u, w, x) list(list(u = u * 2, w = w), list(a = u, w = w))
    r <- nv_scan(step, list(u = u, w = w), NULL, length = 3)
    nv_scan(function(c, x) list(c + x$a, NULL), 0 * u, r$ys)$carry
  }
  u <- nv_tensor(c(1, 10), "f64")
  for (n in c(64L, 65L)) expect_identical(as.double(jit(of)(u, nv_fill(1, n))), c(7, 70))
  rows <- vmap(of)(nv_tensor(rbind(c(1, 10), c(2, 20)), "f64"), nv_fill(1, c(2L, 33L)))
  expect_identical(as_array(rows), rbind(c(7, 70), c(14, 140)))
  # The state is stacked for its derivatives, with one direction for each of its elements.
  h <- function(checkpoint) {
    f <- function(u, w) {
      step <- function(u, w, x) list(list(u = sin(u), w = w), u)
      sum(sin(nv_scan(step, list(u = u, w = w), NULL, length = 2, checkpoint = checkpoint)$ys))
    }
    hessian(f)(nv_tensor(c(0.5, -0.3, 0.2), "f64"), nv_fill(nv_scalar(1, "f64"), 7L))$u$u
  }
  expect_equal(as_array(h(TRUE)), as_array(h(FALSE)), tolerance = 1e-14)
})

test_that("slices have the names along their axes, and factors their levels", {
  x <- nv_tensor(matrix(as.double(1:6), 3, dimnames = list(c("i", "j", "k"), c("u", "v"))), "f64")
  d <- data.frame(x = c(1, 2, 3), g = factor(c("a", "b", "a")))
  start <- nv_scalar(0, "f64")
  for (of in list(identity, jit)) {
    sum_of <- of(function(x) nv_scan(function(s, row) list(s + row["u"], row * 2), start, x))
    out <- sum_of(x)
    expect_identical(as.vector(out$carry), 6)
    expect_identical(dimnames(out$ys), list(NULL, c("u", "v")))
    share <- of(function(d) nv_scan(function(s, row) list(s + row$x * (row$g == "a"), NULL), start, d)$carry)
    expect_identical(as.vector(share(d)), 4)
    for (size in list(NULL, 1L, 2L, 3L)) {
      rows <- of(function(x) nv_map(function(row) row / row["u"], x, batch_size = size))
      expect_identical(dimnames(rows(x)), list(NULL, c("u", "v")))
      first <- of(function(x) nv_map(function(row) row["u"], x, batch_size = size))
      expect_identical(as.vector(first(x)), c(1, 2, 3))
      expect_null(names(first(x)))
      chosen <- of(function(d) nv_map(function(row) row$x * (row$g == "a"), d, batch_size = size))
      expect_identical(as.vector(chosen(d)), c(1, 0, 3))
    }
  }
  # A rule of the user's sees the data frame, too.
  count <- function(x, d) sum(x^2) * sum(d$g == "a") * nlevels(d$g)
  rule <- custom_gradient(count, function(x, d) list(count(x, d), x), function(x, g) list(g * 8 * x, NULL))
  moved <- custom_jvp(count, function(primals, tangents) {
    list(count(primals$x, primals$d), sum(8 * primals$x * tangents$x) + 0 * nlevels(primals$d$g))
  })
  x <- nv_tensor(c(1, 2), "f64")
  for (f in list(rule, moved)) {
    expect_identical(as.vector(jit(f)(x, d)), 20)
    expect_identical(as.vector(gradient(f, "x")(x, d)$x), c(8, 16))
  }
})
