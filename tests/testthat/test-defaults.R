type_of <- function(x) paste0(as.character(dtype(x)), if (ambiguous(x)) "?")
wide <- function(expr) with_default_dtypes(float = "f64", int = "i64", expr)

test_that("data and constructors without a dtype have the default one", {
  made <- function() {
    s <- nv_rng_state(1)
    c(
      type_of(nv_tensor(c(1.5, 2))), type_of(nv_tensor(1:2)), type_of(nv_scalar(1)), type_of(nv_scalar(1L)),
      type_of(nv_matrix(c(1, 2))), type_of(nv_fill(1, 2)), type_of(nv_fill(1L, 2)), type_of(nv_seq(1, 3)),
      type_of(nv_seq(0, 1, steps = 3)), type_of(nv_eye(2)), type_of(nv_one_hot(1:2, 2)),
      type_of(nv_linspace(0, 1, 3)), type_of(nv_runif(2, s)$value), type_of(nv_rnorm(2, s)$value),
      type_of(nv_rbinom(2, s)$value), type_of(nv_sample_int(2, s, 5L)$value), type_of(as_nv_tensor(c(1, 2))),
      type_of(as_nv_tensor(2L)), type_of(nv_abstract()), type_of(nv_tensor(1i)),
      type_of(as_nv_tensor(cars)), type_of(as_nv_tensor(data.frame(a = 1:2)))
    )
  }
  narrow <- made()
  changed <- gsub("f32", "f64", gsub("i32", "i64", gsub("c64", "c128", narrow)))
  expect_identical(wide(made()), changed)
  expect_identical(made(), narrow)
})

test_that("what has a dtype keeps it", {
  wide({
    expect_identical(type_of(nv_tensor(c(TRUE, NA)[1])), "i1")
    expect_identical(type_of(nv_tensor(as.raw(1:2))), "ui8")
    expect_identical(type_of(nv_tensor(1.5, "f32")), "f32")
    expect_identical(type_of(nv_tensor(1:2, "i8") + 1L), "i8")
    expect_identical(type_of(nv_tensor(c(1, 2), "f32") * 2), "f32")
    expect_identical(type_of(nv_argmax(nv_tensor(c(1, 2)))), "i32")
    expect_identical(type_of(sum(nv_tensor(c(TRUE, TRUE)))), "i32")
  })
})

test_that("R numbers are ambiguous of the default width, and exact", {
  expect_identical(type_of(1), "f32?")
  wide({
    expect_identical(c(type_of(1), type_of(1L), type_of(TRUE), type_of(1i)), c("f64?", "i64?", "i1", "c128?"))
    flag <- nv_tensor(c(TRUE, FALSE))
    expect_identical(c(type_of(flag + 1L), type_of(flag * 0.5)), c("i64?", "f64?"))
    big <- flag + .Machine$integer.max
    expect_nv(big + 1L, c(2147483649, 2147483648), "i64", ambiguous = TRUE)
    expect_identical(type_of(nv_tensor(1:2, "i32") / 2L), "f64?")
    expect_identical(type_of(exp(1:3 * nv_scalar(1L, "i32"))), "f64?")
    expect_identical(type_of(matrix(1, 2, 2) %*% nv_tensor(c(1, 2), ambiguous = TRUE)), "f64?")
  })
})

test_that("a jitted function is traced for each default, and agrees with eager", {
  count <- 0
  f <- jit(function(n) {
    count <<- count + 1
    nv_seq(1, 3) * n + nv_fill(0.5, 3)
  })
  expect_identical(type_of(f(2L)), "f32")
  expect_identical(type_of(wide(f(2L))), "f64")
  expect_identical(type_of(with_default_dtypes(int = "i64", f(2L))), "f32")
  expect_identical(type_of(f(2L)), "f32")
  expect_identical(count, 3)
  expect_identical(cache_info(f)$entries, 3L)
  expect_match(
    explain_cache(f)$reason[2L], "default float is f64, not f32; default int is i64, not i32", fixed = TRUE
  )
  expect_nv(wide(f(2L)), c(2.5, 4.5, 6.5), "f64")
  g <- function(n, v) list(n + 1L, v * 2L, sum(v), dtype(n)$name == "i64")
  wide({
    eager <- g(5L, 1:3)
    jitted <- jit(g)(5L, 1:3)
    expect_identical(vapply(jitted[1:2], type_of, ""), c("i64?", "i64?"))
    expect_identical(as.double(jitted[[2L]]), as.double(eager[[2L]]))
  })
})

test_that("gradients, loops and batches run with other defaults", {
  wide({
    expect_nv(gradient(function(x) sum(x^2))(nv_tensor(c(1, 2)))$x, c(2, 4), "f64")
    expect_nv(nv_for(3, nv_tensor(c(0, 1)), function(i, x) x + i), c(6, 7), "f64")
    expect_nv(vmap(function(x) x * 2L)(nv_tensor(1:3)), c(2, 4, 6), "i64")
    expect_nv(nv_switch(2L, nv_scalar(1), nv_scalar(2)), 2, "f64", integer(), ambiguous = TRUE)
  })
})

test_that("scopes nest, restore, and take one of both", {
  now <- function() vapply(default_dtypes(), as.character, "")
  usual <- c(float = "f32", int = "i32")
  expect_identical(now(), usual)
  expect_identical(with_default_dtypes("f64", "i64", now()), c(float = "f64", int = "i64"))
  # The expression without its name.
  expect_identical(with_default_dtypes(float = "f64", now()), c(float = "f64", int = "i32"))
  expect_identical(with_default_dtypes(int = "i64", now()), c(float = "f32", int = "i64"))
  expect_identical(with_default_dtypes("f64", now()), c(float = "f64", int = "i32"))
  expect_identical(with_default_dtypes(expr = now(), float = as_dtype("f64")), c(float = "f64", int = "i32"))
  expect_error(with_default_dtypes(float = "f64"), class = "anvil_error_arg")
  expect_identical(
    with_default_dtypes(float = "f64", with_default_dtypes(int = "i64", now())), c(float = "f64", int = "i64")
  )
  expect_error(with_default_dtypes(float = "f64", stop("no")), "no")
  expect_identical(now(), usual)
  expect_false(withVisible(with_default_dtypes(float = "f64", invisible(3)))$visible)
  f <- function() {
    before <- local_default_dtypes(float = "f64")
    inner <- (function() {
      local_default_dtypes(int = "i64")
      now()
    })()
    local_promotion_rules("numpy")
    later <- now()
    local_default_dtypes(int = "i64")
    list(as.character(before$float), inner, later, now(), .Call(anvil_rules_name, NULL))
  }
  both <- c(float = "f64", int = "i64")
  expect_identical(f(), list("f32", both, c(float = "f64", int = "i32"), both, "numpy"))
  expect_identical(now(), usual)
  g <- function() {
    local_default_dtypes(float = "f64")
    with_promotion_rules("numpy", c(now(), with_default_dtypes(float = "f32", now())))
  }
  expect_identical(unname(g()), c("f64", "i32", "f32", "i32"))
  h <- function() {
    local_default_dtypes("f64")
    stop("no")
  }
  expect_error(h(), "no")
  expect_identical(now(), usual)
  expect_error(local_default_dtypes("f64", frame = globalenv()), class = "anvil_error_arg")
})

test_that("options hold for the session, wherever they are in R's list", {
  now <- function() unname(vapply(default_dtypes(), as.character, ""))
  old <- options(anvil.default_float = "f64")
  on.exit(options(old))
  expect_identical(now(), c("f64", "i32"))
  expect_identical(with_default_dtypes("f32", "i64", now()), c("f32", "i64"))
  options(anvil.default_int = "i64")
  expect_identical(now(), c("f64", "i64"))
  # Taken out of the list, and put in at its end.
  options(anvil.default_float = NULL)
  expect_identical(now(), c("f32", "i64"))
  options(anvil.default_int = NULL, anvil.promotion_rules = NULL)
  expect_identical(now(), c("f32", "i32"))
  options(anvil.test_option = 1, anvil.default_int = "i64")
  expect_identical(now(), c("f32", "i64"))
  options(anvil.test_option = NULL, anvil.promotion_rules = "anvil", anvil.default_float = "f32")
  expect_identical(now(), c("f32", "i64"))
  options(anvil.default_int = "i32")
  expect_identical(now(), c("f32", "i32"))
})

test_that("other dtypes are errors that name the option", {
  for (bad in list("f16", "i64", 1, NA_character_, c("f32", "f64"), "float")) {
    old <- options(anvil.default_float = bad)
    error <- expect_error(nv_tensor(1.5), class = "anvil_error_arg")
    options(old)
    rule <- "`options(anvil.default_float = )` must be \"f32\" or \"f64\""
    expect_match(conditionMessage(error), rule, fixed = TRUE)
    expect_error(with_default_dtypes(float = bad, expr = stop("never here")), class = "anvil_error_arg")
  }
  old <- options(anvil.default_int = "i8")
  error <- expect_error(nv_scalar(1) + 1, class = "anvil_error_arg")
  # What was chosen is not read from the options.
  expect_identical(type_of(with_default_dtypes(int = "i64", nv_tensor(1:2))), "i64")
  options(old)
  expect_match(conditionMessage(error), "anvil.default_int", fixed = TRUE)
  expect_identical(condition_of(with_default_dtypes(int = "ui8", expr = 1))$arg, "int")
})

test_that("rules without widths of ambiguous types take the default one", {
  for (rules in c("jax", "strict")) {
    with_promotion_rules(rules, {
      expect_identical(type_of(nv_scalar(1) + nv_scalar(2)), "f32?")
      wide(expect_identical(type_of(nv_scalar(1) + nv_scalar(2)), "f64?"))
    })
  }
})
