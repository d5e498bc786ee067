# Generalized linear models in traced functions: values as of stats.

numbers_of <- function(x) {
  if (inherits(x, "AnvilValue")) x <- as_array(x)
  as.double(x)
}

# What R and a traced function compute of a model, part by part.
expect_glm <- function(fit, d, of = parts) {
  withr::local_options(anvil.default_float = "f64")
  label <- deparse1(body(fit))
  f <- user(function(d) of(fit(d)))
  list2env(list(of = user(of), fit = user(fit)), environment(f))
  want <- suppressWarnings(f(d))
  got <- jit(f)(d)
  for (name in names(want)) {
    of_part <- paste(label, name)
    expect_equal(numbers_of(got[[name]]), numbers_of(want[[name]]), tolerance = 1e-6, label = of_part)
  }
  for (name in c("coef", "fitted", "mean", "deviance_residuals")) {
    expect_identical(names(got[[name]]), names(want[[name]]), label = paste(label, "names of", name))
  }
  for (name in c("table", "vcov")) expect_identical(dimnames(got[[name]]), dimnames(want[[name]]))
}

parts <- function(m) {
  s <- summary(m)
  list(
    coef = coef(m), fitted = fitted(m), deviance_residuals = resid(m), response = residuals(m, "response"),
    pearson = residuals(m, type = "pearson"), working = residuals(m, type = "working"),
    deviance = deviance(m), aic = AIC(m), bic = BIC(m), loglik = c(logLik(m)), vcov = vcov(m),
    table = s$coefficients, dispersion = s$dispersion, null = m$null.deviance, df = df.residual(m),
    link = predict(m), mean = predict(m, type = "response"), iter = m$iter, converged = m$converged
  )
}

test_that("glm() is R's", {
  expect_glm(function(d) glm(am ~ wt, family = binomial, data = d), mtcars)
  expect_glm(function(d) glm(am ~ wt + hp, binomial(link = "probit"), d), mtcars)
  expect_glm(function(d) glm(breaks ~ wool + tension, poisson, warpbreaks), warpbreaks)
  expect_glm(function(d) glm(breaks ~ wool + tension, family = "poisson", data = d), warpbreaks)
  expect_glm(function(d) glm(breaks ~ wool * tension, Gamma(link = "log"), d), warpbreaks)
  expect_glm(function(d) glm(breaks ~ wool, Gamma, d), warpbreaks)
  expect_glm(function(d) glm(breaks ~ wool, poisson(link = "identity"), d), warpbreaks)
  expect_glm(function(d) glm(mpg ~ wt, data = d), mtcars)
  expect_glm(function(d) glm(mpg ~ wt, gaussian("log"), d), mtcars)
  expect_glm(function(d) glm(mpg ~ wt, gaussian("inverse"), d, weights = cyl), mtcars)
  expect_glm(function(d) glm(mpg ~ 0 + wt, gaussian(), d), mtcars)
  expect_glm(function(d) glm(case ~ spontaneous + induced + education, binomial(), d), infert)
})

test_that("glm() takes all links, and families without a likelihood", {
  expect_glm(function(d) glm(am ~ wt, binomial("cloglog"), d), mtcars)
  expect_glm(function(d) glm(am ~ wt, binomial("cauchit"), d), mtcars)
  expect_glm(function(d) glm(carb ~ wt, poisson("sqrt"), d), mtcars)
  expect_glm(function(d) glm(mpg ~ wt, inverse.gaussian, d), mtcars)
  expect_glm(function(d) glm(mpg ~ wt, inverse.gaussian("log"), d, weights = cyl), mtcars)
  # R has NA where there is no likelihood.
  known <- function(m) {
    s <- summary(m)
    list(
      coef = coef(m), deviance = deviance(m), table = s$coefficients, dispersion = s$dispersion,
      vcov = vcov(m), pearson = residuals(m, type = "pearson"),
      mean = predict(m, type = "response"), iter = m$iter
    )
  }
  expect_glm(function(d) glm(breaks ~ wool + tension, quasipoisson, d), warpbreaks, known)
  expect_glm(function(d) glm(cbind(gear, 10 - gear) ~ wt, quasibinomial("probit"), d), mtcars, known)
  none <- jit(user(function(d) AIC(glm(breaks ~ wool, quasipoisson, d))))(warpbreaks)
  expect_identical(as.vector(none), NaN)
})

test_that("glm() takes weights, offsets and counts of successes", {
  d <- transform(mtcars, k = rep(c(2, 0, 1, 3), 8), n = 10, s = gear, f = factor(vs, labels = c("no", "yes")))
  expect_glm(function(d) glm(carb ~ wt + offset(log(cyl)), poisson, d), d)
  expect_glm(function(d) glm(carb ~ wt, poisson, d, offset = log(cyl)), d)
  expect_glm(function(d) glm(am ~ wt, binomial, d, weights = k), d)
  expect_glm(function(d) glm(cbind(s, n - s) ~ wt, binomial, d), d)
  expect_glm(function(d) glm(s / n ~ wt, binomial, d, weights = n), d)
  expect_glm(function(d) glm(f ~ wt, binomial, d), d)
  expect_glm(function(d) glm(mpg > 20 ~ wt, binomial, d), d)
  expect_glm(function(d) glm(carb ~ wt, poisson, d, maxit = 2), d)
  expect_glm(function(d) glm(carb ~ wt, poisson, d, control = list(epsilon = 1e-3)), d)
})

test_that("glm() predicts new data, and glm.fit() takes matrices", {
  new <- function(m) {
    list(
      coef = coef(m), link = predict(m, data.frame(wt = c(2, 3))),
      mean = predict(m, data.frame(wt = c(2, 3)), type = "response")
    )
  }
  expect_glm(function(d) glm(am ~ wt, binomial, d), mtcars, new)
  expect_glm(function(d) glm(am ~ wt, binomial("probit"), d), mtcars, new)
  fitted_parts <- function(m) {
    list(coef = m$coefficients, deviance = m$deviance, aic = m$aic, eta = m$linear.predictors, df = m$df.null)
  }
  fit <- function(d) glm.fit(cbind(a = 1, b = d$wt), d$am, family = binomial())
  expect_glm(fit, mtcars, fitted_parts)
  fit <- function(d) glm.fit(cbind(1, d$wt), d$carb, weights = d$cyl, family = poisson(), intercept = FALSE)
  expect_glm(fit, mtcars, fitted_parts)
})

test_that("steps are halved as R halves them, and narrow floats converge", {
  d <- data.frame(y = c(1, 2, 1, 5, 40, 3, 90), x = c(0.1, 0.2, 0.1, 0.4, 3, 0.2, 5))
  expect_glm(function(d) glm(y ~ x, Gamma("identity"), d), d)
  expect_glm(function(d) glm(case ~ spontaneous, binomial("log"), d), infert)
  e <- data.frame(
    x = c(
      2.89, 1.33, 1.11, 0.51, 0.16, 1.97, 1.73, 2.96, 1.81, 0.19, 0.49, 1.43, 0.01, 1.32, 0.78, 2.82, 2.15,
      0.49, 1.43, 2.07, 1.38, 2.87, 2.14, 1.19, 0.35
    ),
    z = c(1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1, 1, 0, 0, 1, 1, 0, 1, 0, 0, 1)
  )
  expect_glm(function(d) glm(z ~ x, binomial("log"), d), e)
  got <- jit(user(function(d) { m <- glm(am ~ wt, binomial, d); list(coef(m), m$converged) }))(mtcars)
  expect_equal(as.vector(got[[1L]]), unname(coef(glm(am ~ wt, binomial, mtcars))), tolerance = 1e-3)
  expect_true(as.vector(got[[2L]]))
})

test_that("where R stops, all is NaN, and what is not taken is an error", {
  none <- jit(user(function(d) coef(glm(mpg - 20 ~ wt, poisson, d))))(mtcars)
  expect_identical(as.vector(none), c(NaN, NaN))
  refused <- function(f, says) {
    e <- expect_error(jit(user(f))(mtcars), class = "anvil_error_arg")
    expect_match(conditionMessage(e), says, fixed = TRUE, label = deparse1(body(f)))
    expect_false(is.null(conditionCall(e)))
  }
  refused(function(d) coef(glm(mpg ~ wt, quasi, d)), "`quasi()`")
  refused(function(d) coef(glm(mpg ~ wt, gaussian(power(2)), d)), "the link \"mu^2\"")
  refused(function(d) coef(glm(am ~ wt, "none", d)), "`family`")
  refused(function(d) coef(glm(am ~ wt, binomial, d, start = c(0, 0))), "`start`")
  refused(function(d) confint(glm(am ~ wt, binomial, d)), "confint.default(fit)")
  refused(function(d) predict(glm(am ~ wt, binomial, d), type = "terms"), "`type`")
  refused(function(d) coef(glm(am ~ wt, binomial, d, maxit = -1)), "`glm.control()`")
  refused(function(d) glm(am ~ wt, binomial, d, method = "model.frame")[[1]], "`method`")
  traced_epsilon <- function(d) coef(glm(am ~ wt, binomial, d, epsilon = d$wt[1]))
  expect_error(jit(user(traced_epsilon))(mtcars), "glm.control", class = "anvil_error_concrete")
  refused(function(d) predict(glm(am ~ wt + offset(cyl), binomial, d), d), "offset")
})

test_that("functions of links and families take traced values", {
  eta <- c(-0.5, 0.1, 0.9)
  mu <- c(0.2, 0.5, 0.9)
  y <- c(1, 0, 1)
  check <- function(f, ...) {
    f <- user_env(f, families = families)
    given <- lapply(list(...), nv_tensor, dtype = "f64")
    expect_equal(as.vector(do.call(jit(f), given)), f(...), tolerance = 1e-10, label = deparse1(body(f)))
  }
  families <- list(
    binomial(), binomial("probit"), binomial("cloglog"), binomial("cauchit"), poisson(), poisson("identity"),
    poisson("sqrt"), gaussian(), Gamma(), Gamma("log"), inverse.gaussian()
  )
  for (k in seq_along(families)) {
    families$one <- families[[k]]
    check(function(eta) families$one$linkinv(eta), abs(eta))
    check(function(eta) families$one$mu.eta(eta), abs(eta))
    check(function(mu) families$one$linkfun(mu), mu)
    check(function(mu) families$one$variance(mu) + 0 * mu, mu)
    check(function(mu, y) sum(families$one$dev.resids(y, mu, c(1, 2, 1))), mu, y + 0.5 * (k > 7))
  }
  check(function(eta) { inverse <- binomial()$linkinv; inverse(eta) }, eta)
  check(function(eta) make.link("logit")$linkinv(eta), eta)
  slope <- gradient(function(eta) sum(binomial()$linkinv(eta)))(nv_tensor(eta, "f64"))$eta
  expect_equal(as.vector(slope), binomial()$mu.eta(eta), tolerance = 1e-10)
})
