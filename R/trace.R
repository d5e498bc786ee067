# Tracing: the only file that opens traces. Arguments are evaluated before a trace is opened. A trace is open
# while one function runs, called from C, which also closes it on an error or a jump.

# Runs f on tracers in place of the leaves of those `args` that are `traced`. Gives a graph.
trace_call <- function(f, args, traced, name, nested = FALSE, finish = identity) {
  trace_with(f, args, name, nested, finish = finish, prepare = function(args, input) {
    args[traced] <- lapply(args[traced], input)
    args
  })
}

# Runs f on arguments that `prepare(args, input)` gives, in a trace; input() makes tracers of new inputs. A
# nested trace is part of the one around it, and may use its values. Gives a graph of what f returned, or of
# what `finish` makes of that.
trace_with <- function(f, args, name, nested, prepare, finish = identity) {
  settle_function(f)
  record <- function(trace) { # nolint: object_usage_linter. Rust calls it by its name.
    record_call(f, prepare(args, function(x) .Call(anvil_trace_inputs, trace, x)), trace, finish)
  }
  .Call(anvil_in_trace, name, nested, quote(record), environment())
}

# The graph that f records for these arguments, in the open trace.
record_call <- function(f, args, trace, finish) {
  force(args)
  # Functions of base R, such as table(), change it, and leave it so if what they then call fails.
  warn <- getOption("warn")
  done <- FALSE
  on.exit(if (!done) options(warn = warn))
  out <- withCallingHandlers(
    call_function(f, args), error = refuse_condition, warning = refuse_method
  )
  done <- TRUE
  graph <- .Call(anvil_trace_finish, trace, finish(out))
  class(graph) <- "AnvilGraph"
  graph
}

# Evaluates what traces a function that runs many times. R's random numbers are drawn once by that, and the
# program has the same ones each time: a warning. After `set.seed()` R's code has the same ones, too.
# What at_once() runs is traced with each call, and not `again`.
noting_draws <- function(what, expr, again = TRUE) {
  seed <- function() get0(".Random.seed", globalenv(), inherits = FALSE)
  before <- seed()
  outer <- draws$is_noted
  draws$is_noted <- FALSE
  on.exit(draws$is_noted <- draws$is_noted || outer)
  out <- expr
  if (again && !draws$is_noted && !identical(before, seed())) {
    draws$is_noted <- TRUE
    warn("anvil_warning_random", paste0(
      "R's random numbers are drawn once, while ", what, " is traced: its program has the same ones each ",
      "time that it runs.\ni Use `nv_rnorm()` and its like, which draw from a state, see `nv_rng_state()`; ",
      "or draw outside, and give the numbers as an argument. `set.seed()` in it says that this is meant."
    ))
  }
  out
}

# Whether it has been said of the function that is traced, or what it draws is said by `set.seed()`.
draws <- new.env(parent = emptyenv())
draws$is_noted <- FALSE

# Calls a function of the user's: through symbols, so that errors and tracebacks show f(x = x), not the
# values. Methods that f dispatches to are looked for where f comes from.
call_function <- function(f, args) {
  if (.Call(anvil_trace_depth) > 0L) {
    masks <- new_masks(f)
    f <- masked(f, masks)
    args <- masked_arguments(args, masks)
  }
  call <- call_of(f, args)
  if (!is.primitive(f)) return(eval_call(call))
  # A builtin function has no frame: what R says of its arguments would be said of a call of ours.
  user <- user_frame(1L)$call
  withCallingHandlers(eval_call(call), error = function(e) {
    if (inherits(e, "anvil_error") || !identical(conditionCall(e), call$code)) return()
    abort(
      "anvil_error_arg",
      paste0(
        "`f` must be a function that takes these arguments, not one that refuses them.\ni R says: ",
        conditionMessage(e)
      ),
      arg = "f", expected = "a function that takes these arguments", got = "one that refuses them",
      call = user
    )
  })
}

# Such a call, and the environment to evaluate it in.
call_of <- function(f, args) {
  home <- environment(f)
  frame <- new.env(parent = if (is.null(home)) globalenv() else home)
  frame$f <- f
  slots <- if (is.null(names(args))) rep("", length(args)) else names(args)
  unnamed <- slots %in% c("", "f") | duplicated(slots)
  slots[unnamed] <- paste0("argument_", seq_along(args))[unnamed]
  for (i in seq_along(args)) assign(slots[i], args[[i]], envir = frame)
  arguments <- lapply(slots, as.name)
  names(arguments) <- names(args)
  list(code = as.call(c(list(as.name("f")), arguments)), frame = frame)
}

eval_call <- function(call) eval(call$code, call$frame)

# Evaluates arguments of the user's functions that a piece of code will read and that R has put off so far. R
# keeps their values: were they first evaluated while the code is traced, what it keeps would be tracers, of
# no use after the trace.
settle <- function(code, env, locals = NULL, seen = new.env()) {
  frames <- frames_within(env)
  if (!length(frames) || identical(topenv(env), topenv())) return(invisible())
  names <- setdiff(all.names(code, unique = TRUE), locals)
  for (at in frames) {
    here <- .Call(anvil_bound, names, at)
    names <- setdiff(names, here)
    for (name in here) {
      if (bindingIsActive(as.name(name), at)) next
      # If it fails, it will do so again where it is used, with the user's call.
      value <- if_it_fails(get(name, envir = at, inherits = FALSE), NULL)
      if (!is.function(value) || is.primitive(value)) next
      # Functions of one name may come from several environments.
      same <- function(other) identical(other, environment(value))
      if (any(vapply(seen[[name]], same, NA))) next
      assign(name, c(seen[[name]], list(environment(value))), envir = seen)
      settle_function(value, seen)
    }
  }
}

# The environments from this one on that are not of packages. Base R puts off more than arguments: callCC() a
# jump. Packages are outside, the user's workspace is not.
frames_within <- function(env) {
  frames <- list()
  while (!is.null(env) && !identical(env, emptyenv())) {
    top <- topenv(env)
    if (identical(top, env) && !identical(env, globalenv()) || identical(top, .BaseNamespaceEnv)) break
    frames <- c(frames, list(env))
    env <- parent.env(env)
  }
  frames
}

settle_function <- function(f, seen = new.env()) settle(body(f), environment(f), names(formals(f)), seen)

#' Trace a function
#'
#' Runs a function once on tracers and gives the recorded graph: the same graph that [jit()] compiles.
#'
#' @param f A function of tensors.
#' @param ... Its arguments. Tensors, abstract tensors and R numbers, logicals and arrays (in nested lists
#'   too) become inputs; their values play no role.
#' @param static Names or positions (among the formals of `f`) of the arguments that are passed to the
#'   function as they are.
#' @return A graph: an object of class `AnvilGraph`. Printed, it shows inputs (`%x1`), captured tensors
#'   (`%c1`), one line per op with its static parameters in brackets, and the outputs. Types are written
#'   `f32?[2, 3]`: dtype, `?` if ambiguous, shape. [graph_text()] gives the text.
#' @section Errors: `anvil_error_arg` if `f` is no function, or an argument or result is neither tensor nor
#' number; and whatever the function raises.
#' @seealso [eval_shape()] for the types of the result, [explain_plan()] for how the graph is run.
#' @examples
#' trace_fn(function(x, y) x * y + 1, nv_abstract("f32", 2), nv_scalar(1L))
#' @export
trace_fn <- function(f, ..., static = character()) {
  f <- match_function(f)
  args <- list_dots(...)
  names <- argument_names(f, args)
  check_taken(f, names)
  static <- static_names(static, names(formals_of(f)), names[nzchar(names)])
  check_static(static, names, args)
  traced <- !names %in% static
  Map(check_data, args[traced], argument_places(names)[traced])
  trace_call(f, args, traced, name = "the function given to trace_fn()")
}

match_function <- function(f, arg = "f") {
  if (!is.function(f)) abort_arg(arg, "a function", describe(f))
  if (is_special_form(f)) abort_arg(arg, "a function of values", "a special form of R")
  f
}

# Such as `if`, `[[` and `quote`, which read code, or have no list of arguments. What looks for methods, such
# as `log`, is a function of values, even where R counts it among the special ones.
is_special_form <- function(f) {
  if (is.null(args(f))) return(TRUE)
  if (typeof(f) != "special") return(FALSE)
  !any(vapply(names(.GenericArgsEnv), function(name) identical(get0(name, baseenv()), f), NA))
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
#' graph <- trace_fn(function(x) {
#'   unused <- exp(x)
#'   -(-x) + nv_scalar(1) * 2
#' }, nv_abstract("f32"))
#' writeLines(graph_text(graph))
#' writeLines(graph_text(graph, optimised = TRUE))
#' @export
graph_text <- function(graph, optimised = FALSE) {
  if (!inherits(graph, "AnvilGraph")) abort_arg("graph", "a graph, from `trace_fn()`", describe(graph))
  .Call(anvil_graph_text, graph, optimised)
}

#' @rdname graph_text
#' @export
format.AnvilGraph <- function(x, ...) {
  check_dots(..., .known = taken_by("format"))
  graph_text(x)
}

#' @rdname graph_text
#' @export
print.AnvilGraph <- function(x, ...) {
  check_dots(..., .known = taken_by("print"))
  cat(graph_text(x), "\n", sep = "")
  invisible(x)
}
