# A function that apply() and its like call for each line of a traced value is traced once for all lines, as a
# batch, where that cannot be told from one call after the other. A call takes some tenths of a millisecond to
# trace, and a data set has thousands of lines.

# From as many calls on.
least_batch <- 8L

# What draws, writes, asks for frames or the time, or changes what lies outside of a function: where it is
# called, one call is not as the next.
effects <- c(
  "<<-", "assign", "delayedAssign", "makeActiveBinding", "lockBinding", "unlockBinding", "rm", "remove",
  "eval", "evalq", "eval.parent", "source", "sys.source", "attach", "detach", "library", "require",
  "requireNamespace", "loadNamespace", "get", "get0", "mget", "exists", "dynGet", "environment",
  "environment<-", "as.environment", "globalenv", "topenv", "parent.env", "parent.env<-", "parent.frame",
  "sys.call", "sys.calls", "sys.function", "sys.frame", "sys.frames", "sys.nframe", "sys.parent",
  "sys.parents",
  "set.seed", "RNGkind", "sample", "sample.int", "print", "cat", "message", "warning", "signalCondition",
  "withCallingHandlers", "invokeRestart", "write", "writeLines", "readline", "readLines",
  "readRDS", "saveRDS", "save", "load", "scan", "sink", "dput", "dump", "file", "open", "close", "browser",
  "Sys.time", "Sys.Date", "date", "proc.time", "system.time", "Sys.sleep", "Sys.getenv", "Sys.setenv",
  "options", "getOption", "gc", "tracemem", "reg.finalizer", ".Call", ".External", ".C", ".Fortran",
  "nv_print", "nv_callback", "nv_save", "anvil_progress"
)

is_effect <- function(f) {
  any(vapply(effects, function(name) {
    identical(f, get0(name, baseenv())) || identical(f, mask_functions[[name]]) ||
      identical(f, get0(name, topenv()))
  }, NA))
}

# Whether a function has no effects, by its code and that of the user's functions in it, nor those that it is
# `given`, or that a string among these names. Code that cannot be followed may have some: methods of objects,
# and variables that are environments or hold any.
is_repeatable <- function(f, given = list()) {
  seen <- list()
  is_fine_function <- function(f) {
    if (is.primitive(f)) return(TRUE)
    home <- environment(f)
    for (one in seen) if (identical(one, f)) return(TRUE)
    # A package may be called, of which each function calls others.
    if (length(seen) > 100L) return(FALSE)
    seen <<- c(seen, f)
    if (is_of_package(f) && is_of_r(topenv(home))) {
      # One that R or this package made of another, as jit() does.
      if (identical(home, topenv(home))) return(TRUE)
      return(all(vapply(functions_in(home, ls(home, all.names = TRUE)), is_fine_function, NA)))
    }
    # Of a generic of S4, methods may be anywhere.
    if (isS4(f)) return(FALSE)
    parts <- given_parts(c(list(body(f)), as.list(formals(f))))
    locals <- c(names(formals(f)), unlist(lapply(parts, variables_set_by)))
    all(vapply(parts, is_fine, NA, home, locals)) && has_fine_methods(parts, home)
  }
  # Which of the user's methods are called, classes decide.
  has_fine_methods <- function(parts, home) {
    names <- unique(unlist(lapply(parts, function(code) c(all.names(code), strings_in(code)))))
    while (!identical(home, emptyenv()) && (!isNamespace(home) || !is_of_r(home))) {
      methods <- methods_in(home, c(names, paste0(names, "<-"), "Ops", "Math", "Summary"))
      if (!all(vapply(functions_in(home, methods), is_fine_function, NA))) return(FALSE)
      if (identical(home, topenv(home))) break
      home <- parent.env(home)
    }
    TRUE
  }
  is_fine_variable <- function(name, home, locals) {
    if (name %in% locals) return(TRUE)
    !is_active_from(name, home) && is_fine_value(get0(name, home), home)
  }
  is_fine_value <- function(value, home) {
    if (is.function(value)) return(!is_effect(value) && is_fine_function(value))
    # Which are S4 objects before R 4.3.
    if (inherits(value, "AnvilValue")) return(TRUE)
    if (is.list(value)) return(all(vapply(unclass(value), is_fine_value, NA, home)))
    # Many strings are data.
    if (is.character(value) && length(value) <= 100L && !is_fine_text(value, home)) return(FALSE)
    if (any(vapply(attributes(value), is.environment, NA))) return(FALSE)
    !is.environment(value) && !isS4(value) && typeof(value) != "externalptr"
  }
  # A function may be called by its name.
  is_fine_text <- function(text, home) {
    text <- unique(text[!is.na(text) & nzchar(text)])
    all(vapply(text, is_fine_name, NA, home))
  }
  # A variable of the name hides no function.
  is_fine_name <- function(name, home) {
    if (name %in% effects) return(FALSE)
    f <- get0(name, home, mode = "function")
    # R's own of this name has none, since the name is none of those that have.
    is_rs <- is.null(f) || identical(f, get0(name, baseenv())) || identical(f, mask_functions[[name]])
    is_rs || !is_effect(f) && is_fine_function(f)
  }
  is_fine <- function(code, home, locals) {
    if (is.symbol(code)) return(is_fine_variable(as.character(code), home, locals))
    if (is.character(code)) return(is_fine_text(code, home))
    if (!is.call(code)) return(TRUE)
    head <- code[[1L]]
    parts <- as.list(code)[-1L]
    if (is.symbol(head)) {
      name <- as.character(head)
      if (name %in% c("::", ":::")) return(!as.character(code[[3L]]) %in% effects)
      if (name == "function") {
        parts <- c(as.list(code[[2L]]), code[[3L]])
        locals <- c(locals, names(code[[2L]]))
        return(all(vapply(given_parts(parts), is_fine, NA, home, locals)))
      }
      # A name that is computed.
      if (name %in% c("do.call", "match.fun") && length(parts) && is_computed(parts[[1L]])) return(FALSE)
      called <- if (name %in% c("<-", "=")) replacing(parts[[1L]])
      if (!all(vapply(called, is_fine_name, NA, home))) return(FALSE)
      if (name %in% c("$", "@")) parts <- parts[1L]
      if (is_active_from(name, home) || !is_fine_name(name, home)) return(FALSE)
    } else if (is.call(head) && as.character(head[[1L]])[1L] %in% c("$", "@", "[[")) {
      return(FALSE)
    } else {
      parts <- c(list(head), parts)
    }
    all(vapply(given_parts(parts), is_fine, NA, home, locals))
  }
  if_it_fails(
    !is_effect(f) && is_fine_function(f) && all(vapply(given, is_fine_value, NA, environment(f))), FALSE
  )
}

is_computed <- function(code) is.call(code) && !identical(code[[1L]], quote(`function`))

# The functions that `third(second(x)) <- 1` calls.
replacing <- function(target) {
  if (!is.call(target)) return(NULL)
  c(paste0(name_of_call(target), "<-"), if (length(target) > 1L) replacing(target[[2L]]))
}

# Whether a variable that is seen from here is computed each time that it is read.
is_active_from <- function(name, home) {
  while (!identical(home, emptyenv())) {
    if (exists(name, home, inherits = FALSE)) return(bindingIsActive(as.name(name), home))
    home <- parent.env(home)
  }
  FALSE
}

strings_in <- function(code) {
  if (is.character(code)) return(code)
  if (is.call(code) || is.pairlist(code)) unlist(lapply(given_parts(as.list(code)), strings_in))
}

# Parts of code but for arguments that are left out.
given_parts <- function(parts) parts[!vapply(parts, identical, NA, quote(expr = ))]

# The variables that code assigns as a whole.
variables_set_by <- function(code) {
  if (is.pairlist(code)) return(c(names(code), unlist(lapply(given_parts(as.list(code)), variables_set_by))))
  if (!is.call(code)) return(NULL)
  here <- if (is.symbol(code[[1L]]) && as.character(code[[1L]]) %in% c("<-", "=", "for")) {
    if (is.symbol(code[[2L]]) || is.character(code[[2L]])) as.character(code[[2L]])
  }
  c(here, unlist(lapply(given_parts(as.list(code)), variables_set_by)))
}

# The answers of `f(line, ...)` for each example along the last axis of these values, whose other axes have
# these names: in one value with the examples along its last axis, the size of an answer, and one of them.
# NULL if they are to be made one after the other: if that can be told from a batch, if an answer is no traced
# value, and if a call fails, which it then does again as one of the user's.
answers_of_batch <- function(f, values, names, ...) {
  count <- shape(values[[1L]])[ndims(values[[1L]])]
  more <- list(...)
  is_plain <- function(x) is.atomic(x) || is_traced(x) || is.function(x)
  if (count < least_batch || !all(vapply(more, is_plain, NA)) || !is_repeatable(f, more)) return(NULL)
  answer <- NULL
  keep <- function(out) {
    if (is_traced(out) && length(out) && is.null(levels(out))) answer <<- out
    rep(TRUE, length(unlist_leaves(out)))
  }
  seed <- get0(".Random.seed", globalenv(), inherits = FALSE)
  is_noted <- draws$is_noted
  made <- tryCatch(
    if_it_fails(over_examples(f, c(values, more), seq_along(values), values, count, keep, names), NULL),
    anvil_warning_random = function(w) NULL
  )
  has_drawn <- !identical(seed, get0(".Random.seed", globalenv(), inherits = FALSE))
  if (has_drawn) {
    rm(".Random.seed", envir = globalenv())
    if (!is.null(seed)) assign(".Random.seed", seed, globalenv())
  }
  if (is.null(made) || is.null(answer) || has_drawn) {
    draws$is_noted <- is_noted
    return(NULL)
  }
  list(value = made$result, size = length(answer), of = answer)
}

# The answers of `f` for each element of these vectors of one length, as simplified() puts them together. NULL
# if they are to be made one after the other.
answers_for_elements <- function(f, vectors, higher, ...) {
  are_plain <- all(vapply(vectors, function(x) is_traced(x) && !is_traced_factor(x) && length(x), NA))
  if (!are_plain || length(unique(lengths(vectors))) != 1L) return(NULL)
  made <- answers_of_batch(f, lapply(vectors, function(x) unname(as_flat(x))), list(NULL), ...)
  # A name of an answer is put behind that of the element.
  if (is.null(made) || made$size == 1L && !is.null(base::names(made$of))) return(NULL)
  names <- if (ndims(vectors[[1L]]) < 2L) base::names(vectors[[1L]])
  if (made$size == 1L) return(from_r(with_names(as_flat(made$value), list(names))))
  each <- if (higher && length(dim(made$of)) > 1L) dim(made$of) else made$size
  out <- nv_reshape(as_flat(made$value), c(each, length(vectors[[1L]])))
  of_answer <- if (length(each) == 1L) list(base::names(made$of)) else dimnames(made$of)
  from_r(with_dimnames(out, c(of_answer %||% vector("list", length(each)), list(names))))
}
