# Whether R sources are as .lintr asks for; prints what is not, and fails then. Files that were clean with the
# same content, configuration and lintr are not read again: .lib, which `make clean` removes, has their list.
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
cat(sum(counts), "lints in", length(files), "R files,", length(todo), "of them new or changed\n")
quit(status = as.integer(sum(counts) > 0L))
