# What both comparisons need: the reference decoder. To be sourced with $here and $oracle_target set.
# Not exported: crates that build C look at it, and the workspace, query engine included, would be built again.
headers=$("$here/headers.sh" "$here/Cargo.toml") || exit 1
CPATH=$headers CARGO_TARGET_DIR="$oracle_target" cargo build -q --release --locked --manifest-path "$here/Cargo.toml" || exit 1
