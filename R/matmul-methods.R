# `%*%`: S4 methods before R 4.3, where the operator dispatches on nothing else; an S3 method of the group `matrixOps`
# from then on.

#' @rawNamespace if (getRversion() >= "4.3.0") S3method(matrixOps, AnvilValue)
matrixOps.AnvilValue <- function(x, y) nv_matmul(x, y)

if (getRversion() < "4.3.0") {
  setMethod("%*%", signature("AnvilValue", "AnvilValue"), function(x, y) nv_matmul(x, y))
  setMethod("%*%", signature("AnvilValue", "ANY"), function(x, y) nv_matmul(x, y))
  setMethod("%*%", signature("ANY", "AnvilValue"), function(x, y) nv_matmul(x, y))
}
