// The service that `nodescope demo` profiles: a small shop, with the habits of real ones. It parses and sorts orders,
// renders pages from a template, zips reports, checks passwords on libuv's pool, keeps a cache that makes the garbage
// collector work, and every few seconds does its sums in one go, while every request waits.
//
// It listens on 127.0.0.1 only, says where in one line of JSON, and ends when its stdin does: then the program that
// started it is gone.
'use strict';

const crypto = require('crypto');
const http = require('http');
const zlib = require('zlib');

const MOST_SESSIONS = 4000;
const KEPT_METRICS = 300000;
const AGGREGATE_EVERY_MS = 4000;

const PAGE = `<!doctype html>
<title>{{ title }}</title>
<h1>{{ title }}</h1>
<ul>{{#each articles}}
  <li id="{{ id }}"><b>{{ name }}</b> {{ price }} <i>{{ text }}</i></li>{{/each}}
</ul>
<p>{{ count }} articles for {{ user }}</p>`;

const catalogue = makeCatalogue(600);
const sessions = new Map();
const metrics = [];
let summary = {};

const routes = {
  '/orders': orders,
  '/page': page,
  '/report': report,
  '/login': login,
};

const server = http.createServer((request, response) => {
  const start = process.hrtime();
  const url = new URL(request.url, 'http://shop.local');
  response.on('finish', () => measure(url.pathname, start));
  readBody(request, (body) => route(url, body, response));
});

server.keepAliveTimeout = 60000;
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address();
  process.stdout.write(JSON.stringify({ port, pid: process.pid, node: process.version }) + '\n');
});

process.stdin.on('error', () => process.exit());
process.stdin.on('end', () => process.exit());
process.stdin.resume();

setTimeout(function everyFewSeconds() {
  summary = aggregateMetrics();
  setTimeout(everyFewSeconds, AGGREGATE_EVERY_MS);
}, 1200);

function route(url, body, response) {
  const handler = routes[url.pathname];
  if (handler === undefined) {
    return send(response, 404, 'text/plain', 'there is no such page');
  }
  handler(url, body, response);
}

function readBody(request, done) {
  const parts = [];
  request.on('data', (part) => parts.push(part));
  request.on('end', () => done(Buffer.concat(parts).toString()));
}

function send(response, status, type, body) {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

// Orders: JSON in, checked, priced and sorted, JSON out.
function orders(url, body, response) {
  const order = JSON.parse(body);
  const session = touchSession(order.customer);
  const lines = order.lines.map((line) => priceLine(line)).filter((line) => line.total > 0);
  lines.sort((a, b) => b.total - a.total || a.name.localeCompare(b.name));
  session.orders.push({ at: Date.now(), lines });
  if (session.orders.length > 4) session.orders.shift();
  const total = lines.reduce((sum, line) => sum + line.total, 0);
  send(response, 200, 'application/json', JSON.stringify({ customer: order.customer, total, lines }));
}

function priceLine(line) {
  const article = catalogue[line.article % catalogue.length];
  const discount = line.count > 10 ? 0.9 : 1;
  return { name: article.name, count: line.count, total: Math.round(line.count * article.price * discount) };
}

// Pages: a template, filled with articles that match.
function page(url, body, response) {
  const wanted = url.searchParams.get('q') || '';
  const articles = findArticles(wanted).slice(0, 60);
  const user = url.searchParams.get('user') || 'nobody';
  touchSession(user);
  const html = renderTemplate(PAGE, { title: `Articles like ${wanted}`, articles, count: articles.length, user });
  send(response, 200, 'text/html; charset=utf-8', html);
}

function findArticles(wanted) {
  const pattern = new RegExp(`\\b${wanted.replace(/[^a-z]/gi, '')}[a-z]*`, 'i');
  return catalogue.filter((article) => pattern.test(article.text));
}

function renderTemplate(template, values) {
  const withLists = template.replace(/\{\{#each (\w+)\}\}([^]*?)\{\{\/each\}\}/g, (_, name, inner) =>
    values[name].map((value) => fillIn(inner, value)).join('')
  );
  return fillIn(withLists, values);
}

function fillIn(text, values) {
  return text.replace(/\{\{ (\w+) \}\}/g, (_, name) => escapeHtml(String(values[name])));
}

function escapeHtml(text) {
  return text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
}

// Reports: much JSON, zipped on libuv's pool.
function report(url, body, response) {
  const rows = catalogue.map((article, row) => ({ row, ...article, sold: (row * 7919) % 1000, summary: summary['/orders'] }));
  zlib.gzip(JSON.stringify(rows), (error, zipped) => {
    if (error) return send(response, 500, 'text/plain', error.message);
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip', 'content-length': zipped.length });
    response.end(zipped);
  });
}

// Logins: slow on purpose, and on libuv's pool.
function login(url, body, response) {
  const { user, password } = JSON.parse(body);
  crypto.pbkdf2(password, `salt of ${user}`, 8000, 32, 'sha512', (error, key) => {
    if (error) return send(response, 500, 'text/plain', error.message);
    const session = touchSession(user);
    session.token = key.toString('hex');
    send(response, 200, 'application/json', JSON.stringify({ token: session.token }));
  });
}

// The cache: what was not used for the longest time goes first. A Map keeps the order of its keys.
function touchSession(user) {
  const session = sessions.get(user) || openSession(user);
  sessions.delete(user);
  sessions.set(user, session);
  if (sessions.size > MOST_SESSIONS) evictSessions(MOST_SESSIONS / 10);
  return session;
}

function openSession(user) {
  const seen = catalogue.slice(0, 150).map((article) => ({ id: article.id, name: `${article.name} of ${user}`, times: 0 }));
  return { user, seen, orders: [], token: null };
}

function evictSessions(count) {
  for (const user of sessions.keys()) {
    if (count-- <= 0) return;
    sessions.delete(user);
  }
}

function measure(path, start) {
  const [seconds, nanoseconds] = process.hrtime(start);
  metrics.push({ path, ms: seconds * 1e3 + nanoseconds / 1e6, minute: Math.floor(Date.now() / 60000) });
}

// The heavy job: everything at once, on the event loop. This is what the stall in the recording is.
function aggregateMetrics() {
  metrics.splice(0, Math.max(0, metrics.length - KEPT_METRICS));
  const byPath = {};
  for (const { path, ms } of metrics) {
    (byPath[path] = byPath[path] || []).push(ms);
  }
  const result = {};
  for (const [path, times] of Object.entries(byPath)) {
    result[path] = { count: times.length, median: percentile(times, 0.5), p99: percentile(times, 0.99), spread: spread(times) };
  }
  return result;
}

function percentile(times, share) {
  const sorted = times.slice().sort((a, b) => a - b);
  return sorted[Math.floor(share * (sorted.length - 1))];
}

function spread(times) {
  const mean = times.reduce((sum, ms) => sum + ms, 0) / times.length;
  return Math.sqrt(times.reduce((sum, ms) => sum + (ms - mean) ** 2, 0) / times.length);
}

function makeCatalogue(count) {
  const words = ['lamp', 'table', 'green', 'small', 'wooden', 'chair', 'round', 'soft', 'bright', 'garden', 'kettle', 'blue'];
  const word = (number) => words[number % words.length];
  return Array.from({ length: count }, (_, id) => ({
    id,
    name: `${word(id * 7)} ${word(id * 5 + 3)}`,
    price: 100 + ((id * 37) % 900),
    text: `A ${word(id)} ${word(id * 3 + 1)} <new> & ${word(id * 11)} for every ${word(id * 13 + 5)} room`,
  }));
}

// A shop that has been open for a while has much to sum up.
for (let number = 0; number < KEPT_METRICS; number++) {
  metrics.push({ path: Object.keys(routes)[number % 4], ms: 1 + ((number * 7919) % 100003) / 1000, minute: number % 60 });
}
