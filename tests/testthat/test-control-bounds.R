# Branches by number, loops with a bound, loops as often as a tensor says.

f64 <- function(x, ...) nv_tensor(x, dtype = "f64", ...)
scalar64 <- function(x) nv_scalar(x, dtype = "f64")
slope_along <- function(f, x) as.double(jvp(f, list(x), list(scalar64(1)))$tangent)

# ---- nv_switch() ----

among <- user(function(i, x) nv_switch(i, x, sin(x), x^2, exp(x), x * 3))

test_that("nv_switch() runs the branch with this number, eager and jitted", {
  x <- scalar64(0.5)
  expected <- c(0.5, sin(0.5), 0.25, exp(0.5), 1.5)
  slopes <- c(1, cos(0.5), 1, exp(0.5), 3)
  jitted <- jit(among)
  for (i in 1:5) {
    for (index in list(i, nv_scalar(i), nv_scalar(i, dtype = "ui8"), nv_scalar(i, dtype = "i64"))) {
      expect_equal(as.double(among(index, x)), expected[i], tolerance = 1e-15)
      expect_identical(jitted(index, x), among(index, x))
    }
    index <- nv_scalar(i)
    expect_equal(as.double(gradient(among, "x")(index, x)$x), slopes[i], tolerance = 1e-15)
    along <- user_env(function(x) among(index, x), among = among, index = index)
    expect_equal(slope_along(along, x), slopes[i], tolerance = 1e-15)
  }
  # Any number of branches; only one of them runs.
  for (n in 1:9) {
    for (i in seq_len(n)) {
      branches <- lapply(seq_len(n), function(k) user_env(function() x * k, k = k, x = x))
      expect_equal(as.double(do.call(nv_switch, c(list(nv_scalar(i)), branches))), i * 0.5)
    }
  }
  printing <- user(function(i, x) nv_switch(i, nv_print(x, "one"), nv_print(x, "two"), nv_print(x, "three")))
  shown <- capture.output(made <- jit(printing)(nv_scalar(2L), x))
  expect_identical(intersect(shown, c("one", "two", "three")), "two")
})

test_that("branches of nv_switch() are nested lists, in loops too", {
  f <- user(function(i) nv_switch(i, list(a = 1, b = list(2L)), list(a = 3, b = list(4L))))
  expect_nv(f(1L)$a, 1, "f32", integer(), ambiguous = TRUE)
  expect_nv(f(2L)$b[[1L]], 4L, "i32", integer(), ambiguous = TRUE)
  loop <- user(function(x) {
    nv_for(3L, x, function(i, x) nv_switch(i, x + 1, function() x * 2, x - 3))
  })
  expect_equal(as.double(jit(loop)(scalar64(5))), 9)
  expect_equal(as.double(gradient(loop)(scalar64(5))$x), 2)
  batched <- vmap(among)(nv_tensor(1:5), f64(rep(0.5, 5)))
  expect_equal(as.double(batched), c(0.5, sin(0.5), 0.25, exp(0.5), 1.5), tolerance = 1e-15)
})

test_that("an index that no branch has is an error when the program runs", {
  x <- scalar64(0.5)
  for (i in c(0L, 6L, -1L, .Machine$integer.max, -.Machine$integer.max)) {
    # Known while tracing, and not.
    error <- expect_error(among(nv_scalar(i), x), class = "anvil_error_index")
    expect_identical(error$index, as.character(i))
    error <- expect_error(jit(among)(nv_scalar(i), x), class = "anvil_error_index")
    expect_identical(error$value, as.numeric(i))
    expect_identical(error$size, 5)
    clipped <- user_env(function(i) nv_switch(i, x, x * 2, x * 3, mode = "clip"), x = x)
    expect_equal(as.double(clipped(nv_scalar(i))), 0.5 * min(max(i, 1), 3))
  }
  one <- user_env(function(i) nv_switch(i, x), x = x)
  expect_error(one(nv_scalar(2L)), class = "anvil_error_index")
  expect_nv(one(nv_scalar(1L)), 0.5, "f64", integer())
})

test_that("nv_switch() refuses what it cannot choose by or from", {
  x <- scalar64(0.5)
  expect_fields(nv_switch(x, x, x), "anvil_error_arg", arg = "index")
  expect_fields(nv_switch(TRUE, x, x), "anvil_error_arg", arg = "index")
  expect_fields(nv_switch("a", x, x), "anvil_error_arg", arg = "index")
  expect_fields(nv_switch(nv_tensor(1:2), x, x), "anvil_error_arg", arg = "index")
  expect_fields(nv_switch(NULL, x, x), "anvil_error_arg", arg = "index")
  expect_fields(nv_switch(1L), "anvil_error_arg", arg = "...")
  expect_fields(nv_switch(1L, x, x, mode = "drop"), "anvil_error_arg", arg = "mode")
  expect_fields(nv_switch(1L, x, "a"), "anvil_error_arg", arg = "branch 2")
  error <- expect_error(nv_switch(1L, x, x, nv_scalar(1L, dtype = "i32")), class = "anvil_error_structure")
  expect_match(conditionMessage(error), "by branch 1, and i32[] by branch 3", fixed = TRUE)
  expect_identical(.Call(anvil:::anvil_trace_depth), 0L)
})

# ---- max_steps ----

newton <- user(function(a, steps = 30) {
  nv_while(a, function(x) abs(x * x - a) > 1e-14 * a, function(x) (x + a / x) / 2, max_steps = steps)
})

test_that("a loop with a bound gives what it gives without, and ends at the bound", {
  double <- user(function(x, steps) nv_while(x, function(x) x < 10, function(x) x * 2, max_steps = steps))
  for (f in list(double, jit(double, static = "steps"))) {
    expect_equal(as.double(f(scalar64(3), NULL)), 12)
    expect_equal(as.double(f(scalar64(3), 9)), 12)
    expect_equal(as.double(f(scalar64(3), 2)), 12)
    expect_equal(as.double(f(scalar64(3), 1)), 6)
    expect_equal(as.double(f(scalar64(3), 0)), 3)
  }
  # A state of parts, with a condition that is no traced value.
  made <- nv_while(
    list(i = 0L, x = scalar64(1)), \(i, x) TRUE, \(i, x) list(i = i + 1L, x = x * 2), max_steps = 5L
  )
  expect_nv(made$x, 32, "f64", integer())
  expect_fields(nv_while(1, \(x) TRUE, \(x) x, max_steps = -1), "anvil_error_arg", arg = "max_steps")
  expect_fields(nv_while(1, \(x) TRUE, \(x) x, max_steps = 1.5), "anvil_error_arg", arg = "max_steps")
  expect_fields(nv_while(1, \(x) TRUE, \(x) x, max_steps = "a"), "anvil_error_arg", arg = "max_steps")
})

test_that("a loop with a bound has a gradient", {
  a <- scalar64(2)
  expect_equal(as.double(gradient(newton, "a")(a)$a), 0.5 / sqrt(2), tolerance = 1e-12)
  expect_equal(as.double(jit(gradient(newton, "a"))(a)$a), 0.5 / sqrt(2), tolerance = 1e-12)
  second <- user_env(function(a) gradient(newton, "a")(a)$a, newton = newton)
  expect_equal(as.double(gradient(second)(a)$a), -0.25 * 2^-1.5, tolerance = 1e-10)
  expect_equal(slope_along(second, a), -0.25 * 2^-1.5, tolerance = 1e-10)
  expect_equal(slope_along(newton, a), 0.5 / sqrt(2), tolerance = 1e-12)
  # Each number of steps: 2^k x.
  double <- user(function(x) nv_while(x, function(x) x < 10, function(x) x * 2, max_steps = 3))
  for (x in c(0.5, 3, 6, 11)) {
    steps <- min(3, max(0, ceiling(log2(10 / x))))
    expect_equal(as.double(gradient(double)(scalar64(x))$x), 2^steps)
  }
  none <- user(function(x) nv_while(x, function(x) x < 10, function(x) x * 2, max_steps = 0))
  expect_equal(as.double(gradient(none)(scalar64(3))$x), 1)
  # A step that is not made has no say, even where its derivative is infinite.
  root <- user(function(x) nv_while(x, function(x) x > 0, function(x) sqrt(x) - 2, max_steps = 9))
  expect_equal(as.double(gradient(root)(scalar64(4))$x), 0.25)
  many <- vmap(user_env(function(a) gradient(newton, "a")(a)$a, newton = newton))(f64(c(2, 9, 100)))
  expect_equal(as.double(many), 0.5 / sqrt(c(2, 9, 100)), tolerance = 1e-12)
})

test_that("a loop without a bound says how to give one", {
  loop <- user(function(x) nv_while(x, function(x) x < 10, function(x) x * 2))
  error <- expect_error(gradient(loop)(scalar64(1)), class = "anvil_error_grad")
  expect_match(conditionMessage(error), "max_steps", fixed = TRUE)
  expect_match(conditionMessage(error), "nv_scan()", fixed = TRUE)
})

# ---- nv_for() with a traced number ----

test_that("nv_for() repeats as often as a tensor says", {
  power <- user(function(n, x) nv_for(n, x, function(i, state) state * x + i))
  expected <- function(n, x) Reduce(function(state, i) state * x + i, seq_len(n), x)
  jitted <- jit(power)
  for (n in c(0L, 1L, 4L)) {
    for (dtype in c("i32", "i64")) {
      count <- nv_scalar(n, dtype = dtype)
      expect_equal(as.double(power(count, scalar64(0.5))), expected(n, 0.5))
      expect_identical(jitted(count, scalar64(0.5)), power(count, scalar64(0.5)))
    }
    along <- user_env(function(x) power(n, x), power = power, n = nv_scalar(n))
    still <- user_env(function(x) power(n, x), power = power, n = n)
    expect_equal(slope_along(along, scalar64(0.5)), slope_along(still, scalar64(0.5)))
  }
  expect_equal(as.double(power(nv_scalar(-3L), scalar64(0.5))), 0.5)
  type <- NULL
  nv_for(nv_scalar(2L, dtype = "i64"), 1, function(i, state) {
    type <<- as.character(dtype(i))
    state
  })
  expect_identical(type, "i64")
  batched <- vmap(power)(nv_tensor(0:3), f64(rep(0.5, 4)))
  expect_equal(as.double(batched), vapply(0:3, expected, 0, x = 0.5))
})

test_that("nv_for() with a tensor has no gradient, and says why", {
  power <- user(function(x, n) nv_for(n, x, function(i, state) state * x))
  error <- expect_error(gradient(power, "x")(scalar64(2), nv_scalar(3L)), class = "anvil_error_grad")
  expect_match(conditionMessage(error), "`nv_for()` with a number of R", fixed = TRUE)
  expect_equal(as.double(gradient(power, "x")(scalar64(2), 3L)$x), 32)
  expect_fields(nv_for(nv_scalar(1.5), 1, \(i, s) s), "anvil_error_arg", arg = "n")
  expect_fields(nv_for(nv_tensor(1:2), 1, \(i, s) s), "anvil_error_arg", arg = "n")
  expect_error(nv_for(nv_scalar(1L), 1, \(i, s) i), class = "anvil_error_structure")
})
