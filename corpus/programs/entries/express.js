// Express: an own middleware that every request passes, a route that works at once, one that works after an await.
const { ask, load, loadPort, soon, spin } = require("./spin.js");

function workSync() { spin(2); }
function workStart() { spin(1); }
function workLoaded() { spin(2); }
function log(_, __, next) { next(); }
function sync(_, response) { workSync(); response.json({}); }
async function query() { await soon(); workLoaded(); }
async function list(_, response) { workStart(); await query(); response.json({}); }

if (loadPort) ask(["/sync", "/list"]);
else {
  const app = require("express")();
  app.use(log);
  app.get("/sync", sync);
  app.get("/list", list);
  const server = app.listen(0, () => load(__filename, server.address().port));
}
