# Progress bars: they draw what they should, when they should, and change nothing.

shown <- function(expr, ..., package = TRUE) {
  old <- options(anvil.progress = TRUE, cli.progress_show_after = 0, ...)
  on.exit(options(old))
  # In the log of a test nothing is rubbed out.
  lines <- utils::capture.output(expr, type = "message")
  unlist(strsplit(lines, "\r", fixed = TRUE))
}
# Steps that take long enough to be seen.
slow_steps <- function(n, seconds = 0.13, stop_at = Inf) {
  done <- anvil_progress(n, "slow steps")
  for (i in seq_len(n)) {
    Sys.sleep(seconds)
    if (i == stop_at) stop("stopped")
    done()
  }
}

test_that("a loop of R is counted, by itself or by number", {
  done <- anvil_progress(3)
  expect_identical(done(), 1)
  expect_identical(done(), 2)
  expect_invisible(done())
  done <- anvil_progress(10)
  expect_identical(done(7L), 7L)
  expect_identical(done(), 8)
  expect_identical(anvil_progress(0)(), 1)
})

test_that("bars are drawn through cli, and are gone afterwards", {
  skip_if_not_installed("cli")
  lines <- shown(slow_steps(8))
  expect_true(any(grepl("slow steps.*[0-9]+%", lines)))
  expect_length(cli:::clienv$progress, 0L)
  # An error in the function ends the bar, too.
  expect_error(shown(slow_steps(8, stop_at = 6)), "stopped")
  expect_length(cli:::clienv$progress, 0L)
})

test_that("without cli there is R's own bar, from 0 to 100 percent", {
  lines <- run_r(c(
    "hide <- quote(if (identical(package, \"cli\")) package <- \"no such package\")",
    "trace(requireNamespace, hide, print = FALSE)",
    "options(anvil.progress = TRUE, cli.progress_show_after = 0)",
    "g <- function() { done <- anvil_progress(5, \"named\"); for (i in 1:5) { Sys.sleep(0.13); done() } }",
    "sink(stdout(), type = \"message\")",
    "g()",
    "g <- function() { done <- anvil_progress(9); for (i in 1:4) { Sys.sleep(0.13); done() }; stop(\"x\") }",
    "tryCatch(g(), error = function(e) cat(\"over\\n\"))"
  ))
  lines <- unlist(strsplit(lines, "\r", fixed = TRUE))
  expect_true("named" %in% lines)
  expect_true(any(grepl("| 100%", lines, fixed = TRUE)))
  # The line of the bar is ended before what follows.
  expect_true("over" %in% lines)
})

test_that("nothing is shown without a terminal, before two seconds, or where it is forbidden", {
  silent <- function(...) {
    old <- options(...)
    on.exit(options(old))
    utils::capture.output(slow_steps(3), type = "message")
  }
  expect_identical(silent(anvil.progress = NULL), character())
  expect_identical(silent(anvil.progress = FALSE, cli.progress_show_after = 0), character())
  expect_identical(silent(anvil.progress = TRUE), character())
})

test_that("a loop in a program gives the same with a bar", {
  step <- function(i, s) list(a = s$a * 0.9 + i, b = s$b + i)
  init <- list(a = nv_scalar(1, dtype = "f64"), b = 0L)
  for (n in c(0, 1, 2, 99, 100, 101, 250, 1003)) {
    expect_identical(nv_for(n, init, step, progress = TRUE), nv_for(n, init, step), label = n)
    by_tensor <- jit(function(n, progress) nv_for(n, init, step, progress = progress), static = "progress")
    expect_identical(by_tensor(nv_scalar(as.integer(n)), TRUE), nv_for(n, init, step), label = n)
    f <- function(progress, checkpoint = FALSE) {
      function(a) nv_for(n, a, \(i, s) sin(s) + a / 10, checkpoint, progress)
    }
    a <- nv_scalar(0.3, dtype = "f64")
    expect_identical(jit(f(TRUE))(a), jit(f(FALSE))(a))
    expect_equal(gradient(f(TRUE))(a), gradient(f(FALSE))(a), tolerance = 1e-12)
    expect_equal(jit(gradient(f(TRUE, TRUE)))(a), gradient(f(FALSE))(a), tolerance = 1e-12)
    expect_equal(jvp(f(TRUE), list(a), list(a)), jvp(f(FALSE), list(a), list(a)), tolerance = 1e-12)
    batch <- nv_tensor(c(0.1, 0.2))
    expect_identical(vmap(f(TRUE))(batch), vmap(f(FALSE))(batch))
  }
  expect_identical(nv_for(nv_scalar(-3L), init, step, progress = TRUE), nv_for(nv_scalar(-3L), init, step))
})

test_that("a program tells how far it is, in each of its runs", {
  skip_if_not_installed("cli")
  wait <- function(i) Sys.sleep(0.25)
  program <- jit(function(x) {
    nv_for(8, x, function(i, s) {
      nv_callback(wait, i, result = NULL)
      s + 1
    }, progress = TRUE)
  })
  for (run in 1:2) {
    lines <- shown(x <- program(nv_scalar(0)))
    expect_identical(as.numeric(x), 8)
    expect_true(any(grepl("nv_for\\(\\).*%", lines)))
    expect_length(cli:::clienv$progress, 0L)
  }
  # A run that fails leaves nothing, and the next is counted from its beginning.
  fails <- TRUE
  sometimes <- function(i) {
    Sys.sleep(0.13)
    if (fails && as.numeric(i) == 5) stop("failed")
  }
  program <- jit(function(x) {
    nv_for(8, x, function(i, s) {
      nv_callback(sometimes, i, result = NULL)
      s
    }, progress = TRUE)
  })
  expect_error(shown(invisible(program(nv_scalar(0)))), "failed")
  expect_length(cli:::clienv$progress, 0L)
  fails <- FALSE
  expect_true(any(grepl("%", shown(invisible(program(nv_scalar(0)))))))
})

test_that("a program calls R a hundred times at most, however many its repetitions are", {
  for (n in c(1, 99, 100, 101, 12345)) {
    graph <- graph_text(trace_fn(function(x) nv_for(n, x, \(i, s) s + i, progress = TRUE), nv_scalar(0L)))
    lines <- strsplit(graph, "\n", fixed = TRUE)[[1L]]
    # The loop at the outermost, and the call after what is left over.
    outer <- grep("^    %.*scan", lines, value = TRUE)[1L]
    expect_lte(as.integer(sub(".*length = ([0-9]+).*", "\\1", outer)), 100L)
    expect_identical(sum(grepl("callback", lines)), if (n == 101 || n == 12345) 2L else 1L)
    # The number of the repetition is an i32 everywhere.
    expect_no_match(graph, "f32")
  }
  plain <- graph_text(trace_fn(function(x) nv_for(1000, x, \(i, s) s + 1), nv_scalar(0)))
  expect_no_match(plain, "callback")
  expect_error(
    stablehlo(function(x) nv_for(10, x, \(i, s) s + 1, progress = TRUE), nv_scalar(0)),
    class = "anvil_error_export"
  )
})

test_that("bad arguments are named", {
  for (bad in list(-1, 1.5, NA, "3", NULL, c(1, 2))) {
    expect_fields(anvil_progress(bad), "anvil_error_arg", arg = "n")
  }
  for (bad in list(1, NA_character_, c("a", "b"), NULL)) {
    expect_fields(anvil_progress(3, bad), "anvil_error_arg", arg = "name")
  }
  for (bad in list(NA, 1, "yes", NULL)) {
    expect_fields(nv_for(3, 1, \(i, x) x, progress = bad), "anvil_error_arg", arg = "progress")
  }
})
