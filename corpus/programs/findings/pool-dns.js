// Every request looks up a name that no server knows: the lookups fill the thread pool, and files wait behind them.
const dns = require('node:dns');
const fs = require('node:fs');
const http = require('node:http');
let next = 0;

function proxy(request, reply) {
  dns.lookup(`host-${next++}.invalid`, () => fs.readFile(__filename, () => reply.end('done')));
}

const server = http.createServer(proxy);
server.listen(0, () => console.log(`ready ${server.address().port}`));
