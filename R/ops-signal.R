#' Discrete Fourier transforms
#'
#' `nv_fft()` gives, along an axis of `n` elements, `y[k] = sum(x * exp(-2i * pi * (k - 1) * (seq_len(n) - 1) / n))`,
#' as R's [fft()] does of a vector and [mvfft()] of each column. `nv_ifft()` is its inverse: the same with the other
#' sign, divided by `n`, which R's `fft(inverse = TRUE)` is not. `nv_rfft()` gives the first `n %/% 2 + 1` elements
#' of the transform of real numbers, of which the others are the conjugates, in half the time; `nv_irfft()` is its
#' inverse.
#'
#' `nv_fft2()` and `nv_ifft2()` transform along two axes, one after the other, as R's `fft()` does of a matrix.
#'
#' Any length is transformed in time of order `n log(n)`; powers of 2, and products of small primes, are fastest.
#' R's own `fft()` reads a tensor as a vector: see [base-functions].
#'
#' @param operand A tensor, a traced value, or an R number or array, with at least one axis: of any dtype for
#'   `nv_fft()`, `nv_ifft()`, `nv_irfft()` and those of two axes, real for `nv_rfft()`.
#' @param axis The axis that is transformed, from 1; negative ones count from the end. By default the last.
#' @param n For `nv_irfft()`, the length of the result: with `m` elements `2 * (m - 1)`, the default, or
#'   `2 * m - 1`.
#' @param axes Two axes.
#' @return A tensor of `operand`'s shape, of `c64` or `c128`; `nv_rfft()` has `n %/% 2 + 1` elements along the
#'   axis. Of `nv_irfft()`, a tensor of `f32` or `f64` with `n` elements along the axis; imaginary parts of the
#'   first element, and of the last if `n` is even, are taken as 0. Ambiguous if the operand is.
#' @section Properties:
#' * Dtypes:
#'     * `nv_fft()`, `nv_ifft()` and `nv_irfft()`: Complex numbers (`c64`, `c128`); real numbers become
#'       complex ones, floats of 32 bits and more their parts.
#'     * `nv_rfft()`: Floats (`bf16`, `f16`, `f32`, `f64`); 16-bit floats, integers and booleans are promoted
#'       to `f32`.
#' * Accuracy: Computed in the precision of the operand: in relation to the largest elements, the error is a
#'   few roundings for each factor of the length.
#' * Derivative: Differentiable, linear in `operand`.
#' @section Errors: `anvil_error_axis` for an axis out of range, `anvil_error_arg` for several axes or an `n` that
#'   does not fit, `anvil_error_shape` for `nv_rfft()` of an axis of size 0, `anvil_error_dtype` for `nv_rfft()` of
#'   complex numbers.
#' @seealso [nv_convolve()]
#' @examples
#' x <- nv_tensor(c(1, 2, 3, 4))
#' nv_fft(x)
#' nv_ifft(nv_fft(x))
#' nv_rfft(x)
#' nv_irfft(nv_rfft(x), n = 4)
#' nv_fft2(nv_matrix(1:6, nrow = 2))
#' @name nv_fft
NULL

#' @rdname nv_fft
#' @export
nv_fft <- function(operand, axis = -1L) {
  .External(anvil_op, "fft", operand, axis = axis)
}

#' @rdname nv_fft
#' @export
nv_ifft <- function(operand, axis = -1L) {
  .External(anvil_op, "ifft", operand, axis = axis)
}

#' @rdname nv_fft
#' @export
nv_rfft <- function(operand, axis = -1L) {
  .External(anvil_op, "rfft", operand, axis = axis)
}

#' @rdname nv_fft
#' @export
nv_irfft <- function(operand, axis = -1L, n = NULL) {
  .External(anvil_op, "irfft", operand, axis = axis, n = n)
}

#' @rdname nv_fft
#' @export
nv_fft2 <- function(operand, axes = c(-2L, -1L)) {
  .External(anvil_op, "fft2", operand, axes = axes)
}

#' @rdname nv_fft
#' @export
nv_ifft2 <- function(operand, axes = c(-2L, -1L)) {
  .External(anvil_op, "ifft2", operand, axes = axes)
}
