#' What a report of a problem needs
#'
#' The version of anvil, of R and of the system, the processor's instructions and the threads in use, and the
#' settings in force where it is called: promotion rules, default dtypes and options. It computes nothing,
#' looks at no data, and tells nobody.
#'
#' @param x A report.
#' @param ... Not used.
#' @return An object of class `AnvilSitrep`, a list of
#'   * `version`: the version of anvil; `r`: that of R; `platform`: the system, as [R.version] and
#'     [Sys.info()] have it;
#'   * `simd`: the level of instructions in use, `"portable"`, `"avx2"`, `"avx512"` or `"neon"`;
#'   * `threads`: their number, see [num_threads()]; `processors`: those that the process may use;
#'   * `rules`: the promotion rules in force, see [with_promotion_rules()];
#'   * `defaults`: the default dtypes in force, as [default_dtypes()] gives them;
#'   * `memory`: bytes: `limit`, what the process may use; `pool`, what large results have taken from the
#'     system; `in_use`, what tensors hold of that;
#'   * `options`: options of anvil that are set to another value than the usual one; `environment`: variables
#'     of the environment that anvil reads, if they are set.
#'
#'   `format()` gives its lines.
#' @section Errors: `anvil_error_arg` for an option that has no valid value.
#' @examples
#' report <- anvil_sitrep()
#' report$simd
#' with_default_dtypes(float = "f64", anvil_sitrep()$defaults)
#' @export
anvil_sitrep <- function() {
  engine <- .Call(wrap__anvil_engine)
  set <- options()
  set <- set[startsWith(names(set), "anvil.")]
  usual <- vapply(names(set), function(name) identical(set[[name]], usual_options[[name]]), NA)
  variables <- Sys.getenv(c("ANVIL_SIMD", "ANVIL_NUM_THREADS", "OMP_THREAD_LIMIT"), NA)
  structure(
    list(
      version = as.character(utils::packageVersion("anvil")), r = R.version.string,
      platform = paste0(R.version$platform, ", ", paste(Sys.info()[c("sysname", "release")], collapse = " ")),
      simd = engine$simd, threads = num_threads(), processors = engine$processors,
      rules = .Call(anvil_rules_name, NULL), defaults = default_dtypes(),
      memory = setNames(as.list(engine$memory), c("limit", "pool", "in_use")),
      options = set[!usual], environment = variables[!is.na(variables)]
    ),
    class = "AnvilSitrep"
  )
}

#' @rdname anvil_sitrep
#' @export
format.AnvilSitrep <- function(x, ...) {
  check_dots(..., .known = taken_by("format"))
  memory <- lapply(x$memory, format_bytes)
  given <- function(values) paste0(names(values), " = ", vapply(values, shorten, ""), collapse = ", ")
  lines <- c(
    anvil = x$version, R = x$r, platform = x$platform,
    instructions = x$simd,
    threads = paste0(x$threads, " on ", x$processors, " processors"),
    "promotion rules" = x$rules,
    "default dtypes" = paste0(x$defaults$float$name, " for doubles, ", x$defaults$int$name, " for integers"),
    memory = paste0(
      "up to ", memory$limit, "; large results have ", memory$pool, ", of which ", memory$in_use, " in use"
    ),
    options = if (length(x$options)) given(x$options),
    environment = if (length(x$environment)) given(x$environment)
  )
  paste0(format(paste0(names(lines), ":")), " ", lines)
}

#' @rdname anvil_sitrep
#' @export
print.AnvilSitrep <- function(x, ...) {
  check_dots(..., .known = taken_by("print"))
  cat(format(x), sep = "\n")
  invisible(x)
}
