# Runs the testthat suite against the installed package and writes "<passed> <failed>" to the file named by
# the argument. tools/test.sh adds these numbers up; an exit status other than 0 means that no count can be
# trusted.
#
# Some processes take the files, each the next one whenever it is done with one. (Those of testthat itself
# attach the package below stats, so that stats hides what the package has in its place.)
arguments <- commandArgs(trailingOnly = TRUE)

# The largest first, so that no process is left alone with it.
files <- list.files("tests/testthat", "^test-.*\\.R$", full.names = TRUE)
files <- basename(files[order(-file.size(files))])

work <- function(files, folder) {
  force(files)
  force(folder)
  # Tests see the workspace.
  rm(list = ls(globalenv()), envir = globalenv())
  for (file in files) {
    # One process alone makes a folder.
    if (!dir.create(file.path(folder, file), showWarnings = FALSE)) next
    start <- proc.time()[["elapsed"]]
    printed <- utils::capture.output(results <- testthat::test_local(
      ".",
      filter = paste0("^", sub("^test-(.*)\\.R$", "\\1", file), "$"),
      reporter = "check", load_package = "installed", stop_on_failure = FALSE
    ))
    table <- as.data.frame(results)
    expectations <- unlist(lapply(results, `[[`, "results"), recursive = FALSE)
    skipped <- Filter(function(one) inherits(one, "expectation_skip"), expectations)
    # An error inside a test is not among `failed`. A file that does not parse never comes here: test_local()
    # stops.
    made <- list(
      passed = sum(table$passed), failed = sum(table$failed) + sum(table$error), printed = printed,
      skipped = vapply(skipped, conditionMessage, ""), seconds = proc.time()[["elapsed"]] - start
    )
    # Whole, or not there.
    saveRDS(made, file.path(folder, "unfinished", file))
    file.rename(file.path(folder, "unfinished", file), file.path(folder, "finished", file))
  }
  quit(status = 0L)
}
if (identical(arguments[1L], "--worker")) work(files, folder = arguments[2L])

# An older anvil from another library would make the result worthless.
lib <- normalizePath(".lib")
if (dirname(find.package("anvil")) != lib) {
  stop("anvil was loaded from ", dirname(find.package("anvil")), ", not from ", lib)
}

folder <- tempfile("testthat")
for (part in file.path(folder, c("unfinished", "finished"))) dir.create(part, recursive = TRUE)
# Memory is the limit of more: some tests take gigabytes.
count <- max(1L, min(4L, parallel::detectCores(), na.rm = TRUE))
workers <- lapply(seq_len(count), function(i) {
  log <- file.path(folder, paste0("log", i))
  callr::rscript_process$new(callr::rscript_process_options(
    script = ".ci/testthat.R", cmdargs = c("--worker", folder), stdout = log, stderr = log
  ))
})

results <- list()
read_new <- function() {
  for (file in setdiff(list.files(file.path(folder, "finished")), names(results))) {
    made <- readRDS(file.path(folder, "finished", file))
    results[[file]] <<- made
    cat(sprintf("%s: %d passed, %d failed, %.0f s\n", file, made$passed, made$failed, made$seconds))
    if (made$failed > 0) writeLines(made$printed)
  }
}
while (any(vapply(workers, function(worker) worker$is_alive(), NA))) {
  Sys.sleep(1)
  read_new()
}
read_new()

skipped <- unlist(lapply(results, `[[`, "skipped"))
if (length(skipped)) cat("Skipped:\n", paste0(names(skipped), ": ", skipped, "\n"), sep = "")
for (i in seq_len(count)) {
  status <- workers[[i]]$get_exit_status()
  if (!identical(status, 0L)) {
    writeLines(utils::tail(readLines(file.path(folder, paste0("log", i)), warn = FALSE), 100L))
    cat("a process of the tests ended with status", status, "\n")
  }
}
absent <- setdiff(files, names(results))
if (length(absent)) stop("no result of ", toString(absent))
total <- function(name) sum(vapply(results, `[[`, 0, name))
writeLines(paste(total("passed"), total("failed")), arguments[[1L]])
cat(total("passed"), "passed,", total("failed"), "failed\n")
