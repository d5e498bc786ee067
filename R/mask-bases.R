# What poly() and scale() computed of the data of a model, which new data take too, as R's makepredictcall()
# has it: in the formulas of traced functions, see mask-formulas.R.

# A record of the bases in a model's formula, by the code of each variable that is a call of one of them.
new_bases <- function() {
  bases <- new.env(parent = emptyenv())
  bases$of <- list()
  bases
}

# Whether code is `poly(..)` or `scale(..)` of R's where it is evaluated. As R, one within other calls is
# computed of each data anew.
is_basis <- function(code, around) {
  if (!is.call(code) || !is.name(code[[1L]])) return(FALSE)
  name <- as.character(code[[1L]])
  own <- switch(name, poly = stats::poly, scale = base::scale)
  f <- if (!is.null(own)) get0(name, around, mode = "function")
  !is.null(f) && (identical(f, own) || identical(f, mask_functions[[name]]))
}

# What such a variable computes of the data of a model: `made` is its value.
noted_basis <- function(code, made, frame, around) {
  args <- as.list(match.call(definition_of_basis(code), code))[-1L]
  if (identical(code[[1L]], quote(scale))) return(scale_basis(made))
  args <- lapply(args, eval, frame, around)
  # Polynomials in several variables are none of these.
  more <- args[!names(args) %in% c("x", "degree", "raw", "simple")]
  if (length(more) > 1L || length(more) && !is_whole(more[[1L]])) return(NULL)
  poly_basis(args$x, ncol(made), isTRUE(args$raw))
}

# Its value for new data, by the basis that was noted.
value_by_basis <- function(code, basis, frame, around) {
  x <- eval(match.call(definition_of_basis(code), code)$x, frame, around)
  if (identical(code[[1L]], quote(scale))) scale_of_basis(x, basis) else poly_of_basis(x, basis)
}

definition_of_basis <- function(code) if (identical(code[[1L]], quote(scale))) base::scale else stats::poly

# The recurrence of orthogonal polynomials: list(alpha, norms), or of powers their degree.
poly_basis <- function(x, degree, raw) {
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
