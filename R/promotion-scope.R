#' Choose promotion rules
#'
#' Every op promotes its operands by the rules in force when it is called or traced: anvil's by default. They
#' can be chosen at these levels; a narrower one, which is listed first, takes precedence:
#'
#' * the argument `rules` of [common_dtype()] and of other functions about promotion: for one question;
#' * `jit(f, rules = )`: for what [jit()] traces in `f`, wherever `f` is called;
#' * `with_promotion_rules()`: for an expression;
#' * `local_promotion_rules()`: for the rest of the function that calls it;
#' * `options(anvil.promotion_rules = )`: for the session.
#'
#' When a scope ends, also by an error or an interrupt, the previous rules are restored. Rules for the rest of
#' a function are in force as long as it runs, whatever its [on.exit()] does. An inner scope takes precedence,
#' and rules for an expression take precedence over those of its function.
#'
#' A jitted function without its own rules uses those in force when it is called, also from another traced
#' function. It caches a program for each set of rules, see [explain_cache()].
#'
#' @param rules Name of the rules, one of [promotion_rules()].
#' @param code An expression.
#' @param frame The environment of the function, or of the [local()] expression, at whose end the rules are
#'   restored. It must be running: `local_promotion_rules()` is called by it, or by a function that it called.
#' @return `with_promotion_rules()` gives the value of `code`; `local_promotion_rules()` gives the name of the
#'   rules that held before, invisibly.
#' @section Errors: `anvil_error_arg` for an unknown name of rules, also in the option, where the next op
#' finds it; and if `local_promotion_rules()` is called from the top level, or for an environment of no
#' function that is running, where there is no end to wait for. Ops raise `anvil_error_promotion` for operands
#' that the rules refuse to bring together.
#' @seealso [promotion_rules()], [explain_dtypes()]
#' @examples
#' counts <- nv_tensor(1:3)
#' counts / nv_scalar(2, dtype = "f32")
#' with_promotion_rules("numpy", counts / nv_scalar(2, dtype = "f32"))
#' try(with_promotion_rules("strict", counts / nv_scalar(2, dtype = "f32")))
#'
#' ratio <- function(x, y) {
#'   local_promotion_rules("torch")
#'   x / y
#' }
#' dtype(ratio(nv_scalar(1L), nv_scalar(2L)))
#' @export
with_promotion_rules <- function(rules, code) {
  with_settings(list(.Call(anvil_rules_name, rules), NULL, NULL), code)
}

#' @rdname with_promotion_rules
#' @export
local_promotion_rules <- function(rules, frame = parent.frame()) {
  rules <- .Call(anvil_rules_name, rules)
  held <- .Call(anvil_rules_name, NULL)
  local_settings(
    list(rules, NULL, NULL), frame, sys.nframe() - 1L,
    "Use `with_promotion_rules()`, or `options(anvil.promotion_rules = )` for the session."
  )
  invisible(held)
}

# The value of an expression with settings of its own: `list(rules, float, int)`, each a string, or NULL for
# what stays as it is.
with_settings <- function(settings, code) {
  run <- function(opened) withVisible(code) # nolint: object_usage_linter. Rust calls it by its name.
  out <- .Call(anvil_by_settings, settings, sys.nframe(), quote(run), environment())
  if (out$visible) out$value else invisible(out$value)
}

# Chooses such settings for the rest of the function with this frame, which is no deeper than the one with the
# number `from`.
local_settings <- function(settings, frame, from, hint) {
  expected <- "the environment of a function, or of `local()`, that is running"
  if (!is.environment(frame)) abort_arg("frame", expected, describe(frame))
  number <- if (identical(frame, globalenv())) 0L else number_of_frame(frame, from)
  if (number == 0L) {
    abort_arg(
      "frame", expected,
      if (identical(frame, globalenv())) "the global environment" else "an environment of another kind", hint
    )
  }
  .Call(anvil_settings_choose, settings, number, frame)
  # The settings end with the frame by themselves. This lets go of the frame as well, whose values R would
  # keep.
  do.call(on.exit, list(as.call(list(forget_settings, number)), add = TRUE, after = FALSE), envir = frame)
}

forget_settings <- function(number) .Call(anvil_settings_forget, number)

# The number on the stack of a frame that is no deeper than the one with the number `from`, the innermost if
# there are several, as eval() makes them; 0 if there is none. Frames are asked for one by one: in a list, R
# would count another reference to each, and to what it holds.
number_of_frame <- function(frame, from) {
  number <- from
  while (number > 0L && !identical(sys.frame(number), frame)) number <- number - 1L
  number
}

# Called by Rust: the frame that has a number on the stack now, or NULL.
frame_of_number <- function(number) if (number < sys.nframe()) sys.frame(number)
