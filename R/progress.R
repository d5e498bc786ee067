#' A progress bar for long loops
#'
#' Makes a function that a loop of R calls in each step. It shows a bar where somebody can see it: through the
#' package cli if that is installed, and R's own text bar otherwise. Loops inside a program show one with
#' `nv_for(.., progress = TRUE)` and `nv_scan(.., progress = TRUE)`.
#'
#' A bar appears when the loop has taken two seconds (option `cli.progress_show_after`), is drawn at most ten
#' times a second, on the standard error, and goes when all steps are done, or when the function ends that
#' made it or ran the program, by an error too. In sessions that are not interactive there is none. The option
#' `anvil.progress` decides otherwise: `TRUE` always shows bars, `FALSE` never.
#'
#' A call costs about a microsecond while nothing is drawn.
#'
#' @param n Number of steps: a whole number, not negative.
#' @param name A string that is shown before the bar.
#' @return A function of one argument, the number of steps that are done; without it, one more than before. It
#'   returns that number, invisibly.
#' @section Errors: `anvil_error_arg` for arguments that are not as above.
#' @seealso [nv_for()]
#' @examples
#' step <- jit(function(x) x - 0.1 * (x^2 - 2))
#' x <- nv_scalar(1)
#' done <- anvil_progress(100)
#' for (i in 1:100) {
#'   x <- step(x)
#'   done()
#' }
#' x
#' @export
anvil_progress <- function(n, name = "") {
  check_count(n, "n")
  if (!is.character(name) || length(name) != 1L || is.na(name)) abort_arg("name", "a string", describe(name))
  bar_function(n, name, parent.frame())
}

# A bar that ends with the frame `until`, if that is a function's.
bar_function <- function(n, name, until) {
  list(n, name, until) # evaluated now: the frame is that of this call
  done <- 0
  shown <- isTRUE(getOption("anvil.progress", interactive()))
  start <- now()
  next_time <- start + 0.1
  bar <- NULL
  close <- function() {
    if (!is.null(bar)) bar$close()
    bar <<- NULL
  }
  function(i = done + 1) {
    done <<- i
    if (!shown || done < n && now() < next_time) return(invisible(done))
    if (is.null(bar) && done < n) {
      bar <<- drawn_bar(n, name, start + getOption("cli.progress_show_after", 2))
      if (!identical(until, globalenv())) {
        do.call(on.exit, list(as.call(list(close)), add = TRUE), envir = until)
      }
    }
    if (!is.null(bar)) bar$set(done)
    if (done >= n) close()
    next_time <<- now() + 0.1
    invisible(done)
  }
}

# Seconds.
now <- function() proc.time()[[3L]]

# The two ways to draw one, from the time `visible` on: functions `set` and `close`.
drawn_bar <- function(n, name, visible) {
  if (requireNamespace("cli", quietly = TRUE)) {
    # Made before it is seen, so that cli knows how long the steps took.
    id <- cli::cli_progress_bar(name, total = n, current = FALSE, .auto_close = FALSE)
    # How often it is drawn is decided here, not by the clock of cli, which code of ours may hold up.
    set <- function(done) if (now() >= visible) cli::cli_progress_update(set = done, id = id, force = TRUE)
    return(list(set = set, close = function() cli::cli_progress_done(id = id)))
  }
  bar <- NULL
  set <- function(done) {
    if (is.null(bar)) {
      if (now() < visible) return()
      if (nzchar(name)) cat(name, "\n", sep = "", file = stderr())
      bar <<- utils::txtProgressBar(max = n, style = 3L, file = stderr())
    }
    utils::setTxtProgressBar(bar, done)
  }
  list(set = set, close = function() if (!is.null(bar)) close(bar))
}

# ---- in programs ----

# How often a loop in a program tells R how far it is: a call of R costs as much as some hundred steps of a
# small loop.
most_reports <- 100L

# A loop over loops, of which the inner ones run as fast as any: R is told after each of them.
for_with_bar <- function(n, init, step, checkpoint) {
  n <- as.integer(n)
  every <- (n - 1L) %/% most_reports + 1L
  rounds <- n %/% every
  report <- reporter()
  at_once(function() {
    part <- function(state, n, before) {
      force(before) # around the loop, whose body may be traced twice
      for_each(n, state, function(state, i) step(state, before + i), checkpoint)
    }
    state <- for_each(rounds, init, function(state, round) {
      state <- part(state, every, (round - 1L) * every)
      nv_callback(report, round * every, n, result = NULL)
      state
    }, FALSE)
    rest <- n %% every
    if (rest == 0L) return(state)
    state <- part(state, rest, n - rest)
    nv_callback(report, n, n, result = NULL)
    state
  })
}

# The same for a number of repetitions that is a tensor, see `count_to()`.
count_with_bar <- function(count, state, n, step) {
  force(state)
  report <- reporter()
  every <- nv_max((n - 1L) %/% most_reports + 1L, 1L)
  count_to(n, count, state, function(count, state) {
    out <- count_to(nv_min(n, count + every), count, state, step)
    nv_callback(report, out[[1L]], n, result = NULL)
    out
  })[[2L]]
}

# What a program calls with the number of steps that are done, of n. A bar belongs to a run of the program,
# not to its trace.
reporter <- function() {
  bar <- NULL
  last <- Inf
  function(i, n) {
    i <- .subset(i, 1L)
    # A run begins, and another may not have ended: that one failed, or is the same loop in a loop.
    if (i <= last) bar <<- bar_function(.subset(n, 1L), "nv_for()", program_frame())
    last <<- i
    bar(i)
  }
}

# The frame of the function that runs the program: of that which Rust called R back from.
program_frame <- function() {
  functions <- lapply(seq_len(sys.nframe()), sys.function)
  at <- Position(function(f) identical(f, run_callback), functions, right = TRUE)
  if (is.na(at) || at < 2L) globalenv() else sys.frame(at - 1L)
}
