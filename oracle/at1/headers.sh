#!/bin/sh
# Prints CPATH for building the crate `at1` in the workspace of a manifest: the headers of liblzma and zstd that the crates
# liblzma-sys and zstd-sys carry. The libraries come from there as well: cargo gives the linker the folders where these
# crates put them, before those of the system. So nothing has to be installed.
#   headers.sh MANIFEST
set -eu
crates=$(cargo metadata --format-version 1 --locked --manifest-path "$1" | tr ',' '\n')
folder() {
    echo "$crates" | sed -n 's|.*"manifest_path":"\(.*/'"$1"'-[0-9][^/]*\)/Cargo.toml".*|\1|p' | head -n 1
}
echo "$(folder liblzma-sys)/xz/src/liblzma/api:$(folder zstd-sys)/zstd/lib"
