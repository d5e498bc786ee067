x <- nv_tensor(c(1, 2))

test_that("cache_info() counts", {
  f <- jit(function(x, y) x, cache_size = 5)
  expect_identical(cache_info(f), list(size = 5L, entries = 0L, hits = 0L, misses = 0L))
  f(x, 1)
  f(x, 2)
  f(x, 1L)
  expect_identical(cache_info(f), list(size = 5L, entries = 2L, hits = 1L, misses = 2L))
  # A call that fails while it is traced counts as nothing.
  expect_error(f("a"))
  expect_identical(cache_info(f)$misses, 2L)
})

test_that("explain_cache() says what each program was made for and what was new in it", {
  f <- jit(function(x, n, p = list(a = 1), ...) x, static = "n")
  f(x, 1)
  f(x, 2)
  f(nv_scalar(1), 2)
  f(x, 2)
  f(x, 2, list(a = x, nv_scalar(TRUE)))
  f(x, 2, list(a = nv_tensor(1:2, ambiguous = TRUE)))
  f(x, 2, list(), k = x, 3L)
  f(x, sum, NULL)
  f(x, mean, NULL)
  f(x, 2, list(a = x))
  explained <- explain_cache(f)
  expect_identical(explained$arguments, c(
    "x = f32[2], n = static 1, p = left out",
    "x = f32[2], n = static 2, p = left out",
    "x = f32?[], n = static 2, p = left out",
    "x = f32[2], n = static 2, p$a = f32[2], p[[2]] = i1[]",
    "x = f32[2], n = static 2, p$a = i32?[2]",
    "x = f32[2], n = static 2, p = list(), k = f32[2], ..2 = R's i32?[]",
    "x = f32[2], n = static function, p = NULL",
    "x = f32[2], n = static function, p = NULL",
    "x = f32[2], n = static 2, p$a = f32[2]"
  ))
  expect_identical(explained$hits, c(0, 1, 0, 0, 0, 0, 0, 0, 0))
  expect_identical(explained$reason, c(
    "the first call",
    "n is static 2, not static 1 (as in 1)",
    "x is f32?[], not f32[2] (as in 2)",
    "p$a is new: f32[2]; p[[2]] is new: i1[]; p is gone: left out (as in 2)",
    "p$a is new: i32?[2]; p is gone: left out (as in 2)",
    "p is list(), not left out; k is new: f32[2]; ..2 is new: R's i32?[] (as in 2)",
    "n is static function, not static 1; p is NULL, not left out (as in 1)",
    "a static argument of another value",
    "p[[2]] is gone: i1[] (as in 4)"
  ))
  expect_identical(capture.output(print(explained))[1:5], c(
    "9 of 100 programs, 1 hit, 9 misses",
    "1. (x = f32[2], n = static 1, p = left out), 0 hits",
    "   the first call",
    "2. (x = f32[2], n = static 2, p = left out), 1 hit",
    "   n is static 2, not static 1 (as in 1)"
  ))
})

test_that("an R number is told from a tensor, and a long static is cut", {
  f <- jit(function(x, s = NULL) x, static = "s")
  f(1)
  f(nv_scalar(1))
  f(1, paste(rep("long", 30), collapse = " "))
  explained <- explain_cache(f)
  expect_identical(explained$arguments[1:2], c("x = R's f32?[], s = left out", "x = f32?[], s = left out"))
  expect_identical(explained$reason[2], "x is f32?[], not R's f32?[] (as in 1)")
  expect_match(explained$arguments[3], "static \"long long .*\\.\\.\\.$")
})

test_that("what was dropped is not explained, and an empty cache prints", {
  f <- jit(function(x) x, cache_size = 1)
  expect_identical(nrow(explain_cache(f)), 0L)
  expect_output(print(explain_cache(f)), "0 of 1 program, 0 hits, 0 misses", fixed = TRUE)
  f(x)
  f(nv_tensor(1:3))
  explained <- explain_cache(f)
  expect_identical(explained$arguments, "x = i32[3]")
  expect_identical(explained$reason, "the first call")
  g <- jit(function() 1)
  g()
  expect_identical(explain_cache(g)$arguments, "")
})

test_that("only jitted functions have a cache", {
  e <- expect_error(
    cache_info(sum), class = "anvil_error_arg", "a function made by `jit()`, not a function", fixed = TRUE
  )
  expect_identical(conditionCall(e), quote(cache_info(sum)))
  expect_error(explain_cache(1), class = "anvil_error_arg")
})

test_that("a static argument that R cannot deparse is described", {
  # Marked as S4, as tensors are before R 4.3, without a class that is one.
  x <- asS4(structure(list(1), class = c("FloatType", "AnvilDtype")))
  f <- jit(function(z, k) z, static = "k")
  expect_identical(f(nv_scalar(1), x), nv_scalar(1))
  expect_match(explain_cache(f)$arguments, "k = static an object of class <FloatType>", fixed = TRUE)
})
