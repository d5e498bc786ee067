# Objects that are lists underneath, with parts that are not as anvil made them.

test_that("methods refuse objects whose parts have been changed", {
  with_part <- function(x, i, value) {
    parts <- unclass(x)
    parts[[i]] <- value
    attributes(parts) <- attributes(x)
    parts
  }
  abstract <- nv_abstract("f32", 2L)
  program <- stablehlo(function(x) x + 1, nv_abstract("f32", 2L))
  broken <- alist(
    print(with_part(abstract, "dtype", 1)), format(with_part(abstract, "ambiguous", "a")),
    format(structure(1, class = "AnvilAbstract")), print(structure(function(x) x, class = "AnvilAbstract")),
    format(with_part(as_dtype("i8"), "name", sum)), print(structure(1, class = c("FloatType", "AnvilDtype"))),
    as.character(structure(1, class = "AnvilStablehlo")), print(with_part(program, "text", list(sum))),
    format(structure(1:3, class = "AnvilPromotionTable")),
    print(with_part(memory_plan(function(x) x, nv_scalar(1)), "steps", 1)),
    print(with_part(explain_plan(function(x) x + 1, nv_scalar(1)), "read", NA_real_))
  )
  for (code in broken) {
    e <- expect_error(capture.output(eval(code)), class = "anvil_error", label = deparse1(code))
    expect_true(
      as.character(conditionCall(e)[[1L]]) %in% c("print", "format", "as.character"), label = deparse1(code)
    )
  }
})

test_that("what they say to objects that are whole is what it was", {
  e <- expect_error(`==`(nv_abstract("f32", 2L)), class = "anvil_error_arg")
  expect_match(conditionMessage(e), "`e2` must be given")
  expect_identical(format(nv_abstract("f32", c(2L, 3L), TRUE)), "AnvilAbstract(dtype=f32?, shape=2x3)")
  expect_identical(format(as_dtype("i8")), "<IntegerType: 8>")
  capture.output(shown <- withVisible(print(promotion_table("numpy"))))
  expect_false(shown$visible)
  # Errors of the methods themselves keep their class.
  expect_error(print(compare_promotion("anvil", "jax"), n = "a"), "`n` must be")
})

test_that("a tensor whose names were changed is refused or compared, whatever the names are", {
  x <- nv_scalar(1)
  renamed <- asS4(unclass(x), FALSE, FALSE)
  attr(renamed, "names") <- "-1e+300"
  renamed <- structure(renamed, class = class(x))
  for (pair in list(list(renamed, x), list(x, renamed))) {
    out <- tryCatch(all.equal(pair[[1L]], pair[[2L]]), anvil_error = function(e) TRUE)
    expect_true(isTRUE(out) || is.character(out))
  }
})
