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
#' @seealso [nv_runif()] and the others that draw, [nv_rng_bits()]
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

#' Random numbers
#'
#' Uniform, normal and binomial random numbers, and random whole numbers from 1 to `n`. Each draw returns the
#' next state with its values, see [nv_rng_state()].
#'
#' `nv_runif()` draws from all multiples of a power of two in (0, 1) with the same probability: 2^-52 for
#' `f64`, 2^-23 for `f32`, 2^-11 for `f16`, 2^-8 for `bf16`; 0 is replaced by half of that. They are
#' multiplied by `upper - lower` and added to `lower`, in the dtype (16-bit floats: in `f32`). The result is
#' at least `lower` and less than `upper`, even where the dtype is coarse; if the bounds are equal, it is that
#' number. `upper - lower` must be finite in the dtype.
#'
#' `nv_rnorm()` computes pairs of normal numbers from pairs of uniform ones by the Box-Muller transform, in
#' `f64`, or in `f32` for all other dtypes; none is further from the mean than 5.8 standard deviations, or 8.6
#' in `f64`.
#'
#' `nv_rbinom()` counts, of `n` uniform numbers for each element, those below `prob`: time and memory grow
#' with `n`.
#'
#' `nv_sample_int()` takes remainders of 64 random bits. The probability of a value differs from `1 / n` by
#' less than 2^-64: relatively, by less than 2^-33 for every `n` that an `i32` holds.
#'
#' [gradient()] differentiates draws of `nv_runif()` and `nv_rnorm()` with respect to the parameters, for
#' fixed random bits: the derivative with respect to `mean` is 1, to `sd` the standard normal number `z`, to
#' `upper` the uniform number `u` in (0, 1), and to `lower` `1 - u`.
#'
#' The bits are of ThreeFry, see [nv_rng_bits()]; 32 bits for each uniform number that is no `f64`, else 64.
#' The values of parameters are checked only if they are R numbers.
#'
#' @param shape Sizes of the axes of the values; `integer()` is 0-d.
#' @param state A state, see [nv_rng_state()].
#' @param dtype Dtype of the values: its name, or a dtype object. A float for `nv_runif()` and `nv_rnorm()`,
#'   an integer for `nv_sample_int()`, either for `nv_rbinom()`.
#' @param lower,upper Bounds: finite R numbers with `lower <= upper`, or 0-d tensors.
#' @param mean,sd Mean and standard deviation: finite R numbers with `sd >= 0`, or 0-d tensors.
#' @param n For `nv_rbinom()`, the number of trials, at least 0; for `nv_sample_int()`, the largest value, at
#'   least 1. A whole number that the dtype can hold, and for the trials an `i32`.
#' @param prob Probability of success: an R number from 0 to 1, or a 0-d tensor.
#' @return A list of `state`, the next state, and `value`, a tensor of shape `shape` and dtype `dtype`, never
#'   ambiguous.
#' @section Errors: `anvil_error_arg` for a state that is none, and for a shape, dtype or parameter that is
#' not as above; `anvil_error_shape` for a parameter that is not 0-d, or a shape that is too large;
#' `anvil_error_dtype` for an unknown dtype.
#' @references Salmon, Moraes, Dror and Shaw (2011), Parallel random numbers: as easy as 1, 2, 3,
#'   \doi{10.1145/2063384.2063405}. Box and Muller (1958), A note on the generation of random normal deviates,
#'   \doi{10.1214/aoms/1177706645}.
#' @examples
#' state <- nv_rng_state(42)
#' nv_runif(c(2, 3), state)
#' nv_rnorm(5, state, mean = 10, sd = 0.1)$value
#' nv_rbinom(5, state, n = 10, prob = 0.3)$value
#' nv_sample_int(5, state, n = 6)$value
#'
#' # In a program, the state goes in and out.
#' roll <- jit(function(state) nv_sample_int(2, state, n = 6))
#' first <- roll(state)
#' second <- roll(first$state)
#' @export
nv_runif <- function(shape, state, dtype = "f32", lower = 0, upper = 1) {
  check_parameter("lower", lower, "one finite number")
  check_parameter("upper", upper, "one finite number")
  if (is_numeric(lower) && is_numeric(upper) && lower > upper) {
    abort_arg("upper", paste0("at least `lower`, ", describe(lower)), describe(upper))
  }
  dtype <- .Call(anvil_dtype_name, dtype)
  bounds <- if (!identical(lower, 0) || !identical(upper, 1)) list(lower, upper)
  drawn(.External(anvil_ops, "runif", operands = c(list(state), bounds), shape = shape, dtype = dtype))
}

#' @rdname nv_runif
#' @export
nv_rnorm <- function(shape, state, dtype = "f32", mean = 0, sd = 1) {
  check_parameter("mean", mean, "one finite number")
  check_parameter("sd", sd, "one finite number, at least 0", sd >= 0)
  dtype <- .Call(anvil_dtype_name, dtype)
  parameters <- if (!identical(mean, 0) || !identical(sd, 1)) list(mean, sd)
  drawn(.External(anvil_ops, "rnorm", operands = c(list(state), parameters), shape = shape, dtype = dtype))
}

#' @rdname nv_runif
#' @export
nv_rbinom <- function(shape, state, n = 1L, prob = 0.5, dtype = "i32") {
  check_parameter("prob", prob, "one number from 0 to 1", prob >= 0 && prob <= 1)
  dtype <- .Call(anvil_dtype_name, dtype)
  drawn(.External(anvil_ops, "rbinom", state, prob, shape = shape, n = n, dtype = dtype))
}

#' @rdname nv_runif
#' @export
nv_sample_int <- function(shape, state, n, dtype = "i32") {
  dtype <- .Call(anvil_dtype_name, dtype)
  drawn(.External(anvil_ops, "sample_int", state, shape = shape, n = n, dtype = dtype))
}

# A parameter of a distribution whose value is known to R; `ok` is asked only of a finite number.
check_parameter <- function(arg, value, expected, ok = TRUE) {
  if (inherits(value, "AnvilValue")) return()
  if (!is_numeric(value) || length(value) != 1L || !is.finite(value) || !ok) {
    abort_arg(arg, expected, describe(value))
  }
}

# What each draw returns.
drawn <- function(results) {
  names(results) <- c("state", "value")
  results
}
