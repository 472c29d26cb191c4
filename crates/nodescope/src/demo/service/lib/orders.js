// Orders: JSON in, checked, priced and sorted, JSON out.
'use strict';

const { queryDatabase } = require('./catalogue');
const { touchSession } = require('./sessions');

async function placeOrder(url, body) {
  const order = JSON.parse(body);
  const lines = await priceLines(order.lines);
  const session = touchSession(order.customer);
  session.orders.push({ at: Date.now(), lines });
  if (session.orders.length > 4) session.orders.shift();
  const total = lines.reduce((sum, line) => sum + line.total, 0);
  return { type: 'application/json', body: JSON.stringify({ customer: order.customer, total, lines }) };
}

async function priceLines(lines) {
  const catalogue = await queryDatabase();
  const priced = lines.map((line) => priceLine(line, catalogue)).filter((line) => line.total > 0);
  return priced.sort((a, b) => b.total - a.total || a.name.localeCompare(b.name));
}

function priceLine(line, catalogue) {
  const article = catalogue[line.article % catalogue.length];
  const discount = line.count > 10 ? 0.9 : 1;
  return { name: article.name, count: line.count, total: Math.round(line.count * article.price * discount) };
}

module.exports = { placeOrder };
