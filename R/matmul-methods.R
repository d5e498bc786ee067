# `%*%`, crossprod() and tcrossprod() are an S3 group from R 4.3 on; the last two joined it in R 4.4. Before,
# base R's `%*%` dispatches only on S4 objects, and the other two do not dispatch: anvil has generics for
# these.

#' @rawNamespace if (getRversion() >= "4.3.0") S3method(matrixOps, AnvilValue)
matrixOps.AnvilValue <- function(x, y) {
  switch(.Generic,
    `%*%` = product(x, y),
    crossprod = cross(x, if (!missing(y)) y),
    tcrossprod = tcross(x, if (!missing(y)) y),
    unsupported(.Generic)
  )
}

# Of an operator of which both operands have methods, that of tensors is chosen from R 4.3 on, which refuses
# what it does not know, such as factors and dates; before, R warns and computes with the bare numbers.
#' @rawNamespace if (getRversion() >= "4.3.0") S3method(chooseOpsMethod, AnvilValue)
chooseOpsMethod.AnvilValue <- function(x, y, mx, my, cl, reverse) TRUE

# As nv_matmul(), but that vectors are rows or columns.
product <- function(x, y) .External(anvil_op, "matrix_product", x, y)

cross <- saying_what_is_missing(function(x, y = NULL) .External(anvil_op, "crossprod", x, y %||% x))
tcross <- saying_what_is_missing(function(x, y = NULL) .External(anvil_op, "tcrossprod", x, y %||% x))

# Generics of ours, see base-generics.R: those that setMethod() makes would turn an error in an argument into
# one of no class.
#' @rawNamespace if (getRversion() < "4.4.0") {
#'   export(crossprod, tcrossprod)
#'   S3method(crossprod, AnvilValue)
#'   S3method(tcrossprod, AnvilValue)
#' }
if (getRversion() < "4.4.0") {
  crossprod <- function(x, y = NULL, ...) UseMethod("crossprod", among(x, y))
  tcrossprod <- function(x, y = NULL, ...) UseMethod("tcrossprod", among(x, y))
  crossprod.AnvilValue <- function(x, y = NULL, ...) {
    check_dots(...)
    cross(x, y)
  }
  tcrossprod.AnvilValue <- function(x, y = NULL, ...) {
    check_dots(...)
    tcross(x, y)
  }
}

#' @rawNamespace if (getRversion() < "4.3.0") export("%*%")
if (getRversion() < "4.3.0") {
  # Tensors that a newer R saved are no S4 objects, and base R's operator refuses two of them without asking
  # anybody.
  `%*%` <- function(x, y) {
    dispatched <- !(is.object(x) || is.object(y)) || isS4(x) || isS4(y)
    if (!dispatched && (inherits(x, "AnvilValue") || inherits(y, "AnvilValue"))) return(product(x, y))
    base::`%*%`(x, y)
  }
}

# Methods of base R's own operator before R 4.3, for code that does not see the one above. Called by
# .onLoad(): a namespace that holds methods of a primitive function gets a generic in the place of its own
# function of that name.
set_matmul_methods <- function() {
  where <- new.env(parent = topenv())
  for (signature in list(c("AnvilValue", "AnvilValue"), c("AnvilValue", "ANY"), c("ANY", "AnvilValue"))) {
    setMethod("%*%", signature, function(x, y) product(x, y), where = where)
  }
}
