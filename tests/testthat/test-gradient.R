f64 <- function(x, shape = dim(x) %||% length(x)) nv_tensor(x, dtype = "f64", shape = shape)
s64 <- function(x) nv_scalar(x, "f64")

# Gradient of a function of an R array that gives a number, by central differences in f64. Their error is
# about 1e-9 for functions whose third derivative is of the order of 1.
differences <- function(f, x) {
  h <- 1e-5
  number <- function(x) as.double(f(f64(x, dim(x) %||% length(x))))
  x[] <- vapply(seq_along(x), function(i) {
    step <- replace(0 * x, i, h)
    (number(x + step) - number(x - step)) / (2 * h)
  }, 0)
  x
}

expect_gradient <- function(f, x) {
  got <- gradient(f)(f64(x, dim(x) %||% length(x)))[[1L]]
  expect_equal(as.vector(as_array(got)), as.vector(differences(f, x)), tolerance = 1e-7)
}

expect_closed <- function() expect_identical(.Call(anvil:::anvil_trace_depth), 0L)

x <- f64(c(1, 2, 3))
y <- f64(c(4, 5, 6))
product <- function(x, y) sum(x * y)

# ---- what is given back ----

test_that("a gradient has the names, structure and types of what it is by", {
  got <- gradient(product)(x, y)
  expect_identical(names(got), c("x", "y"))
  expect_elements(got$x, c(4, 5, 6), "f64[3]")
  expect_elements(got$y, c(1, 2, 3), "f64[3]")
  f <- function(p, n) sum(p$w[[1]] * p$w[[2]]) + p$b * n
  p <- list(w = list(x, y), b = s64(2))
  got <- gradient(f)(p, s64(3))
  expect_identical(lapply(got$p, class)$w, "list")
  expect_identical(names(got$p), c("w", "b"))
  expect_elements(got$p$w[[1]], c(4, 5, 6), "f64[3]")
  expect_elements(got$p$w[[2]], c(1, 2, 3), "f64[3]")
  expect_elements(got$p$b, 3, "f64[]")
  expect_elements(got$n, 2, "f64[]")
})

test_that("`wrt` is by name, position or path", {
  expect_identical(names(gradient(product, "y")(x, y)), "y")
  expect_identical(gradient(product, 2)(x, y), gradient(product, "y")(x, y))
  expect_identical(names(gradient(product, c("y", "x"))(x, y)), c("y", "x"))
  expect_identical(gradient(product, 2:1)(x, y), gradient(product, c("y", "x"))(x, y))
  f <- function(p, n) sum(p$w[[1]] * p$w$second) * n
  p <- list(w = list(x, second = y), label = "not a tensor")
  got <- gradient(f, c("p$w[[1]]", "p$w$second", "n"))(p, s64(2))
  expect_identical(names(got), c("p$w[[1]]", "p$w$second", "n"))
  expect_elements(got[[1]], c(8, 10, 12), "f64[3]")
  expect_elements(got$n, 32, "f64[]")
  for (path in c("p$w", "p[[1]]", "p[[\"w\"]]")) {
    expect_identical(gradient(f, path)(p, s64(2)), setNames(list(list(got[[1]], second = got[[2]])), path))
  }
})

test_that("paths with a part in common are refused", {
  f <- user(function(p) sum(p$a * p$b))
  p <- list(a = x, b = y)
  for (wrt in list(c("p", "p$a"), c("p$a", "p"), c("p$a", "p[[1]]"), c("p$b", "p[[\"b\"]]"))) {
    g <- gradient(f, wrt)
    e <- expect_fields(g(p), "anvil_error_arg", arg = "wrt")
    expect_match(conditionMessage(e), wrt[2], fixed = TRUE)
    expect_identical(conditionCall(e), quote(g(p)))
  }
  # The same tensor in two places is two inputs.
  got <- gradient(f, c("p$a", "p$b"))(list(a = x, b = x))
  expect_identical(unname(got), list(x, x))
})

test_that("arguments are matched as in a call of the function", {
  f <- function(x, y = 2 * x, ..., scale = 1) sum(x * y) * scale
  g <- gradient(f)
  expect_identical(formals(g), formals(f))
  # A default belongs to the function: it is derived as a part of it.
  expect_elements(g(x)$x, c(4, 8, 12), "f64[3]")
  expect_identical(names(g(y = y, x = x)), names(as.list(match.call(f, quote(f(y = y, x = x))))[-1L]))
  expect_elements(g(y = y, x)$x, c(4, 5, 6), "f64[3]")
  expect_elements(gradient(f, "x")(x, y, scale = 3)$x, c(12, 15, 18), "f64[3]")
  dots <- function(...) {
    args <- list(...)
    sum(args[[1]] * args$b)
  }
  got <- gradient(dots)(x, b = y)
  expect_elements(got[[1]], c(4, 5, 6), "f64[3]")
  expect_elements(got$b, c(1, 2, 3), "f64[3]")
})

test_that("primitives of R are functions too", {
  expect_elements(gradient(sum)(x)[[1]], c(1, 1, 1), "f64[3]")
  expect_elements(gradient(mean)(x)$x, rep(1 / 3, 3), "f64[3]")
})

test_that("unused inputs have zeros of their own types", {
  f <- function(a, b, c) sum(a)
  got <- gradient(f)(x, nv_tensor(c(1, 2), dtype = "f16"), nv_scalar(1.5))
  expect_elements(got$b, c(0, 0), "f16[2]")
  expect_elements(got$c, 0, "f32?[]")
  got <- gradient(function(a, b) s64(1), c("a", "b"))(
    x, nv_tensor(numeric(), dtype = "bf16", shape = c(0, 2))
  )
  expect_elements(got$a, c(0, 0, 0), "f64[3]")
  expect_elements(got$b, numeric(), "bf16[0, 2]")
})

test_that("dtype and ambiguity are those of the input, in all floats and through mixed ones", {
  for (dtype in floats) {
    x <- nv_tensor(c(1, 2, 3), dtype = dtype)
    expect_elements(gradient(function(x) sum(x * x))(x)$x, c(2, 4, 6), paste0(dtype, "[3]"))
    ambiguous <- nv_tensor(c(1, 2, 3), dtype = dtype, ambiguous = TRUE)
    expect_elements(gradient(function(x) sum(x * x))(ambiguous)$x, c(2, 4, 6), paste0(dtype, "?[3]"))
  }
  mixed <- function(a, b) sum(a * b) * nv_scalar(1.5)
  got <- gradient(mixed)(nv_tensor(c(1, 2), dtype = "f16"), f64(c(3, 4)))
  expect_elements(got$a, c(4.5, 6), "f16[2]")
  expect_elements(got$b, c(1.5, 3), "f64[2]")
})

test_that("the value is that of the function, with what comes beside it", {
  got <- value_and_gradient(product, "x")(x, y)
  expect_identical(names(got), c("value", "gradient"))
  expect_elements(got$value, 32, "f64[]")
  expect_identical(got$gradient, gradient(product, "x")(x, y))
  f <- function(x) list(sum(x^2L), list(twice = 2 * x, whole = nv_scalar(7L), text = nv_scalar(TRUE)))
  got <- value_and_gradient(f, has_aux = TRUE)(x)
  expect_identical(names(got), c("value", "aux", "gradient"))
  expect_elements(got$value, 14, "f64[]")
  expect_elements(got$gradient$x, c(2, 4, 6), "f64[3]")
  expect_elements(got$aux$twice, c(2, 4, 6), "f64[3]")
  expect_elements(got$aux$whole, 7L, "i32?[]")
  expect_identical(jit(value_and_gradient(f, has_aux = TRUE))(x), got)
})

test_that("vjp() pulls gradients of any results back", {
  f <- function(a, p) list(sum = sum(a * p$b), parts = list(2 * a, p$b^2L))
  out <- vjp(f, x, list(b = y))
  expect_identical(names(out), c("value", "pullback"))
  expect_identical(out$value, f(x, list(b = y)))
  got <- out$pullback(list(sum = s64(10), parts = list(f64(c(1, 0, 0)), f64(c(0, 0, 1)))))
  expect_identical(names(got), c("a", "p"))
  expect_elements(got$a, c(42, 50, 60), "f64[3]")
  expect_elements(got$p$b, c(10, 20, 42), "f64[3]")
  # Rows of a Jacobian.
  square <- vjp(function(x) x^2L, x)
  rows <- vapply(1:3, function(i) as.double(square$pullback(f64(as.double(1:3 == i)))$x), numeric(3))
  expect_equal(rows, diag(2 * (1:3)))
  # Inside a program, from the outside of it.
  hvp <- jit(function(x, v) vjp(gradient(function(x) sum(x^3L)), x)$pullback(list(x = v))$x)
  expect_elements(hvp(x, y), 6 * c(1, 2, 3) * c(4, 5, 6), "f64[3]")
})

# ---- together with jit ----

test_that("jit of a gradient, gradient of a jitted function, and neither give the same bits", {
  f <- function(x, y) sum(sin(x) * exp(-y / 10)) + prod(x) / max(y)
  eager <- gradient(f)(x, y)
  expect_identical(jit(gradient(f))(x, y), eager)
  expect_identical(gradient(jit(f))(x, y), eager)
  expect_identical(jit(gradient(jit(f)))(x, y), eager)
  fast <- jit(gradient(f))
  fast(x, y)
  fast(y, x)
  expect_identical(cache_info(fast)[c("hits", "misses")], list(hits = 1L, misses = 1L))
})

test_that("static arguments are values", {
  f <- function(x, power, label) if (label == "sum") sum(x^power) else mean(x^power)
  g <- jit(gradient(f, "x"), static = c("power", "label"))
  expect_elements(g(x, 2L, "sum")$x, c(2, 4, 6), "f64[3]")
  expect_elements(g(x, 2L, "mean")$x, c(2, 4, 6) / 3, "f64[3]")
  # Without jit, what is not derived by is as it was given.
  expect_elements(gradient(f, "x")(x, 3L, "sum")$x, c(3, 12, 27), "f64[3]")
})

test_that("closures capture tensors and tracers of the program around", {
  captured <- function(a) gradient(function(x) sum(x * a * y))(x)$x
  expect_elements(captured(s64(2)), c(8, 10, 12), "f64[3]")
  expect_elements(jit(captured)(s64(2)), c(8, 10, 12), "f64[3]")
  # By what was captured, around it: d/da sum(x a y) twice.
  outer <- gradient(function(a) sum(gradient(function(x) sum(x^2L * a))(x)$x))
  expect_elements(outer(s64(2))$a, 12, "f64[]")
  # What is captured is not derived inside.
  both <- gradient(function(x) sum(gradient(function(y) sum(y * x))(x)$y))
  expect_elements(both(x)$x, c(1, 1, 1), "f64[3]")
})

test_that("rules of promotion in force outside are in force inside", {
  f <- function(a, b) nv_convert(sum(a * b), "f64")
  a <- nv_tensor(c(1, 2), dtype = "f16")
  b <- nv_tensor(c(1L, 2L))
  inside <- with_promotion_rules("torch", gradient(f, "a")(a, b))
  expect_elements(inside$a, c(1, 2), "f16[2]")
  graph <- function() graph_text(trace_fn(gradient(f, "a"), a = a, b = b))
  expect_identical(with_promotion_rules("torch", graph()), with_promotion_rules("torch", graph()))
  strict <- with_promotion_rules("strict", condition_of(gradient(f, "a")(a, b)))
  expect_s3_class(strict, "anvil_error")
  expect_closed()
})

# ---- orders ----

test_that("gradients of gradients go to any order", {
  d <- function(f) function(x) gradient(f)(x)$x
  f <- function(x) x^5L + sin(x)
  at <- s64(0.7)
  expect_equal(as.double(d(f)(at)), 5 * 0.7^4 + cos(0.7))
  expect_equal(as.double(d(d(f))(at)), 20 * 0.7^3 - sin(0.7))
  expect_equal(as.double(d(d(d(f)))(at)), 60 * 0.7^2 - cos(0.7))
  expect_equal(as.double(d(d(d(d(f))))(at)), 120 * 0.7 + sin(0.7))
  expect_identical(jit(d(d(d(f))))(at), d(d(d(f)))(at))
})

test_that("products of Hessians and vectors", {
  f <- function(x) sum(x[1:2] * x[2:3]) + prod(x)
  hessian <- rbind(c(0, 1 + 3, 2), c(1 + 3, 0, 1 + 1), c(2, 1 + 1, 0))
  v <- c(1, -2, 0.5)
  got <- gradient(function(x) sum(gradient(f)(x)$x * f64(v)))(x)$x
  expect_equal(as.double(got), as.double(hessian %*% v))
})

# ---- what functions do ----

test_that("gradients are those of differences", {
  matrix <- matrix(c(0.3, -0.5, 0.8, 1.2, -0.7, 0.1), 2)
  expect_gradient(function(x) sum(tanh(x %*% t(x))), matrix)
  expect_gradient(function(x) mean(x^2L) * max(x) - min(x[1, ]), matrix)
  expect_gradient(function(x) sum(log1p(exp(x))[list(2, 1), 2:3] * x[, list(1, 1)]), matrix)
  expect_gradient(function(x) {
    x[1, 2:3] <- 2 * x[2, 1:2]
    sum(x^3L)
  }, matrix)
  expect_gradient(function(x) sum(nv_clamp(-0.4, x, 0.9) * nv_ifelse(x > 0, x, exp(x))), matrix)
  expect_gradient(function(x) sum(nv_concatenate(x, nv_reverse(x, 1L), axis = 1L)^2L * 0.5), matrix)
  expect_gradient(function(x) sum(abs(exp(nv_complex(x, x^2L)))) + sum(Re(nv_complex(x, 1)^2)), matrix)
})

test_that("integers, comparisons and rounding in the middle have no part", {
  f <- function(x) {
    sum(x * nv_convert(nv_convert(x, "i32"), "f64")) + sum(round(x)) + sum(nv_convert(x > 2, "f64"))
  }
  expect_elements(gradient(f)(f64(c(1.2, 2.4, 3.6)))$x, c(1, 2, 3), "f64[3]")
  argument <- function(x, i) sum(x[i])
  expect_elements(gradient(argument, "x")(x, nv_tensor(c(3L, 1L, 3L)))$x, c(1, 0, 2), "f64[3]")
})

test_that("nv_stop_gradient() takes a value for a constant", {
  expect_elements(gradient(function(x) sum(x * nv_stop_gradient(x)))(x)$x, c(1, 2, 3), "f64[3]")
  expect_elements(gradient(function(x) sum(nv_stop_gradient(x^2L)))(x)$x, c(0, 0, 0), "f64[3]")
  expect_elements(nv_stop_gradient(x), c(1, 2, 3), "f64[3]")
  # Straight through: the value of a step, the gradient of the identity.
  through <- function(x) sum(x + nv_stop_gradient(round(x) - x))
  expect_elements(gradient(through)(f64(c(1.2, 2.7)))$x, c(1, 1), "f64[2]")
})

test_that("corners are as documented", {
  g <- function(f, ...) as_array(gradient(f, 1L)(...)[[1L]])
  expect_identical(c(g(function(x, y) nv_max(x, y), s64(1), s64(1))), 0.5)
  expect_identical(c(g(function(x) max(x), f64(c(2, 2, 1)))), c(0.5, 0.5, 0))
  expect_identical(c(g(function(x) prod(x), f64(c(2, 0, 3)))), c(0, 6, 0))
  expect_identical(c(g(abs, s64(0))), 0)
  expect_identical(c(g(function(x) abs(nv_complex(x, 0 * x)), s64(0))), 0)
  expect_identical(c(g(sqrt, s64(0))), Inf)
  expect_identical(c(g(function(x) x^2L, s64(0))), 0)
  expect_identical(c(g(function(x) x^3L, s64(-2))), 12)
  expect_identical(c(g(function(x) nv_clamp(0, x, 1), s64(1))), 1)
  # A value that is not chosen has no say, not even where its derivative is infinite.
  expect_identical(c(g(function(x) sum(nv_ifelse(x > 0, sqrt(x), 0)), f64(c(0, 4)))), c(0, 0.25))
  expect_identical(c(g(function(x) sum(nv_ifelse(x > 0, log(x) * x, x)), f64(c(0, 1)))), c(1, 1))
})

# ---- what it costs ----

test_that("a gradient does no work twice, and none for nothing", {
  mlp <- function(w1, b1, w2, b2, x, y) {
    hidden <- x %*% w1
    hidden <- tanh(hidden + nv_broadcast_to(b1, shape(hidden)))
    out <- hidden %*% w2
    mean((out + nv_broadcast_to(b2, shape(out)) - y)^2L)
  }
  of <- function(...) nv_abstract("f32", c(...))
  args <- list(w1 = of(3, 5), b1 = of(5), w2 = of(5, 2), b2 = of(2), x = of(7, 3), y = of(7, 2))
  graph <- graph_text(do.call(trace_fn, c(gradient(mlp, 1:4), args)), optimised = TRUE)
  ops <- regmatches(graph, gregexpr("= [a-z_]+", graph))[[1L]]
  ops <- sub("= ", "", ops[ops != "= c"], fixed = TRUE)
  count <- function(op) sum(ops == op)
  # Two products forwards, one for each weight backwards, one for the hidden layer.
  expect_identical(count("dot_general"), 5L)
  expect_identical(count("tanh"), 1L)
  for (op in c("pow", "log", "transpose", "reshape", "convert", "select", "div")) {
    expect_identical(count(op), 0L, label = op)
  }
  # By tanh' and by the square's derivative; times 2, and tanh' itself.
  expect_identical(count("mul_no_nan") + count("mul"), 4L)
  expect_identical(count("reduce_sum"), 2L)
})

# ---- branches and loops ----

test_that("gradients go through branches and loops", {
  expect_gradient(function(x) nv_if(sum(x) > 0, sum(sin(x)), sum(x^2L)), c(0.5, 0.3))
  expect_gradient(function(x) nv_if(sum(x) > 0, sum(sin(x)), sum(x^2L)), c(-0.5, 0.3))
  expect_gradient(
    function(x) sum(nv_for(4L, x, function(i, s) sin(s) * nv_convert(i, "f64") + x)), c(0.5, 0.3)
  )
  step <- function(state, slice) {
    state <- list(h = tanh(state$h + slice), n = state$n + 1L)
    list(state, state$h^2L * state$n)
  }
  for (checkpoint in c(FALSE, TRUE)) for (reverse in c(FALSE, TRUE)) {
    expect_gradient(function(x) {
      out <- nv_scan(
        step, list(h = s64(0.1), n = nv_scalar(0L)), x, reverse = reverse, checkpoint = checkpoint
      )
      sum(out$ys) + out$carry$h
    }, c(0.5, -0.3, 0.2))
  }
})

test_that("gradients inside of loops, loops inside of gradients, and both", {
  loss <- function(w) sum((w - y)^2L)
  descend <- function(w) nv_for(20L, w, function(i, w) w - 0.1 * gradient(loss)(w)$w)
  expected <- c(4, 5, 6) + 0.8^20 * (c(1, 2, 3) - c(4, 5, 6))
  expect_equal(as.double(descend(x)), expected)
  expect_identical(jit(descend)(x), descend(x))
  # How the end depends on the beginning.
  expect_equal(as.double(gradient(function(w) sum(descend(w)))(x)$w), rep(0.8^20, 3))
  # And on the rate, which each step captures.
  by_rate <- gradient(function(rate) sum(nv_for(3L, x, function(i, w) w - rate * gradient(loss)(w)$w)))
  expect_equal(as.double(by_rate(s64(0.1))$rate), sum(-6 * 0.8^2 * (c(1, 2, 3) - c(4, 5, 6))))
})

test_that("second derivatives go through loops", {
  f <- function(x) nv_for(3L, x, function(i, s) s * x)
  d <- function(f) function(x) gradient(f)(x)[[1L]]
  expect_equal(as.double(d(d(f))(s64(2))), 12 * 4)
  expect_equal(as.double(d(d(d(f)))(s64(2))), 24 * 2)
})

test_that("a loop with a condition says what to use instead, unless it has no part", {
  f <- function(x) nv_while(x, function(x) x < 10, function(x) x * 2)
  e <- expect_error(gradient(f)(s64(1)), class = "anvil_error_grad", "max_steps.*nv_scan.*nv_for")
  expect_identical(e$op, "nv_while")
  expect_closed()
  counted <- function(x) {
    x * nv_convert(nv_while(nv_scalar(1L), function(i) i < 10L, function(i) i * 2L), "f64")
  }
  expect_elements(gradient(counted)(s64(3))$x, 16, "f64[]")
  expect_elements(gradient(function(x) x * f(nv_stop_gradient(x)))(s64(3))$x, 12, "f64[]")
})

# ---- what is refused ----

test_that("`wrt` is a choice of arguments", {
  for (wrt in list(TRUE, NA_character_, 0, -1, 1.5, c("x", "x"), list("x"), c(1, 1))) {
    e <- expect_fields(gradient(product, wrt), "anvil_error_arg", arg = "wrt")
    expect_identical(conditionCall(e), quote(gradient(product, wrt)))
  }
  f <- user(function(x, y) sum(x))
  g <- gradient(user(function(...) sum(x)), "z")
  e <- expect_fields(g(x = x, y = y), "anvil_error_arg", arg = "wrt")
  expect_match(conditionMessage(e), "\"z\"", fixed = TRUE)
  expect_match(conditionMessage(e), "x, y", fixed = TRUE)
  expect_identical(conditionCall(e), quote(g(x = x, y = y)))
  expect_identical(call_of(gradient(f, "z")), "gradient(f, \"z\")")
  # Given in the function, but not in the call.
  expect_fields(gradient(function(x, y = x) sum(y), "y")(x), "anvil_error_arg", arg = "wrt")
  for (path in c("p$nothing", "p$a[[1]]", "p[[3]]", "p$a + 1", "p$", "f(p)", "1")) {
    expect_fields(gradient(function(p) sum(p$a), path)(list(a = x, b = y)), "anvil_error_arg", arg = "wrt")
  }
  expect_closed()
})

test_that("only float tensors are derived by", {
  f <- function(x, other) sum(x)
  refused <- function(other, what) {
    g <- gradient(f)
    e <- expect_error(g(x, other), class = "anvil_error_grad", "Cannot differentiate with respect to `other`")
    expect_match(conditionMessage(e), what, fixed = TRUE)
    expect_identical(conditionCall(e), quote(g(x, other)))
    expect_identical(e$op, "gradient")
    expect_closed()
  }
  refused(nv_tensor(1:2), "i32")
  refused(nv_scalar(TRUE), "i1")
  refused(1:2, "i32")
  refused(factor("a"), "factor")
  refused(mean, "function")
  refused("text", "\"text\"")
  refused(list(), "list")
  e <- expect_error(gradient(f)(x, list(a = list(y, TRUE))), class = "anvil_error_grad")
  expect_match(conditionMessage(e), "i1", fixed = TRUE)
  # What is not chosen may be anything.
  expect_elements(gradient(f, "x")(x, mean)$x, c(1, 1, 1), "f64[3]")
})

test_that("a loss is one float", {
  refused <- function(f, got) {
    g <- gradient(f)
    e <- expect_error(g(x), class = "anvil_error_grad", "one float")
    expect_match(conditionMessage(e), got, fixed = TRUE)
    expect_match(conditionMessage(e), "`sum()` or `mean()`", fixed = TRUE)
    expect_identical(conditionCall(e), quote(g(x)))
    expect_closed()
  }
  refused(function(x) x, "f64[3]")
  refused(function(x) x[1:2], "f64[2]")
  refused(function(x) nv_convert(sum(x), "i32"), "i32[]")
  refused(function(x) sum(x) > 0, "i1[]")
  refused(function(x) nv_complex(sum(x), 1), "c128[]")
  refused(function(x) list(sum(x)), "list")
  refused(function(x) NULL, "NULL")
  refused(function(x) 1, "1")
  with_aux <- value_and_gradient(function(x) sum(x), has_aux = TRUE)
  expect_error(with_aux(x), class = "anvil_error_grad", "list(value, aux)", fixed = TRUE)
  with_aux <- value_and_gradient(function(x) list(x, 1), has_aux = TRUE)
  expect_error(with_aux(x), class = "anvil_error_grad", "f64[3]", fixed = TRUE)
})

test_that("other arguments are checked in the user's call", {
  expect_identical(call_of(gradient("f")), "gradient(\"f\")")
  expect_fields(gradient(1), "anvil_error_arg", arg = "f")
  expect_fields(value_and_gradient(product, has_aux = NA), "anvil_error_arg", arg = "has_aux")
  expect_fields(vjp(2, x), "anvil_error_arg", arg = "f")
  pullback <- vjp(product, x, y)$pullback
  expect_fields(pullback(x), "anvil_error_arg", arg = "gradient")
  expect_fields(pullback(list(s64(1), s64(1))), "anvil_error_arg", arg = "gradient")
  expect_fields(pullback(nv_scalar(1L)), "anvil_error_arg", arg = "gradient")
  expect_elements(pullback(s64(2))$x, c(8, 10, 12), "f64[3]")
})

test_that("an error in the function leaves nothing open", {
  f <- user(function(x) stop("mine"))
  expect_error(gradient(f)(x), "mine")
  expect_closed()
  expect_error(jit(function(x) gradient(f)(x))(x), "mine")
  expect_closed()
  # A program goes on after one that it caught.
  after <- jit(function(x) {
    tryCatch(gradient(f)(x), error = function(e) NULL)
    sum(x) * 2
  })
  expect_elements(after(x), 12, "f64[]")
  branch <- user(function(x) if (x > 0) x else -x)
  e <- expect_error(gradient(branch)(s64(1)), class = "anvil_error_concrete")
  expect_identical(deparse1(conditionCall(e)), "if (x > 0) x else -x")
  expect_closed()
})

test_that("a wrt that names no argument is found when the derivative is made", {
  f <- function(x, p) sum(x * p)
  for (make in c(gradient, value_and_gradient)) {
    error <- expect_fields(make(f, wrt = "y"), "anvil_error_arg", arg = "wrt", got = "\"y\"")
    expect_match(conditionMessage(error), "arguments of `f` (x, p)", fixed = TRUE)
    expect_fields(make(f, wrt = c("x", "q$w")), "anvil_error_arg", arg = "wrt", got = "\"q$w\"")
    expect_fields(make(f, wrt = 3), "anvil_error_arg", arg = "wrt", got = "3")
    expect_fields(make(f, wrt = "p$w[[1"), "anvil_error_arg", arg = "wrt")
    expect_fields(make(jit(f), wrt = "y"), "anvil_error_arg", arg = "wrt")
    expect_error(make(f, wrt = "p$w[[1]]"), NA)
    # What is in dots is known when the derivative is called.
    late <- make(function(x, ...) sum(x), wrt = "y")
    expect_fields(late(nv_tensor(1)), "anvil_error_arg", arg = "wrt", got = "\"y\"")
  }
  expect_identical(names(gradient(f, 2)(nv_tensor(1), nv_tensor(2))), "p")
})

test_that("an argument that the caller of a derived function was not given is left out", {
  f <- function(x, y = nv_scalar(3)) x * y
  outer <- function(x, y) gradient(f, "x")(x, y)
  expect_identical(as.double(outer(nv_scalar(2))$x), 3)
  expect_identical(as.double(outer(nv_scalar(2), nv_scalar(5))$x), 5)
  # A default of the caller's is a value.
  outer <- function(x, y = nv_scalar(7)) gradient(f, "x")(x, y)
  expect_identical(as.double(outer(nv_scalar(2))$x), 7)
  expect_fields((function(x) gradient(f, "x")(x))(), "anvil_error_arg", arg = "wrt")
  own <- custom_gradient(f, function(x, y) list(x * y, y), function(y, g) list(g * y, NULL))
  expect_identical(as.double((function(x, y) own(x, y))(nv_scalar(2))), 6)
})

test_that("arithmetic with a list of gradients says to take its element", {
  f <- function(x) sum(x^2)
  x <- nv_tensor(c(1, 2))
  said <- function(expr, advice) {
    e <- expect_error(expr, class = "anvil_error_arg", "not a list of length")
    expect_match(conditionMessage(e), advice, fixed = TRUE)
  }
  for (op in list(`-`, `+`, `*`, `/`, `^`, `%%`, `%/%`, `==`, `<`)) {
    said(op(x, gradient(f)(x)), "Gradients are a list: take its element `$x`.")
    said(op(gradient(f)(x), x), "Gradients are a list: take its element `$x`.")
  }
  said(jit(function(x) x - 0.1 * gradient(f)(x)$x + gradient(f)(x))(x), "its element `$x`.")
  said(nv_sub(x, gradient(f)(x)), "its element `$x`.")
  g <- function(w, b) sum(w * 2 + b)
  said(x - gradient(g, "w")(x, x), "its element `$w`.")
  said(x - gradient(g)(x, x), "one of its elements, `$w` or `$b`.")
  said(x - value_and_gradient(g)(x, x), "one of its elements, `$value` or `$gradient`.")
  said(x - list(a = x, b = x, c = x, d = x), "such as `$a`, `$b`, `$c`.")
  # The gradient with respect to a list is one itself.
  h <- function(p) sum(p$w * 2)
  said(x - gradient(h)(list(w = x)), "its element `$p`.")
  said(x - gradient(h)(list(w = x))$p, "its element `$w`.")
  # Any other list.
  for (wrong in list(list(1, 2), list(x), list(a = 1))) {
    e <- expect_error(x - wrong, class = "anvil_error_arg", "Take one of its elements, such as `")
    expect_no_match(conditionMessage(e), "Gradients")
  }
  expect_no_match(conditionMessage(expect_error(x - list(), class = "anvil_error_arg")), "\ni ")
  expect_nv(x - gradient(f)(x)$x, c(-1, -2), "f32")
})

test_that("a gradient or tangent of 0 stays 0 where a derivative is infinite or not a number", {
  zero <- nv_scalar(0, dtype = "f64")
  one <- nv_scalar(1, dtype = "f64")
  for (f in list(sqrt, log, nv_rsqrt, nv_cbrt, user(function(x) x^0.5), user(function(x) 1 / x))) {
    expect_equal(as.double(gradient(user_env(function(x) 0 * h(x), h = f))(zero)$x), 0)
    expect_equal(as.double(jvp(f, list(zero), list(zero))$tangent), 0)
  }
  x <- nv_scalar(Inf, dtype = "f64")
  expect_equal(as.double(gradient(user(function(x, y) 0 * (x * y)))(x, one)$y), 0)
  expect_equal(as.double(jvp(user(function(x, y) x * y), list(x, one), list(one, zero))$tangent), 1)
})

test_that("gradients of complex numbers are the derivative by x minus i times that by y", {
  z <- nv_scalar(0.6 + 0.7i, dtype = "c128")
  at <- function(f) as.complex(gradient(f)(z)$z)
  # Of a holomorphic function's real part, its derivative.
  expect_equal(at(user(function(z) Re(exp(z)))), exp(0.6 + 0.7i), tolerance = 1e-14)
  expect_equal(at(user(function(z) Im(exp(z)))), -1i * exp(0.6 + 0.7i), tolerance = 1e-14)
  # Of others: x^2 + y^2, x, the angle.
  expect_equal(at(user(function(z) Re(z * Conj(z)))), 2 * (0.6 - 0.7i), tolerance = 1e-14)
  expect_equal(at(user(function(z) Re(Conj(z)))), 1 + 0i, tolerance = 1e-14)
  expect_equal(at(user(function(z) Mod(z))), (0.6 - 0.7i) / Mod(0.6 + 0.7i), tolerance = 1e-14)
  expect_equal(at(user(function(z) Arg(z))), (-0.7 - 0.6i) / Mod(0.6 + 0.7i)^2, tolerance = 1e-14)
  v <- nv_scalar(1i, dtype = "c128")
  expect_equal(as.complex(jvp(Conj, list(z), list(v))$tangent), -1i)
  expect_equal(as.double(jvp(user(function(z) Mod(z)), list(z), list(v))$tangent), 0.7 / Mod(0.6 + 0.7i))
})

test_that("scatters by mul, min and max have derivatives in both modes, ties the mean", {
  x <- nv_tensor(c(2, 3, 5), dtype = "f64")
  u <- nv_tensor(c(4, 3, 7), dtype = "f64")
  by <- function(how) {
    user_env(function(x, u) {
      nv_scatter(
        x, nv_tensor(matrix(c(1L, 2L, 1L), 3)), u, update_window_axes = integer(), inserted_window_axes = 1L,
        scatter_axes_to_operand_axes = 1L, index_vector_axis = 2L, update_computation = how
      )
    }, how = how)
  }
  # Results: 2 * 4 * 7, 3 * 3, 5; of min: 2, a tie, 5; of max: 7, a tie, 5.
  expected <- list(
    mul = list(x = c(28, 3, 1), u = c(14, 3, 8)), min = list(x = c(1, 0.5, 1), u = c(0, 0.5, 0)),
    max = list(x = c(0, 0.5, 1), u = c(0, 0.5, 1))
  )
  one <- nv_tensor(c(1, 1, 1), dtype = "f64")
  for (how in names(expected)) {
    g <- gradient(user_env(function(x, u) sum(h(x, u)), h = by(how)))(x, u)
    expect_equal(as.double(g$x), expected[[how]]$x)
    expect_equal(as.double(g$u), expected[[how]]$u)
    for (i in 1:3) {
      moves <- list(one * as.double(1:3 == i), NULL)
      expect_equal(sum(as.double(jvp(by(how), list(x, u), moves)$tangent)), expected[[how]]$x[i])
      expect_equal(sum(as.double(jvp(by(how), list(x, u), rev(moves))$tangent)), expected[[how]]$u[i])
    }
  }
})

test_that("a loss of one element is one number, whatever its shape", {
  x <- nv_tensor(c(1, 2, 3), "f64")
  losses <- list(
    function(x) crossprod(x), function(x) as.numeric(crossprod(x)), function(x) cumsum(x * x)[3:3]
  )
  for (f in losses) {
    for (g in list(value_and_gradient(f), jit(value_and_gradient(f)))) {
      out <- g(x)
      expect_elements(out$value, 14, "f64[]")
      expect_elements(out$gradient$x, c(2, 4, 6), "f64[3]")
    }
  }
  expect_equal(as_array(hessian(function(x) crossprod(x))(x)$x$x), diag(2, 3))
  aux <- value_and_gradient(function(x) list(crossprod(x), x[1]), has_aux = TRUE)(x)
  expect_elements(aux$value, 14, "f64[]")
  expect_elements(aux$aux, 1, "f64[]")
})
