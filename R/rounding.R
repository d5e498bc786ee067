# round(), signif() and trunc(), see generics.R.

# Digits that R rounds to a whole number.
known_digits <- function(digits) {
  ok <- is.numeric(digits) && !is.object(digits) && length(digits) == 1L && is.finite(digits)
  if (!ok) abort_arg("digits", "one number", describe(digits))
  floor(digits + 0.5)
}

#' @rdname base-generics
#' @export
round.AnvilValue <- function(x, digits = 0) {
  digits <- known_digits(digits)
  if (digits == 0) return(nv_round(x))
  # What has no order is refused by the op.
  if (digits > 0 && !is_float(dtype(x)) || inherits(dtype(x), c("ComplexType", "BooleanType"))) {
    return(nv_round(x))
  }
  if (!is_float(dtype(x))) return(round_integer(x, 10^-digits))
  rounded <- round_float(nv_convert(x, "f64"), 10^abs(digits), digits > 0)
  nv_convert(rounded, dtype(x), ambiguous(x))
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
  if (inherits(dtype(x), c("ComplexType", "BooleanType"))) return(nv_round(x))
  if (digits > 22) return(x)
  rounded <- round_digits(nv_convert(x, "f64"), digits)
  nv_convert(rounded, dtype(x), ambiguous(x))
}

# The powers of ten that a double can be.
powers_of_ten <- 10^(0:308)

# Doubles with so many significant digits. As in R, of two neighbours with so many digits the nearer one, or
# the even one if the number is exactly between them: a rounded quotient or product may be so where the number
# is not, so that the rest of it decides.
round_digits <- function(x, digits) {
  size <- nv_abs(x)
  is_plain <- size > 0 & nv_is_finite(x)
  size <- nv_ifelse(is_plain, size, 1)
  decimals <- digits - 1 - nv_floor(nv_log10(size))
  of <- function(table, at) nv_subset(nv_tensor(table, "f64"), as_flat(nv_convert(at, "i32") + 1L))
  shaped <- function(values) nv_reshape(values, shape(x))
  unit <- shaped(of(powers_of_ten, nv_clamp(0, nv_abs(decimals), 308)))
  # Beyond the largest power of ten.
  more <- shaped(of(powers_of_ten, nv_clamp(0, decimals - 308, 16)))
  multiplies <- decimals >= 0
  scaled <- nv_ifelse(multiplies, size * unit * more, size / unit)
  low <- nv_floor(scaled)
  above <- scaled - low
  # size * unit - scaled, or the rest of the division.
  rest <- nv_ifelse(multiplies, error_of_product(size, unit, scaled), -error_of_product(scaled, unit, size))
  up <- above > 0.5 | above == 0.5 & (rest > 0 | rest == 0 & low %% 2 == 1)
  whole <- low + nv_convert(up, "f64")
  nv_ifelse(is_plain, nv_sign(x) * nv_ifelse(multiplies, whole / unit / more, whole * unit), x)
}

# x * y - product, where it is small: products of halves of their bits are exact. 0 where there are no such
# halves.
error_of_product <- function(x, y, product) {
  half <- function(x) nv_convert(nv_convert(x, "f32"), "f64")
  high_x <- half(x)
  high_y <- half(y)
  low_x <- x - high_x
  low_y <- y - high_y
  rest <- ((high_x * high_y - product) + high_x * low_y + low_x * high_y) + low_x * low_y
  nv_ifelse(nv_abs(x) > 1e-30 & nv_abs(x) < 1e30 & nv_abs(y) < 1e30 & nv_is_finite(rest), rest, 0)
}
