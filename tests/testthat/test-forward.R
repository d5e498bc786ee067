numbers <- function(x, ...) nv_tensor(x, dtype = "f64", ...)

# The elements, as an R vector where there is one axis.
plain <- function(x) if (ndims(x) == 1L) as.vector(as_array(x)) else as_array(x)

test_that("jvp() gives the value and the derivative in a direction", {
  f <- function(x, w) sum(sin(x) * w)
  x <- numbers(c(1, 2, 3))
  w <- numbers(c(1, 1, 0.5))
  v <- c(0.3, -1, 2)
  got <- jvp(f, list(x, w), list(numbers(v), NULL))
  expect_identical(names(got), c("value", "tangent"))
  expect_equal(plain(got$value), sum(sin(1:3) * c(1, 1, 0.5)))
  expect_equal(plain(got$tangent), sum(cos(1:3) * c(1, 1, 0.5) * v))
  # By name, in any order, and both at once.
  both <- jvp(f, list(w = w, x = x), list(x = numbers(v), w = numbers(c(1, 0, 0))))
  expect_equal(plain(both$tangent), sum(cos(1:3) * c(1, 1, 0.5) * v) + sin(1))
  expect_identical(jit(function(x, v) jvp(f, list(x, w), list(v, NULL)))(x, numbers(v)), got)
})

test_that("a tangent has the structure of the value", {
  f <- function(p) list(a = p$x * 2, b = list(nv_scalar(1L), p$n), c = nv_scalar(5, dtype = "f64"))
  p <- list(x = numbers(c(1, 2)), n = nv_scalar(3L))
  got <- jvp(f, list(p), list(list(x = numbers(c(1, 0)), n = NULL)))
  expect_identical(names(got$tangent), c("a", "b", "c"))
  expect_identical(plain(got$tangent$a), c(2, 0))
  expect_identical(got$tangent$b, list(NULL, NULL))
  expect_identical(plain(got$tangent$c), 0)
  expect_null(jvp(function(x) x > 0, list(numbers(1)), list(numbers(1)))$tangent)
  expect_identical(plain(jvp(function(x) x * 3, list(2), list(1))$tangent), 3)
  empty <- jvp(function(x) x * 2, list(nv_empty("f64", c(0L, 2L))), list(nv_empty("f64", c(0L, 2L))))
  expect_identical(shape(empty$tangent), c(0L, 2L))
})

test_that("forward mode goes through branches and loops, nv_while() among them", {
  root <- function(a) {
    nv_while(a, function(x) abs(x * x - a) > 1e-14 * a, function(x) (x + a / x) / 2)
  }
  expect_equal(plain(jvp(root, list(numbers(2)[1]), list(numbers(1)[1]))$tangent), 0.5 / sqrt(2))
  # The second value comes to move in the second iteration only.
  f <- function(x) {
    nv_for(3L, list(x, nv_scalar(1, dtype = "f64")), function(i, s) list(s[[1]] * 2, s[[2]] + s[[1]]))
  }
  expect_equal(lapply(jvp(f, list(numbers(3)[1]), list(numbers(1)[1]))$tangent, plain), list(8, 7))
  g <- function(x) nv_if(x > 1, x^2, -x)
  expect_equal(plain(jvp(g, list(numbers(3)[1]), list(numbers(1)[1]))$tangent), 6)
  expect_equal(plain(jvp(g, list(numbers(0.5)[1]), list(numbers(1)[1]))$tangent), -1)
  h <- function(x) nv_scan(function(s, y) list(s + y, s * y), x, numbers(1:4))$ys
  expect_equal(plain(jvp(h, list(numbers(1)[1]), list(numbers(1)[1]))$tangent), c(1, 2, 3, 4))
})

test_that("modes nest in any order", {
  f <- function(x) sum(exp(x) * x)
  x <- numbers(c(0.5, -1))
  v <- numbers(c(1, 2))
  second <- exp(c(0.5, -1)) * (c(0.5, -1) + 2) * c(1, 2)
  expect_equal(plain(jvp(gradient(f), list(x), list(v))$tangent$x), second)
  expect_equal(plain(hvp(f, list(x), list(v))$x), second)
  along <- function(x) jvp(f, list(x), list(v))$tangent
  expect_equal(plain(gradient(along)(x)$x), second)
  expect_equal(plain(jvp(along, list(x), list(v))$tangent), sum(second * c(1, 2)))
})

test_that("linearize() computes the value once", {
  f <- function(x, w, n) list(a = sin(x) * w, b = sum(x) * n, c = n)
  x <- numbers(c(1, 2))
  w <- numbers(c(3, -1))
  got <- linearize(f, x, w, nv_scalar(2L))
  expect_identical(lapply(got$value, plain), list(a = sin(c(1, 2)) * c(3, -1), b = 6, c = 2L))
  v <- numbers(c(0.5, -2))
  want <- jvp(f, list(x, w, nv_scalar(2L)), list(v, NULL, NULL))$tangent
  expect_equal(got$pushforward(v, NULL, NULL), want)
  expect_equal(got$pushforward(x = v), want)
  both <- jvp(f, list(x, w, nv_scalar(2L)), list(v, w, NULL))$tangent
  expect_equal(got$pushforward(w = w, x = v), both)
  inside <- jit(function(x, v) {
    at <- linearize(f, x, w, 2L)
    vmap(function(v) at$pushforward(x = v)$a)(v)
  })
  rows <- inside(x, numbers(diag(2)))
  expect_equal(plain(rows), diag(cos(c(1, 2)) * c(3, -1)))
  expect_equal(plain(gradient(function(v) sum(got$pushforward(x = v)$a))(v)$v), cos(c(1, 2)) * c(3, -1))
  expect_error(got$pushforward(x = numbers(1:3)), class = "anvil_error_arg")
  expect_error(got$pushforward(y = v), class = "anvil_error_arg")
  expect_error(linearize(2, x), class = "anvil_error_arg")
})

test_that("hvp() takes directions for some arguments", {
  f <- function(x, y, n) sum(x^2 * y) * n
  x <- numbers(c(1, 2))
  y <- numbers(c(3, 4))
  got <- hvp(f, list(x, y, 2L), list(x = numbers(c(1, 0))))
  expect_identical(names(got), "x")
  expect_equal(plain(got$x), c(12, 0))
  got <- hvp(f, list(x, y, 2L), list(numbers(c(1, 0)), numbers(c(0, 0)), NULL))
  expect_equal(lapply(got, plain), list(x = c(12, 0), y = c(4, 0)))
})

test_that("hvp() is the product in conjugate gradients, in a loop of a program", {
  a <- matrix(c(4, 1, 0, 1, 3, 1, 0, 1, 2), 3)
  loss <- function(x) 0.5 * sum(x * (numbers(a) %*% x)) + sum(x)
  solve_cg <- jit(function(b) {
    zero <- nv_fill(0, 3L, "f64")
    step <- function(i, x, r, p) {
      product <- hvp(loss, list(zero), list(p))[[1L]]
      length <- sum(r^2) / sum(p * product)
      left <- r - length * product
      list(x = x + length * p, r = left, p = left + sum(left^2) / sum(r^2) * p)
    }
    nv_for(3L, list(x = zero, r = b, p = b), step)$x
  })
  expect_equal(plain(solve_cg(numbers(1:3))), solve(a, 1:3))
})

test_that("tangents go by the names of elements, eager and in a trace", {
  p <- numbers(c(mu = 1, sigma = 2))
  f <- function(p) p["mu"]^2 * p["sigma"]
  v <- numbers(c(1, 1))
  expect_identical(plain(jvp(f, list(p), list(v))$tangent), c(mu = 5))
  expect_identical(plain(jit(function(p, v) jvp(f, list(p), list(v))$tangent)(p, v)), c(mu = 5))
  expect_identical(plain(jit(function(p, v) hvp(f, list(p), list(v))$p)(p, v)), c(6, 2))
  expect_identical(plain(linearize(f, p)$pushforward(v)), c(mu = 5))
})

test_that("bad directions are refused", {
  f <- function(x, n) x * n
  x <- numbers(c(1, 2))
  refused <- function(expr, class, text) {
    e <- expect_error(expr, class = class)
    expect_match(conditionMessage(e), text, fixed = TRUE)
    expect_match(deparse1(conditionCall(e)[[1L]]), "^(jvp|hvp)$")
  }
  refused(jvp(1, list(x), list(x)), "anvil_error_arg", "`f`")
  refused(jvp(f, x, list(x)), "anvil_error_arg", "list(x = x)")
  refused(jvp(f, list(x, 1L), x), "anvil_error_arg", "`tangents` must be a list")
  refused(jvp(f, list(x, 1L), list(x)), "anvil_error_arg", "2 elements")
  refused(jvp(f, list(x, 1L), list(z = x)), "anvil_error_arg", "by the names")
  refused(jvp(f, list(x, 1L, x), list(x, NULL, NULL)), "anvil_error_arg", "arguments of `f` (x, n)")
  longer <- list(numbers(1:3), NULL)
  refused(jvp(f, list(x, 1L), longer), "anvil_error_arg", "a tangent of type f64[2] for `x`")
  refused(jvp(f, list(x, 1L), list(nv_tensor(c(1, 2), "f32"), NULL)), "anvil_error_arg", "one of type f32[2]")
  refused(jvp(f, list(x, nv_scalar(1L)), list(x, nv_scalar(1L))), "anvil_error_grad", "`n`")
  refused(jvp(f, list(list(a = x), 1L), list(list(b = x), NULL)), "anvil_error_arg", "structure")
  pair <- list(a = x, b = x)
  refused(jvp(f, list(pair, 1L), list(list(a = x), NULL)), "anvil_error_arg", "one without")
  refused(hvp(f, list(x, 1L), list(x, NULL)), "anvil_error_grad", "one float")
  refused(hvp(f, list(x, 1L), list(NULL, NULL)), "anvil_error_arg", "at least one argument")
  own <- custom_gradient(function(x) x, function(x) list(x, NULL), function(kept, g) list(g))
  refused(jvp(own, list(x), list(x)), "anvil_error_grad", "custom_jvp()")
})
