x <- nv_tensor(c(1, 2))
y <- nv_tensor(1:3)
flags <- nv_tensor(c(TRUE, FALSE))

# ---- the text of each class ----

test_that("anvil_error_arg", {
  expect_conditions({
    nv_tensor(list(1, 2))
    nv_matrix(1:6, 4)
    nv_sin()
    sum(x, dims = 1)
    nv_add(nv_scalar(1), "a")
    nv_scalar(1, dtype = 32)
    nv_seq(3, 1)
    jit(function(x) x, static = "y")
  })
})

test_that("anvil_error_value", {
  expect_conditions({
    nv_tensor(c(1L, NA, 3L, NA))
    nv_tensor(NA, dtype = "f32")
    nv_tensor(c(1, 300, -1), dtype = "ui8")
    nv_tensor("9223372036854775808", dtype = "i64")
    as_array(nv_scalar("9223372036854775808", dtype = "ui64"), integer64 = TRUE)
  })
})

test_that("anvil_error_dtype", {
  expect_conditions({
    nv_tensor(1, dtype = "float")
    nv_div(nv_scalar(TRUE), nv_scalar(TRUE))
    nv_popcnt(nv_scalar(1))
    nv_bitcast_convert(nv_tensor(1:3, "ui8"), "ui32")
  })
})

test_that("anvil_error_shape", {
  expect_conditions({
    nv_tensor(1:3) + nv_tensor(1:2)
    nv_tensor(1:3, shape = c(2, 2))
    nv_tensor(0, shape = c(1e6, 1e6, 1e6))
    nv_reshape(nv_tensor(1:6), c(4, 2))
    nv_broadcast_to(nv_tensor(1:3), c(2, 2))
    nv_fill(1, c(2, 3)) + nv_fill(1, 3)
    nv_matmul(nv_tensor(1:3), nv_tensor(1:3))
    nv_fill(1, c(2, 3)) %*% nv_tensor(1:2)
    nv_matrix(1:6, 2) %*% nv_matrix(1:6, 2)
  })
})

test_that("anvil_error_axis", {
  expect_conditions({
    sum(nv_tensor(1:3), axes = 2)
    nv_reduce_sum(nv_tensor(1:3), c(1, 1))
    nv_transpose(nv_matrix(1:6, 2), 1)
  })
})

test_that("anvil_error_concrete", {
  expect_conditions({
    jit(function(x) if (x > 0) x else -x)(nv_scalar(1))
    jit(function(x) as.character(x))(nv_scalar(1))
  })
})

test_that("anvil_error_leaked_tracer", {
  kept <- NULL
  jit(function(x) {
    kept <<- x
    x
  })(nv_scalar(1))
  expect_conditions(kept + 1)
})

test_that("anvil_error_donated", {
  given <- nv_tensor(c(1, 2))
  jit(function(x) x + 1, donate = "x")(given)
  expect_conditions({
    given + 1
    print(given)
  })
})

test_that("anvil_error_static", {
  inner <- jit(function(x, n) x, static = "n")
  expect_conditions(jit(function(x) inner(x, x))(nv_scalar(1)))
})

test_that("anvil_error_unsupported", {
  expect_conditions({
    nv_tensor(1:3)$a
    as_dtype("f32") < as_dtype("f64")
  })
})

test_that("anvil_error_memory", {
  # More bytes than a processor can address, for a value that is never seen.
  sum_of_many <- jit(function(x) sum(nv_broadcast_to(x, c(2147483647, 2097151)) * x))
  expect_conditions(sum_of_many(nv_scalar(1)))
  expect_nv(nv_scalar(1, "f32") + 1, 2, "f32", integer())
})

test_that("anvil_error_internal", {
  expect_conditions(.Call(anvil:::anvil_fail, "panic"))
})

test_that("warnings", {
  expect_conditions({
    as_array(nv_tensor("9007199254740993", dtype = "i64"))
    as_array(nv_tensor("-2147483648", dtype = "i32"))
  })
})

# ---- class and fields ----

test_that("every error is an anvil_error with fields that a program can read", {
  expect_fields(nv_add(x, "a"), "anvil_error_arg", arg = "operand", got = "a character vector of length 1")
  expect_fields(nv_tensor(c(NA, 1L)), "anvil_error_value", dtype = "i32", count = 1, positions = 1)
  expect_fields(
    nv_tensor(-1, "ui8"), "anvil_error_value", dtype = "ui8", count = 1, positions = 1, first = "-1"
  )
  expect_fields(as_dtype("float"), "anvil_error_dtype", got = "\"float\"")
  expect_fields(nv_div(flags, flags), "anvil_error_dtype", op = "nv_div", operand = "lhs", got = "i1")
  expect_fields(flags %% flags, "anvil_error_dtype", op = "nv_mod", operand = "lhs", got = "i1")
  expect_fields(x + y, "anvil_error_shape", op = "nv_add", lhs = 2, rhs = 3)
  expect_fields(nv_reshape(x, 3), "anvil_error_shape", op = "nv_reshape", from = 2, to = 3)
  expect_fields(nv_broadcast_to(x, c(2, 3)), "anvil_error_shape", from = 2, to = c(2, 3), axis = 2)
  expect_fields(nv_broadcast_to(nv_matrix(1:4, 2), 2), "anvil_error_shape", from = c(2, 2), to = 2)
  expect_fields(nv_reduce_sum(x, 5), "anvil_error_axis", op = "nv_reduce_sum", axis = 5, rank = 1)
  expect_fields(nv_reduce_max(x, c(1, 1)), "anvil_error_axis", axis = 1)
  expect_fields(jit(function(x) as.character(x))(x), "anvil_error_concrete", where = "as.character()")
  expect_fields(jit(function(x) if (x) 1)(nv_scalar(TRUE)), "anvil_error_concrete", where = "if")
  f <- function(x) if (x > 0) log(x) else log(-x)
  expect_fields(jit(f)(nv_scalar(2)), "anvil_error_concrete", where = "if")
  expect_fields(x$a, "anvil_error_unsupported", generic = "$")
  expect_fields(.Call(anvil:::anvil_fail, "error"), "anvil_error_internal", detail = "100% on purpose: %s")
})

test_that("an error is an ordinary condition", {
  error <- tryCatch(x + y, error = identity)
  expect_s3_class(error, c("anvil_error_shape", "anvil_error", "error", "condition"), exact = TRUE)
  expect_identical(
    tryCatch(x + y, anvil_error_axis = function(e) "axis", anvil_error = function(e) "any"), "any"
  )
  expect_match(try(x + y, silent = TRUE), "Error in x \\+ y")
  # Handlers run where the error is, and can leave.
  expect_identical(withCallingHandlers(
    withRestarts(x + y, give = function(value) value),
    anvil_error = function(e) invokeRestart("give", 5)
  ), 5)
})

# ---- the user's call ----

test_that("a function is the call", {
  expect_identical(call_of(nv_add(x, y)), "nv_add(x, y)")
  expect_identical(call_of(nv_tensor(1, dtype = "q")), "nv_tensor(1, dtype = \"q\")")
  expect_identical(call_of(nv_abstract("q")), "nv_abstract(\"q\")")
  expect_identical(call_of(as_array(1)), "as_array(1)")
  expect_identical(call_of(common_dtype("f32", "q")), "common_dtype(\"f32\", \"q\")")
  expect_identical(call_of(cache_info(3)), "cache_info(3)")
  expect_identical(call_of(jit(3)), "jit(3)")
  expect_identical(call_of(nv_empty("q", 2)), "nv_empty(\"q\", 2)")
  expect_identical(call_of(nv_fill(300, 2, "ui8")), "nv_fill(300, 2, \"ui8\")")
  # An argument that fails is not the fault of the function around it.
  expect_identical(call_of(nv_add(nv_sin("a"), y)), "nv_sin(\"a\")")
  expect_identical(call_of(nv_tensor(1, dtype = as_dtype("q"))), "as_dtype(\"q\")")
})

test_that("a jitted function in another's class is the call too", {
  leak <- NULL
  jit(function(x) leak <<- x)(nv_scalar(1))
  for (class in list("AnvilValue", c("AnvilTracer", "AnvilValue"), "AnvilPromotionTable")) {
    f <- structure(jit(function(x) leak), class = class)
    e <- expect_error(f(1), class = "anvil_error_leaked_tracer")
    expect_identical(conditionCall(e), quote(f(1)))
    e <- expect_error(f(quote(a)), class = "anvil_error_arg")
    expect_identical(conditionCall(e), quote(f(quote(a))))
  }
})

test_that("functions in the place of other arguments are not called", {
  loud <- function(...) stop("was called")
  expect_error(
    nv_scan(function(s, x) list(s, x), 1, nv_tensor(1:3), length = loud), class = "anvil_error_arg",
    "`length`"
  )
  expect_error(nv_fill(nv_scalar(1), loud), class = "anvil_error_arg", "`shape`")
  expect_error(nv_fill(nv_scalar(1), 2, dtype = loud), class = "anvil_error_arg", "`dtype`")
  expect_error(nv_fill(nv_tensor(1:2), loud, "f32"), class = "anvil_error_arg", "`value`")
  expect_error(nv_tensor(nv_scalar(1), shape = loud), class = "anvil_error_arg", "`shape`")
  expect_error(nv_tensor(nv_scalar(1), dtype = loud), class = "anvil_error_arg", "`dtype`")
})

test_that("operators and methods are the call, under the name of the generic", {
  expect_identical(call_of(x + y), "x + y")
  expect_identical(call_of(x + "a"), "x + \"a\"")
  expect_identical(call_of("a" * x), "\"a\" * x")
  expect_identical(call_of(flags %% flags), "flags%%flags")
  expect_identical(call_of(!x), "!x")
  expect_identical(call_of(x == y), "x == y")
  expect_identical(call_of(x %*% y), "x %*% y")
  expect_identical(call_of(x & x), "x & x")
  expect_identical(call_of(as_dtype("f32") == "q"), "as_dtype(\"f32\") == \"q\"")
  # R hands these methods values instead of expressions.
  expect_identical(call_of(sum(x, axes = 3)), "sum(x, axes = 3)")
  expect_identical(call_of(max(x, axes = 3)), "max(x, axes = 3)")
  expect_identical(call_of(range(x, axes = 3)), "range(x, axes = 3)")
  expect_identical(call_of(any(x)), "any(x)")
  expect_identical(call_of(sum(x, na.rm = NA)), "sum(x, na.rm = NA)")
  expect_identical(call_of(sum(x + 1, axes = 3)), "sum(AnvilTensor, axes = 3)")
  expect_identical(call_of(round(x, Inf)), "round(x, Inf)")
  expect_identical(call_of(mean(x, axes = 3)), "mean(x, axes = 3)")
  expect_identical(call_of(mean(x, trim = -1)), "mean(x, trim = -1)")
  expect_identical(call_of(x[9]), "x[9]")
  expect_identical(call_of(x[, 9]), "x[, 9]")
  expect_identical(
    call_of(as.numeric(nv_tensor("9007199254740993", "i64"))),
    "as.double(nv_tensor(\"9007199254740993\", \"i64\"))"
  )
})

test_that("a composition is the call, not what it is made of", {
  expect_identical(call_of(nv_mean(x, axes = 3)), "nv_mean(x, axes = 3)")
  expect_identical(call_of(nv_matrix(nv_tensor(1:6), 2)), "nv_matrix(nv_tensor(1:6), 2)")
  expect_identical(call_of(nv_scalar(1, "q")), "nv_scalar(1, \"q\")")
  expect_identical(call_of(nv_seq(1, 300, dtype = "ui8")), "nv_seq(1, 300, dtype = \"ui8\")")
})

test_that("within the user's functions it is the line that failed", {
  f <- user(function(a, b) {
    z <- a + b
    z
  })
  expect_identical(call_of(f(x, y)), "a + b")
  g <- user(function(v, unused = stop("forced")) sum(v, axes = 7))
  expect_identical(call_of(g(x)), "sum(v, axes = 7)")
  expect_identical(call_of(user(function(u, v) nv_add(v, u))(x, y)), "nv_add(v, u)")
  expect_identical(call_of(lapply(list(x), user_env(function(e) nv_add(e, y), y = y))), "nv_add(e, y)")
  expect_identical(call_of(do.call(nv_add, list(x, y))), "nv_add(x, y)")
  expect_identical(call_of(do.call("nv_add", list(x, "a"))), "nv_add(x, \"a\")")
  expect_identical(call_of(Reduce(`+`, list(x, y))), "init + x[[i]]")
  # A traced function is the user's all the same.
  expect_identical(call_of(jit(f)(x, y)), "a + b")
  expect_identical(call_of(jit(g)(x)), "sum(v, axes = 7)")
  expect_identical(call_of(trace_fn(f, x, y)), "a + b")
  h <- jit(f)
  k <- user(function(h, x, y) h(x, y))
  expect_identical(call_of(k(h, x, y)), "a + b")
  # Where the jitted function is one of this package, it is what the user called.
  mean_of <- jit(nv_mean)
  expect_identical(call_of(mean_of(x, 4)), "mean_of(x, 4)")
  expect_identical(call_of(mean_of("a")), "mean_of(\"a\")")
})

test_that("warnings carry the user's call too", {
  big <- nv_tensor("9007199254740993", "i64")
  expect_identical(call_of(as_array(big)), "as_array(big)")
  expect_identical(call_of(as.vector(big)), "as.vector(big)")
  expect_identical(call_of(summary(big)), "summary(big)")
  expect_identical(call_of(user(function(b) as.list(b))(big)), "as.list(b)")
})

# ---- nothing else breaks ----

test_that("text with % and other marks arrives as it is", {
  text <- "100%s %d %n \\ `x` {y} \"q\" \u00e9"
  message <- conditionMessage(condition_of(nv_tensor(text, "i32")))
  expect_match(message, "100%s %d %n", fixed = TRUE)
  expect_match(message, "{y}", fixed = TRUE)
  expect_match(conditionMessage(condition_of(as_dtype("%s"))), "Unknown dtype \"%s\".", fixed = TRUE)
  expect_match(
    conditionMessage(condition_of(.Call(anvil:::anvil_fail, "panic"))), "100% on purpose: %s", fixed = TRUE
  )
  # A long string is not repeated as a whole, and one in no known encoding not at all.
  expect_lt(nchar(conditionMessage(condition_of(nv_tensor(strrep("a", 1e5), "i32")))), 200)
  expect_error(nv_tensor("\xff\xfe", "i32"), class = "anvil_error_arg")
})

test_that("a panic is an error that asks for a report, and nothing is left behind", {
  for (i in 1:20) {
    error <- expect_error(.Call(anvil:::anvil_fail, "panic"), class = "anvil_error_internal")
    expect_match(conditionMessage(error), "Please report this")
  }
  expect_nv(x + x, c(2, 4), "f32")
  fails <- jit(function(x) {
    .Call(anvil:::anvil_fail, "panic")
    x
  })
  expect_error(fails(x), class = "anvil_error_internal")
  # No trace is open: a tensor made now has elements.
  expect_nv(nv_fill(1, 2), c(1, 1), "f32")
  expect_nv(jit(function(x) x * 2)(x), c(2, 4), "f32")
  # Nothing is printed beside the error.
  expect_silent(try(.Call(anvil:::anvil_fail, "panic"), silent = TRUE))
})

test_that("errors in large numbers leave R's protection stack alone", {
  for (i in 1:2000) tryCatch(x + y, error = identity)
  for (i in 1:2000) tryCatch(nv_tensor("x", "i32"), error = identity)
  for (i in 1:200) tryCatch(jit(function(x) x + y)(x), error = identity)
  expect_nv(x + 1, c(2, 3), "f32")
})

test_that("strings in any encoding are an argument like others: R's own reading of them would jump", {
  bytes <- "caf\xe9"
  Encoding(bytes) <- "bytes"
  latin1 <- "caf\xe9"
  Encoding(latin1) <- "latin1"
  broken <- "caf\xe9"
  Encoding(broken) <- "UTF-8"
  x <- nv_tensor(c(1, 2))
  for (text in c(bytes, latin1, broken)) {
    uses <- expression(
      as_dtype(text), nv_tensor(1, text), nv_convert(x, text), nv_fill(1, 2, dtype = text),
      nv_reshape(x, 2, order = text), nv_abstract(text), common_dtype(text, "f32"),
      is_promotable("f32", text), promotion_path(text, "f32"), promotion_table(text),
      with_promotion_rules(text, 1), local_promotion_rules(text), jit(sum, rules = text),
      jit(function(x) x, static = text), jit(function(x) x, donate = text), jit(sum, warn_promotion = text),
      jit(sum, device = text), nv_tensor(1, device = text), nv_tensor(text, "i32"), nv_tensor(text, "i1"),
      nv_add(1, text), nv_add(1, structure(1, class = text)), nv_scalar(structure(1, class = text)),
      jit(sum)(text), jit(function(x) x)(setNames(list(sum), text)), gradient(nv_sin, wrt = text),
      stablehlo(sum, 1, target = text), nv_read_npy(structure(1, class = text)),
      nv_write_npy(text, tempfile()), nv_rng_state(text), sum(x, axes = text), x[text], as.vector(x, text),
      trace_fn(function(x) x, 1, static = text)
    )
    for (use in uses) {
      error <- tryCatch(eval(use), error = identity)
      expect_s3_class(error, "anvil_error")
      expect_true(validUTF8(conditionMessage(error)), label = deparse1(use))
    }
  }
  expect_match(conditionMessage(condition_of(as_dtype(bytes))), "caf\\xe9", fixed = TRUE)
  expect_match(conditionMessage(condition_of(as_dtype(latin1))), "caf\u00e9", fixed = TRUE)
  # As a label it is shown.
  expect_output(nv_print(1, bytes), "caf\\xe9", fixed = TRUE)
})
