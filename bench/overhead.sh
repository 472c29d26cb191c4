#!/usr/bin/env bash
# What recording costs: the target's CPU time for a fixed amount of work, alone, under nodescope and under perf at the
# same rate, in turn; nodescope's own CPU time; and the time from the end of sampling to the finished file.
#
#   bench/overhead.sh [ROUNDS]     (default 20)
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
rounds=${1:-20}
work_rounds=${WORK_ROUNDS:-700}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

say() { printf 'bench: %s\n' "$*" >&2; }
command -v perf >/dev/null || { say 'perf is missing'; exit 3; }
(cd "$root" && cargo build --release --quiet)
nodescope=$root/target/release/nodescope

alone() { node "$root/bench/work.js" "$work_rounds"; }
ours() { "$nodescope" record -F "$1" -o "$work/o.nodescope" -- node "$root/bench/work.js" "$work_rounds" 2>/dev/null | head -n 1; rm -f "$work/o.nodescope"; }
theirs() { perf record -q -g -F "$1" -o "$work/p.data" -- node "$root/bench/work.js" "$work_rounds" 2>/dev/null; }

# ratios FILE: the mean of the ratios of neighbouring runs, and the upper end of its 95 % interval.
ratios() {
  awk '{ n++; s += $1; q += $1 * $1 } END { m = s / n; d = sqrt((q / n - m * m) * n / (n - 1)); printf "%.4f   ≤ %.4f\n", m, m + 2.09 * d / sqrt(n) }' "$1"
}

alone >/dev/null
for rate in 99 999; do
  : >ours; : >theirs
  for ((round = 0; round < rounds; round++)); do
    base=$(alone); own=$(ours $rate); perf=$(theirs $rate)
    awk -v a="$base" -v b="$own" 'BEGIN { print b / a }' >>ours
    awk -v a="$base" -v b="$perf" 'BEGIN { print b / a }' >>theirs
  done
  printf 'target at %4s Hz, CPU time against alone (mean, 95 %% bound): nodescope %s' "$rate" "$(ratios ours)"
  printf '   perf record -g %s\n' "$(ratios theirs)"
done

# One busy process at 99 Hz: the recorder's own CPU time, and what it takes at the end.
node -e 'const end = Date.now() + 14000; while (Date.now() < end);' &
busy=$!
sleep 0.5
/usr/bin/time -f '%e %U %S %M' -o times "$nodescope" record $busy -d 10s -o "$work/s.nodescope" >/dev/null 2>&1
awk '{ printf "recorder, 10 s at 99 Hz: %.0f ms of CPU in all, %.2f s from the end of sampling to the finished file, %.0f MB\n", ($2 + $3) * 1000, $1 - 10, $4 / 1024 }' times
kill $busy 2>/dev/null || true
wait $busy 2>/dev/null || true
