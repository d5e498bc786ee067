# Jacobian and Hessian matrices: derivatives in all directions, as a batch of those in one.

#' Jacobian and Hessian matrices
#'
#' `jacobian(f)` is a function with the arguments of `f` that gives all partial derivatives of its results;
#' `hessian(f)` gives all second partial derivatives of the single float that `f` returns, and
#' `value_gradient_hessian(f)` its value, gradient and Hessian together, each intermediate value computed
#' once.
#'
#' In forward mode a Jacobian takes one pass of [jvp()] for each element of the arguments, in reverse mode one
#' of [vjp()] for each element of the results; all of them are one batch ([vmap()]), and what they share, such
#' as the value, is computed once. A Hessian is forward mode over reverse mode: one such pass over the
#' gradient for each element of the arguments. Memory: the tangents of every intermediate value, times the
#' number of passes.
#'
#' @section Observed information: At the maximum of a log-likelihood `l`, the covariance matrix of the
#'   estimates is `solve(-hessian(l, flat = TRUE)(...))`, whose rows and columns have the names of the
#'   parameters.
#'
#' @inheritParams gradient
#' @param f A function of tensors, jitted or not. For `jacobian()` its results are floats; for the others it
#'   returns one float.
#' @param mode `"forward"`, `"reverse"`, or `"auto"` for the one that takes fewer passes.
#' @param flat Whether the result is one matrix, with a row for each element of the results (of the arguments,
#'   for a Hessian) and a column for each element of the arguments, in column-major order. Its row and column
#'   names are made of the paths: `w[1,2]`, `params$b[3]`, or `w[age]` where the axis has names; a result that
#'   is no list is called `value`. In a traced function it is a tensor with these names.
#' @return `jacobian()`: a function that returns, in place of each result, a list by the names of `wrt` with
#'   the structure of the arguments there, whose elements have the axes of the result and then those of the
#'   argument.
#'
#'   `hessian()`: a function that returns a list by the names of `wrt` with the structure of the arguments, in
#'   place of each of which is such a list: `hessian(f)(x, y)$x$y` has the axes of `x` and then those of `y`.
#'   It is exactly symmetric: the mean of the derivatives in both orders, which differ in rounding.
#'
#'   `value_gradient_hessian()`: a function that returns `list(value = , gradient = , hessian = )`.
#'
#'   With `flat = TRUE`, a matrix of R in place of Jacobian and Hessian.
#' @section Errors: `anvil_error_arg` if `f` is no function, or `wrt`, `mode` or `flat` is no such choice.
#'   When the functions are called: `anvil_error_grad` if something in `wrt` is not a float tensor, if a
#'   result is no float, or for a Hessian not one float, and if an op on the way has no derivative.
#'   Complex numbers have no Jacobian here: use [jvp()] and [vjp()].
#' @seealso [hvp()] for the product of a Hessian and a vector, which needs no Hessian.
#' @examples
#' f <- function(x) list(a = x[1]^2 * x[2], b = 5 * x + sin(x[2]))
#' jacobian(f)(nv_tensor(c(1, 2)))$b$x
#' jacobian(f, flat = TRUE)(nv_tensor(c(1, 2)))
#'
#' # Standard errors of a logistic regression
#' loss <- function(beta, x, y) sum(nv_softplus(x %*% beta) - y * (x %*% beta))
#' x <- nv_tensor(cbind(1, c(-2, -1, 0, 1, 2, 3)), dtype = "f64")
#' y <- nv_tensor(matrix(c(0, 0, 1, 0, 1, 1)), dtype = "f64")
#' beta <- nv_tensor(matrix(c(-0.4, 0.9)), dtype = "f64")
#' sqrt(diag(solve(hessian(loss, wrt = "beta", flat = TRUE)(beta, x, y))))
#' @export
jacobian <- function(f, wrt = NULL, mode = c("auto", "forward", "reverse"), flat = FALSE) {
  f <- match_function(f)
  mode <- check_mode(mode)
  with_blocks(f, check_wrt(wrt, f), flat, function(given, paths, at, targets) {
    value <- check_results(call_function(f, given))
    results <- unlist_leaves(value)
    passes <- list(forward = length_of(targets), reverse = length_of(results))
    if (mode == "auto") mode <- if (passes$forward <= passes$reverse) "forward" else "reverse"
    by <- if (mode == "forward") forward_blocks else reverse_blocks
    list(
      blocks = by(f, given, paths, at, targets, results), rows = leaf_names(value, "value"), like = value,
      wrap = identity
    )
  })
}

#' @rdname jacobian
#' @export
hessian <- function(f, wrt = NULL, flat = FALSE) {
  f <- match_function(f)
  with_blocks(f, check_wrt(wrt, f), flat, second_derivatives(f, function(value, gradient, hessian) hessian))
}

#' @rdname jacobian
#' @export
value_gradient_hessian <- function(f, wrt = NULL, flat = FALSE) {
  f <- match_function(f)
  with_blocks(f, check_wrt(wrt, f), flat, second_derivatives(f, function(value, gradient, hessian) {
    list(value = value, gradient = gradient, hessian = hessian)
  }))
}

# A function with the formals of f that gives what `derive(given, paths, at, targets)` finds: blocks of a
# matrix, one for each result (in the structure `like`) and each leaf of the targets, which are the leaves
# `at` of the arguments; names of its rows; and what the matrix is part of.
with_blocks <- function(f, wrt, flat, derive) {
  check_flag("flat", flat)
  force(wrt)
  with_formals_of(f, function(given) {
    names <- NULL
    found <- at_once(function() {
      paths <- wrt_paths(wrt, given)
      check_apart(paths, given)
      targets <- lapply(paths, function(path) {
        check_real(check_differentiable(pluck(given, path), path_name(path)), path_name(path))
      })
      numbers <- restore(given, as.list(seq_along(unlist_leaves(given))))
      at <- unlist(lapply(paths, function(path) unlist_leaves(pluck(numbers, path))))
      made <- derive(with_targets(given, paths, targets), paths, at, targets)
      names <<- list(made$rows, target_names(targets))
      if (flat) return(made$wrap(bound(made$blocks, unlist_leaves(made$like), unlist_leaves(targets))))
      made$wrap(restore(made$like, lapply(made$blocks, function(row) restore(targets, row))))
    })
    if (!flat) return(found)
    # A matrix of R; in a trace what has no elements yet.
    named <- function(x) {
      if (inherits(x, "AnvilTensor")) matrix(as_array(x), nrow(x), dimnames = names) else with_names(x, names)
    }
    if (is.list(found)) utils::modifyList(found, list(hessian = named(found$hessian))) else named(found)
  })
}

# Value, gradient and Hessian of a function of one float, in the form of `with_blocks()`.
second_derivatives <- function(f, wrap) {
  function(given, paths, at, targets) {
    slope <- function(...) gradient_along(f, list(...), paths, "hessian()")
    made <- in_all_directions(
      targets, function(...) {
        moved <- push_leaves(slope, given, at, list(...), "hessian()")
        list(moved$value, moved$tangent$gradient)
      },
      function(out) rep(c(FALSE, TRUE), lengths(lapply(out, unlist_leaves)))
    )
    leaves <- unlist_leaves(targets)
    sizes <- vapply(leaves, length_of, 0)
    n <- sum(sizes)
    rows <- Map(function(row, size) nv_reshape(row, c(size, n)), unlist_leaves(made[[2L]]), sizes)
    whole <- do.call(nv_concatenate, c(unname(rows), axis = 1L))
    # Exactly symmetric: x + y is y + x.
    whole <- (whole + nv_transpose(whole)) * 0.5
    ends <- cumsum(sizes)
    blocks <- lapply(seq_along(leaves), function(i) {
      lapply(seq_along(leaves), function(k) {
        from <- c(ends[i] - sizes[i], ends[k] - sizes[k]) + 1L
        block <- nv_static_slice(whole, from, c(ends[i], ends[k]))
        block <- nv_reshape(block, c(shape(leaves[[i]]), shape(leaves[[k]])))
        to <- common_dtype(
          dtype(leaves[[i]]), dtype(leaves[[k]]), ambiguous(leaves[[i]]), ambiguous(leaves[[k]])
        )
        nv_convert(block, to$dtype, to$ambiguous)
      })
    })
    list(
      blocks = blocks, rows = target_names(targets), like = targets,
      wrap = function(hessian) wrap(made[[1L]]$value, made[[1L]]$gradient, hessian)
    )
  }
}

# ---- one pass for each element ----

# f on each of the unit vectors of the space of some tensors, given as one argument for each leaf, as a batch.
in_all_directions <- function(like, f, repeated) {
  seeds <- unit_vectors(unlist_leaves(like))
  names(seeds) <- NULL
  over_examples(f, seeds, seq_along(seeds), seeds, length_of(like), repeated)$result
}

# For each tensor, its part of all unit vectors of the space of all of them, which are numbered along the last
# axis.
unit_vectors <- function(leaves) {
  sizes <- vapply(leaves, length_of, 0)
  Map(function(x, end, size) {
    shape <- c(size, sum(sizes))
    is_it <- nv_iota(1L, "i32", shape, start = end - size + 1) == nv_iota(2L, "i32", shape)
    nv_reshape(nv_convert(is_it, dtype(x)), c(shape(x), sum(sizes)))
  }, leaves, cumsum(sizes), sizes)
}

# For each result and each leaf, a block with the axes of both.
forward_blocks <- function(f, given, paths, at, targets, results) {
  tangents <- in_all_directions(targets, function(...) {
    push_leaves(f, given, at, list(...), "jacobian()")$tangent
  }, function(out) rep(TRUE, length(unlist_leaves(out))))
  leaves <- unlist_leaves(targets)
  lapply(unlist_leaves(tangents), function(tangent) {
    own <- shape(tangent)[-ndims(tangent)]
    Map(function(part, x) nv_reshape(part, c(own, shape(x))), parts_of_last(tangent, leaves), leaves)
  })
}

reverse_blocks <- function(f, given, paths, at, targets, results) {
  gradients <- in_all_directions(results, function(...) {
    seeds <- list(...)
    pull_along(f, given, paths, "jacobian()", identity, function(graph, leaves) {
      .Call(anvil_pull_back, graph, leaves, seeds)
    })$gradient
  }, function(out) rep(TRUE, length(unlist_leaves(out))))
  columns <- lapply(unlist_leaves(gradients), function(gradient) {
    rank <- ndims(gradient)
    own <- shape(gradient)[-rank]
    Map(function(part, y) {
      nv_reshape(nv_transpose(part, c(rank, seq_len(rank - 1L))), c(shape(y), own))
    }, parts_of_last(gradient, results), results)
  })
  lapply(seq_along(results), function(o) lapply(columns, `[[`, o))
}

# A tensor cut along its last axis into parts as long as these tensors.
parts_of_last <- function(x, leaves) {
  sizes <- vapply(leaves, length_of, 0)
  rank <- ndims(x)
  own <- shape(x)[-rank]
  Map(function(end, size) {
    nv_static_slice(x, c(rep(1L, rank - 1L), end - size + 1), c(own, end))
  }, cumsum(sizes), sizes)
}

# ---- the matrix ----

# The blocks as one matrix.
bound <- function(blocks, results, leaves) {
  rows <- Map(function(row, y) {
    flat <- Map(function(block, x) nv_reshape(block, c(length_of(y), length_of(x))), row, leaves)
    do.call(nv_concatenate, c(unname(flat), axis = 2L))
  }, blocks, results)
  do.call(nv_concatenate, c(unname(rows), axis = 1L))
}

# Names of all elements of the leaves of a nested list that is called `root`, in column-major order.
leaf_names <- function(x, root) {
  found <- .Call(anvil_paths, x, root)
  paths <- if (root == "value") sub("^value(\\$|(?=\\[))", "", found[[2L]], perl = TRUE) else found[[2L]]
  unlist(Map(function(leaf, path) {
    sizes <- shape(leaf)
    if (!length(sizes)) return(path)
    index <- arrayInd(seq_len(prod(sizes)), sizes)
    names <- axis_names(leaf)
    labels <- lapply(seq_along(sizes), function(axis) {
      (names[[axis]] %||% seq_len(sizes[axis]))[index[, axis]]
    })
    paste0(path, "[", do.call(paste, c(labels, sep = ",")), "]", recycle0 = TRUE)
  }, found[[1L]], paths), use.names = FALSE)
}

# The same of what is differentiated by; what was given in `...` without a name has a number.
target_names <- function(targets) {
  names <- ifelse(nzchar(names(targets)), names(targets), paste0("[[", seq_along(targets), "]]"))
  unlist(Map(leaf_names, targets, names), use.names = FALSE)
}

# Number of elements of all leaves.
length_of <- function(x) sum(vapply(unlist_leaves(x), function(leaf) prod(shape(leaf)), 0))

# ---- checks ----

check_mode <- function(mode) {
  modes <- c("auto", "forward", "reverse")
  if (identical(mode, modes)) return("auto")
  if (!is.character(mode) || length(mode) != 1L || !mode %in% modes) {
    abort_arg("mode", "\"auto\", \"forward\" or \"reverse\"", describe(mode))
  }
  mode
}

check_real <- function(x, name) {
  map_leaves(x, function(leaf) {
    if (is_float(dtype(leaf))) return(leaf)
    abort(
      "anvil_error_grad",
      paste0(
        "Jacobian and Hessian matrices are of real numbers: `", name, "` is ", as.character(dtype(leaf)),
        ".\ni Use `jvp()` and `vjp()`, or a function of the real and imaginary parts."
      ),
      op = "jacobian", reason = as.character(dtype(leaf))
    )
  })
  x
}

# The results of a function that has a Jacobian.
check_results <- function(out) {
  if (!length(unlist_leaves(out))) {
    abort(
      "anvil_error_grad",
      paste0("Only a function that gives floats has a Jacobian, not one that gives ", describe(out), "."),
      op = "jacobian", reason = describe(out)
    )
  }
  map_leaves(check_given(out), function(leaf) {
    if (is_float(dtype(leaf))) return()
    abort(
      "anvil_error_grad",
      paste0(
        "Only a function whose results are all floats has a Jacobian, not one that gives ",
        describe_leaf(leaf), ".\ni Leave that out of the result, or convert it with `nv_convert()`."
      ),
      op = "jacobian", reason = as.character(dtype(leaf))
    )
  })
  map_leaves(out, value_of)
}
