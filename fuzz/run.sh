#!/usr/bin/env bash
# Runs the fuzz targets, JOBS at a time (default: one for each core), and prints how many inputs were tried: now, and since
# the last finding.
#   run.sh [SECONDS] [TARGET...]     SECONDS for each target (default 60); all targets unless some are named
#   run.sh --replay [TARGET...]      for the gate: the vectors and fuzz/corpus as they are, and nothing else
# Needs the nightly toolchain, which is installed with INSTALL=1. Without it, the part is skipped (see tests/skip.sh).
#
# `cargo +nightly fuzz run TARGET` works too. It instruments all crates; here only our own are, which takes a third of
# the time to build, and libFuzzer then looks for new paths in what is ours.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
# Beside the other builds, outside of the checkout if they are.
target=${CARGO_TARGET_DIR:-$root/target}/fuzz
if [ "${1:-}" = --replay ]; then
    corpora=replay
    extent=(-runs=0)
    rm -rf "${target:?}/$corpora"
    shift
else
    corpora=corpus
    extent=(-max_total_time="${1:-60}")
    shift || true
fi

if ! cargo +nightly --version >/dev/null 2>&1; then
    if [ "${INSTALL:-}" = 1 ]; then
        rustup toolchain install nightly --profile minimal || exit 1
    else
        exec "$root/tests/skip.sh" fuzz "there is no nightly toolchain (rustup toolchain install nightly)"
    fi
fi
cd "$root" || exit 1
flags=(-Zsanitizer=address -Cpasses=sancov-module --cfg fuzzing)
for option in level=4 inline-8bit-counters pc-table trace-compares; do
    flags+=("-Cllvm-args=-sanitizer-coverage-$option")
done
instrumented=$(printf '"%s",' "${flags[@]}")
config=()
for crate in colkit-core colkit-plain colkit-at1 colkit-lance colkit-interop colkit-plugin colkit-fuzz; do
    config+=(--config "profile.release.package.$crate.rustflags=[${instrumented%,}]")
done
host=$(rustc -vV | sed -n 's/^host: //p')
CPATH=$(oracle/at1/headers.sh fuzz/Cargo.toml) || exit 1
export CPATH
cargo +nightly build -Zprofile-rustflags "${config[@]}" --manifest-path fuzz/Cargo.toml --target-dir "$target" \
    --locked --release --target "$host" --bins --features reference || exit 1
built=$target/$host/release

# Small vectors are where changes start from; what was found before lies in fuzz/corpus.
vectors() {
    case $1 in
    gppcol | cff | colfile) find crates/colkit-plain/tests/data -name "*.$1" -size -40k ;;
    at1 | at1_restore) find crates/colkit-at1/tests/data -name '*.at1' -size -40k ;;
    lance) find crates/colkit-lance/tests/data -name '*.lance' -type f -size -40k ;;
    lance_dataset)
        find crates/colkit-lance/tests/data/datasets -type f -size -40k \
            \( -name '*.manifest' -o -name '*.txn' -o -path '*/_deletions/*' \)
        ;;
    csv) find crates/colkit-interop/tests/data/csv -name '*.csv' -size -40k ;;
    plugin) find crates/colkit-plugin/tests/data -name '*.wasm' ;;
    at1_pack) find crates/colkit-at1/tests/data -name '*.orig' -type f -size -8k ;;
    esac
}

targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(ls fuzz/targets | sed 's/\.rs$//')

# What was tried before lies beside the corpora: one number for each target, which starts again with a finding. The gate's
# inputs are the same for the same build, so they do not count.
tally() {
    local file=$target/tally/$1
    if [ "$2" = finding ]; then
        echo 0 >"$file"
    elif [ $corpora = corpus ]; then
        echo $(($(cat "$file" 2>/dev/null || echo 0) + $2)) >"$file"
    fi
    cat "$file" 2>/dev/null || echo 0
}

try() {
    local name=$1 seeds=$target/seeds/$1 corpus=$target/$corpora/$1 log=$target/$1.log
    rm -rf "$seeds"
    mkdir -p "$seeds" "$corpus" "fuzz/corpus/$name"
    vectors "$name" | while read -r file; do cp "$file" "$seeds/$(echo "$file" | tr / _)"; done
    # The reference decoder leaks memory of its own, and would be stopped for it before anything else is tried.
    local leaks=1
    case $name in at1_restore | at1_pack) leaks=0 ;; esac
    # Freed memory is kept from use for a while, to notice who still uses it. Megabytes of that are fresh pages for each
    # input, which takes longer than the input; a few suffice.
    local -x ASAN_OPTIONS=detect_odr_violation=0:allocator_may_return_null=1:quarantine_size_mb=4:detect_leaks=$leaks
    local bounds=(-timeout=20 -rss_limit_mb=1024 -malloc_limit_mb=400) code runs all slow
    "$built/$name" "$corpus" "$seeds" "fuzz/corpus/$name" "${extent[@]}" "${bounds[@]}" -max_len=40960 \
        -artifact_prefix="$target/found/$name-" -print_final_stats=1 >"$log" 2>&1
    code=$?
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    # The clock goes on while a machine sleeps or a process is stopped: what takes too long must do so again.
    slow=$(sed -n 's/.*Test unit written to \(.*-timeout-.*\)/\1/p' "$log")
    if [ -n "$slow" ] && "$built/$name" "${bounds[@]}" "$slow" >>"$log" 2>&1; then
        rm "$slow"
        code=0
    fi
    if [ $code = 0 ]; then
        all=$(tally "$name" "$runs")
        printf '%-14s %10s inputs tried, no finding (%s since the last)\n' "$name" "$runs" "$all"
    else
        all=$(tally "$name" finding)
        printf '%-14s %10s inputs tried, A FINDING: %s\n' "$name" "${runs:-?}" "$log"
    fi
    echo "${runs:-0} $code" >"$results/$name"
}

results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
mkdir -p "$target/tally" "$target/found"
for name in "${targets[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge "${JOBS:-$(nproc)}" ]; do wait -n; done
    try "$name" &
done
wait
tried=0 findings=0 since=0
for name in "${targets[@]}"; do
    read -r runs code <"$results/$name"
    tried=$((tried + runs))
    [ "$code" = 0 ] || findings=$((findings + 1))
done
for file in "$target"/tally/*; do since=$((since + $(cat "$file" 2>/dev/null || echo 0))); done
echo "$tried inputs tried, $findings findings; since the last finding of each target $since in all"
[ $findings = 0 ]
