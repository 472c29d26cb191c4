#!/bin/sh
# Makes the recording anew that `nodescope demo` shows where it cannot record: by the demo itself, without the name of
# the machine. Needs root, for the kernel's part, and Node.
set -eu
cd "$(dirname "$0")/.."

out=crates/nodescope/src/demo/recording.nodescope
program=${CARGO_TARGET_DIR:-target}/release/nodescope

cargo build --quiet --release
unshare --uts sh -c 'hostname demo && exec "$@"' sh "$program" demo -d 6s -o "$out.new.nodescope"
# In one piece, as an export is: tests change its bytes and want one checksum.
"$program" export "$out.new.nodescope" -o "$out.one.nodescope"
mv "$out.one.nodescope" "$out"
rm "$out.new.nodescope"
chmod 644 "$out"
ls -l "$out"
