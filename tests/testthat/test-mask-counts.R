# Tests of counts, blocks, series and normality in traced functions: values as of stats.
# nolint start: object_name_linter, object_usage_linter.

x <- c(1.5, -2, 3.25, 0.5, 4, -1, 2.5, 0.75)
y <- c(2, 1, 4, 3, 6, 5, 8, 7.5)
counts <- c(2L, 7L, 3L, 1L, 4L, 2L)
square <- matrix(c(12, 5, 7, 9), 2)
blocks <- matrix(c(4, 1, 0.5, 1, 3, 0.2, 0.5, 0.2, 2, 5, 4, 4), 4)

plain <- function(x) {
  if (inherits(x, "AnvilValue")) x <- as_array(x)
  sizes <- dim(x)
  x <- as.double(x)
  if (length(sizes) > 1L) array(x, sizes) else x
}

expect_test <- function(f, ...) {
  withr::local_options(anvil.default_float = "f64")
  want <- suppressWarnings(f(...))
  got <- do.call(jit(user(f)), lapply(list(...), as_nv_tensor))
  expect_true(all(c("statistic", "p.value") %in% names(got)), label = deparse1(body(f)))
  for (name in names(got)) {
    label <- paste(deparse1(body(f)), name)
    expect_equal(plain(got[[name]]), plain(want[[name]]), tolerance = 1e-8, label = label)
  }
  for (name in c("statistic", "parameter", "estimate", "null.value")) {
    expect_identical(names(got[[name]]), names(want[[name]]), label = paste(deparse1(body(f)), name))
  }
}

refused <- function(f, x, says, class = "anvil_error_arg") {
  e <- expect_error(jit(user(f))(x), class = class)
  expect_match(conditionMessage(e), says, fixed = TRUE, label = deparse1(body(f)))
}

test_that("chisq.test() is of tables and of counts", {
  expect_test(function(m) chisq.test(m), blocks)
  expect_test(function(m) chisq.test(m), square)
  expect_test(function(m) chisq.test(m, correct = FALSE), square)
  expect_test(function(x) chisq.test(x), counts)
  expect_test(function(x) chisq.test(x[1:3], p = c(0.2, 0.5, 0.3)), counts)
  expect_test(function(x) chisq.test(x[1:3], p = c(2, 5, 3), rescale.p = TRUE), counts)
  p <- jit(user(function(x) chisq.test(table(x > 0, x > 1), correct = FALSE)$p.value))(x)
  known <- suppressWarnings(chisq.test(table(x > 0, x > 1), correct = FALSE))$p.value
  expect_equal(plain(p), known, tolerance = 1e-6)
  refused(function(x) chisq.test(x, x > 1), counts, "chisq.test(table(x, y))")
  refused(function(x) chisq.test(x, p = c(0.5, 0.5)), counts, "`p` must be of length 6")
})

test_that("mcnemar.test() and friedman.test() are of matrices", {
  expect_test(function(m) mcnemar.test(m), square)
  expect_test(function(m) mcnemar.test(m, correct = FALSE), square)
  expect_test(function(m) mcnemar.test(m[1:3, ]), blocks)
  refused(function(m) mcnemar.test(m), blocks, "a square matrix")
  expect_test(function(m) friedman.test(m), blocks)
  refused(function(x) friedman.test(x), x, "a matrix")
})

test_that("prop.test() and binom.test() are of successes", {
  expect_test(function(k) prop.test(k, 10:15), counts)
  expect_test(function(k) prop.test(k[1:2], c(10, 12)), counts)
  expect_test(function(k) prop.test(k[1:2], c(10, 12), p = c(0.3, 0.5)), counts)
  expect_test(function(m) prop.test(m), square)
  for (side in c("two.sided", "less", "greater")) {
    expect_test(eval(bquote(function(k) prop.test(k[2:3], c(10, 12), alternative = .(side)))), counts)
    expect_test(eval(bquote(function(k) prop.test(k, 20, 0.3, .(side), 0.9))), 7)
    expect_test(eval(bquote(function(k) binom.test(k, 20, 0.3, .(side), 0.9))), 7)
    expect_test(eval(bquote(function(k) binom.test(k, 10, 0.7, .(side)))), 0)
    expect_test(eval(bquote(function(k) binom.test(k, 10, 0.7, .(side)))), 10)
  }
  expect_test(function(k) prop.test(k, 20, correct = FALSE), 7)
  tossed <- jit(user(function(x) prop.test(table(x > 0))$p.value))(x)
  expect_equal(plain(tossed), suppressWarnings(prop.test(table(x > 0)))$p.value, tolerance = 1e-5)
  expect_test(function(k) binom.test(k, 10), 5)
  refused(function(k) prop.test(k, 10), counts, "as long as `x`, 6")
  refused(function(k) binom.test(1, k), nv_scalar(7L), "binom.test()", "anvil_error_concrete")
})

test_that("Box.test() is of a series", {
  expect_test(function(x) Box.test(x), x)
  expect_test(function(x) Box.test(x, lag = 3, type = "Ljung-Box", fitdf = 1), x)
  refused(function(x) Box.test(x, lag = 8), x, "from 1 to 7")
})

test_that("shapiro.test() is Royston's algorithm", {
  for (n in c(3:8, 11:12, 40)) {
    z <- sin(seq_len(n)) + seq_len(n)^2 / 50
    expect_test(function(x) shapiro.test(x), z)
  }
  expect_test(function(x) shapiro.test(x), exp(seq_len(50) / 4))
  refused(function(x) shapiro.test(x[1:2]), x, "3 to 5000")
})

# nolint end
