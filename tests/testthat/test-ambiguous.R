# Ambiguous floats are numbers of R: computed and stored in double precision until they meet a known dtype,
# whatever the dtype that they show.

x <- c(0.3, 1.7, -2.9)
x64 <- nv_tensor(x, dtype = "f64")
x32 <- nv_tensor(x, dtype = "f32")
z <- c(0.3 + 1.1i, -1.7i, 2.9 + 0i)

# Functions of a number and a tensor, and the same in R.
formulas <- list(
  negative = user(function(r, x) -r * x),
  complement = user(function(r, x) (1 - r) * x),
  exponential = user(function(r, x) exp(r) * x),
  power = user(function(r, x) (1 - 0.9^(r * 70)) * x),
  product = user(function(r, x) (r * 3) * x),
  quotient = user(function(r, x) x / (r / 3)),
  root = user(function(r, x) sqrt(r) + x),
  minimum = user(function(r, x) min(r, r / 3) * x)
)

test_that("what is computed of a number has all digits of an f64", {
  for (name in names(formulas)) {
    f <- formulas[[name]]
    want <- f(0.1, x)
    # One ulp, for the functions that R has from another library.
    same <- function(got, way) {
      expect_identical(type_of(got), "f64[3]", label = paste(name, way))
      expect_close(got, want, 2.3e-16, label = paste(name, way))
    }
    same(f(nv_scalar(0.1), x64), "of a tensor, eager")
    same(f(0.1, x64), "of a number, eager")
    same(jit(f)(0.1, x64), "of a number, jitted")
    same(jit(f)(nv_scalar(0.1), x64), "of a tensor, jitted")
    expect_identical(jit(f)(nv_scalar(0.1), x64), f(nv_scalar(0.1), x64), label = name)
    looped <- jit(function(r, x) nv_for(2L, x, function(i, state) 0 * state + f(r, x)))
    expect_identical(looped(0.1, x64), jit(f)(0.1, x64), label = name)
  }
})

test_that("so have arrays, means and conversions of integers and booleans", {
  expect_elements(nv_tensor(1:3) * 0.1 * x64, 1:3 * 0.1 * x, "f64[3]")
  expect_elements(mean(x64 > 1) * x64, 1 / 3 * x, "f64[3]")
  expect_elements(mean(x32 > 1) * x64, 1 / 3 * x, "f64[3]")
  expect_elements(array(0.1, 3) * 3 * x64, 0.1 * 3 * x, "f64[3]")
  expect_elements(nv_tensor(1:3) / 7 + x64, 1:3 / 7 + x, "f64[3]")
  ones <- function(...) nv_iota(1L, "f32", 3L, ambiguous = TRUE) / 7
  expect_elements(ones() * x64, 1:3 / 7 * x, "f64[3]")
  expect_identical(jit(ones)(), ones())
  # An integer beyond the digits of f32.
  expect_elements(nv_scalar(16777217L) + 0.5, 16777217.5, "f32?[]")
})

test_that("complex numbers keep their digits likewise", {
  f <- user(function(r, x) (1 - r) * x)
  z128 <- nv_tensor(z, dtype = "c128")
  r <- 0.1 + 0.7i
  for (got in list(f(r, z128), f(nv_scalar(r), z128), jit(f)(r, z128), jit(f)(nv_scalar(r), z128))) {
    expect_identical(type_of(got), "c128[3]")
    expect_equal(as.complex(got), (1 - r) * z, tolerance = 1e-15)
  }
  expect_identical(type_of(nv_scalar(r) * 2), "c64?[]")
  expect_identical(as.complex(nv_scalar(r) * 2), r * 2)
  expect_identical(as.double(Re(nv_scalar(r))), 0.1)
  expect_identical(type_of(Re(nv_scalar(r))), "f32?[]")
  expect_identical(as.complex(nv_complex(nv_scalar(0.1), nv_scalar(0.7))), r)
  expect_identical(type_of(nv_complex(nv_scalar(0.1), nv_scalar(0.7))), "c64?[]")
})

test_that("types are shown as promotion says", {
  third <- nv_scalar(1) / 3
  expect_identical(type_of(third), "f32?[]")
  expect_identical(as_array(third), 1 / 3)
  expect_output(print(third), "CPUf32?{}", fixed = TRUE)
  f <- function(r) exp(r) * 2
  expect_match(format(trace_fn(f, 0.1)), "%1: f32?[] = exp(%x1)", fixed = TRUE, all = FALSE)
  expect_identical(type_of(jit(f)(0.1)), "f32?[]")
  expect_identical(as_array(jit(f)(0.1)), as_array(exp(nv_scalar(0.1))) * 2)
  # In errors, too.
  expect_fields(nv_popcnt(nv_scalar(0.1)), "anvil_error_dtype", got = "f32")
  expect_fields(nv_scalar(1i) < 1, "anvil_error_dtype", got = "c64")
  expect_error(nv_convert(nv_scalar(1i), "f32"), "Cannot convert c64 to f32", class = "anvil_error_dtype")
})

test_that("a known dtype rounds once", {
  once <- as_f32(0.1 * 3)
  tripled <- jit(function(x, r) x * (r * 3))
  expect_identical(tripled(x32, 0.1), x32 * nv_scalar(once, dtype = "f32"))
  expect_identical(x32 * (nv_scalar(0.1) * 3), tripled(x32, 0.1))
  expect_elements(nv_convert(nv_scalar(0.1) * 3, "f32"), once, "f32[]")
  expect_elements(nv_convert(nv_scalar(0.1) * 3, "f64"), 0.1 * 3, "f64[]")
  # Twice would be another number: by way of f32 it is halfway between two f16.
  tie <- 1 + 2^-11 + 2^-30
  expect_elements(nv_convert(nv_scalar(tie), "f16"), 1 + 2^-10, "f16[]")
})

test_that("what makes ambiguous floats stores doubles", {
  values <- c(0.1, NaN, -0, Inf, NA, 1e300)
  kept <- function(x, type) {
    expect_identical(type_of(x), type)
    expect_identical(as.vector(as_array(x)), rep_len(values, length(x)))
  }
  for (dtype in floats) {
    kept(nv_tensor(values, dtype = dtype, ambiguous = TRUE), paste0(dtype, "?[6]"))
    kept(
      nv_convert(nv_tensor(values, dtype = "f64"), dtype, ambiguous = TRUE), paste0(dtype, "?[6]")
    )
    kept(nv_fill(0.1, 1L, dtype, ambiguous = TRUE), paste0(dtype, "?[1]"))
    kept(jit(function() nv_fill(0.1, 1L, dtype, ambiguous = TRUE))(), paste0(dtype, "?[1]"))
    kept(nv_scalar(0.1, dtype, ambiguous = TRUE), paste0(dtype, "?[]"))
    kept(nv_tensor(numeric(), dtype = dtype, ambiguous = TRUE), paste0(dtype, "?[0]"))
  }
  # The programs of both are cached apart.
  expect_elements(nv_fill(0.1, 1L), as_f32(0.1), "f32[1]")
  expect_elements(nv_fill(0.1, 1L, ambiguous = TRUE), 0.1, "f32?[1]")
  expect_fields(nv_fill(0.1, 1L, ambiguous = NULL), "anvil_error_arg", arg = "ambiguous")
  # Integers have their default width.
  expect_identical(as.integer(nv_scalar(100L, "i8", ambiguous = TRUE) + nv_scalar(100L, "i8")), -56L)
})

test_that("saved and copied tensors keep their digits", {
  third <- nv_tensor(1:3) / 7
  expect_identical(unserialize(serialize(third, NULL)), third)
  path <- tempfile(fileext = ".npy")
  nv_write_npy(third, path)
  expect_identical(nv_read_npy(path), nv_convert(third, "f64"))
  expect_identical(third[2:3], nv_tensor(2:3) / 7)
  expect_identical(as.double(nv_concatenate(third, 0.1)), c(1:3 / 7, 0.1))
})

test_that("assigned elements take the precision of what they become a part of", {
  wide <- nv_tensor(x, ambiguous = TRUE)
  wide[2] <- 0.1
  expect_elements(wide, c(0.3, 0.1, -2.9), "f32?[3]")
  wide[1] <- nv_scalar(0.1, "f32")
  expect_elements(wide, c(as_f32(0.1), 0.1, -2.9), "f32?[3]")
  narrow <- x32
  narrow[2] <- nv_scalar(0.1) * 3
  expect_elements(narrow, c(as_f32(0.3), as_f32(0.1 * 3), as_f32(-2.9)), "f32[3]")
  # They yield to a known dtype that holds more, as in all ops.
  wide[1] <- nv_scalar(0.1, "f64")
  expect_elements(wide, c(0.1, 0.1, -2.9), "f64[3]")
})

test_that("bits are those of the dtype that is shown, products keep digits", {
  bits <- nv_bitcast_convert(nv_scalar(0.1, "f32"), "i32")
  expect_identical(nv_bitcast_convert(nv_scalar(0.1), "i32"), bits)
  m <- matrix(c(0.1, 0.2, 0.3, 0.4), 2)
  expect_equal(as_array(nv_matmul(m, m)), m %*% m, tolerance = 1e-15)
  known <- nv_tensor(m)
  expect_identical(nv_matmul(known, m), known %*% known)
})

test_that("a state that begins with a number is a double, or what the body makes of it", {
  halved <- jit(function(r) nv_while(r, function(s) s > 0.01, function(s) s / 3))
  expect_elements(halved(0.1), 0.1 / 3 / 3 / 3, "f32?[]")
  # Of a known dtype where the body's results are: the number is rounded before the first repetition.
  expect_elements(nv_for(3L, 0.1, function(i, s) s + nv_scalar(0, "f32")), as_f32(0.1), "f32[]")
  sums <- nv_scan(function(s, x) list(s + x, s * 2), 0, x32)
  # It is known in the body too.
  expect_identical(c(type_of(sums$carry), type_of(sums$ys)), c("f32[]", "f32[3]"))
  expect_equal(as_array(sums$carry), sum(x), tolerance = 1e-6)
  expect_elements(nv_while(nv_scalar(0.5, "f32"), function(s) s < 0.3, function(s) 0.1), 0.5, "f32[]")
  expect_elements(
    nv_while(nv_scalar(0.2, "f32"), function(s) s > 0.1, function(s) 0.1), as_f32(0.1), "f32[]"
  )
  # Slices of an ambiguous tensor.
  total <- nv_scan(function(s, x) list(s + x, x), 0, nv_tensor(x, ambiguous = TRUE))
  expect_elements(total$carry, 0 + 0.3 + 1.7 - 2.9, "f32?[]")
  expect_elements(total$ys, x, "f32?[3]")
  expect_elements(nv_for(3L, 0.1, function(i, s) s + nv_scalar(0, "f64")), 0.1, "f64[]")
})

test_that("branches may differ in ambiguity: the known dtype wins", {
  f <- jit(function(p, r, y) nv_if(p, r / 3, y))
  one <- nv_scalar(1, "f32")
  expect_elements(f(nv_scalar(TRUE), 0.1, one), as_f32(0.1 / 3), "f32[]")
  expect_elements(f(nv_scalar(FALSE), 0.1, one), 1, "f32[]")
  expect_elements(f(nv_scalar(TRUE), 0.1, 7), 0.1 / 3, "f32?[]")
  expect_elements(nv_ifelse(x64 > 0, nv_scalar(0.1) / 3, 0.1), ifelse(x > 0, 0.1 / 3, 0.1), "f32?[3]")
})

test_that("gradients of ambiguous floats are doubles, and pass through known dtypes", {
  g <- gradient(function(r) exp(r) * 3)
  expect_elements(g(nv_scalar(0.1))$r, as_array(exp(nv_scalar(0.1, "f64"))) * 3, "f32?[]")
  expect_identical(jit(g)(nv_scalar(0.1)), g(nv_scalar(0.1)))
  both <- gradient(function(r, x) sum((1 - r) * x))
  expect_close(both(nv_scalar(0.1), x64)$r, -sum(x), 5e-16)
  expect_identical(type_of(both(nv_scalar(0.1), x64)$r), "f32?[]")
  expect_elements(both(nv_scalar(0.1), x64)$x, rep(0.9, 3), "f64[3]")
  expect_equal(as_array(both(nv_scalar(0.1), x32)$r), -sum(x), tolerance = 1e-6)
  expect_identical(type_of(both(nv_scalar(0.1), x32)$r), "f32?[]")
  expect_elements(both(nv_scalar(0.1), x32)$x, rep(as_f32(0.9), 3), "f32[3]")
  # Through a loop whose state becomes known, and a branch.
  looped <- gradient(function(r, x) nv_for(2L, r, function(i, s) s * s + sum(x)))
  expect_equal(as_array(looped(nv_scalar(0.5), x32)$r), 2 * (0.25 - 0.9) * 2 * 0.5, tolerance = 1e-6)
  branch <- gradient(function(r, x) nv_if(sum(x) > 0, r * sum(x), r * r))
  expect_equal(as_array(branch(nv_scalar(0.5), x32)$r), 1, tolerance = 1e-6)
  # A gradient of a known dtype is accepted for an ambiguous result.
  out <- vjp(function(r) exp(r), nv_scalar(0.1))
  expect_identical(out$pullback(nv_scalar(2, "f32")), out$pullback(nv_scalar(2)))
  # So is a user's.
  square <- custom_gradient(
    function(r) r * r, function(r) list(r * r, r), function(r, g) list(nv_convert(2 * r * g, "f32"))
  )
  expect_elements(gradient(square)(nv_scalar(0.1))$r, as_f32(0.2), "f32?[]")
})

test_that("an update by a function may give a known dtype", {
  add <- function(old, new) old + nv_convert(new, "f32")
  got <- nv_scatter(
    nv_tensor(x, ambiguous = TRUE), nv_tensor(matrix(2L, 1, 1)), nv_tensor(0.5, ambiguous = TRUE),
    update_window_axes = integer(), inserted_window_axes = 1L, scatter_axes_to_operand_axes = 1L,
    index_vector_axis = 2L, update_computation = add
  )
  expect_identical(type_of(got), "f32?[3]")
  expect_elements(got, c(0.3, as_f32(1.7) + 0.5, -2.9), "f32?[3]")
})

test_that("the rounding that is left is reported, of tensors", {
  f <- user(function(i, h) i * 0.1 * h)
  report <- explain_dtypes(f, nv_abstract("i32", 3L), nv_abstract("f32", 3L))
  expect_identical(as.character(report$class[report$from == "f32?"]), "rounds")
  expect_identical(report$stored[report$from == "f32?"], "f64")
  expect_identical(as.character(report$class[report$from == "i32"]), "lossless")
  # A number next to an f32 is not: that is what it is for. Nothing is lost next to an f64.
  expect_identical(nrow(explain_dtypes(user(function(r, h) (r * 3) * h), 0.1, nv_abstract("f32", 3L))), 0L)
  wide <- explain_dtypes(user(function(r, h) (r * 3) * h), 0.1, nv_abstract("f64", 3L))
  expect_true(all(wide$class == "lossless"))
  half <- explain_dtypes(user(function(r, h) r * h), 0.1, nv_abstract("bf16", 3L))
  expect_identical(as.character(half$class), "rounds")
})

test_that("other systems of promotion show other types, of the same doubles", {
  for (rules in promotion_rules()) {
    got <- tryCatch(
      with_promotion_rules(rules, exp(nv_scalar(0.1)) * 3), anvil_error_promotion = function(e) NULL
    )
    # Some refuse it, or make it known.
    if (is.null(got) || !ambiguous(got)) next
    expect_identical(as_array(got), as_array(exp(nv_scalar(0.1))) * 3, label = rules)
  }
  got <- with_promotion_rules("jax", (1 - nv_scalar(0.1)) * x64)
  expect_elements(got, 0.9 * x, "f64[3]")
})

test_that("programs for other compilers compute doubles, or singles if asked", {
  constant <- nv_tensor(seq_len(100) / 7, ambiguous = TRUE)
  f <- function(r, h) list(h * (r * 3), sum(constant * r), nv_for(2L, r, function(i, s) s * r))
  h <- nv_abstract("f32", 3L)
  wide <- stablehlo(f, 0.1, h)
  expect_identical(unname(wide$inputs), c("f64[]", "f32[3]"))
  expect_identical(unname(wide$outputs), c("f32[3]", "f64[]", "f64[]"))
  expect_identical(wide$constants[[1L]], nv_convert(constant, "f64"))
  narrow <- stablehlo(f, 0.1, h, ambiguous = "f32")
  expect_identical(unname(narrow$inputs), c("f32[]", "f32[3]"))
  expect_identical(unname(narrow$outputs), c("f32[3]", "f32[]", "f32[]"))
  expect_identical(narrow$constants[[1L]], nv_convert(constant, "f32"))
  expect_false(grepl("f64", as.character(narrow)))
  expect_match(as.character(wide), "f64")
  # What is known to be f64 stays so.
  known <- stablehlo(function(r, x) (1 - r) * x, 0.1, nv_abstract("f64", 3L), ambiguous = "f32")
  expect_identical(unname(known$inputs), c("f32[]", "f64[3]"))
  expect_identical(unname(known$outputs), "f64[3]")
  expect_false(grepl("complex<f64>", as.character(stablehlo(function(r) r * 2, 1i, ambiguous = "f32"))))
  expect_fields(stablehlo(f, 0.1, h, ambiguous = "f16"), "anvil_error_arg", arg = "ambiguous")
  # Arguments are written as the program takes them.
  path <- file.path(tempfile(), "p.mlir")
  dir.create(dirname(path))
  files <- nv_write_stablehlo(wide, path, inputs = list(r = nv_scalar(0.1), h = x32))
  expect_identical(nv_read_npy(files[3L]), nv_scalar(0.1, "f64"))
  expect_identical(nv_read_npy(files[2L]), nv_convert(constant, "f64"))
})
