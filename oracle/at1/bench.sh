#!/bin/bash
# Speed of restoring, against the reference decoder, in one run: bench.sh [MEGABYTES] [TIMES]
# For the reference, for us on one thread and on all: best wall time of TIMES runs, and CPU time (user + sys) per run.
# Wall times mean something only on a quiet machine, so the load is printed too; CPU times hold in any case.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
oracle_target=${AT1_ORACLE_TARGET_DIR:-$target/at1-oracle}
files=${AT1_BENCH_FILES:-$target/at1-bench}
megabytes=${1:-200}
times=${2:-3}
threads=$(nproc)
TIMEFORMAT='%U %S'

. "$here/need.sh"
cargo build -q --release --manifest-path "$root/Cargo.toml" -p colkit-at1 --example restore --example bench_files
mkdir -p "$files"
[ -f "$files/streaming-zstd.at1" ] || "$target/release/examples/bench_files" "$files" "$megabytes"
scratch=$(mktemp)
trap 'rm -f "$scratch"' EXIT

# Best wall seconds and CPU seconds per run of a program that prints its best time.
measure() {
    local cpu
    cpu=$({ time "$@" >"$scratch"; } 2>&1)
    echo "$(cut -d' ' -f1 "$scratch") $(echo "$cpu" | awk -v n="$times" '{ printf "%.3f", ($1 + $2) / n }')"
}

echo "load before: $(cut -d' ' -f1-3 /proc/loadavg), $threads cores"
printf '%-16s %21s %21s %21s %9s %9s\n' file "reference wall/cpu" "1 thread wall/cpu" "$threads threads wall/cpu" cpu-ratio "wall-ratio"
for file in "$files"/*.at1; do
    read -r rw rc <<<"$(measure "$oracle_target/release/at1-oracle" time "$times" "$file")"
    read -r ow oc <<<"$(measure "$target/release/examples/restore" time "$times" 1 "$file")"
    read -r mw mc <<<"$(measure "$target/release/examples/restore" time "$times" "$threads" "$file")"
    awk -v n="$(basename "$file" .at1)" -v rw="$rw" -v rc="$rc" -v ow="$ow" -v oc="$oc" -v mw="$mw" -v mc="$mc" 'BEGIN {
        printf "%-16s %11.2f /%8.2f %11.2f /%8.2f %11.2f /%8.2f %9.2f %9.2f\n", n, rw, rc, ow, oc, mw, mc, rc / oc, rw / mw }'
done
echo "load after: $(cut -d' ' -f1-3 /proc/loadavg); cpu-ratio: reference / 1 thread; wall-ratio: reference / $threads threads"
