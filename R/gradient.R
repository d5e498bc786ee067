#' Gradients
#'
#' `gradient(f)` is a function with the arguments of `f` that gives the gradient of the single float that `f`
#' returns; `value_and_gradient(f)` gives both. `vjp()` (vector-Jacobian product) is for functions with any
#' results: it gives the value and a function that maps gradients of the results to those of the arguments.
#'
#' Gradients are exact derivatives of the ops that `f` consists of, computed backwards from the result
#' (reverse mode): all partial derivatives together cost a few times what `f` costs. They consist of ops
#' themselves, so that a function that calls `gradient()` can be differentiated again. Outside of [jit()] the
#' function is traced at each call; `jit(gradient(f))` does so once for arguments of the same types.
#'
#' @section Non-differentiable points: `max()`, `min()` and the like split the gradient evenly among elements
#' that tie; the gradient of `abs()` is 0 at 0, of [nv_clamp()] that of the operand at the bounds; rounding,
#' comparisons, integers and booleans have none. Where the slope of a function is infinite, as that of
#' `sqrt()` at 0, so is the gradient. A value that [nv_ifelse()] does not choose has the gradient 0, even
#' where it is infinite or not a number.
#'
#' @section Zero times infinity: By the chain rule a gradient is multiplied by the derivative of each op. A
#'   gradient that is 0 stays 0 there, even where the derivative is infinite or not a number: what has no
#'   influence on the result has none on the gradient. The same holds for tangents in forward mode ([jvp()]).
#'   Products of matrices, and sums of products, are differentiated as products of matrices, in which 0 times
#'   infinity is NaN as in the product itself.
#'
#' @section Complex numbers: The gradient of a real function `f` of `z = x + iy` is its derivative by `x`
#'   minus `i` times that by `y`, as in JAX: twice the Wirtinger derivative by `z`, `(df/dx - i * df/dy) / 2`.
#'   Its conjugate points uphill. For a holomorphic function `h`, the gradient of `Re(h(z))` is `h'(z)`. A
#'   change `dz` changes `f` by the real part of `sum(gradient * dz)`; in forward mode a tangent is the change
#'   of the value itself, so that ops that are not holomorphic, such as `Conj()`, `Mod()`, `Arg()` and `Re()`,
#'   have tangents too.
#'
#' @param f A function of tensors, jitted or not. For `gradient()` and `value_and_gradient()` it returns one
#'   float: 0-d, or a vector or an array of one element, such as `crossprod(x)` of a vector is.
#' @param wrt What to differentiate with respect to: names or positions of arguments, or paths into them as in
#'   `"params$w[[1]]"`; all leaves there are float tensors, or numbers, vectors and arrays of R, which are
#'   the tensors that they are to [jit()]. `NULL` for all arguments that are given. Others may be anything.
#' @param has_aux Whether `f` returns `list(value, aux)`, of which the value is differentiated; `aux` is any
#'   other result.
#' @param ... Arguments of `f`: float tensors or numbers of R, or lists of them.
#' @return `gradient()`: a function that returns a list, with an element for each of `wrt` by name, of the
#'   structure, dtypes, shapes and ambiguity of what it is the gradient of. The gradient of an input on which
#'   the result does not depend is zero.
#'
#'   `value_and_gradient()`: a function that returns `list(value = , gradient = )`, with `aux = ` if
#'   `has_aux`. The value is 0-d.
#'
#'   `vjp()`: `list(value = , pullback = )`. `pullback()` takes gradients of the results, in their structure,
#'   and returns those of the arguments as a list. It computes the value again.
#' @section Errors: `anvil_error_arg` if `f` is no function, or `wrt` is no such choice. When the functions
#' are called: `anvil_error_grad` if something in `wrt` is not a float tensor, if the result is not one
#' float, or an op on the way has no derivative.
#' @references A. Griewank and A. Walther, *Evaluating Derivatives* (2008).
#' @seealso [nv_stop_gradient()]
#' @examples
#' loss <- function(w, x, y) mean((x %*% w - y)^2)
#' x <- nv_tensor(matrix(c(1, 2, 3, 4, 5, 6), 3))
#' y <- nv_tensor(matrix(c(1, 0, 1), 3))
#' w <- nv_tensor(matrix(c(0.1, -0.2), 2))
#' gradient(loss, wrt = "w")(w, x, y)
#' step <- jit(function(w) w - 0.01 * gradient(loss, "w")(w, x, y)$w)
#' step(w)
#'
#' # The second derivative of x^3 at 2
#' gradient(function(x) gradient(function(x) x^3)(x)$x)(nv_scalar(2))
#'
#' out <- vjp(function(x) list(sum = sum(x), double = 2 * x), nv_tensor(c(1, 2)))
#' out$pullback(list(sum = nv_scalar(1), double = nv_tensor(c(0, 1))))
#' @export
gradient <- function(f, wrt = NULL) {
  f <- match_function(f)
  derived(f, check_wrt(wrt, f), function(result) result$gradient)
}

#' @rdname gradient
#' @export
value_and_gradient <- function(f, wrt = NULL, has_aux = FALSE) {
  check_flag("has_aux", has_aux)
  f <- match_function(f)
  derived(f, check_wrt(wrt, f), identity, has_aux)
}

#' @rdname gradient
#' @export
vjp <- function(f, ...) {
  f <- match_function(f)
  args <- list_dots(...)
  names(args) <- argument_names(f, args)
  check_taken(f, names(args))
  pullback <- saying_what_is_missing(function(gradient) {
    at_once(function() {
      pulled <- pull_along(f, args, wrt_paths(NULL, args), "vjp()", identity, function(graph, leaves) {
        .Call(anvil_pull_back, graph, leaves, gradients_of(gradient, .Call(anvil_graph_types, graph)))
      })
      pulled$gradient
    })
  })
  list(value = at_once(function() call_function(f, args)), pullback = pullback)
}

# A function with the formals of f that hands its arguments to `call` as a list.
with_formals_of <- function(f, call) {
  out <- function() {
    given <- given_arguments(match.call(expand.dots = TRUE), parent.frame())
    names(given) <- argument_names(f, given)
    call(given)
  }
  formals(out) <- formals_of(f)
  out
}

# A function with the formals of f that gives what `select` takes of value and gradient.
derived <- function(f, wrt, select, has_aux = FALSE) {
  force(wrt)
  with_formals_of(f, function(given) {
    select(at_once(function() {
      result <- gradient_along(f, given, wrt_paths(wrt, given), "gradient()", has_aux)
      if (!has_aux) return(result)
      list(value = result$value[[1L]], aux = result$value[[2L]], gradient = result$gradient)
    }))
  })
}

# Evaluates as part of the open trace; without one, as a program of its own, run at once.
at_once <- function(f) if (.Call(anvil_trace_depth) > 0L) f() else jit(f)()

# list(value, gradient) of a function that returns one float, with respect to what is at these paths. `by` is
# the transformation that the user called.
gradient_along <- function(f, given, paths, by, has_aux = FALSE) {
  pull_along(f, given, paths, by, function(out) check_loss(out, has_aux), function(graph, leaves) {
    .Call(anvil_pull_back, graph, leaves, NULL)
  })
}

# Traces f with new inputs in place of the leaves at these paths, and pulls gradients back through the graph.
# Gives list(value, gradient) in the structures of the result and of the arguments.
pull_along <- function(f, given, paths, by, finish, pull) {
  check_apart(paths, given)
  targets <- lapply(paths, function(path) check_differentiable(pluck(given, path), path_name(path)))
  given <- with_targets(given, paths, targets)
  leaves <- unlist_leaves(targets)
  prepare <- function(args, input) {
    for (path in paths) args <- put(args, path, input(pluck(args, path)))
    args
  }
  graph <- trace_with(
    f, given, paste("a function given to", by), nested = TRUE, finish = finish, prepare = prepare
  )
  result <- pull(graph, leaves)
  list(value = result[[1L]], gradient = restore(targets, named_as(result[[2L]], leaves)))
}

# ---- what to differentiate with respect to ----

# Checked here, not when the derivative is called: only arguments in `...` have names that f does not know.
check_wrt <- function(wrt, f) {
  ok <- is.null(wrt) || is.character(wrt) && !anyNA(wrt) ||
    is_numeric(wrt) && all(vapply(wrt, is_whole, NA)) && all(wrt >= 1)
  if (!ok || anyDuplicated(wrt)) {
    abort_arg("wrt", "different names or positions of arguments, or paths into them", describe(wrt))
  }
  known <- names(formals_of(f))
  own <- setdiff(known, "...")
  if (is_numeric(wrt)) {
    beyond <- wrt[wrt > length(own)]
    if (length(beyond)) {
      abort_arg("wrt", paste0("positions of arguments, at most ", length(own)), describe(beyond[1L]))
    }
    return(own[wrt])
  }
  for (name in wrt) {
    path <- parse_path_of(name)
    if (is.null(path)) {
      abort_arg("wrt", "names of arguments, or paths as in \"params$w[[1]]\"", describe(name))
    }
    if (!"..." %in% known && !path[[1L]] %in% own) {
      abort_arg("wrt", paste0("arguments of `f` (", paste(own, collapse = ", "), ")"), describe(name))
    }
  }
  wrt
}

# Paths by the names of `wrt`: lists of names and positions, the argument first.
wrt_paths <- function(wrt, given) {
  known <- names(given)
  if (is.null(wrt)) {
    keep <- !vapply(given, is.null, NA)
    # By name where there is one: those in `...` may have none.
    steps <- ifelse(nzchar(known), as.list(known), as.list(seq_along(given)))
    return(setNames(lapply(steps[keep], list), known[keep]))
  }
  setNames(lapply(wrt, function(name) {
    path <- parse_path_of(name)
    if (!path[[1L]] %in% known) {
      abort_arg(
        "wrt", paste0("arguments that are given (", paste(known[nzchar(known)], collapse = ", "), ")"),
        describe(name)
      )
    }
    path
  }), wrt)
}

# Checks that no path leads into another one: each leaf is an input once.
check_apart <- function(paths, given) {
  numbers <- restore(given, as.list(seq_along(unlist_leaves(given))))
  found <- lapply(paths, function(path) unlist_leaves(pluck(numbers, path)))
  from <- rep(names(paths), lengths(found))
  twice <- anyDuplicated(unlist(found))
  if (twice) {
    abort_arg(
      "wrt", "names, positions or paths that do not overlap",
      paste0("\"", from[twice], "\" beside others")
    )
  }
}

# Parses a path such as params$w[[1]]; NULL if the text is none.
parse_path_of <- function(text) if_it_fails(parse_path(str2lang(text)), NULL)

parse_path <- function(expr) {
  if (is.symbol(expr)) return(list(as.character(expr)))
  if (is.call(expr) && length(expr) == 3L && as.character(expr[[1L]]) %in% c("$", "[[")) {
    step <- expr[[3L]]
    if (is.symbol(step) && identical(expr[[1L]], quote(`$`))) step <- as.character(step)
    if (is.character(step) || is.numeric(step)) return(c(parse_path(expr[[2L]]), list(step)))
  }
  stop("not a path")
}

path_name <- function(path) {
  steps <- vapply(
    path[-1L], function(step) if (is.character(step)) paste0("$", step) else paste0("[[", step, "]]"), ""
  )
  paste0(path[[1L]], paste(steps, collapse = ""))
}

# The part of a nested list at a path; `arg` is the argument that held the path.
pluck <- function(x, path, arg = "wrt") {
  for (i in seq_along(path)) {
    step <- path[[i]]
    x <- .Call(anvil_items, x)
    inside <- is.list(x) && !is.object(x) &&
      (if (is.character(step)) step %in% names(x) else step <= length(x))
    if (!inside) abort_arg(arg, "paths into the arguments", paste0("\"", path_name(path), "\""))
    x <- x[[step]]
  }
  x
}

# The nested list with the part at a path replaced.
put <- function(x, path, value) {
  items <- .Call(anvil_items, x)
  items[[path[[1L]]]] <- if (length(path) > 1L) put(items[[path[[1L]]]], path[-1L], value) else value
  if (is.object(x)) .Call(anvil_with_items, x, items) else items
}

# The arguments with the values of targets in place of what was given at these paths, such as numbers of R.
with_targets <- function(given, paths, targets) {
  for (i in seq_along(paths)) given <- put(given, paths[[i]], targets[[i]])
  given
}

# Checks what to differentiate with respect to: float tensors, or lists of them. Numbers of R become tensors.
check_differentiable <- function(x, name) {
  refuse <- function(what, hint) {
    abort(
      "anvil_error_grad",
      paste0(
        "Cannot differentiate with respect to `", name, "`: gradients are of float tensors, not of ", what,
        ".\ni ", hint
      ),
      op = "gradient", reason = what
    )
  }
  leaves <- 0L
  map_leaves(x, function(leaf) {
    leaves <<- leaves + 1L
    if (!inherits(leaf, "AnvilValue")) {
      if (!is_operand(leaf)) refuse(describe(leaf), "Choose other arguments with `wrt = `.")
      leaf <- with_names(value_of(leaf), axis_names(leaf))
    }
    if (!is_differentiable(dtype(leaf))) {
      refuse(as.character(dtype(leaf)), "Convert it with `nv_convert()`, or choose others with `wrt = `.")
    }
    leaf
  })
  if (!leaves) refuse(describe(x), "Choose other arguments with `wrt = `.")
  x
}

# The result of a function to differentiate, checked: one float, which becomes 0-d, and another result if
# `has_aux`.
check_loss <- function(out, has_aux) {
  refuse <- function(got) {
    abort(
      "anvil_error_grad",
      paste0(
        "Only a function that returns one float has a gradient, not ", got,
        ".\ni Reduce it first, such as with `sum()` or `mean()`."
      ),
      op = "gradient", reason = got
    )
  }
  if (has_aux) {
    if (!is.list(out) || is.object(out) || length(out) != 2L) {
      abort(
        "anvil_error_grad",
        paste0("With `has_aux = TRUE`, `f` returns `list(value, aux)`, not ", describe(out), "."),
        op = "gradient"
      )
    }
    return(list(check_loss(out[[1L]], FALSE), out[[2L]]))
  }
  if (!inherits(out, "AnvilValue")) refuse(describe(out))
  type <- describe_leaves(out, "")
  if (!is_float(dtype(out)) || length(out) != 1L) refuse(type)
  if (length(shape(out))) nv_reshape(out, integer()) else out
}

# Gradients of all results as a flat list of values of their types.
gradients_of <- function(gradient, types) {
  leaves <- unlist_leaves(gradient)
  if (length(leaves) != length(types)) {
    abort_arg(
      "gradient", paste0("a gradient for each result (", length(types), ")"),
      paste0(length(leaves), " of them")
    )
  }
  got <- vapply(leaves, function(leaf) describe_leaves(leaf, ""), "")
  plain <- function(x) gsub("?", "", x, fixed = TRUE)
  wrong <- which(plain(got) != plain(types))[1L]
  if (!is.na(wrong)) abort_arg("gradient", paste("a gradient of type", types[wrong]), unname(got[wrong]))
  leaves
}
