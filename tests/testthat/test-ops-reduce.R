a <- array(c(3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6, 4), c(2, 3, 4))

folds <- list(
  nv_reduce_sum = sum, nv_reduce_prod = prod, nv_reduce_max = max, nv_reduce_min = min, nv_mean = mean
)

# What base R says of a reduction over some axes.
reference <- function(x, axes, f, drop = TRUE) {
  if (is.null(axes)) axes <- seq_along(dim(x))
  kept <- setdiff(seq_along(dim(x)), axes)
  if (!length(kept)) return(f(x))
  if (!length(axes)) return(x)
  apply(x, kept, f)
}

test_that("sums, products, extremes and means over any axes are base R's", {
  x <- nv_tensor(a, dtype = "f64")
  for (name in names(folds)) {
    op <- getExportedValue("anvil", name)
    for (axes in list(NULL, 1, 2, 3, c(1, 2), c(3, 1), c(2, 3), 1:3, c(3, 2, 1), integer())) {
      want <- reference(a, axes, folds[[name]])
      got <- op(x, axes)
      kept <- if (is.null(axes)) integer() else setdiff(1:3, axes)
      expect_identical(shape(got), dim(a)[kept], label = paste(name, deparse1(axes)))
      expect_close(got, want, 1e-15, paste(name, deparse1(axes)))
      # Kept with size 1, and on a view of the operand.
      got <- op(x, axes, drop = FALSE)
      expect_identical(shape(got), replace(dim(a), if (is.null(axes)) 1:3 else axes, 1L))
      expect_close(got, want, 1e-15)
      expect_jit_equal(
        function(x) op(nv_transpose(x, c(3, 1, 2)), axes), x,
        r = reference(aperm(a, c(3, 1, 2)), axes, folds[[name]])
      )
    }
  }
})

test_that("sums and extremes on every dtype keep it", {
  for (dtype in c(integers, floats)) {
    x <- nv_tensor(c(3, 1, 2, 5), dtype = dtype, shape = c(2, 2))
    cases <- list(
      list(nv_reduce_sum, 11, c(4, 7)), list(nv_reduce_prod, 30, c(3, 10)), list(nv_reduce_max, 5, c(3, 5)),
      list(nv_reduce_min, 1, c(1, 2))
    )
    for (case in cases) {
      expect_elements(case[[1L]](x), case[[2L]], paste0(dtype, "[]"))
      expect_elements(case[[1L]](x, 1), case[[3L]], paste0(dtype, "[2]"))
    }
  }
  expect_identical(type_of(nv_reduce_sum(nv_scalar(1))), "f32?[]")
})

test_that("sums and products of integers wrap", {
  for (dtype in integers) {
    expect_identical(
      nv_reduce_sum(tensor_of(c(highest[[dtype]], "1"), dtype)), nv_scalar(lowest[[dtype]], dtype)
    )
  }
  expect_elements(nv_reduce_prod(nv_tensor(c(2L, 64L), dtype = "i8")), -128L, "i8[]")
  expect_elements(nv_reduce_sum(nv_tensor(c(200L, 100L), dtype = "ui8")), 44L, "ui8[]")
})

test_that("extremes of integers use their own order", {
  for (dtype in integers) {
    x <- tensor_of(c("1", lowest[[dtype]], highest[[dtype]], "0"), dtype)
    expect_identical(nv_reduce_max(x), nv_scalar(highest[[dtype]], dtype))
    expect_identical(nv_reduce_min(x), nv_scalar(lowest[[dtype]], dtype))
  }
})

test_that("booleans are counted, not or-ed", {
  x <- nv_tensor(c(TRUE, TRUE, FALSE, TRUE), shape = c(2, 2))
  expect_elements(nv_reduce_sum(x), 3L, "i32[]")
  expect_elements(nv_reduce_sum(x, 1), c(2L, 1L), "i32[2]")
  expect_elements(nv_reduce_prod(x, 1), c(1L, 0L), "i32[2]")
  expect_elements(nv_mean(x), 0.75, "f32?[]")
  expect_elements(nv_reduce_max(x, 1), c(TRUE, TRUE), "i1[2]")
  expect_elements(nv_reduce_min(x, 1), c(TRUE, FALSE), "i1[2]")
  expect_elements(nv_reduce_any(x, 1), c(TRUE, TRUE), "i1[2]")
  expect_elements(nv_reduce_all(x, 1), c(TRUE, FALSE), "i1[2]")
  expect_elements(nv_reduce_all(x), FALSE, "i1[]")
  expect_elements(nv_reduce_sum(nv_fill(TRUE, 100000L)), 100000L, "i32[]")
  e <- expect_error(nv_reduce_any(nv_tensor(1:2)), class = "anvil_error_dtype", "booleans, not i32")
  expect_identical(e$op, "nv_reduce_any")
  expect_error(nv_reduce_all(nv_tensor(1)), class = "anvil_error_dtype")
})

test_that("the mean of integers is that of numbers: nothing wraps, nothing truncates", {
  expect_elements(nv_mean(nv_tensor(1:2)), 1.5, "f32?[]")
  expect_elements(nv_mean(nv_tensor(c(127L, 127L, 127L), dtype = "i8")), 127, "f32?[]")
  expect_elements(
    nv_mean(nv_tensor(c("18446744073709551615", "18446744073709551615"), dtype = "ui64")), 2^64, "f32?[]"
  )
  expect_elements(nv_mean(nv_tensor(c(1, 2), dtype = "f64")), 1.5, "f64[]")
  expect_elements(nv_mean(nv_scalar(3)), 3, "f32?[]")
})

test_that("over nothing, each reduction is its neutral element", {
  x <- nv_empty("f32", c(0, 2))
  expect_elements(nv_reduce_sum(x), 0, "f32[]")
  expect_elements(nv_reduce_sum(x, 1), c(0, 0), "f32[2]")
  expect_elements(nv_reduce_sum(x, 2), numeric(), "f32[0]")
  expect_elements(nv_reduce_prod(x, 1), c(1, 1), "f32[2]")
  expect_elements(nv_reduce_max(x), -Inf, "f32[]")
  expect_elements(nv_reduce_min(x), Inf, "f32[]")
  expect_elements(nv_mean(x), NaN, "f32[]")
  expect_elements(nv_mean(x, 1), c(NaN, NaN), "f32[2]")
  expect_elements(nv_mean(x, 2), numeric(), "f32[0]")
  for (dtype in integers) {
    x <- nv_empty(dtype, 0)
    expect_identical(nv_reduce_max(x), nv_scalar(lowest[[dtype]], dtype))
    expect_identical(nv_reduce_min(x), nv_scalar(highest[[dtype]], dtype))
    expect_identical(nv_reduce_sum(x), nv_scalar(0L, dtype))
    expect_identical(nv_reduce_prod(x), nv_scalar(1L, dtype))
  }
  x <- nv_empty("i1", 0)
  expect_elements(nv_reduce_any(x), FALSE, "i1[]")
  expect_elements(nv_reduce_all(x), TRUE, "i1[]")
  expect_elements(nv_reduce_max(x), FALSE, "i1[]")
  expect_elements(nv_reduce_min(x), TRUE, "i1[]")
  expect_elements(nv_reduce_sum(x), 0L, "i32[]")
})

test_that("no axes reduce nothing; a 0-d operand has none", {
  x <- nv_tensor(1:6, shape = c(2, 3))
  expect_identical(nv_reduce_sum(x, integer()), x)
  expect_identical(nv_reduce_max(x, integer(), drop = FALSE), x)
  expect_identical(type_of(nv_mean(x, integer())), "f32?[2, 3]")
  expect_elements(nv_reduce_sum(nv_scalar(5L)), 5L, "i32?[]")
  expect_elements(nv_mean(nv_scalar(5L)), 5, "f32?[]")
  expect_elements(nv_reduce_sum(2.5), 2.5, "f32?[]")
  expect_elements(nv_reduce_sum(matrix(1:4, 2), 2), c(4L, 6L), "i32?[2]")
})

test_that("NaN and infinities", {
  for (dtype in floats) {
    x <- nv_tensor(c(1, NaN, 3, 4), dtype = dtype, shape = c(2, 2))
    expect_elements(nv_reduce_max(x, 1), c(NaN, 4), paste0(dtype, "[2]"))
    expect_elements(nv_reduce_min(x, 1), c(NaN, 3), paste0(dtype, "[2]"))
    expect_elements(nv_reduce_sum(x, 1), c(NaN, 7), paste0(dtype, "[2]"))
    y <- nv_tensor(c(Inf, 1, Inf, -Inf), dtype = dtype, shape = c(2, 2))
    expect_elements(nv_reduce_sum(y, 1), c(Inf, NaN), paste0(dtype, "[2]"))
    expect_elements(nv_reduce_max(y, 1), c(Inf, Inf), paste0(dtype, "[2]"))
    expect_elements(nv_reduce_max(nv_tensor(c(-0, 0), dtype = dtype)), 0, paste0(dtype, "[]"))
    expect_elements(nv_reduce_min(nv_tensor(c(0, -0), dtype = dtype)), -0, paste0(dtype, "[]"))
  }
})

test_that("variances over any axes are those of stats::var()", {
  x <- nv_tensor(a, dtype = "f64")
  squares <- function(x) sum((x - mean(x))^2)
  for (axes in list(NULL, 1, 2, 3, c(1, 2), c(3, 1), c(2, 3), 1:3, c(3, 2, 1))) {
    kept <- if (is.null(axes)) integer() else setdiff(1:3, axes)
    label <- deparse1(axes)
    want <- reference(a, axes, function(x) var(as.vector(x)))
    got <- nv_var(x, axes)
    expect_identical(shape(got), dim(a)[kept], label = label)
    expect_close(got, want, 1e-15, label)
    expect_close(nv_reduce_squares(x, axes), reference(a, axes, squares), 1e-15, label)
    expect_close(
      nv_var(x, axes, correction = 0), reference(a, axes, function(x) mean((x - mean(x))^2)), 1e-15, label
    )
    got <- nv_var(x, axes, drop = FALSE)
    expect_identical(shape(got), replace(dim(a), if (is.null(axes)) 1:3 else axes, 1L), label = label)
    expect_close(got, want, 1e-15, label)
    expect_jit_equal(
      function(x) nv_var(nv_transpose(x, c(3, 1, 2)), axes), x,
      r = reference(aperm(a, c(3, 1, 2)), axes, function(x) var(as.vector(x)))
    )
  }
  set.seed(5)
  for (m in list(matrix(rnorm(3e5), 3000) + 10, matrix(rexp(2e5), 40))) {
    expect_close(nv_var(nv_tensor(m, dtype = "f64")), var(as.vector(m)), 1e-12)
    expect_close(nv_var(nv_tensor(m, dtype = "f64"), 1), apply(m, 2, var), 1e-12)
    expect_close(nv_var(nv_tensor(m, dtype = "f64"), 2), apply(m, 1, var), 1e-12)
    expect_close(nv_var(nv_tensor(m, dtype = "f32")), as_f32(var(as.vector(as_f32(m)))), 1e-7)
  }
})

test_that("variances have the dtypes of means", {
  for (dtype in floats) {
    x <- nv_tensor(c(3, 1, 2, 6), dtype = dtype, shape = c(2, 2))
    expect_elements(nv_reduce_squares(x), 14, paste0(dtype, "[]"))
    expect_elements(nv_reduce_squares(x, 1), c(2, 8), paste0(dtype, "[2]"))
    expect_elements(nv_var(x, 1), c(2, 8), paste0(dtype, "[2]"))
    expect_elements(nv_var(x, correction = 0), 3.5, paste0(dtype, "[]"))
  }
  for (dtype in integers) expect_elements(nv_var(nv_tensor(c(100L, 102L), dtype = dtype)), 2, "f32?[]")
  expect_elements(nv_var(nv_tensor(c(TRUE, FALSE, TRUE, FALSE)), correction = 0), 0.25, "f32?[]")
  expect_elements(nv_var(array(c(1, 2, 6))), 7, "f32?[]")
  # Neither the sum nor the number of elements fits 16 bits.
  expect_elements(nv_var(nv_tensor(rep(c(60000, 60032), 50000), dtype = "f16"), correction = 0), 256, "f16[]")
})

test_that("variances of few elements, and of special ones", {
  expect_elements(nv_var(3), NaN, "f32?[]")
  expect_elements(nv_var(3, correction = 0), 0, "f32?[]")
  expect_elements(nv_var(array(c(1, 3)), correction = 2), NaN, "f32?[]")
  expect_elements(nv_var(array(c(1, 3)), correction = 2.5), NaN, "f32?[]")
  expect_elements(nv_var(array(c(1, 3)), correction = 1.5), 4, "f32?[]")
  x <- nv_empty("f32", c(0, 2))
  expect_elements(nv_reduce_squares(x), 0, "f32[]")
  expect_elements(nv_reduce_squares(x, 1), c(0, 0), "f32[2]")
  expect_elements(nv_reduce_squares(x, 2), numeric(), "f32[0]")
  expect_elements(nv_var(x), NaN, "f32[]")
  expect_elements(nv_var(x, 1, correction = 0), c(NaN, NaN), "f32[2]")
  expect_elements(nv_var(x, 2), numeric(), "f32[0]")
  expect_elements(nv_reduce_squares(nv_tensor(c(1, Inf, NaN)), integer()), c(0, NaN, NaN), "f32[3]")
  for (dtype in floats) {
    y <- nv_tensor(c(1, NaN, 3, 4, Inf, 1, 2, -Inf), dtype = dtype, shape = c(2, 4))
    expect_elements(nv_var(y, 1), c(NaN, 0.5, NaN, NaN), paste0(dtype, "[4]"))
    expect_elements(nv_reduce_squares(nv_fill(3, 5000, dtype)), 0, paste0(dtype, "[]"))
  }
  # Deviations are small next to the mean.
  expect_close(nv_var(nv_tensor(1e8 + rep(c(0, 1), 5000), dtype = "f64"), correction = 0), 0.25, 1e-9)
})

test_that("variances have gradients", {
  for (dtype in c("f32", "f64")) {
    x <- nv_tensor(a, dtype = dtype)
    g <- gradient(function(x) nv_var(x))(x)[[1L]]
    expect_close(g, 2 * (a - mean(a)) / 23, if (dtype == "f32") 1e-6 else 1e-14)
    g <- jit(gradient(function(x) sum(nv_var(x, c(1, 3), drop = FALSE, correction = 0))))(x)[[1L]]
    expect_close(g, 2 * sweep(a, 2, apply(a, 2, mean)) / 8, if (dtype == "f32") 1e-6 else 1e-14)
  }
  x <- nv_tensor(c(60000, 60032), dtype = "f16")
  expect_elements(gradient(function(x) nv_reduce_squares(x))(x)[[1L]], c(-32, 32), "f16[2]")
})

test_that("what variances do not take is named", {
  x <- nv_tensor(c(1, 2, 6))
  for (wrong in list(-1, NaN, NA_real_, Inf, c(0, 1), numeric(), "1", TRUE, NULL)) {
    expect_error(
      nv_var(x, correction = wrong), class = "anvil_error_arg",
      "`correction` must be one finite number, at least 0"
    )
  }
  expect_error(nv_var(x, 2), class = "anvil_error_axis")
  e <- expect_error(nv_var(nv_tensor(1i)), class = "anvil_error_dtype", "any dtype but complex")
  expect_identical(e[c("op", "got")], list(op = "nv_var", got = "c64"))
  for (y in list(nv_tensor(1:3), nv_tensor(TRUE))) {
    e <- expect_error(nv_reduce_squares(y), class = "anvil_error_dtype", "nv_var()", fixed = TRUE)
    expect_identical(e$op, "nv_reduce_squares")
  }
  expect_error(nv_reduce_squares(nv_tensor(1i)), class = "anvil_error_dtype")
})

test_that("long sums are accurate: f32 in double precision, f64 with a correction", {
  n <- 1e6
  # 0.1 is not a float: a running sum in f32 would be off by 1%.
  tenth <- as_f32(0.1)
  expect_elements(nv_reduce_sum(nv_fill(0.1, n, "f32")), as_f32(tenth * n), "f32[]")
  expect_elements(nv_mean(nv_fill(0.1, n, "f32")), as_f32(0.1), "f32[]")
  expect_close(nv_reduce_sum(nv_fill(0.1, n, "f64")), 1e5, 1e-14)
  # Large numbers that cancel between tiles; what is left is 1 for each of the others.
  x <- c(rep(1e16, 4096), rep(1, 4096), rep(-1e16, 4096))
  expect_elements(nv_reduce_sum(nv_tensor(x, dtype = "f64")), 4096, "f64[]")
  set.seed(2)
  x <- rnorm(1e5)
  expect_close(nv_reduce_sum(nv_tensor(x, dtype = "f64")), sum(x), 1e-14)
  # The largest of a long tensor, wherever it is.
  for (i in c(1, 1024, 1025, 99999, 1e5)) {
    expect_elements(nv_reduce_max(nv_tensor(replace(x, i, 100), dtype = "f64")), 100, "f64[]")
  }
})

test_that("axes are checked", {
  x <- nv_tensor(1:6, shape = c(2, 3))
  for (name in c(setdiff(names(folds), "nv_mean"), "nv_reduce_squares")) {
    op <- getExportedValue("anvil", name)
    e <- expect_error(
      op(x, 3), class = "anvil_error_axis", "Axis 3 is out of range for shape (2,3)", fixed = TRUE
    )
    expect_identical(e[c("op", "axis", "rank")], list(op = name, axis = 3, rank = 2))
  }
  expect_error(nv_mean(x, 3), class = "anvil_error_axis")
  expect_error(nv_reduce_sum(x, 0), class = "anvil_error_axis", "numbered from 1")
  expect_error(nv_reduce_sum(x, -3), class = "anvil_error_axis")
  expect_error(nv_reduce_sum(x, c(1, 1)), class = "anvil_error_axis", "more than once")
  expect_error(nv_reduce_sum(nv_scalar(1), 1), class = "anvil_error_axis")
  expect_error(nv_reduce_sum(x, 1.5), class = "anvil_error_arg", "`axes` must be whole numbers, not 1.5")
  expect_error(nv_reduce_sum(x, NA_integer_), class = "anvil_error_arg")
  expect_error(nv_reduce_sum(x, "1"), class = "anvil_error_arg")
  expect_error(nv_reduce_sum(x, drop = 1), class = "anvil_error_arg", "`drop` must be TRUE or FALSE")
  expect_error(nv_reduce_sum("a"), class = "anvil_error_arg")
})
