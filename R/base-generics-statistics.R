# Functions of stats, and of base R on order and position, see base-generics.R.

# nolint start: object_name_linter. Names are those of R.

#' @export var
var <- function(x, y = NULL, na.rm = FALSE, use) UseMethod("var", among(x, y))

#' @method var AnvilValue
#' @export
var.AnvilValue <- function(x, y = NULL, na.rm = FALSE, use = NULL) {
  check_flag("na.rm", na.rm)
  use <- use %||% if (na.rm) "na.or.complete" else "everything"
  if (is_pairwise(use)) return(of_pairs(x, y, correlates = FALSE))
  complete <- leaves_out(use)
  if (is.null(y) && ndims(x) < 2L) nv_var(x, na_rm = complete) else nv_cov(x, y, na_rm = complete)
}

#' @export sd
sd <- function(x, na.rm = FALSE) UseMethod("sd", among(x))

#' @method sd AnvilValue
#' @export
sd.AnvilValue <- function(x, na.rm = FALSE) {
  check_flag("na.rm", na.rm)
  nv_sd(x, na_rm = na.rm)
}

#' @export cov
cov <- function(x, y = NULL, use = "everything", method = c("pearson", "kendall", "spearman")) {
  UseMethod("cov", among(x, y))
}

#' @method cov AnvilValue
#' @export
cov.AnvilValue <- function(x, y = NULL, use = "everything", method = c("pearson", "kendall", "spearman")) {
  method <- chosen("method", method, c("pearson", "kendall", "spearman"))
  if (is.null(y) && ndims(x) < 2L) {
    abort_arg("x", "a matrix if there is no `y`", shown_shape(x), "`var(x)` takes a vector.")
  }
  if (method == "kendall") return(concordance(x, y, use))
  if (method == "spearman") {
    x <- ranks(x, use)
    if (!is.null(y)) y <- ranks(y, use)
  }
  if (is_pairwise(use)) return(of_pairs(x, y, correlates = FALSE))
  nv_cov(x, y, na_rm = leaves_out(use))
}

#' @export cor
cor <- function(x, y = NULL, use = "everything", method = c("pearson", "kendall", "spearman")) {
  UseMethod("cor", among(x, y))
}

#' @method cor AnvilValue
#' @export
cor.AnvilValue <- function(x, y = NULL, use = "everything", method = c("pearson", "kendall", "spearman")) {
  method <- chosen("method", method, c("pearson", "kendall", "spearman"))
  if (is.null(y) && ndims(x) < 2L) abort_arg("x", "a matrix if there is no `y`", shown_shape(x))
  if (method == "kendall") {
    # An R vector has the digits of the tensor.
    if (!is.null(y)) {
      both <- nv_promote_to_common(as_operand(x), as_operand(y))
      x <- both[[1L]]
      y <- both[[2L]]
    }
    spread <- function(x) {
      all <- concordance(x, x, use)
      sqrt(if (ndims(all)) nv_extract_diag(all) else all)
    }
    both <- concordance(x, y, use)
    if (!ndims(both)) return(both / (spread(x) * spread(y)))
    return(both / nv_outer(nv_flatten(spread(x)), nv_flatten(spread(y %||% x))))
  }
  if (method == "spearman") {
    x <- ranks(x, use)
    if (!is.null(y)) y <- ranks(y, use)
  }
  if (is_pairwise(use)) return(of_pairs(x, y, correlates = TRUE))
  nv_cor(x, y, na_rm = leaves_out(use))
}

known_uses <- c("everything", "complete.obs", "na.or.complete", "pairwise.complete.obs")

# Which of them is meant, if one is.
which_use <- function(use) if (is.character(use) && length(use) == 1L) pmatch(use, known_uses) else NA

is_pairwise <- function(use) which_use(use) %in% 4L

# Covariances or correlations of columns, each pair of the rows in which neither has NaN.
of_pairs <- function(x, y, correlates) {
  centred <- function(x) {
    x <- in_columns(.External(anvil_op, "floats", as_operand(x)))
    kept <- !nv_is_nan(x)
    # Near the mean, so that little cancels.
    x <- sweep.AnvilValue(x, 2L, nv_mean(x, 1L, na_rm = TRUE))
    list(x = nv_ifelse(kept, x, 0), kept = nv_convert(kept, dtype(x), ambiguous(x)))
  }
  is_vector <- !is.null(y) && length(dim(x)) < 2L && length(dim(y)) < 2L
  a <- centred(x)
  b <- if (is.null(y)) a else centred(y)
  count <- cross(a$kept, b$kept)
  sum_a <- cross(a$x, b$kept)
  sum_b <- cross(a$kept, b$x)
  both <- cross(a$x, b$x) - sum_a * sum_b / count
  out <- if (correlates) {
    spread_a <- cross(a$x^2, b$kept) - sum_a^2 / count
    spread_b <- cross(a$kept, b$x^2) - sum_b^2 / count
    nv_clamp(-1, both / sqrt(spread_a * spread_b), 1)
  } else {
    both / (count - 1)
  }
  if (is_vector) return(nv_reshape(out, integer()))
  names <- list(colnames(x), colnames(y %||% x))
  with_names(out, names)
}

# Whether rows with NaN are left out.
leaves_out <- function(use) {
  at <- which_use(use)
  if (at %in% 4L) {
    hint <- "Pairs are left out for `method = \"pearson\"` of tensors."
    abort_arg("use", "\"everything\" or \"complete.obs\" here", describe(use), hint)
  }
  if (is.na(at)) {
    abort_arg("use", paste0("one of \"", paste(known_uses, collapse = "\", \""), "\""), describe(use))
  }
  at > 1L
}

# Ranks of all rows: without those that have NaN they would be others.
ranks <- function(x, use) {
  if (leaves_out(use)) abort_arg("use", "\"everything\" for this method", describe(use))
  x <- as_operand(x)
  out <- nv_rank_of(x, axis = if (length(dim(x)) == 2L) 1L)
  if (!is_value(x) || !is_inexact(x)) return(out)
  nv_ifelse(nv_is_nan(x), NaN, nv_convert(out, dtype(x), ambiguous(x)))
}

# The sums over all pairs of rows of the products of the signs of their differences.
concordance <- function(x, y, use) {
  if (leaves_out(use)) abort_arg("use", "\"everything\" for this method", describe(use))
  signs <- function(x) {
    x <- .External(anvil_op, "floats", as_operand(x))
    if (ndims(x) < 2L) x <- nv_reshape(x, c(length(x), 1L))
    n <- nrow(x)
    sizes <- c(n, n, ncol(x))
    nv_reshape(
      sign(nv_broadcast_in_dim(x, sizes, c(1L, 3L)) - nv_broadcast_in_dim(x, sizes, c(2L, 3L))),
      c(n * n, ncol(x))
    )
  }
  out <- cross(signs(x), signs(y %||% x))
  is_column <- function(x) length(dim(x)) < 2L
  if (!is.null(y) && is_column(x) && is_column(y)) nv_reshape(out, integer()) else out
}

#' @export cov2cor
cov2cor <- function(V) UseMethod("cov2cor", among(V))

#' @method cov2cor AnvilValue
#' @export
cov2cor.AnvilValue <- function(V) {
  if (ndims(V) != 2L || nrow(V) != ncol(V)) abort_arg("V", "a square matrix", shown_shape(V))
  scale <- 1 / sqrt(nv_extract_diag(V))
  # The diagonal is 1 without rounding.
  out <- nv_ifelse(array(base::diag(nrow(V)) == 1, dim(V)), 1, V * unname(nv_outer(scale, scale)))
  with_names(unname(out), dimnames(V))
}

#' @export IQR
IQR <- function(x, na.rm = FALSE, type = 7) UseMethod("IQR", among(x))

#' @method IQR AnvilValue
#' @export
IQR.AnvilValue <- function(x, na.rm = FALSE, type = 7) {
  check_flag("na.rm", na.rm)
  ends <- nv_quantile(x, c(0.25, 0.75), type = type, na_rm = na.rm)
  ends[2L] - ends[1L]
}

#' @export fivenum
fivenum <- function(x, na.rm = TRUE) UseMethod("fivenum", among(x))

#' @method fivenum AnvilValue
#' @export
fivenum.AnvilValue <- function(x, na.rm = TRUE) {
  check_flag("na.rm", na.rm)
  x <- .External(anvil_op, "floats", as_vector(x))
  if (!length(x)) return(nv_broadcast_to(nv_scalar(NaN, dtype(x), ambiguous(x)), 5L))
  # NaN are the last ones of the sorted elements.
  bad <- nv_is_nan(x)
  n <- length(x) - nv_reduce_sum(nv_convert(bad, "i32"))
  quarter <- nv_floor((n + 3) / 2) / 2
  at <- nv_stack(quarter * 0 + 1, quarter, (n + 1) / 2, n + 1 - quarter, n + 0 * quarter)
  x <- nv_sort(x)
  pick <- function(position) x[nv_clamp(1L, nv_convert(position, "i32"), length(x))]
  out <- 0.5 * (pick(nv_floor(at)) + pick(nv_ceiling(at)))
  if (na.rm) out else nv_ifelse(nv_reduce_any(bad), NaN, out)
}

#' @export weighted.mean
weighted.mean <- function(x, w, ...) UseMethod("weighted.mean", among(x, w))

#' @export mahalanobis
mahalanobis <- function(x, center, cov, inverted = FALSE, ...) {
  UseMethod("mahalanobis", among(x, center, cov))
}

#' @method mahalanobis AnvilValue
#' @export
mahalanobis.AnvilValue <- function(x, center, cov, inverted = FALSE, ...) {
  check_dots(..., .known = "tol")
  check_flag("inverted", inverted)
  x <- as_operand(x)
  # As in R, a vector is one row.
  if (length(dim(x)) < 2L) x <- nv_reshape(x, c(1L, length(x)))
  if (!isFALSE(center)) x <- sweep.AnvilValue(x, 2L, center)
  cov <- as_operand(cov)
  if (length(dim(cov)) < 2L) cov <- nv_reshape(cov, c(1L, 1L))
  inverse <- if (inverted) cov else nv_inv(cov)
  nv_reduce_sum(product(x, inverse) * x, axes = 2L)
}

#' @export order
order <- function(..., na.last = TRUE, decreasing = FALSE,
                  method = c("auto", "shell", "radix")) {
  UseMethod("order", among_dots(...))
}

#' @method order AnvilValue
#' @export
order.AnvilValue <- function(..., na.last = TRUE, decreasing = FALSE, method = c("auto", "shell", "radix")) {
  keys <- list_dots(...)
  if (!any(vapply(keys, is_traced, NA))) {
    keys <- lapply(keys, function(x) if (is_value(x)) array_names(as_array(x)) else x)
    return(by_base(do.call(base::order, c(unname(keys), list(
      na.last = na.last, decreasing = decreasing, method = method
    )))))
  }
  if (!is.logical(na.last) || length(na.last) != 1L) {
    abort_arg("na.last", "TRUE, FALSE or NA", describe(na.last))
  }
  keys <- lapply(keys, function(x) if (is_value(x)) as_vector(x) else as_operand(sorting_key(x)))
  if (is.na(na.last)) return(order_of_known(keys, decreasing))
  if (!na.last) {
    decreasing <- as.vector(rbind(FALSE, rep_len(decreasing, length(keys))))
    keys <- do.call(base::c, lapply(keys, nan_first))
  }
  do.call(nv_order, c(unname(keys), list(decreasing = decreasing)))
}

# The places of what no key says NaN of, a selection: those of the others come last.
order_of_known <- function(keys, decreasing) {
  is_nan <- lapply(keys, function(key) if (is_float(dtype(key))) nv_is_nan(key) else nv_ne(key, key))
  is_nan <- Reduce(nv_or, is_nan)
  decreasing <- c(FALSE, rep_len(decreasing, length(keys)))
  places <- do.call(nv_order, c(list(is_nan), unname(keys), list(decreasing = decreasing)))
  count <- length(is_nan) - nv_reduce_sum(nv_convert(is_nan, "i32"))
  selection(places, nv_le(seq_len(length(is_nan)), count), 1L)
}

# Two keys in the place of one, by which NaN comes first.
nan_first <- function(key) {
  # Integers have none.
  if (!is_float(dtype(key))) return(list(nv_eq(key, key), key))
  list(!nv_is_nan(key), nv_ifelse(nv_is_nan(key), 0, key))
}

# Numbers in the order of R's strings, factors, dates and the like.
sorting_key <- function(x) {
  if (is_selection(x) || !is.character(x) && !is.object(x)) return(x)
  as.integer(base::rank(by_base(xtfrm(x)), na.last = "keep", ties.method = "min"))
}

#' @export rank
rank <- function(x, na.last = formals(base::rank)$na.last,
                 ties.method = c("average", "first", "last", "random", "max", "min")) {
  UseMethod("rank", among(x))
}

#' @method rank AnvilValue
#' @export
rank.AnvilValue <- function(x, na.last = formals(base::rank)$na.last,
                            ties.method = c("average", "first", "last", "random", "max", "min")) {
  ties <- chosen("ties.method", ties.method, c("average", "first", "last", "random", "max", "min"))
  if (ties == "random") abort_arg("ties.method", "another one for tensors", "\"random\"")
  if (!isTRUE(na.last) && !identical(na.last, "keep")) {
    abort_arg("na.last", "TRUE or \"keep\" for tensors", describe(na.last), "NaN comes last.")
  }
  x <- as_vector(x)
  ranks <- with_names(nv_rank_of(x, ties), list(names(x)))
  # Integers have no NaN.
  if (isTRUE(na.last) || !is_float(dtype(x)) || !is_float(dtype(ranks))) return(ranks)
  nv_ifelse(nv_is_nan(x), NaN, ranks)
}

#' @export which.max
which.max <- function(x) UseMethod("which.max", among(x))

#' @method which.max AnvilValue
#' @export
which.max.AnvilValue <- function(x) {
  if (!is_traced(x) && !is_complex_value(x)) return(by_base(base::which.max(array_names(as_array(x)))))
  with_unknown_names(nv_argmax(if (is_float(dtype(x))) nv_ifelse(nv_is_nan(x), -Inf, x) else x), x)
}

#' @export which.min
which.min <- function(x) UseMethod("which.min", among(x))

#' @method which.min AnvilValue
#' @export
which.min.AnvilValue <- function(x) {
  if (!is_traced(x) && !is_complex_value(x)) return(by_base(base::which.min(array_names(as_array(x)))))
  with_unknown_names(nv_argmin(if (is_float(dtype(x))) nv_ifelse(nv_is_nan(x), Inf, x) else x), x)
}

#' @export rle
rle <- function(x) UseMethod("rle", among(x))

#' @method rle AnvilValue
#' @export
rle.AnvilValue <- function(x) by_base(base::rle(as.vector(concrete_array(x, "`rle`"))))

#' @export tabulate
tabulate <- function(bin, nbins = max(1L, bin, na.rm = TRUE)) UseMethod("tabulate", among(bin))

#' @method tabulate AnvilValue
#' @export
tabulate.AnvilValue <- function(bin, nbins = NULL) {
  if (!is_traced(bin)) {
    bin <- array_names(as_array(bin))
    return(by_base(if (is.null(nbins)) base::tabulate(bin) else base::tabulate(bin, nbins)))
  }
  if (is.null(nbins)) {
    abort_arg("nbins", "given in a traced function", "left out", "The largest element is not known yet.")
  }
  nv_tabulate(if (is_inexact(bin)) nv_convert(bin, "i32") else bin, nbins)
}

#' @export findInterval
findInterval <- function(x, vec, rightmost.closed = FALSE,
                         all.inside = FALSE, left.open = FALSE, ...) {
  UseMethod("findInterval", among(x, vec))
}

#' @method findInterval AnvilValue
#' @export
findInterval.AnvilValue <- function(x, vec, rightmost.closed = FALSE, all.inside = FALSE, left.open = FALSE,
                                    ...) {
  check_dots(..., .known = c("checkSorted", "checkNA", "checkNaN"))
  is_known <- function(x) !is_traced(x) && !(is_value(x) && is_complex_value(x))
  if (is_known(x) && is_known(vec)) {
    elements <- function(x) if (is_value(x)) array_names(as_array(x)) else x
    return(by_base(base::findInterval(
      elements(x), elements(vec), rightmost.closed, all.inside, left.open, ...
    )))
  }
  for (arg in c("rightmost.closed", "all.inside", "left.open")) check_flag(arg, get(arg))
  vec <- as_operand(vec)
  n <- length(vec)
  out <- nv_search_sorted(vec, x, side = if (left.open) "left" else "right")
  if (rightmost.closed && n) {
    end <- if (left.open) 1L else n
    out <- nv_ifelse(nv_eq(x, vec[end]), if (left.open) 1L else n - 1L, out)
  }
  if (all.inside) out <- nv_clamp(1L, out, n - 1L)
  # R reads the smallest integer as NA.
  may_be_na <- if (is_value(x)) is_inexact(x) else anyNA(x)
  if (may_be_na) nv_ifelse(is.na(x), nv_scalar(-2147483648, "i32"), out) else out
}

#' @export approx
approx <- function(x, y = NULL, xout, method = "linear", n = 50, yleft, yright, rule = 1, f = 0, ties = mean,
                   na.rm = TRUE) {
  UseMethod("approx", among(x, y, xout))
}

#' @method approx AnvilValue
#' @export
approx.AnvilValue <- function(x, y = NULL, xout = NULL, method = "linear", n = 50, yleft = NULL,
                              yright = NULL, rule = 1, f = 0, ties = mean, na.rm = TRUE) {
  method <- chosen("method", method, c("linear", "constant"))
  if (is.null(y)) abort_arg("y", "given for tensors", "left out")
  # Tensors of complex numbers are refused below, by their dtype.
  if (is.complex(x) && !is_value(x)) abort_arg("x", "real numbers", "complex ones")
  if (is.complex(y) && !is_value(y)) abort_arg("y", "real numbers", "complex ones")
  if (is_selection(x) || is_selection(y)) {
    points <- selected_points(x, y)
    x <- points[[1L]]
    y <- points[[2L]]
  }
  # How many points are left is known where their elements are.
  if (isTRUE(na.rm) && !is_traced(x) && !is_traced(y)) {
    whole <- !is.na(as.double(x)) & !is.na(as.double(y))
    if (!all(whole)) {
      x <- x[whole]
      y <- y[whole]
    }
  }
  # Points may come in any order.
  x <- as_operand(x)
  at <- nv_order(x)
  x <- nv_subset(x, at)
  y <- nv_subset(as_operand(y), at)
  if (is.null(xout)) {
    if (!is_whole(n) || n < 1) abort_arg("n", "a whole number, at least 1", describe(n))
    # The last of them is the last point, whatever is rounded.
    between <- x[1L] + (seq_len(n) - 1) * ((x[length(x)] - x[1L]) / max(n - 1, 1))
    xout <- nv_min(between, x[length(x)])
  }
  out <- if (method == "constant") {
    steps(x, y, as_operand(xout), rule, f)
  } else {
    nv_interp(x, y, as_operand(xout), rule = rule)
  }
  if (!is.null(yleft)) out <- nv_ifelse(nv_lt(as_operand(xout), x[1L]), yleft, out)
  if (!is.null(yright)) out <- nv_ifelse(nv_gt(as_operand(xout), x[length(x)]), yright, out)
  list(x = xout, y = out)
}

# Points that are selected; the last of these is there again for each that is not.
selected_points <- function(x, y) {
  if (!is_selection(x) || !is_selection(y)) {
    other <- if (is_selection(x)) "y" else "x"
    abort_arg(other, "a selection by the same mask as the other coordinates", describe(get(other)))
  }
  x <- vector_parts(x)
  y <- vector_parts(y)
  check_same_mask(x, y)
  order <- nv_order(!x$mask, x$values)
  count <- selected_count(x)
  last <- nv_clamp(1L, count, length(x$mask))
  is_point <- nv_iota(1L, "i32", length(x$mask)) <= count
  lapply(list(x$values[order], y$values[order]), function(v) {
    nv_ifelse(is_point, v, nv_subset(v, last))
  })
}

# The constant interpolation of approx(): between two points the value of the left one, or with `f` of both.
steps <- function(x, y, xout, rule, f) {
  if (!is_numeric(f) || length(f) != 1L || !isTRUE(f >= 0 && f <= 1)) {
    abort_arg("f", "a number from 0 to 1", describe(f))
  }
  rule <- rep_len(rule, 2L)
  if (!all(rule %in% 1:2)) abort_arg("rule", "1 or 2, once or for each end", describe(rule))
  n <- length(x)
  at <- nv_clamp(1L, nv_search_sorted(x, xout, side = "right"), n)
  left <- nv_subset(y, at)
  out <- if (f == 0) {
    left
  } else {
    # At a point it is the value there.
    between <- (1 - f) * left + f * nv_subset(y, nv_clamp(1L, at + 1L, n))
    nv_ifelse(nv_eq(xout, nv_subset(x, at)), left, between)
  }
  outside <- nv_is_nan(xout)
  if (rule[1L] == 1) outside <- outside | nv_lt(xout, x[1L])
  if (rule[2L] == 1) outside <- outside | nv_gt(xout, x[n])
  nv_ifelse(outside, NaN, nv_ifelse(nv_gt(xout, x[n]), y[n], out))
}

# nolint end
