all_rules <- promotion_rules()

# Evaluates code that draws, on a device of this size in inches that writes nowhere.
on_device <- function(code, width = 7, height = 7) {
  grDevices::pdf(NULL, width, height)
  device <- grDevices::dev.cur()
  on.exit(grDevices::dev.off(device))
  code
}

parts_of <- function(rules) .Call(wrap__anvil_promotion, rules)

# The layout of the rules, or of parts, on a device of this size.
layout_of <- function(rules, width = 7, height = 7) {
  on_device({
    graphics::plot.new()
    promotion_layout(if (is.list(rules)) rules else parts_of(rules), c(width, height))
  }, width, height)
}

# Sizes that matter: pdf() and a png() of 480 pixels, knitr, a slide.
sizes <- list(c(7, 7), c(480, 480) / 72, c(7, 5), c(10, 5.6))

# Points along a path, close to each other.
along <- function(path) {
  share <- seq(0, 1, length.out = 200)
  do.call(rbind, lapply(seq_len(nrow(path) - 1), function(i) {
    cbind(
      path[i, 1] + share * (path[i + 1, 1] - path[i, 1]), path[i, 2] + share * (path[i + 1, 2] - path[i, 2])
    )
  }))
}

# Which nodes have one of these points inside of them; or, with `slack`, near to it.
hit <- function(points, nodes, slack = -1e-9) {
  within <- function(at, centre, size) abs(outer(at, centre, "-")) < rep(size / 2 + slack, each = length(at))
  colSums(within(points[, 1], nodes$x, nodes$width) & within(points[, 2], nodes$y, nodes$height)) > 0
}

# What hides something else, or goes astray.
faults <- function(layout, parts) {
  nodes <- layout$nodes
  near <- abs(outer(nodes$x, nodes$x, "-")) <= nodes$width & abs(outer(nodes$y, nodes$y, "-")) <= nodes$height
  overlapping <- outer(nodes$type, nodes$type, paste, "overlap")[near & lower.tri(near)]
  strays <- lapply(seq_along(parts$from), function(i) {
    path <- layout$edges[[i]]
    ends <- nodes[c(parts$from[i], parts$to[i]), ]
    name <- paste(ends$type, collapse = " to ")
    meets <- hit(path[1, , drop = FALSE], ends[1, ], 1e-6) &&
      hit(path[nrow(path), , drop = FALSE], ends[2, ], 1e-6)
    c(
      paste(name, "passes through", nodes$type)[hit(along(path), nodes)],
      if (!meets) paste(name, "misses its ends"), if (!all(diff(path[, 2]) > 0)) paste(name, "does not go up")
    )
  })
  c(overlapping, unlist(strays), if (length(layout$edges) != length(parts$from)) "edges too few or too many")
}

test_that("every type of the rules has its place once, and edges are those of the rules", {
  for (rules in all_rules) {
    parts <- parts_of(rules)
    nodes <- layout_of(rules)$nodes
    expect_identical(nodes$type, parts$nodes)
    expect_identical(anyDuplicated(nodes$type), 0L)
    expect_identical(nodes$ambiguous, endsWith(nodes$type, "?"))
    expect_identical(anyDuplicated(nodes[c("x", "y")]), 0L)
    # An edge is a step that cannot be divided, as is_promotable() sees it.
    promotable <- function(from, to) from != to && is_promotable(from, to, rules)
    below <- outer(nodes$type, nodes$type, Vectorize(promotable))
    steps <- which(below & !(below %*% below > 0), arr.ind = TRUE)
    steps <- steps[order(steps[, 1], steps[, 2]), ]
    expect_equal(unname(steps), cbind(parts$from, parts$to), label = rules)
  }
  expect_identical(sort(parts_of("anvil")$nodes), sort(unlist(lapply(c("none", "row"), function(x) {
    rownames(promotion_table("anvil", x))
  }))))
  expect_false(any(c("ui16", "ui32", "ui64") %in% parts_of("torch")$nodes))
})

test_that("nothing overlaps at the usual sizes", {
  for (rules in all_rules) {
    for (size in sizes) {
      layout <- layout_of(rules, size[1], size[2])
      expect_identical(
        faults(layout, parts_of(rules)), character(), label = paste(rules, size[1], "by", size[2])
      )
      nodes <- layout$nodes
      lanes <- layout$lanes
      # All is within the figure: boxes in their lanes, lanes side by side, headings in lanes, words in boxes.
      expect_true(all(lanes$x - lanes$width / 2 >= 0 & lanes$x + lanes$width / 2 <= size[1]))
      expect_true(all(diff(lanes$x) > (lanes$width[-1] + lanes$width[-nrow(lanes)]) / 2 - 1e-9))
      lane <- lanes[match(nodes$kind, lanes$kind), ]
      expect_true(all(abs(nodes$x - lane$x) + nodes$width / 2 <= lane$width / 2))
      expect_true(all(
        nodes$y - nodes$height / 2 > layout$floor & nodes$y + nodes$height / 2 < layout$ceiling
      ))
      # Room for the key below, heading and title above.
      expect_gte(layout$floor, 2.6 * layout$letter)
      expect_lte(layout$ceiling + 4.8 * layout$letter, size[2])
      expect_lte(sum(layout$key$width) * layout$cex, size[1])
      on_device({
        graphics::plot.new()
        width <- function(words, ...) graphics::strwidth(words, "inches", layout$cex, ...)
        expect_true(all(width(nodes$type) < nodes$width))
        expect_true(all(width(lanes$kind, font = 2) < lanes$width))
      })
      # What can be read: letters of 6 points.
      expect_gte(12 * layout$cex, 6)
    }
  }
})

test_that("an edge goes around what is in its way", {
  # The chain a < b < c < d beside e, with edges that a straight line would draw through others.
  parts <- list(
    nodes = c("a", "b", "c", "d", "e"), kinds = c("signed", "signed", "signed", "signed", "float"),
    ambiguous = rep(FALSE, 5), from = c(1L, 2L, 3L, 1L, 1L, 5L), to = c(2L, 3L, 4L, 4L, 3L, 4L)
  )
  layout <- layout_of(parts)
  expect_identical(faults(layout, parts), character())
  expect_gt(nrow(layout$edges[[4]]), 2)
  expect_identical(vapply(layout$edges[1:3], nrow, 1L), rep(2L, 3))
})

test_that("rules without edges are only boxes", {
  parts <- list(
    nodes = c("i1", "i8", "i16", "f32"), kinds = c("boolean", "signed", "signed", "float"),
    ambiguous = rep(FALSE, 4), from = integer(), to = integer()
  )
  layout <- layout_of(parts)
  expect_identical(faults(layout, parts), character())
  expect_gt(layout$nodes$y[3], layout$nodes$y[2])
})

# The values of an argument in each call of one of the functions that draw.
drawn <- function(fun, arg, code) {
  values <- list()
  record <- function(frame) values[[length(values) + 1]] <<- get(arg, frame)
  namespace <- asNamespace("anvil")
  suppressMessages(trace(
    fun, substitute(record(environment()), list(record = record)), print = FALSE, where = namespace
  ))
  on.exit(suppressMessages(untrace(fun, where = namespace)))
  on_device(code)
  values
}

test_that("ambiguous types are dashed, others are not, and the key says so", {
  for (rules in all_rules) {
    for (ambiguous in c("none", "row")) {
      table <- promotion_table(rules, ambiguous)
      dashed <- parts_of(rules)$ambiguous
      boxes <- drawn("draw_boxes", "ambiguous", plot(table))
      expect_identical(
        boxes, list(dashed, if (any(dashed)) c(FALSE, TRUE) else FALSE), label = paste(rules, ambiguous)
      )
    }
  }
  file <- tempfile(fileext = ".pdf")
  on.exit(unlink(file))
  # In the file, a dash pattern is set for the ambiguous types and in the key.
  dashes <- function(rules) {
    grDevices::pdf(file, compress = FALSE)
    plot(promotion_table(rules), main = NULL)
    grDevices::dev.off()
    lines <- readLines(file, warn = FALSE)
    # Bytes, since the file holds some that are no text.
    sum(grepl("^\\[ [0-9. ]+\\] 0 d$", lines, useBytes = TRUE))
  }
  expect_identical(dashes("array_api"), 0L)
  expect_gt(dashes("jax"), 1L)
})

test_that("kinds have colours that can be told apart", {
  expect_identical(names(lane_colours), c("boolean", "unsigned", "signed", "float", "complex"))
  expect_true(all(lane_colours %in% grDevices::palette.colors(NULL, "Okabe-Ito")))
  expect_identical(anyDuplicated(lane_colours), 0L)
})

test_that("plot() returns the table and leaves graphical parameters alone", {
  table <- promotion_table("jax")
  on_device({
    before <- graphics::par(no.readonly = TRUE)
    value <- withVisible(plot(table))
    expect_false(value$visible)
    expect_identical(value$value, table)
    expect_equal(graphics::par(no.readonly = TRUE), before)
  })
  # Beside another plot, in margins of someone else's.
  on_device({
    graphics::par(mfrow = c(1, 2), mar = c(1, 2, 3, 4))
    before <- graphics::par(c("mar", "mfrow", "xpd", "cex"))
    plot(promotion_table("torch"))
    expect_equal(graphics::par(c("mar", "mfrow", "xpd", "cex")), before)
    expect_identical(graphics::par("mfg")[1:2], c(1L, 1L))
    plot(promotion_table("numpy"))
    expect_identical(graphics::par("mfg")[1:2], c(1L, 2L))
  }, 10, 5)
  for (rules in all_rules) expect_silent(on_device(plot(promotion_table(rules))))
  # A title that is longer than the figure is wide.
  expect_silent(on_device(plot(table, main = strrep("Promotion ", 20))))
})

test_that("a device without room is an error that says how much is needed", {
  for (size in list(c(0.1, 0.1), c(1, 7), c(7, 1), c(1.5, 2))) {
    error <- on_device(expect_fields(plot(promotion_table()), "anvil_error_arg", arg = "x"), size[1], size[2])
  }
  wanted <- paste0(
    "`x` must be drawn on a figure of at least [0-9.]+ by [0-9.]+ inches, not 1.5 by 2.0.\n",
    "i Open a larger device"
  )
  expect_match(conditionMessage(error), wanted)
  expect_identical(call_of(on_device(plot(promotion_table()), 1, 1)), "plot(promotion_table())")
  # What it says is enough.
  needed <- as.numeric(regmatches(error$expected, gregexpr("[0-9.]+", error$expected))[[1]])
  expect_silent(on_device(plot(promotion_table()), needed[1], needed[2]))
  # The parameters come back after an error, too.
  on_device({
    before <- graphics::par("mar")
    try(plot(promotion_table()), silent = TRUE)
    expect_identical(graphics::par("mar"), before)
  }, 2, 1)
})

test_that("the title is a string", {
  for (bad in list(1, NA_character_, c("a", "b"), TRUE, list())) {
    expect_fields(on_device(plot(promotion_table("jax"), main = bad)), "anvil_error_arg", arg = "main")
  }
  texts <- function(...) unlist(drawn("put_text", "words", plot(promotion_table("jax"), ...)))
  expect_true("Promotion by the rules \"jax\"" %in% texts())
  expect_true("Mine" %in% texts(main = "Mine"))
  expect_false(any(grepl("Promotion", texts(main = NULL))))
  expect_setequal(setdiff(texts(main = NULL), names(lane_colours)), c(
    parts_of("jax")$nodes, "known type", "ambiguous type", "lower is promoted to upper"
  ))
})
