# Groups in traced functions: values as of base R on plain vectors.
# nolint start: object_name_linter, object_usage_linter.

x <- c(1.5, -2, 3, 0.5, 7, 2.25)
y <- c(2, 1, 4, 3, 6, 5)
g <- c(1L, 2L, 1L, 3L, 2L, 1L)
known <- factor(c("a", "b", "a", "c", "b", "a"))
other <- factor(c("u", "v", "u", "v", "u", "u"))
frame <- data.frame(y = x, g = known, h = other)

# A function of the user's that sees what the tests define.
of_user <- function(f) user_env(f, known = known)

plain <- function(x) {
  if (is.list(x) && !inherits(x, "AnvilValue")) return(lapply(unclass(x), plain))
  if (inherits(x, "AnvilValue")) x <- as_array(x)
  if (is.factor(x)) x <- as.integer(x)
  sizes <- dim(x)
  x <- as.double(x)
  x[is.na(x)] <- NaN
  if (length(sizes) > 1L) array(x, sizes) else x
}

as_tensor <- function(x) {
  if (is.data.frame(x)) return(x)
  if (is.double(x)) nv_tensor(x, "f64") else nv_tensor(x)
}

# Tensors, and a program of them, give what R gives for plain vectors.
expect_as_r <- function(f, ..., tolerance = 1e-10) {
  given <- list(...)
  expected <- plain(suppressWarnings(do.call(f, given)))
  tensors <- lapply(given, as_tensor)
  eager <- suppressWarnings(do.call(of_user(f), tensors))
  expect_equal(plain(eager), expected, tolerance = tolerance, ignore_attr = TRUE, label = deparse1(body(f)))
  got <- do.call(jit(of_user(f)), tensors)
  expect_equal(plain(got), expected, tolerance = tolerance, ignore_attr = TRUE, label = deparse1(body(f)))
  invisible(got)
}

expect_names <- function(f, ..., r) {
  got <- do.call(jit(of_user(f)), lapply(list(...), as_tensor))
  expected <- if (length(dim(r)) > 1L) unname(dimnames(r)) else names(r)
  expect_identical(if (length(dim(r)) > 1L) dimnames(got) else names(got), expected)
}

refused <- function(f, ..., class = "anvil_error_concrete", says) {
  e <- expect_error(do.call(jit(of_user(f)), lapply(list(...), as_tensor)), class = class)
  expect_match(conditionMessage(e), says, fixed = TRUE, label = deparse1(body(f)))
}

test_that("a factor of R's has elements at computed places", {
  expect_as_r(function(x) { g <- gl(3, 1, length(x)); tapply(x[x > 0], g[x > 0], sum) }, x)
  expect_as_r(function(x) { g <- gl(3, 1, length(x)); table(g[order(x)], x > 0) }, x)
  expect_as_r(function(x) { g <- gl(3, 1, length(x)); table(g[x > 0]) }, x)
  expect_as_r(function(x) { g <- gl(3, 1, length(x)); sum(g[order(x)][1:3] == "2") }, x)
  expect_as_r(function(x) { g <- gl(3, 1, length(x)); order(g, -x) }, x)
  expect_as_r(function(x) order(as.Date("2024-01-01") + seq_along(x) %% 2, x), x)
  expect_as_r(function(x) order(c("b", "a")[seq_along(x) %% 2 + 1], x, decreasing = TRUE), x)
})

test_that("table() counts what is selected", {
  expect_as_r(function(d) table(d$g[d$y > 1]), frame)
  expect_as_r(function(d) table(d$g[d$y > 1], d$h[d$y > 1]), frame)
  expect_as_r(function(d) with(subset(d, y > 1), table(g, y > 2)), frame)
  # The error is not about functions that anvil calls.
  refused(function(x) table(x[x > 0]), x, says = "`table()` does not take a selection")
})

test_that("groups of a matrix are of its elements", {
  expect_as_r(function(m) tapply(m, row(m), sum), matrix(c(2, 5, -1, 4, 8, 3), 2))
  expect_as_r(function(m) tapply(m, list(row(m), col(m) > 1), mean), matrix(c(2, 5, -1, 4, 8, 3), 2))
})

test_that("a table becomes a data frame of counts", {
  expect_as_r(function(d) as.data.frame(table(d$g))$Freq, frame)
  expect_as_r(function(d) as.data.frame(table(d$g, d$h))$Freq, frame)
  expect_as_r(function(d) as.integer(as.data.frame(table(d$g, d$h))$Var2), frame)
  expect_as_r(function(d) as.data.frame(prop.table(table(d$g)))$Freq, frame, tolerance = 1e-6)
  expect_as_r(function(d) as.data.frame(table(group = d$g), responseName = "n")$n, frame)
  expect_as_r(function(d) as.data.frame(xtabs(y ~ g, d))$Freq, frame, tolerance = 1e-6)
  expect_as_r(function(d) as.data.frame(d)$y, frame, tolerance = 1e-6)
})

test_that("sort() and contrasts() of a factor know its levels", {
  expect_as_r(function(d) sort(d$g) == "b", frame)
  expect_as_r(function(d) as.integer(sort(d$g, decreasing = TRUE)), frame)
  expect_as_r(function(d) contrasts(d$g), frame)
})

test_that("factor() of traced elements with known levels are codes", {
  expect_as_r(function(g) as.integer(factor(g, levels = 1:3)), g)
  expect_as_r(function(g) as.integer(factor(g, levels = c(3, 1, 2))), g)
  expect_as_r(function(y) as.integer(factor(y, levels = c(6, 4, 2, 1, 3, 5))), y)
  expect_as_r(function(g) as.integer(factor(g, levels = c("2", "3", "1"))), g)
  expect_as_r(function(x) as.integer(factor(x > 1, levels = c(TRUE, FALSE))), x)
  expect_as_r(function(g) table(factor(g, levels = 1:3, labels = c("low", "mid", "low"))), g)
  expect_as_r(function(d) as.integer(factor(d$g, levels = c("c", "a", "b"))), frame)
  expect_as_r(function(d) as.integer(relevel(d$g, "b")), frame)
  expect_as_r(function(d) as.integer(as.factor(d$g)), frame)
  expect_as_r(function(g) factor(g, levels = 1:3, labels = c("a", "b", "c")) == "b", g)
  expect_as_r(function(g) nlevels(factor(g, levels = 0:5)), g)
  # Levels that follow one another are not looked up.
  for (h in list(c(-1, 2.5, 1, NaN, 0, Inf, -2, 3e9), c(-1L, 1L, 0L, .Machine$integer.max, -5L))) {
    expect_as_r(function(h) tabulate(factor(h, levels = -1:1), 3L), h)
    expect_as_r(function(h) is.na(factor(h, levels = -1:1)), h)
    expect_as_r(function(h) is.na(factor(h, levels = c(0, 1))), h)
  }
  seen <- new.env()
  f <- user_env(function(g) { seen$levels <- levels(factor(g, levels = 1:3, labels = "k")); g }, seen = seen)
  jit(f)(nv_tensor(g))
  expect_identical(seen$levels, levels(factor(g, levels = 1:3, labels = "k")))
})

test_that("what is none of the levels is in no group, and no number", {
  expect_as_r(function(g) table(factor(g, levels = 1:2)), g)
  expect_as_r(function(g) is.na(factor(g, levels = 2:3)), g)
  expect_as_r(function(g) anyNA(factor(g, levels = 2:3)), g)
  expect_as_r(function(x, g) tapply(x, factor(g, levels = 2:4), sum), x, g)
  f <- jit(user(function(g) as.integer(factor(g, levels = 1:2))))
  expect_error(f(nv_tensor(g)), class = "anvil_error_index")
})

test_that("folds of each of many groups are R's, whichever group has no elements", {
  n <- 700L
  x <- sin(seq_len(n)) + seq_len(n) / n
  g <- (seq_len(n) * 7919L) %% 13L + 1L
  g[g == 5L] <- 6L
  by <- list(
    function(x, g) tapply(x, factor(g, levels = 1:13), function(z) sum((z - mean(z))^2)),
    function(x, g) tapply(x, factor(g, levels = 1:13), var),
    function(x, g) tapply(x, factor(g, levels = 1:13), function(z) max(z) - min(z))[-5],
    function(x, g) sapply(1:13, function(k) sum(x[g == k])),
    function(x, g) sapply(1:13, function(k) sum(x[g == k & x > 0.5] * k)),
    function(x, g) sapply(1:13, function(k) length(x[g == k])),
    function(x, g) { total <- 0; for (k in 1:13) total <- total + sum(x[g == k])^2; total },
    function(x, g) sapply(split(x, factor(g, levels = 1:13)), function(z) mean(abs(z - mean(z)))),
    function(x, g) { for (k in c(1:4, 6:13)) x[g == k] <- x[g == k] - mean(x[g == k]); x }
  )
  for (f in by) expect_as_r(f, x, g)
  for (f in by[-c(5, 9)]) expect_as_r(f, replace(x, 3, NaN), g)
  # Codes that are floats, of which some are no whole numbers.
  floats <- replace(as.double(g), c(2, 9), c(2.5, NaN))
  expect_as_r(function(x, g) sapply(1:13, function(k) sum(x[which(g == k)])), x, floats)
  slopes <- gradient(user(function(x, g) sum(sapply(1:13, function(k) sum(x[g == k])^2))), "x")
  want <- as.double(2 * rowsum(x, g)[as.character(g), ])
  expect_equal(as.double(slopes(nv_tensor(x, "f64"), nv_tensor(g))$x), want)
})

test_that("tapply() of traced groups is R's, with NaN for a group without elements", {
  for (f in list(sum, mean, max, min, length, var, median, function(v) sum(v^2) / length(v))) {
    expect_as_r(eval(bquote(function(x, g) tapply(x, factor(g, levels = 1:3), .(f)))), x, g)
  }
  expect_as_r(function(x, g) tapply(x, factor(g, levels = 1:4), mean), x, g)
  expect_as_r(function(x, g) tapply(x, factor(g, levels = 1:4), sum, default = 0), x, g)
  expect_as_r(function(x, g) tapply(x, factor(g, levels = 1:4), length), x, g)
  expect_as_r(function(x, g) tapply(x, factor(g, levels = 1:3), range), x, g)
  expect_as_r(function(x, g) tapply(x, factor(g, levels = 1:3), sum, na.rm = TRUE), replace(x, 3, NaN), g)
  expect_as_r(function(x, g) tapply(x, list(factor(g, levels = 1:3), known), mean), x, g)
  expect_as_r(function(g) tapply(1:6, factor(g, levels = 1:3), sum), g)
  expect_as_r(function(d) with(d, tapply(y, g, mean)), frame)
  expect_as_r(function(d) tapply(d$y, list(d$g, d$h), sum), frame)
  expect_as_r(function(d) tapply(d$y, d[c("g", "h")], sum), frame)
  expect_as_r(function(d) { mu <- tapply(d$y, d$g, mean); d$y - mu[d$g] }, frame)
  expect_names(function(d) tapply(d$y, d$g, sum), frame, r = tapply(frame$y, frame$g, sum))
  two <- tapply(frame$y, frame[c("g", "h")], sum)
  expect_names(function(d) tapply(d$y, list(d$g, d$h), sum), frame, r = two)
  refused(function(x, g) tapply(x, g, sum), x, g, says = "factor(g, levels = 1:k)")
})

test_that("gradients go through groups", {
  value <- function(x) sum(tapply(x, factor(g, levels = 1:3), function(v) var(v) * 2), na.rm = TRUE)
  numeric <- vapply(seq_along(x), function(i) {
    h <- 1e-6 * (seq_along(x) == i)
    (value(x + h) - value(x - h)) / 2e-6
  }, 0)
  f <- user(function(x, g) sum(tapply(x, factor(g, levels = 1:2), function(v) var(v) * 2)))
  got <- gradient(f, wrt = "x")(nv_tensor(x, "f64"), nv_tensor(g))
  expect_equal(as.vector(got$x), numeric, tolerance = 1e-6)
})

test_that("table() counts known levels", {
  expect_as_r(function(g) table(factor(g, levels = 1:3)), g)
  expect_as_r(function(g) table(factor(g, levels = 1:3), factor(rev(g), levels = 1:3)), g)
  expect_as_r(function(d) with(d, table(g, h)), frame)
  expect_as_r(function(d) table(d[c("g", "h")]), frame)
  expect_as_r(function(d) prop.table(table(d$g)), frame)
  expect_as_r(function(x) table(factor(x > 1, levels = c(FALSE, TRUE))), x)
  expect_as_r(function(d) summary(d$g), frame)
  expect_names(function(d) table(d$g), frame, r = table(frame$g))
  expect_names(function(d) table(d$g, d$h), frame, r = table(frame$g, frame$h))
  # Of R's own values it is R's, with their names.
  expect_as_r(function(x) x * max(table(known)), x)
  refused(function(g) table(g), g, says = "factor(g, levels = 1:k)")
  refused(function(d) table(d$g, useNA = "always"), frame, class = "anvil_error_arg", says = "useNA")
})

test_that("split() gives selections, which unsplit() puts back", {
  expect_as_r(function(x, g) sapply(split(x, factor(g, levels = 1:3)), mean), x, g)
  expect_as_r(function(x, g) sapply(split(x, factor(g, levels = 1:3)), length), x, g)
  expect_as_r(function(d) vapply(split(d$y, d$g), median, 0), frame)
  expect_as_r(function(d) sapply(split(d$y, list(d$g, d$h)), sum), frame)
  expect_as_r(function(d) sapply(split(d, d$g), function(s) mean(s$y)), frame)
  expect_as_r(function(d) sapply(split(d, d$g), nrow), frame)
  expect_as_r(function(d) sapply(split(d, d$g), function(s) with(s, sum(y[h == "u"]))), frame)
  expect_as_r(function(d) unsplit(split(d$y, d$g), d$g), frame)
  expect_as_r(function(d) unsplit(lapply(split(d$y, d$g), function(v) v - mean(v)), d$g), frame)
  expect_as_r(function(d) unsplit(lapply(split(d$y, d$g), cumsum), d$g), frame)
  expect_as_r(function(d) {
    y <- d$y
    split(y, d$g) <- lapply(split(y, d$g), function(v) v / sum(v))
    y
  }, frame)
  expect_names(function(d) sapply(split(d$y, d$g), sum), frame, r = sapply(split(frame$y, frame$g), sum))
  refused(function(x, g) split(x, g), x, g, says = "factor(g, levels = 1:k)")
  refused(function(d) split(d$y, d$g, drop = TRUE), frame, class = "anvil_error_arg", says = "drop")
  expect_as_r(function(d) split(d, d$g)[[1]][1, "y"], frame)
  wide <- data.frame(u = y, v = x, g = known)
  expect_as_r(function(d) sapply(split(d, d$g), function(s) colMeans(s[c("u", "v")])), wide)
  expect_as_r(function(d) sapply(split(d, d$g), function(s) mean(s[, "v"])), wide)
  expect_as_r(function(d) sapply(split(d[c("u", "v")], d$g), function(s) sum(as.matrix(s))), wide)
  expect_as_r(function(d) {
    lapply(split(d, d$g)["a"], function(s) lm.fit(cbind(1, s$u), s$v)$coefficients)
  }, wide, tolerance = 1e-6)
  expect_as_r(function(d) sum(subset(d, u > 2)$v), wide)
  expect_as_r(function(d) ncol(subset(d, u > 2, select = c(u, v))), wide)
  expect_as_r(function(x) sum(subset(x, x > 1)), x)
  expect_as_r(function(d) subset(d, c(TRUE, FALSE, TRUE, TRUE, FALSE, FALSE))$u, wide)
  fit <- function(d) {
    s <- subset(d, u > 1.5)
    f <- lm.fit(cbind(1, s$u), s$v)
    c(f$coefficients, sum(f$residuals^2) / f$df.residual, max(f$fitted.values))
  }
  expect_as_r(fit, wide, tolerance = 1e-6)
})

test_that("ave(), by() and interaction() take traced groups", {
  expect_as_r(function(x, g) ave(x, factor(g, levels = 1:3)), x, g)
  expect_as_r(function(x, g) ave(x, factor(g, levels = 1:2)), x, g)
  expect_as_r(function(x, g) x - ave(x, factor(g, levels = 1:3), FUN = median), x, g)
  expect_as_r(function(x, g) ave(x, factor(g, levels = 1:3), FUN = cumsum), x, g)
  expect_as_r(function(d) ave(d$y, d$g, d$h, FUN = max), frame)
  expect_as_r(function(g) ave(c(1, 2, 3, 4, 5, 6), factor(g, levels = 1:3)), g)
  expect_as_r(function(x) by(x, known, sum), x)
  expect_as_r(function(x) by(data.frame(x = x), known, function(d) sum(d$x)), x)
  expect_as_r(function(d) by(d, d$g, function(s) mean(s$y)), frame)
  expect_as_r(function(d) as.integer(interaction(d$g, d$h)), frame)
  expect_as_r(function(d) as.integer(interaction(d$g, d$h, lex.order = TRUE)), frame)
  expect_as_r(function(x, g) tapply(x, interaction(factor(g, levels = 1:3), known), sum), x, g)
  seen <- new.env()
  jit(user_env(function(d) {
    seen$plain <- levels(interaction(d$g, d$h))
    seen$ordered <- levels(interaction(d$g, d$h, sep = ":", lex.order = TRUE))
    seen$split <- names(split(d$y, list(d$g, d$h)))
    d$y
  }, seen = seen))(frame)
  expect_identical(seen$plain, levels(interaction(known, other)))
  expect_identical(seen$ordered, levels(interaction(known, other, sep = ":", lex.order = TRUE)))
  expect_identical(seen$split, names(split(x, list(known, other))))
})

test_that("cut() finds intervals", {
  breaks <- c(-3, 0, 1.5, 3, 8)
  for (right in c(TRUE, FALSE)) for (lowest in c(TRUE, FALSE)) {
    f <- function(x) NULL
    body(f) <- bquote(as.integer(cut(x, .(breaks), right = .(right), include.lowest = .(lowest))))
    expect_as_r(f, x)
    body(f) <- bquote(table(cut(x, c(0.5, 1.5, 3, 7), right = .(right), include.lowest = .(lowest))))
    expect_as_r(f, x)
  }
  expect_as_r(function(x) cut(x, c(-3, 0, 2, 8), labels = FALSE), x)
  expect_as_r(function(x, y) tapply(y, cut(x, c(-3, 0, 2, 8)), mean), x, y)
  expect_as_r(function(x, y) tapply(y, cut(x, c(8, 0, 2, -3)), mean), x, y)
  expect_as_r(function(x) cut(x, quantile(x, c(0, 0.3, 1)), labels = FALSE, include.lowest = TRUE), x)
  expect_names(function(x) table(cut(x, c(0, 2, 9))), x, r = table(cut(x, c(0, 2, 9))))
  expect_names(
    function(x) table(cut(x, c(0, 2, 9), c("lo", "hi"))), x, r = table(cut(x, c(0, 2, 9), c("lo", "hi")))
  )
  # Into a number of intervals between the ends, of elements that may all be equal.
  expect_as_r(function(x) cut(x, 3, labels = FALSE), x)
  expect_as_r(function(x) as.integer(cut(x, 4, labels = letters[1:4], right = FALSE)), x)
  expect_as_r(function(x) cut(0 * x + 3, 5, labels = FALSE), x)
  expect_as_r(function(x) tapply(x, cut(x, 2, labels = c("lo", "hi")), mean), x)
  refused(function(x) cut(x, 3), x, class = "anvil_error_arg", says = "labels")
  refused(function(x) cut(x, 1), x, class = "anvil_error_arg", says = "how many")
  refused(function(x) cut(x, quantile(x)), x, class = "anvil_error_arg", says = "labels")
  error <- expect_error(jit(function(x) cut(x, c(0, 1), labels = FALSE))(nv_tensor(x)))
  expect_s3_class(error, "anvil_error_index")
})

test_that("match() looks traced elements up in known ones", {
  expect_as_r(function(y) match(y, c(6, 4, 2, 1, 3, 5)), y)
  expect_as_r(function(y) match(y, c(4, 2, 4, 5), nomatch = 0L), y)
  expect_as_r(function(d) match(d$g, c("b", "c", "a")), frame)
  expect_as_r(function(x) match(x > 1, c(TRUE, FALSE)), x)
  expect_as_r(function(x) match(x > 1, c(1, 0)), x)
  expect_error(jit(user(function(y) match(y, c(1, 2))))(nv_tensor(y)), class = "anvil_error_index")
  expect_as_r(function(y) match(max(y), y), y)
  expect_as_r(function(y) match(c(6, 3, 1), c(y, y)), y)
  expect_as_r(function(x, y) match(x, y, nomatch = 0L), x, y)
  expect_as_r(function(y) match(y, rev(y)), y)
  expect_as_r(function(x) is.element(7, x), x)
  expect_as_r(function(d) outer(d$g, c("c", "x", "a"), "=="), frame)
  # What has no match is told how to ask.
  says <- "`match(.., nomatch = 0L)`"
  refused(function(y) match(y, c(6, 4, 2)), y, class = "anvil_error_index", says = says)
  refused(function(y) c(3, 1, 2)[match(y, c(6, 4, 2))], y, class = "anvil_error_index", says = says)
  refused(function(d) match(d$g, c("b", "c")), frame, class = "anvil_error_index", says = says)
  refused(function(y) match(y, rev(y)[1:2]), y, class = "anvil_error_index", says = "`x %in% table`")
})

test_that("what depends on which groups have elements is refused", {
  refused(function(d) droplevels(d$g), frame, says = "all are kept")
  refused(function(d) droplevels(d$g[d$y > 0]), frame, says = "does not take a selection")
  refused(function(d) droplevels(d[d$y > 0, ]), frame, says = "does not take a selection")
  # R has the labels, or NA, where the codes are of no use.
  for (f in alist(as.vector(d$g), as.logical(d$g), as.character(d$g))) {
    refused(eval(bquote(function(d) .(f))), frame, says = "`as.numeric(levels(f))[f]`")
  }
  for (f in alist(+d$g, matrix(d$g, 2), array(d$g, 6), as.matrix(d$g), t(d$g))) {
    refused(eval(bquote(function(d) .(f))), frame, says = "must be numbers", class = "anvil_error_arg")
  }
  refused(function(d) factor(d$g), frame, says = "levels(f)")
  refused(function(d) aggregate(d$y, list(d$y), mean), frame, says = "factor(g, levels = 1:k)")
  refused(function(d) as.character(d$g), frame, says = "as.integer(f)")
})

test_that("repeated elements are found", {
  z <- c(3, 1, NaN, 3, 2, NaN, 1, 3)
  expect_as_r(function(z) duplicated(z), z)
  expect_as_r(function(z) duplicated(z, fromLast = TRUE), z)
  expect_as_r(function(z) anyDuplicated(z), z)
  expect_as_r(function(z) anyDuplicated(z, fromLast = TRUE), z)
  expect_as_r(function(z) anyDuplicated(z[1:3]), z)
  expect_as_r(function(z) duplicated(z[0]), z)
  expect_as_r(function(z) length(unique(z)), z)
  expect_as_r(function(g) sum(unique(g)), g)
  expect_as_r(function(g) unique(g)[2], g)
  expect_as_r(function(g) sum(!duplicated(g)), g)
})

test_that("positions in arrays are rows and columns", {
  A <- matrix(c(2, 9, 4, 1, 7, 3), 2)
  expect_as_r(function(A) arrayInd(which.max(A), dim(A)), A)
  expect_as_r(function(A) arrayInd(order(A), dim(A)), A)
  expect_as_r(function(A) which(A == max(A), arr.ind = TRUE)[1, ], A)
  expect_as_r(function(A) which(A == max(A), arr.ind = TRUE)[1, "col"], A)
  expect_identical(names(jit(user(function(A) which(A == max(A), arr.ind = TRUE)[1, ]))(A)), c("row", "col"))
  expect_as_r(function(A) colSums(which(A > 2, arr.ind = TRUE)), A)
  expect_as_r(function(A) nrow(which(A > 2, arr.ind = TRUE)), A)
})

test_that("rapply() and summary() take traced values", {
  expect_as_r(function(x) rapply(list(a = x, b = list(x[1])), function(v) v * 2, how = "unlist"), x)
  expect_as_r(function(x) rapply(list(a = x, b = list(x)), sum, how = "list"), x)
  expect_as_r(function(x) as.vector(summary(x)), x)
  expect_as_r(function(x) simplify2array(lapply(1:2, function(i) x * i)), x)
  A <- matrix(c(2, 9, 4, 1, 7, 3), 2)
  expect_as_r(function(A) sapply(as.data.frame(A), mean), A)
  expect_as_r(function(A) as.data.frame(A)$V2, A)
  expect_identical(names(jit(user(function(x) summary(x)))(nv_tensor(x))), names(summary(x)))
})

test_that("segments know the levels of a traced factor", {
  expect_equal(
    plain(jit(user(function(d) nv_segment_sum(d$y, d$g)))(frame)), as.vector(tapply(x, known, sum))
  )
})

test_that("logicals are groups whose levels are known", {
  expect_as_r(function(x) tapply(x, x > 1, mean), x)
  expect_as_r(function(d, x) tapply(x, list(d$g, x > 1), sum, default = 0), frame, x)
  expect_as_r(function(x) table(x > 1), x)
  expect_as_r(function(x) ave(x, x > 1), x)
  expect_as_r(function(x) sapply(split(x, x > 1), sum), x)
  expect_as_r(function(x) as.integer(factor(x > 1)), x)
  expect_as_r(function(x) nlevels(as.factor(x > 1)), x)
  expect_as_r(function(d) c(by(d, d$y > 1, function(s) mean(s$y))), frame)
  expect_names(function(x) tapply(x, x > 1, mean), x, r = tapply(x, x > 1, mean))
  # All of one group: the other has NaN.
  got <- jit(of_user(function(x) tapply(x, x > -9, mean)))(nv_tensor(x, "f64"))
  expect_identical(is.nan(as.vector(got)), c(TRUE, FALSE))
})

test_that("factors know their order, and are no numbers", {
  ordered <- data.frame(
    y = x, o = factor(c("lo", "hi", "mid", "lo", "hi", "mid"), levels = c("lo", "mid", "hi"), ordered = TRUE)
  )
  without <- transform(ordered, o = factor(o, ordered = FALSE))
  for (d in list(ordered, without)) {
    expect_as_r(function(d) is.ordered(d$o) + 2 * is.ordered(rev(d$o)), d)
    expect_as_r(function(d) inherits(d$o, "factor") + 2 * inherits(d$o, "ordered"), d)
    expect_as_r(function(d) identical(levels(d$o), c("lo", "mid", "hi")), d)
    expect_as_r(function(d) tapply(d$y, d$o, mean), d)
    expect_as_r(function(d) coef(lm(y ~ o, d)), d)
    expect_as_r(function(d) coef(lm(y ~ o, d[d$y > -1, ])), d, tolerance = 1e-6)
    expect_as_r(function(d) coef(lm(y ~ o, rbind(d, d))), d)
    expect_as_r(function(d) predict(lm(y ~ o, d), d[2:3, ]), d)
    expect_as_r(function(d) predict(lm(y ~ o, d), data.frame(o = rev(levels(d$o)))), d)
  }
  # One program serves either.
  f <- jit(of_user(function(d) coef(lm(y ~ o, d))))
  expect_identical(names(f(without)), c("(Intercept)", "omid", "ohi"))
  expect_identical(names(f(ordered)), c("(Intercept)", "o.L", "o.Q"))
  refused(function(d) d$g + 1, frame, class = "anvil_error_arg", says = "`as.integer(f)`")
  refused(function(d) 2 * d$g, frame, class = "anvil_error_arg", says = "`as.integer(f)`")
  refused(function(d) mean(d$g), frame, class = "anvil_error_arg", says = "`as.integer(f)`")
  refused(function(d) sd(-d$g), frame, class = "anvil_error_arg", says = "`as.integer(f)`")
  refused(function(d) d$g < 2, frame, class = "anvil_error_arg", says = "`as.integer(f)`")
  # Ordered ones too, which have an end and nothing more.
  for (d in list(ordered, without)) {
    functions <- list(
      sum, prod, round, signif, trunc, floor, cummax, cummin, cumprod, exp, sin, log1p, gamma, sign,
      quantile, IQR, fivenum, diff, crossprod, `!`, function(f) pmax(f, f), function(f) pmin(f, 2L),
      function(f) max(f, 1), function(f) range(f, 2), function(f) round(f, 1), function(f) f & TRUE,
      function(f) outer(f, 1:2), function(f) f %/% 2L, any, all
    )
    if (!is.ordered(d$o)) functions <- c(functions, max, min, range)
    for (f in functions) {
      e <- expect_error(jit(function(d) f(d$o))(d), class = "anvil_error_arg")
      expect_match(conditionMessage(e), "`as.integer(f)`", fixed = TRUE)
    }
  }
  expect_as_r(function(d) max(as.integer(d$o)) + order(d$o) + is.na(d$o) + which.max(d$o), ordered)
})

test_that("labels are assigned to factors, and levels renamed", {
  expect_as_r(function(d) { d$g[d$y > 1] <- "b"; as.integer(d$g) }, frame)
  expect_as_r(function(d) { g <- d$g; g[2] <- "a"; as.integer(g) }, frame)
  expect_as_r(function(d) { levels(d$g)[1] <- "z"; (d$g == "z") + nlevels(d$g) }, frame)
  expect_as_r(function(d) { g <- d$g; levels(g) <- c("p", "q", "q"); as.integer(g) + nlevels(g) }, frame)
  none <- function(d) { d$g[1] <- "none"; d$g }
  refused(none, frame, class = "anvil_error_arg", says = "levels of the factor")
  few <- function(d) { levels(d$g) <- "a"; d$g }
  refused(few, frame, class = "anvil_error_arg", says = "one for each of the 3")
})

# nolint end

test_that("tapply() by known groups has their names", {
  by_two <- jit(user(function(x) tapply(x, list(rep(c("p", "q"), 3), rep(c("u", "v"), each = 3)), sum)))
  expect_identical(dimnames(by_two(f64(x))), list(c("p", "q"), c("u", "v")))
})
