test_that("sums and extremes are those of JAX", {
  rows <- utils::read.csv(
    testthat::test_path("..", "testdata", "sequences", "sequences.csv"), comment.char = "#",
    colClasses = "character"
  )
  numbers <- function(what) as.double(strsplit(rows$values[rows$what == what], " ")[[1L]])
  x <- nv_tensor(numbers("x"), "f64")
  codes <- c(0L, 2L, 2L, 1L, 0L, 4L, 4L, 4L, 1L, 2L, 0L, 0L) + 1L
  expect_identical(as.double(nv_segment_sum(x, codes)), numbers("segment_sum"))
  expect_identical(as.double(nv_segment_max(x, codes, n = 5)), numbers("segment_max"))
  expect_identical(as.double(nv_segment_min(x, nv_tensor(codes), n = 5)), numbers("segment_min"))
})

test_that("they are R's rowsum() and tapply()", {
  x <- c(1.5, 2, -3, 4, 0.25)
  group <- factor(c("b", "a", "b", "c", "a"), levels = c("a", "b", "c", "d"))
  tensor <- nv_tensor(x, "f64")
  by <- function(f) as.double(tapply(x, group, f))
  expect_identical(as.double(nv_segment_sum(tensor, group)), c(by(sum)[1:3], 0))
  expect_identical(as.double(nv_segment_mean(tensor, group)), c(by(mean)[1:3], NaN))
  expect_identical(as.double(nv_segment_max(tensor, group)), c(by(max)[1:3], -Inf))
  expect_identical(as.double(nv_segment_min(tensor, group)), c(by(min)[1:3], Inf))
  m <- matrix(c(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), 5)
  for (reorder in c(TRUE, FALSE)) {
    # Levels and dates, whose order is not that of their text.
    codes <- c(10, 2, 10, 1, 2)
    sizes <- factor(c("lo", "hi", NA, "mid", "lo"), c("lo", "mid", "hi"))
    levels <- list(sizes, factor(codes), factor(codes, c(10, 1, 2)))
    others <- list(group, as.Date("2026-01-09") + codes, codes > 1, codes, array(codes))
    vectors <- list(as.character(group), as.integer(group), c(2.5, 1, 2.5, NA, 1))
    for (g in c(vectors, levels, others)) {
      want <- suppressWarnings(rowsum(m, g, reorder))
      expect_equal(as_array(rowsum(nv_tensor(m, "f64"), g, reorder)), unname(want), ignore_attr = TRUE)
      expect_identical(dimnames(as_array(rowsum(nv_tensor(m, "f64"), g, reorder)))[[1L]], rownames(want))
    }
  }
  names <- as.character(group)
  expect_equal(as_array(rowsum(tensor, names)), rowsum(x, names), ignore_attr = TRUE)
  expect_identical(as.double(rowsum(nv_tensor(c(1, NaN, 2)), c(1, 1, 2), na.rm = TRUE)), c(1, 2))
  expect_jit_equal(function(m) rowsum(m, c("x", "y", "x", "y", "y")), nv_tensor(m))
})

test_that("any axis, jitted, differentiated, batched", {
  x <- nv_tensor(array(1:24, c(2, 3, 4)), "f64")
  want <- as_array(x)[, c(1, 3), ] * 0
  want[, 1, ] <- as_array(x)[, 1, ] + as_array(x)[, 3, ]
  want[, 2, ] <- as_array(x)[, 2, ]
  expect_identical(as_array(nv_segment_sum(x, c(1, 2, 1), axis = 2)), want)
  expect_jit_equal(function(x, codes) nv_segment_sum(x, codes, n = 2, axis = 2), x, nv_tensor(c(1L, 2L, 1L)))
  for (f in list(nv_segment_sum, nv_segment_mean, nv_segment_max, nv_segment_min)) {
    v <- nv_tensor(c(1, 5, 2, 3), "f64")
    g <- as.double(gradient(function(v) sum(f(v, c(1, 2, 1, 2)) * nv_tensor(c(1, 10), "f64")))(v)$v)
    expect_identical(sum(g), if (identical(f, nv_segment_sum)) 22 else 11)
    m <- nv_tensor(matrix(1:8, 4), "f64")
    expect_equal(
      as_array(vmap(function(v) f(v, c(1, 2, 1, 2)), in_axes = 2, out_axes = 2)(m)),
      as_array(f(m, c(1, 2, 1, 2)))
    )
  }
})

test_that("dtypes, empty segments and accuracy", {
  for (dtype in dtypes) {
    x <- nv_tensor(if (dtype == "i1") c(TRUE, TRUE, FALSE) else c(1L, 2L, 3L), dtype)
    summed <- if (dtype == "i1") "i32" else dtype
    expect_nv(nv_segment_sum(x, c(1, 1, 3)), if (dtype == "i1") c(2, 0, 0) else c(3, 0, 3), summed)
    mean <- nv_segment_mean(x, c(1, 1, 2))
    expect_identical(as.character(dtype(mean)), if (dtype %in% c(floats, complexes)) dtype else "f32")
    expect_equal(values_of(mean), c(values_of(x)[1] + values_of(x)[2], 2 * values_of(x)[3]) / 2)
    if (dtype %in% complexes) {
      expect_error(nv_segment_max(x, 1:3), class = "anvil_error_dtype")
    } else {
      expect_nv(nv_segment_max(x, c(1, 1, 2)), if (dtype == "i1") c(1, 0) else 2:3, dtype)
    }
  }
  # 2^24 ones in f32 one by one would stay there.
  x <- nv_concatenate(nv_tensor(2^24, "f32"), nv_fill(1, 1000, "f32"))
  expect_identical(as.double(nv_segment_sum(x, rep(1L, 1001))), 2^24 + 1000)
  expect_identical(shape(nv_segment_sum(nv_fill(1, 0L), integer(), n = 3)), 3L)
  expect_identical(shape(nv_segment_sum(nv_fill(1, 0L), integer())), 0L)
})

test_that("codes out of range, and bad arguments", {
  x <- nv_tensor(c(1, 2, 3))
  expect_error(nv_segment_sum(x, c(1, 0, 2)), class = "anvil_error_index")
  expect_error(nv_segment_sum(x, c(1, 4, 2), n = 3), class = "anvil_error_index")
  expect_identical(as.double(nv_segment_sum(x, c(1, 4, 2), n = 3, mode = "drop")), c(1, 3, 0))
  expect_identical(as.double(nv_segment_sum(x, factor(c("a", NA, "a")), mode = "drop")), 4)
  expect_identical(as.double(nv_segment_sum(x, c(1, 4, 2), n = 3, mode = "clip")), c(1, 3, 2))
  expect_fields(nv_segment_sum(x, 1:2), "anvil_error_arg", arg = "codes")
  expect_error(nv_segment_sum(x, c(TRUE, FALSE, TRUE)), class = "anvil_error_dtype")
  expect_error(nv_segment_sum(x, c("a", "b", "c")), class = "anvil_error_arg")
  expect_fields(nv_segment_sum(x, 1:3, n = -1), "anvil_error_arg", arg = "n")
  expect_fields(jit(function(x, k) nv_segment_sum(x, k))(x, nv_tensor(1:3)), "anvil_error_arg", arg = "n")
  expect_error(nv_segment_sum(x, 1:3, axis = 2), class = "anvil_error_axis")
  expect_fields(nv_segment_sum(x, 1:3, mode = "fill"), "anvil_error_arg", arg = "mode")
  expect_fields(rowsum(x, 1:2), "anvil_error_arg", arg = "group")
  expect_fields(rowsum(x, list(1, 2, 3)), "anvil_error_arg", arg = "group")
  expect_error(jit(function(g) rowsum(x, g))(nv_tensor(1:3)), class = "anvil_error_concrete")
})
