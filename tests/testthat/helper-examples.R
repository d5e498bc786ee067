# The scripts in inst/examples.

# Runs an example, in its short form, in an environment of its own: list(env, output). What it draws goes
# nowhere.
run_example <- function(name) {
  before <- Sys.getenv("ANVIL_EXAMPLE", NA)
  Sys.setenv(ANVIL_EXAMPLE = "quick")
  grDevices::pdf(NULL)
  on.exit({
    grDevices::dev.off()
    if (is.na(before)) Sys.unsetenv("ANVIL_EXAMPLE") else Sys.setenv(ANVIL_EXAMPLE = before)
  })
  path <- system.file("examples", name, package = "anvil", mustWork = TRUE)
  env <- new.env(parent = globalenv())
  output <- capture.output(source(path, local = env))
  list(env = env, output = output)
}
