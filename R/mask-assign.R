# `x[...] <- value` in a traced function, see mask.R: an R vector that is assigned a traced value becomes one,
# and keeps R's rules of assignment.

# x[...] <- value, or x[[...]] <- value if it is `one` element.
assigned <- function(x, value, one, ...) {
  if (missing(x)) abort_missing("x")
  if (is_traced_factor(x) && (is.character(value) || is.factor(value))) {
    # Labels are assigned as their codes.
    codes <- match(as.character(value), levels(x), nomatch = 0L)
    if (any(codes == 0L)) {
      unknown <- as.character(value)[codes == 0L][1L]
      abort_arg("value", "levels of the factor", describe(unknown), "Make it a level first, by `factor()`.")
    }
    return(factor_of(assigned(codes_of(x), codes, one, ...), levels(x)))
  }
  if (is_traced_factor(x) && is_traced(value) && !identical(plain_levels(value), plain_levels(x))) {
    codes <- codes_to_assign(value, as.vector(levels(x)))
    return(factor_of(assigned(codes_of(x), codes, one, ...), levels(x)))
  }
  # The methods of ours are called as such: dispatch from compiled code forgets how subscripts are written.
  plain <- function() {
    if (is_selection(x)) {
      method <- if (one) `[[<-.AnvilSelection` else `[<-.AnvilSelection`
      return(method(x, ..., value = value))
    }
    if (inherits(x, "AnvilValue")) {
      return(if (one) `[[<-.AnvilValue`(x, ..., value = value) else `[<-.AnvilValue`(x, ..., value = value))
    }
    if (one) `[[<-`(x, ..., value = value) else `[<-`(x, ..., value = value)
  }
  if (is_selection(value) && !one && !is_selection(x) && (is_traced(x) || is_r_vector(x))) {
    # R's own vectors and arrays take the common type.
    values <- selected(value)$values
    if (!is_traced(x)) {
      x <- turned(x, values)
    } else if (!is.null(attr(x, "from_r"))) {
      x <- from_r(with_names_of(nv_promote_to_common(x, values)[[1L]], x))
    }
    return(from_r_too(x, assign_selection(x, value, ...)))
  }
  if (is.data.frame(x) && !one) return(assigned_in_frame(x, ..., value = value))
  if (is.object(x)) return(if (is.null(attr(x, "from_r"))) plain() else assigned_in(x, value, one, ...))
  traced <- is_traced(value)
  if (is.list(x)) {
    # A list takes one value for each position.
    if (traced && !one) value <- as.list(value)
    return(plain())
  }
  if (is.null(x) && one && traced && (length(value) != 1L || makes_list())) x <- list()
  if (!is_r_vector(x)) return(plain())
  if (!traced && !any_traced_in(subscripts_of(...))) return(plain())
  # Where it grows, and where R has errors of its own. What is replaced need not be there.
  if (!any_traced_in(subscripts_of(...))) {
    x <- if (is.null(x)) vector(mode_of(value), 0L) else x
    x <- within_bounds(`[<-`(x, ..., value = vector(typeof(x), 1L)))
  }
  assigned_in(turned(x, value), value, one, ...)
}

# Whether R makes a list of NULL where one element is assigned by `[[`, as it does of several.
makes_list <- function() {
  x <- NULL
  x[[1L]] <- 1
  is.list(x)
}

# What R does with subscripts. Its own error becomes one with a class, of the user's call.
within_bounds <- function(expr) {
  tryCatch(expr, error = function(e) {
    if (inherits(e, "anvil_error") || is_time_limit(e)) stop(e)
    abort(
      "anvil_error_index",
      paste0("These subscripts select nothing to assign to.\ni R says: ", conditionMessage(e))
    )
  })
}

# Vectors and arrays of numbers, and NULL.
is_r_vector <- function(x) {
  !is_own_object(x) && (is.null(x) || is.numeric(x) || is.logical(x) || is.complex(x))
}

mode_of <- function(value) {
  if (is_float(dtype(value))) return("double")
  if (inherits(dtype(value), "ComplexType")) "complex" else "integer"
}

# The result of an assignment to something that was of R's.
from_r_too <- function(x, out) if (is.null(attr(x, "from_r"))) out else from_r(out)

# An R vector as a traced value that can be assigned this one.
turned <- function(x, value) {
  if (is.null(x)) {
    abort_arg(
      "x", "a vector with elements", "NULL",
      "How many elements are assigned is not known while tracing: begin with zeros, `numeric(n)`."
    )
  }
  if (is_traced(value) && !is.double(x) && !is.complex(x) && anyNA(x)) {
    if (!is_float(dtype(value)) && !inherits(dtype(value), "ComplexType")) {
      abort_arg(
        "x", paste("a vector without NA, which", as.character(dtype(value)), "has no value for"),
        describe(x), "Begin with zeros, or with `NA_real_`."
      )
    }
    storage.mode(x) <- "double"
  }
  names <- if (is.null(dim(x))) names(x) else dimnames(x)
  out <- nv_promote_to_common(array(x, dim(x) %||% length(x)), value)[[1L]]
  if (!is_traced(out)) out <- .Call(anvil_trace_lift, out, "x")
  if (is.null(dim(x)) && !is.null(names)) names(out) <- names
  if (!is.null(dim(x)) && !is.null(names)) dimnames(out) <- names
  from_r(out)
}

# The subscripts; one that is left out selects all: `TRUE`.
subscripts_of <- function(...) {
  written <- substitute(...())
  lapply(seq_along(written), function(i) {
    if (is_left_out(written[[i]], ..., at = i)) TRUE else mask_of_which(...elt(i))
  })
}

is_left_out <- function(written, ..., at) {
  if (identical(written, quote(expr = ))) return(TRUE)
  is.symbol(written) && eval(call("missing", as.name(paste0("..", at))))
}

# What of traced values of R's own is assigned: subscripts select, values are recycled, and vectors grow as
# they do in R.
assigned_in <- function(x, value, one, ...) {
  subscripts <- subscripts_of(...)
  if (!is_operand(value)) return(if (one) `[[<-`(x, ..., value = value) else `[<-`(x, ..., value = value))
  # `NA` is a number to R.
  value <- with_missing(value, list(x))
  common <- nv_promote_to_common(x, as_operand(value))
  if (!is_same_type(common[[1L]], x)) x <- from_r(with_names_of(common[[1L]], x))
  value <- common[[2L]]
  sizes <- dim(x)
  if (any_traced_in(subscripts)) {
    given <- lapply(subscripts, function(i) if (identical(i, TRUE)) quote(expr = ) else i)
    return(from_r(.External(anvil_subset_assign, x, as.pairlist(given), environment(), one, NULL, value)))
  }
  if (length(sizes) == 1L && length(subscripts) == 1L) x <- grown(x, subscripts[[1L]])
  sizes <- dim(x)
  flat <- length(subscripts) == 1L && length(sizes) > 1L
  positions <- if (flat) {
    list(positions_in(length(x), subscripts[[1L]], sizes, dimnames(x)))
  } else {
    all <- if (length(subscripts)) subscripts else rep(list(TRUE), length(sizes))
    names <- if (length(sizes) == 1L) list(names(x)) else dimnames(x)
    Map(positions_in, sizes, all, list(NULL), names %||% list(NULL))
  }
  counts <- lengths(positions)
  if (prod(counts) == 0) return(x)
  target <- if (flat) as_flat(x) else x
  out <- .External(
    anvil_subset_assign, target, as.pairlist(lapply(positions, as_subscript)), environment(), FALSE, NULL,
    fitted_value(value, counts)
  )
  if (flat) out <- nv_reshape(out, sizes)
  from_r(with_names_of(out, x))
}

with_names_of <- function(out, x) {
  if (is.null(names(x)) && is.null(dimnames(x))) return(out)
  if (length(dim(x)) == 1L) names(out) <- names(x) else dimnames(out) <- dimnames(x)
  out
}

is_same_type <- function(x, y) dtype(x) == dtype(y) && ambiguous(x) == ambiguous(y)

# The positions that a subscript selects along an axis, or in a whole array, as R has it.
positions_in <- function(size, subscript, sizes, names) {
  if (identical(subscript, TRUE)) return(seq_len(size))
  subscript <- if (inherits(subscript, "AnvilValue")) as_array(subscript) else subscript
  all <- seq_len(size)
  if (!is.null(sizes)) dim(all) <- sizes
  if (!is.null(names)) if (is.null(sizes)) names(all) <- names else dimnames(all) <- names
  at <- by_base(as.vector(all[subscript]))
  if (anyNA(at)) {
    abort("anvil_error_index", paste0("A subscript is missing or beyond the size, ", size, "."))
  }
  at
}

# A range is cheaper than positions one by one, and one position drops the axis.
as_subscript <- function(at) {
  if (length(at) == 1L) return(at)
  if (all(diff(at) == 1L)) return(seq.int(at[1L], at[length(at)]))
  at
}

# A value in the shape of what it is assigned to: repeated, if it is shorter.
fitted_value <- function(value, counts) {
  if (ndims(value) == 0L) return(value)
  kept <- counts[counts != 1L]
  count <- prod(counts)
  if (count %% length(value) != 0 || !length(value)) {
    abort_arg(
      "value", paste("of a length that divides the number of elements it is assigned to,", count),
      paste("of length", length(value))
    )
  }
  flat <- as_flat(value)
  if (length(flat) != count) flat <- taken(flat, rep_len(seq_along(flat), count))
  nv_reshape(flat, kept)
}

# A vector that is assigned beyond its end grows, with NaN in between, and one that is assigned by a new name.
grown <- function(x, subscript) {
  if (!length(subscript) || anyNA(subscript)) return(x)
  old <- names(x)
  if (is.character(subscript)) {
    old <- old %||% character(length(x))
    new <- setdiff(subscript, old)
    subscript <- length(x) + seq_along(new)
  } else {
    if (!is_numeric(subscript)) return(x)
    new <- character(max(subscript, length(x)) - length(x))
  }
  count <- length(x) + length(new)
  if (count <= length(x)) return(x)
  gap <- setdiff(seq(length(x) + 1, count), subscript)
  if (length(gap) && !is_float(dtype(x))) {
    abort("anvil_error_index", paste0(
      "A vector of dtype ", as.character(dtype(x)), " has no value for element ", gap[1L],
      ", which is not assigned."
    ))
  }
  more <- rep(if (is_float(dtype(x))) NaN else 0L, count - length(x))
  out <- c(x, more)
  if (!is.null(old)) names(out) <- c(old, new)
  from_r(out)
}
