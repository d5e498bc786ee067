# Sorting: base R on the same numbers, and data of NumPy and JAX for what base R has otherwise.

set.seed(4)
vectors <- list(
  ties = round(rnorm(40), 1), nan = c(2, NaN, -Inf, 0, NaN, Inf, -1, 0), one = 3, none = numeric(),
  long = rnorm(70000), few = sample(c(-1, 0, 1), 3000, TRUE)
)
floats_and_ints <- c("f64", "f32", "i32", "i8", "ui8", "i64", "ui64", "f16", "bf16")

# What R orders by, NaN last.
r_order <- function(..., decreasing = FALSE) {
  order(..., decreasing = decreasing, method = "radix", na.last = TRUE)
}

test_that("nv_sort() and nv_order() are R's, NaN last in both directions", {
  for (x in vectors) {
    t <- nv_tensor(x, "f64")
    for (down in c(FALSE, TRUE)) {
      at <- r_order(x, decreasing = down)
      expect_elements(nv_sort(t, decreasing = down), x[at], paste0("f64[", length(x), "]"))
      expect_elements(nv_order(t, decreasing = down), at, paste0("i32[", length(x), "]"))
    }
    expect_jit_equal(function(x) list(nv_sort(x), nv_order(x)), t)
  }
})

test_that("all dtypes are sorted as their numbers", {
  x <- c(7, 0, 3, 120, 7, 1, 0, 5)
  for (dtype in floats_and_ints) {
    t <- nv_tensor(x, dtype)
    expect_elements(nv_sort(t), sort(x), paste0(dtype, "[8]"))
    expect_elements(nv_order(t, decreasing = TRUE), r_order(x, decreasing = TRUE), "i32[8]")
  }
  signed <- c(-3, 5, -128, 127, 0)
  for (dtype in c("i8", "i16", "i32", "i64", "f16", "bf16", "f32")) {
    expect_elements(nv_sort(nv_tensor(signed, dtype)), sort(signed), paste0(dtype, "[5]"))
  }
  expect_elements(nv_sort(nv_tensor(c(TRUE, FALSE, TRUE))), c(FALSE, TRUE, TRUE), "i1[3]")
  # Beyond the doubles.
  large <- nv_tensor(c("18446744073709551615", "18446744073709551614", "1"), "ui64")
  expect_elements(nv_order(large), c(3, 2, 1), "i32[3]")
  z <- c(1+2i, 1-2i, complex(real = NaN, imaginary = 1), -1+5i)
  expect_identical(as.vector(as_array(nv_sort(nv_tensor(z, "c128"))))[1:3], sort(z))
  expect_elements(nv_order(nv_tensor(z, "c128")), c(4, 2, 1, 3), "i32[4]")
  expect_elements(nv_order(nv_tensor(z, "c128"), decreasing = TRUE), c(1, 2, 4, 3), "i32[4]")
  # An R number keeps its digits.
  expect_identical(type_of(nv_sort(c(0.1, 0))), "f32?[2]")
  expect_identical(as.vector(as_array(nv_sort(c(0.1, 0)))), c(0, 0.1))
})

test_that("the order is stable: zeros of either sign and equal keys stay as they were", {
  zeros <- nv_tensor(c(0, -0, 1, -0, 0), "f64")
  expect_elements(nv_sort(zeros), c(0, -0, -0, 0, 1), "f64[5]")
  expect_elements(nv_order(zeros), c(1, 2, 4, 5, 3), "i32[5]")
  a <- sample(3, 200, TRUE)
  b <- round(rnorm(200))
  d <- rnorm(200)
  expect_elements(nv_order(a, b, d), r_order(a, b, d), "i32[200]")
  expect_elements(
    nv_order(a, b, d, decreasing = c(TRUE, FALSE, TRUE)), order(-a, b, -d, method = "radix"), "i32[200]"
  )
  expect_elements(nv_order(nv_tensor(a, "i8"), nv_tensor(d, "f32")), r_order(a, d), "i32[200]")
})

test_that("each line along an axis is sorted for itself", {
  m <- matrix(rnorm(600), 20)
  m[sample(600, 30)] <- NaN
  t <- nv_tensor(m, "f64")
  at <- function(line, down = FALSE) r_order(line, decreasing = down)
  by <- function(axis, f) if (axis == 1) apply(m, 2, f) else t(apply(m, 1, f))
  for (axis in 1:2) {
    expect_elements(nv_sort(t, axis), by(axis, function(x) x[at(x)]), "f64[20, 30]")
    expect_elements(nv_order(t, axis = axis), by(axis, at), "i32[20, 30]")
    top <- nv_top_k(t, 4, axis)
    shape <- if (axis == 1) "[4, 30]" else "[20, 4]"
    expect_elements(top$values, by(axis, function(x) x[at(x, TRUE)][1:4]), paste0("f64", shape))
    expect_elements(top$indices, by(axis, function(x) at(x, TRUE)[1:4]), paste0("i32", shape))
  }
  # Without an axis, all elements as R's sort() has them; a transpose is read as it is.
  expect_elements(nv_sort(t), m[at(m)], "f64[600]")
  expect_jit_equal(function(x) nv_sort(t(x), axis = 2), t, r = by(1, function(x) x[at(x)]) |> t())
  a <- array(rnorm(60), c(3, 4, 5))
  expect_elements(nv_sort(nv_tensor(a, "f64"), 2), aperm(apply(a, c(1, 3), sort), c(2, 1, 3)), "f64[3, 4, 5]")
  expect_elements(nv_sort(nv_tensor(matrix(0, 0, 3)), 1), numeric(), "f32[0, 3]")
  expect_elements(nv_sort(nv_scalar(2, "f64")), 2, "f64[1]")
})

test_that("nv_top_k() is the begin of the order", {
  for (x in vectors) {
    t <- nv_tensor(x, "f32")
    for (k in unique(c(0, min(3, length(x)), length(x)))) {
      for (down in c(FALSE, TRUE)) {
        top <- nv_top_k(t, k, decreasing = down)
        all <- as_array(nv_order(t, decreasing = down))
        expect_identical(names(top), c("values", "indices"))
        expect_elements(top$indices, head(all, k), paste0("i32[", k, "]"))
        expect_identical(as.vector(as_array(top$values)), as.vector(as_array(t))[head(all, k)])
      }
    }
  }
  expect_jit_equal(function(x) nv_top_k(x, 2), nv_tensor(c(3, 9, 9, 1)), r = list(c(9, 9), 2:3))
  for (k in list(-1, 5, 1.5, NA, "a", c(1, 2))) {
    expect_error(nv_top_k(nv_tensor(1:4), k), class = "anvil_error_arg")
  }
  expect_error(nv_top_k(1i, 1), class = "anvil_error_dtype")
})

test_that("nv_rank_of() has R's ties, and ranks NaN last", {
  for (x in vectors[c("ties", "nan", "one", "few")]) {
    for (ties in c("average", "first", "last", "min", "max")) {
      want <- rank(x, na.last = TRUE, ties.method = ties)
      type <- paste0(if (ties == "average") "f32?" else "i32", "[", length(x), "]")
      expect_elements(nv_rank_of(nv_tensor(x, "f64"), ties), want, type)
      expect_jit_equal(function(x) nv_rank_of(x, ties), nv_tensor(x, "f64"))
    }
  }
  m <- matrix(sample(5, 24, TRUE), 4)
  expect_elements(nv_rank_of(nv_tensor(m), axis = 2), t(apply(m, 1, rank)), "f32?[4, 6]")
  expect_elements(nv_rank_of(nv_tensor(m), "min"), rank(m, ties.method = "min"), "i32[4, 6]")
  expect_elements(nv_rank_of(numeric()), numeric(), "f32?[0]")
  expect_elements(nv_rank_of(2), 1, "f32?[]")
  expect_error(nv_rank_of(1:3, "random"), class = "anvil_error_arg")
})

test_that("nv_argmax() and nv_argmin() are the first of equals, and NaN is either", {
  x <- c(2, 5, 1, 5, 1)
  expect_elements(nv_argmax(x), 2, "i32[]")
  expect_elements(nv_argmin(x), 3, "i32[]")
  # As JAX has it: jnp.argmax([1, nan, 3, nan]) and argmin are 1, counted from 0.
  expect_elements(nv_argmax(c(1, NaN, 3, NaN)), 2, "i32[]")
  expect_elements(nv_argmin(c(1, NaN, 3, NaN)), 2, "i32[]")
  expect_elements(nv_argmax(c(-Inf, -Inf)), 1, "i32[]")
  m <- matrix(sample(4, 21, TRUE), 3)
  for (dtype in c("f64", "i8", "ui16")) {
    expect_elements(nv_argmax(nv_tensor(m, dtype), 1), apply(m, 2, which.max), "i32[7]")
    expect_elements(nv_argmin(nv_tensor(m, dtype), 2), apply(m, 1, which.min), "i32[3]")
    expect_elements(nv_argmax(nv_tensor(m, dtype)), which.max(m), "i32[]")
  }
  expect_elements(nv_argmax(nv_tensor(m), 2, drop = FALSE), apply(m, 1, which.max), "i32[3, 1]")
  expect_elements(nv_argmax(nv_tensor(m), drop = FALSE), which.max(m), "i32[1, 1]")
  expect_elements(nv_argmax(nv_tensor(c(FALSE, TRUE, TRUE))), 2, "i32[]")
  expect_jit_equal(function(x) nv_argmax(x, 2), nv_tensor(m), r = apply(m, 1, which.max))
  long <- rnorm(70000)
  expect_elements(nv_argmax(nv_tensor(long, "f64")), which.max(long), "i32[]")
  expect_elements(nv_argmax(nv_tensor(matrix(0, 2, 0)), 1), integer(), "i32[0]")
  expect_error(nv_argmax(numeric()), class = "anvil_error_arg")
  expect_error(nv_argmin(nv_tensor(matrix(0, 2, 0)), 2), class = "anvil_error_arg")
  expect_error(nv_argmax(1i), class = "anvil_error_dtype")
  expect_error(nv_argmax(1:3, axis = 2), class = "anvil_error_axis")
})

test_that("nv_which() has so many positions, then the fill", {
  x <- c(TRUE, FALSE, TRUE, TRUE)
  expect_elements(nv_which(x), which(x), "i32[3]")
  expect_elements(nv_which(matrix(x, 2), size = 5, fill = -1L), c(1, 3, 4, -1, -1), "i32[5]")
  expect_elements(nv_which(x, size = 2), c(1, 3), "i32[2]")
  expect_elements(nv_which(logical()), integer(), "i32[0]")
  expect_elements(nv_which(logical(), size = 2), c(0, 0), "i32[2]")
  expect_jit_equal(function(x) nv_which(x > 2, size = 3), nv_tensor(c(5, 1, 3)), r = c(1, 3, 0))
  expect_error(
    jit(function(x) nv_which(x > 2))(1:3), "a whole number in a traced function", class = "anvil_error_arg"
  )
  for (size in list(-1, 1.5, "a", 2^31)) expect_error(nv_which(x, size), class = "anvil_error_arg")
  expect_error(nv_which(c(1, 2)), class = "anvil_error_dtype")
})

test_that("nv_unique() is R's, sorted or not, with a fill", {
  x <- c(3, 1, NaN, 3, 2, NaN, 1, -0, 0)
  expect_elements(nv_unique(nv_tensor(x, "f64")), unique(x), "f64[5]")
  expect_elements(nv_unique(nv_tensor(x, "f64"), sort = TRUE), c(-0, 1, 2, 3, NaN), "f64[5]")
  expect_elements(nv_unique(nv_tensor(x, "f64"), size = 7), c(unique(x), 3, 3), "f64[7]")
  expect_elements(nv_unique(nv_tensor(x, "f64"), size = 11, fill = -1), c(unique(x), rep(-1, 6)), "f64[11]")
  expect_elements(nv_unique(nv_tensor(x, "f64"), size = 2), c(3, 1), "f64[2]")
  i <- sample(50L, 5000L, TRUE)
  expect_elements(nv_unique(i), unique(i), "i32?[50]")
  expect_elements(nv_unique(nv_tensor(matrix(i, 50)), sort = TRUE), 1:50, "i32[50]")
  expect_elements(nv_unique(c(TRUE, TRUE)), TRUE, "i1[1]")
  z <- c(1i, 2, 1i, 2+1i)
  expect_identical(as.vector(as_array(nv_unique(nv_tensor(z, "c128")))), unique(z))
  expect_elements(nv_unique(numeric()), numeric(), "f32?[0]")
  expect_elements(nv_unique(nv_tensor(numeric()), size = 2, fill = 1), c(1, 1), "f32[2]")
  expect_jit_equal(function(x) nv_unique(x, size = 3), nv_tensor(c(2, 2, 1)), r = c(2, 1, 2))
  expect_error(nv_unique(numeric(), size = 2), class = "anvil_error_arg")
  expect_error(nv_unique(1:3, size = 2, fill = c(1L, 2L)), class = "anvil_error_arg")
  expect_error(nv_unique(nv_tensor(1:3), size = 2, fill = 0.5), class = "anvil_error_dtype")
  expect_error(jit(nv_unique)(1:3), class = "anvil_error_arg")
})

test_that("nv_isin() and nv_search_sorted() are R's", {
  x <- c(vectors$ties, NaN, Inf, -Inf)
  table <- c(0.1, -0.5, NaN, 1)
  expect_elements(nv_isin(nv_tensor(x, "f64"), nv_tensor(table, "f64")), x %in% table, "i1[43]")
  expect_elements(nv_isin(matrix(1:4, 2), nv_tensor(c(4L, 2L))), c(FALSE, TRUE, FALSE, TRUE), "i1[2, 2]")
  expect_elements(nv_isin(1:2, integer()), c(FALSE, FALSE), "i1[2]")
  expect_elements(nv_isin(nv_scalar(2L), 2.5), FALSE, "i1[]")
  breaks <- c(-1, 0, 0, 0.5, 1.5)
  for (n in c(0, 1, 2, 5)) {
    some <- breaks[seq_len(n)]
    v <- x[!is.nan(x)]
    type <- paste0("i32[", length(v), "]")
    right <- vapply(v, function(v) sum(some <= v), 0)
    left <- vapply(v, function(v) sum(some < v), 0)
    expect_elements(nv_search_sorted(some, nv_tensor(v, "f64"), side = "right"), right, type)
    expect_elements(nv_search_sorted(some, nv_tensor(v, "f64")), left, type)
  }
  expect_elements(nv_search_sorted(breaks, x, "right")[1:40], findInterval(x[1:40], breaks), "i32[40]")
  # numpy.searchsorted([1, 2, nan, nan], [nan, 2], side) is [2, 1] and [4, 2].
  with_nan <- c(1, 2, NaN, NaN)
  expect_elements(nv_search_sorted(with_nan, c(NaN, 2)), c(2, 1), "i32[2]")
  expect_elements(nv_search_sorted(with_nan, c(NaN, 2), side = "right"), c(4, 2), "i32[2]")
  many <- sort(rnorm(5000))
  expect_jit_equal(
    function(s, x) nv_search_sorted(s, x, "right"), nv_tensor(many, "f64"), nv_tensor(vectors$long, "f64"),
    r = findInterval(vectors$long, many)
  )
  expect_error(nv_search_sorted(matrix(1:4, 2), 1), class = "anvil_error_shape")
  expect_error(nv_search_sorted(1:3, 1, side = "middle"), class = "anvil_error_arg")
  expect_error(nv_search_sorted(1i, 1), class = "anvil_error_dtype")
})

test_that("nv_tabulate() and nv_histogram() count as R does", {
  bin <- c(2L, 3L, 3L, 5L, 0L, -1L, 9L)
  expect_elements(nv_tabulate(bin, 5), tabulate(bin, 5), "i32[5]")
  expect_elements(nv_tabulate(nv_tensor(bin, "i64"), 0), integer(), "i32[0]")
  expect_elements(nv_tabulate(integer(), 2), c(0, 0), "i32[2]")
  expect_elements(nv_tabulate(c(1L, 2L, 1L), 2, weights = nv_tensor(c(1, 2, 4))), c(5, 2), "f32[2]")
  expect_jit_equal(function(x) nv_tabulate(x, 3), nv_tensor(c(1L, 3L, 3L)), r = c(1L, 0L, 2L))
  expect_error(nv_tabulate(1:3, -1), class = "anvil_error_arg")
  expect_error(nv_tabulate(1:3, 3, weights = c(1, 2)), class = "anvil_error_arg")
  expect_error(nv_tabulate(nv_tensor(c(1, 2)), 3), class = "anvil_error_dtype")
  x <- vectors$ties
  breaks <- c(-4, -1, -0.5, 0, 0.3, 4)
  for (right in c(TRUE, FALSE)) {
    want <- hist(x, breaks, right = right, plot = FALSE)
    got <- nv_histogram(nv_tensor(x, "f64"), breaks, right = right)
    expect_elements(got$counts, want$counts, "i32[5]")
    expect_equal(as.vector(as_array(got$breaks)), breaks)
    dense <- nv_histogram(nv_tensor(x, "f64"), breaks, right = right, density = TRUE)
    expect_equal(as.vector(as_array(dense$density)), want$density)
  }
  # Both ends, elements outside, NaN.
  expect_elements(nv_histogram(c(0, 1, 2, 3, NaN), c(0, 1, 2))$counts, c(2, 1), "i32[2]")
  expect_elements(nv_histogram(c(0, 1, 2, 3, NaN), c(0, 1, 2), right = FALSE)$counts, c(1, 2), "i32[2]")
  # numpy.histogram([1, 2, 2.5, 4], 3): [1, 2, 1] and [1, 2, 3, 4]; of equal elements from x - 0.5 to x + 0.5.
  equal <- nv_histogram(nv_tensor(c(1, 2, 2.5, 4), "f64"), 3, right = FALSE)
  expect_elements(equal$counts, c(1, 2, 1), "i32[3]")
  expect_equal(as.vector(as_array(equal$breaks)), 1:4)
  expect_equal(as.vector(as_array(nv_histogram(c(2, 2), 2)$breaks)), c(1.5, 2, 2.5))
  expect_jit_equal(function(x) nv_histogram(x, 4), nv_tensor(x, "f64"))
  expect_error(nv_histogram(1:3, 1.5), class = "anvil_error_arg")
})

test_that("nv_quantile() has R's nine types, and nv_median() is R's", {
  probs <- c(0, 0.03, 0.25, 0.37, 0.5, 0.77, 0.95, 1)
  for (x in list(vectors$ties, vectors$one, c(5, 1), c(-Inf, 1, Inf, Inf), rnorm(101))) {
    t <- nv_tensor(x, "f64")
    for (type in 1:9) {
      want <- stats::quantile(x, probs, type = type, names = FALSE)
      expect_equal(as.vector(as_array(nv_quantile(t, probs, type = type))), want)
      expect_jit_equal(function(x) nv_quantile(x, probs, type = type), t)
    }
    expect_elements(nv_median(t), stats::median(x), "f64[]")
  }
  m <- matrix(rnorm(60), 12)
  q <- function(x) stats::quantile(x, c(0.2, 0.9), names = FALSE)
  expect_equal(as_array(nv_quantile(nv_tensor(m, "f64"), c(0.2, 0.9), axis = 1)), apply(m, 2, q))
  expect_equal(as_array(nv_quantile(nv_tensor(m, "f64"), c(0.2, 0.9), axis = 2)), t(apply(m, 1, q)))
  expect_elements(nv_median(nv_tensor(m, "f64"), 2), apply(m, 1, median), "f64[12]")
  expect_elements(nv_median(nv_tensor(m, "f64"), 1, drop = FALSE), apply(m, 2, median), "f64[1, 5]")
  expect_elements(nv_median(nv_tensor(m, "f64"), drop = FALSE), median(m), "f64[1, 1]")
})

test_that("quantiles by NumPy's methods", {
  # numpy.quantile([1, 2, 4, 8], [0, 0.4, 0.5, 0.9], method = ): from NumPy 2.
  want <- list(
    linear = c(1, 2.4, 3, 6.8), lower = c(1, 2, 2, 4), higher = c(1, 4, 4, 8), nearest = c(1, 2, 4, 8),
    midpoint = c(1, 3, 3, 6)
  )
  for (name in names(want)) {
    got <- nv_quantile(nv_tensor(c(4, 8, 1, 2), "f64"), c(0, 0.4, 0.5, 0.9), type = name)
    expect_equal(as.vector(as_array(got)), want[[name]], label = name)
  }
})

test_that("quantiles of NaN, of nothing, of other dtypes", {
  x <- nv_tensor(c(3, NaN, 1, 2), "f64")
  expect_elements(nv_median(x), NaN, "f64[]")
  expect_elements(nv_median(x, na_rm = TRUE), 2, "f64[]")
  expect_elements(nv_quantile(x, c(0, 1), na_rm = TRUE), c(1, 3), "f64[2]")
  m <- nv_tensor(matrix(c(1, NaN, 3, NaN, NaN, NaN, 4, 2, 6), 3), "f64")
  expect_elements(nv_median(m, 1, na_rm = TRUE), c(2, NaN, 4), "f64[3]")
  expect_elements(nv_median(numeric()), NaN, "f32?[]")
  expect_elements(nv_quantile(numeric(), c(0, 1)), c(NaN, NaN), "f32?[2]")
  expect_elements(nv_quantile(x, numeric()), numeric(), "f64[0]")
  expect_elements(nv_median(nv_tensor(c(2L, 5L))), 3.5, "f32?[]")
  expect_elements(nv_median(nv_tensor(c(1, 4), "f16")), 2.5, "f16[]")
  expect_elements(nv_median(c(TRUE, FALSE, TRUE)), 1, "f32?[]")
  # A probability that is computed may be anything.
  expect_elements(jit(function(x, p) nv_quantile(x, p))(c(1, 2), c(0.5, 2, NaN)), c(1.5, NaN, NaN), "f32?[3]")
  for (probs in list(-0.1, 1.1, NA_real_)) expect_error(nv_quantile(1:3, probs), class = "anvil_error_arg")
  for (type in list(0, 10, "other", NULL)) {
    expect_error(nv_quantile(1:3, 0.5, type = type), class = "anvil_error_arg")
  }
  expect_error(nv_median(1i), class = "anvil_error_dtype")
  expect_error(nv_quantile(1:3, matrix(0.5)), class = "anvil_error_shape")
})

test_that("sorted elements, the top, the median and quantiles have derivatives, and are batched", {
  x <- nv_tensor(c(3, 1, 4, 1.5, 5), "f64")
  w <- 1:5
  gradient_of <- function(f) as.vector(as_array(gradient(f)(x)[[1L]]))
  expect_equal(gradient_of(function(x) sum(nv_sort(x) * w)), c(3, 1, 4, 2, 5))
  expect_equal(gradient_of(function(x) sum(nv_top_k(x, 2)$values * c(2, 3))), c(0, 0, 3, 0, 2))
  expect_equal(gradient_of(nv_median), c(1, 0, 0, 0, 0))
  expect_equal(gradient_of(function(x) nv_quantile(x, 0.9)[1]), c(0, 0, 0.4, 0, 0.6))
  slope <- gradient(function(p) nv_quantile(x, p)[1])(nv_tensor(0.9, "f64"))
  expect_equal(as.vector(as_array(slope[[1L]])), 4)
  tangent <- jvp(function(x) nv_sort(x), list(x), list(nv_tensor(as.double(w), "f64")))[[2]]
  expect_equal(as.vector(as_array(tangent)), c(2, 4, 1, 3, 5))
  h <- hessian(function(x) sum(nv_sort(x)^3))(x)
  expect_equal(as_array(h[[1L]][[1L]]), diag(6 * as.vector(as_array(x))))
  m <- nv_tensor(matrix(rnorm(12), 3), "f64")
  along <- function(f) expect_identical(vmap(f, 1)(m), nv_stacked(lapply(1:3, function(i) f(m[i, ]))))
  nv_stacked <- function(rows) {
    do.call(nv_concatenate, c(lapply(rows, function(x) nv_reshape(x, c(1L, shape(x)))), axis = 1L))
  }
  along(function(x) nv_sort(x))
  along(function(x) nv_order(x, decreasing = TRUE))
  along(function(x) nv_top_k(x, 2)$indices)
  along(function(x) nv_rank_of(x))
  along(function(x) nv_quantile(x, c(0.2, 0.7)))
  along(function(x) nv_search_sorted(c(-1, 0, 1), x))
  along(function(x) nv_search_sorted(nv_sort(x), c(-1, 0, 1)))
  along(function(x) nv_unique(x, size = 5))
  along(function(x) nv_which(x > 0, size = 3))
  along(function(x) nv_isin(x, x[2:3]))
  along(function(x) nv_reshape(nv_argmax(x), 1L))
  along(function(x) nv_tabulate(nv_rank_of(x, "min"), 4))
})

test_that("sort(), median(), quantile() and unique() dispatch, in traced functions too", {
  x <- nv_tensor(vectors$ties, "f64")
  r <- vectors$ties
  expect_jit_equal(function(x) sort(x), x, r = TRUE)
  expect_jit_equal(function(x) sort(x, decreasing = TRUE), x, r = TRUE)
  expect_jit_equal(function(x) median(x), x, r = TRUE)
  expect_jit_equal(function(x) quantile(x), x, r = TRUE)
  expect_jit_equal(function(x) quantile(x, 0.3, type = 6), x, r = TRUE)
  expect_identical(names(quantile(x, c(0.1, 0.255))), c("10%", "25.5%"))
  expect_null(names(quantile(x, 0.5, names = FALSE)))
  expect_elements(unique(x), unique(r), paste0("f64[", length(unique(r)), "]"))
  expect_jit_equal(function(x) unique(x, size = 4), x, r = unique(r)[1:4])
  expect_identical(unique(nv_tensor(matrix(c(1, 1, 2, 2), 2))), unique(matrix(c(1, 1, 2, 2), 2)))
  expect_elements(sort(nv_tensor(c(2, NaN, 1), "f64")), c(1, 2, NaN), "f64[3]")
  expect_error(sort(x, na.last = FALSE), class = "anvil_error_arg")
  expect_jit_equal(function(x) sort(x, index.return = TRUE)$x, x, r = sort(r))
  expect_jit_equal(function(x) sort(x, decreasing = TRUE, index.return = TRUE)$ix, x, r = order(-r))
  expect_error(sort(x, index.return = NA), class = "anvil_error_arg")
  expect_error(quantile(x, na.rm = NA), class = "anvil_error_arg")
  # Positions are R's integers outside of programs.
  expect_identical(order(x), order(r))
  expect_jit_equal(function(x) rank(x), x, r = rank(r))
  expect_identical(which.max(x), which.max(r))
  expect_identical(findInterval(x, c(-1, 0)), findInterval(r, c(-1, 0)))
  expect_warning(
    expect_identical(as_array(jit(findInterval)(nv_tensor(c(0, NaN, 3)), c(1, 2))), array(c(0L, NA, 2L))),
    class = "anvil_warning_na"
  )
  # R's own, where they are called so.
  instead <- list(
    nv_order = function(x) base:::order(x), nv_argmax = function(x) base:::which.max(x),
    nv_argmin = function(x) base:::which.min(x), nv_which = function(x) base:::which(x > 0),
    nv_isin = function(x) base:::match(x, 1), nv_tabulate = function(x) base:::tabulate(x),
    nv_search_sorted = function(x) base:::findInterval(x, 0)
  )
  for (name in names(instead)) {
    e <- expect_error(jit(instead[[name]])(x), class = "anvil_error_concrete")
    expect_match(conditionMessage(e), paste0("`", name, "("), fixed = TRUE)
  }
})

test_that("axes and shapes that do not fit are errors", {
  m <- nv_tensor(matrix(1:6, 2))
  for (f in list(nv_sort, nv_top_k, nv_rank_of, nv_quantile, nv_median)) {
    call <- function(axis) if (identical(f, nv_top_k)) f(m, 1, axis = axis) else f(m, axis = axis)
    expect_error(call(3), class = "anvil_error_axis")
    expect_error(call(c(1, 2)), class = "anvil_error_arg")
    expect_error(call("a"), class = "anvil_error_arg")
  }
  expect_error(nv_order(1:3, 1:4), class = "anvil_error_shape")
  expect_error(nv_order(), class = "anvil_error_arg")
  for (flag in list(NA, 1, "a", c(TRUE, FALSE))) {
    expect_error(nv_order(1:3, decreasing = flag), class = "anvil_error_arg")
    expect_error(nv_sort(1:3, decreasing = flag), class = "anvil_error_arg")
  }
})
