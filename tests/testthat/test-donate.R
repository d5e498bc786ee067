# `donate` may change where a result lives, never a value.

f32 <- function(...) nv_tensor(c(...), dtype = "f32")

test_that("a donated tensor cannot be used again, and the error says why", {
  f <- jit(function(w, g) w - g, donate = "w")
  for (round in 1:2) {
    # Cold, then warm.
    w <- f32(1, 2, 3)
    got <- f(w, f32(1, 1, 1))
    expect_elements(got, c(0, 1, 2), "f32[3]")
    uses <- alist(
      w + 1, as_array(w), print(w), format(w), summary(w), f(w, got), f(got, w), nv_mean(w), jit(sum)(w),
      jit(function() w * 2)(), nv_reshape(w, c(3, 1)), as.double(w), nv_concatenate(w, 1)
    )
    for (use in uses) {
      expect_error(eval(use), class = "anvil_error_donated", "deleted or donated")
    }
    expect_no_open_trace()
  }
  e <- expect_error(w + 1, class = "anvil_error_donated")
  expect_identical(conditionCall(e), quote(w + 1))
  expect_match(conditionMessage(e), "\ni Use the result of that call instead", fixed = TRUE)
})

test_that("another variable keeps its value", {
  f <- jit(function(w) w * 2, donate = "w")
  for (round in 1:3) {
    w <- f32(1, 2, 3)
    kept <- w
    held <- list(w)
    expect_elements(f(w), c(2, 4, 6), "f32[3]")
    expect_elements(kept, c(1, 2, 3), "f32[3]")
    expect_elements(held[[1]], c(1, 2, 3), "f32[3]")
    # Nothing was given away, so the variable itself is as it was.
    expect_elements(w, c(1, 2, 3), "f32[3]")
  }
  # The R vector that a tensor was made of.
  v <- c(1, 2, 3)
  w <- nv_tensor(v, dtype = "f32")
  f(w)
  expect_identical(v, c(1, 2, 3))
  # The array that was made of a tensor.
  w <- f32(1, 2, 3)
  a <- as_array(w)
  f(w)
  expect_identical(c(a), c(1, 2, 3))
  # A tensor in a closure and in an environment.
  w <- f32(1, 2, 3)
  read <- local({
    mine <- w
    function() mine
  })
  f(w)
  expect_elements(read(), c(1, 2, 3), "f32[3]")
})

test_that("where R does not count references, donated arguments are copied", {
  withr::local_envvar(ANVIL_R_API_ONLY = "true")
  out <- run_r(c(
    "f <- jit(function(w) w * 2, donate = 'w')",
    "for (n in c(3, 1e5)) {",
    "  w <- nv_fill(1, n)",
    "  for (i in 1:3) stopifnot(all(as_array(f(w)) == 2), all(as_array(w) == 1))",
    "  p <- list(a = w, b = list(nv_fill(1, n, 'f64')))",
    "  got <- jit(function(p) list(p$a + 1, p$b[[1]] + 1), donate = 'p')(p)",
    "  stopifnot(all(as_array(got[[2]]) == 2), all(as_array(p$b[[1]]) == 1))",
    "}",
    "x <- nv_fill(1, 1e5, 'f64'); y <- x; a <- as.double(x); a[1] <- 2; b <- a; b[2] <- 3",
    "stopifnot(as.double(y)[1] == 1, a[2] == 1, identical(b[1:3], c(2, 3, 1)))",
    "cat(anvil_sitrep()$donates)"
  ))
  expect_identical(out, "FALSE")
})

test_that("a constant of a program is not given away", {
  k <- f32(1, 2, 3)
  g <- jit(function(x) x + k)
  expect_elements(g(f32(0, 0, 0)), c(1, 2, 3), "f32[3]")
  f <- jit(function(w) w * 10, donate = "w")
  f(k)
  expect_elements(g(f32(0, 0, 0)), c(1, 2, 3), "f32[3]")
})

test_that("in a loop", {
  f <- jit(function(w, g) w - g * 0.5, donate = "w")
  w <- f32(1, 2, 3)
  g <- f32(2, 4, 6)
  for (i in 1:10) w <- f(w, g)
  expect_elements(w, c(1, 2, 3) - 10 * c(1, 2, 3), "f32[3]")
  expect_elements(g, c(2, 4, 6), "f32[3]")
  # The gradient is computed from the donated value itself.
  step <- jit(function(w) {
    g <- 2 * w
    w - g * 0.25
  }, donate = "w")
  w <- f32(8, 16)
  for (i in 1:3) w <- step(w)
  expect_elements(w, c(1, 2), "f32[2]")
})

test_that("lists of tensors", {
  f <- jit(function(p, s) list(a = p$a * s, b = list(p$b[[1]] - 1L)), donate = "p")
  p <- list(a = f32(1, 2), b = list(nv_tensor(1:3)))
  got <- f(p, 2)
  expect_elements(got$a, c(2, 4), "f32[2]")
  expect_elements(got$b[[1]], 0:2, "i32[3]")
  for (i in 1:4) got <- f(got, 2)
  expect_elements(got$a, 16 * c(2, 4), "f32[2]")
  # A list that is also elsewhere is not given away.
  p <- list(a = f32(1, 2), b = list(nv_tensor(1:3)))
  q <- p
  f(p, 3)
  expect_elements(q$a, c(1, 2), "f32[2]")
  expect_elements(p$b[[1]], 1:3, "i32[3]")
  # A tensor of the list that is also a variable.
  a <- f32(1, 2)
  p <- list(a = a, b = list(nv_tensor(1:3)))
  f(p, 3)
  expect_elements(a, c(1, 2), "f32[2]")
})

test_that("a donated argument without a matching output is simply used", {
  f <- jit(function(w) sum(w), donate = "w")
  w <- f32(1, 2, 3)
  expect_elements(f(w), 6, "f32[]")
  expect_elements(w, c(1, 2, 3), "f32[3]")
  # Other dtype, other size.
  g <- jit(function(w) list(nv_convert(w, "f32"), nv_concatenate(w, w)), donate = "w")
  expect_elements(g(w)[[2]], c(1, 2, 3, 1, 2, 3), "f32[6]")
  expect_elements(w, c(1, 2, 3), "f32[3]")
  # An R number has nothing to give.
  h <- jit(function(w, x) w + x, donate = "w")
  expect_elements(h(2, w), c(3, 4, 5), "f32[3]")
  expect_elements(h(array(c(1, 2, 3)), w), c(2, 4, 6), "f32[3]")
  expect_elements(w, c(1, 2, 3), "f32[3]")
})

test_that("the same tensor twice in one call", {
  f <- jit(function(w, g) w - g, donate = "w")
  both <- jit(function(a, b) list(a + b, a * b), donate = c("a", "b"))
  for (round in 1:2) {
    w <- f32(1, 2, 3)
    expect_elements(f(w, w), c(0, 0, 0), "f32[3]")
    got <- both(w, w)
    expect_elements(got[[1]], c(2, 4, 6), "f32[3]")
    expect_elements(got[[2]], c(1, 4, 9), "f32[3]")
    p <- list(w, w)
    expect_elements(jit(function(p) p[[1]] * p[[2]] + 1, donate = "p")(p), c(2, 5, 10), "f32[3]")
  }
})

test_that("swapped, shifted and reused: results do not read what was overwritten", {
  a0 <- c(1, 2, 3, 4)
  b0 <- c(10, 20, 30, 40)
  programs <- list(
    function(a, b) list(b, a),
    function(a, b) list(b + 0, a + 0),
    function(a, b) list(a + b, a - b),
    function(a, b) list(a - b, a),
    function(a, b) list(a * 2, nv_reduce_sum(a) + b),
    function(a, b) list(nv_reshape(t(nv_reshape(a, c(2, 2))), 4), a + 1),
    function(a, b) list(
      nv_reshape(t(nv_reshape(a, c(2, 2))), 4) + 1, nv_reshape(t(nv_reshape(b, c(2, 2))), 4)
    ),
    function(a, b) {
      m <- nv_reshape(a, c(2, 2))
      list(nv_reshape(m %*% m, 4), nv_reshape(m %*% t(m), 4))
    },
    function(a, b) {
      s <- a + b
      d <- a - b
      list(s * d, s, d, a * 3, b * 3)
    },
    function(a, b) list(nv_ifelse(a > b, a, b), nv_ifelse(a > b, b, a))
  )
  for (program in programs) {
    want <- program(f32(a0), f32(b0))
    for (donate in list("a", "b", c("a", "b"))) {
      f <- jit(program, donate = donate)
      for (round in 1:2) {
        a <- f32(a0)
        b <- f32(b0)
        expect_identical(f(a, b), want, label = paste(deparse1(body(program)), deparse1(donate)))
      }
    }
  }
})

test_that("results do not depend on dtype or length", {
  for (dtype in dtypes[-1]) for (n in c(0, 1, 5, 3000)) {
    f <- jit(function(w, g) list(w + g, w * g), donate = c("w", "g"))
    values <- rep_len(c(1, 2, 3), n)
    for (round in 1:2) {
      w <- nv_tensor(values, dtype = dtype)
      g <- nv_tensor(rev(values), dtype = dtype)
      got <- f(w, g)
      expect_equal(as.complex(got[[1]]), as.complex(values + rev(values)))
      expect_equal(as.complex(got[[2]]), as.complex(values * rev(values)))
    }
  }
})

test_that("an argument that is the result is passed through, not given away", {
  f <- jit(function(w) w, donate = "w")
  w <- f32(1, 2)
  got <- f(w)
  expect_elements(got, c(1, 2), "f32[2]")
  g <- jit(function(w) list(w, w + 1), donate = "w")
  w <- f32(1, 2)
  got <- g(w)
  expect_elements(got[[1]], c(1, 2), "f32[2]")
  expect_elements(got[[2]], c(2, 3), "f32[2]")
})

test_that("donation inside a trace is none", {
  f <- jit(function(w) w * 2, donate = "w")
  g <- jit(function(w) {
    a <- f(w)
    a + w
  })
  expect_elements(g(f32(1, 2)), c(3, 6), "f32[2]")
  k <- f32(1, 2)
  expect_elements(jit(function(x) f(k) + k + x)(f32(0, 0)), c(3, 6), "f32[2]")
  expect_elements(k, c(1, 2), "f32[2]")
})

test_that("an argument that goes through functions on its way", {
  f <- jit(function(w) w * 2, donate = "w")
  step <- function(value) f(value)
  w <- f32(1, 2, 3)
  got <- step(w)
  expect_elements(got, c(2, 4, 6), "f32[3]")
  # Whether it was given away or not, it has its value or is an error.
  again <- tryCatch(c(as_array(w)), anvil_error_donated = function(e) "donated")
  expect_true(identical(again, c(1, 2, 3)) || identical(again, "donated"))
  got <- lapply(list(f32(1), f32(2)), f)
  expect_elements(got[[2]], 4, "f32[1]")
  values <- list(f32(1), f32(2))
  for (v in values) f(v)
  expect_elements(values[[1]], 1, "f32[1]")
  expect_elements(values[[2]], 2, "f32[1]")
})

test_that("a donated tensor can be saved and compared without a crash", {
  f <- jit(function(w) w * 2, donate = "w")
  w <- f32(1, 2)
  f(w)
  expect_error(identical(w, f32(1, 2)), class = "anvil_error_donated")
  for (read in alist(c(0, w), sum(1, w), sapply(w, identity), cumsum(w), unlist(list(w)))) {
    expect_error(eval(read), class = "anvil_error_donated")
  }
  path <- withr::local_tempfile()
  saveRDS(w, path)
  expect_error(readRDS(path) + 1, class = "anvil_error_donated")
})

test_that("static and donate exclude each other", {
  e <- expect_error(
    jit(function(x, n) x, static = "n", donate = c("x", "n")), class = "anvil_error_arg",
    "not static, not \"n\""
  )
  expect_match(conditionMessage(e), "holds no memory")
  expect_error(jit(function(x) x, donate = "z"), class = "anvil_error_arg")
  expect_error(jit(function(x) x, donate = TRUE), class = "anvil_error_arg")
})

test_that("what was taken out of a list is donated only with the whole list", {
  f <- jit(function(w) w * 2, donate = "w")
  out <- list(w = nv_tensor(c(1, 2, 3), "f32"))
  w <- out$w
  expect_nv(f(w), c(2, 4, 6), "f32")
  expect_nv(out$w, c(1, 2, 3), "f32")
  g <- jit(function(state) list(w = state$w * 2), donate = "state")
  state <- list(w = nv_tensor(c(1, 2, 3), "f32"))
  expect_nv(g(state)$w, c(2, 4, 6), "f32")
  expect_error(state$w + 1, class = "anvil_error_donated")
})

test_that("a donated tensor is given away on every way out of a call that has begun", {
  # Another result keeps the program running after the first was written over the argument.
  slow <- jit(function(w, n) {
    list(
      w * 2 + 1, nv_while(list(i = nv_scalar(0, "f32")), function(s) s$i < n, function(s) list(i = s$i + 1))
    )
  }, donate = "w")
  many <- nv_scalar(1e15, "f32")
  # Traced before, so that the limit meets the program.
  slow(f32(1, 2, 3), nv_scalar(1, "f32"))
  w <- f32(1, 2, 3)
  expect_stopped(slow(w, many))
  expect_error(w + 1, class = "anvil_error_donated")
  expect_error(slow(w, many), class = "anvil_error_donated")

  failing <- jit(function(w) {
    y <- w * 2 + 1
    nv_print(sum(y))
    y
  }, donate = "w")
  w <- f32(1, 2, 3)
  withr::local_options(anvil.print_max_rows = "many")
  expect_error(failing(w), class = "anvil_error_arg")
  withr::local_options(anvil.print_max_rows = NULL)
  expect_error(w + 1, class = "anvil_error_donated")
  # Before it has begun, nothing is given away.
  w <- f32(1, 2, 3)
  expect_error(jit(function(w, v) w * v, donate = "w")(w, "a"), class = "anvil_error_arg")
  expect_elements(w, c(1, 2, 3), "f32[3]")
})
