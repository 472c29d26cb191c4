// Every request gets a deep copy of the whole state.
const http = require('node:http');
const state = { users: Array.from({ length: 3000 }, (_, id) => ({ id, roles: ['reader', 'writer'], at: { seen: id } })) };

function snapshot() {
  return structuredClone(state);
}

const server = http.createServer((request, reply) => reply.end(String(snapshot().users.length)));
server.listen(0, () => console.log(`ready ${server.address().port}`));
