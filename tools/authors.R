# Writes inst/AUTHORS, who wrote the vendored crates, and inst/COPYRIGHTS, the texts of their licences, into a
# folder. Arguments: the output of `cargo metadata`, the folder.
arguments <- commandArgs(trailingOnly = TRUE)
crates <- Filter(function(crate) !is.null(crate$source), jsonlite::read_json(arguments[[1L]])$packages)
label <- function(crate) paste(crate$name, crate$version)
authors_of <- function(crate) {
  if (length(crate$authors)) unlist(crate$authors) else paste("The authors of", crate$repository %||% crate$name)
}
`%||%` <- function(x, y) if (is.null(x)) y else x

authors <- c(
  "Rust crates in the source package of anvil, with the licence and the authors that each one states.",
  "The texts of the licences are in the file COPYRIGHTS beside this one.",
  unlist(lapply(crates, function(crate) {
    c(
      "", label(crate), paste("  licence:", crate$license %||% "see the file of licences"),
      if (!is.null(crate$repository)) paste("  repository:", crate$repository), paste0("  ", authors_of(crate))
    )
  }))
)

# The files of a crate's licences. Of several that it offers (`OR`), MIT's, which is anvil's.
licence_files <- function(crate) {
  folder <- dirname(crate$manifest_path)
  files <- list.files(folder, "^(licen[sc]e|copying|copyright|notice|unlicen[sc]e)", ignore.case = TRUE)
  folders <- files[dir.exists(file.path(folder, files))]
  inside <- lapply(folders, function(inner) file.path(inner, list.files(file.path(folder, inner))))
  files <- c(setdiff(files, folders), unlist(inside))
  is_mit <- grepl("MIT", files)
  if (any(is_mit) && grepl(" OR |/", crate$license)) {
    files <- files[is_mit | grepl("notice|unicode", files, ignore.case = TRUE)]
  }
  file.path(folder, files)
}

# Of a crate that has no such file, and says in its manifest that it is under the MIT licence.
mit <- function(crate) {
  if (!identical(crate$license, "MIT")) {
    stop(label(crate), " has no licence file, and its licence is not MIT but ", crate$license)
  }
  c(
    paste("Copyright (c)", paste(authors_of(crate), collapse = ", ")), "",
    utils::tail(readLines(file.path(dirname(arguments[[2L]]), "LICENSE.md"), encoding = "UTF-8"), -4L)
  )
}
texts <- lapply(crates, function(crate) {
  files <- licence_files(crate)
  found <- lapply(files, readLines, warn = FALSE, encoding = "UTF-8")
  vapply(if (length(files)) found else list(mit(crate)), paste, "", collapse = "\n")
})
text <- unlist(texts)
owner <- rep(vapply(crates, label, ""), lengths(texts))
same <- match(text, text)
copyrights <- c(
  "anvil is under the licence in its file LICENSE. Its library also contains code of the Rust crates that are",
  "named here, each group under the text below it, and of Rust's standard library, which is of the compiler that",
  "built it: https://www.rust-lang.org/policies/licenses.",
  unlist(lapply(unique(same), function(i) {
    c("", strrep("=", 80L), strwrap(toString(owner[same == i]), 80L), strrep("-", 80L), text[i])
  }))
)
write <- function(lines, name) {
  file <- file(file.path(arguments[[2L]], name), "w", encoding = "UTF-8")
  on.exit(close(file))
  writeLines(enc2utf8(lines), file)
}
write(authors, "AUTHORS")
write(copyrights, "COPYRIGHTS")
