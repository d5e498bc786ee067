# Names of results, beside those that base R gives, at once and in traced functions.

as_r <- function(x) {
  if (is.list(x)) return(lapply(x, as_r))
  if (inherits(x, "AnvilValue")) x <- as_array(x)
  # A vector is an array of one axis to anvil.
  if (length(dim(x)) == 1L) {
    names <- names(x)
    dim(x) <- NULL
    names(x) <- names
  }
  x
}

f64 <- function(x) nv_tensor(x, dtype = if (is.numeric(x)) "f64")

# Values and names are those that base R gives for the same function and arguments.
expect_as_in_r <- function(f, ..., traced = TRUE) {
  expected <- f(...)
  tensors <- lapply(list(...), f64)
  label <- paste(deparse(body(f)), collapse = " ")
  expect_equal(as_r(do.call(f, tensors)), expected, label = label)
  if (!traced) return(invisible())
  g <- jit(f)
  expect_equal(as_r(do.call(g, tensors)), expected, label = paste(label, "of tensors, jitted"))
  # By the program in the cache.
  expect_equal(as_r(do.call(g, tensors)), expected, label = paste(label, "once more"))
  if (!is.null(names(expected))) {
    expect_identical(names(g(...)), names(expected), label = paste(label, "of numbers, jitted"))
  }
}

p <- c(a = 0.5, b = 2, c = 4)
q <- c(u = 3, v = 1, w = 0.25)
one <- c(a = 1.5)
none <- structure(numeric(), names = character())
m <- matrix(c(1, 2, 3, 4, 5, 7), 2, dimnames = list(c("r", "s"), c("x", "y", "z")))
partial <- array(as.double(1:12), c(2, 3, 2), list(NULL, c("x", "y", "z"), NULL))
odd <- setNames(c(1, 2, 3), c("a", "", NA))

test_that("functions of one operand keep its names", {
  unary <- list(
    function(x) exp(x), function(x) -x, function(x) +x, function(x) sqrt(x), function(x) log(x),
    function(x) log(x, 2), function(x) abs(x), function(x) round(x, 1), function(x) floor(x),
    function(x) trunc(x), function(x) sign(x), function(x) !x, function(x) !(x > 1), function(x) is.na(x),
    function(x) lgamma(x), function(x) trigamma(x), function(x) x^2, function(x) tanh(x),
    function(x) sinpi(x),
    function(x) is.finite(x), function(x) expm1(x)
  )
  for (f in unary) {
    for (x in list(p, one, m, partial, odd)) {
      # `!` of floats is refused.
      if (identical(body(f), quote(!x))) x <- x > 1
      expect_as_in_r(f, x)
    }
  }
  expect_as_in_r(function(x) dnorm(x, 1, 2), p)
  expect_as_in_r(function(x) cumsum(x), p)
  expect_as_in_r(function(x) cummax(x), p)
})

test_that("of two operands it is the first that has names and the result's shape", {
  binary <- list(
    function(x, y) x + y, function(x, y) x - y, function(x, y) x * y, function(x, y) x / y,
    function(x, y) x^y, function(x, y) x %% y, function(x, y) x %/% y, function(x, y) x < y,
    function(x, y) x == y, function(x, y) x > 1 & y > 1, function(x, y) atan2(x, y), function(x, y) beta(x, y)
  )
  bare <- unname(m)
  half <- m
  dimnames(half) <- list(NULL, c("k", "l", "m"))
  pairs <- list(
    list(p, q), list(p, 2), list(2, p), list(p, unname(q)), list(unname(p), q), list(one, 2), list(2, one),
    list(one, c(b = 3)), list(p, one), list(one, p), list(one, unname(p)), list(unname(q), one), list(odd, q),
    list(m, m), list(m, 2), list(2, m), list(m, one), list(bare, m), list(half, m), list(m, half),
    list(bare, half), list(m, c(u = 1, v = 2)), list(c(u = 1, v = 2), bare), list(partial, partial + 1)
  )
  for (f in binary) {
    # R's atan2() and beta() take the names of the first only; ours are by the one rule.
    first <- as.character(body(f)[[1L]]) %in% c("atan2", "beta")
    for (pair in pairs[if (first) 1:2 else seq_along(pairs)]) {
      expect_as_in_r(f, pair[[1L]], pair[[2L]])
    }
  }
})

test_that("functions with a rule of their own follow it", {
  expect_as_in_r(function(x) ifelse(x > 1, x, 0), p)
  expect_as_in_r(function(x, y) ifelse(x > 1, y, 0), unname(p), q)
  expect_as_in_r(function(x, y) ifelse(x > 1, y, 0), p, q)
  expect_as_in_r(function(x) pmax(x, 1), p)
  expect_as_in_r(function(x) pmin(1, x), p)
  expect_as_in_r(function(x, y) pmax(x, y), p, q)
  expect_as_in_r(function(x, y) pmax(x, y), unname(p), q)
  # A conversion is one of elements.
  expect_identical(names(nv_convert(f64(p), "i32")), names(p))
  expect_identical(names(nv_convert(f64(p), "f64")), names(p))
  common <- nv_promote_to_common(nv_tensor(p), f64(q), 1)
  expect_identical(lapply(common, names), list(names(p), names(q), NULL))
})

test_that("what moves elements moves their names", {
  vectors <- list(
    function(x) rev(x), function(x) t(x), function(x) head(x, 1), function(x) tail(x, 2),
    function(x) x[-1],
    function(x) x[c("c", "a")], function(x) x["b"], function(x) x[["b"]], function(x) x[2],
    function(x) c(x, 1),
    function(x) c(x, d = 1), function(x) rep(x, 2), function(x) x[c(TRUE, FALSE, TRUE)],
    function(x) as.list(x), function(x) outer(x, x), function(x) outer(x, 1:2),
    function(x) outer(1:2, x, "+"), function(x) x %o% x, function(x) cbind(x, 1), function(x) rbind(x, y = x),
    function(x) as.numeric(x), function(x) as.vector(x), function(x) unname(x), function(x) as.matrix(x),
    function(x) sum(x), function(x) max(x), function(x) mean(x), function(x) range(x),
    function(x) c(k = as.numeric(x["b"])), function(x) c(k = x["b"]), function(x) with(as.list(x), b + c)
  )
  for (f in vectors) expect_as_in_r(f, p)
  matrices <- list(
    function(x) t(x), function(x) t(x)["y", ], function(x) x["s", ], function(x) x[, "y"],
    function(x) x["s", "y"],
    function(x) x["s", , drop = FALSE], function(x) colSums(x), function(x) rowSums(x),
    function(x) colMeans(x),
    function(x) rowMeans(x), function(x) colMeans(x)["y"], function(x) (x * 2)[, "y"],
    function(x) crossprod(x),
    function(x) crossprod(x)["x", "z"], function(x) tcrossprod(x), function(x) x %*% t(x),
    function(x) x %*% c(a = 1, b = 2, c = 3), function(x) c(a = 1, b = 2) %*% x, function(x) cov(x),
    function(x) cor(x), function(x) diag(crossprod(x)), function(x) diag(x), function(x) cbind(x, w = 1),
    function(x) rbind(x, t = 1), function(x) head(x, 1), function(x) tail(x[, 2:3], 1), function(x) x - 1,
    function(x) sweep(x, 2, colMeans(x)), function(x) sweep(x, 1, c(r = 1, s = 2)), function(x) sum(x),
    function(x) apply(x, 2, sum), function(x) x[, c("z", "x")], function(x) aperm(x),
    function(x) x[2:1, ]
  )
  for (f in matrices) expect_as_in_r(f, m)
  traced <- list(
    function(x) apply(x, 1, function(r) sum(r^2)), function(x) apply(x, 2, function(k) k / sum(k)),
    function(x) apply(x, 1, function(r) c(lo = min(r), hi = max(r))),
    function(x) sapply(c(k = 1, l = 2), function(i) x[i, ]), function(x) sapply(1:2, function(i) x[, i + 1]),
    function(x) vapply(1:2, function(i) x[1, i:i], 0), function(x) unlist(list(k = x[1, "y"], l = x[1, 1:2]))
  )
  for (f in traced) expect_equal(as_r(jit(f)(f64(m))), f(m), label = deparse(body(f)))
  for (f in list(
    function(x) aperm(x), function(x) colSums(x), function(x) rowSums(x, dims = 2), function(x) x[1, , ]
  )) {
    expect_as_in_r(f, partial)
  }
  normal <- crossprod(m[, 1:2] * c(1, 4))
  rownames(normal) <- c("k", "l")
  for (f in list(
    function(a) solve(a), function(a) solve(a, c(u = 1, v = 2)), function(a) solve(a, cbind(w = 1:2)),
    function(a) chol(a), function(a) sqrt(diag(solve(a %*% t(a)))), function(a) det(a)
  )) expect_as_in_r(f, normal)
  # The names of a dimension stay with it.
  titled <- m
  names(dimnames(titled)) <- c("row", "column")
  expect_as_in_r(function(x) exp(x), titled)
})

test_that("what only the program can place has no names", {
  x <- f64(p)
  for (f in list(
    function(x) nv_sort(x), function(x) x[nv_argmax(x)], function(x) nv_reshape(x, c(3, 1)),
    function(x) nv_roll(x, 1L)
  )) {
    expect_null(names(f(x)))
    expect_null(names(jit(f)(x)))
  }
  expect_null(dimnames(nv_reshape(f64(one), c(1, 1))))
  # Outside of a program R's function knows it.
  expect_identical(names(sort(x)), names(sort(p)))
  expect_null(names(jit(function(x) sort(x))(x)))
})

test_that("vectors of one element keep their name, and none have none", {
  x <- f64(one)
  expect_identical(names(x), "a")
  expect_identical(names(nv_scalar(one)), "a")
  expect_identical(names(as_nv_tensor(one)), "a")
  expect_identical(names(x["a"]["a"]), "a")
  expect_null(names(x[["a"]]))
  expect_identical(shape(f64(p)["a"]), integer())
  expect_identical(as_array(f64(p)["a"]), p["a"])
  for (given in list(one, x, nv_scalar(one))) {
    expect_equal(as_r(jit(function(p) p["a"] * 2)(given)), one * 2)
    expect_equal(as_r(jit(function(p) with(as.list(p), a^2))(given)), 2.25)
  }
  changed <- f64(p)["a"]
  changed["a"] <- 7
  expect_identical(as_array(changed), c(a = 7))
  expect_as_in_r(function(x) x * 2, structure(numeric(), names = NULL))
  expect_identical(length(jit(function(x) exp(x))(f64(none))), 0L)
})

test_that("parts of parameters are told by names, whatever was computed before", {
  conc <- function(th, t) with(as.list(exp(th)), 100 / V * exp(-CL / V * t))
  th <- c(CL = 0, V = 1)
  expect_equal(as_r(jit(conc)(f64(th), 1:2)), conc(th, 1:2))
  expect_equal(as_r(jit(conc)(th, 1:2)), conc(th, 1:2), tolerance = 1e-6)
  total <- function(p) {
    q <- exp(p)
    r <- 0
    for (nm in names(q)) r <- r + q[[nm]]
    r
  }
  expect_as_in_r(total, p)
})

test_that("a program is not that of other names", {
  f <- jit(function(x) (x * 10)["b"])
  expect_equal(as_r(f(c(a = 1, b = 2))), c(b = 20))
  expect_equal(as_r(f(c(b = 1, a = 2))), c(b = 10))
  g <- jit(function(x) x)
  for (x in list(c(a = 1), c(b = 1), 1)) {
    expect_identical(names(g(x)), names(x))
    expect_identical(names(g(nv_tensor(x))), names(x))
    expect_identical(names(g(nv_scalar(x))), names(x))
  }
  expect_identical(cache_info(g)$misses, 9L)
})

test_that("results have the names of the traced values, and arguments keep theirs", {
  x <- f64(p)
  big <- f64(setNames(runif(1e4), paste0("n", 1:1e4)))
  renamed <- jit(function(x) {
    names(x) <- toupper(names(x))
    x
  })
  bare <- jit(function(x) unname(x))
  for (x in list(x, big, nv_tensor(p, "f32"), nv_tensor(p * 2, "i8"))) {
    before <- names(x)
    expect_identical(names(renamed(x)), toupper(before))
    expect_null(names(bare(x)))
    expect_identical(names(x), before)
    expect_equal(as.vector(renamed(x)), as.vector(x))
  }
  both <- jit(function(x) list(a = x, b = list(rev(x), unname(x), sum(x))))(x)
  expect_identical(names(both$a), names(p))
  expect_identical(lapply(both$b, names), list(rev(names(p)), NULL, NULL))
  # What is donated becomes the result, under its names.
  step <- jit(function(x) rev(x) + 1, donate = "x")
  y <- step(f64(p))
  expect_identical(names(y), rev(names(p)))
  expect_equal(as.vector(y), unname(rev(p) + 1))
  # Captured tensors, and constants.
  expect_identical(names(jit(function(k) k * big)(2)), names(big))
  expect_identical(names(jit(function() c(a = 1, b = 2))()), c("a", "b"))
})

test_that("derivatives have the names of what they are of", {
  f <- function(p) p[["a"]]^2 + sum(exp(p) * 2)
  slope <- as_r(jit(gradient(f))(f64(p))$p)
  expect_equal(slope, exp(p) * 2 + c(2 * p[["a"]], 0, 0))
  expect_identical(names(value_and_gradient(f)(f64(p))$gradient$p), names(p))
  expect_identical(dimnames(gradient(function(m) sum(m^2))(f64(m))$m), dimnames(m))
  expect_identical(names(gradient(function(p) p["a"]^2)(f64(one))$p), "a")
  moved <- jvp(function(x) x * 2, list(f64(p)), list(f64(q)))
  expect_identical(lapply(moved, names), list(value = names(p), tangent = names(p)))
  expect_identical(names(hvp(function(p) sum(p^3), list(f64(p)), list(f64(p)))$p), names(p))
  square <- custom_gradient(
    function(x) x^2, function(args) list(args[[1L]]^2, args), function(kept, g) list(g * 2 * kept[[1L]])
  )
  expect_identical(names(square(f64(p))), names(p))
  labels <- paste0("p[", names(p), "]")
  expect_identical(dimnames(jit(hessian(f, flat = TRUE))(f64(p))), list(labels, labels))
})

test_that("examples of a batch have names, and a batch those of its other axes", {
  expect_identical(dimnames(vmap(function(x) x * 2)(f64(m))), list(NULL, colnames(m)))
  by_column <- vmap(function(x) x * 2, in_axes = 2L, out_axes = 2L)
  expect_identical(dimnames(by_column(f64(m))), list(rownames(m), NULL))
  expect_equal(as_r(vmap(function(x) x["y"] + x[["z"]])(f64(m))), unname(m[, "y"] + m[, "z"]))
})

test_that("branches give the names that both have", {
  x <- f64(p)
  expect_identical(names(nv_if(TRUE, x + 1, x)), names(p))
  expect_null(names(nv_if(TRUE, x + 1, rev(x))))
  expect_null(names(nv_if(TRUE, x + 1, unname(x))))
  expect_identical(names(nv_switch(2L, x, exp(x), x + 1)), names(p))
  expect_null(names(nv_switch(2L, x, exp(x), f64(q))))
})

test_that("loops keep the names of the state that the body keeps", {
  x <- f64(p)
  expect_identical(names(nv_while(x, function(s) sum(s) < 50, function(s) s * c(2, 2, 2))), names(p))
  expect_identical(names(nv_for(3L, x, function(i, s) s + s[["a"]])), names(p))
  expect_identical(names(nv_for(nv_scalar(3L), x, function(i, s) s + i)), names(p))
  summed <- nv_scan(function(s, x) list(list(p = s$p * x), x), list(p = x), f64(c(1, 2)))
  expect_identical(names(summed$carry$p), names(p))
  expect_null(names(nv_for(3L, x, function(i, s) sort(s))))
  expect_null(names(nv_for(3L, unname(x), function(i, s) s * x)))
  error <- expect_error(nv_for(3L, x, function(i, s) rev(s)), class = "anvil_error_structure", "c, b, a")
  expect_identical(error$before, list(names(p)))
  expect_no_open_trace()
})

test_that("differences, scaled columns and sums of rows keep the names that R keeps", {
  v <- c(a = 3, b = 1, c = 2)
  m <- matrix(c(1, 2, 6, 4, 5, 9), 3, dimnames = list(letters[1:3], c("p", "q")))
  g <- factor(c("u", "v", "u"))
  for (f in list(
    function(x) diff(x$v), function(x) diff(x$v, lag = 2), function(x) diff(x$m), function(x) scale(x$m),
    function(x) scale(x$v), function(x) rowsum(x$m, g)
  )) {
    want <- f(list(v = v, m = m))
    x <- list(v = f64(v), m = f64(m))
    for (got in list(f(x), jit(user_env(f, g = g))(x))) {
      names <- if (is.null(dim(want))) base::names else function(x) unname(dimnames(x))
      expect_identical(names(got), names(want), label = deparse1(body(f)))
    }
  }
})

test_that("names do not reach the graph", {
  f <- function(x) exp(x)[["b"]] + sum(rev(x) * 2)
  bare <- function(x) exp(x)[[2L]] + sum(rev(x) * 2)
  expect_identical(graph_text(trace_fn(f, f64(p))), graph_text(trace_fn(bare, f64(unname(p)))))
})

test_that("vectors and matrices with names print as those of R", {
  shown <- function(x) utils::capture.output(print(x, header = FALSE))
  expect_identical(
    shown(nv_tensor(c(a = 1, gamma = -3.5))), c("      a   gamma ", " 1.0000 -3.5000 ", "[ CPUf32{2} ]")
  )
  expect_identical(shown(nv_tensor(c(a = 1L))), c("a ", "1 ", "[ CPUi32{1} ]"))
  expect_identical(shown(jit(function(p) p["a"])(c(a = 1L, b = 2L))), c("a ", "1 ", "[ CPUi32?{} ]"))
  m <- matrix(1:4, 2, dimnames = list(NULL, c("alpha", "b")))
  expect_identical(shown(nv_tensor(m)), c("     alpha b", "[1,]     1 3", "[2,]     2 4", "[ CPUi32{2,2} ]"))
  # What is not shown as a whole has no names.
  long <- stats::setNames(1:40, paste0("n", 1:40))
  expect_identical(shown(nv_tensor(long)), shown(nv_tensor(1:40)))
  as_r <- function(x) utils::capture.output(print(x))
  wide <- matrix(1:60, 2, dimnames = list(c("u", "v"), NULL))
  slices <- array(1:12, c(2, 3, 2), list(c("u", "v"), NULL, dose = c("low", "high")))
  complex <- matrix(c(1+2i, 10-3i), 1, dimnames = list("z", c("a", "b")))
  for (x in list(wide, slices, complex)) expect_identical(utils::head(shown(nv_tensor(x)), -1L), as_r(x))
  # Numbers of one power of ten have it before them.
  tiny <- shown(nv_tensor(c(a = 1.5e-7, b = 2.5e-7)))
  expect_identical(tiny[1:3], c("1e-07 *", "     a      b ", "1.5000 2.5000 "))
  none <- matrix(1, 0, 2, dimnames = list(NULL, c("a", "b")))
  expect_identical(shown(nv_tensor(none)), shown(nv_tensor(unname(none))))
})

test_that("names that depend on values are asked for in vain", {
  refused <- function(f, says = "not known while tracing") {
    e <- expect_error(jit(user(f))(f64(c(c = 2, a = 3, b = 1))), class = "anvil_error_concrete")
    expect_match(conditionMessage(e), says, fixed = TRUE, label = deparse1(body(f)))
  }
  refused(function(p) { names(sort(p)); p })
  refused(function(p) { names(sort(p)[1:2])[1]; p })
  refused(function(p) { names(p[order(p)]); p })
  refused(function(p) { names(which.max(p)); p })
  refused(function(p) { names(which.min(p)); p })
  refused(function(p) p[match(names(which.max(p)), names(p))], "`which.max(x)`")
  refused(function(p) { names(which(p > 1)); p }, "names()")
  # Those that are known, and none.
  known <- jit(user(function(p) {
    unnamed <- sort(unname(p))
    if (is.null(names(unnamed)) && is.null(names(unname(sort(p))))) p[rev(names(p))] else p
  }))
  expect_named(known(f64(c(c = 2, a = 3, b = 1))), c("b", "a", "c"))
})

test_that("coefficients and correlations have the names of the columns", {
  m <- matrix(c(2, 0.3, 0.3, 1), 2, dimnames = list(c("a", "b"), c("u", "v")))
  expect_named(qr.solve(f64(m), c(1, 2)), c("u", "v"))
  expect_named(jit(user(function(m) qr.coef(qr(m), c(1, 2))))(f64(m)), c("u", "v"))
  expect_identical(dimnames(cov2cor(f64(m))), dimnames(m))
})
