// Each request gets a copy of its own of the whole settings, made through JSON.
const http = require('node:http');
const timesIn = require('./calibrate.js');
const settings = { rows: [] };

function copySettings() {
  return JSON.parse(JSON.stringify(settings));
}

function addRows(count) {
  const row = (id) => ({ id, name: `setting ${id}`, tags: ['one', 'two'], limits: { low: id, high: 2 * id } });
  for (let id = 0; id < count; id++) settings.rows.push(row(id));
}

function list(request, reply) {
  const copy = copySettings();
  reply.end(String(copy.rows.length));
}

addRows(500);
addRows(500 * (timesIn(12, copySettings) - 1));
const server = http.createServer(list);
server.listen(0, () => console.log(`ready ${server.address().port}`));
