# Generalized linear models in a traced function, see mask.R: iteratively reweighted least squares with R's
# starting values, steps and rule of convergence, as a loop of the program.

# nolint start: object_name_linter. Names are those of R.

# ---- the fit -----------------------------------------------------------------------------------------------

# A model as glm.fit() gives it, of columns that are independent. Where R stops, all is NaN. `in_use` says
# which rows there are to R, where the weights of others are 0.
generalized <- function(x, y, w, offset, family, control, intercept, start = NULL, in_use = NULL) {
  link <- glm_links[[family$link]]
  of <- glm_families[[family$family]]
  if (holds_tracer(as.list(control))) abort_concrete("glm.control()", Find(is_traced, as.list(control)))
  control <- by_r("control", do.call(stats::glm.control, as.list(control)), "as for `glm.control()`")
  rows <- NROW(y)
  if (is.factor(y) || is_traced_factor(y)) {
    if (!is_of_trials(family)) abort_arg("y", "numbers", "a factor", "`binomial()` takes a factor.")
    y <- nv_gt(if (is.factor(y)) array(as.integer(y)) else checked_codes(codes_of(y), nlevels(y)), 1L)
  }
  per_row <- function(arg, given, default) {
    if (is.null(given)) return(nv_fill(default, rows, ambiguous = TRUE))
    if (length(given) != rows) abort_arg(arg, paste("of length", rows), paste("of length", length(given)))
    as_flat(real_floats(value_of(as_operand(given))))
  }
  y <- real_floats(y)
  trials <- NULL
  if (ndims(y) == 2L && ncol(y) == 2L && is_of_trials(family)) {
    trials <- as_flat(y[, 1L] + y[, 2L])
    y <- nv_ifelse(nv_eq(trials, 0), 0, as_flat(y[, 1L]) / trials)
  }
  if (ndims(y) == 2L && ncol(y) > 1L) abort_arg("y", "one response", paste("one of", ncol(y), "columns"))
  x <- in_columns(real_floats(x))
  if (nrow(x) != rows) abort_arg("y", paste("as long as `x` has rows,", nrow(x)), paste("of length", rows))
  parts <- nv_promote_to_common(x, as_flat(y), per_row("weights", w, 1), per_row("offset", offset, 0))
  x <- parts[[1L]]
  y <- unname(parts[[2L]])
  w <- unname(parts[[3L]])
  offset <- unname(parts[[4L]])
  if (is_of_trials(family)) y <- nv_ifelse(nv_eq(w, 0), 0, y)
  is_taken <- nv_reduce_all(of$takes(y)) & nv_reduce_all(nv_ge(w, 0))
  if (!is.null(trials)) w <- w * nv_convert(trials, dtype(w), ambiguous(w))

  is_valid <- function(eta) {
    valid <- nv_reduce_all(of$valid(link$mean(eta)))
    if (is.null(link$valid)) valid else valid & nv_reduce_all(link$valid(eta))
  }
  deviance_at <- function(eta) sum(of$deviance(y, link$mean(eta), w))
  predictor <- function(b) as_flat(unname(product(x, b))) + offset
  # Weights of the rows where their predictors are these, and what they are fitted to.
  weighted_at <- function(eta) {
    mu <- link$mean(eta)
    slope <- link$slope(eta)
    is_used <- nv_gt(w, 0) & nv_ne(slope, 0)
    residuals <- (y - mu) / slope
    weights <- nv_ifelse(is_used, w * slope^2 / of$variance(mu), 0)
    list(weights = weights, target = nv_ifelse(is_used, eta - offset + residuals, 0), residuals = residuals)
  }
  fit_at <- function(eta) {
    at <- weighted_at(eta)
    c(least_squares(x, at$target, at$weights, tolerance = min(1e-7, control$epsilon / 1000)), at["weights"])
  }
  # A narrow float has no smaller change of the deviance.
  epsilon <- max(control$epsilon, 4 * epsilon_of(y))
  eta <- link$of(start %||% of$start(y, w))
  state <- list(
    b = nv_fill(NaN, ncol(x), dtype = dtype(x), ambiguous = ambiguous(x)), eta = eta, before = eta,
    dev = nv_ifelse(is_taken & is_valid(eta), deviance_at(eta), NaN), converged = nv_scalar(FALSE),
    iter = nv_scalar(0L)
  )
  last <- nv_while(
    state,
    function(state) !state$converged & state$iter < as.integer(control$maxit) & nv_is_finite(state$dev),
    function(state) {
      b <- unname(fit_at(state$eta)$coefficients)
      # A step to where there is no mean is halved.
      b <- nv_while(
        list(b = b),
        function(s) !(is_valid(predictor(s$b)) & nv_is_finite(deviance_at(predictor(s$b)))),
        function(s) list(b = (s$b + state$b) / 2), max_steps = control$maxit
      )$b
      eta <- predictor(b)
      dev <- nv_ifelse(is_valid(eta), deviance_at(eta), NaN)
      list(
        b = b, eta = eta, before = state$eta, dev = dev,
        converged = abs(dev - state$dev) / (0.1 + abs(dev)) < epsilon, iter = state$iter + 1L
      )
    }
  )
  is_fit <- nv_is_finite(last$dev)
  eta <- nv_ifelse(is_fit, last$eta, NaN)
  mu <- link$mean(eta)
  final <- fit_at(last$before)
  rank <- ncol(x)
  used <- nv_reduce_sum(nv_convert(nv_ne(w, 0), dtype(y), ambiguous(y)))
  null <- if (intercept) sum(w * y) / sum(w) else link$mean(offset)
  list(
    coefficients = nv_ifelse(is_fit, last$b, NaN), residuals = (y - mu) / link$slope(eta), fitted.values = mu,
    rank = rank, qr = final$qr, family = family, linear.predictors = eta, deviance = last$dev,
    aic = of$aic(y, trials, mu, w, last$dev, in_use) + 2 * rank, null.deviance = sum(of$deviance(y, null, w)),
    iter = last$iter, weights = final$weights, prior.weights = w, df.residual = used - rank,
    df.null = used - as.integer(intercept), y = y, converged = last$converged
  )
}

# ---- models of formulas ------------------------------------------------------------------------------------

is_traced_glm <- function(x) inherits(x, "glm") && is_traced_fit(x)

generalized_model <- function(formula, data, w, offset, family, control, call, contrasts = NULL,
                              subset = NULL) {
  terms <- terms_of(formula, data)
  bases <- new_bases()
  variables <- variables_of(terms, data, bases)
  response <- attr(terms, "response")
  if (!response) abort_arg("formula", "one with a left side, such as `y ~ x`", "one without")
  offsets <- c(unname(variables[attr(terms, "offset")]), list(offset)[!is.null(offset)])
  given <- c(variables, offsets, list(w)[!is.null(w)])
  labels <- row_names_of(data) %||% as.character(seq_len(rows_in(variables[[response]])))
  if (!is.null(subset)) {
    of_rows <- variables_in_rows(given, subset, labels)
    given <- of_rows$variables
    labels <- of_rows$labels
  }
  used <- NULL
  if (any_selection_in(given)) {
    used <- selected(Find(is_selection, given))$mask
    given <- lapply(given, whole_variable)
  }
  offsets <- given[length(variables) + seq_along(offsets)]
  if (!is.null(w)) w <- given[[length(given)]]
  if (!is.null(used)) w <- nv_ifelse(used, if (is.null(w)) 1 else as_flat(value_of(as_operand(w))), 0)
  variables <- given[seq_along(variables)]
  y <- variables[[response]]
  offset <- if (length(offsets)) Reduce(`+`, lapply(offsets, function(x) as_flat(real_floats(value_of(x)))))
  variables <- variables[-response]
  contrasts <- with_own_contrasts(contrasts, variables)
  x <- design_of(stats::delete.response(terms), variables, contrasts, labels)
  intercept <- attr(terms, "intercept") > 0L
  fit <- generalized(x, y, w, offset, family, control, intercept, in_use = used)
  if (intercept && !is.null(offset)) {
    ones <- array(1, c(NROW(y), 1L))
    null <- generalized(ones, y, w, offset, family, control, TRUE, start = fit$fitted.values)
    fit$null.deviance <- null$deviance
  }
  if (!is.null(used)) {
    fit[parts_of_rows] <- lapply(fit[parts_of_rows], selection, mask = used, axis = 1L)
  } else {
    fit <- with_row_names(fit, labels)
  }
  fit <- with_coefficient_names(fit, colnames(x))
  about <- about_model(variables, call, terms)
  structure(
    c(fit, about$parts, list(offset = offset)), class = c("glm", "lm"), design = x, contrasts = contrasts,
    ordered = about$ordered, bases = bases$of
  )
}

# A variable with ones where its rows are left out, which any family takes: their weights are 0.
whole_variable <- function(x) {
  if (!is_selection(x)) return(x)
  parts <- selected(x)
  out <- filled(parts, 1L)
  if (is.null(levels(x))) out else factor_of(out, levels(x))
}

parts_of_rows <- c("residuals", "fitted.values", "linear.predictors", "weights", "prior.weights", "y")

with_row_names <- function(fit, names) {
  if (is.null(names)) return(fit)
  for (part in parts_of_rows) names(fit[[part]]) <- names
  fit
}

summary_of_glm <- function(fit, ...) {
  check_dots(...)
  left <- fit$df.residual
  is_known <- !glm_families[[fit$family$family]]$spread
  dispersion <- if (is_known) 1 else sum(fit$weights * fit$residuals^2) / left
  unscaled <- chol2inv(fit$qr$qr)
  names <- names(fit$coefficients)
  dimnames(unscaled) <- list(names, names)
  errors <- sqrt(nv_extract_diag(unscaled) * dispersion)
  t <- fit$coefficients / errors
  p <- 2 * if (is_known) pnorm(-abs(t)) else pt(-abs(t), left)
  coefficients <- cbind(fit$coefficients, errors, t, p)
  t <- if (is_known) c("z value", "Pr(>|z|)") else c("t value", "Pr(>|t|)")
  dimnames(coefficients) <- list(names, c("Estimate", "Std. Error", t))
  parts <- c("family", "deviance", "aic", "df.residual", "null.deviance", "df.null", "iter")
  c(fit[parts], list(
    deviance.resid = residuals_of_glm(fit), coefficients = coefficients, dispersion = dispersion,
    df = mask_base$c(fit$rank, left, fit$rank), cov.unscaled = unscaled, cov.scaled = unscaled * dispersion
  ))
}

residuals_of_glm <- function(object, type = "deviance", ...) {
  check_dots(...)
  type <- chosen("type", type, c("deviance", "pearson", "working", "response"))
  of <- glm_families[[object$family$family]]
  whole <- function(part) whole_variable(object[[part]])
  y <- whole("y")
  mu <- whole("fitted.values")
  w <- whole("prior.weights")
  out <- switch(
    type,
    deviance = nv_sign(y - mu) * root_of(nv_max(of$deviance(y, mu, w), 0)),
    pearson = (y - mu) * sqrt(w) / sqrt(of$variance(mu)), working = whole("residuals"), response = y - mu
  )
  of_rows_of(object, out)
}

predicted_by_glm <- function(object, newdata, type = "link", se.fit = FALSE, ...) {
  type <- chosen("type", type, c("link", "response"))
  check_flag("se.fit", se.fit)
  check_dots(...)
  if (missing(newdata)) {
    eta <- object$linear.predictors
    fit <- if (type == "link") eta else object$fitted.values
  } else {
    if (!is.null(object$offset)) {
      abort_arg("object", "a model without an offset for new data", "one with an offset")
    }
    fit <- eta <- fitted_at(object, newdata)
    if (type == "response") {
      fit <- glm_links[[object$family$link]]$mean(eta)
      if (!is_selection(fit)) fit <- with_names(fit, list(names(eta)))
    }
  }
  if (!se.fit) return(fit)
  if (is_selection(fit)) abort_concrete("predict()", fit)
  x <- if (missing(newdata)) real_floats(attr(object, "design")) else design_at(object, newdata)
  dispersion <- dispersion_of(object)
  errors <- sqrt(nv_reduce_sum(unname(rows_by_triangle(object, x))^2, axes = 2L) * dispersion)
  if (type == "response") errors <- errors * abs(as_flat(glm_links[[object$family$link]]$slope(unname(eta))))
  list(fit = fit, se.fit = with_names(errors, list(names(fit))), residual.scale = sqrt(dispersion))
}

mask_glm <- list(
  glm = function(formula, family = stats::gaussian, data, weights, subset, na.action, start = NULL, etastart,
                 mustart, offset, control = list(...), model = TRUE, method = "glm.fit", x = FALSE, y = TRUE,
                 singular.ok = TRUE, contrasts = NULL, ...) {
    given <- if (!missing(data)) data
    own <- function(arg) eval(arg, if (is.list(given)) unclass(given) else given, parent.frame(2L))
    w <- if (!missing(weights)) own(substitute(weights))
    beside <- if (!missing(offset)) own(substitute(offset))
    rows <- if (!missing(subset)) rows_of_subset(substitute(subset), given, formula)
    if (!needs_traced(formula, given) && !any_traced(w, beside, rows)) {
      return(own_call("glm", sys.call(), parent.frame()))
    }
    if (!identical(method, "glm.fit")) abort_arg("method", "\"glm.fit\"", describe(method))
    from <- c(start = !is.null(start), etastart = !missing(etastart), mustart = !missing(mustart))
    for (name in names(from)[from]) {
      abort_arg(name, "left out in a traced function", "given", "Starting values are those of R.")
    }
    call <- sys.call()
    family <- family_of(family, parent.frame())
    generalized_model(formula, given, w, beside, family, control, match.call(call = call), contrasts, rows)
  },

  glm.fit = function(x, y, weights = NULL, start = NULL, etastart = NULL, mustart = NULL, offset = NULL,
                     family = stats::gaussian(), control = list(), intercept = TRUE, singular.ok = TRUE) {
    if (!any_traced(x, y, weights, offset)) return(own_call("glm.fit", sys.call(), parent.frame()))
    check_flag("intercept", intercept)
    for (name in c("start", "etastart", "mustart")) {
      if (is.null(get(name))) next
      abort_arg(name, "NULL in a traced function", "given", "Starting values are those of R.")
    }
    fit <- generalized(x, y, weights, offset, family_of(family, parent.frame()), control, intercept)
    fit <- with_row_names(fit, if (is_operand(y)) names(y))
    if (is.null(colnames(x))) fit else with_coefficient_names(fit, colnames(x))
  },

  residuals = function(object, ...) {
    if (is_traced_glm(object)) return(residuals_of_glm(object, ...))
    called_from("residuals", parent.frame())(object, ...)
  }
)
mask_glm$resid <- mask_glm$residuals

# nolint end
