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
    value <- nv_reduce_sum(terms, axes = 1L) + nv_lgamma(nv_reduce_sum(alpha)) - nv_reduce_sum(nv_lgamma(alpha))
    value <- nv_ifelse(valid, nv_ifelse(inside, value, -Inf), NaN)
    exp_unless(by_point(value, x), log)
  })
}, "log")

nv_ddirichlet <- function(x, alpha, log = FALSE) {
  check_flag("log", log)
  check_vector(alpha, "alpha")
  check_points(x, length(alpha))
  dirichlet_density(x, alpha, log)
}

check_vector <- function(x, arg) {
  if (length(sizes_of(x)) != 1L) {
    abort(
      "anvil_error_shape",
      paste0("`", arg, "` must be a vector, not of shape (", paste(sizes_of(x), collapse = ","), ")."),
      arg = arg, expected = "a vector", got = sizes_of(x)
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
    inside <- nv_reduce_all(points >= 0 & is_integral(points) & (some | points == 0), axes = 1L) & total == size
    points <- nv_ifelse(points >= 0, points, 0)
    log_prob <- nv_log(nv_ifelse(some, prob, 1))
    value <- nv_lgamma(total + 1) + nv_reduce_sum(points * log_prob - nv_lgamma(points + 1), axes = 1L)
    value <- nv_ifelse(valid, nv_ifelse(inside, value, -Inf), NaN)
    exp_unless(by_point(value, x), log)
  })
}, "log")

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

nv_dcategorical <- function(x, prob = NULL, logits = NULL, log = FALSE) {
  check_flag("log", log)
  by <- bernoulli(prob, logits, !is.null(prob), !is.null(logits))
  check_vector(by[[1L]], names(by))
  categorical_density(x, by[[1L]], names(by), log)
}

# Sums over i = 1, ..., k of lgamma(x + (1 - i) / 2), and what is beside them in the gamma function of a matrix.
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
    for (i in seq_len(k - 1L)) {
      m <- k - i
      a <- n + (m - 1) / 2
      value <- value - m * ((2 * n - 2 + m) * log_2 + nv_lbeta(a, a))
    }
    exp_unless(nv_ifelse(valid, value, NaN), log)
  })
}, "log")

nv_dlkj <- function(x, eta = 1, log = FALSE) {
  check_flag("log", log)
  check_square(x, "x")
  lkj_density(x, eta, log)
}
