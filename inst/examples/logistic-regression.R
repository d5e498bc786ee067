# Who survives the Titanic: a logistic regression on 2201 passengers, fitted by 50,000 steps of gradient
# descent on all of the data, in a single nv_while() that also writes down the loss. The coefficients have to
# be within 1e-3 of those of glm().
#
# Run it with source(system.file("examples/logistic-regression.R", package = "anvil")); it takes about 5
# seconds, or half a second after Sys.setenv(ANVIL_EXAMPLE = "quick"). It draws when R is interactive, or
# where a device is open.
library(anvil)
quick <- identical(Sys.getenv("ANVIL_EXAMPLE"), "quick")

# ---- data: one row for each passenger ----

counts <- as.data.frame(Titanic)
passengers <- counts[rep(seq_len(nrow(counts)), counts$Freq), c("Class", "Sex", "Age", "Survived")]
predictors <- scale(model.matrix(~ Class + Sex + Age, passengers)[, -1L])
survived <- as.matrix(as.numeric(passengers$Survived == "Yes"))

# ---- model: cross entropy of the predicted probabilities ----

loss <- function(w, x, y) {
  p <- nv_clamp(1e-7, nv_logistic(x %*% w$beta + w$alpha), 1 - 1e-7)
  -mean(y * log(p) + (1 - y) * log(1 - p))
}

# The state holds the losses too: epoch i writes in the slot that it belongs to, and the last one of a slot
# stays there.
train <- jit(function(w, x, y, rate, epochs, slots) {
  each <- epochs %/% slots
  last <- nv_while(
    list(epoch = 0L, w = w, losses = nv_fill(0, slots)),
    function(state) state$epoch < epochs,
    function(state) {
      out <- value_and_gradient(loss, wrt = "w")(state$w, x, y)
      losses <- state$losses
      losses[state$epoch %/% each + 1L] <- out$value
      w <- Map(function(value, slope) value - rate * slope, state$w, out$gradient$w)
      list(epoch = state$epoch + 1L, w = w, losses = losses)
    }
  )
  last[c("w", "losses")]
}, static = "slots")

# ---- training ----

x <- nv_tensor(predictors)
y <- nv_tensor(survived)
start <- list(alpha = nv_scalar(0, dtype = "f32"), beta = nv_fill(0, c(ncol(x), 1L)))
rate <- if (quick) 0.1 else 0.01
epochs <- if (quick) 4000L else 50000L

elapsed <- system.time(trained <- train(start, x, y, rate, epochs, 50L), gcFirst = FALSE)[["elapsed"]]
w <- trained$w
losses <- as.vector(trained$losses)

# ---- the same in R alone, for the time of a step, and glm() for the result ----

in_r <- function(epochs) {
  alpha <- 0
  beta <- matrix(0, ncol(predictors), 1L)
  for (i in seq_len(epochs)) {
    residual <- plogis(predictors %*% beta + alpha) - survived
    alpha <- alpha - rate * mean(residual)
    beta <- beta - rate * crossprod(predictors, residual) / nrow(predictors)
  }
}
elapsed_in_r <- system.time(in_r(500L), gcFirst = FALSE)[["elapsed"]]

fit <- glm(survived ~ predictors, family = binomial)
coefficients <- cbind("glm()" = coef(fit), anvil = c(as.double(w$alpha), as.vector(w$beta)))
rownames(coefficients) <- c("(Intercept)", colnames(predictors))
error <- max(abs(coefficients[, "anvil"] - coefficients[, "glm()"]))

# ---- report ----

cat("Survival on the Titanic:", epochs, "epochs of gradient descent on", nrow(predictors), "passengers\n\n")
print(round(cbind(coefficients, difference = coefficients[, 2L] - coefficients[, 1L]), 6L))
cat(sprintf("\n%-32s %12.6f\n", "Loss at the end", losses[50L]))
cat(sprintf("%-32s %12.6f\n", "Loss of glm()", fit$deviance / 2 / nrow(predictors)))
cat(sprintf("%-32s %9.0f us\n", "Time of an epoch", 1e6 * elapsed / epochs))
cat(sprintf("%-32s %9.0f us\n", "Time of an epoch in R alone", 1e6 * elapsed_in_r / 500))

# The loss on its way down, above that of glm(), until only the rounding of f32 is left.
draw <- function() {
  above <- losses - fit$deviance / 2 / nrow(predictors)
  shown <- seq_len(which(c(above, 0) < 1e-7)[1L] - 1L)
  plot(
    shown * epochs / 50, above[shown], type = "l", log = "y", col = "firebrick", lwd = 2,
    xlab = "Epoch", ylab = "Loss above that of glm()"
  )
}
if (interactive() || !is.null(dev.list())) draw()

if (!(error < 1e-3)) stop(sprintf("A coefficient is off by %.1e; 1e-3 is allowed.", error))
cat(sprintf("\nThe largest difference to glm() is %.1e, allowed is 1e-03: passed.\n", error))
