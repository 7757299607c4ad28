#!/bin/sh
# Speed of restoring, against the reference decoder, in one run: bench.sh [MEGABYTES] [TIMES]
# Prints seconds (best of TIMES) for the reference, for us on one thread and on all, and the ratios.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
oracle_target=${AT1_ORACLE_TARGET_DIR:-$target/at1-oracle}
files=${AT1_BENCH_FILES:-$target/at1-bench}
megabytes=${1:-200}
times=${2:-3}
threads=$(nproc)

CARGO_TARGET_DIR="$oracle_target" cargo build -q --release --manifest-path "$here/Cargo.toml"
cargo build -q --release --manifest-path "$root/Cargo.toml" -p colkit-at1 --example restore --example bench_files
mkdir -p "$files"
[ -f "$files/streaming-zstd.at1" ] || "$target/release/examples/bench_files" "$files" "$megabytes"
printf '%-20s %10s %10s %10s %8s %8s\n' file reference 1-thread "$threads-threads" ratio-1 "ratio-$threads"
for file in "$files"/*.at1; do
    reference=$("$oracle_target/release/at1-oracle" time "$times" "$file" | cut -d' ' -f1)
    one=$("$target/release/examples/restore" time "$times" 1 "$file" | cut -d' ' -f1)
    many=$("$target/release/examples/restore" time "$times" "$threads" "$file" | cut -d' ' -f1)
    awk -v n="$(basename "$file" .at1)" -v r="$reference" -v o="$one" -v m="$many" \
        'BEGIN { printf "%-20s %10.3f %10.3f %10.3f %8.2f %8.2f\n", n, r, o, m, r / o, r / m }'
done
