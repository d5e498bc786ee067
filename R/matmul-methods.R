# `%*%`, crossprod() and tcrossprod() are an S3 group from R 4.3 on; the last two joined it in R 4.4. Before,
# base R's `%*%` dispatches only on S4 objects, and the other two do not dispatch: anvil has S4 generics for
# them, created from base R's functions, so that methods of other packages are found too.

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

# Transposes the last two axes: leading axes are a batch to nv_matmul(). An R array remains one, since its
# numbers keep their digits until they are promoted; nv_matmul() refuses what is no matrix.
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
