# dnorm() and its like of R's stats package on tensors.

# The families whose functions have methods.
stats_families <- c(
  "norm", "lnorm", "t", "chisq", "f", "gamma", "beta", "exp", "weibull", "logis", "cauchy", "unif", "binom",
  "nbinom", "pois", "geom", "hyper"
)

# Their functions, and of each the arguments that may be tensors.
stats_functions <- c(
  sapply(paste0(rep(c("d", "p", "q"), each = length(stats_families)), stats_families), function(name) {
    formals <- names(formals(get(name, asNamespace("stats"))))
    c(formals[1L], intersect(formals, names(distributions[[substring(name, 2L)]]$arguments)))
  }, simplify = FALSE),
  list(dmultinom = c("x", "size", "prob"))
)

# R's own functions as S4 generics, as methods::implicitGeneric() makes them, so that packages with methods
# for the same function share them. A method for each choice of arguments that are tensors: with one for each
# argument alone, a call with two of them would have two that fit.
for (name in names(stats_functions)) {
  # The body of the function of ours, which asks what was left out: a call of it could not.
  method <- saying_what_is_missing(get(paste0("nv_", name)))
  formals(method) <- formals(get(name, asNamespace("stats")))
  setGeneric(name)
  for (signature in tensor_choices(stats_functions[[name]])) setMethod(name, signature, method)
}
rm(name, method, signature)

# Called by roxygen2.
distribution_tags <- function() {
  methods <- unlist(Map(function(name, of) {
    paste0(name, ",", vapply(tensor_choices(of), paste, "", collapse = ","), "-method")
  }, names(stats_functions), stats_functions), use.names = FALSE)
  c(
    paste("@importFrom stats", paste(names(stats_functions), collapse = " ")),
    paste("@exportMethod", paste(names(stats_functions), collapse = " ")),
    paste("@aliases", c(names(stats_functions), methods))
  )
}

#' Distributions of R's stats package on tensors
#'
#' `dnorm()`, `pnorm()`, `qnorm()` and their kin are generic functions while anvil is attached: with a tensor
#' or a traced value as any of their arguments they are `nv_dnorm()`, `nv_pnorm()` and so on; with R's own
#' vectors alone they are what they are in stats, with its results, warnings and errors. So are those of the
#' families `norm lnorm t chisq f gamma beta exp weibull logis cauchy unif binom nbinom pois geom hyper`, and
#' `dmultinom()`.
#'
#' The generics are those that methods of other packages for the same functions belong to. Functions of other
#' packages, and `stats::dnorm()`, see those of stats, which read elements. `rnorm()` and its kin draw from
#' R's own generator and refuse traced values: [nv_rnorm()] and its kin draw from a state.
#'
#' Not available for tensors: parameters of non-centrality, `ncp`.
#'
#' @eval distribution_tags()
#' @importFrom methods setGeneric
#' @return A tensor, see [nv_dnorm()]; without tensors what the function of stats gives.
#' @section Errors: As of [nv_dnorm()].
#' @seealso [nv_dnorm()], [nv_dgamma()], [nv_dbeta()], [nv_dbinom()], [nv_dlogis()], [nv_dmultinom()]
#' @examples
#' x <- nv_tensor(c(1, 2, 5), dtype = "f64")
#' dnorm(x, mean = 2)
#' loglik <- function(mu) sum(dpois(c(1, 0, 3), mu, log = TRUE))
#' gradient(loglik)(nv_scalar(2, "f64"))
#' dnorm(0:2)
#' @name stats-distributions
NULL
