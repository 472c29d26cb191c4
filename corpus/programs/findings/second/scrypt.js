// A sign-up that derives a key on the event loop.
const http = require('node:http');
const { scryptSync } = require('node:crypto');

function hashPassword(password) {
  return scryptSync(password, 'salt', 32, { N: 8192 }).toString('hex');
}

const server = http.createServer((request, reply) => reply.end(hashPassword(request.url)));
server.listen(0, () => console.log(`ready ${server.address().port}`));
