#!/usr/bin/env bash
# Builds the modules that files bring along again, and compares what they do with the decoders in the program. Then reads such files with a
# build that has none of these decoders.
# usage: tests/plugins.sh    needs the target wasm32-unknown-unknown (rustup target add wasm32-unknown-unknown)
set -euo pipefail
cd "$(dirname "$0")/.."
CARGO=${CARGO:-cargo}
# The gate has installed it before, in tests/portability.sh.
if [ ! -d "$(rustc --print sysroot)/lib/rustlib/wasm32-unknown-unknown/lib" ]; then
  exec tests/skip.sh plugins "the target wasm32-unknown-unknown is not installed (rustup target add wasm32-unknown-unknown)"
fi
modules=$(mktemp -d)
trap 'rm -rf "$modules"' EXIT
plugins/build.sh "$modules"
for module in alp frame pco text; do
  # Another compiler may give other bytes that do the same.
  cmp "$modules/$module.wasm" "crates/colkit-lance/src/extended/modules/$module.wasm" || echo "note: $module.wasm has other bytes"
done
COLKIT_REBUILT_MODULES=$modules $CARGO test --workspace --all-features --locked --test main -- --ignored rebuilt_modules
# The same features without `extended-read`, so that only arrow and the crates of colkit are built again. The Python package asks for it.
features=$($CARGO metadata --no-deps --format-version 1 | python3 tests/features_without.py extended-read colkit-python)
$CARGO test --workspace --exclude colkit-python --no-default-features --features "$features" --locked --test without_extended -- --ignored
