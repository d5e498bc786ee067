# What R code does with tensors and traced values works, or is a classed error where it happens: in no case is
# it silently something else. Each expression is evaluated eagerly, in a traced function, which the mask
# reaches, and in a function of a package, which it does not.

values <- c(3, 1, 2)
x <- nv_tensor(values, "f64")

plain <- function(x) {
  if (is.list(x) && !inherits(x, "AnvilValue")) return(lapply(x, plain))
  if (inherits(x, "AnvilValue")) x <- as_array(x)
  if (length(dim(x)) == 1L) dim(x) <- NULL
  unname(x)
}

# A function of a package's.
of_package <- function(f) {
  environment(f) <- asNamespace("stats")
  f
}

outcome <- function(expr) {
  value <- tryCatch(suppressWarnings(expr), error = identity)
  if (inherits(value, "error")) class(value)[1L] else plain(value)
}

# `error`: the class of what a traced function gives; NULL if it gives what R gives. `package`: the same for a
# function of a package, where that is otherwise.
expect_not_silent <- function(code, error = NULL, package = error, eager = NULL) {
  label <- deparse1(code)
  f <- eval(call("function", as.pairlist(alist(x = )), code), globalenv())
  want <- outcome(f(values))
  if (is.null(eager)) {
    expect_equal(outcome(f(x)), want, label = paste("eagerly", label))
  } else {
    expect_identical(outcome(f(x)), eager, label = paste("eagerly", label))
  }
  expect_equal(outcome(jit(f)(x)), error %||% want, label = label)
  g <- user_env(function(x) inner(x), inner = of_package(f))
  expect_equal(outcome(jit(g)(x)), package %||% want, label = paste("in a package", label))
}

concrete <- "anvil_error_concrete"

test_that("values that are joined", {
  works <- alist(c(1, x), unlist(list(x, 1)), sum(1, x), prod(2, x), max(1.5, x), min(1.5, x), range(1.5, x),
    append(1, x), matrix(x, 3, 2), as.numeric(list(x[1], x[2])), do.call("c", list(1, x))
  )
  for (code in works) expect_not_silent(code, package = concrete)
  for (code in alist(
    rbind(1, x), cbind(1, x), rbind(x, 1:3), c(x, 1), as.numeric(x), as.vector(x), as.list(x),
    array(x), array(x, c(3, 2))
  )) {
    expect_not_silent(code)
  }
})

test_that("what is assigned", {
  works <- alist(
    { y <- numeric(3); y[2] <- x[1]; y },
    { y <- 1:3; y[[2]] <- x[1]; y },
    { y <- matrix(0, 2, 3); y[1, ] <- x; y },
    replace(numeric(3), 2, x[1])
  )
  for (code in works) expect_not_silent(code, package = concrete)
  expect_not_silent(quote({ y <- list(); y[[1]] <- x; y$b <- x[1]; y }))
  # Nothing else takes an element without asking for it.
  for (code in alist({ y <- letters; y[1] <- x[1]; y }, { y <- factor(1:3); y[1] <- x[1]; y })) {
    f <- eval(call("function", as.pairlist(alist(x = )), code), globalenv())
    expect_error(jit(f)(x), class = concrete, label = deparse1(code))
  }
  expect_error(jit(function(x) { x[[2]] <- list(); x })(x), class = "anvil_error_arg", "value")
  expect_error(jit(function(x) { x[2] <- "a"; x })(x), class = "anvil_error_arg", "value")
})

test_that("what functions give", {
  works <- alist(
    sapply(1:3, function(i) x[i]), vapply(1:3, function(i) x[i], 0),
    mapply(function(i, j) x[i] * j, 1:3, 3:1),
    unlist(lapply(1:3, function(i) x[i])), apply(diag(3), 1, function(r) sum(r * x)),
    Reduce(function(a, b) a + b, x, accumulate = TRUE), tapply(x, c(1, 2, 1), sum)[[1]]
  )
  for (code in works) expect_not_silent(code, package = concrete)
  expect_not_silent(quote(lapply(x, function(v) v + 1)))
  expect_not_silent(quote(Reduce(`+`, x)))
  expect_not_silent(quote(Map(function(a, b) a * b, x, 1:3)))
})

test_that("what has no meaning in a program says what to write", {
  refused <- alist(
    { s <- 0; for (i in x) s <- s + i; s }, { while (x[1] > 9) 1; x }, if (x[1] > 0) 1 else 2,
    switch(x[3], "a", "b"), seq_len(x[1]), 1:x[1], rep(1, x[1]), numeric(x[1]), order(which(x > 1)), table(x),
    (x > 1)[1] && TRUE, letters[x[1]], list(1, 2, 3)[[x[1]]], paste(x), isTRUE(x[1] > 1),
    as.character(x)
  )
  for (code in refused) {
    f <- eval(call("function", as.pairlist(alist(x = )), code), globalenv())
    e <- tryCatch(jit(f)(x), error = identity)
    expect_s3_class(e, "anvil_error")
    expect_s3_class(e, concrete)
    expect_match(conditionMessage(e), "\ni ", fixed = TRUE, label = deparse1(code))
    # Eagerly a tensor is R's vector.
    expect_identical(outcome(f(x)), outcome(f(values)), label = deparse1(code))
  }
  e <- expect_error(jit(function(x) unique(x))(x), class = "anvil_error_arg", "size")
  e <- expect_error(x["a"], class = "anvil_error_index", "no names")
  e <- expect_error(jit(function(x) x["a"])(x), class = "anvil_error_index", "no names")
})

test_that("what is known of a traced value may be asked", {
  f <- function(x) {
    if (length(x) > 2) x <- x[seq_len(length(x) - 1)]
    stopifnot(is.numeric(x), length(x) == 2, is.null(names(x)), !is.list(x), NROW(x) == 2)
    for (i in seq_along(x)) x[i] <- x[i] * i
    x
  }
  environment(f) <- globalenv()
  expect_identical(plain(jit(f)(x)), c(3, 2))
})

test_that("a subscript that R refuses is an error with a class, of the user's call", {
  f <- user(function(x) {
    square <- matrix(0, 2, 2)
    square[3, 1] <- x
    square
  })
  e <- expect_error(jit(f)(nv_scalar(2)), "out of bounds", class = "anvil_error_index")
  expect_identical(deparse1(conditionCall(e)), "square[3, 1] <- value")
})
