# Formulas in traced functions: values as of stats.

d <- data.frame(
  y = c(2.1, 3.4, 1.9, 5.6, 4.4, 3.8, 2.7, 6.1), x = c(1, 2, 0.5, 4, 3.1, 2.2, 1.4, 4.6),
  f = factor(c("u", "v", "u", "w", "v", "w", "u", "v"), levels = c("u", "v", "w")),
  b = c(TRUE, FALSE, TRUE, TRUE, FALSE, FALSE, TRUE, FALSE), s = rep(c("p", "q"), 4),
  k = c(1L, 2L, 2L, 1L, 3L, 3L, 1L, 2L)
)

plain <- function(x) {
  if (is.list(x) && !inherits(x, "AnvilValue")) return(lapply(unclass(x), plain))
  if (inherits(x, "AnvilValue")) x <- as_array(x)
  sizes <- dim(x)
  x <- as.double(if (is.character(x)) factor(x) else x)
  if (length(sizes) > 1L) array(x, sizes) else x
}

names_of <- function(x) if (!is.list(x) && length(dim(x)) > 1L) unname(dimnames(x)) else names(x)

expect_as_r <- function(f, ..., of_names = TRUE) {
  withr::local_options(anvil.default_float = "f64")
  given <- if (...length()) list(...) else list(d)
  want <- do.call(f, given)
  got <- do.call(jit(user(f)), given)
  expect_equal(plain(got), plain(want), tolerance = 1e-8, label = deparse1(body(f)))
  if (of_names) expect_identical(names_of(got), names_of(want), label = deparse1(body(f)))
}

refused <- function(f, class, says) {
  e <- expect_error(jit(user(f))(d), class = class)
  expect_match(conditionMessage(e), says, fixed = TRUE, label = deparse1(body(f)))
}

test_that("model.matrix() has the columns that R's has", {
  expect_as_r(function(d) model.matrix(~ f, d))
  expect_as_r(function(d) model.matrix(~ x + f, d))
  expect_as_r(function(d) model.matrix(y ~ x * f, data = d))
  expect_as_r(function(d) model.matrix(~ f - 1, d))
  expect_as_r(function(d) model.matrix(~ f + b - 1, d))
  expect_as_r(function(d) model.matrix(~ f:b - 1, d))
  expect_as_r(function(d) model.matrix(~ x:f, d))
  expect_as_r(function(d) model.matrix(~ x:b + f:x, d))
  expect_as_r(function(d) model.matrix(~ f * b * x, d))
  expect_as_r(function(d) model.matrix(~ log(x) + I(x^2) + s, d))
  expect_as_r(function(d) model.matrix(~ poly(x, 2), d))
  expect_as_r(function(d) model.matrix(~ 0 + x, d))
  expect_as_r(function(d) model.matrix(~ 1, d))
  expect_as_r(function(d) model.matrix(~ ., d[c("x", "f")]))
  expect_as_r(function(d) model.matrix(~ f, d, contrasts.arg = list(f = "contr.sum")))
  expect_as_r(function(d) model.matrix(~ f, d, contrasts.arg = list(f = contr.helmert(3))))
  expect_as_r(function(d) attr(model.matrix(~ x * f, d), "assign"))
  expect_as_r(function(x) model.matrix(~ x + I(x^2)), c(1, 3, 2))
  expect_as_r(function(d) {
    x <- model.matrix(~ x + f, d)
    solve(crossprod(x), crossprod(x, d$y))
  })
  refused(function(d) model.matrix(~ x, d[d$b, ]), "anvil_error_concrete", "does not take a selection")
})

test_that("lm() is a linear model of traced values", {
  expect_as_r(function(d) coef(lm(y ~ x + f, d)))
  expect_as_r(function(d) coef(lm(y ~ 1, d)))
  expect_as_r(function(d) coef(lm(d$y ~ d$x)))
  expect_as_r(function(d) coef(lm(cbind(y, k) ~ x, d)))
  expect_as_r(function(d) fitted(lm(y ~ x, d, weights = k)))
  expect_as_r(function(d) resid(lm(y ~ x + offset(k), d)))
  expect_as_r(function(d) deviance(lm(y ~ x, d)))
  expect_as_r(function(d) predict(lm(y ~ x + f, d)))
  expect_as_r(function(d) predict(lm(y ~ x, d), data.frame(x = c(1, 2))))
  expect_as_r(function(d, e) predict(lm(y ~ x + f, d), e), d, d[1:3, c("x", "f")])
  expect_as_r(function(d) predict(lm(y ~ x + f, d), data.frame(x = 1, f = "w")))
  expect_as_r(function(d) predict(lm(y ~ f, d), data.frame(f = factor(c("v", "u", "w"), c("w", "v", "u")))))
  expect_as_r(function(d) predict(lm(y ~ s + b, d), data.frame(s = c("q", "p"), b = TRUE)))
  expect_as_r(function(d) predict(lm(y ~ log(x), d), data.frame(x = 1:3)))
  refused(function(d) predict(lm(y ~ f, d), list(f = "z")), "anvil_error_arg", "the levels of the model")
  expect_as_r(function(d) coef(lm(y ~ scale(x), d)))
  expect_as_r(function(d) coef(lm(y ~ poly(x, 2, raw = TRUE), d)))
  # R leaves out a column that depends on others; here none is known.
  got <- jit(user(function(d) coef(lm(y ~ x + I(2 * x), d))))(d)
  expect_identical(as.vector(got), c(NaN, NaN, NaN))
  expect_as_r(function(d) coef(lm(y ~ f, d, contrasts = list(f = contr.sum))))
  expect_as_r(function(d) { contrasts(d$f) <- contr.sum(3); coef(lm(y ~ f, d)) })
  refused(function(d) model.matrix(~ s, list(s = "q", x = d$x)), "anvil_error_arg", "two levels or more")
  expect_as_r(function(d) summary(lm(y ~ x + f, d))$coefficients)
  expect_as_r(function(d) summary(lm(y ~ x, d, weights = k))$coefficients)
  expect_as_r(function(d) {
    s <- summary(lm(y ~ x, d))
    c(s$sigma, s$r.squared, s$adj.r.squared, s$fstatistic, s$df)
  })
  expect_as_r(function(d) {
    s <- summary(lm(y ~ 0 + x, d, weights = k))
    c(s$sigma, s$r.squared, s$adj.r.squared, s$fstatistic)
  })
  expect_as_r(function(d) sqrt(diag(vcov(lm(y ~ x + f, d)))), of_names = FALSE)
  expect_as_r(function(d) confint(lm(y ~ x + f, d)))
  expect_as_r(function(d) confint(lm(y ~ x + f, d), "x", level = 0.9))
  expect_as_r(function(d) { m <- lm(y ~ x + f, d, weights = k); c(logLik(m), AIC(m), BIC(m), nobs(m)) })
  expect_as_r(function(d) model.matrix(lm(y ~ x, d)))
  expect_as_r(function(d) coef(update(lm(y ~ x, d), . ~ . + f)))
  refused(function(d) coef(lm(~ x, d)), "anvil_error_arg", "a left side")
  refused(function(d) loess(y ~ x, d), "anvil_error_concrete", "loess()")
  refused(function(d) coef(lm(y ~ x + nowhere, d)), "anvil_error_arg", "nowhere")
})

test_that("aov() is a linear model whose summary is its table of variances", {
  expect_as_r(function(d) coef(aov(y ~ f, d)))
  expect_as_r(function(d) summary(aov(y ~ f, d))[[1L]]$`F value`[1L])
  expect_as_r(function(d) summary(aov(y ~ f + x, d))[[1L]][["Sum Sq"]])
  expect_as_r(function(d) anova(aov(y ~ f, d))$`Pr(>F)`[1L])
  expect_as_r(function(d) summary.lm(aov(y ~ f, d))$coefficients)
  expect_as_r(function(d) { m <- aov(y ~ x + f, d); c(deviance(m), df.residual(m), AIC(m)) })
  refused(function(d) summary(aov(y ~ x + Error(f), d)), "anvil_error_arg", "without `Error()`")
  refused(function(d) TukeyHSD(aov(y ~ f, d)), "anvil_error_unsupported", "m <- tapply(y, g, mean)")
})

test_that("methods of the user's are found", {
  f <- user(function(x) {
    predict.line <- function(object, at, ...) object$a * at
    summary.line <- function(object, ...) object$a + 1
    quantile.line <- function(x, ...) x$a # nolint: object_name_linter. A method.
    levels.line <- function(x) x$a - 1
    line <- structure(list(a = x), class = "line")
    predict(line, 3) + summary(line) + quantile(line) + levels(line)
  })
  expect_equal(as.vector(jit(f)(nv_scalar(2, "f64"))), 12)
})

test_that("what is known is R's own", {
  own <- list(
    function(x) x * coef(lm(dist ~ speed, cars, subset = speed > 10))[[2]],
    function(x) x * coef(lm("dist ~ speed", cars, subset = speed > 10))[[2]],
    function(x) x * aggregate(len ~ supp, ToothGrowth, mean)$len[1],
    function(x) x * aggregate(mtcars[1:2], by = list(mtcars$am), FUN = mean)$mpg[2],
    function(x) x * t.test(extra ~ group, data = sleep)$p.value,
    function(x) x * confint(lm(dist ~ speed, cars))[2, 1],
    function(x) x * (AIC(lm(dist ~ speed, cars), k = 3) + BIC(glm(am ~ wt, binomial, mtcars))),
    function(x) x * summary(lm(mpg ~ wt, mtcars, weights = cyl))$r.squared,
    function(x) x * vcov(lm(mpg ~ wt, mtcars))[1, 1],
    function(x) x * predict(lm(dist ~ speed, cars), data.frame(speed = 10))[[1]],
    function(x) x * xtabs(~ cyl, mtcars)[[1]],
    function(x) x * ncol(model.matrix(~ factor(cyl), mtcars)),
    function(x) {
      d <- ToothGrowth
      contrasts(d$supp) <- contr.sum(2)
      x * contrasts(d$supp)[[2, 1]]
    },
    function(x) x * nrow(na.omit(airquality)),
    function(x) x * mean(cars[cars$speed > 10, ]$dist)
  )
  for (f in own) {
    expect_equal(as.vector(jit(user(f))(nv_scalar(2, "f64"))), f(2), label = deparse1(body(f)))
  }
})

test_that("lm() takes rows that a computed mask selects", {
  expect_as_r(function(d) coef(lm(y ~ x, d[!d$b, ])))
  expect_as_r(function(d) { e <- subset(d, x > 1); summary(lm(y ~ x, e))$coefficients })
  expect_as_r(function(d) { m <- lm(log(y) ~ x + b, d[d$x > 1, ]); c(AIC(m), BIC(m)) })
  expect_as_r(function(d) mean(resid(lm(y ~ x, d[d$x > 1, ]))^2))
})

test_that("aggregate() has the rows of R where the groups are known", {
  x <- nv_tensor(c(1, 2, 3, 4), "f64")
  h <- c(1, 1, 2, 2)
  k <- factor(c("a", "b", "a", "a"), c("z", "b", "a"))
  of_r <- aggregate(c(1, 2, 3, 4), list(h, k), range)$x
  expect_identical(as_array(jit(function(x) aggregate(x, list(h, k), range)$x)(x)), unname(of_r))
  expect_identical(as_array(jit(function(x) aggregate(x, list(k), mean)$x)(x)), array(c(2, 8 / 3)))
})

test_that("aggregate() and xtabs() have all levels", {
  expect_as_r(function(d) aggregate(y ~ f, d, mean))
  # Without data, variables are those of the function.
  expect_as_r(function(d) { y <- d$y; f <- d$f; aggregate(y ~ f, FUN = mean)$y })
  expect_as_r(function(d) { y <- d$y; f <- gl(2, 1, nrow(d)); aggregate(cbind(y, z = y^2) ~ f, FUN = sum)$z })
  expect_as_r(function(d) aggregate(y ~ f, data = d, mean)$y)
  expect_as_r(function(d) aggregate(y ~ s, data = d, FUN = sum))
  expect_as_r(function(d) aggregate(. ~ f, d[c("y", "x", "f")], mean))
  expect_as_r(function(d) aggregate(cbind(y, x) ~ b, d, sum))
  expect_as_r(function(d) aggregate(d$y, list(group = d$f), median))
  expect_as_r(function(d) aggregate(d[c("y", "x")], by = list(d$f), FUN = sd))
  expect_as_r(function(d) aggregate(cbind(y = d$y, d$x), list(d$f), mean))
  expect_as_r(function(d) aggregate(cbind(d$y, d$x), list(g = d$f), mean), of_names = FALSE)
  expect_as_r(function(d) aggregate(d$y, list(d$f), range)$x[, 2])
  expect_as_r(function(d) aggregate(y ~ f, d[d$x > 0.7, ], mean)$y)
  expect_as_r(function(d) unclass(xtabs(y ~ f, d)), of_names = FALSE)
  expect_as_r(function(d) unclass(xtabs(~ f + b, d)), of_names = FALSE)
  holes <- d
  holes$y[3] <- NA
  holes$f[2] <- NA
  expect_as_r(function(d) aggregate(y ~ f, d, mean), holes)
  expect_as_r(function(d) aggregate(cbind(y, x) ~ f, d, max), holes)
  expect_as_r(function(d) aggregate(d$y, list(d$f), mean), holes)
  expect_as_r(function(d) unclass(xtabs(y ~ f, d)), holes, of_names = FALSE)
  # A group without elements has NaN.
  got <- jit(user(function(d) aggregate(y ~ f + b, d, sum)$y))(d)
  expect_identical(which(is.nan(as.vector(got))), c(1L, 5L))
  refused(function(d) aggregate(y ~ k, d, mean), "anvil_error_concrete", "factor(g, levels = 1:k)")
  refused(function(d) aggregate(f ~ b, d, mean), "anvil_error_arg", "a factor")
})

test_that("t.test() gives its numbers", {
  numbers <- c("statistic", "parameter", "p.value", "conf.int", "estimate", "stderr")
  same <- function(f) {
    f <- user_env(f, numbers = numbers)
    withr::local_options(anvil.default_float = "f64")
    want <- lapply(f(d), as.vector)
    expect_equal(lapply(jit(f)(d), as.vector), want, tolerance = 1e-8, label = deparse1(body(f)))
  }
  same(function(d) t.test(d$y)[numbers])
  same(function(d) t.test(d$y, mu = 3, alternative = "greater")[numbers])
  same(function(d) t.test(d$y, d$x)[numbers])
  same(function(d) t.test(d$y, d$x, alternative = "less", conf.level = 0.9)[numbers])
  same(function(d) t.test(d$y, d$x, var.equal = TRUE)[numbers])
  same(function(d) t.test(d$y, d$x, paired = TRUE)[numbers])
  same(function(d) t.test(y ~ b, data = d)[numbers])
  same(function(d) t.test(y ~ b, d, var.equal = TRUE)[numbers])
  same(function(d) t.test(d$y[d$b], d$y[!d$b])[numbers])
  refused(function(d) t.test(y ~ f, d)$p.value, "anvil_error_arg", "one factor of two levels")
})

test_that("model.frame() gives the variables of a formula, of which model.matrix() makes a matrix", {
  expect_as_r(function(d) {
    design <- function(formula, data) {
      mf <- model.frame(formula, data)
      list(x = model.matrix(attr(mf, "terms"), mf), y = model.response(mf), n = nrow(mf))
    }
    list(design(y ~ x + f, d), design(log(y) ~ I(x^2) * b + s, d), design(cbind(x, y) ~ f, d))
  })
  expect_as_r(function(d) {
    fit <- function(formula, data, weights) {
      call <- match.call(expand.dots = FALSE)
      call <- call[c(1L, match(c("formula", "data", "weights"), names(call), 0L))]
      call[[1L]] <- quote(stats::model.frame)
      mf <- eval(call, parent.frame())
      w <- model.weights(mf)
      if (is.null(w)) w <- rep(1, nrow(mf))
      x <- model.matrix(attr(mf, "terms"), mf)
      drop(solve(crossprod(x, w * x), crossprod(x, w * model.response(mf, "numeric"))))
    }
    list(fit(y ~ x, d), fit(y ~ f, data = d, weights = x))
  })
  expect_as_r(function(d) model.offset(model.frame(y ~ x + offset(log(k)), data = d)))
  expect_as_r(function(d) model.response(model.frame(y ~ x, d, subset = c(1, 3))))
  refused(function(d) model.frame(y ~ x, d, subset = x > 1)$y, "anvil_error_arg", "rows that are known")
  refused(function(d) model.frame(y ~ x, d[d$x > 1, ])$y, "anvil_error_concrete", "model.frame()")
})

test_that("new data have the bases that poly() and scale() computed for a model", {
  new <- data.frame(x = c(0.5, 1, 4), y = c(2, 1, 3), f = c("u", "w", "u"))
  for (f in list(
    function(d, new) predict(lm(y ~ poly(x, 2), d), new),
    function(d, new) predict(lm(y ~ scale(x) + f, d), new),
    function(d, new) predict(lm(y ~ poly(x, 3, raw = TRUE), d), new),
    function(d, new) predict(lm(y ~ scale(x, scale = FALSE), d), new),
    function(d, new) predict(lm(y ~ scale(x, FALSE), d), new),
    function(d, new) predict(lm(scale(y) ~ poly(log(x + 9), 2), d), new),
    function(d, new) predict(lm(y ~ poly(x, 2), d, weights = exp(x)), new, se.fit = TRUE)$se.fit,
    function(d, new) predict(glm(exp(y) ~ poly(x, 2), Gamma("log"), d), new, type = "response"),
    function(d, new) predict(lm(y ~ poly(x, 2), d), data.frame(x = 1))
  )) expect_as_r(f, d, new)
  for (f in list(
    function(d) predict(lm(y ~ I(scale(x)^2), d), d), function(d) predict(lm(y ~ scale(scale(x)), d), d),
    function(d) { poly <- function(x, k) cbind(x, x^k); predict(lm(y ~ poly(x, 2), d), d) },
    function(d) { k <- 1:8; predict(lm(d$y ~ poly(k, k %% 3, degree = 1)), list(k = 2)) }
  )) refused(f, "anvil_error_arg", "depend on one row each")
})

test_that("rows that a mask selects are new data", {
  for (f in list(
    function(d) mean(predict(lm(y ~ x, d), d[d$b, ])),
    function(d) sum(predict(lm(y ~ f + x, d), d[d$x > 1, ])),
    function(d) mean((d$y[d$k == 1] - predict(lm(y ~ x, d[d$k != 1, ]), d[d$k == 1, ]))^2),
    function(d) sum(predict(glm(k ~ x, poisson, d), d[d$b, ], type = "response")),
    function(d) mean(predict(glm(k ~ x, poisson, d), subset(d, x > 1)))
  )) expect_as_r(f)
  f <- function(d) predict(lm(y ~ x, d), d[d$b, ], se.fit = TRUE)
  refused(f, "anvil_error_concrete", "`predict()` does not take a selection")
})
