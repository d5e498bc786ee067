# Functions of base R on tensors, on tracers, and mixed with R numbers and arrays. `expect_jit_equal(r =
# TRUE)` runs the same closure on R arrays.

x <- nv_tensor(c(-1.5, 0.25, 2, 7), dtype = "f64")
y <- nv_tensor(c(2, -0.5, 3, 1), dtype = "f64")
m <- nv_tensor(matrix(c(1, 4, 2, 5, 3, 6), 2), dtype = "f64")
p <- nv_tensor(c(TRUE, FALSE, TRUE, FALSE))
q <- nv_tensor(c(TRUE, TRUE, FALSE, FALSE))

test_that("arithmetic and comparison", {
  for (op in list(`+`, `-`, `*`, `/`, `%%`, `%/%`, `==`, `!=`, `<`, `<=`, `>`, `>=`)) {
    expect_jit_equal(op, x, y, r = TRUE, tolerance = 1e-15)
    expect_jit_equal(function(x) op(x, 2), x, r = TRUE, tolerance = 1e-15)
    expect_jit_equal(function(x) op(2, x), x, r = TRUE, tolerance = 1e-15)
    expect_jit_equal(function(x) op(x, array(c(1, 2, 3, 4))), x, r = TRUE, tolerance = 1e-15)
    expect_jit_equal(function(x) op(array(c(1, 2, 3, 4)), x), x, r = TRUE, tolerance = 1e-15)
  }
  expect_jit_equal(`^`, nv_tensor(c(1.5, 0.25, 2, 7), dtype = "f64"), y, r = TRUE, tolerance = 1e-14)
  expect_jit_equal(function(x) x^2 - 2^x, x, r = TRUE, tolerance = 1e-14)
})

test_that("unary plus and minus", {
  expect_identical(+x, x)
  expect_jit_equal(function(x) -x + +x, x, r = c(0, 0, 0, 0))
  expect_jit_equal(function(x) -x, x, r = TRUE)
  expect_elements(-nv_tensor(1:2, dtype = "ui8"), c(255L, 254L), "ui8[2]")
})

test_that("logic: `!`, `&` and `|` are results, not NULL", {
  expect_elements(!p, c(FALSE, TRUE, FALSE, TRUE), "i1[4]")
  for (op in list(`&`, `|`)) {
    expect_jit_equal(op, p, q, r = TRUE)
    expect_jit_equal(function(p) op(p, TRUE), p, r = TRUE)
    expect_jit_equal(function(p) op(FALSE, p), p, r = TRUE)
  }
  expect_jit_equal(function(p, q) !(p & !q), p, q, r = TRUE)
  expect_jit_equal(xor, p, q, r = TRUE)
  # Bits of integers.
  expect_elements(!nv_tensor(5L), -6L, "i32[1]")
  expect_elements(nv_tensor(12L) & 10L, 8L, "i32[1]")
  expect_error(!x, class = "anvil_error_dtype")
  expect_error(x & y, class = "anvil_error_dtype")
})

test_that("the quotient of integers is a float; %/% and %% round down as R's do, nv_div() toward zero", {
  i <- nv_tensor(c(-7L, 7L, -7L, 7L))
  j <- nv_tensor(c(2L, 2L, -2L, -2L))
  expect_elements(i / j, c(-3.5, 3.5, 3.5, -3.5), "f32?[4]")
  expect_elements(nv_div(i, j), c(-3L, 3L, 3L, -3L), "i32[4]")
  expect_jit_equal(`/`, i, j, r = TRUE)
  expect_jit_equal(`%/%`, i, j, r = TRUE)
  expect_jit_equal(`%%`, i, j, r = TRUE)
  expect_jit_equal(function(i, j) i - (i %/% j) * j == i %% j, i, j, r = rep(TRUE, 4))
})

test_that("`/` divides truly whatever the operands are, as sqrt() finds its float", {
  whole <- c("i1", "i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64")
  for (rules in promotion_rules()) with_promotion_rules(rules, {
    for (a in whole) for (b in whole) {
      x <- nv_tensor(c(0, 1, 1), dtype = a)
      y <- nv_tensor(c(1, 1, 0), dtype = b)
      # The dtype in which both meet, as a float.
      want <- tryCatch(
        type_of(sqrt(nv_add(x, nv_convert(y, b)))), anvil_error_promotion = function(e) class(e)
      )
      got <- tryCatch(type_of(x / y), anvil_error_promotion = function(e) class(e))
      expect_identical(got, want, label = paste(rules, a, "/", b))
      if (!inherits(tryCatch(x / y, error = identity), "error")) {
        expect_identical(as.vector(as_array(x / y)), c(0, 1, Inf))
        expect_identical(jit(`/`)(x, y), x / y)
      }
    }
  })
  i <- nv_tensor(c(1L, 3L))
  expect_elements(i / 2L, c(0.5, 1.5), "f32?[2]")
  expect_elements(6L / i, c(6, 2), "f32?[2]")
  expect_elements(i / TRUE, c(1, 3), "f32?[2]")
  expect_elements(nv_scalar(5L) / nv_scalar(2L), 2.5, "f32?[]")
  expect_elements(i / nv_tensor(c(2, 4), "f64"), c(0.5, 0.75), "f64[2]")
  expect_elements(nv_tensor(c(TRUE, FALSE)) / nv_tensor(c(FALSE, FALSE)), c(Inf, NaN), "f32?[2]")
  expect_elements(nv_empty("i8", c(0, 2)) / 2L, numeric(), "f32?[0, 2]")
  # An ambiguous float keeps digits that its default dtype has not, until it meets a known one.
  expect_elements(nv_tensor(16777217L) / 1L, 16777217, "f32?[1]")
  expect_elements(nv_tensor(16777217L) / 1L * nv_scalar(1, "f32"), 16777216, "f32[1]")
  expect_elements(with_promotion_rules("numpy", i / 2L), c(0.5, 1.5), "f64[2]")
  expect_elements(with_promotion_rules("torch", i / 2L), c(0.5, 1.5), "f32[2]")
  expect_error(with_promotion_rules("strict", i / i), class = "anvil_error_promotion")
  # Only the numerator is derived: the divisor is whole.
  expect_elements(
    gradient(function(x, i) sum(x / i), "x")(nv_tensor(c(1, 2), "f64"), i)$x, c(1, 1 / 3), "f64[2]"
  )
  expect_match(stablehlo(function(x) x / 3L, nv_abstract("i32", 2))$text, "stablehlo.divide [^\n]*xf64>")
  expect_error(i / "a", class = "anvil_error_arg")
  expect_error(i / nv_tensor(1:3), class = "anvil_error_shape")
})

test_that("whole division by 0 gives what the help pages say", {
  i <- nv_tensor(c(7L, -7L, 0L))
  zero <- nv_tensor(rep(0L, 3))
  expect_jit_equal(
    function(i, zero) list(i %/% zero, nv_div(i, zero), i %% zero, nv_remainder(i, zero)), i, zero
  )
  expect_elements(i %/% zero, rep(-1L, 3), "i32[3]")
  expect_elements(nv_div(i, 0L), rep(-1L, 3), "i32[3]")
  expect_elements(i %% 0L, c(7L, -7L, 0L), "i32[3]")
  expect_elements(nv_tensor(7L, "ui8") %/% nv_tensor(0L, "ui8"), 255L, "ui8[1]")
  expect_elements(i / zero, c(Inf, -Inf, NaN), "f32?[3]")
  # Of floats as in R.
  expect_jit_equal(function(x) list(x %/% 0, x %% 0, x / 0), nv_tensor(c(7, -7, 0)), r = NULL)
  expect_elements(nv_tensor(c(7, -7, 0)) %/% 0, c(Inf, -Inf, NaN), "f32[3]")
})

test_that("mathematical functions of one argument", {
  z <- nv_tensor(c(0.1, 0.5, 0.9), dtype = "f64")
  functions <- list(
    abs, sign, sqrt, exp, expm1, log, log1p, log2, log10, sin, cos, tan, asin, acos, atan, sinh, cosh, tanh,
    asinh, atanh, lgamma, digamma, trigamma, floor, ceiling, trunc, round
  )
  for (f in functions) expect_jit_equal(f, z, r = TRUE, tolerance = 1e-13)
  expect_jit_equal(acosh, z + 1, r = TRUE, tolerance = 1e-13)
  for (f in list(is.finite, is.infinite, is.nan, is.na)) {
    expect_jit_equal(f, nv_tensor(c(1, NaN, Inf, -Inf), dtype = "f64"), r = TRUE)
  }
  # Integers too.
  expect_close(trigamma(nv_tensor(1:2)), trigamma(1:2), 2e-7)
  expect_identical(type_of(sqrt(nv_tensor(4L))), "f32?[1]")
})

test_that("log() honours its base", {
  for (base in list(2, 10, 2L, 10L, 3, exp(1), 0.5)) {
    expect_jit_equal(function(x) log(x, base), abs(x), r = TRUE, tolerance = 1e-15)
    expect_jit_equal(function(x) log(x, base = base), abs(x), r = TRUE, tolerance = 1e-15)
  }
  expect_elements(log(nv_tensor(c(8, 1024)), 2), c(3, 10), "f32[2]")
  expect_elements(log(nv_tensor(c(1000, 1e-5), dtype = "f64"), 10L), c(3, -5), "f64[2]")
  # A traced base.
  expect_jit_equal(function(x, b) log(x, b), abs(x), nv_scalar(3, dtype = "f64"), r = TRUE, tolerance = 1e-15)
  # In f64 the base is not rounded to f32 on the way.
  expect_close(log(nv_tensor(2, dtype = "f64"), 0.1), log(2, 0.1), 1e-15)
  expect_error(log(x, "a"), class = "anvil_error_arg", "`base`")
  expect_error(log(x, c(2, 3)), class = "anvil_error_arg", "`base`")
})

test_that("round() honours its digits as R does", {
  v <- c(0.15, 2.675, 1.005, -0.285, 123.456, 0.5, 2.5, -1.5, 1e300, 0, -0, 1 / 3, 5.015, 1e-20)
  z <- nv_tensor(v, dtype = "f64")
  for (digits in c(0, 1, 2, 3, 10)) {
    expect_elements(round(z, digits), round(v, digits), "f64[14]")
    expect_jit_equal(function(z) round(z, digits), z)
  }
  w <- c(15, 25, -35, 123456, 0.5, 1e300, 50)
  for (digits in -1:-4) {
    expect_elements(round(nv_tensor(w, dtype = "f64"), digits), round(w, digits), "f64[7]")
  }
  expect_elements(
    round(nv_tensor(c(0.125, 2.375, 3e38, 1234.5678)), 2), as_f32(c(0.12, 2.38, 3e38, 1234.57)), "f32[4]"
  )
  expect_elements(round(nv_tensor(c(NaN, Inf, -Inf)), 2), c(NaN, Inf, -Inf), "f32[3]")
  expect_elements(round(nv_tensor(1.5), 40), 1.5, "f32[1]")
  expect_identical(type_of(round(nv_scalar(1.25), 1)), "f32?[]")
  # Integers stay integers.
  expect_elements(round(nv_tensor(7L), 2), 7L, "i32[1]")
  i <- c(15L, 25L, -25L, -26L, 0L, 123456789L, 4L)
  expect_elements(round(nv_tensor(i), -1), as.integer(round(i, -1)), "i32[7]")
  expect_elements(round(nv_tensor(i), -3), as.integer(round(i, -3)), "i32[7]")
  expect_identical(round(nv_tensor("9007199254740995", "i64"), -1), nv_tensor("9007199254741000", "i64"))
  expect_identical(round(nv_tensor(c(4L, 5L, 15L, 250L), "ui8"), -1), nv_tensor(c(0L, 0L, 20L, 250L), "ui8"))
  expect_elements(round(nv_tensor(c(0.5, 1.5, 2.5))), c(0, 2, 2), "f32[3]")
  # As in R, digits are rounded themselves.
  expect_elements(round(nv_tensor(1.26), 1.2), as_f32(1.3), "f32[1]")
  expect_error(round(z, NA), class = "anvil_error_arg")
  expect_error(round(nv_tensor(TRUE)), class = "anvil_error_dtype")
})

test_that("summaries over one or several tensors", {
  for (f in list(sum, prod, max, min, range)) {
    expect_jit_equal(f, x, r = TRUE, tolerance = 1e-15)
    expect_jit_equal(function(x, y) f(x, y), x, y, r = TRUE, tolerance = 1e-15)
    expect_jit_equal(function(x) f(x, 10, array(c(1, 2, 3))), x, r = TRUE, tolerance = 1e-15)
  }
  for (f in list(any, all)) {
    expect_jit_equal(f, p, r = TRUE)
    expect_jit_equal(function(p, q) f(p, q, TRUE), p, q, r = TRUE)
  }
  # A number keeps its digits next to an f64, and the widest integer is the dtype of the sum.
  expect_elements(sum(nv_tensor(1, dtype = "f64"), 0.1), 1.1, "f64[]")
  expect_elements(max(nv_tensor(0, dtype = "f64"), 0.1), 0.1, "f64[]")
  expect_elements(range(nv_tensor(0, dtype = "f64"), 0.1), c(0, 0.1), "f64[2]")
  expect_elements(sum(nv_tensor(c(100L, 100L), dtype = "i8"), nv_tensor(0L)), 200L, "i32[]")
  # Booleans are counted.
  expect_elements(sum(p), 2L, "i32[]")
  expect_elements(sum(p, q), 4L, "i32[]")
  expect_elements(sum(p, NULL), 2L, "i32[]")
  expect_elements(max(q, NULL, p), TRUE, "i1[]")
  expect_elements(prod(p), 0L, "i32[]")
  expect_error(any(x), class = "anvil_error_dtype")
})

test_that("summaries take axes and drop", {
  expect_elements(sum(m, axes = 1), c(5, 7, 9), "f64[3]")
  expect_elements(max(m, axes = 2, drop = FALSE), c(3, 6), "f64[2, 1]")
  expect_elements(range(m, axes = 1), c(1, 4, 2, 5, 3, 6), "f64[2, 3]")
  expect_elements(mean(m, axes = 2), c(2, 5), "f64[2]")
  expect_elements(mean(m, 1, FALSE), c(2.5, 3.5, 4.5), "f64[1, 3]")
  expect_elements(sum(m, m, axes = 1), 2 * c(5, 7, 9), "f64[3]")
  expect_error(sum(m, axes = 3), class = "anvil_error_axis")
})

test_that("mean", {
  expect_jit_equal(mean, x, r = TRUE, tolerance = 1e-15)
  expect_elements(mean(nv_tensor(1:4)), 2.5, "f32?[]")
  expect_elements(mean(p), 0.5, "f32?[]")
  expect_error(mean(x, trim = -1), class = "anvil_error_arg", "`trim`")
})

# What R gives, without its warning about nothing that is left.
in_r <- function(f, x) suppressWarnings(f(x, na.rm = TRUE))

test_that("na.rm = TRUE leaves NaN out, as in R", {
  data <- list(
    c(1, NaN, -3), c(NA, 2), NaN, c(NaN, NA), 1:3 / 2, numeric(), c(Inf, NaN), c(-Inf, NaN, 1),
    c(Inf, -Inf, NaN)
  )
  for (f in list(sum, prod, max, min, range, mean)) {
    for (values in data) {
      expect_jit_equal(function(x) f(x, na.rm = TRUE), nv_tensor(values, "f64"), r = in_r(f, values))
    }
    # Without NaN, nothing changes, not even a bit.
    clean <- nv_tensor(c(0.1, 0.7, -1e-3, 1e5), "f32")
    for (x in list(clean, nv_convert(clean, "bf16"), m, nv_tensor(1:4), nv_tensor(c(TRUE, FALSE)))) {
      if (identical(dtype(x), as_dtype("i1")) && !identical(f, sum) && !identical(f, mean)) next
      expect_identical(f(x, na.rm = TRUE), f(x))
      expect_identical(f(x, na.rm = FALSE), f(x))
    }
    for (dtype in floats) {
      x <- nv_tensor(c(1, NaN, 4), dtype)
      type <- paste0(dtype, if (identical(f, range)) "[2]" else "[]")
      expect_elements(f(x, na.rm = TRUE), in_r(f, c(1, NaN, 4)), type)
    }
  }
  expect_elements(any(p, na.rm = TRUE), TRUE, "i1[]")
  expect_elements(all(p, na.rm = TRUE), FALSE, "i1[]")
  expect_error(any(x, na.rm = TRUE), class = "anvil_error_dtype")
  z <- c(1+2i, complex(real = NaN, imaginary = 1), complex(real = 1, imaginary = NaN), -1i)
  for (f in list(sum, prod, mean)) {
    expect_equal(as.complex(f(nv_tensor(z, "c128"), na.rm = TRUE)), f(z, na.rm = TRUE))
  }
  expect_error(max(nv_tensor(z), na.rm = TRUE), class = "anvil_error_dtype")
  # Several tensors and numbers, and 0-d ones.
  x <- nv_tensor(c(1, NaN))
  expect_elements(sum(x, NaN, 2L, x, na.rm = TRUE), 4, "f32[]")
  expect_elements(max(nv_scalar(NaN, "f32"), x, na.rm = TRUE), 1, "f32[]")
  expect_elements(mean(nv_scalar(NaN, "f64"), na.rm = TRUE), NaN, "f64[]")
  # Ambiguity stays.
  expect_identical(type_of(sum(nv_scalar(NaN), na.rm = TRUE)), "f32?[]")
  # Halves: neither sum nor count need fit 16 bits.
  many <- nv_concatenate(nv_fill(1, 70000, "f16"), nv_fill(NaN, 5, "f16"))
  expect_elements(mean(many, na.rm = TRUE), 1, "f16[]")
  # Other rules of promotion have nothing to say here.
  for (rules in promotion_rules()) {
    expect_elements(with_promotion_rules(rules, sum(x, na.rm = TRUE)), 1, "f32[]")
    expect_elements(with_promotion_rules(rules, mean(x, na.rm = TRUE)), 1, "f32[]")
  }
})

test_that("na.rm goes with axes and drop", {
  a <- matrix(c(1, NaN, 3, NaN, NaN, 6), 2)
  x <- nv_tensor(a, "f64")
  for (axis in 1:2) {
    along <- 3L - axis
    for (f in list(sum, prod, max, min, mean)) {
      want <- suppressWarnings(apply(a, along, f, na.rm = TRUE))
      expect_jit_equal(function(x) f(x, na.rm = TRUE, axes = axis), x, r = want)
      kept <- f(x, axes = axis, drop = FALSE, na.rm = TRUE)
      expect_identical(shape(kept), replace(dim(a), axis, 1L))
      expect_identical(as.double(kept), as.double(want))
    }
    expect_elements(
      range(x, axes = axis, na.rm = TRUE), suppressWarnings(apply(a, along, range, na.rm = TRUE)),
      paste0("f64[2, ", dim(a)[along], "]")
    )
  }
})

test_that("what na.rm leaves out has gradient 0, and the others theirs", {
  values <- c(2, NaN, 3, 5, NA)
  x <- nv_tensor(values, "f64")
  gradient_of <- function(f) {
    loss <- function(x) f(x, na.rm = TRUE)
    eager <- gradient(loss)(x)$x
    expect_identical(jit(gradient(loss))(x)$x, eager)
    as.double(eager)
  }
  expect_identical(gradient_of(sum), c(1, 0, 1, 1, 0))
  expect_identical(gradient_of(prod), c(15, 0, 10, 6, 0))
  expect_identical(gradient_of(max), c(0, 0, 0, 1, 0))
  expect_identical(gradient_of(min), c(1, 0, 0, 0, 0))
  expect_equal(gradient_of(mean), c(1, 0, 1, 1, 0) / 3)
  expect_identical(as.double(gradient(function(x) sum(x^2, na.rm = TRUE))(x)$x), c(4, 0, 6, 10, 0))
  nothing <- nv_tensor(c(NaN, NaN), "f64")
  expect_identical(as.double(gradient(function(x) sum(x, na.rm = TRUE))(nothing)$x), c(0, 0))
})

test_that("na.rm is TRUE or FALSE", {
  for (f in list(sum, prod, max, min, range, mean)) {
    for (wrong in list(NA, "yes", 1, NULL, c(TRUE, FALSE), nv_scalar(TRUE))) {
      expect_error(f(x, na.rm = wrong), class = "anvil_error_arg", "`na.rm` must be TRUE or FALSE")
    }
  }
  expect_error(any(p, na.rm = NA), class = "anvil_error_arg")
  traced <- jit(function(x, flag) sum(x, na.rm = flag))
  expect_error(traced(x, TRUE), class = "anvil_error_arg", "a traced value")
})

test_that("anyNA() looks for NaN", {
  expect_elements(anyNA(x), FALSE, "i1[]")
  expect_elements(anyNA(nv_tensor(c(1, NaN))), TRUE, "i1[]")
  expect_jit_equal(anyNA, m, r = FALSE)
})

test_that("t()", {
  expect_jit_equal(t, m, r = TRUE)
  expect_identical(shape(t(nv_fill(0, c(2, 3, 4)))), c(4L, 3L, 2L))
})

test_that("c() joins all elements in R's order", {
  expect_jit_equal(function(x, y) c(x, y), x, y, r = TRUE)
  expect_jit_equal(function(m) c(m, 9), m, r = TRUE)
  expect_jit_equal(function(m) c(m), m, r = TRUE)
  expect_elements(c(nv_scalar(1L), nv_tensor(2:3)), 1:3, "i32[3]")
  expect_elements(c(nv_scalar(1, dtype = "f64"), 0.1, matrix(c(0.1, 0.2), 1)), c(1, 0.1, 0.1, 0.2), "f64[4]")
  y <- nv_tensor(c(p = 1, q = 2))
  expect_identical(names(c(a = x, y, b = nv_scalar(1))), c(paste0("a", seq_len(length(x))), "p", "q", "b"))
  expect_null(names(c(x, 1)))
  expect_null(names(c(m)))
})

test_that("dim, length, nrow, ncol on tensors and tracers", {
  f <- function(m) list(dim(m), length(m), nrow(m), ncol(m), NROW(m), NCOL(m))
  want <- list(c(2L, 3L), 6L, 2L, 3L, 2L, 3L)
  expect_identical(f(m), want)
  seen <- NULL
  jit(function(m) {
    seen <<- f(m)
    m
  })(m)
  expect_identical(seen, want)
  expect_identical(length(nv_scalar(1)), 1L)
  expect_null(dim(nv_scalar(1)))
})

test_that("a function of R without a method gives an R value, and refuses traced values by its name", {
  calls <- alist(as.character(x))
  for (call in calls) {
    expect_equal(eval(call), eval(call, list(x = as_array(x))), label = deparse1(call))
    f <- eval(call("function", as.pairlist(alist(x = )), call))
    e <- expect_error(jit(f)(x), class = "anvil_error_concrete")
    expect_match(conditionMessage(e), "\ni ", fixed = TRUE)
  }
  expect_no_open_trace()
})

test_that("rep() repeats elements, outside of traces and inside", {
  expect_jit_equal(function(x) rep(x, 2), x, r = TRUE)
  expect_jit_equal(function(x) rep(x, each = 3, length.out = 5), x, r = TRUE)
  expect_jit_equal(function(m) rep(m, times = 2), m, r = rep(c(as_array(m)), 2))
  expect_identical(as.vector(rep(nv_scalar(2), 3)), c(2, 2, 2))
})

test_that("each member of R's groups of generics gives what it gives of numbers, or is refused", {
  groups <- c("Math", "Math2", "Arith", "Compare", "Logic", "Summary", "Complex")
  members <- c(unlist(lapply(groups, methods::getGroupMembers)), "%*%", "crossprod", "tcrossprod")
  expect_true(all(c("cospi", "signif", "%/%", "range", "Conj") %in% members))
  values <- matrix(c(0.5, 0.25, 0.75, 0.125), 2)
  x <- nv_tensor(values, dtype = "f64")
  two <- c(
    "%*%", "crossprod", "tcrossprod", unlist(lapply(c("Arith", "Compare", "Logic"), methods::getGroupMembers))
  )
  for (member in members) {
    generic <- get(member)
    arguments <- function(x, y) if (member %in% two) list(x, y) else list(x)
    got <- tryCatch(do.call(generic, arguments(x, t(x))), error = identity)
    if (inherits(got, "error")) {
      expect_s3_class(got, "anvil_error")
    } else {
      # R warns of the NaN of acosh().
      want <- suppressWarnings(do.call(generic, arguments(values, t(values))))
      if (inherits(got, "AnvilTensor")) got <- as_array(got)
      expect_equal(got, want, label = member, ignore_attr = "dim")
    }
  }
})

test_that("a member that a group of generics gets in a later R is refused", {
  x <- nv_tensor(matrix(1:4, 2))
  for (group in c("Summary", "matrixOps")) {
    method <- get(paste0(group, ".AnvilValue"), asNamespace("anvil"))
    # R sets this variable in the frame of a method that it calls.
    environment(method) <- list2env(list(.Generic = "future"), parent = asNamespace("anvil"))
    arguments <- if (group == "matrixOps") list(x, x) else list(x)
    expect_fields(do.call(method, arguments), "anvil_error_unsupported", generic = "future")
  }
})

test_that("a tensor's parts cannot be changed behind its back", {
  z <- x
  expect_error(z[["data"]] <- 2, class = "anvil_error_index")
  expect_error(z$data <- 2, class = "anvil_error_unsupported")
  expect_identical(z, x)
  expect_error(jit(function(x) x$w)(x), class = "anvil_error_unsupported", "no named parts")
})

test_that("objects of other classes are refused by operators", {
  x <- nv_tensor(c(3, 1, 2))
  others <- list(
    factor(c("b", "a", "b")), as.Date("2020-01-01"), as.difftime(1, units = "secs"), data.frame(a = 1:3)
  )
  for (y in others) {
    for (f in c(nv_add, nv_eq)) {
      expect_error(f(x, y), class = "anvil_error_arg")
      expect_error(f(y, x), class = "anvil_error_arg")
    }
    # Before R 4.3 it calls no method where two are found, and warns.
    if (getRversion() < "4.3.0") {
      if (!is.data.frame(y)) expect_warning(x + y, "Incompatible methods")
      next
    }
    for (f in c(`+`, `==`, `<`, `*`)) {
      expect_error(f(x, y), class = "anvil_error_arg")
      expect_error(f(y, x), class = "anvil_error_arg")
    }
  }
})

test_that("an error of an operator shows the user's expression", {
  for (case in list(
    quote(x + nv_tensor(1:5)), quote(nv_tensor(1:5) %/% x), quote(x == nv_tensor(1:5)), quote(exp("a" + x)),
    quote(x %*% nv_tensor(1:5)), quote(nv_add(x, nv_tensor(1:5)))
  )) {
    e <- expect_error(eval(case), class = "anvil_error")
    want <- if (identical(case[[1L]], quote(exp))) case[[2L]] else case
    expect_identical(conditionCall(e), want)
  }
})

test_that("a logarithm to a base that has none is NaN, without a warning", {
  expect_no_warning(out <- log(nv_scalar(1), base = -2))
  expect_true(is.nan(as.double(out)))
})

test_that("log() and c() know their own arguments wherever they are", {
  x <- nv_tensor(c(2, 4), "f64")
  of <- function(x) list(log(base = 2, x), log(base = 2, x = x), log(x = x, base = 2), log(b = 2, x))
  for (made in c(of(x), jit(of)(x))) expect_equal(as.vector(made), c(1, 2))
  base <- nv_tensor(c(4, 2), "f64")
  expect_equal(as.vector(log(base = base, x = x)), c(0.5, 2))
  expect_equal(as.vector(do.call(log, list(base = 2, x = x))), c(1, 2))
  expect_equal(as.vector(gradient(function(x) sum(log(base = 2, x)))(x)[[1L]]), 1 / (c(2, 4) * log(2)))
  joined <- function(x) {
    list(c(x, use.names = FALSE), c(x, recursive = TRUE), c(recursive = TRUE, x), c(a = x, 7))
  }
  wanted <- list(c(2, 4), c(2, 4), c(2, 4), c(2, 4, 7))
  expect_equal(lapply(joined(x)[-3L], as.vector), wanted[-3L])
  expect_equal(lapply(jit(joined)(x), as.vector), wanted)
  expect_null(names(c(a = x, use.names = FALSE)))
  expect_null(names(jit(function(x) c(a = 1, x, use.names = FALSE))(x)))
})

test_that("trimmed means are R's", {
  r <- c(3, -1, 10, 2.5, 7, 0)
  x <- nv_tensor(r, "f64")
  for (trim in c(0, 0.1, 0.2, 0.35, 0.5, 1)) {
    expect_jit_equal(function(x) mean(x, trim = trim), x, r = mean(r, trim = trim), tolerance = 1e-15)
  }
  expect_jit_equal(function(x) mean(x, trim = 0.2), nv_tensor(c(1L, 9L, 2L, 3L, 40L)), r = mean(c(2, 3, 9)))
  expect_true(is.nan(as.vector(mean(nv_tensor(c(1, NaN, 3)), trim = 0.34))))
  expect_equal(as.vector(gradient(function(x) mean(x, trim = 0.2))(x)$x), c(1, 0, 0, 1, 1, 1) / 4)
  expect_error(mean(nv_tensor(diag(2)), axes = 1, trim = 0.1), class = "anvil_error_arg", "`axes`")
  expect_error(mean(x, trim = 0.1, na.rm = TRUE), class = "anvil_error_arg", "na.rm")
})
