# What `make demo` runs: all examples, each in an environment of its own. An example that finds a wrong result
# stops. Some take a few seconds; Sys.setenv(ANVIL_EXAMPLE = "quick") makes them shorter.

examples <- c(
  "type-promotion.R" = "The dtype of every result follows from one rule",
  "titanic.R" = "A jitted function on real data",
  "linear-model.R" = "Gradient descent with three kinds of loops",
  "logistic-regression.R" = "50,000 epochs in one loop",
  "mlp.R" = "Neural networks in a loop of the program and of R",
  "metropolis.R" = "Random numbers: a Markov chain",
  "gaussian-process.R" = "Loops within loops, and a gradient inside"
)

for (name in names(examples)) {
  title <- paste0(" ", examples[[name]], " (inst/examples/", name, ") ")
  cat("\n==", title, strrep("=", max(0L, 90L - nchar(title))), "\n\n", sep = "")
  path <- system.file("examples", name, package = "anvil", mustWork = TRUE)
  source(path, local = new.env(parent = globalenv()))
}
cat("\nAll examples ran, and every result is as expected.\n")
