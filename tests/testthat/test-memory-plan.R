test_that("a plan says what a call holds", {
  x <- nv_abstract("f64", c(100, 50))
  plan <- memory_plan(function(x) x + 1, x)
  expect_s3_class(plan, "AnvilMemoryPlan")
  expect_identical(
    plan[c("inputs", "outputs", "scratch", "regions")],
    list(inputs = 4e4, outputs = 4e4, scratch = 0, regions = 0)
  )
  expect_identical(plan$peak, plan$inputs + plan$constants + plan$outputs)
  # An elementwise value in the middle is nowhere; what a product reads is in memory.
  plan <- memory_plan(function(x) exp(x + 1) %*% t(x), x)
  expect_gte(plan$scratch, 4e4)
  expect_lt(plan$scratch, 8.1e4)
  expect_identical(max(plan$steps$scratch), plan$scratch)
  expect_identical(names(plan$steps), c("step", "scratch"))
})

test_that("a donated input is counted once, and so is a captured tensor", {
  x <- nv_abstract("f32", 1000)
  expect_identical(memory_plan(jit(function(x) x * 2, donate = "x"), x)$outputs, 0)
  expect_identical(memory_plan(jit(function(x) x * 2), x)$outputs, 4000)
  expect_identical(memory_plan(function(x) x, x)$outputs, 0)
  k <- nv_tensor(1:1000, "f32")
  expect_gte(memory_plan(function(x) x * k + k, x)$constants, 4000)
  # Of one whose elements are all the same, the program has one.
  k <- nv_fill(1, 1000)
  expect_lt(memory_plan(function(x) x * k + k, x)$constants, 100)
})

test_that("loops hold what they carry twice", {
  x <- nv_abstract("f64", 1000)
  plan <- memory_plan(function(x) nv_for(3, x, function(i, x) x * 2), x)
  expect_gte(plan$regions, 16000)
  expect_lt(plan$regions, 3e4)
})

test_that("arguments are those of other tracing functions", {
  expect_identical(
    memory_plan(jit(function(x, n) x * n, static = "n"), nv_abstract("f32", 3), 2)$inputs,
    memory_plan(function(x) x * 2, nv_abstract("f32", 3))$inputs
  )
  expect_identical(memory_plan(function(p) p$a + p$b, list(a = nv_scalar(1, "f32"), b = 2))$inputs, 12)
  expect_error(memory_plan(1), class = "anvil_error_arg", "a function")
  expect_error(memory_plan(function(x) x, y = 1), class = "anvil_error_arg")
  expect_error(memory_plan(function(x) x + 1), class = "anvil_error_arg", "left out")
  expect_error(
    jit(function(x) memory_plan(function(y) y, x))(1), class = "anvil_error_arg", "outside of `jit\\(\\)`"
  )
  expect_no_open_trace()
})

test_that("a plan prints what matters", {
  f <- function(w, x, y) w - 0.1 * (t(x) %*% (tanh(x %*% w) - y))
  plan <- memory_plan(
    f, nv_abstract("f32", c(10, 1)), nv_abstract("f32", c(1e4, 10)), nv_abstract("f32", c(1e4, 1))
  )
  text <- capture.output(out <- withVisible(print(plan)))
  expect_false(out$visible)
  expect_match(text[1], "^peak +[0-9.]+ [kM]B$")
  expect_identical(text, format(plan))
  expect_true(any(grepl("^scratch by step, most first", text)))
  expect_identical(
    format_bytes(c(0, 999, 1e4, 12345678, 2e10)), c("0 B", "999 B", "10 kB", "12.3 MB", "20 GB")
  )
})
