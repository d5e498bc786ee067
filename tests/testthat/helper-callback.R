# Functions of R that programs call. `seen$log` collects what they saw.

f64 <- function(x, ...) nv_tensor(x, dtype = "f64", ...)
number <- function(x) nv_scalar(x, dtype = "f64")
f64_type <- nv_abstract("f64")

# A function that appends its name and its arguments, as numbers, to `seen`.
seen <- new.env()
seen$log <- character()
logged <- function(name, value = NULL) {
  force(value)
  function(...) {
    given <- vapply(list(...), function(x) paste(as.numeric(x), collapse = " "), "")
    seen$log <- c(seen$log, paste(c(name, given), collapse = " "))
    if (is.function(value)) value(...) else value
  }
}
log_of <- function(expr) {
  seen$log <- character()
  force(expr)
  seen$log
}
