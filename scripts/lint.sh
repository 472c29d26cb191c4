#!/usr/bin/env bash
# Everything that checks the code without running it. Tools that are not installed are named and skipped, or fail it with
# NODESCOPE_REQUIRE_ALL=1; fmt and clippy must be there.
#
#   scripts/lint.sh            all of it
#   scripts/lint.sh code       fmt, and clippy for this machine
#   scripts/lint.sh rest       the page, scripts and dependencies: needs one CPU at most
#   scripts/lint.sh targets    clippy for other systems and processors
set -uo pipefail

cd "$(dirname "$0")/.." || exit 1
what=${1:-all}
failed=()

say() { printf '== %s\n' "$*"; }

# check TITLE COMMAND...
check() {
  local title=$1
  shift
  say "$title"
  "$@" || failed+=("$title")
}

skip() {
  echo "skipped: $*"
  [ "${NODESCOPE_REQUIRE_ALL:-0}" != 1 ] || failed+=("skipped: $1")
}

has() {
  command -v "$1" >/dev/null && return
  skip "$1" "is not installed ($2)"
  return 1
}

# Advisories need a database from the network; the rest does not. Building it takes minutes, and its result changes with
# Cargo.lock alone: it is never required.
check_dependencies() {
  command -v cargo-deny >/dev/null || { echo 'left out: cargo install --locked cargo-deny'; return; }
  check 'cargo deny' cargo deny check --hide-inclusion-graph licenses bans sources
  if cargo deny fetch db >/dev/null 2>&1; then
    check 'cargo deny: advisories' cargo deny check --hide-inclusion-graph advisories
  else
    echo 'left out: the advisory database cannot be reached'
  fi
}

# Reading, showing and the inspector are also for Windows and macOS. The unit tests run there on the machines of
# .github/workflows/test.yml. The sampler is for arm64, too: `make test` builds it for that, and no warning may come.
check_targets() {
  has rustup https://rustup.rs || return
  check_for 'x86_64-pc-windows-msvc aarch64-apple-darwin' -p nodescope
  check_for 'x86_64-pc-windows-msvc aarch64-apple-darwin' --workspace --lib --bins --profile test
}

# check_for TARGETS OPTION...: what no network gives is not checked. All in one go, so that build scripts and macros are
# built once and no CPU waits; in a folder of its own, so that it neither waits for other builds nor keeps them waiting.
check_for() {
  local target targets=()
  for target in $1; do
    if scripts/rustup-target.sh "$target" 2>/dev/null; then
      targets+=(--target "$target")
    else
      skip "the target $target" 'cannot be installed'
    fi
  done
  shift
  [ ${#targets[@]} = 0 ] ||
    CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/targets check "cargo clippy $* ${targets[*]}" \
      cargo clippy --quiet "$@" "${targets[@]}" -- -D warnings
}

# The types of the page's source (page/tsconfig.json), and the format and the rules of all TypeScript and JavaScript
# (biome.json and page/biome.json).
check_page() {
  has npm https://nodejs.org || return
  check 'npm packages of the page' scripts/npm-ci.sh page
  check 'TypeScript and JavaScript' npm --prefix page run --silent check
}

check_code() {
  check 'cargo fmt' cargo fmt --all --check
  check 'cargo clippy' cargo clippy --workspace --all-targets --quiet -- -D warnings
}

check_rest() {
  check_dependencies
  check_page
  if has shellcheck 'apt install shellcheck'; then
    check 'shellcheck' shellcheck --severity=warning scripts/*.sh bench/*.sh .ci/run
  fi
}

case $what in
  all) check_code; check_rest; check_targets ;;
  code) check_code ;;
  rest) check_rest ;;
  targets) check_targets ;;
  *) echo "usage: scripts/lint.sh [code|rest|targets]" >&2; exit 2 ;;
esac

if [ ${#failed[@]} -gt 0 ]; then
  printf 'FAILED: %s\n' "${failed[*]}"
  exit 1
fi
