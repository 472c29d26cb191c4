#!/usr/bin/env bash
# Runs every fuzz target for a short while: scripts/fuzz.sh [TARGET...]   (no TARGET: all of them)
#
# FUZZ_SECONDS=600 scripts/fuzz.sh perf_script looks longer. What a target learnt stays in fuzz/corpus, so the next run
# goes on from there. A crash leaves its input in fuzz/artifacts: make a corpus case of it.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
cache=${NODESCOPE_CACHE:-$HOME/.cache/nodescope}
seconds=${FUZZ_SECONDS:-20}
text_bytes=6000 # of each text, as a seed: small inputs are mutated faster
# No sanitizer: our own code has no unsafe, and panics are found much faster without.
export PATH=$cache/cargo-fuzz/bin:$PATH

say() { printf 'fuzz: %s\n' "$*" >&2; }

fail() {
  say "$@"
  exit 3
}

need_tools() {
  rustup run nightly rustc --version >/dev/null 2>&1 ||
    fail 'nightly Rust is missing: rustup toolchain install nightly --profile minimal'
  command -v cargo-fuzz >/dev/null && return
  say "installing cargo-fuzz into $cache/cargo-fuzz"
  cargo install --quiet --locked --root "$cache/cargo-fuzz" cargo-fuzz || fail 'cargo-fuzz cannot be installed'
}

# text FILE: what stands behind its compression. The one zstd file of corpus/ is a seed as it is.
text() { gzip -cdf "$1"; }

# seed_bytes TARGET: how much of an input is a seed. The samples of a perf.data come late.
seed_bytes() { if [ "$1" = perf_data ]; then echo $((text_bytes * 6)); else echo "$text_bytes"; fi; }

# seed TARGET NAME: stdin as a seed.
seed() {
  mkdir -p "fuzz/corpus/$1"
  cat >"fuzz/corpus/$1/seed-$2"
}

# The start of every text of corpus/, for the reader of its format, and all kinds for `import` and our own file.
write_seeds() {
  local input name target
  for input in corpus/*/input.*; do
    name=$(basename "$(dirname "$input")")
    case $name in
      cpuprofile-*) target=cpuprofile ;;
      trace-*) target=trace_events ;;
      *-prof | *-prof-*) target=prof_log ;;
      speedscope-*) target=speedscope ;;
      pprof-*) target=pprof ;;
      folded-*) target=folded ;;
      dtrace-*) target=dtrace ;;
      bpftrace-*) target=bpftrace ;;
      perf-data-*) target=perf_data ;;
      *) target=perf_script ;;
    esac
    case $input in
      *.zst) seed import "$name.zst" <"$input" ;;
      *)
        # head ends the pipe early, which is no failure.
        { text "$input" || true; } 2>/dev/null | head -c "$(seed_bytes "$target")" | seed "$target" "$name"
        seed import "$name" <"fuzz/corpus/$target/seed-$name"
        gzip -cn "fuzz/corpus/$target/seed-$name" | seed import "$name.gz"
        ;;
    esac
  done
  for name in perf-records perf-srcline perf-multi-event node22-regexp folded-odd dtrace-stacks; do
    target=perf_script
    case $name in folded-*) target=folded ;; dtrace-*) target=dtrace ;; esac
    "$program" export "fuzz/corpus/$target/seed-$name" -o - --to nodescope 2>/dev/null | seed nodescope_file "$name"
    seed import "$name.nodescope" <"fuzz/corpus/nodescope_file/seed-$name"
  done
  seed nodescope_file growing <crates/profile/tests/sample/growing.nodescope.part
  seed import growing.nodescope.part <crates/profile/tests/sample/growing.nodescope.part
}

# words NUMBER...: each as eight bytes, the lowest first.
words() {
  local number byte
  for number in "$@"; do
    for byte in 0 8 16 24 32 40 48 56; do printf '%b' "\\x$(printf %02x $((number >> byte & 255)))"; done
  done
}

# A ring with a mapping and a sample of 64 bytes of stack, half of them filled.
write_ring_seed() {
  local code=0x555500000000 stack=0x7ffc00001000 thread=$((41 << 32 | 40))
  {
    printf '\0'
    words $((112 << 48 | 2 << 32 | 10)) $thread $code 65536 0 0 0 0 $((2 << 32 | 5)) 0x6e6f6e612f2f $thread 1000 0 7
    words $((192 << 48 | 2 << 32 | 9)) 7 $((code + 16)) $thread 1000 0 1 1 $((code + 16)) \
      2 0 $((stack + 16)) $stack $((code + 16)) 64 1 2 $((stack + 32)) $((code + 32)) 0 $((code + 48)) 0 0 32
  } | seed ring mapping-and-sample
}

# run TARGET: a row of the table; the log stands beside the artifacts.
run() {
  local target=$1 log=fuzz/artifacts/$1.log status=0
  mkdir -p fuzz/artifacts
  cargo +nightly fuzz run --sanitizer none "$target" -- \
    -max_total_time="$seconds" -max_len=16384 -rss_limit_mb=2048 -timeout=10 -print_final_stats=1 >"$log" 2>&1 || status=$?
  local executed covered result=ok
  executed=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -n 1)
  covered=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
  if [ "$status" -ne 0 ]; then
    result="FAILED, see $log"
    failed=1
  fi
  printf '%-15s %12s %9s  %s\n' "$target" "${executed:--}" "${covered:--}" "$result"
}

cd "$root"
need_tools
if [ $# -eq 0 ]; then
  mapfile -t targets < <(cargo +nightly fuzz list)
else
  targets=("$@")
fi
say 'building'
cargo build --quiet --bin nodescope
program=${CARGO_TARGET_DIR:-target}/debug/nodescope
cargo +nightly fuzz build --sanitizer none >/dev/null 2>&1 || cargo +nightly fuzz build --sanitizer none
write_seeds
write_ring_seed
failed=0
printf '%-15s %12s %9s  %s\n' target runs coverage "$seconds s each"
for target in "${targets[@]}"; do run "$target"; done
exit $failed
