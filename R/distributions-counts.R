# Distributions of whole numbers whose probabilities are beta densities: binomial, Bernoulli, negative
# binomial, geometric, hypergeometric, beta-binomial.

# Its probability of x is a beta density at prob, divided by size + 1.
# If all trials are the same, it is a power.
log_binomial <- function(x, size, prob) {
  value <- log_beta_density(x + 1, size - x + 1, prob) - nv_log1p(size)
  nv_ifelse(x == 0, size * nv_log1p(-prob), nv_ifelse(x == size, size * nv_log(prob), value))
}

binomial_moments <- function(size, prob) list(size * prob, nv_sqrt(size * prob * (1 - prob)), 1 - 2 * prob)

distribution("binom",
  alist(size = , prob = ), discrete = TRUE,
  parameters = quote(list(size = size, prob = prob)),
  proper = list(size = is_count, prob = is_open_probability), safe = list(size = 1, prob = 0.5),
  valid = list(prob = is_probability),
  ends = function(size, prob) list(0, nv_round(size)), at = function(...) 0,
  density = function(x, size, prob, log) exp_unless(log_binomial(x, nv_round(size), prob), log),
  cdf = function(q, size, prob, lower, log) {
    nv_betainc(q + 1, nv_max(nv_round(size) - q, 0.5), prob, !lower, log)
  },
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
    list(mu, nv_sqrt(mu / prob), (2 - prob) / prob)
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
  moments = function(size, mu) list(mu, nv_sqrt(mu + mu * (mu / size)), 1 + 2 * (mu / size)),
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
  this_or_rest(value, direct, log)
}

# A probability, or that of the rest, from the logarithm.
this_or_rest <- function(value, is_this, log) {
  if (log) return(nv_ifelse(is_this, value, nv_log1mexp(-value)))
  nv_ifelse(is_this, nv_exp(value), -nv_expm1(value))
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
      ratio <- x / (size - x + 1) * ((size - x + b) / nv_max(x - 1 + a, 1e-300))
      next_term <- nv_ifelse(x > 0, term * ratio, 0)
      list(x = nv_max(x - 1, 0), term = next_term, total = total + next_term)
    }
  )$total
  value <- nv_min(log_beta_binomial(at, size, a, b) + nv_log(total), 0)
  direct <- if (lower) !is_upper else is_upper
  this_or_rest(value, direct, log)
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

#' Distributions of counts
#'
#' Numbers of successes in `size` trials, with the same probability (binomial; Bernoulli for one trial, also
#' by its log-odds), with one that is itself a beta variable (beta-binomial), or without replacement
#' (hypergeometric); numbers of failures before the first success (geometric) or before `size` of them
#' (negative binomial, by `prob` or by the mean `mu`, with `prob = size / (size + mu)`).
#'
#' A binomial probability of `x` is a beta density with `shape1 = x + 1` and `shape2 = size - x + 1` at
#' `prob`, divided by `size + 1`, and is computed by the saddle point (Loader 2000); a negative binomial one
#' that with `shape1 = size` and `shape2 = x + 1`, times `prob / (x + size)`; a hypergeometric one is three
#' binomial ones, a beta-binomial one two beta densities. Sums of probabilities are incomplete beta functions,
#' [nv_betainc()]; those of the hypergeometric and beta-binomial distributions are added up, as in R's
#' `phyper()`. Quantiles are found by halving, exactly.
#'
#' `nv_dbern()` and its kin take `prob` or `logits = log(prob / (1 - prob))`. R has no functions of the
#' Bernoulli and the beta-binomial distribution.
#'
#' `nv_rbinom()` is on the page of [nv_runif()].
#'
#' @inheritParams nv_dnorm
#' @param size Number of trials; for the negative binomial distribution the number of successes, or any number
#'   above 0.
#' @param prob Probability of success.
#' @param logits Log-odds of success.
#' @param mu Mean of the negative binomial distribution.
#' @param m,n,k Numbers of white balls and of black balls in the urn, and of balls drawn. `x` counts the white
#'   ones.
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
