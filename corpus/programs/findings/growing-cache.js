// A cache that is never emptied: the more it holds, the longer a full collection takes.
const http = require('node:http');
const cache = new Map();

function remember(count) {
  for (let row = 0; row < count; row++) {
    const parts = [];
    for (let part = 0; part < 30; part++) parts.push({ part });
    cache.set(`key-${cache.size}`, parts);
  }
}

remember(150_000);
const count = 50 * require('./calibrate.js')(2, () => remember(50));
const server = http.createServer((request, reply) => {
  remember(count);
  reply.end(String(cache.size));
});
server.listen(0, () => console.log(`ready ${server.address().port}`));
