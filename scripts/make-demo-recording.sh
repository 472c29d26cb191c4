#!/bin/sh
# Makes the recording anew that `nodescope demo` shows where it cannot record: by the demo itself, with the text of its
# service, without the name of the machine. Needs root, for the kernel's part, and Node.
#
#   scripts/make-demo-recording.sh [OUT]              the recording that ships, or another file
#   MENDED=1 scripts/make-demo-recording.sh OUT       of the service with its slow function mended
#
# Both get the same requests in the same time, so that a comparison shows what was mended and nothing else: PAUSE_MS is
# the pause between two requests of a client.
set -eu
cd "$(dirname "$0")/.."

out=${1:-crates/nodescope/src/demo/recording.nodescope}
program=${NODESCOPE_BIN:-${CARGO_TARGET_DIR:-$PWD/target}/release/nodescope}
# Columns of the heat map are seconds from 20 s on.
duration=24s
# Three quarters of a CPU on the machine that the pictures are taken on.
pause_ms=${PAUSE_MS:-4}

[ -n "${NODESCOPE_BIN:-}" ] || cargo build --quiet --release
# The demo starts the first node of the PATH, in the folder of the service: this one does so in a folder that is always
# the same, so that recordings can be compared. The service removes it.
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
mend=:
# A thousandth of the rows are summed up.
[ -z "${MENDED:-}" ] || mend="sed -i 's/^const KEPT = .*/const KEPT = 1000;/' lib/report.js"
cat >"$bin/node" <<END
#!/bin/sh
if [ -e lib/report.js ]; then
  rm -rf /tmp/nodescope-demo-shop
  cp -r . /tmp/nodescope-demo-shop
  cd /tmp/nodescope-demo-shop
  $mend
fi
exec "$(command -v node)" "\$@"
END
chmod 755 "$bin/node"
PATH=$bin:$PATH
unshare --uts sh -c 'hostname demo && exec "$@"' sh \
  "$program" demo -d "$duration" --pause-ms "$pause_ms" -o "$out.new.nodescope" --no-browser
# In one piece, as an export is: tests change its bytes and want one checksum.
"$program" export "$out.new.nodescope" --with-source -o "$out.one.nodescope"
mv "$out.one.nodescope" "$out"
rm "$out.new.nodescope"
chmod 644 "$out"
ls -l "$out"
