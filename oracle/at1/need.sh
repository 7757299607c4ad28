# What both comparisons need: the reference decoder. To be sourced with $here and $oracle_target set.
CPATH=$("$here/headers.sh" "$here/Cargo.toml") || exit 1
export CPATH
CARGO_TARGET_DIR="$oracle_target" cargo build -q --release --locked --manifest-path "$here/Cargo.toml" || exit 1
