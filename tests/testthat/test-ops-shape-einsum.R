# An einsum by its definition: for each index of the result, the sum over all others.
einsum_of <- function(terms, output, arrays) {
  letters <- unique(unlist(terms))
  sizes <- vapply(letters, function(l) {
    i <- Position(function(term) l %in% term, terms)
    as.integer(dim(arrays[[i]])[match(l, terms[[i]])])
  }, 0L)
  index <- as.matrix(expand.grid(lapply(sizes, seq_len)))
  products <- Reduce(`*`, Map(function(term, a) {
    if (length(term)) a[index[, term, drop = FALSE]] else rep(a[1], nrow(index))
  }, terms, arrays))
  out <- array(0, c(sizes[output], if (!length(output)) 1L))
  for (i in seq_len(nrow(index))) {
    at <- if (length(output)) index[i, output, drop = FALSE] else matrix(1L)
    out[at] <- out[at] + products[i]
  }
  if (length(output)) out else as.vector(out)
}

expect_einsum <- function(equation, ..., tolerance = 1e-12) {
  arrays <- list(...)
  sides <- strsplit(gsub(" ", "", equation), "->", fixed = TRUE)[[1]]
  split <- function(text) strsplit(text, "")[[1]]
  terms <- lapply(strsplit(paste0(sides[1], ","), ",", fixed = TRUE)[[1]], split)
  output <- if (length(sides) > 1) split(sides[2]) else if (grepl("->", equation)) character() else {
    all <- unlist(terms)
    sort(names(which(table(all) == 1)), method = "radix")
  }
  want <- einsum_of(terms, output, arrays)
  tensors <- lapply(arrays, nv_tensor, dtype = "f64")
  got <- do.call(nv_einsum, c(list(equation), tensors))
  expect_equal(as.vector(as_array(got)), as.vector(want), tolerance = tolerance, label = equation)
  expect_identical(shape(got), if (length(output)) unname(dim(want)) else integer(), label = equation)
  jitted <- jit(function(tensors) do.call(nv_einsum, c(list(equation), tensors)))
  expect_identical(jitted(tensors), got, label = paste("jitted", equation))
}

random <- function(...) array(round(runif(prod(...), -2, 2), 3), c(...))

test_that("an einsum is the sum over what the result does not name", {
  set.seed(1)
  x <- random(3, 4)
  y <- random(4, 5)
  square <- random(4, 4)
  for (equation in c("ij->ij", "ij->ji", "ij->i", "ij->j", "ij->", "ij", "ji")) expect_einsum(equation, x)
  for (equation in c("ii->i", "ii->", "ii", "ij->ji")) expect_einsum(equation, square)
  for (equation in c("ij,jk->ik", "ij,jk->ki", "ij,jk", "ij,jk->ijk", "ij,jk->j", "ij,jk->", "ij,jk->jik")) {
    expect_einsum(equation, x, y)
  }
  expect_einsum(" i j , j k -> i k ", x, y)
  expect_einsum("ij,kj->ik", x, square)
  expect_einsum("ij,ij->ij", x, x)
  expect_einsum("ij,ij->i", x, x)
  expect_einsum("ij,ij", x, x)
  expect_einsum("ij,kl->ikjl", x, square)
  expect_einsum("i,j->ij", array(1:3), array(1:2))
  expect_einsum("i,i->", array(1:3), array(4:6))
  expect_einsum("iij->j", random(3, 3, 2))
  expect_einsum("iji->ij", random(3, 2, 3))
  expect_einsum("iii->i", random(3, 3, 3))
  expect_einsum("iiii", random(2, 2, 2, 2))
  expect_einsum("ijij->ji", random(2, 3, 2, 3))
  expect_einsum("aBc,cBd", random(2, 3, 4), random(4, 3, 2))
})

test_that("batches keep their place in the result", {
  set.seed(2)
  x <- random(2, 3, 4)
  y <- random(2, 4, 5)
  for (output in c("bik", "ikb", "bki", "kib", "ibk", "kbi", "b", "bi", "kb", "")) {
    expect_einsum(paste0("bij,bjk->", output), x, y)
  }
  w <- random(2, 4)
  for (output in c("bi", "ib", "b")) expect_einsum(paste0("bij,bj->", output), x, w)
  for (output in c("bij", "jib", "ibj")) expect_einsum(paste0("bi,bj->", output), random(3, 2), random(3, 4))
  expect_einsum("abij,abjk->abik", random(2, 3, 2, 4), random(2, 3, 4, 2))
  expect_einsum("abij,bajk->baki", random(2, 3, 2, 4), random(3, 2, 4, 2))
})

test_that("many operands are contracted in pairs", {
  set.seed(3)
  x <- random(3, 4)
  y <- random(4, 2)
  z <- random(2, 3)
  expect_einsum("ij,jk,kl->il", x, y, z)
  expect_einsum("ij,jk,ki->", x, y, z)
  expect_einsum("ij,jk,ki->i", x, y, z)
  expect_einsum("i,ij,j->", random(3), x, random(4))
  expect_einsum("ij,ij,ij->j", x, x, x)
  expect_einsum("ij,jk,kl,lm,mn->in", x, y, z, x, y)
  expect_einsum("a,b,c,d->dcba", random(2), random(3), random(2), random(2))
  # Terms without letters are numbers.
  expect_identical(nv_einsum(",i,->i", 2, nv_tensor(c(1, 2)), 3), nv_tensor(c(6, 12)))
  expect_identical(nv_einsum(",", nv_scalar(2), 3), nv_scalar(6))
})

test_that("the order of a contraction is the cheapest", {
  x <- nv_fill(1, c(50, 50))
  v <- nv_fill(1, 50)
  text <- graph_text(trace_fn(function(x, v) nv_einsum("ij,jk,kl,l->i", x, x, x, v), x, v))
  # Products of a matrix and a vector alone.
  expect_length(gregexpr("dot_general", text)[[1]], 3L)
  expect_false(grepl("\\[50, 50\\] = dot_general", text))
  # No transposes where an order of the operands gives the axes.
  equations <- c("ij,jk->ik", "ij,jk->ki", paste0("bij,bjk->", c("bik", "ikb", "bki", "kib")))
  for (equation in equations) {
    rank <- nchar(sub("(.*),.*", "\\1", equation))
    y <- nv_fill(1, rep(2L, rank))
    text <- graph_text(trace_fn(function(y) nv_einsum(equation, y, y), y))
    expect_false(grepl("transpose", text), label = equation)
  }
})

test_that("an ellipsis stands for axes without a letter", {
  set.seed(4)
  x <- random(2, 3, 4)
  y <- random(2, 4, 5)
  tx <- nv_tensor(x, "f64")
  ty <- nv_tensor(y, "f64")
  same <- function(left, right) expect_identical(left, right, label = deparse1(substitute(left)))
  same(nv_einsum("...ij,...jk->...ik", tx, ty), nv_einsum("bij,bjk->bik", tx, ty))
  same(nv_einsum("...ij,...jk", tx, ty), nv_einsum("bij,bjk->bik", tx, ty))
  same(nv_einsum("...->...", tx), tx)
  same(nv_einsum("...", tx), tx)
  same(nv_einsum("i...->...i", tx), nv_transpose(tx, c(2, 3, 1)))
  same(nv_einsum("...i->i...", tx), nv_transpose(tx, c(3, 1, 2)))
  same(nv_einsum("i...j->...", tx), nv_einsum("ibj->b", tx))
  same(nv_einsum("...ij->...", tx[1, , ]), nv_einsum("ij->", tx[1, , ]))
  # Aligned from the last; those of size 1 are repeated.
  same(nv_einsum("...i,...i->...", tx, tx[1, , ]), nv_einsum("abi,bi->ab", tx, tx[1, , ]))
  same(nv_einsum("...i,...i->...", tx, tx[, 1:1, ]), nv_einsum("abi,ai->ab", tx, tx[, 1, ]))
  same(
    nv_einsum("...i,...i->...", tx[, 1:1, ], tx[, 1:1, ])[, 1], nv_einsum("ai,ai->a", tx[, 1, ], tx[, 1, ])
  )
})

test_that("operands are promoted to their common dtype", {
  expect_identical(type_of(nv_einsum("i,i->", nv_tensor(1:3), nv_tensor(c(1, 2, 3)))), "f32[]")
  expect_identical(type_of(nv_einsum("i->i", nv_tensor(c(TRUE, FALSE)))), "i32[2]")
  expect_elements(nv_einsum("i,i->", nv_tensor(c(TRUE, TRUE)), nv_tensor(c(TRUE, FALSE))), 1L, "i32[]")
  expect_identical(type_of(nv_einsum("i->i", c(1, 2))), "f32?[2]")
  for (dtype in setdiff(dtypes, "i1")) {
    x <- nv_tensor(matrix(c(1, 2, 3, 4), 2), dtype = dtype)
    expect_identical(nv_einsum("ij,jk->ik", x, x), nv_matmul(x, x), label = dtype)
    expect_identical(type_of(nv_einsum("bi,bi->b", x, x)), paste0(dtype, "[2]"))
    expect_identical(as.vector(Re(as_array(nv_einsum("bi,bi->b", x, x)) + 0)), c(10, 20), label = dtype)
  }
  # Integers wrap.
  expect_elements(
    nv_einsum("i,i->", nv_tensor(c(100L, 100L), "i8"), nv_tensor(c(2L, 2L), "i8")), -112L, "i8[]"
  )
})

test_that("sums over no elements are 0", {
  expect_elements(nv_einsum("ij,jk->ik", nv_fill(1, c(2, 0)), nv_fill(1, c(0, 3))), rep(0, 6), "f32[2, 3]")
  expect_elements(nv_einsum("ij->i", nv_fill(1, c(2, 0))), c(0, 0), "f32[2]")
  expect_elements(nv_einsum("ij->j", nv_fill(1, c(2, 0))), numeric(), "f32[0]")
  expect_elements(nv_einsum("ii->i", nv_fill(1, c(0, 0))), numeric(), "f32[0]")
})

test_that("derivatives of an einsum are einsums, and batches are one more letter", {
  set.seed(5)
  x <- nv_tensor(random(3, 4), "f64")
  y <- nv_tensor(random(4, 2), "f64")
  w <- nv_tensor(random(3, 2), "f64")
  loss <- function(x, y) sum(nv_einsum("ij,jk->ik", x, y) * w)
  g <- gradient(loss)(x, y)
  expect_equal(as_array(g$x), as_array(nv_einsum("ik,jk->ij", w, y)))
  expect_equal(as_array(g$y), as_array(nv_einsum("ij,ik->jk", x, w)))
  expect_equal(
    as_array(gradient(function(x) sum(nv_einsum("ii->i", x)^2))(nv_tensor(matrix(1:4 + 0, 2)))$x),
    diag(c(2, 8))
  )
  batch <- nv_tensor(random(5, 3, 4), "f64")
  mapped <- vmap(function(x) nv_einsum("ij,jk->ik", x, y))(batch)
  expect_equal(as_array(mapped), as_array(nv_einsum("bij,jk->bik", batch, y)))
  forward <- jvp(function(x) nv_einsum("ij,ij->i", x, x), list(x), list(x))
  expect_equal(as_array(forward$tangent), 2 * as_array(forward$value))
})

test_that("errors of an equation point at the character", {
  x <- nv_tensor(matrix(1:6, 2))
  at <- function(position, equation, ...) {
    e <- expect_error(nv_einsum(equation, ...), class = "anvil_error_arg", label = equation)
    expect_identical(e$position, position, label = equation)
    expect_identical(e$equation, equation)
    # The mark is below the character.
    lines <- strsplit(conditionMessage(e), "\n")[[1]]
    expect_identical(nchar(lines[3]), as.integer(position) + 2L, label = equation)
    expect_match(
      conditionMessage(expect_error(jit(function(x) nv_einsum(equation, x))(x))), "equation", label = equation
    )
  }
  at(5, "ij,j1->i", x, x)
  at(9, "ij,jk->ii", x, x)
  at(6, "ij->iz", x)
  at(5, "ij->...", x)
  at(2, "i..j", x)
  at(5, "...i...", x)
  at(3, "ij-", x)
  at(6, "ij->i->j", x)
  at(6, "ij->i,j", x)
  at(3, "ijk->i", x)
  at(2, "i->i", x)
  at(2, "i", x)
  at(6, "...->", x)
  expect_error(
    nv_einsum("ij,jk", x), class = "anvil_error_arg", "a term for each of 1 operands, not one with 2"
  )
  expect_error(
    nv_einsum("ij,jk", x, x), class = "anvil_error_shape", "Axes called `j` have two sizes: 3 and 2"
  )
  expect_error(nv_einsum("ii", x), class = "anvil_error_shape", "`i`")
  expect_error(
    nv_einsum("...i,...i", x, nv_fill(1, c(3, 3))), class = "anvil_error_shape",
    "Axes called `...` have two sizes"
  )
  expect_error(nv_einsum(1, x), class = "anvil_error_arg", "equation")
  expect_error(nv_einsum(), class = "anvil_error_arg", "`equation` must be given")
  expect_error(nv_einsum("ij", operand = x), class = "anvil_error_arg", "no argument")
})

test_that("nv_tensordot() sums over axes of both", {
  set.seed(6)
  x <- random(2, 3, 4)
  y <- random(3, 4, 5)
  tx <- nv_tensor(x, "f64")
  ty <- nv_tensor(y, "f64")
  expect_identical(nv_tensordot(tx, ty), nv_einsum("ijk,jkl->il", tx, ty))
  expect_identical(nv_tensordot(tx, ty[1, , ], 1), nv_einsum("ijk,kl->ijl", tx, ty[1, , ]))
  expect_identical(shape(nv_tensordot(tx, ty, 0)), c(2L, 3L, 4L, 3L, 4L, 5L))
  expect_identical(nv_tensordot(tx, ty, list(c(2, -1), c(1, 2))), nv_tensordot(tx, ty))
  expect_identical(nv_tensordot(tx, ty, list(-1, -2)), nv_einsum("ijk,akl->ijal", tx, ty))
  expect_error(nv_tensordot(tx, ty, 4), class = "anvil_error_arg", "from 0 to 3")
  expect_error(nv_tensordot(tx, ty, 1.5), class = "anvil_error_arg")
  expect_error(nv_tensordot(tx, ty, list(1, 5)), class = "anvil_error_axis")
  expect_error(nv_tensordot(tx, ty, list(1, 1)), class = "anvil_error_shape")
})
