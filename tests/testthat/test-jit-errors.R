# Errors of jitted functions, and other ways out of them.

x <- nv_tensor(c(1, 2, 3))

test_that("other results are refused, and leave no trace open", {
  functions <- list(
    function(x) "a", function(x) sum, function(x) list(x, mean), function(x) factor("a"), function(x) NA,
    function(x) quote(a), function(x) data.frame(a = I(list(sum)))
  )
  for (f in functions) {
    expect_error(jit(f)(x), class = "anvil_error")
    expect_no_open_trace()
  }
  e <- expect_error(jit(function(x) "a")(x), class = "anvil_error_arg")
  expect_match(conditionMessage(e), "`the result`", fixed = TRUE)
})

test_that("a traced value in a function that do.call() calls by itself is an error of ours", {
  each <- local(function(x) do.call("mapply", list(function(v) v, x)), .BaseNamespaceEnv)
  for (run in list(jit(each), vmap(each), function(x) nv_map(each, x))) {
    expect_error(run(x), class = "anvil_error_concrete")
    expect_no_open_trace()
  }
})

test_that("errors in the function keep their own class, message and call, and leave no trace open", {
  f <- jit(function(x) stop("my own error"))
  e <- expect_error(f(x), "my own error")
  expect_identical(conditionCall(e)[[2]], quote(x))
  expect_no_open_trace()
  g <- jit(function(x) {
    helper <- function(v) stop(
      structure(class = c("mine", "error", "condition"), list(message = "m", call = quote(helper(v))))
    )
    helper(x)
  })
  e <- expect_error(g(x), class = "mine")
  expect_identical(conditionCall(e), quote(helper(v)))
  expect_no_open_trace()
  h <- jit(user(function(x) x + nv_tensor(c(1, 2))))
  e <- expect_error(h(x), class = "anvil_error_shape")
  expect_identical(conditionCall(e), quote(x + nv_tensor(c(1, 2))))
  expect_no_open_trace()
  expect_error(jit(function(x) undefined_here + x)(x), "undefined_here")
  expect_no_open_trace()
  # The function is as good as new.
  flag <- TRUE
  k <- jit(function(x) if (flag) stop("once") else x)
  expect_error(k(x), "once")
  flag <- FALSE
  expect_identical(k(x), x)
})

test_that("any other way out of the function leaves no trace open", {
  got <- callCC(function(out) jit(function(x) out("escaped"))(x))
  expect_identical(got, "escaped")
  expect_no_open_trace()
  # A restart, an interrupt, a return through a promise, a break out of a loop.
  got <- withRestarts(jit(function(x) invokeRestart("leave", 5))(x), leave = function(v) v)
  expect_identical(got, 5)
  expect_no_open_trace()
  interrupt <- structure(class = c("interrupt", "condition"), list(message = "", call = NULL))
  got <- tryCatch(jit(function(x) signalCondition(interrupt))(x), interrupt = function(e) "interrupted")
  expect_identical(got, "interrupted")
  expect_no_open_trace()
  leave <- function() jit(function(x, v) x + v)(x, return("returned"))
  expect_identical(leave(), "returned")
  lazily <- function() {
    f <- function(v) jit(function(x) x + v)(x)
    f(return("from inside"))
  }
  expect_identical(lazily(), "from inside")
  expect_no_open_trace()
  for (i in 1:3) jit(function(x) eval.parent(quote(x), 1))(x)
  expect_no_open_trace()
  # In a trace in a trace.
  expect_error(jit(function(x) trace_fn(function(z) stop("inner"), 1))(x), "inner")
  expect_no_open_trace()
  got <- jit(function(x) {
    try(trace_fn(function(z) stop("inner"), 1), silent = TRUE)
    x + 1
  })(x)
  expect_elements(got, c(2, 3, 4), "f32[3]")
  expect_no_open_trace()
})

test_that("warnings and messages of the function pass, once", {
  f <- jit(function(x) {
    warning("careful")
    message("hello")
    x
  })
  expect_message(expect_warning(got <- f(x), "careful"), "hello")
  expect_identical(got, x)
  expect_silent(f(x))
})

test_that("an error is caught inside the function as R does", {
  f <- jit(function(x) tryCatch(x + nv_tensor(c(1, 2)), anvil_error_shape = function(e) x * 2))
  expect_elements(f(x), c(2, 4, 6), "f32[3]")
})

# ---- places in errors ----

test_that("an error about an argument names it, and the place of the leaf in it", {
  f <- jit(user(function(l, ..., last = 1) l))
  at <- function(expr) {
    error <- expect_error(expr, class = "anvil_error")
    expect_match(conditionMessage(error), paste0("`", error$arg, "`"), fixed = TRUE)
    error$arg
  }
  one <- nv_scalar(1)
  expect_identical(at(f("a")), "l")
  expect_identical(at(f(list(one, list(a = one, b = sum)))), "l[[2]]$b")
  expect_identical(at(f(list(list(one), b = list(NULL, sum)))), "l$b[[2]]")
  expect_identical(at(f(one, "a")), "..1")
  expect_identical(at(f(one, 1, list(x = list(2, sum)))), "..2$x[[2]]")
  expect_identical(at(f(one, q = list(sum))), "q[[1]]")
  expect_identical(at(f(one, 2, last = list(z = quote(f)))), "last$z")
  # Missing values, in a program that is new and in one that is kept.
  for (i in 1:2) expect_identical(at(f(list(1L, list(w = NA_integer_)))), "l[[2]]$w")
  invisible(f(list(1L, list(w = 2L))))
  expect_identical(at(f(list(1L, list(w = NA_integer_)))), "l[[2]]$w")
  # A tensor whose parts were changed.
  broken <- structure(
    list(data = 1, dtype = "f32", shape = 3L, ambiguous = FALSE), class = c("AnvilTensor", "AnvilValue")
  )
  expect_identical(at(f(list(a = one, b = broken))), "l$b")
  # A static argument is no data, and one that was left out is nothing.
  g <- jit(user(function(s, x, y) x), static = "s")
  expect_identical(at(g("a", list(sum))), "x[[1]]")
  # In a trace.
  expect_identical(at(jit(function(x) f(list(x, list(z = sum))))(one)), "l[[2]]$z")
  expect_identical(at(trace_fn(function(l) l, list(one, w = list(sum)))), "l$w[[1]]")
  expect_identical(at(explain_dtypes(function(l) l, list(one, w = list(sum)))), "l$w[[1]]")
  expect_identical(at(f(setNames(list(sum), "caf\u00e9"))), "l$caf\u00e9")
  # Deep lists: no recursion for the place.
  deep <- sum
  for (i in 1:100) deep <- list(deep)
  expect_identical(at(f(deep)), paste0("l", strrep("[[1]]", 100)))
})

test_that("an error about a result names the place in it", {
  result_of <- function(value) expect_error(jit(function(x) value)(1), class = "anvil_error")$arg
  expect_identical(result_of("a"), "the result")
  expect_identical(result_of(list(a = list(1, sum))), "the result$a[[2]]")
  expect_identical(result_of(list(1, list(b = sum))), "the result[[2]]$b")
  expect_identical(result_of(list(x = NA_integer_)), "the result$x")
  expect_identical(
    expect_error(trace_fn(function(x) list(x, sum), 1), class = "anvil_error_arg")$arg,
    "the result[[2]]"
  )
})

test_that("a condition is what reads, beside an assignment of the same value", {
  f <- user(function(x) {
    path <- numeric(2)
    at <- 0
    for (i in 1:2) {
      at <- at + x[i]
      if (at > 2) at <- 2
      path[i] <- at
    }
    path
  })
  e <- expect_error(jit(f)(nv_tensor(1:2)), class = "anvil_error_concrete")
  expect_match(conditionMessage(e), "`if` cannot read them", fixed = TRUE)
  expect_match(deparse1(conditionCall(e)), "if (at > 2) at <- 2", fixed = TRUE)
})

test_that("a check of values is for outside", {
  says <- function(f) conditionMessage(expect_error(jit(user(f))(1), class = "anvil_error_concrete"))
  expect_match(says(function(x) { if (x < 0) stop("negative"); sqrt(x) }), "check arguments", fixed = TRUE)
  expect_match(says(function(x) { if (any(x < 0)) { warning("no") }; x }), "check arguments", fixed = TRUE)
  expect_match(says(function(x) { if (x < 0) stop("negative") else sqrt(x) }), "nv_if()", fixed = TRUE)
  expect_match(says(function(x) { if (x < 0) x <- 0; x }), "nv_if()", fixed = TRUE)
})

test_that("a size that is an argument is told to be static", {
  sizes <- list(
    function(x, n) matrix(x, n), function(x, n) matrix(0, n, n), function(x, n) array(x, n),
    function(x, n) rep(x, n), function(x, n) rep_len(x, n), function(x, n) head(x, n), function(x, n) 1:n,
    function(x, n) seq(1, n), function(x, n) replicate(n, x), function(x, n) vector("numeric", n)
  )
  for (f in sizes) {
    e <- expect_error(jit(user(f))(1:4, 2L), class = "anvil_error")
    expect_match(conditionMessage(e), "known (while|when the function is) trac.*`static = `")
  }
})
