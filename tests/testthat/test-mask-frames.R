# Data frames of traced columns: their rows, comparisons and joins give what R's give.

d <- data.frame(
  y = c(2.1, 3.4, 1.9, 5.6, 4.4, 3.8, 2.7, 6.1), x = c(1, 2, 0.5, 4, 3.1, 2.2, 1.4, 4.6),
  f = factor(c("u", "v", "u", "w", "v", "w", "u", "v"), levels = c("u", "v", "w")),
  b = c(TRUE, FALSE, TRUE, TRUE, FALSE, FALSE, TRUE, FALSE), s = rep(c("p", "q"), 4)
)
numbers <- d[1:2]

expect_as_r <- function(f, data = d) {
  withr::local_options(anvil.default_float = "f64")
  got <- plain_numbers(jit(user(f))(data))
  expect_equal(got, plain_numbers(f(data)), tolerance = 1e-10, label = deparse1(body(f)))
}

test_that("rows that are selected have rows at known and computed places", {
  expect_as_r(function(d) { z <- d[d$y > 3, ]; z[which.max(z$x), "y"] })
  expect_as_r(function(d) { z <- d[d$y > 3, ]; z[2:3, c("x", "y")]$y })
  expect_as_r(function(d) { z <- d[d$y > 3, ]; mean(z[z$x > 2.5, ]$y) })
  expect_as_r(function(d) { z <- d[d$y > 3, ]; z[nrow(z), 1] })
  expect_as_r(function(d) do.call(rbind, lapply(split(d, d$f), function(z) z[which.min(z$x), ]))$y)
  expect_as_r(function(d) { z <- d[d$y > 3, ]; sum(z[which.max(z$x), ]$f == "v") })
  # The error says what the user wrote.
  e <- expect_error(jit(user(function(d) d[d$y > 3, ][d$x > 1, ]))(d), class = "anvil_error_shape")
  expect_match(deparse1(conditionCall(e)), "d[d$y > 3, ][d$x > 1, ]", fixed = TRUE)
})

test_that("an element is of a row and a column", {
  expect_as_r(function(d) d[[2, "x"]] + d[["y"]][[3]])
  expect_as_r(function(d) d[["x", exact = TRUE]][2])
})

test_that("rows where a computed mask holds are a selection of each column", {
  expect_as_r(function(d) { e <- d[d$y > 3, ]; mean(e$x) })
  expect_as_r(function(d) { e <- d[d$y > 3 & d$x > 1, c("x", "y")]; sum(e$x * e$y) })
  expect_as_r(function(d) nrow(d[d$f == "u", ]))
  expect_as_r(function(d) colMeans(d[d$b, c("x", "y")]))
  expect_as_r(function(d) sapply(d[d$b, c("x", "y")], mean))
  expect_as_r(function(d) mean(d[d$y > 3, "x"]))
  expect_as_r(function(d) { e <- d[which(d$y > 3), ]; sum(e$s == "q") })
  expect_as_r(function(d) { e <- d[d$b, ]; tapply(e$y, e$f, sum) })
  expect_as_r(function(d) { e <- subset(d, x > 1); tapply(e$y, list(e$f, e$b), mean) })
  got <- jit(user(function(d) colMeans(d[d$b, c("x", "y")])))(d)
  expect_identical(names(got), c("x", "y"))
  short <- user(function(d, m) sum(d[m > 0, ]$x))
  expect_error(jit(short)(d, nv_tensor(c(1, 2))), class = "anvil_error_arg", "as long as there are rows, 8")
})

test_that("rows without missing values are a selection", {
  holes <- d
  holes$y[3] <- NA
  holes$f[2] <- NA
  expect_as_r(function(d) mean(na.omit(d)$y), holes)
  expect_as_r(function(d) nrow(na.omit(d)), holes)
  expect_as_r(function(d) mean(d[complete.cases(d[1:2]), ]$y), holes)
  expect_as_r(function(d) sum(complete.cases(d)), holes)
  expect_as_r(function(d) { d <- d[!is.na(d$y), ]; mean(d$y) }, holes)
})

test_that("rows at computed positions are a data frame", {
  expect_as_r(function(d) { d <- d[order(d$x), ]; cumsum(d$y) })
  expect_as_r(function(d) d[order(d$x, decreasing = TRUE), ][1:3, "y"])
  expect_as_r(function(d) { e <- d[order(d$x), ]; (e$f == "u") + (e$s == "p") })
  expect_as_r(function(d) d[which.max(d$y), c("x", "y")]$x)
  expect_as_r(function(d) nrow(d[order(d$x), ]))
  # What is known is R's own.
  expect_as_r(function(d) d[c(TRUE, FALSE), ]$x)
  expect_as_r(function(d) d[-1, 2])
  expect_as_r(function(d) dim(d[, c("x", "y")]))
  expect_as_r(function(d) length(d[]))
  expect_as_r(function(d) length(d["x"]))
  expect_as_r(function(d) d[2, "x", drop = FALSE]$x)
})

test_that("rows and columns are assigned", {
  expect_as_r(function(d) { d[d$y > 3, "x"] <- 0; d$x })
  expect_as_r(function(d) { d[d$y > 3, c("x", "y")] <- 0; d$x + d$y })
  expect_as_r(function(d) { d$z <- 0; d[d$b, "z"] <- d$x[d$b]; d$z })
  expect_as_r(function(d) { d[d$x > 2, "f"] <- "u"; d$f == "u" })
  expect_as_r(function(d) { d[d > 3] <- 3; d$x }, numbers)
  expect_as_r(function(d) { d[d$x > 1, ]$y <- 0; d$y })
  expect_as_r(function(d) { d[1:2] <- scale(d[1:2]); d$y })
  expect_as_r(function(d) { d[c("x", "y")] <- lapply(d[c("x", "y")], function(v) v / max(v)); d$y })
  expect_as_r(function(d) { d[3, "y"] <- 50; d[["x"]][2] <- 1; d$y + d$x })
  wrong <- user(function(d) { d[1:2] <- cbind(d$x, d$y, d$x); d })
  expect_error(jit(wrong)(d), class = "anvil_error_arg", "a matrix of 2 columns")
  known <- user(function(d) { d[order(d$x), 9] <- 1; d })
  expect_error(jit(known)(d), class = "anvil_error_arg", "columns from 1 to 5")
})

test_that("comparisons of data frames are matrices", {
  expect_as_r(function(d) d > 2, numbers)
  expect_as_r(function(d) d == d, numbers)
  expect_as_r(function(d) !(d > 2), numbers)
  expect_as_r(function(d) 2 >= d, numbers)
  expect_as_r(function(d) d < 1:8, numbers)
  expect_as_r(function(d) sum(d * 2 + 1), numbers)
  expect_identical(colnames(jit(user(function(d) d > 2))(numbers)), c("y", "x"))
})

test_that("data frames are bound by rows, and stacked", {
  expect_as_r(function(d) rbind(d, d)$y)
  expect_as_r(function(d) do.call(rbind, list(d, d, d))$x)
  expect_as_r(function(d) rbind(d[1:2, ], d[5:6, ])$x)
  expect_as_r(function(d) { e <- rbind(d[c("x", "f")], d[2:3, c("f", "x")]); tapply(e$x, e$f, sum) })
  expect_as_r(function(d) {
    e <- rbind(d, data.frame(y = 1, x = 2, f = "z", b = TRUE, s = "r"))
    c(sum(e$x), sum(e$f == "z"), sum(e$s == "r"), nlevels(e$f))
  })
  expect_as_r(function(d) rbind(d, list(9, 8))$y, numbers)
  expect_as_r(function(d) rbind(a = d$x, b = d$y))
  expect_as_r(function(d) stack(d[c("x", "y")])$values)
  expect_as_r(function(d) { e <- stack(d[c("x", "y")]); tapply(e$values, e$ind, mean) })
  refused <- function(f, class, says) {
    e <- expect_error(jit(user(f))(d), class = class)
    expect_match(conditionMessage(e), says, fixed = TRUE)
  }
  refused(function(d) rbind(d, d[1:2]), "anvil_error_arg", "data frames of 5 columns")
  refused(function(d) rbind(d[d$b, ], d[!d$b, ]), "anvil_error_concrete", "does not take a selection")
  refused(function(d) { names(d)[1] <- "z"; rbind(d, data.frame(y = 1, x = 2, f = "u", b = TRUE, s = "p")) },
          "anvil_error_arg", "a column `z`")
})

test_that("data.frame() takes traced numbers, which are repeated", {
  expect_as_r(function(d) { e <- data.frame(a = d$x[1], b = d$x[2]); e$a + e$b })
  expect_as_r(function(d) { e <- data.frame(i = 1:3, a = sum(d$x)); e$a + e$i })
  expect_as_r(function(d) {
    total <- sum(d$x)
    e <- data.frame(d, total, m = cbind(1:8, d$y))
    e$total + e$m.2
  })
  expect_as_r(function(d) { d$z <- mean(d$x); d[["v"]] <- sum(d$y); d$z - d$v + d$x })
  expect_as_r(function(d) { e <- transform(d, z = x - mean(x), v = max(y)); e$z * e$v })
  expect_as_r(function(d) do.call(rbind, lapply(1:3, function(i) data.frame(i = i, m = d$x[i])))$m)
  expect_as_r(function(d) do.call(rbind, lapply(list(list(x = d$x[1]), list(x = 2)), as.data.frame))$x)
})

test_that("rowsum() has all levels of a traced factor", {
  expect_as_r(function(d) rowsum(d$y, d$f))
  expect_as_r(function(d) rowsum(d[c("y", "x")], d$f))
  expect_as_r(function(d) rowsum(d$y, d$b))
  expect_as_r(function(d) rowsum(as.matrix(d[c("y", "x")]), d$f))
  got <- jit(user(function(d) rowsum(cbind(d$y, v = d$x), d$f)))(d)
  expect_identical(dimnames(got), list(c("u", "v", "w"), c("", "v")))
  first <- user(function(d) rowsum(d$y, d$f, reorder = FALSE))
  expect_error(jit(first)(d), class = "anvil_error_arg", "Which group comes first")
})

test_that("R's data frames and vectors have all of their digits", {
  d <- data.frame(
    y = c(2.13, 3.47, 1.91, 5.62, 4.43, 3.81, 2.72, 6.11), x = c(1.1, 2, 0.53, 4, 3.1, 2.2, 1.4, 4.6),
    n = c(1, 3, 0, 4, 2, 2, 1, 6)
  )
  expect_digits <- function(f) {
    got <- jit(user(f))(d)
    expect_equal(as.vector(as_array(got)), as.vector(f(d)), tolerance = 1e-12, label = deparse1(body(f)))
  }
  expect_digits(function(d) apply(as.matrix(d), 1, sum))
  expect_digits(function(d) rowSums(d[, c("y", "x")]))
  expect_digits(function(d) prcomp(d)$sdev)
  expect_digits(function(d) coef(glm(n ~ x, poisson, d)))
  expect_digits(function(d) t.test(d$y, d$x)$p.value)
  expect_digits(function(d) wilcox.test(d$y, d$x, exact = FALSE)$p.value)
  expect_digits(function(d) kruskal.test(list(d$y, d$x, d$n))$p.value)
  expect_digits(function(d) cor(d$y, d$x, method = "kendall"))
  nls_of <- user(function(d) coef(nls(y ~ a + b * x, d, start = list(a = 0, b = 1))))
  expect_equal(as.vector(as_array(jit(nls_of)(d))), as.vector(nls_of(d)), tolerance = 1e-7)
})

test_that("rows have the names that R gives them, and tables those of their variables", {
  r <- function(f, ...) {
    want <- f(...)
    got <- jit(user(f))(...)
    names <- function(x) {
      if (is.list(x)) return(lapply(x, names))
      if (length(dim(x)) > 1L) dimnames(x) else base::names(x)
    }
    expect_identical(names(got), names(want), label = deparse1(body(f)))
  }
  d <- data.frame(x = c(1.5, 2, 3), y = c(2, 1, 4), s = c("p", "q", "p"), row.names = c("i", "j", "k"))
  r(function(d) as.matrix(d[, 1:2]), d)
  r(function(d) list(apply(d[, 1:2], 1, max), rowSums(d[1:2])), d)
  v <- c(a = 1, b = 2, c = 3)
  r(function(v) { e <- data.frame(v = v, w = 1); list(e$v, e$w, as.matrix(e)) }, v)
  m <- matrix(1:4, 2, dimnames = list(NULL, c("u", "w")))
  r(function(m) { e <- as.data.frame(m); list(e$u, rowSums(e)) }, m)
  r(function(d) { s <- d$s; high <- d$x > 1.6; list(table(s, high), table(a = s, b = high)) }, d)
  r(function(d) { high <- d$x > 1.6; as.data.frame(table(high, d$s, dnn = c("p", "q"))) }, d)
  r(function(d) list(xtabs(x ~ s + I(y > 1), d), tapply(d$x, list(s = d$s, high = d$y > 1), sum)), d)
})

test_that("cells of a known data frame take traced values", {
  as_r <- function(f) {
    withr::local_options(anvil.default_float = "f64")
    got <- jit(user(f))(nv_scalar(2, "f64"))
    expect_equal(unname(as_array(got)), unname(f(2)), label = deparse1(body(f)))
  }
  as_r(function(x) { z <- data.frame(a = numeric(3), b = 0); for (i in 1:3) z[i, 1] <- x * i; as.matrix(z) })
  as_r(function(x) { z <- data.frame(t = 0:2, a = NA, b = NA); z[1, 2:3] <- c(x, 1); sum(z[1, ]) })
  as_r(function(x) { z <- data.frame(a = numeric(3), b = 0); z[2:3, ] <- c(x, 1, x^2, 3); as.matrix(z) })
  as_r(function(x) { z <- data.frame(a = numeric(2), b = 0); z[, c("b", "a")] <- x; as.matrix(z) })
  as_r(function(x) { z <- data.frame(a = numeric(2), b = 0); z[-1, ] <- list(x, x * 2); as.matrix(z) })
  as_r(function(x) { z <- data.frame(a = numeric(2), b = 0); z[nrow(z) + 1, ] <- c(x, x * 2); as.matrix(z) })
  as_r(function(x) { z <- data.frame(a = numeric(2), row.names = c("u", "v")); z["v", ] <- x; as.matrix(z) })
  f <- user(function(x) { z <- data.frame(a = 1:2, b = 0); z[4, "a"] <- x; z })
  expect_error(jit(f)(nv_scalar(2)), class = "anvil_error_arg", "rows that the data frame has")
})

test_that("colnames() of a data frame are those of its columns", {
  expect_as_r(function(d) sum(d[, colnames(d) %in% c("x", "y")]))
  expect_as_r(function(d) { colnames(d)[2] <- "z"; z <- d[d$y > 3, ]; sum(z$z) + match("z", colnames(z)) })
})

test_that("rows are left out by positions that are computed", {
  f <- function(d, i) c(mean(d[-i, ]$y), coef(lm(y ~ x, d[-i, ])))
  for (i in list(c(1L, 3L), 2L)) {
    expect_equal(plain_numbers(jit(user(f))(d, i)), plain_numbers(f(d, i)), tolerance = 1e-5)
  }
  expect_as_r(function(d) { z <- d[-which.max(d$y), ]; c(nrow(z), z$x) })
  expect_as_r(function(d) d[-which.min(d$y), "x"])
})

test_that("rows are added to traced columns", {
  expect_as_r(function(d) {
    z <- data.frame(y = d$y[1], x = d$x[2])
    for (i in 2:4) z[i, ] <- c(d$y[i], d$x[i])
    z[nrow(z) + 1, ] <- list(d$y[7], 2)
    z[6:7, ] <- d[1:2, c("y", "x")]
    as.matrix(z)
  })
})
