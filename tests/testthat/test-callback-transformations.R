# Derivatives and batches of calls of functions of R.

test_that("it has the derivative that custom_gradient() gives it, and none by itself", {
  cube <- function(x) nv_callback(logged("called", function(v) as.numeric(v)^3), x, result = x)
  error <- expect_fields(gradient(cube)(number(2)), "anvil_error_grad", op = "nv_callback")
  expect_match(conditionMessage(error), "custom_gradient()", fixed = TRUE)
  f <- custom_gradient(cube,
    forward = function(x) list(nv_callback(logged("forward", function(v) as.numeric(v)^3), x, result = x), x),
    backward = function(x, g) {
      slope <- function(x, g) 3 * as.numeric(x)^2 * as.numeric(g)
      list(nv_callback(logged("backward", slope), x, g, result = x))
    }
  )
  expect_identical(log_of(expect_identical(jit(f)(number(2)), number(8))), "called 2")
  df <- gradient(f)
  for (df in list(df, jit(df))) {
    expect_identical(log_of(out <- df(number(2))), c("forward 2", "backward 2 1"))
    expect_identical(out, list(x = number(12)))
  }
  # In a branch and in a loop, with checkpoints too, each is called once.
  for (checkpoint in c(FALSE, TRUE)) {
    loop <- function(x) {
      nv_for(2L, x, function(i, s) {
        nv_callback(logged("step"), i, result = NULL)
        nv_if(s > 0, f(s) / 2, sin(s))
      }, checkpoint = checkpoint)
    }
    # 4, then 32; 3 * 4^2 / 2 * 3 * 2^2 / 2
    want <- c("step 1", "forward 2", "step 2", "forward 4", "backward 4 0.5", "backward 2 12")
    expect_identical(log_of(out <- jit(value_and_gradient(loop))(number(2))), want)
    expect_identical(out, list(value = number(32), gradient = list(x = number(144))))
  }
  # One for its effect, or of a value that is no function of the argument, stands in no way.
  g <- function(x) {
    nv_callback(logged("report"), x, result = NULL)
    n <- nv_callback(function(x) 3L, x, result = nv_abstract("i32"))
    x^2 * nv_convert(n, "f64")
  }
  expect_identical(log_of(expect_identical(gradient(g)(number(2))$x, number(12))), "report 2")
  # A function without a value.
  quiet <- custom_gradient(function(x) {
    nv_callback(logged("quiet"), x, result = NULL)
    NULL
  }, function(x) list(NULL, NULL), function(kept, g) list(NULL))
  expect_identical(log_of(jit(function(x) {
    quiet(x)
    x
  })(number(1))), "quiet 1")
})

test_that("a batch calls it for each example, or once for all if it is vectorized", {
  x <- f64(matrix(1:6, 3))
  add <- function(v, w) as.numeric(v) + sum(as.numeric(w))
  each <- function(v, w) nv_callback(logged("each", add), v, w, result = v)
  expect_identical(
    log_of(out <- jit(vmap(each))(x, f64(matrix(7:12, 3)))),
    c("each 1 4 7 10", "each 2 5 8 11", "each 3 6 9 12")
  )
  expect_identical(out, f64(matrix(c(18, 21, 24, 21, 24, 27), 3)))
  # An argument that is the same for all; the batch along another axis; eagerly.
  same <- vmap(each, in_axes = list(2L, NULL), out_axes = 2L)
  expect_identical(log_of(out <- same(x, number(1))), c("each 1 2 3 1", "each 4 5 6 1"))
  expect_identical(out, x + 1)
  shared <- vmap(function(v, w) each(v, v) + w, in_axes = list(NULL, 1L))
  expect_identical(log_of(out <- shared(number(2), f64(1:3))), "each 2 2")
  expect_identical(out, f64(5:7))
  # The batch axis comes last, where an argument has it.
  whole <- function(v, w) {
    nv_callback(logged("all", function(v, w) {
      expect_identical(dim(v), c(2L, 3L))
      expect_null(dim(w))
      list(v + w, colSums(as_array(v)))
    }), v, w, result = list(v, f64_type), vectorized = TRUE)
  }
  all <- jit(vmap(whole, in_axes = list(1L, NULL)))
  expect_identical(log_of(out <- all(x, number(1))), "all 1 4 2 5 3 6 1")
  expect_identical(out, list(x + 1, f64(c(5, 7, 9))))
  # It must give the axis as well.
  expect_fields(
    vmap(function(v) nv_callback(function(v) 1, v, result = f64_type, vectorized = TRUE))(f64(1:3)),
    "anvil_error_callback", expected = "f64[3]"
  )
  # Within each other.
  times <- function(v, w) as.numeric(v) * as.numeric(w)
  pairs <- function(v, w) nv_callback(logged("pair", times), v, w, result = v)
  outer <- vmap(vmap(pairs, in_axes = list(NULL, 1L)), in_axes = list(1L, NULL))
  calls <- log_of(out <- outer(f64(1:2), f64(3:5)))
  expect_identical(sort(calls), sort(paste("pair", rep(1:2, each = 3), 3:5)))
  expect_identical(out, f64(base::outer(1:2, 3:5)))
  twice <- function(v, w) {
    nv_callback(logged("both", function(v, w) base::outer(as.numeric(w), as.numeric(v))),
      v, w, result = v, vectorized = TRUE)
  }
  outer <- vmap(vmap(twice, in_axes = list(NULL, 1L)), in_axes = list(1L, NULL))
  expect_identical(length(log_of(out <- outer(f64(1:2), f64(3:5)))), 1L)
  expect_identical(out, f64(base::outer(1:2, 3:5)))
  # For its effect, and an empty batch.
  expect_identical(
    log_of(vmap(function(v) {
      nv_callback(logged("effect"), v, result = NULL)
      nv_callback(logged("vector"), v, result = NULL, vectorized = TRUE)
      v
    })(f64(1:2))), c("effect 1", "effect 2", "vector 1 2")
  )
  expect_identical(log_of(out <- vmap(function(v) each(v, v))(f64(numeric()))), character())
  expect_identical(out, f64(numeric()))
})

test_that("in a batch it is called where a branch is taken, and as often as a loop runs", {
  f <- function(x) {
    nv_if(x > 1, {
      nv_callback(logged("large"), x, result = NULL)
      nv_callback(logged("known"), 0, result = NULL)
      nv_callback(logged("value", function(v) as.numeric(v) * 10), x, result = x)
    }, x)
  }
  expect_identical(
    log_of(out <- jit(vmap(f))(f64(c(3, 0, 2)))),
    c("large 3", "large 2", "known 0", "known 0", "value 3", "value 2")
  )
  expect_identical(out, f64(c(30, 0, 20)))
  g <- function(x) {
    nv_if(x > 1, nv_callback(logged("all", function(v) v * 10), x, result = x, vectorized = TRUE), x)
  }
  expect_identical(log_of(out <- jit(vmap(g))(f64(c(3, 0, 2)))), "all 3 0 2")
  expect_identical(out, f64(c(30, 0, 20)))
  expect_identical(log_of(jit(vmap(g))(f64(c(1, 0)))), character())
  halve <- function(x) {
    half <- logged("halve", function(v) as.numeric(v) / 2)
    nv_while(x, function(x) x > 1, function(x) nv_callback(half, x, result = x))
  }
  expect_identical(log_of(out <- jit(vmap(halve))(f64(c(4, 1, 2)))), c("halve 4", "halve 2", "halve 2"))
  expect_identical(out, f64(c(1, 1, 1)))
  add <- logged("scan", function(i, v) v + 1)
  scan <- jit(vmap(function(x) nv_for(2L, x, function(i, s) nv_callback(add, i, s, result = s))))
  expect_identical(log_of(out <- scan(f64(c(5, 7)))), c("scan 1 5", "scan 1 7", "scan 2 6", "scan 2 8"))
  expect_identical(out, f64(c(7, 9)))
})

test_that("batches of derivatives and derivatives of batches call it", {
  f <- custom_gradient(
    function(x) nv_callback(logged("f", function(v) as.numeric(v)^2), x, result = x),
    function(x) list(nv_callback(logged("f", function(v) as.numeric(v)^2), x, result = x), x),
    function(x, g) list(2 * x * g)
  )
  expect_identical(log_of(out <- vmap(gradient(f))(f64(1:2))$x), c("f 1", "f 2"))
  expect_identical(out, f64(c(2, 4)))
  total <- function(x) sum(vmap(f)(x))
  expect_identical(log_of(out <- gradient(total)(f64(1:2))$x), c("f 1", "f 2"))
  expect_identical(out, f64(c(2, 4)))
  error <- expect_error(
    jvp(function(x) nv_callback(exp, x, result = x), list(number(1)), list(number(1))),
    class = "anvil_error_grad"
  )
  expect_match(conditionMessage(error), "nv_callback", fixed = TRUE)
})
