#!/usr/bin/env bash
# The explorer: its reader compared with the command, and the page in Chromium; with `firefox`, the page in Firefox. It needs Node.js
# and npm.
# usage: tests/explorer.sh COLKIT [firefox]    INSTALL=1 installs the browser where Debian's packages are available
set -euo pipefail
cd "$(dirname "$0")/.."
skip=$PWD/tests/skip.sh
target=${CARGO_TARGET_DIR:-$PWD/target}

if ! command -v npm >/dev/null; then
  exec "$skip" explorer "npm is not installed"
fi
make --silent web/node_modules/.package-lock.json

# A browser at this path, from this package.
browser() {
  if [ ! -x "$1" ] && [ "${INSTALL:-}" = 1 ] && command -v apt-get >/dev/null; then
    echo "installing $2"
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$2"; } >/dev/null || true
  fi
  [ -x "$1" ] || "$skip" "$2" "$2 is not installed (apt-get install $2, or INSTALL=1)"
}
export CHROMIUM=${CHROMIUM:-/usr/bin/chromium} FIREFOX=${FIREFOX:-/usr/bin/firefox-esr}
export COLKIT=$1 COLKIT_WASM=$PWD/crates/colkit-cli/assets/explorer/colkit.wasm.gz
if [ "${2:-}" = firefox ]; then
  browser "$FIREFOX" firefox-esr
  [ ! -x "$FIREFOX" ] || (cd web && npm run --silent test:firefox)
  exit
fi
if tests/has-target.sh wasm32-unknown-unknown; then
  (cd crates/colkit-web && CARGO_TARGET_DIR=$target/web ${CARGO:-cargo} check --quiet --locked --target wasm32-unknown-unknown)
else
  "$skip" explorer "the target wasm32-unknown-unknown is not installed (rustup target add wasm32-unknown-unknown)"
fi
browser "$CHROMIUM" chromium
cd web
npm run --silent check
if [ -x "$CHROMIUM" ]; then
  npm run --silent test
else
  npm run --silent test:reader
fi
