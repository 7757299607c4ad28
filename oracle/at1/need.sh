# What both comparisons need; to be sourced with $here and $oracle_target set. Builds the reference decoder, or says why it
# cannot and ends the script without failure.
skip() {
    echo "skipped: AT-1 comparison with the reference decoder: $1"
    exit 0
}

command -v gcc >/dev/null || skip "there is no gcc"
if ! "$here/have_libraries.sh"; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        (apt-get update && apt-get install -y liblzma-dev libzstd-dev) >/dev/null 2>&1
    fi
    "$here/have_libraries.sh" || skip "liblzma-dev and libzstd-dev are missing and could not be installed"
fi
CARGO_TARGET_DIR="$oracle_target" cargo build -q --release --locked --manifest-path "$here/Cargo.toml" ||
    skip "the reference decoder could not be built"
