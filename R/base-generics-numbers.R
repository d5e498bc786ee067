# Functions of base R on numbers, one element at a time, see base-generics.R.

# nolint start: object_name_linter. Names are those of R.

#' @export pmax
pmax <- function(..., na.rm = FALSE) UseMethod("pmax", among_dots(...))

#' @method pmax AnvilValue
#' @export
pmax.AnvilValue <- function(..., na.rm = FALSE) extremes(list(...), na.rm, nv_max)

#' @export pmin
pmin <- function(..., na.rm = FALSE) UseMethod("pmin", among_dots(...))

#' @method pmin AnvilValue
#' @export
pmin.AnvilValue <- function(..., na.rm = FALSE) extremes(list(...), na.rm, nv_min)

as_vector <- function(x) if (ndims(x) < 2L) x else nv_flatten(x)

# As in R, the result has the shape of the first argument if that has as many elements, and is a vector
# otherwise. Of one element, it has that of the first argument with axes.
extremes <- function(values, na.rm, op) {
  check_flag("na.rm", na.rm)
  # What a loop calls most costs no more than the op.
  if (length(values) == 2L && !na.rm) {
    sizes <- dim(values[[1L]])
    if (is_value(values[[1L]]) && meets(values[[2L]], sizes)) return(op(values[[1L]], values[[2L]]))
  }
  for (i in seq_along(values)) {
    if (is_operand(values[[i]])) next
    abort_arg(paste0("..", i), "a tensor, or an R number, vector or array", describe(values[[i]]))
  }
  sizes <- lengths(values)
  n <- if (any(sizes == 0L)) 0L else max(sizes)
  sizes_of <- function(x) dim(x) %||% if (!is_value(x) && length(x) != 1L) length(x)
  first <- sizes_of(values[[1L]])
  sizes <- if (sizes[1L] == n && length(first)) first else if (n != 1L) n
  of_one <- if (n == 1L) Find(length, lapply(values, sizes_of))
  values <- lapply(seq_along(values), function(i) fitted_to(values[[i]], sizes, paste0("..", i)))
  # NaN of one argument is left out.
  combine <- function(a, b) {
    out <- op(a, b)
    if (!na.rm || !is_inexact(out)) return(out)
    nv_ifelse(is.na(a), b + 0 * nv_ifelse(nv_is_nan(out), 0, out), nv_ifelse(is.na(b), a, out))
  }
  out <- Reduce(combine, values)
  if (is.null(of_one)) out else nv_reshape(out, of_one)
}

# Whether an op takes a value as it is next to one of that shape: a number, or a tensor of the shape.
meets <- function(x, sizes) {
  if (is_value(x)) return(is_selection(x) || is.null(dim(x)) || identical(dim(x), sizes))
  is_numeric(x) && length(x) == 1L && is.null(dim(x)) && !is.na(x)
}

# An operand of the elements of `x` in a shape, recycled as in R: a number, or as many elements as the shape
# has, or a whole part of them.
fitted_to <- function(x, sizes, arg) {
  n <- prod(sizes)
  if (n == 0) {
    empty <- if (is_value(x)) nv_flatten(x) else array(x)
    return(nv_reshape(nv_subset(empty, array(integer())), sizes))
  }
  if (length(x) == 1L) return(if (is_value(x)) nv_reshape(x, integer()) else as.vector(x))
  if (!length(x) || n %% length(x) != 0) {
    abort_arg(arg, paste("of", n, "elements, or a whole part of them"), paste("one of", length(x)))
  }
  if (!is_value(x)) return(array(x, sizes))
  if (identical(dim(x), as.integer(sizes))) return(x)
  nv_reshape(if (length(x) == n) x else recycled(nv_flatten(x), n, arg), sizes)
}

#' @export ifelse
ifelse <- function(test, yes, no) UseMethod("ifelse", among_branches(test, yes, no))

# As in R, `yes` and `no` are evaluated if there is an element for which they are needed.
among_branches <- function(test, yes, no) {
  if (missing(test)) return()
  if (is.object(test)) return(among(test))
  if (!is.logical(test)) {
    if (!is.numeric(test)) return()
    test <- test != 0
  }
  if (any(test, na.rm = TRUE) && !missing(yes) && is.object(yes) && is_value(yes)) return(yes)
  if (!all(test, na.rm = TRUE) && !missing(no) && is.object(no) && is_value(no)) no
}

#' @method ifelse AnvilValue
#' @export
ifelse.AnvilValue <- function(test, yes, no) {
  if (!is_value(test)) return(ifelse_static(test, yes, no))
  sizes <- dim(test)
  if (is.logical(test) && meets(yes, sizes) && meets(no, sizes)) return(nv_ifelse(test, yes, no))
  if (!is_operand(yes) || !is_operand(no)) {
    if (!is_traced(test)) return(base::ifelse(as_array(test), yes, no))
    arg <- if (is_operand(yes)) "no" else "yes"
    hint <- "A program has no text. Groups of two are `factor(x > 0, labels = c(\"low\", \"high\"))`."
    if (!is.character(get(arg))) hint <- NULL
    abort_arg(arg, "a tensor, or an R number, vector or array", describe(get(arg)), hint)
  }
  out <- nv_ifelse(truth(test), branch(yes, sizes, "yes"), branch(no, sizes, "no"))
  # R's result is NA where the condition is.
  if (is_inexact(test)) nv_ifelse(nv_is_nan(test), NaN, out) else out
}

# A condition that is no tensor: what it chooses is known.
ifelse_static <- function(test, yes, no) {
  if (anyNA(test)) abort_arg("test", "without NA, if what it chooses are tensors", describe(test))
  sizes <- dim(test) %||% if (length(test) != 1L) length(test)
  if (all(test != 0)) return(spread(branch(yes, sizes, "yes"), sizes))
  if (all(test == 0)) return(spread(branch(no, sizes, "no"), sizes))
  nv_ifelse(as_operand(test != 0), branch(yes, sizes, "yes"), branch(no, sizes, "no"))
}

spread <- function(x, sizes) if (length(sizes) && !ndims(x)) nv_broadcast_to(x, sizes) else x

# One of the values of ifelse(), in the shape of the condition.
branch <- function(x, sizes, arg) {
  if (!is_value(x) && is_operand(x) && is.logical(x) && anyNA(x)) x <- ifelse(is.na(x), NaN, x)
  n <- as.integer(prod(sizes))
  if (length(x) <= 1L || n == 0L || length(x) == n) return(fitted_to(x, sizes, arg))
  if (!is_value(x)) {
    x <- rep_len(as.vector(x), n)
    return(if (is.null(sizes)) x else array(x, sizes))
  }
  nv_reshape(recycled(nv_flatten(x), n, arg), sizes %||% integer())
}

# R's numbers are TRUE but for 0.
truth <- function(x) if (is.logical(x)) x else nv_ne(x, 0L)

#' @export atan2
atan2 <- function(y, x) UseMethod("atan2", among(y, x))

#' @method atan2 AnvilValue
#' @export
atan2.AnvilValue <- function(y, x) nv_atan2(y, x)

#' @export beta
beta <- function(a, b) UseMethod("beta", among(a, b))

#' @method beta AnvilValue
#' @export
beta.AnvilValue <- function(a, b) nv_beta(a, b)

#' @export lbeta
lbeta <- function(a, b) UseMethod("lbeta", among(a, b))

#' @method lbeta AnvilValue
#' @export
lbeta.AnvilValue <- function(a, b) nv_lbeta(a, b)

#' @export choose
choose <- function(n, k) UseMethod("choose", among(n, k))

#' @method choose AnvilValue
#' @export
choose.AnvilValue <- function(n, k) nv_choose(n, k)

#' @export lchoose
lchoose <- function(n, k) UseMethod("lchoose", among(n, k))

#' @method lchoose AnvilValue
#' @export
lchoose.AnvilValue <- function(n, k) nv_lchoose(n, k)

#' @export besselI
besselI <- function(x, nu, expon.scaled = FALSE) UseMethod("besselI", among(x, nu))

#' @method besselI AnvilValue
#' @export
besselI.AnvilValue <- function(x, nu, expon.scaled = FALSE) nv_bessel_i(x, nu, as_flag(expon.scaled))

#' @export besselK
besselK <- function(x, nu, expon.scaled = FALSE) UseMethod("besselK", among(x, nu))

#' @method besselK AnvilValue
#' @export
besselK.AnvilValue <- function(x, nu, expon.scaled = FALSE) nv_bessel_k(x, nu, as_flag(expon.scaled))

# R takes a number for the flag.
as_flag <- function(x) if (is_whole(x)) x != 0 else x

#' @export besselJ
besselJ <- function(x, nu) UseMethod("besselJ", among(x, nu))

#' @method besselJ AnvilValue
#' @export
besselJ.AnvilValue <- function(x, nu) bessel(base::besselJ, nv_bessel_j, x, nu)

#' @export besselY
besselY <- function(x, nu) UseMethod("besselY", among(x, nu))

#' @method besselY AnvilValue
#' @export
besselY.AnvilValue <- function(x, nu) bessel(base::besselY, nv_bessel_y, x, nu)

# There are ops for the orders 0 and 1: R computes others of elements that are known.
bessel <- function(by_r, op, x, nu) {
  for (arg in c("x", "nu")) {
    if (!is_operand(get(arg))) abort_arg(arg, "a tensor, or an R number, vector or array", describe(get(arg)))
  }
  elements <- function(x) if (is_value(x)) array_names(as_array(x)) else x
  if (is_traced(x) || is_traced(nu) || !is_value(nu) && length(nu) == 1L && nu %in% 0:1) return(op(x, nu))
  by_base(by_r(elements(x), elements(nu)))
}

#' @export psigamma
psigamma <- function(x, deriv = 0L) UseMethod("psigamma", among(x, deriv))

#' @method psigamma AnvilValue
#' @export
psigamma.AnvilValue <- function(x, deriv = 0L) nv_polygamma(deriv, x)

#' @export bitwAnd
bitwAnd <- function(a, b) UseMethod("bitwAnd", among(a, b))

#' @method bitwAnd AnvilValue
#' @export
bitwAnd.AnvilValue <- function(a, b) nv_and(as_bits(a, "a"), as_bits(b, "b"))

#' @export bitwOr
bitwOr <- function(a, b) UseMethod("bitwOr", among(a, b))

#' @method bitwOr AnvilValue
#' @export
bitwOr.AnvilValue <- function(a, b) nv_or(as_bits(a, "a"), as_bits(b, "b"))

#' @export bitwXor
bitwXor <- function(a, b) UseMethod("bitwXor", among(a, b))

#' @method bitwXor AnvilValue
#' @export
bitwXor.AnvilValue <- function(a, b) nv_xor(as_bits(a, "a"), as_bits(b, "b"))

#' @export bitwNot
bitwNot <- function(a) UseMethod("bitwNot", among(a))

#' @method bitwNot AnvilValue
#' @export
bitwNot.AnvilValue <- function(a) nv_not(as_bits(a, "a"))

#' @export bitwShiftL
bitwShiftL <- function(a, n) UseMethod("bitwShiftL", among(a, n))

#' @method bitwShiftL AnvilValue
#' @export
bitwShiftL.AnvilValue <- function(a, n) nv_shift_left(as_bits(a, "a"), as_shift(n))

#' @export bitwShiftR
bitwShiftR <- function(a, n) UseMethod("bitwShiftR", among(a, n))

#' @method bitwShiftR AnvilValue
#' @export
bitwShiftR.AnvilValue <- function(a, n) nv_shift_right_logical(as_bits(a, "a"), as_shift(n))

# R gives NA for other numbers of bits, which no integer of ours is.
as_shift <- function(n) {
  n <- as_bits(n, "n")
  if (is_value(n) || all(n >= 0L & n <= 31L, na.rm = TRUE)) return(n)
  other <- n[!is.na(n) & (n < 0L | n > 31L)][1L]
  abort_arg("n", "numbers of bits from 0 to 31", describe(other))
}

# R takes whole doubles for integers: their bits are those of an integer, not of a double.
as_bits <- function(x, arg) {
  if (!is_value(x)) return(as_index(x))
  if (is_inexact(x)) {
    dtype <- as.character(dtype(x))
    abort_arg(arg, "integers", paste("of dtype", dtype), "Convert it: `nv_convert(x, \"i32\")`.")
  }
  x
}

#' @export complex
complex <- function(length.out = 0L, real = numeric(), imaginary = numeric(),
                    modulus = 1, argument = 0) {
  if (missing(modulus) && missing(argument)) {
    UseMethod("complex", among(real, imaginary))
  } else {
    UseMethod("complex", among(modulus, argument))
  }
}

#' @method complex AnvilValue
#' @export
complex.AnvilValue <- function(length.out = 0L, real = 0, imaginary = 0, modulus = 1, argument = 0) {
  if (is_whole(length.out) && length.out > 0) {
    abort_arg("length.out", "left out", describe(length.out), "The length is that of the arguments.")
  }
  if (missing(modulus) && missing(argument)) return(nv_complex(real, imaginary))
  nv_complex(modulus * cos(argument), modulus * sin(argument))
}

# nolint end
