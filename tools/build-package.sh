#!/bin/sh
# Writes the source tarball of the package into a folder.
#   sh tools/build-package.sh folder [options of R CMD build]
# From a copy without what was built here: R CMD build copies gigabytes of it before it leaves them out.
set -e
folder=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/.."
. tools/rust-path.sh
work=$(mktemp -d)
trap 'rm -Rf "${work}"' EXIT
mkdir "${work}/anvil"
tar -cf - --exclude=./target --exclude=./src/rust/target --exclude=./.lib --exclude=./.python --exclude=./.git . |
  tar -xf - -C "${work}/anvil"
cd "${folder}"
R CMD build "$@" "${work}/anvil"
