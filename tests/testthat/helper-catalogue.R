# The table of all functions, inst/catalogue/functions.tsv. Its column `call` is a call of the function, in
# variables that `example_values()` gives; a function of functions or of files has none.

read_catalogue <- function(file, ...) {
  path <- system.file("catalogue", file, package = "anvil", mustWork = TRUE)
  utils::read.delim(path, quote = "", colClasses = "character", check.names = FALSE, ...)
}

# The rows of the ops in the engine.
ops_table <- function() as.data.frame(.Call(anvil:::wrap__anvil_ops_table))

# A vector, a positive definite matrix, a dtype and a state of the generator.
example_values <- function(dtype) {
  whole <- !dtype %in% c("i1", floats, complexes)
  x <- if (whole) c(1L, 2L, 3L, 2L) else if (dtype == "i1") c(TRUE, FALSE, TRUE, TRUE) else
    c(0.4, 0.25, 0.75, 0.3)
  m <- if (whole) matrix(c(2L, 1L, 0L, 1L, 3L, 1L, 0L, 1L, 2L), 3L) else if (dtype == "i1") diag(3L) == 1 else
    matrix(c(2, 0.5, 0.25, 0.5, 3, 0.1, 0.25, 0.1, 1), 3L)
  list(x = nv_tensor(x, dtype), m = nv_tensor(m, dtype), d = dtype, s = nv_rng_state(1))
}

# The call as a function of its tensor, with the other variables around it.
example_function <- function(call, values, of = example_operand(call)) {
  formals <- if (length(of)) stats::setNames(as.pairlist(alist(x = )), of)
  eval(call("function", formals, str2lang(call)), list2env(values, parent = globalenv()))
}

# The name of the tensor that a call is of; none of those that make one.
example_operand <- function(call) intersect(c("x", "m"), all.vars(str2lang(call)))

# What an expression gives, without what it prints and warns of, or the error.
quietly <- function(expr) {
  utils::capture.output(out <- tryCatch(suppressWarnings(expr), anvil_error = identity))
  out
}
