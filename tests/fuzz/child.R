# Runs cases of one generator, in the order of their numbers, and writes what came of each. Started by run.R:
#   Rscript child.R <folder of the generators> <generator> <seed> <first> <last> <file of results>
# A line "start <number>" stands before each case, so that whoever ends the process is known.
arguments <- commandArgs(TRUE)
here <- arguments[1L]
generator <- arguments[2L]
seed <- as.double(arguments[3L])
first <- as.double(arguments[4L])
last <- as.double(arguments[5L])
root <- dirname(dirname(here))
results <- file(arguments[6L], "a")
say <- function(...) {
  cat(..., "\n", sep = "", file = results)
  flush(results)
}
say("pid\t", Sys.getpid())

suppressPackageStartupMessages(library(anvil))
for (file in c("values.R", "judge.R", paste0(generator, ".R"))) {
  source(file.path(here, file), keep.source = FALSE)
}
generate <- get(paste0("generate_", generator))

options(max.print = 200L, warn = 1L, browserNLdisabled = TRUE, keep.source = FALSE, digits = 7L, width = 80L)
grDevices::pdf(NULL)
set.seed(1L)
scratch <- file.path(tempdir(), "scratch")
dir.create(scratch)
setwd(scratch)

one_line_of <- function(text) {
  gsub("[[:space:]]+", " ", substr(iconv(text, "", "UTF-8", sub = "byte"), 1L, 500L))
}

# Code in one line, of no more than some characters.
in_one_line <- function(code, limit = 1500L) {
  text <- paste(trimws(unlist(lapply(code, deparse, width.cutoff = 500L))), collapse = " ")
  text <- iconv(text, "", "UTF-8", sub = "byte")
  gsub("[\t\r\n]", " ", substr(text, 1L, limit))
}

reproducer <- function(case, limit = 5000L) {
  assigned <- function(name, value) paste(name, "<-", in_one_line(list(value), 400L))
  setup <- unlist(Map(assigned, names(case$setup), case$setup))
  before <- vapply(case$before, function(code) in_one_line(list(code), 200L), "")
  paste(c(before, setup, in_one_line(list(case$code), limit)), collapse = "; ")
}

# Each case has random numbers of its own, whatever ran before.
seed_of <- function(number) {
  as.integer((seed * 1000003 + number * 7919 + sum(utf8ToInt(generator)) * 104729) %% 2147483647)
}

resident <- function() {
  status <- tryCatch(
    readLines("/proc/self/status"), error = function(e) character(), warning = function(w) character()
  )
  as.double(sub("[^0-9]*([0-9]+).*", "\\1", grep("^VmRSS", status, value = TRUE))) / 1024
}

one_case <- function(number) {
  # R's own table() leaves this behind if it fails.
  options(warn = 1L)
  set.seed(seed_of(number), "Mersenne-Twister", "Inversion", "Rejection")
  case <- generate(number)
  # Said before it runs: afterwards there may be nobody to say it.
  shown <- reproducer(case)
  say("code\t", shown)
  if (last == first) cat("code:", shown, "\n", file = stderr())
  env <- new.env(parent = globalenv())
  ready <- tryCatch(
    {
      for (code in case$before) eval(code, env)
      for (name in names(case$setup)) assign(name, eval(case$setup[[name]], env), env)
      TRUE
    },
    error = function(e) FALSE
  )
  if (!ready) return(c("not made", "", ""))
  sealed <- if (is.null(case$sealed)) names(case$setup) else case$sealed
  judge(case$code, env, sealed)
}

number <- first
while (number <= last) {
  say("start\t", format(number, scientific = FALSE))
  verdict <- one_case(number)
  failed <- verdict[1L] %in% failures
  shown <- if (failed) c(shape_of_message(verdict[3L]), one_line_of(verdict[3L]))
  say(paste(c("end", format(number, scientific = FALSE), verdict[1L:2L], shown), collapse = "\t"))
  # What is left behind would be blamed on the next one.
  if (verdict[1L] %in% c("trace left open", "session changed")) break
  if (number %% 100 == 0) {
    gc()
    say("memory\t", format(round(resident()), scientific = FALSE))
  }
  number <- number + 1
}
say("done\t", format(number, scientific = FALSE))
