# The 30 ranked types: a dtype, known or ambiguous.
ranked <- c(dtypes, paste0(dtypes, "?"))
is_ambiguous <- function(type) endsWith(type, "?")
name_of <- function(type) sub("?", "", type, fixed = TRUE)

join <- function(lhs, rhs) {
  common <- common_dtype(name_of(lhs), name_of(rhs), is_ambiguous(lhs), is_ambiguous(rhs))
  paste0(as.character(common$dtype), if (common$ambiguous) "?")
}
joins <- function() outer(setNames(nm = ranked), setNames(nm = ranked), Vectorize(join))

test_that("known dtypes promote as published, cell by cell", {
  table <- read_promotion("anvil-known-extended")
  published <- read_promotion("anvil-known")
  expect_identical(table[rownames(published), colnames(published)], published)
  expect_setequal(rownames(table), dtypes)
  for (lhs in dtypes) {
    for (rhs in dtypes) {
      expect_identical(join(lhs, rhs), table[lhs, rhs], label = paste(lhs, "and", rhs))
      # Two guesses promote alike, and stay a guess.
      both <- paste0(table[lhs, rhs], "?")
      expect_identical(
        join(paste0(lhs, "?"), paste0(rhs, "?")), both, label = paste0(lhs, "? and ", rhs, "?")
      )
    }
  }
})

test_that("ambiguous dtypes promote with known ones as published, cell by cell", {
  table <- read_promotion("anvil-ambiguous-extended")
  published <- read_promotion("anvil-ambiguous")
  expect_setequal(rownames(table), dtypes)
  for (lhs in dtypes) {
    for (rhs in dtypes) {
      expected <- table[lhs, rhs]
      if (all(c(lhs, rhs) %in% rownames(published))) {
        # Ambiguous exactly when the result is the ambiguous dtype and not the known one.
        dtype <- published[lhs, rhs]
        expect_identical(expected, paste0(dtype, if (dtype == lhs && dtype != rhs) "?"))
      }
      expect_identical(join(paste0(lhs, "?"), rhs), expected, label = paste0(lhs, "? and ", rhs))
    }
  }
})

test_that("the extended tables say the same of the dtypes that there are", {
  known <- read_promotion("anvil-known-extended")[dtypes, dtypes]
  ambiguous <- read_promotion("anvil-ambiguous-extended")[dtypes, dtypes]
  all <- joins()
  expect_identical(unname(all[dtypes, dtypes]), unname(known))
  expect_identical(unname(all[paste0(dtypes, "?"), dtypes]), unname(ambiguous))
})

test_that("promotion is symmetric, idempotent and associative over all ranked types", {
  all <- joins()
  expect_identical(all, t(all))
  expect_identical(unname(diag(all)), ranked)
  expect_true(all(all %in% ranked))
  # (a b) c and a (b c), for all 10,648 triples.
  left <- outer(all, ranked, function(ab, c) all[cbind(c(ab), c(c))])
  right <- outer(ranked, all, function(a, bc) all[cbind(c(a), c(bc))])
  expect_identical(c(left), c(right))
})

test_that("common_dtype() takes names and objects, and gives an object and a flag", {
  expect_identical(common_dtype("f32", "f64"), list(dtype = as_dtype("f64"), ambiguous = FALSE))
  expect_identical(
    common_dtype(as_dtype("i8"), "f32", rhs_ambiguous = TRUE), list(dtype = as_dtype("f32"), ambiguous = TRUE)
  )
  expect_error(common_dtype("float", "f32"), class = "anvil_error_dtype")
  expect_error(common_dtype("f32", "float"), class = "anvil_error_dtype")
  expect_error(common_dtype(1, "f32"), class = "anvil_error_arg")
  expect_error(common_dtype("f32", NULL), class = "anvil_error_arg")
  for (bad in list(NA, 1, "TRUE", NULL, c(TRUE, FALSE))) {
    expect_fields(common_dtype("f32", "f32", bad), "anvil_error_arg", arg = "lhs_ambiguous")
    expect_fields(common_dtype("f32", "f32", FALSE, bad), "anvil_error_arg", arg = "rhs_ambiguous")
  }
})

test_that("operands meet at their common dtype, eager and traced", {
  all <- joins()
  type_of <- function(x) paste0(as.character(dtype(x)), if (ambiguous(x)) "?")
  promote <- jit(function(x, y) nv_promote_to_common(x, y))
  for (lhs in ranked) {
    x <- nv_scalar(1, name_of(lhs), is_ambiguous(lhs))
    for (rhs in ranked) {
      y <- nv_tensor(1, name_of(rhs), 2, is_ambiguous(rhs))
      expected <- all[[lhs, rhs]]
      values <- nv_promote_to_common(x, y)
      types <- c(vapply(values, type_of, ""), type_of(nv_mul(x, y)), type_of(y * x))
      # What an op does not convert keeps its flag only if the join has it.
      label <- paste(lhs, "and", rhs)
      expect_identical(sub("?", "", types, fixed = TRUE), rep(name_of(expected), 4), label = label)
      expect_identical(types[3:4], rep(expected, 2), label = label)
      expect_identical(lapply(values, shape), list(integer(), 2L))
      expect_identical(unlist(lapply(values, as.complex)), c(1, 1, 1) + 0i)
    }
  }
  traced <- promote(nv_scalar(1L, "i8"), nv_tensor(c(0.5, 2), "f64"))
  expect_nv(traced[[1]], 1, "f64", integer())
  expect_nv(traced[[2]], c(0.5, 2), "f64")
})

test_that("nv_promote_to_common() takes any number of values and R numbers", {
  values <- nv_promote_to_common(nv_tensor(1:3, "i8"), 0.5, TRUE, nv_scalar(2L, "i16"))
  expect_nv(values[[1]], 1:3, "f32", ambiguous = TRUE)
  expect_nv(values[[2]], 0.5, "f32", integer(), ambiguous = TRUE)
  expect_nv(values[[3]], 1, "f32", integer(), ambiguous = TRUE)
  expect_nv(values[[4]], 2, "f32", integer(), ambiguous = TRUE)
  expect_identical(nv_promote_to_common(nv_tensor(1:3)), list(nv_tensor(1:3)))
  # In any order.
  expect_nv(nv_promote_to_common(nv_scalar(TRUE), 1L, nv_scalar(2L, "i16"))[[1]], 1, "i16", integer())
  expect_nv(nv_promote_to_common(nv_scalar(2L, "i16"), 1L, nv_scalar(TRUE))[[3]], 1, "i16", integer())
  expect_error(nv_promote_to_common(), class = "anvil_error_arg")
  expect_nv(nv_promote_to_common(nv_tensor(1:3, "i8"), 1i)[[2]], 1i, "c64", integer(), ambiguous = TRUE)
  for (bad in list("a", NULL, list(1), factor(1))) {
    expect_error(nv_promote_to_common(1, bad), class = "anvil_error_arg")
  }
})

test_that("ambiguity spreads as far as no known dtype meets it", {
  f <- function(x, y) {
    z <- x + 1L
    z * y
  }
  z <- nv_scalar(TRUE) + 1L
  expect_nv(z, 2, "i32", integer(), ambiguous = TRUE)
  expect_nv(f(nv_scalar(TRUE), nv_scalar(2L, "i16")), 4, "i16", integer())
  expect_nv(jit(f)(nv_scalar(TRUE), nv_scalar(2L, "i16")), 4, "i16", integer())
  literals <- jit(function() list(1L, 1.0, TRUE))()
  expect_nv(literals[[1]], 1, "i32", integer(), ambiguous = TRUE)
  expect_nv(literals[[2]], 1, "f32", integer(), ambiguous = TRUE)
  expect_nv(literals[[3]], TRUE, "i1", integer())
  expect_nv(nv_tensor(1:3) / 2, c(0.5, 1, 1.5), "f32", ambiguous = TRUE)
  expect_nv(nv_tensor(1:3, "i8") + 1L, 2:4, "i8")
  expect_nv(nv_tensor(1:3, "i8") + nv_scalar(1L), 2:4, "i8")
  expect_nv(nv_tensor(1:3, "i8") + nv_scalar(1L, "i32"), 2:4, "i32")
})

# ---- literals ----

test_that("a number next to f64 has all its digits", {
  tenth <- nv_scalar(0.1, "f64")
  zero <- nv_tensor(c(0, 0), "f64")
  expect_identical(as.vector(zero + 0.1), c(0.1, 0.1))
  expect_identical(as.vector(0.1 + zero), c(0.1, 0.1))
  expect_identical(as.vector(nv_scalar(1, "f64") * 0.1), 0.1)
  expect_identical(as.vector(tenth == 0.1), TRUE)
  expect_identical(as.vector(nv_ifelse(TRUE, 0.1, nv_scalar(0, "f64"))), 0.1)
  expect_identical(as.vector(nv_clamp(0.1, zero, 0.3)), c(0.1, 0.1))
  expect_identical(as.vector(nv_concatenate(zero, 0.1)), c(0, 0, 0.1))
  expect_identical(as.vector(nv_promote_to_common(0.1, zero)[[1]]), 0.1)
  expect_identical(as.vector(nv_convert(0.1, "f64")), 0.1)
  expect_identical(as.vector(zero + matrix(0.1, 1, 1)[, , drop = TRUE]), c(0.1, 0.1))
  expect_identical(as.vector(nv_tensor(matrix(0, 1, 2), "f64") + matrix(c(0.1, 0.2), 1)), c(0.1, 0.2))

  # In the body of a jitted function, through a chain of literals, and as an argument.
  expect_identical(as.vector(jit(function(x) x + 0.1)(zero)), c(0.1, 0.1))
  expect_identical(as.vector(jit(function(x, y) x + y)(zero, 0.1)), c(0.1, 0.1))
  expect_identical(as.vector(jit(function(x, p) x + p$rate)(zero, list(rate = 0.1))), c(0.1, 0.1))
  expect_identical(as.vector(jit(function(x, y = 0.1) x + y)(zero)), c(0.1, 0.1))
  expect_identical(
    as.vector(jit(function(x, m) x + m)(nv_tensor(matrix(0, 1, 2), "f64"), matrix(c(0.1, 0.2), 1))),
    c(0.1, 0.2)
  )
  expect_identical(as.vector(jit(function(x) nv_convert(x, "f64"))(0.1)), 0.1)
  expect_identical(as.vector(jit_eval(zero * 0 + 0.1)), c(0.1, 0.1))
  expect_identical(as.vector(jit(function(x, y) jit(function(a, b) a + b)(x, y))(zero, 0.1)), c(0.1, 0.1))

  # Next to f32 it is the nearest f32, once.
  single <- as.vector(nv_tensor(0.1, "f32"))
  expect_identical(as.vector(nv_tensor(0, "f32") + 0.1), single)
  expect_identical(as.vector(jit(function(x, y) x + y)(nv_tensor(0, "f32"), 0.1)), single)
})

test_that("special values and large integers are literals like others", {
  zero <- nv_scalar(0, "f64")
  expect_identical(as.vector(zero + Inf), Inf)
  expect_identical(as.vector(jit(function(x) x - Inf)(zero)), -Inf)
  expect_true(is.nan(as.vector(jit(function(x) x + NaN)(zero))))
  expect_identical(as.vector(jit(function(x) x + 1e300)(zero)), 1e300)
  expect_identical(as.vector(nv_scalar(0L, "i64") + .Machine$integer.max), 2147483647)
  expect_identical(as.vector(nv_scalar(0, "f32") + 1e300), Inf)
  expect_error(nv_scalar(1L) + NA_integer_, class = "anvil_error_value")
  expect_error(nv_scalar(TRUE) & NA, class = "anvil_error_value")
  expect_error(jit(function(x) x + NA_integer_)(nv_scalar(1L)), class = "anvil_error_value")
})

test_that("an integer literal wraps into a known integer dtype", {
  expect_nv(nv_scalar(0L, "ui8") + (-1L), 255, "ui8", integer())
  expect_nv(nv_scalar(200L, "ui8") + (-1L), 199, "ui8", integer())
  expect_nv(nv_tensor(c(1L, 2L), "ui16") * -1L, c(65535, 65534), "ui16")
  expect_nv(nv_scalar(0L, "i8") + 300L, 44, "i8", integer())
  expect_nv(jit(function(x) x + (-1L))(nv_scalar(0L, "ui8")), 255, "ui8", integer())
  expect_nv(jit(function(x, y) x + y)(nv_scalar(0L, "ui8"), -1L), 255, "ui8", integer())
})

# ---- conversions ----

# What nv_convert() is to give to R, for values that doubles hold.
converted <- function(x, from, to) {
  if (to == "i1") return(as.double(is.nan(x) | x != 0))
  if (to == "f64") return(x)
  if (to == "f32") return(as.vector(nv_tensor(x, "f32")))
  low <- as.double(lowest[[to]])
  out <- if (from %in% floats) {
    ifelse(is.nan(x), 0, pmin(pmax(trunc(x), low), as.double(highest[[to]])))
  } else if (bits(to) == 64L) {
    # 2^64 is no stranger to %%, but what is added to a small number is lost.
    if (to == "ui64") ifelse(x < 0, 2^64 + x, x) else x
  } else {
    (x - low) %% 2^bits(to) + low
  }
  # The smallest i32 is NA to R.
  if (to == "i32") replace(out, out == low, NA) else out
}

test_that("floats convert by truncation and saturation, and NaN to 0", {
  values <- c(
    -Inf, -1e30, -5e9, -32769.5, -300.5, -129, -128.9, -1.5, -1, -0.5, -0, 0, 0.25, 0.5, 1.5, 2.5, 127.5, 128,
    255.5, 256, 32768, 65535.5, 65536, 3e9, 5e9, 2^62, 2^63, 2^64, 1e30, Inf, NaN
  )
  for (from in floats) {
    x <- nv_tensor(values, from)
    exact <- as.vector(x)
    for (to in c("i1", integers)) {
      out <- nv_convert(x, to)
      expect_identical(as.character(dtype(out)), to)
      expect_identical(
        suppressWarnings(as.double(out), classes = "anvil_warning") + 0, converted(exact, from, to) + 0,
        label = paste(from, "to", to)
      )
    }
  }
})

test_that("integers wrap into narrower ones, and are 0 or not as booleans", {
  values <- c(
    -2^40 - 3, -2^31, -40000, -32769, -300, -129, -128, -1, 0, 1, 127, 128, 200, 255, 256, 300, 32768, 65535,
    65536, 70000, 2^31 - 1, 2^31, 2^32 - 1, 2^32, 2^40 + 5, 2^52
  )
  for (from in integers) {
    fits <- values[values >= as.double(lowest[[from]]) & values <= as.double(highest[[from]])]
    x <- nv_tensor(fits, from)
    # Those of 16 bits round: see test-half.R.
    for (to in setdiff(dtypes, c(halves, complexes))) {
      out <- suppressWarnings(as.double(nv_convert(x, to)), classes = "anvil_warning")
      expect_identical(out, converted(fits, from, to), label = paste(from, "to", to))
    }
  }
  expect_identical(as.vector(nv_convert(nv_scalar(highest[["ui64"]], "ui64"), "i64")), -1)
  expect_identical(nv_convert(nv_scalar(-1L), "ui64"), nv_scalar(highest[["ui64"]], "ui64"))
  expect_identical(
    nv_convert(nv_scalar(lowest[["i64"]], "i64"), "ui64"), nv_scalar("9223372036854775808", "ui64")
  )
})

test_that("numbers round to the nearest float, ties to even", {
  expect_identical(
    as.vector(nv_convert(nv_tensor(c(16777217, 16777218, 16777219, -16777217), "i32"), "f32")),
    c(16777216, 16777218, 16777220, -16777216)
  )
  expect_identical(
    as.vector(nv_convert(nv_tensor(c("9007199254740993", "9007199254740995"), "i64"), "f64")),
    c(2^53, 2^53 + 4)
  )
  expect_identical(as.vector(nv_convert(nv_scalar(highest[["ui64"]], "ui64"), "f32")), 2^64)
  # At once, not by way of f64: 2^60 + 2^36 + 1 lies above the tie that it would be rounded to.
  expect_identical(as.vector(nv_convert(nv_scalar("1152921573326323713", "i64"), "f32")), 2^60 + 2^37)
  expect_identical(as.vector(nv_convert(nv_tensor(c(1e300, -1e300, 1e-300), "f64"), "f32")), c(Inf, -Inf, 0))
  expect_identical(as.vector(nv_convert(nv_scalar(0.1, "f64"), "f32")), 13421773 / 2^27)
  expect_identical(as.vector(nv_convert(nv_tensor(c(NaN, Inf), "f32"), "f64")), c(NaN, Inf))
  for (to in dtypes) expect_nv(nv_convert(nv_tensor(c(TRUE, FALSE)), to), c(1, 0), to)
})

test_that("nv_convert() gives a known dtype unless told otherwise, of any operand", {
  # Of the same dtype, too.
  expect_nv(nv_convert(nv_scalar(1), "f32"), 1, "f32", integer())
  expect_nv(nv_convert(nv_scalar(1, "f32"), "f32", ambiguous = TRUE), 1, "f32", integer(), ambiguous = TRUE)
  expect_nv(nv_convert(nv_tensor(1:2, ambiguous = TRUE), "i32"), 1:2, "i32")
  expect_nv(nv_convert(nv_tensor(1:2, ambiguous = TRUE), "f64", TRUE), 1:2, "f64", ambiguous = TRUE)
  expect_nv(jit(function(x) nv_convert(x, "f32"))(nv_scalar(1)), 1, "f32", integer())
  expect_nv(
    jit(function(x) nv_convert(x, "i8", ambiguous = TRUE))(nv_scalar(2)), 2, "i8", integer(), ambiguous = TRUE
  )
  expect_nv(nv_convert(2L, as_dtype("ui8")), 2, "ui8", integer())
  expect_nv(nv_convert(matrix(1:4, 2), "f64"), matrix(1:4, 2), "f64")
  expect_nv(nv_convert(nv_empty("f32", c(0, 3)), "i8"), numeric(), "i8", c(0, 3))
  expect_identical(as.vector(nv_convert(NaN, "i32")), 0L)
  expect_error(nv_convert(c(NaN, NA), "i32"), "1 missing value", class = "anvil_error_value")
  expect_true(is.na(as.vector(nv_convert(NA_real_, "f32"))))

  expect_error(nv_convert(nv_scalar(1), "float"), class = "anvil_error_dtype")
  for (bad in list(NULL, 1, NA, c("f32", "f64"))) {
    expect_error(nv_convert(nv_scalar(1), bad), class = "anvil_error_arg")
  }
  for (bad in list(NA, "yes", NULL)) {
    expect_error(nv_convert(nv_scalar(1), "f32", bad), class = "anvil_error_arg")
  }
  for (bad in list("a", NULL, factor(1))) expect_error(nv_convert(bad, "f32"), class = "anvil_error_arg")
  expect_error(nv_convert(NA_integer_, "f32"), class = "anvil_error_value")
})

test_that("bits are read as another dtype", {
  expect_nv(nv_bitcast_convert(nv_scalar(1, "f32"), "ui32"), 1065353216, "ui32", integer())
  expect_nv(nv_bitcast_convert(nv_tensor(c(-1L, 1L)), "ui32"), c(4294967295, 1), "ui32")
  expect_nv(nv_bitcast_convert(nv_scalar(1065353216L, "i32"), "f32"), 1, "f32", integer())
  # Known, whatever it was.
  expect_nv(nv_bitcast_convert(1, "i32"), 1065353216, "i32", integer())
  expect_nv(nv_bitcast_convert(TRUE, "i1"), TRUE, "i1", integer())
  # Narrower: a last axis, low bits first.
  narrow <- nv_bitcast_convert(nv_tensor(c(67305985, 134678021), "ui32"), "ui8")
  expect_nv(narrow, matrix(1:8, 2, byrow = TRUE), "ui8")
  expect_nv(nv_bitcast_convert(narrow, "ui32"), c(67305985, 134678021), "ui32")
  expect_nv(nv_bitcast_convert(nv_scalar(1, "f64"), "ui16"), c(0, 0, 0, 16368), "ui16")
  expect_nv(nv_bitcast_convert(nv_tensor(c(0, 0, 0, 16368), "ui16"), "f64"), 1, "f64", integer())
  expect_identical(shape(nv_bitcast_convert(nv_empty("f64", 0), "ui8")), c(0L, 8L))
  expect_identical(shape(nv_bitcast_convert(nv_empty("ui8", c(0, 8)), "f64")), 0L)
  # There and back, between all dtypes of numbers.
  for (from in setdiff(dtypes, "i1")) {
    x <- nv_tensor(c(1, 2, 3, 5, 7, 11, 13, 17), from, c(2, 4))
    for (to in setdiff(dtypes, "i1")) {
      if (bits(to) > bits(from)) next
      expect_identical(nv_bitcast_convert(nv_bitcast_convert(x, to), from), x, label = paste(from, to))
    }
  }
  expect_nv(
    jit(function(x) nv_bitcast_convert(x, "ui32"))(nv_scalar(1, "f32")), 1065353216, "ui32", integer()
  )

  expect_fields(
    nv_bitcast_convert(nv_tensor(1:3, "ui8"), "ui32"), "anvil_error_dtype", from = "ui8", to = "ui32",
    shape = 3
  )
  expect_error(nv_bitcast_convert(nv_scalar(1L, "ui8"), "ui16"), class = "anvil_error_dtype")
  expect_error(nv_bitcast_convert(nv_tensor(1:8, "ui8"), "i1"), class = "anvil_error_dtype")
  expect_error(nv_bitcast_convert(nv_tensor(TRUE), "ui8"), class = "anvil_error_dtype")
  expect_error(nv_bitcast_convert(nv_scalar(1), "float"), class = "anvil_error_dtype")
  expect_error(nv_bitcast_convert("a", "i8"), class = "anvil_error_arg")
})
