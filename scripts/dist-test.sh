#!/usr/bin/env bash
# Checks what `scripts/dist.sh all` has built, as it is handed out. `make dist-test` calls it, and so does the release
# workflow.
#
#   scripts/dist-test.sh                all parts, of the programs in dist, or DIST
#   scripts/dist-test.sh PART...        some of them:
#     files        size, version, no libraries, no symbols, checksums, the form of programs for macOS and Windows; what
#                  scripts/release-files.sh makes of them
#     reproduce    a second build of the same commit, in another folder and with cargo's own files elsewhere, is equal
#                  byte for byte: of every target in dist
#     live         scripts/test.sh with these programs instead of the one that cargo builds for tests
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
dist=$(realpath "${DIST:-dist}")
most=8000000
targets=(x86_64-unknown-linux-musl aarch64-unknown-linux-musl)
x86_64=$dist/x86_64-unknown-linux-musl/nodescope
aarch64=$dist/aarch64-unknown-linux-musl/nodescope
windows=$dist/x86_64-pc-windows-gnu/nodescope.exe

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
  local commit version
  commit=$(git rev-parse HEAD | cut -c 1-7)
  version=$(${3:-} "$1" --version)
  case $version in *"($commit, $2)") say "$version" ;; *) fail "$1 is $version, not ($commit, $2): scripts/dist.sh builds it anew" ;; esac
}

emulator() { command -v qemu-aarch64 || command -v qemu-aarch64-static || fail 'qemu-user-static is missing'; }

check_files() {
  local target
  for target in "${targets[@]}"; do check_file "$target"; done
  check_elsewhere
  (cd "$dist" && sha256sum --check --quiet SHA256SUMS) || fail "SHA256SUMS does not fit the files"
  scripts/check-commit.sh "$dist" || exit 1
  check_version "$x86_64" "${targets[0]}"
  check_version "$aarch64" "${targets[1]}" "$(emulator)"
  check_release
}

# The packages and images of both processors, twice: the second time must make the same bytes.
check_release() {
  local first=$dist/release.first target
  scripts/release-files.sh >/dev/null
  rm -rf "$first" && mv "$dist/release" "$first"
  scripts/release-files.sh >/dev/null
  diff --recursive --brief "$first" "$dist/release" || fail 'the files of a release differ when they are made again'
  rm -rf "$first"
  check_licences
  for target in "${targets[@]}"; do check_packages "$target"; done
  say "$(find "$dist/release" -type f | wc -l) files of a release, the same when they are made again"
}

# Whatever holds a program holds the licences of what is in it.
check_licences() {
  local archive
  for archive in "$dist"/release/*.tar.gz; do
    [ "$(tar -tzf "$archive" | grep -cE '^(LICENSE-MIT|LICENSE-APACHE|THIRD-PARTY.txt)$')" = 3 ] || fail "$archive has no licences"
  done
}

# check_packages TARGET: the Debian package and the image of this processor hold this program.
check_packages() {
  local architecture program sum
  case $1 in x86_64-*) architecture=amd64 ;; *) architecture=arm64 ;; esac
  program=$dist/$1/nodescope
  sum=$(sha256sum <"$program")
  local deb=("$dist"/release/nodescope_*_"$architecture".deb) image=("$dist"/release/nodescope-*-image-"$architecture".tar)
  [ "$(dpkg-deb --field "${deb[0]}" Architecture)" = "$architecture" ] || fail "${deb[0]} is not for $architecture"
  [ "$(dpkg-deb --fsys-tarfile "${deb[0]}" | tar -xO ./usr/bin/nodescope | sha256sum)" = "$sum" ] ||
    fail "${deb[0]} has another program"
  # shellcheck disable=SC2016 # for the other shell, once for each file of the image
  tar -xO --wildcards --to-command='case $TAR_FILENAME in *.tar) tar -xO nodescope ;; esac' -f "${image[0]}" |
    sha256sum | grep -qxF "$sum" || fail "${image[0]} has another program"
  tar -xO --wildcards '*.json' -f "${image[0]}" | grep -q "\"architecture\": \"$architecture\"" ||
    fail "${image[0]} is not for $architecture"
}

# Programs of other systems. Which form each has is all that can be seen of macOS' ones here.
check_elsewhere() {
  local program
  for program in "$windows" "$dist"/{x86_64,aarch64}-apple-darwin/nodescope; do
    [ -e "$program" ] || fail "$program is not there: scripts/dist.sh all builds it"
  done
  [ "$(head -c 2 "$windows")" = MZ ] || fail "$windows is no program for Windows"
  for program in "$dist"/{x86_64,aarch64}-apple-darwin/nodescope; do check_mach_o "$program"; done
}

# check_mach_o PROGRAM: the magic number, the processor, and on arm64, where nothing runs without it, a signature.
check_mach_o() {
  local program=$1 target
  target=$(basename "$(dirname "$program")")
  node "$root/scripts/mach-o.mjs" "$program" "${target%%-*}" || exit 1
}

# A clone in another folder, with a target folder and a home of cargo of its own. Whatever the checksums list is compared.
check_reproduction() {
  local clone file folders cargo=${CARGO_HOME:-$HOME/.cargo}
  clone=$(mktemp -d)
  # shellcheck disable=SC2064 # the folder of now
  trap "rm -rf '$clone'" EXIT
  git clone --quiet "$root" "$clone/elsewhere"
  mapfile -t folders < <(cd "$dist" && printf '%s\n' *-*-*/nodescope* | cut -d / -f 1 | uniq)
  # Its settings and what it has fetched, from which it unpacks the sources anew.
  mkdir -p "$clone/cargo/registry"
  cp -r "$cargo"/config* "$clone/cargo" 2>/dev/null || true
  cp -r "$cargo"/registry/{index,cache} "$clone/cargo/registry" 2>/dev/null || true
  (cd "$clone/elsewhere" && CARGO_HOME=$clone/cargo CARGO_TARGET_DIR=$clone/made DIST=$clone/dist scripts/dist.sh "${folders[@]}" >/dev/null)
  while read -r _ file; do
    cmp "$dist/$file" "$clone/dist/$file" || fail "$file differs when it is built elsewhere"
  done <"$dist/SHA256SUMS"
  cmp "$dist/SHA256SUMS" "$clone/dist/SHA256SUMS" || fail 'SHA256SUMS lists other files than were built'
  say "a build in another folder is equal, byte for byte: ${folders[*]}"
}

# The tests run these instead of what cargo has built. Where every test can run, none may be skipped.
test_live() {
  [ -n "${NODESCOPE_REQUIRE_ALL:-}" ] || ! scripts/runs-every-test.sh || export NODESCOPE_REQUIRE_ALL=1
  NODESCOPE_BIN=$x86_64 NODESCOPE_STATIC=$x86_64 NODESCOPE_ARM64=$aarch64 NODESCOPE_WINDOWS=$windows \
    scripts/test.sh
}

[ $# -gt 0 ] || set -- files reproduce live
for part; do
  case $part in
    files) check_files ;;
    reproduce) check_reproduction ;;
    live) test_live ;;
    *) fail "there is no part $part: files, reproduce, live" ;;
  esac
done
