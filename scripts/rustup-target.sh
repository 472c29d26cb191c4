#!/usr/bin/env bash
# Adds targets to rustup, one after the other, unless they are there: `scripts/rustup-target.sh TARGET...`. Tests and
# checks run side by side, and two rustups that change one toolchain at a time can fail each other.
set -euo pipefail

has() { [ -d "$(rustc --print sysroot)/lib/rustlib/$1/lib" ]; }

command -v rustup >/dev/null || { echo 'rustup-target: rustup is missing: https://rustup.rs' >&2; exit 1; }
# Where there is no flock, as on macOS, nothing waits.
if command -v flock >/dev/null; then
  mkdir -p "${CARGO_HOME:-$HOME/.cargo}"
  exec 9>"${CARGO_HOME:-$HOME/.cargo}/.nodescope-targets.lock"
  flock 9
fi
for target; do
  has "$target" || rustup --quiet target add "$target" >&2
done
