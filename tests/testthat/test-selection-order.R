# Selections where the order of what is selected matters, and selections as subscripts: values as of base R on
# plain vectors, gradients as differences.
# nolint start: object_name_linter, object_usage_linter.

r <- c(-1.2, 0.4, 2, -0.3, 3.5, 0.9, -2, 1.1)
s <- c(0.3, -1, 1.5, 2.2, -0.7, 0.1, 0.8, -1.9)
wide <- matrix(c(r, s, r * s + 0.5), 8)
at <- c(5L, 3L, 2L, 5L, 1L)
three <- c(1, -1, 1)

plain <- function(x) {
  x <- as.vector(if (inherits(x, "AnvilValue")) as_array(x) else x)
  x[is.na(x)] <- NaN
  as.double(x)
}

expect_as_r <- function(f, ...) {
  given <- list(...)
  expected <- suppressWarnings(do.call(f, given))
  tensors <- lapply(given, function(v) nv_tensor(v, if (is.integer(v)) "i32" else "f64"))
  got <- do.call(jit(user(f)), tensors)
  expect_equal(plain(got), plain(expected), tolerance = 1e-10, label = deparse1(body(f)))
}

expect_slopes <- function(f, at) {
  expected <- vapply(seq_along(at), function(k) {
    move <- 1e-6 * (seq_along(at) == k)
    (f(at + move) - f(at - move)) / 2e-6
  }, 0)
  got <- gradient(user(f))(nv_tensor(at, "f64"))[[1L]]
  expect_equal(plain(got), expected, tolerance = 1e-4, label = deparse1(body(f)))
}

test_that("sums one after the other, sorted and reversed elements are selections", {
  expect_as_r(function(x) sum(cumsum(x[x > 0])), r)
  expect_as_r(function(x) max(cummax(x[x > 0]) - x[x > 0]), r)
  expect_as_r(function(x) sum(cumprod(x[x > 0])), r)
  expect_as_r(function(x) sum(cummin(x[x > 0])), r)
  expect_as_r(function(x) sum(rev(x[x > 0])[1:2]), r)
  expect_as_r(function(x) summary(x[x > 0]), r)
  expect_as_r(function(x) x[x > 0][order(x[1:3])], r)
  expect_as_r(function(x) sort(x[x > 0])[1:2], r)
  expect_as_r(function(x) sort(x[x > 0], decreasing = TRUE)[2], r)
  expect_as_r(function(i) sort(i[i > 1L])[1:2], at)
  expect_as_r(function(x) {
    z <- sort(x[x > 0])
    sum((2 * seq_along(z) - length(z) - 1) * z) / (length(z) * sum(z))
  }, r)
  expect_as_r(function(x) sum(sort(x[x > 0]) * seq_along(x[x > 0])), r)
  expect_as_r(function(x) sum(rev(x[x > 0]) * x[x > 0] - sort(x[x > 0])), r)
  expect_as_r(function(x) sum(signif(x[x > 0], 1)), r)
  expect_as_r(function(x) sum(diff(x[x > 0])^2), r)
  expect_as_r(function(x) sum(diff(x[x > 0], lag = 2)), r)
  expect_as_r(function(x) sum(diff(x[x > 0], differences = 2)), r)
  expect_as_r(function(x) sum(diff(x[x > 3])), r)
  expect_as_r(function(x, y) cor(rank(x[x > 0]), rank(y[x > 0])), r, s)
  expect_as_r(function(i) sum(rank(i[i > 1L]) * i[i > 1L]), at)
  expect_as_r(function(x) mad(x[x > 0]), r)
  expect_as_r(function(x) tabulate(findInterval(x[x > 0], 0:2), 3), r)
  expect_slopes(function(x) sum(cumsum(x[x > 0])^2), r)
  expect_slopes(function(x) sum(diff(log(x[x > 0]))^2), r)
  expect_slopes(function(x) sum(sort(log(x[x > 0]))[1:2] * c(1, 3)), r)
})

test_that("NaN that is selected comes last, what is not selected nowhere", {
  x <- c(2, NaN, 1, -1, 3)
  got <- jit(user(function(x) sort(x[is.na(x) | x > 0])[1:4]))(nv_tensor(x, "f64"))
  expect_identical(plain(got), c(1, 2, 3, NaN))
  got <- jit(user(function(x) cumsum(x[!is.na(x)])[1:4]))(nv_tensor(x, "f64"))
  expect_identical(plain(got), c(2, 3, 2, 5))
})

test_that("elements are taken by their number among those selected", {
  expect_as_r(function(x) x[x > 0][1], r)
  expect_as_r(function(x) x[x > 0][c(3, 2)], r)
  expect_as_r(function(x) sort(x[x > 0])[ceiling(length(x[x > 0]) / 2)], r)
  expect_as_r(function(x) x[x > 0][[2]], r)
  expect_as_r(function(x) which(x > 0)[2], r)
  expect_as_r(function(x) x[which(x > 0)[1]], r)
  expect_as_r(function(x) sum(x[which(x > 0)[1:2]]), r)
  expect_as_r(function(x) sum(x[x > 0][-1]), r)
  expect_as_r(function(x) sum(x[x > 0][-(1:2)]), r)
  expect_as_r(function(x) sum(head(x[x > 0], 2)), r)
  expect_as_r(function(x) sum(head(x[x > 0], -1)), r)
  expect_as_r(function(x) sum(tail(x[x > 0], 2)), r)
  expect_as_r(function(x) sum(tail(x[x > 0], -1)), r)
  expect_as_r(function(x) sum(head(x[x > 9], 2)), r)
  expect_as_r(function(x) {
    z <- x[x > 0]
    z[length(z)]
  }, r)
  expect_as_r(function(x, y) x[which(x > 0)[which.max(y[x > 0])]], r, s)
  expect_as_r(function(x, y) which.min(y[x > 0]), r, s)
  expect_as_r(function(u) u[u[, 1] > 0, ][1, ], wide)
  expect_as_r(function(u) u[u[, 1] > 0, ][2, 3], wide)
  expect_as_r(function(u) colSums(u[u[, 1] > 0, ][-1, ]), wide)
  expect_as_r(function(u) colSums(head(u[u[, 1] > 0, ], 2)), wide)
  expect_slopes(function(x) log(x[x > 0][2]), r)
  # Beyond those selected there is no position, as beyond the elements of a tensor.
  beyond <- function(f, ...) expect_error(jit(user(f))(...), class = "anvil_error_index")
  beyond(function(i) i[i > 3L][9], nv_tensor(at))
  beyond(function(x) x[x > 3][[2]], nv_tensor(r))
  beyond(function(x) x[x > 9][1], nv_tensor(r))
  beyond(function(u) u[u[, 1] > 3, ][2, ], nv_tensor(wide))
  beyond(function(x) which.max(x[x > 9]), nv_tensor(r))
})

test_that("selections are joined, as the columns and rows of a matrix too", {
  expect_as_r(function(x) mean(c(x[x > 0], x[x < -1])), r)
  expect_as_r(function(x) median(c(100, x[x > 0], 200)), r)
  expect_as_r(function(x) length(c(x[x > 0], 1)), r)
  expect_as_r(function(x, y) {
    X <- cbind(1, x[y > 0])
    solve(crossprod(X), crossprod(X, y[y > 0]))
  }, r, s)
  expect_as_r(function(x, y) colMeans(cbind(x[y > 0], y[y > 0])), r, s)
  expect_as_r(function(x, y) rowSums(rbind(x[y > 0], 1)), r, s)
  expect_as_r(function(u) colMeans(cbind(1, u[u[, 1] > 0, ])), wide)
  expect_error(
    jit(user(function(x, y) sum(cbind(x[x > 0], y[y > 0]))))(nv_tensor(r), nv_tensor(s)),
    class = "anvil_error_shape", "same mask"
  )
})

test_that("a selection of positions is a subscript", {
  expect_as_r(function(x, i) sum(x[i[i > 2L]]), r, at)
  expect_as_r(function(x, i) mean(x[i[i > 2L] - 1L]), r, at)
  expect_as_r(function(x, y) {
    i <- order(y)
    i <- i[y[i] > 0]
    sum(x[i] * seq_along(i))
  }, r, s)
  expect_as_r(function(u, i) colMeans(u[i[i < 5L], ]), wide, at)
  expect_as_r(function(u, i) sum(u[i[i < 5L], 2]), wide, at)
  expect_error(
    jit(user(function(x, i) sum(x[i[i > 2L] + 9L])))(nv_tensor(r), nv_tensor(at)), class = "anvil_error_index"
  )
})

test_that("positions of a mask are left out, and all of them where there are none", {
  expect_as_r(function(x, y) sum(x[-which(y < 0)]), r, s)
  expect_as_r(function(x, y) sum(x[-which(y < -100)]), r, s)
  expect_as_r(function(x, y) sum(x[-which(y > -100)]), r, s)
  expect_as_r(function(x, y) sum(x[-(-which(y < 0))]), r, s)
  expect_as_r(function(x, y) {
    x[-which(y < 0)] <- 0
    x
  }, r, s)
})

test_that("one of those selected is left out by a number that the program computes", {
  expect_as_r(function(x) { y <- x[x > 0]; sum(y[-length(y)]) }, r)
  expect_as_r(function(x) { y <- x[x > 0]; sum(y[-which.max(y)]) }, r)
  expect_as_r(function(x) { y <- x[x > 0]; k <- length(y); y[-k][1] + y[-1][1] }, r)
  expect_as_r(function(u) { v <- u[u[, 1] > 0, ]; colSums(v[-nrow(v), ]) }, wide)
  expect_as_r(function(x) { y <- x[x > 9]; sum(y[-length(y)]) }, r)
  expect_slopes(function(x) { y <- x[x > 0]; sum(y[-length(y)]^2) }, r)
})

test_that("the first and last positions of a mask that holds nowhere are infinite, as in R", {
  for (f in list(
    function(x) min(which(x > 9)), function(x) max(which(x > 9)), function(x) range(which(x > 9)),
    function(x) is.finite(min(which(x > 9))), function(x) range(which(x > 0)),
    function(x) max(which(x > 0)) - 1L
  )) expect_as_r(f, r)
  expect_as_r(function(x) x[min(which(x < 0))] + x[max(which(x > 3))], r)
  expect_error(jit(user(function(x) x[min(which(x > 9))]))(nv_tensor(r)), class = "anvil_error_index")
})

test_that("masks of several axes select along each", {
  with_masks <- function(f) expect_as_r(f, wide, three)
  with_masks(function(u, k) sum(u[u[, 1] > 0, k > 0]))
  with_masks(function(u, k) {
    part <- u[u[, 1] > 0, k > 0]
    c(mean(part), sd(part), median(part), max(part), length(part), sum(part^2 + 1), sum(part[part > 1]))
  })
  with_masks(function(u, k) colSums(t(u[u[, 1] > 0, k > 0]))[1:2])
  with_masks(function(u, k) colSums(u[u[, 1] > 0, k > 0])[1:2])
  with_masks(function(u, k) colMeans(u[u[, 1] > 0, k > 0])[2])
  with_masks(function(u, k) max(rowSums(u[u[, 1] > 0, k > 0])))
  with_masks(function(u, k) dim(u[u[, 1] > 0, k > 0]))
  with_masks(function(u, k) c(nrow(u[u[, 1] > 0, k > 0]), ncol(u[u[, 1] > 0, k > 0])))
  with_masks(function(u, k) {
    a <- array(c(u, u + 1), c(8, 3, 2))
    sum(a[u[, 1] > 0, k > 0, ])
  })
  with_masks(function(u, k) sum(c(u[u[, 1] > 0, k > 0], 1)))
  with_masks(function(u, k) {
    u[u[, 1] > 0, k > 0] <- exp(u[u[, 1] > 0, k > 0])
    u
  })
  with_masks(function(u, k) sum(colSums(u[u[, 1] > 0, ])[k > 0]))
  # What takes one axis alone says so.
  refused <- function(f) {
    f <- user(f)
    expect_error(jit(f)(nv_tensor(wide), nv_tensor(three)), class = "anvil_error", "several axes|vector|rows")
  }
  refused(function(u, k) crossprod(u[u[, 1] > 0, k > 0]))
  refused(function(u, k) u[u[, 1] > 0, k > 0] %*% c(1, 1))
  refused(function(u, k) sum(sweep(u[u[, 1] > 0, k > 0], 2, 1:3)))
  refused(function(u, k) sum(head(u[u[, 1] > 0, k > 0], 1)))
  refused(function(u, k) u[u[, 1] > 0, k > 0][1, ])
})
# nolint end

test_that("apply() takes the rows and columns of what is selected", {
  a <- matrix(c(1, -2, 3, 4, 5, -6, 7, 8, 9), 3, dimnames = list(NULL, c("u", "v", "w")))
  for (f in list(
    function(a) apply(a[a[, 1] > 0, ], 2, mean), function(a) apply(a[a[, 1] > 0, ], 2, sum),
    function(a) apply(a[, a[1, ] > 1], 1, mean), function(a) apply(a[, a[1, ] > 1], 1, sum),
    function(a) apply(a[a[, 1] > 0, ], 2, range), function(a) apply(a[, a[1, ] > 1], 1, var),
    function(a) cov(a[a[, 1] > 0, ]), function(a) crossprod(a[a[, 1] > 0, ])
  )) {
    got <- jit(f)(nv_tensor(a, "f64"))
    expect_equal(as.vector(got), as.vector(f(a)), label = deparse1(body(f)))
    if (is.matrix(f(a))) expect_identical(dimnames(got), dimnames(f(a))) else expect_named(got, names(f(a)))
  }
  expect_error(jit(function(a) apply(a[a[, 1] > 0, ], 1, max))(nv_tensor(a)), class = "anvil_error_concrete")
})
