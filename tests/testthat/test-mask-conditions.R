# Handlers of errors in traced functions: an error about the trace passes by them.

x <- nv_tensor(c(3, 1, 2), "f64")

run <- function(f) jit(user(f))(x)

refused <- function(f, class = "anvil_error_concrete", where) {
  e <- expect_error(run(f), class = class)
  if (!missing(where)) expect_identical(e$where, where, label = deparse1(body(f)))
  e
}

test_that("a handler of errors does not take that a trace has no elements", {
  refused(function(x) tryCatch(if (sum(x) > 3) x else -x, error = function(e) x * 0), where = "if")
  refused(function(x) tryCatch(while (sum(x) > 3) x <- x / 2, error = function(e) x), where = "while")
  refused(function(x) tryCatch(rep(1:2, times = x), error = function(e) x), where = "rep")
  refused(function(x) tryCatch(as.character(x), condition = function(e) x), where = "as.character()")
  refused(function(x) {
    y <- try(if (sum(x) > 3) x, silent = TRUE)
    if (inherits(y, "try-error")) -x else y
  }, where = "if")
  refused(function(x) tryCatch(tryCatch(optim(x, sum), error = function(e) stop("e")), error = function(e) x))
  # In a function that is called, and where the handler is the user's own.
  refused(function(x) {
    f <- function(v) if (any(v > 2)) v else 0
    handler <- function(e) 0
    tryCatch(f(x), error = handler)
  }, where = "if")
  e <- refused(function(x) suppressWarnings(if (sum(x) > 3) x else -x), where = "if")
  expect_identical(deparse1(conditionCall(e)), "if (sum(x) > 3) x else -x")
})

test_that("handlers take all other conditions, as in R", {
  elements <- function(f) as.vector(run(f))
  expect_identical(elements(function(x) tryCatch(stop("a"), error = function(e) x * 2)), c(6, 2, 4))
  expect_identical(elements(function(x) tryCatch(warning("a"), warning = function(w) -x)), c(-3, -1, -2))
  expect_identical(elements(function(x) tryCatch(x %*% diag(4), error = function(e) -x)), c(-3, -1, -2))
  expect_identical(elements(function(x) {
    tryCatch(tryCatch(stop("in"), error = function(e) stop("out")), error = function(e) {
      if (conditionMessage(e) == "out") x else -x
    })
  }), c(3, 1, 2))
  expect_identical(elements(function(x) {
    y <- try(stop("a"), silent = TRUE)
    if (inherits(y, "try-error")) -x else x
  }), c(-3, -1, -2))
  expect_identical(elements(function(x) { tryCatch(return(x), error = identity); -x }), c(3, 1, 2))
  # Whose handler is of our class, means it.
  expect_identical(
    elements(function(x) tryCatch(if (sum(x) > 3) x, anvil_error_concrete = function(e) -x)), c(-3, -1, -2)
  )
  expect_output(run(function(x) tryCatch(x, finally = cat("done"))), "done", fixed = TRUE)
  expect_output(
    refused(function(x) tryCatch(if (sum(x) > 3) x, error = identity, finally = cat("done"))), "done",
    fixed = TRUE
  )
})
