x64 <- function(x) nv_tensor(x, dtype = "f64")
values <- function(x) as.vector(as_array(x))
set.seed(1)
a <- matrix(round(rnorm(20), 3), 5)
holes <- replace(a, c(2, 9, 14), NaN)
along <- function(x, axis, f) apply(x, 3 - axis, f)

# Function, and what it is in R of a vector.
statistics <- list(
  nv_var = function(x) var(as.vector(x)), nv_sd = sd, nv_mean = mean,
  nv_skewness = function(x) mean((x - mean(x))^3) / mean((x - mean(x))^2)^1.5,
  nv_kurtosis = function(x) mean((x - mean(x))^4) / mean((x - mean(x))^2)^2,
  nv_logsumexp = function(x) log(sum(exp(x))),
  nv_reduce_sum = sum, nv_reduce_prod = prod, nv_reduce_max = max, nv_reduce_min = min,
  nv_reduce_squares = function(x) sum((x - mean(x))^2)
)

test_that("statistics are those of base R, with and without NaN", {
  for (name in names(statistics)) {
    f <- getExportedValue("anvil", name)
    r <- statistics[[name]]
    without <- function(x) r(x[!is.nan(x)])
    expect_close(f(x64(a)), r(a), 1e-13, label = name)
    expect_close(f(x64(holes), na_rm = TRUE), without(holes), 1e-12, label = paste(name, "na_rm"))
    expect_true(is.nan(values(f(x64(holes)))), label = paste(name, "of NaN"))
    for (axis in 1:2) {
      expect_close(f(x64(a), axes = axis), along(a, axis, r), 1e-13, label = name)
      expect_close(f(x64(holes), axes = axis, na_rm = TRUE), along(holes, axis, without), 1e-13, label = name)
      kept <- f(x64(a), axes = axis, drop = FALSE)
      expect_identical(shape(kept), replace(c(5L, 4L), axis, 1L), label = name)
      expect_identical(values(kept), values(f(x64(a), axes = axis)), label = name)
    }
    jitted <- jit(function(x) f(x, axes = 1, na_rm = TRUE))
    expect_identical(jitted(x64(holes)), f(x64(holes), axes = 1, na_rm = TRUE), label = paste("jitted", name))
    # Without a NaN nothing changes.
    expect_close(f(x64(a), axes = 1, na_rm = TRUE), values(f(x64(a), axes = 1)), 1e-14, label = name)
    batch <- vmap(function(x) f(x, na_rm = TRUE), in_axes = 2)(x64(holes))
    expect_close(batch, values(f(x64(holes), axes = 1, na_rm = TRUE)), 1e-14, label = paste("vmap of", name))
    # An R number, 0-d: NaN is left out there too.
    expect_identical(shape(f(3, na_rm = TRUE)), integer(), label = name)
    expect_error(f(x64(a), na_rm = NA), class = "anvil_error_arg", "na_rm", label = name)
    expect_error(f(x64(a), axes = 3), class = "anvil_error_axis", label = name)
  }
})

test_that("statistics have a float dtype, and are rounded once", {
  for (name in setdiff(names(statistics), grep("reduce", names(statistics), value = TRUE))) {
    f <- getExportedValue("anvil", name)
    want <- statistics[[name]](c(1, 2, 4, 8))
    for (dtype in setdiff(real_dtypes, "i1")) {
      got <- f(nv_tensor(c(1, 2, 4, 8), dtype = dtype))
      float <- if (dtype %in% floats) dtype else "f32?"
      expect_identical(type_of(got), paste0(float, "[]"), label = paste(name, dtype))
      bound <- c(bf16 = 2^-8, f16 = 2^-11, f64 = 1e-14)[dtype]
      expect_close(got, want, if (is.na(bound)) 3e-7 else bound, label = paste(name, dtype))
    }
    expect_identical(type_of(f(nv_tensor(c(TRUE, FALSE)))), "f32?[]", label = name)
    expect_identical(type_of(f(c(1, 2, 4))), "f32?[]", label = name)
    if (name != "nv_mean") {
      expect_error(f(nv_tensor(c(1i, 2))), class = "anvil_error_dtype", name, label = name)
    }
  }
})

test_that("what is left of nothing is what R says, or NaN", {
  none <- x64(c(NaN, NaN))
  expect_identical(values(nv_reduce_sum(none, na_rm = TRUE)), 0)
  expect_identical(values(nv_reduce_prod(none, na_rm = TRUE)), 1)
  expect_identical(values(nv_reduce_max(none, na_rm = TRUE)), -Inf)
  expect_identical(values(nv_reduce_min(none, na_rm = TRUE)), Inf)
  expect_identical(values(nv_reduce_squares(none, na_rm = TRUE)), 0)
  expect_identical(values(nv_logsumexp(none, na_rm = TRUE)), -Inf)
  for (f in list(nv_mean, nv_var, nv_sd, nv_skewness, nv_kurtosis)) {
    expect_true(is.nan(values(f(none, na_rm = TRUE))))
    expect_true(is.nan(values(f(nv_empty("f64", 0)))))
  }
  # One number has no variance of its own.
  expect_true(is.nan(values(nv_sd(x64(c(1, NaN)), na_rm = TRUE))))
  expect_identical(values(nv_var(x64(c(1, NaN)), correction = 0, na_rm = TRUE)), 0)
  expect_identical(nv_reduce_any(nv_tensor(c(TRUE, FALSE)), na_rm = TRUE), nv_tensor(TRUE, shape = integer()))
  expect_identical(
    nv_reduce_all(nv_tensor(c(TRUE, FALSE)), na_rm = TRUE), nv_tensor(FALSE, shape = integer())
  )
  expect_identical(nv_reduce_sum(nv_tensor(1:3), na_rm = TRUE), nv_reduce_sum(nv_tensor(1:3)))
  expect_elements(nv_reduce_sum(nv_tensor(c(1+1i, NaN)), na_rm = TRUE), 1+1i, "c64[]")
  # The generics.
  x <- x64(holes)
  for (f in list(sum, prod, max, min, range, mean)) {
    expect_equal(values(f(x, na.rm = TRUE)), f(holes, na.rm = TRUE))
  }
  expect_equal(values(range(x, axes = 1, na.rm = TRUE)), as.vector(apply(holes, 2, range, na.rm = TRUE)))
})

test_that("gradients of statistics agree with differences", {
  for (name in setdiff(names(statistics), c("nv_reduce_max", "nv_reduce_min"))) {
    f <- getExportedValue("anvil", name)
    r <- statistics[[name]]
    for (x in list(c(0.3, -1.2, 2.5, 0.7), c(0.3, NaN, 2.5, 0.7, -1.2))) {
      kept <- !is.nan(x)
      at <- function(i, h) r(replace(x, i, x[i] + h)[kept])
      want <- ifelse(kept, vapply(seq_along(x), function(i) (at(i, 1e-5) - at(i, -1e-5)) / 2e-5, 0), 0)
      got <- values(gradient(function(x) f(x, na_rm = TRUE))(x64(x))$x)
      expect_equal(got, want, tolerance = 1e-6, label = paste("gradient of", name))
      forward <- jvp(function(x) f(x, na_rm = TRUE), list(x64(x)), list(x64(rep(1, length(x)))))
      expect_equal(values(forward$tangent), sum(want), tolerance = 1e-5, label = paste("tangent of", name))
    }
  }
})

test_that("gradients at ties, zeros and infinities", {
  g <- function(f, x) values(gradient(f)(x64(x))[[1]])
  expect_identical(g(nv_sd, c(2, 2, 2)), c(0, 0, 0))
  expect_identical(g(function(x) sum(nv_sd(x, axes = 1)), matrix(c(1, 1, 0, 2), 2)), c(0, 0, -1, 1) / sqrt(2))
  expect_identical(g(nv_logsumexp, c(-Inf, -Inf)), c(0, 0))
  expect_identical(g(nv_logsumexp, c(-Inf, 0, 0)), c(0, 0.5, 0.5))
  expect_identical(g(nv_logsumexp, c(1000, 1000)), c(0.5, 0.5))
  expect_identical(g(nv_logsumexp, c(-1000, 1000)), c(0, 1))
  expect_identical(g(function(x) nv_softmax(x)[1], c(0, 0)), c(0.25, -0.25))
  expect_identical(g(function(x) nv_softmax(x)[1], c(0, -Inf)), c(0, 0))
  expect_identical(g(function(x) nv_log_softmax(x)[1], c(0, 0)), c(0.5, -0.5))
  expect_identical(g(function(x) nv_log_softmax(x)[1], c(0, -Inf)), c(0, 0))
  expect_identical(g(function(x) sum(nv_normalize(x) * c(1, 0)), c(0, 0)), c(1e12, 0))
})

test_that("logsumexp and softmax do not overflow", {
  expect_identical(values(nv_logsumexp(x64(c(1000, 1000)))), 1000 + log(2))
  expect_identical(values(nv_logsumexp(x64(c(-1000, -1000)))), -1000 + log(2))
  expect_identical(values(nv_logsumexp(x64(c(-Inf, -Inf)))), -Inf)
  expect_identical(values(nv_logsumexp(x64(c(-Inf, 3)))), 3)
  expect_identical(values(nv_logsumexp(x64(c(Inf, 3)))), Inf)
  expect_identical(values(nv_logsumexp(x64(c(Inf, -Inf)))), Inf)
  expect_identical(values(nv_logsumexp(nv_empty("f64", 0))), -Inf)
  for (axes in list(1, 2, -1, NULL, c(1, 2))) {
    e <- exp(a)
    total <- if (length(axes) != 1) sum(e) else if (axes == 1) rep(colSums(e), each = 5) else rowSums(e)
    expect_close(nv_softmax(x64(a), axes), e / total, 1e-13)
    expect_close(nv_log_softmax(x64(a), axes), a - log(total), 1e-12)
    expect_jit_equal(function(x) nv_softmax(x, axes), x64(a))
    expect_jit_equal(function(x) nv_log_softmax(x, axes), x64(a))
  }
  expect_identical(values(nv_softmax(x64(c(1e300, -1e300)))), c(1, 0))
  expect_identical(values(nv_softmax(x64(c(-Inf, 0)))), c(0, 1))
  expect_identical(values(nv_softmax(x64(c(Inf, 0)))), c(NaN, NaN))
  expect_identical(values(nv_softmax(nv_empty("f64", 0))), numeric())
  expect_identical(type_of(nv_softmax(nv_tensor(1:3))), "f32?[3]")
  expect_identical(type_of(nv_softmax(nv_tensor(1:3, "bf16"))), "bf16[3]")
  expect_error(nv_softmax(nv_tensor(1i)), class = "anvil_error_dtype", "nv_softmax")
  # One pass over columns.
  expect_output(print(explain_plan(function(x) nv_softmax(x, 1), nv_fill(1, c(100, 50)))), "1 step")
})

test_that("a weighted mean is that of R", {
  w <- c(2, 0, 1, 0.5, 3)
  x <- x64(a)
  for (column in 1:4) {
    expect_close(nv_weighted_mean(x[, column], w), weighted.mean(a[, column], w), 1e-14)
    expect_close(weighted.mean(x[, column], w), weighted.mean(a[, column], w), 1e-14)
  }
  expect_close(nv_weighted_mean(x, w, axes = 1), apply(a, 2, weighted.mean, w), 1e-14)
  expect_close(nv_weighted_mean(x, 1:4, axes = 2), apply(a, 1, weighted.mean, 1:4), 1e-14)
  expect_close(nv_weighted_mean(x, x64(a^2)), weighted.mean(a, a^2), 1e-14)
  expect_close(
    weighted.mean(x64(holes), x64(a^2), na.rm = TRUE), weighted.mean(holes, a^2, na.rm = TRUE), 1e-14
  )
  # Weight 0 is nothing, whatever has it.
  expect_identical(values(weighted.mean(x64(c(1, NaN, Inf)), c(1, 0, 0))), 1)
  expect_identical(
    values(gradient(function(x) nv_weighted_mean(x, c(1, 0, 3)))(x64(c(1, NaN, 2)))$x), c(0.25, 0, 0.75)
  )
  expect_true(is.nan(values(weighted.mean(x64(c(1, NaN)), c(1, 1)))))
  expect_true(is.nan(values(nv_weighted_mean(x64(c(1, 2)), c(0, 0)))))
  expect_identical(weighted.mean(x64(c(1, 2))), nv_mean(x64(c(1, 2))))
  expect_identical(shape(nv_weighted_mean(x, w, axes = 1, drop = FALSE)), c(1L, 4L))
  expect_identical(type_of(nv_weighted_mean(nv_tensor(1:2), nv_tensor(c(1, 2), "f64"))), "f64[]")
  expect_jit_equal(function(x) nv_weighted_mean(x, w, axes = 1), x)
  expect_error(nv_weighted_mean(x, w, axes = 2), class = "anvil_error_shape", "Weights must")
  expect_error(nv_weighted_mean(x, w), class = "anvil_error_shape")
  expect_error(weighted.mean(x, w, na.rm = 1), class = "anvil_error_arg", "na.rm")
})

test_that("a weight of 0 has a slope, unless what it weights is infinite or NaN", {
  slope <- function(x, w) as.vector(gradient(function(w) weighted.mean(x, w))(nv_tensor(w, "f64"))$w)
  # (x - mean) / sum(w).
  expect_equal(slope(c(1, 2), c(0, 1)), c(-1, 0))
  expect_equal(slope(c(1, 2, 6), c(0, 1, 3)), (c(1, 2, 6) - 5) / 4)
  expect_equal(slope(c(Inf, 2, 6), c(0, 1, 3)), c(-5, -3, 1) / 4)
  by_x <- gradient(function(x) weighted.mean(x, c(0, 1, 3)))(nv_tensor(c(NaN, 2, 6), "f64"))$x
  expect_equal(as.vector(by_x), c(0, 0.25, 0.75))
})

test_that("moments are means of powers", {
  v <- a[, 1]
  x <- x64(v)
  for (order in 0:7) {
    expect_lt(abs(values(nv_moment(x, order)) - mean((v - mean(v))^order)), 1e-12)
    expect_close(nv_moment(x, order, central = FALSE), mean(v^order), 1e-13)
    kept <- holes[!is.nan(holes)]
    expect_lt(
      abs(values(nv_moment(x64(holes), order, na_rm = TRUE)) - mean((kept - mean(kept))^order)), 1e-12
    )
    expect_close(nv_moment(x64(holes), order, central = FALSE, na_rm = TRUE), mean(kept^order), 1e-12)
  }
  expect_close(nv_kurtosis(x, excess = TRUE), statistics$nv_kurtosis(v) - 3, 1e-13)
  expect_true(is.nan(values(nv_skewness(x64(c(1, 1))))))
  expect_true(is.nan(values(nv_moment(nv_empty("f64", 0), 2))))
  expect_error(nv_moment(x, -1), class = "anvil_error_arg", "order")
  expect_error(nv_moment(x, 1.5), class = "anvil_error_arg", "order")
})

test_that("covariances and correlations are those of R", {
  b <- matrix(round(rnorm(15), 3), 5)
  x <- x64(a)
  y <- x64(b)
  expect_equal(as_array(nv_cov(x)), cov(a), tolerance = 1e-13)
  expect_equal(as_array(nv_cov(x, y)), cov(a, b), tolerance = 1e-13)
  expect_equal(as_array(nv_cov(x, correction = 0)), cov(a) * 4 / 5, tolerance = 1e-13)
  expect_equal(as_array(nv_cor(x)), cor(a), tolerance = 1e-13)
  expect_identical(diag(as_array(nv_cor(x))), rep(1, 4))
  expect_equal(as_array(nv_cor(x, y)), cor(a, b), tolerance = 1e-13)
  expect_close(nv_cov(x[, 1], b[, 1]), cov(a[, 1], b[, 1]), 1e-13)
  expect_identical(shape(nv_cov(x[, 1], y[, 1])), integer())
  expect_equal(as_array(nv_cov(x[, 1], y)), cov(a[, 1], b), tolerance = 1e-13)
  expect_equal(as_array(nv_cor(x, y[, 1])), cor(a, b[, 1]), tolerance = 1e-13)
  expect_equal(
    as_array(nv_cov(x64(holes), na_rm = TRUE)), cov(holes, use = "complete.obs"), tolerance = 1e-13
  )
  expect_equal(
    as_array(nv_cor(x64(holes), na_rm = TRUE)), cor(holes, use = "complete.obs"), tolerance = 1e-13
  )
  expect_equal(
    as_array(nv_cov(x64(holes), y, na_rm = TRUE)), cov(holes, b, use = "complete.obs"), tolerance = 1e-13
  )
  expect_equal(
    as_array(nv_cor(y, x64(holes), na_rm = TRUE)), cor(b, holes, use = "complete.obs"), tolerance = 1e-13
  )
  # A constant column.
  constant <- cbind(a[, 1], 1)
  expect_identical(is.nan(values(nv_cor(x64(constant)))), is.na(as.vector(suppressWarnings(cor(constant)))))
  # Of numbers whose squares are out of range; of no rows.
  for (scale in c(1e25, 1e-25)) {
    large <- nv_tensor(c(1, 2, 4, 3) * scale, "f32")
    r <- as.double(nv_cor(large, nv_tensor(c(1, 3, 2, 4))))
    expect_equal(r, cor(c(1, 2, 4, 3), c(1, 3, 2, 4)), tolerance = 1e-6)
  }
  expect_true(is.nan(as.double(nv_cor(nv_tensor(numeric()), nv_tensor(numeric())))))
  expect_true(all(is.nan(values(nv_cor(x64(matrix(1, 0, 2)))))))
  expect_true(all(is.nan(values(nv_cov(x[1:1, ])))))
  # A batch in front.
  both <- nv_stack(x, x * 2 + y[, 1])
  expect_equal(as_array(nv_cov(both)[2, , ]), as_array(nv_cov(x * 2 + y[, 1])))
  expect_equal(as_array(vmap(nv_cor)(both)), as_array(nv_cor(both)))
  expect_jit_equal(function(x, y) nv_cov(x, y), x, y)
  expect_jit_equal(function(x) nv_cor(x), x)
  g <- gradient(function(x) nv_cor(x)[1, 2])(x)
  h <- 1e-6
  slope <- (cor(replace(a, 3, a[3] + h))[1, 2] - cor(replace(a, 3, a[3] - h))[1, 2]) / (2 * h)
  expect_equal(values(g$x)[3], slope, tolerance = 1e-6)
  expect_identical(type_of(nv_cov(matrix(1:6, 3))), "f32?[2, 2]")
  expect_identical(type_of(nv_cov(nv_tensor(matrix(1:6, 3), "f16"))), "f16[2, 2]")
  expect_error(nv_cov(x[, 1]), class = "anvil_error_shape", "nv_var")
  expect_error(nv_cov(x, y[1:4, ]), class = "anvil_error_shape", "equally many rows")
  expect_error(nv_cor(x, nv_tensor(matrix(1i, 5))), class = "anvil_error_dtype", "nv_cor")
  expect_error(nv_cov(x, correction = -1), class = "anvil_error_arg", "correction")
  expect_identical(cov(x), nv_cov(x))
  # R's own are R values; in a program they are ours under any name, but for those that only `:::` finds.
  expect_equal(stats::cov(x), cov(a))
  for (f in list(cov = stats::cov, cor = stats::cor, var = stats::var)) {
    expect_equal(as_array(jit(function(x) f(x))(x)), f(a), ignore_attr = TRUE)
  }
  expect_error(jit(function(x) stats:::sd(x))(x), class = "anvil_error_concrete", "nv_sd")
})

test_that("equal elements do not deviate from their mean, which need not be their sum by their number", {
  for (value in c(0.1, 1.1, 7.7, 1 / 3, 1e10 / 3)) {
    for (n in c(3, 6, 7, 49, 100, 1000, 2500)) {
      x <- x64(rep(value, n))
      expect_true(all(is.nan(as_array(scale(x)))))
      expect_identical(as.vector(as_array(scale(x, scale = FALSE))), numeric(n))
      expect_true(is.nan(as_array(cor(x, x64(seq_len(n))))))
      expect_true(is.nan(as_array(nv_kurtosis(x))))
      expect_identical(as.vector(as_array(nv_moment(x, 3))), 0)
    }
  }
  holes <- x64(c(NaN, rep(0.1, 6), NaN))
  expect_identical(as.vector(as_array(scale(holes, scale = FALSE)))[2:7], numeric(6))
  # The mean has the derivative of a mean nevertheless, and what is infinite the deviations that it had.
  slope <- gradient(function(x) sum(c(1, 2, 4) * scale(x, scale = FALSE)))(x64(rep(0.1, 3)))
  expect_equal(as.vector(as_array(slope[[1]])), c(1, 2, 4) - 7 / 3)
  expect_identical(as.vector(as_array(scale(x64(c(1, Inf)), scale = FALSE))), c(-Inf, NaN))
})

test_that("scale() is R's", {
  x <- x64(a)
  plain <- function(x) array(as.vector(x), dim(x))
  expect_equal(as_array(scale(x)), plain(scale(a)), tolerance = 1e-13)
  expect_equal(as_array(scale(x, scale = FALSE)), plain(scale(a, scale = FALSE)), tolerance = 1e-13)
  expect_equal(as_array(scale(x, center = FALSE)), plain(scale(a, center = FALSE)), tolerance = 1e-13)
  expect_equal(as_array(scale(x, FALSE, FALSE)), a)
  expect_equal(as_array(scale(x, 1:4, c(2, 1, 4, 3))), plain(scale(a, 1:4, c(2, 1, 4, 3))), tolerance = 1e-13)
  expect_equal(as_array(scale(x, 1:4)), plain(scale(a, 1:4)), tolerance = 1e-13)
  expect_equal(as_array(scale(x64(holes))), plain(scale(holes)), tolerance = 1e-13)
  expect_equal(as_array(scale(x[, 1])), plain(scale(a[, 1])), tolerance = 1e-13)
  expect_true(all(is.nan(values(nv_scale(x64(holes))[, 1]))))
  expect_equal(as_array(nv_scale(x, axis = 2)), t(plain(scale(t(a)))), tolerance = 1e-13)
  expect_equal(values(nv_scale(x[, 1])), as.vector(scale(a[, 1])), tolerance = 1e-13)
  expect_identical(nv_scale(x, center = 2, scale = FALSE), x - 2)
  expect_jit_equal(function(x, m) scale(x, m), x, x64(1:4))
  expect_jit_equal(function(x) nv_scale(x, na_rm = TRUE), x64(holes))
  batch <- nv_stack(x, x * 3)
  expect_equal(as_array(nv_scale(batch)[2, , ]), as_array(nv_scale(x)))
  expect_equal(as_array(vmap(nv_scale)(batch)), as_array(nv_scale(batch)))
  expect_identical(type_of(scale(nv_tensor(matrix(1:4, 2)))), "f32?[2, 2]")
  expect_error(scale(x, 1:3), class = "anvil_error_shape", "`center`")
  expect_error(scale(x, TRUE, "a"), class = "anvil_error")
  expect_error(scale(batch), class = "anvil_error_arg", "nv_scale")
  expect_error(nv_scale(x, NA), class = "anvil_error")
  expect_error(nv_scale(x, axis = 3), class = "anvil_error_axis")
})

test_that("normalize divides by a norm", {
  x <- x64(a)
  expect_close(nv_normalize(x), a / sqrt(rowSums(a^2)), 1e-14)
  expect_close(nv_normalize(x, axes = 1), a / rep(sqrt(colSums(a^2)), each = 5), 1e-14)
  expect_close(nv_normalize(x, axes = NULL, p = 1), a / sum(abs(a)), 1e-14)
  expect_close(nv_normalize(x, axes = NULL, p = 3), a / sum(abs(a)^3)^(1 / 3), 1e-13)
  expect_close(nv_normalize(x, axes = NULL, p = Inf), a / max(abs(a)), 1e-14)
  expect_identical(values(nv_normalize(x64(c(0, 0)))), c(0, 0))
  expect_identical(values(nv_normalize(x64(c(3, 4)), epsilon = 10)), c(0.3, 0.4))
  z <- nv_normalize(nv_tensor(c(3i, 4), "c128"))
  expect_equal(values(z), c(0.6i, 0.8))
  expect_jit_equal(function(x) nv_normalize(x), x)
  expect_error(nv_normalize(x, p = 0), class = "anvil_error_arg", "`p`")
  expect_error(nv_normalize(x, epsilon = -1), class = "anvil_error_arg", "epsilon")
})

test_that("base R's own rowSums() and its like are R values, and refused while tracing", {
  x <- x64(a)
  for (f in list(base::rowSums, base::colSums, base::rowMeans, base::colMeans)) expect_identical(f(x), f(a))
  expect_error(
    jit(function(x) base:::rowSums(x))(x), class = "anvil_error_concrete", "nv_reduce_sum\\(x, axes = 2\\)"
  )
  expect_error(
    jit(function(x) base:::colMeans(x))(x), class = "anvil_error_concrete", "nv_mean\\(x, axes = 1\\)"
  )
})
