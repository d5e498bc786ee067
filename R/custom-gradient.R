#' Functions with a custom gradient
#'
#' Gives a function a derivative that you write instead of that of its ops: where an iteration computes a
#' solution whose derivative is known in closed form, where the derivative of the ops loses digits, or to
#' clip, scale or redirect a gradient.
#'
#' Without [gradient()] the function is `f`. Where it is differentiated, `forward` takes its place: it gives
#' the same value and the residuals that the derivative needs. Then `backward` computes the gradients of the
#' arguments from the residuals and the gradient of the value. Both may use any ops and capture variables. For
#' second derivatives, `backward` must consist of differentiable ops.
#'
#' @param f A function of tensors, or of lists of them.
#' @param forward A function of the same arguments that gives `list(value, kept)`: what `f` gives, and tensors
#'   or lists of them for `backward`.
#' @param backward A function of `kept` and of the gradient of the value, in its structure, that gives a list
#'   with the gradient of each argument of the call, in its structure, dtypes and shapes; or `NULL` for one
#'   that has none.
#' @return A function with the arguments of `f`.
#' @section Properties:
#' * Accuracy: That of the ops in the functions given.
#' * Derivative: From the derivatives of the functions given.
#' @section Errors: `anvil_error_arg` if one of the three is no function, or gives something of another form.
#' `anvil_error_structure` if `forward` gives another value than `f` by structure or type, or `backward`
#' gradients of other types than the arguments.
#' @seealso [gradient()], [nv_stop_gradient()]
#' @examples
#' # log(1 + exp(x)), whose derivative does not overflow
#' softplus <- custom_gradient(
#'   function(x) log(1 + exp(x)),
#'   forward = function(x) list(log(1 + exp(x)), x),
#'   backward = function(x, g) list(g * nv_logistic(x))
#' )
#' gradient(softplus)(nv_scalar(100))
#' @export
custom_gradient <- function(f, forward, backward) {
  check_function(f, "f")
  check_function(forward, "forward")
  check_function(backward, "backward")
  out <- function() {
    given <- given_arguments(match.call(expand.dots = TRUE), parent.frame())
    if (.Call(anvil_trace_depth) == 0L) return(call_function(f, given))
    custom_call(f, forward, backward, given)
  }
  formals(out) <- formals_of(f)
  out
}

# Formats two types that differ, for a message.
differing <- function(first, second) {
  function(was, is) paste(was %||% "nothing", paste0(first, ", and"), is %||% "nothing", second)
}

# The function as part of the open trace: three regions. Tensors and numbers are inputs of them, other
# arguments are passed as they are.
custom_call <- function(f, forward, backward, given) {
  leaves <- Filter(function(leaf) inherits(leaf, "AnvilValue"), unlist_leaves(given))
  region <- function(f, name, finish) {
    trace_with(f, given, name, nested = TRUE, finish = finish, prepare = function(args, input) {
      map_leaves(args, function(leaf) if (inherits(leaf, "AnvilValue")) input(leaf) else leaf)
    })
  }
  value <- NULL
  kept <- NULL
  call <- region(f, "a function with a custom gradient", function(out) value <<- out)
  ahead <- region(forward, "`forward` of custom_gradient()", function(out) {
    if (!is.list(out) || is.object(out) || length(out) != 2L) {
      abort_arg(
        "forward", "a function that gives `list(value, kept)`", paste("one that gives", describe(out))
      )
    }
    check_same_types(
      value_types(value, "value"), value_types(out[[1L]], "value"), "`forward` must give the value of `f`.",
      differing("of `f`", "of `forward`"), "Compute the same in both."
    )
    kept <<- out[[2L]]
    out
  })
  types <- function(x) map_leaves(x, function(leaf) nv_abstract(dtype(leaf), shape(leaf), ambiguous(leaf)))
  targets <- integer()
  back <- trace_with(backward, list(types(kept), types(value)), "`backward` of custom_gradient()",
    nested = TRUE, prepare = function(args, input) lapply(args, input),
    finish = function(out) {
      if (!is.list(out) || is.object(out) || length(out) != length(given)) {
        what <- paste(
          "a function that gives a list of", length(given),
          if (length(given) == 1L) "gradient" else "gradients"
        )
        abort_arg("backward", what, paste("one that gives", describe(out)))
      }
      # Positions among the leaves of the arguments that have gradients.
      end <- 0L
      for (i in seq_along(given)) {
        own <- unlist_leaves(given[[i]])
        own <- sum(vapply(own, inherits, NA, "AnvilValue"))
        if (!is.null(out[[i]])) {
          name <- if (is.null(names(given)) || !nzchar(names(given)[i])) {
            paste("argument", i)
          } else {
            names(given)[i]
          }
          check_same_types(value_types(given[[i]], name), value_types(out[[i]], name),
            "Gradients must have the types of the arguments.",
            differing("of the argument", "of its gradient"),
            "Convert or reshape the gradient.")
          targets <<- c(targets, end + seq_len(own))
        }
        end <- end + own
      }
      out
    })
  made <- .Call(anvil_custom, list(call, ahead, back), leaves, targets)
  restore(value, made)
}
