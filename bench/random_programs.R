# Realistic programs that nobody wrote down, for bench/random.R: `random_program(seed, number)` draws one.
# What people write is drawn more often than what they do not; which elementwise ops there are is read from
# the package, so that a new one comes in by itself.
#
# A program is an expression of R with three words of its own, of which each language has its form:
# `by_row(v)`, a vector that goes down the rows of a matrix, as R recycles it; `by_column(v, r, c)`, one that
# goes along its columns; `along(v, sizes)`, a reduced value, its axes kept, beside what it was reduced from.

# ---- draws ----

pick <- function(x, weights = NULL) x[[sample.int(length(x), 1L, prob = weights)]]
chance <- function(p) stats::runif(1L) < p
between <- function(from, to) stats::runif(1L, from, to)
whole_between <- function(from, to) as.integer(round(exp(between(log(from), log(to)))))
# Mostly few, sometimes up to `most`.
few <- function(least, most) min(most, whole_between(least, most))
constants <- c(0.5, 2, 1, 0.1, 1.5, 0.25, 3, 0.01, 0.9, 4)
constant <- function() pick(c(constants, round(between(0.05, 2), 2)))

# ---- a program while it is drawn ----

# `env` holds a small sample of each value, which says whether results stay in bounds.
start_program <- function(dtype) {
  list2env(list(
    dtype = dtype, inputs = list(), steps = list(), count = 0L, env = new.env(parent = asNamespace("anvil")),
    forms = elementwise_forms(), repeats = 1L
  ))
}

# Adds an argument; `kind` says what its elements are: numbers, positions up to `most` (`index`), or bits
# (`word`).
add_input <- function(g, shape = integer(), kind = "numbers", most = NULL) {
  name <- paste0("x", length(g$inputs) + 1L)
  g$inputs[[name]] <- list(shape = as.integer(shape), kind = kind, most = most)
  assign(name, nv_tensor(stats::runif(32L, -2, 2), "f64"), g$env)
  as.name(name)
}

add_step <- function(g, code) {
  # What the code itself adds comes before it.
  force(code)
  g$count <- g$count + 1L
  name <- paste0("v", g$count)
  g$steps <- c(g$steps, list(call("<-", as.name(name), code)))
  value <- tryCatch(eval(r_form(code, sample = TRUE), g$env), error = function(e) NULL)
  # What is reduced or cut has no sample of its own: any numbers will do.
  if (!inherits(value, "AnvilTensor") || length(shape(value)) != 1L || shape(value) != 32L) {
    value <- nv_tensor(stats::runif(32L, -1.5, 1.5), "f64")
  }
  assign(name, value, g$env)
  as.name(name)
}

fill_form <- function(form, x, y, z) eval(call("substitute", form, list(x = x, y = y, z = z)))

# Whether a code has numbers as people have them: finite, of moderate size.
behaves <- function(g, code) {
  value <- tryCatch(as.vector(as_array(eval(r_form(code, sample = TRUE), g$env))), error = function(e) NaN)
  all(is.finite(value)) && max(abs(value)) < 30 && (length(value) < 2L || stats::sd(value) > 1e-3)
}

# One more step on the value `x`, perhaps with one of `others`.
draw_elementwise <- function(g, x, others) {
  for (attempt in 1:8) {
    y <- if (length(others)) pick(others) else x
    code <- if (chance(0.4)) {
      pick(list(
        bquote(.(x) + .(y)), bquote(.(x) * .(y)), bquote(.(x) - .(y)), bquote(.(x) / .(y)),
        bquote(.(y) - .(x)), bquote(.(x) * .(constant()) + .(y)),
        bquote(.(y) / (.(constant()) + nv_abs(.(x)))),
        bquote(nv_ifelse(.(x) > .(constant()), .(y), .(x) * .(constant())))
      ), c(5, 5, 4, 2, 1, 2, 1, 1))
    } else if (chance(0.3)) {
      pick(list(
        bquote(.(x) + .(constant())), bquote(.(x) * .(constant())), bquote(.(constant()) - .(x)),
        bquote(.(x) / .(constant()))
      ))
    } else {
      form <- pick(g$forms, vapply(g$forms, function(f) f$weight, 0))$call
      usable <- Find(function(of) behaves(g, fill_form(form, fill_form(of, x, y, y), y, y)), domains)
      if (is.null(usable)) next
      fill_form(form, fill_form(usable, x, y, y), y, y)
    }
    if (behaves(g, code)) return(code)
  }
  bquote(0.5 * nv_tanh(.(x)) + 0.1 * .(y))
}

# A chain of steps from `x`, each of which uses the last one; gives its end.
draw_chain <- function(g, x, others = list(), steps = few(3, 40)) {
  made <- list(x)
  for (i in seq_len(steps)) {
    # Values from before come again, those that were made last more often.
    again <- if (length(made) > 1L) made[max(1L, length(made) - 4L):(length(made) - 1L)]
    x <- add_step(g, draw_elementwise(g, x, c(others, others, again)))
    made <- c(made, list(x))
  }
  x
}

# The steps that `draw` adds, as the body of a function that ends with what `draw` gives.
nested <- function(g, draw) {
  outside <- g$steps
  g$steps <- list()
  end <- draw()
  body <- as.call(c(list(quote(`{`)), g$steps, list(end)))
  g$steps <- outside
  body
}

function_of <- function(names, body) {
  call("function", as.pairlist(stats::setNames(rep(list(quote(expr = )), length(names)), names)), body)
}

# ---- sizes ----

draw_size <- function(large, most = 7) as.integer(10^if (large) between(4, most) else between(1, 3))
# Rows and columns of a matrix of about n elements: many of both, or of one a few, as there are of classes.
draw_sides <- function(n) {
  short <- chance(0.2)
  one <- if (short) few(2, 16) else max(2L, as.integer(n^between(0.25, 0.75)))
  sides <- c(one, max(2L, n %/% one))
  if (short && chance(0.5)) rev(sides) else sides
}
draw_steps <- function(large) if (large) whole_between(1000, 30000) else whole_between(5, 100)

# ---- classes: each draws into `g` and gives its results ----

classes <- list()
weights_of_classes <- c()
program_class <- function(name, weight, draw) {
  classes[[name]] <<- draw
  weights_of_classes[[name]] <<- weight
}

program_class("chain", 3, function(g, large) {
  n <- draw_size(large)
  xs <- lapply(seq_len(few(1, 4)), function(i) add_input(g, n))
  scalars <- if (chance(0.3)) list(add_input(g))
  end <- draw_chain(g, xs[[1L]], c(xs[-1L], scalars))
  reduced(g, end, 0.35, list(NULL))
})

program_class("broadcast", 2, function(g, large) {
  sides <- draw_sides(draw_size(large))
  xs <- lapply(seq_len(few(1, 2)), function(i) add_input(g, sides))
  rows <- if (chance(0.6)) bquote(by_row(.(add_input(g, sides[1L]))))
  columns <- if (chance(0.7) || is.null(rows)) {
    bquote(by_column(.(add_input(g, sides[2L])), .(sides[1L]), .(sides[2L])))
  }
  end <- draw_chain(g, xs[[1L]], c(xs[-1L], rows, columns), few(3, 15))
  reduced(g, end, 0.5)
})

# A value, or with a probability a reduction of it over the rows, columns or all.
reduced <- function(g, x, p, over = list(1L, 2L, NULL)) {
  if (!chance(p)) return(x)
  fold <- pick(list(quote(nv_reduce_sum), quote(nv_mean), quote(nv_reduce_max)), c(3, 2, 1))
  axes <- pick(over)
  as.call(c(list(fold, x), if (!is.null(axes)) list(axes = axes)))
}

program_class("normalise", 3, function(g, large) {
  sides <- if (chance(0.2)) {
    side <- max(2L, as.integer(draw_size(large)^(1 / 3)))
    c(side, side, side)
  } else if (chance(0.15)) draw_size(large) else draw_sides(draw_size(large))
  x <- add_input(g, sides)
  if (chance(0.4)) x <- draw_chain(g, x, steps = few(1, 4))
  axis <- sample.int(length(sides), 1L)
  over <- function(fold, of) as.call(list(fold, of, axes = axis, drop = FALSE))
  beside <- function(value) bquote(along(.(value), .(sides)))
  kinds <- c(
    standardise = 3, softmax = 3, logsumexp = 1, unit = 1, share = 1, `layer norm` = 2, `built in` = 2
  )
  kind <- pick(names(kinds), kinds)
  y <- switch(kind,
    standardise = {
      d <- add_step(g, bquote(.(x) - .(beside(over(quote(nv_mean), x)))))
      v <- add_step(g, over(quote(nv_mean), bquote(.(d)^2)))
      add_step(g, bquote(.(d) / .(beside(bquote(nv_sqrt(.(v) + 1e-5))))))
    },
    `layer norm` = {
      m <- add_step(g, over(quote(nv_mean), x))
      v <- add_step(g, as.call(list(quote(nv_var), x, axes = axis, drop = FALSE, correction = 0)))
      add_step(g, bquote(
        (.(x) - .(beside(m))) * .(beside(bquote(nv_rsqrt(.(v) + 1e-5)))) * .(add_input(g)) + .(add_input(g))
      ))
    },
    softmax = {
      e <- add_step(g, bquote(nv_exp(.(x) - .(beside(over(quote(nv_reduce_max), x))))))
      add_step(g, bquote(.(e) / .(beside(over(quote(nv_reduce_sum), e)))))
    },
    logsumexp = {
      m <- add_step(g, over(quote(nv_reduce_max), x))
      add_step(g, bquote(nv_log(.(over(quote(nv_reduce_sum), bquote(nv_exp(.(x) - .(beside(m))))))) + .(m)))
    },
    unit = {
      length <- bquote(nv_sqrt(.(over(quote(nv_reduce_sum), bquote(.(x)^2)))))
      add_step(g, bquote(.(x) / .(beside(length))))
    },
    share = add_step(g, bquote(nv_abs(.(x)) / .(beside(over(quote(nv_reduce_sum), bquote(nv_abs(.(x)))))))),
    `built in` = {
      f <- pick(list(quote(nv_softmax), quote(nv_log_softmax)))
      add_step(g, as.call(list(f, x, axes = axis)))
    }
  )
  if (kind == "logsumexp") return(y)
  if (chance(0.3)) bquote(sum(.(y) * .(draw_elementwise(g, x, list())))) else y
})

program_class("product", 2.5, function(g, large) {
  n <- if (large) whole_between(100, 600) else whole_between(3, 16)
  k <- few(2, n)
  x <- add_input(g, c(n * if (large) few(1, 8) else 1L, k))
  rows <- g$inputs$x1$shape[1L]
  switch(pick(c("layers", "slope", "vector", "squares", "distances")),
    layers = {
      h <- few(2, if (large) 128 else 16)
      w <- add_input(g, c(k, h))
      a <- add_step(g, bquote(.(x) %*% .(w) + by_column(.(add_input(g, h)), .(rows), .(h))))
      a <- draw_chain(g, a, steps = few(1, 4))
      reduced(g, bquote(.(a) %*% .(add_input(g, c(h, few(1, 10))))), 0.3)
    },
    slope = {
      eta <- add_step(g, bquote(.(x) %*% .(add_input(g, c(k, 1L)))))
      p <- draw_chain(g, eta, list(add_input(g, c(rows, 1L))), few(1, 5))
      bquote(t(.(x)) %*% .(p))
    },
    vector = {
      eta <- add_step(g, bquote(.(x) %*% .(add_input(g, k))))
      reduced(g, draw_chain(g, eta, list(), few(1, 6)), 0.3, list(NULL))
    },
    squares = bquote(crossprod(.(draw_chain(g, x, steps = few(1, 4))))),
    distances = {
      m <- few(2, if (large) 500 else 16)
      y <- add_input(g, c(m, k))
      d <- add_step(g, bquote(
        by_row(nv_reduce_sum(.(x)^2, axes = 2L)) +
          by_column(nv_reduce_sum(.(y)^2, axes = 2L), .(rows), .(m)) - 2 * (.(x) %*% t(.(y)))
      ))
      reduced(g, add_step(g, bquote(nv_exp(-0.1 * nv_abs(.(d))))), 0.6)
    }
  )
})

program_class("index", 2, function(g, large) {
  n <- draw_size(large, 6.7)
  x <- add_input(g, n)
  short <- function() draw_chain(g, x, list(), few(1, 6))
  switch(pick(c("gather", "groups", "groups of rows", "centre", "update", "rows", "cumulate", "shares")),
    gather = {
      i <- add_input(g, draw_size(large, 6.7), "index", n)
      draw_chain(g, add_step(g, bquote(.(short())[.(i)])), list(), few(1, 5))
    },
    groups = {
      k <- few(2, max(3, n %/% 10))
      bquote(nv_segment_sum(.(short()), .(add_input(g, n, "index", k)), .(k)))
    },
    `groups of rows` = {
      sides <- c(max(3L, n %/% 8L), few(2, 20))
      k <- few(2, max(3, sides[1L] %/% 10))
      m <- draw_chain(g, add_input(g, sides), list(), few(1, 4))
      bquote(nv_segment_sum(.(m), .(add_input(g, sides[1L], "index", k)), .(k)))
    },
    centre = {
      k <- few(2, max(3, n %/% 10))
      codes <- add_input(g, n, "index", k)
      sums <- add_step(g, bquote(nv_segment_sum(.(x), .(codes), .(k))))
      bquote(.(short()) - .(sums)[.(codes)] * .(constant()))
    },
    update = {
      m <- max(2L, n %/% 4L)
      y <- add_input(g, n)
      part <- short()
      g$steps <- c(g$steps, list(bquote(out <- .(y) * .(constant())), bquote(out[1:.(m)] <- .(part)[1:.(m)])))
      quote(out)
    },
    rows = {
      sides <- draw_sides(n)
      m <- add_input(g, sides)
      i <- add_input(g, few(2, sides[1L]), "index", sides[1L])
      taken <- add_step(g, bquote(.(m)[.(i), ]))
      reduced(g, draw_chain(g, taken, list(), few(1, 4)), 0.4)
    },
    cumulate = add_step(g, bquote(nv_cumsum(.(short())) * .(constant()))),
    shares = bquote(nv_concatenate(.(short())[1:.(n %/% 2L)], .(x), axis = 1L) * .(constant()))
  )
})

# The value at an offset of the inside of an axis of size n, `reach` from its ends.
shifted <- function(x, n, offset, reach) bquote(.(x)[.(1L + reach + offset):.(n - reach + offset)])
shifted_matrix <- function(x, sides, down, right) {
  bquote(.(x)[.(2L + down):.(sides[1L] - 1L + down), .(2L + right):.(sides[2L] - 1L + right)])
}

stencil <- function(x, sides) {
  if (length(sides) == 1L) {
    reach <- if (sides > 12L) few(1, 4) else 1L
    parts <- lapply(seq(-reach, reach), function(o) {
      part <- shifted(x, sides, o, reach)
      if (chance(0.5)) bquote(.(round(between(-1, 1), 2)) * .(part)) else part
    })
    return(Reduce(function(a, b) bquote(.(a) + .(b)), parts))
  }
  at <- function(down, right) shifted_matrix(x, sides, down, right)
  around <- bquote(.(at(-1L, 0L)) + .(at(1L, 0L)) + .(at(0L, -1L)) + .(at(0L, 1L)))
  pick(list(
    bquote(.(around) - 4 * .(at(0L, 0L))), bquote(0.25 * (.(around))),
    bquote((.(at(0L, 1L)) - .(at(0L, -1L)))^2 + (.(at(1L, 0L)) - .(at(-1L, 0L)))^2),
    bquote(.(around) + 0.5 * (.(at(-1L, -1L)) + .(at(1L, 1L)) + .(at(-1L, 1L)) + .(at(1L, -1L))))
  ))
}

program_class("stencil", 1.5, function(g, large) {
  n <- draw_size(large, 6.7)
  sides <- if (chance(0.5)) n else pmax(5L, draw_sides(n))
  x <- add_input(g, sides)
  if (chance(0.3)) x <- draw_chain(g, x, steps = few(1, 3))
  s <- add_step(g, stencil(x, sides))
  end <- if (chance(0.5)) draw_chain(g, s, steps = few(1, 5)) else s
  if (chance(0.4)) bquote(nv_mean(.(end)^2)) else end
})

# A state stays in bounds whatever the steps before made.
kept <- function(state, code) {
  pick(list(
    bquote(0.9 * .(state) + 0.1 * nv_tanh(.(code))), bquote(nv_clamp(-2, 0.5 * (.(state) + .(code)), 2)),
    bquote(0.7 * .(state) + 0.2 * nv_sin(.(code)))
  ))
}
local_name <- function(g, name) {
  assign(name, nv_tensor(stats::runif(32L, -1.5, 1.5), "f64"), g$env)
  as.name(name)
}
number_of <- function(g, value) bquote(nv_scalar(.(value), .(g$dtype)))

program_class("loop of a number", 1.5, function(g, large) {
  steps <- g$repeats <- draw_steps(large)
  a <- add_input(g)
  s <- local_name(g, "s")
  switch(pick(c("scan", "for", "while", "two"), c(3, 2, 2, 2)),
    scan = {
      xs <- add_input(g, steps)
      z <- local_name(g, "z")
      body <- nested(g, function() {
        end <- draw_chain(g, s, list(z, a), few(1, 8))
        new <- add_step(g, kept(s, end))
        bquote(list(.(new), .(pick(list(new, end)))))
      })
      out <- add_step(g, bquote(nv_scan(.(function_of(c("s", "z"), body)), .(number_of(g, 0.5)), .(xs))))
      bquote(list(.(out)$carry, .(out)$ys))
    },
    `for` = {
      body <- nested(g, function() kept(s, draw_chain(g, s, list(a), few(1, 8))))
      bquote(nv_for(.(steps), .(a) * 0.5, .(function_of(c("i", "s"), body))))
    },
    `while` = {
      g$derives <- FALSE
      body <- nested(g, function() {
        new <- add_step(g, kept(s, draw_chain(g, s, list(a), few(1, 8))))
        bquote(list(i = i + 1L, s = .(new)))
      })
      init <- bquote(list(i = nv_scalar(0L, "i32"), s = .(a) * 0.5))
      test <- function_of(c("i", "s"), bquote(i < .(steps)))
      bquote(nv_while(.(init), .(test), .(function_of(c("i", "s"), body)))[[2L]])
    },
    two = {
      r <- local_name(g, "r")
      xs <- add_input(g, steps)
      z <- local_name(g, "z")
      body <- nested(g, function() {
        one <- add_step(g, kept(s, draw_chain(g, s, list(z, a, r), few(1, 5))))
        two <- add_step(g, kept(r, draw_chain(g, r, list(one, z), few(1, 4))))
        bquote(list(list(s = .(one), r = .(two)), .(one) - .(two)))
      })
      body <- as.call(append(as.list(body), list(quote(s <- state[[1L]]), quote(r <- state[[2L]])), 1L))
      init <- bquote(list(s = .(number_of(g, 0.5)), r = .(number_of(g, 1))))
      out <- add_step(g, bquote(nv_scan(.(function_of(c("state", "z"), body)), .(init), .(xs))))
      bquote(.(out)$ys)
    }
  )
})

program_class("loop of a short vector", 1.5, function(g, large) {
  steps <- g$repeats <- draw_steps(large)
  size <- few(2, 4)
  rate <- add_input(g)
  xs <- add_input(g, steps)
  parts <- lapply(letters[seq_len(size)], function(name) local_name(g, name))
  z <- local_name(g, "z")
  body <- nested(g, function() {
    g$steps <- lapply(seq_len(size), function(i) bquote(.(parts[[i]]) <- s[.(i)]))
    new <- lapply(seq_len(size), function(i) {
      add_step(g, kept(parts[[i]], draw_chain(g, parts[[i]], c(parts[-i], z, rate), few(1, 4))))
    })
    bquote(list(.(as.call(c(list(quote(c)), new))), .(pick(new))))
  })
  init <- bquote(nv_fill(0.5, .(size), .(g$dtype)))
  out <- add_step(g, bquote(nv_scan(.(function_of(c("s", "z"), body)), .(init), .(xs))))
  pick(list(bquote(.(out)$ys), bquote(list(.(out)$carry, sum(.(out)$ys)))))
})

program_class("loop of an array", 2, function(g, large) {
  steps <- g$repeats <- whole_between(5, 60)
  n <- if (large) whole_between(1000, 200000) else whole_between(5, 60)
  u <- local_name(g, "u")
  loop <- function(init, body, n = steps) bquote(nv_for(.(n), .(init), .(function_of(c("i", "u"), body))))
  kinds <- c("chain", "stencil", "inner part", "descent", "recurrent", "nested", "scan of rows", "elements")
  switch(pick(kinds),
    chain = {
      x <- add_input(g, n)
      loop(x, nested(g, function() kept(u, draw_chain(g, u, list(x), few(1, 8)))))
    },
    stencil = loop(add_input(g, n), nested(g, function() {
      reach <- bquote(nv_roll(u, 1L) + nv_roll(u, -1L) - 2 * u)
      bquote(u + 0.2 * (.(reach)))
    })),
    `inner part` = {
      sides <- if (chance(0.4)) n else pmax(5L, draw_sides(n))
      x <- add_input(g, sides)
      inner <- if (length(sides) == 1L) {
        bquote(u[2:.(n - 1L)] <- 0.5 * (u[1:.(n - 2L)] + u[3:.(n)]))
      } else {
        at <- function(down, right) shifted_matrix(u, sides, down, right)
        bquote(u[2:.(sides[1L] - 1L), 2:.(sides[2L] - 1L)] <-
          0.25 * (.(at(-1L, 0L)) + .(at(1L, 0L)) + .(at(0L, -1L)) + .(at(0L, 1L))))
      }
      loop(x, as.call(list(quote(`{`), inner, quote(u))))
    },
    descent = {
      k <- if (large) few(5, 60) else few(2, 5)
      rows <- max(3L, n %/% k)
      x <- add_input(g, c(rows, k))
      y <- add_input(g, c(rows, 1L))
      w <- add_input(g, c(k, 1L))
      slope <- pick(list(
        bquote(.(x) %*% u - .(y)), bquote(nv_logistic(.(x) %*% u) - .(y)), bquote(nv_tanh(.(x) %*% u) - .(y))
      ))
      loop(w, bquote(u - .(signif(0.05 / rows, 2)) * (t(.(x)) %*% (.(slope)))))
    },
    recurrent = {
      k <- if (large) whole_between(50, 1000) else whole_between(3, 40)
      w <- add_input(g, c(k, k))
      x <- add_input(g, c(k, 1L))
      body <- nested(g, function() {
        v <- add_step(g, bquote((.(w) %*% u) * .(signif(1 / k, 2))))
        length <- bquote(nv_sqrt(sum(.(v)^2) + 1e-6))
        pick(list(bquote(nv_tanh(.(v) + .(x))), bquote(.(v) / .(length)), bquote(0.9 * .(v) + .(x))))
      })
      loop(x, body)
    },
    nested = {
      g$repeats <- NA
      x <- add_input(g, few(1, n))
      inner <- nested(g, function() kept(u, draw_chain(g, u, list(x), few(1, 4))))
      loop(x, loop(quote(u), inner, few(2, 10)), few(2, 40))
    },
    `scan of rows` = {
      sides <- c(steps, max(2L, n %/% 10L))
      x <- add_input(g, sides)
      z <- local_name(g, "z")
      s <- local_name(g, "s")
      body <- nested(g, function() {
        new <- add_step(g, kept(s, draw_chain(g, s, list(z), few(1, 5))))
        bquote(list(.(new), .(pick(list(new, bquote(sum(.(new))))))))
      })
      init <- bquote(nv_fill(0, .(sides[2L]), .(g$dtype)))
      out <- add_step(g, bquote(nv_scan(.(function_of(c("s", "z"), body)), .(init), .(x))))
      bquote(list(.(out)$carry, .(out)$ys))
    },
    elements = {
      k <- g$repeats <- if (large) whole_between(1000, 20000) else n
      x <- add_input(g, k)
      new <- pick(list(
        quote(0.5 * u[i + 1L] + 0.4 * u[i]), quote(u[i + 1L] - 0.1 * nv_tanh(u[i])),
        quote(pmax(u[i], u[i + 1L]))
      ))
      loop(x, bquote({
        u[i + 1L] <- .(new)
        u
      }), k - 1L)
    }
  )
})

# Mixing of 32-bit words, as in hashes and generators of random numbers.
program_class("integers", 0.7, function(g, large) {
  g$derives <- FALSE
  x <- add_input(g, draw_size(large), "word")
  for (i in seq_len(few(3, 20))) {
    by <- sample.int(20L, 1L)
    x <- add_step(g, pick(list(
      bquote(nv_xor(.(x), nv_shift_right_logical(.(x), .(by)))),
      bquote(.(x) * .(sample.int(30000L, 1L) * 2L + 1L)),
      bquote(nv_xor(.(x), nv_shift_left(.(x), .(by)))), bquote(.(x) + .(sample.int(1000L, 1L))),
      bquote(nv_and(.(x), .(sample.int(2^20, 1L))) + nv_shift_right_arithmetic(.(x), .(by)))
    )))
  }
  x
})

# ---- a program ----

# list(class, dtype, large, inputs, f, repeats): an expression of a function, see the top, the types of its
# arguments, and how often loops run, NA if that is not one number. A third of the programs that have
# derivatives are gradients.
random_program <- function(seed, number) {
  set.seed(seed * 1000 + number)
  class <- pick(names(classes), unlist(weights_of_classes))
  dtype <- pick(c("f32", "f64"))
  large <- chance(0.55)
  g <- start_program(dtype)
  end <- classes[[class]](g, large)
  results <- if (is.call(end) && identical(end[[1L]], quote(list))) as.list(end)[-1L] else list(end)
  derives <- !isFALSE(g$derives) && chance(0.33)
  names <- names(g$inputs)
  floats <- names[vapply(g$inputs, function(x) x$kind == "numbers", NA)]
  body <- function(results) as.call(c(list(quote(`{`)), g$steps, results))
  if (derives) {
    total <- Reduce(function(a, b) bquote(.(a) + .(b)), lapply(results, function(x) bquote(nv_mean(.(x)^2))))
    wrt <- if (chance(0.5)) floats else floats[1L]
    loss <- function_of(names, body(list(total)))
    call <- as.call(c(list(bquote(gradient(.(loss), .(wrt)))), lapply(names, as.name)))
    f <- function_of(names, as.call(list(quote(`{`), call)))
    class <- paste("gradient:", class)
  } else {
    results <- if (length(results) > 1L) list(as.call(c(list(quote(list)), results))) else results
    f <- function_of(names, body(results))
  }
  list(class = class, dtype = dtype, large = large, inputs = g$inputs, f = f, repeats = g$repeats)
}

# Its function in R.
function_in_r <- function(p) eval(r_form(p$f), new.env(parent = globalenv()))

# The expression in R; of a `sample` all values are vectors of one length.
r_form <- function(code, sample = FALSE) {
  if (!is.call(code)) return(code)
  word <- if (is.symbol(code[[1L]])) as.character(code[[1L]]) else ""
  if (word %in% c("by_row", "by_column", "along")) {
    of <- r_form(code[[2L]], sample)
    if (word == "by_row" || sample) return(of)
    sizes <- if (word == "along") code[[3L]] else c(code[[3L]], code[[4L]])
    return(bquote(nv_broadcast_to(.(of), .(written_vector(sizes)))))
  }
  for (i in seq_along(code)) if (is.call(code[[i]])) code[[i]] <- r_form(code[[i]], sample)
  code
}

written_vector <- function(x) if (length(x) == 1L) x else as.call(c(list(quote(c)), as.list(x)))

# Its arguments, the same for the same seed.
arguments_of <- function(p) {
  lapply(p$inputs, function(x) {
    count <- prod(x$shape)
    values <- switch(x$kind,
      numbers = stats::runif(count, -2, 2),
      index = sample.int(x$most, count, replace = TRUE),
      word = sample.int(2^30, count, replace = TRUE)
    )
    dtype <- if (x$kind == "numbers") p$dtype else "i32"
    if (length(x$shape)) nv_tensor(values, dtype, x$shape) else nv_scalar(values, dtype)
  })
}
