// A server over TLS, with a key that is made for it: a handler that works at once, one that works after an await.
const { execFileSync } = require("node:child_process");
const https = require("node:https");
const { ask, load, loadPort, soon, spin } = require("./spin.js");

function workSync() { spin(2); }
function workStart() { spin(1); }
function workLoaded() { spin(2); }

function sync(_, response) { workSync(); response.end("sync"); }
async function query() { await soon(); workLoaded(); }
async function list(_, response) { workStart(); await query(); response.end("list"); }

if (loadPort) ask(["/sync", "/list"], { rejectUnauthorized: false }, https);
else {
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];
  const words = ["req", "-x509", ...curve, "-nodes", "-subj", "/CN=localhost", "-keyout", "-", "-out", "-"];
  const pem = execFileSync("openssl", words, { stdio: ["ignore", "pipe", "ignore"] });
  const routes = { "/sync": sync, "/list": list };
  const server = https.createServer({ key: pem, cert: pem }, function serve(request, response) { return routes[request.url](request, response); });
  server.listen(0, () => load(__filename, server.address().port));
}
