# Functions of stats and utils in traced functions: values as of base R on plain vectors.
# nolint start: object_name_linter, object_usage_linter.

r <- c(3.5, -1.25, 2, 7, 0.5, -4, 9.75, 1)
s <- c(1, 2, -3, 4, 5.5, 6, -7, 8.25)
p <- c(0.01, 0.04, 0.03, 0.2, 0.5, 0.001)
m <- matrix(c(2, 1, 0.5, 3, -1, 4, 1.5, 2.5, 0, 1, 2, 3), 4)

expect_as_r <- function(f, ...) {
  given <- list(...)
  expected <- suppressWarnings(do.call(f, given))
  got <- do.call(jit(user(f)), lapply(given, nv_tensor, dtype = "f64"))
  expect_equal(doubles_of(got), doubles_of(expected), tolerance = 1e-10, label = deparse1(body(f)))
}

refused <- function(f, x, text, class = "anvil_error_arg") {
  expect_error(jit(user(f))(nv_tensor(x)), class = class, text)
}

test_that("margins are added to tables", {
  expect_as_r(function(m) addmargins(m), m)
  expect_as_r(function(m) addmargins(m, 1), m)
  expect_as_r(function(m) addmargins(m, 2), m)
  expect_as_r(function(x) addmargins(table(x > 0, x > 2)), r)
  expect_as_r(function(x) addmargins(table(x > 0)), r)
  expect_as_r(function(x) addmargins(table(c(1, 1, 2), c(1, 2, 2))) * x[1], r)
  named <- jit(user(function(m) addmargins(table(m[, 1] > 1, m[, 2] > 1))))(nv_tensor(m))
  expect_identical(dimnames(named), list(c("FALSE", "TRUE", "Sum"), c("FALSE", "TRUE", "Sum")))
  # One axis with names is enough for R.
  half <- matrix(c(1, 2, 3, 4), 2, dimnames = list(g = c("a", "b"), NULL))
  expect_identical(dimnames(jit(user(function(m) addmargins(m)))(half)), dimnames(addmargins(half)))
  refused(function(m) addmargins(m, FUN = mean), m, "`sum`")
})

test_that("approx() finds its own places", {
  expect_as_r(function(x) approx(x, x^2, n = 7)$y, r)
  expect_as_r(function(x) approx(x, x^2)$x, r)
})

test_that("combn() puts together what is traced", {
  expect_as_r(function(x) combn(x, 2), r)
  expect_as_r(function(x) combn(x, 2, FUN = sum), r)
  expect_as_r(function(x) combn(x, 2, function(v) v / sum(v)), r)
  expect_as_r(function(x) combn(x, 3, prod, simplify = FALSE), r)
  expect_as_r(function(x) combn(8, 2, function(i) x[i[1]] * x[i[2]]), r)
  expect_as_r(function(x) combn(4, 2) * x[1], r)
  expect_as_r(function(x) combn(4, 2, sum) * x[1], r)
})

test_that("p.adjust() has R's methods but one", {
  for (method in setdiff(p.adjust.methods, "hommel")) {
    expect_as_r(eval(bquote(function(p) p.adjust(p, .(method)))), p)
    expect_as_r(eval(bquote(function(p) p.adjust(p, .(method)))), c(p, NaN, 0.2))
  }
  expect_as_r(function(p) p.adjust(p), p)
  expect_as_r(function(p) p.adjust(p, "BH", n = 10), p)
  refused(function(p) p.adjust(p, "hommel"), p, "hommel")
})

test_that("approx() goes through selected points", {
  holes <- replace(r, c(1, 4, 5, 8), NaN)
  expect_as_r(function(x) approx(which(!is.na(x)), x[!is.na(x)], xout = 1:8)$y, holes)
  expect_as_r(function(x) approx(which(!is.na(x)), x[!is.na(x)], xout = seq_along(x), rule = 2)$y, holes)
  expect_as_r(function(x) approx(sort(x)[x > 0], x[x > 0], xout = x, "constant")$y, r)
  refused(function(x) approx(x, x[x > 0], 1), r, "selection")
})

test_that("max.col() has the first or the last of the largest", {
  ties <- cbind(m, m[, 1])
  expect_as_r(function(m) max.col(m, "first"), ties)
  expect_as_r(function(m) max.col(m, "last"), ties)
  expect_as_r(function(m) max.col(m), cbind(r, -r))
  expect_identical(as.vector(jit(user(function(m) max.col(m)))(ties)), max.col(ties, "first"))
  refused(function(m) max.col(m, "random"), m, "random")
})

test_that("filter() averages and recurs", {
  expect_as_r(function(x) filter(x, rep(1 / 3, 3)), r)
  expect_as_r(function(x) filter(x, c(0.1, 0.2, 0.3, 0.4), sides = 1), r)
  expect_as_r(function(x) filter(x, c(0.1, 0.2, 0.3, 0.4)), r)
  expect_as_r(function(x) filter(x, c(0.2, 0.5, 0.3), circular = TRUE), r)
  expect_as_r(function(x) filter(x, c(0.5, 0.2), method = "recursive"), r)
  expect_as_r(function(x) filter(x, 0.5, "recursive", init = 2), r)
  expect_as_r(function(x) filter(x, c(0.5, 0.2), "recursive", init = c(1, 3)), r)
  expect_as_r(function(x) filter(1:8, x[1:3]), r)
  expect_as_r(function(m) filter(m, c(0.5, 0.5), sides = 1), m)
  expect_as_r(function(m) filter(m, 0.5, "recursive"), m)
  slopes <- gradient(user(function(x) sum(filter(x, 0.5, "recursive"))))(nv_tensor(c(1, 2, 3)))[[1L]]
  expect_equal(doubles_of(slopes), c(1.75, 1.5, 1))
  refused(function(x) stats:::filter(x, 1), r, "filter", "anvil_error_concrete")
})

test_that("autocorrelations are those of R", {
  expect_as_r(function(x) acf(x, plot = FALSE)$acf, r)
  expect_as_r(function(x) acf(x, lag.max = 3, type = "covariance", plot = FALSE)$acf, r)
  expect_as_r(function(x) acf(x, plot = FALSE, demean = FALSE)$acf, r)
  expect_as_r(function(m) acf(m, plot = FALSE)$acf, m)
  expect_as_r(function(m) acf(m, plot = FALSE)$lag, m)
  expect_as_r(function(x) pacf(x, plot = FALSE)$acf, r)
  expect_as_r(function(x) acf(x, type = "partial", plot = FALSE)$acf, r)
  expect_as_r(function(x, y) ccf(x, y, lag.max = 3, plot = FALSE)$acf, r, s)
  expect_as_r(function(x, y) ccf(x, y, lag.max = 3, plot = FALSE)$lag, r, s)
  refused(function(x) acf(x)$acf, r, "plot")
})

test_that("what is complete is selected", {
  holes <- replace(r, c(2, 5), NaN)
  expect_as_r(function(x) sum(x[complete.cases(x)]), holes)
  expect_as_r(function(x, y) mean(x[complete.cases(x, y)]), holes, rev(holes))
  expect_as_r(function(x) sd(na.omit(x)), holes)
  expect_as_r(function(m) colMeans(na.omit(m)), replace(m, 6, NaN))
  expect_equal(doubles_of(na.omit(nv_tensor(holes, "f64"))), doubles_of(c(na.omit(holes))))
  expect_equal(dim(na.omit(nv_tensor(replace(m, 6, NaN)))), c(3L, 3L))
})

test_that("a function of such a name that is another package's is left alone", {
  own <- function(x, ...) x + 1
  f <- user_env(function(x) filter(x, c(1, 2)), filter = own)
  expect_equal(doubles_of(jit(f)(nv_tensor(c(1, 2)))), c(2, 3))
})

test_that("what leaves out NaN of each pair of columns gives what R gives", {
  holes <- replace(m, c(2, 7, 12), NaN)
  of <- function(m) {
    use <- "pairwise.complete.obs"
    list(cov(m, use = use), cor(m, use = "pairwise"), var(m, use = use), cor(m[, 1], m[, 2], use = use))
  }
  expect_equal(doubles_of(of(nv_tensor(holes, "f64"))), doubles_of(of(holes)))
  expect_as_r(of, holes)
  expect_equal(
    doubles_of(cor(nv_tensor(holes, "f64"), m, use = "pairwise")), doubles_of(cor(holes, m, use = "pairwise"))
  )
  expect_error(cor(nv_tensor(m), use = "pairwise", method = "spearman"), class = "anvil_error_arg", "pearson")
})

test_that("signif() rounds to digits as R does", {
  x <- c(0.15, 0.25, 0.35, 2.675, 99.995, 1234567, 1.5e15, 1e300, 5e-324, -0.15, 0, Inf, -Inf, NaN, 1 / 3)
  x <- c(x, (1:400) / 200, 10^(-12:12) * 1.2345)
  for (digits in c(1, 2, 3, 6, 10, 22)) {
    f <- user_env(function(x) signif(x, digits), digits = digits)
    expect_identical(c(as_array(signif(nv_tensor(x, "f64"), digits))), signif(x, digits))
    expect_identical(c(as_array(jit(f)(nv_tensor(x, "f64")))), signif(x, digits))
  }
  expect_nv(signif(nv_tensor(123456L), 2), 120000L, "i32", 1L)
  expect_nv(signif(nv_scalar(0.123456789, "f32")), as_f32(0.123457), "f32", integer())
  expect_error(signif(nv_tensor(1i)), class = "anvil_error_dtype")
  expect_error(signif(nv_tensor(1), NA), class = "anvil_error_arg")
  expect_equal(c(as_array(zapsmall(nv_tensor(c(1, 1e-20), "f64")))), c(1, 0))
})

test_that("lengths are assigned, and what is not finite left out of a range", {
  shorter <- function(x) {
    length(x) <- 3
    x
  }
  longer <- function(x) {
    length(x) <- 10
    x
  }
  for (f in list(shorter, longer, function(x) range(x, finite = TRUE))) {
    expect_as_r(f, c(r, NaN, Inf)[-10])
    expect_equal(doubles_of(f(nv_tensor(r, "f64"))), doubles_of(f(r)))
  }
  expect_as_r(function(x) range(x, na.rm = TRUE, finite = FALSE), c(r, NaN, Inf))
  expect_identical(names(shorter(nv_tensor(c(a = 1, b = 2, c = 3, d = 4)))), c("a", "b", "c"))
  expect_error(longer(nv_tensor(1:3)), class = "anvil_error_arg", "missing values")
})

test_that("kronecker() takes a function, and split() the elements of a matrix", {
  expect_as_r(function(m) kronecker(m, m, "+"), m)
  expect_as_r(function(m) kronecker(m, 1:2, function(a, b) a^b), m)
  expect_as_r(function(m) kronecker(1:3, m, "-"), m)
  expect_as_r(function(m) split(m, c(1, 1, 2, 2)), m)
  expect_error(jit(function(m) split(m, mean))(nv_tensor(m)), class = "anvil_error_arg", "a factor")
  expect_error(kronecker(nv_tensor(m), "a", "+"), class = "anvil_error_arg")
})

test_that("sums of differences begin with given values, and runs are R's", {
  expect_as_r(function(x) diffinv(x), r)
  expect_as_r(function(x) diffinv(x, lag = 3, xi = 1:3), r)
  expect_as_r(function(x) diffinv(x, differences = 2, xi = c(1, 4)), r)
  expect_as_r(function(x) diffinv(x, lag = 2, differences = 2, xi = c(1, 4, 2, 3)), r)
  x <- c(1, 1, 2, 2, 2)
  expect_identical(rle(nv_tensor(x, "f64")), rle(x))
  expect_identical(rle(x), base::rle(x))
  expect_equal(kappa(nv_tensor(m, "f64")), kappa(m))
  refused(function(x) rle(x), r, "rle", "anvil_error_concrete")
})
# nolint end
