// Sends requests to a program at a steady rate: node load.js PORT REQUESTS_A_SECOND PATH[,PATH...]
// A request that finds too many others under way is left out, so that a slow program is not buried.
const http = require('node:http');
const [port, rate, paths] = [Number(process.argv[2]), Number(process.argv[3]), process.argv[4].split(',')];
// Each request has a connection of its own, so that the workers of a cluster get as many each.
const agent = new http.Agent({ keepAlive: false, maxSockets: 16 });
let [next, open] = [0, 0];

function send() {
  if (open >= 16) return;
  open += 1;
  const done = () => (open -= 1);
  const request = http.get({ port, agent, path: paths[next++ % paths.length] }, (reply) => reply.resume().on('close', done));
  request.on('error', done);
}
setInterval(send, 1000 / rate);
