#!/usr/bin/env bash
# Prints the packages and features that every step of the gate builds: all but the cluster, which has a step of its own (Ballista
# is as much to build as everything else). One set for every step: another one would build arrow again.
set -euo pipefail
cd "$(dirname "$0")/.."
features=$(${CARGO:-cargo} metadata --no-deps --locked --format-version 1 | python3 tests/features_without.py cluster colkit-cluster)
echo "--workspace --exclude colkit-cluster --no-default-features --features $features"
