# Random cases against the installed package: Rscript tests/fuzz/run.R seconds=3600 seed=1 only=calls,files
#   case=17 cases=2000 jobs=2 For `seconds` altogether, or `cases` of calls and as many of the others as take
#   about as long; `case` is one number or a range, 17:20, to see a failure again. Cases run in R processes of
#   their own, in batches, so that one that crashes or hangs is found out. Prints the seed, how often which
#   verdict was given, and the failures, those alike together; the exit status is 1 if there are any.
#
# A generator is a file with a function generate_<name>(number) that gives list(setup = , code = ):
# expressions by the name of the variable that holds their value, which must not change (but see `sealed`),
# and the expression that is judged, see judge.R. It draws with R's generator, which has a seed of its own for
# each number.
started <- Sys.time()
given <- commandArgs(TRUE)
given <- given[nzchar(sub("^[^=]*=", "", given))]
setting <- function(name, default) {
  value <- sub(paste0("^", name, "="), "", grep(paste0("^", name, "="), given, value = TRUE))
  if (length(value)) value[1L] else default
}
here <- dirname(normalizePath(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1L])))
# How many of each take as long as one call.
weights <- c(calls = 1, files = 0.4, objects = 0.4, programs = 0.06, realistic = 0.06, interrupts = 0.1)
weights <- weights[file.exists(file.path(here, paste0(names(weights), ".R")))]
generators <- names(weights)
only <- strsplit(setting("only", paste(generators, collapse = ",")), ",", fixed = TRUE)[[1L]]
if (!all(only %in% generators)) stop("`only` is one or more of ", toString(generators))
seconds <- as.double(setting("seconds", if (is.na(setting("cases", NA))) "3600" else "Inf"))
seed <- as.double(setting("seed", format(as.integer(started) %% 1e6)))
cases <- as.double(setting("cases", "Inf"))
jobs <- as.integer(setting("jobs", format(parallel::detectCores())))
timeout <- as.double(setting("timeout", "20"))
batch <- as.double(setting("batch", "2000"))
range <- as.double(strsplit(setting("case", ""), ":", fixed = TRUE)[[1L]])
# Address space of a process, in kB: results that are too large have to be refused, not to take the machine
# down.
limit <- as.double(setting("limit", "3e6"))
growth <- 1024

work <- tempfile("fuzz")
dir.create(work)

plain <- function(x) format(x, scientific = FALSE, trim = TRUE)

# ---- a batch ----

start_batch <- function(generator, first, last) {
  name <- tempfile(paste0(generator, "-"), work)
  out <- paste0(name, ".out")
  rscript <- paste(shQuote(file.path(R.home("bin"), "Rscript")), "--vanilla")
  run <- if (generator == "interrupts") {
    # A program of its own, which says nothing until it ends.
    count <- last - first + 1
    arguments <- paste0(" --count=", plain(count), " --seed=", plain(seed + first))
    script <- shQuote(file.path(here, "interrupts.R"))
    paste0("timeout -k 5 ", plain(timeout + count), " ", rscript, " ", script, arguments, " > ", shQuote(out))
  } else {
    numbers <- paste(plain(c(seed, first, last)), collapse = " ")
    paste(
      rscript, shQuote(file.path(here, "child.R")), shQuote(here), generator, numbers, shQuote(out),
      "> /dev/null"
    )
  }
  system(paste0(
    "(ulimit -c 0; ulimit -v ", plain(limit), "; ", run, " 2> ", shQuote(paste0(name, ".err")),
    " < /dev/null; echo $? > ", shQuote(paste0(name, ".status")), ") 2> /dev/null &"
  ))
  list(
    generator = generator, first = first, last = last, name = name, read = 0, pid = NA, current = NA,
    since = Sys.time(), asked = NULL, memory = double()
  )
}

read_lines <- function(path) {
  if (file.exists(path)) readLines(path, warn = FALSE, encoding = "UTF-8") else character()
}

# The lines that have been finished since the last look, as `new`.
read_on <- function(b) {
  path <- paste0(b$name, ".out")
  b$new <- character()
  size <- file.size(path)
  if (is.na(size) || size <= b$read) return(b)
  con <- file(path, "rb")
  on.exit(close(con))
  seek(con, b$read)
  bytes <- readBin(con, "raw", size - b$read)
  end <- max(0L, which(bytes == as.raw(10L)))
  if (end == 0L) return(b)
  b$read <- b$read + end
  b$new <- strsplit(`Encoding<-`(rawToChar(bytes[seq_len(end)]), "UTF-8"), "\n", fixed = TRUE)[[1L]]
  b
}

# Looks what is new; gives the batch, with `ended` if it has.
look <- function(b) {
  # Asked before the file is read: what a process that has ended wrote is all there.
  ended <- file.exists(paste0(b$name, ".status"))
  b <- read_on(b)
  new <- b$new
  if (length(new)) {
    b$since <- Sys.time()
    b$asked <- NULL
  }
  for (line in strsplit(new, "\t", fixed = TRUE)) {
    if (line[1L] == "pid") b$pid <- as.integer(line[2L])
    if (line[1L] == "start") b$current <- as.double(line[2L])
    if (line[1L] == "code") b$code <- line[2L]
    if (line[1L] == "end") {
      record(b$generator, as.double(line[2L]), line[3L], line[4L], line[5L], line[6L], b$code)
      b$current <- NA
    }
    if (line[1L] == "memory") b$memory <- c(b$memory, as.double(line[2L]))
    if (line[1L] == "done") b$done <- as.double(line[2L])
    if (grepl("^interrupt [0-9]+ in ", line[1L])) b$problems <- c(b$problems, line[1L])
  }
  waited <- as.double(difftime(Sys.time(), b$since, units = "secs"))
  if (!ended && !is.na(b$pid) && waited > timeout) {
    if (is.null(b$asked)) {
      tools::pskill(b$pid, tools::SIGINT)
      b$asked <- Sys.time()
    } else if (waited > 2 * timeout) {
      b$hung <- TRUE
      tools::pskill(b$pid, tools::SIGKILL)
    }
  }
  b$ended <- ended
  b
}

# What a batch that has ended leaves to do: the number of its next case, or NULL.
settle_batch <- function(b) {
  if (b$generator == "interrupts") return(settle_interrupts(b))
  if (length(b$memory) > 2L && utils::tail(b$memory, 1L) - b$memory[2L] > growth) {
    text <- paste0(
      "from ", b$memory[2L], " to ", utils::tail(b$memory, 1L), " MB in cases ", b$first, " to ", b$last
    )
    record(b$generator, b$first, "memory", "", "grew", text, "")
  }
  if (!is.null(b$done)) return(if (b$done < b$last) b$done + 1)
  status <- paste0("exit status ", read_lines(paste0(b$name, ".status"))[1L])
  error <- utils::tail(read_lines(paste0(b$name, ".err")), 6L)
  if (is.na(b$current)) {
    # Between two cases: the fuzzer's own fault, as a rule.
    record(b$generator, b$first, "crash", "outside of cases", status, paste(error, collapse = " "), "")
    return(NULL)
  }
  kind <- if (is.null(b$hung)) "crash" else "hang"
  # Of R's own report the kind of the fault; else the last words.
  error <- read_lines(paste0(b$name, ".err"))
  at <- grep("caught segfault|C stack usage|memory exhausted|panicked|overflow", error)
  error <- if (length(at)) utils::tail(error[at], 1L) else paste(utils::tail(error, 3L), collapse = " ")
  record(b$generator, b$current, kind, "", status, paste(status, error), b$code)
  if (b$current < b$last) b$current + 1
}

settle_interrupts <- function(b) {
  status <- read_lines(paste0(b$name, ".status"))[1L]
  count <- b$last - b$first + 1
  command <- paste0(
    "Rscript tests/fuzz/interrupts.R --count=", plain(count), " --seed=", plain(seed + b$first)
  )
  for (problem in b$problems) {
    record(b$generator, b$first, "wrong", "", sub("^interrupt [0-9]+ ", "", problem), problem, command)
  }
  for (i in seq_len(count - length(b$problems))) record(b$generator, b$first + i, "ok", NA, NA, NA, NA)
  if (status == "0" || length(b$problems)) return(NULL)
  error <- paste(
    "exit status", status, paste(utils::tail(read_lines(paste0(b$name, ".err")), 3L), collapse = " ")
  )
  record(b$generator, b$first, if (status %in% c("124", "137")) "hang" else "crash", "", "", error, command)
  NULL
}

# ---- what was found ----

counts <- list()
found <- list()
total <- 0

record <- function(generator, number, verdict, where, form, message, code) {
  if (is.null(code) || is.na(code)) code <- ""
  if (is.na(where)) where <- ""
  total <<- total + 1
  counts[[generator]][[verdict]] <<- sum(counts[[generator]][[verdict]], 1)
  if (is.na(message)) return(invisible())
  key <- paste(generator, verdict, form, sep = "\r")
  f <- found[[key]]
  # The shortest code of a kind is shown.
  if (is.null(f) || nchar(code) < nchar(f$code)) {
    f <- list(
      generator = generator, verdict = verdict, where = f$where, message = message, code = code,
      number = number, times = max(0, f$times),
      numbers = f$numbers
    )
  }
  f$times <- f$times + 1
  f$where <- c(f$where, where)
  f$numbers <- c(f$numbers, number)
  found[[key]] <<- f
}

# ---- all of it ----

cat("fuzz: seed ", plain(seed), ", ", toString(only), "\n", sep = "")
next_case <- setNames(rep(1, length(only)), only)
todo <- list()
if (length(range)) {
  todo <- lapply(only, function(generator) list(generator, range[1L], range[length(range)]))
  next_case[] <- Inf
}
turn <- 0L
elapsed <- function() as.double(difftime(Sys.time(), started, units = "secs"))

# The next batch: what a crash has left, then of each generator in turn.
pop <- function() {
  if (length(todo)) {
    job <- todo[[1L]]
    todo <<- todo[-1L]
    return(job)
  }
  if (elapsed() >= seconds) return(NULL)
  for (i in seq_along(only)) {
    turn <<- turn %% length(only) + 1L
    generator <- only[turn]
    first <- next_case[[generator]]
    # Of chosen cases none is left: their next one is number `Inf`.
    if (is.infinite(first) || first > ceiling(cases * weights[[generator]])) next
    last <- min(first + ceiling(batch * weights[[generator]]) - 1, ceiling(cases * weights[[generator]]))
    next_case[[generator]] <<- last + 1
    return(list(generator, first, last))
  }
  NULL
}

running <- list()
repeat {
  while (length(running) < jobs && !is.null(job <- pop())) {
    running <- c(running, list(start_batch(job[[1L]], job[[2L]], job[[3L]])))
  }
  if (!length(running)) break
  Sys.sleep(0.05)
  running <- lapply(running, look)
  over <- elapsed() > seconds + timeout
  for (b in running) {
    if (b$ended) {
      left <- settle_batch(b)
      if (!is.null(left) && !over) todo <- c(todo, list(list(b$generator, left, b$last)))
    } else if (elapsed() > seconds && !is.na(b$pid)) {
      tools::pskill(b$pid, tools::SIGKILL)
    }
  }
  running <- Filter(function(b) !b$ended && elapsed() <= seconds, running)
}

for (generator in names(counts)) {
  numbers <- unlist(counts[[generator]])
  numbers <- numbers[order(-numbers)]
  cat(
    generator, ": ", sum(numbers), " cases: ", paste(numbers, names(numbers), collapse = ", "), "\n", sep = ""
  )
}
found <- found[order(-vapply(found, function(f) f$times, 0))]
for (f in found) {
  places <- sort(table(f$where[nzchar(f$where)]), decreasing = TRUE)
  shown <- paste(names(utils::head(places, 8L)), collapse = ", ")
  if (length(places) > 8L) shown <- paste0(shown, " and ", length(places) - 8L, " more")
  cat(
    "\n", f$verdict, if (length(places)) paste(" in", shown), ", ", f$times,
    if (f$times == 1) " time: " else " times: ", sep = ""
  )
  cat(f$message, "\n", sep = "")
  if (nzchar(f$code)) cat("  ", f$code, "\n", sep = "")
  cat("  make fuzz SEED=", plain(seed), " ONLY=", f$generator, " CASE=", plain(f$number), sep = "")
  others <- utils::head(setdiff(f$numbers, f$number), 5L)
  cat(if (length(others)) c("; also", plain(others)), "\n")
}
if (length(range) && range[1L] == range[length(range)]) {
  for (file in list.files(work, "[.]err$", full.names = TRUE)) cat(read_lines(file), sep = "\n")
}
unlink(work, recursive = TRUE)
failed <- sum(vapply(found, function(f) f$times, 0))
cat("\nfuzz: ", total, " cases with seed ", plain(seed), " in ", round(elapsed()), " s, ", failed,
  " failures of ", length(found), " kinds\n", sep = "")
quit(status = if (length(found)) 1L else 0L)
