// A plug-in that is loaded anew for each request.
const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'findings-'));
process.on('exit', () => fs.rmSync(folder, { recursive: true }));
process.on('SIGTERM', () => process.exit());
const plugin = path.join(folder, 'plugin.js');
fs.writeFileSync(plugin, Array.from({ length: 20_000 }, (_, row) => `exports.f${row} = (a) => a * ${row};`).join('\n'));

function loadPlugin() {
  delete require.cache[plugin];
  return require(plugin);
}

const server = http.createServer((request, reply) => reply.end(String(loadPlugin().f7(6))));
server.listen(0, () => console.log(`ready ${server.address().port}`));
