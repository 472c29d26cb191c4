#!/usr/bin/env bash
# Runs every fuzz target for a short while: scripts/fuzz.sh [TARGET...]   (no TARGET: all of them)
#
# SECONDS_EACH=600 scripts/fuzz.sh perf_script looks longer. A crash leaves its input in fuzz/artifacts: make a corpus case of it.
set -euo pipefail

cd "$(dirname "$0")/.."
seconds=${SECONDS_EACH:-20}

missing() {
  printf 'fuzz: %s\n' "$*" >&2
  exit 3
}

[ -e fuzz/Cargo.toml ] || missing 'there are no fuzz targets yet'
rustup run nightly rustc --version >/dev/null 2>&1 || missing 'nightly Rust is missing: rustup toolchain install nightly --profile minimal'
command -v cargo-fuzz >/dev/null || missing 'cargo-fuzz is missing: cargo install --locked cargo-fuzz'

if [ $# -eq 0 ]; then
  mapfile -t targets < <(cargo +nightly fuzz list)
else
  targets=("$@")
fi
for target in "${targets[@]}"; do
  printf 'fuzz: %s for %s s\n' "$target" "$seconds" >&2
  cargo +nightly fuzz run "$target" -- -max_total_time="$seconds" -rss_limit_mb=4096 -timeout=20 -print_final_stats=1
done
