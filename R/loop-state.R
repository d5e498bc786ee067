# How the functions of a loop take its state: whole, or by the names of its parts.

# Checks a function of a loop, which takes what `takes` names: "state", and beside it the number of the
# repetition before or a slice after it. Gives a function that makes the arguments of a call: of the state and
# of what is beside it.
state_arguments <- function(f, arg, state, takes = "state") {
  match_function(f, arg)
  beside <- match_parts(f, arg, part_names(state), takes)
  if (!is.null(beside)) return(function(state, ...) c(state, setNames(list(...), beside)))
  check_function(f, arg, takes)
  if (takes[1L] == "state") function(state, ...) list(state, ...) else function(state, ...) list(..., state)
}

# The names of the parts of a state, if it is a list with a name for each.
part_names <- function(state) {
  names <- names(state)
  is_named <- is.list(state) && !is.object(state) && length(names) && !anyNA(names) && all(nzchar(names))
  if (is_named && !anyDuplicated(names)) names
}

# The name of the argument beside the parts (none for a function of the parts alone), if the arguments of f
# are the parts; NULL if it takes the state whole. Arguments with defaults need not be parts, and `...` takes
# the parts that are not named.
match_parts <- function(f, arg, parts, takes) {
  formals <- formals_of(f)
  named <- setdiff(names(formals), "...")
  if (is.null(parts) || !any(named %in% parts)) return(NULL)
  has_dots <- "..." %in% names(formals)
  beside <- switch(
    takes[length(takes)],
    # After the number, which is the first.
    state = if (length(takes) == 2L) names(formals)[1L],
    # After the last part.
    named[max(which(named %in% parts)) + 1L]
  )
  own <- setdiff(named, beside)
  needed <- own[vapply(formals[own], identical, NA, quote(expr = ))]
  is_beside_part <- isTRUE(beside %in% parts)
  missing <- setdiff(parts, c(own, if (is_beside_part) beside))
  unknown <- setdiff(needed, parts)
  # The slice is the last, so that none is left if all arguments are parts.
  no_beside <- length(takes) == 2L && (is_beside_part || anyNA(beside) || identical(beside, "..."))
  if (any(own %in% parts) && !length(unknown) && (has_dots || !length(missing))) {
    if (!no_beside) return(as.character(beside))
    if (!has_dots) {
      clash <- if (is_beside_part) beside else named[length(named)]
      what <- c(i = "the number of the repetition", x = "the slice")[[setdiff(takes, "state")]]
      abort_arg(
        arg, paste0("a function with an argument for ", what, " whose name is that of no part of the state"),
        paste0("one whose ", if (is_beside_part) "first" else "last", " argument is the part `", clash, "`"),
        paste0("Rename one of the two, or take the state whole, as `", takes[takes == "state"], "`.")
      )
    }
  }
  order <- by_order(f, length(takes))
  if (order$enough && !order$left_out) return(NULL)
  listed <- function(names) paste0("`", names, "`", collapse = ", ")
  are <- function(names, one, many) paste(listed(names), if (length(names) == 1L) one else many)
  abort_arg(
    arg,
    paste0("a function of ", paste(listed(takes)), ", or of the parts of the state, ", listed(parts)),
    paste("one of", listed(names(formals))),
    paste(c(
      if (length(missing) && !has_dots) are(missing, "is no argument of it.", "are no arguments of it."),
      if (length(unknown)) are(unknown, "is no part of the state.", "are no parts of the state.")
    ), collapse = " ")
  )
}

# Traces what a loop runs many times, see trace_region().
trace_body <- function(f, args, name, finish) noting_draws(name, trace_region(f, args, name, finish))
