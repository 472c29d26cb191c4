// A check of names whose pattern tries every way to split a word, when the word does not match.
const http = require('node:http');
const NAME = /^(\w+\s?)*$/;

function isName(text) {
  return NAME.test(text);
}

function search(request, reply) {
  const text = request.url.endsWith('/bad') ? `${'a'.repeat(24)}!` : 'an ordinary name';
  reply.end(String(isName(text)));
}

const server = http.createServer(search);
server.listen(0, () => console.log(`ready ${server.address().port}`));
