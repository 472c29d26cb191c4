// Every request writes the whole state to a file, on the event loop.
const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'findings-'));
process.on('exit', () => fs.rmSync(folder, { recursive: true }));
process.on('SIGTERM', () => process.exit());
const text = 'x'.repeat(12_000_000);

function saveState() {
  fs.writeFileSync(path.join(folder, 'state.txt'), text);
}

const server = http.createServer((request, reply) => {
  saveState();
  reply.end('saved');
});
server.listen(0, () => console.log(`ready ${server.address().port}`));
