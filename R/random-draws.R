# Random numbers of the distributions that have a quantile function: that of a uniform number.

# `dtype` of discrete distributions may be an integer. Where a parameter is called `shape`, the sizes are `n`,
# as in R.
sampler_function <- function(row) {
  sizes <- if ("shape" %in% names(row$arguments)) "n" else "shape"
  first <- alist(shape = , state = , dtype = NULL)
  names(first)[1L] <- sizes
  f <- function() NULL
  formals(f) <- c(first, row$arguments)
  body(f) <- call(
    "draw_quantiles", call("[[", quote(distributions), row$name), as.name(sizes), quote(state), quote(dtype),
    row$parameters
  )
  environment(f) <- topenv()
  f
}

draw_quantiles <- function(row, shape, state, dtype, parameters) {
  dtype <- .Call(anvil_dtype_name, dtype %||% if (row$discrete) default_int() else default_float())
  type <- dtype_objects[[dtype]]
  whole <- row$discrete && inherits(type, c("IntegerType", "UnsignedType"))
  if (!whole && !is_float(type)) {
    kind <- if (row$discrete) "the dtype of an integer or float" else "the dtype of a float"
    abort_arg("dtype", kind, dtype)
  }
  rules <- row_of(row, parameters)$valid
  for (name in names(parameters)) {
    check_parameter(name, parameters[[name]], "in the range of the parameter", rules[[name]])
  }
  u <- nv_runif(shape, state, "f64")
  value <- run_formula("q", row, u$value, parameters, list(lower = TRUE, log = FALSE))
  check_drawn_shape(value, sizes_of(u$value))
  u$value <- nv_convert(value, dtype)
  u
}

#' @rdname nv_dnorm
#' @export
nv_rlnorm <- sampler_function(distributions$lnorm)

#' @rdname nv_dbeta
#' @export
nv_rt <- sampler_function(distributions$t)

#' @rdname nv_dgamma
#' @export
nv_rchisq <- sampler_function(distributions$chisq)

#' @rdname nv_dbeta
#' @export
nv_rf <- sampler_function(distributions$f)

#' @rdname nv_dgamma
#' @export
nv_rgamma <- sampler_function(distributions$gamma)

#' @rdname nv_dgamma
#' @export
nv_rinvgamma <- sampler_function(distributions$invgamma)

#' @rdname nv_dbeta
#' @export
nv_rbeta <- sampler_function(distributions$beta)

#' @rdname nv_dgamma
#' @export
nv_rexp <- sampler_function(distributions$exp)

#' @rdname nv_dgamma
#' @export
nv_rweibull <- sampler_function(distributions$weibull)

#' @rdname nv_dlogis
#' @export
nv_rlogis <- sampler_function(distributions$logis)

#' @rdname nv_dlogis
#' @export
nv_rcauchy <- sampler_function(distributions$cauchy)

#' @rdname nv_dlogis
#' @export
nv_rlaplace <- sampler_function(distributions$laplace)

#' @rdname nv_dlogis
#' @export
nv_rgumbel <- sampler_function(distributions$gumbel)

#' @rdname nv_dgamma
#' @export
nv_rpois <- sampler_function(distributions$pois)

#' @rdname nv_dbinom
#' @export
nv_rgeom <- sampler_function(distributions$geom)

#' @rdname nv_dbinom
#' @export
nv_rhyper <- sampler_function(distributions$hyper)

#' @rdname nv_dbinom
#' @export
nv_rnbinom <- sampler_function(distributions$nbinom)

#' @rdname nv_dbinom
#' @export
nv_rbetabinom <- sampler_function(distributions$betabinom)

#' @rdname nv_dbinom
#' @export
nv_rbern <- sampler_function(distributions$bern)

#' @rdname nv_dvonmises
#' @export
nv_rvonmises <- sampler_function(distributions$vonmises)

#' @rdname nv_dtruncnorm
#' @export
nv_rtruncnorm <- sampler_function(distributions$truncnorm)

#' @rdname nv_dtruncnorm
#' @export
nv_rcensnorm <- sampler_function(distributions$censnorm)

# Vectors, matrices, permutations ----

# The number of draws, R's `n`, and the dtype of a float.
check_draws <- function(n, dtype) {
  if (!is_whole(n) || n < 0) abort_arg("n", "a whole number, at least 0", describe(n))
  dtype <- .Call(anvil_dtype_name, dtype %||% default_float())
  if (!is_float(dtype_objects[[dtype]])) abort_arg("dtype", "the dtype of a float", dtype)
  dtype
}

#' @rdname nv_dmvnorm
#' @export
nv_rmvnorm <- function(n, state, dtype = NULL, mean = 0, sigma = NULL, precision = NULL, chol = NULL) {
  dtype <- check_draws(n, dtype)
  by <- covariance_by(sigma, precision, chol)
  k <- sizes_of(by[[1L]])[1L]
  check_mean(mean, k)
  wide <- if (dtype == "f64") "f64" else "f32"
  z <- nv_rnorm(c(k, n), state, wide)
  matrix <- nv_convert(by[[1L]], wide)
  away <- switch(names(by),
    chol = nv_matmul(matrix, z$value),
    sigma = nv_matmul(nv_chol(matrix), z$value),
    precision = nv_triangular_solve(nv_chol(matrix), z$value, adjoint = TRUE)
  )
  z$value <- nv_convert(nv_transpose(away + nv_convert(mean, wide)), dtype)
  z
}

# Logarithms of gamma variables, which would underflow for small shapes: of shape + 1, times a power of a
# uniform number (Marsaglia and Tsang 2000).
log_gamma_draws <- function(shape, state, alpha) {
  one <- nv_runif(shape, state, "f64")
  two <- nv_runif(shape, one$state, "f64")
  value <- nv_log(nv_gammaincinv(alpha + 1, one$value)) + nv_log(two$value) / alpha
  list(state = two$state, value = value)
}

#' @rdname nv_ddirichlet
#' @export
nv_rdirichlet <- function(n, state, dtype = NULL, alpha) {
  dtype <- check_draws(n, dtype)
  check_vector(alpha, "alpha")
  draws <- log_gamma_draws(c(length(alpha), n), state, nv_convert(alpha, "f64"))
  draws$value <- nv_convert(nv_transpose(nv_softmax(draws$value, axes = 1L)), dtype)
  draws
}

# Weights whose values are known: none is negative, and `count` of them are not 0.
check_weights <- function(prob, count = 1L) {
  if (is_traced(prob)) return()
  values <- as.vector(if (inherits(prob, "AnvilTensor")) as_array(prob) else prob)
  if (!is_numeric(values) || !all(is.finite(values) & values >= 0) || sum(values > 0) < count) {
    expected <- paste0("finite numbers, none negative and at least ", count, " above 0")
    abort_arg("prob", expected, describe(values))
  }
}

# Of what the categories before have left, by binomial draws.
#' @rdname nv_dmultinom
#' @export
nv_rmultinom <- function(n, state, size, prob, dtype = NULL) {
  if (!is_whole(n) || n < 0) abort_arg("n", "a whole number, at least 0", describe(n))
  check_vector(prob, "prob")
  check_weights(prob)
  k <- length(prob)
  prob <- nv_convert(prob, "f64")
  left <- nv_convert(size, "f64") + nv_fill(0, n, "f64")
  after <- nv_cumsum(prob, axis = 1L, reverse = TRUE)
  counts <- vector("list", k)
  for (i in seq_len(k - 1L)) {
    share <- nv_ifelse(after[i] > 0, prob[i] / nv_ifelse(after[i] > 0, after[i], 1), 0)
    draw <- draw_quantiles(distributions$binom, n, state, "f64", list(size = left, prob = nv_min(share, 1)))
    counts[[i]] <- draw$value
    left <- left - draw$value
    state <- draw$state
  }
  counts[[k]] <- left
  value <- do.call(nv_stack, c(counts, list(axis = 2L)))
  list(state = state, value = nv_convert(value, dtype %||% default_int()))
}

#' @rdname nv_dmultinom
#' @export
nv_rcategorical <- function(shape, state, prob = NULL, logits = NULL, dtype = NULL) {
  by <- bernoulli(prob, logits, !is.null(prob), !is.null(logits))
  check_vector(by[[1L]], names(by))
  if (names(by) == "prob") check_weights(prob)
  weights <- nv_convert(if (names(by) == "logits") nv_softmax(by[[1L]]) else by[[1L]], "f64")
  u <- nv_runif(shape, state, "f64")
  ends <- nv_cumsum(weights, axis = 1L)
  k <- length(weights)
  at <- nv_search_sorted(ends, u$value * ends[k])
  u$value <- nv_convert(nv_min(at + 1L, k), dtype %||% default_int())
  u
}

# The factor of Bartlett: normal below the diagonal, and roots of chi-square on it.
#' @rdname nv_dwishart
#' @export
nv_rwishart <- function(state, df, scale, dtype = NULL) {
  dtype <- check_draws(1L, dtype)
  k <- check_square(scale, "scale")
  z <- nv_rnorm(c(k, k), state, "f64")
  u <- nv_runif(k, z$state, "f64")
  freedom <- nv_convert(df, "f64") - nv_tensor(seq_len(k) - 1, "f64")
  a <- nv_tril(z$value, -1L) + nv_diag(nv_sqrt(2 * nv_gammaincinv(freedom / 2, u$value)))
  root <- nv_matmul(nv_chol(nv_convert(scale, "f64")), a)
  list(state = u$state, value = nv_convert(nv_matmul(root, nv_transpose(root)), dtype))
}

# Partial correlations from beta distributions along a C-vine (Lewandowski, Kurowicka and Joe 2009), and rows
# of the factor from these.
#' @rdname nv_dlkj
#' @export
nv_rlkj <- function(state, k, eta = 1, dtype = NULL) {
  dtype <- check_draws(1L, dtype)
  if (!is_whole(k) || k < 1) abort_arg("k", "a whole number, at least 1", describe(k))
  eta <- nv_convert(eta, "f64")
  zero <- nv_scalar(0, "f64")
  one <- nv_scalar(1, "f64")
  rows <- list(do.call(nv_stack, c(list(one), rep(list(zero), k - 1L))))
  for (i in seq_len(k)[-1L]) {
    # Of the column j the parameter is eta + (k - 1 - j) / 2.
    u <- nv_runif(i - 1L, state, "f64")
    state <- u$state
    a <- eta + nv_tensor((k - 1 - seq_len(i - 1L)) / 2, "f64")
    partial <- 2 * nv_betaincinv(a, a, u$value) - 1
    left <- one
    row <- list()
    for (j in seq_len(i - 1L)) {
      row[[j]] <- partial[j] * left
      left <- left * nv_sqrt(1 - partial[j] * partial[j])
    }
    rows[[i]] <- do.call(nv_stack, c(row, list(left), rep(list(zero), k - i)))
  }
  l <- do.call(nv_stack, rows)
  list(state = state, value = nv_convert(nv_matmul(l, nv_transpose(l)), dtype))
}

#' Permutations and samples
#'
#' `nv_permutation()` gives the numbers from 1 to `n` in random order, `nv_sample()` elements of a vector, or
#' rows of a matrix, with or without replacement and with or without weights, as R's `sample()` does.
#'
#' Permutations are the order of 64 random bits. Without replacement, weighted samples are the first of
#' exponential numbers whose rates are the weights, one after the other (Efraimidis and Spirakis 2006); with
#' replacement see [nv_rcategorical()] and [nv_sample_int()].
#'
#' @inheritParams nv_dnorm
#' @param n A whole number.
#' @param x A tensor with axes, of which parts along the first are drawn; or a whole number, for those from 1
#'   to it.
#' @param size Number of draws, that of the elements if it is left out.
#' @param replace Whether an element may be drawn more than once.
#' @param prob Weights of the elements, a vector; all are as likely if it is left out.
#' @return A list of `state`, the next state, and `value`: a vector `i32`, or parts of `x`.
#' @section Errors: `anvil_error_arg` for a number or flag that is none, and a `size` that is too large;
#'   and for weights that are negative, infinite or NaN, or of which too few are above 0, unless a program
#'   computes them; `anvil_error_shape` for weights of another length.
#' @references Efraimidis and Spirakis (2006), Weighted random sampling with a reservoir, Information
#'   Processing Letters 97.
#' @examples
#' nv_permutation(5, nv_rng_state(1))$value
#' nv_sample(nv_tensor(c(10, 20, 30)), nv_rng_state(1), 2)$value
#' nv_sample(3, nv_rng_state(1), 10, replace = TRUE, prob = c(1, 1, 8))$value
#' @export
nv_permutation <- function(n, state) {
  if (!is_whole(n) || n < 0) abort_arg("n", "a whole number, at least 0", describe(n))
  bits <- nv_rng_bits(state, n, "ui64")
  bits$value <- nv_order(bits$value)
  bits
}

#' @rdname nv_permutation
#' @export
nv_sample <- function(x, state, size = NULL, replace = FALSE, prob = NULL) {
  check_flag("replace", replace)
  if (is_whole(x) && x >= 1) x <- nv_seq(1L, x)
  if (!length(sizes_of(x))) abort_arg("x", "a whole number of at least 1, or a tensor with axes", describe(x))
  n <- sizes_of(x)[1L]
  size <- size %||% n
  if (!is_whole(size) || size < 0 || !replace && size > n) {
    expected <- if (replace) "a whole number, at least 0" else paste("a whole number from 0 to", n)
    hint <- if (is_whole(size) && size > n) "With `replace = TRUE` more can be drawn."
    abort_arg("size", expected, describe(size), hint)
  }
  if (!is.null(prob)) {
    check_points(prob, n, "prob")
    check_weights(prob, if (replace) 1L else size)
  }
  draw <- if (replace) {
    if (is.null(prob)) nv_sample_int(size, state, n) else nv_rcategorical(size, state, prob)
  } else if (is.null(prob)) {
    nv_permutation(n, state)
  } else {
    # The smallest of exponential numbers with these rates, one after the other.
    u <- nv_runif(n, state, "f64")
    u$value <- nv_order(-nv_log(u$value) / nv_convert(prob, "f64"))
    u
  }
  at <- if (replace) draw$value else nv_static_slice(draw$value, 1L, as.integer(size))
  draw$value <- nv_take(x, at, axis = 1L)
  draw
}

#' State of the random number generator for a number
#'
#' A state that follows from another one and a whole number: for the steps of a loop, the rows of data, or
#' workers, without splitting as many states beforehand.
#'
#' The result consists of random bits of two keys: one made of the key of `state` and the number, and one of
#' the result and the counter. Two numbers give the same state with a probability of 2^-64.
#'
#' @param state A state, see [nv_rng_state()].
#' @param data A whole number, or a 0-d tensor.
#' @return A state.
#' @section Errors: `anvil_error_arg` for a state that is none.
#' @examples
#' state <- nv_rng_state(1)
#' nv_rnorm(2, nv_fold_in(state, 1))$value
#' nv_rnorm(2, nv_fold_in(state, 2))$value
#' @export
nv_fold_in <- function(state, data) {
  is_state <- inherits(state, "AnvilValue") && dtype(state) == "ui64" &&
    identical(as.integer(sizes_of(state)), 2L)
  if (!is_state) {
    abort_arg("state", "the state of a random number generator, ui64[2]", describe(state))
  }
  # Bits of a key of its own, which no draw from the state uses, at the number; then those at the counter.
  data <- nv_convert(data, "ui64")
  if (length(sizes_of(data))) abort_arg("data", "one whole number", describe(data))
  key <- nv_xor(nv_take(state, 1L), nv_scalar("11400714819323198485", "ui64"))
  first <- nv_rng_bits(nv_stack(key, data), 2L, "ui64")$value
  nv_rng_bits(first + nv_stack(nv_scalar(0, "ui64"), nv_take(state, 2L)), 2L, "ui64")$value
}
