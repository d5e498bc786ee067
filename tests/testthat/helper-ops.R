# Shared by the tests of ops, generics, jit and traces.

# A tensor from any R data, strings for numbers that need them; 1-d unless it has `dim`.
tensor_of <- function(x, dtype) nv_tensor(x, dtype = dtype)

# f32 numbers nearest to doubles, as doubles.
as_f32 <- function(x) as_array(nv_tensor(x, dtype = "f32"))

# The type of a value as graphs write it: "f32?[2, 3]".
type_of <- function(x) {
  paste0(as.character(dtype(x)), if (ambiguous(x)) "?", "[", paste(shape(x), collapse = ", "), "]")
}

# Elements, type and shape of a tensor at once. `values` are compared exactly, NaN and the sign of zero
# included.
expect_elements <- function(x, values, type) {
  label <- deparse1(substitute(x))
  if (!inherits(x, "AnvilTensor")) return(fail(paste0(label, " is no tensor")))
  expect_identical(type_of(x), type, label = paste0("type of ", label))
  got <- as.vector(as_array(x))
  same <- length(got) == length(values) && all(
    ifelse(is.na(values), is.nan(got) | is.na(got), !is.na(got) & got == values)
  )
  zeros <- !same || !is.double(got) || !is.double(values) ||
    identical(1 / got[got %in% 0], 1 / as.vector(values)[values %in% 0])
  expect(
    same && zeros,
    paste0(label, " is ", paste(got, collapse = " "), "; expected ", paste(values, collapse = " "))
  )
}

# Elements within a relative error of a reference; NaN, infinities and zeros must agree.
expect_close <- function(x, values, tolerance, label = deparse1(substitute(x))) {
  got <- if (inherits(x, "AnvilTensor")) as.vector(as_array(x)) else as.vector(x)
  values <- as.vector(values)
  if (length(got) != length(values)) {
    fail(paste0(label, " has ", length(got), " elements; expected ", length(values)))
    return(invisible())
  }
  bad <- ifelse(
    is.finite(values) & is.finite(got), abs(got - values) > tolerance * abs(values),
    !(is.nan(values) & is.nan(got)) & !(got %in% c(Inf, -Inf) & got == values)
  )
  bad <- which(is.na(bad) | bad)
  expect(
    !length(bad),
    paste0(label, ": ", paste(format(got[bad], digits = 17), collapse = " "), " at ",
           paste(bad, collapse = " "), "; expected ", paste(format(values[bad], digits = 17), collapse = " "))
  )
}

# Runs a closure on tensors, eagerly and jitted (cold and warm), which must give the same bits and types. `r`
# is what it should be: values, or `TRUE` for the closure on the arguments as R arrays. Returns the eager
# result.
expect_jit_equal <- function(fn, ..., r = NULL, tolerance = 1e-6) {
  eager <- fn(...)
  jitted <- jit(fn)
  expect_identical(jitted(...), eager, label = "the jitted result")
  expect_identical(jitted(...), eager, label = "the warm jitted result")
  if (!is.null(r)) {
    plain <- function(x) if (inherits(x, "AnvilTensor")) as_array(x) else x
    if (isTRUE(r)) r <- do.call(fn, lapply(list(...), plain))
    got <- if (inherits(eager, "AnvilTensor")) as_array(eager) else lapply(eager, plain)
    expect_equal(got, r, tolerance = tolerance, ignore_attr = TRUE)
  }
  invisible(eager)
}

# No trace is left open, whatever happened.
expect_no_open_trace <- function() expect_identical(.Call(anvil:::anvil_trace_depth), 0L)

# A fresh R process that knows the package, within so many kilobytes of addresses; gives its standard output.
run_r <- function(code, args = character(), within = "unlimited") {
  script <- tempfile(fileext = ".R")
  on.exit(unlink(script))
  # As in a session of the user's, without what R CMD check and testthat set.
  writeLines(
    c(paste0(".libPaths(", deparse1(.libPaths()), ")"), "library(anvil, warn.conflicts = FALSE)", code),
    script
  )
  suppressWarnings(
    if (within == "unlimited") {
      system2(
        file.path(R.home("bin"), "Rscript"), c("--vanilla", shQuote(script), shQuote(args)), stdout = TRUE,
        stderr = TRUE
      )
    } else {
      call <- paste(
        c(file.path(R.home("bin"), "Rscript"), "--vanilla", shQuote(script), shQuote(args)), collapse = " "
      )
      system2(
        "sh", c("-c", shQuote(sprintf("ulimit -v %.0f; exec %s", within, call))), stdout = TRUE, stderr = TRUE
      )
    }
  )
}

# What `work()` gives, and gives again when R collects garbage at every `step`th allocation. In a fresh
# process, where a collection has less to look at and takes a tenth of the time; `helpers` are functions that
# it calls.
tortured <- function(work, step, helpers = list()) {
  path <- tempfile(fileext = ".rds")
  on.exit(unlink(path))
  functions <- c(helpers, list(work = work))
  code <- Map(function(name, f) c(paste(name, "<-"), deparse(f)), names(functions), functions)
  out <- run_r(c(
    unlist(code), "want <- work()", "invisible(work())",
    paste0("gctorture2(", step, ")"), "got <- work()", "gctorture2(0)",
    "saveRDS(list(got = got, want = want), commandArgs(TRUE))"
  ), path)
  expect_true(file.exists(path), info = paste(out, collapse = "\n"))
  readRDS(path)
}
