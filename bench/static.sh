#!/usr/bin/env bash
# How fast the static program is against the same program with the system's glibc, as ratios of neighbouring runs.
# musl's own functions must not slow it down: docs/design/decisions.md has what is known of that.
#
#   bench/static.sh                  builds both by the profile `dist`, which takes minutes
#   bench/static.sh STATIC DYNAMIC   compares these two
#
# Exit status 1 where a goal is missed.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
cache=${NODESCOPE_CACHE:-$HOME/.cache/nodescope}
rounds=${ROUNDS:-15}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# shellcheck source=bench/compare.sh
. "$root/bench/compare.sh"

if [ $# = 2 ]; then
  static=$(realpath "$1") dynamic=$(realpath "$2")
else
  export DIST=$root/target/bench
  "$root/scripts/dist.sh" "$(uname -m)-unknown-linux-musl" "$(uname -m)-unknown-linux-gnu" >&2
  static=$DIST/$(uname -m)-unknown-linux-musl/nodescope dynamic=$DIST/$(uname -m)-unknown-linux-gnu/nodescope
fi

# against TITLE WORDS: the goal is at most 1.1 times the time.
against() { compare "$1" "$static $2" "$dynamic $2" 0.91 | tee -a "$work/rows"; }

mkdir -p "$cache/bench"
text=$cache/bench/repeated.txt
[ -s "$text" ] || { node "$root/bench/repeat.mjs" 500000 >"$text.part" && mv "$text.part" "$text"; }
"$dynamic" export "$text" -o "$work/text.nodescope"
head_line 'static against glibc' "$text"
against 'perf script to a report' "report $text"
against 'perf script to a report, 1 thread' "report --threads 1 $text"
against 'perf script to .nodescope' "export $text -o - --to nodescope"
against '.nodescope to a report' "report $work/text.nodescope"
against '.nodescope to a page' "export $work/text.nodescope -o - --to html"
against '.nodescope to pprof' "export $work/text.nodescope -o - --to pprof"
if "$root/bench/record.sh" cpuprofile >&2; then
  against '.cpuprofile to a report' "report $cache/bench/large.cpuprofile"
fi
! grep -q MISSED "$work/rows"
