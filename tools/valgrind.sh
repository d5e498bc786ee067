#!/bin/sh
# Runs random programs under valgrind: every read and write of a kernel outside of its memory, and every decision on bytes
# that nobody wrote, is an error.
#   sh tools/valgrind.sh [programs]
# valgrind knows AVX2 and tells programs that there is no more; both levels below it are run.
cd "$(dirname "$0")/.." || exit 1
. tools/rust-path.sh
sh tools/install-deps.sh valgrind || exit 1
cargo test --quiet -p anvil-core --test levels --no-run || exit 1
binary=$(cargo test -p anvil-core --test levels --no-run 2>&1 | sed -n 's/.*Executable.*(\(.*\))$/\1/p')
for level in avx2 portable; do
  for threads in 1 2; do
    echo "valgrind: ${level}, ${threads} threads"
    ANVIL_SIMD=${level} ANVIL_NUM_THREADS=${threads} ANVIL_PROGRAMS=${1:-60} \
      valgrind --quiet --error-exitcode=1 --fair-sched=yes "${binary}" --ignored --exact print_fingerprints > /dev/null || exit 1
  done
done
echo "no errors"
