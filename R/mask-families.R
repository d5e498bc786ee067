# Links and families of generalized linear models in a traced function, see mask-glm.R: R's own call code in
# C, or look at the elements.

# nolint start: object_name_linter. Names are those of R.

above_zero <- function(x) nv_is_finite(x) & nv_gt(x, 0)

# Functions of a link: `of` the mean, `mean` of the linear predictor, and its `slope`; `valid` says of which
# predictors there is a mean. As in R, means and slopes stay away from the ends that a float cannot tell.
glm_links <- list(
  logit = list(
    of = function(mu) log(mu / (1 - mu)),
    mean = function(eta) nv_logistic(far_logits(eta)),
    slope = function(eta) {
      slope <- nv_logistic(eta) * nv_logistic(-eta)
      nv_ifelse(nv_gt(abs(eta), 30), epsilon_of(eta), slope)
    }
  ),
  probit = list(
    of = function(mu) qnorm(mu),
    mean = function(eta) {
      end <- -stats::qnorm(epsilon_of(eta))
      pnorm(nv_clamp(-end, eta, end))
    },
    slope = function(eta) nv_max(dnorm(eta), epsilon_of(eta))
  ),
  cauchit = list(
    of = function(mu) qcauchy(mu),
    mean = function(eta) {
      end <- -stats::qcauchy(epsilon_of(eta))
      pcauchy(nv_clamp(-end, eta, end))
    },
    slope = function(eta) nv_max(dcauchy(eta), epsilon_of(eta))
  ),
  cloglog = list(
    of = function(mu) log(-log1p(-mu)),
    mean = function(eta) nv_clamp(epsilon_of(eta), -expm1(-exp(eta)), 1 - epsilon_of(eta)),
    # Beyond, 0 times an infinite number is NaN.
    slope = function(eta) nv_max(exp(nv_min(eta, 80)) * exp(-exp(nv_min(eta, 80))), epsilon_of(eta))
  ),
  log = list(
    of = function(mu) log(mu),
    mean = function(eta) nv_max(exp(eta), epsilon_of(eta)),
    slope = function(eta) nv_max(exp(eta), epsilon_of(eta))
  ),
  identity = list(of = identity, mean = identity, slope = function(eta) eta * 0 + 1),
  sqrt = list(
    of = function(mu) sqrt(mu), mean = function(eta) eta^2, slope = function(eta) 2 * eta, valid = above_zero
  ),
  inverse = list(
    of = function(mu) 1 / mu, mean = function(eta) 1 / eta, slope = function(eta) -1 / eta^2,
    valid = function(eta) nv_is_finite(eta) & nv_ne(eta, 0)
  ),
  `1/mu^2` = list(
    of = function(mu) 1 / mu^2, mean = function(eta) 1 / sqrt(eta), slope = function(eta) -1 / (2 * eta^1.5),
    valid = above_zero
  )
)

# Numbers of R are doubles.
epsilon_of <- function(x) if (dtype(x) == "f64" || ambiguous(x)) .Machine$double.eps else 2^-23

# R has the mean of logits beyond 30 as near to 0 or 1 as doubles are.
far_logits <- function(eta) {
  end <- -log(epsilon_of(eta))
  from <- min(30, end)
  nv_ifelse(nv_gt(eta, from), end, nv_ifelse(nv_lt(eta, -from), -end, eta))
}

# `y log(y / mu)`, which is 0 where `y` is.
y_log_y <- function(y, mu) {
  is_zero <- nv_eq(y, 0)
  nv_ifelse(is_zero, 0, y * log(nv_ifelse(is_zero, 1, y / mu)))
}

finite_elements <- function(x) nv_is_finite(x)

# Functions of a family. `takes` says which responses, `valid` which means there are; `deviance` has a term
# for each row, `aic` has no term for the coefficients, and `spread` says that the dispersion is a parameter.
# Rows that are not `in_use` have weights of 0.
glm_families <- list(
  gaussian = list(
    start = function(y, w) y, takes = finite_elements, valid = finite_elements,
    variance = function(mu) mu * 0 + 1,
    deviance = function(y, mu, w) w * (y - mu)^2, spread = TRUE,
    aic = function(y, n, mu, w, dev, in_use) {
      count <- if (is.null(in_use)) length(y) else nv_reduce_sum(in_use)
      if (!is.null(in_use)) w <- nv_ifelse(in_use, w, 1)
      count * (log(dev / count * 2 * pi) + 1) + 2 - sum(log(w))
    }
  ),
  binomial = list(
    start = function(y, w) (w * y + 0.5) / (w + 1), takes = function(y) nv_ge(y, 0) & nv_le(y, 1),
    valid = function(mu) nv_gt(mu, 0) & nv_lt(mu, 1), variance = function(mu) mu * (1 - mu),
    deviance = function(y, mu, w) 2 * w * (y_log_y(y, mu) + y_log_y(1 - y, 1 - mu)), spread = FALSE,
    aic = function(y, n, mu, w, dev, in_use) {
      trials <- if (is.null(n)) w else nv_ifelse(nv_reduce_any(nv_gt(n, 1)), n, w)
      none <- nv_le(trials, 0)
      size <- nv_round(nv_ifelse(none, 1, trials))
      logs <- dbinom(nv_round(nv_ifelse(none, 0, trials * y)), size, mu, log = TRUE)
      -2 * sum(nv_ifelse(none, 0, w / nv_ifelse(none, 1, trials) * logs))
    }
  ),
  poisson = list(
    start = function(y, w) y + 0.1, takes = function(y) nv_ge(y, 0), valid = above_zero, variance = identity,
    deviance = function(y, mu, w) 2 * w * (y_log_y(y, mu) - (y - mu)), spread = FALSE,
    aic = function(y, n, mu, w, dev, in_use) -2 * sum(dpois(y, mu, log = TRUE) * w)
  ),
  Gamma = list(
    start = function(y, w) y, takes = above_zero, valid = above_zero, variance = function(mu) mu^2,
    deviance = function(y, mu, w) -2 * w * (log(y / mu) - (y - mu) / mu), spread = TRUE,
    aic = function(y, n, mu, w, dev, in_use) {
      spread <- dev / sum(w)
      -2 * sum(dgamma(y, 1 / spread, 1 / (mu * spread), log = TRUE) * w) + 2
    }
  ),
  inverse.gaussian = list(
    start = function(y, w) y, takes = above_zero, valid = finite_elements, variance = function(mu) mu^3,
    deviance = function(y, mu, w) w * (y - mu)^2 / (y * mu^2), spread = TRUE,
    aic = function(y, n, mu, w, dev, in_use) {
      total <- sum(w)
      total * (log(dev / total * 2 * pi) + 1) + 3 * sum(w * log(y)) + 2
    }
  )
)

# Those of which only mean and variance are known: the same steps, without a likelihood.
as_quasi <- function(family) {
  family$spread <- TRUE
  family$aic <- function(y, n, mu, w, dev, in_use) dev * NaN
  family
}
glm_families$quasibinomial <- as_quasi(glm_families$binomial)
glm_families$quasipoisson <- as_quasi(glm_families$poisson)

is_of_trials <- function(family) family$family %in% c("binomial", "quasibinomial")

# What computes by ops what a function of a link or family of R's does, such as `binomial()$linkinv`; NULL of
# any other function. R's are known by their code.
family_function_of <- function(f) {
  if (typeof(f) != "closure") return(NULL)
  stats <- asNamespace("stats")
  home <- environment(f)
  if (identical(home, emptyenv())) return(NULL)
  if (!identical(home, stats) && !identical(parent.env(home), stats)) return(NULL)
  for (name in names(glm_links)) {
    own <- stats::make.link(name)
    link <- glm_links[[name]]
    if (is_code_of(f, own$linkinv)) return(function(eta) link$mean(eta))
    if (is_code_of(f, own$linkfun)) return(function(mu) link$of(mu))
    if (is_code_of(f, own$mu.eta)) return(function(eta) link$slope(eta))
  }
  for (name in names(glm_families)) {
    deviance <- glm_families[[name]]$deviance
    if (is_code_of(f, get(name, stats)()$dev.resids)) return(function(y, mu, wt) deviance(y, mu, wt))
  }
}

is_code_of <- function(f, g) identical(body(f), body(g)) && identical(formals(f), formals(g))

# A family as R takes it, a function, its name or what it gives: R's own.
family_of <- function(family, frame) {
  if (is.character(family) && length(family) == 1L) {
    family <- get0(family, frame, mode = "function", ifnotfound = family)
  }
  if (is.function(family)) family <- by_r("family", family(), "a family")
  families <- names(glm_families)
  if (!inherits(family, "family") || !family$family %in% families) {
    found <- if (inherits(family, "family")) paste0("`", family$family, "()`") else describe(family)
    abort_arg(
      "family", paste0(paste0("`", families, "()`", collapse = ", "), " in a traced function"), found,
      "Fit outside of the traced function, or follow the `gradient()` of its log-likelihood."
    )
  }
  links <- names(glm_links)
  if (family$link %in% links) return(family)
  listed <- paste0("\"", links, "\"", collapse = ", ")
  abort_arg(
    "family", paste("one with the link", listed, "in a traced function"),
    paste0("one with the link \"", family$link, "\""), "Write such as `binomial(link = \"probit\")`."
  )
}

# nolint end
