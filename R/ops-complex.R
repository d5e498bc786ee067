#' Complex numbers from their parts
#'
#' @param re,im Real and imaginary part: tensors or traced values of floats, or R numbers or arrays. They are
#'   promoted to their common dtype, 16-bit floats and integers to `f32`; shapes must be equal, or one
#'   operand a single number, or 1-d and as long as the first axes of the other, see [nv_broadcast_to()].
#' @return A tensor of dtype `c64` from `f32` and of `c128` from `f64`, and of the shape with the most axes;
#'   ambiguous if both parts are.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`); 16-bit floats, integers and booleans are promoted to `f32`.
#' * Accuracy: Results are exact.
#' * Derivative: Differentiable, linear in `re` and `im` together.
#' @section Errors: `anvil_error_dtype` for complex operands, `anvil_error_shape` with both shapes if they
#' do not meet so.
#' @seealso [nv_real()], [nv_imag()], [nv_abs()], [nv_arg()], [nv_conj()]; `Re()`, `Im()`, `Mod()`, `Arg()`
#'   and `Conj()` do the same on tensors.
#' @examples
#' nv_complex(nv_tensor(c(1, 2)), 1)
#' @export
nv_complex <- function(re, im) .External(anvil_op, "complex", re, im)
