# Ops that packages add: a function of R in place of a kernel.

#' Ops of your own
#'
#' `new_op()` makes a function an op of its own, with a name, a derivative and a rule for batches: for a
#' package that adds what anvil lacks. It is either written over other ops, or a function of R that programs
#' call while they run ([nv_callback()]).
#'
#' Without `infer`, `eval_r` is traced: it consists of ops, and so do programs with it. It needs no more than
#' that; `vjp` or `jvp` replace the derivatives of these ops, as in [custom_gradient()] and [custom_jvp()].
#'
#' With `infer`, `eval_r` gets values and may be any R code. `infer` says what it gives, `batch` how it
#' computes many examples at once; without `batch` it is called for each example. It has no derivative but the
#' one given.
#'
#' @param name The name that it is printed by.
#' @param infer A function of the arguments as abstract tensors ([nv_abstract()]) that gives the type of the
#'   result, or a nested list of types; `NULL` for an op that is written over other ops.
#' @param eval_r The function: of tensors, or of nested lists of these.
#' @param vjp Its derivative in reverse mode, written over ops: a function `(args, value, gradient)` of the
#'   list of arguments, the result and the gradient of the result, that gives a list of the gradients of the
#'   arguments, `NULL` for those that have none.
#' @param jvp Its derivative in both modes, as the `rule` of [custom_jvp()]: a function `(primals, tangents)`
#'   that gives `list(value, tangent)`, linear in the tangents. Give this one or `vjp`.
#' @param batch For an op with `infer`: a function `(args, batched)` of the list of arguments, of which those
#'   that `batched` says have one more axis, the last, and that gives the result with this axis. `batched` has
#'   the structure of `args`.
#' @return A function of class `AnvilOp`, with the arguments of `eval_r`.
#' @section Errors: `anvil_error_arg` for anything but a name and such functions, and for `batch` without
#'   `infer`. When it is called: those of [nv_callback()], [custom_gradient()] and [custom_jvp()].
#' @seealso [nv_callback()], [custom_gradient()], [custom_jvp()]
#' @examples
#' # The log-determinant of a symmetric positive definite matrix, by R's own chol()
#' logdet <- new_op(
#'   "logdet", infer = function(a) nv_abstract(dtype(a)),
#'   eval_r = function(a) 2 * sum(log(diag(chol(as_array(a))))),
#'   vjp = function(args, value, gradient) list(gradient * inverse(args$a))
#' )
#' inverse <- new_op(
#'   "inverse", infer = function(a) nv_abstract(dtype(a), shape(a)),
#'   eval_r = function(a) solve(as_array(a))
#' )
#' a <- nv_tensor(matrix(c(2, 0.5, 0.5, 1), 2), dtype = "f64")
#' logdet(a)
#' jit(gradient(logdet))(a)
#' @export
new_op <- function(name, infer = NULL, eval_r, vjp = NULL, jvp = NULL, batch = NULL) {
  if (!is.character(name) || is.object(name) || length(name) != 1L || is.na(name) || !nzchar(name)) {
    abort_arg("name", "a name", describe(name))
  }
  eval_r <- match_function(eval_r, "eval_r")
  if (!is.null(infer)) match_function(infer, "infer")
  if (!is.null(vjp)) check_function(vjp, "vjp", c("args", "value", "gradient"))
  if (!is.null(jvp)) check_function(jvp, "jvp", c("primals", "tangents"))
  if (!is.null(batch)) check_function(batch, "batch", c("args", "batched"))
  if (!is.null(vjp) && !is.null(jvp)) {
    abort_arg("vjp", "NULL where `jvp` is given", "a function", "`jvp` serves both modes.")
  }
  if (!is.null(batch) && is.null(infer)) {
    abort_arg("batch", "NULL without `infer`", "a function", "An op over other ops is batched as these are.")
  }
  op <- if (is.null(infer)) eval_r else in_r(eval_r, infer, batch)
  if (!is.null(jvp)) op <- custom_jvp(op, jvp)
  if (!is.null(vjp)) {
    plain <- op
    op <- custom_gradient(
      plain,
      forward = with_formals_of(eval_r, function(args) {
        value <- call_function(plain, args)
        list(value, list(args = args, value = value))
      }),
      backward = function(kept, gradient) vjp(kept$args, kept$value, gradient)
    )
  }
  structure(op, class = c("AnvilOp", "function"), name = name)
}

# eval_r as a callback.
in_r <- function(eval_r, infer, batch) {
  with_formals_of(eval_r, function(args) {
    abstract <- function(x) nv_abstract(dtype(x), shape(x), ambiguous(x))
    types <- map_leaves(check_leaves(args, "..."), abstract)
    ranks <- vapply(unlist_leaves(types), function(x) length(shape(x)), 0L)
    run <- function(...) {
      args <- list(...)
      batched <- vapply(unlist_leaves(args), function(x) length(shape(x)), 0L) > ranks
      if (any(batched)) batch(args, restore(args, as.list(batched))) else do.call(eval_r, args, quote = TRUE)
    }
    result <- call_function(infer, types)
    do.call(
      nv_callback, c(list(run), args, list(result = result, vectorized = !is.null(batch))), quote = TRUE
    )
  })
}

#' @export
print.AnvilOp <- function(x, ...) {
  check_dots(..., .known = taken_by("print"))
  cat("<AnvilOp> ", attr(x, "name"), "(", toString(names(formals_of(x))), ")\n", sep = "")
  invisible(x)
}
