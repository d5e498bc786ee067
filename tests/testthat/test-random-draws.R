# Draws of all distributions: seeds are fixed, so that these either hold or do not.

rare <- 1e-4
draws <- list(
  lnorm = list(meanlog = 0.3, sdlog = 2), t = list(df = 3), chisq = list(df = 3), f = list(df1 = 3, df2 = 5),
  gamma = list(shape = 2.5, rate = 2), beta = list(shape1 = 0.5, shape2 = 2), exp = list(rate = 3),
  weibull = list(shape = 3, scale = 2), logis = list(location = 3, scale = 2),
  cauchy = list(location = 3, scale = 2)
)
counted <- list(
  pois = list(lambda = 3.5), geom = list(prob = 0.2), nbinom = list(size = 2.5, mu = 4),
  nbinom = list(size = 2.5, prob = 0.4), hyper = list(m = 30, n = 20, k = 10),
  binom = list(size = as_f64(12), prob = 0.3)
)
sampler <- function(family) getExportedValue("anvil", paste0("nv_r", family))

test_that("continuous draws have the distribution of stats", {
  for (i in seq_along(draws)) {
    family <- names(draws)[i]
    made <- do.call(sampler(family), c(list(5000, nv_rng_state(i), "f64"), draws[[i]]))
    test <- do.call(ks.test, c(list(as.double(made$value), paste0("p", family)), draws[[i]]))
    expect_gt(test$p.value, rare, label = family)
    expect_identical(names(made), c("state", "value"))
    again <- jit(function(s) do.call(sampler(family), c(list(20, s), draws[[i]])))(nv_rng_state(i))
    expect_identical(type_of(again$value), "f32[20]")
    expect_identical(again, do.call(sampler(family), c(list(20, nv_rng_state(i)), draws[[i]])))
    expect_false(identical(again$value, do.call(sampler(family), c(list(20, again$state), draws[[i]]))$value))
  }
})

test_that("whole draws have the distribution of stats", {
  for (i in seq_along(counted)) {
    family <- names(counted)[i]
    made <- do.call(sampler(family), c(list(5000, nv_rng_state(i)), counted[[i]]))$value
    expect_identical(type_of(made), "i32[5000]")
    x <- as.integer(made)
    density <- getExportedValue("stats", paste0("d", family))
    p <- do.call(density, c(list(0:200), lapply(counted[[i]], as.vector)))
    common <- p * 5000 >= 5
    cell <- ifelse(x %in% (which(common) - 1L), x, -1L)
    counts <- c(vapply(which(common) - 1L, function(k) sum(cell == k), 0), sum(cell == -1L))
    # The rest may be rare.
    test <- suppressWarnings(chisq.test(counts, p = c(p[common], 1 - sum(p[common]))))
    expect_gt(test$p.value, rare, label = family)
  }
  expect_identical(type_of(nv_rpois(3, nv_rng_state(1), "f64", 2)$value), "f64[3]")
})

test_that("draws of distributions that stats has not have ours", {
  others <- list(
    invgamma = list(shape = 3, rate = 2), laplace = list(1, 2), gumbel = list(1, 2), vonmises = list(1, 4),
    truncnorm = list(a = 1, b = 3), censnorm = list(left = -1), bern = list(logits = 1),
    betabinom = list(size = 10, shape1 = 2, shape2 = 3)
  )
  for (family in names(others)) {
    n <- if (family == "vonmises") 500 else 2000
    made <- do.call(sampler(family), c(list(n, nv_rng_state(5), "f64"), others[[family]]))
    x <- as.double(made$value)
    p <- function(q) do.call(in_anvil, list(paste0("p", family), c(list(q), others[[family]])))
    at <- sort(x)[n * c(0.1, 0.3, 0.5, 0.7, 0.9)]
    below <- vapply(at, function(q) mean(x <= q), 0)
    expect_lt(max(abs(below - p(at))) * sqrt(n), 2, label = family)
  }
})

test_that("draws have derivatives by the parameters", {
  for (i in seq_along(draws)) {
    family <- names(draws)[i]
    f <- function(...) {
      made <- do.call(sampler(family), c(list(7, nv_rng_state(1), "f64"), list(...)))
      sum(nv_log1p(nv_abs(made$value)))
    }
    slopes <- do.call(gradient(f, names(draws[[i]])), lapply(draws[[i]], nv_scalar, "f64"))
    for (name in names(draws[[i]])) {
      at <- function(h) {
        args <- draws[[i]]
        args[[name]] <- args[[name]] + h
        as.double(do.call(f, lapply(args, nv_scalar, "f64")))
      }
      want <- (at(1e-5) - at(-1e-5)) / 2e-5
      expect_equal(as.double(slopes[[name]]), want, tolerance = 1e-5, label = paste(family, name))
    }
  }
})

test_that("wrong arguments are refused", {
  s <- nv_rng_state(1)
  expect_fields(nv_rgamma(2, s, shape = -1), "anvil_error_arg", arg = "shape")
  expect_fields(nv_rgamma(2, s), "anvil_error_arg", arg = "shape")
  expect_fields(nv_rpois(2, s, lambda = c(1, NA)), "anvil_error_arg", arg = "lambda")
  expect_fields(nv_rpois(2, s, "i1", 1), "anvil_error_arg", arg = "dtype")
  expect_fields(nv_rexp(2, s, "i32"), "anvil_error_arg", arg = "dtype")
  expect_error(nv_rexp(2, 1), class = "anvil_error_arg")
  expect_error(nv_rexp(2, s, rate = as_f64(c(1, 2, 3))), class = "anvil_error_shape")
  expect_error(nv_rexp(integer(), s, rate = as_f64(c(1, 2, 3))), class = "anvil_error_shape")
  expect_identical(type_of(nv_rexp(c(0, 2), s)$value), "f32[0, 2]")
  expect_identical(type_of(nv_rexp(integer(), s)$value), "f32[]")
  expect_identical(type_of(nv_rgamma(c(3, 2), s, "bf16", shape = c(1, 2, 3))$value), "bf16[3, 2]")
  # What is not known to R gives NaN.
  expect_identical(as.double(nv_rexp(1, s, rate = nv_scalar(-1))$value), NaN)
  expect_no_open_trace()
})

test_that("vectors and matrices have their moments", {
  s <- nv_rng_state(42)
  sigma <- matrix(c(2, 0.5, 0.5, 1), 2)
  n <- 20000
  for (by in list(list(sigma = sigma), list(precision = solve(sigma)), list(chol = t(chol(sigma))))) {
    x <- as_array(do.call(nv_rmvnorm, c(list(n, s, "f64", c(1, 2)), by))$value)
    expect_lt(max(abs(colMeans(x) - 1:2)), 0.05)
    expect_lt(max(abs(cov(x) - sigma)), 0.1)
  }
  x <- as_array(nv_rdirichlet(n, s, "f64", c(0.01, 1, 2))$value)
  expect_equal(rowSums(x), rep(1, n))
  expect_lt(max(abs(colMeans(x) - c(0.01, 1, 2) / 3.01)), 0.01)
  x <- as_array(nv_rmultinom(2000, s, 10, c(1, 2, 3, 0))$value)
  expect_identical(unique(rowSums(x)), 10)
  expect_lt(max(abs(colMeans(x) - c(10, 20, 30, 0) / 6)), 0.15)
  k <- as.integer(nv_rcategorical(n, s, prob = c(1, 0, 3))$value)
  expect_lt(max(abs(tabulate(k, 3) / n - c(0.25, 0, 0.75))), 0.02)
  k <- as.integer(nv_rcategorical(n, s, logits = log(1:3))$value)
  expect_lt(max(abs(tabulate(k, 3) / n - 1:3 / 6)), 0.02)
  wishart <- jit(function(s) nv_rwishart(s, 5, sigma, "f64")$value)
  lkj <- jit(function(s) nv_rlkj(s, 3, 2, "f64")$value)
  mean <- 0
  r <- NULL
  for (i in 1:400) {
    state <- nv_fold_in(s, nv_scalar(i, "i32"))
    mean <- mean + as_array(wishart(state)) / 400
    m <- as_array(lkj(state))
    expect_equal(diag(m), rep(1, 3))
    r <- rbind(r, m[upper.tri(m)])
  }
  expect_lt(max(abs(mean / 5 - sigma)), 0.3)
  # Each correlation is a beta variable with parameters eta + (k - 2) / 2.
  for (j in 1:3) expect_gt(ks.test((r[, j] + 1) / 2, "pbeta", 2.5, 2.5)$p.value, rare)
  total <- function(mean) sum(nv_rmvnorm(3, s, mean = mean, sigma = diag(2))$value)
  slope <- gradient(total)(nv_tensor(c(1, 2)))
  expect_identical(as.double(slope$mean), c(3, 3))
  expect_fields(nv_rmvnorm(-1, s, sigma = diag(2)), "anvil_error_arg", arg = "n")
  expect_fields(nv_rlkj(s, 0), "anvil_error_arg", arg = "k")
  expect_fields(nv_rdirichlet(2, s, "i32", c(1, 2)), "anvil_error_arg", arg = "dtype")
})

test_that("permutations and samples", {
  s <- nv_rng_state(1)
  expect_identical(sort(as.integer(nv_permutation(100, s)$value)), 1:100)
  expect_identical(nv_permutation(5, s), jit(function(s) nv_permutation(5, s))(s))
  first <- vapply(1:600, function(i) as.integer(nv_permutation(3, nv_fold_in(s, i))$value)[1], 0L)
  expect_gt(chisq.test(tabulate(first, 3))$p.value, rare)
  expect_identical(as.integer(nv_permutation(0, s)$value), integer())
  x <- nv_tensor(c(10, 20, 30, 40))
  expect_identical(sort(as.double(nv_sample(x, s)$value)), c(10, 20, 30, 40))
  expect_identical(anyDuplicated(as.double(nv_sample(x, s, 3, prob = c(1, 2, 3, 4))$value)), 0L)
  k <- as.integer(nv_sample(3, s, 5000, replace = TRUE, prob = c(1, 2, 7))$value)
  expect_gt(chisq.test(tabulate(k, 3), p = c(0.1, 0.2, 0.7))$p.value, rare)
  # Weighted without replacement: the first is as likely as its weight, what has weight 0 is last.
  one <- jit(function(s, prob) nv_sample(4, s, prob = prob)$value)
  all <- vapply(1:1000, function(i) as.integer(one(nv_fold_in(s, i), c(1, 2, 7, 0))), integer(4))
  expect_gt(chisq.test(tabulate(all[1, ], 3), p = c(0.1, 0.2, 0.7))$p.value, rare)
  expect_true(all(all[4, ] == 4L))
  # As in R, weights that are known must leave enough to draw.
  few <- nv_tensor(c(0, 0, 0, 1))
  for (prob in list(c(1, 2, 7, 0), c(-1, 1, 1, 1), c(NaN, 1, 1, 1), c(Inf, 1, 1, 1), few)) {
    expect_fields(nv_sample(4, s, prob = prob), "anvil_error_arg", arg = "prob")
  }
  expect_identical(as.integer(nv_sample(4, s, 1, prob = c(0, 0, 1, 0))$value), 3L)
  for (wrong in list(c(0, 0), c(1, -1), c(1, NaN))) {
    expect_fields(nv_rcategorical(3, s, prob = wrong), "anvil_error_arg", arg = "prob")
    expect_fields(nv_rmultinom(3, s, 2, prob = wrong), "anvil_error_arg", arg = "prob")
  }
  m <- nv_tensor(matrix(1:6, 3))
  rows <- as_array(nv_sample(m, s)$value)
  expect_identical(rows[order(rows[, 1]), ], matrix(1:6, 3))
  expect_fields(nv_sample(x, s, 5), "anvil_error_arg", arg = "size")
  expect_fields(nv_sample(x, s, replace = NA), "anvil_error_arg", arg = "replace")
  expect_fields(nv_sample(x, s, prob = c(1, 2)), "anvil_error_shape", arg = "prob")
  expect_fields(nv_sample(nv_scalar(1), s), "anvil_error_arg", arg = "x")
  expect_fields(nv_permutation(1.5, s), "anvil_error_arg", arg = "n")
})

test_that("a state and a number give a state", {
  s <- nv_rng_state(1)
  expect_identical(type_of(nv_fold_in(s, 1)), "ui64[2]")
  expect_identical(nv_fold_in(s, 7L), jit(nv_fold_in)(s, nv_scalar(7L)))
  states <- c(lapply(0:200, function(i) nv_fold_in(s, i)), nv_split_state(s, 5), list(s))
  keys <- suppressWarnings(vapply(states, function(x) as.double(x)[1L], 0))
  expect_identical(anyDuplicated(keys), 0L)
  expect_gt(ks.test(keys[1:201] / 2^64, "punif")$p.value, rare)
  expect_false(identical(nv_fold_in(s, 1), nv_fold_in(nv_runif(1, s)$state, 1)))
  for (x in list(1, "1", NULL, nv_fill(1, 3, "ui64"))) {
    expect_fields(nv_fold_in(x, 1), "anvil_error_arg", arg = "state")
  }
  expect_error(nv_fold_in(s, c(1, 2)), class = "anvil_error_arg")
})
