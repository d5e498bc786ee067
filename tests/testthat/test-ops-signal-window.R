test_that("folds of windows and their gradients are those of JAX", {
  data <- read_signal()
  cases <- list(
    `1d` = list(size = 3),
    `2d` = list(size = 2:3, stride = 2:1, padding = rbind(1:0, c(1, 1))),
    dilated = list(size = c(3, 1), padding = rbind(c(2, 0), c(0, 0)), dilation = 2:1),
    `3d` = list(size = c(1, 2, 2, 1), stride = c(1, 2, 2, 1), padding = c(0, 0, 1, 0))
  )
  for (case in names(cases)) for (fold in c("sum", "prod", "max", "min")) {
    f <- function(x) do.call(nv_reduce_window, c(list(x, fold), cases[[case]]))
    at <- function(what) data(paste0("window_", what), paste0(case, "_", fold))
    x <- nv_tensor(at("x"), "f64")
    label <- paste(case, fold)
    expect_equal(as_array(f(x)), at("y"), tolerance = 1e-14, label = label)
    expect_jit_equal(f, x)
    expect_equal(as_array(f(nv_convert(x, "f32"))), at("y"), tolerance = 1e-6, label = label)
    got <- as_array(gradient(function(x) sum(f(x) * at("w")))(x)$x)
    if (fold != "prod" && (fold == "sum" || case != "dilated")) {
      expect_equal(got, at("gx"), tolerance = 1e-14, label = label)
    }
    d <- nv_tensor(cos(at("x")), "f64")
    expect_equal(
      as.double(jvp(function(x) sum(f(x) * at("w")), list(x), list(d))$tangent), sum(got * cos(at("x"))),
      tolerance = 1e-12, label = label
    )
  }
})

test_that("pools are folds along the spatial axes", {
  x <- nv_tensor(array(sin(1:64), c(2, 4, 4, 2)), "f64")
  r <- as_array(x)
  largest <- as_array(nv_max_pool(x, 2))
  mean_of <- as_array(nv_avg_pool(x, c(2, 4)))
  expect_identical(dim(largest), c(2L, 2L, 2L, 2L))
  expect_identical(largest[2, 2, 1, 2], max(r[2, 3:4, 1:2, 2]))
  expect_identical(dim(mean_of), c(2L, 2L, 1L, 2L))
  expect_equal(mean_of[1, 2, 1, 1], mean(r[1, 3:4, , 1]), tolerance = 1e-15)
  overlapping <- nv_max_pool(x, 3, stride = 1, padding = "same")
  expect_identical(shape(overlapping), c(2L, 4L, 4L, 2L))
  expect_identical(as_array(overlapping)[1, 1, 4, 2], max(r[1, 1:2, 3:4, 2]))
  corner <- sum(r[1, 1:2, 1:2, 1])
  padded <- function(...) as_array(nv_avg_pool(x, 3, stride = 1, padding = 1, ...))[1, 1, 1, 1]
  expect_equal(padded(), corner / 4)
  expect_equal(padded(count_padding = TRUE), corner / 9)
  expect_jit_equal(function(x) nv_avg_pool(x, 3, padding = "same") + nv_max_pool(x, 3, padding = "same"), x)
  expect_identical(type_of(nv_avg_pool(array(1:4, c(1, 4, 1)), 2)), "f32?[1, 2, 1]")
  expect_identical(type_of(nv_max_pool(nv_tensor(array(1:4, c(1, 4, 1)), "i8"), 2)), "i8[1, 2, 1]")
  each <- vmap(function(x) nv_max_pool(x, 2))(nv_reshape(x, c(1, dim(x))))
  expect_identical(as_array(each)[1, , , , ], largest)
})

test_that("the first of equal elements has the gradient, NaN is found, and nothing has an identity", {
  g <- gradient(function(x) sum(nv_reduce_window(x, "max", size = 3)))
  expect_identical(as.double(g(nv_tensor(c(1, 1, 1, 0), "f64"))$x), c(1, 1, 0, 0))
  expect_identical(as.double(g(nv_tensor(c(1, NaN, 3, NaN), "f64"))$x), c(0, 2, 0, 0))
  expect_identical(as.double(nv_reduce_window(c(1, NaN, 3, 4), "max", size = 2)), c(NaN, NaN, 4))
  product <- gradient(function(x) sum(nv_reduce_window(x, "prod", size = 3)))
  expect_identical(as.double(product(nv_tensor(c(2, 0, 3), "f64"))$x), c(0, 6, 0))
  beyond <- function(fold, x) as.vector(as_array(nv_reduce_window(x, fold, size = 1, padding = cbind(1, 0))))
  x <- nv_tensor(c(5, 6), "f32")
  expect_identical(beyond("sum", x), c(0, 5, 6))
  expect_identical(beyond("prod", x), c(1, 5, 6))
  expect_identical(beyond("max", x), c(-Inf, 5, 6))
  expect_identical(beyond("min", nv_tensor(5L, "i8", shape = 1L)), c(127L, 5L))
  expect_identical(shape(nv_reduce_window(nv_fill(1, c(0, 4)), "sum", size = c(1, 2))), c(0L, 3L))
  expect_identical(shape(nv_reduce_window(nv_fill(1, c(2, 4)), "sum", size = c(3, 2))), c(0L, 3L))
})

test_that("dtypes, and bad windows", {
  for (dtype in setdiff(dtypes, "i1")) {
    x <- nv_tensor(c(1, 2, 3), dtype)
    expect_nv(nv_reduce_window(x, "sum", 2), c(3, 5), dtype)
    expect_nv(nv_reduce_window(x, "prod", 2), c(2, 6), dtype)
    if (dtype %in% complexes) {
      expect_error(nv_reduce_window(x, "max", 2), class = "anvil_error_dtype")
    } else {
      expect_nv(nv_reduce_window(x, "max", 2), c(2, 3), dtype)
      expect_nv(nv_reduce_window(x, "min", 2), c(1, 2), dtype)
    }
  }
  expect_nv(nv_reduce_window(c(TRUE, TRUE), "sum", 2), 2, "i32", shape = 1L)
  x <- nv_fill(1, c(3, 4))
  expect_error(nv_reduce_window(x, "mean", 2), "fold", class = "anvil_error_arg")
  expect_error(nv_reduce_window(x, "sum", 0), "size", class = "anvil_error_arg")
  expect_error(nv_reduce_window(x, "sum", 1:3), "size", class = "anvil_error_arg")
  expect_error(nv_reduce_window(x, "sum", 2, stride = -1), "stride", class = "anvil_error_arg")
  expect_error(nv_reduce_window(x, "sum", 2, padding = "all"), "padding", class = "anvil_error_arg")
  expect_error(nv_max_pool(x, 2), "at least 3 axes", class = "anvil_error_shape")
  expect_error(nv_max_pool(nv_fill(1, c(1, 4, 1)), 1:2), "size", class = "anvil_error_arg")
  expect_error(nv_avg_pool(nv_fill(1, c(1, 4, 1)), 2, count_padding = 1), class = "anvil_error_arg")
})

test_that("vectors are convolved as by NumPy and by base R, in few products and in transforms", {
  data <- read_signal()
  for (case in c("7_3", "3_7", "1_4", "200_150")) {
    a <- data("convolve_a", case)
    b <- data("convolve_b", case)
    for (type in c("full", "same", "valid")) {
      got <- nv_convolve(nv_tensor(a, "f64"), nv_tensor(b, "f64"), type)
      want <- data(paste0("convolve_", type), case)
      expect_lt(max(abs(as_array(got) - want)), 1e-12)
      expect_identical(shape(got), dim(want))
    }
  }
  for (n in c(5, 300)) {
    x <- sin(seq_len(n))
    y <- cos(seq_len(n))
    w <- exp(-seq_len(n - 2) / n)
    f64 <- function(x) nv_tensor(x, "f64")
    expect_equal(as.double(nv_convolve(f64(x), f64(y), "circular")), convolve(x, y), tolerance = 1e-12)
    for (type in c("open", "filter")) {
      got <- as.double(nv_convolve(f64(x), f64(w), type))
      expect_equal(got, convolve(x, w, type = type), tolerance = 1e-11)
    }
    z <- x + 1i * y
    expect_equal(
      as_array(nv_convolve(nv_tensor(z, "c128"), nv_tensor(y + 2i * x, "c128"), "circular")),
      array(fft(fft(z) * Conj(fft(y + 2i * x)), inverse = TRUE) / n), tolerance = 1e-12
    )
    expect_jit_equal(function(x, y) nv_convolve(x, y), f64(x), f64(w))
    g <- gradient(function(x, y) sum(nv_convolve(x, y, "same")^2))(f64(x), f64(w))
    h <- 1e-6
    by <- (sum(as_array(nv_convolve(f64(x + h * y), f64(w), "same"))^2) -
      sum(as_array(nv_convolve(f64(x - h * y), f64(w), "same"))^2)) / (2 * h)
    expect_equal(sum(as_array(g$x) * y), by, tolerance = 1e-6)
  }
  expect_nv(nv_convolve(nv_tensor(1:3), nv_tensor(1:2)), c(1, 4, 7, 6), "i32")
  expect_nv(nv_convolve(c(1, 2), 3), c(3, 6), "f32", ambiguous = TRUE)
  expect_error(nv_convolve(1:3, 1:2, "circular"), "one length", class = "anvil_error_shape")
  expect_error(nv_convolve(1:2, 1:3, "filter"), "longer", class = "anvil_error_shape")
  expect_error(nv_convolve(1:2, 1:3, "half"), "type", class = "anvil_error_arg")
  expect_error(nv_convolve(numeric(0), 1:3), class = "anvil_error_shape")
  expect_error(nv_convolve(matrix(1, 2, 2), 1:3), "nv_conv", class = "anvil_error_shape")
  own <- function(x) stats:::convolve(x, x)
  expect_error(jit(own)(nv_tensor(1:3)), "nv_convolve", class = "anvil_error_concrete")
})

test_that("interpolation is that of NumPy, of JAX's gradients, and of approx()", {
  data <- read_signal()
  at <- function(what) nv_tensor(data(paste0("interp_", what), ""), "f64")
  got <- nv_interp(at("xp"), at("fp"), at("x"), rule = 2)
  expect_equal(as_array(got), data("interp_y", ""), tolerance = 1e-15)
  g <- gradient(function(fp) sum(nv_interp(at("xp"), fp, at("x"), rule = 2) * at("w")))(at("fp"))$fp
  expect_equal(as_array(g), data("interp_gfp", ""), tolerance = 1e-14)
  x <- c(0, 1, 1.5, 4)
  y <- c(2, -1, 5, 0)
  places <- c(-1, 0, 0.3, 1, 1.2, 1.5, 3, 4, 5, NA)
  for (rule in list(1, 2, 1:2, 2:1)) {
    got <- nv_interp(nv_tensor(x, "f64"), nv_tensor(y, "f64"), nv_tensor(places, "f64"), rule = rule)
    want <- approx(x, y, places, rule = rule)$y
    expect_equal(is.na(as.double(got)), is.na(want))
    expect_equal(as.double(got), want, tolerance = 1e-15)
  }
  # Points that are missing are left out, as in R.
  holes <- c(1, NaN, 3, 4)
  got <- approx(1:4, nv_tensor(holes, "f64"), xout = c(1.5, 2))$y
  expect_equal(as.double(got), stats::approx(1:4, holes, xout = c(1.5, 2))$y)
  kept <- approx(1:4, nv_tensor(holes, "f64"), xout = c(1.5, 3.5), na.rm = FALSE)$y
  expect_identical(as.double(kept), c(NaN, 3.5))
  slope <- gradient(function(at) nv_interp(x, y, at))(nv_scalar(1.2, "f64"))$at
  expect_equal(as.double(slope), 12)
  m <- nv_tensor(matrix(places[2:7], 2), "f64")
  expect_identical(shape(nv_interp(x, y, m)), c(2L, 3L))
  expect_jit_equal(function(x, y, at) nv_interp(x, y, at), nv_tensor(x, "f64"), nv_tensor(y, "f64"), m)
  expect_identical(type_of(nv_interp(1:3, 1:3, 2)), "f32?[]")
  one <- nv_interp(array(1), array(7), nv_tensor(c(0, 1, 2), "f64"), rule = 2)
  expect_identical(as.double(one), c(7, 7, 7))
  expect_identical(shape(nv_interp(x, y, numeric(0))), 0L)
  expect_error(nv_interp(1:3, 1:2, 2), "point", class = "anvil_error_shape")
  expect_error(nv_interp(1:3, 1:3, 2, rule = 3), "rule", class = "anvil_error_arg")
  expect_error(nv_interp(matrix(1, 2, 2), 1:3, 2), class = "anvil_error_shape")
  expect_error(nv_interp(1:3, 1:3, 1i), class = "anvil_error_dtype")
})
