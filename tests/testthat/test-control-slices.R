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
