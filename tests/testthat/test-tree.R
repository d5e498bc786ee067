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
  expect_error(jit(function(p) p)(c(many, sum)), class = "anvil_error_arg")
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

test_that("tree_map() keeps the structure, NULL and names", {
  x <- list(a = 1, 2, b = list(), c = list(d = NULL, list(3, e = nv_scalar(4))), NULL)
  expect_identical(
    tree_map(function(v) v + 1, x),
    list(a = 2, 3, b = list(), c = list(d = NULL, list(4, e = nv_scalar(5))), NULL)
  )
  expect_identical(tree_map(identity, x), x)
  expect_identical(tree_map(function(v) NULL, list(1, a = 2)), list(NULL, a = NULL))
  expect_identical(tree_map(function(v) list(v), list(a = 1)), list(a = list(1)))
  expect_identical(tree_map(toupper, list(a = "x", list("y"))), list(a = "X", list("Y")))
  expect_identical(tree_map(sqrt, 4), 2)
  expect_null(tree_map(stop, NULL))
  expect_identical(tree_map(stop, list()), list())
  # Several trees, by position and by name.
  y <- tree_map(function(v) v * 10, x)
  expect_identical(tree_map(`+`, x, y), tree_map(function(v) v * 11, x))
  expect_identical(
    tree_map(function(a, b, c) a - b * c, list(1, 2), c = list(3, 4), b = list(5, 6)), list(-14, -22)
  )
  expect_identical(tree_map(function(p, ...) ...length(), list(1), list(2), list(3)), list(2L))
  # In a traced function.
  f <- jit(function(p, g) tree_map(function(p, g) p - 0.5 * g, p, g))
  expect_elements(f(list(w = nv_tensor(c(1, 2))), list(w = nv_tensor(c(2, 2))))$w, c(0, 1), "f32[2]")
})

test_that("trees of other structures are an error with the first place that differs", {
  x <- list(a = 1, b = list(2, NULL))
  differ <- function(y, path, text) {
    e <- expect_fields(tree_map(function(a, b) a, x, y), "anvil_error_structure", path = path)
    expect_match(conditionMessage(e), text, fixed = TRUE)
    expect_identical(conditionCall(e)[[1L]], quote(tree_map))
  }
  differ(list(a = 1, b = list(2)), "tree$b[[2]]", "NULL in the first tree, nothing in tree 2")
  differ(list(a = 1, b = 2), "tree$b[[1]]", "a leaf in the first tree, nothing in tree 2")
  differ(list(1, b = list(2, NULL)), "tree$a", "nothing in tree 2")
  differ(list(a = 1, b = list(2, NULL), c = 3), "tree$c", "nothing in the first tree, a leaf in tree 2")
  differ(list(a = 1, b = list(2, list())), "tree$b[[2]]", "NULL in the first tree, list() in tree 2")
  differ(NULL, "tree$a", "a leaf in the first tree")
  expect_error(tree_map(function(a, b, c) a, x, x, list()), class = "anvil_error_structure", "in tree 3")
  expect_fields(tree_map(1, x), "anvil_error_arg", arg = "f")
  expect_fields(tree_map(function(a) a, x, x), "anvil_error_arg", got = "one more")
  expect_fields(tree_map(function(a) a, x, k = x), "anvil_error_arg", got = "\"k\"")
  expect_error(tree_map(function(a) stop("mine"), x), "mine")
})

test_that("tree_leaves(), tree_unflatten(), tree_paths() and tree_reduce()", {
  params <- list(w = nv_scalar(1), b = list(2, NULL, list(3L, `a b` = "x")), list())
  expect_identical(tree_leaves(params), list(nv_scalar(1), 2, 3L, "x"))
  expect_identical(tree_leaves(NULL), list())
  expect_identical(tree_leaves(sin), list(sin))
  expect_identical(
    tree_paths(params), c("params$w", "params$b[[1]]", "params$b[[3]][[1]]", "params$b[[3]]$a b")
  )
  expect_identical(tree_paths(list(1, a = 2)), c("tree[[1]]", "tree$a"))
  expect_identical(tree_paths(list(1), "p"), "p[[1]]")
  expect_identical(tree_paths(params$w), "tree")
  expect_identical(tree_paths(NULL), character())
  expect_identical(tree_unflatten(params, tree_leaves(params)), params)
  expect_identical(
    tree_unflatten(list(a = 1, NULL, b = list(2)), list("x", sin)), list(a = "x", NULL, b = list(sin))
  )
  expect_identical(tree_unflatten(5, list(6)), 6)
  expect_null(tree_unflatten(NULL, list()))
  expect_identical(tree_reduce(`+`, list(1, a = list(2, NULL, 3))), 6)
  expect_identical(tree_reduce(function(n, v) n + length(v), list(1:3, a = 1), 0L), 4L)
  expect_identical(tree_reduce(`-`, list(10, list(3, 2))), 5)
  expect_identical(tree_reduce(stop, NULL, 7), 7)
  expect_null(tree_reduce(stop, NULL, NULL))
  expect_identical(tree_reduce(stop, list(7)), 7)

  expect_fields(tree_unflatten(params, list(1)), "anvil_error_arg", arg = "leaves", got = "one of 1")
  expect_fields(tree_unflatten(1, 2), "anvil_error_arg", arg = "leaves")
  expect_fields(tree_reduce(`+`, list()), "anvil_error_arg", arg = "init")
  expect_fields(tree_reduce(1, list()), "anvil_error_arg", arg = "f")
  expect_fields(tree_paths(params, 1), "anvil_error_arg", arg = "name")
  deep <- nested(limit + 1L)
  for (
    use in list(tree_leaves, tree_paths, function(x) tree_map(identity, x), function(x) tree_reduce(`+`, x))
  ) {
    expect_error(use(deep), class = "anvil_error_arg", "nested at most 256 deep")
  }
})
