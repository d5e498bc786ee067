# Whether R sources are as .lintr asks for; prints what is not, and fails then.
found <- 0
for (folder in c("R", "tests")) {
  lints <- lintr::lint_dir(folder)
  if (length(lints) > 0) print(lints)
  found <- found + length(lints)
}
cat(found, "lints in R sources\n")
quit(status = as.integer(found > 0))
