# Time series as arguments of traced functions: their times are an error, rather than a wrong answer.

x <- ts(c(1, 4, 9, 16, 25, 36), start = 2000, frequency = 4)

test_that("the times of a traced value are refused", {
  for (f in list(
    function(x) time(x), function(x) sum(start(x)), function(x) sum(end(x)), function(x) frequency(x) * x,
    function(x) deltat(x) * x, function(x) tapply(x, factor(cycle(x)), mean), function(x) x - lag(x, -1),
    function(x) window(x, 2000.5), function(x) stats::time(x)
  )) {
    expect_error(jit(user(f))(x), class = "anvil_error_concrete", "series|times", label = deparse1(body(f)))
  }
  e <- condition_of(jit(user(function(x) frequency(x) * x))(x))
  expect_identical(e$where, "frequency()")
  expect_match(conditionMessage(e), "f(x, time(x))", fixed = TRUE)
  e <- condition_of(jit(user(function(x) aggregate(x, FUN = sum)))(x))
  expect_s3_class(e, "anvil_error_arg")
  expect_match(conditionMessage(e), "time(x)", fixed = TRUE)
})

test_that("times are arguments, and values of a series are numbers", {
  f <- jit(user(function(x, at) sum(x * (at - 2000))))
  expect_equal(as.double(f(x, time(x))), sum(as.vector(x) * (as.vector(time(x)) - 2000)))
  expect_equal(as.vector(jit(user(function(x) diff(x)))(x)), as.vector(diff(x)))
  g <- jit(user(function(x) x * as.numeric(time(ts(1:6, start = 3)))))
  expect_equal(as.vector(g(x)), as.vector(x) * 3:8)
})

test_that("names of days and months are none in a traced function", {
  d <- data.frame(y = c(1, 2, 3), at = as.Date("2020-01-30") + 0:2)
  for (f in list(
    function(d) tapply(d$y, weekdays(d$at), mean), function(d) tapply(d$y, months(d$at), mean),
    function(d) tapply(d$y, quarters(d$at), mean), function(d) julian(d$at)
  )) expect_error(jit(user(f))(d), class = "anvil_error_concrete", "outside", label = deparse1(body(f)))
})
