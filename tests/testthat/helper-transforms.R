# Programs of derivatives and batches, whose values are those of JAX (test-transforms-jax.R) and of XLA
# (test-xla-transforms.R). See tests/testdata/transforms/make.py, which has the same programs in the same
# order.
#
# Each result is held to `roundings` units of its dtype (2^-53 or 2^-24) times its largest element. That is
# about how many operations follow one another from an argument to a result, terms of a sum counted one by
# one: others add in another order and have other formulas, so that each of them may round another way. Where
# more is lost, by the division by what is left of a difference, the comment says so.

read_transforms <- function() {
  path <- testthat::test_path("..", "testdata", "transforms", "transforms.csv")
  utils::read.csv(path, comment.char = "#", colClasses = "character")
}

# One part of a program's rows as a named list of tensors.
typed_tensors <- function(rows, part) {
  rows <- rows[rows$part == part, ]
  out <- Map(function(values, dtype, shape) {
    values <- as.double(strsplit(values, " ")[[1L]])
    nv_tensor(values, dtype = dtype, shape = as.integer(strsplit(shape, "x")[[1L]]))
  }, rows$values, rows$dtype, rows$shape)
  setNames(out, rows$name)
}

with_roundings <- function(roundings, f) list(roundings = roundings, f = f)

transform_programs <- local({
  # ---- what programs share ----

  column <- function(x) nv_reshape(x, c(length(x), 1L))
  times <- function(x, v) nv_reshape(x %*% column(v), shape(x)[1L])
  rows_like <- function(v, x) nv_broadcast_to(v, shape(x))
  stacked <- function(...) do.call(nv_concatenate, c(lapply(list(...), nv_flatten), axis = 1L))

  network <- function(p, x) {
    hidden <- x %*% p$w1
    out <- tanh(hidden + rows_like(p$b1, hidden)) %*% p$w2
    out + rows_like(p$b2, out)
  }
  network_loss <- function(p, x, y) mean((network(p, x) - y)^2L)

  lotka_volterra <- function(start, rates, steps, h) {
    slope <- function(u) {
      stacked(rates[1] * u[1] - rates[2] * u[1] * u[2], rates[3] * u[1] * u[2] - rates[4] * u[2])
    }
    nv_for(steps, start, function(i, u) {
      k1 <- slope(u)
      k2 <- slope(u + 0.5 * h * k1)
      k3 <- slope(u + 0.5 * h * k2)
      u + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(u + h * k3))
    })
  }

  # ---- the programs ----

  list(
    # exp() of sums of 3, summed over 12; a Hessian is such a sum of products of three.
    poisson_regression = with_roundings(30, function(beta, x, offset, y) {
      loss <- function(beta) {
        eta <- times(x, beta) + offset
        sum(exp(eta) - y * eta)
      }
      out <- value_gradient_hessian(loss)(beta)
      list(value = out$value, gradient = out$gradient$beta, hessian = out$hessian$beta$beta)
    }),
    logistic_regression = with_roundings(50, function(beta, x, y) {
      loss <- function(beta) {
        eta <- times(x, beta)
        mean(nv_softplus(eta) - y * eta)
      }
      out <- value_gradient_hessian(loss, flat = TRUE)(beta)
      list(gradient = out$gradient$beta, hessian = out$hessian)
    }),
    # By elimination instead of a Cholesky factor: 7 steps, of which each divides by what those before left;
    # the noise is half of the signal, so that up to a digit is lost.
    gaussian_process = with_roundings(2000, function(theta, x, y) {
      loss <- function(theta) {
        theta <- exp(theta)
        difference <- nv_broadcast_to(column(x), c(7L, 7L)) - rows_like(x, nv_empty("f64", c(7L, 7L)))
        k <- theta[2]^2 * exp(-0.5 * (difference / theta[1])^2) + theta[3]^2 * diag(7)
        bottom <- nv_reshape(stacked(y, nv_scalar(0, "f64")), c(1L, 8L))
        border <- nv_concatenate(nv_concatenate(k, column(y), axis = 2L), bottom, axis = 1L)
        eliminate <- function(a, i) {
          pivot <- a[[i, i]]
          below <- nv_ifelse(nv_seq(1L, 8L) > i, a[, i], 0)
          list(a - tcrossprod(below, a[i, ]) / pivot, log(pivot))
        }
        out <- nv_scan(eliminate, border, nv_seq(1L, 7L))
        0.5 * (sum(out$ys) - out$carry[8, 8])
      }
      out <- value_gradient_hessian(loss)(theta)
      list(value = out$value, gradient = out$gradient$theta, hessian = out$hessian$theta$theta)
    }),
    network_hessian = with_roundings(50, function(w1, b1, w2, b2, x, y) {
      p <- list(w1 = w1, b1 = b1, w2 = w2, b2 = b2)
      h <- hessian(network_loss, "p")(p, x, y)$p
      list(w1_w1 = h$w1$p$w1, w1_b2 = h$w1$p$b2, w2_b1 = h$w2$p$b1, b2_b2 = h$b2$p$b2)
    }),
    network_hessian_vector_product = with_roundings(100, function(w1, b1, w2, b2, x, y, v, u) {
      p <- list(w1 = w1, b1 = b1, w2 = w2, b2 = b2)
      hvp(network_loss, list(p, x, y), list(p = list(w1 = v, b1 = NULL, w2 = NULL, b2 = u)))$p[c("w1", "b2")]
    }),
    mixture = with_roundings(50, function(theta, x) {
      loss <- function(theta) {
        part <- function(sign, k) {
          z <- (x - theta[1 + k]) / exp(theta[3 + k])
          -nv_softplus(-sign * theta[1]) - 0.5 * z^2 - theta[3 + k]
        }
        one <- part(1, 1)
        two <- part(-1, 2)
        top <- nv_stop_gradient(nv_max(one, two))
        -sum(log(exp(one - top) + exp(two - top)) + top)
      }
      out <- value_gradient_hessian(loss)(theta)
      list(gradient = out$gradient$theta, hessian = out$hessian$theta$theta)
    }),
    # lgamma() and its derivatives have errors of some units, and are larger than their differences.
    negative_binomial = with_roundings(100, function(log_mu, log_r, y) {
      loss <- function(log_mu, log_r) {
        mu <- exp(log_mu)
        r <- exp(log_r)
        rest <- r * log(r / (r + mu)) + y * log(mu / (r + mu))
        -sum(lgamma(y + r) - lgamma(r) - lgamma(y + 1) + rest)
      }
      h <- hessian(loss)(log_mu, log_r)
      list(mu_mu = h$log_mu$log_mu, mu_r = h$log_mu$log_r, r_mu = h$log_r$log_mu, r_r = h$log_r$log_r)
    }),
    # 12 steps of about 12 operations.
    kalman_filter = with_roundings(150, function(log_q, log_r, y) {
      loss <- function(log_q, log_r) {
        q <- exp(log_q)
        r <- exp(log_r)
        step <- function(m, p, y) {
          s <- p + q + r
          k <- (p + q) / s
          list(list(m = m + k * (y - m), p = (1 - k) * (p + q)), log(s) + (y - m)^2L / s)
        }
        init <- list(m = nv_scalar(0, "f64"), p = nv_scalar(1, "f64"))
        0.5 * sum(nv_scan(step, init, y)$ys)
      }
      h <- hessian(loss)(log_q, log_r)
      list(q_q = h$log_q$log_q, q_r = h$log_q$log_r, r_r = h$log_r$log_r)
    }),
    products_with_zeros = with_roundings(10, function(x, w) {
      list(hessian = hessian(function(x) sum(w * prod(x, axes = 2L)))(x)$x$x)
    }),
    third_derivatives = with_roundings(20, function(x) {
      f <- function(x) sum(sin(x) * exp(rev(x))) * x[2]^2
      list(third = jacobian(function(x) hessian(f)(x)$x$x)(x)$x)
    }),
    # 25 steps of 4 stages of 8 operations; the orbit turns small differences into differences of its phase.
    ode_jacobian = with_roundings(800, function(start, rates) {
      solve <- function(start, rates) lotka_volterra(start, rates, 25L, 0.1)
      j <- jacobian(solve, mode = "reverse")(start, rates)
      list(value = solve(start, rates), start = j$start, rates = j$rates)
    }),
    batched_ode_jacobian = with_roundings(300, function(start, rates) {
      each <- jacobian(function(start) lotka_volterra(start, rates, 10L, 0.1), mode = "forward")
      list(start = vmap(each)(start)$start)
    }),
    # Some 100 steps of 10 operations, each of which takes up what is wrong in the ones before.
    pendulum = with_roundings(1000, function(angle, length) {
      solve <- function(angle, length) {
        zero <- nv_scalar(0, "f64")
        out <- nv_while(list(t = zero, a = angle, v = zero), \(t, a, v) t < 1, function(t, a, v) {
          h <- 0.05 / (1 + v^2)
          v <- v - h * 9.81 / length * sin(a)
          list(t = t + h, a = a + h * v, v = v)
        })
        do.call(stacked, unname(out))
      }
      jacobian(solve, mode = "forward")(angle, length)
    }),
    # Newton's method corrects what came before its last step.
    kepler = with_roundings(20, function(e, m, v) {
      solve <- function(e, m) {
        begin <- list(x = m, left = nv_scalar(1, "f64"))
        nv_while(begin, \(x, left) left > 1e-9, function(x, left) {
          left <- x - e * sin(x) - m
          list(x = x - left / (1 - e * cos(x)), left = abs(left))
        })$x
      }
      one <- nv_scalar(1, "f64")
      forward <- jvp(vmap(solve), list(e, m), list(v, nv_fill(1, 5L, "f64")))
      # Inside out, it is the same.
      inside <- vmap(function(e, m, v) jvp(solve, list(e, m), list(v, one))$tangent)(e, m, v)
      list(value = forward$value, tangent = forward$tangent, tangent = inside)
    }),
    scan_jacobian = with_roundings(20, function(x, decay) {
      smooth <- function(x, decay) {
        nv_scan(\(s, x) list(decay * s + sin(x), s * x), nv_scalar(0, "f64"), x, reverse = TRUE)$ys
      }
      modes <- lapply(c("reverse", "forward"), function(mode) jacobian(smooth, mode = mode)(x, decay))
      c(modes[[1L]], modes[[2L]])
    }),
    scatter_jacobian = with_roundings(20, function(x, update, at) {
      f <- function(x, update, at) {
        added <- nv_scatter(
          x, at, update^2L, update_window_axes = NULL, inserted_window_axes = 1L,
          scatter_axes_to_operand_axes = 1L, index_vector_axis = 2L, update_computation = "add"
        )
        exp(added[at] * x[1])
      }
      vmap(jacobian(f, c("x", "update"), mode = "reverse"), list(update = 1L, at = 2L))(x, update, at)
    }),
    # Angles of small numbers: what is left of sums of 5 is divided by a number near 0.
    spectrum = with_roundings(50, function(x, v) {
      f <- function(x) {
        turn <- exp(nv_complex(nv_fill(0, c(5L, 5L), "f64"), -2 * pi / 5 * outer(0:4, 0:4)))
        z <- times(turn, nv_complex(x, x^2L))
        list(modulus = abs(z), ratio = Re(z * Conj(z) / (1 + z)), angle = Arg(z))
      }
      out <- jvp(f, list(x), list(v))
      c(out$value, setNames(out$tangent, paste0(names(out$tangent), "_tangent")))
    }),
    gauss_newton_product = with_roundings(50, function(w1, b1, w2, b2, x, v) {
      f <- function(w1) network(list(w1 = w1, b1 = b1, w2 = w2, b2 = b2), x)
      along <- function(w1) jvp(f, list(w1), list(v))$tangent
      moved <- along(w1)
      list(
        forward = moved, product = vjp(f, w1)$pullback(moved)$w1,
        gradient = gradient(function(w1) sum(along(w1)^2L))(w1)$w1
      )
    }),
    custom_derivative = with_roundings(20, function(x) {
      # Not the derivative, so that it shows whose is used.
      softplus <- custom_gradient(
        function(x) log1p(exp(x)), function(x) list(log1p(exp(x)), x), function(x, g) list(g * tanh(x))
      )
      first <- function(x) gradient(function(x) softplus(x) * x)(x)$x
      list(first = vmap(first)(x), second = vmap(gradient(first))(x)$x, second = vmap(hessian(function(x) {
        softplus(x) * x
      }))(x)$x$x)
    }),
    per_example_gradients = with_roundings(100, function(w1, b1, w2, b2, x, y) {
      loss <- function(p, x, y) sum((network(p, nv_reshape(x, c(1L, 3L))) - nv_reshape(y, c(1L, 2L)))^2L)
      p <- list(w1 = w1, b1 = b1, w2 = w2, b2 = b2)
      each <- vmap(gradient(loss, "p"), list(x = 1L, y = 1L))(p, x, y)$p
      squares <- lapply(each, function(g) sum(g^2L, axes = seq_len(ndims(g))[-1L]))
      norm <- sqrt(Reduce(`+`, squares))
      c(each, list(norm = norm, clipped = mean(each$b1 / nv_max(norm, 1), axes = 1L)))
    }),
    # The inverse by the adjugate: what cancels in its determinants is lost.
    sandwich = with_roundings(200, function(beta, x, y) {
      loss <- function(beta, x, y) {
        eta <- sum(x * beta)
        nv_softplus(eta) - y * eta
      }
      scores <- vmap(gradient(loss, "beta"), list(NULL, 1L, 1L))(beta, x, y)$beta
      each <- vmap(hessian(loss, "beta"), list(NULL, 1L, 1L), out_axes = 3L)(beta, x, y)$beta$beta
      total <- sum(each, axes = 3L)
      minor <- function(i, k) {
        m <- total[-i, -k]
        m[1, 1] * m[2, 2] - m[1, 2] * m[2, 1]
      }
      cofactors <- do.call(stacked, lapply(1:9, function(n) {
        i <- (n - 1) %% 3 + 1
        k <- (n - 1) %/% 3 + 1
        (-1)^(i + k) * minor(i, k)
      }))
      cofactors <- nv_reshape(cofactors, c(3L, 3L))
      bread <- t(cofactors) / sum(total[1, ] * cofactors[1, ])
      list(scores = scores, hessians = each, covariance = bread %*% crossprod(scores) %*% bread)
    }),
    collatz = with_roundings(0, function(n) {
      one <- function(n) {
        nv_while(list(steps = 0L, peak = n, n = n), \(steps, peak, n) n > 1L, function(steps, peak, n) {
          list(
            steps = steps + 1L, peak = nv_max(peak, n), n = nv_ifelse(n %% 2L == 0L, n %/% 2L, 3L * n + 1L)
          )
        })[c("steps", "peak")]
      }
      vmap(one)(n)
    }),
    batched_scan = with_roundings(50, function(x, start, decay) {
      one <- function(x, start) {
        nv_scan(function(s, x) list(decay * s + (1 - decay) * x, tanh(s - x)), start, x)
      }
      out <- vmap(one, list(x = 2L, start = 1L), out_axes = list(carry = 1L, ys = 2L))(x, start)
      list(last = out$carry, ys = out$ys)
    }),
    gradients_of_scan = with_roundings(100, function(h, w, x, y) {
      loss <- function(h, w, x, y) {
        step <- function(s, x) list(tanh(times(h, s) + times(w, x)), sum(s))
        out <- nv_scan(step, nv_fill(0, 3L, "f64"), x)
        (sum(out$carry) + mean(out$ys) - y)^2L
      }
      vmap(gradient(loss, c("h", "w")), list(x = 1L, y = 1L))(h, w, x, y)
    }),
    batched_branches = with_roundings(20, function(x, y) {
      inner <- function(x, y) nv_if(x > 1, log(x) * y, sqrt(abs(x)) + y^2L)
      f <- function(x, y) nv_if(x > 0, inner(x, y), sin(x) * y) * x
      each <- vmap(gradient(f))(x, y)
      list(value = vmap(f)(x, y), x = each$x, y = each$y, second = vmap(hessian(f, "x"))(x, y)$x$x)
    }),
    # Newton's method corrects what came before its last step, which solves 2 equations.
    newton_fits = with_roundings(50, function(x, y) {
      fit <- function(x, y) {
        loss <- function(b) {
          eta <- times(x, b)
          sum(nv_softplus(eta) - y * eta) + 0.1 * sum(b^2L)
        }
        step <- function(b, left) {
          all <- value_gradient_hessian(loss)(b)
          g <- all$gradient$b
          h <- all$hessian$b$b
          solved <- stacked(h[2, 2] * g[1] - h[1, 2] * g[2], h[1, 1] * g[2] - h[2, 1] * g[1])
          list(b = b - solved / (h[1, 1] * h[2, 2] - h[1, 2] * h[2, 1]), left = max(abs(g)))
        }
        begin <- list(b = nv_fill(0, 2L, "f64"), left = nv_scalar(Inf, "f64"))
        b <- nv_while(begin, \(b, left) left > 1e-8, step)$b
        list(estimate = b, information = hessian(loss)(b)$b$b)
      }
      vmap(fit)(x, y)
    }),
    # A chain adds up to 40 draws: only sums.
    metropolis = with_roundings(80, function(start, noise, unit) {
      log_density <- function(x) -0.5 * sum(x^2L) - 0.3 * (x[1] * x[2])^2L
      chain <- function(start, noise, unit) {
        step <- function(x, accepted, draw) {
          proposal <- x + draw$noise
          better <- log(draw$unit) < log_density(proposal) - log_density(x)
          after <- list(x = proposal, accepted = accepted + 1L)
          moved <- nv_if(better, after, list(x = x, accepted = accepted))
          list(moved, x[1])
        }
        nv_scan(step, list(x = start, accepted = 0L), list(noise = noise, unit = unit))
      }
      out <- vmap(chain)(start, noise, unit)
      list(last = out$carry$x, accepted = out$carry$accepted, path = out$ys)
    }),
    kernel_matrices = with_roundings(20, function(a, b) {
      k <- function(a, b) exp(-0.5 * sum((a - b)^2L)) * (1 + sum(a * b))
      pairs <- function(f) vmap(vmap(f, list(NULL, 1L)), list(1L, NULL))
      by_b <- function(a, b) gradient(k, "b")(a, b)$b
      mixed <- function(a, b) jacobian(by_b, "a")(a, b)$a
      list(
        k = pairs(k)(a, b), mixed = pairs(mixed)(a, b), gradient = gradient(\(a) sum(pairs(k)(a, b)^2L))(a)$a
      )
    }),
    bootstrap = with_roundings(30, function(x, y, at) {
      statistics <- function(at) {
        u <- x[at]
        v <- y[at]
        u0 <- u - mean(u)
        v0 <- v - mean(v)
        list(ratio = mean(u) / mean(v), correlation = sum(u0 * v0) / sqrt(sum(u0^2L) * sum(v0^2L)))
      }
      vmap(statistics)(at)
    }),
    gradient_of_batched_gradients = with_roundings(50, function(w, x, y, rate) {
      loss <- function(w, x, y) mean((tanh(times(x, w)) - y)^2L)
      after <- function(w, rate, x, y) {
        loss(w - rate * gradient(loss, "w")(w, x[1:3, ], y[1:3])$w, x[4:6, ], y[4:6])
      }
      total <- function(w, rate) mean(vmap(after, list(NULL, NULL, 1L, 1L))(w, rate, x, y))
      slope <- gradient(total)(w, rate)
      list(w = slope$w, rate = slope$rate, hessian = hessian(total, "w")(w, rate)$w$w)
    })
  )
})
