# Times of series in a traced function. A traced value has not those of its argument, and R's functions would
# count from 1 with a frequency of 1, which is wrong without a word. What `ts()` makes of it is none: R's
# functions take its times.

without_times <- function(name) {
  what <- paste0(name, "()")
  known <- c("", names(formals(utils::getS3method(name, "default", envir = asNamespace("stats")))))
  function(x, ...) {
    check_dots(..., .known = known)
    abort_concrete(what, x)
  }
}

#' @importFrom stats as.ts
#' @method as.ts AnvilTensor
#' @export
as.ts.AnvilTensor <- function(x, ...) {
  check_dots(...)
  as.ts(if (ndims(x) > 1L) as_array(x) else as.vector(x))
}

#' @importFrom stats time
#' @method time AnvilTracer
#' @export
time.AnvilTracer <- without_times("time")

#' @importFrom stats start
#' @method start AnvilTracer
#' @export
start.AnvilTracer <- without_times("start")

#' @importFrom stats end
#' @method end AnvilTracer
#' @export
end.AnvilTracer <- without_times("end")

#' @importFrom stats frequency
#' @method frequency AnvilTracer
#' @export
frequency.AnvilTracer <- without_times("frequency")

#' @importFrom stats deltat
#' @method deltat AnvilTracer
#' @export
deltat.AnvilTracer <- without_times("deltat")

#' @importFrom stats cycle
#' @method cycle AnvilTracer
#' @export
cycle.AnvilTracer <- without_times("cycle")

#' @importFrom stats lag
#' @method lag AnvilTracer
#' @export
lag.AnvilTracer <- without_times("lag")

#' @importFrom stats window
#' @method window AnvilTracer
#' @export
window.AnvilTracer <- without_times("window")

# Dates are numbers in a traced function, of which R has no method for its names of days and months.
without_dates <- function(name) {
  what <- paste0(name, "()")
  function(x, abbreviate = FALSE) abort_concrete(what, x)
}

#' @method weekdays AnvilTracer
#' @export
weekdays.AnvilTracer <- without_dates("weekdays")

#' @method months AnvilTracer
#' @export
months.AnvilTracer <- without_dates("months")

#' @method quarters AnvilTracer
#' @export
quarters.AnvilTracer <- without_dates("quarters")

#' @method julian AnvilTracer
#' @export
julian.AnvilTracer <- function(x, ...) {
  check_dots(..., .known = "origin")
  abort_concrete("julian()", x)
}
