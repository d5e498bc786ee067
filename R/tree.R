#' Nested lists
#'
#' Parameters, states and results are often nested lists. These functions work on all of their *leaves*, the
#' parts that are no lists, as [jit()] sees them: bare lists, data frames (lists of their columns, as
#' [jit()] has them) and objects of classes of [register_tree_class()] are taken apart, `NULL` is kept where
#' it is and is no leaf, and anything else is a leaf, whatever it is. Leaves have the order in which they are
#' printed: the first element with all that is in it, then the second.
#'
#' @param f A function: of a leaf of each tree for `tree_map()`, of what was reduced so far and of the next
#'   leaf for `tree_reduce()`.
#' @param tree A nested list, or a leaf alone. Of `tree_unflatten()`: any tree of the wanted structure, whose
#'   leaves play no role, such as what [eval_shape()] gives.
#' @param ... More trees of the same structure; a name is that of the argument of `f`.
#' @param leaves A list of as many values as the tree has leaves, in their order.
#' @param name What paths begin with; if it is left out, the variable that is given as `tree`.
#' @param init What `f` begins with, also `NULL`; if it is left out, the first leaf.
#' @return `tree_map()`: the structure of `tree` with what `f` gives in place of the leaves. `tree_leaves()`:
#'   a list of the leaves. `tree_unflatten()`: the structure of `tree` with other leaves. `tree_paths()`: for
#'   each leaf, the R code that takes it out, such as `params$b[[3]]`. `tree_reduce()`: what `f` gave last.
#' @section Errors: `anvil_error_structure` if trees differ in structure: it names the first path at which
#' they do. `anvil_error_arg` if `f` is no function, if `leaves` is no list of as many as there are, if lists
#' are nested more than 256 deep, and for an empty tree without `init`. And whatever `f` raises.
#' @seealso [register_tree_class()]
#' @examples
#' params <- list(w = nv_tensor(c(1, 2)), b = list(nv_scalar(3), NULL))
#' tree_map(function(p) p * 2, params)
#' grads <- gradient(function(p) sum(p$w^2) + p$b[[1]])(params)$p
#' tree_map(function(p, g) p - 0.1 * g, params, grads)
#'
#' tree_paths(params)
#' tree_leaves(params)
#' tree_unflatten(params, list("first", "second"))
#' # The squared norm of all parameters
#' tree_reduce(function(total, p) total + sum(p^2), params, 0)
#' @export
tree_map <- function(f, tree, ...) {
  f <- match_function(f)
  others <- list_dots(...)
  check_taken(f, argument_names(f, c(list(NULL), others)))
  leaves <- unlist_leaves(tree)
  if (!length(others)) return(restore(tree, lapply(leaves, function(leaf) f(leaf))))
  for (i in seq_along(others)) check_same_structure(tree, others[[i]], i + 1L)
  restore(tree, .mapply(f, c(list(leaves), lapply(others, unlist_leaves)), NULL))
}

#' @rdname tree_map
#' @export
tree_leaves <- function(tree) unlist_leaves(tree)

#' @rdname tree_map
#' @export
tree_unflatten <- function(tree, leaves) {
  count <- length(unlist_leaves(tree))
  if (!is.list(leaves) || is.object(leaves)) abort_arg("leaves", "a list", describe(leaves))
  if (length(leaves) != count) {
    abort_arg("leaves", paste("a list of", count, "leaves, as in `tree`"), paste("one of", length(leaves)))
  }
  restore(tree, leaves)
}

#' @rdname tree_map
#' @export
tree_paths <- function(tree, name = NULL) {
  given <- substitute(tree)
  if (is.null(name)) name <- if (is.symbol(given)) as.character(given) else "tree"
  if (!is.character(name) || length(name) != 1L || is.na(name)) abort_arg("name", "a string", describe(name))
  found <- .Call(anvil_paths, tree, name)
  found[[2L]][are_leaves(found[[1L]])]
}

#' @rdname tree_map
#' @export
tree_reduce <- function(f, tree, init = NULL) {
  f <- match_function(f)
  leaves <- unlist_leaves(tree)
  begins <- !missing(init)
  if (!begins && !length(leaves)) abort_arg("init", "given for a tree without leaves", "left out")
  value <- if (begins) init else leaves[[1L]]
  for (leaf in if (begins) leaves else leaves[-1L]) value <- f(value, leaf)
  value
}

# Which of the items of anvil_paths are leaves.
are_leaves <- function(items) !vapply(items, function(item) is.null(item) || is_empty_list(item), NA)

# Checks that two trees have the same lists, names, objects and NULLs. `at` is the position of the second.
check_same_structure <- function(tree, other, at) {
  parts <- function(tree) {
    found <- .Call(anvil_paths, tree, "tree")
    what <- vapply(
      found[[1L]], function(x) if (is.null(x)) "NULL" else if (is_empty_list(x)) "list()" else "a leaf", ""
    )
    objects <- vapply(found[[3L]], function(kind) paste0("an object of class <", kind[[1L]][1L], ">"), "")
    list(paths = c(found[[4L]], found[[2L]]), what = c(objects, what), kinds = found[[3L]])
  }
  first <- parts(tree)
  second <- parts(other)
  if (identical(first, second)) return()
  rule <- "All trees must have the same structure."
  differs <- function(was, is, path) {
    abort(
      "anvil_error_structure",
      paste0(rule, "\nx ", path, ": ", was, " in the first tree, ", is, " in tree ", at, "."), path = path
    )
  }
  count <- min(length(first$paths), length(second$paths))
  same <- first$paths[seq_len(count)] == second$paths[seq_len(count)] &
    first$what[seq_len(count)] == second$what[seq_len(count)]
  i <- c(which(!same), count + 1L)[1L]
  if (i > length(first$paths) && i > length(second$paths)) {
    kinds <- which(!as.logical(mapply(identical, first$kinds, second$kinds)))
    differs("an object", "one with another static part", first$paths[kinds[1L]])
  }
  path <- if (i <= length(first$paths)) first$paths[i] else second$paths[i]
  there <- function(parts) {
    found <- match(path, parts$paths)
    if (is.na(found)) "nothing" else parts$what[found]
  }
  differs(there(first), there(second), path)
}
