#!/bin/sh
# Builds src/libanvil.a. Called in src/ by Makevars; `build-rust.sh tidy anvil.so` runs after linking.
#
# rust/vendor.tar.xz is the one switch:
#   there (source tarball)  offline, two jobs, its own cargo home, everything but the shared library removed after
#   absent (checkout)       the user's cargo home, incremental, rust/target stays
#
# ANVIL_TARGET_DIR   build directory, if it shall be outside of the package
# ANVIL_DEBUG        any value: a debug build
set -e
src=$(pwd)
target=${ANVIL_TARGET_DIR:-"${src}/rust/target"}

if test "$1" = "tidy"; then
  # R >= 4.5 inspects static libraries named in PKG_LIBS and reports Rust's `abort`; linked, it is not needed.
  if test -f rust/vendor.tar.xz; then
    rm -Rf libanvil.a .cargo vendor "${src}/rust/target"
    # Names of hidden functions, for profilers of a checkout: the linker has no option to drop them and keep the others.
    if test "$(uname -s)" = "Linux"; then strip -x "$2" || true; fi
  fi
  exit 0
fi

. ../tools/rust-path.sh
# Settings of an enclosing make or cargo: no job server to talk to, no other place for the result.
unset MAKEFLAGS MFLAGS MAKELEVEL CARGO_MAKEFLAGS CARGO_BUILD_TARGET

# The tarball has no workspace root, hence the profile of the top-level Cargo.toml is repeated here.
set -- --lib --manifest-path "${src}/rust/Cargo.toml" --target-dir "${target}" \
  --config 'profile.release.lto="off"' --config 'profile.release.codegen-units=1'
profile=release
if test -n "${ANVIL_DEBUG}"; then profile=debug; else set -- "$@" --release; fi

case "$(uname -s)" in
  MINGW* | MSYS* | UCRT*)
    # Rtools links with these names and has no libgcc_eh, which Rust asks for: an empty one will do.
    case "$(uname -m)" in
      aarch64 | arm64)
        triple=aarch64-pc-windows-gnullvm
        export CARGO_TARGET_AARCH64_PC_WINDOWS_GNULLVM_LINKER=clang
        ;;
      *)
        triple=x86_64-pc-windows-gnu
        export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER=x86_64-w64-mingw32.static.posix-gcc.exe
        ;;
    esac
    mkdir -p "${target}/libgcc_mock"
    touch "${target}/libgcc_mock/libgcc_eh.a"
    export LIBRARY_PATH="${LIBRARY_PATH};${target}/libgcc_mock"
    set -- "$@" --target "${triple}"
    profile="${triple}/${profile}"
    ;;
  Emscripten)
    echo "anvil does not build for WebAssembly: it needs panics that unwind" >&2
    exit 1
    ;;
esac

if test -f rust/vendor.tar.xz; then
  export CARGO_HOME="${src}/.cargo"
  rm -Rf vendor
  xz -dc rust/vendor.tar.xz | tar -xf -
  set -- "$@" -j 2 --locked --offline --config 'source.crates-io.replace-with="vendored"' \
    --config "source.vendored.directory=\"${src}/vendor\""
fi

cargo build "$@"
cp "${target}/${profile}/libanvil.a" libanvil.a
