# Tests of hypotheses in a traced function, see mask.R: R's own look at the elements before they compute. They
# give the lists that R's give, without a class and without text.

# nolint start: object_name_linter. Names are those of R.

# What a test is of: a vector of floats, or a selection.
sample_of <- function(x) {
  if (is_selection(x)) return(x)
  check_no_factor(x)
  as_flat(real_floats(value_of(as_operand(x))))
}

named_values <- function(values, names) setNames(joined(lapply(values, as_operand)), names)

# What a test computes, without what it has not.
test_of <- function(statistic, name, parameter, p.value, ...) {
  out <- list(statistic = named_values(list(statistic), name), parameter = parameter, p.value = p.value, ...)
  out[!vapply(out, is.null, NA)]
}

df_of <- function(...) named_values(list(...), if (...length() == 1L) "df" else c("num df", "denom df"))

sides <- c("two.sided", "less", "greater")

check_level <- function(level) {
  if (is_numeric(level) && length(level) == 1L && level > 0 && level < 1) return(invisible())
  abort_arg("conf.level", "a number between 0 and 1", describe(level))
}

# The p-value of a statistic with this distribution function.
p_of <- function(alternative, cdf) {
  switch(
    alternative, less = cdf(TRUE), greater = cdf(FALSE), two.sided = 2 * nv_min(cdf(TRUE), cdf(FALSE))
  )
}

p_of_normal <- function(alternative, z) p_of(alternative, function(lower) pnorm(z, lower.tail = lower))

p_of_chisq <- function(statistic, df) pchisq(statistic, df, lower.tail = FALSE)

# How many elements are equal to each, itself among them.
tied <- function(x) nv_rank_of(x, "max") - nv_rank_of(x, "min") + 1L

# The sum of `t^3 - t` over the numbers of equal elements.
ties_of <- function(x, used = NULL) {
  terms <- nv_convert(tied(x), dtype(x), ambiguous(x))^2 - 1
  sum(if (is.null(used)) terms else nv_ifelse(used, terms, 0))
}

# ---- samples -----------------------------------------------------------------------------------------------

# Samples of a list, or the groups of a vector: list(values, codes, count, names), with the code 0 of what is
# in none.
samples_of <- function(what, x, g) {
  if (is.list(x) && !is_selection(x)) {
    if (length(x) < 2L) abort_arg("x", "a list of two samples or more", describe(x))
    parts <- lapply(unclass(x), function(one) {
      one <- sample_of(one)
      if (!is_selection(one)) return(list(values = one, mask = NULL))
      vector_parts(one)
    })
    codes <- lapply(seq_along(parts), function(i) {
      mask <- parts[[i]]$mask
      if (is.null(mask)) array(rep(i, length(parts[[i]]$values))) else nv_ifelse(mask, i, 0L)
    })
    values <- joined(lapply(unname(parts), function(part) real_floats(part$values)))
    out <- list(values = values, codes = value_of(joined(codes)), count = length(x))
  } else {
    if (is_selection(x)) {
      whole <- without_selection(what, x, g)
      x <- whole$values
      g <- whole$groups
    }
    x <- sample_of(x)
    groups <- grouping_of(what, "g", if (is_traced(g)) with_known_levels(g) else g, length(x))
    out <- list(values = x, codes = value_of(groups$codes), count = groups$count)
  }
  out$used <- out$codes > 0L
  out$values <- nv_ifelse(out$used, unname(out$values), 0)
  out$sizes <- nv_convert(nv_tabulate(out$codes, out$count), dtype(out$values), ambiguous(out$values))
  # Levels without elements are none.
  out$k <- nv_reduce_sum(nv_convert(out$sizes > 0, dtype(out$values), ambiguous(out$values)))
  out$n <- sum(out$sizes)
  out
}

in_samples <- function(samples, x) nv_segment_sum(x, samples$codes, samples$count, mode = "drop")

# A number for each sample that has elements, and 0 for others.
of_filled <- function(samples, x) nv_ifelse(samples$sizes > 0, x, 0)

means_of <- function(samples) of_filled(samples, in_samples(samples, samples$values) / samples$sizes)

variances_of <- function(samples) {
  centre <- nv_subset(means_of(samples), nv_max(samples$codes, 1L))
  in_samples(samples, (samples$values - centre)^2) / (samples$sizes - 1)
}

ranks_of <- function(samples) {
  x <- nv_ifelse(samples$used, samples$values, NaN)
  ranks <- nv_convert(nv_rank_of(x, "average"), dtype(x), ambiguous(x))
  list(ranks = nv_ifelse(samples$used, ranks, 0), x = x)
}

# The arguments of a test by a formula or by vectors, and whether one is traced. Of a formula these are its
# left side and its groups, of which what `subset` leaves out is in none. That is evaluated in the data, as
# in R.
arguments_of_test <- function(what, x, rest, data, subset) {
  if (!inherits(x, "formula")) {
    traced <- function(v) {
      is_traced(v) || is_selection(v) || is.list(v) && (holds_tracer(v) || any_selection_in(v))
    }
    return(list(traced = any(vapply(c(list(x), rest), traced, NA)), given = c(list(x), rest)))
  }
  if (is.null(data) && length(rest) && !any(nzchar(names(rest)[1L]))) {
    data <- rest[[1L]]
    rest <- rest[-1L]
  }
  inside <- if (is.list(data)) unclass(data) else if (is.environment(data)) data else list()
  chosen <- eval(subset, inside, environment(x))
  if (!needs_traced(x, data) && !is_traced(chosen)) return(list(traced = FALSE))
  list(traced = TRUE, given = c(variables_of_test(what, x, data, chosen), rest), formula = x)
}

variables_of_test <- function(what, formula, data, chosen) {
  if (length(formula) == 2L) {
    return(unname(variables_in_rows(variables_of(terms_of(formula, data), data), chosen, NULL)$variables))
  }
  sides <- formula_sides(formula, data)
  g <- sides$right
  if (!length(g)) {
    if (length(dim(sides$left)) == 2L) abort_arg("x", "a formula of a vector", "one of a matrix")
    return(unname(variables_in_rows(list(sides$left), chosen, NULL)$variables))
  }
  g <- if (length(g) == 1L) g[[1L]] else do.call(mask_groups$interaction, unname(g), quote = TRUE)
  if (is_selection(g)) return(list(sides$left, g))
  if (!is_traced(g)) g <- if (is.factor(g)) g else factor(if (is_value(g)) as_array(g) else g)
  if (!is.null(chosen)) {
    g <- if (is_traced(g)) with_known_levels(g) else column_value(g)
    if (is.null(levels(g))) abort_concrete(what, g)
    g <- factor_of(nv_ifelse(value_of(as_operand(chosen)), codes_of(g), 0L), as.vector(levels(g)))
  }
  list(sides$left, g)
}

# The mask of a test: R's own where nothing is traced. `by()` takes the samples, or their groups.
tested <- function(name, by) {
  eval(bquote(function(x, ..., formula, data, subset) {
    if (missing(x)) x <- formula
    chosen <- if (!missing(subset)) substitute(subset)
    of <- arguments_of_test(.(paste0(name, "()")), x, list(...), if (!missing(data)) data, chosen)
    if (!of$traced) return(own_call(.(name), sys.call(), parent.frame()))
    do.call(.(by), c(of$given, if (!is.null(of$formula)) list(formula = of$formula)), quote = TRUE)
  }))
}

kruskal <- function(x, g, ..., formula = NULL) {
  check_dots(...)
  of <- samples_of("kruskal.test()", x, g)
  r <- ranks_of(of)
  n <- of$n
  spread <- sum(of_filled(of, in_samples(of, r$ranks)^2 / of$sizes))
  statistic <- (12 * spread / (n * (n + 1)) - 3 * (n + 1)) / (1 - ties_of(r$x, of$used) / (n^3 - n))
  test_of(statistic, "Kruskal-Wallis chi-squared", df_of(of$k - 1), p_of_chisq(statistic, of$k - 1))
}

bartlett <- function(x, g, ..., formula = NULL) {
  check_dots(...)
  of <- samples_of("bartlett.test()", x, g)
  left <- of_filled(of, of$sizes - 1)
  total <- sum(left)
  variances <- nv_ifelse(of$sizes > 0, variances_of(of), 1)
  pooled <- sum(left * variances) / total
  among <- 1 + (sum(of_filled(of, 1 / left)) - 1 / total) / (3 * (of$k - 1))
  statistic <- (total * log(pooled) - sum(left * log(variances))) / among
  test_of(statistic, "Bartlett's K-squared", df_of(of$k - 1), p_of_chisq(statistic, of$k - 1))
}

oneway <- function(x, g, var.equal = FALSE, ..., formula = NULL) {
  check_dots(...)
  check_flag("var.equal", var.equal)
  of <- samples_of("oneway.test()", x, g)
  k <- of$k
  means <- means_of(of)
  variances <- nv_ifelse(of$sizes > 0, variances_of(of), 1)
  if (var.equal) {
    centre <- sum(of$values) / of$n
    within <- sum(of_filled(of, (of$sizes - 1) * variances)) / (of$n - k)
    f <- sum(of$sizes * (means - centre)^2) / (k - 1) / within
    df <- list(k - 1, of$n - k)
  } else {
    weights <- of$sizes / variances
    total <- sum(weights)
    part <- sum(of_filled(of, (1 - weights / total)^2 / (of$sizes - 1))) / (k^2 - 1)
    f <- sum(weights * (means - sum(weights * means) / total)^2) / ((k - 1) * (1 + 2 * (k - 2) * part))
    df <- list(k - 1, 1 / (3 * part))
  }
  test_of(f, "F", do.call(df_of, df), pf(f, df[[1L]], df[[2L]], lower.tail = FALSE))
}

# ---- two samples -------------------------------------------------------------------------------------------

var_test <- function(x, y, ratio = 1, alternative = sides, conf.level = 0.95, ...) {
  check_dots(...)
  alternative <- chosen("alternative", alternative, sides)
  check_level(conf.level)
  x <- sample_of(x)
  y <- sample_of(y)
  left <- list(number_in(x) - 1, number_in(y) - 1)
  estimate <- var(x) / var(y)
  f <- estimate / ratio
  p <- pf(f, left[[1L]], left[[2L]])
  end <- function(level) estimate / qf(level, left[[1L]], left[[2L]])
  tail <- (1 - conf.level) / 2
  parts <- switch(
    alternative, less = list(p, 0, end(1 - conf.level)), greater = list(1 - p, end(conf.level), Inf),
    two.sided = list(2 * nv_min(p, 1 - p), end(1 - tail), end(tail))
  )
  test_of(
    f, "F", do.call(df_of, left), parts[[1L]], conf.int = joined(lapply(parts[2:3], as_operand)),
    estimate = named_values(list(estimate), "ratio of variances"),
    null.value = setNames(ratio, "ratio of variances")
  )
}

cor_test <- function(x, y, alternative = sides, method = c("pearson", "kendall", "spearman"), exact = NULL,
                     conf.level = 0.95, continuity = FALSE, ...) {
  check_dots(...)
  alternative <- chosen("alternative", alternative, sides)
  method <- chosen("method", method, c("pearson", "kendall", "spearman"))
  check_level(conf.level)
  check_flag("continuity", continuity)
  x <- sample_of(x)
  y <- sample_of(y)
  if (is_selection(x) && is_selection(y) && method == "pearson") {
    return(pearson(x, y, number_in(x), alternative, conf.level))
  }
  if (is_selection(x) || is_selection(y)) abort_concrete("cor.test()", if (is_selection(x)) x else y)
  n <- length(x)
  if (length(y) != n) abort_arg("y", paste("as long as `x`,", n), paste("of length", length(y)))
  if (n < 3L) abort_arg("x", "of at least 3 elements", paste("of length", n))
  if (method == "pearson") return(pearson(x, y, n, alternative, conf.level))
  if (!isFALSE(exact) && !(method == "kendall" && is.null(exact) && n >= 50L)) {
    abort_arg(
      "exact", "FALSE in a traced function", if (is.null(exact)) "left out" else describe(exact),
      "Whether elements are equal, which an exact p-value may not be of, is not known while tracing."
    )
  }
  if (method == "kendall") return(kendall(x, y, n, alternative, continuity))
  rho <- cor(nv_rank_of(x, "average"), nv_rank_of(y, "average"))
  s <- (n^3 - n) * (1 - rho) / 6
  r <- 1 - s / (n * (n^2 - 1) / 6 + continuity)
  p <- function(lower) pt(r / sqrt((1 - r^2) / (n - 2)), n - 2, lower.tail = lower)
  p <- switch(
    alternative, less = p(TRUE), greater = p(FALSE),
    two.sided = nv_min(2 * nv_ifelse(s > (n^3 - n) / 6, p(TRUE), p(FALSE)), 1)
  )
  test_of(s, "S", NULL, p, estimate = named_values(list(rho), "rho"), null.value = c(rho = 0))
}

pearson <- function(x, y, n, alternative, level) {
  r <- cor(x, y)
  t <- sqrt(n - 2) * r / sqrt(1 - r^2)
  width <- function(level) qnorm(level) / sqrt(n - 3)
  ends <- switch(
    alternative, less = list(-1, tanh(atanh(r) + width(level))),
    greater = list(tanh(atanh(r) - width(level)), 1),
    two.sided = list(tanh(atanh(r) - width((1 + level) / 2)), tanh(atanh(r) + width((1 + level) / 2)))
  )
  test_of(
    t, "t", if (is_traced(n)) df_of(n - 2L) else c(df = n - 2L),
    p_of(alternative, function(lower) pt(t, n - 2, lower.tail = lower)),
    estimate = named_values(list(r), "cor"), null.value = c(correlation = 0),
    conf.int = if (is_traced(n) || n > 3L) joined(lapply(ends, as_operand))
  )
}

kendall <- function(x, y, n, alternative, continuity) {
  r <- cor(x, y, method = "kendall")
  counts <- lapply(list(x, y), function(v) nv_convert(tied(v), dtype(v), ambiguous(v)))
  # Each of t equal elements has a share of what R sums over the numbers t.
  total <- function(f) lapply(counts, function(t) sum((t - 1) * f(t)))
  pairs <- total(function(t) 1)
  s <- r * sqrt((n * (n - 1) - pairs[[1L]]) / 2 * ((n * (n - 1) - pairs[[2L]]) / 2))
  of_ties <- total(function(t) 2 * t + 5)
  triples <- total(function(t) t - 2)
  spread <- (n * (n - 1) * (2 * n + 5) - of_ties[[1L]] - of_ties[[2L]]) / 18 +
    pairs[[1L]] * pairs[[2L]] / (2 * n * (n - 1)) +
    triples[[1L]] * triples[[2L]] / (9 * n * (n - 1) * (n - 2))
  if (continuity) s <- sign(s) * (abs(s) - 1)
  z <- s / sqrt(spread)
  test_of(
    z, "z", NULL, p_of_normal(alternative, z), estimate = named_values(list(r), "tau"),
    null.value = c(tau = 0)
  )
}

wilcoxon <- function(x, y = NULL, alternative = sides, mu = 0, paired = FALSE, exact = NULL, correct = TRUE,
                     conf.int = FALSE, ...) {
  check_dots(...)
  alternative <- chosen("alternative", alternative, sides)
  check_flag("paired", paired)
  check_flag("correct", correct)
  if (!isFALSE(conf.int)) abort_arg("conf.int", "FALSE in a traced function", describe(conf.int))
  x <- sample_of(x)
  if (!is.null(y)) y <- sample_of(y)
  if (paired) {
    if (is.null(y)) abort_arg("y", "given where `paired` is TRUE", "NULL")
    x <- x - y
    y <- NULL
  }
  out <- if (is.null(y)) signed_ranks(x - mu, alternative, exact, correct) else {
    rank_sum(x - mu, y, alternative, exact, correct)
  }
  c(out, list(null.value = setNames(mu, if (is.null(y) && !paired) "location" else "location shift")))
}

# Whether an exact p-value is asked for, as R has it where no two elements are equal.
wants_exact <- function(exact, sizes, is_known) {
  if (isFALSE(exact) || is.null(exact) && is_known && any(sizes >= 50L)) return(FALSE)
  if (is_known) return(TRUE)
  abort_arg(
    "exact", "FALSE for a selection", if (is.null(exact)) "left out" else describe(exact),
    "An exact p-value needs to know how many elements there are."
  )
}

# The p-value by a table of the probabilities of up to each value of a statistic.
exact_p <- function(alternative, statistic, below, centre) {
  at <- nv_convert(nv_round(statistic), "i32") + 1L
  # What is beyond each value, from the side that has no digits to lose.
  table <- function(values) nv_subset(value_of(array(values)), nv_clamp(1L, at, length(values)))
  lower <- table(below$lower)
  upper <- table(below$upper)
  switch(
    alternative, less = lower, greater = upper,
    two.sided = nv_min(2 * nv_ifelse(statistic > centre, upper, lower), 1)
  )
}

corrected <- function(z, alternative, correct) {
  if (!correct) return(z)
  z - switch(alternative, two.sided = sign(z) * 0.5, greater = 0.5, less = -0.5)
}

rank_sum <- function(x, y, alternative, exact, correct) {
  is_known <- !is_selection(x) && !is_selection(y)
  of <- samples_of("wilcox.test()", list(x, y))
  r <- ranks_of(of)
  n <- nv_subset(of$sizes, 1L)
  m <- nv_subset(of$sizes, 2L)
  w <- nv_subset(in_samples(of, r$ranks), 1L) - n * (n + 1) / 2
  ties <- ties_of(r$x, of$used)
  spread <- sqrt((n * m / 12) * ((n + m + 1) - ties / ((n + m) * (n + m - 1))))
  p <- p_of_normal(alternative, corrected(w - n * m / 2, alternative, correct) / spread)
  sizes <- if (is_known) c(length(x), length(y))
  if (wants_exact(exact, sizes, is_known)) {
    values <- 0:prod(sizes)
    below <- list(
      lower = stats::pwilcox(values, sizes[1L], sizes[2L]),
      upper = stats::pwilcox(values - 1, sizes[1L], sizes[2L], lower.tail = FALSE)
    )
    p <- nv_ifelse(ties > 0, p, exact_p(alternative, w, below, prod(sizes) / 2))
  }
  test_of(w, "W", NULL, p)
}

signed_ranks <- function(x, alternative, exact, correct) {
  is_known <- !is_selection(x)
  size <- if (is_known) length(x)
  parts <- if (is_known) list(values = x, mask = NULL) else vector_parts(x)
  x <- real_floats(parts$values)
  used <- nv_ne(x, 0)
  if (!is_known) used <- used & parts$mask
  n <- nv_reduce_sum(nv_convert(used, dtype(x), ambiguous(x)))
  size_of <- nv_ifelse(used, abs(x), NaN)
  ranks <- nv_convert(nv_rank_of(size_of, "average"), dtype(x), ambiguous(x))
  v <- sum(nv_ifelse(used & nv_gt(x, 0), ranks, 0))
  ties <- ties_of(size_of, used)
  spread <- sqrt(n * (n + 1) * (2 * n + 1) / 24 - ties / 48)
  p <- p_of_normal(alternative, corrected(v - n * (n + 1) / 4, alternative, correct) / spread)
  if (wants_exact(exact, size, is_known)) {
    values <- 0:(size * (size + 1) / 2)
    below <- list(
      lower = stats::psignrank(values, size),
      upper = stats::psignrank(values - 1, size, lower.tail = FALSE)
    )
    p <- nv_ifelse(ties > 0 | n < size, p, exact_p(alternative, v, below, size * (size + 1) / 4))
  }
  test_of(v, "V", NULL, p)
}

# A test of two samples, of which a formula may give the groups. Where the result names these, it is given
# the names.
of_two <- function(what, by, named = FALSE) {
  eval(bquote(function(x, y = NULL, ..., formula = NULL) {
    if (length(formula) < 3L || is.null(y)) return(.(by)(x, y, ...))
    if (length(levels_of(y)) != 2L) {
      abort_arg(
        "x", "a formula with one factor of two levels on its right side", deparse1(formula),
        "Name two of more: `y ~ factor(g, levels = c(\"a\", \"b\"))`, which leaves out the others."
      )
    }
    if (is_selection(x)) abort_concrete(.(what), x)
    parts <- in_groups(sample_of(x), grouping_of(.(what), "x", y, length(x)))
    if (!.(named)) return(.(by)(parts[[1L]], parts[[2L]], ...))
    .(by)(parts[[1L]], parts[[2L]], ..., names = paste("mean in group", levels_of(y)))
  }))
}

mask_tests <- list(
  kruskal.test = tested("kruskal.test", quote(kruskal)),
  bartlett.test = tested("bartlett.test", quote(bartlett)),
  oneway.test = tested("oneway.test", quote(oneway)),
  var.test = tested("var.test", of_two("var.test()", quote(var_test))),
  cor.test = tested("cor.test", of_two("cor.test()", quote(cor_test))),
  wilcox.test = tested("wilcox.test", of_two("wilcox.test()", quote(wilcoxon))),
  t.test = tested("t.test", of_two("t.test()", quote(t_test), named = TRUE))
)

# nolint end
