f64 <- function(x, ...) nv_tensor(x, dtype = "f64", ...)
scalar64 <- function(x) nv_scalar(x, dtype = "f64")

softplus <- custom_gradient(
  user(function(x) log(1 + exp(x))),
  forward = user(function(x) list(log(1 + exp(x)), x)),
  backward = user(function(x, g) list(g * nv_logistic(x)))
)

test_that("without a gradient it is the function itself, eager and jitted", {
  x <- f64(c(-1, 0.5))
  expect_identical(softplus(x), log(1 + exp(x)))
  expect_identical(jit(softplus)(x), jit(user(function(x) log(1 + exp(x))))(x))
  # Nothing of the way forward and back is left in the program.
  graph <- trace_fn(softplus, nv_abstract("f64"))
  expect_match(graph_text(graph), "custom_gradient")
  expect_no_match(graph_text(graph, optimised = TRUE), "custom_gradient|logistic")
})

test_that("the gradient is the one that is given", {
  # Far out, exp() overflows, and so does the derivative of its ops.
  expect_nv(gradient(softplus)(scalar64(800))$x, 1, "f64", integer())
  x <- c(-2, 0, 3)
  out <- gradient(user_env(function(x) sum(softplus(x) * x), softplus = softplus))(f64(x))$x
  expect_equal(as.vector(out), plogis(x) * x + log1p(exp(x)), tolerance = 1e-14)
  clip <- custom_gradient(
    user(function(x) x), user(function(x) list(x, NULL)), user(function(kept, g) list(nv_clamp(-1, g, 1)))
  )
  expect_nv(gradient(user_env(function(x) clip(x)^2, clip = clip))(scalar64(10))$x, 1, "f64", integer())
})

test_that("it can be derived again, and inside loops and branches", {
  p <- plogis(0.5)
  second <- gradient(user_env(function(x) gradient(softplus)(x)$x, softplus = softplus))
  expect_equal(as.vector(second(scalar64(0.5))$x), p * (1 - p), tolerance = 1e-14)
  loop <- user_env(function(x) nv_for(3, x, function(i, s) softplus(s)), softplus = softplus)
  numeric <- function(x) log1p(exp(log1p(exp(log1p(exp(x))))))
  expected <- (numeric(0.5 + 1e-5) - numeric(0.5 - 1e-5)) / 2e-5
  # The error of the differences is about 1e-10.
  expect_equal(as.vector(gradient(loop)(scalar64(0.5))$x), expected, tolerance = 1e-8)
  branch <- user_env(function(x) nv_if(x > 0, softplus(x), x), softplus = softplus)
  expect_equal(as.vector(gradient(branch)(scalar64(0.5))$x), p, tolerance = 1e-14)
})

test_that("functions with gradients of their own are made of others, to any depth", {
  # Level k gives sin(x), and k times itself for its gradient.
  around <- function(f, k) {
    custom_gradient(
      user_env(function(x) g(x), g = f),
      forward = user_env(function(x) list(g(x), x), g = f),
      backward = user_env(function(x, slope) list(slope * k * g(x)), g = f, k = k)
    )
  }
  x <- scalar64(0.5)
  f <- user(function(x) sin(x))
  for (k in 1:4) {
    f <- around(f, k)
    expect_equal(as.double(jit(f)(x)), sin(0.5), tolerance = 1e-15)
    expect_equal(as.double(gradient(f)(x)$x), k * sin(0.5), tolerance = 1e-15)
    twice <- user_env(function(x) gradient(g)(x)$x, g = f)
    # The gradient of k times the function below.
    second <- k * (if (k > 1) (k - 1) * sin(0.5) else cos(0.5))
    expect_equal(as.double(gradient(twice)(x)$x), second, tolerance = 1e-15)
    # Regions inside and outside of it.
    s <- sin(sin(0.5))
    bodies <- list(
      user_env(function(x) nv_for(2L, x, function(i, x) g(x)), g = f),
      user_env(function(x) nv_for(2L, x, function(i, x) g(x), checkpoint = TRUE), g = f),
      user_env(function(x) nv_scan(function(x, i) list(g(x), g(x)), x, nv_tensor(1:2))$carry, g = f),
      user_env(function(x) nv_if(x > 0, g(nv_if(x > 9, x, g(x))), x), g = f)
    )
    for (body in bodies) {
      expect_equal(as.double(jit(body)(x)), s, tolerance = 1e-15)
      expect_equal(as.double(gradient(body)(x)$x), k^2 * s * sin(0.5), tolerance = 1e-15)
      expect_equal(as.double(jit(around(body, 7))(x)), s, tolerance = 1e-15)
      expect_equal(as.double(gradient(around(body, 7))(x)$x), 7 * s, tolerance = 1e-15)
      graph <- graph_text(trace_fn(gradient(around(body, 7)), x), optimised = TRUE)
      expect_no_match(graph, "custom_gradient")
    }
    loop <- user_env(function(x) nv_while(x, function(x) g(x) > 0.45, function(x) g(x)), g = f)
    expect_equal(as.double(jit(loop)(x)), s, tolerance = 1e-15)
  }
})

test_that("arguments and values are nested lists; some have no gradient", {
  f <- function(p, n, how) list(sum = p$a + p$b[[1L]], count = n)
  g <- custom_gradient(
    user(f),
    forward = user(function(p, n, how) list(list(sum = p$a + p$b[[1L]], count = n), list(kept = p$a))),
    backward = user(function(kept, g) list(list(a = g$sum * kept$kept, b = list(7 * g$sum)), NULL, NULL))
  )
  loss <- user_env(function(p, n) g(p, n, how = "any R value")$sum, g = g)
  p <- list(a = scalar64(3), b = list(scalar64(5)))
  out <- gradient(loss, "p")(p, nv_scalar(2L))$p
  expect_nv(out$a, 3, "f64", integer())
  expect_nv(out$b[[1L]], 7, "f64", integer())
})

test_that("it uses values around it", {
  scale <- scalar64(2)
  outer <- user_env(function(x, w) {
    f <- custom_gradient(
      function(x) x * w, function(x) list(x * w, NULL), function(kept, g) list(g * w * scale)
    )
    f(x) + w
  }, scale = scale)
  out <- jit(gradient(outer))(scalar64(3), scalar64(5))
  expect_nv(out$x, 10, "f64", integer())
  # What is only closed over has no gradient through it.
  expect_nv(out$w, 1, "f64", integer())
})

test_that("functions of another form are errors that say so", {
  id <- user(function(x) x)
  keep <- user(function(x) list(x, NULL))
  back <- user(function(kept, g) list(g))
  expect_fields(custom_gradient(1, keep, back), "anvil_error_arg", arg = "f")
  expect_fields(custom_gradient(id, "a", back), "anvil_error_arg", arg = "forward")
  expect_fields(custom_gradient(id, keep, NULL), "anvil_error_arg", arg = "backward")
  x <- scalar64(1)
  expect_error(gradient(custom_gradient(id, id, back))(x), class = "anvil_error_arg")
  expect_error(gradient(custom_gradient(id, keep, user(function(kept, g) g)))(x), class = "anvil_error_arg")
  other <- user(function(x) list(nv_convert(x, "f32"), NULL))
  error <- expect_error(gradient(custom_gradient(id, other, back))(x), class = "anvil_error_structure")
  expect_match(conditionMessage(error), "f64[]", fixed = TRUE)
  wrong <- user(function(kept, g) list(nv_convert(g, "f32")))
  expect_error(gradient(custom_gradient(id, keep, wrong))(x), class = "anvil_error_structure")
  expect_identical(.Call(anvil:::anvil_trace_depth), 0L)
})
