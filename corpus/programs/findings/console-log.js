// A handler that logs every row. Standard output is a file or a pipe: each line is written before the next one begins.
const http = require('node:http');
const timesIn = require('./calibrate.js');

function audit(rows) {
  for (let row = 0; row < rows; row++) console.log('row', row, { checked: true });
}

const rows = 100 * timesIn(14, () => audit(100));

function save(request, reply) {
  audit(rows);
  reply.end('saved');
}

const server = http.createServer(save);
server.listen(0, () => console.log(`ready ${server.address().port}`));
