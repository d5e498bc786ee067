type_of <- function(x) paste0(as.character(dtype(x)), if (ambiguous(x)) "?")
matrix_of <- function(x) {
  out <- as.matrix(x)
  if (.row_names_info(x) <= 0) rownames(out) <- NULL
  out
}

test_that("a data frame becomes a matrix with the names of its columns and rows", {
  for (data in list(cars, mtcars, head(iris[1:4]), airquality[1:4, ], cars[0, ], cars[3, ])) {
    x <- as_nv_tensor(data, "f64")
    expect_identical(as_array(x), `storage.mode<-`(matrix_of(data), "double"), ignore_attr = FALSE)
    expect_identical(type_of(x), "f64")
  }
  expect_identical(dimnames(as_nv_tensor(mtcars)), dimnames(mtcars))
  expect_identical(shape(as_nv_tensor(data.frame())), c(0L, 0L))
  expect_identical(shape(as_nv_tensor(cars[, 0])), c(50L, 0L))
})

test_that("the dtype of a data frame follows from the kinds of its columns", {
  type <- function(...) type_of(as_nv_tensor(data.frame(...)))
  f <- factor(c("b", "a"))
  day <- as.Date(c("2024-01-01", "2024-01-02"))
  expect_identical(type(c(TRUE, FALSE)), "i1")
  expect_identical(type(c(TRUE, FALSE), 1:2), "i32")
  expect_identical(type(f), "i32")
  expect_identical(type(1:2, f, c(1, 2)), "f32")
  expect_identical(type(1:2, day), "f64")
  expect_identical(type(c(1, 2), c(1i, 2)), "c64")
  expect_identical(type(as.raw(1:2)), "i32")
  expect_nv(as_nv_tensor(data.frame(a = 1:2, f = f), "i8"), c(1, 2, 2, 1), "i8", c(2L, 2L))
  expect_error(as_nv_tensor(data.frame(a = c(0.5, 1)), "i32"), class = "anvil_error_value")
})

test_that("factors are codes, or one column for each level", {
  f <- factor(c("low", "high", "low", "mid"), levels = c("low", "mid", "high", "none"))
  expect_nv(as_nv_tensor(f), c(1, 3, 1, 2), "i32")
  expect_nv(as_nv_tensor(f[2]), 3, "i32", integer())
  expect_identical(levels(f)[as.integer(as_nv_tensor(f))], as.character(f))
  hot <- as_nv_tensor(f, factors = "one_hot")
  expect_nv(hot, sapply(levels(f), function(l) f == l), "f32")
  expect_identical(colnames(hot), levels(f))
  expect_identical(as_array(as_nv_tensor(f, "f64", factors = "one_hot")), {
    contrasts <- model.matrix(~ f - 1, contrasts.arg = list(f = contrasts(f, contrasts = FALSE)))
    matrix(contrasts, nrow(contrasts), dimnames = list(NULL, levels(f)))
  })
  expect_nv(as_nv_tensor(f, "i1", factors = "one_hot")[, 2], f == "mid", "i1")
  data <- data.frame(x = c(0.5, 1, 2, 3), f = f)
  hot <- as_nv_tensor(data, factors = "one_hot")
  expect_identical(colnames(hot), c("x", paste0("f", levels(f))))
  expect_nv(as_nv_tensor(ordered(c("b", "a"))), c(2, 1), "i32")
  expect_nv(as_nv_tensor(factor(character())), integer(), "i32")
  expect_identical(shape(as_nv_tensor(factor(character()), factors = "one_hot")), c(0L, 0L))
  expect_error(as_nv_tensor(f, factors = "two"), class = "anvil_error_arg")
})

test_that("times are f64 unless a dtype is said", {
  day <- as.Date(c("1970-01-01", "2024-02-29"))
  expect_nv(as_nv_tensor(day), c(0, 19782), "f64")
  expect_nv(as_nv_tensor(day, "i32"), c(0, 19782), "i32")
  second <- as.POSIXct("2024-02-29 12:34:56.25", tz = "UTC")
  expect_nv(as_nv_tensor(second), as.double(second), "f64", integer())
  expect_nv(as_nv_tensor(as.POSIXlt(second)), as.double(second), "f64", integer())
  expect_nv(as_nv_tensor(data.frame(t = c(second, second + 1))), as.double(second) + 0:1, "f64", c(2L, 1L))
  expect_nv(as_nv_tensor(as.difftime(c(1, 2.5), units = "hours")), c(1, 2.5), "f64")
  expect_error(as_nv_tensor(day + 0.5, "i32"), class = "anvil_error_value")
})

test_that("time series and tables are the numbers that they hold", {
  expect_nv(as_nv_tensor(ts(c(1, 4, 2), start = 2000)), c(1, 4, 2), "f32")
  expect_nv(as_nv_tensor(EuStockMarkets[1:2, ]), EuStockMarkets[1:2, ], "f32", tolerance = 1e-7)
  counts <- as_nv_tensor(table(mtcars$cyl, mtcars$gear))
  expect_nv(counts, table(mtcars$cyl, mtcars$gear), "i32", c(3L, 3L))
  expect_identical(unname(dimnames(counts)), unname(dimnames(table(mtcars$cyl, mtcars$gear))))
})

test_that("64-bit integers keep their digits, alone and in data frames", {
  skip_if_not_installed("bit64")
  big <- bit64::as.integer64(c("9007199254740993", "-1"))
  expect_identical(as.character(as_nv_tensor(big)), c("9007199254740993", "-1"))
  x <- as_nv_tensor(data.frame(a = big, b = 1:2, l = c(TRUE, FALSE)))
  expect_identical(type_of(x), "i64")
  expect_identical(as.character(x[, 1]), c("9007199254740993", "-1"))
  expect_identical(colnames(x), c("a", "b", "l"))
  expect_nv(as_nv_tensor(data.frame(a = big[2], b = 0.5)), c(-1, 0.5), "f32", c(1L, 2L))
  missing <- c(big, NA)
  expect_error(as_nv_tensor(missing), "1 missing value", class = "anvil_error_value")
  expect_error(as_nv_tensor(data.frame(missing)), "`missing` (1)", fixed = TRUE, class = "anvil_error_value")
  expect_identical(as.character(as_nv_tensor(missing, na = "omit")), c("9007199254740993", "-1"))
  expect_nv(as_nv_tensor(missing, "f64", na = "nan"), c(2^53, -1, NaN), "f64")
  expect_nv(as_nv_tensor(bit64::as.integer64(0)), 0, "i64", integer())
})

test_that("matrices in columns become columns, as in as.matrix()", {
  data <- data.frame(m = I(matrix(1:4, 2)), z = c(0.5, 1))
  data$k <- matrix(5:8, 2, dimnames = list(NULL, c("u", "v")))
  x <- as_nv_tensor(data, "f64")
  expect_identical(as_array(x), `rownames<-`(as.matrix(data), NULL))
})

test_that("missing values are an error that counts them, unless na says otherwise", {
  error <- expect_error(as_nv_tensor(airquality), class = "anvil_error_value")
  expect_match(conditionMessage(error), "44 missing values, in `Ozone` (37), `Solar.R` (7)", fixed = TRUE)
  expect_match(deparse1(conditionCall(error)), "as_nv_tensor(airquality)", fixed = TRUE)
  expect_identical(
    as_array(as_nv_tensor(airquality, "f64", na = "omit")),
    `storage.mode<-`(`rownames<-`(as.matrix(na.omit(airquality)), NULL), "double")
  )
  nan <- as_nv_tensor(airquality, "f64", na = "nan")
  expect_identical(as.vector(is.nan(as_array(nan))), as.vector(is.na(as.matrix(airquality))))
  expect_identical(type_of(as_nv_tensor(data.frame(a = c(1L, NA), b = c(TRUE, NA)), na = "nan")), "f32")
  expect_identical(type_of(as_nv_tensor(data.frame(a = 1:2), na = "nan")), "f32")
  expect_error(as_nv_tensor(data.frame(a = c(1L, NA)), "i32", na = "nan"), class = "anvil_error_value")
  for (x in list(c(1L, NA, 3L), c(TRUE, NA, TRUE), factor(c("a", NA, "c"), c("a", "b", "c")), c(1, NA, 3))) {
    expect_error(as_nv_tensor(x, na = "error"), class = "anvil_error_value")
    expect_identical(is.nan(as.double(as_nv_tensor(x, na = "nan"))), c(FALSE, TRUE, FALSE))
    expect_identical(as.double(as_nv_tensor(x, na = "omit")), as.double(x)[-2])
  }
  hot <- as_nv_tensor(factor(c("a", NA, "b")), na = "nan", factors = "one_hot")
  expect_identical(as.double(is.nan(hot)), c(0, 1, 0, 0, 1, 0))
  expect_error(as_nv_tensor(factor(c("a", NA))), class = "anvil_error_value")
  expect_error(as_nv_tensor(as.Date(c("2024-01-01", NA))), class = "anvil_error_value")
  expect_identical(shape(as_nv_tensor(c(NA, 1), na = "omit")), 1L)
  expect_identical(shape(as_nv_tensor(NA_real_, na = "omit")), 0L)
  m <- matrix(c(1, NA, 3, 4), 2)
  expect_nv(as_nv_tensor(m, na = "omit"), c(1, 3), "f32", c(1L, 2L))
  # A bare NA of doubles is NaN, as in nv_tensor().
  expect_nv(as_nv_tensor(c(1, NA)), c(1, NaN), "f32")
  expect_error(as_nv_tensor(cars, na = "drop"), class = "anvil_error_arg")
})

test_that("NA becomes a number in no dtype, whichever way it comes in", {
  f <- nv_tensor(c(1.5, 2, 3))
  i <- nv_tensor(1:3)
  b <- nv_tensor(c(TRUE, FALSE, TRUE))
  refused <- function(expr) expect_error(expr, class = "anvil_error_value")
  for (dtype in real_dtypes) {
    refused(nv_tensor(c(TRUE, NA), dtype))
    refused(nv_tensor(c(1L, NA), dtype))
    refused(nv_tensor(c(if (dtype == "i1") "TRUE" else "1", NA), dtype))
    refused(nv_fill(NA, 2, dtype))
    refused(nv_scalar(NA_integer_, dtype))
    if (dtype %in% floats) {
      expect_true(is.na(as.double(nv_scalar(NA_real_, dtype))))
      expect_true(is.na(as.double(nv_convert(c(1, NA), dtype))[2L]))
    } else {
      refused(nv_scalar(NA_real_, dtype))
      refused(nv_convert(NA_real_, dtype))
      refused(jit(function(x) nv_convert(c(1, NA), dtype) + x)(i))
    }
    x <- nv_tensor(c(1, 0, 1), dtype)
    refused(c(1L, NA, 2L) == x)
    missing <- NA
    refused(x == missing)
    refused(c(x, NA_integer_))
    refused(jit(function(x) x * c(NA, 1L, 1L))(x))
    # Beside floats a logical NA is a double's, as in R.
    na <- if (dtype %in% floats) function(expr) expect_true(anyNA(as.double(expr))) else refused
    na(x + NA)
    na(nv_ifelse(b, NA, x))
    na({
      y <- x
      y[2] <- NA
      y
    })
  }
  refused(b & NA)
  refused(jit(function(x) x)(c(1L, NA)))
  refused(jit(function(x) x)(list(a = NA)))
  refused(jit(function(x) NA_integer_)(1))
  refused(vmap(function(x) x)(c(1L, NA)))
  refused(nv_while(list(x = NA_integer_), function(x) x < 3L, function(x) list(x = x + 1L)))
  expect_error(nv_callback(function(x) NA, f, result = nv_abstract("f64")), class = "anvil_error_callback")
  for (at in list(NA, c(1, NA), NA_integer_, c(TRUE, NA, FALSE))) {
    expect_error(f[at], class = "anvil_error_index")
    expect_error(f[at] <- 1, class = "anvil_error_index")
    expect_error(jit(function(x) x[at])(f), class = "anvil_error_index")
  }
  # That of doubles is a NaN where the result is a float.
  expect_true(all(is.nan(as.double(f + NA_real_))))
  expect_true(all(is.na(as.double(i + NA_real_))))
  expect_error(i[1] <- NA_real_, class = "anvil_error_dtype")
})

test_that("data of R's classes are errors that say what to write", {
  x <- nv_tensor(c(1, 2))
  for (data in list(factor(c("a", "b")), as.Date("2024-01-01"), Sys.time(), as.difftime(1, units = "mins"))) {
    for (error in list(
      condition_of(nv_tensor(data)), condition_of(nv_add(x, data)),
      if (!is.factor(data)) condition_of(jit(function(x) x)(data))
    )) {
      if (is.null(error)) next
      expect_s3_class(error, "anvil_error_arg")
      expect_match(conditionMessage(error), "as_nv_tensor()", fixed = TRUE)
    }
  }
  expect_match(conditionMessage(condition_of(nv_tensor(cars))), "as_nv_tensor()", fixed = TRUE)
  error <- expect_error(as_nv_tensor(data.frame(a = 1, name = c("u", "v"))), class = "anvil_error_arg")
  expect_match(conditionMessage(error), "`x$name` must be numbers, logicals, a factor or times", fixed = TRUE)
  expect_error(as_nv_tensor(data.frame(a = I(list(1, 2)))), class = "anvil_error_arg")
  expect_error(as_nv_tensor(structure(1:3, class = "mine")), "unclass", class = "anvil_error_arg")
  expect_error(as_nv_tensor("a"), class = "anvil_error_arg")
})

test_that("a data frame is an argument of jitted functions: a list of its columns", {
  data <- data.frame(
    x = c(1.5, 2.25, 1e-300), n = 1:3, l = c(TRUE, FALSE, TRUE), f = factor(c("b", "a", "b")),
    d = as.Date(c("2024-01-01", "2024-01-02", "2024-01-03"))
  )
  f <- jit(function(data) {
    list(data$x, data[["n"]], data$l, data$f, data$d, with(data, x * n), nrow(data), names(data)[1L] == "x")
  })
  out <- f(data)
  expect_nv(out[[1]], data$x, "f32", 3L, ambiguous = TRUE)
  expect_nv(out[[2]], 1:3, "i32", 3L, ambiguous = TRUE)
  expect_nv(out[[3]], data$l, "i1")
  expect_nv(out[[4]], c(2, 1, 2), "i32", 3L, ambiguous = TRUE)
  expect_nv(out[[5]], as.double(data$d), "f32", 3L, ambiguous = TRUE)
  expect_nv(out[[6]], data$x * data$n, "f32", 3L, ambiguous = TRUE)
  expect_nv(out[[7]], 3, "i32", integer(), ambiguous = TRUE)
  invisible(f(data))
  expect_identical(cache_info(f)$entries, 1L)
  f(data[1:2, ])
  rownames(data) <- c("u", "v", "w")
  f(data)
  expect_identical(cache_info(f)$entries, 3L)
  # Rows, columns and new columns.
  g <- jit(function(data) {
    data$y <- data$x * 2
    data[2:3, c("y", "n")]
  })
  out <- g(data)
  expect_named(out, c("y", "n"))
  expect_equal(as.double(out$y), data$x[2:3] * 2)
  expect_equal(as.double(out$n), 2:3)
  expect_identical(
    jit(function(data) if (identical(rownames(data)[1L], "u")) 1 else 0)(data) |> as.double(), 1
  )
})

test_that("factors of a data frame know their levels in a traced function", {
  data <- data.frame(y = c(1, 2, 4, 8), f = factor(c("b", "a", "b", "c")), n = factor(c(10, 20, 10, 30)))
  programs <- list(
    function(d) sum(d$y * (d$f == "b")), function(d) sum(d$y * ("b" != d$f)), function(d) sum(d$n == 10),
    function(d) sum(d$f == "none"), function(d) sum(as.integer(d$n) == 1L),
    function(d) sum(as.numeric(d$f[1:3]) == 2), function(d) length(levels(as.integer(d$f))),
    function(d) nlevels(d$f) * sum(d$y), function(d) sum(d[2:4, ]$f == "b"),
    function(d) sum(ifelse(d$f == "a", 0, d$y)),
    # What only moves elements keeps them.
    function(d) sum(d$y * (rev(d$n) == 10)), function(d) sum(rep(d$n, 2) == 10),
    function(d) nlevels(rev(d$n)),
    function(d) sum(c(d$n, d$n)[2:5] == "10"), function(d) sum(1:8 * (rep(d$n, each = 2) == 10)),
    function(d) sum(d$y * (head(d$f, -1) == "b")[c(1, 1, 2, 3)]),
    function(d) sum(d$y * (as.integer(d$f) + 0 == 2)),
    function(d) sum(c(d$n, 2, 7) == 2),
    function(d) {
      s <- 0
      for (level in levels(d$f[1:3])) s <- 10 * s + sum(d$y * (d$f == level))
      s
    }
  )
  for (f in programs) expect_equal(as.double(jit(f)(data)), f(data))
  expect_identical(as.vector(jit(function(d) c(d$n, d$f) == 10)(data)), c(data$n, data$f) == 10)
  error <- expect_error(jit(function(d) nv_concatenate(d$n, d$f))(data), class = "anvil_error_arg")
  expect_match(conditionMessage(error), "factors with the same levels", fixed = TRUE)
  # Other levels are another program.
  f <- jit(function(d) sum(d$y * (d$f == "b")))
  expect_identical(as.double(f(data)), 5)
  data$f <- factor(c("b", "a", "b", "c"), levels = c("c", "b", "a"))
  expect_identical(as.double(f(data)), 5)
  expect_identical(cache_info(f)$entries, 2L)
  f(data)
  expect_identical(cache_info(f)$entries, 2L)
})

test_that("columns that are no data are errors that name them", {
  f <- jit(function(data) data$x)
  error <- expect_error(f(data.frame(x = 1, call = I(list(sum)))), class = "anvil_error_arg")
  expect_match(conditionMessage(error), "`call` must be numbers", fixed = TRUE)
  # Missing values are NaN.
  for (x in list(c(1L, NA), c(TRUE, NA), factor(c("a", NA)))) {
    expect_identical(as.double(f(data.frame(x = x))), c(1, NaN))
  }
  expect_true(is.na(as.double(f(data.frame(x = c(NA, 1))))[1L]))
  # A static data frame may hold anything.
  g <- jit(function(data, x) x * (if (data$name[1L] == "a") 2 else 3), static = "data")
  expect_nv(g(data.frame(name = "a"), nv_scalar(1, "f32")), 2, "f32", integer())
})

test_that("data frames are nested in lists, and in what takes these", {
  data <- data.frame(x = c(1, 2, 3), y = c(2, 4, 7))
  loss <- function(beta, parts) sum((parts$data$y - beta * parts$data$x)^2)
  parts <- list(data = data, other = NULL)
  beta <- nv_scalar(1.5, "f64")
  want <- -2 * sum(data$x * (data$y - 1.5 * data$x))
  expect_equal(as.double(gradient(loss, wrt = "beta")(beta, parts)$beta), want)
  expect_equal(as.double(jit(gradient(loss, wrt = "beta"))(beta, parts)$beta), want)
  expect_identical(tree_paths(data), c("data$x", "data$y"))
  expect_identical(tree_map(function(x) x[1L], data), list(x = 1, y = 2))
  expect_identical(tree_map(function(x) x + 1, data), data + 1)
  # A jitted function within a traced one sees data frames too.
  rows <- jit(function(data) nrow(data) + sum(data$x))
  expect_equal(as.double(jit(function(d, b) rows(d) + rows(data) + b)(data, 1)), 19)
  expect_length(tree_leaves(parts), 2L)
  expect_identical(jit(function(x) length(x))(data[0, ]) |> as.double(), 2)
  by_row <- vmap(function(row) row$x * row$y + nv_scalar(1, "f64"))(data)
  expect_equal(as.double(by_row), data$x * data$y + 1)
})

test_that("a traced data frame becomes a matrix as any other", {
  f <- function(data, b) as_nv_tensor(data) %*% b
  eager <- f(cars, nv_tensor(c(1, 0.5)))
  expect_identical(as.double(jit(f)(cars, nv_tensor(c(1, 0.5)))), as.double(eager))
  g <- jit(function(data) as_nv_tensor(data))
  expect_identical(type_of(g(cars)), type_of(as_nv_tensor(cars)))
  expect_identical(type_of(g(data.frame(n = 1:3, l = TRUE))), "i32")
  expect_nv(jit(function(data) as_nv_tensor(data, "f64"))(head(mtcars)), as.matrix(head(mtcars)), "f64")
})

test_that("tensors in columns are arguments as they are", {
  data <- data.frame(x = 1:3)
  data$t <- nv_tensor(c(0.5, 1, 2), "f64")
  expect_nv(jit(function(data) data$t * data$x)(data), c(0.5, 2, 6), "f64")
})

test_that("functions of R that take matrices take data frames of traced columns", {
  d <- data.frame(a = c(1, 2, 3, 5), b = c(4, 5, 9, 1))
  numbers <- function(x) unname(unlist(lapply(if (is.list(x)) x else list(x), function(x) as.vector(x))))
  for (f in list(
    function(d) as.matrix(d), function(d) data.matrix(d), function(d) t(d), function(d) scale(d),
    function(d) colMeans(d), function(d) colSums(d), function(d) rowMeans(d[c("a", "b")]),
    function(d) rowSums(d^2), function(d) cov(d), function(d) cor(d), function(d) var(d),
    function(d) d * 2, function(d) 2 - d, function(d) d + d, function(d) exp(d),
    function(d) apply(d, 1, function(r) r[1] - r[2]), function(d) apply(d, 2, max),
    function(d) sum(d), function(d) max(d), function(d) range(d), function(d) sapply(d, mean),
    function(d) sweep(d, 2, colMeans(d)), function(d) as.matrix(d[, c("b", "a")]) %*% c(1, 2),
    function(d) mahalanobis(d, colMeans(d), cov(d)), function(d) as.matrix(transform(d, q = a + b)),
    function(d) as.matrix(cbind(d, z = d$a + 1)), function(d) {
      d$z <- d$a * 2
      colSums(d)
    }
  )) {
    got <- jit(f)(d)
    expect_equal(numbers(got), numbers(f(d)), tolerance = 1e-6, label = deparse1(body(f)))
    expect_false(is.double(got) && !inherits(got, "AnvilTensor"))
  }
  expect_equal(as.vector(jit(function(d) as.matrix(d)[2, "b"])(d)), 5)
  with_factor <- data.frame(a = 1:2, f = factor(c("u", "v")))
  expect_error(jit(function(d) as.matrix(d))(with_factor), class = "anvil_error_arg", "factor `f`")
  expect_equal(as_array(jit(function(d) data.matrix(d))(with_factor)), cbind(1:2, 1:2), ignore_attr = TRUE)
  expect_error(jit(function(d) d[d$a > 2, ])(d), class = "anvil_error_arg", "AnvilRows")
  # Others are R's own.
  expect_identical(colMeans(d), base::colMeans(d))
})
