# Tensors and jitted functions in other processes. Whatever hangs is ended by a time limit, so that a deadlock
# is a failure and not a suite that stands still.

test_that("a forked process computes with tensors and jitted functions of its parent", {
  skip_on_os("windows") # there is no fork
  big <- nv_tensor(as.double(1:300000), dtype = "f64")
  f <- jit(function(x, k) sum(x * k + 1))
  # The parent has run: threads, caches and kept programs exist when it forks.
  want <- as_array(f(big, 2))
  jobs <- unless_it_hangs(parallel::mclapply(1:4, function(i) {
    k <- nv_scalar(i, dtype = "f64")
    # A warm program, a cold one, an eager op, a captured tensor.
    list(
      as_array(f(big, 2)), as_array(jit(function(x) mean(x) * k)(big)), as_array(exp(k)), as_array(sum(big)),
      f(nv_tensor(i), 3)
    )
  }, mc.cores = 2, mc.preschedule = FALSE))
  for (i in 1:4) {
    expect_equal(
      jobs[[i]][1:4], list(want, mean(1:300000) * i, exp(i), sum(1:300000)), label = paste("job", i)
    )
    # Tensors come back as they are.
    expect_elements(jobs[[i]][[5]], 3 * i + 1, "f32?[]")
  }
  # The parent goes on.
  expect_identical(as_array(f(big, 2)), want)
})

test_that("an error in a forked process comes back as what it is", {
  skip_on_os("windows") # there is no fork
  x <- nv_tensor(c(1, 2))
  job <- unless_it_hangs(
    suppressWarnings(parallel::mclapply(
      1:2, function(i) x + nv_tensor(1:3), mc.cores = 2, mc.preschedule = FALSE
    ))
  )
  expect_s3_class(job[[1]], "try-error")
  job <- unless_it_hangs(
    parallel::mclapply(1:2, function(i) tryCatch(x + nv_tensor(1:3), anvil_error_shape = class), mc.cores = 2)
  )
  expect_identical(job[[1]], c("anvil_error_shape", "anvil_error", "error", "condition"))
})

test_that("a worker process that shares nothing takes and returns tensors and jitted functions", {
  cluster <- unless_it_hangs(parallel::makePSOCKcluster(1))
  on.exit(parallel::stopCluster(cluster))
  parallel::clusterCall(cluster, function(paths) .libPaths(paths), .libPaths())
  x <- nv_tensor(c(1, 2, 3), dtype = "f64")
  f <- jit(user(function(x, k = 2) x * k))
  f(x)
  # The worker has not loaded the package: a jitted function finds its routine by name once it is.
  got <- unless_it_hangs(parallel::clusterCall(cluster, user(function(f, x) {
    loadNamespace("anvil")
    list(f(x), f(x, 3), f(anvil::nv_tensor(1:2)), anvil::cache_info(f), x)
  }), f, x))[[1]]
  expect_elements(got[[1]], c(2, 4, 6), "f64[3]")
  expect_elements(got[[2]], c(3, 6, 9), "f64[3]")
  expect_elements(got[[3]], c(2, 4), "f32?[2]")
  # Its cache starts empty there.
  expect_identical(got[[4]][c("entries", "misses")], list(entries = 3L, misses = 3L))
  expect_identical(got[[5]], x)
  got <- unless_it_hangs(parallel::parLapply(cluster, list(x, x * 2), user(function(x) {
    requireNamespace("anvil")
    sum(x)
  })))
  expect_elements(got[[2]], 12, "f64[]")
})

test_that("a jitted function can be saved and loaded, here and elsewhere", {
  path <- withr::local_tempfile(fileext = ".rds")
  k <- nv_tensor(c(10, 20))
  f <- jit(user(eval(bquote(function(x, n, ...) x * n + .(k) + sum(...)))), static = "n", cache_size = 3)
  x <- nv_tensor(c(1, 2))
  f(x, 2, 1)
  f(x, 2, 1)
  saveRDS(list(f = f, x = x), path)
  again <- readRDS(path)
  expect_identical(formals(again$f), formals(f))
  expect_identical(cache_info(again$f), list(size = 3L, entries = 0L, hits = 0L, misses = 0L))
  expect_identical(again$f(again$x, 2, 1), f(x, 2, 1))
  expect_identical(cache_info(again$f)$misses, 1L)
  # The original is untouched.
  expect_identical(cache_info(f)$hits, 2L)
  out <- run_r(c(
    'saved <- readRDS(commandArgs(TRUE)[1])',
    'cat(as_array(saved$f(saved$x, 2, 1)), as_array(saved$f(saved$x, 2, 1)), unlist(cache_info(saved$f)))'
  ), path)
  expect_identical(out, "13 25 13 25 3 1 1 1")
})

test_that("a graph and a tracer of another process are refused", {
  path <- withr::local_tempfile(fileext = ".rds")
  leaked <- NULL
  graph <- trace_fn(function(x) leaked <<- x, nv_abstract("f32", 2))
  saveRDS(list(graph = graph, leaked = leaked), path)
  out <- run_r(c(
    'saved <- readRDS(commandArgs(TRUE)[1])',
    'first <- function(expr) tryCatch(expr, error = function(e) class(e)[1])',
    'cat(first(saved$leaked + 1), first(graph_text(saved$graph)), "")',
    'cat(first(jit(function(x) x + saved$leaked)(1)))'
  ), path)
  expect_identical(out, "anvil_error_leaked_tracer anvil_error_arg anvil_error_leaked_tracer")
})
