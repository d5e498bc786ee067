# inst/cheatsheet.R is the program that the cheat sheet is set from.

test_that("every line of the cheat sheet gives what it says", {
  path <- system.file("cheatsheet.R", package = "anvil")
  skip_if_not(nzchar(path), "this installation has no cheat sheet")
  expect_identical(check_cheatsheet(path), NULL)
})

test_that("a line that gives something else is found", {
  path <- withr::local_tempfile(lines = c(
    "x <- nv_tensor(1:3)  #> i32[3]", "x + 1L  #> 2 3 4", "x + 1L  #> 2 3 5", "x[7]  #> anvil_error_shape",
    "stop('no')", "x[7]  #> anvil_error_index"
  ))
  wrong <- check_cheatsheet(path)
  expect_length(wrong, 3L)
  expect_match(wrong[1L], "gives   2 3 4$")
  expect_match(wrong[2L], "gives   anvil_error_index: Index 7")
  expect_match(wrong[3L], "gives   simpleError: no")
})
