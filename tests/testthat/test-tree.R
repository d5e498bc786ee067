# Nested lists: how deep, and how many leaves.

nested <- function(depth, leaf = nv_scalar(1)) {
  x <- leaf
  for (i in seq_len(depth)) x <- list(x)
  x
}
unwrap <- function(x) {
  while (is.list(x) && !is.object(x)) x <- x[[1L]]
  x
}
limit <- 256L

test_that("lists at the limit go in and out", {
  deep <- nested(limit)
  expect_identical(unwrap(jit(identity)(deep)), nv_scalar(1))
  expect_elements(jit(unwrap)(deep), 1, "f32?[]")
  expect_identical(jit(function(x) nested(limit, x))(nv_scalar(1)), deep)
  expect_length(anvil:::unlist_leaves(deep), 1L)
})

test_that("lists beyond the limit are a classed error, wherever they are given", {
  s <- nv_scalar(1)
  for (depth in c(limit + 1L, 12000L)) {
    deep <- nested(depth)
    uses <- list(
      function() jit(identity)(deep), function() jit(function(x, n) x, static = "n")(s, deep),
      function() jit(unwrap)(deep), function() jit(function() nested(depth))(),
      function() jit(function(x) nested(depth, x))(s), function() jit(function() deep)(),
      function() trace_fn(identity, deep), function() jit(function(x) jit(identity)(deep))(s),
      function() gradient(function(p) sum(unwrap(p)))(deep),
      function() value_and_gradient(function(p) unwrap(p))(deep),
      function() vjp(function(p) unwrap(p), deep)$pullback(s),
      function() vjp(function(p) p, s)$pullback(deep), function() nv_for(2L, deep, function(i, state) state),
      function() nv_while(deep, function(s) FALSE, identity),
      function() nv_scan(function(state, x) list(state, deep), s, nv_tensor(1:3)),
      function() nv_scan(function(state, x) list(state, x), s, deep), function() nv_if(TRUE, deep, deep),
      function() explain_plan(identity, deep), function() stablehlo(identity, deep),
      function() memory_plan(identity, deep), function() explain_dtypes(identity, deep),
      function() nv_reshape(s, deep), function() jit(function(x) nv_reshape(x, deep))(s),
      function() nv_fill(1, deep),
      function() custom_gradient(identity, function(x) list(x, deep), function(k, g) list(g))(s) +
        gradient(custom_gradient(identity, function(x) list(x, deep), function(k, g) list(g)))(s)$x
    )
    for (i in seq_along(uses)) {
      error <- expect_error(uses[[i]](), class = "anvil_error_arg", label = paste("use", i))
      expect_match(conditionMessage(error), "nested at most 256 deep", fixed = TRUE)
    }
    expect_no_open_trace()
  }
})

test_that("any number of leaves goes in and out", {
  n <- 60000L
  flat <- lapply(seq_len(n), function(i) i + 0)
  got <- jit(identity)(flat)
  expect_length(got, n)
  expect_elements(got[[n]], n, "f32?[]")
  # Tracers, and results that are computed.
  few <- jit(function(p) list(p, p[[1]] + p[[n]]))(flat)
  expect_elements(few[[2]], n + 1, "f32?[]")
  # Constants, tensors, and in lists.
  tensors <- rep(list(list(a = nv_tensor(c(1, 2)))), n)
  got <- jit(function(p) p)(tensors)
  expect_identical(got[[n]]$a, nv_tensor(c(1, 2)))
  expect_identical(unique(names(got[[7]])), "a")
  constants <- lapply(c(1, 2, 3), function(i) rep(list(nv_scalar(i)), n %/% 3))
  expect_identical(jit(function() constants)()[[3]][[n %/% 3]], nv_scalar(3))
})

test_that("what is kept during a call is let go of after it, errors included", {
  x <- nv_tensor(c(1, 2, 3), dtype = "f32")
  many <- rep(list(1), 60000L)
  expect_error(jit(function(p) stop("mine"))(many), "mine")
  expect_error(jit(function(p) p)(c(many, "a")), class = "anvil_error_arg")
  # Nothing but the variable refers to a result: it is given away.
  give <- jit(function(w) w * 2, donate = "w")
  w <- x * 1
  give(w)
  expect_error(w + 1, class = "anvil_error_donated")
})

test_that("leaves and places", {
  x <- list(a = 1, 2, b = list(), c = list(d = NULL, list(3, e = nv_scalar(4))), NULL)
  expect_identical(anvil:::unlist_leaves(x), list(1, 2, 3, nv_scalar(4)))
  expect_identical(
    names(anvil:::describe_leaves(x, "p")),
    c("p$a", "p[[2]]", "p$b", "p$c$d", "p$c[[2]][[1]]", "p$c[[2]]$e", "p[[5]]")
  )
  expect_identical(
    unname(anvil:::describe_leaves(x, "p")),
    c("R's f32?[]", "R's f32?[]", "list()", "NULL", "R's f32?[]", "f32?[]", "NULL")
  )
  expect_identical(
    anvil:::restore(x, list(10, 20, 30, 40)),
    list(a = 10, 20, b = list(), c = list(d = NULL, list(30, e = 40)), NULL)
  )
  expect_error(anvil:::restore(x, list(1)), class = "anvil_error_internal")
  expect_identical(anvil:::describe_leaves(list(), "p"), c(p = "list()"))
  expect_identical(anvil:::describe_leaves(NULL, "p"), c(p = "NULL"))
})
