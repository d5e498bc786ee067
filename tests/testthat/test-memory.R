# Memory: what R sees, what it must not lose, and what cannot be had.

# Bytes that R holds after a full collection.
held <- function() {
  gc(full = TRUE)
  sum(gc(full = TRUE)[, 1] * c(56, 8))
}

test_that("nothing is lost when R collects garbage at every turn", {
  work <- function() {
    k <- nv_tensor(c(0.5, 0.25), dtype = "f64")
    f <- jit(function(p, n, ...) {
      z <- p$a %*% p$b + n
      list(z = t(z), rest = list(sum(z, ...), nv_concatenate(k, 1)), none = NULL)
    }, static = "n")
    p <- list(a = nv_tensor(matrix(c(1, 2, 3, 4), 2), dtype = "f64"), b = matrix(c(1, 0, 0, 1), 2))
    g <- jit(function(w, d) w - d, donate = "w")
    w <- nv_tensor(1:3)
    w <- g(w, nv_tensor(1L, shape = 3))
    w <- g(w, nv_tensor(1L, shape = 3))
    list(
      f(p, 2, 1), f(p, 2, 1), p$a + 1, nv_ifelse(p$a > 2, p$a, 0), as_array(nv_reduce_sum(p$a, 1)), w,
      graph_text(trace_fn(function(x) x * k, nv_scalar(1))),
      tryCatch(p$a + w, anvil_error_shape = conditionMessage),
      nv_broadcast_tensors(k, 1L), cache_info(f), explain_cache(f)$reason
    )
  }
  # At every third, which takes a third of the time; the phase differs between runs.
  results <- tortured(work, 3)
  expect_identical(results$got, results$want)
})

test_that("calls leave nothing behind", {
  x <- nv_tensor(as.double(1:1000), dtype = "f64")
  f <- jit(function(x, p) list(x * 2, p$a + 1))
  g <- jit(function(w) w + 1, donate = "w")
  w <- nv_tensor(as.double(1:1000), dtype = "f64")
  run <- function(n) {
    for (i in seq_len(n)) {
      y <- f(x, list(a = i))
      z <- x + y[[1]]
      w <- g(w)
    }
  }
  run(1000)
  before <- held()
  run(10000)
  # 10,000 results of 8 kB are 80 MB.
  expect_lt(held() - before, 2e5)
})

test_that("traces, errors and dropped programs leave nothing behind", {
  x <- nv_tensor(as.double(1:1000), dtype = "f64")
  run <- function(n) {
    f <- jit(function(x, s) x + s, static = "s", cache_size = 4)
    for (i in seq_len(n)) {
      f(x, i)
      try(f(x, "a"), silent = TRUE)
      trace_fn(function(x) x * x, x)
      # The function, its constant and its programs go with it.
      jit(function(v) v + x)(x)
    }
  }
  run(100)
  before <- held()
  run(500)
  expect_lt(held() - before, 2e6)
})

test_that("a program does not keep its arguments, a jitted function keeps its constants only", {
  # A hundred vectors of 8 kB each, which are R's own: R counts them at once. Larger ones are in blocks of
  # anvil's, whose bytes R is told of in sums (src/rust/src/large.rs), so that its count depends on what ran
  # before.
  hundred <- function(value) lapply(1:100, function(i) nv_tensor(value + i + seq_len(1e3), "f64"))
  total <- function(x) Reduce(`+`, lapply(x, sum))
  f <- jit(total)
  f(hundred(0))
  before <- held()
  f(hundred(1))
  f(hundred(2))
  expect_lt(held() - before, 4e5)
  k <- hundred(1)
  g <- jit(function(x) total(Map(`*`, x, k)))
  g(k)
  rm(k)
  expect_gt(held() - before, 7.9e5)
  rm(g)
  expect_lt(held() - before, 4e5)
})

test_that("an impossible shape is an error before anything is allocated", {
  for (call in alist(
    nv_fill(0, c(1e9, 1e9)), nv_empty("i8", c(2^31, 1)), nv_iota(1, "f32", c(1e8, 1e8, 1e8)),
    nv_broadcast_to(nv_scalar(1), c(1e9, 1e9, 1e9)),
    nv_reshape(nv_tensor(1), c(2^40, 2^40)), nv_tensor(1, shape = c(1e9, 1e9, 1e9)),
    nv_abstract("f32", c(1e10, 1e10))
  )) {
    expect_error(eval(call), class = "anvil_error_shape", "too large")
  }
  # Results that are too large, of operands that are not: empty ones here.
  x <- nv_empty("f32", c(2e9, 0))
  y <- nv_empty("f32", c(0, 2e9))
  expect_error(x %*% y, "too large|cannot allocate")
  expect_error(
    nv_concatenate(nv_empty("i1", c(0, 2e9)), nv_empty("i1", c(0, 2e9)), axis = 2),
    class = "anvil_error_shape"
  )
  expect_error(trace_fn(function(x) nv_broadcast_to(x, c(1e9, 1e9)), 1), class = "anvil_error_shape")
  expect_no_open_trace()
})

test_that("a result or a temporary value that memory cannot hold is an error, and the session lives", {
  # In a process of its own, which a failed allocation in the wrong place would end.
  out <- run_r(c(
    'try_ <- function(expr) cat(tryCatch({ expr; "done" }, error = conditionMessage), "\n")',
    'size <- c(1e6, 1e6)',
    'x <- nv_scalar(1, dtype = "f64")',
    'try_(nv_fill(0, size))',
    'try_(nv_broadcast_to(x, size))',
    'try_(jit(function(x) nv_broadcast_to(x, size) + 1)(x))',
    'two <- function(x) nv_concatenate(nv_broadcast_to(x, size), nv_broadcast_to(x + 1, size), axis = 1)',
    'f <- jit(function(x) sum(two(x) * 2))',
    'try_(f(x))',
    'try_(f(x))',
    'try_(jit(function(x) sum(nv_concatenate(nv_broadcast_to(x, size), 1, axis = 1)))(x))',
    'stopifnot(identical(as_array(jit(function(x) x + 1)(x)), 2), .Call(anvil:::anvil_trace_depth) == 0L)',
    'cat("alive\n")'
  ))
  expect_identical(tail(out, 1), "alive", info = paste(out, collapse = "\n"))
  expect_length(grep("[Cc]annot allocate", out), 6L)
})

test_that("a large result is a vector like any other", {
  for (dtype in c("f64", "i32", "c128", "f32", "i1")) {
    x <- jit(function(x) nv_ifelse(x == x, x, x))(nv_fill(
      1, ceiling(1.7e7 * 8 / max(bits(dtype), 8)) + 3, dtype
    ))
    v <- as_array(x)
    dim(v) <- NULL
    expect_gte(as.numeric(object.size(v)), 1.7e7)
    copy <- unserialize(serialize(v, NULL))
    expect_identical(copy, v)
    expect_identical(rev(rev(v)), v)
    # Written like any other: a copy, when something else refers to it.
    w <- v
    zero <- as.vector(0, typeof(v))
    w[2] <- zero
    expect_identical(w[2], zero)
    expect_identical(c(as_array(x)), copy)
    attr(w, "note") <- "one"
    expect_null(attributes(v))
    # In and out of anvil, by files too.
    path <- withr::local_tempfile(fileext = ".rds")
    saveRDS(x, path, compress = FALSE)
    expect_identical(readRDS(path), x)
    expect_identical(readRDS(path) == x, x == x)
  }
})

test_that("a large result can be changed in place by R without changing what it was made of", {
  x <- nv_fill(2, 2.5e6, "f64")
  y <- x * 3
  v <- as_array(y)
  v[1] <- 0
  expect_identical(as.vector(y)[1:2], c(6, 6))
  expect_identical(as.vector(v)[1:2], c(0, 6))
  m <- as_array(nv_reshape(y, c(2500, 1000)))
  expect_identical(dim(m), c(2500L, 1000L))
  m[1, 1] <- NA
  expect_identical(as.vector(y)[1], 6)
  z <- nv_tensor(v, dtype = "f64")
  v[2] <- 1
  expect_identical(as.vector(z)[1:2], c(0, 6))
})

test_that("large results are donated like small ones", {
  f <- jit(function(w) w + 1, donate = "w")
  w <- f(nv_fill(1, 2.5e6, "f64"))
  w <- f(w)
  kept <- w
  w <- f(w)
  expect_identical(c(as.vector(w)[1], as.vector(kept)[1]), c(4, 3))
})

test_that("memory of large results is used again", {
  skip_on_os(c("windows", "mac", "solaris")) # the process's own account of its memory is Linux's
  out <- run_r(c(
    'x <- nv_fill(1, 4e6, "f64")',
    'status <- function() grep("VmHWM", readLines("/proc/self/status"), value = TRUE)',
    'most <- function() as.numeric(gsub("\\\\D", "", status())) * 1024',
    'before <- most()',
    'for (i in 1:300) y <- x + i',
    'cat(most() - before < 1e9, as.vector(y)[4e6] == 301)'
  ))
  # 300 results of 32 MB are 9.6 GB.
  expect_identical(out, "TRUE TRUE")
})

test_that("where memory runs short there is an error, and the process goes on", {
  skip_on_os(c("windows", "mac")) # the system does not limit addresses
  start <- "options(anvil.threads = 1); invisible(jit(function(x) x + 1)(nv_scalar(1)))"
  size <- run_r(c(start, "cat(grep(\"^VmSize\", readLines(\"/proc/self/status\"), value = TRUE))"))
  size <- as.double(gsub("[^0-9]", "", size[length(size)]))
  cases <- c(
    graph = "trace_fn(function(x) { for (i in 1:1e6) x <- x + i; x }, nv_scalar(1))",
    text = "options(anvil.print_max_rows = -1); capture.output(print(nv_iota(1, \"f64\", 2e7)))"
  )
  for (case in names(cases)) {
    code <- c(
      start,
      "said <- function(e) if (inherits(e, \"anvil_error_memory\")) \"memory\" else conditionMessage(e)",
      sprintf("out <- tryCatch({ %s; \"done\" }, error = said)", cases[[case]]),
      "cat(out, as.double(nv_scalar(1) + 1), sep = \"\\n\")"
    )
    out <- run_r(code, within = size + 250e3)
    # R may be the first to have none.
    expect_match(
      out[1L], "^memory$|cannot allocate|memory exhausted",
      label = paste(case, "->", paste(out, collapse = " "))
    )
    expect_identical(out[2L], "2", label = case)
  }
})

test_that("results that no memory is there for are an error with a class", {
  # 2^50 bytes are more than processors address.
  shape <- c(2^26, 2^24)
  for (expr in expression(
    nv_fill(1, shape), nv_fill(1L, shape), nv_empty("i8", c(2^26, 2^25)), nv_tensor(0, "f64", shape),
    nv_iota(1, "f64", shape), nv_broadcast_to(nv_scalar(1), shape),
    jit(function(x) nv_broadcast_to(x, shape))(1), nv_runif(shape, nv_rng_state(1))
  )) {
    error <- tryCatch(eval(expr), error = identity)
    expect_s3_class(error, "anvil_error_memory")
    expect_match(conditionMessage(error), "Cannot allocate [0-9]+ bytes", label = deparse1(expr))
    expect_identical(error$bytes >= 2^50, TRUE, label = deparse1(expr))
  }
  # Nothing is left behind.
  expect_nv(nv_fill(1, 3) + 1, c(2, 2, 2), "f32")
})
