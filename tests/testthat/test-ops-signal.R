some_complex <- function(n) complex(real = sin(seq_len(n)), imaginary = cos(3 * seq_len(n)))

test_that("transforms are those of base R, for lengths of all kinds", {
  for (n in c(1:17, 30, 64, 67, 100, 210, 251, 1000)) {
    z <- some_complex(n)
    expect_equal(as_array(nv_fft(nv_tensor(z, "c128"))), array(fft(z)), tolerance = 1e-13, label = n)
    expect_equal(
      as_array(nv_ifft(nv_tensor(z, "c128"))), array(fft(z, inverse = TRUE) / n), tolerance = 1e-13
    )
    x <- Re(z)
    half <- nv_rfft(nv_tensor(x, "f64"))
    expect_equal(as_array(half), array(fft(x)[seq_len(n %/% 2 + 1)]), tolerance = 1e-13)
    expect_equal(as_array(nv_irfft(half, n = n)), array(x), tolerance = 1e-13)
    expect_equal(as_array(nv_fft(nv_tensor(z, "c64"))), array(fft(z)), tolerance = 1e-6)
  }
})

test_that("each axis is transformed by itself, two axes are a transform of matrices", {
  z <- array(some_complex(60), c(3, 4, 5))
  x <- nv_tensor(z, "c128")
  for (axis in c(1:3, -1L)) {
    at <- if (axis < 0) 3L else axis
    want <- aperm(apply(z, setdiff(1:3, at), fft), order(c(at, setdiff(1:3, at))))
    expect_equal(as_array(nv_fft(x, axis = axis)), want, tolerance = 1e-13)
  }
  m <- matrix(some_complex(12), 3)
  expect_equal(as_array(nv_fft(nv_tensor(m, "c128"), axis = 1)), mvfft(m), tolerance = 1e-13)
  expect_equal(as_array(nv_fft2(nv_tensor(m, "c128"))), fft(m), tolerance = 1e-13)
  expect_equal(as_array(nv_ifft2(nv_fft2(nv_tensor(m, "c128")))), m, tolerance = 1e-13)
  each <- apply(z, 1, fft, simplify = FALSE)
  expect_equal(as_array(nv_fft2(x))[2, , ], fft(z[2, , ]), tolerance = 1e-13)
  expect_length(each, 3L)
})

test_that("real numbers become complex ones, ambiguous ones stay so", {
  expect_identical(type_of(nv_fft(nv_tensor(1:4))), "c64?[4]")
  expect_identical(type_of(nv_fft(1:4)), "c64?[4]")
  expect_identical(type_of(nv_rfft(c(1, 2, 3))), "c64?[2]")
  expect_identical(type_of(nv_irfft(nv_rfft(c(1, 2, 3, 4)))), "f32?[4]")
  for (dtype in c("f32", "f64")) {
    wide <- if (dtype == "f32") "c64" else "c128"
    x <- nv_tensor(c(1, 2, 4), dtype)
    expect_identical(type_of(nv_fft(x)), paste0(wide, "[3]"))
    expect_identical(type_of(nv_rfft(x)), paste0(wide, "[2]"))
    expect_identical(type_of(nv_irfft(nv_rfft(x), n = 3)), paste0(dtype, "[3]"))
  }
  for (dtype in c("bf16", "f16")) expect_identical(type_of(nv_fft(nv_tensor(1:2, dtype))), "c64[2]")
  expect_identical(as_array(nv_fft(nv_tensor(c(TRUE, FALSE)))), array(c(1 + 0i, 1 + 0i)))
  expect_equal(as_array(nv_fft(1:5)), array(fft(1:5)), tolerance = 1e-14)
})

test_that("jitted transforms are the eager ones, on views too", {
  x <- nv_tensor(array(some_complex(24), c(2, 3, 4)), "c64")
  expect_jit_equal(function(x) nv_fft(x, axis = 2), x)
  expect_jit_equal(function(x) nv_ifft(nv_transpose(x, c(3, 1, 2)), axis = 1), x)
  r <- nv_tensor(array(sin(1:24), c(2, 3, 4)))
  expect_jit_equal(function(x) nv_irfft(nv_rfft(x[, 3:1, ] * 2, axis = 2) + 1, axis = 2, n = 3), r)
  expect_jit_equal(function(x) nv_fft2(x, axes = c(1, 3)), x)
})

test_that("transforms have derivatives, and batches", {
  x <- nv_tensor(cos(1:6), "f64")
  w <- nv_tensor(c(1, -2, 0.5, 3, 1, 2), "f64")
  energy <- function(x) sum(Mod(nv_fft(x))^2 * w)
  differences <- vapply(1:6, function(i) {
    d <- replace(numeric(6), i, 1e-5)
    f <- function(x) sum(Mod(fft(x))^2 * c(1, -2, 0.5, 3, 1, 2))
    (f(cos(1:6) + d) - f(cos(1:6) - d)) / 2e-5
  }, 0)
  expect_equal(as.double(gradient(energy)(x)$x), differences, tolerance = 1e-8)
  half <- function(x) sum(Mod(nv_rfft(x))^2 * w[1:4])
  d <- nv_tensor(sin(1:6), "f64")
  expect_equal(as.double(jvp(half, list(x), list(d))$tangent), sum(as.double(gradient(half)(x)$x) * sin(1:6)))
  m <- nv_tensor(matrix(sin(1:12), 3), "f64")
  expect_identical(vmap(nv_rfft)(m), nv_rfft(m, axis = 2))
  expect_identical(as_array(vmap(function(v) nv_fft(v), in_axes = 2)(m)), t(as_array(nv_fft(m, axis = 1))))
})

test_that("NaN spreads, empty axes and 0-d values are cared for", {
  expect_true(all(is.nan(as_array(Re(nv_fft(nv_tensor(c(1, NaN, 3), "f64")))))))
  expect_identical(shape(nv_fft(nv_tensor(complex(0), "c64"))), 0L)
  expect_identical(shape(nv_rfft(nv_fill(1, c(0, 4)), axis = 2)), c(0L, 3L))
  expect_error(nv_rfft(nv_fill(1, c(0, 4)), axis = 1), "at least 1 element", class = "anvil_error_shape")
  expect_error(nv_fft(nv_scalar(1)), class = "anvil_error_axis")
  expect_identical(as_array(nv_irfft(nv_tensor(2i + 3, "c128"), n = 1)), array(3))
})

test_that("bad arguments are named", {
  x <- nv_tensor(c(1, 2, 3))
  expect_error(nv_fft(x, axis = 2), class = "anvil_error_axis")
  expect_error(nv_fft(x, axis = c(1, 1)), class = "anvil_error_axis")
  expect_error(nv_fft(nv_fill(1, c(2, 2)), axis = 1:2), "one axis", class = "anvil_error_arg")
  expect_error(nv_fft2(nv_fill(1, c(2, 2)), axes = 1), "two axes", class = "anvil_error_arg")
  expect_error(nv_rfft(nv_tensor(1i)), class = "anvil_error_dtype")
  expect_error(nv_irfft(nv_rfft(x), n = 5), "2 or 3", class = "anvil_error_arg")
  expect_error(nv_irfft(nv_rfft(x), n = 2.5), class = "anvil_error_arg")
  expect_error(jit(function(x) stats:::fft(x))(x), "nv_fft", class = "anvil_error_concrete")
  expect_error(
    jit(function(x) stats:::mvfft(x))(nv_fill(1, c(2, 2))), "nv_fft", class = "anvil_error_concrete"
  )
})
