// ws: a message that is handled at once and after an await.
const { load, loadPort, soon, spin } = require("./spin.js");
const { WebSocket, WebSocketServer } = require("ws");

function workMessage() { spin(2); }
function workLoaded() { spin(2); }
async function onMessage() { workMessage(); await soon(); workLoaded(); this.send("answer"); }

if (loadPort) {
  process.on("disconnect", () => process.exit());
  const socket = new WebSocket(`ws://localhost:${loadPort}`);
  socket.on("open", () => socket.send("text")).on("message", () => socket.send("text"));
} else {
  const server = new WebSocketServer({ port: 0 }, () => load(__filename, server.address().port));
  server.on("connection", (socket) => socket.on("message", onMessage));
}
