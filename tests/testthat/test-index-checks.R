# Indices that a program computes and that are out of range.

pick <- function(x, i) x[i]
put <- function(x, i) {
  x[i] <- 0
  x
}
gathered <- function(x, i, mode = "error") {
  nv_gather(
    x, nv_reshape(i, c(length(i), 1L)), 1, NULL, 1, start_index_map = 1, index_vector_axis = 2, mode = mode
  )
}
scattered <- function(x, i, how = "add", mode = "error") {
  nv_scatter(
    x, nv_reshape(i, c(length(i), 1L)), nv_fill(1, length(i), dtype(x)), NULL, 1,
    scatter_axes_to_operand_axes = 1, index_vector_axis = 2, update_computation = how, mode = mode
  )
}
out_of_range <- function(expr, value, axis = 1, size = 10, label = NULL) {
  e <- expect_error(expr, class = "anvil_error_index", label = label)
  expect_identical(
    e[c("value", "axis", "size")], list(value = as.double(value), axis = axis, size = size), label = label
  )
  invisible(e)
}

test_that("the error has value, axis and size, and names the call and its line", {
  x <- nv_tensor(1:10, dtype = "f64")
  i <- nv_tensor(c(3L, 12L, 0L))
  for (f in list(pick, put, gathered, scattered)) for (g in list(f, jit(f))) {
    out_of_range(g(x, i), 12)
    out_of_range(g(x, nv_tensor(c(3L, -2L))), -2)
    # The next call is as if nothing had been.
    expect_no_error(g(x, nv_tensor(c(1L, 10L))))
  }
  path <- tempfile("fit", fileext = ".R")
  on.exit(unlink(path))
  writeLines(c("f <- function(x, i) {", "  y <- x + 1", "  y[i * 2L]", "}"), path)
  here <- new.env()
  source(path, here, keep.source = TRUE)
  f <- jit(here$f)
  f(x, nv_scalar(2L))
  e <- out_of_range(f(x, nv_scalar(6L)), 12)
  expect_identical(deparse1(conditionCall(e)), "f(x, nv_scalar(6L))")
  said <- paste0("Index 12 is out of range for axis 1 of size 10, in `y[i * 2L]` (", basename(path), ":3)")
  expect_match(conditionMessage(e), said, fixed = TRUE)
  expect_match(conditionMessage(e), "Indices run from 1 to 10", fixed = TRUE)
  expect_match(conditionMessage(e), "\"clip\"", fixed = TRUE)
  # The first of several; other axes.
  m <- nv_tensor(matrix(1:6, 2))
  out_of_range(m[nv_scalar(1L), nv_scalar(4L)], 4, 2, 3)
  out_of_range(jit(function(m, i) m[, i])(m, nv_tensor(c(1L, 5L, 7L))), 5, 2, 3)
  out_of_range(jit(function(m, i) m[i, i])(m, nv_scalar(3L)), 3, 1, 2)
})

test_that("modes choose silence, in reads and writes", {
  x <- nv_tensor(c(1, 2, 3))
  i <- nv_tensor(c(-1L, 2L, 9L))
  for (f in list(gathered, jit(gathered, static = "mode"))) {
    expect_identical(as.vector(as_array(f(x, i, mode = "clip"))), c(1, 2, 3))
    expect_identical(as.vector(as_array(f(x, i, mode = "drop"))), c(NaN, 2, NaN))
  }
  for (f in list(scattered, jit(scattered, static = c("how", "mode")))) {
    expect_identical(as.vector(as_array(f(x, i, mode = "clip"))), c(2, 3, 4))
    expect_identical(as.vector(as_array(f(x, i, mode = "drop"))), c(1, 3, 3))
  }
  # What is read where nothing is: as JAX fills.
  for (dtype in dtypes) {
    got <- gathered(nv_tensor(c(0, 1), dtype = dtype), nv_tensor(c(1L, 3L)), "drop")[2]
    want <- if (dtype == "i1") "TRUE" else if (dtype %in% signed) lowest[[dtype]] else
      if (dtype %in% integers) highest[[dtype]] else NULL
    if (is.null(want)) {
      expect_true(is.nan(Re(as_array(got))), label = dtype)
    } else {
      expect_identical(got, nv_scalar(if (dtype == "i1") TRUE else want, dtype = dtype), label = dtype)
    }
  }
})

test_that("what is not computed is not checked", {
  x <- nv_tensor(1:10, dtype = "f64")
  guarded <- function(x, i) nv_if(i <= 10L, x[i], 0 * x[1])
  expect_identical(jit(guarded)(x, nv_scalar(12L)), nv_scalar(0, dtype = "f64"))
  expect_identical(jit(guarded)(x, nv_scalar(4L)), nv_scalar(4, dtype = "f64"))
  out_of_range(jit(function(x, i) nv_if(i > 10L, x[i], 0 * x[1]))(x, nv_scalar(12L)), 12)
  # Both sides of a selection are computed.
  out_of_range(jit(function(x, i) nv_ifelse(i <= 10L, x[i], 0))(x, nv_scalar(12L)), 12)
  # An iteration that is not run, also if what it reads is the same in all.
  sums <- function(x, n, i) {
    nv_while(list(k = 1L, s = nv_scalar(0, dtype = "f64")), function(v) v$k <= n, function(v) {
      list(k = v$k + 1L, s = v$s + x[i])
    })$s
  }
  expect_identical(jit(sums)(x, nv_scalar(0L), nv_scalar(12L)), nv_scalar(0, dtype = "f64"))
  expect_identical(jit(sums)(x, nv_scalar(2L), nv_scalar(3L)), nv_scalar(6, dtype = "f64"))
  out_of_range(jit(sums)(x, nv_scalar(1L), nv_scalar(12L)), 12)
  # Nothing depends on it.
  expect_identical(jit(function(x, i) { x[i]; x })(x, nv_scalar(12L)), x)
  expect_identical(x[nv_empty("i32", 0)], nv_empty("f64", 0))
})

test_that("errors in loops are those of the first iteration that fails, at the end", {
  x <- nv_tensor(1:10, dtype = "f64")
  seen <- capture.output(
    e <- out_of_range(jit(function(x) {
      nv_for(5L, 0 * x[1], function(k, s) nv_print(s + x[k * 4L], label = "s"))
    })(x), 12)
  )
  expect_length(grep("s", seen, fixed = TRUE), 5L)
  cumulative <- function(x, at) {
    nv_scan(function(carry, k) list(carry = carry + x[k], ys = carry), 0 * x[1], at)
  }
  out_of_range(jit(cumulative)(x, nv_tensor(c(1L, 15L, 20L))), 15)
  moved <- function(x) nv_for(3L, x, function(k, x) { x[k * 5L] <- 0; x })
  out_of_range(jit(moved)(x), 15)
  # Scatters by a function.
  out_of_range(jit(function(x, i) scattered(x, i, function(a, b) a - b))(x, nv_tensor(c(1L, 11L))), 11)
  out_of_range(scattered(nv_empty("f64", 0), nv_tensor(c(1L, 11L))), 1, size = 0)
})

test_that("errors do not depend on the number of threads", {
  n <- 300000L
  at <- rep(1:1000, length.out = n)
  at[c(70000, 150000, 290000)] <- c(1001L, 2000L, -3L)
  x <- nv_fill(1, 1000)
  i <- nv_tensor(at)
  for (threads in c(1L, 2L, 3L)) {
    withr::local_options(anvil.threads = threads)
    for (f in list(pick, function(x, i) sum(exp(x[i]) * 2), scattered, put)) {
      out_of_range(jit(f)(x, i), 1001, size = 1000, label = paste(threads, "threads"))
    }
  }
})

test_that("gradients check too, once, and respect modes", {
  x <- nv_tensor(c(1, 2, 3), dtype = "f64")
  i <- nv_tensor(c(1L, 1L, 4L))
  loss <- function(mode) function(x) {
    y <- nv_subset(x, i, mode = mode)
    sum(nv_ifelse(is.nan(y), 0, y * y))
  }
  out_of_range(gradient(loss("error"))(x), 4, size = 3)
  out_of_range(gradient(function(x) sum(x[i]))(x), 4, size = 3)
  out_of_range(gradient(function(x) sum(put(x, i)))(x), 4, size = 3)
  expect_identical(as.vector(as_array(gradient(loss("clip"))(x)$x)), c(4, 0, 6))
  expect_identical(as.vector(as_array(gradient(loss("drop"))(x)$x)), c(4, 0, 0))
  inside <- nv_tensor(c(1L, 1L, 3L))
  expect_identical(as.vector(as_array(gradient(function(x) sum(x[inside]^2))(x)$x)), c(4, 0, 6))
})

test_that("a program that fails leaves nothing behind", {
  x <- nv_tensor(as.double(1:10), dtype = "f32")
  f <- jit(function(x, i) { x[i] <- 0; x + 1 }, donate = "x")
  y <- x + 0
  out_of_range(f(y, nv_scalar(11L)), 11)
  expect_error(y + 1, class = "anvil_error_donated")
  expect_identical(as.vector(as_array(f(x + 0, nv_scalar(1L)))), c(1, 3:11))
  expect_identical(x + 1, nv_tensor(as.double(2:11), dtype = "f32"))
})

test_that("exported programs check nothing", {
  x <- nv_tensor(c(1, 2, 3))
  text <- function(f) format(stablehlo(f, x, nv_scalar(5L)))
  expect_match(text(pick), "stablehlo.dynamic_slice", all = FALSE)
  expect_identical(text(function(x, i) scattered(x, i)), text(function(x, i) scattered(x, i, mode = "drop")))
})

test_that("an error names the axis of a matrix whose rows a loop replaces", {
  m <- matrix(sin(1:600), 6)
  fill <- function(m, k) nv_for(5L, m, function(i, m) { m[i + k, ] <- m[i, ] * 2 + m[(i + k) %/% 2L, ]; m })
  want <- m
  for (i in 1:5) want[i + 1, ] <- want[i, ] * 2 + want[(i + 1) %/% 2, ]
  expect_equal(as_array(jit(fill)(nv_tensor(m, "f64"), nv_scalar(1L))), want)
  e <- expect_error(jit(fill)(nv_tensor(m, "f64"), nv_scalar(2L)), class = "anvil_error_index")
  expect_identical(list(e$value, e$axis, e$size), list(7, 1, 6))
})
