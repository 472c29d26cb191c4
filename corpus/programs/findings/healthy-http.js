// A healthy service: short turns, small replies.
const http = require('node:http');
const items = Array.from({ length: 50 }, (_, id) => ({ id, name: `item ${id}`, price: id * 3 }));

function find(text) {
  return items.filter((item) => item.name.includes(text));
}

const server = http.createServer((request, reply) => {
  reply.setHeader('content-type', 'application/json');
  reply.end(JSON.stringify(find('1')));
});
server.listen(0, () => console.log(`ready ${server.address().port}`));
