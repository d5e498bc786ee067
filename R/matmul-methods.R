# `%*%`, crossprod() and tcrossprod(): one S3 group of R from 4.3 on, which the last two joined in 4.4.
# Before, base R's `%*%` dispatches on nothing but S4 objects, and the others not at all: anvil has S4
# generics of its own for those, which are base R's to the methods package, so that other packages' methods
# are found in them too.

#' @rawNamespace if (getRversion() >= "4.3.0") S3method(matrixOps, AnvilValue)
matrixOps.AnvilValue <- function(x, y) {
  switch(.Generic,
    `%*%` = nv_matmul(x, y),
    crossprod = cross(x, if (!missing(y)) y),
    tcrossprod = tcross(x, if (!missing(y)) y),
    unsupported(.Generic)
  )
}

cross <- saying_what_is_missing(function(x, y = NULL) nv_matmul(swap_last(x), y %||% x))
tcross <- saying_what_is_missing(function(x, y = NULL) nv_matmul(x, swap_last(y %||% x)))

# With the last two axes in the other order: those in front are a batch to nv_matmul(). An R array stays
# one, since its numbers keep their digits until they are promoted; what is no matrix at all nv_matmul()
# refuses.
swap_last <- function(x) {
  n <- length(dim(x))
  if (n < 2L) return(x)
  order <- c(seq_len(n - 2L), n, n - 1L)
  if (inherits(x, "AnvilValue")) nv_transpose(x, order) else if (is.array(x)) aperm(x, order) else x
}

#' @rawNamespace if (getRversion() < "4.4.0") exportMethods(crossprod, tcrossprod)
if (getRversion() < "4.4.0") {
  for (signature in list(c("AnvilValue", "AnvilValue"), c("AnvilValue", "ANY"), c("ANY", "AnvilValue"))) {
    setMethod("crossprod", signature, function(x, y = NULL, ...) cross(x, y, ...))
    setMethod("tcrossprod", signature, function(x, y = NULL, ...) tcross(x, y, ...))
  }
  rm(signature)
}

#' @rawNamespace if (getRversion() < "4.3.0") export("%*%")
if (getRversion() < "4.3.0") {
  # Tensors that a newer R saved are no S4 objects, and base R's operator refuses two of them without asking
  # anybody.
  `%*%` <- function(x, y) {
    dispatched <- !(is.object(x) || is.object(y)) || isS4(x) || isS4(y)
    if (!dispatched && (inherits(x, "AnvilValue") || inherits(y, "AnvilValue"))) return(nv_matmul(x, y))
    base::`%*%`(x, y)
  }
}

# Methods of base R's own operator before R 4.3, for code that does not see the one above. Called by
# .onLoad(): a namespace that holds methods of a primitive function gets a generic in the place of its own
# function of that name.
set_matmul_methods <- function() {
  where <- new.env(parent = topenv())
  for (signature in list(c("AnvilValue", "AnvilValue"), c("AnvilValue", "ANY"), c("ANY", "AnvilValue"))) {
    setMethod("%*%", signature, function(x, y) nv_matmul(x, y), where = where)
  }
}
