test_that("take is a subset along an axis", {
  a <- array(1:24 + 0, c(2, 3, 4))
  x <- nv_tensor(a, "f64")
  expect_identical(nv_take(x, c(3, 1, 3), 2), x[, c(3, 1, 3), ])
  expect_identical(nv_take(x, 2, 3), x[, , 2])
  expect_identical(nv_take(x, array(2), 3), x[, , 2:2])
  expect_identical(nv_take(x, integer(), 1), nv_empty("f64", c(0, 3, 4)))
  expect_identical(as.vector(as_array(nv_take(x, c(24, 1)))), c(24, 1))
  expect_identical(nv_take(x, 5), nv_scalar(5, "f64"))
  # Positions of any shape take the place of the axis.
  at <- nv_tensor(matrix(c(1L, 3L, 2L, 2L, 3L, 1L), 2))
  y <- nv_take(x, at, 2)
  expect_identical(shape(y), c(2L, 2L, 3L, 4L))
  expect_identical(as_array(y), array(a[, as.vector(as_array(at)), ], c(2, 2, 3, 4)))
  expect_identical(jit(function(x, at) nv_take(x, at, 2))(x, at), y)
  expect_identical(shape(nv_take(nv_empty("f32", c(0, 2)), integer(), 1)), c(0L, 2L))
  for (dtype in dtypes) {
    z <- nv_tensor(c(1, 0, 1), dtype = dtype)
    expect_identical(nv_take(z, c(2, 3)), z[c(2, 3)])
  }
  for (dtype in integers) expect_identical(nv_take(x, nv_tensor(c(3L, 1L), dtype), 2), x[, c(3, 1), ])
  g <- gradient(function(x) sum(nv_take(x, c(2, 2, 3)) * c(1, 10, 100)))(nv_tensor(c(1, 2, 3)))
  expect_identical(as.vector(as_array(g$x)), c(0, 11, 100))
  batch <- nv_stack(x[1, , ], x[2, , ] * 2)
  expect_identical(vmap(function(x) nv_take(x, c(2, 1), 1))(batch), nv_take(batch, c(2, 1), 2))
  expect_identical(
    vmap(function(x, i) nv_take(x, i, 1))(batch, nv_tensor(c(2L, 3L))),
    nv_stack(batch[1, 2, ], batch[2, 3, ])
  )
})

test_that("positions out of range are errors, or what mode says", {
  x <- nv_tensor(c(10, 20, 30))
  e <- expect_error(nv_take(x, c(1, 4)), class = "anvil_error_index")
  expect_identical(e[c("value", "axis", "size")], list(value = 4, axis = 1, size = 3))
  expect_error(nv_take(x, 0), class = "anvil_error_index")
  expect_error(nv_take(x, -1), class = "anvil_error_index")
  expect_error(
    jit(function(x, i) nv_take(x, i))(x, nv_scalar(5L)), class = "anvil_error_index", "nv_take\\(x, i\\)"
  )
  expect_elements(nv_take(x, c(0, 2, 9), mode = "clip"), c(10, 20, 30), "f32[3]")
  expect_elements(nv_take(x, c(0, 2, 9), mode = "drop"), c(NaN, 20, NaN), "f32[3]")
  expect_error(nv_put(x, 4, 0), class = "anvil_error_index")
  expect_elements(nv_put(x, c(4, 1), 0, mode = "drop"), c(0, 20, 30), "f32[3]")
  expect_elements(nv_put(x, 4, 0, mode = "clip"), c(10, 20, 0), "f32[3]")
  expect_error(nv_take(x, 1.5), class = "anvil_error_dtype", "integers")
  expect_error(nv_take(x, TRUE), class = "anvil_error_dtype")
  expect_error(nv_take(x, 1, 2), class = "anvil_error_axis")
  expect_error(nv_take(x, 1, mode = "wrap"), class = "anvil_error_arg", "mode")
  expect_error(nv_take(nv_empty("f32", 0), 1), class = "anvil_error")
})

test_that("put is the assignment of a subset along an axis", {
  a <- array(1:24 + 0, c(2, 3, 4))
  x <- nv_tensor(a, "f64")
  want <- x
  want[, c(3, 1), ] <- 0
  expect_identical(nv_put(x, c(3, 1), 0, 2), want)
  new <- nv_tensor(array(101:116 + 0, c(2, 2, 4)), "f64")
  want[, c(3, 1), ] <- new
  expect_identical(nv_put(x, c(3, 1), new, 2), want)
  expect_identical(jit(function(x, new) nv_put(x, c(3, 1), new, 2))(x, new), want)
  expect_identical(nv_put(x, integer(), 0, 2), x)
  flat <- a
  flat[c(5, 24)] <- c(-1, -2)
  expect_identical(as_array(nv_put(x, c(5, 24), c(-1, -2))), flat)
  counts <- nv_put(nv_fill(0L, 4), c(1, 3, 3), 1L, update_computation = "add")
  expect_elements(counts, c(1L, 0L, 2L, 0L), "i32[4]")
  expect_elements(nv_put(nv_fill(5, 2), c(1, 1), c(3, 9), update_computation = "min"), c(3, 5), "f32[2]")
  expect_elements(nv_put(nv_fill(0, 2), c(1, 1), c(3, 9)), c(9, 0), "f32[2]")
  loss <- function(x, v) sum(nv_put(x, c(1, 3), v) * c(1, 10, 100))
  g <- gradient(loss)(nv_tensor(c(1, 2, 3)), nv_tensor(c(4, 5)))
  expect_identical(as.vector(as_array(g$x)), c(0, 10, 0))
  expect_identical(as.vector(as_array(g$v)), c(1, 100))
  expect_error(nv_put(x, c(3, 1), new[, 1, ], 2), class = "anvil_error_shape", "2,2,4")
  expect_error(nv_put(nv_tensor(1:3), 1, 0.5), class = "anvil_error_dtype")
  expect_error(nv_put(x, 1, "a"), class = "anvil_error_arg", "value")
  expect_error(nv_put(x, 1), class = "anvil_error_arg", "`value` must be given")
})

test_that("one-hot vectors are rows of the identity", {
  expect_identical(as_array(nv_one_hot(c(2, 1, 3), 3, dtype = "f64")), diag(3)[c(2, 1, 3), ])
  expect_identical(as_array(nv_one_hot(c(2, 1, 3), 3, axis = 1, dtype = "f64")), t(diag(3)[c(2, 1, 3), ]))
  expect_elements(nv_one_hot(2, 3), c(0, 1, 0), "f32[3]")
  expect_elements(nv_one_hot(c(0, 4, -1), 3), rep(0, 9), "f32[3, 3]")
  expect_identical(shape(nv_one_hot(nv_fill(1L, c(2, 3)), 5, axis = 2)), c(2L, 5L, 3L))
  expect_identical(shape(nv_one_hot(nv_fill(1L, c(2, 3)), 0)), c(2L, 3L, 0L))
  for (dtype in dtypes) {
    expect_identical(type_of(nv_one_hot(nv_tensor(2:1), 2, dtype = dtype)), paste0(dtype, "[2, 2]"))
  }
  # More classes than the dtype of the positions counts.
  for (dtype in integers) {
    x <- nv_one_hot(nv_tensor(c(1L, 100L), dtype), 300)
    expect_identical(which(as_array(x) == 1, arr.ind = TRUE)[, 2], c(1L, 100L))
  }
  expect_jit_equal(function(i) nv_one_hot(i, 4) * 2, nv_tensor(c(1L, 4L)), r = 2 * diag(4)[c(1, 4), ])
  expect_error(nv_one_hot(1.5, 3), class = "anvil_error_dtype", "integers")
  expect_error(nv_one_hot(1L, -1), class = "anvil_error_arg", "num_classes")
  expect_error(nv_one_hot(1L, 3, axis = 2), class = "anvil_error_axis")
  expect_error(nv_one_hot(1L, 3, dtype = "f128"), class = "anvil_error_dtype")
})

test_that("a product with what is put has second derivatives where a factor is 0", {
  f <- function(x) nv_put(x[1:1], 1L, x[2], update_computation = "mul")[1]
  for (at in list(c(0, 3), c(2, 0), c(0, 0), c(2, 3))) {
    h <- hessian(f)(nv_tensor(at, "f64"))$x$x
    expect_identical(as_array(h), matrix(c(0, 1, 1, 0), 2))
  }
})

test_that("an array of R that is put into yields to a known dtype", {
  got <- nv_put(matrix(0, 2, 2), 2, nv_tensor(c(1, 2), "f64"), axis = 1L)
  expect_identical(as_array(got), matrix(c(0, 1, 0, 2), 2))
  expect_identical(as.character(dtype(got)), "f64")
})
