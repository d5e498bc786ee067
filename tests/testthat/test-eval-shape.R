f32 <- function(...) nv_abstract("f32", c(...))

test_that("eval_shape() gives the types in the structure of the result", {
  f <- function(p, x) list(eta = x %*% p$w + p$b, n = nrow(x), none = NULL, l = list(x > 0, 1, 2L, TRUE))
  params <- list(w = f32(1e6, 10), b = 0)
  got <- eval_shape(f, params, f32(1e6, 1e6))
  expect_identical(got, list(
    eta = f32(1e6, 10), n = nv_abstract("i32", ambiguous = TRUE), none = NULL,
    l = list(
      nv_abstract("i1", c(1e6, 1e6)), nv_abstract("f32", ambiguous = TRUE),
      nv_abstract("i32", ambiguous = TRUE),
      nv_abstract("i1")
    )
  ))
  # The types are those of the result.
  type <- function(x) nv_abstract(dtype(x), shape(x), ambiguous(x))
  x <- nv_tensor(matrix(c(1, 2, 3, 4), 2), dtype = "f32")
  small <- list(w = x, b = nv_scalar(1, "bf16"))
  expect_identical(eval_shape(f, small, x), tree_map(type, jit(f)(small, x)))
  expect_identical(eval_shape(function() NULL), NULL)
  expect_identical(eval_shape(function(x) list(), 1), list())
  expect_identical(eval_shape(function(x) x, f32(3, 0)), f32(3, 0))
})

test_that("nothing is computed", {
  shown <- capture.output(eval_shape(function(x) nv_print(x * 2), nv_scalar(1)))
  expect_identical(shown, "AnvilAbstract(dtype=f32?, shape=)")
  runs <- 0L
  eval_shape(function(x) { runs <<- runs + 1L; x }, 1)
  expect_identical(runs, 1L)
  # An index that is out of range only when the program runs.
  expect_identical(eval_shape(function(x, i) x[i], f32(3), nv_scalar(9L)), nv_abstract("f32"))
})

test_that("static arguments and rules of jitted functions hold, and what is no data is passed", {
  f <- jit(function(x, n, rest) if (n > 1) x[seq_len(n)] else x, static = "n")
  expect_identical(eval_shape(f, f32(4), n = 3), f32(3))
  expect_identical(eval_shape(function(x, how) if (how == "sum") sum(x) else x, f32(4), "sum"), f32())
  expect_identical(
    eval_shape(jit(function(x, y) x * y, rules = "numpy"), nv_abstract("i32"), nv_abstract("f32")),
    nv_abstract("f64")
  )
})

test_that("in a traced function it takes traced values, and what is captured", {
  seen <- NULL
  f <- jit(function(x) {
    y <- x * 2
    seen <<- eval_shape(function(z) list(z %*% y, sum(y)), x)
    y
  })
  x <- nv_tensor(matrix(c(1, 2, 3, 4), 2), dtype = "f32")
  expect_identical(f(x), x * 2)
  expect_identical(seen, list(f32(2, 2), f32()))
  g <- gradient(function(x) { eval_shape(exp, x); sum(x) })
  expect_identical(as.double(g(x)$x), c(1, 1, 1, 1))
})

test_that("errors", {
  expect_fields(eval_shape(1), "anvil_error_arg", arg = "f")
  expect_fields(eval_shape(sin, 1, 2), "anvil_error_arg", got = "one more")
  expect_fields(eval_shape(function(x) x), "anvil_error_arg", arg = "x", got = "left out")
  expect_error(eval_shape(function(x) "a", 1), class = "anvil_error_arg", "the result")
  expect_error(eval_shape(function(x, y) x %*% y, f32(2, 3), f32(2, 3)), class = "anvil_error_shape")
  expect_error(eval_shape(function(x) stop("mine"), 1), "mine")
  expect_no_open_trace()
})
