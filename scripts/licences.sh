#!/usr/bin/env bash
# Prints the licences of what is linked into our programs: each Rust crate of Cargo.lock with its licence, then their
# texts, each once with the crates that it is of; last, those of Rust's library and of musl. One list for all systems: it
# may name crates that only another system needs. The same Cargo.lock gives the same bytes.
#
#   scripts/licences.sh >THIRD-PARTY.txt
#
# It needs cargo, whose cache has the sources of what was built.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
sources=${CARGO_HOME:-$HOME/.cargo}/registry/src
export LC_ALL=C
cd "$root"

# name, version and licence of each crate, with tabs between; not ours, and nothing that runs while building.
crates() {
  cargo tree --quiet --locked -p nodescope --edges normal,no-proc-macro --target all --prefix none --format '{p}|{l}' |
    awk -F '|' '!/^nodescope/ { split($1, name, " v?"); sub(/ [(][*][)]$/, "", $2); print name[1] "\t" name[2] "\t" $2 }' | sort -u
}

# texts FOLDER LICENCE: the files with the licence in an unpacked crate. Where one may be chosen, we choose MIT's.
texts() {
  local files
  files=$(find "$1" -maxdepth 1 -type f \( -iname 'licen[sc]e*' -o -iname 'copying*' -o -iname 'unlicense*' \) | sort)
  case $2 in
    *AND*) echo "$files" ;;
    *) grep -i 'MIT[^/]*$' <<<"$files" || echo "$files" ;;
  esac
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
crates >"$work/crates"
[ -s "$work/crates" ] || { echo 'licences: cargo tree lists no crates' >&2; exit 1; }

printf 'What the programs of nodescope are made of, besides its own code.\n\n'
while IFS=$'\t' read -r name version licence; do
  printf '%-24s %-22s %s\n' "$name" "$version" "$licence"
  for folder in "$sources"/*/"$name-$version"; do
    [ -d "$folder" ] || { echo "licences: cargo has no sources of $name $version: cargo fetch gets them" >&2; exit 1; }
    texts "$folder" "$licence" | while read -r file; do
      [ -n "$file" ] || { printf '    its package has no text of the licence\n'; continue; }
      sum=$(tr -d '\r' <"$file" | sha256sum | cut -d ' ' -f 1)
      tr -d '\r' <"$file" >"$work/$sum.text"
      echo "$name $version" >>"$work/$sum.names"
    done
    break
  done
done <"$work/crates"

rule=$(printf '%.0s-' {1..100})
# In the order of the first crate that has each.
for names in $(grep -H -m 1 '' "$work"/*.names | sort -t : -k 2 | cut -d : -f 1); do
  printf '\n%s\n%s\n\n' "$rule" "$(paste -sd , "$names" | sed 's/,/, /g')"
  cat "${names%.names}.text"
done
printf '\n%s\nThe standard library of Rust, MIT OR Apache-2.0: Copyright (c) The Rust Project Contributors\n' "$rule"
printf 'musl, the C library of the programs for Linux, MIT: Copyright © 2005-2020 Rich Felker, et al.\n'
printf 'mingw-w64, parts of the C library of the program for Windows, ZPL-2.1 and public domain\n\n'
sed -n '/^Permission/,$ p' "$root/LICENSE-MIT"
