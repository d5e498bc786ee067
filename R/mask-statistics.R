# Functions of stats and utils that the mask of a traced function binds, see mask.R: R's own read elements,
# and what they give can be computed of traced values.

# nolint start: object_name_linter. Names are those of R.

# R makes a plot unless it is told not to: of elements that there are none of yet.
check_no_plot <- function(plot) {
  if (!isFALSE(plot)) abort_arg("plot", "FALSE in a traced function", describe(plot))
}

# Floats of numbers: an imaginary part is not dropped in silence, as R drops it.
real_floats <- function(x) {
  x <- .External(anvil_op, "floats", as_operand(x))
  if (!inherits(dtype(x), "ComplexType")) return(x)
  abort("anvil_error_dtype", paste0(
    "Complex numbers, here ", as.character(dtype(x)), ", are not taken.\ni Take `Re(x)`, `Im(x)` or `Mod(x)`."
  ))
}

in_columns <- function(x) if (length(dim(x)) == 2L) x else nv_reshape(x, c(length(x), 1L))

# The lags that acf() takes by default, or those that are asked for.
known_lags <- function(lag.max, n, k) {
  if (is.null(lag.max)) lag.max <- floor(10 * (log10(n) - log10(k)))
  if (!is_whole(lag.max) || lag.max < 0) abort_arg("lag.max", "a whole number, at least 0", describe(lag.max))
  as.integer(min(lag.max, n - 1L))
}

# Autocovariances or -correlations of columns, with the parts that acf() gives.
autocovariances <- function(x, lag.max, type, demean) {
  x <- in_columns(real_floats(x))
  n <- nrow(x)
  k <- ncol(x)
  lags <- 0:known_lags(lag.max, n, k)
  if (demean) x <- sweep.AnvilValue(x, 2L, colMeans(x))
  at_lag <- function(lag) {
    nv_flatten(crossprod(x[array(seq.int(1L + lag, n)), ], x[array(seq_len(n - lag)), ])) / n
  }
  values <- t(nv_reshape(joined(lapply(lags, at_lag)), c(k * k, length(lags))))
  if (type == "correlation") {
    spread <- sqrt(values[1L, array(seq_len(k) + k * (seq_len(k) - 1L))])
    values <- sweep.AnvilValue(values, 2L, nv_flatten(nv_outer(spread, spread)), "/")
    values <- nv_clamp(-1, values, 1)
  }
  of_pairs <- matrix(1, k, k)
  of_pairs[lower.tri(of_pairs)] <- -1
  list(
    acf = nv_reshape(values, c(length(lags), k, k)), type = type, n.used = n,
    lag = outer(lags, of_pairs), series = "x", snames = colnames(x)
  )
}

# Partial autocorrelations of autocorrelations, by the recursion of Durbin and Levinson.
partial_of <- function(rho) {
  weights <- NULL
  out <- list()
  for (lag in seq_along(rho)) {
    before <- array(seq_len(lag - 1L))
    last <- if (lag == 1L) {
      rho[1L]
    } else {
      (rho[lag] - sum(weights * rev(rho[before]))) / (1 - sum(weights * rho[before]))
    }
    weights <- joined(c(if (lag > 1L) list(weights - last * rev(weights)), list(last)))
    out[[lag]] <- last
  }
  joined(out)
}

# A moving average of a column: NaN at the ends, where R has NA, unless it goes round.
moving_average <- function(x, weights, sides, circular) {
  n <- length(x)
  count <- length(weights)
  if (count > n) abort_arg("filter", paste("of at most", n, "numbers, as `x` has"), paste("one of", count))
  after <- if (sides == 2) count %/% 2L else 0L
  before <- count - 1L - after
  if (circular) {
    x <- taken(x, c(n + 1L - rev(seq_len(before)), seq_len(n), seq_len(after)))
  }
  middle <- as_flat(embed(x, count) %*% weights)
  if (circular) return(middle)
  joined(list(rep(NaN, before), middle, rep(NaN, after)))
}

# A column of which each element adds weighted ones before it; `init` are those before the first, the last one
# first.
autoregression <- function(x, weights, init) {
  count <- length(weights)
  both <- nv_promote_to_common(x, as_flat(as_operand(weights)), as_flat(as_operand(init)))
  weights <- both[[2L]]
  step <- function(state, x) {
    new <- x + sum(weights * state)
    list(carry = joined(list(new, state[array(seq_len(count - 1L))])), ys = new)
  }
  if (count == 1L) step <- function(state, x) {
    new <- x + weights * state
    list(carry = new, ys = as_number(new))
  }
  nv_scan(step, both[[3L]], both[[1L]])$ys
}

# What a function of one column makes of each of a matrix, side by side.
by_column <- function(x, f) {
  if (length(dim(x)) < 2L) return(f(as_flat(as_operand(x)), 1L))
  do.call(nv_concatenate, c(lapply(seq_len(ncol(x)), function(j) in_columns(f(x[, j], j))), axis = 2L))
}

# P-values for several tests. How many there are may be known only when the program runs, as NaN are none.
adjusted <- function(p, method, n) {
  x <- as_flat(real_floats(p))
  size <- length(x)
  bad <- nv_is_nan(x)
  count <- n %||% (size - nv_reduce_sum(nv_convert(bad, "i32")))
  if (method == "none") return(x)
  if (method == "bonferroni") return(nv_min(1, count * x))
  order <- nv_order(x)
  ranks <- nv_order(order)
  sorted <- x[order]
  i <- seq_len(size)
  out <- if (method == "holm") {
    cummax(nv_ifelse(nv_is_nan(sorted), -Inf, (count + 1L - i) * sorted))
  } else {
    factor <- switch(method,
      hochberg = count + 1L - i, BH = count / i, BY = harmonic(count, size) * count / i
    )
    rev(cummin(rev(nv_ifelse(nv_is_nan(sorted), Inf, factor * sorted))))
  }
  nv_ifelse(bad, NaN, nv_min(1, out)[ranks])
}

# The sum of 1 / i up to a number, which is no more than `size` if it is traced.
harmonic <- function(count, size) {
  if (!is_traced(count)) return(sum(1 / seq_len(count)))
  sum(nv_ifelse(seq_len(size) <= count, 1 / seq_len(size), 0))
}

# What t.test() computes. `x` and `y` may be selections.
t_test <- function(x, y = NULL, alternative = c("two.sided", "less", "greater"), mu = 0, paired = FALSE,
                   var.equal = FALSE, conf.level = 0.95, ..., names = NULL) {
  check_dots(...)
  alternative <- chosen("alternative", alternative, c("two.sided", "less", "greater"))
  check_flag("paired", paired)
  check_flag("var.equal", var.equal)
  if (paired) {
    if (is.null(y) || length(x) != length(y)) abort_arg("y", "as long as `x`", describe(y))
    x <- x - y
    y <- NULL
  }
  vector <- function(v) if (is_selection(v)) v else as_flat(real_floats(v))
  x <- vector(x)
  means <- list(mean(x))
  n <- number_in(x)
  of_x <- var(x) / n
  if (is.null(y)) {
    df <- n - 1
    stderr <- sqrt(of_x)
    names <- if (paired) "mean difference" else "mean of x"
  } else {
    y <- vector(y)
    m <- number_in(y)
    of_y <- var(y) / m
    means[[2L]] <- mean(y)
    names <- names %||% c("mean of x", "mean of y")
    if (var.equal) {
      df <- n + m - 2
      stderr <- sqrt((of_x * n * (n - 1) + of_y * m * (m - 1)) / df * (1 / n + 1 / m))
    } else {
      stderr <- sqrt(of_x + of_y)
      df <- stderr^4 / (of_x^2 / (n - 1) + of_y^2 / (m - 1))
    }
  }
  difference <- if (length(means) == 2L) means[[1L]] - means[[2L]] else means[[1L]]
  t <- (difference - mu) / stderr
  df <- value_of(as_operand(df))
  half <- function(p) qt(p, df) * stderr
  parts <- switch(
    alternative,
    less = list(pt(t, df), -Inf, difference + half(conf.level)),
    greater = list(pt(t, df, lower.tail = FALSE), difference - half(conf.level), Inf),
    two.sided = list(
      2 * pt(-abs(t), df), difference - half((1 + conf.level) / 2),
      difference + half((1 + conf.level) / 2)
    )
  )
  named <- function(values, names) setNames(joined(lapply(values, as_operand)), names)
  null <- if (paired) "mean difference" else if (is.null(y)) "mean" else "difference in means"
  if (any(startsWith(names, "mean in "))) {
    null <- paste(null, "between", paste(sub("mean in ", "", names, fixed = TRUE), collapse = " and "))
  }
  list(
    statistic = named(list(t), "t"), parameter = named(list(df), "df"), p.value = parts[[1L]],
    conf.int = joined(parts[2:3]), estimate = named(means, names), null.value = setNames(mu, null),
    stderr = stderr
  )
}

# Scores of principal components.
scores_of <- function(object, newdata, ...) {
  check_dots(...)
  if (missing(newdata)) return(object$x)
  x <- real_floats(as_matrix_of_values(newdata))
  check_matrix("newdata", x)
  names <- rownames(object$rotation)
  if (!is.null(names) && all(names %in% colnames(x))) x <- x[, names, drop = FALSE]
  if (ncol(x) != nrow(object$rotation)) {
    abort_arg("newdata", paste("a matrix of", nrow(object$rotation), "columns"), shown_shape(x))
  }
  if (!isFALSE(object$center)) x <- sweep.AnvilValue(x, 2L, object$center)
  if (!isFALSE(object$scale)) x <- sweep.AnvilValue(x, 2L, object$scale, "/")
  product(x, object$rotation)
}

mask_statistics <- list(
  seq_along = function(along.with) {
    if (!is_selection(along.with)) return(seq_along(along.with))
    parts <- vector_parts(along.with)
    selection(numbered(parts), parts$mask, 1L)
  },

  combn = function(x, m, FUN = NULL, simplify = TRUE, ...) {
    if (!is.null(FUN)) FUN <- reached(match.fun(FUN), parent.frame())
    if (!is_traced(x)) {
      if (is.null(FUN)) return(utils::combn(x, m, simplify = simplify))
      answers <- utils::combn(x, m, FUN, FALSE, ...)
      if (simplify && any_traced_in(answers)) return(simplified(answers, higher = TRUE))
      if (!simplify) return(answers)
      at <- 0L
      return(utils::combn(x, m, function(...) answers[[at <<- at + 1L]], TRUE))
    }
    # Of one number R takes those up to it.
    if (length(x) == 1L) abort_concrete("combn()", x)
    at <- by_base(utils::combn(length(x), m))
    x <- as_flat(x)
    if (is.null(FUN) && simplify) return(from_r(nv_reshape(taken(x, c(at)), dim(at))))
    answers <- lapply(seq_len(ncol(at)), function(i) {
      one <- x[array(at[, i])]
      if (is.null(FUN)) one else FUN(one, ...)
    })
    if (simplify && any_traced_in(answers)) simplified(answers, higher = TRUE) else answers
  },

  p.adjust = function(p, method = stats::p.adjust.methods, n = length(p)) {
    if (!is_traced(p)) return(stats::p.adjust(p, method, n))
    method <- chosen("method", method, stats::p.adjust.methods)
    if (method == "fdr") method <- "BH"
    if (method == "hommel") abort_arg("method", "another one in a traced function", "\"hommel\"")
    if (!missing(n) && (!is_whole(n) || n < length(p))) {
      abort_arg("n", paste("a whole number, at least", length(p)), describe(n))
    }
    out <- adjusted(p, method, if (!missing(n)) n)
    names(out) <- names(p)
    out
  },

  max.col = function(m, ties.method = c("random", "first", "last")) {
    m <- as_matrix_of_values(m)
    if (!is_traced(m)) return(max.col(m, ties.method))
    # R draws among equal elements by default: the first is one that it may draw.
    if (missing(ties.method)) ties.method <- "first"
    ties <- chosen("ties.method", ties.method, c("random", "first", "last"))
    if (ties == "random") {
      abort_arg(
        "ties.method", "\"first\" or \"last\" in a traced function", "\"random\"",
        "A program draws no random numbers by itself."
      )
    }
    if (ndims(m) != 2L) abort_arg("m", "a matrix", shown_shape(m))
    if (ties == "first") nv_argmax(m, axis = 2L) else ncol(m) + 1L - nv_argmax(nv_reverse(m, 2L), axis = 2L)
  },

  filter = function(x, filter, method = c("convolution", "recursive"), sides = 2L, circular = FALSE,
                    init = NULL) {
    if (!any_traced(x, filter, init)) {
      return(stats::filter(x, filter, method, sides = sides, circular = circular, init = init))
    }
    method <- chosen("method", method, c("convolution", "recursive"))
    weights <- if (is_value(filter)) as_flat(filter) else array(as.vector(filter))
    x <- real_floats(if (is_value(x)) x else bare(as.vector(x), x))
    if (method == "convolution") {
      if (!is_whole(sides) || !sides %in% 1:2) abort_arg("sides", "1 or 2", describe(sides))
      check_flag("circular", circular)
      return(by_column(x, function(column, j) moving_average(column, weights, sides, circular)))
    }
    count <- length(weights)
    columns <- length(x) %/% if (ndims(x) == 2L) nrow(x) else length(x)
    if (is.null(init)) init <- matrix(0, count, columns)
    if (length(init) != count * columns) {
      abort_arg("init", paste(count * columns, "numbers"), paste("one of", length(init)))
    }
    init <- if (is_value(init)) nv_reshape(init, c(count, columns)) else matrix(init, count, columns)
    by_column(x, function(column, j) autoregression(column, weights, init[, j]))
  },

  acf = function(x, lag.max = NULL, type = c("correlation", "covariance", "partial"), plot = TRUE,
                 na.action = stats::na.fail, demean = TRUE, ...) {
    x <- as_matrix_of_values(x)
    if (!is_traced(x)) return(stats::acf(x, lag.max, type, plot, na.action, demean, ...))
    type <- chosen("type", type, c("correlation", "covariance", "partial"))
    check_no_plot(plot)
    check_flag("demean", demean)
    if (type == "partial") return(mask_statistics$pacf(x, lag.max, plot))
    autocovariances(x, lag.max, type, demean)
  },

  pacf = function(x, lag.max = NULL, plot = TRUE, na.action = stats::na.fail, ...) {
    if (!is_traced(x)) return(stats::pacf(x, lag.max, plot, na.action, ...))
    check_no_plot(plot)
    if (ndims(x) > 1L && ncol(x) > 1L) abort_arg("x", "one series in a traced function", shown_shape(x))
    out <- autocovariances(x, max(1L, known_lags(lag.max, length(x), 1L)), "correlation", TRUE)
    count <- length(out$lag) - 1L
    values <- partial_of(as_flat(out$acf)[array(seq_len(count) + 1L)])
    out$acf <- nv_reshape(values, c(count, 1L, 1L))
    out$lag <- array(seq_len(count), c(count, 1L, 1L))
    out$type <- "partial"
    out
  },

  ccf = function(x, y, lag.max = NULL, type = c("correlation", "covariance"), plot = TRUE,
                 na.action = stats::na.fail, ...) {
    if (!any_traced(x, y)) return(stats::ccf(x, y, lag.max, type, plot, na.action, ...))
    type <- chosen("type", type, c("correlation", "covariance"))
    check_no_plot(plot)
    out <- autocovariances(cbind(x, y, deparse.level = 0), lag.max, type, TRUE)
    count <- dim(out$acf)[1L]
    back <- rev(seq_len(count - 1L) + 1L)
    out$acf <- joined(list(nv_flatten(out$acf[array(back), 2L, 1L]), nv_flatten(out$acf[, 1L, 2L])))
    out$lag <- c(out$lag[back, 2L, 1L], out$lag[, 1L, 2L])
    out[c("acf", "lag")] <- lapply(out[c("acf", "lag")], function(x) {
      if (is_value(x)) nv_reshape(x, c(length(x), 1L, 1L)) else array(x, c(length(x), 1L, 1L))
    })
    out
  },

  complete.cases = function(...) {
    given <- list_dots(...)
    if (!any_traced(...) && !any(vapply(given, is_traced_frame, NA))) return(stats::complete.cases(...))
    Reduce(`&`, lapply(given, function(x) {
      if (is_traced_frame(x)) return(complete_rows(unclass(x)))
      if (is_value(x)) are_complete(x) else stats::complete.cases(x)
    }))
  },

  mad = function(x, center = stats::median(x), constant = 1.4826, na.rm = FALSE, low = FALSE, high = FALSE) {
    if (!is_selection(x)) return(stats::mad(x, center, constant, na.rm, low, high))
    if (low || high) abort_arg("low", "FALSE for a selection", "TRUE")
    center <- if (missing(center)) stats::median(x, na.rm = na.rm) else center
    constant * stats::median(abs(x - center), na.rm = na.rm)
  },

  addmargins = function(A, margin = seq_along(dim(A)), FUN = sum, quiet = FALSE) {
    if (!is_traced(A)) return(own_call("addmargins", sys.call(), parent.frame()))
    if (!is_function_of_r(FUN, "sum")) abort_arg("FUN", "`sum` in a traced function", describe(FUN))
    if (ndims(A) > 2L || !is_numeric(margin) || !all(margin %in% seq_along(dim(A)))) {
      abort_arg("A", "a vector or a matrix with these margins in a traced function", shown_shape(A))
    }
    if (ndims(A) == 1L) return(joined(list(A, Sum = sum(A))))
    names <- dimnames(A) %||% list(NULL, NULL)
    sizes <- dim(A)
    A <- unname(A)
    # Where one axis has names, R's sums have one.
    is_named <- !all(vapply(names, is.null, NA))
    for (axis in margin) {
      if (is_named) names[[axis]] <- c(names[[axis]] %||% character(sizes[axis]), "Sum")
      A <- nv_concatenate(A, nv_reduce_sum(A, axis, drop = FALSE), axis = axis)
    }
    from_r(with_names(A, names))
  },

  # Of the lists that prcomp() and lm() give.
  predict = function(object, ...) {
    if (is_traced_glm(object)) return(predicted_by_glm(object, ...))
    if (is_traced_fit(object)) return(predicted_by_lm(object, ...))
    if (!is.list(object) || is.object(object) || !holds_tracer(object)) {
      return(called_from("predict", parent.frame())(object, ...))
    }
    if (!is.null(object$rotation)) return(scores_of(object, ...))
    abort_arg("object", "what `prcomp()` or `lm()` gives", "another list", "Write what it predicts.")
  }
)

# nolint end
