# Selections, `x[mask]` with a mask that the program computes: values as of base R on plain vectors, gradients
# as differences, everything else an error with a class.

r <- c(-1.2, 0.4, 2, -0.3, 3.5, 0.9, -2, 1.1)
s <- c(0.3, -1, 1.5, 2.2, -0.7, 0.1, 0.8, -1.9)
wide <- matrix(c(r, s, r * s + 0.5), 8)
groups <- c(1, 2, 3, 1, 2, 3, 1, 2)

plain <- function(x) {
  if (is.list(x)) return(unlist(lapply(x, plain)))
  x <- as.vector(if (inherits(x, "AnvilValue")) as_array(x) else x)
  x[is.na(x)] <- NaN
  as.double(x)
}

# A function of R's vectors, in a program with these values.
expect_as_r <- function(f, ..., dtype = "f64", tolerance = 1e-6) {
  given <- list(...)
  expected <- suppressWarnings(do.call(f, given))
  tensors <- lapply(given, function(v) {
    nv_tensor(v, if (is.logical(v)) "i1" else if (is.integer(v)) "i32" else dtype)
  })
  expect_silent(got <- do.call(jit(f), tensors))
  expect_equal(plain(got), plain(expected), tolerance = tolerance)
}

# Gradients with respect to a vector, against differences.
expect_slopes <- function(f, at, ...) {
  fixed <- list(...)
  of <- function(v) as.double(plain(do.call(f, c(list(v), fixed))))
  step <- 1e-6
  expected <- vapply(seq_along(at), function(k) {
    move <- step * (seq_along(at) == k)
    (of(at + move) - of(at - move)) / (2 * step)
  }, 0)
  got <- do.call(gradient(f, wrt = 1L), c(list(nv_tensor(at, "f64")), lapply(fixed, function(v) {
    nv_tensor(v, if (is.logical(v)) "i1" else "f64")
  })))
  expect_equal(plain(got[[1L]]), expected, tolerance = 1e-4)
}

reductions <- list(
  sum = function(x, m) sum(x[m]), prod = function(x, m) prod(x[m]), mean = function(x, m) mean(x[m]),
  max = function(x, m) max(x[m]), min = function(x, m) min(x[m]), range = function(x, m) range(x[m]),
  length = function(x, m) length(x[m]), var = function(x, m) var(x[m]), sd = function(x, m) sd(x[m]),
  median = function(x, m) median(x[m]), quantile = function(x, m) quantile(x[m], c(0.1, 0.9), names = FALSE),
  types = function(x, m) quantile(x[m], 0.3, type = 6, names = FALSE), IQR = function(x, m) IQR(x[m]),
  fivenum = function(x, m) fivenum(x[m]), any = function(x, m) any(x[m] > 1),
  all = function(x, m) all(x[m] > -2),
  count = function(x, m) sum(x[m] > 0.2), anyNA = function(x, m) anyNA(x[m])
)

test_that("reductions give what R gives, of any mask", {
  set.seed(4)
  masks <- c(list(rep(FALSE, 8), rep(TRUE, 8)), replicate(4, runif(8) < 0.5, simplify = FALSE))
  for (m in masks) {
    for (f in reductions) expect_as_r(f, r, m)
  }
  # What a program computes itself.
  expect_as_r(function(x) c(mean(x[x > 0]), sd(x[x > 0]), length(x[x > 0])), r)
  expect_as_r(function(x, g) sapply(1:3, function(j) mean(x[g == j])), r, groups)
})

test_that("vectors of one element, of none, and numbers are selected of", {
  f <- function(x) list(sum(x[x > 0]), length(x[x > 0]), mean(x[x > 0]), max(x[x > 0]), sd(x[x > 0]))
  for (x in list(2, -1, numeric(), 0)) {
    expected <- plain(suppressWarnings(f(x)))
    expect_equal(plain(jit(f)(nv_tensor(x, "f64", shape = length(x)))), expected)
    if (length(x)) expect_equal(plain(jit(f)(nv_scalar(x, "f64"))), expected)
  }
  one <- function(x) {
    x[x > 0] <- log(x[x > 0])
    x
  }
  expect_nv(jit(one)(nv_scalar(1, "f64")), 0, "f64", integer())
  expect_equal(plain(gradient(one)(nv_scalar(2, "f64"))[[1L]]), 0.5)
})

test_that("dtypes are those of the tensor that R's mask selects", {
  for (dtype in c("f32", "f64", "f16", "bf16", "i32", "i64", "i8", "ui8")) {
    x <- nv_tensor(c(1, 2, 3, 100), dtype)
    for (f in reductions[c("sum", "mean", "max", "min", "prod", "median", "var", "range")]) {
      if (dtype %in% c("i8", "ui8") && identical(f, reductions$prod)) next
      got <- jit(f)(x, nv_tensor(c(FALSE, TRUE, TRUE, FALSE)))
      expected <- jit(function(x) f(x, c(FALSE, TRUE, TRUE, FALSE)))(x)
      expect_identical(as.character(dtype(got)), as.character(dtype(expected)))
      expect_equal(plain(got), plain(expected), tolerance = 1e-2)
    }
    # Of no elements, integers have no infinity.
    none <- jit(function(x) list(max(x[x > 200]), sum(x[x > 200]), mean(x[x > 200])))(x)
    expect_true(plain(none[[1L]] == nv_reduce_max(nv_empty(dtype, 0L))) == 1)
    expect_equal(plain(none[[2L]]), 0)
    expect_equal(plain(none[[3L]]), NaN)
  }
  expect_nv(jit(function(x) length(x[x > 1]))(nv_tensor(r)), sum(r > 1), "i32", integer())
  expect_as_r(function(b, m) c(sum(b[m]), any(b[m]), all(b[m]), sum(!b[m])), s > 0, r > 0)
  expect_as_r(function(i, m) c(sum(i[m]), max(i[m]), sum(i[m] %% 2L)), 1:8, r > 0)
})

test_that("NaN counts where it is selected, and nowhere else", {
  x <- c(NaN, 1, Inf, 2, -Inf, 5, NaN, 0)
  some <- c(FALSE, TRUE, FALSE, TRUE, FALSE, TRUE, FALSE, TRUE)
  for (name in setdiff(names(reductions), c("types", "fivenum"))) {
    expect_as_r(reductions[[name]], x, some)
  }
  with_nan <- replace(some, 1L, TRUE)
  for (name in c("sum", "prod", "mean", "max", "min", "var", "sd", "median", "anyNA")) {
    expect_as_r(reductions[[name]], x, with_nan)
  }
  # Where R stops.
  expect_equal(plain(jit(reductions$quantile)(nv_tensor(x), nv_tensor(with_nan))), c(NaN, NaN))
  for (f in list(sum, mean, max, min, sd, var, median, prod)) {
    expect_as_r(function(x, m) f(x[m], na.rm = TRUE), x, with_nan)
  }
  expect_as_r(function(x, m) quantile(x[m], 0.5, na.rm = TRUE, names = FALSE), x, with_nan)
  expect_as_r(function(x) mean(x[!is.na(x)]), c(NaN, 1, 3))
})

test_that("operators and functions of elements give a selection by the same mask", {
  for (f in list(
    function(x, y) sum(x[x > 0] - y[x > 0]), function(x, y) mean(x[x > 0] > 0.9),
    function(x, y) sum((x[x > 0] - mean(x[x > 0]))^2) / (length(x[x > 0]) - 1),
    function(x, y) sum(log(x[x > 0])), function(x, y) sum(log(x[x > 0], 2) + exp(-x[x > 0])),
    function(x, y) sum(round(sqrt(x[x > 0]), 1)), function(x, y) sum(2^x[x > 0] %% 1.5),
    function(x, y) sum(x[x > 0] > 1 & y[x > 0] < 0), function(x, y) sum(!is.finite(x[x > 0])),
    function(x, y) sum(ifelse(x[x > 0] > 1, x[x > 0], 0)), function(x, y) sum(pmax(x[x > 0], y[x > 0])),
    function(x, y) sum(pmin(1, x[x > 0])), function(x, y) sum(atan2(x[x > 0], y[x > 0])),
    function(x, y) sum(dnorm(x[x > 0], mean(y), 2, log = TRUE)), function(x, y) sum(x[x > 0] * mean(y)),
    function(x, y) sum(x[x > 0], y), function(x, y) max(0.1, x[x > 0]), function(x, y) min(y, x[x > 0]),
    function(x, y) range(x[x > 0], y[y > 0]), function(x, y) sum(x[x > mean(y)]),
    function(x, y) weighted.mean(x[x > 0], abs(y[x > 0])), function(x, y) cor(x[x > 0], y[x > 0]),
    function(x, y) cov(x[x > 0], y[x > 0]), function(x, y) sum(lgamma(x[x > 0]))
  )) {
    expect_as_r(f, r, s)
  }
})

test_that("a selection is assigned where the same mask selects", {
  for (f in list(
    function(x, y) {
      x[x > 0] <- log(x[x > 0])
      x
    },
    function(x, y) {
      x[x < 0] <- y[x < 0]
      x
    },
    function(x, y) {
      m <- x > 0
      x[m] <- x[m] * 2 + y[m]
      x
    },
    function(x, y) {
      x[x > 0] <- 0
      x
    },
    function(x, y) {
      z <- numeric(8)
      z[x > 0] <- y[x > 0]
      z
    },
    function(x, y) {
      v <- x[x > 0]
      v[v > 1] <- 1
      v[y[x > 0] > 0] <- v[y[x > 0] > 0] / 2
      sum(v)
    },
    function(x, y) {
      for (j in 1:2) x[sign(y) == 2 * j - 3] <- x[sign(y) == 2 * j - 3] - mean(x[sign(y) == 2 * j - 3])
      x
    },
    function(x, y) {
      q <- quantile(x, c(0.2, 0.8))
      x[x < q[1]] <- q[1]
      mean(x[x <= q[2]])
    }
  )) {
    expect_as_r(f, r, s)
  }
  # The value must fit into the dtype, as any that is assigned.
  into <- function(i, x) {
    i[x > 0] <- x[x > 0]
    i
  }
  expect_error(jit(into)(nv_tensor(1:8), nv_tensor(r)), class = "anvil_error_dtype")
  # A captured tensor is assigned to.
  e <- nv_tensor(c(1, 2, 3))
  into <- function(x) {
    e[x > 0] <- x[x > 0]
    e
  }
  expect_equal(plain(jit(into)(nv_tensor(c(-1, 5, 6)))), c(1, 5, 6))
})

test_that("a selection selects among what is selected", {
  expect_as_r(function(x, y) {
    v <- x[x > 0]
    w <- v[v > 1]
    c(sum(w), length(w), mean(v[y[x > 0] > 0]), sum(v[v > 1] - y[x > 0][v > 1]))
  }, r, s)
  expect_slopes(function(x) {
    v <- x[x > 0]
    sum(log(v[v > 1] - 0.9))
  }, r)
  omitted <- function(v) {
    v <- v[!is.na(v)]
    n <- length(v)
    sqrt(sum((v - sum(v) / n)^2) / (n - 1))
  }
  expect_as_r(omitted, c(1, NaN, 4, 7))
})

test_that("rows, columns and elements of matrices are selected", {
  for (f in list(
    function(u, m) colSums(u[m, ]), function(u, m) colMeans(u[m, ]), function(u, m) nrow(u[m, ]),
    function(u, m) dim(u[m, ]), function(u, m) length(u[m, ]), function(u, m) c(NROW(u[m, ]), NCOL(u[m, ])),
    function(u, m) crossprod(u[m, ]), function(u, m) crossprod(u[m, ], u[m, 2]),
    function(u, m) t(u[m, ]) %*% u[m, 1:2], function(u, m) sum(u[m, ]), function(u, m) mean(u[m, ]),
    function(u, m) median(u[m, ]), function(u, m) sd(u[m, ]), function(u, m) sum(u[m, 2]),
    function(u, m) mean(u[m, -1]), function(u, m) sum(u[m, ][, 2:3]), function(u, m) max(u[m, ][, 1]),
    function(u, m) sum(abs(rowSums(u[m, ]))), function(u, m) max(rowMeans(u[m, ])),
    function(u, m) sum(u[m, ] %*% c(1, 2, 3)), function(u, m) colSums(u[m, ] %*% u[1:3, ]),
    function(u, m) colMeans(u[m, ] * u[m, 1]), function(u, m) cov(u[m, ]), function(u, m) cor(u[m, ]),
    function(u, m) var(u[m, ]), function(u, m) cor(u[m, 1:2], u[m, 3]),
    function(u, m) colSums(sweep(u[m, ], 2, colMeans(u[m, ]))^2),
    function(u, m) sum(sweep(u[m, ], 1, u[m, 1])^2), function(u, m) sum(u[m, ][u[m, 1] > 0, 2]),
    function(u, m) sum(u[m, ][u[m, ] > 0]), function(u, m) sum(u[u > 0.3]), function(u, m) length(u[u > 0.3]),
    function(u, m) sum(u[, u[2, ] < 1]), function(u, m) sum(colSums(u[, u[2, ] < 1])),
    function(u, m) rowSums(u[, u[2, ] < 1]), function(u, m) tcrossprod(u[, u[2, ] < 1]),
    function(u, m) {
      u[m, ] <- u[m, ] / 2
      u[m, 2] <- u[m, 1] + 1
      u[u < 0] <- abs(u[u < 0])
      u[m, 1:2] <- u[m, 2:3]
      u
    },
    function(u, m) {
      z <- matrix(0, 8, 3)
      z[m, ] <- u[m, ]
      z[m, 1] <- exp(u[m, 3])
      z
    }
  )) {
    for (m in list(r > 0, s > -1)) expect_as_r(f, wide, m)
  }
  expect_as_r(function(u, w) colMeans(u[u %*% w > 0, ]), wide, c(1, -1, 0.5))
  expect_as_r(function(u, w) {
    u[u %*% w > 0, 1] <- u[u %*% w > 0, 2] * 2
    u
  }, wide, c(1, -1, 0.5))
  cube <- array(sin(1:24), 2:4)
  for (f in list(
    function(a) sum(a[, a[1, , 1] > 0, ]), function(a) mean(a[1, a[1, , 1] > 0, ]),
    function(a) sum(a[a > 0.5]),
    function(a) max(a[1, , a[1, 1, ] > 0] * 2), function(a) {
      a[1, , a[1, 1, ] > 0] <- -a[1, , a[1, 1, ] > 0]
      a[, a[1, , 1] > 0, ] <- a[, a[1, , 1] > 0, ] * 2
      a
    }
  )) {
    expect_as_r(f, cube)
  }
  fit <- function(u, y, m) solve(crossprod(u[m, ]), crossprod(u[m, ], y[m]))
  expect_as_r(fit, wide, s + 1, r > -1.5)
  none <- jit(function(u) list(colSums(u[u[, 1] > 9, ]), colMeans(u[u[, 1] > 9, ]), cov(u[u[, 1] > 9, ])))
  expect_equal(lapply(none(nv_tensor(wide)), plain), list(c(0, 0, 0), rep(NaN, 3), rep(NaN, 9)))
})

test_that("gradients are those of what is selected, and 0 elsewhere", {
  for (f in list(
    function(x) sum(log(x[x > 0])), function(x) mean(sqrt(x[x > 0])), function(x) sd(x[x > 0]),
    function(x) max(x[x < 1]), function(x) median(x[x > 0]),
    function(x) quantile(x[x > 0], 0.8, names = FALSE),
    function(x) prod(x[x > 0]), function(x) sum(x[x > 0]) / length(x[x > 0]),
    function(x) cor(x[x > 0], x[x > 0]^2), function(x) {
      x[x > 0] <- log(x[x > 0])
      sum(x^2)
    }
  )) {
    expect_slopes(f, r)
  }
  # 0 times the infinite slope of log() at 0 would be NaN, for what is selected of and for what is beside it.
  x <- nv_tensor(c(NaN, Inf, 0, -1, 2, 3), "f64")
  m <- nv_tensor(c(FALSE, FALSE, FALSE, FALSE, TRUE, TRUE))
  for (f in list(
    function(x, a, m) sum(log(x[m] * a)), function(x, a, m) mean((x[m] - a)^a),
    function(x, a, m) sd(x[m] / a),
    function(x, a, m) sum(a / x[m]), function(x, a, m) sum(ifelse(x[m] > a, log(x[m]), a * sqrt(x[m]))),
    function(x, a, m) sum(dnorm(x[m], a, a, log = TRUE))
  )) {
    got <- gradient(f, wrt = c("x", "a"))(x, nv_scalar(0.7, "f64"), m)
    selected <- function(v) f(v[1:2], v[3L], c(TRUE, TRUE))
    expected <- plain(gradient(selected)(nv_tensor(c(2, 3, 0.7), "f64"))[[1L]])
    expect_equal(plain(got$x), c(0, 0, 0, 0, expected[1:2]))
    expect_equal(plain(got$a), expected[3L])
  }
  rows <- gradient(function(u) sum(crossprod(u[u[, 1] > 0, ])))(nv_tensor(rbind(c(0, NaN), c(1, 2)), "f64"))
  expect_equal(plain(rows[[1L]]), c(0, 6, 0, 6))
})

test_that("batches, loops, branches and gradients within programs select", {
  positive <- function(x) mean(x[x > 0])
  expect_equal(plain(vmap(positive)(nv_tensor(t(wide), "f64"))), apply(wide, 2, positive), tolerance = 1e-6)
  x <- nv_tensor(r, "f64")
  zero <- nv_scalar(0, "f64")
  added <- jit(function(x) nv_for(3L, zero, function(i, a) a + sum(x[x > a])))(x)
  expected <- 0
  for (i in 1:3) expected <- expected + sum(r[r > expected])
  expect_equal(plain(added), expected)
  # By a mask and of a selection of the program around the loop.
  around <- jit(function(x) {
    m <- x > 0
    v <- x[m]
    nv_for(3L, zero, function(i, a) a + sum(v * x[m]))
  })(x)
  expect_equal(plain(around), 3 * sum(r[r > 0]^2))
  branch <- jit(function(x) nv_if(sum(x) > 0, function() mean(x[x > 0]), function() zero))(x)
  expect_equal(plain(branch), positive(r))
  inner <- jit(function(x) gradient(function(x) sum(log(x[x > 0])))(x)$x)(x)
  expect_equal(plain(inner), ifelse(r > 0, 1 / r, 0))
  pushed <- jvp(function(x) sum(log(x[x > 0])), list(x), list(x))
  expect_equal(plain(pushed$tangent), sum(r > 0))
})

test_that("masks are the same if they are computed in the same way", {
  expect_as_r(function(x, g) {
    x[g %in% c(1, 3)] <- x[g %in% c(1, 3)] * 2
    x[x > c(0, 1, 0, 1, 0, 1, 0, 1)] <- -x[x > c(0, 1, 0, 1, 0, 1, 0, 1)]
    x
  }, r, groups)
  x <- nv_tensor(r, "f64")
  y <- nv_tensor(s, "f64")
  e <- nv_tensor(rev(r), "f64")
  zero <- nv_scalar(0, "f64")
  # Also around a loop or a gradient and in it.
  looped <- function(inner) {
    jit(function(x, y) {
      m <- x > 0.5 & y < e
      nv_for(2L, zero, function(i, a) {
        nv_if(a > 1, function() a + sum(x[m] * y[inner(x, y, a)]), function() a + 2)
      })
    })
  }
  same <- looped(function(x, y, a) x > 0.5 & y < e)(x, y)
  expect_equal(plain(same), 2 + sum((r * s)[r > 0.5 & s < rev(r)]))
  slope <- jit(function(x, y) {
    v <- x[x > 0]
    gradient(function(mu) sum((v - mu)^2 * y[x > 0]))(zero)$mu
  })
  expect_equal(plain(slope(x, y)), -2 * sum((r * s)[r > 0]))
  for (other in list(
    function(x, y, a) x > 0.5 & y < x, function(x, y, a) x > 0.6 & y < e, function(x, y, a) x >= 0.5 & y < e,
    function(x, y, a) x > 0.5 & y < a, function(x, y, a) y < e & x > 0.5, function(x, y, a) x > 0.5 | y < e
  )) {
    expect_error(looped(other)(x, y), class = "anvil_error_shape", "same mask")
  }
})

test_that("factors of data frames are selected, and select", {
  data <- data.frame(f = factor(c("a", "b", "a", "b")), y = c(1, 2, 3, 5))
  f <- function(d) {
    c(
      sum(d$f[d$y > 1] == "a"), mean(d$y[d$f == "b"]), sapply(levels(d$f), function(l) max(d$y[d$f == l])),
      nlevels(d$f[d$y > 1]), is.factor(d$f[d$y > 1])
    )
  }
  expect_equal(plain(jit(f)(data)), plain(f(data)))
})

test_that("selections say what they are", {
  shown <- capture.output(jit(function(x) {
    print(x[x > 0])
    str(x[x > 0])
    0
  })(nv_tensor(r)))
  expect_match(shown[1L], "AnvilSelection(dtype=f32, shape=?/8)", fixed = TRUE)
  asked <- list()
  jit(function(x, u) {
    v <- x[x > 0]
    asked <<- list(
      is.numeric(v), is.vector(v), !is.array(v), is.null(dim(v)), is.null(names(v)), is.matrix(u[x > 0, ]),
      !is.list(v), is.logical(v > 0), !is.function(v), inherits(v, "AnvilSelection"), dtype(v) == "f32"
    )
    0
  })(nv_tensor(r), nv_tensor(wide))
  expect_true(all(unlist(asked)))
})

test_that("selections by other masks, and vectors beside them, are refused", {
  for (f in list(
    function(x, y) sum(x[x > 0] + y), function(x, y) sum(x[x > 0] + y[y > 0]),
    function(x, y) sum(c(1, 2) * x[x > 0]),
    function(x, y) sum(x[x > 0] + x[x >= 0]), function(x, y) x[x > 0][0],
    function(x, y) sum(x[x > 0][y > 0]), function(x, y) sum(x[x > 0][c(TRUE, FALSE)]),
    function(x, y) sum(ifelse(x > 0, x[x > 0], 0)), function(x, y) cor(x[x > 0], y[y > 0]),
    function(x, y) {
      x[x > 0] <- y[y > 0]
      x
    },
    function(x, y) {
      x[2:3] <- x[x > 0]
      x
    }
  )) {
    expect_error(jit(f)(nv_tensor(r), nv_tensor(s)), class = "anvil_error_shape")
  }
  longer <- jit(function(x) sum(x[c(x, x) > 0]))
  expect_error(longer(nv_tensor(r)), class = "anvil_error_dtype", "as long as its axis")
  of_rows <- jit(function(u) sum(u[u[, 1] > 0]))
  expect_error(of_rows(nv_tensor(wide)), class = "anvil_error_index", "mask of the shape")
})

test_that("everything else is an error that says what a selection is", {
  # nolint start: seq_linter, redundant_ifelse_linter.
  calls <- alist(
    sort(v), rev(v), head(v, 1), tail(v, 1), order(v), rank(v), unique(v), duplicated(v), table(v),
    which(v > 1), cumsum(v), diff(v), c(v, 1), c(1, v), append(v, 1), rep(v, 2),
    rep(1, length(v)), rep_len(1, length(v)), numeric(length(v)), vector("list", length(v)), seq_along(v),
    seq_len(length(v)), 1:length(v), for (e in v) e, sapply(v, identity), lapply(v, identity),
    Map(identity, v), mapply(identity, v), Filter(identity, v), Reduce(`+`, v), vapply(v, identity, 0),
    tapply(v, v, mean), split(v, v), as.numeric(v), as.integer(v), as.character(v), as.vector(v),
    as.list(v), as.matrix(v), as.array(v), data.frame(a = v), matrix(v, 2), array(v, 3), cbind(v, v),
    rbind(1, v), outer(v, v), v %*% x, x %*% v, diag(v), if (v > 0) 1, while (v > 0) 1, v && TRUE,
    switch(v, 1), identical(v, 1), all.equal(v, v + 1), nchar(v), paste(v), cat(v), sprintf("%f", v),
    summary(v > 0), scale(v), lengths(list(v)), match(v, 1), v %in% 1, union(v, 1), findInterval(v, 1:3),
    cut(v, 3), base:::ifelse(v > 0, 1, 0), base:::pmax(v, 0), stats:::sd(v), mean.default(v), wilcox.test(v),
    fft(v), ecdf(v), array(0, dim(u[x > 0, ])), apply(u[x > 0, ], 1, sum),
    svd(u[x > 0, ]), norm(u[x > 0, ]), signif(v, 2), range(1, v)[v], nv_sort(v), nv_reduce_sum(v),
    nv_reshape(v, 2), nv_concatenate(v, v), nv_softmax(v), nv_matmul(v, v), nv_print(v), nv_stack(v, v),
    nv_broadcast_to(v, 3), shape(v), ndims(v), x[v], x[x > 0] <- list(v), v, list(a = v), unclass(v) + 1,
    sum(unclass(v)), nv_sort(unclass(v)), gradient(sum)(v), vmap(identity)(v), jit(identity)(v),
    nv_for(3L, v, function(i, a) a), nv_if(x[1] > 0, function() v, function() v),
    nv_scan(function(a, e) list(a, e), 0, v), names(v) <- "a"
  )
  # nolint end
  for (call in calls) {
    f <- eval(bquote(function(x, u) {
      v <- x[x > 0]
      .(call)
    }), globalenv())
    refused <- tryCatch(
      {
        suppressWarnings(jit(f)(nv_tensor(r), nv_tensor(wide)))
        NULL
      },
      error = identity
    )
    expect_s3_class(refused, "anvil_error")
    expect_match(conditionMessage(refused), "selection|`value` must be", info = deparse1(call))
  }
  expect_error(jit(function(x) x[x > 0])(nv_tensor(r)), class = "anvil_error_arg", "not a selection")
  ordered <- jit(function(x) order(x[x > 0]))
  expect_error(ordered(nv_tensor(r)), class = "anvil_error_concrete", "does not take a selection")
  # A mask that is known selects as ever.
  expect_nv(jit(function(x) x[c(TRUE, FALSE)])(nv_tensor(c(1, 2))), 1, "f32", 1L)
  x <- nv_tensor(c(-1, 2))
  expect_nv(x[x > 0], 2, "f32", 1L)
})

test_that("equal elements have no correlation, as those of a tensor", {
  x <- nv_tensor(c(0.7, 0.7, 0.7, -1), "f64")
  y <- nv_tensor(c(0.1, 0.1, 0.1, 5), "f64")
  expect_identical(as_array(jit(function(x, y) cor(x[x > 0], y[x > 0]))(x, y)), NaN)
  m <- cbind(rep(0.7, 4), c(1.1, 2.3, -4, 2), rep(0.1, 4))
  keep <- c(TRUE, TRUE, TRUE, FALSE)
  got <- as_array(jit(function(m, keep) cor(m[keep, ]))(nv_tensor(m, "f64"), nv_tensor(keep)))
  expect_identical(got, as_array(cor(nv_tensor(m[keep, ], "f64"))))
  got <- jit(function(m, keep) cov(m[keep, ]))(nv_tensor(m, "f64"), nv_tensor(keep))
  expect_identical(as_array(got)[1, ], c(0, 0, 0))
})

test_that("cov() and cor() leave rows with NaN out, or give NaN for their columns, as in R", {
  m <- matrix(c(0.3, -1.2, 2.1, 0.7, 1.9, -0.4, 0.2, 1.1, NaN, 0.6, -2, 0.9, 1, 0.1, -0.8, 3, 2.5, 1.4), 6)
  keep <- c(TRUE, TRUE, FALSE, TRUE, TRUE, TRUE)
  for (use in c("everything", "complete.obs")) {
    for (f in list(
      function(m, k) cov(m[k, ], use = use), function(m, k) cor(m[k, ], use = use),
      function(m, k) cov(m[k, ], m[k, 2]^2, use = use), function(m, k) cor(m[k, 1], m[k, 2], use = use)
    )) {
      want <- f(m, keep)
      want[is.na(want)] <- NaN
      got <- as_array(jit(f)(nv_tensor(m, "f64"), nv_tensor(keep)))
      expect_equal(c(got), c(want), tolerance = 1e-12)
    }
  }
})

test_that("what takes no selection says so: conditions, static arguments, NULL", {
  x <- nv_tensor(c(-1, 2, 3), "f64")
  expect_error(
    jit(function(x) nv_if(x[x > 0] > 1, function() 1, function() 2))(x), "a selection",
    class = "anvil_error_arg"
  )
  expect_error(
    jit(function(x) nv_while(0, function(s) x[x > 0] > s, function(s) s + 1))(x), class = "anvil_error_arg"
  )
  inner <- jit(function(z, m) sum(m), static = "m")
  expect_error(jit(function(x) inner(x, x[x > 0]))(x), class = "anvil_error_static")
  for (f in list(
    function(x) {
      z <- NULL
      z[x > 0] <- x[x > 0]
      z
    },
    function(x) {
      z <- c()
      z[x > 0] <- 1
      z
    },
    function(x) {
      l <- list()
      l$a[x > 0] <- x[x > 0]
      l$a
    }
  )) expect_error(jit(f)(x), "numeric\\(n\\)", class = "anvil_error_arg")
})

test_that("masks of one element and of one column assign", {
  zeroed <- function(u) {
    u[u > 0] <- 0
    u
  }
  expect_identical(as_array(jit(zeroed)(nv_scalar(1.5))), 0)
  expect_identical(as_array(jit(zeroed)(nv_scalar(-1.5))), -1.5)
  expect_identical(as_array(jit(zeroed)(nv_tensor(1.5))), array(0))
  marked <- function(u, w) {
    u[w] <- 3
    u
  }
  expect_identical(as_array(jit(marked)(nv_tensor(1), nv_scalar(TRUE))), array(3))
  cleaned <- jit(function(d) {
    d$u[is.na(d$u)] <- 0
    d$u
  })
  expect_identical(as.vector(cleaned(data.frame(u = NaN))), 0)
  m <- diag(2)
  rows <- function(m) {
    m[m %*% c(1, -1) > 0, ] <- 0
    m
  }
  expect_identical(as_array(jit(rows)(nv_tensor(m, "f64"))), rows(m))
  assigned <- function(x, m, w) {
    x[x > 0] <- m[x > 0, ] %*% w
    x
  }
  x <- c(1, -1)
  w <- c(2, 3)
  got <- as_array(jit(assigned)(nv_tensor(x, "f64"), nv_tensor(m, "f64"), nv_tensor(w, "f64")))
  expect_identical(got, array(assigned(x, m, w)))
})

test_that("which() of a computed mask is a selection of positions, and as a subscript the mask", {
  r <- c(-1, 2, 4, -3, 5.5)
  a <- matrix(c(1, -2, 3, 4, 5, -6, 7, 8, 9), 3)
  for (f in list(
    function(x, a) sum(which(x > 0)), function(x, a) length(which(x > 0)), function(x, a) max(which(x > 0)),
    function(x, a) min(which(cumsum(x) > 3)), function(x, a) mean(which(x > 0) + 1),
    function(x, a) sum(x[which(x > 0)]), function(x, a) sum(which(a > 4)),
    function(x, a) sum(a[which(a > 4)]),
    function(x, a) colMeans(a[which(a[, 1] > 0), ]), function(x, a) {
      x[which(x > 0)] <- 0
      x
    },
    function(x, a) {
      at <- which(x > 0)
      x[at] <- log(x[at])
      x
    },
    function(x, a) {
      a[which(a[, 2] > 4), 2] <- 0
      a
    },
    function(x, a) {
      y <- c(1, 2, 3, 4, 5)
      y[which(x > 0)] <- 0
      y
    }
  )) {
    got <- as_array(jit(f)(nv_tensor(r, "f64"), nv_tensor(a, "f64")))
    expect_equal(as.vector(got), as.vector(f(r, a)), label = deparse1(body(f)))
  }
  # What is computed of positions is no mask, and how many there are is not known.
  for (f in list(
    function(x) x[which(x > 0) + 1], function(x) which(x > 0),
    function(x) for (i in which(x > 0)) i, function(x) c(1, 2)[which(x > 0)]
  )) expect_error(jit(f)(nv_tensor(r)), class = "anvil_error")
  expect_identical(which(c(a = TRUE)), base::which(c(a = TRUE)))
})
