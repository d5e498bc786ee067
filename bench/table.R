# The table of `make bench`: workloads of the engine's targets and the five programs in inst/examples, from R
# as a user calls them, next to JAX, NumPy, PyTorch and base R; results are compared before anything is timed.
# Nothing here can fail for being slow.
#
#   Rscript bench/table.R                   all of it, and writes bench/RESULTS.md, vignettes/performance.csv,
#                                           and what summary.R makes of these
#   Rscript bench/table.R second            all of it, on a second machine: writes bench/second.csv, which the
#                                           same files then show beside the figures of the first one
#   Rscript bench/table.R quick             some rows at small sizes, to the console only
#   Rscript bench/table.R quick exp matmul  these alone
#
# ANVIL_PYTHON            the Python with the peers; without it .python/bin/python, where there is one
# ANVIL_NUM_THREADS       threads for all of them; without it all processors
# ANVIL_BENCH_UNTIL       a Unix time: no row begins later
library(anvil)

bench_folder <- normalizePath(dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1L])))
parts <- c("peers.R", "workloads.R", "programs.R", "transforms.R", "measure.R", "report.R", "summary.R")
for (file in parts) {
  source(file.path(bench_folder, file))
}
# The programs of users come early: where time runs out, it is the end of the list that is left out.
groups <- c("call", "program", "transform", paste0("W", 1:11))
workloads <- workloads[order(match(vapply(workloads, function(w) w$group, ""), groups))]

asked <- commandArgs(trailingOnly = TRUE)
quick <- "quick" %in% asked
second <- "second" %in% asked
chosen <- setdiff(asked, c("quick", "second"))
unknown <- setdiff(chosen, vapply(workloads, function(w) w$id, ""))
if (length(unknown)) stop("There is no workload ", paste(unknown, collapse = ", "), ".")
# Seconds before the first turn, and of a turn; rounds of a row, fewer but at least so many when they have
# taken so many seconds.
form <- if (quick) list(warm = 0.1, turn = 0.02, rounds = 3L, least = 1L, seconds = 2) else {
  list(warm = 0.5, turn = 0.05, rounds = 9L, least = 3L, seconds = 10)
}
until <- as.double(Sys.getenv("ANVIL_BENCH_UNTIL", "Inf"))

processors <- parallel::detectCores()
threads <- threads_of_all()

# ---- peers ----

python <- python_of_peers()
names_of_peers <- c("jax", "numpy", "torch")
peers <- sapply(names_of_peers, function(name) {
  if (nzchar(python)) start_peer(name, python, threads, tempdir()) else "there is no Python to run it"
}, simplify = FALSE)
stop_peers <- function() for (peer in peers) if (!is.character(peer)) peer$stop()

# ---- this machine ----

first_line <- function(path, pattern) {
  if (!file.exists(path)) return(NULL)
  found <- grep(pattern, readLines(path, warn = FALSE), value = TRUE)
  if (length(found)) trimws(sub("^[^:]*:", "", found[1L]))
}
cpu <- c(first_line("/proc/cpuinfo", "^model name"), Sys.info()[["machine"]])[1L]
blas <- extSoftVersion()[["BLAS"]]
versions <- vapply(names_of_peers, function(name) {
  paste(systems[[name]], if (is.character(peers[[name]])) "not installed" else peers[[name]]$version)
}, "")
about <- c(
  Date = format(Sys.time(), "%Y-%m-%d %H:%M"),
  Machine = machine_line(cpu, anvil_sitrep()$simd, processors),
  Threads = sprintf("%d, of each system (base R: those of its BLAS)", threads),
  Versions = paste(c(
    paste("anvil", format(utils::packageVersion("anvil"))), paste("R", getRversion()), versions
  ), collapse = ", "),
  "BLAS of R" = if (nzchar(blas)) basename(blas) else "its own"
)
# The time of a busy machine says less: the reader has to know.
load <- if (file.exists("/proc/loadavg")) scan("/proc/loadavg", "", n = 1L, quiet = TRUE)
if (!is.null(load)) about[["Load before"]] <- load
notes <- paste(
  "Times are medians of one call, ratios medians over rounds of anvil's time by that of the other in the",
  "same round; all take turns. anvil's are of a jitted function called from R, JAX's of a jitted function",
  "whose result is waited for, PyTorch's eager. Matrices lie in each system's own layout. Base R computes in",
  "f64 whatever the dtype says."
)

# ---- rows ----

rows <- list()
colds <- list()
missing <- character()
failed <- character()
left_out <- character()
cat(paste0(names(about), ": ", about, "\n"), "\n", sep = "")
cat(strwrap(notes, 120L), "", sep = "\n")
cat(console_line(header))
# The first jit of a session and the first program of a peer have more to do than others.
invisible(jit(function(x) x * 2 + 1)(nv_tensor(1:3)))
if (!is.character(peers$jax)) {
  path <- tempfile(fileext = ".npy")
  nv_write_npy(nv_tensor(c(1, 2, 3), dtype = "f32"), path)
  invisible(peers$jax$ask("load", "exp", 0L, 2L, path))
}

for (w in workloads) {
  if (length(chosen) && !w$id %in% chosen) next
  if (length(lacking(w))) {
    missing <- c(missing, w$what)
    next
  }
  for (dtype in w$dtypes) {
    sizes <- if (quick) w$quick else w$sizes
    # What is not in the quick form can be asked for.
    if (length(chosen) && !length(sizes)) sizes <- w$sizes[1L]
    if (!is.null(w$cold) && length(sizes) && now() < until) {
      cold <- tryCatch(measure_cold(w, dtype, peers$jax, if (quick) 1L else 5L), error = function(e) NULL)
      if (!is.null(cold)) colds <- c(colds, list(cold))
    }
    for (n in sizes) {
      label <- paste(w$what, dtype, w$size_label(n), sep = ", ")
      if (now() > until) {
        left_out <- c(left_out, label)
        next
      }
      row <- tryCatch(summarise(w, dtype, n, measure(w, dtype, n, peers, form)), error = identity)
      if (inherits(row, "error")) {
        message <- gsub("\n", " ", conditionMessage(row), fixed = TRUE)
        failed <- c(failed, paste0("failed: ", label, " (", message, ")"))
        cat(failed[length(failed)], "\n", sep = "")
      } else {
        rows <- c(rows, list(row))
        cat(console_line(cells(row)))
      }
      gc(verbose = FALSE)
    }
  }
}
stop_peers()

# ---- what it comes to ----

gaps <- gap_lines(rows, missing, peers, failed, left_out)
cold_lines <- vapply(cold_cells(colds), function(x) {
  sprintf("%-36s %-4s %9s %9s %8s   %s  %s", x[1L], x[2L], x[3L], x[4L], x[5L], x[6L], x[7L])
}, "")
section("Tracing and compiling: anvil, JAX, ratio, target", cold_lines, "not measured")
section("Missed targets", misses(rows, colds), no_misses(rows))
section("Gaps", gaps, "none")
# Where nothing was measured, the files keep what was measured last.
if (!quick && !length(chosen) && length(rows)) {
  root <- dirname(bench_folder)
  figures <- if (second) "bench/second.csv" else "vignettes/performance.csv"
  write_figures(file.path(root, figures), about, rows, colds)
  if (!second) write_report(file.path(bench_folder, "RESULTS.md"), notes, rows, colds, gaps)
  write_summary(root)
  cat("\nWritten: ", figures, ", bench/RESULTS.md, man/figures/benchmark.svg, README.md\n", sep = "")
}
