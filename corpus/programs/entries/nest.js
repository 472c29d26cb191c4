// Nest: a controller whose method works at once and after an await. The decorators are called by hand.
const { ask, load, loadPort, soon, spin } = require("./spin.js");

function workStart() { spin(2); }
function workLoaded() { spin(2); }
async function query() { await soon(); workLoaded(); }

if (loadPort) ask(["/list", "/list"]);
else {
  require("reflect-metadata");
  const { Controller, Get, Module } = require("@nestjs/common");
  class Shop { async list() { workStart(); await query(); return "list"; } }
  Get("list")(Shop.prototype, "list", Object.getOwnPropertyDescriptor(Shop.prototype, "list"));
  Controller()(Shop);
  class App {}
  Module({ controllers: [Shop] })(App);
  require("@nestjs/core").NestFactory.create(App, { logger: false }).then(async (app) => {
    await app.listen(0);
    load(__filename, app.getHttpServer().address().port);
  });
}
