# Code that was written for R's vectors and matrices by people who know of no tensors, in the ways in which
# functions of packages begin and end: they ask what they are given, and call functions of R by other names.

# nolint start: object_name_linter. Matrices have the names that they have in such code.

x <- c(1.5, -0.5, 2, 0.25)
A <- matrix(c(4, 1, 0.5, 1, 3, -1, 0.5, -1, 2), 3)

# What a function of the user's gives for R data it gives for tensors, eagerly and in a program.
expect_as_r <- function(f, ...) {
  data <- list(...)
  want <- doubles_of(do.call(f, data))
  tensors <- lapply(data, nv_tensor, "f64")
  expect_equal(doubles_of(do.call(user(f), tensors)), want, tolerance = 1e-12)
  expect_equal(doubles_of(do.call(jit(user(f)), tensors)), want, tolerance = 1e-12)
}

test_that("is.vector() tells vectors from matrices, eagerly too", {
  asked <- user(function(x) c(
    is.vector(x), is.vector(x, "numeric"), is.vector(x, "double"), is.vector(x, mode = "integer"),
    is.vector(x, "complex"), is.vector(x, "list")
  ))
  for (data in list(x, A, 1:3, 2, c(1i, 2), c(TRUE, FALSE), array(1:8, c(2, 2, 2)))) {
    value <- nv_tensor(data, if (is.double(data)) "f64")
    if (length(data) == 1L) value <- nv_scalar(data, "f64")
    expect_identical(asked(value), asked(data))
    expect_identical(as.logical(jit(asked)(value)), asked(data))
  }
  expect_identical(asked(nv_tensor(c(a = 1, b = 2), "f64")), asked(c(a = 1, b = 2)))
  expect_fields(is.vector(nv_scalar(1), 2), "anvil_error_arg", arg = "mode")
  expect_fields(is.vector(nv_scalar(1), as_dtype("i8")), "anvil_error_arg", arg = "mode")
  expect_identical(is.vector(list(1)), TRUE)
  expect_identical(is.vector(factor("a")), FALSE)
  # A density of several variables begins so, and the distance of all pairs of rows.
  expect_as_r(function(x, A) {
    if (is.vector(x)) x <- matrix(x, ncol = length(x))
    root <- chol(A)
    z <- backsolve(root, t(x), transpose = TRUE)
    -sum(log(diag(root))) - 0.5 * ncol(x) * log(2 * pi) - 0.5 * colSums(z^2)
  }, x[1:3], A)
  expect_as_r(function(p, x) {
    if (!is.vector(p, mode = "numeric") && !is.vector(p, mode = "complex")) stop("`p` must be a vector.")
    drop(outer(x, (length(p) - 1):0, "^") %*% p)
  }, c(1, -2, 3), x)
})

test_that("a vector has names, and none of columns", {
  expect_as_r(function(x) if (is.null(colnames(x))) x else x[, 1], c(a = 1, b = 2))
  expect_as_r(function(x) x[, which(colnames(x) == "b")], cbind(a = 1:2, b = 3:4))
  x <- nv_tensor(c(a = 1, b = 2), "f64")
  expect_identical(colnames(x), NULL)
  expect_identical(colnames(nv_tensor(cbind(a = 1, b = 2))), c("a", "b"))
  fit <- function(X, y) .lm.fit(X, y)$residuals
  expect_as_r(fit, cbind(a = 1, b = c(1, 2, 3, 5)), c(p = 1, q = 2, r = 2, s = 5))
})

# A function that sees R's own functions, as those of packages do.
packaged <- function(f) {
  environment(f) <- new.env(parent = asNamespace("stats"))
  f
}

test_that("what sees R's own functions of a factorisation is given one of R's", {
  b <- c(1, 2, -1)
  X <- cbind(1, x)
  programs <- list(
    list(function(A, b) base::qr.solve(A, b), A, b),
    list(packaged(function(A, b) qr.coef(qr(A), b)), A, b),
    list(packaged(function(A, b) abs(qr.R(qr(A)))), A, b),
    list(packaged(function(X, y) {
      f <- qr(X)
      c(f$rank, qr.fitted(f, y), qr.resid(f, y))
    }), X, x^2),
    list(packaged(function(A, b) qr.Q(qr(A[, 1:2]), complete = TRUE)[, -(1:2)]), A, b)
  )
  for (program in programs) {
    f <- program[[1L]]
    want <- do.call(f, program[-1L])
    got <- do.call(f, lapply(program[-1L], nv_tensor, "f64"))
    expect_equal(doubles_of(got), doubles_of(want), tolerance = 1e-12)
  }
  # The user's own code has tensors.
  f <- user(function(A) qr(A))(nv_tensor(A, "f64"))
  expect_s3_class(f, "AnvilQr")
  expect_identical(f$rank, 3L)
  expect_error(f$qr, class = "anvil_error_arg", "qr.R")
  expect_error(jit(function(A) ncol(qr(A)$qr))(nv_tensor(A)), class = "anvil_error_arg", "qr.R")
  expect_as_r(function(A, b) base::qr.solve(A, b), A, b)
})

test_that("R's own pmax() and pmin() take matrices", {
  want <- pmax(A, 0)
  a <- nv_tensor(A, "f64")
  expect_equal(as_array(base::pmax(a, 0)), want)
  expect_equal(as_array(base::pmin(a, 0.75)), pmin(A, 0.75))
  expect_equal(as_array(base::pmax(a, t(a) * 2)), pmax(A, t(A) * 2))
  expect_equal(as_array(jit(function(a) base::pmax(a, 0))(a)), want)
})

test_that("complex numbers that R's C code makes of doubles are complex numbers", {
  m <- matrix(c(1, 2, 3, 5, 1, 0), 3)
  for (dtype in c("f32", "f64", "i32")) {
    v <- nv_tensor(x * 4, dtype)
    expect_equal(as.vector(stats::fft(v) * 2), stats::fft(x * 4) * 2)
    expect_true(dtype(stats::fft(v)) == "c128")
    expect_equal(as_array(Conj(stats::mvfft(nv_tensor(m, dtype)))), Conj(stats::mvfft(m)))
    expect_equal(as.vector(jit(function(z) Re(z) + 1)(stats::fft(v))), Re(stats::fft(x * 4)) + 1)
  }
})

test_that("functions of R that have other names, or are in lists, take traced values", {
  test <- stats::t.test
  spread <- list(mad = stats::mad, sd = stats::sd, quartiles = stats::quantile)
  f <- user_env(function(x) test(x)$p.value, test = test)
  expect_equal(as.vector(jit(f)(nv_tensor(x, "f64"))), test(x)$p.value)
  f <- user_env(function(x) unlist(lapply(spread, function(g) g(x))), spread = spread)
  expect_equal(as.vector(jit(f)(nv_tensor(x, "f64"))), as.vector(f(x)))
  f <- user_env(function(x) spread$mad(x) + spread[["sd"]](x), spread = spread)
  expect_equal(as.vector(jit(f)(nv_tensor(x, "f64"))), f(x))
  f <- user_env(function(x) do.call(test, list(x, mu = 1))$statistic, test = test)
  expect_equal(as.vector(jit(f)(nv_tensor(x, "f64"))), unname(f(x)))
})

test_that("arguments of R's methods that say nothing of a tensor are taken", {
  expect_identical(isSymmetric(nv_tensor(A, "f64"), tol = 1e-8, check.attributes = FALSE), TRUE)
  expect_error(
    jit(function(A) isSymmetric(A, check.attributes = FALSE))(nv_tensor(A)),
    class = "anvil_error_concrete", "abs[(]x - t[(]x[)][)]"
  )
  expect_as_r(function(x) as.matrix(x, rownames.force = FALSE), x)
  expect_as_r(function(x) as.matrix(x, drop = FALSE), x)
  expect_error(as.matrix(nv_tensor(x), byrows = 2), class = "anvil_error_arg", "byrows")
})

test_that("numbers of R with a class that says what they are, are numbers", {
  loadings <- structure(A[, 1:2], class = "loadings", dimnames = list(NULL, c("a", "b")))
  expect_as_r <- function(f, r) {
    want <- f(A, unclass(r))
    expect_equal(doubles_of(f(nv_tensor(A, "f64"), r)), doubles_of(want), tolerance = 1e-12)
    g <- user_env(function(a) of(a, r), of = f, r = r)
    expect_equal(doubles_of(jit(g)(nv_tensor(A, "f64"))), doubles_of(want), tolerance = 1e-12)
  }
  expect_as_r(function(a, r) a %*% r, loadings)
  expect_as_r(function(a, r) solve(a, r), loadings)
  expect_as_r(function(a, r) a - r[["Mean"]], summary(x))
  expect_as_r(function(a, r) a - r["Mean"], summary(x))
  expect_as_r(function(a, r) a * r, logLik(lm(x ~ 1)))
})

test_that("arguments that are left out, or of no use, are classed errors or R's own", {
  expect_error(jit(user(function(z) `[<-`(z)))(nv_tensor(1:3)), class = "anvil_error_arg", "x")
  expect_error(approx(nv_tensor(1:3), 1:3 + 1i), class = "anvil_error_arg", "real numbers")
  too_many <- function(x) `split<-`(x, 1:2, FALSE, ".", TRUE, 5, value = list(1, 2))
  expect_error(too_many(nv_tensor(1:4)), class = "anvil_error_arg", "not used")
  expect_identical(tryCatch(order(nv_tensor(3:1), , nv_tensor(1:3)), error = function(e) "error"), "error")
})

# nolint end
