# What functions of R give for tensors is what they give for the same R vector, and a traced value is refused
# by name. The table of expressions is tests/testdata/base-functions.tsv, in `x` (1-d, 4 elements), `m` (a
# matrix), `s` (0-d) and `b` (booleans); its columns:
# * tensor: what the expression gives for tensors: `R`, a value of R; `tensor`; `list`, a list with tensors;
#   `-` where R itself refuses it. What R refuses is refused.
# * traced: `tensor`, `R`, `list`, `selection`, `error`: anvil_error_concrete, or `-`: another error of ours;
#   then for which dtypes it is otherwise, as in `except`, or `skip`: an error when the program runs.
# * except: for which dtypes it is otherwise, and how: `differs`, `works` (R refuses it), `broken` (the result
#   cannot be used, see ?`base-functions`), or the class of an error; `b` are booleans, `s` and `u` signed and
#   unsigned integers, `f` floats, `c` complex numbers.
# * why: the reason for `except`, or the functions that the error of a traced value names, as `names:`.

table <- utils::read.delim(
  test_path("..", "testdata", "base-functions.tsv"), quote = "", colClasses = "character", check.names = FALSE
)

values <- list(
  b = list(x = c(TRUE, FALSE, TRUE, TRUE), m = matrix(c(TRUE, FALSE, TRUE, TRUE), 2), s = TRUE),
  s = list(x = c(3L, 1L, 2L, 2L), m = matrix(c(4L, 1L, 2L, 3L), 2), s = 2L),
  f = list(x = c(2.5, 0.5, 1.25, 1.25), m = matrix(c(4, 1.5, 2, 3), 2), s = 2.5),
  c = list(x = c(3+1i, 1-2i, 2, 2), m = matrix(c(4, 1+1i, 2i, 3), 2), s = 1+2i)
)

kind_of <- function(dtype) {
  if (dtype == "i1") "b" else if (dtype %in% signed) "s" else if (dtype %in% unsigned) "u" else
    if (dtype %in% floats) "f" else "c"
}

# `dtype` may be ambiguous: `f32?`.
arguments_of <- function(dtype) {
  name <- sub("?", "", dtype, fixed = TRUE)
  data <- values[[sub("u", "s", kind_of(name))]]
  ambiguous <- name != dtype
  list(
    x = nv_tensor(data$x, name, ambiguous = ambiguous), m = nv_tensor(data$m, name, ambiguous = ambiguous),
    s = nv_scalar(data$s, name, ambiguous = ambiguous), b = nv_tensor(c(TRUE, FALSE, TRUE, TRUE))
  )
}

arguments <- sapply(c(dtypes, "f32?"), arguments_of, simplify = FALSE)
arrays <- lapply(arguments, lapply, as_array)

# The expression as a function of the user's.
function_of <- function(text) {
  eval(call("function", as.pairlist(alist(x = , m = , s = , b = )), str2lang(text)), globalenv())
}

outcome_of <- function(f, arguments) {
  set.seed(1)
  # In a traced function an error about the trace passes by handlers of all errors.
  tryCatch(
    suppressMessages(suppressWarnings(list(value = do.call(f, arguments)))),
    anvil_error = identity, error = identity
  )
}

# Values as R's, without the `dim` of one axis.
plain <- function(x) {
  if (inherits(x, "AnvilTensor")) x <- suppressWarnings(as_array(x))
  if (is.list(x)) return(lapply(unclass(x), plain))
  # A traced factor is its codes.
  if (is.factor(x)) x <- as.integer(x)
  if (inherits(x, "summaryDefault")) x <- as.vector(unclass(x))
  if (length(dim(x)) == 1L) dim(x) <- NULL
  x
}

result_of <- function(x, class) {
  holds <- function(x) inherits(x, class)
  if (holds(x)) return("tensor")
  if (inherits(x, "AnvilSelection")) return("selection")
  if (is.list(x) && !is.data.frame(x) && any(vapply(x, holds, NA))) "list" else "R"
}

# The exception for a dtype, or NULL.
exception <- function(except, dtype) {
  for (one in strsplit(except, " ", fixed = TRUE)[[1]]) {
    parts <- strsplit(one, "=", fixed = TRUE)[[1]]
    name <- sub("?", "", dtype, fixed = TRUE)
    of <- strsplit(parts[1], ",", fixed = TRUE)[[1]]
    kinds <- unlist(strsplit(of[grepl("^[bsufc]+$", of)], ""))
    if ("all" %in% of || dtype %in% of || kind_of(name) %in% kinds) return(parts[2])
  }
}

tolerances <- c(bf16 = 2e-2, f16 = 3e-3, f64 = 1e-12, c128 = 1e-12)

# Whether a newer R takes another way, which a tensor or traced value refuses: what is distinct before what
# matches, asplit() in C, pretty() of a double.
changed <- function(row) {
  since <- c(setdiff = "4.3", union = "4.3", intersect = "4.3", asplit = "4.5", pretty = "4.6")
  since <- since[row$`function`]
  !is.na(since) && getRversion() >= since
}

# What is wrong with a row for a dtype; NULL if nothing is.
wrong_with <- function(row, f, dtype) {
  got <- outcome_of(f, arguments[[dtype]])
  want <- outcome_of(f, arrays[[dtype]])
  how <- exception(row$except, dtype)
  failed <- inherits(got, "error")
  if (is.null(how)) {
    if (inherits(want, "error")) return(if (!failed) "is not refused")
    if (failed) return(if (!changed(row) || !inherits(got, "anvil_error")) conditionMessage(got))
    is <- result_of(got$value, "AnvilTensor")
    if (is != row$tensor) return(paste("is", is))
    near <- c(tolerances[dtype], 1e-5)
    same <- all.equal(
      plain(got$value), plain(want$value), tolerance = near[!is.na(near)][1], check.attributes = FALSE
    )
    return(if (!isTRUE(same)) paste(same, collapse = ", "))
  }
  switch(
    how,
    differs = , works = if (failed) conditionMessage(got),
    broken = {
      used <- if (!failed) tryCatch(as_array(got$value), error = identity)
      if (!inherits(used, "anvil_error")) "is not broken"
    },
    if (!inherits(got, how)) paste("is no", how)
  )
}

test_that("the table is whole", {
  expect_gte(length(unique(paste(table$package, table$`function`))), 200)
  expect_setequal(unique(table$package), c("base", "methods", "stats", "utils"))
  expect_true(all(table$tensor %in% c("R", "tensor", "list", "-")))
  expect_true(all(sub(" .*", "", table$traced) %in% c("R", "tensor", "list", "selection", "error", "-")))
  expect_identical(anyDuplicated(table$expression), 0L)
  # A difference has a reason.
  expect_identical(table$expression[nzchar(table$except) & !nzchar(table$why)], character())
})

test_that("what R gives for a tensor is what it gives for its vector", {
  for (i in seq_len(nrow(table))) {
    row <- table[i, ]
    f <- function_of(row$expression)
    for (dtype in names(arguments)) {
      wrong <- wrong_with(row, f, dtype)
      if (!is.null(wrong)) fail(paste0(row$expression, " of ", dtype, ": ", substr(wrong, 1, 200)))
    }
  }
  succeed()
})

# What is wrong with an error about reading a traced value.
wrong_in_error <- function(row, error) {
  names <- if (grepl("names: ", row$why)) sub(".*names: ", "", row$why) else row$`function`
  where <- gsub("`|\\(\\)", "", error$where)
  if (!where %in% strsplit(names, " ")[[1]]) return(paste("names", where))
  if (!grepl("\ni [A-Z].{10}", conditionMessage(error))) "gives no advice"
}

# As above, in a traced function.
wrong_in_a_trace <- function(row, f, dtype) {
  got <- NULL
  traced <- function(x, m, s, b) {
    got <<- outcome_of(f, list(x = x, m = m, s = s, b = b))
    # What outlives the trace is read here.
    if (!inherits(got, "error")) got <<- list(value = got$value, is = result_of(got$value, "AnvilTracer"))
    if (inherits(got$value, "AnvilTracer")) got$value else x
  }
  others <- sub("^\\S+ ?", "", row$traced)
  row$traced <- exception(others, dtype) %||% sub(" .*", "", row$traced)
  if (row$traced == "skip") return()
  out <- do.call(jit(traced), arguments[[dtype]])
  eager <- outcome_of(f, arguments[[dtype]])
  if (inherits(got, "error")) {
    if (inherits(got, "anvil_error_concrete") && row$traced == "error") return(wrong_in_error(row, got))
    # Where another package has made `[` an S4 generic, R wraps errors in subscripts, class and all.
    said <- conditionMessage(got)
    wrapped <- row$traced == "error" && grepl("selecting a method for function '['", said, fixed = TRUE)
    if (wrapped && grepl("A traced value has no elements yet", said, fixed = TRUE)) return()
    ours <- row$traced == "-" || changed(row)
    expected <- inherits(eager, "error") || ours && inherits(got, "anvil_error")
    return(if (!expected) conditionMessage(got))
  }
  if (got$is != row$traced) return(paste("is", got$is))
  if (got$is != "tensor" || inherits(eager, "error")) return()
  same <- all.equal(plain(out), unclass(plain(eager$value)), tolerance = 1e-6, check.attributes = FALSE)
  if (!isTRUE(same)) paste(same, collapse = ", ")
}

test_that("a traced value gives a tensor by a method, or an error that names the function", {
  for (i in seq_len(nrow(table))) {
    row <- table[i, ]
    f <- function_of(row$expression)
    for (dtype in c("f32", "i32", "i1", "c64", "f32?")) {
      if (!is.null(exception(row$except, dtype))) next
      wrong <- wrong_in_a_trace(row, f, dtype)
      if (!is.null(wrong)) fail(paste0(row$expression, " of ", dtype, ": ", substr(wrong, 1, 200)))
    }
  }
  succeed()
})

test_that("the help page lists the functions that have methods", {
  page <- tools::Rd_db("anvil")[["base-functions.Rd"]]
  skip_if(is.null(page), "the help pages are installed")
  is_a <- function(part, tag) identical(attr(part, "Rd_tag"), tag)
  is_section <- function(part) is_a(part, "\\section") && "Tensors" %in% unlist(part[[1]])
  codes <- function(part, within = FALSE) {
    if (is.character(part)) return(if (within) part)
    unlist(lapply(part, codes, within = within || is_a(part, "\\code") || is_a(part, "\\verb")))
  }
  # The list alone: what follows is about functions without methods.
  section <- Filter(is_section, page)[[1]][[2]]
  list <- Filter(function(part) is_a(part, "\\itemize"), section)
  text <- gsub("\\%", "%", paste(codes(list), collapse = " "), fixed = TRUE)
  listed <- setdiff(strsplit(text, "[ \n]+")[[1]], "")
  registered <- getNamespaceInfo("anvil", "S3methods")
  generics <- registered[registered[, 2] == "AnvilValue", 1]
  # Those that give R values, groups, and what R itself asks.
  values <- c(
    "chooseOpsMethod",
    "$", "$<-", "as.array", "as.character", "as.complex", "as.data.frame", "as.double", "as.integer",
    "as.list", "as.logical", "as.matrix", "as.raw", "as.vector", "anyDuplicated", "as.Date", "as.POSIXct",
    "cut", "determinant", "duplicated", "isSymmetric", "kappa", "rle", "subset", "mtfrm", "xtfrm", "Math",
    "as.raster", "is.numeric", "boxplot", "contour", "hist", "image", "mosaicplot", "persp",
    "is.vector", "colnames"
  )
  groups <- list(Summary = c("sum", "prod", "max", "min", "range", "any", "all"), matrixOps = "%*%")
  # Distributions have a page of their own.
  generics <- setdiff(generics, c(values, names(stats_functions)))
  methods <- c(setdiff(generics, names(groups)), unlist(groups[intersect(generics, names(groups))]))
  expect_identical(as.character(setdiff(methods, listed)), character())
  # `%*%`, crossprod() and tcrossprod() have S4 methods before R 4.3, and I() has one only then; kronecker()
  # has them in all; drop() needs none; what qr() gives has a class of its own.
  others <- c("%*%", "crossprod", "tcrossprod", "kronecker", "drop", "qr.Q", "qr.R", "qr.X", "I")
  expect_identical(as.character(setdiff(listed, c(methods, others))), character())
})

test_that("ave() of integers gives means as they are", {
  x <- c(3L, 1L, 4L, 2L)
  g <- c(1, 1, 2, 2)
  expect_equal(as.vector(ave(nv_tensor(x), g)), ave(x, g))
  got <- nv_tensor(x)
  split(got, g) <- list(c(0.5, 1), nv_tensor(c(7, 8)))
  expect_equal(as.vector(got), c(0.5, 1, 7, 8))
  split(x, g) <- list(c(0L, 1L), 7L)
  got <- nv_tensor(c(3L, 1L, 4L, 2L))
  split(got, g) <- list(c(0L, 1L), 7L)
  expect_elements(got, x, "i32[4]")
})

test_that("sort() of what has names keeps them, outside of a trace", {
  x <- c(b = 2, a = 1, c = 3)
  for (decreasing in c(TRUE, FALSE)) {
    expect_identical(names(sort(nv_tensor(x), decreasing)), names(sort(x, decreasing)))
    expect_equal(as.vector(sort(nv_tensor(x), decreasing)), unname(sort(x, decreasing)))
  }
})

test_that("by() and as.ts() take a tensor as the vector that it is", {
  x <- c(3, 1, 2)
  g <- c("u", "v", "u")
  expect_equal(by(nv_tensor(x), g, mean), by(x, g, mean), ignore_attr = TRUE)
  expect_identical(names(dimnames(by(nv_tensor(x), g, mean))), "g")
  expect_identical(as.ts(nv_tensor(x)), as.ts(x))
  expect_silent(arima(nv_tensor(as.numeric(lh)), c(1, 0, 0)))
})

test_that("a table in a traced function is an array with names", {
  f <- jit(function(m) as.table(m))
  m <- matrix(c(1, 2, 3, 4), 2, dimnames = list(NULL, c("p", "q")))
  expect_identical(dimnames(f(m)), list(c("A", "B"), c("p", "q")))
  expect_identical(names(f(c(5, 6, 7))), c("A", "B", "C"))
  expect_equal(as.vector(jit(function(m) addmargins(as.table(m)))(m)), as.vector(addmargins(as.table(m))))
})
