# Finds R tests that depend on what ran before them, on the number of threads or on how busy the machine is:
#   Rscript tools/test-order.R [seed] runs each test file alone in a process of its own, then all files in
#   random order twice in one process, with one thread and with two. ANVIL_TEST_LOAD=n keeps n other processes
#   busy meanwhile. The seed of the order is printed. The last line is "N passed, N failed", and the exit
#   status is 1 when something failed.

arguments <- commandArgs(trailingOnly = TRUE)
files <- list.files("tests/testthat", "^test-.*\\.R$")
rscript <- file.path(R.home("bin"), "Rscript")

# Runs test files in this process and writes one line for each: passed, failed. This is what the child
# processes do.
if (identical(arguments[1L], "--run")) {
  out <- arguments[2L]
  for (file in arguments[-(1:2)]) {
    results <- as.data.frame(testthat::test_file(
      file.path("tests/testthat", file), package = "anvil", load_package = "installed", reporter = "check",
      stop_on_failure = FALSE
    ))
    cat(sum(results$passed), sum(results$failed) + sum(results$error), file, "\n", file = out, append = TRUE)
  }
  quit(status = 0L)
}

total <- c(passed = 0, failed = 0)

# Runs files in one child process; a process that dies counts as a failure.
run <- function(what, files, threads) {
  out <- tempfile()
  log <- tempfile()
  script <- "tools/test-order.R"
  status <- system2(
    rscript, c(script, "--run", out, files), stdout = log, stderr = log,
    env = c(paste0("ANVIL_NUM_THREADS=", threads), "NOT_CRAN=true")
  )
  counts <- if (file.exists(out)) utils::read.table(out, col.names = c("passed", "failed", "file")) else NULL
  failed <- sum(counts$failed) + (status != 0L)
  total <<- total + c(sum(counts$passed), failed)
  if (failed > 0) {
    cat(
      "FAILED ", what, ", ", threads, " threads: ",
      paste(unique(counts$file[counts$failed > 0]), collapse = " "), "\n", sep = ""
    )
    if (status != 0L) cat("the process ended with status", status, "\n")
    writeLines(grep("^(── |Error|Backtrace|`|\\[ FAIL)", readLines(log, warn = FALSE), value = TRUE))
  }
}

seed <- if (length(arguments)) as.integer(arguments[1L]) else as.integer(Sys.time()) %% 100000L
cat("seed", seed, "\n")
set.seed(seed)

load <- as.integer(Sys.getenv("ANVIL_TEST_LOAD", "0"))
# Each of them ends by itself when this process is gone.
for (i in seq_len(load)) {
  system(sprintf(
    "while kill -0 %d 2> /dev/null; do n=0; while [ $n -lt 100000 ]; do n=$((n+1)); done; done &",
    Sys.getpid()
  ))
}

for (file in files) run(paste(file, "alone"), file, 2L)
for (threads in 1:2) run("random order, twice", c(sample(files), sample(files)), threads)

cat(total[["passed"]], " passed, ", total[["failed"]], " failed\n", sep = "")
quit(status = as.integer(total[["failed"]] > 0))
