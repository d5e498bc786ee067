# Subscripts that are known while tracing, and lie in few runs.

test_that("positions in few runs are slices that are joined", {
  x <- matrix(as.double(1:42), 6)
  n <- 6L
  padded <- list(c(1L, 1L, 1:6, 6L, 6L), c(3:2, 1:6, 5:4))
  for (at in c(padded, list(c(n, 1:5), c(2:6, 1L), c(2L, 5L, 1L), c(6L, 6L)))) {
    rows <- function(x) x[at, , drop = FALSE]
    columns <- function(x) t(x)[, at, drop = FALSE]
    for (f in list(rows, columns)) {
      traced <- graph_text(trace_fn(f, nv_tensor(x, "f64")))
      expect_no_match(traced, "gather")
      expect_identical(as_array(jit(f)(nv_tensor(x, "f64"))), f(x))
      # Each element has the gradient of as many results as it is.
      g <- gradient(function(x) sum(f(x)^2))(nv_tensor(x, "f64"))$x
      expect_equal(as_array(g), 2 * x * tabulate(at, n))
    }
  }
  v <- nv_tensor(c(1, 2, 3, 4), "f64")
  expect_identical(as.double(jit(function(v) v[c(4, 1:3)] - v[c(2:4, 1)])(v)), c(2, -2, -2, 2))
  # Many are read by their positions, and names stay names.
  many <- function(x) x[c(5, 1, 4, 2, 6, 1), ]
  expect_match(graph_text(trace_fn(many, nv_tensor(x, "f64"))), "gather")
  expect_identical(as_array(jit(many)(nv_tensor(x, "f64"))), many(x))
})

test_that("positions that repeat a range are a broadcast", {
  v <- c(4, 1, 3, 7, 2)
  shapes <- list(
    function(v) rep(v, 4), function(v) rep(v, each = 3), function(v) rep(v, times = 2, each = 3),
    function(v) v[rep(c(4, 2), each = 2)], function(v) v[rep(5:1, 3)], function(v) v[rep(2, 7)],
    function(v) matrix(v, 5, 3), function(v) matrix(v, 3, 5, byrow = TRUE),
    function(v) matrix(v[1:4], 6, 2, byrow = TRUE),
    function(v) matrix(v, 5, 3)[, c(2, 2, 3, 3)], function(v) matrix(v, 5, 3)[rep(1:5, 2), ],
    function(v) rep_len(v, 15), function(v) array(v, c(5, 2, 2))
  )
  for (f in shapes) {
    expect_no_match(graph_text(trace_fn(user(f), nv_tensor(v, "f64"))), "gather")
    expect_identical(as_array(jit(user(f))(nv_tensor(v, "f64"))), unname(as.array(f(v))), info = deparse(f))
    # Each element has the gradient of as many results as it is.
    g <- gradient(user_env(function(v) sum(made(v)^2), made = user(f)))(nv_tensor(v, "f64"))$v
    expect_equal(as.double(g), 2 * v * tabulate(match(f(v), v), 5))
    many <- vmap(user(f))(nv_tensor(rbind(v, v + 10), "f64"))
    expect_identical(as.double(nv_select(many, 1, 2)), as.double(f(v + 10)))
  }
  # A rest that is not repeated whole is none.
  part <- function(v) rep_len(v, 13)
  expect_identical(as.double(jit(user(part))(nv_tensor(v, "f64"))), part(v))
})
