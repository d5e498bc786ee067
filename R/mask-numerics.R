# Roots, smallest values, integrals and densities in a traced function, see mask.R: R's own ask a function or
# elements in a loop of their own, here it is one of the program.

# nolint start: object_name_linter. Names are those of R.

# A function of one number, and of what else it is given, as one that gives a number.
number_function <- function(f, what, ...) {
  function(v) {
    value <- f(v, ...)
    if (is_operand(value) && length(value) == 1L) return(as_number(real_floats(value_of(as_operand(value)))))
    abort_arg("f", paste("a function of one number,", what), describe(value))
  }
}

# Elements with so many digits of the largest, as zapsmall() rounds: before R 4.4, by the nearest power of 10.
rounded_to_largest <- function(x, digits) {
  size <- nv_stop_gradient(max(abs(x), na.rm = TRUE))
  power <- if (getRversion() < "4.4.0") floor(log10(size) + 0.5) else ceiling(log10(size))
  places <- nv_ifelse(nv_gt(size, 0), nv_max(digits - power, 0), digits)
  scale <- nv_convert(10^places, dtype(x), ambiguous(x))
  round(x * scale) / scale
}

# A number with the slopes that f(number) = 0 says it has: each of two steps of Newton's, which change no
# value, doubles the order of the derivatives that are right.
as_root <- function(root, f) {
  root <- nv_stop_gradient(root)
  at_root <- nv_stop_gradient(f(root))
  for (step in 1:2) {
    slope <- gradient(f)(root)[[1L]]
    known <- nv_is_finite(slope) & nv_ne(slope, 0)
    left <- f(root) - at_root
    root <- root - nv_ifelse(known, left, 0) / nv_ifelse(known, slope, 1)
  }
  root
}

# The two ends of an interval as numbers of one dtype.
ends_of <- function(lower, upper, like) {
  ends <- lapply(list(lower, upper), function(end) {
    if (!is_operand(end) || length(end) != 1L) abort_arg("interval", "two numbers", describe(end))
    as_number(real_floats(value_of(as_operand(end))))
  })
  nv_promote_to_common(ends[[1L]], ends[[2L]], like)[1:2]
}

# Brent's method (R. P. Brent, Algorithms for Minimization without Derivatives, 1973, chapter 4), with R's
# rule of when a step is below the tolerance.
root_within <- function(f, ends, at_ends, tol, maxiter) {
  common <- do.call(nv_promote_to_common, c(ends, at_ends))
  epsilon <- epsilon_of(common[[1L]])
  is_apart <- nv_le(nv_sign(common[[3L]]) * nv_sign(common[[4L]]), 0)
  state <- list(
    a = common[[1L]], b = common[[2L]], c = common[[1L]], fa = common[[3L]], fb = common[[4L]],
    fc = common[[3L]], done = !is_apart, iter = nv_scalar(0L)
  )
  step <- function(s) {
    # The best is `b`.
    swaps <- nv_lt(abs(s$fc), abs(s$fb))
    before <- s$b - s$a
    a <- nv_ifelse(swaps, s$b, s$a)
    fa <- nv_ifelse(swaps, s$fb, s$fa)
    b <- nv_ifelse(swaps, s$c, s$b)
    fb <- nv_ifelse(swaps, s$fc, s$fb)
    c <- nv_ifelse(swaps, s$b, s$c)
    fc <- nv_ifelse(swaps, s$fb, s$fc)
    least <- 2 * epsilon * abs(b) + tol / 2
    half <- (c - b) / 2
    done <- nv_le(abs(half), least) | nv_eq(fb, 0)
    # A line, or an inverse parabola.
    u <- fb / fa
    v <- fa / fc
    w <- fb / fc
    is_line <- nv_eq(a, c)
    p <- nv_ifelse(is_line, (c - b) * u, u * ((c - b) * v * (v - w) - (b - a) * (w - 1)))
    q <- nv_ifelse(is_line, 1 - u, (v - 1) * (w - 1) * (u - 1))
    q <- nv_ifelse(nv_gt(p, 0), -q, q)
    p <- abs(p)
    takes <- nv_ge(abs(before), least) & nv_gt(abs(fa), abs(fb)) &
      nv_lt(p, 0.75 * (c - b) * q - abs(least * q) / 2) & nv_lt(p, abs(before * q / 2))
    move <- nv_ifelse(takes, p / q, half)
    move <- nv_ifelse(nv_lt(abs(move), least), nv_ifelse(nv_gt(move, 0), least, -least), move)
    new <- nv_ifelse(done, b, b + move)
    at_new <- nv_ifelse(done, fb, f(new))
    same <- nv_gt(nv_sign(at_new) * nv_sign(fc), 0)
    list(
      a = nv_ifelse(done, a, b), b = new, c = nv_ifelse(same & !done, b, c), fa = nv_ifelse(done, fa, fb),
      fb = at_new, fc = nv_ifelse(same & !done, fb, fc), done = done,
      iter = s$iter + nv_ifelse(done, 0L, 1L)
    )
  }
  # An end that is a root is found at once.
  last <- nv_while(state, function(s) !s$done & s$iter < as.integer(maxiter), step)
  list(
    root = nv_ifelse(is_apart, last$b, NaN), iter = last$iter,
    precision = nv_ifelse(nv_eq(last$fb, 0) & nv_eq(last$iter, 0L), 0, abs(last$c - last$b))
  )
}

# Brent's search for a smallest value by the golden section and parabolas (the same, chapter 5), with R's rule
# of when it ends.
smallest_within <- function(f, ends, tol) {
  golden <- (3 - sqrt(5)) * 0.5
  epsilon <- sqrt(epsilon_of(ends[[1L]]))
  start <- ends[[1L]] + golden * (ends[[2L]] - ends[[1L]])
  common <- nv_promote_to_common(ends[[1L]], ends[[2L]], start, f(start))
  x <- common[[3L]]
  fx <- common[[4L]]
  state <- list(
    a = common[[1L]], b = common[[2L]], v = x, w = x, x = x, d = x * 0, e = x * 0, fx = fx, fv = fx, fw = fx,
    done = nv_scalar(FALSE)
  )
  step <- function(s) {
    middle <- (s$a + s$b) / 2
    least <- epsilon * abs(s$x) + tol / 3
    done <- nv_le(abs(s$x - middle), 2 * least - (s$b - s$a) / 2)
    r <- (s$x - s$w) * (s$fx - s$fv)
    q <- (s$x - s$v) * (s$fx - s$fw)
    p <- (s$x - s$v) * q - (s$x - s$w) * r
    q <- (q - r) * 2
    p <- nv_ifelse(nv_gt(q, 0), -p, p)
    q <- abs(q)
    fits <- nv_gt(abs(s$e), least)
    p <- nv_ifelse(fits, p, 0)
    q <- nv_ifelse(fits, q, 0)
    r <- nv_ifelse(fits, s$e, 0)
    is_golden <- nv_ge(abs(p), abs(q * 0.5 * r)) | nv_le(p, q * (s$a - s$x)) | nv_ge(p, q * (s$b - s$x))
    e <- nv_ifelse(is_golden, nv_ifelse(nv_lt(s$x, middle), s$b - s$x, s$a - s$x), s$d)
    d <- nv_ifelse(is_golden, golden * e, p / q)
    u <- s$x + d
    near <- !is_golden & (nv_lt(u - s$a, 2 * least) | nv_lt(s$b - u, 2 * least))
    d <- nv_ifelse(near, nv_ifelse(nv_ge(s$x, middle), -least, least), d)
    u <- nv_ifelse(nv_ge(abs(d), least), s$x + d, nv_ifelse(nv_gt(d, 0), s$x + least, s$x - least))
    fu <- f(u)
    better <- nv_le(fu, s$fx)
    second <- !better & (nv_le(fu, s$fw) | nv_eq(s$w, s$x))
    third <- !better & !second & (nv_le(fu, s$fv) | nv_eq(s$v, s$x) | nv_eq(s$v, s$w))
    pick <- function(if_better, if_second, if_third, other) {
      nv_ifelse(better, if_better, nv_ifelse(second, if_second, nv_ifelse(third, if_third, other)))
    }
    low <- nv_ifelse(better, nv_lt(u, s$x), !nv_lt(u, s$x))
    new <- list(
      a = nv_ifelse(better, nv_ifelse(low, s$a, s$x), nv_ifelse(low, s$a, u)),
      b = nv_ifelse(better, nv_ifelse(low, s$x, s$b), nv_ifelse(low, u, s$b)),
      v = pick(s$w, s$w, u, s$v), w = pick(s$x, u, s$w, s$w), x = nv_ifelse(better, u, s$x), d = d, e = e,
      fx = nv_ifelse(better, fu, s$fx), fv = pick(s$fw, s$fw, fu, s$fv), fw = pick(s$fx, fu, s$fw, s$fw),
      done = done
    )
    kept <- names(s)[names(s) != "done"]
    new[kept] <- Map(function(old, new) nv_ifelse(done, old, new), s[kept], new[kept])
    new
  }
  nv_while(state, function(s) !s$done, step)$x
}

# ---- integrals ---------------------------------------------------------------------------------------------

# Points and weights of Gauss and Kronrod on -1 to 1, of 21 points: those of Gauss have every other one.
kronrod <- local({
  at <- c(
    0.995657163025808080735527280689003, 0.973906528517171720077964012084452,
    0.930157491355708226001207180059508, 0.865063366688984510732096688423493,
    0.780817726586416897063717578345042, 0.679409568299024406234327365114874,
    0.562757134668604683339000099272694, 0.433395394129247190799265943165784,
    0.294392862701460198131126603103866, 0.14887433898163121088482600112972, 0
  )
  of_all <- c(
    0.011694638867371874278064396062192, 0.03255816230796472747881897245939,
    0.05475589657435199603138130024458, 0.07503967481091995276704314091619,
    0.093125454583697605535065465083366, 0.109387158802297641899210590325805,
    0.123491976262065851077958109585166, 0.134709217311473325928054001771707,
    0.142775938577060080797094273138717, 0.147739104901338491374841515972068,
    0.149445554002916905664936468389821
  )
  of_gauss <- c(
    0.066671344308688137593568809893332, 0.149451349150580593145863396957373,
    0.219086362515982043995534934228163, 0.269266719309996355091226921569469,
    0.295524224714752870173815619188769
  )
  gauss <- numeric(11)
  gauss[c(2, 4, 6, 8, 10)] <- of_gauss
  list(
    at = c(-at[1:10], 0, rev(at[1:10])), kronrod = c(of_all, rev(of_all[1:10])),
    gauss = c(gauss, rev(gauss[1:10]))
  )
})

# An integral over 0 to 1, of a function of many numbers at once: the interval with the largest error is
# halved until the errors of all are small enough, or there are too many. Of `slots` intervals those after the
# first `count` are not used.
integral_of <- function(f, abs_tol, rel_tol, slots) {
  rules <- nv_stack(array(kronrod$kronrod), array(kronrod$gauss))
  in_rows <- function(v) nv_outer(array(rep(1, 21L)), v)
  # Values at the points of intervals, one column each.
  points_of <- function(low, high) {
    middle <- (low + high) / 2
    half <- (high - low) / 2
    list(half = half, at = nv_outer(array(kronrod$at), half) + in_rows(middle))
  }
  values_at <- function(at) nv_reshape(f(as_flat(at)), dim(at), order = "column")
  over <- function(low, high) {
    points <- points_of(low, high)
    values <- values_at(points$at)
    sums <- product(rules, values)
    half <- points$half
    all <- as_flat(sums[1L, ]) * half
    # As QUADPACK has them: the error, beside how far values are from their mean, and what rounding leaves.
    mean <- in_rows(as_flat(sums[1L, ]) / 2)
    weighted <- function(v) as_flat(product(nv_reshape(array(kronrod$kronrod), c(1L, 21L)), v)) * half
    apart <- weighted(abs(values - mean))
    error <- abs(all - as_flat(sums[2L, ]) * half)
    known <- nv_gt(apart, 0)
    error <- nv_ifelse(
      known, apart * nv_min(1, (200 * error / nv_ifelse(known, apart, 1))^1.5), error
    )
    list(values = all, errors = nv_max(error, 50 * .Machine$double.eps * weighted(abs(values))))
  }
  first <- over(value_of(array(0)), value_of(array(1)))
  # A narrow float has no smaller errors, of many intervals together.
  least <- 200 * epsilon_of(first$values)
  rel_tol <- max(rel_tol, least)
  abs_tol <- max(abs_tol, if (least > 1e-9) least else 0)
  place <- array(seq_len(slots))
  zero <- as_number(first$values) * 0
  state <- list(
    low = value_of(array(double(slots))), high = value_of(array(as.double(seq_len(slots) == 1L))),
    count = nv_scalar(1L),
    values = nv_ifelse(place == 1L, as_number(first$values), zero),
    errors = nv_ifelse(place == 1L, as_number(first$errors), zero)
  )
  is_enough <- function(s) {
    error <- sum(s$errors)
    # What is no number stays none.
    nv_le(error, nv_max(abs_tol, rel_tol * abs(sum(s$values)))) | !nv_is_finite(error)
  }
  step <- function(s) {
    worst <- nv_argmax(s$errors)
    low <- s$low[worst]
    high <- s$high[worst]
    middle <- (low + high) / 2
    halves <- over(joined(list(low, middle)), joined(list(middle, high)))
    put <- function(x, first, second) {
      nv_ifelse(place == worst, first, nv_ifelse(place == s$count + 1L, second, x))
    }
    list(
      low = put(s$low, low, middle), high = put(s$high, middle, high), count = s$count + 1L,
      values = put(s$values, halves$values[1L], halves$values[2L]),
      errors = put(s$errors, halves$errors[1L], halves$errors[2L])
    )
  }
  last <- nv_while(state, function(s) !is_enough(s) & s$count < slots, step)
  # At the points that were found the integral is a sum, which has slopes. What is not used is all over again.
  used <- place <= last$count
  low <- nv_stop_gradient(nv_ifelse(used, last$low, 0))
  high <- nv_stop_gradient(nv_ifelse(used, last$high, 1))
  points <- points_of(low, high)
  sums <- as_flat(product(nv_reshape(array(kronrod$kronrod), c(1L, 21L)), values_at(points$at))) * points$half
  value <- sum(nv_ifelse(used, sums, 0))
  list(
    value = nv_ifelse(is_enough(last), value, NaN), abs.error = nv_stop_gradient(sum(last$errors)),
    subdivisions = last$count
  )
}

# The function on 0 to 1 whose integral is that of a function from one number to another, of which R's own say
# whether they are infinite.
on_unit <- function(f, lower, upper) {
  is_infinite <- function(x) !is_traced(x) && is.infinite(if (is_value(x)) as_array(x) else x)
  if (!is_infinite(lower) && !is_infinite(upper)) {
    return(function(t) f(lower + t * (upper - lower)) * (upper - lower))
  }
  from <- function(end, sign) function(t) f(end + sign * (1 - t) / t) / t^2
  if (is_infinite(lower) && is_infinite(upper)) {
    up <- from(0, 1)
    down <- from(0, -1)
    return(function(t) up(t) + down(t))
  }
  if (is_infinite(upper)) from(lower, 1) else from(upper, -1)
}

inner_point <- function(lower, upper) {
  is_end <- is.finite(c(lower, upper))
  if (all(is_end)) (lower + upper) / 2 else if (is_end[1L]) lower + 1 else if (is_end[2L]) upper - 1 else 0
}

# ---- densities ---------------------------------------------------------------------------------------------

density_kernels <- list(
  gaussian = function(x, bw) dnorm(x, sd = bw),
  rectangular = function(x, bw) nv_ifelse(abs(x) < bw * sqrt(3), 0.5 / (bw * sqrt(3)), 0),
  triangular = function(x, bw) within_width(x, bw * sqrt(6), function(part) 1 - part),
  epanechnikov = function(x, bw) within_width(x, bw * sqrt(5), function(part) 3 / 4 * (1 - part^2)),
  biweight = function(x, bw) within_width(x, bw * sqrt(7), function(part) 15 / 16 * (1 - part^2)^2),
  cosine = function(x, bw) {
    within_width(x, bw / sqrt(1 / 3 - 2 / pi^2), function(part) (1 + cos(pi * part)) / 2)
  },
  optcosine = function(x, bw) {
    within_width(x, bw / sqrt(1 - 8 / pi^2), function(part) pi / 4 * cos(pi * part / 2))
  }
)

within_width <- function(x, width, of) {
  part <- abs(x) / width
  nv_ifelse(part < 1, of(part) / width, 0)
}

# The weights of elements in bins from one number to another, shared by the two ends of their bins.
binned <- function(x, weights, low, high, count) {
  place <- (x - low) * ((count - 1) / (high - low))
  bin <- nv_floor(place)
  share <- place - bin
  bin <- nv_convert(nv_clamp(-2, bin, count), "i32")
  inside <- function(at) nv_ifelse(at >= 0L & at < count, at + 1L, 0L)
  sums <- function(codes, x) nv_segment_sum(x, codes, 2L * count, mode = "drop")
  # The last bin has no end beyond it.
  first <- nv_ifelse(bin >= count, 0L, inside(bin))
  sums(first, weights * (1 - share)) + sums(inside(bin + 1L), weights * share)
}

density_of <- function(x, bw = "nrd0", adjust = 1, kernel = names(density_kernels), weights = NULL, n = 512,
                       from, to, cut = 3, na.rm = FALSE, old.coords = getRversion() < "4.4.0", ...) {
  check_dots(...)
  check_flag("old.coords", old.coords)
  kernel <- chosen("kernel", kernel, names(density_kernels))
  if (!isFALSE(na.rm)) abort_arg("na.rm", "FALSE in a traced function", describe(na.rm))
  if (!is_whole(n) || n < 1) abort_arg("n", "a whole number, at least 1", describe(n))
  x <- sample_of(x)
  if (is_selection(x)) abort_concrete("density()", x)
  size <- length(x)
  if (is.character(bw)) {
    rule <- chosen("bw", tolower(bw), c("nrd0", "nrd"))
    bw <- if (rule == "nrd0") mask_models$bw.nrd0(x) else mask_models$bw.nrd(x)
  }
  number <- function(arg, given) {
    if (is_operand(given) && length(given) == 1L) return(if (is_value(given)) as_number(given) else given)
    abort_arg(arg, "one number", describe(given))
  }
  bw <- number("adjust", adjust) * number("bw", bw)
  from <- if (missing(from)) min(x) - cut * bw else number("from", from)
  to <- if (missing(to)) max(x) + cut * bw else number("to", to)
  if (is.null(weights)) weights <- 1 / size
  if (!length(weights) %in% c(1L, size)) {
    abort_arg("weights", paste("as long as `x`,", size), paste("of length", length(weights)))
  }
  weights <- nv_broadcast_to(if (is_value(weights)) weights else array(weights), size)
  count <- max(n, 512)
  if (count > 512) count <- 2^ceiling(log2(count))
  count <- as.integer(count)
  low <- from - 4 * bw
  high <- to + 4 * bw
  mass <- binned(x, weights, low, high, count)
  # Distances from the first bin, of the second half from the other side.
  steps <- array(c(0:count, -((count - 1L):1L)))
  step <- (high - low) * (if (old.coords) 2 / (2 * count - 1) else 1 / (count - 1))
  smooth <- density_kernels[[kernel]](steps * step, bw)
  mixed <- fft(fft(mass) * Conj(fft(smooth)), inverse = TRUE)
  values <- nv_max(0, Re(mixed)[array(seq_len(count))] / (2 * count))
  known <- function(from, to, n) from + array(seq_len(n) - 1) * ((to - from) / max(n - 1, 1))
  points <- known(from, to, n)
  list(x = points, y = approx.AnvilValue(known(low, high, count), values, points)$y, bw = bw, n = size)
}

# ---- what the mask binds -----------------------------------------------------------------------------------

mask_numerics <- list(
  zapsmall = function(x, digits = getOption("digits"), ...) {
    if (!is_traced(x)) return(own_call("zapsmall", sys.call(), parent.frame()))
    check_dots(...)
    if (!is_whole(digits)) abort_arg("digits", "a whole number", describe(digits))
    if (!is_inexact(x)) return(x)
    rounded_to_largest(x, digits)
  },

  uniroot = function(f, interval, ..., lower = min(interval), upper = max(interval), f.lower, f.upper,
                     extendInt = "no", check.conv = FALSE, tol = .Machine$double.eps^0.25, maxiter = 1000,
                     trace = 0) {
    f <- reached(match.fun(f), parent.frame())
    at_lower <- f(lower, ...)
    if (!any_traced(lower, upper, at_lower, tol)) {
      return(stats::uniroot(
        f, lower = lower, upper = upper, ..., extendInt = extendInt, check.conv = check.conv, tol = tol,
        maxiter = maxiter, trace = trace
      ))
    }
    if (!identical(extendInt, "no")) {
      abort_arg("extendInt", "\"no\" in a traced function", describe(extendInt))
    }
    number <- number_function(f, "of which a root is looked for", ...)
    ends <- ends_of(lower, upper, number(lower))
    found <- root_within(number, ends, lapply(ends, number), tol, maxiter)
    root <- as_root(found$root, number)
    list(root = root, f.root = number(root), iter = found$iter, estim.prec = found$precision)
  },

  optimize = function(f, interval, ..., lower = min(interval), upper = max(interval), maximum = FALSE,
                      tol = .Machine$double.eps^0.25) {
    f <- reached(match.fun(f), parent.frame())
    check_flag("maximum", maximum)
    if (!any_traced(lower, upper, f(lower + (upper - lower) * 0.38, ...), tol)) {
      return(stats::optimize(f, lower = lower, upper = upper, ..., maximum = maximum, tol = tol))
    }
    number <- number_function(f, "whose smallest value is looked for", ...)
    ends <- ends_of(lower, upper, number(lower + (upper - lower) * 0.38))
    sought <- if (maximum) function(v) -number(v) else number
    found <- nv_stop_gradient(smallest_within(sought, ends, tol))
    # There the slope is 0, which says how the place depends on what is traced.
    at <- as_root(found, function(v) gradient(number)(v)[[1L]])
    out <- list(at, number(at))
    setNames(out, c(if (maximum) "maximum" else "minimum", "objective"))
  },

  integrate = function(f, lower, upper, ..., subdivisions = 100L, rel.tol = .Machine$double.eps^0.25,
                       abs.tol = rel.tol, stop.on.error = TRUE) {
    f <- reached(match.fun(f), parent.frame())
    own <- function() {
      stats::integrate(
        f, lower, upper, ..., subdivisions = subdivisions, rel.tol = rel.tol, abs.tol = abs.tol,
        stop.on.error = stop.on.error
      )
    }
    # What the function gives is known where it is one, and only there is it sure to be.
    if (!any_traced(lower, upper) && !any_traced(f(inner_point(lower, upper), ...))) return(own())
    for (tol in list(rel.tol, abs.tol)) {
      if (!is_numeric(tol) || length(tol) != 1L) abort_arg("rel.tol", "a known number", describe(tol))
    }
    if (!is_whole(subdivisions) || subdivisions < 1) {
      abort_arg("subdivisions", "a whole number, at least 1", describe(subdivisions))
    }
    number <- function(end) {
      if (!is_operand(end) || length(end) != 1L) abort_arg("lower", "one number, as `upper`", describe(end))
      if (is_value(end)) as_number(end) else end
    }
    many <- function(v) {
      values <- f(from_r(v), ...)
      if (is_operand(values) && length(values) == length(v)) {
        return(as_flat(real_floats(value_of(as_operand(values)))))
      }
      abort_arg(
        "f", "a function of many numbers at once, with a value for each", describe(values),
        "`Vectorize(f)` makes one of a function of one number."
      )
    }
    integral_of(on_unit(many, number(lower), number(upper)), abs.tol, rel.tol, as.integer(subdivisions))
  },

  density = function(x, ...) {
    if (!any_traced(x, ...) && !is_selection(x)) {
      return(called_from("density", parent.frame())(x, ...))
    }
    density_of(x, ...)
  }
)
mask_numerics$optimise <- mask_numerics$optimize

# nolint end
