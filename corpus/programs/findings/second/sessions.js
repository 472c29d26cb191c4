// Sessions that live just long enough to be moved by the collector again and again.
const http = require('node:http');
let sessions = [];

function openSessions(count) {
  for (let row = 0; row < count; row++) sessions.push({ row, items: [{ row }, { row }], name: `session ${row}` });
}

function serve(request, reply) {
  openSessions(60_000);
  if (sessions.length > 1_200_000) sessions = [];
  reply.end(String(sessions.length));
}

const server = http.createServer(serve);
server.listen(0, () => console.log(`ready ${server.address().port}`));
