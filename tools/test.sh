#!/bin/sh
# Runs everything: Rust tests, installation, R tests, vignettes. The last line is always "N passed, N failed",
# and the exit status is 1 when something failed. A step that breaks as a whole counts as one failure.
cd "$(dirname "$0")/.." || exit 1
. tools/rust-path.sh
lib="$(pwd)/.lib"
work=$(mktemp -d)
trap 'rm -Rf "${work}"' EXIT
passed=0
failed=0
start=$(date +%s)

# A heading, and the seconds so far.
part() { echo "== $1 ($(($(date +%s) - start)) s)"; }

finish() {
  part "all"
  echo "${passed} passed, ${failed} failed"
  test "${failed}" -eq 0
  exit
}

sh tools/install-deps.sh test || { failed=1; finish; }

# Nothing is built again there: what cargo keeps for that takes time and space.
if test -n "${CI}"; then export CARGO_INCREMENTAL=0; fi

part "Rust"
# On the build machine a Cargo.lock that does not fit the manifests is an error; by hand cargo corrects it.
cargo test --quiet --no-fail-fast ${CI:+--locked} -p anvil-core -p anvil-kernels > "${work}/rust" 2>&1
status=$?
cat "${work}/rust"
passed=$(awk '/^test result: / { n += $4 } END { print n + 0 }' "${work}/rust")
failed=$(awk '/^test result: / { n += $6 } END { print n + 0 }' "${work}/rust")
# No compilation, or a test that took the process down: no line of results tells of those.
if test "${status}" -ne 0 && test "${failed}" -eq 0; then failed=1; fi

# The package needs no Python; where one with jax can be made, it judges what each op means. That takes one core, and the
# installation another.
crosscheck=""
if reason=$(sh tools/python-env.sh 180 2>&1); then
  # R's tests and the vignettes use it as well.
  ANVIL_PYTHON="$(pwd)/.python/bin/python"
  export ANVIL_PYTHON
  sh tools/crosscheck.sh 300 > "${work}/crosscheck" 2>&1 &
  crosscheck=$!
fi

part "installation"
mkdir -p "${lib}"
R_LIBS="${lib}${R_LIBS:+:${R_LIBS}}"
export R_LIBS
# From the source tarball, offline: what is tested is what users install.
{ sh tools/build-package.sh "${work}" --no-build-vignettes &&
  R CMD INSTALL --library="${lib}" "${work}"/anvil_*.tar.gz; } > "${work}/install" 2>&1
installed=$?

part "XLA as the second opinion"
if test -n "${crosscheck}"; then
  wait "${crosscheck}"
  status=$?
  grep -v '^$' "${work}/crosscheck" | tail -n 40
  if test "${status}" -eq 0; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
else
  echo "not compared: ${reason}"
fi

if test "${installed}" -ne 0; then
  echo "no installation:"
  tail -n 80 "${work}/install"
  failed=$((failed + 1))
  finish
fi

part "lint"
# Behind the installation: lintr asks the installed package for its functions.
lint=lint
if ! cargo clippy --version > /dev/null 2>&1 || ! cargo fmt --version > /dev/null 2>&1; then
  echo "Rust not looked at: there is no clippy or no rustfmt"
  lint=lint-r
fi
if make --no-print-directory "${lint}"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi

part "R"
# The counts come through a file, so that R dying on the way cannot pass for success.
Rscript .ci/testthat.R "${work}/counts"
status=$?
r_passed=0
r_failed=1
if test "${status}" -eq 0 && test -f "${work}/counts"; then read -r r_passed r_failed < "${work}/counts"; fi
passed=$((passed + r_passed))
failed=$((failed + r_failed))

part "fuzz"
# The short form of `make fuzz`, the same cases each time; the R tests have that of interrupts.
if Rscript tests/fuzz/run.R seed=1 cases=2000 only=calls,files,objects,programs > "${work}/fuzz" 2>&1; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
tail -n 80 "${work}/fuzz"

part "vignettes"
# In a copy, since rendering writes figures next to the source; each in an R of its own, as R CMD build does, two at a time.
cp -R vignettes "${work}/vignettes"
find "${work}/vignettes" -name '*.Rmd' | sort | xargs -P 2 -I '{}' sh -c '
  if Rscript -e "rmarkdown::render(commandArgs(TRUE), envir = new.env(), quiet = TRUE)" "$1" > "$1.log" 2>&1; then
    touch "$1.done"
  fi' sh '{}'
for vignette in "${work}"/vignettes/*.Rmd; do
  test -f "${vignette}" || continue
  if test -f "${vignette}.done"; then
    passed=$((passed + 1))
  else
    echo "FAILED: ${vignette##*/}"
    tail -n 80 "${vignette}.log"
    failed=$((failed + 1))
  fi
done

finish
