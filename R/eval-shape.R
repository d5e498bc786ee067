#' Types of a result without running
#'
#' `eval_shape()` says what a function gives for arguments of some types: dtypes, shapes and ambiguity, in the
#' structure of the result. The function is traced, and nothing is computed: it takes as long for tensors of
#' many gigabytes, which need not exist.
#'
#' @inheritParams explain_plan
#' @param ... Arguments of `f`: tensors, traced values, R numbers, logicals and arrays, whose values play no
#'   role, [nv_abstract()] for tensors that need not exist, and lists of these. Anything else, such as a
#'   string or a function, is passed to `f` as it is.
#' @return The result of `f` with an abstract tensor, see [nv_abstract()], in place of each tensor and number.
#' @section Errors:
#' `anvil_error_arg` for arguments that are not as above; and whatever `f` raises while it is traced.
#' @seealso [trace_fn()] for the graph, [compile_for()] to compile for such types, [tree_map()] to work with
#'   the result.
#' @examples
#' predict <- function(params, x) list(eta = x %*% params$w + params$b, n = nrow(x))
#' x <- nv_abstract("f32", c(1e6, 1e6))
#' eval_shape(predict, list(w = nv_abstract("f32", c(1e6, 10)), b = 0), x)
#' @export
eval_shape <- function(f, ...) {
  result <- NULL
  trace_example(match_function(f), list_dots(...), "eval_shape()", finish = function(out) result <<- out)
  map_leaves(result, function(leaf) {
    is_text <- is.character(leaf) || is.factor(leaf)
    if (is_text) leaf else nv_abstract(dtype(leaf), shape(leaf), ambiguous(leaf))
  })
}
