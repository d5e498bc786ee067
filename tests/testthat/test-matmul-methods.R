# Doubles that are no f32, so that a matrix converted too early shows.
a <- matrix(c(0.1, -2, 3.3, 4, 5.7, 6), 2, 3)
b <- matrix(c(1, 2.2, -3, 0.4), 2, 2)
x <- nv_tensor(a, dtype = "f64")
y <- nv_tensor(b, dtype = "f64")

# As R from 4.3 on makes and saves them.
without_bit <- function(x) asS4(x, FALSE, complete = FALSE)

test_that("crossprod() and tcrossprod() are base R's, of tensors, R matrices and traced values", {
  expect_jit_equal(crossprod, x, r = TRUE, tolerance = 1e-15)
  expect_jit_equal(tcrossprod, x, r = TRUE, tolerance = 1e-15)
  expect_jit_equal(crossprod, x, y, r = TRUE, tolerance = 1e-15)
  expect_jit_equal(tcrossprod, y, t(x), r = TRUE, tolerance = 1e-15)
  expect_jit_equal(function(y) crossprod(a, y), y, r = crossprod(a, b), tolerance = 1e-15)
  expect_jit_equal(function(x) crossprod(x, b), x, r = crossprod(a, b), tolerance = 1e-15)
  expect_jit_equal(function(y) tcrossprod(y, t(a)), y, r = tcrossprod(b, t(a)), tolerance = 1e-15)
  expect_jit_equal(function(x) tcrossprod(b, t(x)), x, r = tcrossprod(b, t(a)), tolerance = 1e-15)
  expect_identical(crossprod(x, NULL), crossprod(x))
  expect_identical(tcrossprod(x, y = NULL), tcrossprod(x))
  # R matrices are still base R's.
  expect_identical(crossprod(a, b), base::crossprod(a, b))
  expect_identical(tcrossprod(a), base::tcrossprod(a))
  expect_identical(a %*% t(a), base::tcrossprod(a))
})

test_that("products with vectors are base R's, whatever their lengths", {
  number <- function(shape) {
    values <- seq_len(prod(shape)) / 8 - 0.7
    if (length(shape) == 2L) matrix(values, shape[1L]) else values
  }
  sizes <- 1:3
  all <- c(as.list(sizes), unlist(lapply(sizes, function(n) lapply(sizes, function(m) c(n, m))), FALSE))
  same <- refused <- 0L
  for (name in c("%*%", "crossprod", "tcrossprod")) for (l in all) for (r in all) {
    if (length(l) == 2L && length(r) == 2L) next
    label <- paste(name, deparse1(l), deparse1(r))
    base <- tryCatch(getExportedValue("base", name)(number(l), number(r)), error = function(e) NULL)
    f <- function(x, y) switch(name, `%*%` = x %*% y, crossprod = crossprod(x, y), tcrossprod(x, y))
    u <- nv_tensor(number(l), "f64", l)
    v <- nv_tensor(number(r), "f64", r)
    ours <- tryCatch(f(u, v), anvil_error_shape = identity)
    if (is.null(base)) {
      refused <- refused + 1L
      expect_s3_class(ours, "anvil_error_shape")
      next
    }
    same <- same + 1L
    expect_equal(as_array(ours), base, tolerance = 1e-15, label = label)
    expect_identical(jit(f)(u, v), ours, label = label)
    # With one side an R array.
    expect_identical(f(u, if (length(r) == 1L) array(number(r)) else number(r)), ours, label = label)
  }
  expect_gt(same, 60L)
  expect_gt(refused, 60L)
})

test_that("vectors in products: one operand, no elements, single numbers, gradients", {
  v <- nv_tensor(c(0.5, 2, -1), "f64")
  r <- as.vector(as_array(v))
  expect_jit_equal(crossprod, v, r = crossprod(r), tolerance = 1e-15)
  expect_jit_equal(tcrossprod, v, r = tcrossprod(r), tolerance = 1e-15)
  expect_identical(shape(v %*% v), c(1L, 1L))
  expect_jit_equal(function(x, v) x %*% v, x, v, r = a %*% r, tolerance = 1e-15)
  expect_jit_equal(function(x, v) v %*% t(x), x, v, r = r %*% t(a), tolerance = 1e-15)
  none <- nv_empty("f64", 0)
  expect_identical(as_array(nv_empty("f64", c(2, 0)) %*% none), matrix(0, 2, 1))
  expect_identical(as_array(none %*% none), matrix(0, 1, 1))
  expect_identical(as_array(nv_empty("f64", c(0, 3)) %*% v), matrix(0, 0, 1))
  expect_identical(shape(tcrossprod(none, v)), c(0L, 3L))
  # A number is a vector of one element.
  expect_identical(as_array(nv_tensor(c(1, 2, 3), "f64", c(3, 1)) %*% 2), matrix(c(2, 4, 6)))
  expect_identical(as_array(2 %*% nv_scalar(3, "f64")), matrix(6))
  # Integers and booleans stay what products make of them.
  expect_identical(type_of(nv_tensor(c(TRUE, TRUE)) %*% nv_tensor(c(TRUE, TRUE))), "i32[1, 1]")
  g <- gradient(function(x, v) sum((x %*% v)^2))(x, v)
  expect_equal(as_array(g$x), 2 * (a %*% r) %*% r, tolerance = 1e-14)
  expect_equal(as.vector(as_array(g$v)), drop(2 * crossprod(a, a %*% r)), tolerance = 1e-14)
  expect_identical(shape(g$v), 3L)
  g <- gradient(function(v) sum(tcrossprod(v)))(v)$v
  expect_equal(as.vector(as_array(g)), rep(2 * sum(r), 3), tolerance = 1e-14)
  # A batch and a vector are no product, and nv_matmul() takes no vectors.
  expect_error(nv_fill(1, c(2, 2, 3)) %*% nv_fill(1, 3), class = "anvil_error_shape", "at least 2 axes")
  expect_error(nv_matmul(x, v), class = "anvil_error_shape", "%*%", fixed = TRUE)
  e <- expect_error(x %*% nv_fill(1, 4), class = "anvil_error_shape", "(2,3) and (4)", fixed = TRUE)
  expect_identical(e[c("lhs", "rhs", "sizes")], list(lhs = c(2, 3), rhs = 4, sizes = c(3, 4)))
})

test_that("the product of a tensor and its transpose has gradients", {
  expect_equal(gradient(function(x) sum(crossprod(x)), "x")(x), gradient(function(x) sum(t(x) %*% x), "x")(x))
})

test_that("axes before the last two are a batch", {
  z <- nv_tensor(array(as.double(1:24), c(2, 3, 4)), dtype = "f64")
  both <- crossprod(z)
  expect_identical(shape(both), c(2L, 4L, 4L))
  for (i in 1:2) expect_equal(as_array(both)[i, , ], crossprod(as_array(z)[i, , ]))
  expect_identical(shape(tcrossprod(z)), c(2L, 3L, 3L))
})

test_that("shapes that do not fit are an error with the user's call", {
  expect_fields(crossprod(x, t(x)), "anvil_error_shape", lhs = c(3, 2), rhs = c(3, 2))
  expect_identical(call_of(crossprod(x, t(x))), "crossprod(x, t(x))")
  expect_identical(call_of(tcrossprod(x, y)), "tcrossprod(x, y)")
  expect_identical(call_of(x %*% x), "x %*% x")
  expect_error(crossprod(x, nv_tensor(1:3)), class = "anvil_error_shape")
  expect_error(crossprod(x, "a"), class = "anvil_error_arg")
  expect_error(tcrossprod(list(1), x), class = "anvil_error_arg")
})

test_that("a product dispatches whether or not an operand is an S4 object", {
  for (u in list(x, without_bit(x))) {
    for (v in list(t(x), without_bit(t(x)))) expect_identical(as_array(u %*% v), as_array(x %*% t(x)))
    for (v in list(y, without_bit(y))) expect_identical(as_array(crossprod(u, v)), as_array(crossprod(x, y)))
    expect_identical(as_array(tcrossprod(u)), as_array(tcrossprod(x)))
    expect_equal(as_array(u %*% t(a)), a %*% t(a))
    expect_equal(as_array(t(a) %*% u), t(a) %*% a)
  }
})

test_that("tensors that another R saved are multiplied", {
  for (name in c("4.2", "4.5")) {
    saved <- readRDS(test_path("..", "testdata", paste0("tensors-r", name, ".rds")))
    expect_equal(as_array(saved$x %*% saved$y), as_array(saved$x) %*% as_array(saved$y))
    expect_equal(as_array(crossprod(saved$x)), crossprod(as_array(saved$x)))
    expect_equal(as_array(tcrossprod(saved$y, saved$y)), tcrossprod(as_array(saved$y)))
    expect_equal(
      as_array(jit(function(x, y) x %*% y)(saved$x, saved$y)), as_array(saved$x) %*% as_array(saved$y)
    )
  }
})

test_that("base R's operator takes tensors in code that does not see this package's", {
  multiply <- function(x, y) base::`%*%`(x, y)
  expect_identical(multiply(x, t(x)), x %*% t(x))
  expect_identical(multiply(a, t(x)), a %*% t(x))
  expect_identical(multiply(x, t(a)), x %*% t(a))
})

test_that("from R 4.3 on `%*%` is R's own, which dispatches to a method of matrixOps", {
  skip_if(getRversion() < "4.3.0", "R has no group matrixOps")
  expect_false("%*%" %in% getNamespaceExports("anvil"))
  expect_identical(environment(utils::getS3method("matrixOps", "AnvilValue")), asNamespace("anvil"))
  x <- nv_tensor(c(1, 2, 3, 4), shape = c(2, 2))
  expect_identical(base::`%*%`(x, x), x %*% x)
  expect_s3_class(base::`%*%`(matrix(1, 2, 2), x), "AnvilTensor")
})

test_that("an error in an argument of a product is itself", {
  for (f in list(
    function(x) crossprod(nv_unique(x)), function(x) tcrossprod(x, nv_unique(x)),
    function(x) x %*% nv_unique(x)
  )) {
    e <- expect_fields(jit(f)(nv_tensor(c(1, 2, 1))), "anvil_error_arg", arg = "size")
    expect_identical(deparse1(conditionCall(e)), "nv_unique(x)")
  }
})

test_that("a number is a matrix of one element to functions of matrices, as in R", {
  for (f in list(
    function(x) solve(x), function(x) solve(x, 3), function(x) solve(x, matrix(c(1, 2), 1)),
    function(x) chol(x), function(x) svd(x)$d, function(x) eigen(x)$values,
    function(x) t(x) %*% matrix(1:2, 1)
  )) {
    for (of in list(identity, jit)) {
      got <- of(f)(nv_scalar(4.5, "f64"))
      expect_equal(as.vector(got), as.vector(f(4.5)), label = deparse1(body(f)))
      expect_identical(if (length(dim(got)) > 1L) dim(got), dim(f(4.5)), label = deparse1(body(f)))
    }
  }
  x <- nv_tensor(c(3, 0, 4), "f64")
  expect_equal(as.vector(svd(x)$d), 5)
  # To mapply() a matrix is the vector of its elements.
  m <- nv_tensor(matrix(as.double(1:4), 2), "f64")
  expect_identical(mapply(function(a, b) as.numeric(a) * b, m, 1:4), c(1, 4, 9, 16))
})
