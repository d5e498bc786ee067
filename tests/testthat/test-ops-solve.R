# Equations, inverses, determinants, least squares, norms, powers.

set.seed(81)
square <- matrix(rnorm(16), 4)
right <- matrix(rnorm(8), 4)
tall <- matrix(rnorm(30), 10)
f64 <- function(x) nv_tensor(x, "f64")
values <- function(x) {
  x <- if (inherits(x, "AnvilValue")) as_array(x) else x
  if (length(dim(x)) == 1L) as.vector(x) else unclass(x)
}

slope <- function(f, x) values(gradient(f)(f64(x))[[1L]])
differences <- function(f, x) {
  out <- x
  for (i in seq_along(x)) {
    step <- replace(x * 0, i, 1e-5)
    out[i] <- (values(f(f64(x + step))) - values(f(f64(x - step)))) / 2e-5
  }
  out
}

test_that("equations and inverses are those of base R", {
  expect_equal(values(solve(f64(square), f64(right))), solve(square, right), tolerance = 1e-13)
  expect_equal(values(solve(f64(square))), solve(square), tolerance = 1e-13)
  expect_equal(values(nv_solve(f64(square), right[, 1])), solve(square, right[, 1]), tolerance = 1e-13)
  expect_equal(
    values(nv_solve(f64(square), f64(right), adjoint = TRUE)), solve(t(square), right), tolerance = 1e-13
  )
  f <- nv_lu(f64(square))
  expect_equal(
    values(nv_lu_solve(f64(square), f$lu, f$permutation, f64(right))), solve(square, right), tolerance = 1e-13
  )
  expect_equal(
    values(nv_triangular_solve(f64(square), right[, 1])), forwardsolve(square, right[, 1]), tolerance = 1e-13
  )
  expect_equal(
    values(nv_triangular_solve(f64(square), f64(right), lower = FALSE)), backsolve(square, right),
    tolerance = 1e-13
  )
  expect_equal(
    values(nv_triangular_solve(f64(square), f64(right), adjoint = TRUE)),
    backsolve(square, right, upper.tri = FALSE, transpose = TRUE), tolerance = 1e-13
  )
})

test_that("determinants are those of base R", {
  expect_equal(values(nv_det(f64(square))), det(square), tolerance = 1e-14)
  expect_equal(values(det(f64(square))), det(square), tolerance = 1e-14)
  ours <- determinant(f64(square))
  theirs <- determinant(square)
  expect_equal(values(ours$modulus), as.numeric(theirs$modulus), tolerance = 1e-14)
  expect_equal(values(ours$sign), theirs$sign)
  z <- matrix(complex(real = c(1, 2, 3, 5), imaginary = c(0, 1, 0, -1)), 2)
  expect_equal(values(nv_det(nv_tensor(z, "c128"))), z[1] * z[4] - z[2] * z[3], tolerance = 1e-14)
  for (n in 2:4) {
    batch <- array(rnorm(5 * n * n), c(5, n, n))
    for (dtype in c("f32", "f64", "bf16")) {
      want <- apply(values(nv_convert(nv_tensor(batch, dtype), "f64")), 1, det)
      tolerance <- c(f32 = 1e-5, f64 = 1e-14, bf16 = 0.02)[[dtype]]
      expect_equal(values(nv_det(nv_tensor(batch, dtype))), want, tolerance = tolerance)
    }
  }
  # The adjugate, also where there is no inverse.
  expect_equal(slope(nv_det, matrix(c(1, 2, 2, 4), 2)), matrix(c(4, -2, -2, 1), 2))
  expect_equal(slope(nv_det, matrix(1, 3, 3)), matrix(0, 3, 3))
  f <- nv_slogdet(nv_tensor(z, "c128"))
  expect_equal(values(f$sign) * exp(values(f$logdet)), z[1] * z[4] - z[2] * z[3], tolerance = 1e-14)
  singular <- nv_slogdet(f64(matrix(1, 2, 2)))
  expect_identical(values(singular$sign), 0)
  expect_identical(values(singular$logdet), -Inf)
  expect_equal(slope(nv_det, square), det(square) * t(solve(square)), tolerance = 1e-12)
  expect_equal(slope(function(x) nv_slogdet(x)$logdet, square), t(solve(square)), tolerance = 1e-12)
})

test_that("least squares are those of lm(), of any rank", {
  y <- rnorm(10)
  expect_equal(values(nv_lstsq(f64(tall), y)$coefficients), unname(coef(lm(y ~ tall - 1))), tolerance = 1e-12)
  expect_identical(values(nv_lstsq(f64(tall), y)$rank), 3L)
  short <- cbind(tall, tall[, 1])
  fit <- nv_lstsq(f64(short), f64(cbind(y, 2 * y)))
  expect_identical(values(fit$rank), 3L)
  expect_equal(values(fit$coefficients)[1, ], values(fit$coefficients)[4, ], tolerance = 1e-12)
  expect_equal(
    values(f64(short) %*% fit$coefficients)[, 1], unname(fitted(lm(y ~ tall - 1))), tolerance = 1e-12
  )
  p <- values(nv_pinv(f64(short)))
  expect_equal(short %*% p %*% short, short, tolerance = 1e-12)
  expect_equal(p %*% short %*% p, p, tolerance = 1e-12)
  expect_identical(values(nv_rank(f64(short))), 3L)
  expect_identical(values(nv_rank(f64(tall), rtol = 10)), 0L)
  expect_equal(values(nv_cond(f64(tall))), kappa(tall, exact = TRUE), tolerance = 1e-12)
  loss <- function(x) sum(sin(nv_lstsq(x, y)$coefficients))
  expect_equal(slope(loss, tall), differences(loss, tall), tolerance = 1e-7)
  # Equal singular values are no obstacle.
  loss <- function(x) sum(sin(nv_pinv(x)))
  expect_equal(slope(loss, 2 * diag(3)), differences(loss, 2 * diag(3)), tolerance = 1e-7)
  loss <- function(b) sum(sin(nv_lstsq(f64(tall), b)$coefficients))
  expect_equal(slope(loss, y), differences(loss, y), tolerance = 1e-7)
})

test_that("norms are those of base R", {
  for (type in c("F", "O", "I", "M", "2")) {
    expect_equal(values(nv_norm(f64(square), type)), norm(square, type), tolerance = 1e-13)
    expect_equal(values(norm(f64(square), type)), norm(square, type), tolerance = 1e-13)
  }
  expect_equal(values(nv_norm(f64(square), "N")), sum(svd(square)$d), tolerance = 1e-13)
  x <- c(3, -4, 0)
  found <- vapply(list(NULL, 1, 2, 3, Inf, -Inf, 0), function(p) values(nv_norm(f64(x), p)), 0)
  expect_equal(found, c(5, 7, 5, (27 + 64)^(1 / 3), 4, 0, 2), tolerance = 1e-14)
  expect_equal(values(nv_norm(f64(square), 2, axes = -1)), sqrt(rowSums(square^2)), tolerance = 1e-14)
  expect_identical(shape(nv_norm(f64(square), axes = 1, drop = FALSE)), c(1L, 4L))
  expect_equal(values(nv_norm(nv_tensor(c(3+4i, 0i), "c128"))), 5)
  expect_error(nv_norm(f64(square), "Q"), class = "anvil_error_arg")
  expect_error(nv_norm(f64(x), "F"), class = "anvil_error_arg")
  expect_error(nv_norm(f64(square), axes = 3), class = "anvil_error_axis")
})

test_that("powers and exponentials of matrices", {
  power <- Reduce(`%*%`, rep(list(square), 7))
  expect_equal(values(nv_matrix_power(f64(square), 7)), power, tolerance = 1e-12)
  expect_equal(values(nv_matrix_power(f64(square), -2)), solve(square %*% square), tolerance = 1e-11)
  expect_identical(values(nv_matrix_power(f64(square), 0)), diag(4))
  expect_identical(
    values(nv_matrix_power(nv_tensor(matrix(c(1L, 1L, 1L, 0L), 2)), 10)), matrix(c(89L, 55L, 55L, 34L), 2)
  )
  f <- eigen(crossprod(square))
  exact <- f$vectors %*% diag(exp(f$values)) %*% t(f$vectors)
  expect_equal(values(nv_expm(f64(crossprod(square)))), exact, tolerance = 1e-12)
  # A nilpotent matrix has a finite series.
  n <- matrix(c(0, 0, 0, 1, 0, 0, 2, 3, 0), 3)
  expect_equal(values(nv_expm(f64(n))), diag(3) + n + n %*% n / 2, tolerance = 1e-14)
  expect_equal(
    values(nv_expm(f64(matrix(c(0, -30, 30, 0), 2)))), matrix(c(cos(30), -sin(30), sin(30), cos(30)), 2),
    tolerance = 1e-12
  )
  w <- f64(matrix(cos(1:16), 4))
  loss <- function(x) sum(nv_expm(x) * w)
  expect_equal(slope(loss, square), differences(loss, square), tolerance = 1e-7)
  expect_equal(slope(loss, 9 * square), differences(loss, 9 * square), tolerance = 1e-5)
  expect_error(nv_matrix_power(f64(square), 0.5), class = "anvil_error_arg")
  expect_error(nv_expm(f64(tall)), "square", class = "anvil_error_shape")
})

test_that("singular matrices warn outside of programs, and name the column", {
  bad <- matrix(c(1, 2, 3, 2, 4, 6, 1, 0, 1), 3)
  warning <- expect_warning(solve(f64(bad)), class = "anvil_warning_singular")
  expect_identical(warning$column, 2L)
  expect_warning(out <- jit(nv_inv)(f64(bad)), NA)
  expect_false(all(is.finite(values(out))))
})

test_that("a bad matrix of a batch spoils no other one", {
  set.seed(2)
  put <- function(at, value) function(x) `[<-`(x, at, at, value)
  spoil <- list(identity, put(3, -1), put(2, NaN), put(1, Inf), function(x) 0 * x)
  matrices <- lapply(rep(1:5, 5), \(i) spoil[[i]](tcrossprod(matrix(rnorm(16), 4))))
  batch <- aperm(simplify2array(matrices), c(3, 1, 2))
  right <- array(rnorm(length(matrices) * 4), c(length(matrices), 4, 1))
  lower <- jit(\(x) nv_chol(x))
  solved <- jit(\(x, y) nv_triangular_solve(x, y))
  for (dtype in c("f32", "f64")) {
    x <- nv_tensor(batch, dtype = dtype)
    y <- nv_tensor(right, dtype = dtype)
    factors <- as.array(lower(x))
    solutions <- as.array(solved(x, y))
    for (i in seq_along(matrices)) {
      one <- nv_tensor(matrices[[i]], dtype = dtype)
      side <- nv_tensor(matrix(right[i, , ], 4), dtype = dtype)
      expect_identical(factors[i, , ], as.array(lower(one)))
      expect_identical(solutions[i, , 1], c(as.array(solved(one, side))))
    }
    expect_identical(which(!apply(factors, 1, anyNA)), seq(1L, length(matrices), 5L))
  }
})

test_that("bad input is a classed error", {
  expect_error(nv_solve(f64(tall), f64(tall)), "square", class = "anvil_error_shape")
  expect_error(nv_solve(f64(square), f64(tall)), class = "anvil_error_shape")
  expect_error(nv_inv(f64(1:3)), class = "anvil_error_shape")
  expect_error(nv_det(f64(tall)), "square", class = "anvil_error_shape")
  expect_error(nv_pinv(f64(tall), rtol = -1), class = "anvil_error_arg")
  expect_error(nv_lstsq(f64(tall), f64(square)), class = "anvil_error_arg")
  expect_error(solve(f64(square), tol = 1), class = "anvil_error_arg")
})

test_that("norms have second derivatives where an element is 0", {
  x <- nv_tensor(c(0, 1, 2), "f64")
  second <- function(f) hessian(f, flat = TRUE)(x)
  want <- second(function(x) sqrt(sum(x^2)))
  expect_equal(unname(diag(want)), c(1, 0.8, 0.2) / sqrt(5))
  expect_equal(second(function(x) nv_norm(x)), want)
  expect_equal(second(function(x) norm(matrix(x, 1), "F")), want)
  w <- c(1, 2, 4)
  expect_equal(second(function(x) sum(w * nv_normalize(x))), second(function(x) sum(w * x) / sqrt(sum(x^2))))
})

test_that("the gradient of solve() is another solution by the same factors", {
  a <- nv_tensor(matrix(c(4, 1, 2, 1, 5, 1, 0, 1, 3), 3), "f64")
  b <- nv_tensor(c(1, 2, 3), "f64")
  slopes <- gradient(function(a, b) sum(solve(a, b)^2))
  traced <- graph_text(trace_fn(slopes, a, b), optimised = TRUE)
  expect_length(gregexpr(" lu(", traced, fixed = TRUE)[[1L]], 1L)
  expect_length(gregexpr("lu_solve [", traced, fixed = TRUE)[[1L]], 2L)
  expect_no_match(traced, "triangular_solve")
  x <- solve(as_array(a), as_array(b))
  by_b <- solve(t(as_array(a)), 2 * x)
  expect_equal(as.double(slopes(a, b)$b), c(by_b))
  expect_equal(as_array(slopes(a, b)$a), -outer(c(by_b), c(x)))
})
