# How the functions of a loop take its state: whole, or by the names of its parts.

# Checks a function of a loop, which takes what `takes` names: "state", and beside it the number of the
# repetition before or a slice after it; `may_leave_out` says that it need not take the slice, which is NULL.
# Gives a function that makes the arguments of a call: of the state and of what is beside it.
state_arguments <- function(f, arg, state, takes = "state", may_leave_out = FALSE) {
  match_function(f, arg)
  beside <- match_parts(f, arg, part_names(state), takes, may_leave_out)
  if (identical(beside, character())) return(function(state, ...) state)
  if (!is.null(beside)) return(function(state, ...) c(state, setNames(list(...), beside)))
  if (may_leave_out && takes_state_alone(f)) return(function(state, ...) list(state))
  check_function(f, arg, takes)
  if (takes[1L] == "state") function(state, ...) list(state, ...) else function(state, ...) list(..., state)
}

takes_state_alone <- function(f) {
  order <- by_order(f, 1L)
  order$enough && !order$left_out && !"..." %in% names(formals_of(f))
}

# The names of arguments without a default.
needed_of <- function(formals) names(formals)[vapply(formals, identical, NA, quote(expr = ))]

# The names of the parts of a state, if it is a list with a name for each.
part_names <- function(state) {
  names <- names(state)
  is_named <- is.list(state) && !is.object(state) && length(names) && !anyNA(names) && all(nzchar(names))
  if (is_named && !anyDuplicated(names)) names
}

# The name of the argument beside the parts, if the arguments of f are the parts: "" where `...` takes it,
# none for a function of the parts alone; NULL if f takes the state whole. Arguments with defaults need not be
# parts, and `...` takes the parts that are not named.
match_parts <- function(f, arg, parts, takes, may_leave_out) {
  formals <- formals_of(f)
  named <- setdiff(names(formals), "...")
  if (is.null(parts) || !any(named %in% parts)) return(NULL)
  has_dots <- "..." %in% names(formals)
  is_pair <- length(takes) == 2L
  comes_first <- takes[length(takes)] == "state"
  # The number is the first, the slice what comes after the last part.
  beside <- if (!comes_first) named[max(which(named %in% parts)) + 1L] else if (is_pair) names(formals)[1L]
  beside <- as.character(setdiff(beside, c(NA, "...")))
  own <- setdiff(named, beside)
  needed <- intersect(own, needed_of(formals))
  is_beside_part <- any(beside %in% parts)
  missing <- setdiff(parts, c(own, beside))
  unknown <- setdiff(needed, parts)
  if (any(own %in% parts) && !length(unknown) && (has_dots || !length(missing))) {
    if (!is_pair) return(character())
    # A default stands for the slice that there is none of.
    if (may_leave_out && length(beside) && !has_dots && !beside %in% needed_of(formals)) return(character())
    if (length(beside) && !is_beside_part) return(beside)
    if (!length(beside) && has_dots) return("")
    if (!length(beside) && may_leave_out) return(character())
    clash <- if (is_beside_part) beside else named[length(named)]
    what <- c(i = "the number of the repetition", x = "the slice")[[setdiff(takes, "state")]]
    abort_arg(
      arg, paste0("a function with an argument for ", what, " whose name is that of no part of the state"),
      paste0("one whose ", if (is_beside_part) "first" else "last", " argument is the part `", clash, "`"),
      paste0("Rename one of the two, or take the state whole, as `", takes[takes == "state"], "`.")
    )
  }
  order <- by_order(f, length(takes))
  if (order$enough && !order$left_out || may_leave_out && takes_state_alone(f)) return(NULL)
  listed <- function(names) paste0("`", names, "`", collapse = ", ")
  are <- function(names, one, many) paste(listed(names), if (length(names) == 1L) one else many)
  hints <- c(
    if (length(missing) && !has_dots) are(missing, "is no argument of it.", "are no arguments of it."),
    if (length(unknown)) are(unknown, "is no part of the state.", "are no parts of the state.")
  )
  # All of its arguments are parts, of which the first is where the number comes.
  if (!length(hints)) hints <- "The number of the repetition comes first, then the parts by their names."
  abort_arg(
    arg,
    paste0("a function of ", paste(listed(takes)), ", or of the parts of the state, ", listed(parts)),
    paste("one of", listed(names(formals))), paste(hints, collapse = " ")
  )
}

# Traces what a loop runs many times, see trace_region(). What is traced `again`, has been warned of.
trace_body <- function(f, args, name, again, finish) {
  noting_draws(name, trace_region(f, args, name, finish), again = !again)
}

# ---- slices ----

# The type of what a loop over the first axis sees of a value, with the names along the other axes and the
# levels of a factor.
slice_type <- function(x) {
  value <- value_of(x)
  out <- nv_abstract(dtype(value), shape(value)[-1L], ambiguous(value))
  labels <- list(names = axis_names(x)[-1L], levels = levels(x))
  if (any(lengths(labels) > 0L)) attr(out, "labels") <- labels
  out
}

# Inputs with the labels of their types.
with_labels_of <- function(inputs, types) {
  labels <- lapply(unlist_leaves(types), attr, "labels")
  if (!any(lengths(labels) > 0L)) return(inputs)
  restore(inputs, Map(function(x, labels) {
    x <- with_names(x, labels$names)
    if (!is.null(labels$levels)) attr(x, "levels") <- labels$levels
    x
  }, unlist_leaves(inputs), labels))
}

# Values that are stacked along a first axis, with the names that one of them has along the others.
with_names_below <- function(x, one) {
  # One without axes may have a name, as a vector of R.
  if (ndims(x) < 2L) x else with_names(x, c(list(NULL), axis_names(one)))
}

# ---- a state that begins with numbers ----

# Traces what a loop runs many times, by `trace(init, note, again)`, which calls `note()` with the state that
# the body gives. Where that has known dtypes to which ambiguous ones of `init` yield, it is traced again from
# these: other parts of the state may follow, so until none does. Gives what `trace()` does, and the states
# before and after a repetition.
trace_from <- function(init, trace, again = FALSE) {
  force(init) # around the loop
  after <- known <- NULL
  made <- trace(init, function(state) {
    known <<- known_dtypes(init, state)
    after <<- if (is.null(known)) check_state(init, state) else state
  }, again)
  if (is.null(known)) return(list(made = made, init = init, after = after))
  trace_from(of_known_dtypes(init, known), trace, again = TRUE)
}

# Values whose leaves have these types, where they are not NULL.
of_known_dtypes <- function(x, known) {
  convert <- function(x, type) if (is.null(type)) x else nv_convert(x, type$dtype, type$ambiguous)
  restore(x, Map(convert, unlist_leaves(x), known))
}

# The types that leaves of a state get, to which the ambiguous ones that they begin with yield; NULL if there
# are none. Whole numbers of R yield to its other numbers, too.
known_dtypes <- function(before, after) {
  was <- value_types(before, "state")
  is <- value_types(after, "state")
  if (!identical(names(was), names(is))) return(NULL)
  before <- unlist_leaves(before)
  after <- unlist_leaves(after)
  if (length(before) != length(after)) return(NULL)
  known <- Map(function(x, y) {
    if (!ambiguous(x) || !identical(shape(x), shape(y)) || same_type(x, y)) return(NULL)
    # Rules may refuse the pair.
    common <- if_it_fails(common_dtype(dtype(x), dtype(y), TRUE, ambiguous(y)), NULL)
    if (identical(common, list(dtype = dtype(y), ambiguous = ambiguous(y)))) common
  }, before, after)
  if (!all(vapply(known, is.null, NA))) unname(known)
}

same_type <- function(x, y) identical(dtype(x), dtype(y)) && identical(ambiguous(x), ambiguous(y))

# ---- branches that give numbers ----

# What a branch gives, with these types if it is traced again for them.
branch_value <- function(value, name, known = NULL) {
  value <- if (is.function(value)) call_function(match_function(value, name), list()) else value
  value <- map_leaves(check_leaves(value, name), missing_as_double)
  if (is.null(known)) value else of_known_dtypes(value, known)
}

# A branch whose argument has been evaluated, so that it is traced again. What is no value of a trace is as it
# was; else the code is evaluated once more, which fails where that is an argument of the caller's.
branch_again <- function(value, code, frame) {
  is_value <- vapply(unlist_leaves(value), inherits, NA, "AnvilValue")
  if (any(is_value)) function() eval(code, frame) else function() value
}

# R's `NA`, which is a logical there until it is assigned a number: a double's, as no boolean is missing.
missing_as_double <- function(x) {
  if (is.logical(x) && !is.object(x) && anyNA(x)) storage.mode(x) <- "double"
  x
}

# The types that the numbers of a branch get from the others, see known_dtypes().
dtypes_among <- function(value, others) {
  each <- Filter(Negate(is.null), lapply(others, function(other) known_dtypes(value, other)))
  join <- function(x, y) {
    if (is.null(x) || is.null(y)) return(x %||% y)
    if_it_fails(common_dtype(x$dtype, y$dtype, x$ambiguous, y$ambiguous), x)
  }
  if (length(each)) Reduce(function(x, y) Map(join, x, y), each)
}

# Branches that are code assign to the variables of the function in which they are written. Each begins with
# what these were before; afterwards they are what the branches made them, values of their traces, and not in
# silence what they were. Gives list(run, end): `run(k, f)` calls f for the branch k.
variables_apart <- function(code, frame) {
  assigned <- lapply(code, names_assigned)
  names <- unique(unlist(assigned))
  is_there <- function(names) vapply(names, exists, NA, envir = frame, inherits = FALSE)
  values <- function(names) mget(names[is_there(names)], envir = frame)
  put <- function(values) for (name in names(values)) assign(name, values[[name]], envir = frame)
  before <- if (length(names)) if_it_fails(values(names), NULL)
  if (is.null(before)) return(list(run = function(k, f) f(), end = function() NULL))
  left <- list()
  list(
    run = function(k, f) {
      rm(list = names[is_there(names)], envir = frame)
      put(before)
      value <- f()
      own <- values(as.character(unique(assigned[[k]])))
      left[names(own)] <<- own
      value
    },
    end = function() put(left)
  )
}

# The variables that code assigns, but for functions in it.
names_assigned <- function(code) {
  if (!is.call(code) || identical(code[[1L]], quote(`function`))) return(NULL)
  target <- if (as.character(code[[1L]])[1L] %in% c("<-", "=", "for")) code[[2L]]
  while (is.call(target)) target <- target[[2L]]
  parts <- as.list(code)
  parts <- parts[!vapply(parts, identical, NA, quote(expr = ))]
  c(if (is.symbol(target)) as.character(target), unlist(lapply(parts, names_assigned)))
}

# ---- the state after a repetition ----

check_state <- function(before, after) {
  was <- value_types(before, "state")
  is <- value_types(after, "state")
  check_same_types(
    was, is, "The state of a loop must keep its structure and types.",
    function(was, is) {
      if (is.null(is)) return(paste(was, "is gone"))
      if (is.null(was)) paste(is, "is new") else paste(was, "became", is)
    },
    state_hint(before, was, is)
  )
  check_state_names(before, after, names(was))
  after
}

# The body is traced once, with the names that the state begins with: were they others after it, they would be
# wrong in the iterations that follow.
check_state_names <- function(before, after, paths) {
  named <- function(x) lapply(unlist_leaves(x), axis_names)
  was <- named(before)
  is <- named(after)
  differs <- which(!vapply(is, is.null, NA) & !vapply(was, is.null, NA) & !mapply(identical, was, is))
  if (!length(differs)) return()
  shown <- function(names) toString(unlist(names), 60L)
  at <- differs[1L]
  abort(
    "anvil_error_structure",
    paste0(
      "The state of a loop must keep the names of its elements.\nx ", paths[at], ": ", shown(was[[at]]),
      " became ", shown(is[[at]]), ".\ni Use `unname()` on the state that it begins with, or gives."
    ),
    path = paths[at], before = was[[at]], after = is[[at]]
  )
}

# The state after a loop. It has the names that it began with if the body gives them too.
keep_names <- function(init, after, made) {
  restore(init, named_alike(made, unlist_leaves(init), unlist_leaves(after)))
}

# What to write where the state changes. An R number begins with the default dtype where the body gives none
# that it yields to.
state_hint <- function(before, was, is) {
  other <- "Convert it in the body, or begin with the type that it becomes."
  if (!identical(names(was), names(is))) {
    if (!identical(unname(was), unname(is))) return(other)
    return("Give its parts by the names that they begin with, as in `list(a = , b = )`.")
  }
  leaves <- vapply(unlist_leaves(before), ambiguous, NA)
  shape_in <- function(types) sub("^[^[]*", "", types)
  axes <- function(types) lengths(regmatches(types, gregexpr("[0-9]+", shape_in(types))))
  length_of <- function(types) suppressWarnings(as.integer(gsub("\\D", "", shape_in(types))))
  if (any(axes(is) == 1L & axes(was) < 2L & length_of(is) == pmax(length_of(was), 1L, na.rm = TRUE) + 1L)) {
    return(paste(
      "It does not grow: begin with `numeric(n)`, and assign `z[i] <- ..`, or stack what each repetition",
      "gives with `nv_scan()`."
    ))
  }
  at <- which(axes(is) < axes(was))
  if (length(at)) {
    return(paste0(
      "If `ifelse()` makes `", names(was)[at[1L]],
      "`: it has the shape of its test, `nv_if(test, a, b)` has that of `a` and `b`."
    ))
  }
  at <- which(was != is & leaves & shape_in(was) == shape_in(is))
  if (!length(at)) return(other)
  at <- at[1L]
  dtype <- sub("\\[.*", "", is[[at]])
  if (shape_in(is[[at]]) == "[]") {
    return(paste0("Begin with a value of known dtype, `nv_scalar(.., dtype = \"", dtype, "\")`."))
  }
  paste0(
    "Begin with `", names(was)[at], "` of known dtype, `nv_tensor(.., dtype = \"", dtype,
    "\")`, or of that of a traced vector `x`, `.. + 0 * x[1]`."
  )
}
