// Four workers; the index of one was never sorted, so it sorts it for each request.
const cluster = require('node:cluster');
const http = require('node:http');

if (cluster.isPrimary) {
  let waiting = 4;
  cluster.on('listening', (worker, address) => --waiting === 0 && console.log(`ready ${address.port}`));
  for (let row = 0; row < 4; row++) cluster.fork({ SHARD: String(row) });
} else {
  const keys = Array.from({ length: 120_000 }, (_, row) => (row * 2654435761) % 1_000_003);

  function sortKeys() {
    return Float64Array.from(keys).sort((one, two) => one - two);
  }

  const server = http.createServer((request, reply) => {
    const list = process.env.SHARD === '2' ? sortKeys() : keys;
    reply.end(String(list[7]));
  });
  server.listen(0);
}
