# What calls functions in traced functions: values as of base R.

x <- c(1.5, -2, 3.25, 0.5)
m <- matrix(c(4, 1, 0.5, 3), 2)

expect_as_r <- function(f, ...) {
  got <- do.call(jit(user(f)), lapply(list(...), nv_tensor))
  expect_equal(lapply(as.list(got), as.vector), lapply(as.list(f(...)), as.vector), label = deparse1(body(f)))
}

test_that("rapply() knows the class of the vector that a traced value stands for", {
  expect_as_r(function(x) rapply(list(1, x), function(v) v * 2, classes = "numeric", how = "replace"), x)
  expect_as_r(function(x) rapply(list(a = x, b = "s"), sum, "numeric", deflt = 0, how = "unlist"), x)
  expect_as_r(function(x, k) rapply(list(x, k), sum, classes = "integer", deflt = 0, how = "unlist"), x, 1:3)
  expect_as_r(function(x, m) rapply(list(x, m), sum, classes = "matrix", deflt = 0, how = "list"), x, m)
  expect_as_r(function(x) rapply(list(x > 0, x), sum, classes = "logical", deflt = 9, how = "list"), x)
  expect_as_r(function(x) rapply(list(x, list(2, x)), sum, how = "unlist"), x)
})

test_that("Filter() of a traced value selects its elements", {
  expect_as_r(function(x) sum(Filter(function(v) v > 0, x)), x)
  expect_as_r(function(x) length(Filter(function(v) v > 0, x)), x)
  expect_as_r(function(x) Filter(function(v) length(v) == 1, x), x)
  # A list has no such selection.
  listed <- function(x) Filter(function(v) v > 0, list(x[1], x[2]))
  expect_error(jit(user(listed))(nv_tensor(x)), class = "anvil_error_concrete")
})

test_that("functions that deriv() makes take traced values", {
  withr::local_options(anvil.default_float = "f64")
  expect_as_r(function(x) deriv(~ a^2 * exp(-a), "a", function.arg = TRUE)(x), x)
  slopes <- function(x) attr(deriv(quote(sin(a) * b), c("a", "b"), function(a, b) NULL)(x, 2), "gradient")
  expect_as_r(slopes, x)
  expect_as_r(function(x) attr(deriv3(~ a^3, "a", function(a) NULL)(x), "hessian"), x)
})

test_that("values have names where do.call() gives them", {
  for (f in c("sum", "max", "prod")) {
    for (run in list(do.call, jit(user(function(f, x) do.call(f, x)), static = "f"))) {
      got <- run(f, list(a = nv_tensor(x), b = nv_tensor(2)))
      expect_equal(as.vector(got), do.call(f, list(x, 2)), label = f)
    }
  }
  expect_as_r(function(x) max(1, a = x), x)
  expect_as_r(function(x) do.call(range, split(x, c("a", "b", "a", "b"))), x)
  expect_as_r(function(x) do.call(sum, list(a = x[x > 0], b = x)), x)
  # A misspelt argument is none.
  expect_error(sum(nv_tensor(x), axis = 1), class = "anvil_error_arg")
})

table <- matrix(c(4, 1, 0.5, 3), 2, dimnames = list(group = c("a", "b"), time = c("u", "v")))
cube <- array(1:24 / 7, c(2, 3, 4), dimnames = list(p = c("x", "y"), q = NULL, r = letters[1:4]))

# Values, names and dimnames; those of elements of a list.
expect_named_as_r <- function(f, x) {
  want <- f(x)
  got <- jit(user(f))(x)
  named <- function(x) {
    if (is.list(x)) return(lapply(x, named))
    if (inherits(x, "AnvilValue")) x <- as_array(x)
    if (length(dim(x)) == 1L) setNames(as.vector(x), names(x)) else x
  }
  expect_equal(named(got), named(want), tolerance = 1e-6, label = deparse1(body(f)))
}

test_that("apply() takes what axes are called, and its answers have R's names", {
  expect_named_as_r(function(x) apply(x, "group", sum), table)
  expect_named_as_r(function(x) apply(x, "time", function(v) v * 2), table)
  expect_named_as_r(function(x) apply(x, 1, range), table)
  expect_named_as_r(function(x) apply(x, c("p", "r"), mean), cube)
  expect_named_as_r(function(x) apply(x, c("r", "p"), function(v) v * 2), cube)
  expect_named_as_r(function(x) apply(x, c(1, 2), function(v) v), cube)
  expect_named_as_r(function(x) apply(x, 3, function(s) s * 2, simplify = FALSE), cube)
  expect_named_as_r(function(x) apply(array(1, c(1, 2), list(a = "u", b = NULL)), "a", function(v) v * x), 2)
})

test_that("asplit() gives the parts of an array", {
  expect_named_as_r(function(x) asplit(x, 1), table)
  expect_named_as_r(function(x) asplit(x, "time")[["v"]], table)
  expect_named_as_r(function(x) asplit(x, 3), cube)
  expect_named_as_r(function(x) asplit(x, c(1, 3))[[2, "c"]], cube)
  expect_named_as_r(function(x) Reduce(`+`, asplit(x, 3)), cube)
  expect_named_as_r(function(x) mapply(function(s, k) sum(s) * k, asplit(x, 1), 1:2), cube)
  expect_error(jit(user(function(x) asplit(x, 4)))(cube), class = "anvil_error_arg", "MARGIN")
})

test_that("arrays of matrices have the names of the first", {
  expect_named_as_r(function(x) sapply(1:2, function(i) x * i, simplify = "array"), table)
  expect_named_as_r(function(x) sapply(c(k = 1, l = 2), function(i) x[, , i], simplify = "array"), cube)
  expect_named_as_r(function(x) vapply(1:2, function(i) x * i, matrix(0, 2, 2)), table)
  expect_named_as_r(function(x) replicate(2, x), table)
  expect_named_as_r(function(x) simplify2array(lapply(1:2, function(k) x[, , k])), cube)
})

test_that("what Vectorize() and Negate() made outside calls the masked function", {
  power <- Vectorize(user(function(a, b) c(0, a^b)[2]))
  small <- Negate(user(function(v) c(0, v)[2] > 2))
  decay <- Vectorize(user(function(t, x) sum(exp(-t * x))), "t")
  check <- function(f, ...) {
    environment(f) <- list2env(list(power = power, small = small, decay = decay), parent = globalenv())
    want <- f(...)
    got <- jit(f)(...)
    expect_equal(as.vector(got), as.vector(want), tolerance = 1e-6, label = deparse1(body(f)))
    if (!is.null(dim(want))) expect_identical(dim(got), dim(want), label = deparse1(body(f)))
  }
  check(function(x) power(x, 2), c(1, 2, 3))
  check(function(x) power(b = x, 2), c(1, 2, 3))
  check(function(x) outer(x, 1:2, power), c(1, 2, 3))
  check(function(x) sapply(x, function(v) power(v, 1:2)), c(1, 2, 3))
  check(function(x) small(x[1:2]), c(1, 2, 3))
  check(function(x) array(integrate(decay, 0, 1, x = x)$value), c(1, 2))
  expect_equal(as.vector(jit(power)(c(1, 2, 3), 2)), c(1, 4, 9))
  # The functions themselves are as they were.
  expect_identical(power(1:3, 2), c(1, 4, 9))
})

test_that("functions that are taken by their names, or from a list, are masked", {
  joins <- user_env(function(x) c(k, x), k = 3)
  parts <- list(joins = joins)
  check <- function(f) {
    environment(f) <- list2env(list(joins = joins, parts = parts), parent = globalenv())
    expect_equal(as.vector(jit(f)(c(1, 2))), f(c(1, 2)), label = deparse1(body(f)))
  }
  check(function(x) match.fun("joins")(x))
  check(function(x) get("joins")(x))
  check(function(x) get("c", mode = "function")(1, x))
  check(function(x) {
    f <- function(g, ...) {
      g <- match.fun(g)
      g(...)
    }
    f("c", 1, f(joins, f("joins", x)))
  })
  check(function(x) { f <- parts$joins; f(x) })
  check(function(x) { f <- parts[["joins"]]; f(x) })
  check(function(x) { for (name in "x") y <- get(name) * 2; y })
  check(function(x) { f <- function() get("x", envir = parent.frame()); f() * 2 })
  expect_error(jit(user(function(x) get("nothing") + x))(1), "nothing")
})

test_that("vapply() gives the names of FUN.VALUE", {
  expect_named_as_r(function(x) vapply(1:2, function(i) c(q = x[i], r = 1), c(lo = 0, hi = 0)), c(1, 2))
  expect_named_as_r(function(x) vapply(c(u = 1, v = 2), function(i) x * i, c(lo = 0, hi = 0)), c(1, 2))
  expect_named_as_r(function(x) vapply(1:2, function(i) c(q = x[i], r = 1), c(0, 0)), c(1, 2))
  expect_named_as_r(function(x) vapply(c(u = 1, v = 2), function(i) x[i], c(lo = 0)), c(1, 2))
  of <- matrix(0, 2, 2, dimnames = list(c("p", "q"), NULL))
  f <- user_env(function(x) vapply(1:2, function(i) x * i, of), of = of)
  expect_identical(dimnames(jit(f)(table)), dimnames(f(table)))
})
