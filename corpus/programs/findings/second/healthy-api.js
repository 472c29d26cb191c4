// A healthy API: replies of a few kilobytes of JSON, with validated parameters.
const http = require('node:http');
const { createHash } = require('node:crypto');
const rows = Array.from({ length: 100 }, (_, id) => ({ id, name: `row ${id}`, tags: ['one', 'two'] }));

function page(number) {
  const body = JSON.stringify(rows.slice(number * 10, number * 10 + 40));
  return [body, createHash('sha1').update(body).digest('base64')];
}

const server = http.createServer((request, reply) => {
  const found = /^\/page\/(\d)$/.exec(request.url);
  const [body, tag] = page(Number(found?.[1] ?? 0));
  reply.setHeader('etag', tag);
  reply.end(body);
});
server.listen(0, () => console.log(`ready ${server.address().port}`));
