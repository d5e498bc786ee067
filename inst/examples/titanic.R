# Who survives the Titanic: predictions of a logistic regression and their log-likelihood, computed by one
# jitted function in f32 and in f64 with coefficients from glm(), and compared with R's own predict() and
# logLik(). Differences of more than 1e-6 in f32 or 1e-12 in f64, relative to R's value, are an error.
#
# Run it with source(system.file("examples/titanic.R", package = "anvil")).
library(anvil)

# ---- data and model, in plain R ----

counts <- as.data.frame(Titanic)
passengers <- counts[rep(seq_len(nrow(counts)), counts$Freq), c("Class", "Sex", "Age", "Survived")]
fit <- glm(Survived ~ Class + Sex + Age, family = binomial, data = passengers)
x <- model.matrix(fit)
survived <- as.matrix(passengers$Survived == "Yes")

# ---- the same model with anvil ----

# The likelihood on the logit scale: a passenger who survived adds -log(1 + exp(-eta)), any other -log(1 +
# exp(eta)).
model <- jit(function(x, survived, coefficients) {
  eta <- x %*% coefficients
  list(
    probability = nv_logistic(eta),
    log_likelihood = -sum(log1p(exp(nv_ifelse(survived, -eta, eta))))
  )
})

arguments <- function(dtype) {
  list(
    x = nv_tensor(x, dtype = dtype),
    survived = nv_tensor(survived),
    coefficients = nv_tensor(as.matrix(coef(fit)), dtype = dtype)
  )
}
run <- function(dtype) {
  out <- do.call(model, arguments(dtype))
  list(probability = as.vector(out$probability), log_likelihood = as.double(out$log_likelihood))
}

# R's answers: predict() and logLik() of the fitted model.
results <- list(
  R = list(
    probability = as.vector(predict(fit, type = "response")),
    log_likelihood = as.numeric(logLik(fit))
  ),
  f32 = run("f32"),
  f64 = run("f64")
)

# ---- differences, relative to R's value: of each passenger's probability, and of the log-likelihood ----

relative <- function(value, truth) max(abs(value - truth) / abs(truth))
differences <- sapply(c("f32", "f64"), function(dtype) {
  c(
    probability = relative(results[[dtype]]$probability, results$R$probability),
    log_likelihood = relative(results[[dtype]]$log_likelihood, results$R$log_likelihood)
  )
})
allowed <- c(f32 = 1e-6, f64 = 1e-12)

# ---- time of one call, without that of making tensors of the data ----

plain <- function(x, survived, coefficients) {
  eta <- x %*% coefficients
  list(probability = plogis(eta), log_likelihood = -sum(log1p(exp(ifelse(survived, -eta, eta)))))
}
microseconds <- function(f, arguments, calls = 200L) {
  one <- eval(
    substitute(function() for (i in seq_len(calls)) f(x, survived, coefficients)), c(list(f = f), arguments)
  )
  one()
  median(replicate(5L, system.time(one(), gcFirst = FALSE)[["elapsed"]])) / calls * 1e6
}
times <- c(
  R = microseconds(plain, list(x = x, survived = survived, coefficients = coef(fit))),
  f32 = microseconds(model, arguments("f32")),
  f64 = microseconds(model, arguments("f64"))
)

# ---- report ----

cat("Survival on the Titanic: logistic regression on", nrow(x), "passengers\n\n")

cat("Coefficients from glm(), on the logit scale\n\n")
cat(sprintf("  %-12s %8.4f\n", names(coef(fit)), coef(fit)), sep = "")

groups <- aggregate(
  data.frame(n = 1L, observed = survived[, 1L], predicted = results$f64$probability),
  passengers[c("Age", "Sex", "Class")],
  function(v) v
)
groups$n <- lengths(groups$n)
groups$observed <- vapply(groups$observed, mean, 0)
groups$predicted <- vapply(groups$predicted, function(p) p[[1L]], 0)

# Predicted probability as a bar of # from 0 to 1, and the observed share as a | across it.
bar <- function(predicted, observed, width = 30L) {
  cells <- rep(c("#", " "), c(round(predicted * width), width - round(predicted * width)))
  cells[max(1L, round(observed * width))] <- "|"
  paste(cells, collapse = "")
}

cat("\nSurvival by group, predicted (#) and observed (|)\n\n")
cat("  Class  Sex     Age        n  predicted  observed   0%           50%          100%\n")
for (i in seq_len(nrow(groups))) {
  g <- groups[i, ]
  cat(sprintf(
    "  %-5s  %-6s  %-5s  %4d  %8.1f%%  %7.1f%%   %s\n",
    g$Class, g$Sex, g$Age, g$n, 100 * g$predicted, 100 * g$observed, bar(g$predicted, g$observed)
  ))
}

cat("\nThe same three ways\n\n")
cat("                               log-likelihood   largest relative difference to R of    time of\n")
cat("                                                 a probability    log-likelihood      one call\n")
labels <- c(R = "R: predict(), logLik()", f32 = "anvil, jitted, f32", f64 = "anvil, jitted, f64")
for (way in names(labels)) {
  difference <- if (way == "R") c("", "") else sprintf("%.1e", differences[, way])
  cat(sprintf(
    "  %-23s %19.10f  %16s  %16s  %7.0f us%s\n", labels[[way]], results[[way]]$log_likelihood,
    difference[1L], difference[2L], times[[way]], if (way == "R") " *" else ""
  ))
}
cat("\n  * of the same formulas on R's matrices\n")

for (dtype in names(allowed)) {
  worst <- max(differences[, dtype])
  if (!(worst <= allowed[[dtype]])) {
    stop(sprintf(
      "In %s, anvil and R differ by %.1e of R's value; %.0e is allowed.", dtype, worst, allowed[[dtype]]
    ))
  }
}
cat(sprintf("  Allowed are %.0e in f32 and %.0e in f64: passed.\n", allowed[["f32"]], allowed[["f64"]]))
