# What a call costs: warm jitted calls, eager ops, promotion, and tracing with compilation. Each figure is the
# median of several rounds of a byte-compiled loop; the cost of an empty closure with the same arguments,
# measured in the same round, is taken off where the table says so. Targets are those of the project; nothing
# here can fail.
library(anvil)

rounds <- 15L

# Alternates two expressions; the median of each, in microseconds.
pair <- function(expr, base, env, n = 20000L) {
  one <- compiler::cmpfun(eval(bquote(function() for (i in seq_len(.(n))) .(expr)), env))
  two <- compiler::cmpfun(eval(bquote(function() for (i in seq_len(.(n))) .(base)), env))
  one(); two()
  t <- vapply(seq_len(rounds), function(r) {
    c(system.time(one(), gcFirst = FALSE)[["elapsed"]], system.time(two(), gcFirst = FALSE)[["elapsed"]]) / n
  }, c(0, 0))
  c(median(t[1L, ]), median(t[2L, ])) * 1e6
}

e <- new.env()
evalq({
  a <- nv_tensor(c(1, 2, 3))
  b <- nv_tensor(c(4, 5, 6))
  m <- nv_tensor(matrix(c(1, 2, 3, 4, 5, 6, 7, 8, 9), 3))
  ten <- lapply(setNames(nm = letters[1:10]), function(i) nv_scalar(1))
  empty1 <- function(x) NULL
  empty2 <- function(x, y) NULL
  one <- jit(function(x) x + x)
  two <- jit(function(x, y) x + y)
  list10 <- jit(function(l) l$a + l$j)
  for (i in 1:3) list(one(a), two(a, b), list10(ten))
}, e)

report <- function(what, microseconds, target = NULL) {
  aim <- if (!is.null(target)) sprintf("   target %8.0f   ratio %5.2f", target, microseconds / target)
  cat(sprintf("%-58s %9.2f us", what, microseconds), aim, "\n", sep = "")
}

cat(R.version.string, "- anvil", format(utils::packageVersion("anvil")), "-", format(Sys.Date()), "\n\n")

t <- pair(quote(one(a)), quote(empty1(a)), e)
report("jitted call, 1 small tensor, less an empty closure", t[1] - t[2], 5)
t <- pair(quote(two(a, b)), quote(empty2(a, b)), e)
report("jitted call, 2 small tensors, less an empty closure", t[1] - t[2], 5)
t <- pair(quote(list10(ten)), quote(empty1(ten)), e)
report("jitted call, named list of 10 scalars, less a closure", t[1] - t[2], 15)
t <- pair(quote(nv_add(a, b)), quote(empty2(a, b)), e)
report("nv_add(a, b)", t[1], 3)
t <- pair(quote(a + b), quote(empty2(a, b)), e)
report("a + b", t[1], 4)
t <- pair(quote(a + 1), quote(empty2(a, b)), e)
report("a + 1", t[1], 4)
t <- pair(quote(m[2, ]), quote(empty2(a, b)), e)
report("m[2, ]", t[1], 6)
t <- pair(quote(m[c(3, 1), ]), quote(empty2(a, b)), e)
report("m[c(3, 1), ]", t[1], 6)
t <- pair(quote(common_dtype("f32", "i32")), quote(empty2(a, b)), e)
report("common_dtype(\"f32\", \"i32\")", t[1], 3)
t <- pair(quote(c(1, 2, 3) + c(4, 5, 6)), quote(empty2(a, b)), e)
report("for comparison: base R's sum of two vectors", t[1], 4)

chain <- function(x) {
  for (i in 1:50) x <- tanh(x) * 1.5
  x
}
x <- nv_tensor(rep(0.5, 8))
compile <- vapply(seq_len(rounds), function(r) system.time(jit(chain)(x), gcFirst = FALSE)[["elapsed"]], 0)
report("trace, compile and run a function of 100 ops", median(compile) * 1e6, 10000)

# Of this, promotion is what the next benchmark of `make bench` says.
mixed <- lapply(
  rep_len(c("i8", "f32", "i64", "ui16", "f64", "bf16"), 1001L), function(dtype) nv_abstract(dtype, 3)
)
add_all <- function(...) {
  x <- list(...)
  lapply(1:1000, function(i) x[[i]] + x[[i + 1L]])
}
trace <- vapply(
  seq_len(5L), function(r) system.time(do.call(trace_fn, c(add_all, mixed)), gcFirst = FALSE)[["elapsed"]], 0
)
report("trace 1,000 additions of mixed dtypes", median(trace) * 1e6)
