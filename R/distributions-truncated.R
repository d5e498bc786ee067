# The normal distribution truncated to an interval, or censored at its ends.

# The logarithm of a tail at a point that may be infinite.
log_normal_tail <- function(z, lower = TRUE) {
  finite <- nv_is_finite(z)
  value <- normal_cdf(nv_ifelse(finite, z, 0), lower, TRUE)
  nv_ifelse(finite, value, nv_ifelse((z > 0) == lower, 0, -Inf))
}

# log(exp(x) - exp(y)) for x > y, which may be -Inf.
log_difference <- function(x, y) {
  some <- y > -Inf
  x + nv_ifelse(some, nv_log1mexp(nv_ifelse(some, x - y, 1)), 0)
}

log_sum <- function(x, y) {
  some <- y > -Inf
  all <- x > -Inf
  # The larger one is finite where both are used.
  both <- some & all
  u <- nv_ifelse(both, x, 0)
  v <- nv_ifelse(both, y, 0)
  high <- nv_max(u, v)
  nv_ifelse(both, high + nv_log1p(nv_exp(nv_min(u, v) - high)), nv_ifelse(some, y, x))
}

# The logarithm of the probability between two points, by the tails on the side where they are small.
log_normal_between <- function(from, to) {
  turned <- from > 0
  low <- nv_ifelse(turned, -to, from)
  high <- nv_ifelse(turned, -from, to)
  log_difference(log_normal_tail(high), log_normal_tail(low))
}

distribution("truncnorm",
  alist(a = -Inf, b = Inf, mean = 0, sd = 1),
  proper = list(a = is_number, b = is_number, mean = is_real, sd = is_positive),
  safe = list(a = -1, b = 1, mean = 0, sd = 1), between = function(a, b, ...) a < b,
  ends = function(a, b, ...) list(a, b),
  at = function(a, b, ...) {
    beside <- nv_ifelse(is.finite(a), a + 1, nv_ifelse(is.finite(b), b - 1, 0))
    nv_ifelse(is.finite(a) & is.finite(b), (a + b) / 2, beside)
  },
  inside = function(x, a, b, ...) x >= a & x <= b & is.finite(x),
  density = function(x, a, b, mean, sd, log) {
    z <- (x - mean) / sd
    value <- -(half_log_2pi + 0.5 * z * z) - nv_log(sd) - log_normal_between((a - mean) / sd, (b - mean) / sd)
    exp_unless(value, log)
  },
  cdf = function(q, a, b, mean, sd, lower, log) {
    z <- (q - mean) / sd
    from <- (a - mean) / sd
    to <- (b - mean) / sd
    part <- if (lower) log_normal_between(from, z) else log_normal_between(z, to)
    exp_unless(nv_min(part - log_normal_between(from, to), 0), log)
  },
  quantile = function(p, a, b, mean, sd, lower, log) {
    from <- (a - mean) / sd
    to <- (b - mean) / sd
    part <- (if (log) p else nv_log(p)) + log_normal_between(from, to)
    # From the end at which p begins, on the side where tails are small.
    turned <- from > 0
    start <- if (lower) from else to
    end <- log_normal_tail(nv_ifelse(turned, -start, start))
    grows <- turned != lower
    whole <- nv_ifelse(
      grows, log_sum(nv_ifelse(grows, end, 0), part),
      log_difference(nv_ifelse(grows, 0, end), nv_ifelse(grows, -1, part))
    )
    z <- normal_quantile(nv_min(whole, -1e-300), TRUE, TRUE)
    nv_clamp(a, mean + sd * nv_ifelse(turned, -z, z), b)
  }
)

distribution("censnorm",
  alist(mean = 0, sd = 1, left = -Inf, right = Inf), has_atoms = TRUE,
  proper = list(mean = is_real, sd = is_positive, left = is_number, right = is_number),
  safe = list(mean = 0, sd = 1, left = -1, right = 1), between = function(left, right, ...) left < right,
  ends = function(left, right, ...) list(left, right),
  at = function(left, right, ...) distributions$truncnorm$at(left, right),
  inside = function(x, mean, sd, left, right) x >= left & x <= right & is.finite(x),
  density = function(x, mean, sd, left, right, log) {
    z <- (x - mean) / sd
    value <- -(half_log_2pi + 0.5 * z * z) - nv_log(sd)
    at_left <- log_normal_tail((left - mean) / sd)
    at_right <- log_normal_tail((right - mean) / sd, FALSE)
    exp_unless(nv_ifelse(x == left, at_left, nv_ifelse(x == right, at_right, value)), log)
  },
  cdf = function(q, mean, sd, left, right, lower, log) normal_cdf((q - mean) / sd, lower, log),
  quantile = function(p, mean, sd, left, right, lower, log) {
    nv_clamp(left, mean + sd * normal_quantile(p, lower, log), right)
  }
)

#' Truncated and censored normal distributions
#'
#' Of a normal variable with `mean` and `sd`: if it is known to be between `a` and `b` (truncated), and if
#' what is below `left` is observed as `left`, and what is above `right` as `right` (censored).
#' `nv_dcensnorm()` gives at `left` and `right` the probability of these points, and between them the density,
#' so that its logarithm is what an observation adds to a likelihood (the Tobit model).
#'
#' The probability of an interval is a difference of tails on the side where they are small, as logarithms: it
#' has its digits in far tails too.
#'
#' @inheritParams nv_dnorm
#' @param a,b Ends of the truncated distribution; may be infinite.
#' @param mean,sd Mean and standard deviation of the normal variable.
#' @param left,right Ends of the censored distribution; may be infinite.
#' @inherit nv_dnorm return
#' @section Errors: As of [nv_dnorm()].
#' @references Tobin, J. (1958), Estimation of relationships for limited dependent variables, Econometrica 26.
#' @seealso [nv_dnorm()] for what holds of all distributions.
#' @examples
#' nv_dtruncnorm(c(-1, 0.5, 3), a = 0, b = 2)
#' nv_ptruncnorm(41, a = 40, lower.tail = FALSE, log.p = TRUE)
#' nv_rtruncnorm(3, nv_rng_state(1), a = 5)$value
#' nv_dcensnorm(c(0, 0.5), mean = 1, left = 0, log = TRUE)
#' @export
nv_dtruncnorm <- density_function(distributions$truncnorm)

#' @rdname nv_dtruncnorm
#' @export
nv_ptruncnorm <- cdf_function(distributions$truncnorm)

#' @rdname nv_dtruncnorm
#' @export
nv_qtruncnorm <- quantile_function(distributions$truncnorm)

#' @rdname nv_dtruncnorm
#' @export
nv_dcensnorm <- density_function(distributions$censnorm)

#' @rdname nv_dtruncnorm
#' @export
nv_pcensnorm <- cdf_function(distributions$censnorm)

#' @rdname nv_dtruncnorm
#' @export
nv_qcensnorm <- quantile_function(distributions$censnorm)
