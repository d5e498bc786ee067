# Shared by all tests.

dtypes <- c(
  "i1", "i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64", "bf16", "f16", "f32", "f64", "c64", "c128"
)
# What has an order, and needs no imaginary part.
real_dtypes <- dtypes[1:13]
integers <- dtypes[2:9]
signed <- dtypes[2:5]
unsigned <- dtypes[6:9]
halves <- c("bf16", "f16")
floats <- c(halves, "f32", "f64")
complexes <- c("c64", "c128")

bits <- function(dtype) as.integer(sub("^[a-z]+", "", dtype))

# Lowest and highest value of an integer dtype, as strings, since doubles do not hold those of 64 bits.
lowest <- c(
  i8 = "-128", i16 = "-32768", i32 = "-2147483648", i64 = "-9223372036854775808",
  ui8 = "0", ui16 = "0", ui32 = "0", ui64 = "0"
)
highest <- c(
  i8 = "127", i16 = "32767", i32 = "2147483647", i64 = "9223372036854775807",
  ui8 = "255", ui16 = "65535", ui32 = "4294967295", ui64 = "18446744073709551615"
)

# A published promotion table, as a character matrix: rows and columns are dtypes.
read_promotion <- function(name) {
  path <- testthat::test_path("..", "testdata", "promotion", paste0(name, ".csv"))
  table <- utils::read.csv(path, row.names = 1L, check.names = FALSE, colClasses = "character")
  as.matrix(table)
}

# A tensor with these elements (in column-major order), and this type.
expect_nv <- function(x, data, dtype, shape = dim(data) %||% length(data), ambiguous = FALSE, tolerance = 0) {
  type <- function(dtype, ambiguous, shape) {
    paste0(dtype, if (ambiguous) "?", "[", paste(shape, collapse = ","), "]")
  }
  testthat::expect_true(inherits(x, "AnvilTensor"))
  testthat::expect_identical(
    type(as.character(anvil::dtype(x)), anvil::ambiguous(x), anvil::shape(x)), type(dtype, ambiguous, shape)
  )
  as_number <- if (dtype %in% complexes) as.complex else as.double
  testthat::expect_equal(as_number(x), as_number(data), tolerance = tolerance)
  invisible(x)
}

# Elements as doubles, or as complex numbers where they are.
values_of <- function(x) if (as.character(anvil::dtype(x)) %in% complexes) as.complex(x) else as.double(x)

`%||%` <- function(x, y) if (is.null(x)) y else x

# A function as a user would write it: outside of this package, of which test code is a part to R.
user <- function(f) {
  environment(f) <- new.env(parent = globalenv())
  f
}

# The elements of a value, or of those in a list, as doubles with NaN for NA; those of an array in one.
doubles_of <- function(x) {
  if (is.list(x) && !inherits(x, "AnvilValue")) return(lapply(x, doubles_of))
  if (inherits(x, "AnvilValue")) x <- as_array(x)
  sizes <- dim(x)
  x <- as.double(x)
  x[is.na(x)] <- NaN
  if (length(sizes) > 1L) array(x, sizes) else x
}

# The condition that an expression signals.
condition_of <- function(expr) tryCatch(expr, condition = identity)

# How the call that a condition of this package carries reads. Another condition is a mistake in the test.
call_of <- function(expr) {
  condition <- condition_of(expr)
  if (!inherits(condition, c("anvil_error", "anvil_warning"))) stop(condition)
  deparse1(conditionCall(condition))
}

# A snapshot of what calls signal: class, call and message. testthat's own form of these depends on its
# version.
expect_conditions <- function(code) {
  code <- substitute(code)
  env <- parent.frame()
  calls <- if (identical(code[[1L]], quote(`{`))) as.list(code)[-1L] else list(code)
  lines <- lapply(calls, function(call) {
    condition <- condition_of(eval(call, env))
    if (!inherits(condition, "condition")) stop("no condition: ", deparse1(call))
    signalled <- paste0("<", class(condition)[1L], "> ", deparse1(conditionCall(condition)))
    # Lines of this file move.
    message <- sub(" [(]test-[a-z-]+[.]R:[0-9]+[)]", "", conditionMessage(condition))
    c(paste(">", deparse1(call)), signalled, message, "")
  })
  testthat::expect_snapshot_output(cat(unlist(lines), sep = "\n"))
}

# An error of this class whose fields are these.
expect_fields <- function(expr, class, ...) {
  error <- testthat::expect_error(expr, class = class)
  testthat::expect_s3_class(error, "anvil_error")
  fields <- list(...)
  testthat::expect_equal(unclass(error)[names(fields)], fields)
  invisible(error)
}

# A function as a user would write it, whose surroundings hold these values.
user_env <- function(f, ...) {
  environment(f) <- list2env(list(...), parent = globalenv())
  f
}

# Ends what hangs, so that a deadlock between processes or threads is a failure and not a suite that stands
# still. It is no measure of speed: a machine may be as busy as it likes.
unless_it_hangs <- function(expr) {
  setTimeLimit(elapsed = 600, transient = TRUE)
  on.exit(setTimeLimit(elapsed = Inf))
  expr
}

# A time limit ends the evaluation of this, which takes longer.
expect_stopped <- function(expr, limit = 0.3) {
  stopped <- tryCatch(
    {
      setTimeLimit(elapsed = limit, transient = TRUE)
      expr
      "ran to its end"
    },
    error = conditionMessage,
    finally = setTimeLimit()
  )
  testthat::expect_match(stopped, "time limit", fixed = TRUE)
}

# Windows has no signals; and what a shell runs in the background ignores interrupts, R too.
skip_without_interrupts <- function() {
  testthat::skip_on_os("windows")
  arrives <- tryCatch(
    {
      tools::pskill(Sys.getpid(), tools::SIGINT)
      Sys.sleep(0.2)
      FALSE
    },
    interrupt = function(i) TRUE
  )
  testthat::skip_if_not(arrives, "interrupts arrive in this process")
}
