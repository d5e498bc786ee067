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

# ---- custom_jvp() ----

softplus2 <- custom_jvp(
  user(function(x) log(1 + exp(x))),
  user(function(primals, tangents) {
    list(log(1 + exp(primals$x)), tangents$x * nv_logistic(primals$x))
  })
)

test_that("a rule for forward mode changes no value, and serves both modes", {
  x <- f64(c(-1, 0.5))
  expect_identical(softplus2(x), log(1 + exp(x)))
  expect_identical(jit(softplus2)(x), log(1 + exp(x)))
  expect_no_match(graph_text(trace_fn(softplus2, x), optimised = TRUE), "custom_jvp|logistic")
  # Far out, exp() overflows, and so does the derivative of its ops.
  far <- scalar64(800)
  expect_nv(gradient(softplus2)(far)$x, 1, "f64", integer())
  expect_nv(jvp(softplus2, list(far), list(scalar64(3)))$tangent, 3, "f64", integer())
  expect_nv(jit(gradient(softplus2))(far)$x, 1, "f64", integer())
  along <- user_env(function(x, v) jvp(h, list(x), list(v)), h = softplus2)
  expect_identical(jit(along)(x, x), along(x, x))
  expect_equal(as.vector(along(x, x)$tangent), plogis(c(-1, 0.5)) * c(-1, 0.5), tolerance = 1e-14)
})

test_that("a rule for forward mode is derived again, in any order of the modes", {
  p <- plogis(0.5)
  x <- scalar64(0.5)
  v <- scalar64(1)
  h <- softplus2
  reverse <- user_env(function(x) gradient(h)(x)$x, h = h)
  forward <- user_env(function(x) jvp(h, list(x), list(v))$tangent, h = h, v = v)
  for (slope in list(reverse, forward)) {
    expect_equal(as.double(slope(x)), p, tolerance = 1e-14)
    expect_equal(as.double(gradient(slope)(x)$x), p * (1 - p), tolerance = 1e-14)
    expect_equal(as.double(jvp(slope, list(x), list(v))$tangent), p * (1 - p), tolerance = 1e-14)
  }
  # Where the value is used beside its gradient, the rule holds for both.
  both <- user_env(function(x) {
    made <- value_and_gradient(h)(x)
    made$value + made$gradient$x
  }, h = h)
  expect_equal(as.double(gradient(both)(scalar64(800))$x), 1, tolerance = 1e-14)
})

test_that("a rule for forward mode holds in loops, branches, and functions with rules of their own", {
  g <- softplus2
  x <- scalar64(0.5)
  numeric <- function(x) log1p(exp(log1p(exp(x))))
  slope <- (numeric(0.5 + 1e-5) - numeric(0.5 - 1e-5)) / 2e-5
  twice <- user_env(function(x) g(g(x)), g = g)
  around <- custom_jvp(twice, user_env(function(primals, tangents) {
    jvp(twice, primals, tangents)
  }, twice = twice))
  for (h in list(
    twice, around,
    user_env(function(x) nv_for(2L, x, function(i, x) g(x)), g = g),
    user_env(function(x) nv_for(2L, x, function(i, x) g(x), checkpoint = TRUE), g = g),
    user_env(function(x) nv_scan(function(x, i) list(g(x), g(x)), x, nv_tensor(1:2))$ys[2], g = g),
    user_env(function(x) nv_if(x > 0, g(g(x)), x), g = g)
  )) {
    expect_equal(as.double(jit(h)(x)), numeric(0.5), tolerance = 1e-14)
    # The error of the differences is about 1e-10.
    total <- user_env(function(x) sum(h(x)), h = h)
    expect_equal(as.double(gradient(total)(x)$x), slope, tolerance = 1e-8)
    expect_equal(as.double(jvp(h, list(x), list(scalar64(1)))$tangent), slope, tolerance = 1e-8)
  }
  repeated <- user_env(function(x) nv_while(x, function(x) x < 1, function(x) g(x)), g = g)
  expect_equal(as.double(jvp(repeated, list(x), list(scalar64(1)))$tangent), slope, tolerance = 1e-8)
})

test_that("arguments of a rule are nested lists by name; what has no tangent is NULL", {
  seen <- new.env()
  f <- user(function(p, n, how = "sum") list(sum = p$a * p$b[[1L]], count = n + 1L))
  rule <- user_env(function(primals, tangents) {
    seen$tangents <- lapply(tangents, class)
    seen$how <- primals$how
    list(
      tangent = list(
        sum = tangents$p$a * primals$p$b[[1L]] + 10 * primals$p$a * tangents$p$b[[1L]], count = NULL
      ),
      value = list(sum = primals$p$a * primals$p$b[[1L]], count = primals$n + 1L)
    )
  }, seen = seen)
  g <- custom_jvp(f, rule)
  p <- list(a = scalar64(3), b = list(scalar64(5)))
  loss <- user_env(function(p, n) g(n = n, p = p, how = "any R value")$sum, g = g)
  out <- gradient(loss, "p")(p, nv_scalar(2L))$p
  expect_nv(out$a, 5, "f64", integer())
  expect_nv(out$b[[1L]], 30, "f64", integer())
  expect_identical(seen$how, "any R value")
  expect_identical(seen$tangents$n, "NULL")
  # What does not move has a tangent of zeros.
  made <- jvp(g, list(p, nv_scalar(2L)), list(list(a = NULL, b = list(scalar64(1))), NULL))
  expect_nv(made$tangent$sum, 30, "f64", integer())
  expect_null(made$tangent$count)
  expect_nv(made$value$count, 3L, "i32", integer(), ambiguous = TRUE)
})

test_that("what a rule captures is a constant, in both modes", {
  outer <- user(function(x, w) {
    f <- custom_jvp(function(x) x * w, function(primals, tangents) list(primals$x * w, tangents$x * w))
    f(x)
  })
  out <- jit(gradient(outer))(scalar64(3), scalar64(5))
  expect_nv(out$x, 5, "f64", integer())
  expect_nv(out$w, 0, "f64", integer())
  made <- jvp(outer, list(scalar64(3), scalar64(5)), list(scalar64(1), scalar64(1)))
  expect_nv(made$tangent, 5, "f64", integer())
})

test_that("empty tensors and complex numbers have tangents in a rule", {
  square <- custom_jvp(
    user(function(z) z^2), user(function(primals, tangents) list(primals$z^2, 2 * primals$z * tangents$z))
  )
  empty <- nv_empty("f64", c(0L, 2L))
  expect_identical(jvp(square, list(empty), list(empty))$tangent, empty)
  z <- nv_scalar(1 + 2i, dtype = "c128")
  got <- jvp(square, list(z), list(nv_scalar(1i, dtype = "c128")))$tangent
  expect_equal(as.vector(got), 2 * (1 + 2i) * 1i)
  size <- user_env(function(z) Re(square(z)), square = square)
  # The derivative by x minus i times that by y, of x^2 - y^2.
  expect_equal(as.vector(gradient(size)(z)$z), 2 + 4i)
})

test_that("forward mode through a gradient for reverse mode alone says what to write", {
  error <- expect_error(jvp(softplus, list(scalar64(1)), list(scalar64(1))), class = "anvil_error_grad")
  expect_match(conditionMessage(error), "custom_gradient", fixed = TRUE)
  expect_match(conditionMessage(error), "custom_jvp()", fixed = TRUE)
})

test_that("rules of another form are errors that say so", {
  id <- user(function(x) x)
  fine <- user(function(primals, tangents) list(primals$x, tangents$x))
  expect_fields(custom_jvp(1, fine), "anvil_error_arg", arg = "f")
  expect_fields(custom_jvp(id, "a"), "anvil_error_arg", arg = "rule")
  expect_fields(custom_jvp(id, id), "anvil_error_arg", arg = "rule")
  x <- scalar64(1)
  of <- function(rule) gradient(custom_jvp(id, user(rule)))(x)
  for (rule in list(
    function(primals, tangents) primals$x,
    function(primals, tangents) list(a = primals$x, b = tangents$x),
    function(primals, tangents) list(primals$x)
  )) {
    expect_fields(of(rule), "anvil_error_arg", arg = "rule")
  }
  expect_error(
    of(function(primals, tangents) list(nv_convert(primals$x, "f32"), tangents$x)),
    class = "anvil_error_structure"
  )
  error <- expect_error(
    of(function(primals, tangents) list(primals$x, nv_convert(tangents$x, "f32"))),
    class = "anvil_error_structure"
  )
  expect_match(conditionMessage(error), "f32[]", fixed = TRUE)
  expect_error(of(function(primals, tangents) list(primals$x, NULL)), class = "anvil_error_structure")
  expect_identical(.Call(anvil:::anvil_trace_depth), 0L)
})
