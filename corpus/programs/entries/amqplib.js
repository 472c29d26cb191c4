// amqplib without a broker: its own channel, given deliveries by hand. A message is handled at once and after an await.
const { BaseChannel } = require("amqplib/lib/channel");
const { soon, spin } = require("./spin.js");

function workMessage() { spin(2); }
function workLoaded() { spin(2); }
async function onOrder() { workMessage(); await soon(); workLoaded(); }

const channel = new BaseChannel({});
channel.registerConsumer("orders", onOrder);
setInterval(() => channel.handleDelivery({ fields: { consumerTag: "orders" }, properties: {}, content: Buffer.from("order") }), 5);
process.on("SIGTERM", () => process.exit());
console.log("ready");
