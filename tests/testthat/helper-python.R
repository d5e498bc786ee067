# A Python that can run exported programs.

# Its path: ANVIL_PYTHON, or python3; skips a test where that has no jax.
python_with_jax <- function() {
  python <- Sys.getenv("ANVIL_PYTHON", "python3")
  testthat::skip_if(
    !nzchar(Sys.which(python)), paste("there is no", python, "(ANVIL_PYTHON names another one)")
  )
  status <- suppressWarnings(system2(python, c("-c", shQuote("import jax")), stdout = FALSE, stderr = FALSE))
  testthat::skip_if(status != 0L, paste(python, "has no jax (ANVIL_PYTHON names another Python)"))
  python
}

# Runs the script of the package; what it prints, with its exit status as an attribute if it is not 0.
run_script <- function(python, ...) {
  script <- system.file("python", "run_stablehlo.py", package = "anvil", mustWork = TRUE)
  suppressWarnings(system2(
    python, shQuote(c(script, ...)), stdout = TRUE, stderr = TRUE, env = "JAX_PLATFORMS=cpu"
  ))
}

# What a function gives when it is exported and run there: its results as a flat list of tensors. `args` are
# tensors.
run_exported <- function(python, f, args, dtypes = NULL, ...) {
  folder <- tempfile()
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  program <- do.call(stablehlo, c(list(f), args, list(...)), quote = TRUE)
  path <- file.path(folder, "model.mlir")
  nv_write_stablehlo(program, path, setNames(args, argument_names(f, args)))
  out <- file.path(folder, "out")
  devices <- list(...)$sharding$mesh
  printed <- run_script(python, path, "--outputs", out, if (length(devices)) c("--devices", devices))
  testthat::expect_null(attr(printed, "status"), label = paste(printed, collapse = "\n"))
  types <- sub("\\[.*", "", program$outputs)
  Map(function(i, type) nv_read_npy(file.path(out, paste0(i, ".npy")), type), seq_along(types), unname(types))
}

argument_names <- function(f, args) {
  given <- if (is.null(names(args))) rep("", length(args)) else names(args)
  given[given == ""] <- setdiff(names(formals(f)), given)[seq_len(sum(given == ""))]
  given
}
