# Nonlinear least squares in a traced function, see mask.R: the steps of Gauss and Newton as R takes them,
# with derivatives in the place of R's differences.

# nolint start: object_name_linter. Names are those of R.

is_traced_model <- function(x) is_traced_fit(x) || is_traced_nls(x)

is_traced_nls <- function(x) inherits(x, "nls") && is_traced(x$coefficients)

# The parameters of a list as one vector, and the list of a vector.
parameters_in <- function(start) {
  for (name in names(start)) {
    if (is_operand(start[[name]])) next
    abort_arg("start", "a list of numbers by name", describe(start[[name]]))
  }
  sizes <- lengths(start)
  ends <- cumsum(sizes)
  one_vector <- joined(lapply(unname(start), function(x) real_floats(value_of(as_operand(unname(x))))))
  list(
    vector = as_flat(one_vector), names = names(unlist(lapply(start, function(x) double(length(x))))),
    listed = function(theta) {
      Map(function(from, to) if (from == to) theta[from] else theta[array(from:to)], ends - sizes + 1L, ends)
    }
  )
}

nonlinear_model <- function(formula, data, start, w, control, call) {
  if (length(formula) != 3L) abort_arg("formula", "one with a left side, such as `y ~ a * x`", "one without")
  of <- parameters_in(start)
  columns <- if (is.environment(data)) as.list(data) else if (is.list(data)) unclass(data)
  around <- list2env(list(I = function(x) x), parent = environment(formula))
  at <- function(code, more = list()) {
    value <- by_r("formula", eval(code, c(more, columns), around))
    if (is_selection(value)) abort_concrete("nls()", value)
    if (!is_operand(value)) abort_arg("formula", "one of numbers", describe(value))
    as_flat(real_floats(value_of(as_operand(unname(value)))))
  }
  y <- at(formula[[2L]])
  n <- length(y)
  root <- if (is.null(w)) 1 else sqrt(as_flat(real_floats(value_of(as_operand(w)))))
  mean_at <- function(theta) {
    mean <- at(formula[[3L]], setNames(of$listed(theta), names(start)))
    if (length(mean) == n) return(mean)
    if (length(mean) == 1L) return(nv_broadcast_to(as_number(mean), n))
    abort_arg("formula", paste("one of", n, "values on each side"), paste("one of", length(mean)))
  }
  left_at <- function(theta) root * (y - mean_at(theta))
  common <- nv_promote_to_common(of$vector, left_at(of$vector))
  theta <- common[[1L]]
  p <- length(theta)
  # A narrow float comes no nearer.
  is_narrow <- dtype(theta) != "f64" && !ambiguous(theta)
  tolerance <- max(control$tol, if (is_narrow) sqrt(epsilon_of(theta)))
  slack <- if (is_narrow) 1 + 4 * epsilon_of(theta) else 1
  if (p >= n) abort_arg("start", paste("of fewer parameters than there are values,", n), paste("of", p))
  slopes_at <- function(theta) {
    qr.AnvilValue(root * nv_reshape(jacobian(mean_at)(theta)[[1L]], c(n, p)))
  }
  state <- list(
    theta = theta, dev = sum(common[[2L]]^2), part = nv_scalar(1, dtype(theta), ambiguous(theta)),
    converged = nv_scalar(FALSE), failed = nv_scalar(FALSE), iter = nv_scalar(0L)
  )
  step <- function(s) {
    left <- left_at(s$theta)
    slopes <- slopes_at(s$theta)
    turned <- as_flat(qr.qty.AnvilQr(slopes, left))
    first <- array(seq_len(p))
    size <- sqrt(sum(turned[first]^2) / sum(turned[array((p + 1L):n)]^2))
    converged <- nv_le(size, tolerance)
    whole <- as_flat(qr.coef.AnvilQr(slopes, left))
    # A part of the step, half of the one before until the sum of squares is not larger.
    found <- nv_while(
      list(part = s$part, is_better = converged, theta = s$theta, dev = s$dev),
      function(t) !t$is_better & nv_ge(t$part, control$minFactor),
      function(t) {
        theta <- s$theta + t$part * whole
        dev <- sum(left_at(theta)^2)
        is_better <- nv_le(dev, s$dev * slack)
        list(part = nv_ifelse(is_better, t$part, t$part / 2), is_better = is_better, theta = theta, dev = dev)
      }
    )
    list(
      theta = nv_ifelse(found$is_better, found$theta, s$theta),
      dev = nv_ifelse(found$is_better, found$dev, s$dev),
      part = nv_min(2 * found$part, 1), converged = converged, failed = !found$is_better,
      iter = s$iter + nv_ifelse(converged, 0L, 1L)
    )
  }
  go_on <- function(s) !s$converged & !s$failed & s$iter < as.integer(control$maxiter)
  last <- nv_while(state, go_on, step)
  # Where R stops, all is NaN.
  theta <- nv_ifelse(last$converged, last$theta, NaN)
  coefficients <- with_names(theta, list(of$names))
  fitted <- mean_at(theta)
  m <- list(
    getAllPars = function() coefficients, getPars = function() coefficients, formula = function() formula,
    resid = function() left_at(theta), fitted = function() fitted, lhs = function() y,
    deviance = function() sum(left_at(theta)^2),
    predict = function(newdata) {
      columns <<- unclass(newdata)
      at(formula[[3L]], setNames(of$listed(theta), names(start)))
    }
  )
  fit <- list(m = m, coefficients = coefficients, triangle = slopes_at(theta)$r, call = call, weights = w)
  structure(fit, class = "nls")
}

summary_of_nls <- function(fit) {
  theta <- fit$coefficients
  n <- length(fit$m$resid())
  if (!is.null(fit$weights)) n <- sum(fit$weights > 0)
  left <- n - length(theta)
  sigma <- sqrt(fit$m$deviance() / left)
  unscaled <- chol2inv(fit$triangle)
  dimnames(unscaled) <- list(names(theta), names(theta))
  errors <- sqrt(nv_extract_diag(unscaled)) * sigma
  t <- theta / errors
  table <- cbind(theta, errors, t, 2 * pt(abs(t), left, lower.tail = FALSE))
  dimnames(table) <- list(names(theta), c("Estimate", "Std. Error", "t value", "Pr(>|t|)"))
  list(
    residuals = fit$m$resid(), sigma = sigma, df = mask_base$c(length(theta), left), cov.unscaled = unscaled,
    coefficients = table, parameters = table
  )
}

mask_nls <- list(
  nls = function(formula, data = NULL, start, control = stats::nls.control(), algorithm = "default",
                 trace = FALSE, subset, weights, ...) {
    around <- parent.frame()
    inside <- if (is.list(data)) unclass(data) else list()
    w <- if (!missing(weights)) eval(substitute(weights), inside, around)
    from_start <- !missing(start) && any_traced_in(as.list(start))
    if (!needs_traced(formula, data) && !from_start && !is_traced(w)) {
      return(own_call("nls", sys.call(), around))
    }
    check_dots(...)
    if (missing(start)) abort_missing("start")
    if (!identical(algorithm, "default")) abort_arg("algorithm", "\"default\"", describe(algorithm))
    if (!missing(subset)) {
      abort_arg("subset", "left out in a traced function", "given", "Give the other rows weights of 0.")
    }
    control <- by_r("control", do.call(stats::nls.control, as.list(control)), "as for `nls.control()`")
    nonlinear_model(formula, data, as.list(start), w, control, match.call())
  }
)

# nolint end
