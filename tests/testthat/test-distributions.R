# Densities, probabilities and quantiles of single numbers; see helper-distributions.R.

families <- unique(names(stats_grids))

test_that("values are R's, as near as the table of the help page says", {
  bounds <- read_catalogue("distributions.tsv")
  expect_identical(bounds$family, families)
  for (i in seq_along(families)) {
    most <- unlist(bounds[i, -1L])
    most[most == "exact"] <- "0"
    worst <- distances_of(families[i])
    expect_true(all(worst <= as.numeric(most)), label = paste(families[i], paste(worst, collapse = " ")))
  }
})

# Points and parameters at and beyond the ends, in which R and programs agree.
edges <- list(
  norm = list(c(-Inf, -1, 0, 2, Inf, NaN), mean = c(-1, Inf, -Inf, NaN), sd = c(-1, 0, 1, NaN)),
  norm = list(c(-Inf, -1, 0, 2, Inf, NaN), mean = c(-1, 0), sd = Inf),
  lnorm = list(c(-Inf, -1, 0, 2, Inf, NaN), meanlog = c(-1, 0, NaN), sdlog = c(0.5, NaN)),
  t = list(c(-Inf, -1e200, 0, 1e200, Inf, NaN), df = c(-1, 0, 0.5, 1, Inf, NaN)),
  chisq = list(c(-1, 0, 1, Inf, NaN), df = c(-1, 0, 1, 2, 3, NaN)),
  f = list(c(-1, 0, 1, NaN), df1 = c(-1, 0, 1, 2, 3, NaN), df2 = c(-1, 0, 2, Inf, NaN)),
  gamma = list(c(-1, 0, 1, Inf, NaN), shape = c(-1, 0, 0.5, 1, 2, NaN), rate = c(1, NaN)),
  beta = list(c(-1, 0, 0.3, 1, 2, NaN), shape1 = c(-1, 0.5, 1, 2, NaN), shape2 = c(-1, 0.5, 1, 2, NaN)),
  exp = list(c(-1, 0, 1, Inf, NaN), rate = c(-1, 1, NaN)),
  weibull = list(c(-1, 0, 1, Inf, NaN), shape = c(-1, 0.5, 1, 2, NaN), scale = c(-1, 2, NaN)),
  logis = list(c(-Inf, -800, 0, 800, Inf, NaN), location = c(0, NaN), scale = c(-1, 2, NaN)),
  cauchy = list(c(-Inf, -1e100, 0, 1e100, Inf, NaN), location = c(0, NaN), scale = c(-1, 2, NaN)),
  unif = list(c(-Inf, -1, 0, 0.5, 1, 2, Inf, NaN), min = c(0, NaN), max = c(-1, 1, NaN)),
  binom = list(
    c(-1, 0, 1, 2.5, 3, 4, Inf, NaN), size = c(-1, 0, 1.5, 3, NaN), prob = c(-1, 0, 0.5, 1, 2, NaN)
  ),
  nbinom = list(c(-1, 0, 1, 2.5, 3, NaN), size = c(-1, 0, 3, NaN), prob = c(-1, 0.5, 1, 2, NaN)),
  nbinom = list(c(-1, 0, 1, 2.5, 3, NaN), size = c(-1, 3, NaN), mu = c(-1, 0, 2, NaN)),
  pois = list(c(-1, 0, 1, 2.5, 3, Inf, NaN), lambda = c(-1, 0, 2, NaN)),
  geom = list(c(-1, 0, 1, 2.5, 3, Inf, NaN), prob = c(-1, 0.5, 1, 2, NaN)),
  hyper = list(c(-1, 0, 1, 2.5, 3, NaN), m = c(-1, 0, 2, NaN), n = c(0, 3), k = c(0, 2, 9))
)

test_that("ends, limits and what is invalid are R's, without a warning", {
  for (i in seq_along(edges)) {
    family <- names(edges)[i]
    args <- points_of(edges[[i]])
    for (name in paste0(c("d", "p"), family)) {
      flags <- if (startsWith(name, "d")) list(log = TRUE) else list(lower.tail = FALSE)
      for (flag in list(NULL, flags)) {
        expect_no_warning(got <- in_anvil(name, args, flag))
        expect_equal(got, in_stats(name, args, flag), tolerance = 1e-14, label = name)
      }
    }
    ends <- points_of(c(list(c(0, 0.3, 1)), edges[[i]][-1L]))
    # R answers for p at an end before it looks at the parameters.
    valid <- !is.nan(in_stats(paste0("d", family), c(list(0), ends[-1L])))
    got <- in_anvil(paste0("q", family), ends)[valid]
    # In which order R asks for the ends and for an infinite mean, or no variance, depends on the family.
    if (family != "norm") {
      want <- in_stats(paste0("q", family), ends)[valid]
      expect_equal(got, want, tolerance = 1e-12, label = paste("q of", family))
    }
  }
  expect_identical(in_anvil("qnorm", list(c(-0.1, 1.1, NaN))), c(NaN, NaN, NaN))
  expect_identical(in_anvil("qpois", list(c(-0.1, 1.1, NaN), 2)), c(NaN, NaN, NaN))
  expect_equal(in_anvil("qnorm", list(c(0.1, NaN, -1)), log.p = TRUE), c(NaN, NaN, qnorm(-1, log.p = TRUE)))
})

test_that("far tails keep their digits", {
  expect_equal(in_anvil("pnorm", list(-1e5), log.p = TRUE), pnorm(-1e5, log.p = TRUE), tolerance = 1e-15)
  expect_equal(in_anvil("pnorm", list(-38)), pnorm(-38), tolerance = 1e-14)
  p <- c(-1e300, -1e10, -800, -31, -29, -1e-5, -1e-20)
  back <- in_anvil("pnorm", list(in_anvil("qnorm", list(p), log.p = TRUE)), log.p = TRUE)
  expect_equal(back, p, tolerance = 1e-13)
  expect_equal(in_anvil("dbinom", list(5e8, 1e9, 0.5)), dbinom(5e8, 1e9, 0.5), tolerance = 1e-12)
  # R's own values are off: by 2e-4, by 2e-9, and the last logarithm by 159 (mpmath with 50 digits).
  expect_equal(in_anvil("df", list(1e-5, 1e8, 1e-5)), 0.30326515481821790636, tolerance = 1e-14)
  expect_equal(in_anvil("dnbinom", list(1, 1e8, mu = 7)), 0.0063831748759370616605, tolerance = 1e-14)
  log_tail <- in_anvil("pnbinom", list(20, 1e8, mu = 1e4), log.p = TRUE)
  expect_equal(log_tail, -9857.6288383501816512, tolerance = 1e-14)
  expect_equal(in_anvil("pt", list(-1e200, 0.5)), pt(-1e200, 0.5), tolerance = 1e-13)
})

test_that("quantiles and tails of extreme parameters are R's, and no end of the range in their place", {
  same <- function(f, args, ..., tolerance = 1e-9) {
    value <- in_anvil(f, args, ...)
    expected <- do.call(f, c(args, list(...)))
    expect_true(all(is.finite(expected)))
    # Relative for each value: a mean over values of all sizes would not see the small ones.
    expect_lt(max(ifelse(value == expected, 0, abs(value / expected - 1))), tolerance)
  }
  # A large parameter and a tiny one: the first step of Newton's method leads far beyond the quantile.
  a <- c(2, 2, 1000, 1e6, 1e10, 58.9, 6.8e10)
  b <- c(1e-8, 1e-12, 1e-8, 1e-9, 1e-10, 5.8e-5, 4.4e-7)
  p <- c(1e-100, 1e-120, 1e-100, 1e-250, 1e-300, 1e-51, 1e-219)
  same("qbeta", list(p, a, b))
  same("qbeta", list(log(p), a, b), log.p = TRUE)
  same("qbeta", list(c(1e-115, 1e-138, 1e-200), c(1e-6, 1e-4, 1e-8), c(1e12, 1e3, 5)), lower.tail = FALSE)
  same("qf", list(0.30531126353889704, 10.8776, 1.057282e-03))
  same("qf", list(0.00231511297418231, 301.9, 6.7818e-06))
  same("qf", list(c(1e-77, 1e-59), c(1e-4, 1e-8), c(52, 24)), lower.tail = FALSE)
  # The median of a symmetric distribution.
  shapes <- 10^seq(-12, 12, 3)
  expect_identical(in_anvil("qbeta", list(0.5, shapes, shapes)), rep(0.5, length(shapes)))
  same("qt", list(0.282799334730953, 0.00160903226674929))
  # Upper tails of tiny shapes.
  shape <- c(2.7e-11, 5.7e-5, 1.9e-11, 1e-3, 0.05, 0.1, 0.2)
  for (p in c(1e-13, 1e-50, 1e-142, 1e-208, 1e-300)) {
    same("qgamma", list(p, shape), lower.tail = FALSE)
    same("qchisq", list(p, shape), lower.tail = FALSE)
    same("qgamma", list(log(p) - 100, shape), lower.tail = FALSE, log.p = TRUE)
  }
  same("qgamma", list(1 - 1e-10, c(1e-3, 3e-3)), tolerance = 1e-6)
  # Where the quotient of the parameters underflows; beside a parameter that is not seen in the sum of both.
  tiny <- c(5e-324, 1e-310)
  x <- c(1e-300, 0.3, 0.9)
  for (y in tiny) {
    expect_equal(in_anvil("pbeta", list(x, 2, y)), c(0, 0, 0))
    expect_equal(in_anvil("pbeta", list(x, y, 2)), c(1, 1, 1))
    expect_equal(in_anvil("pbeta", list(x, 2, y), lower.tail = FALSE), c(1, 1, 1))
  }
  same("pbeta", list(x, 2, 1e-310), log.p = TRUE)
  # The gamma distribution that the beta distribution tends to, over the large parameter.
  of_gamma <- qgamma(1e-100, 1e20) / 1e20
  expect_equal(in_anvil("qbeta", list(1e-100, 1e20, 1e100)) * 1e80, of_gamma, tolerance = 1e-13)
  expect_equal(in_anvil("qbeta", list(1e-16, 1e3, 1e300)) * 1e300, qgamma(1e-16, 1e3), tolerance = 1e-12)
  expect_equal(in_anvil("pbeta", list(9e-298, 1e3, 1e300)), pgamma(900, 1e3), tolerance = 1e-12)
})

# A usual point of each family, as a list by name.
usual <- list(
  norm = list(x = 0.3, mean = -0.5, sd = 1.7), lnorm = list(x = 0.8, meanlog = -0.5, sdlog = 1.7),
  t = list(x = -1.3, df = 3.3), chisq = list(x = 2.2, df = 3.1), f = list(x = 1.2, df1 = 3.3, df2 = 7.1),
  gamma = list(x = 1.3, shape = 2.2, rate = 0.7), beta = list(x = 0.4, shape1 = 2.2, shape2 = 0.7),
  exp = list(x = 1.1, rate = 0.6), weibull = list(x = 1.2, shape = 1.7, scale = 2.1),
  logis = list(x = 0.3, location = -0.5, scale = 1.7), cauchy = list(x = 0.3, location = -0.5, scale = 1.7),
  unif = list(x = 0.3, min = -0.5, max = 1.7), binom = list(x = 3, size = 7, prob = 0.3),
  nbinom = list(x = 3, size = 2.7, prob = 0.3), nbinom = list(x = 3, size = 2.7, mu = 4.1),
  pois = list(x = 3, lambda = 2.2), geom = list(x = 3, prob = 0.3),
  invgamma = list(x = 1.3, shape = 2.2, rate = 0.7), laplace = list(x = 0.3, location = -0.5, scale = 1.7),
  gumbel = list(x = 0.3, location = -0.5, scale = 1.7), vonmises = list(x = 0.3, mu = -0.5, kappa = 3),
  truncnorm = list(x = 0.3, a = -1, b = 2, mean = -0.5, sd = 1.7),
  censnorm = list(x = 0.3, mean = -0.5, sd = 1.7, left = -1, right = 2),
  bern = list(x = 0, prob = 0.3), bern = list(x = 0, logits = 0.3),
  betabinom = list(x = 3, size = 7, shape1 = 2.2, shape2 = 0.7)
)
is_discrete <- function(family) family %in% c(discrete_families, "bern", "betabinom")

test_that("derivatives at the centre of a symmetric distribution are those of its neighbourhood", {
  # Five-point formulas: of R's functions at steps of 1e-3 they are exact to 1e-9.
  slopes <- function(f, x, h = 1e-3) {
    y <- vapply(-2:2, function(i) f(x + i * h), x)
    list(
      drop(y %*% c(1, -8, 0, 8, -1)) / (12 * h), drop(y %*% c(-1, 16, -30, 16, -1)) / (12 * h^2)
    )
  }
  check <- function(f, x) {
    want <- slopes(f, x)
    at <- nv_tensor(x, "f64")
    total <- function(x) sum(f(x))
    expect_equal(as.double(gradient(total)(at)$x), want[[1L]], tolerance = 1e-7)
    expect_equal(unname(diag(hessian(total, flat = TRUE)(at))), want[[2L]], tolerance = 1e-5)
  }
  centre <- c(0, 1e-9, -1e-9, 0.5, -0.5, 3)
  given <- list(
    norm = list(), logis = list(), cauchy = list(), t = list(df = 0.7), t = list(df = 2), t = list(df = 3),
    t = list(df = 1e6), t = list(df = Inf)
  )
  for (i in seq_along(given)) {
    call <- function(letter, ...) {
      f <- get(paste0(letter, names(given)[i]))
      function(x) do.call(f, c(list(x), given[[i]], list(...)))
    }
    for (log in c(FALSE, TRUE)) {
      check(call("d", log = log), centre)
      for (lower in c(FALSE, TRUE)) check(call("p", lower.tail = lower, log.p = log), centre)
    }
  }
  for (log in c(FALSE, TRUE)) {
    check(function(x) dlnorm(x, log = log), c(1, 0.5, 2))
    for (lower in c(FALSE, TRUE)) check(function(x) plnorm(x, lower.tail = lower, log.p = log), c(1, 0.5, 2))
  }
  for (exponent in 0:4) check(function(x) x^(exponent + 0 * seq_along(x)), c(0, 2))
})

test_that("far out a density is 0, and a probability 0 or 1, in every dtype, and have no slope", {
  for (dtype in c("f32", "f64")) {
    x <- nv_tensor(c(1e38, -1e38, 1e30), dtype)
    expect_identical(as.vector(dnorm(x)), c(0, 0, 0))
    expect_identical(as.vector(pnorm(x)), c(1, 0, 1))
    expect_identical(as.vector(gradient(function(x) sum(dnorm(x) + pnorm(x)))(x)$x), c(0, 0, 0))
    x <- nv_tensor(c(40, 1000, 1), dtype)
    expect_equal(as.vector(dweibull(x, 30)), dweibull(c(40, 1000, 1), 30), tolerance = 1e-6)
    slope <- gradient(function(x) sum(dweibull(x, 30)))(x)$x
    # The derivative of the density at 1: (shape - 1 - shape) times it.
    expect_equal(as.vector(slope), c(0, 0, (29 - 30) * dweibull(1, 30)), tolerance = 1e-5)
  }
  expect_identical(as.vector(pnorm(nv_scalar(1e10, "f64"), 0, 1e-300)), 1)
})

test_that("higher derivatives of probabilities and quantiles are there at the centre", {
  d <- function(f) function(x) gradient(f)(x)[[1L]]
  at <- function(x) nv_scalar(x, "f64")
  # By hand: qcauchy is -1 / tan(pi p), whose third derivative in the middle is 2 pi^3.
  expect_equal(as.vector(d(d(d(function(p) qcauchy(p))))(at(0.5))), 2 * pi^3)
  expect_equal(as.vector(d(function(p) qcauchy(p, log.p = TRUE))(at(-log(2)))), pi / 2)
  # The fourth derivative of the normal distribution function is (3 z - z^3) dnorm(z).
  for (z in c(0, 0.5, 30, -3)) {
    got <- as.vector(d(d(d(d(function(x) pnorm(x)))))(at(z)))
    expect_equal(got, (3 * z - z^3) * dnorm(z), tolerance = 1e-9)
  }
})

test_that("quantiles of single precision are exact in the upper tail", {
  p <- c(0.999995, 0.999999, 0.9999998)
  single <- nv_tensor(p, "f32")
  expect_identical(as.vector(qnbinom(single, 3, 0.3)), qnbinom(p, 3, 0.3))
  expect_identical(as.vector(qbinom(single, 20, 0.3)), qbinom(p, 20, 0.3))
  expect_identical(as.vector(qpois(nv_scalar(0.99999, "f32"), 1)), qpois(0.99999, 1))
  k <- nv_tensor(0:12, "f32")
  expect_identical(as.vector(qpois(ppois(k, 3), 3)), 0:12 + 0)
  expect_identical(as.character(dtype(qpois(ppois(k, 3), 3))), "f32")
})

test_that("derivatives by points and parameters are those of differences, of logarithms and tails too", {
  for (i in seq_along(usual)) {
    family <- names(usual)[i]
    at <- usual[[i]]
    kinds <- if (is_discrete(family)) c("d", "p") else c("d", "p", "q")
    if (family == "betabinom") kinds <- "d"
    for (kind in kinds) for (log in c(FALSE, TRUE)) {
      f <- getExportedValue("anvil", paste0("nv_", kind, family))
      flags <- if (kind == "d") list(log = log) else list(lower.tail = !log, log.p = log)
      args <- at
      if (kind == "q") args$x <- if (log) -0.8 else 0.4
      value <- function(a) do.call(f, c(unname(a[1L]), a[-1L], flags))
      # A size of trials, and what counts are at, are whole.
      moving <- setdiff(names(args), if (is_discrete(family)) c("x", if (family != "nbinom") "size"))
      for (name in moving) {
        of_one <- function(v) {
          args[[name]] <- v
          value(args)
        }
        h <- 1e-5
        x <- args[[name]]
        d <- (as.double(of_one(as_f64(x + h))) - as.double(of_one(as_f64(x - h)))) / (2 * h)
        label <- paste("derivative of", kind, family, "by", name, "log", log)
        expect_equal(as.double(gradient(of_one)(nv_scalar(x, "f64"))$v), d, tolerance = 1e-6, label = label)
      }
    }
  }
})

test_that("what is not taken makes no derivative NaN", {
  x <- as_f64(c(-Inf, -1, 0, 0.5, 1, 3, Inf, NaN))
  for (i in seq_along(usual)) {
    family <- names(usual)[i]
    parameters <- usual[[i]][-1L]
    for (kind in c("d", "p")) for (log in c(FALSE, TRUE)) {
      if (paste0(kind, family) == "pbetabinom") next
      f <- getExportedValue("anvil", paste0("nv_", kind, family))
      flags <- if (kind == "d") list(log = log) else list(log.p = log)
      loss <- function(x, parameters) {
        out <- do.call(f, c(list(x), parameters, flags))
        sum(nv_ifelse(is.finite(out), out, 0))
      }
      slopes <- gradient(loss)(x, lapply(parameters, nv_scalar, "f64"))
      numbers <- unlist(lapply(tree_leaves(slopes), as.double))
      expect_true(all(is.finite(numbers)), label = paste(kind, family, log))
    }
  }
  # Nor parameters that are not valid.
  slope <- gradient(function(x, sd) sum(nv_dnorm(x, sd = sd, log = TRUE)))(as_f64(c(1, 2)), as_f64(c(-1, 2)))
  expect_equal(as.double(slope$sd), c(0, (4 / 4 - 1) / 2))
})

test_that("second derivatives are there: the information of a Poisson and of a gamma sample", {
  x <- as_f64(c(1, 0, 4, 2))
  h <- hessian(function(l) sum(nv_dpois(x, l, log = TRUE)))(nv_scalar(1.5, "f64"))$l$l
  expect_equal(as.double(h), -7 / 1.5^2)
  y <- as_f64(c(1, 0.3, 4, 2))
  h <- hessian(function(a) sum(nv_dgamma(y, a, log = TRUE)))(nv_scalar(1.5, "f64"))$a$a
  expect_equal(as.double(h), -4 * trigamma(1.5))
  h <- hessian(function(m) sum(pnorm(y, m, log.p = TRUE)))(nv_scalar(1.5, "f64"))$m$m
  g <- function(m) {
    z <- as.double(y) - m
    -sum(exp(dnorm(z, log = TRUE) - pnorm(z, log.p = TRUE)))
  }
  expect_equal(as.double(h), (g(1.5 + 1e-5) - g(1.5 - 1e-5)) / 2e-5, tolerance = 1e-8)
})

test_that("dtypes are promoted to a float, shapes meet, eagerly as in a program and in a batch", {
  expect_identical(type_of(nv_dpois(nv_tensor(1:3), nv_scalar(2, "f64"))), "f64[3]")
  expect_identical(type_of(nv_dnorm(nv_tensor(1:3), 0, 1)), "f32?[3]")
  expect_identical(type_of(nv_dnorm(nv_tensor(c(1, 2), "bf16"), 0.5)), "bf16[2]")
  expect_identical(type_of(nv_dnorm(0)), "f32?[]")
  expect_equal(as.double(nv_dnorm(0.1)), dnorm(0.1), tolerance = 1e-15)
  x <- nv_tensor(c(0.5, 1.5, -2))
  expect_equal(as.double(nv_pnorm(x, log.p = TRUE)), pnorm(as.double(x), log.p = TRUE), tolerance = 1e-6)
  for (half in halves) {
    rounded <- nv_convert(nv_dnorm(nv_convert(nv_tensor(c(0.5, 3), half), "f32")), half)
    expect_identical(nv_dnorm(nv_tensor(c(0.5, 3), half)), rounded)
  }
  for (i in seq_along(usual)) {
    args <- lapply(usual[[i]], function(v) nv_tensor(c(v, v), "f32"))
    for (kind in c("d", "p", "q")) {
      f <- getExportedValue("anvil", paste0("nv_", kind, names(usual)[i]))
      all <- args
      if (kind == "q") all[[1L]] <- nv_tensor(c(0.2, 0.7), "f32")
      g <- function(a) do.call(f, c(unname(a[1L]), a[-1L]))
      expect_identical(jit(g)(all), g(all), label = paste("program of", kind, names(usual)[i]))
      expect_equal(as.double(vmap(g)(all)), as.double(g(all)), tolerance = 1e-6)
      wide <- lapply(all, nv_convert, "f64")
      expect_equal(as.double(g(all)), as.double(g(wide)), tolerance = 1e-5)
      empty <- c(list(nv_empty("f32", 0L)), lapply(args[-1L], function(v) v[1]))
      expect_identical(type_of(g(empty)), "f32[0]")
    }
  }
  expect_identical(shape(nv_dgamma(nv_fill(1, c(2, 3)), nv_tensor(c(1, 2)))), c(2L, 3L))
})

test_that("what is no argument is refused, in the user's call", {
  expect_fields(nv_dnorm(1, log = NA), "anvil_error_arg", arg = "log")
  expect_fields(nv_pnorm(1, lower.tail = 1), "anvil_error_arg", arg = "lower.tail")
  expect_fields(nv_qnorm(1, log.p = nv_scalar(TRUE)), "anvil_error_arg", arg = "log.p")
  expect_fields(nv_dnorm(), "anvil_error_arg", arg = "x")
  expect_fields(nv_dgamma(1), "anvil_error_arg", arg = "shape")
  expect_fields(nv_dgamma(1, 2, rate = 1, scale = 1), "anvil_error_arg", arg = "scale")
  expect_fields(nv_dnbinom(1, 2), "anvil_error_arg", arg = "prob")
  expect_fields(nv_dnbinom(1, 2, prob = 0.5, mu = 1), "anvil_error_arg", arg = "mu")
  expect_fields(nv_dbern(1, prob = 0.5, logits = 1), "anvil_error_arg", arg = "logits")
  expect_fields(nv_dt(1, 2, ncp = 1), "anvil_error_arg", arg = "ncp")
  expect_fields(nv_pchisq(1, 2, 1), "anvil_error_arg", arg = "ncp")
  expect_fields(nv_qf(0.5, 1, 2, 3), "anvil_error_arg", arg = "ncp")
  expect_identical(nv_dt(1, 2, ncp = 0), nv_dt(1, 2))
  expect_error(nv_dnorm("a"), class = "anvil_error_arg")
  expect_error(nv_dnorm(1i), class = "anvil_error_dtype")
  expect_error(nv_dnorm(as_f64(1:2), as_f64(1:3)), class = "anvil_error_shape", "`nv_dnorm()`", fixed = TRUE)
  expect_match(call_of(nv_dnorm(as_f64(1:2), as_f64(1:3))), "^nv_dnorm[(]")
  expect_match(call_of(user(function(x) dnorm(x, nv_tensor(1:3)))(as_f64(1:2))), "^dnorm[(]")
  expect_no_open_trace()
})

test_that("distributions that stats has not have their formulas", {
  x <- c(-2, -0.5, 0.3, 1.7)
  expect_equal(in_anvil("dlaplace", list(x, 0.5, 2)), exp(-abs(x - 0.5) / 2) / 4)
  expect_equal(in_anvil("plaplace", list(x)), ifelse(x < 0, exp(x) / 2, 1 - exp(-x) / 2))
  z <- (x - 0.5) / 2
  expect_equal(in_anvil("dgumbel", list(x, 0.5, 2)), exp(-z - exp(-z)) / 2)
  expect_equal(in_anvil("pgumbel", list(x, 0.5, 2)), exp(-exp(-z)))
  expect_identical(in_anvil("dgumbel", list(c(-1e3, -Inf, Inf)), log = TRUE), c(-Inf, -Inf, -Inf))
  y <- c(0.1, 1, 5)
  expect_equal(in_anvil("dinvgamma", list(y, 2.5, 3)), dgamma(1 / y, 2.5, 3) / y^2)
  expect_equal(in_anvil("pinvgamma", list(y, 2.5, 3)), pgamma(1 / y, 2.5, 3, lower.tail = FALSE))
  k <- 0:5
  want <- choose(5, k) * beta(k + 2, 5 - k + 0.7) / beta(2, 0.7)
  expect_equal(in_anvil("dbetabinom", list(k, 5, 2, 0.7)), want)
  expect_equal(in_anvil("pbetabinom", list(k, 5, 2, 0.7)), cumsum(want))
  expect_equal(in_anvil("pbetabinom", list(k, 5, 2, 0.7), lower.tail = FALSE), 1 - cumsum(want))
  expect_identical(in_anvil("qbetabinom", list(cumsum(want) - 1e-9, 5, 2, 0.7)), as.double(k))
  expect_equal(in_anvil("dbetabinom", list(5e5, 1e6, 1, 1)), 1 / (1e6 + 1), tolerance = 1e-12)
  expect_equal(in_anvil("dbern", list(c(0, 1, 2, 0.5, NaN), 0.3)), c(0.7, 0.3, 0, 0, NaN))
  expect_equal(in_anvil("dbern", list(c(0, 1), logits = 800), log = TRUE), c(-800, 0))
  expect_equal(in_anvil("pbern", list(c(-1, 0, 1), 0.3)), c(0, 0.7, 1))
  expect_identical(in_anvil("qbern", list(c(0, 0.69, 0.71, 1), 0.3)), c(0, 0, 1, 1))

  density <- function(t, kappa) exp(kappa * (cos(t) - 1)) / (2 * pi * besselI(kappa, 0, TRUE))
  for (kappa in c(0.1, 3, 500)) {
    expect_equal(in_anvil("dvonmises", list(x, 0, kappa)), density(x, kappa))
    at <- c(-1, 0, 0.04)
    below <- function(q) integrate(density, -pi, q, kappa, rel.tol = 1e-11, subdivisions = 1e4L)$value
    want <- vapply(at, below, 0)
    expect_equal(in_anvil("pvonmises", list(at, 0, kappa)), want, tolerance = 1e-10)
    p <- c(1e-12, 0.2, 0.7)
    q <- in_anvil("qvonmises", list(p, 1, kappa))
    expect_equal(in_anvil("pvonmises", list(q, 1, kappa)), p, tolerance = 1e-10)
  }
  expect_equal(in_anvil("dvonmises", list(1, 0, 0)), 1 / (2 * pi))

  mass <- pnorm(2, 0.5, 1.5) - pnorm(-1, 0.5, 1.5)
  want <- ifelse(x > -1 & x < 2, dnorm(x, 0.5, 1.5) / mass, 0)
  expect_equal(in_anvil("dtruncnorm", list(x, -1, 2, 0.5, 1.5)), want)
  inside <- pmin(2, pmax(-1, x))
  want <- (pnorm(inside, 0.5, 1.5) - pnorm(-1, 0.5, 1.5)) / mass
  expect_equal(in_anvil("ptruncnorm", list(x, -1, 2, 0.5, 1.5)), want)
  p <- c(1e-10, 0.2, 0.9)
  for (ends in list(c(-1, 2), c(10, 12), c(-Inf, -30), c(5, Inf), c(-Inf, Inf))) {
    for (lower in c(TRUE, FALSE)) {
      q <- in_anvil("qtruncnorm", list(p, ends[1], ends[2]), lower.tail = lower)
      back <- in_anvil("ptruncnorm", list(q, ends[1], ends[2]), lower.tail = lower)
      expect_equal(back, p, tolerance = 1e-9)
    }
  }
  expect_identical(in_anvil("dtruncnorm", list(1, 2, 1)), NaN)
  at <- c(-2, -1, 0.3, 2, 3)
  want <- c(0, pnorm(-1), dnorm(0.3), pnorm(-2), 0)
  expect_equal(in_anvil("dcensnorm", list(at, left = -1, right = 2)), want)
  expect_equal(in_anvil("pcensnorm", list(at, left = -1, right = 2)), c(0, pnorm(-1), pnorm(0.3), 1, 1))
  expect_equal(in_anvil("qcensnorm", list(c(0, 0.1, 0.5, 1), left = -1, right = 2)), c(-1, -1, 0, 2))
})

test_that("parameters that are R numbers give what traced ones give, in every point and dtype", {
  x <- c(-Inf, -1e30, -1, -0.5, 0, 0.3, 1, 2, 3, 2.5, 1e30, Inf, NaN)
  for (i in seq_along(usual)) {
    family <- names(usual)[i]
    for (kind in c("d", "p")) for (log in c(FALSE, TRUE)) for (dtype in c("f32", "f64")) {
      f <- getExportedValue("anvil", paste0("nv_", kind, family))
      flags <- if (kind == "d") list(log = log) else list(lower.tail = !log, log.p = log)
      at <- nv_tensor(x, dtype)
      call <- function(parameters) do.call(f, c(list(at), parameters, flags))
      known <- jit(function() call(usual[[i]][-1L]))()
      traced <- jit(call)(lapply(usual[[i]][-1L], nv_scalar, dtype))
      label <- paste(kind, family, "log", log, dtype)
      expect_identical(dtype(known), dtype(traced), label = label)
      close <- if (dtype == "f32") 1e-5 else 1e-13
      expect_equal(as.vector(known), as.vector(traced), tolerance = close, label = label)
    }
  }
  # Of no R number of these is the density that of the formula; the last two are 0 and 1 in single precision.
  one <- nv_tensor(c(1, 2), "f32")
  expect_identical(as.vector(jit(function(x) dnorm(x, 0, -1))(one)), c(NaN, NaN))
  expect_identical(as.vector(jit(function(x) pnorm(x, NA_real_))(one)), c(NaN, NaN))
  expect_identical(as.vector(jit(function(x) dnorm(x, 1, 0))(one)), c(Inf, 0))
  expect_identical(as.vector(jit(function(x) plogis(x, 1, -2))(one)), c(NaN, NaN))
  expect_identical(as.vector(jit(function(x) pnorm(x, 1, 1e-300))(one)), c(1, 1))
  expect_identical(as.vector(jit(function(x) dbinom(x, 2, 1 - 1e-12))(one)), c(0, 1))
})

test_that("a logistic probability by R numbers is one op, and a normal one has no guards", {
  x <- nv_tensor(rep(0.5, 4000L), "f32")
  steps <- function(f) paste(format(explain_plan(f, x)), collapse = " ")
  expect_match(steps(function(x) plogis(x)), "group logistic [0-9]")
  expect_no_match(steps(function(x) pnorm(x)), "is_finite|is_infinite")
})

test_that("the derivative of a normal probability is the density, of any order and in both modes", {
  at <- c(-40, -6, -0.5, 0, 0.7, 3, 40)
  x <- as_f64(at)
  d <- function(f) function(x) gradient(function(x) sum(f(x)))(x)[[1L]]
  expect_equal(as.vector(d(function(x) pnorm(x))(x)), dnorm(at), tolerance = 1e-12)
  expect_equal(as.vector(d(function(x) pnorm(x, lower.tail = FALSE))(x)), -dnorm(at), tolerance = 1e-12)
  expect_equal(as.vector(d(d(function(x) pnorm(x)))(x)), -at * dnorm(at), tolerance = 1e-12)
  moved <- jvp(function(x) pnorm(x), list(x), list(x))$tangent
  expect_equal(as.vector(moved), at * dnorm(at), tolerance = 1e-12)
  push <- function(x) jvp(function(x) pnorm(x), list(x), list(x * 0 + 1))$tangent
  expect_equal(as.vector(jvp(push, list(x), list(x))$tangent), -at^2 * dnorm(at), tolerance = 1e-12)
  ratio <- exp(dnorm(at, log = TRUE) - pnorm(at, log.p = TRUE))
  expect_equal(as.vector(d(function(x) pnorm(x, log.p = TRUE))(x)), ratio, tolerance = 1e-12)
  second <- as.vector(d(d(function(x) pnorm(x, log.p = TRUE)))(x))
  expect_equal(second[-1L], (-ratio * (at + ratio))[-1L], tolerance = 1e-9)
  # It needs no error function.
  plan <- paste(format(explain_plan(d(function(x) pnorm(x)), x)), collapse = " ")
  expect_no_match(plan, "erf")
})

test_that("probabilities of single precision keep their digits in the tail", {
  x <- nv_tensor(seq(-12, 6, length.out = 5001L), "f32")
  want <- stats::pnorm(as.double(x))
  expect_true(all(abs(as.double(pnorm(x)) - want) <= 3 * 2^-23 * want))
  upper <- as.double(pnorm(x, lower.tail = FALSE))
  expect_true(all(abs(upper - stats::pnorm(as.double(x), lower.tail = FALSE)) <= 3 * 2^-23 * upper))
})

test_that("distributions at the ends of their parameters are those of R", {
  x <- c(0, 0.1, 1, 3)
  p <- c(0.1, 0.5, 0.9)
  of <- function(f, ...) as.double(f(nv_tensor(x, "f64"), ...))
  # F of infinite degrees of freedom.
  for (df2 in c(0.5, 5, 40)) {
    expect_equal(of(df, Inf, df2), stats::df(x, Inf, df2), tolerance = 1e-12)
    expect_equal(of(pf, Inf, df2), stats::pf(x, Inf, df2), tolerance = 1e-12)
    expect_equal(
      of(pf, Inf, df2, lower.tail = FALSE), stats::pf(x, Inf, df2, lower.tail = FALSE), tolerance = 1e-12
    )
    expect_equal(as.double(qf(nv_tensor(p, "f64"), Inf, df2)), stats::qf(p, Inf, df2), tolerance = 1e-12)
  }
  # R says 0.5 in the point itself.
  expect_identical(of(pf, Inf, Inf)[-3], stats::pf(x[-3], Inf, Inf))
  # All at one point.
  expect_identical(of(pexp, 0), stats::pexp(x, 0))
  expect_identical(of(dexp, 0), stats::dexp(x, 0))
  expect_identical(of(punif, 1, 1), stats::punif(x, 1, 1))
  expect_identical(as.double(qunif(nv_tensor(p, "f64"), 1, 1)), stats::qunif(p, 1, 1))
  expect_identical(of(punif, nv_tensor(c(0, 0, 1, NaN), "f64"), 1), c(0, 0.1, 1, NaN))
  expect_true(all(is.nan(of(punif, 2, 1))))
})
