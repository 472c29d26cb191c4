// A server without a framework: a handler that works at once, one that works after an await, a body, an HTTP client.
const http = require("node:http");
const { ask, load, loadPort, soon, spin } = require("./spin.js");

function workSync() { spin(2); }
function workStart() { spin(1); }
function workLoaded() { spin(2); }
function workBody() { spin(1); }
function workAnswer() { spin(1); }

function sync(_, response) { workSync(); response.end("sync"); }
async function query() { await soon(); workLoaded(); }
async function list(_, response) { workStart(); await query(); response.end("list"); }
function upload(request, response) { request.on("data", function onData() { workBody(); }).on("end", () => response.end("upload")); }
function answered(answer) { workAnswer(); answer.resume(); }

if (loadPort) ask(["/sync", "/list", "/upload"], { method: "POST", body: "x".repeat(1000) });
else {
  const routes = { "/sync": sync, "/list": list, "/upload": upload };
  const other = http.createServer((_, response) => response.end());
  const server = http.createServer(function serve(request, response) { return routes[request.url](request, response); });
  other.listen(0, () => setInterval(() => http.get({ port: other.address().port }, answered), 5));
  server.listen(0, () => load(__filename, server.address().port));
}
