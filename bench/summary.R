# What the benchmark comes to, of the tables that it writes: the picture man/figures/benchmark.svg, the
# figures of README.md, and in bench/RESULTS.md the first lines, the machines and the table of workloads.
#
#   Rscript bench/summary.R    writes them anew without measuring, from vignettes/performance.csv and, where
#                              there is one, bench/second.csv: the figures of a second machine, which only
#                              bench/RESULTS.md shows
#
# All of it is in ratios of anvil's time to another's, in words: 0.5 of JAX's time is half of it.

# The groups of workloads in words, as the picture and the tables call them.
families <- c(
  call = "calls of small data", program = "whole programs", transform = "derivatives, batches",
  W1 = "arithmetic", W2 = "functions (exp, sin, ...)", W3 = "sums, means, softmax", W4 = "matrix products",
  W5 = "integers, booleans", W6 = "loops", W7 = "neural networks", W8 = "random numbers",
  W9 = "gather, scatter", W10 = "linear algebra", W11 = "sorting, cumulating"
)
geometric_mean <- function(x) exp(mean(log(x)))
in_words <- function(seconds) {
  units <- c(ns = 1e-9, us = 1e-6, ms = 1e-3, s = 1)
  unit <- max(1L, findInterval(seconds * 1.0005, units))
  paste(format(signif(seconds / units[[unit]], 2L), scientific = FALSE), names(units)[unit])
}

# A row for each family that was measured next to JAX, from the fastest to the slowest.
by_family <- function(figures) {
  figures <- figures[figures$group %in% names(families) & !is.na(figures$ratio_jax), ]
  ratios <- split(figures$ratio_jax, factor(figures$group, intersect(names(families), figures$group)))
  out <- data.frame(
    family = families[names(ratios)], group = names(ratios), count = lengths(ratios),
    mean = vapply(ratios, geometric_mean, 0)
  )
  out[order(out$mean), ]
}

# Ratios to one other system over all workloads that both have.
next_to <- function(figures, system) {
  ratio <- figures[[paste0("ratio_", system)]][figures$group %in% names(families)]
  ratio <- ratio[!is.na(ratio)]
  if (length(ratio)) list(mean = geometric_mean(ratio), count = length(ratio), faster = sum(ratio < 1))
}

# ---- words ----

number <- function(x) formatC(x, digits = 2L, format = if (x < 0.0995) "g" else "f")

# The rows with the largest ratios to JAX.
worst_rows <- function(figures, count) {
  rows <- figures[figures$group %in% names(families) & !is.na(figures$ratio_jax), ]
  rows <- utils::head(rows[order(-rows$ratio_jax), ], count)
  ratios <- vapply(rows$ratio_jax, number, "")
  paste(sprintf("`%s` of %s, %s: %s", rows$what, rows$size, rows$dtype, ratios), collapse = "; ")
}

# What the second machine adds: nothing where there is none.
second_line <- function(second) {
  if (is.null(second)) return(NULL)
  on <- sprintf("On the second machine (%s; %s)", second$about[["Machine"]], second$about[["Date"]])
  jax <- next_to(second$figures, "jax")
  if (is.null(jax)) return(paste(on, "nothing was measured next to JAX."))
  sprintf(
    "%s it takes **%s of JAX's time** over %d workloads; the worst three rows there: %s.", on,
    number(jax$mean), jax$count, worst_rows(second$figures, 3L)
  )
}

summary_lines <- function(figures, about) {
  jax <- next_to(figures, "jax")
  if (is.null(jax)) return("Nothing was measured next to JAX.")
  others <- c(numpy = "NumPy", torch = "PyTorch", r = "base R")
  others <- unlist(lapply(names(others), function(name) {
    to <- next_to(figures, name)
    if (!is.null(to)) sprintf("%s of %s's (%d workloads)", number(to$mean), others[[name]], to$count)
  }))
  all <- by_family(figures)
  few <- function(rows) paste(sprintf("%s %s", rows$family, vapply(rows$mean, number, "")), collapse = "; ")
  known <- figures[figures$group %in% names(families) & !is.na(figures$ratio_jax), ]
  large <- known[grepl("^[1-9]e[67]$", known$size), ]
  call <- known[known$group == "call", ][1L, ]
  cold <- figures[figures$group == "compile" & !is.na(figures$ratio_jax), ]
  c(
    sprintf(
      paste(
        "**%s of JAX's time** is what anvil takes, as the geometric mean of %d workloads; in %d of them it",
        "is the faster one."
      ), number(jax$mean), jax$count, jax$faster
    ),
    if (length(others)) sprintf("Of the other systems' time it takes %s.", paste(others, collapse = ", ")),
    sprintf("Fastest next to JAX: %s.", few(utils::head(all, 3L))),
    sprintf("Slowest next to JAX: %s.", few(utils::tail(all, 3L))),
    if (nrow(large)) {
      sprintf("Large data, of 1e6 elements and more, where the work counts: %s (%d workloads).",
        number(geometric_mean(large$ratio_jax)), nrow(large))
    },
    if (nrow(call) && !is.na(call$anvil)) {
      sprintf(
        "A call with next to nothing to do, `%s` of %s numbers, takes %s from R; JAX takes %s from Python.",
        call$what, call$size, in_words(call$anvil), in_words(call$jax)
      )
    },
    if (nrow(cold)) {
      sprintf(
        "The first call of a function, which traces and compiles it, takes %s of JAX's time (%s to %s).",
        number(geometric_mean(cold$ratio_jax)), in_words(min(cold$anvil)), in_words(max(cold$anvil))
      )
    },
    sprintf("The worst five rows: %s.", worst_rows(figures, 5L)),
    sprintf("Measured on %s: %s.", about[["Machine"]], about[["Versions"]]),
    paste(
      "Each system has its turn in each round, and results are compared before anything is timed. These are",
      "workloads that the project knows; `make bench-random` measures programs that nobody has seen before."
    )
  )
}

readme_lines <- function(figures, about) {
  jax <- next_to(figures, "jax")
  r <- next_to(figures, "r")
  cold <- figures[figures$group == "compile" & !is.na(figures$ratio_jax), ]
  c(
    sprintf(
      "**%s of JAX's time** over the %d workloads of the benchmark (geometric mean)",
      number(jax$mean), jax$count
    ),
    if (!is.null(r)) sprintf("**%s of base R's time** over the %d that base R has", number(r$mean), r$count),
    if (nrow(cold)) {
      sprintf(
        "**%s of JAX's time** for the first call of a function, which traces and compiles it",
        number(geometric_mean(cold$ratio_jax))
      )
    }
  )
}

# ---- the picture ----

# An SVG of text in the reader's fonts and in colours for light and dark pages, narrow enough for a phone.
draw_summary <- function(path, figures) {
  all <- by_family(figures)
  figures <- figures[figures$group %in% all$group & !is.na(figures$ratio_jax), ]
  left <- 172
  right <- 386
  top <- 104
  step <- 30
  bottom <- top + step * nrow(all)
  height <- bottom + 44
  limits <- log2(range(figures$ratio_jax, 0.25, 2)) + c(-0.2, 0.2)
  x_of <- function(ratio) left + (right - left) * (log2(ratio) - limits[1L]) / diff(limits)
  y_of <- function(i) top + step * (i - 0.5)
  escape <- function(text) gsub("<", "&lt;", gsub("&", "&amp;", text, fixed = TRUE), fixed = TRUE)
  text <- function(x, y, label, class = "", anchor = "start") {
    form <- "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" text-anchor=\"%s\">%s</text>"
    sprintf(form, x, y, class, anchor, escape(label))
  }
  line <- function(x, class, beyond = 0) {
    sprintf("<path d=\"M%.1f %.1fV%.1f\" class=\"%s\"/>", x, top - beyond, bottom + beyond, class)
  }
  dot <- function(x, y, radius, class) {
    sprintf("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" class=\"%s\"/>", x, y, radius, class)
  }

  powers <- seq(ceiling(limits[1L]), floor(limits[2L]))
  # Labels from the right, but for those that would run into the one before; a digit is about 7.3 wide.
  labels <- ifelse(powers < 0, paste0("1/", 2^-powers), 2^powers)
  shown <- integer()
  free <- Inf
  for (i in rev(which(powers %% 2L == 0L | powers == 1L))) {
    half <- 3.65 * nchar(labels[i])
    if (x_of(2^powers[i]) + half + 4 > free) next
    shown <- c(i, shown)
    free <- x_of(2^powers[i]) - half
  }
  jax <- next_to(figures, "jax")
  place <- match(figures$group, all$group)
  # Dots of a row side by side, each where its neighbours in the table are not: the same picture each time.
  spread <- ((seq_along(place) * 0.618) %% 1 - 0.5) * 14
  lines <- c(
    "<!-- Written by `make bench`: do not edit by hand. -->",
    sprintf(
      "<svg xmlns=\"%1$s\" viewBox=\"0 0 440 %2$d\" width=\"440\" height=\"%2$d\" role=\"img\">",
      "http://www.w3.org/2000/svg", height
    ),
    "<title>Ratios of anvil's time to JAX's, by kind of workload</title>",
    "<style>",
    "text { font: 14px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif }",
    ".title { font-size: 18px; font-weight: 700 } .quiet { font-size: 13px } .bold { font-weight: 700 }",
    "text { fill: #1c2530 } .quiet { fill: #586573 } .back { fill: #ffffff; stroke: #d8dee5 }",
    ".slower { fill: #fbeee6 } .grid { stroke: #e6eaee } .same { stroke: #586573; stroke-width: 2 }",
    ".dot { fill: #1f6fb8; fill-opacity: 0.3 } .late { fill: #c2510c; fill-opacity: 0.35 }",
    ".mean { fill: #0a5ca8 } .over { fill: #b83c08 }",
    "@media (prefers-color-scheme: dark) {",
    "text { fill: #dfe5ec } .quiet { fill: #9daab8 } .back { fill: #14181d; stroke: #343e49 }",
    ".slower { fill: #2b211c } .grid { stroke: #29313a } .same { stroke: #9daab8 }",
    ".dot { fill: #6cb0f0 } .late { fill: #f09a62 } .mean { fill: #7fbbf5 } .over { fill: #ff9a66 }",
    "}</style>",
    sprintf("<rect x=\"0.5\" y=\"0.5\" width=\"439\" height=\"%d\" rx=\"8\" class=\"back\"/>", height - 1L),
    text(12, 30, sprintf("anvil takes %s of JAX's time", number(jax$mean)), "title"),
    text(12, 51, sprintf("Small dots: %d workloads. Large dots: geometric means.", jax$count), "quiet"),
    sprintf(
      "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" class=\"slower\"/>",
      x_of(1), top, right - x_of(1), bottom - top
    ),
    vapply(powers[powers != 0], function(p) line(x_of(2^p), "grid"), ""),
    line(x_of(1), "same", 4),
    text(
      x_of(2^powers[shown]), top - 10, labels[shown],
      ifelse(powers[shown] == 0, "quiet bold", "quiet"), "middle"
    ),
    text(12, top - 10, "anvil's time / JAX's", "quiet"),
    text(428, top - 10, "mean", "quiet", "end"),
    text(x_of(1) - 10, bottom + 24, "\u2190 anvil is faster", "quiet", "end"),
    text(x_of(1) + 10, bottom + 24, "slower \u2192", "quiet"),
    dot(x_of(figures$ratio_jax), y_of(place) + spread, 3.5, ifelse(figures$ratio_jax > 1, "late", "dot")),
    unlist(lapply(seq_len(nrow(all)), function(i) {
      c(
        text(12, y_of(i) + 5, all$family[i]),
        dot(x_of(all$mean[i]), y_of(i), 7, if (all$mean[i] > 1) "over" else "mean"),
        text(428, y_of(i) + 5, number(all$mean[i]), "bold", "end")
      )
    })),
    "</svg>"
  )
  writeLines(enc2utf8(lines), path, useBytes = TRUE)
}

# ---- the files ----

# The part of a file between two comments, written anew.
replace_part <- function(path, part, lines) {
  all <- readLines(path, encoding = "UTF-8")
  begins <- which(all == sprintf("<!-- %s: written by `make bench` -->", part))
  ends <- which(all == sprintf("<!-- end of %s -->", part))
  if (length(begins) != 1L || length(ends) != 1L) stop(path, " has no part for the ", part, ".")
  writeLines(enc2utf8(c(all[seq_len(begins)], lines, all[ends:length(all)])), path, useBytes = TRUE)
}

# Of the tables below `root`. The functions that write rows and machines are in report.R.
write_summary <- function(root) {
  first <- read_figures(file.path(root, "vignettes", "performance.csv"))
  figures <- first$figures
  path <- file.path(root, "bench", "second.csv")
  second <- if (file.exists(path)) read_figures(path)
  results <- file.path(root, "bench", "RESULTS.md")
  replace_part(
    results, "summary", paste("*", c(summary_lines(figures, first$about), second_line(second)))
  )
  replace_part(results, "machines", machine_lines(first$about, second$about))
  # Empty lines, since a comment right below a table would be a row of it.
  replace_part(results, "workloads", c("", workload_lines(figures, second$figures), ""))
  # Without JAX, the picture and README keep what was measured last.
  if (is.null(next_to(figures, "jax"))) return(invisible())
  draw_summary(file.path(root, "man", "figures", "benchmark.svg"), figures)
  replace_part(file.path(root, "README.md"), "figures", paste("*", readme_lines(figures, first$about)))
}

read_figures <- function(path) {
  lines <- readLines(path, encoding = "UTF-8")
  about <- sub("^# ", "", grep("^# [^:`]*: ", lines, value = TRUE))
  list(
    # Sizes are names: 1e3 stays as it is written.
    figures = utils::read.csv(text = lines[!startsWith(lines, "#")], colClasses = c(size = "character")),
    about = stats::setNames(sub("^[^:]*: ", "", about), sub(": .*", "", about))
  )
}

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
if (length(script) && basename(script[1L]) == "summary.R") {
  root <- dirname(dirname(normalizePath(script[1L])))
  source(file.path(root, "bench", "report.R"))
  write_summary(root)
}
