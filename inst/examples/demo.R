# What `make demo` runs: all examples, each in an environment of its own. An example that finds a wrong result stops.

examples <- c(
  "type-promotion.R" = "The dtype of every result follows from one rule",
  "titanic.R" = "A jitted function on real data"
)

for (name in names(examples)) {
  title <- paste0(" ", examples[[name]], " (inst/examples/", name, ") ")
  cat("\n==", title, strrep("=", max(0L, 90L - nchar(title))), "\n\n", sep = "")
  path <- system.file("examples", name, package = "anvil", mustWork = TRUE)
  source(path, local = new.env(parent = globalenv()))
}
cat("\nAll examples ran, and every result is as it should be.\n")
