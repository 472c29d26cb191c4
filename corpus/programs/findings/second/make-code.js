// A rule engine that makes a function of its rules for each request.
const http = require('node:http');
const lines = Array.from({ length: 12_000 }, (_, row) => `if (x === ${row}) y += x * ${row} + ${row % 7};`);

function compileRules(version) {
  return new Function('x', `let y = ${version}; ${lines.join('\n')} return y;`);
}

const server = http.createServer((request, reply) => reply.end(String(compileRules(Date.now())(5))));
server.listen(0, () => console.log(`ready ${server.address().port}`));
