test_that("all.equal() compares elements with a tolerance that the dtype can hold", {
  expect_true(all.equal(nv_scalar(1), nv_scalar(1 + 1e-7)))
  expect_true(all.equal(nv_tensor(c(1, 2)), nv_tensor(c(1, 2))))
  # In f64 that is a difference.
  expect_match(all.equal(nv_scalar(1, "f64"), nv_scalar(1 + 1e-7, "f64")), "Mean relative difference: ")
  expect_true(all.equal(nv_scalar(1, "f64"), nv_scalar(1 + 1e-7, "f64"), tolerance = 1e-6))
  expect_true(all.equal(nv_scalar(1, "f64"), nv_scalar(1 + 1e-9, "f64")))
  expect_match(all.equal(nv_tensor(c(1, 2)), nv_tensor(c(1, 3))), "Mean relative difference: 0.5")
  expect_match(all.equal(nv_tensor(1:2), nv_tensor(c(1L, 3L))), "Mean relative difference: 0.5")
  expect_match(all.equal(nv_scalar(TRUE), nv_scalar(FALSE)), "1 element mismatch")
  expect_true(all.equal(nv_tensor(c(NaN, Inf)), nv_tensor(c(NaN, Inf))))
  expect_false(isTRUE(all.equal(nv_tensor(c(NaN, Inf)), nv_tensor(c(NaN, -Inf)))))
  expect_true(all.equal(nv_empty("f32", 0), nv_empty("f32", 0)))
})

test_that("all.equal() compares types", {
  x <- nv_tensor(1:4)
  expect_identical(all.equal(x, nv_tensor(1:4, "i64")), "dtypes differ: i32 and i64")
  expect_identical(all.equal(x, nv_tensor(1:4, shape = c(2, 2))), "shapes differ: (4) and (2,2)")
  expect_identical(all.equal(x, nv_tensor(1:4, ambiguous = TRUE)), "ambiguities differ: FALSE and TRUE")
  expect_length(all.equal(x, nv_tensor(c(1, 2, 3, 5), "f64", ambiguous = TRUE)), 3L)
  expect_identical(all.equal(x, 1:4), "current is not a tensor: an integer vector of length 4")
  expect_identical(all.equal(nv_scalar(1), NULL), "current is not a tensor: NULL")
  expect_type(all.equal(1:4, x), "character")
  # In lists too, which is how models are compared.
  expect_true(all.equal(list(w = nv_scalar(1)), list(w = nv_scalar(1 + 1e-7))))
  expect_match(
    all.equal(list(w = nv_scalar(1)), list(w = nv_scalar(2))), "Component .*w.*: Mean relative difference: 1"
  )
})

test_that("testthat compares tensors by their elements and types", {
  expect_success(expect_equal(nv_tensor(c(1, 2)), nv_tensor(c(1, 2))))
  expect_success(expect_identical(nv_tensor(c(1, 2)), nv_tensor(c(1, 2))))
  expect_success(expect_equal(nv_tensor(c(1, 2)), nv_tensor(c(1, 2.1)), tolerance = 0.1))
  expect_success(expect_equal(nv_scalar(1, "f64"), nv_scalar(1 + 1e-9, "f64")))
  expect_success(expect_equal(list(a = nv_scalar(1)), list(a = nv_scalar(1))))
  expect_success(expect_equal(nv_tensor(c(NaN, 1)), nv_tensor(c(NaN, 1))))

  expect_failure(
    expect_equal(nv_tensor(c(1, 2)), nv_tensor(c(1, 2.1))), "\\$data.*1\\.0+ 2\\.0+.*\\$data.*1\\.0+ 2\\.10*"
  )
  expect_failure(expect_equal(nv_scalar(1, "f64"), nv_scalar(1 + 1e-7, "f64")), "\\$data")
  expect_failure(expect_identical(nv_scalar(1, "f64"), nv_scalar(1 + 1e-9, "f64")), "\\$data")
  expect_failure(expect_equal(nv_tensor(1:2), nv_tensor(1:2, "i64")), "\\$dtype.*\"i32\".*\"i64\"")
  expect_failure(expect_equal(nv_scalar(1), nv_scalar(1, "f32")), "\\$ambiguous.*TRUE.*FALSE")
  expect_failure(expect_equal(nv_tensor(1:4), nv_tensor(1:4, shape = c(2, 2))), "\\$shape")
  expect_failure(expect_equal(nv_tensor(matrix(1:4, 2)), nv_tensor(matrix(c(1:3, 5L), 2))), "\\$data")
  expect_failure(expect_equal(list(a = nv_scalar(1)), list(a = nv_scalar(2))), "actual\\$a")
  expect_failure(expect_equal(nv_tensor(c(1, 2)), c(1, 2)))
})

test_that("integers that are the same double are not the same", {
  x <- nv_tensor("9007199254740993", "i64")
  y <- nv_tensor("9007199254740992", "i64")
  expect_no_warning(expect_failure(expect_equal(x, y), "bytes"))
  expect_failure(
    expect_identical(nv_scalar(highest[["ui64"]], "ui64"), nv_scalar("18446744073709551614", "ui64")), "bytes"
  )
  expect_success(expect_equal(x, nv_tensor("9007199254740993", "i64")))
  expect_success(expect_equal(nv_tensor("-2147483648", "i32"), nv_tensor("-2147483648", "i32")))
  # R reads doubles.
  expect_true(identical(x, y))
  expect_no_warning(all.equal(x, y))
})
