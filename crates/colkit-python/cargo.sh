#!/bin/sh
# Cargo for a wheel that is tested: what maturin asks for is built together with the rest of the workspace and with its features,
# so that nothing is built twice. The wheel for users is built without this.
[ "$1" = rustc ] || exec cargo "$@"
for name in $(env | sed -n 's/^\(PYO3_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
unset CARGO_ENCODED_RUSTFLAGS
# shellcheck disable=SC2046
exec cargo build $("$(dirname "$0")/../../tests/workspace.sh") --lib --locked --message-format json-render-diagnostics
