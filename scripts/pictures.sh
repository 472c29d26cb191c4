#!/usr/bin/env bash
# Records the demo's service, and makes what the documents show of it: the recording that ships, docs/demo.html, the report
# in README.md, the comparison in docs/page.md, and the pictures of the page in both themes. So a picture never shows a
# page that is not there any more. Needs root, Node and a browser, and takes four minutes of a machine that does
# nothing else.
#
#   KEEP_RECORDING=1 scripts/pictures.sh    of the recordings that are there; those of the list are made where they are not
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
recording=crates/nodescope/src/demo/recording.nodescope
# Of the same service under the same load, with its slow function mended.
mended=tests/browser/shop-mended.nodescope
if [ -z "${KEEP_RECORDING:-}" ]; then
  scripts/make-demo-recording.sh "$recording"
  MENDED=1 scripts/make-demo-recording.sh "$mended"
fi

cargo build --quiet
for folder in tests/browser tests/docs; do
  scripts/npm-ci.sh $folder
done
NODESCOPE_UPDATE=1 node --test --test-reporter=spec --test-name-pattern='^(README|docs/demo|docs/page)' tests/docs/demo.test.mjs

# A folder as people have them: the shop's two, and services of others.
list=$target/pictures/recordings
mkdir -p "$list"
[ -n "${KEEP_RECORDING:-}" ] && [ -e "$list/health.nodescope" ] || NODESCOPE_BIN=$target/debug/nodescope scripts/record-list.sh "$list"
cp "$recording" "$list/shop-monday.nodescope"
cp "$mended" "$list/shop-tuesday.nodescope"

cp "$recording" "$target/pictures/before.nodescope"
cp "$mended" "$target/pictures/after.nodescope"
node tests/browser/pictures.mjs docs/pictures "$recording" "$target/pictures/before.nodescope" "$target/pictures/after.nodescope" "$list"
ls -l "$recording" "$mended" docs/demo.html docs/pictures
