#!/bin/sh
# Packs texts with colkit, in every codec and every way, and restores them with the reference decoder (crate `at1`). Bundles
# are restored with the command that comes with it.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
oracle_target=${AT1_ORACLE_TARGET_DIR:-$target/at1-oracle}
. "$here/need.sh"

# The features of the whole workspace, so that nothing is built twice.
cargo build -q --locked --manifest-path "$root/Cargo.toml" --workspace --all-features --example pack_all || exit 1
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
"$target/debug/examples/pack_all" "$folder" "$root/crates/colkit-at1/tests/data" \
    "$root/crates/colkit-interop/tests/data/csv" || exit 1
"$oracle_target/release/at1-oracle" check "$folder" || exit 1

source=$(cargo metadata --format-version 1 --locked --manifest-path "$here/Cargo.toml" |
    tr ',' '\n' | sed -n 's|.*"manifest_path":"\(.*/at1-[0-9.]*\)/Cargo.toml".*|\1|p' | head -1)
built() {
    find "$oracle_target/release/build" -name "$1" | head -n 1
}
CPATH=$headers cc -O2 -w "$source/csrc/at1_decode.c" -I "$source/csrc" "$(built liblzma.a)" "$(built libzstd.a)" -pthread \
    -o "$folder/decode" || exit 1
"$folder/decode" "$folder/bundle.at1" "$folder/restored" 2>"$folder/said" || { cat "$folder/said"; exit 1; }
diff -r "$folder/bundle" "$folder/restored" || exit 1
echo "a bundle of $(find "$folder/bundle" -type f | wc -l) files restored by the reference decoder"
