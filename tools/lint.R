# Whether R sources are as .lintr asks for; prints what is not, and fails then. Files that were clean with the
# same content, configuration and lintr are not read again: .lib, which `make clean` removes, has their list.
# No name is defined in two files of the package, or in two helpers of its tests. Help pages describe the arguments of
# the functions that they are about, and no others.
files <- list.files(c("R", "tests"), "[.]R$", recursive = TRUE, full.names = TRUE)
record <- ".lib/lint.rds"
states <- paste(tools::md5sum(files), tools::md5sum(".lintr"), packageVersion("lintr"))
clean <- if (file.exists(record)) readRDS(record)
todo <- files[!states %in% clean]
cores <- if (.Platform$OS.type == "unix") parallel::detectCores() else 1L
found <- parallel::mclapply(todo, lintr::lint, mc.cores = cores, mc.preschedule = FALSE)
failed <- vapply(found, inherits, NA, "try-error")
if (any(failed)) stop("lintr failed on ", toString(todo[failed]), ": ", found[failed][[1L]])
counts <- lengths(found)
for (lints in found[counts > 0L]) print(lints)
dir.create(dirname(record), showWarnings = FALSE)
saveRDS(setdiff(states, states[match(todo[counts > 0L], files)]), record)
# A name that two files of the package define has the meaning of the later one in both.
defined_in <- function(file) {
  is_definition <- function(x) is.call(x) && identical(x[[1L]], quote(`<-`)) && is.name(x[[2L]])
  vapply(Filter(is_definition, as.list(parse(file))), function(x) as.character(x[[2L]]), "")
}
twice <- unlist(lapply(c("^R/", "^tests/testthat/helper"), function(pattern) {
  names <- unlist(lapply(grep(pattern, files, value = TRUE), defined_in))
  unique(names[duplicated(names)])
}))
if (length(twice)) cat("defined in two files:", toString(twice), "\n")
undescribed <- utils::capture.output(print(tools::checkDocFiles(dir = ".")))
cat(undescribed, sep = "\n")
cat(sum(counts), "lints in", length(files), "R files,", length(todo), "of them new or changed\n")
quit(status = as.integer(sum(counts) + length(twice) + length(undescribed) > 0L))
