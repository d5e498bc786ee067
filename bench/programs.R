# Workloads with loops and gradients, and the programs in inst/examples.

# ---- W6: loops inside one call ----

# So many steps are data: one program does for any number of them.
repeat_steps <- function(steps, w, step) {
  nv_while(
    list(i = 0L, w = w),
    function(state) state$i < steps,
    function(state) list(i = state$i + 1L, w = step(state$w))
  )$w
}
workload("descent", "gradient descent, 1e4 steps", "W6", function(n, dtype) {
  list(uniform_vector(n, dtype), uniform_vector(n, dtype, 0.1, 1), uniform_vector(n, dtype),
    scalar(0.001, dtype), scalar(if (n < 100) 10L else 10000L, "i32"))
}, function(w, a, b, rate, steps) repeat_steps(steps, w, function(w) w - rate * 2 * a * (w - b)),
function(w, a, b, rate, steps) {
  for (i in seq_len(steps)) w <- w - rate * 2 * a * (w - b)
  w
}, sizes = c(100, 1000), quick = 100, target = 0.40, source = "W6 GD n = 100 / n = 1000", cold = 8L)
workload("logistic_loop", "logistic model in a loop", "W6", function(n, dtype) {
  list(nv_fill(0, c(20L, 1L), dtype = dtype), uniform_matrix(n, 20L, dtype),
    nv_tensor(matrix(as.numeric(runif(n) < 0.5)), dtype = dtype), scalar(0.1, dtype),
    scalar(if (n < 1e4) 100L else 1000L, "i32"))
}, function(beta, x, y, rate, steps) {
  repeat_steps(steps, beta, function(beta) beta - rate * (t(x) %*% (nv_logistic(x %*% beta) - y)) / nrow(x))
}, function(beta, x, y, rate, steps) {
  for (i in seq_len(steps)) beta <- beta - rate * crossprod(x, plogis(x %*% beta) - y) / nrow(x)
  beta
}, sizes = 1e4, quick = 1e3, target = 0.35, source = "W6 logistic 1e4x20", tolerance = 1e-3,
  size_label = function(n) paste0(format_size(n), "x20"))

# ---- W7: a network of 784, 256 and 10 ----

cross_entropy <- function(w, x, y) {
  eta <- x %*% w$w1
  eta <- nv_max(eta + nv_broadcast_to(w$b1, shape(eta)), 0) %*% w$w2
  eta <- eta + nv_broadcast_to(w$b2, shape(eta))
  eta <- eta - nv_broadcast_to(nv_stop_gradient(max(eta, axes = 2L, drop = FALSE)), shape(eta))
  mean(log(sum(exp(eta), axes = 2L)) - sum(y * eta, axes = 2L))
}
network_step <- function(w, x, y, rate) {
  Map(function(value, slope) value - rate * slope, w, gradient(cross_entropy, wrt = "w")(w, x, y)$w)
}
network_step_in_r <- function(w, x, y, rate) {
  hidden <- pmax(x %*% w$w1 + rep(w$b1, each = nrow(x)), 0)
  eta <- exp(hidden %*% w$w2 + rep(w$b2, each = nrow(x)))
  slope <- (eta / rowSums(eta) - y) / nrow(x)
  back <- tcrossprod(slope, w$w2) * (hidden > 0)
  list(
    w1 = w$w1 - rate * crossprod(x, back), b1 = w$b1 - rate * colSums(back),
    w2 = w$w2 - rate * crossprod(hidden, slope), b2 = w$b2 - rate * colSums(slope)
  )
}
network_data <- function(n, dtype) {
  inputs <- if (n < 128) 12L else 784L
  width <- if (n < 128) 6L else 256L
  w <- list(
    w1 = nv_tensor(matrix(rnorm(inputs * width, sd = sqrt(2 / inputs)), inputs), dtype = dtype),
    b1 = nv_fill(0, c(1L, width), dtype = dtype),
    w2 = nv_tensor(matrix(rnorm(width * 10L, sd = sqrt(2 / width)), width), dtype = dtype),
    b2 = nv_fill(0, c(1L, 10L), dtype = dtype)
  )
  classes <- diag(10L)[sample.int(10L, n, replace = TRUE), ]
  list(w, uniform_matrix(n, inputs, dtype), nv_tensor(classes, dtype = dtype), scalar(0.1, dtype))
}
network_label <- function(n) paste("batch", n)
workload("mlp_step", "network, one step", "W7", network_data, network_step, network_step_in_r, dtypes = "f32",
  sizes = 128, target = 1.0, source = "W7 MLP step", size_label = network_label, tolerance = 1e-3, cold = 8L)
workload("mlp_loop", "network, 20 steps in a loop", "W7", function(n, dtype) {
  c(network_data(n, dtype), list(scalar(20L, "i32")))
}, function(w, x, y, rate, steps) repeat_steps(steps, w, function(w) network_step(w, x, y, rate)),
function(w, x, y, rate, steps) {
  for (i in seq_len(steps)) w <- network_step_in_r(w, x, y, rate)
  w
}, dtypes = "f32", sizes = 128, quick = none, target = 1.05, source = "W7 MLP in loop",
  size_label = network_label, tolerance = 1e-3)

# ---- the programs in inst/examples, with the functions and data that the scripts define ----

# Evaluates assignments at the top level of a script, in its order.
define <- function(env, file, names) {
  path <- system.file("examples", file, package = "anvil", mustWork = TRUE)
  found <- character()
  for (e in parse(path, keep.source = FALSE)) {
    if (!is.call(e) || !identical(e[[1L]], quote(`<-`)) || !is.name(e[[2L]])) next
    if (!as.character(e[[2L]]) %in% names) next
    eval(e, env)
    found <- c(found, as.character(e[[2L]]))
  }
  missing <- setdiff(names, found)
  if (length(missing)) stop(file, " no longer defines ", paste(missing, collapse = ", "))
  env
}

# A workload of the jitted function `name` of a script. `data` gets an environment with `names` of it, and the
# size.
program <- function(id, file, name, names, what, data, ..., quick_example = function(n) FALSE) {
  env <- NULL
  workload(id, what, "program", data = function(n, dtype) {
    env <<- define(list2env(list(quick = quick_example(n)), parent = globalenv()), file, names)
    data(env, n)
  }, make = function() {
    define(env, file, name)
    env[[name]]
  }, ...)
}
steps_label <- function(n) paste(format_size(n), "steps")
whole <- function(n) nv_scalar(as.integer(n), "i32")

program("linear_model", "linear-model.R", "in_while",
  c("weight", "predictors", "data", "start", "loss", "descend"),
  "linear model, nv_while()", function(e, n) list(e$start, e$data, nv_scalar(0.1, "f64"), whole(n)),
  dtypes = "f64", sizes = 1000, tiny = 20, size_label = steps_label, cold = 1,
  r = function(w, data, rate, steps) {
    x <- data$x
    for (i in seq_len(steps)) {
      residual <- x %*% w$beta + w$alpha - data$y
      w$alpha <- w$alpha - rate * 2 * mean(residual)
      w$beta <- w$beta - rate * 2 * crossprod(x, residual) / nrow(x)
    }
    w
  })

program("logistic_regression", "logistic-regression.R", "train",
  c("counts", "passengers", "predictors", "survived", "loss", "x", "y", "start"),
  "logistic regression, 50 losses kept",
  function(e, n) list(e$start, e$x, e$y, nv_scalar(0.1, "f32"), whole(n), 50L), dtypes = "f32", sizes = 1000,
  quick = 200, tiny = 50, size_label = steps_label, tolerance = 1e-3, cold = 50,
  r = function(w, x, y, rate, epochs, slots) {
    each <- epochs %/% slots
    losses <- numeric(slots)
    for (i in seq_len(epochs)) {
      p <- pmin(pmax(plogis(x %*% w$beta + w$alpha), 1e-7), 1 - 1e-7)
      losses[(i - 1L) %/% each + 1L] <- -mean(y * log(p) + (1 - y) * log(1 - p))
      w$alpha <- w$alpha - rate * mean(p - y)
      w$beta <- w$beta - rate * crossprod(x, p - y) / nrow(x)
    }
    list(w = w, losses = losses)
  })

program("mlp", "mlp.R", "train",
  c("n", "p", "truth", "draw_data", "states", "training", "initial", "predict_mlp", "loss", "descend"),
  "network of 40 and 40, batches of 32", function(e, n) {
    list(e$initial(c(e$p, 40L, 40L, 1L), e$states[[3L]]), e$training, whole(n), nv_scalar(1e-3, "f32"), 32L)
  }, dtypes = "f32", sizes = 320, quick = 32, tiny = 4, size_label = steps_label, tolerance = 1e-3, cold = 1)

program("metropolis", "metropolis.R", "walk",
  c("spread", "bend", "log_density", "move", "theta", "chain", "scale"), "Metropolis sampler",
  function(e, n) list(e$chain, whole(n), nv_scalar(e$scale, "f64")),
  dtypes = "f64", sizes = 20000, quick = 5000, tiny = 5000, size_label = steps_label, cold = 1,
  # The random numbers are not those of the others: what has to agree is the share of the proposals that were
  # taken.
  result = function(chain, args) as.double(chain$accepted) / as.double(args[[2L]]), tolerance = 0.1,
  r = function(chain, steps, scale) {
    log_density <- function(theta) -0.5 * ((theta[1L] / 1.5)^2 + (theta[2L] - 0.5 * (theta[1L]^2 - 1.5^2))^2)
    theta <- chain$theta
    now <- log_density(theta)
    accepted <- 0
    for (i in seq_len(steps)) {
      proposal <- theta + scale * rnorm(2L)
      proposed <- log_density(proposal)
      if (log(runif(1L)) < proposed - now) {
        theta <- proposal
        now <- proposed
        accepted <- accepted + 1
      }
    }
    accepted / steps
  })

program("gaussian_process", "gaussian-process.R", "fit",
  c("n", "unit", "points", "noise", "as_column", "x", "y", "kernel", "identity_matrix", "covariance",
    "solve_cg", "slope", "start"),
  "Gaussian process, fit", function(e, n) list(e$start, e$x, e$y, nv_scalar(0.005, "f64"), whole(20L)),
  dtypes = "f64", sizes = 80, quick = 24, tiny = 24, size_label = function(n) paste(n, "points, 20 steps"),
  quick_example = function(n) n < 80, tolerance = 1e-6, cold = 24)
