# Methods of classes over lists or data frames, whose elements a user may change. R's error about a changed
# element would name an expression of anvil's; it becomes an error about the argument. Tensors, tracers,
# graphs and handles are read by Rust, which checks them.

listed_classes <- c(
  "AnvilAbstract", "AnvilDtype", "AnvilStablehlo", "AnvilMemoryPlan", "AnvilPlan", "AnvilCacheExplanation",
  "AnvilDtypeReport", "AnvilModel", "AnvilSitrep",
  "AnvilPromotionTable", "AnvilPromotionComparison"
)

# A method that reads the parts of its first argument.
reading_parts <- function(method) {
  body(method) <- bquote(as_made(.(as.name(names(formals(method))[1L])), .(body(method))))
  method
}

# Evaluates what reads the parts of an object. R only warns of a data frame whose columns are of several
# lengths.
as_made <- function(x, expr) {
  refuse <- function(e) {
    if (inherits(e, "anvil_error") || is_time_limit(e)) stop(e)
    class <- intersect(class(x), listed_classes)[1L]
    expected <- paste0("an object of class <", class, "> as it was made")
    abort_arg("x", expected, "one with changed elements", paste("R says:", conditionMessage(e)))
  }
  tryCatch(expr, error = refuse, warning = refuse)
}
