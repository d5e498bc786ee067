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
