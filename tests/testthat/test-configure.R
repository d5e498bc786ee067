# `configure` says what is missing before anything is compiled. It is not part of an installed package.

configured <- function(versions, archive = FALSE) {
  root <- test_path("..", "..")
  skip_if_not(file.exists(file.path(root, "configure")), "no sources here")
  skip_on_os("windows")
  folder <- withr::local_tempdir()
  for (part in c("tools", "src/rust", "bin")) dir.create(file.path(folder, part), recursive = TRUE)
  file.copy(file.path(root, c("configure", "DESCRIPTION")), folder)
  file.copy(file.path(root, "tools", "rust-path.sh"), file.path(folder, "tools"))
  file.copy(file.path(root, "src", "Makevars.in"), file.path(folder, "src"))
  if (archive) file.create(file.path(folder, "src", "rust", "vendor.tar.xz"))
  # A PATH of nothing but what is given here, programs that say their version, and what the script needs.
  for (name in names(versions)) {
    path <- file.path(folder, "bin", name)
    writeLines(c("#!/bin/sh", paste0("echo '", versions[[name]], "'")), path)
    Sys.chmod(path, "755")
  }
  for (name in c("sed", "cat", "uname")) file.symlink(Sys.which(name), file.path(folder, "bin", name))
  withr::local_envvar(PATH = file.path(folder, "bin"), HOME = folder)
  withr::local_dir(folder)
  out <- suppressWarnings(system2("/bin/sh", "./configure", stdout = TRUE, stderr = TRUE))
  list(text = paste(out, collapse = "\n"), status = attr(out, "status") %||% 0L)
}

test_that("configure names what is missing", {
  rust <- c(cargo = "cargo 1.99.0", rustc = "rustc 1.99.0 (x)")
  refused <- function(...) {
    out <- configured(...)
    expect_identical(out$status, 1L)
    out$text
  }
  none <- "Neither the PATH nor ~/.cargo/bin has a cargo and a rustc that run."
  expect_match(refused(c()), none, fixed = TRUE)
  expect_match(refused(rust["cargo"]), none, fixed = TRUE)
  old <- refused(replace(rust, "rustc", "rustc 1.63.0 (x)"))
  expect_match(old, "version 1.85 or newer", fixed = TRUE)
  expect_match(old, "The one found is rustc 1.63.0 (x).", fixed = TRUE)
  expect_match(refused(rust, archive = TRUE), "the PATH has no xz that runs", fixed = TRUE)
  expect_identical(configured(c(rust, xz = "xz 5.4.1"), archive = TRUE)$status, 0L)
  expect_identical(configured(rust)$status, 0L)
})
