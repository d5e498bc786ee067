cumulations <- list(
  cumsum = nv_cumsum, cumprod = nv_cumprod, cummax = nv_cummax, cummin = nv_cummin,
  cumlogsumexp = nv_cumlogsumexp
)
base_cumulations <- list(
  cumsum = cumsum, cumprod = cumprod, cummax = cummax, cummin = cummin,
  cumlogsumexp = function(x) log(cumsum(exp(x)))
)

read_sequences <- function() {
  path <- testthat::test_path("..", "testdata", "sequences", "sequences.csv")
  utils::read.csv(path, comment.char = "#", colClasses = "character")
}
numbers_of <- function(text) as.double(strsplit(text, " ")[[1L]])

test_that("values and gradients are those of JAX, along every axis and in both directions", {
  rows <- read_sequences()
  x <- numbers_of(rows$values[rows$what == "x"])
  weights <- numbers_of(rows$values[rows$what == "weights"])
  seen <- 0L
  for (i in which(sub("_gradient", "", rows$what) %in% names(cumulations))) {
    row <- rows[i, ]
    f <- cumulations[[sub("_gradient", "", row$what)]]
    sizes <- as.integer(strsplit(row$shape, "x")[[1L]])
    a <- nv_tensor(x, "f64", shape = sizes)
    w <- nv_tensor(weights, "f64", shape = sizes)
    axis <- as.integer(row$axis)
    reverse <- row$reverse == "TRUE"
    got <- if (grepl("_gradient$", row$what)) {
      gradient(function(a) sum(f(a, axis, reverse) * w))(a)$a
    } else {
      f(a, axis, reverse)
    }
    label <- paste(row[1:4], collapse = " ")
    expect_equal(as.double(got), numbers_of(row$values), tolerance = 1e-13, label = label)
    expect_identical(shape(got), sizes)
    seen <- seen + 1L
  }
  expect_identical(seen, 80L)
})

test_that("without an axis all elements are taken, as base R takes them", {
  values <- matrix(c(0.5, -1, 2, 0.25, 3, -0.125), 2)
  for (name in names(cumulations)) {
    want <- base_cumulations[[name]](c(values))
    expect_nv(cumulations[[name]](nv_tensor(values, "f64")), want, "f64", tolerance = 1e-15)
    expect_jit_equal(function(x) cumulations[[name]](x), nv_tensor(values, "f64"))
  }
  expect_nv(nv_cumsum(nv_scalar(3L, "i32")), 3, "i32", shape = 1L)
  expect_nv(nv_cumsum(1:4), cumsum(1:4), "i32", ambiguous = TRUE)
})

test_that("R's generics are methods, traced and not", {
  x <- nv_tensor(c(3, 1, 4, 1, 5), "f64")
  for (name in c("cumsum", "cumprod", "cummax", "cummin")) {
    generic <- get(name, baseenv())
    expect_identical(generic(x), cumulations[[name]](x))
    expect_jit_equal(function(x) generic(x), x, r = generic(as_array(x)))
  }
  m <- nv_tensor(matrix(1:6, 2))
  expect_nv(cumsum(m), cumsum(1:6), "i32")
  expect_nv(nv_cumsum(m, axis = 2, reverse = TRUE), c(9, 12, 8, 10, 5, 6), "i32", shape = 2:3)
  named <- nv_tensor(c(a = 1, b = 2))
  expect_identical(names(cumsum(named)), c("a", "b"))
})

test_that("all dtypes, and those that have no order", {
  for (dtype in dtypes) {
    x <- nv_tensor(if (dtype == "i1") c(TRUE, FALSE, TRUE) else c(1L, 2L, 3L), dtype)
    summed <- if (dtype == "i1") "i32" else dtype
    expect_nv(nv_cumsum(x), if (dtype == "i1") c(1, 1, 2) else c(1, 3, 6), summed)
    expect_nv(nv_cumprod(x), if (dtype == "i1") c(1, 0, 0) else c(1, 2, 6), summed)
    if (dtype %in% complexes) {
      for (f in cumulations[c("cummax", "cummin", "cumlogsumexp")]) {
        expect_error(f(x), class = "anvil_error_dtype")
      }
      next
    }
    expect_nv(nv_cummax(x), if (dtype == "i1") c(1, 1, 1) else 1:3, dtype)
    expect_nv(nv_cummin(x), if (dtype == "i1") c(1, 0, 0) else c(1, 1, 1), dtype)
    out <- nv_cumlogsumexp(x)
    expect_identical(as.character(dtype(out)), if (dtype %in% floats) dtype else "f32")
    expect_identical(ambiguous(out), !dtype %in% floats)
  }
  expect_nv(nv_cumsum(nv_tensor(c(1+2i, 3-1i))), c(1+2i, 4+1i), "c64")
  expect_nv(nv_cumsum(nv_scalar(2)), 2, "f32", shape = 1L, ambiguous = TRUE)
  # Integers wrap, as in sum().
  expect_nv(nv_cumsum(nv_tensor(c(100L, 100L), "i8")), c(100, -56), "i8")
  expect_nv(nv_cumprod(nv_tensor(c(20L, 20L), "ui8")), c(20, 400 - 256), "ui8")
})

test_that("NaN, infinities and zeros are as in R", {
  x <- c(1, -Inf, 2, NaN, 3)
  for (name in c("cumsum", "cumprod", "cummax", "cummin")) {
    generic <- get(name, baseenv())
    for (dtype in floats) {
      expect_equal(as.double(generic(nv_tensor(x, dtype))), generic(x), label = paste(name, dtype))
    }
    expect_identical(is.nan(as.double(generic(nv_tensor(c(NaN, 1), "f64")))), c(TRUE, TRUE))
  }
  expect_identical(as.double(nv_cumsum(nv_tensor(c(Inf, 1, -Inf, 2), "f64"))), c(Inf, Inf, NaN, NaN))
  signs <- function(x) 1 / as.double(x)
  zeros <- nv_tensor(c(-0, 0, -0), "f32")
  expect_identical(signs(nv_cummax(zeros)), c(-Inf, Inf, Inf))
  expect_identical(signs(nv_cummin(zeros)), c(-Inf, -Inf, -Inf))
  expect_identical(signs(nv_cummin(nv_tensor(c(0, -0), "f64"))), c(Inf, -Inf))
  # NaN of either sign, and what it hides.
  negative <- -nv_tensor(c(NaN, 1, -1), "f64")
  expect_identical(is.nan(as.double(nv_cummax(negative))), c(TRUE, TRUE, TRUE))
  expect_identical(is.nan(as.double(nv_cummin(negative))), c(TRUE, TRUE, TRUE))
})

test_that("nothing overflows or vanishes in cumlogsumexp", {
  f <- function(x) as.double(nv_cumlogsumexp(nv_tensor(x, "f64")))
  expect_equal(f(c(1000, 1000, 1001)), 1000 + log(c(1, 2, 2 + exp(1))), tolerance = 1e-15)
  expect_equal(f(c(-1000, -1001)), -1000 + log(c(1, 1 + exp(-1))), tolerance = 1e-15)
  expect_identical(f(c(-Inf, -Inf, 2)), c(-Inf, -Inf, 2))
  expect_identical(f(c(1, Inf, 2, NaN, 3)), c(1, Inf, Inf, NaN, NaN))
  expect_identical(f(c(0, -800)), c(0, 0))
  expect_identical(f(-40)[1L], -40)
  # Next to 0 no digit is lost.
  expect_equal(f(c(0, -40))[2L], exp(-40), tolerance = 1e-15)
  # Steps up, larger and smaller than those at which sums begin anew, across blocks.
  for (step in c(0.01, 0.7, 3, 50)) {
    x <- step * (1:2500) + sin(1:2500)
    one_by_one <- function(x) Reduce(function(a, b) max(a, b) + log1p(exp(-abs(a - b))), x, accumulate = TRUE)
    expect_equal(f(x), one_by_one(x), tolerance = 1e-14, label = step)
    expect_equal(f(rev(x)), one_by_one(rev(x)), tolerance = 1e-14, label = step)
  }
})

test_that("sums of many elements are accurate, whatever the axis, the direction and the threads", {
  set.seed(1)
  for (n in c(7, 8, 9, 1023, 1024, 1025, 5000)) {
    x <- round(rnorm(n) * 2^20)
    for (dtype in c("f32", "f64")) {
      # Sums of whole numbers are exact in double precision.
      want <- as.double(nv_tensor(cumsum(x), dtype))
      tensor <- nv_tensor(x, "f64")
      tensor <- if (dtype == "f32") nv_convert(tensor, "f32") else tensor
      expect_identical(as.double(nv_cumsum(tensor)), want, label = paste(n, dtype))
      backwards <- as.double(nv_tensor(rev(cumsum(rev(x))), dtype))
      expect_identical(as.double(nv_cumsum(tensor, reverse = TRUE)), backwards)
    }
  }
  # The same bits along any axis: the lines of matrices with few and many neighbours.
  x <- rnorm(3000)
  for (dtype in c("bf16", "f16", "f32", "f64", "c64", "c128", "i32")) {
    line <- nv_convert(nv_tensor(if (dtype == "i32") round(100 * x) else x, "f64"), dtype)
    for (f in cumulations[if (dtype %in% complexes) 1:2 else 1:5]) {
      for (reverse in c(FALSE, TRUE)) {
        want <- f(line, reverse = reverse)
        for (width in c(1L, 3L, 20L, 300L)) {
          many <- nv_broadcast_to(nv_reshape(line, c(1L, 3000L)), c(width, 3000L))
          got <- f(many, axis = 2, reverse = reverse)
          expect_identical(got[width, ], want)
          expect_identical(f(nv_transpose(many), axis = 1, reverse = reverse)[, 1], want)
        }
      }
    }
  }
})

test_that("the number of threads changes no bit of long lines", {
  set.seed(2)
  values <- rnorm(300001)
  for (dtype in c("f32", "f64", "i32")) {
    x <- nv_convert(nv_tensor(if (dtype == "i32") round(1000 * values) else values, "f64"), dtype)
    for (f in cumulations) {
      for (reverse in c(FALSE, TRUE)) {
        made <- lapply(c(1L, 2L, 3L), function(threads) {
          withr::local_options(anvil.threads = threads)
          f(x, reverse = reverse)
        })
        expect_identical(made[[2L]], made[[1L]])
        expect_identical(made[[3L]], made[[1L]])
      }
    }
  }
})

test_that("sizes of 0 and 1", {
  for (f in cumulations) {
    for (sizes in list(0L, c(0L, 3L), c(3L, 0L))) {
      x <- nv_fill(1, sizes)
      for (axis in seq_along(sizes)) expect_identical(shape(f(x, axis)), sizes)
      expect_identical(shape(f(x)), 0L)
    }
    expect_identical(as.double(f(nv_tensor(c(2, 3), shape = c(1, 2)), axis = 1)), c(2, 3))
    expect_identical(shape(gradient(function(x) sum(f(x)))(nv_fill(1, 0L))$x), 0L)
  }
})

test_that("a batch is computed line by line", {
  x <- nv_tensor(matrix(c(0.5, -1, 2, 0.25, 3, -0.125), 3), "f64")
  for (f in cumulations) {
    for (reverse in c(FALSE, TRUE)) {
      expect_equal(
        as_array(vmap(function(v) f(v, 1, reverse), in_axes = 2, out_axes = 2)(x)),
        as_array(f(x, 1, reverse)), tolerance = 1e-15
      )
    }
  }
})

test_that("bad arguments are named", {
  x <- nv_tensor(matrix(1:6, 2))
  for (f in cumulations) {
    expect_error(f(x, 3), class = "anvil_error_axis")
    expect_fields(f(x, 1:2), "anvil_error_arg", arg = "axis")
    expect_fields(f(x, "a"), "anvil_error_arg", arg = "axis")
    expect_fields(f(x, 1, NA), "anvil_error_arg", arg = "reverse")
    expect_error(f("a"), class = "anvil_error_arg")
  }
})

test_that("differences are those of base R, along any axis", {
  x <- c(1, 4, 9, 16, 25)
  for (lag in 1:3) {
    for (differences in 1:3) {
      want <- as.double(diff(x, lag, differences))
      expect_identical(as.double(nv_diff(nv_tensor(x), lag, differences)), want)
    }
  }
  m <- matrix(c(1, 5, 2, 8, 3, 1), 2)
  expect_nv(nv_diff(nv_tensor(m), axis = 2), t(diff(t(m))), "f32")
  expect_nv(nv_diff(nv_tensor(m)), diff(m), "f32")
  expect_jit_equal(function(x) nv_diff(x, axis = 2), nv_tensor(m))
  expect_nv(diff(nv_tensor(c(TRUE, FALSE, TRUE))), c(-1, 1), "i32")
  expect_identical(shape(nv_diff(nv_scalar(1))), 0L)
  expect_identical(shape(nv_diff(nv_fill(1, c(0L, 2L)))), c(0L, 2L))
  expect_identical(as.double(gradient(function(x) sum(nv_diff(x)^2))(nv_tensor(c(1, 3, 4)))$x), c(-4, 2, 2))
  for (arg in c("lag", "differences")) {
    for (bad in list(0, 1.5, 1:2, "a", NA)) {
      call <- as.call(c(quote(nv_diff), quote(nv_tensor(1:3)), setNames(list(bad), arg)))
      expect_fields(eval(call), "anvil_error_arg", arg = arg)
    }
  }
  expect_error(nv_diff(nv_tensor(1:3), axis = 2), class = "anvil_error_axis")
  expect_error(diff(nv_tensor(1:3), lags = 2), class = "anvil_error_arg")
})
