#!/usr/bin/env bash
# Makes the files of a release out of the programs in dist, into dist/release: archives, debug information, Debian
# packages, images, the compilers and linkers that built them, and the checksums of all.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
dist=$(realpath "${DIST:-$root/dist}")
out=$dist/release
"$root/scripts/check-commit.sh" "$dist"
# The program that runs here writes the manual and the completions of every package.
NODESCOPE_BIN=$dist/$(uname -m)-unknown-linux-musl/nodescope
export NODESCOPE_BIN
version=$("$NODESCOPE_BIN" --version | awk '{ print $2 }')
time=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct)}
rm -rf "$out" && mkdir -p "$out"
licences=$(mktemp -d)
trap 'rm -rf "$licences"' EXIT
"$root/scripts/licences.sh" >"$licences/THIRD-PARTY.txt"
chmod 644 "$licences/THIRD-PARTY.txt"

# archive NAME FOLDER FILE: with the licences. The same inputs make the same bytes.
archive() {
  local name=$1 folder=$2 file=$3
  tar --create --format=ustar --sort=name --mtime="@$time" --owner=0 --group=0 --numeric-owner \
    --directory "$folder" "$file" --directory "$root" LICENSE-MIT LICENSE-APACHE --directory "$licences" THIRD-PARTY.txt |
    gzip -9n >"$out/$name.tar.gz"
}

# processor TARGET ARCHITECTURE
processor() {
  local program=$dist/$1/nodescope
  archive "nodescope-$version-$1" "$dist/$1" nodescope
  archive "nodescope-$version-$1-debug" "$dist/$1" nodescope.debug
  "$root/scripts/deb.sh" "$program" "$2" "$out/nodescope_${version}_$2.deb"
  "$root/scripts/image.sh" "$program" "$2" "$out/nodescope-$version-image-$2.tar"
}

# Programs of other systems, where they were built: scripts/dist.sh all
elsewhere() {
  local target=$1 program=$2
  [ ! -e "$dist/$target/$program" ] || archive "nodescope-$version-$target" "$dist/$target" "$program"
}

# Who builds the same commit with these gets the same bytes.
for program in "$dist"/*-*-*/nodescope "$dist"/*-*-*/nodescope.exe; do
  [ ! -e "$program" ] || cat "$dist/toolchain-$(basename "$(dirname "$program")").txt"
done >"$out/nodescope-$version-toolchain.txt"
cp "$dist/SHA256SUMS" "$out/nodescope-$version-programs.sha256"
processor x86_64-unknown-linux-musl amd64
processor aarch64-unknown-linux-musl arm64
elsewhere x86_64-pc-windows-gnu nodescope.exe
elsewhere x86_64-apple-darwin nodescope
elsewhere aarch64-apple-darwin nodescope
(cd "$out" && sha256sum -- * >"$dist/sums" && mv "$dist/sums" SHA256SUMS && cat SHA256SUMS)
