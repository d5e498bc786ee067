# dnorm() and its like as generic functions.

base_calls <- function(name) {
  f <- getExportedValue("stats", name)
  formals <- names(formals(f))
  needed <- formals[vapply(formals(f), identical, NA, quote(expr = ))]
  needed <- setdiff(needed, c("mu", "ncp"))
  stats::setNames(as.list(rep(0.5, length(needed))), needed)
}

test_that("with R's own values they are those of stats", {
  for (name in setdiff(names(stats_functions), "dmultinom")) {
    generic <- getExportedValue("anvil", name)
    own <- getExportedValue("stats", name)
    args <- base_calls(name)
    expect_identical(formals(generic), formals(own), label = name)
    # Values, names and dimensions; warnings; errors, whose calls name the method.
    for (x in list(c(a = 0, b = 1, c = NA), matrix(1:4, 2), numeric(), -1, 1.5, "a", NULL, list(1))) {
      args[[1L]] <- x
      signalled <- function(f) {
        tryCatch(
          eval(as.call(c(as.name(name), unname(args))), stats::setNames(list(f), name), baseenv()),
          condition = function(e) list(class(e), conditionMessage(e))
        )
      }
      expect_identical(signalled(generic), signalled(own), label = paste(name, deparse1(x)))
    }
  }
  expect_identical(dgamma(1:3, 2, scale = 3), stats::dgamma(1:3, 2, scale = 3))
  expect_identical(dnbinom(1:3, 2, mu = 3), stats::dnbinom(1:3, 2, mu = 3))
  expect_identical(dt(1, 3, ncp = 2), stats::dt(1, 3, ncp = 2))
  expect_identical(dnorm(log = TRUE, 1:3, sd = 2), stats::dnorm(log = TRUE, 1:3, sd = 2))
  expect_error(dnbinom(1, 2, 0.5, mu = 3), "both specified")
  expect_error(dgamma(1, 2, rate = 1, scale = 3), "not both")
  expect_warning(pnorm(1, sd = -1), "NaNs produced")
  expect_identical(dmultinom(c(1, 2), prob = c(0.2, 0.8)), stats::dmultinom(c(1, 2), prob = c(0.2, 0.8)))
  expect_error(dmultinom(c(1, 2), 5, c(0.2, 0.8)), "size != sum")
  # Functions in packages see those of stats.
  expect_identical(environmentName(environment(get("dnorm", asNamespace("stats")))), "stats")
  # An error in an argument is the user's, with its class.
  x <- nv_tensor(1:3)
  expect_error(dnorm(x[9]), class = "anvil_error_index")
})

test_that("a tensor as any argument is enough", {
  for (name in names(stats_functions)) {
    of <- stats_functions[[name]]
    generic <- getExportedValue("anvil", name)
    for (argument in setdiff(of, "ncp")) {
      args <- base_calls(name)
      args <- if (name == "dmultinom") list(x = c(1, 2), prob = c(0.2, 0.8)) else args
      if (!argument %in% names(args) && name != "dmultinom") args[[argument]] <- 0.5
      if (name == "dmultinom" && argument == "size") args$size <- 3
      args[[argument]] <- as_nv_tensor(args[[argument]])
      # Either of two parametrisations.
      other <- c(mu = "prob", scale = "rate")[argument]
      args <- args[setdiff(names(args), other)]
      expect_true(inherits(do.call(generic, args), "AnvilTensor"), label = paste(name, argument))
    }
  }
  x <- nv_tensor(c(0.5, 1, 2), dtype = "f64")
  s <- nv_scalar(2, "f64")
  want <- nv_dnorm(x, s, s)
  for (call in list(quote(dnorm(x, s, s)), quote(dnorm(as.double(x), s, s)), quote(dnorm(x, 2, s)),
    quote(dnorm(sd = s, x, mean = 2)), quote(dnorm(x, s, 2)))) {
    expect_identical(eval(call), want, label = deparse1(call))
  }
  expect_identical(dgamma(x, 2, scale = s), nv_dgamma(x, 2, scale = s))
  expect_identical(dgamma(x, 2, s), nv_dgamma(x, 2, rate = s))
  expect_identical(pgamma(1.5, s), nv_pgamma(1.5, s))
  expect_identical(qnbinom(0.3, s, mu = 3), nv_qnbinom(0.3, s, mu = 3))
  expect_identical(dnbinom(nv_tensor(1:3), 2, 0.3), nv_dnbinom(nv_tensor(1:3), 2, 0.3))
  expect_identical(pt(x, 3, lower.tail = FALSE), nv_pt(x, 3, lower.tail = FALSE))
  expect_identical(dmultinom(c(1, 2), prob = x[1:2]), nv_dmultinom(c(1, 2), prob = x[1:2]))
  expect_identical(phyper(1, s, 3, 2), nv_phyper(1, s, 3, 2))
})

test_that("distributions that are not central are R's, of the elements", {
  q <- c(0.5, 1.5, 3)
  x <- nv_tensor(q, "f64")
  for (f in list(
    function(x) pt(x, 4, ncp = 1), function(x) qt(0.3, x, ncp = 1), function(x) dchisq(x, 3, ncp = x),
    function(x) pchisq(2, 3, x), function(x) pf(x, 2, 5, 1, lower.tail = FALSE),
    function(x) dbeta(x / 4, 2, 3, 1),
    function(x) pt(x[2], 4, ncp = 1), function(x) pchisq(cbind(x, x), 3, ncp = 2)
  )) {
    expect_equal(doubles_of(user(f)(x)), doubles_of(f(q)), tolerance = 1e-14, ignore_attr = TRUE)
    expect_true(dtype(user(f)(x)) == "f64")
    expect_error(jit(user(f))(x), class = "anvil_error_concrete", "central")
  }
  expect_true(dtype(pt(nv_tensor(q, "f32"), 4, ncp = 1)) == "f32")
  expect_identical(pt(x, 4, ncp = 0), pt(x, 4))
  # What code does after a failure is no value of it.
  lenient <- user(function(x) if (inherits(p <- try(pt(x, 4, ncp = 1), TRUE), "try-error")) NA else p)
  expect_error(jit(lenient)(x), class = "anvil_error_concrete")
})

test_that("errors are those of our functions, with the call as it was written", {
  s <- nv_scalar(2, "f64")
  expect_identical(call_of(jit(function(s) dt(s, 3, ncp = 1))(s)), "dt(s, 3, ncp = 1)")
  expect_fields(dnbinom(s, 3), "anvil_error_arg", arg = "prob")
  expect_fields(dgamma(s), "anvil_error_arg", arg = "shape")
  expect_fields(dnorm(sd = s), "anvil_error_arg", arg = "x")
  f <- user(function(x) dgamma(x, 2, rate = 1, scale = 3))
  expect_identical(call_of(f(s)), "dgamma(x, 2, rate = 1, scale = 3)")
})

test_that("in programs, and with derivatives", {
  loglik <- user(function(par, x) sum(dnorm(x, par[1], exp(par[2]), log = TRUE)))
  x <- nv_tensor(c(1, 2, 4), dtype = "f64")
  par <- nv_tensor(c(0.5, 0.1), dtype = "f64")
  expect_equal(as.double(jit(loglik)(par, x)), sum(stats::dnorm(c(1, 2, 4), 0.5, exp(0.1), log = TRUE)))
  slope <- jit(gradient(loglik, "par"))(par, x)$par
  z <- (c(1, 2, 4) - 0.5) / exp(0.1)
  expect_equal(as.double(slope), c(sum(z) / exp(0.1), sum(z^2 - 1)))
})

test_that("R's own random numbers refuse what is traced, and say what to write", {
  for (name in c("rnorm", "runif", "rgamma", "rbinom", "rpois", "rexp")) {
    f <- user(eval(bquote(function(x) .(as.name(name))(3, x, 1))))
    if (name %in% c("rpois", "rexp")) f <- user(eval(bquote(function(x) .(as.name(name))(3, x))))
    e <- expect_error(jit(f)(nv_scalar(0.5)), class = "anvil_error_concrete")
    expect_match(conditionMessage(e), paste0("nv_", name, "("), fixed = TRUE)
  }
})
