# Least squares, principal components, polynomials and distances in a traced function, see mask.R: R's own
# functions call code in C, or look at the elements before they compute.

# nolint start: object_name_linter. Names are those of R.

# Least squares as lm.fit() gives them, of columns that are independent: with others the coefficients are NaN,
# where R leaves some out.
least_squares <- function(x, y, w = NULL, offset = NULL, tolerance = 1e-7) {
  x <- in_columns(real_floats(x))
  y <- real_floats(y)
  if (ndims(y) == 2L && ncol(y) == 1L) y <- as_flat(y)
  if (NROW(y) != nrow(x)) {
    abort_arg("y", paste("as long as `x` has rows,", nrow(x)), paste("of length", NROW(y)))
  }
  given <- y
  if (!is.null(offset)) y <- y - as_operand(offset)
  root <- 1
  if (!is.null(w)) {
    if (length(w) != nrow(x)) {
      abort_arg("w", paste("as long as `x` has rows,", nrow(x)), paste("of length", length(w)))
    }
    root <- sqrt(if (is_value(w)) as_flat(w) else array(w))
  }
  scaled <- if (is.null(w)) x else x * root
  f <- qr.AnvilValue(scaled)
  weighted <- if (is.null(w)) y else y * root
  # R's tolerance: what is left of a column beside those before it.
  if (dtype(scaled) != "f64") tolerance <- 1e-6
  left <- abs(nv_extract_diag(f$r)) > tolerance * sqrt(nv_reduce_sum(scaled^2, axes = 1L))
  coefficients <- nv_ifelse(nv_reduce_all(left), qr.coef.AnvilQr(f, weighted), NaN)
  if (!is.null(colnames(given))) colnames(coefficients) <- colnames(given)
  fitted <- product(x, coefficients)
  residuals <- y - if (ndims(y) == 1L) as_flat(fitted) else fitted
  out <- list(
    coefficients = coefficients, residuals = residuals, effects = qr.qty.AnvilQr(f, weighted),
    rank = ncol(x), fitted.values = given - residuals,
    # Its triangle is what chol2inv() reads.
    qr = list(qr = f$r, rank = ncol(x), pivot = seq_len(ncol(x)))
  )
  rows <- if (is.null(w)) nrow(x) else if (is_traced(w)) nv_reduce_sum(w != 0) else sum(w != 0)
  c(out, list(weights = w)[!is.null(w)], list(df.residual = rows - ncol(x)))
}

# The same of the rows that a computed mask selects: the others are zeros, which change nothing.
least_squares_of_rows <- function(x, y) {
  rows <- selected(x)
  values <- vector_parts(y)
  if (length(shape(rows$values)) != 2L || rows$axis != 1L) {
    abort_arg("x", "a matrix of which rows are selected", format(x))
  }
  check_same_mask(list(axis = 1L, mask = rows$mask), values)
  count <- selected_count(rows)
  fit <- least_squares(filled(rows, zero_like(rows$values)), filled(values, 0))
  of_rows <- function(v) selection(v, rows$mask, 1L)
  list(
    coefficients = fit$coefficients, residuals = of_rows(fit$residuals), rank = fit$rank,
    fitted.values = of_rows(fit$fitted.values), qr = fit$qr, df.residual = count - fit$rank,
    effects = fit$effects
  )
}

with_coefficient_names <- function(fit, names) {
  both <- if (ndims(fit$coefficients) == 2L) list(names, colnames(fit$coefficients)) else list(names)
  fit$coefficients <- with_names(fit$coefficients, both)
  fit
}

column_names_or <- function(x, prefix) {
  x <- in_columns(as_operand(x))
  colnames(x) %||% paste0(prefix, seq_len(ncol(x)))
}

# What scales columns: computed, given, or `FALSE` for nothing, as prcomp() gives it back.
scaling_of <- function(given, computed) {
  if (isFALSE(given)) return(FALSE)
  if (isTRUE(given)) computed() else given
}

# What prcomp() gives in a traced function.
are_components <- function(x) {
  is.list(x) && !is.object(x) && all(c("sdev", "rotation") %in% names(x)) && is_traced(x$sdev)
}

# As R's, but that shares are not rounded: they have derivatives.
summary_of_components <- function(components) {
  shares <- components$sdev^2 / sum(components$sdev^2)
  importance <- rbind(
    `Standard deviation` = components$sdev, `Proportion of Variance` = shares,
    `Cumulative Proportion` = cumsum(shares)
  )
  names <- colnames(components$rotation)
  colnames(importance) <- c(names, character(length(shares) - length(names)))
  c(components, list(importance = importance))
}

check_matrix <- function(arg, x) {
  if (ndims(x) == 2L) return(invisible())
  abort_arg(arg, "a matrix", shown_shape(x))
}

# ---- distances ---------------------------------------------------------------------------------------------

# Distances between the rows of a matrix, those below the diagonal by columns: a vector that knows the number
# of rows, also after what computes with it element by element. As in R, columns in which one of both rows has
# NaN are left out, and sums scaled up to all columns.
distances <- function(x, method, p) {
  rows <- nrow(x)
  columns <- ncol(x)
  pairs <- which(lower.tri(diag(rows)), arr.ind = TRUE)
  row <- function(i) subset_of(x, list(array(pairs[, i]), TRUE))
  differences <- abs(row("row") - row("col"))
  kept <- !nv_is_nan(differences)
  count <- nv_reduce_sum(kept, axes = 2L)
  total <- function(x) nv_reduce_sum(nv_ifelse(kept, x, 0), axes = 2L) * (columns / count)
  out <- switch(
    method,
    # The root has no slope at 0, where rows are equal.
    euclidean = root_of(total(differences^2)),
    manhattan = total(differences),
    minkowski = total(differences^p)^(1 / p),
    maximum = nv_ifelse(count > 0L, nv_reduce_max(nv_ifelse(kept, differences, 0), axes = 2L), NaN)
  )
  out <- unname(out)
  attr(out, "Size") <- rows
  attr(out, "Labels") <- rownames(x)
  out
}

# A root whose gradient is 0 at 0.
root_of <- function(x) {
  is_zero <- nv_eq(x, 0)
  nv_ifelse(is_zero, 0, sqrt(nv_ifelse(is_zero, 1, x)))
}

# Those of a matrix, below its diagonal.
distances_of_matrix <- function(m) {
  check_matrix("m", m)
  size <- nrow(m)
  if (size != ncol(m)) abort_arg("m", "a square matrix", shown_shape(m))
  out <- taken(as_flat(unname(m)), which(lower.tri(diag(size))))
  attr(out, "Size") <- size
  attr(out, "Labels") <- rownames(m) %||% colnames(m)
  out
}

matrix_of_distances <- function(x) {
  size <- attr(x, "Size")
  at <- matrix(0L, size, size)
  at[lower.tri(at)] <- seq_along(x)
  at <- at + t(at)
  out <- nv_reshape(taken(joined(list(0, x)), c(at) + 1L), c(size, size))
  labels <- attr(x, "Labels") %||% as.character(seq_len(size))
  dimnames(out) <- list(labels, labels)
  if (is_traced(out)) from_r(out) else as_array(out)
}

# What is computed of distances by several ops: distances, if `x` are.
distances_as <- function(out, x) {
  if (is.null(attr(x, "Size"))) return(out)
  attr(out, "Size") <- attr(x, "Size")
  attr(out, "Labels") <- attr(x, "Labels")
  out
}

# As a vector they are no distances any more, of which as.matrix() makes a matrix.
no_distances <- function(x) {
  attr(x, "Size") <- NULL
  x
}

# ---- what the mask binds -----------------------------------------------------------------------------------

mask_models <- list(
  lm.fit = function(x, y, offset = NULL, method = "qr", tol = 1e-07, singular.ok = TRUE, ...) {
    if (is_selection(x) && is_selection(y)) {
      fit <- least_squares_of_rows(x, y)
      return(with_coefficient_names(fit, column_names_or(selected(x)$values, "x")))
    }
    if (!any_traced(x, y, offset)) return(stats::lm.fit(x, y, offset, method, tol, singular.ok, ...))
    check_dots(...)
    with_coefficient_names(least_squares(x, y, offset = offset), column_names_or(x, "x"))
  },

  lm.wfit = function(x, y, w, offset = NULL, method = "qr", tol = 1e-07, singular.ok = TRUE, ...) {
    if (!any_traced(x, y, w, offset)) return(stats::lm.wfit(x, y, w, offset, method, tol, singular.ok, ...))
    check_dots(...)
    with_coefficient_names(least_squares(x, y, w, offset), column_names_or(x, "x"))
  },

  .lm.fit = function(x, y, tol = 1e-07) {
    if (!any_traced(x, y)) return(stats::.lm.fit(x, y, tol))
    least_squares(x, y)[c("coefficients", "residuals", "effects", "rank")]
  },

  lsfit = function(x, y, wt = NULL, intercept = TRUE, tolerance = 1e-07, yname = NULL) {
    if (!any_traced(x, y, wt)) return(stats::lsfit(x, y, wt, intercept, tolerance, yname))
    check_flag("intercept", intercept)
    x <- in_columns(as_operand(x))
    names <- column_names_or(x, "X")
    if (length(names) == 1L && is.null(colnames(x))) names <- "X"
    if (intercept) {
      x <- cbind(1, x, deparse.level = 0)
      names <- c("Intercept", names)
    }
    fit <- with_coefficient_names(least_squares(x, y, wt), names)
    c(fit[c("coefficients", "residuals")], list(wt = wt)[!is.null(wt)], list(intercept = intercept))
  },

  prcomp = function(x, retx = TRUE, center = TRUE, scale. = FALSE, tol = NULL, rank. = NULL, ...) {
    x <- as_matrix_of_values(x)
    if (!any_traced(x, center, scale.)) return(stats::prcomp(x, ...))
    check_dots(...)
    check_flag("retx", retx)
    if (!is.null(tol)) {
      abort_arg("tol", "NULL in a traced function", describe(tol), "`rank.` is a known number.")
    }
    x <- real_floats(x)
    check_matrix("x", x)
    n <- nrow(x)
    center <- scaling_of(center, function() colMeans(x))
    if (!isFALSE(center)) x <- sweep.AnvilValue(x, 2L, center)
    scale <- scaling_of(scale., function() sqrt(nv_reduce_sum(x^2, axes = 1L) / max(1, n - 1)))
    if (!isFALSE(scale)) x <- sweep.AnvilValue(x, 2L, scale, "/")
    k <- min(dim(x))
    if (!is.null(rank.)) {
      if (!is_whole(rank.) || rank. < 1) abort_arg("rank.", "a whole number, at least 1", describe(rank.))
      k <- min(rank., k)
    }
    parts <- nv_svd(x)
    rotation <- parts$v[, seq_len(k), drop = FALSE]
    dimnames(rotation) <- list(colnames(x), paste0("PC", seq_len(k)))
    out <- list(sdev = parts$d / sqrt(max(1, n - 1)), rotation = rotation, center = center, scale = scale)
    if (retx) out$x <- product(x, rotation)
    out
  },

  princomp = function(x, cor = FALSE, scores = TRUE, covmat = NULL, ...) {
    x <- as_matrix_of_values(x)
    if (!any_traced(x)) return(stats::princomp(x, cor, scores, covmat, ...))
    check_dots(...)
    check_flag("cor", cor)
    check_flag("scores", scores)
    if (!is.null(covmat)) abort_arg("covmat", "NULL in a traced function", describe(covmat))
    x <- real_floats(x)
    check_matrix("x", x)
    n <- nrow(x)
    if (n < ncol(x)) abort_arg("x", "a matrix of as many rows as columns, or more", shown_shape(x))
    covariance <- nv_cov(x) * (1 - 1 / n)
    scale <- if (cor) sqrt(nv_extract_diag(covariance)) else rep(1, ncol(x))
    if (cor) covariance <- covariance / nv_outer(scale, scale)
    parts <- eigen.AnvilValue(covariance, TRUE)
    # As in R, the first loading of each component is not negative.
    loadings <- sweep.AnvilValue(
      parts$vectors, 2L, nv_ifelse(nv_lt(nv_flatten(parts$vectors[1L, ]), 0), -1, 1), "*"
    )
    names <- paste0("Comp.", seq_len(ncol(x)))
    dimnames(loadings) <- list(colnames(x), names)
    center <- colMeans(x)
    sdev <- sqrt(nv_max(parts$values, 0))
    names(sdev) <- names
    out <- list(sdev = sdev, loadings = loadings, center = center, scale = scale, n.obs = n)
    if (!scores) return(out)
    scaled <- sweep.AnvilValue(sweep.AnvilValue(x, 2L, center), 2L, scale, "/")
    c(out, list(scores = product(scaled, loadings)))
  },

  cov.wt = function(x, wt = rep(1 / nrow(x), nrow(x)), cor = FALSE, center = TRUE,
                    method = c("unbiased", "ML")) {
    x <- as_matrix_of_values(x)
    if (!any_traced(x, wt, center)) return(stats::cov.wt(x, wt, cor, center, method))
    check_flag("cor", cor)
    method <- chosen("method", method, c("unbiased", "ML"))
    x <- real_floats(x)
    check_matrix("x", x)
    if (length(wt) != nrow(x)) {
      abort_arg("wt", paste("as long as `x` has rows,", nrow(x)), paste("of length", length(wt)))
    }
    is_given <- !missing(wt)
    wt <- if (is_value(wt)) as_flat(wt) else array(wt)
    wt <- wt / sum(wt)
    center <- if (isTRUE(center)) colSums(x * wt) else if (isFALSE(center)) 0 else center
    centred <- if (identical(center, 0)) x else sweep.AnvilValue(x, 2L, center)
    covariance <- cross(centred, centred * wt) / if (method == "ML") 1 else 1 - sum(wt^2)
    covariance <- with_names(covariance, list(colnames(x), colnames(x)))
    out <- list(cov = covariance, center = center, n.obs = nrow(x))
    if (is_given) out$wt <- wt
    if (cor) out$cor <- cov2cor.AnvilValue(covariance)
    out
  },

  poly = function(x, ..., degree = 1, coefs = NULL, raw = FALSE, simple = FALSE) {
    if (!is_traced(x)) {
      return(stats::poly(x, ..., degree = degree, coefs = coefs, raw = raw, simple = simple))
    }
    check_flag("raw", raw)
    dots <- list(...)
    if (length(dots) == 1L && is_whole(dots[[1L]])) degree <- dots[[1L]]
    if (ndims(x) > 1L || length(dots) > 1L || length(dots) && !is_whole(dots[[1L]])) {
      abort_arg("x", "one vector in a traced function, with a known degree", shown_shape(x))
    }
    if (!is.null(coefs)) abort_arg("coefs", "NULL in a traced function", describe(coefs))
    if (!is_whole(degree) || degree < 1 || degree >= length(x) && !raw) {
      expected <- if (raw) "a whole number, at least 1" else paste("a whole number from 1 to", length(x) - 1L)
      abort_arg("degree", expected, describe(degree))
    }
    x <- real_floats(x)
    if (raw) {
      out <- outer(x, seq_len(degree), "^")
      colnames(out) <- as.character(seq_len(degree))
      return(from_r(out))
    }
    parts <- nv_qr(outer(x - nv_mean(x), 0:degree, "^"))
    # R's columns begin with a positive factor of the highest power.
    signs <- nv_ifelse(nv_lt(nv_extract_diag(parts$r), 0), -1, 1)
    out <- sweep.AnvilValue(parts$q, 2L, signs, "*")[, seq_len(degree) + 1L, drop = FALSE]
    colnames(out) <- as.character(seq_len(degree))
    from_r(out)
  },

  dist = function(x, method = "euclidean", diag = FALSE, upper = FALSE, p = 2) {
    x <- as_matrix_of_values(x)
    if (!is_traced(x)) return(stats::dist(x, method, diag, upper, p))
    method <- chosen("method", method, c("euclidean", "maximum", "manhattan", "minkowski"))
    distances(in_columns(real_floats(x)), method, p)
  },

  as.dist = function(m, diag = FALSE, upper = FALSE) {
    if (!is_traced(m)) return(called_from("as.dist", parent.frame())(m, diag, upper))
    if (is.null(attr(m, "Size"))) distances_of_matrix(m) else m
  },

  bw.nrd0 = function(x) {
    if (!is_traced(x)) return(stats::bw.nrd0(x))
    x <- as_flat(real_floats(x))
    wide <- sd.AnvilValue(x)
    narrow <- nv_min(wide, IQR.AnvilValue(x) / 1.34)
    for (other in list(wide, abs(x[1L]), 1)) narrow <- nv_ifelse(nv_eq(narrow, 0), other, narrow)
    0.9 * narrow * length(x)^(-0.2)
  },

  bw.nrd = function(x) {
    if (!is_traced(x)) return(stats::bw.nrd(x))
    x <- as_flat(real_floats(x))
    1.06 * nv_min(sd.AnvilValue(x), IQR.AnvilValue(x) / 1.34) * length(x)^(-1 / 5)
  }
)

# nolint end
