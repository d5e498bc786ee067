# Factors of matrices. The kernels' backward errors are held in src/rust/core/tests/factors.rs; here are R's
# side, derivatives, batches and errors.

set.seed(18)
square <- matrix(rnorm(16), 4)
positive <- crossprod(square) + diag(4)
tall <- matrix(rnorm(18), 6)
f64 <- function(x) nv_tensor(x, "f64")
values <- function(x) {
  x <- if (inherits(x, "AnvilValue")) as_array(x) else x
  if (length(dim(x)) == 1L) as.vector(x) else unclass(x)
}
conjugate <- function(x) Conj(t(x))

# Central differences of a function of one matrix with one number as result.
differences <- function(f, x) {
  out <- x
  for (i in seq_along(x)) {
    step <- replace(x * 0, i, 1e-5)
    out[i] <- (values(f(f64(x + step))) - values(f(f64(x - step)))) / 2e-5
  }
  out
}

# Gradient, tangent, and second derivative in two ways, against differences.
expect_derivatives <- function(f, x, label) {
  direction <- x * 0 + sin(seq_along(x))
  slopes <- differences(f, x)
  slope_at <- function(x) values(gradient(f)(f64(x))[[1L]])
  expect_equal(slope_at(x), slopes, tolerance = 1e-7, label = paste("gradient of", label))
  tangent <- jvp(f, list(f64(x)), list(f64(direction)))$tangent
  expect_equal(
    as.vector(values(tangent)), sum(slopes * direction), tolerance = 1e-7, label = paste("tangent of", label)
  )
  second <- (slope_at(x + 1e-5 * direction) - slope_at(x - 1e-5 * direction)) / 2e-5
  forward <- values(hvp(f, list(f64(x)), list(f64(direction)))[[1L]])
  expect_equal(forward, second, tolerance = 1e-5, label = paste("hvp of", label))
  reverse <- gradient(function(x) sum(gradient(f)(x)[[1L]] * f64(direction)))(f64(x))[[1L]]
  expect_equal(values(reverse), second, tolerance = 1e-5, label = paste("gradient of the gradient of", label))
}

test_that("factors are those of base R", {
  expect_equal(values(chol(f64(positive))), chol(positive), tolerance = 1e-14)
  expect_equal(values(nv_chol(f64(positive))), t(chol(positive)), tolerance = 1e-14)
  expect_equal(values(nv_eigh(f64(positive))$values), rev(eigen(positive)$values), tolerance = 1e-13)
  expect_equal(values(nv_eigvalsh(f64(positive))), rev(eigen(positive)$values), tolerance = 1e-13)
  for (x in list(square, tall, t(tall))) {
    f <- nv_svd(f64(x))
    expect_named(f, c("d", "u", "v"))
    expect_equal(values(f$d), svd(x)$d, tolerance = 1e-13)
    expect_equal(values(f$u) %*% diag(values(f$d)) %*% t(values(f$v)), x, tolerance = 1e-13)
    f <- nv_qr(f64(x))
    expect_named(f, c("q", "r"))
    expect_equal(values(f$q %*% f$r), x, tolerance = 1e-13)
    expect_equal(abs(diag(values(f$r))), abs(diag(qr.R(qr(x, LAPACK = FALSE)))), tolerance = 1e-13)
    f <- nv_lu(f64(x))
    expect_named(f, c("lu", "pivots", "permutation"))
    k <- min(dim(x))
    l <- values(f$lu)[, seq_len(k), drop = FALSE]
    u <- values(f$lu)[seq_len(k), , drop = FALSE]
    l[upper.tri(l)] <- 0
    diag(l) <- 1
    u[lower.tri(u)] <- 0
    expect_equal(l %*% u, x[values(f$permutation), ], tolerance = 1e-13)
  }
  expect_identical(qr(f64(tall))$rank, qr(tall)$rank)
})

test_that("full factors are square and orthonormal", {
  for (x in list(tall, t(tall))) {
    f <- nv_qr(f64(x), full = TRUE)
    expect_identical(shape(f$q), rep(nrow(x), 2L))
    expect_equal(values(f$q %*% f$r), x, tolerance = 1e-13)
    expect_equal(crossprod(values(f$q)), diag(nrow(x)), tolerance = 1e-13)
    f <- nv_svd(f64(x), full = TRUE)
    expect_equal(crossprod(values(f$u)), diag(nrow(x)), tolerance = 1e-13)
    expect_equal(crossprod(values(f$v)), diag(ncol(x)), tolerance = 1e-13)
  }
  loss <- function(x) sum(nv_svd(x, full = TRUE)$u)
  expect_error(gradient(loss)(f64(tall)), "not unique", class = "anvil_error_grad")
  expect_error(
    gradient(function(x) sum(nv_qr(x, full = TRUE)$q))(f64(tall)), "not unique", class = "anvil_error_grad"
  )
})

test_that("one triangle is read", {
  junk <- positive
  junk[upper.tri(junk)] <- NaN
  expect_identical(values(nv_chol(f64(junk))), values(nv_chol(f64(positive))))
  expect_identical(values(nv_eigh(f64(junk))$values), values(nv_eigh(f64(positive))$values))
  expect_identical(values(chol(f64(t(junk)))), values(chol(f64(positive))))
  expect_identical(
    values(nv_triangular_solve(f64(junk), f64(diag(4)))),
    values(nv_triangular_solve(f64(positive), f64(diag(4))))
  )
  slope <- values(gradient(function(x) sum(nv_chol(x)))(f64(positive))[[1L]])
  expect_identical(slope[upper.tri(slope)], numeric(6))
})

test_that("complex matrices have conjugates where they should", {
  z <- matrix(complex(real = rnorm(9), imaginary = rnorm(9)), 3)
  h <- z %*% conjugate(z) + diag(3)
  expect_equal(values(nv_chol(nv_tensor(h)) %*% nv_chol(nv_tensor(h), lower = FALSE)), h, tolerance = 1e-5)
  wide <- nv_tensor(h, "c128")
  l <- values(nv_chol(wide))
  expect_equal(l %*% conjugate(l), h, tolerance = 1e-13)
  f <- nv_eigh(wide)
  expect_identical(as.character(dtype(f$values)), "f64")
  expect_equal(values(f$values), rev(eigen(h)$values), tolerance = 1e-13)
  v <- values(f$vectors)
  expect_equal(h %*% v, v %*% diag(values(f$values)), tolerance = 1e-12)
  f <- nv_svd(nv_tensor(z, "c128"))
  expect_equal(values(f$u) %*% diag(values(f$d)) %*% conjugate(values(f$v)), z, tolerance = 1e-13)
  b <- matrix(complex(real = 1:3, imaginary = 3:1), 3)
  expect_equal(values(solve(nv_tensor(z, "c128"), nv_tensor(b, "c128"))), solve(z, b), tolerance = 1e-12)
  expect_equal(
    values(nv_solve(nv_tensor(z, "c128"), nv_tensor(b, "c128"), adjoint = TRUE)), solve(conjugate(z), b),
    tolerance = 1e-12
  )
})

test_that("derivatives agree with differences, first and second order, in both modes", {
  w <- f64(matrix(cos(1:16), 4))
  t6 <- f64(matrix(cos(1:18), 6))
  expect_derivatives(function(x) sum(sin(nv_chol(x)) * w), positive, "chol")
  expect_derivatives(function(x) sum(sin(chol(x)) * w), positive, "upper chol")
  expect_derivatives(
    function(x) sum(sin(nv_triangular_solve(x, w)) * w), square + 4 * diag(4), "triangular solve"
  )
  expect_derivatives(
    function(x) sum(nv_triangular_solve(x, w, lower = FALSE, adjoint = TRUE, unit_diagonal = TRUE) * w),
    square,
    "adjoint triangular solve"
  )
  expect_derivatives(function(x) sum(sin(nv_lu(x)$lu) * w), square, "LU")
  expect_derivatives(function(x) sum(sin(nv_lu(x)$lu) * t6), tall, "LU of a long matrix")
  expect_derivatives(function(x) sum(sin(nv_lu(x)$lu) * t(t6)), t(tall), "LU of a wide matrix")
  qr_of <- function(x) {
    f <- nv_qr(x)
    sum(sin(f$q)) + sum(cos(f$r) * f$r)
  }
  expect_derivatives(qr_of, square, "QR")
  expect_derivatives(qr_of, tall, "QR of a long matrix")
  expect_derivatives(qr_of, t(tall), "QR of a wide matrix")
  eigen_of <- function(x) {
    f <- nv_eigh(x)
    sum(sin(f$values)) + sum(f$vectors * f$vectors * w)
  }
  expect_derivatives(eigen_of, positive, "eigenvalues and vectors")
  expect_derivatives(function(x) sum(sin(nv_eigvalsh(x))), positive, "eigenvalues")
  svd_of <- function(x) {
    f <- nv_svd(x)
    sum(sin(f$d)) + sum(sin(f$u * f$u)) + sum(f$v[1, ] * f$v[2, ])
  }
  expect_derivatives(svd_of, square, "SVD")
  expect_derivatives(svd_of, tall, "SVD of a long matrix")
  expect_derivatives(svd_of, t(tall), "SVD of a wide matrix")
})

test_that("a batch in front, vmap(), jit() and other memory orders give the same", {
  batch <- array(rnorm(3 * 16), c(3, 4, 4))
  for (i in 1:3) batch[i, , ] <- crossprod(batch[i, , ]) + diag(4)
  x <- f64(batch)
  ops <- list(
    nv_chol, function(x) nv_eigh(x)$values, function(x) nv_svd(x)$u, function(x) abs(nv_qr(x)$r),
    function(x) nv_lu(x)$lu, nv_inv, nv_det, nv_pinv
  )
  for (op in ops) {
    together <- values(op(x))
    for (i in 1:3) {
      one <- values(op(f64(batch[i, , ])))
      found <- matrix(together, 3L)[i, ]
      expect_equal(as.vector(found), as.vector(one), tolerance = 1e-12)
    }
    expect_equal(values(vmap(op)(x)), together, tolerance = 1e-12)
    expect_identical(values(jit(op)(x)), together)
    turned <- jit(function(x) op(nv_transpose(x, c(1, 3, 2))))
    expect_identical(values(turned(f64(aperm(batch, c(1, 3, 2))))), values(jit(op)(x)))
  }
  # Singular values that a program reads alone are those beside vectors.
  for (n in c(4, 12, 60)) {
    x <- f64(array(rnorm(3 * n * n), c(3, n, n)))
    expect_identical(values(jit(function(x) nv_svd(x)$d)(x)), values(nv_svd(x)$d))
  }
})

test_that("empty and single matrices, dtypes and ambiguity", {
  empty <- nv_empty("f64", c(0, 0))
  expect_identical(shape(nv_chol(empty)), c(0L, 0L))
  expect_identical(shape(nv_eigh(empty)$values), 0L)
  expect_identical(shape(nv_svd(nv_empty("f64", c(0, 3)))$v), c(3L, 0L))
  expect_identical(shape(nv_qr(nv_empty("f64", c(3, 0)))$q), c(3L, 0L))
  expect_identical(shape(solve(empty)), c(0L, 0L))
  expect_identical(values(nv_det(empty)), 1)
  expect_identical(shape(nv_chol(nv_empty("f32", c(0, 2, 2)))), c(0L, 2L, 2L))
  for (dtype in c("bf16", "f16", "f32", "f64", "c64", "c128")) {
    expect_identical(as.character(dtype(nv_chol(nv_tensor(4, dtype, shape = c(1, 1))))), dtype)
  }
  expect_identical(values(nv_chol(nv_tensor(matrix(4L)))), matrix(2))
  expect_true(ambiguous(nv_chol(matrix(4))))
  expect_false(ambiguous(nv_chol(f64(matrix(4)))))
})

test_that("what has no factor is NaN, with a warning outside of programs that names the column", {
  bad <- diag(4)
  bad[3, 3] <- -1
  warning <- expect_warning(out <- nv_chol(f64(bad)), class = "anvil_warning_singular")
  expect_identical(warning$column, 3L)
  expect_true(all(is.nan(values(out))))
  expect_warning(out <- jit(nv_chol)(f64(bad)), NA)
  expect_true(all(is.nan(values(out))))
  expect_warning(nv_chol(f64(diag(NaN, 2))), NA)
  expect_true(all(is.nan(values(nv_eigh(f64(diag(Inf, 2)))$vectors))))
  expect_true(all(is.nan(values(nv_svd(f64(diag(NaN, 2)))$d))))
})

test_that("bad input is a classed error that names the argument", {
  e <- expect_error(nv_chol(f64(tall)), "square", class = "anvil_error_shape")
  expect_identical(e$operand, "operand")
  expect_error(nv_eigh(nv_tensor(1:3)), "at least 2 axes", class = "anvil_error_shape")
  expect_error(nv_svd(nv_scalar(1)), class = "anvil_error_shape")
  expect_error(nv_chol(f64(positive), lower = 1), class = "anvil_error_arg")
  expect_error(nv_qr(f64(positive), full = NA), class = "anvil_error_arg")
  expect_error(nv_triangular_solve(f64(positive), f64(tall)), "as many rows", class = "anvil_error_shape")
  expect_error(nv_triangular_solve(f64(tall), f64(tall)), "square", class = "anvil_error_shape")
  expect_error(chol(f64(positive), pivot = TRUE), class = "anvil_error_arg")
  expect_error(jit(function(x) base:::svd(x))(f64(square)), "nv_svd", class = "anvil_error_concrete")
  expect_error(jit(function(x) base:::eigen(x))(f64(square)), "nv_eigh", class = "anvil_error_concrete")
})
