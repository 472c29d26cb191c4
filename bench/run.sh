#!/usr/bin/env bash
# How fast nodescope is, as ratios against its peers, measured in one run with the commands in turn: ratios
# hold on other machines, seconds do not. `make bench` calls it.
#
#   bench/run.sh          the 87 MB recording (made once by bench/record.sh)
#   bench/run.sh large    also the 1.2 GB one: linear time, bounded memory
#   bench/run.sh data     only perf.data and .cpuprofile
#
# ROUNDS=31 bench/run.sh measures more often. NODESCOPE_BASE=FILE is an older build: reports are compared with its.
# Peers: inferno comes by cargo install into the cache folder; samply likewise;
# perf itself and FlameGraph's Perl scripts are used where they are present (FLAMEGRAPH=folder).
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
cache=${NODESCOPE_CACHE:-$HOME/.cache/nodescope}
rounds=${ROUNDS:-15}
flamegraph=${FLAMEGRAPH:-}
inferno_version=0.12.8
samply_version=0.13.1
maps=()
work=$(mktemp -d)
trap 'rm -rf "$work" "${maps[@]}"' EXIT

say() { printf 'bench: %s\n' "$*" >&2; }

# shellcheck source=bench/compare.sh
. "$root/bench/compare.sh"

build() {
  say 'building nodescope'
  (cd "$root" && cargo build --release --quiet)
  nodescope=$root/target/release/nodescope
  if [ ! -x "$cache/inferno/bin/inferno-collapse-perf" ]; then
    say "installing inferno $inferno_version"
    cargo install --quiet --locked inferno --version $inferno_version --root "$cache/inferno"
  fi
  collapse=$cache/inferno/bin/inferno-collapse-perf
  flames=$cache/inferno/bin/inferno-flamegraph
  [ -n "$flamegraph" ] || flamegraph=$(dirname "$(command -v stackcollapse-perf.pl 2>/dev/null)" 2>/dev/null) || true
}

# memory TITLE COMMAND LIMIT_MB: the largest anonymous memory, sampled from /proc while it runs.
memory() {
  local title=$1 command=$2 limit=$3 pid peak=0 now
  bash -c "exec $command" >/dev/null 2>&1 &
  pid=$!
  while now=$(awk '/^RssAnon/ { print $2 }' "/proc/$pid/status" 2>/dev/null) && [ -n "$now" ]; do
    [ "$now" -gt "$peak" ] && peak=$now
  done
  wait "$pid" || true
  awk -v t="$title" -v p="$peak" -v l="$limit" \
    'BEGIN { printf "%-58s %9.1f MB %33s %s\n", t, p / 1024, "< " l " MB", (p / 1024 < l ? "met" : "MISSED") }'
}

# Equal output first: a fast wrong answer is worth nothing.
check_equal() {
  local text=$1
  "$nodescope" export "$text" -o - --to folded 2>/dev/null >"$work/two"
  "$nodescope" export "$text" -o - --to folded --threads 1 2>/dev/null >"$work/one"
  cmp -s "$work/one" "$work/two" || { say 'the number of threads changes the output'; exit 1; }
  say "$(wc -l <"$work/two") distinct stacks, the same on one thread and on all"
  if [ -n "$flamegraph" ] && [ -x "$flamegraph/stackcollapse-perf.pl" ]; then
    "$flamegraph/stackcollapse-perf.pl" "$text" 2>/dev/null >"$work/perl"
    cmp -s "$work/perl" "$work/two" || { say 'the output differs from stackcollapse-perf.pl'; exit 1; }
    say 'equal to stackcollapse-perf.pl, line for line'
  fi
}

bench_text() {
  local name=$1 text=$2
  local size="$name, $(($(stat -c %s "$text") / 1000000)) MB"
  printf '\n%-58s %12s %12s %9s   %s\n' "$size, median of $rounds runs in turn" nodescope peer ratio goal
  compare 'fold, 1 thread, against inferno-collapse-perf -n 1' \
    "$nodescope export $text -o - --to folded --threads 1" "$collapse -n 1 $text" 5
  compare 'fold, 2 threads, against inferno-collapse-perf -n 2' \
    "$nodescope export $text -o - --to folded --threads 2" "$collapse -n 2 $text" 5
  compare 'text to SVG, 2 threads, against inferno'"'"'s two commands' \
    "$nodescope export $text -o - --to svg --lens everything --threads 2" "$collapse -n 2 $text | $flames" 1
  if [ -n "$flamegraph" ] && [ -x "$flamegraph/stackcollapse-perf.pl" ]; then
    compare 'text to SVG, 2 threads, against the Perl scripts' \
      "$nodescope export $text -o - --to svg --lens everything --threads 2" \
      "$flamegraph/stackcollapse-perf.pl $text | $flamegraph/flamegraph.pl" 20
  else
    say 'FlameGraph is not here (FLAMEGRAPH=folder): the Perl scripts are left out'
  fi
}

# What findings cost: a report of 500,000 samples may take 1.2 times as long as before there were any.
bench_report() {
  local text=$1 base=${NODESCOPE_BASE:-} many=$work/many.nodescope samples copies files=()
  if [ ! -x "$base" ]; then
    say 'no older build (NODESCOPE_BASE=FILE): reports are not compared with it'
    return
  fi
  samples=$(grep -c '^[^[:space:]#]' "$text")
  copies=$(((500000 + samples - 1) / samples))
  while [ ${#files[@]} -lt $copies ]; do files+=("$text"); done
  "$nodescope" export "${files[@]}" -o "$many" >/dev/null 2>&1
  head_line "$((samples * copies)) samples" "$many"
  compare 'a report, against an older build' "$nodescope report $many" "$base report $many" 0.83
}

install_samply() {
  samply=$cache/samply/bin/samply
  [ -x "$samply" ] && return
  say "installing samply $samply_version"
  cargo install --quiet --locked samply --version $samply_version --root "$cache/samply"
}

# perf.data, with the perf maps of its processes where every tool looks for them.
bench_data() {
  local data=$cache/bench/three.data map
  "$root/bench/record.sh" data || { say 'no perf.data'; return; }
  install_samply
  for map in "$cache"/bench/maps/perf-*.map; do
    cp "$map" /tmp/
    maps+=("/tmp/${map##*/}")
  done
  local rounds=5
  head_line D "$data"
  compare 'perf.data to a profile, against samply import' \
    "$nodescope export $data -o $work/d.nodescope" "$samply import --save-only -o $work/s.json.gz $data" 5
  if [ -n "$flamegraph" ] && [ -x "$flamegraph/stackcollapse-perf.pl" ]; then
    rounds=1
    compare 'perf.data to SVG, against perf script and the Perl scripts' \
      "$nodescope export $data -o - --to svg --lens everything" \
      "perf script -i $data | $flamegraph/stackcollapse-perf.pl | $flamegraph/flamegraph.pl" 50
  fi
  rm -f "${maps[@]}"
}

# The least that a .cpuprofile can cost is a bare typed parse: below twice that time.
bench_cpuprofile() {
  local profile=$cache/bench/large.cpuprofile bare=$root/target/release/examples/bare_json
  "$root/bench/record.sh" cpuprofile || { say 'no .cpuprofile'; return; }
  (cd "$root" && cargo build --release --quiet -p nodescope-formats --example bare_json)
  head_line P "$profile"
  compare '.cpuprofile to a report, against a bare typed parse' "$nodescope report --json $profile" "$bare $profile" 0.5
}

build
if [ "${1:-}" = data ]; then
  bench_data
  bench_cpuprofile
  exit
fi
"$root/bench/record.sh" || { say 'no recording, no bench'; exit 3; }
medium=$cache/bench/medium.txt
check_equal "$medium"
bench_text M "$medium"
memory 'anonymous memory, fold, 2 threads' "$nodescope export $medium -o - --to folded" 100
bench_report "$medium"
if [ "${1:-}" = large ]; then
  "$root/bench/record.sh" large
  large=$cache/bench/large.txt
  rounds=3 bench_text L "$large"
  memory 'anonymous memory, fold, 2 threads' "$nodescope export $large -o - --to folded" 512
fi
bench_data
bench_cpuprofile
