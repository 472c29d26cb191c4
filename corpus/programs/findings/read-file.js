// A page whose template is read again for each request, on the event loop.
const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'findings-')), 'template.html');
fs.writeFileSync(file, '<p>a row of the template, größer</p>\n'.repeat(60_000));
process.on('exit', () => fs.rmSync(path.dirname(file), { recursive: true }));
process.on('SIGTERM', () => process.exit());

function template() {
  return fs.readFileSync(file, 'utf8');
}

function page(request, reply) {
  reply.end(template().slice(0, 1000));
}

const server = http.createServer(page);
server.listen(0, () => console.log(`ready ${server.address().port}`));
