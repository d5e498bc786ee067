test_that("a report says what is in force", {
  report <- anvil_sitrep()
  expect_s3_class(report, "AnvilSitrep")
  expect_identical(report$version, as.character(utils::packageVersion("anvil")))
  expect_true(report$simd %in% c("portable", "avx2", "avx512", "neon"))
  expect_identical(report$threads, num_threads())
  expect_identical(report$rules, "anvil")
  expect_identical(report$defaults, default_dtypes())
  expect_named(report$memory, c("limit", "pool", "in_use"))
  inside <- with_promotion_rules("jax", with_default_dtypes("f64", "i64", anvil_sitrep()))
  expect_identical(inside$rules, "jax")
  expect_identical(as.character(inside$defaults$int), "i64")
})

test_that("memory of large results is counted", {
  gc()
  before <- anvil_sitrep()$memory
  x <- nv_fill(1, c(1000, 1000), "f64")
  after <- anvil_sitrep()$memory
  expect_gte(after$in_use - before$in_use, 8e6)
  expect_true(after$pool >= after$in_use && after$limit >= after$pool)
  expect_identical(shape(x), c(1000L, 1000L))
})

test_that("a report prints on a few lines, with options that were changed", {
  old <- options(anvil.threads = 1, anvil.default_float = "f64")
  on.exit(options(old))
  report <- anvil_sitrep()
  expect_setequal(names(report$options), c("anvil.threads", "anvil.default_float"))
  lines <- format(report)
  expect_output(print(report), lines[1L], fixed = TRUE)
  expect_true(any(grepl("f64 for doubles, i32 for integers", lines, fixed = TRUE)))
  expect_true(any(grepl("anvil.threads = 1", lines, fixed = TRUE)))
  expect_true(any(grepl(R.version.string, lines, fixed = TRUE)))
  expect_error(format(report, digits = 3), NA)
  expect_error(format(report, wide = 3), class = "anvil_error_arg")
  report$defaults <- 3
  expect_error(format(report), class = "anvil_error_arg")
})
