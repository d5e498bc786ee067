# Conditions. Rust returns list(message, class, fields); R signals it with the user's own call.

# Called by the C entry points with an error of Rust.
signal_error <- function(error) {
  call <- user_call()
  stop(anvil_condition(error[[2L]], error[[1L]], error[[3L]], call))
}

# The last error that anvil signalled, as text, for anvil_sitrep(): the condition would keep data alive, and
# so would the arguments in its call, of which there is only the name of the function.
last_error <- new.env(parent = emptyenv())

anvil_condition <- function(class, message, fields, call) {
  name <- if (is.call(call) && is.name(call[[1L]])) paste0(as.character(call[[1L]]), "()")
  last_error$of_session <- c(class = class[1L], call = name, message = message)
  structure(
    class = c(class, "anvil_error", "error", "condition"),
    c(list(message = message, call = call), fields[setdiff(names(fields), c("message", "call"))])
  )
}

# An argument that R itself checks.
abort_arg <- function(arg, expected, got, hint = NULL) {
  # Sizes and positions make the program, which is there before its values are.
  if (is.null(hint) && identical(got, "a traced value") && grepl("number", expected, fixed = TRUE)) {
    hint <- "It must be known while tracing: name the argument that it comes from in `static = `."
  }
  message <- paste0(
    "`", arg, "` must be ", expected, ", not ", got, ".", if (!is.null(hint)) paste0("\ni ", hint)
  )
  call <- user_call()
  stop(anvil_condition("anvil_error_arg", message, list(arg = arg, expected = expected, got = got), call))
}

# The value of an expression, or another one if it fails.
if_it_fails <- function(expr, otherwise) {
  tryCatch(expr, error = function(e) {
    pass_time_limit(e)
    otherwise
  })
}

# For handlers: gives the error back, but signals a time limit again. That is an error to R, raised once
# wherever it looks at the clock: whoever took it for a failure of the expression would leave the call without
# a limit.
pass_time_limit <- function(e) if (is_time_limit(e)) stop(e) else e

# Such an error has no class.
is_time_limit <- function(e) {
  limits <- c("elapsed", "CPU", "session elapsed", "session CPU")
  conditionMessage(e) %in% gettext(paste("reached", limits, "time limit"), domain = "R")
}

# Any other error that R itself finds.
abort <- function(class, message, ..., call = user_call()) {
  call <- call # evaluated here: the stack is what is asked for
  stop(anvil_condition(class, message, list(...), call))
}

warn <- function(class, message, ...) {
  call <- user_call()
  condition <- structure(
    class = c(class, "anvil_warning", "warning", "condition"),
    c(list(message = message, call = call), list(...))
  )
  warning(condition)
}

# What the user called, see user_frame(); asked for by a function that signals.
user_call <- function() user_frame(3L)$call

# A call as it can be shown: do.call() writes values into it, and an assignment a promise of one, of which a
# traced one has no text.
without_data <- function(call) {
  if (!is.call(call)) return(call)
  is_data <- vapply(as.list(call), function(x) is.object(x) || is.list(x) || typeof(x) == "promise", NA)
  call[is_data] <- rep(list(quote(...)), sum(is_data))
  call
}

# Called by Rust when an op has converted something or may fail: the user's call, its file and its line, as
# text.
call_site <- function(x) {
  user <- user_frame(2L)
  c(deparse1(without_data(user$call)), place_of_frame(user$at))
}

# What the user called, and the number of its frame: from the function that asks, up through its callers as
# long as they are functions of this package, or base R's on behalf of one, such as lapply(). On top of the
# first of them are `above` frames.
user_frame <- function(above) {
  parents <- sys.parents()
  call <- NULL
  at <- 0L
  i <- sys.nframe() - above
  while (i > 0L) {
    fun <- sys.function(i)
    # What calls R's own for a masked function has the user's environment.
    if (is_ours(fun) || isTRUE(attr(fun, "calls_own"))) {
      call <- tidy_call(
        sys.call(i), sys.frame(i), if (parents[i] > 0L) sys.frame(parents[i]) else globalenv()
      )
      at <- i
    } else if (!identical(topenv(environment(fun)), .BaseNamespaceEnv)) {
      break
    } else if (identical(sys.call(i)[[1L]], call[[1L]])) {
      # Base R's own as.vector(), from which the method was called.
      call <- sys.call(i)
      at <- i
    }
    # What C calls, it calls on behalf of the frame below; R has no parent for it, or names it itself.
    i <- if (is_callback(fun) || parents[i] >= i) i - 1L else parents[i]
  }
  list(call = call, at = at)
}

# What C calls while the user's own call is running.
is_callback <- function(fun) {
  identical(fun, jit_miss) || identical(fun, static_parts) || identical(fun, print_running) ||
    identical(fun, warn_of_digits) || identical(fun, flatten_object) || identical(fun, unflatten_object) ||
    identical(fun, unflatten_checked) || identical(fun, frame_of_columns) || identical(fun, run_callback) ||
    identical(fun, on_factors) || identical(fun, data_as_argument)
}

# File and line of the statement that a frame was called from, as text; empty where R does not know them.
place_of_frame <- function(at) {
  unknown <- c("", "")
  caller <- sys.parents()[at]
  # A method that one of R's own functions called by UseMethod(): what the user wrote is the call of that
  # function.
  generic <- get0(".Generic", sys.frame(at), inherits = FALSE)
  below <- at - 1L
  if (!is.null(generic) && below > 0L && identical(sys.parents()[below], caller) &&
    identical(sys.call(below)[[1L]], as.name(generic))) at <- below
  home <- if (length(caller) && caller > 0L) attr(sys.function(caller), "srcref")
  if (is.null(home)) return(unknown)
  # R remembers the last statement in braces, which may be one outside of the function that called; not for S4
  # methods.
  call <- sys.call(at)
  ref <- attr(call, "srcref")
  file <- attr(home, "srcfile")
  if (!is_inside(ref, home)) {
    # A method that a primitive function called is in the code by the name of its generic.
    if (is.character(generic) && is.symbol(call[[1L]])) call[[1L]] <- as.name(generic)
    ref <- statement_with(call, body(sys.function(caller))) %||% home
  }
  c(file_name(file$filename), ref[1L])
}

# The name of a source file without its folder; empty where R made the name up, as "<text>" for the code of a
# knitr chunk.
file_name <- function(path) if (grepl("^<.*>$", path)) "" else basename(path)

# The source reference of the innermost statement in braces that contains a call.
statement_with <- function(call, code) {
  attributes(call) <- NULL
  if (!is.call(code)) return(NULL)
  refs <- if (identical(code[[1L]], quote(`{`))) attr(code, "srcref")
  for (i in seq_along(code)) {
    part <- code[[i]]
    if (missing(part) || !is.call(part)) next
    found <- statement_with(call, part)
    if (!is.null(found)) return(found)
    if (length(refs) >= i && contains_call(part, call)) return(refs[[i]])
  }
  NULL
}

contains_call <- function(code, call) {
  if (identical(code, call)) return(TRUE)
  if (!is.call(code)) return(FALSE)
  any(vapply(as.list(code), function(part) !missing(part) && contains_call(part, call), NA))
}

is_ours <- function(fun) {
  is_jitted(fun) || identical(topenv(environment(fun)), topenv()) || is_interpolating(fun)
}

# A call as the user wrote it. A method shows as its generic: `+.AnvilValue`(x, y) as x + y. Where R has put
# values in the place of expressions, as it does for sum() and do.call(), they show as the variables of the
# caller that hold them.
tidy_call <- function(call, frame, caller) {
  generic <- get0(".Generic", frame, inherits = FALSE)
  if (is.function(call[[1L]])) {
    own <- topenv()
    fun <- call[[1L]]
    is_it <- function(name) identical(own[[name]], fun)
    call[[1L]] <- as.name(Find(is_it, getNamespaceExports(own)) %||% "FUN")
  } else if (!is.null(generic)) {
    call[[1L]] <- as.name(generic)
    # R adds this to sum() and its like.
    if (identical(call$na.rm, FALSE)) call$na.rm <- NULL
  } else if (is.symbol(call[[1L]])) {
    call[[1L]] <- as.name(sub("\\.Anvil[A-Z][A-Za-z]+$", "", as.character(call[[1L]])))
  }
  for (i in which(vapply(as.list(call), inherits, NA, "AnvilValue"))) {
    call[[i]] <- as.name(c(variable_of(call[[i]], caller), class(call[[i]])[1L])[1L])
  }
  tidy_assignment(call, frame, caller)
}

# `[<-`(`*tmp*`, 1, value = 2) as x[1] <- 2. R does not say what is assigned to: it is a variable with the
# same value.
tidy_assignment <- function(call, frame, caller) {
  name <- if (is.symbol(call[[1L]])) as.character(call[[1L]]) else ""
  if (!name %in% c("[<-", "[[<-") || !identical(call[[2L]], quote(`*tmp*`))) return(call)
  target <- setdiff(variable_of(get0("x", frame), caller), "*tmp*")
  if (!length(target)) return(call)
  value <- call$value
  # Compiled code has the value itself, or keeps it in a variable of its own.
  plain <- if (is.language(value)) {
    !identical(value, quote(`*vtmp*`))
  } else {
    !is.object(value) && is.atomic(value) && length(value) == 1L
  }
  if (!plain) value <- quote(value)
  call$value <- NULL
  call[[1L]] <- as.name(sub("<-", "", name, fixed = TRUE))
  call[[2L]] <- as.name(target[1L])
  call("<-", call, value)
}

# The variables that hold this value, as a function sees them. An argument given as a call is not asked: it
# might not have been evaluated yet, and an error message is no reason to do so.
variable_of <- function(value, frame) {
  holds <- function(name) {
    if (bindingIsActive(as.name(name), frame)) return(FALSE)
    if (!identical(frame, globalenv()) && is.call(eval(call("substitute", as.name(name), frame)))) {
      return(FALSE)
    }
    is_same(get0(name, frame, inherits = FALSE), value)
  }
  # An argument may be missing altogether.
  asked <- function(name) if_it_fails(holds(name), FALSE)
  repeat {
    found <- Filter(asked, ls(frame))
    if (
      length(found) || identical(frame, globalenv()) || isNamespace(frame) || identical(frame, emptyenv())
    ) {
      return(found)
    }
    frame <- parent.env(frame)
  }
}

# As identical(), which cannot look into traced values and donated tensors.
is_same <- function(x, y) {
  if (inherits(x, "AnvilValue") || inherits(y, "AnvilValue")) .Call(anvil_same, x, y) else identical(x, y)
}

# Describes a value in messages: its type or class, and its length.
describe <- function(x) {
  if (is.null(x)) return("NULL")
  if (is.function(x)) return("a function")
  if (is_traced(x)) return("a traced value")
  if (is_selection(x)) return("a selection")
  if (is.object(x)) return(paste0("an object of class <", encodeString(class(x)[1L]), ">"))
  if (is.atomic(x) && length(x) == 1L) return(deparse1(x))
  if (!is.atomic(x)) {
    return(if (is.list(x)) paste("a list of length", length(x)) else paste("an R object of type", typeof(x)))
  }
  paste(
    if (is.integer(x)) "an" else "a", typeof(x), if (is.null(dim(x))) "vector" else "array", "of length",
    length(x)
  )
}
