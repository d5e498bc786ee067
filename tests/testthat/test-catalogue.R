# The tables in inst/catalogue: the names of all functions here and in other systems, what ops say of
# themselves, and the features of the yardstick with the functions and tests of each.

exports <- setdiff(
  getNamespaceExports("anvil"), c("%*%", "crossprod", "tcrossprod", "kronecker", "I", unlist(base_generics))
)
exports <- setdiff(exports, names(stats_functions))
exports <- grep("^[.]", exports, value = TRUE, invert = TRUE)
names_table <- read_catalogue("functions.tsv")
ops <- read_catalogue("ops.tsv")
rows <- utils::read.csv(
  system.file("catalogue", "rows.csv", package = "anvil", mustWork = TRUE), colClasses = "character"
)
words <- function(x) unlist(strsplit(x[nzchar(x)], " ", fixed = TRUE))

test_that("every exported function is in the table of names once, and no other", {
  expect_setequal(names_table$"function", exports)
  expect_identical(anyDuplicated(names_table$"function"), 0L)
  # Those of a group stand together.
  expect_length(rle(names_table$group)$values, length(unique(names_table$group)))
})

test_that("the generics in the table of names work on tensors, and those of ops are all there", {
  is_generic <- function(name) {
    # Operators and mathematical functions have methods each, those of the groups one for all.
    group <- Find(function(group) name %in% getGroupMembers(group), c("Summary", "Math", "Ops"))
    dispatches <- !is.null(utils::getS3method(name, "AnvilValue", optional = TRUE)) ||
      !is.null(utils::getS3method(group %||% name, "AnvilValue", optional = TRUE))
    dispatches
  }
  # These are written with a function that has a method.
  through <- c("factorial", "lfactorial")
  # Products are S4 in older versions of R, and a group of their own in newer ones; kronecker() is S4.
  products <- c("%*%", "crossprod", "tcrossprod", "kronecker")
  for (name in setdiff(words(names_table$generic), c(through, products, names(stats_functions)))) {
    expect_true(is_generic(name), label = name)
  }
  x <- nv_tensor(c(1, 2, 3), dtype = "f64")
  for (name in through) expect_true(inherits(match.fun(name)(x), "AnvilTensor"), label = name)
  for (i in which(nzchar(ops_table()$generic))) {
    row <- ops_table()[i, ]
    expect_true(
      row$generic %in% words(names_table$generic[names_table$"function" == row$fun]),
      label = paste(row$generic, "beside", row$fun)
    )
  }
  # Names in base R and the packages that come with it exist; those of other packages are not looked up.
  exist <- function(name) exists(name, envir = globalenv()) || grepl("::", name, fixed = TRUE)
  syntax <- c("if", "for", "while", "repeat")
  for (name in unique(words(names_table$base))) expect_true(exist(name) || name %in% syntax, label = name)
})

test_that("names of other systems are those of their modules", {
  modules <- list(
    numpy = "^(np|sp)[.]", jax = "^(jax|jnp|lax|nn|jsp)[.]", torch = "^(torch|F)[.]"
  )
  for (system in names(modules)) {
    names <- words(names_table[[system]])
    other <- grep(paste0(modules[[system]], "[A-Za-z_.0-9]+$"), names, invert = TRUE, value = TRUE)
    expect_identical(other, character())
  }
  expect_gt(length(words(unlist(names_table[names(modules)]))), 1000L)
})

test_that("the table of ops has each op", {
  expect_identical(ops$op, ops_table()$name)
  expect_identical(ops$"function", ops_table()$fun)
  expect_true(all(nzchar(ops$cost)))
  # Of everything but integers and booleans.
  unsaid <- ops[!nzchar(ops$ulps) & !nzchar(ops$accuracy), ]
  integers <- grepl("None: integers|Zero: the result is (boolean|an integer)", unsaid$derivative)
  expect_setequal(unsaid$op[!integers], character())
})

test_that("anvil_find() finds functions by any of their names", {
  expect_identical(anvil_find("einsum")$"function", "nv_einsum")
  expect_identical(anvil_find("torch.topk")$"function", "nv_top_k")
  expect_identical(anvil_find("lax.scan")$"function", "nv_scan")
  expect_identical(anvil_find("rowSums")$"function", "nv_reduce_sum")
  expect_identical(anvil_find("ROWSUMS"), anvil_find("rowSums"))
  expect_identical(anvil_find("%*%")$"function", "nv_matmul")
  expect_identical(anvil_find("[")$"function", c("nv_subset", "nv_subset_assign"))
  # Whole names first: np.sort before np.argsort.
  expect_identical(anvil_find("sort")$"function"[1L], "nv_sort")
  expect_true("nv_order" %in% anvil_find("sort")$"function")
  none <- anvil_find("no such name")
  expect_identical(dim(none), c(0L, 8L))
  expect_identical(names(none), c("function", "generic", "base", "numpy", "jax", "torch", "rtmb", "anvl"))
  for (bad in list(1, character(), c("a", "b"), NA_character_, "", NULL)) {
    expect_fields(anvil_find(bad), "anvil_error_arg", arg = "name")
  }
})

test_that("anvil_find() knows how other packages of R spell names", {
  first <- function(name) anvil_find(name)$"function"[1L]
  # One layer of ops, whatever the prefix; with and without the package.
  for (name in c("nvl_add", "prim_add", "nv_add", "anvil::nvl_add", "anvl::prim_add", "NVL_ADD")) {
    expect_identical(first(name), "nv_add", label = name)
  }
  # Names that differ in more than that.
  for (name in c("nv_cosine", "nvl_cosine", "prim_cosine")) {
    expect_identical(first(name), "nv_cos", label = name)
  }
  expect_identical(first("nv_aten"), "nv_abstract")
  expect_identical(first("nv_aval"), "nv_abstract")
  expect_identical(first("nv_rdunif"), "nv_sample_int")
  # R's generics are what they have as functions.
  expect_true("cbind" %in% words(anvil_find("nv_cbind")$generic[1L]))
  expect_identical(first("torch_topk"), "nv_top_k")
  expect_identical(first("linalg_inv"), "nv_inv")
  expect_identical(first("nnf_softmax"), "nv_softmax")
  expect_identical(first("MakeADFun"), "value_and_gradient")
  expect_identical(anvil_find("MakeADFun")$rtmb[1L], "MakeADFun")
  expect_identical(anvil_find("nv_cosine")$anvl[1L], "nv_cosine")
})

test_that("the names of other packages are of functions that are here, and not here themselves", {
  others <- read_catalogue("names.tsv")
  expect_setequal(others$system, c("rtmb", "anvl"))
  expect_true(all(others$"function" %in% exports))
  expect_true(all(nzchar(others$names)))
  theirs <- words(others$names[others$system == "anvl"])
  expect_identical(intersect(theirs, exports), character())
})

test_that("a traced function that calls a function of another system is told its name here", {
  x <- nv_scalar(2)
  said <- condition_of(jit(function(x) nvl_add(x, 1))(x))
  expect_s3_class(said, "anvil_error_unsupported")
  expect_match(conditionMessage(said), "`nv_add()` does the same here", fixed = TRUE)
  expect_identical(deparse1(conditionCall(said)), "nvl_add(x, 1)")
  expect_error(gradient(function(x) torch_sum(x))(x), "`nv_reduce_sum()`", fixed = TRUE)
  inner <- function(x) prim_sine(x)
  expect_error(trace_fn(function(x) inner(x), x), "`nv_sin()`", fixed = TRUE)
  expect_error(nv_for(2, x, function(i, x) nv_rdunif(x)), "`nv_sample_int()`", fixed = TRUE)
  # Others, and a part of a name, are R's.
  for (f in list(function(x) no_such_function(x), function(x) nv_no_such(x))) {
    said <- condition_of(jit(f)(x))
    expect_identical(class(said), c("simpleError", "error", "condition"))
  }
  # A function that is handled where it is called.
  both <- jit(function(x) tryCatch(nvl_add(x, 1), error = function(e) x + 1))
  expect_identical(both(x), x + 1)
})

test_that("every feature has functions that are exported and tests that mention them, or words", {
  expect_identical(rows$row, as.character(1:200))
  must <- grepl("^[MH]", rows$priority)
  expect_true(all(nzchar(rows$functions[must]) | nzchar(rows$note[must])))
  expect_identical(nzchar(rows$functions), nzchar(rows$tests))
  # What has no function says what is still to come, or that it is left out and why.
  expect_match(rows$note[!nzchar(rows$functions)], "^(still to come|left out): ")
  skip_if(!file.exists(test_path("test-catalogue.R")), "the sources of the tests are not there")
  known <- c(
    exports, words(names_table$generic), "print", "format", "all.equal", "dim", "drop"
  )
  for (i in which(nzchar(rows$functions))) {
    functions <- words(rows$functions[i])
    expect_true(all(functions %in% known), label = paste("functions of row", i))
    files <- test_path(words(rows$tests[i]))
    expect_true(all(file.exists(files)), label = paste("tests of row", i))
    text <- lapply(files, function(file) paste(readLines(file, encoding = "UTF-8"), collapse = "\n"))
    mentions <- outer(functions, text, Vectorize(function(name, text) {
      grepl(paste0("(?<![\\w.])\\Q", name, "\\E(?![\\w.])"), text, perl = TRUE)
    }))
    expect_true(all(rowSums(mentions) > 0), label = paste("functions of row", i, "are in its tests"))
    expect_true(all(colSums(mentions) > 0), label = paste("tests of row", i, "have its functions"))
  }
})
