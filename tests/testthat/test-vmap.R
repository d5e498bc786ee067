numbers <- function(x, ...) nv_tensor(x, dtype = "f64", ...)

# The elements, as an R vector where there is one axis.
plain <- function(x) if (ndims(x) == 1L) as.vector(as_array(x)) else as_array(x)

test_that("vmap() computes each example", {
  f <- function(x, y) sum(x * y) / (1 + max(abs(x)))
  x <- numbers(matrix(c(1, 2, 3, 4, 5, 6), 3))
  y <- numbers(c(0.5, -1))
  want <- sapply(1:3, function(i) plain(f(x[i, ], y)))
  expect_equal(plain(vmap(f, list(1L, NULL))(x, y)), want)
  expect_equal(plain(vmap(f, list(x = 1L))(x, y)), want)
  expect_equal(plain(vmap(f, list(x = -2L, y = NULL))(x, y)), want)
  expect_equal(plain(vmap(f, list(2L, NULL))(numbers(t(plain(x))), y)), want)
  expect_equal(plain(jit(vmap(f, list(1L, NULL)))(x, y)), want)
  each <- vmap(function(x) x * 2, out_axes = 2L)(x)
  expect_identical(plain(each), t(plain(x)) * 2)
  expect_identical(vmap(function(x) x * 2, out_axes = -1L)(x), each)
})

test_that("axes follow nested arguments and results", {
  f <- function(p, scale) list(a = p$w * scale, b = list(p$b + 1, sum(p$w)))
  p <- list(w = numbers(matrix(1:6, 2)), b = numbers(c(10, 20)))
  got <- vmap(f, in_axes = list(p = list(w = 1L, b = 1L)), out_axes = list(a = 2L, b = 1L))(p, 3)
  expect_identical(plain(got$a), t(matrix(1:6, 2) * 3))
  expect_identical(plain(got$b[[1L]]), c(11, 21))
  expect_identical(plain(got$b[[2L]]), c(9, 12))
  shared <- vmap(f, in_axes = list(p = list(w = 1L)), out_axes = list(a = 1L, b = list(NULL, 1L)))(p, 3)
  expect_identical(plain(shared$b[[1L]]), c(11, 21))
  repeated <- vmap(function(x, y) y, list(1L, NULL))(numbers(1:3), numbers(c(7, 8)))
  expect_identical(plain(repeated), matrix(c(7, 8), 3, 2, byrow = TRUE))
  # What is no data is passed on.
  expect_identical(plain(vmap(function(x, g) g(x), list(1L, NULL))(numbers(1:3), sum)), c(1, 2, 3))
})

test_that("examples take their own branches and end their own loops", {
  x <- numbers(c(-1, 2, -3, 4))
  expect_identical(plain(vmap(function(x) nv_if(x > 0, x * 10, -x))(x)), c(1, 20, 3, 40))
  double <- function(n) {
    nv_while(list(i = 0L, x = n), function(s) s$x < 100, function(s) list(i = s$i + 1L, x = s$x * 2))
  }
  got <- vmap(double)(numbers(c(1, 3, 50, 200)))
  expect_identical(plain(got$i), c(7L, 6L, 1L, 0L))
  expect_identical(plain(got$x), c(128, 192, 100, 200))
  scanned <- function(x) nv_scan(function(s, y) list(s + y, s * y), x, numbers(1:3))
  got <- vmap(scanned)(numbers(c(0, 1)))
  expect_identical(plain(got$carry), c(6, 7))
  expect_identical(plain(got$ys), rbind(c(0, 2, 9), c(1, 4, 12)))
  # An index is checked where its example reads.
  y <- numbers(c(5, 6))
  safe <- vmap(function(i) nv_if(i <= 2L, y[i], nv_scalar(0, "f64")))
  expect_identical(plain(safe(nv_tensor(c(1L, 9L, 2L)))), c(5, 0, 6))
  expect_error(vmap(function(i) y[i])(nv_tensor(c(1L, 9L))), class = "anvil_error_index")
})

test_that("vmap() nests, and commutes with derivatives", {
  x <- numbers(c(1, 2, 3))
  y <- numbers(c(10, 20))
  outer <- vmap(vmap(function(a, b) a * b, list(NULL, 1L)), list(1L, NULL))(x, y)
  expect_identical(plain(outer), outer(c(1, 2, 3), c(10, 20)))
  f <- function(w, x) sum(sin(x * w)^2)
  w <- numbers(c(0.5, -1))
  data <- numbers(matrix(c(1, 2, 3, 4, 5, 6), 3))
  each <- vmap(gradient(f, "w"), list(w = NULL, x = 1L))(w, data)$w
  want <- t(sapply(1:3, function(i) plain(gradient(f, "w")(w, data[i, ])$w)))
  expect_equal(plain(each), want)
  total <- gradient(function(w) sum(vmap(f, list(NULL, 1L))(w, data)))(w)$w
  expect_equal(plain(total), colSums(want))
  both <- vmap(hessian(f, "w", flat = FALSE), list(w = NULL, x = 1L))(w, data)$w$w
  expect_equal(plain(both[2, , ]), plain(hessian(f, "w")(w, data[2, ])$w$w))
})

test_that("one and no example are batches", {
  f <- function(x) sum(x) * 2
  expect_identical(plain(vmap(f)(numbers(matrix(1:3, 1)))), 12)
  expect_identical(shape(vmap(f)(nv_empty("f64", c(0L, 3L)))), 0L)
  expect_identical(shape(vmap(function(x) x, out_axes = 2L)(nv_empty("f64", c(3L, 0L)))), c(0L, 3L))
  expect_identical(plain(vmap(function(x) x + 1)(c(1, 2))), c(2, 3))
})

test_that("examples have the names of the other axes", {
  data <- cbind(a = c(1, 2), b = c(3, 5))
  f <- function(r) r["b"] - r["a"]
  for (run in list(identity, jit)) {
    expect_identical(plain(run(vmap(f))(numbers(data))), c(2, 3))
    expect_identical(plain(run(vmap(f, 2L))(numbers(t(data)))), c(2, 3))
    expect_identical(plain(nv_convert(run(vmap(f))(data), "f64")), c(2, 3))
    second <- run(vmap(hessian(function(p) p["a"]^2 * p["b"])))(numbers(data))$p$p
    expect_identical(plain(second[2, , ]), matrix(c(10, 4, 4, 0), 2))
  }
})

test_that("in_axes and out_axes lead into objects", {
  new <- function(at, b, label) structure(list(at = at, b = b, label = label), class = "plane")
  register_tree_class(
    "plane", function(x) list(children = list(at = x$at, b = x$b), static = x$label),
    function(children, static) new(children$at, children$b, static)
  )
  plane <- new(numbers(matrix(1:4, 2)), numbers(c(10, 20)), "p")
  f <- function(p, s) sum(p$at) * s + p$b
  expect_identical(plain(vmap(f, list(p = 1L))(plane, 2)), c(18, 32))
  expect_identical(plain(vmap(f, list(p = list(at = 2L, b = 1L), s = NULL))(plane, 2)), c(16, 34))
  shared <- vmap(function(p) sum(p$at) + p$b[1], list(list(at = 2L)))(plane)
  expect_identical(plain(shared), c(13, 17))
  moved <- vmap(function(p) new(p$at * 2, p$b, p$label), out_axes = list(at = 2L, b = 1L))(plane)
  expect_s3_class(moved, "plane")
  expect_identical(plain(moved$at), t(matrix(1:4, 2)) * 2)
  expect_error(vmap(f, list(p = list(c = 1L)))(plane, 2), class = "anvil_error_arg", "`c`")
})

test_that("vmap() takes what R's functions that repeat others take", {
  x <- numbers(matrix(1:4, 2))
  expect_identical(plain(vmap(\(r) sum(r^2))(x)), c(10, 20))
  expect_identical(plain(vmap(sum)(x)), c(4, 6))
  expect_identical(plain(do.call(vmap(function(x, y) sum(x) * y), list(y = numbers(1:2), x = x))), c(4, 12))
  expect_null(vmap(function(x) NULL)(x))
  expect_identical(vmap(function(x) list(a = NULL, b = list()))(x), list(a = NULL, b = list()))
  expect_identical(plain(vmap(function(x) list(NULL, sum(x)), out_axes = list(NULL, 1L))(x)[[2L]]), c(4, 6))
  expect_identical(plain(vmap(function(p) sum(p[[1]]) + sum(p[[2]]))(list(x, x))), c(8, 12))
  # Other sizes are another program.
  f <- jit(vmap(function(x) x / sum(x)))
  for (n in c(2L, 5L, 2L)) expect_identical(shape(f(nv_fill(1, c(n, 3L)))), c(n, 3L))
  expect_identical(cache_info(f)$misses, 2L)
  shown <- capture.output(out <- vmap(function(x) nv_print(x * 2, "twice"))(numbers(1:2)))
  expect_identical(shown[1:3], c("twice", " 2", " 4"))
  folded <- gradient(function(x) sum(vmap(function(z) nv_if(z > 0, z^2, -z))(x)))(numbers(c(-1, 2)))$x
  expect_identical(plain(folded), c(-1, 4))
})

test_that("a tracer that is used outside says which transformation it is of", {
  x <- numbers(c(1, 2))
  kept <- NULL
  keep <- function(f) function(x) {
    kept <<- x * 2
    f(x)
  }
  leaks <- list(
    "gradient()" = function() gradient(keep(sum))(x),
    "vjp()" = function() vjp(keep(sum), x)$pullback(nv_scalar(1, "f64")),
    "jvp()" = function() jvp(keep(sum), list(x), list(x)),
    "hvp()" = function() hvp(keep(sum), list(x), list(x)),
    "linearize()" = function() linearize(keep(sum), x), "hessian()" = function() hessian(keep(sum))(x),
    "jacobian()" = function() jacobian(keep(identity))(x), "vmap()" = function() vmap(keep(identity))(x)
  )
  for (name in names(leaks)) {
    leaks[[name]]()
    e <- expect_error(kept + 1, class = "anvil_error_leaked_tracer")
    expect_match(conditionMessage(e), paste("a function given to", name), fixed = TRUE, label = name)
  }
  # Also from one of them into another that has not ended.
  inside <- vmap(function(x) {
    gradient(keep(identity))(x)
    kept + 1
  })
  e <- expect_error(inside(x), class = "anvil_error_leaked_tracer")
  expect_match(conditionMessage(e), "gradient()", fixed = TRUE)
  expect_error(jit(function(x) {
    vmap(keep(identity))(x)
    kept + 1
  })(x), class = "anvil_error_leaked_tracer", "vmap")
})

test_that("examples draw what they would draw alone", {
  states <- nv_split_state(nv_rng_state(1), 3L)
  draw <- function(state) nv_rnorm(2L, state, dtype = "f64")$value
  got <- vmap(draw, 2L)(nv_reshape(do.call(nv_concatenate, states), c(2L, 3L)))
  expect_identical(plain(got), t(sapply(states, function(state) plain(draw(state)))))
})

test_that("bad batches are refused", {
  x <- numbers(matrix(1:6, 3))
  refused <- function(expr, class, text) {
    e <- expect_error(expr, class = class)
    expect_match(conditionMessage(e), text, fixed = TRUE)
    if (class != "anvil_error_concrete") expect_match(deparse1(conditionCall(e)), "^vmap\\(")
  }
  f <- function(x, y) x * y
  e <- expect_error(vmap(f)(numbers(1:3), numbers(1:4)), class = "anvil_error_batch")
  expect_identical(e$sizes, c(x = 3L, y = 4L))
  refused(vmap(f)(numbers(1:3), numbers(1)[1]), "anvil_error_arg", "an axis of `y`, which has none")
  refused(vmap(f, 3L)(x, x), "anvil_error_arg", "an axis of `x`, which has 2")
  refused(vmap(f, list(NULL, NULL))(x, x), "anvil_error_arg", "at least one argument")
  refused(vmap(f, list(1L))(x, x), "anvil_error_arg", "a list of 2")
  refused(vmap(f, list(z = 1L)), "anvil_error_arg", "arguments of `f` (x, y)")
  refused(vmap(f, 0L), "anvil_error_arg", "`in_axes`")
  refused(vmap(function(...) 1, list(a = 1L))(), "anvil_error_arg", "without names, not one with `a`")
  refused(vmap(f, list(y = 1L))(nv_tensor(1:3)), "anvil_error_arg", "with the names x, not one with `y`")
  refused(vmap(f, "x"), "anvil_error_arg", "`in_axes`")
  refused(vmap(f, c(x = 1L)), "anvil_error_arg", "list(x = 1L)")
  refused(vmap(f, list(list(a = 1L), NULL))(x, x), "anvil_error_arg", "structure")
  refused(vmap(f, out_axes = NULL)(x, x), "anvil_error_batch", "differs between examples")
  refused(vmap(f, out_axes = 4L)(x, x), "anvil_error_arg", "`out_axes`")
  refused(vmap(2), "anvil_error_arg", "`f`")
  rows <- structure(list(speed = c(1, 2)), class = "rows")
  refused(vmap(function(r) r$speed)(rows), "anvil_error_arg", "not for `r` alone, which is an object")
  refused(vmap(function(x) "a")(x), "anvil_error_arg", "a function that gives tensors")
  refused(vmap(function(x) if (x > 0) x else -x)(numbers(1:3)), "anvil_error_concrete", "nv_if()")
  refused(vmap(function(x, g) x, list(1L, 1L))(x, sum), "anvil_error_arg", "NULL for `g`")
})

test_that("nv_map() means the same at any batch size", {
  f <- function(x) list(s = sum(x^2), y = x / 2)
  x <- numbers(matrix(as.double(1:14), 7))
  want <- vmap(f)(x)
  for (size in list(NULL, 1L, 2L, 3L, 7L, 10L)) {
    got <- nv_map(f, x, batch_size = size)
    expect_equal(plain(got$s), plain(want$s))
    expect_equal(plain(got$y), plain(want$y))
  }
  expect_equal(plain(gradient(function(x) sum(nv_map(f, x, batch_size = 2L)$s))(x)$x), 2 * plain(x))
  expect_error(nv_map(f, x, batch_size = 0L), class = "anvil_error_arg")
  expect_error(nv_map(f, list(x, numbers(1:3))), class = "anvil_error_batch")
})

test_that("data frames keep their factors in batches and Jacobians", {
  d <- data.frame(x = c(1, 2, 3), g = factor(c("a", "b", "a")))
  x <- numbers(c(1, 2))
  count <- function(d, x) x^2 * sum(d$g == "a") + 0 * nlevels(d$g)
  for (of in list(identity, jit)) {
    expect_identical(plain(of(vmap(count, list(x = 1L)))(d, x)), c(2, 8))
    expect_identical(plain(of(vmap(function(l, x) count(l$d, x), list(x = 1L)))(list(d = d), x)), c(2, 8))
    expect_identical(plain(of(jacobian(count, "x"))(d, x)$x), diag(c(4, 8)))
    expect_identical(plain(of(jacobian(count, "x", mode = "reverse"))(d, x)$x), diag(c(4, 8)))
    expect_identical(plain(of(hessian(function(d, x) sum(count(d, x)), "x"))(d, x)$x$x), diag(4, 2))
    # A row of it, and columns that examples share beside one that they do not.
    expect_identical(plain(of(vmap(function(d) d$x * (d$g == "a")))(d)), c(1, 0, 3))
    share <- vmap(function(d) d$x * sum(d$g == "a"), list(list(x = 1L, g = NULL)))
    expect_identical(plain(of(share)(d)), c(2, 4, 6))
  }
})
