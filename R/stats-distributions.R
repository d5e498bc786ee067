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

# They are generics as those of base-generics.R are, with a method for tensors.
for (name in names(stats_functions)) {
  generic <- function() NULL
  formals(generic) <- formals(get(name, asNamespace("stats")))
  # `scale = 1 / rate` is computed by the method alone.
  held <- lapply(stats_functions[[name]], function(arg) {
    value <- as.name(arg)
    if (is.call(formals(generic)[[arg]])) bquote(if (!missing(.(value))) .(value)) else value
  })
  held <- as.call(c(quote(among), held))
  body(generic) <- bquote(UseMethod(.(name), .(held)))
  assign(name, generic)
  # The body of the function of ours, which asks what was left out: a call of it could not.
  method <- saying_what_is_missing(get(paste0("nv_", name)))
  formals(method) <- formals(generic)
  if ("ncp" %in% names(formals(generic))) {
    body(method) <- bquote({
      if (!missing(ncp) && is_noncentral(ncp)) {
        return(of_elements(.(name), given_in(.(names(formals(generic))), environment())))
      }
      .(body(method))
    })
  }
  assign(paste0(name, ".AnvilValue"), method)
  if (name != "dmultinom") {
    of_selection <- function() NULL
    formals(of_selection) <- formals(generic)
    body(of_selection) <- bquote(on_values(
      given_in(.(names(formals(generic))), environment()), .(as.name(paste0(name, ".AnvilValue")))
    ))
    assign(paste0(name, ".AnvilSelection"), of_selection)
  }
}
rm(name, generic, held, method, of_selection)

# What R gives for the elements, as a tensor: there are no ops for distributions that are not central.
of_elements <- function(name, given) {
  traced <- Filter(is_traced, given)
  if (length(traced)) {
    abort(
      "anvil_error_concrete",
      paste0(
        "A traced value has no elements yet: `", name, "()` with `ncp` cannot read them.\n",
        "i Only the central distribution is available in a program: leave `ncp` out, or call it outside."
      ),
      where = paste0(name, "()"), aval = format(traced[[1L]]), line = "", call = user_call()
    )
  }
  of_r <- lapply(given, function(x) if (is_value(x)) as_array(x) else x)
  out <- by_base(do.call(get(name, asNamespace("stats")), of_r))
  do.call(nv_promote_to_common, c(list(as_operand(out)), unname(Filter(is_value, given))))[[1L]]
}

# Called by roxygen2.
distribution_tags <- function() {
  names <- names(stats_functions)
  c(
    paste0("@rawNamespace export(", names, ")"), paste0("@rawNamespace S3method(", names, ", AnvilValue)"),
    paste0("@rawNamespace S3method(", setdiff(names, "dmultinom"), ", AnvilSelection)"),
    paste("@aliases", names)
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
#' Functions of other packages see those of stats, which read elements, and so does `stats::dnorm()` outside
#' of traced functions. `rnorm()` and its kin draw from R's own generator and refuse traced values:
#' [nv_rnorm()] and its kin draw from a state.
#'
#' With a parameter of non-centrality, `ncp`, they give R's values of the elements, as tensors: traced values
#' have none, and are refused.
#'
#' @eval distribution_tags()
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
