'use strict';
// Load from its own process: load.js PORT CONNECTIONS ROUTES PAUSE_MS. Every connection sends its next request PAUSE_MS
// after the last answer. Written so that any Node from 0.12 on runs it.
var http = require('http');
var port = Number(process.argv[2]) || 3000;
var connections = Number(process.argv[3]) || 8;
var agent = new http.Agent({ keepAlive: true, maxSockets: connections });
var routes = (process.argv[4] || '/,/search?q=lamp,/article,/parse,/report,POST /login,/search?q=vase,/').split(',');
var pause = Number(process.argv[5]) || 0;
var body = JSON.stringify({ user: 'ada', password: 'correct horse battery staple' });
var next = 0;

function request() {
  var route = routes[next++ % routes.length].split(' ');
  var post = route.length > 1;
  var options = { host: '127.0.0.1', port: port, path: route[route.length - 1], method: post ? 'POST' : 'GET', agent: agent };
  if (post) options.headers = { 'Content-Type': 'application/json', 'Content-Length': body.length };
  var call = http.request(options, function (response) {
    response.resume();
    response.on('end', pause ? function () { setTimeout(request, pause); } : request);
  });
  call.on('error', function () { setTimeout(request, 100); });
  call.end(post ? body : undefined);
}

for (var i = 0; i < connections; i++) request();
