# Malformed calls of all exports and of all generics with methods for anvil's classes: with arguments out of
# the pools, left out, named wrong or twice; and the examples of the help pages with parts of them replaced.
# Eagerly, traced, derived, in loops.

call_targets <- local({
  exports <- Filter(function(name) is.function(get(name, anvil_space)), sort(anvil_exports))
  # They wait for a person, or write where they please.
  generics <- setdiff(anvil_generics, c("plot", "knit_print", "compare_proxy"))
  c(exports[grepl("^[a-z]", exports)], sort(generics))
})

# The expressions of the examples of all help pages, as far as they are calls.
example_code <- local({
  pages <- list.files(file.path(root, "man"), "[.]Rd$", full.names = TRUE)
  parse_page <- function(page) {
    lines <- utils::capture.output(tools::Rd2ex(page, commentDontrun = TRUE))
    as.list(parse(text = lines, keep.source = FALSE))
  }
  Filter(length, lapply(pages, parse_page))
})

generate_calls <- function(n) {
  if (stats::runif(1L) < 0.3) return(example_case())
  name <- one_of(call_targets)
  fun <- get(name, if (name %in% anvil_exports) anvil_space else baseenv_with_stats)
  # Some primitives have no list of arguments.
  known <- if (!is.null(args(fun))) names(formals(args(fun)))
  generic <- !name %in% anvil_exports
  chosen <- choose_names(known)
  setup <- list()
  arguments <- list()
  for (i in seq_along(chosen)) {
    variable <- paste0("a", i)
    # What a method is for, more often than not.
    received <- generic && i == 1L && stats::runif(1L) < 0.85
    value <- if (received) draw_value(c("tensor", "tensor", "tensor", "anvil")) else draw_argument(chosen[i])
    # R before 4.3 loses its missing argument for good if a method of a primitive is given it.
    if (stats::runif(1L) < 0.01 && !is.primitive(fun)) {
      arguments <- c(arguments, list(quote(expr = )))
    } else {
      setup[variable] <- list(value)
      arguments <- c(arguments, list(as.name(variable)))
    }
    # By name or by order; some names wrong, cut or doubled.
    by_name <- (!generic || i > 1L) && stats::runif(1L) < 0.5
    label <- if (by_name && chosen[i] != "...") chosen[i] else ""
    luck <- stats::runif(1L)
    if (nzchar(label) && luck < 0.03) label <- paste0(label, "s")
    if (nzchar(label) && luck > 0.97) label <- substr(label, 1L, nchar(label) - 1L)
    if (luck > 0.49 && luck < 0.51) label <- "unknown"
    names(arguments)[length(arguments)] <- label
  }
  call <- as.call(c(list(as.name(name)), arguments))
  list(setup = setup, code = placed(call, names(setup)))
}

baseenv_with_stats <- new.env(parent = as.environment("package:stats"))

# Names of the arguments to give, in order: all, some of them, one more.
choose_names <- function(known) {
  if (!length(known)) known <- c("x", "y")
  luck <- stats::runif(1L)
  chosen <- if (luck < 0.3) {
    known
  } else if (luck < 0.8) {
    known[seq_len(sample.int(length(known), 1L))]
  } else {
    known[stats::runif(length(known)) < 0.6]
  }
  if (stats::runif(1L) < 0.05) chosen <- c(chosen, one_of(known))
  # Dots take several.
  unlist(lapply(chosen, function(name) if (name == "...") rep(name, sample.int(4L, 1L) - 1L) else name))
}

# The call where it is made: as it stands, through do.call(), in a trace, a derived function or a loop.
placed <- function(call, variables) {
  luck <- stats::runif(1L)
  if (luck < 0.6 || !length(variables)) return(call)
  if (luck < 0.7) {
    arguments <- as.call(c(quote(list), as.list(call)[-1L]))
    return(as.call(list(quote(do.call), as.character(call[[1L]]), arguments, quote = TRUE)))
  }
  first <- as.name(variables[1L])
  inner <- as.call(lapply(
    as.list(call), function(part) if (!missing(part) && identical(part, first)) quote(z) else part
  ))
  if (luck < 0.85) return(bquote(jit(function(z) .(inner))(.(first))))
  if (luck < 0.9) return(bquote(trace_fn(function(z) .(inner), .(first))))
  if (luck < 0.95) return(bquote(gradient(function(z) sum(.(inner)))(.(first))))
  if (luck < 0.975) return(bquote(nv_for(2L, .(first), function(i, z) .(inner))))
  bquote(nv_if(nv_scalar(TRUE), .(call), .(call)))
}

# ---- examples with a part replaced ----

example_case <- function() {
  page <- one_of(example_code)
  # What stands before is left as it is.
  last <- sample.int(length(page), 1L)
  code <- page[[last]]
  for (i in seq_len(sample.int(2L, 1L))) {
    spots <- parts_of(code)
    if (!length(spots)) break
    code <- replace_part(code, one_of(spots))
  }
  # Pages begin with what later lines use; if that fails by itself, so does the case, and nothing is learnt.
  list(setup = list(), before = page[seq_len(last - 1L)], code = code)
}

# Paths to all arguments of calls in an expression.
parts_of <- function(code, path = integer()) {
  if (!is.call(code)) return(list())
  out <- list()
  # No part of a function's head, nor what is assigned to.
  from <- if (identical(code[[1L]], quote(`function`))) {
    3L
  } else if (identical(code[[1L]], quote(`<-`))) {
    3L
  } else {
    2L
  }
  for (i in seq_along(code)) {
    if (i < from || i > length(code)) next
    part <- code[[i]]
    if (from == 3L && i != 3L) next
    if (!identical(code[[1L]], quote(`{`)) && from == 2L) out <- c(out, list(c(path, i)))
    if (!missing(part)) out <- c(out, parts_of(part, c(path, i)))
  }
  out
}

replace_part <- function(code, path) {
  at <- path[1L]
  if (length(path) > 1L) {
    code[[at]] <- replace_part(code[[at]], path[-1L])
    return(code)
  }
  luck <- stats::runif(1L)
  parts <- as.list(code)
  if (luck < 0.7) {
    value <- draw_value()
    parts[at] <- list(value)
  } else if (luck < 0.8) {
    parts <- parts[-at]
  } else if (luck < 0.9) {
    parts <- append(parts, parts[at], sample(at:length(parts), 1L))
  } else if (length(parts) > at) {
    parts[c(at, at + 1L)] <- parts[c(at + 1L, at)]
  } else {
    names(parts)[at] <- "unknown"
  }
  as.call(parts)
}
