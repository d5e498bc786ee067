# Writing: through links, over what is there, and what is left when it fails.

folder_for_now <- function(env = parent.frame()) {
  folder <- tempfile()
  dir.create(folder)
  do.call(
    on.exit, list(substitute(unlink(folder, recursive = TRUE), list(folder = folder)), add = TRUE),
    envir = env
  )
  folder
}
bytes_of <- function(path) readBin(path, "raw", 1e6)
mode_of <- function(path) as.character(file.info(path)$mode)
left_in <- function(folder) list.files(folder, all.files = TRUE, no.. = TRUE)
program <- stablehlo(
  function(x) x + nv_fill(1, 100) * nv_tensor(as.double(1:100)), nv_abstract("f32", 100), inline_limit = 0
)

# The functions that write, each with a value and another.
writers <- list(
  nv_write_npy = function(path, which) nv_write_npy(which, path),
  nv_write_npz = function(path, which) nv_write_npz(list(a = which), path),
  nv_save = function(path, which) nv_save(list(a = which), path),
  nv_write_stablehlo = function(path, which) {
    nv_write_stablehlo(
      if (which == 1) program else stablehlo(function(x) x * which, nv_abstract("f32")), path
    )
  }
)

test_that("these are all functions that write files", {
  exports <- Filter(is.function, sapply(getNamespaceExports("anvil"), getExportedValue, ns = "anvil"))
  expect_setequal(
    names(Filter(function(f) "path" %in% names(formals(f)), exports)),
    c(names(writers), "nv_read_npy", "nv_read_npz", "nv_load")
  )
})

# Links, modes and pipes are those of Unix.
if (.Platform$OS.type == "unix") {
  test_that("what a link leads to is written, and the link stays", {
    for (write in writers) {
      folder <- folder_for_now()
      dir.create(file.path(folder, "deep"))
      target <- file.path(folder, "deep", "target")
      plain <- file.path(folder, "plain")
      write(target, 2)
      write(plain, 1)
      file.symlink(file.path("deep", "target"), file.path(folder, "first"))
      file.symlink(file.path(folder, "first"), file.path(folder, "link"))
      write(file.path(folder, "link"), 1)
      expect_identical(
        Sys.readlink(file.path(folder, c("first", "link"))), c("deep/target", file.path(folder, "first"))
      )
      expect_identical(bytes_of(target), bytes_of(plain))
      # To nothing yet: what it leads to is made.
      file.symlink(file.path("deep", "new"), file.path(folder, "ahead"))
      write(file.path(folder, "ahead"), 1)
      expect_identical(bytes_of(file.path(folder, "deep", "new")), bytes_of(plain))
      expect_identical(Sys.readlink(file.path(folder, "ahead")), "deep/new")
      # In a circle.
      file.symlink("b", file.path(folder, "a"))
      file.symlink("a", file.path(folder, "b"))
      error <- expect_error(write(file.path(folder, "a"), 1), class = "anvil_error_file")
      expect_match(error$reason, "symbolic links", fixed = TRUE)
      expect_identical(Sys.readlink(file.path(folder, c("a", "b"))), c("b", "a"))
    }
  })

  test_that("the mode of a file stays", {
    for (write in writers) {
      for (mode in c("600", "644", "755", "664")) {
        path <- file.path(folder_for_now(), "file")
        write(path, 1)
        Sys.chmod(path, mode, use_umask = FALSE)
        write(path, 2)
        expect_identical(mode_of(path), mode)
      }
    }
  })

  test_that("what is no regular file is refused, and stays what it is", {
    for (write in writers) {
      folder <- folder_for_now()
      pipe <- file.path(folder, "pipe")
      system2("mkfifo", shQuote(pipe))
      file.symlink("/dev/null", file.path(folder, "null"))
      for (path in c("/dev/null", pipe, file.path(folder, "null"))) {
        error <- expect_fields(write(path, 1), "anvil_error_file", path = path)
        expect_match(error$reason, "no regular file", fixed = TRUE)
      }
      expect_error(write(folder, 1), "there is a folder of this name", class = "anvil_error_file")
      expect_setequal(left_in(folder), c("null", "pipe"))
      expect_identical(anvil:::writable_target(file.path(folder, "new")), file.path(folder, "new"))
      expect_identical(.Call(anvil:::anvil_file_target, pipe)[2L], "other")
    }
    expect_identical(.Call(anvil:::anvil_file_target, "/dev/null")[2L], "other")
    # Reading would wait for someone who writes.
    expect_error(nv_read_npy(pipe), "there is no such file|no regular file", class = "anvil_error_file")
    expect_error(nv_read_npy("/dev/zero"), "no regular file", class = "anvil_error_file")
  })
}

test_that("a write that fails leaves the old file as it was, and nothing beside it", {
  folder <- folder_for_now()
  path <- file.path(folder, "x.npy")
  nv_write_npy(1, path)
  before <- bytes_of(path)
  for (fail in list(function(con) stop("on purpose"), function(con) warning("on purpose"))) {
    error <- expect_error(
      anvil:::write_whole(path, function(con) {
        writeBin(as.raw(1:100), con)
        fail(con)
      }),
      class = "anvil_error_file"
    )
    expect_identical(error$reason, "on purpose")
    expect_identical(bytes_of(path), before)
    expect_identical(left_in(folder), "x.npy")
  }
  # An interrupt is no error.
  interrupt <- structure(class = c("interrupt", "condition"), list(message = "", call = NULL))
  seen <- tryCatch(anvil:::write_whole(path, function(con) {
    writeBin(as.raw(1:100), con)
    signalCondition(interrupt)
  }), interrupt = function(e) "interrupted")
  expect_identical(seen, "interrupted")
  expect_identical(bytes_of(path), before)
  expect_identical(left_in(folder), "x.npy")
})

test_that("a program that cannot be written as a whole leaves the old one", {
  folder <- folder_for_now()
  path <- file.path(folder, "model.mlir")
  nv_write_stablehlo(program, path, inputs = list(x = nv_fill(1, 100)))
  all <- sort(left_in(folder))
  expect_identical(all, c("model.constants", "model.inputs", "model.mlir"))
  files <- list.files(folder, recursive = TRUE, full.names = TRUE)
  before <- lapply(files, bytes_of)
  broken <- program
  broken$constants[[1L]] <- structure(
    list(data = quote(x), dtype = "f32", shape = 1L, ambiguous = FALSE), class = class(nv_scalar(1))
  )
  expect_error(nv_write_stablehlo(broken, path), class = "anvil_error")
  expect_identical(lapply(files, bytes_of), before)
  expect_identical(sort(left_in(folder)), all)
  # Other files in a folder of that name are somebody's.
  writeLines("mine", file.path(folder, "model.inputs", "notes.txt"))
  expect_error(nv_write_stablehlo(program, path), "holds other files", class = "anvil_error_file")
  expect_identical(lapply(files, bytes_of), before)
  unlink(file.path(folder, "model.inputs", "notes.txt"))
  # Without tensors there are no folders afterwards.
  nv_write_stablehlo(stablehlo(function(x) x, nv_abstract("f32")), path)
  expect_identical(left_in(folder), "model.mlir")
})

test_that("paths that no file can have are refused", {
  bytes <- "caf\xe9"
  Encoding(bytes) <- "bytes"
  long <- strrep("a/", 3000)
  for (path in list(bytes, long)) {
    for (use in c(
      nv_read_npy, function(path) nv_write_npy(1, path), function(path) nv_write_stablehlo(program, path)
    )) {
      error <- expect_fields(use(path), "anvil_error_arg", arg = "path")
      expect_lt(nchar(conditionMessage(error)), 300)
    }
  }
  # No system has so long a name of one file.
  expect_error(nv_read_npy(strrep("a", 1000)), class = "anvil_error_file")
  expect_error(nv_write_npy(1, file.path(tempdir(), strrep("a", 1000))), class = "anvil_error_file")
})
