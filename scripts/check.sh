#!/usr/bin/env bash
# The inner loop: what can be checked in a minute when nothing but a few files changed. `make lint` and `make test`
# check the rest.
set -uo pipefail

cd "$(dirname "$0")/.." || exit 1
failed=()

# check TITLE COMMAND...
check() {
  local title=$1
  shift
  printf '== %s\n' "$title"
  "$@" || failed+=("$title")
}

# Only what failed, and how many passed.
test_page() {
  node --import ./page/test/typescript.js --test --test-reporter=dot page/test/*.test.js
}

check 'cargo fmt' cargo fmt --all --check
check 'cargo clippy' cargo clippy --workspace --all-targets --quiet -- -D warnings
# Of the whole workspace, as `make test` builds it, so that nothing is built twice.
check 'unit tests' cargo test --workspace --lib --bins --quiet
# The page's modules are compared with the program, which cargo makes anew only for tests that run it.
check 'the program' cargo test --workspace --test all --no-run --quiet
NODESCOPE_BIN=$(realpath "${CARGO_TARGET_DIR:-target}/debug/nodescope")
export NODESCOPE_BIN
if node -e 'process.exit(process.features.typescript ? 0 : 1)' 2>/dev/null || [ -d page/node_modules ]; then
  check 'the page' test_page
else
  echo "skipped: the page: npm ci in page installs what its tests need"
fi

if [ ${#failed[@]} -gt 0 ]; then
  printf 'FAILED: %s\n' "${failed[*]}"
  exit 1
fi
