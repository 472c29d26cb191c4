// Sessions that live just long enough to be moved by the collector again and again.
const http = require('node:http');
const timesIn = require('../calibrate');
let sessions = [];

function openSessions(count) {
  for (let row = 0; row < count; row++) sessions.push({ row, items: [{ row }, { row }], name: `session ${row}` });
}

// Without the collections, opening them takes 4 ms of each request.
const count = 500 * timesIn(4, () => (openSessions(500), sessions.length > 50_000 && (sessions = [])));

function serve(request, reply) {
  openSessions(count);
  if (sessions.length > 20 * count) sessions = [];
  reply.end(String(sessions.length));
}

const server = http.createServer(serve);
server.listen(0, () => console.log(`ready ${server.address().port}`));
