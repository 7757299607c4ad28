#!/usr/bin/env bash
# Rebuilds the modules that files with extended encodings carry, and compares their output with that of the native decoders.
# usage: tests/plugins.sh    needs the target wasm32-unknown-unknown (rustup target add wasm32-unknown-unknown)
set -euo pipefail
cd "$(dirname "$0")/.."
CARGO=${CARGO:-cargo}
if ! tests/has-target.sh wasm32-unknown-unknown; then
  exec tests/skip.sh plugins "the target wasm32-unknown-unknown is not installed (rustup target add wasm32-unknown-unknown)"
fi
modules=$(mktemp -d)
trap 'rm -rf "$modules"' EXIT
plugins/build.sh "$modules"
for module in alp frame pco text; do
  # Another compiler may give other bytes that do the same.
  cmp "$modules/$module.wasm" "crates/colkit-lance/src/extended/modules/$module.wasm" || echo "note: $module.wasm has other bytes"
done
# shellcheck disable=SC2046
COLKIT_REBUILT_MODULES=$modules $CARGO test $(tests/workspace.sh) --locked --test command -- --ignored rebuilt_modules
