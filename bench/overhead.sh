#!/usr/bin/env bash
# What recording costs: the target's CPU time for a fixed amount of work, alone, under nodescope and under perf at the
# same rate, in turn; nodescope's own CPU time; and the time from the end of sampling to the finished file.
#
# The three are run in turn, forth and back, and each is compared with the runs alone before and after it: the machine's
# own drift is larger than what is measured.
#
#   [RATES=99] bench/overhead.sh [ROUNDS]     (default: 99 and 999 samples a second, 40 rounds)
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
  "${here[@]}" "$nodescope" record --overwrite -F "$1" -o "$work/o.nodescope" -- "${there[@]}" node "$root/bench/work.js" "$work_rounds" 2>/dev/null | head -n 1
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
for rate in ${RATES:-99 999}; do
  : >ours; : >theirs; : >both
  before=$(alone)
  for ((round = 0; round < rounds; round++)); do
    if ((round % 2)); then own=$(ours "$rate") middle=$(alone) perf=$(theirs "$rate") after=$(alone)
    else perf=$(theirs "$rate") middle=$(alone) own=$(ours "$rate") after=$(alone); fi
    if ((round % 2)); then own=$(against "$before" "$middle" "$own") perf=$(against "$middle" "$after" "$perf")
    else perf=$(against "$before" "$middle" "$perf") own=$(against "$middle" "$after" "$own"); fi
    echo "$own" >>ours; echo "$perf" >>theirs
    awk -v a="$own" -v b="$perf" 'BEGIN { print a / b }' >>both
    before=$after
  done
  printf 'target at %4s Hz, CPU time against alone (mean, 95 %% bound): nodescope %s' "$rate" "$(ratios ours)"
  printf '   perf record -g %s   nodescope against perf %s\n' "$(ratios theirs)" "$(ratios both)"
done

# One busy process: the CPU time of the recorder and its reader while they record, by the kernel's own clock; what the
# start and the end take beside that; and the time from the start to the first sample and from the end of sampling to
# the file.
"${there[@]}" node -e 'const end = Date.now() + 120000; function busy() { while (Date.now() < end) for (let i = 0; i < 1e5; i++) Math.sqrt(i); } busy();' &
busy=$!
sleep 0.5
# cpu_ns PID: of all threads of a process and of those that it started.
cpu_ns() {
  local pid
  for pid in "$1" $(cat "/proc/$1/task/$1/children"); do cat "/proc/$pid"/task/*/schedstat; done | awk '{ sum += $1 } END { printf "%.0f", sum }'
}
for rate in ${RATES:-99 999}; do
  /usr/bin/time -f '%U %S %e %M' -o times "${here[@]}" "$nodescope" record $busy --overwrite -F "$rate" -d 14s -o "$work/s.nodescope" >messages 2>&1 &
  timer=$!
  sleep 2
  recorder=$(cat "/proc/$timer/task/$timer/children")
  from=$(cpu_ns "${recorder// /}")
  sleep 10
  to=$(cpu_ns "${recorder// /}")
  wait $timer
  samples=$("$nodescope" report --json "$work/s.nodescope" | awk -F '[:,]' '/^  "samples"/ { print $2; exit }')
  awk -v rate="$rate" -v ns="$((to - from))" -v samples="$samples" '{
    printf "recorder at %4s Hz: %.2f %% of a core while it records, %.0f µs a sample; %.0f ms of CPU at the start and the end, which take %.2f s together; %.0f MB\n", rate, ns / 1e8, ns / 1e3 / (samples * 10 / 14), ($1 + $2 - ns / 1e9 * 1.4) * 1000, $3 - 14, $4 / 1024 }' times
  rm -f "$work/s.nodescope"
done
kill $busy 2>/dev/null || true
wait $busy 2>/dev/null || true
