# Beta distribution and what is one of its kind: t, F, binomial, negative binomial, geometric, beta-binomial,
# hypergeometric.

# log(x^(a - 1) * (1 - x)^(b - 1) / beta(a, b)), by the saddle point of Loader (2000).
log_beta_density <- function(a, b, x) .External(anvil_op, "log_betainc_dx", a, b, x)

# The same where x = u / (u + v), by the smaller of x and 1 - x, which has all digits.
log_beta_density_at <- function(a, b, u, v) {
  is_lower <- u <= v
  x <- nv_ifelse(is_lower, u, v) / (u + v)
  log_beta_density(nv_ifelse(is_lower, a, b), nv_ifelse(is_lower, b, a), x)
}

# A tail of a beta distribution at x = u / (u + v).
beta_cdf_at <- function(a, b, u, v, lower, log) {
  is_lower <- u <= v
  x <- nv_ifelse(is_lower, u, v) / (u + v)
  half <- 0 * x
  by_lower <- nv_betainc(a, b, nv_ifelse(is_lower, x, half), lower, log)
  by_upper <- nv_betainc(b, a, nv_ifelse(is_lower, half, x), !lower, log)
  nv_ifelse(is_lower, by_lower, by_upper)
}

# x / (1 - x) for the quantile x of a beta distribution.
beta_quantile_odds <- function(a, b, p, lower, log) {
  x <- nv_betaincinv(a, b, p, lower, log)
  y <- nv_betaincinv(b, a, p, !lower, log)
  nv_ifelse(x < 0.5, x / (1 - x), (1 - y) / y)
}

exp_unless <- function(value, log) if (log) value else nv_exp(value)

distribution("beta",
  alist(shape1 = , shape2 = , ncp = 0),
  parameters = quote(list(shape1 = central(shape1, ncp, !missing(ncp)), shape2 = shape2)),
  proper = list(shape1 = is_positive, shape2 = is_positive), safe = list(shape1 = 1, shape2 = 1),
  valid = list(shape1 = is_not_negative, shape2 = is_not_negative),
  ends = function(...) list(0, 1), at = function(...) 0.5,
  boundary = function(x, shape1, shape2, log) {
    limit <- function(shape, other) nv_ifelse(shape < 1, Inf, nv_ifelse(shape == 1, other, 0))
    at_end <- nv_ifelse(x == 0, limit(shape1, shape2), nv_ifelse(x == 1, limit(shape2, shape1), 0))
    if (log) nv_log(at_end) else at_end
  },
  density = function(x, shape1, shape2, log) exp_unless(log_beta_density(shape1, shape2, x), log),
  cdf = function(q, shape1, shape2, lower, log) nv_betainc(shape1, shape2, q, lower, log),
  quantile = function(p, shape1, shape2, lower, log) nv_betaincinv(shape1, shape2, p, lower, log),
  # All at the end whose parameter is the smaller one; if both are infinite, in the middle. Both 0 have no
  # row: half of the probability is at each end.
  degenerate = function(shape1, shape2) {
    some <- shape1 == 0 | shape2 == 0 | shape1 == Inf | shape2 == Inf
    list(
      some & !(shape1 == 0 & shape2 == 0), nv_ifelse(shape1 == shape2, 0.5, nv_ifelse(shape1 < shape2, 0, 1))
    )
  }
)

distribution("t",
  alist(df = , ncp = NULL), parameters = quote(list(df = central(df, ncp, !missing(ncp)))),
  proper = list(df = is_above_zero), safe = list(df = 1),
  density = function(x, df, log) {
    # Of infinite degrees of freedom it is normal.
    is_normal <- df == Inf
    n <- nv_ifelse(is_normal, 1, df)
    u <- nv_abs(x)
    s <- u / nv_sqrt(n)
    is_far <- s > 1e8
    near <- nv_ifelse(is_far, 1, s)
    # log(1 + x^2 / n)
    growth <- nv_ifelse(is_far, 2 * nv_log(nv_ifelse(is_far, s, 1)), nv_log1p(near * near))
    value <- -(nv_lbeta(n / 2, 0.5) + 0.5 * nv_log(n)) - (n + 1) / 2 * growth
    v <- nv_ifelse(is_normal, u, 0)
    value <- nv_ifelse(is_normal, -(half_log_2pi + 0.5 * v * v), value)
    exp_unless(value, log)
  },
  cdf = function(q, df, lower, log) {
    is_normal <- df == Inf
    n <- nv_ifelse(is_normal, 1, df)
    above <- if (lower) q < 0 else q > 0
    u <- nv_ifelse(q < 0, -q, q)
    # Twice the tail beyond |q| is that of a beta distribution above q^2 / (n + q^2); divided by the larger of
    # both, which might overflow.
    root <- nv_sqrt(n)
    is_far <- u > 1e30 * root
    # At 0 the slope of the beta distribution is infinite, and that of its argument 0.
    near <- nv_ifelse(is_far, root, nv_ifelse(u < 1e-18 * root, u + 1e-18 * root, u))
    large <- nv_max(near, root)
    twice <- beta_cdf_at(0.5, n / 2, (near / large) * (near / large), (n / large) / large, FALSE, log)
    # The first term of the series in n / q^2.
    far <- -n * (nv_log(nv_ifelse(is_far, u, 1)) - nv_log(root)) - nv_lbeta(n / 2, 0.5) - nv_log(n / 2)
    twice <- nv_ifelse(is_far, exp_unless(far, log), twice)
    value <- if (log) {
      nv_ifelse(above, twice - log_2, nv_log1p(-0.5 * nv_exp(twice)))
    } else {
      nv_ifelse(above, 0.5 * twice, 1 - 0.5 * twice)
    }
    nv_ifelse(is_normal, normal_cdf(nv_ifelse(is_normal, q, 0), lower, log), value)
  },
  quantile = function(p, df, lower, log) {
    is_normal <- df == Inf
    n <- nv_ifelse(is_normal, 1, df)
    # Twice the smaller tail.
    middle <- if (log) -log_2 else 0.5
    is_small <- p < middle
    small <- if (log) {
      nv_ifelse(is_small, p, nv_log(-nv_expm1(nv_ifelse(is_small, -1, p)))) + log_2
    } else {
      2 * nv_ifelse(is_small, p, 1 - p)
    }
    is_center <- p == middle
    small <- nv_ifelse(is_center, if (log) -1 else 0.5, small)
    t <- nv_sqrt(n * beta_quantile_odds(0.5, n / 2, small, FALSE, log))
    t <- nv_ifelse(is_small, -t, t)
    # In the middle a straight line, for the slope.
    from_middle <- (if (log) nv_exp(p) else p) - 0.5
    t <- nv_ifelse(is_center, from_middle * nv_exp(nv_lbeta(n / 2, 0.5)) * nv_sqrt(n), t)
    if (!lower) t <- -t
    nv_ifelse(is_normal, normal_quantile(p, lower, log), t)
  }
)

distribution("f",
  alist(df1 = , df2 = , ncp = NULL),
  parameters = quote(list(df1 = central(df1, ncp, !missing(ncp)), df2 = df2)),
  proper = list(df1 = is_positive, df2 = is_above_zero), safe = list(df1 = 2, df2 = 2),
  valid = list(df1 = is_above_zero),
  ends = function(...) list(0, Inf), at = function(...) 1,
  boundary = function(x, df1, df2, log) {
    limit <- nv_ifelse(x == 0, nv_ifelse(df1 < 2, Inf, nv_ifelse(df1 == 2, 1, 0)), 0)
    if (log) nv_log(limit) else limit
  },
  # Of infinite df2 it is chi-square, divided by df1.
  density = function(x, df1, df2, log) {
    is_chisq <- df2 == Inf
    n <- nv_ifelse(is_chisq, 1, df2)
    total <- df1 * x + n
    value <- log_beta_density_at(df1 / 2, n / 2, df1 * x, n) + nv_log(df1) + nv_log(n) - 2 * nv_log(total)
    by_gamma <- log_gamma_density(df1 / 2, df1 * nv_ifelse(is_chisq, x, 1) / 2) + nv_log(df1 / 2)
    exp_unless(nv_ifelse(is_chisq, by_gamma, value), log)
  },
  cdf = function(q, df1, df2, lower, log) {
    is_chisq <- df2 == Inf
    n <- nv_ifelse(is_chisq, 1, df2)
    value <- beta_cdf_at(df1 / 2, n / 2, df1 * q, n, lower, log)
    nv_ifelse(is_chisq, nv_gammainc(df1 / 2, df1 * nv_ifelse(is_chisq, q, 1) / 2, lower, log), value)
  },
  quantile = function(p, df1, df2, lower, log) {
    is_chisq <- df2 == Inf
    n <- nv_ifelse(is_chisq, 1, df2)
    value <- n / df1 * beta_quantile_odds(df1 / 2, n / 2, p, lower, log)
    nv_ifelse(is_chisq, 2 / df1 * nv_gammaincinv(df1 / 2, p, lower, log), value)
  }
)

# Its probability of x is a beta density at prob, divided by size + 1.
# If all trials are the same, it is a power.
log_binomial <- function(x, size, prob) {
  value <- log_beta_density(x + 1, size - x + 1, prob) - nv_log1p(size)
  nv_ifelse(x == 0, size * nv_log1p(-prob), nv_ifelse(x == size, size * nv_log(prob), value))
}

binomial_moments <- function(size, prob) list(size * prob, nv_sqrt(size * prob * (1 - prob)))

distribution("binom",
  alist(size = , prob = ), discrete = TRUE,
  parameters = quote(list(size = size, prob = prob)),
  proper = list(size = is_count, prob = is_open_probability), safe = list(size = 1, prob = 0.5),
  valid = list(prob = is_probability),
  ends = function(size, prob) list(0, nv_round(size)), at = function(...) 0,
  density = function(x, size, prob, log) exp_unless(log_binomial(x, nv_round(size), prob), log),
  cdf = function(q, size, prob, lower, log) nv_betainc(q + 1, nv_max(nv_round(size) - q, 0.5), prob, !lower, log),
  moments = binomial_moments,
  degenerate = function(size, prob) {
    list(size == 0 | prob == 0 | prob == 1, nv_ifelse(prob == 1, nv_round(size), 0))
  }
)

# By `prob`, or by the mean; each has a row.
negative_binomial <- function(size, prob, mu, has_prob, has_mu) {
  if (has_prob == has_mu) {
    abort_arg(if (has_mu) "mu" else "prob", "one of `prob` and `mu`", if (has_mu) "both" else "none")
  }
  if (has_mu) list(size = size, mu = mu) else list(size = size, prob = prob)
}

# A negative binomial distribution by size, and prob = u / (u + v).
negative_binomial_density <- function(x, size, u, v, log) {
  is_lower <- u <= v
  prob <- nv_ifelse(is_lower, u, v) / (u + v)
  log_prob <- nv_ifelse(is_lower, nv_log(prob), nv_log1p(-prob))
  value <- log_beta_density_at(size, x + 1, u, v) + log_prob - nv_log(x + size)
  exp_unless(nv_ifelse(x == 0, size * log_prob, value), log)
}

distribution("nbinom",
  alist(size = , prob = NULL, mu = NULL), discrete = TRUE,
  parameters = quote(negative_binomial(size, prob, mu, !missing(prob), !missing(mu))),
  proper = list(size = is_positive, prob = is_open_probability), safe = list(size = 1, prob = 0.5),
  valid = list(size = is_not_negative, prob = function(x) x > 0 & x <= 1),
  ends = function(size, prob) list(0, nv_ifelse(size == 0 | prob == 1, 0, Inf)), at = function(...) 0,
  density = function(x, size, prob, log) negative_binomial_density(x, size, prob, 1 - prob, log),
  cdf = function(q, size, prob, lower, log) beta_cdf_at(size, q + 1, prob, 1 - prob, lower, log),
  moments = function(size, prob) {
    mu <- size * (1 - prob) / prob
    list(mu, nv_sqrt(mu / prob))
  },
  degenerate = function(size, prob) list(size == 0 | prob == 1, 0)
)

distribution("nbinom_mu",
  alist(size = , mu = ), discrete = TRUE,
  proper = list(size = is_above_zero, mu = is_positive), safe = list(size = 1, mu = 1),
  valid = list(size = is_not_negative, mu = is_not_negative),
  ends = function(size, mu) list(0, nv_ifelse(size == 0 | mu == 0, 0, Inf)), at = function(...) 0,
  # Of infinite size it is Poisson's.
  density = function(x, size, mu, log) {
    is_poisson <- size == Inf
    n <- nv_ifelse(is_poisson, 1, size)
    value <- negative_binomial_density(x, n, n, mu, log)
    nv_ifelse(is_poisson, exp_unless(log_gamma_density(x + 1, mu), log), value)
  },
  cdf = function(q, size, mu, lower, log) {
    is_poisson <- size == Inf
    n <- nv_ifelse(is_poisson, 1, size)
    value <- beta_cdf_at(n, q + 1, n, mu, lower, log)
    nv_ifelse(is_poisson, nv_gammainc(q + 1, mu, !lower, log), value)
  },
  moments = function(size, mu) list(mu, nv_sqrt(mu + mu * (mu / size))),
  degenerate = function(size, mu) list(size == 0 | mu == 0, 0)
)

distribution("geom",
  alist(prob = ), discrete = TRUE,
  proper = list(prob = is_open_probability), safe = list(prob = 0.5),
  valid = list(prob = function(x) x > 0 & x <= 1),
  ends = function(prob) list(0, nv_ifelse(prob == 1, 0, Inf)), at = function(...) 0,
  density = function(x, prob, log) exp_unless(nv_log(prob) + x * nv_log1p(-prob), log),
  cdf = function(q, prob, lower, log) exponential_cdf(-(q + 1) * nv_log1p(-prob), lower, log),
  # Less what rounding may have left, as in R.
  quantile = function(p, prob, lower, log) {
    nv_max(0, nv_ceiling(exponential_quantile(p, lower, log) / -nv_log1p(-prob) - 1 - 1e-12))
  },
  degenerate = function(prob) list(prob == 1, 0)
)

# The sum of the probabilities up to q by their ratios, from the largest one, as in R's phyper() (Morten
# Welinder).
hypergeometric_cdf <- function(q, m, n, k, lower, log) {
  # The shorter tail is added up.
  is_upper <- q * (m + n) > k * m
  at <- nv_ifelse(is_upper, k - q - 1, q)
  white <- nv_ifelse(is_upper, n, m)
  black <- nv_ifelse(is_upper, m, n)
  none <- at < nv_max(0, k - black)
  at <- nv_ifelse(none, nv_max(0, k - black), at)
  eps <- if (as.character(dtype(at)) == "f32" && !ambiguous(at)) 2^-24 else 2^-53
  still <- function(x, term, total) x > 0 & term >= eps * total
  total <- nv_while(
    list(x = at, term = 1 + 0 * at, total = 1 + 0 * at),
    function(x, term, total) any(still(x, term, total)),
    function(x, term, total) {
      open <- still(x, term, total)
      next_term <- term * (x * (black - k + x) / (k + 1 - x) / (white + 1 - x))
      list(
        x = nv_ifelse(open, x - 1, x), term = nv_ifelse(open, next_term, term),
        total = nv_ifelse(open, total + next_term, total)
      )
    }
  )$total
  value <- log_hypergeometric(at, white, black, k) + nv_log(total)
  value <- nv_min(nv_ifelse(none, -Inf, value), 0)
  direct <- if (lower) !is_upper else is_upper
  if (log) nv_ifelse(direct, value, nv_log1mexp(-value)) else nv_ifelse(direct, nv_exp(value), -nv_expm1(value))
}

log_hypergeometric <- function(x, m, n, k) {
  # All or none are drawn: x is k, or m.
  some <- k > 0 & k < m + n
  k <- nv_ifelse(some, k, 1)
  prob <- k / nv_max(m + n, 2)
  x <- nv_ifelse(some, x, 0)
  from <- function(x, size) {
    open <- x >= 0 & x <= size
    nv_ifelse(open, log_binomial(nv_ifelse(open, x, 0), nv_ifelse(open, size, 1), prob), 0)
  }
  value <- from(x, m) + from(k - x, n) - from(k, m + n)
  nv_ifelse(some, value, 0)
}

distribution("hyper",
  alist(m = , n = , k = ), discrete = TRUE,
  proper = list(m = is_count, n = is_count, k = is_count), safe = list(m = 1, n = 1, k = 1),
  between = function(m, n, k) k <= m + n,
  ends = function(m, n, k) list(nv_max(0, nv_round(k) - nv_round(n)), nv_min(nv_round(k), nv_round(m))),
  at = function(m, n, k) nv_max(0, k - n),
  density = function(x, m, n, k, log) {
    exp_unless(log_hypergeometric(x, nv_round(m), nv_round(n), nv_round(k)), log)
  },
  cdf = function(q, m, n, k, lower, log) {
    whole <- lapply(list(m, n, k), function(x) nv_round(nv_stop_gradient(x)))
    do.call(hypergeometric_cdf, c(list(q), whole, list(lower, log)))
  },
  moments = function(m, n, k) {
    total <- nv_max(m + n, 1)
    mean <- k * (m / total)
    list(mean, nv_sqrt(mean * (n / total) * ((total - k) / nv_max(total - 1, 1))))
  }
)

# As a ratio of two beta densities at a point near both their modes, so that what is large cancels before it
# is added.
log_beta_binomial <- function(x, size, shape1, shape2) {
  u <- x + shape1
  v <- size - x + shape2
  prob <- u / (u + v)
  other <- v / (u + v)
  log_beta_density(x + 1, size - x + 1, prob) - nv_log1p(size) - log_beta_density(u, v, prob) +
    (shape1 - 1) * nv_log(prob) + (shape2 - 1) * nv_log(other) - nv_lbeta(shape1, shape2)
}

# Ratios of neighbours give the sum of the probabilities up to q, or from q + 1 on where that is shorter.
beta_binomial_cdf <- function(q, size, shape1, shape2, lower, log) {
  is_upper <- q * (shape1 + shape2) > size * shape1
  at <- nv_ifelse(is_upper, size - q - 1, q)
  a <- nv_ifelse(is_upper, shape2, shape1)
  b <- nv_ifelse(is_upper, shape1, shape2)
  total <- nv_while(
    list(x = at, term = 1 + 0 * at * a, total = 1 + 0 * at * a),
    function(x, term, total) any(x > 0),
    function(x, term, total) {
      next_term <- nv_ifelse(x > 0, term * (x / (size - x + 1) * ((size - x + b) / nv_max(x - 1 + a, 1e-300))), 0)
      list(x = nv_max(x - 1, 0), term = next_term, total = total + next_term)
    }
  )$total
  value <- nv_min(log_beta_binomial(at, size, a, b) + nv_log(total), 0)
  direct <- if (lower) !is_upper else is_upper
  if (log) nv_ifelse(direct, value, nv_log1mexp(-value)) else nv_ifelse(direct, nv_exp(value), -nv_expm1(value))
}

distribution("betabinom",
  alist(size = , shape1 = , shape2 = ), discrete = TRUE,
  proper = list(size = is_count, shape1 = is_positive, shape2 = is_positive),
  safe = list(size = 1, shape1 = 1, shape2 = 1),
  ends = function(size, shape1, shape2) list(0, nv_round(size)), at = function(...) 0,
  density = function(x, size, shape1, shape2, log) {
    exp_unless(log_beta_binomial(x, nv_round(size), shape1, shape2), log)
  },
  cdf = function(q, size, shape1, shape2, lower, log) {
    beta_binomial_cdf(q, nv_round(size), shape1, shape2, lower, log)
  },
  moments = function(size, shape1, shape2) {
    total <- shape1 + shape2
    prob <- shape1 / total
    list(size * prob, nv_sqrt(size * prob * (1 - prob) * ((total + size) / (total + 1))))
  }
)

# By the probability of 1, or by its log-odds.
bernoulli <- function(prob, logits, has_prob, has_logits) {
  if (has_prob == has_logits) {
    abort_arg(
      if (has_logits) "logits" else "prob", "one of `prob` and `logits`", if (has_logits) "both" else "none"
    )
  }
  if (has_logits) list(logits = logits) else list(prob = prob)
}

distribution("bern",
  alist(prob = NULL, logits = NULL), discrete = TRUE,
  parameters = quote(bernoulli(prob, logits, !missing(prob), !missing(logits))),
  proper = list(prob = is_open_probability), safe = list(prob = 0.5), valid = list(prob = is_probability),
  ends = function(...) list(0, 1), at = function(...) 0,
  density = function(x, prob, log) {
    if (log) nv_ifelse(x == 0, nv_log1p(-prob), nv_log(prob)) else nv_ifelse(x == 0, 1 - prob, prob)
  },
  cdf = function(q, prob, lower, log) {
    if (lower) if (log) nv_log1p(-prob) else 1 - prob else if (log) nv_log(prob) else prob
  },
  moments = function(prob) list(prob, nv_sqrt(prob * (1 - prob))),
  degenerate = function(prob) list(prob == 0 | prob == 1, prob)
)

distribution("bern_logits",
  alist(logits = ), discrete = TRUE,
  proper = list(logits = is_real), safe = list(logits = 0), valid = list(logits = is_number),
  ends = function(...) list(0, 1), at = function(...) 0,
  density = function(x, logits, log) logistic_cdf(nv_ifelse(x == 0, -logits, logits), TRUE, log),
  cdf = function(q, logits, lower, log) logistic_cdf(-logits, lower, log),
  moments = function(logits) list(nv_logistic(logits), 0.5),
  degenerate = function(logits) list(nv_is_infinite(logits), nv_ifelse(logits > 0, 1, 0))
)

#' Beta, t and F distributions
#'
#' The beta distribution, and those of which probabilities are incomplete beta functions: t, F.
#'
#' The beta density `x^(shape1 - 1) (1 - x)^(shape2 - 1) / beta(shape1, shape2)` is computed by the saddle point (Loader
#' 2000). Probabilities are [nv_betainc()], and quantiles its inverse, [nv_betaincinv()]: of the beta distribution of
#' `df1 x / (df1 x + df2)` for F, and of `x^2 / (df + x^2)` for t, by the smaller of this and its complement, which
#' has all digits. Infinite degrees of freedom give the normal distribution for t, and chi-square for F.
#'
#' @inheritParams nv_dnorm
#' @param shape1,shape2 Parameters of the beta distribution.
#' @param df,df1,df2 Degrees of freedom.
#' @param ncp Left out or 0: only the central distribution is available.
#' @inherit nv_dnorm return
#' @section Errors: As of [nv_dnorm()].
#' @references Loader, C. (2000), Fast and accurate computation of binomial probabilities.
#'   DLMF, section 8.17, <https://dlmf.nist.gov/8.17>.
#' @seealso [nv_dnorm()] for what holds of all distributions.
#' @examples
#' nv_dbeta(c(0, 0.25, 1), 2, 3)
#' nv_pt(-40, df = 3, log.p = TRUE)
#' nv_qf(0.95, 2, 10)
#' nv_rbeta(3, nv_rng_state(1), shape1 = 2, shape2 = 3)$value
#' @export
nv_dbeta <- density_function(distributions$beta)

#' @rdname nv_dbeta
#' @export
nv_pbeta <- cdf_function(distributions$beta)

#' @rdname nv_dbeta
#' @export
nv_qbeta <- quantile_function(distributions$beta)

#' @rdname nv_dbeta
#' @export
nv_dt <- density_function(distributions$t)

#' @rdname nv_dbeta
#' @export
nv_pt <- cdf_function(distributions$t)

#' @rdname nv_dbeta
#' @export
nv_qt <- quantile_function(distributions$t)

#' @rdname nv_dbeta
#' @export
nv_df <- density_function(distributions$f)

#' @rdname nv_dbeta
#' @export
nv_pf <- cdf_function(distributions$f)

#' @rdname nv_dbeta
#' @export
nv_qf <- quantile_function(distributions$f)

#' Distributions of counts
#'
#' Numbers of successes in `size` trials, with the same probability (binomial; Bernoulli for one trial, also by its
#' log-odds), with one that is itself a beta variable (beta-binomial), or without replacement (hypergeometric); numbers
#' of failures before the first success (geometric) or before `size` of them (negative binomial, by `prob` or by the
#' mean `mu`, with `prob = size / (size + mu)`).
#'
#' A binomial probability of `x` is a beta density with `shape1 = x + 1` and `shape2 = size - x + 1` at `prob`, divided
#' by `size + 1`, and is computed by the saddle point (Loader 2000); a negative binomial one that with `shape1 = size` and
#' `shape2 = x + 1`, times `prob / (x + size)`; a hypergeometric one is three binomial ones, a beta-binomial one two beta
#' densities. Sums of probabilities are incomplete beta functions, [nv_betainc()]; those of the hypergeometric and
#' beta-binomial distributions are added up, as in R's `phyper()`. Quantiles are found by halving, exactly.
#'
#' `nv_dbern()` and its kin take `prob` or `logits = log(prob / (1 - prob))`. R has no functions of the Bernoulli and the
#' beta-binomial distribution.
#'
#' `nv_rbinom()` is on the page of [nv_runif()].
#'
#' @inheritParams nv_dnorm
#' @param size Number of trials; for the negative binomial distribution the number of successes, or any number
#'   above 0.
#' @param prob Probability of success.
#' @param logits Log-odds of success.
#' @param mu Mean of the negative binomial distribution.
#' @param m,n,k Numbers of white balls and of black balls in the urn, and of balls drawn. `x` counts the white ones.
#' @param shape1,shape2 Parameters of the beta distribution of the probability.
#' @inherit nv_dnorm return
#' @section Errors: As of [nv_dnorm()].
#' @references Loader, C. (2000), Fast and accurate computation of binomial probabilities.
#' @seealso [nv_dnorm()] for what holds of all distributions.
#' @examples
#' nv_dbinom(0:3, size = 3, prob = 0.2)
#' nv_dbern(c(0, 1), logits = 40, log = TRUE)
#' nv_pnbinom(nv_tensor(c(0L, 5L)), size = 2.5, mu = 4)
#' nv_qhyper(0.5, m = 30, n = 20, k = 10)
#' nv_dbetabinom(0:3, size = 3, shape1 = 0.5, shape2 = 0.5)
#' nv_rnbinom(5, nv_rng_state(1), size = 3, mu = 10)$value
#' @export
nv_dbinom <- density_function(distributions$binom)

#' @rdname nv_dbinom
#' @export
nv_pbinom <- cdf_function(distributions$binom)

#' @rdname nv_dbinom
#' @export
nv_qbinom <- quantile_function(distributions$binom)

#' @rdname nv_dbinom
#' @export
nv_dbern <- density_function(distributions$bern)

#' @rdname nv_dbinom
#' @export
nv_pbern <- cdf_function(distributions$bern)

#' @rdname nv_dbinom
#' @export
nv_qbern <- quantile_function(distributions$bern)

#' @rdname nv_dbinom
#' @export
nv_dnbinom <- density_function(distributions$nbinom)

#' @rdname nv_dbinom
#' @export
nv_pnbinom <- cdf_function(distributions$nbinom)

#' @rdname nv_dbinom
#' @export
nv_qnbinom <- quantile_function(distributions$nbinom)

#' @rdname nv_dbinom
#' @export
nv_dgeom <- density_function(distributions$geom)

#' @rdname nv_dbinom
#' @export
nv_pgeom <- cdf_function(distributions$geom)

#' @rdname nv_dbinom
#' @export
nv_qgeom <- quantile_function(distributions$geom)

#' @rdname nv_dbinom
#' @export
nv_dhyper <- density_function(distributions$hyper)

#' @rdname nv_dbinom
#' @export
nv_phyper <- cdf_function(distributions$hyper)

#' @rdname nv_dbinom
#' @export
nv_qhyper <- quantile_function(distributions$hyper)

#' @rdname nv_dbinom
#' @export
nv_dbetabinom <- density_function(distributions$betabinom)

#' @rdname nv_dbinom
#' @export
nv_pbetabinom <- cdf_function(distributions$betabinom)

#' @rdname nv_dbinom
#' @export
nv_qbetabinom <- quantile_function(distributions$betabinom)
