# The programs of `make bench-random`: every one of them has to be valid, whatever the seed.

random_bench <- function() {
  folder <- test_path("..", "..", "bench")
  skip_if_not(dir.exists(folder), "bench/ is not part of what is tested")
  env <- new.env(parent = globalenv())
  for (file in c("peers.R", "measure.R", "random_elementwise.R", "random_programs.R", "random_jax.R")) {
    source(file.path(folder, file), local = env)
  }
  env
}

# A program of small data: those of large data differ in sizes only.
small_programs <- function(env, seed, numbers) {
  Filter(function(p) !p$large, lapply(numbers, function(number) env$random_program(seed, number)))
}

test_that("programs run, jitted and by the ops one by one, to the same finite results", {
  env <- random_bench()
  for (p in small_programs(env, 1L, 1:40)) {
    args <- env$arguments_of(p)
    f <- env$function_in_r(p)
    jitted <- do.call(jit(f), args, quote = TRUE)
    label <- paste(deparse(env$r_form(p$f)), collapse = "\n")
    values <- unlist(lapply(env$leaves_of(jitted), as.double))
    expect_true(all(is.finite(values)), label = label)
    expect_identical(do.call(f, args, quote = TRUE), jitted, label = label)
  }
})

test_that("a seed and a number make a program again", {
  env <- random_bench()
  for (number in 1:5) {
    p <- env$random_program(3L, number)
    expect_identical(env$random_program(3L, number), p)
  }
  expect_false(identical(env$random_program(4L, 1L), env$random_program(3L, 1L)))
})

test_that("every class of programs comes, with gradients, and has a form in Python", {
  env <- random_bench()
  programs <- lapply(1:150, function(number) env$random_program(2L, number))
  classes <- vapply(programs, function(p) p$class, "")
  expect_setequal(unique(sub("^gradient: ", "", classes)), names(env$classes))
  expect_true(any(grepl("^gradient: ", classes)))
  sources <- lapply(programs, env$jax_source)
  # Some functions are anvil's alone.
  expect_gt(mean(!vapply(sources, is.null, NA)), 0.8)
  expect_true(all(vapply(sources, function(x) is.null(x) || any(grepl("^def program", x)), NA)))
})

test_that("new elementwise ops come by themselves", {
  env <- random_bench()
  made <- vapply(env$elementwise_forms(), function(f) deparse1(f$call), "")
  known <- c("nv_exp(x)", "nv_atan2(x, y)", "nv_gammainc(2, x)", "nv_dnorm(x, 1, 2)", "x^3")
  expect_true(all(known %in% made))
  expect_false(any(grepl("nv_softmax|nv_cumsum|nv_sort|nv_eq", made)))
})
