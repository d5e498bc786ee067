# Functions of base R on arrays and their parts, see base-generics.R.

# nolint start: object_name_linter. Names are those of R.

#' @export rowSums
rowSums <- function(x, na.rm = FALSE, dims = 1L) UseMethod("rowSums", among(x))

#' @method rowSums AnvilValue
#' @export
rowSums.AnvilValue <- function(x, na.rm = FALSE, dims = 1L) {
  check_flag("na.rm", na.rm)
  .External(anvil_op, "reduce_sum", x, axes = trailing_axes(x, dims), drop = TRUE, na_rm = na.rm)
}

#' @export colSums
colSums <- function(x, na.rm = FALSE, dims = 1L) UseMethod("colSums", among(x))

#' @method colSums AnvilValue
#' @export
colSums.AnvilValue <- function(x, na.rm = FALSE, dims = 1L) {
  check_flag("na.rm", na.rm)
  .External(anvil_op, "reduce_sum", x, axes = leading_axes(x, dims), drop = TRUE, na_rm = na.rm)
}

#' @export rowMeans
rowMeans <- function(x, na.rm = FALSE, dims = 1L) UseMethod("rowMeans", among(x))

#' @method rowMeans AnvilValue
#' @export
rowMeans.AnvilValue <- function(x, na.rm = FALSE, dims = 1L) {
  check_flag("na.rm", na.rm)
  nv_mean(x, trailing_axes(x, dims), na_rm = na.rm)
}

#' @export colMeans
colMeans <- function(x, na.rm = FALSE, dims = 1L) UseMethod("colMeans", among(x))

#' @method colMeans AnvilValue
#' @export
colMeans.AnvilValue <- function(x, na.rm = FALSE, dims = 1L) {
  check_flag("na.rm", na.rm)
  nv_mean(x, leading_axes(x, dims), na_rm = na.rm)
}

#' @export is.vector
is.vector <- function(x, mode = "any") UseMethod("is.vector", among(x))

# R's own sees attributes, of which a vector has none but names. What code asks with it is whether there are
# rows and columns, and a factor is none.
#' @method is.vector AnvilValue
#' @export
is.vector.AnvilValue <- function(x, mode = "any") {
  is_of_mode(x, mode) && ndims(x) < 2L && is.null(levels(x))
}

# Whether the R vector of these elements is of a mode, or of a type, as is.vector() asks.
is_of_mode <- function(x, mode) {
  if (!is.character(mode) || length(mode) != 1L || is.na(mode)) {
    abort_arg("mode", "one string", describe(mode))
  }
  mode %in% c("any", base::mode(x), typeof(x)) || mode == "double" && is_float(dtype(x))
}

#' @export mode<-
`mode<-` <- function(x, value) UseMethod("mode<-", among(x))

# R's own gives the new elements the attributes of the old ones, and with them their dtype.
#' @method mode<- AnvilValue
#' @export
`mode<-.AnvilValue` <- function(x, value) of_mode(x, value, "`mode<-`")

#' @export storage.mode<-
`storage.mode<-` <- function(x, value) UseMethod("storage.mode<-", among(x))

#' @method storage.mode<- AnvilValue
#' @export
`storage.mode<-.AnvilValue` <- function(x, value) of_mode(x, value, "`storage.mode<-`")

# Elements that no tensor has, such as strings, are an R value. Outside of a trace it is known where R would
# have NA, which integers and booleans cannot hold.
of_mode <- function(x, value, what) {
  if (missing(value)) abort_missing("value")
  if (is_traced(x)) return(with_mode(x, value, what))
  if (!is_numeric_mode(value)) return(base::`mode<-`(as_array(x), value))
  if (is_float(dtype(x)) && value[1L] %in% c("integer", "logical")) {
    lost <- sum(is.na(suppressWarnings(as.vector(as.vector(x), value[1L]))))
    if (lost) {
      abort("anvil_error_value", paste0(
        "`x` holds ", lost, if (lost == 1L) " value" else " values", ", NaN or too large, which R makes NA: ",
        "no tensor of mode \"", value[1L], "\" holds it.\n",
        "i Replace such values first, as in `x[is.na(x)] <- 0`."
      ))
    }
  }
  with_mode(x, value, what)
}

#' @export colnames
colnames <- function(x, do.NULL = TRUE, prefix = "col") UseMethod("colnames", among(x))

# R's own subscripts `dimnames()`, of which a vector with names has one element.
#' @method colnames AnvilValue
#' @export
colnames.AnvilValue <- function(x, do.NULL = TRUE, prefix = "col") {
  if (ndims(x) == 1L && isTRUE(do.NULL)) NULL else base::colnames(x, do.NULL, prefix)
}

# The axes that are rows, the first `dims`, and those that are columns.
leading_axes <- function(x, dims) seq_len(checked_dims(x, dims))
trailing_axes <- function(x, dims) seq.int(checked_dims(x, dims) + 1L, length(dim(x)))

checked_dims <- function(x, dims) {
  rank <- length(dim(x))
  if (rank > 1L && identical(dims, 1L)) return(1L)
  if (rank < 2L) abort_arg("x", "a tensor of at least two axes", shown_shape(x))
  if (!is_whole(dims) || dims < 1 || dims >= rank) {
    abort_arg("dims", paste("a whole number from 1 to", rank - 1L), describe(dims))
  }
  as.integer(dims)
}

shown_shape <- function(x) paste("one of shape", format_shape(shape(x)))

#' @export outer
outer <- function(X, Y, FUN = "*", ...) UseMethod("outer", among(X, Y))

#' @method outer AnvilValue
#' @export
outer.AnvilValue <- function(X, Y, FUN = "*", ...) {
  FUN <- function_of(FUN)
  # Indicators of levels, `outer(f, levels(f), "==")`; what is no level has no code.
  if (is_traced_factor(X) && is.character(Y)) {
    Y <- match(Y, levels(X), nomatch = -1L)
    X <- codes_of(X)
  }
  parts <- lapply(list(X, Y), function(x) axis_names(x) %||% vector("list", length(dim(x) %||% length(x))))
  with_names(outer_product(X, Y, FUN, ...), do.call(base::c, parts))
}

outer_product <- function(X, Y, FUN, ...) {
  # Operators need no grid: their operands are repeated as they are read. Those of factors are of labels.
  has_codes <- is_traced_factor(X) || is_traced_factor(Y)
  is_vector <- function(x) length(dim(x)) == 1L || is.null(dim(x)) && !is_value(x) && length(x) != 1L
  if (is_vector(X) && is_vector(Y) && !has_codes && ...length() == 0L) {
    if (identical(FUN, `*`)) return(nv_outer(X, Y))
    if (is.primitive(FUN) && any(vapply(grid_operators, identical, NA, FUN))) return(nv_outer(X, Y, FUN))
  }
  sizes <- c(dim(X) %||% length(X), dim(Y) %||% length(Y))
  n <- length(X)
  m <- length(Y)
  out <- FUN(on_grid(X, n, m, 1L), on_grid(Y, n, m, 2L), ...)
  if (length(out) != n * m) {
    got <- paste("one that gives", length(out))
    abort_arg("FUN", paste("a function of vectors that gives", n * m, "values"), got)
  }
  if (is_value(out)) nv_reshape(out, sizes) else array(out, sizes)
}

grid_operators <- list(`*`, `+`, `-`, `/`, `^`, `==`, `!=`, `<`, `<=`, `>`, `>=`)

# The elements along one axis of a grid of n times m, as a vector in R's order.
on_grid <- function(x, n, m, axis) {
  if (!is_value(x)) {
    x <- as.vector(x)
    return(if (axis == 1L) rep(x, times = m) else rep(x, each = n))
  }
  nv_flatten(nv_broadcast_in_dim(nv_flatten(x), c(n, m), axis))
}

#' @export "%o%"
`%o%` <- function(X, Y) UseMethod("%o%", among(X, Y))

#' @method %o% AnvilValue
#' @export
`%o%.AnvilValue` <- function(X, Y) outer.AnvilValue(X, Y)

#' @export diag
diag <- function(x = 1, nrow, ncol, names = TRUE) UseMethod("diag", among(x))

#' @method diag AnvilValue
#' @export
diag.AnvilValue <- function(x = 1, nrow = NULL, ncol = NULL, names = TRUE) {
  if (ndims(x) > 1L) {
    if (!is.null(nrow) || !is.null(ncol)) {
      abort_arg("nrow", "left out if `x` is a matrix", describe(nrow %||% ncol))
    }
    if (ndims(x) > 2L) {
      abort_arg("x", "a matrix, a vector or a number", shown_shape(x), "See `nv_extract_diag()`.")
    }
    # As in R, names that rows and columns share.
    k <- seq_len(min(dim(x)))
    shared <- names && !is.null(rownames(x)) && identical(rownames(x)[k], colnames(x)[k])
    return(with_names(nv_extract_diag(x), if (shared) list(rownames(x)[k])))
  }
  if (is.null(nrow) && is.null(ncol) && length(x) == 1L) {
    if (is_traced(x)) {
      abort_arg(
        "x", "a vector of other than one element, or `nrow` given, in a traced function", shown_shape(x),
        paste(
          "R makes an identity matrix of that size, which is not known yet: `diag(x, 1)` has the number on",
          "the diagonal."
        )
      )
    }
    return(nv_eye(as.vector(x), dtype = dtype(x), ambiguous = ambiguous(x)))
  }
  nrow <- nrow %||% if (is.null(ncol) || length(x) != 1L) length(x) else ncol
  ncol <- ncol %||% nrow
  for (arg in c("nrow", "ncol")) {
    size <- get(arg)
    if (!is_whole(size) || size < 0) abort_arg(arg, "a whole number, at least 0", describe(size))
  }
  k <- min(nrow, ncol)
  values <- if (length(x) == 1L) {
    nv_broadcast_to(nv_reshape(x, integer()), k)
  } else if (length(x) == k) {
    x
  } else {
    recycled(x, k, "x")
  }
  out <- nv_diag(values)
  if (nrow == ncol) return(out)
  nv_pad(out, 0, c(0L, 0L), c(nrow - k, ncol - k))
}

# A vector repeated or cut to a length, as rep_len() does.
recycled <- function(x, length, arg) {
  if (length > 0L && !length(x)) abort_arg(arg, "of at least one element", "empty")
  taken(x, rep_len(seq_along(x), length))
}

#' @export sweep
sweep <- function(x, MARGIN, STATS, FUN = "-", check.margin = TRUE, ...) {
  UseMethod("sweep", among(x, STATS))
}

#' @method sweep AnvilValue
#' @export
sweep.AnvilValue <- function(x, MARGIN, STATS, FUN = "-", check.margin = TRUE, ...) {
  FUN <- function_of(FUN)
  sizes <- dim(x)
  MARGIN <- checked_margin(MARGIN, x, "MARGIN")
  if (!is_operand(STATS)) abort_arg("STATS", "a tensor, or an R number, vector or array", describe(STATS))
  wanted <- sizes[MARGIN]
  if (length(STATS) != 1L && length(STATS) != prod(wanted)) {
    abort_arg("STATS", paste(prod(wanted), "numbers, as many as `MARGIN` has"), paste(length(STATS)))
  }
  stats <- if (length(STATS) == 1L) {
    if (is_value(STATS)) nv_reshape(STATS, integer()) else as.vector(STATS)
  } else if (is_value(STATS)) {
    nv_broadcast_in_dim(nv_reshape(STATS, wanted), sizes, MARGIN)
  } else {
    rest <- setdiff(seq_along(sizes), MARGIN)
    aperm(array(STATS, c(wanted, sizes[rest])), base::order(c(MARGIN, rest)))
  }
  FUN(x, stats, ...)
}

# Axes by number, or by what `names(dimnames(x))` call them.
checked_margin <- function(margin, x, arg = "margin") {
  rank <- length(dim(x))
  if (is.character(margin)) {
    called <- names(dimnames(x))
    if (!all(margin %in% called)) {
      abort_arg(arg, paste("axes from 1 to", rank, "or names of `dimnames(x)`"), describe(margin))
    }
    margin <- match(margin, called)
  }
  ok <- is_numeric(margin) && length(margin) && all(margin %in% seq_len(rank)) && !anyDuplicated(margin)
  if (!ok) abort_arg(arg, paste("axes from 1 to", rank, "each once"), describe(margin))
  as.integer(margin)
}

#' @export marginSums
marginSums <- function(x, margin = NULL) UseMethod("marginSums", among(x))

#' @method marginSums AnvilValue
#' @export
marginSums.AnvilValue <- function(x, margin = NULL) {
  if (!length(margin)) return(sum(x))
  margin <- checked_margin(margin, x)
  rest <- setdiff(seq_len(ndims(x)), margin)
  out <- if (length(rest)) sum(x, axes = rest) else x
  if (is.unsorted(margin)) nv_transpose(out, base::rank(margin)) else out
}

#' @export margin.table
margin.table <- function(x, margin = NULL) UseMethod("margin.table", among(x))

#' @method margin.table AnvilValue
#' @export
margin.table.AnvilValue <- function(x, margin = NULL) marginSums.AnvilValue(x, margin)

#' @export proportions
proportions <- function(x, margin = NULL) UseMethod("proportions", among(x))

#' @method proportions AnvilValue
#' @export
proportions.AnvilValue <- function(x, margin = NULL) {
  if (!length(margin)) return(x / sum(x))
  sweep.AnvilValue(x, margin, marginSums.AnvilValue(x, margin), "/")
}

#' @export prop.table
prop.table <- function(x, margin = NULL) UseMethod("prop.table", among(x))

#' @method prop.table AnvilValue
#' @export
prop.table.AnvilValue <- function(x, margin = NULL) proportions.AnvilValue(x, margin)

# Where the elements of each part go, R's own function says of their numbers.
#' @export unsplit
unsplit <- function(value, f, drop = FALSE) {
  is_list <- !missing(value) && !missing(f) && is.list(value) && !is.object(value)
  UseMethod("unsplit", if (is_list) do.call(among_dots, unname(value), quote = TRUE))
}

#' @method unsplit AnvilValue
#' @export
unsplit.AnvilValue <- function(value, f, drop = FALSE) {
  sizes <- lengths(value)
  numbers <- Map(function(size, before) before + seq_len(size), sizes, cumsum(sizes) - sizes)
  at <- tryCatch(base::unsplit(numbers, f, drop), warning = function(w) {
    count <- length(if (is.list(f)) f[[1L]] else f)
    abort_arg(
      "value", paste("a list of", count, "elements, as `f` has"), paste("one of", sum(sizes)),
      paste0("R says: ", conditionMessage(w))
    )
  })
  taken(unname(joined(unname(value))), at)
}

# R's gives S4 objects, which tensors are before R 4.3, a class with a warning. A vector, such as in the
# formula `y ~ I(x^2)`, needs none; a matrix is by it one column of a data frame.
#' @rawNamespace if (getRversion() < "4.3.0") {
#'   export(I)
#'   S3method(I, AnvilValue)
#' }
if (getRversion() < "4.3.0") {
  I <- function(x) UseMethod("I", among(x)) # nolint: object_name_linter.
  I.AnvilValue <- function(x) { # nolint: object_name_linter.
    if (ndims(x) < 2L) x else base::I(asS4(x, FALSE, FALSE))
  }
}

#' @export append
append <- function(x, values, after = length(x)) UseMethod("append", among(x, values))

#' @method append AnvilValue
#' @export
append.AnvilValue <- function(x, values, after = length(x)) {
  if (!is_whole(after)) abort_arg("after", "a whole number", describe(after))
  # An R list holds tensors as its elements.
  if (is.list(x) || is.list(values)) {
    return(base::append(if (is.list(x)) x else list(x), if (is.list(values)) values else list(values), after))
  }
  # As in R, NULL has no elements: a vector often grows from it.
  if (is.null(x)) return(c.AnvilValue(values))
  if (is.null(values)) return(c.AnvilValue(x))
  n <- length(x)
  if (after <= 0L) return(c.AnvilValue(values, x))
  if (after >= n) return(c.AnvilValue(x, values))
  c.AnvilValue(x[seq_len(after)], values, x[seq.int(after + 1L, n)])
}

#' @export embed
embed <- function(x, dimension = 1) UseMethod("embed", among(x))

#' @method embed AnvilValue
#' @export
embed.AnvilValue <- function(x, dimension = 1) {
  # Of few columns each is a slice; all of them are a view of `x`, which costs nothing.
  rank <- ndims(x)
  n <- if (rank > 0L) shape(x)[1L] else 1L
  if (rank %in% 1:2 && is_whole(dimension) && dimension >= 1 && dimension <= min(n, 32)) {
    rows <- n - dimension + 1
    slice <- function(from) {
      at <- from + seq_len(rows) - 1
      if (rank == 1L) nv_reshape(x[at], c(rows, 1)) else x[at, , drop = FALSE]
    }
    return(do.call(nv_concatenate, c(lapply(seq(dimension, 1), slice), axis = 2L)))
  }
  arranged(x, function(at) stats::embed(at, dimension))
}

#' @export toeplitz
toeplitz <- function(x, ...) UseMethod("toeplitz", among(x))

#' @method toeplitz AnvilValue
#' @export
toeplitz.AnvilValue <- function(x, ...) {
  check_dots(..., .known = c("r", "symmetric"))
  arranged(x, function(at) stats::toeplitz(at, ...))
}

# What a function of R makes of the positions of the elements says where these go.
arranged <- function(x, arrange) {
  positions <- if (ndims(x) < 2L) seq_along(x) else array(seq_along(x), shape(x))
  to <- by_base(arrange(positions))
  nv_reshape(taken(x, c(to)), dim(to) %||% length(to))
}

# One of several words, of which the first is the default, in full or abbreviated.
chosen <- function(arg, value, choices) {
  if (identical(value, choices)) return(choices[1L])
  at <- if (is.character(value) && length(value) == 1L) pmatch(value, choices) else NA
  known <- paste0("\"", choices, "\"", collapse = ", ")
  if (is.na(at)) abort_arg(arg, paste("one of", known), describe(value))
  choices[at]
}

# nolint end

# A function by itself or by its name, as match.fun() finds it for the caller of a method.
function_of <- function(given) {
  if (is.function(given)) return(given)
  is_name <- is.character(given) && length(given) == 1L && !is.na(given) && nzchar(given) || is.symbol(given)
  found <- if (is_name) get0(as.character(given), parent.frame(2L), mode = "function")
  found %||% abort_arg("FUN", "a function, or the name of one", describe(given))
}
