#' Branches and loops inside a program
#'
#' R's own `if` and `for` run while a function is traced: they choose and repeat what goes into the program.
#' These functions put the choice and the repetition into the program itself, where they depend on values.
#'
#' `nv_if()` runs one of two branches; where both cost no more than the branching itself, it runs both and
#' selects the results of one. `nv_switch()` runs one of several, by number. `nv_while()` repeats a body as
#' long as a condition on its state holds. `nv_for()` repeats a body a given number of times. `nv_scan()`
#' loops over the slices of tensors along their first axis and stacks the results of its body. All of them
#' work in [jit()] and outside of it, can be nested, and capture the variables that their functions use.
#'
#' The functions of a loop take the parts of a named state if their arguments have the names of the parts
#' (`function(i, x)` for `list(i = 0L, x = x)`; after the number of the repetition for `nv_for()`, before the
#' slice for `nv_scan()`), else the state as a whole. Arguments with a default need not be parts, and `...`
#' takes what is not named beside parts that are: other parts, and the slice. Without `xs` the slice is
#' `NULL`, and the function of `nv_scan()` need not take it.
#'
#' The state is a tensor, an R number, or a list of these, which may be nested and named. It keeps its
#' structure, dtypes and shapes from one repetition to the next. Where it begins with an ambiguous value, such
#' as a number or a vector of R, and the body gives a known one, it is known from the beginning: `0` is an
#' `f64` where the body adds one. That holds for dtypes to which it yields, see [common_dtype()]; the body is
#' traced again for another dtype. So it is where the body assigns elements: `rep(0, 3)` is of `x`'s dtype if
#' the body has `z[i] <- x[i]`. Numbers of R that one branch gives get the known dtype of the other, for which
#' the branch is traced again. Of R's numbers whole ones become floats: `0L` where the body adds `0.5`, and a
#' logical `NA` is a float's.
#'
#' A branch that is code, as in `nv_if(x > 0, {y <- x; y + 1}, x)`, assigns to variables of its own: what it
#' gives is its value alone. `y` cannot be used afterwards.
#'
#' @section Gradients: [gradient()] differentiates `nv_if()`, `nv_switch()`, `nv_scan()`, and `nv_for()` with
#' a number of R for `n`. The loops store the intermediate values that the derivative of the body reads, for
#' each repetition: the memory is that of these values times the number of repetitions. With `checkpoint =
#' TRUE` they store only the state of each repetition, and compute the body once more in the backward pass.
#' How often `nv_while()` repeats, or `nv_for()` with a tensor for `n`, is not known in advance, and the
#' memory is neither: reverse mode goes through `nv_while()` only with `max_steps`. Then it makes `max_steps`
#' repetitions, of which those after the end keep the state, and stores values for all of them. Forward mode
#' ([jvp()]) goes through all of these loops and stores nothing.
#'
#' @param pred A boolean of one element.
#' @param true,false The branches: an expression, evaluated in its own branch, or a function
#'   without arguments.
#' @param index The number of a branch, from 1: a 0-d integer.
#' @param ... The branches of `nv_switch()`, as those of `nv_if()`.
#' @param mode What becomes of an `index` that no branch has: `"error"`, or `"clip"` for the nearest.
#' @param init The state at the beginning. The last state has the names that it begins with if the body gives
#'   these too, see [nv_tensor()]; a body that gives others, rather than none, is an error.
#' @param cond A function of the state, or of its parts, that gives a boolean of one element.
#' @param body A function that gives the next state: of the state, or of its parts, for `nv_while()`, of the
#'   number of the repetition (an `i32` from 1) and the same for `nv_for()`.
#' @param max_steps Number of repetitions after which the loop ends even if the condition holds, a whole
#'   number; `NULL` for no bound.
#' @param n Number of repetitions: a whole number, or a 0-d `i32` or `i64` tensor, whose dtype the number of
#'   the repetition has then. Below 1 there are none.
#' @param f A function of the state, or of its parts, and of slices of `xs` that gives the next state and the
#'   result that is stacked: by name as `list(carry = , ys = )`, in any order, or without names as
#'   `list(state, y)`.
#' @param xs Tensors or R arrays of the same first size, in nested lists if needed, or `NULL`. Slices have the
#'   names along their other axes and the levels of factors.
#' @param length Number of repetitions if `xs` is `NULL`.
#' @param reverse Whether to go from the last slice to the first.
#' @param checkpoint Whether derivatives compute the body again instead of storing its intermediate values.
#' @param progress Whether to show a progress bar while the loop runs, see [anvil_progress()]. The program
#'   calls R for it a hundred times in a run, and cannot be exported then. The result is the same; a gradient
#'   may differ in its last digits, as its terms are added in another order.
#' @return `nv_if()` and `nv_switch()`: the result of the branch. `nv_while()` and `nv_for()`: the last state.
#'   `nv_scan()`: `list(carry = , ys = )`, the last state and the stacked results, whose first axis is that of
#'   `xs`.
#' @section Properties:
#' * Dtypes:
#'     * `nv_if()`: `pred`: booleans; values of the branches: any dtype.
#'     * `nv_while()` and `nv_scan()`: Any dtype.
#' * Accuracy: That of the ops in the functions given.
#' * Derivative:
#'     * `nv_if()` and `nv_scan()`: From the derivatives of the functions given.
#'     * `nv_while()`: None: how often the body runs is not known in advance; give `nv_while()` a bound with
#'       `max_steps`, or use `nv_scan()`, or `nv_for()` with a number of R for `n`.
#' @section Errors: `anvil_error_arg` for an argument of another kind, and for other names in what the body of
#' `nv_scan()` gives; `anvil_error_structure` if a body changes the structure, a type or the names of the
#' state, or branches differ in theirs: it names the part of the state and both. `anvil_error_index` when
#' `nv_switch()` runs with an index that no branch has. `anvil_error_grad` for the gradient of a loop whose
#' number of repetitions is not known in advance.
#' @references StableHLO specification, `if` and `while`.
#' @examples
#' x <- nv_scalar(3)
#' nv_if(x > 2, sqrt(x), x^2)
#'
#' # Newton's iteration for a square root
#' root <- jit(function(a) {
#'   nv_while(a, function(x) abs(x * x - a) > 1e-5 * a, function(x) (x + a / x) / 2)
#' })
#' root(nv_scalar(2))
#'
#' # With a bound it has a gradient.
#' steps <- function(a) nv_while(a, function(x) x * x > a, function(x) (x + a / x) / 2, max_steps = 20)
#' gradient(steps)(nv_scalar(4))
#'
#' nv_for(10L, nv_scalar(1L), function(i, state) state * i)
#' nv_for(1e5, nv_scalar(0), function(i, x) cos(x), progress = TRUE)
#' nv_switch(nv_scalar(2L), x, sqrt(x), x^2)
#'
#' # A state by its parts
#' nv_while(list(i = 0L, x = x), \(i, x) i < 5L, \(i, x) list(i = i + 1L, x = x / 2))
#'
#' # Exponential smoothing
#' smooth <- function(level, x) {
#'   level <- 0.8 * level + 0.2 * x
#'   list(carry = level, ys = level)
#' }
#' nv_scan(smooth, nv_scalar(0), nv_tensor(c(1, 2, 3, 4)))
#' @name control
NULL

#' @rdname control
#' @export
nv_if <- function(pred, true, false) {
  force(pred)
  frame <- parent.frame()
  code <- list(true = substitute(true), false = substitute(false))
  lapply(code, settle, frame)
  at_once(function() {
    pred <- check_pred(pred, "pred", "one boolean")
    results <- list()
    variables <- variables_apart(code, frame)
    branch <- function(which, expr, known = NULL) {
      trace_region(function() {
        value <- variables$run(which, function() branch_value(expr(), which, known))
        results[[which]] <<- list(value = value, types = value_types(value, "value"))
        value
      }, list(), "a branch of nv_if()")
    }
    yes <- branch("true", function() true)
    no <- branch("false", function() false)
    given <- lapply(results, `[[`, "value")
    # Numbers of R in one branch get the dtypes of the other.
    again <- function(which, other) {
      known <- known_dtypes(given[[which]], given[[other]])
      if (is.null(known)) return(NULL)
      if_it_fails(branch(which, branch_again(given[[which]], code[[which]], frame), known), NULL)
    }
    yes <- again("true", "false") %||% yes
    no <- again("false", "true") %||% no
    variables$end()
    check_same_types(
      results$true$types, results$false$types,
      "Branches of `nv_if()` must give the same structure and types.",
      function(yes, no) paste0(yes %||% "missing", " if true, ", no %||% "missing", " if false"),
      "Convert what one of them gives, such as with `nv_convert()`."
    )
    values <- lapply(results, function(branch) unlist_leaves(branch$value))
    made <- .Call(anvil_branch, value_of(pred), yes, no)
    restore(results$true$value, named_alike(made, values$true, values$false))
  })
}

#' @rdname control
#' @export
nv_switch <- function(index, ..., mode = "error") {
  check_dots(..., .values = TRUE)
  force(index)
  frame <- parent.frame()
  code <- substitute(...())
  lapply(code, settle, frame)
  if (!...length()) abort_arg("...", "at least one branch", "none")
  if (!identical(mode, "error") && !identical(mode, "clip")) {
    abort_arg("mode", "\"error\" or \"clip\"", describe(mode))
  }
  check_switch_index(index)
  branches <- lapply(seq_len(...length()), function(i) function() ...elt(i))
  at_once(function() {
    # A read at the index, which checks it.
    numbers <- nv_seq(1L, length(branches), dtype = "i32")
    chosen <- nv_subset(numbers, index, mode = mode)
    values <- list()
    variables <- variables_apart(code, frame)
    on.exit(variables$end())
    once <- lapply(seq_along(branches), function(i) function() {
      value <- variables$run(i, function() branch_value(branches[[i]](), paste("branch", i)))
      values[[paste(i)]] <<- list(value)
      value
    })
    tryCatch(switch_among(chosen, once, 1L)$value, anvil_error_structure = function(e) {
      # Those after the ones that differ.
      seen <- function(i) values[[paste(i)]] %||% {
        trace_region(once[[i]], list(), "a branch of nv_switch()")
        values[[paste(i)]]
      }
      given <- lapply(seq_along(branches), function(i) if_it_fails(seen(i), stop(e))[[1L]])
      known <- lapply(given, dtypes_among, given)
      if (!length(unlist_leaves(known))) stop(e)
      again <- lapply(seq_along(branches), function(i) {
        branch <- branch_again(given[[i]], code[[i]], frame)
        function() variables$run(i, function() branch_value(branch(), paste("branch", i), known[[i]]))
      })
      if_it_fails(switch_among(chosen, again, 1L)$value, stop(e))
    })
  })
}

check_switch_index <- function(index) {
  type <- if_it_fails(dtype(index), NULL)
  whole <- inherits(type, c("IntegerType", "UnsignedType")) || is_whole(index)
  if (!whole || length(shape(index))) {
    got <- if (inherits(index, "AnvilValue")) describe_leaf(index) else describe(index)
    abort_arg("index", "a 0-d integer, the number of a branch", got)
  }
}

# Branches in a tree of the least depth, the first with this number: list(value, types, first), the types
# being those of the branch `first`.
switch_among <- function(chosen, branches, first) {
  one <- function(branches, first) {
    force(first)
    made <- NULL
    graph <- trace_region(function() {
      if (length(branches) > 1L) {
        made <<- switch_among(chosen, branches, first)
      } else {
        value <- branches[[1L]]()
        made <<- list(value = value, types = value_types(value, "value"), first = first)
      }
      made$value
    }, list(), "a branch of nv_switch()")
    c(list(graph = graph), made)
  }
  count <- length(branches)
  half <- (count + 1L) %/% 2L
  yes <- one(branches[seq_len(half)], first)
  # A single branch is both: the index is checked all the same.
  no <- if (count > 1L) one(branches[-seq_len(half)], first + half) else one(branches, first)
  check_same_types(
    yes$types, no$types, "Branches of `nv_switch()` must give the same structure and types.",
    differing(paste("by branch", yes$first), paste("by branch", no$first)),
    "Convert what one of them gives, such as with `nv_convert()`."
  )
  below <- chosen < first + half
  made <- .Call(anvil_branch, value_of(below), yes$graph, no$graph)
  value <- restore(yes$value, named_alike(made, unlist_leaves(yes$value), unlist_leaves(no$value)))
  list(value = value, types = yes$types, first = yes$first)
}

#' @rdname control
#' @export
nv_while <- function(init, cond, body, max_steps = NULL) {
  of_cond <- state_arguments(cond, "cond", init)
  of_body <- state_arguments(body, "body", init)
  counts <- !is.null(max_steps)
  if (counts) check_count(max_steps, "max_steps")
  settle_function(cond)
  settle_function(body)
  at_once(function() {
    start <- if (counts) nv_scalar(0L, dtype = "i32")
    # With a bound, the state begins with the number of steps so far.
    region <- function(f, args, name, again, finish) {
      step <- NULL
      prepare <- function(args, input) {
        if (counts) step <<- input(start)
        lapply(args, input)
      }
      noting_draws(name, again = !again, {
        trace_with(f, args, name, nested = TRUE, prepare = prepare, finish = function(out) finish(out, step))
      })
    }
    traced <- trace_from(state_of(init), function(init, note, again) {
      test <- region(cond, of_cond(init), "the condition of nv_while()", again, function(out, step) {
        out <- check_pred(out, "cond", "a function that gives one boolean", "one that gives ")
        if (counts) step < as.integer(max_steps) & out else out
      })
      next_state <- region(body, of_body(init), "the body of nv_while()", again, function(out, step) {
        note(check_given(out, "body"))
        if (counts) list(step + 1L, out) else out
      })
      list(test, next_state)
    })
    leaves <- c(if (counts) list(start), unlist_leaves(traced$init))
    bound <- if (counts) as.integer(max_steps)
    made <- .Call(anvil_repeat, traced$made[[1L]], traced$made[[2L]], leaves, bound)
    keep_names(traced$init, traced$after, if (counts) made[-1L] else made)
  })
}

#' @rdname control
#' @export
nv_for <- function(n, init, body, checkpoint = FALSE, progress = FALSE) {
  of_body <- state_arguments(body, "body", init, c("i", "state"))
  settle_function(body)
  check_flag("progress", progress)
  if (inherits(n, "AnvilValue")) {
    check_flag("checkpoint", checkpoint)
    return(repeat_traced(n, init, body, of_body, progress))
  }
  check_count(n, "n")
  step <- function(state, i) call_function(body, of_body(state, i))
  if (progress && n > 0) return(for_with_bar(n, init, step, checkpoint))
  for_each(n, init, step, checkpoint)
}

# The state after `step(state, i)` for each i up to n.
for_each <- function(n, init, step, checkpoint) {
  numbers <- if (n > 0) nv_seq(1L, n, dtype = "i32") else nv_empty("i32", 0L)
  scan_along(
    function(state, i) list(step(state, i), NULL), list, init, numbers, n, FALSE, checkpoint, "body"
  )$carry
}

# A loop whose number of repetitions is a tensor: one with a condition.
repeat_traced <- function(n, init, body, of_body, progress) {
  if (!as.character(dtype(n)) %in% c("i32", "i64") || length(shape(n))) {
    abort_arg("n", "a whole number, or a 0-d tensor of dtype i32 or i64", describe_leaf(n))
  }
  one <- function(done, state) {
    i <- done + 1L
    list(i, check_given(call_function(body, of_body(state, i)), "body"))
  }
  at_once(function() {
    start <- nv_scalar(0L, dtype = dtype(n))
    if (progress) return(count_with_bar(start, state_of(init), n, one))
    count_to(n, start, state_of(init), one)[[2L]]
  })
}

# Repeats `step` of a count and a state, which gives both, until the count is `limit`.
count_to <- function(limit, count, state, step) {
  list(limit, count) # evaluated here, around the loop, as trace_from() does the state
  traced <- trace_from(state, function(state, note, again) {
    test <- trace_region(
      function(count, state) count < limit, list(count, state), "the condition of nv_for()"
    )
    body <- trace_body(step, list(count, state), "the body of nv_for()", again, function(out) {
      note(out[[2L]])
      out
    })
    list(test, body)
  })
  leaves <- c(list(count), unlist_leaves(traced$init))
  made <- .Call(anvil_repeat, traced$made[[1L]], traced$made[[2L]], leaves, NULL)
  list(made[[1L]], keep_names(traced$init, traced$after, made[-1L]))
}

#' @rdname control
#' @export
nv_scan <- function(f, init, xs = NULL, length = NULL, reverse = FALSE, checkpoint = FALSE) {
  of_f <- state_arguments(f, "f", init, c("state", "x"), may_leave_out = !base::length(unlist_leaves(xs)))
  # `length()` would be the argument, if that is a function.
  sizes <- vapply(unlist_leaves(xs), function(x) {
    is_value <- inherits(x, "AnvilValue")
    sizes <- if (is_value) shape(x) else if (!is.object(x)) dim(as_operand(x))
    if (!base::length(sizes)) {
      abort_arg(
        "xs", "tensors of at least one axis, or a list of these",
        if (is_value) "a 0-d tensor" else describe(x)
      )
    }
    sizes[1L]
  }, 0L)
  if (base::length(unique(sizes)) > 1L) {
    abort_arg(
      "xs", "tensors of the same first size", paste("sizes", paste(unique(sizes), collapse = " and "))
    )
  }
  if (!is.null(length)) check_count(length, "length")
  if (!base::length(sizes) && is.null(length)) abort_arg("length", "given if `xs` has no tensors", "left out")
  if (base::length(sizes) && !is.null(length) && length != sizes[1L]) {
    abort_arg("length", paste("the first size of `xs`,", sizes[1L]), describe(length))
  }
  scan_along(f, of_f, init, xs, if (base::length(sizes)) sizes[1L] else length, reverse, checkpoint)
}

# `given` makes the arguments of f from the state and the slice; `arg` is what the user calls the function.
scan_along <- function(f, given, init, xs, length, reverse, checkpoint, arg = "f") {
  check_flag("reverse", reverse)
  check_flag("checkpoint", checkpoint)
  force(init)
  settle_function(f)
  at_once(function() {
    slices <- map_leaves(xs, slice_type)
    xs <- map_leaves(xs, value_of)
    ys <- NULL
    traced <- trace_from(state_of(init), function(init, note, again) {
      trace_body(f, given(init, slices), "the body of a loop", again, function(out) {
        out <- carry_and_ys(out)
        note(check_given(out[[1L]], arg))
        ys <<- check_given(out[[2L]], arg)
        out
      })
    })
    leaves <- unlist_leaves(traced$init)
    options <- as.integer(c(length, reverse, checkpoint))
    made <- .Call(anvil_scan, traced$made, leaves, unlist_leaves(xs), options)
    stacked <- seq_along(made) > base::length(leaves)
    carry <- keep_names(traced$init, traced$after, made[!stacked])
    list(carry = carry, ys = restore(ys, Map(with_names_below, made[stacked], unlist_leaves(ys))))
  })
}

# What the body of a scan gives, the state first.
carry_and_ys <- function(out) {
  expected <- "a function that gives `list(carry = , ys = )`, or `list(state, y)` without names"
  if (!is.list(out) || is.object(out) || length(out) != 2L) {
    abort_arg("f", expected, paste("one that gives", describe(out)))
  }
  names <- names(out)
  if (is.null(names) || all(names %in% "")) return(out)
  if (identical(names, c("carry", "ys"))) return(out)
  if (identical(names, c("ys", "carry"))) return(out[2:1])
  shown <- ifelse(names %in% c("", NA), "none", paste0("`", names, "`"))
  abort_arg("f", expected, paste("one with the names", paste(shown, collapse = " and ")))
}

# ---- regions ----

# Traces f as a part of the open trace, on tracers with the types of the leaves of `args`.
trace_region <- function(f, args, name, finish = identity) {
  prepare <- function(args, input) lapply(args, function(arg) with_labels_of(input(arg), arg))
  trace_with(f, args, name, nested = TRUE, finish = finish, prepare = prepare)
}

# A state whose R numbers are tensors of their ambiguous types.
state_of <- function(x) {
  if (!length(unlist_leaves(x))) {
    abort_arg("init", "a state with at least one tensor or R number", describe(x))
  }
  map_leaves(check_leaves(x, "init"), function(leaf) value_of(missing_as_double(leaf)))
}

# All leaves are values or R numbers, where `arg` gives them.
check_leaves <- function(x, arg) {
  map_leaves(x, function(leaf) {
    if (!is_operand(leaf)) abort_arg(arg, "tensors or R numbers, or lists of these", describe(leaf))
  })
  x
}

# The same of what a function of the user's gives.
check_given <- function(x, arg = "f") {
  map_leaves(x, function(leaf) {
    if (is_operand(leaf)) return()
    abort_arg(
      arg, "a function that gives tensors or R numbers, or lists of these",
      paste("one that gives", describe(leaf))
    )
  })
  x
}

is_operand <- function(x) {
  inherits(x, "AnvilValue") || !is_own_object(x) && (is.numeric(x) || is.logical(x) || is.complex(x))
}

# Whether an object is of a class that says more of its elements than that they are numbers, as a time series.
is_own_object <- function(x) is.object(x) && .Call(anvil_is_own_object, x)

# An R number as a value; a value as it is.
value_of <- function(x) if (inherits(x, "AnvilTensor")) x else .External(anvil_op, "identity", x)

# Types of the leaves by path, without the ambiguity flag, which may change.
value_types <- function(x, name) {
  found <- .Call(anvil_paths, x, name)
  types <- vapply(found[[1L]], describe_leaf, "")
  types <- setNames(sub("^R's ", "", sub("?", "", types, fixed = TRUE)), found[[2L]])
  # What the objects are whose parts these are.
  if (length(found[[3L]])) attr(types, "objects") <- setNames(found[[3L]], found[[4L]])
  types
}

# Types by path, and the objects among the paths as texts; one that differs from that of `others` in its
# static part only says so.
with_objects <- function(types, others = NULL) {
  objects <- attr(types, "objects")
  shown <- vapply(names(objects), function(path) {
    kind <- objects[[path]]
    other <- others[[path]]
    changed <- identical(kind[[1L]], other[[1L]]) && !identical(kind, other)
    paste0("an object of class <", kind[[1L]][1L], ">", if (changed) " with another static part")
  }, "")
  c(shown, types)
}

# Checks that types by path are equal; the error shows those that differ, as `side_by_side` formats them.
check_same_types <- function(before, after, rule, side_by_side, hint) {
  if (identical(before, after)) return()
  after <- with_objects(after, attr(before, "objects"))
  before <- with_objects(before)
  # By position if the paths are the same: names may occur twice.
  same_paths <- identical(names(before), names(after))
  paths <- if (same_paths) names(before) else union(names(before), names(after))
  by_path <- function(types) {
    if (same_paths) return(as.list(unname(types)))
    lapply(paths, function(path) if (path %in% names(types)) types[[path]])
  }
  was <- by_path(before)
  is <- by_path(after)
  differs <- !as.logical(mapply(identical, was, is))
  paths <- paths[differs]
  shown <- mapply(side_by_side, was[differs], is[differs])
  shown <- paste0(paths, ": ", shown, recycle0 = TRUE)
  if (!length(shown)) {
    shown <- paste0("The order ", toString(names(before)), " became ", toString(names(after)))
  }
  if (length(shown) > 5L) shown <- c(shown[1:5], paste("and", length(shown) - 5L, "more"))
  message <- paste(c(rule, paste("x", shown), paste("i", hint)), collapse = "\n")
  abort("anvil_error_structure", message, path = paths, before = before, after = after)
}

# A condition as a 0-d boolean: one of one element is a number for R, whatever its axes are.
check_pred <- function(x, name, expected, got = "") {
  if (is_selection(x)) abort_arg(name, expected, paste0(got, describe(x)), advice_on_selections)
  if (is.logical(x) && !is.object(x) && length(x) == 1L) x <- as.vector(x)
  type <- if_it_fails(value_types(x, ""), NULL)
  if (inherits(x, "AnvilValue") && isTRUE(startsWith(type %||% "", "i1[")) && length(x) == 1L) {
    return(nv_reshape(x, integer()))
  }
  is_flag <- identical(unname(type), "i1[]") && (is.object(x) || !(is.logical(x) && is.na(x)))
  is_known <- inherits(x, "AnvilValue") && !is.null(type)
  if (!is_flag) abort_arg(name, expected, paste0(got, if (is_known) type else describe(x)))
  x
}

# A function that can be called with the arguments `takes`, if these are given.
check_function <- function(f, name, takes = NULL) {
  match_function(f, name)
  formals <- names(formals_of(f))
  if (is.null(takes) || "..." %in% formals) return()
  order <- by_order(f, length(takes))
  if (order$enough && !order$left_out) return()
  expected <- paste0("a function of ", paste0("`", takes, "`", collapse = " and "))
  got <- if (length(formals)) paste0("`", formals, "`", collapse = ", ") else "nothing"
  hint <- if (length(formals) > length(takes)) {
    "The state is one argument, as it was given: use `state$name` or `state[[1]]`, or name all of its parts."
  }
  abort_arg(name, expected, paste("one of", got), hint)
}

# Whether a function takes `n` positional arguments, how many it takes, and how many others it requires.
by_order <- function(f, n) {
  formals <- formals_of(f)
  dots <- names(formals) == "..."
  # Formals after `...` are not matched by position.
  before <- if (any(dots)) which(dots) - 1L else length(formals)
  needed <- vapply(formals, identical, NA, quote(expr = ))
  list(
    enough = any(dots) || before >= n, before = before,
    left_out = sum(needed & !dots & seq_along(formals) > min(n, before))
  )
}

# A number of repetitions.
check_count <- function(n, name, hint = NULL) {
  if (!is_whole(n) || n < 0) abort_arg(name, "a whole number, not negative", describe(n), hint)
  if (n > .Machine$integer.max) abort_arg(name, paste("at most", .Machine$integer.max), describe(n), hint)
}

#' Print a value while a program runs
#'
#' Inside of [jit()], `print()` shows a tracer once, while the function is traced. `nv_print()` is an op: it
#' shows the elements whenever the program comes to it, in each repetition of a loop and in the branch that is
#' taken, in the order of the program; also if nothing uses its result, and elements that the trace knows.
#'
#' Under [vmap()] it shows the values of all examples as one tensor. Where a predicate differs between
#' examples, both branches run, and a loop runs until all examples are done: then it also shows what is
#' computed for examples that do not take the branch, or that are done, though no result contains it.
#'
#' @param operand A tensor, a traced value, or an R number, logical or array.
#' @param label A string that is shown before the value.
#' @return The operand as a tensor, invisibly. It prints even if the program does not use the result.
#' @section Properties:
#' * Dtypes: Any dtype.
#' * Accuracy: Results are exact.
#' * Derivative: Differentiable, linear in `operand`.
#' @section Errors:
#' `anvil_error_arg` for an argument of another type. An error of R while printing ends the program.
#' @seealso [nv_callback()], which calls a function of yours.
#' @examples
#' halve <- jit(function(x) nv_while(x, function(x) x > 1, function(x) nv_print(x / 2, "x:")))
#' halve(nv_scalar(5))
#' @export
nv_print <- function(operand, label = "") {
  if (!is.character(label) || length(label) != 1L || is.na(label)) {
    abort_arg("label", "a string", describe(label))
  }
  # In a trace a value that is known prints when the program runs, not now.
  if (.Call(anvil_trace_depth) > 0L) operand <- .Call(anvil_trace_lift, operand, NULL)
  invisible(.External(anvil_op, "print", operand, label = label))
}

# Called by Rust, with list(label, tensor).
print_running <- function(x) {
  if (nzchar(x[[1L]])) cat(x[[1L]], "\n", sep = "")
  print(x[[2L]], header = FALSE)
  invisible()
}
