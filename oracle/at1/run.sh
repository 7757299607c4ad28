#!/bin/sh
# Compares colkit's AT-1 decoder with the reference decoder (crate `at1`).
#   run.sh [ROUNDS] [SEED]     ROUNDS random inputs per codec (default 60)
# PYTHON is a Python with the module zstandard, by default the one of `make interop`.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
oracle_target=${AT1_ORACLE_TARGET_DIR:-$target/at1-oracle}
. "$here/need.sh"

# The features of the whole workspace, so that nothing is built twice.
cargo build -q --locked --manifest-path "$root/Cargo.toml" --workspace --all-features --example restore || exit 1
exec "${PYTHON:-$root/.venv/bin/python}" "$here/compare.py" "$target/debug/examples/restore" \
    "$oracle_target/release/at1-oracle" "$root/crates/colkit-at1/tests/data" "${1:-60}" "${2:-1}"
