# Roots, smallest values, integrals and densities in traced functions: values as of stats, and their slopes.
# nolint start: object_name_linter, object_usage_linter.

x <- c(1.5, -2, 3.25, 0.5, 4, -1, 2.5, 0.75)

plain <- function(x) {
  if (is.list(x) && !inherits(x, "AnvilValue")) return(lapply(x, plain))
  as.double(if (inherits(x, "AnvilValue")) as_array(x) else x)
}

expect_as_r <- function(f, ..., tolerance = 1e-8) {
  withr::local_options(anvil.default_float = "f64")
  want <- f(...)
  got <- do.call(jit(user(f)), lapply(list(...), as_nv_tensor))
  if (is.list(want)) want <- unclass(want)[names(got)]
  expect_equal(plain(got), plain(want), tolerance = tolerance, label = deparse1(body(f)))
}

refused <- function(f, x, says, class = "anvil_error_arg") {
  e <- expect_error(jit(user(f))(x), class = class)
  expect_match(conditionMessage(e), says, fixed = TRUE, label = deparse1(body(f)))
}

# First and second derivative of a function of the user's of one number.
expect_slopes <- function(f, at, wanted) {
  withr::local_options(anvil.default_float = "f64")
  at <- nv_scalar(at, "f64")
  slopes <- unlist(list(plain(gradient(f)(at)), plain(hessian(f)(at))), use.names = FALSE)
  expect_equal(slopes, wanted, tolerance = 1e-6, label = deparse1(body(f)))
}

test_that("zapsmall() rounds to digits of the largest element", {
  given <- list(c(1, 1e-20, 0.3), c(123456.789, 1e-3, 5), c(0, 0), c(1e9, 1), c(3e-9, 1e-20), -c(2.5, 1e-9))
  for (x in given) {
    got <- jit(user(function(x) zapsmall(x)))(nv_tensor(x, "f64"))
    expect_identical(as.vector(got), zapsmall(x))
    expect_identical(as.vector(jit(user(function(x) zapsmall(x, 3)))(nv_tensor(x, "f64"))), zapsmall(x, 3))
  }
  expect_identical(as.vector(jit(user(function(x) zapsmall(x)))(nv_tensor(c(5L, 0L)))), c(5L, 0L))
  with_nan <- jit(user(function(x) zapsmall(x)))(nv_tensor(c(NaN, 1, 1e-12), "f64"))
  expect_identical(as.vector(with_nan), c(NaN, 1, 0))
  expect_error(jit(user(function(x) zapsmall(x, x[1])))(nv_tensor(1)), class = "anvil_error")
})

test_that("uniroot() takes R's steps", {
  expect_as_r(function(s) uniroot(function(p) p - s, c(-5, 5)), 2.5)
  expect_as_r(function(s) uniroot(function(p) p^3 - s, c(-5, 5)), 2.5)
  expect_as_r(function(s) uniroot(function(p) exp(p) - s, lower = 0, upper = 2, tol = 1e-9), 2.5)
  expect_as_r(function(s) uniroot(function(p) pnorm(p) - s, c(-8, 8), tol = 1e-10), 0.3)
  expect_as_r(function(s) uniroot(function(p, a) p^2 - a, c(0, 10), a = s), 2.5)
  expect_as_r(function(x) uniroot(function(p) sum(x - p), range(x)), x)
  expect_as_r(function(s) uniroot(function(p) p - s, c(2.5, 5)), 2.5)
  expect_as_r(function(s) uniroot(function(p) s - p, c(0, 2.5)), 2.5)
  expect_as_r(function(s) sapply(1:3, function(k) uniroot(function(p) p^k - s, c(0, 10))$root), 2.5)
  # Of numbers alone it is R's own.
  expect_as_r(function(s) uniroot(function(p) p^2 - 2, c(0, 2))$root * s, 2.5)
  # Without a change of the sign there is none to R.
  none <- jit(user(function(s) uniroot(function(p) p^2 + s, c(-1, 1))$root))(2.5)
  expect_identical(plain(none), NaN)
  refused(function(s) uniroot(function(p) p - s, c(0, 1), extendInt = "yes"), 2.5, "`extendInt`")
  refused(function(x) uniroot(function(p) p - x, c(0, 1)), x, "a function of one number")
  roots <- vmap(user(function(s) uniroot(function(p) p^2 - s, c(0, 5), tol = 1e-10)$root))
  expect_equal(plain(roots(nv_tensor(c(1, 4, 9)))), c(1, 2, 3), tolerance = 1e-6)
})

test_that("a root has the derivatives that its equation says", {
  cube_root <- user(function(s) uniroot(function(p) p^3 - s, c(0, 5), tol = 1e-12)$root)
  expect_slopes(cube_root, 2, c(2^(-2 / 3) / 3, -2 / 9 * 2^(-5 / 3)))
  quantile <- user(function(s) uniroot(function(p) pnorm(p) - s, c(-8, 8), tol = 1e-12)$root)
  expect_slopes(quantile, 0.3, c(1 / dnorm(qnorm(0.3)), qnorm(0.3) / dnorm(qnorm(0.3))^2))
})

test_that("optimize() takes R's steps", {
  expect_as_r(function(s) optimize(function(p) (p - s)^2, c(-5, 5)), 2.5)
  expect_as_r(function(x) optimize(function(p) sum((x - p)^2), range(x)), x)
  expect_as_r(function(x) optimize(function(p) sum(dnorm(x, p, 1, log = TRUE)), c(-5, 5), maximum = TRUE), x)
  expect_as_r(function(s) optimise(function(p) cos(p) * s, c(0, 6), tol = 1e-8), 2.5)
  expect_as_r(function(s) optimize(function(p, a) abs(p - a), c(0, 10), a = s), 2.5)
  expect_as_r(function(s) optimize(function(p) p * s, c(0, 1)), 2.5)
  expect_as_r(function(s) optimize(function(p) (p - 1)^2, c(0, 3))$minimum * s, 2.5)
  refused(function(s) optimize(function(p) c(p, s), c(0, 1)), 2.5, "a function of one number")
  place <- user(function(s) optimize(function(p) (p^2 - s)^2 + p^4, c(0, 5), tol = 1e-8)$minimum)
  expect_slopes(place, 2, c(0.25, -0.0625))
  value <- user(function(s) optimize(function(p) (p^2 - s)^2 + p^4, c(0, 5), tol = 1e-8)$objective)
  expect_slopes(value, 2, c(2, 1))
})

test_that("integrate() is within its tolerance, and has slopes", {
  expect_as_r(function(s) integrate(function(t) t * s, 0, 1)$value, 2.5)
  expect_as_r(function(s) integrate(function(t) exp(-t * s), 0, Inf)$value, 2.5)
  expect_as_r(function(s) integrate(function(t) dnorm(t, s), -Inf, Inf)$value, 2.5, tolerance = 1e-6)
  expect_as_r(function(s) integrate(function(t) dnorm(t, s) * t, -Inf, 0)$value, 2.5, tolerance = 1e-6)
  expect_as_r(function(s) integrate(dnorm, -s, s)$value, 2.5)
  expect_as_r(function(s) integrate(dnorm, -Inf, s)$value, 2.5, tolerance = 1e-6)
  expect_as_r(function(s) integrate(function(t, a) t^a, 0, 1, a = s)$value, 2.5, tolerance = 1e-6)
  expect_as_r(function(s) integrate(function(t) s / sqrt(t), 0, 1)$value, 2.5, tolerance = 1e-4)
  expect_as_r(function(s) integrate(function(t) sin(t * 20), 0, s)$value, 2.5)
  expect_as_r(function(s) integrate(function(t) exp(-t^2 / 2), s, -s)$value, 2.5)
  expect_as_r(function(x) integrate(Vectorize(function(t) sum(dnorm(x, t))), -10, 10)$value, x)
  expect_as_r(function(s) integrate(function(t) t^2, 0, 1)$value * s, 2.5)
  # Of numbers alone it is R's own, which asks for values within the interval.
  expect_as_r(function(s) integrate(function(t) { stopifnot(t > 1); t^2 }, 2, 3)$value * s, 2.5)
  # Where R stops, since it does not converge, is none.
  none <- jit(user(function(s) integrate(function(t) s / t, 0, 1)$value))(2.5)
  expect_identical(plain(none), NaN)
  refused(function(s) integrate(function(t) sum(t * s), 0, 1)$value, 2.5, "`Vectorize(f)`")
  endless <- user(function(s) integrate(function(t) exp(-t * s), 0, Inf)$value)
  expect_slopes(endless, 2.5, c(-1 / 2.5^2, 2 / 2.5^3))
  expect_slopes(user(function(s) integrate(function(t) t^2, 0, s)$value), 2.5, c(2.5^2, 5))
})

test_that("narrow floats come as near as they can", {
  s <- nv_scalar(2.5)
  near <- function(f, wanted) expect_equal(plain(jit(user(f))(s)), wanted, tolerance = 1e-5)
  near(function(s) integrate(function(t) exp(-t * s), 0, Inf, rel.tol = 1e-10)$value, 0.4)
  near(function(s) integrate(function(t) sin(t * s), 0, 10, rel.tol = 1e-10)$value, (1 - cos(25)) / 2.5)
  near(function(s) uniroot(function(t) exp(t) - s, c(-9, 9), tol = 1e-14)$root, log(2.5))
  area <- jit(user(function(s) integrate(function(t) t * s, 0, 1)$value))
  expect_identical(as.character(dtype(area(s))), "f32")
  lowest <- jit(user(function(s) optimize(function(t) (t - s)^2, c(-9, 9), tol = 1e-14)$minimum))
  expect_equal(plain(lowest(s)), 2.5, tolerance = 1e-3)
})

test_that("density() has R's bins", {
  expect_density <- function(f) {
    withr::local_options(anvil.default_float = "f64")
    got <- jit(user(f))(nv_tensor(x))
    want <- suppressWarnings(f(x))
    expect_equal(plain(got), plain(unclass(want)[names(got)]), tolerance = 1e-8, label = deparse1(body(f)))
  }
  expect_density(function(x) density(x))
  expect_density(function(x) density(x, bw = 1, n = 16))
  expect_density(function(x) density(x, n = 700))
  expect_density(function(x) density(x, "nrd", adjust = 2, from = -3, to = 3))
  expect_density(function(x) density(x, weights = (1:8) / 36))
  for (kernel in setdiff(eval(formals(stats::density.default)$kernel), "gaussian")) {
    expect_density(eval(bquote(function(x) density(x, kernel = .(kernel)))))
  }
  expect_as_r(function(x) with(density(x), x[which.max(y)]), x)
  refused(function(x) density(x, "SJ"), x, "`bw`")
  refused(function(x) density(x, na.rm = TRUE), x, "`na.rm`")
})

# nolint end
