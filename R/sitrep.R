#' What a report of a problem needs
#'
#' The versions of anvil, of R, of the system and of the packages that anvil works with; the processor, its
#' instructions and the threads in use; the settings in force where it is called: promotion rules, default
#' dtypes, options and variables of the environment; and the last error that anvil signalled. It computes
#' nothing, looks at no data, and tells nobody. Paste it into a report, and read the last error before you do:
#' its message may name your data.
#'
#' @param x A report.
#' @param ... Not used.
#' @return An object of class `AnvilSitrep`, a list of
#'   * `version`: the version of anvil; `compiler`: that of the Rust compiler that built it, and whether it is
#'     a debug build; `r`: the version of R; `platform`: the system, as [`R.version`][R.version] and
#'     [utils::sessionInfo()] have it; `packages`: the versions of installed packages that anvil works with;
#'   * `processor`: its name, if the system tells; `levels`: the levels of instructions that the processor and
#'     this build have, of `"portable"`, `"avx2"`, `"avx512"` and `"neon"`; `simd`: the one in use; `native`:
#'     whether programs run as native code, too: that takes AVX2 or NEON, and a system that lets a process
#'     run code that it made;
#'   * `threads`: their number, see [num_threads()]; `processors`: those that the process may use;
#'   * `donates`: whether arguments can be donated, see [jit()]: R must tell how many variables have a value;
#'   * `rules`: the promotion rules in force, see [with_promotion_rules()];
#'   * `defaults`: the default dtypes in force, as [default_dtypes()] gives them;
#'   * `memory`: bytes: `limit`, what the process may use; `pool`, what large results have taken from the
#'     system; `in_use`, what tensors hold of that;
#'   * `options`: options of anvil that are set to another value than the usual one; `environment`: variables
#'     of the environment that anvil reads, if they are set;
#'   * `last_error`: class, call and message of the last error that anvil signalled in this session; empty if
#'     there was none.
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
  variables <- Sys.getenv(
    c("ANVIL_SIMD", "ANVIL_NUM_THREADS", "ANVIL_R_API_ONLY", "OMP_THREAD_LIMIT", "_R_CHECK_LIMIT_CORES_"), NA
  )
  structure(
    list(
      version = as.character(utils::packageVersion("anvil")), compiler = engine$compiler,
      r = R.version.string,
      platform = paste0(
        R.version$platform, ", ",
        utils::osVersion %||% paste(Sys.info()[c("sysname", "release")], collapse = " ")
      ),
      packages = versions_beside(), processor = processor_name(), levels = engine$levels, simd = engine$simd,
      native = engine$native, threads = num_threads(), processors = engine$processors,
      donates = engine$donates,
      rules = .Call(anvil_rules_name, NULL), defaults = default_dtypes(),
      memory = setNames(as.list(engine$memory), c("limit", "pool", "in_use")),
      options = set[!usual], environment = variables[!is.na(variables)], last_error = last_error$of_session
    ),
    class = "AnvilSitrep"
  )
}

# Versions of the packages that anvil has methods for, or that are needed to see what a user sees.
versions_beside <- function() {
  packages <- c("bit64", "callr", "cli", "knitr", "pillar", "testthat", "vctrs")
  versions <- vapply(packages, function(package) {
    if_it_fails(as.character(utils::packageVersion(package)), NA_character_)
  }, "")
  versions[!is.na(versions)]
}

# What the system calls the processor; NULL where it does not tell. Each system has its own place for it.
processor_name <- function() {
  found <- switch(Sys.info()[["sysname"]],
    Linux = {
      lines <- if_it_fails(readLines("/proc/cpuinfo", warn = FALSE), character())
      sub("^[^:]*: *", "", grep("^model name", lines, value = TRUE))
    },
    Darwin = if_it_fails(
      suppressWarnings(system2("sysctl", c("-n", "machdep.cpu.brand_string"), stdout = TRUE, stderr = FALSE)),
      character()
    ),
    Windows = Sys.getenv("PROCESSOR_IDENTIFIER")
  )
  if (length(found) && nzchar(found[1L])) trimws(found[1L])
}

#' @rdname anvil_sitrep
#' @export
format.AnvilSitrep <- function(x, ...) {
  check_dots(..., .known = taken_by("format"))
  memory <- lapply(x$memory, format_bytes)
  given <- function(values) paste0(names(values), " = ", vapply(values, shorten, ""), collapse = ", ")
  beside <- x$packages
  lines <- c(
    anvil = paste0(x$version, ", ", x$compiler), R = x$r, platform = x$platform,
    packages = if (length(beside)) paste(names(beside), beside, collapse = ", "),
    processor = x$processor,
    instructions = paste0(x$simd, ", of ", toString(x$levels), if (!isTRUE(x$native)) "; no native code"),
    products = "by anvil, not by R's BLAS",
    threads = paste0(x$threads, " on ", x$processors, " processors"),
    "promotion rules" = x$rules,
    "default dtypes" = paste0(x$defaults$float$name, " for doubles, ", x$defaults$int$name, " for integers"),
    memory = paste0(
      "up to ", memory$limit, "; large results have ", memory$pool, ", of which ", memory$in_use, " in use"
    ),
    donation = if (!isTRUE(x$donates)) "none, arguments are copied: R does not count references",
    options = if (length(x$options)) given(x$options),
    environment = if (length(x$environment)) given(x$environment),
    "last error" = if (length(x$last_error)) paste(x$last_error, collapse = "; ")
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
