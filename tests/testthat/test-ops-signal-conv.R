test_that("convolutions and both gradients are those of JAX", {
  data <- read_signal()
  cases <- list(
    `1d` = list(),
    `1d_stride` = list(stride = 2, padding = cbind(2, 1), dilation = 2, groups = 2),
    `2d` = list(padding = rbind(c(1, 1), c(0, 1))),
    `2d_groups` = list(stride = c(2, 1), padding = rbind(c(0, 1), c(2, 0)), dilation = 1:2, groups = 4),
    `2d_transposed` = list(padding = rbind(1:2, 2:1), operand_dilation = 2:3),
    `3d` = list(stride = c(1, 2, 1), padding = rbind(c(0, 0), c(1, 1), c(1, 0)), dilation = c(1, 1, 2)),
    `2d_cut` = list(padding = rbind(c(-1, 0), c(1, -2)))
  )
  for (case in names(cases)) {
    f <- function(x, k) do.call(nv_conv, c(list(x, k), cases[[case]]))
    at <- function(what) data(paste0("conv_", what), case)
    x <- nv_tensor(at("x"), "f64")
    k <- nv_tensor(at("kernel"), "f64")
    expect_equal(as_array(f(x, k)), at("y"), tolerance = 1e-13, label = case)
    g <- gradient(function(x, k) sum(f(x, k) * at("w")))(x, k)
    expect_equal(as_array(g$x), at("gx"), tolerance = 1e-13, label = case)
    expect_equal(as_array(g$k), at("gk"), tolerance = 1e-13, label = case)
    single <- f(nv_convert(x, "f32"), nv_convert(k, "f32"))
    expect_equal(as_array(single), at("y"), tolerance = 1e-5, label = case)
    expect_identical(type_of(single), sub("f64", "f32", type_of(f(x, k))))
    expect_jit_equal(f, x, k)
    expect_jit_equal(function(x, k) f(x * 2, k) + 1, x, k)
  }
})

test_that("padding is a word, a number, one for each axis, or two", {
  x <- nv_tensor(array(sin(1:30), c(1, 5, 6, 1)), "f64")
  k <- nv_tensor(array(cos(1:6), c(2, 3, 1, 1)), "f64")
  expect_identical(shape(nv_conv(x, k)), c(1L, 4L, 4L, 1L))
  expect_identical(shape(nv_conv(x, k, padding = "same")), c(1L, 5L, 6L, 1L))
  expect_identical(shape(nv_conv(x, k, padding = "same", stride = 2)), c(1L, 3L, 3L, 1L))
  same <- nv_conv(x, k, padding = "same")
  expect_identical(same, nv_conv(x, k, padding = rbind(c(0, 1), c(1, 1))))
  expect_identical(nv_conv(x, k, padding = 1), nv_conv(x, k, padding = matrix(1, 2, 2)))
  expect_identical(nv_conv(x, k, padding = 0:1), nv_conv(x, k, padding = cbind(0:1, 0:1)))
})

test_that("a batch of convolutions is one", {
  x <- nv_tensor(array(sin(1:60), c(3, 2, 5, 2)), "f64")
  k <- nv_tensor(array(cos(1:36), c(3, 3, 2, 2)), "f64")
  one <- function(x, k) nv_conv(x, k, padding = 1)
  both <- as_array(vmap(one)(x, k))
  for (i in 1:3) expect_equal(both[i, , , ], as_array(one(x[i, , , ], k[i, , , ])), tolerance = 1e-13)
  first <- as_array(vmap(one, in_axes = list(1, NULL))(x, k[1, , , ]))
  second <- as_array(vmap(one, in_axes = list(NULL, 1))(x[1, , , ], k))
  expect_equal(first[2, , , ], as_array(one(x[2, , , ], k[1, , , ])), tolerance = 1e-13)
  expect_equal(second[2, , , ], as_array(one(x[1, , , ], k[2, , , ])), tolerance = 1e-13)
  tangent <- jvp(one, list(x[1, , , ], k[1, , , ]), list(x[2, , , ], k[2, , , ]))$tangent
  want <- as_array(one(x[2, , , ], k[1, , , ])) + as_array(one(x[1, , , ], k[2, , , ]))
  expect_equal(as_array(tangent), want, tolerance = 1e-13)
})

test_that("all dtypes of numbers are convolved", {
  for (dtype in setdiff(dtypes, "i1")) {
    x <- nv_tensor(array(c(1, 2, 3, 4), c(1, 4, 1)), dtype)
    k <- nv_tensor(array(c(1, 2), c(2, 1, 1)), dtype)
    y <- nv_conv(x, k)
    expect_identical(type_of(y), paste0(dtype, "[1, 3, 1]"))
    expect_equal(as.double(Re(as_array(y))), c(5, 8, 11), label = dtype)
  }
  expect_identical(type_of(nv_conv(array(TRUE, c(1, 2, 1)), array(TRUE, c(1, 1, 1)))), "i32[1, 2, 1]")
  expect_identical(type_of(nv_conv(array(1, c(1, 2, 1)), array(1L, c(1, 1, 1)))), "f32?[1, 2, 1]")
})

test_that("NaN is not multiplied by the zeros around, and nothing is convolved with nothing", {
  x <- nv_tensor(array(c(NaN, 1, 2), c(1, 3, 1)), "f64")
  y <- as.double(nv_conv(x, array(c(1, 1), c(2, 1, 1)), padding = 1))
  expect_identical(y, c(NaN, NaN, 3, 2))
  k <- nv_fill(1, c(2, 3, 4))
  expect_identical(shape(nv_conv(nv_fill(1, c(0, 5, 3)), k)), c(0L, 4L, 4L))
  expect_identical(shape(nv_conv(nv_fill(1, c(2, 1, 3)), k)), c(2L, 0L, 4L))
  none <- nv_conv(nv_fill(1, c(2, 5, 0)), nv_fill(1, c(2, 0, 4)))
  expect_identical(as_array(none), array(0, c(2, 4, 4)))
})

test_that("bad convolutions are errors that say what is wrong", {
  x <- nv_fill(1, c(1, 5, 4))
  k <- nv_fill(1, c(2, 4, 3))
  expect_error(nv_conv(nv_fill(1, c(5, 4)), k), "at least 3 axes", class = "anvil_error_shape")
  expect_error(nv_conv(x, nv_fill(1, c(2, 4))), "3 axes", class = "anvil_error_shape")
  expect_error(nv_conv(x, nv_fill(1, c(2, 3, 3))), "channels", class = "anvil_error_shape")
  expect_error(nv_conv(x, k, groups = 2), "channels", class = "anvil_error_shape")
  expect_error(nv_conv(x, nv_fill(1, c(2, 2, 3)), groups = 2), "divisor", class = "anvil_error_arg")
  expect_error(nv_conv(x, k, stride = 0), "stride", class = "anvil_error_arg")
  expect_error(nv_conv(x, k, stride = 1:2), "stride", class = "anvil_error_arg")
  expect_error(nv_conv(x, k, dilation = 0.5), "dilation", class = "anvil_error_arg")
  expect_error(nv_conv(x, k, padding = "most"), "padding", class = "anvil_error_arg")
  expect_error(nv_conv(x, k, padding = c(1, 2, 3)), "padding", class = "anvil_error_arg")
  expect_error(nv_conv(x, k, padding = TRUE), "padding", class = "anvil_error_arg")
  expect_error(nv_conv(x, nv_fill(1, c(0, 4, 3))), "at least 1", class = "anvil_error_shape")
})
