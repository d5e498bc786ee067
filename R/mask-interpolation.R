# Interpolation in a traced function, see mask.R: R's own functions give functions that call compiled code.

# nolint start: object_name_linter. Names are those of R.

# ---- functions that R has made -----------------------------------------------------------------------------

# A function that approxfun(), stepfun(), ecdf() or splinefun() of R's made of known points, or one of a link
# or family, as a copy that computes by ops where it is given traced values; any other function as it is. The
# copy keeps class and environment, in which methods such as knots() look for the points.
interpolating <- function(f) {
  compute <- interpolation_of(f) %||% family_function_of(f)
  if (is.null(compute)) return(f)
  arguments <- lapply(names(formals(f)), as.name)
  # Other arguments of what is made of points say how, and may be left out.
  asks <- as.call(if (is.null(interpolation_of(f))) c(any_traced, arguments) else c(is_traced, arguments[1L]))
  kept <- attributes(f)
  body(f) <- bquote(if (.(asks)) .(as.call(c(compute, arguments))) else .(body(f)))
  attributes(f) <- kept
  f
}

# Whether a function is such a copy.
is_interpolating <- function(f) {
  code <- body(f)
  is.call(code) && identical(code[[1L]], quote(`if`)) && is.call(code[[2L]]) &&
    (identical(code[[2L]][[1L]], is_traced) || identical(code[[2L]][[1L]], any_traced))
}

# What computes by ops what such a function does, of its arguments; NULL of any other function.
interpolation_of <- function(f) {
  home <- environment(f)
  if (typeof(f) != "closure" || identical(home, emptyenv())) return(NULL)
  if (!identical(parent.env(home), asNamespace("stats"))) return(NULL)
  code <- body(f)
  if (!is.call(code)) return(NULL)
  if (identical(code[[1L]], quote(.approxfun))) return(function(v) interpolated(home, as_points(v)))
  # The copy begins with `if`.
  if (!identical(code[[1L]], quote(`{`))) return(NULL)
  if (exists("z", home, inherits = FALSE) && ".splinefun" %in% all.names(code)) {
    return(function(x, deriv = 0L) spline_at(home$z, x, deriv))
  }
  # Of the method "monoH.FC".
  has_slopes <- all(c("x0", "y0", "m", "dx") %in% names(home))
  if (!has_slopes || !identical(names(formals(f))[3L], "extrapol")) return(NULL)
  function(x, deriv = 0, extrapol = c("linear", "cubic")) {
    is_straight <- chosen("extrapol", extrapol, c("linear", "cubic")) == "linear"
    spline_at(pieces_of_slopes(home$x0, home$y0, home$m, home$dx, is_straight), x, deriv)
  }
}

# Elements as R's functions give them: a vector, whatever the axes were.
as_points <- function(v) {
  v <- real_floats(v)
  if (ndims(v) > 1L) as_flat(v) else v
}

# `points` are the variables of what approxfun() gives.
interpolated <- function(points, v) {
  end <- function(value) if (!is.na(value)) value
  approx.AnvilValue(
    points$x, points$y, xout = v, method = c("linear", "constant")[points$method], yleft = end(points$yleft),
    yright = end(points$yright), f = points$f
  )$y
}

# A spline of pieces `z`, as splinefun() has them: at `z$x` values, slopes, and halves and sixths of the
# second and third derivatives. Before the first point those of the method 2, "natural", and of
# `z$is_straight` are lines.
spline_at <- function(z, v, deriv = 0L) {
  if (!is_whole(deriv) || deriv < 0 || deriv > 3) abort_arg("deriv", "0, 1, 2 or 3", describe(deriv))
  v <- as_points(v)
  first <- z$x[1L]
  at <- v
  if (z$method == 1L && z$n > 1L) {
    width <- z$x[z$n] - first
    at <- v - first
    at <- at - width * nv_floor(at / width) + first
  }
  i <- nv_clamp(1L, nv_search_sorted(value_of(array(z$x)), at, side = "right"), z$n - isFALSE(z$is_straight))
  of_piece <- function(values) nv_subset(value_of(if (is_value(values)) values else array(values)), i)
  along <- at - of_piece(z$x)
  none <- double(z$n)
  terms <- switch(
    deriv + 1L, z[c("y", "b", "c", "d")], list(z$b, 2 * z$c, 3 * z$d, none),
    list(2 * z$c, 6 * z$d, none, none), list(6 * z$d, none, none, none)
  )
  out <- of_piece(terms[[4L]])
  for (k in 3:1) out <- of_piece(terms[[k]]) + along * out
  if (z$method != 2L && !isTRUE(z$is_straight)) return(out)
  line <- switch(deriv + 1L, z$y[1L] + z$b[1L] * (v - first), z$b[1L], 0, 0)
  # As R has it for derivatives: the first point counts as one before it.
  is_before <- if (z$method == 2L && deriv > 0) v <= first else v < first
  nv_ifelse(is_before, line, out)
}

# The pieces of cubic polynomials with these slopes at the points, with lines or the same polynomials outside.
pieces_of_slopes <- function(x, y, slopes, widths, is_straight) {
  n <- length(x)
  rises <- diff(y) / widths
  list(
    method = 4L, n = n, is_straight = is_straight, x = x, y = y, b = slopes,
    c = c((3 * rises - 2 * slopes[-n] - slopes[-1L]) / widths, 0),
    d = c((slopes[-n] + slopes[-1L] - 2 * rises) / widths^2, 0)
  )
}

# ---- functions of traced points ----------------------------------------------------------------------------

# What a spline is of values, at known points: a sum of the splines of each value alone.
spline_of <- function(y, at_points) {
  y <- real_floats(y)
  size <- length(y)
  # R warns of values whose ends are not equal, of which a periodic spline takes the first.
  of_one <- function(i) suppressWarnings(at_points(as.double(seq_len(size) == i)))
  weights <- vapply(seq_len(size), of_one, at_points(double(size)))
  as_flat(matrix(weights, ncol = size) %*% as_flat(y))
}

# The pieces of a spline at known points, of values that may be traced.
spline_pieces <- function(x, y, method, ties) {
  of_known <- function(y) environment(stats::splinefun(x, y, method, ties))$z
  if (!is_traced(y)) return(of_known(y))
  z <- of_known(double(length(y)))
  names <- c("y", "b", "c", "d")
  parts <- spline_of(y, function(y) unlist(of_known(y)[names]))
  for (k in seq_along(names)) z[[names[k]]] <- parts[array(seq_len(z$n) + (k - 1L) * z$n)]
  z
}

# Splines that are sums of those of each value alone.
check_spline_method <- function(method, y) {
  if (!is_traced(y)) return(method)
  choices <- c("fmm", "natural", "periodic")
  if (is.character(method) && length(method) == 1L && !is.na(at <- pmatch(method, choices))) {
    return(choices[at])
  }
  abort_arg("method", "\"fmm\", \"natural\" or \"periodic\" in a traced function", describe(method))
}

# The points that a spline goes through must be known.
check_known <- function(arg, x) {
  if (!is_traced(x)) return(invisible())
  abort_arg(
    arg, "known while tracing for a spline", describe(x),
    "`approx()` takes traced ones, between which it is linear."
  )
}

mask_interpolation <- list(
  approxfun = function(x, y = NULL, method = "linear", yleft, yright, rule = 1, f = 0, ties = mean,
                       na.rm = TRUE) {
    if (!any_traced(x, y)) {
      return(interpolating(own_call("approxfun", sys.call(), parent.frame())))
    }
    if (is.null(y)) {
      y <- x
      x <- seq_along(y)
    }
    y <- real_floats(y)
    ends <- c(if (!missing(yleft)) list(yleft = yleft), if (!missing(yright)) list(yright = yright))
    function(v) {
      given <- list(x, y, xout = v, method = method, rule = rule, f = f)
      do.call(approx.AnvilValue, c(given, ends), quote = TRUE)$y
    }
  },

  ecdf = function(x) {
    if (!is_traced(x)) return(interpolating(stats::ecdf(x)))
    sorted <- nv_sort(as_flat(real_floats(x)))
    count <- nv_reduce_sum(!nv_is_nan(sorted))
    function(v) findInterval.AnvilValue(v, sorted) / count
  },

  # Of what ecdf() gives, that of the values that it knows.
  quantile = function(x, ...) {
    is_ecdf <- is.function(x) && !is.primitive(x) && is_traced(environment(x)$sorted)
    if (is_ecdf) x <- environment(x)$sorted
    called_from("quantile", parent.frame())(x, ...)
  },

  stepfun = function(x, y, f = as.numeric(right), ties = "ordered", right = FALSE) {
    if (!any_traced(x, y)) {
      return(interpolating(own_call("stepfun", sys.call(), parent.frame())))
    }
    y <- as_flat(real_floats(y))
    n <- length(x)
    if (length(y) != n + 1L) abort_arg("y", "one longer than `x`", describe(y))
    inner <- taken(y, seq_len(n) + if (right) 0L else 1L)
    function(v) {
      approx.AnvilValue(
        x, inner, xout = v, method = "constant", yleft = y[1L], yright = y[n + 1L], f = f
      )$y
    }
  },

  spline = function(x, y = NULL, n = 3 * length(x), method = "fmm", xmin = min(x), xmax = max(x), xout,
                    ties = mean) {
    if (missing(xout)) {
      if (!any_traced(x, y)) return(stats::spline(x, y, n, method, xmin, xmax, ties = ties))
    } else if (!any_traced(x, y, xout)) {
      return(stats::spline(x, y, method = method, xout = xout, ties = ties))
    }
    if (is.null(y)) {
      y <- x
      x <- seq_along(y)
    }
    check_known("x", x)
    method <- check_spline_method(method, y)
    if (missing(xout)) xout <- seq.int(xmin, xmax, length.out = n)
    if (is_traced(xout)) return(list(x = xout, y = spline_at(spline_pieces(x, y, method, ties), xout)))
    at_points <- function(y) stats::spline(x, y, method = method, xout = xout, ties = ties)$y
    list(x = xout, y = spline_of(y, at_points))
  },

  splinefun = function(x, y = NULL, method = "fmm", ties = mean) {
    if (!any_traced(x, y)) return(interpolating(stats::splinefun(x, y, method, ties)))
    if (is.null(y)) {
      y <- x
      x <- seq_along(y)
    }
    check_known("x", x)
    method <- check_spline_method(method, y)
    function(v, deriv = 0L) {
      if (is_traced(v)) return(spline_at(spline_pieces(x, y, method, ties), v, deriv))
      spline_of(y, function(y) stats::splinefun(x, y, method, ties)(v, deriv))
    }
  }
)

# nolint end
