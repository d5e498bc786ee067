# Functions of base R and stats on matrices and signals, see base-generics.R.

# nolint start: object_name_linter. Names are those of R.

#' @export det
det <- function(x, ...) UseMethod("det", among(x))

#' @method det AnvilValue
#' @export
det.AnvilValue <- function(x, ...) {
  check_dots(...)
  nv_det(x)
}

#' @export solve
solve <- function(a, b, ...) UseMethod("solve", among(a, b))

#' @export svd
svd <- function(x, nu, nv, ...) UseMethod("svd", among(x))

#' @method svd AnvilValue
#' @export
svd.AnvilValue <- function(x, nu = NULL, nv = NULL, ...) {
  check_dots(...)
  x <- number_as_matrix(x)
  if (ndims(x) == 1L) x <- nv_reshape(x, c(length(x), 1L))
  if (ndims(x) != 2L) abort_arg("x", "a matrix", shown_shape(x))
  k <- min(dim(x))
  nu <- nu %||% k
  nv <- nv %||% k
  for (arg in c("nu", "nv")) {
    count <- get(arg)
    if (is_whole(count) && count >= 0 && count <= k) next
    abort_arg(arg, paste("a whole number from 0 to", k), describe(count))
  }
  if (!nu && !nv) return(list(d = singular_values(x)))
  out <- nv_svd(x)
  if (nu < k) out$u <- if (nu) out$u[, seq_len(nu), drop = FALSE]
  if (nv < k) out$v <- if (nv) out$v[, seq_len(nv), drop = FALSE]
  out
}

#' @export eigen
eigen <- function(x, symmetric, only.values = FALSE, ...) {
  UseMethod("eigen", among(x))
}

#' @method eigen AnvilValue
#' @export
eigen.AnvilValue <- function(x, symmetric = NULL, only.values = FALSE, ...) {
  check_dots(..., .known = "EISPACK")
  check_flag("only.values", only.values)
  x <- number_as_matrix(x)
  if (ndims(x) != 2L || nrow(x) != ncol(x)) abort_arg("x", "a square matrix", shown_shape(x))
  if (nrow(x) == 1L) symmetric <- TRUE
  if (is.null(symmetric) && !is_traced(x)) symmetric <- isSymmetric(as_array(x))
  if (!isTRUE(symmetric)) {
    if (!is_traced(x)) return(by_base(base::eigen(as_array(x), symmetric, only.values)))
    abort_arg(
      "symmetric", "TRUE in a traced function", if (is.null(symmetric)) "left out" else describe(symmetric),
      paste(
        "There is no op for matrices that are not symmetric. Of one that is, write `eigen(x, symmetric =",
        "TRUE)`."
      )
    )
  }
  # R's come in descending order.
  if (only.values) return(list(values = nv_reverse(nv_eigvalsh(x), 1L), vectors = NULL))
  out <- nv_eigh(x)
  list(values = nv_reverse(out$values, 1L), vectors = nv_reverse(out$vectors, 2L))
}

#' @method qr AnvilValue
#' @export
qr.AnvilValue <- function(x, ...) {
  # Functions of packages see R's own qr.coef() and its like, and the parts that R's factorisation has.
  if (!is_traced(x) && identical(get("qr.coef", parent.frame(), mode = "function"), base::qr.coef)) {
    return(base::qr(as_array(x), ...))
  }
  check_dots(..., .known = c("tol", "LAPACK"))
  if (ndims(x) < 2L) x <- nv_reshape(x, c(length(x), 1L))
  if (ndims(x) != 2L) abort_arg("x", "a matrix or a vector", shown_shape(x))
  rank <- if (is_traced(x)) nv_rank(x) else by_base(base::qr(as_array(x))$rank)
  structure(c(nv_qr(x), list(rank = rank, pivot = seq_len(ncol(x)), x = x)), class = c("AnvilQr", "qr"))
}

# R's factorisation has its numbers in a form of its own, where this one would have none.
#' @export
`$.AnvilQr` <- function(x, name) {
  if (!name %in% c("qr", "qraux")) return(.subset2(x, name))
  hint <- paste(
    "Its upper triangle is `qr.R(f)`, and `ncol(qr.R(f))` its number of columns; of R's matrix,",
    "`qr(as_array(x))`, it is there."
  )
  parts <- "`q`, `r`, `rank`, `pivot` or `x` of what `qr()` gives for a tensor"
  abort_arg("name", parts, paste0("`", name, "`"), hint)
}

#' @export qr.Q
qr.Q <- function(qr, complete = FALSE, Dvec) UseMethod("qr.Q", among(qr))

#' @method qr.Q AnvilQr
#' @export
qr.Q.AnvilQr <- function(qr, complete = FALSE, Dvec = NULL) {
  check_flag("complete", complete)
  if (!is.null(Dvec)) abort_arg("Dvec", "left out for tensors", describe(Dvec))
  if (complete) nv_qr(qr$x, full = TRUE)$q else qr$q
}

#' @export qr.R
qr.R <- function(qr, complete = FALSE, ...) UseMethod("qr.R", among(qr))

#' @method qr.R AnvilQr
#' @export
qr.R.AnvilQr <- function(qr, complete = FALSE, ...) {
  check_dots(...)
  check_flag("complete", complete)
  if (complete) nv_qr(qr$x, full = TRUE)$r else qr$r
}

#' @export qr.X
qr.X <- function(qr, complete = FALSE, ncol) UseMethod("qr.X", among(qr))

#' @method qr.X AnvilQr
#' @export
qr.X.AnvilQr <- function(qr, complete = FALSE, ncol = NULL) {
  if (!isFALSE(complete)) abort_arg("complete", "FALSE for tensors", describe(complete))
  if (is.null(ncol)) qr$x else qr$x[, seq_len(ncol), drop = FALSE]
}

# R looks at the right side after it has seen a decomposition.
among_qr <- function(qr, y) if (!missing(qr) && is.object(qr)) among(qr, y)

#' @export qr.coef
qr.coef <- function(qr, y) UseMethod("qr.coef", among_qr(qr, y))

#' @method qr.coef AnvilQr
#' @export
qr.coef.AnvilQr <- function(qr, y) {
  if (nrow(qr$x) < ncol(qr$x)) {
    abort_arg("qr", "of a matrix of as many rows as columns, or more", shown_shape(qr$x))
  }
  out <- with_columns(y, function(y) nv_triangular_solve(qr$r, cross(qr$q, y), lower = FALSE))
  # Coefficients have the names of the columns, as in R.
  with_names(unname(out), if (ndims(out) == 2L) list(colnames(qr$x), colnames(y)) else list(colnames(qr$x)))
}

#' @method qr.coef AnvilValue
#' @export
qr.coef.AnvilValue <- function(qr, y) qr.coef.AnvilQr(qr_of(qr), y)

#' @export qr.fitted
qr.fitted <- function(qr, y, k) UseMethod("qr.fitted", among_qr(qr, y))

#' @method qr.fitted AnvilQr
#' @export
qr.fitted.AnvilQr <- function(qr, y, k = NULL) {
  q <- if (is.null(k)) qr$q else qr$q[, seq_len(k), drop = FALSE]
  with_columns(y, function(y) product(q, cross(q, y)))
}

#' @method qr.fitted AnvilValue
#' @export
qr.fitted.AnvilValue <- function(qr, y, k = NULL) qr.fitted.AnvilQr(qr_of(qr), y, k)

#' @export qr.resid
qr.resid <- function(qr, y) UseMethod("qr.resid", among_qr(qr, y))

#' @method qr.resid AnvilQr
#' @export
qr.resid.AnvilQr <- function(qr, y) y - qr.fitted.AnvilQr(qr, y)

#' @method qr.resid AnvilValue
#' @export
qr.resid.AnvilValue <- function(qr, y) qr.resid.AnvilQr(qr_of(qr), y)

#' @export qr.qty
qr.qty <- function(qr, y) UseMethod("qr.qty", among_qr(qr, y))

#' @method qr.qty AnvilQr
#' @export
qr.qty.AnvilQr <- function(qr, y) with_columns(y, function(y) cross(nv_qr(qr$x, full = TRUE)$q, y))

#' @method qr.qty AnvilValue
#' @export
qr.qty.AnvilValue <- function(qr, y) qr.qty.AnvilQr(qr_of(qr), y)

#' @export qr.qy
qr.qy <- function(qr, y) UseMethod("qr.qy", among_qr(qr, y))

#' @method qr.qy AnvilQr
#' @export
qr.qy.AnvilQr <- function(qr, y) with_columns(y, function(y) product(nv_qr(qr$x, full = TRUE)$q, y))

#' @method qr.qy AnvilValue
#' @export
qr.qy.AnvilValue <- function(qr, y) qr.qy.AnvilQr(qr_of(qr), y)

# R's decomposition of an R matrix, where only the right side is a tensor.
qr_of <- function(qr) if (inherits(qr, "AnvilQr")) qr else qr.AnvilValue(value_of(by_base(base::qr.X(qr))))

# A function of the columns of `y`, which may be one vector.
with_columns <- function(y, f) {
  y <- as_operand(y)
  if (length(dim(y)) >= 2L) return(f(y))
  nv_flatten(f(nv_reshape(y, c(length(y), 1L))))
}

#' @export qr.solve
qr.solve <- function(a, b, tol = 1e-07) UseMethod("qr.solve", among(a, b))

#' @method qr.solve AnvilValue
#' @export
qr.solve.AnvilValue <- function(a, b = NULL, tol = 1e-07) {
  if (inherits(a, "qr")) return(qr.coef.AnvilQr(qr_of(a), b))
  # An R matrix has the digits of the right side.
  if (!is.null(b) && !is_value(a)) a <- nv_promote_to_common(as_operand(a), as_operand(b))[[1L]]
  f <- qr.AnvilValue(a)
  qr.coef.AnvilQr(f, b %||% identity_like(f$x))
}

#' @method qr.solve AnvilQr
#' @export
qr.solve.AnvilQr <- function(a, b = NULL, tol = 1e-07) qr.coef.AnvilQr(a, b %||% identity_like(a$x))

#' @method solve AnvilQr
#' @export
solve.AnvilQr <- function(a, b = NULL, ...) {
  check_dots(..., .known = "tol")
  qr.solve.AnvilQr(a, b)
}

#' @export backsolve
backsolve <- function(r, x, k = ncol(r), upper.tri = TRUE, transpose = FALSE) {
  UseMethod("backsolve", among(r, x))
}

#' @method backsolve AnvilValue
#' @export
backsolve.AnvilValue <- function(r, x, k = ncol(r), upper.tri = TRUE, transpose = FALSE) {
  triangular(square_of(r, "r"), x, k, upper.tri, transpose)
}

#' @export forwardsolve
forwardsolve <- function(l, x, k = ncol(l), upper.tri = FALSE, transpose = FALSE) {
  UseMethod("forwardsolve", among(l, x))
}

#' @method forwardsolve AnvilValue
#' @export
forwardsolve.AnvilValue <- function(l, x, k = ncol(l), upper.tri = FALSE, transpose = FALSE) {
  triangular(square_of(l, "l"), x, k, upper.tri, transpose)
}

# A matrix; a number is one of one element, as in R.
square_of <- function(x, arg) {
  if (length(dim(x)) > 1L) return(x)
  if (length(x) != 1L || !is_operand(x)) {
    abort_arg(arg, "a matrix", if (is_value(x)) shown_shape(x) else describe(x))
  }
  nv_reshape(x, c(1L, 1L))
}

triangular <- function(a, b, k, upper, transpose) {
  check_flag("upper.tri", upper)
  check_flag("transpose", transpose)
  k <- k %||% ncol(a)
  if (!is_whole(k) || k < 0 || k > min(dim(a))) {
    abort_arg("k", paste("a whole number from 0 to", min(dim(a))), describe(k))
  }
  if (any(dim(a) != k)) a <- a[seq_len(k), seq_len(k), drop = FALSE]
  with_columns(b, function(b) {
    if (nrow(b) > k) b <- b[seq_len(k), , drop = FALSE]
    nv_triangular_solve(a, b, lower = !upper, adjoint = transpose)
  })
}

#' @export chol2inv
chol2inv <- function(x, size, ...) UseMethod("chol2inv", among(x))

#' @method chol2inv AnvilValue
#' @export
chol2inv.AnvilValue <- function(x, size = NULL, ...) {
  check_dots(..., .known = "LINPACK")
  x <- square_of(x, "x")
  size <- size %||% ncol(x)
  if (!is_whole(size) || size < 0 || size > min(dim(x))) {
    abort_arg("size", paste("a whole number from 0 to", min(dim(x))), describe(size))
  }
  if (any(dim(x) != size)) x <- x[seq_len(size), seq_len(size), drop = FALSE]
  half <- nv_triangular_solve(x, identity_like(x), lower = FALSE)
  tcross(half, half)
}

#' @export norm
norm <- function(x, type = c("O", "I", "F", "M", "2")) UseMethod("norm", among(x))

#' @method norm AnvilValue
#' @export
norm.AnvilValue <- function(x, type = c("O", "I", "F", "M", "2")) {
  if (ndims(x) != 2L) abort_arg("x", "a matrix", shown_shape(x), "`nv_norm()` takes vectors and batches.")
  known <- c("O", "I", "F", "M", "2", "1", "E")
  letter <- if (is.character(type) && length(type)) toupper(substr(type[1L], 1L, 1L))
  if (!length(letter) || !letter %in% known) {
    abort_arg("type", "one of \"O\", \"I\", \"F\", \"M\" and \"2\"", describe(type))
  }
  nv_norm(x, if (letter == "E") "F" else letter)
}

#' @export fft
fft <- function(z, inverse = FALSE) UseMethod("fft", among(z))

#' @method fft AnvilValue
#' @export
fft.AnvilValue <- function(z, inverse = FALSE) {
  check_flag("inverse", inverse)
  if (!ndims(z)) z <- nv_reshape(z, 1L)
  for (axis in seq_len(ndims(z))) z <- if (inverse) nv_ifft(z, axis) else nv_fft(z, axis)
  # R's inverse is not divided by the number of elements.
  if (inverse) z * length(z) else z
}

#' @export mvfft
mvfft <- function(z, inverse = FALSE) UseMethod("mvfft", among(z))

#' @method mvfft AnvilValue
#' @export
mvfft.AnvilValue <- function(z, inverse = FALSE) {
  check_flag("inverse", inverse)
  if (ndims(z) != 2L) abort_arg("z", "a matrix", shown_shape(z))
  if (inverse) nv_ifft(z, 1L) * nrow(z) else nv_fft(z, 1L)
}

#' @export convolve
convolve <- function(x, y, conj = TRUE, type = c("circular", "open", "filter")) {
  UseMethod("convolve", among(x, y))
}

#' @method convolve AnvilValue
#' @export
convolve.AnvilValue <- function(x, y, conj = TRUE, type = c("circular", "open", "filter")) {
  check_flag("conj", conj)
  type <- chosen("type", type, c("circular", "open", "filter"))
  y <- as_operand(y)
  if (!conj) {
    if (type != "circular") abort_arg("conj", "TRUE for this type", "FALSE")
    # Without the conjugate the second sequence runs backwards.
    y <- nv_roll(nv_reverse(y, 1L), 1L)
  }
  nv_convolve(as_operand(x), y, type = type)
}

# nolint end
