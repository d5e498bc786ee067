#' Explain why a result has its dtype
#'
#' Traces a function and reports every implicit conversion: the line and the call of yours that caused it, the
#' promotion rule that applied, and what may happen to the values. Only types are examined; nothing is
#' computed.
#'
#' | class | what may happen to a value | example |
#' |---|---|---|
#' | lossless | nothing | `i32` to `f64` |
#' | rounds | it becomes the nearest one of fewer digits | `i32` or `f64` to `f32` |
#' | overflows | a finite number becomes infinite | `i64` or `f32` to `f16` |
#' | wraps | an integer keeps only its low bits | `300L` next to an `i8` |
#' | drops sign | a negative number becomes another one | `-1L` next to a `ui8` |
#'
#' The class follows from the two dtypes and is the worst that can happen to any value of the first. There are
#' three refinements:
#'
#' * A literal in the function is classified by its value: `1L` next to an `i8` is lossless.
#' * An ambiguous tensor or R array is classified by what it is stored in, so one of doubles that becomes
#'   `f32` is rounded. A single ambiguous number is classified by the type that it shows: what `x * 0.1` drops
#'   of the digits of `0.1` is not reported for an `f32` `x`, and rounding to `bf16` is.
#' * The only dtype that overflows is `f16`, whose largest number is 65504.
#'
#' Explicit conversions by [nv_convert()] are not reported.
#'
#' `jit(f, warn_promotion = )` gives a warning of class `anvil_warning_promotion` when a traced function makes
#' a conversion of one of the named classes; the field `conversions` of the warning is such a report.
#'
#' @param f A function of tensors, jitted or not. A jitted one is traced with its own rules and static
#'   arguments.
#' @param ... Its arguments: tensors, abstract tensors from [nv_abstract()], R numbers, logicals and arrays,
#'   and lists of these.
#' @param static Names or positions (among the formals of `f`) of arguments that are passed to the function as
#'   they are.
#' @param rules Name of the rules to promote by, see [promotion_rules()]; `NULL` for those that hold, or those
#'   that `f` was jitted with.
#' @param x,object A report.
#' @param n The largest number of conversions that are printed.
#' @return A data frame of class `AnvilDtypeReport` with a row for each conversion, in the order of the trace:
#'
#'   * `call`: the call of yours that needed it.
#'   * `file`, `line`: where that call stands, if R knows. R keeps lines in interactive sessions; `Rscript`
#'     keeps them after `options(keep.source = TRUE)`. knitr drops them from version 1.0 of the package
#'     evaluate on; before, they count from the start of the chunk. `file` is empty for code that was not read
#'     from a file.
#'   * `operands`: the types of all operands that were promoted together.
#'   * `operand`, `from`, `stored`, `to`: which of them was converted, by position; its type; the dtype that
#'     holds its values; and the type that it became.
#'   * `rule`: why.
#'   * `class`: what may happen to the values, an ordered factor in the order of the table above.
#'   * `times`: how often the same happened at the same place.
#'
#'   The attributes `inputs` and `outputs` hold the types of arguments and results, `rules` the name of the
#'   rules. `summary()` gives the number of conversions of each class.
#' @section Errors: `anvil_error_arg` if `f` is no function, for an argument or result that is neither tensor
#' nor number, for unknown rules, and for `rules` or `static` where `f` was jitted with its own; and what `f`
#' raises while it is traced.
#' @seealso [common_dtype()], [with_promotion_rules()], `vignette("type-promotion", "anvil")`
#' @examples
#' predict <- function(x, beta, offset) {
#'   eta <- x %*% beta
#'   eta + offset
#' }
#' explain_dtypes(predict, matrix(0.1, 3, 2), nv_fill(1, c(2, 1), "f32"), nv_fill(2L, c(3, 1), "i64"))
#'
#' f <- jit(function(x) x + 300L, warn_promotion = "wraps")
#' try(f(nv_tensor(1:3, dtype = "i8")))
#' @export
explain_dtypes <- function(f, ..., static = character(), rules = NULL) {
  f <- match_function(f)
  args <- list_dots(...)
  given <- rules
  rules <- .Call(anvil_rules_name, rules)
  if (inherits(f, "JitFunction")) {
    spec <- .Call(anvil_jit_spec, handle_of(f))
    f <- spec[[1L]]
    if (!missing(static)) abort_arg("static", "left out for a jitted function", describe(static))
    static <- spec[[6L]][spec[[2L]]]
    if (!is.null(spec[[7L]])) {
      if (!is.null(given)) {
        abort_arg("rules", "left out for a function that was jitted with its own rules", describe(given))
      }
      rules <- spec[[7L]]
    }
  }
  names(args) <- argument_names(f, args)
  check_taken(f, names(args))
  static <- static_names(static, names(formals_of(f)), names(args)[nzchar(names(args))])
  check_static(static, names(args), args)
  local_promotion_rules(rules)
  is_static <- names(args) %in% static
  Map(check_data, args[!is_static], argument_places(names(args))[!is_static])
  outputs <- NULL
  report <- audited({
    graph <- trace_call(f, args, !is_static, name = "the function given to explain_dtypes()")
    outputs <- .Call(anvil_graph_types, graph)
  })
  inputs <- describe_arguments(args, is_static, rep(TRUE, length(args)), rep(FALSE, length(args)))
  structure(report, inputs = inputs %||% character(), outputs = outputs, rules = rules)
}

# The names that the arguments of a call of f match: by name, and by position; those of `...` keep theirs, or
# have none.
argument_names <- function(f, args) {
  formals <- names(formals_of(f))
  given <- names(args) %||% rep("", length(args))
  free <- setdiff(formals, given)
  if ("..." %in% free) free <- free[seq_len(match("...", free) - 1L)]
  open <- which(given == "")
  open <- open[seq_len(min(length(open), length(free)))]
  given[open] <- free[seq_along(open)]
  given
}

#' @rdname explain_dtypes
#' @export
print.AnvilDtypeReport <- function(x, n = 20, ...) {
  check_dots(..., .known = taken_by("print", "data.frame"))
  check_shown(n)
  # Columns were taken out of it: a data frame like others.
  if (!identical(names(x), report_columns)) return(NextMethod())
  inputs <- attr(x, "inputs")
  if (!is.null(inputs)) {
    cat(
      paste0("(", paste0(names(inputs), ": ", inputs, recycle0 = TRUE, collapse = ", "), ")"), "\n", sep = ""
    )
    cat("-> ", paste(attr(x, "outputs"), collapse = ", "), "\n", sep = "")
  }
  cat(report_lines(x, n), sep = "\n")
  invisible(x)
}

#' @rdname explain_dtypes
#' @export
summary.AnvilDtypeReport <- function(object, ...) {
  check_dots(..., .known = taken_by("summary", "data.frame"))
  if (!identical(names(object), report_columns)) return(NextMethod())
  c(table(object$class))
}

# A report as lines: counts, then three lines for each conversion.
report_lines <- function(x, n) {
  counts <- table(x$class)
  counts <- counts[counts > 0L]
  total <- if (nrow(x) == 1L) {
    "1 implicit conversion"
  } else {
    paste(if (nrow(x)) nrow(x) else "No", "implicit conversions")
  }
  by <- attr(x, "rules")
  out <- paste0(
    total, if (!is.null(by)) paste0(" by the rules \"", by, "\""),
    if (length(counts)) paste0(": ", paste(counts, names(counts), collapse = ", "))
  )
  shown <- x[seq_len(min(n, nrow(x))), ]
  place <- paste0(ifelse(nzchar(shown$file), paste0(shown$file, ":"), "line "), shown$line, "  ")
  place[is.na(shown$line)] <- ""
  calls <- ifelse(nchar(shown$call) > 60L, paste0(substr(shown$call, 1L, 57L), "..."), shown$call)
  times <- ifelse(shown$times > 1L, paste0(", ", shown$times, " times"), "")
  wider <- shown$stored != sub("?", "", shown$from, fixed = TRUE)
  stored <- ifelse(wider, paste0(" (stored as ", shown$stored, ")"), "")
  count <- lengths(strsplit(shown$operands, ", ", fixed = TRUE))
  which <- ifelse(count > 1L, paste0("operand ", shown$operand, ", "), "")
  first <- paste0(format(as.character(shown$class)), "  ", place, calls, times, recycle0 = TRUE)
  indent <- strrep(" ", max(nchar(as.character(shown$class)), 0L) + 2L)
  second <- paste0(indent, which, shown$from, stored, " to ", shown$to, recycle0 = TRUE)
  third <- paste0(indent, shown$rule, recycle0 = TRUE)
  out <- c(out, rbind(first, second, third))
  more <- nrow(x) - nrow(shown)
  if (more) out <- c(out, paste0("... and ", more, " more; `print(n = Inf)` shows all"))
  out
}

report_columns <- c(
  "call", "file", "line", "operands", "operand", "from", "stored", "to", "rule", "class", "times"
)

conversion_classes <- c("lossless", "rounds", "overflows", "wraps", "drops sign")

# Evaluates an expression and gives a report of what was converted meanwhile.
audited <- function(expr) {
  entries <- function(from) { # nolint: object_usage_linter. Rust calls it by its name.
    force(expr)
    .Call(anvil_audit_entries, from)
  }
  fields <- .Call(anvil_in_audit, quote(entries), environment())
  fields <- matrix(fields, ncol = length(report_columns) - 1L, byrow = TRUE)
  # The same line in a loop of R is reported once.
  keys <- apply(fields, 1L, paste, collapse = "\t")
  first <- !duplicated(keys)
  out <- as.data.frame(fields[first, , drop = FALSE])
  out$times <- as.integer(table(factor(keys, unique(keys))))
  names(out) <- report_columns
  out$line <- as.integer(out$line)
  out$operand <- as.integer(out$operand)
  out$class <- factor(out$class, conversion_classes, ordered = TRUE)
  structure(out, class = c("AnvilDtypeReport", class(out)))
}

# Warns of the conversions in a report that are of some classes.
warn_of_conversions <- function(report, classes) {
  found <- report[report$class %in% classes, ]
  if (!nrow(found)) return()
  warn("anvil_warning_promotion", paste(report_lines(found, 10L), collapse = "\n"), conversions = found)
}
