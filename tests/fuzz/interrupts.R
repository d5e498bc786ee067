# Interrupts at random moments: of traces, derivatives, loops, scopes of rules, reports and printing. After
# each one no trace, rules or audit are open, options are what they were, and results are right. Rscript
# tests/fuzz/interrupts.R --count=20000 --seed=1 Prints the seed and what failed; exits with 1 if anything
# did. The seed decides what runs, not where signals find it.
options(keep.source = FALSE, warn = 1L)
suppressPackageStartupMessages(library(anvil))

argument <- function(name, default) {
  given <- grep(paste0("^--", name, "="), commandArgs(TRUE), value = TRUE)
  if (length(given)) as.integer(sub("^[^=]*=", "", given[1L])) else default
}
count <- argument("count", 20000L)
seed <- argument("seed", as.integer(as.double(Sys.time()) %% 1e6))
set.seed(seed)
cat("interrupts: ", count, ", seed ", seed, "\n", sep = "")

# ---- what is interrupted: each checks what it computes, if it gets that far ----

f64 <- function(x) nv_tensor(x, dtype = "f64")
same <- function(x, values) {
  if (!inherits(x, "AnvilTensor")) stop("a result is no tensor but of class ", class(x)[1L])
  if (!isTRUE(all.equal(as.double(x), values))) {
    stop("a wrong result: ", toString(format(as.double(x), digits = 15L)))
  }
}
rules_now <- function() .Call(anvil:::anvil_rules_name, NULL)
counts <- nv_tensor(1:3)
halves <- nv_tensor(c(0.5, 0.5, 0.5), dtype = "f32")
x <- f64(c(0.5, 1, 2))
kept <- jit(function(x) sum(x * 2))
half <- custom_gradient(
  function(x) x * x, function(x) list(x * x, x), function(kept, g) list(g * kept)
)
quarter <- custom_gradient(
  function(x) half(x) * 2, function(x) list(half(x) * 2, x), function(kept, g) list(g * half(kept))
)
sink_of_prints <- file(tempfile(), "w")

actions <- list(
  "a miss" = function() same(jit(function(x) sum(x * 2 + 1))(x), 10),
  "a hit" = function() same(kept(x), 7),
  "a graph" = function() graph_text(trace_fn(
    function(x, y) x * y + 1, nv_abstract("f32", 2), nv_scalar(1L)
  )),
  "a gradient" = function() same(gradient(function(x) sum(x * x))(x)$x, c(1, 2, 4)),
  "a gradient twice" = function() {
    same(gradient(function(x) sum(gradient(function(y) sum(y * y * y))(x)$y))(x)$x, c(3, 6, 12))
  },
  "own gradients" = function() {
    same(jit(quarter)(x), c(0.5, 2, 8))
    same(gradient(function(x) sum(nv_for(2L, x, function(i, s) half(s))))(x)$x, c(0.125, 1, 8))
  },
  "loops" = function() {
    same(
      nv_while(x, function(x) sum(x) < 100, function(x) nv_for(2L, x, function(i, x) x * 2)), c(32, 64, 128)
    )
    same(nv_scan(function(s, x) list(s + x, s), f64(0)[1], x)$carry, 3.5)
  },
  "a branch" = function() same(nv_if(sum(x) > 3, nv_if(sum(x) > 9, x, x * 2), function() x * 3), c(1, 2, 4)),
  "rules for code" = function() {
    same(with_promotion_rules("numpy", with_promotion_rules("jax", counts * x)), c(0.5, 2, 6))
    if (!identical(with_promotion_rules("torch", rules_now()), "torch")) stop("other rules than chosen")
  },
  "rules for the rest" = function() {
    inner <- function(depth) {
      local_promotion_rules(c("numpy", "jax", "torch")[depth])
      on.exit(rules_now(), add = depth > 1)
      if (depth < 3) inner(depth + 1)
      if (!identical(rules_now(), c("numpy", "jax", "torch")[depth])) stop("other rules than chosen")
    }
    inner(1)
    local({
      local_promotion_rules("numpy")
      if (!identical(as.character(dtype(counts * halves)), "f64")) stop("other rules than chosen")
    })
  },
  "rules of a function" = function() {
    f <- jit(function(x, y) x * y, rules = "numpy")
    if (!identical(as.character(dtype(f(counts, halves))), "f64")) stop("other rules than chosen")
    jit(function(x) with_promotion_rules("jax", jit(function(y) y * 2, rules = "torch")(x)))(counts)
  },
  "a report" = function() {
    report <- explain_dtypes(jit(function(x, y) x * y + 1.5), counts, halves)
    if (!nrow(report)) stop("an empty report")
    suppressWarnings(jit(function(x, y) x * y, warn_promotion = "rounds")(counts, halves))
  },
  "printing" = function() {
    sink(sink_of_prints)
    on.exit(sink())
    print(x)
    print(explain_dtypes(function(x, y) x * y, counts, halves))
    jit(function(x) nv_for(3L, x, function(i, x) nv_print(x * 2, "x")))(x)
  },
  "an error" = function() {
    in_a_loop <- function(x) nv_for(2L, x, function(i, x) stop("no"))
    for (f in list(function(x) stop("no"), in_a_loop, function(x) if (sum(x) > 1) x)) {
      if (!inherits(try(jit(f)(x), silent = TRUE), "try-error")) stop("no error")
    }
  },
  "a jump" = function() {
    same(callCC(function(leave) jit(function(x) leave(f64(1:2)))(x)), 1:2)
    f <- function() {
      with_promotion_rules("numpy", jit(function(x) return(x * 2), rules = "jax")(return(counts)))
    }
    same(f(), 1:3)
  },
  "a program" = function() {
    same(jit(function(x) sum(nv_for(200L, x, function(i, x) sin(x))))(nv_fill(0, 20000, dtype = "f64")), 0)
  },
  "random numbers" = function() nv_runif(1000L, nv_rng_state(1L))
)

# ---- one interrupt for one asked for ----

pest <- tempfile(fileext = ".R")
writeLines(c(
  "input <- file('stdin', 'r')",
  "while (length(line <- readLines(input, 1L))) {",
  "  given <- as.double(strsplit(line, ' ')[[1L]])",
  "  if (given[2L] > 0) Sys.sleep(given[2L])",
  "  tools::pskill(given[1L], tools::SIGINT)",
  "}"
), pest)
sender <- pipe(paste(shQuote(file.path(R.home("bin"), "Rscript")), "--vanilla", shQuote(pest)), "w")
open_traces <- function() .Call(anvil:::anvil_trace_depth)

# Works until a signal comes; gives how many traces it found open, and in which action.
until_interrupted <- function(delay) {
  at <- NULL
  action <<- "none"
  end <- Sys.time() + 60
  tryCatch(
    withCallingHandlers(
      allowInterrupts({
        writeLines(paste(Sys.getpid(), format(delay, scientific = FALSE)), sender)
        flush(sender)
        repeat {
          action <<- sample(names(actions), 1L)
          actions[[action]]()
          if (Sys.time() > end) stop("no interrupt came")
        }
      }),
      interrupt = function(condition) at <<- list(open_traces(), action)
    ),
    interrupt = function(condition) NULL
  )
  at
}

# ---- what must hold afterwards ----

before <- options()
check <- function() {
  if (open_traces() != 0L) stop("a trace is open")
  rules_at <- function(depth) if (depth == 0) rules_now() else rules_at(depth - 1)
  for (depth in c(0, 3, 20)) if (rules_at(depth) != "anvil") stop("the rules are ", rules_at(depth))
  if (!identical(options(), before)) {
    stop(
      "options changed: ",
      toString(names(Filter(isFALSE, mapply(identical, options()[names(before)], before))))
    )
  }
  filled <- nv_fill(1, 2)
  if (!inherits(filled, "AnvilTensor")) stop("nv_fill() gives a ", class(filled)[1L])
  if (!identical(as.character(dtype(counts * halves)), "f32")) stop("other rules than anvil's")
  if (length(.Call(anvil:::anvil_audit_entries, 0L))) stop("an audit is open")
  same(kept(x), 7)
  same(jit(function(x) sum(x))(x), 3.5)
  same(gradient(half)(f64(3)[1])$x, 3)
}

# Seconds that a signal waits at most: as long as it takes that about one in four comes before there is work
# to interrupt.
patience <- 0.004
failures <- 0L
in_traces <- 0L
found <- integer()
action <- "none"
suspendInterrupts({
  for (i in seq_len(count)) {
    delay <- stats::runif(1L, 0, patience)
    at <- NULL
    problem <- tryCatch(
      {
        at <- until_interrupted(delay)
        while (sink.number()) sink()
        check()
        NULL
      },
      error = conditionMessage
    )
    if (length(at)) {
      in_traces <- in_traces + (at[[1L]] > 0L)
      patience <- if (at[[2L]] == "none") min(0.05, patience * 1.3) else max(0.001, patience * 0.9)
      found[at[[2L]]] <- sum(found[at[[2L]]], 1L, na.rm = TRUE)
    }
    if (!is.null(problem)) {
      failures <- failures + 1L
      cat("interrupt ", i, " in ", action, ": ", problem, "\n", sep = "")
      if (failures == 20L) break
    }
  }
})
close(sender)
cat("interrupted ", sum(found), " times, ", in_traces, " of them with a trace open: ", sep = "")
cat(paste(found, names(found), collapse = ", "), "\n", failures, " failures\n", sep = "")
quit(status = if (failures) 1L else 0L)
