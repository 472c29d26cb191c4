#!/usr/bin/env bash
# Records the cases corpus/entries-*: real programs with the real packages, so that the rules of
# crates/views/src/entries/rules.rs are tested on what packages really do. As root, with perf events.
#
#   scripts/record-entries.sh [NAME...]    (default: all; NODESCOPE_BIN=target/debug/nodescope)
#
# npm installs the packages into the cache once. bullmq needs redis-server, which Debian has; without it that case is
# left out. Programs run from /srv/entries.
set -euo pipefail
cd "$(dirname "$0")/.."
# A recording knows the machine's name.
if [ "$(hostname)" != corpus ]; then
  exec unshare --uts sh -c 'hostname corpus && exec "$@"' sh "scripts/$(basename "$0")" "$@"
fi

cache=${NODESCOPE_CACHE:-$HOME/.cache/nodescope}/entries
node_folder=${NODESCOPE_CACHE:-$HOME/.cache/nodescope}/node-24.21.0
nodescope=$(realpath "${NODESCOPE_BIN:-target/debug/nodescope}")
out=$PWD/corpus
packages=(
  express@5.3.0 fastify@5.12.8 koa@3.2.1 @hapi/hapi@21.4.10 @nestjs/core@11.2.10 @nestjs/common@11.2.10
  @nestjs/platform-express@11.2.10 reflect-metadata@0.2.2 rxjs@7.8.2 next@15.5.29 react@19 react-dom@19 ws@8.23.0
  socket.io@4.8.4 socket.io-client@4.8.4 graphql@16.15.0 @grpc/grpc-js@1.14.7 bullmq@5.81.5 kafkajs@2.2.4
  amqplib@0.10.9 vitest@3.2.7 jest@30.5.2 mocha@11.8.0 piscina@5.3.2 eslint@9.39.5 webpack@5.112.2 webpack-cli@6
  typescript@5.9.3
)

install_packages() {
  if [ -e "$cache/installed" ]; then return; fi
  mkdir -p "$cache"
  echo '{ "private": true }' > "$cache/package.json"
  (cd "$cache" && npm install --no-audit --no-fund --ignore-scripts "${packages[@]}" && touch installed)
}

# Two versions of a package cannot stand in one folder.
install_express4() {
  if [ -e "$cache/express4/installed" ]; then return; fi
  mkdir -p "$cache/express4"
  echo '{ "private": true }' > "$cache/express4/package.json"
  (cd "$cache/express4" && npm install --no-audit --no-fund --ignore-scripts express@4.22.3 && touch installed)
}

# A folder of the programs with the packages as they would be there, without a copy of their bytes.
lay_out() {
  rm -rf /srv/entries
  mkdir -p /srv/entries /opt/entries-node
  cp -r corpus/programs/entries/. /srv/entries
  cp -al "$cache/node_modules" /srv/entries/node_modules
  mkdir /srv/entries/express4
  cp corpus/programs/entries/{express,spin}.js /srv/entries/express4
  cp -al "$cache/express4/node_modules" /srv/entries/express4/node_modules
  cp "$node_folder/node" /opt/entries-node/node
}

node=/opt/entries-node/node

# server NAME FILE [FOLDER]: starts a program, waits until it is ready, records it without the process that makes the
# load.
server() {
  local name=$1 file=$2 folder=${3:-/srv/entries}
  (cd "$folder" && exec "$node" $file) > /srv/entries/output &
  local pid=$!
  until grep -qi ready /srv/entries/output; do
    kill -0 "$pid" || { cat /srv/entries/output; return 1; }
    sleep 0.1
  done
  # Connections are made, and code is compiled.
  sleep 2
  record_to "$name" -p "$pid" --no-children -d "${DURATION:-6s}"
  kill "$pid"
  wait "$pid" || true
}

# command_of NAME ARGUMENTS...: records a command from its start to its end.
command_of() {
  local name=$1
  shift
  (cd /srv/entries && record_to "$name" -- "$@") || true
}

record_to() {
  local name=$1
  shift
  mkdir -p "$out/entries-$name"
  "$nodescope" record -q --overwrite -F "${FREQUENCY:-99}" -o "$out/entries-$name/input.nodescope" "$@" > /dev/null
  chmod 644 "$out/entries-$name/input.nodescope"
  ls -l "$out/entries-$name/input.nodescope"
}

case_http() { server http http.js; }
case_https() { server https https.js; }
case_loop() { server loop loop.js; }
case_http2() { server http2 http2.js; }
case_express() { server express express.js; }
case_express4() { server express4 express.js /srv/entries/express4; }
case_fastify() { server fastify fastify.js; }
case_koa() { server koa koa.js; }
case_hapi() { server hapi hapi.js; }
case_nest() { server nest nest.js; }
case_ws() { server ws ws.js; }
case_socketio() { server socketio socket.io.js; }
case_graphql() { server graphql graphql.js; }
case_grpc() { server grpc grpc.js; }
case_kafkajs() { server kafkajs kafkajs.js; }
case_amqplib() { server amqplib amqplib.js; }
case_piscina() { server piscina piscina.js; }
case_startup() { command_of startup "$node" startup.js; }
case_startup_esm() { command_of startup-esm "$node" startup.mjs; }
case_node_test() { command_of node-test "$node" node.spec.js; }
case_mocha() { command_of mocha "$node" node_modules/mocha/bin/_mocha mocha.spec.js; }
case_jest() {
  FREQUENCY=49 command_of jest "$node" node_modules/jest/bin/jest.js --runInBand --config '{ "testMatch": ["**/mocha.spec.js"] }'
}
case_vitest() { FREQUENCY=69 command_of vitest "$node" node_modules/vitest/vitest.mjs run --pool forks --dir . vitest.spec; }
case_eslint() { command_of eslint "$node" node_modules/eslint/bin/eslint.js http.js loop.js express.js; }
case_tsc() { command_of tsc "$node" node_modules/typescript/bin/tsc --noEmit --target es2022 --lib es2022,dom typed.ts; }
case_webpack() { command_of webpack "$node" node_modules/webpack-cli/bin/cli.js; }

case_bullmq() {
  if ! command -v redis-server > /dev/null; then
    echo "no redis-server: bullmq is not recorded"
    return
  fi
  export REDIS_PORT=6390
  redis-server --port "$REDIS_PORT" --save "" --daemonize no > /dev/null &
  local redis=$!
  server bullmq bullmq.js || true
  kill "$redis"
}

case_next() {
  (cd /srv/entries/next && ln -sfn ../node_modules node_modules && "$node" node_modules/next/dist/bin/next build > /dev/null)
  (for _ in $(seq 2000); do
    curl -s -o /dev/null http://127.0.0.1:3999/api/list || true
    curl -s -o /dev/null http://127.0.0.1:3999/ || true
  done) &
  local load=$!
  server next "node_modules/next/dist/bin/next start -p 3999" /srv/entries/next || true
  kill "$load" 2> /dev/null || true
}

all=(http https loop http2 express express4 fastify koa hapi nest next ws socketio graphql grpc bullmq kafkajs amqplib piscina startup
  startup_esm node_test mocha jest vitest eslint webpack tsc)
install_packages
install_express4
lay_out
for name in "${@:-${all[@]}}"; do
  echo "== $name"
  "case_$name"
done
rm -rf /srv/entries /opt/entries-node
