# Missing arguments, and arguments that a function does not use.

# A flag that no op uses.
check_flag <- function(arg, value) {
  # A tensor is no flag: a traced one could not be read.
  if (is.object(value) || !isTRUE(value) && !isFALSE(value)) abort_arg(arg, "TRUE or FALSE", describe(value))
}

# The number of an axis of `x`, from 1; negative ones count from the end.
axis_number <- function(axis, x) {
  rank <- ndims(x)
  if (!is_whole(axis) || axis == 0 || abs(axis) > rank) {
    abort_arg("axis", paste0("an axis from 1 to ", rank, ", or from -", rank, " to -1"), describe(axis))
  }
  if (axis < 0) rank + 1L + axis else axis
}

# Signals an error for unused arguments in `...`: without it, a misspelt `sum(x, axis = 1)` would silently be
# the sum of all elements. The `...` are not evaluated. `.values`: arguments without a name are used.
# `.known`: names that are used; `.named`: a tensor is a value, whatever its name, as in
# `do.call(sum, list(a = x))`.
check_dots <- function(..., .known = character(), .values = FALSE, .named = FALSE) {
  count <- ...length()
  if (count == 0L) return(invisible())
  names <- ...names()
  if (is.null(names)) {
    if (.values) return(check_dots_given(substitute(list(...))))
    names <- character(count)
  }
  is_unread <- if (.values) !names %in% c("", .known) else !names %in% .known
  if (.named) is_unread <- is_unread & !vapply(list(...), function(x) is_value(x) || is_selection(x), NA)
  unread <- names[is_unread]
  if (!length(unread)) return(invisible())
  call <- user_call()
  own <- setdiff(c(names(formals(sys.function(sys.parent()))), .known), "...")
  what <- if (nzchar(unread[1L])) {
    paste0("has no argument `", unread[1L], "`")
  } else {
    "takes no further argument"
  }
  advice <- c(
    if (length(own)) paste0("Its arguments are ", paste0("`", own, "`", collapse = ", "), "."),
    if (.values) "Values have no names; `unname()` takes those of a list away."
  )
  abort(
    "anvil_error_arg",
    paste0("`", deparse1(call[[1L]]), "()` ", what, ".", paste0("\ni ", advice, collapse = "")),
    arg = if (nzchar(unread[1L])) unread[1L] else "...", expected = own, got = unread[1L], call = call
  )
}

# `f(x, )` has a second argument, which is missing.
check_dots_given <- function(given) {
  for (i in seq_along(given)) if (identical(given[[i]], quote(expr = ))) abort_missing(paste0("..", i - 1L))
}

# The values in `...`, or those of the one list that it is.
listed <- function(...) {
  values <- list(...)
  if (length(values) == 1L && is.list(values[[1L]]) && !is.object(values[[1L]])) values[[1L]] else values
}

# The arguments in `...`, none of them missing.
list_dots <- function(...) {
  check_dots_given(substitute(list(...)))
  list(...)
}

# The arguments of R's own print method, which R passes on to the elements of a list, as in
# `print(list(x), digits = 3)`.
taken_by <- function(generic, class = "default") {
  known <- setdiff(names(formals(utils::getS3method(generic, class))), "...")
  # prettyNum() of R 4.6 gives it to format(), whose default method does not name it.
  c(known, if (generic == "format") intersect("replace.zero", names(formals(prettyNum))))
}

# Called by functions that users call, see `saying_what_is_missing()`. An argument is missing too if it is a
# variable of the caller's that was left out: the error says which.
abort_missing <- function(arg) {
  # In a list, since the empty symbol stands for a missing value wherever it is read.
  passed <- list(eval(call("substitute", as.name(arg)), parent.frame()))
  variable <- if (is.symbol(passed[[1L]]) && nzchar(passed)) as.character(passed)
  got <- if (is.null(variable) || variable %in% arg) {
    "left out"
  } else {
    paste0("`", variable, "`, which was left out")
  }
  abort(
    "anvil_error_arg", paste0("`", arg, "` must be given, not ", got, "."),
    arg = arg, expected = "given", got = got, variable = variable
  )
}

# A function with a first statement for each argument that has no default: that it is missing would otherwise
# be an error of R's, of no class, wherever the argument is first used. Nothing is evaluated earlier than
# before.
saying_what_is_missing <- function(f) {
  arguments <- formals(f)
  needed <- setdiff(names(arguments)[vapply(arguments, identical, NA, quote(expr = ))], "...")
  if (!length(needed)) return(f)
  checks <- lapply(
    needed, function(arg) substitute(if (missing(x)) abort_missing(arg), list(x = as.name(arg), arg = arg))
  )
  body(f) <- as.call(c(quote(`{`), checks, body(f)))
  f
}

# The arguments of a call, evaluated where it stands. One that is a variable which was left out there is left
# out itself, as R has it for functions that are called with promises.
given_arguments <- function(call, env) {
  given <- as.list(call)[-1L]
  is_missing <- function(x) missing(x)
  left_out <- vapply(
    seq_along(given), function(i) eval(as.call(c(list(is_missing), unname(given[i]))), env), NA
  )
  lapply(given[!left_out], eval, env)
}

# As base R's for objects, which fails on a class of encoding "bytes".
inherits <- function(x, what) is.object(x) && any(oldClass(x) %in% what)
