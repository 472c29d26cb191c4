// A handler that logs every row. Standard output is a file or a pipe: each line is written before the next one begins.
const http = require('node:http');

function audit(rows) {
  for (let row = 0; row < rows; row++) console.log('row', row, { checked: true });
}

function save(request, reply) {
  audit(1500);
  reply.end('saved');
}

const server = http.createServer(save);
server.listen(0, () => console.log(`ready ${server.address().port}`));
