// An npm package groups and sorts thousands of rows for each request.
const http = require('node:http');
const _ = require('lodash');
const timesIn = require('../calibrate');
const people = (count) => Array.from({ length: count }, (_unused, id) => ({ id, city: `city ${id % 97}`, age: (id * 7919) % 90 }));
let rows = people(1000);

function byCity() {
  return _.mapValues(_.groupBy(rows, 'city'), (list) => _.sortBy(list, ['age', 'id']).length);
}

rows = people(1000 * timesIn(11, byCity));
const server = http.createServer((request, reply) => reply.end(JSON.stringify(byCity())));
server.listen(0, () => console.log(`ready ${server.address().port}`));
