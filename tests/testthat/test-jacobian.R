numbers <- function(x, ...) nv_tensor(x, dtype = "f64", ...)

# The elements, as an R vector where there is one axis.
plain <- function(x) if (ndims(x) == 1L) as.vector(as_array(x)) else as_array(x)

test_that("a Jacobian has the axes of the result, then those of the argument", {
  f <- function(x, w) x %*% w
  x <- numbers(matrix(c(1, 2, 3, 4, 5, 6), 3))
  w <- numbers(matrix(c(1, -1, 2, 0.5), 2))
  for (mode in c("auto", "forward", "reverse")) {
    got <- jacobian(f, mode = mode)(x, w)
    expect_identical(names(got), c("x", "w"))
    expect_identical(shape(got$x), c(3L, 2L, 3L, 2L))
    want <- array(0, c(3, 2, 3, 2))
    for (i in 1:3) for (j in 1:2) for (k in 1:2) want[i, j, i, k] <- plain(w)[k, j]
    expect_equal(plain(got$x), want)
    want <- array(0, c(3, 2, 2, 2))
    for (i in 1:3) for (j in 1:2) for (k in 1:2) want[i, j, k, j] <- plain(x)[i, k]
    expect_equal(plain(got$w), want)
  }
})

test_that("results and arguments in lists give blocks", {
  f <- function(p, n) list(a = p$u * n, b = list(sum(p$u) * p$v))
  p <- list(u = numbers(c(1, 2)), v = numbers(3)[1])
  for (mode in c("forward", "reverse")) {
    got <- jacobian(f, wrt = "p", mode = mode)(p, 4L)
    expect_equal(plain(got$a$p$u), diag(4, 2))
    expect_equal(plain(got$a$p$v), c(0, 0))
    expect_equal(plain(got$b[[1L]]$p$u), c(3, 3))
    expect_equal(plain(got$b[[1L]]$p$v), 3)
    flat <- jacobian(f, wrt = "p", mode = mode, flat = TRUE)(p, 4L)
    names <- list(c("a[1]", "a[2]", "b[[1]]"), c("p$u[1]", "p$u[2]", "p$v"))
    expect_identical(flat, matrix(c(4, 0, 3, 0, 4, 3, 0, 0, 3), 3, dimnames = names))
  }
  one <- jacobian(f, wrt = "p$v", flat = TRUE)(p, 4L)
  expect_identical(colnames(one), "p$v")
  row <- jacobian(function(x) x, flat = TRUE)(numbers(matrix(1:2, 1)))
  expect_identical(rownames(row), c("value[1,1]", "value[1,2]"))
})

test_that("a Hessian at an ambiguous float keeps its digits", {
  x <- nv_tensor(c(1.1, 2.2, 3.3), "f64")
  at <- hessian(function(p) sum(x * p^3))(nv_scalar(1 / 3))$p$p
  expect_true(ambiguous(at))
  expect_equal(as.double(at), 2 * 6.6, tolerance = 1e-15)
  two <- value_gradient_hessian(function(p) sum(x * p^3))(nv_tensor(c(1, 2, 3) / 7, ambiguous = TRUE))
  want <- diag(6 * c(1.1, 2.2, 3.3) * c(1, 2, 3) / 7)
  expect_equal(as.double(two$hessian$p$p), as.double(want), tolerance = 1e-15)
})

test_that("a Hessian is that of R's deriv3(), symmetric to the last bit", {
  f <- function(x, y) sum(sin(x) * exp(y)) + x[1] * x[2]^2
  want <- stats::deriv3(~ sin(a) * exp(p) + sin(b) * exp(q) + a * b^2, c("a", "b", "p", "q"))
  want <- eval(want, list(a = 0.3, b = -1.2, p = 0.7, q = 0.1))
  x <- numbers(c(0.3, -1.2))
  y <- numbers(c(0.7, 0.1))
  got <- hessian(f, flat = TRUE)(x, y)
  expect_equal(unname(got), unname(attr(want, "hessian")[1, , ]))
  expect_identical(got, t(got))
  expect_identical(dimnames(got), rep(list(c("x[1]", "x[2]", "y[1]", "y[2]")), 2L))
  blocks <- hessian(f)(x, y)
  expect_identical(plain(blocks$x$y), unname(got[1:2, 3:4]))
  expect_identical(plain(blocks$y$x), unname(got[3:4, 1:2]))
  all <- value_gradient_hessian(f, flat = TRUE)(x, y)
  expect_equal(plain(all$value), c(want))
  expect_equal(unlist(lapply(all$gradient, plain), use.names = FALSE), c(attr(want, "gradient")))
  expect_identical(all$hessian, got)
  jitted <- jit(value_gradient_hessian(f))(x, y)
  expect_equal(jitted$hessian, blocks)
  inside <- jit(function(x, y) hessian(f, flat = TRUE)(x, y))(x, y)
  expect_equal(plain(inside), got)
})

test_that("a Hessian through loops and derivatives of one's own is right", {
  f <- function(x) nv_for(3L, x, function(i, s) sin(s) * x)
  in_r <- function(x) { s <- x; for (i in 1:3) s <- sin(s) * x; s }
  h <- 1e-4
  want <- (in_r(0.8 + h) - 2 * in_r(0.8) + in_r(0.8 - h)) / h^2
  expect_equal(plain(hessian(f)(numbers(0.8)[1])$x$x), want, tolerance = 1e-6)
  square <- custom_gradient(function(x) x^2, function(x) list(x^2, x), function(x, g) list(g * 2 * x))
  expect_equal(plain(hessian(function(x) square(x) * x)(numbers(3)[1])$x$x), 18)
})

test_that("scalars, empty arguments and mixed dtypes have matrices", {
  expect_equal(plain(hessian(function(x) x^3)(numbers(2)[1])$x$x), 12)
  expect_identical(shape(jacobian(function(x) x * 2)(nv_empty("f64", 0L))$x), c(0L, 0L))
  expect_identical(shape(hessian(function(x) sum(x^2))(nv_empty("f64", 0L))$x$x), c(0L, 0L))
  got <- hessian(function(x, y) x^2 * y)(nv_scalar(2, "f32"), nv_scalar(3, "f64"))
  expect_identical(as.character(dtype(got$x$x)), "f32")
  expect_identical(as.character(dtype(got$y$y)), "f64")
  expect_equal(plain(got$x$y), 4)
})

test_that("what has no matrix is refused", {
  x <- numbers(c(1, 2))
  refused <- function(expr, class, text) {
    e <- expect_error(expr, class = class)
    expect_match(conditionMessage(e), text, fixed = TRUE)
    expect_match(deparse1(conditionCall(e)), "^(jacobian|hessian)\\(")
  }
  refused(hessian(function(x) x * 2)(x), "anvil_error_grad", "one float")
  refused(jacobian(function(x) x > 1)(x), "anvil_error_grad", "results are all floats")
  refused(jacobian(function(x) x)(nv_tensor(1:2)), "anvil_error_grad", "not of i32")
  refused(jacobian(function(x) x)(nv_tensor(1i)), "anvil_error_grad", "real numbers")
  refused(jacobian(function(x) list())(x), "anvil_error_grad", "not one that gives a list of length 0")
  refused(jacobian(function(x) "a")(x), "anvil_error_arg", "a function that gives tensors")
  refused(hessian(function(x) NULL)(x), "anvil_error_grad", "one float")
  refused(jacobian(function(x) x, mode = "sideways"), "anvil_error_arg", "`mode`")
  refused(jacobian(function(x) x, flat = 1), "anvil_error_arg", "`flat`")
  refused(jacobian(function(x) x, wrt = "y"), "anvil_error_arg", "`wrt`")
  refused(jacobian(3), "anvil_error_arg", "`f`")
})

test_that("names of axes are those of rows and columns, eager and in a trace", {
  p <- numbers(c(mu = 1, sigma = 2))
  f <- function(p) p["mu"]^2 * p["sigma"]
  want <- list(c("p[mu]", "p[sigma]"), c("p[mu]", "p[sigma]"))
  expect_identical(hessian(f, flat = TRUE)(p), matrix(c(4, 2, 2, 0), 2, dimnames = want))
  expect_identical(plain(jit(hessian(f))(p)$p$p), matrix(c(4, 2, 2, 0), 2))
  m <- numbers(matrix(1:4, 2, dimnames = list(NULL, c("a", "b"))))
  by <- jacobian(function(w) list(total = sum(w[, "b"])), flat = TRUE)(m)
  expect_identical(dimnames(by), list("total", c("w[1,a]", "w[2,a]", "w[1,b]", "w[2,b]")))
  # What a trace makes of the names can be used there, and stays with what the program returns.
  corner <- jit(function(p) {
    h <- hessian(f, flat = TRUE)(p)
    list(h, h["p[mu]", "p[sigma]"])
  })(p)
  expect_identical(dimnames(corner[[1L]]), want)
  expect_identical(plain(corner[[2L]]), 2)
})

test_that("what is given in dots has a name or a number", {
  f <- function(...) Reduce(`*`, list(...))
  one <- nv_scalar(1, "f64")
  want <- matrix(c(0, 1, 1, 0), 2)
  expect_identical(hessian(f, flat = TRUE)(one, one), `dimnames<-`(want, rep(list(c("[[1]]", "[[2]]")), 2L)))
  expect_identical(hessian(f, flat = TRUE)(a = one, b = one), `dimnames<-`(want, rep(list(c("a", "b")), 2L)))
})

test_that("R data frames and vectors are data of the function", {
  line <- function(b) sum((cars$dist - b[1] - b[2] * cars$speed)^2)
  want <- 2 * crossprod(cbind(1, cars$speed))
  expect_equal(unname(hessian(line, flat = TRUE)(numbers(c(1, 2)))), want)
  given <- function(b, d) sum((d$dist - b[1] - b[2] * d$speed)^2)
  expect_equal(plain(hessian(given, "b")(numbers(c(1, 2)), cars)$b$b), want)
})

test_that("second derivatives of powers are there where the exponent is 0 or 1", {
  # By hand: the mixed derivative of x^y is x^(y - 1) (1 + y log(x)).
  for (y in c(0, 1, 2, 0.5)) {
    got <- as.array(hessian(function(p) p[1]^p[2], flat = TRUE)(numbers(c(2, y))))
    mixed <- 2^(y - 1) * (1 + y * log(2))
    want <- matrix(c(y * (y - 1) * 2^(y - 2), mixed, mixed, log(2)^2 * 2^y), 2)
    expect_equal(unname(got), want)
  }
  # A Cobb-Douglas function at elasticity 1.
  f <- function(p) p[1] * p[2]^p[3] * p[4]^(1 - p[3])
  expect_equal(as.vector(hessian(f, flat = TRUE)(numbers(c(1, 2, 1, 3))))[12], -2 / 3)
  expect_false(anyNA(as.vector(hessian(function(p) p[1]^p[2], flat = TRUE)(numbers(c(0, 0))))))
})

test_that("numbers, vectors and matrices of R are derived by as those that jit() takes", {
  f <- function(x, w = 2) sum(x^3 * w)
  x <- numbers(c(1, 2, 3))
  same <- function(of, ...) {
    eager <- of(...)
    expect_identical(eager, jit(of)(...))
    eager
  }
  expect_elements(same(gradient(function(x) x^2), 3)$x, 6, "f32?[]")
  expect_elements(same(gradient(f, "x"), c(1, 2))$x, c(6, 24), "f32?[2]")
  m <- matrix(c(1, 2, 3, 4), 2, dimnames = list(NULL, c("a", "b")))
  expect_elements(same(gradient(f), m)$x, 6 * m^2, "f32?[2, 2]")
  expect_identical(names(same(gradient(f), c(u = 1, v = 2))$x), c("u", "v"))
  both <- same(value_and_gradient(f), c(1, 2), 1)
  expect_elements(both$value, 9, "f32?[]")
  expect_elements(both$gradient$w, 9, "f32?[]")
  expect_elements(same(hessian(f, "x"), c(1, 2))$x$x, diag(c(12, 24)), "f32?[2, 2]")
  expect_elements(same(jacobian(function(x) x^2), c(1, 2))$x, diag(c(2, 4)), "f32?[2, 2]")
  out <- vjp(function(x) x^2, c(1, 2))
  expect_elements(out$pullback(nv_tensor(c(1, 1), ambiguous = TRUE))$x, c(2, 4), "f32?[2]")
  # Beside tensors, in lists, and within a program.
  part <- gradient(function(p) sum(p$a * p$b[[1]]))(list(a = 2, b = list(x)))$p
  expect_elements(part$a, sum(as_array(x)), "f32?[]")
  expect_elements(part$b[[1]], rep(2, 3), "f64[3]")
  expect_elements(jit(function(y) gradient(f)(2, sum(y))$w)(x), 8, "f64[]")
})
