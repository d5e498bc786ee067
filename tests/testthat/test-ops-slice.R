# Against base R, and gather and scatter against loops that read and write one element at a time.

test_that("static slices are base R's, of every dtype", {
  a <- array(1:60, c(3, 4, 5))
  x <- nv_tensor(a)
  expect_identical(as_array(nv_static_slice(x, c(2, 1, 3), c(3, 4, 3))), a[2:3, , 3, drop = FALSE])
  expect_identical(
    as_array(nv_static_slice(x, c(1, 2, 1), c(3, 4, 5), c(2, 2, 3))), a[c(1, 3), c(2, 4), c(1, 4)]
  )
  expect_identical(shape(nv_static_slice(x, c(4, 1, 1), c(3, 4, 5))), c(0L, 4L, 5L))
  expect_jit_equal(
    function(x) nv_static_slice(
      nv_static_slice(x, c(1, 1, 2), c(3, 4, 5), c(2, 1, 1)), c(2, 2, 1), c(2, 3, 4)
    ) * 2L,
    x, r = 2L * a[3, 2:3, 2:5, drop = FALSE]
  )
  for (dtype in dtypes) {
    y <- nv_tensor(c(0, 1, 1, 0, 1), dtype = dtype)
    expect_identical(as.double(as_array(nv_static_slice(y, 2, 5, 2))), c(1, 0))
  }
  expect_elements(nv_static_slice(5, NULL, NULL), 5, "f32?[]")
  expect_identical(nv_static_slice(nv_empty("i8", c(0, 2)), c(1, 2), c(0, 2)), nv_empty("i8", c(0, 1)))
  e <- expect_error(
    nv_static_slice(x, c(1, 1, 1), c(3, 5, 5)), class = "anvil_error_index", "1:5 is out of bounds"
  )
  expect_identical(e[c("axis", "size")], list(axis = 2, size = 4))
  expect_error(nv_static_slice(x, c(0, 1, 1), c(3, 4, 5)), class = "anvil_error_arg", "start_indices")
  expect_error(nv_static_slice(x, c(3, 1, 1), c(1, 4, 5)), class = "anvil_error_index")
  expect_error(nv_static_slice(x, 1, 2), class = "anvil_error_arg", "3 axes")
  expect_error(nv_static_slice(x, c(1, 1, 1), c(3, 4, 5), c(1, 0, 1)), class = "anvil_error_arg", "strides")
  expect_error(nv_static_slice(x, "a", 1), class = "anvil_error_arg")
})

test_that("dynamic slices that do not fit are errors, are moved or left out", {
  a <- matrix(1:12, 3)
  x <- nv_tensor(a)
  slice <- function(x, i, j) nv_dynamic_slice(x, i, j, slice_sizes = c(2, 3), mode = "clip")
  for (i in c(-5, 0, 1, 2, 3, 9)) for (j in c(-1, 1, 2, 3)) {
    at <- pmin(pmax(c(i, j), 1), c(2, 2))
    want <- a[at[1] + 0:1, at[2] + 0:2]
    expect_jit_equal(slice, x, nv_scalar(as.integer(i)), nv_scalar(as.integer(j)), r = want)
    expect_identical(as_array(slice(x, i, j)), want)
    update <- function(x, u, i, j) nv_dynamic_update_slice(x, u, i, j, mode = "clip")
    b <- a
    b[at[1] + 0:1, at[2] + 0:2] <- -(1:6)
    expect_jit_equal(
      update, x, nv_tensor(matrix(-(1:6), 2)), nv_scalar(as.integer(i)), nv_scalar(as.integer(j)), r = b
    )
    starts <- list(nv_scalar(as.integer(i)), nv_scalar(as.integer(j)))
    fits <- all(c(i, j) == at)
    left_out <- list(
      function(x, u, i, j) nv_dynamic_slice(x, i, j, slice_sizes = c(2, 3), mode = "drop"),
      function(x, u, i, j) nv_dynamic_update_slice(x, u, i, j, mode = "drop")
    )
    nothing <- nv_broadcast_to(nv_scalar(lowest[["i32"]], dtype = "i32"), c(2, 3))
    others <- if (fits) list(nv_tensor(want), nv_tensor(b)) else list(nothing, x)
    failing <- list(
      function(x, u, i, j) nv_dynamic_slice(x, i, j, slice_sizes = c(2, 3)), nv_dynamic_update_slice
    )
    for (k in 1:2) {
      args <- c(list(x, nv_tensor(matrix(-(1:6), 2))), starts)
      expect_identical(do.call(left_out[[k]], args), others[[k]])
      expect_identical(do.call(jit(left_out[[k]]), args), others[[k]])
      f <- jit(function(x, u, i, j) failing[[k]](x, u, i, j))
      if (fits) {
        expect_identical(do.call(f, args), others[[k]])
        next
      }
      e <- expect_error(do.call(f, args), class = "anvil_error_index", "A window of size")
      first <- which(c(i, j) != at)[1L]
      expect_identical(
        e[c("value", "axis", "size")],
        lapply(list(value = c(i, j)[first], axis = first, size = dim(a)[first]), as.double)
      )
    }
  }
  for (dtype in integers) {
    i <- nv_scalar(lowest[[dtype]], dtype = dtype)
    j <- nv_scalar(highest[[dtype]], dtype = dtype)
    expect_identical(as_array(slice(x, i, j)), a[1:2, 2:4], label = dtype)
    expect_identical(as_array(slice(x, j, 1L)), a[2:3, 1:3], label = dtype)
  }
  for (dtype in dtypes) {
    y <- nv_tensor(c(0, 1, 1), dtype = dtype)
    expect_identical(as.double(as_array(nv_dynamic_slice(y, 2, slice_sizes = 2))), c(1, 1))
    expect_identical(
      as.double(as_array(nv_dynamic_update_slice(y, nv_tensor(c(1, 0), dtype = dtype), 2))), c(0, 1, 0)
    )
  }
  expect_identical(nv_dynamic_slice(nv_scalar(1), slice_sizes = NULL), nv_scalar(1))
  expect_identical(nv_dynamic_update_slice(nv_scalar(1), nv_scalar(2)), nv_scalar(2))
  expect_identical(shape(nv_dynamic_slice(x, 9L, 9L, slice_sizes = c(0, 2))), c(0L, 2L))
  expect_identical(nv_dynamic_update_slice(x, nv_empty("i32", c(3, 0)), 1L, 1L), x)
  expect_error(nv_dynamic_slice(x, 1L, slice_sizes = c(1, 1)), class = "anvil_error_arg")
  expect_error(
    nv_dynamic_slice(x, 1L, 1L, slice_sizes = c(4, 1)), class = "anvil_error_shape", "axis 1 of size 3"
  )
  expect_error(nv_dynamic_slice(x, 1.5, 1L, slice_sizes = c(1, 1)), class = "anvil_error_dtype")
  expect_error(nv_dynamic_slice(x, nv_tensor(1L), 1L, slice_sizes = c(1, 1)), class = "anvil_error_shape")
  expect_error(
    nv_dynamic_update_slice(x, nv_fill(0.5, c(1, 1)), 1L, 1L), class = "anvil_error_dtype", "f32 .* i32"
  )
  expect_error(nv_dynamic_update_slice(x, 1L, 1L, 1L), class = "anvil_error_shape", "as many axes")
})

# One axis after the other: between, then before and after, or cut off.
pad_naive <- function(a, value, low, high, interior) {
  for (d in seq_along(low)) {
    n <- dim(a)[d]
    at <- seq_len(n) + (seq_len(n) - 1L) * interior[d] + low[d]
    size <- n + max(n - 1L, 0L) * interior[d] + low[d] + high[d]
    sizes <- dim(a)
    sizes[d] <- size
    out <- array(value, sizes)
    keep <- which(at >= 1L & at <= size)
    index <- function(i) lapply(seq_along(sizes), function(k) if (k == d) i else seq_len(sizes[k]))
    part <- do.call(`[`, c(list(a), index(keep), drop = FALSE))
    out <- do.call(`[<-`, c(list(out), index(at[keep]), list(value = part)))
    a <- out
  }
  a
}

test_that("pad: around, between, and negative", {
  set.seed(5)
  for (i in 1:150) {
    rank <- sample(3L, 1L)
    sizes <- sample(0:4, rank, replace = TRUE)
    a <- array(seq_len(prod(sizes)), sizes)
    amounts <- function(from, to) sample(seq(from, to), rank, replace = TRUE)
    low <- amounts(-3L, 3L)
    interior <- amounts(0L, 2L)
    full <- sizes + pmax(sizes - 1L, 0L) * interior
    high <- pmax(amounts(-3L, 3L), -full - low)
    pad <- function(x) nv_pad(x, -1L, low, high, interior)
    expect_jit_equal(pad, nv_tensor(a, dtype = "i32"), r = pad_naive(a, -1L, low, high, interior))
    # What is read through a view.
    turned <- function(x) nv_pad(nv_transpose(x), -1L, rev(low), rev(high), rev(interior))
    expect_jit_equal(turned, nv_tensor(a, dtype = "i32"), r = aperm(pad_naive(a, -1L, low, high, interior)))
  }
  for (dtype in dtypes) {
    x <- nv_pad(nv_tensor(c(1, 0), dtype = dtype), nv_scalar(1, dtype = dtype), 1, 0, 1)
    expect_identical(as.double(as_array(x)), c(1, 1, 1, 0))
    expect_identical(type_of(x), paste0(dtype, "[4]"))
  }
  expect_identical(nv_pad(nv_scalar(2), 0, NULL, NULL), nv_scalar(2))
  x <- nv_tensor(1:3)
  expect_error(nv_pad(x, 0L, -2, -2), class = "anvil_error_arg", "size -1")
  expect_error(nv_pad(x, 0.5, 1, 1), class = "anvil_error_dtype")
  expect_error(nv_pad(x, x, 1, 1), class = "anvil_error_shape")
  expect_error(nv_pad(x, 0L, c(1, 1), 1), class = "anvil_error_arg", "edge_padding_low")
  expect_error(nv_pad(x, 0L, 1, 1, -1), class = "anvil_error_arg", "interior_padding")
  expect_error(nv_pad(x, 0L, 1e15, 1e15), class = "anvil_error_shape", "too large")
})

test_that("reverse", {
  a <- array(1:24, c(2, 3, 4))
  x <- nv_tensor(a)
  expect_identical(as_array(nv_reverse(x, 2)), a[, 3:1, ])
  expect_identical(as_array(nv_reverse(x, c(3, 1))), a[2:1, , 4:1])
  expect_identical(nv_reverse(x, NULL), x)
  expect_jit_equal(
    function(x) nv_reverse(t(nv_reverse(x, 1)), 1) + 1L, x, r = aperm(a[2:1, , ])[4:1, , ] + 1L
  )
  expect_jit_equal(
    function(x) sum(nv_reverse(x, c(1, 3)), axes = 2), x, r = apply(a[2:1, , 4:1], c(1, 3), sum)
  )
  expect_identical(nv_reverse(nv_empty("f32", c(0, 2)), c(1, 2)), nv_empty("f32", c(0, 2)))
  expect_identical(nv_reverse(nv_scalar(1), NULL), nv_scalar(1))
  for (dtype in dtypes) {
    expect_identical(as.double(Re(as_array(nv_reverse(nv_tensor(c(1, 0, 0), dtype = dtype), 1)))), c(0, 0, 1))
  }
  expect_error(nv_reverse(x, 4), class = "anvil_error_axis")
  expect_error(nv_reverse(x, c(1, 1)), class = "anvil_error_axis")
  expect_error(nv_reverse(x, "a"), class = "anvil_error_arg")
})

# The places of each element of the stack: an index vector of the operand, or NULL if its window does not fit.
each_place <- function(stack, sizes, window, indices, window_axes, dropped, map, vector_axis, clamps, visit) {
  kept <- setdiff(seq_along(sizes), dropped)
  where <- arrayInd(seq_len(prod(stack)), stack)
  for (n in seq_len(nrow(where))) {
    at <- where[n, ]
    batch <- at[setdiff(seq_along(stack), window_axes)]
    start <- rep(1, length(sizes))
    for (k in seq_along(map)) {
      full <- if (vector_axis > length(dim(indices))) batch else append(batch, k, vector_axis - 1L)
      start[map[k]] <- indices[matrix(full, 1L)]
    }
    fits <- all(start >= 1 & start + window - 1 <= sizes)
    if (clamps) start <- pmax(pmin(start, sizes - window + 1), 1) else if (!fits) next
    start[kept] <- start[kept] + at[window_axes] - 1
    visit(matrix(at, 1L), matrix(start, 1L))
  }
}

random_windows <- function() {
  rank <- sample(3L, 1L)
  sizes <- sample(2:4, rank, replace = TRUE)
  dropped <- which(sample(c(TRUE, FALSE), rank, replace = TRUE))
  map <- sample(rank)[seq_len(sample(rank, 1L))]
  window <- vapply(sizes, function(n) sample(n, 1L), 1L)
  window[dropped] <- 1L
  batch <- sample(1:3, sample(2L, 1L), replace = TRUE)
  vector_axis <- sample(length(batch) + 1L, 1L)
  index_shape <- append(batch, length(map), vector_axis - 1L)
  indices <- array(sample(-1:5, prod(index_shape), replace = TRUE), index_shape)
  kept <- setdiff(seq_len(rank), dropped)
  window_axes <- sort(sample(length(batch) + length(kept), length(kept)))
  stack <- integer(length(batch) + length(kept))
  stack[window_axes] <- window[kept]
  stack[setdiff(seq_along(stack), window_axes)] <- batch
  list(
    sizes = sizes, dropped = dropped, map = map, window = window, vector_axis = vector_axis,
    indices = indices, window_axes = window_axes, stack = stack
  )
}

test_that("gather is a loop over windows", {
  set.seed(7)
  for (i in 1:60) {
    w <- random_windows()
    a <- array(sample(100L, prod(w$sizes)), w$sizes)
    want <- array(0L, w$stack)
    each_place(
      w$stack, w$sizes, w$window, w$indices, w$window_axes, w$dropped, w$map, w$vector_axis, TRUE,
      function(at, place) want[at] <<- a[place]
    )
    gather <- function(x, i) {
      nv_gather(
        x, i, w$window, w$window_axes, w$dropped, start_index_map = w$map, index_vector_axis = w$vector_axis,
        mode = "clip"
      )
    }
    expect_jit_equal(gather, nv_tensor(a), nv_tensor(w$indices), r = want)
    turned <- function(x, i) gather(nv_transpose(nv_transpose(x)), i)
    expect_identical(as_array(jit(turned)(nv_tensor(a), nv_tensor(w$indices, dtype = "i64"))), want)
  }
})

test_that("scatter is a loop over updates, with each update computation", {
  set.seed(8)
  join <- list(replace = function(x, y) y, add = `+`, mul = `*`, min = min, max = max)
  for (i in 1:80) {
    w <- random_windows()
    a <- array(sample(100L, prod(w$sizes)), w$sizes)
    # Small numbers, as windows that are moved may meet in one place, and be multiplied there.
    u <- array(sample(5L, prod(w$stack), replace = TRUE), w$stack)
    how <- sample(names(join), 1L)
    mode <- sample(c("clip", "drop"), 1L)
    want <- a
    each_place(
      w$stack, w$sizes, w$window, w$indices, w$window_axes, w$dropped, w$map, w$vector_axis, mode == "clip",
      function(at, place) want[place] <<- as.integer(join[[how]](want[place], u[at]))
    )
    scatter <- function(x, i, u) {
      nv_scatter(
        x, i, u, w$window_axes, w$dropped, scatter_axes_to_operand_axes = w$map,
        index_vector_axis = w$vector_axis, update_computation = how, mode = mode
      )
    }
    expect_jit_equal(scatter, nv_tensor(a), nv_tensor(w$indices), nv_tensor(u), r = want)
  }
})

test_that("scatter on every dtype, with duplicates; empty ones", {
  count <- function(x, i, u, how = "add") {
    nv_scatter(
      x, i, u, NULL, 1, scatter_axes_to_operand_axes = 1, index_vector_axis = 2, update_computation = how,
      mode = "drop"
    )
  }
  for (dtype in real_dtypes) {
    x <- nv_tensor(c(0, 0, 1), dtype = dtype)
    one <- nv_tensor(c(1, 1, 1), dtype = dtype)
    got <- as.double(as_array(count(x, c(2, 2, 3), one)))
    expect_identical(got, if (dtype == "i1") c(0, 1, 1) else c(0, 2, 2), label = dtype)
    expect_identical(as.double(as_array(count(x, c(1, 4, 0), one, "replace"))), c(1, 0, 1), label = dtype)
    expect_identical(as.double(as_array(count(x, c(1, 1, 3), one, "max"))), c(1, 0, 1), label = dtype)
    expect_identical(as.double(as_array(count(x, c(1, 1, 3), one, "mul"))), c(0, 0, 1), label = dtype)
    expect_identical(as.double(as_array(count(x, c(1, 1, 3), one, "min"))), c(0, 0, 1), label = dtype)
  }
  for (dtype in complexes) {
    x <- nv_tensor(c(0, 2i, 1), dtype = dtype)
    one <- nv_tensor(c(1, 1i, 1), dtype = dtype)
    expect_identical(as.vector(as_array(count(x, c(2, 2, 3), one))), c(0, 1 + 3i, 2), label = dtype)
    expect_identical(as.vector(as_array(count(x, c(2, 1, 3), one, "mul"))), c(0, 2i, 1), label = dtype)
    expect_error(count(x, c(2, 2, 3), one, "max"), class = "anvil_error_dtype")
  }
  # Large enough for several tiles.
  i <- rep(1:7, 1000)
  expect_identical(as.double(as_array(count(nv_fill(0, 7, "f64"), i, nv_fill(1, 7000, "f64")))), rep(1000, 7))
  x <- nv_tensor(1:3)
  expect_identical(count(x, nv_empty("i32", 0), nv_empty("i32", 0)), x)
  expect_identical(count(nv_empty("i32", 0), nv_tensor(1:2), nv_tensor(1:2)), nv_empty("i32", 0))
  expect_error(count(x, nv_tensor(1L), 0.5), class = "anvil_error_dtype")
  expect_error(count(x, nv_tensor(1), nv_tensor(1L)), class = "anvil_error_dtype", "integers")
  expect_error(count(x, 1:2, nv_tensor(1L)), class = "anvil_error_shape", "2")
  expect_error(count(x, 1:2, nv_tensor(1:2), "div"), class = "anvil_error_arg", "update_computation")
  z <- nv_tensor(c(1i, 2i))
  expect_error(count(z, 1, nv_tensor(array(1i)), "max"), class = "anvil_error_dtype", "complex")
})

# Elements of a vector, updated at positions by a function or a name.
scatter_by <- function(x, i, u, how, mode = "drop") {
  nv_scatter(
    x, i, u, NULL, 1, scatter_axes_to_operand_axes = 1, index_vector_axis = 2, update_computation = how,
    mode = mode
  )
}

test_that("scatter by a function is a loop over updates", {
  set.seed(11)
  joins <- list(
    function(old, new) old - new, function(old, new) new, function(old, new) old,
    function(old, new) old %/% 2L + new, function(a, b) nv_ifelse(a > b, a - b, b),
    function(a, b) nv_if(a > b, a - b, b),
    function(a, b) nv_while(a, function(s) s < b, function(s) s * 2L + 1L)
  )
  plain <- list(
    `-`, function(a, b) b, function(a, b) a, function(a, b) a %/% 2L + b,
    function(a, b) if (a > b) a - b else b,
    function(a, b) if (a > b) a - b else b, function(a, b) { while (a < b) a <- a * 2L + 1L; a }
  )
  for (i in 1:60) {
    w <- random_windows()
    a <- array(sample(100L, prod(w$sizes)), w$sizes)
    u <- array(sample(100L, prod(w$stack), replace = TRUE), w$stack)
    k <- sample(length(joins), 1L)
    want <- a
    each_place(
      w$stack, w$sizes, w$window, w$indices, w$window_axes, w$dropped, w$map, w$vector_axis, FALSE,
      function(at, place) want[place] <<- as.integer(plain[[k]](want[place], u[at]))
    )
    scatter <- function(x, i, u) {
      nv_scatter(
        x, i, u, w$window_axes, w$dropped, scatter_axes_to_operand_axes = w$map,
        index_vector_axis = w$vector_axis, update_computation = joins[[k]], mode = "drop"
      )
    }
    expect_jit_equal(scatter, nv_tensor(a), nv_tensor(w$indices), nv_tensor(u), r = want)
  }
})

test_that("scatter by a function keeps the order of updates, however many there are and meet", {
  set.seed(12)
  step <- function(old, new) old / 2 + new
  for (places in c(1L, 3L, 40L, 2000L, 50000L)) {
    i <- sample(places + 1L, 5000L, replace = TRUE)
    u <- runif(5000)
    want <- numeric(places)
    for (k in which(i <= places)) want[i[k]] <- step(want[i[k]], u[k])
    x <- nv_fill(0, places, "f64")
    expect_jit_equal(
      function(x, i, u) scatter_by(x, i, u, step), x, nv_tensor(i), nv_tensor(u, dtype = "f64"),
      r = array(want)
    )
  }
})

test_that("scatter by a function on every dtype, in loops, with what is around it", {
  i <- c(2, 2, 3, 9)
  for (dtype in c(real_dtypes, complexes)) {
    x <- nv_tensor(c(1, 1, 0), dtype = dtype)
    u <- nv_tensor(c(0, 1, 1, 1), dtype = dtype)
    got <- scatter_by(x, i, u, function(old, new) nv_ifelse(new == old, new, x[3L]))
    expect_identical(got, scatter_by(x, i, nv_tensor(c(0, 0, 0, 0), dtype = dtype), "replace"), label = dtype)
    expect_identical(scatter_by(x, i, u, function(old, new) old), x, label = dtype)
  }
  x <- nv_tensor(c(1, 2, 3))
  u <- nv_tensor(c(10, 20, 30, 40))
  table <- nv_tensor(c(5, 6))
  scale <- nv_scalar(3)
  want <- function(s) c(1, (2 * s + 110) * s + 220, 3 * s + 330)
  expect_jit_equal(
    function(x, u) scatter_by(x, i, u, function(a, b) a * scale + sum(table) * b), x, u, r = array(want(3))
  )
  expect_jit_equal(
    function(x, u, s) scatter_by(x, i, u, function(a, b) a * s + sum(table) * b), x, u, nv_scalar(2),
    r = array(want(2))
  )
  repeated <- function(x, u) {
    nv_for(3L, x, function(k, x) scatter_by(x, i, u, function(a, b) b - a * nv_convert(k, "f32")))
  }
  r <- c(1, 2, 3)
  for (k in 1:3) for (n in 1:3) r[i[n]] <- c(10, 20, 30)[n] - r[i[n]] * k
  expect_jit_equal(repeated, x, u, r = array(r))
  # Inside of its own kind.
  inner <- function(a, b) {
    scatter_by(nv_reshape(a, 1L), nv_fill(1L, 1), nv_reshape(b, 1L), function(a, b) a - b)[1L]
  }
  expect_identical(scatter_by(x, i, u, inner), nv_tensor(c(1, -28, -27)))
  # Nothing to do; the function is traced all the same.
  traced <- 0L
  count <- function(a, b) { traced <<- traced + 1L; a - b }
  expect_identical(scatter_by(x, nv_empty("i32", 0), nv_empty("f32", 0), count), x)
  expect_identical(scatter_by(nv_empty("f32", 0), i, u, count), nv_empty("f32", 0))
  expect_identical(traced, 2L)
  invisible(jit(function(x, u) scatter_by(x, i, u, count))(x, u))
  expect_identical(traced, 3L)
  # In the order of the updates.
  shown <- capture.output(invisible(scatter_by(x, i, u, function(a, b) nv_print(b) + a)))
  expect_identical(as.numeric(grep("^ *[0-9]+$", shown, value = TRUE)), c(10, 20, 30))
})

test_that("a function that is a named update is that", {
  args <- list(nv_tensor(c(1, 2, 3)), nv_tensor(c(2L, 2L)), nv_tensor(c(4, 5)))
  text <- function(how) {
    graph_text(do.call(trace_fn, c(function(x, i, u) scatter_by(x, i, u, how), args)))
  }
  same <- list(
    replace = NULL, replace = function(old, new) new, add = function(a, b) a + b, add = function(a, b) b + a,
    add = `+`, mul = nv_mul, mul = function(a, b) (b * a), min = nv_min, min = min, max = max,
    max = function(x, ...) max(x, ...)
  )
  for (k in seq_along(same)) {
    expect_identical(text(same[[k]]), text(names(same)[k]), label = deparse1(same[k]))
  }
  shown <- text(function(old, new) old - new)
  expect_match(shown, "update_computation = update, mode = \"drop\"]", fixed = TRUE)
  expect_match(
    shown, "update(%x1: f32[], %x2: f32[]):\n        %1: f32[] = sub(%x1, %x2)\n        gives (%1)",
    fixed = TRUE
  )
})

test_that("functions that cannot update are errors of the call", {
  x <- nv_tensor(c(1, 2, 3))
  u <- nv_tensor(c(4, 5))
  call <- function(how) {
    nv_scatter(
      x, c(1, 2), u, NULL, 1, scatter_axes_to_operand_axes = 1, index_vector_axis = 2,
      update_computation = how
    )
  }
  refused <- function(how, class, message) {
    e <- expect_error(call(how), class = class, message)
    expect_identical(as.character(conditionCall(e)[[1L]]), "nv_scatter")
    expect_error(jit(function(x) call(how))(x), class = class, message)
  }
  refused(function(a) a, "anvil_error_arg", "two values.* not one of 1 argument\\.")
  refused(function() 1, "anvil_error_arg", "one without arguments")
  refused(function(a, b, c) a, "anvil_error_arg", "not one of 3 arguments")
  refused(function(..., c) 1, "anvil_error_arg", "argument")
  refused(function(a, b) list(a), "anvil_error_arg", "one tensor or R number.* a list of length 1")
  refused(function(a, b) NULL, "anvil_error_arg", "NULL")
  refused(function(a, b) "a", "anvil_error_arg", "one tensor or R number")
  refused(function(a, b) a > b, "anvil_error_structure", "i1\\[\\] for elements of f32\\[\\]")
  refused(function(a, b) nv_broadcast_to(a, 2), "anvil_error_structure", "f32\\[2\\]")
  expect_error(call(function(a, b) stop("mine")), class = "simpleError", "mine")
  refused(5, "anvil_error_arg", "a function of two values")
  refused("div", "anvil_error_arg", "a function of two values.*\"add\"")
  refused(trace_fn(function(a, b) a, 1, 2), "anvil_error_arg", "AnvilGraph")
  expect_identical(call(function(a, b, c = 2, ...) a * c), nv_tensor(c(2, 4, 3)))
  loss <- function(x) sum(call(function(a, b) a - b * x[1L]))
  e <- expect_error(gradient(loss)(x), class = "anvil_error_grad", "nv_scatter")
  expect_match(conditionMessage(e), "by name", fixed = TRUE)
})

test_that("gradients of scatter by name, and by functions that have one", {
  x <- nv_tensor(c(2, 4, 1))
  u <- nv_tensor(c(3, 0, 4, 7))
  grads <- function(how) {
    f <- function(x, u) sum(scatter_by(x, c(1, 1, 2, 9), u, how) * nv_tensor(c(1, 10, 100)))
    lapply(unname(gradient(f)(x, u)), function(g) as.vector(as_array(g)))
  }
  expect_identical(grads("mul"), list(c(0, 40, 100), c(0, 6, 40, 0)))
  expect_identical(grads("max"), list(c(0, 5, 100), c(1, 0, 5, 0)))
  expect_identical(grads("min"), list(c(0, 5, 100), c(0, 1, 5, 0)))
  expect_identical(grads(`*`), grads("mul"))
  expect_identical(grads(max), grads("max"))
})

test_that("batching axes of gather and scatter", {
  a <- matrix(1:12, 4)
  i <- c(3L, 1L, 2L, 9L)
  pick <- function(x, i) {
    nv_gather(
      x, i, slice_sizes = c(1, 1), offset_axes = NULL, collapsed_slice_axes = 2, operand_batching_axes = 1,
      start_indices_batching_axes = 1, start_index_map = 2, index_vector_axis = 2, mode = "clip"
    )
  }
  expect_jit_equal(pick, nv_tensor(a), nv_tensor(i), r = a[cbind(1:4, c(3, 1, 2, 3))])
  put <- function(x, i, u) {
    nv_scatter(
      x, i, u, update_window_axes = NULL, inserted_window_axes = 2, input_batching_axes = 1,
      scatter_indices_batching_axes = 1, scatter_axes_to_operand_axes = 2, index_vector_axis = 2,
      mode = "drop"
    )
  }
  b <- a
  b[cbind(1:3, i[1:3])] <- 0L
  expect_jit_equal(put, nv_tensor(a), nv_tensor(i), nv_fill(0L, 4), r = b)
})

test_that("axes that do not fit name their argument", {
  x <- nv_tensor(matrix(1:6, 2))
  gather <- function(...) {
    args <- list(
      operand = x, start_indices = nv_tensor(1:2), slice_sizes = c(1, 3), offset_axes = 2,
      collapsed_slice_axes = 1, start_index_map = 1, index_vector_axis = 2
    )
    args[...names()] <- list(...)
    do.call(nv_gather, args)
  }
  expect_identical(gather(), x)
  wrong <- list(
    offset_axes = 3, offset_axes = c(1, 2), collapsed_slice_axes = 3, collapsed_slice_axes = c(1, 1),
    start_index_map = 0, start_index_map = c(1, 2), index_vector_axis = 4, index_vector_axis = c(1, 2),
    slice_sizes = 1, slice_sizes = c(2, 3), operand_batching_axes = 2, indices_are_sorted = NA,
    offset_axes = "a"
  )
  for (k in seq_along(wrong)) {
    label <- deparse1(wrong[k])
    e <- expect_error(do.call(gather, wrong[k]), class = "anvil_error_arg", label = label)
    if (!grepl("batching", label)) expect_match(conditionMessage(e), names(wrong)[k], label = label)
  }
  expect_error(gather(slice_sizes = c(1, 4)), class = "anvil_error_shape", "axis 2 of size 3")
  expect_error(gather(start_indices = nv_tensor(TRUE)), class = "anvil_error_dtype")
  expect_error(gather(start_indices = "a"), class = "anvil_error_arg")
})
