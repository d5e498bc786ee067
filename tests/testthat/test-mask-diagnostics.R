# What is computed of models in traced functions: values as of stats.
# nolint start: object_name_linter, object_usage_linter.

d <- transform(mtcars[1:14, ], f = factor(letters[c(1, 2, 3, 1, 2, 3, 3, 1, 2, 2, 1, 3, 1, 2)]))

plain <- function(x) {
  if (is.list(x) && !inherits(x, "AnvilValue")) return(lapply(unclass(x), plain))
  if (inherits(x, "AnvilValue")) x <- as_array(x)
  sizes <- dim(x)
  names <- if (length(sizes) > 1L) dimnames(x) else names(x)
  x <- as.double(x)
  x[is.na(x)] <- NaN
  if (length(sizes) > 1L) array(x, sizes, names) else setNames(x, names)
}

expect_as_r <- function(f, of = d) {
  withr::local_options(anvil.default_float = "f64")
  want <- suppressWarnings(f(of))
  got <- jit(user(f))(of)
  expect_equal(plain(got), plain(want), tolerance = 1e-6, ignore_attr = TRUE, label = deparse1(body(f)))
  if (is.matrix(want)) expect_identical(rownames(got), rownames(want), label = deparse1(body(f)))
  expect_identical(names(got), names(want), label = deparse1(body(f)))
}

refused <- function(f, says, class = "anvil_error_arg") {
  e <- expect_error(jit(user(f))(d), class = class)
  expect_match(conditionMessage(e), says, fixed = TRUE, label = deparse1(body(f)))
}

test_that("leverages and residuals by them are R's", {
  expect_as_r(function(d) hatvalues(lm(mpg ~ wt + f, d)))
  expect_as_r(function(d) hatvalues(lm(mpg ~ wt, d, weights = cyl)))
  expect_as_r(function(d) rstandard(lm(mpg ~ wt + f, d)))
  expect_as_r(function(d) rstudent(lm(mpg ~ wt, d, weights = cyl)))
  expect_as_r(function(d) cooks.distance(lm(mpg ~ wt, d, weights = cyl)))
  expect_as_r(function(d) dffits(lm(mpg ~ wt, d, weights = cyl)))
  expect_as_r(function(d) dffits(glm(mpg ~ wt, Gamma, d)))
  expect_as_r(function(d) dffits(glm(carb ~ wt, poisson, d)))
  expect_as_r(function(d) hatvalues(glm(carb ~ wt, poisson, d)))
  expect_as_r(function(d) rstandard(glm(mpg ~ wt, Gamma, d)))
  expect_as_r(function(d) rstudent(glm(mpg ~ wt, Gamma, d)))
  expect_as_r(function(d) rstudent(glm(carb ~ wt, poisson, d)))
  expect_as_r(function(d) cooks.distance(glm(carb ~ wt, poisson, d)))
  expect_as_r(function(d) max(cooks.distance(lm(mpg ~ wt, d[d$cyl > 4, ]))))
  expect_as_r(function(d) sum(rstudent(glm(carb ~ wt, poisson, d[d$cyl > 4, ]))))
})

test_that("anova() is of the terms of a model, and of models", {
  expect_as_r(function(d) anova(lm(mpg ~ wt * f, d)))
  expect_as_r(function(d) anova(lm(mpg ~ wt, d, weights = cyl)))
  expect_as_r(function(d) anova(lm(mpg ~ wt, d[d$cyl > 4, ])))
  expect_as_r(function(d) anova(lm(mpg ~ wt, d))["wt", "Pr(>F)"])
  expect_as_r(function(d) anova(lm(mpg ~ 1, d), lm(mpg ~ wt, d), lm(mpg ~ wt + f, d)))
  expect_as_r(function(d) anova(lm(mpg ~ wt, d), lm(mpg ~ wt + f, d))$F[2])
  expect_as_r(function(d) anova(lm(mpg ~ wt, d), lm(mpg ~ wt + f, d), test = "Chisq"))
  expect_as_r(function(d) anova(glm(carb ~ 1, poisson, d), glm(carb ~ wt, poisson, d), test = "Chisq"))
  expect_as_r(function(d) anova(glm(mpg ~ 1, Gamma, d), glm(mpg ~ wt, Gamma, d), test = "F"))
  refused(function(d) anova(glm(carb ~ wt, poisson, d)), "anova(smaller, larger)")
  refused(function(d) anova(lm(mpg ~ wt, d), 1), "by `lm()`")
})

test_that("predictions have errors and intervals", {
  expect_as_r(function(d) predict(lm(mpg ~ wt, d), data.frame(wt = 2:3), interval = "confidence"))
  expect_as_r(function(d) predict(lm(mpg ~ wt + f, d), data.frame(wt = 2:3, f = c("a", "c")), interval = "p"))
  expect_as_r(function(d) predict(lm(mpg ~ wt, d), interval = "prediction", level = 0.9))
  expect_as_r(function(d) predict(lm(mpg ~ wt, d, weights = cyl), interval = "prediction"))
  expect_as_r(function(d) predict(lm(mpg ~ wt, d), data.frame(wt = 2:3), se.fit = TRUE))
  expect_as_r(function(d) predict(lm(mpg ~ wt, d[d$cyl > 4, ]), data.frame(wt = 2), interval = "confidence"))
  expect_as_r(function(d) predict(glm(carb ~ wt, poisson, d), data.frame(wt = 2:3), se.fit = TRUE))
  expect_as_r(function(d) predict(glm(mpg ~ wt, Gamma, d), data.frame(wt = 2:3), "response", TRUE))
  expect_as_r(function(d) predict(glm(carb ~ wt, poisson, d), type = "response", se.fit = TRUE))
  refused(function(d) predict(lm(mpg ~ wt, d), se.fit = 2), "se.fit")
})

test_that("Wald's intervals and covariances are of both kinds of models", {
  expect_as_r(function(d) confint.default(lm(mpg ~ wt, d)))
  expect_as_r(function(d) confint.default(glm(carb ~ wt, poisson, d), "wt", 0.9))
  expect_as_r(function(d) vcov(summary(lm(mpg ~ wt, d))))
  expect_as_r(function(d) vcov(summary(glm(mpg ~ wt, Gamma, d))))
})

test_that("models are of the rows of a subset", {
  expect_as_r(function(d) coef(lm(mpg ~ wt, d, subset = cyl > 4)))
  expect_as_r(function(d) coef(lm(mpg ~ wt, d, cyl > 4 & f != "a")))
  expect_as_r(function(d) coef(lm(mpg ~ wt + f, d, subset = 2:12)))
  expect_as_r(function(d) residuals(lm(mpg ~ wt, d, subset = -(1:3))))
  expect_as_r(function(d) coef(lm(mpg ~ wt, d, weights = cyl, subset = 3:14)))
  expect_as_r(function(d) with(d, coef(lm(mpg ~ wt, subset = cyl > 4))))
  expect_as_r(function(d) coef(glm(carb ~ wt, poisson, d, subset = 2:12)))
  expect_as_r(function(d) coef(glm(carb ~ wt, poisson, d, subset = cyl > 4, offset = log(hp))))
  refused(function(d) coef(lm(mpg ~ wt, d, cyl > 4, weights = hp)), "beside weights")
  refused(function(d) coef(lm(mpg ~ wt, d, subset = cyl)), "a condition of each of the rows")
})

test_that("glm() takes rows that a condition selects", {
  of_rows <- function(fit) {
    f <- eval(bquote(function(d) {
      m <- .(fit)
      s <- summary(m)
      list(
        coef = coef(m), table = s$coefficients, aic = AIC(m), bic = BIC(m), loglik = c(logLik(m)),
        deviance = deviance(m), null = m$null.deviance, df = df.residual(m), df0 = m$df.null,
        left = sum(resid(m)), pearson = sum(resid(m, "pearson")^2), mean = mean(fitted(m)),
        hat = sum(hatvalues(m)), new = predict(m, data.frame(wt = 3, f = "b"), type = "response")
      )
    }))
    expect_as_r(f)
  }
  of_rows(quote(glm(carb ~ wt, poisson, d[d$cyl > 4, ])))
  of_rows(quote(glm(mpg ~ wt, gaussian, subset(d, cyl > 4))))
  of_rows(quote(glm(mpg ~ wt, gaussian, d[d$cyl > 4, ], weights = hp)))
  of_rows(quote(glm(mpg ~ wt, Gamma, d[d$cyl > 4, ])))
  of_rows(quote(glm(carb ~ f, poisson, d[d$cyl > 4, ])))
  of_rows(quote(glm(cbind(carb, 9 - carb) ~ wt, binomial, d[d$cyl > 4, ])))
})

# nolint end
