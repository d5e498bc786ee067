#!/bin/sh
# The source package in the next stable Debian, whose R and Rust are newer and older than those that most of us have:
# Rust tests, installation, R tests, and `R CMD check --as-cran`, all without a network. The last line is the verdict.
#   sh tools/check-r-next.sh           everything
#   sh tools/check-r-next.sh compare   only the R tests whose files match, on a debug build
# SUITE=sid in the environment takes another suite of Debian, such as that with the newest R.
# Takes root's rights, and 3 GB: the system is kept in ${XDG_CACHE_HOME:-~/.cache}/anvil, and what was compiled in it.
check=check-r-next
suite=${SUITE:-trixie}

cd "$(dirname "$0")/.." || exit 1
. tools/rust-path.sh
system=${XDG_CACHE_HOME:-${HOME}/.cache}/anvil/${suite}
. tools/debian-system.sh

make_system test
copy_checkout

missing() { inside "which cargo rustc ip checkbashisms tidy qpdf > /dev/null && cd anvil && sh tools/install-deps.sh test"; }
if ! missing > /dev/null 2>&1; then
  echo "== packages of ${suite}"
  inside "apt-get update -qq && apt-get install -y -qq --no-install-recommends cargo rustc iproute2 devscripts tidy qpdf > /dev/null" &&
    missing || verdict "packages of ${suite} cannot be installed" 1
fi
versions=$(inside "R --version | sed -n '1s/^R version \([0-9.]*\).*/R \1/p'; rustc --version | cut -d' ' -f1,2" | paste -sd, | sed 's/,/, /')
oldest=$(sed -n 's/.*rustc (>= \([0-9.]*\)).*/\1/p' DESCRIPTION)
case "${versions}" in
  *"rustc ${oldest}."*) ;;
  *) echo "note: this is not rustc ${oldest}, the oldest that DESCRIPTION allows" ;;
esac

echo "== crates"
fetch_crates
rm -Rf "${system}/work/anvil.Rcheck"

if test -n "$1"; then
  echo "== installation"
  # A tarball's own folder of crates; without it, cargo would ask the network.
  mkdir -p "${source}/.cargo"
  printf '[source.crates-io]\nreplace-with = "vendored"\n[source.vendored]\ndirectory = "/work/vendor"\n' > "${source}/.cargo/config.toml"
  offline "mkdir -p lib && ANVIL_DEBUG=1 CARGO_PROFILE_DEV_OPT_LEVEL=1 R CMD INSTALL --no-docs --no-test-load --library=lib anvil" \
    > "${system}/work/install.log" 2>&1 || { tail -n 40 "${system}/work/install.log"; verdict "${versions}: not installed" 1; }
  offline "cd anvil && R_LIBS=/work/lib Rscript -e 'testthat::test_local(\".\", filter = \"$1\", reporter = \"check\", load_package = \"installed\")'"
  verdict "${versions}: status $? of the R tests that match $1" "$?"
fi

echo "== Rust tests"
offline "cd anvil && cargo test --quiet --no-fail-fast --locked --offline -p anvil-core -p anvil-kernels ${vendored}" > "${system}/work/rust.log" 2>&1
rust_status=$?
rust=$(awk '/^test result: / { passed += $4; failed += $6 } END { printf "%d passed, %d failed", passed, failed }' "${system}/work/rust.log")
if test "${rust_status}" -ne 0; then tail -n 60 "${system}/work/rust.log"; fi

echo "== source package"
(cd "${system}/work" && rm -f anvil_*.tar.gz && R CMD build anvil > build.log 2>&1) ||
  { tail -n 40 "${system}/work/build.log"; verdict "R CMD build failed" 1; }

echo "== R CMD check --as-cran"
# A clock and the archive are on the network. There is no LaTeX, hence no manual.
offline "_R_CHECK_CRAN_INCOMING_REMOTE_=false _R_CHECK_SYSTEM_CLOCK_=false _R_CHECK_TESTS_NLINES_=0 \
  R CMD check --as-cran --no-manual anvil_*.tar.gz"
check_status=$?
log="${system}/work/anvil.Rcheck/00check.log"
# A failed test has its output in another file than one that passed.
r=$(cat "${system}"/work/anvil.Rcheck/tests/testthat.Rout* 2> /dev/null | sed -n 's/^\[ \(FAIL.*PASS.*\) \]$/\1/p' | tail -n 1)
status=$(sed -n 's/^Status: //p' "${log}")
summary="${versions}: Rust tests ${rust}; R tests ${r:-not run}; R CMD check ${status:-broke off}"
if test "${rust_status}" -ne 0 || test "${check_status}" -ne 0 || ! echo "${r}" | grep -q '^FAIL 0 ' ||
  echo "${status:-ERROR}" | grep -Eq 'ERROR|WARNING'; then
  verdict "FAILED, ${summary} (${log})" 1
fi
verdict "passed, ${summary}" 0
