# Prints the text of inst/AUTHORS. Argument: the output of `cargo metadata`.
metadata <- jsonlite::read_json(commandArgs(trailingOnly = TRUE))
cat("Rust crates in the source package of anvil, with the licence and the authors that each one states.\n")
for (crate in metadata$packages) {
  if (is.null(crate$source)) next # anvil's own
  licence <- if (is.null(crate$license)) "see the crate" else crate$license
  authors <- if (length(crate$authors)) unlist(crate$authors) else "The authors of its repository"
  cat(
    sprintf("\n%s %s\n  licence: %s\n", crate$name, crate$version, licence),
    if (!is.null(crate$repository)) sprintf("  repository: %s\n", crate$repository),
    sprintf("  %s\n", authors),
    sep = ""
  )
}
