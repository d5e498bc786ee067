# The engine asks R every 20 ms whether to stop, in the middle of kernels too; that each of them does is what
# src/rust/core/tests/stop.rs counts. A time limit goes the same way as the user's Ctrl-C: R jumps out of the
# call, over no frame of Rust.

test_that("a kernel is left in the middle of its elements", {
  # A sum that takes minutes, of what is nowhere in memory; in a process of its own.
  out <- run_r(c(
    "total <- jit(function(x, n) sum(nv_polygamma(3, nv_iota(1, \"f64\", n) * x)), static = \"n\")",
    "x <- nv_scalar(0.5, dtype = \"f64\")",
    "want <- total(x, 1e4)",
    "for (threads in 1:2) {",
    "  options(anvil.threads = threads)",
    "  start <- proc.time()[[\"elapsed\"]]",
    "  setTimeLimit(elapsed = 0.3, transient = TRUE)",
    "  said <- tryCatch(total(x, 2e9), error = conditionMessage)",
    "  setTimeLimit()",
    "  cat(said, \"\\n\", proc.time()[[\"elapsed\"]] - start < 60, identical(total(x, 1e4), want), \"\\n\")",
    "}"
  ))
  expect_identical(grep("time limit", out, fixed = TRUE, value = TRUE), out[c(1L, 3L)])
  expect_identical(trimws(out[c(2L, 4L)]), c("TRUE TRUE", "TRUE TRUE"))
})

test_that("a long program can be stopped, and nothing is left behind", {
  f <- jit(function(x) {
    for (i in 1:2000) x <- sin(x) + 1
    x
  })
  x <- nv_fill(0.5, 3e6)
  small <- nv_fill(0.5, 2)
  f(small)
  expect_stopped(f(x))
  expect_equal(.Call(anvil:::anvil_trace_depth), 0L)
  expect_equal(as.vector(as_array(f(small))), rep(as.double(f(nv_scalar(0.5, "f32"))), 2))
})

test_that("an interrupt of the user is an interrupt condition", {
  skip_without_interrupts()
  f <- jit(function(x) {
    for (i in 1:2000) x <- sin(x) + 1
    x
  })
  x <- nv_fill(0.5, 5e5)
  system(sprintf("(sleep 0.5; kill -INT %d) > /dev/null 2>&1 &", Sys.getpid()))
  # Long enough that the signal finds us here, wherever the machine stops first.
  stopped <- tryCatch(
    {
      repeat f(x)
    },
    interrupt = function(i) "interrupted"
  )
  expect_equal(stopped, "interrupted")
})

test_that("an interrupt at any moment leaves no trace, rules or audit behind, and results right", {
  skip_without_interrupts()
  withr::local_envvar(R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep))
  script <- test_path("..", "fuzz", "interrupts.R")
  arguments <- c("--vanilla", shQuote(script), "--count=200", "--seed=1")
  out <- suppressWarnings(system2(
    file.path(R.home("bin"), "Rscript"), arguments, stdout = TRUE, stderr = TRUE
  ))
  expect_null(attr(out, "status"), info = paste(out, collapse = "\n"))
  expect_match(out[length(out)], "^0 failures$")
})

test_that("leaving the browser or going to the top level while tracing leaves nothing open", {
  skip_on_os("windows") # R reads the person's answers elsewhere
  withr::local_envvar(R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep))
  input <- withr::local_tempfile(lines = c(
    "library(anvil)",
    "internal <- function(name, ...) .Call(getFromNamespace(name, 'anvil'), ...)",
    "state <- function() {",
    "  c(internal('anvil_trace_depth'), internal('anvil_rules_name', NULL), class(nv_fill(1, 2))[1])",
    "}",
    "loop <- function(x, stop) with_promotion_rules('numpy', nv_for(2L, x, function(i, x) stop()))",
    "f <- function(stop) jit(function(x) loop(x, stop))(nv_scalar(1))",
    "f(function() browser())",
    "Q",
    "cat('after the browser:', state(), '\\n')",
    "f(function() invokeRestart('abort'))",
    "cat('after the restart:', state(), '\\n')"
  ))
  arguments <- c("--vanilla", "--no-echo", "--interactive", "--no-readline")
  out <- system2(file.path(R.home("bin"), "R"), arguments, stdin = input, stdout = TRUE, stderr = TRUE)
  seen <- grep("^after", out, value = TRUE)
  expect_identical(trimws(seen), paste("after the", c("browser:", "restart:"), "0 anvil AnvilTensor"))
})

test_that("a time limit that is over while a function is looked at ends the call", {
  times <- user(function(k) function(x) x * k)
  # k is evaluated before f is traced, and what it raises then is raised again where it is used: but not this.
  f <- user_env(function(x) h(x), h = times({
    for (i in 1:5e7) i
    2
  }))
  expect_stopped(jit(f)(nv_scalar(1)))
})
