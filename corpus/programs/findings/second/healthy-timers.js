// A healthy worker: small jobs on timers, and a small page.
const http = require('node:http');
const counts = new Map();

function count() {
  for (let row = 0; row < 200; row++) counts.set(row, (counts.get(row) ?? 0) + 1);
}

setInterval(count, 20);
const server = http.createServer((request, reply) => reply.end(JSON.stringify([...counts].slice(0, 20))));
server.listen(0, () => console.log(`ready ${server.address().port}`));
