# Files: paths, errors about them, and writing that leaves nothing half done.

check_path <- function(path, arg = "path") {
  check_given(path, arg, "the path of a file")
  if (!is.character(path) || length(path) != 1L || is.na(path) || !nzchar(path)) {
    abort_arg(arg, "the path of a file", describe(path))
  }
  path.expand(path)
}

# A file that cannot be read or written: `verb` says which.
abort_file <- function(verb, path, reason, hint = NULL) {
  message <- paste0(
    "Cannot ", verb, " ", encodeString(path, quote = "\""), ": ", reason, ".", if (!is.null(hint)) paste0("\ni ", hint)
  )
  abort("anvil_error_file", message, path = path, reason = reason)
}

# What the system says, out of R's warning about it: "cannot open file 'x': Permission denied".
system_reason <- function(condition) {
  text <- conditionMessage(condition)
  if (grepl(": [^:']+$", text)) sub("^.*: ([^:']+)$", "\\1", text) else text
}

# Why nothing can be written at a path, with advice; NULL if it seems to be fine.
unwritable <- function(path) {
  folder <- dirname(path)
  shown <- encodeString(folder, quote = "\"")
  if (!file.exists(folder)) return(c(paste("there is no folder", shown), "Make it with `dir.create()`."))
  if (!dir.exists(folder)) return(c(paste(shown, "is no folder"), "Choose another path."))
  if (dir.exists(path)) return(c("there is a folder of this name", "Choose another name."))
  NULL
}

# Writes a file through a connection under another name in the same folder, then gives it its name: whoever looks sees
# the old file or the new one.
write_whole <- function(path, write) {
  reason <- unwritable(path)
  if (!is.null(reason)) abort_file("write", path, reason[1L], reason[2L])
  part <- tempfile(".anvil-", dirname(path))
  on.exit(unlink(part))
  # R tells of a full disk by a warning.
  failed <- tryCatch({
    con <- file(part, "wb")
    tryCatch(write(con), finally = close(con))
    NULL
  }, error = identity, warning = identity)
  if (inherits(failed, "anvil_error")) stop(failed)
  if (!is.null(failed)) abort_file("write", path, system_reason(failed), "Choose a folder that you may write to.")
  rename_to(part, path)
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
  reason <- if (inherits(made, "condition")) sub("^.*reason '(.*)'$", "\\1", conditionMessage(made)) else "it cannot be made"
  abort_file("write", to, reason, "Choose a folder that you may write to.")
}
