#!/usr/bin/env bash
# Checks what scripts/dist.sh has built, as it is handed out. `make dist-test` calls it, and so does the release
# workflow.
#
#   scripts/dist-test.sh                all parts, of the programs in dist, or DIST
#   scripts/dist-test.sh PART...        some of them:
#     files        size, version, no libraries, no symbols, checksums; what scripts/release-files.sh makes of them
#     reproduce    a second build of the same commit, in another folder, is equal byte for byte
#     live         scripts/test.sh with these programs instead of the one that cargo builds for tests
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
dist=$(realpath "${DIST:-dist}")
most=8000000
targets=(x86_64-unknown-linux-musl aarch64-unknown-linux-musl)
x86_64=$dist/x86_64-unknown-linux-musl/nodescope
aarch64=$dist/aarch64-unknown-linux-musl/nodescope

fail() { printf 'dist-test: %s\n' "$*" >&2; exit 1; }
say() { printf 'dist-test: %s\n' "$*" >&2; }

# check_file TARGET: small, static, without symbols, debug information apart.
check_file() {
  local file=$dist/$1/nodescope size
  [ -x "$file" ] || fail "$file is not there: scripts/dist.sh builds it"
  size=$(stat -c %s "$file")
  [ "$size" -le "$most" ] || fail "$file has $size bytes, more than $most"
  ! readelf --wide --program-headers "$file" | grep -q INTERP || fail "$file needs a loader: it is not static"
  ! readelf --wide --sections "$file" | grep -q '\.symtab' || fail "$file has symbols"
  ! grep --text --quiet --fixed-strings -e "$HOME/" -e "$root/" "$file" || fail "$file knows a folder of this machine"
  [ -s "$file.debug" ] || fail "$file.debug is missing"
  say "$1: $size bytes, static, stripped"
}

# check_version PROGRAM TARGET [EMULATOR]
check_version() {
  local commit said
  commit=$(git rev-parse HEAD | cut -c 1-7)
  said=$(${3:-} "$1" --version)
  case $said in *"($commit, $2)") say "$said" ;; *) fail "$1 says $said, not ($commit, $2): scripts/dist.sh builds it anew" ;; esac
}

emulator() { command -v qemu-aarch64 || command -v qemu-aarch64-static || fail 'qemu-user-static is missing'; }

check_files() {
  local target
  for target in "${targets[@]}"; do check_file "$target"; done
  (cd "$dist" && sha256sum --check --quiet SHA256SUMS) || fail "SHA256SUMS does not fit the files"
  check_version "$x86_64" "${targets[0]}"
  check_version "$aarch64" "${targets[1]}" "$(emulator)"
  check_release
}

# The packages and images of both processors, twice: the second time must make the same bytes.
check_release() {
  local first=$dist/release.first
  scripts/release-files.sh >/dev/null
  rm -rf "$first" && mv "$dist/release" "$first"
  scripts/release-files.sh >/dev/null
  diff --recursive --brief "$first" "$dist/release" || fail 'the files of a release differ when they are made again'
  rm -rf "$first"
  say "$(find "$dist/release" -type f | wc -l) files of a release, the same when they are made again"
}

# A clone in another folder, with its own target folder.
check_reproduction() {
  local clone target
  clone=$(mktemp -d)
  # shellcheck disable=SC2064 # the folder of now
  trap "rm -rf '$clone'" EXIT
  git clone --quiet "$root" "$clone/elsewhere"
  (cd "$clone/elsewhere" && CARGO_TARGET_DIR=$clone/made DIST=$clone/dist scripts/dist.sh >/dev/null)
  for target in "${targets[@]}"; do
    cmp "$dist/$target/nodescope" "$clone/dist/$target/nodescope" || fail "$target differs when it is built elsewhere"
    cmp "$dist/$target/nodescope.debug" "$clone/dist/$target/nodescope.debug" || fail "the debug information of $target differs"
  done
  say 'a build in another folder is equal, byte for byte'
}

# What was built for Windows, too, is run by wine.
windows=$dist/x86_64-pc-windows-gnu/nodescope.exe
[ ! -e "$windows" ] || export NODESCOPE_WINDOWS=$windows

# NODESCOPE_BIN and NODESCOPE_ARM64 are what the tests run instead of what cargo has built.
test_live() { NODESCOPE_BIN=$x86_64 NODESCOPE_ARM64=$aarch64 scripts/test.sh; }

[ $# -gt 0 ] || set -- files reproduce live
for part; do
  case $part in
    files) check_files ;;
    reproduce) check_reproduction ;;
    live) test_live ;;
    *) fail "there is no part $part: files, reproduce, live" ;;
  esac
done
