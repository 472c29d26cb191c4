// An ordinary service. Its control group may use 0.3 CPUs, and it needs more.
const http = require('node:http');

function render(rows) {
  let page = '';
  for (let row = 0; row < rows; row++) page += `<li>${Math.sqrt(row).toFixed(3)}</li>`;
  return page;
}

const server = http.createServer((request, reply) => reply.end(render(20_000).slice(0, 1000)));
server.listen(0, () => console.log(`ready ${server.address().port}`));
