# The engine asks R every 100 ms whether to stop. A time limit goes the same way as the user's Ctrl-C: R jumps out of the
# call, over no frame of Rust.

test_that("a long program can be stopped, and nothing is left behind", {
  f <- jit(function(x) {
    for (i in 1:2000) x <- sin(x) + 1
    x
  })
  # R looks at its limit every fifth time that it is asked.
  x <- nv_fill(0.5, 3e6)
  small <- nv_fill(0.5, 2)
  f(small)
  stopped <- tryCatch(
    {
      setTimeLimit(elapsed = 0.3, transient = TRUE)
      f(x)
      "ran to its end"
    },
    error = function(e) "stopped",
    finally = setTimeLimit()
  )
  expect_equal(stopped, "stopped")
  expect_equal(.Call(anvil:::anvil_trace_depth), 0L)
  expect_equal(as.vector(as_array(f(small))), rep(as.double(f(nv_scalar(0.5))), 2))
})

test_that("an interrupt of the user is an interrupt condition", {
  skip_on_os("windows") # there are no signals
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
