# A linear model trained by gradient descent, three ways: an R loop over a jitted step, a loop that is
# unrolled into the program, and nv_while(). All three take the same steps, and end at the coefficients of
# lm().
#
# Run it with source(system.file("examples/linear-model.R", package = "anvil")); it takes about a second. It
# draws when R is interactive, or where a graphics device is open.
library(anvil)

# ---- data: fuel use of the cars in mtcars, by their weight and its square ----

weight <- (mtcars$wt - mean(mtcars$wt)) / sd(mtcars$wt)
predictors <- cbind(weight = weight, square = weight^2)
data <- list(x = nv_tensor(predictors, dtype = "f64"), y = nv_tensor(as.matrix(mtcars$mpg), dtype = "f64"))

# ---- model ----

start <- list(alpha = nv_scalar(0, dtype = "f64"), beta = nv_fill(0, c(2L, 1L), dtype = "f64"))
loss <- function(w, data) mean((data$x %*% w$beta + w$alpha - data$y)^2)

# One step down the gradient.
descend <- function(w, data, rate) {
  g <- gradient(loss, wrt = "w")(w, data)$w
  Map(function(value, slope) value - rate * slope, w, g)
}

# ---- three ways to repeat it ----

step <- jit(descend)
in_r <- function(w, data, rate, steps) {
  for (i in seq_len(steps)) w <- step(w, data, rate)
  w
}

# `steps` is static: R's loop runs while the function is traced, and writes the step down so many times.
unrolled <- jit(function(w, data, rate, steps) {
  for (i in seq_len(steps)) w <- descend(w, data, rate)
  w
}, static = "steps")

# Here `steps` is data, and the same program does for any number of them.
in_while <- jit(function(w, data, rate, steps) {
  last <- nv_while(
    list(i = 0L, w = w),
    function(state) state$i < steps,
    function(state) list(i = state$i + 1L, w = descend(state$w, data, rate))
  )
  last$w
})

# ---- all three for the same number of steps, with their times ----

steps <- 1000L
rate <- 0.1
# A program of 1,000 steps would be a long one: 100 steps, ten times.
unrolled_in_parts <- function(w, data, rate, steps) {
  for (i in seq_len(steps %/% 100L)) w <- unrolled(w, data, rate, 100L)
  w
}
ways <- list(
  "R loop over jit()" = in_r, "unrolled, 100 at a time" = unrolled_in_parts, "nv_while()" = in_while
)

seconds <- function(expr) system.time(expr, gcFirst = FALSE)[["elapsed"]]
runs <- lapply(ways, function(train) {
  first <- seconds(w <- train(start, data, rate, steps))
  list(
    w = w, first = first,
    again = median(replicate(5L, seconds(for (i in 1:5) train(start, data, rate, steps)))) / 5
  )
})

coefficients <- sapply(runs, function(run) c(as.double(run$w$alpha), as.vector(run$w$beta)))
fit <- lm(mpg ~ ., data.frame(mpg = mtcars$mpg, predictors))
rownames(coefficients) <- names(coef(fit))
error <- apply(abs(coefficients - coef(fit)), 2L, max)

# ---- report ----

cat("Miles per gallon of", nrow(mtcars), "cars:", steps, "steps of gradient descent\n\n")
print(round(cbind("lm()" = coef(fit), coefficients), 6L))
cat("\n                           largest difference   first run   each step\n")
cat("                                      to lm()                  later\n")
for (way in names(runs)) {
  cat(sprintf(
    "  %-24s %19.1e %8.0f ms %8.2f us\n", way, error[[way]], 1e3 * runs[[way]]$first,
    1e6 * runs[[way]]$again / steps
  ))
}

# The data and the fitted curve.
draw <- function() {
  plot(
    mtcars$wt, mtcars$mpg, pch = 19, col = "steelblue", xlab = "Weight in 1000 lbs", ylab = "Miles per gallon"
  )
  grid <- seq(min(mtcars$wt), max(mtcars$wt), length.out = 100L)
  z <- (grid - mean(mtcars$wt)) / sd(mtcars$wt)
  lines(grid, cbind(1, z, z^2) %*% coefficients[, "nv_while()"], col = "firebrick", lwd = 2)
}
if (interactive() || !is.null(dev.list())) draw()

if (!all(error < 1e-8)) stop(sprintf("Gradient descent is off by %.1e; 1e-8 is allowed.", max(error)))
cat("\nAllowed is a difference of 1e-08: passed.\n")
