#!/usr/bin/env bash
# Refuses programs that were not built from the commit that is checked out, or for the target whose folder they are in:
# what was left by an earlier build must not be handed out under the name of this version. Everything that makes
# packages of dist calls it.
#
#   scripts/check-commit.sh [DIST]    every DIST/TARGET/nodescope and nodescope.exe that is there
#
# NODESCOPE_COMMIT is the commit where there is no clone, as for scripts/dist.sh.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
dist=${1:-$root/dist}
commit=${NODESCOPE_COMMIT:-$(git -C "$root" rev-parse HEAD)}
commit=${commit:0:7}

for program in "$dist"/*-*-*/nodescope "$dist"/*-*-*/nodescope.exe; do
  [ -e "$program" ] || continue
  target=$(basename "$(dirname "$program")")
  # What `nodescope --version` prints, which does not run for every target here.
  grep --text --quiet --fixed-strings -e "($commit, $target)" "$program" ||
    { echo "$program is not of commit $commit: scripts/dist.sh $target builds it anew, or remove its folder" >&2; exit 1; }
done
