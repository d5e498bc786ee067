#' Inspect the cache of a jitted function
#'
#' `cache_info()` counts cached programs, hits and misses; `explain_cache()` shows, for each program, the
#' arguments that it was compiled for and which of them, or which part of a list, made it necessary.
#'
#' @param f A function made by [jit()].
#' @param x An explanation.
#' @param ... Not used.
#' @return `cache_info()` gives a list of whole numbers: `size`, the capacity of the cache; `entries`, the
#'   programs in it; `hits`, calls that a cached program served; `misses`, calls that were traced.
#'   `explain_cache()` gives a data frame with one row for each program, oldest first: `arguments`, `hits`,
#'   and `reason`; it has a print method.
#' @section Errors:
#' `anvil_error_arg` for anything but a jitted function.
#' @examples
#' f <- jit(function(x, y) x + y)
#' f(nv_scalar(1), 2)
#' f(nv_tensor(1:2), 2)
#' f(nv_tensor(3:4), 5)
#' cache_info(f)
#' explain_cache(f)
#' @export
cache_info <- function(f) {
  info <- .Call(anvil_jit_info, handle_of(check_jitted(f)))
  counts <- as.integer(info[[1L]])
  list(size = counts[1L], entries = length(info[[2L]]), hits = counts[2L], misses = counts[3L])
}

#' @rdname cache_info
#' @export
explain_cache <- function(f) {
  info <- .Call(anvil_jit_info, handle_of(check_jitted(f)))
  parts <- info[[2L]]
  reasons <- vapply(seq_along(parts), function(i) explain_miss(parts[[i]], parts[seq_len(i - 1L)]), "")
  arguments <- vapply(parts, function(x) paste0(names(x), " = ", x, recycle0 = TRUE, collapse = ", "), "")
  out <- data.frame(arguments = arguments, hits = info[[3L]], reason = reasons)
  structure(out, class = c("AnvilCacheExplanation", class(out)), cache = cache_info(f))
}

#' @rdname cache_info
#' @export
print.AnvilCacheExplanation <- function(x, ...) {
  check_dots(..., .known = taken_by("print", "data.frame"))
  info <- attr(x, "cache")
  count <- function(n, one, many) sprintf("%d %s", n, if (n == 1L) one else many)
  cat(
    info$entries, " of ", count(info$size, "program", "programs"), ", ", count(info$hits, "hit", "hits"),
    ", ", count(info$misses, "miss", "misses"), "\n", sep = ""
  )
  for (i in seq_len(nrow(x))) {
    cat(sprintf("%d. (%s), %.0f hit%s\n", i, x$arguments[i], x$hits[i], if (x$hits[i] == 1) "" else "s"))
    cat("   ", x$reason[i], "\n", sep = "")
  }
  invisible(x)
}

check_jitted <- function(f) {
  if (!inherits(f, "JitFunction")) abort_arg("f", "a function made by `jit()`", describe(f))
  f
}

# How a call differs from the most similar earlier one.
explain_miss <- function(new, earlier) {
  if (!length(earlier)) return("the first call")
  rules <- "promotion rules"
  new <- with_usual_settings(new)
  differences <- lapply(earlier, function(old) {
    old <- with_usual_settings(old)
    Filter(nzchar, vapply(union(names(new), names(old)), function(name) {
      if (!name %in% names(old)) return(paste0(name, " is new: ", new[[name]]))
      if (!name %in% names(new)) return(paste0(name, " is gone: ", old[[name]]))
      now <- new[[name]]
      before <- old[[name]]
      if (identical(now, before)) return("")
      paste0(name, if (name == rules) " are " else " is ", now, ", not ", before)
    }, ""))
  })
  nearest <- which.min(lengths(differences))
  if (!length(differences[[nearest]])) return("a static argument of another value")
  paste0(paste(differences[[nearest]], collapse = "; "), " (as in ", nearest, ")")
}

# Settings other than these are listed with the arguments.
usual_settings <- c(
  "promotion rules" = "anvil", "default float" = "f32", "default int" = "i32", rewrite = "TRUE"
)

with_usual_settings <- function(x) c(x, usual_settings[setdiff(names(usual_settings), names(x))])

# The default dtypes, and whether programs are rewritten, where these are not the usual ones.
described_defaults <- function() {
  defaults <- setNames(.Call(anvil_default_dtypes), c("default float", "default int"))
  defaults[["rewrite"]] <- as.character(getOption("anvil.rewrite", TRUE))
  defaults[defaults != usual_settings[names(defaults)]]
}

# The arguments of a call as texts by path: `x` -> "f32[2, 3]", `p$w` -> "f32?[]", `n` -> "static 3".
describe_arguments <- function(args, static, supplied, dots) {
  names <- names(args)
  unnamed <- names == ""
  names[unnamed] <- paste0("..", cumsum(dots))[unnamed]
  unlist(lapply(seq_along(args), function(i) {
    if (!supplied[i]) return(setNames("left out", names[i]))
    if (static[i]) return(setNames(paste("static", shorten(args[[i]])), names[i]))
    describe_leaves(args[[i]], names[i])
  }))
}

#' @importFrom stats setNames
# Leaves, and NULLs and empty lists, as texts by path.
describe_leaves <- function(x, path) {
  found <- .Call(anvil_paths, x, path)
  setNames(vapply(found[[1L]], describe_leaf, ""), found[[2L]])
}

describe_leaf <- function(x) {
  if (is.null(x)) return("NULL")
  if (is_empty_list(x)) return("list()")
  if (is.character(x)) return("text")
  if (is.factor(x)) x <- data_as_argument(x)
  type <- paste0(.Call(anvil_dtype, x), if (ambiguous(x)) "?", "[", paste(shape(x), collapse = ", "), "]")
  paste0(if (!inherits(x, c("AnvilValue", "AnvilAbstract"))) "R's ", type)
}

is_empty_list <- function(x) is.list(x) && !is.object(x) && !length(x)

# R cannot deparse an object that is marked as S4 and has no such class.
shorten <- function(x) {
  text <- if (is.function(x)) "function" else if_it_fails(deparse1(x), describe(x))
  if (nchar(text) > 40L) paste0(substr(text, 1L, 37L), "...") else text
}
