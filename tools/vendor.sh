#!/bin/sh
# Writes src/rust/vendor.tar.xz, src/rust/Cargo.lock, inst/AUTHORS and inst/COPYRIGHTS. Called by `cleanup` under R CMD build.
# Not meant for a checkout: with vendor.tar.xz in place every build is an offline build.
set -e
cd "$(dirname "$0")/.."
. tools/rust-path.sh
root=$(pwd)
work=$(mktemp -d)
trap 'rm -Rf "${work}"' EXIT

# Away from the workspace root, as in the tarball: cargo then drops from the lock what only the workspace
# needs (dev-dependencies of the core). Left in, they would make `cargo build --locked` refuse.
(cd src && tar -cf - --exclude=rust/target rust) | (cd "${work}" && tar -xf -)
cp Cargo.lock "${work}/rust/Cargo.lock"
cd "${work}/rust"
cargo vendor --quiet ../vendor > /dev/null
cp Cargo.lock "${root}/src/rust/Cargo.lock"

# One archive instead of a directory: no long paths on Windows, no hidden files for R CMD check to report.
# The same crates give the same bytes where tar is GNU's.
cd "${work}"
set --
if tar --version 2> /dev/null | grep -q GNU; then
  set -- --sort=name --mtime='2000-01-01 00:00Z' --owner=0 --group=0 --numeric-owner
fi
tar "$@" -cf vendor.tar vendor
xz -9e vendor.tar
mv vendor.tar.xz "${root}/src/rust/vendor.tar.xz"

# Last, so that a machine without jsonlite still gets its crates.
cargo metadata --quiet --offline --format-version 1 --manifest-path rust/Cargo.toml > metadata.json
mkdir -p "${root}/inst"
Rscript --no-init-file "${root}/tools/authors.R" metadata.json "${root}/inst"
