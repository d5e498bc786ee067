#!/bin/sh
# Makes a Python of our own with jax in .python/, unless it is there; the package itself needs no Python. Says why it
# cannot, and fails then.
#   sh tools/python-env.sh          and takes the time that it needs
#   sh tools/python-env.sh 180      gives up after so many seconds
cd "$(dirname "$0")/.." || exit 1
python=.python/bin/python
if "${python}" -c 'import jax' 2> /dev/null; then exit 0; fi
sh tools/install-deps.sh python || exit 1
rm -Rf .python
make_it() {
  python3 -m venv .python && .python/bin/pip install --quiet --disable-pip-version-check 'jax>=0.10' > .python/log 2>&1
}
if test -n "$1"; then
  # In the background, so that a network that never answers does not keep us.
  make_it & job=$!
  waited=0
  while kill -0 "${job}" 2> /dev/null && test "${waited}" -lt "$1"; do
    sleep 1
    waited=$((waited + 1))
  done
  if kill -0 "${job}" 2> /dev/null; then
    kill "${job}"
    echo "no jax within $1 seconds" >&2
    exit 1
  fi
  wait "${job}"
else
  make_it
fi
if "${python}" -c 'import jax' 2> /dev/null; then exit 0; fi
echo "no jax: $(tail -n 1 .python/log 2> /dev/null)" >&2
rm -Rf .python
exit 1
