// Everything that Node's own event loop calls: timers, immediates, ticks, microtasks, files, the pool, ports, sockets.
const { readFile, stat } = require("node:fs");
const { pbkdf2 } = require("node:crypto");
const { gzip } = require("node:zlib");
const { lookup } = require("node:dns");
const { Worker } = require("node:worker_threads");
const net = require("node:net");
const { spin } = require("./spin.js");

function workTimer() { spin(1); }
function workImmediate() { spin(1); }
function workTick() { spin(1); }
function workMicrotask() { spin(1); }
function workStat() { spin(1); }
function workRead() { spin(1); }
function workCrypto() { spin(1); }
function workZlib() { spin(1); }
function workDns() { spin(1); }
function workMessage() { spin(1); }
function workSocket() { spin(1); }

const worker = new Worker('const { parentPort } = require("node:worker_threads"); parentPort.on("message", (text) => parentPort.postMessage(text));', { eval: true });
worker.on("message", function onMessage() { workMessage(); });
const echo = net.createServer((socket) => socket.pipe(socket));
echo.listen(0, () => {
  const socket = net.connect(echo.address().port);
  socket.on("data", function onData() { workSocket(); });
  setInterval(function poll() {
    workTimer();
    setImmediate(function later() { workImmediate(); });
    process.nextTick(function tick() { workTick(); });
    queueMicrotask(function micro() { workMicrotask(); });
    stat(__filename, function onStat() { workStat(); });
    readFile(__filename, function onRead() { workRead(); });
    pbkdf2("a", "b", 1, 20, "sha1", function onKey() { workCrypto(); });
    gzip("text", function onZipped() { workZlib(); });
    lookup("localhost", function onFound() { workDns(); });
    worker.postMessage("text");
    socket.write("text");
  }, 30);
  process.on("SIGTERM", () => process.exit());
  console.log("ready");
});
