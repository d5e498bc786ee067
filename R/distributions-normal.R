# Normal and lognormal distributions, and what else is computed by the normal one.

half_log_2pi <- 0.918938533204672741780329736406
log_2 <- 0.693147180559945309417232121458

# exp(-u^2 / 2) for u >= 0 without the digits that squaring rounds: the square of a number of few digits is
# exact, and the rest is small (Cody 1969).
exp_half_square <- function(u) {
  short <- nv_trunc(u * 16) / 16
  nv_exp(-0.5 * short * short) * nv_exp(-0.5 * (u - short) * (u + short))
}

# A probability whose complement is known, or the other way round; likewise of logarithms.
normal_cdf <- function(z, lower, log) {
  above <- if (lower) z < 0 else z > 0
  u <- nv_ifelse(z < 0, -z, z)
  scaled <- 0.5 * nv_erfcx(u * sqrt(0.5))
  tail <- scaled * exp_half_square(u)
  if (!log) return(nv_ifelse(above, tail, 1 - tail))
  nv_ifelse(above, nv_log(scaled) - 0.5 * u * u, nv_log1p(-tail))
}

normal_quantile <- function(p, lower, log) {
  if (!log) return(if (lower) nv_probit(p) else -nv_probit(p))
  # By the smaller of both probabilities, as a logarithm or as it is.
  is_small <- p < -log_2
  moderate <- is_small & p > -30
  small <- nv_probit(nv_ifelse(is_small, nv_exp(nv_ifelse(moderate, p, -1)), -nv_expm1(nv_ifelse(is_small, -1, p))))
  z <- nv_ifelse(is_small, small, -small)
  # Far out from the asymptotic form of the tail, by Newton's method on its logarithm.
  far <- nv_ifelse(p > -30, -30, p)
  twice <- -2 * (far + half_log_2pi)
  u <- nv_sqrt(twice - nv_log(twice))
  for (i in 1:3) {
    scaled <- nv_erfcx(u * sqrt(0.5))
    u <- u + (nv_log(0.5 * scaled) - 0.5 * u * u - far) * scaled * sqrt(pi / 2)
  }
  z <- nv_ifelse(p > -30, z, -u)
  if (lower) z else -z
}

distribution("norm",
  alist(mean = 0, sd = 1),
  proper = list(mean = is_real, sd = is_above_zero), safe = list(mean = 0, sd = 1),
  valid = list(mean = is_number, sd = is_not_negative),
  density = function(x, mean, sd, log) {
    u <- nv_abs((x - mean) / sd)
    if (log) -(half_log_2pi + 0.5 * u * u + nv_log(sd)) else exp_half_square(u) * exp(-half_log_2pi) / sd
  },
  cdf = function(q, mean, sd, lower, log) normal_cdf((q - mean) / sd, lower, log),
  quantile = function(p, mean, sd, lower, log) mean + sd * normal_quantile(p, lower, log),
  degenerate = function(mean, sd) list(sd == 0 | nv_is_infinite(mean), mean), location = "mean"
)

distribution("lnorm",
  alist(meanlog = 0, sdlog = 1),
  proper = list(meanlog = is_real, sdlog = is_above_zero), safe = list(meanlog = 0, sdlog = 1),
  valid = list(meanlog = is_number, sdlog = is_not_negative),
  ends = function(...) list(0, Inf), at = function(...) 1,
  density = function(x, meanlog, sdlog, log) {
    u <- nv_abs((nv_log(x) - meanlog) / sdlog)
    if (log) return(-(half_log_2pi + 0.5 * u * u + nv_log(x * sdlog)))
    exp_half_square(u) * exp(-half_log_2pi) / (x * sdlog)
  },
  cdf = function(q, meanlog, sdlog, lower, log) normal_cdf((nv_log(q) - meanlog) / sdlog, lower, log),
  quantile = function(p, meanlog, sdlog, lower, log) nv_exp(meanlog + sdlog * normal_quantile(p, lower, log)),
  degenerate = function(meanlog, sdlog) list(sdlog == 0 | nv_is_infinite(meanlog), nv_exp(meanlog))
)

#' @export
nv_dnorm <- density_function(distributions$norm)
#' @export
nv_pnorm <- cdf_function(distributions$norm)
#' @export
nv_qnorm <- quantile_function(distributions$norm)
#' @export
nv_dlnorm <- density_function(distributions$lnorm)
#' @export
nv_plnorm <- cdf_function(distributions$lnorm)
#' @export
nv_qlnorm <- quantile_function(distributions$lnorm)
