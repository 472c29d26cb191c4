// A health check that asks another program, and waits for it on the event loop.
const http = require('node:http');
const { execSync } = require('node:child_process');

function diskStatus() {
  return execSync('sleep 0.12; echo fine').toString();
}

function health(request, reply) {
  reply.end(diskStatus());
}

const server = http.createServer(health);
server.listen(0, () => console.log(`ready ${server.address().port}`));
