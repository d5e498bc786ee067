test_that("the matrix product is base R's, on every dtype", {
  a <- matrix(c(1, 0, 2, 1, 3, 1), 2)
  b <- matrix(c(1, 2, 0, 1, 1, 0, 3, 1, 2, 1, 0, 1), 3)
  for (dtype in c(integers, floats, complexes)) {
    x <- nv_tensor(a, dtype = dtype)
    y <- nv_tensor(b, dtype = dtype)
    expect_elements(nv_matmul(x, y), a %*% b, paste0(dtype, "[2, 4]"))
    expect_elements(x %*% y, a %*% b, paste0(dtype, "[2, 4]"))
  }
  # Booleans are counted.
  p <- a > 0
  q <- b > 0
  expect_elements(nv_matmul(nv_tensor(p), nv_tensor(q)), p %*% q, "i32[2, 4]")
  set.seed(4)
  a <- matrix(rnorm(37 * 53), 37)
  b <- matrix(rnorm(53 * 41), 53)
  expect_jit_equal(
    nv_matmul, nv_tensor(a, dtype = "f64"), nv_tensor(b, dtype = "f64"), r = a %*% b, tolerance = 1e-14
  )
  expect_jit_equal(nv_matmul, nv_tensor(a), nv_tensor(b), r = a %*% b, tolerance = 1e-6)
})

test_that("integer products wrap", {
  x <- nv_tensor(matrix(c(100L, 100L), 1), dtype = "i8")
  # 10000 + 10000 = 20000 = 78 * 256 + 32
  expect_elements(x %*% t(x), 32L, "i8[1, 1]")
  y <- nv_tensor(matrix(2147483647L, 1, 1))
  expect_elements(y %*% y, 1L, "i32[1, 1]")
})

test_that("operands are promoted, and the result is ambiguous if they are", {
  a <- matrix(1:4, 2)
  x <- nv_tensor(a)
  y <- nv_tensor(a + 0.5, dtype = "f64")
  expect_elements(x %*% y, a %*% (a + 0.5), "f64[2, 2]")
  expect_identical(type_of(nv_tensor(a, ambiguous = TRUE) %*% nv_tensor(a, ambiguous = TRUE)), "i32?[2, 2]")
  expect_identical(type_of(nv_tensor(a > 1) %*% nv_tensor(a + 0.5)), "f32[2, 2]")
  expect_identical(type_of(nv_tensor(a, dtype = "i8") %*% x), "i32[2, 2]")
})

test_that("products of R data keep their digits until they meet a known dtype", {
  x <- cbind(1, 1000 + (1:20) / 10)
  y <- sin(1:20) + 1:20
  ols <- function(x, y) drop(solve(crossprod(x), crossprod(x, y)))
  got <- jit(ols)(x, y)
  expect_identical(type_of(got), "f32?[2]")
  # The condition number of the product is 1e13.
  expect_equal(as.numeric(got), ols(x, y), tolerance = 1e-3)
  residual <- function(b, x, y) drop(b + solve(crossprod(x), crossprod(x, y - x %*% b)))
  got <- jit(residual)(nv_tensor(c(0, 0), "f64"), x, y)
  expect_equal(as.numeric(got), ols(x, y), tolerance = 1e-3)
  thirds <- function(k, y) drop(crossprod(cbind(1, k / 3), y))
  got <- jit(thirds)(nv_tensor(1:20), nv_tensor(y, "f64"))
  expect_equal(as.numeric(got), thirds(1:20, y), tolerance = 1e-14)
})

test_that("views are operands: transposed on either side, broadcast, reshaped", {
  set.seed(5)
  a <- matrix(rnorm(6), 2)
  b <- matrix(rnorm(8), 4)
  x <- nv_tensor(a, dtype = "f64")
  y <- nv_tensor(b, dtype = "f64")
  expect_jit_equal(function(x, y) t(x) %*% t(y), x, y, r = t(a) %*% t(b), tolerance = 1e-15)
  expect_jit_equal(function(x) t(x) %*% x, x, r = crossprod(a), tolerance = 1e-15)
  expect_jit_equal(function(x) x %*% t(x), x, r = tcrossprod(a), tolerance = 1e-15)
  expect_jit_equal(
    function(x) nv_broadcast_to(nv_tensor(c(1, 2), dtype = "f64"), c(3, 2)) %*% x, x,
    r = matrix(c(1, 2), 3, 2, byrow = TRUE) %*% a, tolerance = 1e-15
  )
  expect_jit_equal(
    function(x) nv_reshape(x, c(3, 2)) %*% x, x, r = matrix(a, 3, 2) %*% a, tolerance = 1e-15
  )
  expect_jit_equal(
    function(x) nv_reshape(x, c(3, 2), order = "row") %*% x, x,
    r = matrix(t(a), 3, 2, byrow = TRUE) %*% a, tolerance = 1e-15
  )
  expect_jit_equal(function(x, y) t(y %*% x) + 1, x, nv_tensor(b), r = t(b %*% a) + 1)
})

test_that("leading axes are a batch", {
  set.seed(6)
  a <- array(rnorm(2 * 3 * 4 * 5), c(2, 3, 4, 5))
  b <- array(rnorm(2 * 3 * 5 * 6), c(2, 3, 5, 6))
  want <- array(0, c(2, 3, 4, 6))
  for (i in 1:2) for (j in 1:3) want[i, j, , ] <- a[i, j, , ] %*% b[i, j, , ]
  for (dtype in c("f32", "f64")) {
    expect_jit_equal(
      nv_matmul, nv_tensor(a, dtype = dtype), nv_tensor(b, dtype = dtype), r = want,
      tolerance = if (dtype == "f32") 1e-6 else 1e-14
    )
  }
  p <- function(x) nv_transpose(x, c(2, 1, 4, 3))
  expect_jit_equal(
    function(x, y) p(y) %*% p(x), nv_tensor(a, dtype = "f64"), nv_tensor(b, dtype = "f64"),
    r = aperm(want, c(2, 1, 4, 3)),
    tolerance = 1e-14
  )
  ints <- array(1:12, c(3, 2, 2))
  want <- ints
  for (i in 1:3) want[i, , ] <- ints[i, , ] %*% ints[i, , ]
  expect_jit_equal(nv_matmul, nv_tensor(ints), nv_tensor(ints), r = want)
})

test_that("empty axes", {
  expect_elements(nv_empty("f32", c(2, 0)) %*% nv_empty("f32", c(0, 3)), rep(0, 6), "f32[2, 3]")
  expect_elements(nv_empty("i8", c(2, 0)) %*% nv_empty("i8", c(0, 3)), rep(0L, 6), "i8[2, 3]")
  expect_identical(nv_empty("f64", c(0, 2)) %*% nv_fill(1, c(2, 3), "f64"), nv_empty("f64", c(0, 3)))
  expect_identical(shape(nv_matmul(nv_empty("f32", c(0, 2, 3)), nv_empty("f32", c(0, 3, 4)))), c(0L, 2L, 4L))
})

test_that("NaN and infinity go through", {
  x <- nv_tensor(matrix(c(NaN, 1, 0, Inf), 2), dtype = "f64")
  y <- nv_tensor(diag(2), dtype = "f64")
  expect_elements(x %*% y, c(NaN, NaN, NaN, Inf), "f64[2, 2]")
})

test_that("%*% dispatches with R matrices on either side, on tensors and tracers", {
  a <- matrix(c(1, 2, 3, 4), 2)
  x <- nv_tensor(a, dtype = "f64")
  expect_elements(x %*% a, a %*% a, "f64[2, 2]")
  expect_elements(a %*% x, a %*% a, "f64[2, 2]")
  expect_elements(x %*% matrix(c(0.1, 0.2), 2), a %*% c(0.1, 0.2), "f64[2, 1]")
  expect_jit_equal(function(x) x %*% a, x, r = a %*% a)
  expect_jit_equal(function(x) a %*% x, x, r = a %*% a)
  expect_jit_equal(function(x) x %*% x, x, r = a %*% a)
  # A tensor and a tracer.
  expect_jit_equal(function(x) (nv_tensor(a) %*% x) %*% nv_tensor(a), x, r = a %*% a %*% a)
  expect_identical(jit(`%*%`)(x, x), x %*% x)
  # Base R's own products are untouched.
  expect_identical(a %*% a, matrix(c(7, 10, 15, 22), 2))
})

test_that("matmul says what does not fit", {
  x <- nv_fill(1, c(2, 3))
  e <- expect_error(
    x %*% x, class = "anvil_error_shape", "`nv_matmul()` cannot combine shapes (2,3) and (2,3)", fixed = TRUE
  )
  expect_identical(
    e[c("op", "lhs", "rhs", "sizes")], list(op = "nv_matmul", lhs = c(2, 3), rhs = c(2, 3), sizes = c(3, 2))
  )
  expect_match(conditionMessage(e), "columns of the first.*rows of the second: 3 and 2")
  expect_identical(conditionCall(e), quote(x %*% x))
  e <- expect_error(nv_matmul(nv_fill(1, c(2, 2, 3)), nv_fill(1, c(4, 3, 2))), class = "anvil_error_shape")
  expect_match(conditionMessage(e), "axis 1 is not: 2 and 4")
  e <- expect_error(nv_matmul(x, nv_tensor(c(1, 2, 3))), class = "anvil_error_shape", "at least 2 axes")
  expect_match(conditionMessage(e), "nv_reshape")
  expect_identical(e$operand, "rhs")
  expect_error(nv_matmul(nv_scalar(1), x), class = "anvil_error_shape", "`lhs`")
  expect_error(nv_matmul(x, nv_fill(1, c(2, 3, 2))), class = "anvil_error_shape", "2 axes, as `lhs`")
  expect_elements(x %*% c(1, 2, 3), c(6, 6), "f32[2, 1]")
  expect_error(x %*% c(1, 2), class = "anvil_error_shape")
  expect_error(x %*% "a", class = "anvil_error_arg")
})

# Sums of products by loops, for dot_general.
dot_general <- function(x, y, contracting, batching = list(integer(), integer())) {
  rest <- function(a, side) setdiff(seq_along(dim(a)), c(contracting[[side]], batching[[side]]))
  arrange <- function(a, side, order) {
    sizes <- function(d) prod(dim(a)[d])
    array(aperm(a, unlist(order)), vapply(order, sizes, 1))
  }
  l <- rest(x, 1)
  r <- rest(y, 2)
  lhs <- arrange(x, 1, list(batching[[1]], l, contracting[[1]]))
  rhs <- arrange(y, 2, list(batching[[2]], r, contracting[[2]]))
  out <- array(0, c(dim(lhs)[1], dim(lhs)[2], dim(rhs)[2]))
  for (b in seq_len(dim(out)[1])) for (i in seq_len(dim(out)[2])) for (j in seq_len(dim(out)[3])) {
    out[b, i, j] <- sum(lhs[b, i, ] * rhs[b, j, ])
  }
  sizes <- c(dim(x)[batching[[1]]], dim(x)[l], dim(y)[r])
  if (length(sizes)) array(out, sizes) else c(out)
}

test_that("dot_general is a loop over sums of products", {
  set.seed(7)
  a <- array(rnorm(2 * 3 * 4), c(2, 3, 4))
  cases <- list(
    list(c(4, 5), list(3, 1)), list(c(5, 4), list(3, 2)), list(c(4, 3), list(c(2, 3), c(2, 1))),
    list(c(4, 3), list(c(3, 2), c(1, 2))), list(c(2, 4, 5), list(3, 2), list(1, 1)),
    list(c(3, 4, 2), list(3, 2), list(c(1, 2), c(3, 1))), list(c(2, 2), list(integer(), integer())),
    list(c(5, 2), list(integer(), integer()), list(1, 2)), list(c(2, 3, 4), list(1:3, 1:3))
  )
  for (case in cases) {
    b <- array(rnorm(prod(case[[1]])), case[[1]])
    batching <- if (length(case) > 2) case[[3]] else list(integer(), integer())
    want <- dot_general(a, b, case[[2]], batching)
    got <- expect_jit_equal(
      function(x, y) nv_dot_general(x, y, case[[2]], batching),
      nv_tensor(a, dtype = "f64"), nv_tensor(b, dtype = "f64"),
      r = want, tolerance = 1e-14
    )
    expect_identical(shape(got), as.integer(dim(want)), label = deparse1(case))
  }
})

test_that("dot_general says what does not fit", {
  x <- nv_fill(1, c(2, 3))
  expect_error(
    nv_dot_general(x, x, list(1, 2)), class = "anvil_error_shape",
    "Contracted axes 1 and 2 differ in size: 2 and 3"
  )
  expect_error(
    nv_dot_general(x, x, list(1:2, 1)), class = "anvil_error_shape", "Numbers of contracted axes: 2 and 1"
  )
  expect_error(nv_dot_general(x, x, list(1, 1), list(1, 1)), class = "anvil_error_axis", "more than once")
  expect_error(nv_dot_general(x, x, list(3, 1)), class = "anvil_error_axis", "out of range")
  expect_error(nv_dot_general(x, x, list(c(1, 1), c(1, 1))), class = "anvil_error_axis")
  expect_error(nv_dot_general(x, x, list(1, 1), list(2, 1)), class = "anvil_error_shape")
  for (wrong in list(1, list(1), list(1, "a"), list(1, 1, 1), "a")) {
    expect_error(nv_dot_general(x, x, wrong), class = "anvil_error_arg", "a list of two vectors of axes")
  }
  expect_error(nv_dot_general(x, x), "contracting_axes")
})
