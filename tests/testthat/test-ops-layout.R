test_that("reshape reads by columns as R does, or by rows", {
  a <- array(1:24, c(2, 3, 4))
  x <- nv_tensor(a)
  # By rows is by columns of the reverse, on both sides.
  by_row <- function(a, shape) aperm(array(aperm(a), rev(shape)))
  for (shape in list(24, c(6, 4), c(4, 6), c(2, 12), c(3, 8), c(4, 3, 2), c(1, 24, 1), c(2, 2, 2, 3))) {
    expect_elements(
      nv_reshape(x, shape, order = "row"), by_row(a, shape),
      paste0("i32[", paste(shape, collapse = ", "), "]")
    )
    expect_identical(as_array(nv_reshape(x, shape)), array(a, shape))
    expect_identical(nv_reshape(x, shape, order = "column"), nv_reshape(x, shape))
    for (order in c("column", "row")) {
      expect_identical(nv_reshape(nv_reshape(x, shape, order), dim(a), order), x)
      # What one order reads, a tensor made in this order has.
      read <- as_array(nv_flatten(x, order))
      expect_identical(nv_tensor(read, shape = shape, order = order), nv_reshape(x, shape, order))
    }
    # Of a view, and with ops on both sides.
    expect_jit_equal(
      function(x) nv_reshape(nv_transpose(x, c(2, 3, 1)) + 1L, shape, order = "row") * 2L, x,
      r = 2L * by_row(aperm(a, c(2, 3, 1)) + 1L, shape)
    )
    expect_jit_equal(
      function(x) nv_reshape(t(x), shape) - 1L, x, r = array(aperm(a), shape) - 1L
    )
  }
})

test_that("reshape on every dtype, of one element and of none", {
  for (dtype in dtypes) {
    x <- nv_tensor(c(0, 1, 1, 0, 1, 1), dtype = dtype, shape = c(2, 3))
    expect_identical(as.vector(Re(as_array(nv_reshape(x, 6)) + 0)), c(0, 1, 1, 0, 1, 1))
    expect_identical(as.vector(Re(as_array(nv_reshape(x, 6, order = "row")) + 0)), c(0, 1, 1, 1, 0, 1))
    expect_identical(type_of(nv_reshape(x, c(3, 2))), paste0(dtype, "[3, 2]"))
    expect_identical(
      nv_reshape(nv_scalar(1, dtype = dtype), c(1, 1)), nv_tensor(1, dtype = dtype, shape = c(1, 1))
    )
    expect_identical(nv_reshape(nv_tensor(1, dtype = dtype), integer()), nv_scalar(1, dtype = dtype))
    expect_identical(nv_reshape(nv_empty(dtype, c(0, 3)), c(2, 0, 5)), nv_empty(dtype, c(2, 0, 5)))
  }
  expect_identical(type_of(nv_reshape(nv_scalar(1), 1)), "f32?[1]")
  expect_elements(nv_reshape(matrix(1:4, 2), 4), 1:4, "i32?[4]")
  expect_elements(nv_reshape(matrix(1:4, 2), 4, "row"), c(1L, 3L, 2L, 4L), "i32?[4]")
  expect_elements(nv_reshape(2, NULL), 2, "f32?[]")
})

test_that("flatten is as.vector(), or by rows", {
  a <- array(1:24 + 0.5, c(2, 3, 4))
  x <- nv_tensor(a, "f64")
  expect_jit_equal(function(x) nv_flatten(x) * 2, x, r = 2 * as.vector(a))
  expect_jit_equal(function(x) nv_flatten(x, order = "row"), x, r = as.vector(aperm(a)))
  expect_jit_equal(function(x) nv_flatten(x)[2L], x, r = a[2])
  expect_elements(nv_flatten(nv_scalar(3)), 3, "f32?[1]")
  expect_elements(nv_flatten(matrix(1:4, 2)), 1:4, "i32?[4]")
  expect_elements(nv_flatten(nv_empty("i8", c(0, 3))), integer(), "i8[0]")
  expect_identical(nv_flatten(nv_tensor(1:3)), nv_tensor(1:3))
  weights <- nv_tensor(as.double(1:24), "f64")
  for (order in c("column", "row")) {
    g <- gradient(function(x) sum(nv_flatten(x, order) * weights))(x)$x
    expect_identical(g, nv_tensor(1:24, "f64", c(2, 3, 4), order = order))
  }
  expect_error(nv_flatten(x, "F"), class = "anvil_error_arg", "`order`")
  expect_error(nv_flatten(list(x, x)), class = "anvil_error_arg")
})

test_that("a reshape by columns copies nothing, one by rows does", {
  x <- nv_abstract("f32", c(300, 40))
  steps <- function(f) explain_plan(f, x)$kind
  expect_length(steps(function(x) nv_reshape(x, c(40, 300)) * 2), 1L)
  expect_length(steps(function(x) nv_flatten(x) * 2), 1L)
  expect_length(steps(function(x) nv_reshape(exp(x), c(40, 300)) * 2), 1L)
  by_row <- steps(function(x) nv_reshape(x, c(40, 300), order = "row") * 2)
  expect_length(by_row, 2L)
  expect_match(by_row[1L], "reshape")
  # A transposed matrix is stored by rows: there it is the other way round.
  expect_length(steps(function(x) nv_flatten(t(x), order = "row") * 2), 1L)
})

test_that("reshape says what does not fit", {
  x <- nv_tensor(1:6)
  e <- expect_error(
    nv_reshape(x, c(2, 2)), class = "anvil_error_shape", "(6) into (2,2): 6 and 4 elements", fixed = TRUE
  )
  expect_identical(e[c("from", "to")], list(from = 6, to = c(2, 2)))
  expect_error(nv_reshape(x, -2), class = "anvil_error_arg", "`shape`")
  expect_error(nv_reshape(x, 2.5), class = "anvil_error_arg", "2.5")
  expect_error(nv_reshape(x, c(NA, 2)), class = "anvil_error_arg")
  expect_error(nv_reshape(x, "a"), class = "anvil_error_arg")
  expect_error(nv_reshape(x, c(1e9, 1e9)), class = "anvil_error_shape", "too large")
  expect_error(nv_reshape(x, 6, order = "F"), class = "anvil_error_arg", '"column" or "row", not "F"')
})

test_that("transpose is aperm(), up to five axes", {
  set.seed(3)
  for (sizes in list(3, c(2, 3), c(2, 3, 4), c(2, 1, 3, 4), c(2, 3, 1, 2, 3))) {
    a <- array(sample(1000L, prod(sizes)), sizes)
    x <- nv_tensor(a)
    rank <- length(sizes)
    expect_identical(as_array(nv_transpose(x)), aperm(a))
    if (rank > 1L) expect_identical(as_array(t(x)), aperm(a)) else expect_identical(as_array(t(x)), t(a))
    for (i in 1:6) {
      p <- sample(rank)
      expect_identical(as_array(nv_transpose(x, p)), aperm(a, p), label = paste(p, collapse = " "))
      q <- sample(rank)
      expect_jit_equal(function(x) nv_transpose(nv_transpose(x, p), q), x, r = aperm(aperm(a, p), q))
      # Read by an op through the view.
      expect_jit_equal(function(x) nv_transpose(x, p) * 2L + nv_transpose(x, p), x, r = aperm(a, p) * 3L)
    }
  }
  for (dtype in dtypes) {
    x <- nv_tensor(c(0, 1, 1, 0, 1, 1), dtype = dtype, shape = c(2, 3))
    expect_identical(as.double(as_array(t(x))), c(0, 1, 1, 1, 0, 1))
  }
})

test_that("transpose of 0-d, empty and R values; wrong permutations", {
  expect_elements(t(nv_scalar(1)), 1, "f32?[]")
  expect_identical(t(nv_empty("i8", c(0, 3))), nv_empty("i8", c(3, 0)))
  expect_elements(nv_transpose(matrix(1:6, 2)), c(1L, 3L, 5L, 2L, 4L, 6L), "i32?[3, 2]")
  x <- nv_fill(0, c(2, 3))
  expect_error(nv_transpose(x, c(1, 1)), class = "anvil_error_axis", "more than once")
  expect_error(nv_transpose(x, c(1, 3)), class = "anvil_error_axis", "out of range")
  e <- expect_error(
    nv_transpose(x, 2), class = "anvil_error_axis", "`permutation` must hold each of c(1, 2) once, not 2",
    fixed = TRUE
  )
  expect_identical(e$op, "nv_transpose")
  expect_error(nv_transpose(x, c(1, 2, 3)), class = "anvil_error_axis")
  expect_error(nv_transpose(x, integer()), class = "anvil_error_axis")
  expect_error(nv_transpose(x, "a"), class = "anvil_error_arg")
})

test_that("broadcast_to repeats from the last axis", {
  v <- nv_tensor(1:3)
  expect_elements(nv_broadcast_to(v, c(2, 3)), c(1L, 1L, 2L, 2L, 3L, 3L), "i32[2, 3]")
  expect_elements(nv_broadcast_to(nv_reshape(v, c(3, 1)), c(3, 2)), c(1:3, 1:3), "i32[3, 2]")
  expect_elements(nv_broadcast_to(nv_scalar(TRUE), c(2, 2)), rep(TRUE, 4), "i1[2, 2]")
  expect_elements(nv_broadcast_to(2.5, 3), rep(2.5, 3), "f32?[3]")
  expect_identical(nv_broadcast_to(v, 3), v)
  expect_identical(nv_broadcast_to(v, c(0, 3)), nv_empty("i32", c(0, 3)))
  expect_identical(nv_broadcast_to(nv_tensor(1L), 0), nv_empty("i32", 0))
  expect_jit_equal(
    function(x) nv_broadcast_to(nv_reshape(x, c(1, 3, 1)), c(2, 3, 2)) + 0L, v,
    r = array(rep(rep(1:3, each = 2), 2), c(2, 3, 2))
  )
  e <- expect_error(
    nv_broadcast_to(v, c(3, 2)), class = "anvil_error_shape", "(3) cannot be broadcast to (3,2)", fixed = TRUE
  )
  expect_identical(e[c("from", "to", "axis")], list(from = 3, to = c(3, 2), axis = 2))
  expect_error(nv_broadcast_to(v, integer()), class = "anvil_error_shape", "It has 1 axis, the target has 0")
})

test_that("broadcast_tensors finds the common shape, broadcast_scalars touches 0-d values only", {
  both <- nv_broadcast_tensors(nv_tensor(1:2, shape = c(2, 1)), nv_tensor(c(1, 2, 3), shape = c(1, 3)))
  expect_elements(both[[1L]], rep(1:2, 3), "i32[2, 3]")
  expect_elements(both[[2L]], rep(c(1, 2, 3), each = 2), "f32[2, 3]")
  all <- nv_broadcast_tensors(nv_scalar(1), nv_fill(2L, c(4, 1, 3)), nv_tensor(c(TRUE, FALSE, TRUE)))
  expect_identical(vapply(all, type_of, ""), c("f32?[4, 1, 3]", "i32[4, 1, 3]", "i1[4, 1, 3]"))
  expect_identical(nv_broadcast_tensors(), list())
  expect_error(nv_broadcast_tensors(nv_fill(1, 2), nv_fill(1, 3)), class = "anvil_error_shape")
  expect_error(nv_broadcast_tensors(nv_fill(1, c(2, 3)), nv_fill(1, c(3, 2))), class = "anvil_error_shape")

  some <- nv_broadcast_scalars(nv_tensor(1:3), 2, nv_scalar(TRUE))
  expect_identical(vapply(some, type_of, ""), c("i32[3]", "f32?[3]", "i1[3]"))
  expect_error(
    nv_broadcast_scalars(nv_fill(1, c(2, 1)), nv_fill(1, c(1, 2))), class = "anvil_error_shape",
    "(2,1) and (1,2)", fixed = TRUE
  )
  f <- function(x, y) {
    xy <- nv_broadcast_tensors(x, y)
    xy[[1L]] * xy[[2L]]
  }
  expect_jit_equal(f, nv_tensor(1:3, shape = c(3, 1)), nv_tensor(1:2, shape = c(1, 2)), r = outer(1:3, 1:2))
})

test_that("concatenate joins along an axis", {
  a <- matrix(1:6, 2)
  b <- matrix(7:12, 2)
  x <- nv_tensor(a)
  y <- nv_tensor(b)
  expect_identical(as_array(nv_concatenate(x, y, axis = 1)), rbind(a, b))
  expect_identical(as_array(nv_concatenate(x, y, x, axis = 2)), cbind(a, b, a))
  expect_jit_equal(function(x, y) nv_concatenate(t(x), t(y) + 1L, axis = 2), x, y, r = cbind(t(a), t(b) + 1L))
  a3 <- array(1:8, c(2, 2, 2))
  for (d in 1:3) {
    joined <- as_array(nv_concatenate(nv_tensor(a3), nv_tensor(10L * a3), axis = d))
    last <- c(setdiff(1:3, d), d)
    want <- aperm(array(c(aperm(a3, last), 10L * aperm(a3, last)), c(2, 2, 4)), order(last))
    expect_identical(joined, want, label = paste("axis", d))
  }
  expect_elements(nv_concatenate(nv_tensor(1:2), nv_tensor(3L)), 1:3, "i32[3]")
  for (dtype in dtypes) {
    z <- nv_tensor(c(1, 0), dtype = dtype)
    expect_identical(as.double(as_array(nv_concatenate(z, z))), c(1, 0, 1, 0))
  }
})

test_that("concatenate promotes; 0-d values get a place along the axis", {
  expect_elements(nv_concatenate(nv_tensor(1:2), 0.5), c(1, 2, 0.5), "f32?[3]")
  expect_elements(nv_concatenate(nv_tensor(c(1, 2), dtype = "f64"), 0.1), c(1, 2, 0.1), "f64[3]")
  expect_elements(nv_concatenate(1L, 2L), 1:2, "i32?[2]")
  expect_elements(nv_concatenate(TRUE, 2L), 1:2, "i32?[2]")
  expect_elements(nv_concatenate(5), 5, "f32?[1]")
  expect_elements(nv_concatenate(nv_tensor(1:4, shape = c(2, 2)), 9L, axis = 2), c(1:4, 9L, 9L), "i32[2, 3]")
  expect_elements(
    nv_concatenate(9L, nv_tensor(1:4, shape = c(2, 2)), axis = 1), c(9L, 1L, 2L, 9L, 3L, 4L), "i32[3, 2]"
  )
  expect_identical(nv_concatenate(nv_tensor(1:3)), nv_tensor(1:3))
  expect_identical(nv_concatenate(nv_empty("i32", 0), nv_tensor(1:3)), nv_tensor(1:3))
  expect_identical(
    shape(nv_concatenate(nv_empty("f32", c(0, 2)), nv_empty("f32", c(0, 3)), axis = 2)), c(0L, 5L)
  )
  # Ambiguous only if all are.
  expect_identical(type_of(nv_concatenate(nv_scalar(1), nv_scalar(2, dtype = "f32"))), "f32[2]")
})

test_that("values have no names: one would be a misspelt `axis`", {
  expect_error(nv_concatenate(a = nv_tensor(1:2), 3L), class = "anvil_error_arg", "unname()", fixed = TRUE)
  e <- expect_error(nv_concatenate(nv_tensor(1:2), dim = 1), class = "anvil_error_arg", "`axis`")
  expect_identical(conditionCall(e), quote(nv_concatenate(nv_tensor(1:2), dim = 1)))
})

test_that("concatenate says what does not fit", {
  x <- nv_fill(1, c(2, 3))
  e <- expect_error(
    nv_concatenate(x, nv_fill(1, c(3, 3)), axis = 2), class = "anvil_error_shape", "(2,3) and (3,3)",
    fixed = TRUE
  )
  expect_match(conditionMessage(e), "Only axis 2 may differ; axis 1 does: 2 and 3")
  expect_error(
    nv_concatenate(x, nv_tensor(c(1, 2)), axis = 1), class = "anvil_error_shape", "numbers of axes"
  )
  expect_error(nv_concatenate(x, x), class = "anvil_error_arg", "`axis` must be")
  expect_error(nv_concatenate(x, x, axis = 3), class = "anvil_error_axis")
  expect_error(nv_concatenate(x, x, axis = c(1, 2)), class = "anvil_error_arg")
  expect_error(nv_concatenate(x, x, axis = "1"), class = "anvil_error_arg")
  expect_error(nv_concatenate(), class = "anvil_error_arg", "at least one tensor")
  expect_error(nv_concatenate(list(x, x), x, axis = 1), class = "anvil_error_arg", "list")
})
