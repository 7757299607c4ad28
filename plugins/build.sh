#!/bin/sh
# Builds the modules that files bring along, and puts them where colkit-lance includes them from.
#   plugins/build.sh           build and replace
#   plugins/build.sh FOLDER    build, and put them there instead
set -eu
cd "$(dirname "$0")"
to="${1:-../crates/colkit-lance/src/extended/modules}"
mkdir -p "$to"
target="${CARGO_TARGET_DIR:-target}"
# Names of folders must not become part of a module.
export RUSTFLAGS="-C target-feature=+simd128 --remap-path-prefix=$(pwd)=plugins --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo"
for name in alp frame pco text; do
    # One by one: those without the standard library must not get it from the others.
    cargo build --release --locked --target wasm32-unknown-unknown -p "$name-plugin"
    cp "$target/wasm32-unknown-unknown/release/${name}_plugin.wasm" "$to/$name.wasm"
    sha256sum "$to/$name.wasm" | cut -d' ' -f1 > "$to/$name.sha256"
done
ls -l "$to"
