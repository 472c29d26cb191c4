// Three workers of a cluster. One of them has lost its index, and looks at every row for each request.
const cluster = require('node:cluster');
const http = require('node:http');

if (cluster.isPrimary) {
  let waiting = 3;
  cluster.on('listening', (worker, address) => --waiting === 0 && console.log(`ready ${address.port}`));
  for (let row = 0; row < 3; row++) cluster.fork({ LOST: row === 1 ? 'yes' : '' });
} else {
  const rows = Array.from({ length: 200_000 }, (_, id) => ({ id, name: `row ${id}` }));
  const index = process.env.LOST ? null : new Map(rows.map((row) => [row.name, row]));

  function scanRows(name) {
    let found;
    for (let pass = 0; pass < 40; pass++) for (const row of rows) if (row.name === name) found = row;
    return found;
  }

  function lookUp(name) {
    return index ? index.get(name) : scanRows(name);
  }

  const server = http.createServer((request, reply) => reply.end(JSON.stringify(lookUp('row 150000'))));
  server.listen(0);
}
