#!/usr/bin/env bash
# Prints the path of zig, which links programs for macOS: always the same release of it, whichever is in the PATH. It
# comes from PyPI by pip, once, and the cache keeps it.
set -euo pipefail

release=0.13.0
folder=${NODESCOPE_CACHE:-$HOME/.cache/nodescope}/zig-$release
zig=$folder/ziglang/zig

if [ ! -x "$zig" ]; then
  printf 'zig: fetching %s into %s\n' "$release" "$folder" >&2
  rm -rf "$folder.part"
  python3 -m pip install --quiet --disable-pip-version-check --no-deps --target "$folder.part" "ziglang==$release" >&2 ||
    { printf 'zig: no zig: pip install ziglang==%s\n' "$release" >&2; exit 1; }
  mv "$folder.part" "$folder"
fi
printf '%s\n' "$zig"
