# Static arguments: which values make a program of their own. `runs` counts traces.

x <- nv_tensor(c(1, 2, 3))
runs <- 0L
apply_to <- function() jit(function(x, s) {
  runs <<- runs + 1L
  if (is.function(s)) s(x) else x
}, static = "s")
# How often a function is traced for values one after the other.
traces <- function(...) {
  f <- apply_to()
  before <- runs
  for (value in list(...)) f(x, value)
  runs - before
}

test_that("numbers are compared bit by bit", {
  expect_identical(traces(0, -0, 0, -0), 2L)
  expect_identical(traces(NA_real_, NaN, NA_real_, NaN), 2L)
  expect_identical(traces(complex(real = 0, imaginary = -0), complex(real = 0, imaginary = 0)), 2L)
  expect_identical(traces(c(1, 0), c(1, -0), list(0), list(-0), list(0)), 4L)
  expect_identical(traces(c(a = 0), c(a = -0), c(b = 0), matrix(0), matrix(-0), matrix(0)), 5L)
  f <- jit(function(x, s) 1 / (x * 0 + s), static = "s")
  expect_elements(f(nv_scalar(1), 0), Inf, "f32?[]")
  expect_elements(f(nv_scalar(1), -0), Inf, "f32?[]")
  g <- jit(function(s) 1 / nv_scalar(s, "f64"), static = "s")
  expect_elements(g(0), Inf, "f64[]")
  expect_elements(g(-0), -Inf, "f64[]")
})

test_that("what is the same is traced once", {
  expect_identical(traces("a", paste0("", "a"), "a"), 1L)
  expect_identical(traces(list(a = 1, b = list("c", NULL)), list(a = 1, b = list("c", NULL))), 1L)
  expect_identical(
    traces(data.frame(u = 1:3, v = factor(letters[1:3])), data.frame(u = 1:3, v = factor(letters[1:3]))), 1L
  )
  expect_identical(
    traces(quote(a + b), quote(a + b), quote(b + a), as.name("a"), quote(a(b)), quote((a)(b))), 5L
  )
  expect_identical(traces(tanh, base::tanh, nv_tanh, anvil::nv_tanh), 2L)
  expect_identical(traces(expression(a, b), expression(a, b), expression(a)), 2L)
  expect_identical(traces(as.Date("2020-01-01"), as.Date("2020-01-01"), as.Date("2020-01-02")), 2L)
  expect_identical(traces(x, x * 1, x + 1), 2L)
})

test_that("source references do not count", {
  written <- function(text) eval(parse(text = text, keep.source = TRUE)[[1L]])
  expect_identical(traces(
    written("function(z) { z + 1 }"), written("function(z) {\n  # here\n  z + 1\n}"),
    written("function(z) { w <- function(v) { v + 1 }; w(z) }"),
    written("function(z) { w <- function(v) {\n v + 1 }\n w(z) }")
  ), 2L)
  quoted <- function(text) parse(text = text, keep.source = TRUE)[[1L]]
  expect_identical(traces(quoted("{ a + 1 }"), quoted("{ a +  1 }")), 1L)
})

test_that("a function with another value in what it encloses is another", {
  k <- 1
  plus <- function(z) z + k
  f <- apply_to()
  before <- runs
  expect_elements(f(x, plus), c(2, 3, 4), "f32[3]")
  k <- 10
  expect_elements(f(x, plus), c(11, 12, 13), "f32[3]")
  k <- 1
  expect_elements(f(x, plus), c(2, 3, 4), "f32[3]")
  expect_identical(runs - before, 2L)
  # Made by a function: the same code with the same values is the same.
  make <- function(k) function(z) z + k
  expect_identical(traces(make(1), make(1), make(2), make(-0), make(0)), 4L)
  # A part of a list that changes in place of another.
  p <- list(w = 2)
  scale <- function(z) z * p$w
  expect_elements(f(x, scale), c(2, 4, 6), "f32[3]")
  p$w <- 3
  expect_elements(f(x, scale), c(3, 6, 9), "f32[3]")
  # In a list, and behind another function.
  inner <- function(z) z * k
  outer <- function(z) inner(z) + 1
  g <- jit(function(x, s) s$f(x), static = "s")
  expect_elements(g(x, list(f = outer)), c(2, 3, 4), "f32[3]")
  k <- 2
  expect_elements(g(x, list(f = outer)), c(3, 5, 7), "f32[3]")
  inner <- function(z) -z
  expect_elements(g(x, list(f = outer)), c(0, -1, -2), "f32[3]")
})

test_that("variables of the global environment count", {
  assign("anvil_test_k", 1, globalenv())
  withr::defer(rm("anvil_test_k", envir = globalenv()))
  plus <- eval(quote(function(z) z + anvil_test_k), globalenv())
  f <- apply_to()
  expect_elements(f(x, plus), c(2, 3, 4), "f32[3]")
  assign("anvil_test_k", 2, globalenv())
  expect_elements(f(x, plus), c(3, 4, 5), "f32[3]")
})

test_that("variables that the function does not use do not count", {
  # Arguments, of it and of functions inside it, hide what is outside; names of parts and of packages are no
  # variables.
  z <- other <- new.env()
  parts <- function(f) anvil:::static_parts(list(f, "s", FALSE))
  expect_type(parts(function(z, p = z) p$other + base::other + (function(other) other)(p@other)), "list")
  expect_error(parts(function(p) p[[other]]), class = "anvil_error_static")
  expect_error(parts(function(p) p(other = (function(z) z)(z))), class = "anvil_error_static")
  k <- 1
  f <- apply_to()
  before <- runs
  plain <- function(z) (function(k) k + 1)(z)
  f(x, plain)
  k <- 2
  f(x, plain)
  expect_identical(runs - before, 1L)
})

test_that("what is changed while the function is traced is seen at the next call", {
  k <- 1
  bump <- function(z) {
    k <<- k + 1
    z * k
  }
  f <- apply_to()
  expect_elements(f(x, bump), c(2, 4, 6), "f32[3]")
  expect_elements(f(x, bump), c(3, 6, 9), "f32[3]")
  k <- 1
  expect_elements(f(x, bump), c(2, 4, 6), "f32[3]")
})

test_that("a function that calls itself, dots, promises and missing arguments", {
  power <- function(z, n = 3) if (n == 0) 1 else z * power(z, n - 1)
  expect_identical(traces(power, power), 1L)
  expect_elements(apply_to()(x, power), c(1, 8, 27), "f32[3]")
  with_dots <- function(...) function(z) Reduce(`+`, list(z, ...))
  expect_identical(traces(with_dots(1), with_dots(1), with_dots(2), with_dots(1, 2)), 3L)
  second <- function(...) function(z) z + ..2
  expect_identical(traces(second(1, 2), second(1, 2), second(1, 3)), 2L)
  lazy <- function(k, given) function(z) if (given) z + k else z
  expect_identical(
    traces(lazy(given = FALSE), lazy(given = FALSE), lazy(1, FALSE), lazy(stop("no"), FALSE)), 2L
  )
  f <- jit(function(v) v * 2)
  through <- function(z) f(z)
  expect_identical(traces(f, f, through, through), 2L)
  loss <- function(w) sum(w * w)
  expect_elements(apply_to()(x, function(z) gradient(loss)(z)$w), c(2, 4, 6), "f32[3]")
})

test_that("functions in code, and attributes of functions, count", {
  make <- function(k) {
    g <- function(z) z * k
    eval(bquote(function(z) .(g)(z)))
  }
  f <- apply_to()
  expect_elements(f(x, make(2)), c(2, 4, 6), "f32[3]")
  expect_elements(f(x, make(3)), c(3, 6, 9), "f32[3]")
  plain <- function(z) z
  expect_identical(
    traces(plain, structure(plain, k = 1), structure(plain, k = 2), structure(plain, k = 1)), 3L
  )
})

test_that("what may change in place is refused, and the error says by which way it is used", {
  e <- new.env()
  uses_it <- function(z) z * e$k
  refused <- list(
    e, globalenv(), list(1, e), structure(1, home = e), function(z) e$k, uses_it, function(z) uses_it(z),
    y ~ x, eval(bquote(function(z) .(e)$k * z)), getNativeSymbolInfo("anvil_jit_new", "anvil")$address,
    structure(list(), class = c("R6", "Like"), env = e), local({
      s <- e
      function(...) s
    })
  )
  f <- apply_to()
  for (value in refused) {
    error <- expect_fields(f(x, value), "anvil_error_static", arg = "s")
    expect_match(
      conditionMessage(error), "Static argument `s` must be a value that can be compared", fixed = TRUE
    )
    expect_identical(conditionCall(error)[[1L]], quote(f))
  }
  expect_no_open_trace()
  error <- condition_of(f(x, function(z) uses_it(z)))
  expect_match(
    conditionMessage(error), "It uses `uses_it`, which uses `e`, which is an environment", fixed = TRUE
  )
  setClass("AnvilTestHolder", slots = c(env = "environment", k = "numeric"), where = environment())
  expect_error(f(x, new("AnvilTestHolder", env = e, k = 1)), class = "anvil_error_static", "`env`")
})

test_that("S4 objects are compared by their slots", {
  setClass("AnvilTestPoint", slots = c(u = "numeric", f = "function"), where = environment())
  point <- function(u) new("AnvilTestPoint", u = u, f = function(z) z)
  expect_identical(traces(point(1), point(1), point(2)), 2L)
})

test_that("functions of packages serve as static arguments by what they are", {
  f <- jit(function(x, g) g(x), static = "g")
  x <- nv_scalar(1)
  for (g in list(nv_sin, nv_cos, stats::lowess, nv_sin)) try(f(x, g), silent = TRUE)
  f(x, anvil::nv_sin)
  expect_identical(cache_info(f)[c("entries", "hits")], list(entries = 2L, hits = 2L))
})
