// A large catalogue, and large tables that are made for each request and soon forgotten. V8 finds them only by a full
// collection, which looks at the whole heap: every second or two the event loop waits a few hundred milliseconds for one.
require('node:v8').setFlagsFromString('--no-incremental-marking'); // as where marking in steps does not keep up
const http = require('node:http');
const catalogue = [];
for (let id = 0; id < 2_000_000; id++) catalogue.push({ id, name: `item ${id}`, prices: [id, id + 1] });
const recent = [];

function priceTable(size) {
  const table = new Array(size).fill(1);
  recent.push(table);
  if (recent.length > 300) recent.shift();
  return table;
}

function prices(request, reply) {
  for (let row = 0; row < 5; row++) priceTable(20_000);
  reply.end(String(catalogue.length));
}

const server = http.createServer(prices);
server.listen(0, () => console.log(`ready ${server.address().port}`));
