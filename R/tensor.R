#' Tensors
#'
#' A tensor holds elements of one dtype in an array of any number of axes. It is an R vector with a dtype: of
#' doubles for floats and for integers of 32 bits without a sign or of 64 bits, of integers for the other
#' integers, of logicals for `i1`, of complex numbers for `c64` and `c128`. So R's own functions take it:
#' `sapply()`, `for`, `if`, `optim()`, `identical()` and `saveRDS()` see numbers. Elements of narrow dtypes
#' are kept as such in memory and in files, and are converted when R reads them. A 64-bit integer beyond
#' 2^53 is rounded where R reads it as a double; printing, `as.character()`, saving and `bit64` keep all its
#' digits.
#'
#' A tensor keeps the names of its data, those of a vector and the `dimnames` of an array, by the rules of
#' base R; `names(x) <-` and `dimnames(x) <-` give it others. They stay with arguments and results of jitted
#' functions, in subsets, `c()`, `cbind()`, `rbind()`, `as.list()` and [as_array()]. Functions of one element
#' at a time keep them: results have the names of the first operand that has some and the shape of the result,
#' as in `exp(x)`, `1 + x` and `x > 0`; of `ifelse()`, `pmax()` and `pmin()` those of the first argument.
#' `t()`, `rev()`, `head()`, `tail()`, `diag()`, `cumsum()`, reductions of some axes such as `colMeans()`,
#' `cov()`, `cor()`, `outer()`, `crossprod()`, `%*%`, `solve()` and `chol()` give rows, columns and elements
#' the names of those that they come from. Gradients have the names of the argument. All else drops names:
#' `sum(x)` and `x[["a"]]`, [nv_reshape()], and in a traced function what moves elements to where only the
#' program knows, such as `sort(x)`. One number may have a name too, as in R: `x["a"]` and the argument
#' `c(a = 1)`, which are 0-d to anvil. Tensors of up to two axes are printed with their names; `as_array(x)`
#' shows those of more axes, too.
#'
#' Without a `dtype`, doubles become `f32`, integers `i32`, logicals `i1`, complex numbers `c64`,
#' `bit64::integer64` becomes `i64`, raw becomes `ui8`; [with_default_dtypes()] makes it `f64`, `i64` and
#' `c128`. Doubles as `f64`, integers as `i32` and complex
#' numbers as `c128` are not copied where R's own vector can serve.
#'
#' Data must fit: a value outside the range of an integer dtype, a fraction or a missing value is an error and
#' never wraps. Floats and the parts of complex numbers round to the nearest, ties to even. Beyond the range
#' of a `dtype` that is given they become infinite; beyond that of the default it is an error. Whole numbers
#' that the default rounds may be counts, times or keys: those beyond 2^24, and up to 2^53, from where on
#' doubles do not hold all of them either, give a warning of class `anvil_warning_rounded`, once in a session.
#' `dtype = "f64"` keeps them, and `dtype = "f32"` says that rounding is meant. An ambiguous float holds all
#' doubles as they are.
#'
#' `NA_real_` and NaN are values of floats; in `f64` and in ambiguous floats they keep their bits, so
#' `NA_real_` comes back as `NA`, and so does `NA_complex_` in `c128`. Integers beyond 2^53 can be given as
#' strings or as `bit64::integer64`.
#'
#' @param data For `nv_tensor()`, a numeric, complex, logical, raw or character vector or array; character
#'   data need a `dtype`, and complex data can only have a complex one. For `nv_scalar()`, one value. For
#'   `nv_matrix()`, a vector or matrix. A tensor is returned as it is.
#' @param dtype A dtype: its name, or a dtype object. `NULL` is the default of the data's type.
#' @param shape Sizes of the axes. `NULL` is `dim(data)` or else `length(data)`; `integer()` is a 0-d
#'   tensor. Data of length 1 are recycled to any shape, and nothing else is.
#' @param ambiguous Whether the dtype is a default that yields to known dtypes, see [common_dtype()]. An
#'   ambiguous float keeps all digits of R's doubles. `NULL` is `FALSE`; for `nv_scalar()` it is `TRUE` if no
#'   `dtype` is given, unless the value is logical.
#' @param device `"cpu"`.
#' @param order Order in which data fill the tensor: `"column"`, first axis fastest, as [array()] and
#'   [matrix()] do; or `"row"`, last axis fastest, as in JAX and NumPy, and `matrix(byrow = TRUE)`.
#' @param nrow,ncol Numbers of rows and columns. One may be left out, and follows from the length of the data,
#'   as in [matrix()]: it is 1 for a single value, and 0 if the other is 0. Without both, a matrix keeps its
#'   own, and other data are one column.
#' @return A tensor: an object of class `AnvilTensor`, of shape `shape` and dtype `dtype`; 0-d for
#'   `nv_scalar()`, 2-d for `nv_matrix()`.
#' @section Errors: `anvil_error_value` for missing values and values that the dtype cannot hold, or that
#' become infinite by default, with their number and the first positions; `anvil_error_shape` if the length of
#' the data is not that of the shape, or a shape is too large; `anvil_error_dtype` for an unknown dtype;
#' `anvil_error_arg` for data of another class, complex data and a dtype that is not complex, negative sizes,
#' and a tensor together with another `dtype`, `shape` or ambiguity than it has.
#' @seealso [as_array()] for the inverse, [nv_fill()] and [nv_iota()] for tensors without data.
#' @examples
#' nv_tensor(1:4, shape = c(2, 2))
#' nv_tensor(c(0.5, 1.5), dtype = "f64")
#' nv_scalar(1)
#' nv_matrix(1:6, nrow = 2, order = "row")
#' nv_tensor("9007199254740993", dtype = "i64")
#' nv_tensor(c(1+2i, -1i))
#' @export
nv_tensor <- function(data, dtype = NULL, shape = NULL, ambiguous = NULL, device = "cpu", order = "column") {
  check_device(device)
  if (inherits(data, "AnvilValue")) {
    if (!identical(order, "column")) abort_arg("order", "\"column\" for a tensor", describe(order))
    return(same_tensor(data, dtype, shape, ambiguous))
  }
  .Call(anvil_tensor, data, dtype, shape, if (is.null(ambiguous)) FALSE else ambiguous, order)
}

#' @rdname nv_tensor
#' @export
nv_scalar <- function(data, dtype = NULL, ambiguous = NULL, device = "cpu") {
  check_device(device)
  if (inherits(data, "AnvilValue")) return(same_tensor(data, dtype, integer(), ambiguous))
  # The length of a class's own making is not asked for.
  if ((is.atomic(data) || is.list(data)) && length(unclass(data)) != 1L) {
    abort_arg("data", "one value", describe(data))
  }
  if (is.null(ambiguous)) ambiguous <- is.null(dtype) && !is.logical(data)
  .Call(anvil_tensor, data, dtype, integer(), ambiguous, "column")
}

#' @rdname nv_tensor
#' @export
nv_matrix <- function(
  data, nrow = NULL, ncol = NULL, dtype = NULL, ambiguous = NULL, device = "cpu", order = "column"
) {
  check_size <- function(arg, size) {
    if (!is.null(size) && (!is_whole(size) || size < 0)) {
      abort_arg(arg, "a whole number, at least 0", describe(size))
    }
  }
  check_size("nrow", nrow)
  check_size("ncol", ncol)
  is_value <- inherits(data, "AnvilValue")
  if (is_value || is.null(nrow) && is.null(ncol) && length(dim(data)) == 2L) {
    sizes <- dim(data)
    if (length(sizes) != 2L) {
      abort_arg(
        "data", "a matrix", paste("a tensor of shape", format_shape(sizes)),
        "Use `nv_reshape()` to make it one."
      )
    }
    return(nv_tensor(data, dtype, c(nrow %||% sizes[1L], ncol %||% sizes[2L]), ambiguous, device, order))
  }
  count <- length(data)
  # As in matrix(): what is left out is as large as the data need.
  fitting <- function(given) if (given == 0) 0 else ceiling(count / given)
  sizes <- if (is.null(nrow) && is.null(ncol)) {
    c(count, 1)
  } else {
    c(nrow %||% fitting(ncol), ncol %||% fitting(nrow))
  }
  given <- nrow %||% ncol
  if ((is.null(nrow) || is.null(ncol)) && prod(sizes) != count && (count != 1L || given == 0)) {
    arg <- if (is.null(nrow)) "ncol" else "nrow"
    abort_arg(arg, paste0("a divisor of the data's length, ", count), describe(given))
  }
  nv_tensor(data, dtype, sizes, ambiguous, device, order)
}

# A tensor given as data: unchanged, or an error that names the property that would have to change.
same_tensor <- function(x, asked_dtype, asked_shape, asked_ambiguous) {
  refuse <- function(what, from, to, how) {
    abort_arg(what, paste0("that of the tensor, ", from), to, paste0("Use `", how, "` to change it."))
  }
  if (!is.null(asked_dtype)) {
    asked_dtype <- as_dtype(asked_dtype)
    if (dtype(x) != asked_dtype) {
      refuse("dtype", as.character(dtype(x)), as.character(asked_dtype), "nv_convert()")
    }
  }
  if (
    !is.null(asked_shape) &&
    !(is_numeric(asked_shape) && identical(as.double(asked_shape), as.double(shape(x))))
  ) {
    to <- if (is.numeric(asked_shape)) format_shape(asked_shape) else describe(asked_shape)
    refuse("shape", format_shape(shape(x)), to, "nv_reshape()")
  }
  if (!is.null(asked_ambiguous) && !identical(asked_ambiguous, ambiguous(x))) {
    refuse("ambiguous", as.character(ambiguous(x)), describe(asked_ambiguous), "nv_convert(ambiguous = )")
  }
  x
}

# What the session has been told once.
told <- new.env(parent = emptyenv())

# Called by Rust, with list(count, first, dtype): whole numbers that a default dtype rounds.
warn_of_digits <- function(lost) {
  if (isTRUE(told$digits)) return()
  told$digits <- TRUE
  count <- lost[[1L]]
  dtype <- lost[[3L]]
  wide <- if (dtype == "c64") "`dtype = \"c128\"`" else "`dtype = \"f64\"` or an integer dtype"
  message <- paste0(
    "`data` holds ", format(count, scientific = FALSE), " whole number", if (count != 1) "s",
    " beyond 2^24 that ", dtype, " rounds, the dtype that ", if (count == 1) "it has" else "they have",
    " by default.\nx First: ", lost[[2L]], ".\ni Use ", wide, ", or `dtype = \"", dtype,
    "\"` if rounding is meant. This is said once in a session."
  )
  warn("anvil_warning_rounded", message, count = count, first = lost[[2L]], dtype = dtype)
}

`%||%` <- function(x, y) if (is.null(x)) y else x

# Whether R's own numbers: not a tensor, which is a vector of numbers too.
is_numeric <- function(x) is.numeric(x) && !is.object(x)

is_whole <- function(x) is_numeric(x) && length(x) == 1L && is.finite(x) && x == round(x)

format_shape <- function(shape) paste0("(", paste(shape, collapse = ","), ")")

#' Convert data to a tensor
#'
#' Numbers, vectors and arrays of R become what they would be as operands. Data of R's classes become numbers
#' as follows:
#'
#' * **Data frames** a matrix with a column for each of theirs, in one dtype: `i1` if all are logicals, the
#'   default of integers for integers, factors and logicals, and else that of floats. The names of columns,
#'   and of rows if they have any, stay with the tensor as `dimnames`. A matrix in a column becomes several
#'   columns, `name.1` and so on, as in [as.matrix()].
#' * **Factors** their codes from 1, the positions in `levels(x)`; or with `factors = "one_hot"` a matrix with
#'   a column of 0 and 1 for each level, which the columns are named by (in a data frame by the name of the
#'   factor and the level).
#' * **Dates** days since 1970-01-01, **POSIXct** seconds since then, **difftime** numbers in their own units:
#'   all as `f64` if no `dtype` is given, since an `f32` counts seconds only up to 194 days. `dtype = "i32"`
#'   takes whole days.
#' * **`bit64::integer64`** `i64`; `ts()`, `table()` and `I()` the numbers that they hold.
#'
#' `NA` of integers, logicals, factors and times becomes no number in any dtype: `na` says what else. In bare
#' vectors of doubles it is a NaN, as [nv_tensor()] has it, unless `na` is given.
#'
#' @param x A tensor, which is returned as it is; an R number (complex ones too), logical, vector or array; a
#'   data frame, factor or vector of times. A number without `dim` becomes a 0-d tensor, ambiguous unless
#'   logical or of a class.
#' @param dtype A dtype that the result is to have: its name, or a dtype object; `NULL` is the default.
#' @param na What becomes of missing values (`NA` and NaN): `"error"`; `"nan"`, where logicals, integers and
#'   factors become doubles; or `"omit"`, which leaves out elements, or rows of a matrix or data frame, that
#'   have one. `NULL` is `"error"` for data of a class, and for others as [nv_tensor()] has it.
#' @param factors `"codes"` or `"one_hot"`.
#' @return A tensor; of dtype `dtype` if that is given, and known then.
#' @section Errors: As [nv_tensor()]. `anvil_error_value` for missing values with `na = "error"`: it counts
#' them, by column in a data frame. `anvil_error_arg` for columns of text or of other objects.
#' @seealso [nv_model()] for the design matrix of a formula. Data frames are arguments of jitted functions,
#'   see [jit()].
#' @examples
#' as_nv_tensor(1)
#' as_nv_tensor(c(1, 2, 3), "f64")
#' as_nv_tensor(head(cars, 3))
#' as_nv_tensor(factor(c("b", "a", "b")))
#' as_nv_tensor(factor(c("b", "a", "b")), factors = "one_hot")
#' as_nv_tensor(as.Date("2024-02-29"))
#' as_nv_tensor(c(1L, NA, 3L), na = "nan")
#' as_nv_tensor(airquality[1:6, 1:3], na = "omit")
#' @export
as_nv_tensor <- function(x, dtype = NULL, na = NULL, factors = "codes") {
  if (inherits(x, "AnvilValue")) {
    return(if (is.null(dtype)) x else nv_convert(x, dtype))
  }
  if (is.object(x) || !is.null(na)) return(tensor_of_data(x, dtype, na, factors))
  if (length(x) == 1L && is.null(dim(x))) nv_scalar(x, dtype) else nv_tensor(x, dtype)
}

#' Filled tensors and sequences
#'
#' `nv_fill()` has one value everywhere; `nv_empty()` has zeros (`FALSE`), for tensors whose content does not
#' matter or that have no elements; `nv_iota()` counts along one axis; `nv_seq()` is a vector of numbers
#' from `start` to `end`.
#'
#' In a function that is traced, these are part of the program and cost no memory in R.
#'
#' @param value One R number or logical, or a 0-d tensor.
#' @param shape Sizes of the axes; `integer()` is 0-d.
#' @param dtype A dtype: its name, or a dtype object. `NULL` is the default of the value's type; for
#'   `nv_seq()` it is that of integers, or that of floats with `steps`, see [default_dtypes()]. `nv_iota()`
#'   and `nv_seq()` take integers and floats.
#' @param ambiguous Whether the result is ambiguous, see [common_dtype()]: an ambiguous float keeps all digits
#'   of `value`.
#' @param device `"cpu"`.
#' @param axis The axis along which it counts, from 1 or negative from the end.
#' @param start,end First and last value. Whole numbers, for `nv_seq()` with `start <= end`; any numbers with
#'   `steps`.
#' @param steps Number of values, evenly spaced. `NULL` counts in steps of 1.
#' @return A tensor of shape `shape`; for `nv_seq()` of shape `end - start + 1`, or `steps`.
#' @section Properties:
#' * Dtypes:
#'     * `nv_fill()`: Any dtype.
#'     * `nv_iota()`: Integers (`i8` to `i64`, `ui8` to `ui64`) and floats (`bf16`, `f16`, `f32`, `f64`).
#' * Accuracy: Floats are correctly rounded (0.5 ulp).
#' @section Errors: `anvil_error_arg`, `anvil_error_shape`, `anvil_error_axis`, `anvil_error_dtype` for
#' arguments that are not as above; `anvil_error_value` for a value that the dtype cannot hold, or that
#' becomes infinite by default.
#' @examples
#' nv_fill(0.5, c(2, 2))
#' nv_empty("i8", c(0, 3))
#' nv_iota(2, "i32", c(2, 3))
#' nv_seq(3, 6)
#' nv_seq(0, 1, steps = 5)
#' @export
nv_fill <- function(value, shape, dtype = NULL, ambiguous = FALSE, device = "cpu") {
  check_device(device)
  if (inherits(value, "AnvilValue")) {
    own <- dtype_of_one(value)
    return(nv_broadcast_to(nv_convert(value, dtype %||% own, ambiguous = ambiguous), shape))
  }
  if (length(value) != 1L || !is.atomic(value)) {
    abort_arg(
      "value", "one number or logical", describe(value),
      "Use `nv_tensor()` to make a tensor of several values."
    )
  }
  value <- .Call(anvil_tensor, value, dtype, integer(), ambiguous, "column")
  .External(anvil_op, "fill", value = value, shape = shape)
}

# The dtype of what a tensor is filled with. `dtype()` and `shape()` are arguments of the function that asks.
dtype_of_one <- function(value) {
  if (ndims(value) > 0L) {
    abort_arg(
      "value", "one number or logical, or a 0-d tensor",
      paste("a tensor of shape", format_shape(shape(value))),
      "Use `nv_broadcast_to()` to repeat a tensor along axes."
    )
  }
  dtype(value)
}

#' @rdname nv_fill
#' @export
nv_empty <- function(dtype, shape, ambiguous = FALSE, device = "cpu") {
  nv_fill(if (as_dtype(dtype) == "i1") FALSE else 0, shape, dtype, ambiguous, device)
}

#' @rdname nv_fill
#' @export
nv_iota <- function(axis, dtype, shape, start = 1L, ambiguous = FALSE, device = "cpu") {
  check_device(device)
  dtype <- .Call(anvil_dtype_name, dtype)
  .External(anvil_op, "iota", axis = axis, dtype = dtype, shape = shape, start = start, ambiguous = ambiguous)
}

#' @rdname nv_fill
#' @export
nv_seq <- function(start, end, steps = NULL, dtype = NULL, ambiguous = FALSE, device = "cpu") {
  check_device(device)
  if (!is.null(steps)) {
    if (!is_whole(steps) || steps < 1 || steps > .Machine$integer.max) {
      abort_arg("steps", paste("a whole number from 1 to", .Machine$integer.max), describe(steps))
    }
    for (arg in c("start", "end")) {
      value <- get(arg)
      if (!is_numeric(value) || length(value) != 1L || !is.finite(value)) {
        abort_arg(arg, "one finite number", describe(value))
      }
    }
    return(nv_tensor(as.double(seq(start, end, length.out = steps)), dtype, ambiguous = ambiguous))
  }
  if (!is_whole(start)) abort_arg("start", "a whole number", describe(start))
  if (!is_whole(end) || end < start) abort_arg("end", "a whole number, at least `start`", describe(end))
  nv_iota(1L, dtype %||% default_int(), end - start + 1, start, ambiguous)
}

#' Abstract tensors
#'
#' The type of a tensor without its data, as an argument of [trace_fn()], [eval_shape()], [compile_for()] and
#' their like.
#'
#' @param dtype A dtype: its name, or a dtype object; `NULL` is the default float, see [default_dtypes()].
#' @param shape Sizes of the axes; `integer()` is 0-d.
#' @param ambiguous Whether the dtype is ambiguous.
#' @return An object of class `AnvilAbstract`. `==` and `!=` compare two of them: dtype, shape and ambiguity;
#'   [all.equal()] says in what they differ. `dim()`, `nrow()` and `length()` are those of such a tensor.
#' @section Errors:
#' As [nv_fill()].
#' @examples
#' nv_abstract("f32", c(2, 3))
#' nv_abstract("f32", 3) == nv_abstract("f32", 3)
#' trace_fn(function(x) x + 1, nv_abstract("f32", 3))
#' @export
nv_abstract <- function(dtype = NULL, shape = integer(), ambiguous = FALSE) {
  dtype <- as_dtype(dtype %||% default_float())
  x <- structure(list(dtype = dtype, shape = shape, ambiguous = ambiguous), class = "AnvilAbstract")
  # Reading the shape checks all parts.
  x$shape <- .Call(anvil_shape, x)
  x
}

#' @export
format.AnvilAbstract <- function(x, ...) {
  check_dots(..., .known = taken_by("format"))
  dtype <- paste0(as.character(dtype(x)), if (ambiguous(x)) "?")
  paste0("AnvilAbstract(dtype=", dtype, ", shape=", paste(shape(x), collapse = "x"), ")")
}

#' @export
print.AnvilAbstract <- function(x, ...) {
  check_dots(..., .known = taken_by("print"))
  cat(format(x), "\n", sep = "")
  invisible(x)
}

# What asks for the type of a tensor alone works: dim(), nrow(), ncol(), length(), seq_along().
#' @export
dim.AnvilAbstract <- function(x) if (length(shape(x))) shape(x)

#' @export
length.AnvilAbstract <- function(x) {
  size <- prod(shape(x))
  if (size <= .Machine$integer.max) as.integer(size) else size
}

#' @export
`==.AnvilAbstract` <- function(e1, e2 = abort_missing("e2")) {
  !length(type_differences(check_abstract(e1, "e1"), check_abstract(e2, "e2")))
}

#' @export
`!=.AnvilAbstract` <- function(e1, e2 = abort_missing("e2")) {
  length(type_differences(check_abstract(e1, "e1"), check_abstract(e2, "e2"))) > 0L
}

# As for dtypes: there is no arithmetic of types.
#' @export
Ops.AnvilAbstract <- function(e1, e2) no_elements(.Generic)

#' @export
Math.AnvilAbstract <- function(x, ...) no_elements(.Generic)

#' @export
Summary.AnvilAbstract <- function(..., na.rm = FALSE) no_elements(.Generic)

#' @export
t.AnvilAbstract <- function(x) no_elements("t")

#' @export
mean.AnvilAbstract <- function(x, ...) no_elements("mean")

no_elements <- function(generic) {
  unsupported(generic, "Abstract tensors have a type and no elements.", "abstract tensors")
}

#' @method all.equal AnvilAbstract
#' @export
all.equal.AnvilAbstract <- function(target, current, ...) {
  check_dots(..., .known = taken_by("all.equal", "list"))
  if (!inherits(current, "AnvilAbstract")) {
    return(paste0("current is not an abstract tensor: ", describe(current)))
  }
  parts <- type_differences(target, current)
  if (length(parts)) parts else TRUE
}

check_abstract <- function(x, arg) {
  if (!inherits(x, "AnvilAbstract")) abort_arg(arg, "an abstract tensor", describe(x))
  x
}

# In what the types of two tensors or abstract tensors differ.
type_differences <- function(x, y) {
  names <- c(as.character(dtype(x)), as.character(dtype(y)))
  c(
    if (names[1L] != names[2L]) paste0("dtypes differ: ", names[1L], " and ", names[2L]),
    if (!identical(shape(x), shape(y))) paste0(
      "shapes differ: ", format_shape(shape(x)), " and ", format_shape(shape(y))
    ),
    if (ambiguous(x) != ambiguous(y)) paste0("ambiguities differ: ", ambiguous(x), " and ", ambiguous(y))
  )
}
