# `make bench-random`: realistic programs that nobody wrote down (random_programs.R), in anvil and in JAX, as
# a person writes them there (random_jax.R) and as anvil exports them. Results are compared, then all take
# turns. The report: wrong results first, then the distribution of anvil's time by JAX's, of small data, where
# calls count, and of large data, where the work counts; the worst with their plans. Nothing here can fail for
# being slow.
#
#   Rscript bench/random.R seed=5 programs=300 seconds=600   new programs each run, unless there is a seed
#   Rscript bench/random.R seed=5 case=17                    one of them, with its code and its plan
#   csv=path                                                 the times of each program, too
#
# ANVIL_PYTHON, ANVIL_NUM_THREADS: as for bench/table.R. On a busy machine one thread says most, since the
# processor's time is counted then.
suppressPackageStartupMessages(library(anvil))

bench_folder <- normalizePath(dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1L])))
for (file in c("peers", "measure", "random_elementwise", "random_programs", "random_jax", "random_report")) {
  source(file.path(bench_folder, paste0(file, ".R")))
}

setting <- function(name, default) {
  given <- grep(paste0("^", name, "=."), commandArgs(TRUE), value = TRUE)
  if (length(given)) sub("^[^=]*=", "", given[1L]) else default
}
started <- now()
seed <- as.integer(setting("seed", as.character(as.integer(started) %% 1e6)))
count <- as.integer(setting("programs", "300"))
until <- started + as.double(setting("seconds", "600"))
case <- as.integer(setting("case", "0"))
csv <- setting("csv", "")
# The fastest of many turns counts: other processes take the processor, or the cache, from time to time.
form <- list(turn = 0.03, rounds = 7L, least = 3L, seconds = 2)

threads <- threads_of_all()
python <- python_of_peers()
jax <- if (nzchar(python)) start_peer("jax", python, threads, tempdir()) else "there is no Python to run it"
peer <- if (is.character(jax)) paste0("is missing (", jax, "): times of anvil alone") else jax$version
cat("bench-random: seed ", seed, ", threads ", threads, ", JAX ", peer, "\n", sep = "")

tolerances <- c(f32 = 1e-3, f64 = 1e-8)

# How far a program's results move if its arguments move by a few units in the last place: what no two ways of
# computing need agree in.
movement <- function(f, args, results, dtype) {
  little <- if (dtype == "f32") 2^-21 else 2^-50
  moved <- lapply(args, function(x) if (as.character(dtype(x)) == "i32") x else x * (1 + little))
  others <- leaves_of(do.call(f, moved, quote = TRUE))
  max(mapply(function(x, y) difference(x, y, "values"), others, results))
}

# Loads a form of the program in JAX; gives its timer, or a sentence on why there is none. `wrong` is by how
# much its results differ, if they do.
load_form <- function(name, path, paths, files, p, moved) {
  jax$ask("use", name)
  reply <- jax$ask("load", path, 0L, 1L, paths)
  if (reply[1L] == "ok") reply <- jax$ask("check", "values", files)
  if (reply[1L] != "ok") return(list(gap = reply[2L]))
  apart <- as.double(reply[2L])
  if (!(apart <= tolerances[[p$dtype]]) && !(apart <= 100 * moved())) return(list(wrong = apart))
  list(timer = function(times) {
    jax$ask("use", name)
    reply <- jax$ask("time", format(times, scientific = FALSE))
    if (reply[1L] == "ok") as.double(reply[2L]) else stop(reply[2L])
  })
}

# A program's times: list(seconds = c(anvil, jax, exported), gaps, wrong).
measure_program <- function(p) {
  folder <- tempfile("random")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  args <- arguments_of(p)
  plain <- function_in_r(p)
  f <- jit(plain)
  results <- leaves_of(do.call(f, args, quote = TRUE))
  timers <- list(anvil = repeated(f, args)$time)
  gaps <- wrong <- character()
  if (!is.character(jax)) {
    paths <- arguments_for_peers(args, folder)
    files <- file.path(folder, sprintf("result%d.npy", seq_along(results)))
    Map(nv_write_npy, results, files)
    # Asked for at most once, and seldom.
    moved <- local({
      known <- NULL
      function() {
        if (is.null(known)) known <<- movement(f, args, results, p$dtype)
        known
      }
    })
    programs <- c(jax = file.path(folder, "program.py"), exported = file.path(folder, "program.mlir"))
    source <- jax_source(p)
    if (is.null(source)) gaps[["jax"]] <- "no such function" else writeLines(source, programs[["jax"]])
    exported <- do.call(stablehlo, c(list(plain), args, list(inline_limit = 1e9)), quote = TRUE)
    nv_write_stablehlo(exported, programs[["exported"]])
    for (name in names(programs)) {
      if (!file.exists(programs[[name]])) next
      loaded <- load_form(name, programs[[name]], paths, files, p, moved)
      if (!is.null(loaded$gap)) gaps[[name]] <- loaded$gap
      if (!is.null(loaded$wrong)) wrong[[name]] <- sprintf("%.1e", loaded$wrong)
      if (!is.null(loaded$timer)) timers[[name]] <- loaded$timer
    }
  }
  rm(results)
  turns <- take_turns(timers, form)
  seconds <- apply(turns, 2L, min)
  if (!is.character(jax)) jax$ask("drop")
  list(seconds = seconds[c("anvil", "jax", "exported")], gaps = gaps, wrong = wrong)
}

# What the plan says that a call takes, in seconds; NA where the number of repetitions is not known.
estimated <- function(p) {
  plan <- tryCatch(plan_of(p), error = function(e) NULL)
  if (is.null(plan)) return(NA)
  own <- plan[!grepl(".", plan$step, fixed = TRUE), ]
  sum(own$microseconds * ifelse(own$kind %in% c("while", "scan"), p$repeats, 1L)) / 1e6
}

plan_of <- function(p) {
  types <- lapply(p$inputs, function(x) nv_abstract(if (x$kind == "numbers") p$dtype else "i32", x$shape))
  do.call(explain_plan, c(list(function_in_r(p)), types), quote = TRUE)
}

numbers <- if (case > 0L) case else seq_len(count)
if (case > 0L) form <- list(turn = 0.05, rounds = 15L, least = 5L, seconds = 10)
rows <- list()
failed <- list()
# The first program of a process has more to do than others.
invisible(tryCatch(measure_program(random_program(1L, 1L)), error = function(e) NULL))
for (number in numbers) {
  if (now() > until && case == 0L) break
  made <- tryCatch(
    {
      p <- random_program(seed, number)
      if (case > 0L) show_program(p)
      about <- list(number = number, class = p$class, dtype = p$dtype, large = p$large)
      c(about, measure_program(p), estimate = estimated(p))
    },
    error = identity
  )
  if (inherits(made, "error")) {
    failed <- c(failed, list(list(number = number, message = conditionMessage(made))))
  } else {
    rows <- c(rows, list(made))
  }
  gc(verbose = FALSE)
}
if (!is.character(jax)) jax$stop()
report(rows, failed, seed, alone = case > 0L)
if (nzchar(csv)) utils::write.csv(table_of(rows), csv, row.names = FALSE)
