# Gamma distribution and what is one of its kind: chi-square, inverse gamma, exponential, Weibull, Poisson.

# The scale, of which R has the reciprocal too.
scale_of <- function(rate, scale, has_rate, has_scale) {
  if (!has_scale) return(inverse_of(rate, "rate"))
  if (has_rate) abort_arg("scale", "left out where `rate` is given", "given too")
  scale
}

# One divided by a parameter.
inverse_of <- function(x, arg) {
  if (!is_operand(x)) abort_arg(arg, "a tensor, or an R number, vector or array", describe(x))
  1 / x
}

gamma_arguments <- alist(shape = , rate = 1, scale = 1 / rate)
gamma_parameters <- quote(
  list(shape = shape, scale = scale_of(rate, scale, !missing(rate), !missing(scale)))
)

# log(x^(a - 1) * exp(-x) / gamma(a)), by the saddle point of Loader (2000).
log_gamma_density <- function(a, x) .External(anvil_op, "log_gammainc_dx", a, x)

# At 0 the density has a limit.
gamma_at_zero <- function(x, shape, scale, log) {
  limit <- nv_ifelse(shape < 1, Inf, nv_ifelse(shape == 1, 1 / scale, 0))
  nv_ifelse(x == 0 & shape > 0, if (log) nv_log(limit) else limit, if (log) -Inf else 0)
}

distribution("gamma",
  gamma_arguments, parameters = gamma_parameters,
  proper = list(shape = is_positive, scale = is_positive), safe = list(shape = 1, scale = 1),
  valid = list(shape = is_not_negative, scale = is_above_zero),
  ends = function(...) list(0, Inf), at = function(...) 1, boundary = gamma_at_zero,
  density = function(x, shape, scale, log) {
    value <- log_gamma_density(shape, x / scale)
    if (log) value - nv_log(scale) else nv_exp(value) / scale
  },
  cdf = function(q, shape, scale, lower, log) nv_gammainc(shape, q / scale, lower, log),
  quantile = function(p, shape, scale, lower, log) scale * nv_gammaincinv(shape, p, lower, log),
  degenerate = function(shape, scale) list(shape == 0, 0)
)

distribution("chisq",
  alist(df = , ncp = 0), parameters = quote(list(df = central(df, ncp, !missing(ncp)))),
  proper = list(df = is_positive), safe = list(df = 2), valid = list(df = is_not_negative),
  ends = function(...) list(0, Inf), at = function(...) 1,
  boundary = function(x, df, log) gamma_at_zero(x, df / 2, 2, log),
  density = function(x, df, log) {
    value <- log_gamma_density(df / 2, x / 2)
    if (log) value - log_2 else nv_exp(value) / 2
  },
  cdf = function(q, df, lower, log) nv_gammainc(df / 2, q / 2, lower, log),
  quantile = function(p, df, lower, log) 2 * nv_gammaincinv(df / 2, p, lower, log),
  degenerate = function(df) list(df == 0, 0)
)

is_noncentral <- function(ncp) !is.null(ncp) && (!is_numeric(ncp) || !identical(as.double(ncp), 0))

# There are no formulas here for distributions that are not central.
central <- function(df, ncp, given) {
  if (given && is_noncentral(ncp)) {
    abort_arg("ncp", "left out", describe(ncp), "Only the central distribution is available for tensors.")
  }
  df
}

# The reciprocal of a gamma variable.
distribution("invgamma",
  gamma_arguments,
  parameters = quote(
    list(shape = shape, rate = inverse_of(scale_of(rate, scale, !missing(rate), !missing(scale)), "scale"))
  ),
  proper = list(shape = is_positive, rate = is_positive), safe = list(shape = 1, rate = 1),
  ends = function(...) list(0, Inf), at = function(...) 1,
  density = function(x, shape, rate, log) {
    # y = rate / x has a gamma density, and dy = -rate / x^2 dx.
    value <- log_gamma_density(shape, rate / x)
    if (log) value + nv_log(rate) - 2 * nv_log(x) else nv_exp(value) * (rate / x) / x
  },
  cdf = function(q, shape, rate, lower, log) nv_gammainc(shape, rate / q, !lower, log),
  quantile = function(p, shape, rate, lower, log) rate / nv_gammaincinv(shape, p, !lower, log)
)

# Of the distribution whose upper tail is exp(-y), for y > 0.
exponential_cdf <- function(y, lower, log) {
  if (log) return(if (lower) nv_log1mexp(y) else -y)
  if (lower) -nv_expm1(-y) else nv_exp(-y)
}

exponential_quantile <- function(p, lower, log) {
  if (log) return(if (lower) -nv_log1mexp(-p) else -p)
  if (lower) -nv_log1p(-p) else -nv_log(p)
}

distribution("exp",
  alist(rate = 1), parameters = quote(list(scale = inverse_of(rate, "rate"))),
  proper = list(scale = is_positive), safe = list(scale = 1), valid = list(scale = is_above_zero),
  ends = function(...) list(0, Inf), at = function(...) 1, inside = function(x, scale) x >= 0 & x < Inf,
  density = function(x, scale, log) {
    y <- x / scale
    if (log) -y - nv_log(scale) else nv_exp(-y) / scale
  },
  cdf = function(q, scale, lower, log) exponential_cdf(q / scale, lower, log),
  quantile = function(p, scale, lower, log) scale * exponential_quantile(p, lower, log),
  # Of rate 0.
  degenerate = function(scale) list(scale == Inf, Inf)
)

distribution("weibull",
  alist(shape = , scale = 1),
  proper = list(shape = is_positive, scale = is_positive), safe = list(shape = 1, scale = 1),
  ends = function(...) list(0, Inf), at = function(...) 1,
  boundary = function(x, shape, scale, log) gamma_at_zero(x, shape, scale, log),
  density = function(x, shape, scale, log) {
    y <- x / scale
    power <- nv_pow(y, shape)
    if (log) return(nv_log(shape / scale) + (shape - 1) * nv_log(y) - power)
    # Where the last factor is 0 the other one may be infinite.
    is_far <- power > 1000
    y <- nv_ifelse(is_far, 1, y)
    nv_ifelse(is_far, 0, shape / scale * nv_pow(y, shape - 1) * nv_exp(-nv_pow(y, shape)))
  },
  cdf = function(q, shape, scale, lower, log) exponential_cdf(nv_pow(q / scale, shape), lower, log),
  quantile = function(p, shape, scale, lower, log) {
    scale * nv_pow(exponential_quantile(p, lower, log), 1 / shape)
  }
)

# Its probability of x is the gamma density of shape x + 1 at lambda.
distribution("pois",
  alist(lambda = ), discrete = TRUE,
  proper = list(lambda = is_positive), safe = list(lambda = 1), valid = list(lambda = is_not_negative),
  ends = function(lambda) list(0, nv_ifelse(lambda == 0, 0, Inf)), at = function(...) 0,
  density = function(x, lambda, log) {
    exp_unless(nv_ifelse(x == 0, -lambda, log_gamma_density(x + 1, lambda)), log)
  },
  cdf = function(q, lambda, lower, log) nv_gammainc(q + 1, lambda, !lower, log),
  moments = function(lambda) list(lambda, nv_sqrt(lambda), 1),
  degenerate = function(lambda) list(lambda == 0, 0)
)

#' Gamma distribution and its kin
#'
#' The gamma distribution, by `rate` or `scale`, its special cases chi-square (`shape = df / 2`, `scale = 2`)
#' and exponential (`shape = 1`), the inverse gamma distribution, that of `1 / x` for a gamma variable `x`,
#' the Weibull distribution, that of `scale * x^(1 / shape)` for an exponential one, and the Poisson
#' distribution.
#'
#' With `y = x / scale` the gamma density is `y^(shape - 1) exp(-y) / (gamma(shape) scale)`, computed by the
#' saddle point (Loader 2000), so that it neither overflows nor loses digits for large parameters.
#' Probabilities are incomplete gamma functions, [nv_gammainc()], and quantiles their inverses,
#' [nv_gammaincinv()]. The probability of a Poisson variable to be `x` is a gamma density with `shape = x +
#' 1`, and to be at most `x` the upper tail of one. `nv_qpois()`, and all quantiles that are whole numbers,
#' are found by halving, exactly.
#'
#' Draws are quantiles of uniform numbers, see [nv_dnorm()].
#'
#' @inheritParams nv_dnorm
#' @param shape Shape, above 0. For `nv_r*` without a parameter of this name: sizes of the axes of the values;
#'   `integer()` is 0-d.
#' @param n Sizes of the axes of the values, where `shape` is a parameter; `integer()` is 0-d.
#' @param rate,scale Rate, or its reciprocal; one of the two may be given. `scale` of the Weibull distribution
#'   is as in [dweibull()]; `scale` of the inverse gamma distribution that of the gamma variable, so that
#'   `rate` is what is often called its scale.
#' @param df Degrees of freedom.
#' @param ncp Left out or 0: only the central distribution is available.
#' @param lambda Mean of the Poisson distribution.
#' @inherit nv_dnorm return
#' @section Errors: As of [nv_dnorm()].
#' @references Loader, C. (2000), Fast and accurate computation of binomial probabilities.
#'   DLMF, chapter 8, <https://dlmf.nist.gov/8>.
#' @seealso [nv_dnorm()] for what holds of all distributions.
#' @examples
#' nv_dgamma(c(0.5, 1, 200), shape = 2, scale = 50, log = TRUE)
#' nv_pchisq(3.84, df = 1, lower.tail = FALSE)
#' nv_qweibull(0.5, shape = 2, scale = 3)
#' nv_dpois(nv_tensor(0:3), lambda = 2.5)
#' nv_qpois(c(0.1, 0.9), 1e4)
#' nv_rgamma(3, nv_rng_state(1), shape = 2, rate = 0.1)$value
#' # A draw has a derivative by the shape.
#' gradient(function(a) sum(nv_rgamma(5, nv_rng_state(1), shape = a)$value))(nv_scalar(2))
#' @export
nv_dgamma <- density_function(distributions$gamma)

#' @rdname nv_dgamma
#' @export
nv_pgamma <- cdf_function(distributions$gamma)

#' @rdname nv_dgamma
#' @export
nv_qgamma <- quantile_function(distributions$gamma)

#' @rdname nv_dgamma
#' @export
nv_dchisq <- density_function(distributions$chisq)

#' @rdname nv_dgamma
#' @export
nv_pchisq <- cdf_function(distributions$chisq)

#' @rdname nv_dgamma
#' @export
nv_qchisq <- quantile_function(distributions$chisq)

#' @rdname nv_dgamma
#' @export
nv_dinvgamma <- density_function(distributions$invgamma)

#' @rdname nv_dgamma
#' @export
nv_pinvgamma <- cdf_function(distributions$invgamma)

#' @rdname nv_dgamma
#' @export
nv_qinvgamma <- quantile_function(distributions$invgamma)

#' @rdname nv_dgamma
#' @export
nv_dexp <- density_function(distributions$exp)

#' @rdname nv_dgamma
#' @export
nv_pexp <- cdf_function(distributions$exp)

#' @rdname nv_dgamma
#' @export
nv_qexp <- quantile_function(distributions$exp)

#' @rdname nv_dgamma
#' @export
nv_dweibull <- density_function(distributions$weibull)

#' @rdname nv_dgamma
#' @export
nv_pweibull <- cdf_function(distributions$weibull)

#' @rdname nv_dgamma
#' @export
nv_qweibull <- quantile_function(distributions$weibull)

#' @rdname nv_dgamma
#' @export
nv_dpois <- density_function(distributions$pois)

#' @rdname nv_dgamma
#' @export
nv_ppois <- cdf_function(distributions$pois)

#' @rdname nv_dgamma
#' @export
nv_qpois <- quantile_function(distributions$pois)
