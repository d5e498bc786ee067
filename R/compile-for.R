#' Compile ahead of time
#'
#' `compile_for()` traces and compiles a jitted function for arguments of some types, without running it: the
#' first call with such arguments then finds its program, as any later one does.
#'
#' The program is that of a call with the same arguments, in the same places, by the promotion rules that are
#' in force. Of tensors and numbers only the types count: a tensor may be given as its type, by
#' [nv_abstract()]; an R number stands for all R numbers of its type (`1` for a double, `1L` for an
#' integer), and is another argument than a tensor of the same type. Static arguments are given as they are;
#' those that are left out keep their defaults. Programs for axes with names are their own: give a tensor that
#' has the names.
#'
#' Each program is one of those that the cache keeps, see `cache_size` of [jit()] and [cache_info()], where it
#' counts as a miss, since it was traced. If it is there already, nothing happens.
#'
#' @param f A function made by [jit()].
#' @param ... Its arguments, or their types: see Details.
#' @return `f`, invisibly.
#' @section Errors:
#' `anvil_error_arg` if `f` is not jitted, for arguments that it does not take or that are not as above, and
#' inside of a traced function; and whatever `f` raises while it is traced.
#' @seealso [eval_shape()] for the types of the result, [explain_cache()] for the programs that there are.
#' @examples
#' predict <- jit(function(x, w, scale) tanh(x %*% w) * scale)
#' compile_for(predict, nv_abstract("f32", c(100, 3)), nv_abstract("f32", c(3, 1)), 1)
#' predict(nv_fill(1, c(100, 3), "f32"), nv_fill(0.1, c(3, 1), "f32"), 2) |> shape()
#' cache_info(predict)$hits
#' @export
compile_for <- function(f, ...) {
  check_jitted(f)
  args <- list_dots(...)
  if (.Call(anvil_trace_depth) > 0L || holds_tracer(args)) {
    abort_arg(
      "f", "compiled outside of a traced function", "in one", "Compile it before the function is called."
    )
  }
  names(args) <- argument_names(f, args)
  check_taken(f, names(args))
  find <- f
  body(find)[[2L]] <- "anvil_jit_find"
  arguments <- call_function(find, args)
  if (!is.null(arguments)) jit_miss(arguments, run = FALSE)
  invisible(f)
}
