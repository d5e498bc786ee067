# Generics of graphics whose own methods take a matrix apart by a mask, or know R's matrices by their class.
# plot(), lines(), points(), barplot(), pairs() and the like see the vector, and need no method: with one,
# plot() would not know what the user wrote.

#' Plots of tensors
#'
#' A tensor is drawn as its elements are: `plot(x)`, `plot(x, y)`, `lines(x, y)`, `points()`, `text()`,
#' `barplot(x)`, `matplot(x)`, `pairs(x)`, `qqnorm(x)` and formulas take it as the R vector that it is, and
#' these generics have methods that hand R's array on. Labels are what you wrote. Packages that take data
#' frames, such as ggplot2 and lattice, get columns of numbers from `as.data.frame(x)` and from
#' `data.frame(x = x, y = y)`.
#'
#' @param x A tensor.
#' @param ... Arguments of the method for R's vectors and matrices, tensors among them.
#' @return What R's own method returns: an object of class `histogram` for `hist()`, statistics for
#'   `boxplot()`, the transformation for `persp()`, a raster for `as.raster()`.
#' @section Errors: `anvil_error_concrete` in a traced function, where there are no elements to draw;
#' otherwise R's own.
#' @examples
#' x <- nv_tensor(rnorm(100))
#' hist(x)
#' plot(x, cumsum(x), type = "l")
#' image(nv_tensor(outer(1:10, 1:10)))
#' @name base-graphics
NULL

# The call that the user would have written for the elements: the methods of graphics make labels of it.
draw_elements <- function(generic, x, label, ...) {
  elements <- concrete_array(x, paste0(generic, "()"))
  others <- lapply(list(...), function(value) {
    if (inherits(value, "AnvilValue")) concrete_array(value, paste0(generic, "()")) else value
  })
  # A value, as do.call() gives one, would be written as code of any length.
  name <- if (is.language(label)) deparse1(label) else "x"
  # R takes no longer names, nor would a plot show them.
  if (nchar(name, "bytes") > 1000L) name <- "x"
  frame <- list2env(setNames(list(elements), name), parent = topenv())
  eval(as.call(c(as.name(generic), as.name(name), lapply(others, as_code))), frame)
}

# A value that means itself in a call.
as_code <- function(value) if (is.language(value)) call("quote", value) else value

#' @rdname base-graphics
#' @importFrom graphics hist
#' @export
hist.AnvilValue <- function(x, ...) draw_elements("hist", x, substitute(x), ...)

#' @rdname base-graphics
#' @importFrom graphics boxplot
#' @export
boxplot.AnvilValue <- function(x, ...) draw_elements("boxplot", x, substitute(x), ...)

#' @rdname base-graphics
#' @importFrom graphics image
#' @export
image.AnvilValue <- function(x, ...) draw_elements("image", x, substitute(x), ...)

#' @rdname base-graphics
#' @importFrom graphics contour
#' @export
contour.AnvilValue <- function(x, ...) draw_elements("contour", x, substitute(x), ...)

#' @rdname base-graphics
#' @importFrom graphics persp
#' @export
persp.AnvilValue <- function(x, ...) draw_elements("persp", x, substitute(x), ...)

#' @rdname base-graphics
#' @importFrom graphics mosaicplot
#' @export
mosaicplot.AnvilValue <- function(x, ...) draw_elements("mosaicplot", x, substitute(x), ...)

#' @rdname base-graphics
#' @importFrom grDevices as.raster
#' @export
as.raster.AnvilValue <- function(x, ...) draw_elements("as.raster", x, substitute(x), ...)
