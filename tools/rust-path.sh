#!/bin/sh
# Read with `.` by the other scripts: rustup's default place comes last on the PATH, since R is often started
# by something that never read the user's shell profile.
PATH="${PATH}:${HOME}/.cargo/bin"
if test -n "${USERPROFILE}" && command -v cygpath > /dev/null 2>&1; then
  PATH="${PATH}:$(cygpath -u "${USERPROFILE}")/.cargo/bin"
fi
export PATH
