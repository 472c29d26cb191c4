// Hapi: a route that works at once and after an await.
const { ask, load, loadPort, soon, spin } = require("./spin.js");

function workStart() { spin(2); }
function workLoaded() { spin(2); }
async function query() { await soon(); workLoaded(); }
async function list() { workStart(); await query(); return "list"; }

if (loadPort) ask(["/", "/"]);
else {
  const server = require("@hapi/hapi").server({ port: 0 });
  server.route({ method: "GET", path: "/", handler: list });
  server.start().then(() => load(__filename, server.info.port));
}
