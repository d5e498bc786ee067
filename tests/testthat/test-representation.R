# A tensor is an R vector with a class and a dtype: what R may do with vectors, it may do with tensors.

# Values that a dtype holds and that R sees as they are.
elements_of <- function(dtype) {
  switch(
    dtype, i1 = c(TRUE, FALSE, TRUE), c64 = , c128 = c(1+2i, -0.5i, 3),
    bf16 = , f16 = , f32 = , f64 = c(1.5, -2, 0.25), c(3L, 1L, 2L)
  )
}

class_of_tensors <- c("AnvilTensor", "AnvilValue")

test_that("a tensor is a vector of the type that holds its elements, without a list in it", {
  seen <- c(
    i1 = "logical", i8 = "integer", i16 = "integer", i32 = "integer", ui8 = "integer", ui16 = "integer",
    c64 = "complex", c128 = "complex"
  )
  for (dtype in dtypes) {
    x <- nv_tensor(elements_of(dtype), dtype)
    expect_identical(typeof(x), if (dtype %in% names(seen)) seen[[dtype]] else "double", label = dtype)
    expect_false(is.list(x), label = dtype)
    expect_identical(dim(x), 3L, label = dtype)
    expect_identical(class(x), class_of_tensors, label = dtype)
    expect_identical(attr(x, "dtype"), dtype, label = dtype)
    expect_equal(as.vector(x), elements_of(dtype), tolerance = 0, label = dtype)
    expect_null(dim(nv_scalar(elements_of(dtype)[1], dtype)), label = dtype)
  }
})

test_that("an ordinary vector with class and dtype is a tensor", {
  for (dtype in dtypes) {
    made <- structure(elements_of(dtype), dim = 3L, dtype = dtype, class = class_of_tensors)
    x <- nv_tensor(elements_of(dtype), dtype)
    expect_identical(as_array(made), as_array(x), label = dtype)
    expect_true(as.vector(nv_reduce_all(made == x)), label = dtype)
    expect_identical(type_of(jit(identity)(made)), type_of(x), label = dtype)
    twice <- jit(function(x) nv_concatenate(x, x))(made)
    expect_identical(as.vector(twice), rep(as.vector(x), 2), label = dtype)
  }
  # Elements round to the dtype where they are used.
  expect_elements(structure(0.1, dtype = "f32", class = class_of_tensors) * 1, as_f32(0.1), "f32[]")
})

test_that("what does not fit its dtype is an error where it is used", {
  made <- function(data, dtype) structure(data, dim = length(data), dtype = dtype, class = class_of_tensors)
  expect_error(made(c(1L, 300L), "i8") + 1L, class = "anvil_error_value")
  expect_error(made(c(TRUE, NA), "i1") & TRUE, class = "anvil_error_value")
  expect_error(made(1.5, "i64") + 1L, class = "anvil_error_value")
  expect_error(made(c(1, NA), "i64") + 1L, class = "anvil_error_value")
  expect_error(made(-1, "ui64") + 1L, class = "anvil_error_value")
  expect_error(made("a", "f32") + 1L, class = "anvil_error_arg")
  expect_error(made(1, "f33") + 1L, class = "anvil_error_arg")
  expect_error(jit(identity)(made(1.5, "ui32")), class = "anvil_error_value")
})

test_that("a copy is another tensor, whatever makes it", {
  for (dtype in dtypes) {
    x <- nv_tensor(elements_of(dtype), dtype)
    want <- as_array(x)
    y <- x
    attr(y, "note") <- "mine"
    y[2] <- y[1]
    expect_identical(as_array(x), want, label = dtype)
    expect_null(attr(x, "note"), label = dtype)
    expect_identical(as_array(y), replace(want, 2, want[1]), label = dtype)
    expect_identical(x, nv_tensor(elements_of(dtype), dtype), label = dtype)
    expect_false(identical(x, y), label = dtype)
    # R's own replacement, without a method.
    z <- unclass(x)
    z[2] <- z[1]
    expect_identical(as.vector(z), as.vector(replace(want, 2, want[1])), label = dtype)
    expect_identical(as_array(x), want, label = dtype)
  }
})

test_that("base R changes attributes and elements in place, and the tensor follows", {
  x <- nv_tensor(c(1.7, -2.2, 3), "f32")
  y <- x
  storage.mode(y) <- "integer"
  expect_elements(y, c(1L, -2L, 3L), "i32?[3]")
  expect_elements(x, as_f32(c(1.7, -2.2, 3)), "f32[3]")
  # Elements that C writes count, rounded to the dtype.
  z <- unclass(x)
  z[[1]] <- 0.1
  oldClass(z) <- class_of_tensors
  expect_elements(z * 1, as_f32(c(0.1, -2.2, 3)), "f32[3]")
  expect_elements(x, as_f32(c(1.7, -2.2, 3)), "f32[3]")
  m <- nv_tensor(1:6, "i16")
  dim(m) <- c(2, 3)
  expect_identical(type_of(m), "i16[2, 3]")
  expect_identical(as_array(m), matrix(1:6, 2))
  dimnames(m) <- list(c("a", "b"), NULL)
  expect_identical(rownames(m), c("a", "b"))
  attr(m, "dim") <- NULL
  expect_identical(length(m), 6L)
})

test_that("code in C reads and writes elements", {
  skip_on_cran()
  skip_on_os("windows")
  skip_if_not(nzchar(Sys.which("make")) && nzchar(Sys.which("cc")), "a compiler is here")
  folder <- withr::local_tempdir()
  source <- file.path(folder, "probe.c")
  writeLines(c(
    "#include <Rinternals.h>",
    "SEXP probe_sum(SEXP x) {",
    "  double sum = 0; const double *p = REAL_RO(x);",
    "  for (R_xlen_t i = 0; i < XLENGTH(x); i++) sum += p[i];",
    "  return Rf_ScalarReal(sum);",
    "}",
    "SEXP probe_set(SEXP x) { REAL(x)[0] = 0.1; return x; }",
    "SEXP probe_fill(SEXP x) { SET_REAL_ELT(x, 1, 42.0); return x; }"
  ), source)
  built <- suppressWarnings(system2(
    file.path(R.home("bin"), "R"), c("CMD", "SHLIB", shQuote(source)), stdout = TRUE, stderr = TRUE
  ))
  library <- file.path(folder, paste0("probe", .Platform$dynlib.ext))
  skip_if_not(file.exists(library), paste(built, collapse = "\n"))
  loaded <- dyn.load(library)
  on.exit(dyn.unload(library))
  for (dtype in c("f16", "f32", "i64", "f64")) {
    x <- nv_tensor(c(1, 2, 3), dtype)
    expect_identical(.Call(getNativeSymbolInfo("probe_sum", loaded), x), 6, label = dtype)
    # Reading has changed nothing.
    expect_identical(x, nv_tensor(c(1, 2, 3), dtype), label = dtype)
    expect_elements(x + x, c(2, 4, 6), paste0(dtype, "[3]"))
  }
  x <- nv_tensor(c(1, 2, 3), "f32")
  .Call(getNativeSymbolInfo("probe_set", loaded), x)
  .Call(getNativeSymbolInfo("probe_fill", loaded), x)
  expect_elements(x * 1, as_f32(c(0.1, 42, 3)), "f32[3]")
  i <- nv_tensor(c(1, 2, 3), "i64")
  .Call(getNativeSymbolInfo("probe_set", loaded), i)
  expect_error(i + 1L, class = "anvil_error_value")
})

test_that("a tensor is saved narrow, and comes back narrow", {
  size_of <- function(x) length(serialize(x, NULL))
  for (dtype in dtypes) {
    x <- nv_tensor(rep(elements_of(dtype), 1000), dtype)
    again <- unserialize(serialize(x, NULL))
    expect_identical(again, x, label = dtype)
    bytes <- if (dtype == "i1") 1 else bits(dtype) / 8
    # A dtype that R has no vectors of takes its own bytes, and a header.
    expect_lte(size_of(x), 3000 * bytes + 400, label = dtype)
    expect_identical(size_of(again), size_of(x), label = dtype)
    path <- withr::local_tempfile()
    saveRDS(x, path)
    expect_identical(readRDS(path), x, label = dtype)
    expect_identical(type_of(readRDS(path)), type_of(x), label = dtype)
  }
  # Three elements: the class, dtype and dim take most.
  x <- nv_tensor(c(1, 2, 3))
  expect_lte(length(memCompress(serialize(x, NULL), "gzip")), 300)
  # Changed elements are saved as they are.
  x <- nv_tensor(c(1, 2, 3), "f32")
  storage.mode(x) <- "integer"
  expect_identical(as_array(unserialize(serialize(x, NULL))), as_array(x))
})

test_that("a session reads what another one saved, without the package attached", {
  path <- withr::local_tempfile(fileext = ".rds")
  i <- nv_tensor("9007199254740993", "i64")
  x <- list(f = nv_tensor(c(1.5, 2, 3)), i = i, b = nv_tensor(c(TRUE, FALSE)))
  saveRDS(x, path)
  script <- withr::local_tempfile(fileext = ".R")
  writeLines(c(
    "path <- commandArgs(TRUE)[1]",
    "x <- readRDS(path)",
    "cat(isNamespaceLoaded('anvil'), sum(unclass(x$f)), typeof(x$b), as.character(x$i), '')",
    "saveRDS(x, path)",
    "cat(file.size(path))"
  ), script)
  size <- file.size(path)
  out <- withr::with_envvar(
    c(R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep)),
    system2(file.path(R.home("bin"), "Rscript"), c(shQuote(script), shQuote(path)), stdout = TRUE)
  )
  words <- strsplit(out, " ")[[1]]
  expect_identical(words[1:4], c("TRUE", "6.5", "logical", "9007199254740993"))
  expect_lte(abs(as.double(words[5]) - size), 60)
  expect_identical(readRDS(path), x)
})

test_that("other processes take and return tensors", {
  skip_if_not_installed("callr")
  x <- nv_tensor(c(1, 2, 3), "f16")
  out <- unless_it_hangs(callr::r(user(function(x) {
    requireNamespace("anvil")
    list(x, x * 2, sum(unclass(x)))
  }), list(x), libpath = .libPaths()))
  expect_identical(out[[1]], x)
  expect_elements(out[[2]], c(2, 4, 6), "f16[3]")
  expect_identical(out[[3]], 6)
})

test_that("64-bit integers keep all digits", {
  values <- c(
    "9007199254740993", "-9223372036854775808", "9223372036854775807", "0", "-1", "1000000000", "-1000000001"
  )
  x <- nv_tensor(values, "i64")
  expect_identical(as.character(x), values)
  expect_identical(paste(x), values)
  expect_identical(trimws(capture.output(print(x))[2:8]), values)
  expect_identical(unserialize(serialize(x, NULL)), x)
  expect_identical(nv_tensor(as.character(x), "i64"), x)
  big <- c("18446744073709551615", "9007199254740993", "100000")
  expect_identical(as.character(nv_tensor(big, "ui64")), big)
  expect_identical(as.character(nv_tensor("4294967295", "ui32")), "4294967295")
  expect_identical(as.character(nv_scalar("9007199254740993", "i64")), "9007199254740993")
  expect_identical(as.character(nv_empty("i64", 0)), character())
  skip_if_not_installed("bit64")
  whole <- x[-2]
  expect_identical(as.character(as_array(whole, integer64 = TRUE)), values[-2])
  expect_identical(nv_tensor(bit64::as.integer64(values[-2])), whole)
})

test_that("64-bit integers keep their digits when C asks for elements to write to, and has what C writes", {
  # As identical() does, which writes nothing.
  values <- c("9007199254740993", "-9223372036854775808", "9223372036854775807")
  x <- nv_tensor(values, "i64")
  twin <- nv_tensor(values, "i64")
  expect_true(identical(x, twin))
  expect_true(identical(as.character(x), values))
  expect_true(identical(as.character(x + 0L), values))
  expect_true(identical(as.character(jit(function(x) x)(x)), values))
  expect_true(identical(as.character(unserialize(serialize(x, NULL))), values))
  copy <- x
  copy[3] <- nv_scalar(1, "i64")
  expect_true(identical(as.character(copy), c(values[1:2], "1")))
  expect_identical(x[2:3], twin[2:3])
  expect_identical(max(x), max(twin))
  big <- c("18446744073709551615", "9007199254740993")
  u <- nv_tensor(big, "ui64")
  expect_true(identical(u, u))
  expect_true(identical(as.character(u), big))
  # What R's own code writes counts.
  plain <- x
  attributes(plain) <- NULL
  plain[2] <- 1
  expect_identical(plain, c(2^53, 1, 2^63))
  expect_true(identical(as.character(x), values))
})

test_that("memory that was made for R's sake goes with the tensor", {
  used <- function() sum(gc(full = TRUE)[, 2])
  before <- used()
  x <- nv_tensor(as.double(1:1e6), "f32")
  held <- used() - before
  # C asked for all elements: a vector of doubles.
  invisible(utils::object.size(sort(unclass(x), method = "radix")))
  invisible(base::rowSums(nv_reshape(x, c(1000, 1000))))
  invisible(stats::fft(x[1:4]))
  rm(x)
  expect_lt(used() - before, 1)
})

test_that("collections at every allocation find nothing loose", {
  skip_on_cran()
  work <- function() {
    x <- nv_tensor(c(1, 2, 3), "f16")
    y <- nv_tensor(c(TRUE, FALSE, TRUE))
    z <- unserialize(serialize(list(x, y), NULL))
    v <- unclass(x)
    v[[2]] <- 5
    refused <- tryCatch(jit(function(x) for (i in x) i)(x), error = class)
    list(sum(v), as.vector(z[[1]]), c(0, x), y[2], refused)
  }
  results <- tortured(work, 23)
  expect_identical(results$got, results$want)
  expect_identical(results$got[[5]][1], "anvil_error_concrete")
})

test_that("a boolean tensor is a mask, whose elements are known; a traced one is not", {
  x <- nv_tensor(c(3, 1, 2), "f16")
  expect_elements(x[x > 1], c(3, 2), "f16[2]")
  expect_elements(x[x > 5], numeric(), "f16[0]")
  x[x > 1] <- 0
  expect_elements(x, c(0, 1, 0), "f16[3]")
  expect_error(x[nv_tensor(c(TRUE, FALSE))], class = "anvil_error_index")
  expect_error(jit(function(x) x[x > 1])(x), class = "anvil_error_arg", "nv_ifelse")
  # A mask that is captured is known in a trace, too.
  mask <- nv_tensor(c(TRUE, FALSE, TRUE))
  expect_elements(jit(function(x) x[mask])(nv_tensor(c(3, 1, 2))), c(3, 2), "f32[2]")
})

test_that("complex numbers that R's C code makes of other numbers are complex numbers", {
  # As stats::fft() does.
  for (dtype in setdiff(dtypes, c("c64", "c128"))) {
    x <- structure(c(1+2i, 3), class = class_of_tensors, dim = 2L, dtype = dtype)
    expect_elements(x + 1L, c(2+2i, 4), "c128[2]")
  }
})

test_that("doubles that R's C code makes of integers are doubles", {
  # It keeps the attributes, the dtype among them.
  for (dtype in c("i1", "i8", "i16", "i32", "ui8", "ui16")) {
    x <- structure(c(1.5, 2, -3), class = class(nv_tensor(1)), dim = 3L, dtype = dtype)
    expect_elements(x, c(1.5, 2, -3), "f64[3]")
    expect_elements(x * 2L, c(3, 4, -6), "f64[3]")
    expect_elements(jit(function(x) x + 1L)(x), c(2.5, 3, -2), "f64[3]")
  }
  expect_elements(structure(1:3, class = class(nv_tensor(1)), dim = 3L, dtype = "i1"), 1:3, "i32[3]")
  expect_equal(as.vector(log(10, nv_tensor(c(2L, 4L)))), log(10, c(2, 4)))
})

test_that("models of counts in tensors are fitted as those of R's integers", {
  x <- c(3, 1, 4, 1, 5, 9, 2, 6)
  k <- c(3L, 7L, 5L, 0L, 2L, 1L, 4L, 4L)
  fits <- user(function(x, k) {
    list(coef(lm(k ~ x)), coef(glm(k ~ x, family = poisson)), residuals(lm(k ~ x)), summary(lm(k ~ x))$sigma)
  })
  expect_equal(lapply(fits(nv_tensor(x, "f64"), nv_tensor(k)), as.vector), lapply(fits(x, k), as.vector))
})
