// A route of async functions. The work is at the end of the chain, after several awaits.
const http = require('node:http');
const { setTimeout: sleep } = require('node:timers/promises');

function summarise(orders) {
  const end = performance.now() + 120;
  let sum = 0;
  while (performance.now() < end) for (const order of orders) sum += Math.sqrt(order);
  return sum;
}

async function loadOrders(user) {
  await sleep(2);
  return Array.from({ length: 1000 }, (_, row) => row + user);
}

async function monthlyReport(user) {
  const orders = await loadOrders(user);
  await sleep(1);
  return summarise(orders);
}

async function getReport(request, reply) {
  reply.end(String(await monthlyReport(7)));
}

const server = http.createServer(getReport);
server.listen(0, () => console.log(`ready ${server.address().port}`));
