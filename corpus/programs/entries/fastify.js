// Fastify: a hook, a route that works at once, one that works after an await.
const { ask, load, loadPort, soon, spin } = require("./spin.js");

function workHook() { spin(1); }
function workSync() { spin(2); }
function workStart() { spin(1); }
function workLoaded() { spin(2); }
function workHookLoaded() { spin(1); }
async function query() { await soon(); workLoaded(); }
async function list() { workStart(); await query(); return {}; }
function sync(_, reply) { workSync(); reply.send({}); }
async function check() { workHook(); await soon(); workHookLoaded(); }

if (loadPort) ask(["/sync", "/list"]);
else {
  const app = require("fastify")();
  app.addHook("preHandler", check);
  app.get("/sync", sync);
  app.get("/list", list);
  app.listen({ port: 0 }).then(() => load(__filename, app.server.address().port));
}
