# bf16 and f16: what ops on them give is what ops on f32 give, rounded once to the nearest number, ties to
# even. The rounding here is R's own: steps between neighbouring numbers, in doubles, which hold them all
# exactly.

formats <- list(
  bf16 = list(digits = 8L, lowest = -126L, largest = (2 - 2^-7) * 2^127),
  f16 = list(digits = 11L, lowest = -14L, largest = 65504)
)

# The numbers of a format nearest to doubles. round() takes ties to the even neighbour.
rounded <- function(x, dtype) {
  f <- formats[[dtype]]
  exponent <- pmax(floor(log2(abs(x))), f$lowest)
  # log2() of a number just below a power of two may be whole.
  exponent <- ifelse(is.finite(x) & abs(x) < 2^exponent & exponent > f$lowest, exponent - 1, exponent)
  step <- 2^(exponent - f$digits + 1)
  out <- ifelse(is.finite(x) & x != 0, round(x / step) * step, x)
  ifelse(is.finite(out) & abs(out) > f$largest, sign(out) * Inf, out)
}

# Every number of a format, from its bits.
all_bits <- function(dtype) nv_bitcast_convert(nv_tensor(0:65535, "ui16"), dtype)

same <- function(x, y) identical(is.nan(x), is.nan(y)) && identical(x[!is.nan(x)], y[!is.nan(y)]) &&
  identical(1 / x[x %in% 0], 1 / y[y %in% 0])

expect_same <- function(x, y, label) {
  bad <- which(!(is.nan(x) & is.nan(y)) & !(x == y) %in% TRUE)
  expect(
    same(as.vector(x), as.vector(y)),
    paste0(label, ": ", format(x[bad[1L]], digits = 17), " instead of ", format(y[bad[1L]], digits = 17))
  )
}

test_that("the bits of every number mean what the formats say", {
  # Sign, exponent, digits: packBits() has the low bits first.
  value <- function(word, digits) {
    bits <- as.integer(intToBits(word))[1:16]
    fraction <- sum(bits[seq_len(digits - 1)] * 2^(seq_len(digits - 1) - 1))
    exponent <- sum(bits[digits:15] * 2^(0:(15 - digits)))
    bias <- 2^(15 - digits) - 1
    size <- if (exponent == 2 * bias + 1) {
      if (fraction == 0) Inf else NaN
    } else if (exponent == 0) {
      fraction * 2^(2 - bias - digits)
    } else {
      (1 + fraction * 2^(1 - digits)) * 2^(exponent - bias)
    }
    if (bits[16] == 1) -size else size
  }
  words <- unique(c(
    0:300, 1023:1025, 15360, 16256, 31743:31745, 32639:32641, 32767:32770, 48000, 65535,
    sample(65536, 400) - 1
  ))
  for (dtype in halves) {
    want <- vapply(words, value, 0, digits = formats[[dtype]]$digits)
    expect_same(as.vector(all_bits(dtype))[words + 1], want, dtype)
    expect_identical(nv_bitcast_convert(all_bits(dtype), "ui16"), nv_tensor(0:65535, "ui16"))
  }
})

test_that("data round once to the nearest number, ties to even, beyond the range to infinities", {
  set.seed(2)
  for (dtype in halves) {
    numbers <- as.vector(all_bits(dtype))
    expect_same(rounded(numbers, dtype), numbers, dtype)
    low <- sort(numbers[is.finite(numbers) & numbers >= 0])
    low <- low[-1L]
    high <- c(low[-1L], 2 * low[length(low)] - low[length(low) - 1L])
    middle <- (low + high) / 2
    # One unit of a double beside the middle, where a stop at f32 would be a tie.
    x <- c(
      middle, middle * (1 - 2^-52), middle * (1 + 2^-52), low / 2, -middle, 1e300, -1e300, 5e-324, -0, NaN,
      Inf
    )
    x <- c(x, rnorm(1000) * 10^runif(1000, -10, 6))
    expect_same(as.vector(nv_tensor(x, dtype)), rounded(x, dtype), dtype)
    expect_same(as.vector(nv_convert(nv_tensor(x, "f64"), dtype)), rounded(x, dtype), dtype)
    single <- as_f32(x)
    expect_same(as.vector(nv_convert(nv_tensor(x, "f32"), dtype)), rounded(single, dtype), dtype)
    # There and back.
    for (wide in c("f32", "f64")) {
      expect_same(as.vector(nv_convert(nv_convert(all_bits(dtype), wide), dtype)), numbers, dtype)
    }
  }
  expect_same(as.vector(nv_tensor(c(65519.99, 65520, 2049, 2051), "f16")), c(65504, Inf, 2048, 2052), "f16")
  expect_same(as.vector(nv_tensor(c(3.4e38, 257, 259), "bf16")), c(Inf, 256, 260), "bf16")
})

test_that("integers and booleans round once, and come back truncated", {
  whole <- c(-70000L, -2049L, -1L, 0L, 1L, 255L, 257L, 259L, 2049L, 2051L, 65519L, 65520L, 2147483647L)
  for (dtype in halves) {
    for (x in list(nv_tensor(whole), nv_tensor(whole, "i64"))) {
      expect_same(as.vector(nv_convert(x, dtype)), rounded(as.double(whole), dtype), dtype)
    }
    expect_same(as.vector(nv_tensor(whole, dtype)), rounded(as.double(whole), dtype), dtype)
    expect_nv(nv_convert(nv_tensor(c(TRUE, FALSE)), dtype), c(1, 0), dtype)
    expect_nv(nv_convert(nv_tensor(c(-1.5, 2.75, NaN, Inf), dtype), "i8"), c(-1, 2, 0, 127), "i8")
    expect_nv(nv_convert(nv_tensor(c(0, NaN, 2), dtype), "i1"), c(FALSE, TRUE, TRUE), "i1")
  }
  # More digits than a double has: 2^62 + 2^54 + 1 lies above the tie.
  expect_identical(as.vector(nv_convert(nv_scalar("4629700416936869889", "i64"), "bf16")), 2^62 + 2^55)
  for (bad in list(NA, NA_integer_)) {
    expect_error(nv_tensor(bad, "bf16"), class = "anvil_error_value", "as.double")
  }
})

# Ops of one operand on floats, without those that need an integer or a boolean.
table <- as.data.frame(.Call(anvil:::wrap__anvil_ops_table))
on_floats <- table$generated & grepl("any dtype|float", table$accepts)
rows <- table[on_floats & !table$name %in% c("real", "imag"), ]
operands <- lengths(strsplit(rows$operands, ", ", fixed = TRUE))
boolean <- c("is_finite", "is_infinite", "is_nan", "eq", "ne", "gt", "ge", "lt", "le")

test_that("every op computes in f32 and rounds once", {
  set.seed(5)
  for (dtype in halves) {
    all <- all_bits(dtype)
    random <- nv_tensor(c(rnorm(3000), 10 * rnorm(3000), 0, -0, Inf, -Inf, NaN, 1, -1, 65504, 1e-7), dtype)
    shuffled <- nv_tensor(sample(as.vector(random)), dtype)
    for (i in seq_len(nrow(rows))) {
      f <- getExportedValue("anvil", rows$fun[i])
      x <- if (operands[i] == 1L) list(all) else list(random, shuffled)
      wide <- do.call(f, lapply(x, nv_convert, "f32"))
      got <- do.call(f, x)
      label <- paste(rows$name[i], dtype)
      if (rows$name[i] %in% boolean) {
        expect_identical(got, wide, label = label)
      } else {
        expect_same(as.vector(got), rounded(as.vector(wide), dtype), label)
        expect_identical(as.character(dtype(got)), dtype, label = label)
      }
      expect_identical(do.call(jit(f), x), got, label = paste(label, "jitted"))
    }
  }
  expect_gt(nrow(rows), 50)
})

test_that("arithmetic in a program rounds after each op, as it does alone", {
  set.seed(8)
  f <- function(x, y) ((x * y + x) / (y - 0.1) - x) * y
  for (dtype in halves) {
    x <- nv_tensor(rnorm(2000), dtype)
    y <- nv_tensor(rnorm(2000), dtype)
    r <- function(x) rounded(as.vector(as_f32(x)), dtype)
    a <- as.vector(x)
    b <- as.vector(y)
    # Products and quotients of two such numbers in doubles, then f32, then 16 bits.
    want <- r(r(r(r(r(a * b) + a) / r(b - r(0.1))) - a) * b)
    expect_same(as.vector(f(x, y)), want, dtype)
    expect_jit_equal(f, x, y)
    # Kept in f32 up to the end it would be another result.
    expect_false(identical(nv_convert(f(nv_convert(x, "f32"), nv_convert(y, "f32")), dtype), f(x, y)))
  }
  expect_nv(nv_tensor(60000, "f16") * 2, Inf, "f16")
  expect_nv(nv_tensor(2^-24, "f16") / 2, 0, "f16")
  expect_nv(nv_tensor(2048, "f16") + 1, 2048, "f16")
})

test_that("sums accumulate in f32, and round once", {
  for (case in list(list("f16", 10001), list("bf16", 10001))) {
    dtype <- case[[1L]]
    n <- case[[2L]]
    expect_identical(as.vector(sum(nv_fill(1, n, dtype))), rounded(n, dtype))
    expect_identical(type_of(sum(nv_fill(1, n, dtype))), paste0(dtype, "[]"))
    set.seed(9)
    x <- nv_tensor(runif(30 * 40), dtype, shape = c(30, 40))
    # A sum of 40 f32 numbers is off by less than 1e-5, and rounds to a neighbour of the exact one at most if
    # that is a tie.
    exact <- rowSums(as_array(x))
    got <- as.vector(sum(x, axes = 2))
    expect_true(all(got == rounded(exact * (1 - 1e-5), dtype) | got == rounded(exact * (1 + 1e-5), dtype)))
    expect_jit_equal(function(x) sum(x, axes = 2), x)
    expect_identical(as.vector(max(x)), max(as_array(x)))
    expect_identical(as.vector(min(x)), min(as_array(x)))
    # Neither the sum nor the number of elements need fit.
    expect_identical(as.vector(mean(nv_fill(3, 70001, dtype))), 3)
    expect_identical(as.vector(mean(x)), rounded(as.vector(mean(nv_convert(x, "f32"))), dtype))
    expect_jit_equal(mean, x)
  }
  # Beyond the range on the way, and not at the end.
  expect_identical(as.vector(sum(nv_tensor(c(60000, 60000, -60000), "f16"))), 60000)
  expect_identical(as.vector(mean(nv_tensor(c(60000, 60000), "f16"))), 60000)
  expect_identical(as.vector(prod(nv_tensor(c(60000, 2, 0.5), "f16"))), rounded(60000, "f16"))
  expect_identical(as.vector(sum(nv_tensor(c(60000, 60000), "f16"))), Inf)
  # A tile is summed in 8 parts: these three are in one.
  expect_identical(
    as.vector(sum(nv_tensor(replace(numeric(17), c(1, 9, 17), c(3e38, 3e38, -3e38)), "bf16"))), Inf
  )
  for (dtype in halves) {
    expect_nv(sum(nv_empty(dtype, 0)), 0, dtype, integer())
    expect_nv(max(nv_empty(dtype, 0)), -Inf, dtype, integer())
    expect_true(is.nan(as.vector(sum(nv_tensor(c(1, NaN), dtype)))))
    expect_true(is.nan(as.vector(max(nv_tensor(c(1, NaN), dtype)))))
  }
})

test_that("matrix products accumulate in f32, and round once", {
  set.seed(10)
  for (dtype in halves) {
    x <- nv_tensor(matrix(rnorm(12 * 30), 12), dtype)
    y <- nv_tensor(matrix(rnorm(30 * 5), 30), dtype)
    wide <- nv_matmul(nv_convert(x, "f32"), nv_convert(y, "f32"))
    expect_identical(x %*% y, nv_convert(wide, dtype))
    expect_jit_equal(nv_matmul, x, y)
    ones <- nv_fill(1, c(1, 3001), dtype)
    expect_identical(as.vector(ones %*% t(ones)), rounded(3001, dtype))
  }
})

test_that("16-bit floats print as f32 does, and their dtypes by name", {
  expect_output(print(as_dtype("bf16")), "^<BFloatType: 16>$")
  expect_output(print(as_dtype("f16")), "^<FloatType: 16>$")
  lines <- function(x) capture.output(print(x))
  x <- c(0.1, -2.5, NaN, Inf, 65504)
  for (dtype in halves) {
    narrow <- nv_tensor(x, dtype)
    plain <- lines(nv_convert(narrow, "f32"))
    expect_identical(lines(narrow), sub("CPUf32", paste0("CPU", dtype), plain, fixed = TRUE))
  }
  expect_identical(lines(nv_tensor(c(0.1, 1), "bf16"))[2:3], c(" 0.1001", " 1.0000"))
})

test_that("rounding to decimals, saving, comparing", {
  file <- tempfile(fileext = ".rds")
  for (dtype in halves) {
    x <- nv_tensor(c(1.25, -2.345, 1234, NaN, Inf), dtype)
    for (digits in c(-2, -1, 0, 1, 2)) {
      expect_same(
        as.vector(round(x, digits)), rounded(round(as.vector(x), digits), dtype), paste(dtype, digits)
      )
    }
    saveRDS(x, file)
    expect_identical(readRDS(file), x)
    expect_true(all.equal(nv_tensor(1, dtype), nv_tensor(if (dtype == "f16") 1 + 2^-10 else 1 + 2^-7, dtype)))
    expect_match(all.equal(nv_tensor(1, dtype), nv_tensor(1.5, dtype)), "difference")
  }
})
