// Replies are compressed on the event loop.
const http = require('node:http');
const { gzipSync } = require('node:zlib');
const body = Buffer.from(Array.from({ length: 400_000 }, (_, row) => (row * 2654435761) % 1000).join(' '));

function pack() {
  return gzipSync(body);
}

const server = http.createServer((request, reply) => reply.end(pack()));
server.listen(0, () => console.log(`ready ${server.address().port}`));
