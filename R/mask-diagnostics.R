# What is computed of the models that lm() and glm() give in a traced function: leverages, residuals by them,
# tables of variances, and predictions with their errors, see mask-formulas.R and mask-glm.R.

# nolint start: object_name_linter. Names are those of R.

# Something with an element for each row of a model, as its residuals are: of all rows, or of those selected.
of_rows_of <- function(fit, values) {
  of_fit <- fit$residuals
  if (is_selection(of_fit)) return(selection(as_flat(values), selected(of_fit)$mask, 1L))
  with_names(as_flat(values), list(names(of_fit)))
}

# The rows of a design matrix by the inverse of the triangle that the fit has.
rows_by_triangle <- function(fit, x) {
  nv_transpose(backsolve(fit$qr$qr, nv_transpose(x), transpose = TRUE))
}

leverages <- function(fit) {
  check_one_response(fit)
  x <- real_floats(attr(fit, "design"))
  w <- fit$weights
  if (is_selection(w)) w <- filled(selected(w), 0)
  if (!is.null(w)) x <- x * sqrt(as_flat(real_floats(value_of(as_operand(w)))))
  nv_reduce_sum(unname(rows_by_triangle(fit, x))^2, axes = 2L)
}

# From R 4.6 on diagnostics of glm() are of weighted working residuals and of Pearson's, before that of those
# of the deviance.
of_pearson <- function() getRversion() >= "4.6.0"

weighted_residuals <- function(fit) {
  is_glm <- is_traced_glm(fit)
  if (is_glm && !of_pearson()) return(residuals_of_glm(fit))
  left <- if (is_glm) residuals_of_glm(fit, "working") else fit$residuals
  if (is.null(fit$weights)) return(left)
  left * (if (is_glm) of_rows_of(fit, sqrt(whole_variable(fit$weights))) else sqrt(fit$weights))
}

# Those that are divided by their deviation.
residuals_to_scale <- function(fit) {
  if (is_traced_glm(fit) && of_pearson()) return(elements_of(residuals_of_glm(fit, "pearson")))
  elements_of(weighted_residuals(fit))
}

# The dispersion of a model: 1, or a sum of squares.
dispersion_of <- function(fit) {
  if (is_traced_glm(fit)) return(summary_of_glm(fit)$dispersion)
  sum(elements_of(weighted_residuals(fit))^2) / fit$df.residual
}

finite_or_nan <- function(x) {
  if (is_selection(x)) return(x)
  nv_ifelse(nv_is_finite(x), x, NaN)
}

# Without the row of each residual, the deviation of the others; from R 4.6 on 1 where a family says so.
deviation_without <- function(fit, left, h) {
  if (of_pearson() && is_traced_glm(fit) && !glm_families[[fit$family$family]]$spread) return(1)
  sqrt((sum(left^2) - left^2 / (1 - h)) / (fit$df.residual - 1))
}

standardized <- function(fit, by_others) {
  h <- of_rows_of(fit, leverages(fit))
  left <- residuals_to_scale(fit)
  if (!by_others) return(of_each_row(fit, left / sqrt(dispersion_of(fit) * (1 - h))))
  if (!is_traced_glm(fit) || of_pearson()) {
    scale <- deviation_without(fit, elements_of(weighted_residuals(fit)), h)
    return(of_each_row(fit, left / (scale * sqrt(1 - h))))
  }
  pearson <- elements_of(residuals_of_glm(fit, "pearson"))
  out <- sign(left) * sqrt(left^2 + h * pearson^2 / (1 - h))
  if (glm_families[[fit$family$family]]$spread) out <- out / deviation_without(fit, left, h)
  of_each_row(fit, out)
}

of_each_row <- function(fit, values) {
  if (is_selection(values)) return(values)
  with_names(finite_or_nan(unname(values)), list(names(fit$residuals)))
}

distances_of_cook <- function(fit) {
  h <- of_rows_of(fit, leverages(fit))
  left <- elements_of(
    if (is_traced_glm(fit)) residuals_of_glm(fit, "pearson") else weighted_residuals(fit)
  )
  of_each_row(fit, (left / (1 - h))^2 * h / (dispersion_of(fit) * fit$rank))
}

# How far leaving out each row moves what is fitted to it.
moves_of_fit <- function(fit) {
  h <- of_rows_of(fit, leverages(fit))
  left <- elements_of(weighted_residuals(fit))
  of_each_row(fit, left * sqrt(h) / (deviation_without(fit, left, h) * (1 - h)))
}

# ---- tables ------------------------------------------------------------------------------------------------

check_fits <- function(fits, what) {
  for (fit in fits) {
    if (is_traced_fit(fit) && is_traced_glm(fit) == is_traced_glm(fits[[1L]])) next
    abort_arg("...", paste("models as the first, by", what), describe(fit))
  }
}

joined_numbers <- function(values) joined(lapply(values, function(x) as_operand(as.double(x))))

# The terms of a model one after the other.
variances_by_term <- function(fit) {
  check_one_response(fit)
  assign <- attr(attr(fit, "design"), "assign")
  # The effects of the columns come first.
  effects <- as_flat(fit$effects)[array(seq_along(assign))]
  labels <- attr(fit$terms, "term.labels")
  at <- seq_along(labels)
  squares <- lapply(at, function(k) sum(effects[array(which(assign == k))]^2))
  df <- c(vapply(at, function(k) sum(assign == k), 1), list(fit$df.residual))
  squares <- c(squares, list(sum(elements_of(weighted_residuals(fit))^2)))
  means <- Map(`/`, squares, df)
  f <- lapply(at, function(k) means[[k]] / means[[length(means)]])
  p <- lapply(at, function(k) pf(f[[k]], df[[k]], fit$df.residual, lower.tail = FALSE))
  out <- list(
    Df = joined_numbers(df), "Sum Sq" = joined_numbers(squares), "Mean Sq" = joined_numbers(means),
    "F value" = joined_numbers(c(f, NaN)), "Pr(>F)" = joined_numbers(c(p, NaN))
  )
  named_rows(out, c(labels, "Residuals"))
}

named_rows <- function(columns, names) {
  out <- frame_of(lapply(columns, value_of), length(names))
  attr(out, "row.names") <- names
  out
}

# One model after the other, each beside the one before it.
variances_by_model <- function(fits, test) {
  left <- lapply(fits, function(fit) fit$df.residual)
  squares <- lapply(fits, function(fit) {
    if (is_traced_glm(fit)) fit$deviance else sum(elements_of(weighted_residuals(fit))^2)
  })
  between <- function(x) Map(`-`, x[-length(x)], x[-1L])
  df <- between(left)
  less <- between(squares)
  is_glm <- is_traced_glm(fits[[1L]])
  of_lm <- c("Res.Df", "RSS", "Df", "Sum of Sq")
  names <- if (is_glm) c("Resid. Df", "Resid. Dev", "Df", "Deviance") else of_lm
  out <- setNames(lapply(list(left, squares, c(NaN, df), c(NaN, less)), joined_numbers), names)
  # The scale is that of the largest model: which one that is, is known of their ranks.
  largest <- which.max(vapply(fits, function(fit) fit$rank, 1))
  scale <- if (is_glm) dispersion_of(fits[[largest]]) else squares[[largest]] / left[[largest]]
  if (identical(test, "F")) {
    f <- Map(function(x, df) x / df / scale, less, df)
    p <- Map(function(f, df) pf(f, abs(df), left[[largest]], lower.tail = FALSE), f, df)
    out <- c(out, list(F = joined_numbers(c(NaN, f)), "Pr(>F)" = joined_numbers(c(NaN, p))))
  } else if (!is.null(test)) {
    p <- Map(function(x, df) pchisq(x / scale * sign(df), abs(df), lower.tail = FALSE), less, df)
    out[["Pr(>Chi)"]] <- joined_numbers(c(NaN, p))
  }
  named_rows(out, as.character(seq_along(fits)))
}

# ---- predictions -------------------------------------------------------------------------------------------

# Predictions of a linear model with their errors or the ends of intervals.
predicted_by_lm <- function(object, newdata, se.fit = FALSE, interval = c("none", "confidence", "prediction"),
                            level = 0.95, ...) {
  check_dots(...)
  check_flag("se.fit", se.fit)
  interval <- chosen("interval", interval, c("none", "confidence", "prediction"))
  is_new <- !missing(newdata)
  fit <- if (is_new) fitted_at(object, newdata) else object$fitted.values
  if (!se.fit && interval == "none") return(fit)
  check_one_response(object)
  if (is_selection(fit)) abort_concrete("predict()", fit)
  x <- if (is_new) design_at(object, newdata) else real_floats(attr(object, "design"))
  variance <- dispersion_of(object)
  spread <- nv_reduce_sum(unname(rows_by_triangle(object, x))^2, axes = 2L) * variance
  out <- fit
  if (interval != "none") {
    # As in R, of the rows of the fit their weights count.
    beside <- if (is_new || is.null(object$weights)) variance else variance / as_flat(object$weights)
    half <- qt((1 + level) / 2, object$df.residual) *
      sqrt(if (interval == "prediction") spread + beside else spread)
    out <- cbind(unname(fit), unname(fit) - half, unname(fit) + half)
    dimnames(out) <- list(names(fit), c("fit", "lwr", "upr"))
  }
  if (!se.fit) return(out)
  list(
    fit = out, se.fit = with_names(sqrt(spread), list(names(fit))), df = object$df.residual,
    residual.scale = sqrt(variance)
  )
}

# Intervals of Wald's, of either model.
wald_intervals <- function(object, parm, level, quantile) {
  estimate <- object$coefficients
  errors <- sqrt(nv_extract_diag(covariance_of(object)))
  ends <- c((1 - level) / 2, 1 - (1 - level) / 2)
  out <- unname(estimate) + outer(errors, quantile(ends))
  dimnames(out) <- list(names(estimate), paste(format(100 * ends, trim = TRUE, digits = 3), "%"))
  if (missing(parm)) out else out[parm, , drop = FALSE]
}

covariance_of <- function(fit) {
  if (is_traced_glm(fit)) return(summary_of_glm(fit)$cov.scaled)
  about <- if (is_traced_nls(fit)) summary_of_nls(fit) else summary_of_fit(fit)
  about$sigma^2 * about$cov.unscaled
}

# ---- what the mask binds -----------------------------------------------------------------------------------

# R's own function of a name for what is no model that is traced.
of_fit <- function(name, by) {
  eval(bquote(function(model, ...) {
    if (!is_traced_fit(model)) return(called_from(.(name), parent.frame())(model, ...))
    check_dots(...)
    .(by)(model)
  }))
}

# Models of formulas that there are none of: R's own say that they call model.frame().
no_model <- function(name) {
  eval(bquote(function(formula, data = NULL, ...) {
    if (!needs_traced(formula, data)) return(own_call(.(name), sys.call(), parent.frame()))
    variables <- lapply(all.vars(formula), get0, environment(formula))
    given <- c(if (is.list(data)) unclass(data), variables)
    abort_concrete(.(paste0(name, "()")), Find(function(x) is_traced(x) || is_selection(x), given))
  }))
}

mask_diagnostics <- list(
  TukeyHSD = function(x, ...) {
    if (!is_traced_fit(x)) return(called_from("TukeyHSD", parent.frame())(x, ...))
    abort(
      "anvil_error_unsupported",
      paste0(
        "`TukeyHSD()` needs the distribution of studentized ranges, which a program lacks.\n",
        "i The differences are `outer(m, m, \"-\")` with `m <- tapply(y, g, mean)`: take `ptukey()` outside."
      )
    )
  },
  loess = no_model("loess"),

  # As in R, a linear model whose summary is its table of variances.
  aov = function(formula, data = NULL, projections = FALSE, qr = TRUE, contrasts = NULL, ...) {
    if (!needs_traced(formula, data)) return(own_call("aov", sys.call(), parent.frame()))
    check_dots(...)
    if ("Error" %in% all.names(formula)) {
      abort_arg(
        "formula", "one without `Error()`", deparse1(formula),
        "Of strata that are groups, `tapply(y, list(g, block), mean)` has the means to compare."
      )
    }
    fit <- linear_model(formula, data, NULL, match.call(call = sys.call()), contrasts)
    structure(fit, class = c("aov", class(fit)))
  },

  hatvalues = of_fit("hatvalues", quote(function(fit) of_each_row(fit, of_rows_of(fit, leverages(fit))))),
  rstandard = of_fit("rstandard", quote(function(fit) standardized(fit, FALSE))),
  rstudent = of_fit("rstudent", quote(function(fit) standardized(fit, TRUE))),
  cooks.distance = of_fit("cooks.distance", quote(distances_of_cook)),
  dffits = of_fit("dffits", quote(moves_of_fit)),

  anova = function(object, ..., test) {
    if (!is_traced_fit(object)) return(called_from("anova", parent.frame())(object, ...))
    fits <- list(object, ...)
    check_fits(fits, if (is_traced_glm(object)) "`glm()`" else "`lm()`")
    if (is_traced_glm(object)) {
      if (length(fits) < 2L) {
        abort_arg("object", "two models or more of `glm()`", "one", "Fit each, as `anova(smaller, larger)`.")
      }
      if (missing(test)) test <- if (getRversion() >= "4.4.0") default_test(object)
      if (identical(test, FALSE)) test <- NULL
      if (!is.null(test)) test <- chosen("test", test, c("Chisq", "LRT", "F"))
      return(variances_by_model(fits, test))
    }
    if (length(fits) > 1L) return(variances_by_model(fits, if (missing(test)) "F" else test))
    if (is.null(object$effects)) abort_concrete("anova()", object$residuals)
    variances_by_term(object)
  },

  confint.default = function(object, parm, level = 0.95, ...) {
    if (!is_traced_model(object)) return(stats::confint.default(object, parm, level, ...))
    check_dots(...)
    wald_intervals(object, parm, level, stats::qnorm)
  }
)

# Of a known dispersion R compares deviances alone.
default_test <- function(fit) if (glm_families[[fit$family$family]]$spread) "F" else "Chisq"

# nolint end
