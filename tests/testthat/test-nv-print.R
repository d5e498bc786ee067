shown <- function(expr) utils::capture.output(invisible(expr))

test_that("a value is shown whenever it is computed", {
  expect_identical(shown(out <- nv_print(nv_tensor(1:2), "x")), c("x", " 1", " 2", "[ CPUi32{2} ]"))
  expect_identical(out, nv_tensor(1:2))
  f <- jit(user(function(x) nv_print(x * 2) + 1))
  for (i in 1:2) expect_identical(shown(f(nv_scalar(2))), c(" 4", "[ CPUf32?{} ]"))
  # Only the tracer is shown by print(), and only once.
  g <- jit(user(function(x) {
    print(x)
    x
  }))
  shown(g(nv_scalar(2)))
  expect_identical(shown(g(nv_scalar(2))), character())
})

test_that("it runs though nobody reads its result, and once for each call", {
  f <- jit(user(function(x) {
    nv_print(x, "a")
    nv_print(x, "a")
    x
  }))
  expect_identical(sum(shown(f(nv_scalar(1))) == "a"), 2L)
  loop <- jit(user(function(x) {
    nv_for(3, x, function(i, s) {
      nv_print(i)
      s
    })
    x
  }))
  expect_identical(shown(loop(nv_scalar(1)))[c(1, 3, 5)], c(" 1", " 2", " 3"))
  one <- jit(user(function(x) nv_if(x > 0, nv_print(x, "yes"), nv_print(-x, "no"))))
  expect_identical(shown(one(nv_scalar(1)))[1L], "yes")
  expect_identical(shown(one(nv_scalar(-1)))[1L], "no")
})

test_that("gradients pass through it", {
  f <- user(function(x) nv_print(x, "x")^2)
  expect_identical(shown(out <- gradient(f)(nv_scalar(3, dtype = "f64")))[1:2], c("x", " 3"))
  expect_nv(out$x, 6, "f64", integer())
})

test_that("an error while printing ends the program and leaves nothing behind", {
  old <- options(anvil.print_max_rows = "a")
  on.exit(options(old))
  f <- jit(user(function(x) nv_for(3, x, function(i, s) nv_print(s + 1))))
  expect_error(f(nv_scalar(1)), class = "anvil_error_arg")
  options(old)
  expect_nv(nv_scalar(1, dtype = "f64") + 1, 2, "f64", integer())
  shown(expect_nv(f(nv_scalar(1, dtype = "f64")), 4, "f64", integer()))
  expect_fields(nv_print(nv_scalar(1), 3), "anvil_error_arg", arg = "label")
  expect_error(nv_print("a"), class = "anvil_error_arg")
})
