# apply() and its like over many lines: traced once, with the values, sizes and names of one call after the
# other.

x <- matrix(sin(1:120), 24, dimnames = list(paste0("r", 1:24), letters[1:5]))
tall <- unname(x)

# Value, sizes and names as of base R.
expect_lines_as_r <- function(f, ...) {
  want <- f(...)
  got <- do.call(jit(f), lapply(list(...), nv_tensor, dtype = "f64"))
  what <- deparse1(body(f))
  expect_equal(as.vector(got), as.vector(want), label = what)
  expect_identical(dim(got) %||% length(got), dim(want) %||% length(want), label = what)
  names_of <- function(x) if (length(dim(x)) > 1L) dimnames(x) else names(x)
  expect_identical(names_of(got), names_of(want), label = what)
}

# Nodes of the program: those of a batch do not grow with the number of lines.
nodes <- function(f, ...) length(strsplit(graph_text(trace_fn(f, ...)), "\n")[[1L]])
is_batch <- function(f, x) {
  nodes(f, nv_tensor(x, "f64")) == nodes(f, nv_tensor(if (is.matrix(x)) rbind(x, x) else c(x, x), "f64"))
}

test_that("lines of many kinds have the answers of base R", {
  for (of in list(x, tall)) {
    expect_lines_as_r(user(function(x) apply(x, 1, median)), of)
    expect_lines_as_r(user(function(x) apply(x, 1, which.max)), of)
    expect_lines_as_r(user(function(x) apply(x, 1, function(v) c(low = min(v), high = max(v)))), of)
    expect_lines_as_r(user(function(x) apply(t(x), 2, function(v) v / sum(v))), of)
    expect_lines_as_r(user(function(x) apply(x, 1, function(v) outer(v, v[1:2]))), of)
    expect_lines_as_r(user(function(x) apply(x, c(1, 2), function(v) v^2 + 1)), of)
    expect_lines_as_r(user(function(x) apply(x, 2:1, exp)), of)
    expect_lines_as_r(user(function(x) apply(x, 1, function(v, p, q) sum(abs(v)^p) * q, p = 3, 2)), of)
    expect_lines_as_r(user(function(x) apply(x, 1, function(v) t.test(v)$p.value)), of)
    expect_lines_as_r(user(function(x) apply(x, 1, sort)), of)
    expect_lines_as_r(user(function(x) apply(x, 1, function(v) if (length(v) > 4) v[2] else v[1])), of)
    expect_lines_as_r(user(function(x) apply(x, 1, function(v) x[1, ] %*% v)), of)
  }
  cube <- array(cos(1:240), c(4, 20, 3), dimnames = list(NULL, paste0("c", 1:20), c("u", "v", "w")))
  expect_lines_as_r(user(function(x) apply(x, 2, sum)), cube)
  expect_lines_as_r(user(function(x) apply(x, 2, function(m) m[2, ] - m[1, ])), cube)
  expect_lines_as_r(user(function(x) apply(x, c(3, 2), function(v) rev(v))), cube)
})

test_that("elements of many kinds have the answers of base R", {
  v <- setNames(x[, 1], rownames(x))
  for (of in list(v, unname(v), tall)) {
    expect_lines_as_r(user(function(x) sapply(x, function(v) v^2 + 1)), of)
    expect_lines_as_r(user(function(x) sapply(x, function(v) c(a = v, b = -v))), of)
    expect_lines_as_r(user(function(x) sapply(x, function(v) diag(2) * v, simplify = "array")), of)
    expect_lines_as_r(user(function(x) sapply(x, function(v) c(one = v))), of)
    expect_lines_as_r(user(function(x) sapply(x, function(v) nv_ifelse(v > 0, 1, v))), of)
  }
  expect_lines_as_r(user(function(x) vapply(x, function(v) v * 2, 0)), unname(v))
  expect_lines_as_r(user(function(x, y) mapply(function(a, b) a - b^2, x, y)), unname(v), unname(v) + 1)
  two <- function(x, y) mapply(function(a, b, k) c(a, b * k), x, y, MoreArgs = list(k = 3))
  expect_lines_as_r(user(two), v, v)
  vectorised <- function(x, y) Vectorize(function(a, b) sum(a * 1:3) + b)(x, y)
  expect_lines_as_r(user(vectorised), unname(v), unname(v))
})

test_that("a function without effects is traced once for all lines", {
  expect_true(is_batch(user(function(x) apply(x, 1, function(v) sum(v^2) / max(v))), x))
  power <- function(v, p) sum(abs(v)^p)
  expect_true(is_batch(user_env(function(x) apply(x, 1, power, p = 3), power = power), x))
  expect_true(is_batch(user(function(x) sapply(x, function(v) v^2 + v)), x[, 1]))
  loop <- function(v) {
    total <- 0
    for (i in seq_along(v)) total <- total + v[i]^i
    total
  }
  expect_true(is_batch(user_env(function(x) apply(x, 1, loop), loop = loop), x))
})

test_that("a function may read other traced values", {
  f <- user(function(x) {
    weights <- x[1, ]^2
    apply(x, 1, function(v) sum(v * weights) / sum(weights))
  })
  g <- user(function(x) apply(x, 1, function(v) apply(sweep(x[1:3, ], 2, v, "+"), 1, min)))
  h <- user(function(x) {
    parts <- list(first = x[1, ], rest = list(x[2, ]))
    sapply(x[, 1], function(v) v * sum(parts$first) - parts$rest[[1L]][2])
  })
  for (program in list(f, g, h)) {
    expect_lines_as_r(program, tall)
    expect_true(is_batch(program, tall))
  }
})

test_that("a function with effects is called for each line", {
  count <- function(x) {
    k <- 0
    apply(x, 1, function(v) {
      k <<- k + 1
      k * sum(v)
    })
  }
  expect_lines_as_r(user(count), x)
  state <- new.env()
  in_environment <- function(x) {
    state$k <- 0
    apply(x, 1, function(v) {
      state$k <- state$k + 1
      sum(v) * state$k
    })
  }
  expect_lines_as_r(user_env(in_environment, state = state), x)
  step <- local({
    k <- 0
    function(v) {
      k <<- (k + 1) %% 24
      v * k
    }
  })
  expect_lines_as_r(user_env(function(x) sapply(x, step), step = step), unname(x[, 1]))
  helper <- function(v) step(v)
  through <- user_env(function(x) sapply(x, helper), helper = user_env(helper, step = step))
  expect_lines_as_r(through, unname(x[, 1]))
  methods <- list(of = step)
  by_part <- function(x) sapply(x, function(v) methods$of(v))
  expect_lines_as_r(user_env(by_part, methods = methods), unname(x[, 1]))
  by_variable <- function(x) {
    sapply(x, function(v, of = methods$of) {
      g <- of
      g(v)
    })
  }
  expect_lines_as_r(user_env(by_variable, methods = methods), unname(x[, 1]))
  expect_lines_as_r(user_env(function(x) sapply(x, function(v) (function(w, f = step) f(w))(v)), step = step),
    unname(x[, 1])
  )
  hidden <- function(x) {
    sapply(x, function(v) {
      step <- 2
      step(v) * step
    })
  }
  expect_lines_as_r(user_env(hidden, step = step), unname(x[, 1]))
  by_name <- function(x) {
    k <- 0
    sapply(x, function(v) {
      assign("k", k + 1, inherits = TRUE)
      v * k
    })
  }
  expect_lines_as_r(user(by_name), unname(x[, 1]))
  writing <- user(function(x) {
    apply(x, 1, function(v) {
      cat("line\n")
      sum(v)
    })
  })
  printed <- capture.output(invisible(jit(writing)(nv_tensor(x))))
  expect_length(printed, 24L)
})

# nolint start: object_name_linter. Methods have names of this kind.
test_that("effects of what is called by a string, as a method or in place of a variable are found", {
  in_sapply <- function(line) {
    f <- eval(bquote(function(x) {
      k <- 0
      count <- function(...) {
        k <<- k + 1
        k
      }
      sapply(x, .(line))
    }))
    expect_lines_as_r(user(f), unname(x[, 1]))
  }
  in_sapply(quote(function(v) v * do.call("count", list())))
  in_sapply(quote(function(v) v * do.call(paste0("co", "unt"), list())))
  in_sapply(quote(function(v) v * Reduce("count", 1:3)))
  in_sapply(quote(function(v, g = "count") v * do.call(g, list())))
  programs <- list(
    by_variable = function(x) {
      k <- 0
      count <- function() k <<- k + 1
      name <- "count"
      sapply(x, function(v) v * do.call(name, list()))
    },
    by_argument = function(x) {
      k <- 0
      count <- function() k <<- k + 1
      sapply(x, function(v, name) v * do.call(name, list()), name = "count")
    },
    by_method = function(x) {
      k <- 0
      tick <- function(o) UseMethod("tick")
      tick.clock <- function(o) k <<- k + 1
      o <- structure(list(), class = "clock")
      sapply(x, function(v) v * tick(o))
    },
    by_operator = function(x) {
      k <- 0
      Ops.clock <- function(e1, e2) k <<- k + 1
      o <- structure(list(), class = "clock")
      sapply(x, function(v) v * (o + 1))
    },
    in_place = function(x) {
      k <- 0
      `scaled<-` <- function(x, value) {
        k <<- k + 1
        value * k
      }
      sapply(x, function(v) {
        scaled(v) <- v
        v
      })
    },
    in_place_by_method = function(x) {
      k <- 0
      `$<-.clock` <- function(x, name, value) {
        k <<- k + 1
        structure(setNames(list(value * k), name), class = "clock")
      }
      o <- structure(list(), class = "clock")
      sapply(x, function(v) {
        o$at <- v
        o$at
      })
    },
    active = function(x) {
      k <- 0
      makeActiveBinding("ticks", function() k <<- k + 1, environment())
      sapply(x, function(v) v * ticks)
    },
    by_attribute = function(x) {
      state <- structure(1, of = new.env())
      attr(state, "of")$k <- 0
      sapply(x, function(v) {
        of <- attr(state, "of")
        of$k <- of$k + 1
        v * of$k
      })
    }
  )
  for (f in programs) expect_lines_as_r(user(f), unname(x[, 1]))
  # What has none is traced once as ever.
  fine <- user(function(x) {
    norm.clock <- function(x, ...) x * 2
    `twice<-` <- function(x, value) 2 * value
    sapply(x, function(v) {
      twice(v) <- do.call("exp", list(v))
      v
    })
  })
  expect_true(is_batch(fine, unname(x[, 1])))
})
# nolint end

test_that("draws of R are those of one line after the other", {
  f <- user(function(x) {
    set.seed(4)
    apply(x, 1, function(v) sum(v) + rnorm(1))
  })
  expect_equal(as.vector(jit(f)(nv_tensor(x, "f64"))), unname(f(x)))
  noisy <- user(function(x) apply(x, 1, function(v) sum(v) + runif(1)))
  set.seed(9)
  want <- noisy(x)
  set.seed(9)
  expect_warning(got <- jit(noisy)(nv_tensor(x, "f64")), class = "anvil_warning_random")
  expect_equal(as.vector(got), unname(want))
})

test_that("answers that are no plain values, and errors, are those of one line after the other", {
  expect_lines_as_r(user(function(x) apply(x, 1, function(v) 3) + sum(x)), x)
  listed <- user(function(x) apply(x, 1, function(v) list(sum(v)))[[3]][[1]])
  expect_equal(as.vector(jit(listed)(nv_tensor(x, "f64"))), sum(x[3, ]))
  kept <- user(function(x) sapply(x, function(v) sum(v[v > 0])))
  expect_lines_as_r(kept, unname(x[, 1]))
  expect_error(
    jit(user(function(x) apply(x, 1, function(v) if (sum(v) > 0) 1 else 2)))(nv_tensor(x)),
    class = "anvil_error_concrete"
  )
  expect_error(
    jit(user(function(x) apply(x, 1, function(v) v %*% diag(3))))(nv_tensor(x)), class = "anvil_error_shape"
  )
})

test_that("derivatives, batches and loops go through lines", {
  f <- user(function(x) sum(apply(x, 1, function(v) max(v)^2 + v[2])))
  slopes <- tall * 0
  slopes[, 2] <- 1
  largest <- cbind(1:24, max.col(tall))
  slopes[largest] <- slopes[largest] + 2 * tall[largest]
  expect_equal(as_array(gradient(f)(nv_tensor(tall, "f64"))$x), slopes)
  g <- user(function(x) apply(x, 1, function(v) nv_for(3L, v, function(i, s) tanh(s) + v)))
  want <- apply(tall, 1, function(v) {
    s <- v
    for (i in 1:3) s <- tanh(s) + v
    s
  })
  expect_equal(as_array(jit(g)(nv_tensor(tall, "f64"))), want)
  two <- array(c(tall, 2 * tall), c(24, 5, 2))
  h <- user(function(x) apply(x, 1, function(v) sort(v)[2]))
  got <- vmap(h, in_axes = 3L)(nv_tensor(two, "f64"))
  expect_equal(as_array(got), rbind(h(tall), h(2 * tall)))
})
