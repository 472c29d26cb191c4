// A check of mail addresses with nested repeats.
const http = require('node:http');

function isAddress(text) {
  return /^([a-z0-9]+[._-]?)+@example\.org$/.test(text);
}

function validate(request, reply) {
  const bad = `${'customer'.repeat(3)}@example.com`;
  reply.end(String(isAddress(bad) || isAddress('someone@example.org')));
}

const server = http.createServer(validate);
server.listen(0, () => console.log(`ready ${server.address().port}`));
