#!/bin/sh
# Compares colkit's AT-1 decoder with the reference decoder (crate `at1`), which needs liblzma-dev and libzstd-dev.
#   run.sh [ROUNDS] [SEED]     ROUNDS random inputs per codec (default 60)
# What cannot be had is said plainly, and is not a failure.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
oracle_target=${AT1_ORACLE_TARGET_DIR:-$target/at1-oracle}

skip() {
    echo "skipped: AT-1 comparison with the reference decoder: $1"
    exit 0
}

have_libraries() {
    printf '#include <lzma.h>\n#include <zstd.h>\nint main(void){return 0;}\n' |
        gcc -x c - -llzma -lzstd -o /dev/null 2>/dev/null
}

command -v gcc >/dev/null || skip "there is no gcc"
command -v python3 >/dev/null || skip "there is no python3"
if ! have_libraries; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        (apt-get update && apt-get install -y liblzma-dev libzstd-dev) >/dev/null 2>&1
    fi
    have_libraries || skip "liblzma-dev and libzstd-dev are missing and could not be installed"
fi
python=python3
if ! python3 -c 'import zstandard' 2>/dev/null; then
    venv="$oracle_target/venv"
    { python3 -m venv "$venv" && "$venv/bin/pip" install -q zstandard; } >/dev/null 2>&1 ||
        skip "the Python module zstandard is missing and could not be installed"
    python="$venv/bin/python"
fi
CARGO_TARGET_DIR="$oracle_target" cargo build -q --release --locked --manifest-path "$here/Cargo.toml" ||
    skip "the reference decoder could not be built"

cargo build -q --manifest-path "$root/Cargo.toml" -p colkit-at1 --example restore || exit 1
exec "$python" "$here/compare.py" "$target/debug/examples/restore" "$oracle_target/release/at1-oracle" \
    "$root/crates/colkit-at1/tests/data" "${1:-60}" "${2:-1}"
