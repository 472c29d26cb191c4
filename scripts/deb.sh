#!/usr/bin/env bash
# Makes a Debian package: the program, its manual and its completions. Nothing else runs when it is installed.
#
#   scripts/deb.sh PROGRAM ARCHITECTURE OUT    such as dist/x86_64-unknown-linux-musl/nodescope amd64 nodescope.deb
#
# PROGRAM is a static one, so the package depends on nothing. Where it does not run here, NODESCOPE_BIN names one of
# the same version that does: it writes the manual and the completions. The same inputs make the same bytes: all times
# are SOURCE_DATE_EPOCH, or that of the commit.
set -euo pipefail

[ $# = 3 ] || { echo 'usage: scripts/deb.sh PROGRAM ARCHITECTURE OUT' >&2; exit 2; }
program=$1 architecture=$2 out=$3
root=$(cd "$(dirname "$0")/.." && pwd)
writer=$(realpath "${NODESCOPE_BIN:-$program}")
version=$("$writer" --version | awk '{ print $2 }')
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH
maintainer='nodescope <nodescope@users.noreply.github.com>'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022

# put FILE PLACE [MODE]: `-` is stdin.
put() { install -D -m "${3:-644}" "${1/#-//dev/stdin}" "$work/$2"; }

put_files() {
  local page
  put "$program" usr/bin/nodescope 755
  mkdir "$work/man" && "$writer" man --dir "$work/man"
  for page in "$work"/man/*.1; do
    gzip -9n <"$page" | put - "usr/share/man/man1/${page##*/}.gz"
  done
  rm -r "$work/man"
  "$writer" completions bash | put - usr/share/bash-completion/completions/nodescope
  "$writer" completions zsh | put - usr/share/zsh/vendor-completions/_nodescope
  "$writer" completions fish | put - usr/share/fish/vendor_completions.d/nodescope.fish
}

# What Debian wants to find in every package.
put_documents() {
  {
    printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: nodescope\n'
    printf 'Source: https://github.com/nodescope/nodescope\n\nFiles: *\nCopyright: 2026 the nodescope authors\n'
    printf 'License: MIT or Apache-2.0\n\nLicense: MIT\n'
    sed -n '/^Permission/,$ p' "$root/LICENSE-MIT" | sed 's/^$/./; s/^/ /'
    printf '\nLicense: Apache-2.0\n On Debian systems the licence is in /usr/share/common-licenses/Apache-2.0.\n'
  } | put - usr/share/doc/nodescope/copyright
  printf 'nodescope (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md of the source.\n\n -- %s  %s\n' \
    "$version" "$maintainer" "$(date -Ru -d "@$SOURCE_DATE_EPOCH")" | gzip -9n | put - usr/share/doc/nodescope/changelog.gz
  "$root/scripts/licences.sh" | put - usr/share/doc/nodescope/THIRD-PARTY.txt
  # It is static on purpose: it also runs where this distribution's libraries are not.
  printf 'nodescope: %s\n' statically-linked-binary shared-library-lacks-prerequisites | put - usr/share/lintian/overrides/nodescope
}

put_control() {
  local size
  size=$(du -sk --apparent-size "$work/usr" | cut -f 1)
  put - DEBIAN/control <<CONTROL
Package: nodescope
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $size
Section: devel
Priority: optional
Homepage: https://github.com/nodescope/nodescope
Description: profiler for Node.js processes that are already running
 nodescope samples a running Node.js process, on the host or in a container,
 and shows where its time went: as text, as a web page with a heat map and a
 flame graph, or as a picture. The process needs no restart and no option.
 Recordings of perf, V8 and other profilers are read, too.
CONTROL
  (cd "$work" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) | put - DEBIAN/md5sums
}

put_files
put_documents
put_control
chmod 755 "$work"
# A folder has the time at which it was made, and dpkg-deb only lowers times that are later.
find "$work" -print0 | xargs -0 touch --no-dereference --date "@$SOURCE_DATE_EPOCH"
dpkg-deb --build --root-owner-group -Zxz -z1 "$work" "$out" >/dev/null
