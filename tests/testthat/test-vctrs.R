# Tensors as vectors of vctrs and as columns of tibbles.

test_that("vctrs slices, combines and compares tensors without a loss", {
  skip_if_not_installed("vctrs")
  for (dtype in dtypes) {
    x <- nv_tensor(if (dtype %in% complexes) c(1+2i, 0, 1+2i) else c(1, 0, 1), dtype)
    expect_identical(vctrs::vec_slice(x, c(3L, 1L)), x[c(3, 1)], label = dtype)
    expect_identical(vctrs::vec_c(x, x), c(x, x), label = dtype)
    expect_identical(vctrs::vec_unique(x), x[1:2], label = dtype)
    expect_identical(vctrs::vec_match(x, x), c(1L, 2L, 1L), label = dtype)
    expect_identical(vctrs::vec_rep(x, 2), c(x, x), label = dtype)
    if (!dtype %in% complexes) expect_identical(vctrs::vec_order(x), c(2L, 1L, 3L), label = dtype)
    expect_identical(vctrs::vec_ptype_full(x), paste0("tensor<", dtype, ">"))
    # The prototype has no elements.
    expect_identical(shape(vctrs::vec_ptype(x)), 0L)
  }
  expect_true(ambiguous(vctrs::vec_slice(nv_tensor(c(1, 2), ambiguous = TRUE), 1)))
  m <- nv_tensor(matrix(c(1, 2, 3, 4, 5, 6), 3), "f64")
  expect_identical(vctrs::vec_slice(m, 2:3), m[2:3, ])
  expect_identical(vctrs::vec_c(m, m), rbind(m, m))
  expect_identical(vctrs::vec_size(m), 3L)
  # A number is a vector of one.
  expect_identical(vctrs::vec_rep(nv_scalar(2), 2), nv_tensor(c(2, 2), ambiguous = TRUE))
  named <- nv_tensor(c(a = 1, b = 2))
  expect_identical(names(vctrs::vec_slice(named, 2L)), "b")
})

test_that("64-bit integers keep all digits, and their order", {
  skip_if_not_installed("vctrs")
  big <- c("9007199254740993", "9007199254740992", "-9007199254740993", "5", "-5")
  x <- nv_tensor(big, "i64")
  expect_identical(as.character(vctrs::vec_slice(x, 1L)), big[1])
  expect_identical(vctrs::vec_unique(c(x, x)), x)
  expect_identical(as.character(vctrs::vec_sort(x)), big[c(3, 5, 4, 2, 1)])
  expect_identical(vctrs::vec_match(nv_tensor(big[2], "i64"), x), 2L)
  large <- nv_tensor(c("18446744073709551615", "18446744073709551614"), "ui64")
  expect_identical(vctrs::vec_order(large), 2:1)
})

test_that("tensors meet each other and R's vectors in the common dtype", {
  skip_if_not_installed("vctrs")
  x <- nv_tensor(c(1, 2))
  expect_identical(vctrs::vec_c(x, nv_tensor(3, "f64")), nv_tensor(c(1, 2, 3), "f64"))
  expect_identical(vctrs::vec_c(x, 3L), nv_tensor(c(1, 2, 3)))
  expect_identical(vctrs::vec_c(3L, x), nv_tensor(c(3, 1, 2)))
  expect_identical(vctrs::vec_c(nv_tensor(1:2), TRUE), nv_tensor(c(1L, 2L, 1L)))
  expect_identical(vctrs::vec_cast(x, double()), c(1, 2))
  expect_identical(vctrs::vec_cast(x, integer()), 1:2)
  expect_identical(vctrs::vec_cast(1:2, x), x)
  expect_true(is.nan(as.vector(vctrs::vec_c(x, NA))[3L]))
  # Integers have no missing values: what has some is no tensor.
  expect_identical(vctrs::vec_slice(nv_tensor(1:2), c(1L, NA)), c(1L, NA))
  expect_identical(vctrs::vec_init(nv_tensor(TRUE), 2L), c(NA, NA))
  expect_identical(vctrs::vec_slice(nv_tensor("5", "i64"), c(1L, NA)), c("5", NA))
  expect_error(vctrs::vec_c(nv_tensor(1:2), NA_integer_), class = "anvil_error_value")
  expect_error(vctrs::vec_cast(nv_tensor(1.5), nv_tensor(1L)), class = "anvil_error_value")
  expect_error(vctrs::vec_c(x, "a"), class = "vctrs_error_incompatible_type")
  expect_error(vctrs::vec_c(x, nv_tensor(matrix(1, 1, 1))), class = "vctrs_error_incompatible_type")
})

test_that("a column of a tibble shows its dtype and its elements", {
  skip_if_not_installed("pillar")
  lines <- function(x) cli::ansi_strip(format(pillar::pillar(x)))
  expect_match(lines(nv_tensor(c(1.5, 2)))[1L], "<f32>", fixed = TRUE)
  expect_identical(trimws(lines(nv_tensor(c(1.5, 2)))[-1L]), c("1.5", "2"))
  expect_match(lines(nv_tensor(1, ambiguous = TRUE))[1L], "<f32?>", fixed = TRUE)
  big <- c("9007199254740993", "-5")
  expect_identical(trimws(lines(nv_tensor(big, "i64"))[-1L]), big)
})

test_that("methods are there whichever package is loaded first", {
  skip_if_not_installed("vctrs")
  show <- "cat(as.character(vctrs::vec_slice(nv_tensor(\"9007199254740993\", \"i64\"), 1L)))"
  # run_r() attaches anvil before this.
  expect_identical(run_r(c("loadNamespace(\"vctrs\")", show))[-1L], "9007199254740993")
  again <- "library(anvil, warn.conflicts = FALSE)"
  other <- c("unloadNamespace(\"anvil\")", "invisible(loadNamespace(\"vctrs\"))", again, show)
  expect_identical(tail(run_r(other), 1L), "9007199254740993")
})
