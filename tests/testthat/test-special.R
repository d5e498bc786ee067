# Special functions: values against base R and stats on the same numbers; the engine's tests hold them to
# mpmath over their whole range (tests/testdata/special/accuracy.md).

f64 <- function(x) if (length(x) == 1L) nv_scalar(x, "f64") else nv_tensor(x, dtype = "f64")

test_that("beta functions and binomial coefficients are R's", {
  a <- c(0.01, 0.5, 3, 20, 300)
  b <- c(2.5, 0.1, 40, 20, 1e5)
  expect_close(nv_beta(f64(a), f64(b)), beta(a, b), 1e-12)
  expect_close(nv_lbeta(f64(a), f64(b)), lbeta(a, b), 1e-13)
  n <- c(5, 50, 0.5, -2, 7.3, 60, 3)
  k <- c(2, 49, 3, 4, 0, 30, 5)
  expect_close(nv_choose(f64(n), f64(k)), choose(n, k), 1e-13)
  expect_identical(as.double(nv_choose(f64(52), f64(5))), 2598960)
  expect_close(nv_lchoose(f64(n[-7]), f64(k[-7])), lchoose(n[-7], k[-7]), 1e-13)
  expect_jit_equal(nv_choose, f64(n), f64(k))
  expect_equal(factorial(f64(c(0, 3, 5.5))), f64(factorial(c(0, 3, 5.5))), tolerance = 1e-14)
})

test_that("incomplete gamma functions are pgamma() and qgamma(), in all tails", {
  a <- c(1e-3, 0.5, 3, 40, 1e4, 1e10)
  x <- c(1e-5, 2, 0.1, 60, 9.9e3, 1e10 + 2e5)
  for (lower in c(TRUE, FALSE)) {
    for (log in c(FALSE, TRUE)) {
      label <- paste("lower", lower, "log", log)
      want <- pgamma(x, a, lower.tail = lower, log.p = log)
      expect_close(nv_gammainc(f64(a), f64(x), lower, log), want, 2e-12, label)
      p <- if (log) log(c(1e-200, 0.01, 0.5, 0.9)) else c(1e-200, 0.01, 0.5, 0.9)
      want <- qgamma(p, 2.5, lower.tail = lower, log.p = log)
      expect_close(nv_gammaincinv(2.5, f64(p), lower, log), want, 1e-12, label)
    }
  }
  want <- pgamma(5000, 3, lower.tail = FALSE, log.p = TRUE)
  expect_close(nv_gammainc(f64(3), f64(5000), FALSE, TRUE), want, 1e-14)
  expect_jit_equal(function(a, x) nv_gammainc(a, x, lower = FALSE), f64(a), f64(x))
})

test_that("incomplete beta functions are pbeta() and qbeta(), in all tails", {
  a <- c(1e-3, 0.5, 3, 40, 1e4)
  b <- c(2, 0.1, 70, 1e5, 1e4)
  x <- c(1e-5, 0.9, 0.1, 3e-4, 0.49)
  for (lower in c(TRUE, FALSE)) {
    for (log in c(FALSE, TRUE)) {
      label <- paste("lower", lower, "log", log)
      want <- pbeta(x, a, b, lower.tail = lower, log.p = log)
      expect_close(nv_betainc(f64(a), f64(b), f64(x), lower, log), want, 2e-12, label)
      p <- if (log) log(c(1e-100, 0.01, 0.5, 0.9)) else c(1e-100, 0.01, 0.5, 0.9)
      want <- qbeta(p, 2.5, 4, lower.tail = lower, log.p = log)
      expect_close(nv_betaincinv(2.5, 4, f64(p), lower, log), want, 1e-11, label)
    }
  }
  expect_jit_equal(function(a, b, x) nv_betainc(a, b, x, log = TRUE), f64(a), f64(b), f64(x))
})

test_that("Bessel functions are R's, and go on where R's end", {
  x <- c(0.01, 0.7, 3, 40, 300)
  nu <- c(0, 1, 2.5, 1 / 3, 10)
  expect_close(nv_bessel_i(f64(x), f64(nu)), besselI(x, nu), 1e-12)
  expect_close(nv_bessel_i(f64(x), f64(nu), scaled = TRUE), besselI(x, nu, TRUE), 1e-12)
  expect_close(nv_bessel_k(f64(x), f64(nu)), besselK(x, nu), 1e-12)
  expect_close(nv_bessel_k(f64(x), f64(nu), scaled = TRUE), besselK(x, nu, TRUE), 1e-12)
  for (order in 0:1) {
    expect_close(nv_bessel_j(f64(x), order), besselJ(x, order), 1e-12)
    expect_close(nv_bessel_y(f64(x), order), besselY(x, order), 1e-12)
  }
  expect_identical(as.double(nv_bessel_i(f64(-2), 1)), -as.double(nv_bessel_i(f64(2), 1)))
  e <- expect_error(nv_bessel_j(1, 2), class = "anvil_error_arg")
  expect_match(conditionMessage(e), "`nu` must be 0 or 1", fixed = TRUE)
  expect_error(nv_bessel_y(1, nv_scalar(1)), class = "anvil_error_arg")
  expect_error(nv_bessel_i(1, 1, scaled = NA), class = "anvil_error_arg")
})

test_that("exponential integrals, zeta, Lambert's and Owen's functions have their known values", {
  # DLMF and mpmath.
  first <- c(1.8229239584193907, 0.21938393439552029, 4.1569689296853243e-06)
  expect_close(nv_expint(f64(c(0.1, 1, 10))), first, 1e-14)
  expect_close(nv_expint(f64(1), n = 2), 0.14849550677592205, 1e-14)
  values <- c(-0.21938393439552029, 1.8951178163559368, 1.0585636897131690e20)
  expect_close(nv_expi(f64(c(-1, 1, 50))), values, 1e-14)
  expect_close(nv_zeta(f64(c(2, 4, -1))), c(pi^2 / 6, pi^4 / 90, -1 / 12), 1e-14)
  expect_close(nv_zeta(f64(2), f64(0.5)), pi^2 / 2, 1e-14)
  w <- f64(c(-0.3, 0.5, 2, 100))
  expect_close(nv_lambertw(w * exp(w)), as.double(w), 1e-13)
  expect_close(nv_lambertw(f64(-0.2), branch = -1), -2.5426413577735265, 1e-14)
  expect_close(nv_owens_t(f64(c(0, 1)), f64(c(1, 1))), c(1 / 8, pnorm(1) * pnorm(-1) / 2), 1e-14)
  e <- expect_error(nv_lambertw(1, branch = 1), class = "anvil_error_arg")
  expect_match(conditionMessage(e), "`branch` must be 0 or -1", fixed = TRUE)
})

test_that("logits and logarithms of complements keep their digits", {
  p <- c(1e-300, 1e-5, 0.3, 1 - 1e-15)
  expect_close(nv_logit(f64(p)), qlogis(p), 1e-13)
  # Where R's own loses digits.
  expect_close(nv_logit(f64(0.5 + 1e-10)), 4 * ((0.5 + 1e-10) - 0.5), 1e-15)
  expect_elements(nv_logit(f64(c(0, 0.5, 1, 2))), c(-Inf, 0, Inf, NaN), "f64[4]")
  x <- c(1e-300, 1e-10, 0.5, 1, 40, 700)
  want <- ifelse(x < log(2), log(-expm1(-x)), log1p(-exp(-x)))
  expect_close(nv_log1mexp(f64(x)), want, 1e-14)
  expect_elements(nv_log1mexp(f64(c(0, Inf, -1))), c(-Inf, -0, NaN), "f64[3]")
  expect_jit_equal(nv_logit, f64(p))
  expect_close(gradient(nv_logit)(f64(0.2))$p, 1 / (0.2 * 0.8), 1e-13)
  expect_close(gradient(nv_log1mexp)(f64(2))$x, 1 / expm1(2), 1e-13)
})

test_that("gradients in parameters agree with differences", {
  near <- function(f, x, h = 1e-6) (f(x + h) - f(x - h)) / (2 * h)
  for (lower in c(TRUE, FALSE)) {
    g <- gradient(function(a, x) nv_gammainc(a, x, lower), wrt = c("a", "x"))(f64(2.5), f64(1.7))
    expect_equal(as.double(g$a), near(function(a) pgamma(1.7, a, lower.tail = lower), 2.5), tolerance = 1e-7)
    expect_equal(as.double(g$x), near(function(x) pgamma(x, 2.5, lower.tail = lower), 1.7), tolerance = 1e-7)
    g <- gradient(function(a, b) nv_betainc(a, b, 0.4, lower, TRUE), wrt = c("a", "b"))(f64(2.5), f64(1.5))
    f <- function(a, b) pbeta(0.4, a, b, lower.tail = lower, log.p = TRUE)
    expect_equal(as.double(g$a), near(function(a) f(a, 1.5), 2.5), tolerance = 1e-7)
    expect_equal(as.double(g$b), near(function(b) f(2.5, b), 1.5), tolerance = 1e-7)
  }
  g <- gradient(function(a, p) nv_gammaincinv(a, p), wrt = c("a", "p"))(f64(2.5), f64(0.3))
  expect_equal(as.double(g$a), near(function(a) qgamma(0.3, a), 2.5), tolerance = 1e-6)
  expect_equal(as.double(g$p), near(function(p) qgamma(p, 2.5), 0.3), tolerance = 1e-6)
  # An order has none, and the error says so.
  e <- expect_error(gradient(function(nu) nv_bessel_k(2, nu))(f64(1)), class = "anvil_error_grad")
  expect_match(conditionMessage(e), "no closed formula", fixed = TRUE)
  v <- vmap(function(a) gradient(function(a) nv_gammainc(a, 1))(a)$a)(f64(c(1, 2)))
  want <- vapply(c(1, 2), function(a) near(function(a) pgamma(1, a), a), 0)
  expect_equal(as.double(v), want, tolerance = 1e-7)
})

test_that("shapes, dtypes and bad input", {
  expect_elements(nv_gammainc(nv_tensor(numeric(), dtype = "f32"), 1), numeric(), "f32[0]")
  expect_identical(dtype(nv_betainc(1L, 2L, 0.5)), dtype(nv_lgamma(1L) * 0.5))
  m <- nv_tensor(matrix(c(0.5, 1, 2, 4), 2), dtype = "f32")
  expect_close(nv_gammainc(m, 1), pgamma(1, c(0.5, 1, 2, 4)), 1e-6)
  expect_identical(shape(nv_gammainc(m, nv_tensor(c(1, 2), dtype = "f32"))), c(2L, 2L))
  expect_close(nv_beta(nv_tensor(2, dtype = "bf16"), nv_tensor(3, dtype = "bf16")), 1 / 12, 4e-3)
  expect_elements(nv_gammainc(f64(c(NaN, -1)), f64(1)), c(NaN, NaN), "f64[2]")
  expect_error(nv_gammainc(1i, 1), class = "anvil_error_dtype")
  expect_error(nv_gammainc(1, NULL), class = "anvil_error_arg")
  expect_error(nv_gammainc(1, 1, lower = 1), class = "anvil_error_arg")
  expect_error(nv_gammainc(1, 1, log = NA), class = "anvil_error_arg")
  expect_error(nv_betainc(f64(1:2), f64(1:3), 0.5), class = "anvil_error_shape")
  # R's functions are internal: the error on traced values names ours.
  e <- expect_error(jit(function(x) base:::beta(x, 2))(f64(1)), class = "anvil_error_concrete")
  expect_match(conditionMessage(e), "Use `nv_beta()`", fixed = TRUE)
  e <- expect_error(jit(function(x) base:::besselK(x, 2))(f64(1)), class = "anvil_error_concrete")
  expect_match(conditionMessage(e), "Use `nv_bessel_k()`", fixed = TRUE)
})
