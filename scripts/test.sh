#!/usr/bin/env bash
# Runs all tests: the workspace's, those of the documents, of the page's modules, those in a browser, and those of the
# npm packages. Prints at the end what was skipped and why.
#
# Many tests measure a running Node while others do the same beside them. What failed runs once more, alone, at the end:
# what fails again has failed, the rest is listed. So a list that grows is a fault to look for, of a test or of ours.
#
# NODESCOPE_BIN=dist/x86_64-unknown-linux-musl/nodescope tests that program instead of the one that cargo builds
# (`make dist-test`); what is tested without the program is tested as ever.
#
# A test that cannot run here prints a line `skipped: WHAT: WHY` and passes; NODESCOPE_REQUIRE_ALL=1 makes that a
# failure.
set -uo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root" || exit 1
cache=${NODESCOPE_CACHE:-$HOME/.cache/nodescope}
log=$(mktemp)
trap 'jobs -p | xargs -r kill 2>/dev/null; rm -f "$log" "$log".*' EXIT
failed=()
# Tests read what other programs print.
export LC_ALL=C.UTF-8

say() { printf '\n== %s\n' "$*"; }

# run TITLE COMMAND...: shows and keeps the output, remembers a failure. The output goes into a file, which is followed: a
# Node that inherits a pipe makes it non-blocking for all who write into it, and then a full pipe fails the tests.
run() {
  local title=$1 running follower
  shift
  say "$title"
  sleep infinity &
  running=$!
  tail --bytes=+$(($(stat -c %s "$log") + 1)) --follow --sleep-interval=0.2 --pid=$running "$log" &
  follower=$!
  "$@" >>"$log" 2>&1 || failed+=("$title")
  kill $running
  wait $running $follower 2>/dev/null
}

skip() { printf 'skipped: %s\n' "$*" | tee -a "$log"; }

# Older ones cannot read a growing recording.
has_node() { node -e 'new DecompressionStream("deflate-raw")' 2>/dev/null; }

test_documents() {
  if has_node; then
    run 'documents' node --test --test-reporter=spec tests/docs/*.test.mjs
  else
    skip 'documents: Node.js 20.12 or newer is missing'
  fi
}

# The page's modules. Node 22.18 and newer run TypeScript alone, older ones with esbuild, which npm ci in page installs.
test_page() {
  if ! has_node; then
    skip 'page: Node.js 20.12 or newer is missing'
  elif ! node -e 'process.exit(process.features.typescript ? 0 : 1)' && [ ! -d page/node_modules ]; then
    skip 'page: page has no npm packages, because npm ci failed'
  else
    run 'page' node --import ./page/test/typescript.js --test --test-reporter=spec page/test/*.test.js
  fi
}

test_browser() {
  [ -e tests/browser/package.json ] || return
  if ! has_node; then
    skip 'browser: Node.js is missing'
  elif [ ! -d tests/browser/node_modules ]; then
    skip 'browser: tests/browser has no npm packages, because npm ci failed'
  elif ! CHROMIUM=${CHROMIUM:-$(command -v chromium)}; then
    skip 'browser: there is no chromium; install it, or set CHROMIUM to a browser'
  else
    export CHROMIUM
    [ -n "${FIREFOX:-}" ] || command -v firefox-esr firefox >/dev/null ||
      skip 'browser: there is no firefox-esr; install it, or set FIREFOX to a browser'
    run 'browser' node --test --test-reporter=spec tests/browser/*.test.js
  fi
}

# They install the packages from a registry of their own.
test_npm() {
  if ! has_node; then
    skip 'npm: Node.js is missing'
  elif [ ! -d tests/npm/node_modules ]; then
    skip 'npm: tests/npm has no npm packages, because npm ci failed'
  else
    run 'npm' node --test --test-reporter=spec tests/npm/*.test.mjs
  fi
}

# test_rust TARGET... -- FILTER...: some of the workspace's tests. Always of the whole workspace, so that nothing is
# built twice.
test_rust() { cargo test --workspace --no-fail-fast "$@" --show-output; }

# The files of crates/*/tests are modules. These wait for a target or for an engine most of the time: they run beside
# the others.
patient=(docker:: doctor:: handed_out:: inspector:: inspector_inlined:: inspector_port:: inspector_port_elsewhere:: windows::)
# Nothing runs beside these, not even the process NODESCOPE_WAIT_FOR, which .ci/run has started.
alone=(inspector_shares:: findings::the_first findings::a_cpu_quota)
mapfile -t others < <(printf -- '--skip\n%s\n' "${patient[@]}" "${alone[@]}")

# Many tests measure a target that wants a CPU for itself, and others run beside them: two at a time are enough.
if [ "$(nproc)" -gt 2 ]; then export RUST_TEST_THREADS=${RUST_TEST_THREADS:-2}; fi

test_patiently() {
  RUST_TEST_THREADS=4 run 'workspace: what waits' test_rust --test '*' -- "${patient[@]}"
}

test_scripts() {
  test_documents
  test_page
  test_npm
  test_browser
}

# beside COMMAND: in the background. Two programs that write into one file break each other's lines, so it has a log of
# its own, and what it shows is kept until `join_in`.
beside() {
  (
    log=$log.$1
    failed=()
    : >"$log"
    "$1"
    printf '%s\n' "${failed[@]}" >"$log.failed"
  ) >"$log.$1.shown" 2>&1 &
}

# join_in COMMAND: shows what ran beside the rest, and what failed of it.
join_in() {
  local title own=$log.$1
  cat "$own.shown"
  cat "$own" >>"$log"
  if [ -e "$own.failed" ]; then
    while read -r title; do [ -z "$title" ] || failed+=("$title"); done <"$own.failed"
  else
    failed+=("$1: it did not come to its end")
  fi
}

say 'tools and build'
"$root/scripts/install-test-tools.sh" &
# It makes the program, too. A `cargo build` would build almost everything again: tests need more features of some
# libraries.
run 'build' cargo test --workspace --quiet --no-run
wait
export PATH=$cache/tools:$PATH
NODESCOPE_BIN=$(realpath "${NODESCOPE_BIN:-${CARGO_TARGET_DIR:-target}/debug/nodescope}") || exit 1
export NODESCOPE_BIN
beside test_patiently
beside test_scripts
run 'workspace: units' test_rust --lib --bins --
run 'workspace' test_rust --test '*' -- "${others[@]}"
wait
join_in test_patiently
join_in test_scripts
[ -z "${NODESCOPE_WAIT_FOR:-}" ] || tail --pid="$NODESCOPE_WAIT_FOR" -f /dev/null
run 'workspace: what needs a machine of its own' test_rust --test '*' -- "${alone[@]}" --test-threads=1

# What failed of the workspace, a target in each line: its kind, `--lib` or `--test`, and its name; then its tests.
failed_targets() {
  awk '/^ +Running /           { names = "" }
       /^test .* FAILED$/      { names = names " " $2 }
       /^error: test failed, to rerun pass `/ {
         sub(/^.*`-p [^ ]+ /, ""); sub(/`.*/, ""); print $0 "\t" names }' "$log"
}

# Runs one more time what has failed, and keeps what fails again.
once_more() {
  local before=("${failed[@]}") targets target names title
  targets=$(failed_targets)
  failed=()
  while IFS=$'\t' read -r target names; do
    [ -n "$target" ] || continue
    # A program that crashed names no test: all of it has failed.
    [ -n "$names" ] || { failed+=("$target ended before its tests did"); continue; }
    # shellcheck disable=SC2086 # one word for each
    run "once more: $target$names" cargo test --workspace $target -- --show-output --exact $names </dev/null
  done <<<"$targets"
  for title in "${before[@]}"; do
    case $title in
      workspace*) [ -n "$targets" ] || failed+=("$title") ;;
      browser) test_browser ;;
      npm) test_npm ;;
      *) failed+=("$title") ;;
    esac
  done
  [ ${#failed[@]} -gt 0 ] || recovered=("${before[@]}")
}

recovered=()
first_failures=$(grep -E '^test .* FAILED$|✖ ' "$log")
[ ${#failed[@]} -eq 0 ] || once_more

say 'result'
if [ ${#recovered[@]} -gt 0 ]; then
  printf 'passed only when they ran alone:\n%s\n' "$first_failures"
fi
# Rust's tests print `skipped:`; Node's reporter puts a dash before what it skips, and the reason behind it.
skipped=$(grep -E '^skipped: |^ *﹣ ' "$log" | sort -u)
printf '%s skipped%s\n' "$(printf '%s' "$skipped" | grep -c .)" "${skipped:+:}"
[ -z "$skipped" ] || printf '%s\n' "$skipped" | sed 's/^skipped: //; s/^ *﹣ //; s/^/  /'
if [ -n "$skipped" ] && [ "${NODESCOPE_REQUIRE_ALL:-0}" = 1 ]; then
  failed+=('skipped, where NODESCOPE_REQUIRE_ALL=1 wants all')
fi
if [ ${#failed[@]} -gt 0 ]; then
  # What failed and why once more, where a long output ends.
  grep -E '^test .* FAILED$|^thread .* panicked at|✖ ' -A 3 "$log" | grep -v '^stack backtrace' | head -n 120
  printf 'FAILED: %s\n' "${failed[*]}"
  exit 1
fi
if [ ${#recovered[@]} -gt 0 ]; then
  printf 'all tests passed, %s only when they ran alone\n' "$(printf '%s\n' "$first_failures" | sort -u | grep -c .)"
else
  echo 'all tests passed'
fi
