# A multilayer perceptron on a regression task: training in one nv_while() that takes its batches as slices of
# the data, and as an R loop over a jitted step that gives its weights away. Both take the same steps and end
# at the same weights. Depths, widths and batches vary; then one network is trained until it predicts new
# data, and is compared with lm().
#
# Run it with source(system.file("examples/mlp.R", package = "anvil")); it takes about 5 seconds, or one
# second after Sys.setenv(ANVIL_EXAMPLE = "quick"). It draws when R is interactive, or where a graphics device
# is open.
library(anvil)
quick <- identical(Sys.getenv("ANVIL_EXAMPLE"), "quick")

# ---- data: a wave, a product and a line, with noise; seven of ten predictors have no part in it ----

n <- 1024L
p <- 10L
truth <- function(x) sin(2 * x[, 1L]) + x[, 2L] * x[, 3L] + 0.5 * x[, 1L]
draw_data <- function(state, noise) {
  x <- nv_rnorm(c(n, p), state)
  e <- nv_rnorm(c(n, 1L), x$state, sd = noise)
  list(x = x$value, y = nv_reshape(truth(x$value), c(n, 1L)) + e$value)
}
states <- nv_split_state(nv_rng_state(1), 3)
training <- draw_data(states[[1L]], noise = 0.1)
test <- draw_data(states[[2L]], noise = 0)

# ---- model ----

# Weights for layers of these sizes, and zeros for the biases.
initial <- function(sizes, state) {
  states <- nv_split_state(state, length(sizes) - 1L)
  Map(function(from, to, state) {
    list(w = nv_rnorm(c(from, to), state, sd = sqrt(2 / from))$value, b = nv_fill(0, c(1L, to)))
  }, head(sizes, -1L), sizes[-1L], states)
}

predict_mlp <- function(layers, x) {
  for (i in seq_along(layers)) {
    eta <- x %*% layers[[i]]$w
    eta <- eta + nv_broadcast_to(layers[[i]]$b, shape(eta))
    x <- if (i < length(layers)) nv_max(eta, 0) else eta
  }
  x
}
loss <- function(layers, x, y) mean((predict_mlp(layers, x) - y)^2)

# One step of gradient descent on batch number i, counted from 0; after the last one the first comes again.
descend <- function(layers, data, i, rate, batch) {
  first <- (i %% (nrow(data$x) %/% batch)) * batch + 1L
  x <- nv_dynamic_slice(data$x, first, 1L, slice_sizes = c(batch, ncol(data$x)))
  y <- nv_dynamic_slice(data$y, first, 1L, slice_sizes = c(batch, 1L))
  slope <- gradient(loss, wrt = "layers")(layers, x, y)$layers
  Map(function(layer, d) list(w = layer$w - rate * d$w, b = layer$b - rate * d$b), layers, slope)
}

# ---- two ways to train ----

train <- jit(function(layers, data, steps, rate, batch) {
  nv_while(
    list(i = 0L, layers = layers),
    function(state) state$i < steps,
    function(state) list(i = state$i + 1L, layers = descend(state$layers, data, state$i, rate, batch))
  )$layers
}, static = "batch")

# The old weights are given away, and their memory is used for the new ones.
step <- jit(descend, static = "batch", donate = "layers")
train_in_r <- function(layers, data, steps, rate, batch) {
  for (i in seq_len(steps)) layers <- step(layers, data, i - 1L, rate, batch)
  layers
}

# ---- networks of different sizes: do both ways agree, and how long do they take? ----

networks <- expand.grid(batch = c(32L, 128L), width = c(10L, 40L, 160L), layers = c(0L, 4L, 8L))
networks <- networks[networks$layers > 0L | networks$width == 10L, c("layers", "width", "batch")]
if (quick) networks <- networks[networks$width == 10L & networks$batch == 32L, ]

seconds <- function(expr) system.time(expr, gcFirst = FALSE)[["elapsed"]]
weights_of <- function(layers) unlist(lapply(layers, lapply, as.vector))

compare <- function(layers, width, batch, epochs = 10L) {
  sizes <- c(p, rep(width, layers), 1L)
  fresh <- function() initial(sizes, states[[3L]])
  steps <- epochs * (n %/% batch)
  compiling <- seconds(train(fresh(), training, 1L, 1e-3, batch)) +
    seconds(step(fresh(), training, 0L, 1e-3, batch))
  # Small networks several times, for clocks that count milliseconds.
  times <- if (width * layers < 100L) 10L else 1L
  in_while <- seconds(for (i in seq_len(times)) a <- train(fresh(), training, steps, 1e-3, batch)) / times
  in_r <- seconds(for (i in seq_len(times)) b <- train_in_r(fresh(), training, steps, 1e-3, batch)) / times
  data.frame(
    layers, width, batch,
    weights = length(weights_of(a)),
    loss_before = as.double(loss(fresh(), training$x, training$y)),
    loss_after = as.double(loss(a, training$x, training$y)),
    difference = max(abs(weights_of(a) - weights_of(b))),
    ms_compiling = 1e3 * compiling, us_while = 1e6 * in_while / steps, us_r_loop = 1e6 * in_r / steps
  )
}
results <- do.call(rbind, Map(compare, networks$layers, networks$width, networks$batch))

cat("A multilayer perceptron, n =", n, "and p =", p, "\n\n")
cat("10 epochs with each network\n\n")
cat("   layers, width    batch   weights   loss before    after   compiling    a batch, in     in an\n")
cat("                                                            both ways     nv_while()    R loop\n")
cat(sprintf(
  "  %14s %8d %9d %13.3f %8.3f %8.0f ms %11.0f us %6.0f us\n",
  ifelse(results$layers, paste(results$layers, "x", results$width), "none"), results$batch, results$weights,
  results$loss_before, results$loss_after, results$ms_compiling, results$us_while, results$us_r_loop
), sep = "")

# ---- one network, until it is good ----

rate <- 0.03
batch <- 32L
epochs <- if (quick) 150L else 600L
parts <- 30L
layers <- initial(c(p, 40L, 40L, 1L), states[[3L]])
measure <- jit(function(layers, data) loss(layers, data$x, data$y))

curve <- data.frame()
elapsed <- 0
for (part in seq_len(parts)) {
  steps <- epochs %/% parts * (n %/% batch)
  elapsed <- elapsed + seconds(layers <- train(layers, training, steps, rate, batch))
  now <- data.frame(
    epoch = part * epochs %/% parts,
    training = as.double(measure(layers, training)),
    test = as.double(measure(layers, test))
  )
  curve <- rbind(curve, now)
  if (interactive()) {
    cat(sprintf("\r%4d epochs, loss %.4f, on new data %.4f", now$epoch, now$training, now$test))
  }
}
if (interactive()) cat("\n")

as_data <- function(data) data.frame(y = as.vector(data$y), as_array(data$x))
fit <- lm(y ~ ., as_data(training))
explained <- function(prediction) 1 - mean((prediction - as.vector(test$y))^2) / var(as.vector(test$y))
r_squared <- c(
  lm = explained(predict(fit, as_data(test))), mlp = explained(as.vector(predict_mlp(layers, test$x)))
)

cat(sprintf("\nLayers of 40 and 40, %d epochs in %.1f seconds\n\n", epochs, elapsed))
cat(sprintf(
  "  Share of the variance of new data that is explained by lm() %9.1f%%\n", 100 * r_squared[["lm"]]
))
cat(sprintf("  %-59s %9.1f%%\n", "by the network", 100 * r_squared[["mlp"]]))

draw <- function() {
  matplot(
    curve$epoch, curve[c("training", "test")], type = "l", lty = 1, lwd = 2, log = "y",
    col = c("steelblue", "firebrick"), xlab = "Epoch", ylab = "Mean squared error"
  )
  legend("topright", c("training", "new data"), col = c("steelblue", "firebrick"), lwd = 2, bty = "n")
}
if (interactive() || !is.null(dev.list())) draw()

if (!all(results$difference == 0)) {
  stop("The two ways to train differ by up to ", format(max(results$difference)), ".")
}
if (!all(results$loss_after < results$loss_before)) stop("A network did not learn.")
if (!(r_squared[["mlp"]] > 0.8)) {
  stop(sprintf("The network explains %.1f%%, not 80%%.", 100 * r_squared[["mlp"]]))
}
cat("\nBoth ways give the same weights, and the network explains more than 80%: passed.\n")
