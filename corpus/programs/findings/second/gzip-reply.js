// Replies are compressed on the event loop.
const http = require('node:http');
const { gzipSync } = require('node:zlib');
const timesIn = require('../calibrate');
const rows = (count) => Buffer.from(Array.from({ length: count }, (_, row) => (row * 2654435761) % 1000).join(' '));
let body = rows(20_000);

function pack() {
  return gzipSync(body);
}

body = rows(20_000 * timesIn(10, pack));
const server = http.createServer((request, reply) => reply.end(pack()));
server.listen(0, () => console.log(`ready ${server.address().port}`));
