# The scripts that `make demo` runs stop if a result is wrong; here, too, what they find and print.

# Runs an example in an environment of its own: list(env, output).
run_example <- function(name) {
  path <- system.file("examples", name, package = "anvil", mustWork = TRUE)
  env <- new.env(parent = globalenv())
  output <- capture.output(source(path, local = env))
  list(env = env, output = output)
}

# Whether `lines` stand in `output` one after the other.
has_lines <- function(output, lines) {
  starts <- which(output == lines[1L])
  any(vapply(starts, function(i) identical(output[i + seq_along(lines) - 1L], lines), NA))
}

test_that("the blocks on type promotion print what they have to", {
  example <- run_example("type-promotion.R")
  expect_true(has_lines(example$output, c("+ )", "AnvilTensor", " 2", "[ CPUf64{} ]")))
  expect_true(has_lines(example$output, c("> common_dtype(\"i64\", \"f32\")$dtype", "<FloatType: 32>")))
  expect_true(has_lines(example$output, c("[[1]]", "AnvilTensor", " 1", "[ CPUi32?{} ]")))
  expect_true(has_lines(example$output, c("[[2]]", "AnvilTensor", " 1", "[ CPUf32?{} ]")))
  expect_true(has_lines(example$output, c("[[3]]", "AnvilTensor", " 1", "[ CPUi1{} ]")))
  expect_true(has_lines(example$output, c(
    "> f(nv_scalar(TRUE), nv_scalar(2L, dtype = \"i16\"))", "AnvilTensor", " 4", "[ CPUi16{} ]"
  )))
  expect_true(has_lines(example$output, c(
    "ui32 ui32 i64 i64 i64 i64 ui32 ui32 ui32 ui64 f32 f64", "ui64 ui64 i64 i64 i64 i64 ui64 ui64 ui64 ui64 f32 f64"
  )))
  expect_true(has_lines(example$output, c(
    "ui64 ui64 i8  i16 i32 i64 ui8 ui16 ui32 ui64 f32 f64", "f32  f32  f32 f32 f32 f32 f32 f32  f32  f32  f32 f64"
  )))
  expect_identical(example$env$checked, c(blocks = 16L, lines = 61L))
})

test_that("a block that prints something else is an error", {
  env <- run_example("type-promotion.R")$env
  expect_error(capture.output(env$block("1 + 1", "[1] 3")), "\\[1\\] 2\nnot \\[1\\] 3")
  expect_error(capture.output(env$block("1 + 1", "[1] 2\n[1] 3")), "Line 2 of the output")
  expect_silent(capture.output(env$block("1 + 1", "[1] 2")))
})

test_that("the Titanic predictions equal R's own", {
  example <- run_example("titanic.R")
  results <- example$env$results
  expect_identical(nrow(example$env$x), 2201L)
  expect_equal(results$R$log_likelihood, -1105.0305528545, tolerance = 1e-12)
  expect_length(results$f32$probability, 2201L)
  expect_equal(results$f32, results$R, tolerance = 1e-6)
  expect_equal(results$f64, results$R, tolerance = 1e-12)
  expect_true(all(example$env$differences["probability", ] <= c(1e-6, 1e-12)))
  expect_true(all(example$env$differences["log_likelihood", ] <= c(1e-6, 1e-12)))

  expect_true("Survival on the Titanic: logistic regression on 2201 passengers" %in% example$output)
  expect_match(example$output, "^  SexFemale      2\\.4201$", all = FALSE)
  expect_match(example$output, "^  1st    Female  Adult   144      88\\.5%     97\\.2%   #+ ?\\|", all = FALSE)
  expect_match(example$output, "^  anvil, jitted, f64 +-1105\\.0305528545 ", all = FALSE)
  expect_match(example$output, "Allowed are 1e-06 in f32 and 1e-12 in f64: passed\\.", all = FALSE)
})

test_that("the demo runs every example", {
  demo <- run_example("demo.R")
  scripts <- list.files(system.file("examples", package = "anvil"), pattern = "\\.R$")
  expect_setequal(c(names(demo$env$examples), "demo.R"), scripts)
  expect_match(tail(demo$output, 1L), "every result is as it should be")
})
