// An npm package does most of the work: each request renders a long table with ejs.
const http = require('node:http');
const ejs = require('ejs');
const timesIn = require('./calibrate.js');
const part = Array.from({ length: 400 }, (_, id) => ({ id, name: `<row ${id}>` }));
const TABLE = '<table><% for (const row of rows) { %><tr><td><%= row.id %></td><td><%= row.name %></td></tr><% } %></table>';

const rows = Array.from({ length: timesIn(10, () => ejs.render(TABLE, { rows: part })) }, () => part).flat();

function orderTable() {
  return ejs.render(TABLE, { rows });
}

function orders(request, reply) {
  reply.end(orderTable());
}

const server = http.createServer(orders);
server.listen(0, () => console.log(`ready ${server.address().port}`));
