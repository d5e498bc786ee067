#!/bin/sh
# Runs random programs in anvil's reference interpreter and in XLA, and compares every value; then a tenth as many that
# anvil has transformed (derivatives and batches) beside those that JAX has.
#   sh tools/crosscheck.sh [programs [first seed]]
#   sh tools/crosscheck.sh values                    writes tests/testdata/xla/values.csv
cd "$(dirname "$0")/.." || exit 1
. tools/rust-path.sh
sh tools/python-env.sh || exit 1
test=random_programs_mean_the_same
if test "$1" = "values"; then
  test=write_values
  shift
fi
ANVIL_PYTHON="$(pwd)/.python/bin/python" ANVIL_CROSSCHECK="${1:-20000}" ANVIL_CROSSCHECK_SEED="${2:-1}" \
  cargo test --quiet -p anvil-core --test crosscheck -- --ignored --nocapture --test-threads=1 "${test}"
