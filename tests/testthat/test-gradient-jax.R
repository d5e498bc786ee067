# Programs whose gradients JAX computed: see tests/testdata/gradients/make.py, which has the same programs in
# the same order. Both compute in f64, by other formulas and in another order of sums. Each rounding is 1e-16
# of a value, there are some hundred of them, and some differences lose a digit or two: 1e-12 of the largest
# element is what both can be held to.
tolerance <- 1e-12

read_gradients <- function() {
  path <- testthat::test_path("..", "testdata", "gradients", "gradients.csv")
  utils::read.csv(path, comment.char = "#", colClasses = "character")
}

# One part of a program's rows as a named list of tensors: f64, or i32 if all numbers are whole.
tensors <- function(rows, part) {
  rows <- rows[rows$part == part, ]
  out <- lapply(seq_len(nrow(rows)), function(i) {
    texts <- strsplit(rows$values[i], " ")[[1L]]
    shape <- as.integer(strsplit(rows$shape[i], "x")[[1L]])
    whole <- part == "fixed" && !any(grepl("[.en]", texts))
    values <- if (whole) as.integer(texts) else as.double(texts)
    nv_tensor(values, dtype = if (whole) "i32" else "f64", shape = shape)
  })
  setNames(out, rows$name)
}

# A vector as a column, and back.
column <- function(x) nv_reshape(x, c(length(x), 1L))
times <- function(x, v) nv_reshape(x %*% column(v), shape(x)[1L])
rows_like <- function(v, x) nv_broadcast_to(v, shape(x))

programs <- list(
  logistic_regression = function(w, b, x, y) {
    logit <- times(x, w) + b
    mean(log1p(exp(logit)) - y * logit)
  },
  mlp = function(w1, b1, w2, b2, x, y) {
    hidden <- x %*% w1
    hidden <- tanh(hidden + rows_like(b1, hidden))
    out <- hidden %*% w2
    mean((out + rows_like(b2, out) - y)^2L)
  },
  softmax_cross_entropy = function(w, x, label) {
    logits <- x %*% w
    logits <- logits - nv_broadcast_to(nv_reduce_max(logits, 2L, drop = FALSE), shape(logits))
    logs <- logits - nv_broadcast_to(log(nv_reduce_sum(exp(logits), 2L, drop = FALSE)), shape(logits))
    at <- nv_concatenate(column(nv_seq(1L, length(label))), column(label), axis = 2L)
    picked <- nv_gather(
      logs, at, slice_sizes = c(1L, 1L), offset_axes = NULL, collapsed_slice_axes = c(1L, 2L),
      start_index_map = c(1L, 2L), index_vector_axis = 2L
    )
    -mean(picked)
  },
  gaussian_log_likelihood = function(mu, log_sigma, x) {
    z <- (x - rows_like(mu, x)) / rows_like(exp(log_sigma), x)
    sum(-0.5 * z^2L - rows_like(log_sigma, x) - 0.5 * log(2 * pi))
  },
  cumulative = function(x, w) {
    out <- nv_scan(function(sum, x) list((sum + x) * 0.9, (sum + x)^2L), nv_scalar(0, "f64"), x)
    out$carry + sum(w * out$ys)
  },
  conditional = function(x, y) {
    inner <- function(x) nv_if(x > 10, x, sin(x) * y)
    nv_if(y > x, inner(x * y), inner(x - y)) + x
  },
  power = function(x, p) sum(x^2 + abs(x)^3) + sum(nv_ifelse(x > 0, x, 1)^p),
  gather_with_duplicates = function(table, at, w) sum(exp(table[at, ]) * w),
  logistic_map = function(x, r) sum(nv_for(
    12L, x, function(i, x) r * x * (1 - x) + 0.01 * nv_convert(i, "f64")
  )),
  products_with_zeros = function(x, w) sum(w * prod(x, axes = 2L)) + prod(x[3L, ] + 1),
  tied_maxima = function(x, w) {
    pairs <- nv_max(x[1L, ], x[2L, ]) - nv_min(x[2L, ], x[3L, ])
    sum(w * max(x, axes = 2L) * min(x, axes = 1L)) + sum(pairs)
  },
  clamp = function(x, low, high) sum(exp(nv_clamp(low, x, high))),
  scatter_add = function(x, update, at, w) {
    added <- nv_scatter(
      x, at, update^2L, update_window_axes = NULL, inserted_window_axes = 1L,
      scatter_axes_to_operand_axes = 1L, index_vector_axis = 2L, update_computation = "add"
    )
    sum(w * tanh(added))
  },
  slices_and_padding = function(x) {
    part <- nv_static_slice(x, c(1L, 2L), c(5L, 4L), c(2L, 1L))
    wide <- nv_pad(part, 0.5, c(1L, -1L), c(2L, 0L), c(1L, 0L))
    sum(nv_concatenate(wide, nv_reverse(wide, 1L), axis = 2L)^3L)
  },
  negative_binomial = function(log_mu, log_r, y) {
    mu <- exp(log_mu)
    r <- exp(log_r)
    y <- nv_convert(y, "f64")
    log_p <- lgamma(y + r) - lgamma(r) - lgamma(y + 1) + r * log(r / (r + mu)) + y * log(mu / (r + mu))
    sum(log_p) + digamma(r)
  },
  probit = function(beta, x, y) {
    p <- 0.5 * (1 + nv_erf(times(x, beta) / sqrt(2)))
    -sum(y * log(p) + (1L - y) * log(1 - p))
  },
  kalman_filter = function(log_q, log_r, y) {
    q <- exp(log_q)
    r <- exp(log_r)
    step <- function(state, y) {
      s <- state$p + q + r
      k <- (state$p + q) / s
      e <- y - state$m
      list(
        list(m = state$m + k * e, p = (1 - k) * (state$p + q), count = state$count + 1L), log(s) + e^2L / s
      )
    }
    init <- list(m = nv_scalar(0, "f64"), p = nv_scalar(1, "f64"), count = nv_scalar(0L))
    out <- nv_scan(step, init, y)
    0.5 * sum(out$ys) + out$carry$m * out$carry$count
  },
  hessian_vector_product = function(x, v) {
    rosenbrock <- function(x) {
      head <- x[1:3]
      sum(100 * (x[2:4] - head^2L)^2L + (1 - head)^2L)
    }
    sum(gradient(rosenbrock)(x)$x * v)
  },
  spectrum = function(x, w) {
    t <- nv_tensor(2 * pi / 5 * outer(0:4, 0:4), dtype = "f64")
    turn <- exp(nv_complex(nv_fill(0, c(5L, 5L), "f64"), -t))
    z <- times(turn, nv_complex(x, x^2L))
    sum(w * abs(z)) + sum(Re(z * Conj(z) / (1 + z))) + Arg(z[2L])
  },
  attention = function(q, k, v, w) {
    scores <- nv_dot_general(q, k, list(3L, 3L), list(1L, 1L)) / 2
    weights <- exp(scores - nv_broadcast_to(nv_reduce_max(scores, 3L, drop = FALSE), shape(scores)))
    weights <- weights / nv_broadcast_to(nv_reduce_sum(weights, 3L, drop = FALSE), shape(weights))
    sum(w * nv_dot_general(weights, v, list(3L, 2L), list(1L, 1L)))
  }
)

data <- read_gradients()

test_that("each program in the file is here", {
  expect_identical(names(programs), unique(data$program))
  expect_length(programs, 20L)
})

for (name in names(programs)) local({
  name <- name
  test_that(paste("JAX has the same gradients:", name), {
    rows <- data[data$program == name, ]
    inputs <- tensors(rows, "input")
    args <- c(inputs, tensors(rows, "fixed"))
    close <- function(got, expected) {
      expect_identical(list(as.character(dtype(got)), shape(got)), list("f64", shape(expected)))
      expected <- as.double(expected)
      # Where all is 0 in exact numbers, what is left of the sums is held to 1e-15.
      expect_lte(max(abs(as.double(got) - expected)), tolerance * max(abs(expected), 1e-3))
    }
    derived <- value_and_gradient(programs[[name]], wrt = names(inputs))
    got <- do.call(derived, args)
    close(got$value, tensors(rows, "value")[[1L]])
    expected <- tensors(rows, "gradient")
    expect_identical(names(got$gradient), names(expected))
    for (input in names(expected)) close(got$gradient[[input]], expected[[input]])
    compiled <- do.call(jit(derived), args)
    expect_identical(lapply(compiled$gradient, as_array), lapply(got$gradient, as_array))
  })
})
