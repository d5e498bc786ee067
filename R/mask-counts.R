# Tests of counts, of ranks within blocks, of series and of normality in a traced function, see mask-tests.R.

# nolint start: object_name_linter. Names are those of R.

numbers_as_matrix <- function(x) {
  x <- as_matrix_of_values(x)
  if (!is_value(x)) x <- value_of(as_operand(x))
  check_no_factor(x)
  if (ndims(x) == 2L) return(with_names(real_floats(x), dimnames(x)))
  as_flat(real_floats(x))
}

chisq_test <- function(x, y = NULL, correct = TRUE, p = rep(1 / length(x), length(x)), rescale.p = FALSE,
                       simulate.p.value = FALSE, ...) {
  check_dots(...)
  check_flag("correct", correct)
  check_flag("rescale.p", rescale.p)
  if (!is.null(y)) {
    abort_arg("y", "NULL in a traced function", "given", "Count first: `chisq.test(table(x, y))`.")
  }
  if (!isFALSE(simulate.p.value)) abort_arg("simulate.p.value", "FALSE", describe(simulate.p.value))
  x <- numbers_as_matrix(x)
  if (ndims(x) == 2L && min(dim(x)) == 1L) x <- as_flat(x)
  n <- sum(x)
  if (ndims(x) == 2L) {
    rows <- rowSums(x)
    columns <- colSums(x)
    expected <- outer(rows, columns) / n
    spread <- outer(rows, columns) * outer(n - rows, n - columns) / n^3
    df <- (nrow(x) - 1) * (ncol(x) - 1)
    yates <- if (correct && all(dim(x) == 2L)) nv_min(0.5, min(abs(x - expected))) else 0
  } else {
    if (length(p) != length(x)) abort_arg("p", paste("of length", length(x)), paste("of length", length(p)))
    p <- if (is_value(p)) as_flat(p) else array(p)
    if (rescale.p) p <- p / sum(p)
    expected <- n * p
    spread <- n * p * (1 - p)
    df <- length(x) - 1
    yates <- 0
  }
  statistic <- sum((abs(x - expected) - yates)^2 / expected)
  test_of(
    statistic, "X-squared", c(df = df), p_of_chisq(statistic, df), observed = x, expected = expected,
    residuals = (x - expected) / sqrt(expected), stdres = (x - expected) / sqrt(spread)
  )
}

mcnemar <- function(x, y = NULL, correct = TRUE) {
  check_flag("correct", correct)
  if (!is.null(y)) {
    abort_arg("y", "NULL in a traced function", "given", "Count first: `mcnemar.test(table(x, y))`.")
  }
  x <- numbers_as_matrix(x)
  r <- dim(x)[1L]
  if (ndims(x) != 2L || r < 2L || dim(x)[2L] != r) abort_arg("x", "a square matrix", shown_shape(x))
  at <- which(upper.tri(diag(r)), arr.ind = TRUE)
  above <- element_at(x, at)
  below <- element_at(x, at[, 2:1, drop = FALSE])
  left <- above - below
  # As in R, of a symmetric table there is nothing to correct.
  if (correct && r == 2L) left <- nv_ifelse(nv_eq(left, 0), 0, abs(left) - 1)
  statistic <- sum(left^2 / (above + below))
  df <- r * (r - 1) / 2
  test_of(statistic, "McNemar's chi-squared", c(df = df), p_of_chisq(statistic, df))
}

element_at <- function(x, at) taken(as_flat(unname(x)), at[, 1L] + nrow(x) * (at[, 2L] - 1L))

prop_test <- function(x, n, p = NULL, alternative = sides, conf.level = 0.95, correct = TRUE) {
  alternative <- chosen("alternative", alternative, sides)
  check_level(conf.level)
  check_flag("correct", correct)
  x <- numbers_as_matrix(x)
  if (ndims(x) == 2L) {
    if (ncol(x) != 2L) abort_arg("x", "a matrix of two columns", shown_shape(x))
    n <- rowSums(unname(x))
    x <- as_flat(unname(x)[, 1L])
  }
  x <- unname(x)
  if (missing(n)) {
    if (length(x) != 2L) abort_arg("n", "given, or `x` two counts", "left out")
    n <- nv_reshape(sum(x), 1L)
    x <- x[array(1L)]
  }
  k <- length(x)
  if (length(n) != k) abort_arg("n", paste("as long as `x`,", k), paste("of length", length(n)))
  n <- as_flat(real_floats(value_of(as_operand(n))))
  null <- p
  if (is.null(p) && k == 1L) null <- p <- 0.5
  if (!is.null(p) && length(p) != k) abort_arg("p", paste("of length", k), paste("of length", length(p)))
  if (k > 2L || k == 2L && !is.null(p)) alternative <- "two.sided"
  estimate <- x / n
  yates <- if (correct && k <= 2L) 0.5 else 0
  z <- stats::qnorm(if (alternative == "two.sided") (1 + conf.level) / 2 else conf.level)
  ends <- NULL
  if (k == 1L) {
    yates <- as_number(nv_min(yates, abs(x - n * p)))
    ends <- ends_of_proportion(as_number(estimate), as_number(n), yates, z)
    ends <- switch(
      alternative, two.sided = ends, greater = list(ends[[1L]], 1), less = list(0, ends[[2L]])
    )
  } else if (k == 2L && is.null(p)) {
    delta <- estimate[1L] - estimate[2L]
    yates <- nv_min(yates, abs(delta) / sum(1 / n))
    width <- z * sqrt(sum(estimate * (1 - estimate) / n)) + yates * sum(1 / n)
    low <- nv_max(delta - width, -1)
    high <- nv_min(delta + width, 1)
    ends <- switch(alternative, two.sided = list(low, high), greater = list(low, 1), less = list(-1, high))
  }
  df <- if (is.null(p)) k - 1L else k
  if (is.null(p)) p <- sum(x) / sum(n)
  p <- if (is_value(p)) p else array(p)
  statistic <- sum((abs(x - n * p) - yates)^2 / (n * p)) + sum((abs(n * p - x) - yates)^2 / (n * (1 - p)))
  value <- if (alternative == "two.sided") p_of_chisq(statistic, df) else {
    z <- sign(if (k == 1L) as_number(estimate - p) else delta) * sqrt(statistic)
    pnorm(z, lower.tail = alternative == "less")
  }
  names <- if (k == 1L) "p" else paste("prop", seq_len(k))
  test_of(
    statistic, "X-squared", c(df = df), value, estimate = with_names(estimate, list(names)),
    null.value = if (!is.null(null)) with_names(value_of(array(null)), list(names)),
    conf.int = if (!is.null(ends)) joined(lapply(ends, as_operand))
  )
}

# The ends of Wilson's interval, with a correction.
ends_of_proportion <- function(estimate, n, yates, z) {
  part <- z^2 / (2 * n)
  end <- function(p, side) {
    (p + part + side * z * sqrt(nv_max(p * (1 - p) / n + part / (2 * n), 0))) / (1 + 2 * part)
  }
  low <- estimate - yates / n
  high <- estimate + yates / n
  list(
    nv_ifelse(nv_le(low, 0), 0, nv_max(end(low, -1), 0)),
    nv_ifelse(nv_ge(high, 1), 1, nv_min(end(high, 1), 1))
  )
}

binom_test <- function(x, n, p = 0.5, alternative = sides, conf.level = 0.95) {
  alternative <- chosen("alternative", alternative, sides)
  check_level(conf.level)
  x <- numbers_as_matrix(x)
  if (length(x) == 2L) abort_arg("x", "one number, beside the number of trials", "two")
  if (length(x) != 1L) abort_arg("x", "one number", paste("of length", length(x)))
  if (is_traced(n)) abort_concrete("binom.test()", n)
  if (!is_whole(n) || n < 1) abort_arg("n", "a whole number, at least 1", describe(n))
  x <- as_number(x)
  mass <- dbinom(array(0:n), n, p)
  # Of a density with one peak, what is as far or farther on the other side has no more of it.
  less_likely <- function() {
    sum(nv_ifelse(nv_le(mass, dbinom(x, n, p) * (1 + 1e-7)), mass, 0))
  }
  value <- switch(
    alternative, less = pbinom(x, n, p), greater = pbinom(x - 1, n, p, lower.tail = FALSE),
    two.sided = nv_min(1, less_likely())
  )
  low <- function(tail) nv_ifelse(nv_eq(x, 0), 0, qbeta(tail, nv_max(x, 0.5), n - x + 1))
  high <- function(tail) nv_ifelse(nv_eq(x, n), 1, qbeta(1 - tail, x + 1, nv_max(n - x, 0.5)))
  tail <- 1 - conf.level
  ends <- switch(
    alternative, less = list(0, high(tail)), greater = list(low(tail), 1),
    two.sided = list(low(tail / 2), high(tail / 2))
  )
  named <- function(v) named_values(list(v), "probability of success")
  list(
    statistic = named_values(list(x), "number of successes"), parameter = c("number of trials" = n),
    p.value = value, conf.int = joined(lapply(ends, as_operand)), estimate = named(x / n),
    null.value = named(p)
  )
}

friedman <- function(y, ...) {
  check_dots(...)
  y <- numbers_as_matrix(y)
  if (ndims(y) != 2L) abort_arg("y", "a matrix in a traced function", shown_shape(y))
  n <- nrow(y)
  k <- ncol(y)
  rows <- lapply(seq_len(n), function(i) as_flat(unname(y)[i, ]))
  ranks <- lapply(rows, function(row) nv_convert(nv_rank_of(row, "average"), dtype(row), ambiguous(row)))
  sums <- Reduce(`+`, ranks)
  ties <- Reduce(`+`, lapply(rows, ties_of))
  statistic <- 12 * sum((sums - n * (k + 1) / 2)^2) / (n * k * (k + 1) - ties / (k - 1))
  test_of(statistic, "Friedman chi-squared", c(df = k - 1L), p_of_chisq(statistic, k - 1))
}

box_test <- function(x, lag = 1, type = c("Box-Pierce", "Ljung-Box"), fitdf = 0) {
  type <- chosen("type", type, c("Box-Pierce", "Ljung-Box"))
  x <- sample_of(x)
  if (is_selection(x)) abort_concrete("Box.test()", x)
  n <- length(x)
  if (!is_whole(lag) || lag < 1 || lag >= n) {
    abort_arg("lag", paste("a whole number from 1 to", n - 1L), describe(lag))
  }
  rho <- as_flat(autocovariances(x, lag, "correlation", TRUE)$acf)[array(seq_len(lag) + 1L)]
  statistic <- if (type == "Box-Pierce") n * sum(rho^2) else {
    n * (n + 2) * sum(array(1 / seq.int(n - 1, n - lag)) * rho^2)
  }
  test_of(statistic, "X-squared", c(df = lag - fitdf), p_of_chisq(statistic, lag - fitdf))
}

# Royston's algorithm AS R94, as R has it in C.
shapiro <- function(x) {
  x <- sample_of(x)
  if (is_selection(x)) abort_concrete("shapiro.test()", x)
  n <- length(x)
  if (n < 3L || n > 5000L) abort_arg("x", "of 3 to 5000 elements", paste("of length", n))
  weights <- array(shapiro_weights(n))
  x <- nv_sort(x)
  left <- x - mean(x)
  # How far from 1 the squared correlation is, without a loss of digits near to it.
  size <- sqrt(sum(left^2))
  sum_of <- sum(weights * left)
  norm <- sqrt(sum(weights^2))
  away <- (norm * size - sum_of) * (norm * size + sum_of) / (norm * size)^2
  w <- 1 - away
  by_powers <- function(coefficients, x) sum(coefficients * x^(seq_along(coefficients) - 1))
  p <- if (n == 3L) {
    nv_max(0, 6 / pi * (asin(sqrt(w)) - asin(sqrt(0.75))))
  } else if (n <= 11L) {
    end <- by_powers(c(-2.273, 0.459), n)
    beyond <- nv_ge(log(away), end)
    y <- -log(nv_ifelse(beyond, 1, end - log(away)))
    centre <- by_powers(c(0.544, -0.39978, 0.025054, -6.714e-4), n)
    spread <- exp(by_powers(c(1.3822, -0.77857, 0.062767, -0.0020322), n))
    nv_ifelse(beyond, 0, pnorm(y, centre, spread, lower.tail = FALSE))
  } else {
    centre <- by_powers(c(-1.5861, -0.31082, -0.083751, 0.0038915), log(n))
    spread <- exp(by_powers(c(-0.4803, -0.082676, 0.0030302), log(n)))
    pnorm(log(away), centre, spread, lower.tail = FALSE)
  }
  test_of(w, "W", NULL, p)
}

shapiro_weights <- function(n) {
  if (n == 3L) return(c(-sqrt(0.5), 0, sqrt(0.5)))
  half <- n %/% 2L
  m <- stats::qnorm((seq_len(half) - 0.375) / (n + 0.25))
  total <- 2 * sum(m^2)
  at_root <- function(coefficients) sum(coefficients * (1 / sqrt(n))^(seq_along(coefficients) - 1))
  first <- at_root(c(0, 0.221157, -0.147981, -2.07119, 4.434685, -2.706056)) - m[1L] / sqrt(total)
  if (n > 5L) {
    second <- at_root(c(0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633)) - m[2L] / sqrt(total)
    given <- c(first, second)
  } else {
    given <- first
  }
  at <- seq_along(given)
  scale <- sqrt((total - 2 * sum(m[at]^2)) / (1 - 2 * sum(given^2)))
  weights <- c(given, -m[-at] / scale)
  c(-weights, if (n %% 2L) 0, rev(weights))
}

# A test of what is given alone, without a formula.
of_values <- function(name, by) {
  eval(bquote(function(...) {
    traced <- any_traced(...) || any_selection(...)
    if (!traced && (!...length() || !is_traced_frame(..1))) {
      return(own_call(.(name), sys.call(), parent.frame()))
    }
    .(by)(...)
  }))
}

mask_counts <- list(
  chisq.test = of_values("chisq.test", quote(chisq_test)),
  mcnemar.test = of_values("mcnemar.test", quote(mcnemar)),
  prop.test = of_values("prop.test", quote(prop_test)),
  binom.test = of_values("binom.test", quote(binom_test)),
  friedman.test = of_values("friedman.test", quote(friedman)),
  Box.test = of_values("Box.test", quote(box_test)),
  shapiro.test = of_values("shapiro.test", quote(shapiro))
)

# nolint end
