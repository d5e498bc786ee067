# Reading the elements of traced values: the error. What to write instead is in concrete-advice.R.

# Whether a value is a traced one.
is_traced <- function(x) inherits(x, "AnvilTracer")

# Called by the methods of traced values that would give elements: some function of R reads one.
refuse_reading <- function(x) {
  reader <- reading_call(sys.nframe() - 1L, attr(sys.call(), "srcref"))
  # unclass() takes the class away, and what says the type needs it.
  if (!inherits(x, "AnvilTracer") && is.null(selected(x))) oldClass(x) <- c("AnvilTracer", "AnvilValue")
  abort_reading(reader, x)
}

# A traced value where R needs elements. `what` needs them, or the function of R that called it: outer() calls
# as.vector().
abort_concrete <- function(what, x) {
  parents <- sys.parents()
  at <- sys.nframe() - 1L
  # What this package calls of R's, such as lapply(), is its own doing.
  is_own_doing <- function(at) {
    f <- sys.function(at)
    is_ours(f) || is_of_package(f) && !is_eval(at) && parents[at] > 0L && parents[at] < at &&
      is_ours(sys.function(parents[at])) && !is_mask_function(sys.function(parents[at]))
  }
  while (at > 0L && is_own_doing(at)) {
    # A method is called by the name of its generic.
    generic <- get0(".Generic", sys.frame(at), inherits = FALSE)
    # R's match() calls mtfrm().
    if (is.character(generic)) what <- if (generic == "mtfrm") "match()" else paste0(generic, "()")
    at <- if (parents[at] < at) parents[at] else at - 1L
  }
  if (at > 0L && is_of_package(sys.function(at)) && !is_eval(at)) {
    reader <- reading_call(at, NULL)
    if (reader$in_function) return(abort_reading(reader, x))
  }
  # Code is in backticks, as where a reader is found; words such as "a file" are not.
  shown <- sub("^([^` ]+\\(\\))$", "`\\1`", what)
  abort_reading(list(what = shown, name = sub("\\(\\)$", "", what), call = user_call(), line = ""), x)
}

# `reader` says what reads the traced value, see reading_call().
abort_reading <- function(reader, x) {
  # R's function may have made it of a traced value that it is given.
  if (!is.null(selected(x)) && (!length(reader$given) || any_selection_in(reader$given))) {
    abort_selection(reader)
  }
  if (!is.null(attr(x, "of_selection"))) abort_selection_size(reader)
  line <- reader$line
  advice <- if (length(reader$name)) unique(instead_of[reader$name]) else NA
  # Of several functions that may be the one, the advice for each.
  advice <- if (anyNA(advice)) NA else paste(advice, collapse = " ")
  if (identical(reader$name, "if")) advice <- advice_on_if(reader$call)
  if (identical(reader$name, "[")) advice <- advice_on_subset(reader) %||% advice
  if (is_traced_factor(x) && any(c("as.vector", "as.logical", "as.character") %in% reader$name)) {
    advice <- labels_of_factor
  }
  if (is_series_call(reader)) advice <- advice_on_series
  # What says itself that it reads one, knows what to write.
  if (!is.null(reader$in_function) && any(reader$name %in% names(mask_functions))) {
    # A masked function reads what cannot hold a traced value; another one is base R's, beyond the mask's
    # reach.
    advice <- if (isTRUE(reader$masked)) {
      if (identical(reader$name, "[")) {
        advice
      } else if (any(c("[<-", "[[<-") %in% reader$name)) {
        paste(
          "A list has no element at a place that is not known: assign to a tensor, as `nv_fill()` makes one,",
          "or let `nv_scan()` stack the values."
        )
      } else {
        "A traced value is a number: use it with numbers, or in a list."
      }
    } else {
      of_packages <- list(
        mask_counts, mask_diagnostics, mask_glm, mask_interpolation, mask_models, mask_nls, mask_numerics,
        mask_statistics, mask_tests
      )
      where <- if (any(reader$name %in% unlist(lapply(of_packages, names)))) {
        "By its name alone, without that of its package, it takes traced values, see `?masked-functions`."
      } else {
        "`?masked-functions` says where R code works as it stands."
      }
      if (is.na(advice)) where else paste(advice, where)
    }
  } else if (is.na(advice) && length(reader$name) == 1L && is_generic_here(reader$name)) {
    advice <- paste0(
      "anvil's own `", reader$name, "()` takes traced values: call it without the name of another package. ",
      "A package imports it from anvil."
    )
  }
  if (is.na(advice)) {
    advice <- paste(
      "Use tensor ops on it, call the function outside of the traced one, or name the argument in",
      "`static = ` if its value is needed."
    )
  }
  abort(
    "anvil_error_concrete",
    paste0(
      "A traced value has no elements yet: ", reader$what, " cannot read them.\nx ",
      shown_reading(reader, x), " while the function is traced", if (nzchar(line)) paste0(" (", line, ")"),
      ".\ni ", advice
    ),
    where = gsub("`", "", reader$what, fixed = TRUE), aval = format(x), line = line, call = reader$call
  )
}

# Whether a function of R's that looks for a method is given a time series.
is_series_call <- function(reader) {
  is_series <- function(x) {
    if (is.call(x)) return(name_of_call(x) == "ts")
    is.name(x) && inherits(value_of_variable(x), "ts")
  }
  is.call(reader$call) && any(vapply(as.list(reader$call)[-1L], is_series, NA))
}

# What is read: where R's function computes something of its arguments first, the argument.
shown_reading <- function(reader, x) {
  given <- reader$given
  if (is.null(given) || any(vapply(given, is_same, NA, x))) return(paste("It is", format(x)))
  if (length(given)) paste("It is given", format(given[[1L]])) else paste("It computes with", format(x))
}

# Traced values among the arguments of a call that are variables, or columns of one; others might not have
# been evaluated yet.
traced_arguments <- function(call, frame) {
  value <- function(x) {
    if (is.name(x)) return(if_it_fails(get0(as.character(x), frame), NULL))
    if (!is.call(x) || length(x) != 3L || name_of_call(x) != "$" || !is.name(x[[2L]])) return(NULL)
    whole <- value(x[[2L]])
    if (is.list(whole)) unclass(whole)[[as.character(x[[3L]])]]
  }
  values <- lapply(as.list(call)[-1L], value)
  unname(Filter(function(x) is_traced(x) || is_selection(x), values))
}

any_selection_in <- function(values) any(vapply(values, is_selection, NA))

# What to write for `x[i]` where `x` is R's and `i` traced; NULL of another call, and of one that do.call()
# puts values in, which cannot be shown.
advice_on_subset <- function(reader) {
  call <- reader$call
  if (!is.call(call) || !identical(call[[1L]], quote(`[`)) || length(call) < 3L) return(NULL)
  if (any(vapply(as.list(call), is.object, NA))) return(NULL)
  x <- call[[2L]]
  value <- if (is.name(x)) value_of_variable(x)
  gives_text <- c("names", "levels", "rownames", "colnames", "paste", "paste0")
  is_text <- is.call(x) && name_of_call(x) %in% gives_text ||
    is.call(x) && name_of_call(x) == "c" && any(vapply(as.list(x)[-1L], is.character, NA))
  if (is.character(value) || is_text) {
    return("A program has no text: give the positions as a result, and subscript with them outside.")
  }
  if (is_traced(value)) return(advice_on_ranges)
  if (is.list(value) && !is.data.frame(value)) return("`nv_switch()` chooses among the elements of a list.")
  if (inherits(value, "ts") || is.call(x) && name_of_call(x) == "ts") {
    return("A time series of traced values has no elements to subscript: subscript the values before `ts()`.")
  }
  tensor <- if (isTRUE(reader$of_frame)) "as_nv_tensor" else "nv_tensor"
  call[[2L]] <- call(tensor, x)
  if (isTRUE(reader$of_frame)) {
    return(paste0(
      "The rows of a data frame are R's: subscript its columns, as `d$x[i]`, or a tensor of them, `",
      deparse1(call), "`."
    ))
  }
  if (is.name(x)) {
    return(paste0(
      "Make a tensor of `", x, "` first, which is R's and has elements at known places alone: `", x,
      " <- nv_tensor(", x, ")`."
    ))
  }
  paste0(
    "What is subscripted is R's, which has elements at known places alone: write `", deparse1(call), "`."
  )
}

# The value that a variable of the user's has in the innermost function that has it, or sees it; NULL of none.
value_of_variable <- function(name) {
  for (frame in rev(sys.frames())) {
    if (identical(topenv(frame), topenv())) next
    value <- if_it_fails(get0(as.character(name), frame), NULL)
    if (!is.null(value) && !is.function(value)) return(value)
  }
}

# Whether a function of base R or stats is a generic of this package, see base-generics.R.
is_generic_here <- function(name) {
  # Of a call by do.call() of a function itself, no name.
  if (!nzchar(name)) return(FALSE)
  exists_in <- function(home) exists(name, home, mode = "function", inherits = FALSE)
  (exists_in(baseenv()) || exists_in(asNamespace("stats"))) && name %in% getNamespaceExports(topenv())
}

# Functions of R that say in words of their own that a traced value has no elements.
needing_elements <- c(
  "if", "while", "&&", "||", "switch", "rep", "rep_len", "rep.int", "rle"
)

# R asks a condition, or the times of a repetition, for its length before it reads it: its error about another
# length becomes ours, if the argument mentions a traced value.
refuse_condition <- function(e) {
  call <- conditionCall(e)
  if (inherits(e, "anvil_error")) return()
  if (!is.call(call) || !is.name(call[[1L]])) return(refuse_words(e))
  name <- as.character(call[[1L]])
  refuse_unknown(e, name)
  if (length(call) == 3L && identical(conditionMessage(e), non_numeric_operand())) refuse_frame_operand(call)
  if (!name %in% needing_elements) return(refuse_words(e))
  read <- if (name %in% c("if", "while", "switch")) as.list(call)[2L] else as.list(call)[-1L]
  for (frame in rev(sys.frames())) {
    if (identical(topenv(frame), topenv())) next
    for (variable in unique(unlist(lapply(read, all.names)))) {
      value <- if_it_fails(get0(variable, envir = frame, inherits = FALSE), NULL)
      # Also an element of a list.
      if (is.list(value) && !is.object(value)) {
        value <- Filter(function(x) inherits(x, "AnvilTracer"), if_it_fails(unlist_leaves(value), list()))
        if (length(value)) value <- value[[1L]]
      }
      if (!inherits(value, "AnvilTracer")) next
      abort_reading(list(what = paste0("`", name, "`"), name = name, call = call, line = ""), value)
    }
  }
}

# What a function of R's says of a traced value that it is given is about what stands for that, or about its
# class.
refuse_words <- function(e) {
  at <- frame_of_error()
  if (at < 1L || !is_of_package(sys.function(at)) || is_ours(sys.function(at))) return()
  reader <- reading_call(at, NULL)
  if (!isTRUE(reader$in_function) || name_of_call(reader$call) %in% evaluators) return()
  parents <- sys.parents()
  inner <- if (parents[at] > 0L) traced_arguments(sys.call(at), sys.frame(parents[at]))
  given <- c(reader$given, inner)
  if (!length(given)) {
    # In a list, or a part of one.
    values <- lapply(as.list(reader$call)[-1L], function(x) {
      while (is.call(x) && name_of_call(x) %in% c("$", "[[")) x <- x[[2L]]
      if (is.name(x)) value_of_variable(x)
    })
    for (value in Filter(is.list, values)) {
      given <- c(given, Filter(is_traced, if_it_fails(unlist_leaves(unclass(value)), list())))
    }
  }
  is_of_class <- grepl("\"Anvil(Tracer|Selection|Value)\"", conditionMessage(e))
  if (!length(given) && !is_of_class) return()
  advice <- unname(instead_of[reader$name])
  if (anyNA(advice)) {
    advice <- paste(
      "Call it outside of the traced function, or name the argument in `static = `. A slot or a field that",
      "holds a tensor is of class \"ANY\", a method of tensors of class \"AnvilValue\"."
    )
  }
  abort(
    "anvil_error_concrete",
    paste0(
      "A traced value has no elements yet: ", reader$what, " does not take it.",
      if (length(given)) paste("\nx It is given", format(given[[1L]]), "while the function is traced."),
      "\ni R says: ", conditionMessage(e), "\ni ", advice
    ),
    where = gsub("`", "", reader$what, fixed = TRUE), aval = if (length(given)) format(given[[1L]]),
    line = reader$line, call = reader$call
  )
}

# The frame in which an error is signalled, in a handler of it; 0 of one that is none of R's own words.
frame_of_error <- function() {
  at <- sys.nframe()
  while (at > 0L && !identical(sys.function(at), .handleSimpleError)) at <- at - 1L
  at <- at - 1L
  while (at > 0L && identical(sys.function(at), base::stop)) at <- at - 1L
  at
}

# R before 4.3 takes neither method where operands have different ones: it warns of that, and reads elements.
refuse_method <- function(w) {
  said <- regmatches(conditionMessage(w), gregexpr("\"[^\"]+\"", conditionMessage(w)))[[1L]]
  said <- gsub("\"", "", said, fixed = TRUE)
  if (length(said) != 3L || !any(grepl("\\.Anvil[A-Z][A-Za-z]+$", said[1:2]))) return()
  other <- sub("^[^.]*\\.", "", grep("\\.Anvil", said[1:2], invert = TRUE, value = TRUE))
  # See refuse_frame_operand().
  if (!length(other) || other[1L] == "data.frame") return()
  abort(
    "anvil_error_unsupported",
    paste0(
      "`", said[3L], "` takes no object of class <", other[1L], "> beside a traced value in R before 4.3.\n",
      if (other[1L] %in% c("factor", "ordered")) {
        "i Take its labels: `as.character(y)`."
      } else {
        "i Take its numbers alone: `as.numeric(y)`, or `unclass(y)` with the shape that it has."
      }
    ),
    generic = said[3L], call = conditionCall(w)
  )
}

non_numeric_operand <- function() gettext("non-numeric argument to binary operator", domain = "R")

# R before 4.3 asks no method about an operator of a data frame and a traced value.
refuse_frame_operand <- function(call) {
  operands <- lapply(as.list(call)[-1L], function(x) if (is.name(x)) value_of_variable(x))
  is_frame <- vapply(operands, inherits, NA, "data.frame")
  is_value <- vapply(operands, inherits, NA, "AnvilValue")
  if (sum(is_frame) != 1L || sum(is_value) != 1L) return()
  better <- call
  better[-1L][is_frame] <- list(call("as_nv_tensor", call[-1L][is_frame][[1L]]))
  name <- name_of_call(call)
  abort(
    "anvil_error_unsupported",
    paste0(
      "`", name, "` takes no data frame beside a traced value.\ni Write `", deparse1(better), "`."
    ),
    generic = name, call = call
  )
}

# Called by the methods of donated tensors: their elements are gone. Asking for the tensor says so.
refuse_donated <- function(x) {
  reader <- reading_call(sys.nframe() - 1L, attr(sys.call(), "srcref"))
  said <- tryCatch(.Call(anvil_summary, x), anvil_error_donated = identity)
  abort("anvil_error_donated", conditionMessage(said), call = reader$call)
}

# Called where R reads a saved tensor whose bytes are of an unknown version.
refuse_saved <- function(state) {
  reader <- reading_call(sys.nframe() - 1L, attr(sys.call(), "srcref"))
  abort(
    "anvil_error_value",
    paste0(
      "A saved tensor cannot be read: its bytes are broken, or of a newer version of anvil.\n",
      "i Save it again, or update anvil."
    ),
    call = reader$call
  )
}

# Whether a value is traced, or a list with one that is. A list that is nested too deep is no argument of an
# op.
holds_tracer <- function(x) {
  leaves <- tryCatch(unlist_leaves(x), anvil_error = function(e) list())
  any(vapply(leaves, inherits, NA, "AnvilTracer"))
}

# The function that reads elements, from the frame in which it is called: list(what, name, call, line,
# in_function), the last one says whether it is a function with a frame.
# A function of a package that the user's code calls, by its call. A primitive has no frame: it is looked for
# in the code of the function that calls it.
reading_call <- function(at, statement) {
  parents <- sys.parents()
  while (evaluates(at)) at <- parents[at]
  line <- line_of(statement)
  call <- NULL
  # What a masked function does, is done by the function of base R's that it stands for.
  within <- at
  while (within > 0L && is_ours(sys.function(within)) && !is_mask_function(sys.function(within))) {
    # What C calls has no parent, or itself.
    within <- if (parents[within] < within) parents[within] else within - 1L
  }
  masked <- within > 0L && is_mask_function(sys.function(within))
  if (masked) at <- within
  # R evaluates the arguments of a method or of a masked function within it: `x[1:n]`, `sum(seq_len(n))`.
  within <- at
  while (within > 0L && is_ours(sys.function(within))) {
    arguments <- as.call(c(quote(`{`), as.list(sys.call(within))[-1L]))
    caller <- if (parents[within] > 0L) sys.frame(parents[within]) else globalenv()
    found <- primitive_calls(arguments, caller, TRUE)
    # What computes a subscript of R's vectors is likelier to be read than what a masked function is given.
    if (!length(found) && (masked || within < at)) {
      found <- Filter(is_subset, primitive_calls(arguments, caller))
    }
    if (length(found)) return(reader_of(found, line, found[[1L]]))
    # A generic of ours evaluates them where it looks for the method.
    within <- if (parents[within] < within) parents[within] else 0L
  }
  if (is_eval(at) && parents[at] > 0L && is_eval(parents[at])) {
    found <- primitive_calls(sys.frame(parents[at])$expr, sys.frame(at))
    if (length(found)) return(reader_of(found, line, found[[1L]]))
  }
  # What this package calls is the user's, wherever it was defined.
  while (
    at > 0L && !(is_eval(at) && !is.null(call)) && (calls_own(sys.function(at)) ||
      is_of_package(sys.function(at)) && (!is_ours(sys.function(at)) || is_mask_function(sys.function(at))))
  ) {
    # It is called by the method below it, and says that the caller of that called it.
    if (identical(sys.function(at), base::NextMethod)) at <- at - 1L
    of_frame <- identical(sys.function(at), base::`[.data.frame`)
    # A method, of which the user has called the generic.
    generic <- get0(".Generic", sys.frame(at), inherits = FALSE)
    if (
      !is.null(generic) && at > 1L && parents[at - 1L] == parents[at] &&
      identical(name_of_call(sys.call(at - 1L)), generic)
    ) {
      at <- at - 1L
    }
    caller <- if (parents[at] > 0L) sys.frame(parents[at]) else globalenv()
    line <- line_of(attr(sys.call(at), "srcref")) %||% line
    call <- with_own_name(tidy_assignment(sys.call(at), sys.frame(at), caller))
    given <- traced_arguments(call, caller)
    at <- if (parents[at] < at) parents[at] else at - 1L
  }
  if (at > 0L && identical(sys.function(at), eval_call)) {
    # A primitive that anvil calls for the user, who gave it as a function.
    return(list(what = "the function", name = "", call = user_call(), line = "", in_function = FALSE))
  }
  if (!is.null(call)) {
    name <- name_of_call(call)
    # R's match() calls it from C.
    if (name == "mtfrm") name <- "match"
    if (grepl("^[[:alpha:].]", name)) what <- paste0("`", name, "()`") else what <- paste0("`", name, "`")
    # A function that another one makes is called at once, as `ecdf(x)(1)`.
    maker <- if (name == "function" && is.call(call[[1L]])) name_of_call(call[[1L]])
    if (length(maker) && grepl("^[[:alpha:].]", maker) && maker != "function") {
      what <- paste0("what `", maker, "()` gives")
    }
    return(list(
      what = what, name = name, call = call, line = line %||% "", in_function = TRUE, masked = masked,
      of_frame = of_frame, given = given
    ))
  }
  if (at > 0L) {
    fun <- sys.function(at)
    code <- if (is_inside(statement, attr(fun, "srcref"))) code_of(statement)
    found <- primitive_calls(code, sys.frame(at))
    # On one line, a statement inside the function looks like one around it.
    if (!length(found)) found <- primitive_calls(body(fun), sys.frame(at))
  } else {
    found <- list()
  }
  reader_of(found, line, if (at > 0L) sys.call(at))
}

# Functions by which a masked function calls R's own.
calls_own <- function(f) {
  isTRUE(attr(f, "calls_own")) ||
    any(vapply(list(assigned, assigned_in_frame, own_frame_method), identical, NA, f))
}

# Whether the function of a frame evaluates an expression as its caller wrote it, and so reads nothing itself.
evaluates <- function(at) {
  if (at < 1L) return(FALSE)
  if (isTRUE(attr(sys.function(at), "calls_own"))) return(TRUE)
  if (!is_of_package(sys.function(at))) return(FALSE)
  if (is_ours(sys.function(at))) {
    return(identical(sys.function(at), past_handlers) || any(vapply(
      mask_conditions, identical, NA, sys.function(at)
    )))
  }
  name_of_call(sys.call(at)) %in% evaluators
}

# Whether the frame is one of eval(): what it evaluates is called by the code that is given it, as by with().
is_eval <- function(at) {
  at > 0L && identical(sys.call(at)[[1L]], quote(eval)) && is_of_package(sys.function(at))
}

evaluators <- c(
  "tryCatch", "tryCatchList", "tryCatchOne", "doTryCatch", "withCallingHandlers", "try", "suppressWarnings",
  "suppressMessages", "withRestarts", "withRestartList", "withOneRestart", "doWithOneRestart"
)

# A reader among these calls of primitives; `call` is shown where it may be more than one.
reader_of <- function(found, line, call) {
  calls <- unique(found)
  names <- unique(vapply(calls, name_of_call, ""))
  what <- if (length(names)) paste0("`", names, "`", collapse = " or ") else "a function of R"
  list(
    what = what, name = names, line = line %||% "", in_function = FALSE,
    call = if (length(calls) == 1L) calls[[1L]] else call
  )
}

# Whether a source reference lies in another one.
is_inside <- function(ref, home) {
  !is.null(ref) && !is.null(home) && identical(attr(ref, "srcfile"), attr(home, "srcfile")) &&
    ref[1L] >= home[1L] && ref[3L] <= home[3L]
}

# Tests define functions below a copy of a namespace, which are the user's.
is_of_package <- function(fun) {
  if (is.primitive(fun)) return(TRUE)
  top <- topenv(environment(fun))
  identical(top, baseenv()) || identical(top, .BaseNamespaceEnv) ||
    isNamespace(top) && identical(top, .getNamespace(getNamespaceName(top)))
}

name_of_call <- function(call) {
  name <- call[[1L]]
  # `x[1] <- value` is a call of `[<-`.
  if (identical(name, quote(`<-`)) && is.call(call[[2L]])) return(paste0(name_of_call(call[[2L]]), "<-"))
  if (is.call(name) && length(name) == 3L && is.name(name[[3L]])) name <- name[[3L]]
  if (is.name(name)) as.character(name) else "function"
}

# A call of R's own function by a masked one, as the user wrote it.
with_own_name <- function(call) {
  name <- name_of_call(call)
  if (name %in% names(mask_functions) && identical(call[[1L]], own_name(name))) call[[1L]] <- as.name(name)
  call
}

# "file.R:12" of a source reference; NULL without one.
line_of <- function(ref) {
  if (is.null(ref)) return(NULL)
  file <- file_name(attr(ref, "srcfile")$filename %||% "")
  if (nzchar(file)) paste0(file, ":", ref[1L]) else paste("line", ref[1L])
}

code_of <- function(ref) {
  if (is.null(ref)) return(NULL)
  if_it_fails(as.call(c(as.name("{"), as.list(parse(text = as.character(ref), keep.source = FALSE)))), NULL)
}

# Calls of primitives in a piece of code that read a traced value: with a variable that is one, or else, but
# not if `surely`, with a call.
primitive_calls <- function(code, frame, surely = FALSE) {
  found <- list()
  is_active <- function(x) exists(as.character(x), frame, inherits = FALSE) && bindingIsActive(x, frame)
  # Also those of an enclosing function's.
  names_traced <- function(x) {
    is.name(x) && nzchar(as.character(x)) && !is_active(x) &&
      if_it_fails(inherits(get0(as.character(x), frame), "AnvilTracer"), FALSE)
  }
  names_tensor <- function(x) {
    is.name(x) && nzchar(as.character(x)) &&
      if_it_fails(inherits(get0(as.character(x), frame), "AnvilValue"), FALSE)
  }
  # A function of ours, or one that stands for base R's, reads no elements.
  takes_traced <- function(name) {
    f <- if_it_fails(get0(name, frame, mode = "function"), NULL)
    is.function(f) && !is.primitive(f) && (is_ours(f) || is_mask_function(f))
  }
  # Any other function has a frame.
  is_primitive <- function(name) is.primitive(get0(name, baseenv(), mode = "function"))
  # What is computed of R's numbers is not traced, nor is what a function says of a type alone.
  is_known <- function(x) {
    exists(as.character(x), frame, inherits = FALSE) && !is_active(x) &&
      if_it_fails(is_r_vector(get(as.character(x), frame)), FALSE)
  }
  reads_unknown <- function(x) {
    if (is.name(x)) return(nzchar(as.character(x)) && !is_known(x))
    is.call(x) && !name_of_call(x) %in% asking && any(vapply(as.list(x)[-1L], reads_unknown, NA))
  }
  may_be_traced <- function(x) is.call(x) && reads_unknown(x)
  possible <- list()
  visit <- function(x) {
    if (!is.call(x) || identical(x[[1L]], quote(`function`))) return()
    arguments <- Filter(function(x) !identical(x, quote(expr = )), as.list(x)[-1L])
    name <- if (is.name(x[[1L]])) as.character(x[[1L]]) else ""
    replaces <- name == "<-" && is.call(x[[2L]]) && is_primitive(name_of_call(x))
    if (name %in% primitive_readers || replaces) {
      read <- switch(
        name, `if` = , `while` = , switch = arguments[1L], `for` = arguments[2L],
        `<-` = c(if (is_subset(x[[2L]])) list(x[[2L]][[2L]]), x[[3L]]), arguments
      )
      # A method of ours takes its first argument, and reads none.
      taken <- sub("<-$", "", name_of_call(x)) %in% dispatching && length(read) && names_tensor(read[[1L]]) ||
        !replaces && takes_traced(name)
      # `if (a && b)`: `&&` reads first.
      inner <- name %in% c("if", "while") && any(c("&&", "||") %in% all.names(read[[1L]]))
      if (!taken && any(vapply(read, names_traced, NA))) {
        found[[length(found) + 1L]] <<- x
      } else if (!taken && !inner && any(vapply(read, may_be_traced, NA))) {
        possible[[length(possible) + 1L]] <<- x
      }
    }
    for (part in arguments) visit(part)
  }
  visit(code)
  conditions <- Filter(is_condition, possible)
  # An assignment makes a tensor of what it is to, wherever a masked function does it.
  assigns <- vapply(found, function(x) identical(x[[1L]], quote(`<-`)), NA)
  if (surely || !all(assigns) || length(found) && !length(conditions)) return(found)
  # Of what might be traced, conditions first, and the innermost of the others.
  if (length(conditions)) conditions else tail(possible, 1L)
}

# Functions that ask for a type, which a traced value has.
asking <- c("seq_along", "length", "dim", "nrow", "ncol", "NROW", "NCOL", "shape", "ndims", "dtype")

is_subset <- function(x) name_of_call(x) %in% c("[", "[[")

is_condition <- function(x) as.character(x[[1L]]) %in% c("if", "while", "for", "switch", "&&", "||")

# Primitives with methods of ours, for their first argument.
dispatching <- c(
  "c", "max", "min", "sum", "prod", "range", "any", "all", "log", "rep", "rep.int", "rep_len", "[", "[[",
  "[<-", "[[<-", "as.numeric", "as.double", "as.integer", "as.logical", "as.complex", "signif"
)

# Primitives, and functions that the compiler of R makes calls of internal ones.
primitive_readers <- c(
  dispatching, "if", "while", "for", "switch", "&&", "||", "unlist", "seq_len", "as.numeric",
  "as.double", "as.integer", "as.logical", "as.character", "as.complex", "as.raw",
  "signif", "xtfrm", ":", ".subset", ".subset2", "which.max", "which.min", "nchar", "match", "vector",
  "atan2", "beta", "lbeta", "choose", "lchoose", "besselI", "besselJ", "besselK", "besselY", "polyroot",
  "identical", "crossprod", "tcrossprod", "psigamma", "factorial", "bitwAnd", "bitwOr", "bitwXor", "bitwNot",
  "unclass"
)
