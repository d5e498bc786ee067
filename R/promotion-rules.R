#' Promotion rules
#'
#' Every array library has its own rules for the dtype of a result. anvil has those of several libraries, as
#' data, and uses its own by default. `promotion_rules()` gives their names, `promotion_table()`
#' shows one of them, `compare_promotion()` two, `is_promotable()` and `promotion_path()` are about two
#' types. [common_dtype()] has an argument for the name of the rules.
#'
#' | rules | what they are |
#' |---|---|
#' | `anvil` | a lattice in which every two types meet, with an ambiguous type for each width |
#' | `jax` | JAX's (`jax.numpy`): a lattice with one ambiguous type for each kind |
#' | `jax_lax` | those of `jax.lax`: equal dtypes, or a scalar next to the widest dtype of its kind |
#' | `numpy` | NumPy 2: no `bf16`; integers and floats meet in a float that holds both |
#' | `torch` | PyTorch: no unsigned integers but `ui8` |
#' | `tensorflow` | TensorFlow: equal dtypes, or a scalar on the right. Not symmetric: left operand in rows |
#' | `array_api` | the Python array API standard: what every library that follows it supports; no scalars |
#' | `strict` | JAX's strict mode: equal dtypes, or a scalar that is safe next to the other operand |
#'
#' All but anvil's have *scalars* without a width where anvil has ambiguous types: `i?`, `f?` and `c?`. To
#' them every ambiguous integer is `i?`, every ambiguous float `f?`, every ambiguous complex number `c?`, and
#' an ambiguous `i1` is an `i1`. A result that is a scalar has our default width: `i32?`, `f32?`, `c64?`.
#'
#' @param rules Name of the rules, one of `promotion_rules()`; `NULL` for those in force, see
#'   [with_promotion_rules()].
#' @param ambiguous Which operands are ambiguous: `"none"`, the one of the `"row"`, which is on the left, or
#'   `"both"`.
#' @param a,b Names of rules.
#' @param from,to A type: a dtype object, or a name. `?` at the end of a name makes it ambiguous, as in
#'   `"f32?"`; the scalars are `"i?"`, `"f?"` and `"c?"`.
#' @param x A table, or a comparison.
#' @param n The largest number of pairs that are printed.
#' @param style `"text"` for aligned columns, `"markdown"` for a table in Markdown.
#' @param ... Not used.
#' @return `promotion_rules()`: a character vector, the default first.
#'
#'   `promotion_table()`: a character matrix of class `AnvilPromotionTable`, with a row for the type of the
#'   left operand and a column for that of the right one: the dtype of the result, with `?` if it is
#'   ambiguous, or `-` if the rules refuse the pair. It has methods for `print()` and `as.data.frame()`, for
#'   `format()`, which gives the lines of its text, for `knitr::knit_print()`, and for
#'   [plot()][plot.AnvilPromotionTable], which draws the order behind the rules.
#'
#'   `compare_promotion()`: a data frame with a row for each pair of types, known and ambiguous, whose results
#'   differ: `lhs`, `rhs`, and the results under the names of both rules. A pair is listed once unless one
#'   of the rules is not symmetric. Pairs of known types come first.
#'
#'   `is_promotable()`: `TRUE` if operands of types `from` and `to`, in either order, are promoted to `to`;
#'   otherwise `FALSE`.
#'
#'   `promotion_path()`: a character vector, a shortest chain of types from `from` up to `to`, both included,
#'   each directly below the next; empty if `from` is not promotable to `to`.
#' @section Errors: `anvil_error_arg` for an unknown name of rules, for another `ambiguous`, `style` or `n`,
#' and in `promotion_path()` for rules that are no lattice: lattices are `anvil`, `jax` and `strict`.
#' `anvil_error_dtype` for a string that names no type.
#' @references J. VanderPlas, *Design of Type Promotion Semantics for JAX*, JEP 9407; the Python array API
#'   standard, type promotion rules.
#' @seealso [common_dtype()], [with_promotion_rules()] to use other rules, `vignette("type-promotion",
#'   "anvil")`
#' @examples
#' promotion_rules()
#' promotion_table("torch")
#' promotion_table(ambiguous = "row")["f32?", "i64"]
#' cat(head(format(promotion_table("numpy"), "markdown"), 4), sep = "\n")
#' print(compare_promotion("anvil", "jax"), n = 4)
#' is_promotable("i32", "f16")
#' is_promotable("i32", "f16", "numpy")
#' promotion_path("ui8", "f32?")
#' common_dtype("i32", "f32", rules = "numpy")$dtype
#' try(common_dtype("i32", "f32", rules = "strict"))
#' @export
promotion_rules <- function() .Call(wrap__anvil_promotion_rules)

#' @rdname promotion_rules
#' @export
promotion_table <- function(rules = "anvil", ambiguous = c("none", "row", "both")) {
  ambiguous <- check_choice("ambiguous", ambiguous, c("none", "row", "both"))
  rules <- .Call(anvil_rules_name, rules)
  joins <- promotion_joins(rules)
  guesses <- endsWith(rownames(joins), "?")
  lhs <- if (ambiguous == "none") !guesses else guesses
  rhs <- if (ambiguous == "both") guesses else !guesses
  structure(joins[lhs, rhs], class = "AnvilPromotionTable", rules = rules)
}

#' @rdname promotion_rules
#' @export
compare_promotion <- function(a, b) {
  rules <- c(.Call(anvil_rules_name, a), .Call(anvil_rules_name, b))
  joins <- lapply(rules, promotion_joins)
  differ <- joins[[1L]] != joins[[2L]]
  if (all(vapply(joins, isSymmetric, NA))) differ[lower.tri(differ)] <- FALSE
  cells <- which(differ, arr.ind = TRUE, useNames = FALSE)
  types <- rownames(differ)
  pairs <- matrix(types[cells], ncol = 2L)
  results <- lapply(joins, function(join) join[cells])
  out <- data.frame(lhs = pairs[, 1L], rhs = pairs[, 2L], results[[1L]], results[[2L]])
  names(out)[3:4] <- rules
  out <- out[order(endsWith(out$lhs, "?") + endsWith(out$rhs, "?"), cells[, 1L], cells[, 2L]), ]
  rownames(out) <- NULL
  structure(out, class = c("AnvilPromotionComparison", class(out)))
}

#' @rdname promotion_rules
#' @export
is_promotable <- function(from, to, rules = NULL) .Call(anvil_promotable, from, to, rules)

#' @rdname promotion_rules
#' @export
promotion_path <- function(from, to, rules = NULL) .Call(anvil_promotion_path, from, to, rules)

#' @rdname promotion_rules
#' @export
print.AnvilPromotionTable <- function(x, ...) {
  check_dots(..., .known = taken_by("print"))
  check_table(x)
  cat("Promotion by the rules \"", attr(x, "rules"), "\"\n", sep = "")
  cat(format(x), sep = "\n")
  invisible(x)
}

#' @rdname promotion_rules
#' @export
as.data.frame.AnvilPromotionTable <- function(x, ...) {
  check_dots(..., .known = taken_by("as.data.frame", "matrix"))
  check_table(x)
  as.data.frame(unclass(x[, ]), ...)
}

#' @rdname promotion_rules
#' @importFrom utils capture.output
#' @export
format.AnvilPromotionTable <- function(x, style = c("text", "markdown"), ...) {
  check_dots(..., .known = taken_by("format"))
  style <- check_choice("style", style, c("text", "markdown"))
  check_table(x)
  x <- matrix(x, nrow(x), dimnames = dimnames(x))
  if (style == "text") return(sub(" +$", "", capture.output(print(x, quote = FALSE))))
  rows <- format(rbind(c("", colnames(x)), cbind(rownames(x), x)))
  rule <- paste0(":", strrep("-", nchar(rows[1L, ]) - 1L))
  unname(apply(
    rbind(rows[1L, ], rule, rows[-1L, ]), 1L, function(row) paste0("|", paste(row, collapse = "|"), "|")
  ))
}

#' @rdname promotion_rules
#' @export
print.AnvilPromotionComparison <- function(x, n = 30, ...) {
  check_dots(..., .known = taken_by("print", "data.frame"))
  check_shown(n)
  # Columns were taken out of it: a data frame like others.
  if (length(x) != 4L) return(NextMethod())
  data <- as.data.frame(unclass(x), optional = TRUE)
  rules <- names(data)[3:4]
  count <- if (nrow(data) == 1L) "1 pair of types differs" else paste(nrow(data), "pairs of types differ")
  cat(count, " between the rules \"", rules[1L], "\" and \"", rules[2L], "\"\n", sep = "")
  shown <- as.matrix(head(data, n))
  if (nrow(shown)) {
    columns <- lapply(colnames(shown), function(name) format(c(name, shown[, name])))
    cat(sub(" +$", "", do.call(paste, columns)), sep = "\n")
  }
  more <- nrow(data) - nrow(shown)
  if (more) cat("... and ", more, " more; `print(n = Inf)` shows all\n", sep = "")
  invisible(x)
}

# All ranked types by all: what rules that exist promote each pair to.
promotion_joins <- function(rules) {
  parts <- .Call(wrap__anvil_promotion, rules)
  matrix(parts$joins, length(parts$types), dimnames = list(parts$types, parts$types))
}

# A table, or a part of one with rows and columns.
check_table <- function(x) {
  whole <- is.character(x) && length(dim(x)) == 2L && length(dimnames(x)) == 2L &&
    isTRUE(attr(x, "rules") %in% promotion_rules())
  if (!whole) abort_arg("x", "a table, from `promotion_table()`", describe(unclass(x)))
}

# How many rows to print.
check_shown <- function(n) {
  if (!is_whole(n) && !identical(n, Inf) || n < 0) abort_arg("n", "a whole number, not negative", describe(n))
}

# One of the choices; the first where the argument was left at all of them.
check_choice <- function(arg, value, choices) {
  if (identical(value, choices)) return(choices[1L])
  if (is.character(value) && length(value) == 1L && value %in% choices) return(value)
  abort_arg(arg, paste0("one of ", paste0("\"", choices, "\"", collapse = ", ")), describe(value))
}

# What knitr prints: a table. Registered by .onLoad(), as knitr need not be there.
knit_print_table <- function(x, ...) {
  knitr::asis_output(paste0("\n\n", paste(format(x, "markdown"), collapse = "\n"), "\n\n"))
}
