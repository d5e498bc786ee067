# Distributions of a location and a scale: logistic, Cauchy, Laplace, Gumbel, uniform.

# log(1 + exp(-z)) and its like are those of nv_softplus().
logistic_cdf <- function(z, lower, log) {
  if (!lower) z <- -z
  if (log) -nv_softplus(-z) else nv_logistic(z)
}

logistic_quantile <- function(p, lower, log) {
  # log(p / (1 - p)); of a logarithm, the complement by itself.
  z <- if (log) p - nv_log1mexp(-p) else nv_logit(p)
  if (lower) z else -z
}

location_and_scale <- list(location = is_real, scale = is_above_zero)

distribution("logis",
  alist(location = 0, scale = 1),
  proper = location_and_scale, safe = list(location = 0, scale = 1), valid = list(location = is_number),
  density = function(x, location, scale, log) {
    u <- distance((x - location) / scale)
    e <- nv_exp(-u)
    if (log) -(u + 2 * nv_log1p(e) + nv_log(scale)) else e / (scale * (1 + e) * (1 + e))
  },
  cdf = function(q, location, scale, lower, log) logistic_cdf((q - location) / scale, lower, log),
  quantile = function(p, location, scale, lower, log) location + scale * logistic_quantile(p, lower, log),
  degenerate = function(location, scale) list(nv_is_infinite(location), location), location = "location",
  everywhere = function(log) TRUE
)

distribution("cauchy",
  alist(location = 0, scale = 1),
  proper = location_and_scale, safe = list(location = 0, scale = 1), valid = list(location = is_number),
  density = function(x, location, scale, log) {
    y <- (x - location) / scale
    if (!log) return(1 / (pi * scale * (1 + y * y)))
    # y^2 may overflow.
    u <- distance(y)
    is_far <- u > 1e8
    near <- nv_ifelse(is_far, 1, u)
    growth <- nv_ifelse(is_far, 2 * nv_log(nv_ifelse(is_far, u, 1)), nv_log1p(near * near))
    -(log(pi) + nv_log(scale) + growth)
  },
  cdf = function(q, location, scale, lower, log) {
    z <- (q - location) / scale
    if (!lower) z <- -z
    # Below -1 by the reciprocal, whose arc is small; above 1 by the complement.
    u <- distance(z)
    is_far <- u > 1
    tail <- nv_atan(1 / nv_ifelse(is_far, u, 1)) / pi
    value <- nv_ifelse(is_far, nv_ifelse(z > 0, 1 - tail, tail), 0.5 + nv_atan(nv_ifelse(is_far, 0, z)) / pi)
    if (!log) return(value)
    high <- is_far & z > 0
    nv_ifelse(high, nv_log1p(-nv_ifelse(high, tail, 0.5)), nv_log(nv_ifelse(high, 0.5, value)))
  },
  quantile = function(p, location, scale, lower, log) {
    # By the smaller probability: -1 / tan(pi p), whose two functions have derivatives in the middle.
    middle <- if (log) -log_2 else 0.5
    is_small <- p < middle
    small <- if (log) {
      nv_ifelse(is_small, nv_exp(p), -nv_expm1(nv_ifelse(is_small, -1, p)))
    } else {
      nv_ifelse(is_small, p, 1 - p)
    }
    z <- nv_cospi(small) / nv_sinpi(small)
    z <- nv_ifelse(is_small, -z, z)
    location + scale * if (lower) z else -z
  },
  degenerate = function(location, scale) list(nv_is_infinite(location), location), location = "location"
)

distribution("laplace",
  alist(location = 0, scale = 1),
  proper = list(location = is_real, scale = is_positive), safe = list(location = 0, scale = 1),
  density = function(x, location, scale, log) {
    u <- nv_abs((x - location) / scale)
    if (log) -u - log_2 - nv_log(scale) else 0.5 * nv_exp(-u) / scale
  },
  cdf = function(q, location, scale, lower, log) {
    z <- (q - location) / scale
    if (!lower) z <- -z
    u <- distance(z)
    tail <- 0.5 * nv_exp(-u)
    if (log) nv_ifelse(z < 0, -u - log_2, nv_log1p(-tail)) else nv_ifelse(z < 0, tail, 1 - tail)
  },
  quantile = function(p, location, scale, lower, log) {
    is_small <- p < if (log) -log_2 else 0.5
    z <- if (log) {
      nv_ifelse(is_small, p + log_2, -nv_log(-2 * nv_expm1(nv_ifelse(is_small, -1, p))))
    } else {
      nv_ifelse(is_small, nv_log(2 * p), -nv_log(2 * (1 - p)))
    }
    location + scale * if (lower) z else -z
  }
)

# Of the largest of many: its lower tail is exp(-exp(-z)).
distribution("gumbel",
  alist(location = 0, scale = 1),
  proper = list(location = is_real, scale = is_positive), safe = list(location = 0, scale = 1),
  density = function(x, location, scale, log) {
    z <- (x - location) / scale
    value <- -z - nv_exp(-z)
    # exp(-z) overflows where the density is 0.
    value <- nv_ifelse(nv_is_infinite(value), -Inf, value)
    if (log) value - nv_log(scale) else nv_exp(value) / scale
  },
  cdf = function(q, location, scale, lower, log) {
    exponential_cdf(nv_exp(-(q - location) / scale), !lower, log)
  },
  quantile = function(p, location, scale, lower, log) {
    location - scale * nv_log(exponential_quantile(p, !lower, log))
  }
)

distribution("unif",
  alist(min = 0, max = 1),
  proper = list(min = is_real, max = is_real), safe = list(min = 0, max = 1),
  between = function(min, max) min < max,
  ends = function(min, max) list(min, max), at = function(min, max) (min + max) / 2,
  inside = function(x, min, max) x >= min & x <= max,
  density = function(x, min, max, log) {
    width <- nv_ifelse(max > min, max - min, 1) + 0 * x
    if (log) -nv_log(width) else 1 / width
  },
  cdf = function(q, min, max, lower, log) {
    width <- nv_ifelse(max > min, max - min, 1)
    value <- (if (lower) q - min else max - q) / width
    if (log) nv_log(value) else value
  },
  quantile = function(p, min, max, lower, log) {
    if (log) p <- if (lower) nv_exp(p) else -nv_expm1(p) else if (!lower) p <- 1 - p
    min + p * (max - min)
  },
  # The lower end is all there is then.
  degenerate = function(min, max) list(min == max & is.finite(min), min), has_atoms = TRUE
)

#' Distributions of a location and a scale
#'
#' With `z = (x - location) / scale`: the logistic distribution, `F = 1 / (1 + exp(-z))`; the Cauchy
#' distribution, with density `1 / (pi scale (1 + z^2))`; the Laplace distribution, with density `exp(-abs(z))
#' / (2 scale)`; the Gumbel distribution of the largest of many, `F = exp(-exp(-z))`; and the uniform
#' distribution from `min` to `max`. All tails and logarithms are computed by themselves. R has no functions
#' of the Laplace and the Gumbel distribution.
#'
#' `nv_runif()` has a page of its own. Draws are quantiles of uniform numbers, see [nv_dnorm()].
#'
#' @inheritParams nv_dnorm
#' @param location,scale Location and scale.
#' @param min,max Ends of the uniform distribution.
#' @inherit nv_dnorm return
#' @section Errors: As of [nv_dnorm()].
#' @references Johnson, Kotz and Balakrishnan (1995), Continuous univariate distributions.
#' @seealso [nv_dnorm()] for what holds of all distributions.
#' @examples
#' nv_plogis(c(-800, 0, 3), log.p = TRUE)
#' nv_qcauchy(1e-10)
#' nv_dlaplace(c(-1, 0, 1), scale = 2)
#' nv_pgumbel(3, location = 1)
#' nv_dunif(c(0, 1, 3), max = 2)
#' nv_rlogis(3, nv_rng_state(1), location = 10)$value
#' @export
nv_dlogis <- density_function(distributions$logis)

#' @rdname nv_dlogis
#' @export
nv_plogis <- cdf_function(distributions$logis)

#' @rdname nv_dlogis
#' @export
nv_qlogis <- quantile_function(distributions$logis)

#' @rdname nv_dlogis
#' @export
nv_dcauchy <- density_function(distributions$cauchy)

#' @rdname nv_dlogis
#' @export
nv_pcauchy <- cdf_function(distributions$cauchy)

#' @rdname nv_dlogis
#' @export
nv_qcauchy <- quantile_function(distributions$cauchy)

#' @rdname nv_dlogis
#' @export
nv_dlaplace <- density_function(distributions$laplace)

#' @rdname nv_dlogis
#' @export
nv_plaplace <- cdf_function(distributions$laplace)

#' @rdname nv_dlogis
#' @export
nv_qlaplace <- quantile_function(distributions$laplace)

#' @rdname nv_dlogis
#' @export
nv_dgumbel <- density_function(distributions$gumbel)

#' @rdname nv_dlogis
#' @export
nv_pgumbel <- cdf_function(distributions$gumbel)

#' @rdname nv_dlogis
#' @export
nv_qgumbel <- quantile_function(distributions$gumbel)

#' @rdname nv_dlogis
#' @export
nv_dunif <- density_function(distributions$unif)

#' @rdname nv_dlogis
#' @export
nv_punif <- cdf_function(distributions$unif)

#' @rdname nv_dlogis
#' @export
nv_qunif <- quantile_function(distributions$unif)
