#' Objects as arguments and results
#'
#' `register_tree_class()` makes the objects of an S3 class of yours arguments and results of [jit()] and of
#' all that takes or gives nested lists: [gradient()], [vjp()], the states of [nv_while()], [nv_for()] and
#' [nv_scan()], [nv_if()], [tree_map()], [eval_shape()] and so on. A model, an optimiser's state or a dataset
#' then goes in and comes out as what it is.
#'
#' `flatten` says what an object consists of: its *children*, which are data (tensors, R numbers, lists of
#' these, or such objects again), and a *static part*, which is all else. `unflatten` makes an object of them.
#' Paths lead to the children by their names: `model$w`.
#'
#' In a traced function the children of an object are traced values, and its methods work as ever. The class
#' and the static part are part of the signature that a program is compiled for: another one makes another
#' program, as for a static argument of [jit()], and what can be one can be a static part. In a loop the state
#' keeps its static part.
#'
#' `unflatten` is given whatever takes the place of the children: tensors, traced values, abstract tensors, or
#' what a function of [tree_map()] gives. So both functions only take apart and put together; what computes
#' with children, or checks them, belongs into a constructor that users call.
#'
#' A class is found by its name, the first of `class(x)`: objects of a class that inherits from it need a
#' registration of their own. If a class is registered again, the new functions take the place of the old
#' ones, and functions that were jitted are traced anew for its objects. Registrations end with the session;
#' a package registers its classes in its `.onLoad()`. Objects of S4 classes, and those that are environments,
#' such as R6 objects, cannot be taken apart and made anew: they are errors.
#'
#' @param class Name of the class.
#' @param flatten A function of an object that gives `list(children = , static = )`: a list, mostly with
#'   names, and any R value, `NULL` if it is left out.
#' @param unflatten A function of such a list of children and a static part that gives an object of the class.
#' @return The name of the class, invisibly.
#' @section Errors: `anvil_error_arg` if `class` is not the name of a class that can be registered: one of
#' anvil's own, an S4 class, or a type of R's own; and if the others are no such functions.
#'
#' When an object is used: `anvil_error_structure`, with the field `tree_class`, for an S4 object or an
#' environment, if one of the functions fails or gives something else, or if what `unflatten` makes does not
#' have the structure and the static part that it was made of; `anvil_error_static` for a static part that
#' cannot be compared.
#' @seealso [tree_map()] and its like for nested lists.
#' @examples
#' linear <- function(w, b, link = "identity") {
#'   structure(list(w = w, b = b, link = link), class = "linear")
#' }
#' predict.linear <- function(object, x, ...) {
#'   eta <- x %*% object$w + object$b
#'   if (object$link == "log") exp(eta) else eta
#' }
#' register_tree_class(
#'   "linear",
#'   flatten = function(x) list(children = list(w = x$w, b = x$b), static = x$link),
#'   unflatten = function(children, static) linear(children$w, children$b, static)
#' )
#'
#' x <- nv_tensor(matrix(c(1, 2, 3, 4, 5, 6), 3))
#' y <- nv_tensor(matrix(c(1, 0, 1), 3))
#' loss <- function(model) mean((predict(model, x) - y)^2)
#' step <- jit(function(model) {
#'   tree_map(function(p, g) p - 0.01 * g, model, gradient(loss)(model)$model)
#' })
#' model <- step(linear(nv_fill(0, c(2, 1)), nv_scalar(0)))
#' class(model)
#' model$b
#' @export
register_tree_class <- function(class, flatten, unflatten) {
  if (!is.character(class) || is.object(class) || length(class) != 1L || is.na(class) || !nzchar(class)) {
    abort_arg("class", "the name of a class", describe(class))
  }
  refuse <- function(what) {
    abort_arg("class", "the name of an S3 class of yours", paste0("\"", class, "\", ", what))
  }
  if (grepl("^Anvil", class) || class == "JitFunction") refuse("which is anvil's own")
  if (class %in% types_of_r) refuse("a type of R's own")
  if (isClass(class) && !isVirtualClass(class)) refuse("an S4 class, whose objects cannot be taken apart")
  check_function(flatten, "flatten", "x")
  check_function(unflatten, "unflatten", c("children", "static"))
  settle_function(flatten)
  settle_function(unflatten)
  add_tree_class(class, flatten, unflatten)
  invisible(class)
}

add_tree_class <- function(class, flatten, unflatten) {
  tree_classes$count <- tree_classes$count + 1L
  at <- match(class, tree_classes$names, nomatch = length(tree_classes$names) + 1L)
  tree_classes$names[at] <- class
  tree_classes$entries[[at]] <- list(flatten = flatten, unflatten = unflatten, number = tree_classes$count)
}

# Registered classes, their functions, and how many registrations there were.
tree_classes <- new.env(parent = emptyenv())
tree_classes$names <- character()
tree_classes$entries <- list()
tree_classes$count <- 0L

# What class() gives for what is no object.
types_of_r <- c(
  "NULL", "logical", "integer", "double", "numeric", "complex", "character", "raw", "list", "function",
  "environment", "name", "call", "language", "expression", "matrix", "array", "pairlist", "externalptr"
)

# Whether an object is of a registered class.
is_tree_object <- function(x) is.object(x) && oldClass(x)[1L] %in% tree_classes$names

# Called by Rust for an object that is no tensor: NULL if its class is not registered, or
# list(children, kind), whose kind says with the children what it is: list(class, static part, number of the
# registration). A data frame is a list of its columns, list(columns, NULL, names of rows or their number).
flatten_object <- function(x) {
  class <- oldClass(x)
  if ("data.frame" %in% class && !class[1L] %in% tree_classes$names) return(columns_of_frame(x))
  at <- match(class[1L], tree_classes$names)
  if (is.na(at)) return(NULL)
  entry <- tree_classes$entries[[at]]
  if (isS4(x) || typeof(x) == "environment") {
    what <- if (isS4(x)) "an S4 object" else "an environment, as an R6 object is"
    abort_class(
      class, paste0("An object of class <", class[1L], "> cannot be taken apart: it is ", what, "."),
      "Register an S3 class over a list or a vector."
    )
  }
  parts <- call_for_class("flatten", class, entry$flatten(x))
  names <- names(parts)
  ok <- is.list(parts) && !is.object(parts) && !anyDuplicated(names) && "children" %in% names &&
    all(names %in% c("children", "static"))
  children <- if (ok) parts$children
  if (!is.list(children) || is.object(children)) {
    got <- if (ok) {
      paste("children that are", describe(children))
    } else if (is.list(parts) && length(names)) {
      paste("a list of", paste0("`", names, "`", collapse = ", "))
    } else {
      describe(parts)
    }
    abort_class(
      class,
      paste0("`flatten` of <", class[1L], "> must give `list(children = , static = )`, the first a list."),
      paste0("It gives ", got, ".")
    )
  }
  if (holds_tracer(parts$static)) {
    abort_class(
      class, paste0("The static part of <", class[1L], "> must be an ordinary R value, not a traced value."),
      "What is data belongs to the children."
    )
  }
  list(children, list(class, parts$static, entry$number))
}

# Called by Rust with list(children, kind): the object.
unflatten_object <- function(parts) {
  class <- parts[[2L]][[1L]]
  entry <- tree_classes$entries[[match(class[1L], tree_classes$names)]]
  x <- call_for_class("unflatten", class, entry$unflatten(parts[[1L]], parts[[2L]][[2L]]))
  if (!identical(oldClass(x), class)) {
    shown <- paste0("<", class, ">", collapse = " ")
    got <- if (is.object(x)) paste0("one of ", paste0("<", oldClass(x), ">", collapse = " ")) else describe(x)
    abort_class(
      class,
      paste0("`unflatten` of <", class[1L], "> must give an object of the class that it was, ", shown, "."),
      paste0("It gives ", got, ".")
    )
  }
  x
}

# As unflatten_object(), and checks that the object consists of what it was made of.
unflatten_checked <- function(parts) {
  x <- unflatten_object(parts)
  again <- flatten_object(x)
  before <- parts[[1L]]
  after <- if (is.null(again)) list() else again[[1L]]
  shown <- function(children) toString(names(children) %||% length(children))
  what <- if (length(before) != length(after) || !identical(names(before), names(after))) {
    paste0("Its children were ", shown(before), ", and are ", shown(after), ".")
  } else if (!identical(parts[[2L]], again[[2L]])) {
    "Its static part is another one."
  } else if (!all_same(unlist_leaves(before), unlist_leaves(after))) {
    "Its children have other values."
  }
  if (!is.null(what)) {
    class <- parts[[2L]][[1L]][1L]
    abort_class(
      class, paste0("`unflatten` of <", class, "> must make an object that `flatten` takes apart as before."),
      what
    )
  }
  x
}

all_same <- function(x, y) length(x) == length(y) && all(as.logical(mapply(is_same, x, y)))

# The value of an expression with a function of the user's. Errors of R's become ours.
call_for_class <- function(what, class, expr) {
  tryCatch(expr, error = function(e) {
    if (inherits(e, "anvil_error") || is_time_limit(e)) stop(e)
    abort_class(class, paste0("`", what, "` of <", class[1L], "> failed."), conditionMessage(e))
  })
}

abort_class <- function(class, rule, what) {
  abort("anvil_error_structure", paste0(rule, "\nx ", what), tree_class = class[1L])
}
