# What became of a case. A case is an expression; it fails if it raises an error or a warning from inside of
# anvil that is not classed, or leaves the session in another state, or if it says so itself by claim().

# For cases that compare: fails unless `true`.
claim <- function(true, ...) {
  if (isTRUE(true)) return(invisible())
  stop(structure(class = c("fuzz_failure", "error", "condition"), list(message = paste0(...), call = NULL)))
}

anvil_space <- asNamespace("anvil")
anvil_exports <- getNamespaceExports("anvil")
anvil_generics <- unique(c(
  getNamespaceInfo(anvil_space, "S3methods")[, 1L],
  unlist(lapply(c("Math", "Ops", "Summary", "Complex"), getGroupMembers)),
  "%*%", "crossprod", "tcrossprod"
))

# A jitted function whose arguments or body a case has replaced is code of the case.
is_anvils <- function(fun) {
  if (!inherits(fun, "JitFunction")) return(identical(topenv(environment(fun)), anvil_space))
  spec <- tryCatch(.Call(anvil_space$anvil_jit_spec, anvil_space$handle_of(fun)), error = function(e) NULL)
  !is.null(spec) &&
    identical(as.character(names(formals(fun))), as.character(names(formals(args(spec[[1L]])))))
}

# The innermost function on the stack that is not base R's, counted from `top`, if it is anvil's: list(name,
# call). NULL if code of the case itself, in `env`, runs there, perhaps as an argument that anvil has
# evaluated.
innermost <- function(top, env) {
  parents <- sys.parents()
  for (i in rev(seq_len(top))) {
    fun <- sys.function(i)
    if (parents[i] > 0L && !is_anvils(fun) && identical(sys.frame(parents[i]), env)) return(NULL)
    if (is.null(environment(fun)) || identical(topenv(environment(fun)), .BaseNamespaceEnv)) {
      # A function of base R that the case gave to anvil, which calls it by this name.
      if (identical(sys.call(i)[[1L]], quote(f))) return(NULL)
      next
    }
    if (!is_anvils(fun)) return(NULL)
    call <- sys.call(i)
    name <- call[[1L]]
    if (!is.symbol(name)) {
      named <- Filter(function(n) identical(get(n, anvil_space), fun), ls(anvil_space))
      name <- if (inherits(fun, "JitFunction")) "a jitted function" else c(named, "a function")[1L]
    }
    return(list(name = as.character(name), call = call))
  }
  NULL
}

contains <- function(code, call) {
  if (identical(code, call)) return(TRUE)
  if (!is.call(code) && !is.expression(code) && !is.pairlist(code)) return(FALSE)
  any(vapply(as.list(code), function(part) !missing(part) && contains(part, call), NA))
}

# A verdict on an error or warning: c(kind, where, message); kind "ok" for those that are as they should be.
judge_condition <- function(e, where, code) {
  text <- conditionMessage(e)
  call <- conditionCall(e)
  if (inherits(e, "fuzz_failure")) return(c("wrong", "claim", text))
  classed <- inherits(e, c("anvil_error", "anvil_warning"))
  if (classed && inherits(e, "anvil_error_internal")) {
    return(c("internal", if (is.null(where)) "" else where$name, text))
  }
  if (classed) {
    name <- if (is.call(call) && is.symbol(call[[1L]])) as.character(call[[1L]]) else ""
    if (is.null(call)) return(c("no call", class(e)[1L], text))
    inside <- exists(name, anvil_space, inherits = FALSE) && !name %in% c(anvil_exports, anvil_generics)
    if (inside) return(c("internal call", name, text))
    return(c(class(e)[1L], "", text))
  }
  if (is.null(where)) return(c("R's own", "", text))
  # The error of a call that the case itself contains, evaluated on behalf of anvil, is the case's; so is a
  # call of a method with arguments that it does not have.
  if (is.call(call) && !identical(call, where$call) && (contains(code, call) || in_function(call))) {
    return(c("R's own", "", text))
  }
  if (grepl(said_by_r, text) || left_out_of_case(text) || in_default()) return(c("R's own", "", text))
  if (grepl("^unused argument", text) && !where$name %in% callers_of_functions) return(c("R's own", "", text))
  c(if (inherits(e, "warning")) "unclassed warning" else "unclassed", where$name, text)
}

# R's functions that are default methods of generics of anvil: what they say of R's values is theirs.
defaults <- unlist(lapply(names(anvil_space$own_generics()), function(package) {
  mget(anvil_space$own_generics()[[package]], asNamespace(package))
}))

# Whether one of these runs.
in_default <- function() {
  running <- lapply(seq_len(sys.nframe()), sys.function)
  any(vapply(running, function(f) !is.primitive(f) && any(vapply(defaults, identical, NA, f)), NA))
}

# Whether code of a function that is no package's, and runs or is jitted and runs, contains a call: an
# argument that the function hands on, evaluated on behalf of anvil.
in_function <- function(call) any_function_of_case(function(fun) contains(body(fun), call))

# Whether it says that an argument of a function of the case is missing, which that function has handed on.
left_out_of_case <- function(text) {
  name <- sub("^argument \"(.*)\" is missing, with no default$", "\\1", text)
  if (identical(name, text)) return(FALSE)
  any_function_of_case(function(fun) name %in% names(formals(fun)))
}

# Whether something holds of one of the functions that run and are no package's.
any_function_of_case <- function(holds) {
  running <- lapply(seq_len(sys.nframe()), sys.function)
  any(vapply(running, function(f) identical(topenv(environment(f)), globalenv()) && holds(f), NA))
}

# What R says of calls of primitives before it looks for methods, or without saying what was called.
said_by_r <- paste0(
  "^operator needs|^bad (variable|namespace) name|introduced by coercion|^invalid type/length|",
  "^Incompatible methods|^NaNs produced|^invalid 'type' [(]character[)] of argument|",
  "in coercion to raw$|^requires numeric/complex|^cannot coerce type 'closure' to vector"
)

# The verdict on the innermost part of a case that by itself fails with a message that `text` contains, or
# whose value is code that does so where R evaluates it once more (do.call() does, and c() when it looks for a
# method); NULL if there is none. R evaluates an argument when it is needed: its error is signalled while
# functions of anvil run, and builtin functions have no frame that tells whose it is.
judge_part <- function(code, env, text, seed) {
  fails <- function(part) {
    message <- NULL
    verdict <- NULL
    note <- function(e) {
      message <<- conditionMessage(e)
      verdict <<- judge_condition(e, innermost(sys.nframe() - 1L, env), part)
    }
    assign(".Random.seed", seed, globalenv())
    value <- tryCatch(
      withCallingHandlers(eval(part, env), error = note, warning = function(w) {
        note(w)
        tryInvokeRestart("muffleWarning")
      }),
      error = function(e) NULL
    )
    contained <- !is.null(message) && nzchar(message) && grepl(message, text, fixed = TRUE)
    list(verdict = if (contained) verdict, value = value)
  }
  for (part in as.list(code)) {
    if (missing(part) || !is.language(part)) next
    found <- if (is.call(part)) judge_part(part, env, text, seed)
    if (!is.null(found)) return(found)
    tried <- fails(part)
    # What a function in the case calls its arguments is not known here.
    if (is.symbol(part)) tried$verdict <- NULL
    if (is.null(tried$verdict) && is.language(tried$value) && !identical(tried$value, quote(expr = ))) {
      verdict <- fails(tried$value)$verdict
      tried$verdict <- if (!is.null(verdict)) c("R's own", "", text)
    }
    if (!is.null(tried$verdict)) return(tried$verdict)
  }
  NULL
}

# Functions of anvil that call a function of the user's, and so have to say which arguments it should take.
callers_of_functions <- c(
  "f", "trace_with", "vjp", "jit_miss", "pull_back", "derived", "scan_along", "trace_region"
)

failures <- c(
  "unclassed", "unclassed warning", "internal", "internal call", "no call", "wrong", "trace left open",
  "session changed",
  "argument changed", "broken result", "crash", "hang", "memory"
)

# What no case may change.
session_state <- function() {
  all <- options()
  list(
    # R's own table() leaves `warn` behind if it fails.
    options = all[names(all) != "warn"], seed = get0(".Random.seed", globalenv()), folder = getwd(),
    connections = length(getAllConnections()),
    rules = .Call(anvil_space$anvil_rules_name, NULL)
  )
}

compare_state <- function(before, after) {
  for (part in names(before)) {
    if (identical(before[[part]], after[[part]])) next
    what <- part
    if (part == "options") {
      all <- union(names(before$options), names(after$options))
      what <- paste("option", toString(all[!mapply(identical, before$options[all], after$options[all])]))
    }
    return(c("session changed", what, what))
  }
  NULL
}

# Everything that can be seen of a result: it must print, and its elements be had.
look_at <- function(x) {
  if (inherits(x, "AnvilTensor")) {
    format(x)
    if (prod(shape(x)) < 1e4) as_array(x)
    again(x)
  } else if (is.list(x) && !is.object(x)) {
    for (part in utils::head(x, 10L)) look_at(part)
  } else if (any(grepl("^Anvil|^JitFunction$", class(x)))) {
    utils::capture.output(print(x))
  }
  invisible()
}

# Evaluates a case in `env`: c(verdict, where, message). `sealed` are names of variables that must not change.
# An error that seems to be anvil's may be that of an argument.
judge <- function(code, env, sealed = character(), seen_in_result = TRUE) {
  seed <- get0(".Random.seed", globalenv())
  verdict <- judge_whole(code, env, sealed, seen_in_result)
  if (!verdict[1L] %in% c("unclassed", "unclassed warning")) return(verdict)
  part <- judge_part(code, env, verdict[3L], seed)
  if (is.null(part)) verdict else part
}

judge_whole <- function(code, env, sealed, seen_in_result) {
  seen <- NULL
  note <- function(e) {
    verdict <- judge_condition(e, innermost(sys.nframe() - 1L, env), code)
    if (is.null(seen) || verdict[1L] %in% failures) seen <<- verdict
  }
  evaluate <- function(expr) {
    tryCatch(
      withCallingHandlers(
        {
          value <- expr
          list(value = value)
        },
        warning = function(w) {
          verdict <- judge_condition(w, innermost(sys.nframe() - 1L, env), code)
          if (verdict[1L] %in% failures) seen <<- verdict
          tryInvokeRestart("muffleWarning")
        },
        error = note
      ),
      # Of an overflow of the stack calling handlers are not told.
      error = function(e) {
        if (is.null(seen)) seen <<- judge_condition(e, NULL, code)
        seen
      },
      interrupt = function(i) {
        seen <<- c("slow", "", "interrupted after its time")
        seen
      }
    )
  }
  before <- session_state()
  held <- if (length(sealed)) lapply(mget(sealed, env), fingerprint)
  depth <- .Call(anvil_space$anvil_trace_depth)
  out <- evaluate(eval(code, env))
  ended <- seen
  after <- session_state()
  if (.Call(anvil_space$anvil_trace_depth) != depth) return(c("trace left open", ended[2L], ended[3L]))
  # Some examples set options.
  if ("options" %in% all.names(code)) {
    options(c(before$options, Map(function(name) NULL, setdiff(names(after$options), names(before$options)))))
    after <- session_state()
  }
  changed <- compare_state(before, after)
  if (!is.null(changed)) return(changed)
  if (length(held) && !identical(held, lapply(mget(sealed, env), fingerprint))) {
    return(c("argument changed", "", ""))
  }
  if (is.list(out) && seen_in_result && is.null(seen)) {
    evaluate(look_at(out$value))
    if (!is.null(seen) && (seen[1L] %in% failures || seen[1L] == "anvil_error_internal")) {
      return(c("broken result", seen[2L], seen[3L]))
    }
    return(c("ok", "", ""))
  }
  if (is.null(seen)) c("ok", "", "") else seen
}

# The bytes of a tensor, or nothing for others.
fingerprint <- function(x) {
  # base R's inherits() fails on a class of encoding "bytes".
  tryCatch(if (inherits(x, "AnvilTensor")) serialize(unclass(x), NULL), error = function(e) NULL)
}

# The form of a message: without numbers and quotes.
shape_of_message <- function(text) {
  text <- enc2utf8(text)
  text <- iconv(text, "UTF-8", "UTF-8", sub = "byte")
  text <- gsub("\"[^\"]*\"|'.*'|`[^`]*`|/[[:alnum:]/._-]+", "\"..\"", text)
  text <- gsub("[0-9]+([.][0-9]+)?(e[+-]?[0-9]+)?", "0", text)
  substr(gsub("[[:space:]]+", " ", text), 1L, 90L)
}
