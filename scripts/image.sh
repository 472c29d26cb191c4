#!/usr/bin/env bash
# Makes an image for containers that holds the program and nothing else, as an archive for `docker load` or
# `podman load`. It needs tar, sha256sum and cargo, which lists the licences; no engine and no registry.
#
#   scripts/image.sh PROGRAM ARCHITECTURE OUT    such as dist/x86_64-unknown-linux-musl/nodescope amd64 image.tar
#
# The image is called nodescope:VERSION and nodescope:latest. Recordings go to /out, its working directory. Where
# PROGRAM does not run here, NODESCOPE_BIN names one of the same version that does. The same inputs make the same bytes.
set -euo pipefail

[ $# = 3 ] || { echo 'usage: scripts/image.sh PROGRAM ARCHITECTURE OUT' >&2; exit 2; }
program=$1 architecture=$2 out=$3
root=$(cd "$(dirname "$0")/.." && pwd)
# nodescope 0.1.0 (abc1234, x86_64-unknown-linux-musl)
read -r _ version commit _ < <("$(realpath "${NODESCOPE_BIN:-$program}")" --version | tr -d '(,)')
time=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || echo 0)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022

pack() { tar --create --format=ustar --sort=name --mtime="@$time" --owner=0 --group=0 --numeric-owner "$@"; }

sum() { sha256sum "$1" | cut -d ' ' -f 1; }

write_layer() {
  mkdir -p "$work/files/out" "$work/files/tmp" "$work/files/licenses" "$work/image"
  chmod 1777 "$work/files/out" "$work/files/tmp"
  install -m 755 "$program" "$work/files/nodescope"
  install -m 644 "$root"/LICENSE-* "$work/files/licenses"
  "$root/scripts/licences.sh" >"$work/files/licenses/THIRD-PARTY.txt"
  pack --directory "$work/files" --file "$work/image/layer.tar" nodescope licenses out tmp
}

write_config() {
  cat >"$work/image/config.json" <<CONFIG
{
  "architecture": "$architecture", "os": "linux", "created": "$(date -u -d "@$time" +%FT%TZ)",
  "config": {
    "Entrypoint": ["/nodescope"], "WorkingDir": "/out",
    "Labels": {
      "org.opencontainers.image.title": "nodescope",
      "org.opencontainers.image.source": "https://github.com/nodescope/nodescope",
      "org.opencontainers.image.version": "$version", "org.opencontainers.image.revision": "$commit",
      "org.opencontainers.image.licenses": "MIT OR Apache-2.0"
    }
  },
  "rootfs": { "type": "layers", "diff_ids": ["sha256:$(sum "$work/image/layer.tar")"] },
  "history": [{ "created": "$(date -u -d "@$time" +%FT%TZ)", "created_by": "scripts/image.sh" }]
}
CONFIG
}

# An engine finds the files by their sums.
write_archive() {
  local config layer
  config=$(sum "$work/image/config.json").json
  layer=$(sum "$work/image/layer.tar").tar
  mv "$work/image/config.json" "$work/image/$config"
  mv "$work/image/layer.tar" "$work/image/$layer"
  printf '[{"Config":"%s","RepoTags":["nodescope:%s","nodescope:latest"],"Layers":["%s"]}]\n' \
    "$config" "$version" "$layer" >"$work/image/manifest.json"
  pack --directory "$work/image" --file "$out" manifest.json "$config" "$layer"
}

write_layer
write_config
write_archive
