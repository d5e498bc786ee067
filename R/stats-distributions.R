# dnorm() and its like of R's stats package on tensors.

#' @importFrom stats dnorm pnorm qnorm
NULL

# In R's own order: the families whose functions have methods.
stats_families <- c(
  "norm", "lnorm", "t", "chisq", "f", "gamma", "beta", "exp", "weibull", "logis", "cauchy", "unif", "binom",
  "nbinom", "pois", "geom", "hyper"
)

for (name in stats_families) {
  for (kind in c("d", "p", "q")) {
    set_distribution_methods(paste0(kind, name), names(distributions[[name]]$arguments), topenv())
  }
}
rm(name, kind)
