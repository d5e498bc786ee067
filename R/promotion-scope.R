#' Choose rules of promotion
#'
#' Every op promotes its operands by the rules that hold when it is called or traced: anvil's, unless others were chosen.
#' From the narrowest choice, which wins over the others, to the widest:
#'
#' * the argument `rules` of [common_dtype()] and of other functions about promotion: for one question;
#' * `jit(f, rules = )`: for what [jit()] traces in `f`, wherever `f` is called;
#' * `with_promotion_rules()`: for an expression;
#' * `local_promotion_rules()`: for the rest of the function that calls it;
#' * `options(anvil.promotion_rules = )`: for the session.
#'
#' When a scope ends, by an error too, the rules that held before are back.
#'
#' A jitted function without rules of its own follows those that hold when it is called, also from another function that
#' is traced. It keeps a program for each set of rules, see [explain_cache()].
#'
#' @param rules Name of the rules, one of [promotion_rules()].
#' @param code An expression.
#' @param frame The environment of the function, or of the [local()] expression, at whose end the rules are put back.
#' @return `with_promotion_rules()` gives the value of `code`; `local_promotion_rules()` gives the name of the rules that
#'   held before, invisibly.
#' @section Errors:
#' `anvil_error_arg` for an unknown name of rules, also in the option, where the next op finds it; and if
#' `local_promotion_rules()` is called from the top level, where there is no end to wait for. Ops raise
#' `anvil_error_promotion` for operands that the rules refuse to bring together.
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
  old <- options(anvil.promotion_rules = .Call(anvil_rules_name, rules))
  on.exit(options(old))
  force(code)
}

#' @rdname with_promotion_rules
#' @export
local_promotion_rules <- function(rules, frame = parent.frame()) {
  rules <- .Call(anvil_rules_name, rules)
  if (!is.environment(frame)) abort_arg("frame", "an environment", describe(frame))
  if (identical(frame, globalenv())) {
    abort_arg(
      "frame", "the environment of a function", "the global environment",
      "Use `with_promotion_rules()`, or `options(anvil.promotion_rules = )` for the session."
    )
  }
  held <- .Call(anvil_rules_name, NULL)
  old <- options(anvil.promotion_rules = rules)
  # As a call in that frame: R has no other way to say what happens when another function ends.
  do.call(on.exit, list(substitute(options(old), list(old = old)), add = TRUE, after = FALSE), envir = frame)
  invisible(held)
}
