# Conditions. Rust hands over list(message, class, fields); R signals it with the user's own call.

# Called by the C entry points with an error of Rust.
signal_error <- function(error) {
  call <- user_call()
  stop(anvil_condition(error[[2L]], error[[1L]], error[[3L]], call))
}

anvil_condition <- function(class, message, fields, call) {
  structure(
    class = c(class, "anvil_error", "error", "condition"),
    c(list(message = message, call = call), fields[setdiff(names(fields), c("message", "call"))])
  )
}

# An argument that R itself checks.
abort_arg <- function(arg, expected, got, hint = NULL) {
  message <- paste0("`", arg, "` must be ", expected, ", not ", got, ".", if (!is.null(hint)) paste0("\ni ", hint))
  call <- user_call()
  stop(anvil_condition("anvil_error_arg", message, list(arg = arg, expected = expected, got = got), call))
}

# Any other error that R itself finds.
abort <- function(class, message, ..., call = user_call()) {
  call <- call # evaluated here: the stack is what is asked for
  stop(anvil_condition(class, message, list(...), call))
}

warn <- function(class, message, ...) {
  call <- user_call()
  condition <- structure(
    class = c(class, "anvil_warning", "warning", "condition"),
    c(list(message = message, call = call), list(...))
  )
  warning(condition)
}

# The outermost of the frames at the top of the stack that run functions of this package: what the user called.
user_call <- function() {
  namespace <- topenv()
  call <- NULL
  for (i in rev(seq_len(sys.nframe() - 1L))) {
    fun <- sys.function(i)
    jitted <- inherits(fun, "JitFunction")
    if (!jitted && !identical(topenv(environment(fun)), namespace)) break
    call <- tidy_call(sys.call(i))
    if (jitted) break
  }
  call
}

# A method shows as its generic: `+.AnvilValue`(x, y) as x + y.
tidy_call <- function(call) {
  if (is.call(call) && is.symbol(call[[1L]])) {
    name <- as.character(call[[1L]])
    generic <- sub("\\.Anvil(Value|Tensor|Tracer)$", "", name)
    if (generic != name) call[[1L]] <- as.name(generic)
  }
  call
}

# What a value is, for messages.
describe <- function(x) {
  if (is.null(x)) return("NULL")
  if (is.function(x)) return("a function")
  if (is.object(x)) return(paste0("an object of class <", class(x)[1L], ">"))
  if (is.atomic(x) && length(x) == 1L) return(deparse1(x))
  paste0("a ", class(x)[1L], " of length ", length(x))
}
