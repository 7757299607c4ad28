#!/usr/bin/env bash
# Whether the Rust toolchain has a target; with INSTALL=1 it is installed first.
# usage: tests/has-target.sh TARGET
has() { [ -d "$(rustc --print sysroot)/lib/rustlib/$1/lib" ]; }
has "$1" || { [ "${INSTALL:-}" = 1 ] && rustup target add "$1" >&2; }
has "$1"
