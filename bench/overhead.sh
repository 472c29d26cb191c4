#!/usr/bin/env bash
# What recording costs: the target's CPU time for a fixed amount of work, alone, under nodescope and under perf at the
# same rate, in turn; nodescope's own CPU time; and the time from the end of sampling to the finished file.
#
# The three are run in turn, forth and back, and each is held against the runs alone before and after it: the machine's
# own drift is larger than what is measured.
#
#   bench/overhead.sh [ROUNDS]     (default 40)
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
rounds=${1:-40}
work_rounds=${WORK_ROUNDS:-700}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

say() { printf 'bench: %s\n' "$*" >&2; }
command -v perf >/dev/null || { say 'perf is missing'; exit 3; }
(cd "$root" && cargo build --release --quiet)
nodescope=$root/target/release/nodescope

# The target has a CPU of its own, where there are two: what others do there is not what recording costs.
here=() there=()
if command -v taskset >/dev/null && [ "$(nproc)" -gt 1 ]; then
  here=(taskset -c 0) there=(taskset -c "$(($(nproc) - 1))")
fi
alone() { "${there[@]}" node "$root/bench/work.js" "$work_rounds"; }
ours() {
  "${here[@]}" "$nodescope" record -F "$1" -o "$work/o.nodescope" -- "${there[@]}" node "$root/bench/work.js" "$work_rounds" 2>/dev/null | head -n 1
  rm -f "$work/o.nodescope"
}
theirs() { "${here[@]}" perf record -q -g -F "$1" -o "$work/p.data" -- "${there[@]}" node "$root/bench/work.js" "$work_rounds" 2>/dev/null; }

# ratios FILE: the mean of the ratios of neighbouring runs, and the upper end of its 95 % interval.
ratios() {
  awk '{ n++; s += $1; q += $1 * $1 } END { m = s / n; d = sqrt((q / n - m * m) * n / (n - 1)); printf "%.4f   ≤ %.4f\n", m, m + 2.09 * d / sqrt(n) }' "$1"
}

# against BEFORE AFTER RUN: as a ratio to the mean of the runs alone beside it.
against() { awk -v a="$1" -v b="$2" -v c="$3" 'BEGIN { print 2 * c / (a + b) }'; }

alone >/dev/null
for rate in 99 999; do
  : >ours; : >theirs; : >both
  before=$(alone)
  for ((round = 0; round < rounds; round++)); do
    if ((round % 2)); then own=$(ours $rate) middle=$(alone) perf=$(theirs $rate) after=$(alone)
    else perf=$(theirs $rate) middle=$(alone) own=$(ours $rate) after=$(alone); fi
    if ((round % 2)); then own=$(against "$before" "$middle" "$own") perf=$(against "$middle" "$after" "$perf")
    else perf=$(against "$before" "$middle" "$perf") own=$(against "$middle" "$after" "$own"); fi
    echo "$own" >>ours; echo "$perf" >>theirs
    awk -v a="$own" -v b="$perf" 'BEGIN { print a / b }' >>both
    before=$after
  done
  printf 'target at %4s Hz, CPU time against alone (mean, 95 %% bound): nodescope %s' "$rate" "$(ratios ours)"
  printf '   perf record -g %s   nodescope against perf %s\n' "$(ratios theirs)" "$(ratios both)"
done

# One busy process: the recorder's own CPU time while it records (what a longer recording takes more than a shorter one),
# at the start and the end, what it takes from the start to the first sample, and from the end of sampling to the file.
"${there[@]}" node -e 'const end = Date.now() + 120000; function busy() { while (Date.now() < end) for (let i = 0; i < 1e5; i++) Math.sqrt(i); } busy();' &
busy=$!
sleep 0.5
# cost RATE SECONDS: CPU seconds of the recorder and its reader, wall seconds, megabytes, samples.
cost() {
  /usr/bin/time -f '%U %S %e %M' -o times "${here[@]}" "$nodescope" record $busy -F "$1" -d "$2s" -o "$work/s.nodescope" >said 2>&1
  samples=$("$nodescope" report --json "$work/s.nodescope" | awk -F '[:,]' '/^  "samples"/ { print $2; exit }')
  awk -v samples="$samples" '{ print $1 + $2, $3, $4 / 1024, samples }' times
  rm -f "$work/s.nodescope"
}
for rate in 99 999; do
  cost $rate 1 >/dev/null
  read -r short_cpu short_wall _ short_samples < <(cost $rate 2)
  read -r long_cpu long_wall megabytes long_samples < <(cost $rate 12)
  awk -v rate=$rate -v a="$short_cpu" -v b="$long_cpu" -v n="$((long_samples - short_samples))" -v w="$short_wall" -v v="$long_wall" -v m="$megabytes" 'BEGIN {
    printf "recorder at %4s Hz: %.2f %% of a core while it records, %.0f µs a sample; %.0f ms of CPU at the start and the end, which take %.2f to %.2f s; %.0f MB\n", rate, (b - a) * 10, (b - a) * 1e6 / n, (a - (b - a) / 5) * 1000, w - 2, v - 12, m }'
done
kill $busy 2>/dev/null || true
wait $busy 2>/dev/null || true
