# Nonlinear least squares in traced functions: values as of stats, whose derivatives are differences.
# nolint start: object_name_linter, object_usage_linter.

d <- data.frame(
  x = 1:8, y = c(2, 3.1, 4, 5.9, 7.6, 11, 14.8, 21), k = c(1, 2, 1, 2, 1, 2, 1, 2),
  f = factor(c("a", "b", "c", "a", "b", "c", "a", "b"))
)

plain <- function(x) {
  if (inherits(x, "AnvilValue")) x <- as_array(x)
  if (length(dim(x)) == 2L) x[, ] else setNames(as.double(x), names(x))
}

expect_as_r <- function(f) {
  withr::local_options(anvil.default_float = "f64")
  got <- jit(user(f))(d)
  expect_equal(plain(got), plain(f(d)), tolerance = 1e-5, ignore_attr = TRUE, label = deparse1(body(f)))
}

refused <- function(f, says, class = "anvil_error_arg") {
  e <- expect_error(jit(user(f))(d), class = class)
  expect_match(conditionMessage(e), says, fixed = TRUE, label = deparse1(body(f)))
}

test_that("nls() takes R's steps", {
  expect_as_r(function(d) coef(nls(y ~ a * exp(b * x), d, start = list(a = 1, b = 0.1))))
  expect_as_r(function(d) coef(nls(y ~ a * exp(b * x), d, start = c(a = 5, b = 0.5))))
  expect_as_r(function(d) coef(nls(y ~ a * exp(b * x), d, start = list(a = 1, b = 0.1), weights = k)))
  expect_as_r(function(d) coef(nls(y ~ a[f] * exp(b * x), d, start = list(a = c(1, 1, 1), b = 0.1))))
  expect_as_r(function(d) { y <- d$y; x <- d$x; coef(nls(y ~ a + b * x^2, start = list(a = 0, b = 1))) })
  expect_as_r(function(d) coef(nls(y ~ a * exp(b * x), d, start = list(a = d$y[1], b = 0.1))))
  # Of numbers alone it is R's own.
  expect_as_r(function(d) {
    d$y[1] * coef(nls(rate ~ v * conc / (k + conc), Puromycin, start = list(v = 200, k = 0.1)))
  })
})

test_that("narrow floats come as near as they can", {
  fit <- function(d) coef(nls(y ~ a * exp(b * x), d, start = list(a = 1, b = 0.1)))
  expect_equal(as.vector(jit(user(fit))(d)), unname(fit(d)), tolerance = 1e-4)
})

test_that("what nls() gives has the parts of a model", {
  fit <- quote(nls(y ~ a * exp(b * x), d, start = list(a = 1, b = 0.1), weights = k))
  for (of in alist(
    summary(m)$coefficients, vcov(m), deviance(m), fitted(m), resid(m), df.residual(m), sigma(m),
    c(logLik(m)), AIC(m), BIC(m), predict(m, data.frame(x = 9:10)), confint.default(m)
  )) {
    expect_as_r(eval(bquote(function(d) { m <- .(fit); .(of) })))
  }
})

test_that("where R stops, all is NaN, and what is not taken is an error", {
  none <- jit(user(function(d) coef(nls(y ~ exp(a * 100 * x), d, start = list(a = 10)))))(d)
  expect_identical(as.vector(none), NaN)
  refused(function(d) coef(nls(y ~ a * x, d)), "`start`", "anvil_error")
  refused(function(d) coef(nls(y ~ a * x, d, start = list(a = 1), algorithm = "port")), "`algorithm`")
  refused(function(d) coef(nls(y ~ a * x, d, start = list(a = 1), subset = x > 2)), "weights of 0")
  refused(function(d) coef(nls(~ a * x, d, start = list(a = 1))), "a left side")
  refused(function(d) coef(nls(y ~ a * x, d, start = list(a = "1"))), "numbers by name")
})

# nolint end
