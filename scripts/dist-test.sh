#!/usr/bin/env bash
# Checks what scripts/dist.sh has built, as it is handed out: size, version, libraries, packages, and the live tests.
# `make dist-test` calls it, and so does the release workflow.
#
#   scripts/dist-test.sh            the programs in dist, or DIST
#   scripts/dist-test.sh reproduce  the same, after a second build in another folder, which must be equal byte for byte
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
dist=$(realpath "${DIST:-dist}")
most=8000000
x86_64=$dist/x86_64-unknown-linux-musl/nodescope
aarch64=$dist/aarch64-unknown-linux-musl/nodescope

fail() { printf 'dist-test: %s\n' "$*" >&2; exit 1; }
say() { printf 'dist-test: %s\n' "$*" >&2; }

# check_file TARGET: small, static, without symbols, debug information apart.
check_file() {
  local file=$dist/$1/nodescope size
  size=$(stat -c %s "$file")
  [ "$size" -le "$most" ] || fail "$file has $size bytes, more than $most"
  ! readelf --wide --program-headers "$file" | grep -q INTERP || fail "$file needs a loader: it is not static"
  ! readelf --wide --sections "$file" | grep -q '\.symtab' || fail "$file has symbols"
  [ -s "$file.debug" ] || fail "$file.debug is missing"
  say "$1: $size bytes, static, stripped"
}

# check_version PROGRAM TARGET [EMULATOR]
check_version() {
  local commit said
  commit=$(git rev-parse HEAD | cut -c 1-7)
  said=$(${3:-} "$1" --version)
  case $said in *"($commit, $2)") say "$said" ;; *) fail "$1 says $said, not ($commit, $2)" ;; esac
}

# A clone in another folder, with its own target folder.
check_reproduction() {
  local clone
  clone=$(mktemp -d)
  # shellcheck disable=SC2064 # the folder of now
  trap "rm -rf '$clone'" EXIT
  git clone --quiet "$root" "$clone/elsewhere"
  (cd "$clone/elsewhere" && CARGO_TARGET_DIR=$clone/made DIST=$clone/dist scripts/dist.sh >/dev/null)
  for target in x86_64-unknown-linux-musl aarch64-unknown-linux-musl; do
    cmp "$dist/$target/nodescope" "$clone/dist/$target/nodescope" || fail "$target differs when it is built elsewhere"
  done
  say 'a build in another folder is equal, byte for byte'
}

for target in x86_64-unknown-linux-musl aarch64-unknown-linux-musl; do check_file "$target"; done
(cd "$dist" && sha256sum --check --quiet SHA256SUMS)
check_version "$x86_64" x86_64-unknown-linux-musl
emulator=$(command -v qemu-aarch64 || command -v qemu-aarch64-static) || fail 'qemu-user-static is missing'
check_version "$aarch64" aarch64-unknown-linux-musl "$emulator"
[ "${1:-}" != reproduce ] || check_reproduction

# What was built for Windows, too, is run by wine.
windows=$dist/x86_64-pc-windows-gnu/nodescope.exe
[ ! -e "$windows" ] || export NODESCOPE_WINDOWS=$windows

# NODESCOPE_BIN and NODESCOPE_ARM64 are what the tests run instead of what cargo has built.
NODESCOPE_BIN=$x86_64 NODESCOPE_ARM64=$aarch64 scripts/test.sh
