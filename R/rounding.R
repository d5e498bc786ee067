# round(), signif() and trunc(), see generics.R.

# Digits that R rounds to a whole number.
known_digits <- function(digits) {
  if (is_value(digits) && !is_traced(digits)) digits <- as.vector(digits)
  ok <- is.numeric(digits) && !is.object(digits) && length(digits) == 1L && is.finite(digits)
  if (!ok) abort_arg("digits", "one number", describe(digits))
  floor(digits + 0.5)
}

#' @rdname base-generics
#' @export
round.AnvilValue <- function(x, digits = 0) {
  digits <- known_digits(digits)
  if (inherits(dtype(x), "ComplexType")) {
    return(with_names_of(nv_complex(round(nv_real(x), digits), round(nv_imag(x), digits)), x))
  }
  if (digits == 0) return(nv_round(x))
  # What has no order is refused by the op.
  if (digits > 0 && !is_float(dtype(x)) || inherits(dtype(x), "BooleanType")) {
    return(nv_round(x))
  }
  if (!is_float(dtype(x))) return(round_integer(x, 10^-digits))
  rounded <- round_float(nv_convert(x, "f64"), 10^abs(digits), digits > 0)
  distances_as(nv_convert(rounded, dtype(x), ambiguous(x)), x)
}

# Of the two neighbours with so many decimals the nearer one, or the even one: the algorithm of R >= 4.0.
# Dividing by a power of ten gives the neighbours correctly rounded, multiplying by 0.1 would not.
round_float <- function(x, unit, decimals) {
  scaled <- if (decimals) x * unit else x / unit
  low <- nv_floor(scaled)
  high <- nv_ceiling(scaled)
  back <- function(x) if (decimals) x / unit else x * unit
  to_low <- x - back(low)
  to_high <- back(high) - x
  down <- to_low < to_high | (to_low == to_high & low %% 2 == 0)
  # A number this large has no decimals to round, nor have infinity and NaN.
  nv_ifelse(nv_abs(scaled) < 2^53, back(nv_ifelse(down, low, high)), x)
}

round_integer <- function(x, unit) {
  unit <- nv_scalar(unit, dtype(x))
  low <- x %/% unit
  above <- x - low * unit
  below <- unit - above
  down <- above < below | (above == below & low %% 2L == 0L)
  nv_ifelse(down, low, low + 1L) * unit
}

#' @rdname base-generics
#' @export
trunc.AnvilValue <- function(x, ...) {
  check_dots(...)
  nv_trunc(x)
}

#' @rdname base-generics
#' @export
signif.AnvilValue <- function(x, digits = 6) {
  digits <- max(known_digits(digits), 1)
  # What has no order is refused by the op, and more digits than that no double has.
  if (is_traced_factor(x)) return(nv_round(x))
  if (inherits(dtype(x), c("ComplexType", "BooleanType"))) return(nv_round(x))
  if (digits > 22) return(x)
  rounded <- round_digits(nv_convert(x, "f64"), digits)
  distances_as(nv_convert(rounded, dtype(x), ambiguous(x)), x)
}

# Powers of ten as R's signif() has them: made by squaring, not the nearest doubles.
powers_of_ten <- vapply(0:308, function(n) {
  power <- 1
  square <- 10
  while (n > 0) {
    if (n %% 2 == 1) power <- power * square
    n <- n %/% 2
    if (n > 0) square <- square * square
  }
  power
}, 0)

# Doubles with so many significant digits, rounded as R does: in doubles, to even.
round_digits <- function(x, digits) {
  size <- nv_abs(x)
  is_plain <- size > 0 & nv_is_finite(x)
  size <- nv_ifelse(is_plain, size, 1)
  decimals <- digits - 1 - nv_floor(nv_log10(size))
  power <- function(n) {
    at <- as_flat(nv_convert(nv_clamp(0, n, 308), "i32") + 1L)
    nv_reshape(nv_subset(nv_tensor(powers_of_ten, "f64"), at), shape(x))
  }
  unit <- power(nv_abs(decimals))
  # Beyond the largest power of ten.
  more <- power(decimals - 308)
  up <- decimals > 0
  whole <- nv_round(nv_ifelse(up, size * unit * more, size / unit))
  out <- nv_ifelse(up, whole / unit / more, whole * unit)
  # The largest numbers are not rounded up to infinity.
  out <- nv_ifelse(nv_is_finite(out), out, (whole - 1) * unit)
  nv_ifelse(is_plain, nv_sign(x) * out, x)
}
