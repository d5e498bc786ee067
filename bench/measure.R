# Times of one row of the table: a workload, a dtype and a size, by anvil, its peers and base R.

now <- function() as.numeric(Sys.time())

# Seconds of the clock that calls are timed with: of one thread the processor's time, in which what else runs
# on the machine has no part. R gives it in milliseconds, which is exact enough for turns of some 30. As
# `clock()` of peers.py.
clock <- function() {
  if (Sys.getenv("ANVIL_NUM_THREADS") == "1") sum(proc.time()[1:2]) else now()
}

# What a row needs that this anvil does not have.
lacking <- function(w) w$needs[!w$needs %in% getNamespaceExports("anvil")]

# A tensor as base R has the same data: without 64-bit integers, f32 or constants of anvil.
in_r <- function(x) {
  if (!inherits(x, "AnvilTensor")) return(x)
  values <- as_array(x)
  if (is.integer(values) || is.logical(values)) values else {
    storage.mode(values) <- "double"
    values
  }
}

# One call of a function with these arguments, many times: function(n) -> seconds. With `carry` the result is
# the first argument of the next call, and nothing else knows it.
repeated <- function(f, args, carry = FALSE) {
  names <- sprintf("a%d", seq_along(args))
  env <- list2env(c(stats::setNames(args, names), list(f = f)), parent = globalenv())
  call <- as.call(c(quote(f), lapply(names, as.name)))
  if (carry) call <- bquote(a1 <<- .(call))
  once <- eval(bquote(function(n) for (i in seq_len(n)) .(call)), env)
  once <- compiler::cmpfun(once)
  list(env = env, time = function(n) {
    start <- clock()
    once(n)
    clock() - start
  })
}

# Largest difference, relative to the size of the values; as `difference()` of peers.py.
difference <- function(x, y, mode) {
  x <- as.double(x)
  y <- as.double(y)
  if (length(x) != length(y)) return(Inf)
  if (mode == "moments") return(max(abs(mean(x) - mean(y)), abs(stats::sd(x) - stats::sd(y))))
  apart <- abs(x - y) / (abs(y) + mean(abs(y)))
  apart[(x == y) %in% TRUE | is.nan(x) & is.nan(y)] <- 0
  if (anyNA(apart)) Inf else max(apart, 0)
}

tolerance_of <- function(w, dtype) {
  if (!is.null(w$tolerance)) return(w$tolerance)
  switch(dtype, f32 = 1e-4, f64 = 1e-9, 0)
}

# anvil's results as a flat list of tensors or numbers.
results_of <- function(w, out, args) leaves_of(w$result(out, args))

# The largest difference between anvil's results and base R's.
difference_to_r <- function(w, results, args) {
  plain <- map_leaves(args, in_r)
  set.seed(2)
  mine <- leaves_of(do.call(w$r, plain))
  if (length(mine) != length(results)) return(Inf)
  max(mapply(function(x, y) difference(x, in_r(y), w$compare), mine, results))
}

# Seconds that the first call of a new jitted function takes, of anvil and JAX, with data so small that there
# is little to run: medians of 5, or of fewer `times` for JAX, which needs about a second. NULL without JAX.
measure_cold <- function(w, dtype, jax, times) {
  if (is.character(jax)) return(NULL)
  folder <- tempfile("bench")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  set.seed(1)
  args <- w$data(w$cold, dtype)
  seconds <- vapply(1:5, function(i) {
    f <- w$make()
    start <- now()
    do.call(f, args, quote = TRUE)
    now() - start
  }, 0)
  reply <- jax$ask("load", w$id, 0L, times, arguments_for_peers(args, folder))
  jax$ask("drop")
  if (reply[1L] == "ok") {
    list(
      what = w$what, dtype = dtype, anvil = stats::median(seconds), jax = as.double(reply[2L]),
      target = w$cold_target
    )
  }
}

# list(seconds (rounds x systems), gaps).
measure <- function(w, dtype, n, peers, form) {
  folder <- tempfile("bench")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  gaps <- character()
  data <- function() {
    set.seed(1)
    w$data(n, dtype)
  }

  args <- data()
  paths <- arguments_for_peers(args, folder)
  f <- w$make()
  out <- do.call(f, args, quote = TRUE)
  if (w$carry) args <- data()
  results <- results_of(w, out, args)
  rm(out)

  # Nothing is timed that gives another result.
  tolerance <- tolerance_of(w, dtype)
  files <- file.path(folder, sprintf("result%d.npy", seq_along(results)))
  Map(nv_write_npy, results, files)
  timers <- list()
  for (name in names(peers)) {
    peer <- peers[[name]]
    if (is.character(peer)) {
      gaps[[name]] <- "not installed"
      next
    }
    reply <- peer$ask("load", w$id, as.integer(w$carry), 1L, paths)
    if (reply[1L] == "ok") reply <- peer$ask("check", w$compare, files)
    if (reply[1L] != "ok") {
      gaps[[name]] <- reply[2L]
    } else if (!(as.double(reply[2L]) <= tolerance)) {
      gaps[[name]] <- sprintf("another result: off by %.1e", as.double(reply[2L]))
    } else {
      timers[[name]] <- local({
        ask <- peer$ask
        function(times) {
          reply <- ask("time", format(times, scientific = FALSE))
          if (reply[1L] == "ok") as.double(reply[2L]) else stop(reply[2L])
        }
      })
    }
  }
  if (is.null(w$r)) {
    gaps[["r"]] <- "no function of its own, or another algorithm"
  } else {
    apart <- difference_to_r(w, results, args)
    if (apart <= tolerance) {
      timers$r <- repeated(compiler::cmpfun(w$r), map_leaves(args, in_r))$time
    } else {
      gaps[["r"]] <- sprintf("another result: off by %.1e", apart)
    }
  }
  rm(results)
  mine <- repeated(f, args, w$carry)
  if (w$carry) {
    # An unshared copy, since only that can be given away for good.
    rm(args)
    mine$env$a1 <- nv_read_npy(paths[1L])
  }
  timers <- c(list(anvil = mine$time), timers)

  warm_up(mine$time, form$warm)
  seconds <- take_turns(timers, form)
  for (peer in peers) if (!is.character(peer)) peer$ask("drop")
  list(seconds = seconds, gaps = gaps)
}

# Calls for some seconds, which are not counted. R collects results after some hundred megabytes of them, so
# that many calls have memory that the system has yet to provide; other systems free a result at once, and
# their second call has its memory.
warm_up <- function(time, seconds) {
  end <- now() + seconds
  while (now() < end) time(1)
}

calibrate <- function(time, turn) {
  calls <- 1
  repeat {
    seconds <- time(calls)
    if (seconds >= turn / 2) return(max(1, ceiling(calls * turn / seconds)))
    calls <- ceiling(calls * min(20, max(2, turn / max(seconds, 1e-9))))
  }
}

# Seconds of a call of each, as functions of a number of calls: a row for each round, in which all have a
# turn.
take_turns <- function(timers, form) {
  # So many calls that a turn takes long enough for the clock, and no more rounds than there is time for.
  calls <- vapply(timers, calibrate, 0, turn = form$turn)
  turns <- list()
  deadline <- now() + form$seconds
  repeat {
    seconds <- mapply(function(time, times, name) {
      spent <- time(times) / times
      # Threads of other libraries wait for more work for a while, and would take a processor away from the
      # next one.
      if (name %in% c("numpy", "torch", "r")) Sys.sleep(0.02)
      spent
    }, timers, calls, names(timers))
    turns <- c(turns, list(seconds))
    if (length(turns) >= form$rounds || now() > deadline && length(turns) >= form$least) break
  }
  do.call(rbind, turns)
}
