# Functions of base R that are generic, and whose default methods would not do with a tensor what they do with
# its vector: they take it apart and give the class to what is put together again, or have methods for R's
# matrices and numbers.

#' What base R's functions give for a tensor
#'
#' A tensor is an R vector, so that functions of R and of other packages work on it. **Without a method for
#' tensors, a function sees the vector, and its result is an R value**; **with a method, it is a tensor**, and
#' the function works in a traced function too. Functions of base R and stats that have no methods are
#' generics of anvil: it masks them when it is attached.
#'
#' @section Tensors:
#' These have methods that give tensors, and can be traced and differentiated:
#' * operators: `+ - * / ^ %% %/% == != < <= > >= ! & | %*%`;
#' * functions of each element: `abs sign sqrt exp expm1 log log1p log2 log10 sin cos tan sinpi cospi tanpi
#'   asin acos atan sinh cosh tanh asinh acosh atanh gamma lgamma digamma trigamma floor ceiling trunc round
#'   signif Re Im Mod Arg Conj is.na is.nan is.finite is.infinite`, see [base-generics]; and `atan2 beta lbeta
#'   choose lchoose psigamma besselI besselJ besselK besselY complex bitwAnd bitwOr bitwXor bitwNot
#'   bitwShiftL bitwShiftR ifelse pmax pmin`;
#' * reductions: `sum prod max min range any all mean weighted.mean anyNA rowsum rowSums colSums rowMeans
#'   colMeans marginSums margin.table var sd cov cor IQR fivenum mahalanobis`, and what elements amount to one
#'   after the other: `cumsum cumprod cummax cummin diffinv`;
#' * order: `sort median quantile unique rank`; and positions, which are R's integers outside of a trace, and
#'   traced integers in it: `order which.max which.min findInterval tabulate`;
#' * parts and arrangement: `[ [[ [<- [[<- head tail rev c append cbind rbind rep rep_len rep.int diff t
#'   aperm drop dim<- length<- mode<- storage.mode<- split split<- na.omit diag embed toeplitz outer %o%`,
#'   and `sweep proportions prop.table crossprod tcrossprod kronecker scale cov2cor unsplit`, and before R 4.3
#'   `I`; `relist` takes the shapes of the tensors in its second argument;
#' * matrices: `chol solve det svd eigen qr qr.Q qr.R qr.X qr.coef qr.fitted qr.resid qr.qty qr.qy qr.solve
#'   backsolve forwardsolve chol2inv norm`;
#' * signals: `fft mvfft convolve approx`.
#'
#' `dnorm()`, `pnorm()`, `qnorm()` and their kin have methods for tensors as any of their arguments, see
#' [stats-distributions].
#'
#' What is written with these alone gives tensors, too: `xor()`, `split()`, `mad()`, `factorial()`,
#' `do.call()`, `replace()`, `identity()`. So does a function that keeps the attributes of its argument.
#'
#' @section Generics of anvil:
#' A generic has the arguments, the defaults and the meaning of R's function, and dispatches on any argument
#' that can hold a tensor: `pmax(0, x)`, `outer(1:3, x)`, `sweep(matrix, 2, x)`. Everything else goes to R's
#' own function, which gives what it gives without anvil, its errors too; it costs a microsecond or two.
#' Packages see R's own functions. To them a tensor is an R array also if it has one axis: where one says that
#' an argument must be a vector, give it `as.vector(x)`. `qr(x)` gives R's own factorisation to what sees R's
#' own `qr.coef()`. S4 objects reach the methods of their package, and the generics of Matrix
#' take tensors, in whichever order both are attached.
#'
#' `system.file("catalogue", "base-functions.tsv", package = "anvil")` is a table of all these functions: how
#' each takes tensors, and what differs from R. The differences that matter most:
#' * Not all results have the names that R gives, see [nv_tensor()]. A single number is a 0-d tensor.
#' * `outer(x, y, FUN)` calls `FUN` once, with vectors as long as the result, as R does.
#' * `pmax()` and `pmin()` have the shape of the first argument if that is as long as the longest, and are
#'   vectors otherwise, as in R; what R recycles in part is refused.
#' * `ifelse(test, yes, no)` has the dtype to which `yes` and `no` are promoted. If `test` is a tensor, both
#'   are evaluated. `NA` is NaN. The gradient is that of what is chosen; NaN of what is not may still spread
#'   to it by way of a product with 0: guard the argument, as in `ifelse(x > 0, log(ifelse(x > 0, x, 1)), 0)`.
#' * `NA` among logicals is NaN beside floats: `c(x, NA)`, `replace(x, 2, NA)`, `pmin(x, NA)`. Comparisons
#'   and what takes logicals or integers refuse it: use `is.na()`.
#' * `var()`, `cov()` and `cor()` give NaN where R gives `NA`; rows with NaN are left out with `na.rm = TRUE`
#'   or `use = "complete.obs"`, of each pair of columns with `use = "pairwise.complete.obs"`.
#' * `length(x) <- n` with a larger `n` adds NaN, where R has `NA`: of integers it is an error.
#' * `diag(x)` of one traced number is an error, since R makes an identity matrix of that size: `diag(x, 1)`.
#' * In a trace `eigen()` takes `symmetric = TRUE` alone, and `tabulate()` needs `nbins`. Outside of one these
#'   give what R gives.
#' * `mean(x, trim = 0.1)` is NaN if an element is, and takes neither `axes` nor `na.rm = TRUE`.
#' * A singular matrix gives values that are not finite, where R stops.
#'
#' @section R values:
#' All others read the elements, and give what they give for `as_array(x)`: `unlist for if while switch
#' isTRUE stopifnot which match %in% duplicated table cut max.col pmax.int apply sapply lapply Map Reduce
#' tapply aggregate array matrix union paste sprintf cat as.vector rle kappa rcond dist lm glm optim uniroot
#' integrate spline density` and so on. A dtype that R has no vectors of is seen as R's wider one: `f32` as
#' doubles, `i8` as integers, `i64` as doubles, which hold 53 bits. In a traced function many of these take
#' traced values, see [masked-functions]. To `is.vector()`, a generic of anvil, a tensor of one axis is a
#' vector, and to `colnames()` its names are no names of columns.
#'
#' Primitive functions dispatch on their first argument: `c(x, 1)` and `sum(x, 1)` are tensors, `c(1, x)` and
#' `sum(1, x)` R values. In a traced function they are traced values, see [masked-functions].
#'
#' Plots are of the elements, see [base-graphics].
#'
#' @section In a traced function:
#' A traced value has no elements yet. A function that reads them is an error of class
#' `anvil_error_concrete`, which names the function and says what to write instead: [nv_which()] with a size
#' for `which()` where the number of positions matters, [nv_isin()] for `%in%`,
#' [nv_search_sorted()] for `cut()`. What only asks for the type works:
#' `length dim nrow ncol NROW is.numeric is.list typeof mode seq_along row col lower.tri upper.tri`.
#'
#' Of `x[mask]` with a mask that the program computes it is not known how many elements there are; what works
#' with it all the same is listed in [selections].
#'
#' @section Differences from R's vectors:
#' * `class()`, `is.object()`, `inherits()`, `attributes()`, `print()`, `format()`, `str()` and `summary()`
#'   show a tensor.
#' * Functions of one argument of the operators' kind keep the dtype: sums and products of small integers
#'   wrap, `!x` and `x & y` of integers are bitwise, and refused for floats.
#' * A function that computes doubles and keeps the attributes, as `log(2, x)` of integers, gives a tensor of
#'   `f64`. `i64`, `ui32` and `ui64` have doubles as elements, too: what is computed of these is refused where
#'   it is used next, unless it is whole. Take `as_array(x)`, or convert to a float.
#' * `sort()` keeps NaN, as the last elements, which R leaves out by default: the size of a result is known
#'   before its elements are. With NaN `median()` and `quantile()` are NaN. In a traced function `sort()`
#'   drops names: which comes first is not known. See [nv_sort()] and [nv_quantile()].
#' * `unique()` takes the `size` of its result in a traced function, see [nv_unique()]. Of a matrix it gives
#'   the distinct rows, as an R value.
#'
#' @param x,a A tensor or a traced value.
#' @param times,length.out,... As in base R: [rep()], which also takes `each`; for the others, arguments of
#'   base R's function.
#' @param lag,differences,perm As in base R: [diff()], [aperm()].
#' @param resize `TRUE`: the result has the sizes of the axes in their new order.
#' @param decreasing,na.last As in base R: [sort()]; `na.last` is `TRUE`, or `NA` with the same meaning.
#' @param incomparables As in base R: [unique()].
#' @param size,fill As in [nv_unique()].
#' @param probs,na.rm,names,type As in base R: [stats::quantile()], [stats::median()].
#' @return `rep()` and `diff()` of a vector give a 1-d tensor, `diff()` of a matrix the differences of its
#'   rows, `aperm()` the tensor with its axes permuted. `sort()`, `unique()` and `quantile()` give a 1-d
#'   tensor, `median()` a 0-d one.
#' @section Errors: `anvil_error_arg` for a number that is none, and for arguments of the generics that
#'   tensors cannot have; otherwise as the op.
#' @examples
#' x <- nv_tensor(c(3, 1, 2))
#' outer(x, 1:2)
#' pmax(1.5, x)
#' ifelse(x > 1.5, x, 0)
#' order(x)
#' m <- outer(x, x, function(a, b) exp(-abs(a - b)))
#' sweep(m, 2, colMeans(m))
#' backsolve(chol(m), x, transpose = TRUE)
#' gradient(function(x) sum(x^2 / rowSums(outer(x, x, "+"))))(x)
#' quantile(x)
#' sort(x, decreasing = TRUE)
#' rep(x, times = 2)
#' diff(x)
#' if (all(x > 0)) "positive"
#' sapply(x, function(v) v + 1)
#' jit(function(x) diff(rep(x, each = 2)))(x)
#' @aliases rowSums colSums rowMeans colMeans outer %o% diag sweep marginSums margin.table proportions
#'   prop.table append is.vector mode<- storage.mode<- colnames embed toeplitz det
#'   solve svd eigen qr.Q qr.R qr.X qr.coef
#'   qr.fitted qr.resid qr.qty qr.qy qr.solve backsolve forwardsolve chol2inv norm fft mvfft convolve pmax
#'   pmin ifelse atan2 beta lbeta choose lchoose besselI besselK besselJ besselY psigamma bitwAnd
#'   bitwOr bitwXor bitwNot bitwShiftL bitwShiftR complex var sd cov cor cov2cor IQR fivenum weighted.mean
#'   mahalanobis order rank which.max which.min rle tabulate findInterval approx unsplit I
#' @name base-functions
NULL

# Positions are R numbers, so that they are known when a function is traced.
taken <- function(x, positions) {
  nv_subset(as_flat(x), array(positions))
}

#' @rdname base-functions
#' @export
rep.AnvilValue <- function(x, ...) {
  check_dots(..., .known = c("", "times", "each", "length.out", "length", "len"))
  # Evaluated here: an error in an argument is the user's own.
  for (count in list_dots(...)) if (is_traced(count)) abort_concrete("rep()", count)
  positions <- by_base(refused(rep(seq_along(x), ...)))
  taken(x, positions)
}

#' @rdname base-functions
#' @method rep_len AnvilValue
#' @export
rep_len.AnvilValue <- function(x, length.out) {
  if (is_traced(length.out)) abort_concrete("rep_len()", length.out)
  positions <- by_base(refused(rep_len(seq_along(x), length.out)))
  unname(taken(x, positions))
}

#' @rdname base-functions
#' @method rep.int AnvilValue
#' @export
# R CMD check of R 4.5 takes it for a method of rep() as well, which has `...`.
rep.int.AnvilValue <- function(x, times, ...) {
  check_dots(...)
  if (is_traced(times)) abort_concrete("rep.int()", times)
  positions <- by_base(refused(rep.int(seq_along(x), times)))
  unname(taken(x, positions))
}

# As in R, the values decide the type: the means of groups of integers, which `ave()` assigns so, are floats.
#' @export
`split<-.AnvilValue` <- function(x, f, drop = FALSE, ..., value) {
  check_dots(..., .known = c("", "sep", "lex.order"))
  values <- Filter(is_operand, if (is.list(value)) unclass(value) else list(value))
  x <- do.call(nv_promote_to_common, c(list(x), unname(values)))[[1L]]
  by_base(refused(base::`split<-.default`(x, f, drop, ..., value = value)))
}

#' @rdname base-functions
#' @export
diff.AnvilValue <- function(x, lag = 1L, differences = 1L, ...) {
  check_dots(...)
  out <- nv_diff(x, lag, differences)
  if (ndims(x) != 1L) return(with_names(out, list(tail(rownames(x), nrow(out)), colnames(x))))
  with_names(out, list(tail(names(x), length(out))))
}

#' @rdname base-functions
#' @export
aperm.AnvilValue <- function(a, perm = NULL, resize = TRUE, ...) {
  check_dots(...)
  if (!isTRUE(resize)) {
    hint <- "`nv_reshape()` gives the result the sizes of `a`."
    abort_arg("resize", "TRUE for tensors", describe(resize), hint)
  }
  nv_transpose(a, perm)
}

# A generic of base R on the elements, as R's own array. Names of further arguments are those of its methods
# of these classes, and `more`.
on_array <- function(generic, classes = "default", more = character()) {
  name <- substitute(generic)
  text <- as.character(name)
  known <- c("", more, unlist(lapply(classes, function(class) taken_by(text, class))))
  first <- names(formals(args(generic)))[1L]
  method <- eval(bquote(function(x, ...) {
    check_dots(..., .known = .(known))
    list_dots(...)
    elements <- concrete_array(.(as.name(first)), .(paste0(text, "()")))
    by_base(.(name)(elements, ...))
  }))
  names(formals(method))[1L] <- first
  environment(method) <- topenv()
  method
}

# What base R makes of the elements. Its own error becomes one with a class, of the user's call.
by_base <- function(expr) {
  tryCatch(expr, error = function(e) {
    if (inherits(e, "anvil_error") || is_time_limit(e)) stop(e)
    abort_arg(
      "x", "a tensor whose elements R takes, with arguments that fit", "one that it refuses",
      paste("R says:", conditionMessage(e))
    )
  })
}

# What R only warns of in a repetition, such as several numbers where one is used, is an error.
refused <- function(expr) tryCatch(expr, warning = function(w) stop(conditionMessage(w), call. = FALSE))

# Elements for a generic, which is named if there are none yet.
concrete_array <- function(x, what) {
  if (is_traced(x)) abort_concrete(what, x)
  x <- as_array(x)
  if (length(dim(x)) == 1L) array_names(x) else x
}

# A vector with the names of an array of one axis: sort() and its like expect one.
array_names <- function(x) {
  names <- names(x)
  dim(x) <- NULL
  names(x) <- names
  x
}

#' @rdname base-functions
#' @export
sort.AnvilValue <- function(x, decreasing = FALSE, na.last = NA, ...) {
  # Whatever the method, the result is one, and it is sorted in all parts.
  check_dots(..., .known = c("", "method", "partial", "index.return"))
  if (!isTRUE(na.last) && !identical(na.last, NA)) {
    abort_arg("na.last", "TRUE, or NA as it is by default", describe(na.last), "NaN comes last.")
  }
  if (!isFALSE(list(...)$index.return %||% FALSE)) {
    check_flag("index.return", list(...)$index.return)
    order <- nv_order(x, decreasing = decreasing)
    return(list(x = sort.AnvilValue(x, decreasing), ix = order))
  }
  if (!is_traced_factor(x)) {
    # Which name comes first is known of elements that are.
    if (!is_traced(x) && ndims(x) == 1L && !is.null(names(x))) {
      return(x[as.vector(nv_order(x, decreasing = decreasing))])
    }
    return(with_unknown_names(nv_sort(x, decreasing = decreasing), x))
  }
  # Codes of what is none of the levels are left where missing values are, at the end.
  codes <- codes_of(x)
  count <- nlevels(x)
  keys <- nv_ifelse(codes > 0L, codes, if (decreasing) 0L else count + 1L)
  sorted <- nv_sort(keys, decreasing = decreasing)
  factor_of(nv_ifelse(sorted > count, 0L, sorted), levels(x))
}

# The elements in the shape of a tensor that a skeleton holds: R's method makes a vector of them.
#' @importFrom utils relist
#' @method relist AnvilValue
#' @export
relist.AnvilValue <- function(flesh, skeleton = attr(flesh, "skeleton")) relisted(flesh, skeleton)

# Elements in the shapes and with the names of what a list holds, in its order.
relisted <- function(flesh, skeleton) {
  if (is.null(skeleton) || is.factor(skeleton) || !is.list(skeleton) && !is_operand(skeleton)) {
    abort_arg("skeleton", "numbers, or a list of them", describe(skeleton))
  }
  sizes <- if (is.list(skeleton)) lapply(skeleton, element_count) else length(skeleton)
  if (sum(unlist(sizes)) != length(flesh)) {
    abort_arg("flesh", paste(sum(unlist(sizes)), "elements, as `skeleton` has"), length(flesh))
  }
  if (is.list(skeleton)) {
    ends <- cumsum(unlist(sizes))
    parts <- Map(function(size, end) as_flat(flesh)[seq_len(size) + end - size], sizes, ends)
    skeleton[] <- Map(relisted, parts, skeleton)
    return(skeleton)
  }
  # A number is one without axes.
  sizes <- if (inherits(skeleton, "AnvilValue")) shape(skeleton) else dim(skeleton) %||% length(skeleton)
  if (identical(sizes, 1L) && is.null(dim(skeleton))) sizes <- integer()
  if (inherits(flesh, "AnvilValue")) {
    out <- nv_reshape(as_flat(unname(flesh)), sizes)
    if (is_traced(out) && !inherits(skeleton, "AnvilValue")) out <- from_r(out)
  } else {
    out <- if (length(sizes) > 1L) array(flesh, sizes) else as.vector(flesh)
  }
  with_names(out, axis_names(skeleton))
}

# How many elements a list has in all, or a vector.
element_count <- function(x) if (is.list(x)) sum(vapply(x, element_count, 0)) else as.double(length(x))

# A table is an array that has names along each axis; a traced value has no class of R's.
#' @export
as.table.AnvilTracer <- function(x, ...) {
  check_dots(...)
  labels <- if (ndims(x) == 1L) list(names(x)) else dimnames(x)
  with_names(x, dimnames(provideDimnames(array(0L, dim(x) %||% 1L, labels))))
}

# Of a vector, R's method would take the elements as rows of a data frame with one column, as those of arrays.
#' @export
by.AnvilTensor <- function(data, INDICES, FUN, ..., simplify = TRUE) { # nolint: object_name_linter.
  given <- deparse(substitute(INDICES))[1L]
  if (ndims(data) > 1L) return(NextMethod())
  groups <- if (is.list(INDICES)) INDICES else setNames(list(INDICES), given)
  out <- by(setNames(as.vector(data), names(data)), groups, FUN, ..., simplify = simplify)
  attr(out, "call") <- match.call()
  out
}

#' @export
xtfrm.AnvilValue <- on_array(xtfrm)

# What match() and %in% compare: from R 4.3 on, other objects are strings to them.
#' @export
mtfrm.AnvilValue <- function(x) {
  concrete_array(x, "match")
}

#' @rdname base-functions
#' @export
unique.AnvilValue <- function(x, incomparables = FALSE, ..., size = NULL, fill = NULL) {
  # The rows of a matrix, and the last of equal elements, are R's.
  if (ndims(x) > 1L || ...length() || !isFALSE(incomparables)) return(unique_array(x, incomparables, ...))
  # How many there are is not known: a selection.
  if (is_traced(x) && is.null(size)) return(as_flat(x)[!are_repeated(x, FALSE)])
  nv_unique(x, size, fill)
}

unique_array <- on_array(unique, c("default", "matrix"))

#' @export
duplicated.AnvilValue <- function(x, incomparables = FALSE, ...) {
  if (!is_traced(x) || ndims(x) > 1L || !isFALSE(incomparables)) {
    return(duplicated_array(x, incomparables, ...))
  }
  check_dots(..., .known = c("fromLast", "nmax"))
  are_repeated(x, list(...)$fromLast %||% FALSE)
}

duplicated_array <- on_array(duplicated, c("default", "matrix"))

#' @export
anyDuplicated.AnvilValue <- function(x, incomparables = FALSE, ...) {
  if (!is_traced(x) || ndims(x) > 1L || !isFALSE(incomparables)) {
    return(any_duplicated_array(x, incomparables, ...))
  }
  check_dots(..., .known = "fromLast")
  from_last <- list(...)$fromLast %||% FALSE
  repeated <- are_repeated(x, from_last)
  first <- if (from_last) length(x) + 1L - nv_argmax(nv_reverse(repeated, 1L)) else nv_argmax(repeated)
  nv_ifelse(nv_reduce_any(repeated), first, 0L)
}

any_duplicated_array <- on_array(anyDuplicated, c("default", "matrix"))

# Which elements of a vector there have been before, or with `from_last` come again. NaN are equal here.
are_repeated <- function(x, from_last) {
  check_flag("fromLast", from_last)
  x <- as_flat(x)
  if (length(x) < 2L) return(nv_fill(FALSE, length(x)))
  if (from_last) x <- nv_reverse(x, 1L)
  # Equal elements stay in their order.
  order <- nv_order(x)
  sorted <- x[order]
  before <- sorted[array(seq_len(length(x) - 1L))]
  after <- sorted[array(seq_len(length(x) - 1L) + 1L)]
  is_equal <- nv_eq(before, after) | nv_is_nan(before) & nv_is_nan(after)
  out <- nv_concatenate(nv_fill(FALSE, 1L), is_equal)[nv_order(order)]
  if (from_last) nv_reverse(out, 1L) else out
}

#' @export
isSymmetric.AnvilValue <- on_array(isSymmetric, "matrix", c("check.attributes", "check.names", "countEQ"))

#' @export
subset.AnvilValue <- on_array(subset, c("default", "matrix"))

#' @export
cut.AnvilValue <- on_array(cut)

#' @export
as.Date.AnvilValue <- on_array(as.Date, "numeric")

#' @export
as.POSIXct.AnvilValue <- on_array(as.POSIXct, "numeric")

#' @rdname base-functions
#' @importFrom stats median
#' @export
median.AnvilValue <- function(x, na.rm = FALSE, ...) {
  check_dots(...)
  check_flag("na.rm", na.rm)
  nv_median(x, na_rm = na.rm)
}

#' @rdname base-functions
#' @importFrom stats quantile
#' @export
quantile.AnvilValue <- function(x, probs = seq(0, 1, 0.25), na.rm = FALSE, names = TRUE, type = 7, ...) {
  check_dots(..., .known = "digits")
  check_flag("na.rm", na.rm)
  check_flag("names", names)
  out <- nv_quantile(x, probs, type = type, na_rm = na.rm)
  if (names && is_numeric(probs) && length(probs)) {
    # As quantile.default() writes them.
    percent <- 100 * pmax(0, pmin(1, probs))
    names(out) <- paste0(formatC(percent, format = "fg", width = 1L, digits = list(...)$digits %||% 7), "%")
  }
  out
}

# The codes of a factor are no numbers to R.
#' @export
is.numeric.AnvilTracer <- function(x) is.null(levels(x)) && NextMethod()

#' @export
kappa.AnvilValue <- on_array(kappa, more = c("inv_z", "triangular", "uplo", "LINPACK"))

#' @importFrom stats diffinv
#' @method diffinv AnvilValue
#' @export
diffinv.AnvilValue <- function(x, lag = 1L, differences = 1L, xi = NULL, ...) {
  check_dots(...)
  if (ndims(x) > 1L) abort_arg("x", "a vector", shown_shape(x), "Of a matrix take each column, `x[, j]`.")
  for (arg in c("lag", "differences")) {
    if (!is_whole(get(arg)) || get(arg) < 1) abort_arg(arg, "a whole number, at least 1", describe(get(arg)))
  }
  x <- .External(anvil_op, "floats", as_flat(x))
  count <- lag * differences
  xi <- if (is.null(xi)) array(numeric(count)) else as_operand_vector(xi)
  if (length(xi) != count) abort_arg("xi", paste(count, "numbers"), paste("one of", length(xi)))
  if (differences > 1) {
    # The differences of the first values are those that the sums of differences begin with.
    inner <- if (is_value(xi)) nv_diff(xi, lag) else array(diff(as.vector(xi), lag))
    x <- diffinv.AnvilValue(x, lag, differences - 1, inner)
    xi <- xi[array(seq_len(lag))]
  }
  # Those that are `lag` apart are a column of their own.
  rows <- ceiling(length(x) / lag)
  padded <- nv_concatenate(x, nv_fill(0, rows * lag - length(x), dtype(x), ambiguous(x)))
  sums <- nv_cumsum(nv_reshape(padded, c(lag, rows)), axis = 2L) + xi
  nv_concatenate(xi, nv_flatten(sums)[array(seq_len(length(x)))])
}

as_operand_vector <- function(x) if (is_value(x)) as_flat(x) else array(as.vector(x))

# As in R, elements of an array are those of a vector.
#' @export
split.AnvilValue <- function(x, f, drop = FALSE, ...) {
  check_dots(..., .known = taken_by("split"))
  for (group in if (is.list(f)) f else list(f)) {
    if (is_traced(group)) abort_concrete("split()", group)
    if (!is.atomic(group)) abort_arg("f", "a vector or a factor, or a list of such", describe(group))
  }
  if (ndims(x) > 1L) return(split(nv_flatten(x), f, drop, ...))
  NextMethod()
}

# What R leaves out for missing values: in a traced function a selection.
#' @importFrom stats na.omit
#' @method na.omit AnvilValue
#' @export
na.omit.AnvilValue <- function(object, ...) {
  check_dots(...)
  if (ndims(object) > 2L) abort_arg("object", "a vector or a matrix", shown_shape(object))
  if (ndims(object) == 2L) object[are_complete(object), ] else as_flat(object)[are_complete(object)]
}

# The elements, or rows of a matrix, without NaN.
are_complete <- function(x) {
  if (ndims(x) < 2L) !nv_is_nan(as_flat(x)) else !nv_reduce_any(nv_is_nan(x), axes = seq_len(ndims(x))[-1L])
}
