# Functions of base R and stats that anvil has generics for: inst/catalogue/base-functions.tsv says how each
# works, and has calls of them in
# * `x` and `y`, vectors of 4 numbers, `i` of integers;
# * `m`, a matrix of 4 rows and 3 columns, `s`, positive definite, and `u`, its Cholesky factor.

catalogue <- read_catalogue("base-functions.tsv")
calls <- catalogue[nzchar(catalogue$call), ]

data <- local({
  m <- matrix(c(3, 1, 2, 5, 4, 7.5, 1, 2, 8, 3, 1, 1.5), 4)
  s <- crossprod(m)
  list(x = c(3, 1.25, 2, 4.5), y = c(1, 3, -2, 0.5), i = c(3L, 1L, 6L, 3L), m = m, s = s, u = chol(s))
})
tensors <- lapply(data, function(x) nv_tensor(x, if (is.integer(x)) "i32" else "f64"))

# The call as a function of the user's, who has attached anvil, or has not.
function_of <- function(text, env = globalenv()) {
  eval(call("function", as.pairlist(alist(x = , y = , i = , m = , s = , u = )), str2lang(text)), env)
}
r_alone <- local({
  env <- new.env(parent = baseenv())
  list2env(as.list(asNamespace("stats")), env)
  env
})

plain <- function(x) {
  if (inherits(x, "AnvilTensor")) x <- as_array(x)
  if (is.list(x)) return(lapply(unclass(x), plain))
  if (length(dim(x)) == 1L) dim(x) <- NULL
  unname(x)
}

test_that("NA among logicals is NaN beside floats", {
  x <- nv_tensor(c(1, 2, 3), "f64")
  programs <- list(
    function(x) x + NA, function(x) c(x, NA), function(x) c(x, NA, TRUE), function(x) replace(x, 2, NA),
    function(x) append(x, NA), function(x) pmax(x, NA), function(x) pmin(x, NA, na.rm = TRUE),
    function(x) sum(x, NA), function(x) sum(x, NA, na.rm = TRUE), function(x) rbind(x, c(NA, TRUE, FALSE)),
    function(x) {
      x[x > 2] <- NA
      x
    },
    function(x) {
      is.na(x) <- 2
      x
    }
  )
  for (f in programs) {
    want <- unname(f(c(1, 2, 3)))
    want[is.na(want)] <- NaN
    for (run in list(f, jit(f))) expect_equal(drop(as_array(run(x))), drop(want), ignore_attr = TRUE)
  }
  # R answers with NA, which is no logical of ours.
  na <- NA
  for (f in list(function(x) x == na, function(x) x > NA, function(x) (x > 1) & NA)) {
    for (run in list(f, jit(f))) expect_error(run(x), class = "anvil_error_value")
  }
  expect_error(replace(nv_tensor(1:3), 2, NA), class = "anvil_error_value")
  expect_error(nv_tensor(1:3) + NA, class = "anvil_error_value")
  expect_error(jit(function(x) x)(NA), class = "anvil_error_value")
})

test_that("the catalogue has every generic, and no other", {
  ours <- catalogue[catalogue$how == "generic of anvil", ]
  for (package in names(base_generics)) {
    expect_setequal(unique(ours$"function"[ours$package == package]), base_generics[[package]])
  }
  expect_setequal(calls$"function", unlist(base_generics))
  expect_true(all(unlist(base_generics) %in% getNamespaceExports("anvil")))
  expect_setequal(
    catalogue$how, c("generic of anvil", "primitive", "S3 method", "S4 generic", "as it is", "reads elements")
  )
  for (package in unique(catalogue$package)) {
    found <- vapply(catalogue$"function"[catalogue$package == package], exists, NA, asNamespace(package))
    expect_true(all(found | names(found) %in% c("if", "for", "while")))
  }
})

test_that("functions give the values of R on tensors, eagerly and jitted", {
  for (call in calls$call) {
    want <- plain(do.call(function_of(call, r_alone), data))
    f <- function_of(call)
    expect_equal(plain(do.call(f, tensors)), want, tolerance = 1e-12, label = paste(call, "eagerly"))
    expect_equal(plain(do.call(jit(f), tensors)), want, tolerance = 1e-12, label = paste(call, "jitted"))
  }
})

test_that("functions have the derivatives of R's values", {
  loss <- function(f) function(x) {
    value <- do.call(f, c(list(x = x), tensors[-1L]))
    sum(value^2)
  }
  value_at <- function(f, x) sum(do.call(f, c(list(x = x), data[-1L]))^2)
  for (call in calls$call[nzchar(calls$gradient)]) {
    r <- function_of(call, r_alone)
    differences <- vapply(1:4, function(k) {
      h <- replace(numeric(4), k, 1e-4)
      v <- function(by) value_at(r, data$x + by * h)
      (8 * (v(1) - v(-1)) - (v(2) - v(-2))) / 12e-4
    }, 0)
    got <- as.double(jit(gradient(loss(function_of(call))))(tensors$x)[[1L]])
    expect_equal(got, differences, tolerance = 1e-6, label = call)
  }
})

test_that("values of R give what R gives, errors too", {
  same <- function(text) {
    attempt <- function(f) {
      set.seed(1)
      suppressWarnings(
        tryCatch(do.call(f, data), error = function(e) paste("error:", conditionMessage(e)))
      )
    }
    expect_identical(attempt(function_of(text)), attempt(function_of(text, r_alone)), label = text)
  }
  for (call in calls$call) same(call)
  for (name in unlist(base_generics)) {
    shown <- if (grepl("^[a-z]", name, ignore.case = TRUE)) name else paste0("`", name, "`")
    for (arguments in c(
      "", "'a'", "'a', 2", "NULL", "1, 2", "list(1, 2), 3", "x, stop('mine')", "factor('a')", "m"
    )) {
      # The message of a missing argument is that of who asks first.
      if (name == "%o%" && !grepl(",", arguments) || name == "ifelse" && arguments == "") next
      same(paste0(shown, "(", arguments, ")"))
    }
  }
  same("outer(x, y, 'nothing')")
  same("outer(x, 1:2, function(a, b) 1)")
  same("{ mine <- function(a, b) a - b; outer(x, y, 'mine') }")
  same("var(m, use = 'pairwise')")
  same("ifelse(c(a = TRUE, b = NA), 1, stop('no'))")
  same("ifelse(c(TRUE, FALSE), 1, stop('no'))")
  same("ifelse(TRUE, stop('no'), 1)")
  same("order(c(2, NA, 1), na.last = NA)")
  same("diag(3)")
  same("diag(c(a = 1, b = 2))")
  same("diag(2, names = FALSE, ncol = 3)")
  same("complex(3)")
  same("complex(modulus = 2)")
  same("pmax(c(a = 1, b = 5), 3)")
  same("pmin(c(1, NA), 2, na.rm = TRUE)")
  same("svd(m, LINPACK = TRUE)")
  same("eigen(s, TRUE, EISPACK = TRUE)")
  same("tabulate(c(1, 2, 2))")
  same("approx(1:3, c(1, 4, 9), n = 3)")
})

test_that("an error in an argument stays what it is, and is of the user's call", {
  x <- nv_tensor(c(1, 2, 3))
  e <- condition_of(rowSums(nv_tensor(diag(2))[7, ]))
  expect_s3_class(e, "anvil_error_index")
  e <- condition_of(user(function(x) outer(1:2, x[9]))(x))
  expect_s3_class(e, "anvil_error_index")
  e <- condition_of(user(function(x) rowSums(x))(x))
  expect_s3_class(e, "anvil_error_arg")
  expect_identical(deparse1(conditionCall(e)), "rowSums(x)")
  e <- condition_of(user(function(x) pmax(c(1, 2), x))(x))
  expect_s3_class(e, "anvil_error_arg")
  expect_identical(deparse1(conditionCall(e)), "pmax(c(1, 2), x)")
})

test_that("arguments that do not fit are refused by name", {
  x <- nv_tensor(c(1, 2, 3), "f64")
  m <- nv_tensor(matrix(c(2, 1, 1, 3), 2), "f64")
  refused <- function(expr, arg) {
    e <- condition_of(expr)
    expect_s3_class(e, "anvil_error_arg")
    expect_identical(e$arg, arg)
  }
  refused(rowSums(x), "x")
  refused(rowSums(m, dims = 2), "dims")
  refused(rowSums(m, na.rm = NA), "na.rm")
  refused(outer(x, x, function(a, b) 1), "FUN")
  refused(diag(m, 2), "nrow")
  refused(diag(x, -1), "nrow")
  refused(diag(nv_tensor(array(0, c(2, 2, 2)))), "x")
  refused(sweep(m, 3, 1), "MARGIN")
  refused(sweep(m, 1, x), "STATS")
  refused(sweep(m, 1, "a"), "STATS")
  refused(append(x, 1, NA), "after")
  refused(pmax(x, "a"), "..2")
  refused(ifelse(c(TRUE, NA), x[1:2], 0), "test")
  refused(var(x, use = "all.obs"), "use")
  refused(cov(x), "x")
  refused(cor(m, method = "other"), "method")
  refused(cor(m, use = "complete", method = "kendall"), "use")
  refused(rank(x, ties.method = "random"), "ties.method")
  refused(rank(x, na.last = FALSE), "na.last")
  refused(approx(x, x, n = 0), "n")
  refused(approx(x, xout = 1), "y")
  refused(approx(x, x, 1, method = "spline"), "method")
  refused(svd(m, 3), "nu")
  refused(svd(nv_tensor(array(1, c(2, 2, 2)))), "x")
  refused(eigen(x), "x")
  refused(backsolve(m, x, k = 3), "k")
  refused(backsolve(NULL, x), "r")
  refused(forwardsolve(x, x), "l")
  refused(forwardsolve(list(), x), "l")
  refused(norm(m, "Q"), "type")
  refused(norm(x), "x")
  refused(convolve(x, x, type = "none"), "type")
  refused(bitwAnd(x, 1L), "a")
  refused(bitwShiftL(nv_tensor(1:3), 33L), "n")
  refused(cov2cor(x), "V")
  refused(complex(3, x), "length.out")
  refused(qr.X(qr(m), complete = TRUE), "complete")
  refused(qr.coef(qr(t(m[, 1, drop = FALSE])), 1), "qr")
  # Missing arguments.
  refused(outer(x), "Y")
  refused(sweep(m, 1), "STATS")
})

test_that("what a program cannot know is refused in a trace, with what to write", {
  x <- nv_tensor(c(1, 2, 3), "f64")
  m <- nv_tensor(matrix(c(2, 1, 1, 3), 2), "f64")
  refused <- function(f, x, arg, says) {
    e <- condition_of(jit(user(f))(x))
    expect_s3_class(e, "anvil_error_arg")
    expect_identical(e$arg, arg)
    expect_match(conditionMessage(e), says, fixed = TRUE)
  }
  refused(function(x) eigen(x)$values, m, "symmetric", "eigen(x, symmetric = TRUE)")
  refused(function(x) eigen(x, FALSE)$values, m, "symmetric", "no op")
  refused(function(x) diag(x[1]), x, "x", "diag(x, 1)")
  refused(function(x) tabulate(x), x, "nbins", "largest element")
  refused(function(x) order(x, na.last = "a"), x, "na.last", "TRUE, FALSE or NA")
  refused(function(x) besselJ(x, 2), x, "nu", "0 or 1")
  refused(function(x) ifelse(x > 1, "a", 1), x, "yes", "factor(x > 0, labels = ")
  e <- condition_of(jit(user(function(x) which(x > 1)))(x))
  expect_s3_class(e, "anvil_error_arg")
  expect_match(conditionMessage(e), "nv_which(mask, size = n)", fixed = TRUE)
  e <- condition_of(jit(user(function(x) stats:::dist(x)))(m))
  expect_match(conditionMessage(e), "By its name alone", fixed = TRUE)
  e <- condition_of(jit(user(function(x) stats:::filter(x, 1)))(m))
  expect_match(conditionMessage(e), "By its name alone", fixed = TRUE)
  # Outside of a trace these are R's.
  expect_equal(eigen(nv_tensor(matrix(c(0, 1, -1, 0), 2)))$values, c(1i, -1i))
  expect_equal(as_array(diag(nv_scalar(2, "f64"))), diag(2))
})

test_that("shapes and dtypes are R's and those of the ops", {
  x <- nv_tensor(c(1, 2, 3), "f32")
  m <- nv_tensor(matrix(1:4, 2), "i32")
  expect_nv(rowSums(m), c(4, 6), "i32")
  expect_nv(colSums(m > 1L), c(1, 2), "i32")
  expect_nv(rowMeans(m), c(2, 3), "f32", ambiguous = TRUE)
  expect_nv(rowSums(nv_tensor(array(1:8, c(2, 2, 2)))), c(16, 20), "i32")
  expect_nv(colSums(nv_tensor(array(1:8, c(2, 2, 2)))), matrix(c(3, 7, 11, 15), 2), "i32")
  # An R vector yields to the tensor.
  expect_nv(outer(c(0.1, 0.2), x), outer(c(0.1, 0.2), 1:3), "f32", tolerance = 1e-7)
  expect_nv(pmax(2.5, x), c(2.5, 2.5, 3), "f32")
  expect_nv(pmax(2.5, m), c(2.5, 2.5, 3, 4), "f32", ambiguous = TRUE)
  expect_nv(pmin(m, 2L), matrix(c(1, 2, 2, 2), 2), "i32")
  expect_nv(pmax(nv_scalar(1, "f32"), 2), 2, "f32", shape = integer())
  expect_nv(ifelse(x > 1, 2L, 0L), c(0, 2, 2), "i32", ambiguous = TRUE)
  expect_nv(ifelse(x > 1, x, 0L), c(0, 2, 3), "f32")
  expect_nv(ifelse(x[1] > 0, x, 0), 1, "f32", shape = integer())
  expect_nv(ifelse(c(TRUE, TRUE), x[1], 2), c(1, 1), "f32")
  expect_nv(ifelse(x > 1, NA, x), c(1, NaN, NaN), "f32")
  expect_nv(var(x), 1, "f32", shape = integer())
  expect_nv(det(nv_tensor(diag(2), "f64")), 1, "f64", shape = integer())
  expect_nv(backsolve(diag(3), x), 1:3, "f32")
  # Positions and counts are R's integers, of which x[o], letters[o] and a data frame's rows are taken.
  expect_identical(order(x, decreasing = TRUE), 3:1)
  expect_identical(which.max(x), 3L)
  expect_identical(tabulate(m), rep(1L, 4))
  expect_identical(findInterval(x, c(2, 3)), 0:2)
  expect_nv(jit(function(x) order(-x))(x), 3:1, "i32")
  expect_nv(jit(function(x) which.max(x))(x), 3, "i32", shape = integer())
})

test_that("tensors of one element and of none are taken", {
  none <- nv_tensor(numeric(), "f64")
  one <- nv_tensor(2, "f64")
  empty <- nv_tensor(matrix(numeric(), 0, 3), "f64")
  expect_nv(colSums(empty), c(0, 0, 0), "f64")
  expect_nv(rowSums(empty), numeric(), "f64")
  expect_nv(pmax(none, 1), numeric(), "f64")
  expect_nv(pmax(1, none), numeric(), "f64")
  expect_nv(ifelse(none > 1, 1, none), numeric(), "f64")
  expect_identical(shape(outer(none, one)), c(0L, 1L))
  expect_identical(shape(outer(one, none, function(a, b) a + b)), c(1L, 0L))
  expect_identical(shape(diag(none)), c(0L, 0L))
  expect_nv(append(none, one), 2, "f64")
  expect_nv(append(NULL, one), 2, "f64")
  expect_nv(append(one, NULL), 2, "f64")
  expect_nv(append(c(), nv_scalar(2, "f64")), 2, "f64")
  expect_nv(pmax(one, c(1, 5)), c(2, 5), "f64")
  expect_nv(outer(nv_scalar(2, "f64"), c(1, 2), "-"), matrix(c(1, 0), 1), "f64")
  expect_true(is.nan(as.double(sd(one))))
  expect_true(all(is.nan(as.double(fivenum(none)))))
})

test_that("NaN is left out where R leaves it out", {
  x <- c(2, NaN, 5, 1)
  m <- cbind(x, 1:4)
  tx <- nv_tensor(x, "f64")
  tm <- nv_tensor(unname(m), "f64")
  for (text in c(
    "rowSums(m, na.rm = TRUE)", "colMeans(m, na.rm = TRUE)", "pmax(x, 3, na.rm = TRUE)",
    "pmin(3, x, na.rm = TRUE)", "pmax(x, x, na.rm = TRUE)", "var(x, na.rm = TRUE)", "sd(x, na.rm = TRUE)",
    "var(m, na.rm = TRUE)",
    "cov(m, use = 'complete')", "cor(m, use = 'na.or')", "IQR(x, na.rm = TRUE)", "fivenum(x)", "which.max(x)",
    "which.min(x)", "order(x)"
  )) {
    f <- eval(call("function", as.pairlist(alist(x = , m = )), str2lang(text)), globalenv())
    expect_equal(plain(f(tx, tm)), plain(f(x, unname(m))), label = text)
    expect_equal(plain(jit(f)(tx, tm)), plain(f(x, unname(m))), label = text)
  }
  expect_true(is.nan(as.double(sd(tx))))
  expect_true(all(is.nan(as.double(fivenum(tx, na.rm = FALSE)))))
})

test_that("gradients of what is not chosen do not count", {
  x <- nv_tensor(c(-1, 4), "f64")
  g <- gradient(function(x) sum(ifelse(x > 0, sqrt(ifelse(x > 0, x, 1)), 0)))(x)[[1L]]
  expect_equal(as.double(g), c(0, 0.25))
  g <- gradient(function(x) sum(pmax(x, 0)))(x)[[1L]]
  expect_equal(as.double(g), c(0, 1))
})

test_that("functions by name are those of the caller", {
  x <- nv_tensor(c(1, 2), "f64")
  f <- user(function(x) {
    mine <- function(a, b) a + 10 * b
    outer(x, 1:2, "mine")
  })
  expect_nv(f(x), matrix(c(11, 12, 21, 22), 2), "f64")
  f <- user(function(x) {
    mine <- function(a, b) a + 10 * b
    sweep(outer(x, x), 1, 1:2, "mine")
  })
  expect_nv(f(x), matrix(c(11, 22, 12, 24), 2), "f64")
})

test_that("packages see R's own functions", {
  expect_identical(environment(stats::mad), asNamespace("stats"))
  expect_identical(get("outer", asNamespace("stats")), base::outer)
  # base R's own generics have the methods, too.
  a <- nv_tensor(diag(2) * 2, "f64")
  expect_nv(base::solve(a), diag(2) / 2, "f64")
  expect_nv(stats::weighted.mean(nv_tensor(c(1, 3), "f64"), c(1, 1)), 2, "f64", shape = integer())
})

test_that("Matrix and anvil work side by side, in either order", {
  skip_if_not_installed("Matrix")
  program <- function(first, second) {
    library(first, character.only = TRUE, warn.conflicts = FALSE)
    library(second, character.only = TRUE, warn.conflicts = FALSE)
    values <- matrix(c(4, 1, 1, 3), 2)
    tensor <- anvil::nv_tensor(values, "f64")
    sparse <- Matrix::Matrix(values, sparse = TRUE)
    run <- function(m) {
      list(
        rowSums(m), colMeans(m), diag(m), det(m), norm(m, "F"), cov2cor(m), solve(m, c(1, 2)),
        chol2inv(chol(m)), toeplitz(m[, 1]), crossprod(m), qr.coef(qr(m), c(1, 2))
      )
    }
    numbers <- function(x) lapply(x, function(x) as.vector(as.matrix(x)))
    list(
      tensor = numbers(run(tensor)), matrix = numbers(run(values)), sparse = numbers(run(sparse)[1:9]),
      jit = numbers(anvil::jit(function(m) run(m))(tensor)),
      classes = vapply(run(tensor), function(x) class(x)[1], "")
    )
  }
  for (order in list(c("Matrix", "anvil"), c("anvil", "Matrix"))) {
    out <- callr::r(program, as.list(order), libpath = .libPaths())
    expect_identical(out$classes, rep("AnvilTensor", 11))
    expect_equal(out$tensor, out$matrix)
    expect_equal(out$jit, out$matrix)
    expect_equal(out$sparse, out$matrix[1:9])
  }
})

test_that("rank() and aperm() read all of their arguments", {
  x <- c(3, NaN, 1, 3)
  # The default is R's, which is another in later versions.
  expect_equal(as.vector(rank(nv_tensor(x, "f64"))), as.vector(rank(x)))
  expect_equal(as.vector(rank(nv_tensor(x, "f64"), na.last = "keep")), c(2.5, NaN, 1, 2.5))
  expect_named(rank(nv_tensor(c(a = 2, b = 1), "f64")), c("a", "b"))
  expect_equal(as.vector(rank(nv_tensor(x, "f64"), na.last = TRUE)), rank(x, na.last = TRUE))
  m <- nv_tensor(matrix(1:6, 2))
  expect_identical(dim(aperm(m, resize = TRUE)), c(3L, 2L))
  expect_error(aperm(m, resize = FALSE), "`resize` must be TRUE", class = "anvil_error_arg")
})

test_that("embed() joins lagged columns, which are a view of the series", {
  x <- c(3, 1, 4, 1, 5, 9, 2, 6, 5, 3)
  m <- cbind(x, x^2)
  long <- seq(0, 1, length.out = 50)
  check <- function(x, k) {
    want <- unname(stats::embed(x, k))
    x <- nv_tensor(x, "f64")
    expect_identical(unname(as.array(embed(x, k))), want)
    expect_identical(unname(as.array(jit(function(x) embed(x, k))(x))), want)
  }
  for (k in c(1, 2, 3, 10)) {
    check(x, k)
    check(unname(m), k)
  }
  # So many that they are picked.
  check(long, 40)
  check(c(1L, 5L, 2L) + 0, 3L)
  for (k in c(0, 11)) expect_error(embed(nv_tensor(x, "f64"), k))
  slope <- gradient(function(x) sum(embed(x, 3)^2))(nv_tensor(x, "f64"))$x
  expect_equal(as.vector(slope), 2 * x * c(1, 2, 3, 3, 3, 3, 3, 3, 2, 1))
  steps <- function(f) paste(format(explain_plan(f, nv_tensor(rep(0, 5000), "f64"))), collapse = " ")
  expect_no_match(steps(function(x) rowMeans(embed(x, 5))), "concatenate|copy|gather")
})

test_that("order() puts NaN first where it is told to", {
  a <- c(3, NaN, 2, NaN, 2)
  b <- c(1, 5, NaN, 4, 0)
  check <- function(f, ...) expect_identical(as.vector(jit(user(f))(...)), f(...), label = deparse1(body(f)))
  check(function(a) order(a, na.last = FALSE), a)
  check(function(a, b) order(a, b, na.last = FALSE), a, b)
  check(function(a, b) order(a, b, na.last = FALSE, decreasing = TRUE), a, b)
  check(function(a, b) order(a, b, na.last = FALSE, decreasing = c(TRUE, FALSE), method = "radix"), a, b)
  check(function(k, a) order(k, a, na.last = FALSE), c(1L, 1L, 2L, 2L, 1L), a)
  # Which places are left is not known: a selection.
  check(function(a) sum(a[order(a, na.last = NA)] * 2), a)
  check(function(a) length(order(a, na.last = NA)), a)
  check(function(a, b) b[order(a, b, na.last = NA, decreasing = TRUE)][1:2], a, b)
  check(function(k, a) c(order(k, k, na.last = NA, decreasing = TRUE)[1:5]), c(1L, 1L, 2L, 2L, 1L), a)
})

test_that("rep_len() and rep.int() drop names, as R's do", {
  x <- c(a = 1, b = 2)
  for (f in list(function(x) rep_len(x, 3), function(x) rep.int(x, 2))) {
    expect_identical(as.vector(jit(user(f))(x)), f(x))
    expect_null(names(jit(user(f))(x)))
    expect_null(names(f(nv_tensor(x))))
  }
})

test_that("round() of complex numbers rounds both parts", {
  z <- c(u = complex(real = 1.26, imaginary = -2.55), v = 0.5 + 1.5i)
  for (digits in 0:1) {
    got <- round(nv_tensor(z, "c128"), digits)
    expect_equal(as.vector(got), unname(round(z, digits)))
    expect_named(got, names(z))
  }
})

test_that("unsplit() and I() take tensors", {
  x <- c(3, 1, 2, 5)
  g <- c("u", "v", "u", "v")
  centred <- function(x) unsplit(lapply(split(x, g), function(v) v - mean(v)), g)
  means <- function(x) unsplit(lapply(split(x, g), mean), g)
  for (f in list(centred, means)) {
    for (run in list(f, jit(f))) expect_equal(as.vector(run(nv_tensor(x, "f64"))), unname(f(x)))
  }
  m <- nv_tensor(matrix(1:6, 3))
  expect_silent(frame <- data.frame(a = 1:3, m = I(m)))
  expect_identical(names(frame), c("a", "m"))
  y <- nv_tensor(x, "f64")
  expect_silent(fit <- lm(c(1, 2, 4, 3) ~ y + I(y^2)))
  expect_equal(unname(coef(fit)), unname(coef(lm(c(1, 2, 4, 3) ~ x + I(x^2)))))
})

test_that("a series that was computed of a tensor is one of R's to generics", {
  y <- suppressWarnings(nv_tensor(c(1, 2, 4), "f64") * ts(1:3))
  expect_equal(as.double(var(y)), var(c(1, 4, 12)))
  expect_equal(as.double(sd(y)), sd(c(1, 4, 12)))
})

test_that("elements take another mode outside of a trace, too, and their dtype with it", {
  x <- nv_tensor(matrix(c(1.7, -2.2, 0, 3), 2, dimnames = list(NULL, c("a", "b"))), "f64")
  of <- function(x, mode) {
    storage.mode(x) <- mode
    y <- x
    mode(y) <- mode
    expect_identical(x, y)
    y
  }
  expect_elements(of(x, "integer"), matrix(c(1L, -2L, 0L, 3L), 2), "i32?[2, 2]")
  expect_elements(of(x, "logical"), matrix(c(TRUE, TRUE, FALSE, TRUE), 2), "i1[2, 2]")
  expect_identical(dimnames(of(x, "integer")), list(NULL, c("a", "b")))
  expect_identical(of(x, "double"), x)
  expect_elements(of(nv_tensor(1:2), "double") / 4, c(0.25, 0.5), "f32?[2]")
  expect_identical(of(nv_tensor(1:2), "character"), c("1", "2"), ignore_attr = "dim")
  expect_identical(of(1:2, "double"), c(1, 2))
  for (bad in list(c(1, NaN), c(3e9, 1))) {
    expect_error(of(nv_tensor(bad, "f64"), "integer"), class = "anvil_error_value", "holds 1 value")
  }
  expect_error(of(nv_tensor(c(1, NaN), "f64"), "logical"), class = "anvil_error_value")
  for (f in list(function(x) `mode<-`(x), function(x) `storage.mode<-`(x))) {
    for (run in list(f, jit(f))) expect_fields(run(x), "anvil_error_arg", arg = "value")
  }
})
