# Batches: the one place where a function is traced for one example and run on many.

#' Batches
#'
#' `vmap(f)` is a function with the arguments of `f` that works on many examples at once: `f` is written for
#' one example, and traced once for one; its ops are then given one axis more. There is no loop: products
#' become batched products, elementwise functions run over all examples, and what does not depend on the batch
#' is computed once.
#'
#' `nv_map()` means the same as `vmap(f)(xs)` along the first axes, as a loop: it computes one example after
#' the other, or `batch_size` at a time, in memory that does not grow with their number.
#'
#' `vmap()` may be used within itself, within [gradient()], [jvp()] and [jit()] and around them, in any order
#' and to any depth: `vmap(gradient(loss), in_axes = list(w = NULL, x = 1L))` gives a gradient for each
#' example. Names along the other axes, such as those of columns, are the names of each example.
#'
#' @section Branches and loops: Where the condition of [nv_if()] differs between examples, both branches are
#'   run and each example keeps the result of its own. Where that of [nv_while()] does, the loop goes on until
#'   all examples have ended, and those that have keep their state. An index that is out of range raises an
#'   error only in a branch or an iteration that its example takes. [nv_print()] shows all examples at once,
#'   also in a branch that only some of them take.
#' @section Random numbers: Each example needs a state of its own, such as those of [nv_split_state()] as
#'   columns of one tensor; its draws are those that it would get alone.
#' @section Cost: That of `f` on a single example, times their number, but for what examples share; much less
#'   than so many calls, since each op runs once. Memory: every intermediate value of `f` for all examples.
#'
#' @param f A function of tensors, jitted or not; for `nv_map()` of one argument.
#' @param in_axes The axis of each argument along which the examples lie: one number for all, or a list with
#'   such for each argument, by name or position. `NULL` stands for an argument that is the same for all
#'   examples, as does an argument that a named list leaves out. For an argument that is a list or an object
#'   itself, it may be a list of that structure. Negative axes count from the end.
#' @param out_axes The axis along which the results of the examples lie: one number, or a list of the
#'   structure of the result. `NULL` for results that are the same for all examples.
#' @param xs Tensors or R arrays of the same first size, in nested lists if needed.
#' @param batch_size Number of examples that are computed at once; `NULL` for one after the other.
#' @return `vmap()`: a function. `nv_map()`: the results, stacked along a new first axis.
#' @section Errors: `anvil_error_arg` for axes that are none of the arguments or results, or if no argument is
#'   batched. `anvil_error_batch` if arguments have different numbers of examples, if a result that differs
#'   between examples has no axis, and if an op has no rule for a batch.
#' @seealso [nv_scan()] for examples that depend on one another.
#' @examples
#' # The distance of each row of a matrix to a point
#' distance <- function(x, to) sqrt(sum((x - to)^2))
#' points <- nv_tensor(matrix(c(0, 3, 4, 0, 4, 3), 3))
#' vmap(distance, in_axes = list(x = 1L, to = NULL))(points, nv_tensor(c(0, 0)))
#'
#' # Many regressions through the origin at once
#' slope <- function(x, y) sum(x * y) / sum(x^2)
#' x <- nv_tensor(c(1, 2, 3))
#' y <- nv_tensor(rbind(c(2, 4, 6), c(1, 1, 1)))
#' vmap(slope, in_axes = list(NULL, 1L))(x, y)
#'
#' # Draws for three examples
#' states <- do.call(nv_concatenate, nv_split_state(nv_rng_state(1), 3))
#' vmap(function(state) nv_rnorm(2, state)$value, in_axes = 2L)(nv_reshape(states, c(2, 3)))
#'
#' nv_map(function(x) sqrt(sum(x^2)), points, batch_size = 2L)
#' @export
vmap <- function(f, in_axes = 1L, out_axes = 1L) {
  f <- match_function(f)
  check_axes(in_axes, "in_axes")
  check_axes(out_axes, "out_axes")
  check_axis_names(in_axes, f)
  with_formals_of(f, function(given) at_once(function() map_examples(f, given, in_axes, out_axes)))
}

#' @rdname vmap
#' @export
nv_map <- function(f, xs, batch_size = NULL) {
  check_function(f, "f", "x")
  if (!is.null(batch_size)) {
    check_count(batch_size, "batch_size")
    if (batch_size < 1) abort_arg("batch_size", "at least 1, or NULL", describe(batch_size))
  }
  force(xs)
  at_once(function() {
    leaves <- lapply(unlist_leaves(check_leaves(xs, "xs")), value_of)
    size <- examples_of(leaves, rep(1L, length(leaves)), .Call(anvil_paths, xs, "xs")[[2L]])
    if (is.null(batch_size)) return(map_one_by_one(f, xs))
    chunks <- size %/% batch_size
    whole <- chunks * batch_size
    batch <- vmap(f)
    rows <- function(x, from, to) nv_static_slice(
      x, c(from, rep(1L, ndims(x) - 1L)), c(to, shape(x)[-1L])
    )
    # A chunk is a run of neighbours: in column-major order the axis of the examples splits into those of a
    # chunk and the chunks, of which a loop takes the first axis.
    split <- function(x) {
      out <- rows(value_of(x), 1L, whole)
      out <- nv_transpose(nv_reshape(out, c(batch_size, chunks, shape(out)[-1L])), swapped(ndims(out) + 1L))
      like_rows(out, x, list(NULL, NULL))
    }
    join <- function(y) {
      out <- nv_reshape(nv_transpose(y, swapped(ndims(y))), c(whole, shape(y)[-(1:2)]))
      with_names(out, axis_names(y)[-1L])
    }
    if (whole == size) return(map_leaves(map_one_by_one(batch, map_leaves(xs, split)), join))
    last <- batch(map_leaves(xs, function(x) like_rows(rows(value_of(x), whole + 1L, size), x, list(NULL))))
    if (chunks == 0L) return(last)
    first <- map_leaves(map_one_by_one(batch, map_leaves(xs, split)), join)
    after <- function(x, y) with_names(nv_concatenate(x, y, axis = 1L), c(list(NULL), axis_names(x)[-1L]))
    restore(last, Map(after, unlist_leaves(first), unlist_leaves(last)))
  })
}

# What was made of the rows of a value, with the value's names along the other axes and levels.
like_rows <- function(out, x, first) {
  out <- with_names(out, c(first, axis_names(x)[-1L]))
  if (!is.null(levels(x))) attr(out, "levels") <- levels(x)
  out
}

# The permutation that exchanges the first two of some axes.
swapped <- function(rank) c(2:1, seq_len(rank)[-(1:2)])

map_one_by_one <- function(f, xs) {
  # Named, so that errors show f(x = x).
  name <- setdiff(names(formals(args(f))), "...")[1L]
  given <- function(x) if (is.na(name)) list(x) else setNames(list(x), name)
  nv_scan(function(state, x) list(state, call_function(f, given(x))), 0L, xs)$ys
}

# The leaves of a nested list, factors as their codes: these are data, as they are to jit().
data_leaves <- function(x) {
  lapply(unlist_leaves(x), function(leaf) if (is.factor(leaf)) data_as_argument(leaf) else leaf)
}

# f on a batch, in the open trace.
map_examples <- function(f, given, in_axes, out_axes) {
  leaves <- data_leaves(given)
  paths <- sub("^\\$", "", .Call(anvil_paths, given, "")[[2L]])
  axes <- axes_of_leaves(in_axes, given, "in_axes")
  batched <- which(!is.na(axes))
  if (!length(batched)) {
    other <- which(!vapply(leaves, is_operand, NA))[1L]
    if (is.null(in_axes) || is.na(other)) {
      abort_arg(
        "in_axes", "an axis for at least one argument", "NULL for all", "Without a batch, call `f` itself."
      )
    }
    abort_arg(
      "in_axes", "an axis for at least one tensor",
      paste0("for `", paths[other], "` alone, which is ", describe(leaves[[other]])),
      if (is.list(leaves[[other]])) "Convert it, such as with `unclass()`."
    )
  }
  for (i in batched) {
    if (!is_operand(leaves[[i]])) {
      abort_arg(
        "in_axes", paste0("NULL for `", paths[i], "`, which is ", describe(leaves[[i]])), describe(axes[i])
      )
    }
  }
  values <- lapply(leaves[batched], value_of)
  at <- axes[batched]
  for (i in seq_along(at)) at[i] <- axis_within(at[i], ndims(values[[i]]), "in_axes", paths[batched][i])
  size <- examples_of(values, at, paths[batched])
  values <- Map(function(x, axis) moved_axis(x, axis, ndims(x)), values, at)
  names <- Map(function(x, axis) axis_names(x)[-axis], leaves[batched], at)
  stacked <- over_examples(f, given, batched, values, size, function(out) {
    !is.na(axes_of_leaves(out_axes, out, "out_axes"))
  }, names)
  to <- axes_of_leaves(out_axes, stacked$result, "out_axes")
  results <- unlist_leaves(stacked$result)
  paths <- .Call(anvil_paths, stacked$result, "the result")[[2L]]
  alone <- which(stacked$batched & is.na(to))
  if (length(alone)) {
    abort(
      "anvil_error_batch",
      paste0(
        "`out_axes` is NULL for ", paths[alone[1L]], ", which differs between examples.",
        "\ni Give the axis along which they lie."
      ),
      path = paths[alone[1L]]
    )
  }
  restore(stacked$result, Map(function(x, axis, path) {
    if (is.na(axis)) return(x)
    rank <- ndims(x)
    # The name that a number has, as a vector of R, is none of the examples.
    if (rank == 1L) x <- unname(x)
    moved_axis(x, rank, axis_within(axis, rank, "out_axes", path))
  }, results, to, paths))
}

# f on a batch: the leaves of these numbers have the batch axis last. `repeated(out)` says which leaves of the
# result get it although they may be the same for all examples; `names` are those along the other axes. Gives
# list(result, batched), with the batch axis last.
over_examples <- function(f, given, batched, values, size, repeated, names = list(NULL)) {
  one <- function(x) nv_abstract(dtype(x), shape(x)[-ndims(x)], ambiguous(x))
  prepare <- function(args, input) {
    given <- data_leaves(args)[batched]
    with_leaves(args, batched, Map(function(x, names, leaf) {
      out <- with_names(input(one(x)), names)
      # Codes of a factor stay such.
      attr(out, "levels") <- levels(leaf)
      out
    }, values, names, given))
  }
  marks <- logical()
  name <- "a function given to vmap()"
  finish <- function(out) {
    marks <<- repeated(check_given(out))
    out
  }
  graph <- noting_draws(name, trace_with(f, given, name, nested = TRUE, prepare = prepare, finish = finish))
  made <- .Call(anvil_stack, graph, values, as.integer(size), as.integer(marks))
  list(result = made[[1L]], batched = made[[2L]])
}

# The number of examples, which is one along these axes of all values.
examples_of <- function(values, axes, paths) {
  for (i in seq_along(values)) axis_within(axes[i], ndims(values[[i]]), "in_axes", paths[i])
  sizes <- mapply(function(x, axis) shape(x)[axis], values, axes)
  other <- which(sizes != sizes[1L])[1L]
  if (!is.na(other)) {
    abort(
      "anvil_error_batch",
      paste0(
        "Arguments of a batch must have the same number of examples: `", paths[1L], "` has ", sizes[1L],
        " along axis ", axes[1L], ", `", paths[other], "` has ", sizes[other], " along axis ", axes[other],
        ".\ni `in_axes` says where they lie; `NULL` stands for an argument that all examples share."
      ),
      sizes = setNames(sizes[c(1L, other)], paths[c(1L, other)])
    )
  }
  sizes[1L]
}

# A value with one axis moved.
moved_axis <- function(x, from, to) {
  if (from == to) return(x)
  rank <- ndims(x)
  nv_transpose(x, append(seq_len(rank)[-from], from, after = to - 1L))
}

# An axis of a value of so many, counted from 1; `path` names the value.
axis_within <- function(axis, rank, arg, path) {
  at <- if (axis < 0L) rank + 1L + axis else axis
  if (at >= 1L && at <= rank) return(as.integer(at))
  has <- if (rank == 0L) "which has none" else paste0("which has ", rank)
  hint <- if (rank == 0L) "`NULL` stands for an argument that all examples share."
  abort_arg(arg, paste0("an axis of `", path, "`, ", has), describe(axis), hint)
}

# ---- axes as the user gives them ----

check_axes <- function(axes, arg) {
  if (is.null(axes)) return()
  if (is.list(axes) && !is.object(axes)) return(for (one in axes) check_axes(one, arg))
  named <- !is.null(names(axes))
  if (!is_whole(axes) || axes == 0 || named) {
    abort_arg(
      arg, "an axis (from 1, or negative from the end), NULL, or a list of these",
      if (named) "a vector with names" else describe(axes), if (named) "As in `list(x = 1L)`."
    )
  }
}

# Names are those of arguments.
check_axis_names <- function(axes, f) {
  known <- names(formals_of(f))
  unknown <- setdiff(names(axes), c(known, ""))
  if (length(unknown) && !"..." %in% known) {
    expected <- paste0("axes of arguments of `f` (", toString(known), ")")
    abort_arg("in_axes", expected, paste0("one of `", unknown[1L], "`"))
  }
}

# For each leaf its axis, NA for none. A number or NULL is for all leaves below.
axes_of_leaves <- function(axes, x, arg) {
  if (is.null(axes)) return(rep(NA_integer_, length(unlist_leaves(x))))
  if (!is.list(axes)) {
    leaves <- data_leaves(x)
    if (!length(leaves)) return(integer())
    # What is no data has no axes, unless it is asked for by itself.
    data <- vapply(leaves, is_operand, NA)
    if (length(leaves) > 1L || is.list(x)) return(ifelse(data, as.integer(axes), NA_integer_))
    return(as.integer(axes))
  }
  what <- if (arg == "in_axes") "the arguments" else "the result"
  x <- .Call(anvil_items, x)
  if (!is.list(x) || is.object(x)) {
    abort_arg(arg, paste("of the structure of", what), paste("a list for", describe(x)))
  }
  slots <- if (is.null(names(axes))) seq_along(x) else match(names(x), names(axes))
  if (is.null(names(axes)) && length(axes) != length(x)) {
    expected <- paste0("of the structure of ", what, ", a list of ", length(x))
    abort_arg(arg, expected, paste("one of", length(axes)))
  }
  stray <- setdiff(names(axes), names(x))
  if (length(stray)) {
    named <- setdiff(names(x), "")
    expected <- paste0(
      "of the structure of ", what,
      if (length(named)) paste(", with the names", toString(named)) else " without names"
    )
    abort_arg(arg, expected, paste0("one with `", stray[1L], "`"))
  }
  below <- function(i) axes_of_leaves(if (!is.na(slots[i])) axes[[slots[i]]], x[[i]], arg)
  unlist(lapply(seq_along(x), below))
}
