#' Call a function of R while a program runs
#'
#' A jitted function runs as a program in which no R code is left. `nv_callback()` is an op that calls R
#' again: it calls `f` with the values of its arguments whenever the program comes to it. For what ops
#' cannot compute, such as a function of another package, a search by [stats::nlm()] or a table lookup
#' by name; and for effects, such as a report of progress.
#'
#' `f` is called with tensors, on which R's own functions work, and gives what `result` says: tensors of
#' these types, or R numbers and arrays of these shapes, which may have a narrower kind of number (a double
#' for a float, an integer for an integer or a float; a number for `c(1)` too). With `result = NULL` its
#' value is ignored.
#'
#' It is called once for each time that the program comes to the call: in each repetition of a loop, and
#' only in the branch that is taken; also if nothing uses its result. Calls of one program are made one
#' after the other, in the order of the program, as is what [nv_print()] shows. Outside of a trace it is
#' called at once.
#'
#' `f` may do what R code may do, call jitted functions too, that which it is called from among them. What it
#' needs of the traced values it takes as arguments; a traced variable that it captures is an error. It takes
#' microseconds to call R: in a loop that computes little, that is most of the time.
#'
#' @param f A function of R.
#' @param ... Its arguments, by name or in order: tensors, R numbers and arrays, or nested lists of these.
#' @param result The types of what `f` gives: an abstract tensor, from [nv_abstract()], or a nested list of
#'   these; a tensor or traced value stands for its type. `NULL` if `f` is called for its effect only.
#' @param vectorized Whether `f` takes a batch as well, and gives one: arguments and results that have one
#'   more axis, the last. Arguments that are the same for the whole batch have none. Where a batch is
#'   computed, as by [vmap()], `f` is called once for all of it then, and otherwise once for each example. Of
#'   a branch that some examples take, these alone count, but a vectorized function gets all, and what it
#'   gives for the others is not used.
#' @return Tensors of the types and in the structure of `result`; `NULL` invisibly if that is `NULL`.
#' @section Properties:
#' * Dtypes: Any dtype.
#' * Accuracy: That of the function given.
#' * Derivative: None: the engine does not see what it computes; give it a derivative with
#'   `custom_gradient()`.
#' @section Errors: An error of `f` is the error of the call of the program, as it is, with its class.
#' `anvil_error_callback` if `f` gives something else than `result` says: it names the part, what was
#' expected and what came. `anvil_error_arg` for an argument of another kind. `anvil_error_export` where a
#' program that calls R is exported. If the program used an index out of range before, it ends in that error
#' and `f` is not called.
#' @seealso [custom_gradient()], [vmap()], [nv_print()]
#' @examples
#' # The root of an equation, by uniroot(), with its derivative by the implicit function theorem
#' solve_for <- function(a) {
#'   a <- as.numeric(a)
#'   uniroot(function(x) x^3 + x - a, c(-10, 10), tol = 1e-10)$root
#' }
#' root <- custom_gradient(
#'   function(a) nv_callback(solve_for, a, result = nv_abstract("f64")),
#'   forward = function(a) {
#'     x <- nv_callback(solve_for, a, result = nv_abstract("f64"))
#'     list(x, x)
#'   },
#'   backward = function(x, g) list(g / (3 * x^2 + 1))
#' )
#' a <- nv_scalar(2, dtype = "f64")
#' jit(root)(a)
#' jit(gradient(root))(a)
#'
#' # A report in a loop
#' report <- function(i, x) cat("step ", i, ": ", format(as.numeric(x)), "\n", sep = "")
#' newton <- jit(function(a) {
#'   nv_for(6L, a, function(i, x) {
#'     x <- (x + a / x) / 2
#'     nv_if(i %% 2L == 0L, nv_callback(report, i, x, result = NULL), NULL)
#'     x
#'   })
#' })
#' newton(nv_scalar(2))
#' @export
nv_callback <- function(f, ..., result = nv_abstract(), vectorized = FALSE) {
  match_function(f)
  check_flag("vectorized", vectorized)
  args <- list_dots(...)
  names <- if (is.null(names(args))) rep("", length(args)) else names(args)
  Map(function(x, place) each_place(x, place, check_leaves), args, argument_places(names))
  force(result)
  value <- at_once(function() {
    restore(result, .Call(anvil_callback, f, args, result, vectorized))
  })
  if (is.null(result)) invisible() else value
}

# Called by Rust, with list(function, arguments).
run_callback <- function(x) eval_call(call_of(x[[1L]], x[[2L]]))
