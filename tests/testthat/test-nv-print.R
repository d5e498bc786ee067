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

test_that("branches and loops show values in order, whenever they come to them", {
  labels <- function(expr) grep("^[a-z]", shown(expr), value = TRUE)
  f <- jit(user(function(x) {
    out <- nv_for(3L, x, function(i, s) {
      nv_print(i, "step")
      nv_if(i == 2L, {
        nv_print(s, "second")
        NULL
      }, NULL)
      nv_if(s > 2, nv_print(s, "large"), s) + 1
    })
    nv_while(x, function(x) nv_print(x, "test") > 0, function(x) nv_print(x - 1, "body"))
    nv_print(out, "end")
    x
  }))
  loop <- c("step", "step", "second", "step", "large", "test", "body", "test", "end")
  for (i in 1:2) expect_identical(labels(f(nv_scalar(1))), loop)
  # Values that the trace knows are shown by the program, not by the trace.
  g <- user(function(x) {
    nv_for(2L, x, function(i, s) {
      nv_print(nv_scalar(7), "known")
      nv_if(s < 0, nv_print(3, "never"), s)
    })
  })
  expect_identical(labels(trace_fn(g, nv_scalar(1))), character())
  g <- jit(g)
  for (i in 1:2) expect_identical(labels(g(nv_scalar(1))), c("known", "known"))
})

test_that("derivatives show values once", {
  for (checkpoint in c(FALSE, TRUE)) {
    f <- user_env(function(x) {
      step <- function(i, s) nv_if(s > 0, nv_print(s * x, "yes") * x, nv_print(s, "no"))
      nv_for(2L, x, step, checkpoint = checkpoint)
    }, checkpoint = checkpoint)
    for (df in list(gradient(f), jit(gradient(f)))) {
      shows <- shown(out <- df(nv_scalar(2, dtype = "f64")))
      expect_identical(shows[c(1, 2, 4, 5)], c("yes", " 4", "yes", " 16"))
      expect_nv(out$x, 5 * 2^4, "f64", integer())
    }
  }
  # In the derivative that the user wrote, too.
  square <- custom_gradient(user(function(x) x^2), user(function(x) list(x^2, x)), user(function(x, g) {
    nv_print(g, "g")
    list(2 * x * g)
  }))
  loop <- user_env(function(x) nv_for(2L, x, function(i, s) square(s)), square = square)
  shows <- shown(out <- jit(gradient(loop))(nv_scalar(2, dtype = "f64")))
  expect_identical(shows[c(1, 2, 4, 5)], c("g", " 1", "g", " 8"))
  expect_nv(out$x, 32, "f64", integer())
})
