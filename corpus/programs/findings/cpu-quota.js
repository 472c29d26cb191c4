// An ordinary service. Its control group may use 0.3 CPUs, and it needs more.
const http = require('node:http');
const timesIn = require('./calibrate.js');

function render(rows) {
  let page = '';
  for (let row = 0; row < rows; row++) page += `<li>${Math.sqrt(row).toFixed(3)}</li>`;
  return page;
}

const rows = 1000 * timesIn(12, () => render(1000));
const server = http.createServer((request, reply) => reply.end(render(rows).slice(0, 1000)));
server.listen(0, () => console.log(`ready ${server.address().port}`));
