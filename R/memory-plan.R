#' Memory of a program
#'
#' `memory_plan()` traces and compiles a function and shows the peak memory of a call in bytes, and what it is
#' used for. The function is not run, and the arguments may be abstract.
#'
#' * `inputs`: the arguments. A donated argument counts here, and an output that reuses its memory
#'   does not count among the outputs.
#' * `constants`: tensors that `f` finds outside of its arguments, and numbers.
#' * `outputs`: the results.
#' * `scratch`: temporary values, in one piece of memory that is kept between calls. Values that are not
#'   alive at the same time share memory, and most values of elementwise code are never materialised.
#' * `regions`: memory of branches and loops: their own temporary values, and two buffers for the state of a
#'   loop.
#'
#' Not counted are a few kilobytes for each thread, the packed blocks of matrix products, and the copies of
#' operands that a product makes because they are transposed or broadcast.
#'
#' Results of 16 kB and more are in a memory pool that anvil recycles, of at most an eighth of the memory of
#' the machine or control group; a buffer returns to it when R's garbage collector frees the result. [gc()]
#' counts half of the bytes of such a result.
#'
#' @inheritParams explain_plan
#' @param x A plan.
#' @return An object of class `AnvilMemoryPlan`: a list of `peak`, `inputs`, `constants`, `outputs`, `scratch`
#'   and `regions`, in bytes, and of `steps`, a data frame with a row for each step of the program in their
#'   order: `step` describes it, `scratch` is the number of bytes of temporary values that are alive then.
#'   `print()` shows the steps with the most scratch memory.
#' @section Errors:
#' `anvil_error_arg` for arguments that are not as above; and whatever `f` raises while it is traced.
#' @seealso [explain_plan()], [jit()] and its argument `donate`
#' @examples
#' f <- function(w, x, y) {
#'   error <- tanh(x %*% w) - y
#'   w - 0.1 * (t(x) %*% error)
#' }
#' f32 <- function(...) nv_abstract("f32", c(...))
#' types <- list(f32(100, 1), f32(1e4, 100), f32(1e4, 1))
#' do.call(memory_plan, c(f, types))
#' memory_plan(jit(function(x) x + 1, donate = "x"), nv_abstract("f64", 1e6))$peak
#' @export
memory_plan <- function(f, ...) {
  plan <- compiled_plan(f, list_dots(...), "memory_plan()")
  steps <- data.frame(step = plan$steps, scratch = plan$scratch)
  structure(
    c(list(peak = sum(plan$bytes)), as.list(plan$bytes), list(steps = steps)), class = "AnvilMemoryPlan"
  )
}

#' @rdname memory_plan
#' @export
format.AnvilMemoryPlan <- function(x, ...) {
  check_dots(..., .known = taken_by("format"))
  names <- c(
    peak = "peak", inputs = "inputs", constants = "constants", outputs = "outputs", scratch = "scratch",
    regions = "branches and loops"
  )
  lines <- paste0(format(unname(names)), "  ", formatC(format_bytes(unlist(x[names(names)])), width = 9L))
  # The first in a row of equals is the earliest.
  largest <- utils::head(order(-x$steps$scratch, seq_len(nrow(x$steps))), 5L)
  largest <- largest[x$steps$scratch[largest] > 0]
  if (!length(largest)) return(lines)
  shown <- sprintf("%d. %s: %s", largest, x$steps$step[largest], format_bytes(x$steps$scratch[largest]))
  count <- nrow(x$steps)
  c(
    lines,
    paste0("scratch by step, most first", if (count > length(shown)) paste0(" (", count, " steps)"), ":"),
    shown
  )
}

#' @rdname memory_plan
#' @export
print.AnvilMemoryPlan <- function(x, ...) {
  check_dots(..., .known = taken_by("print"))
  cat(format(x), sep = "\n")
  invisible(x)
}

# In decimal units.
format_bytes <- function(bytes) {
  vapply(bytes, function(n) format(structure(n, class = "object_size"), units = "auto", standard = "SI"), "")
}
