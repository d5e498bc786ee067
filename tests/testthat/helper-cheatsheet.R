# Runs the cheat sheet and compares what its lines give with what they say.

# A line for each expression whose value, type or error is not the text after its `#>`.
check_cheatsheet <- function(path) {
  program <- parse(path, keep.source = TRUE, encoding = "UTF-8")
  ends <- vapply(attr(program, "srcref"), function(ref) ref[3L], 0L)
  lines <- readLines(path, encoding = "UTF-8")
  env <- new.env(parent = globalenv())
  wrong <- lapply(seq_along(program), function(i) {
    line <- lines[ends[i]]
    said <- if (grepl(" #> ", line, fixed = TRUE)) sub("^.* #> ", "", line)
    given <- tryCatch(shown(eval(program[[i]], env), said), error = function(e) {
      if (!is.null(said) && inherits(e, said)) said else paste0(class(e)[1L], ": ", conditionMessage(e))
    })
    # What says nothing has only to run.
    failed <- is.null(said) && grepl("^[a-zA-Z_]*[eE]rror", given)
    if (failed || !is.null(said) && given != said) paste0(line, "   gives   ", given)
  })
  unlist(wrong)
}

# A value in the form of what is said of it.
shown <- function(value, said) {
  force(value)
  if (is.null(said)) return("")
  if (inherits(value, "AnvilTensor")) {
    if (grepl("[]]$", said)) {
      return(paste0(as.character(anvil::dtype(value)), "[", paste(anvil::shape(value), collapse = ", "), "]"))
    }
    value <- anvil::as_array(value)
  }
  if (is.numeric(value)) value <- format(as.vector(value), digits = 4L, drop0trailing = TRUE, trim = TRUE)
  paste(as.character(value), collapse = " ")
}
