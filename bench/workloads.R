# What is measured: the workloads of the project's engine targets, one entry each. Scans and factorisations
# wait for their ops: `needs` names the functions without which an entry is a named gap.
#
#   what         how the table calls it; `group` is the family that it belongs to
#   dtypes       one row of the table for each, and for each of the `sizes`, or of `quick` ones in the quick form
#   tiny         the size for tests
#   data         (n, dtype) -> list of arguments: tensors, and R constants for static arguments
#   anvil, r     the function for anvil, and for base R where it has the operation, of the same arguments as R
#                has them
#   make         where there is more to it than jit(anvil): makes the jitted function
#   target       largest ratio to JAX that is aimed at, of a number, or (dtype, n) -> number; for `sizes` only
#   source       where the target comes from; or a function of the size
#   compare      "values", or "moments" where random numbers can agree in these only
#   tolerance    largest difference, relative to the mean size; the default goes with the dtype
#   cold         the size at which tracing and compiling is measured, which should leave little to run
#   cold_target  the largest ratio to JAX there
#   carry        the first argument is given away, and the result takes its place

workloads <- list()

workload <- function(id, what, group, data, anvil = NULL, r = NULL, dtypes = c("f32", "f64"), sizes,
                     quick = sizes[1L],
                     tiny = 8L, target = NULL, source = group, needs = character(), static = character(),
                     carry = FALSE, make = NULL, result = function(out, args) out, compare = "values",
                     tolerance = NULL, size_label = format_size, cold = NULL,
                     cold_target = 0.01) {
  if (is.null(make)) make <- function() jit(anvil, static = static, donate = names(formals(anvil))[carry])
  entry <- list(
    id = id, what = what, group = group, data = data, make = make, r = r, dtypes = dtypes, sizes = sizes,
    quick = quick, tiny = tiny,
    target = if (is.function(target) || is.null(target)) target else function(dtype, n) target,
    source = if (is.function(source)) source else function(n) source, needs = needs, carry = carry,
    result = result, compare = compare, tolerance = tolerance, size_label = size_label, cold = cold,
    cold_target = cold_target
  )
  workloads[[length(workloads) + 1L]] <<- entry
}

# Sizes: 1e5 for a vector; functions for others.
format_size <- function(n) if (n < 1000) format(n) else sub("e\\+0*", "e", format(n, scientific = TRUE))
square <- function(n) paste0(n, "x", n)
none <- integer()

# ---- data ----

uniform_vector <- function(n, dtype, from = -2, to = 2) nv_tensor(runif(n, from, to), dtype = dtype)
uniform_matrix <- function(rows, columns, dtype, from = -1) {
  nv_tensor(matrix(runif(rows * columns, from, 1), rows), dtype = dtype)
}
whole_vector <- function(n, dtype) nv_tensor(sample.int(10L, n, replace = TRUE) - 1L, dtype = dtype)
one_vector <- function(n, dtype) list(uniform_vector(n, dtype))
two_vectors <- function(n, dtype) list(uniform_vector(n, dtype), uniform_vector(n, dtype))
positive_vector <- function(n, dtype) list(uniform_vector(n, dtype, 0.01, 10))
# From 0 on, since a sum that is nearly 0 has no digits to compare.
one_matrix <- function(n, dtype) list(uniform_matrix(n, n, dtype, from = 0))
scalar <- function(x, dtype) nv_scalar(x, dtype)

# ---- one call: what it costs when there is next to nothing to compute ----

workload("call", "x + x", "call", one_vector, function(x) x + x, function(x) x + x,
  sizes = c(8, 1000), quick = 8, target = 0.40, source = "call latency n <= 1e3 from R")
workload("call16", "sum of 16 arguments", "call",
  function(n, dtype) replicate(16L, uniform_vector(n, dtype), simplify = FALSE),
  function(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) {
    a + b + c + d + e + f + g + h + i + j + k + l + m + n + o + p
  },
  function(...) Reduce(`+`, list(...)), dtypes = "f32", sizes = 8,
  target = 0.40, source = "call latency n <= 1e3 from R")

# ---- W1: cheap arithmetic ----

w1 <- function(dtype, n) if (n <= 1e5) 0.30 else if (n <= 1e6) 0.80 else 0.35
axpb <- function(x, a, b) a * x + b
axpb_data <- function(n, dtype) list(uniform_vector(n, dtype), scalar(0.75, dtype), scalar(0.5, dtype))
workload("axpb", "a * x + b", "W1", axpb_data, axpb, axpb, sizes = c(1e5, 1e6, 1e7), target = w1, cold = 8L)
workload("axpb_donated", "a * x + b, x donated", "W1", axpb_data, axpb, axpb, sizes = 1e7, quick = none,
  carry = TRUE, target = 1.1, source = "elementwise n = 1e7, both sides donated")
workload("sqabs", "(x - y)^2 / 2 + abs(z)", "W1",
  function(n, dtype) c(two_vectors(n, dtype), one_vector(n, dtype)),
  function(x, y, z) (x - y)^2 * 0.5 + abs(z), function(x, y, z) (x - y)^2 * 0.5 + abs(z),
  sizes = c(1e5, 1e6, 1e7), target = w1)
chain10 <- function(maximum) {
  function(x) {
    t <- x * 1.5 + 0.5
    t <- t * t - x
    t <- abs(t) * 0.25
    t <- maximum(t, x) - 0.125
    t * x + 1
  }
}
workload("chain10", "10 cheap ops", "W1", one_vector, chain10(nv_max), chain10(pmax),
  sizes = c(1e5, 1e6, 1e7), target = w1, cold = 8L)

# ---- W2: functions ----

w2_source <- function(what) function(n) if (n >= 1e7) "any elementwise n = 1e7" else paste("W2", what)
w2 <- function(f32, f64) function(dtype, n) if (n >= 1e7) 0.35 else if (dtype == "f32") f32 else f64
w2_exp <- w2_source("exp/log/tanh/sigmoid")
workload("exp", "exp(x)", "W2", one_vector, function(x) exp(x), exp, sizes = c(1e5, 1e6, 1e7),
  target = w2(0.65, 0.70), source = w2_exp)
workload("log", "log(x)", "W2", positive_vector, function(x) log(x), function(x) log(x), sizes = c(1e5, 1e6),
  target = w2(0.65, 0.70), source = w2_exp)
workload("tanh", "tanh(x)", "W2", one_vector, function(x) tanh(x), tanh, sizes = c(1e5, 1e6),
  target = w2(0.65, 1.2), source = "W2 tanh")
workload("sin", "sin(x)", "W2", one_vector, function(x) sin(x), sin, sizes = c(1e5, 1e6), target = 0.15,
  source = "W2 sin/cos")
workload("cos", "cos(x)", "W2", one_vector, function(x) cos(x), cos, sizes = c(1e5, 1e6), quick = none,
  target = 0.15, source = "W2 sin/cos")
workload("sigmoid", "sigmoid", "W2", one_vector, function(x) nv_logistic(x), plogis, sizes = c(1e5, 1e6),
  target = w2(0.65, 0.70), source = w2_exp)
w2_erf <- w2_source("softplus/erf/logpdf/Black-Scholes")
workload("softplus", "softplus", "W2", one_vector, function(x) nv_max(x, 0) + log1p(exp(-abs(x))),
  function(x) pmax(x, 0) + log1p(exp(-abs(x))), sizes = c(1e5, 1e6),
  target = function(dtype, n) if (dtype == "f64") 0.45 else NA, source = w2_erf)
workload("erf", "erf(x)", "W2", one_vector, function(x) nv_erf(x), function(x) 2 * pnorm(x * sqrt(2)) - 1,
  sizes = c(1e5, 1e6), target = w2(0.9, 0.45), source = w2_erf)
workload("logpdf", "normal log density", "W2",
  function(n, dtype) c(two_vectors(n, dtype), list(uniform_vector(n, dtype, 0.5, 2))),
  function(x, mean, sd) -0.5 * ((x - mean) / sd)^2 - log(sd) - 0.5 * log(2 * pi),
  function(x, mean, sd) dnorm(x, mean, sd, log = TRUE),
  sizes = c(1e5, 1e6, 1e7), target = w2(0.9, 0.45), source = w2_erf)
black_scholes <- function(cdf) {
  function(spot, strike, years) {
    d1 <- (log(spot / strike) + (0.02 + 0.5 * 0.3 * 0.3) * years) / (0.3 * sqrt(years))
    d2 <- d1 - 0.3 * sqrt(years)
    spot * cdf(d1) - strike * exp(-0.02 * years) * cdf(d2)
  }
}
workload("black_scholes", "Black-Scholes", "W2",
  function(n, dtype) {
    list(
      uniform_vector(n, dtype, 50, 150), uniform_vector(n, dtype, 80, 120), uniform_vector(n, dtype, 0.2, 2)
    )
  },
  black_scholes(function(x) 0.5 * (1 + nv_erf(x * sqrt(0.5)))), black_scholes(pnorm),
  sizes = c(1e5, 1e6), target = w2(0.9, 0.45), source = w2_erf, cold = 8L)

# ---- W3: reductions; matrices in each system's own layout: columns first in R, rows first elsewhere ----

w3 <- function(id, what, anvil, r, target, source, quick = 1024, ...) {
  workload(id, what, "W3", one_matrix, anvil, r, sizes = 4096, quick = quick, target = target,
    source = source, size_label = square, ...)
}
row_max <- function(x) do.call(pmax, lapply(seq_len(ncol(x)), function(j) x[, j]))
w3("sum", "sum(x)", function(x) sum(x), function(x) sum(x), 1.0, "W3 sum/mean/max all")
w3("mean", "mean(x)", function(x) mean(x), function(x) mean(x), 1.0, "W3 sum/mean/max all", quick = none)
w3("max", "max(x)", function(x) max(x), function(x) max(x), 1.0, "W3 sum/mean/max all", quick = none)
w3("row_sums", "row sums", function(x) sum(x, axes = 2L), rowSums, 1.1, "W3 row sum/max")
w3("row_max", "row maxima", function(x) max(x, axes = 2L), row_max, 1.1,
  "W3 row sum/max", quick = none)
w3(
  "var", "variance", function(x) nv_var(x, correction = 0), function(x) mean((x - mean(x))^2), 0.65, "W3 var"
)
w3_wide <- "W3 column sums/argmax/softmax/transpose"
w3("column_sums", "column sums", function(x) sum(x, axes = 1L), colSums, 0.45, w3_wide)
w3("argmax", "argmax of rows", function(x) nv_argmax(x, 2L), function(x) max.col(x, "first"), 0.45, w3_wide)
across <- function(m, x) nv_broadcast_to(m, shape(x))
w3("softmax", "softmax of rows", function(x) {
  e <- exp(x - across(max(x, axes = 2L, drop = FALSE), x))
  e / across(sum(e, axes = 2L, drop = FALSE), x)
}, function(x) {
  e <- exp(x - row_max(x))
  e / rowSums(e)
}, 0.45, w3_wide)
w3("transpose", "transpose", function(x) t(x), t, 0.45, w3_wide)
w3("logsumexp", "logsumexp of rows", function(x) {
  top <- max(x, axes = 2L, drop = FALSE)
  log(sum(exp(x - across(top, x)), axes = 2L)) + nv_reshape(top, nrow(x))
}, function(x) {
  top <- row_max(x)
  log(rowSums(exp(x - top))) + top
}, 1.0, "W3 logsumexp rows")
workload("sumsq", "sum((x - y)^2)", "W3", two_vectors, function(x, y) sum((x - y)^2),
  function(x, y) sum((x - y)^2),
  sizes = c(1e5, 1e6, 1e7), target = function(dtype, n) if (n <= 1e5) 0.2 else if (n <= 1e6) 0.5 else 1.0,
  source = "W3 fused sum((x-y)^2)")

# ---- W4: products ----

workload("matmul", "x %*% y", "W4", function(n, dtype) c(one_matrix(n, dtype), one_matrix(n, dtype)),
  function(x, y) x %*% y, function(x, y) x %*% y, sizes = c(64, 256, 512, 1024), quick = c(64, 256),
  target = function(dtype, n) if (n <= 64) 0.35 else if (n <= 256) 0.95 else 1.10, size_label = square)
workload("crossprod", "t(x) %*% x", "W4", function(n, dtype) list(uniform_matrix(n, 20L, dtype)),
  function(x) t(x) %*% x, function(x) crossprod(x), sizes = 1e6, quick = 1e4,
  target = function(dtype, n) if (dtype == "f32") 1.0 else 0.75, source = "W4 X'X 1e6x20",
  size_label = function(n) paste0(format_size(n), "x20"))
workload("matvec", "x %*% v", "W4",
  function(n, dtype) list(uniform_matrix(n, n, dtype), uniform_matrix(n, 1L, dtype)),
  function(x, v) x %*% v, function(x, v) x %*% v, sizes = 4096, quick = 1024, target = 0.85,
  source = "W4 matvec/vecmat", size_label = square)
workload("vecmat", "v %*% x", "W4",
  function(n, dtype) list(uniform_matrix(1L, n, dtype), uniform_matrix(n, n, dtype)),
  function(v, x) v %*% x, function(v, x) v %*% x, sizes = 4096, quick = none, target = 0.85,
  source = "W4 matvec/vecmat", size_label = square)

# ---- W5: integers ----

w5 <- function(id, what, data, anvil, r, dtypes = c("i8", "i16", "i32", "i64"), target = 0.6,
               source = "W5 int/bool/cast elementwise", sizes = c(1e3, 1e6, 1e7), quick = 1e6, ...) {
  workload(id, what, "W5", data, anvil, r, dtypes = dtypes, sizes = sizes, quick = quick, target = target,
    source = source, ...)
}
two_whole <- function(n, dtype) list(whole_vector(n, dtype), whole_vector(n, dtype))
one_whole <- function(n, dtype) list(whole_vector(n, dtype))
w5("multiply_add", "x * y + x", two_whole, function(x, y) x * y + x, function(x, y) x * y + x)
w5("where", "where(x > y, x, y + y)", two_whole, function(x, y) nv_ifelse(x > y, x, y + y),
  function(x, y) ifelse(x > y, x, y + y))
w5("cast_multiply", "x as f32 * y", function(n, dtype) list(whole_vector(n, dtype), uniform_vector(n, "f32")),
  function(x, y) nv_convert(x, "f32") * y, function(x, y) x * y, dtypes = c("ui8", "i32"),
  sizes = c(1e6, 1e7), tolerance = 1e-6)
w5("int_sum", "sum(x) in i64", one_whole, function(x) sum(nv_convert(x, "i64")), function(x) sum(x),
  target = 0.10, source = "W5 int sums, count")
w5("count", "sum(x > 0)",
  function(n, dtype) list(nv_tensor(sample.int(9L, n, replace = TRUE) - 4L, dtype = dtype)),
  function(x) sum(x > 0), function(x) sum(x > 0), dtypes = "i32", target = 0.10,
  source = "W5 int sums, count")

# ---- W8: random numbers; of a state that is the same each time ----

draw <- function(f) function(state, n, dtype) f(n, state, dtype)$value
random_data <- function(n, dtype) list(nv_rng_state(1), as.integer(n), dtype)
w8 <- function(id, what, anvil, r, target) {
  workload(id, what, "W8", random_data, anvil, r, sizes = 1e7, quick = 1e6, tiny = 1e4, target = target,
    source = paste("W8", id), static = c("n", "dtype"), compare = "moments", tolerance = 0.05)
}
w8("uniform", "uniform numbers", draw(nv_runif), function(state, n, dtype) runif(n), 0.12)
w8("normal", "normal numbers", draw(nv_rnorm), function(state, n, dtype) rnorm(n), 0.15)

# ---- W9: places, order, scans ----

indices <- function(n) nv_tensor(sample.int(n, n, replace = TRUE), dtype = "i32")
w9 <- function(id, what, data, anvil, r, target, dtypes = c("f32", "f64"), source = paste("W9", what), ...) {
  workload(id, what, "W9", data, anvil, r, dtypes = dtypes, sizes = 1e6, quick = 1e5, target = target,
    source = source, ...)
}
w9("gather", "x[i]", function(n, dtype) list(uniform_vector(n, dtype), indices(n)), function(x, i) x[i],
  function(x, i) x[i], 0.65, source = "W9 gather")
w9("scatter_add", "x[i] + values, added up", function(n, dtype) {
  list(uniform_vector(n, dtype), indices(n), uniform_vector(n, dtype))
}, function(x, i, values) {
  nv_scatter(x, nv_reshape(i, c(length(i), 1L)), values, integer(), 1L, scatter_axes_to_operand_axes = 1L,
    index_vector_axis = 2L, update_computation = "add")
}, function(x, i, values) {
  sums <- rowsum(values, i)
  at <- as.integer(rownames(sums))
  x[at] <- x[at] + sums[, 1L]
  x
}, 0.85, source = "W9 scatter-add")
w9("cumsum", "cumsum", one_vector, function(x) nv_cumsum(x), cumsum, 0.10, needs = "nv_cumsum")
w9("sort", "sort", one_vector, function(x) nv_sort(x), sort, 0.10)
w9("order", "order", one_vector, function(x) nv_order(x), order, 0.15)
w9("top_k", "the 10 largest", one_vector, function(x) nv_top_k(x, 10)$values,
  function(x) sort(x, decreasing = TRUE)[1:10], 0.3, tiny = 16L)

# ---- W10: factorisations ----

w10 <- function(id, anvil, r, target, needs, ...) {
  workload(id, id, "W10", ..., anvil = anvil, r = r, sizes = c(50, 200, 800), quick = 200, target = target,
    source = paste("W10", id), needs = needs, size_label = square)
}
positive_matrix <- function(n, dtype) {
  x <- matrix(runif(n * n, -1, 1), n)
  list(nv_tensor(crossprod(x) / n + diag(n), dtype = dtype))
}
w10("chol", function(x) chol(x), chol, 0.65, "nv_chol", data = positive_matrix)
w10("solve", function(x, b) nv_solve(x, b), function(x, b) solve(x, b), 1.0, "nv_solve",
  data = function(n, dtype) c(positive_matrix(n, dtype), list(uniform_matrix(n, 1L, dtype))))
w10("triangular_solve", function(x, b) nv_triangular_solve(x, b), forwardsolve, 0.8, "nv_triangular_solve",
  data = function(n, dtype) c(positive_matrix(n, dtype), list(uniform_matrix(n, n, dtype))))
w10("inverse", function(x) nv_inv(x), function(x) solve(x), 1.0, "nv_inv", data = positive_matrix)
w10("qr", function(x) abs(nv_qr(x)[[2L]]), function(x) abs(qr.R(qr(x, LAPACK = FALSE))), 1.1, "nv_qr",
  data = one_matrix)
w10("svd", function(x) nv_svd(x)$d, function(x) svd(x, 0L, 0L)$d, 1.05, "nv_svd", data = one_matrix)
w10("eigh", function(x) nv_eigh(x)[[1L]], function(x) rev(eigen(x, TRUE)$values), 1.05, "nv_eigh",
  data = positive_matrix)

# Many small ones, as a batch; base R takes one after the other.
positive_batch <- function(n, dtype) {
  x <- nv_tensor(array(runif(n * 25, -1, 1), c(n, 5L, 5L)), dtype = dtype)
  one <- nv_tensor(array(rep(diag(5L), each = n), c(n, 5L, 5L)), dtype = dtype)
  list(nv_matmul(x, nv_transpose(x, c(1L, 3L, 2L))) + one)
}
each_matrix <- function(n, f) {
  out <- lapply(seq_len(n), f)
  aperm(array(unlist(out), c(dim(as.matrix(out[[1L]])), n)), c(3L, 1L, 2L))
}
w10_batch <- function(id, what, anvil, r, data = positive_batch) {
  workload(id, what, "W10", data, anvil, r, sizes = 1e4, target = 0.3, source = "W10 batches of 5 x 5")
}
w10_batch("chol_batch", "Choleskys, 5 x 5", function(x) nv_chol(x),
  function(x) each_matrix(nrow(x), function(k) t(chol(x[k, , ]))))
w10_batch("solve_batch", "solves, 5 x 5", function(x, b) nv_solve(x, b),
  function(x, b) each_matrix(nrow(x), function(k) solve(x[k, , ], b[k, , ])),
  data = function(n, dtype) {
    c(positive_batch(n, dtype), list(nv_tensor(array(runif(n * 5), c(n, 5L, 1L)), dtype = dtype)))
  })
w10_batch("eigh_batch", "eigenvalues and vectors, 5 x 5", function(x) nv_eigh(x)$values,
  function(x) each_matrix(nrow(x), function(k) rev(eigen(x[k, , ], TRUE)$values)))

# ---- W11: signals ----

workload("fft", "magnitudes of a Fourier transform", "W11", one_vector, function(x) abs(nv_fft(x)),
  function(x) Mod(fft(x)), sizes = 2^20, quick = 2^14, tiny = 16L, target = 1.0, source = "W11 fft",
  needs = "nv_fft", tolerance = 1e-4, size_label = function(n) paste0("2^", log2(n)))
workload("conv", "convolution of 28 x 28 images, 3 x 3, 16 -> 32 channels", "W11",
  function(n, dtype) {
    array_of <- function(...) nv_tensor(array(runif(prod(...), -1, 1), c(...)), dtype = dtype)
    list(array_of(n, 28L, 28L, 16L), array_of(3L, 3L, 16L, 32L))
  },
  function(x, kernel) nv_conv(x, kernel, padding = "same"),
  sizes = 32, quick = 2, tiny = 1L, target = 1.0, source = "W11 conv", needs = "nv_conv",
  size_label = function(n) paste(n, "images"))
