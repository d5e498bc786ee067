# What XLA makes of exported programs: the same as anvil. Needs a Python with JAX, which ANVIL_PYTHON names.
#
# Integers, booleans and random bits have to be equal. Floats may differ in the last places, where XLA has
# another exp() or adds in another order; `ulps` says by how many units, and the comment beside it why.

f32 <- function(...) nv_tensor(..., dtype = "f32")
wave <- function(..., dtype = "f32") nv_tensor(array(sin(seq_len(prod(...))), c(...)), dtype = dtype)

# ---- the examples ----

test_that("XLA and anvil agree on the programs of the examples", {
  python <- python_with_jax()
  linear <- run_example("linear-model.R")$env
  logistic <- run_example("logistic-regression.R")$env
  mlp <- run_example("mlp.R")$env
  metropolis <- run_example("metropolis.R")$env
  process <- run_example("gaussian-process.R")$env
  titanic <- run_example("titanic.R")$env
  # Conjugate gradients stop at a relative residual of 1e-12, maybe one step earlier or later; what that is
  # for the solution says the condition of the matrix.
  solved <- 1e-12 * kappa(as_array(process$covariance(process$w, process$x)), exact = TRUE) / epsilon[["f64"]]
  layers <- function() mlp$initial(c(10L, 40L, 1L), nv_rng_state(1))
  expect_same_in_xla(python, list(
    # A step multiplies errors by less than 1 and adds some roundings.
    "linear model, a step" = in_both(linear$step, linear$start, linear$data, linear$rate, ulps = 8),
    "linear model, unrolled" = in_both(
      linear$unrolled, linear$start, linear$data, linear$rate, 20L, ulps = 16
    ),
    "linear model, while" = in_both(linear$in_while, linear$start, linear$data, linear$rate, 200L, ulps = 16),
    # Sums over 2201 passengers, which XLA adds in f32: the square root of so many roundings.
    "logistic regression" = in_both(
      logistic$train, logistic$start, logistic$x, logistic$y, logistic$rate, 200L, 50L, ulps = 64
    ),
    "mlp, a step" = in_both(mlp$step, layers(), mlp$training, 0L, 1e-3, 32L, ulps = 16),
    "mlp, while" = in_both(mlp$train, layers(), mlp$training, 50L, 1e-3, 32L, ulps = 32),
    "mlp, loss" = in_both(mlp$measure, layers(), mlp$test, ulps = 16),
    # Normal draws differ in the last place, and a chain adds up those that were accepted.
    "metropolis" = in_both(metropolis$walk, metropolis$chain, 200L, 2, ulps = 64),
    "gaussian process, fit" = in_both(
      process$fit, process$start, process$x, process$y, process$rate, 5L, ulps = solved
    ),
    "gaussian process, posterior" = in_both(
      process$posterior, process$w, process$x, process$y, process$as_column(process$grid), ulps = solved
    ),
    "titanic, f32" = do.call(in_both, c(list(titanic$model), titanic$arguments("f32"), ulps = 64)),
    "titanic, f64" = do.call(in_both, c(list(titanic$model), titanic$arguments("f64"), ulps = 64))
  ))
})

# ---- models and loops ----

test_that("XLA and anvil agree on models, loops and their gradients", {
  python <- python_with_jax()
  rows_like <- function(v, x) nv_broadcast_to(v, shape(x))
  softmax_loss <- function(w, x, label) {
    logits <- x %*% w$w
    logits <- logits + rows_like(w$b, logits)
    logits <- logits - rows_like(nv_reduce_max(logits, 2L, drop = FALSE), logits)
    logs <- logits - rows_like(log(sum(exp(logits), axes = 2L, drop = FALSE)), logits)
    classes <- rows_like(nv_reshape(nv_seq(1L, 3L), c(1L, 3L)), logs)
    hits <- rows_like(nv_reshape(label, c(length(label), 1L)), logs) == classes
    -mean(nv_ifelse(hits, logs, 0)) * 3
  }
  weights <- list(w = wave(4L, 3L), b = wave(1L, 3L))
  label <- nv_tensor(rep(c(1L, 3L, 2L), length.out = 20L))
  cumulated <- function(s, x) list((s + x) * 0.9, (s + x)^2L)
  scanned <- function(x, w) {
    out <- nv_scan(cumulated, nv_scalar(0, "f32"), x)
    out$carry + sum(w * out$ys)
  }
  recurrent <- function(w, xs) {
    cell <- function(h, x) {
      h <- tanh(w$h %*% h + w$x %*% nv_reshape(x, c(2L, 1L)))
      list(h, sum(h))
    }
    mean(nv_scan(cell, nv_fill(0, c(3L, 1L)), xs)$ys)
  }
  cell <- list(h = wave(3L, 3L), x = wave(3L, 2L))
  nested <- function(x, n) {
    nv_for(3L, x, function(i, x) {
      x <- nv_if(sum(x) > 0, x - nv_convert(i, "f32"), nv_if(x[1] > -2, -x, x * 0.5))
      nv_while(
        list(k = 0L, x = x), function(s) s$k < n + i, function(s) list(k = s$k + 1L, x = cos(s$x) + s$x * 0.5)
      )$x
    })
  }
  collatz <- function(n) {
    step <- function(s) list(n = nv_if(s$n %% 2L == 0L, s$n %/% 2L, 3L * s$n + 1L), count = s$count + 1L)
    nv_while(list(n = n, count = 0L), function(s) s$n > 1L, step)$count
  }
  triangle <- function(x) {
    nv_scan(function(s, a) {
      inner <- nv_scan(function(t, b) list(t + 1L, nv_if(a > b, a * b, -a)), s, x, reverse = TRUE)
      list(inner$carry, inner$ys)
    }, 0L, x)
  }
  half_squared <- custom_gradient(
    function(x) x^2L / 2, forward = function(x) list(x^2L / 2, x), backward = function(x, g) list(g * x * 10)
  )
  lists <- function(xs) {
    nv_scan(function(s, x) list(list(xor(x$b, s[[1L]]), x$a + s[[2L]]), s), list(xs$b[1], xs$a[1]), xs)
  }
  expect_same_in_xla(python, list(
    # Some exponentials, logarithms and sums of a few terms, at a unit or two each.
    "softmax" = in_both(softmax_loss, weights, wave(20L, 4L), label, ulps = 16),
    "softmax, gradient" = in_both(
      value_and_gradient(softmax_loss, wrt = "w"), weights, wave(20L, 4L), label, ulps = 16
    ),
    "scan" = in_both(scanned, wave(6L), wave(6L), ulps = 4),
    "gradient of a scan" = in_both(gradient(scanned), wave(6L), wave(6L), ulps = 8),
    "hessian-vector product of a scan" = in_both(
      function(x, w, v) gradient(function(x) sum(gradient(scanned, "x")(x, w)$x * v))(x), wave(6L), wave(6L),
      wave(6L), ulps = 16
    ),
    "recurrent network, gradient" = in_both(
      value_and_gradient(recurrent, wrt = "w"), cell, wave(7L, 2L), ulps = 32
    ),
    "checkpointed scan, gradient" = in_both(
      gradient(function(x) nv_scan(cumulated, nv_scalar(0, "f32"), x, checkpoint = TRUE)$carry), wave(9L),
      ulps = 8
    ),
    "branches in loops in loops" = in_both(nested, wave(3L), 5L, ulps = 16),
    "gradient of branches in loops" = in_both(
      gradient(function(x) sum(nv_for(4L, x, function(i, x) nv_if(sum(x) > 0, sin(x), x * x - 1)))), wave(3L),
      ulps = 16
    ),
    "no iteration" = in_both(function(x) nv_for(0L, x, function(i, s) s * 2), wave(3L)),
    "integer loop" = in_both(collatz, 27L),
    "scan within a scan" = in_both(triangle, nv_tensor(c(3L, -1L, 2L))),
    "scan of lists" = in_both(
      lists, list(a = nv_tensor(1:4), b = nv_tensor(c(TRUE, FALSE, FALSE, TRUE)) | FALSE)
    ),
    "scan without data" = in_both(
      function(s) nv_scan(function(s, x) list(s * 2L, s), s, NULL, length = 5L), nv_scalar(1L, "i64")
    ),
    "gradient of one's own" = in_both(gradient(half_squared), nv_scalar(3, "f32")),
    "a gradient that is stopped" = in_both(gradient(function(x) sum(x * nv_stop_gradient(x))), wave(3L)),
    "jit within jit" = in_both(function(x) jit(function(y) y * 2 + 1)(x) - x, wave(3L)),
    "vjp" = in_both(function(x, g) vjp(function(x) x * x, x)$pullback(g), wave(3L), wave(3L))
  ))
})

# ---- subscripts ----

test_that("XLA and anvil agree on what subscripts read and write", {
  python <- python_with_jax()
  x <- wave(4L, 5L)
  cube <- nv_tensor(array(1:60, c(3L, 4L, 5L)))
  i <- nv_scalar(3L, "i32")
  at <- nv_tensor(c(4L, 1L, 1L))
  mask <- array(1:20 %% 3L == 0L, c(4L, 5L))
  reads <- list(
    "element" = function(x, i) x[2, 3], "row" = function(x, i) x[2, ], "range" = function(x, i) x[2:3, 1:4],
    "down" = function(x, i) x[4:2, ], "negative" = function(x, i) x[-1, -(2:3)],
    "strides" = function(x, i) x[c(1, 3), ],
    "list" = function(x, i) x[list(1L, 1L, 4L), ], "mask" = function(x, i) x[c(TRUE, FALSE, TRUE, TRUE), ],
    "mask of all" = function(x, i) nv_flatten(x)[as.vector(mask)],
    "no drop" = function(x, i) x[2, 3, drop = FALSE],
    "nothing" = function(x, i) x[integer(), ], "by a tensor" = function(x, i) x[i, ],
    "by tensors" = function(x, i) x[i, i + 1L],
    "out of bounds" = function(x, i) nv_subset(x, i * 100L, i - 100L, mode = "clip"),
    "positions from a tensor" = function(x, i) x[nv_seq(0L, 1L) + i, ],
    "gather" = function(x, i) x[nv_tensor(c(4L, 1L, 1L)), ],
    "gather of both" = function(x, i) x[nv_tensor(c(4L, 1L)), nv_tensor(c(2L, 5L, 5L))],
    "gather and number" = function(x, i) x[nv_tensor(c(4L, 1L)), i],
    "select" = function(x, i) nv_select(x, 2L, i)
  )
  # As writes: one number in the same places.
  write_number <- function(read) {
    target <- body(read)
    if (!identical(target[[1L]], quote(`[`)) || !identical(target[[2L]], quote(x))) return(NULL)
    target$drop <- NULL
    eval(call("function", formals(read), call("{", call("<-", target, -7), quote(x))), environment(read))
  }
  writes <- Filter(Negate(is.null), lapply(reads, write_number))
  programs <- c(
    lapply(reads, in_both, x, i),
    setNames(lapply(writes, in_both, x, i), paste("write,", names(writes)))
  )
  grad <- function(read) {
    force(read)
    function(x, i) gradient(function(x) sum(read(x, i) * 3))(x)
  }
  slopes <- lapply(
    reads[c("element", "down", "list", "mask of all", "by tensors", "gather", "gather of both")], grad
  )
  programs <- c(programs, setNames(lapply(slopes, in_both, x, i), paste("gradient,", names(slopes))))
  indices <- lapply(
    setNames(nm = integers), function(d) in_both(function(x, i) x[i, i], x, nv_scalar(2, dtype = d))
  )
  largest <- lapply(integers, function(d) {
    ends <- function(x, i) list(
      nv_subset(x, i, 2, mode = "clip"), nv_dynamic_slice(x, i, 1L, slice_sizes = c(2L, 2L), mode = "clip"),
      nv_subset(x, i, 2, mode = "drop"), nv_dynamic_slice(x, i, 1L, slice_sizes = c(2L, 2L), mode = "drop")
    )
    in_both(ends, x, nv_scalar(highest[[d]], dtype = d))
  })
  expect_same_in_xla(python, c(programs, indices, setNames(largest, paste("largest", integers)), list(
    "three axes" = in_both(function(x, i) x[i, 4:2, -1], cube, i),
    "write of a matrix" = in_both(
      function(x, v, i) { x[2:3, nv_seq(1L, 2L) + i] <- v; x }, x, wave(2L, 2L) * 9, i
    ),
    "repeated places" = in_both(function(x, v, at) { x[at, 1] <- v; x }, x, f32(c(7, 8, 9)), at),
    "dynamic update" = in_both(
      function(x, u, i) nv_dynamic_update_slice(x, u, i, 99L, mode = "clip"), x, wave(2L, 2L) * 9, i
    ),
    "static slice" = in_both(function(x) nv_static_slice(x, c(1, 2, 1), c(3, 4, 5), c(2, 2, 3)), cube),
    "padding" = in_both(function(x) nv_pad(x, 0, c(1L, -1L), c(0L, 2L), c(2L, 0L)), x),
    "reverse" = in_both(function(x) nv_reverse(x, c(1L, 3L)), cube),
    "transpose" = in_both(function(x) nv_transpose(x, c(3L, 1L, 2L)), cube),
    "reshape, both orders" = in_both(
      function(x) list(nv_reshape(x, c(6, 10)), nv_reshape(x, c(6, 10), order = "row")), cube
    ),
    "concatenate" = in_both(function(x, y) nv_concatenate(x, y, x, axis = 2L), x, wave(4L, 1L)),
    "iota and sequences" = in_both(
      function(x) list(nv_iota(2L, "i8", c(2L, 3L)), nv_seq(3L, 9L), length(x)), x
    )
  )))
})

test_that("XLA and anvil agree on gather and scatter", {
  python <- python_with_jax()
  at <- nv_tensor(c(2L, 5L, 2L, 9L, -1L))
  update <- f32(c(2, 3, 0.5, 100, 100))
  scatter <- function(how) {
    force(how)
    function(x, at, update) nv_scatter(
      x, at, update, update_window_axes = NULL, inserted_window_axes = 1L, scatter_axes_to_operand_axes = 1L,
      index_vector_axis = 2L, update_computation = how, mode = "drop"
    )
  }
  by_name <- setNames(nm = c("replace", "add", "mul", "min", "max"))
  functions <- list(
    "half of both" = function(old, new) old + (new - old) / 2,
    "branches" = function(old, new) nv_if(new > 1, old * new, old - new),
    "promoted inside" = function(old, new) nv_convert(nv_convert(old, "f64") + new, "f32"),
    "loop" = function(old, new) nv_for(2L, old, function(i, s) s * new),
    "the old one" = function(old, new) old,
    "values from around" = function(old, new) old * sum(weights) + new
  )
  weights <- wave(3L)
  x <- wave(6L)
  programs <- lapply(c(by_name, functions), function(how) in_both(scatter(how), x, at, update))
  whole <- lapply(
    by_name, function(how) in_both(scatter(how), nv_tensor(1:6), at, nv_tensor(c(2L, 3L, 5L, 7L, 9L)))
  )
  # An update at one place after the other: the roundings of two products.
  slope <- function(how) {
    f <- scatter(how)
    function(x, at, update) gradient(function(x, update) sum(f(x, at, update)^2L))(x, update)
  }
  slopes <- lapply(by_name, function(how) in_both(slope(how), x, at, update, ulps = 8))
  batched <- function(x, i) nv_gather(
    x, i, slice_sizes = c(1L, 2L), offset_axes = 2L, collapsed_slice_axes = NULL, operand_batching_axes = 1L,
    start_indices_batching_axes = 1L, start_index_map = 2L, index_vector_axis = 2L,
    mode = "clip"
  )
  booleans <- scatter(function(old, new) xor(old, new))
  powers <- scatter(function(old, new) old^new)
  expect_same_in_xla(python, c(
    programs, setNames(whole, paste(by_name, "of integers")),
    setNames(slopes, paste("gradient of", by_name)), list(
      "batched gather" = in_both(batched, wave(3L, 4L), nv_tensor(matrix(c(1L, 4L, 2L)))),
      "booleans" = in_both(booleans, nv_tensor(rep(TRUE, 6L)), at, nv_tensor(rep(TRUE, 5L))),
      "powers of integers" = in_both(powers, nv_tensor(1:6), at, nv_tensor(c(2L, 3L, 5L, 7L, 9L))),
      "nothing to scatter" = in_both(scatter("add"), x, nv_empty("i32", 0L), nv_empty("f32", 0L))
    )
  ))
})

# ---- random numbers ----

test_that("XLA and anvil draw the same numbers", {
  python <- python_with_jax()
  state <- nv_rng_state(7)
  # One function for each pair, which R would else read when all are made.
  bits_of <- function(d, algorithm) {
    force(d)
    force(algorithm)
    in_both(function(state) nv_rng_bits(state, c(3L, 5L), d, algorithm), state)
  }
  pairs <- expand.grid(d = integers, algorithm = c("threefry", "philox"), stringsAsFactors = FALSE)
  bits <- Map(bits_of, pairs$d, pairs$algorithm)
  names(bits) <- paste(pairs$algorithm, pairs$d)
  exact <- list(
    "states" = function(state) nv_split_state(state, 3L),
    "uniform f32" = function(state) nv_runif(c(3L, 7L), state),
    "uniform f64" = function(state) nv_runif(c(3L, 7L), state, dtype = "f64"),
    "uniform f16" = function(state) nv_runif(c(3L, 7L), state, dtype = "f16"),
    "uniform bf16" = function(state) nv_runif(c(3L, 7L), state, dtype = "bf16"),
    "binomial" = function(state) nv_rbinom(c(3L, 7L), state, size = 10L, prob = 0.3),
    "sample" = function(state) nv_sample_int(c(3L, 7L), state, n = 52L),
    "sample i64" = function(state) nv_sample_int(50L, state, n = 5e9, dtype = "i64"),
    "no numbers" = function(state) nv_runif(c(0L, 3L), state),
    "in a loop" = function(state) nv_for(3L, state, function(i, s) nv_runif(2L, s)$state)
  )
  shifted <- list(
    # XLA may fuse the product and the sum: one rounding less.
    "uniform from -1 to 3" = in_both(function(s) nv_runif(50L, s, min = -1, max = 3), state, ulps = 1),
    # XLA's logarithm and ours differ in the last place, which a square root halves and a polynomial does not.
    "normal f32" = in_both(function(s) nv_rnorm(1000L, s), state, ulps = 4),
    "normal f64" = in_both(function(s) nv_rnorm(1000L, s, dtype = "f64", mean = 2, sd = 3), state, ulps = 4),
    "normal bf16" = in_both(function(s) nv_rnorm(100L, s, dtype = "bf16"), state, ulps = 1)
  )
  expect_same_in_xla(python, c(bits, lapply(exact, in_both, state), shifted))
})

# ---- dtypes ----

test_that("XLA and anvil agree on dtypes, promotion and complex numbers", {
  python <- python_with_jax()
  z <- function(dtype) nv_tensor(complex(real = c(1, -2, 0.5), imaginary = c(0.3, 0, -4)), dtype = dtype)
  numbers <- c(0, 1, 2, 3, 5)
  operands <- lapply(
    setNames(nm = dtypes), function(d) nv_tensor(if (d == "i1") numbers > 1 else numbers, dtype = d)
  )
  mixes <- list()
  for (a in dtypes) {
    for (b in dtypes) mixes[[paste(a, "and", b)]] <- list(operands[[a]], operands[[b]])
  }
  mixes <- Filter(function(pair) is_promotable(dtype(pair[[1L]]), dtype(pair[[2L]])), mixes)
  # All pairs in one program, and each dtype with R's numbers.
  added <- function(pairs) lapply(pairs, function(pair) pair[[1L]] + pair[[2L]])
  scalars <- function(xs) lapply(xs[-1L], function(x) list(x + 1L, x * TRUE, x + 0.5))
  conversions <- function(xs) {
    lapply(xs, function(x) lapply(real_dtypes, function(d) nv_convert(nv_real(x), d)))
  }
  reals <- operands[real_dtypes[-1L]]
  integer_ops <- function(x, y) {
    signed <- if (startsWith(as.character(dtype(x)), "i")) list(abs(x), sign(x), -x)
    c(signed, list(x %/% y, x %% y, nv_div(x, y), nv_remainder(x, y), x^y, x & y, x | y, xor(x, y), !x,
         nv_popcnt(x), nv_shift_left(x, y), nv_shift_right_logical(x, y), nv_shift_right_arithmetic(x, y),
         min(x), max(x), nv_clamp(x, y, y), x < y, x == y))
  }
  whole <- lapply(setNames(nm = integers), function(d) {
    x <- nv_tensor(c(lowest[[d]], highest[[d]], "7", "0", "1", "100"), dtype = d)
    y <- nv_tensor(c("3", "2", "0", "5", highest[[d]], lowest[[d]]), dtype = d)
    in_both(integer_ops, x, y)
  })
  float_ops <- function(x, y) {
    list(x + y, x - y, x * y, x / y, x %% y, x %/% y, floor(x), ceiling(x), round(x), trunc(x), sign(x), -x,
         abs(x),
         sqrt(abs(x)), nv_max(x, y), nv_min(x, y), x < y, x == y, nv_is_nan(x / (y * 0)), nv_is_finite(x),
         nv_convert(x, "i32"))
  }
  exact <- lapply(setNames(nm = c("f32", "f64")), function(d) {
    in_both(
      float_ops, nv_tensor(c(1.5, -2.5, 0.1, 3e5, -0), dtype = d), nv_tensor(c(-0.7, 3, 0.3, 7, 5), dtype = d)
    )
  })
  # In 16 bits XLA computes in f32, and may leave out a rounding between two ops.
  half <- lapply(setNames(nm = halves), function(d) {
    x <- nv_tensor(c(1.5, -2.5, 0.1, 300, -0), dtype = d)
    in_both(float_ops, x, nv_tensor(c(-0.7, 3, 0.3, 7, 5), dtype = d))
  })
  functions <- function(x) {
    list(exp(x), log(x), sin(x), cos(x), tanh(x), nv_logistic(x), log1p(x), expm1(x), x^1.7)
  }
  # XLA promises its elementary functions to a few units.
  elementary <- lapply(setNames(nm = c("f16", "bf16", "f32", "f64")), function(d) {
    in_both(functions, nv_tensor(c(0.01, 0.3, 1, 2.5, 4), dtype = d), ulps = 4)
  })
  complex_ops <- function(z, w) {
    list(z + w, z * w, z / w, Conj(z), Re(z), Im(z), Mod(z), Arg(z), exp(z), log(z), sqrt(z), sum(z), z == w,
         nv_complex(Re(z), Im(w)))
  }
  matrices <- function(z) z %*% t(Conj(z))
  squared <- function(x) sum(Mod(nv_complex(x, sin(x)) * nv_complex(x, x))^2)
  expect_same_in_xla(python, c(whole, exact, half, elementary, list(
    "promotion" = in_both(added, unname(mixes)),
    "R's numbers" = in_both(scalars, unname(operands)),
    "R's numbers as inputs" = in_both(
      function(x, i, d, b) list(x + d, x + i, x * b, i + d), wave(3L), 2L, 0.1, TRUE
    ),
    "conversions" = in_both(conversions, unname(reals)),
    # Some products, sums and elementary functions each.
    "complex, c64" = in_both(complex_ops, z("c64"), nv_tensor(c(1+1i, 2-3i, 0.1i), dtype = "c64"), ulps = 8),
    "complex, c128" = in_both(
      complex_ops, z("c128"), nv_tensor(c(1+1i, 2-3i, 0.1i), dtype = "c128"), ulps = 8
    ),
    "complex matrices" = in_both(matrices, nv_reshape(z("c128"), c(3L, 1L)), ulps = 4),
    "gradient through complex numbers" = in_both(gradient(squared), wave(4L), ulps = 16),
    "bits" = in_both(function(x) list(nv_bitcast_convert(x, "i32"), nv_bitcast_convert(x, "ui8")), wave(3L)),
    "numpy's rules" = in_both(jit(function(x, y) x + y, rules = "numpy"), nv_tensor(1:3), wave(3L))
  )))
})

# ---- shapes, products, reductions ----

test_that("XLA and anvil agree on shapes, products and reductions", {
  python <- python_with_jax()
  sizes <- list(
    list(c(2L, 3L), c(3L, 4L)), list(c(1L, 3L), c(3L, 1L)), list(c(2L, 0L), c(0L, 3L)),
    list(c(0L, 3L), c(3L, 2L)), list(c(5L, 2L, 3L), c(5L, 3L, 4L)), list(c(2L, 5L, 2L, 3L), c(2L, 5L, 3L, 1L))
  )
  product <- function(x, y) x %*% y
  products <- lapply(sizes, function(pair) in_both(product, wave(pair[[1L]]), wave(pair[[2L]]), ulps = 4))
  names(products) <- vapply(sizes, function(pair) paste("product of", paste(pair, collapse = " and ")), "")
  types <- lapply(setNames(nm = setdiff(dtypes, "i1")), function(d) {
    x <- nv_tensor(matrix(c(1, 2, 3, 4, 5, 6), 2), dtype = d)
    # Small whole numbers: all sums are exact.
    in_both(product, x, t(x))
  })
  folds <- function(x) {
    list(sum(x), sum(x, axes = 1L), sum(x, axes = c(1L, 3L)), sum(x, axes = 2L, drop = FALSE),
         mean(x, axes = 3L), nv_reduce_prod(x, 2L), nv_mean(x, c(1L, 2L), drop = FALSE))
  }
  orders <- function(x) {
    list(max(x), min(x), nv_reduce_max(x, 2L), nv_reduce_min(x, c(1L, 3L), drop = FALSE),
         nv_reduce_any(x > 0, 1L), nv_reduce_all(x > -1, 2:3), any(x > 5), all(x == x), sum(x > 0))
  }
  empty <- function(x) {
    list(
      sum(x), nv_reduce_sum(x, 1L), nv_reduce_prod(x, 1L), x + 1, x %*% t(x), nv_concatenate(x, x, axis = 1L),
      t(x)
    )
  }
  dots <- function(x, y) nv_dot_general(x, y, contracting_axes = list(c(1L, 3L), c(2L, 1L)))
  big <- wave(20L, 30L)
  captured <- function(x) x %*% big
  give <- jit(function(x, y) list(x + y, sum(x)), donate = "x")
  power <- jit(
    function(x, n, flip) { for (i in seq_len(n)) x <- x * x; if (flip) -x else x }, static = c("n", "flip")
  )
  cube <- wave(3L, 4L, 2L)
  one <- nv_scalar(2, "f32")
  expect_same_in_xla(python, c(products, types, list(
    # Sums of up to 24 terms, none of which cancel.
    "reductions" = in_both(folds, cube + 2, ulps = 4),
    "reductions with an order" = in_both(orders, cube),
    "reductions in f64" = in_both(folds, wave(3L, 4L, 2L, dtype = "f64") + 2, ulps = 4),
    "reductions of integers" = in_both(
      function(x) list(sum(x), prod(x), max(x), min(x), sum(x, axes = 1L)), nv_tensor(array(1:12, c(3L, 4L)))
    ),
    "no elements" = in_both(empty, nv_empty("f32", c(0L, 3L))),
    "no columns" = in_both(empty, nv_empty("f64", c(3L, 0L))),
    "0-d" = in_both(
      function(x) list(x * x, sum(x), nv_reshape(x, c(1L, 1L)), x, nv_broadcast_to(x, c(2L, 2L))), one
    ),
    "gradient of a 0-d" = in_both(gradient(function(x) x^3), one),
    "contracted over two axes" = in_both(dots, cube, wave(2L, 3L, 5L), ulps = 4),
    "gradient of a product" = in_both(
      gradient(function(x, y) sum((x %*% y)^2)), wave(2L, 3L), wave(3L, 4L), ulps = 8
    ),
    "large constant" = in_both(captured, wave(2L, 20L), ulps = 4),
    "large constant, inline" = in_both(captured, wave(2L, 20L), ulps = 4, inline_limit = 1000L),
    "every constant an argument" = in_both(function(x) x + cube, one, inline_limit = 0L),
    "donated" = in_both(give, nv_tensor(c(1, 2)), nv_tensor(c(3, 4))),
    "static" = in_both(power, wave(3L), 3, TRUE, ulps = 4),
    "static by kind" = in_both(function(x, how) switch(how, double = x + x, half = x / 2), wave(3L), "half"),
    "broadcast" = in_both(function(x, y) nv_broadcast_tensors(x, y), wave(3L, 1L), wave(1L, 4L)),
    "lists in and out" = in_both(
      function(p, q) list(a = list(p$x, q), b = p$y$z, c = NULL), list(x = one, y = list(z = cube)), 1L
    ),
    "no arguments" = in_both(function() list(nv_fill(1, 3L), nv_iota(1L, "i32", 4L)))
  )))
})

# ---- several devices ----

test_that("a step on eight devices is the step on one", {
  python <- python_with_jax()
  rows_like <- function(v, x) nv_broadcast_to(v, shape(x))
  predict <- function(w, x) {
    hidden <- x %*% w$a
    tanh(hidden + rows_like(w$b, hidden)) %*% w$c
  }
  loss <- function(w, data) mean((predict(w, data$x) - data$y)^2)
  step <- function(w, data, rate) {
    out <- value_and_gradient(loss, wrt = "w")(w, data)
    list(w = Map(function(value, slope) value - rate * slope, w, out$gradient$w), loss = out$value)
  }
  train <- function(w, data, rate) nv_for(3L, w, function(i, w) step(w, data, rate)$w)
  w <- function() list(a = wave(4L, 16L), b = wave(1L, 16L), c = wave(16L, 1L))
  data <- list(x = wave(64L, 4L), y = wave(64L, 1L))
  batch <- list(mesh = c(batch = 8), axes = c(data = 1))
  # Of one layer, each device has some units; rows of the next one's weights go with them.
  layers <- list(mesh = c(units = 8), axes = c("w$a" = 2, "w$b" = 2, "w$c" = 1))
  noise <- function(x, state) x + nv_rnorm(shape(x), state)$value
  rows <- list(mesh = c(batch = 8), axes = c(x = 1))
  # Sums over 64 rows in eight parts, and what the tanh() of XLA makes of them.
  expect_same_in_xla(python, list(
    "gradient step, rows" = in_both(step, w(), data, 0.1, ulps = 16, sharding = batch),
    "gradient step, rows, donated" = in_both(
      jit(step, donate = "w"), w(), data, 0.1, ulps = 16, sharding = batch
    ),
    "gradient step, units" = in_both(step, w(), data, 0.1, ulps = 16, sharding = layers),
    "loop of steps" = in_both(train, w(), data, 0.1, ulps = 32, sharding = batch),
    "gather across devices" = in_both(
      function(x, i) x[i, ], data$x, nv_tensor(c(64L, 1L, 9L)), sharding = rows
    ),
    "scan along what is cut" = in_both(
      function(x) nv_scan(function(s, r) list(s + r, s), nv_fill(0, 4L), x)$ys, data$x, ulps = 2,
      sharding = rows
    ),
    "random numbers" = in_both(noise, wave(16L, 3L), nv_rng_state(3), ulps = 4, sharding = rows),
    "two devices" = in_both(
      step, w(), data, 0.1, ulps = 16, sharding = list(mesh = c(batch = 2), axes = c("data$x" = 1))
    )
  ))
})
