#' Cholesky decomposition
#'
#' The triangular factor of symmetric (of complex ones: Hermitian) positive definite matrices: `l` with
#' `l %*% t(l)` the matrix, or its transpose, which is what `chol()` gives. One triangle of the matrix is
#' read: the lower one for the lower factor, the upper one for the upper factor; the other may hold anything.
#'
#' A matrix that is not positive definite has no factor. A program cannot branch on that, so all elements of
#' the result are NaN then; called on tensors outside of a program, `nv_chol()` also warns, with the number of
#' the first column whose pivot is not positive.
#'
#' @param operand,x A tensor, traced value or R matrix of shape `(b..., n, n)`: floats or complex numbers;
#'   integers and booleans become floats. Leading axes are a batch.
#' @param lower Whether the factor is the lower one.
#' @param ... Not used.
#' @return A tensor of the shape and dtype of the operand, with zeros in the other triangle.
#' @section Gradients: That of a symmetric matrix of which one triangle is read: elements of the other one
#'   have the gradient 0, and those beside the diagonal count twice.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`) and complex numbers (`c64`, `c128`); integers and booleans
#'   are promoted to an ambiguous `f32`.
#' * Accuracy: Backward stable: the product of the factors is the matrix up to a small multiple of its rows
#'   times the rounding error.
#' * Derivative: Differentiable with respect to `operand`.
#' @section Errors: `anvil_error_shape` if the operand has fewer than 2 axes or its matrices are not square;
#'   `anvil_error_dtype`.
#' @references I. Murray, *Differentiation of the Cholesky decomposition* (2016).
#' @seealso [nv_triangular_solve()], [nv_solve()]
#' @examples
#' x <- nv_matrix(c(4, 2, 2, 3), nrow = 2)
#' nv_chol(x)
#' chol(x)
#' @export
nv_chol <- function(operand, lower = TRUE) {
  check_flag("lower", lower)
  out <- .External(anvil_op, "chol", operand, lower = lower)
  bad <- function(x) first_bad_pivot(x, lower)
  warn_of_bad(out, operand, "is not positive definite", "is not positive", bad)
}

#' @rdname nv_chol
#' @export
chol.AnvilValue <- function(x, ...) {
  check_dots(...)
  nv_chol(number_as_matrix(x), lower = FALSE)
}

# The size of the smallest leading block that has no Cholesky factor: all larger ones have none either.
first_bad_pivot <- function(x, lower) {
  fails <- function(k) {
    anyNA(as_array(.External(anvil_op, "chol", x[seq_len(k), seq_len(k), drop = FALSE], lower = lower)))
  }
  low <- 0L
  high <- nrow(x)
  while (high - low > 1L) {
    k <- (low + high) %/% 2L
    if (fails(k)) high <- k else low <- k
  }
  high
}

# The conjugate transpose of the last two axes.
adjoint <- function(x) {
  out <- swap_last(x)
  if (is_complex_value(out)) nv_conj(out) else out
}

swap_last <- function(x) {
  rank <- ndims(x)
  if (rank < 2L) return(x)
  nv_transpose(x, c(seq_len(rank - 2L), rank, rank - 1L))
}

# Whether a value may hold NaN.
is_inexact <- function(x) grepl("^(bf|f|c)", as.character(dtype(x)))

is_complex_value <- function(x) as.character(dtype(x)) %in% c("c64", "c128")

#' Equations with a triangular matrix
#'
#' `x` with `a %*% x = b`, for triangular matrices `a`, of which one triangle is read; [backsolve()] and
#' [forwardsolve()] are the same.
#'
#' A zero on the diagonal gives infinite or undefined elements, as division by zero does.
#'
#' @param a A tensor, traced value or R matrix of shape `(b..., n, n)`: floats or complex numbers; integers
#'   and booleans become floats. Leading axes are a batch.
#' @param b Right-hand sides, of shape `(b..., n, m)`, or `(b..., n)` for vectors. Both are promoted to their
#'   common dtype.
#' @param lower Whether the lower triangle is read, else the upper one.
#' @param unit_diagonal Whether the diagonal is not read, but taken as 1.
#' @param adjoint Whether the equation is one of the transpose of `a` (of complex matrices the conjugate
#'   transpose).
#' @return A tensor of the shape of `b`.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`) and complex numbers (`c64`, `c128`); integers and booleans
#'   are promoted to an ambiguous `f32`.
#' * Accuracy: Backward stable: the result solves an equation whose matrix differs by a small multiple of its
#'   rows times the rounding error.
#' * Derivative: Differentiable with respect to `a` and `b`.
#' @section Errors: `anvil_error_shape` if `a` has no square matrices or the shapes do not fit;
#'   `anvil_error_dtype`.
#' @seealso [nv_chol()], [nv_solve()]
#' @examples
#' l <- nv_chol(nv_matrix(c(4, 2, 2, 3), nrow = 2))
#' nv_triangular_solve(l, c(2, 1))
#' @export
nv_triangular_solve <- function(a, b, lower = TRUE, unit_diagonal = FALSE, adjoint = FALSE) {
  .External(
    anvil_op, "solve_triangular", a, b, lower = lower, unit_diagonal = unit_diagonal, adjoint = adjoint
  )
}

#' LU decomposition
#'
#' Factors of matrices with rows exchanged, by Gaussian elimination with row exchanges (partial pivoting):
#' `a[permutation, ]` is `l %*% u`.
#'
#' @param operand A tensor, traced value or R matrix of shape `(b..., m, n)`: floats or complex numbers;
#'   integers and booleans become floats. Leading axes are a batch.
#' @param a,lu,permutation For `nv_lu_solve()`: square matrices, and what `nv_lu()` gave for them. In
#'   derivatives `a` moves and the factors follow it.
#' @param b Right-hand sides, of shape `(b..., n, m)` and the dtype of `a`.
#' @param adjoint Whether the equation is one of the transpose of `a` (of complex matrices the conjugate
#'   transpose).
#' @return `nv_lu()`: a list of `lu`, with `u` on and above the diagonal and `l` below it, whose diagonal is
#'   1; `pivots`, i32 of shape `(b..., min(m, n))`: the row that each row was exchanged with, one after the
#'   other; and `permutation`, i32 of shape `(b..., m)`: the order of rows that this makes. Rows count from 1.
#'   A column without an element other than 0 leaves a 0 on the diagonal of `u`.
#'
#'   `nv_lu_solve()`: `x` with `a %*% x = b`, as [nv_solve()], for factors that are used several times.
#' @section Properties:
#' * Dtypes:
#'     * `nv_lu()`: Floats (`bf16`, `f16`, `f32`, `f64`) and complex numbers (`c64`, `c128`); integers and
#'       booleans are promoted to an ambiguous `f32`.
#'     * `nv_lu_solve()`: `a`, `lu` and `b`: floats (`bf16`, `f16`, `f32`, `f64`) and complex numbers (`c64`,
#'       `c128`); `permutation`: integers.
#' * Accuracy: Backward stable in practice, as Gaussian elimination with row exchanges is.
#' * Derivative:
#'     * `nv_lu()`: Differentiable with respect to `operand`.
#'     * `nv_lu_solve()`: Differentiable with respect to `a`, `lu` and `b`.
#' @section Errors: `anvil_error_shape` if an operand has fewer than 2 axes, or shapes do not fit;
#'   `anvil_error_dtype`.
#' @seealso [nv_solve()]
#' @examples
#' a <- nv_matrix(c(1, 3, 2, 4), nrow = 2)
#' f <- nv_lu(a)
#' f
#' nv_lu_solve(a, f$lu, f$permutation, nv_matrix(c(1, 0), ncol = 1))
#' @export
nv_lu <- function(operand) {
  out <- .External(anvil_ops, "lu", operand)
  list(lu = out[[1L]], pivots = out[[2L]] + 1L, permutation = out[[3L]] + 1L)
}

#' @rdname nv_lu
#' @export
nv_lu_solve <- function(a, lu, permutation, b, adjoint = FALSE) {
  .External(anvil_op, "lu_solve", a, lu, permutation, b, adjoint = adjoint)
}

#' QR decomposition
#'
#' Matrices as products of `q`, whose columns are orthonormal, and the upper triangular `r`, by Householder
#' reflectors. As with LAPACK the diagonal of `r` is real and may be negative.
#'
#' `qr()`, `qr.Q()`, `qr.R()`, `qr.coef()`, `qr.solve()` and their like take tensors, see [base-functions].
#'
#' @param operand A tensor, traced value or R matrix of shape `(b..., m, n)`: floats or complex numbers;
#'   integers and booleans become floats. Leading axes are a batch.
#' @param full Whether `q` is square. The full decomposition has no derivative, since columns beyond the
#'   smaller side are not unique.
#' @return A list of `q`, of shape `(b..., m, k)`, and `r`, of shape `(b..., k, n)`, with `k = min(m, n)`, or
#'   `k = m` if `full`.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`) and complex numbers (`c64`, `c128`); integers and booleans
#'   are promoted to an ambiguous `f32`.
#' * Accuracy: Backward stable (Householder reflectors): `q` is orthonormal, and the product of both is the
#'   matrix, up to a small multiple of its rows times the rounding error.
#' * Derivative: Differentiable with respect to `operand`. Not for all arguments: the full QR decomposition is
#'   not unique, so only `full = FALSE` has a derivative.
#' @section Errors: `anvil_error_shape` if the operand has fewer than 2 axes; `anvil_error_dtype`.
#' @seealso [nv_lstsq()]
#' @examples
#' x <- nv_matrix(c(1, 2, 3, 4, 5, 7), nrow = 3)
#' f <- nv_qr(x)
#' f$q %*% f$r
#' @export
nv_qr <- function(operand, full = FALSE) {
  out <- .External(anvil_ops, "qr", operand, full = full)
  setNames(out, c("q", "r"))
}

#' Eigenvalues and eigenvectors of symmetric matrices
#'
#' Of real symmetric, or complex Hermitian, matrices, of which the lower triangle is read; the other may hold
#' anything. Divide and conquer. `eigen(x, symmetric = TRUE)` is the same in descending order.
#'
#' Eigenvectors are unique up to their sign (complex ones up to a factor of size 1), and those of equal
#' eigenvalues up to a rotation.
#'
#' @param operand A tensor, traced value or R matrix of shape `(b..., n, n)`: floats or complex numbers;
#'   integers and booleans become floats. Leading axes are a batch.
#' @return `nv_eigh()`: a list of `values`, real, of shape `(b..., n)` and ascending, and `vectors`, of shape
#'   `(b..., n, n)`, whose columns are orthonormal. `nv_eigvalsh()`: the values. All elements are NaN if the
#'   matrix has elements that are not finite.
#' @section Gradients: Those of values exist wherever eigenvalues differ. Those of vectors are divided by the
#'   differences of eigenvalues: for equal ones they do not exist, and are infinite or NaN.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`) and complex numbers (`c64`, `c128`); integers and booleans
#'   are promoted to an ambiguous `f32`.
#' * Accuracy: Backward stable: eigenvalues are those of a matrix that differs by a small multiple of its rows
#'   times the rounding error, in relation to the largest one.
#' * Derivative: Differentiable with respect to `operand`. Not for all arguments: eigenvalues without vectors
#'   are an op of compiled programs.
#' @section Errors: `anvil_error_shape` if the operand has fewer than 2 axes or its matrices are not square;
#'   `anvil_error_dtype`.
#' @references M. Giles, *An extended collection of matrix derivative results for forward and reverse mode
#'   algorithmic differentiation* (2008).
#' @examples
#' x <- nv_matrix(c(2, 1, 1, 2), nrow = 2)
#' nv_eigh(x)
#' nv_eigvalsh(x)
#' @export
nv_eigh <- function(operand) {
  out <- .External(anvil_ops, "eigh", operand, vectors = TRUE)
  setNames(out, c("values", "vectors"))
}

# Of a traced value with vectors, which the program leaves out if nothing reads them: derivatives are rules of
# the op with all results.
#' @rdname nv_eigh
#' @export
nv_eigvalsh <- function(operand) {
  if (is_traced(operand)) return(nv_eigh(operand)$values)
  .External(anvil_op, "eigh", operand, vectors = FALSE)
}

# As nv_eigvalsh(): the same values outside of a program as in it.
singular_values <- function(operand) {
  if (is_traced(operand)) return(nv_svd(operand)$d)
  .External(anvil_op, "svd", operand, vectors = FALSE, full = FALSE)
}

#' Singular value decomposition
#'
#' Matrices as `u %*% diag(d) %*% t(v)` (of complex ones with the conjugate transpose of `v`), by divide and
#' conquer; values by differential quotients. `svd()` is the same. A program that uses the values alone does
#' not compute the vectors.
#'
#' Singular vectors are unique up to a common sign of their pairs (complex ones up to a factor of size 1), and
#' those of equal singular values up to a rotation.
#'
#' @param operand A tensor, traced value or R matrix of shape `(b..., m, n)`: floats or complex numbers;
#'   integers and booleans become floats. Leading axes are a batch.
#' @param full Whether `u` and `v` are square. Full matrices of vectors have no derivative, since those beyond
#'   the smaller side are not unique.
#' @return A list of `d`, real, of shape `(b..., k)` and descending, with `k = min(m, n)`; `u`, of shape
#'   `(b..., m, k)`; and `v`, of shape `(b..., n, k)`. All elements are NaN if the matrix has elements that
#'   are not finite.
#' @section Gradients: Those of values exist wherever singular values differ and are not 0. Those of vectors
#'   are divided by the differences of squares: for equal ones they do not exist, and are infinite or NaN.
#' @section Properties:
#' * Dtypes: Floats (`bf16`, `f16`, `f32`, `f64`) and complex numbers (`c64`, `c128`); integers and booleans
#'   are promoted to an ambiguous `f32`.
#' * Accuracy: Backward stable: singular values are those of a matrix that differs by a small multiple of its
#'   rows times the rounding error, in relation to the largest one.
#' * Derivative: Differentiable with respect to `operand`. Not for all arguments: singular values without
#'   vectors are an op of compiled programs; vectors beyond the smaller side are not unique, so only `full =
#'   FALSE` has a derivative.
#' @section Errors: `anvil_error_shape` if the operand has fewer than 2 axes; `anvil_error_dtype`.
#' @references J. Townsend, *Differentiating the singular value decomposition* (2016).
#'
#'   K. V. Fernando and B. N. Parlett, *Accurate singular values and differential qd algorithms* (1994).
#' @examples
#' x <- nv_matrix(c(1, 2, 3, 4, 5, 7), nrow = 3)
#' nv_svd(x)$d
#' @export
nv_svd <- function(operand, full = FALSE) {
  out <- .External(anvil_ops, "svd", operand, vectors = TRUE, full = full)
  setNames(out, c("d", "u", "v"))
}
