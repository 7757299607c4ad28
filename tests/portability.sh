#!/usr/bin/env bash
# The library for systems that this machine is not: the web, Windows, macOS. Type-checked only, and without the codecs in C,
# whose build scripts would need a C compiler for each of them.
# usage: tests/portability.sh    INSTALL=1 adds targets that the Rust toolchain lacks
set -euo pipefail
cd "$(dirname "$0")/.."
CARGO=${CARGO:-cargo}

# In a browser there are no files, no threads and no C.
web=at1,lance,plain,pure
# Parquet and Arrow files need zstd in C, and packing AT-1 xz: they are checked on Linux alone.
desktop=at1,chrono-tz,fs,lance,mmap,plain,prettyprint,pure,text,threads

check() {
  if ! tests/has-target.sh "$1"; then
    tests/skip.sh portability "the target $1 is not installed (rustup target add $1, or INSTALL=1)"
    return
  fi
  echo "check: colkit for $1 with $2"
  output=$($CARGO check --locked --quiet -p colkit --no-default-features --features "$2" --target "$1" 2>&1) &&
    [ -z "$output" ] && return
  echo "$output" >&2
  exit 1
}

check wasm32-unknown-unknown $web
check x86_64-pc-windows-msvc $desktop
check aarch64-apple-darwin $desktop
