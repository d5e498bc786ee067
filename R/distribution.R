# Distributions. A row says what a distribution is: its parameters, its support, and the formulas inside of
# it. From a row are made the functions nv_d*, nv_p* and nv_q*, and the methods of dnorm() and its like: see
# density_function(). A formula sees parameters and a point where it holds: what is outside is replaced before
# it is computed, and not only afterwards, since the derivative of a branch that is not taken would be NaN.

# The rows, by what follows the letter in the names of R's functions.
distributions <- new.env(parent = emptyenv())

# `arguments`: the formals between the point and the flags, as R has them. `parameters`: an expression in
# these that gives the parameters of the formulas, a named list. `proper`: for each, a function that says
# where the formulas hold; `valid`: where the result is a number, if that is more; `safe`: a value that is
# proper. `ends`: of the support, a function of the parameters that gives list(lower, upper). `at`: a point
# inside of it, of safe parameters. `inside`: where the density is that of the formula, else between the ends;
# `boundary`: what it is elsewhere, 0 if there is none. `density`, `cdf`, `quantile`: formulas. `has_atoms`:
# whether the lower end has a probability of its own. `moments`: mean and standard deviation of a discrete
# distribution, where the search for its quantiles begins, and if it is known the third central moment over
# the variance. `location`: the parameter that may be infinite, and makes a NaN of an infinite point.
# `between`: where the parameters go together. `degenerate`: where parameters that are not proper put all of
# the probability at one point, list(where, at). `everywhere`: whether the formula of probabilities holds in
# infinite points too, and is NaN of NaN: a function of whether it is of logarithms.
distribution <- function(
  name, arguments, proper, safe, density, cdf = NULL, quantile = NULL, valid = list(), discrete = FALSE,
  ends = function(...) list(-Inf, Inf), at = function(...) 0, inside = NULL, boundary = NULL,
  degenerate = NULL, parameters = as.call(c(quote(list), sapply(names(arguments), as.name))),
  between = NULL, has_atoms = discrete, moments = NULL, location = NULL, everywhere = function(log) FALSE
) {
  given <- names(proper)
  row <- list(
    name = name, arguments = arguments, parameters = parameters, proper = proper,
    valid = c(valid, proper)[given], safe = safe, density = density, cdf = cdf, quantile = quantile,
    discrete = discrete, ends = ends, at = at, inside = inside, boundary = boundary, degenerate = degenerate,
    between = between, has_atoms = has_atoms, moments = moments, location = location, everywhere = everywhere
  )
  row$programs <- formula_programs(row)
  assign(name, row, distributions)
}

# Where a parameter is what ----

is_real <- function(x) is.finite(x)
is_number <- function(x) x == x
is_positive <- function(x) x > 0 & x < Inf
is_not_negative <- function(x) x >= 0
is_above_zero <- function(x) x > 0
is_open_probability <- function(x) x > 0 & x < 1
is_probability <- function(x) x >= 0 & x <= 1
is_count <- function(x) x >= 0 & x < Inf & is_integral(x)

# Whole numbers, but for what rounding may have left, as R has it.
is_integral <- function(x) abs(x - round(x)) <= 1e-7 * (1 + abs(x))

# Functions ----

# The functions that users call. Their bodies call at_point() or at_probability() with the row and its
# parameters.
density_function <- function(row) {
  distribution_function(row, "x", alist(log = FALSE), quote(density_at(row, x, parameters, log)))
}

cdf_function <- function(row) {
  flags <- alist(lower.tail = TRUE, log.p = FALSE)
  distribution_function(row, "q", flags, quote(cdf_at(row, q, parameters, lower.tail, log.p)))
}

quantile_function <- function(row) {
  flags <- alist(lower.tail = TRUE, log.p = FALSE)
  distribution_function(row, "p", flags, quote(quantile_at(row, p, parameters, lower.tail, log.p)))
}

distribution_function <- function(row, point, flags, body) {
  first <- alist(x = )
  names(first) <- point
  read <- list(row = call("[[", quote(distributions), row$name), parameters = row$parameters)
  f <- function() NULL
  formals(f) <- c(first, row$arguments, flags)
  body(f) <- do.call(substitute, list(body, read))
  environment(f) <- topenv()
  f
}

density_at <- function(row, x, parameters, log) {
  check_flag("log", log)
  run_formula("d", row, x, parameters, list(log = log))
}

cdf_at <- function(row, q, parameters, lower, log) {
  check_flag("lower.tail", lower)
  check_flag("log.p", log)
  run_formula("p", row, q, parameters, list(lower = lower, log = log))
}

quantile_at <- function(row, p, parameters, lower, log) {
  check_flag("lower.tail", lower)
  check_flag("log.p", log)
  run_formula("q", row, p, parameters, list(lower = lower, log = log))
}

# A function that is part of the open trace, or a program of its own: a formula has up to a few hundred ops,
# each of which would be a call.
as_program <- function(f, static = character()) {
  # The first call makes it, and is one of it.
  program <- function(...) {
    program <<- jit(f, static)
    program(...)
  }
  function(...) if (.Call(anvil_trace_depth) > 0L) f(...) else program(...)
}

run_formula <- function(kind, row, x, parameters, flags) {
  check_lengths_fit(paste0("nv_", kind, row$name), c(list(x), parameters))
  row <- row_of(row, parameters)
  row$programs[[kind]](x, parameters, c(flags, known = are_known_proper(row, parameters)))
}

# Vectors are equally long: an op of the formula would say that it cannot combine others.
check_lengths_fit <- function(name, values) {
  sizes <- lengths(values)
  if (length(unique(sizes[sizes != 1L])) < 2L || any(lengths(lapply(values, dim)) > 1L)) return(invisible())
  apart <- unique(sizes[sizes != 1L])[1:2]
  abort("anvil_error_shape", paste0(
    "`", name, "()` cannot combine shapes (", apart[1L], ") and (", apart[2L], ").\nx Vectors must be ",
    "equally long.\ni `rep_len(x, ", max(apart), ")` repeats the shorter one as R recycles it."
  ))
}

# Whether all parameters are R numbers for which the formulas hold: then nothing guards them. They may be
# rounded to single precision before they are used.
are_known_proper <- function(row, parameters) {
  is_plain <- function(x) is.numeric(x) && !is.object(x) && length(x) == 1L && is.null(dim(x))
  if (!all(vapply(parameters, is_plain, NA))) return(FALSE)
  single <- function(x) readBin(writeBin(as.double(x), raw(), size = 4L), "double", size = 4L)
  holds <- function(parameters) {
    rules <- apply_rules(row$proper, parameters)
    if (!is.null(row$between)) rules <- c(rules, do.call(row$between, parameters))
    all(vapply(rules, isTRUE, NA))
  }
  holds(parameters) && holds(lapply(parameters, single))
}

# By other parameters it is another row.
row_of <- function(row, parameters) {
  if (setequal(names(parameters), names(row$proper))) return(row)
  distributions[[paste0(row$name, "_", tail(names(parameters), 1L))]]
}

formula_programs <- function(row) {
  program <- function(formula) {
    run <- function(x, parameters, flags) {
      in_floats(c(list(x), parameters), function(x, ...) formula(row, x, list(...), flags))
    }
    as_program(run, "flags")
  }
  list(d = program(density_formula), p = program(cdf_formula), q = program(quantile_formula))
}

# Applies a function to floats of one dtype: of at least 32 bits, of which the result is rounded once.
in_floats <- function(values, f) {
  names <- names(values)
  values <- lapply(do.call(nv_promote_to_common, unname(values)), as_floats)
  type <- dtype(values[[1L]])
  known <- !all(vapply(values, ambiguous, NA))
  half <- known && as.character(type) %in% c("bf16", "f16")
  if (half) values <- lapply(values, nv_convert, "f32")
  out <- do.call(f, setNames(values, names))
  if (half) nv_convert(out, type) else out
}

as_floats <- function(x) .External(anvil_op, "floats", x)

# What holds of all elements at once, and at most one condition is TRUE.
all_of <- function(conditions) Reduce(`&`, conditions)

apply_rules <- function(rules, parameters) Map(function(rule, x) rule(x), rules, parameters[names(rules)])

# Parameters and a point for which the formulas hold: list(parameters, proper, ends).
made_safe <- function(row, parameters, known) {
  if (known) return(list(parameters = parameters, proper = NULL, rules = NULL))
  rules <- proper <- apply_rules(row$proper, parameters)
  # Each by itself, so that what is computed of a single number stays that of a single number.
  if (!is.null(row$between)) proper <- lapply(proper, `&`, do.call(row$between, parameters))
  safe <- Map(nv_ifelse, proper, parameters, row$safe[names(parameters)])
  list(parameters = safe, proper = all_of(proper), rules = rules)
}

# Where a condition holds and parameters are proper.
and_proper <- function(condition, safe) if (is.null(safe$proper)) condition else condition & safe$proper

with_parameters <- function(f, x, parameters, ...) do.call(f, c(list(x), parameters, list(...)))

density_formula <- function(row, x, parameters, flags) {
  if (row$discrete) x <- nv_stop_gradient(x)
  safe <- made_safe(row, parameters, flags$known)
  point <- if (row$discrete) nv_round(x) else x
  ends <- do.call(row$ends, parameters)
  inside <- if (!is.null(row$inside)) {
    with_parameters(row$inside, x, parameters)
  } else if (row$discrete) {
    # An infinite number is not integral.
    is_integral(x) & point >= ends[[1L]] & point <= ends[[2L]]
  } else if (identical(ends, list(-Inf, Inf))) {
    is.finite(x)
  } else {
    x > ends[[1L]] & x < ends[[2L]]
  }
  inside <- and_proper(inside, safe)
  point <- nv_ifelse(inside, point, do.call(row$at, safe$parameters))
  value <- with_parameters(row$density, point, safe$parameters, log = flags$log)
  zero <- if (flags$log) -Inf else 0
  outside <- zero
  if (!is.null(row$boundary)) outside <- with_parameters(row$boundary, x, parameters, log = flags$log)
  if (flags$known) return(nv_ifelse(inside, value, nv_ifelse(is_number(x), outside, NaN)))
  if (!is.null(row$degenerate)) {
    mass <- do.call(row$degenerate, parameters)
    peak <- if (row$discrete) 1 - flags$log else Inf
    outside <- nv_ifelse(mass[[1L]], nv_ifelse(x == mass[[2L]] & nv_is_finite(x), peak, zero), outside)
  }
  nv_ifelse(inside, value, nv_ifelse(is_valid(row, x, parameters, safe$rules), outside, NaN))
}

# Where the result is a number. A rule that is that of the formulas too is not asked again.
is_valid <- function(row, x, parameters, rules) {
  other <- !mapply(identical, row$valid, row$proper[names(row$valid)])
  rules[names(row$valid)[other]] <- apply_rules(row$valid[other], parameters)
  valid <- is_number(x) & all_of(rules)
  if (!is.null(row$between)) {
    together <- do.call(row$between, parameters)
    if (!is.null(row$degenerate)) together <- together | do.call(row$degenerate, parameters)[[1L]]
    valid <- valid & together
  }
  if (is.null(row$location)) return(valid)
  valid & !(x == parameters[[row$location]] & nv_is_infinite(x))
}

cdf_formula <- function(row, q, parameters, flags) {
  safe <- made_safe(row, parameters, flags$known)
  ends <- do.call(row$ends, parameters)
  # A number that rounding has left a little below a whole one is that one, as in R.
  point <- if (row$discrete) nv_floor(nv_stop_gradient(q) + 1e-7) else q
  everywhere <- flags$known && row$everywhere(flags$log)
  below <- if (row$has_atoms) point < ends[[1L]] else point <= ends[[1L]]
  above <- point >= ends[[2L]]
  # None of these is so for a NaN.
  inside <- if (identical(ends, list(-Inf, Inf))) {
    is.finite(point)
  } else {
    (if (row$has_atoms) point >= ends[[1L]] else point > ends[[1L]]) & point < ends[[2L]]
  }
  inside <- and_proper(inside, safe)
  if (!everywhere) point <- nv_ifelse(inside, point, do.call(row$at, safe$parameters))
  value <- with_parameters(row$cdf, point, safe$parameters, lower = flags$lower, log = flags$log)
  if (everywhere) return(value)
  none <- if (flags$log) -Inf else 0
  all <- if (flags$log) 0 else 1
  if (!flags$lower) {
    swapped <- none
    none <- all
    all <- swapped
  }
  outside <- nv_ifelse(below, none, nv_ifelse(above, all, NaN))
  if (flags$known) return(nv_ifelse(inside, value, outside))
  if (!is.null(row$degenerate)) {
    mass <- do.call(row$degenerate, parameters)
    outside <- nv_ifelse(mass[[1L]], nv_ifelse(below | q < mass[[2L]], none, all), outside)
  }
  nv_ifelse(inside, value, nv_ifelse(is_valid(row, q, parameters, safe$rules), outside, NaN))
}

quantile_formula <- function(row, p, parameters, flags) {
  if (row$discrete) p <- nv_stop_gradient(p)
  safe <- made_safe(row, parameters, flags$known)
  ends <- do.call(row$ends, parameters)
  lowest <- if (flags$log) -Inf else 0
  highest <- if (flags$log) 0 else 1
  possible <- p >= lowest & p <= highest
  inside <- and_proper(p > lowest & p < highest, safe)
  point <- nv_ifelse(inside, p, if (flags$log) -1 else 0.5)
  value <- if (is.null(row$quantile)) {
    discrete_quantile(row, point, safe$parameters, flags)
  } else {
    with_parameters(row$quantile, point, safe$parameters, lower = flags$lower, log = flags$log)
  }
  at_none <- if (flags$lower) p == lowest else p == highest
  at_end <- p == lowest | p == highest
  outside <- nv_ifelse(at_none, ends[[1L]], nv_ifelse(at_end, ends[[2L]], NaN))
  if (flags$known) return(nv_ifelse(inside, value, outside))
  if (!is.null(row$degenerate)) {
    mass <- do.call(row$degenerate, parameters)
    outside <- nv_ifelse(mass[[1L]] & p > lowest & p < highest, mass[[2L]], outside)
  }
  nv_ifelse(inside, value, nv_ifelse(is_valid(row, p, parameters, safe$rules) & possible, outside, NaN))
}

# The smallest whole number whose probability is at least `p`. From the one that a normal distribution has,
# and the term of its skewness (Cornish, Fisher 1938), steps of doubled lengths, down or up, find bounds,
# which are then halved: `low` is below the quantile, `high` is not. A step computes one probability.
# `fuzz` is the relative error of `p`: as in R, the quantile of a probability that was computed is not one too
# large.
discrete_quantile <- function(row, p, parameters, flags, fuzz = 2^-49) {
  parameters <- lapply(parameters, nv_stop_gradient)
  # Probabilities of fewer digits, which were rounded once, in double precision.
  digits <- if (ambiguous(p)) NULL else list(f32 = 24, f16 = 11, bf16 = 8)[[as.character(dtype(p))]]
  if (!is.null(digits)) {
    double <- function(x) if (is_float(dtype(x))) nv_convert(x, "f64") else x
    k <- discrete_quantile(row, double(p), lapply(parameters, double), flags, 1.1 * 2^-digits)
    return(nv_convert(k, dtype(p)))
  }
  ends <- do.call(row$ends, parameters)
  sign <- if (flags$lower != flags$log) -1 else 1
  goal <- p * (1 + sign * fuzz)
  reached <- function(k) {
    inside <- k >= ends[[1L]] & k < ends[[2L]]
    at <- nv_ifelse(inside, k, do.call(row$at, parameters))
    value <- with_parameters(row$cdf, at, parameters, lower = flags$lower, log = flags$log)
    hit <- if (flags$lower) value >= goal else value <= goal
    (inside & hit) | k >= ends[[2L]] | !(k < 2^53)
  }
  z <- normal_quantile(p, flags$lower, flags$log)
  moments <- do.call(row$moments, parameters)
  # One shape and type for all that a loop carries.
  size <- p * 0 + Reduce(`+`, lapply(parameters, function(x) x * 0))
  skew <- if (length(moments) > 2L) moments[[3L]] * ((z * z - 1) / 6) else 0
  start <- nv_floor(moments[[1L]] + moments[[2L]] * z + skew) + size
  lowest <- ends[[1L]] - 1 + size
  start <- nv_max(nv_min(start, 2^52), lowest)
  down <- reached(start)
  bounds <- nv_while(
    list(
      low = start, high = start, step = nv_max(1, nv_floor(moments[[2L]] * 0.01)) + size,
      open = is_number(start)
    ),
    function(low, high, step, open) any(open),
    function(low, high, step, open) {
      at <- nv_ifelse(down, nv_max(low - step, lowest), nv_min(high + step, 2^53))
      found <- reached(at) != down
      list(
        low = nv_ifelse(open, nv_ifelse(down, at, high), low),
        high = nv_ifelse(open, nv_ifelse(down, low, at), high),
        step = 2 * step, open = open & !found
      )
    }
  )
  middle_of <- function(low, high) nv_floor(low + (high - low) / 2)
  # Large floats are not next to each other.
  is_open <- function(low, high, middle) middle > low & middle < high
  nv_while(
    list(low = bounds$low, high = bounds$high),
    function(low, high) any(is_open(low, high, middle_of(low, high))),
    function(low, high) {
      middle <- middle_of(low, high)
      is_high <- reached(middle)
      open <- is_open(low, high, middle)
      list(low = nv_ifelse(open & !is_high, middle, low), high = nv_ifelse(open & is_high, middle, high))
    }
  )$high
}

# Documentation and methods ----

# The section about accuracy, with the table of inst/catalogue/distributions.tsv, which a test holds; called
# by roxygen2 in the root of the package.
accuracy_tag <- function() {
  table <- utils::read.delim(file.path("inst", "catalogue", "distributions.tsv"), colClasses = "character")
  row <- function(cells) paste0("| ", paste(cells, collapse = " | "), " |")
  c(
    "@section Accuracy: The largest difference from R over a grid of arguments and parameters with their",
    "tails, in units in the last place (`f64`): for densities and probabilities times",
    "`max(1, abs(log(value)))`, for logarithms of `max(1, abs(value))`; for quantiles what the",
    "probability at the result differs by from the one that was given, where both count as rounded. A test",
    "holds them. In far tails of t, F, beta and what is computed by them R itself loses digits, which are",
    "not counted.",
    "", row(gsub(".", " ", names(table), fixed = TRUE)), row(c("---", rep("---:", ncol(table) - 1L))),
    apply(table, 1L, row)
  )
}
