#' Explain the plan of a program
#'
#' `explain_plan()` shows how anvil runs a function: which operations are fused, in one pass over memory;
#' which run alone; the steps in loops and branches; the bytes that are read and written, and an estimate of
#' the time.
#'
#' The program is the one that [jit()] makes for arguments of these types: simplified, without unused values.
#' A *group* is a run of elementwise operations, often with a sum or another reduction at its end, that goes
#' over its elements in tiles that stay in the processor's cache: what only the group itself uses is never in
#' memory. The fewer groups and the fewer bytes, the faster: see `vignette("performance")`.
#'
#' Times are estimates for one core, from the bytes that move and the operations on them; use them to compare
#' steps. The line of a loop holds the time of one repetition, since the number of repetitions is not
#' known. A loop *in native code* keeps its state in registers.
#'
#' @param f A function of tensors. `static`, `donate` and `rules` of a jitted function hold here, too.
#' @param ... Arguments of `f`: tensors, R numbers, logicals and arrays, whose values play no role,
#'   [nv_abstract()] for tensors that need not exist, and lists of these. Anything else, such as a string or a
#'   function, is passed to `f` as it is.
#' @param x A plan.
#' @return `explain_plan()`: a data frame of class `AnvilPlan`, with a row for each step, and those of the
#'   program in a loop or branch below it:
#'   * `step`: its number, such as `2`, or `2.body.1` in the body of the loop that is step 2;
#'   * `kind`: `group`, `copy`, the name of the operation for one that runs alone, or `program` for a part of
#'     a loop or branch;
#'   * `ops`: a list of names of operations, in the order in which they run;
#'   * `elements` that the step goes over, and `tile`, how many at a time; `NA` where there are no tiles;
#'   * `read` and `written`: bytes;
#'   * `in_place`: whether a result is made in the memory of an operand;
#'   * `microseconds`, estimated;
#'   * `threads`: whether the step is large enough for several threads;
#'   * `native`: whether the step is a loop on some numbers and short vectors, which is one native function.
#'     The program of its body then only runs what that function cannot, such as a position out of range.
#' @section Errors:
#' `anvil_error_arg` for arguments that are not as above; and whatever `f` raises while it is traced.
#' @seealso [memory_plan()], [graph_text()] for the operations themselves, [cache_info()] for the programs of
#'   a jitted function.
#' @examples
#' standardise <- function(x) (x - mean(x)) / sqrt(mean((x - mean(x))^2))
#' explain_plan(standardise, nv_abstract("f32", 1e6))
#'
#' newton <- function(x) nv_for(20L, x, function(i, z) z - (z * z - x) / (2 * z))
#' explain_plan(newton, nv_abstract("f64", 100))
#' @export
explain_plan <- function(f, ...) {
  plan <- compiled_plan(f, list_dots(...), "explain_plan()")
  numbers <- matrix(plan$numbers, ncol = 8L, byrow = TRUE)
  out <- data.frame(step = plan$places, kind = plan$kinds)
  out$ops <- strsplit(plan$ops, ",", fixed = TRUE)
  out$elements <- numbers[, 1L]
  out$tile <- ifelse(numbers[, 2L] > 0, numbers[, 2L], NA)
  out$read <- numbers[, 4L]
  out$written <- numbers[, 5L]
  out$in_place <- numbers[, 3L] == 1
  out$microseconds <- numbers[, 6L]
  out$threads <- numbers[, 7L] > 1
  out$native <- numbers[, 8L] == 1
  structure(out, class = c("AnvilPlan", "data.frame"), scratch = sum(plan$bytes[c("scratch", "regions")]))
}

# The lines and the memory of the program that a function is for example arguments, see src/rust/src/plan.rs.
# `where` is the call in which the user gave the function.
compiled_plan <- function(f, args, where) {
  example <- trace_example(match_function(f), args, where, "Plan the function outside of `jit()`.")
  out <- .Call(anvil_plan, example$graph, example$donated)
  names(out) <- c("places", "kinds", "ops", "numbers", "bytes", "steps", "scratch")
  names(out$bytes) <- c("inputs", "constants", "outputs", "scratch", "regions")
  out
}

#' @rdname explain_plan
#' @export
print.AnvilPlan <- function(x, ...) {
  check_dots(..., .known = taken_by("print", "data.frame"))
  # Subsets of the rows and columns are data frames like others, and so is one whose columns were changed.
  types <- c(
    step = "character", kind = "character", ops = "list", elements = "double", read = "double",
    written = "double", in_place = "logical", microseconds = "double", threads = "logical",
    native = "logical"
  )
  if (!all(vapply(names(types), function(name) identical(typeof(x[[name]]), types[[name]]), NA))) {
    return(invisible(print(structure(x, class = "data.frame"))))
  }
  own <- !grepl(".", x$step, fixed = TRUE)
  cat(
    "<AnvilPlan> ", sum(own), if (sum(own) == 1L) " step" else " steps", ", ", format_bytes(sum(x$read[own])),
    " read, ", format_bytes(sum(x$written[own])), " written",
    if (!is.null(attr(x, "scratch"))) paste0(", ", format_bytes(attr(x, "scratch")), " of scratch memory"),
    "\n", sep = ""
  )
  width <- max(40L, getOption("width"))
  for (i in seq_len(nrow(x))) {
    depth <- lengths(regmatches(x$step[i], gregexpr(".", x$step[i], fixed = TRUE)))
    indent <- strrep("  ", depth)
    if (x$kind[i] == "program") {
      cat(indent, sub(".*[.]", "", x$step[i]), ":\n", sep = "")
      next
    }
    number <- paste0(sub(".*[.]", "", x$step[i]), ". ")
    what <- if (x$kind[i] == "group") {
      paste0("group of ", count_of(x$elements[i], "element"), ": ", tally(x$ops[[i]]))
    } else {
      x$kind[i]
    }
    costs <- paste0(
      format_bytes(x$read[i]), " read, ", format_bytes(x$written[i]), " written",
      if (x$in_place[i]) " in place", ", ", duration(x$microseconds[i]),
      if (x$kind[i] %in% c("while", "scan")) " a repetition", if (x$threads[i]) ", shared by threads"
    )
    if (x$native[i]) costs <- paste0(costs, ", in native code")
    blank <- strrep(" ", nchar(number))
    lines <- strwrap(what, width = width - nchar(indent) - nchar(number))
    cat(paste0(indent, c(number, rep(blank, length(lines) - 1L)), lines, "\n"), sep = "")
    cat(indent, blank, costs, "\n", sep = "")
  }
  invisible(x)
}

# Names with how often they follow each other: "mul, add x 3, tanh".
tally <- function(names) {
  runs <- rle(names)
  paste0(runs$values, ifelse(runs$lengths > 1L, paste0(" x ", runs$lengths), ""), collapse = ", ")
}

count_of <- function(n, noun) {
  paste0(format(n, big.mark = ",", scientific = FALSE, trim = TRUE), " ", noun, if (n != 1) "s")
}

duration <- function(microseconds) {
  if (microseconds < 1e3) {
    return(paste("about", format(signif(max(microseconds, 0.01), 2), scientific = FALSE), "us"))
  }
  if (microseconds < 1e6) {
    return(paste("about", format(signif(microseconds / 1e3, 2), scientific = FALSE), "ms"))
  }
  paste("about", format(signif(microseconds / 1e6, 2), scientific = FALSE, big.mark = ","), "s")
}
