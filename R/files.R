# Files: paths, errors about them, and atomic writes.

check_path <- function(path, arg = "path") {
  if (!is.character(path) || length(path) != 1L || is.na(path) || !nzchar(path)) {
    abort_arg(arg, "the path of a file", describe(path))
  }
  if (Encoding(path) == "bytes") {
    abort_arg(arg, "the path of a file", "a string of encoding \"bytes\"", "See `enc2native()`.")
  }
  # R cuts what is longer, or ends in an error of its own.
  if (nchar(path, "bytes") > 4000L) {
    abort_arg(arg, "a path of at most 4000 bytes", paste("one of", nchar(path, "bytes")))
  }
  path.expand(enc2native(path))
}

# A file that cannot be read or written: `verb` says which.
abort_file <- function(verb, path, reason, hint = NULL) {
  message <- paste0(
    "Cannot ", verb, " ", encodeString(path, quote = "\""), ": ", reason, ".",
    if (!is.null(hint)) paste0("\ni ", hint)
  )
  abort("anvil_error_file", message, path = path, reason = reason)
}

# The system's error message, taken from R's warning: "cannot open file 'x': Permission denied".
system_reason <- function(condition) {
  text <- conditionMessage(condition)
  if (grepl(": [^:']+$", text)) sub("^.*: ([^:']+)$", "\\1", text) else text
}

# Checks a file to read: reading a pipe would wait, and a device has no end.
readable_file <- function(path) {
  at <- .Call(anvil_file_target, path)
  if (at[2L] == "file") return(at[1L])
  reason <- switch(
    at[2L], none = "there is no such file", folder = "it is a folder", other = "it is no regular file", at[2L]
  )
  abort_file("read", path, reason)
}

# Where a file is written that a path names: at the end of its links, so that these stay. What is there must
# be such a file, or with `folder` such a folder, that may be replaced.
writable_target <- function(path, folder = FALSE) {
  refuse <- function(reason, hint) abort_file("write", path, reason, hint)
  at <- .Call(anvil_file_target, path)
  kind <- at[2L]
  parent <- dirname(at[1L])
  if (kind == "none") {
    shown <- encodeString(parent, quote = "\"")
    if (!file.exists(parent)) refuse(paste("there is no folder", shown), "Create it with `dir.create()`.")
    if (!dir.exists(parent)) refuse(paste(shown, "is no folder"), "Choose another path.")
    return(at[1L])
  }
  if (!kind %in% c("file", "folder")) {
    refuse(if (kind == "other") "it exists and is no regular file" else kind, "Choose another path.")
  }
  if (folder && kind == "file") refuse("there is a file of this name", "Choose another name.")
  if (!folder && kind == "folder") refuse("there is a folder of this name", "Choose another name.")
  if (file.access(at[1L], 2L) != 0L) {
    refuse("it is write-protected", "Choose another name, or see `Sys.chmod()`.")
  }
  at[1L]
}

# A name beside the target, for what will take its place. The caller unlinks it.
part_of <- function(target) tempfile(".anvil-", dirname(target))

# Writes a file through a connection under another name in the same folder, then gives it its name: whoever
# looks sees the old file or the new one.
write_whole <- function(path, write) {
  target <- writable_target(path)
  part <- part_of(target)
  on.exit(unlink(part))
  fill_part(part, path, write)
  replace_file(part, target)
}

fill_part <- function(part, path, write) {
  # R tells of a full disk by a warning.
  failed <- tryCatch({
    con <- file(part, "wb")
    tryCatch(write(con), finally = close(con))
    NULL
  }, error = pass_time_limit, warning = identity)
  if (inherits(failed, "anvil_error")) stop(failed)
  if (!is.null(failed)) {
    abort_file("write", path, system_reason(failed), "Choose a folder that you may write to.")
  }
}

# The new file has the mode of the old one.
replace_file <- function(part, target) {
  if (file.exists(target)) .Call(anvil_file_like, part, target)
  rename_to(part, target)
}

# Puts a folder in the place of another, or of none; without `part` the other goes. The old one stays until
# the new one has its name, and comes back if it does not get it.
replace_folder <- function(part, target) {
  old <- part_of(target)
  done <- FALSE
  on.exit(if (dir.exists(old)) if (done) unlink(old, recursive = TRUE) else file.rename(old, target))
  if (dir.exists(target)) rename_to(target, old)
  if (!is.null(part)) {
    if (dir.exists(old)) .Call(anvil_file_like, part, old)
    rename_to(part, target)
  }
  done <- TRUE
}

rename_to <- function(from, to) {
  done <- tryCatch(file.rename(from, to), warning = identity)
  if (isTRUE(done)) return()
  abort_file("write", to, if (inherits(done, "condition")) system_reason(done) else "it cannot be replaced")
}

# Makes a folder that will be called `to`.
make_folder <- function(folder, to) {
  made <- tryCatch(dir.create(folder), warning = identity)
  if (isTRUE(made)) return()
  reason <- if (inherits(made, "condition")) {
    sub("^.*reason '(.*)'$", "\\1", conditionMessage(made))
  } else {
    "it cannot be made"
  }
  abort_file("write", to, reason, "Choose a folder that you may write to.")
}
