#' Export a program as StableHLO
#'
#' `stablehlo()` traces a function and gives its program as StableHLO, the text that XLA, IREE and other
#' compilers read, so that it runs without R and anvil. `nv_write_stablehlo()`
#' writes the program, the tensors that it captured, and its inputs if wanted.
#'
#' The program is that of [jit()] after simplification: derivatives, loops and random numbers are part of it,
#' and the random numbers have the same bits elsewhere. Values are passed in the order of `inputs`, the leaves
#' of all arguments. An R number is an input of the dtype in which [jit()] passes it: `f64` for a double,
#' `i32` for an integer; the program converts it where it meets a known dtype. Give `nv_scalar(x, "f32")` for
#' an input of type `f32`, or name the argument in `static = ` of [jit()] to have its value in the program.
#'
#' Ambiguous floats are computed in double precision, as in [jit()]. For a target that has no `f64`, or
#' computes slowly in it, `ambiguous = "f32"` exports a program that has them as `f32`, and ambiguous complex
#' numbers as `c64`: what is known to be `f64` stays so, and results differ by rounding from those of [jit()].
#'
#' Tensors that `f` finds outside of its arguments are constants. Those of up to `inline_limit` elements, and
#' those whose elements are all the same, are part of the text, exact to the last bit. Larger ones become
#' arguments after the inputs.
#'
#' Where several updates of [nv_scatter()] meet in one element, anvil takes them in R's order. StableHLO
#' leaves the order open, and with it the result, unless the update is a sum, a product, a minimum or a
#' maximum: XLA takes them one after the other on CPUs, and in any order on GPUs. An update by a function that
#' has a loop, or captures tensors, becomes a loop over all updates: it keeps R's order everywhere, and is
#' slow for many updates.
#'
#' Exported programs check no index: one that is out of range, an error in R (see [nv_subset()]), reads the
#' nearest element there and writes nothing, except that [nv_dynamic_update_slice()] moves its window.
#' The modes `"clip"` and `"drop"` mean the same there as here.
#'
#' StableHLO has no LU, QR, eigenvalue or singular value decomposition, and few special functions: programs
#' have them as algorithms of its operations, with loops. Their results agree with those here within the
#' accuracy of the functions, but for the signs (or complex phases) of eigenvectors and singular vectors,
#' which no decomposition determines. The method of Jacobi, for the latter two, is slow for matrices of more
#' than a few hundred rows. A program that has such functions is derived here, before it is exported; other
#' systems that derive its text derive the algorithms.
#'
#' [nv_print()] and [nv_callback()] cannot be exported: it is an error. Side effects of `f` while it is
#' traced are not part of any program.
#'
#' @section Several devices: `sharding` shards inputs along an axis, mostly the batch, over a mesh of devices:
#' `list(mesh = c(batch = 8L), axes = c(x = 1L, y = 1L))` is for 8 devices, which share the rows of the
#' arguments `x` and `y`; all other inputs are replicated. XLA propagates the sharding to all
#' other values, and inserts the communication. Names in `axes` are arguments, or paths into them as in
#' [gradient()], such as `"data$x"`; a path to a list stands for all that is in it.
#'
#' @section Running a program: `system.file("python", "run_stablehlo.py", package = "anvil")` is a script that
#' needs Python and JAX only. It compiles a program for the device that JAX finds, runs it on `.npy` files and
#' writes its results as such: `python run_stablehlo.py model.mlir --inputs x.npy y.npy --outputs out`. See
#' `vignette("scale-out")`.
#'
#' @param f A function of tensors. `static`, `donate` and `rules` of a jitted function hold here, too; an
#'   argument that was donated says so in the text, so that XLA uses its memory for a result.
#' @param ... Arguments of `f`: tensors, R numbers, logicals and arrays, whose values play no role,
#'   [nv_abstract()] for tensors that need not exist, and lists of these. Anything else, such as a string or a
#'   function, is passed to `f` as it is.
#' @param sharding `NULL` for one device, or `list(mesh = , axes = )`: the number of devices with the name of
#'   the mesh's axis, and the axes that are sharded, from 1 or negative from the end, with the arguments'
#'   names.
#' @param inline_limit Captured tensors of more elements become arguments of the program.
#' @param target What the program is for: `"cpu"`, `"gpu"` or `"tpu"`. A dtype that it does not have is an
#'   error then: `c128` on TPUs. `NULL` allows all.
#' @param ambiguous The dtype that ambiguous floats are computed in, see [common_dtype()]: `"f64"` as here, or
#'   `"f32"`.
#' @param x A program, from `stablehlo()`.
#' @param path Path of the text, such as `"model.mlir"`. Constants go to `model.constants/1.npy` and so on
#'   beside it.
#' @param inputs `NULL`, or a list of the arguments of `f` by their names: their tensors and numbers are
#'   written, too, to `model.inputs/1.npy` and so on, in the order of `x$inputs`.
#' @return `stablehlo()`: an object of class `AnvilStablehlo`, a list of `text`; `inputs` and `outputs`, the
#'   types of both as texts, such as `f32[2, 3]`, with the places in arguments and result as names, such as
#'   `params$w`; and `constants`, a list of the tensors that became arguments. Printed, and as
#'   `as.character()`, it is the text.
#'
#'   `nv_write_stablehlo()`: the paths of the files that it wrote, invisibly, that of the text first.
#' @section Errors: `anvil_error_export` for a program that cannot be exported, with the op that is the
#' reason. `anvil_error_shape` if the number of devices does not divide an axis, `anvil_error_axis` for an
#' axis that an input does not have, `anvil_error_dtype` for a dtype that `target` does not have.
#' `anvil_error_file`, with the fields `path` and `reason`, if a file cannot be written. `anvil_error_arg` for
#' arguments that are not as above; and whatever `f` raises while it is traced.
#' @references The StableHLO specification. Shardy, for the annotations of `sharding`. That TPUs have no
#'   `c128` is from JAX's issue 19769 ("Element type C128 is not supported on TPU").
#' @seealso [trace_fn()] and [graph_text()] for anvil's own notation, [nv_write_npy()] for the files.
#' @examples
#' f <- jit(function(x, w) tanh(x %*% w), donate = "x")
#' program <- stablehlo(f, nv_abstract("f32", c(4, 3)), nv_abstract("f32", c(3, 3)))
#' program
#' program$inputs
#'
#' path <- file.path(tempdir(), "model.mlir")
#' nv_write_stablehlo(program, path, inputs = list(x = nv_fill(1, c(4, 3)), w = nv_fill(0.1, c(3, 3))))
#'
#' # Each of two devices has half of the rows.
#' loss <- function(w, x, y) mean((x %*% w - y)^2)
#' w <- nv_abstract("f32", c(3, 1))
#' x <- nv_abstract("f32", c(4, 3))
#' y <- nv_abstract("f32", c(4, 1))
#' sharding <- list(mesh = c(batch = 2), axes = c(x = 1, y = 1))
#' stablehlo(gradient(loss, "w"), w, x, y, sharding = sharding)
#' @export
stablehlo <- function(
  f, ..., sharding = NULL, inline_limit = 64L, target = NULL, ambiguous = c("f64", "f32")
) {
  f <- match_function(f)
  ambiguous <- check_choice("ambiguous", ambiguous, c("f64", "f32"))
  if (
    !is.null(target) && !(is.character(target) && length(target) == 1L && target %in% c("cpu", "gpu", "tpu"))
  ) {
    abort_arg("target", "\"cpu\", \"gpu\", \"tpu\" or NULL", describe(target))
  }
  if (!is_whole(inline_limit) || inline_limit < 0) {
    abort_arg("inline_limit", "a whole number, at least 0", describe(inline_limit))
  }
  sharding <- check_sharding(sharding)
  example <- trace_example(f, list_dots(...), "stablehlo()", "Export the function outside of `jit()`.")
  split <- split_inputs(sharding, example$args, example$leaves)
  mesh <- if (!is.null(sharding)) list(names(sharding$mesh), as.integer(sharding$mesh))
  limits <- list(as.double(inline_limit), ambiguous == "f32")
  out <- .Call(anvil_stablehlo, example$graph, example$donated, mesh, split, limits)
  inputs <- setNames(out[[3L]], leaf_paths(setNames(example$args, names(example$leaves))))
  outputs <- setNames(out[[4L]], leaf_paths(list(result = out[[5L]])))
  x <- structure(
    list(text = "", inputs = inputs, outputs = outputs, constants = out[[2L]]), class = "AnvilStablehlo"
  )
  x$text <- paste0(legend(x), out[[1L]])
  if (identical(target, "tpu")) check_tpu(x)
  x
}

# Calls `see(leaf, place)` for what is in a list, or is none.
each_place <- function(x, place, see) {
  found <- .Call(anvil_paths, x, place)
  for (i in which(!vapply(found[[1L]], is_empty_list, NA))) see(found[[1L]][[i]], found[[2L]][i])
}

# What is traced: values, abstract ones, R numbers and arrays. The shape of a vector of several numbers is not
# known.
check_data <- function(x, place) {
  each_place(x, place, function(x, place) {
    if (is.null(x) || inherits(x, "AnvilAbstract")) return()
    if (is_operand(x) || is.factor(x)) return()
    abort_arg(place, "a tensor, an R number, logical, vector or array, or a list of these", describe(x))
  })
}

# Places of the leaves of a list of arguments, as texts.
leaf_paths <- function(args) {
  found <- unlist(Map(describe_leaves, args, names(args), USE.NAMES = FALSE))
  as.character(names(found))[!found %in% c("NULL", "list()", "text")]
}

# Comments before the text: what the arguments are.
legend <- function(x) {
  part <- function(what, names, types) {
    paste0(
      "// ", what, " ", seq_along(types), ": ", encodeString(paste0(names, types)), "\n", recycle0 = TRUE
    )
  }
  named <- function(types) if (length(types)) paste0(names(types), ", ") else character()
  constants <- vapply(x$constants, describe_leaves, "", "")
  lines <- c(
    part("input", named(x$inputs), x$inputs), part("constant", rep("", length(constants)), constants),
    part("output", named(x$outputs), x$outputs)
  )
  paste(lines, collapse = "")
}

check_tpu <- function(x) {
  if (!grepl("complex<f64>", x$text, fixed = TRUE)) return()
  at <- names(x$inputs)[startsWith(x$inputs, "c128")]
  abort(
    "anvil_error_dtype",
    paste0(
      "The program computes in c128, which TPUs do not have.\nx ",
      if (length(at)) {
        paste0("Input `", at[1L], "` is ", x$inputs[[at[1L]]])
      } else {
        "No input is, but a value inside"
      },
      ".\n", "i Use c64: convert with `nv_convert()`, or give `nv_abstract(\"c64\", ...)`; ambiguous ",
      "numbers are c64 with `ambiguous = \"f32\"`."
    ),
    target = "tpu", got = "c128"
  )
}

# ---- sharding ----

check_sharding <- function(sharding) {
  if (is.null(sharding)) return(NULL)
  refuse <- function(expected, got) {
    abort_arg("sharding", expected, got, "As in `list(mesh = c(batch = 8L), axes = c(x = 1L))`.")
  }
  parts <- c("mesh", "axes")
  if (
    !is.list(sharding) || is.object(sharding) || !setequal(names(sharding), parts) || length(sharding) != 2L
  ) {
    refuse("a list of `mesh` and `axes`", describe(sharding))
  }
  whole <- function(x) {
    is.numeric(x) && !is.object(x) && all(is.finite(x)) && all(x == round(x) & x != 0 & abs(x) < 2^31)
  }
  named <- function(x) length(names(x)) == length(x) && all(nzchar(names(x))) && !anyNA(names(x))
  mesh <- sharding$mesh
  if (!whole(mesh) || length(mesh) != 1L || mesh < 1 || !named(mesh)) {
    refuse("a list whose `mesh` is one named number of devices", describe(mesh))
  }
  axes <- sharding$axes
  if (!length(axes)) return(list(mesh = mesh, axes = integer()))
  if (!whole(axes) || !named(axes) || anyDuplicated(names(axes))) {
    expected <- "a list whose `axes` count from 1 or from the end (negative), with the names of arguments"
    refuse(expected, describe(axes))
  }
  list(mesh = mesh, axes = axes)
}

# For each input, the axis that is cut, 0 for none. `leaves` are the arguments that are data, with the
# numbers of inputs in place of their leaves.
split_inputs <- function(sharding, args, leaves) {
  data <- unlist_leaves(args)
  split <- integer(length(data))
  axes <- sharding$axes
  devices <- sharding$mesh
  for (name in names(axes)) {
    path <- parse_path_of(name)
    if (is.null(path) || !path[[1L]] %in% names(leaves)) {
      known <- names(leaves)[nzchar(names(leaves))]
      abort_arg(
        "sharding", paste0("about arguments that are data (", paste(known, collapse = ", "), ")"),
        describe(name)
      )
    }
    for (i in unlist(pluck(leaves, path, "sharding"))) {
      size <- shape(data[[i]])
      axis <- axes[[name]]
      if (axis < 0 && axis >= -length(size)) axis <- length(size) + 1 + axis
      if (axis < 0 || axis > length(size)) {
        abort(
          "anvil_error_axis",
          paste0(
            "`sharding` cuts axis ", axis, " of `", name, "`, which has shape ", format_shape(size), ".\n",
            "i Choose one of its axes, or leave it out to replicate it on each device."
          ),
          arg = "sharding", axis = axis, shape = size, rank = length(size)
        )
      }
      if (size[axis] %% devices != 0) {
        divisors <- Filter(function(n) size[axis] %% n == 0, seq_len(min(size[axis], devices)))
        abort(
          "anvil_error_shape",
          paste0(
            devices, " devices cannot share axis ", axis, " of `", name, "` equally.\nx Its size is ",
            size[axis], ".\n", "i Use a mesh of ", one_of(tail(divisors, 3L)), ", or a size of ",
            devices * max(1, round(size[axis] / devices)), "."
          ),
          arg = "sharding", axis = axis, size = size[axis], devices = as.integer(devices)
        )
      }
      split[i] <- as.integer(axis)
    }
  }
  split
}

# "1, 2 or 4"
one_of <- function(x) {
  n <- length(x)
  if (n == 1L) as.character(x) else paste(paste(x[-n], collapse = ", "), "or", x[n])
}

# ---- methods ----

# The text of a program, whose parts are as they were made.
text_of <- function(x) {
  parts <- if (inherits(x, "AnvilStablehlo") && is.list(x)) unclass(x)
  whole <- is.character(parts$text) && length(parts$text) == 1L && is.list(parts$constants) &&
    is.character(parts$inputs) && all(vapply(parts$constants, inherits, NA, "AnvilTensor"))
  if (!whole) abort_arg("x", "a program, from `stablehlo()`", describe(x))
  parts$text
}

#' @rdname stablehlo
#' @export
format.AnvilStablehlo <- function(x, ...) {
  check_dots(..., .known = taken_by("format"))
  text_of(x)
}

#' @rdname stablehlo
#' @export
as.character.AnvilStablehlo <- function(x, ...) {
  check_dots(...)
  text_of(x)
}

#' @rdname stablehlo
#' @export
print.AnvilStablehlo <- function(x, ...) {
  check_dots(..., .known = taken_by("print"))
  cat(text_of(x))
  if (length(x$constants)) {
    bytes_in <- function(constant) prod(shape(constant)) * bytes_of(as.character(dtype(constant)))
    bytes <- sum(vapply(x$constants, bytes_in, 0))
    one <- length(x$constants) == 1L
    cat(sprintf(
      "// %d captured %s (%.0f bytes): nv_write_stablehlo() writes %s beside the text\n",
      length(x$constants), if (one) "tensor is an argument" else "tensors are arguments", bytes,
      if (one) "it" else "them"
    ))
  }
  invisible(x)
}

# ---- files ----

#' @rdname stablehlo
#' @export
nv_write_stablehlo <- function(x, path, inputs = NULL) {
  text_of(x)
  path <- check_path(path)
  values <- if (!is.null(inputs)) input_values(x, inputs)
  target <- writable_target(path)
  base <- if (grepl("\\.[^./]*$", path)) sub("\\.[^./]*$", "", path) else path
  folders <- paste0(base, c(".constants", ".inputs"))
  targets <- vapply(folders, numbered_target, "")
  # All of it is written before anything takes its place.
  parts <- vapply(c(target, targets), part_of, "")
  on.exit(unlink(parts, recursive = TRUE))
  fill_part(parts[1L], path, function(con) writeBin(charToRaw(x$text), con))
  written <- Map(write_numbered, list(x$constants, values), parts[-1L], folders)
  # The text comes last: if it is there, so is what belongs to it. Folders of a program that was here before
  # go.
  for (i in 1:2) replace_folder(if (length(written[[i]])) parts[i + 1L], targets[i])
  replace_file(parts[1L], target)
  invisible(c(path, unlist(written, use.names = FALSE)))
}

# The inputs of a program out of a list of arguments by name, checked.
input_values <- function(x, inputs) {
  if (!is.list(inputs) || is.object(inputs)) {
    abort_arg("inputs", "a list of arguments by name", describe(inputs))
  }
  # Static arguments may be anything.
  data <- inputs[names(inputs) %in% sub("(\\$|\\[\\[).*", "", names(x$inputs))]
  # Types and texts are no values.
  each_place(data, "inputs", function(x, place) if (!is.null(x)) written(x, place))
  leaves <- unlist_leaves(data)
  names(leaves) <- leaf_paths(data)
  lacking <- setdiff(names(x$inputs), names(leaves))
  if (length(lacking)) {
    all <- paste(names(x$inputs), collapse = ", ")
    abort_arg(
      "inputs", paste0("a list with all arguments by name (", all, ")"),
      paste0("one without `", lacking[1L], "`")
    )
  }
  Map(function(name, type) {
    value <- written(leaves[[name]], paste0("inputs$", name))
    got <- sub("?", "", describe_leaves(value, ""), fixed = TRUE)
    if (got != type) {
      given <- if (inherits(leaves[[name]], "AnvilTensor")) "nv_convert(x, \"" else "nv_tensor(x, dtype = \""
      same_shape <- sub("^[^[]*", "", got) == sub("^[^[]*", "", type)
      hint <- if (same_shape) {
        paste0("Convert it: `", given, sub("\\[.*", "", type), "\")`.")
      } else {
        "That is what the program takes."
      }
      abort_arg(paste0("inputs$", name), paste("of type", type), unname(got), hint)
    }
    value
  }, names(x$inputs), x$inputs)
}

# The folder that one of numbered files is written to.
numbered_target <- function(folder) {
  target <- writable_target(folder, folder = TRUE)
  if (!all(grepl("^[0-9]+\\.npy$", list.files(target, all.files = TRUE, no.. = TRUE)))) {
    abort_file(
      "write", folder, "it exists and holds other files",
      "Choose another name for the program, or move them."
    )
  }
  target
}

# Writes tensors as 1.npy, 2.npy and so on in a new folder, if there are any. Gives the paths that they will
# have in `folder`.
write_numbered <- function(tensors, part, folder) {
  if (!length(tensors)) return(character())
  make_folder(part, folder)
  names <- paste0(seq_along(tensors), ".npy")
  for (i in seq_along(tensors)) {
    fill_part(file.path(part, names[i]), folder, function(con) write_npy(tensors[[i]], con))
  }
  file.path(folder, names)
}
