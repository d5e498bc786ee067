# The number of threads, and what must not depend on it. See test-parallel.R for tensors in other processes.

# Work of several kinds that is shared between threads, as bytes.
shared_work <- function() {
  x <- nv_reshape(nv_iota(1, "f64", 200000) / 7, c(400, 500))
  f <- jit(
    function(x) list(exp(sin(x)) * x, sum(x * x), t(x) %*% x, nv_reduce_sum(x, 1), nv_reduce_max(x, 2))
  )
  out <- c(f(x), list(x / 3, nv_runif(150000, nv_rng_state(1))$value, nv_convert(x, "f32") * 2))
  lapply(out, function(v) .Call(anvil:::anvil_tensor_data, v))
}

test_that("results have the same bits with any number of threads", {
  got <- lapply(c(1, 2, 5), function(n) {
    withr::local_options(anvil.threads = n)
    shared_work()
  })
  expect_identical(got[[2]], got[[1]])
  expect_identical(got[[3]], got[[1]])
})

test_that("the option is followed, within the limits of the surroundings", {
  expect_type(num_threads(), "integer")
  withr::local_options(anvil.threads = 1L)
  expect_identical(num_threads(), 1L)
  code <- c(
    'show <- function(n) { options(anvil.threads = n); cat(num_threads(), "") }',
    'show(NULL); show(1); show(3L); show(1024)'
  )
  counts <- function(...) {
    withr::local_envvar(ANVIL_NUM_THREADS = NA, OMP_THREAD_LIMIT = NA, `_R_CHECK_LIMIT_CORES_` = NA)
    withr::local_envvar(...)
    as.integer(strsplit(trimws(run_r(code)), " ")[[1]])
  }
  expect_identical(counts(ANVIL_NUM_THREADS = "5"), c(5L, 1L, 3L, 1024L))
  expect_identical(counts(ANVIL_NUM_THREADS = "5", OMP_THREAD_LIMIT = "4"), c(4L, 1L, 3L, 4L))
  expect_identical(counts(ANVIL_NUM_THREADS = "5", `_R_CHECK_LIMIT_CORES_` = "TRUE"), c(2L, 1L, 2L, 2L))
})

test_that("what is no number of threads is an error with advice, from large programs too", {
  x <- nv_fill(1, 1e6, "f64")
  for (n in list(0, -1, 2.5, NA, NA_integer_, Inf, "2", 1:2, TRUE, list(2), 1025, 1e300)) {
    withr::local_options(anvil.threads = n)
    expect_fields(num_threads(), "anvil_error_arg", arg = "options(anvil.threads = )")
    expect_error(exp(x), class = "anvil_error_arg", "a whole number from 1 to 1024")
    expect_error(jit(function(x) exp(x))(x), class = "anvil_error_arg", "NULL")
    # Small ones do not ask.
    expect_identical(as_array(nv_scalar(1) + 1), 2)
  }
})

test_that("a variable that is no number of threads is ignored with one warning", {
  code <- c(
    'loaded <- withCallingHandlers(loadNamespace("anvil"), anvil_warning_threads = function(w) {',
    '  cat(w$ignored, "")',
    '  invokeRestart("muffleWarning")',
    '})',
    'options(anvil.threads = NULL)',
    'cat(anvil::num_threads() >= 1L)'
  )
  path <- withr::local_tempfile(fileext = ".R")
  writeLines(code, path)
  withr::local_envvar(ANVIL_NUM_THREADS = "many", R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep))
  out <- system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", shQuote(path)), stdout = TRUE)
  expect_identical(out, "ANVIL_NUM_THREADS=many TRUE")
})

test_that("forked processes compute on threads of their own after their parent has", {
  skip_on_os("windows") # there is no fork
  withr::local_options(anvil.threads = 3)
  want <- shared_work()
  for (round in 1:3) {
    # Two at a time, since `R CMD check` allows no more.
    jobs <- unless_it_hangs(parallel::mclapply(
      1:3, function(i) shared_work(), mc.cores = 2, mc.preschedule = FALSE
    ))
    expect_identical(jobs, list(want, want, want))
    # The parent goes on.
    expect_identical(shared_work(), want)
  }
  # A child's child.
  job <- unless_it_hangs(parallel::mclapply(1, function(i) {
    shared_work()
    parallel::mclapply(1:2, function(i) shared_work(), mc.cores = 2)
  }, mc.cores = 2, mc.preschedule = FALSE, mc.allow.recursive = TRUE))
  expect_identical(unlist(job, recursive = FALSE), list(want, want))
})

test_that("processes that share nothing compute on threads", {
  withr::local_options(anvil.threads = 3)
  want <- shared_work()
  work <- user(shared_work)
  expect_same <- function(got) expect_identical(got, want)
  cluster <- unless_it_hangs(parallel::makePSOCKcluster(2, setup_strategy = "sequential"))
  withr::defer(parallel::stopCluster(cluster))
  parallel::clusterCall(cluster, function(paths) .libPaths(paths), .libPaths())
  got <- unless_it_hangs(parallel::clusterCall(cluster, user(function(work) {
    library(anvil)
    options(anvil.threads = 3)
    work()
  }), work))
  lapply(got, expect_same)
  skip_if_not_installed("callr")
  expect_same(unless_it_hangs(callr::r(function(work) {
    library(anvil)
    options(anvil.threads = 3)
    work()
  }, list(work), libpath = .libPaths())))
})

test_that("another package's OpenMP and anvil's threads are side by side", {
  skip_on_cran()
  dir <- withr::local_tempdir()
  writeLines(c(
    '#include <Rinternals.h>',
    '#ifdef _OPENMP',
    '#include <omp.h>',
    '#endif',
    'SEXP total(SEXP x) {',
    '  double sum = 0, *v = REAL(x);',
    '  R_xlen_t n = XLENGTH(x);',
    '#pragma omp parallel for num_threads(2) reduction(+ : sum)',
    '  for (R_xlen_t i = 0; i < n; i++) sum += v[i];',
    '  return ScalarReal(sum);',
    '}'
  ), file.path(dir, "total.c"))
  writeLines(
    c('PKG_CFLAGS = $(SHLIB_OPENMP_CFLAGS)', 'PKG_LIBS = $(SHLIB_OPENMP_CFLAGS)'), file.path(dir, "Makevars")
  )
  withr::with_dir(
    dir, system2(file.path(R.home("bin"), "R"), c("CMD", "SHLIB", "total.c"), stdout = FALSE, stderr = FALSE)
  )
  library <- file.path(dir, paste0("total", .Platform$dynlib.ext))
  skip_if_not(file.exists(library), "a C compiler")
  loaded <- dyn.load(library)
  withr::defer(dyn.unload(library))
  total <- getNativeSymbolInfo("total", loaded)
  withr::local_options(anvil.threads = 2)
  x <- nv_iota(1, "f64", 300000)
  f <- jit(function(x) sum(x))
  for (i in 1:50) {
    expect_identical(.Call(total, as_array(x)), 300000 * 300001 / 2)
    expect_identical(as_array(f(x)), 300000 * 300001 / 2)
  }
  expect_identical(shared_work(), {
    options(anvil.threads = 1)
    shared_work()
  })
})

test_that("a user may interrupt, and an error leaves the threads alive", {
  withr::local_options(anvil.threads = 2)
  want <- shared_work()
  expect_error(nv_fill(1, 1e6, "f64") + nv_fill(1, 10, "f64"), class = "anvil_error_shape")
  expect_identical(shared_work(), want)
})

test_that("ANVIL_SIMD that names no level is an error", {
  code <- c(
    "Sys.setenv(ANVIL_SIMD = commandArgs(TRUE)[[1L]])",
    "tryCatch(cat(as.double(nv_scalar(1) + 1)), anvil_error_arg = function(e) cat(conditionMessage(e)))"
  )
  expect_match(run_r(code, "avx3"), "`ANVIL_SIMD` must be one of .*\"portable\".*, not \"avx3\"", all = FALSE)
  for (level in c("portable", "avx2", "neon")) expect_identical(run_r(code, level), "2")
})
