# Factors beside other values in traced functions: they are their labels, as in base R.
# nolint start: object_name_linter, object_usage_linter.

sizes <- c("low", "mid", "high")
frame <- data.frame(
  f = factor(c("a", "b", "c", "a", "c")),
  turned = factor(c("c", "b", "c", "a", "a"), levels = c("c", "b", "a")),
  g = factor(c("b", "c", "d", "b", "c")), k = factor(c(10, 20, 10, 20, 30)), v = c(10, 20, 30, 20, 30),
  n = c(1L, 2L, 3L, 1L, 2L), b = c(TRUE, TRUE, FALSE, TRUE, FALSE),
  l = factor(c(TRUE, FALSE, FALSE, TRUE, TRUE)),
  o = factor(c("mid", "low", "high", "low", "mid"), levels = sizes, ordered = TRUE),
  p = factor(c("high", "low", "mid", "mid", "mid"), levels = sizes, ordered = TRUE), x = c(1.5, -2, 3, 0.5, 2)
)
columns <- as.list(frame)

plain <- function(x) {
  if (is.list(x) && !inherits(x, "AnvilValue")) return(lapply(unclass(x), plain))
  if (inherits(x, "AnvilValue")) x <- as_array(x)
  if (is.factor(x)) x <- as.integer(x)
  sizes <- dim(x)
  x <- as.double(x)
  x[is.na(x)] <- NaN
  if (length(sizes) > 1L) array(x, sizes) else x
}

# A program gives what base R gives, of a data frame and of a list of vectors.
expect_as_r <- function(f, given = frame, tolerance = 1e-5) {
  expected <- plain(suppressWarnings(f(given)))
  label <- deparse1(body(f))
  expect_equal(plain(jit(user(f))(given)), expected, tolerance = tolerance, ignore_attr = TRUE, label = label)
}

refused <- function(f, says, given = frame, class = "anvil_error_arg") {
  e <- expect_error(jit(user(f))(given), class = class)
  expect_match(conditionMessage(e), says, fixed = TRUE, label = deparse1(body(f)))
  e
}

test_that("factors are compared by their labels", {
  for (f in list(
    function(d) d$f == d$turned, function(d) d$turned != d$f, function(d) d$f[-1] == d$f[-5],
    function(d) d$k == d$v, function(d) d$v != d$k, function(d) d$k == 10, function(d) d$k == d$n,
    function(d) d$l == d$b, function(d) d$l == TRUE, function(d) outer(d$f, d$turned, "==")
  )) {
    expect_as_r(f)
    expect_as_r(f, columns)
  }
  # What is none of the levels is equal to nothing.
  expect_as_r(function(d) sum(factor(d$n, levels = 1:2) == "zz", na.rm = TRUE))
  expect_as_r(function(d) sum(factor(d$n, levels = 1:2) == factor(d$n, levels = 2:1), na.rm = TRUE))
  e <- refused(function(d) d$f == d$g, "the same levels")
  expect_identical(deparse1(conditionCall(e)), "d$f == d$g")
  refused(function(d) d$f == d$n, "must be a level of the factor, \"a\", \"b\", \"c\", not traced values")
})

test_that("a tensor beside a factor is known labels", {
  ten <- nv_tensor(10)
  f <- jit(function(d) d$k == ten)
  expect_identical(as.logical(as_array(f(frame))), frame$k == 10)
})

test_that("labels are looked up among those of other factors, and among numbers", {
  for (f in list(
    function(d) d$f %in% d$g, function(d) d$turned %in% d$f[1:2], function(d) d$k %in% d$v[1:2],
    function(d) d$v %in% d$k[1:2], function(d) c("a", "zz") %in% d$f, function(d) d$b %in% d$l[2],
    function(d) match(d$f, d$g, nomatch = 0L), function(d) match(d$f, d$turned),
    function(d) match(d$v, d$k, nomatch = 0L), function(d) match(c("b", "zz"), d$f, nomatch = 0L)
  )) expect_as_r(f)
})

test_that("what is assigned to a factor is a label", {
  for (f in list(
    function(d) { d$f[1] <- d$g[1]; table(d$f) }, function(d) { d$f[1:2] <- d$turned[1:2]; table(d$f) },
    function(d) { d$k[1] <- d$v[2]; table(d$k) }, function(d) { d$f[d$v > 15] <- d$turned[1]; table(d$f) },
    function(d) { d$o[1:2] <- d$p[1:2]; d$o > "low" }, function(d) { d$f[1] <- d$g[3]; table(d$f) }
  )) expect_as_r(f)
  refused(function(d) { d$f[1] <- d$n[1]; d$f }, "must be a level of the factor")
})

test_that("factors that are joined have the levels of all", {
  for (f in list(
    function(d) table(c(d$f, d$g)), function(d) as.integer(c(d$f, d$turned)),
    function(d) table(c(factor(c("z", "a")), d$f)), function(d) c(d$o, d$p) > "low"
  )) expect_as_r(f)
})

test_that("ordered factors have an order", {
  for (f in list(
    function(d) d$o > "low", function(d) "mid" <= d$o, function(d) d$o < d$p, function(d) d$o >= d$p,
    function(d) d$o <= d$o[2], function(d) d$o[1] > "low", function(d) outer(d$o, d$p, "<"),
    function(d) as.integer(max(d$o)), function(d) min(d$o) == "low", function(d) range(d$o)[2] == "high",
    function(d) is.ordered(max(d$o)), function(d) max(d$o, d$p) == "high",
    function(d) sum(d$v[d$o > "low"]), function(d) sum(d$o[d$v > 15] > "low"),
    function(d) mean(d[d$o >= "mid", "v"]), function(d) nrow(subset(d, o > "low" & v > 10)),
    function(d) tapply(d$v, d$o > "low", mean), function(d) sapply(1:5, function(i) d$o[i] > "low"),
    function(d) as.ordered(d$f) > "a",
    function(d) factor(d$f, levels = c("c", "b", "a"), ordered = TRUE) < "a",
    function(d) ordered(d$n, levels = 1:3) > "1", function(d) ordered(d$n, levels = 1:3) >= 2,
    function(d) ordered(d$n, levels = 1:3, labels = c("p", "q", "r")) >= "q",
    function(d) ordered(d$n, levels = 1:3) >= d$n,
    function(d) cut(d$x, c(-3, 0, 1, 4), labels = c("s", "m", "l"), ordered_result = TRUE) > "s",
    function(d) is.ordered(cut(d$x, c(-3, 0, 1, 4), ordered_result = TRUE)),
    function(d) coef(lm(v ~ ordered(n, levels = 1:3), d)),
    function(d) coef(lm(v ~ factor(o, levels = levels(o)), d)),
    function(d) { levels(d$o)[1:2] <- "less"; d$o > "less" },
    function(d) { levels(d$f) <- list(A = c("a", "b"), C = "c"); table(d$f) }
  )) expect_as_r(f)
  e <- refused(function(d) d$o < "huge", "must be a level of the factor, \"low\", \"mid\", \"high\",")
  expect_identical(deparse1(conditionCall(e)), "d$o < \"huge\"")
  refused(function(d) d$f < "b", "as.integer(f)")
  refused(function(d) d$o < d$f, "as.integer(f)")
  refused(function(d) max(d$f), "as.integer(f)")
  refused(function(d) max(d$f[d$v > 15]), "as.integer(f)")
  refused(function(d) sum(d$f[d$v > 15]), "as.integer(f)")
  refused(function(d) max(d$f, d$g), "as.integer(f)")
  refused(function(d) d$o < factor(d$o, levels = c("high", "mid", "low")), "in order")
  refused(function(d) relevel(d$o, "mid"), "not ordered")
})

test_that("what is none of the levels has no order", {
  missing <- transform(frame, o = replace(o, 2, NA))
  for (f in list(
    function(d) sum(d$o > "low", na.rm = TRUE), function(d) sum(d$o < "high", na.rm = TRUE),
    function(d) max(d$o, na.rm = TRUE) == "high", function(d) min(d$o, na.rm = TRUE) == "low",
    function(d) sum(factor(d$n, levels = 2:3, ordered = TRUE) < 3, na.rm = TRUE),
    function(d) max(d$o[d$v > 15], na.rm = TRUE) == "high",
    function(d) min(factor(d$n, levels = 2:3, ordered = TRUE), na.rm = TRUE) == 2
  )) expect_as_r(f, missing)
})

test_that("factors are arguments as columns of data frames are", {
  expect_as_r <- function(f, ...) {
    expect_equal(plain(jit(user(f))(...)), plain(f(...)), tolerance = 1e-5, ignore_attr = TRUE)
  }
  expect_as_r(function(f, v) tapply(v, f, mean), frame$f, frame$v)
  expect_as_r(function(f, v) coef(lm(v ~ f)), frame$o, frame$v)
  expect_as_r(function(f) f == "a", frame$f)
  expect_as_r(function(f) is.na(f), factor(c("a", NA)))
  expect_as_r(function(l) table(l$f, l$v > 15), columns)
  expect_as_r(function(l) table(l[[2]][[1]]), list(1, list(frame$g)))
  # Derivatives and batches of functions of them.
  loss <- function(b, g, y) sum((y - b[as.integer(g)])^2)
  expect_equal(
    plain(gradient(loss, wrt = "b")(nv_tensor(c(1, 2, 3), "f64"), frame$f, nv_tensor(frame$v, "f64"))$b),
    c(-2 * sum(frame$v[c(1, 4)] - 1), -2 * (frame$v[2] - 2), -2 * sum(frame$v[c(3, 5)] - 3))
  )
  means <- vmap(function(y, g) tapply(y, g, mean), in_axes = list(1, NULL))
  expect_identical(
    as.vector(vmap(function(v, f) v * (f == "a"))(nv_tensor(frame$v), frame$f)), frame$v * (frame$f == "a")
  )
  expect_match(format(trace_fn(function(f) f == "a", frame$f)), "i1?[5] = eq", fixed = TRUE, all = FALSE)
  y <- rbind(frame$v, frame$x)
  expect_equal(plain(means(nv_tensor(y, "f64"), frame$f)), unname(t(apply(y, 1, tapply, frame$f, mean))))
})

test_that("a program is of the levels, their order and their contrasts", {
  f <- jit(function(g, y) coef(lm(y ~ g)))
  given <- list(frame$f, factor(frame$f, labels = c("x", "y", "z")), factor(frame$f, ordered = TRUE), frame$f)
  contrasts(given[[4]]) <- contr.sum(3)
  for (g in given) expect_identical(names(f(g, frame$v)), names(coef(lm(frame$v ~ g))))
  for (g in given) expect_equal(plain(f(g, frame$v)), unname(coef(lm(frame$v ~ g))), tolerance = 1e-5)
  # Which of the columns are ordered, and names of rows beside them.
  h <- jit(function(d) as.matrix(d["v"]))
  named <- frame[c("v", "o")]
  for (names in list(letters[1:5], LETTERS[1:5], NULL)) {
    rownames(named) <- names
    expect_identical(rownames(h(named)), if (is.null(names)) NULL else names)
  }
  both <- jit(function(d) is.ordered(d$f) + 2 * is.ordered(d$g))
  d <- data.frame(f = frame$f, g = frame$f)
  expect_identical(plain(both(transform(d, f = factor(f, ordered = TRUE)))), 1)
  expect_identical(plain(both(transform(d, g = factor(g, ordered = TRUE)))), 2)
})

test_that("models take the contrasts that a factor has", {
  d <- frame
  contrasts(d$f) <- contr.sum(3)
  for (f in list(
    function(d) coef(lm(v ~ f, d)), function(d) model.matrix(~ f + x, d), function(d) contrasts(d$f),
    function(d) coef(lm(v ~ f, d[d$x > -5, ])),
    function(d) predict(lm(v ~ f, d), data.frame(f = c("b", "a"))),
    function(d) { d$f[1] <- "b"; coef(lm(v ~ f, d)) }, function(d) coef(glm(n ~ f, poisson, d)),
    function(d) coef(lm(v ~ f, d, contrasts = list(f = "contr.helmert")))
  )) expect_as_r(f, d)
  for (f in list(
    function(d) { contrasts(d$f) <- contr.sum(3); coef(lm(v ~ f, d)) },
    function(d) { contrasts(d$f) <- "contr.helmert"; coef(lm(v ~ f, d)) },
    function(d) { contrasts(d$f, 1) <- contr.sum(3); coef(lm(v ~ f, d)) }
  )) expect_as_r(f)
  expect_identical(names(jit(function(d) coef(lm(v ~ f, d)))(d)), names(coef(lm(v ~ f, d))))
  # Of a factor that the program does not compute, too.
  known <- d$f
  expect_equal(
    plain(jit(function(y) coef(lm(y ~ known)))(nv_tensor(frame$v, "f64"))), unname(coef(lm(frame$v ~ known)))
  )
  refused(function(d) { contrasts(d$f) <- 3; d$f }, "R says")
})

# nolint end

test_that("an error within R's own factor() shows the call as it was written", {
  e <- tryCatch(jit(user(function(x) factor(x[x > 0], 0:2)))(nv_tensor(c(1, -1))), error = identity)
  expect_s3_class(e, "anvil_error_concrete")
  expect_identical(conditionCall(e), quote(factor(x[x > 0], 0:2)))
})
