// The service that `nodescope demo` profiles: a small shop with the habits of real ones. Its routes await what they
// need, logins and reports work on libuv's pool, the sessions make the garbage collector work, and every few seconds a
// report is made in one go, while every request waits: that is the cause to find.
//
// It listens on 127.0.0.1 only, says where in one line of JSON, and ends when its stdin does: then the program that
// started it is gone. Its folder is a temporary one and goes with it.
'use strict';

const fs = require('fs');
const http = require('http');
const path = require('path');

const { listArticles } = require('./lib/catalogue');
const { placeOrder } = require('./lib/orders');
const { aggregateOrders, exportReport, measure } = require('./lib/report');
const { login } = require('./lib/sessions');

const REPORT_EVERY_MS = 3000;

const routes = { '/orders': placeOrder, '/page': listArticles, '/report': exportReport, '/login': login };

async function handle(request, response) {
  const start = process.hrtime();
  const url = new URL(request.url, 'http://shop.local');
  const route = routes[url.pathname];
  if (route === undefined) return send(response, 404, { type: 'text/plain', body: 'there is no such page' });
  const answer = await route(url, await readBody(request));
  send(response, 200, answer);
  measure(url.pathname, start);
}

async function readBody(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts).toString();
}

function send(response, status, { type, body, encoding = 'identity' }) {
  const length = Buffer.byteLength(body);
  response.writeHead(status, { 'content-type': type, 'content-encoding': encoding, 'content-length': length });
  response.end(body);
}

function nightlyReport() {
  aggregateOrders();
  setTimeout(nightlyReport, REPORT_EVERY_MS);
}

function onRequest(request, response) {
  handle(request, response).catch((error) => send(response, 500, { type: 'text/plain', body: error.message }));
}

const server = http.createServer(onRequest);
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
