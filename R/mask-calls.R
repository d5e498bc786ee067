# What the mask of a traced function binds in the place of base R's functions that call a function, see
# mask.R: what they are given is masked, and what that gives may be traced.

# nolint start: object_name_linter. Arguments have the names that they have in base R.

# Calls that one function makes of another, recorded: `call(f)` makes them with a function f that keeps what
# the user's gives, and then, if nothing of that is traced, again with one that gives it.
recorded <- function(FUN, call, combine) {
  answers <- list()
  call(function(...) {
    answers[[length(answers) + 1L]] <<- list(FUN(...))
    NULL
  })
  values <- lapply(answers, `[[`, 1L)
  if (any_traced_in(values)) return(combine(values))
  at <- 0L
  call(function(...) values[[at <<- at + 1L]])
}

# What is given for a `FUN.VALUE` of vapply(): of narrower types than that, numbers of its type.
of_type <- function(x, FUN.VALUE) {
  rank <- function(type) match(type, c("logical", "integer", "double"), nomatch = 0L)
  kind <- dtype(x)
  given <- if (inherits(kind, "BooleanType")) 1L else if (is_float(kind)) 3L else 2L
  wanted <- rank(typeof(FUN.VALUE))
  if (inherits(kind, "ComplexType")) given <- wanted <- if (is.complex(FUN.VALUE)) 4L else 0L
  if (given > wanted && !is.complex(FUN.VALUE)) {
    abort_arg(
      "FUN", paste("a function of results of type", typeof(FUN.VALUE), "as `FUN.VALUE`"),
      paste("one of", format(kind))
    )
  }
  if (given == wanted || is.complex(FUN.VALUE)) return(x)
  from_r(with_names_of(nv_promote_to_common(x, vector(typeof(FUN.VALUE), 1L))[[1L]], x))
}

# Further arguments of a function that is called for one element after the other: `[[i]]` takes those of a
# vector.
as_vectors <- function(values) lapply(values, function(x) if (is_traced(x)) as_flat(x) else x)

# Functions with an argument `axes`.
is_reduction <- function(f) {
  names <- c("sum", "prod", "max", "min", "any", "all", "mean")
  any(vapply(names, function(name) is_function_of_r(f, name), NA))
}

# Answers for each position along some axes of these sizes and names, as apply() puts them together.
over_margin <- function(answers, sizes, simplify, names, rest = NULL) {
  size <- unique(lengths(answers))
  if (!isTRUE(simplify) || length(size) != 1L || any(vapply(answers, is.list, NA))) {
    if (length(sizes) > 1L) return(array(answers, sizes, names))
    return(setNames(answers, names[[1L]]))
  }
  of_each <- lapply(answers, base::names)
  of_answer <- if (length(unique(of_each)) == 1L) of_each[[1L]]
  put_over_margin(unname(joined(unname(answers))), size, of_answer, sizes, names, rest)
}

# The elements of all answers, each with so many and these names.
put_over_margin <- function(out, size, of_answer, sizes, names, rest) {
  if (size != 1L) {
    first <- list(of_answer)
    # As many as there were may be the same, so that R calls the axis what it was.
    if (!is.null(base::names(rest)) && length(of_answer) == length(rest[[1L]])) {
      base::names(first) <- base::names(rest)[1L]
    }
    names <- c(first, names %||% vector("list", length(sizes)))
    sizes <- c(size, sizes)
  }
  from_r(with_names(if (length(sizes) > 1L) nv_reshape(out, sizes) else out, names))
}

# The parts of an array at each position along these axes, in the order of R's arrays: as the columns of a
# matrix, and as a list.
columns_of_margin <- function(x, margin) {
  sizes <- dim(x)
  rest <- setdiff(seq_along(sizes), margin)
  nv_reshape(nv_transpose(x, c(rest, margin)), c(prod(sizes[rest]), prod(sizes[margin])))
}

parts_of_margin <- function(x, margin, columns = columns_of_margin(x, margin)) {
  rest <- setdiff(seq_along(dim(x)), margin)
  lapply(seq_len(ncol(columns)), function(i) {
    one <- columns[, i]
    with_names(if (length(rest) > 1L) nv_reshape(one, dim(x)[rest]) else one, dimnames(x)[rest])
  })
}

made_by_r <- function(name, call, frame) {
  out <- own_call(name, call, frame)
  if (is.function(out)) reached(out, frame) else out
}

mask_calls <- list(
  # A function that R makes of an expression is none that the user's code defines.
  deriv = function(expr, ...) made_by_r("deriv", sys.call(), parent.frame()),

  deriv3 = function(expr, ...) made_by_r("deriv3", sys.call(), parent.frame()),

  do.call = function(what, args, quote = FALSE, envir = parent.frame()) {
    force(envir)
    if (is.function(what)) what <- reached(what, parent.frame())
    if (is.character(what) && length(what) == 1L) {
      f <- get0(what, envir, mode = "function")
      if (!is.null(f) && !identical(f, reached(f, parent.frame()))) what <- reached(f, parent.frame())
    }
    do.call(what, reached_elements(args, parent.frame()), quote, envir)
  },

  # A function that is taken by its name is reached as one that is called by it.
  get = function(x, pos = -1L, envir = if (identical(pos, -1L)) frame else as.environment(pos), mode = "any",
                 inherits = TRUE) {
    frame <- parent.frame()
    value <- get(x, envir = envir, mode = mode, inherits = inherits)
    if (is.function(value)) reached(value, frame) else value
  },

  match.fun = function(FUN, descend = TRUE) {
    frame <- parent.frame()
    # R looks for a name where the function is called from that asks; the traced one is called by us.
    from <- parent.frame(2L)
    if (identical(topenv(from), topenv())) from <- parent.env(frame)
    found <- if (is.character(FUN) && length(FUN) == 1L) get0(FUN, from, mode = "function")
    if (!is.null(found)) return(as_by_name(found, FUN, frame))
    reached(own_call("match.fun", sys.call(), frame), frame)
  },

  lapply = function(X, FUN, ...) {
    frame <- parent.frame()
    FUN <- reached(match.fun(FUN), frame)
    lapply(X = reached_elements(X, frame), FUN = FUN, ...)
  },

  sapply = function(X, FUN, ..., simplify = TRUE, USE.NAMES = TRUE) {
    frame <- parent.frame()
    FUN <- reached(match.fun(FUN), frame)
    X <- reached_elements(X, frame)
    made <- if (!isFALSE(simplify)) answers_for_elements(FUN, list(X), simplify == "array", ...)
    if (!is.null(made)) return(made)
    answers <- sapply(X = X, FUN = FUN, ..., simplify = FALSE, USE.NAMES = USE.NAMES)
    if (isFALSE(simplify)) return(answers)
    if (any_traced_in(answers)) return(simplified(answers, simplify == "array"))
    simplify2array(answers, higher = simplify == "array")
  },

  vapply = function(X, FUN, FUN.VALUE, ..., USE.NAMES = TRUE) {
    frame <- parent.frame()
    FUN <- reached(match.fun(FUN), frame)
    X <- reached_elements(X, frame)
    made <- if (length(FUN.VALUE) == 1L) answers_for_elements(FUN, list(X), FALSE, ...)
    if (!is.null(made) && length(made) == length(X)) return(of_type(made, FUN.VALUE))
    answers <- sapply(X = X, FUN = FUN, ..., simplify = FALSE, USE.NAMES = USE.NAMES)
    if (!any_traced_in(answers)) {
      return(vapply(answers, function(value) value, FUN.VALUE, USE.NAMES = USE.NAMES))
    }
    for (i in seq_along(answers)) {
      if (length(answers[[i]]) == length(FUN.VALUE)) next
      abort_arg(
        "FUN", paste("a function of results of length", length(FUN.VALUE), "as `FUN.VALUE`"),
        paste0("one of length ", length(answers[[i]]), " for element ", i)
      )
    }
    # A name of one value is none of the result, other than for sapply().
    if (length(FUN.VALUE) == 1L) answers <- lapply(answers, unname)
    out <- simplified(answers, !is.null(dim(FUN.VALUE)))
    # The names of `FUN.VALUE` are those of the result, if it has any. What axes are called, R drops here.
    names <- unname(dimnames(out) %||% vector("list", ndims(out)))
    of_value <- if (is.null(dim(FUN.VALUE))) list(names(FUN.VALUE)) else dimnames(FUN.VALUE)
    if (length(names) > 1L && !all(vapply(of_value, is.null, NA))) names[seq_along(of_value)] <- of_value
    if (length(names) > 1L) out <- with_dimnames(unname(out), names)
    of_type(from_r(out), FUN.VALUE)
  },

  mapply = function(FUN, ..., MoreArgs = NULL, SIMPLIFY = TRUE, USE.NAMES = TRUE) {
    FUN <- reached(match.fun(FUN), parent.frame())
    made <- if (!isFALSE(SIMPLIFY) && any_traced(...)) {
      do.call(answers_for_elements, c(list(FUN, list(...), SIMPLIFY == "array"), MoreArgs), quote = TRUE)
    }
    if (!is.null(made)) return(made)
    answers <- if (any_traced(...)) {
      more <- list(MoreArgs = MoreArgs, SIMPLIFY = FALSE, USE.NAMES = USE.NAMES)
      do.call(mapply, c(list(FUN = FUN), as_vectors(list(...)), more), quote = TRUE)
    } else {
      mapply(FUN, ..., MoreArgs = MoreArgs, SIMPLIFY = FALSE, USE.NAMES = USE.NAMES)
    }
    if (isFALSE(SIMPLIFY)) return(answers)
    if (any_traced_in(answers)) return(simplified(answers, SIMPLIFY == "array"))
    simplify2array(answers, higher = SIMPLIFY == "array")
  },

  Map = function(f, ...) {
    f <- reached(match.fun(f), parent.frame())
    if (any_traced(...)) do.call(Map, c(list(f), as_vectors(list(...))), quote = TRUE) else Map(f, ...)
  },

  Filter = function(f, x) {
    f <- reached(match.fun(f), parent.frame())
    if (!is_traced(x)) return(Filter(f, x))
    kept <- lapply(seq_along(x), function(i) f(x[[i]]))
    if (!any_traced_in(kept)) return(x[which(as.logical(unlist(kept)))])
    as_flat(x)[as_flat(as.logical(joined(kept)))]
  },

  Reduce = function(f, x, init, right = FALSE, accumulate = FALSE, simplify = TRUE) {
    f <- reached(match.fun(f), parent.frame())
    x <- reached_elements(x, parent.frame())
    # Without an answer for each element, nothing is put together.
    if (!accumulate || !length(x)) return(Reduce(f, x, init, right, accumulate))
    boxed <- function(a, b) list(f(a[[1L]], b[[1L]]))
    boxes <- lapply(x, list)
    answers <- if (missing(init)) {
      Reduce(boxed, boxes, right = right, accumulate = TRUE)
    } else {
      Reduce(boxed, boxes, list(init), right, TRUE)
    }
    if (!simplify || !all(lengths(answers) == 1L)) return(answers)
    if (any_traced_in(answers)) simplified(answers) else unlist(answers, recursive = FALSE)
  },

  simplify2array = function(x, higher = TRUE, ...) {
    if (is.list(x) && any_traced_in(x)) simplified(x, higher) else simplify2array(x, higher, ...)
  },

  apply = function(X, MARGIN, FUN, ..., simplify = TRUE) {
    FUN <- reached(match.fun(FUN), parent.frame())
    X <- as_matrix_of_values(X)
    if (is_selection(X)) {
      out <- applied_to_lines(X, MARGIN, FUN, ..., simplify = simplify)
      if (!is.null(out)) return(out)
    }
    if (!is_traced(X)) {
      call <- function(f) apply(X, MARGIN, f, ..., simplify = simplify)
      return(recorded(FUN, call, function(answers) {
        if (is.character(MARGIN)) MARGIN <- match(MARGIN, names(dimnames(X)))
        over_margin(answers, dim(X)[MARGIN], simplify, dimnames(X)[MARGIN], dimnames(X)[-MARGIN])
      }))
    }
    MARGIN <- checked_margin(MARGIN, X, "MARGIN")
    rest <- setdiff(seq_along(dim(X)), MARGIN)
    if (is_reduction(FUN) && !...length() && !is.unsorted(MARGIN) && length(rest)) return(FUN(X, axes = rest))
    sizes <- dim(X)
    columns <- columns_of_margin(X, MARGIN)
    names <- dimnames(X)
    if (isTRUE(simplify) && length(columns)) {
      lines <- nv_reshape(columns, c(if (length(rest)) sizes[rest], ncol(columns)))
      made <- answers_of_batch(FUN, list(lines), list(names[rest]), ...)
      if (!is.null(made)) {
        return(put_over_margin(
          as_flat(made$value), made$size, base::names(made$of), sizes[MARGIN], names[MARGIN], names[rest]
        ))
      }
    }
    answers <- lapply(parts_of_margin(X, MARGIN, columns), FUN, ...)
    over_margin(answers, sizes[MARGIN], simplify, names[MARGIN], names[rest])
  },

  asplit = function(x, MARGIN) {
    x <- as_matrix_of_values(x)
    if (!is_traced(x)) return(asplit(x, MARGIN))
    MARGIN <- checked_margin(MARGIN, x, "MARGIN")
    array(parts_of_margin(x, MARGIN), dim(x)[MARGIN], dimnames(x)[MARGIN])
  },

  rapply = function(object, f, classes = "ANY", deflt = NULL, how = c("unlist", "replace", "list"), ...) {
    how <- chosen("how", how, c("unlist", "replace", "list"))
    f <- reached(match.fun(f), parent.frame())
    # C compares classes, of which a traced value has others than the vector that it stands for.
    of_leaf <- function(x) {
      if (identical(classes, "ANY") || any(classes_of(x) %in% classes)) return(f(x, ...))
      if (how == "replace") x else deflt
    }
    if (!holds_tracer(object)) of_leaf <- NULL
    out <- if (is.null(of_leaf)) {
      rapply(object, f, classes, deflt, if (how == "replace") how else "list", ...)
    } else {
      rapply(object, of_leaf, how = if (how == "replace") how else "list")
    }
    if (how == "replace") return(out)
    if (how == "unlist") mask_base$unlist(out) else out
  },

  replicate = function(n, expr, simplify = "array") {
    answers <- lapply(integer(n), eval.parent(substitute(function(...) expr)))
    if (isFALSE(simplify)) return(answers)
    if (any_traced_in(answers)) return(simplified(answers, simplify == "array"))
    simplify2array(answers, higher = simplify == "array")
  },

  Vectorize = function(FUN, vectorize.args = arg.names, SIMPLIFY = TRUE, USE.NAMES = TRUE) {
    arg.names <- as.list(formals(FUN))
    arg.names[["..."]] <- NULL
    arg.names <- names(arg.names)
    out <- Vectorize(reached(match.fun(FUN), parent.frame()), vectorize.args, SIMPLIFY, USE.NAMES)
    # It calls mapply() by this name.
    if (!identical(out, FUN)) assign("mapply", mask_functions$mapply, environment(out))
    out
  }
)

# nolint end
