// HTTP/2 in plain text: a handler by the compatible API that works at once and after an await.
const http2 = require("node:http2");
const { load, loadPort, soon, spin } = require("./spin.js");

function workSync() { spin(2); }
function workLoaded() { spin(2); }
async function list(_, response) { workSync(); await soon(); workLoaded(); response.end("list"); }

if (loadPort) {
  const session = http2.connect(`http://localhost:${loadPort}`);
  process.on("disconnect", () => process.exit());
  const again = () => session.request({ ":path": "/" }).resume().on("close", again);
  again();
} else {
  const server = http2.createServer(list);
  server.listen(0, () => load(__filename, server.address().port));
}
