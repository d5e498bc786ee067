test_that("elementwise ops are one group, and what the group alone uses is not in memory", {
  plan <- explain_plan(function(x, y) tanh(x * y + 1), nv_abstract("f32", 1000), nv_abstract("f32", 1000))
  expect_s3_class(plan, c("AnvilPlan", "data.frame"), exact = TRUE)
  expect_identical(plan$kind, "group")
  expect_identical(plan$ops[[1L]], c("mul", "add", "tanh"))
  expect_identical(plan$elements, 1000)
  # Two inputs; the number is part of the code.
  expect_identical(c(plan$read, plan$written), c(8000, 4000))
  expect_false(plan$threads)
})

test_that("products run alone, with bytes and a time that grow with them", {
  product <- function(n) {
    explain_plan(function(x, y) x %*% y, nv_abstract("f64", c(n, n)), nv_abstract("f64", c(n, n)))
  }
  expect_identical(product(100)$kind, "dot_general")
  expect_identical(product(100)$read, 2 * 8 * 100^2)
  expect_gt(product(400)$microseconds, 10 * product(100)$microseconds)
})

test_that("loops and branches show their programs", {
  f <- function(x) nv_while(x, function(s) sum(s) < 10, function(s) s * 2)
  plan <- explain_plan(f, nv_abstract("f32", 5))
  expect_identical(plan$step[1:2], c("1", "1.cond"))
  expect_true(all(c("1.body", "1.body.1") %in% plan$step))
  branch <- explain_plan(
    function(x) nv_if(sum(x) > 0, function() x * 2, function() exp(x)), nv_abstract("f32", 100000)
  )
  sides <- branch[branch$kind == "program", ]
  expect_match(sides$step, "[.](true|false)$")
  # The slower side is what a branch may take.
  expect_gte(branch$microseconds[branch$kind == "if"], max(sides$microseconds))
})

test_that("a loop on numbers is in native code, and its line says how long a repetition takes there", {
  has_native <- anvil_sitrep()$simd %in% c("avx2", "avx512") && .Platform$OS.type == "unix"
  # What is made of slices alone leaves a loop.
  walk <- function(x) nv_scan(function(s, x) list(x + tanh(s), s), nv_scalar(0, dtype = "f64"), x)
  short <- explain_plan(walk, nv_abstract("f64", 100))
  long <- explain_plan(walk, nv_abstract("f64", 1e6))
  expect_identical(short$native[1L], has_native)
  expect_identical(grepl("a repetition, in native code", capture.output(print(short))[3L]), has_native)
  # A repetition takes as long in either: what is stacked is not its own.
  expect_identical(short$microseconds, long$microseconds)
  expect_lt(short$microseconds[1L], 1)
  # Functions without a formula are called from there.
  special <- function(s) nv_for(100L, s, function(i, s) nv_erfcx(nv_erfcx(nv_erfcx(s))))
  special <- explain_plan(special, nv_abstract("f32", integer()))
  expect_identical(special$native[1L], has_native)
  wide <- explain_plan(function(x) nv_for(3L, x, function(i, z) z * 2), nv_abstract("f32", 1000))
  expect_false(any(wide$native))
})

test_that("plans print what is computed together", {
  f <- function(x) (x - mean(x)) / sqrt(mean((x - mean(x))^2))
  text <- capture.output(print(explain_plan(f, nv_abstract("f32", 1e6))))
  expect_match(
    text[1L], "^<AnvilPlan> \\d+ steps, [0-9.]+ MB read, [0-9.]+ MB written, [0-9.]+ .?B of scratch memory$"
  )
  expect_true(any(grepl("group of 1,000,000 elements: ", text, fixed = TRUE)))
  expect_true(any(grepl("shared by threads", text, fixed = TRUE)))
  expect_lte(max(nchar(text)), getOption("width") + 20)
  loop <- capture.output(print(explain_plan(
    function(x) nv_for(3L, x, function(i, z) z * 2), nv_abstract("f32", 4)
  )))
  expect_true(any(grepl("a repetition", loop, fixed = TRUE)))
  expect_true(any(grepl("^  body:$", loop)))
  # Rows and columns of it are printed as any data frame.
  plan <- explain_plan(f, nv_abstract("f32", 10))
  expect_output(print(plan[, c("step", "read")]), "step read")
  expect_output(print(plan[0L, ]), "0 steps")
})

test_that("a program without steps has a plan", {
  plan <- explain_plan(function(x) x, nv_abstract("f32", 3))
  expect_true(nrow(plan) <= 1L)
  expect_output(print(plan), "<AnvilPlan>")
  expect_identical(nrow(explain_plan(function() list())), 0L)
  zero <- explain_plan(function(x) x + 1, nv_abstract("f32", c(0, 3)))
  expect_identical(sum(zero$written), 0)
})

test_that("what is no program is refused with the user's call", {
  for (ask in list(explain_plan, memory_plan)) {
    expect_error(ask(3), class = "anvil_error_arg")
    expect_error(ask(function(x) x, "a"), class = "anvil_error_arg")
    expect_error(ask(function(x) x, 1, 2), class = "anvil_error_arg")
    expect_error(ask(function(x) x + "a", 1), class = "anvil_error")
    expect_error(
      jit(function(x) ask(function(y) y, x))(1), "outside of `jit\\(\\)`", class = "anvil_error_arg"
    )
  }
  error <- tryCatch(explain_plan(function(x, y) x + y, nv_scalar(1)), error = identity)
  expect_s3_class(error, "anvil_error_arg")
  expect_match(conditionMessage(error), "`y` must be given")
  expect_identical(as.character(conditionCall(error)[[1L]]), "explain_plan")
})
