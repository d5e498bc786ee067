# Functions whose traces are counted.
counted <- function(f, ...) {
  count <- 0L
  body(f) <- call("{", quote(count <<- count + 1L), body(f))
  environment(f) <- environment()
  list(f = jit(f, ...), traces = function() count)
}
f32 <- function(...) nv_abstract("f32", c(...))
x <- nv_tensor(c(1, 2, 3), dtype = "f32")

test_that("the first call finds the program", {
  it <- counted(function(x, y) list(sum = x + y, x = x))
  expect_identical(compile_for(it$f, f32(3), f32(3)), it$f)
  expect_identical(it$traces(), 1L)
  expect_identical(
    cache_info(it$f)[c("entries", "hits", "misses")], list(entries = 1L, hits = 0L, misses = 1L)
  )
  expect_identical(it$f(x, x), list(sum = x + x, x = x))
  expect_identical(it$f(x, y = x * 2)$sum, x * 3)
  expect_identical(it$traces(), 1L)
  expect_identical(cache_info(it$f)$hits, 2L)
  # Once more there is nothing to do.
  compile_for(it$f, x, x)
  expect_identical(c(it$traces(), cache_info(it$f)$misses), c(1L, 1L))
  # By name, in another order.
  compile_for(it$f, y = f32(), x = f32(3))
  it$f(x, nv_scalar(1, "f32"))
  expect_identical(it$traces(), 2L)
  expect_invisible(compile_for(it$f, x, x))
})

test_that("a call whose types differ in anything is traced", {
  for (pair in list(
    list(f32(3), nv_tensor(c(1, 2), "f32")), list(f32(3), nv_tensor(c(1, 2, 3), "f64")),
    list(f32(), nv_scalar(1)), list(nv_abstract("f32", ambiguous = TRUE), nv_scalar(1, "f32")),
    list(1, nv_scalar(1)), list(nv_abstract("f32", ambiguous = TRUE), 1), list(1L, 1), list(f32(3), list(x)),
    list(list(a = f32(3)), list(b = x)), list(f32(1), nv_scalar(1, "f32"))
  )) {
    it <- counted(function(x) x)
    compile_for(it$f, pair[[1L]])
    it$f(pair[[2L]])
    expect_identical(it$traces(), 2L)
  }
  for (pair in list(
    list(nv_abstract("f32", ambiguous = TRUE), nv_scalar(2)), list(1, 7), list(1L, 2L), list(TRUE, FALSE),
    list(c(1, 2), c(3, 4)), list(matrix(0, 2, 2), matrix(1, 2, 2)), list(NULL, NULL),
    list(f32(0), nv_empty("f32", 0L)),
    list(list(a = f32(3), list(1, nv_abstract("i8"))), list(a = x, list(2, nv_scalar(3L, "i8")))),
    list(nv_abstract("c64", 1), nv_tensor(1i, "c64")), list(c(a = 1), c(a = 2))
  )) {
    it <- counted(function(x) x)
    compile_for(it$f, pair[[1L]])
    expect_identical(it$f(pair[[2L]]), jit(function(x) x)(pair[[2L]]))
    expect_identical(it$traces(), 1L)
  }
})

test_that("static arguments, defaults, dots, donation and rules", {
  it <- counted(function(x, n, k = 2) x * n + k, static = "n")
  compile_for(it$f, f32(3), n = 3)
  expect_elements(it$f(x, 3), c(5, 8, 11), "f32[3]")
  expect_identical(it$traces(), 1L)
  it$f(x, 4)
  it$f(x, 3, 2)
  expect_identical(it$traces(), 3L)
  it <- counted(function(...) Reduce(`+`, list(...)))
  compile_for(it$f, f32(3), b = f32(3))
  it$f(x, b = x)
  expect_identical(it$traces(), 1L)
  it <- counted(function(x) x * 2, donate = "x")
  compile_for(it$f, f32(3))
  given <- x * 1
  expect_elements(it$f(given), c(2, 4, 6), "f32[3]")
  expect_error(given + 1, class = "anvil_error_donated")
  # The tensors that it is given are not used.
  compile_for(it$f, kept <- nv_tensor(c(1, 2), "f32"))
  expect_elements(kept, c(1, 2), "f32[2]")
  it <- counted(function(x) x * 2L)
  with_promotion_rules("numpy", compile_for(it$f, f32(3)))
  it$f(x)
  expect_identical(it$traces(), 2L)
  with_promotion_rules("numpy", it$f(x))
  expect_identical(it$traces(), 2L)
})

test_that("the cache keeps as many programs as ever, and explains them", {
  f <- jit(function(x) x, cache_size = 2)
  for (n in 1:3) compile_for(f, f32(n))
  expect_identical(cache_info(f)$entries, 2L)
  expect_identical(explain_cache(f)$arguments, c("x = f32[2]", "x = f32[3]"))
  expect_identical(f(x), x)
})

test_that("errors", {
  f <- jit(function(x, n) x, static = "n")
  expect_fields(compile_for(sin, 1), "anvil_error_arg", arg = "f")
  expect_fields(compile_for(f, 1, 2, 3), "anvil_error_arg", arg = "...", got = "one more")
  expect_fields(compile_for(f, z = 2), "anvil_error_arg", arg = "...", got = "\"z\"")
  expect_fields(compile_for(f, list(a = 1, sin), 1), "anvil_error_arg", arg = "x[[2]]")
  expect_fields(compile_for(f, 1, new.env()), "anvil_error_static", arg = "n")
  expect_fields(jit(function(x) { compile_for(f, f32(3), 1); x })(x), "anvil_error_arg", arg = "f")
  expect_identical(call_of(compile_for(f, "a", 1)), "compile_for(f, \"a\", 1)")
  expect_error(compile_for(jit(function(x) stop("mine")), 1), "mine")
  expect_error(compile_for(jit(function(x) if (x > 0) x), 1), class = "anvil_error_concrete")
  expect_identical(cache_info(f)$entries, 0L)
  expect_no_open_trace()
  # A call of the function itself still takes no types.
  expect_error(f(f32(3), 1), class = "anvil_error_arg", "AnvilAbstract")
})
