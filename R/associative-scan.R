#' Scans and reductions by a function of two elements
#'
#' `nv_associative_scan()` gives, for each place along an axis, what the elements up to it make: `x1`,
#' `f(x1, x2)`, `f(f(x1, x2), x3)` and so on. `nv_reduce()` gives what all of them make, beginning with
#' `init`.
#'
#' `f` must be associative, `f(f(a, b), c)` the same as `f(a, f(b, c))`, but it may depend on the order of its
#' arguments. So many elements are taken at once: `f` is called on values that have any number of elements
#' along the axis, those of the first argument before those of the second, and joins each with its partner.
#' What works element by element, such as [nv_max()] or `a * b`, does that by itself; another function does
#' with [vmap()]. It is called about twice as often as the number of elements has bits (once as often, for
#' `nv_reduce()`), and all elements are joined as often as they would be one after the other, twice at most.
#'
#' Sums and products of floats are rounded in another order than one by one: for sums, products and extremes
#' see [nv_cumsum()] and [nv_reduce_sum()], which are faster and more accurate. [nv_scan()] repeats any
#' function of a state and an element, one after the other; so does [Reduce()] of R.
#'
#' @param f A function of two arguments, each of the structure of `xs`, that gives one like them.
#' @param xs,x A tensor, or a nested list of tensors, of the same size along the axis.
#' @param init What the reduction begins with: of the structure of `x`, each tensor without the axis, or 0-d.
#'   `f` gets it with the axis, of size 1. If it is left out, the reduction begins with the first element.
#' @param axis The axis, from 1.
#' @param reverse Whether the scan begins with the last element; `f` gets later elements first then.
#' @return `nv_associative_scan()`: the structure of `xs`, of the same shapes. `nv_reduce()`: the structure of
#'   `x`, without the axis; of no elements, `init`.
#' @section Errors: `anvil_error_arg` for tensors without the axis or of different sizes along it, a function
#' that does not take two arguments or gives something of another structure or shape, and if there are neither
#' elements nor `init`.
#' @seealso [nv_cumsum()], [nv_scan()]
#' @references G. E. Blelloch (1990). Prefix sums and their applications. Technical report CMU-CS-90-190.
#' @examples
#' nv_associative_scan(nv_max, nv_tensor(c(3, 1, 4, 1, 5)))
#' # A linear recurrence: y[i] = a[i] * y[i - 1] + b[i]
#' a <- nv_tensor(c(0.5, 0.5, 2))
#' b <- nv_tensor(c(1, 1, 1))
#' combine <- function(x, y) list(a = x$a * y$a, b = x$b * y$a + y$b)
#' nv_associative_scan(combine, list(a = a, b = b))$b
#' nv_reduce(nv_mul, nv_tensor(c(2, 3, 4)), init = 1)
#' # The product of matrices along the last axis
#' x <- nv_tensor(array(1:12, c(2, 2, 3)), dtype = "f32")
#' nv_reduce(vmap(function(a, b) a %*% b, in_axes = 3, out_axes = 3), x, axis = 3)
#' @export
nv_associative_scan <- function(f, xs, axis = 1L, reverse = FALSE) {
  check_flag("reverse", reverse)
  along <- joined_along(f, xs, "xs", axis)
  axis <- along$axis
  turn <- function(x) if (reverse) map_leaves(x, function(x) nv_reverse(x, axis)) else x
  turn(scan_pairs(along, turn(along$x), along$n))
}

#' @rdname nv_associative_scan
#' @export
nv_reduce <- function(f, x, init = NULL, axis = 1L) {
  along <- joined_along(f, x, "x", axis)
  axis <- along$axis
  x <- along$x
  n <- along$n
  if (missing(init)) {
    if (n == 0L) abort_arg("init", "given, as there are no elements", "left out")
  } else {
    init <- beginning(init, x, axis)
  }
  while (n > 1L) {
    # The last of an odd number is left for the next round.
    even <- n - n %% 2L
    joined <- join_neighbours(along, x, even %/% 2L)
    x <- if (even < n) beside(joined, part_of_axis(x, axis, n, n), axis) else joined
    n <- n - even %/% 2L
  }
  if (!missing(init)) x <- if (n == 0L) init else along$join(init, x, 1L)
  map_leaves(x, function(x) nv_reshape(x, shape(x)[-axis]))
}

# What a scan or reduction is along: list(x, axis, n, join), where join() is `f` on values of so many
# elements.
joined_along <- function(f, x, arg, axis) {
  match_function(f)
  check_function(f, "f", c("x", "y"))
  x <- map_leaves(x, value_of)
  leaves <- unlist_leaves(x)
  if (!length(leaves)) abort_arg(arg, "a tensor or a list of tensors", "an empty list")
  if (!is_whole(axis)) abort_arg("axis", "one axis", describe(axis))
  ranks <- vapply(leaves, ndims, 0L)
  if (axis < 0 && length(unique(ranks)) == 1L) axis <- axis + ranks[1L] + 1
  if (axis < 1 || axis > min(ranks)) {
    few <- min(ranks)
    abort_arg(
      arg, paste("tensors that all have axis", axis), paste("one of", few, if (few == 1L) "axis" else "axes")
    )
  }
  sizes <- vapply(leaves, function(x) shape(x)[axis], 0L)
  if (length(unique(sizes)) > 1L) {
    abort_arg(
      arg, "tensors of the same size along the axis", paste("sizes", paste(unique(sizes), collapse = " and "))
    )
  }
  join <- function(a, b, n) {
    out <- f(a, b)
    if (!same_structure(x, out)) {
      abort_arg("f", paste0("a function that gives the structure of `", arg, "`"), "one that gives another")
    }
    check_given(out)
    out <- map_leaves(out, value_of)
    for (i in seq_along(leaves)) {
      want <- replace(shape(leaves[[i]]), axis, n)
      got <- shape(unlist_leaves(out)[[i]])
      if (!identical(got, want)) {
        abort_arg(
          "f",
          paste0("a function that gives the shape of its arguments, (", paste(want, collapse = ","), ")"),
          paste0("one that gives (", paste(got, collapse = ","), ")"),
          "See `vmap()` for a function of single elements."
        )
      }
    }
    out
  }
  list(x = x, axis = as.integer(axis), n = sizes[1L], join = join)
}

same_structure <- function(tree, other) {
  tryCatch({
    check_same_structure(tree, other, 2L)
    TRUE
  }, anvil_error_structure = function(e) FALSE)
}

# `init` with the axis, of size 1, in the dtypes that it has beside `x`.
beginning <- function(init, x, axis) {
  if (!same_structure(x, init)) abort_arg("init", "of the structure of `x`", "of another one")
  leaves <- .mapply(function(init, x) {
    sizes <- shape(x)
    both <- nv_promote_to_common(init, x)
    flag <- ambiguous(both[[1L]]) && ambiguous(both[[2L]])
    common <- nv_convert(both[[1L]], dtype(both[[1L]]), ambiguous = flag)
    if (ndims(common) && !identical(shape(common), sizes[-axis])) {
      abort_arg(
        "init", paste0("0-d, or of shape (", paste(sizes[-axis], collapse = ","), ")"),
        paste0("of shape (", paste(shape(common), collapse = ","), ")")
      )
    }
    nv_reshape(nv_broadcast_to(common, sizes[-axis]), replace(sizes, axis, 1L))
  }, list(unlist_leaves(init), unlist_leaves(x)), NULL)
  restore(x, leaves)
}

# The elements `from`, `from + by`, ..., `to` along an axis.
part_of_axis <- function(x, axis, from, to, by = 1L) {
  map_leaves(x, function(x) {
    ones <- rep(1L, ndims(x))
    nv_static_slice(x, replace(ones, axis, from), replace(shape(x), axis, to), replace(ones, axis, by))
  })
}

beside <- function(x, y, axis) {
  leaves <- .mapply(
    function(x, y) nv_concatenate(x, y, axis = axis), list(unlist_leaves(x), unlist_leaves(y)), NULL
  )
  restore(x, leaves)
}

# Elements of both, in turn: as many of each.
in_turn <- function(x, y, axis) {
  pair <- function(x, y) {
    sizes <- shape(x)
    apart <- append(sizes, 1L, axis - 1L)
    both <- nv_concatenate(nv_reshape(x, apart), nv_reshape(y, apart), axis = axis)
    nv_reshape(both, replace(sizes, axis, 2L * sizes[axis]))
  }
  restore(x, .mapply(pair, list(unlist_leaves(x), unlist_leaves(y)), NULL))
}

# The first so many pairs of neighbours, joined.
join_neighbours <- function(along, x, pairs) {
  of_each <- function(first) part_of_axis(x, along$axis, first, 2L * pairs, 2L)
  along$join(of_each(1L), of_each(2L), pairs)
}

# Neighbours are joined, and what they make is scanned: these are the results at even places. Each joined with
# the element after it is the result there.
scan_pairs <- function(along, x, n) {
  if (n < 2L) return(x)
  axis <- along$axis
  half <- n %/% 2L
  even <- scan_pairs(along, join_neighbours(along, x, half), half)
  # Results at odd places: the first, and one after each even place but the last of all.
  first <- part_of_axis(x, axis, 1L, 1L)
  after <- (n - 1L) %/% 2L
  if (after == 0L) return(in_turn(first, even, axis))
  odd <- along$join(part_of_axis(even, axis, 1L, after), part_of_axis(x, axis, 3L, n, 2L), after)
  if (n %% 2L == 0L) return(in_turn(beside(first, odd, axis), even, axis))
  beside(
    in_turn(beside(first, part_of_axis(odd, axis, 1L, after - 1L), axis), even, axis),
    part_of_axis(odd, axis, after, after), axis
  )
}
