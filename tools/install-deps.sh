#!/bin/sh
# Installs from Debian what is missing on this machine, and nothing when all is there.
#   sh tools/install-deps.sh build   what installing anvil takes
#   sh tools/install-deps.sh test    and its tests, vignettes and R CMD check
#   sh tools/install-deps.sh cran    and what R CMD check --as-cran asks for besides
#   sh tools/install-deps.sh doc     and its help pages
#   sh tools/install-deps.sh site    and what makes the site and the cheat sheet
#   sh tools/install-deps.sh lint    and what reads the R sources
#   sh tools/install-deps.sh valgrind   and valgrind
#   sh tools/install-deps.sh debootstrap   and what makes a Debian of its own
#   sh tools/install-deps.sh python  and a Python of its own to compare with
# It looks for commands and R packages, not for Debian packages: R may come from anywhere.
cd "$(dirname "$0")/.." || exit 1
. tools/rust-path.sh
missing=""

need() { # command, Debian packages that have it
  command -v "$1" > /dev/null 2>&1 || missing="${missing} $2"
}
need make make
need xz xz-utils
need R r-base-core
# A compiler that cannot link a program (no C library to build against) is no compiler. R names its own, which need not
# be called cc.
compiler=$(R CMD config CC 2> /dev/null || echo cc)
# shellcheck disable=SC2086 # it may have options
echo 'int main(void) { return 0; }' | ${compiler:-cc} -include stdio.h -x c -o /dev/null - 2> /dev/null ||
  missing="${missing} gcc libc6-dev"

packages=""
if test "$1" = "cran"; then
  need checkbashisms devscripts
  need qpdf qpdf
  need tidy tidy
  set -- test
fi
if test "$1" = "test"; then packages="testthat withr knitr rmarkdown bit64 callr cli pillar vctrs Matrix"; fi
if test "$1" = "doc"; then packages="roxygen2"; fi
if test "$1" = "site"; then packages="pkgdown knitr rmarkdown yaml xml2 bit64 cli pillar vctrs"; fi
if test "$1" = "lint"; then packages="lintr"; fi
if test "$1" = "test" || test "$1" = "site"; then need pandoc pandoc; fi
# The fonts that the PDF of the cheat sheet embeds.
if test "$1" = "site" && ! test -f /usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf && test "$(uname)" = "Linux"; then
  missing="${missing} fonts-dejavu-core"
fi
if test "$1" = "valgrind"; then need valgrind valgrind; fi
if test "$1" = "debootstrap"; then need debootstrap debootstrap; fi
if test "$1" = "python" && ! python3 -c 'import ensurepip, venv' 2> /dev/null; then missing="${missing} python3-venv"; fi
if test -n "${packages}"; then
  absent=${packages}
  if command -v Rscript > /dev/null 2>&1; then
    # shellcheck disable=SC2086 # words are meant to split
    absent=$(Rscript --no-init-file -e 'for (p in commandArgs(TRUE)) if (system.file(package = p) == "") cat(p, "")' \
      ${packages})
  fi
  for package in $(echo "${absent}" | tr '[:upper:]' '[:lower:]'); do missing="${missing} r-cran-${package}"; done
fi

if ! cargo --version > /dev/null 2>&1 || ! rustc --version > /dev/null 2>&1; then
  oldest=$(sed -n 's/.*rustc (>= \([0-9.]*\)).*/\1/p' DESCRIPTION)
  echo "anvil needs cargo and rustc >= ${oldest}, which this script does not install: https://rustup.rs" >&2
  echo "(Debian 12 has them as cargo-web and rustc-web.)" >&2
  exit 1
fi
if test -z "${missing}"; then exit 0; fi

if ! command -v apt-get > /dev/null 2>&1; then
  echo "Missing:${missing} (names of Debian 12)." >&2
  echo "This system has no apt-get: please install them in its own way and try again." >&2
  exit 1
fi
if test "$(id -u)" -eq 0; then
  as_root=""
elif command -v sudo > /dev/null 2>&1 && { sudo -n true 2> /dev/null || test -t 0; }; then
  as_root="sudo" # asks for the password where somebody is there to type it
else
  echo "Missing:${missing}. Installing them takes root's rights; as root, run" >&2
  echo "  apt-get update && apt-get install --no-install-recommends${missing}" >&2
  exit 1
fi

echo "installing from Debian:${missing}"
# shellcheck disable=SC2086 # words are meant to split
${as_root} apt-get update -qq &&
  ${as_root} env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends ${missing} < /dev/null > /dev/null || {
  echo "apt-get could not install:${missing}" >&2
  exit 1
}
