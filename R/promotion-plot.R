#' Diagram of promotion rules
#'
#' Draws the order behind the rules of a [promotion_table()]: `plot(promotion_table("jax"))`.
#'
#' Each type that the rules have is a box, in the lane of its kind. A line goes up from a type to one that it
#' is promoted to: operands of the two, in either order, give the upper one, as [is_promotable()] says. Lines
#' that are implied by others are left out, so a type is promoted to every type that can be reached upwards.
#'
#' For `anvil`, `jax` and `strict` the diagram is complete: a pair of types is promoted to the lowest one that
#' is above both, and refused if there is none. The other rules are tables: for two types that are not above
#' each other, and where the order of the operands matters, as in TensorFlow's, see the table.
#'
#' The whole diagram is drawn, with the ambiguous types, whichever operands the table is of.
#'
#' Kinds have their own lanes and colours, of the palette of Okabe and Ito, which is safe for colour-blind
#' readers. The drawing fills the figure without its margins, and text scales with it. Graphical parameters
#' are restored.
#'
#' @param x A table from [promotion_table()].
#' @param main The title: a string, or `NULL` for none.
#' @param ... Not used.
#' @return `x`, invisibly.
#' @section Errors: `anvil_error_arg` if `main` is not a string, and if the figure is too small for letters
#' that can be read: the message says which size is enough.
#' @references M. Okabe and K. Ito, *Color Universal Design*, 2008.
#' @seealso [promotion_table()], [promotion_path()]
#' @examples
#' plot(promotion_table("jax"))
#' plot(promotion_table())
#' @importFrom graphics lines par plot.new plot.window rect strheight strwidth text
#' @importFrom grDevices col2rgb rgb
#' @export
plot.AnvilPromotionTable <- function(
  x, main = paste("Promotion by the rules", dQuote(attr(x, "rules"), FALSE)), ...
) {
  check_dots(...)
  check_table(x)
  if (!is.null(main) && !(is.character(main) && length(main) == 1L && !is.na(main))) {
    abort_arg("main", "a string, or NULL for no title", describe(main))
  }
  old <- par("mar", "xpd", "usr")
  on.exit(par(old))
  par(mar = numeric(4L), xpd = NA)
  plot.new()
  size <- par("fin")
  # One unit is one inch from here on.
  plot.window(c(0, size[1L]), c(0, size[2L]), xaxs = "i", yaxs = "i")
  layout <- promotion_layout(.Call(wrap__anvil_promotion, attr(x, "rules")), size, !is.null(main))
  # Letters of less than 5 points are not read.
  smallest <- 5 / (par("ps") * par("cex"))
  if (layout$cex < smallest) {
    inches <- function(size) paste(format(size, digits = 2L, trim = TRUE), collapse = " by ")
    expected <- paste(
      "drawn on a figure of at least", inches(ceiling(10 * smallest * layout$least) / 10), "inches"
    )
    abort_arg("x", expected, inches(size), "Open a larger device, or enlarge the pane of plots.")
  }
  draw_promotion(layout, main)
  invisible(x)
}

# Lanes from left to right: kinds, and their colours in the palette of Okabe and Ito.
lane_colours <- c(
  boolean = "#D55E00", unsigned = "#56B4E9", signed = "#0072B2", float = "#E69F00", complex = "#009E73"
)

# ---- where everything goes ----

# What is to be drawn on a figure of that size, in inches: nodes and lanes by their centres, edges as paths.
# All sizes are multiples of the height of a letter, so `cex` alone makes everything fit.
promotion_layout <- function(parts, size, title = TRUE) {
  nodes <- data.frame(type = parts$nodes, kind = parts$kinds, ambiguous = parts$ambiguous)
  row <- promotion_rows(parts)
  slots <- promotion_slots(row, parts)
  lanes <- data.frame(kind = intersect(names(lane_colours), nodes$kind))
  lanes$slots <- slots$count[lanes$kind]

  letter <- strheight("M", "inches")
  box <- c(max(strwidth(nodes$type, "inches")) + 1.1 * letter, 1.7 * letter)
  least <- c(box[1L] + 0.6 * letter, box[2L] + 0.8 * letter)
  heading <- strwidth(lanes$kind, "inches", font = 2L) + letter
  key <- promotion_key(any(nodes$ambiguous))
  border <- 0.8 * letter
  gap <- 0.4 * letter
  # Above and below the rows: the title, the headings of the lanes; the key.
  top <- (if (title) 4.8 else 2.4) * letter
  bottom <- 2.6 * letter
  widths <- pmax(lanes$slots * least[1L], heading) + gap
  wide <- max(sum(widths), sum(key$width)) + 2 * border
  high <- max(row) * least[2L] + top + bottom + 2 * border
  cex <- min(size / c(wide, high), 1.1)

  # What space is left goes between the nodes, but does not tear them apart.
  stretch <- (size / cex - c(2 * border, high - max(row) * least[2L])) / c(sum(widths), max(row) * least[2L])
  stretch <- pmin(stretch, c(2, 5))
  lanes$width <- cex * widths * stretch[1L]
  lanes$x <- size[1L] / 2 - sum(lanes$width) / 2 + cumsum(lanes$width) - lanes$width / 2
  pitch <- cex * stretch[2L] * least[2L]
  height <- max(row) * pitch + cex * (top + bottom)
  floor <- (size[2L] - height) / 2 + cex * bottom
  lane <- match(nodes$kind, lanes$kind)
  nodes$x <- lanes$x[lane] + slots$offset * ((lanes$width - cex * gap) / lanes$slots)[lane]
  nodes$y <- floor + (row - 0.5) * pitch
  nodes$width <- cex * box[1L]
  nodes$height <- cex * box[2L]
  edges <- lapply(seq_along(parts$from), function(i) promotion_route(nodes, parts$from[i], parts$to[i]))
  list(
    nodes = nodes, edges = edges, lanes = lanes, key = key, cex = cex, letter = cex * letter, size = size,
    least = c(wide, high), floor = floor, ceiling = floor + max(row) * pitch
  )
}

# The rows of nodes, 1 the lowest: each is above all that have an edge up to it. In a lane with nodes that
# have no edges, the nodes stand one above the other in the order of the table. A node with edges that only go
# up is next to what it goes to.
promotion_rows <- function(parts) {
  from <- parts$from
  to <- parts$to
  lowest <- setdiff(from, to)
  row <- rep(1L, length(parts$nodes))
  for (kind in loose_lanes(parts)) {
    stack <- setdiff(which(parts$kinds == kind), lowest)
    row[stack] <- seq_along(stack)
  }
  repeat {
    low <- which(row[to] <= row[from])
    if (!length(low)) break
    row[to[low]] <- row[from[low]] + 1L
  }
  for (i in lowest) row[i] <- min(row[to[from == i]]) - 1L
  row
}

# Kinds with a type that has no edges.
loose_lanes <- function(parts) unique(parts$kinds[setdiff(seq_along(parts$kinds), c(parts$from, parts$to))])

# The places of nodes side by side in their lanes: how many a lane has, and how many each node is off the
# middle of its lane. A row is centred or, where nodes are stacked, begins on the left.
promotion_slots <- function(row, parts) {
  offset <- numeric(length(row))
  count <- vapply(split(row, parts$kinds), function(rows) max(table(rows)), 1L)
  for (beside in split(seq_along(row), list(parts$kinds, row), drop = TRUE)) {
    kind <- parts$kinds[beside[1L]]
    places <- if (kind %in% loose_lanes(parts)) count[[kind]] else length(beside)
    offset[beside] <- seq_along(beside) - (places + 1) / 2
  }
  list(offset = offset, count = count)
}

# The way of an edge: a straight line or, if that would touch a third node, a curve. Where rows are near, flat
# edges go from side to side, so that they rise by all of a row, and others from top to bottom; the other ends
# are tried next.
promotion_route <- function(nodes, from, to) {
  half <- c(nodes$width[1L], nodes$height[1L]) / 2
  others <- nodes[-c(from, to), ]
  run <- nodes$x[to] - nodes$x[from]
  side <- sign(run)
  # Steep edges to a side leave and arrive beside the middle, so that they keep apart.
  aside <- 0.6 * half[1L] * max(-1, min(1, run / (4 * half[1L])))
  start <- c(nodes$x[from], nodes$y[from])
  end <- c(nodes$x[to], nodes$y[to])
  starts <- list(start + c(aside, half[2L]), start + c(side * half[1L], 0))
  ends <- list(end - c(aside, half[2L]), end - c(side * half[1L], 0))
  choices <- list(c(1L, 1L))
  if (abs(run) > 2 * half[1L]) {
    rise <- end[2L] - start[2L]
    flat <- abs(run) - 2 * half[1L] > rise && rise < 8 * half[2L]
    choices <- list(c(2L, 2L), c(2L, 1L), c(1L, 2L), c(1L, 1L))
    if (!flat) choices <- choices[c(4L, 2L, 3L, 1L)]
  }
  for (choice in choices) {
    straight <- rbind(starts[[choice[1L]]], ends[[choice[2L]]])
    if (!touches(straight, others)) return(straight)
  }
  # A curve leaves upwards and arrives from below; the least bulge that is enough.
  start <- starts[[1L]]
  end <- ends[[1L]]
  lean <- c(0, 0.35 * (end[2L] - start[2L]))
  t <- seq(0, 1, length.out = 25L)
  for (bulge in half[1L] * c(0, rbind(1:12, -(1:12)) / 2)) {
    curve <- outer((1 - t)^3, start) + outer(3 * t * (1 - t)^2, start + lean + c(bulge, 0)) +
      outer(3 * t^2 * (1 - t), end - lean + c(bulge, 0)) + outer(t^3, end)
    if (!touches(curve, others)) return(curve)
  }
  straight
}

# Whether a path comes too near to one of the nodes.
touches <- function(path, nodes) {
  margin <- 0.12 * nodes$height
  for (i in seq_len(nrow(path) - 1L)) {
    start <- path[i, ]
    run <- path[i + 1L, ] - start
    # Which part of the line is between the sides of each node, which between its bottom and top: shares of
    # its length, infinite ones if it runs along them.
    part <- function(centre, half, axis) {
      ends <- (cbind(centre - half, centre + half) - start[axis]) / run[axis]
      cbind(pmin(ends[, 1L], ends[, 2L]), pmax(ends[, 1L], ends[, 2L]))
    }
    x <- part(nodes$x, nodes$width / 2 + margin, 1L)
    y <- part(nodes$y, nodes$height / 2 + margin, 2L)
    if (any(pmax(x[, 1L], y[, 1L], 0) < pmin(x[, 2L], y[, 2L], 1), na.rm = TRUE)) return(TRUE)
  }
  FALSE
}

# The parts of the key: the words, what stands before them, and how wide both are at `cex = 1`.
promotion_key <- function(ambiguous) {
  words <- c(
    known = "known type", ambiguous = if (ambiguous) "ambiguous type", edge = "lower is promoted to upper"
  )
  width <- strwidth(words, "inches", cex = 0.9) + 5 * strheight("M", "inches")
  data.frame(sign = names(words), words = words, width = width)
}

# ---- drawing it ----

draw_promotion <- function(layout, main) {
  nodes <- layout$nodes
  lanes <- layout$lanes
  cex <- layout$cex
  letter <- layout$letter
  colours <- lane_colours[lanes$kind]
  half <- lanes$width / 2 - 0.2 * letter
  head <- layout$ceiling + 2 * letter
  rect(lanes$x - half, layout$floor, lanes$x + half, layout$ceiling, col = tint(colours, 0.1), border = NA)
  rect(lanes$x - half, layout$ceiling, lanes$x + half, head, col = tint(colours, 0.6), border = NA)
  put_text(lanes$x, layout$ceiling + letter, lanes$kind, layout, font = 2L)
  if (!is.null(main)) {
    # A long title is smaller, and the diagram what it is without.
    room <- (layout$size[1L] - 2 * letter) / (cex * strwidth(main, "inches", font = 2L))
    put_text(layout$size[1L] / 2, layout$ceiling + 3.6 * letter, main, layout, min(1.2, room), font = 2L)
  }
  for (path in layout$edges) draw_edge(path)
  draw_boxes(nodes$x, nodes$y, nodes$width, nodes$height, lane_colours[nodes$kind], nodes$ambiguous)
  put_text(nodes$x, nodes$y, nodes$type, layout)
  draw_key(layout)
}

# Text around the middle of its capitals: on its own, text() puts a word with a `g` higher than one without.
put_text <- function(x, y, words, layout, size = 1, align = 0.5, ...) {
  text(
    x, y - 0.5 * size * layout$letter, words, adj = c(align, 0), cex = size * layout$cex, col = "black", ...
  )
}

draw_edge <- function(path) lines(path, lwd = 1.2, col = "grey30")

# Ambiguous types are white with a dashed border.
draw_boxes <- function(x, y, width, height, colours, ambiguous) {
  rect(
    x - width / 2, y - height / 2, x + width / 2, y + height / 2, border = colours, lwd = 1.8,
    col = ifelse(ambiguous, "white", tint(colours, 0.4)), lty = ifelse(ambiguous, "22", "solid")
  )
}

draw_key <- function(layout) {
  letter <- layout$letter
  key <- layout$key
  widths <- key$width * layout$cex
  x <- (layout$size[1L] - sum(widths)) / 2 + cumsum(widths) - widths + 2 * letter
  y <- layout$floor - 1.6 * letter
  line <- key$sign == "edge"
  draw_edge(cbind(x[line] + c(-1, 1) * letter, y + c(-0.7, 0.7) * letter))
  draw_boxes(x[!line], y, 2 * letter, 1.3 * letter, "grey40", key$sign[!line] == "ambiguous")
  put_text(x + 1.6 * letter, y, key$words, layout, 0.9, 0)
}

# A colour mixed with white.
tint <- function(colour, share) {
  mixed <- 255 - share * (255 - col2rgb(colour))
  rgb(mixed[1L, ], mixed[2L, ], mixed[3L, ], maxColorValue = 255)
}
