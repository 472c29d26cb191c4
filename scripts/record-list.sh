#!/usr/bin/env bash
# Records services with a known cause each, as a folder of recordings that people have: for the picture of the list.
# As root, with perf events, on a machine that does nothing else.
#
#   scripts/record-list.sh FOLDER     (NODESCOPE_BIN=target/debug/nodescope)
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "$1")
# A recording knows the machine's name.
if [ "$(hostname)" != shop ]; then
  exec unshare --uts sh -c 'hostname shop && exec "$@"' sh "scripts/$(basename "$0")" "$out"
fi

cache=${NODESCOPE_CACHE:-$HOME/.cache/nodescope}
node=$cache/node-24.21.0/node
nodescope=$(realpath "${NODESCOPE_BIN:-target/debug/nodescope}")
programs=corpus/programs/findings
export NODE_PATH=$cache/packages/node_modules
services=$(mktemp -d)
trap 'jobs -p | xargs -r kill 2>/dev/null || true; rm -rf "$services"' EXIT
mkdir -p "$out"

# record SERVICE PROGRAM REQUESTS_A_SECOND PATHS [FLAG...]
record() {
  local service=$1 program=$2 rate=$3 paths=$4
  shift 4
  local folder=$services/$service
  mkdir "$folder"
  cp "$programs/$program.js" "$programs/calibrate.js" "$folder"
  echo "{ \"name\": \"$service\", \"version\": \"1.0.0\" }" >"$folder/package.json"
  "$node" "$@" "$folder/$program.js" >"$folder/output" &
  local pid=$! port
  until port=$(sed -n 's/^ready //p' "$folder/output") && [ -n "$port" ]; do
    kill -0 "$pid"
    sleep 0.1
  done
  "$node" "$programs/load.js" "$port" "$rate" "$paths" &
  local load=$!
  sleep 1
  "$nodescope" record -q --overwrite -d 20s -o "$out/$service.nodescope" "$pid" >/dev/null
  kill "$load" "$pid" 2>/dev/null || true
  wait "$load" "$pid" || true
}

record deploy-api exec-sync 4 /
record accounts sync-crypto 25 /
record signup regexp 20 /ok,/ok,/bad
record catalogue growing-cache 60 / --single-threaded-gc
record uploads pool-zlib 40 /
record health healthy-http 200 /
ls -l "$out"
