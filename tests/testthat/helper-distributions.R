# Distributions of stats: grids of arguments with their tails, and how far values are from R's.

# One number is 0-d, as an R number.
as_f64 <- function(x) {
  if (length(x) == 1L && is.null(dim(x))) nv_scalar(x, "f64") else nv_tensor(x, dtype = "f64")
}

positive_points <- c(1e-300, 1e-10, 0.01, 0.5, 1, 1.5, 2, 7, 20, 100, 1e4, 1e8)
real_points <- c(-1e10, -1e3, -38, -30, -5.3, -1, -0.3, -1e-20, 0, 1e-10, 0.5, 1, 2.7, 7, 20, 37, 1e3, 1e10)
unit_points <- c(1e-300, 1e-10, 0.01, 0.3, 0.5, 0.9, 0.999)
counts <- c(0, 1, 2, 5, 20, 150, 1e4)
shapes <- c(0.01, 0.5, 1, 1.0001, 2, 3.7, 20, 150)
# None at which a distribution of counts has a step.
probabilities <- c(1.3e-290, 1.7e-20, 1.3e-5, 0.11, 0.37, 0.52, 0.76, 0.9991)

# Of each family the points, and the parameters by name.
stats_grids <- list(
  norm = list(real_points, mean = c(-3, 0, 1e5), sd = c(1e-5, 1, 50)),
  lnorm = list(positive_points, meanlog = c(-3, 0, 5), sdlog = c(0.1, 1, 50)),
  t = list(real_points, df = c(0.5, 1, 2, 3.7, 20, 150, 1e5, Inf)),
  chisq = list(positive_points, df = c(shapes, 1e4, 1e8)),
  f = list(c(1e-5, 0.1, 0.5, 1, 1.5, 4, 100), df1 = shapes[-1], df2 = c(shapes[-1], Inf)),
  gamma = list(positive_points, shape = c(shapes, 1e4, 1e8), rate = c(0.02, 1, 1e5)),
  beta = list(unit_points, shape1 = shapes, shape2 = shapes),
  exp = list(positive_points, rate = c(1e-5, 1, 50)),
  weibull = list(positive_points[-1], shape = c(0.5, 1, 2, 3.7), scale = c(1e-5, 1, 50)),
  logis = list(real_points, location = c(-3, 0, 1e5), scale = c(1e-5, 1, 50)),
  cauchy = list(real_points, location = c(-3, 0, 1e5), scale = c(1e-5, 1, 50)),
  unif = list(c(-4, -3, 0, 0.3, 1, 7), min = c(-3, 0), max = c(1, 1e5)),
  binom = list(counts, size = c(0, 1, 5, 20, 150), prob = c(0, unit_points, 1)),
  nbinom = list(counts[-7], size = c(0.3, 1, 3.7, 20), prob = c(0.01, 0.3, 0.9, 1)),
  nbinom = list(counts[-7], size = c(0.3, 1, 3.7, 20), mu = c(0, 1e-5, 0.3, 7, 1e4)),
  pois = list(c(counts, 1e8 + 3), lambda = c(0, 1e-300, 1e-5, 0.3, 2, 20, 151, 1e4, 1e8)),
  geom = list(counts, prob = c(1e-5, 0.01, 0.5, 1)),
  hyper = list(c(0, 1, 2, 5, 19, 60), m = c(0, 1, 5, 20, 150), n = c(0, 1, 7, 100), k = c(0, 1, 3, 20, 60))
)
discrete_families <- c("binom", "nbinom", "pois", "geom", "hyper")

# All combinations of a grid, the points first and without a name.
points_of <- function(grid) {
  all <- expand.grid(grid, KEEP.OUT.ATTRS = FALSE)
  stats::setNames(as.list(all), c("", names(grid)[-1L]))
}

in_stats <- function(name, args, ...) suppressWarnings(do.call(getExportedValue("stats", name), c(args, ...)))
in_anvil <- function(name, args, ...) {
  as.vector(as_array(do.call(getExportedValue("anvil", paste0("nv_", name)), c(lapply(args, as_f64), ...))))
}

eps <- 2^-52

# In units in the last place, see the help page. Numbers that are not finite have to be the same; beside the
# smallest normal number there are fewer digits.
distance <- function(got, want, log) {
  error <- if (log) {
    abs(got - want) / (eps * pmax(1, abs(want)))
  } else {
    abs(got - want) / (eps * pmax(abs(want), 1e-290) * pmax(1, abs(log(want))))
  }
  error[got == want | is.nan(got) & is.nan(want)] <- 0
  error[is.na(error)] <- Inf
  max(0, error)
}

# The probability of a quantile against the one given; exact for whole numbers.
quantile_distance <- function(family, args) {
  worst <- 0
  for (lower in c(TRUE, FALSE)) {
    got <- in_anvil(paste0("q", family), args, lower.tail = lower)
    if (family %in% discrete_families) {
      want <- in_stats(paste0("q", family), args, lower.tail = lower)
      worst <- max(worst, if (identical(got, want)) 0 else Inf)
    } else {
      at <- c(list(got), args[-1L])
      p <- in_anvil(paste0("p", family), at, lower.tail = lower)
      slope <- abs(got) * in_anvil(paste0("d", family), at)
      error <- abs(p - args[[1L]]) / (eps * (args[[1L]] * pmax(1, abs(log(args[[1L]]))) + slope))
      # Beyond the largest and the smallest number, and at an end or a pole of the density.
      at_end <- abs(got) < 1e-290 | family == "beta" & got == 1 | is.infinite(got)
      error[at_end | is.infinite(slope)] <- 0
      worst <- max(worst, error)
    }
  }
  worst
}

# The row of a family in the table of errors.
distances_of <- function(family) {
  worst <- c(density = 0, log.density = 0, probability = 0, log.probability = 0, quantile = 0)
  for (grid in stats_grids[names(stats_grids) == family]) {
    args <- points_of(grid)
    at <- function(name, log, ...) {
      flags <- c(stats::setNames(list(log), if (startsWith(name, "d")) "log" else "log.p"), list(...))
      distance(in_anvil(name, args, flags), in_stats(name, args, flags), log)
    }
    density <- paste0("d", family)
    probability <- paste0("p", family)
    tails <- function(log) max(at(probability, log), at(probability, log, lower.tail = FALSE))
    # R's qhyper() has no small upper tails.
    p <- if (family == "hyper") probabilities[-(1:2)] else probabilities
    quantiles <- quantile_distance(family, points_of(c(list(p), grid[-1L])))
    here <- c(at(density, FALSE), at(density, TRUE), tails(FALSE), tails(TRUE), quantiles)
    worst <- pmax(worst, here)
  }
  worst
}
