# The table of the article "Coming from ...": each line is run, and its value is R's where one is given.

rows <- read_catalogue("coming-from.tsv")

test_that("the table has all systems, and a line says what it is for", {
  expect_identical(names(rows), c("system", "theirs", "ours", "value", "note"))
  expect_identical(unique(rows$system), c("numpy", "jax", "torch", "rtmb", "anvl"))
  expect_true(all(nzchar(rows$theirs) & nzchar(rows$ours)))
  expect_identical(anyDuplicated(rows[c("system", "theirs")]), 0L)
  expect_gt(min(table(rows$system)), 15)
})

test_that("each line runs, eagerly, and gives what R does", {
  data <- list(x = c(1, 4, 9), y = c(2, 2, 2), m = matrix(c(4, 1, 1, 3), 2), b = c(1, 2))
  tensors <- c(
    lapply(data, nv_tensor), list(f = function(x) sum(x^2), state = nv_rng_state(1))
  )
  numbers <- function(x) unname(unlist(rapply(list(x), as.complex, how = "list")))
  for (i in seq_len(nrow(rows))) {
    label <- paste0(rows$system[i], ": ", rows$ours[i])
    # A line changes variables of its own only.
    around <- list2env(tensors, parent = globalenv())
    utils::capture.output(value <- tryCatch(eval(str2lang(rows$ours[i]), around), error = identity))
    expect_false(inherits(value, "error"), label = label)
    if (inherits(value, "error") || !nzchar(rows$value[i])) next
    of_r <- eval(str2lang(rows$value[i]), list2env(data, parent = globalenv()))
    expect_equal(numbers(value), numbers(of_r), tolerance = 1e-4, label = label)
  }
})

test_that("functions that are named exist", {
  called <- function(code) {
    tokens <- utils::getParseData(parse(text = code, keep.source = TRUE))
    tokens$text[tokens$token == "SYMBOL_FUNCTION_CALL"]
  }
  for (i in seq_len(nrow(rows))) {
    own <- grep("^(nv_|tree_|anvil_)", called(rows$ours[i]), value = TRUE)
    expect_true(all(own %in% getNamespaceExports("anvil")), label = rows$ours[i])
  }
  # In notes, as `nv_one()`, `nv_two(..)`.
  noted <- regmatches(rows$note, gregexpr("`(nv|tree)_[a-z0-9_]+\\(", rows$note))
  noted <- setdiff(gsub("[`(]", "", unlist(noted)), "")
  expect_identical(setdiff(noted, getNamespaceExports("anvil")), character())
})
