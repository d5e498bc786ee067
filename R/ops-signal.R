#' Discrete Fourier transforms
#'
#' `nv_fft()` gives, along an axis of `n` elements, `y[k] = sum(x * exp(-2i * pi * (k - 1) * (seq_len(n) - 1)
#' / n))`, as R's [fft()] does of a vector and [mvfft()] of each column. `nv_ifft()` is its inverse: the same
#' with the other sign, divided by `n`, which R's `fft(inverse = TRUE)` is not. `nv_rfft()` gives the first `n
#' %/% 2 + 1` elements of the transform of real numbers, of which the others are the conjugates, in half the
#' time; `nv_irfft()` is its inverse. `nv_fft()` of real numbers takes half the time, too, and in a program
#' the real part of an inverse is computed as `nv_irfft()` does where the program shows that nothing else is
#' there: see 'Fourier transforms' in [jit()].
#'
#' `nv_fft2()` and `nv_ifft2()` transform along two axes, one after the other, as R's `fft()` does of a
#' matrix.
#'
#' Any length is transformed in time of order `n log(n)`; powers of 2, and products of small primes, are
#' fastest. `fft()` transforms along all axes, as R's does: see [base-functions].
#'
#' @param operand A tensor, a traced value, or an R number or array, with at least one axis: of any dtype for
#'   `nv_fft()`, `nv_ifft()`, `nv_irfft()` and those of two axes, real for `nv_rfft()`.
#' @param axis The axis that is transformed, from 1; negative ones count from the end. By default the last.
#' @param n For `nv_irfft()`, the length of the result: with `m` elements `2 * (m - 1)`, the default, or
#'   `2 * m - 1`.
#' @param axes Two axes.
#' @return A tensor of `operand`'s shape, of `c64` or `c128`; `nv_rfft()` has `n %/% 2 + 1` elements along the
#'   axis. Of `nv_irfft()`, a tensor of `f32` or `f64` with `n` elements along the axis; imaginary parts of
#'   the first element, and of the last if `n` is even, are taken as 0. Ambiguous if the operand is.
#' @section Properties:
#' * Dtypes:
#'     * `nv_fft()` and `nv_ifft()`: Floats (`bf16`, `f16`, `f32`, `f64`) and complex numbers (`c64`, `c128`);
#'       16-bit floats, integers and booleans are promoted to `f32`.
#'     * `nv_rfft()`: Floats (`bf16`, `f16`, `f32`, `f64`); 16-bit floats, integers and booleans are promoted
#'       to `f32`.
#'     * `nv_irfft()`: Complex numbers (`c64`, `c128`); real numbers become complex ones, floats of 32 bits
#'       and more their parts.
#' * Accuracy: Computed in the precision of the operand: in relation to the largest elements, the error is a
#'   few roundings for each factor of the length.
#' * Derivative: Differentiable, linear in `operand`.
#' @section Errors: `anvil_error_axis` for an axis out of range, `anvil_error_arg` for several axes or an `n`
#'   that does not fit, `anvil_error_shape` for `nv_rfft()` of an axis of size 0, `anvil_error_dtype` for
#'   `nv_rfft()` of complex numbers.
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

#' Convolutions of many channels
#'
#' Slides a small kernel over one, two, three or more spatial axes, as the layers of neural networks do:
#' `result[n, w, f]` is the sum, over the places `t` in a window and over the channels `c`, of
#' `operand[n, w * stride + t * dilation, c] * kernel[t, c, f]`, with positions from 0. The kernel is not
#' turned around: [nv_convolve()] does that, for vectors.
#'
#' The operand is `(batch, spatial axes..., channels)`, the kernel `(window axes..., channels, features)`, the
#' result `(batch, spatial axes..., features)`: batch first and channels last, as in keras and Flax. An image
#' of height 28, width 28 and 3 colours is of shape `c(1, 28, 28, 3)`, 16 filters of 5 x 5 for it of shape
#' `c(5, 5, 3, 16)`. This is JAX's `conv_general_dilated()` with `dimension_numbers = ("NHWC", "HWIO",
#' "NHWC")`.
#'
#' @param operand A tensor, traced value or R array with at least 3 axes: a batch, spatial axes, channels.
#' @param kernel A tensor, traced value or R array with as many axes: those of a window, channels, features.
#'   Both are promoted to their common dtype.
#' @param stride How far apart windows are, for each spatial axis; one number is for all.
#' @param padding What the operand is continued with, by zeros: `"valid"` nothing, so that windows are within
#'   it; `"same"` as much that there are `ceiling(size / stride)` windows, the odd one after it; one whole
#'   number of zeros before and after; one for each spatial axis; or a matrix with a row for each spatial
#'   axis, and two columns, before and after. Negative numbers cut off elements.
#' @param dilation How far apart the elements of a window are, for each spatial axis.
#' @param operand_dilation How far apart elements of the operand are put, with zeros between them: a
#'   transposed convolution has its stride here.
#' @param groups How many groups channels and features are split into: features are sums over the channels of
#'   their own group, and the kernel has `1 / groups` of the operand's channels.
#' @return A tensor of the operands' common dtype and ambiguity; `i32` for booleans.
#' @section Properties:
#' * Dtypes: Integers (`i8` to `i64`, `ui8` to `ui64`), floats (`bf16`, `f16`, `f32`, `f64`) and complex
#'   numbers (`c64`, `c128`); booleans count as `i32`.
#' * Accuracy: Terms are summed in the dtype of the operands, of `bf16` and `f16` in `f32`, and blocks of a
#'   very long sum in double precision: the error grows with the number of terms.
#' * Derivative: Differentiable, linear in each of `operand` and `kernel`.
#' @section Errors: `anvil_error_shape` for operands with too few or different numbers of axes, or channels
#'   that do not fit, `anvil_error_arg` for the other arguments, `anvil_error_dtype`.
#' @seealso [nv_convolve()] for vectors, [nv_reduce_window()] for pooling.
#' @examples
#' x <- nv_tensor(array(1:6, c(1, 6, 1)), dtype = "f32")
#' nv_conv(x, array(c(1, -1), c(2, 1, 1)))
#' nv_conv(x, array(c(1, 1, 1), c(3, 1, 1)), stride = 2, padding = "same")
#' @export
nv_conv <- function(operand, kernel, stride = 1L, padding = "valid", dilation = 1L, operand_dilation = 1L,
                    groups = 1L) {
  sides <- sides_of(padding)
  .External(
    anvil_op, "conv", operand, kernel, stride = stride, padding = sides$padding, low = sides$low,
    high = sides$high, dilation = dilation, operand_dilation = operand_dilation, groups = groups
  )
}

# Padding as a word, or the amounts before and after each axis.
sides_of <- function(padding) {
  if (is.character(padding)) return(list(padding = padding))
  if (is.matrix(padding) && ncol(padding) == 2L) {
    return(list(low = c(padding[, 1L]), high = c(padding[, 2L])))
  }
  list(low = padding, high = padding)
}

#' Folds of windows, and pooling
#'
#' `nv_reduce_window()` gives the sum, product, largest or smallest element of each window of a tensor: of
#' `size` elements along each axis, `stride` apart, `dilation` from one element to the next. `nv_max_pool()`
#' and `nv_avg_pool()` do so along the spatial axes of a `(batch, spatial axes..., channels)` tensor, as
#' layers of neural networks do: the largest element and the mean.
#'
#' Beyond the tensor there is nothing: a window that is partly outside is a fold of the elements that are
#' there. One that is wholly outside is the fold of nothing: 0, 1, `-Inf` or `Inf`, of integers their smallest
#' or largest. Of elements that are equal, the first in R's order has the derivative of the largest and
#' smallest.
#'
#' @param operand A tensor, a traced value, or an R number, logical or array; no complex numbers for extremes.
#'   For pools with at least 3 axes.
#' @param fold `"sum"`, `"prod"`, `"max"` or `"min"`.
#' @param size How many elements a window has along each axis (of pools, each spatial axis); one number is for
#'   all.
#' @param stride How far apart windows are; of pools by default as far as they are large.
#' @param padding How far windows reach beyond the tensor, as in [nv_conv()]: `"valid"`, `"same"`, whole
#'   numbers, or a matrix with a row for each axis, and two columns.
#' @param dilation How far apart the elements of a window are.
#' @param count_padding Whether the mean is that of as many elements as a window has, with zeros for those
#'   beyond the tensor, rather than of those that are there.
#' @return A tensor of `operand`'s dtype and ambiguity, of as many elements along each axis as there are
#'   windows; booleans become `i32`. `nv_avg_pool()` makes floats of integers.
#' @section Properties:
#' * Dtypes: Integers (`i8` to `i64`, `ui8` to `ui64`), floats (`bf16`, `f16`, `f32`, `f64`) and complex
#'   numbers (`c64`, `c128`); booleans count as `i32`.
#' * Accuracy: Floats are summed and multiplied in double precision, one after the other, and rounded once.
#' * Derivative: Differentiable with respect to `operand`.
#' @section Errors: `anvil_error_arg` for arguments that are none, `anvil_error_shape` for pools of fewer than
#'   3 axes, `anvil_error_dtype`.
#' @seealso [nv_conv()], [nv_cumsum()]
#' @examples
#' x <- nv_tensor(c(3, 1, 4, 1, 5, 9))
#' nv_reduce_window(x, "max", size = 2)
#' nv_reduce_window(x, "sum", size = 3, padding = "same")
#' image <- nv_tensor(array(1:16, c(1, 4, 4, 1)), dtype = "f32")
#' nv_max_pool(image, 2)
#' nv_avg_pool(image, 2)
#' @export
nv_reduce_window <- function(operand, fold, size, stride = 1L, padding = "valid", dilation = 1L) {
  sides <- sides_of(padding)
  .External(
    anvil_op, "reduce_window", operand, fold = fold, size = size, stride = stride, padding = sides$padding,
    low = sides$low, high = sides$high, dilation = dilation
  )
}

#' @rdname nv_reduce_window
#' @export
nv_max_pool <- function(operand, size, stride = NULL, padding = "valid", dilation = 1L) {
  sides <- sides_of(padding)
  .External(
    anvil_op, "max_pool", operand, size = size, stride = stride, padding = sides$padding, low = sides$low,
    high = sides$high, dilation = dilation
  )
}

#' @rdname nv_reduce_window
#' @export
nv_avg_pool <- function(operand, size, stride = NULL, padding = "valid", dilation = 1L,
                        count_padding = FALSE) {
  sides <- sides_of(padding)
  .External(
    anvil_op, "avg_pool", operand, size = size, stride = stride, padding = sides$padding, low = sides$low,
    high = sides$high, dilation = dilation, count_padding = count_padding
  )
}

#' Convolution of vectors
#'
#' The sums of products of two vectors, one of which slides along the other. Types `"full"`, `"same"` and
#' `"valid"` are the modes of NumPy's `convolve()`: of `n` and `m` elements all `n + m - 1` sums, the middle
#' ones, as many as the longer vector has, and those in which all of the shorter vector takes part. Types
#' `"open"`, `"filter"` and `"circular"` are those of R's [convolve()], which takes the second vector
#' backwards, and its conjugate: `nv_convolve(x, y, "open")` is `nv_convolve(x, rev(y), "full")`, `"filter"`
#' its middle, and `"circular"` goes on at the beginning.
#'
#' Long vectors of floats and complex numbers are convolved by Fourier transforms, whose errors are in
#' relation to the largest sums, and which spread a NaN; short ones, and integers, by their products.
#'
#' @param x,y Tensors, traced values or R vectors with one axis and at least one element, promoted to their
#'   common dtype.
#' @param type One of the six types.
#' @return A 1-d tensor of the operands' common dtype and ambiguity; `i32` for booleans.
#' @section Errors: `anvil_error_shape` for operands with several axes or no elements, and for lengths that do
#'   not fit, `anvil_error_arg` for a type that is none.
#' @seealso [nv_conv()] for several axes and channels, [nv_fft()]
#' @examples
#' nv_convolve(c(1, 2, 3), c(0, 1, 0.5))
#' nv_convolve(c(1, 2, 3), c(0, 1, 0.5), type = "same")
#' nv_convolve(1:3, c(0, 1, 0.5), type = "open")
#' @export
nv_convolve <- function(x, y, type = "full") {
  .External(anvil_op, "convolve", x, y, type = type)
}

#' Linear interpolation
#'
#' The values, at other places, of the function that is linear between points: R's [approx()], of points whose
#' `x` ascend, and NumPy's `interp()`, if `rule` is 2. It has derivatives in the points and in the places.
#'
#' @param x,y Vectors: where the points are, in ascending order, which is not checked, and their values. Of
#'   points with the same `x`, the last one holds.
#' @param xout Where the function is evaluated: a tensor of any shape.
#' @param rule What is beyond the first and the last point, as in [approx()]: 1 for NaN, 2 for the value of
#'   the point that is nearest; two numbers for both sides.
#' @return A tensor of the shape of `xout`, of the operands' common dtype: floats, which integers and booleans
#'   become.
#' @section Errors: `anvil_error_shape` for points with several axes, none, or as many `x` as not `y`,
#'   `anvil_error_arg` for another `rule`, `anvil_error_dtype` for complex numbers.
#' @seealso [nv_search_sorted()]
#' @examples
#' nv_interp(c(0, 1, 3), c(10, 20, 0), xout = c(-1, 0.5, 1, 2))
#' nv_interp(c(0, 1, 3), c(10, 20, 0), xout = c(-1, 0.5, 4), rule = 2)
#' @export
nv_interp <- function(x, y, xout, rule = 1L) {
  .External(anvil_op, "interp", x, y, xout, rule = rule)
}
