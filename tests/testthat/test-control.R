# nv_if(), nv_while(), nv_for(), nv_scan().

# Runs a function of tensors at once and jitted; both give the same bits, which are returned.
both <- function(f, ...) {
  eager <- f(...)
  g <- jit(f)
  expect_identical(g(...), eager)
  expect_identical(g(...), eager)
  eager
}

expect_no_open_trace <- function() expect_identical(.Call(anvil:::anvil_trace_depth), 0L)

vec <- function(..., dtype = "f32") nv_tensor(c(...), dtype = dtype)

# ---- results, against R's own control flow -----------------------------------------------------------------

test_that("nv_if() runs the branch that is chosen", {
  x <- vec(1, 4, 9)
  f <- function(p, x) nv_if(p, sqrt(x), x * 2)
  expect_nv(both(f, nv_scalar(TRUE), x), c(1, 2, 3), "f32")
  expect_nv(both(f, nv_scalar(FALSE), x), c(2, 8, 18), "f32")
  # Functions, a pred of R, and one that is computed.
  expect_nv(both(function(x) nv_if(TRUE, function() x, function() -x), x), c(1, 4, 9), "f32")
  expect_nv(both(function(x) nv_if(sum(x) > 100, function() x, -x), x), c(-1, -4, -9), "f32")
  out <- both(
    function(p, x) nv_if(p, list(a = x, b = list(1L, NULL)), list(a = -x, b = list(2L, NULL))),
    nv_scalar(FALSE), x
  )
  expect_identical(names(out), c("a", "b"))
  expect_nv(out$a, c(-1, -4, -9), "f32")
  expect_nv(out$b[[1]], 2, "i32", shape = integer(), ambiguous = TRUE)
  expect_null(out$b[[2]])
  expect_null(both(function(p) nv_if(p, NULL, NULL), nv_scalar(TRUE)))
})

test_that("an expression is evaluated in its own branch, once", {
  evaluated <- character()
  note <- function(what, x) {
    evaluated <<- c(evaluated, what)
    x
  }
  graph <- trace_fn(
    function(p, x) nv_if(note("pred", p), note("true", exp(x)), note("false", log(x))),
    nv_abstract("i1"), nv_abstract("f32")
  )
  expect_identical(evaluated, c("pred", "true", "false"))
  lines <- strsplit(graph_text(graph), "\n")[[1L]]
  # Neither is computed outside of its branch.
  expect_identical(sub("^( *).*", "\\1", grep("exp\\(|log\\(", lines, value = TRUE)), strrep(" ", c(8, 8)))
})

test_that("nv_while() repeats as long as the condition holds", {
  collatz <- function(n) {
    nv_while(list(n = n, steps = 0L), function(s) s$n != 1L, function(s) {
      list(n = nv_if(s$n %% 2L == 0L, s$n %/% 2L, 3L * s$n + 1L), steps = s$steps + 1L)
    })$steps
  }
  steps <- function(n) {
    k <- 0
    while (n != 1) {
      n <- if (n %% 2 == 0) n / 2 else 3 * n + 1
      k <- k + 1
    }
    k
  }
  for (n in c(1, 6, 27)) expect_equal(as.double(both(collatz, nv_scalar(n, dtype = "i32"))), steps(n))
  # Not at all.
  expect_nv(
    both(function(x) nv_while(x, function(s) sum(s) < 0, function(s) s * 2), vec(1, 2)), c(1, 2), "f32"
  )
})

test_that("nv_for() counts from 1, as R does", {
  x <- vec(0.5, -1, 3)
  for (n in c(0, 1, 7)) {
    expected <- x
    for (i in seq_len(n)) expected <- expected * 0.5 + i
    expect_identical(both(function(x) nv_for(n, x, function(i, s) s * 0.5 + i), x), expected)
  }
  expect_nv(nv_for(5L, nv_scalar(0L), function(i, s) i), 5, "i32", shape = integer())
  types <- NULL
  nv_for(3, nv_scalar(1), function(i, s) {
    types <<- c(as.character(dtype(i)), length(shape(i)), ambiguous(i))
    s
  })
  expect_identical(types, c("i32", "0", "FALSE"))
})

test_that("nv_scan() carries and stacks, in both directions", {
  x <- nv_tensor(matrix(c(1, 2, 3, 4, 5, 6), 3), dtype = "f32")
  step <- function(s, x) list(s * 0.5 + x, list(sum = sum(s), both = s * x))
  for (reverse in c(FALSE, TRUE)) {
    out <- both(function(x) nv_scan(step, nv_fill(0, 2, dtype = "f32"), x, reverse = reverse), x)
    s <- c(0, 0)
    m <- as_array(x)
    sums <- numeric(3)
    products <- matrix(0, 3, 2)
    for (i in if (reverse) 3:1 else 1:3) {
      sums[i] <- sum(s)
      products[i, ] <- s * m[i, ]
      s <- s * 0.5 + m[i, ]
    }
    expect_identical(names(out), c("carry", "ys"))
    expect_nv(out$carry, s, "f32")
    expect_nv(out$ys$sum, sums, "f32")
    expect_nv(out$ys$both, products, "f32")
  }
})

test_that("nv_scan() goes along lists of tensors and arrays, and along nothing", {
  xs <- list(a = vec(1, 2, 3), b = list(nv_tensor(array(1:12, c(3, 2, 2)))))
  out <- both(
    function(xs) nv_scan(
      function(s, x) list(s + x$a * nv_convert(sum(x$b[[1]]), "f32"), x$b[[1]]), nv_scalar(0, dtype = "f32"),
      xs
    ),
    xs
  )
  b <- array(1:12, c(3, 2, 2))
  expect_nv(out$carry, sum(1:3 * apply(b, 1, sum)), "f32", shape = integer())
  # Slices put together again are what was sliced.
  expect_identical(out$ys, xs$b[[1]])
  expect_nv(
    nv_scan(function(s, x) list(s + x, x), 0L, array(1:4, 4))$carry, 10, "i32", shape = integer(),
    ambiguous = TRUE
  )
  out <- both(
    function(s) nv_scan(function(s, x) list(s * 2, list(s, x)), s, NULL, length = 4),
    nv_scalar(1, dtype = "f64")
  )
  expect_nv(out$carry, 16, "f64", shape = integer())
  expect_nv(out$ys[[1]], c(1, 2, 4, 8), "f64")
  expect_null(out$ys[[2]])
  expect_null(
    both(function(x) nv_scan(function(s, x) list(s + x, NULL), nv_scalar(0, dtype = "f32"), x), vec(1, 2))$ys
  )
})

test_that("nothing to go along, and values without elements, are no exception", {
  none <- nv_empty("f32", c(0L, 2L))
  out <- both(
    function(x) nv_scan(function(s, x) list(s + sum(x), x * 2), nv_scalar(3, dtype = "f32"), x), none
  )
  expect_nv(out$carry, 3, "f32", shape = integer())
  expect_identical(shape(out$ys), c(0L, 2L))
  wide <- nv_empty("f32", c(3L, 0L))
  out <- both(function(x) nv_scan(function(s, x) list(s + 1, x * 2), nv_scalar(3, dtype = "f32"), x), wide)
  expect_nv(out$carry, 6, "f32", shape = integer())
  expect_identical(shape(out$ys), c(3L, 0L))
  expect_identical(shape(both(function(x) nv_for(4, x, function(i, s) s + 1), wide)), c(3L, 0L))
  expect_identical(shape(both(function(p, x) nv_if(p, x, x + 1), nv_scalar(FALSE), wide)), c(3L, 0L))
  expect_nv(both(function(x) nv_for(0, x, function(i, s) s * 2), vec(1, 2)), c(1, 2), "f32")
  expect_identical(
    shape(both(function(s) nv_scan(function(s, x) list(s, s), s, NULL, length = 0)$ys, vec(1, 2))), c(0L, 2L)
  )
})

test_that("control flow nests", {
  # A table of products by a loop in a loop, with what is outside of both.
  table <- function(x, w) {
    nv_scan(function(s, a) {
      inner <- nv_scan(function(t, b) list(t + 1L, nv_if(a > b, a * b + w, -a * b)), s, x)
      list(inner$carry, inner$ys)
    }, nv_scalar(0L), x)
  }
  x <- vec(1, 2, 3)
  out <- both(table, x, nv_scalar(10, dtype = "f32"))
  expect_nv(out$carry, 9, "i32", shape = integer(), ambiguous = TRUE)
  expect_nv(out$ys, outer(1:3, 1:3, function(a, b) ifelse(a > b, a * b + 10, -a * b)), "f32")
  # A scan in a while in a for.
  deep <- function(x) {
    nv_for(2, x, function(i, s) {
      nv_while(
        s, function(s) sum(s) < 20 * i, function(s) nv_scan(function(c, v) list(c + v, c + v), 0, s)$ys
      )
    })
  }
  expected <- c(1, 2, 3)
  for (i in 1:2) while (sum(expected) < 20 * i) expected <- cumsum(expected)
  expect_nv(both(deep, x), expected, "f32")
  # A branch in a branch.
  sign <- function(x) nv_if(x > 0, 1, nv_if(x < 0, -1, 0))
  for (v in c(-3, 0, 3)) expect_equal(as.double(both(sign, nv_scalar(v))), base::sign(v))
})

test_that("gradients go through loops", {
  power <- function(n) function(x) nv_for(n, nv_scalar(1, dtype = "f64"), function(i, s) s * x)
  x <- nv_scalar(3, dtype = "f64")
  for (n in 0:3) expect_equal(as.double(gradient(power(n))(x)$x), n * 3^(n - 1))
  expect_identical(jit(gradient(power(3)))(x), gradient(power(3))(x))
  branch <- function(x) nv_if(x > 1, x^2, -x)
  expect_equal(as.double(gradient(branch)(x)$x), 6)
  expect_equal(as.double(gradient(branch)(nv_scalar(0.5))$x), -1)
})

# ---- what is captured --------------------------------------------------------------------------------------

test_that("tensors, tracers and R numbers are found where they are", {
  w <- vec(10, 20)
  k <- 3
  f <- function(x, y) {
    z <- x + y
    nv_for(2, x, function(i, s) nv_if(sum(s) > 0, s + z + w * k, s))
  }
  out <- both(f, vec(1, 2), vec(3, 4))
  expect_nv(out, c(1, 2) + 2 * (c(4, 6) + c(30, 60)), "f32")
  # As they were when it was traced; a tensor of R is no variable of the program.
  g <- jit(function(x) nv_for(2, x, function(i, s) s + w))
  expect_nv(g(vec(0, 0)), c(20, 40), "f32")
  w <- vec(0, 0)
  expect_nv(g(vec(0, 0)), c(20, 40), "f32")
})

test_that("arguments that R has not evaluated yet are evaluated outside of the regions that use them", {
  # nv_fill() has no operands: evaluated in a region, it would be a value of that region, and stay so.
  f <- user(function(x, w, v, p) {
    y <- anvil::nv_for(2, x, function(i, s) s + w)
    z <- anvil::nv_while(y, function(s) sum(s) < sum(v), function(s) s * v)
    z <- anvil::nv_if(p, z + q(v), z)
    list(y * w, z + v, x + 1, p)
  })
  environment(f)$q <- user(function(v) v)
  call <- user(
    function() f(
      anvil::nv_fill(0, 2), anvil::nv_fill(1, 2), anvil::nv_fill(3, 2), anvil::nv_fill(TRUE, integer())
    )
  )
  environment(call)$f <- f
  eager <- call()
  expect_equal(as.double(eager[[1]]), c(2, 2))
  expect_equal(as.double(eager[[2]]), c(12, 12))
  expect_identical(jit(call)(), eager)
  # In jit() too, and by way of other functions.
  scale <- user(function(w) {
    times <- function(s) s * w
    function(x) anvil::nv_for(1, x, function(i, s) times(s)) + w
  })
  by <- scale(nv_fill(2, 2))
  expect_identical(jit(by)(vec(1, 2)), by(vec(1, 2)))
  expect_nv(jit(by)(vec(5, 6)), c(12, 14), "f32")
  expect_no_open_trace()
})

test_that("what is captured twice is one value", {
  w <- vec(1, 2)
  graph <- trace_fn(function(p, x) {
    x <- nv_if(p, x + w, x - w)
    nv_while(x, function(s) sum(s + w) < 100, function(s) nv_for(3, s, function(i, t) t * w + w)) + w
  }, nv_abstract("i1"), nv_abstract("f32", 2))
  lines <- strsplit(graph_text(graph), "\n")[[1L]]
  expect_identical(sum(lines == "  Constants:"), 1L)
  expect_identical(grep("^ *%c[0-9]+: ", lines, value = TRUE), "    %c1: f32[2]")
  # The branches take it once each, cond and body too; the loop within the body once more.
  expect_match(lines, "if\\(%x1, %x2, %c1, %x2, %c1\\)$", all = FALSE)
  expect_match(lines, "while\\(%[0-9]+, %c1, %c1\\)$", all = FALSE)
  expect_match(lines, "^ +body\\(%x1: f32\\[2\\], %x2: f32\\[2\\]\\):$", all = FALSE)
  expect_match(lines, "^ +body\\(%x1: f32\\[2\\], %x2: i32\\[\\], %x3: f32\\[2\\]\\):$", all = FALSE)
})

test_that("graphs with regions read like functions", {
  graph <- trace_fn(
    function(x) nv_while(
      list(n = 0L, x = x), function(s) s$n < 3L,
      function(s) list(n = s$n + 1L, x = nv_if(s$n > 1L, exp(s$x), s$x))
    ),
    nv_abstract("f32", 2)
  )
  expect_identical(strsplit(graph_text(graph), "\n")[[1L]], c(
    "<AnvilGraph>",
    "  Inputs:",
    "    %x1: f32[2]",
    "  Body:",
    "    (%1, %2): (i32?[], f32[2]) = while(0:i32?, %x1)",
    "      cond(%x1: i32?[], %x2: f32[2]):",
    "        %1: i1?[] = lt(%x1, 3:i32?)",
    "        gives (%1)",
    "      body(%x1: i32?[], %x2: f32[2]):",
    "        %1: i32?[] = add(%x1, 1:i32?)",
    "        %2: i1?[] = gt(%x1, 1:i32?)",
    "        %3: f32[2] = if(%2, %x2, %x2)",
    "          true(%x1: f32[2]):",
    "            %1: f32[2] = exp(%x1)",
    "            gives (%1)",
    "          false(%x1: f32[2]):",
    "            gives (%x1)",
    "        gives (%1, %3)",
    "  Outputs:",
    "    %1: i32?[]",
    "    %2: f32[2]"
  ))
  scan <- trace_fn(
    function(x) nv_scan(function(s, v) list(s + v, NULL), 0, x, reverse = TRUE)$carry,
    nv_abstract("f32", 2)
  )
  expect_match(graph_text(scan), "scan [length = 2, reverse = TRUE, checkpoint = FALSE] (", fixed = TRUE)
})

# ---- types -------------------------------------------------------------------------------------------------

test_that("a result is ambiguous if the state was so all along", {
  expect_nv(
    both(function() nv_for(3, 1, function(i, s) s * 2)), 8, "f32", shape = integer(), ambiguous = TRUE
  )
  expect_nv(both(function() nv_for(3, 1L, function(i, s) i)), 3, "i32", shape = integer())
  known <- nv_scalar(1, dtype = "f32")
  expect_nv(both(function(x) nv_for(1, 1, function(i, s) s * x), known), 1, "f32", shape = integer())
  # A number of R in the place of a known state takes its dtype; the flag of the state stays.
  expect_nv(both(function(x) nv_for(1, x, function(i, s) 5), known), 5, "f32", shape = integer())
  expect_nv(both(function(p) nv_if(p, 1, 2), nv_scalar(FALSE)), 2, "f32", shape = integer(), ambiguous = TRUE)
  expect_nv(both(function(p, x) nv_if(p, x, 2), nv_scalar(FALSE), known), 2, "f32", shape = integer())
  expect_true(ambiguous(nv_scan(function(s, x) list(s, 1), 0, vec(1, 2))$ys))
  expect_false(ambiguous(nv_scan(function(s, x) list(s, x), 0, vec(1, 2))$ys))
})

test_that("rules of promotion hold inside a body as outside of it", {
  x <- nv_tensor(1:3)
  y <- nv_scalar(2, dtype = "f32")
  inside <- function(x, y) {
    nv_for(2, list(x, nv_empty("f64", 3L)), function(i, s) list(s[[1]], with_promotion_rules("numpy", x + y)))
  }
  expect_nv(both(inside, x, y)[[2]], c(3, 4, 5), "f64")
  # Anvil's own rules give f32 for these, which is another type than the state has.
  expect_error(nv_for(2, nv_empty("f64", 3L), function(i, s) x + y), class = "anvil_error_structure")
  expect_nv(
    with_promotion_rules("numpy", nv_for(2, nv_empty("f64", 3L), function(i, s) x + y)), c(3, 4, 5), "f64"
  )
  add <- jit(function(x, y) x + y, rules = "numpy")
  expect_nv(
    both(function(x, y) nv_for(2, nv_empty("f64", 3L), function(i, s) add(x, y)), x, y), c(3, 4, 5), "f64"
  )
  # A scope in a body ends with it, by an error too.
  try(nv_for(2, x, function(i, s) {
    local_promotion_rules("numpy")
    stop("no")
  }), silent = TRUE)
  expect_nv(x + y, c(3, 4, 5), "f32")
})

test_that("a conversion in a body is reported once, however often it runs", {
  f <- function(x, n) nv_for(100, x, function(i, s) nv_if(sum(s) > 0, s + n, s * n))
  report <- explain_dtypes(f, nv_scalar(1, dtype = "f64"), nv_scalar(2L, dtype = "i32"))
  report <- report[report$from == "i32", ]
  expect_identical(report$call, c("s + n", "s * n"))
  expect_identical(report$times, c(1L, 1L))
  expect_identical(report$to, c("f64", "f64"))
})

test_that("R arrays are state and results", {
  m <- matrix(c(1, 2, 3, 4), 2)
  expect_nv(both(function() nv_for(2, m, function(i, s) s * 2)), 4 * m, "f32", ambiguous = TRUE)
  expect_nv(both(function(p) nv_if(p, m, -m), nv_scalar(FALSE)), -m, "f32", ambiguous = TRUE)
  expect_nv(both(function(x) nv_for(1, x, function(i, s) m), nv_fill(0, c(2, 2), dtype = "f32")), m, "f32")
})

# ---- with the rest of the package --------------------------------------------------------------------------

test_that("memory can be given to a loop", {
  f <- jit(function(x, w) nv_for(10, x, function(i, s) s * w + x), donate = "x")
  plain <- function(x, w) nv_for(10, x, function(i, s) s * w + x)
  w <- vec(0.5, 2, 1)
  expect_identical(f(vec(1, 2, 3), w), plain(vec(1, 2, 3), w))
  x <- vec(1, 2, 3)
  f(x, w)
  expect_error(x + 1, class = "anvil_error_donated")
})

test_that("a function with loops is saved and read like any other", {
  w <- vec(1, 2)
  f <- jit(function(x) nv_for(3, x, function(i, s) nv_if(sum(s) > 3, s + w, s * 2)))
  expected <- f(vec(1, 1))
  path <- tempfile(fileext = ".rds")
  on.exit(unlink(path))
  saveRDS(f, path)
  expect_identical(readRDS(path)(vec(1, 1)), expected)
})

test_that("a runaway loop can be interrupted, and leaves no trace", {
  skip_on_os("windows") # there are no signals
  endless <- jit(function(x, limit) nv_while(x, function(s) s < limit, function(s) s + 1))
  x <- nv_scalar(0, dtype = "f64")
  interrupted <- function(expr) {
    system(sprintf("(sleep 0.5; kill -INT %d) > /dev/null 2>&1 &", Sys.getpid()))
    tryCatch({
      expr
      "ended"
    }, interrupt = function(i) "interrupted")
  }
  expect_identical(interrupted(endless(x, nv_scalar(Inf, dtype = "f64"))), "interrupted")
  expect_no_open_trace()
  expect_nv(endless(x, nv_scalar(7, dtype = "f64")), 7, "f64", shape = integer())
  expect_identical(interrupted(nv_while(x, function(s) TRUE, function(s) s + 1)), "interrupted")
  expect_no_open_trace()
  # Without anything to compute.
  expect_identical(
    interrupted(nv_while(list(x, nv_empty("f32", 0L)), function(s) TRUE, function(s) s)), "interrupted"
  )
  expect_no_open_trace()
  expect_nv(x + 1, 1, "f64", shape = integer())
})

# ---- what does not work ------------------------------------------------------------------------------------

test_that("a state that changes shows both types", {
  x <- nv_fill(0, 10, dtype = "f32")
  e <- condition_of(nv_while(
    list(n = 0L, p = list(x, x)), function(s) TRUE,
    function(s) list(n = 1L, p = list(x, nv_convert(x, "f64")))
  ))
  expect_s3_class(e, c("anvil_error_structure", "anvil_error"), exact = FALSE)
  expect_identical(conditionMessage(e), paste0(
    "The state of a loop must keep its structure and types.\n",
    "x state$p[[2]]: f32[10] became f64[10]\n",
    "i Convert it in the body, or begin with the type that it becomes."
  ))
  expect_identical(e$path, "state$p[[2]]")
  expect_identical(e$before[["state$p[[2]]"]], "f32[10]")
  expect_identical(e$after[["state$p[[2]]"]], "f64[10]")
  shown <- function(before, after) {
    e <- condition_of(nv_for(2, before, function(i, s) after))
    expect_s3_class(e, "anvil_error_structure")
    sub("^x ", "", grep("^x ", strsplit(conditionMessage(e), "\n")[[1L]], value = TRUE))
  }
  expect_identical(shown(x, x[1]), "state: f32[10] became f32[]")
  expect_identical(shown(x, list(x)), c("state: f32[10] is gone", "state[[1]]: f32[10] is new"))
  expect_identical(shown(list(a = x, b = 1), list(a = x)), "state$b: f32[] is gone")
  expect_identical(shown(list(a = x), list(a = x, b = 1L)), "state$b: i32[] is new")
  expect_identical(
    shown(list(a = x, b = 1), list(b = 1, a = x)), "The order state$a, state$b became state$b, state$a"
  )
  expect_identical(shown(list(a = x, b = 1), list(a = x, b = NULL)), "state$b: f32[] became NULL")
  expect_identical(shown(list(a = x, a = 1), list(a = x, a = 1L)), "state$a: f32[] became i32[]")
  expect_identical(
    shown(list(1, 2), list(1L, TRUE)), c("state[[1]]: f32[] became i32[]", "state[[2]]: f32[] became i1[]")
  )
  many <- shown(lapply(1:7, as.double), as.list(1:7))
  expect_identical(many[6], "and 2 more")
  # nv_scan() as well; ys may be anything.
  expect_error(
    nv_scan(function(s, x) list(nv_convert(s, "i64"), x), 0, x), "state: f32[] became i64[]", fixed = TRUE,
    class = "anvil_error_structure"
  )
  expect_no_open_trace()
})

test_that("branches of other types show both", {
  x <- vec(1, 2)
  e <- condition_of(nv_if(TRUE, list(a = x, b = 1), list(a = nv_convert(x, "f64"))))
  expect_s3_class(e, "anvil_error_structure")
  expect_identical(conditionMessage(e), paste0(
    "Branches of `nv_if()` must give the same structure and types.\n",
    "x value$a: f32[2] if true, f64[2] if false\n",
    "x value$b: f32[] if true, missing if false\n",
    "i Convert what one of them gives, such as with `nv_convert()`."
  ))
  expect_identical(call_of(nv_if(TRUE, x, 1)), "nv_if(TRUE, x, 1)")
  expect_error(nv_if(TRUE, x, 1), "value: f32[2] if true, f32[] if false", fixed = TRUE)
  expect_no_open_trace()
})

test_that("arguments of another kind are named", {
  x <- vec(1, 2)
  id <- function(s) s
  keep <- function(i, s) s
  pair <- function(s, x) list(s, x)
  yes <- function(s) TRUE
  refused <- function(expr, arg, got) expect_fields(expr, "anvil_error_arg", arg = arg, got = got)
  refused(nv_if(x > 1, x, x), "pred", "i1[2]")
  refused(nv_if(1, x, x), "pred", "1")
  refused(nv_if(nv_scalar(1), x, x), "pred", "f32[]")
  refused(nv_if(NA, x, x), "pred", "NA")
  refused(nv_if("a", x, x), "pred", "\"a\"")
  refused(nv_if(TRUE, "a", x), "true", "\"a\"")
  refused(nv_if(TRUE, x, function() "a"), "false", "\"a\"")
  refused(nv_if(TRUE, x), "false", "left out")
  refused(nv_if(true = x, false = x), "pred", "left out")
  refused(nv_while(x, id, id), "cond", "one that gives f32[2]")
  refused(nv_while(x, function(s) 1, id), "cond", "one that gives 1")
  refused(nv_while(x, function(s) NA, id), "cond", "one that gives NA")
  refused(nv_while(x, function(s) NULL, id), "cond", "one that gives NULL")
  refused(nv_while(x, TRUE, id), "cond", "TRUE")
  refused(nv_while(x, yes), "body", "left out")
  refused(nv_while(x, yes, 3), "body", "3")
  refused(nv_while(x, yes, function(s) "a"), "body", "one that gives \"a\"")
  refused(nv_while(cond = yes, body = id), "init", "left out")
  refused(nv_while(list(), yes, id), "init", "a list of length 0")
  refused(nv_while(list(1, "a"), yes, id), "init", "\"a\"")
  for (n in list(-1, 1.5, NA, NaN, Inf, "3", NULL, c(1, 2))) {
    refused(nv_for(n, x, keep), "n", anvil:::describe(n))
  }
  refused(nv_for(nv_scalar(3), x, keep), "n", "f32?[]")
  refused(jit(function(n, x) nv_for(n, x, keep))(nv_tensor(3L), x), "n", "i32[1]")
  expect_fields(nv_for(3e9, x, keep), "anvil_error_arg", arg = "n", expected = "at most 2147483647")
  refused(nv_for(3, x), "body", "left out")
  refused(nv_for(3, x, keep, checkpoint = NA), "checkpoint", "NA")
  refused(nv_for(3, x, function(i, s) "a"), "body", "one that gives \"a\"")
  refused(nv_scan(pair, 0, list(x, list(vec(1, 2, 3)))), "xs", "sizes 2 and 3")
  refused(nv_scan(pair, 0, nv_scalar(1)), "xs", "a 0-d tensor")
  refused(nv_scan(pair, 0, "a"), "xs", "\"a\"")
  refused(nv_scan(pair, 0), "length", "left out")
  refused(nv_scan(pair, xs = x), "init", "left out")
  refused(nv_scan(1, 0, x), "f", "1")
  refused(nv_scan(pair, 0, NULL), "length", "left out")
  refused(nv_scan(pair, 0, x, length = 3), "length", "3")
  refused(nv_scan(pair, 0, NULL, length = -1), "length", "-1")
  refused(nv_scan(pair, 0, x, reverse = 1), "reverse", "1")
  refused(nv_scan(function(s, x) s, 0, x), "f", "one that gives a traced value")
  refused(nv_scan(function(s, x) list(s), 0, x), "f", "one that gives a list of length 1")
  refused(nv_scan(function(s, x) list(s, "a"), 0, x), "f", "one that gives \"a\"")
  expect_identical(call_of(nv_while(x, yes, 3)), "nv_while(x, yes, 3)")
  expect_identical(call_of(nv_for(-1, x, keep)), "nv_for(-1, x, keep)")
  expect_identical(call_of(nv_while(x, id, id)), "nv_while(x, id, id)")
  expect_no_open_trace()
})

test_that("errors inside a body are the user's, and leave nothing open", {
  x <- vec(1, 2)
  body <- function(i, s) s + vec(1, 2, 3)
  inside <- list(
    function() nv_for(2, x, body),
    function() jit(function(x) nv_for(2, x, body))(x),
    function() nv_if(TRUE, nv_for(2, x, body), x),
    function() nv_while(x, function(s) sum(body(1, s)) > 0, function(s) s),
    function() nv_scan(function(s, v) list(nv_for(2, s, body), v), x, x)
  )
  for (f in inside) {
    e <- expect_error(f(), class = "anvil_error_shape")
    expect_identical(deparse1(conditionCall(e)), "s + vec(1, 2, 3)")
    expect_no_open_trace()
  }
  e <- expect_error(nv_for(2, x, function(i, s) stop("my own")), "my own", fixed = TRUE)
  expect_false(inherits(e, "anvil_error"))
  expect_no_open_trace()
  expect_nv(x + 1, c(2, 3), "f32")
  e <- expect_error(
    nv_for(2, x, user(function(i, s) if (sum(s) > 0) s else -s)), class = "anvil_error_concrete"
  )
  expect_match(conditionMessage(e), "nv_if", fixed = TRUE)
  # A jump out of a body is no error to catch.
  expect_identical((function() nv_for(2, x, function(i, s) return(s)))(), x)
  out <- withRestarts(nv_for(2, x, function(i, s) invokeRestart("away", 5)), away = identity)
  expect_identical(out, 5)
  expect_no_open_trace()
})

test_that("a value of a body is of no use outside of it", {
  x <- vec(1, 2)
  kept <- NULL
  keep <- function(i, s) {
    kept <<- s
    s
  }
  leaked <- "anvil_error_leaked_tracer"
  nv_for(2, x, keep)
  expect_error(kept + 1, "the body of a loop", fixed = TRUE, class = leaked)
  expect_error(jit(function(x) nv_for(2, x, keep) + kept)(x), class = leaked)
  # Not in the other branch either, in the condition, or as what is gone along.
  expect_error(jit(function(p, x) nv_if(p, kept <<- x * 2, kept))(nv_scalar(TRUE), x), class = leaked)
  expect_error(nv_while(x, function(s) sum(kept <<- s * 2) > 0, function(s) kept), class = leaked)
  expect_error(jit(function(x) {
    nv_for(2, x, keep)
    nv_scan(function(s, v) list(s, v), 0, kept)
  })(x), class = leaked)
  expect_no_open_trace()
  expect_nv(x + 1, c(2, 3), "f32")
})

test_that("a function that cannot take what it is given is refused", {
  x <- nv_scalar(1, "f32")
  e <- expect_error(nv_for(3, x, function(s) s), class = "anvil_error_arg")
  expect_identical(conditionCall(e), quote(nv_for(3, x, function(s) s)))
  expect_match(
    conditionMessage(e), "`body` must be a function of `i` and `state`, not one of `s`", fixed = TRUE
  )
  expect_error(nv_scan(function() 1, x, NULL, length = 2), class = "anvil_error_arg", "one of nothing")
  # The state is spread over arguments by name only.
  pieces <- list(i = 1L, x = 2)
  e <- expect_error(
    nv_while(pieces, function(j, y) j < 3L, function(i, x) list(i + 1L, x)), class = "anvil_error_arg"
  )
  expect_match(conditionMessage(e), "one of `j`, `y`.\ni The state is one argument", fixed = TRUE)
  # Defaults, dots and primitives are as good.
  expect_nv(nv_for(3, x, function(i, s, by = 2) s * by), 8, "f32", shape = integer())
  expect_nv(nv_for(3, x, function(...) ..2 + 1), 4, "f32", shape = integer())
  expect_nv(nv_for(2, nv_scalar(5L, "i32"), `+`), 8, "i32", shape = integer())
})

test_that("a condition of one element has any number of axes", {
  f <- function(x) nv_while(list(x = x), function(x) x[1] < 10, function(x) list(x = 2 * x))$x
  expect_identical(as.double(jit(f)(nv_tensor(c(1, 5)))), c(16, 80))
  expect_identical(as.double(f(nv_tensor(c(1, 5)))), c(16, 80))
  g <- function(x) nv_if(nv_reshape(x[1] > 2, c(1L, 1L)), x, -x)
  expect_identical(as.double(jit(g)(nv_tensor(c(1, 5)))), c(-1, -5))
  expect_identical(as.double(gradient(function(x) sum(g(x)))(nv_tensor(c(3, 5)))$x), c(1, 1))
  expect_identical(as.double(nv_if(matrix(FALSE), nv_tensor(c(1, 5)), 0 - nv_tensor(c(1, 5)))), c(-1, -5))
  several <- jit(function(x) nv_if(x > 2, x, -x))
  expect_error(several(nv_tensor(c(1, 5))), "one boolean", class = "anvil_error_arg")
})
