test_that("the dtype follows from the type of the data", {
  expect_nv(nv_tensor(c(1, 2.5)), c(1, 2.5), "f32")
  expect_nv(nv_tensor(c(1L, -2L)), c(1L, -2L), "i32")
  expect_nv(nv_tensor(c(TRUE, FALSE)), c(TRUE, FALSE), "i1")
  expect_nv(nv_tensor(c(1+2i, -1i)), c(1+2i, -1i), "c64")
  expect_nv(nv_tensor(as.raw(c(0, 255))), c(0, 255), "ui8")
  expect_error(nv_tensor("1"), class = "anvil_error_arg")
})

# The elements as they are in memory.
data_of <- function(x) .Call(anvil:::anvil_tensor_data, x)

test_that("every dtype is made of doubles, integers and logicals", {
  for (dtype in dtypes) {
    expect_nv(nv_tensor(c(0, 1, 1), dtype), c(0, 1, 1), dtype)
    expect_nv(nv_tensor(c(0L, 1L), dtype), c(0, 1), dtype)
    expect_nv(nv_tensor(c(FALSE, TRUE), dtype), c(0, 1), dtype)
    expect_nv(nv_tensor(as.raw(0:1), dtype), c(0, 1), dtype)
    expect_nv(nv_tensor(1, as_dtype(dtype)), 1, dtype)
  }
})

test_that("nv_tensor() takes its shape from dim, length or the argument", {
  expect_identical(shape(nv_tensor(1)), 1L)
  expect_identical(shape(nv_tensor(1:3)), 3L)
  expect_identical(shape(nv_tensor(array(1:3))), 3L)
  expect_identical(shape(nv_tensor(matrix(1:6, 2))), c(2L, 3L))
  expect_identical(shape(nv_tensor(1, shape = integer())), integer())
  expect_identical(shape(nv_tensor(1, shape = NULL)), 1L)
  expect_identical(shape(nv_tensor(1:6, shape = c(3, 2))), c(3L, 2L))
  expect_identical(shape(nv_tensor(matrix(1:6, 2), shape = 6)), 6L)
  expect_identical(shape(nv_tensor(1:6, shape = array(2:3))), 2:3)
})

test_that("arrays of up to five axes keep their elements in place", {
  for (rank in 1:5) {
    sizes <- c(2L, 3L, 1L, 2L, 2L)[seq_len(rank)]
    data <- array(seq_len(prod(sizes)), sizes)
    for (dtype in c("i32", "i64", "f32", "f64", "ui8")) {
      x <- nv_tensor(data, dtype)
      expect_identical(shape(x), sizes)
      expect_equal(as_array(x), data, ignore_attr = FALSE)
    }
  }
})

test_that("a vector fills a shape column by column, or row by row", {
  expect_equal(as_array(nv_tensor(1:6, shape = c(2, 3))), matrix(1:6, 2))
  expect_equal(as_array(nv_tensor(1:6, shape = c(2, 3), order = "row")), matrix(1:6, 2, byrow = TRUE))
  # The last axis is the fastest, whatever the number of axes.
  by_row <- nv_tensor(1:24, "f64", shape = c(2, 3, 4), order = "row")
  expect_equal(as_array(by_row), aperm(array(1:24, c(4, 3, 2))))
  expect_nv(nv_tensor(c(1, 2), order = "row"), c(1, 2), "f32")
  expect_nv(nv_tensor(5, shape = c(2, 2), order = "row"), matrix(5, 2, 2), "f32")
})

test_that("one value is recycled to any shape, and nothing else is", {
  for (dtype in dtypes) expect_nv(nv_tensor(1, dtype, shape = c(2, 3)), matrix(1, 2, 3), dtype)
  expect_nv(nv_tensor(7L, shape = c(0, 3)), integer(), "i32", c(0, 3))
  expect_nv(nv_tensor(7, "f64", shape = 3), c(7, 7, 7), "f64")
  expect_fields(nv_tensor(1:2, shape = 4), "anvil_error_shape", len = 2, shape = 4, size = 4)
  expect_fields(nv_tensor(1:3, shape = c(2, 2)), "anvil_error_shape", len = 3, shape = c(2, 2), size = 4)
  expect_fields(nv_tensor(numeric(), shape = 1), "anvil_error_shape", len = 0, shape = 1, size = 1)
  expect_fields(nv_tensor(1:2, shape = integer()), "anvil_error_shape", len = 2, shape = numeric(), size = 1)
  expect_fields(nv_tensor(1:2, shape = c(0, 2)), "anvil_error_shape", size = 0)
})

test_that("tensors without elements have a dtype and a shape", {
  for (dtype in dtypes) {
    expect_nv(nv_tensor(numeric(), dtype), logical(), dtype, 0)
    expect_identical(dim(as_array(nv_tensor(numeric(), dtype, shape = c(2, 0, 3)))), c(2L, 0L, 3L))
  }
  expect_nv(nv_tensor(matrix(integer(), 0, 4)), integer(), "i32", c(0, 4))
  expect_nv(nv_tensor(character(), "i64"), numeric(), "i64", 0)
})

test_that("names and dimnames are kept, and other attributes are not", {
  expect_identical(as_array(nv_tensor(c(a = 1, b = 2), "f64")), array(c(1, 2), 2, list(c("a", "b"))))
  named <- matrix(1:4, 2, dimnames = list(c("a", "b"), NULL))
  expect_identical(as_array(nv_tensor(named)), named)
  expect_identical(nv_tensor(structure(1:4, note = "kept by nobody")), nv_tensor(c(1L, 2L, 3L, 4L)))
  expect_identical(nv_tensor(structure(c(1, 2), note = "kept by nobody"), "f64"), nv_tensor(c(1, 2), "f64"))
  large <- structure(as.double(1:1000), note = "kept by nobody")
  expect_null(attributes(as.vector(nv_tensor(large, "f64"))))
})

test_that("compact sequences are data like any other", {
  expect_identical(nv_tensor(1:10), nv_tensor(c(1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L, 9L, 10L)))
  expect_nv(nv_tensor(1:10, "f32"), 1:10, "f32")
  expect_nv(nv_tensor(as.double(1:10), "f64"), 1:10, "f64")
  expect_nv(nv_tensor(seq_len(6), shape = c(3, 2)), matrix(1:6, 3), "i32")
  expect_nv(nv_tensor(as.character(1:10), "i64"), 1:10, "i64")
})

test_that("strings hold integers that doubles do not", {
  for (dtype in integers) {
    ends <- c(lowest[[dtype]], highest[[dtype]])
    x <- nv_tensor(ends, dtype)
    # Bits of the smallest and the largest value: 1000... and 0111..., or 000... and 111...
    bytes <- as.raw(unlist(if (dtype %in% signed) {
      n <- bits(dtype) / 8
      list(rep(0, n - 1), 128, rep(255, n - 1), 127)
    } else {
      list(rep(0, bits(dtype) / 8), rep(255, bits(dtype) / 8))
    }))
    if (dtype == "i32") {
      expect_identical(data_of(x), c(NA, .Machine$integer.max))
    } else {
      expect_identical(data_of(x), bytes)
    }
  }
  expect_nv(nv_tensor("9007199254740993", "i64") - nv_tensor("9007199254740992", "i64"), 1, "i64")
  expect_nv(nv_tensor(c(" 12 ", "+5", "-0", "007"), "i16"), c(12, 5, 0, 7), "i16")
  expect_nv(nv_tensor(c("0.1", "1e3", "-Inf", "NaN"), "f64"), c(0.1, 1000, -Inf, NaN), "f64")
  expect_nv(nv_tensor(c("TRUE", "F", "true"), "i1"), c(TRUE, FALSE, TRUE), "i1")
  expect_nv(
    nv_scalar("18446744073709551615", "ui64") - nv_scalar("18446744073709551614", "ui64"), 1, "ui64",
    integer()
  )
})

test_that("strings that are no numbers are refused, with the first of them", {
  expect_fields(
    nv_tensor(c("1", "x"), "i32"), "anvil_error_arg",
    arg = "data", expected = "strings of decimal digits for dtype i32", got = "\"x\" at position 2"
  )
  for (text in c("", "1.5", "1e3", "0x10", "--1", "1 2", "TRUE", "\u00e9")) {
    expect_error(nv_tensor(text, "i64"), class = "anvil_error_arg")
  }
  for (text in c("", "abc", "1,5", "0x10")) expect_error(nv_tensor(text, "f32"), class = "anvil_error_arg")
  expect_error(nv_tensor("yes", "i1"), class = "anvil_error_arg")
  expect_error(nv_tensor("1", "i1"), class = "anvil_error_arg")
  expect_fields(nv_tensor(c("NA", "1", NA), "i32"), "anvil_error_value", count = 2, positions = c(1, 3))
  expect_fields(nv_tensor(strrep("9", 100), "ui64"), "anvil_error_value", count = 1, dtype = "ui64")
  # What the user wrote is not a format.
  expect_match(conditionMessage(condition_of(nv_tensor("100%s %d", "i32"))), "\"100%s %d\"", fixed = TRUE)
})

test_that("integer64 becomes i64, and keeps all its digits", {
  skip_if_not_installed("bit64")
  big <- bit64::as.integer64(c("9007199254740993", "-9223372036854775807", "0"))
  x <- nv_tensor(big)
  expect_identical(as.character(dtype(x)), "i64")
  expect_identical(x, nv_tensor(c("9007199254740993", "-9223372036854775807", "0"), "i64"))
  expect_identical(as_array(x, integer64 = TRUE), structure(big, dim = 3L))
  expect_nv(nv_tensor(bit64::as.integer64(1:4), "ui8", shape = c(2, 2)), matrix(1:4, 2), "ui8")
  expect_nv(nv_scalar(bit64::as.integer64(5)), 5, "i64", integer(), ambiguous = TRUE)
  expect_fields(
    nv_tensor(bit64::as.integer64(c("1", NA))), "anvil_error_value", dtype = "i64", count = 1, positions = 2
  )
  expect_error(nv_tensor(bit64::as.integer64(-1), "ui64"), class = "anvil_error_value")
})

test_that("data of other classes are refused by name", {
  expect_fields(
    nv_tensor(factor("a")), "anvil_error_arg",
    arg = "data", expected = "a numeric, complex, logical, character or raw vector or array",
    got = "an object of class <factor>"
  )
  expect_fields(nv_tensor(list(1, 2)), "anvil_error_arg", got = "a list of length 2")
  expect_fields(nv_tensor(data.frame(a = 1)), "anvil_error_arg", got = "an object of class <data.frame>")
  expect_fields(nv_tensor(Sys.Date()), "anvil_error_arg", got = "an object of class <Date>")
  expect_fields(nv_tensor(NULL), "anvil_error_arg", got = "NULL")
  expect_fields(nv_tensor(mean), "anvil_error_arg", got = "a function")
  for (bad in list(quote(x), globalenv(), y ~ x, numeric_version("1.0"), expression(x))) {
    expect_error(nv_tensor(bad), class = "anvil_error_arg")
    expect_error(nv_scalar(bad), class = "anvil_error_arg")
    expect_error(as_nv_tensor(bad), class = "anvil_error_arg")
  }
  # What as_nv_tensor() takes.
  for (data in list(as.difftime(1, units = "mins"), factor("a"), Sys.Date())) {
    expect_error(nv_tensor(data), class = "anvil_error_arg")
    expect_error(nv_scalar(data), class = "anvil_error_arg")
  }
})

test_that("missing integers and logicals are refused, with their positions", {
  expect_fields(
    nv_tensor(c(1L, NA, 3L, NA)), "anvil_error_value", dtype = "i32", count = 2, positions = c(2, 4)
  )
  expect_fields(nv_tensor(c(NA, TRUE)), "anvil_error_value", dtype = "i1", count = 1, positions = 1)
  # Five positions are listed, all are counted; a shape does not change them.
  expect_fields(
    nv_tensor(rep(NA_integer_, 100), "i8", shape = c(10, 10), order = "row"), "anvil_error_value",
    count = 100, positions = c(1, 2, 3, 4, 5)
  )
  # Where a float would turn them into a number that is.na() no longer knows, too.
  for (dtype in dtypes) {
    expect_error(nv_tensor(NA_integer_, dtype), class = "anvil_error_value")
    expect_error(nv_tensor(NA, dtype), class = "anvil_error_value")
  }
  for (dtype in c("i1", integers)) {
    expect_fields(nv_tensor(c(0, NaN), dtype), "anvil_error_value", dtype = dtype, count = 1, positions = 2)
    expect_fields(
      nv_tensor(c(0, NA_real_), dtype), "anvil_error_value", dtype = dtype, count = 1, positions = 2
    )
  }
  # The value of a tensor without elements is not asked for.
  expect_nv(nv_tensor(NA_integer_, shape = 0), integer(), "i32", 0)
})

test_that("values that the dtype cannot hold are refused, and never wrap", {
  for (dtype in integers) {
    above <- if (bits(dtype) == 64) 2^bits(dtype) else as.double(highest[[dtype]]) + 1
    below <- if (dtype == "i64") -2^63 - 2048 else as.double(lowest[[dtype]]) - 1
    for (bad in c(above, below, 0.5, -0.5, Inf, -Inf, 1e300)) {
      expect_fields(nv_tensor(c(0, bad), dtype), "anvil_error_value", dtype = dtype, count = 1, positions = 2)
    }
  }
  expect_fields(
    nv_tensor(c(1L, 300L, -1L), "ui8"), "anvil_error_value", count = 2, positions = c(2, 3), first = "300"
  )
  expect_fields(nv_tensor(c(0, 2), "i1"), "anvil_error_value", count = 1, positions = 2)
  expect_error(nv_tensor(as.raw(200), "i8"), class = "anvil_error_value")
  expect_error(nv_tensor("256", "ui8"), class = "anvil_error_value")
  expect_error(nv_scalar(1e10, "i32"), class = "anvil_error_value")
  expect_error(nv_tensor(2^63, "i64"), class = "anvil_error_value")
  expect_error(nv_tensor(2^64, "ui64"), class = "anvil_error_value")
  # The largest doubles below the bounds do fit.
  expect_nv(nv_tensor(2^63 - 1024, "i64"), 2^63 - 1024, "i64")
  expect_nv(nv_tensor(2^64 - 2048, "ui64"), 2^64 - 2048, "ui64")
  # Floats hold any number, rounded.
  expect_nv(nv_tensor(c(1e300, -1e300, 1e-300), "f32"), c(Inf, -Inf, 0), "f32")
  expect_nv(nv_tensor(0.1), 0.1, "f32", tolerance = 1e-7)
  expect_false(as.vector(nv_tensor(0.1)) == 0.1)
})

test_that("shapes that are none are refused before anything is allocated", {
  for (bad in list(
    -1, c(2, -3), 1.5, NA_real_, NaN, Inf, -Inf, 1e300, NA, TRUE, "2", list(2, 3), factor(1), mean, quote(x)
  )) {
    expect_error(nv_tensor(1, shape = bad), class = "anvil_error_arg")
    expect_error(nv_fill(1, bad), class = "anvil_error_arg")
    expect_error(nv_empty("f32", bad), class = "anvil_error_arg")
    expect_error(nv_iota(1, "i32", bad), class = "anvil_error_arg")
    expect_error(nv_abstract("f32", bad), class = "anvil_error_arg")
  }
  expect_fields(nv_tensor(1, shape = c(2, -3)), "anvil_error_arg", arg = "shape", got = "c(2, -3)")
  for (huge in list(c(1e6, 1e6, 1e6), rep(2147483647, 4), 3e9, c(0, 3e9), 2^53, rep(1e5, 30))) {
    expect_error(nv_tensor(1, shape = huge), class = "anvil_error_shape")
    expect_error(nv_tensor(1, "f64", shape = huge, order = "row"), class = "anvil_error_shape")
    expect_error(nv_fill(1, huge), class = "anvil_error_shape")
    expect_error(nv_empty("ui8", huge), class = "anvil_error_shape")
    expect_error(nv_abstract("i1", huge), class = "anvil_error_shape")
  }
  expect_fields(
    nv_tensor(1, shape = rep(1e9, 3)), "anvil_error_shape", shape = "(1000000000,1000000000,1000000000)"
  )
  # More axes than anybody needs.
  expect_identical(ndims(nv_tensor(1, shape = rep(1, 300))), 300L)
  # A shape that can be addressed, but not allocated, is R's own error.
  expect_error(nv_tensor(1, shape = c(2147483647, 1e5)), "allocate|too large")
  expect_error(nv_fill(1L, c(2147483647, 1e5)), "allocate|too large")
})

test_that("the other arguments are checked too", {
  expect_fields(nv_tensor(1, "float"), "anvil_error_dtype", got = "\"float\"")
  for (bad in list(3, NA, c("f32", "f64"), character(), list("f32"))) {
    expect_error(nv_tensor(1, bad), class = "anvil_error_arg")
  }
  expect_error(nv_tensor(1, NA_character_), class = "anvil_error_dtype")
  for (bad in list(NA, "TRUE", 1, c(TRUE, FALSE), logical())) {
    expect_fields(
      nv_tensor(1, ambiguous = bad), "anvil_error_arg", arg = "ambiguous", expected = "TRUE or FALSE"
    )
  }
  for (bad in list(NA, "F", 1, c("row", "column"), character(), NULL, NA_character_)) {
    expect_fields(
      nv_tensor(1, order = bad), "anvil_error_arg", arg = "order", expected = "\"column\" or \"row\""
    )
    expect_error(nv_matrix(1:4, 2, order = bad), class = "anvil_error_arg")
  }
  for (bad in list("cuda", NULL, 1, "CPU", NA)) {
    expect_fields(nv_tensor(1, device = bad), "anvil_error_arg", arg = "device")
    expect_error(nv_scalar(1, device = bad), class = "anvil_error_arg")
    expect_error(nv_matrix(1, 1, device = bad), class = "anvil_error_arg")
    expect_error(nv_fill(1, 1, device = bad), class = "anvil_error_arg")
    expect_error(nv_iota(1, "i32", 1, device = bad), class = "anvil_error_arg")
    expect_error(nv_seq(1, 2, device = bad), class = "anvil_error_arg")
    expect_error(nv_empty("i32", 1, device = bad), class = "anvil_error_arg")
  }
})

test_that("tensors are known, and scalars ambiguous unless logical or told otherwise", {
  expect_false(ambiguous(nv_tensor(1)))
  expect_false(ambiguous(nv_tensor(1L)))
  expect_true(ambiguous(nv_tensor(1, ambiguous = TRUE)))
  expect_nv(nv_scalar(1), 1, "f32", integer(), ambiguous = TRUE)
  expect_nv(nv_scalar(1L), 1, "i32", integer(), ambiguous = TRUE)
  expect_nv(nv_scalar(TRUE), TRUE, "i1", integer())
  expect_nv(nv_scalar(1, "f32"), 1, "f32", integer())
  expect_nv(nv_scalar(1, "f64", ambiguous = TRUE), 1, "f64", integer(), ambiguous = TRUE)
  expect_nv(nv_scalar(1, ambiguous = FALSE), 1, "f32", integer())
  expect_nv(nv_scalar(TRUE, ambiguous = TRUE), TRUE, "i1", integer(), ambiguous = TRUE)
  expect_nv(nv_scalar(matrix(3L)), 3, "i32", integer(), ambiguous = TRUE)
})

test_that("a tensor stays what it is, and is not turned into another by the way", {
  x <- nv_tensor(1:3)
  expect_identical(nv_tensor(x), x)
  expect_identical(nv_tensor(x, "i32", shape = 3, ambiguous = FALSE), x)
  expect_identical(nv_scalar(nv_scalar(1)), nv_scalar(1))
  expect_fields(nv_tensor(x, "f32"), "anvil_error_arg", arg = "dtype", got = "f32")
  expect_fields(nv_tensor(x, shape = c(3, 1)), "anvil_error_arg", arg = "shape", got = "(3,1)")
  expect_fields(nv_tensor(x, ambiguous = TRUE), "anvil_error_arg", arg = "ambiguous", got = "TRUE")
  expect_fields(nv_tensor(x, order = "row"), "anvil_error_arg", arg = "order")
  expect_error(nv_tensor(x, "zz"), class = "anvil_error_dtype")
  expect_error(nv_scalar(x), class = "anvil_error_arg")
  for (bad in list("a", 3.5, 1e10, NA, TRUE)) {
    expect_no_warning(expect_error(nv_tensor(x, shape = bad), class = "anvil_error_arg"))
  }
})

test_that("as_nv_tensor() makes what a value is as an operand", {
  x <- nv_tensor(1:3)
  expect_identical(as_nv_tensor(x), x)
  expect_identical(as_nv_tensor(1), nv_scalar(1))
  expect_identical(as_nv_tensor(TRUE), nv_scalar(TRUE))
  expect_nv(as_nv_tensor(1:3), 1:3, "i32")
  expect_nv(as_nv_tensor(matrix(1)), matrix(1), "f32")
  expect_nv(as_nv_tensor(c(0.1, 2), "f64"), c(0.1, 2), "f64")
  expect_nv(as_nv_tensor(0.1, "f64"), 0.1, "f64", integer())
  expect_nv(as_nv_tensor(nv_scalar(1), "f32"), 1, "f32", integer())
  expect_nv(as_nv_tensor(x, "ui8"), 1:3, "ui8")
  expect_error(as_nv_tensor(NULL), class = "anvil_error_arg")
})

test_that("f64, i32 and c128 are not copied where R's own vector can serve", {
  # A large matrix goes in and comes out without its elements being touched.
  doubles <- matrix(as.double(1:1e6), 1000)
  touched <- function(large, dtype) {
    gc(reset = TRUE)
    x <- nv_tensor(large, dtype)
    out <- as_array(x)
    used <- gc()["Vcells", ]
    expect_identical(out, large)
    used[["max used"]] - used[["used"]]
  }
  expect_lt(touched(doubles, "f64"), 5e5)
  complex <- doubles + 1i
  expect_lt(touched(complex, "c128"), 5e5)
})

test_that("a tensor is a value: changing the vector it was made of, or made into, does not change it", {
  for (dtype in c("f64", "f32", "i32", "i64")) {
    for (n in c(1L, 3L, 1000L)) {
      source <- if (dtype == "i32") as.integer(rep(1, n)) else rep(1, n)
      x <- nv_tensor(source, dtype)
      y <- nv_tensor(array(source, c(n, 1L)), dtype)
      source[1] <- 99
      out <- as_array(x)
      out[1] <- 98
      flat <- as.vector(y)
      flat[n] <- 97
      expect_nv(x, rep(1, n), dtype)
      expect_nv(y, rep(1, n), dtype, c(n, 1))
    }
  }
  scalar <- nv_scalar(5, "f64")
  out <- as_array(scalar)
  out[1] <- 0
  expect_nv(scalar, 5, "f64", integer())
  made_in_function <- function() {
    v <- c(1, 2)
    x <- nv_tensor(v, "f64")
    v[1] <- 3
    x
  }
  expect_nv(made_in_function(), c(1, 2), "f64")
})

test_that("tensors are kept by saveRDS(), serialize() and identical()", {
  for (dtype in dtypes) {
    for (x in list(
      nv_tensor(c(0, 1, 1, 0), dtype, c(2, 2)), nv_scalar(1, dtype), nv_tensor(1, dtype, 500),
      nv_empty(dtype, 0)
    )) {
      file <- tempfile()
      saveRDS(x, file)
      back <- readRDS(file)
      expect_identical(back, x)
      expect_identical(as_array(back), as_array(x))
      expect_identical(back == x, x == x)
      expect_identical(unserialize(serialize(x, NULL, ascii = TRUE)), x)
      expect_identical(unserialize(serialize(x, NULL, version = 2)), x)
      unlink(file)
    }
  }
  matrix <- nv_tensor(matrix(as.double(1:1e4), 100), "f64")
  back <- unserialize(serialize(matrix, NULL))
  expect_identical(back, matrix)
  expect_identical(back %*% back, matrix %*% matrix)
  nested <- list(w = nv_scalar(1), b = list(nv_tensor(1:3)))
  expect_identical(unserialize(serialize(nested, NULL)), nested)

  expect_identical(nv_tensor(c(1, 2)), nv_tensor(c(1, 2)))
  expect_false(identical(nv_tensor(c(1, 2)), nv_tensor(c(1, 3))))
  expect_false(identical(nv_tensor(c(1, 2)), nv_tensor(c(1, 2), ambiguous = TRUE)))
  expect_false(identical(nv_tensor(1:4), nv_tensor(1:4, shape = c(2, 2))))
})

test_that("a vector with broken attributes is refused, and crashes nothing", {
  tensor <- function(data, ...) structure(data, ..., class = c("AnvilTensor", "AnvilValue"))
  broken <- list(
    tensor(list()), tensor(list(1), dtype = "f32"), tensor(1), tensor("a", dtype = "f32"),
    tensor(raw(4), dtype = "f32"),
    tensor(1, dtype = "zz"), tensor(1, dtype = 5), tensor(1, dtype = c("f32", "f32")),
    tensor(1, dtype = "f64", ambiguous = "no"), tensor(1, dtype = "f64", ambiguous = NA)
  )
  for (x in broken) {
    error <- expect_error(print(x), class = "anvil_error_arg")
    expect_match(conditionMessage(error), "whole tensor")
    expect_error(as_array(x), class = "anvil_error_arg")
    expect_error(x + 1, class = "anvil_error_arg")
    expect_error(nv_convert(x, "f32"), class = "anvil_error_arg")
    expect_error(jit(function(x) x)(x), class = "anvil_error")
    expect_error(trace_fn(function(x) x, x), class = "anvil_error")
  }
})

test_that("a tensor that is asked to be a tensor of no dtype at all", {
  x <- nv_tensor(c(1, 2))
  for (dtype in list(sum, x, c("f32", "f64"), character(), NA, list(), quote(f32))) {
    for (make in c(nv_tensor, nv_scalar)) {
      expect_fields(make(x, dtype = dtype), "anvil_error_arg", arg = "dtype")
    }
  }
  expect_identical(nv_tensor(x, as_dtype("f32")), x)
})

# ---- types ----

test_that("functions of elements say that abstract tensors have none", {
  x <- nv_abstract("f32", c(2, 3))
  for (call in alist(x + 1, -x, sqrt(x), cumsum(x), sum(x), range(x), t(x), mean(x))) {
    expect_error(eval(call), "not available for abstract tensors", class = "anvil_error_unsupported")
  }
})

test_that("abstract tensors have the sizes of the tensors that they stand for", {
  for (shape in list(integer(), 3L, c(2L, 3L), c(2L, 0L, 4L))) {
    type <- nv_abstract("f32", shape)
    x <- nv_fill(0, shape, "f32")
    expect_identical(list(dim(type), nrow(type), length(type)), list(dim(x), nrow(x), length(x)))
  }
  expect_identical(length(nv_abstract("i8", c(1e5, 1e5))), 1e10)
})

test_that("abstract tensors are compared by their types", {
  types <- list(
    nv_abstract("f32", 2), nv_abstract("f64", 2), nv_abstract("f32", 3), nv_abstract("f32", c(2, 1)),
    nv_abstract("f32"), nv_abstract("f32", 2, ambiguous = TRUE)
  )
  for (i in seq_along(types)) for (j in seq_along(types)) {
    expect_identical(types[[i]] == types[[j]], i == j)
    expect_identical(types[[i]] != types[[j]], i != j)
    expect_identical(identical(types[[i]], types[[j]]), i == j)
    expect_identical(isTRUE(all.equal(types[[i]], types[[j]])), i == j)
  }
  expect_true(nv_abstract("f32", 2) == nv_abstract(as_dtype("f32"), 2L))
  expect_identical(
    all.equal(types[[1L]], nv_abstract("i8", 3, TRUE)),
    c("dtypes differ: f32 and i8", "shapes differ: (2) and (3)", "ambiguities differ: FALSE and TRUE")
  )
  expect_identical(all.equal(types[[1L]], 1), "current is not an abstract tensor: 1")
  expect_fields(types[[1L]] == "f32", "anvil_error_arg", arg = "e2", got = "\"f32\"")
  expect_fields(1 != types[[1L]], "anvil_error_arg", arg = "e1", got = "1")
  expect_fields(types[[1L]] < types[[2L]], "anvil_error_unsupported", generic = "<")
  expect_fields(-types[[1L]], "anvil_error_unsupported", generic = "-")
})

# As in a new session.
untold <- function(code) {
  before <- as.list(anvil:::told)
  rm(list = names(before), envir = anvil:::told)
  on.exit(list2env(before, anvil:::told))
  code
}

test_that("a number that becomes infinite by default is an error", {
  for (make in list(
    nv_tensor, function(x) nv_fill(x, 2), nv_matrix, function(x) nv_tensor(c(0, x, 1)),
    function(x) nv_tensor(matrix(c(0, x), 1)), function(x) nv_tensor(complex(real = x, imaginary = 1)),
    function(x) nv_tensor(x, shape = c(2, 2)), function(x) nv_tensor(c(x, 1), shape = c(1, 2), order = "row")
  )) {
    for (x in c(1e40, -3.5e38, .Machine$double.xmax)) {
      expect_error(make(x), class = "anvil_error_value", "beyond the range")
    }
    expect_true(inherits(make(Inf), "AnvilTensor"))
  }
  expect_error(nv_seq(0, 1e40, steps = 3), class = "anvil_error_value", "beyond the range")
  # An ambiguous float is a double, which holds it.
  for (make in list(nv_scalar, as_nv_tensor, function(x) nv_tensor(x, ambiguous = TRUE))) {
    expect_identical(as.vector(as_array(make(1e40))), 1e40)
  }
  many <- c(1, 1e40, Inf, -1e300)
  e <- expect_error(nv_tensor(many), class = "anvil_error_value", "dtype = \"f64\"", fixed = TRUE)
  expect_match(conditionMessage(e), "1e+40", fixed = TRUE)
  expect_identical(e[c("dtype", "count", "positions")], list(dtype = "f32", count = 2, positions = c(2, 4)))
  expect_identical(call_of(nv_tensor(1e40)), "nv_tensor(1e+40)")
  expect_error(nv_tensor(1e40+1i), class = "anvil_error_value", "dtype = \"c128\"", fixed = TRUE)
  # What is asked for becomes infinite, and what fits stays.
  expect_nv(nv_tensor(1e40, "f32"), Inf, "f32")
  expect_nv(nv_fill(-1e40, 1, "f32"), -Inf, "f32")
  expect_nv(nv_tensor(1e40, "f64"), 1e40, "f64")
  expect_nv(nv_tensor(c(3.4e38, Inf, -Inf, NaN)), c(as_f32(3.4e38), Inf, -Inf, NaN), "f32")
  expect_nv(nv_tensor(1e40, shape = 0), numeric(), "f32")
  expect_error(jit(function(x) x + nv_tensor(1e40))(nv_tensor(1)), class = "anvil_error_value")
  expect_no_open_trace()
})

test_that("whole numbers that the default dtype rounds are a warning, once", {
  warned <- function(expr) {
    untold({
      w <- expect_warning(expr, class = "anvil_warning_rounded")
      # Said once.
      expect_no_warning(nv_tensor(123456789))
      w
    })
  }
  w <- warned(nv_tensor(123456789))
  expect_match(conditionMessage(w), "1 whole number beyond 2^24 that f32 rounds", fixed = TRUE)
  expect_match(conditionMessage(w), "`dtype = \"f64\"` or an integer dtype", fixed = TRUE)
  expect_identical(w[c("count", "first", "dtype")], list(count = 1, first = "123456789", dtype = "f32"))
  expect_identical(deparse1(conditionCall(w)), "nv_tensor(123456789)")
  w <- warned(nv_tensor(c(0.5, -16777217, 2^30, 16777219)))
  expect_identical(w[c("count", "first")], list(count = 2, first = "-16777217"))
  expect_match(conditionMessage(w), "that they have", fixed = TRUE, all = FALSE)
  for (make in list(function(x) nv_fill(x, 2), nv_matrix, function(x) nv_tensor(x + 0i))) {
    warned(make(123456789))
  }
  # The tensor is what it was.
  expect_nv(suppressWarnings(nv_tensor(123456789)), 123456792, "f32")
  # What holds the number, what was asked for, and what is no whole number beyond 2^24 and up to 2^53.
  quiet <- list(
    quote(nv_tensor(123456789, "f64")), quote(nv_tensor(123456789, "f32")), quote(nv_tensor(123456789L)),
    quote(nv_tensor(c(16777216, 2^40, 0.1, 123456789.5, 1e16, 1e30, Inf, NaN))),
    quote(nv_tensor(123456789, "i32")), quote(nv_tensor(123456789, shape = 0)),
    quote(nv_scalar(2) + 123456789), quote(nv_scalar(123456789)), quote(as_nv_tensor(123456789))
  )
  for (call in quiet) untold(expect_no_warning(eval(call)))
  # An error, if warnings are.
  untold({
    old <- options(warn = 2)
    on.exit(options(old))
    expect_error(nv_tensor(123456789), "rounds")
  })
  expect_no_open_trace()
})

test_that("tensors of one type do not change with one another", {
  make <- jit(function(x) list(x + 1, x * 2))
  x <- nv_tensor(matrix(1:6 / 2, 2))
  both <- make(x)
  other <- both[[2L]]
  dim(both[[1L]]) <- c(3L, 2L)
  attr(other, "dim")[1L] <- 2L
  dimnames(other) <- list(c("a", "b"), NULL)
  expect_identical(dim(both[[1L]]), c(3L, 2L))
  expect_identical(dim(both[[2L]]), c(2L, 3L))
  expect_null(dimnames(both[[2L]]))
  again <- make(x)
  expect_identical(dim(again[[1L]]), c(2L, 3L))
  expect_null(dimnames(again[[1L]]))
  expect_identical(class(again[[1L]]), class(x))
})
