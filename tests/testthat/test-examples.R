# The scripts that `make demo` runs stop if a result is wrong; here, too, what they find and print.

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
    "ui32 ui32 i64 i64 i64 i64 ui32 ui32 ui32 ui64 f32 f64",
    "ui64 ui64 i64 i64 i64 i64 ui64 ui64 ui64 ui64 f32 f64"
  )))
  expect_true(has_lines(example$output, c(
    "ui64 ui64 i8  i16 i32 i64 ui8 ui16 ui32 ui64 f32 f64",
    "f32  f32  f32 f32 f32 f32 f32 f32  f32  f32  f32 f64"
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
  expect_match(
    example$output, "^  1st    Female  Adult   144      88\\.5%     97\\.2%   #+ ?\\|", all = FALSE
  )
  expect_match(example$output, "^  anvil, jitted, f64 +-1105\\.0305528545 ", all = FALSE)
  expect_match(example$output, "Allowed are 1e-06 in f32 and 1e-12 in f64: passed\\.", all = FALSE)
})

test_that("a linear model trained in three ways equals that of lm()", {
  example <- run_example("linear-model.R")
  fit <- lm(mpg ~ poly(wt, 2), mtcars)
  env <- example$env
  expect_identical(colnames(env$coefficients), names(env$ways))
  expect_equal(
    as.vector(cbind(1, env$predictors) %*% env$coefficients[, 1L]), unname(fitted(fit)), tolerance = 1e-10
  )
  # The same ops in the same order: bit for bit.
  expect_identical(env$coefficients[, 1L], env$coefficients[, 2L])
  expect_identical(env$coefficients[, 1L], env$coefficients[, 3L])
  expect_match(example$output, "^  nv_while\\(\\) .* us$", all = FALSE)
  expect_match(tail(example$output, 1L), "passed\\.$")
})

test_that("a logistic regression of many epochs equals that of glm()", {
  example <- run_example("logistic-regression.R")
  env <- example$env
  expect_identical(dim(env$predictors), c(2201L, 5L))
  expect_equal(env$coefficients[, "anvil"], env$coefficients[, "glm()"], tolerance = 1e-4)
  expect_length(env$losses, 50L)
  # Down all the way, up to the rounding of f32.
  expect_true(all(diff(env$losses) < 1e-6))
  expect_equal(env$losses[50L], env$fit$deviance / 2 / 2201, tolerance = 1e-6)
  expect_match(example$output, "^Time of an epoch +[0-9]+ us$", all = FALSE)
  expect_match(tail(example$output, 1L), "passed\\.$")
})

test_that("a perceptron learns, and alike in both kinds of loops", {
  example <- run_example("mlp.R")
  env <- example$env
  expect_identical(env$results$layers, c(0L, 4L, 8L))
  expect_identical(env$results$difference, c(0, 0, 0))
  expect_identical(env$results$weights, c(11L, 451L, 891L))
  expect_true(all(env$results$loss_after < env$results$loss_before))
  expect_lt(env$curve$training[30L], 0.5 * env$curve$training[1L])
  expect_gt(env$r_squared[["mlp"]], 0.8)
  expect_lt(env$r_squared[["lm"]], 0.5)
  expect_match(example$output, "^ +4 x 10 .* us$", all = FALSE)
  expect_match(tail(example$output, 1L), "passed\\.$")
  # What was given away is gone.
  layers <- env$step(env$initial(c(10L, 1L), anvil::nv_rng_state(1)), env$training, 0L, 1e-3, 32L)
  env$step(layers, env$training, 0L, 1e-3, 32L)
  expect_error(layers[[1L]]$w + 1, class = "anvil_error_donated")
})

test_that("a Metropolis sampler finds the moments of its density", {
  example <- run_example("metropolis.R")
  env <- example$env
  expect_identical(dim(env$draws), c(500L, 2L))
  expect_true(all(abs(env$moments$z) < 5))
  expect_equal(env$moments$truth[4L], 3.53125)
  accepted <- as.double(env$chain$accepted) / 1e5
  expect_true(accepted > 0.25 && accepted < 0.4)
  # The chain is a value: from the same state it goes the same way, in one call or in several.
  walk <- function(chain, times, steps) {
    for (i in seq_len(times)) chain <- env$walk(chain, steps, 2)
    chain
  }
  expect_identical(walk(env$chain, 1L, 100L), walk(env$chain, 10L, 10L))
  expect_match(tail(example$output, 1L), "passed\\.$")
})

test_that("a Gaussian process equals that of chol() and optim()", {
  example <- run_example("gaussian-process.R")
  env <- example$env
  expect_equal(env$gradients[, "anvil"], env$gradients[, "differences"], tolerance = 1e-6)
  expect_equal(env$in_numbers(env$w), env$best$par, tolerance = 1e-4)
  expect_equal(env$fitted, env$expected, tolerance = 1e-8)
  # The true function lies where the posterior says, most of the time.
  inside <- abs(sin(2 * env$grid) + 0.3 * env$grid - env$fitted$mean) < 2 * env$fitted$sd
  expect_gt(mean(inside), 0.8)
  expect_match(tail(example$output, 1L), "passed\\.$")
})

test_that("the examples draw nothing where no device is open", {
  files <- list.files()
  before <- grDevices::dev.list()
  path <- system.file("examples", "linear-model.R", package = "anvil", mustWork = TRUE)
  if (is.null(before)) capture.output(source(path, local = new.env(parent = globalenv())))
  expect_identical(grDevices::dev.list(), before)
  expect_identical(list.files(), files)
})

test_that("the demo runs every example", {
  demo <- run_example("demo.R")
  scripts <- list.files(system.file("examples", package = "anvil"), pattern = "\\.R$")
  expect_setequal(c(names(demo$env$examples), "demo.R"), scripts)
  expect_match(tail(demo$output, 1L), "every result is as expected")
})

test_that("examples of help pages fit the manual", {
  pages <- list.files(test_path("..", "..", "man"), "[.]Rd$", full.names = TRUE)
  skip_if(!length(pages), "the installed package has no sources of help pages")
  for (page in pages) {
    file <- withr::local_tempfile()
    tools::Rd2ex(page, file)
    if (!file.exists(file)) next
    expect_lte(
      max(nchar(grep("^##?#", readLines(file), value = TRUE, invert = TRUE))), 100, label = basename(page)
    )
  }
})
