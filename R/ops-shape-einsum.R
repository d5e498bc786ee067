# Sums of products over named axes.

#' Einstein sums
#'
#' `nv_einsum()` multiplies any number of tensors and sums over axes, as an equation says. It is the general
#' form of matrix products, traces, diagonals, transposes, outer products and sums.
#' `nv_tensordot()` sums the product of two tensors over pairs of axes.
#'
#' An equation has a term for each operand, separated by commas, then `->` and the term of the result:
#' `"ij,jk->ik"` is the product of two matrices. Each letter, `a` to `z` and `A` to `Z`, names an axis; axes
#' with one name have one size. The result has the axes in its term, and is summed over all others.
#' * A letter twice in one term is the diagonal: `"ii->i"`, and `"ii->"` is the trace.
#' * `...` stands for axes without a letter, aligned from the last, of which those of size 1 are repeated:
#'   `"...ij,...jk->...ik"` are products of batches of matrices. The result must have them, if there are any.
#' * Without `->` the result has the axes under `...`, then the letters that occur once, in the order of the
#'   alphabet, upper case first.
#' * White space means nothing.
#'
#' Several operands are contracted in pairs, in an order that costs the fewest multiplications; of more than 9
#' operands one pair after the other, that whose product adds the fewest elements. The order is chosen from
#' the shapes, once for a program.
#'
#' Operands are promoted to their common dtype, in which booleans count as `i32`. Sums are those of
#' [nv_dot_general()].
#'
#' @param equation The equation: one string.
#' @param ... Tensors, traced values or R numbers or arrays, one for each term.
#' @param lhs,rhs Tensors, traced values or R arrays.
#' @param axes How many axes are summed over: so many of the last of `lhs` and of the first of `rhs`; or a
#'   list of two vectors of axes, from 1 or negative from the end, which are paired in order.
#' @return A tensor of the common dtype and ambiguity. For `nv_tensordot()` its axes are the others of
#'   `lhs`, then the others of `rhs`.
#' @section Errors: `anvil_error_arg` for an equation that does not parse, or has another number of terms or
#'   of letters than there are operands and axes; its message points at the character, whose number is in the
#'   field `position`. `anvil_error_shape` for axes of one name and two sizes. For `nv_tensordot()` also
#'   `anvil_error_axis` for axes out of range or given twice.
#' @seealso [nv_matmul()], [nv_dot_general()]
#' @examples
#' x <- nv_tensor(matrix(1:6, 2))
#' nv_einsum("ij,kj->ik", x, x)
#' nv_einsum("ij->j", x)
#' nv_einsum("i,ij,j", c(1, 2), x, c(1, 0, 1))
#' try(nv_einsum("ij,j1->i", x, x))
#' nv_tensordot(x, x, list(1, 1))
#' @export
nv_einsum <- function(equation, ...) {
  check_dots(..., .values = TRUE)
  .External(anvil_op, "einsum", operands = lapply(list(...), as_operand), equation = equation)
}

#' @rdname nv_einsum
#' @export
nv_tensordot <- function(lhs, rhs, axes = 2L) .External(anvil_op, "tensordot", lhs, rhs, axes = axes)
