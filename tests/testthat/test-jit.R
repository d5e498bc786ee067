x <- nv_tensor(c(1, 2, 3))
y <- nv_tensor(c(10, 20, 30))

# Counts how often a function's R code runs.
counted <- function(f) {
  count <- 0L
  list(f = function(...) {
    count <<- count + 1L
    f(...)
  }, count = function() count)
}

test_that("a jitted function keeps the formals of its function", {
  f <- function(x, y = 2, ..., z) x
  expect_identical(formals(jit(f)), formals(f))
  expect_s3_class(jit(f), "JitFunction")
  expect_true(is.function(jit(f)))
})

test_that("R code runs for new types only; a hit computes with new values", {
  runs <- 0L
  f <- jit(function(x) {
    runs <<- runs + 1L
    x * 2
  })
  expect_elements(f(x), c(2, 4, 6), "f32[3]")
  expect_elements(f(y), c(20, 40, 60), "f32[3]")
  expect_identical(runs, 1L)
  expect_identical(cache_info(f)[c("entries", "hits", "misses")], list(entries = 1L, hits = 1L, misses = 1L))
  # Shape, dtype, ambiguity, structure and names each make another program.
  f(nv_tensor(c(1, 2)))
  f(nv_tensor(c(1, 2), shape = c(1, 2)))
  f(nv_tensor(1:2))
  f(nv_tensor(1:2, ambiguous = TRUE))
  f(1L)
  expect_identical(runs, 6L)
  expect_identical(cache_info(f)$entries, 6L)
  f(nv_tensor(3:4))
  expect_identical(runs, 6L)
})

test_that("lists go in and out, nested and named", {
  f <- jit(function(p, s) list(sum = p$a + p$b[[1]], rest = list(p$b[[2]], list(deep = s * 2)), 7L))
  got <- f(list(a = x, b = list(y, nv_scalar(TRUE))), 1.5)
  expect_identical(names(got), c("sum", "rest", ""))
  expect_elements(got$sum, c(11, 22, 33), "f32[3]")
  expect_elements(got$rest[[1]], TRUE, "i1[]")
  expect_identical(names(got$rest[[2]]), "deep")
  expect_elements(got$rest[[2]]$deep, 3, "f32?[]")
  expect_elements(got[[3]], 7L, "i32?[]")
  # Names are part of the key, and seen by the function.
  runs <- 0L
  g <- jit(function(p) {
    runs <<- runs + 1L
    p$a - p$b
  })
  expect_elements(g(list(a = x, b = y)), c(-9, -18, -27), "f32[3]")
  expect_elements(g(list(b = x, a = y)), c(9, 18, 27), "f32[3]")
  expect_identical(runs, 2L)
  expect_elements(g(list(b = y, a = x)), c(-9, -18, -27), "f32[3]")
  expect_identical(runs, 2L)
  # One element, none, and a tensor are three structures.
  h <- jit(function(p) if (is.list(p)) length(p) else -1L)
  expect_elements(h(list(x)), 1L, "i32?[]")
  expect_elements(h(list()), 0L, "i32?[]")
  expect_elements(h(x), -1L, "i32?[]")
})

test_that("NULL stands for itself, in arguments and results", {
  f <- jit(function(x, extra = NULL) if (is.null(extra)) x else x + extra)
  expect_identical(f(x), x)
  expect_identical(f(x, NULL), x)
  expect_elements(f(x, y), c(11, 22, 33), "f32[3]")
  expect_null(jit(function(x) NULL)(x))
  got <- jit(function(p) list(a = NULL, b = p$x, c = list(NULL)))(list(x = x, n = NULL))
  expect_identical(got, list(a = NULL, b = x, c = list(NULL)))
})

test_that("dots keep names and order", {
  f <- jit(function(x, ..., scale = 1) {
    dots <- list(...)
    c(list(names = length(names(dots))), lapply(dots, function(d) d * x * scale))
  })
  got <- f(nv_scalar(2), a = x, y)
  expect_identical(names(got), c("names", "a", ""))
  expect_elements(got$a, c(2, 4, 6), "f32[3]")
  expect_elements(got[[3]], c(20, 40, 60), "f32[3]")
  expect_elements(f(nv_scalar(2), x, scale = 10)[[2]], c(20, 40, 60), "f32[3]")
  expect_identical(cache_info(f)$misses, 2L)
  # Other names in the dots are another call.
  got <- f(nv_scalar(2), b = x, y)
  expect_identical(names(got), c("names", "b", ""))
  sums <- jit(function(...) Reduce(`+`, list(...)))
  expect_elements(sums(x, y, 1), c(12, 23, 34), "f32[3]")
  expect_elements(sums(x), c(1, 2, 3), "f32[3]")
  last <- jit(function(..., k) k)
  expect_elements(last(1, 2, k = 3), 3, "f32?[]")
  # Dots of a caller are passed on.
  outer <- function(...) sums(...)
  expect_elements(outer(x, y), c(11, 22, 33), "f32[3]")
})

test_that("defaults are evaluated in the trace and may use other arguments", {
  f <- jit(function(x, n = length(x), w = x * 2, s = sum(w)) list(n, w, s))
  got <- f(x)
  expect_elements(got[[1]], 3L, "i32?[]")
  expect_elements(got[[2]], c(2, 4, 6), "f32[3]")
  expect_elements(got[[3]], 12, "f32[]")
  expect_elements(f(x, w = y)[[3]], 60, "f32[]")
  expect_elements(f(x, 5)[[1]], 5, "f32?[]")
  # A default that captures an R value.
  k <- 3
  g <- jit(function(x, m = k) x * m)
  expect_elements(g(x), c(3, 6, 9), "f32[3]")
  expect_elements(g(x, m = 2), c(2, 4, 6), "f32[3]")
  # missing() tells.
  h <- jit(function(x, y = 1) if (missing(y)) x else -x)
  expect_elements(h(x), c(1, 2, 3), "f32[3]")
  expect_elements(h(x, 1), c(-1, -2, -3), "f32[3]")
})

test_that("arguments are matched as R does; a missing or unknown one is R's own error", {
  f <- jit(function(first, second) first - second)
  expect_elements(f(second = x, first = y), c(9, 18, 27), "f32[3]")
  expect_elements(f(sec = x, y), c(9, 18, 27), "f32[3]")
  expect_error(f(x), 'argument "second" is missing, with no default', fixed = TRUE)
  expect_error(f(x, y, x), "unused argument")
  expect_error(f(x, third = y), "unused argument")
  wrapped <- function(a, b) f(a, b)
  expect_error(wrapped(x), "is missing, with no default", fixed = TRUE)
  optional <- jit(function(x, y) if (missing(y)) x else x - y)
  expect_identical(optional(x), x)
  expect_elements(optional(y, x), c(9, 18, 27), "f32[3]")
  expect_elements(jit(`-`)(x), c(-1, -2, -3), "f32[3]")
  # An argument that is not used may be left out, as in R.
  expect_identical(jit(function(x, unused = stop("never")) x)(x), x)
})

test_that("no argument is static by NULL", {
  expect_identical(as_array(jit(function(x, y) x + y, static = NULL)(1, 2)), 3)
})

test_that("static arguments are passed as they are, and each value is a program", {
  runs <- 0L
  f <- jit(function(x, how) {
    runs <<- runs + 1L
    switch(how, double = x * 2, negate = -x)
  }, static = "how")
  expect_elements(f(x, "double"), c(2, 4, 6), "f32[3]")
  expect_elements(f(x, "negate"), c(-1, -2, -3), "f32[3]")
  expect_elements(f(x, "double"), c(2, 4, 6), "f32[3]")
  expect_elements(f(how = "negate", x), c(-1, -2, -3), "f32[3]")
  expect_identical(runs, 2L)
  # Functions, lists, NULL, flags, vectors, data frames, tensors.
  g <- jit(function(x, s) {
    runs <<- runs + 1L
    x + (if (is.null(s)) 0 else if (is.function(s)) s(1) else if (is.data.frame(s)) nrow(s) else length(s))
  }, static = "s")
  twice <- function(z) 2 * z
  statics <- list(NULL, twice, list(1, "a"), 1:5, c(a = 1), data.frame(u = 1:7), TRUE, sum, quote(a + b), x)
  add <- c(0, 2, 2, 5, 1, 7, 1, 1, 3, 3)
  runs <- 0L
  for (round in 1:2) for (i in seq_along(statics)) {
    expect_elements(g(x, statics[[i]]), c(1, 2, 3) + add[i], "f32[3]")
  }
  expect_identical(runs, length(statics))
})

test_that("static arguments by position are those by name", {
  traced <- 0L
  power <- function(x, n, scale) {
    traced <<- traced + 1L
    if (n == 0) scale * 1 else scale * x^n
  }
  x <- nv_scalar(3, dtype = "f64")
  for (static in list(2, 2L, c(3L, 2L), c(2, 3, 2), "n", c("n", "scale"))) {
    traced <- 0L
    f <- jit(power, static = static)
    expect_nv(f(x, 2, 5), 45, "f64", shape = integer())
    expect_nv(f(x, scale = 5, n = 0), 5, "f32", shape = integer(), ambiguous = TRUE)
    f(x, 2, 5)
    expect_identical(traced, 2L)
  }
  # Positions count `...`, which has none to give.
  f <- jit(function(x, ..., n = 2) if (n == 2) x else sum(x, ...), static = 3)
  expect_nv(f(x), 3, "f64", shape = integer())
  expect_nv(f(x, x, n = 1), 6, "f64", shape = integer())
  expect_nv(jit(function(x) x, static = integer())(x), 3, "f64", shape = integer())
  g <- jit(jit(function(x, n) if (n) x else -x, static = "n"), static = 2)
  expect_nv(g(x, FALSE), -3, "f64", shape = integer())
  count <- "the 2 formals of `f`"
  for (wrong in list(0, 3, -1, 1.5, c(1, 2.5), NA_real_, NaN, Inf)) {
    expect_error(jit(function(x, n) x, static = wrong), class = "anvil_error_arg", count)
    expect_error(trace_fn(function(x, n) x, 1, 2, static = wrong), class = "anvil_error_arg", count)
    expect_error(explain_dtypes(function(x, n) x, 1, 2, static = wrong), class = "anvil_error_arg", count)
  }
  for (wrong in list(TRUE, NA, list(1), factor("n"), nv_scalar(1L))) {
    expect_error(
      jit(function(x, n) x, static = wrong), class = "anvil_error_arg", "names or positions of arguments"
    )
  }
  dots <- function(x, ..., n) x
  e <- expect_error(jit(dots, static = 2), class = "anvil_error_arg", "2, which is `...`", fixed = TRUE)
  expect_match(conditionMessage(e), "always data")
  expect_identical(e$arg, "static")
  expect_error(jit(function() 1, static = 1), class = "anvil_error_arg", "the 0 formals")
  expect_error(jit(function(x, n) x, static = 1, donate = "x"), class = "anvil_error_arg", "not static")
})

test_that("static values are compared with identical()", {
  runs <- 0L
  f <- jit(function(x, s) {
    runs <<- runs + 1L
    x
  }, static = "s")
  # Equal, but not the same objects.
  f(x, c(1, 2)); f(x, c(1, 2))
  f(x, list(a = "b")); f(x, list(a = paste0("", "b")))
  # Written twice: the same function, whatever its source reference.
  f(x, function(z) z + 1); f(x, function(z) z + 1)
  expect_identical(runs, 3L)
  # Not identical: type, names, attributes, environments.
  for (n in list(1, 1L, TRUE, c(a = 1), structure(1, class = "k"), NA, NA_real_, NaN)) f(x, n)
  make <- function(k) function(z) z + k
  f(x, make(1)); f(x, make(2))
  expect_identical(runs, 13L)
})

test_that("a static argument may be left out, or be a default", {
  f <- jit(function(x, n = 2) {
    for (i in seq_len(n)) x <- x * 2
    x
  }, static = "n")
  expect_elements(f(x), c(4, 8, 12), "f32[3]")
  expect_elements(f(x, 3), c(8, 16, 24), "f32[3]")
  expect_elements(f(x, 0), c(1, 2, 3), "f32[3]")
})

test_that("a traced value cannot be static", {
  f <- jit(function(x, n) x * n, static = "n")
  e <- expect_error(jit(function(x) f(x, x))(x), class = "anvil_error_static", "`n`")
  expect_identical(e$arg, "n")
  expect_no_open_trace()
  # But a number that is known while tracing can.
  expect_elements(jit(function(x) f(x, length(x)))(x), c(3, 6, 9), "f32[3]")
})

test_that("the cache drops what was used longest ago", {
  runs <- character()
  f <- jit(function(x, s) {
    runs <<- c(runs, s)
    x
  }, static = "s", cache_size = 2)
  f(x, "a"); f(x, "b"); f(x, "a"); f(x, "c"); f(x, "a"); f(x, "b")
  # "b" was dropped for "c", and then "c" for "b".
  expect_identical(runs, c("a", "b", "c", "b"))
  expect_identical(cache_info(f), list(size = 2L, entries = 2L, hits = 2L, misses = 4L))
  f(x, "c")
  expect_identical(tail(runs, 1), "c")
  one <- jit(function(x) x + 1, cache_size = 1)
  for (n in c(1:5, 5:1)) expect_identical(length(one(nv_fill(0, n))), n)
  expect_identical(cache_info(one)$entries, 1L)
  expect_identical(cache_info(one)$hits, 1L)
})

test_that("R numbers, logicals and arrays are arguments; values play no role in the key", {
  runs <- 0L
  f <- jit(function(x, k) {
    runs <<- runs + 1L
    x * k
  })
  expect_elements(f(x, 2), c(2, 4, 6), "f32[3]")
  expect_elements(f(x, 0.5), c(0.5, 1, 1.5), "f32[3]")
  expect_identical(runs, 1L)
  expect_elements(f(x, 2L), c(2, 4, 6), "f32[3]")
  expect_elements(f(x, TRUE), c(1, 2, 3), "f32[3]")
  expect_elements(f(nv_tensor(1:2), 0.5), c(0.5, 1), "f32?[2]")
  expect_elements(f(2, 3), 6, "f32?[]")
  expect_elements(f(matrix(1:4, 2), 2L), 2L * 1:4, "i32?[2, 2]")
  expect_elements(f(array(c(TRUE, FALSE)), array(c(TRUE, TRUE))), c(TRUE, FALSE), "i1[2]")
  # All digits reach the dtype that they meet.
  expect_elements(f(nv_tensor(3, dtype = "f64"), 0.1), 3 * 0.1, "f64[1]")
  expect_elements(f(matrix(0.1), nv_tensor(matrix(3), dtype = "f64")), 3 * 0.1, "f64[1, 1]")
  expect_elements(jit(function(a, x) nv_convert(a, "f64"))(0.1, x), 0.1, "f64[]")
})

test_that("other R values are refused with advice, by a cold and a warm function", {
  f <- jit(function(x, y = 0) x + 1)
  for (warm in 1:2) {
    expect_error(f("a"), class = "anvil_error_arg", "static")
    expect_error(f(as.Date("2024-01-01")), class = "anvil_error_arg", "<Date>")
    expect_error(f(sum), class = "anvil_error_arg", "static")
    expect_error(f(quote(a)), class = "anvil_error_arg")
    expect_error(f(globalenv()), class = "anvil_error_arg")
    expect_error(f(list(x, list(a = sum))), class = "anvil_error_arg", "function")
    expect_error(f(NA), class = "anvil_error_value")
    expect_error(f(matrix(c(1L, NA), 1)), class = "anvil_error_value")
    expect_error(f(character()), class = "anvil_error_arg")
    expect_error(f(nv_abstract("f32", 2)), class = "anvil_error_arg")
    expect_no_open_trace()
    f(x)
  }
})

test_that("tensors outside of the arguments are constants, as they were when the function was traced", {
  k <- y
  f <- jit(function(x) x + k)
  expect_elements(f(x), c(11, 22, 33), "f32[3]")
  k <- nv_tensor(c(0, 0, 0))
  expect_elements(f(x), c(11, 22, 33), "f32[3]")
  # A new trace sees the new value.
  expect_elements(f(nv_tensor(1:3)), c(1, 2, 3), "f32[3]")
  rm(k)
  gc()
  expect_elements(f(x), c(11, 22, 33), "f32[3]")

  # Once each, whatever the number of uses; scalars become literals.
  s <- nv_scalar(2, dtype = "f32")
  text <- graph_text(trace_fn(function(x) x * y + x * s - y, x))
  expect_length(gregexpr("%c[0-9]+: ", strsplit(text, "Body")[[1]][1])[[1]], 1L)
  expect_match(text, "2:f32", fixed = TRUE)
  # A large constant survives garbage collection and is not changed by use.
  big <- nv_tensor(as.double(1:1e5), dtype = "f64")
  total <- jit(function(x) sum(big) + x)
  want <- sum(as.double(1:1e5))
  for (i in 1:3) {
    expect_elements(total(nv_scalar(0, dtype = "f64")), want, "f64[]")
    gc()
  }
})

test_that("R arrays outside of the arguments are constants too", {
  m <- matrix(c(0.1, 0.2), 1)
  f <- jit(function(x) x * m)
  expect_elements(f(nv_tensor(m, dtype = "f64")), m * m, "f64[1, 2]")
  g <- jit(function(x) x + c(0.1, 0.2, 0.3))
  expect_elements(g(nv_tensor(c(1, 2, 3), "f64")), c(1.1, 2.2, 3.3), "f64[3]")
})

test_that("a jitted function inside a traced one is inlined", {
  g <- jit(function(a, b = 1) a * 2 + b)
  f <- jit(function(x) g(x) + g(x, 5) - g(b = x, a = 1))
  expect_elements(f(x), c(2, 4, 6) + 1 + c(2, 4, 6) + 5 - (2 + c(1, 2, 3)), "f32[3]")
  expect_identical(cache_info(g)$misses, 0L)
  # From functions of R that call it.
  h <- jit(function(...) lapply(list(...), g))
  expect_elements(h(x, y)[[2]], c(21, 41, 61), "f32[3]")
  m <- jit(function(x) Reduce(`+`, Map(g, list(x, x), list(x, 1))))
  expect_elements(m(x), c(3, 6, 9) + c(3, 5, 7), "f32[3]")
  expect_elements(jit(function(x) do.call(g, list(x, b = 2)))(x), c(4, 6, 8), "f32[3]")
  # Nested deeper, with statics and lists.
  inner <- jit(function(p, n) list(v = p$v * n), static = "n")
  outer <- jit(function(x) inner(inner(list(v = x), 2), 3)$v)
  expect_elements(outer(x), c(6, 12, 18), "f32[3]")
  # Of concrete tensors while something else is traced.
  expect_elements(jit(function(x) x + g(y))(x), c(22, 43, 64), "f32[3]")
  # An R number keeps its ambiguity.
  expect_identical(type_of(jit(function(x) g(x))(nv_tensor(1:2, dtype = "i8"))), "f32?[2]")
  expect_identical(
    type_of(jit(function(x) g(x, 1L) * 0L)(nv_tensor(1:2, dtype = "i8"))),
    type_of(g(nv_tensor(1:2, dtype = "i8"), 1L) * 0L)
  )
})

test_that("jit of a jitted function is jit of its function", {
  f <- jit(jit(function(x, n) x * n, static = "n"))
  expect_elements(f(x, 2), c(2, 4, 6), "f32[3]")
  expect_error(f(x, "a"), class = "anvil_error_arg")
})

test_that("recursion over a static argument ends", {
  power <- jit(function(x, n) if (n == 0) 1 else x * power(x, n - 1), static = "n")
  expect_elements(power(nv_scalar(2, dtype = "f64"), 10), 1024, "f64[]")
  expect_elements(power(x, 2), c(1, 4, 9), "f32[3]")
  expect_error(power("a", 2), class = "anvil_error_arg")
})

test_that("primitives and base functions can be jitted", {
  expect_elements(jit(`+`)(x, y), c(11, 22, 33), "f32[3]")
  expect_elements(jit(exp)(nv_scalar(0)), 1, "f32?[]")
  expect_elements(jit(sum)(x), 6, "f32[]")
  expect_elements(jit(max)(x, 9), 9, "f32[]")
  expect_elements(jit(c)(x, y), c(1, 2, 3, 10, 20, 30), "f32[6]")
  expect_elements(jit(mean)(x), 2, "f32[]")
  expect_elements(jit(t)(nv_fill(1, c(1, 2))), c(1, 1), "f32[2, 1]")
  expect_elements(jit(`!`)(x > 1), c(TRUE, FALSE, FALSE), "i1[3]")
  expect_elements(jit(nv_add)(x, 1), c(2, 3, 4), "f32[3]")
  expect_identical(jit(list)(x, a = y), list(x, a = y))
  expect_identical(jit(identity)(x), x)
  expect_error(jit(`if`), class = "anvil_error_arg", "special")
})

test_that("literals come back as ambiguous tensors", {
  got <- jit(function() list(1L, 1.0, TRUE, NaN, -Inf))()
  expect_identical(vapply(got, type_of, ""), c("i32?[]", "f32?[]", "i1[]", "f32?[]", "f32?[]"))
  expect_elements(got[[5]], -Inf, "f32?[]")
  expect_elements(jit(function() matrix(1:4, 2))(), 1:4, "i32?[2, 2]")
  expect_elements(jit(function(x) length(x))(x), 3L, "i32?[]")
})

test_that("results may be arguments, constants, and the same value twice", {
  f <- jit(function(x) {
    z <- x + 1
    list(z, x, z, y, y, nv_transpose(nv_transpose(x)), x)
  })
  for (i in 1:2) {
    got <- f(x)
    expect_identical(got, list(x + 1, x, x + 1, y, y, x, x))
  }
  # A copy in R: changing what one variable holds does not reach another.
  got[[1]] <- got[[1]] * 0
  expect_identical(f(x)[[3]], x + 1)
  expect_identical(jit(function(x) y)(x), y)
  # Views of arguments are results of their own.
  m <- nv_tensor(1:6, shape = c(2, 3))
  expect_identical(
    jit(
      function(m) list(t(m), nv_reshape(m, 6), nv_broadcast_to(nv_reshape(m, c(1, 2, 3)), c(2, 2, 3)))
    )(m)[[1]],
    t(m)
  )
})

test_that("no results at all", {
  expect_identical(jit(function(x) list())(x), list())
  expect_identical(jit(function() list(a = list()))(), list(a = list()))
  expect_null(jit(function() NULL)())
})

test_that("jit_eval() runs an expression as one program", {
  k <- 2
  expect_elements(jit_eval(x * k + y), c(12, 24, 36), "f32[3]")
  expect_elements(jit_eval({
    z <- x + 1
    z * z
  }), c(4, 9, 16), "f32[3]")
  expect_false(exists("z", inherits = FALSE))
  local_value <- function(v) jit_eval(v * 2)
  expect_elements(local_value(x), c(2, 4, 6), "f32[3]")
})

test_that("printing shows the function and its programs", {
  f <- jit(function(x) x + 1, cache_size = 7)
  expect_output(print(f), "<JitFunction> with 0 of 7 programs\nfunction(x) x + 1", fixed = TRUE)
  f(x)
  expect_output(print(f), "<JitFunction> with 1 of 7 programs", fixed = TRUE)
})

test_that("arguments of jit() are checked", {
  expect_error(jit(1), class = "anvil_error_arg", "`f` must be a function, not 1")
  expect_error(jit("sum"), class = "anvil_error_arg")
  expect_error(jit(function(x) x, static = "y"), class = "anvil_error_arg", "\\(x\\), not \"y\"")
  expect_error(jit(function(...) 1, static = "..."), class = "anvil_error_arg", "always data")
  expect_error(jit(function(x) x, donate = "y"), class = "anvil_error_arg", "`donate`")
  expect_error(jit(function(x) x, cache_size = 0), class = "anvil_error_arg", "`cache_size`")
  expect_error(jit(function(x) x, cache_size = 1.5), class = "anvil_error_arg")
  expect_error(jit(function(x) x, cache_size = NA), class = "anvil_error_arg")
  expect_error(jit(function(x) x, device = "cuda"), class = "anvil_error_arg", "CPU")
})

test_that("argument names that mean something to R or to us are only names", {
  # nolint start: object_name_linter.
  f <- jit(function(f, x, args, trace, `a b`, frame = 1) f + x + args + trace + `a b` + frame)
  expect_elements(f(1, 2, 3, 4, 5), 16, "f32?[]")
  g <- jit(function(f, handle, PACKAGE) f(handle) + PACKAGE, static = "f")
  # nolint end
  expect_elements(g(exp, nv_scalar(0), 1), 2, "f32?[]")
  # One whose name R itself uses in calls.
  h <- jit(function(c, t, `if`) c + t + `if`)
  expect_elements(h(1, 2, 3), 6, "f32?[]")
})

test_that("a method is found for an argument that is a tensor", {
  describe_it <- function(z) UseMethod("describe_it")
  describe_it.AnvilTensor <- function(z) z * 0
  describe_it.AnvilTracer <- function(z) z + 100
  registerS3method("describe_it", "AnvilTensor", describe_it.AnvilTensor)
  registerS3method("describe_it", "AnvilTracer", describe_it.AnvilTracer)
  expect_elements(jit(function(x) describe_it(x))(x), c(101, 102, 103), "f32[3]")
})

test_that("a generic function finds its methods where it was defined", {
  generic <- function(z, ...) UseMethod("generic")
  generic.default <- function(z, ...) z * 7
  expect_elements(jit(generic)(x), c(7, 14, 21), "f32[3]")
  # What R says of a call inside the function.
  f <- jit(function(x, ...) list(nargs(), length(match.call()), ...length()))
  expect_identical(vapply(f(x, x, x), as_array, 1L), c(3L, 4L, 2L))
})

test_that("many arguments, deep lists and long programs", {
  many <- setNames(lapply(1:300, function(i) nv_scalar(i, dtype = "f64")), paste0("v", 1:300))
  expect_elements(jit(function(p) Reduce(`+`, p))(many), sum(1:300), "f64[]")
  expect_elements(do.call(jit(function(...) Reduce(`+`, list(...))), many), sum(1:300), "f64[]")
  deep <- Reduce(function(a, i) list(a), 1:50, nv_scalar(1))
  unwrap <- function(p) {
    while (is.list(p)) p <- p[[1]]
    p
  }
  expect_elements(jit(unwrap)(deep), 1, "f32?[]")
  f <- jit(function(x) {
    for (i in 1:1000) x <- x + 1L
    x
  })
  expect_elements(f(nv_scalar(0, dtype = "i32")), 1000L, "i32[]")
})

test_that("the program that was not used for longest gives way, whatever was used in between", {
  f <- jit(function(x, k) x + k, static = "k", cache_size = 7)
  x <- nv_scalar(1, dtype = "f64")
  withr::local_seed(1)
  keys <- sample(12, 300, replace = TRUE)
  recent <- integer()
  misses <- 0
  for (k in keys) {
    expect_identical(as.double(f(x, k)), 1 + k)
    misses <- misses + !(k %in% recent)
    recent <- utils::head(c(k, setdiff(recent, k)), 7)
  }
  info <- cache_info(f)
  expect_equal(c(info$misses, info$hits), c(misses, length(keys) - misses))
  # What is kept is found.
  for (k in rev(recent)) f(x, k)
  expect_equal(cache_info(f)$misses, misses)
  gc()
  for (k in recent) expect_identical(as.double(f(x, k)), 1 + k)
})

test_that("a jitted function is a function to S4 slots, fields, generics and plots", {
  f <- jit(function(x) x * 2)
  setClass("AnvilTestModel", slots = c(f = "function"), where = environment())
  expect_nv(methods::new("AnvilTestModel", f = f)@f(1), 2, "f32?", integer())
  fields <- methods::setRefClass("AnvilTestFields", fields = list(f = "function"), where = environment())
  expect_nv(fields$new(f = f)$f(1), 2, "f32?", integer())
  expect_true(methods::is(f, "function"))
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_equal(as.vector(graphics::plot(f, 0, 1, n = 3)$y), c(0, 1, 2))
})
