# Static arguments: the parts of their values that a program depends on.

# Called from C for a static argument that is no vector, no list of these and no function of a package, with
# list(value, name, whether it is the static part of an object in the argument): a list of what a program that
# was traced for the value depends on, for a comparison bit by bit. What can change while it is the same
# object is not part of it, and refused.
static_parts <- function(given) {
  name <- given[[2L]]
  parts <- list()
  note <- function(part) parts[length(parts) + 1L] <<- list(part)
  visited <- list()
  refuse <- function(what, inside) {
    where <- if (length(inside)) {
      paste0("It uses ", paste(inside, collapse = ", which uses "), ", which is ")
    } else {
      "It is "
    }
    abort(
      "anvil_error_static",
      paste0(
        if (given[[3L]]) "The static part of an object in `" else "Static argument `", name,
        "` must be a value that can be compared from call to call.\n",
        "x ", where, what, ", which may hold other values at the next call.\n",
        "i Give it vectors, lists of these, or functions that use no other values."
      ),
      arg = name, got = what
    )
  }

  # `inside` says by which variables the value was reached.
  value <- function(x, depth, inside) {
    depth <- .Call(anvil_deeper, depth, name)
    type <- typeof(x)
    if (type == "closure") return(code_of(x, depth, inside))
    if (type %in% c("environment", "externalptr", "weakref", "promise", "bytecode", "...", "any")) {
      refuse(if (type == "environment") "an environment" else paste("an object of type", type), inside)
    }
    note(type)
    attributes <- attributes(x)
    # Where code comes from does not count.
    if (type %in% c("language", "expression")) {
      attributes <- attributes[setdiff(names(attributes), c("srcref", "srcfile", "wholeSrcref"))]
    }
    plain <- vapply(attributes, is_plain, NA)
    if (type == "list" || type == "expression") {
      items <- unclass(x)
      note(length(items))
      for (i in seq_along(items)) value(items[[i]], depth, inside)
    } else if (type %in% c("language", "pairlist")) {
      attributes(x) <- NULL
      used <- .Call(anvil_code, x)
      note(used[[1L]])
      for (object in used[[2L]]) value(object, depth, inside)
    } else if (type != "S4") {
      if (!all(plain)) attributes(x) <- NULL
      note(x)
    }
    note(attributes[plain])
    for (at in which(!plain)) {
      note(names(attributes)[at])
      value(attributes[[at]], depth, c(inside, paste0("the attribute `", names(attributes)[at], "`")))
    }
  }

  code_of <- function(f, depth, inside) {
    if (inherits(f, "JitFunction")) return(value(.Call(anvil_jit_spec, handle_of(f)), depth, inside))
    used <- .Call(anvil_code, as.call(list(quote(`function`), formals(f), body(f))))
    note(used[[1L]])
    for (object in used[[2L]]) value(object, depth, inside)
    attributes <- attributes(f)
    attributes <- attributes[setdiff(names(attributes), "srcref")]
    if (length(attributes)) value(attributes, depth, inside)
    frames <- frames_of(environment(f))
    if (!length(frames)) return()
    # Elements of dots are read from the dots.
    for (name in unique(sub("^[.][.][0-9]+$", "...", used[[3L]]))) {
      variable(name, frames, "any", depth, inside)
    }
    for (name in used[[4L]]) variable(name, frames, "function", depth, inside)
  }

  variable <- function(variable, frames, mode, depth, inside) {
    env <- NULL
    for (frame in frames) {
      if (exists(variable, envir = frame, inherits = FALSE, mode = mode)) {
        env <- frame
        break
      }
    }
    if (is.null(env)) return()
    for (i in seq_along(visited)) {
      if (identical(visited[[i]][[1L]], env) && visited[[i]][[2L]] == variable) return(note(i))
    }
    visited[[length(visited) + 1L]] <<- list(env, variable)
    note(variable)
    # Where reading it fails, so will the function.
    found <- if_it_fails(
      if (variable == "...") {
        eval(quote(list(...)), env)
      } else {
        get(variable, envir = env, inherits = FALSE, mode = mode)
      },
      NULL
    )
    value(found, depth, c(inside, paste0("`", variable, "`")))
  }

  value(given[[1L]], 0L, NULL)
  parts
}

# The environments in which a function finds variables that may change: not those of packages, nor what is
# attached.
frames_of <- function(env) {
  frames <- list()
  while (!isNamespace(env) && !identical(env, baseenv()) && !identical(env, emptyenv())) {
    frames[[length(frames) + 1L]] <- env
    if (identical(env, globalenv())) break
    env <- parent.env(env)
  }
  frames
}

# Whether an attribute is a vector without attributes of its own.
is_plain <- function(x) is.null(x) || is.atomic(x) && is.null(attributes(x))
