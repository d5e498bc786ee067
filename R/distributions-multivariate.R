# Distributions of vectors and matrices.

# Points as the columns of a matrix [k, n], from a vector or the rows of a matrix.
as_columns <- function(x) if (ndims(x) == 1L) nv_reshape(x, c(length(x), 1L)) else nv_transpose(x)

# One number for each point: 0-d for a vector.
by_point <- function(values, x) if (ndims(x) == 1L) nv_reshape(values, integer()) else values

check_points <- function(x, k, arg = "x") {
  sizes <- sizes_of(x)
  if (!length(sizes) %in% 1:2 || sizes[length(sizes)] != k) {
    abort(
      "anvil_error_shape",
      paste0(
        "`", arg, "` must be a vector of length ", k, ", or a matrix with that many columns, not of shape (",
        paste(sizes, collapse = ","), ")."
      ),
      arg = arg, expected = k, got = sizes
    )
  }
}

# The number of rows of a square matrix.
check_square <- function(x, arg) {
  sizes <- sizes_of(x)
  if (length(sizes) != 2L || sizes[1L] != sizes[2L]) {
    abort(
      "anvil_error_shape",
      paste0("`", arg, "` must be a square matrix, not of shape (", paste(sizes, collapse = ","), ")."),
      arg = arg, expected = "a square matrix", got = sizes
    )
  }
  sizes[1L]
}

log_diagonal <- function(l) nv_reduce_sum(nv_log(nv_extract_diag(l)))

# The one of three that is given: list(name = value).
covariance_by <- function(sigma, precision, chol) {
  given <- Filter(Negate(is.null), list(sigma = sigma, precision = precision, chol = chol))
  if (length(given) != 1L) {
    got <- if (length(given)) paste0("`", names(given), "`", collapse = " and ") else "none"
    abort_arg("sigma", "given, or else one of `precision` and `chol`", got)
  }
  check_square(given[[1L]], names(given))
  given
}

check_mean <- function(mean, k) if (length(sizes_of(mean))) check_points(mean, k, "mean")

normal_vector_density <- as_program(function(x, mean, matrix, by, log) {
  in_floats(list(x, mean, matrix), function(x, mean, matrix) {
    k <- sizes_of(matrix)[1L]
    away <- as_columns(x) - mean
    l <- if (by == "chol") matrix else nv_chol(matrix)
    if (by == "precision") {
      z <- nv_matmul(nv_transpose(l), away)
      half_log_det <- -log_diagonal(l)
    } else {
      z <- nv_triangular_solve(l, away)
      half_log_det <- log_diagonal(l)
    }
    value <- -(k * half_log_2pi + half_log_det + 0.5 * nv_reduce_sum(z * z, axes = 1L))
    exp_unless(by_point(value, x), log)
  })
}, c("by", "log"))

#' Multivariate normal distribution
#'
#' Density `exp(-d' S^-1 d / 2) / sqrt(det(2 pi S))` with `d = x - mean`, and draws, by the covariance matrix
#' `sigma = S`, by its inverse `precision`, or by a factor `chol` with `S = chol %*% t(chol)`, which costs
#' least: the others are factored, see [nv_chol()]. A matrix that is not positive definite gives NaN.
#'
#' Draws are standard normal numbers, see [nv_rnorm()], times the factor: they have derivatives by all
#' parameters.
#'
#' @inheritParams nv_dnorm
#' @param x A point, a vector of length `k`, or points in the rows of a matrix.
#' @param mean A vector of length `k`, or one number for all.
#' @param sigma,precision,chol The covariance matrix, its inverse, or the lower triangular factor: one of the
#'   three.
#' @param n Number of draws.
#' @param log Whether the density is its logarithm: `TRUE` or `FALSE`.
#' @return `nv_dmvnorm()`: a 0-d tensor for a vector, else one number for each row. `nv_rmvnorm()`: a list of
#'   `state`, the next state, and `value`, draws in the `n` rows of a matrix.
#' @section Errors: `anvil_error_shape` for a point or parameter of another shape; `anvil_error_arg` for a
#'   flag or number that is none, and if not exactly one of several parameters is given.
#' @examples
#' s <- matrix(c(2, 0.5, 0.5, 1), 2)
#' nv_dmvnorm(nv_tensor(c(1, 2)), sigma = s, log = TRUE)
#' nv_dmvnorm(matrix(c(0.5, -1, 2, 0, 1, -0.5), 3), c(0, 1), precision = solve(s))
#' nv_rmvnorm(3, nv_rng_state(1), mean = c(0, 10), sigma = s)$value
#' @export
nv_dmvnorm <- function(x, mean = 0, sigma = NULL, precision = NULL, chol = NULL, log = FALSE) {
  check_flag("log", log)
  by <- covariance_by(sigma, precision, chol)
  k <- sizes_of(by[[1L]])[1L]
  check_points(x, k)
  check_mean(mean, k)
  normal_vector_density(x, mean, by[[1L]], names(by), log)
}

dirichlet_density <- as_program(function(x, alpha, log) {
  in_floats(list(x, alpha), function(x, alpha) {
    points <- as_columns(x)
    eps <- if (as.character(dtype(points)) == "f32" && !ambiguous(points)) 1e-5 else 1e-10
    inside <- nv_reduce_all(points >= 0, axes = 1L) & nv_abs(nv_reduce_sum(points, axes = 1L) - 1) <= eps
    valid <- nv_reduce_all(is_positive(alpha))
    alpha <- nv_ifelse(valid, alpha, 1)
    is_zero <- points == 0
    terms <- nv_ifelse(is_zero, nv_ifelse(alpha == 1, 0, nv_ifelse(alpha > 1, -Inf, Inf)),
      (alpha - 1) * nv_log(nv_ifelse(points > 0, points, 1)))
    constant <- nv_lgamma(nv_reduce_sum(alpha)) - nv_reduce_sum(nv_lgamma(alpha))
    value <- nv_reduce_sum(terms, axes = 1L) + constant
    value <- nv_ifelse(valid, nv_ifelse(inside, value, -Inf), NaN)
    exp_unless(by_point(value, x), log)
  })
}, "log")

#' Dirichlet distribution
#'
#' The distribution of `k` positive numbers with sum 1, with density `prod(x^(alpha - 1))` times
#' `gamma(sum(alpha)) / prod(gamma(alpha))`. Where the sum differs from 1 by more than rounding (1e-10, or
#' 1e-5 for `f32`) the density is 0.
#'
#' Draws are gamma variables divided by their sum, by their logarithms, so that small `alpha` do not
#' underflow.
#'
#' @inheritParams nv_dmvnorm
#' @param alpha A vector of `k` numbers above 0.
#' @return `nv_ddirichlet()`: a 0-d tensor for a vector, else one number for each row. `nv_rdirichlet()`: a
#'   list of `state` and `value`, draws in the `n` rows of a matrix.
#' @section Errors: `anvil_error_shape` for a point or parameter of another shape; `anvil_error_arg` for a
#'   flag or number that is none, and if not exactly one of several parameters is given.
#' @examples
#' nv_ddirichlet(nv_tensor(c(0.2, 0.3, 0.5), "f64"), c(1, 2, 3))
#' nv_rdirichlet(2, nv_rng_state(1), alpha = c(1, 2, 3))$value
#' @export
nv_ddirichlet <- function(x, alpha, log = FALSE) {
  check_flag("log", log)
  check_vector(alpha, "alpha")
  check_points(x, length(alpha))
  dirichlet_density(x, alpha, log)
}

check_vector <- function(x, arg) {
  if (length(sizes_of(x)) != 1L || sizes_of(x) == 0L) {
    abort(
      "anvil_error_shape",
      paste0("`", arg, "` must be a vector that is not empty, not of shape ", format_shape(sizes_of(x)), "."),
      arg = arg, expected = "a vector that is not empty", got = sizes_of(x)
    )
  }
}

# As in R, `prob` are weights.
multinomial_density <- as_program(function(x, size, prob, log) {
  in_floats(list(x, size, prob), function(x, size, prob) {
    points <- nv_stop_gradient(as_columns(x))
    valid <- nv_reduce_all(prob >= 0 & prob < Inf) & nv_reduce_sum(prob) > 0
    prob <- prob / nv_reduce_sum(prob)
    some <- prob > 0
    total <- nv_reduce_sum(points, axes = 1L)
    possible <- points >= 0 & is_integral(points) & (some | points == 0)
    inside <- nv_reduce_all(possible, axes = 1L) & total == size
    points <- nv_ifelse(points >= 0, points, 0)
    log_prob <- nv_log(nv_ifelse(some, prob, 1))
    value <- nv_lgamma(total + 1) + nv_reduce_sum(points * log_prob - nv_lgamma(points + 1), axes = 1L)
    value <- nv_ifelse(valid, nv_ifelse(inside, value, -Inf), NaN)
    exp_unless(by_point(value, x), log)
  })
}, "log")

#' Multinomial and categorical distributions
#'
#' Numbers of `size` trials that fall into each of `k` categories, and the category of one trial, a number
#' from 1.
#'
#' `prob` are weights, which are divided by their sum, as in R's [dmultinom()]. `logits` are logarithms of
#' weights, see [nv_log_softmax()]. If `size` is given and is not the sum of `x`, the density is 0, where R
#' stops. Draws of the multinomial distribution are binomial ones of what the categories before have left.
#'
#' @inheritParams nv_dmvnorm
#' @param x For `nv_dmultinom()`, counts: a vector of length `k`, or the rows of a matrix. For
#'   `nv_dcategorical()`, numbers of categories, of any shape.
#' @param size Number of trials: one number, or one for each row; the sum of `x` if it is left out.
#' @param prob,logits A vector of `k` weights, or of their logarithms; one of the two.
#' @param shape Sizes of the axes of the values; `integer()` is 0-d.
#' @param dtype Dtype of the values: an integer or float.
#' @return Densities: a tensor, for `nv_dmultinom()` 0-d for a vector, else one number for each row. Draws: a
#'   list of `state` and `value`, for `nv_rmultinom()` a matrix with `n` rows.
#' @section Errors: `anvil_error_shape` for a point or parameter of another shape; `anvil_error_arg` for a
#'   flag or number that is none, and if not exactly one of several parameters is given.
#' @examples
#' nv_dmultinom(c(1, 2, 0), prob = c(0.2, 0.5, 0.3))
#' nv_dcategorical(nv_tensor(c(1L, 3L)), logits = c(0, 1, 2), log = TRUE)
#' nv_rmultinom(2, nv_rng_state(1), size = 10, prob = c(1, 2, 3))$value
#' nv_rcategorical(5, nv_rng_state(1), prob = c(1, 2, 3))$value
#' @export
nv_dmultinom <- function(x, size = NULL, prob, log = FALSE) {
  check_flag("log", log)
  check_vector(prob, "prob")
  check_points(x, length(prob))
  if (is.null(size)) size <- nv_reduce_sum(x, axes = -1L)
  multinomial_density(x, size, prob, log)
}

categorical_density <- as_program(function(x, weights, by, log) {
  in_floats(list(x, weights), function(x, weights) {
    x <- nv_stop_gradient(x)
    k <- length(weights)
    if (by == "prob") {
      valid <- nv_reduce_all(weights >= 0 & weights < Inf) & nv_reduce_sum(weights) > 0
      some <- weights > 0
      chosen <- nv_ifelse(some, nv_log(nv_ifelse(some, weights, 1)), -Inf) - nv_log(nv_reduce_sum(weights))
    } else {
      valid <- !nv_reduce_any(nv_is_nan(weights))
      chosen <- nv_log_softmax(weights)
    }
    inside <- x >= 1 & x <= k & x == nv_round(x)
    at <- nv_convert(nv_ifelse(inside, x, 1), "i32")
    value <- nv_ifelse(inside, nv_take(chosen, at), -Inf)
    exp_unless(nv_ifelse(valid & is_number(x), value, NaN), log)
  })
}, c("by", "log"))

#' @rdname nv_dmultinom
#' @export
nv_dcategorical <- function(x, prob = NULL, logits = NULL, log = FALSE) {
  check_flag("log", log)
  by <- bernoulli(prob, logits, !is.null(prob), !is.null(logits))
  check_vector(by[[1L]], names(by))
  categorical_density(x, by[[1L]], names(by), log)
}

# Sums over i = 1, ..., k of lgamma(x + (1 - i) / 2), and what is beside them in the gamma function of a
# matrix.
log_matrix_gamma <- function(x, k) {
  total <- k * (k - 1) / 4 * log(pi)
  for (i in seq_len(k)) total <- total + nv_lgamma(x + (1 - i) / 2)
  total
}

wishart_density <- as_program(function(x, df, scale, log) {
  in_floats(list(x, df, scale), function(x, df, scale) {
    k <- sizes_of(scale)[1L]
    l <- nv_chol(scale)
    root <- nv_chol(x)
    ratio <- nv_triangular_solve(l, root)
    valid <- df > k - 1
    n <- nv_ifelse(valid, df, k + 1)
    value <- (n - k - 1) * log_diagonal(root) - 0.5 * nv_reduce_sum(ratio * ratio) - n * (k / 2 * log_2) -
      n * log_diagonal(l) - log_matrix_gamma(n / 2, k)
    exp_unless(nv_ifelse(valid, value, NaN), log)
  })
}, "log")

#' Wishart distribution
#'
#' The distribution of `crossprod(z)` for `df` rows `z` of normal vectors with covariance matrix `scale`, with
#' density `det(x)^((df - k - 1) / 2) exp(-trace(solve(scale, x)) / 2)` divided by `2^(df k / 2)
#' det(scale)^(df / 2)` and the gamma function of a matrix at `df / 2`. A matrix that is not positive
#' definite, and `df <= k - 1`, give NaN.
#'
#' Draws are products of the factor of Bartlett (1933).
#'
#' @inheritParams nv_dmvnorm
#' @param x A positive definite matrix, `k` by `k`.
#' @param df Degrees of freedom, above `k - 1`.
#' @param scale A positive definite matrix.
#' @return `nv_dwishart()`: a 0-d tensor. `nv_rwishart()`: a list of `state` and `value`, a matrix.
#' @section Errors: `anvil_error_shape` for a point or parameter of another shape; `anvil_error_arg` for a
#'   flag or number that is none, and if not exactly one of several parameters is given.
#' @references Bartlett, M. S. (1933), On the theory of statistical regression.
#' @examples
#' nv_dwishart(diag(2), df = 4, scale = diag(2), log = TRUE)
#' nv_rwishart(nv_rng_state(1), df = 4, scale = diag(2))$value
#' @export
nv_dwishart <- function(x, df, scale, log = FALSE) {
  check_flag("log", log)
  k <- check_square(scale, "scale")
  if (check_square(x, "x") != k) check_points(x, k)
  wishart_density(x, df, scale, log)
}

lkj_density <- as_program(function(x, eta, log) {
  in_floats(list(x, eta), function(x, eta) {
    k <- sizes_of(x)[1L]
    valid <- is_positive(eta)
    n <- nv_ifelse(valid, eta, 1)
    value <- 2 * (n - 1) * log_diagonal(nv_chol(x))
    for (i in seq_len(max(k - 1L, 0L))) {
      m <- k - i
      a <- n + (m - 1) / 2
      value <- value - m * ((2 * n - 2 + m) * log_2 + nv_lbeta(a, a))
    }
    exp_unless(nv_ifelse(valid, value, NaN), log)
  })
}, "log")

#' LKJ distribution of correlation matrices
#'
#' Correlation matrices with density proportional to `det(x)^(eta - 1)`: uniform for `eta = 1`, nearer to the
#' identity for a larger `eta`. That `x` has ones on its diagonal is not checked; one that is not positive
#' definite gives NaN.
#'
#' Draws are made of partial correlations, which are beta variables.
#'
#' @inheritParams nv_dmvnorm
#' @param x A correlation matrix.
#' @param eta A number above 0.
#' @param k Number of rows.
#' @return `nv_dlkj()`: a 0-d tensor. `nv_rlkj()`: a list of `state` and `value`, a matrix.
#' @section Errors: `anvil_error_shape` for a point or parameter of another shape; `anvil_error_arg` for a
#'   flag or number that is none, and if not exactly one of several parameters is given.
#' @references Lewandowski, Kurowicka and Joe (2009), Generating random correlation matrices based on vines
#'   and extended onion method, Journal of Multivariate Analysis 100.
#' @examples
#' nv_dlkj(matrix(c(1, 0.3, 0.3, 1), 2), eta = 2)
#' nv_rlkj(nv_rng_state(1), k = 3, eta = 2)$value
#' @export
nv_dlkj <- function(x, eta = 1, log = FALSE) {
  check_flag("log", log)
  check_square(x, "x")
  lkj_density(x, eta, log)
}
