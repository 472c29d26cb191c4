'use strict';
// A primary and four workers that share one port.
const cluster = require('cluster');
const http = require('http');

function primes(limit) {
  const found = [];
  for (let n = 2; found.length < limit; n++) if (found.every((p) => n % p !== 0)) found.push(n);
  return found;
}

function serve(request, response) {
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify(primes(400)));
}

if (cluster.isPrimary) {
  for (let i = 0; i < 4; i++) cluster.fork();
  process.on('SIGTERM', () => process.exit());
} else {
  http.createServer(serve).listen(Number(process.env.PORT) || 3000, '127.0.0.1');
}
