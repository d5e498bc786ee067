# What print() shows, line by line.
printed <- function(x, ...) capture.output(print(x, ...))
# The lines between header and footer.
body_of <- function(x) {
  lines <- printed(x)
  lines[-c(1L, length(lines))]
}
# Sets print options for the rest of a test.
local_options <- function(..., frame = parent.frame()) {
  old <- options(...)
  do.call(on.exit, list(bquote(options(.(old))), add = TRUE), envir = frame)
}
truncated <- " ... [output was truncated, set options(anvil.print_max_rows = -1) to see all]"

test_that("a tensor prints with header, rows and footer", {
  expect_identical(
    printed(nv_tensor(1:4, dtype = "i32", shape = c(4, 1))),
    c("AnvilTensor", " 1", " 2", " 3", " 4", "[ CPUi32{4,1} ]")
  )
  expect_identical(printed(nv_scalar(1)), c("AnvilTensor", " 1", "[ CPUf32?{} ]"))
  expect_identical(printed(nv_tensor(c(1, 2.5))), c("AnvilTensor", " 1.0000", " 2.5000", "[ CPUf32{2} ]"))
  expect_identical(printed(nv_tensor(c(TRUE, FALSE))), c("AnvilTensor", " 1", " 0", "[ CPUi1{2} ]"))
  expect_identical(
    printed(nv_tensor(c(Inf, -Inf, NaN, 1))),
    c("AnvilTensor", "  inf", " -inf", "  nan", "    1", "[ CPUf32{4} ]")
  )
  expect_identical(printed(nv_scalar(2, "f64")), c("AnvilTensor", " 2", "[ CPUf64{} ]"))
})

test_that("the header can be left out, and the tensor is returned invisibly", {
  x <- nv_scalar(1)
  expect_identical(printed(x, header = FALSE), c(" 1", "[ CPUf32?{} ]"))
  expect_output(expect_invisible(print(x)))
  expect_output(expect_identical(print(x), x))
  # Other arguments of print() are not in the way.
  expect_identical(printed(x, quote = FALSE), printed(x))
})

test_that("numbers have the digits that are asked for, in R's layout", {
  x <- c(b = 123.456789, a = 1e-3)
  for (data in list(x, unname(x), array(x, c(2, 2, 2)), x + 1i)) {
    as_r <- capture.output(print(data, digits = 3))
    tensor <- nv_tensor(data)
    expect_identical(printed(tensor, header = FALSE, digits = 3), c(as_r, tail(printed(tensor), 1L)))
  }
  expect_identical(printed(nv_scalar(pi), digits = 3L)[2L], "[1] 3.14")
  # Whole numbers have all of theirs.
  expect_identical(printed(nv_tensor(123456:123458), digits = 3), printed(nv_tensor(123456:123458)))
  expect_match(printed(nv_tensor(1:100 / 7), digits = 3), "omitted 70 entries", all = FALSE)
  for (bad in list("3", -1, 1.5, 23)) {
    expect_fields(print(nv_scalar(1), digits = bad), "anvil_error_arg", arg = "digits")
  }
})

test_that("the footer tells dtype, ambiguity and shape", {
  footer <- function(x) tail(printed(x), 1L)
  for (dtype in dtypes) {
    expect_identical(footer(nv_tensor(1, dtype, 3)), sprintf("[ CPU%s{3} ]", dtype))
    expect_identical(footer(nv_scalar(1, dtype, ambiguous = TRUE)), sprintf("[ CPU%s?{} ]", dtype))
  }
  expect_identical(footer(nv_tensor(1, shape = 1:5)), "[ CPUf32{1,2,3,4,5} ]")
})

test_that("nothing stands between header and footer for no elements", {
  expect_identical(printed(nv_empty("f32", 0)), c("AnvilTensor", "[ CPUf32{0} ]"))
  expect_identical(printed(nv_empty("i1", c(3, 0))), c("AnvilTensor", "[ CPUi1{3,0} ]"))
  expect_identical(printed(nv_empty("f64", c(2, 0, 4))), c("AnvilTensor", "[ CPUf64{2,0,4} ]"))
})

test_that("columns are aligned to the right, one width for all of a window", {
  expect_identical(body_of(nv_tensor(matrix(1:6, 2))), c(" 1 3 5", " 2 4 6"))
  expect_identical(
    body_of(nv_tensor(matrix(c(1, 10, 100, -1000), 2, byrow = TRUE))), c("     1    10", "   100 -1000")
  )
  expect_identical(body_of(nv_tensor(c(8, 9, 10))), c("  8", "  9", " 10"))
})

test_that("a vector of more than ten elements prints in rows, as R's do", {
  local_options(width = 80, anvil.print_max_rows = -1)
  for (n in c(11, 20, 99, 100, 101, 345)) {
    expect_identical(body_of(nv_tensor(seq_len(n))), capture.output(print(seq_len(n))), label = n)
    expect_identical(body_of(nv_tensor(-seq_len(n), "i64")), capture.output(print(-seq_len(n))), label = n)
    expect_identical(body_of(nv_tensor(seq_len(n) / 4)), capture.output(
      print(noquote(sprintf("%.4f", seq_len(n) / 4)), right = TRUE)
    ), label = n)
  }
  for (width in c(20, 40, 137)) {
    options(width = width)
    expect_identical(body_of(nv_tensor(1:50)), capture.output(print(1:50)), label = width)
  }
  # Ours goes before R's.
  options(width = 80)
  local_options(anvil.print_max_width = 40)
  expect_identical(body_of(nv_tensor(1:50))[5L], "[49] 49 50")
  options(anvil.print_max_width = -1)
  expect_length(body_of(nv_tensor(1:50)), 1L)
  options(anvil.print_max_width = NULL)
  expect_identical(printed(nv_tensor(1:11))[c(1, 3)], c("AnvilTensor", "[ CPUi32{11} ]"))
  # Ten are a column, and so is a matrix of one.
  expect_length(body_of(nv_tensor(1:10)), 10L)
  expect_length(body_of(nv_tensor(1:20, shape = c(20, 1))), 20L)
  # One notation for all, and its scale before them.
  scaled <- body_of(nv_tensor(rep(c(1.5e-7, 2.5e-7), 6), "f64"))
  expect_identical(scaled, c("1e-07 *", paste0(" [1] ", paste(rep(c("1.5000", "2.5000"), 5), collapse = " ")),
    "[11] 1.5000 2.5000"))
  big <- nv_tensor(rep("9007199254740993", 12), "i64")
  expect_identical(body_of(big)[3L], paste(" [9]", paste(rep("9007199254740993", 4), collapse = " ")))
  complex <- body_of(nv_tensor(rep(1+2i, 11)))
  expect_identical(complex, paste(" [1]", paste(rep("1+2i", 11), collapse = " ")))
  expect_identical(body_of(nv_tensor(rep(c(TRUE, FALSE), 6))), " [1] 1 0 1 0 1 0 1 0 1 0 1 0")
})

test_that("more than two axes print slice by slice, last index fastest", {
  expect_identical(body_of(nv_tensor(array(1:24, c(2, 3, 4)))), c(
    "(1,.,.) =", "  1  7 13 19", "  3  9 15 21", "  5 11 17 23", "",
    "(2,.,.) =", "  2  8 14 20", "  4 10 16 22", "  6 12 18 24"
  ))
  expect_identical(body_of(nv_tensor(array(1:16, c(2, 2, 2, 2)))), c(
    "(1,1,.,.) =", "  1  9", "  5 13", "", "(1,2,.,.) =", "  3 11", "  7 15", "",
    "(2,1,.,.) =", "  2 10", "  6 14", "", "(2,2,.,.) =", "  4 12", "  8 16"
  ))
  # The width is that of the slice.
  expect_identical(
    body_of(nv_tensor(array(c(1, 1000), c(2, 1, 1)))), c("(1,.,.) =", " 1", "", "(2,.,.) =", " 1000")
  )
})

test_that("integers print all digits", {
  values <- c("0", "123456", "-1234567", "9007199254740993", "9223372036854775807", "-9223372036854775808")
  for (value in values) expect_identical(body_of(nv_tensor(value, "i64")), paste0(" ", value))
  expect_identical(
    body_of(nv_tensor(c("18446744073709551615", "5"), "ui64")),
    c(" 18446744073709551615", "                    5")
  )
  expect_identical(body_of(nv_tensor(c("-2147483648", "-128"), "i32")), c(" -2147483648", "        -128"))
})

test_that("floats that are all whole print as integers", {
  expect_identical(body_of(nv_tensor(c(1, -2, 100000))), c("      1", "     -2", " 100000"))
  expect_identical(body_of(nv_tensor(c(-0, 3))), c(" 0", " 3"))
  expect_identical(body_of(nv_tensor(c(1e6, 1, NaN), "f64")), c(" 1000000", "       1", "     nan"))
  expect_identical(body_of(nv_tensor(c(1e12, 1), "f64")), c(" 1.0000e+12", " 1.0000e+00"))
  expect_identical(body_of(nv_scalar(2^63, "f64")), " 9.2234e+18")
  expect_identical(body_of(nv_scalar(-1e300, "f64")), " -1.0000e+300")
  expect_identical(body_of(nv_tensor(c(NaN, Inf))), c(" nan", " inf"))
  expect_identical(body_of(nv_tensor(NA_real_, "f64")), " nan")
})

test_that("other floats choose one notation for the whole slice", {
  # Four decimals, if all are between 1e-4 and 1e6.
  expect_identical(
    body_of(nv_tensor(c(0.00011, 999999.5, 0), "f64")), c("      0.0001", " 999999.5000", "      0.0000")
  )
  expect_identical(body_of(nv_tensor(c(100011.234567, NaN))), c(" 100011.2344", "         nan"))
  expect_identical(body_of(nv_tensor(c(-0, 0.5))), c(" 0.0000", " 0.5000"))
  # One power of ten, if all have the same: with its sign.
  expect_identical(body_of(nv_tensor(c(1234567.5, -2345678.25), "f64")), c("1e+06 *", "  1.2346", " -2.3457"))
  expect_identical(body_of(nv_tensor(c(1e-7, 2.5e-7))), c("1e-07 *", " 1.0000", " 2.5000"))
  expect_identical(body_of(nv_tensor(c(1e-120, 2e-120), "f64")), c("1e-120 *", " 1.0000", " 2.0000"))
  # Scientific, for one value alone, and for all others.
  expect_identical(body_of(nv_tensor(1234567.5, "f64")), " 1.2346e+06")
  expect_identical(body_of(nv_scalar(1e-10)), " 1.0000e-10")
  expect_identical(body_of(nv_tensor(c(1e10, 1.5, -Inf))), c(" 1.0000e+10", " 1.5000e+00", "       -inf"))
  # The limits themselves are outside.
  expect_identical(body_of(nv_tensor(c(1e-4, 0.5), "f64")), c(" 1.0000e-04", " 5.0000e-01"))
  # Each slice chooses by itself.
  expect_identical(
    body_of(nv_tensor(array(c(1, 0.5, 2, 0.25), c(2, 2, 1)))),
    c("(1,.,.) =", " 1", " 2", "", "(2,.,.) =", " 0.5000", " 0.2500")
  )
  # Values that are not printed count too.
  local_options(anvil.print_max_rows = 1)
  expect_identical(body_of(nv_tensor(c(1, 1.5)))[1], " 1.0000")
})

test_that("a matrix that is too wide prints in windows of columns", {
  wide <- nv_tensor(matrix(1:60, 2))
  lines <- body_of(wide)
  expect_identical(lines[c(1, 4)], c("Columns 1 to 28", "Columns 29 to 30"))
  expect_identical(lines[5:6], c(" 57 59", " 58 60"))
  expect_true(all(nchar(lines) <= 85))
  expect_identical(nchar(lines[2]), 84L)

  local_options(anvil.print_max_width = 6)
  # Two columns of width 2 take a leading space, and one between: 6 characters.
  expect_identical(
    body_of(nv_tensor(matrix(c(10, 11, 12), 1))), c("Columns 1 to 2", " 10 11", "Columns 3 to 3", " 12")
  )
  # One column is printed, however wide.
  expect_identical(
    body_of(nv_tensor(matrix(c(100000, 200000), 1))),
    c("Columns 1 to 1", " 100000", "Columns 2 to 2", " 200000")
  )
  expect_identical(body_of(nv_tensor(100000)), " 100000")
  # The width is that of the window.
  options(anvil.print_max_width = 8)
  expect_identical(
    body_of(nv_tensor(matrix(c(1, 2, 3, 4, 1000, 1), 1))),
    c("Columns 1 to 4", " 1 2 3 4", "Columns 5 to 5", " 1000", "Columns 6 to 6", " 1")
  )
  options(anvil.print_max_width = -1)
  expect_length(body_of(wide), 2L)
  options(anvil.print_max_width = Inf)
  expect_length(body_of(wide), 2L)
})

test_that("rows are printed until the budget is spent", {
  expect_length(body_of(nv_tensor(1:30, shape = c(30, 1))), 30L)
  lines <- body_of(nv_tensor(1:31, shape = c(31, 1)))
  expect_identical(lines[30:31], c(" 30", truncated))

  local_options(anvil.print_max_rows = 2)
  expect_identical(body_of(nv_tensor(1:2)), c(" 1", " 2"))
  expect_identical(body_of(nv_tensor(1:5)), c(" 1", " 2", truncated))
  expect_identical(
    body_of(nv_tensor(array(1:24, c(2, 3, 4)))), c("(1,.,.) =", "  1  7 13 19", "  3  9 15 21", truncated)
  )
  # A slice that spends the budget exactly is followed by no other.
  expect_identical(body_of(nv_tensor(array(1:4, c(2, 2, 1)))), c("(1,.,.) =", " 1", " 3", truncated))
  expect_identical(body_of(nv_tensor(array(1:2, c(1, 2, 1)))), c("(1,.,.) =", " 1", " 2"))
  # So is a window.
  options(anvil.print_max_width = 4)
  expect_identical(body_of(nv_tensor(matrix(1:6, 2))), c("Columns 1 to 2", " 1 3", " 2 4", truncated))
  options(anvil.print_max_width = NULL)

  options(anvil.print_max_rows_slice = 1)
  expect_identical(
    body_of(nv_tensor(array(1:8, c(2, 2, 2)))), c("(1,.,.) =", " 1 5", "", "(2,.,.) =", " 2 6", truncated)
  )
  options(anvil.print_max_rows_slice = NULL, anvil.print_max_rows = -1)
  column <- nv_tensor(1:100, shape = c(100, 1))
  expect_length(body_of(column), 100L)
  options(anvil.print_max_rows = Inf)
  expect_length(body_of(column), 100L)
  # Rows of a vector, too.
  options(anvil.print_max_rows = 2, width = 80)
  expect_identical(body_of(nv_tensor(1:1000))[2:3], c(
    paste(c("  [25]", 25:48), collapse = " "), truncated
  ))
})

test_that("options that are no limits are refused by name", {
  for (option in c("anvil.print_max_rows", "anvil.print_max_width", "anvil.print_max_rows_slice")) {
    for (bad in list(0, NA, NaN, "10", 1.5, c(1, 2), TRUE, list(3))) {
      local_options(setNames(list(bad), option))
      expect_fields(print(nv_scalar(1)), "anvil_error_arg", arg = option)
      options(setNames(list(NULL), option))
    }
  }
})

test_that("format(), str() and summary() say what they hold", {
  expect_identical(format(nv_tensor(1:4, shape = c(4, 1))), "AnvilTensor(dtype=i32, shape=4x1)")
  expect_identical(format(nv_scalar(1)), "AnvilTensor(dtype=f32?, shape=)")
  expect_identical(format(nv_empty("i8", 0)), "AnvilTensor(dtype=i8, shape=0)")

  expect_identical(capture.output(str(nv_tensor(c(1, 2.5)))), " AnvilTensor(dtype=f32, shape=2): 1.0 2.5")
  expect_identical(
    capture.output(str(nv_tensor(1:20))), " AnvilTensor(dtype=i32, shape=20): 1 2 3 4 5 6 7 8 9 10 ..."
  )
  expect_identical(
    capture.output(str(list(a = nv_scalar(TRUE)))),
    c("List of 1", " $ a: AnvilTensor(dtype=i1, shape=): TRUE")
  )
  expect_match(capture.output(str(nv_empty("f32", 0))), "^ AnvilTensor\\(dtype=f32, shape=0\\):")

  # Integers keep their digits.
  expect_identical(
    capture.output(str(nv_tensor(c("9007199254740993", "-5"), "i64"))),
    " AnvilTensor(dtype=i64, shape=2): 9007199254740993 -5"
  )
  expect_silent(capture.output(str(nv_tensor("18446744073709551615", "ui64"))))
  expect_identical(
    capture.output(str(nv_tensor(matrix(1:4, 2)))), " AnvilTensor(dtype=i32, shape=2x2): 1 2 3 4"
  )

  expect_equal(summary(nv_tensor(c(1, 2, 10))), summary(c(1, 2, 10)))
  expect_equal(summary(nv_tensor(matrix(1:6, 2))), summary(1:6))
  expect_equal(summary(nv_tensor(c(TRUE, FALSE))), summary(c(TRUE, FALSE)))
})

test_that("format() with arguments of base R's formats elements, and data frames show them", {
  x <- nv_tensor(c(1, pi, NaN), "f64")
  expect_identical(format(x, digits = 3), format(array(c(1, pi, NaN)), digits = 3))
  expect_identical(format(x, nsmall = 2L), format(array(c(1, pi, NaN)), nsmall = 2L))
  m <- nv_tensor(matrix(1:4, 2))
  expect_identical(format(m, width = 5), format(matrix(1:4, 2), width = 5))
  big <- c("9007199254740993", "-5")
  expect_identical(c(format(nv_tensor(big, "i64"), digits = 3)), format(big, justify = "right"))

  data <- data.frame(n = 1:2)
  data$x <- nv_tensor(c(0.5, 2))
  data$i <- nv_tensor(big, "i64")
  data$m <- m
  expect_identical(capture.output(print(data)), c(
    "  n   x                i m.1 m.2", "1 1 0.5 9007199254740993   1   3", "2 2 2.0               -5   2   4"
  ))
  expect_identical(dim(summary(data[c("n", "x")])), c(6L, 2L))
  expect_identical(nrow(head(data, 1)), 1L)
})

test_that("base R's looks at tensors are those at R's vectors", {
  x <- nv_tensor(c(3, 1, 2), "f64")
  m <- nv_tensor(matrix(1:6, 2))
  expect_identical(seq_along(m), 1:6)
  expect_identical(lengths(list(x, m, nv_scalar(1))), c(3L, 6L, 1L))
  expect_identical(as.vector(lengths(x)), c(1L, 1L, 1L))
  expect_identical(as.list(x), list(3, 1, 2))
  expect_identical(head(x, 2), nv_tensor(c(3, 1), "f64"))
  expect_identical(tail(m, 1), m[2, , drop = FALSE])
  expect_identical(toString(nv_tensor("9007199254740993", "i64")), "9007199254740993")
  expect_identical(paste(nv_tensor(c("18446744073709551615", "0"), "ui64")), c("18446744073709551615", "0"))
  # What is not a name is told once, where it is asked for.
  named <- nv_tensor(c(a = 1, b = 2))
  expect_identical(names(named), c("a", "b"))
  expect_identical(names(named + 1), c("a", "b"))
  expect_error(nv_sort(named)["a"], "no names: `?nv_tensor` says", fixed = TRUE, class = "anvil_error_index")
})

test_that("values show themselves at top level, alone and in lists", {
  out <- run_r(c(
    "nv_scalar(1)", "list(a = nv_scalar(2L))", "invisible(nv_scalar(3))",
    "jit(function(x) { print(x); x })(nv_tensor(1:2))"
  ))
  expect_identical(out, c(
    "AnvilTensor", " 1", "[ CPUf32?{} ]",
    "$a", "AnvilTensor", " 2", "[ CPUi32?{} ]", "",
    "AnvilTracer(dtype=i32, shape=2)",
    "AnvilTensor", " 1", " 2", "[ CPUi32{2} ]"
  ))
  # show() is what autoprint calls for objects with the S4 bit.
  expect_identical(capture.output(methods::show(nv_scalar(1))), printed(nv_scalar(1)))
})

test_that("a traced value prints its type", {
  f <- jit(function(x, y) {
    print(x)
    str(y)
    cat(format(x * 1), "\n")
    x
  })
  lines <- capture.output(invisible(f(nv_tensor(1:3), 2)))
  expect_identical(lines, c(
    "AnvilTracer(dtype=i32, shape=3)", " AnvilTracer(dtype=f32?, shape=)", "AnvilTracer(dtype=f32?, shape=3) "
  ))
})

test_that("complex numbers print as in R, with four decimals, part under part", {
  lines <- function(x) head(capture.output(print(x, header = FALSE)), -1L)
  expect_identical(lines(nv_tensor(c(1+2i, 3-4.5i))), c(" 1.0000+2.0000i", " 3.0000-4.5000i"))
  # Whole, signed, zero, as format() of R has it.
  whole <- c(1+2i, 10-10i, -3+0i, 0-100i)
  expect_identical(lines(nv_tensor(whole, "c128")), paste0(" ", format(whole)))
  expect_identical(lines(nv_scalar(1i)), " 0+1i")
  expect_identical(lines(nv_tensor(complex(real = -0, imaginary = -0))), " 0+0i")
  expect_identical(
    lines(nv_tensor(matrix(c(1+2i, 10-10.5i, NaN, complex(real = 1, imaginary = -Inf)), 2))),
    c("  1.0000+ 2.0000i     nan+ 0.0000i", " 10.0000-10.5000i  1.0000-    infi")
  )
  expect_identical(lines(nv_tensor(c(1e-10i, 1))), c(" 0.0000e+00+1.0000e-10i", " 1.0000e+00+0.0000e+00i"))
  expect_identical(lines(nv_empty("c64", 0)), character())
  expect_identical(tail(capture.output(print(nv_scalar(1i))), 1L), "[ CPUc64?{} ]")
  # Windows and rows are cut as those of real numbers are.
  wide <- lines(nv_tensor((1:60) + 1i, shape = c(2, 30)))
  expect_identical(
    wide[1:2],
    c("Columns 1 to 14", paste0(" ", paste(format(1:27)[c(TRUE, FALSE)], collapse = "+1i "), "+1i"))
  )
  expect_length(lines(nv_fill(1i, c(100, 1))), 31L)
  expect_output(str(nv_tensor(c(1+2i, 3i))), "AnvilTensor(dtype=c64, shape=2): 1+2i 0+3i", fixed = TRUE)
  expect_identical(format(nv_tensor(1i)), "AnvilTensor(dtype=c64, shape=1)")
})

test_that("functions of R print what they computed of tensors, and choose among its elements", {
  x <- c(1, 2, 3, 5)
  y <- c(2, 3, 4, 7)
  shown <- function(x, y) {
    lines <- capture.output(summary(lm(y ~ x)))
    grep("^\\(Intercept|^Residual standard|^Multiple|^F-stat", lines, value = TRUE)
  }
  expect_length(shown(x, y), 4L)
  expect_identical(shown(nv_tensor(x, "f64"), nv_tensor(y, "f64")), shown(x, y))
  expect_output(print(t.test(nv_tensor(x, "f64"), nv_tensor(y, "f64"))), "p-value = 0.4007", fixed = TRUE)
  fit <- lm(y ~ x)
  of_tensors <- local({ x <- nv_tensor(x, "f64"); y <- nv_tensor(y, "f64"); lm(y ~ x) })
  expect_equal(as.vector(confint(of_tensors)), as.vector(confint(fit)))
  expect_equal(as.vector(diag(vcov(of_tensors))), as.vector(diag(vcov(fit))))
  # Of the user's, it says what it is.
  expect_identical(format(nv_scalar(1L, "i32")), "AnvilTensor(dtype=i32, shape=)")
  expect_identical(sapply(list(nv_scalar(1L, "i32")), format), "AnvilTensor(dtype=i32, shape=)")

  x <- nv_tensor(c(1.5, -2, 3), "f32")
  expect_nv <- function(got, elements, type) {
    expect_true(inherits(got, "AnvilTensor"))
    expect_identical(as.vector(got), elements)
    expect_identical(paste0(as.character(dtype(got)), if (ambiguous(got)) "?"), type)
  }
  expect_nv(base::ifelse(x > 0, x, 0), c(1.5, 0, 3), "f32")
  expect_nv(base::ifelse(x > 0, nv_tensor(1:3), 0.5), c(1, 0.5, 3), "f32?")
  expect_nv(base::ifelse(nv_tensor(matrix(1:4, 2)) > 2L, 7, 0), c(0, 0, 7, 7), "f32?")
  expect_identical(base::ifelse(x > 0, "a", "b"), c("a", "b", "a"))
  expect_identical(base::ifelse(x > 0, NA, x), c(NA, -2, NA))
  expect_identical(as.vector(round(nv_tensor(1.26, "f64"), nv_scalar(1))), 1.3)
})

test_that("a data frame of traced columns prints a line for each row", {
  d <- data.frame(x = c(1.5, 2), f = factor(c("a", "b")), k = 1:2)
  f <- user(function(d, x) {
    d$x <- x
    d$k <- 1:2
    print(d)
    x
  })
  expect_silent(shown <- capture.output(invisible(jit(f)(d, nv_tensor(c(1.5, 2), "f64")))))
  expect_identical(shown, c("    x      f k", "1 f64 factor 1", "2 f64 factor 2"))
})
