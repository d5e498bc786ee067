# Workloads of transformations: Hessians, gradients of each example, many fits at once.

softplus_loss <- function(b, x, y) {
  eta <- nv_flatten(x %*% b)
  sum(nv_softplus(eta) - y * eta)
}
outcomes <- function(n) as.numeric(runif(n) < 0.5)

workload("hessian", "Hessian of a logistic model", "transform", function(n, dtype) {
  b <- nv_tensor(rnorm(50L) / 10, dtype = dtype)
  list(b, uniform_matrix(n, 50L, dtype), nv_tensor(outcomes(n), dtype = dtype))
}, function(b, x, y) hessian(softplus_loss, "b")(b, x, y), function(b, x, y) {
  p <- plogis(as.vector(x %*% b))
  crossprod(x, p * (1 - p) * x)
}, dtypes = "f64", sizes = 1e4, quick = 1e4, target = 1.0, source = "Hessian 1e4x50",
  result = function(out, args) out$b$b, size_label = function(n) paste0(format_size(n), "x50"), cold = 8L,
  cold_target = 0.05)

# The loss of one example, of a network with 32 units.
example_loss <- function(w, x, y) {
  hidden <- tanh(nv_flatten(x %*% w$w1) + w$b1)
  eta <- nv_flatten(hidden %*% w$w2) + w$b2
  top <- max(eta)
  log(sum(exp(eta - top))) + top - sum(eta * y)
}
workload("per_example", "gradient of each example", "transform", function(n, dtype) {
  w <- list(
    w1 = nv_tensor(matrix(rnorm(64L * 32L) / 8, 64L), dtype = dtype), b1 = nv_fill(0, 32L, dtype),
    w2 = nv_tensor(matrix(rnorm(32L * 10L) / 5, 32L), dtype = dtype), b2 = nv_fill(0, 10L, dtype)
  )
  classes <- diag(10L)[sample.int(10L, n, replace = TRUE), ]
  list(w, uniform_matrix(n, 64L, dtype), nv_tensor(classes, dtype = dtype))
}, function(w, x, y) vmap(gradient(example_loss, "w"), in_axes = list(w = NULL, x = 1L, y = 1L))(w, x, y)$w,
dtypes = "f32", sizes = 256, quick = 256, target = 1.0, source = "per-example gradients", tolerance = 1e-3,
size_label = function(n) paste("batch", n), cold = 8L, cold_target = 0.05)

# Newton's method on small logistic models with three coefficients and a ridge.
penalised_loss <- function(b, x, y) softplus_loss(b, x, y) + 0.05 * sum(b * b)
solve_of_three <- function(h, g) {
  c11 <- h[2, 2] * h[3, 3] - h[2, 3] * h[2, 3]
  c12 <- h[1, 3] * h[2, 3] - h[1, 2] * h[3, 3]
  c13 <- h[1, 2] * h[2, 3] - h[1, 3] * h[2, 2]
  c22 <- h[1, 1] * h[3, 3] - h[1, 3] * h[1, 3]
  c23 <- h[1, 2] * h[1, 3] - h[1, 1] * h[2, 3]
  c33 <- h[1, 1] * h[2, 2] - h[1, 2] * h[1, 2]
  one <- function(x) nv_reshape(x / (h[1, 1] * c11 + h[1, 2] * c12 + h[1, 3] * c13), 1L)
  nv_concatenate(
    one(c11 * g[1] + c12 * g[2] + c13 * g[3]), one(c12 * g[1] + c22 * g[2] + c23 * g[3]),
    one(c13 * g[1] + c23 * g[2] + c33 * g[3]), axis = 1L
  )
}
newton_fit <- function(x, y) {
  nv_for(8L, nv_fill(0, 3L, dtype(x)), function(i, b) {
    d <- value_gradient_hessian(penalised_loss, "b")(b, x, y)
    b - solve_of_three(d$hessian$b$b, d$gradient$b)
  })
}
workload("newton", "Newton fits of 50x3", "transform", function(n, dtype) {
  list(nv_tensor(array(rnorm(n * 150), c(n, 50L, 3L)), dtype = dtype),
    nv_tensor(matrix(outcomes(n * 50L), n), dtype = dtype))
}, function(x, y) vmap(newton_fit)(x, y), dtypes = "f64", sizes = 1000, quick = 1000, target = 0.5,
source = "vmap of Newton fits", cold = 8L, cold_target = 0.05)

# Chains of a random walk by Metropolis in two dimensions. The random numbers are not those of the others: what
# has to agree is the share of the proposals that were taken.
chain_density <- function(theta) -0.5 * ((theta[1] / 1.5)^2 + (theta[2] - 0.5 * (theta[1]^2 - 2.25))^2)
accepted_share <- function(theta, state, steps) {
  start <- list(theta = theta, now = chain_density(theta), accepted = nv_scalar(0, dtype(theta)), state = state)
  end <- nv_for(steps, start, function(i, theta, now, accepted, state) {
    normal <- nv_rnorm(2L, state, dtype = dtype(theta))
    proposal <- theta + 0.8 * normal[[2L]]
    proposed <- chain_density(proposal)
    uniform <- nv_runif(integer(), normal[[1L]], dtype = dtype(theta))
    accept <- log(uniform[[2L]]) < proposed - now
    list(
      theta = nv_ifelse(accept, proposal, theta), now = nv_ifelse(accept, proposed, now),
      accepted = accepted + nv_ifelse(accept, 1, 0), state = uniform[[1L]]
    )
  })
  end$accepted / steps
}
workload("chains", "64 Metropolis chains", "transform", function(n, dtype) {
  states <- nv_split_state(nv_rng_state(1L), 64L)
  states <- nv_reshape(do.call(nv_concatenate, c(states, axis = 1L)), c(2L, 64L))
  list(nv_fill(0, c(64L, 2L), dtype), states, n)
}, function(theta, states, steps) {
  mean(vmap(accepted_share, in_axes = list(theta = 1L, state = 2L, steps = NULL))(theta, states, steps))
}, dtypes = "f64", sizes = 1e4, quick = 1000, target = 0.5, source = "64 chains", static = "steps",
tolerance = 0.1, size_label = function(n) paste(format_size(n), "steps"), cold = 8L, cold_target = 0.05)
