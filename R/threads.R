#' Number of threads
#'
#' The number of threads of large computations, including the caller's. Results are equal bit by bit for any
#' number. Work that takes less than about 30 microseconds runs on one thread.
#'
#' It is taken from, in this order:
#'
#' * `options(anvil.threads = n)`, read whenever a large program runs, so that it can change at any time;
#' * the variable `ANVIL_NUM_THREADS`, read when the package is loaded. One that is no whole number from 1 to
#'   1024 is ignored, with a warning of class `anvil_warning_threads`;
#' * the processors that the process may use: those of the machine, or fewer if an affinity mask or a control
#'   group (as containers and batch systems set it) says so.
#'
#' Never more than `OMP_THREAD_LIMIT` says, and never more than two where `_R_CHECK_LIMIT_CORES_` is set, as
#' in the checks of packages.
#'
#' A process forked by `parallel::mclapply()` has its own threads. With as many such processes as there are
#' processors, set the option to 1 in them.
#'
#' @return `num_threads()` gives the number in force, a whole number.
#' @section Errors: `anvil_error_arg` if the option is no whole number from 1 to 1024, also from a program
#' that is large enough to ask.
#' @examples
#' num_threads()
#' old <- options(anvil.threads = 1)
#' num_threads()
#' options(old)
#' @export
num_threads <- function() .Call(anvil_threads)

# Reads the environment variable; warns once of a value that is not valid.
settle_threads <- function() {
  ignored <- .Call(anvil_threads_ignored)
  if (!nzchar(ignored)) return(invisible())
  warn(
    "anvil_warning_threads",
    paste0("`", ignored, "` is ignored.\ni Expected a whole number from 1 to 1024."), ignored = ignored
  )
}
