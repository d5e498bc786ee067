# Sets the program inst/cheatsheet.R on one page, man/figures/cheatsheet.pdf and man/figures/cheatsheet.svg,
# after running it: no page is written while a line gives something else than it says.
#   Rscript tools/cheatsheet.R
source("tests/testthat/helper-cheatsheet.R")
wrong <- check_cheatsheet("inst/cheatsheet.R")
if (length(wrong)) stop("Not as the cheat sheet says:\n", paste(wrong, collapse = "\n"))

# ---- the page: A4 on its side, in points from the upper left corner ----

page <- c(842, 595)
margin <- 22
gutter <- 13
top <- 60
size <- 7.5 # one for code and words: Pango rounds base lines by size
leading <- 11.55
comment_at <- 34L
advance <- 0.602 # of a character of DejaVu Sans Mono, whose like Menlo and Consolas do not exceed
width <- (page[1L] - 2 * margin - 2 * gutter) / 3
ink <- c(
  code = "#1c2530", quiet = "#586573", value = "#0b6b3a", head = "#b83c08", band = "#fbeee6", line = "#d8dee5"
)

# Each mark is a rectangle or a line of text; the two files are written of the same marks.
marks <- list()
put <- function(...) marks[[length(marks) + 1L]] <<- list(...)
words <- function(x, y, text, size, colour, bold = FALSE, mono = FALSE, right = FALSE) {
  put(
    kind = "text", x = x, y = y, text = text, size = size, colour = colour, bold = bold, mono = mono,
    right = right
  )
}
box <- function(x, y, width, height, fill) {
  put(kind = "box", x = x, y = y, width = width, height = height, fill = fill)
}

version <- read.dcf("DESCRIPTION", "Version")[[1L]]
box(0, 0, page[1L], page[2L], "#ffffff")
words(margin, 41, "anvil", 26, ink[["head"]], bold = TRUE)
words(
  margin + 86, 33, "tensors with predictable types, traced functions, exact derivatives and batches, for R",
  10, ink[["code"]], bold = TRUE
)
words(margin + 86, 46, paste0(
  "Version ", version, ". In green: what the line gives, its type as dtype[shape], or its error. ",
  "All of it runs: system.file(\"cheatsheet.R\", package = \"anvil\")"
), 7.6, ink[["quiet"]])

lines <- readLines("inst/cheatsheet.R", encoding = "UTF-8")
lines <- lines[cumsum(startsWith(lines, "# == ")) > 0L]
column <- 0L
y <- top
for (line in lines) {
  x <- margin + column * (width + gutter)
  if (line == "# ---- column ----") {
    column <- column + 1L
    y <- top
  } else if (startsWith(line, "# == ")) {
    title <- strsplit(sub("^# == ", "", line), ": ", fixed = TRUE)[[1L]]
    if (y > top) y <- y + 0.35 * leading
    box(x, y, width, 14, ink[["band"]])
    words(x + 4, y + 10.3, title[1L], 9.4, ink[["head"]], bold = TRUE)
    if (length(title) > 1L) words(x + width - 4, y + 10.1, title[2L], 7.6, ink[["quiet"]], right = TRUE)
    y <- y + 14 + 0.25 * leading
  } else if (startsWith(line, "# ")) {
    words(x + 4, y + 8, sub("^# ", "", line), size, ink[["quiet"]])
    y <- y + leading
  } else if (nzchar(line)) {
    code <- sub(" +#[> ].*$", "", line)
    said <- if (code != line) sub("^.* #>? ?", "", line)
    indent <- nchar(sub("[^ ].*$", "", code))
    step <- advance * size
    words(x + 4 + indent * step, y + 8, trimws(code), size, ink[["code"]], mono = TRUE)
    if (!is.null(said)) {
      is_value <- grepl(" #> ", line, fixed = TRUE)
      at <- x + 4 + step * max(comment_at, nchar(code) + 1.5)
      words(at, y + 8, said, size, ink[[if (is_value) "value" else "quiet"]], mono = is_value)
    }
    y <- y + leading
  }
  beyond <- ceiling((y - page[2L] + 16) / leading)
  if (beyond > 0) stop("Column ", column + 1L, " is too long by ", beyond, " lines.")
}
for (i in 1:2) {
  box(margin + i * (width + gutter) - gutter / 2, top, 0.6, page[2L] - top - margin, ink[["line"]])
}

# ---- the files ----

inches <- page / 72
grDevices::cairo_pdf("man/figures/cheatsheet.pdf", width = inches[1L], height = inches[2L], pointsize = 12)
graphics::par(mar = c(0, 0, 0, 0), xaxs = "i", yaxs = "i")
graphics::plot.new()
graphics::plot.window(c(0, page[1L]), c(page[2L], 0))
for (mark in marks) {
  if (mark$kind == "box") {
    graphics::rect(mark$x, mark$y, mark$x + mark$width, mark$y + mark$height, col = mark$fill, border = NA)
  } else {
    # Pango rounds the places of the letters of a text to whole points: each is set by itself, where the
    # widths of those before it say, which are measured at a size at which rounding is nothing.
    face <- list(font = 1L + mark$bold, family = if (mark$mono) "DejaVu Sans Mono" else "DejaVu Sans")
    letters <- strsplit(mark$text, "")[[1L]]
    wide <- do.call(graphics::strwidth, c(list(letters, cex = 40), face)) * mark$size / 480
    at <- mark$x - mark$right * sum(wide) + cumsum(c(0, wide))
    do.call(graphics::text, c(list(
      at[seq_along(letters)], mark$y, letters, adj = c(0, 0), cex = mark$size / 12, col = mark$colour
    ), face))
    end <- at[length(at)]
    edge <- margin + ceiling((mark$x - margin) / (width + gutter)) * (width + gutter) - gutter
    if (mark$y > top && end > edge) stop("Too long by ", round(end - edge, 1L), " points: ", mark$text)
  }
}
invisible(grDevices::dev.off())

escape <- function(x) gsub("<", "&lt;", gsub("&", "&amp;", x, fixed = TRUE), fixed = TRUE)
svg <- vapply(marks, function(mark) {
  if (mark$kind == "box") {
    return(sprintf(
      "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>",
      mark$x, mark$y, mark$width, mark$height, mark$fill
    ))
  }
  form <- paste0(
    if (mark$bold) " font-weight=\"700\"", if (mark$right) " text-anchor=\"end\"",
    # In whatever font: as wide as it was set.
    if (mark$mono) {
      wide <- advance * mark$size * nchar(mark$text)
      sprintf(" class=\"m\" textLength=\"%.1f\" lengthAdjust=\"spacingAndGlyphs\"", wide)
    }
  )
  sprintf(
    "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.1f\" fill=\"%s\"%s>%s</text>",
    mark$x, mark$y, mark$size, mark$colour, paste(form, collapse = ""), escape(mark$text)
  )
}, "")
writeLines(enc2utf8(c(
  "<!-- Written by `make cheatsheet`: do not edit by hand. -->",
  sprintf(
    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %1$d %2$d\" width=\"%1$d\" height=\"%2$d\">",
    page[1L], page[2L]
  ),
  "<title>Cheat sheet of anvil</title>",
  "<style>text { font-family: 'DejaVu Sans', Verdana, system-ui, sans-serif; white-space: pre }",
  ".m { font-family: 'DejaVu Sans Mono', Menlo, Consolas, ui-monospace, monospace }</style>",
  svg, "</svg>"
)), "man/figures/cheatsheet.svg", useBytes = TRUE)
cat("Written: man/figures/cheatsheet.pdf, man/figures/cheatsheet.svg\n")
