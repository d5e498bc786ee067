# What base R draws of tensors, by what it computes for it, and by the picture.

x <- nv_tensor(c(0.5, 2, 1, 3.25, 1.5))
m <- nv_tensor(matrix(c(1, 4, 2, 8, 5, 7), 2))

# The file that a plot makes: pictures of the same plot are equal byte for byte.
picture <- function(expr) {
  path <- tempfile(fileext = ".svg")
  on.exit(unlink(path))
  grDevices::postscript(path)
  tryCatch(expr, finally = grDevices::dev.off())
  lines <- readLines(path)
  lines[!grepl("^%%(CreationDate|Title)", lines)]
}
# The plot of a tensor is that of the R vector of the same name.
expect_same_picture <- function(code) {
  code <- substitute(code)
  draw <- function(values) picture(eval(code, list2env(values, parent = globalenv())))
  values <- list(x = x, m = m, y = cumsum(x))
  of_r <- list(x = as.vector(x), m = as_array(m), y = as.vector(cumsum(x)))
  drawn <- draw(values)
  expect_identical(drawn, draw(of_r), label = deparse1(code))
  # Something was drawn.
  expect_gt(length(drawn), length(picture(graphics::plot.new())))
}

test_that("tensors are drawn as the R vectors and matrices that they are, with labels as written", {
  expect_same_picture(plot(x))
  expect_same_picture(plot(x, y, type = "l", main = "title"))
  expect_same_picture(plot(y ~ x))
  expect_same_picture(plot(x * 2, y - 1))
  expect_same_picture(plot(m))
  expect_same_picture({
    plot(x, y)
    lines(x, y)
    points(y, x)
    text(x, y, labels = 1:5)
    abline(h = x[2])
    polygon(x, y)
    segments(x, y, x, y + 1)
  })
  expect_same_picture(hist(x))
  expect_same_picture(hist(x^2, breaks = 3))
  expect_same_picture(hist(m))
  expect_same_picture(boxplot(x))
  expect_same_picture(boxplot(m))
  expect_same_picture(boxplot(x, y, names = c("x", "y")))
  expect_same_picture(barplot(x))
  expect_same_picture(barplot(m))
  expect_same_picture(image(m))
  expect_same_picture(contour(m))
  expect_same_picture(persp(m))
  expect_same_picture(matplot(m, type = "l"))
  expect_same_picture(pairs(m))
  expect_same_picture(mosaicplot(m))
  expect_same_picture(qqnorm(x))
  expect_same_picture(plot(ts(x)))
  expect_same_picture(plot(density(x)))
  expect_same_picture(pie(x))
  expect_same_picture({
    plot(0:1, 0:1)
    rasterImage(m / 8, 0, 0, 1, 1)
  })
})

test_that("methods give what R's give", {
  picture({
    counted <- hist(x)
    of_r <- hist(as.vector(x))
    boxes <- boxplot(m)
  })
  expect_s3_class(counted, "histogram")
  expect_identical(counted$counts, of_r$counts)
  expect_identical(counted$xname, "x")
  expect_identical(hist(x * 2, plot = FALSE)$xname, "x * 2")
  expect_identical(do.call(hist, list(x, plot = FALSE))$xname, "x")
  expect_identical(boxes$stats, boxplot(as_array(m), plot = FALSE)$stats)
  expect_identical(as.raster(m / 8), as.raster(as_array(m) / 8))
  # Every dtype with an order.
  for (dtype in real_dtypes) {
    one <- nv_tensor(c(1, 0, 1), dtype)
    if (dtype != "i1") expect_identical(hist(one, plot = FALSE)$counts, hist(c(1, 0, 1), plot = FALSE)$counts)
    expect_identical(picture(plot(one)), picture({
      one <- as.vector(one)
      plot(one)
    }))
  }
})

test_that("a traced value cannot be drawn, and the error names what would have drawn it", {
  for (f in list(hist, boxplot, image, contour, persp, mosaicplot, as.raster)) {
    expect_error(picture(jit(function(x) { f(x); x })(m)), class = "anvil_error_concrete")
  }
  expect_error(jit(function(x) hist(x))(x), "hist()", fixed = TRUE)
  # It has no method: what R's own does first is an error.
  expect_error(picture(jit(function(x) plot(x))(x)), class = "anvil_error")
})
