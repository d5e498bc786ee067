# tryCatch() and try() in a traced function, see mask.R. That a trace has no elements to read is no error of
# the user's code: where a handler of errors took it, the program would be what the code does after a failure,
# whatever the elements are.

# Evaluates what handles the errors of an expression; an error about the trace passes by it.
past_handlers <- function(handle, expr) {
  noticed <- function(e) {
    said <- tryCatch(refuse_condition(e), anvil_error = identity)
    if (inherits(said, "anvil_error")) e <- said
    if (is_about_trace(e)) signalCondition(structure(class = c("anvil_passed", "condition"), list(error = e)))
  }
  tryCatch(
    handle(withCallingHandlers(expr, error = noticed)),
    anvil_passed = function(passed) stop(passed$error)
  )
}

is_about_trace <- function(e) inherits(e, c("anvil_error_concrete", "anvil_error_unsupported"))

# nolint start: object_name_linter. Arguments have the names that they have in base R.

mask_conditions <- list(
  tryCatch = function(expr, ..., finally) {
    # Handlers of these classes mean them.
    names <- ...names()
    if (any(startsWith(names[!is.na(names)], "anvil_error"))) return(tryCatch(expr, ..., finally = finally))
    if (!missing(finally)) on.exit(finally)
    past_handlers(function(expr) tryCatch(expr, ...), expr)
  },

  try = function(expr, silent = FALSE, ...) {
    past_handlers(function(expr) try(expr, silent, ...), expr)
  }
)

# nolint end
