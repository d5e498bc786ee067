#!/bin/sh
# Rust tests on 64-bit ARM, which an emulator runs: kernels, native code, and what holds programs to the interpreter.
#   sh tools/check-arm.sh              those that depend on the processor
#   sh tools/check-arm.sh "OPTIONS"    `cargo test` with these options, such as "-p anvil-core --test threads"
# They are compiled by the Debian that has Rust as old as DESCRIPTION allows, beside the standard library for ARM.
# Takes root's rights, and 3 GB, as tools/check-r-next.sh does. The last line is the verdict.
check=check-arm
suite=trixie

cd "$(dirname "$0")/.." || exit 1
. tools/rust-path.sh
system=${XDG_CACHE_HOME:-${HOME}/.cache}/anvil/${suite}-arm64
. tools/debian-system.sh

make_system
copy_checkout

target=aarch64-unknown-linux-gnu
missing() { inside "which cargo ip qemu-aarch64 aarch64-linux-gnu-gcc > /dev/null && test -d /usr/lib/rustlib/${target}"; }
if ! missing > /dev/null 2>&1; then
  echo "== packages of ${suite}"
  inside "dpkg --add-architecture arm64 && apt-get update -qq && apt-get install -y -qq --no-install-recommends \
    cargo rustc gcc libc6-dev iproute2 gcc-aarch64-linux-gnu libc6-dev-arm64-cross libstd-rust-dev:arm64 qemu-user > /dev/null" &&
    missing || verdict "packages of ${suite} cannot be installed" 1
fi

echo "== crates"
fetch_crates

emulated="CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
  CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER='qemu-aarch64 -L /usr/aarch64-linux-gnu'"
tests() { # options of cargo test
  offline "cd anvil && env ${emulated} cargo test --no-fail-fast --locked --offline --target ${target} ${vendored} $1"
}
if test -n "$1"; then
  tests "$1"
  verdict "status $? of cargo test $1" "$?"
fi

log="${system}/work/arm.log"
echo "== tests (${log})"
: > "${log}"
status=0
# Not levels: it starts processes of its own, which the emulator would leave to the processor.
for options in "-p anvil-kernels" "-p anvil-core --lib" \
  "-p anvil-core --test graphs --test groups --test programs --test native_loops --test native_parts --test native_nested --test native_lanes --test native_abreast --test native_vectors --test native_places --test picks --test math --test control"; do
  tests "--quiet ${options}" >> "${log}" 2>&1 || status=1
done
rust=$(awk '/^test result: / { passed += $4; failed += $6 } END { printf "%d passed, %d failed", passed, failed }' "${log}")
if test "${status}" -ne 0; then
  tail -n 60 "${log}"
  verdict "FAILED, ${rust} (${log})" 1
fi
verdict "passed, ${rust}" 0
