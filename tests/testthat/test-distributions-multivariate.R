# Densities of vectors and matrices.

sigma <- matrix(c(2, 0.5, 0.3, 0.5, 1, 0.2, 0.3, 0.2, 3), 3)
points <- matrix(c(1, -0.5, 0.2, 2, 0.1, 1.5, -1, 0.3, 0, 0.7, 2, -2), 4)
center <- c(1, -1, 0)

test_that("normal vectors by covariance, precision and factor", {
  want <- -1.5 * log(2 * pi) - 0.5 * as.numeric(determinant(sigma)$modulus) -
    0.5 * mahalanobis(points, center, sigma)
  by <- list(
    list(sigma = as_f64(sigma)), list(precision = as_f64(solve(sigma))), list(chol = as_f64(t(chol(sigma))))
  )
  for (one in by) {
    got <- do.call(nv_dmvnorm, c(list(as_f64(points), as_f64(center)), one, log = TRUE))
    expect_equal(as.double(got), want, tolerance = 1e-14)
    # One point is a number, and a program gives the same.
    f <- function(x, mean, m) {
      do.call(nv_dmvnorm, c(list(x, mean), stats::setNames(list(m), names(one)), log = TRUE))
    }
    single <- f(as_f64(points[2, ]), as_f64(center), one[[1L]])
    expect_nv(single, want[2], "f64", integer(), tolerance = 1e-13)
    expect_identical(jit(f)(as_f64(points[2, ]), as_f64(center), one[[1L]]), single)
    slopes <- gradient(f)(as_f64(points[2, ]), as_f64(center), one[[1L]])
    away <- solve(sigma, points[2, ] - center)
    expect_equal(as.double(slopes$mean), away)
    expect_equal(as.double(slopes$x), -away)
    h <- 1e-6
    moved <- as_array(one[[1L]])
    difference <- function(s) {
      as.double(f(as_f64(points[2, ]), as_f64(center), as_f64(moved + s * h * diag(c(1, 0, 0)))))
    }
    expect_equal(as_array(slopes$m)[1, 1], (difference(1) - difference(-1)) / (2 * h), tolerance = 1e-6)
  }
  expect_equal(as.double(nv_dmvnorm(as_f64(c(0.1, 2)), 0, diag(2))), prod(dnorm(c(0.1, 2))))
  expect_identical(as.double(nv_dmvnorm(as_f64(c(1, 1)), 0, matrix(c(1, 2, 2, 1), 2))), NaN)
  expect_identical(type_of(nv_dmvnorm(nv_fill(0, c(0, 2)), 0, diag(2))), "f32[0]")
  expect_fields(nv_dmvnorm(points, center), "anvil_error_arg", arg = "sigma")
  expect_fields(nv_dmvnorm(points, center, sigma, sigma), "anvil_error_arg", arg = "sigma")
  expect_fields(nv_dmvnorm(points, center, diag(2)), "anvil_error_shape", arg = "x")
  expect_fields(nv_dmvnorm(points, c(1, 2), sigma), "anvil_error_shape", arg = "mean")
  expect_fields(nv_dmvnorm(points, center, points), "anvil_error_shape", arg = "sigma")
  expect_fields(nv_dmvnorm(points, center, sigma, log = 1), "anvil_error_arg", arg = "log")
})

test_that("Dirichlet", {
  x <- rbind(c(0.2, 0.3, 0.5), c(0.1, 0.1, 0.8), c(0.5, 0.5, 0.5), c(-0.1, 0.6, 0.5))
  alpha <- c(1, 2, 3.5)
  want <- lgamma(sum(alpha)) - sum(lgamma(alpha)) + as.vector(log(x[1:2, ]) %*% (alpha - 1))
  got <- as.double(nv_ddirichlet(as_f64(x), as_f64(alpha), log = TRUE))
  expect_equal(got, c(want, -Inf, -Inf))
  expect_equal(as.double(nv_ddirichlet(as_f64(x[1, ]), as_f64(alpha))), exp(want[1]))
  # Of two categories it is beta.
  expect_equal(as.double(nv_ddirichlet(as_f64(c(0.3, 0.7)), c(2, 5))), dbeta(0.3, 2, 5))
  # At 0 the exponent decides.
  expect_identical(as.double(nv_ddirichlet(as_f64(c(0, 1)), c(1, 1))), 1)
  expect_identical(as.double(nv_ddirichlet(as_f64(c(0, 1)), c(2, 1))), 0)
  expect_identical(as.double(nv_ddirichlet(as_f64(c(0, 1)), c(0.5, 1))), Inf)
  expect_identical(as.double(nv_ddirichlet(as_f64(c(0.5, 0.5)), c(-1, 1))), NaN)
  slope <- gradient(function(a) nv_ddirichlet(as_f64(x[1, ]), a, log = TRUE))(as_f64(alpha))$a
  expect_equal(as.double(slope), digamma(sum(alpha)) - digamma(alpha) + log(x[1, ]))
  expect_fields(nv_ddirichlet(x, 1), "anvil_error_shape", arg = "alpha")
  expect_fields(nv_ddirichlet(x, c(1, 2)), "anvil_error_shape", arg = "x")
})

test_that("multinomial and categorical", {
  p <- c(0.2, 0.5, 0.3)
  x <- rbind(c(1, 2, 0), c(0, 0, 3), c(1, 1, 1))
  want <- apply(x, 1, dmultinom, prob = p)
  expect_equal(as.double(nv_dmultinom(as_f64(x), prob = as_f64(p))), want)
  expect_equal(as.double(nv_dmultinom(as_f64(x), 3, as_f64(10 * p), log = TRUE)), log(want))
  expect_equal(as.double(nv_dmultinom(nv_tensor(c(1L, 2L, 0L)), prob = as_f64(p))), want[1])
  expect_identical(as.double(nv_dmultinom(as_f64(x[1, ]), 4, p)), 0)
  expect_identical(as.double(nv_dmultinom(as_f64(c(1, 0)), prob = c(0, 1))), 0)
  expect_identical(as.double(nv_dmultinom(as_f64(c(0, 2)), prob = c(0, 1))), 1)
  expect_identical(as.double(nv_dmultinom(as_f64(c(0.5, 2)), prob = c(0.5, 1))), 0)
  expect_identical(as.double(nv_dmultinom(as_f64(c(1, 2)), prob = c(-1, 1))), NaN)
  slope <- gradient(function(p) nv_dmultinom(as_f64(c(1, 2, 0)), prob = p, log = TRUE))(as_f64(p))$p
  expect_equal(as.double(slope), c(1, 2, 0) / p - 3)
  expect_fields(nv_dmultinom(x, prob = c(1, 2)), "anvil_error_shape", arg = "x")
  expect_fields(nv_dmultinom(x), "anvil_error_arg", arg = "prob")

  k <- nv_tensor(c(1L, 3L, 4L, 0L))
  expect_equal(as.double(nv_dcategorical(k, as_f64(2 * p))), c(0.2, 0.3, 0, 0))
  got <- nv_dcategorical(k, logits = as_f64(log(p) + 7), log = TRUE)
  expect_equal(as.double(got), c(log(c(0.2, 0.3)), -Inf, -Inf))
  expect_identical(as.double(nv_dcategorical(1.5, p)), 0)
  slope <- gradient(function(l) nv_dcategorical(2L, logits = l, log = TRUE))(as_f64(log(p)))$l
  expect_equal(as.double(slope), c(0, 1, 0) - p)
  expect_fields(nv_dcategorical(1), "anvil_error_arg", arg = "prob")
  expect_fields(nv_dcategorical(1, p, p), "anvil_error_arg", arg = "logits")
  expect_fields(nv_dcategorical(1, 0.5), "anvil_error_shape", arg = "prob")
})

test_that("Wishart and LKJ", {
  # Of one row and column it is a gamma distribution.
  got <- nv_dwishart(as_f64(matrix(2)), 5, as_f64(matrix(1.5)))
  expect_equal(as.double(got), dgamma(2, 5 / 2, scale = 2 * 1.5))
  x <- matrix(c(3, 0.4, 0.4, 2), 2)
  s <- matrix(c(1, 0.2, 0.2, 2), 2)
  n <- 4.5
  want <- (n - 3) / 2 * log(det(x)) - sum(diag(solve(s, x))) / 2 - n * log(2) - n / 2 * log(det(s)) -
    (0.5 * log(pi) + lgamma(n / 2) + lgamma((n - 1) / 2))
  expect_equal(as.double(nv_dwishart(as_f64(x), n, as_f64(s), log = TRUE)), want)
  expect_identical(as.double(nv_dwishart(as_f64(x), 0.5, as_f64(s))), NaN)
  f <- function(n) nv_dwishart(as_f64(x), n, as_f64(s), log = TRUE)
  d <- (as.double(f(as_f64(n + 1e-5))) - as.double(f(as_f64(n - 1e-5)))) / 2e-5
  expect_equal(as.double(gradient(f)(as_f64(n))$n), d, tolerance = 1e-7)
  expect_fields(nv_dwishart(x, 3, diag(3)), "anvil_error_shape", arg = "x")

  # Of two variables the correlation is a beta variable.
  one <- function(r, eta) as.double(nv_dlkj(as_f64(matrix(c(1, r, r, 1), 2)), eta))
  for (eta in c(0.7, 1, 3)) expect_equal(one(0.3, eta), dbeta(0.65, eta, eta) / 2)
  # Of three, by the volume of all correlation matrices, pi^2 / 2.
  expect_equal(as.double(nv_dlkj(as_f64(diag(3)), 1)), 2 / pi^2)
  expect_identical(as.double(nv_dlkj(as_f64(diag(3)), -1)), NaN)
  expect_identical(as.double(nv_dlkj(as_f64(diag(1)), 2)), 1)
  expect_fields(nv_dlkj(points), "anvil_error_shape", arg = "x")
})
