# Single subscripts that select elements in R's order: masks, matrices of positions, and those of one column.

# R's data, vectors as vectors.
plain <- function(x) {
  a <- as_array(x)
  if (length(dim(a)) == 1L) as.vector(a) else a
}

test_that("a mask that the program computes takes one value", {
  a <- matrix(c(1.5, -2, 3, 0.5, -1, 4), 2)
  x <- nv_tensor(a, "f64")
  expect_jit_equal(function(x) { x[x < 0] <- 0; x }, x, r = pmax(a, 0))
  expect_jit_equal(function(x) { x[x < 0 | x > 3] <- x[1, 1]; x }, x, r = replace(a, a < 0 | a > 3, 1.5))
  expect_jit_equal(function(x) { x[x < 0] <- 0; x }, nv_tensor(c(1, -1), "f64"), r = c(1, 0))
  expect_jit_equal(function(x) { x[is.nan(x)] <- 9L; x }, nv_tensor(c(1, NaN)), r = c(1, 9))
  expect_identical(as_array(gradient(function(x) { x[x < 0] <- 0; sum(x^2) })(x)$x), 2 * pmax(a, 0))
  f <- function(x) { x[x < 0] <- c(1, 2); x }
  expect_error(jit(f)(x), class = "anvil_error_arg", "one value")
  expect_error(jit(function(x) { x[x > 0] <- 0.5; x })(nv_tensor(1:2)), class = "anvil_error_dtype")
  expect_error(jit(function(x) x[x > 0])(x), class = "anvil_error_arg", "nv_ifelse")
})

test_that("masks of the same shape and matrices of positions select elements, as in R", {
  set.seed(4)
  for (sizes in list(c(2, 3), c(3, 1, 2), c(4, 1), c(2, 2, 2, 2), c(0, 3))) {
    a <- array(sample(100L, prod(sizes)), sizes)
    x <- nv_tensor(a)
    mask <- array(sample(c(TRUE, FALSE), prod(sizes), TRUE), sizes)
    expect_jit_equal(function(x) x[mask], x, r = a[mask])
    expect_jit_equal(function(x) nv_subset(x, mask), x, r = a[mask])
    expect_identical(plain(x[nv_tensor(mask)]), a[mask])
    b <- a
    b[mask] <- seq_len(sum(mask))
    values <- seq_len(sum(mask))
    if (length(values) != 1L) expect_jit_equal(function(x) { x[mask] <- values; x }, x, r = b)
    expect_jit_equal(function(x) { x[mask] <- 7L; x }, x, r = replace(a, mask, 7L))
    if (prod(sizes) == 0) next
    at <- arrayInd(sample(prod(sizes), 2), sizes)
    expect_jit_equal(function(x) x[at], x, r = a[at])
    expect_identical(plain(x[at + 0]), a[at])
    expect_identical(plain(x[nv_tensor(at, "i64")]), a[at])
    expect_jit_equal(function(x) { x[at] <- c(-1L, -2L); x }, x, r = { a[at] <- c(-1L, -2L); a })
  }
  # Positions that the program computes.
  a <- array(1:12, c(2, 3, 2))
  at <- rbind(c(2L, 1L, 2L), c(1L, 3L, 1L))
  expect_jit_equal(function(x, at) x[at], nv_tensor(a), nv_tensor(at), r = a[at])
  expect_jit_equal(function(x, at) x[at], nv_tensor(a), nv_tensor(at, "i8"), r = a[at])
  expect_jit_equal(function(x, at) { x[at] <- 0L; x }, nv_tensor(a), nv_tensor(at), r = { a[at] <- 0L; a })
  picks <- function(x, y) x[cbind(1:2, y)]
  m <- nv_tensor(matrix(1:6, 2))
  expect_jit_equal(picks, m, nv_tensor(c(3L, 1L)), r = c(5L, 2L))
  expect_error(jit(picks)(m, nv_tensor(c(4L, 1L))), class = "anvil_error_index")
  expect_error(jit(picks)(m, nv_tensor(c(0L, 1L))), class = "anvil_error_index")
  x <- nv_tensor(matrix(1:6, 2))
  e <- expect_error(x[cbind(3, 1)], class = "anvil_error_index")
  expect_identical(e[c("axis", "size")], list(axis = 1, size = 2))
  e <- expect_error(x[cbind(1, 4)], class = "anvil_error_index")
  expect_identical(e[c("axis", "size")], list(axis = 2, size = 3))
  for (bad in list(cbind(0, 1), cbind(-1, 1), cbind(1.5, 1), cbind(NA_real_, 1))) {
    expect_error(x[bad], class = "anvil_error_index")
    expect_error({ y <- x; y[bad] <- 0L }, class = "anvil_error_index")
  }
  expect_error(x[matrix(c(TRUE, NA), 2, 3)], class = "anvil_error_index", "NA")
  expect_identical(shape(x[matrix(integer(), 0, 2)]), 0L)
  # Positions that are computed as floats.
  places <- jit(function(x, h) x[cbind(1:2, h)])
  h <- nv_tensor(c(3, 1), "f64")
  expect_identical(as.vector(as_array(places(x, h))), as_array(x)[cbind(1:2, c(3, 1))])
  expect_identical(as.vector(as_array(places(x, nv_convert(h, "f32")))), as_array(x)[cbind(1:2, c(3, 1))])
  for (bad in list(c(0, 1), c(4, 1), c(1.5, 1), c(NaN, 1), c(-1, 1), c(Inf, 1))) {
    expect_error(places(x, nv_tensor(bad, "f64")), class = "anvil_error_index")
  }
  loss <- function(x) sum(x[cbind(1:2, c(3, 1))]^2)
  slope <- gradient(loss)(nv_tensor(matrix(1:6, 2), "f64"))$x
  expect_identical(as_array(slope), rbind(c(0, 0, 10), c(4, 0, 0)))
})

test_that("one column is a vector to a single subscript, and a vector takes subscripts of any shape", {
  a <- matrix(c(5, 6, 7, 8), 4)
  x <- nv_tensor(a, "f64")
  expect_jit_equal(function(x) x[2:3], x, r = a[2:3])
  expect_jit_equal(function(x) x[c(TRUE, FALSE, TRUE, FALSE)], x, r = a[c(1, 3)])
  expect_jit_equal(function(x) x[-1], x, r = a[-1])
  expect_jit_equal(function(x) { x[2] <- 0; x }, x, r = replace(a, 2, 0))
  expect_jit_equal(function(x, i) x[i], x, nv_tensor(c(4L, 1L)), r = c(8, 5))
  expect_identical(x[2], nv_scalar(6, "f64"))
  v <- nv_tensor(c(5, 6, 7), "f64")
  i <- matrix(c(1L, 3L, 2L, 1L), 2)
  expect_jit_equal(function(v) v[i], v, r = c(5, 6, 7)[i])
  expect_jit_equal(function(v, i) v[i], v, nv_tensor(i), r = c(5, 6, 7)[i])
})

test_that("a value of as many elements fills what is selected in R's order, whatever its axes", {
  a <- matrix(c(2, 1, 1, 3), 2)
  m <- nv_tensor(a, "f64")
  for (f in list(
    function(m, v) { m[1, ] <- m %*% v; m }, function(m, v) { m[, 1] <- m %*% v; m },
    function(m, v) { v[] <- m %*% v; v }, function(m, v) { v[1] <- t(v) %*% v; v },
    function(m, v) { m[] <- c(1, 2, 3, 4); m }, function(m, v) { m[2, ] <- t(m %*% v); m },
    function(m, v) { m[] <- t(v) %*% v; m }, function(m, v) { v[2:1] <- m[, 2, drop = FALSE]; v },
    function(m, v) { m[v > 0.75, ] <- t(v) %*% v; m }
  )) {
    want <- f(a, c(0.5, 1))
    expect_jit_equal(f, m, nv_tensor(c(0.5, 1), "f64"), r = want)
    of_r <- jit(function(v) f(a, v))(nv_tensor(c(0.5, 1), "f64"))
    expect_equal(as.vector(as_array(of_r)), as.vector(want))
  }
  b <- matrix(as.double(1:6), 2)
  expect_jit_equal(function(x, y) { x[1:2, 1:3] <- y; x }, nv_tensor(b), nv_tensor(t(b)), r = matrix(t(b), 2))
  expect_equal(
    as.vector(gradient(function(v) { m[1, ] <- m %*% v; sum(m^2) })(nv_tensor(c(0.5, 1), "f64"))$v),
    2 * as.vector(crossprod(a, a %*% c(0.5, 1)))
  )
  for (f in list(function(m) { m[] <- c(1, 2, 3); m }, function(m) { m[1, ] <- m; m })) {
    expect_error(jit(f)(m), class = "anvil_error_shape", "as many elements")
    expect_error(f(m), class = "anvil_error_shape")
  }
})

test_that("a factor selects by its codes, as in R", {
  r <- c(3, 9, 1, 4)
  x <- nv_tensor(r, "f64")
  m <- matrix(as.double(1:6), 2)
  f <- factor(c("b", "a", "b"))
  g <- factor(c("a", "b", "a", "b"))
  expect_jit_equal(function(x) x[f], x, r = r[f])
  expect_jit_equal(function(x) x[cut(c(1, 5), c(0, 2, 4, 6))], x, r = r[cut(c(1, 5), c(0, 2, 4, 6))])
  expect_jit_equal(function(m) m[f, ], nv_tensor(m), r = m[f, ])
  expect_jit_equal(function(m) m[, factor("z")], nv_tensor(m), r = m[, 1])
  expect_jit_equal(function(x) { x[f] <- 0; x }, x, r = replace(r, f, 0))
  expect_equal(as.vector(jit(function(x) x - tapply(x, g, mean)[g])(x)), as.vector(r - tapply(r, g, mean)[g]))
  expect_error(x[factor(c(NA, "a"))], class = "anvil_error_index", "NA")
})

test_that("zeros and NULL select nothing, as in R", {
  x <- c(1.5, 2, 3)
  m <- matrix(1:6, 2)
  same <- function(f, at, wanted = f(at)) {
    for (run in list(f, jit(f))) {
      got <- as_array(run(nv_tensor(at)))
      expect_equal(as.vector(got), as.vector(wanted), label = deparse1(body(f)))
      if (is.matrix(wanted)) expect_identical(dim(got), dim(wanted))
    }
  }
  same(function(x) x[0], x)
  same(function(x) x[NULL], x)
  same(function(x) x[integer()], x)
  same(function(x) x[c(0, 2)], x)
  same(function(x) x[c(-1, 0)], x)
  same(function(x) x[-0], x)
  same(function(x) c(x[0], x), x)
  same(function(x) sum(x[0]), x)
  same(function(m) m[0, ], m)
  same(function(m) m[, NULL], m)
  same(function(m) m[c(2, 0, 1), ], m)
  same(function(x) {
    x[0] <- 9
    x[NULL] <- 9
    x[c(0, 3)] <- 9
    x
  }, x)
  expect_error(nv_tensor(x)[c(0, 9)], class = "anvil_error_index", "out of bounds")
  expect_error(nv_tensor(x)[c(-1, 0, 1)], class = "anvil_error_index", "mixture")
  expect_error(nv_tensor(x)[[0]], class = "anvil_error_index")
  expect_error(nv_tensor(m)[cbind(0, 1)], class = "anvil_error_index")
})

test_that("matrices of names select elements by row, as in R", {
  a <- matrix(c(1.5, -2, 3, 0.5, -1, 4), 2, dimnames = list(c("a", "b"), c("p", "q", "r")))
  x <- nv_tensor(a, "f64")
  at <- cbind(c("b", "a", "b"), c("r", "p", "p"))
  expect_jit_equal(function(x) x[at], x, r = a[at])
  expect_jit_equal(function(x) x[at[0, ]], x, r = a[at[0, ]])
  expect_jit_equal(function(x) { x[at] <- c(7, 8, 9); x }, x, r = unname(`[<-`(a, at, c(7, 8, 9))))
  expect_identical(dimnames(`[<-`(x, at, value = 0)), dimnames(a))
  # A matrix of R that is assigned a traced value.
  f <- user_env(function(v) { m <- a; m[at] <- v; m[at] <- m[at] * 2; m }, a = a, at = at)
  expect_equal(as_array(jit(f)(nv_tensor(c(7, 8, 9), "f64"))), f(c(7, 8, 9)))
  expect_error(x[cbind("a", "z")], class = "anvil_error_index", "axis 2, not \"z\"")
  expect_error(x[cbind("a", NA)], class = "anvil_error_index", "not NA")
  expect_error(nv_tensor(unname(a))[cbind("a", "p")], class = "anvil_error_index", "no names")
})

test_that("what is assigned to no elements need not be of their dtype", {
  x <- nv_tensor(c(TRUE, FALSE))
  none <- c(FALSE, FALSE)
  expect_jit_equal(function(x) { x[none] <- 0; x }, x, r = c(TRUE, FALSE))
  expect_jit_equal(function(x) { x[integer()] <- 0.5; x }, x, r = c(TRUE, FALSE))
  expect_error({ x[1] <- 0 }, class = "anvil_error_dtype")
  y <- nv_tensor(c(1, 2, 3, 4, 5, 6), "f64")
  z <- nv_tensor(c(2, 1, 4, 3, 6, 5), "f64")
  fit <- function(y, z) unname(coef(glm(y > 3 ~ I(z^2), family = poisson)))
  logit <- function(y, z) unname(coef(glm((y %% 2 > 0) ~ z, family = binomial)))
  for (f in list(fit, logit)) expect_equal(f(y, z), f(as.vector(y), as.vector(z)))
})
