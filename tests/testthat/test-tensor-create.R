# Functions that make tensors beside nv_tensor(): scalars, matrices, one value repeated, counts.

test_that("nv_scalar() takes one value", {
  expect_fields(
    nv_scalar(1:2), "anvil_error_arg", arg = "data", expected = "one value",
    got = "an integer vector of length 2"
  )
  for (bad in list(NULL, numeric(), c(TRUE, FALSE), matrix(1:4, 2), letters)) {
    expect_error(nv_scalar(bad), class = "anvil_error_arg")
  }
  expect_error(nv_scalar(NA), class = "anvil_error_value")
  expect_error(nv_scalar(NA_integer_), class = "anvil_error_value")
  # An ambiguous float is R's own double.
  expect_identical(as.vector(nv_scalar(NA_real_)), NA_real_)
  expect_true(is.nan(as.vector(nv_scalar(NA_real_, "f32"))))
})

test_that("nv_matrix() completes the shape", {
  expect_nv(nv_matrix(1:6, 2), matrix(1:6, 2), "i32")
  expect_nv(nv_matrix(1:6, ncol = 2), matrix(1:6, ncol = 2), "i32")
  expect_nv(nv_matrix(1:6, 2, 3, order = "row"), matrix(1:6, 2, byrow = TRUE), "i32")
  expect_nv(nv_matrix(1:6, 2, dtype = "f64", ambiguous = TRUE), matrix(1:6, 2), "f64", ambiguous = TRUE)
  expect_nv(nv_matrix(matrix(1:6, 2)), matrix(1:6, 2), "i32")
  expect_nv(nv_matrix(matrix(1:6, 2), 3), matrix(1:6, 3), "i32")
  expect_nv(nv_matrix(array(1:8, c(2, 2, 2)), 2), matrix(1:8, 2), "i32")
  expect_nv(nv_matrix(0, 2, 3), matrix(0, 2, 3), "f32")
  expect_nv(nv_matrix(0, 3), matrix(0, 3, 1), "f32")
  expect_nv(nv_matrix(0, ncol = 3), matrix(0, 1, 3), "f32")
  expect_nv(nv_matrix(integer(), 3), integer(), "i32", c(3, 0))
  expect_nv(nv_matrix(integer(), 0, 3), integer(), "i32", c(0, 3))
  expect_nv(nv_matrix(nv_tensor(matrix(1:6, 2))), matrix(1:6, 2), "i32")
  expect_nv(nv_matrix(nv_tensor(matrix(1:6, 2)), ncol = 3), matrix(1:6, 2), "i32")

  expect_fields(nv_matrix(nv_tensor(1:6), 2), "anvil_error_arg", arg = "data", got = "a tensor of shape (6)")
  expect_fields(
    nv_matrix(1:6, 4), "anvil_error_arg", arg = "nrow", expected = "a divisor of the data's length, 6"
  )
  expect_fields(nv_matrix(1:6, ncol = 0), "anvil_error_arg", arg = "ncol")
  expect_fields(nv_matrix(1:6, 2, 2), "anvil_error_shape", len = 6, shape = c(2, 2))
  expect_fields(nv_matrix(nv_tensor(matrix(1:6, 2)), 3), "anvil_error_arg", arg = "shape")
  for (bad in list(-2, 1.5, NA, "a", c(2, 3), Inf)) {
    expect_fields(nv_matrix(1:6, bad), "anvil_error_arg", arg = "nrow")
    expect_fields(nv_matrix(1:6, 2, bad), "anvil_error_arg", arg = "ncol")
  }
})

test_that("nv_fill() and nv_empty() repeat one value", {
  expect_nv(nv_fill(0.5, c(2, 3)), matrix(0.5, 2, 3), "f32")
  expect_nv(nv_fill(2L, 3), c(2, 2, 2), "i32")
  expect_nv(nv_fill(TRUE, 2), c(TRUE, TRUE), "i1")
  expect_nv(nv_fill(1, integer()), 1, "f32", integer())
  expect_nv(nv_fill(1, c(0, 2)), numeric(), "f32", c(0, 2))
  expect_nv(nv_fill(0.1, 2, "f64"), c(0.1, 0.1), "f64")
  expect_nv(nv_fill(1, 2, ambiguous = TRUE), c(1, 1), "f32", ambiguous = TRUE)
  expect_identical(nv_fill("9007199254740993", 2, "i64"), nv_tensor("9007199254740993", "i64", shape = 2))
  for (dtype in dtypes) {
    expect_nv(nv_fill(1, 2, dtype), c(1, 1), dtype)
    expect_nv(nv_empty(dtype, c(2, 2)), matrix(0, 2, 2), dtype)
    expect_nv(nv_empty(dtype, c(2, 0), ambiguous = TRUE), numeric(), dtype, c(2, 0), ambiguous = TRUE)
  }
  # A 0-d tensor is a value, and the result is what the arguments say.
  expect_nv(nv_fill(nv_scalar(2), 2), c(2, 2), "f32")
  expect_nv(nv_fill(nv_scalar(2L, "i8"), 2, ambiguous = TRUE), c(2, 2), "i8", ambiguous = TRUE)
  expect_nv(nv_fill(nv_scalar(2L, "i8"), 2, "f64"), c(2, 2), "f64")

  expect_fields(nv_fill(1:2, 2), "anvil_error_arg", arg = "value")
  expect_fields(nv_fill(nv_tensor(1:2), 2), "anvil_error_arg", arg = "value", got = "a tensor of shape (2)")
  for (bad in list(NULL, list(1), mean, numeric())) {
    expect_fields(nv_fill(bad, 2), "anvil_error_arg", arg = "value")
  }
  expect_error(nv_fill(NA, 2), class = "anvil_error_value")
  expect_error(nv_fill(300, 2, "ui8"), class = "anvil_error_value")
  expect_error(nv_fill(1, 2, "float"), class = "anvil_error_dtype")
  expect_error(nv_fill(1, 2, ambiguous = NA), class = "anvil_error_arg")
  expect_error(nv_empty("float", 2), class = "anvil_error_dtype")
})

test_that("nv_iota() counts along one axis", {
  for (dtype in c(integers, floats)) expect_nv(nv_iota(1, dtype, 3), 1:3, dtype)
  expect_equal(as_array(nv_iota(2, "i32", c(2, 3))), matrix(1:3, 2, 3, byrow = TRUE))
  expect_equal(as_array(nv_iota(3, "f64", c(2, 2, 3), start = 0)), array(rep(0:2, each = 4), c(2, 2, 3)))
  expect_nv(nv_iota(1, "i8", 3, start = -128), -128:-126, "i8")
  expect_nv(nv_iota(1, "i32", 2, ambiguous = TRUE), 1:2, "i32", ambiguous = TRUE)
  expect_nv(nv_iota(1, "i32", c(0, 2)), integer(), "i32", c(0, 2))

  expect_fields(nv_iota(3, "i32", c(2, 3)), "anvil_error_axis", axis = 3, rank = 2)
  expect_fields(nv_iota(0, "i32", 3), "anvil_error_axis", axis = 0, rank = 1)
  expect_fields(nv_iota(1, "i32", integer()), "anvil_error_axis", axis = 1, rank = 0)
  for (bad in list(1.5, NA, "a", 1:2, NULL)) {
    expect_error(nv_iota(bad, "i32", c(2, 2)), class = "anvil_error_arg")
  }
  for (bad in list(0.5, NA, "1", 1:2, Inf)) {
    expect_error(nv_iota(1, "f64", 2, start = bad), class = "anvil_error_arg")
  }
  expect_error(nv_iota(1, "i1", 2), class = "anvil_error")
  expect_error(nv_iota(1, "q", 2), class = "anvil_error_dtype")
})

test_that("nv_seq() counts, or divides a range", {
  expect_nv(nv_seq(3, 6), 3:6, "i32")
  expect_nv(nv_seq(-2, 2, dtype = "i8"), -2:2, "i8")
  expect_nv(nv_seq(1, 1), 1, "i32")
  expect_nv(nv_seq(1, 3, dtype = "f64", ambiguous = TRUE), 1:3, "f64", ambiguous = TRUE)
  expect_nv(nv_seq(2^31, 2^31 + 1, dtype = "i64"), 2^31 + 0:1, "i64")
  expect_nv(nv_seq(0, 1, steps = 5), c(0, 0.25, 0.5, 0.75, 1), "f32")
  expect_nv(nv_seq(1, 0, steps = 3, dtype = "f64"), c(1, 0.5, 0), "f64")
  expect_nv(nv_seq(0, 10, steps = 3, dtype = "i32"), c(0, 5, 10), "i32")
  expect_nv(nv_seq(0.5, 9, steps = 1), 0.5, "f32")

  expect_fields(nv_seq(3, 1), "anvil_error_arg", arg = "end")
  for (bad in list(1.5, NA, "a", 1:2, Inf, NULL, nv_scalar(1))) {
    expect_fields(nv_seq(bad, 3), "anvil_error_arg", arg = "start")
    expect_fields(nv_seq(1, bad), "anvil_error_arg", arg = "end")
  }
  for (bad in list(NA_real_, NaN, "a", 1:2, Inf, NULL)) {
    expect_fields(nv_seq(bad, 3, steps = 2), "anvil_error_arg", arg = "start")
    expect_fields(nv_seq(1, bad, steps = 2), "anvil_error_arg", arg = "end")
  }
  for (bad in list(0, -1, 1.5, "2", 1:2)) {
    expect_fields(nv_seq(0, 1, steps = bad), "anvil_error_arg", arg = "steps")
  }
  # Nothing wraps.
  expect_error(nv_seq(1, 300, dtype = "ui8"), class = "anvil_error_value")
  expect_error(nv_seq(-1, 1, dtype = "ui8"), class = "anvil_error_value")
  expect_error(nv_seq(2^31, 2^31 + 1), class = "anvil_error_value")
  expect_error(nv_seq(0, 1, steps = 3, dtype = "i32"), class = "anvil_error_value")
  expect_error(nv_seq(0, 3e9), class = "anvil_error")
})

test_that("nv_matrix() is what matrix() is, and refuses what would be repeated, cut or filled", {
  sizes <- list(NULL, 0, 1, 2, 3, 4, 6)
  same <- 0L
  for (count in c(0:4, 6L, 12L)) for (nrow in sizes) for (ncol in sizes) for (order in c("column", "row")) {
    data <- seq_len(count)
    given <- c(
      list(data), if (!is.null(nrow)) list(nrow = nrow), if (!is.null(ncol)) list(ncol = ncol)
    )
    label <- deparse1(given)
    base <- tryCatch(do.call(matrix, c(given, byrow = order == "row")), condition = identity)
    # One value fills any size; apart from that there are as many elements as data.
    fits <- is.matrix(base) && (length(base) == count || count == 1L)
    ours <- tryCatch(do.call(nv_matrix, c(given, order = order)), error = identity)
    if (fits) {
      same <- same + 1L
      expect_true(inherits(ours, "AnvilTensor"), label = label)
      expect_identical(as_array(ours), base, label = label)
    } else {
      expect_true(inherits(ours, c("anvil_error_arg", "anvil_error_shape")), label = label)
    }
  }
  expect_gt(same, 150L)
  expect_identical(shape(nv_matrix(1)), c(1L, 1L))
  expect_identical(shape(nv_matrix(integer(0), nrow = 0)), c(0L, 0L))
  expect_identical(shape(nv_matrix(TRUE)), c(1L, 1L))
  # A matrix stays one.
  expect_identical(as_array(nv_matrix(matrix(1:6, 2))), matrix(1:6, 2))
})
