#!/usr/bin/env bash
# Records the demo's service, and makes what the documents show of it: docs/demo.html, and the pictures of the page in
# both themes. So a picture never shows a page that is not there any more. Needs root, Node and a browser.
#
#   KEEP_RECORDING=1 scripts/pictures.sh    of the recording that is there
set -euo pipefail
cd "$(dirname "$0")/.."

recording=crates/nodescope/src/demo/recording.nodescope
[ -n "${KEEP_RECORDING:-}" ] || scripts/make-demo-recording.sh
cargo build --quiet
rm -f docs/demo.html
"${CARGO_TARGET_DIR:-target}/debug/nodescope" export "$recording" -o docs/demo.html
chmod 644 docs/demo.html
[ -d tests/browser/node_modules ] || npm ci --prefix tests/browser
node tests/browser/pictures.mjs docs/demo.html docs/pictures
ls -l docs/demo.html docs/pictures
