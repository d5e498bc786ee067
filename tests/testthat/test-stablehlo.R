# Programs as StableHLO: what a user sees of them, and that XLA runs them.

f32 <- function(...) nv_abstract("f32", as.integer(c(...)))

# The text without the comments before it.
body_of <- function(x) sub("^(//[^\n]*\n)*", "", x$text)

test_that("the text is a module with one function, and says what its arguments are", {
  x <- stablehlo(user(function(x, y) list(sum = x + y, twice = list(2 * x))), f32(2, 3), f32(2, 3))
  expect_s3_class(x, "AnvilStablehlo")
  expect_identical(x$inputs, c(x = "f32[2, 3]", y = "f32[2, 3]"))
  expect_identical(x$outputs, c("result$sum" = "f32[2, 3]", "result$twice[[1]]" = "f32[2, 3]"))
  expect_identical(x$constants, list())
  lines <- strsplit(as.character(x), "\n")[[1L]]
  expect_identical(lines[1:6], c(
    "// input 1: x, f32[2, 3]", "// input 2: y, f32[2, 3]",
    "// output 1: result$sum, f32[2, 3]", "// output 2: result$twice[[1]], f32[2, 3]",
    "module @anvil {",
    paste0(
      "  func.func public @main(%arg0: tensor<2x3xf32>, %arg1: tensor<2x3xf32>)",
      " -> (tensor<2x3xf32>, tensor<2x3xf32>) {"
    )
  ))
  expect_match(x$text, "%0 = stablehlo.add %arg0, %arg1 : tensor<2x3xf32>\n", fixed = TRUE)
  expect_match(x$text, "  }\n}\n$")
  expect_identical(capture.output(returned <- withVisible(print(x))), lines)
  expect_identical(returned, list(value = x, visible = FALSE))
  expect_identical(format(x), as.character(x))
})

test_that("concrete and abstract arguments give the same program, and values play no role", {
  f <- user(function(p, y) list(p$w %*% y, p$b[[1L]]))
  concrete <- stablehlo(f, list(w = nv_fill(1, c(2, 3)), b = list(1L)), nv_fill(2, c(3, 1)))
  abstract <- stablehlo(
    f, y = f32(3, 1), p = list(w = f32(2, 3), b = list(nv_abstract("i32", ambiguous = TRUE)))
  )
  # In the order of the call, as the arguments of a jitted function are.
  expect_identical(concrete$inputs, c("p$w" = "f32[2, 3]", "p$b[[1]]" = "i32[]", y = "f32[3, 1]"))
  expect_setequal(names(abstract$inputs), names(concrete$inputs))
  expect_identical(abstract$outputs, concrete$outputs)
  expect_identical(stablehlo(f, p = list(w = f32(2, 3), b = list(2L)), y = f32(3, 1))$text, concrete$text)
  # R numbers are passed with all their digits.
  expect_identical(stablehlo(user(function(x) x + 1L), 0.1)$inputs, c(x = "f64[]"))
  expect_identical(stablehlo(user(function(x, ...) x + ..1), 1L, TRUE)$inputs, c(x = "i32[]", "..2" = "i1[]"))
  expect_identical(stablehlo(user(function() 1))$inputs, stats::setNames(character(), character()))
  expect_identical(
    stablehlo(user(function(x, y = NULL) list(x, NULL)), f32(2))$outputs, c("result[[1]]" = "f32[2]")
  )
})

test_that("static arguments are those of jit(), or what is no data", {
  power <- user(function(x, how) switch(how, square = x * x, cube = x * x * x))
  square <- stablehlo(power, f32(2), "square")
  expect_identical(square$inputs, c(x = "f32[2]"))
  expect_identical(stablehlo(jit(power, static = "how"), f32(2), "square")$text, square$text)
  expect_false(identical(stablehlo(power, f32(2), "cube")$text, square$text))
  twice <- jit(user(function(x, n) { for (i in seq_len(n)) x <- x + x; x }), static = "n")
  expect_length(gregexpr("stablehlo.add", stablehlo(twice, f32(2), 3)$text, fixed = TRUE)[[1L]], 3L)
  expect_error(stablehlo(jit(power), f32(2), "square"), class = "anvil_error_arg")
  expect_match(stablehlo(user(function(x) x), c(1, 2))$text, "tensor<2xf64>", fixed = TRUE)
})

test_that("donated arguments say which output has their memory", {
  step <- jit(user(function(p, x) list(loss = sum(p$w * x), p = list(w = p$w - x))), donate = "p")
  text <- stablehlo(step, list(w = f32(4)), f32(4))$text
  expect_match(
    text, "%arg0: tensor<4xf32> {tf.aliasing_output = 1 : i32}, %arg1: tensor<4xf32>)", fixed = TRUE
  )
  expect_no_match(stablehlo(user(function(x) x + 1), f32(4))$text, "aliasing")
})

test_that("the rules of a jitted function hold", {
  f <- user(function(x, y) x + y)
  args <- list(nv_abstract("i32", 2), nv_abstract("f32", 2))
  expect_identical(stablehlo(f, args[[1L]], args[[2L]])$outputs[[1L]], "f32[2]")
  expect_identical(stablehlo(jit(f, rules = "numpy"), args[[1L]], args[[2L]])$outputs[[1L]], "f64[2]")
})

test_that("constants are inline up to a limit, and arguments beyond it", {
  small <- nv_tensor(c(0.1, NaN, -Inf))
  large <- nv_tensor(as.double(1:65))
  same <- nv_fill(2, 1000)
  f <- user_env(function(x) list(x * small, x[[1]] + large, same), small = small, large = large, same = same)
  x <- stablehlo(f, f32(3))
  expect_identical(x$constants, list(large))
  expect_match(x$text, "dense<[0x3DCCCCCD, 0x7FC00000, 0xFF800000]> : tensor<3xf32>", fixed = TRUE)
  expect_match(x$text, "@main(%arg0: tensor<3xf32>, %arg1: tensor<65xf32>)", fixed = TRUE)
  expect_match(x$text, "// constant 1: f32[65]\n", fixed = TRUE)
  expect_no_match(stablehlo(f, f32(3), inline_limit = 65)$text, "constant 1")
  expect_identical(stablehlo(f, f32(3), inline_limit = 2)$constants, list(small, large))
  printed <- capture.output(print(x))
  expect_match(
    tail(printed, 1L), "^// 1 captured tensor is an argument \\(260 bytes\\): nv_write_stablehlo\\(\\)"
  )
  for (limit in list(-1, 1.5, "a", NULL, c(1, 2))) {
    expect_error(stablehlo(f, f32(3), inline_limit = limit), class = "anvil_error_arg")
  }
})

test_that("sharding cuts arguments and parts of lists", {
  loss <- user(function(w, data) mean((data$x %*% w - data$y)^2))
  data <- list(x = f32(16, 3), y = f32(16, 1))
  cut <- stablehlo(loss, f32(3, 1), data, sharding = list(mesh = c(batch = 8), axes = c(data = 1)))
  expect_match(cut$text, "mhlo.num_partitions = 8 : i32", fixed = TRUE)
  expect_match(cut$text, "sdy.mesh @mesh = <[\"batch\"=8]>", fixed = TRUE)
  expect_match(
    cut$text, "%arg0: tensor<3x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}", fixed = TRUE
  )
  expect_match(
    cut$text, "%arg1: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"batch\"}, {}]>}", fixed = TRUE
  )
  expect_match(
    cut$text, "%arg2: tensor<16x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"batch\"}, {}]>}", fixed = TRUE
  )
  from_end <- stablehlo(loss, f32(3, 1), data, sharding = list(mesh = c(batch = 8), axes = c(data = -2)))
  expect_identical(from_end$text, cut$text)
  one <- stablehlo(loss, f32(3, 1), data, sharding = list(axes = c("data$x" = 1), mesh = c(batch = 8)))
  expect_match(
    one$text, "%arg2: tensor<16x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}", fixed = TRUE
  )
  expect_identical(one$inputs, cut$inputs)

  export <- function(mesh, axes) stablehlo(loss, f32(3, 1), data, sharding = list(mesh = mesh, axes = axes))
  error <- expect_fields(
    export(c(batch = 7), c(data = 1)), "anvil_error_shape", axis = 1, size = 16L, devices = 7L
  )
  expect_match(conditionMessage(error), "Use a mesh of 1, 2 or 4, or a size of 14.", fixed = TRUE)
  expect_fields(
    export(c(batch = 2), c("data$y" = 3)), "anvil_error_axis", axis = 3, rank = 2L, shape = c(16L, 1L)
  )
  expect_fields(export(c(batch = 2), c(z = 1)), "anvil_error_arg", arg = "sharding", got = "\"z\"")
  expect_fields(export(c(batch = 2), c("data$z" = 1)), "anvil_error_arg", arg = "sharding")
  expect_fields(export(c(batch = 2), c("data[" = 1)), "anvil_error_arg", arg = "sharding")
  for (mesh in list(8, c(batch = 0), c(batch = 1.5), c(a = 2, b = 2), "a", c(batch = NA), NULL)) {
    expect_error(export(mesh, c(data = 1)), class = "anvil_error_arg")
  }
  for (axes in list(1, c(data = 0), c(data = 1, data = 1), "a", c(data = NA))) {
    expect_error(export(c(batch = 2), axes), class = "anvil_error_arg")
  }
  for (sharding in list(8, list(c(batch = 8)), list(mesh = c(batch = 8), axes = c(data = 1), x = 1))) {
    expect_error(stablehlo(loss, f32(3, 1), data, sharding = sharding), class = "anvil_error_arg")
  }
})

test_that("factorisations and special functions leave as loops of StableHLO's operations", {
  x <- nv_tensor(diag(3) + 0.1, dtype = "f64")
  for (f in list(nv_lu, nv_qr, nv_svd, nv_eigh)) {
    expect_match(as.character(stablehlo(f, x)), "stablehlo.while", fixed = TRUE)
  }
  expect_match(as.character(stablehlo(function(x) nv_bessel_j(x, 0), x)), "stablehlo.while", fixed = TRUE)
  expect_match(as.character(stablehlo(nv_chol, x)), "\"stablehlo.cholesky\"", fixed = TRUE)
})

test_that("what cannot leave is refused by name, with the user's call", {
  f <- user(function(x) { nv_print(x); x })
  error <- expect_fields(stablehlo(f, f32(2)), "anvil_error_export", op = "nv_print")
  expect_match(conditionMessage(error), "\ni Remove `nv_print()`", fixed = TRUE)
  expect_identical(call_of(stablehlo(f, f32(2))), "stablehlo(f, f32(2))")
  inside <- user(function(x) nv_for(3L, x, function(i, x) { nv_print(x); x + 1 }))
  expect_error(stablehlo(inside, f32(2)), class = "anvil_error_export")
  expect_fields(stablehlo(1), "anvil_error_arg", arg = "f")
  expect_fields(
    jit(function(x) { stablehlo(f, x); x })(1), "anvil_error_arg", arg = "...", got = "a traced value"
  )
  expect_error(stablehlo(user(function(x) "a"), f32(2)), class = "anvil_error_arg")
  expect_error(stablehlo(user(function(x) if (x > 0) x), f32()), class = "anvil_error_concrete")
  expect_error(stablehlo(user(function(x) stop("no")), f32(2)), "no")
  # Nothing stays open after a failure.
  expect_identical(nv_scalar(1) + 1, nv_scalar(2))
})

test_that("arguments that are left out, too many, or no data are named", {
  f <- user(function(w, x) sum(x %*% w))
  error <- expect_fields(stablehlo(f, f32(3, 1)), "anvil_error_arg", arg = "x", got = "left out")
  expect_match(conditionMessage(error), "x = nv_abstract(\"f32\", c(2, 3))", fixed = TRUE)
  expect_identical(call_of(stablehlo(f, f32(3, 1))), "stablehlo(f, f32(3, 1))")
  power <- jit(user(function(x, n) { for (i in seq_len(n)) x <- x * x; x }), static = "n")
  expect_fields(stablehlo(power, f32(2)), "anvil_error_arg", arg = "n", got = "left out")
  expect_s3_class(stablehlo(user(function(x, y) if (missing(y)) x else y), f32(2)), "AnvilStablehlo")
  expect_fields(stablehlo(f, f32(3, 1), f32(2, 3), f32(1)), "anvil_error_arg", arg = "...", got = "one more")
  expect_fields(stablehlo(f, f32(3, 1), y = f32(2, 3)), "anvil_error_arg", arg = "...", got = "\"y\"")
  expect_fields(stablehlo(f, list(a = list("b")), f32(2, 3)), "anvil_error_arg", arg = "w$a[[1]]")
  expect_fields(stablehlo(), "anvil_error_arg", arg = "f", got = "left out")
  program <- stablehlo(f, f32(3, 1), f32(2, 3))
  expect_fields(nv_write_stablehlo(), "anvil_error_arg", arg = "x", got = "left out")
  expect_fields(nv_write_stablehlo(program), "anvil_error_arg", arg = "path", got = "left out")
  given <- list(w = nv_fill(1, c(3, 1)), x = "a")
  expect_fields(
    nv_write_stablehlo(program, tempfile(), given), "anvil_error_arg", arg = "inputs$x", got = "\"a\""
  )
  given$x <- matrix(0, 2, 3)
  error <- expect_fields(nv_write_stablehlo(program, tempfile(), given), "anvil_error_arg", arg = "inputs$x")
  expect_match(conditionMessage(error), "`nv_tensor(x, dtype = \"f32\")`", fixed = TRUE)
  given$x <- nv_fill(0L, c(2, 3))
  error <- expect_fields(nv_write_stablehlo(program, tempfile(), given), "anvil_error_arg", arg = "inputs$x")
  expect_match(conditionMessage(error), "`nv_convert(x, \"f32\")`", fixed = TRUE)
  # Arguments without names can be cut, too.
  cut <- list(mesh = c(batch = 7), axes = c("..1" = 1))
  expect_fields(stablehlo(user(function(...) ..1), f32(16), sharding = cut), "anvil_error_shape", size = 16L)
})

test_that("a target refuses the dtypes that it does not have", {
  f <- user(function(x) nv_real(nv_convert(x, "c128")))
  expect_match(stablehlo(f, f32(2), target = "cpu")$text, "complex<f64>", fixed = TRUE)
  expect_s3_class(stablehlo(f, f32(2), target = "gpu"), "AnvilStablehlo")
  error <- expect_fields(
    stablehlo(f, f32(2), target = "tpu"), "anvil_error_dtype", target = "tpu", got = "c128"
  )
  expect_match(conditionMessage(error), "a value inside", fixed = TRUE)
  error <- expect_error(
    stablehlo(user(function(x) x), nv_abstract("c128", 2), target = "tpu"), class = "anvil_error_dtype"
  )
  expect_match(conditionMessage(error), "Input `x` is c128[2]", fixed = TRUE)
  expect_s3_class(stablehlo(user(function(x) x), nv_abstract("c64", 2), target = "tpu"), "AnvilStablehlo")
  for (target in list("npu", 1, c("cpu", "gpu"), NA)) {
    expect_error(stablehlo(f, f32(2), target = target), class = "anvil_error_arg")
  }
})

# ---- files ----

test_that("a program is written with its constants and inputs, and replaces the one before", {
  folder <- tempfile()
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  path <- file.path(folder, "a.model.mlir")
  files <- function() sort(list.files(folder, all.files = TRUE, no.. = TRUE, recursive = TRUE))
  big <- nv_tensor(as.double(1:100))
  f <- user_env(function(p, x) list(p$w * x, big), big = big)
  program <- stablehlo(f, list(w = nv_scalar(2)), f32(3))
  expect_identical(
    withVisible(nv_write_stablehlo(program, path)),
    list(value = c(path, file.path(folder, "a.model.constants/1.npy")), visible = FALSE)
  )
  expect_identical(readChar(path, 1e5), program$text)
  expect_identical(nv_read_npy(file.path(folder, "a.model.constants/1.npy")), big)
  inputs <- list(x = nv_tensor(c(1, 2, 3)), p = list(w = nv_scalar(2)), other = "ignored", sizes = c(1, 2))
  written <- nv_write_stablehlo(program, path, inputs)
  expect_identical(
    files(), c("a.model.constants/1.npy", "a.model.inputs/1.npy", "a.model.inputs/2.npy", "a.model.mlir")
  )
  expect_identical(nv_read_npy(written[4L]), inputs$x)
  expect_identical(nv_read_npy(written[3L]), nv_scalar(2, "f64"))
  # What belonged to another program goes.
  nv_write_stablehlo(stablehlo(user(function(x) x), f32(2)), path)
  expect_identical(files(), "a.model.mlir")
  # But not what is not ours.
  dir.create(file.path(folder, "a.model.constants"))
  writeLines("mine", file.path(folder, "a.model.constants", "notes.txt"))
  expect_error(nv_write_stablehlo(program, path), "holds other files", class = "anvil_error_file")
  expect_identical(files(), c("a.model.constants/notes.txt", "a.model.mlir"))

  expect_fields(
    nv_write_stablehlo(program, path, list(x = nv_tensor(c(1, 2, 3)))), "anvil_error_arg", arg = "inputs"
  )
  wrong <- list(x = nv_tensor(c(1, 2)), p = list(w = nv_scalar(2)))
  expect_fields(nv_write_stablehlo(program, path, wrong), "anvil_error_arg", arg = "inputs$x", got = "f32[2]")
  expect_error(nv_write_stablehlo(program, path, list(1, 2)), class = "anvil_error_arg")
  expect_error(nv_write_stablehlo(program, path, 1), class = "anvil_error_arg")
  expect_error(nv_write_stablehlo("text", path), class = "anvil_error_arg")
  expect_error(nv_write_stablehlo(program, 1), class = "anvil_error_arg")
  nowhere <- file.path(folder, "nowhere", "x.mlir")
  error <- expect_fields(nv_write_stablehlo(program, nowhere), "anvil_error_file", path = nowhere)
  expect_match(conditionMessage(error), "dir.create()", fixed = TRUE)
  expect_error(nv_write_stablehlo(program, folder), class = "anvil_error_file")
})

test_that("a folder that nothing can be written to is named", {
  skip_on_os("windows")
  folder <- tempfile()
  dir.create(folder)
  on.exit({ Sys.chmod(folder, "700"); unlink(folder, recursive = TRUE) })
  Sys.chmod(folder, "500")
  skip_if(file.access(folder, 2L) == 0L, "root may write anywhere")
  program <- stablehlo(user(function(x) x), f32(2))
  error <- expect_error(nv_write_stablehlo(program, file.path(folder, "x.mlir")), class = "anvil_error_file")
  expect_match(error$reason, "Permission denied", fixed = TRUE)
})

# ---- the examples ----

test_that("the programs of all examples can be exported", {
  main <- function(x) expect_match(x$text, "func.func public @main(", fixed = TRUE)
  env <- run_example("linear-model.R")$env
  main(stablehlo(env$step, env$start, env$data, env$rate))
  main(stablehlo(env$in_while, env$start, env$data, env$rate, env$steps))
  env <- run_example("logistic-regression.R")$env
  main(stablehlo(env$train, env$start, env$x, env$y, env$rate, env$epochs, 50L))
  env <- run_example("mlp.R")$env
  layers <- env$initial(c(10L, 40L, 1L), nv_rng_state(1))
  aliased <- stablehlo(env$step, layers, env$training, 0L, 1e-3, 32L)
  main(aliased)
  expect_length(gregexpr("tf.aliasing_output", aliased$text, fixed = TRUE)[[1L]], 4L)
  main(stablehlo(env$train, layers, env$training, 100L, 1e-3, 32L))
  env <- run_example("metropolis.R")$env
  main(stablehlo(env$walk, env$chain, 100L, 2))
  env <- run_example("gaussian-process.R")$env
  main(stablehlo(env$fit, env$start, env$x, env$y, env$rate, 10L))
  main(stablehlo(env$posterior, env$w, env$x, env$y, env$as_column(env$grid)))
  env <- run_example("titanic.R")$env
  main(do.call(stablehlo, c(list(env$model), env$arguments("f32"))))
})

# ---- with Python ----

test_that("XLA gives the same results: dtypes, constants, lists, donation, random numbers, loops", {
  python <- python_with_jax()
  all <- list(
    nv_tensor(c(TRUE, FALSE)), nv_tensor(c(-1, 2), "bf16"), nv_tensor(c(0.1, 2), "f16"),
    nv_tensor(c(1+2i, 3)), nv_tensor(c(1+2i, 3), "c128"), nv_tensor("18446744073709551615", dtype = "ui64"),
    nv_empty("f32", c(0L, 2L))
  )
  expect_identical(run_exported(python, function(x) x, list(x = all)), all)

  big <- nv_tensor(matrix(seq(-1, 1, length.out = 400), 20))
  x <- nv_tensor(matrix(1:40 / 40, 2))
  f <- user_env(function(x, p) list(x %*% big, p$w * 2, p$k), big = big)
  p <- list(w = nv_tensor(array(1:24 / 8, c(2, 3, 4))), k = 0.1)
  got <- run_exported(python, jit(f, donate = "x"), list(x = x, p = p))
  expect_equal(got[[1L]], f(x, p)[[1L]], tolerance = 1e-6)
  expect_identical(got[2:3], list(p$w * 2, nv_scalar(0.1, "f64")))

  random <- user(function(state) nv_runif(5L, state)$value)
  expect_identical(run_exported(python, random, list(state = nv_rng_state(1))), list(random(nv_rng_state(1))))
  fib <- user(function(n) {
    body <- function(s) list(i = s$i + 1L, a = s$b, b = s$a + s$b)
    nv_while(list(i = 0L, a = 0L, b = 1L), function(s) s$i < n, body)$a
  })
  expect_identical(run_exported(python, fib, list(n = nv_scalar(20L, "i32"))), list(nv_scalar(6765L, "i32")))
})

test_that("a program for eight devices gives the same gradient", {
  python <- python_with_jax()
  loss <- user(function(w, x, y) mean((x %*% w - y)^2))
  x <- nv_tensor(matrix(sin(1:48), 16))
  y <- nv_tensor(matrix(cos(1:16), 16))
  w <- nv_fill(0.5, c(3, 1))
  f <- user_env(function(w, x, y) list(gradient(loss, "w")(w, x, y)$w, x + 1), loss = loss)
  sharding <- list(mesh = c(batch = 8), axes = c(x = 1, y = 1))
  got <- run_exported(python, f, list(w = w, x = x, y = y), sharding = sharding)
  expect_equal(got[[1L]], gradient(loss, "w")(w, x, y)$w, tolerance = 1e-6)
  expect_equal(got[[2L]], x + 1)
})

test_that("the script says what is wrong, and which argument", {
  python <- python_with_jax()
  folder <- tempfile()
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  at <- function(...) file.path(folder, ...)
  nv_write_stablehlo(stablehlo(user(function(x, y) x + y), f32(2), f32(2)), at("m.mlir"))
  nv_write_npy(nv_tensor(c(1, 2)), at("x.npy"))
  nv_write_npy(nv_tensor(1:2), at("i.npy"))
  nv_write_npy(nv_tensor(c(1, 2, 3)), at("long.npy"))
  fails <- function(pattern, ...) {
    out <- run_script(python, ..., "--outputs", at("out"))
    expect_identical(attr(out, "status"), 1L)
    expect_match(paste(out, collapse = "\n"), pattern, fixed = TRUE)
  }
  fails("that leaves 2 inputs, but 1 were given", at("m.mlir"), "--inputs", at("x.npy"))
  message <- "is int32 of shape (2,), but the program takes float32 of shape (2,)"
  fails(message, at("m.mlir"), "--inputs", at("x.npy"), at("i.npy"))
  fails("input 1 (", at("m.mlir"), "--inputs", at("long.npy"), at("x.npy"))
  fails("input 2 cannot be read from", at("m.mlir"), "--inputs", at("x.npy"), at("none.npy"))
  fails("the program cannot be read", at("none.mlir"))
  writeLines("no", at("no.mlir"))
  fails("the program has no function main()", at("no.mlir"))
  sharding <- list(mesh = c(batch = 2), axes = c(x = 1))
  nv_write_stablehlo(stablehlo(user(function(x) x + 1), f32(2), sharding = sharding), at("cut.mlir"))
  fails("--devices 2 makes so many of one CPU", at("cut.mlir"), "--inputs", at("x.npy"))
})
