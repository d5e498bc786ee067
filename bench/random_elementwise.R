# The elementwise ops that bench/random_programs.R draws from, and how often.

# How often people use an op; one that is not named has 0.12.
popular <- c(
  nv_exp = 9, nv_log = 8, nv_sqrt = 7, nv_tanh = 5, nv_abs = 5, nv_logistic = 4, nv_sin = 3, nv_cos = 3,
  nv_log1p = 3, nv_negate = 3, nv_max = 4, nv_min = 4, nv_expm1 = 1, nv_softplus = 2, nv_floor = 1,
  nv_sign = 1, nv_erf = 1, nv_round = 0.5, nv_pow = 2, nv_atan2 = 0.5, nv_lgamma = 0.5, nv_clamp = 2,
  nv_mod = 0.5
)
# Powers and the like have no function of their own, and are as common as most that have.
idioms <- alist(
  x^2, x^2, x^2, x * x, x^3, x^0.5, 1 / x, x^-1, x^1.5, 1 / (1 + nv_exp(-x)), nv_log(nv_exp(x) + 1), 1 - x,
  x * (1 - x), nv_exp(-0.5 * x^2), nv_max(x, 0), (0.5 * x + 1.5) * x - 0.25,
  ((0.2 * x - 0.5) * x + 0.3) * x + 1,
  x / (1 + nv_abs(x)), nv_ifelse(x > 0, x, 0.1 * x), x * nv_logistic(x)
)
# Where an op is not defined, it is applied to one of these.
domains <- alist(x, nv_abs(x) + 0.1, nv_tanh(x), nv_logistic(x), 1.5 + nv_abs(x))

# The elementwise ops of floats, calls of `x`, `y` and `z` with weights: those whose functions are made from
# their rows, and those of the catalogue that are found to be elementwise in its example of a call.
elementwise_forms <- local({
  known <- NULL
  function() {
    if (is.null(known)) known <<- find_elementwise()
    known
  }
})

find_elementwise <- function() {
  table <- as.data.frame(.Call(getNamespace("anvil")$wrap__anvil_ops_table), stringsAsFactors = FALSE)
  rows <- table[table$generated, ]
  operands <- strsplit(rows$operands, ", ", fixed = TRUE)
  call_of <- function(f, operands) as.call(c(list(as.name(f)), alist(x, y, z)[seq_along(operands)]))
  calls <- Map(call_of, rows$fun, operands)
  path <- system.file("catalogue", "functions.tsv", package = "anvil", mustWork = TRUE)
  catalogue <- utils::read.delim(path, quote = "", colClasses = "character", check.names = FALSE)
  others <- catalogue[nzchar(catalogue$call) & !catalogue[["function"]] %in% table$fun[table$generated], ]
  examples <- stats::setNames(lapply(others$call, str2lang), others[["function"]])
  # With numbers as what else they are given.
  examples <- Filter(function(call) {
    is.symbol(call[[1L]]) && identical(all.vars(call), "x") &&
      all(vapply(as.list(call)[-1L], function(a) is.symbol(a) || is.numeric(a), NA))
  }, examples)
  # Written as operators, or no function of numbers.
  leave <- c("nv_add", "nv_sub", "nv_mul", "nv_div", "nv_ifelse", "nv_print")
  calls <- c(calls, examples)
  calls <- Filter(function(call) !as.character(call[[1L]]) %in% leave && is_elementwise(call), calls)
  weight <- function(call) {
    name <- as.character(call[[1L]])
    if (name %in% names(popular)) popular[[name]] else if (name %in% table$fun) 0.12 else 0.03
  }
  c(
    lapply(unname(calls), function(call) list(call = call, weight = weight(call))),
    lapply(idioms, function(call) list(call = call, weight = 1.5))
  )
}

# Whether a call computes an f64 for each element, which does not depend on where the others are.
is_elementwise <- function(call) {
  value <- function(at) {
    x <- nv_tensor(c(0.2, 0.8, 0.4, 0.6)[at], "f64")
    out <- suppressWarnings(eval(call, list(x = x, y = 1 - x, z = x), globalenv()))
    typed <- inherits(out, "AnvilTensor") && as.character(dtype(out)) == "f64" && length(shape(out)) == 1L
    if (typed) as.vector(as_array(out))
  }
  all_of_them <- tryCatch(value(1:4), error = function(e) NULL)
  some <- tryCatch(value(c(4L, 2L)), error = function(e) NULL)
  length(all_of_them) == 4L && identical(some, all_of_them[c(4L, 2L)]) &&
    !identical(all_of_them, c(0.2, 0.8, 0.4, 0.6)) && length(unique(all_of_them)) > 1L
}
