test_that("every dtype becomes R's narrowest vector that holds it", {
  natural <- c(
    i1 = "logical", i8 = "integer", i16 = "integer", i32 = "integer", i64 = "double",
    ui8 = "integer", ui16 = "integer", ui32 = "double", ui64 = "double", bf16 = "double", f16 = "double",
    f32 = "double", f64 = "double", c64 = "complex", c128 = "complex"
  )
  for (dtype in dtypes) {
    x <- as_array(nv_tensor(c(0, 1, 1, 0, 1, 1), dtype, shape = c(2, 3)))
    expect_type(x, natural[[dtype]])
    expect_identical(attributes(x), list(dim = c(2L, 3L)))
    expect_equal(as.complex(x), as.complex(c(0, 1, 1, 0, 1, 1)))
  }
})

test_that("0-d tensors become plain values, all others arrays", {
  for (dtype in dtypes) {
    expect_null(attributes(as_array(nv_scalar(1, dtype))))
    expect_length(as_array(nv_scalar(1, dtype)), 1L)
    expect_identical(attributes(as_array(nv_tensor(1, dtype))), list(dim = 1L))
    expect_identical(dim(as_array(nv_empty(dtype, c(0, 2)))), c(0L, 2L))
    expect_identical(dim(as_array(nv_empty(dtype, c(1, 1, 2, 1)))), c(1L, 1L, 2L, 1L))
  }
})

test_that("the extremes of every integer come out, or are warned of", {
  for (dtype in c("i8", "i16", "ui8", "ui16", "ui32")) {
    x <- nv_tensor(c(lowest[[dtype]], highest[[dtype]]), dtype)
    expect_identical(as.character(expect_no_warning(as.vector(x))), unname(c(lowest[dtype], highest[dtype])))
  }
  expect_identical(as.vector(nv_tensor("2147483647", "i32")), .Machine$integer.max)
  expect_identical(as.vector(nv_tensor("-2147483647", "i32")), -.Machine$integer.max)
  # 2^63 and its negative are doubles, one less is not.
  expect_identical(expect_no_warning(as.vector(nv_tensor("-9223372036854775808", "i64"))), -2^63)
  expect_identical(expect_no_warning(as.vector(nv_tensor("9223372036854775808", "ui64"))), 2^63)
  expect_identical(expect_no_warning(as.vector(nv_tensor(2^53 * c(-1, 1), "i64"))), 2^53 * c(-1, 1))
})

test_that("integers that a double cannot hold are counted in a warning", {
  x <- nv_tensor(c("9007199254740993", "1", "-9007199254740993", "9007199254740992"), "i64")
  warning <- expect_warning(out <- as_array(x), class = "anvil_warning_rounded")
  expect_s3_class(warning, "anvil_warning")
  expect_identical(warning$count, 2)
  expect_match(conditionMessage(warning), "2 values of dtype i64")
  expect_match(conditionMessage(warning), "integer64 = TRUE", fixed = TRUE)
  expect_identical(as.vector(out), c(2^53, 1, -2^53, 2^53))
  one <- expect_warning(as_array(nv_tensor(highest[["ui64"]], "ui64")), class = "anvil_warning_rounded")
  expect_match(conditionMessage(one), "1 value of dtype ui64")
  for (convert in list(as.double, as.vector, as.array, as.matrix, as.list, as.logical)) {
    expect_warning(convert(x), class = "anvil_warning_rounded")
  }
  expect_no_warning(capture.output(print(x), str(x)))
})

test_that("the smallest i32 is NA to R, with a warning", {
  x <- nv_tensor(c("-2147483648", "5", "-2147483648"), "i32")
  warning <- expect_warning(out <- as_array(x), class = "anvil_warning_na")
  expect_identical(warning$count, 2)
  expect_identical(as.vector(out), c(NA, 5L, NA))
  # The tensor knows better.
  expect_identical(as.vector(nv_convert(x, "f64")), c(-2147483648, 5, -2147483648))
  expect_identical(as.vector(x == x), c(TRUE, TRUE, TRUE))
})

test_that("integer64 on request holds all 64 bits", {
  skip_if_not_installed("bit64")
  expect_identical(
    as_array(nv_tensor(c("9007199254740993", "-9223372036854775807"), "i64"), integer64 = TRUE),
    structure(bit64::as.integer64(c("9007199254740993", "-9223372036854775807")), dim = 2L)
  )
  expect_identical(as_array(nv_scalar("-1", "i64"), integer64 = TRUE), bit64::as.integer64(-1))
  expect_identical(
    as_array(nv_scalar(4294967295, "ui32"), integer64 = TRUE), bit64::as.integer64("4294967295")
  )
  expect_identical(
    as_array(nv_scalar("9223372036854775807", "ui64"), integer64 = TRUE),
    bit64::as.integer64("9223372036854775807")
  )
  expect_identical(dim(as_array(nv_empty("i64", c(0, 2)), integer64 = TRUE)), c(0L, 2L))
  # Other dtypes are not concerned.
  for (dtype in setdiff(dtypes, c("ui32", "i64", "ui64"))) {
    x <- nv_tensor(c(0, 1), dtype)
    expect_identical(as_array(x, integer64 = TRUE), as_array(x))
  }
  warning <- expect_warning(
    as_array(nv_tensor("-9223372036854775808", "i64"), integer64 = TRUE), class = "anvil_warning_na"
  )
  expect_identical(warning$count, 1)
  expect_fields(
    as_array(nv_tensor(c(highest[["ui64"]], "9223372036854775808", "1"), "ui64"), integer64 = TRUE),
    "anvil_error_value", dtype = "ui64", count = 2
  )
  for (bad in list(NA, "yes", NULL, c(TRUE, TRUE))) {
    expect_fields(as_array(nv_scalar(1), integer64 = bad), "anvil_error_arg", arg = "integer64")
  }
})

test_that("floats come out exactly, with their special values", {
  special <- c(Inf, -Inf, NaN, NA, -0, 5e-324, .Machine$double.xmax, pi)
  out <- as.vector(nv_tensor(special, "f64"))
  # Bit by bit: NA stays NA, NaN stays NaN, -0 keeps its sign.
  expect_identical(serialize(out, NULL), serialize(special, NULL))
  expect_identical(is.na(out) & !is.nan(out), c(FALSE, FALSE, FALSE, TRUE, FALSE, FALSE, FALSE, FALSE))
  expect_identical(1 / out[5], -Inf)

  single <- as.vector(nv_tensor(c(Inf, -Inf, NaN, NA, -0, 0.1, 2^-149, 16777216), "f32"))
  expect_identical(single[c(1, 2, 7, 8)], c(Inf, -Inf, 2^-149, 16777216))
  expect_true(all(is.nan(single[3:4])))
  expect_identical(1 / single[5], -Inf)
  expect_identical(single[6], 13421773 / 2^27)
})

test_that("payloads of NaN survive f64, in and out, moved and saved", {
  # A NaN with bits of its own, as other software writes it.
  odd <- readBin(as.raw(c(1:6, 0xf8, 0x7f)), "double", endian = "little")
  bits <- function(x) writeBin(as.vector(x), raw(), endian = "little")
  x <- nv_tensor(c(odd, NA, 1), "f64")
  expect_identical(bits(x), bits(c(odd, NA, 1)))
  expect_identical(bits(nv_reshape(x, c(3, 1))), bits(c(odd, NA, 1)))
  expect_identical(bits(nv_concatenate(x, x)), bits(c(odd, NA, 1, odd, NA, 1)))
  expect_identical(bits(jit(function(x) x)(x)), bits(c(odd, NA, 1)))
  expect_identical(bits(unserialize(serialize(x, NULL))), bits(c(odd, NA, 1)))
})

test_that("the as.*() methods go on from the elements as base R does", {
  x <- nv_tensor(c(0, 1.9, -1.9), "f64")
  expect_identical(as.double(x), c(0, 1.9, -1.9))
  expect_identical(as.numeric(x), c(0, 1.9, -1.9))
  expect_identical(as.integer(x), c(0L, 1L, -1L))
  expect_identical(as.logical(x), c(FALSE, TRUE, TRUE))
  expect_identical(as.character(x), c("0", "1.9", "-1.9"))
  expect_identical(as.complex(x), c(0 + 0i, 1.9 + 0i, -1.9 + 0i))
  expect_identical(as.list(x), list(0, 1.9, -1.9))
  expect_identical(as.raw(nv_tensor(c(1, 255), "ui8")), as.raw(c(1, 255)))
  expect_identical(as.double(nv_tensor(c(TRUE, FALSE))), c(1, 0))
  expect_identical(as.logical(nv_tensor(0:2)), c(FALSE, TRUE, TRUE))
  expect_identical(as.integer(nv_tensor(1:4, "i64", c(2, 2))), 1:4)

  m <- nv_tensor(matrix(1:6, 2))
  expect_identical(as.vector(m), 1:6)
  expect_identical(as.vector(m, "double"), as.double(1:6))
  expect_identical(as.vector(m, "list"), as.list(1:6))
  expect_identical(as.array(m), array(1:6, 2:3))
  expect_identical(as.matrix(m), matrix(1:6, 2))
  expect_identical(as.matrix(nv_tensor(1:3)), matrix(1:3))
  # Columns are numbers, named as R names them.
  x <- nv_tensor(c(1.5, 2))
  expect_identical(as.data.frame(x), data.frame(x = c(1.5, 2)))
  expect_identical(names(as.data.frame(nv_sqrt(x))), "nv_sqrt(x)")
  expect_identical(as.data.frame(nv_tensor(c(a = 1, b = 2)))[["nv_tensor(c(a = 1, b = 2))"]], c(1, 2))
  expect_identical(data.frame(x = x, y = nv_tensor(3:4)), data.frame(x = c(1.5, 2), y = 3:4))
  expect_identical(data.frame(x), data.frame(x = c(1.5, 2)))
  expect_identical(data.frame(m = m), data.frame(m = matrix(1:6, 2)))
  expect_identical(dim(as.data.frame(nv_scalar(1))), c(1L, 1L))
  expect_identical(as.data.frame(m), as.data.frame(matrix(1:6, 2)))
  expect_identical(as.vector(nv_scalar(5, "f64")), 5)
  expect_identical(as.vector(nv_empty("i32", c(2, 0))), integer())
  expect_identical(unlist(lapply(list(nv_scalar(1L), nv_scalar(2L)), as.vector)), 1:2)
})

test_that("dim() and its like know a tensor's shape", {
  m <- nv_tensor(matrix(1:6, 2))
  expect_identical(dim(m), c(2L, 3L))
  expect_identical(c(nrow(m), ncol(m), NROW(m), NCOL(m), length(m)), c(2L, 3L, 2L, 3L, 6L))
  v <- nv_tensor(1:4)
  expect_identical(dim(v), 4L)
  expect_identical(c(length(v), NROW(v), NCOL(v)), c(4L, 4L, 1L))
  s <- nv_scalar(1)
  expect_null(dim(s))
  expect_identical(length(s), 1L)
  expect_identical(length(nv_empty("f32", c(3, 0, 2))), 0L)
  expect_identical(seq_along(v), 1:4)
  expect_identical(length(nv_tensor(array(1:24, 2:4))), 24L)
})

test_that("conversions of a traced value are traced values", {
  type <- function(f, x) {
    out <- jit(f)(x)
    paste0(as.character(dtype(out)), if (ambiguous(out)) "?", "[", toString(shape(out)), "]")
  }
  m <- nv_tensor(matrix(c(1.5, -2, 0, 4), 2), "f64")
  expect_identical(type(function(x) as.vector(x), m), "f64[4]")
  expect_identical(type(function(x) as.numeric(x), m), "f64[4]")
  expect_identical(type(function(x) as.vector(x, "numeric"), nv_tensor(1:2)), "f32?[2]")
  expect_identical(type(function(x) as.double(x), nv_tensor(c(TRUE, FALSE))), "f32?[2]")
  expect_identical(type(function(x) as.integer(x), m), "i32?[4]")
  expect_identical(type(function(x) as.integer(x), nv_tensor(1:2, "i8")), "i8[2]")
  expect_identical(type(function(x) as.logical(x), m), "i1[4]")
  expect_identical(type(function(x) as.matrix(x), nv_tensor(1:3)), "i32[3, 1]")
  expect_identical(type(function(x) as.matrix(x), m), "f64[2, 2]")
  expect_identical(type(function(x) as.numeric(x), nv_scalar(1, "f32")), "f32[]")
  expect_identical(type(function(x) as.integer(x), nv_scalar(1, "f32")), "i32?[]")
  expect_identical(type(function(x) as.vector(x), nv_tensor(1, "f32", shape = c(1, 1))), "f32[1]")
  for (f in list(as.vector, as.numeric, as.integer, as.logical)) {
    of <- user_env(function(x) as_mode(x), as_mode = f)
    expect_identical(as.vector(as_array(jit(of)(m))), f(as_array(m)))
  }
  expect_identical(lapply(jit(function(x) as.list(x))(m), as_array), as.list(as_array(m)))
  expect_identical(jit(function(x) as.list(x)$b)(nv_tensor(c(a = 1, b = 2))), nv_scalar(2, "f32"))
  expect_identical(jit(function(x) as.complex(x))(nv_tensor(c(1, -2), "f64")), nv_tensor(c(1, -2), "c128"))
  expect_identical(jit(function(x) as.complex(x))(nv_tensor(1:2)), nv_tensor(1:2, "c64", ambiguous = TRUE))
  expect_error(jit(function(x) as.numeric(x))(nv_tensor(1i)), class = "anvil_error_dtype", "imaginary")
  # Eagerly they are R's, with names.
  expect_identical(as.list(nv_tensor(c(a = 1, b = 2))), list(a = 1, b = 2))
})

test_that("only tensors have elements to give", {
  for (bad in list(1, NULL, "a", list(1), mean)) {
    expect_fields(as_array(bad), "anvil_error_arg", arg = "x", expected = "a tensor")
  }
  error <- expect_error(jit(function(x) as_array(x))(nv_scalar(1)), class = "anvil_error_concrete")
  expect_identical(error$where, "as_array()")
  expect_match(conditionMessage(error), "AnvilTracer(dtype=f32?, shape=)", fixed = TRUE)
  for (convert in list(as.array, as.character, function(x) as.vector(x, "character"))) {
    expect_error(
      jit(function(x, convert) convert(x), static = "convert")(nv_scalar(1), convert),
      class = "anvil_error_concrete"
    )
  }
  # Shapes are known while a function is traced.
  shapes <- jit(function(x) length(x) + nrow(x) + ncol(x) * x)
  expect_nv(shapes(nv_fill(1, c(2, 3))), matrix(11, 2, 3), "f32")
})

test_that("f64, i32 and c128 go out without a copy", {
  x <- nv_fill(0.5, c(1000, 500), dtype = "f64")
  # R's own count of the memory that a call takes: a copy would be 4 MB.
  taken <- function(expr) {
    before <- gc(reset = TRUE)[2L, 6L]
    force(expr)
    gc()[2L, 6L] - before
  }
  expect_lt(taken(as_array(x)), 2)
  y <- nv_fill(1L, c(1000, 1000))
  expect_lt(taken(as_array(y)), 2)
  z <- nv_fill(1i, c(1000, 500), dtype = "c128")
  expect_lt(taken(as_array(z)), 2)
  # What is done to the array is not seen by the tensor.
  a <- as_array(x)
  a[1, 1] <- 7
  expect_identical(as_array(x)[1, 1], 0.5)
})
