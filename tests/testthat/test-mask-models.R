# Least squares, principal components, polynomials and distances in traced functions: values as of stats.
# nolint start: object_name_linter, object_usage_linter.

m <- matrix(c(2, 1, 0.5, 3, -1, 4, 1.5, 2.5, 0, 1, 2, 3, -2, 0.25, 1), 5)
named <- matrix(m, 5, dimnames = list(letters[1:5], c("u", "v", "w")))
y <- c(1, 3, 2, -1, 0.5)
two <- cbind(y, rev(y)^2)
w <- c(1, 2, 0.5, 1, 3)
r <- c(3.5, -1.25, 2, 7, 0.5, -4, 9.75, 1)

# A function of the user's that sees what the tests define.
of_user <- function(f) user_env(f, fit_parts = fit_parts, pc_parts = pc_parts)
fit_parts <- c("coefficients", "residuals", "fitted.values", "rank", "df.residual")
pc_parts <- c("sdev", "loadings", "center", "scale", "n.obs", "scores")

expect_as_r <- function(f, ...) {
  given <- list(...)
  expected <- plain_numbers(do.call(f, given))
  tensors <- lapply(given, nv_tensor, dtype = "f64")
  for (f_of in list(of_user(f), jit(of_user(f)))) {
    got <- plain_numbers(do.call(f_of, tensors))
    expect_equal(got, expected, tolerance = 1e-10, label = deparse1(body(f)))
  }
}

refused <- function(f, x, text, class = "anvil_error_arg") {
  expect_error(jit(user(f))(nv_tensor(x)), class = class, text, fixed = TRUE)
}

test_that("least squares are those of stats", {
  expect_as_r(function(m, y) lm.fit(m, y)[fit_parts], m, y)
  expect_as_r(function(m, y) lm.fit(cbind(1, m[, 1:2]), y, offset = 1:5)[fit_parts], m, y)
  expect_as_r(function(m, y) lm.fit(m, y)[fit_parts], m, two)
  expect_as_r(function(m, y, w) lm.wfit(m, y, w)[fit_parts], m, y, w)
  expect_as_r(function(m, y) lm.wfit(m, y, c(1, 2, 0.5, 1, 3))[fit_parts], m, y)
  expect_as_r(function(m, y) .lm.fit(m, y)[c("coefficients", "residuals", "rank")], m, y)
  expect_as_r(function(m, y) sum(.lm.fit(m, y)$effects[-(1:3)]^2), m, y)
  expect_as_r(function(m, y) chol2inv(lm.fit(m, y)$qr$qr), m, y)
  expect_as_r(function(m, y) lsfit(m, y)[c("coefficients", "residuals")], m, y)
  expect_as_r(function(m, y) lsfit(m[, 1], y)$coefficients, m, y)
  expect_as_r(function(m, y) {
    lsfit(m, y, c(1, 2, 0.5, 1, 3), intercept = FALSE)[c("coefficients", "residuals")]
  }, m, y)
  expect_as_r(function(y) coef(lm.fit(cbind(1, 1:5), y)), y)
  of <- list(
    function(m, y) lm.fit(m, y)$coefficients, function(m, y) lsfit(m, y)$coefficients,
    function(m, y) lm.fit(unname(m), y)$coefficients, function(m, y) lsfit(m[, 1], y)$coefficients
  )
  for (f in of) {
    expect_identical(names(jit(user(f))(nv_tensor(named), nv_tensor(y))), names(f(named, y)))
  }
})

test_that("gradients of least squares are those of the normal equations", {
  f <- user(function(y, m) sum(lm.fit(m, y)$residuals^2))
  expected <- 2 * lm.fit(m, y)$residuals
  got <- gradient(f, wrt = "y")(nv_tensor(y, "f64"), nv_tensor(m, "f64"))
  expect_equal(as.vector(got$y), expected, tolerance = 1e-10)
})

test_that("principal components are those of stats, up to their signs", {
  expect_as_r(function(m) prcomp(m)[c("sdev", "center")], m)
  expect_as_r(function(m) abs(prcomp(m)$rotation), m)
  expect_as_r(function(m) abs(prcomp(m, scale. = TRUE)$x), m)
  expect_as_r(function(m) prcomp(m, center = FALSE, scale. = TRUE)[c("sdev", "scale")], m)
  expect_as_r(function(m) abs(prcomp(m, rank. = 2)$x), m)
  expect_as_r(function(m) { p <- prcomp(m); p$x %*% t(p$rotation) }, m)
  expect_as_r(function(m) princomp(m)[pc_parts], m)
  expect_as_r(function(m) princomp(m, cor = TRUE)[pc_parts], m)
  refused(function(m) prcomp(m, tol = 0.1), m, "rank.")
  refused(function(m) princomp(t(m)), m, "rows")
})

test_that("poly() is orthogonal", {
  expect_as_r(function(x) poly(x, 2)[, 1:2], r)
  expect_as_r(function(x) poly(x, degree = 4)[, 1:4], r)
  expect_as_r(function(x) poly(x, 3, raw = TRUE)[, 1:3], r)
  expect_identical(colnames(jit(user(function(x) poly(x, 2)))(nv_tensor(r))), colnames(poly(r, 2)))
  refused(function(x) poly(x, 8), r, "degree")
  refused(function(x) poly(x, x, degree = 2), r, "one vector")
})

test_that("as.dist() takes what is below the diagonal of a matrix", {
  expect_as_r(function(m) as.vector(as.dist(crossprod(m))), m)
  expect_as_r(function(m) as.matrix(as.dist(1 - abs(cor(m)))^2), m)
  expect_as_r(function(m) as.vector(as.dist(as.dist(crossprod(m)))), m)
  f <- user(function(m) as.matrix(as.dist(crossprod(m))))
  named <- matrix(c(1, 2, 4, 3), 2, dimnames = list(NULL, c("a", "b")))
  expect_identical(dimnames(jit(f)(named)), dimnames(f(named)))
  expect_fields(jit(user(function(m) as.dist(m)))(m), "anvil_error_arg", arg = "m")
})

test_that("distances that are arguments know their rows and labels", {
  m <- matrix(c(1, 4, 2, 8, 5, 7, 0, 3), 4)
  f <- jit(function(d, s) as.matrix(exp(-d / s)))
  as_r <- function(d) as.matrix(exp(-d / 2))
  expect_equal(as_array(f(dist(m), 2)), as_r(dist(m)))
  # Labels are part of the program's type, and so is what made the vector.
  rownames(m) <- letters[1:4]
  expect_equal(as_array(f(dist(m), 2)), as_r(dist(m)))
  rownames(m) <- letters[4:1]
  expect_equal(as_array(f(dist(m), 2)), as_r(dist(m)))
  expect_identical(shape(f(as.vector(dist(m)), 2)), c(6L, 1L))
  expect_equal(as_array(f(list(dist(m))[[1L]], 2)), as_r(dist(m)))
  g <- gradient(function(s, d) sum(as.matrix(d * s)^2), wrt = "s")
  expect_equal(as.vector(g(nv_scalar(2, "f64"), dist(m))$s), 8 * sum(dist(m)^2))
  # A class that does not fit is numbers.
  wrong <- structure(c(1, 2, 3, 4), class = "dist", Size = 3L)
  expect_identical(shape(jit(function(d) as.matrix(d))(wrong)), c(4L, 1L))
})

test_that("dist() knows the rows it is of, and as.matrix() makes a matrix of it", {
  with_nan <- replace(m, 2, NaN)
  for (method in c("euclidean", "maximum", "manhattan", "minkowski")) {
    f <- function(m) NULL
    body(f) <- bquote(as.vector(dist(m, .(method))))
    expect_as_r(f, m)
    expect_as_r(f, with_nan)
    body(f) <- bquote(unname(as.matrix(dist(m, .(method), p = 3))))
    expect_as_r(f, m)
  }
  expect_as_r(function(m) exp(-unname(as.matrix(dist(m)))^2 / 2), m)
  expect_as_r(function(m) unname(as.matrix(exp(-dist(m)^2 / m[1, 1]))), m)
  expect_as_r(function(m) unname(as.matrix(sqrt(dist(m) + dist(m, "maximum")))), m)
  expect_as_r(function(m) as.matrix(as.vector(dist(m))), m)
  expect_as_r(function(m) mean(dist(m)), m)
  expect_as_r(function(m) as.matrix(dist(m) > 2), m)
  expect_as_r(function(m) as.matrix(ifelse(dist(m) > 2, dist(m), 1)), m)
  expect_as_r(function(m) unname(as.matrix(round(abs(-dist(m)), 1))), m)
  expect_as_r(function(m) as.vector(dist(m[, 1])), m)
  got <- jit(user(function(m) as.matrix(dist(m))))
  expect_identical(dimnames(got(nv_tensor(named))), dimnames(as.matrix(dist(named))))
  expect_identical(dimnames(got(nv_tensor(m))), dimnames(as.matrix(dist(m))))
  # Of rows that are equal, and on the diagonal, the gradient is none.
  f <- user(function(m) sum(as.matrix(dist(m))))
  expect_true(all(is.finite(as_array(gradient(f)(nv_tensor(rbind(m, m[1, ]), "f64"))$m))))
  refused(function(m) dist(m, "canberra"), m, "euclidean")
})

test_that("cov.wt() weighs rows", {
  expect_as_r(function(m) cov.wt(m), m)
  expect_as_r(function(m, w) cov.wt(m, w / sum(w))[c("cov", "center", "n.obs", "wt")], m, w)
  correlations <- jit(user(function(m, w) cov.wt(m, w, cor = TRUE)$cor))(nv_tensor(m, "f64"), nv_tensor(w))
  expect_equal(plain_numbers(correlations), cov.wt(m, w / sum(w), cor = TRUE)$cor, tolerance = 1e-6)
  expect_as_r(function(m, w) cov.wt(m, w / sum(w), center = FALSE, method = "ML")$cov, m, w)
})

test_that("bandwidths are those of stats", {
  expect_as_r(function(x) bw.nrd0(x), r)
  expect_as_r(function(x) bw.nrd(x), r)
  expect_as_r(function(x) bw.nrd0(x), rep(2, 4))
  expect_as_r(function(x) bw.nrd0(x), double(3))
  expect_as_r(function(x) bw.nrd0(x), c(1, 1, 1, 1, 9))
})

test_that("predict() gives the scores of components, also of new data", {
  expect_as_r(function(m) abs(predict(prcomp(m))), m)
  expect_as_r(function(m) abs(predict(prcomp(m, scale. = TRUE), m[1:2, ])), m)
  f <- function(m) predict(prcomp(m), m[, 1:2])
  expect_error(jit(of_user(f))(nv_tensor(m)), class = "anvil_error_arg", "a matrix of 3 columns")
  f <- function(m) predict(list(a = m))
  expect_error(jit(of_user(f))(nv_tensor(m)), class = "anvil_error_arg", "`lm()` gives", fixed = TRUE)
})

# nolint end

test_that("summary() of components has the shares of the variance", {
  expect_as_r(function(x) summary(prcomp(x, scale. = TRUE))$importance[1, ], named)
  f <- function(x) summary(prcomp(x))$importance
  got <- jit(user(f))(nv_tensor(named, "f64"))
  expect_identical(dimnames(got), dimnames(f(named)))
  expect_equal(as_array(got), f(named), tolerance = 1e-4)
})
