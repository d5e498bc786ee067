# How vignettes write their figures: as PNG files with a palette of 128 colours, which are a third of those with 24 bits
# for each pixel that png() writes.

# The paper is white, also where a site draws without one: bmp() would fill it with black.
knitr::opts_chunk$set(dev = "bmp", dev.args = list(bg = "white"), fig.process = function(path) {
  bytes <- as.integer(readBin(path, "raw", file.size(path)))
  number <- function(at, size = 4L) sum(bytes[at + seq_len(size)] * 256^(seq_len(size) - 1L))
  depth <- number(28L, 2L)
  if (!depth %in% c(8, 24)) {
    return(path)
  }
  # Rows from the bottom up, of whole numbers of four bytes; each pixel is blue, green, red, or, in a picture of few
  # colours, its number among those that are listed before the pixels, as blue, green, red, 0.
  width <- number(18L)
  height <- number(22L)
  start <- number(10L)
  rows <- matrix(bytes[-seq_len(start)], ncol = height)[seq_len(depth / 8 * width), rev(seq_len(height))]
  if (depth == 8) {
    listed <- matrix(bytes[seq(number(14L) + 15L, start)], 4L)[1:3, , drop = FALSE]
    colors <- colSums(listed * 256^(0:2))[rows + 1]
  } else {
    colors <- colSums(matrix(rows, 3L) * 256^(0:2))
  }

  # The most frequent 128 colours, and for each other one the nearest of them.
  all <- rle(sort(colors))
  all <- all$values[order(-all$lengths)]
  parts <- outer(256^(2:0), all, function(unit, color) color %/% unit %% 256)
  palette <- parts[, seq_len(min(128L, length(all))), drop = FALSE]
  nearest <- apply(parts, 2L, function(color) which.min(colSums((palette - color)^2)))
  index <- matrix(nearest[match(colors, all)] - 1L, width)

  path <- sub("bmp$", "png", path)
  writeBin(c(
    as.raw(c(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)),
    png_chunk("IHDR", c(big_endian(c(width, height)), as.raw(c(8, 3, 0, 0, 0)))),
    png_chunk("PLTE", as.raw(palette)),
    png_chunk("IDAT", memCompress(as.raw(rbind(0L, index)), "gzip")),
    png_chunk("IEND", raw())
  ), path)
  path
})

big_endian <- function(x) writeBin(as.integer(x), raw(), endian = "big")

# PNG specification, chapter 5 and annex D.
png_chunk <- function(type, data) {
  body <- c(charToRaw(type), data)
  c(big_endian(length(data)), body, big_endian(crc32(as.integer(body))))
}

crc32 <- function(bytes) {
  shift <- function(x, by) as.integer(bitwShiftR(x, by))
  table <- Reduce(function(x, ...) {
    ifelse(x %% 2L == 1L, bitwXor(shift(x, 1L), -306674912L), shift(x, 1L))
  }, seq_len(8L), 0:255)
  bitwNot(Reduce(function(crc, byte) {
    bitwXor(shift(crc, 8L), table[bitwAnd(bitwXor(crc, byte), 255L) + 1L])
  }, bytes, -1L))
}
