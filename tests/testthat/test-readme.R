# The examples in README.md print what is written below them.

# Blocks of R code that are followed by a block of text: list(code, text), each as lines.
readme_examples <- function(path) {
  lines <- readLines(path, encoding = "UTF-8")
  fences <- grep("^```", lines)
  starts <- fences[c(TRUE, FALSE)]
  ends <- fences[c(FALSE, TRUE)]
  inside <- function(i) lines[seq_len(ends[i] - starts[i] - 1L) + starts[i]]
  found <- list()
  for (i in seq_along(starts)[-1L]) {
    between <- lines[seq_len(starts[i] - ends[i - 1L] - 1L) + ends[i - 1L]]
    if (lines[starts[i - 1L]] == "```r" && lines[starts[i]] == "```text" && !any(nzchar(between))) {
      found <- c(found, list(list(code = inside(i - 1L), text = inside(i))))
    }
  }
  found
}

test_that("the examples in README.md print what it says", {
  path <- test_path("..", "..", "README.md")
  skip_if_not(file.exists(path), "README.md is not part of what is tested")
  examples <- readme_examples(path)
  expect_gte(length(examples), 1L)
  env <- new.env(parent = globalenv())
  for (example in examples) {
    output <- capture.output(
      for (expression in parse(text = example$code, keep.source = FALSE)) {
        result <- withVisible(eval(expression, env))
        if (result$visible) print(result$value)
      }
    )
    expect_identical(sub(" +$", "", output), example$text)
  }
})
