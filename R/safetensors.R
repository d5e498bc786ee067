#' Save and load tensors
#'
#' `nv_save()` writes a tensor, or a nested list of tensors, as one `.safetensors` file; `nv_load()` reads it
#' back. The format is Hugging Face's: Python's `safetensors` package reads these files and writes such that
#' are read here. `nv_serialize()` and `nv_unserialize()` are the same with a raw vector in place of a file.
#'
#' Each tensor has a name in the file, the way to it in the list: `layers.2.w` for `x$layers[[2]]$w`. A file
#' that `nv_save()` wrote gives the same nested list, with the dtypes and ambiguities as they were, which
#' stand as JSON in the entry `anvil` of the file's metadata. Any other file gives a list by the names in it.
#' Names of a tensor's elements, `names()` and `dimnames()`, are not stored; `saveRDS()` keeps them.
#'
#' With `names`, only these tensors are read: of a file of any size, its header and their bytes.
#'
#' Elements are stored in row-major order, as the format has them: a tensor of several axes is transposed on
#' the way. The format has all dtypes but `c128`, which is stored as `f64` with a last axis of real and
#' imaginary parts, as `torch.view_as_real()` has it.
#'
#' @param x A tensor, or a nested list of tensors and R numbers, logicals and arrays; for `nv_unserialize()` a
#'   raw vector. R values are written as R holds them, see [nv_write_npy()]. `NULL` in a list stays; nothing
#'   else can be written.
#' @param path Path of the file. It is written whole or not at all, see [nv_write_npy()].
#' @param names Names of tensors in the file, which are read; `NULL` is all.
#' @return `nv_save()`: `path`, invisibly. `nv_serialize()`: a raw vector. `nv_load()` and `nv_unserialize()`:
#'   what was saved; with `names`, a list of the tensors with these names.
#' @section Errors: `anvil_error_file`, with the fields `path` and `reason`, for a file that cannot be read or
#' written, is cut, or does not hold what its header says; for a raw vector `anvil_error_arg`.
#' `anvil_error_dtype` for tensors that are asked for and have a dtype that anvil lacks (8 bits and less).
#' `anvil_error_arg` for an `x` that holds something else than tensors, and for `names` that are not in the
#' file. Nothing is returned in part.
#' @references The format: <https://github.com/huggingface/safetensors>.
#' @seealso [nv_write_npy()] and [nv_write_npz()] for NumPy's formats; `saveRDS()` for objects of R with
#'   tensors in them.
#' @examples
#' params <- list(w = nv_tensor(matrix(1:6, 2)), layers = list(nv_scalar(1), nv_scalar(2)))
#' path <- tempfile(fileext = ".safetensors")
#' nv_save(params, path)
#' str(nv_load(path))
#' nv_load(path, names = "layers.2")
#' identical(nv_unserialize(nv_serialize(params)), params)
#' @export
nv_save <- function(x, path) {
  path <- check_path(path)
  saved <- saved_parts(x)
  write_whole(path, function(con) write_safetensors(saved, con))
  invisible(path)
}

#' @rdname nv_save
#' @export
nv_load <- function(path, names = NULL) {
  path <- check_path(path)
  check_wanted_names(names)
  target <- readable_file(path)
  con <- tryCatch(file(target, "rb"), error = pass_time_limit, warning = identity)
  if (inherits(con, "condition")) abort_file("read", path, system_reason(con))
  on.exit(close(con))
  refuse <- function(reason, hint = "Copy it again.") abort_file("read", path, reason, hint)
  read_safetensors(con, file.size(target), names, refuse, encodeString(path, quote = "\""))
}

#' @rdname nv_save
#' @export
nv_serialize <- function(x) {
  saved <- saved_parts(x)
  con <- rawConnection(raw(), "wb")
  on.exit(close(con))
  write_safetensors(saved, con)
  rawConnectionValue(con)
}

#' @rdname nv_save
#' @export
nv_unserialize <- function(x, names = NULL) {
  expected <- "a raw vector from `nv_serialize()`, or the bytes of a .safetensors file"
  if (!is.raw(x) || is.object(x)) abort_arg("x", expected, describe(x))
  check_wanted_names(names)
  con <- rawConnection(x, "rb")
  on.exit(close(con))
  refuse <- function(reason, hint = NULL) {
    abort_arg("x", expected, paste0("bytes of which this is true: ", reason), hint)
  }
  read_safetensors(con, length(x), names, refuse, "`x`")
}

check_wanted_names <- function(names) {
  if (is.null(names)) return()
  if (!is.character(names) || anyNA(names)) abort_arg("names", "names of tensors, or NULL", describe(names))
  if (anyDuplicated(names)) {
    twice <- encodeString(names[duplicated(names)][1L], quote = "\"")
    abort_arg("names", "different names", paste("one of them twice:", twice))
  }
}

# ---- writing ----

# What is deeper is not read again: parsers of JSON have a limit.
deepest_saved <- 60L

# list(values, names, own) of what is to be saved: the tensors by name, and anvil's own text.
saved_parts <- function(x) {
  if (.Platform$endian != "little") unsupported("nv_save", "", "big-endian machines")
  values <- list()
  names <- character()
  node <- function(x, name, path, depth) {
    if (is.null(x)) return(NULL)
    if (is.list(x) && !is.object(x)) {
      if (depth > deepest_saved) {
        abort_arg("x", paste("lists nested at most", deepest_saved, "deep"), "deeper ones")
      }
      own <- names(x)
      parts <- if (is.null(own)) rep("", length(x)) else enc2utf8(own)
      parts[!nzchar(parts)] <- which(!nzchar(parts))
      items <- lapply(seq_along(x), function(i) {
        is_bare <- is.null(own) || !nzchar(own[i])
        below <- if (is_bare) paste0(path, "[[", i, "]]") else paste0(path, "$", own[i])
        node(x[[i]], c(name, parts[i]), below, depth + 1L)
      })
      return(if (is.null(own)) items else list(names = as.list(enc2utf8(own)), values = items))
    }
    value <- saved_value(x, path)
    name <- if (length(name)) paste(name, collapse = ".") else "tensor"
    name <- utils::tail(make.unique(c("__metadata__", names, name), "_"), 1L)
    values[[length(values) + 1L]] <<- value
    names <<- c(names, name)
    name
  }
  tree <- node(x, character(), "x", 1L)
  own <- list(tree = tree)
  flagged <- vapply(values, function(value) ambiguous(value), NA)
  dtypes <- vapply(values, function(value) as.character(dtype(value)), "")
  own$ambiguous <- as.list(structure(dtypes[flagged], names = names[flagged]))
  own$c128 <- as.list(names[dtypes == "c128" | flagged & dtypes == "c64"])
  list(values = lapply(values, function(value) written(value)), names = names, own = own)
}

saved_value <- function(x, path) {
  if (is_traced(x)) abort_concrete("a file", x)
  if (inherits(x, "AnvilTensor")) {
    .Call(anvil_summary, x)
    return(x)
  }
  written(x, path)
}

write_safetensors <- function(saved, con) {
  shapes <- lapply(saved$values, function(x) {
    sizes <- as.double(shape(x))
    if (as.character(dtype(x)) == "c128") c(sizes, 2) else sizes
  })
  dtypes <- vapply(saved$values, function(x) as.character(dtype(x)), "")
  dtypes[dtypes == "c128"] <- "f64"
  own <- .Call(wrap__anvil_json_write, saved$own)
  made <- .Call(wrap__anvil_safetensors_header, saved$names, dtypes, shapes, own)
  if (!is.null(made$error)) abort("anvil_error_internal", paste0("No header can be made: ", made$error, "."))
  writeBin(made$header, con)
  for (x in saved$values) write_elements(.Call(anvil_tensor_data, by_rows(x)), con)
}

# A tensor whose elements lie as those of `x` in row-major order: column-major order of the axes in reverse.
by_rows <- function(x) if (sum(shape(x) != 1L) > 1L) nv_transpose(x) else x

# ---- reading ----

# Bytes of a header that the format allows, at most.
longest_header <- 1e8

# The tensors in a connection of so many bytes; `refuse` signals what is wrong with these.
read_safetensors <- function(con, size, names, refuse, shown) {
  if (.Platform$endian != "little") unsupported("nv_load", "", "big-endian machines")
  head <- read_header(con, size, refuse)
  own <- if (is.null(names)) own_parts(head) else own_parts(head)[c("ambiguous", "c128")]
  wanted <- if (is.null(names)) seq_along(head$names) else match(enc2utf8(names), head$names)
  if (anyNA(wanted)) {
    abort_arg(
      "names", paste0("names of tensors in ", shown), encodeString(names[is.na(wanted)][1L], quote = "\""),
      known_names(head$names)
    )
  }
  check_stored(head, wanted, shown, refuse)
  # In the order of the file.
  values <- vector("list", length(wanted))
  for (i in order(wanted)) values[[i]] <- read_one(con, head, wanted[i], own, refuse)
  if (!is.null(names)) return(structure(values, names = names))
  by_name <- structure(values, names = head$names)
  if (!is.null(own$tree) || isTRUE(own$is_null)) return(restored_tree(own$tree, by_name))
  by_name
}

# list(names, dtypes, shapes, begin, end, own, offset), checked against the size of all.
read_header <- function(con, size, refuse) {
  start <- readBin(con, "raw", 8L)
  if (length(start) < 8L) refuse("it has fewer than 8 bytes, with which a .safetensors file begins", NULL)
  length <- sum(as.integer(start) * 256^(0:7))
  if (length > longest_header) {
    bytes <- format(length, digits = 15L)
    refuse(
      paste("it is no .safetensors file: its header would have", bytes, "bytes, which the format forbids"),
      "Write it with `nv_save()`; `nv_read_npy()` and `nv_read_npz()` read NumPy's files."
    )
  }
  if (length > size - 8) refuse("its header ends beyond its end")
  bytes <- readBin(con, "raw", length)
  if (base::length(bytes) != length) refuse("its header ends beyond its end")
  head <- .Call(wrap__anvil_safetensors_read, bytes)
  if (!is.null(head$error)) refuse(paste0("its header is broken: ", head$error), NULL)
  head$offset <- 8 + length
  left <- size - head$offset - max(0, head$end)
  if (left != 0) {
    what <- paste0(format(abs(left), digits = 15L), if (abs(left) == 1) " byte" else " bytes")
    if (left < 0) refuse(paste("it ends", what, "too early"))
    refuse(paste("its last tensor is", what, "before its end"))
  }
  head
}

# The first of the names in a file, for a message.
known_names <- function(names) {
  if (!length(names)) return(NULL)
  shown <- paste(encodeString(utils::head(names, 10L), quote = "\""), collapse = ", ")
  paste0("Its names are ", shown, if (length(names) > 10L) ", ...", ".")
}

# Dtypes and sizes that a tensor can have.
check_stored <- function(head, wanted, shown, refuse) {
  for (i in wanted) {
    if (!head$dtypes[i] %in% names(npy_types)) {
      abort(
        "anvil_error_dtype",
        paste0(
          "Cannot read the tensor ", encodeString(head$names[i], quote = "\""), " of ", shown, ".\n",
          "x Its elements are ", head$dtypes[i], ", for which there is no dtype.\ni `names` reads the others."
        ),
        got = head$dtypes[i]
      )
    }
    if (any(head$shapes[[i]] > .Machine$integer.max)) {
      refuse(paste("a size of", encodeString(head$names[i], quote = "\""), "is above 2^31 - 1"), NULL)
    }
  }
}

read_one <- function(con, head, i, own, refuse) {
  name <- head$names[i]
  dtype <- head$dtypes[i]
  sizes <- as.integer(head$shapes[[i]])
  is_c128 <- name %in% own$c128 && dtype == "f64" && length(sizes) && sizes[length(sizes)] == 2L
  if (is_c128) {
    dtype <- "c128"
    sizes <- sizes[-length(sizes)]
  }
  size <- bytes_of(dtype)
  count <- prod(sizes)
  seek(con, head$offset + head$begin[i])
  type <- list(dtype = dtype, size = size, swap = FALSE)
  data <- tryCatch(read_elements(con, type, count), error = pass_time_limit)
  if (inherits(data, "condition")) refuse(conditionMessage(data), "Free some memory.")
  if (length(data) != if (is.raw(data)) count * size else count) refuse("it became shorter while it was read")
  turned <- sum(sizes != 1L) > 1L
  x <- tryCatch(
    .Call(anvil_tensor_around, data, dtype, if (turned) rev(sizes) else sizes),
    anvil_error_arg = function(e) {
      refuse(paste("a boolean of", encodeString(name, quote = "\""), "is neither 0 nor 1"))
    }
  )
  if (turned) x <- nv_transpose(x)
  flag <- own$ambiguous[[name]]
  if (is.null(flag)) x else nv_convert(x, flag, ambiguous = TRUE)
}

# What nv_save() added: list(tree, ambiguous, c128), as far as it is sound. Another program may have changed
# the tensors: then it does not count.
own_parts <- function(head) {
  if (is.null(head$own)) return(NULL)
  own <- .Call(wrap__anvil_json_read, head$own)
  if (!is.list(own) || is.null(names(own))) return(NULL)
  leaves <- tree_names(own$tree)
  sound <- "tree" %in% names(own) && !anyNA(leaves) && setequal(leaves, head$names) && !anyDuplicated(leaves)
  strings <- function(x) {
    if (is.list(x)) Filter(function(one) is.character(one) && length(one) == 1L, x)
  }
  ambiguous <- strings(own$ambiguous)
  known <- vapply(names(ambiguous), function(name) {
    at <- match(name, head$names)
    !is.na(at) && ambiguous[[name]] %in% ambiguous_of(head$dtypes[at])
  }, NA)
  list(
    tree = if (sound) own$tree, is_null = sound && is.null(own$tree),
    ambiguous = ambiguous[as.logical(known)], c128 = unlist(strings(own$c128))
  )
}

# Default dtypes that ambiguous values of a stored dtype may have.
ambiguous_of <- function(stored) {
  switch(stored, f64 = c("bf16", "f16", "f32", "f64", "c64", "c128"), stored)
}

# Names in a tree; NA for a tree that is none.
tree_names <- function(tree) {
  if (is.null(tree)) return(character())
  if (is.character(tree)) return(tree)
  if (!is.list(tree)) return(NA_character_)
  values <- tree
  if (!is.null(names(tree))) {
    values <- tree$values
    own <- tree$names
    sound <- setequal(names(tree), c("names", "values")) && is.list(values) && is.list(own) &&
      length(own) == length(values) && all(vapply(own, is.character, NA))
    if (!sound) return(NA_character_)
  }
  as.character(unlist(lapply(values, tree_names)))
}

restored_tree <- function(tree, values) {
  if (is.null(tree)) return(NULL)
  if (is.character(tree)) return(values[[tree]])
  if (is.null(names(tree))) return(lapply(tree, restored_tree, values))
  structure(lapply(tree$values, restored_tree, values), names = as.character(unlist(tree$names)))
}
