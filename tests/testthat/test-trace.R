graph_of <- function(f, ..., static = character()) {
  strsplit(graph_text(trace_fn(f, ..., static = static)), "\n")[[1]]
}

expect_graph <- function(graph, ...) {
  expect_identical(strsplit(graph_text(graph), "\n")[[1]], c("<AnvilGraph>", ...))
}

x <- nv_tensor(c(1, 2))

test_that("inputs, literals, conversions and outputs", {
  expect_graph(
    trace_fn(function(x, y) x * y + 1, nv_abstract("f32", integer()), nv_scalar(1L)),
    "  Inputs:",
    "    %x1: f32[]",
    "    %x2: i32?[]",
    "  Body:",
    "    %1: f32[] = convert [dtype = f32, ambiguous = FALSE] (%x2)",
    "    %2: f32[] = mul(%x1, %1)",
    "    %3: f32[] = add(%2, 1:f32)",
    "  Outputs:",
    "    %3: f32[]"
  )
})

test_that("static parameters are shown as R would write them", {
  f <- function(x) {
    y <- nv_reshape(nv_transpose(x, c(2, 1)), c(2, 3))
    z <- nv_concatenate(y, nv_fill(1, c(2, 3)), axis = 1)
    list(
      nv_reduce_sum(z, axes = 1, drop = FALSE), nv_reduce_max(z), nv_iota(2, "i8", c(2, 3)),
      nv_dot_general(x, x, list(2, 2)), nv_bitcast_convert(x, "i32")
    )
  }
  expect_graph(
    trace_fn(f, nv_abstract("f32", c(2, 3))),
    "  Inputs:",
    "    %x1: f32[2, 3]",
    "  Body:",
    "    %1: f32[3, 2] = transpose [permutation = c(2, 1)] (%x1)",
    "    %2: f32[2, 3] = reshape [shape = c(2, 3), order = \"column\"] (%1)",
    "    %3: f32[2, 3] = fill [value = 1, dtype = f32, shape = c(2, 3), ambiguous = FALSE] ()",
    "    %4: f32[4, 3] = concatenate [axis = 1] (%2, %3)",
    "    %5: f32[1, 3] = reduce_sum [axes = 1, drop = FALSE] (%4)",
    "    %6: f32[] = reduce_max [axes = c(1, 2), drop = TRUE] (%4)",
    "    %7: i8[2, 3] = iota [axis = 2, dtype = i8, shape = c(2, 3), start = 1, ambiguous = FALSE] ()",
    "    %8: f32[2, 2] = dot_general [contracting_axes = [2, 2], batching_axes = [c(), c()]] (%x1, %x1)",
    "    %9: i32[2, 3] = bitcast_convert [dtype = i32] (%x1)",
    "  Outputs:",
    "    %5: f32[1, 3]",
    "    %6: f32[]",
    "    %7: i8[2, 3]",
    "    %8: f32[2, 2]",
    "    %9: i32[2, 3]"
  )
})

test_that("captured tensors are constants, scalars literals", {
  k <- nv_tensor(c(5, 6))
  s <- nv_scalar(2, dtype = "f32")
  expect_graph(
    trace_fn(function(x) x * k + s, nv_abstract("f32", 2)),
    "  Inputs:",
    "    %x1: f32[2]",
    "  Constants:",
    "    %c1: f32[2]",
    "  Body:",
    "    %1: f32[2] = mul(%x1, %c1)",
    "    %2: f32[2] = broadcast_in_dim [shape = 2, broadcast_axes = c()] (2:f32)",
    "    %3: f32[2] = add(%1, %2)",
    "  Outputs:",
    "    %3: f32[2]"
  )
})

test_that("empty sections", {
  expect_graph(
    trace_fn(function() list()), "  Inputs: (none)", "  Body: (empty)", "  Outputs: (none)"
  )
  expect_graph(
    trace_fn(function(x) x, nv_abstract("i1", c(2, 0))),
    "  Inputs:", "    %x1: i1[2, 0]", "  Body: (empty)", "  Outputs:", "    %x1: i1[2, 0]"
  )
  expect_graph(
    trace_fn(function() list(TRUE, 2L, 0.5, NaN, -Inf)), "  Inputs: (none)", "  Body: (empty)", "  Outputs:",
    "    TRUE:i1", "    2:i32?", "    0.5:f32?", "    NaN:f32?", "    -Inf:f32?"
  )
})

test_that("arguments: tensors, abstract tensors, numbers, arrays, nested lists, statics", {
  lines <- graph_of(
    function(...) list(...), x, nv_abstract("ui8", c(3, 1), ambiguous = TRUE), 1L, matrix(0, 2, 2),
    list(a = TRUE, list(2))
  )
  expect_identical(
    lines[3:8], c(
      "    %x1: f32[2]", "    %x2: ui8?[3, 1]", "    %x3: i32?[]", "    %x4: f32?[2, 2]", "    %x5: i1[]",
      "    %x6: f32?[]"
    )
  )
  expect_graph(
    trace_fn(function(x, n) if (n > 1) x + n else x, x = nv_abstract("i32"), n = 3L, static = "n"),
    "  Inputs:", "    %x1: i32[]", "  Body:", "    %1: i32[] = add(%x1, 3:i32)", "  Outputs:", "    %1: i32[]"
  )
  # By name, in any order.
  expect_match(
    graph_text(trace_fn(function(a, b) a - b, b = nv_abstract("i8"), a = nv_abstract("i8"))),
    "sub(%x2, %x1)", fixed = TRUE
  )
})

test_that("equal ops are one node, in the order of their first use", {
  lines <- graph_of(function(x) (x + x) * (x + x), nv_abstract("f32"))
  expect_identical(sum(grepl("= add", lines)), 1L)
})

test_that("the optimised text is what is run: folded, without what is unused or equal", {
  f <- function(x) {
    unused <- exp(x)
    y <- nv_transpose(nv_transpose(x))
    z <- nv_convert(nv_convert(y, "f64"), "f32")
    z * nv_scalar(3, "f32") * (nv_scalar(1, "f32") + nv_scalar(2, "f32"))
  }
  graph <- trace_fn(f, nv_abstract("f32", c(2, 2)))
  plain <- graph_text(graph)
  best <- graph_text(graph, optimised = TRUE)
  expect_match(plain, "exp(", fixed = TRUE)
  expect_no_match(best, "exp(", fixed = TRUE)
  expect_match(plain, "transpose", fixed = TRUE)
  expect_no_match(best, "transpose", fixed = TRUE)
  expect_match(plain, "convert", fixed = TRUE)
  expect_no_match(best, "convert", fixed = TRUE)
  # A sum of literals that a traced value is not part of, folded while tracing or after it.
  folded <- trace_fn(function(x) x * nv_exp(nv_convert(0, "f32")), nv_abstract("f32"))
  expect_no_match(graph_text(folded, optimised = TRUE), "exp(", fixed = TRUE)
  expect_identical(graph_text(graph), plain)
  # What folds keeps every bit: zeros keep their sign, NaN is not simplified away.
  g <- function(x) list(x * 0, x + -0, 1 / (nv_scalar(0, "f32") * -1), x - x)
  for (v in c(-2, NaN, Inf, 0)) {
    t <- nv_scalar(v, dtype = "f32")
    got <- jit(g)(t)
    want <- g(t)
    expect_identical(got, want)
    expect_identical(1 / as_array(got[[1]]), 1 / as_array(want[[1]]))
  }
})

test_that("literals that differ only in bits stay apart", {
  got <- jit(function() list(1 / nv_scalar(0, "f64"), 1 / nv_scalar(-0, "f64"), 1 / nv_scalar(0, "f64")))()
  expect_identical(vapply(got, as_array, 1), c(Inf, -Inf, Inf))
  got <- jit(function(x) list(x / 0, x / -0))(nv_scalar(1))
  expect_identical(vapply(got, as_array, 1), c(Inf, -Inf))
})

test_that("a graph prints, formats, and belongs to its session", {
  graph <- trace_fn(function(x) x, nv_abstract("f32"))
  expect_s3_class(graph, "AnvilGraph")
  expect_identical(format(graph), graph_text(graph))
  expect_output(print(graph), graph_text(graph), fixed = TRUE)
  expect_invisible(capture.output(withVisible(print(graph))) |> invisible())
  expect_error(graph_text(1), class = "anvil_error_arg", "trace_fn")
  expect_error(graph_text(graph, optimised = NA), class = "anvil_error_arg")
  again <- unserialize(serialize(graph, NULL))
  expect_error(graph_text(again), class = "anvil_error_arg", "session")
})

test_that("trace_fn() checks its arguments", {
  expect_error(trace_fn(1), class = "anvil_error_arg", "`f`")
  expect_error(trace_fn(function(x) x, 1, 2), class = "anvil_error_arg", "one more")
  expect_error(trace_fn(function(x) x, ), class = "anvil_error_arg", "`..1` must be given")
  expect_error(trace_fn(function(x) x, "a"), class = "anvil_error_arg")
  expect_s3_class(trace_fn(function(x) x, 1:3), "AnvilGraph")
  # By name and by position, of arguments with and without names.
  f <- function(x, n) if (n > 1) x + n else x
  named <- graph_text(trace_fn(f, x = nv_abstract("i32"), n = 3L, static = "n"))
  for (static in list("n", 2, 2L)) {
    for (args in list(list(nv_abstract("i32"), 3L), list(n = 3L, nv_abstract("i32")))) {
      expect_identical(graph_text(do.call(trace_fn, c(f, args, list(static = static)))), named)
    }
  }
  expect_error(trace_fn(function(x) x, x = 1, static = "n"), class = "anvil_error_arg")
  expect_error(trace_fn(function(x) "a", 1), class = "anvil_error_arg", "`the result`")
  expect_error(nv_abstract("f33"), class = "anvil_error_dtype")
  expect_error(nv_abstract("f32", -1), class = "anvil_error_arg")
  expect_no_open_trace()
})

# ---- traced values where R needs a number ------------------------------------------------------------------

# Runs a body on a tracer x, and on a list that holds one; gives the error.
traced_error <- function(expr) {
  f <- user(eval(call("function", as.pairlist(alist(x = , l = )), expr)))
  error <- suppressWarnings(expect_error(jit(f)(x, list(a = x)), class = "anvil_error_concrete"))
  expect_no_open_trace()
  error
}

test_that("conditions and loops on a traced value say what to do", {
  # R CMD check --as-cran has R 4.2 end its process at a condition of more than one element.
  withr::local_envvar(`_R_CHECK_LENGTH_1_LOGIC2_` = NA)
  e <- traced_error(quote(if (sum(x) > 1) x else -x))
  expect_identical(conditionMessage(e), paste0(
    "A traced value has no elements yet: `if` cannot read them.\n",
    "x It is AnvilTracer(dtype=i1, shape=) while the function is traced.\n",
    "i Use `nv_if()` to choose what is computed, `nv_ifelse()` to choose elements, ",
    "or name the argument in `static = ` to trace a function for each value."
  ))
  expect_identical(e$where, "if")
  expect_match(
    conditionMessage(traced_error(quote(while (x > 1) x <- x - 1))), "`while` cannot read them",
    fixed = TRUE
  )
  expect_match(conditionMessage(traced_error(quote(for (k in x) k))), "seq_len", fixed = TRUE)
  expect_match(
    conditionMessage(traced_error(quote(x > 1 && TRUE))), "Use `&` and `|` for each element",
    fixed = TRUE
  )
  # Before R 4.3, R warns of a condition of more than one element and goes on to read it.
  reads <- alist(
    FALSE || x > 1, 1:x, seq_len(x), switch(x, 1, 2), list(1, 2)[[x]], cat(x), rep(1, x)
  )
  for (expr in reads) {
    e <- suppressWarnings(traced_error(expr))
    expect_match(
      conditionMessage(e), "cannot read them.\nx It is AnvilTracer", fixed = TRUE, label = deparse1(expr)
    )
  }
  # In a list, and in a function that is called.
  expect_identical(traced_error(quote(if (l$a > 1) 1 else 2))$where, "if")
  expect_identical(traced_error(quote((function(v) if (v > 1) 1 else 2)(x)))$where, "if")
})

test_that("the error names the one function that reads, with advice for it", {
  names <- function(expr, where, advice) {
    e <- traced_error(expr)
    expect_identical(e$where, where, label = deparse1(expr))
    expect_match(conditionMessage(e), advice, fixed = TRUE, label = deparse1(expr))
    expect_identical(deparse1(conditionCall(e)), deparse1(user_part(expr, where)))
  }
  # The part of the code that calls it.
  user_part <- function(expr, where) {
    if (is.call(expr) && identical(as.character(expr[[1L]])[1L], where)) return(expr)
    for (part in as.list(expr)) if (is.call(part)) {
      found <- user_part(part, where)
      if (!is.null(found)) return(found)
    }
  }
  # R evaluates arguments in the method or masked function that asks for them.
  names(quote(sum(1:x)), ":", "`static = ` names")
  names(quote(sum(seq_len(x))), "seq_len", "`static = ` names")
  names(quote(sapply(seq_len(x), function(i) i)), "seq_len", "`static = ` names")
  # `&&` reads before `if`, and numbers in the code are not traced.
  names(quote(if (sum(x) > 1 && sum(x) > 2) x), "&&", "nv_if()")
  names(quote(for (i in 1:3) if (sum(x) > 1) break), "if", "nv_if()")
  # What is not traced is subscripted by what is.
  names(quote(x * letters[x]), "[", "A program has no text")
  e <- traced_error(quote(rle(x)))
  expect_match(conditionMessage(e), "c(TRUE, diff(x) != 0)", fixed = TRUE)
  names(quote(c(3, 1, 2)[[which.max(x)]]), "[[", "nv_tensor(x)")
  names(quote(x * list(1, 2)[[x]]), "[[", "nv_switch()")
  e <- traced_error(quote(stats:::plogis(x)))
  expect_match(conditionMessage(e), "anvil's own `plogis()` takes traced values", fixed = TRUE)
  e <- traced_error(quote({
    out <- list(1, 2)
    out[[x]] <- 1
  }))
  expect_match(conditionMessage(e), "A list has no element at a place that is not known", fixed = TRUE)
})

test_that("an error of `if` that has another cause is R's own", {
  e <- tryCatch(jit(function(x) if (NA) x else x)(x), error = identity)
  expect_false(inherits(e, "anvil_error"))
  e <- tryCatch(jit(function(x) if (character()) x else x)(x), error = identity)
  expect_false(inherits(e, "anvil_error"))
  # `if` on what is known while tracing works.
  expect_elements(jit(function(x) if (length(x) > 1 && dtype(x) == "f32") x else -x)(x), c(1, 2), "f32[2]")
})

test_that("an error names what the user called, and was given", {
  said <- function(f) {
    e <- expect_error(jit(user(f))(nv_tensor(c(1.5, 2, 4))), class = "anvil_error_concrete")
    conditionMessage(e)
  }
  expect_match(said(function(x) rep(x, times = x)), "`rep()` cannot", fixed = TRUE)
  expect_match(said(function(x) rep(x, each = x[1])), "`rep()` cannot", fixed = TRUE)
  loop <- function(x) { i <- x[1]; repeat { i <- i + 1; if (i > 5) break }; i }
  expect_match(said(loop), "`nv_while()`", fixed = TRUE)
  # What R's functions compute first is not what they were given.
  given <- "It is given AnvilTracer(dtype=f32, shape=3)"
  expect_match(said(function(x) mood.test(x, x)), given, fixed = TRUE)
  expect_match(said(function(x) ks.test(x, "pnorm")), given, fixed = TRUE)
  solved <- said(function(x) nlm(function(t) sum((t - x)^2), 0))
  expect_match(solved, "It computes with AnvilTracer", fixed = TRUE)
  solved <- said(function(x) stats:::uniroot(function(t) t - sum(x), c(-100, 100)))
  expect_match(solved, "By its name alone", fixed = TRUE)
  expect_match(said(function(x) optim(x, function(b) sum(b^2))), "with the jitted function", fixed = TRUE)
  expect_match(said(function(x) kmeans(cbind(x, x), 2)), "nv_segment_mean(", fixed = TRUE)
  expect_match(said(function(x) loess(x ~ x)), "`loess()` cannot", fixed = TRUE)
  expect_match(said(function(x) ts(x)[2]), "before `ts()`", fixed = TRUE)
  expect_match(said(function(x) names(c(a = x[1], b = x[2]))[x > 1]), "A program has no text", fixed = TRUE)
  # What eval() evaluates for others is the user's code.
  expect_match(said(function(x) with(list(v = x), mood.test(v, v))), "`mood.test()` cannot", fixed = TRUE)
  expect_match(said(function(x) with(list(v = x), if (v[1] > 0) 1 else 2)), "`if` cannot", fixed = TRUE)
  expect_match(said(function(x) coef(lm(x ~ factor(x)))), "`factor()` cannot", fixed = TRUE)
  # Of a time series, whatever is called.
  expect_match(said(function(x) mean(ts(x))), "before `ts()`", fixed = TRUE)
  # R's own words about what stands for a traced value.
  expect_match(said(function(x) PP.test(x)), "`PP.test()` does not take it", fixed = TRUE)
  expect_match(said(function(x) tryCatch(PP.test(x)$p.value, error = function(e) 0)), "R says", fixed = TRUE)
  expect_match(said(function(x) PP.test(list(x, x)[[1]])), "`PP.test()`", fixed = TRUE)
  setClass("anvil_slots", representation(v = "numeric"))
  on.exit(removeClass("anvil_slots"))
  expect_match(said(function(x) new("anvil_slots", v = x)), "is of class \"ANY\"", fixed = TRUE)
  # What is none of a traced value stays R's.
  bad <- jit(user(function(x, type = c("a", "b")) { type <- match.arg(type); x }), static = "type")
  expect_error(bad(nv_tensor(1), "zz"), "should be one of")
  expect_error(jit(user(function(x) stop("mine")))(nv_tensor(1)), "mine")
  # An argument of a generic of ours is evaluated where that looks for the method.
  where <- said(function(x) approx(letters[x > 1], x, 2))
  expect_match(where, "A program has no text", fixed = TRUE)
})

test_that("R's random numbers in what runs many times are a warning", {
  x <- nv_tensor(c(1, 2, 3))
  said <- "drawn once"
  expect_warning(jit(user(function(x) x + rnorm(3)))(x), class = "anvil_warning_random", said)
  expect_warning(jit(user(function(x) sample(x)))(x), class = "anvil_warning_random", said)
  expect_warning(
    nv_for(3, nv_scalar(0), user(function(i, s) s + runif(1))), class = "anvil_warning_random", "a loop"
  )
  expect_warning(vmap(user(function(x) x + rnorm(1)))(x), class = "anvil_warning_random", "vmap()")
  # It is said once.
  loop <- user(function(x) nv_for(3, x, function(i, s) s + rnorm(1)))
  expect_length(testthat::capture_warnings(jit(loop)(x)), 1L)
  # What is drawn anew with each call, or by set.seed() the same for R too, is right.
  expect_silent(gradient(user(function(x) sum(x * rnorm(3))))(x))
  expect_silent(jit(user(function(x) { set.seed(1); x + rnorm(3) }))(x))
  expect_silent(jit(user(function(x) x + 1))(x))
  f <- jit(user(function(x, e) x + e))
  expect_silent(f(x, rnorm(3)))
})

test_that("conversions of a traced value say what to do", {
  conversions <- alist(
    as.character(x), as.vector(x, "character"), as.array(x), as_array(x)
  )
  for (expr in conversions) {
    e <- traced_error(expr)
    expect_match(conditionMessage(e), "A traced value has no elements yet", fixed = TRUE)
    expect_match(conditionMessage(e), "dtype=f32, shape=2", fixed = TRUE)
    expect_match(conditionMessage(e), "static", fixed = TRUE)
  }
  traced_error(quote(paste(x)))
  traced_error(quote(base:::ifelse(x > 1, 1, 2)))
})

test_that("what is known of a traced value can be asked and shown", {
  seen <- list()
  f <- jit(function(x, m) {
    seen <<- list(
      length(x), dim(m), shape(m), ndims(m), nrow(m), as.character(dtype(x)), ambiguous(x), device(x),
      format(x), capture.output(print(m)), capture.output(str(x)), is.numeric(x)
    )
    x
  })
  f(x, matrix(1L, 2, 3))
  expect_identical(seen[1:8], list(2L, c(2L, 3L), c(2L, 3L), 2L, 2L, "f32", FALSE, "cpu"))
  expect_identical(seen[[9]], "AnvilTracer(dtype=f32, shape=2)")
  expect_identical(seen[[10]], "AnvilTracer(dtype=i32?, shape=2x3)")
})

# ---- tracers outside of their trace ------------------------------------------------------------------------

test_that("a leaked tracer is an error that names the trace", {
  leaked <- NULL
  jit(function(x) {
    leaked <<- x * 2
    x
  })(x)
  uses <- alist(
    leaked + 1, 1 + leaked, exp(leaked), nv_reshape(leaked, 2), leaked %*% leaked, nv_concatenate(x, leaked),
    sum(leaked)
  )
  for (use in uses) {
    expect_error(eval(use), class = "anvil_error_leaked_tracer")
  }
  e <- expect_error(leaked + 1, class = "anvil_error_leaked_tracer", "used outside the trace that made it")
  expect_match(conditionMessage(e), "which has ended")
  expect_match(conditionMessage(e), "<<-")
  # In another trace, as an operand and as a result.
  expect_error(jit(function(x) x + leaked)(x), class = "anvil_error_leaked_tracer")
  expect_error(jit(function(x) leaked)(x), class = "anvil_error_leaked_tracer")
  expect_no_open_trace()
  # It can be shown, for debugging.
  expect_output(print(leaked), "AnvilTracer(dtype=f32, shape=2)", fixed = TRUE)
})

test_that("a leaked tracer as an argument of a jitted function is refused", {
  leaked <- NULL
  jit(function(x) leaked <<- x)(x)
  f <- jit(function(x) x + 1)
  expect_error(f(leaked), class = "anvil_error")
  f(x)
  expect_error(f(leaked), class = "anvil_error")
  expect_error(f(list(x, leaked)), class = "anvil_error")
  expect_no_open_trace()
})

test_that("a tracer kept in an environment is used up with its trace", {
  store <- new.env()
  f <- jit(function(x, n) {
    if (is.null(store$total)) store$total <- x
    store$total + n
  })
  f(x, 1)
  expect_error(f(x, 1L), class = "anvil_error_leaked_tracer")
  expect_no_open_trace()
})

test_that("a trace inside a trace: its own tracers work, those of the outer one do not", {
  inner_text <- NULL
  f <- jit(function(x) {
    inner_text <<- graph_text(trace_fn(function(z) z * z, nv_abstract("i8", 3)))
    x + 1
  })
  expect_elements(f(x), c(2, 3), "f32[2]")
  expect_match(inner_text, "mul(%x1,", fixed = TRUE)
  g <- jit(function(x) {
    trace_fn(function(z) z * x, nv_abstract("f32", 2))
    x
  })
  e <- expect_error(g(x), class = "anvil_error_leaked_tracer")
  expect_match(conditionMessage(e), "another trace inside it")
  # An abstract tensor can take a tracer's place; a tracer as an argument cannot.
  expect_error(jit(function(x) { trace_fn(function(z) z, x); x })(x), class = "anvil_error_arg")
  expect_no_open_trace()
})

test_that("tensors that are made while tracing are part of the program", {
  f <- function(x) x + nv_fill(2, 2, "f32") + nv_iota(1, "f32", 2) + nv_seq(1, 2)
  expect_elements(jit(f)(x), c(1, 2) + 2 + c(1, 2) + c(1, 2), "f32[2]")
  text <- graph_text(trace_fn(f, x))
  expect_match(text, "fill", fixed = TRUE)
  expect_match(text, "iota", fixed = TRUE)
  # Also as large ones that are never made in R.
  expect_elements(jit(function() nv_fill(1, 1e6, "f32") |> sum())(), 1e6, "f32[]")
})

test_that("values of nv_tensor() in a trace are constants", {
  expect_elements(jit(function(x) x + nv_tensor(c(5, 6)))(x), c(6, 8), "f32[2]")
  expect_identical(jit(function(x) nv_tensor(x))(x), x)
  expect_identical(type_of(jit(function(x) as_nv_tensor(x, "f64"))(x)), "f64[2]")
})

test_that("however a traced function is left, no trace is open", {
  x <- nv_scalar(1)
  expect_closed <- function(expr) {
    force(expr)
    expect_no_open_trace()
    expect_true(inherits(nv_fill(1, 2), "AnvilTensor"))
  }
  places <- list(
    function(g) jit(user_env(function(x) g(x), g = g))(x),
    function(g) trace_fn(user_env(function(x) g(x), g = g), x),
    function(g) gradient(user_env(function(x) sum(g(x)), g = g))(x),
    function(g) nv_for(2L, x, user_env(function(i, x) g(x), g = g)),
    function(g) nv_while(x, user_env(function(x) g(x) > 1, g = g), user_env(function(x) x, g = g)),
    function(g) nv_if(x > 0, g(x), x)
  )
  for (place in places) {
    expect_closed(expect_error(place(function(x) stop("no")), "no"))
    failing <- function(x, first = x) {
      on.exit(stop("at the end"))
      first
    }
    expect_closed(expect_error(place(function(x) failing(x)), "at the end"))
    # R leaves its handlers before it gets to the second error.
    expect_closed(try(try(place(function(x) failing(x, stop("no"))), silent = TRUE), silent = TRUE))
    expect_closed(expect_identical(callCC(function(leave) place(function(x) leave(3))), 3))
    leave <- structure(class = c("leave", "condition"), list(message = "leave", call = NULL))
    expect_closed(expect_identical(
      tryCatch(place(function(x) signalCondition(leave)), leave = function(c) 5), 5
    ))
    expect_closed(expect_identical(
      withRestarts(place(function(x) invokeRestart("leave", 6)), leave = identity), 6
    ))
    expect_closed(expect_error(place(function(x) place(function(x) place(function(x) stop("deep")))), "deep"))
    expect_closed(expect_error(place(function(x) trace_fn(function(y) x))))
  }
  # Neither R's depth nor its stack is endless. Handlers that run where it ends would need more of it.
  too_deep <- function(expr) {
    expect_closed(expect_identical(tryCatch(expr, error = function(e) "too deep"), "too deep"))
  }
  endless <- function(x) endless(x)
  too_deep(jit(endless)(x))
  for (place in places) {
    deeper <- function(x) place(deeper)
    too_deep(deeper(x))
  }
})

test_that("arguments that are put off are evaluated before a function of the workspace is traced", {
  times <- user(function(k) function(x) x * k)
  names <- c("anvil_test_a", "anvil_test_b")
  withr::defer(rm(list = names, envir = globalenv()))
  # Each k belongs to a function of one name, h; neither is evaluated before f is traced.
  assign(names[1L], user_env(function(x) h(x), h = times(nv_fill(2, 1))), envir = globalenv())
  assign(names[2L], user_env(function(x) h(x), h = times(nv_fill(3, 1))), envir = globalenv())
  f <- function(x) anvil_test_a(x) + anvil_test_b(x)
  environment(f) <- globalenv()
  expect_identical(as.double(jit(f)(nv_scalar(1))), 5)
  expect_identical(as.double(f(nv_scalar(1))), 5)
})

test_that("what a builtin function says of its arguments is an error about `f`, of the user's call", {
  x <- nv_scalar(1)
  calls <- list(
    function() explain_plan(sin), function() memory_plan(sin), function() stablehlo(sin),
    function() explain_dtypes(sin), function() trace_fn(sin),
    function() vjp(sin), function() gradient(sin)(), function() jit(sin)(), function() nv_if(x > 0, sin, x)
  )
  for (call in calls) {
    environment(call) <- list2env(list(x = x), parent = globalenv())
    expect_fields(call(), "anvil_error_arg", arg = "f")
    expect_false(grepl("^(f|h|do.call|eval)\\(", call_of(call())), label = call_of(call()))
  }
  # Inside of a trace, too.
  expect_fields(jit(function(z) jit(sin)())(x), "anvil_error_arg", arg = "f")
  expect_identical(call_of(explain_plan(sin)), "explain_plan(sin)")
})

test_that("functions that read code are none of values; those that look for methods are", {
  x <- nv_scalar(2)
  for (f in list(quote, `if`, `[[`, substitute, switch, missing, expression, call)) {
    expect_fields(explain_plan(f), "anvil_error_arg", arg = "f")
    expect_fields(trace_fn(f, x), "anvil_error_arg", arg = "f")
    expect_fields(vjp(f, x), "anvil_error_arg", arg = "f")
    expect_fields(jit(f), "anvil_error_arg", arg = "f")
    expect_fields(nv_if(x > 0, f, x), "anvil_error_arg", arg = "true")
  }
  expect_identical(jit(log)(x), log(x))
  expect_identical(jit(round)(x), x)
})

test_that("arguments that a function does not take are refused by their names", {
  x <- nv_scalar(2)
  for (f in list(function(x) x, sin)) {
    expect_fields(vjp(f, x, y = x), "anvil_error_arg", arg = "...", got = "\"y\"")
    expect_fields(vjp(f, x, x), "anvil_error_arg", arg = "...", got = "one more")
    expect_fields(trace_fn(f, y = x), "anvil_error_arg", arg = "...", got = "\"y\"")
    expect_fields(trace_fn(f, x, x), "anvil_error_arg", arg = "...", got = "one more")
  }
})

test_that("a traced value without its class is one still where it is returned", {
  x <- nv_tensor(matrix(c(1, 2, 3, 4), 2))
  bare <- jit(function(x) {
    y <- x
    attributes(y) <- NULL
    list(unclass(x), structure(x, class = NULL), list(y))
  })(x)
  expect_equal(as_array(bare[[1L]]), as_array(x))
  expect_equal(as_array(bare[[2L]]), as_array(x))
  expect_equal(as.vector(bare[[3L]][[1L]]), c(1, 2, 3, 4))
  expect_equal(as_array(jit(function(x) unclass(x) + 1)(x)), as_array(x) + 1)
})

test_that("what base R changes before a traced value fails is as it was", {
  before <- getOption("warn")
  expect_error(jit(function(x) table(x))(nv_tensor(c(3, 1, 2))), class = "anvil_error_concrete")
  expect_identical(getOption("warn"), before)
})

test_that("an operator of a data frame and a traced value is refused with what to write", {
  suppressWarnings(e <- tryCatch(jit(function(b) cars * b)(nv_scalar(2)), error = identity))
  expect_s3_class(e, "anvil_error")
  if (getRversion() < "4.3.0") expect_match(conditionMessage(e), "`as_nv_tensor(cars) * b`", fixed = TRUE)
  got <- jit(function(b) as_nv_tensor(cars) * b)(nv_scalar(2))
  expect_equal(as_array(got), as.matrix(cars) * 2, ignore_attr = TRUE)
})

test_that("what takes a traced value, or has a frame, is not named as its reader", {
  # Without source references all of the code is looked at.
  f <- eval(parse(text = "function(x, g) {
    if (any(x < 0)) stop('below 0')
    if (!missing(g)) rownames(x) <- x[, 1]
    attr(x, 'of') <- 1
    as.integer(x)
  }", keep.source = FALSE))
  e <- tryCatch(jit(user(f))(nv_tensor(c(1, 2))), error = identity)
  expect_s3_class(e, "anvil_error_concrete")
  expect_identical(e$where, "if")
})
