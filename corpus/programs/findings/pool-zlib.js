// Every request compresses its reply in the thread pool, which has four threads and more to do than that.
const http = require('node:http');
const zlib = require('node:zlib');
// Words that do not repeat: a text of which compression takes a while.
let seed = 1;
const word = () => (seed = (seed * 48271) % 0x7fffffff).toString(36);
const body = Buffer.from(Array.from({ length: 300_000 }, word).join(' '));

function compress(request, reply) {
  zlib.gzip(body, { level: 9 }, (error, bytes) => reply.end(error ? '' : String(bytes.length)));
}

const server = http.createServer(compress);
server.listen(0, () => console.log(`ready ${server.address().port}`));
