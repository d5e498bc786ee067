# A function with source references, as if it came from a script called `file`.
sourced <- function(file, ...) {
  code <- c(...)
  parsed <- parse(text = code, keep.source = TRUE, srcfile = srcfilecopy(file, code))
  eval(parsed[[1L]], new.env(parent = globalenv()))
}

# The classes that a report gives, by call.
classes <- function(report) setNames(as.character(report$class), report$call)

one_of <- function(dtype, shape = 3L) nv_abstract(dtype, shape)

# ---- classes: programs that a user could write ----

test_that("lossless: every value is kept", {
  predict <- user(function(counts, rate) counts * rate)
  report <- explain_dtypes(predict, one_of("i32"), one_of("f64"))
  expect_identical(classes(report), c("counts * rate" = "lossless"))
  expect_identical(report$from, "i32")
  expect_identical(report$to, "f64")
})

test_that("rounds: integers of more digits than the float, doubles into singles", {
  standardise <- user(function(counts, scale) counts / scale)
  expect_identical(
    classes(explain_dtypes(standardise, one_of("i32"), one_of("f32"))), c("counts/scale" = "rounds")
  )
  # An R matrix is stored as doubles, and computed with as f32.
  score <- user(function(x, beta) x %*% beta)
  report <- explain_dtypes(score, matrix(0.1, 3, 2), one_of("f32", c(2, 1)))
  expect_identical(classes(report), c("x %*% beta" = "rounds"))
  expect_identical(
    report[c("from", "stored", "to")], data.frame(from = "f32?", stored = "f64", to = "f32"),
    ignore_attr = TRUE
  )
  # Where nothing but the matrix is there, doubles stay doubles.
  expect_identical(nrow(explain_dtypes(user(function(x) list(x, exp(x), t(x))), matrix(0.1, 3, 2))), 0L)
})

test_that("overflows: what was finite may be infinite as f16", {
  mix <- user(function(activations, ids) activations + ids)
  expect_identical(
    classes(explain_dtypes(mix, one_of("f16"), one_of("i64"))), c("activations + ids" = "overflows")
  )
  clip <- user(function(x, limit) nv_clamp(-limit, x, limit))
  report <- explain_dtypes(clip, one_of("f16"), one_of("f32", integer()))
  expect_identical(unique(as.character(report$class)), "overflows")
  expect_identical(report$operand, c(1L, 3L))
  # A number is judged by its value.
  expect_identical(
    classes(explain_dtypes(user(function(x) x * 1e5), one_of("f16"))), c("x * 1e+05" = "overflows")
  )
  expect_identical(
    classes(explain_dtypes(user(function(x) x * 1e300), one_of("f32"))), c("x * 1e+300" = "overflows")
  )
  expect_identical(
    classes(explain_dtypes(user(function(x) x * 0.5), one_of("f16"))), c("x * 0.5" = "lossless")
  )
})

test_that("wraps: an ambiguous integer follows a narrow one", {
  shift <- user(function(pixels) pixels + 300L)
  expect_identical(classes(explain_dtypes(shift, one_of("i8"))), c("pixels + 300L" = "wraps"))
  expect_identical(classes(explain_dtypes(user(function(x) x + 1L), one_of("i8"))), c("x + 1L" = "lossless"))
  add <- user(function(x, n) x + n)
  wide <- nv_abstract("i64", 3L, ambiguous = TRUE)
  expect_identical(classes(explain_dtypes(add, one_of("i8"), wide)), c("x + n" = "wraps"))
  # The value that comes out is the one that the report warns of.
  expect_identical(as.integer(shift(nv_tensor(1L, dtype = "i8"))), 45L)
})

test_that("drops sign: a negative number next to unsigned ones", {
  darken <- user(function(pixels) pixels + -10L)
  expect_identical(classes(explain_dtypes(darken, one_of("ui8"))), c("pixels + -10L" = "drops sign"))
  add <- user(function(x, n) x + n)
  report <- explain_dtypes(add, one_of("ui32"), nv_abstract("i32", 3L, ambiguous = TRUE))
  expect_identical(classes(report), c("x + n" = "drops sign"))
})

test_that("what the user converts, and what needs no conversion, is not reported", {
  f <- user(function(x, y) nv_convert(x, "f32") + y)
  expect_identical(nrow(explain_dtypes(f, one_of("f64"), one_of("f32"))), 0L)
  expect_identical(nrow(explain_dtypes(user(function(x) x * 2 + 0.1), one_of("f32"))), 0L)
  expect_identical(nrow(explain_dtypes(user(function(x) -x), one_of("i8"))), 0L)
  expect_identical(nrow(explain_dtypes(user(function() 1))), 0L)
})

# ---- what a report says ----

test_that("a report names line, call, operands, rule and result", {
  f <- sourced("model.R",
    "function(x, beta, offset) {",
    "  eta <- x %*% beta",
    "  if (TRUE) {",
    "    eta <- eta +",
    "      offset",
    "  }",
    "  eta",
    "}"
  )
  report <- explain_dtypes(f, matrix(0.1, 3, 2), one_of("f32", c(2, 1)), one_of("i64", c(3, 1)))
  expect_identical(report$file, c("model.R", "model.R"))
  expect_identical(report$line, c(2L, 4L))
  expect_identical(report$call, c("x %*% beta", "eta + offset"))
  expect_identical(report$operands, c("f32?, f32", "f32, i64"))
  expect_identical(report$operand, 1:2)
  expect_match(
    report$rule, "anvil: f32 and i64 give f32, a float wins over an integer", fixed = TRUE, all = FALSE
  )
  expect_identical(attr(report, "inputs"), c(x = "R's f32?[3, 2]", beta = "f32[2, 1]", offset = "i64[3, 1]"))
  expect_identical(attr(report, "outputs"), "f32[3, 1]")
  expect_identical(attr(report, "rules"), "anvil")
})

test_that("lines are those of the function that called, also without braces and through helpers", {
  plain <- sourced("a.R", "", "function(x, y)", "  x * y")
  expect_identical(explain_dtypes(plain, one_of("i32"), one_of("f64"))$line, 2L)
  helper <- sourced("helper.R", "function(x, y) {", "  z <- 1", "  x * y", "}")
  env <- list2env(list(helper = helper), parent = globalenv())
  outer <- sourced("outer.R", "function(x, y) {", "  helper(x, y)", "}")
  environment(outer) <- env
  report <- explain_dtypes(outer, one_of("i32"), one_of("f64"))
  expect_identical(report[c("file", "line")], data.frame(file = "helper.R", line = 3L), ignore_attr = TRUE)
  # Functions of base R on the way are not the user's.
  mapped <- sourced(
    "map.R", "function(x, y) {", "  out <- lapply(1:2, function(i) {", "    x * y", "  })", "  out", "}"
  )
  report <- explain_dtypes(mapped, one_of("i32"), one_of("f64"))
  expect_identical(report$line, 3L)
  expect_identical(report$times, 2L)
  # Without source references there is no line, but still the call.
  bare <- explain_dtypes(
    user(eval(parse(text = "function(x, y) x * y", keep.source = FALSE))), one_of("i32"), one_of("f64")
  )
  expect_identical(bare$line, NA_integer_)
  expect_identical(bare$call, "x * y")
})

test_that("lines are right for functions of R that find their method themselves", {
  f <- sourced("generics.R",
    "function(x, y) {",
    "  a <- t(x) + y",
    "  b <- mean(x)",
    "  d <- mean(x) + mean(t(x))",
    "  list(a, b, d)",
    "}"
  )
  report <- explain_dtypes(f, one_of("i32", c(3L, 2L)), one_of("f32", 2:3))
  expect_identical(report$call, c("t(x) + y", "mean(x)", "mean(x)", "mean(t(x))"))
  expect_identical(report$line, c(2L, 3L, 4L, 4L))
})

test_that("lines are right within the arguments of a function that a trace masks", {
  f <- sourced("masked.R", "function(x, y) {", "  z <- y", "  s <- sum(x * z)", "  s + max(y - x, 0)", "}")
  expect_identical(explain_dtypes(f, one_of("i32"), one_of("f64"))$line, c(3L, 4L, 4L))
})

test_that("code that was not read from a file has lines, and no file", {
  f <- eval(
    parse(text = c("function(x) {", "  x + 2.5", "}"), keep.source = TRUE), new.env(parent = globalenv())
  )
  report <- explain_dtypes(f, one_of("i32"))
  expect_identical(report$file, "")
  expect_identical(report$line, 2L)
  expect_output(print(report), "lossless  line 2  x + 2.5", fixed = TRUE)
  # As in a document. knitr keeps lines only with the package evaluate before 1.0.
  skip_if_not_installed("knitr")
  chunk <- c(
    "```{r}", "f <- function(x) {", "  x + 2.5", "}",
    "anvil::explain_dtypes(f, anvil::nv_abstract(\"i32\", 3L))", "```"
  )
  output <- knitr::knit(text = chunk, quiet = TRUE, envir = new.env(parent = globalenv()))
  expect_match(output, "lossless  (line 2  )?x \\+ 2\\.5")
})

test_that("the same line in a loop is one row", {
  f <- user(function(x) {
    for (i in 1:5) x <- x * 2L
    x
  })
  report <- explain_dtypes(f, one_of("f32"))
  expect_identical(nrow(report), 1L)
  expect_identical(report$times, 5L)
})

test_that("functions of the package count as one call", {
  report <- explain_dtypes(user(function(x) mean(x)), one_of("i32"))
  expect_identical(report$call, "mean(x)")
  expect_match(report$rule, "for an op on floats, anvil: i32 and f32? give f32?", fixed = TRUE)
  report <- explain_dtypes(user(function(x) sum(x > 0)), one_of("f32"))
  expect_identical(report$rule, "booleans are counted in i32")
  report <- explain_dtypes(user(function(x, y) nv_concatenate(x, y, 3L)), one_of("f32"), one_of("i8"))
  expect_identical(report$operand, 2:3)
  expect_identical(report$operands, rep("f32, i8, i32?", 2L))
})

test_that("concrete and abstract arguments give the same report, by name or position, nested or not", {
  f <- user(function(p, x = 1L) p$w * x + p$b[[1L]])
  abstract <- list(w = one_of("f32"), b = list(one_of("i64")))
  concrete <- list(w = nv_tensor(c(1, 2, 3), dtype = "f32"), b = list(nv_tensor(1:3, dtype = "i64")))
  plain <- function(report) as.data.frame(unclass(report))
  expect_identical(plain(explain_dtypes(f, abstract)), plain(explain_dtypes(f, p = concrete)))
  report <- explain_dtypes(f, x = one_of("i8"), abstract)
  expect_identical(attr(report, "inputs"), c(x = "i8[3]", "p$w" = "f32[3]", "p$b[[1]]" = "i64[3]"))
})

test_that("constants that a traced function makes are part of what it does", {
  f <- user(function(x) x + (nv_tensor(1:3, dtype = "i32") + nv_scalar(0.5, dtype = "f32")))
  report <- explain_dtypes(f, one_of("f32"))
  expect_identical(report$from, "i32")
  # Once more: the eager program that is kept must not hide it.
  expect_identical(report$from, explain_dtypes(f, one_of("f32"))$from)
})

test_that("rules are chosen as for ops", {
  f <- user(function(x, y) x * y)
  report <- explain_dtypes(f, one_of("i32"), one_of("f32"), rules = "numpy")
  expect_identical(report$to, c("f64", "f64"))
  expect_identical(attr(report, "rules"), "numpy")
  expect_match(report$rule[1L], "numpy: i32 and f32 give f64, the first type above them", fixed = TRUE)
  expect_identical(
    with_promotion_rules("numpy", explain_dtypes(f, one_of("i32"), one_of("f32")))$to, c("f64", "f64")
  )
  expect_error(
    explain_dtypes(f, one_of("i32"), one_of("f32"), rules = "strict"), class = "anvil_error_promotion"
  )
  expect_identical(getOption("anvil.promotion_rules"), "anvil")
})

test_that("jitted functions are traced with their own rules and static arguments", {
  f <- jit(user(function(x, n) if (n == 2L) x * 0.5 else x), static = "n", rules = "numpy")
  report <- explain_dtypes(f, one_of("i32"), n = 2L)
  expect_identical(report$to, c("f64", "f64")[seq_len(nrow(report))])
  expect_identical(attr(report, "inputs"), c(x = "i32[3]", n = "static 2L"))
  g <- user(function(x, n) if (n == 2L) x * 0.5 else x)
  expect_identical(nrow(explain_dtypes(g, one_of("i32"), 1L, static = "n")), 0L)
  by_name <- explain_dtypes(g, one_of("i32"), 1L, static = "n")
  expect_identical(explain_dtypes(g, one_of("i32"), 1L, static = 2), by_name)
})

test_that("rules are not given twice", {
  own <- jit(user(function(x, y) x * y), rules = "torch")
  expect_fields(
    explain_dtypes(own, one_of("i32"), one_of("f32"), rules = "numpy"), "anvil_error_arg", arg = "rules"
  )
  expect_identical(attr(explain_dtypes(own, one_of("i32"), one_of("f32")), "rules"), "torch")
  other <- jit(user(function(x, y) x * y))
  expect_identical(explain_dtypes(other, one_of("i32"), one_of("f32"), rules = "numpy")$to, c("f64", "f64"))
})

test_that("nothing is left behind by a function that fails", {
  f <- user(function(x, y) {
    x * y
    stop("no")
  })
  expect_error(explain_dtypes(f, one_of("i32"), one_of("f32")), "no")
  # A report that follows has its own rows only.
  expect_identical(nrow(explain_dtypes(user(function(x) x), one_of("i32"))), 0L)
})

test_that("a report is a data frame", {
  f <- user(function(x, y) (x * y) / 3L)
  report <- explain_dtypes(f, one_of("i32"), one_of("f32"))
  expect_s3_class(report, c("AnvilDtypeReport", "data.frame"), exact = TRUE)
  expect_identical(levels(report$class), c("lossless", "rounds", "overflows", "wraps", "drops sign"))
  expect_identical(report[report$class > "lossless", "call"], "x * y")
  expect_identical(nrow(subset(report, class == "lossless")), 1L)
  expect_identical(names(report[c("call", "to")]), c("call", "to"))
  expect_output(print(report[c("call", "to")]), "call")
})

test_that("reports print as text", {
  f <- sourced("model.R",
    "function(x, beta, n) {",
    "  eta <- x %*% beta",
    "  for (i in 1:3) eta <- eta + n",
    "  eta",
    "}"
  )
  report <- explain_dtypes(f, matrix(0.1, 3, 2), one_of("f32", c(2, 1)), one_of("i8", c(3, 1)))
  expect_snapshot(print(report))
  expect_snapshot(print(report, n = 1))
  expect_snapshot(print(explain_dtypes(user(function(x) x), one_of("f32"))))
  expect_fields(print(report, n = -1), "anvil_error_arg", arg = "n")
})

test_that("a summary counts the conversions of each class", {
  f <- user(function(x, y) (x * y) / 3L)
  report <- explain_dtypes(f, one_of("i32"), one_of("f32"))
  counts <- c(lossless = 1L, rounds = 1L, overflows = 0L, wraps = 0L, "drops sign" = 0L)
  expect_identical(summary(report), counts)
  expect_identical(summary(report[0L, ]), 0L * counts)
  expect_s3_class(summary(report[c("call", "to")]), "table")
})

test_that("bad arguments are errors that name the call", {
  expect_fields(explain_dtypes(3), "anvil_error_arg", arg = "f", got = "3")
  expect_error(explain_dtypes(user(function(x) x), "a"), class = "anvil_error_arg")
  expect_fields(
    explain_dtypes(user(function(x) x), one_of("f32"), rules = "R"), "anvil_error_arg", arg = "rules"
  )
  expect_fields(
    explain_dtypes(user(function(x) x), one_of("f32"), static = "y"), "anvil_error_arg", arg = "static"
  )
  expect_fields(
    explain_dtypes(jit(user(function(x) x)), one_of("f32"), static = "x"), "anvil_error_arg", arg = "static"
  )
  expect_error(explain_dtypes(user(function(x) "a"), one_of("f32")), class = "anvil_error_arg")
  expect_error(
    explain_dtypes(user(function(x) if (x) 1), one_of("i1", integer())), class = "anvil_error_concrete"
  )
})

# ---- warnings ----

test_that("jit() warns of the chosen classes, once, when it traces", {
  f <- jit(user(function(x) (x + 300L) * 2L), warn_promotion = "wraps")
  x <- nv_tensor(1:3, dtype = "i8")
  warning <- expect_warning(out <- f(x), class = "anvil_warning_promotion")
  expect_s3_class(warning, "anvil_warning")
  expect_identical(warning$conversions$call, "x + 300L")
  expect_match(conditionMessage(warning), "i32? to i8", fixed = TRUE)
  expect_identical(deparse1(conditionCall(warning)), "f(x)")
  expect_identical(as.integer(out), c(90L, 92L, 94L))
  expect_no_warning(f(x))
  # Another type is another trace: here nothing wraps.
  expect_no_warning(f(nv_tensor(1:3, dtype = "i16")))
})

test_that("several classes are one warning, others are none", {
  f <- function(...) jit(user(function(x, y, z) list(x * y, z + -1L)), ...)
  args <- list(nv_tensor(1:3), nv_scalar(1, dtype = "f32"), nv_tensor(1:3, dtype = "ui8"))
  warnings <- capture_warnings(do.call(f(warn_promotion = c("rounds", "drops sign")), args))
  expect_length(warnings, 1L)
  expect_match(warnings, "2 implicit conversions: 1 rounds, 1 drops sign")
  expect_no_warning(do.call(f(warn_promotion = "overflows"), args))
  expect_no_warning(do.call(f(), args))
})

test_that("a warning that is made an error leaves nothing behind", {
  f <- jit(user(function(x, y) x * y), warn_promotion = "rounds")
  old <- options(warn = 2)
  on.exit(options(old))
  expect_s3_class(tryCatch(f(nv_tensor(1:3), nv_scalar(2, dtype = "f32")), error = identity), "error")
  options(old)
  expect_identical(cache_info(f)$entries, 0L)
  expect_warning(f(nv_tensor(1:3), nv_scalar(2, dtype = "f32")), class = "anvil_warning_promotion")
})

test_that("a function that warns does so inside another trace, too", {
  inner <- jit(user(function(x, y) x * y), warn_promotion = "rounds")
  outer <- function(x, y) inner(x, y) + 1L
  environment(outer) <- list2env(list(inner = inner), parent = globalenv())
  warning <- expect_warning(
    jit(outer)(nv_tensor(1:3), nv_scalar(2, dtype = "f32")), class = "anvil_warning_promotion"
  )
  expect_identical(warning$conversions$call, "x * y")
  # And a report of the outer one has both conversions.
  report <- suppressWarnings(explain_dtypes(outer, one_of("i32"), one_of("f32")))
  expect_identical(report$call, c("x * y", "inner(x, y) + 1L"))
})

test_that("classes are checked when the function is made", {
  expect_fields(
    jit(user(function(x) x), warn_promotion = "round"), "anvil_error_arg", arg = "warn_promotion",
    got = "\"round\""
  )
  expect_fields(
    jit(user(function(x) x), warn_promotion = TRUE), "anvil_error_arg", arg = "warn_promotion", got = "TRUE"
  )
})
