# The workloads of `make bench`: what is measured has to be right, however long it takes.

bench <- function() {
  folder <- test_path("..", "..", "bench")
  skip_if_not(dir.exists(folder), "bench/ is not part of what is tested")
  env <- new.env(parent = globalenv())
  for (file in c("peers.R", "workloads.R", "programs.R", "transforms.R", "measure.R")) {
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

test_that("what the papers say of the benchmark is what its table says", {
  env <- bench()
  root <- normalizePath(test_path("..", ".."))
  source(file.path(root, "bench", "summary.R"), local = env)
  expect_setequal(setdiff(vapply(env$workloads, function(w) w$group, ""), names(env$families)), character())

  copy <- withr::local_tempdir()
  papers <- c("README.md", "bench/RESULTS.md", "man/figures/benchmark.svg")
  for (folder in c("bench", "man/figures")) dir.create(file.path(copy, folder), recursive = TRUE)
  file.copy(file.path(root, papers), file.path(copy, papers))
  table <- env$read_figures(file.path(root, "vignettes", "performance.csv"))
  env$write_summary(copy, table$figures, table$about)
  for (paper in papers) {
    expect_identical(readLines(file.path(copy, paper)), readLines(file.path(root, paper)), label = paper)
  }
})
