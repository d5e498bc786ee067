#' Tensors of a model formula
#'
#' The design matrix of a formula with its response, offset and weights as tensors: what
#' [stats::model.frame()] and [stats::model.matrix()] make of the same arguments, column by column, with
#' factors, interactions, contrasts and functions in the formula. For programs that fit a model to data
#' frames.
#'
#' A model is a list and an argument of jitted functions and of all that takes nested lists: its tensors are
#' data, all else is static; in a traced function it has all parts but `terms`. So the same program serves
#' other data of the same columns.
#'
#' For new data, give the terms and levels of the first model, as `predict()` methods do:
#' `nv_model(delete.response(m$terms), new, levels = m$levels, contrasts = m$contrasts)`.
#'
#' @param formula A formula, or the `terms` of a model.
#' @param data A data frame, list or environment with the variables of the formula, and of `subset`, `weights`
#'   and `offset`; what is not there is taken from the environment of the formula.
#' @param subset,weights,offset Expressions in the variables of `data`, as for [stats::lm()]; `NULL` are all
#'   rows, and none.
#' @param contrasts A list of contrasts by factor, as for [stats::model.matrix()]; `NULL` are those of the
#'   factors, or of `options(contrasts = )`.
#' @param levels A list of the levels of factors by name, for new data.
#' @param dtype Dtype of the design, the offset, the weights and a response of doubles: its name, or a dtype
#'   object; `NULL` is the default of floats, see [default_dtypes()].
#' @param na What becomes of rows with missing values in a variable: `"error"`; `"omit"`, which leaves them
#'   out of all parts; or `"nan"`, which makes their elements NaN.
#' @param x A model.
#' @param ... Not used.
#' @return An object of class `AnvilModel`, a list of
#'   * `response`: a vector, or a matrix if the left side is one; doubles have the dtype, integers the default
#'     one, logicals are `i1`, a factor is its codes from 1, and with `na = "nan"` all of these are of the
#'     dtype; `NULL` without a left side;
#'   * `design`: a matrix with a column for each coefficient, the names of which it has;
#'   * `offset`, `weights`: vectors, or `NULL`;
#'   * `columns`: the names of the columns; `assign`: for each the number of its term, 0 for the intercept, by
#'     which [split()] groups coefficients; `contrasts`: those that were used, by factor;
#'   * `levels`: the levels of factors by name, `response_levels` those of the response, or `NULL`;
#'   * `rows`: the names of the rows that are in the tensors; `omitted`: the numbers of those left out;
#'   * `terms`: the terms of the formula.
#' @section Errors: `anvil_error_arg` for arguments that are not as above, and with R's message for a formula
#' or data that R refuses; `anvil_error_value` for missing values with `na = "error"`, counted by variable.
#' @seealso [as_nv_tensor()] for data frames without a formula.
#' @examples
#' m <- nv_model(dist ~ speed + I(speed^2), cars, dtype = "f64")
#' m
#' fit <- jit(function(m) nv_solve(crossprod(m$design), crossprod(m$design, m$response)))
#' setNames(as.vector(fit(m)), m$columns)
#'
#' nv_model(breaks ~ wool * tension, warpbreaks, weights = breaks)$columns
#' nv_model(Ozone ~ Wind, airquality, na = "omit")
#' @export
nv_model <- function(
  formula, data = NULL, subset = NULL, weights = NULL, offset = NULL, contrasts = NULL, levels = NULL,
  dtype = NULL, na = "error"
) {
  na <- check_choice("na", na, c("error", "nan", "omit"))
  if (!inherits(formula, "formula")) abort_arg("formula", "a formula, such as `y ~ x`", describe(formula))
  call <- match.call()
  call <- call[c(1L, match(c("formula", "data", "subset", "weights", "offset"), names(call), 0L))]
  call[[1L]] <- quote(stats::model.frame)
  call$drop.unused.levels <- is.null(levels)
  call$na.action <- if (na == "omit") quote(stats::na.omit) else quote(stats::na.pass)
  if (!is.null(levels)) call$xlev <- levels
  frame <- by_r("formula", eval(call, parent.frame()))
  if (na == "error") check_columns("data", lapply(frame, are_missing), names(frame))
  terms <- attr(frame, "terms")
  design <- if (stats::is.empty.model(terms)) {
    matrix(0, nrow(frame), 0L)
  } else {
    by_r("formula", stats::model.matrix(terms, frame, contrasts))
  }
  used <- attributes(design)[c("assign", "contrasts")]
  columns <- as.character(colnames(design))
  dtype <- dtype %||% default_float()
  numbers <- function(x) if (na == "nan") replace(as.double(x), is.na(x), NaN) else as.double(x)
  part <- function(x, arg) if (!is.null(x)) response_tensor(x, arg, dtype, na)
  response <- stats::model.response(frame)
  structure(
    list(
      response = part(response, "response"),
      design = nv_tensor(array(numbers(design), dim(design), list(NULL, columns)), dtype),
      offset = part(as_numbers(stats::model.offset(frame)), "offset"),
      weights = part(as_numbers(stats::model.weights(frame)), "weights"),
      columns = columns, assign = used$assign, contrasts = used$contrasts,
      levels = stats::.getXlevels(terms, frame), response_levels = base::levels(response),
      rows = attr(frame, "row.names"), omitted = as.vector(attr(frame, "na.action")), terms = terms
    ),
    class = "AnvilModel"
  )
}

as_numbers <- function(x) if (!is.null(x)) as.double(x)

# The value of an expression in which R's own error is one about an argument.
by_r <- function(arg, expr, expected = "one that R makes a model frame of") {
  tryCatch(expr, error = function(e) {
    if (inherits(e, "anvil_error") || is_time_limit(e)) stop(e)
    abort_arg(arg, expected, "this", paste("R says:", conditionMessage(e)))
  })
}

# A variable as a tensor without names of rows. Doubles have the dtype of the model.
response_tensor <- function(x, arg, dtype, na) {
  if (is.character(x)) {
    abort_arg(arg, "numbers, logicals or a factor", describe(x), "Make it a factor with `factor()`.")
  }
  if (!inherits(x, c("factor", "Date", "POSIXct", "difftime", "integer64"))) x <- unclass(x)
  given <- plain_data(x, arg)
  data <- given$data
  if (na == "nan" && given$kind %in% whole_kinds) {
    given$kind <- "double"
    data <- as_doubles(data, are_missing(data))
  }
  if (na == "nan") data[is.na(data)] <- NaN
  sizes <- dim(data) %||% length(data)
  names <- colnames(data)
  data <- structure(as.vector(unclass(data)), class = oldClass(data))
  if (length(sizes) == 2L) data <- array(data, sizes, if (!is.null(names)) list(NULL, names))
  nv_tensor(data, if (given$kind %in% c("double", "time")) dtype, sizes)
}

#' @rdname nv_model
#' @export
format.AnvilModel <- function(x, ...) {
  check_dots(..., .known = taken_by("format"))
  about <- function(name) {
    value <- x[[name]]
    if (!is.null(value)) paste0(name, ": ", describe_leaf(value))
  }
  formula <- if (!is.null(x$terms)) paste0(" ", deparse1(stats::formula(x$terms)))
  omitted <- length(x$omitted)
  c(
    paste0(
      "AnvilModel", formula, ", ", length(x$rows), " rows", if (omitted) paste0(" (", omitted, " left out)")
    ),
    about("response"), about("design"),
    if (length(x$columns)) {
      strwrap(paste(x$columns, collapse = ", "), getOption("width") - 2L, indent = 2L, exdent = 2L)
    },
    about("offset"), about("weights")
  )
}

#' @rdname nv_model
#' @export
print.AnvilModel <- function(x, ...) {
  check_dots(..., .known = taken_by("print"))
  cat(format(x), sep = "\n")
  invisible(x)
}

# Models are arguments of jitted functions: entries for the table of tree classes. Terms have an environment,
# which no program can be compared by.
flatten_model <- function(x) {
  data <- c("response", "design", "offset", "weights")
  x <- unclass(x)
  list(children = x[data], static = x[setdiff(names(x), c(data, "terms"))])
}

unflatten_model <- function(children, static) structure(c(children, static), class = "AnvilModel")
