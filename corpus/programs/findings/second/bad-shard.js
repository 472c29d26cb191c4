// Four workers; the index of one was never sorted, so it sorts it for each request.
const cluster = require('node:cluster');
const http = require('node:http');
const timesIn = require('../calibrate');

if (cluster.isPrimary) {
  let waiting = 4;
  cluster.on('listening', (worker, address) => --waiting === 0 && console.log(`ready ${address.port}`));
  for (let row = 0; row < 4; row++) cluster.fork({ SHARD: String(row) });
} else {
  const unsorted = (count) => Array.from({ length: count }, (_, row) => (row * 2654435761) % 1_000_003);
  let keys = unsorted(10_000);

  function sortKeys() {
    return Float64Array.from(keys).sort((one, two) => one - two);
  }

  const isBad = process.env.SHARD === '2';
  if (isBad) keys = unsorted(10_000 * timesIn(14, sortKeys));
  const server = http.createServer((request, reply) => {
    const list = isBad ? sortKeys() : keys;
    reply.end(String(list[7]));
  });
  server.listen(0);
}
