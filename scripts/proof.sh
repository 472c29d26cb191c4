#!/usr/bin/env bash
# What takes hours, in one table: docs/proof.md. Each row is a command, what came out, and how long it took.
#
#   PROOF_SECONDS=600 scripts/proof.sh    how long every fuzz target runs, and the truth is tested again and again
#   PROOF_PARTS='truth fuzz' …            some of the parts: bench truth fuzz mutants
#   PROOF_TESTS='loops:: beside::' …      some of the tests of truth
set -uo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root" || exit 1
seconds=${PROOF_SECONDS:-600}
parts=${PROOF_PARTS:-bench truth fuzz mutants}
out=docs/proof.md
# Before the table itself changes.
commit=$(git describe --always --dirty --exclude '*')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

say() { printf '\n== %s\n' "$*" >&2; }

# row TITLE COMMAND...: runs it; its last line that starts with `figures: ` is what came out.
row() {
  local title=$1 start=$SECONDS result figures
  shift
  say "$title"
  if "$@" >"$work/out" 2>&1; then result=passed; else result=FAILED; failed=1; fi
  figures=$(grep '^figures: ' "$work/out" | tail -n 1)
  [ $result = passed ] || tail -n 30 "$work/out" >&2
  printf '| %s | %s | %s | %s s |\n' "$title" "$result" "${figures#figures: }" $((SECONDS - start)) | tee -a "$work/table" >&2
}

# Benchmarks print tables of ratios with a goal each: how many goals are met.
count_goals() {
  "$@" >"$work/bench" 2>&1 || { cat "$work/bench"; return 1; }
  cat "$work/bench"
  printf 'figures: %s goals met, %s missed\n' "$(grep -cw met "$work/bench")" "$(grep -cw MISSED "$work/bench")"
}

# The tests whose truth is the program's own clock or log, until the time is over.
test_truth() {
  local end=$((SECONDS + seconds)) rounds=0 failures=0
  local tests
  read -ra tests <<<"${PROOF_TESTS:-versions:: loops:: beside:: stacks:: inspector_shares::}"
  cargo test --quiet --workspace --no-run || return 1
  while [ $rounds = 0 ] || [ $SECONDS -lt $end ]; do
    rounds=$((rounds + 1))
    cargo test --quiet --workspace --test all -- "${tests[@]}" --test-threads=1 || failures=$((failures + 1))
  done
  printf 'figures: %s rounds of %s, %s with a failure\n' $rounds "${tests[*]}" $failures
  [ $failures = 0 ]
}

fuzz_all() {
  FUZZ_SECONDS=$seconds scripts/fuzz.sh || return 1
  printf 'figures: %s targets for %s s each, no crash\n' "$(find fuzz/fuzz_targets -name '*.rs' | wc -l)" "$seconds"
}

# Whether a test notices that a line of the model or of a view is wrong. Each mutant is a build: minutes in a short try.
test_mutants() {
  local limit=()
  [ "$seconds" -ge 600 ] || limit=(--shard 0/400)
  cargo mutants --package nodescope-profile --package nodescope-views --no-shuffle --output "$work" "${limit[@]}"
  printf 'figures: %s caught, %s missed\n' "$(wc -l <"$work/mutants.out/caught.txt")" "$(wc -l <"$work/mutants.out/missed.txt")"
}

for part in $parts; do
  case $part in
    bench)
      row 'speed against inferno, samply and others' count_goals bench/run.sh
      row 'cost for the target' count_goals bench/overhead.sh
      row 'event loops' count_goals node bench/loops.mjs
      row 'cost of the inspector' count_goals node bench/inspector.mjs
      row 'the page' count_goals node bench/page.mjs
      ;;
    truth) row "shares, stalls and stacks against the program's own clock" test_truth ;;
    fuzz) row 'every reader against nonsense' fuzz_all ;;
    mutants)
      if command -v cargo-mutants >/dev/null; then
        row 'mutants of profile and views' test_mutants
      else
        printf '| mutants of profile and views | left out | cargo install --locked cargo-mutants | |\n' >>"$work/table"
      fi
      ;;
    *) say "no part $part"; exit 2 ;;
  esac
done

{
  printf '# Proof\n\nWhat `make proof` (scripts/proof.sh) measured last. Do not edit it by hand.\n\n'
  printf -- '- date: %s\n' "$(date -u +%F)"
  printf -- '- machine: %s, %s CPUs, Linux %s\n' \
    "$(awk -F ': ' '/^model name/ { print $2; exit }' /proc/cpuinfo)" "$(nproc)" "$(uname -r)"
  printf -- '- commit: %s\n' "$commit"
  printf -- '- setting: `PROOF_SECONDS=%s PROOF_PARTS="%s"`\n\n' "$seconds" "$parts"
  printf '| what | result | figures | time |\n| --- | --- | --- | --- |\n'
  cat "$work/table"
} >"$out"
cat "$out"
exit $failed
