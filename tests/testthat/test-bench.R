# The workloads of `make bench`: what is measured has to be right, however long it takes.

bench <- function(...) {
  folder <- test_path("..", "..", "bench")
  skip_if_not(dir.exists(folder), "bench/ is not part of what is tested")
  env <- new.env(parent = globalenv())
  for (file in c("peers.R", "workloads.R", "programs.R", "transforms.R", "measure.R", ...)) {
    source(file.path(folder, file), local = env)
  }
  env
}

test_that("every workload gives what base R gives", {
  env <- bench()
  expect_gte(length(env$workloads), 50L)
  for (w in env$workloads) {
    if (length(env$lacking(w))) next
    for (dtype in w$dtypes) {
      set.seed(1)
      args <- w$data(w$tiny, dtype)
      results <- env$results_of(w, do.call(w$make(), args, quote = TRUE), args)
      expect_true(all(is.finite(unlist(lapply(results, as.double)))), label = paste(w$id, dtype, "is finite"))
      if (is.null(w$r)) next
      expect_lte(
        env$difference_to_r(w, results, args), env$tolerance_of(w, dtype),
        label = paste("difference of", w$id, dtype)
      )
    }
  }
})

test_that("every workload has a name of its own, and is written for the peers too", {
  env <- bench()
  ids <- vapply(env$workloads, function(w) w$id, "")
  expect_identical(anyDuplicated(ids), 0L)
  python <- readLines(test_path("..", "..", "bench", "peer_workloads.py"))
  theirs <- sub('^    "([a-z0-9_]+)":.*', "\\1", grep('^    "[a-z0-9_]+":', python, value = TRUE))
  expect_setequal(theirs, ids)
})

test_that("results that differ are told apart", {
  env <- bench()
  expect_identical(env$difference(c(1, NaN, Inf), c(1, NaN, Inf), "values"), 0)
  expect_identical(env$difference(c(1, 2), c(1, NaN), "values"), Inf)
  expect_identical(env$difference(1, c(1, 1), "values"), Inf)
  expect_equal(env$difference(c(1, 3), c(1, 1), "values"), 1)
})

test_that("what the papers say of the benchmark is what its tables say", {
  env <- bench("report.R", "summary.R")
  root <- normalizePath(test_path("..", ".."))
  expect_setequal(setdiff(vapply(env$workloads, function(w) w$group, ""), names(env$families)), character())

  copy <- withr::local_tempdir()
  papers <- c("README.md", "bench/RESULTS.md", "man/figures/benchmark.svg")
  tables <- c("vignettes/performance.csv", "bench/second.csv")
  files <- c(papers, tables[file.exists(file.path(root, tables))])
  for (folder in unique(dirname(files))) dir.create(file.path(copy, folder), FALSE, recursive = TRUE)
  file.copy(file.path(root, files), file.path(copy, files))
  env$write_summary(copy)
  for (paper in papers) {
    expect_identical(readLines(file.path(copy, paper)), readLines(file.path(root, paper)), label = paper)
  }
})

# A row as a measurement gives it, where anvil takes 2 us in each round.
measured_row <- function(env, what, size, ratios, target = NULL, group = "call") {
  w <- list(
    id = what, what = what, group = group, sizes = size, size_label = env$format_size,
    target = if (!is.null(target)) function(dtype, n) target, source = function(n) group
  )
  seconds <- cbind(anvil = rep(2e-6, length(ratios)), jax = 2e-6 / ratios)
  if (anyNA(ratios)) seconds <- seconds[, "anvil", drop = FALSE]
  env$summarise(w, "f32", size, list(seconds = seconds, gaps = character()))
}

test_that("a row that is read back makes the line of the row that was written", {
  env <- bench("report.R", "summary.R")
  rows <- list(
    measured_row(env, "a", 8, c(0.31234, 0.41236, 0.51239), target = 0.4),
    measured_row(env, "b", 1000, c(0.04004, 0.04003), target = 0.04),
    measured_row(env, "c", 1e6, NA_real_, target = 0.4), measured_row(env, "d", 8, c(1, 2))
  )
  path <- withr::local_tempfile()
  env$write_figures(path, c(Machine = "one", Date = "today"), rows, list())
  read <- env$read_figures(path)
  expect_identical(read$about, c(Machine = "one", Date = "today"))
  for (i in seq_along(rows)) {
    expect_identical(env$cells(env$row_of(read$figures[i, ])), env$cells(rows[[i]]), label = rows[[i]]$what)
  }
  missed <- vapply(rows, function(row) row$missed, NA)
  expect_identical(missed, c(TRUE, TRUE, FALSE, FALSE))
})

test_that("a second machine stands beside the first, and leaves it as it is", {
  env <- bench("report.R", "summary.R")
  root <- withr::local_tempdir()
  at <- function(...) file.path(root, ...)
  for (folder in c("bench", "man/figures", "vignettes")) dir.create(at(folder), recursive = TRUE)
  writeLines(c("<!-- figures: written by `make bench` -->", "<!-- end of figures -->"), at("README.md"))
  rows <- list(measured_row(env, "both", 8, 0.5, target = 0.4), measured_row(env, "a | b", 1000, 0.25))
  about <- function(machine) {
    c(Date = paste("day of", machine), Machine = machine, Versions = paste("of", machine))
  }
  # As on the first machine.
  measure_first <- function() {
    env$write_figures(at("vignettes/performance.csv"), about("one"), rows, list())
    env$write_report(at("bench/RESULTS.md"), "Notes.", rows, list(), character())
    env$write_summary(root)
  }
  results <- function() readLines(at("bench/RESULTS.md"))
  others <- function() c(readLines(at("README.md")), readLines(at("man/figures/benchmark.svg")))
  cells <- function() {
    lines <- results()
    section <- lines[seq(which(lines == "## All workloads"), which(lines == "## Tracing and compiling"))]
    table <- grep("^[|] ", section, value = TRUE)
    strsplit(substr(table, 3L, nchar(table) - 2L), " | ", fixed = TRUE)
  }

  measure_first()
  alone <- results()
  others_alone <- others()
  cells_alone <- cells()
  expect_identical(cells_alone[[1L]], unname(utils::head(env$header, -1L)))
  expect_length(cells_alone, 4L)
  expect_false(any(grepl("second", alone, fixed = TRUE)))

  there <- list(
    measured_row(env, "both", 8, 2), measured_row(env, "no JAX", 8, NA_real_),
    measured_row(env, "there alone", 1e6, 0.125, target = 0.1), measured_row(env, "of no size", 8, 4)
  )
  env$write_figures(at("bench/second.csv"), about("two"), there, list())
  env$write_summary(root)
  beside <- results()
  place <- match("/JAX, second", cells()[[1L]])
  expect_identical(cells()[[1L]][place - 1L], "quartiles")
  of <- function(what) Filter(function(row) row[2L] == what, cells())
  expect_identical(of("both")[[1L]][place], "2.00")
  expect_identical(of("both")[[1L]][match("/JAX", env$header)], "0.50")
  expect_identical(of("a \\| b")[[1L]][place - 2:0], c("0.25", "0.25..0.25", "-"))
  expect_identical(of("there alone")[[1L]][5:12], c(rep("-", 6L), "", "0.12"))
  expect_length(of("no JAX"), 0L)
  # Without the column and the row that only the second machine has, the table is that of the first.
  expect_identical(lapply(cells()[1:4], function(row) row[-place]), cells_alone)

  opening <- beside[seq_len(which(beside == "<!-- end of summary -->"))]
  line <- grep("second machine", opening, value = TRUE)
  expect_match(line, "(two; day of two) it takes **1.00 of JAX's time** over 3 workloads", fixed = TRUE)
  expect_match(line, "`of no size` of 8, f32: 4.00; `both` of 8, f32: 2.00; `there alone` of", fixed = TRUE)
  how <- beside[seq(which(beside == "## How it was measured"), which(beside == "Notes."))]
  expect_true(all(paste0("* ", names(about("two")), ": ", about("two")) %in% how))
  expect_true(all(paste0("* ", names(about("one")), ": ", about("one")) %in% how))

  # README and the picture are of the first machine alone.
  expect_identical(others(), others_alone)
  # Nothing doubles when it is written anew, and the first machine's next measurement keeps the second's.
  env$write_summary(root)
  expect_identical(results(), beside)
  measure_first()
  expect_identical(results(), beside)
  # A second machine that measured less, and one that measured without JAX.
  env$write_figures(at("bench/second.csv"), about("two"), there[1L], list())
  env$write_summary(root)
  expect_length(cells(), 4L)
  expect_identical(of("both")[[1L]][place], "2.00")
  env$write_figures(at("bench/second.csv"), about("two"), there[2L], list())
  env$write_summary(root)
  expect_identical(of("both")[[1L]][place], "-")
  line <- "* On the second machine (two; day of two) nothing was measured next to JAX."
  expect_identical(sum(results() == line), 1L)
  unlink(at("bench/second.csv"))
  env$write_summary(root)
  expect_identical(results(), alone)
})

test_that("the description of a machine has the instructions that kernels use", {
  env <- bench("report.R")
  of <- function(simd) env$machine_line("A processor", simd, 2L)
  expect_match(of("avx2"), "^A processor with AVX2, 2 processors, ")
  expect_match(of("avx512"), "with AVX-512,", fixed = TRUE)
  expect_match(of("neon"), "with NEON,", fixed = TRUE)
  expect_match(of("portable"), "with portable kernels,", fixed = TRUE)
  expect_match(of(anvil_sitrep()$simd), "^A processor with [A-Za-z0-9-]+( kernels)?, 2 processors, ")
})
