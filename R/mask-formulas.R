# Formulas in a traced function, see mask.R: design matrices, least squares and groups of variables of which
# some are traced. How many rows there are and which levels factors have is known, which is all that the
# columns depend on.

# nolint start: object_name_linter. Arguments have the names that they have in base R.

# The variables of a formula, evaluated in a data frame and where the formula was written.
# `bases` are those of poly() and scale(), see mask-bases.R.
variables_of <- function(terms, data, bases = NULL, are_known = FALSE) {
  # What R's own I() gives is an object to it.
  around <- list2env(list(I = function(x) x), parent = environment(terms) %||% parent.frame(2L))
  code <- attr(terms, "variables")
  frame <- if (is.null(data)) list() else if (is.environment(data)) as.list(data) else unclass(data)
  frame <- frame[nzchar(names(frame))]
  code <- as.list(code)[-1L]
  names <- vapply(code, deparse1, "")
  # What model.frame() gives has them already, by the names of their code.
  known <- if (is.null(attr(data, "terms"))) character() else names
  setNames(Map(function(variable, name) {
    if (name %in% known && name %in% names(frame)) return(frame[[name]])
    has_basis <- !is.null(bases) && is_basis(variable, around)
    if (has_basis && are_known) {
      return(by_r("formula", value_by_basis(variable, bases$of[[name]], frame, around)))
    }
    value <- by_r("formula", eval(variable, frame, around))
    if (has_basis) bases$of[[name]] <- noted_basis(variable, value, frame, around)
    value
  }, code, names), names)
}

# Whether what a formula needs is traced.
needs_traced <- function(formula, data) {
  if (!inherits(formula, "formula")) return(FALSE)
  if (inherits(data, "AnvilRows") || is.list(data) && holds_tracer(data)) return(TRUE)
  names <- setdiff(all.vars(formula), names(data))
  any(vapply(names, function(name) {
    value <- get0(name, environment(formula))
    is_traced(value) || is.list(value) && holds_tracer(value)
  }, NA))
}

terms_of <- function(formula, data) {
  if (inherits(formula, "terms")) return(formula)
  by_r("formula", stats::terms(formula, data = if (is.list(data)) frame_of(lapply(data, function(x) 0), 1L)))
}

# The columns of a variable: of a factor those of its contrasts, or if it is `full` one for each level.
columns_of_variable <- function(x, name, full, contrasts) {
  levels <- levels_of(x)
  if (is.null(levels)) {
    if (!is_operand(x)) abort_arg(name, "numbers, logicals or a factor", describe(x))
    x <- real_floats(x)
    if (ndims(x) < 2L) return(list(values = nv_reshape(x, c(length(x), 1L)), names = name))
    if (ncol(x) == 1L) return(list(values = x, names = name))
    return(list(values = x, names = paste0(name, colnames(x) %||% seq_len(ncol(x)))))
  }
  codes <- group_codes(x, levels)
  if (!full && length(levels) < 2L) {
    abort_arg(name, "a factor of two levels or more", paste("one of", length(levels)))
  }
  coding <- if (full) diag(length(levels)) else contrasts_of(x, contrasts)
  labels <- if (full) levels else colnames(coding) %||% seq_len(ncol(coding))
  values <- nv_subset(value_of(rbind(NaN, unname(coding))), codes + 1L, )
  list(values = nv_reshape(values, c(length(x), length(labels))), names = paste0(name, labels))
}

plain_levels <- function(x) if (!is.null(levels(x))) as.vector(levels(x))

# What are groups in a formula: factors, strings and logicals.
levels_of <- function(x) {
  if (is_traced(x)) return(plain_levels(x) %||% if (inherits(dtype(x), "BooleanType")) c("FALSE", "TRUE"))
  if (is_value(x)) x <- as_array(x)
  if (is.factor(x) || is.character(x) || is.logical(x)) levels(as.factor(x))
}

# The codes of groups, 0 for what is in none.
group_codes <- function(x, levels) {
  if (is_traced_factor(x)) return(codes_of(x))
  if (is_traced(x)) return(nv_convert(as_flat(x), "i32") + 1L)
  if (is_value(x)) x <- as_array(x)
  array(match(as.character(x), levels, nomatch = 0L))
}

# The contrasts of groups: those that are given for a model, or by `contrasts(f) <-`, or R's.
contrasts_of <- function(x, given = NULL) {
  levels <- levels_of(x)
  ordered <- is.ordered(x) || is_ordered(x)
  given <- given %||% own_contrasts(x) %||% getOption("contrasts")[[if (ordered) 2L else 1L]]
  if (is.character(given)) given <- match.fun(given)
  if (is.function(given)) given(levels) else as.matrix(given)
}

own_contrasts <- function(x) attr(if (is.factor(x)) x else levels(x), "contrasts")

# The contrasts of a model, which new data are given too.
with_own_contrasts <- function(contrasts, variables) {
  for (name in names(variables)) contrasts[[name]] <- contrasts[[name]] %||% own_contrasts(variables[[name]])
  contrasts
}

# The design matrix of terms, as model.matrix() has it. Rows with NaN stay, which R leaves out.
design_of <- function(terms, variables, contrasts = NULL, rows = NULL) {
  factors <- attr(terms, "factors")
  labels <- attr(terms, "term.labels")
  response <- attr(terms, "response")
  count <- NROW(if (length(variables)) variables[[1L]] else rows)
  is_group <- vapply(variables, function(x) !is.null(levels_of(x)), NA)
  if (!attr(terms, "intercept") && length(labels)) {
    # Without an intercept the first factor has all levels.
    at <- which(factors > 0 & is_group[rownames(factors)], arr.ind = TRUE)
    of_response <- if (response) factors[response, at[, "col"]] > 0 else logical(nrow(at))
    at <- at[!of_response, , drop = FALSE]
    if (nrow(at)) factors[at[1L, , drop = FALSE]] <- 2L
  }
  parts <- list()
  if (attr(terms, "intercept")) {
    parts <- list(list(values = array(1, c(count, 1L)), names = "(Intercept)", assign = 0L))
  }
  for (k in seq_along(labels)) {
    of_term <- NULL
    for (name in rownames(factors)[factors[, k] > 0]) {
      own <- columns_of_variable(variables[[name]], name, factors[name, k] == 2L, contrasts[[name]])
      if (NROW(own$values) != count) {
        abort_arg(name, paste("as long as the other variables,", count), paste("of length", NROW(own$values)))
      }
      of_term <- if (is.null(of_term)) own else crossed_columns(of_term, own)
    }
    parts[[length(parts) + 1L]] <- c(of_term, assign = k)
  }
  if (!length(parts)) return(value_of(array(0, c(count, 0L))))
  out <- do.call(nv_concatenate, c(lapply(parts, `[[`, "values"), axis = 2L))
  dimnames(out) <- list(rows %||% as.character(seq_len(count)), unlist(lapply(parts, `[[`, "names")))
  attr(out, "assign") <- unlist(lapply(parts, function(part) rep(part$assign, length(part$names))))
  if (is_traced(out)) from_r(out) else out
}

# Products of each column of one with each of another; those of the first come first.
crossed_columns <- function(a, b) {
  i <- rep(seq_along(a$names), length(b$names))
  j <- rep(seq_along(b$names), each = length(a$names))
  columns <- function(x, at) nv_subset(value_of(x), , array(at))
  list(values = columns(a$values, i) * columns(b$values, j), names = paste(a$names[i], b$names[j], sep = ":"))
}

row_names_of <- function(data) if (is.data.frame(data)) as.character(attr(data, "row.names"))

# What is left of `~`, and the variables of its right side by name.
formula_sides <- function(formula, data) {
  if (length(formula) == 3L && identical(formula[[2L]], quote(.))) {
    left <- setdiff(names(data), all.vars(formula[[3L]]))
    formula[[2L]] <- as.call(c(quote(cbind), lapply(left, as.name)))
  }
  terms <- terms_of(formula, data)
  variables <- variables_of(terms, data)
  response <- attr(terms, "response")
  if (!response) abort_arg("formula", "one with a left side, such as `y ~ g`", deparse1(formula))
  list(left = variables[[response]], name = names(variables)[response], right = variables[-response])
}

# ---- linear models -----------------------------------------------------------------------------------------

is_traced_fit <- function(x) inherits(x, "lm") && is_traced(x$coefficients)

# What `subset` says of the rows, evaluated in the data as R does it.
rows_of_subset <- function(code, data, formula) {
  around <- environment(formula) %||% parent.frame(2L)
  eval(code, if (is.list(data)) unclass(data) else data %||% list(), around)
}

# How many rows there are, with those that a selection leaves out.
rows_in <- function(x) NROW(if (is_selection(x)) selected(x)$values else x)

# The rows of variables that `subset` leaves, where a computed mask holds or at known positions, and their
# names.
variables_in_rows <- function(variables, rows, labels) {
  if (is.null(rows)) return(list(variables = variables, labels = labels))
  count <- rows_in(variables[[1L]])
  if (is_traced(rows)) {
    if (!inherits(dtype(rows), "BooleanType") || length(rows) != count) {
      abort_arg("subset", paste("a condition of each of the rows,", count), describe(rows))
    }
    return(list(variables = lapply(variables, rows_where, as_flat(rows)), labels = labels))
  }
  at <- by_r("subset", seq_len(count)[if (is_value(rows)) as_array(rows) else rows], "rows")
  at <- at[!is.na(at)]
  row <- function(v) {
    if (!is_value(v)) v <- column_value(v)
    if (length(dim(v)) == 2L) v[array(at), , drop = FALSE] else as_flat(v)[array(at)]
  }
  list(variables = lapply(variables, row), labels = labels[at])
}

linear_model <- function(formula, data, w, call, contrasts = NULL, subset = NULL) {
  terms <- terms_of(formula, data)
  bases <- new_bases()
  variables <- variables_of(terms, data, bases)
  labels <- row_names_of(data) %||% as.character(seq_len(rows_in(variables[[1L]])))
  if (!is.null(subset)) {
    of_rows <- variables_in_rows(c(variables, if (!is.null(w)) list(w)), subset, labels)
    labels <- of_rows$labels
    if (!is.null(w)) w <- of_rows$variables[[length(variables) + 1L]]
    variables <- of_rows$variables[seq_along(variables)]
  }
  response <- attr(terms, "response")
  if (!response) abort_arg("formula", "one with a left side, such as `y ~ x`", "one without")
  offset <- attr(terms, "offset")
  rows <- NULL
  if (any_selection_in(variables)) {
    if (!is.null(w) || length(offset)) abort_arg("data", "all rows beside weights or an offset", "some rows")
    rows <- selected(Find(is_selection, variables))
    variables <- lapply(variables, function(v) if (is_selection(v)) selected(v)$values else v)
  }
  y <- variables[[response]]
  right <- stats::delete.response(terms)
  variables <- variables[-response]
  contrasts <- with_own_contrasts(contrasts, variables)
  x <- design_of(right, variables, contrasts, labels)
  if (is.null(rows)) {
    offset <- if (length(offset)) Reduce(`+`, variables[offset - 1L])
    fit <- least_squares(x, y, w, offset)
    for (name in c("residuals", "fitted.values")) {
      if (ndims(fit[[name]]) == 1L) names(fit[[name]]) <- labels
    }
  } else {
    of_rows <- function(v) selection(v, rows$mask, 1L)
    fit <- least_squares_of_rows(of_rows(x), of_rows(y))
  }
  fit <- with_coefficient_names(fit, colnames(x))
  about <- about_model(variables, call, terms)
  structure(
    c(fit, about$parts), class = "lm", design = x, contrasts = contrasts, ordered = about$ordered,
    bases = bases$of
  )
}

# What a model knows of its formula, and which of the groups in it are ordered.
about_model <- function(variables, call, terms) {
  groups <- Filter(function(x) length(levels_of(x)), variables)
  parts <- list(xlevels = lapply(groups, levels_of), call = call, terms = terms)
  list(parts = parts, ordered = vapply(groups, function(x) is.ordered(x) || is_ordered(x), NA))
}

check_one_response <- function(fit) {
  if (ndims(fit$coefficients) == 1L) return(invisible())
  abort_arg("object", "a model of one response", paste("one of", ncol(fit$coefficients)))
}

elements_of <- function(x) if (is_selection(x)) x else as_flat(x)

number_in <- function(x) if (is_selection(x)) selected_count(selected(x)) else length(x)

# What summary() computes of a linear model.
summary_of_fit <- function(fit, ...) {
  check_dots(...)
  check_one_response(fit)
  w <- fit$weights %||% 1
  intercept <- attr(fit$terms, "intercept")
  of_fit <- elements_of(fit$fitted.values)
  centre <- if (intercept) sum(w * of_fit) / (if (identical(w, 1)) number_in(of_fit) else sum(w)) else 0
  explained <- sum(w * (of_fit - centre)^2)
  left <- sum(w * elements_of(fit$residuals)^2)
  variance <- left / fit$df.residual
  inverse <- chol2inv(fit$qr$qr)
  names <- names(fit$coefficients)
  dimnames(inverse) <- list(names, names)
  errors <- sqrt(nv_extract_diag(inverse) * variance)
  t <- fit$coefficients / errors
  coefficients <- cbind(fit$coefficients, errors, t, 2 * pt(abs(t), fit$df.residual, lower.tail = FALSE))
  dimnames(coefficients) <- list(names, c("Estimate", "Std. Error", "t value", "Pr(>|t|)"))
  r_squared <- explained / (explained + left)
  count <- fit$df.residual + fit$rank - intercept
  f <- list((explained / (fit$rank - intercept)) / variance, fit$rank - intercept, fit$df.residual)
  list(
    residuals = fit$residuals, coefficients = coefficients, sigma = sqrt(variance),
    df = mask_base$c(fit$rank, fit$df.residual, fit$rank), r.squared = r_squared,
    adj.r.squared = 1 - (1 - r_squared) * (count / fit$df.residual),
    fstatistic = setNames(joined(f), c("value", "numdf", "dendf")),
    cov.unscaled = inverse
  )
}

# How many parameters a model has, its dispersion among them.
parameters_of <- function(fit) {
  if (is_traced_nls(fit)) return(length(fit$coefficients) + 1L)
  fit$rank + (!is_traced_glm(fit) || glm_families[[fit$family$family]]$spread)
}

rows_of_fit <- function(fit) number_in(if (is_traced_nls(fit)) fit$m$resid() else fit$residuals)

# Without an intercept and with weights of 0, R counts other rows.
log_likelihood <- function(fit) {
  if (is_traced_glm(fit)) return(parameters_of(fit) - fit$aic / 2)
  w <- fit$weights %||% 1
  logs <- if (identical(w, 1)) 0 else sum(log(w))
  if (is_traced_nls(fit)) {
    squares <- fit$m$deviance()
  } else {
    check_one_response(fit)
    squares <- sum(w * elements_of(fit$residuals)^2)
  }
  n <- rows_of_fit(fit)
  (logs - n * (log(2 * pi) + 1 - log(n) + log(squares))) / 2
}

# What a linear model gives for new data.
fitted_at <- function(object, newdata) {
  if (inherits(newdata, "AnvilRows")) {
    # Of rows that a mask selects, those of all, of which the same are selected.
    columns <- lapply(unclass(newdata), selected)
    mask <- columns[[1L]]$mask
    whole <- frame_of(lapply(columns, `[[`, "values"), length(mask))
    return(selection(unname(fitted_at(object, whole)), mask, 1L))
  }
  x <- design_at(object, newdata)
  out <- product(x, object$coefficients)
  with_names(as_flat(out), list(rownames(x)))
}

# The design matrix of a model for new data.
design_at <- function(object, newdata) {
  terms <- stats::delete.response(object$terms)
  if (length(attr(terms, "offset"))) {
    abort_arg("object", "a model without an offset for new data", "one with an offset")
  }
  bases <- new_bases()
  bases$of <- attr(object, "bases")
  code <- as.list(attr(terms, "variables"))[-1L]
  names(code) <- vapply(code, deparse1, "")
  unknown <- vapply(names(code), function(name) has_unknown_basis(code[[name]], bases$of[[name]]), NA)
  if (any(unknown)) {
    abort_arg(
      "object", "a model whose terms depend on one row each, or on `poly()` and `scale()`, for new data",
      paste0("one with `", names(code)[unknown][1L], "`"), "Compute its columns before: `d$z <- scale(d$x)`."
    )
  }
  variables <- variables_of(terms, newdata, bases, are_known = TRUE)
  for (name in names(object$xlevels)) {
    ordered <- attr(object, "ordered")[[name]]
    variables[[name]] <- with_levels_of_fit(name, variables[[name]], object$xlevels[[name]], ordered)
  }
  design_of(terms, variables, attr(object, "contrasts"), row_names_of(newdata))
}

# Groups of new data with the levels that the model knows.
with_levels_of_fit <- function(name, x, levels, ordered) {
  if (is_traced_factor(x)) return(with_order(traced_factor(x, levels, NULL, FALSE), ordered))
  if (is_traced(x)) return(x)
  text <- as.character(if (is_value(x)) as_array(x) else x)
  unknown <- setdiff(text, c(levels, NA))
  if (length(unknown)) {
    expected <- paste0("data in which `", name, "` has the levels of the model")
    abort_arg("newdata", expected, describe(unknown[1L]))
  }
  factor(text, levels, ordered = ordered)
}

# ---- groups of rows ----------------------------------------------------------------------------------------

# A data frame with a row for each combination of levels, as aggregate() makes it: the groups, then the
# answers for each column. Those of a group without elements, which R leaves out, are NaN where what is in a
# group is computed.
aggregated <- function(columns, groups, FUN, ..., of_formula = FALSE) {
  check_columns_to_group(columns)
  if (any_selection_in(columns)) {
    of_rows <- without_selection("aggregate()", columns[[1L]], groups)
    groups <- setNames(of_rows$groups, names(groups))
    columns <- lapply(columns, function(x) if (is_selection(x)) vector_parts(x)$values else x)
  }
  for (g in groups) if (is_traced(g) && is.null(levels_of(g))) abort_concrete("aggregate()", g)
  of_rows <- grouping_of("aggregate()", "by", groups, NROW(columns[[1L]]))
  # As R has it, of a formula no row with a missing value is in a group.
  if (of_formula) of_rows$codes <- nv_ifelse(complete_rows(columns), of_rows$codes, 0L)
  present <- known_combinations(groups, columns, of_rows$count)
  grid <- expand.grid(of_rows$levels, KEEP.OUT.ATTRS = FALSE)
  names(grid) <- names(groups)
  # As R has them, what is no factor is of the type that it was.
  for (i in seq_along(grid)) {
    g <- groups[[i]]
    type <- if (is_traced_factor(g)) "factor" else if (is_traced(g)) "logical" else class(as.vector(g))
    if (is.factor(g)) type <- "factor"
    if (type != "factor") grid[[i]] <- as.vector(as.character(grid[[i]]), type)
  }
  answers <- lapply(columns, function(x) {
    x <- as_flat(value_of(as_operand(x)))
    answers <- if (!...length()) by_segments(FUN, x, of_rows)
    answers <- answers %||% lapply(in_groups(x, of_rows), FUN, ...)
    if (is.list(answers) && all(lengths(answers) == length(answers[[1L]])) && length(answers[[1L]]) > 1L) {
      answers <- nv_transpose(simplified(answers))
      return(if (all(present)) answers else answers[which(present), , drop = FALSE])
    }
    answers <- unname(as_flat(answers_of_groups(answers, of_rows, NA, TRUE)))
    if (all(present)) answers else answers[array(which(present))]
  })
  grid <- grid[present, , drop = FALSE]
  frame_of(c(as.list(grid), answers), nrow(grid))
}

# Which combinations of groups have elements, where R knows all groups and that none of their elements is left
# out; else all.
known_combinations <- function(groups, columns, count) {
  if (any_traced_in(unclass(groups)) || any_selection_in(columns)) return(rep(TRUE, count))
  known <- lapply(groups, function(g) as.factor(if (is_value(g)) as_array(g) else g))
  as.vector(table(unname(known)) > 0L)
}

check_columns_to_group <- function(columns) {
  for (name in names(columns)) {
    x <- columns[[name]]
    if ((is_operand(x) || is_selection(x)) && is.null(levels(x))) next
    abort_arg(name, "numbers", if (is.null(levels(x))) describe(x) else "a factor")
  }
}

# The columns of a matrix, or a vector by this name.
columns_to_group <- function(x, name) {
  if (is_selection(x) || length(dim(x)) != 2L) return(setNames(list(x), name))
  names <- colnames(x) %||% character(ncol(x))
  names[!nzchar(names)] <- paste0("V", seq_along(names))[!nzchar(names)]
  lapply(setNames(seq_along(names), names), function(k) x[, k])
}

# What model.frame() gives: the variables by the names of their code, which know their terms, and `more`.
model_frame <- function(formula, data, subset, more) {
  terms <- terms_of(formula, data)
  variables <- c(variables_of(terms, data), more)
  if (!length(variables)) abort_arg("formula", "one with variables", deparse1(formula))
  if (any_selection_in(variables)) abort_concrete("model.frame()", Find(is_selection, variables))
  count <- NROW(variables[[1L]])
  for (name in names(variables)) {
    size <- NROW(variables[[name]])
    if (size == count) next
    abort_arg(name, paste("as long as the other variables,", count), paste("of length", size))
  }
  labels <- attr(data, "row.names") %||% seq_len(count)
  if (!is.null(subset)) {
    if (is_traced(subset)) {
      abort_arg("subset", "rows that are known", describe(subset), "`lm()` takes a computed condition.")
    }
    of_rows <- variables_in_rows(variables, subset, labels)
    variables <- of_rows$variables
    labels <- of_rows$labels
  }
  structure(variables, class = "data.frame", row.names = labels, terms = terms)
}

mask_formulas <- list(
  model.frame = function(formula, ...) {
    # As R's method has its arguments, of which those of the data are code.
    known <- formals(stats::model.frame.default)
    given <- as.list(match.call(as.function(c(known, list(NULL)))))
    data <- eval(given$data, parent.frame())
    if (!needs_traced(formula, data)) return(own_call("model.frame", sys.call(), parent.frame()))
    rows <- function(code) rows_of_subset(code, data, formula)
    more <- given[setdiff(names(given), c("", names(known)))]
    more <- Filter(function(x) !is.null(x), lapply(more, rows))
    if (length(more)) names(more) <- paste0("(", names(more), ")")
    model_frame(formula, data, rows(given$subset), more)
  },

  model.matrix = function(object, data = environment(object), contrasts.arg = NULL, xlev = NULL, ...) {
    if (is_traced_fit(object)) return(attr(object, "design"))
    if (!needs_traced(object, if (!missing(data)) data)) {
      return(own_call("model.matrix", sys.call(), parent.frame()))
    }
    if (missing(data)) data <- NULL
    terms <- terms_of(object, data)
    # The left side is no part of it.
    if (attr(terms, "response")) terms <- stats::delete.response(terms)
    variables <- variables_of(terms, data)
    if (any_selection_in(variables)) abort_concrete("model.matrix()", Find(is_selection, variables))
    design_of(terms, variables, contrasts.arg, row_names_of(data))
  },

  lm = function(formula, data, subset, weights, na.action, method = "qr", ...) {
    given <- if (!missing(data)) data
    w <- if (!missing(weights)) eval(substitute(weights), unclass(given), parent.frame())
    rows <- if (!missing(subset)) rows_of_subset(substitute(subset), given, formula)
    if (!needs_traced(formula, given) && !is_traced(w) && !is_traced(rows)) {
      return(own_call("lm", sys.call(), parent.frame()))
    }
    check_dots(..., .known = c("model", "x", "y", "qr", "singular.ok", "contrasts"))
    call <- sys.call()
    linear_model(formula, given, w, match.call(call = call), list(...)$contrasts, rows)
  },

  summary = function(object, ...) {
    if (is_traced_glm(object)) return(summary_of_glm(object, ...))
    if (is_traced_fit(object) && inherits(object, "aov")) return(list(variances_by_term(object)))
    if (is_traced_fit(object)) return(summary_of_fit(object, ...))
    if (is_traced_nls(object)) return(summary_of_nls(object))
    if (are_components(object)) return(summary_of_components(object))
    called_from("summary", parent.frame())(object, ...)
  },

  # Of what aov() gives, as of any linear model.
  summary.lm = function(object, ...) {
    if (is_traced_fit(object) && !is_traced_glm(object)) return(summary_of_fit(object, ...))
    stats::summary.lm(object, ...)
  },

  # R's method for aov() leaves out what is missing.
  coef = function(object, ...) {
    if (is_traced_fit(object)) object$coefficients else called_from("coef", parent.frame())(object, ...)
  },

  vcov = function(object, ...) {
    if (is_traced_fit(object)) {
      check_dots(...)
      return(covariance_of(object))
    }
    if (is_traced_nls(object)) return(covariance_of(object))
    # What summary() gives of a model.
    if (is.list(object) && !is.object(object) && is_traced(object$cov.unscaled)) {
      return(object$cov.scaled %||% (object$sigma^2 * object$cov.unscaled))
    }
    called_from("vcov", parent.frame())(object, ...)
  },

  confint = function(object, parm, level = 0.95, ...) {
    if (!is_traced_fit(object)) return(own_call("confint", sys.call(), parent.frame()))
    if (is_traced_glm(object)) {
      hint <- "R's are of the likelihood. Those of Wald's are `confint.default(fit)`."
      abort_arg("object", "what `lm()` gives", "what `glm()` gives", hint)
    }
    check_dots(...)
    wald_intervals(object, parm, level, function(ends) qt(ends, object$df.residual))
  },

  logLik = function(object, ...) {
    if (is_traced_model(object)) return(log_likelihood(object))
    called_from("logLik", parent.frame())(object, ...)
  },

  AIC = function(object, ..., k = 2) {
    if (!is_traced_model(object)) return(called_from("AIC", parent.frame())(object, ..., k = k))
    check_dots(...)
    k * parameters_of(object) - 2 * log_likelihood(object)
  },

  BIC = function(object, ...) {
    if (!is_traced_model(object)) return(called_from("BIC", parent.frame())(object, ...))
    check_dots(...)
    log(rows_of_fit(object)) * parameters_of(object) - 2 * log_likelihood(object)
  },

  xtabs = function(formula = ~., data, ..., na.rm = getRversion() < "4.4.0") {
    if (missing(data)) data <- NULL
    if (!needs_traced(formula, data)) return(own_call("xtabs", sys.call(), parent.frame()))
    check_dots(...)
    check_flag("na.rm", na.rm)
    terms <- terms_of(formula, data)
    variables <- variables_of(terms, data)
    response <- attr(terms, "response")
    right <- if (response) variables[-response] else variables
    if (!response) return(do.call(mask_groups$table, right, quote = TRUE))
    groups <- grouping_of("xtabs()", "formula", right, length(variables[[response]]))
    numbers <- as_flat(value_of(as_operand(variables[[response]])))
    if (na.rm) groups$codes <- nv_ifelse(complete_rows(list(numbers)), groups$codes, 0L)
    out <- answers_of_groups(by_segments(sum, numbers, groups), groups, 0, TRUE)
    attr(out, "of_table") <- groups$levels
    out
  },

  aggregate = function(x, by, FUN, ..., data) {
    if (missing(x)) return(own_call("aggregate", sys.call(), parent.frame()))
    if (inherits(x, "formula")) {
      if (!missing(data) && missing(FUN)) FUN <- by
      if (missing(data)) data <- if (!missing(by)) by
      if (!needs_traced(x, data)) return(own_call("aggregate", sys.call(), parent.frame()))
      FUN <- reached(match.fun(FUN), parent.frame())
      sides <- formula_sides(x, data)
      return(aggregated(columns_to_group(sides$left, sides$name), sides$right, FUN, ..., of_formula = TRUE))
    }
    traced <- is_traced(x) || is_traced_frame(x) || !missing(by) && is_traced_grouping(by)
    if (!traced) return(own_call("aggregate", sys.call(), parent.frame()))
    FUN <- reached(match.fun(FUN), parent.frame())
    # Of a series R makes groups by its times.
    if (missing(by)) abort_arg("by", "a list of groups", "left out", advice_on_times)
    if (!is.list(by)) abort_arg("by", "a list of groups", describe(by))
    names <- names(by) %||% character(length(by))
    names[!nzchar(names)] <- paste0("Group.", seq_along(by))[!nzchar(names)]
    columns <- if (is.data.frame(x)) as.list(x) else columns_to_group(x, "x")
    aggregated(columns, setNames(unclass(by), names), FUN, ...)
  }
)

# nolint end
