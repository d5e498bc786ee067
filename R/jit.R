#' Just-in-time compilation
#'
#' `jit(f)` is a function with the arguments of `f`. Its first call with arguments of some types runs `f` once
#' on tracers, which records a graph; the graph is simplified, compiled and cached. Later calls with arguments
#' of the same types run the compiled graph and none of the R code of `f`.
#'
#' Arguments are tensors, R numbers, logicals and arrays, and lists of these, which may be nested and named;
#' so are results. Text in lists is static, see below: `f` gets it as it is, and `list(coef = b, name =
#' "ols")` as a result has it. Objects of your own classes are both, too, after [register_tree_class()]. A
#' data frame is a list of its columns, and a data frame to `f` too: `df$x`, `df[2:3, "x"]`, `with(df, x *
#' y)`, `nrow(df)`; functions that take matrices take the matrix of its columns, as `colMeans(df)`,
#' `cov(df)`, `as.matrix(df)`. Its factors, and those that are arguments, are codes that know their levels,
#' its times numbers as [as_nv_tensor()] has them, missing integers and logicals NaN. A data frame as a result
#' is a list, a factor its codes. An R number is an operand like one written in `f`: ambiguous, and computed
#' with in double precision until it meets a known dtype; so are time series, tables, what [poly()] and [I()]
#' give, and others whose class says no more than that they are numbers.
#' `NULL` is passed as it is. Arguments that are left out keep their defaults, which are evaluated while `f`
#' is traced, so they may use the other arguments. Tensors that `f` finds outside of its arguments are
#' captured as constants when it is traced; a later change of the variable is not seen.
#'
#' Side effects of `f` (printing, drawing R's random numbers, assigning elsewhere) happen only when it is
#' traced. While a function is traced, its values have types but no elements: `if (x > 0)` on one
#' is an error.
#'
#' Inside another traced function, the ops of a jitted `f` become part of the outer graph. Outside of `jit()`,
#' each op runs at once.
#'
#' @param f A function of tensors.
#' @param static Names or positions of arguments of `f` that are not data: `f` gets them as they are and is
#'   traced for each value, see below. Positions are those of its formals, from 1. `NULL` is none.
#' @param cache_size Number of programs that are kept; the least recently used one is dropped first.
#' @param donate Names of arguments whose memory the call may use for its results. A tensor that was given
#'   away cannot be used again: that is an error of class `anvil_error_donated`. If anything but the caller's
#'   own variable refers to the tensor, nothing is given away, and the results get memory of their own. A list
#'   refers to its elements: after `w <- out$w`, `step(w)` gives nothing away, while `step(out$w)` does, and
#'   so does a list as the argument, `state <- step(state)`.
#' @param device `"cpu"`.
#' @param rules Name of the promotion rules that `f` is traced with, one of [promotion_rules()]; `NULL` for
#'   those in force when it is called, see [with_promotion_rules()].
#' @param warn_promotion Classes of conversions to warn of when `f` is traced, see [explain_dtypes()]: any of
#'   `"lossless"`, `"rounds"`, `"overflows"`, `"wraps"` and `"drops sign"`.
#' @param expr An expression.
#' @param x A jitted function.
#' @param ... Not used.
#' @return `jit()` gives a function of class `JitFunction`. `jit_eval()` gives the value of the expression,
#'   traced and run as one program, with tensors that it refers to as constants.
#' @section Formulas that lose digits: Some formulas in programs become functions that compute the same, whose
#' largest error is smaller and that do not overflow:
#'
#' | formula | becomes | what it spares |
#' |---|---|---|
#' | `log(1 + exp(x))`, `log1p(exp(x))` | `nv_softplus(x)` | Inf where `exp(x)` overflows, 0 far below 0 |
#' | `log(1 + x)` | `log1p(x)` | the digits of a small `x` |
#' | `exp(x) - 1` | `expm1(x)` | the digits of a small `x` |
#' | `1 / (1 + exp(-x))` | `nv_logistic(x)` | 0 where `exp(-x)` overflows |
#' | `exp(x) / (1 + exp(x))` | `nv_logistic(x)` | NaN where `exp(x)` overflows |
#'
#' That is so for floats, if nothing else reads the sum or the exponential before the difference. The first is
#' rewritten before derivatives are taken, so that its gradient does not overflow either; the others
#' afterwards, as the gradients of these formulas are the better ones, and not within branches and loops.
#' Exported programs are rewritten too. Of -0, `log1p()` and `expm1()` are -0, where the formulas are 0. Calls
#' outside of programs run op by op and are not rewritten: this, and what follows, are the ways in which a
#' program's results differ from those. After `options(anvil.rewrite = FALSE)` they do not.
#' @section Fourier transforms: Programs transform real values, and those whose transforms are real, by half
#' of the numbers: the other half of a spectrum is the conjugate of the first. `Re(fft(fft(x) * fft(k),
#' inverse = TRUE))` of real `x` and `k` takes half the time, and so do autocovariances, gradients through
#' transforms and loops of them. The program has to show it: of a factor that comes from outside it is not
#' known that its halves are conjugates. Results differ by roundings, within the error of a transform; what is
#' not finite, or overflows on the way, may be so in other elements.
#' `options(anvil.rewrite = FALSE)` keeps transforms as they are written.
#' @section Diagonal matrices: `diag(w) %*% x` is `w * x` in a program, `t(x) %*% diag(w) %*% x` one
#' product, and of `diag(x %*% y)` and `sum(diag(x %*% y))` no more is computed than the diagonal. Products
#' with the zeros of `diag(w)`, which would be NaN where `x` is not finite, are left out;
#' `options(anvil.rewrite = FALSE)` keeps them.
#' @section Loops of R: A loop of R, `apply()`, `sapply()`, `Reduce()` and their like write the same
#' operations for each row or column. Where these are joined (`sapply(1:n, function(i) f(x[i, ]))`, `out[i] <-
#' f(x[i, ])`), added or multiplied (`s <- s + f(x[i, ])`), or their extremes taken, a program computes them
#' at once: products of rows are one product of matrices. That holds for gradients, too, and within loops and
#' branches of the program. Sums and products may be rounded in another order; `options(anvil.rewrite =
#' FALSE)` packs only operations whose results stay the same bit by bit. Values of more than 4,096 elements,
#' which are as fast one by one, are left as written.
#'
#' So it is with groups: sums, counts and extremes of four groups or more of 256 elements or more, one group
#' after the other, as `tapply(x, g, function(z) sum((z - mean(z))^2))` and
#' `sapply(1:k, function(i) sum(x[g == i]))` take them, read the elements once for all groups.
#' @section Iterations: Of [nv_scan()] and [nv_for()], a program computes once for all iterations what is made
#' of slices alone, before the loop, and what no later iteration reads, after it: of
#' `tanh(W %*% h + U %*% x)` the products with all `x` are one, and so they are where `x[i, ]` is read in the
#' iteration of number `i`. What each iteration adds to a sum that is not read otherwise, as gradients with
#' respect to `W` are, is added up after the loop. This is done for products, folds and slow functions, where
#' it takes no more than 16 MB. Sums and products may be rounded in another order;
#' `options(anvil.rewrite = FALSE)` keeps loops as they are written.
#' @section Static arguments: A program is used again for calls with the same static arguments. Vectors,
#' lists, data frames, code and S4 objects are the same if they are identical bit by bit: `0` is not `-0`, nor
#' `NA` any other `NaN`. Functions are the same if their code is, and if the variables that they use have the
#' same values as when `f` was traced: a variable that was given another value since makes another program.
#' Variables of packages are taken to be constant. Comparing the variables of a function of your own takes 20
#' to 100 microseconds per call; those of a package's function are not compared.
#'
#' Objects that can change in place cannot be compared: environments, and with them R6 objects, formulas and
#' functions that use such objects, and external pointers of other packages. They are errors of class
#' `anvil_error_static`.
#' @section Random numbers: R's own, as of `rnorm()`, are drawn once, while `f` is traced: a warning of class
#'   `anvil_warning_random`, unless `f` calls `set.seed()`. See [nv_rng_state()] for those of a program.
#' @section Errors: `anvil_error_arg` if `f` is no function, if `static` or `donate` has something that is no
#' argument of `f` (`...` is none), if both have the same argument, if `cache_size` is not a whole number of
#' at least 1, and for unknown rules or classes. When it is called: `anvil_error_arg` for an argument or
#' result that is neither tensor, number nor a list; `anvil_error_concrete` where `f` needs the value of a
#' tracer; `anvil_error_leaked_tracer` for a tracer that was kept from another trace; `anvil_error_donated`;
#' `anvil_error_static`; and what the ops of `f` raise.
#' @seealso [cache_info()] and [explain_cache()] for what is kept, [trace_fn()] for the graph,
#'   [compile_for()] to compile before the first call.
#' @examples
#' f <- jit(function(x, w) tanh(x %*% w) + 1)
#' x <- nv_tensor(c(1, 2, 3, 4), shape = c(2, 2))
#' f(x, nv_fill(0.1, c(2, 1)))
#'
#' power <- jit(function(x, n) if (n == 0) 1 else x * power(x, n - 1), static = "n")
#' power(nv_scalar(2), 3)
#' # The same by position
#' power <- jit(function(x, n) if (n == 0) 1 else x * power(x, n - 1), static = 2)
#'
#' jit_eval(x + 1)
#' @export
jit <- function(
  f, static = character(), cache_size = 100L, donate = character(), device = "cpu", rules = NULL,
  warn_promotion = character()
) {
  f <- match_function(f)
  check_device(device)
  if (inherits(f, "JitFunction")) f <- .Call(anvil_jit_spec, handle_of(f))[[1L]]
  fm <- formals_of(f)
  names <- as.character(names(fm))
  names <- names[names != "..."]
  static <- static_names(static, names(fm), names)
  check_names("donate", donate, names)
  both <- donate[donate %in% static]
  if (length(both)) {
    abort_arg(
      "donate", "arguments that are not static", describe(both[1L]),
      "A static argument holds no memory to reuse."
    )
  }
  if (!is_whole(cache_size) || cache_size < 1 || cache_size > .Machine$integer.max) {
    abort_arg("cache_size", "a whole number, at least 1", describe(cache_size))
  }
  if (!is.null(rules)) rules <- .Call(anvil_rules_name, rules)
  if (!is.character(warn_promotion) || !all(warn_promotion %in% conversion_classes)) {
    unknown <- if (is.character(warn_promotion)) {
      setdiff(warn_promotion, conversion_classes)[1L]
    } else {
      warn_promotion
    }
    abort_arg(
      "warn_promotion", paste0("any of ", paste0("\"", conversion_classes, "\"", collapse = ", ")),
      describe(unknown)
    )
  }
  dots <- match("...", names(fm), nomatch = 0L)
  spec <- list(
    f, names %in% static, names %in% donate, dots, as.integer(cache_size), names, rules, warn_promotion
  )
  jit_closure(f, fm, .Call(anvil_jit_new, spec))
}

# A function with the formals of f whose body is one native call. The routine is named by a string, so that a
# jitted function can be saved and sent to other processes. An argument that was left out is passed as R's
# empty environment, a value that is the same in every session.
jit_closure <- function(f, fm, handle) {
  pass <- function(name) {
    symbol <- as.name(name)
    if (name == "...") return(symbol)
    call("if", call("missing", symbol), emptyenv(), symbol)
  }
  body <- as.call(c(
    list(quote(.External), "anvil_jit_call", handle), lapply(names(fm), pass), list(PACKAGE = "anvil")
  ))
  enclosure <- environment(f)
  if (is.null(enclosure)) enclosure <- globalenv()
  out <- eval(call("function", as.pairlist(fm), body), enclosure)
  attr(out, "srcref") <- NULL
  # A function to S4 classes, fields and generics, too, such as plot().
  class(out) <- c("JitFunction", "function")
  out
}

check_names <- function(arg, x, names) {
  if (!is.character(x)) abort_arg(arg, "names of arguments", describe(x))
  unknown <- x[!x %in% names]
  if (length(unknown)) {
    abort_arg(
      arg, paste0("names of arguments (", paste(names, collapse = ", "), ")"), describe(unknown[1L]),
      if ("..." %in% x) "`...` is always data." else NULL
    )
  }
}

# The names of static arguments, of which `static` has names or positions among the formals; `known` are those
# that it may have.
static_names <- function(static, formals, known) {
  if (is.null(static)) return(character())
  if (!is.numeric(static) || is.object(static)) {
    if (!is.character(static)) abort_arg("static", "names or positions of arguments", describe(static))
    check_names("static", static, known)
    return(static)
  }
  count <- length(formals)
  positions <- paste("positions among the", count, if (count == 1L) "formal" else "formals", "of `f`")
  for (at in static) {
    if (!is_whole(at) || at < 1 || at > count) abort_arg("static", positions, describe(at))
    if (formals[at] == "...") {
      abort_arg("static", positions, paste0(at, ", which is `...`"), "`...` is always data.")
    }
  }
  # An argument that the call leaves out keeps its default, as it is.
  intersect(formals[static], known)
}

# The arguments that a function has, those of a primitive function too. The few that are part of R's grammar,
# such as `[`, have none that R knows of: they take whatever they are given.
formals_of <- function(f) if (is.null(taken <- args(f))) alist(... = ) else formals(taken)

# The entry points of jitted functions: to call them, and to find their program, see compile_for().
jit_entries <- c("anvil_jit_call", "anvil_jit_find")

# Told by its code: the class can be another one's.
is_jitted <- function(f) {
  code <- body(f)
  is.call(code) && length(code) > 2L && is.character(code[[2L]]) && code[[2L]] %in% jit_entries
}

# NULL if the function was changed, so that there is none: no entry point takes that for one.
handle_of <- function(f) {
  code <- if (is.function(f)) body(f)
  if (is.call(code) && length(code) > 2L) code[[3L]]
}

# Called by the C entry point with the argument list of a call that no cached program serves; with
# `run = FALSE`, to compile a program only.
jit_miss <- function(arguments, run = TRUE) {
  given <- as.list(arguments)
  handle <- given[[2L]]
  given <- given[-(1:2)]
  spec <- .Call(anvil_jit_spec, handle)
  if (is.null(names(given))) names(given) <- rep("", length(given))
  position <- formal_positions(length(given), length(spec[[6L]]), spec[[4L]])
  named <- !is.na(position)
  names(given)[named] <- spec[[6L]][position[named]]
  static <- named & spec[[2L]][position]
  supplied <- !vapply(given, identical, NA, emptyenv())
  check_static(names(given)[static], names(given), given)

  f <- spec[[1L]]
  if (.Call(anvil_trace_depth) > 0L) {
    # Inside a trace, f is part of it. R numbers become values of the trace, as they would be in a program of
    # their own.
    data <- supplied & !static
    given[data] <- Map(lift_numbers, given[data], argument_places(names(given))[data])
    return(promoted_as(spec, call_function(f, given[supplied])))
  }
  described <- describe_arguments(given, static, supplied, !named)
  rules <- spec[[7L]] %||% .Call(anvil_rules_name, NULL)
  if (rules != "anvil") described <- c(described, "promotion rules" = rules)
  described <- c(described, described_defaults())
  # Before the function is traced, which may change variables that they use.
  statics <- .Call(anvil_jit_snapshot, handle, arguments)
  graph <- noting_draws("a jitted function", {
    promoted_as(spec, trace_call(f, given[supplied], !static[supplied], "a jitted function"))
  }, again = !is_ours(f))
  .Call(anvil_jit_store, handle, arguments, graph, described, statics, run)
}

# Evaluates an expression by the rules of a jitted function, and warns of the conversions that it warns of.
promoted_as <- function(spec, expr) {
  if (!is.null(spec[[7L]])) {
    return(with_promotion_rules(spec[[7L]], promoted_as(replace(spec, 7L, list(NULL)), expr)))
  }
  if (!length(spec[[8L]])) return(expr)
  warn_of_conversions(audited(expr), spec[[8L]])
  expr
}

# For each of `count` arguments, the number of its formal, not counting `...`; NA for those in `...`.
formal_positions <- function(count, formals, dots) {
  if (dots == 0L) return(seq_len(count))
  after <- formals - (dots - 1L)
  c(seq_len(dots - 1L), rep(NA_integer_, count - formals), seq_len(after) + dots - 1L)
}

# `place` is what errors call it.
lift_numbers <- function(x, place) {
  found <- .Call(anvil_paths, x, place)
  is_leaf <- are_leaves(found[[1L]])
  lift <- function(leaf, place) {
    if (inherits(leaf, "AnvilValue")) return(leaf)
    with_names(.Call(anvil_trace_lift, leaf, place), axis_names(leaf))
  }
  restore(x, Map(lift, found[[1L]][is_leaf], found[[2L]][is_leaf]))
}

# The leaves of a nested list, in order: all that is no list and not NULL. Rust walks nested lists, and
# refuses those that are nested too deep.
unlist_leaves <- function(x) .Call(anvil_leaves, x)

# The structure of a nested list with other leaves, in order.
restore <- function(x, leaves) .Call(anvil_refill, x, leaves)

# A nested list with other leaves of these numbers. What holds none of them stays as it is: the leaves of a
# data frame's factors are codes.
with_leaves <- function(x, at, leaves) {
  all <- unlist_leaves(x)
  all[at] <- leaves
  kept_elsewhere(restore(x, all), x, seq_along(all) %in% at)
}

# What was made of a nested list, with the list's own parts where no leaf is new.
kept_elsewhere <- function(made, x, is_new) {
  if (!any(is_new)) return(x)
  if (!is.list(x) || is.object(x) && !is.data.frame(x)) return(made)
  class <- oldClass(made)
  made <- unclass(made)
  x <- unclass(x)
  counts <- vapply(x, function(part) length(unlist_leaves(part)), 0L)
  ends <- cumsum(counts)
  for (i in which(counts > 0L)) {
    own <- seq_len(counts[i]) + ends[i] - counts[i]
    made[[i]] <- kept_elsewhere(made[[i]], x[[i]], is_new[own])
  }
  oldClass(made) <- class
  made
}

# A nested list with f applied to its leaves.
map_leaves <- function(x, f) restore(x, lapply(unlist_leaves(x), f))

# A static argument is part of the cache key, for which a tracer is no good.
check_static <- function(static, names, args) {
  for (name in static) {
    if (inherits(args[[match(name, names)]], c("AnvilTracer", "AnvilSelection"))) {
      abort(
        "anvil_error_static",
        paste0(
          "Static argument `", name,
          "` must be an ordinary R value, not a traced value.\ni Leave it out of `static = `."
        ),
        arg = name, got = "a traced value"
      )
    }
  }
}

#' @rdname jit
#' @export
jit_eval <- function(expr) {
  expr <- substitute(expr)
  f <- eval(call("function", NULL, expr), parent.frame())
  jit(f)()
}

#' @rdname jit
#' @export
print.JitFunction <- function(x, ...) {
  check_dots(..., .known = taken_by("print", "function"))
  info <- cache_info(x)
  cat("<JitFunction> with ", info$entries, " of ", info$size, " programs\n", sep = "")
  print(.Call(anvil_jit_spec, handle_of(x))[[1L]], ...)
  invisible(x)
}
