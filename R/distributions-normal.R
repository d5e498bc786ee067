# Normal and lognormal distributions, and what else is computed by the normal one.

half_log_2pi <- 0.918938533204672741780329736406
log_2 <- 0.693147180559945309417232121458

# exp(-u^2 / 2) without the digits that squaring rounds: the square of a number of few digits is
# exact, and the rest is small (Cody 1969). Beyond 64 it is 0 in every dtype.
exp_half_square <- function(u) {
  u <- nv_clamp(-64, u, 64)
  short <- nv_trunc(u * 16) / 16
  nv_exp(-0.5 * short * short) * nv_exp(-0.5 * (u - short) * (u + short))
}

# The distance from 0, whose slope at 0 is 1: an even function of it has all its derivatives there. That of
# nv_abs() is 0, and so would be the second derivative of its square.
distance <- function(z) nv_ifelse(z < 0, -z, z)

# The probability, or its logarithm, with the derivative of a textbook in both modes: the density, or the
# density over the probability. That of the formula would be long, and longer with each order.
normal_cdf <- function(z, lower, log) {
  if (!lower) z <- -z
  f <- function(z) normal_lower_tail(z, log)
  if (!inherits(z, "AnvilValue")) return(f(z))
  custom_jvp_call(f, function(primals, tangents) {
    list(f(primals$z), tangents$z * normal_slope(primals$z, log))
  }, list(z = z))
}

# A probability whose complement is known, or the other way round; likewise of logarithms.
normal_lower_tail <- function(z, log) {
  if (!log && identical(as.character(dtype(z)), "f32") && !ambiguous(z)) return(normal_single(z))
  above <- z < 0
  u <- distance(z)
  scaled <- 0.5 * nv_erfcx(u * sqrt(0.5))
  tail <- scaled * exp_half_square(u)
  if (!log) return(nv_ifelse(above, tail, 1 - tail))
  nv_ifelse(above, nv_log(scaled) - 0.5 * u * u, nv_log1p(-tail))
}

# In single precision one function, whose argument -z / sqrt(2) is rounded, which costs digits in the tails.
# What it differs by comes from products without rounding, of numbers of few digits; the logarithm falls with
# it by about twice the argument. Beyond 20 the probability is 0 or 1.
normal_single <- function(z) {
  z <- nv_clamp(-20, z, 20)
  x <- z * -sqrt(0.5)
  short <- nv_trunc(z * 64) / 64
  factor <- 181 / 256
  less <- x + short * factor + (short * (sqrt(0.5) - factor) + (z - short) * sqrt(0.5))
  nv_erfc(x) * (0.5 + nv_max(x, 0) * less)
}

normal_slope <- function(z, log) {
  density <- nv_exp(-0.5 * z * z) * exp(-half_log_2pi)
  if (!log) return(density)
  # Below 0 both have the same factor.
  scaled <- nv_erfcx(distance(z) * sqrt(0.5)) * sqrt(pi / 2)
  nv_ifelse(z < 0, 1 / scaled, density / (1 - scaled * density))
}

normal_quantile <- function(p, lower, log) {
  if (!log) return(if (lower) nv_probit(p) else -nv_probit(p))
  # By the smaller of both probabilities, as a logarithm or as it is.
  is_small <- p < -log_2
  moderate <- is_small & p > -30
  rest <- -nv_expm1(nv_ifelse(is_small, -1, p))
  small <- nv_probit(nv_ifelse(is_small, nv_exp(nv_ifelse(moderate, p, -1)), rest))
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
    u <- (x - mean) / sd
    if (log) -(half_log_2pi + 0.5 * u * u + nv_log(sd)) else exp_half_square(u) * exp(-half_log_2pi) / sd
  },
  cdf = function(q, mean, sd, lower, log) normal_cdf((q - mean) / sd, lower, log),
  quantile = function(p, mean, sd, lower, log) mean + sd * normal_quantile(p, lower, log),
  degenerate = function(mean, sd) list(sd == 0 | nv_is_infinite(mean), mean), location = "mean",
  everywhere = function(log) !log
)

distribution("lnorm",
  alist(meanlog = 0, sdlog = 1),
  proper = list(meanlog = is_real, sdlog = is_above_zero), safe = list(meanlog = 0, sdlog = 1),
  valid = list(meanlog = is_number, sdlog = is_not_negative),
  ends = function(...) list(0, Inf), at = function(...) 1,
  density = function(x, meanlog, sdlog, log) {
    u <- (nv_log(x) - meanlog) / sdlog
    if (log) return(-(half_log_2pi + 0.5 * u * u + nv_log(x * sdlog)))
    exp_half_square(u) * exp(-half_log_2pi) / (x * sdlog)
  },
  cdf = function(q, meanlog, sdlog, lower, log) normal_cdf((nv_log(q) - meanlog) / sdlog, lower, log),
  quantile = function(p, meanlog, sdlog, lower, log) nv_exp(meanlog + sdlog * normal_quantile(p, lower, log)),
  degenerate = function(meanlog, sdlog) list(sdlog == 0 | nv_is_infinite(meanlog), nv_exp(meanlog))
)

#' Normal and lognormal distributions
#'
#' Density, probability and quantile functions, and random numbers of the normal distribution and of that of
#' `exp(x)` for a normal `x`: R's `dnorm()`, `dlnorm()` and their kin, which have methods that call these.
#'
#' All functions `nv_d*`, `nv_p*`, `nv_q*` and `nv_r*` follow the rules of this page. They have the names of
#' R's functions and arguments, their order and their defaults, and the values of R: the section on accuracy
#' says how close. What is invalid gives NaN without a warning, since a program does not know its values
#' before it runs; so does a NaN. A number that is not whole has density 0 where values are whole. Parameters
#' may have any dtype of numbers: all are promoted to a common float; `bf16` and `f16` are computed in `f32`
#' and rounded once.
#'
#' Outside of [jit()] each function is one program. It is differentiable in each argument and parameter that
#' is continuous; outside of the support, in a point of a discrete distribution, and in a parameter at the
#' end of its range, such as a probability of 0, the derivative is 0. No derivative exists for probabilities
#' of the beta-binomial distribution, and of quantiles that are whole numbers.
#'
#' `nv_r*` give quantiles of uniform numbers, of double precision: with [gradient()] the derivative of a draw
#' of a continuous distribution with respect to a parameter is that of the quantile at a fixed probability,
#' that is `-(dF/dparameter) / density` (implicit reparameterisation). R's own `rnorm()` and its kin have a
#' state of their own and refuse traced values.
#'
#' The density `exp(-z^2 / 2) / (sd sqrt(2 pi))` with `z = (x - mean) / sd` squares `z` in two parts, of which
#' one is exact (Cody 1969); the tails are scaled complementary error functions, [nv_erfcx()], or in single
#' precision [nv_erfc()] with what rounding its argument leaves out. Derivatives are those of a textbook: of a
#' probability the density, which squares `z` at once. The quantile is [nv_probit()], and of a logarithm below
#' -30 a root by Newton's method.
#'
#' @param x,q Points: tensors, traced values, or R numbers and vectors.
#' @param p Probabilities, or their logarithms.
#' @param mean,sd,meanlog,sdlog Mean and standard deviation of the normal distribution: as `x`, single numbers
#'   or of its shape.
#' @param log,log.p Whether densities and probabilities are logarithms: `TRUE` or `FALSE`.
#' @param lower.tail Whether probabilities are those of `X <= x`, or else of `X > x`.
#' @param shape Sizes of the axes of the values; `integer()` is 0-d.
#' @param state A state, see [nv_rng_state()].
#' @param dtype Dtype of the values: its name, or a dtype object. A float, or for whole numbers an integer.
#' @return `nv_d*`, `nv_p*`, `nv_q*`: a tensor of the common float dtype and of the shape with the most axes;
#'   ambiguous if all operands are. `nv_r*`: a list of `state`, the next state, and `value`, a tensor of shape
#'   `shape` and dtype `dtype`.
#' @eval accuracy_tag()
#' @section Errors: As of [nv_dnorm()].
#' @references Cody, W. J. (1969), Rational Chebyshev approximations for the error function, Mathematics of
#'   Computation 23. Wichura, M. J. (1988), Algorithm AS 241: the percentage points of the normal
#'   distribution, Applied Statistics 37.
#' @examples
#' x <- nv_tensor(c(-1, 0, 2.5), dtype = "f64")
#' nv_dnorm(x)
#' nv_pnorm(x, mean = 1, sd = 2, lower.tail = FALSE, log.p = TRUE)
#' nv_qnorm(c(0.025, 0.975))
#' nv_dlnorm(c(0, 1, 10), meanlog = 1, log = TRUE)
#' nv_rlnorm(3, nv_rng_state(1), meanlog = 1)$value
#' # R's own function
#' gradient(function(mean) sum(dnorm(x, mean, log = TRUE)))(nv_scalar(0.5, "f64"))
#' @export
nv_dnorm <- density_function(distributions$norm)

#' @rdname nv_dnorm
#' @export
nv_pnorm <- cdf_function(distributions$norm)

#' @rdname nv_dnorm
#' @export
nv_qnorm <- quantile_function(distributions$norm)

#' @rdname nv_dnorm
#' @export
nv_dlnorm <- density_function(distributions$lnorm)

#' @rdname nv_dnorm
#' @export
nv_plnorm <- cdf_function(distributions$lnorm)

#' @rdname nv_dnorm
#' @export
nv_qlnorm <- quantile_function(distributions$lnorm)
