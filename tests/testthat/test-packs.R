# What is written once for each column, row or slice, and then joined, is computed as a whole.

matrix_of <- function(...) nv_tensor(array(sin(seq_len(prod(...))), c(...)), "f64")

same_steps <- function(f, whole, ..., more = 0) {
  f <- user(f)
  expect_identical(as_array(jit(f)(...)), as_array(jit(whole)(...)))
  steps <- function(f) nrow(explain_plan(f, ...))
  expect_lte(steps(f), steps(whole) + more)
}

test_that("columns, rows and slices are computed as a whole", {
  x <- matrix_of(50, 12)
  y <- matrix_of(12, 5, 7)
  same_steps(function(x) sapply(1:12, function(j) exp(-x[, j])), function(x) exp(-x), x)
  same_steps(function(x) do.call(cbind, lapply(1:12, function(j) exp(-x[, j]))), function(x) exp(-x), x)
  same_steps(function(x) t(sapply(1:50, function(i) exp(-x[i, ]))), function(x) exp(-x), x)
  same_steps(function(x) {
    for (j in 12:1) x[, j] <- exp(-x[, j])
    x
  }, function(x) exp(-x), x)
  slices <- function(y) nv_stack(lapply(1:12, function(i) sqrt(abs(y[i, , ]) + 1)))
  same_steps(slices, function(y) sqrt(abs(y) + 1), y)
  same_steps(
    function(x) sapply(1:12, function(j) x[, j] * j + x[, 1]), function(x) sweep(x, 2, 1:12, "*") + x[, 1], x,
    # The first column is multiplied by nothing, and the numbers of the others are joined.
    more = 2
  )
})

test_that("gradients of what is joined are computed as a whole", {
  x <- matrix_of(50, 12)
  whole <- gradient(function(x) sum(sin(x) * x))
  expect_identical(
    as_array(jit(gradient(user(function(x) sum(sapply(1:12, function(j) sin(x[, j]) * x[, j])))))(x)$x),
    as_array(jit(whole)(x)$x)
  )
  steps <- function(f) nrow(explain_plan(f, x))
  expect_lte(steps(gradient(user(function(x) {
    parts <- do.call(cbind, lapply(1:12, function(j) sin(x[, j])))
    sum(parts * x)
  }))), 2)
})

test_that("parts of several values, and those that something else reads, are as they were", {
  x <- matrix_of(20, 4)
  v <- matrix_of(80)
  f <- user(function(x, v) cbind(x[, 1], v[1:20], v[21:40], v[41:60]))
  expect_identical(as_array(jit(f)(x, v)), as_array(f(x, v)))
  g <- user(function(x) {
    parts <- lapply(1:4, function(j) exp(x[, j]))
    list(do.call(cbind, parts), parts[[2]], sum(parts[[3]]))
  })
  expect_identical(lapply(jit(g)(x), as_array), lapply(g(x), as_array))
})

test_that("what folds and multiplies rows is computed as a whole", {
  x <- matrix_of(60, 8)
  w <- nv_tensor(sin(1:8), "f64")
  s2 <- nv_tensor(crossprod(matrix(sin(1:64), 8)), "f64")
  perms <- nv_tensor(t(sapply(1:30, function(i) ((1:8 * 3 + i) %% 8) + 1L)), "i32")
  few <- function(f, ..., most) {
    f <- user(f)
    whole <- jit(f)(...)
    withr::with_options(list(anvil.rewrite = FALSE), written <- jit(f)(...))
    expect_equal(as_array(whole), as_array(written), tolerance = 1e-13)
    expect_lte(nrow(explain_plan(f, ...)), most)
  }
  few(function(x, w) apply(x, 1, function(row) sum(row * w)), x, w, most = 2)
  few(function(x) apply(x, 2, function(v) sqrt(sum((v - mean(v))^2))), x, most = 8)
  few(function(x, s2) apply(x, 1, function(row) drop(row %*% s2 %*% row)), x, s2, most = 4)
  few(function(w, s2, perms) apply(perms, 1, function(i) w * drop(s2 %*% w[i])), w, s2, perms, most = 5)
  few(function(x) apply(x, 1, function(v) sort(v)[3]), x, most = 4)
  few(function(x, w) {
    s <- 0
    for (i in 1:60) s <- s - log(plogis(sum(x[i, ] * w)))
    s
  }, x, w, most = 4)
  few(function(x, w) gradient(function(w) {
    s <- 0
    for (i in 1:60) s <- s - log(plogis(sum(x[i, ] * w)))
    s
  })(w)$w, x, w, most = 6)
  few(function(x) {
    d <- matrix(0, 10, 10)
    for (i in 1:10) for (j in 1:10) d[i, j] <- max(abs(x[i, ] - x[j, ]))
    d
  }, x, most = 4)
  few(function(x, w) {
    out <- numeric(60)
    for (i in 1:60) out[i] <- sum(x[i, ] * w) / (1 + sum(x[i, ]^2))
    out
  }, x, w, most = 4)
})

test_that("rows in a loop of the program, and rows that depend on one another", {
  x <- matrix_of(20, 8)
  looped <- user(function(x) {
    nv_for(3, x[1, ], function(i, w) sapply(1:8, function(j) sum(x[, j]) * w[j] / 10))
  })
  plain <- function(x) {
    w <- x[1, ]
    for (i in 1:3) w <- colSums(x) * w / 10
    w
  }
  expect_equal(as_array(jit(looped)(x)), as_array(plain(x)), tolerance = 1e-13)
  chain <- function(x) {
    s <- 0
    for (i in 1:20) s <- s + sum(x[i, ] * s) / 8 + sum(x[i, ]^2)
    s
  }
  expect_equal(as.numeric(jit(chain)(x)), chain(as_array(x)), tolerance = 1e-13)
})

test_that("positions that are out of range are found in packs, too", {
  x <- nv_tensor(sin(1:8), "f64")
  at <- nv_tensor(matrix(c(1:8, 1:7, 9L, 1:8, 1:8), 4, byrow = TRUE), "i32")
  f <- user(function(x, at) apply(at, 1, function(i) sum(x[i])))
  expect_error(jit(f)(x, at), class = "anvil_error_index")
})
