# What `make bench` says: lines on the console, and the long form also as bench/RESULTS.md, of which summary.R
# writes what is read from tables: its first lines, the machines and the workloads.

systems <- c(anvil = "anvil", jax = "JAX", numpy = "NumPy", torch = "PyTorch", r = "base R")

format_seconds <- function(x) {
  units <- c(ns = 1e-9, us = 1e-6, ms = 1e-3, s = 1)
  unit <- units[[max(1L, findInterval(x * 1.0005, units))]]
  paste(format(signif(x / unit, 3L), digits = 3L, scientific = FALSE), names(units)[units == unit])
}
format_ratio <- function(x) formatC(x, digits = 2L, format = if (x < 0.0995) "g" else "f")

# Two processors of one name can differ in the instructions that the kernels use, so these are named, too.
machine_line <- function(cpu, simd, processors) {
  level <- switch(simd, avx2 = "AVX2", avx512 = "AVX-512", neon = "NEON", paste(simd, "kernels"))
  system <- paste(Sys.info()[c("sysname", "machine")], collapse = " ")
  sprintf("%s with %s, %d processors, %s", cpu, level, processors, system)
}

# Medians, ratios round by round, and their quartiles, of what measure() gives. They have the digits that the
# written tables have, so that what is read back from these makes the same lines.
summarise <- function(w, dtype, n, measured) {
  seconds <- measured$seconds
  ratio <- function(name) if (name %in% colnames(seconds)) seconds[, "anvil"] / seconds[, name]
  ratios <- Filter(Negate(is.null), sapply(names(systems)[-1L], ratio, simplify = FALSE))
  target <- if (!is.null(w$target) && n %in% w$sizes) w$target(dtype, n) else NA_real_
  to_others <- vapply(ratios, function(x) signif(stats::median(x), 4L), 0)
  to_jax <- if ("jax" %in% names(to_others)) to_others[["jax"]] else NA_real_
  list(
    id = w$id, what = w$what, group = w$group, dtype = dtype, size = w$size_label(n), rounds = nrow(seconds),
    medians = signif(apply(seconds, 2L, stats::median), 4L), ratios = to_others,
    quartiles = lapply(ratios, function(x) signif(stats::quantile(x, c(0.25, 0.75), names = FALSE), 4L)),
    target = target, source = w$source(n), missed = !is.na(target) && !is.na(to_jax) && to_jax > target,
    gaps = measured$gaps
  )
}

# The cells of one row, the same on the console and in the file.
cells <- function(row) {
  median_of <- function(name) if (name %in% names(row$medians)) format_seconds(row$medians[[name]]) else "-"
  ratio_of <- function(name) if (name %in% names(row$ratios)) format_ratio(row$ratios[[name]]) else "-"
  spread <- if (!is.null(row$quartiles$jax)) {
    paste(vapply(row$quartiles$jax, format_ratio, ""), collapse = "..")
  } else {
    ""
  }
  c(
    row$group, row$what, row$dtype, row$size, vapply(names(systems), median_of, ""), ratio_of("jax"), spread,
    vapply(names(systems)[-(1:2)], ratio_of, ""),
    if (is.na(row$target)) "" else paste("<=", format_ratio(row$target)), if (row$missed) "missed" else ""
  )
}
header <- c(
  "", "workload", "dtype", "size", systems, "/JAX", "quartiles", "/NumPy", "/PyTorch", "/base R", "target", ""
)
widths <- c(7L, 35L, 5L, 19L, 8L, 8L, 8L, 8L, 8L, 6L, 13L, 6L, 8L, 7L, 8L, 6L)
left <- c(TRUE, TRUE, TRUE, rep(FALSE, 12L), TRUE)

console_line <- function(cells) {
  padded <- mapply(formatC, cells, width = widths, flag = ifelse(left, "-", ""))
  paste0(trimws(paste(padded, collapse = " "), "right"), "\n")
}

misses <- function(rows, colds) {
  cold <- Filter(function(x) x[7L] == "missed", cold_cells(colds))
  warm <- vapply(Filter(function(row) row$missed, rows), function(row) {
    sprintf("%s, %s, %s: %s of JAX's time, target %s (%s)", row$what, row$dtype, row$size,
      format_ratio(row$ratios[["jax"]]), format_ratio(row$target), row$source)
  }, "")
  c(warm, vapply(cold, function(x) {
    sprintf(
      "tracing and compiling %s, %s: %s of JAX's time, target %s (compile)", x[1L], x[2L], x[5L],
      sub("<= ", "", x[6L], fixed = TRUE)
    )
  }, ""))
}

# Gaps of single rows, together where the reason is the same.
gap_lines <- function(rows, missing, peers, failed, left_out) {
  absent <- names(peers)[vapply(peers, is.character, NA)]
  general <- vapply(absent, function(name) sprintf("%s: %s", systems[[name]], peers[[name]]), "")
  single <- do.call(rbind, lapply(rows, function(row) {
    gaps <- row$gaps[!names(row$gaps) %in% absent]
    if (length(gaps)) data.frame(reason = paste0(systems[names(gaps)], ": ", gaps), what = row$what)
  }))
  grouped <- if (!is.null(single)) {
    what <- tapply(single$what, single$reason, function(x) paste(unique(x), collapse = "; "))
    paste0(names(what), " (", what, ")")
  }
  waiting <- if (length(missing)) paste0("anvil: no op yet for ", paste(missing, collapse = ", "))
  out <- if (length(left_out)) paste0("no time left for ", paste(left_out, collapse = "; "))
  c(unname(general), waiting, grouped, failed, out)
}

# What a new jitted function costs. The target leaves tracing in R out, these times have it in.
cold_cells <- function(colds) {
  lapply(colds, function(cold) {
    ratio <- cold$anvil / cold$jax
    c(cold$what, cold$dtype, format_seconds(cold$anvil), format_seconds(cold$jax), format_ratio(ratio),
      paste("<=", format_ratio(cold$target)), if (ratio > cold$target) "missed" else "")
  })
}
cold_header <- c("workload", "dtype", "anvil", "JAX", "/JAX", "target", "")

# What to say where no target is missed: without JAX nobody knows.
no_misses <- function(rows) {
  known <- any(vapply(rows, function(row) "jax" %in% names(row$ratios), NA))
  if (known) "none" else "unknown, for there was no JAX to measure against"
}

section <- function(title, lines, nothing) {
  cat("\n", title, "\n", sep = "")
  cat(paste0("  ", if (length(lines)) lines else nothing, "\n"), sep = "")
}

# ---- the file ----

markdown_table <- function(header, rows) {
  line <- function(cells) paste0("| ", paste(gsub("|", "\\|", cells, fixed = TRUE), collapse = " | "), " |")
  c(line(header), line(rep("---", length(header))), vapply(rows, line, ""))
}

# A line of a written table as summarise() gives the row that it was written from.
row_of <- function(line) {
  values <- function(columns, names) {
    found <- stats::setNames(unlist(line[columns]), names)
    found[!is.na(found)]
  }
  others <- names(systems)[-1L]
  list(
    group = line$group, what = line$what, dtype = line$dtype, size = line$size,
    medians = values(names(systems), names(systems)), ratios = values(paste0("ratio_", others), others),
    quartiles = list(jax = if (!is.na(line$lower_jax)) c(line$lower_jax, line$upper_jax)),
    target = line$target, missed = (line$ratio_jax > line$target) %in% TRUE
  )
}

# The long table of the first machine's figures. Those of the second are NULL, or give one column more, and
# the last rows if nothing but the second has them.
workload_lines <- function(figures, second = NULL) {
  figures <- figures[figures$group != "compile", ]
  key <- function(figures) paste(figures$what, figures$dtype, figures$size, sep = "\n")
  if (!is.null(second)) {
    second <- second[second$group != "compile" & !is.na(second$ratio_jax), ]
    others <- second[!key(second) %in% key(figures), ]
    measured <- setdiff(names(others), c("group", "family", "what", "dtype", "size", "target"))
    others[measured] <- lapply(others[measured], function(x) rep(NA_real_, length(x)))
    figures <- rbind(figures, others)
  }
  rows <- lapply(seq_len(nrow(figures)), function(i) cells(row_of(figures[i, ])))
  if (!is.null(second)) {
    place <- match("quartiles", header)
    ratios <- second$ratio_jax[match(key(figures), key(second))]
    column <- vapply(ratios, function(ratio) if (is.na(ratio)) "-" else format_ratio(ratio), "")
    rows <- Map(append, rows, column, place)
    header <- append(header, "/JAX, second", place)
  }
  markdown_table(header, rows)
}

machine_lines <- function(first, second = NULL) {
  bullets <- function(about) paste0("* ", names(about), ": ", about)
  c(
    "", bullets(first), "",
    if (!is.null(second)) {
      c("The second machine, whose ratios to JAX have a column of their own:", "", bullets(second), "")
    }
  )
}

# The file with empty parts, which write_summary() fills.
report_lines <- function(notes, cold_table, missed, gaps) {
  part <- function(name) {
    c(sprintf("<!-- %s: written by `make bench` -->", name), sprintf("<!-- end of %s -->", name))
  }
  c(
    "<!-- Written by `make bench`: do not edit by hand. -->", "# Benchmarks", "",
    "![Ratios of anvil's time to JAX's, by kind of workload](../man/figures/benchmark.svg)", "",
    part("summary"), "",
    "## How it was measured", "", part("machines"), "", notes, "",
    "## All workloads", "", part("workloads"), "",
    "## Tracing and compiling", "",
    "First call of a new jitted function, with little to run. Figures include tracing, targets do not.", "",
    cold_table, "",
    "## Missed targets", "", missed, "",
    "## Gaps", "", gaps
  )
}

write_report <- function(path, notes, rows, colds, gaps) {
  bullets <- function(x, nothing) if (length(x)) paste("*", x) else nothing
  writeLines(report_lines(
    notes, markdown_table(cold_header, cold_cells(colds)), bullets(misses(rows, colds), no_misses(rows)),
    bullets(gaps, "none")
  ), path)
}

# The medians, ratios and quartiles of the ratio to JAX as a table that summary.R and the performance vignette
# read; first calls are the group "compile".
write_figures <- function(path, about, rows, colds) {
  of <- function(values, name) if (name %in% names(values)) values[[name]] else NA_real_
  column <- function(get) vapply(rows, get, if (is.character(get(rows[[1L]]))) "" else 0)
  out <- data.frame(
    group = column(function(row) row$group), family = column(function(row) families[[row$group]]),
    what = column(function(row) row$what),
    dtype = column(function(row) row$dtype), size = column(function(row) row$size)
  )
  for (name in names(systems)) out[[name]] <- column(function(row) of(row$medians, name))
  for (name in names(systems)[-1L]) {
    out[[paste0("ratio_", name)]] <- column(function(row) of(row$ratios, name))
  }
  quartile <- function(i) column(function(row) c(row$quartiles$jax[i], NA_real_)[1L])
  out$lower_jax <- quartile(1L)
  out$upper_jax <- quartile(2L)
  out$target <- column(function(row) row$target)
  out <- rbind(out, first_calls(colds, names(out)))
  writeLines(c(
    "# Written by `make bench`: do not edit by hand. Medians in seconds, ratios of anvil's time to theirs.",
    paste0("# ", names(about), ": ", about)
  ), path)
  suppressWarnings(utils::write.table(out, path, append = TRUE, sep = ",", row.names = FALSE, na = ""))
}

first_calls <- function(colds, columns) {
  out <- lapply(colds, function(cold) {
    row <- stats::setNames(as.list(rep(NA_real_, length(columns))), columns)
    row[c("group", "family", "size")] <- list("compile", "first calls", "first call")
    row[c("what", "dtype")] <- list(cold$what, cold$dtype)
    row[c("anvil", "jax", "target")] <- list(signif(cold$anvil, 4L), signif(cold$jax, 4L), cold$target)
    row$ratio_jax <- signif(cold$anvil / cold$jax, 4L)
    as.data.frame(row)
  })
  do.call(rbind, out)
}
