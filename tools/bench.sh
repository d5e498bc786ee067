#!/bin/sh
# Measures: one call and promotion, then the table of workloads next to JAX, NumPy, PyTorch and base R.
#   sh tools/bench.sh           all of it, and writes bench/RESULTS.md
#   sh tools/bench.sh second    the same on a second machine: bench/RESULTS.md shows it beside what the first one measured
#   sh tools/bench.sh quick     a part of the table, to the console only, within 3 minutes
# Where no Python with a peer can be made, its columns stay empty. TORCH=1 gets PyTorch, too. ANVIL_PYTHON names a Python to use instead.
# ANVIL_BENCH_START is the Unix time at which the 3 minutes began.
cd "$(dirname "$0")/.." || exit 1
. tools/rust-path.sh
start=${ANVIL_BENCH_START:-$(date +%s)}

peers() { # seconds
  if test -n "${ANVIL_PYTHON}"; then return; fi
  sh tools/python-env.sh "$1" || return
  # Only if asked for: where pip is not told of wheels without GPU code, PyTorch takes gigabytes.
  if test "$2" = "torch" && test -n "${TORCH}" && ! .python/bin/python -c 'import torch' 2> /dev/null; then
    echo "getting PyTorch"
    .python/bin/pip install --quiet --disable-pip-version-check torch > .python/log 2>&1 || tail -n 1 .python/log
  fi
}

if test "$1" = "quick"; then
  peers 45
  # Rows that have begun go on after this, each for a few seconds; but some are measured even after a long build.
  now=$(date +%s)
  until=$((start + 150))
  if test "${until}" -lt $((now + 45)); then until=$((now + 45)); fi
  ANVIL_BENCH_UNTIL=${until} Rscript bench/table.R quick
  exit
fi

Rscript bench/calls.R || exit 1
cargo bench --quiet -p anvil-core --bench promotion || exit 1
echo
peers 600 torch
Rscript bench/table.R "$@"
