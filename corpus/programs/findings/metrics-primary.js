// A cluster whose primary process adds up the metrics of its workers: that takes 1.5 s, and nothing else runs meanwhile.
const cluster = require('node:cluster');

if (cluster.isPrimary) {
  const histories = [];
  for (let row = 0; row < 40; row++) histories.push(Array.from({ length: 4000 }, () => Math.random()));

  function percentile(values, part) {
    const sorted = Float64Array.from(values).sort();
    return sorted[Math.floor(part * (sorted.length - 1))];
  }

  function aggregateMetrics(end) {
    const summary = {};
    while (performance.now() < end) {
      histories.forEach((values, row) => (summary[row] = percentile(values, 0.99)));
    }
    return summary;
  }

  function publishMetrics() {
    aggregateMetrics(performance.now() + 1500);
    setTimeout(publishMetrics, 700);
  }

  const workers = [cluster.fork(), cluster.fork()];
  let waiting = workers.length;
  const listening = () => --waiting === 0 && (console.log('ready 0'), setTimeout(publishMetrics, 700));
  workers.forEach((worker) => worker.once('listening', listening));
} else {
  require('node:http').createServer((request, reply) => reply.end('ok')).listen(0);
}
