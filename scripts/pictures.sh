#!/usr/bin/env bash
# Records the demo's service, and makes what the documents show of it: the recording that ships, docs/demo.html, the report
# in README.md, and the pictures of the page in both themes. So a picture never shows a page that is not there any more.
# Needs root, Node and a browser, and takes two minutes of a machine that does nothing else.
#
#   KEEP_RECORDING=1 scripts/pictures.sh    of the recordings that are there
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
recording=crates/nodescope/src/demo/recording.nodescope
# Of the same service with its slow function mended.
made=$target/pictures
[ -n "${KEEP_RECORDING:-}" ] || scripts/make-demo-recording.sh "$recording"
[ -n "${KEEP_RECORDING:-}" ] && [ -e "$made/after.nodescope" ] || {
  mkdir -p "$made"
  MENDED=1 scripts/make-demo-recording.sh "$made/after.nodescope"
}

cargo build --quiet
for folder in tests/browser tests/docs; do
  [ -d $folder/node_modules ] || npm ci --prefix $folder --ignore-scripts --no-audit --no-fund
done
NODESCOPE_UPDATE=1 node --test --test-reporter=spec tests/docs/demo.test.mjs

# A folder as people have them: the shop's two, and services of others.
list=$made/recordings
rm -rf "$list"
mkdir -p "$list"
cp "$recording" "$list/shop-monday.nodescope"
cp "$made/after.nodescope" "$list/shop-tuesday.nodescope"
for name in express fastify nest bullmq next graphql; do
  cp "corpus/entries-$name/input.nodescope" "$list/$name.nodescope"
done

cp "$recording" "$made/before.nodescope"
node tests/browser/pictures.mjs docs/pictures "$recording" "$made/before.nodescope" "$made/after.nodescope" "$list"
ls -l "$recording" docs/demo.html docs/pictures
