# The package unloaded and loaded again, in a process of its own.

test_that("large results, functions and threads survive the package being unloaded and loaded again", {
  out <- run_r(c(
    "options(anvil.threads = 2L)",
    "total <- function(x) as.double(sum(x))",
    "old <- list(nv_fill(2, 1e6), nv_fill(3L, 1e6), nv_fill(1i, 1e6), nv_fill(TRUE, 1e6, 'i1'))",
    "f <- jit(function(x) x * 2 + 1)",
    "y <- f(old[[1]])",
    "graph <- trace_fn(function(x) x, nv_scalar(1))",
    "for (round in 1:3) {",
    "  unloadNamespace('anvil')",
    "  stopifnot(!'anvil' %in% names(getLoadedDLLs()))",
    "  gc()",
    # R before 4.3 would look for methods of S4 objects, and remember that there are none.
    "  stopifnot(length(unclass(old[[1]])) == 1e6, unclass(old[[2]])[1e6] == 3L)",
    "  library(anvil)",
    "  new <- nv_fill(2, 1e6)",
    "  stopifnot(identical(new, old[[1]]), total(new) == 2e6, total(old[[1]]) == 2e6)",
    "  stopifnot(as_array(old[[2]])[1e6] == 3L, as_array(old[[3]])[1e6] == 1i, as_array(old[[4]])[1e6])",
    "  stopifnot(total(f(new)) == 5e6, identical(graph_text(graph), format(graph)))",
    "  old[[length(old) + 1L]] <- new",
    "  y <- jit(function(x, s) s(x), static = 's')(new, function(z) sin(z) + 1)",
    "  rm(new)",
    "  gc()",
    "}",
    "unloadNamespace('anvil')",
    "cat(sum(unclass(old[[2]])), 'done\\n')"
  ))
  expect_identical(tail(out, 1L), "3000000 done")
})

test_that("another build of the library can be loaded beside the one that made what is there", {
  # Another file is another library to the system, as after the package was installed anew.
  copies <- withr::local_tempdir()
  file.copy(system.file(package = "anvil"), copies, recursive = TRUE)
  out <- run_r(c(
    "options(anvil.threads = 2L)",
    "x <- nv_fill(2, 1e6)",
    "f <- jit(function(x) x * 2 + 1)",
    "y <- f(x)",
    "graph <- trace_fn(function(x) x, nv_scalar(1))",
    "kept <- NULL",
    "y <- jit(function(x) kept <<- x)(nv_scalar(1))",
    "file <- getLoadedDLLs()[['anvil']][['path']]",
    "unloadNamespace('anvil')",
    "library(anvil, lib.loc = commandArgs(TRUE))",
    "stopifnot(getLoadedDLLs()[['anvil']][['path']] != file)",
    "y <- nv_fill(2, 1e6)",
    "total <- function(x) as.double(sum(x))",
    "stopifnot(identical(x, y), total(x) == 2e6, total(f(y)) == 5e6, total(f(x)) == 5e6)",
    "stopifnot(cache_info(f)$entries == 1L)",
    "refused <- function(expr) inherits(try(expr, silent = TRUE), 'try-error')",
    "stopifnot(refused(graph_text(graph)), refused(kept + 1))",
    "rm(x, y, f, graph, kept)",
    "gc()",
    "gc()",
    "cat('done\\n')"
  ), copies)
  expect_identical(tail(out, 1L), "done")
})
