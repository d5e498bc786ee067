ops <- list(
  list(nv_eq, `==`), list(nv_ne, `!=`), list(nv_gt, `>`), list(nv_ge, `>=`), list(nv_lt, `<`),
  list(nv_le, `<=`)
)

test_that("comparisons are those of base R on every dtype", {
  x <- c(0, 1, 1, 0)
  y <- c(1, 0, 1, 0)
  for (case in ops) {
    want <- case[[2L]](x, y)
    # Complex numbers are equal or not, and nothing else.
    for (dtype in if (identical(case, ops[[1L]]) || identical(case, ops[[2L]])) dtypes else real_dtypes) {
      lhs <- nv_tensor(x, dtype = dtype)
      rhs <- nv_tensor(y, dtype = dtype)
      expect_elements(case[[1L]](lhs, rhs), want, "i1[4]")
      expect_identical(case[[2L]](lhs, rhs), case[[1L]](lhs, rhs))
    }
    expect_jit_equal(case[[2L]], nv_tensor(x), nv_tensor(y), r = TRUE)
  }
})

test_that("signed and unsigned extremes", {
  for (dtype in integers) {
    low <- tensor_of(lowest[[dtype]], dtype)
    high <- tensor_of(highest[[dtype]], dtype)
    expect_elements(low < high, TRUE, "i1[1]")
    expect_elements(high <= low, FALSE, "i1[1]")
    expect_elements(high == high, TRUE, "i1[1]")
  }
  # Neighbours that a double cannot tell apart.
  x <- nv_tensor("9007199254740992", dtype = "i64")
  y <- nv_tensor("9007199254740993", dtype = "i64")
  expect_elements(x < y, TRUE, "i1[1]")
  expect_elements(x == y, FALSE, "i1[1]")
})

test_that("NaN compares false, but for !=; zeros are equal", {
  for (dtype in floats) {
    x <- nv_tensor(c(NaN, 1, NaN, -0), dtype = dtype)
    y <- nv_tensor(c(NaN, NaN, 1, 0), dtype = dtype)
    expect_elements(x == y, c(FALSE, FALSE, FALSE, TRUE), "i1[4]")
    expect_elements(x != y, c(TRUE, TRUE, TRUE, FALSE), "i1[4]")
    expect_elements(x < y, c(FALSE, FALSE, FALSE, FALSE), "i1[4]")
    expect_elements(x <= y, c(FALSE, FALSE, FALSE, TRUE), "i1[4]")
    expect_elements(x > y, c(FALSE, FALSE, FALSE, FALSE), "i1[4]")
    expect_elements(x >= y, c(FALSE, FALSE, FALSE, TRUE), "i1[4]")
  }
})

test_that("operands are promoted first", {
  expect_elements(nv_tensor(1:3) == 1.5, c(FALSE, FALSE, FALSE), "i1?[3]")
  expect_elements(nv_tensor(1:3) > 1.5, c(FALSE, TRUE, TRUE), "i1?[3]")
  expect_elements(2L >= nv_tensor(1:3, dtype = "i8"), c(TRUE, TRUE, FALSE), "i1[3]")
  expect_elements(nv_tensor(c(0.1, 0.2), dtype = "f64") == 0.1, c(TRUE, FALSE), "i1[2]")
  expect_elements(nv_tensor(c(TRUE, FALSE)) == 1L, c(TRUE, FALSE), "i1?[2]")
  # 0.1 is another number in f32.
  expect_elements(nv_tensor(0.1) == nv_tensor(0.1, dtype = "f64"), FALSE, "i1[1]")
})

test_that("the result is ambiguous if the common dtype is", {
  expect_identical(type_of(nv_scalar(1) < 2), "i1?[]")
  expect_identical(type_of(nv_scalar(1) < nv_scalar(2, dtype = "f32")), "i1[]")
  expect_identical(type_of(nv_tensor(1:2) < 2L), "i1[2]")
})

test_that("shapes must fit", {
  e <- expect_error(
    nv_tensor(1:3) == nv_tensor(1:2), class = "anvil_error_shape", "(3) and (2)", fixed = TRUE
  )
  expect_identical(e$op, "nv_eq")
  expect_elements(nv_empty("i32", 0) == 1L, logical(), "i1[0]")
})

test_that("R's integers are compared by value with narrow ones", {
  operators <- list(`==`, `!=`, `<`, `<=`, `>`, `>=`)
  for (dtype in c("i8", "ui8", "i16", "ui16", "ui32")) {
    own <- c(1L, 100L, 127L)
    x <- nv_tensor(own, dtype)
    for (other in list(200L, -1L, 256L, -129L, 70000L, c(1L, 356L, -129L))) {
      for (op in operators) {
        for (run in list(identity, jit)) {
          expect_identical(as.logical(run(function(x) op(x, other))(x)), op(own, other))
          expect_identical(as.logical(run(function(x) op(other, x))(x)), op(other, own))
        }
      }
    }
  }
  expect_error(x[2] <- -1L, class = "anvil_error_dtype")
  y <- nv_tensor(own, "i8")
  expect_error(y[2] <- 1000L, class = "anvil_error_dtype")
  y[2] <- 3L
  expect_identical(as.integer(y), c(1L, 3L, 127L))
})
