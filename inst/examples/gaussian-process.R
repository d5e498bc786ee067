# Gaussian-process regression with an RBF kernel, in plain ops of tensors. Linear systems are solved by
# conjugate gradients in an nv_while(); length scale, signal and noise are fitted by steps along the gradient
# of the log marginal likelihood, each of which solves such systems, in another nv_while(). The results are
# compared with those of R's chol() and optim().
#
# Run it with source(system.file("examples/gaussian-process.R", package = "anvil")); it takes about 3 seconds,
# or less than one after Sys.setenv(ANVIL_EXAMPLE = "quick"). It draws when R is interactive, or where a
# device is open.
library(anvil)
quick <- identical(Sys.getenv("ANVIL_EXAMPLE"), "quick")

# ---- data: a wave with noise, with a gap ----

n <- if (quick) 24L else 80L
unit <- as.vector(nv_runif(n, nv_rng_state(5), dtype = "f64")$value)
points <- ifelse(unit < 0.5, -4 + 7 * unit, 0.5 + 7 * (unit - 0.5))
noise <- as.vector(nv_rnorm(n, nv_rng_state(6), dtype = "f64", sd = 0.15)$value)
grid <- seq(-5, 5, length.out = 100L)

as_column <- function(x) nv_tensor(as.matrix(x), dtype = "f64")
x <- as_column(points)
y <- as_column(sin(2 * points) + 0.3 * points + noise)

# ---- model; parameters are logarithms, so that all their values make sense ----

# Kernel between the points of two columns.
kernel <- function(a, b, log_length, log_signal) {
  size <- c(nrow(a), nrow(b))
  difference <- nv_broadcast_to(a, size) - nv_broadcast_to(t(b), size)
  exp(2 * log_signal - 0.5 * (difference / exp(log_length))^2)
}
identity_matrix <- function(n) nv_tensor(diag(n), dtype = "f64")
covariance <- function(w, x) {
  kernel(x, x, w$log_length, w$log_signal) + exp(2 * w$log_noise) * identity_matrix(nrow(x))
}

# Solves k %*% out == b, for each column of b by itself, to a relative residual of 1e-12. R evaluates
# arguments where they are first used. That would be inside of the loop, so they are forced before.
solve_cg <- function(k, b) {
  force(k)
  force(b)
  squares <- function(m) sum(m^2, axes = 1L, drop = FALSE)
  rows <- function(v) nv_broadcast_to(v, shape(b))
  last <- nv_while(
    list(i = 0L, out = 0 * b, residual = b, direction = b, rr = squares(b)),
    function(state) state$i < 10L * nrow(k) & max(state$rr / squares(b)) > 1e-24,
    function(state) {
      step <- k %*% state$direction
      length <- state$rr / sum(state$direction * step, axes = 1L, drop = FALSE)
      residual <- state$residual - rows(length) * step
      rr <- squares(residual)
      list(
        i = state$i + 1L, out = state$out + rows(length) * state$direction, residual = residual,
        direction = residual + rows(rr / state$rr) * state$direction, rr = rr
      )
    }
  )
  last$out
}

# Gradient of the negative log marginal likelihood, (y' k^-1 y + log det k) / 2. With a = k^-1 y, the
# derivative of the quadratic form is that of -a' k a with a held still, and the derivative of log det k that
# of sum(k^-1 * k) with k^-1 held still. So the systems are solved outside, and gradient() sees products and a
# kernel alone.
slope <- function(w, x, y) {
  inverse <- solve_cg(covariance(w, x), identity_matrix(nrow(x)))
  a <- inverse %*% y
  frozen <- inverse - a %*% t(a)
  gradient(function(w) 0.5 * sum(frozen * covariance(w, x)))(w)$w
}

fit <- jit(function(w, x, y, rate, steps) {
  nv_while(
    list(i = 0L, w = w),
    function(state) state$i < steps,
    function(state) {
      w <- Map(function(value, d) value - rate * d, state$w, slope(state$w, x, y))
      list(i = state$i + 1L, w = w)
    }
  )$w
})

# Mean of the function at new points, and its standard deviation.
posterior <- jit(function(w, x, y, new) {
  across <- kernel(new, x, w$log_length, w$log_signal)
  solved <- solve_cg(covariance(w, x), t(across))
  variance <- exp(2 * w$log_signal) - sum(t(across) * solved, axes = 1L)
  list(mean = sum(solved * nv_broadcast_to(y, shape(solved)), axes = 1L), sd = sqrt(variance))
})

# ---- the same in R alone, with chol() and optim() ----

covariance_in_r <- function(w, a, b) exp(2 * w[[2L]] - 0.5 * (outer(a, b, `-`) / exp(w[[1L]]))^2)
likelihood_in_r <- function(w) {
  u <- chol(covariance_in_r(w, points, points) + diag(exp(2 * w[[3L]]), n))
  0.5 * sum(backsolve(u, as.vector(y), transpose = TRUE)^2) + sum(log(diag(u)))
}
posterior_in_r <- function(w, new) {
  u <- chol(covariance_in_r(w, points, points) + diag(exp(2 * w[[3L]]), n))
  across <- backsolve(u, t(covariance_in_r(w, new, points)), transpose = TRUE)
  list(
    mean = as.vector(crossprod(across, backsolve(u, as.vector(y), transpose = TRUE))),
    sd = sqrt(exp(2 * w[[2L]]) - colSums(across^2))
  )
}

# ---- fit ----

start <- lapply(c(log_length = 0, log_signal = 0, log_noise = -1), nv_scalar, dtype = "f64")
in_numbers <- function(w) vapply(w, as.double, 0)
numerical <- function(f, w, h = 1e-5) {
  vapply(seq_along(w), function(i) (f(replace(w, i, w[i] + h)) - f(replace(w, i, w[i] - h))) / (2 * h), 0)
}
gradients <- cbind(
  differences = numerical(likelihood_in_r, in_numbers(start)), anvil = in_numbers(jit(slope)(start, x, y))
)

steps <- if (quick) 100L else 400L
parts <- 20L
rate <- if (quick) 0.02 else 0.005
w <- start
elapsed <- system.time(
  for (part in seq_len(parts)) {
    w <- fit(w, x, y, rate, steps %/% parts)
    if (interactive()) {
      cat(sprintf(
        "\r%4d steps, log likelihood %.4f", part * steps %/% parts, -likelihood_in_r(in_numbers(w))
      ))
    }
  },
  gcFirst = FALSE
)[["elapsed"]]
if (interactive()) cat("\n")

elapsed_in_r <- system.time(
  best <- optim(in_numbers(start), likelihood_in_r, method = "BFGS", control = list(reltol = 1e-14)),
  gcFirst = FALSE
)[["elapsed"]]
fitted <- lapply(posterior(w, x, y, as_column(grid)), as.vector)
expected <- posterior_in_r(in_numbers(w), grid)

errors <- c(
  "gradient at the start, relative" = max(abs(gradients[, "anvil"] / gradients[, "differences"] - 1)),
  "log marginal likelihood" = abs(likelihood_in_r(in_numbers(w)) - best$value),
  "parameters" = max(abs(in_numbers(w) - best$par)),
  "mean of the function" = max(abs(fitted$mean - expected$mean)),
  "standard deviation of the function" = max(abs(fitted$sd - expected$sd))
)
allowed <- c(1e-6, 1e-6, 1e-4, 1e-8, 1e-8)

# ---- report ----

cat("A Gaussian process through", n, "points,", steps, "steps of gradient descent\n\n")
print(round(cbind(start = exp(in_numbers(start)), anvil = exp(in_numbers(w)), "optim()" = exp(best$par)), 5L))
cat("\nLargest difference to R's\n")
cat(sprintf("  %-36s %8.1e   (allowed %.0e)\n", names(errors), errors, allowed), sep = "")
cat(sprintf("\n  %-36s %8.2f ms\n", "Time of a step", 1e3 * elapsed / steps))
# optim() takes each gradient from six likelihoods.
likelihoods <- best$counts[[1L]] + 6L * best$counts[[2L]]
cat(sprintf("  %-36s %8.2f ms\n", "Time of a likelihood in R alone", 1e3 * elapsed_in_r / likelihoods))

draw <- function() {
  upper <- fitted$mean + 2 * fitted$sd
  lower <- fitted$mean - 2 * fitted$sd
  plot(
    points, as.vector(y), type = "n", xlim = range(grid), ylim = range(upper, lower), xlab = "x", ylab = "y"
  )
  polygon(c(grid, rev(grid)), c(upper, rev(lower)), col = "#4682b440", border = NA)
  lines(grid, fitted$mean, col = "steelblue", lwd = 2)
  lines(grid, sin(2 * grid) + 0.3 * grid, col = "grey40", lty = 2)
  points(points, as.vector(y), pch = 19, col = "firebrick")
}
if (interactive() || !is.null(dev.list())) draw()

wrong <- which(!(errors < allowed))
if (length(wrong)) stop("Too far from R's: ", paste(names(errors)[wrong], collapse = ", "), ".")
cat("\nAll are within what is allowed: passed.\n")
