// Koa: an own middleware around a route that works at once and after an await.
const { ask, load, loadPort, soon, spin } = require("./spin.js");

function workStart() { spin(2); }
function workLoaded() { spin(2); }
async function query() { await soon(); workLoaded(); }
async function log(_, next) { await next(); }
async function list(context) { workStart(); await query(); context.body = "list"; }

if (loadPort) ask(["/", "/"]);
else {
  const app = new (require("koa"))();
  app.use(log);
  app.use(list);
  const server = app.listen(0, () => load(__filename, server.address().port));
}
