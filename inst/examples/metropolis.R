# A random-walk Metropolis sampler in f64, of a density with the shape of a banana whose moments are known.
# 5,000 calls of a program that takes 200 steps give 5,000 draws that hardly depend on each other. Their
# moments have to be within five standard errors of the true ones.
#
# Run it with source(system.file("examples/metropolis.R", package = "anvil")); it takes about 5 seconds, or
# half a second after Sys.setenv(ANVIL_EXAMPLE = "quick"), which makes 500 calls. It draws when R is
# interactive, or where a graphics device is open.
library(anvil)
quick <- identical(Sys.getenv("ANVIL_EXAMPLE"), "quick")

# ---- density: theta[1] is normal, of standard deviation 1.5; theta[2] is normal around a parabola of it ----

spread <- 1.5
bend <- 0.5
log_density <- function(theta) {
  center <- bend * (theta[1L]^2 - spread^2)
  -0.5 * ((theta[1L] / spread)^2 + (theta[2L] - center)^2)
}
truth <- c(
  "mean of theta[1]" = 0,
  "mean of theta[2]" = 0,
  "variance of theta[1]" = spread^2,
  "variance of theta[2]" = 1 + 2 * bend^2 * spread^4,
  "covariance" = 0,
  "covariance of theta[1]^2 and theta[2]" = 2 * bend * spread^4
)

# ---- sampler ----

# One step: a proposal nearby, which is taken with the probability of the ratio of both densities.
move <- function(chain, scale) {
  noise <- nv_rnorm(2L, chain$random, dtype = "f64")
  uniform <- nv_runif(integer(), noise$state, dtype = "f64")
  proposal <- chain$theta + scale * noise$value
  proposed <- list(theta = proposal, log_density = log_density(proposal), accepted = chain$accepted + 1L)
  accept <- log(uniform$value) < proposed$log_density - chain$log_density
  c(nv_if(accept, proposed, chain[names(proposed)]), list(random = uniform$state))
}

walk <- jit(function(chain, steps, scale) {
  nv_while(
    list(i = 0L, chain = chain),
    function(state) state$i < steps,
    function(state) list(i = state$i + 1L, chain = move(state$chain, scale))
  )$chain
})

# ---- sampling ----

theta <- nv_tensor(c(0, 0), dtype = "f64")
chain <- list(
  theta = theta, log_density = log_density(theta), accepted = nv_scalar(0L, dtype = "i32"),
  random = nv_rng_state(2024)
)
calls <- if (quick) 500L else 5000L
steps <- 200L
scale <- 2

draws <- matrix(0, calls, 2L, dimnames = list(NULL, c("theta[1]", "theta[2]")))
elapsed <- system.time(
  for (i in seq_len(calls)) {
    chain <- walk(chain, steps, scale)
    draws[i, ] <- as.vector(chain$theta)
    if (interactive() && i %% 100L == 0L) cat(sprintf("\r%6d of %d draws", i, calls))
  },
  gcFirst = FALSE
)[["elapsed"]]
if (interactive()) cat("\n")

# The same step in R alone, for its time.
walk_in_r <- function(steps) {
  theta <- c(0, 0)
  now <- log_density(theta)
  for (i in seq_len(steps)) {
    proposal <- theta + scale * rnorm(2L)
    proposed <- log_density(proposal)
    if (log(runif(1L)) < proposed - now) {
      theta <- proposal
      now <- proposed
    }
  }
}
elapsed_in_r <- system.time(walk_in_r(20000L), gcFirst = FALSE)[["elapsed"]]

# ---- moments: means of columns, with standard errors from 20 consecutive blocks of draws ----

columns <- cbind(
  draws,
  draws[, 1L]^2,
  draws[, 2L]^2,
  draws[, 1L] * draws[, 2L],
  (draws[, 1L]^2 - spread^2) * draws[, 2L]
)
blocks <- rowsum(columns, rep(1:20, each = calls / 20)) / (calls / 20)
moments <- data.frame(
  truth = truth, estimate = colMeans(columns), error = apply(blocks, 2L, sd) / sqrt(20),
  row.names = names(truth)
)
moments$z <- (moments$estimate - moments$truth) / moments$error

# ---- report ----

cat("A random walk through a banana:", calls, "draws,", steps, "steps from one to the next\n\n")
cat(sprintf("  %-40s %8s %10s %16s %6s\n", "", "truth", "estimate", "standard error", "z"))
cat(sprintf(
  "  %-40s %8.2f %10.3f %16.3f %6.1f\n", names(truth), moments$truth, moments$estimate, moments$error,
  moments$z
), sep = "")
total <- as.double(calls) * steps
cat(sprintf("\n  %-40s %7.0f%%\n", "Proposals that were taken", 100 * as.double(chain$accepted) / total))
cat(sprintf("  %-40s %8.2f us\n", "Time of a step", 1e6 * elapsed / total))
cat(sprintf("  %-40s %8.2f us\n", "Time of a step in R alone", 1e6 * elapsed_in_r / 20000))

# The draws, and where theta[2] has its mean given theta[1].
draw <- function() {
  plot(
    draws, pch = 16, cex = 0.5, col = "#4682b480", xlab = expression(theta[1]), ylab = expression(theta[2])
  )
  curve(bend * (x^2 - spread^2), add = TRUE, col = "firebrick", lwd = 2)
}
if (interactive() || !is.null(dev.list())) draw()

wrong <- which(!(abs(moments$z) < 5))
if (length(wrong)) {
  stop("Off by more than five standard errors: ", paste(names(truth)[wrong], collapse = ", "), ".")
}
cat("\nAllowed are five standard errors: passed.\n")
