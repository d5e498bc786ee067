# Beta distribution, and t and F, which are functions of beta variables.

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

# x / (1 - x) for the quantile x of a beta distribution: by 1 - x where that is the smaller one, which has all
# digits. Elsewhere it is asked for at the end, where it costs nothing, and of no parameters.
beta_quantile_odds <- function(a, b, p, lower, log) {
  x <- nv_betaincinv(a, b, p, lower, log)
  is_lower <- x < 0.5
  y <- nv_betaincinv(
    nv_ifelse(is_lower, 1, b), nv_ifelse(is_lower, 1, a), nv_ifelse(is_lower, if (log) -Inf else 0, p),
    !lower, log
  )
  nv_ifelse(is_lower, x / (1 - x), (1 - y) / y)
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
    u <- distance(x)
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
    n <- nv_ifelse(df == Inf, 1, df)
    if (!lower) q <- -q
    above <- q < 0
    u <- distance(q)
    # Twice the tail beyond |q| is that of a beta distribution above q^2 / (n + q^2); divided by the larger of
    # both, which might overflow.
    root <- nv_sqrt(n)
    # Of many degrees of freedom it is normal but for q^4 / (4 df), and near 0 in what follows.
    is_normal <- df == Inf | (df > 1e17 & (u * u < 1e-7 * root | u < 1e-18 * root))
    is_far <- u > 1e30 * root
    # At 0 the slope of the beta distribution is infinite, and that of its argument 0: the series there.
    is_center <- u < 1e-8 * nv_min(root, 1)
    near <- nv_ifelse(is_far | is_center, root, u)
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
    slope <- nv_exp(-nv_lbeta(n / 2, 0.5)) / root
    small <- nv_ifelse(is_center, q, 0)
    middle <- 0.5 + slope * small * (1 - (n + 1) / (6 * n) * small * small)
    if (log) middle <- nv_log(nv_ifelse(is_center, middle, 1))
    value <- nv_ifelse(is_center, middle, value)
    nv_ifelse(is_normal, normal_cdf(nv_ifelse(is_normal, q, 0), TRUE, log), value)
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

# Degrees of freedom that are as good as infinite ones, in single precision too.
many <- 1e18

distribution("f",
  alist(df1 = , df2 = , ncp = NULL),
  parameters = quote(list(df1 = central(df1, ncp, !missing(ncp)), df2 = df2)),
  proper = list(df1 = is_above_zero, df2 = is_above_zero), safe = list(df1 = 2, df2 = 2),
  between = function(df1, df2) df1 < Inf | df2 < Inf,
  ends = function(...) list(0, Inf), at = function(...) 1,
  boundary = function(x, df1, df2, log) {
    limit <- nv_ifelse(x == 0, nv_ifelse(df1 < 2, Inf, nv_ifelse(df1 == 2, 1, 0)), 0)
    if (log) nv_log(limit) else limit
  },
  # Of infinite df1 it is what it is of many, to the last digit or two: df2 divided by chi-square. Of infinite
  # df2 it is chi-square, divided by df1; else that is asked for at an end, where it costs nothing.
  density = function(x, df1, df2, log) {
    df1 <- nv_min(df1, many)
    is_chisq <- df2 == Inf
    n <- nv_ifelse(is_chisq, 1, df2)
    total <- df1 * x + n
    value <- log_beta_density_at(df1 / 2, n / 2, df1 * x, n) + nv_log(df1) + nv_log(n) - 2 * nv_log(total)
    by_gamma <- log_gamma_density(nv_ifelse(is_chisq, df1 / 2, 1), nv_ifelse(is_chisq, df1 * x / 2, 0)) +
      nv_log(df1 / 2)
    exp_unless(nv_ifelse(is_chisq, by_gamma, value), log)
  },
  cdf = function(q, df1, df2, lower, log) {
    df1 <- nv_min(df1, many)
    is_chisq <- df2 == Inf
    n <- nv_ifelse(is_chisq, 1, df2)
    value <- beta_cdf_at(df1 / 2, n / 2, df1 * q, n, lower, log)
    by_gamma <- nv_gammainc(nv_ifelse(is_chisq, df1 / 2, 1), nv_ifelse(is_chisq, df1 * q / 2, 0), lower, log)
    nv_ifelse(is_chisq, by_gamma, value)
  },
  quantile = function(p, df1, df2, lower, log) {
    df1 <- nv_min(df1, many)
    is_chisq <- df2 == Inf
    n <- nv_ifelse(is_chisq, 1, df2)
    value <- n / df1 * beta_quantile_odds(df1 / 2, n / 2, p, lower, log)
    at <- nv_ifelse(is_chisq, p, if (log) -Inf else 0)
    by_gamma <- 2 / df1 * nv_gammaincinv(nv_ifelse(is_chisq, df1 / 2, 1), at, lower, log)
    nv_ifelse(is_chisq, by_gamma, value)
  },
  # All at 1.
  degenerate = function(df1, df2) list(df1 == Inf & df2 == Inf, 1)
)

#' Beta, t and F distributions
#'
#' The beta distribution, and those of which probabilities are incomplete beta functions: t, F.
#'
#' The beta density `x^(shape1 - 1) (1 - x)^(shape2 - 1) / beta(shape1, shape2)` is computed by the saddle
#' point (Loader 2000). Probabilities are [nv_betainc()], and quantiles its inverse, [nv_betaincinv()]: of the
#' beta distribution of `df1 x / (df1 x + df2)` for F, and of `x^2 / (df + x^2)` for t, by the smaller of this
#' and its complement, which has all digits. Infinite degrees of freedom give the normal distribution for t,
#' and chi-square for F: divided by `df1` if `df2` is infinite, `df2` divided by it if `df1` is.
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
