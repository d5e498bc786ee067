values <- function(x) as.vector(Re(as_array(x) + 0))

test_that("diagonals are those of diag() and of its assignment", {
  for (offset in -3:3) {
    n <- 3 + abs(offset)
    want <- matrix(0, n, n)
    want[col(want) - row(want) == offset] <- 1:3
    x <- nv_diag(nv_tensor(c(1, 2, 3), "f64"), offset)
    expect_identical(as_array(x), want)
    expect_identical(values(nv_extract_diag(x, offset)), c(1, 2, 3))
    expect_identical(as_array(nv_diag(nv_empty("f64", 0), offset)), matrix(0, abs(offset), abs(offset)))
  }
  for (sizes in list(c(3, 5), c(5, 3), c(4, 4), c(1, 3), c(0, 2), c(2, 0))) {
    a <- matrix(seq_len(prod(sizes)) + 0, sizes[1], sizes[2])
    x <- nv_tensor(a, "f64")
    for (offset in -6:6) {
      want <- a[col(a) - row(a) == offset]
      expect_identical(values(nv_extract_diag(x, offset)), want)
      expect_identical(as.double(nv_trace(x, offset)), sum(want))
      expect_identical(jit(nv_extract_diag, static = "offset")(x, offset), nv_extract_diag(x, offset))
    }
    expect_identical(values(nv_extract_diag(x)), diag(a))
  }
  for (dtype in dtypes) {
    v <- nv_tensor(c(1, 0, 1), dtype = dtype)
    expect_identical(values(nv_diag(v)), c(1, 0, 0, 0, 0, 0, 0, 0, 1))
    expect_identical(nv_extract_diag(nv_diag(v)), v)
    expect_identical(type_of(nv_trace(nv_diag(v))), paste0(if (dtype == "i1") "i32" else dtype, "[]"))
    expect_identical(values(nv_trace(nv_diag(v))), 2)
  }
  expect_identical(type_of(nv_diag(c(1, 2))), "f32?[2, 2]")
  expect_error(nv_diag(nv_scalar(1)), class = "anvil_error_shape", "at least 1 axis")
  expect_error(nv_extract_diag(nv_tensor(1:3)), class = "anvil_error_shape", "at least 2 axes")
  expect_error(nv_trace(nv_tensor(1:3)), class = "anvil_error_shape")
  expect_error(nv_diag(nv_tensor(1:3), 0.5), class = "anvil_error_arg", "offset")
  expect_error(nv_diag(nv_tensor(1:3), 2^40), class = "anvil_error_arg", "offset")
  expect_error(nv_extract_diag(nv_eye(2), axes = 1), class = "anvil_error_arg", "two axes")
  expect_error(nv_extract_diag(nv_eye(2), axes = c(1, 1)), class = "anvil_error_axis")
})

test_that("axes before those of matrices are a batch", {
  a <- array(1:24 + 0, c(2, 3, 4))
  x <- nv_tensor(a, "f64")
  expect_identical(as_array(nv_extract_diag(x)), t(apply(a, 1, diag)))
  expect_identical(as_array(nv_extract_diag(x, axes = c(1, 3))), t(apply(a, 2, diag)))
  expect_identical(
    as_array(nv_extract_diag(x, axes = c(3, 1), offset = -1)), t(apply(a, 2, function(m) diag(m[, -1])))
  )
  expect_identical(values(nv_trace(x)), apply(a, 1, function(m) sum(diag(m))))
  for (i in 1:2) {
    expect_identical(as_array(nv_diag(x)[i, , , ])[2, , ], diag(a[i, 2, ]))
    expect_identical(as_array(nv_tril(x, 1)[i, , ]), a[i, , ] * (col(a[i, , ]) - row(a[i, , ]) <= 1))
    expect_identical(as_array(nv_triu(x)[i, , ]), a[i, , ] * upper.tri(a[i, , ], TRUE))
  }
  expect_identical(vmap(nv_extract_diag)(x), nv_extract_diag(x))
  expect_identical(vmap(nv_diag)(x), nv_diag(x))
  expect_identical(vmap(nv_tril)(x), nv_tril(x))
})

test_that("triangles are those of lower.tri() and upper.tri()", {
  for (sizes in list(c(3, 5), c(5, 3), c(4, 4), c(1, 1), c(0, 2))) {
    a <- matrix(seq_len(prod(sizes)) + 0, sizes[1], sizes[2])
    x <- nv_tensor(a, "f64")
    for (offset in -6:6) {
      distance <- col(a) - row(a)
      expect_identical(as_array(nv_tril(x, offset)), a * (distance <= offset))
      expect_identical(as_array(nv_triu(x, offset)), a * (distance >= offset))
    }
    expect_identical(as_array(nv_tril(x)), a * lower.tri(a, TRUE))
    expect_identical(jit(function(x) nv_triu(x) + nv_tril(x, -1))(x), x)
    expect_identical(as_array(jit(function(x) nv_ifelse(lower.tri(x), x, 0))(x)), a * lower.tri(a))
  }
  # What is cut off is 0, whatever it was.
  y <- nv_tensor(matrix(c(1, NaN, Inf, 2), 2))
  expect_elements(nv_triu(y), c(1, 0, Inf, 2), "f32[2, 2]")
  for (dtype in dtypes) {
    x <- nv_fill(1L, c(2, 2), dtype)
    expect_identical(values(nv_tril(x)), c(1, 1, 0, 1))
    expect_identical(dtype(nv_tril(x)), dtype(x))
  }
  g <- gradient(function(x) sum(nv_tril(x)^2))(nv_tensor(matrix(1:4 + 0, 2)))
  expect_identical(as.vector(as_array(g$x)), c(2, 4, 0, 8))
  expect_error(nv_tril(nv_tensor(1:3)), class = "anvil_error_shape", "at least 2 axes")
  expect_error(nv_triu(nv_eye(2), NA), class = "anvil_error_arg")
})

test_that("eye is 1 on a diagonal", {
  for (dtype in dtypes) {
    expect_identical(type_of(nv_eye(3, dtype = dtype)), paste0(dtype, "[3, 3]"))
    expect_identical(values(nv_eye(3, dtype = dtype)), as.vector(diag(3)))
  }
  for (offset in -4:4) {
    m <- matrix(0, 3, 4)
    expect_identical(as_array(nv_eye(3, 4, offset, "f64")), (col(m) - row(m) == offset) + 0)
  }
  expect_identical(type_of(nv_eye(2, ambiguous = TRUE)), "f32?[2, 2]")
  expect_identical(shape(nv_eye(0)), c(0L, 0L))
  expect_jit_equal(function(x) nv_eye(2) %*% x, nv_tensor(matrix(1:4 + 0, 2)), r = matrix(1:4 + 0, 2))
  expect_error(nv_eye(-1), class = "anvil_error_arg", "`n`")
  expect_error(nv_eye(2, 1.5), class = "anvil_error_arg", "`m`")
  expect_error(nv_eye(2, dtype = "f128"), class = "anvil_error_dtype")
  expect_error(nv_eye(2^26, 2^27), class = "anvil_error_shape")
  # It is computed where it is used, and read from nowhere.
  expect_output(print(explain_plan(function(x) x * nv_eye(100), nv_fill(1, c(100, 100)))), "1 step")
})

test_that("outer products are those of outer()", {
  x <- c(1, 2, 3)
  y <- c(0.5, -1, 2, 4)
  tx <- nv_tensor(x, "f64")
  ty <- nv_tensor(y, "f64")
  expect_identical(as_array(nv_outer(tx, ty)), outer(x, y))
  expect_identical(as_array(nv_outer(tx, y)), outer(x, y))
  expect_identical(as_array(nv_outer(tx, ty, nv_sub)), outer(x, y, "-"))
  expect_identical(as_array(nv_outer(tx, ty, function(a, b) a^2 + b)), outer(x, y, function(a, b) a^2 + b))
  a <- matrix(1:6 + 0, 2)
  expect_identical(as_array(nv_outer(nv_tensor(a, "f64"), ty)), outer(a, y))
  expect_identical(as_array(nv_outer(ty, nv_tensor(a, "f64"))), outer(y, a))
  expect_elements(nv_outer(2, nv_tensor(1:2)), c(2, 4), "f32?[2]")
  expect_elements(nv_outer(nv_tensor(1:2), nv_tensor(c(0.5, 1))), c(0.5, 1, 1, 2), "f32[2, 2]")
  expect_identical(shape(nv_outer(nv_empty("f32", 0), tx)), c(0L, 3L))
  expect_jit_equal(function(x, y) nv_outer(x, y) + 1, tx, ty, r = outer(x, y) + 1)
  expect_jit_equal(function(x, y) nv_outer(x, y, nv_max), tx, ty, r = outer(x, y, pmax))
  g <- gradient(function(x, y) sum(nv_outer(x, y)))(tx, ty)
  expect_identical(as.vector(as_array(g$x)), rep(sum(y), 3))
  expect_identical(
    vmap(function(x) nv_outer(x, ty))(nv_stack(tx, tx * 2)),
    nv_stack(nv_outer(tx, ty), nv_outer(tx * 2, ty))
  )
  expect_error(nv_outer(tx, ty, 3), class = "anvil_error_arg", "`f`")
  expect_error(nv_outer(tx, ty, function(x) x), class = "anvil_error_arg", "`f`")
  expect_identical(outer(tx, ty), nv_outer(tx, ty))
  expect_identical(tx %o% ty, nv_outer(tx, ty))
  # Base R's own, on tensors, is a product: an op where tcrossprod() is generic (R 4.4).
  expect_identical(base::outer(tx, ty), outer(x, y))
  products <- jit(function(x) base:::outer(x, x))
  if (is.primitive(tcrossprod)) {
    expect_identical(as_array(products(tx)), outer(x, x))
  } else {
    expect_error(products(tx), class = "anvil_error_concrete", "nv_outer")
  }
  expect_identical(as_array(jit(function(x, y) outer(x, y, "+"))(tx, ty)), outer(x, y, "+"))
})

test_that("Kronecker products are those of kronecker()", {
  a <- matrix(c(1, -2, 3, 0.5, 4, 2), 2)
  b <- matrix(1:8 + 0, 4)
  tensor <- function(x) nv_tensor(x, "f64")
  cube <- array(1:8 + 0, c(2, 2, 2))
  for (pair in list(list(a, b), list(b, a), list(a, 1:3 + 0), list(c(1, 2), a), list(cube, a))) {
    as_dim <- function(x) if (is.null(dim(x))) array(x) else x
    want <- kronecker(as_dim(pair[[1]]), as_dim(pair[[2]]))
    got <- nv_kronecker(tensor(pair[[1]]), tensor(pair[[2]]))
    expect_identical(as_array(got), want)
    expect_identical(kronecker(tensor(pair[[1]]), tensor(pair[[2]])), got)
    expect_identical(kronecker(tensor(pair[[1]]), pair[[2]]), got)
    expect_identical(kronecker(pair[[1]], tensor(pair[[2]])), got)
    expect_jit_equal(function(x, y) kronecker(x, y) * 2, tensor(pair[[1]]), tensor(pair[[2]]), r = want * 2)
  }
  if (getRversion() < "4.3.0") expect_identical(tensor(a) %x% tensor(b), nv_kronecker(tensor(a), tensor(b)))
  expect_identical(kronecker(1:2, 1:3), base::kronecker(1:2, 1:3))
  expect_elements(nv_kronecker(2, nv_tensor(1:2, "i8")), c(2, 4), "f32?[2]")
  x <- tensor(a)
  expect_error(kronecker(x, x, make.dimnames = TRUE), class = "anvil_error_arg", "make.dimnames")
})

test_that("cbind() and rbind() are base R's", {
  a <- matrix(1:6, 2)
  v <- 1:2
  w <- c(x = 5L, y = 6L)
  named <- matrix(1:4, 2, dimnames = list(c("r1", "r2"), c("c1", "c2")))
  tensor <- function(x) if (is.numeric(x)) nv_tensor(x, "i32") else x
  cases <- list(
    list(v, v), list(v, 9L), list(9L, v), list(a, v), list(v, a), list(a, a), list(a, 7L), list(named, v),
    list(w, named), list(named, w), list(w, v), list(v, w), list(a = v, b = v), list(a, z = v), list(v),
    list(named), list(a), list(3L), list(integer(), v), list(v, integer(), NULL), list(1:4, 1:2),
    list(matrix(0L, 0, 2), integer()), list(integer(), integer()), list(w, 7L), list(a = w, named, b = 1L)
  )
  for (how in c("cbind", "rbind")) {
    for (case in cases) {
      if (how == "rbind") case <- lapply(case, function(x) if (length(dim(x)) == 2L) t(x) else x)
      want <- do.call(how, case)
      got <- do.call(how, lapply(case, tensor))
      expect_identical(as_array(got), want, label = paste(how, deparse1(case)))
      expect_identical(dimnames(got), dimnames(want), label = paste(how, deparse1(case)))
      # One tensor is enough.
      mixed <- case
      mixed[[1]] <- tensor(mixed[[1]])
      expect_identical(as_array(do.call(how, mixed)), want)
      # Traced values: elements, and names.
      traced <- jit(function(case) do.call(how, case))(lapply(Filter(Negate(is.null), case), tensor))
      expect_identical(unname(as_array(traced)), unname(want), label = paste("jitted", how, deparse1(case)))
    }
  }
})

test_that("cbind() names columns as base R does", {
  x <- nv_tensor(1:2)
  y <- nv_tensor(3:4)
  r <- list(x = 1:2, y = 3:4)
  for (level in 0:2) {
    want <- with(r, cbind(x, y + 1L, z = y, matrix(5:8, 2), x * 10000L + y, deparse.level = level))
    got <- cbind(x, y + 1L, z = y, matrix(5:8, 2), x * 10000L + y, deparse.level = level)
    expect_identical(as_array(got), want)
    want <- with(r, rbind(x, y + 1L, z = y, deparse.level = level))
    expect_identical(as_array(rbind(x, y + 1L, z = y, deparse.level = level)), want)
  }
  # Through the dots of a caller.
  through <- function(...) cbind(...)
  expect_identical(as_array(through(x, b = y)), with(r, through(x, b = y)))
  # A traced value has them, and so has what a program gives.
  out <- jit(function(a, b) {
    all <- cbind(intercept = 1L, a, b)
    expect_identical(colnames(all), c("intercept", "a", "b"))
    all
  })(x, y)
  expect_identical(as_array(out), with(list(a = 1:2, b = 3:4), cbind(intercept = 1L, a, b)))
  expect_identical(colnames(cbind(x, y)), c("x", "y"))
})

test_that("cbind() promotes, and refuses what does not fit", {
  x <- nv_tensor(c(1, 2, 3))
  expect_identical(type_of(cbind(x, 1L)), "f32[3, 2]")
  expect_identical(type_of(cbind(nv_tensor(1:3), nv_tensor(1:3, "i64"))), "i64[3, 2]")
  expect_identical(type_of(cbind(nv_tensor(TRUE), TRUE)), "i1[1, 2]")
  expect_identical(type_of(cbind(nv_scalar(1), 2L)), "f32?[1, 2]")
  for (dtype in dtypes) expect_identical(dtype(rbind(nv_fill(1L, 2, dtype), TRUE)), as_dtype(dtype))
  expect_error(cbind(x, 1:2), class = "anvil_error_shape", "`..2` must be as long", fixed = TRUE)
  expect_error(cbind(nv_fill(1, c(2, 2)), x), class = "anvil_error_shape", "2 and 3")
  expect_error(cbind(nv_fill(1, c(0, 2)), x), class = "anvil_error_shape")
  expect_error(
    cbind(nv_fill(1, c(2, 2)), nv_fill(1, c(3, 2))), class = "anvil_error_shape", "equally many rows"
  )
  expect_error(
    rbind(nv_fill(1, c(2, 2)), nv_fill(1, c(2, 3))), class = "anvil_error_shape", "equally many columns"
  )
  expect_error(cbind(nv_fill(1, c(2, 2, 2)), x), class = "anvil_error_shape", "at most 2 axes")
  expect_error(cbind(x, "a"), class = "anvil_error_arg", "`..2`", fixed = TRUE)
  expect_error(cbind(x, list(1)), class = "anvil_error_arg")
  expect_error(cbind(x, deparse.level = 3), class = "anvil_error_arg", "deparse.level")
  g <- gradient(function(x, y) sum(cbind(x, y, 2) * nv_tensor(matrix(1:9, 3))))(x, nv_scalar(1))
  expect_identical(as.vector(as_array(g$x)), c(1, 2, 3))
  expect_identical(as.double(g$y), 15)
  expect_identical(
    vmap(function(x) cbind(x, 1))(nv_stack(x, x)), nv_unsqueeze(cbind(x, 1), 1)[c(1, 1), , ]
  )
})

test_that("functions of R that only need the shape work on traced values", {
  x <- nv_tensor(matrix(1:6 + 0, 2))
  a <- as_array(x)
  expect_jit_equal(function(x) x * (row(x) == col(x)), x, r = a * (row(a) == col(a)))
  expect_jit_equal(function(x) nv_ifelse(upper.tri(x), x, 0), x, r = a * upper.tri(a))
  expect_error(jit(function(x) base:::diag(x))(nv_tensor(1:3)), class = "anvil_error_concrete", "nv_diag")
  expect_jit_equal(function(x) aperm(x, c(2, 1)), x, r = t(a))
  expect_jit_equal(function(x) aperm(x), x, r = t(a))
})

test_that("drop() leaves out axes of size 1, also of traced values", {
  for (sizes in list(c(1, 3), c(3, 1), c(2, 1, 3), c(1, 1), c(1, 1, 4), c(2, 3), 5)) {
    x <- nv_tensor(array(seq_len(prod(sizes)) + 0, sizes))
    want <- sizes[sizes != 1]
    shapes <- list()
    f <- function(x) {
      y <- drop(x)
      shapes[[length(shapes) + 1L]] <<- shape(y)
      y + 1
    }
    expect_identical(shape(f(x)), as.integer(want))
    expect_identical(jit(f)(x), f(x))
    expect_true(all(vapply(shapes, identical, NA, as.integer(want))))
    expect_identical(shape(gradient(function(x) sum(drop(x)^2))(x)$x), as.integer(sizes))
  }
  expect_identical(vmap(function(x) drop(x) * 2)(nv_fill(1, c(4, 1, 3))), nv_fill(2, c(4, 3)))
  # Within a loop's body, too.
  out <- jit(function(x) nv_for(2L, x, function(i, x) nv_unsqueeze(drop(x) * 2, 1)))(nv_fill(1, c(1, 3)))
  expect_identical(out, nv_fill(4, c(1, 3)))
  x <- nv_fill(1, c(1, 3))
  expect_identical(jit(function(x) drop(x))(x), nv_fill(1, 3))
  expect_identical(jit(function(x) {
    attr(x, "dim") <- c(3L, 1L)
    x
  })(x), nv_fill(1, c(3, 1)))
})
