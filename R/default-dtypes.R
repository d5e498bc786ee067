#' Choose default dtypes
#'
#' Doubles and integers of R become `f32` and `i32` where no dtype is said, `f64` and `i64` if you choose so:
#'
#' * data without a `dtype`: [nv_tensor()], [nv_scalar()], [nv_matrix()], [as_nv_tensor()], [nv_model()];
#' * [nv_fill()], [nv_seq()], [nv_linspace()], [nv_eye()], [nv_one_hot()], [nv_abstract()] and the functions
#'   that draw random numbers, without a `dtype`;
#' * R numbers, vectors and arrays as operands and arguments: they are ambiguous, see [common_dtype()], and
#'   the default is what they are where they meet no known dtype, as `f64?`.
#'
#' Complex numbers are `c64` or `c128` as floats are `f32` or `f64`. Logicals, raw vectors and
#' `bit64::integer64` say what they are. Known dtypes are never changed, nor do ops give others: counts and
#' positions are `i32` whatever the default.
#'
#' A narrower choice takes precedence over one that is listed after it:
#'
#' * `with_default_dtypes()`: for an expression;
#' * `local_default_dtypes()`: for the rest of the function that calls it;
#' * `options(anvil.default_float =, anvil.default_int =)`: for the session.
#'
#' When a scope ends, also by an error or an interrupt, what held before is restored. A float can be chosen
#' without an integer, and the other way round. A jitted function uses the defaults in force when it is called
#' and caches a program for each, see [explain_cache()].
#'
#' @param float `"f32"` or `"f64"`: the dtype of doubles, its name or a dtype object; `NULL` leaves it as it
#'   is.
#' @param int `"i32"` or `"i64"`: the dtype of integers, likewise.
#' @param expr An expression. It may be given without its name after any of the others, as in
#'   `with_default_dtypes(float = "f64", nv_scalar(1))`.
#' @param frame The environment of the function, or of the [local()] expression, at whose end the defaults are
#'   restored, as for [local_promotion_rules()].
#' @return `default_dtypes()` gives the defaults in force, `list(float, int)` of dtype objects;
#'   `with_default_dtypes()` the value of `expr`; `local_default_dtypes()` the defaults that held before,
#'   invisibly.
#' @section Errors: `anvil_error_arg` for another dtype, also in an option, where the next op finds it; and
#' for a `frame` as [local_promotion_rules()] refuses it.
#' @seealso [with_promotion_rules()]
#' @examples
#' default_dtypes()
#' with_default_dtypes(float = "f64", int = "i64", nv_tensor(1:3) * 0.5)
#' with_default_dtypes(float = "f64", nv_scalar(1) / 3)
#'
#' estimate <- function(x) {
#'   local_default_dtypes(float = "f64")
#'   mean(nv_tensor(x))
#' }
#' estimate(c(0.1, 0.2))
#'
#' old <- options(anvil.default_float = "f64")
#' dtype(nv_eye(2))
#' options(old)
#' @export
default_dtypes <- function() {
  names <- .Call(anvil_default_dtypes)
  list(float = dtype_objects[[names[1L]]], int = dtype_objects[[names[2L]]])
}

#' @rdname default_dtypes
#' @export
with_default_dtypes <- function(float = NULL, int = NULL, expr = abort_missing("expr")) {
  if (missing(expr)) {
    # Without its name the expression has taken the place of a dtype that was left out.
    named <- names(sys.call())
    if (!missing(int) && !"int" %in% named) return(with_settings(list(NULL, float, NULL), int))
    if (!missing(float) && !"float" %in% named) return(with_settings(list(NULL, NULL, int), float))
  }
  with_settings(list(NULL, float, int), expr)
}

#' @rdname default_dtypes
#' @export
local_default_dtypes <- function(float = NULL, int = NULL, frame = parent.frame()) {
  held <- default_dtypes()
  local_settings(
    list(NULL, float, int), frame, sys.nframe() - 1L,
    "Use `with_default_dtypes()`, or `options(anvil.default_float =, anvil.default_int =)` for the session."
  )
  invisible(held)
}

# The names of the default dtypes.
default_float <- function() .Call(anvil_default_dtypes)[1L]

default_int <- function() .Call(anvil_default_dtypes)[2L]

# Options that are set when the package is loaded, unless they are: Rust remembers where in R's list of
# options these are, and finds them at once if all are there.
usual_options <- list(
  anvil.promotion_rules = "anvil", anvil.default_float = "f32", anvil.default_int = "i32",
  anvil.rewrite = TRUE
)

settle_options <- function() {
  options(usual_options[vapply(names(usual_options), function(name) is.null(getOption(name)), NA)])
}
