# shellcheck shell=bash disable=SC2154
# Compares two commands, for scripts that source this file: they set `rounds`, and `work`, a folder for what is
# measured.

# Runs a command once and prints its wall time in milliseconds. The clock runs inside the shell, so that the
# shell's own start does not count for either side.
once() {
  bash -c 'set -e -o pipefail
    start=${EPOCHREALTIME/./}
    eval "$1" >/dev/null 2>"$2"
    end=${EPOCHREALTIME/./}
    echo $(((end - start) / 100))' bash "$1" "$work/err" | sed 's/.$/.&/' || { cat "$work/err" >&2; exit 1; }
}

median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# compare TITLE OURS THEIRS GOAL: the median of the ratios of neighbouring runs.
compare() {
  local title=$1 ours=$2 theirs=$3 goal=$4 round a b
  : >"$work/ours"; : >"$work/theirs"; : >"$work/ratios"
  once "$ours" >/dev/null
  once "$theirs" >/dev/null
  for ((round = 0; round < rounds; round++)); do
    a=$(once "$ours"); b=$(once "$theirs")
    echo "$a" >>"$work/ours"; echo "$b" >>"$work/theirs"
    awk -v a="$a" -v b="$b" 'BEGIN { print b / a }' >>"$work/ratios"
  done
  awk -v t="$title" -v a="$(median "$work/ours")" -v b="$(median "$work/theirs")" -v r="$(median "$work/ratios")" -v g="$goal" \
    'BEGIN { printf "%-58s %9.1f ms %9.1f ms %7.2f ×   %-6s %s\n", t, a, b, r, "≥ " g, (r >= g ? "met" : "MISSED") }'
}

head_line() {
  printf '\n%-58s %12s %12s %9s   %s\n' "$1, $(($(stat -c %s "$2") / 1000000)) MB, median of $rounds runs in turn" nodescope peer ratio goal
}
