// Every request compresses its reply in the thread pool, which has four threads and more to do than that.
const http = require('node:http');
const zlib = require('node:zlib');
const body = Buffer.from(Array.from({ length: 400_000 }, (_, row) => (row * 2654435761) % 1000).join(' '));

function compress(request, reply) {
  zlib.gzip(body, { level: 9 }, (error, bytes) => reply.end(error ? '' : String(bytes.length)));
}

const server = http.createServer(compress);
server.listen(0, () => console.log(`ready ${server.address().port}`));
