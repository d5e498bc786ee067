# Every static form against base R, by chance, on one to five axes; then what base R does not have.

# R's data, vectors as vectors.
plain <- function(x) {
  a <- as_array(x)
  if (length(dim(a)) == 1L) as.vector(a) else a
}

# One subscript of each kind for an axis of this size: `r` is base R's, `call` is ours, `drops` whether it
# disappears.
random_subscript <- function(size) {
  kinds <- c(
    "missing", if (size) c("number", "double", "range", "unit", "down", "list", "vector"), "negative", "mask",
    "empty"
  )
  kind <- sample(kinds, 1L)
  positions <- function(n) sample.int(size, n, replace = TRUE)
  r <- switch(kind,
    missing = seq_len(size), number = , double = , unit = positions(1L),
    range = { ends <- sort(positions(2L)); ends[1L]:ends[2L] },
    down = { ends <- sort(positions(2L)); ends[2L]:ends[1L] }, list = positions(sample(3L, 1L)),
    vector = positions(1L + sample(4L, 1L)), empty = integer(),
    negative = if (size) -positions(sample(2L, 1L)) else integer(),
    mask = sample(c(TRUE, FALSE), size, replace = TRUE)
  )
  # A list around it, since the empty symbol cannot be the value of a variable.
  call <- switch(kind,
    missing = list(quote(expr = )), range = , down = list(call(":", r[1L], r[length(r)])),
    unit = list(call(":", r, r)), double = list(as.double(r)), list = list(as.list(r)), list(r)
  )
  list(r = r, call = call, drops = kind %in% c("number", "double"))
}

# What base R selects, with our rule for the shape.
selected <- function(a, subscripts, drop = TRUE) {
  out <- do.call(`[`, c(list(a), lapply(subscripts, `[[`, "r"), drop = FALSE))
  sizes <- dim(out)
  if (drop) sizes <- sizes[!vapply(subscripts, `[[`, NA, "drops")]
  if (length(sizes)) array(out, sizes) else as.vector(out)
}

case <- function() {
  rank <- sample(5L, 1L)
  sizes <- sample(c(0L, 1L, 2L, 3L, 4L), rank, replace = TRUE, prob = c(0.04, 0.2, 0.26, 0.3, 0.2))
  list(
    a = array(sample(1000L, prod(sizes), replace = TRUE), sizes), subscripts = lapply(sizes, random_subscript)
  )
}

test_that("reads of every static form are base R's, eagerly and jitted", {
  set.seed(1)
  for (i in 1:400) {
    case <- case()
    x <- nv_tensor(case$a)
    drop <- i %% 3L != 0L
    calls <- unlist(lapply(case$subscripts, `[[`, "call"), recursive = FALSE)
    # Trailing axes that are taken whole may be left out, if more than one subscript is left.
    short <- calls
    while (length(short) > 2L && identical(short[[length(short)]], quote(expr = ))) {
      short <- short[-length(short)]
    }
    read <- as.call(c(quote(`[`), quote(x), if (i %% 2L) calls else short, if (!drop) list(drop = FALSE)))
    f <- eval(call("function", as.pairlist(alist(x = )), read))
    label <- paste0(deparse1(read), " of shape ", paste(dim(case$a), collapse = "x"))
    want <- selected(case$a, case$subscripts, drop)
    got <- f(x)
    expect_identical(as_array(got), want, label = label)
    expect_identical(jit(f)(x), got, label = paste("jitted", label))
    expect_identical(type_of(got), paste0("i32[", paste(dim(want), collapse = ", "), "]"), label = label)
    # The function is the same.
    read[[1L]] <- quote(nv_subset)
    expect_identical(eval(read), got, label = label)
  }
})

test_that("writes of every static form are base R's, eagerly and jitted", {
  set.seed(2)
  for (i in 1:400) {
    case <- case()
    x <- nv_tensor(case$a)
    a <- case$a
    shape <- selected(a, case$subscripts)
    value <- if (i %% 2L) {
      -i
    } else if (is.null(dim(shape))) {
      -seq_along(shape)
    } else {
      array(-seq_along(shape), dim(shape))
    }
    # As base R assigns: a repeated position keeps what comes last.
    a <- do.call(`[<-`, c(list(a), lapply(case$subscripts, `[[`, "r"), list(value = value)))
    write <- as.call(c(
      quote(`[`), quote(x), unlist(lapply(case$subscripts, `[[`, "call"), recursive = FALSE)
    ))
    f <- eval(call(
      "function", as.pairlist(alist(x = , value = )), call("{", call("<-", write, quote(value)), quote(x))
    ))
    label <- paste0(deparse1(write), " <- ", deparse1(value), " of shape ", paste(dim(a), collapse = "x"))
    got <- f(x, value)
    expect_identical(as_array(got), a, label = label)
    expect_identical(
      jit(f)(x, if (length(value) == 1L) value else array(value, dim(value) %||% length(value))), got,
      label = paste("jitted", label)
    )
    expect_identical(x, nv_tensor(case$a))
    write <- as.call(c(quote(nv_subset_assign), as.list(write)[-1L], list(value = value)))
    expect_identical(eval(write), got, label = label)
  }
})

# What an expression signals, on tensors and traced.
refused_single <- function(call, x, advice, env = parent.frame()) {
  label <- deparse1(call)
  e <- expect_error(eval(call, list(mat = x), env), class = "anvil_error_index", label = label)
  expect_match(conditionMessage(e), "has two meanings", fixed = TRUE, label = label)
  expect_match(conditionMessage(e), advice, fixed = TRUE, label = label)
  expect_identical(e[c("shape", "rank")], list(shape = as.double(shape(x)), rank = as.double(ndims(x))))
  f <- eval(call("function", as.pairlist(alist(mat = )), call("{", call, quote(mat))), env)
  traced <- expect_error(jit(f)(x), class = "anvil_error_index", label = paste("jitted", label))
  expect_identical(conditionMessage(traced), conditionMessage(e))
}

test_that("a single subscript of several axes is an error that shows both meanings", {
  mat <- nv_tensor(matrix(1:6, 2))
  k <- 7
  mask <- as_array(mat) > 2L
  rows <- c(TRUE, FALSE)
  at <- cbind(1, 2)
  reads <- list(
    list(quote(mat[2]), "`mat[2, ]` for the first axis, `nv_flatten(mat)[2]` for elements"),
    list(quote(mat[k]), "`mat[k, ]` for the first axis, `nv_flatten(mat)[k]` for elements"),
    list(quote(mat[1:2]), "`mat[1:2, ]`"), list(quote(mat[-1]), "`nv_flatten(mat)[-1]`"),
    list(quote(mat[0]), "`mat[0, ]`"),
    list(quote(mat[c(1, 7)]), "`mat[c(1, 7), ]`"), list(quote(mat[NA_real_]), "`mat[NA_real_, ]`"),
    list(quote(mat[2, drop = FALSE]), "`mat[2, ]`"), list(quote(mat[list(1)]), "`mat[list(1), ]`"),
    list(quote(mat[integer()]), "`mat[integer(), ]`"), list(quote(nv_subset(mat, 2)), "`mat[2, ]`"),
    list(quote(mat[nv_scalar(1L)]), "`nv_flatten(mat)[nv_scalar(1L)]`"),
    list(quote(mat[rows]), "`mat[rows, ]` for the first axis, `nv_flatten(mat)[rows]` for elements"),
    list(quote(mat[TRUE]), "`mat[TRUE, ]`"),
    # What is long is not repeated.
    list(quote(mat[c(1, 2) + 3 * c(10000, 200000)]), "`mat[i, ]` for the first axis")
  )
  for (case in reads) refused_single(case[[1L]], mat, case[[2L]])
  writes <- list(
    list(quote(mat[2] <- 0L), "`x[2, ] <- value` for the first axis, `x[[i, j]] <- value` for an element"),
    list(quote(mat[rows] <- 0L), "`x[rows, ] <- value` for the first axis, `x <- nv_ifelse(mask, value, x)`"),
    list(quote(nv_subset_assign(mat, 2, value = 0L)), "`mat[2, ] <- value`")
  )
  for (case in writes) refused_single(case[[1L]], mat, case[[2L]])
  expect_identical(call_of(mat[2]), "mat[2]")
  expect_identical(call_of(mat[2] <- 0L), "mat[2] <- 0L")
  # Of more axes, and of none.
  refused_single(quote(mat[2]), nv_fill(0, c(2, 3, 4)), "`mat[2, , ]` for the first axis")
  refused_single(quote(mat[2] <- 1), nv_fill(0, c(2, 3, 4)), "`x[[i, j, k]] <- value`")
  refused_single(quote(mat[matrix(1, 2, 2)]), nv_fill(0, c(2, 3, 4)), "nv_gather()")
  refused_single(quote(mat[1]), nv_fill(0, c(0, 3)), "`mat[1, ]`")
  refused_single(quote(mat[1]), nv_fill(0, c(1, 2)), "`mat[1, ]`")
  # The tensor need not be a variable.
  expect_error((mat + 1L)[2], class = "anvil_error_index", "`x[2, ]`", fixed = TRUE)
  # An error of its own comes first.
  expect_error(mat[stop("mine")], "mine", class = "simpleError")
  expect_identical(mat[], mat)
})

test_that("what the error about a single subscript says to write is right", {
  a <- matrix(c(1.5, -2, 3, 0.5, -1, 4), 2)
  mat <- nv_tensor(a, "f64")
  mask <- a > 0
  at <- rbind(c(1, 2), c(2, 3), c(1, 1))
  # As nv_flatten() does.
  flat <- function(x) nv_flatten(x)
  expect_jit_equal(function(mat) flat(mat)[2], mat, r = a[2])
  expect_jit_equal(function(mat) flat(mat)[as.vector(mask)], mat, r = a[mask])
  expect_jit_equal(function(mat) nv_ifelse(mask, mat, 0), mat, r = ifelse(mask, a, 0))
  expect_jit_equal(function(mat) nv_ifelse(mat > 0, mat, 0), mat, r = ifelse(mask, a, 0))
  expect_jit_equal(function(mat) flat(mat)[at[, 1] + nrow(mat) * (at[, 2] - 1L)], mat, r = a[at])
  i <- nv_tensor(at, "i32")
  expect_jit_equal(function(mat, i) flat(mat)[i[, 1] + nrow(mat) * (i[, 2] - 1L)], mat, i, r = a[at])
  expect_jit_equal(function(mat) { mat <- nv_ifelse(mask, 9, mat); mat }, mat, r = replace(a, mask, 9))
  loss <- function(mat) sum(nv_ifelse(mat > 0, mat, 0)^2)
  expect_identical(as_array(gradient(loss)(mat)$mat), ifelse(mask, 2 * a, 0))
})

test_that("an R logical is a mask of a 1-d tensor", {
  x <- nv_tensor(c(3, 1, 2), "f64")
  keep <- c(TRUE, FALSE, TRUE)
  expect_jit_equal(function(x) x[keep], x, r = c(3, 2))
  expect_jit_equal(function(x) x[as_array(nv_tensor(keep))], x, r = c(3, 2))
  expect_jit_equal(function(x) { x[keep] <- c(8, 9); x }, x, r = c(8, 1, 9))
  expect_jit_equal(function(x) x[!keep & FALSE], x, r = numeric())
  expect_jit_equal(function(x) x[TRUE], x, r = c(3, 1, 2))
  expect_jit_equal(function(x) x[logical()], x, r = numeric())
  a <- matrix(1:24, 4)
  mat <- nv_tensor(a)
  odd <- c(TRUE, FALSE)
  expect_jit_equal(function(mat) mat[odd, c(FALSE, odd)], mat, r = a[odd, c(FALSE, odd)])
  expect_jit_equal(function(mat) { mat[!odd, ] <- 0L; mat }, mat, r = replace(a, row(a) %% 2 == 0, 0L))
  expect_error(x[odd], class = "anvil_error_index", "as long as axis 1, 3,", fixed = TRUE)
  expect_error(x[rep(TRUE, 6)], class = "anvil_error_index", "of length 6", fixed = TRUE)
  expect_identical(as.double(gradient(function(x) sum(x[keep]^2))(x)$x), c(6, 0, 4))
  expect_error(jit(function(x) x[x > 1])(x), class = "anvil_error_arg", "not a selection")
})

test_that("tensors are dynamic subscripts; `mode` says what becomes of those out of bounds", {
  a <- matrix(1:12, 3)
  x <- nv_tensor(a)
  for (dtype in integers) {
    i <- nv_scalar(2, dtype = dtype)
    expect_jit_equal(function(x, i) x[i, ], x, i, r = a[2, ])
    expect_jit_equal(function(x, i) x[, i], x, i, r = a[, 2])
    expect_jit_equal(function(x, i) x[i, i, drop = FALSE], x, i, r = a[2, 2, drop = FALSE])
    at <- nv_tensor(c(3, 1, 1), dtype = dtype)
    expect_jit_equal(function(x, at) x[at, ], x, at, r = a[c(3, 1, 1), ])
    expect_jit_equal(function(x, at, i) x[at, i], x, at, i, r = a[c(3, 1, 1), 2])
    expect_jit_equal(function(x, at) x[at, at], x, at, r = a[c(3, 1, 1), c(3, 1, 1)])
    expect_jit_equal(function(x, at) { x[at, 2] <- 0L; x }, x, at, r = { b <- a; b[c(3, 1), 2] <- 0L; b })
    expect_jit_equal(function(x, i) { x[i, 2:3] <- 0L; x }, x, i, r = { b <- a; b[2, 2:3] <- 0L; b })
    expect_jit_equal(function(x, i) { x[c(1, 3), i] <- 0L; x }, x, i, r = { b <- a; b[c(1, 3), 2] <- 0L; b })
    # Out of bounds, at the edges of the dtype too.
    ends <- list(lowest[[dtype]], if (dtype %in% signed) "-1", "0", "4", highest[[dtype]])
    for (end in Filter(Negate(is.null), ends)) {
      i <- nv_scalar(end, dtype = dtype)
      # Where it is greater than 3, the last one.
      nearest <- if (startsWith(end, "-") || end == "0") 1L else 3L
      label <- paste(dtype, end)
      many <- nv_reshape(i, 1)
      read <- function(x, i) nv_subset(x, i, , mode = "clip")
      expect_identical(plain(read(x, i)), a[nearest, ], label = label)
      expect_identical(jit(read)(x, i), read(x, i), label = label)
      expect_identical(jit(function(x) read(x, i))(x), read(x, i), label = label)
      expect_identical(as_array(read(x, many)), a[nearest, , drop = FALSE], label = label)
      read <- function(x, i) nv_subset(x, i, , mode = "drop")
      nothing <- nv_broadcast_to(nv_scalar(lowest[["i32"]], dtype = "i32"), 4)
      expect_identical(read(x, i), nothing, label = label)
      expect_identical(jit(read)(x, i), read(x, i), label = label)
      expect_identical(jit(function(x) read(x, i))(x), read(x, i), label = label)
      expect_identical(read(x, many), nv_reshape(nothing, c(1, 4)), label = label)
      write <- function(x, i) nv_subset_assign(x, i, 1:2, value = 0L, mode = "drop")
      for (at in list(i, many)) {
        expect_identical(write(x, at), x, label = label)
        expect_identical(jit(write)(x, at), x, label = label)
      }
      expect_identical(jit(function(x) write(x, i))(x), x, label = label)
      b <- a
      b[nearest, 1:2] <- 0L
      write <- function(x, i) nv_subset_assign(x, i, 1:2, value = 0L, mode = "clip")
      for (at in list(i, many)) {
        expect_identical(as_array(write(x, at)), b, label = label)
        expect_identical(as_array(jit(write)(x, at)), b, label = label)
      }
      expect_identical(as_array(jit(function(x) write(x, i))(x)), b, label = label)
      for (at in list(i, many)) {
        reads <- function(x, at) x[at, ]
        writes <- function(x, at) { x[at, 1] <- 0L; x }
        for (f in list(reads, writes, jit(reads), jit(writes))) {
          e <- expect_error(f(x, at), class = "anvil_error_index", label = label)
          expect_identical(e[c("axis", "size")], list(axis = 1, size = 3), label = label)
          if (!dtype %in% c("i64", "ui64")) expect_identical(e$value, as.double(end), label = label)
        }
      }
      # Known while tracing.
      expect_error(jit(function(x) x[i, ])(x), class = "anvil_error_index", label = label)
      expect_error(jit(function(x) { x[i, 1] <- 0L; x })(x), class = "anvil_error_index", label = label)
    }
  }
  # Of several positions those that are there.
  y <- x
  some <- nv_tensor(c(0L, 2L, 4L))
  expect_identical(as_array(nv_subset_assign(x, some, 1, value = -1:-3, mode = "drop"))[, 1], c(1L, -2L, 3L))
  expect_identical(as_array(nv_subset_assign(x, some, 1, value = -1:-3, mode = "clip"))[, 1], -1:-3)
  expect_error(y[some, 1] <- -1:-3, class = "anvil_error_index", "Index 0 .* axis 1 of size 3")
  expect_identical(y, x)
  expect_error(nv_subset(x, some, , mode = "wrap"), class = "anvil_error_arg", "mode")
  expect_error(nv_subset_assign(x, some, , value = 1L, mode = 1), class = "anvil_error_arg", "mode")
  # A range that is a tensor keeps its axis, and is static while tracing.
  expect_identical(as_array(x[nv_seq(2, 3), nv_seq(1, 1)]), a[2:3, 1, drop = FALSE])
  expect_match(graph_text(trace_fn(function(x) x[nv_seq(2, 3), ], x), optimised = TRUE), "static_slice")
  beyond <- function(x) nv_subset(x, nv_seq(2, 5), , mode = "clip")
  expect_identical(as_array(jit(beyond)(x)), a[c(2, 3, 3, 3), ])
  expect_error(jit(function(x) x[nv_seq(2, 5), ])(x), class = "anvil_error_index", "Index 4")
  expect_identical(x[nv_empty("i32", 0), ], nv_empty("i32", c(0, 4)))
  expect_error(nv_empty("f32", c(0, 2))[nv_scalar(1L), ], class = "anvil_error_index", "axis 1 of size 0")
})

test_that("what is written twice keeps the last", {
  expect_jit_equal(function(x) { x[c(2, 1, 2)] <- c(7L, 8L, 9L); x }, nv_tensor(1:3), r = c(8L, 9L, 3L))
  i <- nv_tensor(c(2L, 1L, 2L))
  expect_jit_equal(function(x, i) { x[i] <- c(7L, 8L, 9L); x }, nv_tensor(1:3), i, r = c(8L, 9L, 3L))
})

test_that("all of it: `x[]`, of 0-d tensors too", {
  x <- nv_tensor(matrix(1:4, 2))
  expect_identical(x[], x)
  expect_identical(nv_subset(x), x)
  expect_identical(nv_scalar(3)[], nv_scalar(3))
  y <- x
  y[] <- 0L
  expect_identical(y, nv_fill(0L, c(2, 2)))
  y[] <- matrix(4:1, 2)
  expect_identical(as_array(y), matrix(4:1, 2))
  z <- nv_scalar(3)
  z[] <- 5
  expect_identical(z, nv_scalar(5))
  expect_identical(type_of({ z[] <- nv_scalar(1, dtype = "f32"); z }), "f32?[]")
  expect_jit_equal(function(x, v) { x[] <- v; x }, x, nv_scalar(7L), r = matrix(7L, 2, 2))
})

test_that("`[[` takes one element", {
  x <- nv_tensor(matrix(1:6, 2))
  expect_identical(x[[2, 3]], nv_scalar(6L, dtype = "i32"))
  expect_identical(x[[nv_scalar(2L), 3]], nv_scalar(6L, dtype = "i32"))
  expect_identical(nv_tensor(1:3)[[2]], nv_scalar(2L, dtype = "i32"))
  x[[1, 2]] <- 0L
  expect_identical(as_array(x), matrix(c(1L, 2L, 0L, 4L, 5L, 6L), 2))
  expect_jit_equal(function(x, i) { x[[i, i]] <- x[[1, i]] + 1L; x }, x, nv_scalar(2L), r = {
    a <- as_array(x); a[2, 2] <- a[1, 2] + 1L; a
  })
  # Indices that the program computes, and gradients.
  at <- nv_tensor(c(2L, 3L))
  expect_jit_equal(function(x, at) x[[at[1], at[2] - 1L]], x, at, r = as_array(x)[2, 2])
  v <- nv_tensor(c(1, 2, 3), "f64")
  expect_jit_equal(function(v, at) { v[[at[2]]] <- v[[at[1]]] * 10; v }, v, at, r = c(1, 2, 20))
  expect_jit_equal(function(v) { v[[2]] <- 7L; v }, v, r = c(1, 7, 3))
  expect_identical(shape(v[[1]]), integer())
  y <- nv_tensor(matrix(c(1, 2, 3, 4), 2), "f64")
  square <- function(y, i) { y[[1, i]] <- 5; y[[2, i]]^2 + sum(y) }
  for (f in list(gradient(square, "y"), jit(gradient(square, "y")))) {
    expect_identical(as_array(f(y, nv_scalar(2L))$y), matrix(c(1, 1, 0, 9), 2))
  }
  expect_error(v[[1, 1]], class = "anvil_error_index")
  expect_error(v[[4]], class = "anvil_error_index", "Index 4 is out of bounds")
  expect_error(v[[4]] <- 0, class = "anvil_error_index", "Index 4 is out of bounds")
  expect_error(v[[]], class = "anvil_error_index")
  e <- expect_error(x[[2]], class = "anvil_error_index", "`x[[i, j]]`", fixed = TRUE)
  expect_identical(e[c("got", "rank")], list(got = 1, rank = 2))
  for (wrong in alist(x[[1]] <- 0L, x[[1, 2, 3]] <- 0L, x[[3, 1]] <- 0L, x[[1, 1:2]] <- 0L)) {
    expect_error(eval(wrong), class = "anvil_error_index", label = deparse1(wrong))
    f <- eval(call("function", as.pairlist(alist(x = )), call("{", wrong, quote(x))))
    expect_error(jit(f)(x), class = "anvil_error_index", label = paste("jitted", deparse1(wrong)))
  }
  for (wrong in alist(
    x[[1]], x[[1, 2, 3]], x[["a", 1]], x[[c(1, 2), 1]], x[[-1, 1]], x[[, 1]], x[[TRUE, 1]],
    x[[nv_tensor(1L), 1]], x[[3, 1]]
  )) {
    expect_error(eval(wrong), class = "anvil_error_index", label = deparse1(wrong))
  }
})

test_that("nv_select(), head(), tail() and rev()", {
  a <- array(1:24, c(2, 3, 4))
  x <- nv_tensor(a)
  i <- 2
  expect_identical(as_array(nv_select(x, 2, 3)), a[, 3, ])
  expect_identical(as_array(nv_select(x, 3, i)), a[, , 2])
  expect_identical(shape(nv_select(x, 1, i:2)), c(1L, 3L, 4L))
  expect_identical(as_array(nv_select(x, 3, c(4, 1))), a[, , c(4, 1)])
  expect_identical(as_array(nv_select(x, 2, nv_scalar(9L), mode = "clip")), a[, 3, ])
  expect_error(nv_select(x, 2, nv_scalar(9L)), class = "anvil_error_index")
  expect_jit_equal(function(x, i) nv_select(x, 2, i), x, nv_scalar(2L), r = a[, 2, ])
  e <- expect_error(nv_select(x, 4, 1), class = "anvil_error_arg")
  expect_identical(deparse1(conditionCall(e)), "nv_select(x, 4, 1)")
  e <- expect_error(nv_select(x, 3, 5), class = "anvil_error_index")
  expect_identical(deparse1(conditionCall(e)), "nv_select(x, 3, 5)")
  m <- matrix(1:24, 8)
  y <- nv_tensor(m)
  for (n in c(-9, -3, 0, 2, 6, 10)) {
    expect_identical(as_array(head(y, n)), head(m, n))
    expect_identical(as_array(tail(y, n)), tail(m, n, keepnums = FALSE))
  }
  expect_identical(as_array(head(x, c(1, NA, 2))), head(a, c(1, NA, 2)))
  expect_identical(as_array(tail(x, c(1, -1, 2))), tail(a, c(1, -1, 2), keepnums = FALSE))
  expect_error(head(x, 1:4), class = "anvil_error_arg")
  expect_error(head(nv_tensor(1:3), 0.5), "a whole number, not 0.5")
  expect_error(jit(function(x, n) head(x, n))(nv_tensor(1:3), 2L), "static = ", class = "anvil_error_arg")
  expect_identical(plain(rev(nv_tensor(1:3))), 3:1)
  expect_identical(plain(rev(x)), rev(a))
  expect_identical(rev(nv_scalar(1)), nv_scalar(1))
  expect_jit_equal(function(x) rev(head(x, 3)), nv_tensor(1:5), r = 3:1)
})

test_that("values take the dtype of what they are assigned to, if that is not below theirs", {
  assign <- function(x, value) { x[1] <- value; x }
  ok <- function(dtype, value) {
    expect_identical(type_of(assign(nv_fill(1L, 2, dtype), value)), paste0(dtype, "[2]"))
  }
  for (dtype in integers) {
    ok(dtype, 1L)
    ok(dtype, TRUE)
    expect_error(assign(nv_fill(1L, 2, dtype), 1.5), class = "anvil_error_dtype", "nv_convert")
  }
  for (dtype in floats) for (value in list(0.5, 2L, TRUE)) ok(dtype, value)
  expect_identical(as_array(assign(nv_fill(0, 2, "f64"), 0.1))[1], 0.1)
  ok("i1", TRUE)
  expect_error(assign(nv_tensor(c(TRUE, FALSE)), 1L), class = "anvil_error_dtype")
  ok("f32", nv_scalar(1L, dtype = "i32"))
  ok("i64", nv_scalar(1L, dtype = "i32"))
  refused <- list(
    list("i32", "f32"), list("i32", "i64"), list("f32", "f64"), list("ui8", "i8"), list("i8", "ui8")
  )
  for (pair in refused) {
    e <- expect_error(
      assign(nv_fill(1L, 2, pair[[1L]]), nv_scalar(1L, dtype = pair[[2L]])), class = "anvil_error_dtype"
    )
    expect_identical(e[c("value", "to")], list(value = pair[[2L]], to = pair[[1L]]))
  }
  # The flag is that of the tensor.
  expect_identical(
    type_of(assign(nv_tensor(c(1, 2), ambiguous = TRUE), nv_scalar(3, dtype = "f32"))), "f32?[2]"
  )
  expect_identical(type_of(assign(nv_tensor(c(1, 2)), 3)), "f32[2]")
  for (dtype in dtypes) {
    x <- nv_tensor(c(1, 0, 1), dtype = dtype)
    expect_identical(as.double(as_array(x[c(3, 2)])), c(1, 0))
    expect_identical(as.double(as_array(assign(x, nv_scalar(0, dtype = dtype)))), c(0, 0, 1))
  }
})

test_that("shapes of values", {
  x <- nv_tensor(matrix(1:6, 2))
  for (wrong in alist(x[1, ] <- 1:2, x[1, ] <- matrix(1:4, 1), x[, 1:1] <- 1:4, x[1, 1] <- 1:2, x[] <- 1:3)) {
    expect_error(eval(wrong), class = "anvil_error_shape", label = deparse1(wrong))
  }
  e <- expect_error(
    nv_subset_assign(x, 1, , value = 1:2), class = "anvil_error_shape", "(2), the elements", fixed = TRUE
  )
  expect_identical(e[c("value", "subset")], list(value = 2, subset = 3))
  x[, 1:1] <- matrix(8:9)
  expect_identical(as_array(x)[, 1], 8:9)
  expect_identical(nv_subset_assign(x, integer(), , value = 1L), x)
})

test_that("an argument that was left out leaves its subscript empty, as in R", {
  # Before, tensors are S4 objects: R evaluates subscripts itself if any package has S4 methods of `[`.
  skip_if(getRversion() < "4.3.0", "R may evaluate subscripts")
  a <- matrix(1:6, 2)
  row <- user(function(x, i) x[i, 2])
  both <- user(function(x, i, j) x[i, j, drop = FALSE])
  through <- user(function(x, ...) (function(y, i) y[i, 1])(x, ...))
  assign <- user(function(x, i, value) {
    x[i, 1] <- value
    x
  })
  x <- nv_tensor(a)
  expect_identical(c(as_array(row(x))), row(a))
  expect_identical(as_array(both(x)), both(a))
  expect_identical(as_array(both(x, 2)), both(a, 2))
  expect_identical(c(as_array(through(x))), through(a))
  expect_identical(as_array(assign(x, value = 7:8)), assign(a, value = 7:8))
  expect_identical(c(as_array(jit(row)(x))), row(a))
  expect_identical(as_array(jit(assign)(x, value = nv_tensor(7:8))), assign(a, value = 7:8))
  one <- user(function(x, i) x[[i, 1]])
  expect_error(one(x), class = "anvil_error_index", "not empty")
})

test_that("what is no subscript says so", {
  x <- nv_tensor(matrix(1:6, 2))
  k <- 4
  cases <- alist(
    x[3, ], x[, 4], x[, k], x[1:3, ], x[, c(1, 4)], x[-3, ], x[c(0, 3), ], x[1.5, ], x[c(1, 1.5), ],
    x[NA_integer_, ], x[NA_real_, ], x[c(1, NA), ], x["a", ], x["a"], x[c(-1, 1), ], x[c(1, -1), ],
    x[1, 1, 1], x[1, , ], x[rep(TRUE, 4), ], x[c(TRUE, NA), ], x[c(TRUE, FALSE, TRUE), ], x[NULL],
    x[list("a"), ], x[list(1:2), ], x[list(nv_scalar(1L)), ], x[factor("a")],
    x[cbind(1, 1), ], x[matrix(TRUE, 2, 3), 1], x[sum, ], x[sum], x[1i, ], x[1i], x[Inf, ],
    x[as.Date("2020-01-01"), ], x[as.Date("2020-01-01")], x[nv_tensor(matrix(1L)), ]
  )
  for (case in cases) {
    e <- expect_error(eval(case), class = "anvil_error_index", label = deparse1(case))
    expect_identical(conditionCall(e), case)
    f <- eval(call("function", as.pairlist(alist(x = )), case))
    expect_error(jit(f)(x), class = "anvil_error_index", label = paste("jitted", deparse1(case)))
    case[[1L]] <- quote(nv_subset_assign)
    case$value <- 0L
    expect_error(eval(case), class = "anvil_error_index", label = deparse1(case))
  }
  e <- expect_error(x[1, 7], class = "anvil_error_index", "Index 7 is out of bounds for axis 2 of size 3")
  expect_identical(e[c("index", "axis", "size")], list(index = "7", axis = 2, size = 3))
  e <- expect_error(x[1, 2, 3, 4], class = "anvil_error_index")
  expect_identical(e[c("got", "rank")], list(got = 4, rank = 2))
  expect_identical(x[nv_tensor(c(TRUE, FALSE)), ], x[c(TRUE, FALSE), ])
  expect_error(x[nv_scalar(1i), ], class = "anvil_error_dtype", "nv_convert")
  expect_error(jit(function(x) x[x[, 1] > 1L, ])(x), class = "anvil_error_arg", "nv_ifelse")
  expect_error(x[1, drop = NA], class = "anvil_error_arg", "drop")
  expect_nv(nv_subset(1:3, 1), 1, "i32", integer(), ambiguous = TRUE)
  expect_error(nv_subset("a", 1), class = "anvil_error_arg")
  expect_error(nv_subset_assign(x, 1, , value = "a"), class = "anvil_error_arg")
  # An error in a subscript is the user's own.
  expect_error(x[stop("mine"), ], "mine", class = "simpleError")
  expect_no_open_trace()
  expect_conditions({
    x[1, 7]
    x[1, 2, 3]
    x["a", ]
    x[c(TRUE, NA), ]
    nv_subset_assign(x, 1, , value = 0.5)
    x[2]
  })
})

test_that("a failed assignment is shown as the user wrote it", {
  x <- nv_tensor(matrix(1:6, 2))
  expect_identical(call_of(x[1, 9] <- 2L), "x[1, 9] <- 2L")
  f <- user(function(y) {
    y[1] <- y[2, 3] * 0.5
    y
  })
  expect_match(call_of(f(x)), "^y\\[1\\] <- ")
  expect_match(call_of(compiler::cmpfun(f)(x)), "^y\\[1\\] <- ")
  expect_identical(call_of(x[[1, 9]] <- 2L), "x[[1, 9]] <- 2L")
})

test_that("one program serves all positions, and R arrays are operands too", {
  expect_identical(nv_subset(matrix(1:4, 2), 2, ), nv_tensor(c(2L, 4L), ambiguous = TRUE))
  expect_identical(type_of(nv_subset(5)), "f32?[]")
  x <- nv_tensor(matrix(as.double(1:20000), 10000), dtype = "f64")
  sums <- vapply(c(1, 5000, 10000), function(i) sum(as_array(x[i, ])), 0)
  expect_identical(sums, c(1 + 10001, 5000 + 15000, 10000 + 20000))
  expect_identical(do.call("[", list(x, 3, 2)), x[3, 2])
  # Static subscripts of a traced function cost nothing: they are views.
  text <- graph_text(trace_fn(function(x) x[2, 2:1], nv_abstract("f32", c(2, 3))))
  expect_match(text, "static_slice")
  expect_match(text, "reverse")
  expect_no_match(text, "gather")
})

test_that("subsets mix with other ops and donation", {
  a <- matrix(rnorm(30), 5)
  x <- nv_tensor(a, dtype = "f64")
  expect_jit_equal(function(x) t(x[2:4, ]) + t(x)[, 1:3], x, r = t(a[2:4, ]) + t(a)[, 1:3], tolerance = 1e-12)
  expect_jit_equal(
    function(x) sum(x[5:1, c(1, 3)] * x[, 2:3]), x, r = sum(a[5:1, c(1, 3)] * a[, 2:3]), tolerance = 1e-12
  )
  expect_jit_equal(function(x) x[2:4, 1:2] %*% x[1:2, ], x, r = a[2:4, 1:2] %*% a[1:2, ], tolerance = 1e-12)
  f <- jit(function(x) { x[1, ] <- x[2, ] * 2; x }, donate = "x")
  y <- nv_tensor(a, dtype = "f64")
  expect_identical(as_array(f(y)), { b <- a; b[1, ] <- b[2, ] * 2; b })
})

test_that("what cannot be assigned is refused by the name of the value", {
  x <- nv_tensor(c(1, 2))
  for (value in list("a", NULL, list(1), factor("b"))) {
    expect_error(x[1] <- value, class = "anvil_error_arg", "`value` must be a tensor, or an R number")
  }
  expect_nv(x, c(1, 2), "f32")
})

test_that("few positions along several large axes", {
  set.seed(4)
  sizes <- c(40L, 30L, 9L)
  a <- array(sample(1000L, prod(sizes), replace = TRUE), sizes)
  x <- nv_tensor(a)
  for (k in 1:30) {
    given <- lapply(sizes, function(n) if (runif(1) < 0.7) sample(n, sample(3L, 1L) + 1L, replace = TRUE))
    at <- Map(function(i, n) if (is.null(i)) seq_len(n) else i, given, sizes)
    want <- a[at[[1]], at[[2]], at[[3]], drop = FALSE]
    # Known while tracing, and tensors of several dtypes.
    dtypes <- sample(c("i32", "i64", "ui8"), 3, replace = TRUE)
    tensors <- Map(function(i, dtype) if (!is.null(i)) nv_tensor(i, dtype = dtype), given, dtypes)
    read <- function(index) {
      eval(as.call(c(
        list(quote(`[`), quote(x)), lapply(index, function(i) i %||% quote(expr = )), list(drop = FALSE)
      )))
    }
    expect_identical(as_array(read(given)), want)
    expect_identical(as_array(read(tensors)), want)
  }
  # Out of bounds.
  pick <- function(mode) function(x, i, j) nv_subset(x, i, j, 2, mode = mode)
  i <- nv_tensor(c(-5L, 99L))
  j <- nv_tensor(c(31L, 4L, 0L))
  expect_jit_equal(pick("clip"), x, i, j, r = a[c(1, 40), c(30, 4, 1), 2])
  x <- nv_convert(x, "f32")
  expect_jit_equal(pick("drop"), x, i, j, r = matrix(NaN, 2, 3))
  inside <- nv_tensor(c(3L, 40L))
  expect_jit_equal(pick("drop"), x, inside, j, r = cbind(NaN, a[c(3, 40), 4, 2], NaN))
  expect_error(pick("error")(x, inside, j), class = "anvil_error_index", "Index 31 .* axis 2 of size 30")
  expect_error(pick("error")(x, i, nv_tensor(1:3)), class = "anvil_error_index", "Index -5 .* size 40")
})

test_that("a range selects by its ends, and is not made for it", {
  is_compact <- function(x) any(grepl("compact", capture.output(.Internal(inspect(x)))))
  x <- nv_tensor(as.double(1:10))
  read <- function(i) as_array(x[i])
  traced <- function(i) as_array(jit(function(x) x[i])(x))
  for (ends in list(c(1, 10), c(2, 5), c(9, 3), c(4, 3))) {
    range <- ends[1L]:ends[2L]
    for (f in list(read, traced)) expect_equal(f(range), as.double(ends[1L]:ends[2L]), ignore_attr = TRUE)
    expect_true(is_compact(range))
  }
  # What is no position has the words that its elements have.
  for (range in list(0:11, 8:11, -1:2, 11:9)) {
    error <- expect_error(x[range], class = "anvil_error_index")
    expect_identical(
      conditionMessage(error), conditionMessage(expect_error(x[c(range)], class = "anvil_error_index"))
    )
  }
  expect_equal(read(-3:-1), 4:10, ignore_attr = TRUE)
  expect_equal(read(0:3), 1:3, ignore_attr = TRUE)
})
