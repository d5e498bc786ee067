# The functions of loops take the state whole, or by the names of its parts.

both <- function(f, ...) {
  out <- f(...)
  expect_identical(jit(f)(...), out)
  out
}
x <- nv_tensor(c(8, 4), dtype = "f64")
s64 <- function(v) nv_scalar(v, dtype = "f64")

test_that("nv_while() gives the parts by name, to each function as it asks", {
  whole <- both(function(x) {
    nv_while(
      list(i = 0L, x = x), function(s) s$i < 5L, function(s) list(i = s$i + 1L, x = s$x / 2)
    )
  }, x)
  expect_nv(whole$x, c(0.25, 0.125), "f64")
  parts <- list(
    function(x) nv_while(list(i = 0L, x = x), \(i, x) i < 5L, \(i, x) list(i = i + 1L, x = x / 2)),
    # In any order; one function whole, the other by parts.
    function(x) nv_while(
      list(i = 0L, x = x), \(x, i) i < 5L, \(state) list(i = state$i + 1L, x = state$x / 2)
    ),
    function(x) nv_while(list(i = 0L, x = x), \(state) state$i < 5L, \(x, i) list(i = i + 1L, x = x / 2)),
    # `...` takes the others, and what has a default need not be a part.
    function(x) nv_while(list(i = 0L, x = x), \(i, ...) i < 5L, \(i, x, by = 2) list(i = i + 1L, x = x / by)),
    # A default gives way to a part.
    function(x) nv_while(list(i = 0L, x = x), \(i, x = 7) i < 5L, \(i, x) list(i = i + 1L, x = x / 2)),
    # Jitted, and with nested parts.
    function(x) {
      nv_while(list(i = 0L, x = x), jit(\(i, x) i < 5L), jit(\(i, x) list(i = i + 1L, x = x / 2)))
    }
  )
  for (f in parts) expect_identical(both(f, x), whole)
  nested <- both(function(x) {
    nv_while(
      list(p = list(a = x, NULL), n = 0L), \(p, n) n < 2L,
      \(p, n) list(p = list(a = p$a * 2, NULL), n = n + 1L)
    )
  }, x)
  expect_nv(nested$p$a, c(32, 16), "f64")
  expect_null(nested$p[[2L]])
  expect_named(nested, c("p", "n"))
  # A part that is NULL.
  empty <- nv_while(list(i = 0L, z = NULL), \(i, z) i < 2L, \(i, z) list(i = i + 1L, z = z))
  expect_identical(names(empty), c("i", "z"))
})

test_that("nv_for() gives the number of the repetition first, then the parts", {
  expected <- both(function(x) {
    nv_for(3L, list(a = x, b = 1), function(i, s) list(a = s$a + i, b = s$b * 2))
  }, x)
  expect_nv(expected$a, c(14, 10), "f64")
  for (body in list(
    function(i, a, b) list(a = a + i, b = b * 2), function(k, b, a) list(a = a + k, b = b * 2),
    function(i, a, ...) list(a = a + i, b = ..1 * 2), function(i, a, b, n = 2) list(a = a + i, b = b * n)
  )) {
    expect_identical(
      both(user_env(function(x) nv_for(3L, list(a = x, b = 1), body), body = body), x), expected
    )
  }
  loss <- function(x) sum(nv_for(2L, list(a = x, b = x), function(i, a, b) list(a = a * b, b = b))$a)
  expect_nv(gradient(loss)(x)$x, 3 * c(64, 16), "f64")
  # No repetition.
  expect_nv(nv_for(0L, list(a = x), function(i, a) list(a = a + 1))$a, c(8, 4), "f64")
})

test_that("nv_scan() gives the parts, then the slice", {
  xs <- nv_tensor(c(1, 2, 3), dtype = "f64")
  expected <- both(function(xs) {
    nv_scan(function(s, x) list(list(a = s$a + x, b = s$b * x), s$a), list(a = s64(0), b = s64(1)), xs)
  }, xs)
  expect_nv(expected$carry$b, 6, "f64", shape = integer())
  for (body in list(
    function(a, b, x) list(list(a = a + x, b = b * x), a),
    function(b, a, z) list(list(a = a + z, b = b * z), a),
    function(a, b, x, one = 1) list(list(a = a + x, b = b * x * one), a),
    function(a, x, ...) list(list(a = a + x, b = ..1 * x), a)
  )) {
    init <- list(a = s64(0), b = s64(1))
    got <- both(user_env(function(xs) nv_scan(body, init, xs), body = body, init = init), xs)
    expect_identical(got, expected)
  }
  pairs <- nv_scan(function(a, x) list(list(a = a + x$u * x$v), NULL), list(a = s64(0)), list(u = xs, v = xs))
  expect_identical(as.double(pairs$carry$a), 14)
})

test_that("`...` beside parts takes what is not named, and the slice or the number", {
  state <- list(a = s64(0), b = s64(1), d = s64(2))
  expected <- both(function() {
    nv_scan(function(s, x) list(list(a = s$a + s$b, b = s$b, d = s$d * 2), s$a), state, NULL, length = 4L)
  })
  expect_nv(expected$ys, 0:3, "f64")
  for (f in list(
    function(a, b, d, ...) list(carry = list(a = a + b, b = b, d = d * 2), ys = a),
    function(d, b, ..., a) list(carry = list(a = a + b, b = b, d = d * 2), ys = a),
    function(a, b, ...) list(carry = list(a = a + b, b = b, d = ..1 * 2), ys = a),
    function(a, b, d, ...) list(carry = list(a = a + b + length(..1), b = b, d = d * 2), ys = a)
  )) {
    run <- user_env(function() nv_scan(body, state, NULL, length = 4L), body = f, state = state)
    expect_identical(both(run), expected)
  }
  pair <- state[1:2]
  sums <- both(function(x) nv_scan(function(a, b, ...) list(list(a = a + ..1 * b, b = b), a), pair, x), x)
  expect_nv(sums$carry$a, 12, "f64", integer())
  expect_nv(sums$ys, c(0, 8), "f64")
  # Of one part.
  sums <- nv_scan(function(a, ...) list(carry = list(a = a + ..1), ys = a), pair[1L], x)
  expect_nv(sums$carry$a, 12, "f64", integer())
  expect_nv(nv_for(3L, pair, function(..., a, b) list(a = a + ..1, b = b))$a, 6, "f64", integer())
})

test_that("without `xs` the function of nv_scan() need not take a slice", {
  pair <- list(a = s64(0), b = s64(1))
  expected <- nv_scan(function(a, b, x) list(list(a = a + b, b = b), a), pair, NULL, length = 3L)
  for (f in list(
    function(a, b) list(carry = list(a = a + b, b = b), ys = a),
    function(b, a, by = 1) list(carry = list(a = a + b * by, b = b), ys = a),
    function(a, b, x) list(carry = list(a = a + b + length(x), b = b), ys = a),
    function(s) list(carry = list(a = s$a + s$b, b = s$b), ys = s$a),
    function(s, x) list(carry = list(a = s$a + s$b + length(x), b = s$b), ys = s$a)
  )) {
    run <- user_env(function() nv_scan(body, pair, NULL, length = 3L), body = f, pair = pair)
    expect_identical(both(run), expected)
  }
  expect_nv(nv_scan(function(s) list(carry = s + 1, ys = s), s64(5), list(), length = 2L)$ys, c(5, 6), "f64")
  # With slices it takes them.
  for (f in list(function(s) list(s, s), function(a, b) list(pair, a))) {
    expect_fields(nv_scan(f, pair, x), "anvil_error_arg", arg = "f")
  }
  expect_fields(nv_scan(function() 1, s64(5), NULL, length = 2L), "anvil_error_arg", arg = "f")
})

test_that("the whole state goes to functions whose arguments are not its parts", {
  expect_nv(nv_while(x, \(x) sum(x) > 4, \(x) x / 2), c(2, 1), "f64")
  # Names are missing, or there are two of one.
  for (state in list(list(x), setNames(list(x, x), c("s", "")), setNames(list(x, x), c("s", "s")))) {
    out <- nv_for(1L, state, function(i, s) {
      expect_length(s, length(state))
      s
    })
    expect_identical(out, state)
  }
  # Of one argument, even if that is a part's name among others.
  out <- nv_while(list(i = 0L, x = x), \(i) i$i < 2L, \(x) list(i = x$i + 1L, x = x$x))
  expect_nv(out$i, 2, "i32", integer(), TRUE)
  # `...` alone.
  expect_nv(nv_for(2L, list(a = x), function(...) list(a = ..2$a + ..1))$a, c(11, 7), "f64")
  # A state with one part, which is the argument.
  expect_nv(nv_for(1L, list(a = x), function(i, a) list(a = a))$a, c(8, 4), "f64")
})

test_that("arguments that are half of the parts are an error that says which part is missing", {
  state <- list(i = 0L, x = x, y = x)
  same <- function(i, x, y) list(i = i, x = x, y = y)
  e <- expect_fields(
    nv_while(state, \(i, x) i < 3L, same), "anvil_error_arg", arg = "cond", got = "one of `i`, `x`"
  )
  expect_match(conditionMessage(e), "\ni `y` is no argument of it.", fixed = TRUE)
  e <- expect_fields(nv_while(state, \(i, z) i < 3L, same), "anvil_error_arg", arg = "cond")
  expect_match(
    conditionMessage(e), "`x`, `y` are no arguments of it. `z` is no part of the state.", fixed = TRUE
  )
  e <- expect_fields(nv_while(state, \(i, x, y) i < 3L, \(i, x, y, z) state), "anvil_error_arg", arg = "body")
  expect_match(conditionMessage(e), "\ni `z` is no part of the state.", fixed = TRUE)
  expect_fields(nv_for(2L, state[-1L], function(i, x, z) state), "anvil_error_arg", arg = "body")
  expect_fields(nv_scan(function(x, z, u) state, state[-1L], x), "anvil_error_arg", arg = "f")
  expect_fields(nv_while(state, \(i, z, ...) i < 3L, same), "anvil_error_arg", arg = "cond")
  expect_identical(
    call_of(jit(function(x) nv_while(state, \(i, x) i < 3L, same))(x)),
    "nv_while(state, function(i, x) i < 3L, same)"
  )
  expect_error(nv_while(state, 1, same), class = "anvil_error_arg", "`cond` must be a function")
  expect_error(nv_while(state, same, 1), class = "anvil_error_arg", "`body` must be a function")
  expect_no_open_trace()
})

test_that("a part with the name of what is beside it is an error", {
  e <- expect_fields(
    nv_for(2L, list(i = x, a = x), function(i, a) list(i = i, a = a)), "anvil_error_arg", arg = "body",
    got = "one whose first argument is the part `i`"
  )
  expect_match(conditionMessage(e), "take the state whole, as `state`", fixed = TRUE)
  # The number was forgotten.
  expect_fields(
    nv_for(2L, list(a = x, b = x), function(a, b) list(a = a, b = b)), "anvil_error_arg", arg = "body"
  )
  expect_fields(
    nv_scan(function(a, x) list(list(a = a, x = x), x), list(a = 0, x = 1), x), "anvil_error_arg", arg = "f",
    got = "one whose last argument is the part `x`"
  )
  e <- expect_fields(nv_for(2L, list(a = x), function(a) list(a = a)), "anvil_error_arg", arg = "body")
  expect_match(conditionMessage(e), "\ni The number of the repetition comes first", fixed = TRUE)
  # Whole it works.
  out <- nv_for(2L, list(i = x, a = x), function(i, s) list(i = s$i + i, a = s$a))
  expect_nv(out$i, c(11, 7), "f64")
})

test_that("numbers that a state begins with take the known dtype that the body gives", {
  x <- nv_tensor(c(3, 1, 2), dtype = "f64")
  of <- function(f, at = x) both(user_env(f), at)
  expect_elements(of(function(x) nv_for(3L, 0.1, function(i, s) s + x[i])), 0.1 + 3 + 1 + 2, "f64[]")
  expect_elements(of(function(x) nv_for(nv_scalar(3L), 0L, function(i, s) s + x[i])), 6, "f64[]")
  expect_elements(of(function(x) nv_for(3L, c(0, 1), function(i, s) s + x[i])), c(6, 7), "f64[2]")
  expect_elements(of(function(x) nv_for(0L, 0.1, function(i, s) s + x[1])), 0.1, "f64[]")
  expect_elements(of(function(x) nv_while(0, function(s) s < 7, function(s) s + x[1])), 9, "f64[]")
  sums <- of(function(x) nv_scan(function(s, v) list(s + v, s), 0, x))
  expect_elements(sums$carry, 6, "f64[]")
  expect_elements(sums$ys, c(0, 3, 4), "f64[3]")
  expect_elements(
    nv_for(2L, nv_scalar(0.1), function(i, s) s + nv_scalar(0, "bf16")), 0.10009765625, "bf16[]"
  )
  # In a list, where others follow; a count keeps its dtype.
  out <- of(function(x) {
    nv_while(
      list(n = 0L, a = 0, b = 0L, none = NULL, m = matrix(0, 2, 1)), function(n, ...) n < 3L,
      function(n, a, b, none, m) list(n = n + 1L, a = b + 1, b = a + x[1L], none = NULL, m = m + x[1L]),
      max_steps = 5
    )
  })
  expect_identical(
    vapply(out[-4L], type_of, ""), c(n = "i32?[]", a = "f64[]", b = "f64[]", m = "f64[2, 1]")
  )
  expect_identical(vapply(out[1:3], as.double, 0), c(n = 3, a = 5, b = 7))
  # With names, a bar, loops in loops, derivatives and batches.
  expect_named(nv_for(2L, c(a = 0, b = 1), function(i, s) s + x[1]), c("a", "b"))
  for (n in list(3L, nv_scalar(3L))) {
    expect_elements(nv_for(n, 0, function(i, s) s + x[i], progress = TRUE), 6, "f64[]")
  }
  nested <- of(function(x) nv_for(2L, 0, function(i, s) nv_for(3L, s, function(j, t) t + x[j] * i)))
  expect_elements(nested, 18, "f64[]")
  expect_elements(gradient(function(x) nv_for(3L, 1, function(i, s) s * x[1]))(x)$x, c(27, 0, 0), "f64[3]")
  slope <- gradient(function(r) nv_for(3L, r, function(i, s) s * x[1]))(nv_scalar(0.5))$r
  expect_identical(as.double(slope), 27)
  expect_elements(vmap(function(v) nv_for(3L, 0, function(i, s) s + v))(x), c(9, 3, 6), "f64[3]")
  # It is warned once of random numbers, though the body is traced twice.
  warnings <- capture_warnings(nv_for(3L, 0, function(i, s) s + x[1] * rnorm(1)))
  expect_length(warnings, 1L)
  expect_no_open_trace()
})

test_that("a state that begins with a number and gets what it does not yield to is told how to begin", {
  hint <- function(expr) {
    sub(".*\ni ", "", conditionMessage(expect_error(expr, class = "anvil_error_structure")))
  }
  x <- nv_tensor(c(3, 1, 2), dtype = "f64")
  begin <- 'Begin with a value of known dtype, `nv_scalar(.., dtype = "f32")`.'
  whole <- nv_tensor(1:3, dtype = "i64")
  expect_identical(hint(nv_scan(\(s, v) list(v, s), 0, whole)), sub("f32", "i64", begin))
  # A tensor of known dtype, and another shape, are another matter.
  other <- "Convert it in the body, or begin with the type that it becomes."
  expect_identical(hint(nv_for(3L, nv_scalar(0, dtype = "f32"), \(k, s) s + x[k])), other)
  expect_identical(hint(nv_for(3L, 0, \(k, s) s + x)), other)
  # An array of R's is named.
  of_array <- hint(nv_for(3L, list(m = matrix(0, 3, 2), k = 0L), \(i, m, k) list(m = m > i, k = k)))
  expect_match(of_array, "`state$m` of known dtype, `nv_tensor(.., dtype = \"i1\")`", fixed = TRUE)
  expect_match(of_array, "`.. + 0 * x[1]`", fixed = TRUE)
  # A vector that grows is told what keeps its size.
  expect_match(hint(nv_for(3L, 0, \(i, s) c(s, x[i]))), "begin with `numeric(n)`", fixed = TRUE)
  expect_match(hint(nv_for(3L, numeric(2), \(i, s) c(s, x[i]))), "`nv_scan()`", fixed = TRUE)
  # What has lost axes may be of ifelse(), which has the shape of its test.
  of_test <- hint(nv_for(3L, list(b = x), \(i, b) list(b = ifelse(nv_scalar(1) > 0.1, b + 1, b))))
  expect_match(of_test, "`nv_if(test, a, b)`", fixed = TRUE)
  expect_match(of_test, "`state$b`", fixed = TRUE)
  kept <- nv_for(3L, list(b = x), \(i, b) list(b = nv_if(nv_scalar(1) > 0.1, b + 1, b)))
  expect_elements(kept$b, c(6, 4, 5), "f64[3]")
})

test_that("a state that begins with a vector of R and is filled by assignment gets the dtype of the values", {
  x <- nv_tensor(c(3, 1, 2), dtype = "f64")
  of <- function(f) jit(f)(x)
  filled <- function(f) expect_elements(of(f), c(6, 2, 4), "f64[3]")
  filled(function(x) nv_for(3L, rep(0, 3), function(i, z) {
    z[i] <- 2 * x[i]
    z
  }))
  filled(function(x) nv_for(nv_scalar(3L), numeric(3), function(i, z) {
    z[[i]] <- 2 * x[i]
    z
  }))
  # Whole numbers become floats, as R's do.
  filled(function(x) nv_while(list(i = 1L, z = integer(3)), function(i, z) i <= 3L, function(i, z) {
    z[i] <- 2 * x[i]
    list(i = i + 1L, z = z)
  })$z)
  filled(function(x) nv_scan(function(z, v) {
    z[1] <- 2 * v
    list(z, z[1])
  }, c(a = 0, b = 1), x)$ys)
  rows <- of(function(x) nv_for(2L, matrix(0, 2, 3), function(i, z) {
    z[i, ] <- x
    z
  }))
  expect_elements(rows, c(3, 3, 1, 1, 2, 2), "f64[2, 3]")
  slope <- gradient(function(x) sum(nv_for(3L, numeric(3), function(i, z) {
    z[i] <- x[i]^2
    z
  })))(x)
  expect_elements(slope$x, c(6, 2, 4), "f64[3]")
  # `NA` is a number where one is assigned, and whole numbers become floats beside those.
  filled(function(x) nv_for(3L, rep(NA, 3), function(i, z) {
    z[i] <- 2 * x[i]
    z
  }))
  expect_elements(nv_for(3L, list(s = 0L), function(i, s) list(s = s + 0.5))$s, 1.5, "f32?[]")
  expect_elements(nv_while(0L, function(n) n < 3, function(n) n + 1), 3, "f32?[]")
  # Outside of loops too; what is known does not yield.
  z <- nv_tensor(c(a = 0, b = 0), ambiguous = TRUE)
  z["b"] <- x[1]
  expect_elements(z, c(0, 3), "f64[2]")
  expect_named(z, c("a", "b"))
  known <- nv_tensor(c(0, 0), dtype = "f32")
  expect_error(known[1] <- x[1], class = "anvil_error_dtype")
  expect_no_open_trace()
})

test_that("numbers of R in one branch get the dtype of the other", {
  x <- nv_tensor(c(3, 1, 2), dtype = "f64")
  of <- function(f) jit(f)(x)
  expect_elements(of(function(x) nv_if(x[1] > 0, x[1], 0)), 3, "f64[]")
  expect_elements(of(function(x) nv_if(x[1] < 0, x[1], 0.1)), 0.1, "f64[]")
  expect_elements(of(function(x) nv_if(x[1] < 0, function() 0L, function() x[1])), 3, "f64[]")
  expect_elements(of(function(x) nv_if(x[1] < 0, x, rep(0.1, 3))), rep(0.1, 3), "f64[3]")
  both <- of(function(x) nv_if(x[1] > 0, list(a = 0.1, b = x[1]), list(a = x[2], b = 1)))
  expect_elements(both$a, 0.1, "f64[]")
  expect_elements(both$b, 3, "f64[]")
  # By a function of the user's, and in loops whose state is a number.
  choose <- function(test, yes, no) nv_if(test, yes, no)
  expect_elements(of(function(x) choose(x[1] > 0, 0.1, x[1])), 0.1, "f64[]")
  within <- of(function(x) nv_for(3L, 0, function(i, s) nv_if(x[i] > 1, s + 0.1, s + x[i])))
  expect_equal(as.double(within), 1.2)
  expect_elements(of(function(x) nv_switch(nv_scalar(1L), 0.1, x[1])), 0.1, "f64[]")
  expect_elements(of(function(x) nv_switch(nv_scalar(3L), 0, 1L, 0.1, x[1], 5)), 0.1, "f64[]")
  expect_elements(of(function(x) nv_if(x[1] < 0, x[1], NA)), NaN, "f64[]")
  expect_elements(nv_if(x[1] > 0, 1L, 0.5), 1, "f32?[]")
  # Logicals yield to none, and types that differ stay an error.
  expect_error(of(function(x) nv_if(x[1] > 0, TRUE, x[1])), class = "anvil_error_structure")
  expect_error(of(function(x) nv_if(x[1] > 0, 0, x)), class = "anvil_error_structure")
  expect_error(of(function(x) nv_switch(nv_scalar(1L), 0, x)), class = "anvil_error_structure")
  expect_error(of(function(x) nv_switch(nv_scalar(1L), 0, x[1], TRUE)), class = "anvil_error_structure")
  expect_no_open_trace()
})

test_that("what a branch assigns is its own", {
  x <- nv_tensor(c(3, 1, 2), dtype = "f64")
  of <- function(f) jit(user(f))(x)
  filled <- of(function(x) nv_for(3L, numeric(3), function(i, z) nv_if(x[i] > 1, {
    z[i] <- x[i]
    z
  }, z)))
  expect_elements(filled, c(3, 0, 2), "f64[3]")
  both <- function(x) {
    z <- numeric(3)
    nv_if(x[1] > 5, { z[1] <- x[1]; z }, { z[2] <- x[2]; z })
  }
  expect_elements(of(both), c(0, 1, 0), "f64[3]")
  several <- function(x) {
    z <- numeric(3)
    nv_switch(nv_scalar(3L), { z[1] <- x[1]; z }, z, { new <- x[3]; z[3] <- new; z })
  }
  expect_elements(of(several), c(0, 0, 2), "f64[3]")
  # After it, such a variable is that of a branch, and not in silence what it was.
  after <- function(x) {
    z <- numeric(3)
    nv_if(x[1] > 0, { z[1] <- x[1]; 1 }, 2)
    z
  }
  expect_error(of(after), class = "anvil_error_leaked_tracer")
  expect_no_open_trace()
})
