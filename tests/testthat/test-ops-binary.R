# Elementwise ops of two operands. Integer corners are those of chapter 3.1 of the reference: what XLA's CPU
# does where StableHLO leaves it open.

# x op y for scalars given as strings, in a dtype, as a tensor of shape (1).
apply_to <- function(op, x, y, dtype) op(tensor_of(x, dtype), tensor_of(y, dtype))

expect_integers <- function(op, dtype, x, y, want) {
  expect_identical(
    apply_to(op, as.character(x), as.character(y), dtype), tensor_of(as.character(want), dtype),
    label = paste(deparse1(substitute(op)), dtype)
  )
}

test_that("floats are those of base R", {
  x <- c(-7.5, -2, -0.3, 0.7, 2, 100)
  y <- c(2, -3, 0.1, 0.7, -0.5, 1e-3)
  cases <- list(
    list(nv_add, `+`), list(nv_sub, `-`), list(nv_mul, `*`), list(nv_div, `/`), list(nv_mod, `%%`),
    list(nv_floor_div, `%/%`), list(nv_max, pmax), list(nv_min, pmin), list(nv_atan2, atan2),
    list(nv_remainder, function(x, y) sign(x) * (abs(x) %% abs(y)))
  )
  for (case in cases) {
    # 16-bit floats are those of f32, rounded: see test-half.R.
    for (dtype in c("f32", "f64")) {
      lhs <- nv_tensor(x, dtype = dtype)
      rhs <- nv_tensor(y, dtype = dtype)
      tolerance <- if (dtype == "f32") 2e-7 else 1e-15
      # The remainder of 100 by 0.001 hangs on the last bit of each.
      exact <- if (dtype == "f32") 1:5 else 1:6
      got <- as_array(case[[1L]](lhs, rhs))[exact]
      expect_close(got, case[[2L]](as_array(lhs), as_array(rhs))[exact], tolerance, deparse1(case[[1L]]))
      expect_jit_equal(case[[1L]], lhs, rhs)
    }
  }
  expect_close(
    nv_pow(nv_tensor(c(2, 0.5, -2, 9), dtype = "f64"), nv_tensor(c(10, -2, 3, 0.5), dtype = "f64")),
    c(1024, 4, -8, 3), 1e-15
  )
  # Orders above 0 of digamma; 0 is digamma itself. 3 at 0.5 is pi^4.
  n <- nv_tensor(c(0, 1, 2, 3), dtype = "f64")
  expect_close(
    nv_polygamma(n, nv_tensor(c(2.5, 2.5, 2.5, 0.5), dtype = "f64")), c(psigamma(2.5, 0:2), pi^4), 1e-13
  )
  expect_elements(nv_polygamma(nv_tensor(c(-1, 0.5)), 2), c(NaN, NaN), "f32[2]")
})

test_that("floats: NaN, infinities, signed zeros", {
  f <- function(op, x, y) op(nv_tensor(x, dtype = "f64"), nv_tensor(y, dtype = "f64"))
  expect_elements(f(nv_div, c(1, -1, 0, 1, -1), c(0, 0, 0, -0, Inf)), c(Inf, -Inf, NaN, -Inf, -0), "f64[5]")
  expect_elements(f(nv_max, c(NaN, 1, -0, 0), c(1, NaN, 0, -0)), c(NaN, NaN, 0, 0), "f64[4]")
  expect_elements(f(nv_min, c(NaN, 1, -0, 0), c(1, NaN, 0, -0)), c(NaN, NaN, -0, -0), "f64[4]")
  expect_elements(
    f(nv_pow, c(0, 0, -2, NaN, 1, -0), c(0, -1, 0.5, 0, NaN, 3)), c(1, Inf, NaN, 1, 1, -0), "f64[6]"
  )
  expect_elements(
    f(nv_remainder, c(5, -5, 5, 1, 1, -4), c(3, 3, -3, 0, Inf, 2)), c(2, -2, 2, NaN, 1, -0), "f64[6]"
  )
  expect_elements(f(nv_mod, c(5, -5, 5, -5, 1, -4), c(3, 3, -3, -3, 0, 2)), c(2, 1, -1, -2, NaN, 0), "f64[6]")
  expect_elements(f(nv_floor_div, c(5, -5, 5, 1, 0), c(3, 3, -3, 0, 0)), c(1, -2, -2, Inf, NaN), "f64[5]")
  expect_elements(f(nv_atan2, c(0, -0, 0), c(-1, -1, 1)), c(pi, -pi, 0), "f64[3]")
  # Base R on the same numbers.
  x <- c(-7, 7, -7, 7, 0.3, 1)
  y <- c(3, -3, -3, 3, 0.1, 0.1)
  expect_elements(f(nv_mod, x, y), x %% y, "f64[6]")
  expect_elements(f(nv_floor_div, x, y), x %/% y, "f64[6]")
})

test_that("quotients and remainders of special numbers are those of R", {
  # Columns are what rows are divided by. What R 4.2.2 gives, but for the sign of a zero, which R does not
  # keep.
  special <- c(-Inf, -5.5, -2, -0, 0, 2, 5.5, Inf, NaN)
  table <- function(...) matrix(c(...), length(special), byrow = TRUE)
  quotients <- table(
    NaN, Inf, Inf, Inf, -Inf, -Inf, -Inf, NaN, NaN,
    0, 1, 2, Inf, -Inf, -3, -1, -1, NaN,
    0, 0, 1, Inf, -Inf, -1, -1, -1, NaN,
    0, 0, 0, NaN, NaN, 0, 0, 0, NaN,
    0, 0, 0, NaN, NaN, 0, 0, 0, NaN,
    -1, -1, -1, -Inf, Inf, 1, 0, 0, NaN,
    -1, -1, -3, -Inf, Inf, 2, 1, 0, NaN,
    NaN, -Inf, -Inf, -Inf, Inf, Inf, Inf, NaN, NaN,
    NaN, NaN, NaN, NaN, NaN, NaN, NaN, NaN, NaN
  )
  remainders <- table(
    NaN, NaN, NaN, NaN, NaN, NaN, NaN, NaN, NaN,
    -5.5, 0, -1.5, NaN, NaN, 0.5, 0, Inf, NaN,
    -2, -2, 0, NaN, NaN, 0, 3.5, Inf, NaN,
    0, 0, 0, NaN, NaN, 0, 0, 0, NaN,
    0, 0, 0, NaN, NaN, 0, 0, 0, NaN,
    -Inf, -3.5, 0, NaN, NaN, 0, 2, 2, NaN,
    -Inf, 0, -0.5, NaN, NaN, 1.5, 0, 5.5, NaN,
    NaN, NaN, NaN, NaN, NaN, NaN, NaN, NaN, NaN,
    NaN, NaN, NaN, NaN, NaN, NaN, NaN, NaN, NaN
  )
  n <- length(special)
  for (dtype in c("f16", "f32", "f64")) {
    x <- nv_tensor(matrix(special, n, n), dtype = dtype)
    y <- nv_tensor(matrix(special, n, n, byrow = TRUE), dtype = dtype)
    expect_equal(as_array(x %/% y), quotients, label = paste("quotients of", dtype))
    expect_equal(as_array(x %% y), remainders, label = paste("remainders of", dtype))
    expect_jit_equal(nv_floor_div, x, y)
  }
})

test_that("integers wrap", {
  for (dtype in integers) {
    low <- lowest[[dtype]]
    high <- highest[[dtype]]
    expect_integers(nv_add, dtype, high, 1, low)
    expect_integers(nv_sub, dtype, low, 1, high)
    twice <- switch(
      dtype, ui8 = "254", ui16 = "65534", ui32 = "4294967294", ui64 = "18446744073709551614", "-2"
    )
    expect_integers(nv_mul, dtype, c(high, high), c(2, high), c(twice, 1))
    expect_integers(nv_max, dtype, c(low, 3), c(high, 2), c(high, 3))
    expect_integers(nv_min, dtype, c(low, 3), c(high, 2), c(low, 2))
  }
})

test_that("integers: quotients truncate or round down, and a zero divisor traps nothing", {
  for (dtype in integers) {
    low <- lowest[[dtype]]
    high <- highest[[dtype]]
    ones <- if (dtype %in% signed) "-1" else high
    expect_integers(nv_div, dtype, c(7, 6, 7), c(2, 3, 0), c("3", "2", ones))
    expect_integers(nv_floor_div, dtype, c(7, 6, 7), c(2, 3, 0), c("3", "2", ones))
    expect_integers(nv_remainder, dtype, c(7, 6, 7), c(4, 3, 0), c(3, 0, 7))
    expect_integers(nv_mod, dtype, c(7, 6, 7), c(4, 3, 0), c(3, 0, 7))
  }
  for (dtype in signed) {
    low <- lowest[[dtype]]
    x <- c(-7, 7, -7, -6, low)
    y <- c(2, -2, -2, 3, -1)
    expect_integers(nv_div, dtype, x, y, c(-3, -3, 3, -2, low))
    expect_integers(nv_floor_div, dtype, x, y, c(-4, -4, 3, -2, low))
    expect_integers(nv_remainder, dtype, x, y, c(-1, 1, -1, 0, 0))
    expect_integers(nv_mod, dtype, x, y, c(1, -1, -1, 0, 0))
  }
  # Base R agrees on i32, where it has a result.
  x <- as.integer(c(-7, 7, -7, 7, 2147483647, -2147483647))
  y <- as.integer(c(3, -3, -3, 3, -2, 2))
  expect_jit_equal(function(x, y) x %% y, nv_tensor(x), nv_tensor(y), r = x %% y)
  expect_jit_equal(function(x, y) x %/% y, nv_tensor(x), nv_tensor(y), r = x %/% y)
})

test_that("integers: powers wrap, and negative exponents give 0 but for 1 and -1", {
  for (dtype in integers) {
    width <- bits(dtype)
    expect_integers(
      nv_pow, dtype, c(3, 0, 2, 2), c(4, 0, width - 2, width),
      c(81, 1, format(2^(width - 2), scientific = FALSE), 0)
    )
  }
  for (dtype in signed) {
    expect_integers(nv_pow, dtype, c(2, 1, -1, -1, 0, -2), c(-1, -5, -2, -3, -1, 3), c(0, 1, 1, -1, 0, -8))
    expect_integers(nv_pow, dtype, 2, bits(dtype) - 1, lowest[[dtype]])
  }
})

test_that("shifts by less than nothing or more than there is", {
  for (dtype in integers) {
    width <- bits(dtype)
    is_signed <- dtype %in% signed
    high <- highest[[dtype]]
    top <- if (is_signed) lowest[[dtype]] else switch(
      dtype, ui8 = "128", ui16 = "32768", ui32 = "2147483648", ui64 = "9223372036854775808"
    )
    expect_integers(nv_shift_left, dtype, c(1, 3, 1, 1), c(0, 2, width - 1, width), c(1, 12, top, 0))
    expect_integers(nv_shift_right_logical, dtype, c(12, top, 12), c(2, width - 1, width), c(3, 1, 0))
    # The top bit is the sign for arithmetic shifts, of unsigned integers too.
    ones <- if (is_signed) "-1" else high
    expect_integers(
      nv_shift_right_arithmetic, dtype, c(12, top, top, 12), c(2, width - 1, width, width),
      c(3, ones, ones, 0)
    )
    if (is_signed) {
      expect_integers(nv_shift_left, dtype, 1, -1, 0)
      expect_integers(nv_shift_right_logical, dtype, c(-1, 1), c(-1, -1), c(0, 0))
      expect_integers(nv_shift_right_arithmetic, dtype, c(-8, -8, 8), c(1, -1, -1), c(-4, -1, 0))
    }
  }
  expect_integers(nv_shift_right_logical, "i32", -8, 1, 2147483644)
  for (f in list(nv_shift_left, nv_shift_right_logical, nv_shift_right_arithmetic)) {
    expect_error(f(nv_tensor(1), nv_tensor(1)), class = "anvil_error_dtype", "integers")
    expect_error(f(nv_tensor(TRUE), nv_tensor(TRUE)), class = "anvil_error_dtype")
  }
})

test_that("bits of integers, truth of booleans", {
  for (dtype in integers) {
    expect_integers(nv_and, dtype, c(12, 5), c(10, 2), bitwAnd(c(12L, 5L), c(10L, 2L)))
    expect_integers(nv_or, dtype, c(12, 5), c(10, 2), bitwOr(c(12L, 5L), c(10L, 2L)))
    expect_integers(nv_xor, dtype, c(12, 5), c(10, 2), bitwXor(c(12L, 5L), c(10L, 2L)))
  }
  x <- nv_tensor(c(TRUE, TRUE, FALSE, FALSE))
  y <- nv_tensor(c(TRUE, FALSE, TRUE, FALSE))
  expect_elements(nv_and(x, y), c(TRUE, FALSE, FALSE, FALSE), "i1[4]")
  expect_elements(nv_or(x, y), c(TRUE, TRUE, TRUE, FALSE), "i1[4]")
  expect_elements(nv_xor(x, y), c(FALSE, TRUE, TRUE, FALSE), "i1[4]")
  # The largest is or, product and smallest are and; sum and difference count, as in R.
  expect_elements(nv_add(x, y), c(2L, 1L, 1L, 0L), "i32[4]")
  expect_elements(nv_sub(x, y), c(0L, 1L, -1L, 0L), "i32[4]")
  expect_elements(-x, c(-1L, -1L, 0L, 0L), "i32[4]")
  expect_identical(nv_max(x, y), nv_or(x, y))
  expect_identical(nv_mul(x, y), nv_and(x, y))
  expect_identical(nv_min(x, y), nv_and(x, y))
  for (f in list(nv_div, nv_pow)) {
    expect_error(f(x, y), class = "anvil_error_dtype", "integers, floats and complex numbers, not i1")
  }
  for (f in list(nv_remainder, nv_mod, nv_floor_div)) {
    expect_error(f(x, y), class = "anvil_error_dtype", "integers and floats, not i1")
  }
  for (f in list(nv_and, nv_or, nv_xor)) {
    expect_error(f(nv_tensor(1), nv_tensor(1)), class = "anvil_error_dtype")
  }
})

test_that("ops on floats alone take integers as an ambiguous f32", {
  for (dtype in c("i1", integers)) {
    one <- nv_tensor(c(1, 1), dtype = dtype)
    expect_close(nv_atan2(one, one), rep(pi / 4, 2), 1e-7)
    expect_identical(type_of(nv_atan2(one, one)), "f32?[2]")
    expect_close(nv_polygamma(one, one), rep(trigamma(1), 2), 2e-7)
  }
  expect_identical(type_of(nv_atan2(nv_tensor(1L), nv_tensor(1, dtype = "f64"))), "f64[1]")
})

test_that("operands are promoted, and the result is ambiguous as the lattice says", {
  for (l in dtypes) for (r in dtypes) for (lq in c(FALSE, TRUE)) for (rq in c(FALSE, TRUE)) {
    want <- common_dtype(l, r, lq, rq)
    # Booleans count.
    if (want$dtype == as_dtype("i1")) want <- list(dtype = as_dtype("i32"), ambiguous = FALSE)
    got <- nv_add(nv_fill(1L, 2L, l, ambiguous = lq), nv_fill(1L, 2L, r, ambiguous = rq))
    expect_identical(
      type_of(got), paste0(as.character(want$dtype), if (want$ambiguous) "?", "[2]"),
      label = paste(l, lq, r, rq)
    )
  }
})

test_that("an R number is materialised at the dtype it is promoted to", {
  x <- nv_tensor(c(1, 2), dtype = "f64")
  expect_elements(x * 0.1, c(1, 2) * 0.1, "f64[2]")
  expect_elements(0.1 + x, 0.1 + c(1, 2), "f64[2]")
  expect_elements(x + matrix(0.1, 1, 1)[[1L]], c(1, 2) + 0.1, "f64[2]")
  expect_elements(x * array(c(0.1, 0.7), 2), c(1, 2) * c(0.1, 0.7), "f64[2]")
  expect_jit_equal(function(x) x * 0.1 - 0.7, x, r = c(1, 2) * 0.1 - 0.7, tolerance = 0)
  # An argument of a jitted function as well.
  expect_identical(jit(function(x, y) x * y)(x, 0.1), x * 0.1)
  expect_elements(nv_tensor(1:3) / 2, c(0.5, 1, 1.5), "f32?[3]")
  expect_elements(nv_tensor(1:2, dtype = "i8") + 1L, 2:3, "i8[2]")
  # A literal that the known dtype cannot hold wraps, as the conversion of chapter 3.4 does.
  expect_elements(nv_tensor(1L, dtype = "ui8") + (-2L), 255L, "ui8[1]")
  expect_elements(nv_tensor(TRUE) + 1L, 2L, "i32?[1]")
  expect_elements(nv_tensor(TRUE) + TRUE, 2L, "i32[1]")
})

test_that("0-d operands broadcast", {
  x <- nv_tensor(1:6, shape = c(2, 3))
  expect_elements(x + nv_scalar(1L, dtype = "i32"), 2:7, "i32[2, 3]")
  expect_elements(nv_scalar(10L, dtype = "i32") - x, 9:4, "i32[2, 3]")
  expect_elements(1L + x, 2:7, "i32[2, 3]")
  expect_elements(nv_scalar(1L) + nv_scalar(2L), 3L, "i32?[]")
  expect_elements(nv_empty("f32", c(0, 2)) + 1, numeric(), "f32[0, 2]")
})

test_that("R numbers, vectors and arrays are operands on either side", {
  x <- nv_tensor(1:4, shape = c(2, 2))
  expect_elements(x + matrix(1:4, 2), 2L * 1:4, "i32[2, 2]")
  expect_elements(matrix(1:4, 2) + x, 2L * 1:4, "i32[2, 2]")
  expect_elements(x * matrix(c(0.5, 1, 1.5, 2), 2), 1:4 * c(0.5, 1, 1.5, 2), "f32?[2, 2]")
  expect_elements(nv_add(2, 3), 5, "f32?[]")
  expect_elements(nv_tensor(1:4) + 1:4, 2L * 1:4, "i32[4]")
  expect_elements(c(0.1, 0.2) * nv_tensor(c(1, 2), "f64"), c(0.1, 0.4), "f64[2]")
  expect_error(x + "1", class = "anvil_error_arg", "character")
  expect_error(x + NULL, class = "anvil_error_arg", "NULL")
  expect_error(x + NA_integer_, class = "anvil_error_value")
  expect_error(x + matrix(c(1L, NA, 3L, 4L), 2), class = "anvil_error_value")
  expect_error(nv_add(list(x, x), x), class = "anvil_error_arg", "list")
  expect_error(nv_add(x), "rhs")
  # NA_real_ is a NaN.
  expect_elements(nv_tensor(1) + NA_real_, NaN, "f32[1]")
})

test_that("empty operands", {
  for (dtype in c(integers, floats)) {
    x <- nv_empty(dtype, c(2, 0))
    for (f in list(nv_add, nv_div, nv_mod, nv_floor_div, nv_pow, nv_max)) {
      expect_identical(f(x, x), x)
      expect_identical(f(x, nv_scalar(0L)), x)
    }
  }
})

test_that("large operands, contiguous, transposed and broadcast, agree with base R", {
  set.seed(1)
  a <- matrix(rnorm(70 * 90), 70)
  b <- matrix(rnorm(70 * 90), 90)
  x <- nv_tensor(a, dtype = "f64")
  y <- nv_tensor(b, dtype = "f64")
  expect_jit_equal(
    function(x, y) (x + t(y)) * x - 2 / t(y), x, y, r = (a + t(b)) * a - 2 / t(b), tolerance = 1e-15
  )
  expect_jit_equal(function(x, y) t(x) * y, x, y, r = t(a) * b, tolerance = 0)
  v <- nv_tensor(a[1, ], dtype = "f64")
  expect_jit_equal(
    function(x, v) x - nv_broadcast_to(v, shape(x)), x, v, r = a - matrix(a[1, ], 70, 90, byrow = TRUE),
    tolerance = 0
  )
})
