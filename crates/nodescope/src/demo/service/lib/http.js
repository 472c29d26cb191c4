// What every route needs: which requests are for it, what they say, and a way to answer.
'use strict';

function pathOf(request) {
  return request.url.split('?')[0];
}

function isFor(request, path) {
  return pathOf(request) === path;
}

async function readBody(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts).toString();
}

function send(response, { type, body, encoding = 'identity' }, status = 200) {
  const length = Buffer.byteLength(body);
  response.writeHead(status, { 'content-type': type, 'content-encoding': encoding, 'content-length': length });
  response.end(body);
}

module.exports = { isFor, pathOf, readBody, send };
