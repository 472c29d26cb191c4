// The service that `nodescope demo` profiles: a small shop with the habits of real ones. Its routes await what they
// need, logins and reports work on libuv's pool, the sessions make the garbage collector work, and every few seconds a
// report is made in one go, while every request waits: that is the cause to find.
//
// It listens on 127.0.0.1 only, says where in one line of JSON, and ends when its stdin does: then the program that
// started it is gone. Its folder is a temporary one and goes with it.
'use strict';

const events = require('events');
const fs = require('fs');
const http = require('http');
const path = require('path');

const { listArticles } = require('./lib/catalogue');
const { isFor, pathOf, send } = require('./lib/http');
const { placeOrder } = require('./lib/orders');
const { aggregateOrders, exportReport, measure, PATHS } = require('./lib/report');
const { login } = require('./lib/sessions');

const REPORT_EVERY_MS = 3000;

// A route that fails is answered with 500, and the service goes on.
events.captureRejections = true;

function nightlyReport() {
  aggregateOrders();
  setTimeout(nightlyReport, REPORT_EVERY_MS);
}

function measureRequest(request, response) {
  const start = process.hrtime();
  response.on('finish', () => measure(pathOf(request), start));
}

function notFound(request, response) {
  if (!PATHS.some((known) => isFor(request, known))) send(response, { type: 'text/plain', body: 'there is no such page' }, 404);
}

// Each route listens for itself, and leaves the requests of the others alone.
const server = http.createServer();
for (const route of [measureRequest, placeOrder, listArticles, exportReport, login, notFound]) server.on('request', route);
server.keepAliveTimeout = 60000;
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address();
  process.stdout.write(JSON.stringify({ port, pid: process.pid, node: process.version }) + '\n');
});
setTimeout(nightlyReport, 2000);

// The demo made the folder; whatever ends the demo, the folder goes.
process.on('exit', () => {
  if (path.basename(__dirname).startsWith('nodescope-demo-')) fs.rmSync(__dirname, { recursive: true, force: true });
});
process.stdin.on('error', () => process.exit());
process.stdin.on('end', () => process.exit());
process.stdin.resume();
