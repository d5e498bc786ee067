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
