#!/usr/bin/env bash
# The explorer: its reader beside the command, and the page in a browser. It needs Node.js, npm, Chromium and Firefox.
# usage: tests/explorer.sh COLKIT    INSTALL=1 installs the browsers where Debian's packages can be had
set -euo pipefail
cd "$(dirname "$0")/.."
skip=$PWD/tests/skip.sh

if ! command -v npm >/dev/null; then
  exec "$skip" explorer "npm is not installed"
fi
CHROMIUM=${CHROMIUM:-/usr/bin/chromium}
if [ ! -x "$CHROMIUM" ] && [ "${INSTALL:-}" = 1 ] && command -v apt-get >/dev/null; then
  echo "installing Chromium"
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null
fi
FIREFOX=${FIREFOX:-/usr/bin/firefox-esr}
if [ ! -x "$FIREFOX" ] && [ "${INSTALL:-}" = 1 ] && command -v apt-get >/dev/null; then
  echo "installing Firefox"
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends firefox-esr >/dev/null
fi
if [ ! -x "$FIREFOX" ]; then
  "$skip" firefox "Firefox is not installed (apt-get install firefox-esr, INSTALL=1, or FIREFOX=/path/to/it)"
fi
if [ ! -x "$CHROMIUM" ]; then
  exec "$skip" explorer "Chromium is not installed (apt-get install chromium, INSTALL=1, or CHROMIUM=/path/to/it)"
fi

export CHROMIUM FIREFOX COLKIT=$1 COLKIT_WASM=$PWD/crates/colkit-cli/assets/explorer/colkit.wasm.gz
cd web
npm run --silent check
npm run --silent test
