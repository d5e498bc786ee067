# Traces a user's function with example arguments: the first step of stablehlo(), explain_plan(),
# memory_plan() and eval_shape().

# Traces `f` on `args`: tensors, abstract tensors, R numbers and lists of these become inputs, whatever else
# is passed as it is. `static`, `donate` and `rules` of a jitted function hold. Gives `graph`; `args`, those
# that became inputs; `leaves`, the numbers of the inputs in the structure of these arguments, by their names;
# and `donated`, a flag for each input. `where` is the call in which the user gave the function, `advice` what
# to do instead of giving traced values. Without it they may be given, and used by `f`. `finish` is given what
# `f` gives.
trace_example <- function(f, args, where, advice = NULL, finish = identity) {
  spec <- if (inherits(f, "JitFunction")) .Call(anvil_jit_spec, handle_of(f))
  if (!is.null(spec)) f <- spec[[1L]]
  names <- argument_names(f, args)
  names(args) <- names
  check_taken(f, names)
  if (!is.null(advice) && holds_tracer(args)) {
    abort_arg(
      "...", "tensors, abstract tensors, R numbers, or other arguments of `f`", "a traced value", advice
    )
  }
  static <- if (is.null(spec)) !vapply(args, is_data, NA) else names %in% spec[[6L]][spec[[2L]]]
  places <- argument_places(names)[!static]
  Map(check_data, args[!static], places)

  count <- 0L
  leaves <- lapply(args[!static], map_leaves, function(leaf) count <<- count + 1L)
  donated <- integer(count)
  donated[unlist(leaves[names(leaves) %in% spec[[6L]][spec[[3L]]]])] <- 1L
  names(leaves) <- places

  call <- user_frame(1L)$call
  trace <- function() {
    withCallingHandlers(
      trace_call(f, args, !static, paste("the function given to", where), is.null(advice), finish),
      error = function(e) say_left_out(e, f, names, call)
    )
  }
  graph <- if (is.null(spec)) trace() else promoted_as(spec, trace())
  list(graph = graph, args = args[!static], leaves = leaves, donated = donated)
}

# Whether an argument of a function that is not jitted is data. Vectors of several numbers are neither data
# nor static: an error says what they could be.
is_data <- function(x) {
  is.null(x) || inherits(x, "AnvilAbstract") || is_operand(x) || is_tree_object(x) ||
    is.list(x) && !is.object(x)
}

# Names of arguments; ..1 and so on for those that have none.
argument_places <- function(names) ifelse(names == "", paste0("..", seq_along(names), recycle0 = TRUE), names)

# Arguments that the function does not take. R would say so of a call that is not the user's.
check_taken <- function(f, names) {
  formals <- names(formals_of(f))
  if ("..." %in% formals) return()
  extra <- is.na(pmatch(names, formals))
  if (!any(extra)) return()
  what <- paste0("arguments of `f` (", if (length(formals)) paste(formals, collapse = ", ") else "none", ")")
  abort_arg("...", what, if (nzchar(names[extra][1L])) describe(names[extra][1L]) else "one more")
}

# The error for an argument that was left out and is needed, R's or that of one of our functions, in terms of
# the user's call.
say_left_out <- function(e, f, names, call) {
  for (name in setdiff(names(formals_of(f)), c(names, "..."))) {
    missing <- gettextf("argument \"%s\" is missing, with no default", name, domain = "R")
    said <- if (inherits(e, "anvil_error")) {
      identical(e$variable, name)
    } else {
      identical(conditionMessage(e), missing)
    }
    if (!said) next
    expected <- "given, since `f` uses it"
    abort(
      "anvil_error_arg",
      paste0(
        "`", name, "` must be ", expected, ", not left out.\n",
        "i Give a value, or for a tensor its type: `", name, " = nv_abstract(\"f32\", c(2, 3))`."
      ),
      arg = name, expected = expected, got = "left out", call = call
    )
  }
}
