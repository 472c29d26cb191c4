// Every request looks up a name, and the name server never answers: the lookups fill the thread pool, and files wait
// behind them. `pool-dns.js ADDRESS`: /etc/resolv.conf names this address of the machine, on which nothing is said.
const dgram = require('node:dgram');
const dns = require('node:dns');
const fs = require('node:fs');
const http = require('node:http');
let next = 0;

function proxy(request, reply) {
  dns.lookup(`host-${next++}.example.com`, () => fs.readFile(__filename, () => reply.end('done')));
}

// Requests that wait cost nothing: without a little work there would be no sample, and so no recording.
function count() {
  for (const end = performance.now() + 2; performance.now() < end; );
}

setInterval(count, 50);
const silent = dgram.createSocket('udp4');
silent.bind(53, process.argv[2], () => {
  const server = http.createServer(proxy);
  server.listen(0, () => console.log(`ready ${server.address().port}`));
});
