# What poly() and scale() computed of the data of a model, which new data take too, as R's makepredictcall()
# has it: in the formulas of traced functions, see mask-formulas.R.

# A record of the bases in a model's formula, by the code of each variable that is a call of one of them.
new_bases <- function() {
  bases <- new.env(parent = emptyenv())
  bases$of <- list()
  bases
}

# Whether code is `poly(..)` or `scale(..)`. As R, one within other calls is computed of each data anew.
is_basis <- function(code) {
  is.call(code) && (identical(code[[1L]], quote(poly)) || identical(code[[1L]], quote(scale)))
}

# Where such a variable is evaluated: the function notes what it computes or, if the bases `are_known`, takes
# it. One of the user's that is called so is as it is.
among_bases <- function(bases, code, name, around, are_known) {
  generic <- as.character(code[[1L]])
  f <- get0(generic, around, mode = "function")
  is_poly <- generic == "poly"
  if (!identical(f, if (is_poly) stats::poly else base::scale) && !identical(f, mask_functions[[generic]])) {
    return(around)
  }
  out <- new.env(parent = around)
  assign(generic, function(x, ...) {
    if (are_known) return((if (is_poly) poly_of_basis else scale_of_basis)(x, bases$of[[name]]))
    made <- f(x, ...)
    bases$of[[name]] <- if (is_poly) poly_basis(x, made, ...) else scale_basis(made)
    made
  }, out)
  out
}

# The recurrence of orthogonal polynomials: list(alpha, norms), or of powers their degree.
poly_basis <- function(x, made, ..., raw = FALSE) {
  degree <- ncol(made)
  if (raw) return(list(degree = degree))
  if (length(dim(x)) > 1L) return(NULL)
  x <- as_flat(real_floats(value_of(as_operand(x))))
  norms <- list(length(x))
  alpha <- list()
  columns <- list(0, 1)
  for (i in seq_len(degree)) {
    alpha[[i]] <- nv_reduce_sum(x * columns[[2L]]^2) / norms[[i]]
    ratio <- if (i > 1L) norms[[i]] / norms[[i - 1L]] else 0
    columns <- list(columns[[2L]], (x - alpha[[i]]) * columns[[2L]] - ratio * columns[[1L]])
    norms[[i + 1L]] <- nv_reduce_sum(columns[[2L]]^2)
  }
  list(alpha = alpha, norms = norms)
}

poly_of_basis <- function(x, basis) {
  x <- as_flat(real_floats(value_of(as_operand(x))))
  if (!is.null(basis$degree)) return(outer(x, seq_len(basis$degree), "^"))
  columns <- list(0 * x + 1)
  for (i in seq_along(basis$alpha)) {
    columns[[i + 1L]] <- (x - basis$alpha[[i]]) * columns[[i]]
    if (i > 1L) {
      columns[[i + 1L]] <- columns[[i + 1L]] - basis$norms[[i]] / basis$norms[[i - 1L]] * columns[[i - 1L]]
    }
  }
  scaled <- Map(function(column, norm) column / sqrt(norm), columns[-1L], basis$norms[-1L])
  out <- do.call(cbind, unname(scaled), quote = TRUE)
  colnames(out) <- as.character(seq_along(scaled))
  out
}

scale_basis <- function(made) {
  list(center = attr(made, "scaled:center"), scale = attr(made, "scaled:scale"))
}

scale_of_basis <- function(x, basis) {
  if (!is_value(x)) x <- value_of(as_operand(x))
  x <- real_floats(x)
  if (ndims(x) < 2L) x <- nv_reshape(x, c(length(x), 1L))
  if (!is.null(basis$center)) x <- sweep.AnvilValue(x, 2L, basis$center, "-")
  if (!is.null(basis$scale)) x <- sweep.AnvilValue(x, 2L, basis$scale, "/")
  x
}

# Whether a variable's code computes of all rows what is not known for new data: by bs() and ns(), by poly()
# and scale() within other calls, and by functions of these names that are the user's.
has_unknown_basis <- function(code, basis) {
  sum(all.names(code) %in% c("poly", "scale", "ns", "bs")) != as.integer(!is.null(basis))
}
