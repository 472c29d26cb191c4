// Each request gets a copy of its own of the whole settings, made through JSON.
const http = require('node:http');
const settings = { rows: [] };
for (let id = 0; id < 6000; id++) settings.rows.push({ id, name: `setting ${id}`, tags: ['one', 'two'], limits: { low: id, high: 2 * id } });

function copySettings() {
  return JSON.parse(JSON.stringify(settings));
}

function list(request, reply) {
  const copy = copySettings();
  reply.end(String(copy.rows.length));
}

const server = http.createServer(list);
server.listen(0, () => console.log(`ready ${server.address().port}`));
