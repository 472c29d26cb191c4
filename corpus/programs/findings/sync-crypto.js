// A login that computes the key of a password on the event loop.
const http = require('node:http');
const crypto = require('node:crypto');

function checkPassword(password) {
  const key = crypto.pbkdf2Sync(password, 'salt', 20_000, 64, 'sha512');
  return key.toString('hex');
}

function login(request, reply) {
  reply.end(checkPassword(request.url));
}

const server = http.createServer(login);
server.listen(0, () => console.log(`ready ${server.address().port}`));
