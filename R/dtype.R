#' Dtypes
#'
#' The type of a tensor's elements. A dtype is written as its name: `i1` (booleans), `i8`, `i16`, `i32`, `i64`
#' (signed integers), `ui8`, `ui16`, `ui32`, `ui64` (unsigned integers), `bf16`, `f16`, `f32`, `f64` (floats),
#' `c64`, `c128` (complex numbers of two `f32` or `f64`). Functions that take a dtype take its name or a dtype
#' object.
#'
#' `f16` is the half precision of IEEE 754, with a significand of 11 bits and numbers up to 65504; `bf16` has
#' the range of `f32` and a significand of 8 bits. Ops on both compute in `f32` and round the result once, to
#' the nearest number, ties to even.
#'
#' @param x For `as_dtype()`, a name or a dtype object; for `is_dtype()` any R object.
#' @return `as_dtype()` gives an object of class `AnvilDtype`, with the class of its kind before it
#'   (`BooleanType`, `IntegerType`, `UnsignedType`, `FloatType`, `BFloatType` for `bf16`, `ComplexType`) and
#'   the element `value`, the width in bits. It prints as `<FloatType: 32>`, `as.character()` gives the name,
#'   and `==` compares it with a dtype or a name. `is_dtype()` gives `TRUE` or `FALSE`.
#' @section Errors:
#' `anvil_error_dtype` for a string that names no dtype, `anvil_error_arg` for anything else.
#' @seealso [dtype()] for the dtype of a value, [common_dtype()] for promotion.
#' @examples
#' as_dtype("f32")
#' as.character(as_dtype("ui8"))
#' dtype(nv_scalar(1)) == "f32"
#' is_dtype("f32")
#' @export
as_dtype <- function(x) dtype_objects[[.Call(anvil_dtype_name, x)]]

#' @rdname as_dtype
#' @export
is_dtype <- function(x) inherits(x, "AnvilDtype")

# Of any width.
is_float <- function(dtype) inherits(dtype, c("FloatType", "BFloatType"))

# Whether tensors of it have derivatives.
is_differentiable <- function(dtype) is_float(dtype) || inherits(dtype, "ComplexType")

new_dtype <- function(name, class, bits) {
  structure(list(name = name, value = bits), class = c(class, "AnvilDtype"))
}

#' @export
format.AnvilDtype <- function(x, ...) {
  check_dots(..., .known = taken_by("format"))
  # By its name: its parts may have been changed.
  x <- as_dtype(x)
  if (inherits(x, "BooleanType")) "<BooleanType>" else paste0("<", class(x)[1L], ": ", unclass(x)$value, ">")
}

#' @export
print.AnvilDtype <- function(x, ...) {
  check_dots(..., .known = taken_by("print"))
  cat(format(x), "\n", sep = "")
  invisible(x)
}

#' @export
as.character.AnvilDtype <- function(x, ...) {
  check_dots(...)
  .Call(anvil_dtype_name, x)
}

#' @export
`==.AnvilDtype` <- function(e1, e2) identical(as_dtype(e1), as_dtype(e2))

#' @export
`!=.AnvilDtype` <- function(e1, e2) !identical(as_dtype(e1), as_dtype(e2))

# Without these methods, R would order and add the elements of the underlying list.
#' @export
Ops.AnvilDtype <- function(e1, e2) {
  unsupported(.Generic, "Dtypes are equal or not; `common_dtype()` gives their join.", "dtypes")
}

#' Dtype, shape and device of a value
#'
#' These work on tensors, on values that are being traced, and on abstract tensors. An R number, logical or
#' array has the type that it would have as an operand: a double is an ambiguous `f32`, an integer an
#' ambiguous `i32`, a complex number an ambiguous `c64`, a logical a known `i1`. An ambiguous `f32` or `c64`
#' has double precision nevertheless, see [common_dtype()].
#'
#' @param x A tensor, a traced value, an abstract tensor, or an R number, logical or array.
#' @return `dtype()` a dtype object, see [as_dtype()]; `shape()` the sizes of the axes, an integer
#'   vector that is empty for a 0-d value; `ndims()` their number; `ambiguous()` `TRUE` or `FALSE`; `device()`
#'   a string, now always `"cpu"`.
#' @section Errors:
#' `anvil_error_arg` for anything else.
#' @examples
#' x <- nv_tensor(array(1:6, c(2, 3)))
#' dtype(x)
#' shape(x)
#' ndims(x)
#' ambiguous(x)
#' ambiguous(nv_scalar(1))
#' device(x)
#' @export
dtype <- function(x) dtype_objects[[.Call(anvil_dtype, x)]]

#' @rdname dtype
#' @export
shape <- function(x) .Call(anvil_shape, x)

#' @rdname dtype
#' @export
ndims <- function(x) length(.Call(anvil_shape, x))

#' @rdname dtype
#' @export
ambiguous <- function(x) .Call(anvil_ambiguous, x)

#' @rdname dtype
#' @export
device <- function(x) {
  .Call(anvil_dtype, x)
  "cpu"
}

# There is one device; the argument is there for programs that name it.
check_device <- function(device) {
  if (!identical(device, "cpu")) abort_arg("device", "\"cpu\"", describe(device), "anvil runs on the CPU.")
}
