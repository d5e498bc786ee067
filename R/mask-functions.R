# What the mask of a traced function binds in the place of base R's functions, see mask.R. Each looks at all
# of its arguments, or at what the function gives that it calls; without a traced value among these it calls
# base R's own.

# Of arguments that are not left out.
any_traced <- function(...) {
  for (i in seq_len(...length())) if (is_traced(...elt(i))) return(TRUE)
  FALSE
}

any_traced_in <- function(values) {
  for (x in values) if (is_traced(x)) return(TRUE)
  FALSE
}

# What would be an R vector or array, were its elements known: its subscripts keep the meaning that they have
# for these, see mask-assign.R and src/rust/src/subset.rs.
from_r <- function(x) {
  if (is_traced(x)) attr(x, "from_r") <- TRUE
  x
}

# The elements of all values in one vector, with names as c() makes them.
joined <- function(values) {
  values <- lapply(values[lengths(values) > 0L | vapply(values, is_traced, NA)], with_missing, values)
  from_r(do.call(c.AnvilValue, values, quote = TRUE))
}

# `NA` next to floats is one.
with_missing <- function(x, values) {
  if (is.object(x) || !is.logical(x) && !is.integer(x) || !anyNA(x)) return(x)
  if (any(vapply(values, function(y) is_traced(y) && is_float(dtype(y)), NA))) storage.mode(x) <- "double"
  x
}

# Answers of one function, some of them traced, as simplify2array() puts them together: a vector, an array
# with a last axis for the calls, or a list where they differ in length.
simplified <- function(answers, higher = FALSE) {
  size <- unique(lengths(answers))
  if (length(size) != 1L || size == 0L || any(vapply(answers, is.list, NA))) return(answers)
  out <- joined(if (size == 1L) answers else unname(answers))
  if (size == 1L) return(out)
  sizes <- unique(lapply(answers, dim))
  each <- if (higher && length(sizes) == 1L && !is.null(sizes[[1L]])) sizes[[1L]] else size
  out <- nv_reshape(out, c(each, length(answers)))
  first <- if (length(each) == 1L) list(names(answers[[1L]])) else dimnames(answers[[1L]])
  from_r(with_dimnames(out, c(first %||% vector("list", length(each)), list(names(answers)))))
}

# Whether one of the subscripts of `[` is traced. One alone needs no text: a loop of R takes thousands.
any_traced_subscript <- function(...) {
  if (...length() == 2L) return(!missing(..2) && inherits(..2, c("AnvilTracer", "AnvilSelection")))
  written <- substitute(...())
  for (i in seq_along(written)[-1L]) {
    if (is_left_out(written[[i]], ..., at = i)) next
    if (is_traced(...elt(i)) || is_selection(...elt(i))) return(TRUE)
  }
  FALSE
}

# Elements of R's vectors and arrays at computed places.
subset_of_known <- function(x, ...) {
  x <- value_of(as_operand(x))
  if (!is_traced(x)) x <- .Call(anvil_trace_lift, x, "x")
  is_matrix <- ...length() == 1L && is_traced(..1) && ndims(..1) == 2L
  if (is_matrix && !inherits(dtype(..1), "BooleanType")) {
    # A row of positions for each element, if it has as many columns as there are axes.
    at <- if (ncol(..1) == ndims(x)) position_of_element(..1, dim(x)) else as_flat(..1)
    return(from_r(`[.AnvilTracer`(as_flat(x), at)))
  }
  from_r(`[.AnvilTracer`(from_r(x), ...))
}

# The name of a function of R's with that of its package, which no mask binds in the place of `stats::sd`.
own_name <- function(name) {
  f <- r_function(name)
  package <- if (is.primitive(f)) "base" else getNamespaceName(environment(f))
  call(":::", as.name(package), as.name(name))
}

# The same of R's factors: a factor of codes.
subset_of_factor <- function(x, ...) {
  codes <- .Call(anvil_trace_lift, as_operand(as.integer(x)), "x")
  `[.AnvilTracer`(from_r(factor_of(codes, levels(x))), ...)
}

# R's own generic, called from the user's frame: R looks for methods where a generic is called.
called_from <- function(name, frame) {
  own <- eval(bquote(function(...) .(own_name(name))(...)))
  environment(own) <- frame
  attr(own, "calls_own") <- TRUE
  own
}

# R's own function with the call as it was written, which some of them read.
own_call <- function(name, call, frame) {
  call[[1L]] <- own_name(name)
  eval(call, frame)
}

with_dimnames <- function(x, names) {
  if (!all(vapply(names, is.null, NA))) dimnames(x) <- names
  x
}

as_flat <- function(x) if (ndims(x) == 1L) x else nv_reshape(x, length(x), order = "column")

# nolint start: object_name_linter. Arguments have the names that they have in base R.

# A call of a function that assigns, such as `[<-`(x, 2, 0): the last argument is the value, by name or not.
with_value_last <- function(call, frame) {
  names <- names(call) %||% character(length(call))
  names[length(call)] <- "value"
  names(call) <- names
  eval(call, frame)
}

# Whether two values are the same, is an error where elements decide that which are not known.
refuse_unknown_comparison <- function(what, x, y) {
  if (!decided_by_elements(x, y)) return(invisible())
  values <- lapply(list(x, y), function(value) if (is.list(value)) unlist_leaves(value) else list(value))
  abort_concrete(what, Find(function(value) is_traced(value) || is_selection(value), do.call(c, values)))
}

# A number and a traced value may be the same or not; what is no number is not.
decided_by_elements <- function(x, y) {
  unknown <- c(is_traced(x) || is_selection(x), is_traced(y) || is_selection(y))
  if (!any(unknown)) {
    return(is.list(x) && is.list(y) && length(x) == length(y) &&
      any(as.logical(mapply(decided_by_elements, unclass(x), unclass(y)))))
  }
  if (all(unknown)) return(!is_same(x, y))
  other <- if (unknown[1L]) y else x
  !is.null(other) && is_r_vector(other)
}

# Those that reduce all of their arguments.
reducing <- function(name) {
  eval(bquote(function(..., na.rm = FALSE) {
    if (...length() > 1L && !is.object(..1) && any_selection(...)) {
      return(summary_of_selections(.(name), unname(list(...)), list(na.rm = na.rm)))
    }
    if (...length() && is.object(..1) && is_traced_frame(..1)) {
      return(do.call(.(name), c(lapply(unname(list(...)), as_matrix_of_values), na.rm = na.rm), quote = TRUE))
    }
    if (...length() < 2L || is.object(..1) || !any_traced(...)) {
      return(.(as.name(name))(..., na.rm = na.rm))
    }
    values <- do.call(nv_promote_to_common, unname(lapply(Filter(length, list(...)), as_operand)))
    do.call(.(name), c(values, na.rm = na.rm))
  }))
}

# Those that take the matrix of a data frame: to R's own, that is an array of the elements.
of_frames <- function(name) {
  eval(bquote(function(x, ...) .(as.name(name))(as_matrix_of_values(x), ...)))
}

mask_base <- list(
  # R looks for a method for what is subscripted alone. That is among `...`, so that it keeps the name that it
  # has where the subscript is written.
  `[` = function(...) {
    x <- ..1
    if (!is.object(x)) {
      is_vector <- is.numeric(x) || is.logical(x) || is.complex(x)
      return(if (is_vector && any_traced_subscript(...)) subset_of_known(...) else `[`(...))
    }
    if (inherits(x, "AnvilSelection")) return(`[.AnvilSelection`(...))
    if (inherits(x, "AnvilValue") && length(oldClass(x)) == 2L) return(`[.AnvilTracer`(...))
    if (is.factor(x) && any_traced_subscript(...)) return(subset_of_factor(...))
    called_from("[", parent.frame())(...)
  },

  names = function(x) {
    given <- names(x)
    if (!is.null(given) || !is_traced(x) || is.null(attr(x, "unknown_names"))) return(given)
    abort(
      "anvil_error_concrete",
      paste0(
        "Which of the names these elements have, depends on values: it is not known while tracing.\n",
        "i Return the positions, such as `order(x)` or `which.max(x)`, and write `names(x)[i]` outside. ",
        "`unname(x)` drops the names first."
      )
    )
  },

  unname = function(obj, force = FALSE) {
    out <- unname(obj, force)
    if (is_traced(out)) attr(out, "unknown_names") <- NULL
    out
  },

  `[<-` = function(x, ..., value) {
    if (missing(value)) return(with_value_last(sys.call(), parent.frame()))
    assigned(x, value, one = FALSE, ...)
  },

  `[[<-` = function(x, ..., value) {
    if (missing(value)) return(with_value_last(sys.call(), parent.frame()))
    assigned(x, value, one = TRUE, ...)
  },

  `diag<-` = function(x, value) {
    if (is_traced(value) && is_r_vector(x)) x <- turned(x, value)
    from_r_too(x, `diag<-`(x, value))
  },

  replace = function(x, list, values) assigned(x, values, one = FALSE, list),

  c = function(...) {
    if (...length() > 1L && any_selection(...)) return(c.AnvilSelection(...))
    if (!...length() || !any_traced(...)) return(c(...))
    values <- list(...)
    # Factors have the levels of all of them.
    if (all(vapply(values, function(x) is.factor(x) || is_traced_factor(x), NA))) {
      if (length(unique(lapply(values, plain_levels))) > 1L || is.factor(..1)) return(joined_columns(values))
    }
    if (is.object(..1) && !is_traced(..1)) return(c(...))
    if (any(vapply(values, is.list, NA))) return(do.call(c, lapply(values, listed_if_traced), quote = TRUE))
    joined(values)
  },

  identical = function(x, y, ...) {
    refuse_unknown_comparison("identical()", x, y)
    identical(x, y, ...)
  },

  all.equal = function(target, current, ...) {
    if (missing(current)) return(all.equal(target, ...))
    if (is_traced(target) && is_same(target, current)) return(TRUE)
    refuse_unknown_comparison("all.equal()", target, current)
    called_from("all.equal", parent.frame())(target, current, ...)
  },

  `%in%` = function(x, table) {
    if (!any_traced(x, table)) return(x %in% table)
    # Complex numbers have no order in which they could be searched.
    is_complex <- mode(x) == "complex" || mode(table) == "complex"
    if (!is_complex) return(from_r(as_flat(nv_isin(x, table))))
    from_r(nv_reduce_any(nv_outer(as_flat(as_operand(x)), as_flat(as_operand(table)), nv_eq), axes = 2L))
  },

  is.factor = function(x) (is_traced(x) || is_selection(x)) && !is.null(levels(x)) || is.factor(x),

  is.vector = function(x, mode = "any") {
    if (is_selection(x)) !is.array(x) && is_of_mode(x, mode) else is.vector(x, mode)
  },

  append = function(x, values, after = length(x)) {
    if (!is_traced(values) || is.object(x)) return(append(x, values, after))
    first <- seq_len(min(max(after, 0), length(x)))
    parts <- list(x[first], values, x[setdiff(seq_along(x), first)])
    if (is.list(x)) do.call(c, lapply(parts, listed_if_traced)) else joined(parts)
  },

  unlist = function(x, recursive = TRUE, use.names = TRUE) {
    listed <- without_classes_of_lists(x)
    if (!is.list(x) || !holds_tracer(listed)) return(unlist(x, recursive, use.names))
    if (inherits(x, "relistable")) {
      return(structure(mask_base$unlist(unclass(x), recursive, use.names), skeleton = x))
    }
    x <- listed
    if (!recursive && any(vapply(x, is.list, NA))) {
      return(unlist(lapply(x, listed_if_traced), FALSE, use.names))
    }
    names <- if (use.names) names(unlist(map_leaves(x, function(leaf) {
      structure(rep(0L, length(leaf)), names = names(leaf))
    })))
    out <- joined(unname(unlist_leaves(x)))
    names(out) <- names
    out
  },

  relist = function(flesh, skeleton = attr(flesh, "skeleton")) {
    if (is_traced(flesh)) relisted(flesh, skeleton) else relist(flesh, skeleton)
  },

  as.numeric = function(x, ...) if (is.list(x) && holds_tracer(x)) numbers_of(x) else as.numeric(x, ...),

  as.double = function(x, ...) if (is.list(x) && holds_tracer(x)) numbers_of(x) else as.double(x, ...),

  sum = reducing("sum"), prod = reducing("prod"), max = reducing("max"), min = reducing("min"),
  range = reducing("range"), any = reducing("any"), all = reducing("all"),

  # See noting_draws().
  set.seed = function(...) {
    draws$is_noted <- TRUE
    set.seed(...)
  },

  as.matrix = of_frames("as.matrix"), t = of_frames("t"), scale = of_frames("scale"),

  data.matrix = function(frame, ...) {
    if (is_traced_frame(frame)) as_matrix_of_values(frame, codes = TRUE) else data.matrix(frame, ...)
  },

  which = function(x, arr.ind = FALSE, useNames = TRUE) {
    if (!is_traced(x) || !inherits(dtype(x), "BooleanType")) return(which(x, arr.ind, useNames))
    if (isFALSE(arr.ind) || ndims(x) < 2L) return(selected_positions(x))
    at <- position_in_array(nv_iota(1L, "i32", length(x)), dim(x))
    axes <- if (ndims(x) == 2L) c("row", "col") else paste0("dim", seq_len(ndims(x)))
    if (!isFALSE(useNames)) at <- with_names(at, list(NULL, axes))
    selection(at, as_flat(x), 1L)
  },

  arrayInd = function(ind, .dim, .dimnames = NULL, useNames = FALSE) {
    if (!is_traced(ind) && !is_selection(ind)) return(arrayInd(ind, .dim, .dimnames, useNames))
    if (!isFALSE(useNames)) abort_arg("useNames", "FALSE in a traced function", describe(useNames))
    if (!is_selection(ind)) return(from_r(position_in_array(as_flat(ind), .dim)))
    parts <- vector_parts(ind)
    selection(position_in_array(parts$values, .dim), parts$mask, 1L)
  },

  log = function(x, base) {
    if (missing(base)) return(log(x))
    # R looks for a method for the number alone.
    if (is_traced(base) && !is.object(x) && is_operand(x)) log(x) / nv_log(base) else log(x, base)
  },

  seq = function(...) if (any_traced(...)) traced_seq(function() seq(...), ...) else seq(...),

  matrix = function(data = NA, nrow = 1, ncol = 1, byrow = FALSE, dimnames = NULL) {
    if (!is_traced(data)) {
      given <- !c(missing(data), missing(nrow), missing(ncol), missing(byrow), missing(dimnames))
      arguments <- c("data", "nrow", "ncol", "byrow", "dimnames")[given]
      return(eval(as.call(c(quote(matrix), sapply(arguments, as.name, simplify = FALSE)))))
    }
    count <- length(data)
    size <- function(arg, given) {
      if (is_whole(given) && given >= 0) return(given)
      abort_arg(arg, "a whole number, at least 0", describe(given))
    }
    sizes <- if (missing(nrow) && missing(ncol)) {
      c(count, 1)
    } else if (missing(nrow)) {
      c(ceiling(count / size("ncol", ncol)), ncol)
    } else if (missing(ncol)) {
      c(size("nrow", nrow), ceiling(count / nrow))
    } else {
      c(size("nrow", nrow), size("ncol", ncol))
    }
    check_flag("byrow", byrow)
    filled <- filling(data, sizes)
    # By columns, so that what is repeated stays a broadcast.
    out <- if (byrow) t(nv_reshape(filled, rev(sizes))) else nv_reshape(filled, sizes)
    from_r(if (is.null(dimnames)) out else with_dimnames(out, dimnames))
  },

  sort.int = function(x, partial = NULL, na.last = NA, decreasing = FALSE, method, index.return = FALSE) {
    if (!is_traced(x)) return(own_call("sort.int", sys.call(), parent.frame()))
    sort(x, decreasing = decreasing, na.last = na.last, index.return = index.return)
  },

  sort.list = function(x, partial = NULL, na.last = TRUE, decreasing = FALSE, method) {
    if (!is_traced(x)) return(own_call("sort.list", sys.call(), parent.frame()))
    order(x, na.last = na.last, decreasing = decreasing)
  },

  pmax.int = function(..., na.rm = FALSE) {
    if (any_traced(...)) pmax(..., na.rm = na.rm) else pmax.int(..., na.rm = na.rm)
  },

  pmin.int = function(..., na.rm = FALSE) {
    if (any_traced(...)) pmin(..., na.rm = na.rm) else pmin.int(..., na.rm = na.rm)
  },

  array = function(data = NA, dim = length(data), dimnames = NULL) {
    if (!is_traced(data)) return(array(data, dim, dimnames))
    out <- nv_reshape(filling(data, dim), dim)
    from_r(if (is.null(dimnames)) out else with_dimnames(out, dimnames))
  }
)

# nolint end

# What takes a part of a list or an environment, where it is called: a function that is masked, too.
mask_parts <- list(
  `$` = function(x, name) {
    call <- call("$", quote(x), substitute(name))
    # R looks for a method of the user's where it is called.
    if (is.object(x)) call[[1L]] <- base::`$`
    part <- if (is.object(x)) eval(call, list(x = x), parent.frame()) else eval(call)
    if (is.function(part)) reached(part, parent.frame()) else part
  },
  `[[` = function(x, ...) {
    part <- if (is.object(x)) called_from("[[", parent.frame())(x, ...) else x[[...]]
    if (is.function(part)) reached(part, parent.frame()) else part
  }
)

# What says of which package a function is: of R's own, it gives what their names alone are in traced code.
mask_packages <- list(
  `::` = function(pkg, name) {
    name <- as.character(substitute(name))
    as_by_name(getExportedValue(as.character(substitute(pkg)), name), name, parent.frame())
  }
)

as_by_name <- function(value, name, frame) {
  if (!is.function(value)) return(value)
  # One of the user's of the same name is none of R's.
  if (!is.primitive(value) && !is_of_package(value)) return(reached(value, frame))
  own <- if_it_fails(r_function(name), NULL)
  if (!identical(value, own)) return(reached(value, frame))
  mask_functions[[name]] %||% if (is_generic_here(name)) get(name, topenv()) else value
}

# The positions in an array of rows, columns and so on, each of which must be one of its axis.
position_of_element <- function(at, sizes) {
  if (is_inexact(at)) at <- nv_convert(at, "i32")
  strides <- cumprod(c(1L, sizes))
  parts <- lapply(seq_along(sizes), function(k) (checked_codes(at[, k], sizes[k]) - 1L) * strides[k])
  nv_convert(Reduce(`+`, parts) + 1L, "i32")
}

# The rows, columns and so on of positions in an array, side by side.
position_in_array <- function(at, sizes) {
  at <- (if (is_inexact(at)) nv_convert(at, "i32") else at) - 1L
  columns <- list()
  for (size in as.integer(sizes)) {
    columns[[length(columns) + 1L]] <- nv_reshape(at %% size + 1L, c(length(at), 1L))
    at <- at %/% size
  }
  do.call(nv_concatenate, c(columns, axis = 2L))
}

# A list of a class of the user's, or one in a list, as the list that it is.
without_classes_of_lists <- function(x) {
  if (!is.list(x) || inherits(x, c("data.frame", "AnvilRows", taken_classes))) return(x)
  lapply(if (is.object(x)) unclass(x) else x, without_classes_of_lists)
}

listed_if_traced <- function(x) if (is_traced(x)) as.list(x) else x

# A list of single values as one vector.
numbers_of <- function(x) {
  long <- which(lengths(x) != 1L)
  if (length(long)) {
    abort_arg(
      "x", "a list of single values", paste("one whose element", long[1L], "has", length(x[[long[1L]]])),
      "`unlist(x)` joins all elements."
    )
  }
  unname(joined(unname(unlist_leaves(x))))
}

# Elements for an array of these sizes, repeated as often as they fit.
filling <- function(data, sizes) {
  check_no_factor(data)
  if (!is_numeric(sizes)) abort_arg("dim", "whole numbers", describe(sizes))
  count <- prod(sizes)
  if (length(data) == count) return(as_flat(data))
  if (!length(data) || count %% length(data) != 0) {
    abort_arg(
      "data", paste("values whose number divides that of the elements,", count),
      paste("a traced value with", length(data))
    )
  }
  taken(as_flat(data), rep_len(seq_along(data), count))
}

# seq() between numbers of which some are traced: how many there are must be known. `own` calls R's own.
# nolint start: object_name_linter. As in R.
traced_seq <- function(own, from = 1, to = 1, by, length.out = NULL, along.with = NULL, ...) {
  # nolint end
  count <- if (is.null(along.with)) length.out else length(along.with)
  given <- c(from = !missing(from), to = !missing(to), by = !missing(by))
  numbers <- c(if (given[1L]) list(from), if (given[2L]) list(to), if (given[3L]) list(by))
  # As positions along a value.
  if (is.null(count) && sum(given) == 1L && length(from) > 1L || !any_traced_in(c(numbers, list(count)))) {
    return(own())
  }
  if (is.null(count) || is_traced(count)) {
    abort_concrete("seq()", Find(is_traced, c(numbers, list(count, along.with))))
  }
  if (!is_whole(count) || count < 0) {
    abort_arg("length.out", "a whole number, at least 0", describe(count))
  }
  if (all(given)) abort_arg("by", "left out where `from`, `to` and `length.out` are given", describe(by))
  for (x in numbers) {
    if (is_operand(x) && length(x) == 1L) next
    abort_arg("...", "`from`, `to` and `by` of one number each", describe(x))
  }
  number <- function(x) if (is_traced(x)) as_number(x) else x
  from <- number(from)
  to <- number(to)
  if (given[["by"]]) by <- number(by)
  # As seq.default() computes them.
  steps <- seq_len(count) - 1
  out <- if (given[["by"]]) {
    if (given[["to"]]) to - rev(steps) * by else from + steps * by
  } else if (given[["from"]] && given[["to"]]) {
    inner <- seq_len(max(count - 2, 0))
    between <- if (count > 2) from + inner * ((to - from) / (count - 1))
    joined(list(from, between, to)[c(count > 0, count > 2, count > 1)])
  } else if (given[["to"]]) {
    to - rev(steps)
  } else {
    from + steps
  }
  from_r(out)
}

# Whether it is base R's function of this name, masked or not.
is_function_of_r <- function(f, name) {
  identical(f, get(name, baseenv())) || identical(f, mask_functions[[name]])
}

# Answers for each group that has elements, as tapply() puts them together.
over_groups <- function(answers, groups, default, simplify) {
  filled <- lengths(groups) > 0L
  if (!simplify || !all(lengths(answers) == 1L)) {
    groups[filled] <- answers
    return(groups)
  }
  values <- rep(list(default), length(groups))
  values[filled] <- answers
  out <- joined(values)
  if (length(dim(groups)) > 1L) {
    return(from_r(with_names(nv_reshape(out, dim(groups)), unname(dimnames(groups)))))
  }
  names(out) <- names(groups)
  out
}
