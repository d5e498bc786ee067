# Tensors of the type of another one.

#' Tensors like another
#'
#' As [nv_fill()], [nv_empty()], [nv_iota()], [nv_seq()], [nv_eye()], [nv_tensor()] and [nv_scalar()], with
#' the dtype, ambiguity and shape of another tensor where they are not given.
#'
#' Of `like` only the type is used: a traced value serves as well, and nothing is differentiated.
#'
#' @param like A tensor, a traced value, or an R number, logical or array.
#' @param value,data,start,end,steps,axis,n,m As in [nv_fill()], [nv_tensor()], [nv_seq()], [nv_iota()] and
#'   [nv_eye()].
#' @param shape Sizes of the axes; `NULL` are those of `like`.
#' @param dtype A dtype: its name, or a dtype object; `NULL` is that of `like`.
#' @param ambiguous Whether the result is ambiguous; `NULL` is as `like` is, but `FALSE` if `dtype` is given.
#' @return A tensor.
#' @section Errors: Those of the functions without `_like`.
#' @examples
#' x <- nv_tensor(matrix(1:6, 2), dtype = "i64")
#' nv_fill_like(x, 1)
#' nv_empty_like(x, shape = c(0, 2))
#' nv_iota_like(x, 2)
#' nv_seq_like(x, 1, 3)
#' nv_eye_like(x, 2)
#' nv_tensor_like(x, 1:3)
#' nv_scalar_like(x, 5)
#' @name nv_like
NULL

# The dtype and ambiguity of a tensor like another, as a list.
type_like <- function(like, type, flag) {
  if (is.null(flag)) flag <- is.null(type) && ambiguous(like)
  list(dtype = type %||% dtype(like), ambiguous = flag)
}

#' @rdname nv_like
#' @export
nv_fill_like <- function(like, value, shape = NULL, dtype = NULL, ambiguous = NULL) {
  type <- type_like(like, dtype, ambiguous)
  nv_fill(value, shape %||% sizes_of(like), type$dtype, type$ambiguous)
}

#' @rdname nv_like
#' @export
nv_empty_like <- function(like, shape = NULL, dtype = NULL, ambiguous = NULL) {
  type <- type_like(like, dtype, ambiguous)
  nv_empty(type$dtype, shape %||% sizes_of(like), type$ambiguous)
}

#' @rdname nv_like
#' @export
nv_iota_like <- function(like, axis, shape = NULL, start = 1L, dtype = NULL, ambiguous = NULL) {
  type <- type_like(like, dtype, ambiguous)
  nv_iota(axis, type$dtype, shape %||% sizes_of(like), start, type$ambiguous)
}

#' @rdname nv_like
#' @export
nv_seq_like <- function(like, start, end, steps = NULL, dtype = NULL, ambiguous = NULL) {
  type <- type_like(like, dtype, ambiguous)
  nv_seq(start, end, steps, type$dtype, type$ambiguous)
}

#' @rdname nv_like
#' @export
nv_eye_like <- function(like, n, m = n, dtype = NULL, ambiguous = NULL) {
  type <- type_like(like, dtype, ambiguous)
  nv_eye(n, m, dtype = type$dtype, ambiguous = type$ambiguous)
}

#' @rdname nv_like
#' @export
nv_tensor_like <- function(like, data, dtype = NULL, shape = NULL, ambiguous = NULL) {
  type <- type_like(like, dtype, ambiguous)
  nv_tensor(data, type$dtype, shape, type$ambiguous)
}

#' @rdname nv_like
#' @export
nv_scalar_like <- function(like, data, dtype = NULL, ambiguous = NULL) {
  type <- type_like(like, dtype, ambiguous)
  nv_scalar(data, type$dtype, type$ambiguous)
}

# `shape()`, where that is the name of an argument too.
sizes_of <- function(x) shape(x)
