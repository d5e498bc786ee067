# Programs in anvil and in XLA.

# A program with its arguments, and by how much a float of its results may differ: in units in the last place
# of the largest element of the same result, since sums that cancel are as exact as what they are sums of.
# Integers, booleans and, with `ulps = 0`, floats have to be equal to the last bit.
in_both <- function(f, ..., ulps = 0, sharding = NULL, inline_limit = 64L) {
  list(f = f, args = list(...), ulps = ulps, sharding = sharding, inline_limit = inline_limit)
}

# Runs programs, a list with names, in one Python, and compares the results with those of the jitted
# functions.
expect_same_in_xla <- function(python, programs) {
  folder <- tempfile("xla")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  at <- function(i, ending) file.path(folder, sprintf("%04d%s", i, ending))
  exported <- lapply(seq_along(programs), function(i) {
    p <- programs[[i]]
    x <- do.call(
      stablehlo, c(list(p$f), p$args, list(sharding = p$sharding, inline_limit = p$inline_limit)),
      quote = TRUE
    )
    nv_write_stablehlo(x, at(i, ".mlir"), setNames(p$args, argument_names(p$f, p$args)))
    x
  })
  printed <- run_many(python, folder, max(1, unlist(lapply(programs, function(p) p$sharding$mesh))))
  for (i in seq_along(programs)) {
    label <- names(programs)[i]
    error <- at(i, ".error")
    if (file.exists(error)) {
      testthat::fail(paste0(label, ": ", paste(readLines(error, warn = FALSE), collapse = "\n")))
      next
    }
    if (!file.exists(file.path(at(i, ".out"), "1.npy"))) {
      return(testthat::fail(paste0(label, " took Python down: ", paste(printed, collapse = "\n"))))
    }
    # Last, since an argument may be donated.
    p <- programs[[i]]
    f <- if (inherits(p$f, "JitFunction")) p$f else jit(p$f, static = static_of(p))
    want <- anvil:::unlist_leaves(list(do.call(f, p$args, quote = TRUE)))
    types <- exported[[i]]$outputs
    for (k in seq_along(types)) {
      place <- paste(label, names(types)[k])
      got <- nv_read_npy(file.path(at(i, ".out"), paste0(k, ".npy")), sub("\\[.*", "", types[[k]]))
      expect_near(got, want[[k]], p$ulps, place)
    }
    testthat::expect_length(want, length(types))
  }
}

# Names of the arguments that are no data.
static_of <- function(p) {
  argument_names(p$f, p$args)[!vapply(p$args, anvil:::is_data, NA)]
}

run_many <- function(python, folder, devices) {
  script <- system.file("python", "run_stablehlo.py", package = "anvil", mustWork = TRUE)
  many <- testthat::test_path("..", "testdata", "xla", "run_many.py")
  env <- c("JAX_PLATFORMS=cpu", paste0("XLA_FLAGS=--xla_force_host_platform_device_count=", devices))
  suppressWarnings(system2(python, shQuote(c(many, script, folder)), stdout = TRUE, stderr = TRUE, env = env))
}

# Distance from 1 to the next number of a dtype.
epsilon <- c(bf16 = 2^-7, f16 = 2^-10, f32 = 2^-23, f64 = 2^-52, c64 = 2^-23, c128 = 2^-52)

expect_near <- function(got, want, ulps, label) {
  # As it is stored: an ambiguous float is a double.
  type <- function(x) {
    stored <- sub("^c[0-9]+[?]", "c128", sub("^b?f[0-9]+[?]", "f64", type_of(x)))
    sub("?", "", stored, fixed = TRUE)
  }
  if (type(got) != type(want)) {
    return(testthat::fail(paste0(label, ": XLA gives ", type(got), ", anvil ", type(want))))
  }
  name <- sub("[[].*", "", type(want))
  if (!name %in% names(epsilon) || ulps == 0) {
    bytes <- function(x) .Call(anvil:::anvil_tensor_data, x)
    if (identical(bytes(got), bytes(want))) return(testthat::succeed())
    return(testthat::fail(paste0(label, ": ", differing(got, want))))
  }
  got_values <- values_of(got)
  want_values <- values_of(want)
  whole <- is.finite(want_values) & is.finite(got_values)
  size <- max(0, Mod(want_values[whole]))
  worst <- max(0, Mod(got_values[whole] - want_values[whole])) / (size * epsilon[[name]])
  if (is.nan(worst)) worst <- 0
  special <- identical(as.character(got_values[!whole]), as.character(want_values[!whole]))
  if (special && worst <= ulps) return(testthat::succeed())
  distance <- sprintf("; the largest distance is %.1f units, allowed are %g", worst, ulps)
  testthat::fail(paste0(label, ": ", differing(got, want), distance))
}

# The first element that is not the same.
differing <- function(got, want) {
  # 64 bits do not all fit a double, which is no news here.
  got <- as.character(suppressWarnings(values_of(got)))
  want <- as.character(suppressWarnings(values_of(want)))
  i <- c(which(got != want | is.na(got) != is.na(want)), NA)[1L]
  if (is.na(i)) return("the bits differ, though not in the first 15 digits")
  paste0("element ", i, " is ", got[i], " in XLA, ", want[i], " here")
}
