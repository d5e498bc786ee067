# Random programs over the whole catalogue, out of the table of ops, with generics, indexing, loops, branches
# and gradients. Each is run op by op while it is made, and then jitted (cold, warm, after a file, on one
# thread and two), with arguments given away, derived, and stopped on the way: values and types are the same,
# what was given away is an error or unchanged.

op_table <- as.data.frame(.Call(anvil_space$wrap__anvil_ops_table), stringsAsFactors = FALSE)
# Those that take functions are made by hand below; what prints has no value of its own.
by_hand <- c("nv_if", "nv_while", "nv_scan", "custom_gradient", "custom_jvp", "nv_print")
op_table <- op_table[!op_table$fun %in% by_hand, ]

# Numbers of a dtype, the same for the same `seed`: small, with some that are not.
numbers <- function(dtype, shape, seed) {
  count <- prod(shape)
  # Not R's generator, whose state belongs to the case.
  bits <- (seed * 7919 + seq_len(count) * 104729 + (seq_len(count) %% 7) * 1299709) %% 65536
  x <- if (dtype == "i1") {
    bits %% 2 == 0
  } else if (substr(dtype, 1L, 1L) == "u") {
    bits %% 9
  } else if (substr(dtype, 1L, 1L) == "i") {
    bits %% 13 - 6
  } else if (substr(dtype, 1L, 1L) == "c") {
    complex(real = bits %% 17 / 4 - 2, imaginary = bits %% 11 / 4 - 1)
  } else {
    y <- bits %% 257 / 64 - 2
    if (seed %% 5 == 0 && count) {
      y[bits %% 19 == 0] <- rep_len(c(0, -0, Inf, -Inf, NaN, 1e-40), sum(bits %% 19 == 0))
    }
    y
  }
  nv_tensor(x, dtype, shape)
}

# ---- making a program ----

draw_shape <- function() {
  one_of(list(
    4L, 4L, c(3L, 4L), c(3L, 4L), integer(), 1L, c(1L, 4L), c(3L, 1L), c(2L, 3L, 4L), 0L, c(0L, 4L), 1000L,
    5003L, c(70L, 90L), c(4L, 4L), 12L
  ))
}

# Values for arguments that are not operands, by name; `x` is the first operand. NULL leaves the argument out.
draw_parameter <- function(name, x) {
  sizes <- if (inherits(x, "AnvilValue")) shape(x) else integer()
  rank <- length(sizes)
  some <- function(n) if (n > 0L) sort(sample.int(n, sample.int(n, 1L))) else integer()
  switch(name,
    axes = if (stats::runif(1L) < 0.7) some(rank),
    axis = max(1L, sample.int(max(rank, 1L), 1L)),
    drop = one_of(list(TRUE, FALSE)),
    dtype = one_of(as.list(dtype_names)),
    shape = switch(sample.int(4L, 1L), as.integer(prod(sizes)), rev(sizes), c(sizes, 1L), c(2L, sizes)),
    permutation = if (rank) sample.int(rank),
    start_indices = rep(1L, rank),
    limit_indices = vapply(sizes, function(n) if (n) sample.int(n, 1L) else 0L, 0L),
    strides = rep(sample.int(2L, 1L), rank),
    slice_sizes = vapply(sizes, function(n) if (n) sample.int(n, 1L) else 0L, 0L),
    edge_padding_low = , edge_padding_high = sample(-1:2, rank, TRUE),
    interior_padding = sample(0:1, rank, TRUE),
    method = one_of(list("nearest_even", "afz")),
    seed = sample.int(100L, 1L),
    start = sample.int(3L, 1L),
    n = sample.int(4L, 1L) - 1L,
    contracting_axes = list(rank, 1L),
    index = 1L,
    value = one_of(list(1, 2L, 0.5, TRUE)),
    index_vector_axis = 1L,
    if (stats::runif(1L) < 0.5) sample.int(2L, 1L)
  )
}

# Forms of R on tensors, with `x` and `y` to be filled.
forms <- alist(
  x + y, x - y, x * y, x / y, x^2, x %% y, x %/% y, x > y, x == y, x & y, !x, -x, x + 1, 2L * x, x * 0.5,
  abs(x), sqrt(x), exp(x), tanh(x), sin(x),
  log(x), floor(x), round(x), sum(x), mean(x), max(x), min(x), prod(x), range(x), any(x), all(x), t(x),
  x %*% y, x %*% t(y), crossprod(x, y), c(x, y), rev(x),
  x[1L], x[-1L], x[2:3], x[, 1L], x[1L, ], x[c(TRUE, FALSE)], x[3:1], `[<-`(x, 1L, value = y),
  `[<-`(x, , 1L, value = 0), sort(x), rep(x, 2L), rbind(x, y),
  cbind(x, y), nv_ifelse(x > y, x, y), nv_clamp(-1, x, 1), is.na(x), is.finite(x), cumsum(x),
  nv_convert(x, "f32"), nv_convert(x, "i32"), nv_convert(x, "f64"),
  nv_var(x), quantile(x, 0.5), median(x), x[nv_scalar(2L)], nv_subset(x, 1L), nv_matmul(x, y),
  nv_broadcast_to(x, c(3L, 4L)), nv_stop_gradient(x),
  nv_runif(4L, nv_rng_state(3L))$value + x, nv_rnorm(c(3L, 4L), nv_rng_state(5L), "f64")$value,
  nv_fill(0.25, 4L) * x, nv_iota(1L, "i32", 4L) + x,
  jit(function(a, b) a * b + a)(x, y), local({
    a <- x + x
    a * a
  })
)

# One expression of some of the variables `have`, in `env`, which hold values.
draw_expression <- function(have, env) {
  pick <- function() as.name(sample(have, 1L))
  if (stats::runif(1L) < 0.45) {
    return(eval(call("substitute", one_of(forms), list(x = pick(), y = pick()))))
  }
  row <- op_table[sample.int(nrow(op_table), 1L), ]
  known <- names(formals(args(get(row$fun, anvil_space))))
  operands <- if (row$operands == "") character() else strsplit(row$operands, ", ", fixed = TRUE)[[1L]]
  first <- NULL
  arguments <- list()
  for (name in known) {
    if (name %in% operands || name == "...") {
      part <- if (length(arguments) && stats::runif(1L) < 0.1) one_of(list(1, 2L, 0.5, TRUE, -1)) else pick()
      if (is.null(first)) first <- get0(as.character(part), env)
      arguments <- c(arguments, setNames(list(part), if (name == "..." || row$generated) "" else name))
    } else {
      value <- draw_parameter(name, first)
      if (!is.null(value)) arguments <- c(arguments, setNames(list(value), name))
    }
  }
  as.call(c(list(as.name(row$fun)), arguments))
}

# A chain of steps on the variable `state` (and others), as the body of a function that keeps the type of
# `state`.
draw_chain <- function(state, have, env, steps = sample.int(3L, 1L)) {
  code <- as.name(state)
  for (i in seq_len(steps)) {
    form <- one_of(alist(
      x + y, x * y, x - 1, nv_max(x, y), tanh(x), -x, x * 0.5, abs(x), nv_min(x, 3), sin(x), x + sum(y),
      nv_ifelse(x > 0, x, y), x * x
    ))
    code <- eval(call("substitute", form, list(x = code, y = as.name(sample(c(have, state), 1L)))))
  }
  if (stats::runif(1L) < 0.7) {
    bquote(nv_convert(.(code), dtype(.(as.name(state))), ambiguous(.(as.name(state)))))
  } else {
    code
  }
}

draw_control <- function(have, env) {
  v <- sample(have, 1L)
  x <- as.name(v)
  chain <- function(state) draw_chain(state, have, env)
  switch(sample.int(6L, 1L),
    bquote(nv_for(.(sample.int(5L, 1L) - 1L), .(x), function(i, s) .(chain("s")))),
    bquote(nv_if(sum(.(as.name(sample(have, 1L)))) > 0, .(chain(v)), .(chain(v)))),
    bquote(nv_while(
      list(i = nv_scalar(0L), s = .(x)), function(state) state$i < .(sample.int(4L, 1L)),
      function(state) {
        s <- state$s
        list(i = state$i + 1L, s = .(chain("s")))
      }
    )$s),
    bquote(nv_scan(function(s, z) list(.(chain("s")), s + sum(z)), .(x), .(as.name(sample(have, 1L))))$ys),
    bquote(nv_scan(function(s, z) list(s + sum(z), z * 2), nv_scalar(0, "f32"), .(x), reverse = TRUE)$carry),
    bquote(gradient(function(s) sum(.(chain("s"))))(.(x))$s)
  )
}

# A program: list(inputs = expressions by name, f = function, outputs).
draw_program <- function() {
  env <- new.env(parent = globalenv())
  inputs <- list()
  common <- if (stats::runif(1L) < 0.5) one_of(list("f32", "f64", "i32", "f32"))
  same_shape <- if (stats::runif(1L) < 0.5) draw_shape()
  for (i in seq_len(sample.int(4L, 1L))) {
    dtype <- if (!is.null(common) && stats::runif(1L) < 0.8) common else one_of(as.list(dtype_names))
    sizes <- if (is.null(same_shape)) draw_shape() else same_shape
    name <- paste0("x", i)
    inputs[[name]] <- bquote(numbers(.(dtype), .(sizes), .(sample.int(1000L, 1L))))
    assign(name, eval(inputs[[name]]), env)
  }
  have <- names(inputs)
  steps <- list()
  for (k in seq_len(sample.int(12L, 1L))) {
    for (attempt in 1:6) {
      code <- if (stats::runif(1L) < 0.15) draw_control(have, env) else draw_expression(have, env)
      # Errors of all kinds are what calls.R is for.
      value <- tryCatch(suppressWarnings(eval(code, env)), error = function(e) NULL)
      if (
        is.list(value) && !is.object(value) && length(value) == 2L &&
        identical(names(value), c("state", "value"))
      ) {
        code <- bquote(.(code)$value)
        value <- value$value
      }
      if (inherits(value, "AnvilTensor") && prod(shape(value)) <= 1e5) break
      value <- NULL
    }
    if (is.null(value)) next
    name <- paste0("v", k)
    assign(name, value, env)
    steps <- c(steps, list(call("<-", as.name(name), code)))
    have <- c(have, name)
  }
  made <- setdiff(have, names(inputs))
  outputs <- if (length(made)) {
    unique(c(made[length(made)], made[stats::runif(length(made)) < 0.4]))
  } else {
    have[1L]
  }
  if (stats::runif(1L) < 0.05) outputs <- c(outputs, names(inputs)[1L])
  result <- as.call(c(list(quote(list)), lapply(outputs, as.name)))
  heads <- as.pairlist(setNames(rep(list(quote(expr = )), length(inputs)), names(inputs)))
  list(inputs = inputs, f = call("function", heads, as.call(c(list(quote(`{`)), steps, list(result)))))
}

generate_programs <- function(n) {
  program <- draw_program()
  names <- names(program$inputs)
  donate <- names[stats::runif(length(names)) < 0.5]
  stop_after <- if (stats::runif(1L) < 0.1) round(stats::runif(1L, 0, 0.004), 5L)
  list(
    setup = list(),
    code = as.call(list(
      quote(check_program), program$f, as.call(c(list(quote(alist)), program$inputs)), donate = donate,
      stop_after = stop_after
    ))
  )
}

# ---- running it in all ways ----

# Types and values are the same; one NaN is like another.
same_values <- function(a, b) {
  if (identical(a, b)) return(TRUE)
  if (is.list(a) && !is.object(a)) return(length(a) == length(b) && all(mapply(same_values, a, b)))
  if (!inherits(a, "AnvilTensor") || !inherits(b, "AnvilTensor")) return(FALSE)
  if (dtype(a) != dtype(b) || ambiguous(a) != ambiguous(b) || !identical(shape(a), shape(b))) return(FALSE)
  x <- as.vector(as_array(a))
  y <- as.vector(as_array(b))
  if (is.complex(x)) return(same_numbers(Re(x), Re(y)) && same_numbers(Im(x), Im(y)))
  if (is.double(x)) same_numbers(x, y) else identical(x, y)
}

same_numbers <- function(x, y) {
  if (!identical(is.na(x), is.na(y))) return(FALSE)
  x <- x[!is.na(x)]
  y <- y[!is.na(y)]
  identical(x, y) && identical(1 / x[x == 0], 1 / y[y == 0])
}

described <- function(x) {
  shown <- function(v) paste(utils::head(utils::capture.output(print(v)), 8L), collapse = " ")
  paste(vapply(x, shown, ""), collapse = "; ")
}

check_program <- function(f, inputs, donate = character(), stop_after = NULL) {
  # What is rewritten has other bits than the ops one by one, and is right where these overflow.
  old <- options(anvil.rewrite = FALSE)
  on.exit(options(old))
  environment(f) <- new.env(parent = globalenv())
  fresh <- function() lapply(inputs, eval, globalenv())
  # An error of a program that ran op by op is one too many.
  run <- function(how, expr) {
    tryCatch(suppressWarnings(expr), anvil_error = function(e) {
      if (inherits(e, "anvil_error_internal")) stop(e)
      claim(FALSE, how, " fails where the ops one by one do not: ", conditionMessage(e))
    })
  }
  agree <- function(how, got, expected) {
    claim(
      same_values(got, expected), how, " gives ", described(got), " where the ops one by one give ",
      described(expected)
    )
  }
  eager <- run("the program", do.call(f, fresh(), quote = TRUE))
  jitted <- jit(f)
  agree("jit", run("jit", do.call(jitted, fresh(), quote = TRUE)), eager)
  agree("warm jit", run("warm jit", do.call(jitted, fresh(), quote = TRUE)), eager)
  agree("jit after a file", run("jit after a file", do.call(again(jitted), fresh(), quote = TRUE)), eager)
  agree("jit in jit", run("jit in jit", do.call(jit(function(...) f(...)), fresh(), quote = TRUE)), eager)

  # Given away: in variables that nothing else refers to.
  given <- jit(f, donate = donate)
  for (round in c("cold", "warm")) {
    env <- list2env(fresh(), parent = globalenv())
    call <- as.call(c(list(given), lapply(names(inputs), as.name)))
    if (!is.null(stop_after)) {
      tryCatch(
        {
          setTimeLimit(elapsed = stop_after)
          eval(call, env)
        },
        error = function(e) NULL,
        finally = setTimeLimit()
      )
    } else {
      agree(
        paste(round, "jit with arguments given away"), run("jit with arguments given away", eval(call, env)),
        eager
      )
    }
    originals <- fresh()
    for (name in names(inputs)) {
      # On request the bytes, without any op.
      now <- tryCatch(list(as_array(env[[name]])), anvil_error_donated = function(e) NULL)
      if (is.null(now)) {
        claim(name %in% donate, name, " was not to be given away and is gone")
      } else {
        claim(
          identical(now[[1L]], as_array(originals[[name]])), name, " has other values after the call: ",
          described(now)
        )
      }
    }
  }
  if (!is.null(stop_after)) {
    agree("jit after one that was stopped", run("jit", do.call(jitted, fresh(), quote = TRUE)), eager)
  }

  floats <- function(x) as.character(dtype(x)) %in% c("bf16", "f16", "f32", "f64")
  wrt <- names(inputs)[vapply(fresh(), floats, NA)]
  if (length(wrt) && any(vapply(eager, floats, NA))) {
    loss <- function(...) Reduce(`+`, lapply(Filter(floats, f(...)), function(x) sum(nv_convert(x, "f64"))))
    formals(loss) <- formals(f)
    body(loss) <- as.call(list(
      quote(function(out) Reduce(`+`, lapply(Filter(floats, out), function(x) sum(nv_convert(x, "f64"))))),
      as.call(c(list(quote(f)), lapply(names(inputs), as.name)))
    ))
    derive <- function(g) {
      tryCatch(
        suppressWarnings(do.call(g, fresh(), quote = TRUE)), anvil_error_grad = function(e) "no derivative"
      )
    }
    plain <- derive(gradient(loss, wrt))
    if (identical(plain, "no derivative")) return(invisible(eager))
    agree("jit of the gradient", derive(jit(gradient(loss, wrt))), plain)
    agree("the gradient of jit", derive(gradient(jit(loss), wrt)), plain)
    for (name in names(plain)) {
      x <- fresh()[[name]]
      same_type <- identical(shape(plain[[name]]), shape(x)) && dtype(plain[[name]]) == dtype(x)
      claim(same_type, "the gradient of ", name, " has another type")
    }
  }
  invisible(eager)
}
