# Tracing: the only file that opens traces. Arguments are evaluated before a trace is opened, and a trace is closed on the
# way out, whatever happens.

# Runs f on tracers in place of the leaves of `args`; `call` makes the call from the arguments. Gives a graph.
trace_call <- function(f, args, traced = rep(TRUE, length(args)), name = "the function") {
  trace <- .Call(anvil_trace_open, name)
  on.exit(.Call(anvil_trace_close, trace))
  args[traced] <- lapply(args[traced], function(x) .Call(anvil_trace_inputs, trace, x))
  # Called through symbols, so that errors and tracebacks show f(x = x), not the values.
  frame <- new.env(parent = emptyenv())
  frame$f <- f
  slots <- paste0("a", seq_along(args))
  for (i in seq_along(args)) assign(slots[i], args[[i]], envir = frame)
  arguments <- lapply(slots[seq_along(args)], as.name)
  names(arguments) <- names(args)
  out <- withCallingHandlers(
    eval(as.call(c(list(as.name("f")), arguments)), frame),
    error = translate_condition
  )
  graph <- .Call(anvil_trace_finish, trace, out)
  class(graph) <- "AnvilGraph"
  graph
}

# `if (x)`, `while (x)` and `for (i in x)` cannot be dispatched on: R's own error about them becomes one with advice.
translate_condition <- function(e) {
  call <- conditionCall(e)
  if (inherits(e, "anvil_error") || !is.call(call) || !is.symbol(call[[1L]])) return()
  what <- as.character(call[[1L]])
  if (!what %in% c("if", "while", "for", "&&", "||")) return()
  advice <- switch(what,
    "if" = "Use `nv_ifelse()` to choose elements, or name the argument in `static = ` to trace a function for each value.",
    "for" = "Loop over `seq_len()` of a shape, or name the argument in `static = `.",
    "Name the argument in `static = ` to trace a function for each value, or use `&` and `|`."
  )
  # The error may have another cause: it is ours only if a tracer is what R choked on.
  if (!mentions_tracer(call, what, sys.frames())) return()
  abort(
    "anvil_error_concrete",
    paste0(
      "A traced value has no concrete value: `", what, " (", deparse1(call[[if (what == "for") 3L else 2L]]),
      ")` cannot use it.\ni ", advice
    ),
    where = what, call = call
  )
}

# Whether the condition in a call, evaluated where the call was made, is a tracer.
mentions_tracer <- function(call, what, frames) {
  expressions <- switch(what, "for" = call[3L], "if" = , "while" = call[2L], as.list(call)[-1L])
  symbols <- unique(unlist(lapply(expressions, all.names)))
  for (frame in rev(frames)) {
    if (identical(topenv(frame), topenv())) next
    for (name in symbols) {
      value <- get0(name, envir = frame, inherits = FALSE)
      if (inherits(value, "AnvilTracer")) return(TRUE)
    }
  }
  FALSE
}

#' Trace a function
#'
#' Runs a function once on tracers and gives the graph of what it did: the same graph that [jit()] compiles.
#'
#' @param f A function of tensors.
#' @param args A list of its arguments, named or in order. Tensors, abstract tensors and R numbers, logicals and arrays
#'   (in nested lists too) become inputs; their values play no role.
#' @param static Names of the arguments that are passed to the function as they are.
#' @return A graph: an object of class `AnvilGraph`. Printed, it shows inputs (`%x1`), captured tensors (`%c1`), one line
#'   per op with its static parameters in brackets, and the outputs. Types are written `f32?[2, 3]`: dtype, `?` if
#'   ambiguous, shape. [graph_text()] gives the text.
#' @section Errors:
#' `anvil_error_arg` if `f` is no function, or an argument or result is neither tensor nor number; and whatever the
#' function raises.
#' @examples
#' trace_fn(function(x, y) x * y + 1, list(nv_abstract("f32", 2), nv_scalar(1L)))
#' @export
trace_fn <- function(f, args = list(), static = character()) {
  f <- match_function(f)
  if (!is.list(args) || is.object(args)) abort_arg("args", "a list", describe(args))
  check_static(static, names(args), args)
  traced <- if (length(static)) !(names(args) %in% static) else rep(TRUE, length(args))
  trace_call(f, args, traced, name = "the function given to trace_fn()")
}

match_function <- function(f) {
  if (!is.function(f)) abort_arg("f", "a function", describe(f))
  f
}

#' The text of a graph
#'
#' @param graph A graph, from [trace_fn()].
#' @param optimised Whether to show the graph as it is run: constants folded, equal and unused ops dropped.
#' @param x A graph.
#' @param ... Not used.
#' @return One string with the lines of the graph.
#' @section Errors:
#' `anvil_error_arg` for anything but a graph of this session.
#' @examples
#' graph <- trace_fn(function(x) x * (1 + 2) + 0 * x, list(nv_abstract("f32")))
#' cat(graph_text(graph))
#' cat(graph_text(graph, optimised = TRUE))
#' @export
graph_text <- function(graph, optimised = FALSE) {
  if (!inherits(graph, "AnvilGraph")) abort_arg("graph", "a graph, from `trace_fn()`", describe(graph))
  .Call(anvil_graph_text, graph, optimised)
}

#' @rdname graph_text
#' @export
format.AnvilGraph <- function(x, ...) graph_text(x)

#' @rdname graph_text
#' @export
print.AnvilGraph <- function(x, ...) {
  cat(graph_text(x), "\n", sep = "")
  invisible(x)
}
