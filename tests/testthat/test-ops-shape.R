# One kind of numbers for each dtype.
numbers <- function(dtype, shape) {
  data <- rep_len(c(1, 0, 1, 1, 0), prod(shape))
  nv_tensor(data, dtype = dtype, shape = shape)
}

values <- function(x) as.vector(Re(as_array(x) + 0))

test_that("squeeze and unsqueeze leave out and add axes of size 1", {
  x <- nv_tensor(1:3, shape = c(1, 3, 1))
  expect_identical(shape(nv_squeeze(x)), 3L)
  expect_identical(shape(nv_squeeze(x, 1)), c(3L, 1L))
  expect_identical(shape(nv_squeeze(x, -1)), c(1L, 3L))
  expect_identical(shape(nv_squeeze(x, c(-1, 1))), 3L)
  expect_identical(nv_squeeze(x, integer()), x)
  expect_identical(shape(nv_squeeze(nv_fill(1, c(1, 1)))), integer())
  expect_identical(nv_squeeze(nv_scalar(1)), nv_scalar(1))
  v <- nv_tensor(1:3)
  expect_identical(shape(nv_unsqueeze(v, 1)), c(1L, 3L))
  expect_identical(shape(nv_unsqueeze(v, -1)), c(3L, 1L))
  expect_identical(shape(nv_unsqueeze(v, c(-1, 1))), c(1L, 3L, 1L))
  expect_identical(shape(nv_unsqueeze(v, c(1, 2))), c(1L, 1L, 3L))
  expect_identical(nv_unsqueeze(v, integer()), v)
  expect_identical(shape(nv_unsqueeze(2, c(1, 2))), c(1L, 1L))
  expect_identical(shape(nv_squeeze(nv_empty("f32", c(0, 1)))), 0L)
  for (dtype in dtypes) {
    y <- numbers(dtype, c(2, 1, 3))
    expect_identical(nv_unsqueeze(nv_squeeze(y, 2), 2), y)
    expect_identical(values(nv_squeeze(y, 2)), values(y))
  }
  expect_error(
    nv_squeeze(x, 2), class = "anvil_error_arg", "axis 2 of shape (1,3,1), of size 3", fixed = TRUE
  )
  expect_error(nv_squeeze(x, 4), class = "anvil_error_axis")
  expect_error(nv_squeeze(x, c(1, -3)), class = "anvil_error_axis", "more than once")
  expect_error(nv_unsqueeze(v, 3), class = "anvil_error_axis")
  expect_error(nv_unsqueeze(v, c(1, 1)), class = "anvil_error_axis")
  expect_error(nv_unsqueeze(v, 0.5), class = "anvil_error_arg")
  expect_error(nv_unsqueeze(v), class = "anvil_error_arg", "`axes` must be given")
})

test_that("stack joins along a new axis, split cuts", {
  a <- array(1:6 + 0, c(2, 3))
  b <- a * 10
  ta <- nv_tensor(a, "f64")
  tb <- nv_tensor(b, "f64")
  along <- list(c(3, 1, 2), c(1, 3, 2), 1:3)
  for (axis in 1:3) {
    want <- aperm(array(c(a, b), c(2, 3, 2)), along[[axis]])
    expect_identical(as_array(nv_stack(ta, tb, axis = axis)), want)
    expect_identical(nv_stack(ta, tb, axis = axis - 4), nv_stack(ta, tb, axis = axis))
    expect_jit_equal(function(x, y) nv_stack(x + 1, y, axis = axis) * 2, ta, tb)
    parts <- nv_split(nv_stack(ta, tb, axis = axis), 2, axis = axis)
    expect_identical(lapply(parts, nv_squeeze, axes = axis), list(ta, tb))
  }
  expect_elements(nv_stack(1, 2L, TRUE), c(1, 2, 1), "f32?[3]")
  expect_elements(nv_stack(nv_tensor(1:2), 0.5), c(1, 0.5, 2, 0.5), "f32?[2, 2]")
  expect_elements(nv_stack(nv_tensor(1:2)), 1:2, "i32[1, 2]")
  expect_identical(shape(nv_stack(nv_empty("f32", 0), nv_empty("f32", 0))), c(2L, 0L))
  expect_error(nv_stack(ta, ta[, 1]), class = "anvil_error_shape", "numbers of axes differ: 2 and 1")
  expect_error(nv_stack(ta, ta[, 1:2]), class = "anvil_error_shape", "Sizes of axis 2 differ: 3 and 2")
  expect_error(nv_stack(ta, tb, axis = 4), class = "anvil_error_axis")
  expect_error(nv_stack(ta, tb, axis = NULL), class = "anvil_error_arg", "axis")
  expect_error(nv_stack(), class = "anvil_error_arg", "at least one tensor")
  expect_error(nv_stack(ta, other = tb), class = "anvil_error_arg", "no argument `other`")

  x <- nv_tensor(array(1:24, c(2, 6, 2)))
  expect_identical(nv_split(x, 3, 2), list(x[, 1:2, ], x[, 3:4, ], x[, 5:6, ]))
  expect_identical(nv_split(x, 3, -2), nv_split(x, 3, 2))
  expect_identical(nv_split(x, sizes = c(1, 0, 5), axis = 2), list(x[, 1:1, ], nv_static_slice(
    x, c(1, 2, 1), c(2, 1, 2)
  ), x[, 2:6, ]))
  expect_identical(nv_split(x, 1), list(x))
  expect_identical(nv_split(nv_empty("f32", 0), 1), list(nv_empty("f32", 0)))
  out <- jit(function(x) nv_split(x, sizes = c(4, 2), axis = 2))(x)
  expect_identical(out, nv_split(x, sizes = c(4, 2), axis = 2))
  g <- gradient(function(x) {
    parts <- nv_split(x, 2)
    sum(parts[[1]] * 3 + parts[[2]]^2)
  })(nv_tensor(c(1, 2, 3, 4)))
  expect_identical(as.vector(as_array(g$x)), c(3, 3, 6, 8))
  expect_error(nv_split(x, 4, 2), class = "anvil_error_arg", "a divisor of 6, the size of axis 2, not 4")
  expect_error(nv_split(x, 0), class = "anvil_error_arg")
  expect_error(nv_split(x, sizes = c(1, 2), axis = 2), class = "anvil_error_arg", "whose sum is 6")
  expect_error(nv_split(x, sizes = c(7, -1), axis = 2), class = "anvil_error_arg", "at least 0")
  expect_error(nv_split(x, 2, sizes = c(1, 1)), class = "anvil_error_arg")
  expect_error(nv_split(x), class = "anvil_error_arg", "`sections` must be given, or `sizes`")
  expect_error(nv_split(x, 2, 4), class = "anvil_error_axis")
})

test_that("one list of values is joined as its values are", {
  x <- lapply(1:3, function(i) nv_tensor(c(1, 2) * i))
  expect_identical(as_array(nv_stack(x)), as_array(do.call(nv_stack, x)))
  expect_identical(as_array(nv_stack(x, axis = 2)), cbind(1:2, 2 * 1:2, 3 * 1:2))
  expect_identical(as_array(nv_concatenate(x)), array(c(1, 2, 2, 4, 3, 6)))
  stacked <- jit(function(x) nv_stack(lapply(1:3, function(i) x * i)))
  expect_identical(as_array(stacked(x[[1]])), as_array(nv_stack(x)))
  expect_error(nv_stack(list()), class = "anvil_error_arg")
  expect_error(nv_stack(x, x), class = "anvil_error_arg")
})

test_that("tile and repeat are rep() with times and each", {
  a <- array(1:24, c(2, 3, 4))
  x <- nv_tensor(a)
  for (times in list(c(1, 1, 1), c(2, 1, 1), c(1, 3, 1), c(1, 1, 2), c(2, 3, 2), c(0, 1, 1))) {
    index <- Map(function(n, k) rep(seq_len(n), times = k), dim(a), times)
    want <- a[index[[1]], index[[2]], index[[3]], drop = FALSE]
    expect_identical(as_array(nv_tile(x, times)), want)
    expect_jit_equal(function(x) nv_tile(x * 2L, times) + 1L, x, r = want * 2L + 1L)
  }
  for (axis in 1:3) {
    for (times in list(0, 1, 3, seq_len(dim(a)[axis]) - 1)) {
      index <- lapply(dim(a), seq_len)
      each <- rep_len(times, dim(a)[axis])
      index[[axis]] <- rep(index[[axis]], each)
      want <- a[index[[1]], index[[2]], index[[3]], drop = FALSE]
      expect_identical(as_array(nv_repeat(x, times, axis)), want)
      expect_identical(nv_repeat(x, times, axis - 4), nv_repeat(x, times, axis))
      expect_identical(jit(function(x) nv_repeat(x, times, axis))(x), nv_repeat(x, times, axis))
    }
  }
  v <- nv_tensor(c(1, 2, 3))
  expect_elements(nv_tile(v, 2), rep(c(1, 2, 3), 2), "f32[6]")
  expect_elements(nv_repeat(v, 2), rep(c(1, 2, 3), each = 2), "f32[6]")
  expect_elements(nv_repeat(nv_tensor(matrix(1:4, 2)), 2), rep(1:4, each = 2), "i32[8]")
  expect_elements(nv_repeat(5, 3), c(5, 5, 5), "f32?[3]")
  expect_elements(nv_tile(5, NULL), 5, "f32?[]")
  for (dtype in dtypes) {
    y <- numbers(dtype, c(2, 3))
    expect_identical(values(nv_tile(y, c(1, 2))), rep(values(y), 2))
    expect_identical(values(nv_repeat(y, 2, 1)), rep(values(y), each = 2))
    expect_identical(dtype(nv_tile(y, c(2, 2))), dtype(y))
  }
  expect_identical(
    as.vector(as_array(gradient(function(v) sum(nv_tile(v, 2) * c(1, 2, 3, 4, 5, 6)))(v)$v)), c(5, 7, 9)
  )
  expect_identical(as.vector(as_array(gradient(function(v) sum(nv_repeat(v, 2) * 1:6))(v)$v)), c(3, 7, 11))
  expect_identical(
    vmap(function(v) nv_tile(v, 2))(nv_stack(v, v + 1)), nv_tile(nv_stack(v, v + 1), c(1, 2))
  )
  expect_error(nv_tile(x, 2), class = "anvil_error_arg", "3 whole numbers, one for each axis")
  expect_error(nv_tile(x, c(1, 1, -1)), class = "anvil_error_arg")
  expect_error(nv_tile(x, c(1, 1, 1e15)), class = "anvil_error_shape")
  expect_error(nv_repeat(x, c(1, 2), 2), class = "anvil_error_arg", "one for each of 3 elements")
  expect_error(nv_repeat(x, -1, 2), class = "anvil_error_arg")
  expect_error(nv_repeat(x, 1:3, 5), class = "anvil_error_arg", "from 1 to 3, or from -3 to -1")
  expect_error(nv_repeat(x, 2, 5), class = "anvil_error_axis")
})

test_that("roll moves elements in a circle", {
  v <- nv_tensor(1:5)
  expect_elements(nv_roll(v, 2), c(4L, 5L, 1L, 2L, 3L), "i32[5]")
  expect_elements(nv_roll(v, -1), c(2L, 3L, 4L, 5L, 1L), "i32[5]")
  expect_identical(nv_roll(v, 5), v)
  expect_identical(nv_roll(v, 12), nv_roll(v, 2))
  a <- matrix(1:6, 2)
  x <- nv_tensor(a)
  expect_identical(as_array(nv_roll(x, 1)), matrix(c(6L, 1:5), 2))
  expect_identical(as_array(nv_roll(x, 1, 1)), a[c(2, 1), ])
  expect_identical(as_array(nv_roll(x, 1, -1)), a[, c(3, 1, 2)])
  expect_identical(as_array(nv_roll(x, c(1, -1), 1:2)), a[c(2, 1), c(2, 3, 1)])
  expect_identical(nv_roll(x, 1, 1:2), nv_roll(x, c(1, 1), 1:2))
  expect_identical(nv_roll(nv_empty("f32", c(0, 2)), 1, 1), nv_empty("f32", c(0, 2)))
  expect_identical(nv_roll(nv_scalar(1), 3), nv_scalar(1))
  expect_jit_equal(function(x) nv_roll(x + 1L, 1, 2) * 2L, x, r = (a[, c(3, 1, 2)] + 1L) * 2L)
  expect_identical(
    as.vector(as_array(gradient(function(v) sum(nv_roll(v, 2) * 1:5))(v + 0.0)$v)), c(3, 4, 5, 1, 2)
  )
  expect_error(nv_roll(x, c(1, 2)), class = "anvil_error_arg")
  expect_error(nv_roll(x, 1:3, 1:2), class = "anvil_error_arg", "one for each of 2 axes")
  expect_error(nv_roll(x, 0.5), class = "anvil_error_arg")
  expect_error(nv_roll(x, 1, 3), class = "anvil_error_axis")
})

test_that("meshgrid repeats vectors along the axes of others", {
  grid <- nv_meshgrid(1:2, nv_tensor(c(10, 20, 30)), TRUE)
  expect_elements(grid[[1]], rep(1:2, 3), "i32?[2, 3, 1]")
  expect_elements(grid[[2]], rep(c(10, 20, 30), each = 2), "f32[2, 3, 1]")
  expect_elements(grid[[3]], rep(TRUE, 6), "i1[2, 3, 1]")
  swapped <- nv_meshgrid(1:2, 1:3, indexing = "xy")
  expect_identical(as_array(swapped[[1]]), matrix(1:2, 3, 2, byrow = TRUE))
  expect_identical(as_array(swapped[[2]]), matrix(1:3, 3, 2))
  expect_identical(nv_meshgrid(1:3, indexing = "xy"), nv_meshgrid(1:3))
  expect_identical(nv_meshgrid(), list())
  expect_identical(jit(function(x, y) nv_meshgrid(x, y))(1:2, 1:3), nv_meshgrid(1:2, 1:3))
  expect_identical(lapply(nv_meshgrid(integer(), 1:2), shape), list(c(0L, 2L), c(0L, 2L)))
  expect_error(nv_meshgrid(1:2, matrix(1:4, 2)), class = "anvil_error_shape", "`..2`", fixed = TRUE)
  expect_error(nv_meshgrid(1:2, indexing = "yx"), class = "anvil_error_arg", "\"ij\" or \"xy\"")
})

test_that("linspace has both ends, exactly", {
  expect_elements(nv_linspace(0, 1, 5), c(0, 0.25, 0.5, 0.75, 1), "f32[5]")
  expect_elements(nv_linspace(0, 1, 4, endpoint = FALSE), c(0, 0.25, 0.5, 0.75), "f32[4]")
  expect_elements(nv_linspace(3, -1, 3), c(3, 1, -1), "f32[3]")
  expect_elements(nv_linspace(2, 5, 1), 2, "f32[1]")
  expect_elements(nv_linspace(2, 5, 0), numeric(), "f32[0]")
  expect_elements(nv_linspace(0L, nv_tensor(2L, shape = integer()), 3), c(0, 1, 2), "f32[3]")
  for (dtype in c(floats, complexes)) {
    x <- nv_linspace(0.1, 0.7, 7, dtype = dtype)
    expect_identical(type_of(x), paste0(dtype, "[7]"))
    ends <- nv_tensor(c(0.1, 0.7), dtype = dtype)
    expect_identical(nv_concatenate(x[1:1], x[7:7]), ends)
  }
  x <- as_array(nv_linspace(0.1, 0.7, 1001, dtype = "f64"))
  expect_equal(as.vector(x), seq(0.1, 0.7, length.out = 1001), tolerance = 1e-15)
  expect_true(all(diff(x) > 0))
  expect_identical(type_of(nv_linspace(0, 1, 2, ambiguous = TRUE)), "f32?[2]")
  rows <- nv_linspace(nv_tensor(c(0, 1)), 4, 3)
  expect_identical(as_array(rows), rbind(c(0, 2, 4), c(1, 2.5, 4)))
  expect_jit_equal(function(a, b) nv_linspace(a, b, 5), nv_scalar(0, "f64"), nv_scalar(2, "f64"))
  slopes <- gradient(function(a, b) nv_linspace(a, b, 5)[2])(nv_scalar(0, "f64"), nv_scalar(2, "f64"))
  expect_equal(as.double(slopes$a), 0.75)
  expect_equal(as.double(slopes$b), 0.25)
  expect_error(nv_linspace(0, 1, 2.5), class = "anvil_error_arg", "steps")
  expect_error(nv_linspace(0, 1, -1), class = "anvil_error_arg", "from 0")
  expect_error(nv_linspace(0, 1, 3, dtype = "i32"), class = "anvil_error_arg", "dtype")
  expect_error(nv_linspace(0, 1, 3, dtype = "f128"), class = "anvil_error_dtype")
  expect_error(nv_linspace(0, 1, 3, endpoint = NA), class = "anvil_error_arg", "endpoint")
})

test_that("broadcast_in_dim is told which axes", {
  v <- nv_tensor(1:3)
  expect_identical(as_array(nv_broadcast_in_dim(v, c(3, 2), 1)), matrix(1:3, 3, 2))
  expect_identical(as_array(nv_broadcast_in_dim(v, c(2, 3), -1)), matrix(1:3, 2, 3, byrow = TRUE))
  expect_identical(nv_broadcast_in_dim(v, c(2, 3), 2), nv_broadcast_to(v, c(2, 3)))
  a <- matrix(1:6, 2)
  expect_identical(as_array(nv_broadcast_in_dim(a, c(3, 2), c(2, 1))), t(a))
  expect_identical(shape(nv_broadcast_in_dim(nv_fill(1, c(1, 3)), c(4, 3, 2), c(1, 2))), c(4L, 3L, 2L))
  expect_elements(nv_broadcast_in_dim(2, c(2, 2), NULL), rep(2, 4), "f32?[2, 2]")
  expect_jit_equal(function(v) nv_broadcast_in_dim(v + 1L, c(3, 2), 1) * 2L, v, r = matrix(2:4 * 2L, 3, 2))
  expect_error(nv_broadcast_in_dim(v, c(3, 2), 2), class = "anvil_error_shape", "Axis 2 is 3 and 2")
  expect_error(nv_broadcast_in_dim(v, c(3, 2), 3), class = "anvil_error_axis")
  expect_error(nv_broadcast_in_dim(v, c(3, 3), 1:2), class = "anvil_error_arg", "broadcast_axes")
  expect_error(nv_broadcast_in_dim(a, c(2, 3), c(1, 1)), class = "anvil_error_axis")
})

test_that("one size of a reshape may follow from the others", {
  x <- nv_tensor(1:12)
  expect_identical(nv_reshape(x, c(3, -1)), nv_reshape(x, c(3, 4)))
  expect_identical(nv_reshape(x, c(-1, 3), order = "row"), nv_reshape(x, c(4, 3), order = "row"))
  expect_identical(nv_reshape(x, -1), x)
  expect_identical(shape(nv_reshape(nv_scalar(1), c(-1, 1))), c(1L, 1L))
  expect_identical(shape(nv_reshape(nv_empty("f32", c(0, 3)), c(3, -1))), c(3L, 0L))
  expect_jit_equal(function(x) nv_reshape(x + 1L, c(2, -1)), x, r = matrix(2:13, 2))
  expect_error(
    nv_reshape(x, c(5, -1)), class = "anvil_error_arg", "There are 12 elements, and the other sizes make 5"
  )
  expect_error(nv_reshape(x, c(-1, -1)), class = "anvil_error_arg", "but for one -1")
  expect_error(nv_reshape(x, c(-2, -1)), class = "anvil_error_arg")
  expect_error(nv_reshape(nv_empty("f32", 0), c(0, -1)), class = "anvil_error_arg")
  expect_error(nv_fill(1, c(2, -1)), class = "anvil_error_arg", "each at least 0")
  expect_error(nv_broadcast_to(x, c(-1, 12)), class = "anvil_error_arg")
})

test_that("negative axes count from the end, everywhere", {
  x <- nv_tensor(array(1:24 + 0, c(2, 3, 4)))
  # Each function of axes with a positive one, and with the same from the end.
  same <- function(f, ...) for (axis in list(...)) {
    expect_identical(f(axis - 4), f(axis), label = deparse1(body(f)))
    expect_identical(jit(function(x) f(axis - 4))(x), f(axis), label = paste("jitted", deparse1(body(f))))
    expect_error(f(axis - 40), class = "anvil_error", "out of range|from 1 to", label = deparse1(body(f)))
  }
  along <- list(
    nv_reduce_sum, nv_reduce_prod, nv_reduce_max, nv_reduce_min, nv_reduce_squares, nv_mean, nv_var, nv_sd,
    nv_normalize, nv_softmax, nv_log_softmax, nv_logsumexp
  )
  for (f in along) {
    same(function(axes) f(x, axes = axes), 1, 3, c(1, 2), c(3, 1))
  }
  same(function(axes) nv_reduce_any(x > 5, axes), 1, c(2, 3))
  same(function(axes) nv_reduce_all(x > 5, axes), 1, c(2, 3))
  for (f in list(sum, prod, max, min, range, mean)) same(function(axes) f(x, axes = axes), 2)
  same(function(axes) nv_reverse(x, axes), 1, c(2, 3))
  same(function(axes) nv_transpose(x, axes), c(2, 3, 1), c(3, 1, 2))
  same(function(axis) nv_concatenate(x, x, axis = axis), 1, 2, 3)
  same(function(axis) nv_iota(axis, "i32", c(2, 3, 4)), 1, 2, 3)
  same(function(axis) nv_select(x, axis, 2), 1, 3)
  same(function(axis) nv_split(x, 1, axis), 1, 3)
  same(function(axis) nv_take(x, c(2, 1), axis), 1, 3)
  same(function(axis) nv_put(x, c(2, 1), 0, axis), 1, 3)
  same(function(axes) nv_broadcast_in_dim(x, c(2, 3, 4), axes), c(1, 2, 3))
  same(function(axes) nv_extract_diag(x, axes = axes), c(1, 2), c(3, 1))
  same(function(axes) nv_dot_general(x, x, list(axes, axes)), c(1, 3), 1:3)
  same(function(axes) nv_dot_general(x, x, list(axes, axes), list(2, -2)), c(1, 3))
  same(function(axes) nv_tensordot(x, x, list(axes, axes)), c(1, 3))
  expect_identical(aperm(x, c(-1, 1, 2)), aperm(x, c(3, 1, 2)))
  expect_identical(vmap(sum, in_axes = -1)(x), vmap(sum, in_axes = 3)(x))
  expect_error(nv_transpose(x, c(1, 2, -2)), class = "anvil_error_axis")
  expect_error(sum(x, axes = c(1, -3)), class = "anvil_error_axis", "more than once")

  # Those of windows, of which some belong to the result and some to the indices.
  m <- nv_tensor(matrix(1:12, 3))
  at <- nv_tensor(c(4L, 1L))
  expect_identical(
    nv_gather(m, at, c(3, 1), -2, -1, start_index_map = -1, index_vector_axis = 2),
    nv_gather(m, at, c(3, 1), 1, 2, start_index_map = 2, index_vector_axis = 2)
  )
  vectors <- nv_tensor(matrix(c(1L, 2L, 3L, 4L), 2))
  expect_identical(
    nv_gather(m, vectors, c(1, 1), NULL, c(-2, -1), start_index_map = c(-2, -1), index_vector_axis = -1),
    nv_gather(m, vectors, c(1, 1), NULL, 1:2, start_index_map = 1:2, index_vector_axis = 2)
  )
  expect_identical(
    nv_scatter(
      m, vectors, nv_fill(0L, 2), NULL, c(-2, -1), scatter_axes_to_operand_axes = c(-2, -1),
      index_vector_axis = -1
    ),
    nv_scatter(
      m, vectors, nv_fill(0L, 2), NULL, 1:2, scatter_axes_to_operand_axes = 1:2, index_vector_axis = 2
    )
  )
  expect_error(
    nv_gather(m, at, c(3, 1), 1, -3, start_index_map = 2, index_vector_axis = 2), class = "anvil_error_arg",
    "from -2 to -1"
  )
})
