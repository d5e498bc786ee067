# Programs whose derivatives and batches JAX computed: see helper-transforms.R, which has them in R.

data <- read_transforms()

test_that("each program in the file is here", {
  expect_identical(names(transform_programs), unique(data$program))
  expect_length(transform_programs, 30L)
})

for (name in names(transform_programs)) local({
  name <- name
  test_that(paste("JAX has the same derivatives and batches:", name), {
    rows <- data[data$program == name, ]
    program <- transform_programs[[name]]
    args <- typed_tensors(rows, "argument")
    expected <- typed_tensors(rows, "result")
    eager <- do.call(program$f, args)
    jitted <- do.call(jit(program$f), args)
    expect_setequal(names(eager), names(expected))
    for (i in seq_along(eager)) {
      result <- names(eager)[i]
      want <- expected[[result]]
      # A flat Hessian is a matrix of R.
      got <- eager[[i]]
      if (is.matrix(got) && !is.object(got)) got <- nv_tensor(got, dtype = dtype(want))
      expect_identical(list(dtype(got), shape(got)), list(dtype(want), shape(want)), label = result)
      unit <- c(i32 = 1, f32 = 2^-24, f64 = 2^-53)[[as.character(dtype(want))]]
      size <- max(abs(as.double(want)))
      distance <- max(abs(as.double(got) - as.double(want))) / (unit * size)
      expect_lte(distance, program$roundings, label = paste(result, "in units"))
      expect_identical(as.double(jitted[[i]]), as.double(got), label = paste("jitted", result))
    }
  })
})
