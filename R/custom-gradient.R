#' Functions with a custom gradient
#'
#' Gives a function a derivative that you write instead of that of its ops: where an iteration computes a
#' solution whose derivative is known in closed form, where the derivative of the ops loses digits, or to
#' clip, scale or redirect a gradient.
#'
#' Without [gradient()] the function is `f`. Where it is differentiated, `forward` takes its place: it gives
#' the same value and the residuals that the derivative needs. Then `backward` computes the gradients of the
#' arguments from the residuals and the gradient of the value. Both may use any ops and capture variables,
#' which count as constants: no derivative goes through what is captured, so what has one is an argument.
#' For second derivatives, `backward` must consist of differentiable ops. Forward mode ([jvp()],
#' [hessian()]) has no use for `backward`, and says so where it meets such a function: [custom_jvp()] serves
#' both modes.
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
#' @seealso [custom_jvp()] for a derivative in both modes; [gradient()], [nv_stop_gradient()]
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
    while_tracing(backward, "backward", custom_call(f, forward, backward, given))
  }
  formals(out) <- formals_of(f)
  out
}

#' Functions with a custom derivative in both modes
#'
#' Gives a function a derivative that you write instead of that of its ops, as a rule of forward mode: how its
#' value changes when its arguments move. It serves [gradient()] too, which turns it round.
#'
#' For `y = f(x)` with the Jacobian matrix `J(x)`, the rule computes `y` and `J(x) v` from `x` and the
#' direction `v`. Without derivatives the function is `f`. In forward mode ([jvp()], [hvp()], [hessian()]) the
#' rule takes its place. Reverse mode runs `f`, and then the transpose of what the rule computes from `v`,
#' which gives `J(x)' u` for a gradient `u` of the value. So the tangent must be linear in `v`: a sum of
#' products of `v` with what does not depend on it. The rule may use any ops and capture variables, which
#' count as constants: no derivative goes through what is captured. For second derivatives the rule is
#' differentiated again, its value included.
#'
#' @param f A function of tensors, or of lists of them.
#' @param rule A function of two lists. The first one, `primals`, holds the arguments of the call by their
#'   names in `f`. The second one, `tangents`, has their structure, with a tangent of the same dtype and shape
#'   for each float or complex tensor, and `NULL` for anything else; what does not move has a tangent of
#'   zeros. It gives `list(value, tangent)`, or `list(value = , tangent = )` as [jvp()] does: what `f` gives,
#'   and its tangent in the same structure and types, with `NULL` for integers and booleans.
#' @return A function with the arguments of `f`.
#' @section Properties:
#' * Accuracy: That of the ops in the functions given.
#' * Derivative: From the derivatives of the functions given.
#' @section Errors: `anvil_error_arg` if one of the two is no function, or the rule gives something of another
#' form. `anvil_error_structure` if it gives another value than `f` by structure or type, or a tangent of
#' other types than the value. `anvil_error_grad` in reverse mode, if the tangent is computed from tangents by
#' an op that has no gradient.
#' @seealso [custom_gradient()], a rule for reverse mode alone; [jvp()], [gradient()]
#' @examples
#' # log(1 + exp(x)), whose derivative does not overflow
#' softplus <- custom_jvp(
#'   function(x) log(1 + exp(x)),
#'   function(primals, tangents) {
#'     list(log(1 + exp(primals$x)), tangents$x * nv_logistic(primals$x))
#'   }
#' )
#' gradient(softplus)(nv_scalar(100))
#' jvp(softplus, list(nv_scalar(100)), list(nv_scalar(2)))$tangent
#'
#' # A root found by iteration. Of g(y, a) = y^2 - a = 0 the derivative is dy = da / (2 y).
#' iterate <- function(a) nv_while(a, function(y) abs(y^2 - a) > 1e-5 * a, function(y) (y + a / y) / 2)
#' root <- custom_jvp(iterate, function(primals, tangents) {
#'   y <- iterate(primals$a)
#'   list(y, tangents$a / (2 * y))
#' })
#' gradient(root)(nv_scalar(4))
#' @export
custom_jvp <- function(f, rule) {
  check_function(f, "f")
  check_function(rule, "rule", c("primals", "tangents"))
  out <- function() {
    given <- given_arguments(match.call(expand.dots = TRUE), parent.frame())
    if (.Call(anvil_trace_depth) == 0L) return(call_function(f, given))
    while_tracing(rule, "rule", custom_jvp_call(f, rule, given))
  }
  formals(out) <- formals_of(f)
  out
}

# Derivatives that are being traced. One that uses the function that it derives is traced again where it does:
# without end, unless a static argument ends it.
traced_rules <- new.env(parent = emptyenv())
traced_rules$open <- list()

while_tracing <- function(rule, arg, expr) {
  before <- traced_rules$open
  if (sum(vapply(before, identical, NA, rule)) >= 20L) {
    abort_arg(
      arg, "a function that can be traced", "one that uses the function that it derives, over and over",
      "Compute the value in it by another function, one without this derivative."
    )
  }
  on.exit(traced_rules$open <- before)
  traced_rules$open <- c(before, list(rule))
  expr
}

# Formats two types that differ, for a message.
differing <- function(first, second) {
  function(was, is) paste(was %||% "nothing", paste0(first, ", and"), is %||% "nothing", second)
}

# Traces f as a region: tensors among the arguments are inputs, others are passed as they are.
custom_region <- function(f, given, name, finish) {
  trace_with(f, given, name, nested = TRUE, finish = finish, prepare = function(args, input) {
    with_inputs(args, input)
  })
}

# Inputs in place of tensors.
with_inputs <- function(args, input) {
  leaves <- unlist_leaves(args)
  at <- which(vapply(leaves, inherits, NA, "AnvilValue"))
  with_leaves(args, at, lapply(leaves[at], input))
}

tensors_among <- function(given) {
  Filter(function(leaf) inherits(leaf, "AnvilValue"), unlist_leaves(given))
}

# The function as part of the open trace: three regions.
custom_call <- function(f, forward, backward, given) {
  leaves <- tensors_among(given)
  region <- function(f, name, finish) custom_region(f, given, name, finish)
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
  restore(value, named_as(made, unlist_leaves(value)))
}

# The function with a rule for forward mode as part of the open trace: two regions. The rule has the tangents
# of floats as further inputs.
custom_jvp_call <- function(f, rule, given) {
  value <- NULL
  call <- custom_region(f, given, "a function with a custom derivative", function(out) {
    value <<- check_given(out)
  })
  names(given) <- argument_names(f, given)
  prepare <- function(args, input) {
    primals <- with_inputs(given, input)
    tangents <- map_leaves(given, function(leaf) if (is_moving(leaf)) input(leaf))
    list(primals, tangents)
  }
  push <- trace_with(rule, list(given, given), "`rule` of custom_jvp()",
    nested = TRUE, prepare = prepare, finish = function(out) {
      out <- value_and_tangent(out)
      check_same_types(
        value_types(value, "value"), value_types(out[[1L]], "value"), "`rule` must give the value of `f`.",
        differing("of `f`", "of `rule`"), "Compute the same in both."
      )
      moving <- map_leaves(value, function(leaf) if (is_differentiable(dtype(leaf))) leaf)
      check_same_types(
        value_types(moving, "tangent"), value_types(out[[2L]], "tangent"),
        "Tangents must have the structure and types of the value, with NULL for integers and booleans.",
        differing("of the value", "of its tangent"), "Convert or reshape the tangent."
      )
      out
    }
  )
  made <- .Call(anvil_custom, list(call, push), tensors_among(given), NULL)
  restore(value, named_as(made, unlist_leaves(value)))
}

is_moving <- function(leaf) inherits(leaf, "AnvilValue") && is_differentiable(dtype(leaf))

# What a rule of forward mode gives, the value first.
value_and_tangent <- function(out) {
  names <- names(out)
  plain <- is.list(out) && !is.object(out) && length(out) == 2L
  if (plain && (is.null(names) || identical(names, c("value", "tangent")))) return(out)
  if (plain && identical(names, c("tangent", "value"))) return(out[2:1])
  abort_arg("rule", "a function that gives `list(value, tangent)`", paste("one that gives", describe(out)))
}
