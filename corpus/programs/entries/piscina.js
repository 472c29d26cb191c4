// Piscina: a task in a worker that works at once and after an await. The worker is this file, too.
const { isMainThread } = require("node:worker_threads");
const { soon, spin } = require("./spin.js");

function workTask() { spin(2); }
function workLoaded() { spin(2); }
async function resize() { workTask(); await soon(); workLoaded(); }

module.exports = resize;
if (isMainThread) {
  const { Piscina } = require("piscina");
  const pool = new Piscina({ filename: __filename, maxThreads: 1 });
  const again = () => pool.run({}).then(again);
  again();
  process.on("SIGTERM", () => process.exit());
  setTimeout(() => console.log("ready"), 500);
}
