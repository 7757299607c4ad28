#!/usr/bin/env bash
# What the features of the crate `colkit` promise (docs/library.md):
#   - every feature alone, none and all compile without a warning;
#   - with these features it depends on so many crates, and never on what it should not.
# usage: tests/features.sh [counts|common]    `counts` only counts, which needs no compiler; `common` compiles five sets only
set -euo pipefail
cd "$(dirname "$0")/.."
CARGO=${CARGO:-cargo}

# Features, and how many crates they are at most, colkit included.
counts='
none 56
text 58
plain 59
arrow-ipc 65
lance 75
parquet 75
at1 67
lance,fs,threads,zstd 82
'
# What no program needs that only reads files.
unwanted='^(async-.*|datafusion.*|hyper|object_store|reqwest|rustls|tokio) '

crates_with() {
  $CARGO tree --locked -p colkit -e normal --no-default-features --features "$1" --target x86_64-unknown-linux-gnu \
    --prefix none --no-dedupe --format '{p}' | cut -d' ' -f1,2 | sort -u
}

while read -r features most; do
  [ -n "$features" ] || continue
  found=$(crates_with "${features#none}")
  number=$(echo "$found" | wc -l)
  echo "count: colkit with $features, $number crates"
  if [ "$number" -gt "$most" ]; then
    echo "error: expected at most $most crates with $features, found $number" >&2
    exit 1
  fi
  if echo "$found" | grep -E "$unwanted" >&2; then
    echo "error: $features should not bring the crates above" >&2
    exit 1
  fi
done <<< "$counts"
[ "${1:-}" != counts ] || exit 0

# Those that need the same parts of arrow follow each other: it is checked once for each set of them. Object stores are built
# with the whole workspace.
sets='none fs mmap threads plain plain,fs,libdeflate lance lance,pure extended-read extended lance,fs,threads,zstd text at1 at1,pure
  arrow-ipc parquet default,pure'
[ "${1:-}" != common ] || sets='none plain,fs,libdeflate lance,pure lance,fs,threads,zstd default,pure'
for features in $sets; do
  echo "check: colkit with $features"
  # Quiet means that there are no warnings either.
  output=$($CARGO check --locked --quiet -p colkit --no-default-features --features "${features#none}" 2>&1) &&
    [ -z "$output" ] && continue
  echo "$output" >&2
  exit 1
done
