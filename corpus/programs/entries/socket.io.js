// socket.io: an event that is handled at once and after an await.
const { load, loadPort, soon, spin } = require("./spin.js");

function workEvent() { spin(2); }
function workLoaded() { spin(2); }
async function onOrder(done) { workEvent(); await soon(); workLoaded(); done(); }

if (loadPort) {
  process.on("disconnect", () => process.exit());
  const socket = require("socket.io-client").io(`http://localhost:${loadPort}`);
  const again = () => socket.emit("order", again);
  socket.on("connect", again);
} else {
  const http = require("node:http").createServer();
  const server = new (require("socket.io").Server)(http);
  server.on("connection", (socket) => socket.on("order", onOrder));
  http.listen(0, () => load(__filename, http.address().port));
}
