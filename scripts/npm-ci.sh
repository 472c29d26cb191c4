#!/usr/bin/env bash
# Installs what the package-lock.json of a folder lists, unless it is there: `scripts/npm-ci.sh page`. Who comes while
# another installs the same waits for it.
set -euo pipefail

cd "$(dirname "$0")/../$1" || exit 1
done=node_modules/.package-lock.json
# Where there is no flock, as on macOS, nothing waits.
if command -v flock >/dev/null; then
  exec 9<package-lock.json
  flock 9
fi
[ "$done" -nt package-lock.json ] && exit
npm ci --ignore-scripts --no-audit --no-fund 9<&-
touch "$done"
