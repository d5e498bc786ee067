# Derivatives in forward mode: the one place where tangents enter a trace.

#' Forward-mode derivatives
#'
#' `jvp()` (Jacobian-vector product) gives the value of a function and its directional derivative: how the
#' result changes when the arguments move along `tangents`. `hvp()` (Hessian-vector product) gives that of the
#' gradient, without a Hessian.
#'
#' At `x`, in the direction `v`, the tangent of `f` is `J(x) v`, the derivative of `f(x + t * v)` by `t` at
#' `t = 0`, where `J` is the Jacobian matrix. It is computed along with the value, at a cost of two to three
#' times that of `f` alone, and no intermediate value is kept: unlike reverse mode ([gradient()], [vjp()]) it
#' needs no more memory for longer loops, and works through [nv_while()]. It is the mode for few inputs and
#' many results. `hvp()` is forward mode over reverse mode: a few times the cost of a gradient.
#'
#' `linearize()` gives the value and the derivative at one point as a function of the direction, for many
#' directions: what does not depend on the direction is computed once and kept. Branches and loops are run
#' again for each direction, so that nothing need be kept of their iterations.
#'
#' All of these may be used within each other, within [gradient()], [vmap()] and [jit()], in any order and to
#' any depth.
#'
#' @section Non-differentiable points: As for [gradient()]: where arguments of `max()` and the like tie, the
#'   tangent is their mean. A tangent of 0 stays 0 where the derivative is infinite or not a number.
#'
#' @param f A function of tensors, jitted or not. For `hvp()` it returns one float.
#' @param ... The arguments of `f`: tensors, or lists of them.
#' @param primals,args The arguments of `f`, as a list. Anything that `f` takes.
#' @param tangents,v The direction, as a list of the structure of the arguments, by name or position. `NULL`
#'   stands for what does not move: an argument, or a part of one. A tangent has the dtype and shape of its
#'   tensor. Only floats and complex numbers have tangents.
#' @return `jvp()`: `list(value = , tangent = )`. The tangent has the structure and types of the value; it is
#'   zero where the value does not depend on what moves, and `NULL` where the value is an integer or a
#'   boolean.
#'
#'   `linearize()`: `list(value = , pushforward = )`. `pushforward()` takes the tangents of the arguments as
#'   `f` takes these, `NULL` for what does not move, and gives the tangent of the value.
#'
#'   `hvp()`: a list with the product for each argument that moves, by name, of its structure and types.
#' @section Errors: `anvil_error_arg` if `f` is no function, if arguments or tangents are no lists that fit
#'   it, and for tangents of another structure, dtype or shape. `anvil_error_grad` for tangents of what is no
#'   float, and if an op on the way has no derivative in forward mode, such as a function of
#'   [custom_gradient()], which [custom_jvp()] gives one.
#' @references A. Griewank and A. Walther, *Evaluating Derivatives* (2008), chapter 3.
#' @seealso [gradient()] and [vjp()] for reverse mode, [jacobian()] and [hessian()].
#' @examples
#' f <- function(x, w) sum(sin(x) * w)
#' x <- nv_tensor(c(1, 2, 3))
#' w <- nv_tensor(c(1, 1, 0.5))
#' jvp(f, list(x, w), list(nv_tensor(c(1, 0, 0)), NULL))
#'
#' # Through a loop whose length depends on values: the derivative of a square root
#' root <- function(a) nv_while(a, function(x) abs(x * x - a) > 1e-6 * a, function(x) (x + a / x) / 2)
#' jvp(root, list(nv_scalar(2)), list(nv_scalar(1)))$tangent
#'
#' at <- linearize(f, x, w)
#' at$pushforward(nv_tensor(c(1, 0, 0)), NULL)
#'
#' hvp(function(x) sum(x^3), list(x = x), list(x = nv_tensor(c(1, 0, 0))))
#' @export
jvp <- function(f, primals, tangents) {
  f <- match_function(f)
  primals <- named_arguments(f, primals, "primals")
  tangents <- named_tangents(f, primals, tangents, "tangents")
  at_once(function() push_forward(f, primals, tangents, "tangents", "jvp()"))
}

#' @rdname jvp
#' @export
linearize <- function(f, ...) {
  f <- match_function(f)
  args <- named_arguments(f, list_dots(...), "...")
  leaves <- unlist_leaves(args)
  at <- which(vapply(leaves, function(x) is_operand(x) && is_differentiable(dtype(x)), NA))
  map <- NULL
  made <- at_once(function() {
    traced <- trace_moving(f, args, at, "linearize()")
    made <- .Call(anvil_linearize, traced$graph, traced$leaves)
    map <<- made[[2L]][[2L]]
    list(value = made[[1L]], residuals = made[[2L]][[1L]])
  })
  floats <- vapply(unlist_leaves(made$value), function(x) is_differentiable(dtype(x)), NA)
  pushforward <- function(...) {
    given <- moving_leaves(args, named_tangents(f, args, list_dots(...), "..."), "...")
    tangents <- lapply(leaves[at], function(x) nv_fill(0, shape(x), dtype(x)))
    tangents[match(given$at, at)] <- given$tangents
    at_once(function() {
      moved <- rep(list(NULL), length(floats))
      moved[floats] <- .Call(anvil_inline, map, c(made$residuals, tangents))
      restore(made$value, named_as(moved, unlist_leaves(made$value)))
    })
  }
  list(value = made$value, pushforward = pushforward)
}

#' @rdname jvp
#' @export
hvp <- function(f, args, v) {
  f <- match_function(f)
  args <- named_arguments(f, args, "args")
  v <- named_tangents(f, args, v, "v")
  moves <- !vapply(v, is.null, NA)
  if (!any(moves)) abort_arg("v", "a direction for at least one argument", "NULL for all")
  # Paths are of arguments that are not NULL.
  paths <- wrt_paths(NULL, args)[moves[!vapply(args, is.null, NA)]]
  slope <- function(...) gradient_along(f, list(...), paths, "hvp()")$gradient
  at_once(function() push_forward(slope, args, v, "v", "hvp()")$tangent)
}

# A list of arguments of f, with their names.
named_arguments <- function(f, args, arg) {
  if (!is.list(args) || is.object(args)) {
    abort_arg(arg, "a list of the arguments of `f`", describe(args), "As in `list(x)` or `list(x = x)`.")
  }
  names(args) <- argument_names(f, args)
  check_taken(f, names(args))
  args
}

# A list of tangents with the names of the arguments that they belong to, as many as there are arguments.
named_tangents <- function(f, primals, tangents, arg) {
  if (!is.list(tangents) || is.object(tangents)) {
    abort_arg(
      arg, "a list of the tangents of the arguments", describe(tangents),
      "As in `list(v)` or `list(x = v)`, with `NULL` for an argument that does not move."
    )
  }
  slots <- if (is.null(names(tangents))) {
    if (length(tangents) != length(primals)) {
      expected <- paste("a list of", length(primals), "elements, one for each argument, or of named ones")
      abort_arg(arg, expected, paste("one of", length(tangents)))
    }
    seq_along(primals)
  } else {
    slots <- match(argument_names(f, tangents), names(primals))
    if (anyNA(slots) || anyDuplicated(slots)) {
      expected <- paste0("a list by the names of the arguments given (", toString(names(primals)), ")")
      abort_arg(arg, expected, paste("one with the names", toString(names(tangents))))
    }
    slots
  }
  out <- setNames(vector("list", length(primals)), names(primals))
  out[slots] <- tangents
  out
}

# Value and tangent of f at arguments whose tangents are given, in the open trace. `by` is the transformation
# that the user called.
push_forward <- function(f, primals, tangents, arg, by) {
  pairs <- moving_leaves(primals, tangents, arg)
  push_leaves(f, primals, pairs$at, pairs$tangents, by)
}

# The same for tangents of the leaves of these numbers.
push_leaves <- function(f, primals, at, tangents, by) {
  traced <- trace_moving(f, primals, at, by)
  made <- .Call(anvil_push_forward, traced$graph, traced$leaves, tangents)
  tangents <- named_as(made[[2L]], unlist_leaves(traced$value))
  list(value = made[[1L]], tangent = restore(traced$value, tangents))
}

# f in a nested trace with inputs for the leaves of these numbers: list(graph, leaves, value).
trace_moving <- function(f, primals, at, by) {
  given <- unlist_leaves(primals)[at]
  leaves <- lapply(given, value_of)
  prepare <- function(args, input) {
    with_leaves(args, at, Map(function(value, x) with_names(input(value), axis_names(x)), leaves, given))
  }
  value <- NULL
  graph <- trace_with(
    f, primals, paste("a function given to", by), nested = TRUE, prepare = prepare,
    finish = function(out) value <<- check_given(out)
  )
  list(graph = graph, leaves = leaves, value = value)
}

# The leaves of arguments that move: their numbers, and their tangents.
moving_leaves <- function(primals, tangents, arg) {
  of <- .Call(anvil_paths, primals, "")
  given <- .Call(anvil_paths, tangents, "")
  stay <- vapply(given[[1L]], is.null, NA)
  refuse <- function(expected, got, path) {
    abort_arg(arg, paste0(expected, " for ", path_of_leaf(path)), got)
  }
  refuse_structure <- function(got, path) {
    abort_arg(
      arg, "a list of the structure of the arguments", paste(got, path_of_leaf(path)),
      "Give `NULL` for an argument, or a part of one, that does not move."
    )
  }
  # A `NULL` stands for all leaves below it.
  below <- function(path) {
    after <- nchar(path) + 1L
    startsWith(of[[2L]], path) & substring(of[[2L]], after, after) %in% c("", "$", "[")
  }
  still <- Reduce(`|`, lapply(given[[2L]][stay], below), logical(length(of[[2L]])))
  at <- match(given[[2L]][!stay], of[[2L]])
  if (anyNA(at)) {
    refuse_structure("one with", given[[2L]][!stay][is.na(at)][1L])
  }
  moves <- seq_along(of[[2L]]) %in% at
  lost <- which(!moves & !still)
  if (length(lost)) {
    refuse_structure("one without", of[[2L]][lost[1L]])
  }
  found <- given[[1L]][!stay]
  Map(function(i, tangent) {
    leaf <- of[[1L]][[i]]
    path <- of[[2L]][i]
    if (!is_operand(leaf) || !is_differentiable(dtype(leaf))) {
      what <- if (is_operand(leaf)) as.character(dtype(leaf)) else describe(leaf)
      abort(
        "anvil_error_grad",
        paste0(
          "Cannot differentiate with respect to ", path_of_leaf(path),
          ": tangents are of float tensors, not of ", what, ".\ni Give `NULL` as its tangent."
        ),
        op = "jvp", reason = what
      )
    }
    if (!is_operand(tangent)) refuse("a tensor", describe(tangent), path)
    plain <- function(x) sub("^R's ", "", sub("?", "", describe_leaf(x), fixed = TRUE))
    number <- !inherits(tangent, "AnvilValue") && identical(shape(tangent), shape(leaf))
    if (plain(tangent) != plain(leaf) && !number) {
      refuse(paste("a tangent of type", plain(leaf)), paste("one of type", plain(tangent)), path)
    }
  }, at, found)
  types <- lapply(of[[1L]][at], dtype)
  convert <- function(tangent, to) {
    if (inherits(tangent, "AnvilValue")) tangent else nv_convert(value_of(tangent), to)
  }
  list(at = at, tangents = Map(convert, found, types))
}

# How a message names a leaf of a list of arguments.
path_of_leaf <- function(path) paste0("`", sub("^\\$", "", path), "`")

# ---- names along axes ----

# Names along the axes of a tensor or an R array, a list as long as it has axes; NULL without any.
axis_names <- function(x) {
  if (is.null(dimnames(x)) && !is.null(names(x))) list(names(x)) else dimnames(x)
}

# A value with names along its axes. One without axes has a name as a vector of R.
with_names <- function(x, names) {
  if (!any(lengths(names) > 0L)) return(x)
  if (is.null(dim(x))) names(x) <- names[[1L]] else dimnames(x) <- names
  x
}

# A flat list of values with the names along axes of other values of these shapes, NULL for what is none.
named_as <- function(values, others) {
  Map(function(x, other) if (is.null(x)) x else with_names(x, axis_names(other)), values, others)
}

# The same, where two lists of values have the same names.
named_alike <- function(values, one, other) {
  Map(function(x, a, b) {
    names <- axis_names(a)
    if (identical(names, axis_names(b))) with_names(x, names) else x
  }, values, one, other)
}
