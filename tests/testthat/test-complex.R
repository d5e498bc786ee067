# Complex numbers: elements and arithmetic against base R's own. c128 is R's type; c64 computes in c128 and
# rounds the parts once.

z <- function(re, im) complex(real = re, imaginary = im)
c128 <- function(x) nv_tensor(x, dtype = "c128")
c64 <- function(x) nv_tensor(x, dtype = "c64")
# A complex number whose parts are those that c64 holds.
as_c64 <- function(x) {
  out <- z(as_f32(Re(x)), as_f32(Im(x)))
  dim(out) <- dim(x)
  out
}

# Parts as doubles, in which NaN is any NaN and zeros keep their signs.
expect_parts <- function(x, want, label = deparse1(substitute(x))) {
  got <- if (inherits(x, "AnvilTensor")) as.complex(x) else x
  parts <- function(x) {
    x <- c(Re(x), Im(x))
    list(replace(x, is.na(x), NaN), 1 / x[x %in% 0])
  }
  expect_identical(parts(got), parts(as.vector(want)), label = label)
}

# Within a distance relative to the absolute value of what is expected.
expect_near <- function(x, want, epsilon, label = deparse1(substitute(x))) {
  error <- Mod(as.complex(x) - as.vector(want)) / Mod(as.vector(want))
  worst <- which.max(error)
  expect(
    all(error <= epsilon),
    sprintf("%s: %s instead of %s at %d", label, format(as.complex(x)[worst], digits = 17),
            format(as.vector(want)[worst], digits = 17), worst)
  )
}

set.seed(11)
points <- c(
  z(rnorm(60), rnorm(60)), z(3 * rnorm(20), 1e-3 * rnorm(20)), exp(1i * (1:12)), 1i, -1i, 1, -1, 0.5, 2 - 1i
)

# ---- in and out ----

test_that("complex vectors go in and out by value, c128 bit for bit", {
  x <- c(1+2i, z(0, -0), z(-0, 0), z(Inf, -Inf), z(NaN, 1), NA, 1e300 - 1e-300i)
  expect_identical(serialize(as.complex(c128(x)), NULL), serialize(x, NULL))
  expect_identical(is.na(as.complex(c128(NA_complex_))) & !is.nan(as.complex(c128(NA_complex_))), TRUE)
  expect_nv(nv_tensor(c(1+2i, 0.1i)), as_c64(c(1+2i, 0.1i)), "c64")
  expect_parts(c64(x), as_c64(x))
  expect_nv(nv_scalar(1i), 1i, "c64", integer(), ambiguous = TRUE)
  expect_nv(nv_scalar(1i, "c128"), 1i, "c128", integer())
  expect_nv(nv_matrix(c(1i, 2i, 3i, 4i), 2, order = "row"), matrix(c(1i, 3i, 2i, 4i), 2), "c64")
  expect_identical(as_array(c128(matrix(points[1:6], 2))), matrix(points[1:6], 2))
  expect_identical(as_array(c128(matrix(complex(), 0, 3))), matrix(complex(), 0, 3))
  expect_identical(as.vector(c64(c(1+2i, 3i))), c(1+2i, 3i))
  # Of real data the imaginary part is 0, of no sign.
  for (real in list(c(1.5, -2), 1:2, c(TRUE, FALSE))) for (dtype in complexes) {
    expect_parts(nv_tensor(real, dtype), z(as.double(real), 0))
  }
  expect_identical(as.complex(nv_tensor(1:3)), c(1, 2, 3) + 0i)
  expect_identical(as.character(c64(1+2i)), "1+2i")
  expect_identical(as.list(c128(c(1i, 2))), list(1i, 2+0i))
})

test_that("complex data are refused where an imaginary part would be lost", {
  for (dtype in real_dtypes) {
    e <- expect_fields(nv_tensor(1+0i, dtype), "anvil_error_arg", arg = "data", got = "a complex vector")
    expect_match(conditionMessage(e), "Take its `Re()`, `Im()` or `Mod()` first", fixed = TRUE)
    for (x in list(c64(1+2i), c128(1+2i))) {
      from <- as.character(dtype(x))
      e <- expect_fields(nv_convert(x, dtype), "anvil_error_dtype", from = from, to = dtype)
      expect_match(conditionMessage(e), "nv_real()", fixed = TRUE)
      expect_error(jit(function(x) nv_convert(x, dtype))(x), class = "anvil_error_dtype", "nv_real")
    }
  }
  expect_error(nv_convert(1i, "f32"), class = "anvil_error_dtype", "nv_real")
  for (f in list(as.double, as.numeric, as.integer, as.logical, as.raw, function(x) as.vector(x, "double"))) {
    e <- expect_error(f(c64(1i)), class = "anvil_error_dtype", "nv_real")
    expect_identical(e$from, "c64")
  }
  expect_identical(call_of(as.double(c64(1i))), "as.double(c64(0+1i))")
  expect_error(nv_tensor("1+2i", "c64"), class = "anvil_error_arg", "as.complex")
  for (missing in list(NA, NA_integer_)) expect_error(nv_tensor(missing, "c64"), class = "anvil_error_value")
  expect_error(nv_iota(1, "c64", 3), class = "anvil_error_arg")
  expect_no_open_trace()
})

test_that("conversions to complex keep the number; between complex dtypes the parts round", {
  for (from in real_dtypes) for (to in complexes) {
    expect_nv(nv_convert(nv_tensor(c(0, 1, 1), from), to), c(0, 1, 1) + 0i, to)
  }
  x <- c(z(0.1, -1e300), z(2^24 + 1, -0), z(NaN, Inf), 1e-60i)
  expect_parts(nv_convert(c128(x), "c64"), as_c64(x))
  expect_parts(nv_convert(nv_convert(c64(points), "c128"), "c64"), as_c64(points))
})

test_that("bits of complex numbers are those of their parts, the real one first", {
  x <- nv_bitcast_convert(c64(c(1+2i, -3i)), "f32")
  expect_nv(x, matrix(c(1, 0, 2, -3), 2), "f32")
  expect_nv(nv_bitcast_convert(x, "c64"), c(1+2i, -3i), "c64")
  expect_nv(nv_bitcast_convert(c128(1+2i), "f64"), matrix(c(1, 2), 1), "f64")
  expect_nv(nv_bitcast_convert(nv_tensor(1, "f64"), "c64"), 1.875i, "c64")
  expect_error(nv_bitcast_convert(c64(1i), "i1"), class = "anvil_error_dtype")
})

test_that("complex tensors are kept by saveRDS(), and compared by identical() and all.equal()", {
  file <- tempfile(fileext = ".rds")
  for (x in list(c64(c(1i, NA)), c128(c(1i, NA)), nv_scalar(1i))) {
    saveRDS(x, file)
    expect_identical(readRDS(file), x)
  }
  expect_true(all.equal(c64(1+1i), c64(1+1i + 1e-7)))
  expect_match(all.equal(c64(1+1i), c64(1+2i)), "difference")
  expect_match(all.equal(c64(1i), c128(1i)), "dtypes differ: c64 and c128")
})

# ---- elementwise ----

functions <- list(
  exp = exp, log = log, sqrt = sqrt, sin = sin, cos = cos, tan = tan, sinh = sinh, cosh = cosh, tanh = tanh,
  asin = asin, acos = acos, atan = atan, asinh = asinh, acosh = acosh, atanh = atanh, log2 = log2,
  log10 = log10
)
# R's acosh() gives either root; the principal one has no negative real part.
reference <- functions
reference$acosh <- function(x) acosh(x) * sign(Re(acosh(x)))

test_that("functions are those of base R", {
  # Where R has a cut its sides are not those of C99: see below.
  x <- points[abs(Im(points)) > 1e-8 & abs(Re(points)) > 1e-8]
  for (name in names(functions)) {
    f <- functions[[name]]
    # R's own inverse functions lose digits to cancellation.
    digits <- if (startsWith(name, "a")) 1e-11 else 1e-15
    expect_near(f(c128(x)), reference[[name]](x), 4 * digits, name)
    expect_jit_equal(f, c128(x))
    # Computed in c128, rounded once: but for the last bit of R's own, this is R's, rounded.
    expect_near(f(c64(x)), reference[[name]](as_c64(x)), 1e-7, name)
    expect_identical(f(c64(x)), nv_convert(f(nv_convert(c64(x), "c128")), "c64"))
    expect_jit_equal(f, c64(x))
    op <- getExportedValue("anvil", paste0("nv_", name))
    expect_identical(op(c64(x)), f(c64(x)))
  }
  expect_identical(-c128(points), c128(-points))
  expect_identical(+c64(points), c64(points))
  expect_near(log(c128(x), 2+1i), log(x) / log(2+1i), 1e-15)
  expect_near(log(c128(x), base = nv_scalar(2i, "c128")), log(x) / log(2i), 1e-15)
})

test_that("arithmetic is that of base R", {
  x <- points
  y <- rev(points) + 0.25
  for (op in list(`+`, `-`, `*`, `/`, `^`)) {
    expect_near(op(c128(x), c128(y)), op(x, y), 4e-15)
    expect_near(op(c64(x), c64(y)), op(as_c64(x), as_c64(y)), 1e-7)
    expect_jit_equal(op, c128(x), c128(y))
    expect_jit_equal(op, c64(x), c64(y))
    expect_jit_equal(function(x) op(op(x, 2), 1i), c128(x))
  }
  # Exact where R is: whole powers by multiplication, sums and real divisors part by part.
  whole <- z(c(1, -3, 2, 0), c(2, 4, 0, 1))
  for (n in c(0, 1, 2, 3, 7)) expect_identical(as.complex(c128(whole)^n), whole^n)
  expect_identical(as.complex(c128(x) / 3), x / 3)
  expect_identical(as.complex(c128(x) + c128(y)), x + y)
  expect_identical(as.complex(c64(x) + c64(y)), as_c64(as_c64(x) + as_c64(y)))
})

test_that("parts and comparisons are those of base R, exactly but for the absolute value and the angle", {
  x <- c(points, z(NaN, 1), z(Inf, -Inf), z(0, -0), z(-1, -0), z(-1, 0), 0, NA)
  expect_elements(Re(c128(x)), Re(x), sprintf("f64[%d]", length(x)))
  expect_elements(Im(c128(x)), Im(x), sprintf("f64[%d]", length(x)))
  # Both hypot(), R's of the system's library and ours, have errors below one unit in the last place.
  size <- as.vector(Mod(c128(x)))
  expect_identical(is.nan(size), is.nan(Mod(x)))
  finite <- is.finite(Mod(x))
  expect_identical(size[!finite & !is.nan(size)], Mod(x)[!finite & !is.nan(size)])
  expect_lte(
    max(abs(size - Mod(x))[finite] / pmax(Mod(x), .Machine$double.xmin)[finite]), .Machine$double.eps
  )
  expect_identical(abs(c128(x)), Mod(c128(x)))
  # The angle has an error bound of its own, which is not 0 in R either.
  angle <- as.vector(Arg(c128(x)))
  expect_identical(is.nan(angle), is.nan(Arg(x)))
  off <- abs(angle - Arg(x)) / (abs(Arg(x)) * .Machine$double.eps)
  expect_lte(max(off[is.finite(off)]), 4)
  expect_parts(Conj(c128(x)), Conj(x))
  expect_elements(Mod(c64(3+4i)), 5, "f32[1]")
  for (f in list(Re, Im, Mod, Arg, Conj)) {
    for (dtype in complexes) expect_jit_equal(f, nv_tensor(x, dtype))
    # By the name of base R's formal, too.
    expect_identical(f(z = c64(x)), f(c64(x)))
  }
  expect_identical(
    list(nv_real(c64(x)), nv_imag(c64(x)), nv_abs(c64(x)), nv_arg(c64(x)), nv_conj(c64(x))),
    list(Re(c64(x)), Im(c64(x)), Mod(c64(x)), Arg(c64(x)), Conj(c64(x)))
  )
  expect_parts(nv_complex(nv_tensor(Re(x), "f64"), nv_tensor(Im(x), "f64")), x)

  y <- ifelse(seq_along(x) %% 2 == 0, x, x + 1i)
  same <- function(r) replace(r, is.na(r), FALSE)
  for (dtype in complexes) {
    expect_identical(as.vector(nv_tensor(x, dtype) == nv_tensor(y, dtype)), same(x == y))
    expect_identical(as.vector(nv_tensor(x, dtype) != nv_tensor(y, dtype)), !same(x == y))
  }
  expect_elements(c128(c(1i, 0)) == c(1i)[[1L]], c(TRUE, FALSE), "i1[2]")
  expect_elements(is.nan(c128(x)), is.na(x), sprintf("i1[%d]", length(x)))
  expect_elements(is.finite(c128(x)), is.finite(x), sprintf("i1[%d]", length(x)))
  expect_elements(is.infinite(c128(x)), is.infinite(x), sprintf("i1[%d]", length(x)))
})

test_that("parts of real numbers are what they are", {
  for (dtype in real_dtypes) {
    x <- nv_tensor(c(0, 1), dtype)
    expect_identical(Re(x), x)
    expect_nv(Im(x), c(0, 0), dtype)
  }
  for (dtype in floats) {
    x <- nv_tensor(c(-2, 0, -0, 3), dtype)
    expect_identical(Conj(x), x)
    expect_identical(Mod(x), abs(x))
    # Rounded to the dtype.
    expect_identical(Arg(x), nv_tensor(c(pi, 0, pi, 0), dtype))
  }
  expect_nv(Arg(nv_tensor(-1L)), pi, "f32", ambiguous = TRUE)
})

test_that("nv_complex() brings its parts to f32 or f64", {
  expect_nv(nv_complex(1L, 2L), 1+2i, "c64", integer(), ambiguous = TRUE)
  expect_nv(nv_complex(nv_tensor(c(1, 2), "bf16"), 0.5), c(1, 2) + 0.5i, "c64")
  expect_nv(nv_complex(nv_tensor(1:2, "i8"), nv_tensor(c(3, 4), "f64")), c(1+3i, 2+4i), "c128")
  expect_nv(nv_complex(nv_tensor(c(1, 2)), nv_tensor(c(3, 4), "f64")), c(1+3i, 2+4i), "c128")
  expect_error(nv_complex(1i, 1), class = "anvil_error_dtype", "floats, not c64")
  expect_error(nv_complex(nv_tensor(1:2), nv_tensor(1:3)), class = "anvil_error_shape")
  expect_jit_equal(nv_complex, nv_tensor(c(1, 2)), nv_tensor(c(3, 4)))
})

test_that("infinities, NaN and what overflows on the way are as in C99", {
  expect_parts(c128(z(Inf, Inf)) * c128(1), z(Inf, Inf) * z(1, 0))
  expect_parts(c128(z(Inf, 0)) * c128(1+1i), z(Inf, Inf))
  expect_parts(c128(1+1i) / c128(0), z(Inf, Inf))
  expect_parts(c128(0) / c128(0), z(NaN, NaN))
  expect_parts(c128(1+2i) / c128(z(Inf, NaN)), z(0, 0))
  expect_parts(c128(z(1e308, 1e308)) / c128(z(1e308, 1e308)), 1)
  expect_parts(c128(z(5e-324, 0)) / c128(z(5e-324, 5e-324)), z(0.5, -0.5))
  expect_parts(c64(z(3e38, 3e38)) / c64(z(3e38, 3e38)), 1)
  expect_parts(Mod(c128(z(3e307, 4e307))), 5e307)
  expect_parts(sqrt(c128(c(z(-4, 0), z(-4, -0), z(-Inf, 1)))), c(2i, z(0, -2), z(0, Inf)))
  expect_parts(log(c128(c(z(-1, 0), z(-1, -0), z(0, 0)))), c(z(0, pi), z(0, -pi), z(-Inf, 0)))
  expect_parts(exp(c128(c(z(-Inf, 1), z(Inf, 0)))), c(z(0, 0), z(Inf, 0)))
  expect_near(tan(c128(1 + 400i)), tan(1 + 400i), 1e-15)
  expect_parts(c128(c(0, 0, 0, z(NaN, NaN)))^c128(c(0, 2, -1, 0)), c(1, 0, z(Inf, 0), 1))
  # On a cut, the sign of the zero chooses the side; base R does not always look at it.
  above <- c128(z(c(2, -2), 0))
  below <- c128(z(c(2, -2), -0))
  for (f in list(asin, acos, atanh)) {
    expect_identical(Im(f(above)) > 0, Im(f(below)) < 0)
    expect_near(f(above), Conj(as.complex(f(below))), 0)
    inside <- as.complex(f(c128(z(c(2, -2), 1e-12))))
    expect_near(f(above), inside, 1e-10)
  }
  expect_identical(shape(exp(nv_empty("c64", c(0, 2)))), c(0L, 2L))
})

test_that("what needs an order refuses complex numbers, and says what to do", {
  x <- c64(c(1i, 2))
  ordered <- alist(
    x < 1i, x <= x, x > x, x >= 1, nv_max(x, x), nv_min(x, 1), nv_clamp(0, x, 1), max(x), min(x), range(x),
    nv_reduce_max(x), nv_reduce_min(x), nv_round(x), floor(x), ceiling(x), trunc(x), sign(x),
    x %% 2, x %/% 2, nv_remainder(x, x), nv_atan2(x, x), nv_erf(x), lgamma(x), expm1(x), log1p(x),
    nv_logistic(x)
  )
  for (call in ordered) {
    e <- expect_error(eval(call), class = "anvil_error_dtype", label = deparse1(call))
    expect_identical(e$got, "c64")
    expect_match(conditionMessage(e), "\ni Take `nv_real()`, `nv_imag()` or `nv_abs()` first.", fixed = TRUE)
    expect_identical(conditionCall(e), call)
    f <- eval(call("function", as.pairlist(alist(x = )), call))
    expect_error(jit(f)(x), class = "anvil_error_dtype")
  }
  for (call in alist(x & x, !x, nv_popcnt(x), any(x), all(x))) {
    expect_error(
      eval(call), class = "anvil_error_dtype", "Compare first, such as with `x != 0`.", fixed = TRUE
    )
  }
  expect_error(nv_ifelse(x, 1, 0), class = "anvil_error_dtype", "x != 0L")
  expect_no_open_trace()
})

# ---- literals, reductions, products, layout ----

test_that("an R complex number is an ambiguous c64 that keeps its digits", {
  expect_nv(nv_tensor(1:2) + 1i, c(1+1i, 2+1i), "c64", ambiguous = TRUE)
  expect_nv(
    nv_tensor(c(1, 2), "bf16") * 1i, c(1i, 2i), "c64", ambiguous = ambiguous(nv_tensor(1, "bf16") * 1i)
  )
  expect_identical(as.complex(c128(1) * 0.1i), 0.1i)
  expect_identical(as.complex(jit(function(x) x * 0.1i)(c128(1))), 0.1i)
  expect_nv(jit(function(x, y) x + y)(c64(1), 1i), 1+1i, "c64")
  expect_nv(nv_exp(1i * pi), exp(1i * pi), "c64", integer(), ambiguous = TRUE, tolerance = 1e-15)
  text <- graph_text(trace_fn(function(x) Mod(x) + Re(x * (1-2i)), nv_abstract("c64", 2)))
  expect_match(text, "%[0-9]+: f32\\[2\\] = magnitude\\(%x")
  expect_match(text, "c64\\[2\\] = mul")
  expect_match(text, "1-2i", fixed = TRUE)
})

test_that("sums, products and means are those of base R", {
  set.seed(3)
  x <- array(z(rnorm(24), rnorm(24)), c(2, 3, 4))
  for (case in list(list(nv_reduce_sum, sum), list(nv_reduce_prod, prod), list(nv_mean, mean))) {
    expect_near(case[[1L]](c128(x)), case[[2L]](x), 1e-14)
    expect_near(case[[1L]](c128(x), axes = c(1, 3)), apply(x, 2, case[[2L]]), 1e-14)
    expect_near(case[[1L]](c64(x), axes = 2), apply(as_c64(x), c(1, 3), case[[2L]]), 1e-6)
    expect_identical(type_of(case[[1L]](c64(x), axes = 2, drop = FALSE)), "c64[2, 1, 4]")
    expect_identical(case[[2L]](c128(x)), case[[1L]](c128(x)))
    expect_jit_equal(function(x) case[[1L]](x, axes = 1), c64(x))
  }
  expect_nv(sum(nv_empty("c64", 0)), 0i, "c64", integer())
  expect_nv(prod(nv_empty("c128", c(0, 2)), axes = 1), c(1+0i, 1+0i), "c128")
  expect_parts(mean(nv_empty("c128", 0)), z(NaN, NaN))
  expect_parts(sum(c128(c(1i, NA_complex_, Inf))), z(NaN, NaN))
  # Partial sums, and a correction between them: base R has a wider type for this.
  expect_near(sum(nv_fill(0.1 + 0.3i, 1e6, "c128")), 1e5 + 3e5i, 1e-14)
  expect_near(sum(nv_fill(0.1 + 0.3i, 1e6, "c64")), 1e6 * as_c64(0.1 + 0.3i), 1e-7)
})

test_that("matrix products are those of base R", {
  set.seed(4)
  a <- matrix(z(rnorm(35), rnorm(35)), 5)
  b <- matrix(z(rnorm(21), rnorm(21)), 7)
  largest <- function(x) max(Mod(x))
  for (dtype in complexes) {
    x <- nv_tensor(a, dtype)
    y <- nv_tensor(b, dtype)
    tolerance <- if (dtype == "c64") 1e-6 else 1e-14
    expect_lt(largest(as_array(x %*% y) - as_array(x) %*% as_array(y)), tolerance * largest(a %*% b))
    expect_jit_equal(function(x, y) t(Conj(y)) %*% t(x), x, y)
    expect_identical(type_of(x %*% y), paste0(dtype, "[5, 3]"))
  }
  real <- matrix(rnorm(10), 2)
  expect_lt(largest(as_array(real %*% c128(a)) - real %*% a), 1e-14)
  expect_nv(nv_empty("c64", c(2, 0)) %*% nv_empty("c64", c(0, 2)), matrix(0i, 2, 2), "c64")
  batch <- nv_matmul(c128(array(a, c(1, 5, 7))), c128(array(b, c(1, 7, 3))))
  expect_lt(largest(as_array(batch)[1, , ] - a %*% b), 1e-14)
})

test_that("what moves elements moves complex ones", {
  x <- matrix(points[1:6], 2)
  for (dtype in complexes) {
    t <- nv_tensor(x, dtype)
    r <- as_array(t)
    expect_identical(as_array(t(t)), t(r))
    expect_identical(as_array(nv_reshape(t, c(3, 2))), matrix(r, 3))
    expect_identical(as_array(nv_concatenate(t, t, axis = 1)), rbind(r, r))
    expect_identical(as_array(nv_broadcast_to(nv_tensor(1i, dtype), c(2, 1))), matrix(1i, 2, 1))
    expect_identical(as_array(nv_ifelse(nv_tensor(Re(x) > 0), t, 0)), ifelse(Re(x) > 0, r, 0i))
    expect_identical(as.complex(c(t, 1i)), c(as.vector(r), 1i))
    expect_identical(as_array(nv_fill(1 - 2i, 2, dtype)), array(1 - 2i, 2L))
  }
  expect_nv(nv_concatenate(nv_tensor(1:2, "i8"), c64(1i)), c(1, 2, 1i), "c64")
})
