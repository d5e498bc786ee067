# Runs the testthat suite against the installed package and writes "<passed> <failed>" to the file named by
# the argument. tools/test.sh adds these numbers up; an exit status other than 0 means that no count can be
# trusted.
counts <- commandArgs(trailingOnly = TRUE)[[1]]

# An older anvil from another library would make the result worthless.
lib <- normalizePath(".lib")
if (dirname(find.package("anvil")) != lib) {
  stop("anvil was loaded from ", dirname(find.package("anvil")), ", not from ", lib)
}

results <- testthat::test_local(
  ".",
  reporter = "check",
  load_package = "installed",
  stop_on_failure = FALSE
)
results <- as.data.frame(results)
# An error inside a test is not among `failed`. A file that does not parse never comes here: test_local()
# stops.
failed <- sum(results$failed) + sum(results$error)
writeLines(paste(sum(results$passed), failed), counts)
