# Tests of hypotheses in traced functions: values as of stats.
# nolint start: object_name_linter, object_usage_linter.

x <- c(1.5, -2, 3.25, 0.5, 4, -1, 2.5, 0.75)
y <- c(2, 1, 4, 3, 6, 5, 8, 7.5)
w <- c(1, 2, 1, 2, 1, 2, 1, 2)
b <- c(TRUE, FALSE, TRUE, TRUE, FALSE, FALSE, TRUE, FALSE)
frame <- data.frame(
  x = x, y = y, k = c(2L, 0L, 3L, 1L, 4L, 2L, 5L, 1L),
  f = factor(c("lo", "hi", "lo", "mid", "hi", "mid", "lo", "hi"), levels = c("lo", "mid", "hi"))
)

plain <- function(x) {
  if (is.list(x) && !inherits(x, "AnvilValue")) return(lapply(x, plain))
  if (inherits(x, "AnvilValue")) x <- as_array(x)
  sizes <- dim(x)
  names <- if (length(sizes) < 2L) names(x)
  x <- as.double(x)
  x[is.na(x)] <- NaN
  if (length(sizes) > 1L) array(x, sizes) else setNames(x, names)
}

# The parts of a test that are numbers, as R has them and a program gives them.
expect_test <- function(f, ...) {
  withr::local_options(anvil.default_float = "f64")
  given <- list(...)
  want <- suppressWarnings(do.call(f, given))
  got <- do.call(jit(user(f)), lapply(given, function(x) if (is.data.frame(x)) x else as_nv_tensor(x)))
  names <- intersect(
    c("statistic", "parameter", "p.value", "conf.int", "estimate", "null.value", "expected", "residuals"),
    names(got)
  )
  expect_true(all(c("statistic", "p.value") %in% names), label = deparse1(body(f)))
  for (name in names) {
    label <- paste(deparse1(body(f)), name)
    expect_equal(plain(got[[name]]), plain(want[[name]]), tolerance = 1e-8, label = label)
  }
}

refused <- function(f, ..., says, class = "anvil_error_arg") {
  e <- expect_error(jit(user(f))(...), class = class)
  expect_match(conditionMessage(e), says, fixed = TRUE, label = deparse1(body(f)))
}

test_that("cor.test() is of three correlations", {
  expect_test(function(x, y) cor.test(x, y), x, y)
  expect_test(function(x, y) cor.test(x, y, alternative = "less", conf.level = 0.9), x, y)
  expect_test(function(x, y) cor.test(x, y, "greater"), x, y)
  expect_test(function(x, y) cor.test(y = x, x = y, alternative = "g"), x, y)
  expect_test(function(x) cor.test(x, 1:8), x)
  expect_test(function(d) cor.test(~ x + y, d), frame)
  expect_test(function(d) cor.test(~ x + y, data = d, method = "kendall", exact = FALSE), frame)
  expect_test(function(x, w) cor.test(x, w, method = "kendall", exact = FALSE), x, w)
  halves <- c(x[1:4], x[1:4])
  expect_test(function(x, w) cor.test(x, w, method = "kendall", exact = FALSE, continuity = TRUE), halves, w)
  expect_test(function(x) cor.test(x, rev(x)^2, method = "kendall"), sin(1:60))
  expect_test(function(x, y) cor.test(x, y, method = "spearman", exact = FALSE), x, y)
  expect_test(function(x, y) cor.test(x, y, "less", "spearman", exact = FALSE, continuity = TRUE), x, w)
  refused(function(x) cor.test(x, 1:8, method = "spearman"), x, says = "`exact` must be FALSE")
  refused(function(x) cor.test(x, 1:3), x, says = "as long as `x`")
  expect_test(function(x, y) cor.test(x[x > 0], y[x > 0]), x, y)
  expect_test(function(d) cor.test(~ x + y, d, subset = f != "mid"), frame)
  expect_test(function(d) cor.test(~ x + y, d, subset = 2:7), frame)
  by_ranks <- function(x) cor.test(x[x > 0], x[x > 0], method = "kendall")
  refused(by_ranks, x, says = "cor.test()", class = "anvil_error_concrete")
})

test_that("wilcox.test() is exact where no elements are equal, and normal elsewhere", {
  for (side in c("two.sided", "less", "greater")) {
    expect_test(eval(bquote(function(x, y) wilcox.test(x, y + 0.3, .(side)))), x, y)
    expect_test(eval(bquote(function(x, y) wilcox.test(x, y, .(side), exact = FALSE))), x, y)
    expect_test(eval(bquote(function(x) wilcox.test(x - 0.6, alternative = .(side)))), x)
    at <- bquote(function(x) wilcox.test(x, mu = 0.5, alternative = .(side), exact = FALSE))
    expect_test(eval(at), x)
    # From 4.6 on, R has an exact distribution of elements that are equal, too.
    if (getRversion() >= "4.6.0") next
    expect_test(eval(bquote(function(x, y) wilcox.test(x, y, .(side)))), x, y)
    expect_test(eval(bquote(function(x) wilcox.test(x, mu = 0.5, alternative = .(side)))), x)
  }
  expect_test(function(x, y) wilcox.test(x, y, exact = FALSE, correct = FALSE), x, y)
  expect_test(function(x, y) wilcox.test(x, y, paired = TRUE), x, y)
  expect_test(function(x) wilcox.test(c(x, x^2, x^3, x + 0.1, x * 3, x / 7, x - 0.2), mu = 0.5), x)
  expect_test(function(x, b) wilcox.test(x ~ b, exact = FALSE), x, b)
  expect_test(function(x) wilcox.test(x[x > 1], x[x < 1], exact = FALSE), x)
  expect_test(function(x) wilcox.test(x[x > 0] - 1, exact = FALSE), x)
  expect_test(function(d) wilcox.test(x ~ factor(f, levels = c("lo", "hi")), d, exact = FALSE), frame)
  expect_test(function(d) wilcox.test(x ~ (f == "lo"), d, subset = y > 1, exact = FALSE), frame)
  refused(function(x) wilcox.test(x[x > 0]), x, says = "FALSE for a selection")
  refused(function(x) wilcox.test(x, conf.int = TRUE), x, says = "`conf.int`")
  refused(function(d) wilcox.test(x ~ f, d), frame, says = "levels = c(\"a\", \"b\")")
})

test_that("var.test() compares two variances", {
  expect_test(function(x, y) var.test(x, y), x, y)
  expect_test(function(x, y) var.test(x, y, ratio = 2, alternative = "less"), x, y)
  expect_test(function(x, y) var.test(x, y, alternative = "greater", conf.level = 0.9), x, y)
  expect_test(function(x, b) var.test(x ~ b), x, b)
  expect_test(function(x, b) var.test(x[b], x[!b]), x, b)
})

test_that("tests of several samples take lists, groups and formulas", {
  expect_test(function(d) kruskal.test(x ~ f, d), frame)
  expect_test(function(d) kruskal.test(x ~ f, data = d, subset = f != "mid"), frame)
  expect_test(function(d) kruskal.test(k ~ f, d), frame)
  expect_test(function(x, y) kruskal.test(list(x, y, x + 0.1)), x, y)
  expect_test(function(x) kruskal.test(x, c(1, 1, 2, 2, 3, 3, 3, 3)), x)
  expect_test(function(x, b) kruskal.test(g = b, x = x), x, b)
  expect_test(function(d) kruskal.test(split(d$x, d$f)), frame)
  expect_test(function(d) kruskal.test(d$x, factor(d$f, levels = c("none", "mid", "lo", "hi"))), frame)
  expect_test(function(d) bartlett.test(x ~ f, d), frame)
  expect_test(function(x, y) bartlett.test(list(x, y)), x, y)
  expect_test(function(d) oneway.test(x ~ f, d), frame)
  expect_test(function(d) oneway.test(formula = x ~ f, data = d, var.equal = TRUE), frame)
  expect_test(function(d) oneway.test(x ~ f, d, subset = y > 1), frame)
  unknown <- function(x) kruskal.test(x ~ I(x + 1))
  refused(unknown, x, says = "factor(g, levels", class = "anvil_error_concrete")
})

test_that("t.test() by a formula evaluates `subset` in the data", {
  expect_test(function(d) t.test(x ~ (f == "lo"), data = d, subset = y > 1), frame)
  expect_test(function(d) t.test(x ~ (f == "lo"), d, var.equal = TRUE, alternative = "less"), frame)
  expect_test(function(d) t.test(x ~ factor(f, levels = c("lo", "hi")), d), frame)
  expect_test(function(x, y) t.test(y = x, x = y), x, y)
  expect_test(function(x) t.test(x ~ 1), x)
  expect_test(function(d) wilcox.test(x ~ 1, d, subset = y > 1, exact = FALSE), frame)
  refused(function(x) t.test(cbind(x, x) ~ 1), x, says = "one of a matrix")
  refused(function(d) t.test(x ~ f, d, subset = f != "mid"), frame, says = "levels = c(\"a\", \"b\")")
})

test_that("a test without traced values is R's own", {
  d <- frame
  f <- user_env(function(x) {
    x + kruskal.test(x ~ f, d)$p.value + cor.test(~ x + y, d)$p.value + wilcox.test(1:5)$p.value
  }, d = d)
  p <- kruskal.test(x ~ f, d)$p.value + cor.test(~ x + y, d)$p.value + wilcox.test(1:5)$p.value
  expect_equal(plain(jit(f)(nv_scalar(0, "f64"))), p)
})

# nolint end

test_that("tests and smoothers that read elements say what to write", {
  x <- nv_tensor(c(0.3, -1.2, 0.8, 2.1, -0.4, 1.5), dtype = "f64")
  says <- function(f, what) {
    e <- expect_error(jit(user(f))(x), class = "anvil_error_concrete")
    expect_match(conditionMessage(e), what, fixed = TRUE, label = deparse1(body(f)))
  }
  says(function(x) ks.test(x, "pnorm")$statistic, "`p <- pnorm(sort(x))`")
  says(function(x) lowess(x)$y, "`lm.wfit(")
  says(function(x) ar.yw(x, order.max = 2, aic = FALSE)$ar, "`solve(toeplitz(r[1:p]), r[2:(p + 1)])`")
  says(function(x) boxplot.stats(x)$stats, "`fivenum(x)`")
  # What they say is so.
  v <- as.vector(x)
  statistic <- user(function(x) {
    n <- length(x)
    p <- pnorm(sort(x))
    max(p - (seq_len(n) - 1) / n, seq_len(n) / n - p)
  })
  expect_equal(as.double(jit(statistic)(x)), unname(stats::ks.test(v, "pnorm")$statistic))
  yule_walker <- user(function(x) {
    p <- 2
    r <- drop(acf(x, plot = FALSE)$acf)
    solve(toeplitz(r[1:p]), r[2:(p + 1)])
  })
  expect_equal(as.vector(jit(yule_walker)(x)), stats::ar.yw(v, order.max = 2, aic = FALSE)$ar)
})
