# R's vectors and arrays as operands of tensors.

# What an operator gives for an operand of R and a tensor, either of them first: of R's values, as a tensor,
# and in a program.
expect_as_in_r <- function(op, x, y, dtype) {
  f <- match.fun(op)
  for (turned in c(FALSE, TRUE)) {
    of <- function(x, y) if (turned) f(y, x) else f(x, y)
    label <- paste(op, deparse1(x), deparse1(y), dtype, turned)
    want <- of(x, y)
    got <- of(nv_tensor(x, dtype = dtype), y)
    expect_true(inherits(got, "AnvilTensor"), label = label)
    expect_equal(as.vector(as_array(got)), as.vector(want), label = label, tolerance = 1e-6)
    expect_identical(shape(got), as.integer(dim(want) %||% length(want)), label = label)
    traced <- jit(function(x) of(x, y))(nv_tensor(x, dtype = dtype))
    expect_identical(as_array(traced), as_array(got), label = label)
    expect_identical(dtype(traced), dtype(got), label = label)
  }
}

test_that("vectors and matrices of R are operands of all operators, on either side", {
  operators <- c("+", "-", "*", "/", "^", "%%", "%/%", "==", "!=", "<", "<=", ">", ">=")
  for (op in operators) {
    expect_as_in_r(op, c(1, 2, 4), c(2.5, 2, 3), "f64")
    expect_as_in_r(op, c(1, 2, 4), 1:3, "f32")
    expect_as_in_r(op, matrix(c(1, 2, 4, 3, 5, 6), 2), matrix(6:1, 2), "f32")
    expect_as_in_r(op, matrix(c(1, 2, 4, 3, 5, 6), 2), c(1, 3), "f64")
    expect_as_in_r(op, c(1, 2, 4), 2, "f32")
  }
  for (op in c("&", "|")) expect_as_in_r(op, c(TRUE, FALSE, TRUE), c(TRUE, TRUE, FALSE), "i1")
  m <- matrix(c(1, 2, 4, 3, 5, 6), 2)
  tensor <- nv_tensor(m, dtype = "f64")
  expect_identical(as_array(tensor %*% c(1, 0, 2)), m %*% c(1, 0, 2))
  expect_identical(as_array(c(1, 2) %*% tensor), c(1, 2) %*% m)
  expect_identical(as_array(tensor %*% t(m)), m %*% t(m))
  expect_identical(as_array(crossprod(tensor, c(1, 2))), crossprod(m, c(1, 2)))
  expect_identical(as_array(m %o% nv_tensor(1:2)), m %o% c(1, 2))
})

test_that("R's values never change the dtype of a tensor of the same or a later kind", {
  types <- list(double = c(1.5, 2), integer = 1:2, logical = c(TRUE, FALSE))
  type <- function(x) paste0(as.character(dtype(x)), if (ambiguous(x)) "?")
  for (dtype in c("bf16", "f16", "f32", "f64", "c64", "c128")) {
    for (value in types) {
      expect_identical(type(nv_tensor(1:2, dtype = dtype) * value), dtype)
      expect_identical(type(value + nv_tensor(1:2, dtype = dtype)), dtype)
      expect_identical(type(nv_tensor(1:2, dtype = dtype) * value[1]), dtype)
    }
  }
  for (dtype in c("i8", "i64", "ui8", "ui32")) {
    x <- nv_tensor(1:2, dtype = dtype)
    made <- list(x + types$integer, x + types$logical, x * types$double)
    expect_identical(vapply(made, type, ""), c(dtype, dtype, "f32?"))
  }
  b <- nv_tensor(c(TRUE, FALSE))
  made <- list(b & types$logical, b + types$integer, b * types$double)
  expect_identical(vapply(made, type, ""), c("i1", "i32?", "f32?"))
})

test_that("doubles keep all their digits", {
  digits <- c(0.1, 1 / 3)
  expect_identical(as.double(nv_tensor(c(1, 1), dtype = "f64") * digits), digits)
  # Also where they meet one another first.
  twice <- jit(function(x) x * (digits * 2))
  expect_identical(as.double(twice(nv_tensor(c(1, 1), dtype = "f64"))), digits * 2)
  expect_identical(as.double(nv_tensor(1:2) * digits), c(0.1, 2 / 3))
})

test_that("shapes that do not fit, and what is no number, are errors with a class", {
  x <- nv_tensor(c(1, 2, 3))
  expect_error(x - c(1, 2), class = "anvil_error_shape")
  expect_error(x * numeric(), class = "anvil_error_shape")
  expect_error(x * matrix(1, 2, 2), class = "anvil_error_shape")
  expect_error(jit(function(x) x - 1:2)(x), class = "anvil_error_shape")
  expect_error(x + "1", class = "anvil_error_arg")
  expect_error(x + list(1, 2, 3), class = "anvil_error_arg")
  expect_identical(shape(nv_tensor(numeric()) * numeric()), 0L)
  expect_identical(as.double(x + c(a = 1, b = 2, c = 3)), c(2, 4, 6))
})

test_that("time series, tables, bases of polynomials and their like are the numbers that they hold", {
  b <- nv_tensor(c(1, 2), "f64")
  basis <- stats::poly(1:10, 2)
  expect_equal(as.vector(as_array(jit(function(x, b) x %*% b)(basis, b))), as.vector(basis %*% c(1, 2)))
  expect_equal(as.vector(as_array(jit(function(b) drop(basis %*% b))(b))), as.vector(basis %*% c(1, 2)))
  series <- stats::ts(c(1, 2, 4), start = 1990)
  expect_nv(jit(function(x) x * 2)(series), c(2, 4, 8), "f32", ambiguous = TRUE)
  expect_nv(nv_tensor(series, "f64"), c(1, 2, 4), "f64")
  expect_null(attr(nv_tensor(series, "f64"), "tsp"))
  expect_equal(
    as.vector(as_array(jit(function(m) dnorm(series, m))(nv_scalar(1, "f64")))), stats::dnorm(c(1, 2, 4), 1)
  )
  counts <- table(c("u", "u", "v"))
  expect_identical(names(jit(function(x) x * 2L)(counts)), c("u", "v"))
  far <- stats::dist(matrix(c(0, 3, 4, 0, 0, 0), 3))
  expect_equal(as.numeric(jit(function(b) sum(far * b))(nv_scalar(2, "f64"))), 2 * sum(far))
  expect_nv(jit(function(x) I(c(1, 2)) + x)(b), c(2, 4), "f64")
  expect_identical(as_nv_tensor(basis), nv_tensor(basis))
  # Classes that say more than their numbers are none.
  for (x in list(Sys.Date(), as.difftime(1, units = "mins"), structure(1, class = "mine"))) {
    expect_error(jit(function(x) x)(x), class = "anvil_error_arg")
    expect_error(nv_tensor(x), class = "anvil_error_arg")
  }
  expect_error(nv_tensor(I(factor("a"))), class = "anvil_error_arg")
})
