softplus <- function(x) log(1 + exp(x))
logistic <- function(x) 1 / (1 + exp(-x))
far <- nv_tensor(c(1000, -1000, 2))

unrewritten <- function(expr) {
  old <- options(anvil.rewrite = FALSE)
  on.exit(options(old))
  expr
}

test_that("formulas in programs are the functions", {
  expect_identical(jit(softplus)(far), nv_softplus(far))
  expect_identical(jit(logistic)(far), nv_logistic(far))
  expect_identical(jit(function(x) exp(x) / (exp(x) + 1))(far), nv_logistic(far))
  small <- nv_tensor(c(1e-10, -1e-6))
  expect_identical(jit(function(x) log(1 + x))(small), log1p(small))
  expect_identical(jit(function(x) exp(x) - 1)(small), expm1(small))
  double <- nv_tensor(1e-3, "f64")
  expect_identical(jit(softplus)(double), nv_softplus(double))
})

test_that("the option restores the results of calls op by op", {
  f <- jit(softplus)
  expect_identical(as_array(f(far))[1L], 1000)
  expect_identical(unrewritten(f(far)), softplus(far))
  expect_identical(as_array(softplus(far))[1L], Inf)
  expect_identical(cache_info(f)$entries, 2L)
  expect_match(explain_cache(f)$reason[2L], "rewrite is FALSE, not TRUE", fixed = TRUE)
  expect_identical(as_array(f(far))[1L], 1000)
  expect_identical(cache_info(f)$entries, 2L)
  for (bad in list(NA, "yes", 1, c(TRUE, FALSE))) {
    old <- options(anvil.rewrite = bad)
    error <- expect_error(f(far), class = "anvil_error_arg")
    options(old)
    expect_match(conditionMessage(error), "`options(anvil.rewrite = )` must be TRUE or FALSE", fixed = TRUE)
  }
  old <- options(anvil.rewrite = NULL)
  expect_identical(as_array(f(far))[1L], 1000)
  options(old)
})

test_that("gradients are as accurate", {
  slope <- function(f) as_array(jit(function(x) gradient(function(x) sum(f(x)))(x)[[1L]])(far))
  expect_identical(slope(softplus), as_array(nv_logistic(far)))
  expect_identical(unrewritten(slope(softplus))[1L], 0)
  # The gradient of the formula has digits where that of the function is 0.
  x <- nv_tensor(50)
  steep <- jit(function(x) gradient(function(x) sum(logistic(x)))(x)[[1L]])
  expect_equal(as_array(steep(x)), exp(-50), tolerance = 1e-6, ignore_attr = TRUE)
})

test_that("programs show what they became", {
  expect_output(print(trace_fn(softplus, far)), "softplus(%x1)", fixed = TRUE)
  expect_output(print(explain_plan(jit(logistic), far)), "logistic", fixed = TRUE)
  expect_output(print(unrewritten(trace_fn(softplus, far))), "log(", fixed = TRUE)
})

test_that("programs transform real values by half of the numbers, R's values are kept", {
  filtered <- function(x, k) Re(fft(fft(x) * Conj(fft(k)), inverse = TRUE)) / length(x)
  steps <- function(x, k) {
    spectrum <- fft(k)
    nv_for(3L, x, function(i, x) tanh(Re(fft(fft(x) * spectrum, inverse = TRUE)) / length(x)))
  }
  steps_r <- function(x, k) {
    for (i in 1:3) x <- tanh(Re(fft(fft(x) * fft(k), inverse = TRUE)) / length(x))
    x
  }
  for (sizes in list(1, 2, 7, 8, 30, c(3, 4), c(8, 5), c(1, 6), c(2, 3, 4))) {
    x <- array(sin(seq_len(prod(sizes))), sizes)
    k <- array(cos(seq_len(prod(sizes)))^2, sizes)
    args <- lapply(list(x, k), nv_tensor, dtype = "f64")
    expect_equal(as_array(do.call(jit(filtered), args)), array(filtered(x, k), sizes))
    expect_equal(as_array(do.call(jit(steps), args)), array(steps_r(x, k), sizes))
    # The gradient of the sum of squares of an autocovariance, by differences.
    power <- function(x) sum((Re(fft(Mod(fft(x))^2, inverse = TRUE)) / length(x))^2)
    g <- as_array(jit(gradient(power))(args[[1]])$x)
    at <- prod(sizes)
    moved <- function(by) {
      x[at] <- x[at] + by
      power(x)
    }
    expect_equal(g[at], (moved(1e-5) - moved(-1e-5)) / 2e-5, tolerance = 1e-7)
  }
  text <- graph_text(trace_fn(filtered, nv_fill(1, 8), nv_fill(1, 8)), TRUE)
  expect_match(text, "irfft", fixed = TRUE)
  text <- unrewritten(graph_text(trace_fn(filtered, nv_fill(1, 8), nv_fill(1, 8)), TRUE))
  expect_no_match(text, "irfft", fixed = TRUE)
  expect_match(text, "ifft", fixed = TRUE)
})

test_that("products with diagonal matrices and diagonals of products are those of R", {
  set.seed(3)
  x <- matrix(rnorm(60), 12)
  y <- matrix(rnorm(60), 5)
  w <- runif(12)
  functions <- list(
    function(x, y, w) diag(w) %*% x,
    function(x, y, w) y %*% diag(w),
    function(x, y, w) t(x) %*% diag(w) %*% x,
    function(x, y, w) diag(x %*% y),
    function(x, y, w) sum(diag(y %*% x)),
    function(x, y, w) diag(x %*% solve(crossprod(x)) %*% t(x))
  )
  for (f in functions) {
    f <- user(f)
    made <- jit(f)(nv_tensor(x, "f64"), nv_tensor(y, "f64"), nv_tensor(w, "f64"))
    expect_equal(as.vector(made), as.vector(f(x, y, w)), tolerance = 1e-12)
  }
  f <- user_env(function(w) sum((t(x) %*% diag(w) %*% x)^2), x = x)
  slope <- gradient(f)(nv_tensor(w, "f64"))$w
  h <- 1e-6
  numeric <- vapply(1:12, function(i) (f(replace(w, i, w[i] + h)) - f(replace(w, i, w[i] - h))) / (2 * h), 0)
  expect_equal(as.numeric(slope), numeric, tolerance = 1e-7)
})

test_that("products with the zeros of a diagonal matrix are kept where programs are as they are written", {
  f <- function(w, x) diag(w) %*% x
  w <- nv_tensor(c(1, 2), "f64")
  x <- nv_tensor(matrix(c(Inf, 1, 2, 3), 2), "f64")
  expect_identical(as.numeric(jit(f)(w, x)), c(Inf, 2, 2, 6))
  unrewritten(expect_identical(as.numeric(jit(f)(w, x)), c(Inf, NaN, 2, 6)))
})
