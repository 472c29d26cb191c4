// Every request compresses its reply in the thread pool, which has four threads and more to do than that.
const http = require('node:http');
const zlib = require('node:zlib');
const timesIn = require('./calibrate.js');
// Words that do not repeat: a text of which compression takes a while.
let seed = 1;
const word = () => (seed = (seed * 48271) % 0x7fffffff).toString(36);
const words = (count) => Buffer.from(Array.from({ length: count }, word).join(' '));
const part = words(20_000);
const body = words(20_000 * timesIn(90, () => zlib.gzipSync(part, { level: 9 })));

function compress(request, reply) {
  zlib.gzip(body, { level: 9 }, (error, bytes) => reply.end(error ? '' : String(bytes.length)));
}

const server = http.createServer(compress);
server.listen(0, () => console.log(`ready ${server.address().port}`));
