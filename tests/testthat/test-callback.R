# Calls of functions of R from programs. helper-callback.R has what logs them.

test_that("a function of R is called with tensors, jitted or not", {
  search <- function(a) uniroot(function(x) x^2 - as.numeric(a), c(0, 10), tol = 1e-12)$root
  root <- function(a) nv_callback(search, a, result = f64_type)
  expect_equal(as.numeric(expect_jit_equal(root, number(2))), sqrt(2))
  expect_nv(nv_callback(function(x) x + 1, f64(1:3), result = nv_abstract("f64", 3L)), 2:4, "f64", 3L)
  # What comes is what there is: dtype, shape, ambiguity.
  kinds <- list(
    number(1), nv_scalar(1), nv_scalar(1L), nv_tensor(c(TRUE, FALSE)), nv_tensor(1:6, shape = c(2, 3))
  )
  for (x in kinds) {
    type <- log_of(expect_identical(
      nv_callback(function(v) {
        seen$log <- type_of(v)
        v
      }, x, result = x), x
    ))
    expect_identical(type, type_of(x))
  }
  # R numbers are tensors by then.
  expect_identical(log_of(nv_callback(function(v) seen$log <- type_of(v), 1.5, result = NULL)), "f32?[]")
  for (dtype in dtypes) {
    x <- nv_convert(nv_tensor(c(0, 1, 1, 0)), dtype)
    expect_identical(nv_callback(function(v) v, x, result = nv_abstract(dtype, 4L)), x)
    expect_identical(jit(user_env(function(x) nv_callback(function(v) rev(v), x, result = x)))(x), rev(x))
  }
  empty <- nv_empty("f32", c(0L, 3L))
  expect_identical(nv_callback(function(v) v, empty, result = empty), empty)
  special <- f64(c(NaN, -0, Inf))
  expect_elements(nv_callback(function(v) v, special, result = special), c(NaN, -0, Inf), "f64[3]")
})

test_that("arguments and results are nested lists with names", {
  fun <- function(x, ..., scale) {
    expect_identical(...names(), c("", "p"))
    expect_null(..2$none)
    list(sum = x + ..1 + ..2$w[[1]], none = NULL, of = list(scale * 2L))
  }
  f <- function(a, w) {
    nv_callback(fun, x = a, a, p = list(w = list(w), none = NULL), scale = 3L,
      result = list(sum = f64_type, none = NULL, of = list(nv_abstract("i32"))))
  }
  out <- list(sum = number(5), none = NULL, of = list(nv_scalar(6L, dtype = "i32")))
  expect_identical(expect_jit_equal(f, number(1), number(3)), out)
  # Without arguments, and without results but with a structure.
  expect_identical(expect_jit_equal(function() nv_callback(function() 3, result = f64_type)), number(3))
  expect_identical(nv_callback(function() list(a = NULL), result = list(a = NULL)), list(a = NULL))
  expect_null(nv_callback(function() 3, result = NULL))
  expect_false(withVisible(nv_callback(function() 3, result = NULL))$visible)
  expect_identical(nv_callback(function() 3), nv_scalar(3, dtype = "f32"))
  # Functions that are passed on have arguments of these names.
  out <- nv_callback(function(argument_1, f2) argument_1 - f2, number(3), f2 = number(1), result = f64_type)
  expect_identical(out, number(2))
})

test_that("R numbers are taken where the dtype holds their kind", {
  gives <- function(value, dtype, shape = integer()) {
    nv_callback(function() value, result = nv_abstract(dtype, shape))
  }
  expect_identical(gives(2L, "f32"), nv_scalar(2, dtype = "f32"))
  expect_identical(gives(TRUE, "ui8"), nv_scalar(1L, dtype = "ui8"))
  expect_identical(gives(0.1, "f16"), nv_scalar(0.1, dtype = "f16"))
  expect_identical(gives(1i, "c64"), nv_scalar(1i, dtype = "c64"))
  expect_identical(gives(matrix(1:4, 2), "i64", c(2L, 2L)), nv_tensor(1:4, dtype = "i64", shape = c(2, 2)))
  expect_identical(gives(c(a = 1, b = 2), "f64", 2L), f64(c(1, 2)))
  expect_identical(gives(5, "f64", 1L), f64(5))
  expect_identical(gives(5, "f64", c(1L, 1L)), f64(5, shape = c(1, 1)))
  expect_identical(gives(numeric(), "f64", 0L), f64(numeric()))
  expect_identical(gives(NA_real_, "f64"), number(NA_real_))
  # An ambiguous tensor, too; and a known one for an ambiguous type.
  expect_identical(gives(nv_scalar(2.5), "f64"), number(2.5))
  expect_identical(gives(nv_scalar(2L), "f32"), nv_scalar(2, dtype = "f32"))
  known <- function() nv_scalar(0.1, dtype = "f32")
  expect_elements(nv_callback(known, result = nv_abstract("f32", ambiguous = TRUE)), as_f32(0.1), "f32?[]")
})

test_that("what does not fit `result` is an error that says what was expected and what came", {
  expect_mismatch <- function(value, result, expected, got, path = "result") {
    f <- function(x) nv_callback(function(v) value, x, result = result)
    f <- jit(user_env(f, value = value, result = result))
    expect_fields(f(number(1)), "anvil_error_callback", path = path, expected = expected, got = got)
  }
  i32 <- nv_abstract("i32")
  expect_mismatch(nv_scalar(1, dtype = "f32"), f64_type, "f64[]", "f32[]")
  expect_mismatch(1.5, i32, "i32[]", "R's f32?[]")
  expect_mismatch(1, nv_abstract("i1"), "i1[]", "R's f32?[]")
  expect_mismatch(1i, f64_type, "f64[]", "R's c64?[]")
  expect_mismatch(nv_scalar(1.5), i32, "i32[]", "f32?[]")
  expect_mismatch(c(1, 2), f64_type, "f64[]", "R's f32?[2]")
  expect_mismatch(matrix(1, 1, 1), f64_type, "f64[]", "R's f32?[1, 1]")
  expect_mismatch(f64(1:3), nv_abstract("f64", c(3L, 1L)), "f64[3, 1]", "f64[3]")
  expect_mismatch("a", f64_type, "f64[]", "a character vector of length 1")
  expect_mismatch(NULL, f64_type, "f64[]", "NULL")
  expect_mismatch(factor("a"), i32, "i32[]", "an object of class <factor>")
  expect_mismatch(NA, nv_abstract("i1"), "i1[]", "R's i1[] with missing values")
  expect_mismatch(NA_integer_, i32, "i32[]", "R's i32?[] with missing values")
  expect_mismatch(-1L, nv_abstract("ui8"), "ui8[]", "R's i32?[] with numbers that ui8 cannot represent")
  expect_mismatch(list(1), f64_type, "f64[]", "a list of length 1")
  expect_mismatch(1, list(f64_type), "a list of length 1, without names", "a double vector of length 1")
  expect_mismatch(list(b = 1), list(a = f64_type), "a list with the names `a`", "a list with the names `b`")
  expect_mismatch(list(1), list(a = f64_type), "a list with the names `a`", "a list of length 1")
  expect_mismatch(
    list(a = 1), list(f64_type), "a list of length 1, without names", "a list with the names `a`"
  )
  expect_mismatch(list(a = list(1, "b")), list(a = list(f64_type, f64_type)), "f64[]",
    "a character vector of length 1", "result$a[[2]]")
  expect_mismatch(list(3), list(NULL), "NULL", "a double vector of length 1", "result[[1]]")
  # It names the call of the program.
  f <- user_env(jit(function(x) nv_callback(function(v) "a", x)))
  expect_identical(call_of(f(nv_scalar(1))), "f(nv_scalar(1))")
  said <- conditionMessage(condition_of(f(nv_scalar(1))))
  expect_match(said, "`result` must be f32[], not a character", fixed = TRUE)
  expect_identical(call_of(nv_callback(function() "a")), "nv_callback(function() \"a\")")
  expect_no_open_trace()
})

test_that("arguments of another kind are refused", {
  expect_fields(nv_callback(1, 2), "anvil_error_arg", arg = "f")
  expect_fields(nv_callback(quote, 2), "anvil_error_arg", arg = "f")
  expect_fields(nv_callback(sum, 2, vectorized = NA), "anvil_error_arg", arg = "vectorized")
  expect_fields(nv_callback(sum, "a"), "anvil_error_arg", arg = "..1")
  expect_fields(nv_callback(sum, x = list(b = "a")), "anvil_error_arg", arg = "x$b")
  expect_fields(nv_callback(sum, nv_abstract("f32")), "anvil_error_arg", arg = "..1")
  expect_fields(
    nv_callback(sum, 2, result = "f32"), "anvil_error_arg", arg = "result",
    got = "a character vector of length 1"
  )
  expect_fields(nv_callback(sum, 2, result = list(f64_type, 1)), "anvil_error_arg", arg = "result")
  expect_fields(nv_callback(sum, 2, result = list(f64_type, NA)), "anvil_error_arg", arg = "result")
  expect_error(nv_callback(), class = "anvil_error_arg")
  expect_no_open_trace()
})

test_that("an error of the function is the error of the call, unchanged", {
  mine <- structure(
    class = c("mine", "error", "condition"), list(message = "it broke", call = quote(there()), data = 1:3)
  )
  f <- jit(user_env(function(x) nv_callback(function(v) stop(mine), x) + 1, mine = mine))
  for (i in 1:2) {
    expect_identical(condition_of(f(nv_scalar(1))), mine)
    expect_no_open_trace()
  }
  expect_identical(condition_of(nv_callback(function() stop(mine))), mine)
  plain <- condition_of(jit(user(function(x) nv_callback(function(v) stop("no"), x)))(nv_scalar(1)))
  expect_identical(class(plain), c("simpleError", "error", "condition"))
  expect_identical(deparse1(conditionCall(plain)), "f(argument_1)")
  # One of R's own, of a builtin function; and of an op.
  plain <- condition_of(nv_callback(as.call, number(1)))
  expect_identical(class(plain), c("simpleError", "error", "condition"))
  expect_error(nv_callback(function(x) x + f64(1:3), f64(1:2)), class = "anvil_error_shape")
  # Warnings, messages, and jumps of other kinds.
  f <- jit(user(function(x) nv_callback(function(v) {
    warning("careful")
    v
  }, x, result = x)))
  expect_warning(out <- f(number(1)), "careful")
  expect_identical(out, number(1))
  left <- callCC(function(k) {
    jit(user_env(function(x) nv_callback(function(v) k("left"), x), k = k))(nv_scalar(1))
  })
  expect_identical(left, "left")
  restarted <- withRestarts(
    nv_callback(function() invokeRestart("mine", 4)), mine = function(x) x
  )
  expect_identical(restarted, 4)
  expect_no_open_trace()
  # In the middle of a loop, after which the program runs again.
  f <- jit(user_env(function(x) {
    step <- function(i) if (i == 3L && fail$now) stop("third") else 1
    nv_for(5L, x, function(i, s) s + nv_callback(step, i))
  }, fail = fail <- new.env()))
  for (now in c(TRUE, FALSE, TRUE, FALSE)) {
    fail$now <- now
    out <- tryCatch(f(nv_scalar(1, dtype = "f32")), error = conditionMessage)
    expect_identical(out, if (now) "third" else nv_scalar(6, dtype = "f32"))
  }
})

test_that("time limits and interrupts end a call", {
  # Called before, since R drops the error of a limit that is over while it compiles a function.
  wait <- user(function(n) {
    for (i in seq_len(as.numeric(n))) Sys.sleep(0.01)
    0
  })
  f <- jit(user_env(function(n) nv_callback(wait, n, result = n), wait = wait))
  again <- jit(user_env(function(n) {
    nv_for(1000L, n, function(i, n) nv_callback(function(n) as.numeric(n) + wait(n), n, result = n))
  }, wait = wait))
  for (i in 1:2) lapply(list(f, again), function(f) f(number(0)))
  expect_stopped(f(number(3000)))
  expect_stopped(again(number(1)))
  interrupt <- structure(class = c("interrupt", "condition"), list())
  caught <- tryCatch(
    nv_callback(function() signalCondition(interrupt), result = NULL),
    interrupt = function(i) "interrupted"
  )
  expect_identical(caught, "interrupted")
  skip_without_interrupts()
  raised <- tryCatch(
    jit(user(function(x) nv_callback(function(v) {
      tools::pskill(Sys.getpid(), tools::SIGINT)
      Sys.sleep(10)
    }, x, result = NULL)))(number(1)),
    interrupt = function(i) "interrupted"
  )
  expect_identical(raised, "interrupted")
  expect_no_open_trace()
})

test_that("it is called once whenever the program comes to it, in order, whatever uses it", {
  f <- jit(function(x) {
    nv_callback(logged("unread", 1), x)
    nv_callback(logged("unread", 1), x)
    nv_callback(logged("nothing"), result = NULL)
    y <- nv_callback(logged("known", 2), 5)
    y - y + nv_callback(logged("last", 3), x)
  })
  for (i in 1:2) {
    want <- c("unread 7", "unread 7", "nothing", "known 5", "last 7")
    expect_identical(log_of(out <- f(nv_scalar(7))), want)
    expect_identical(out, nv_scalar(3, dtype = "f32"))
  }
  # What nobody asks for is not called at compile time.
  expect_identical(log_of(trace_fn(function() nv_callback(logged("a", 1), 1))), character())
  expect_identical(log_of(explain_plan(function(x) nv_callback(logged("a", 1), x), number(1))), character())
  # Neither are values that are known in a trace.
  g <- jit(function(x) {
    nv_callback(logged("concrete"), f64(c(1, 2)), result = NULL)
    x
  })
  for (i in 1:2) expect_identical(log_of(g(number(0))), "concrete 1 2")
  # And between values that are printed.
  h <- jit(user_env(function(x) {
    nv_print(x, "first")
    nv_callback(function(v) cat("second\n"), x, result = NULL)
    nv_print(x + 1, "third")
    nv_callback(function(v) cat("fourth\n"), x, result = NULL)
    x
  }))
  shown <- utils::capture.output(invisible(h(nv_scalar(1))))
  expect_identical(grep("[a-z]{4}", shown, value = TRUE), c("first", "second", "third", "fourth"))
})

test_that("branches and loops call it, nested, in order", {
  f <- jit(function(x) {
    out <- nv_for(4L, x, function(i, s) {
      nv_callback(logged("step"), i, result = NULL)
      nv_if(i %% 2L == 0L, nv_callback(logged("even"), s, result = NULL), NULL)
      s <- nv_if(s > 3, nv_callback(logged("large", function(v) v), s, result = s), s)
      nv_scan(function(carry, y) {
        nv_callback(logged("inner"), y, result = NULL)
        list(carry, NULL)
      }, 0, f64(c(8, 9)))
      s + 1
    })
    nv_callback(logged("end"), out, result = NULL)
    out
  })
  inner <- c("inner 8", "inner 9")
  want <- c(
    "step 1", inner, "step 2", "even 2", inner, "step 3", inner, "step 4", "even 4", "large 4", inner, "end 5"
  )
  for (i in 1:2) expect_identical(log_of(expect_identical(f(number(1)), number(5))), want)

  # A condition that R decides, and a state that it makes.
  g <- function(x) {
    small <- logged("go", function(x) as.numeric(x) < 10)
    nv_while(list(x = x, n = 0L), function(s) nv_callback(small, s$x, result = nv_abstract("i1")),
      function(s) list(x = nv_callback(function(x) x * 2, s$x, result = s$x), n = s$n + 1L))
  }
  expect_identical(log_of(out <- g(number(3))), c("go 3", "go 6", "go 12"))
  expect_identical(out, list(x = number(12), n = nv_scalar(2L, ambiguous = TRUE)))
  expect_identical(jit(g)(number(3)), out)
  # A loop that nobody reads, one that is never run, and a branch of a branch without values.
  h <- jit(function(x) {
    nv_for(2L, x, function(i, s) {
      nv_callback(logged("unread"), s, result = NULL)
      s
    })
    nv_for(0L, x, function(i, s) nv_callback(logged("never", 1), s, result = s))
    nv_if(x > 0, nv_if(x > 1, nv_callback(logged("both"), x, result = NULL), NULL), {
      nv_print(x, "negative")
      NULL
    })
    x
  })
  expect_identical(log_of(h(number(2))), c("unread 2", "unread 2", "both 2"))
  expect_identical(log_of(h(number(1))), c("unread 1", "unread 1"))
})

test_that("it may call jitted functions and ops, the one that calls it too", {
  inner <- jit(function(x) nv_for(3L, x, function(i, s) s * 2))
  f <- jit(user_env(function(x) {
    first <- function(v) sum(inner(v) + nv_fill(1, 3L, "f64")) * f64(c(1, 0, 0))
    nv_for(2L, x, function(i, s) nv_callback(first, s, result = s))
  }, inner = inner, f64 = f64))
  expect_identical(f(f64(1:3)), f64(c(51 * 8 + 3, 0, 0)))
  # Recursion: the program runs inside itself.
  factorial <- jit(user_env(function(n) {
    nv_if(n <= 1, n, nv_callback(function(m) self$factorial(m - 1) * m, n, result = n))
  }, self = self <- new.env()))
  self$factorial <- factorial
  expect_identical(factorial(number(10)), number(3628800))
  looping <- jit(user_env(function(x, n) {
    nv_for(2L, x, function(i, s) {
      nv_if(n > 0, nv_callback(function(s, n) self$looping(s, n - 1), s, n, result = s), s) + 1
    })
  }, self = self))
  self$looping <- looping
  plain <- function(x, n) {
    for (i in 1:2) x <- (if (n > 0) plain(x, n - 1) else x) + 1
    x
  }
  expect_identical(looping(f64(rep(0, 5)), 3), f64(rep(plain(0, 3), 5)))
  # Its own cache may drop the program meanwhile.
  small <- jit(user_env(function(x) {
    y <- nv_callback(function(v) {
      if (length(v) < 6) self$small(f64(seq_len(length(v) + 1)))
      gc()
      v
    }, x, result = x)
    nv_callback(function(v) v + 1, y, result = x)
  }, self = self, f64 = f64), cache_size = 1)
  self$small <- small
  for (i in 1:2) expect_identical(small(f64(1)), f64(2))
  # Too deep: an error of R's.
  endless <- jit(user_env(function(x) nv_callback(function(v) self$endless(v), x, result = x), self = self))
  self$endless <- endless
  # No calling handlers, which would run where no stack is left.
  expect_match(tryCatch(endless(number(1)), error = conditionMessage), "nested|infinite|stack")
  expect_no_open_trace()
  expect_identical(factorial(number(5)), number(120))
  # A trace of its own, and a derivative.
  slope <- user(function(v) jit(gradient(function(a) a^3))(v)$a)
  expect_identical(jit(function(x) nv_callback(slope, x, result = x))(number(2)), number(12))
})

test_that("what it changes, donates or makes does not touch the program", {
  x <- f64(c(1, 2, 3))
  take <- jit(function(v) v * 10, donate = "v")
  kept <- NULL
  f <- jit(function(x, y) {
    made <- nv_callback(function(v) {
      kept <<- v
      v[1] <- 100
      take(v)
    }, x, result = x)
    made + x + y
  })
  expect_identical(f(x, x), f64(c(1002, 24, 36)))
  expect_identical(kept, f64(c(1, 2, 3)))
  expect_identical(x, f64(c(1, 2, 3)))
  # The caller's variable, while the program reads it; small and large, which have memory of their own.
  for (n in c(3, 1e5)) {
    for (dtype in c("f64", "f32")) {
      x <- nv_fill(1, n, dtype)
      g <- jit(function(a) {
        y <- a * 2
        nv_callback(function() {
          x[1] <<- 5
          x <<- take(x)
          x <<- nv_fill(0, n, dtype)
          gc()
          NULL
        }, result = NULL)
        y + a
      })
      expect_identical(g(x), nv_fill(3, n, dtype))
      expect_identical(x, nv_fill(0, n, dtype))
    }
  }
  # A result that is an argument, and one that was donated.
  expect_identical(jit(function(x) nv_callback(identity, x, result = x))(f64(1:2)), f64(1:2))
  gone <- nv_fill(1, 1e5)
  take(gone)
  donated <- function(v) {
    take(v)
    v
  }
  expect_identical(nv_callback(donated, f64(1:2), result = nv_abstract("f64", 2L)), f64(1:2))
  expect_error(nv_callback(function() gone, result = gone), class = "anvil_error_donated")
  # A donated argument of the program itself.
  h <- jit(user(function(x) nv_callback(function(v) v + 1, x, result = x) * x), donate = "x")
  for (n in c(3, 1e5)) {
    x <- nv_fill(2, n, "f64")
    expect_identical(h(x), nv_fill(6, n, "f64"))
  }
})

test_that("a traced variable that it captures is an error", {
  f <- jit(function(x) nv_callback(function() x, result = x))
  expect_error(f(number(1)), class = "anvil_error_leaked_tracer")
  g <- jit(function(x) nv_callback(function(v) v + x, x, result = x))
  expect_error(g(number(1)), class = "anvil_error_leaked_tracer")
  expect_no_open_trace()
})

test_that("an index out of range is the error, and the function is not called", {
  f <- jit(function(x, i) nv_callback(logged("called", 1), nv_subset(x, i), result = f64_type))
  expect_identical(log_of(f(f64(1:3), nv_scalar(2L))), "called 2")
  expect_identical(log_of(expect_error(f(f64(1:3), nv_scalar(4L)), class = "anvil_error_index")), character())
})

test_that("it does not leave R", {
  error <- expect_fields(
    stablehlo(function(x) nv_callback(exp, x), nv_scalar(1)), "anvil_error_export", op = "nv_callback"
  )
  expect_match(conditionMessage(error), "Remove `nv_callback()`", fixed = TRUE)
  expect_error(stablehlo(function(x) {
    nv_callback(exp, x, result = NULL)
    x
  }, nv_scalar(1)), class = "anvil_error_export")
  # A jitted function that was saved traces again.
  f <- jit(user(function(x) nv_callback(function(v) v * 2, x, result = x)))
  f(nv_scalar(1))
  expect_identical(unserialize(serialize(f, NULL))(nv_scalar(2)), nv_scalar(4))
  graph <- graph_text(trace_fn(f, nv_scalar(1)))
  expect_match(graph, "callback [vectorized = FALSE] (%x1)", fixed = TRUE)
})

test_that("functions live as long as programs, and no longer", {
  ended <- 0
  make <- function() {
    token <- new.env()
    reg.finalizer(token, function(e) ended <<- ended + 1)
    # The function's environment refers to the jitted function: a circle.
    self <- jit(function(x) nv_callback(function(v) {
      force(token)
      v + 1
    }, x, result = x))
    self
  }
  f <- make()
  expect_identical(f(number(1)), number(2))
  for (i in 1:3) gc()
  expect_identical(f(number(2)), number(3))
  expect_identical(ended, 0)
  before <- .Call(anvil:::anvil_handles)
  rm(f)
  for (i in 1:3) gc()
  expect_identical(ended, 1)
  expect_lt(.Call(anvil:::anvil_handles), before)
  # A traced function keeps it as well; one that is called once does not.
  graph <- trace_fn(make(), number(1))
  (function() {
    token <- new.env()
    reg.finalizer(token, function(e) ended <<- ended + 1)
    nv_callback(function() force(token), result = NULL)
  })()
  for (i in 1:3) gc()
  expect_identical(ended, 2)
  rm(graph)
  for (i in 1:3) gc()
  expect_identical(ended, 3)
})

test_that("collections at every allocation find nothing loose", {
  skip_on_cran()
  work <- function() {
    types <- list(sum = nv_abstract("f32", 3L), n = nv_abstract("i32"), none = NULL)
    f <- jit(function(x, w) {
      nv_for(2L, x, function(i, s) {
        out <- nv_callback(function(v, p) {
          if (sum(v) > 1e6) stop("never")
          list(sum = v + p$w, n = length(v), none = NULL)
        }, s, p = list(w = w), result = types)
        nv_if(i == 2L, nv_callback(function(n) NULL, out$n, result = NULL), NULL)
        out$sum * 2
      })
    })
    x <- nv_tensor(c(1, 2, 3), dtype = "f32")
    failed <- tryCatch(
      nv_callback(function(v) list(a = 1L), x, result = list(a = nv_abstract("i1"))),
      error = function(e) class(e)[1]
    )
    list(as.vector(f(x, x)), as.vector(f(x, x)), failed)
  }
  results <- tortured(work, 23)
  expect_identical(results$got, results$want)
  expect_identical(results$got[[3]], "anvil_error_callback")
})

test_that("it runs on R's own thread, beside work that others do", {
  withr::local_options(anvil.threads = 2)
  f <- jit(user(function(x) {
    nv_for(3L, x, function(i, s) {
      s <- sin(s) + sum(s) / 1e6
      nv_callback(function(v) {
        options(anvil.threads = 1L + as.integer(sum(v) > 0))
        v + sum(v * 0)
      }, s, result = s)
    })
  }))
  plain <- jit(user(function(x) nv_for(3L, x, function(i, s) sin(s) + sum(s) / 1e6)))
  x <- nv_fill(0.5, 2e5, "f64")
  expect_identical(f(x), plain(x))
})

test_that("objects of registered classes are arguments and results", {
  register_tree_class(
    "callback_model", function(x) list(children = unclass(x)["w"], static = x$name),
    function(children, static) structure(list(w = children$w, name = static), class = "callback_model")
  )
  model <- structure(list(w = f64(1:2), name = "m"), class = "callback_model")
  f <- jit(function(model, name) {
    nv_callback(function(m) {
      expect_s3_class(m, "callback_model")
      expect_identical(m$w, f64(1:2))
      m$w <- as.numeric(m$w) * 2
      m$name <- name
      list(m)
    }, model, result = list(model))
  }, static = "name")
  doubled <- structure(list(w = f64(c(2, 4)), name = "m"), class = "callback_model")
  expect_identical(f(model, "m"), list(doubled))
  expect_fields(
    f(model, "other"), "anvil_error_callback", path = "result[[1]]",
    expected = "an object of class <callback_model> as `result` has it"
  )
  g <- jit(function(model) nv_callback(function(m) list(m$w), model, result = list(model)))
  expect_fields(g(model), "anvil_error_callback", got = "a tensor")
})
