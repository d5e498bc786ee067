# tryCatch() and try() in a traced function, see mask.R. That a trace has no elements to read is no error of
# the user's code: where a handler of errors took it, the program would be what the code does after a failure,
# whatever the elements are.

# Evaluates what handles the errors of an expression; an error about the trace passes by it.
past_handlers <- function(handle, expr) {
  noticed <- function(e) {
    said <- tryCatch(refuse_condition(e), anvil_error = identity)
    if (inherits(said, "anvil_error")) e <- said
    # A restart, since handlers of all conditions would take another condition too.
    if (is_about_trace(e)) invokeRestart("anvil_pass", e)
  }
  withRestarts(handle(withCallingHandlers(expr, error = noticed)), anvil_pass = function(e) stop(e))
}

is_about_trace <- function(e) inherits(e, "anvil_error_concrete")

# nolint start: object_name_linter. Arguments have the names that they have in base R.

mask_conditions <- list(
  tryCatch = function(expr, ..., finally) {
    # Handlers of these classes mean them.
    names <- as.character(...names())
    if (any(grepl("^anvil_error", names))) return(tryCatch(expr, ..., finally = finally))
    if (!missing(finally)) on.exit(finally)
    past_handlers(function(expr) tryCatch(expr, ...), expr)
  },

  try = function(expr, silent = FALSE, ...) {
    past_handlers(function(expr) try(expr, silent, ...), expr)
  }
)

# nolint end
