numbers <- function(x, ...) nv_tensor(x, dtype = "f64", ...)
plain <- function(x) if (ndims(x) == 1L) as.vector(as_array(x)) else as_array(x)

test_that("an op over other ops has the derivative that it is given", {
  cube <- new_op("cube", eval_r = function(x) x^3, vjp = function(args, value, gradient) list(gradient * 30))
  x <- numbers(c(1, 2))
  expect_equal(plain(cube(x)), c(1, 8))
  expect_equal(plain(jit(cube)(x)), c(1, 8))
  expect_equal(plain(gradient(function(x) sum(cube(x)))(x)$x), c(30, 30))
  expect_output(print(cube), "<AnvilOp> cube(x)", fixed = TRUE)
  both <- new_op("both", eval_r = function(x) x^3, jvp = function(primals, tangents) {
    list(primals$x^3, 7 * tangents$x)
  })
  expect_equal(plain(jvp(both, list(x), list(x))$tangent), c(7, 14))
  expect_equal(plain(gradient(function(x) sum(both(x)))(x)$x), c(7, 7))
  expect_equal(plain(vmap(cube)(x)), c(1, 8))
  named <- new_op("scaled", eval_r = function(x, by = 2) x * by)
  expect_equal(plain(named(x)), c(2, 4))
  expect_equal(plain(named(by = numbers(3)[1], x)), c(3, 6))
})

test_that("an op in R is called with values, alone or for a batch", {
  calls <- 0L
  sorted <- function(x) {
    calls <<- calls + 1L
    sort(as.vector(as_array(x)))
  }
  infer <- function(x) nv_abstract(dtype(x), shape(x))
  op <- new_op("sorted", infer, sorted)
  expect_equal(plain(op(numbers(c(3, 1, 2)))), 1:3)
  expect_equal(plain(jit(function(x) op(x) * 2)(numbers(c(3, 1, 2)))), c(2, 4, 6))
  calls <- 0L
  rows <- numbers(rbind(c(3, 1, 2), c(6, 5, 4)))
  expect_equal(plain(vmap(op)(rows)), rbind(1:3, 4:6))
  expect_identical(calls, 2L)
  seen <- NULL
  at_once <- new_op("sorted", infer, sorted, batch = function(args, batched) {
    seen <<- batched
    apply(as_array(args$x), 2L, sort)
  })
  calls <- 0L
  expect_equal(plain(vmap(at_once)(rows)), rbind(1:3, 4:6))
  expect_identical(calls, 0L)
  expect_identical(seen, list(x = TRUE))
  expect_error(gradient(function(x) sum(op(x)))(numbers(c(2, 1))), class = "anvil_error_grad")
  expect_error(
    new_op("f", function(x) nv_abstract("f64", 7L), sorted)(numbers(c(2, 1))), class = "anvil_error_callback"
  )
})

test_that("an op in R has a derivative over ops, which may be other such ops", {
  shape_of <- function(a) nv_abstract("f64", shape(a))
  logistic <- function(a) stats::plogis(as_array(a))
  value <- new_op("logistic", shape_of, logistic)
  rule <- function(op) function(primals, tangents) list(p <- op(primals$a), p * (1 - p) * tangents$a)
  once <- new_op("logistic", shape_of, logistic, jvp = rule(value))
  op <- new_op("logistic", shape_of, logistic, jvp = rule(once))
  a <- numbers(c(-1, 0.5))
  p <- stats::plogis(c(-1, 0.5))
  expect_equal(plain(gradient(function(a) sum(op(a)))(a)$a), p * (1 - p))
  expect_equal(diag(matrix(plain(hessian(function(a) sum(op(a)))(a)$a$a), 2)), p * (1 - p) * (1 - 2 * p))
  expect_equal(plain(vmap(op)(a)), p)
  endless <- new_op("logistic", shape_of, logistic, jvp = function(primals, tangents) {
    rule(endless)(primals, tangents)
  })
  e <- expect_error(gradient(function(a) sum(endless(a)))(a), class = "anvil_error_arg")
  expect_match(conditionMessage(e), "uses the function that it derives", fixed = TRUE)
})

test_that("what makes no op is refused", {
  f <- function(x) x
  refused <- function(expr, arg) {
    e <- expect_error(expr, class = "anvil_error_arg")
    expect_identical(e$arg, arg)
  }
  refused(new_op(1, eval_r = f), "name")
  refused(new_op("", eval_r = f), "name")
  refused(new_op("f", eval_r = 2), "eval_r")
  refused(new_op("f", 3, f), "infer")
  refused(new_op("f", eval_r = f, vjp = function(x) x), "vjp")
  refused(new_op("f", eval_r = f, jvp = "x"), "jvp")
  refused(new_op("f", f, f, batch = 1), "batch")
  refused(new_op("f", eval_r = f, batch = function(args, batched) args), "batch")
  pull <- function(args, value, gradient) list(gradient)
  refused(new_op("f", eval_r = f, vjp = pull, jvp = function(primals, tangents) list(1, 1)), "vjp")
})
