# Functions of the last two axes, which are those of matrices.

#' Diagonals
#'
#' `nv_diag()` makes a matrix with the elements of a vector on its diagonal, `nv_extract_diag()` gives the
#' diagonal of a matrix, `nv_trace()` its sum, `nv_eye()` the identity matrix.
#'
#' `diag(x)` is either, by the shape of `x`, as in R: see [base-functions].
#'
#' @param operand A tensor, a traced value, or an R array. The last axis, or the last two, are those of the
#'   vector or matrix; axes before these are a batch.
#' @param offset Which diagonal: 0 is that through the first element, positive numbers are above it, negative
#'   ones below.
#' @param axes The two axes of the matrix, from 1 or negative from the end.
#' @param n,m Numbers of rows and of columns.
#' @param dtype A dtype: its name, or a dtype object; `NULL` is the default float, see [default_dtypes()].
#' @param ambiguous Whether the result is ambiguous, see [common_dtype()].
#' @param device `"cpu"`.
#' @return `nv_diag()`: square matrices, `abs(offset)` larger than the vector is long, with zeros (`FALSE`)
#'   elsewhere. `nv_extract_diag()`: the diagonal along a last axis, after the axes that are no axes of the
#'   matrix. Both of `operand`'s dtype and ambiguity. `nv_trace()`: a tensor without the last two axes, as
#'   [nv_reduce_sum()] gives it.
#' @section Errors: `anvil_error_shape` for an operand with too few axes, `anvil_error_axis` for axes out of
#'   range or given twice, `anvil_error_arg` for an offset or size that is no whole number.
#' @seealso [nv_tril()]
#' @examples
#' nv_diag(nv_tensor(1:3))
#' nv_diag(nv_tensor(1:2), offset = 1)
#' x <- nv_tensor(matrix(1:6, 2))
#' nv_extract_diag(x)
#' nv_extract_diag(x, offset = 1)
#' nv_trace(x)
#' nv_eye(3)
#' nv_eye(2, 3, offset = -1, dtype = "i32")
#' @export
nv_diag <- function(operand, offset = 0L) .External(anvil_op, "diag", operand, offset = offset)

#' @rdname nv_diag
#' @export
nv_extract_diag <- function(operand, offset = 0L, axes = c(-2L, -1L)) {
  .External(anvil_op, "extract_diag", operand, offset = offset, axes = axes)
}

#' @rdname nv_diag
#' @export
nv_trace <- function(operand, offset = 0L) .External(anvil_op, "trace", operand, offset = offset)

#' @rdname nv_diag
#' @export
nv_eye <- function(n, m = n, offset = 0L, dtype = NULL, ambiguous = FALSE, device = "cpu") {
  check_device(device)
  for (arg in c("n", "m")) {
    size <- get(arg)
    if (!is_whole(size) || size < 0) abort_arg(arg, "a whole number, at least 0", describe(size))
  }
  dtype <- .Call(anvil_dtype_name, dtype %||% default_float())
  .External(anvil_op, "eye", shape = c(n, m), offset = offset, dtype = dtype, ambiguous = ambiguous)
}

#' Triangles of matrices
#'
#' `nv_tril()` keeps the elements on a diagonal and below it, `nv_triu()` those on it and above it; the others
#' are 0 (`FALSE`).
#'
#' Base R's `lower.tri(x)` and `upper.tri(x)` are masks, also of a traced value, of which they only need the
#' shape: `nv_ifelse(lower.tri(x), x, 0)`.
#'
#' @inheritParams nv_diag
#' @param operand A tensor, a traced value, or an R array. The last two axes are those of the matrix; axes
#'   before these are a batch.
#' @return A tensor of `operand`'s shape, dtype and ambiguity.
#' @section Errors: `anvil_error_shape` for an operand of fewer than 2 axes, `anvil_error_arg` for an offset
#'   that is no whole number.
#' @seealso [nv_diag()]
#' @examples
#' x <- nv_tensor(matrix(1:9, 3))
#' nv_tril(x)
#' nv_triu(x, offset = 1)
#' @export
nv_tril <- function(operand, offset = 0L) .External(anvil_op, "tril", operand, offset = offset)

#' @rdname nv_tril
#' @export
nv_triu <- function(operand, offset = 0L) .External(anvil_op, "triu", operand, offset = offset)

#' Outer and Kronecker products
#'
#' `nv_outer()` has the product of each element of the first with each element of the second, or what another
#' function makes of them. `nv_kronecker()` has, for each element of the first, the whole second times that
#' element.
#'
#' `kronecker(x, y)` is `nv_kronecker(x, y)`, and takes a function in the place of the product as in R;
#' `outer(x, y)` and `x %o% y` are `nv_outer(x, y)`; `outer(x, y, FUN)` calls a function of vectors, as in R:
#' see [base-functions]. Before R 4.3 `x %x% y` is `nv_kronecker(x, y)`, afterwards it is an R value.
#'
#' @param lhs,rhs Tensors, traced values, or R numbers or arrays. They are promoted to their common dtype.
#' @param f A function of two values of one shape, such as `nv_pow`, that works on each element.
#' @return `nv_outer()`: a tensor with the axes of `lhs`, then those of `rhs`. `nv_kronecker()`: a tensor
#'   whose sizes are the products of theirs; the one of fewer axes counts as having more of size 1 after its
#'   own, as in R. Ambiguous if both are.
#' @section Errors: `anvil_error_arg` for `f` that is no function of two arguments, and for `make.dimnames` of
#'   `kronecker()`.
#' @examples
#' nv_outer(nv_tensor(1:3), nv_tensor(1:4))
#' nv_outer(nv_tensor(c(1, 2, 3)), c(0, 1, 2), nv_pow)
#' nv_kronecker(nv_eye(2), nv_tensor(matrix(1:4, 2)))
#' @aliases kronecker kronecker,AnvilValue,AnvilValue-method kronecker,AnvilValue,ANY-method
#' @aliases kronecker,ANY,AnvilValue-method
#' @export
nv_outer <- function(lhs, rhs, f = NULL) {
  lhs <- as_operand(lhs)
  rhs <- as_operand(rhs)
  if (is.null(f)) return(.External(anvil_op, "outer", lhs, rhs))
  f <- match_function(f, "f")
  check_two_arguments(f, "f")
  values <- .External(anvil_ops, "outer_operands", lhs, rhs)
  f(values[[1L]], values[[2L]])
}

#' @rdname nv_outer
#' @export
nv_kronecker <- function(lhs, rhs) .External(anvil_op, "kronecker", as_operand(lhs), as_operand(rhs))

#' @importFrom methods kronecker
#' @exportMethod kronecker
for (signature in list(c("AnvilValue", "AnvilValue"), c("AnvilValue", "ANY"), c("ANY", "AnvilValue"))) {
  # nolint start: object_name_linter. As in R.
  setMethod("kronecker", signature, function(X, Y, FUN = "*", make.dimnames = FALSE, ...) {
    kronecker_values(X, Y, FUN, make.dimnames, ...)
  })
  # nolint end
}
rm(signature)

kronecker_values <- function(X, Y, FUN, make.dimnames, ...) { # nolint: object_name_linter. As in R.
  check_flag("make.dimnames", make.dimnames)
  if (make.dimnames) abort_arg("make.dimnames", "FALSE for tensors", "TRUE", "Give the result `dimnames()`.")
  if (...length() == 0L && (identical(FUN, "*") || identical(FUN, `*`))) return(nv_kronecker(X, Y))
  for (arg in c("X", "Y")) {
    if (!is_operand(get(arg))) {
      abort_arg(arg, "a tensor, or an R number, vector or array", describe(get(arg)))
    }
  }
  # As base R arranges what outer() gives: the axes of `Y` run within those of `X`.
  of_x <- dim(X) %||% length(X)
  of_y <- dim(Y) %||% length(Y)
  rank <- max(length(of_x), length(of_y))
  of_x <- base::c(of_x, rep(1L, rank - length(of_x)))
  of_y <- base::c(of_y, rep(1L, rank - length(of_y)))
  all <- outer.AnvilValue(shaped_as(X, of_x), shaped_as(Y, of_y), FUN, ...)
  nv_reshape(nv_transpose(all, as.vector(rbind(rank + seq_len(rank), seq_len(rank)))), of_x * of_y)
}

shaped_as <- function(x, sizes) if (is_value(x)) nv_reshape(x, sizes) else array(x, sizes)

#' Matrices of columns and rows
#'
#' `cbind()` and `rbind()` join tensors, traced values and R data as the columns or rows of a matrix, as they
#' do for R's vectors and matrices. One of them must be a tensor or a traced value.
#'
#' A vector is one column, or row, and is repeated to the length of the others; one that would be repeated in
#' part is an error, where R warns. Empty vectors, and `NULL`, are left out next to others. Dtypes are
#' promoted to their common one. Names of columns and rows are those that R gives.
#'
#' @param ... Tensors, traced values, or R numbers, logicals, vectors or matrices. Names become those of the
#'   columns or rows that vectors make.
#' @param deparse.level Which names vectors get that have none: with 0 none, with 1 that of a variable, with 2
#'   also the expression. See [cbind()].
#' @return A 2-d tensor.
#' @section Errors: `anvil_error_shape` for matrices with other numbers of rows (for `rbind()`, columns),
#'   vectors that do not fit, and tensors of more than 2 axes, which R would take for vectors;
#'   `anvil_error_arg` for anything else than data.
#' @seealso [nv_concatenate()] for joining along any axis, [nv_stack()] along a new one.
#' @examples
#' x <- nv_tensor(c(1, 2, 3))
#' cbind(x, x^2)
#' cbind(1, x)
#' rbind(nv_tensor(matrix(1:4, 2)), 0L)
#' jit(function(a, b) cbind(intercept = 1, a, b))(x, x + 1)
#' @name cbind
NULL

# R does not pass `deparse.level` on to methods: it is a variable of the function that calls them, if it is
# called as cbind().
#' @rdname cbind
#' @method cbind AnvilValue
#' @export
cbind.AnvilValue <- function(..., deparse.level = parent.frame()$deparse.level %||% 1) {
  bind_values("cbind", list_dots(...), substitute(list(...)), deparse.level)
}

#' @rdname cbind
#' @method rbind AnvilValue
#' @export
rbind.AnvilValue <- function(..., deparse.level = parent.frame()$deparse.level %||% 1) {
  bind_values("rbind", list_dots(...), substitute(list(...)), deparse.level)
}

bind_values <- function(how, values, given, level) {
  # methods::cbind2() of R 4.5 passes -1, which means 0.
  if (identical(level, -1L)) level <- 0
  if (!is_whole(level) || !level %in% 0:2) {
    abort_arg("deparse.level", "0, 1 or 2", describe(level))
  }
  if (do.call(any_selection, unname(values), quote = TRUE)) return(bind_selections(how, values))
  given <- as.list(given)[-1L]
  kept <- !vapply(values, is.null, NA)
  values <- values[kept]
  for (i in seq_along(values)) {
    if (is_operand(values[[i]])) next
    expected <- "a tensor, or an R number, logical, vector or matrix"
    abort_arg(paste0("..", which(kept)[i]), expected, describe(values[[i]]))
  }
  out <- .External(anvil_op, how, operands = unname(lapply(values, as_operand)))
  # `...` of a caller has no expressions.
  if (length(given) != length(kept)) given <- rep(list(NULL), length(kept))
  names <- bound_names(how, values, given[kept], level, dim(out))
  if (!is.null(names)) dimnames(out) <- names
  out
}

# The names that base R gives, from values of no elements but their names: of one row (or column) unless rows
# have names.
bound_names <- function(how, values, given, level, sizes) {
  across <- if (how == "cbind") 1L else 2L
  named <- function(x) if (length(dim(x)) == 2L) !is.null(dimnames(x)[[across]]) else !is.null(names(x))
  whole <- any(vapply(values, named, NA))
  length <- if (whole) sizes[across] else min(sizes[across], 1L)
  labels <- names(values) %||% character(length(values))
  stand_in <- function(x) {
    if (length(dim(x)) != 2L) {
      size <- if (whole) length(x) else min(length(x), length)
      return(structure(logical(size), names = if (whole) names(x)))
    }
    size <- dim(x)
    size[across] <- length
    names <- dimnames(x)
    if (!whole && !is.null(names)) names[across] <- list(NULL)
    array(FALSE, size, names)
  }
  arguments <- lapply(values, stand_in)
  plain <- vapply(values, function(x) length(dim(x)) != 2L, NA)
  for (i in which(plain & labels == "")) {
    x <- given[[i]]
    if (level == 1 && is.symbol(x)) labels[i] <- as.character(x)
    if (level == 2 && !is.null(x)) labels[i] <- deparse_short(x)
  }
  names(arguments) <- labels
  dimnames(do.call(get(how, baseenv()), c(arguments, list(deparse.level = 0))))
}

# As cbind() writes expressions: those of more than 10 characters are cut.
deparse_short <- function(x) {
  text <- deparse(x, control = NULL)[1L]
  if (nchar(text) > 10L) paste0(substr(text, 1L, 10L), "...") else text
}
