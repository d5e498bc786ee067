# External pointers: R code can put any in the place of one of ours.

# Pointers that are none of ours; R makes a new one at each call.
foreign <- function() getNativeSymbolInfo("anvil_jit_new", "anvil")$address
revived <- function(x) unserialize(serialize(x, NULL))
# Attributes of a pointer are those of all its copies.
under_class <- function(x, class) {
  attributes(x) <- NULL
  class(x) <- class
  x
}

# A jitted function with something else in the place of its handle.
edited <- function(handle) {
  f <- jit(function(x) x + 1)
  body(f)[3] <- list(handle)
  structure(f, class = "JitFunction")
}

calls_of_jitted <- list(
  cache_info, explain_cache, print, function(f) f(nv_scalar(1)), jit,
  function(f) jit(function(x) f(x))(nv_scalar(1)), function(f) explain_plan(f, nv_scalar(1)),
  function(f) stablehlo(f, nv_scalar(1)), function(f) explain_dtypes(f, nv_scalar(1)),
  function(f) gradient(f)(nv_scalar(1))
)

test_that("a function of class JitFunction that jit() did not make is refused", {
  others <- list(
    function(x) x + 1, function(x) x, function(x) NULL, function(x) f(x),
    function(x) .External("anvil_jit_call", x)
  )
  for (f in others) for (call in calls_of_jitted[1:3]) {
    expect_error(
      call(structure(f, class = "JitFunction")), class = "anvil_error_arg", "made by `jit()`", fixed = TRUE
    )
  }
})

test_that("a jitted function whose body was edited is refused by all that takes one", {
  graph <- trace_fn(function(x) x, nv_scalar(1))
  handles <- list(
    NULL, 1, "anvil_jit_call", globalenv(), list(1), foreign(), under_class(foreign(), "JitFunction"), graph,
    under_class(revived(graph), "JitFunction")
  )
  for (handle in handles) for (call in calls_of_jitted) {
    error <- expect_error(call(edited(handle)), class = "anvil_error_arg")
    expect_match(
      conditionMessage(error), "`f` must be a function made by `jit()`, not one whose body was changed",
      fixed = TRUE
    )
  }
  expect_no_open_trace()
})

test_that("calls with too many or too few arguments are refused", {
  plain <- anvil:::handle_of(jit(function(x, y) x))
  dots <- anvil:::handle_of(jit(function(x, ..., y) x))
  for (give in list(list(), list(1), list(1, 2, 3), list(1, 2, 3, 4))) {
    expect_error(
      do.call(.External, c("anvil_jit_call", plain, give, PACKAGE = "anvil")), class = "anvil_error_arg"
    )
  }
  for (give in list(list(), list(1))) {
    expect_error(
      do.call(.External, c("anvil_jit_call", dots, give, PACKAGE = "anvil")), class = "anvil_error_arg"
    )
  }
  expect_error(.External("anvil_jit_call", PACKAGE = "anvil"), class = "anvil_error_arg")
  # Inside of a trace too.
  call <- function(x) do.call(.External, list("anvil_jit_call", plain, x, PACKAGE = "anvil"))
  expect_error(jit(call)(nv_scalar(1)), class = "anvil_error_arg")
  expect_elements(do.call(.External, list("anvil_jit_call", plain, 1, 2, PACKAGE = "anvil")), 1, "f32?[]")
})

test_that("specifications that R/jit.R does not make are refused", {
  whole <- list(function(x, n) x, c(FALSE, TRUE), c(FALSE, FALSE), 0L, 5L, c("x", "n"), NULL, character())
  make <- function(spec) .Call(anvil:::anvil_jit_new, spec)
  expect_type(make(whole), "externalptr")
  wrong <- list(
    NULL, 1, "a", TRUE, c(TRUE, FALSE), c("a", "b", "c"), 1:2, 9L, list(), globalenv(), sum, quote(a + b), NA,
    integer(), character()
  )
  for (i in seq_along(whole)) for (part in wrong) {
    spec <- whole
    spec[i] <- list(part)
    # What is of the right type and length is whole.
    if (
      i == 1L && is.function(part) || i %in% 2:3 && identical(part, c(TRUE, FALSE)) ||
      i == 4L && is.integer(part) && part[1] %in% 1:2
    ) {
      next
    }
    if (i == 5L && identical(part, 9L) || i == 7L && is.null(part) || i == 8L && is.character(part)) next
    expect_error(make(spec), class = "anvil_error_arg")
  }
  for (spec in list(NULL, whole[-1], c(whole, 1), 1, sum)) expect_error(make(spec), class = "anvil_error_arg")
})

test_that("a pointer that is none of ours is no value and no graph, whatever its class", {
  x <- nv_tensor(c(1, 2))
  graph <- trace_fn(function(x) x, x)
  handle <- anvil:::handle_of(jit(function(x) x))
  for (make in list(foreign, function() revived(graph), function() handle)) {
    tracer <- under_class(make(), c("AnvilTracer", "AnvilValue"))
    uses <- list(
      function(x) x + 1, dtype, shape, ambiguous, print, format, function(v) jit(function(x) x + v)(x),
      jit(identity), nv_sin, function(v) v[1], function(v) x[v], function(v) nv_concatenate(v, x),
      function(v) nv_reshape(x, v), sum, as_array, str
    )
    for (use in uses) expect_s3_class(condition_of(use(tracer)), "anvil_error")
    graph_like <- under_class(make(), "AnvilGraph")
    expect_error(graph_text(graph_like), class = "anvil_error_arg", "graph")
    expect_error(format(graph_like), class = "anvil_error_arg")
    expect_error(.Call(anvil:::anvil_plan, graph_like, TRUE), class = "anvil_error_arg")
  }
  trace <- .Call(anvil:::anvil_in_trace, "f", FALSE, quote(identity), baseenv())
  expect_error(graph_text(under_class(trace, "AnvilGraph")), class = "anvil_error_arg")
  expect_error(.Call(anvil:::anvil_trace_finish, foreign(), 1), class = "anvil_error_internal")
  expect_error(.Call(anvil:::anvil_trace_inputs, handle, 1), class = "anvil_error_internal")
  expect_no_open_trace()
})

test_that("tracers and graphs of another session are refused, with advice", {
  kept <- NULL
  jit(function(x) kept <<- x)(nv_tensor(c(1, 2)))
  again <- revived(kept)
  # Its type is known, and no value.
  expect_identical(list(dtype(again), shape(again), length(again)), list(as_dtype("f32"), 2L, 2L))
  for (use in list(function(x) x + 1, exp, jit(identity), function(x) x[1])) {
    expect_error(use(again), class = "anvil_error_leaked_tracer", "another session")
  }
  graph <- revived(trace_fn(function(x) x + 1, nv_scalar(1)))
  expect_error(graph_text(graph), class = "anvil_error_arg", "another session")
})

test_that("a tensor whose attributes were changed is refused by all that reads it", {
  whole <- nv_tensor(c(1, 2.5, 3, 4), shape = c(2, 2), dtype = "f64")
  changed <- list(
    dtype = list(NULL, "f65", c("f64", "f64"), NA_character_, 1, "i64", character(), list("f64"), foreign()),
    ambiguous = list(NA, 1, "a", c(TRUE, FALSE), logical(), list(TRUE), quote(a))
  )
  uses <- list(
    function(x) x + 1, print, format, nv_sin, jit(function(x) x * 2), jit(function(x) x * 2, donate = "x"),
    as_array,
    function(x) x[1, 1], function(x) { x[1, 1] <- 0; x }, function(x) jit(function() x + 1)(), sum, t,
    function(x) x %*% x, function(x) gradient(function(x) sum(x))(x), function(x) nv_concatenate(x, x),
    function(x) nv_for(2L, x, function(i, s) s * 2),
    function(x) jit(function(y, n) y, static = "n")(1, x) + x, as.double
  )
  for (name in names(changed)) for (value in changed[[name]]) {
    broken <- whole
    attr(broken, name) <- value
    # What R prints of a type needs no elements.
    of_type <- identical(value, "i64")
    for (use in if (of_type) uses[-3L] else uses) expect_s3_class(condition_of(use(broken)), "anvil_error")
  }
  # Elements that are as good as any, in another type of vector.
  attr(whole, "dtype") <- "c128"
  expect_identical(as_array(whole + 1i), array(c(1, 2.5, 3, 4) + 1i, c(2, 2)))
  expect_no_open_trace()
})

# ---- what is freed ----

live <- function() {
  gc()
  .Call(anvil:::anvil_handles)
}

test_that("handles that R no longer refers to are freed", {
  x <- nv_tensor(c(1, 2, 3))
  before <- live()
  for (i in 1:20) {
    f <- jit(function(x) x + i)
    f(x)
    trace_fn(function(x) x, x)
    large <- nv_fill(i, 1e5)
  }
  expect_gt(.Call(anvil:::anvil_handles), before)
  rm(f, large)
  expect_lte(live(), before)
})

test_that("a jitted function that was read back is freed too", {
  f <- jit(function(x) x + 1)
  x <- nv_tensor(c(1, 2, 3))
  f(x)
  before <- live()
  for (i in 1:50) {
    again <- revived(f)
    expect_identical(again(x), f(x))
    expect_identical(cache_info(again)$entries, 1L)
  }
  rm(again)
  expect_lte(live(), before)
})

test_that("eager programs leave no cells of R behind", {
  run <- function(sizes) for (n in sizes) {
    x <- nv_fill(1, n)
    x + x
  }
  cells <- function() gc()[1L, 1L]
  run(1:50)
  before <- cells()
  run(51:1050)
  # Two programs for each size; a cell for each would be 2,000.
  expect_lt(cells() - before, 1000)
})
