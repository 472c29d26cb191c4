#!/usr/bin/env bash
# What takes hours, in one table: docs/proof.md. Each row is what was run, what came out, and how long it took.
#
#   PROOF_SECONDS=600 scripts/proof.sh    how long every fuzz target runs, and the truth is tested again and again
#   PROOF_SECONDS=60 scripts/proof.sh     a try of an hour
#   PROOF_PARTS='truth fuzz' …            some of the parts: bench truth findings fuzz mutants
#   PROOF_ROUNDS=3 …                      how often each program with a known cause is recorded on each release
#   PROOF_SECOND=2 …                      how often each of the second set is, which no rule was tuned on
#   PROOF_TESTS='loops:: beside::' …      some of the tests of truth
#
# The table is written after every row, and each row has the commit and the machine that it was measured with. The other
# rows stay as they are: parts can run on different days, and a run that was cut off keeps what it had. What the commands
# printed is in target/proof.
set -uo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root" || exit 1
seconds=${PROOF_SECONDS:-600}
parts=${PROOF_PARTS:-bench truth findings fuzz mutants}
out=docs/proof.md
logs=${CARGO_TARGET_DIR:-target}/proof
cache=${NODESCOPE_CACHE:-$HOME/.cache/nodescope}
failed=0
declare -A rows
by_program=
# What is skipped proves nothing.
export NODESCOPE_REQUIRE_ALL=1

say() { printf '\n== %s\n' "$*" >&2; }

# The last commit that changed more than the table, and whether there are changes on top of it.
commit=$(git log -1 --format=%h -- . ":!$out")
[ -z "$(git status --porcelain -- . ":!$out")" ] || commit=$commit-dirty

# The order of the table.
titles=(
  'speed against inferno, samply and others'
  'cost for the target'
  'event loops'
  'cost of the inspector'
  'the page'
  "shares, stalls and stacks against the program's own clock"
  'every reader against nonsense'
  'mutants of profile and views'
  'the first finding is the planted cause'
  'the static program against glibc'
  "npm's shim against node -e 0"
)

machine=$(printf '%s, %s CPUs, Linux %s' \
  "$(awk -F ': ' '/^model name/ { print $2; exit }' /proc/cpuinfo)" "$(nproc)" "$(uname -r)")

# The heading of a second table: how often the finding of each program was right.
programs='## The first finding, program by program'

read_rows() {
  local line title
  [ -e "$out" ] || return
  by_program=$(sed "1,/^$programs\$/d" "$out")
  for title in "${titles[@]}"; do
    while IFS= read -r line; do
      case $line in "| $title |"*) rows[$title]=$line ;; esac
    done <"$out"
  done
}

write_table() {
  local title
  {
    printf '# Proof\n\nWhat `make proof` (scripts/proof.sh) measured last. Do not edit it by hand.\n\n'
    printf '| what | result | figures | time | PROOF_SECONDS | commit | date | machine |\n'
    printf '| --- | --- | --- | --- | --- | --- | --- | --- |\n'
    for title in "${titles[@]}"; do [ -z "${rows[$title]:-}" ] || printf '%s\n' "${rows[$title]}"; done
    [ -z "$by_program" ] || printf '\n%s\n%s\n' "$programs" "$by_program"
  } >"$out.new" && mv "$out.new" "$out"
}

# add_row TITLE RESULT FIGURES TIME
add_row() {
  rows[$1]="| $1 | $2 | ${3//|/\/} | $4 | $seconds | $commit | $(date -u +%F) | $machine |"
  printf '%s\n' "${rows[$1]}" >&2
  write_table
}

# row NAME TITLE COMMAND...: runs it; its last line that starts with `figures: ` is what came out.
row() {
  local log=$logs/$1.log title=$2 start=$SECONDS result figures
  shift 2
  say "$title, see $log"
  if "$@" >"$log" 2>&1; then result=passed; else result=FAILED; failed=1; fi
  figures=$(grep '^figures: ' "$log" | tail -n 1)
  [ $result = passed ] || tail -n 30 "$log" >&2
  add_row "$title" "$result" "${figures#figures: }" "$((SECONDS - start)) s"
}

# measure PATTERN COMMAND...: the lines of a benchmark that have such words, or how many of its goals are met.
measure() {
  local pattern=$1 printed=$logs/measured status=0
  shift
  "$@" >"$printed" 2>&1 || status=$?
  cat "$printed"
  if [ -n "$pattern" ]; then
    printf 'figures: %s\n' "$(grep -E "$pattern" "$printed" | sed 's/^ *//; s/  */ /g' | paste -sd ';' | sed 's/;/; /g')"
  else
    printf 'figures: %s goals met, %s missed\n' "$(grep -cw met "$printed")" "$(grep -cw MISSED "$printed")"
  fi
  return $status
}

# The tests whose truth is the program's own clock or log, until the time is over.
test_truth() {
  local end=$((SECONDS + seconds)) rounds=0 failures=0
  local tests
  read -ra tests <<<"${PROOF_TESTS:-versions:: loops:: beside:: stacks:: builds:: inspector_shares::}"
  export NODESCOPE_EVERY_RELEASE=1
  cargo test --quiet --workspace --no-run || return 1
  while [ $rounds = 0 ] || [ $SECONDS -lt $end ]; do
    rounds=$((rounds + 1))
    cargo test --quiet --workspace --no-fail-fast --test all -- "${tests[@]}" --test-threads=1 || failures=$((failures + 1))
  done
  printf 'figures: %s rounds of %s, %s with a failure\n' $rounds "${tests[*]}" $failures
  [ $failures = 0 ]
}

# Programs with a known cause, each again and again: how often the first finding was that cause, by program. The test
# judges whether that is often enough.
test_findings() {
  local rounds=20 printed=$logs/found status=0
  [ "$seconds" -ge 600 ] || rounds=1
  rounds=${PROOF_ROUNDS:-$rounds}
  NODESCOPE_FINDINGS_ROUNDS=$rounds NODESCOPE_FINDINGS_SECOND=${PROOF_SECOND:-$rounds} \
    NODESCOPE_FINDINGS_NODES="${PROOF_NODES:-20.20.2 22.23.3 24.21.0}" \
    cargo test --quiet --package nodescope --test all -- findings::findings_are_right --nocapture --test-threads=1 \
    >"$printed" 2>&1 || status=$?
  cat "$printed"
  ! grep -q '^finding: ' "$printed" || by_program=$(printf '\n| program | right |\n| --- | --- |\n' && sed -n 's/^finding: \(.*\)/| \1 |/p' "$printed")
  return $status
}

fuzz_all() {
  local printed=$logs/fuzzed status=0
  FUZZ_SECONDS=$seconds scripts/fuzz.sh >"$printed" 2>&1 || status=$?
  cat "$printed"
  printf 'figures: %s of %s targets ran for %s s without a crash\n' \
    "$(grep -c ' ok$' "$printed")" "$(find fuzz/fuzz_targets -name '*.rs' | wc -l)" "$seconds"
  return $status
}

# Whether a test notices that a line of the model or of a view is wrong. Each mutant is a build, so there is time for
# some of them, in random order.
test_mutants() {
  local status=0 found=$logs/mutants.out
  rm -rf "$found"
  timeout --signal=INT $((seconds * 6)) \
    cargo mutants --package nodescope-profile --package nodescope-views --shuffle --output "$logs" || status=$?
  [ -e "$found/caught.txt" ] || return 1
  printf 'figures: %s caught, %s missed\n' "$(wc -l <"$found/caught.txt")" "$(wc -l <"$found/missed.txt")"
  # Some were missed (2), some took too long (3), the time was over (124).
  case $status in 0 | 2 | 3 | 124) ;; *) return 1 ;; esac
}

run_part() {
  case $1 in
    bench)
      row speed "${titles[0]}" measure '' bench/run.sh
      row cost "${titles[1]}" measure '^(target|recorder) at ' bench/overhead.sh
      row loops "${titles[2]}" measure '^(Node|healthy server|recorder of|every stall)|stalls are missing' node bench/loops.mjs
      row inspector "${titles[3]}" measure "window's end takes|requests lost" node bench/inspector.mjs
      row page "${titles[4]}" measure '^(from a file|first picture|zoom|goals)' node bench/page.mjs
      row static "${titles[9]}" measure '' bench/static.sh
      row npm "${titles[10]}" measure '^[0-9]+\.[0-9]+' node bench/npm.mjs
      ;;
    truth) row truth "${titles[5]}" test_truth ;;
    findings) row findings "${titles[8]}" test_findings ;;
    fuzz) row fuzz "${titles[6]}" fuzz_all ;;
    mutants)
      if command -v cargo-mutants >/dev/null; then
        row mutants "${titles[7]}" test_mutants
      else
        add_row "${titles[7]}" 'left out' 'cargo install --locked cargo-mutants' ''
      fi
      ;;
  esac
}

for part in $parts; do
  case $part in bench | truth | findings | fuzz | mutants) ;; *) say "no part $part"; exit 2 ;; esac
done
mkdir -p "$logs"
scripts/install-test-tools.sh
export PATH=$cache/tools:$PATH
read_rows
for part in $parts; do run_part "$part"; done
cat "$out"
exit $failed
