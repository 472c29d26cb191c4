// Every request gets a deep copy of the whole state.
const http = require('node:http');
const timesIn = require('../calibrate');
const users = (count) => Array.from({ length: count }, (_, id) => ({ id, roles: ['reader', 'writer'], at: { seen: id } }));
let state = users(300);

function snapshot() {
  return structuredClone(state);
}

state = users(300 * timesIn(12, snapshot));
const server = http.createServer((request, reply) => reply.end(String(snapshot().length)));
server.listen(0, () => console.log(`ready ${server.address().port}`));
