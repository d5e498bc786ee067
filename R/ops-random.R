#' States of the random number generator
#'
#' Random tensors are drawn from a state, which is a tensor like any other: a draw returns its values and the
#' next state, and the same state gives the same values, eagerly and in [jit()], on any number of
#' threads. There is no global generator, and R's own is not used.
#'
#' `nv_rng_state()` makes a state from a seed. `nv_split_state()` splits one into several, for parts of a
#' program that draw independently, such as chains or workers. Do not draw from a state that was split.
#'
#' A state is a `ui64[2]`: a key, and a counter that each draw increments. The low 16 bits of a seed are the
#' key, the high 16 bits the counter. So seeds that differ by a multiple of 65536 have the same key, and
#' what is drawn from them overlaps: take seeds from 0 to 65535, or split a state. The states of a split are
#' random bits of the one that is split, 64 for the key and 64 for the counter: two of them have the same key
#' with a probability of 2^-64.
#'
#' @param seed A whole number in the range of R's integers.
#' @param state A state: from `nv_rng_state()`, `nv_split_state()`, or the `state` of an earlier draw.
#' @param n Number of states, from 1 to 10000.
#' @return A state, a tensor `ui64[2]`; a list of `n` of them for `nv_split_state()`.
#' @section Errors:
#' `anvil_error_arg` for a seed or number that is not as above, and for a state that is none.
#' @seealso [nv_runif()] and the others that draw, [nv_fold_in()], [nv_rng_bits()]
#' @references Claessen and Palka (2013), Splittable pseudorandom number generators using cryptographic
#'   hashing. The idea is that of `jax.random.split()`; the states are others.
#' @examples
#' state <- nv_rng_state(42)
#' draw <- nv_runif(3, state)
#' draw$value
#' nv_runif(3, draw$state)$value
#' chains <- nv_split_state(nv_rng_state(1), 4)
#' @export
nv_rng_state <- function(seed) .External(anvil_op, "rng_state", seed = seed)

#' @rdname nv_rng_state
#' @export
nv_split_state <- function(state, n = 2L) .External(anvil_ops, "split_state", state, n = n)

#' Random bits
#'
#' Integers whose bits are each 0 or 1 with probability 1/2. All other draws are computed from them.
#'
#' The bits are those of XLA's `rng_bit_generator` on CPU, and so of `jax.lax.rng_bit_generator()`, for each
#' state, shape and width. Elements are drawn in row-major order. 8 and 16 bits are the low ones of 32.
#'
#' Let `key` and `counter` be the two numbers of the state. ThreeFry makes block `i`, of 64 bits, of `key` and
#' `counter + i`. It is one element of 64 bits; or two of 32 bits, which are neighbours along the first axis
#' of even size, or else along the largest. Philox makes block `i`, of 128 bits, of `key` and the number whose
#' low half is `counter` and whose high half is `key`, plus `i`. It is two or four elements in a row. The
#' counter increases by the number of blocks.
#'
#' @param state A state, see [nv_rng_state()].
#' @param shape Sizes of the axes; `integer()` is 0-d.
#' @param dtype The dtype of an integer: its name, or a dtype object.
#' @param algorithm `"threefry"` for ThreeFry-2x32 of 20 rounds, which all other draws use, or `"philox"` for
#'   Philox-4x32 of 10 rounds.
#' @return A list of `state`, the next state, and `value`, a tensor of shape `shape` and dtype `dtype`.
#' @section Properties:
#' * Dtypes: `state`: `ui64`; `dtype`: integers (`i8` to `i64`, `ui8` to `ui64`).
#' * Derivative: None: integers and booleans have no gradient.
#' @section Errors:
#' `anvil_error_arg` for a state that is none, a dtype that is no integer, a shape or algorithm that is none;
#' `anvil_error_dtype` for an unknown dtype; `anvil_error_shape` for a shape that is too large.
#' @references Salmon, Moraes, Dror and Shaw (2011), Parallel random numbers: as easy as 1, 2, 3,
#'   \doi{10.1145/2063384.2063405}. StableHLO specification, `rng_bit_generator`.
#' @examples
#' nv_rng_bits(nv_rng_state(42), 4)
#' nv_rng_bits(nv_rng_state(42), c(2, 2), "ui8", algorithm = "philox")$value
#' @export
nv_rng_bits <- function(state, shape, dtype = "ui32", algorithm = "threefry") {
  dtype <- .Call(anvil_dtype_name, dtype)
  drawn(.External(anvil_ops, "rng_bits", state, shape = shape, dtype = dtype, algorithm = algorithm))
}

#' Uniform, normal and binomial random numbers
#'
#' Each draw returns the next state with its values, see [nv_rng_state()]. Other distributions have
#' pages of their own, see [nv_dnorm()]; parameters have the names of R's functions.
#'
#' `nv_runif()` draws from all multiples of a power of two in (0, 1) with the same probability: 2^-52 for
#' `f64`, 2^-23 for `f32`, 2^-11 for `f16`, 2^-8 for `bf16`; 0 is replaced by half of that. They are
#' multiplied by `max - min` and added to `min`, in the dtype (16-bit floats: in `f32`). The result is
#' at least `min` and less than `max`, even where the dtype is coarse; if the bounds are equal, it is that
#' number. `max - min` must be finite in the dtype.
#'
#' `nv_rnorm()` computes pairs of normal numbers from pairs of uniform ones by the Box-Muller transform, in
#' `f64`, or in `f32` for all other dtypes; none is further from the mean than 5.8 standard deviations, or 8.6
#' in `f64`.
#'
#' `nv_rbinom()` counts, of `size` uniform numbers for each element, those below `prob`. If `size` is above
#' 256, a tensor or a vector, or `prob` has axes, each number is the quantile of one uniform number.
#'
#' `nv_sample_int()` takes remainders of 64 random bits. The probability of a value differs from `1 / n` by
#' less than 2^-64: relatively, by less than 2^-33 for every `n` that an `i32` holds.
#'
#' [gradient()] differentiates draws of `nv_runif()` and `nv_rnorm()` with respect to the parameters, for
#' fixed random bits: the derivative with respect to `mean` is 1, to `sd` the standard normal number `z`, to
#' `max` the uniform number `u` in (0, 1), and to `min` `1 - u`.
#'
#' The bits are of ThreeFry, see [nv_rng_bits()]; 32 bits for each uniform number that is no `f64`, else 64.
#' The values of parameters are checked only if they are R numbers.
#'
#' @param shape Sizes of the axes of the values; `integer()` is 0-d.
#' @param state A state, see [nv_rng_state()].
#' @param dtype Dtype of the values: its name, or a dtype object. A float for `nv_runif()` and `nv_rnorm()`,
#'   an integer for `nv_sample_int()`, either for `nv_rbinom()`. `NULL` is the default of floats, and for the
#'   last two that of integers, see [default_dtypes()].
#' @param min,max Bounds: finite R numbers with `min <= max`, or tensors; of all elements, or one for each.
#' @param mean,sd Mean and standard deviation: finite R numbers with `sd >= 0`, or tensors; of all elements,
#'   or one for each.
#' @param size Number of trials, at least 0: a whole number that the dtype and an `i32` can hold, or a tensor.
#' @param n The largest value, at least 1: a whole number that the dtype can hold.
#' @param prob Probability of success: R numbers from 0 to 1, or a tensor.
#' @return A list of `state`, the next state, and `value`, a tensor of shape `shape` and dtype `dtype`, never
#'   ambiguous.
#' @section Errors: `anvil_error_arg` for a state that is none, and for a shape, dtype or parameter that is
#' not as above; `anvil_error_shape` for a parameter whose shape does not meet that of the values, or a shape
#' that is too large; `anvil_error_dtype` for an unknown dtype.
#' @references Salmon, Moraes, Dror and Shaw (2011), Parallel random numbers: as easy as 1, 2, 3,
#'   \doi{10.1145/2063384.2063405}. Box and Muller (1958), A note on the generation of random normal deviates,
#'   \doi{10.1214/aoms/1177706645}.
#' @examples
#' state <- nv_rng_state(42)
#' nv_runif(c(2, 3), state)
#' nv_rnorm(5, state, mean = 10, sd = 0.1)$value
#' nv_rnorm(3, state, mean = c(0, 100, 1000))$value
#' nv_rbinom(5, state, size = 10, prob = 0.3)$value
#' nv_sample_int(5, state, n = 6)$value
#'
#' # In a program, the state goes in and out.
#' roll <- jit(function(state) nv_sample_int(2, state, n = 6))
#' first <- roll(state)
#' second <- roll(first$state)
#' @export
nv_runif <- function(shape, state, dtype = NULL, min = 0, max = 1) {
  dtype <- dtype %||% default_float()
  check_parameter("min", min, "finite", is.finite)
  check_parameter("max", max, "finite", is.finite)
  if (is_numeric(min) && is_numeric(max) && any(min > max)) {
    abort_arg("max", paste0("at least `min`, ", describe(min)), describe(max))
  }
  dtype <- .Call(anvil_dtype_name, dtype)
  if (!is_single(min) || !is_single(max)) {
    u <- nv_runif(shape, state, dtype)
    u$value <- each_by(u$value, list(min, max), function(u, min, max) {
      value <- min + u * (max - min)
      # As the sum may be rounded up to the upper bound, which is excluded.
      nv_ifelse(value < max, value, min)
    })
    return(u)
  }
  bounds <- if (!identical(min, 0) || !identical(max, 1)) list(min, max)
  drawn(.External(anvil_ops, "runif", operands = c(list(state), bounds), shape = shape, dtype = dtype))
}

#' @rdname nv_runif
#' @export
nv_rnorm <- function(shape, state, dtype = NULL, mean = 0, sd = 1) {
  dtype <- dtype %||% default_float()
  check_parameter("mean", mean, "finite", is.finite)
  check_parameter("sd", sd, "finite, and at least 0", function(x) is.finite(x) & x >= 0)
  dtype <- .Call(anvil_dtype_name, dtype)
  if (!is_single(mean) || !is_single(sd)) {
    z <- nv_rnorm(shape, state, dtype)
    z$value <- each_by(z$value, list(mean, sd), function(z, mean, sd) mean + sd * z)
    return(z)
  }
  parameters <- if (!identical(mean, 0) || !identical(sd, 1)) list(mean, sd)
  drawn(.External(anvil_ops, "rnorm", operands = c(list(state), parameters), shape = shape, dtype = dtype))
}

#' @rdname nv_runif
#' @export
nv_rbinom <- function(shape, state, size = 1L, prob = 0.5, dtype = NULL) {
  dtype <- dtype %||% default_int()
  check_parameter("prob", prob, "from 0 to 1", is_probability)
  if (inherits(size, "AnvilValue") || length(size) > 1L || !is_single(prob)) {
    return(draw_quantiles(distributions$binom, shape, state, dtype, list(size = size, prob = prob)))
  }
  dtype <- .Call(anvil_dtype_name, dtype)
  check_trials(size, dtype)
  if (size > most_trials) {
    return(draw_quantiles(distributions$binom, shape, state, dtype, list(size = size, prob = prob)))
  }
  drawn(.External(anvil_ops, "rbinom", state, prob, shape = shape, n = size, dtype = dtype))
}

# Trials for each of which there is a uniform number, at most: a quantile takes as long as about 200 of them.
most_trials <- 256

# Successes are counted in i32.
check_trials <- function(size, dtype) {
  if (!is_whole(size) || size < 0) abort_arg("size", "a whole number, at least 0", describe(size))
  largest <- c(i8 = 2^7 - 1, ui8 = 2^8 - 1, i16 = 2^15 - 1, ui16 = 2^16 - 1, f16 = 65504)
  holder <- if (dtype %in% names(largest)) dtype else "i32"
  most <- if (holder == "i32") 2^31 - 1 else largest[[dtype]]
  if (size > most) {
    abort_arg("size", paste0("at most ", format(most), ", the largest ", holder), describe(size))
  }
}

#' @rdname nv_runif
#' @export
nv_sample_int <- function(shape, state, n, dtype = NULL) {
  dtype <- dtype %||% default_int()
  dtype <- .Call(anvil_dtype_name, dtype)
  drawn(.External(anvil_ops, "sample_int", state, shape = shape, n = n, dtype = dtype))
}

# A parameter of a distribution whose value is known to R.
check_parameter <- function(arg, value, expected, rule) {
  if (inherits(value, "AnvilValue")) return()
  if (!is_numeric(value) || !length(value) || !all(rule(value) %in% TRUE)) {
    abort_arg(arg, expected, describe(value))
  }
}

# Whether a parameter is one number for all elements.
is_single <- function(x) if (inherits(x, "AnvilValue")) ndims(x) == 0L else length(x) == 1L && is.null(dim(x))

# What a function makes of draws, and of parameters for each of them: of the shape and dtype of the draws.
each_by <- function(values, parameters, f) {
  type <- dtype(values)
  out <- do.call(f, c(list(values), lapply(parameters, nv_convert, type)))
  check_drawn_shape(out, shape(values))
  nv_convert(out, type)
}

check_drawn_shape <- function(x, expected) {
  if (identical(as.integer(sizes_of(x)), as.integer(expected))) return(invisible())
  abort(
    "anvil_error_shape",
    paste0(
      "Parameters of shape ", format_shape(sizes_of(x)), " do not meet draws of shape ",
      format_shape(expected), ".\ni Give one number for all, or one for each."
    ),
    expected = expected, got = sizes_of(x)
  )
}

# What each draw returns.
drawn <- function(results) {
  names(results) <- c("state", "value")
  results
}
