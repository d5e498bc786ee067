# What bench/random.R says of the programs that it has measured.

# The rows as a data frame; `ratio` is to JAX as a person writes it, or else to what anvil exports.
table_of <- function(rows) {
  seconds <- function(name) vapply(rows, function(r) unname(r$seconds[name]), 0)
  out <- data.frame(
    number = vapply(rows, function(r) r$number, 0L), class = vapply(rows, function(r) r$class, ""),
    dtype = vapply(rows, function(r) r$dtype, ""), large = vapply(rows, function(r) r$large, NA),
    anvil = seconds(1L), jax = seconds(2L), exported = seconds(3L),
    estimate = vapply(rows, function(r) as.double(r$estimate), 0)
  )
  out$ratio <- out$anvil / ifelse(is.na(out$jax), out$exported, out$jax)
  out
}

geometric_mean <- function(x) exp(mean(log(x)))

spread_line <- function(label, x) {
  x <- x[is.finite(x)]
  if (!length(x)) return()
  at <- stats::quantile(x, c(0.5, 0.9, 1))
  cat(sprintf(
    "%-34s %5d %8.2f %8.2f %8.2f %8.0f%% %8.2f\n", label, length(x), geometric_mean(x), at[[1L]], at[[2L]],
    100 * mean(x > 1.1), at[[3L]]
  ))
}

spread_header <- function(title) {
  titles <- list(title, "count", "g. mean", "median", "90 %", "above 1.1", "worst")
  cat(do.call(sprintf, c("\n%-34s %5s %8s %8s %8s %9s %8s\n", titles)))
}

microseconds <- function(x) {
  if (is.na(x)) "-" else paste(format(signif(x * 1e6, 3), big.mark = ",", scientific = FALSE), "us")
}

show_program <- function(p) {
  cat("\n", p$class, ", ", p$dtype, "\n", sep = "")
  for (name in names(p$inputs)) {
    x <- p$inputs[[name]]
    of <- if (x$kind == "index") paste(" positions up to", x$most) else ""
    dtype <- if (x$kind == "numbers") p$dtype else "i32"
    cat("  ", name, ": ", dtype, "[", toString(x$shape), "]", of, "\n", sep = "")
  }
  cat(paste0("  ", deparse(r_form(p$f), 110L)), sep = "\n")
  source <- jax_source(p)
  if (!is.null(source)) cat("", paste0("  ", source[-(1:4)]), "", sep = "\n")
}

report <- function(rows, failed, seed, alone) {
  again <- function(number) paste0("make bench-random SEED=", seed, " CASE=", number)
  wrong <- Filter(function(r) length(r$wrong), rows)
  for (r in wrong) {
    apart <- paste(names(r$wrong), "by", r$wrong, collapse = ", ")
    cat("\nanother result than that of ", apart, ": ", again(r$number), "\n", sep = "")
  }
  messages <- vapply(failed, function(f) f$message, "")
  for (message in unique(messages)) {
    numbers <- vapply(failed[messages == message], function(f) f$number, 0L)
    others <- if (length(numbers) > 1L) c("; also ", toString(numbers[-1L]))
    cat("\nfailed: ", message, ": ", again(numbers[1L]), others, "\n", sep = "")
  }
  if (!length(rows)) return(invisible())
  all <- table_of(rows)
  if (alone) {
    cat(sprintf(
      "anvil %s, JAX %s, exported %s, ratio %.2f, estimate %s\n\n", microseconds(all$anvil),
      microseconds(all$jax), microseconds(all$exported), all$ratio, microseconds(all$estimate)
    ))
    print(plan_of(random_program(seed, all$number)))
    gaps <- rows[[1L]]$gaps
    if (length(gaps)) cat("\n", paste0(names(gaps), ": ", gaps, "\n"), sep = "")
    return(invisible())
  }
  written <- function(gaps) if (length(gaps)) paste0(names(gaps), ": ", substr(gaps, 1L, 70L))
  gaps <- unlist(lapply(rows, function(r) written(r$gaps)))
  if (length(gaps)) {
    cat("\nnot in JAX:\n")
    counts <- sort(table(gaps), decreasing = TRUE)
    cat(sprintf("%4d  %s\n", utils::head(counts, 8L), names(utils::head(counts, 8L))), sep = "")
  }
  spread_header("anvil by JAX")
  for (large in c(FALSE, TRUE)) {
    x <- all[all$large == large, ]
    label <- if (large) "large data" else "small data"
    spread_line(label, x$ratio)
    spread_line(paste0(label, ", exported"), x$anvil / x$exported)
    spread_line(paste0(label, ", the faster of both"), x$anvil / pmin(x$jax, x$exported, na.rm = TRUE))
  }
  spread_header("large data, by class")
  large <- all[all$large, ]
  by_class <- split(large$ratio, large$class)
  means <- vapply(by_class, function(x) geometric_mean(x[is.finite(x)]), 0)
  for (name in names(sort(means, decreasing = TRUE))) spread_line(name, by_class[[name]])
  spread_header("estimate of the plan by time")
  spread_line("small data", (all$estimate / all$anvil)[!all$large])
  spread_line("large data", (all$estimate / all$anvil)[all$large])
  worst <- utils::head(all[order(-all$ratio), ], 20L)
  cat("\nThe worst\n")
  for (i in which(is.finite(worst$ratio))) {
    r <- worst[i, ]
    cat(strrep("-", 80L), sprintf(
      "\n%.2f: anvil %s, JAX %s, exported %s; %s\n", r$ratio, microseconds(r$anvil), microseconds(r$jax),
      microseconds(r$exported), again(r$number)
    ), sep = "")
    p <- random_program(seed, r$number)
    show_program(p)
    print(plan_of(p))
  }
}
