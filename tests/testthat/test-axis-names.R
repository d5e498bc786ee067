# Names of vectors and dimnames of arrays: of data, arguments, subsets; test-names.R has those of results.

par <- c(mu = 0.5, sigma = 2, nu = 4)
p <- nv_tensor(par, dtype = "f64")
data <- matrix(c(1, 2, 3, 4, 5, 6), 2, dimnames = list(c("r1", "r2"), c("age", "dose", "y")))
m <- nv_tensor(data, dtype = "f64")

test_that("tensors keep the names of their data, and give them back", {
  expect_identical(names(p), names(par))
  expect_identical(dimnames(m), dimnames(data))
  expect_identical(names(as_array(p)), names(par))
  expect_identical(as_array(m), data)
  for (dtype in c("f32", "i8", "c64")) expect_identical(names(nv_tensor(par * 2, dtype)), names(par))
  # Another shape has none.
  expect_null(dimnames(nv_tensor(par, shape = c(3, 1))))
  q <- p
  names(q) <- c("a", "b", "c")
  expect_identical(names(q), c("a", "b", "c"))
  expect_identical(names(p), names(par))
})

test_that("subsets take names, and keep those of what is left", {
  for (run in list(identity, jit)) {
    get <- function(f, x) run(f)(x)
    expect_elements(get(function(x) x["sigma"], p), 2, "f64[]")
    expect_elements(get(function(x) x[["nu"]], p), 4, "f64[]")
    expect_elements(get(function(x) x[c("nu", "mu")], p), c(4, 0.5), "f64[2]")
    expect_elements(get(function(x) x[, "age"], m), c(1, 2), "f64[2]")
    expect_elements(get(function(x) x["r2", c("y", "age")], m), c(6, 2), "f64[2]")
    expect_elements(get(function(x) {
      x["sigma"] <- 9
      x
    }, p), c(0.5, 9, 4), "f64[3]")
  }
  expect_identical(names(p[c(3, 1)]), c("nu", "mu"))
  expect_identical(names(p[-1]), c("sigma", "nu"))
  expect_identical(names(p[c(TRUE, FALSE, TRUE)]), c("mu", "nu"))
  expect_identical(dimnames(m[, c("y", "dose")]), dimnames(data[, c("y", "dose")]))
  expect_identical(names(m["r1", ]), colnames(data))
  expect_identical(dimnames(m["r1", , drop = FALSE]), dimnames(data["r1", , drop = FALSE]))
  changed <- p
  changed["mu"] <- 1
  expect_identical(names(changed), names(par))
  # Inside of a trace too.
  seen <- NULL
  jit(function(x) {
    seen <<- list(names(x), names(x[2:3]), dimnames(x[c("nu", "mu")]), names(x + 1))
    x
  })(p)
  expect_identical(seen, list(names(par), c("sigma", "nu"), list(c("nu", "mu")), names(par)))
})

test_that("names of arguments are part of the signature", {
  f <- jit(function(x) x[["b"]] * 10)
  expect_identical(as.vector(f(nv_tensor(c(a = 1, b = 2)))), 20)
  expect_identical(as.vector(f(nv_tensor(c(b = 1, a = 2)))), 10)
  expect_identical(as.vector(f(c(b = 3, a = 4))), 30)
  expect_identical(cache_info(f)$misses, 3L)
  f(nv_tensor(c(a = 5, b = 6)))
  expect_identical(cache_info(f)$misses, 3L)
  expect_error(f(nv_tensor(c(1, 2))), class = "anvil_error_index")
})

test_that("a name that an axis does not have is an error that lists the names", {
  e <- expect_error(p["tau"], class = "anvil_error_index", "\"tau\"")
  expect_match(conditionMessage(e), "\"mu\", \"sigma\", \"nu\"", fixed = TRUE)
  expect_error(nv_tensor(1:3)["a"], class = "anvil_error_index", "no names")
  expect_error(m[, "weight"], class = "anvil_error_index", "\"weight\"")
  expect_error(jit(function(x) x["tau"])(p), class = "anvil_error_index")
  expect_no_open_trace()
})

test_that("a mask that is a tensor with elements selects as R's logicals do", {
  x <- nv_tensor(c(3, -1, 2), dtype = "f64")
  expect_elements(x[x > 0], c(3, 2), "f64[2]")
  keep <- x > 0
  expect_elements(jit(function(y) y[keep])(x * 2), c(6, 4), "f64[2]")
  x[x < 0] <- 0
  expect_elements(x, c(3, 0, 2), "f64[3]")
  expect_error(jit(function(x) x[x > 0])(x), class = "anvil_error_arg", "nv_ifelse")
  expect_error(x[nv_tensor(c(TRUE, FALSE))], class = "anvil_error_index")
})

# ---- what the axes are called: names(dimnames(x)) ----------------------------------------------------------

table <- matrix(c(4, 1, 1, 3), 2, dimnames = list(group = c("a", "b"), time = c("u", "v")))
cube <- array(1:24 / 7, c(2, 3, 4), dimnames = list(p = c("x", "y"), q = NULL, r = letters[1:4]))

# R's and ours have the same dimnames, at once and in a program.
expect_called_as_in_r <- function(f, x) {
  want <- dimnames(f(x))
  label <- deparse1(body(f))
  expect_identical(dimnames(user(f)(nv_tensor(x, "f64"))), want, label = label)
  expect_identical(dimnames(jit(user(f))(x)), want, label = paste(label, "jitted"))
}

test_that("axes are called what R calls them", {
  for (f in list(
    function(x) t(x), function(x) aperm(x), function(x) x %*% x, function(x) crossprod(x),
    function(x) tcrossprod(x), function(x) x[2:1, ], function(x) x[1, , drop = FALSE],
    function(x) x %*% c(1, 2), function(x) head(x, 1), function(x) x[, 2:1] * 2,
    function(x) x %*% unname(x), function(x) unname(x) + x, function(x) sweep(x, "group", 1:2),
    function(x) prop.table(x, "time"),
    # R forgets it here.
    function(x) solve(x), function(x) solve(x, x), function(x) cov(x), function(x) cor(x), function(x) x[1, ],
    function(x) chol2inv(x), function(x) cbind(x, 1)
  )) {
    if (!is.null(dim(f(table)))) expect_called_as_in_r(f, table) else
      expect_identical(dimnames(jit(user(f))(table)), list(names(f(table))))
  }
  for (f in list(
    function(x) x[, , "a"], function(x) x[1, , ], function(x) aperm(x, c(2, 1, 3)), function(x) colSums(x),
    function(x) rowSums(x, dims = 2), function(x) marginSums(x, c("r", "p")), function(x) prop.table(x, "r"),
    function(x) x[2:1, , c("d", "a")], function(x) x[, 1, , drop = FALSE]
  )) expect_called_as_in_r(f, cube)
})

test_that("what axes are called is part of the signature", {
  f <- jit(function(x) x * 2)
  called <- function(names) {
    x <- table
    names(dimnames(x)) <- names
    names(dimnames(f(x)))
  }
  expect_identical(called(c("group", "time")), c("group", "time"))
  expect_identical(called(c("time", "group")), c("time", "group"))
  expect_null(called(NULL))
  expect_identical(called(c("group", "time")), c("group", "time"))
  expect_identical(cache_info(f)$misses, 3L)
})

test_that("an axis that is called nothing so is an error", {
  e <- expect_error(sweep(nv_tensor(table), "wave", 1:2), class = "anvil_error_arg", "wave")
  expect_identical(e$arg, "MARGIN")
  expect_match(conditionMessage(e), "names of `dimnames(x)`", fixed = TRUE)
  expect_error(jit(user(function(x) apply(x, "wave", sum)))(table), class = "anvil_error_arg", "wave")
})
