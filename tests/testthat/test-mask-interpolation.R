# Interpolation in traced functions: values as of base R on plain vectors.
# nolint start: object_name_linter, object_usage_linter.

r <- c(3.5, -1.25, 2, 7, 0.5, -4, 9.75, 1)
# Before, between, at and after the points 1 to 5.
at <- c(-1, 1, 1.5, 2, 2.75, 4, 5, 6.5, 9, 3.25)
between <- c(-1, 1.5, 2.75, 6.5, 3.25)
y <- c(1, 3, 2, 4, 5)

expect_as_r <- function(f, ...) {
  given <- list(...)
  expected <- suppressWarnings(do.call(f, given))
  # What user_env() gives stays as it is.
  if (!identical(parent.env(environment(f)), globalenv())) f <- user(f)
  got <- do.call(jit(f), lapply(given, nv_tensor, dtype = "f64"))
  expect_equal(doubles_of(got), doubles_of(expected), tolerance = 1e-10, label = deparse1(body(f)))
}

refused <- function(f, x, text, class = "anvil_error_arg") {
  expect_error(jit(user(f))(nv_tensor(x)), class = class, text)
}

test_that("interpolation goes through traced values", {
  expect_as_r(function(x) spline(1:8, x, n = 5)$y, r)
  expect_as_r(function(x) spline(x, n = 5)$y, r)
  expect_as_r(function(x) spline(1:8, x, xout = c(2.5, 3), method = "natural")$y, r)
  expect_as_r(function(x) splinefun(1:8, x)(c(2.5, 3)), r)
  expect_as_r(function(x) splinefun(1:8, x, "natural")(2.5, deriv = 1), r)
  expect_as_r(function(x) approxfun(1:8, x)(c(2.5, 3, 9)), r)
  expect_as_r(function(x) approxfun(1:8, x, rule = 2)(x), r)
  expect_as_r(function(x) approxfun(1:8, x, yright = 0)(c(2.5, 9)), r)
  expect_as_r(function(x) ecdf(x)(c(0, 1, 20)), r)
  expect_as_r(function(x) ecdf(x)(1), c(r, NaN))
  expect_as_r(function(x) unname(quantile(ecdf(x), c(0.1, 0.4))), r)
  refused(function(x) spline(x, 1:8)$y, r, "known while tracing")
  f <- user(function(x) approx(1:8, x, c(0, 1, 2.5, 8, 9), "constant", f = 0.25, rule = 1:2)$y)
  expect_equal(doubles_of(f(nv_tensor(r, "f64"))), doubles_of(f(r)))
  expect_as_r(f, r)
})

test_that("functions of known points take traced values, made in a traced function or outside", {
  expect_as_r(function(x) approxfun(1:5, c(1, 3, 2, 4, 5))(x * 3), between)
  expect_as_r(function(x) splinefun(1:5, c(1, 3, 2, 4, 5))(x * 3), between)
  expect_as_r(function(x) ecdf(c(1, 2, 3))(x), at)
  expect_as_r(function(x) stepfun(1:3, c(1, 5, 2, 8), right = TRUE)(x), at)
  expect_as_r(function(x) spline(1:5, c(1, 3, 2, 4, 5), xout = x, method = "natural")$y, at)
  for (given in list(
    list(), list(rule = 2), list(method = "constant"), list(method = "constant", f = 0.3, rule = 2:1),
    list(yleft = 7), list(yleft = 7, yright = -1, method = "constant")
  )) {
    curve <- do.call(approxfun, c(list(1:5, y), given))
    expect_as_r(user_env(function(x) curve(x), curve = curve), c(at, NaN))
  }
  for (method in c("fmm", "natural", "periodic", "monoH.FC", "hyman")) {
    values <- switch(method, periodic = replace(y, 5, 1), hyman = sort(y), y)
    curve <- splinefun(1:5, values, method)
    for (deriv in 0:3) {
      f <- user_env(function(x) curve(x, deriv = deriv), curve = curve, deriv = deriv)
      # R's third derivative at a point is that of the interval it has looked in last.
      expect_as_r(f, if (deriv < 3L) at else between)
    }
  }
  expect_as_r(user_env(function(x) curve(x, 1, "cubic"), curve = splinefun(1:5, y, "monoH.FC")), at)
  two <- splinefun(1:2, c(3, 5), "natural")
  expect_as_r(user_env(function(x) two(x), two = two), at)
})

test_that("such a function is found in lists, among arguments, and as what is transformed", {
  curve <- splinefun(1:5, y)
  steps <- ecdf(y)
  expect_as_r(user_env(function(x) model$curve(x), model = list(curve = curve)), at)
  expect_as_r(user_env(function(x) sapply(x, curve), curve = curve), between)
  expect_as_r(user_env(function(x) sapply(list(a, b), function(f) f(x[2])), a = curve, b = steps), between)
  x <- nv_tensor(between, "f64")
  expect_equal(doubles_of(jit(curve)(x)), curve(between))
  expect_equal(doubles_of(vmap(curve)(x)), curve(between))
  expect_equal(doubles_of(gradient(curve)(nv_scalar(2.2, "f64"))[[1L]]), curve(2.2, 1))
  expect_equal(dtype(jit(curve)(nv_tensor(between))), as_dtype("f32"))
  # A matrix becomes a vector, as of R's.
  m <- matrix(c(at, at), 4)
  expect_equal(doubles_of(jit(curve)(nv_tensor(m, "f64"))), curve(m))
  # Class and points stay, and R's numbers are R's matter.
  both <- jit(user(function(x) {
    steps <- ecdf(c(3, 1, 2))
    stopifnot(inherits(steps, "ecdf"), identical(knots(steps), c(1, 2, 3)), identical(steps(2), 2 / 3))
    quantile(steps, 0.5) + steps(x)
  }))
  expect_equal(doubles_of(both(x)), c(2, 2 + 1 / 3, 2 + 2 / 3, 3, 3))
  expect_error(jit(curve)(x, 5), class = "anvil_error_arg", "`deriv` must be 0, 1, 2 or 3")
  expect_error(jit(curve)(x * 1i), class = "anvil_error_dtype")
})

test_that("functions of traced points take traced values", {
  expect_as_r(function(x) splinefun(1:8, x)(x), r)
  expect_as_r(function(x) splinefun(1:8, x, "natural")(x, deriv = 1), r)
  expect_as_r(function(x) splinefun(1:8, x, "periodic")(x), r)
  expect_as_r(function(x) spline(1:8, x, xout = x)$y, r)
  expect_as_r(function(x) approxfun(1:8, x)(x), r)
  expect_as_r(function(x) ecdf(x)(x), r)
  expect_as_r(function(x) stepfun(c(-1, 2), x[1:3])(x), r)
  expect_as_r(function(x) stepfun(c(-1, 2), x[1:3], right = TRUE)(c(-2, -1, 0, 2, 3)), r)
  refused(function(x) splinefun(1:8, x, "hyman")(2), r, "in a traced function")
  refused(function(x) spline(1:8, x, method = "hyman")$y, r, "in a traced function")
  refused(function(x) stepfun(1:8, x)(2), r, "one longer than `x`")
})

test_that("a function that R's own makes, and that reads elements, is named by what makes it", {
  f <- jit(user(function(x) Vectorize(stats::rnorm)(x)))
  e <- expect_error(f(nv_tensor(r)), class = "anvil_error_concrete")
  expect_match(conditionMessage(e), "what `Vectorize()` gives cannot read them", fixed = TRUE)
})
# nolint end
