# Elementwise ops of one operand: values against base R and stats, corners against IEEE 754 and chapter 3 of
# the reference (what StableHLO leaves open, as XLA's CPU does it).

erf <- function(x) 2 * pnorm(x * sqrt(2)) - 1

# Function, reference, points, and the relative error of the reference in f64 if that is worth a word: pnorm()
# and qnorm() are at the end of a rounded argument.
cases <- list(
  list(nv_negate, function(x) -x, c(-2.5, 0.1, 3)),
  list(nv_abs, abs, c(-2.5, 0.1, 3)),
  list(nv_sign, sign, c(-2.5, 0.1, 3)),
  list(nv_sqrt, sqrt, c(0.25, 2, 1e10)),
  list(nv_rsqrt, function(x) 1 / sqrt(x), c(0.25, 2, 1e10)),
  list(nv_cbrt, function(x) sign(x) * abs(x)^(1 / 3), c(-8, -0.3, 2, 1e9)),
  list(nv_exp, exp, c(-80, -1, 0.5, 80)),
  list(nv_exp2, function(x) 2^x, c(-80, -1.5, 0.5, 80)),
  list(nv_expm1, expm1, c(-1e-12, 1e-12, -3, 20)),
  list(nv_log, log, c(1e-30, 0.5, 1.5, 1e30)),
  list(nv_log1p, log1p, c(-0.5, 1e-12, 1e10)),
  list(nv_log2, log2, c(0.3, 8, 1e30)),
  list(nv_log10, log10, c(0.3, 1000, 1e30)),
  list(nv_sin, sin, c(-3, 0.1, 1.5, 100)),
  list(nv_cos, cos, c(-3, 0.1, 1.5, 100)),
  list(nv_tan, tan, c(-3, 0.1, 1.5, 100)),
  list(nv_sinpi, sinpi, c(-3.25, 0.1, 1, 100.5)),
  list(nv_cospi, cospi, c(-3.25, 0.1, 1.5, 100)),
  list(nv_tanpi, tanpi, c(-3.25, 0.1, 1, 100.25)),
  list(nv_asin, asin, c(-1, -0.3, 0.9)),
  list(nv_acos, acos, c(-1, -0.3, 0.9)),
  list(nv_atan, atan, c(-1e3, -0.3, 0.9)),
  list(nv_sinh, sinh, c(-3, 1e-5, 20)),
  list(nv_cosh, cosh, c(-3, 1e-5, 20)),
  list(nv_tanh, tanh, c(-3, 1e-5, 20)),
  list(nv_asinh, asinh, c(-3, 1e-5, 1e10)),
  list(nv_acosh, acosh, c(1.25, 2, 1e10)),
  list(nv_atanh, atanh, c(-0.99, 1e-5, 0.5)),
  list(nv_logistic, plogis, c(-80, -1, 0.5, 40)),
  list(nv_softplus, function(x) -plogis(-x, log.p = TRUE), c(-80, -1, 0.5, 40)),
  list(nv_erf, erf, c(-2, 0.5, 1, 3)),
  list(nv_erfc, function(x) 2 * pnorm(x * sqrt(2), lower.tail = FALSE), c(-2, 0.5, 1, 8), 1e-13),
  list(nv_erf_inv, function(x) qnorm((1 + x) / 2) / sqrt(2), c(-0.9, 0.25, 0.5, 0.999), 1e-13),
  list(nv_erfcx, function(x) 2 * pnorm(x * sqrt(2), lower.tail = FALSE) * exp(x^2), c(-2, 0.5, 1, 5), 1e-13),
  list(nv_probit, qnorm, c(0.001, 0.25, 0.5, 0.999), 1e-14),
  list(nv_gamma, gamma, c(-2.5, 0.5, 10, 30.25), 1e-14),
  list(nv_lgamma, lgamma, c(-2.5, 0.5, 10, 1e5)),
  list(nv_digamma, digamma, c(-2.5, 0.5, 10, 1e5)),
  list(nv_floor, floor, c(-2.5, 0.1, 3)),
  list(nv_ceiling, ceiling, c(-2.5, 1.1, 3)),
  list(nv_trunc, trunc, c(-2.5, 1.1, 3)),
  list(nv_round, round, c(-2.5, -1.5, 1.5, 2.5, 1.2, 3)),
  list(nv_real, Re, c(-2.5, 0.1, 3)),
  list(nv_imag, Im, c(-2.5, 0.1, 3)),
  list(nv_arg, Arg, c(-2.5, 0, 0.1, 3)),
  list(nv_conj, Conj, c(-2.5, 0.1, 3))
)
table <- as.data.frame(.Call(anvil:::wrap__anvil_ops_table))
unary <- unique(table$fun[table$operands == "operand" & (table$generated | table$fun == "nv_round")])
names(cases) <- vapply(cases, function(case) {
  Find(function(name) identical(getExportedValue("anvil", name), case[[1L]]), unary)
}, "")

test_that("nv_acosh() is NaN below 1, however far", {
  x <- c(-Inf, -1e30, -2^28, -32768, -3, -1, 0, 1 - 2^-7)
  for (d in floats) {
    expect_identical(as.double(nv_acosh(nv_tensor(x, dtype = d))), rep(NaN, length(x)), label = d)
  }
  expect_identical(as.double(nv_acosh(nv_tensor(c(1, Inf)))), c(0, Inf))
})

test_that("every op of one operand on floats is in this file", {
  expect_setequal(
    c(names(cases), "nv_not", "nv_popcnt", "nv_stop_gradient", "nv_is_finite", "nv_is_infinite", "nv_is_nan"),
    unary
  )
})

# 16-bit floats are those of f32, rounded: see test-half.R. Complex numbers: test-complex.R.
test_that("values are those of base R, in f32 and f64", {
  for (name in names(cases)) {
    case <- cases[[name]]
    for (dtype in c("f32", "f64")) {
      x <- nv_tensor(case[[3L]], dtype = dtype)
      y <- case[[1L]](x)
      expect_identical(type_of(y), paste0(dtype, "[", length(case[[3L]]), "]"), label = name)
      # The reference sees the operand as the dtype holds it.
      expect_close(
        y, case[[2L]](as_array(x)), if (dtype == "f32") 2.5e-7 else c(case[-(1:3)], 4e-15)[[1L]],
        paste(name, dtype)
      )
    }
  }
})

test_that("eager and jitted calls give the same bits, on 0-d, empty and larger tensors", {
  for (name in names(cases)) {
    f <- cases[[name]][[1L]]
    expect_jit_equal(f, nv_scalar(0.5, dtype = "f64"))
    x <- nv_tensor(seq(-3, 3, length.out = 50), dtype = "f32", shape = c(5, 5, 2))
    expect_jit_equal(f, x)
    expect_elements(f(nv_empty("f64", c(2, 0, 3))), numeric(), "f64[2, 0, 3]")
  }
})

test_that("an operand's ambiguity is the result's", {
  expect_identical(type_of(nv_sqrt(nv_scalar(4))), "f32?[]")
  expect_identical(type_of(nv_sqrt(nv_scalar(4, dtype = "f32"))), "f32[]")
  expect_identical(type_of(nv_abs(nv_scalar(4L))), "i32?[]")
  expect_identical(type_of(nv_negate(nv_scalar(4L, dtype = "i8"))), "i8[]")
})

test_that("ops on floats alone take integers and booleans as an ambiguous f32", {
  for (dtype in c("i1", integers)) {
    expect_elements(nv_sqrt(nv_tensor(c(0, 1), dtype = dtype)), c(0, 1), "f32?[2]")
  }
  expect_elements(nv_exp(nv_scalar(0L)), 1, "f32?[]")
  expect_close(nv_log(nv_tensor(2:3, dtype = "i64")), log(2:3), 1e-7)
})

test_that("R numbers and arrays are operands", {
  expect_close(nv_exp(1), exp(1), 1e-7)
  expect_identical(type_of(nv_exp(1)), "f32?[]")
  expect_identical(type_of(nv_exp(matrix(1:6, 2))), "f32?[2, 3]")
  expect_elements(nv_negate(matrix(1:6, 2)), -(1:6), "i32?[2, 3]")
  expect_identical(type_of(nv_exp(1:3)), "f32?[3]")
  expect_error(nv_exp("1"), class = "anvil_error_arg", "character")
  expect_error(nv_exp(NULL), class = "anvil_error_arg", "NULL")
  expect_error(nv_exp(list(1, 2)), class = "anvil_error_arg", "list")
  expect_error(nv_exp(NA), class = "anvil_error_value", "missing")
})

test_that("NaN, infinities and signed zeros", {
  special <- c(NaN, Inf, -Inf, 0, -0)
  want <- list(
    nv_negate = c(NaN, -Inf, Inf, -0, 0),
    nv_abs = c(NaN, Inf, Inf, 0, 0),
    nv_sign = c(NaN, 1, -1, 0, -0),
    nv_sqrt = c(NaN, Inf, NaN, 0, -0),
    nv_rsqrt = c(NaN, 0, NaN, Inf, -Inf),
    nv_cbrt = c(NaN, Inf, -Inf, 0, -0),
    nv_exp = c(NaN, Inf, 0, 1, 1),
    nv_exp2 = c(NaN, Inf, 0, 1, 1),
    nv_expm1 = c(NaN, Inf, -1, 0, -0),
    nv_log = c(NaN, Inf, NaN, -Inf, -Inf),
    nv_log1p = c(NaN, Inf, NaN, 0, -0),
    nv_log2 = c(NaN, Inf, NaN, -Inf, -Inf),
    nv_log10 = c(NaN, Inf, NaN, -Inf, -Inf),
    nv_sin = c(NaN, NaN, NaN, 0, -0),
    nv_cos = c(NaN, NaN, NaN, 1, 1),
    nv_tan = c(NaN, NaN, NaN, 0, -0),
    nv_sinpi = c(NaN, NaN, NaN, 0, -0),
    nv_cospi = c(NaN, NaN, NaN, 1, 1),
    nv_tanpi = c(NaN, NaN, NaN, 0, -0),
    nv_asin = c(NaN, NaN, NaN, 0, -0),
    nv_acos = c(NaN, NaN, NaN, acos(0), acos(0)),
    nv_atan = c(NaN, pi / 2, -pi / 2, 0, -0),
    nv_sinh = c(NaN, Inf, -Inf, 0, -0),
    nv_cosh = c(NaN, Inf, Inf, 1, 1),
    nv_tanh = c(NaN, 1, -1, 0, -0),
    nv_asinh = c(NaN, Inf, -Inf, 0, -0),
    nv_acosh = c(NaN, Inf, NaN, NaN, NaN),
    nv_atanh = c(NaN, NaN, NaN, 0, -0),
    nv_logistic = c(NaN, 1, 0, 0.5, 0.5),
    nv_softplus = c(NaN, Inf, 0, log(2), log(2)),
    nv_erf = c(NaN, 1, -1, 0, -0),
    nv_erfc = c(NaN, 0, 2, 1, 1),
    nv_erf_inv = c(NaN, NaN, NaN, 0, -0),
    nv_erfcx = c(NaN, 0, Inf, 1, 1),
    nv_probit = c(NaN, NaN, NaN, -Inf, -Inf),
    nv_gamma = c(NaN, Inf, NaN, NaN, NaN),
    nv_lgamma = c(NaN, Inf, Inf, Inf, Inf),
    nv_digamma = c(NaN, Inf, NaN, NaN, NaN),
    nv_floor = c(NaN, Inf, -Inf, 0, -0),
    nv_ceiling = c(NaN, Inf, -Inf, 0, -0),
    nv_trunc = c(NaN, Inf, -Inf, 0, -0),
    nv_round = c(NaN, Inf, -Inf, 0, -0),
    nv_real = special,
    nv_imag = c(0, 0, 0, 0, 0),
    nv_arg = c(NaN, 0, pi, 0, pi),
    nv_conj = special
  )
  expect_setequal(names(want), names(cases))
  for (name in names(want)) {
    for (dtype in floats) {
      y <- as.double(cases[[name]][[1L]](nv_tensor(special, dtype = dtype)))
      values <- as.double(nv_tensor(want[[name]], dtype = dtype))
      expect_equal(y, values, tolerance = 1e-15, label = paste(name, dtype))
      zeros <- values %in% 0
      expect_identical(1 / y[zeros], 1 / values[zeros], label = paste("zeros of", name, dtype))
    }
  }
  # Poles and edges that are none of these.
  expect_elements(nv_erf_inv(nv_tensor(c(-1, 1, 1.5))), c(-Inf, Inf, NaN), "f32[3]")
  expect_elements(nv_atanh(nv_tensor(c(-1, 1, 1.5))), c(-Inf, Inf, NaN), "f32[3]")
  expect_elements(nv_log1p(nv_tensor(c(-1, -2))), c(-Inf, NaN), "f32[2]")
  expect_elements(nv_lgamma(nv_tensor(c(-1, -2, 1, 2), dtype = "f64")), c(Inf, Inf, 0, 0), "f64[4]")
  expect_elements(nv_digamma(nv_tensor(c(-1, -2), dtype = "f64")), c(NaN, NaN), "f64[2]")
  # A float beyond the range of its dtype.
  expect_elements(nv_exp(nv_tensor(c(89, -104))), c(Inf, 0), "f32[2]")
  expect_elements(nv_exp(nv_tensor(c(710, -746), dtype = "f64")), c(Inf, 0), "f64[2]")
})

test_that("subnormal numbers are kept, not flushed to zero", {
  expect_elements(nv_abs(nv_tensor(-1e-40)), as_f32(1e-40), "f32[1]")
  expect_elements(
    nv_sqrt(nv_tensor(4.9406564584124654e-324, dtype = "f64")), sqrt(4.9406564584124654e-324), "f64[1]"
  )
})

test_that("integers: negation, absolute value and sign wrap as two's complement does", {
  for (dtype in signed) {
    x <- tensor_of(c(lowest[[dtype]], "-1", "0", "7", highest[[dtype]]), dtype)
    top <- highest[[dtype]]
    expect_identical(nv_negate(x), tensor_of(c(lowest[[dtype]], "1", "0", "-7", paste0("-", top)), dtype))
    expect_identical(nv_abs(x), tensor_of(c(lowest[[dtype]], "1", "0", "7", top), dtype))
    expect_identical(nv_sign(x), tensor_of(c("-1", "-1", "0", "1", "1"), dtype))
  }
  for (dtype in unsigned) {
    x <- tensor_of(c("0", "1", highest[[dtype]]), dtype)
    expect_identical(nv_negate(x), tensor_of(c("0", highest[[dtype]], "1"), dtype))
    expect_error(nv_abs(x), class = "anvil_error_dtype", "signed integers, floats and complex numbers")
    expect_error(nv_sign(x), class = "anvil_error_dtype")
  }
})

test_that("integers: complement and set bits", {
  for (dtype in integers) {
    width <- bits(dtype)
    low <- lowest[[dtype]]
    high <- highest[[dtype]]
    expect_identical(nv_not(tensor_of(c(low, high), dtype)), tensor_of(c(high, low), dtype))
    set <- if (dtype %in% signed) c(0, 2, width - 1, 1) else c(0, 2, width, 0)
    expect_identical(nv_popcnt(tensor_of(c("0", "5", high, low), dtype)), tensor_of(set, dtype))
  }
  expect_elements(nv_not(nv_scalar(5L)), -6L, "i32?[]")
  expect_elements(nv_popcnt(nv_tensor(-1L)), 32L, "i32[1]")
  expect_elements(nv_not(nv_tensor(c(TRUE, FALSE))), c(FALSE, TRUE), "i1[2]")
  expect_error(nv_popcnt(nv_tensor(TRUE)), class = "anvil_error_dtype")
  expect_error(nv_not(nv_tensor(1)), class = "anvil_error_dtype", "booleans and integers")
})

test_that("rounding leaves integers as they are", {
  for (dtype in integers) {
    x <- tensor_of(c(lowest[[dtype]], "3", highest[[dtype]]), dtype)
    for (f in list(nv_floor, nv_ceiling, nv_trunc, nv_round, function(x) nv_round(x, "afz"))) {
      expect_identical(f(x), x)
    }
  }
  expect_error(nv_floor(nv_tensor(TRUE)), class = "anvil_error_dtype")
})

test_that("erfc() and erf_inv() to 17 digits", {
  # Wolfram Alpha: erfc(8), inverse erf(0.999).
  expect_close(nv_erfc(nv_scalar(8, dtype = "f64")), 1.1224297172982927e-29, 3e-16)
  expect_close(nv_erf_inv(nv_scalar(0.999, dtype = "f64")), 2.3267537655135247, 3e-16)
})

test_that("ties go to even, or away from zero; the float below a half goes to zero", {
  below <- c(bf16 = 0.5 - 2^-9, f16 = 0.5 - 2^-12, f32 = 0.5 - 2^-25, f64 = 0.5 - 2^-54)
  for (dtype in floats) {
    t <- nv_tensor(c(0.5, 1.5, 2.5, -0.5, -1.5, -2.5, below[[dtype]]), dtype = dtype)
    expect_identical(as.vector(t)[7L], below[[dtype]])
    expect_elements(nv_round(t), c(0, 2, 2, -0, -2, -2, 0), paste0(dtype, "[7]"))
    expect_elements(nv_round(t, "afz"), c(1, 2, 3, -1, -2, -3, 0), paste0(dtype, "[7]"))
  }
  x <- 0.5
  e <- expect_error(nv_round(nv_tensor(x), "up"), class = "anvil_error_arg")
  expect_identical(e$arg, "method")
  expect_identical(conditionCall(e), quote(nv_round(nv_tensor(x), "up")))
})

test_that("the error for a dtype says what is accepted, what came and what to do", {
  x <- nv_tensor(c(TRUE, FALSE))
  e <- expect_error(nv_abs(x), class = "anvil_error_dtype")
  expect_identical(
    conditionMessage(e),
    paste(
      "`nv_abs()` accepts signed integers, floats and complex numbers, not i1.", "x `operand` has dtype i1.",
      "i Convert it first, such as with `nv_convert(x, \"i32\")`.",
      sep = "\n"
    )
  )
  expect_identical(conditionCall(e), quote(nv_abs(x)))
})
