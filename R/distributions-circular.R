# Von Mises distribution, on the circle.

# Nodes and weights of the rule of Gauss and Legendre on (0, 1), by Newton's method on the polynomial.
legendre_rule <- function(n) {
  i <- seq_len(n)
  x <- cos(pi * (i - 0.25) / (n + 0.5))
  for (step in 1:10) {
    before <- 1
    p <- x
    for (k in 2:n) {
      following <- ((2 * k - 1) * x * p - (k - 1) * before) / k
      before <- p
      p <- following
    }
    slope <- n * (x * p - before) / (x^2 - 1)
    x <- x - p / slope
  }
  list(at = (1 - x) / 2, weight = 1 / ((1 - x^2) * slope^2))
}
circular_rule <- legendre_rule(40L)

# The angle from -pi to pi that is x.
wrapped <- function(x) x - 2 * pi * nv_floor((x + pi) / (2 * pi))

# The probability beyond the angle d, from 0 to pi: exp(-2 kappa sin(d / 2)^2) times the integral of
# exp(-2 kappa sin(s / 2) sin(d + s / 2)) over s, to where that is exp(-40) or to the end of the circle, and
# divided by 2 pi exp(-kappa) I0(kappa).
von_mises_tail <- function(d, kappa, log) {
  low <- nv_sin(d / 2)
  high <- low * low + 20 / kappa
  is_cut <- high < 1
  end <- nv_ifelse(is_cut, 2 * nv_asin(nv_sqrt(nv_ifelse(is_cut, high, 0.5))), pi)
  width <- nv_max(end - d, 0)
  total <- 0
  for (i in seq_along(circular_rule$at)) {
    s <- width * circular_rule$at[i]
    total <- total + circular_rule$weight[i] * nv_exp(-2 * kappa * nv_sin(s / 2) * nv_sin(d + s / 2))
  }
  mass <- width * total / (2 * pi * nv_bessel_i(kappa, 0, scaled = TRUE))
  if (log) nv_log(mass) - 2 * kappa * low * low else mass * nv_exp(-2 * kappa * low * low)
}

distribution("vonmises",
  alist(mu = 0, kappa = 1),
  proper = list(mu = is_real, kappa = is_positive), safe = list(mu = 0, kappa = 1),
  valid = list(kappa = function(x) x >= 0 & x < Inf),
  inside = function(x, mu, kappa) nv_is_finite(x),
  boundary = function(x, mu, kappa, log) {
    value <- nv_ifelse(kappa == 0 & nv_is_finite(x), 1 / (2 * pi), 0)
    if (log) nv_log(value) else value
  },
  density = function(x, mu, kappa, log) {
    low <- nv_sin((x - mu) / 2)
    growth <- 2 * kappa * low * low
    base <- nv_bessel_i(kappa, 0, scaled = TRUE)
    if (log) -growth - log(2 * pi) - nv_log(base) else nv_exp(-growth) / (2 * pi * base)
  },
  ends = function(mu, kappa) list(mu - pi, mu + pi), at = function(mu, kappa) mu,
  cdf = function(q, mu, kappa, lower, log) {
    d <- q - mu
    if (!lower) d <- -d
    tail <- von_mises_tail(distance(d), kappa, log)
    if (log) nv_ifelse(d < 0, tail, nv_log1mexp(-tail)) else nv_ifelse(d < 0, tail, 1 - tail)
  },
  quantile = function(p, mu, kappa, lower, log) von_mises_quantile(p, mu, kappa, lower, log)
)

# Halves of the circle, then Newton's method, which has the derivative too.
von_mises_quantile <- function(p, mu, kappa, lower, log) {
  cdf <- function(d, kappa) {
    tail <- von_mises_tail(distance(d), kappa, FALSE)
    nv_ifelse(d < 0, tail, 1 - tail)
  }
  # The smaller of both tails, and on which side.
  low <- if (log) nv_exp(p) else p
  high <- if (log) -nv_expm1(p) else 1 - p
  is_low <- low <= high
  tail <- nv_ifelse(is_low, low, high)
  fixed <- nv_stop_gradient(kappa)
  goal <- nv_stop_gradient(tail)
  from <- 0 * (goal + fixed) - pi
  ends <- nv_for(50L, list(low = from, high = from + pi), function(i, low, high) {
    middle <- (low + high) / 2
    beyond <- cdf(middle, fixed) >= goal
    list(low = nv_ifelse(beyond, low, middle), high = nv_ifelse(beyond, middle, high))
  })
  d <- nv_stop_gradient((ends$low + ends$high) / 2)
  for (i in 1:2) d <- d - (cdf(d, kappa) - tail) / distributions$vonmises$density(d, 0, kappa, FALSE)
  mu + nv_ifelse(is_low == lower, d, -d)
}

#' Von Mises distribution
#'
#' The distribution of angles with density `exp(kappa cos(x - mu)) / (2 pi I0(kappa))`, the normal one of the
#' circle. It has a density for every `x`, which repeats itself each `2 pi`; probabilities and quantiles are
#' those from `mu - pi` to `mu + pi`. `kappa = 0` is the uniform distribution, of which only the density is
#' given.
#'
#' Tails are integrals of the density, by the rule of Gauss and Legendre with 40 points over that part of the
#' circle where it is above exp(-40) of its largest value: to about 1e-13 of the smaller tail. Quantiles are
#' found by halving and two steps of Newton's method.
#'
#' @inheritParams nv_dnorm
#' @param mu Mean direction, in radians.
#' @param kappa Concentration, at least 0.
#' @inherit nv_dnorm return
#' @section Errors: As of [nv_dnorm()].
#' @references Mardia and Jupp (2000), Directional statistics.
#' @seealso [nv_dnorm()] for what holds of all distributions.
#' @examples
#' nv_dvonmises(c(0, pi), mu = 0, kappa = 2)
#' nv_pvonmises(1, kappa = 100, lower.tail = FALSE)
#' nv_rvonmises(3, nv_rng_state(1), mu = 1, kappa = 4)$value
#' @export
nv_dvonmises <- density_function(distributions$vonmises)

#' @rdname nv_dvonmises
#' @export
nv_pvonmises <- cdf_function(distributions$vonmises)

#' @rdname nv_dvonmises
#' @export
nv_qvonmises <- quantile_function(distributions$vonmises)
