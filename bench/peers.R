# Peers of the table: Python processes that live as long as the run and answer lines (see peers.py).

# The Python that runs them, "" where there is none that runs.
python_of_peers <- function() {
  python <- Sys.getenv("ANVIL_PYTHON")
  own <- file.path(dirname(bench_folder), ".python", "bin", "python")
  if (!nzchar(python) && file.exists(own)) python <- own
  # One that does not run would be waited for.
  runs <- nzchar(Sys.which(python)) && system2(python, c("-c", "pass"), stdout = FALSE, stderr = FALSE) == 0L
  if (runs) python else ""
}

# Threads of all of them, and of anvil in this process.
threads_of_all <- function() {
  threads <- as.integer(Sys.getenv("ANVIL_NUM_THREADS", parallel::detectCores()))
  Sys.setenv(ANVIL_NUM_THREADS = threads, OMP_NUM_THREADS = threads, OPENBLAS_NUM_THREADS = threads)
  threads
}

# Starts one: a list(title, version, ask(...), stop()), or a string that says why there is none.
start_peer <- function(name, python, threads, folder) {
  token <- paste(sample(c(letters, 0:9), 20L, replace = TRUE), collapse = "")
  server <- NULL
  for (port in sample(20000:60000, 20L)) {
    server <- tryCatch(serverSocket(port), error = function(e) NULL, warning = function(w) NULL)
    if (!is.null(server)) break
  }
  if (is.null(server)) return("no free port")
  on.exit(close(server))
  log <- file.path(folder, paste0(name, ".log"))
  script <- file.path(bench_folder, "peers.py")
  # -B: no compiled copies of the scripts in the checkout.
  system2(
    python, c("-B", shQuote(script), name, port, token, threads), wait = FALSE, stdout = log, stderr = log
  )
  connection <- tryCatch(
    suppressWarnings(socketAccept(server, blocking = TRUE, open = "r+", timeout = 60, encoding = "UTF-8")),
    error = function(e) NULL
  )
  if (is.null(connection)) return(paste(python, "did not answer"))
  hello <- read_answer(connection)
  if (length(hello) < 3L || hello[2L] != token || hello[1L] != "ok") {
    close(connection)
    return(if (identical(hello[1L], "absent")) paste(hello[-(1:2)], collapse = " ") else "it did not start")
  }
  socketTimeout(connection, 180L)
  ask <- function(...) {
    if (is.null(connection)) return(c("error", "it no longer runs"))
    reply <- tryCatch(
      {
        writeLines(paste(c(...), collapse = "\t"), connection)
        read_answer(connection)
      },
      error = function(e) character(), warning = function(w) character()
    )
    if (length(reply)) return(reply)
    stop_it()
    c("error", "it died, or took more than 3 minutes")
  }
  stop_it <- function() {
    if (!is.null(connection)) close(connection)
    connection <<- NULL
  }
  list(name = name, version = hello[3L], ask = ask, stop = stop_it)
}

read_answer <- function(connection) {
  line <- readLines(connection, 1L)
  if (length(line)) strsplit(paste0(line, "\t"), "\t", fixed = TRUE)[[1L]] else character()
}

# Arguments as a peer gets them: tensors as files, constants as they are.
arguments_for_peers <- function(args, folder) {
  leaves <- leaves_of(args)
  paths <- file.path(folder, sprintf("arg%d.npy", seq_along(leaves)))
  mapply(function(x, path) {
    if (!inherits(x, "AnvilTensor")) return(paste0("=", format(x, digits = 17L)))
    nv_write_npy(x, path)
    path
  }, leaves, paths, USE.NAMES = FALSE)
}

# Nested lists as one flat list.
leaves_of <- function(x) {
  if (!is.list(x) || inherits(x, "AnvilTensor")) return(list(x))
  unlist(lapply(unname(x), leaves_of), recursive = FALSE)
}

# The same structure with something else at its ends.
map_leaves <- function(x, f) if (is.list(x) && !inherits(x, "AnvilTensor")) lapply(x, map_leaves, f) else f(x)
