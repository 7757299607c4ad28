#!/bin/sh
# Compares colkit's AT-1 decoder with the reference decoder (crate `at1`), which needs liblzma-dev and libzstd-dev.
#   run.sh [ROUNDS] [SEED]     ROUNDS random inputs per codec (default 60)
# What cannot be had is said plainly, and is not a failure.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
oracle_target=${AT1_ORACLE_TARGET_DIR:-$target/at1-oracle}

. "$here/need.sh"
command -v python3 >/dev/null || skip "there is no python3"
python=python3
if ! python3 -c 'import zstandard' 2>/dev/null; then
    venv="$oracle_target/venv"
    { python3 -m venv "$venv" && "$venv/bin/pip" install -q zstandard; } >/dev/null 2>&1 ||
        skip "the Python module zstandard is missing and could not be installed"
    python="$venv/bin/python"
fi

# The features of the whole workspace, so that nothing is built twice.
cargo build -q --locked --manifest-path "$root/Cargo.toml" --workspace --all-features --example restore || exit 1
exec "$python" "$here/compare.py" "$target/debug/examples/restore" "$oracle_target/release/at1-oracle" \
    "$root/crates/colkit-at1/tests/data" "${1:-60}" "${2:-1}"
