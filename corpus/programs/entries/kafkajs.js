// kafkajs without a broker: its own runner, given messages by hand. A message is handled at once and after an await.
const Runner = require("kafkajs/src/consumer/runner");
const { soon, spin } = require("./spin.js");

function workMessage() { spin(2); }
function workLoaded() { spin(2); }
async function onOrder() { workMessage(); await soon(); workLoaded(); }

const nothing = () => {};
const logger = { namespace: () => logger, error: console.error, debug: nothing, info: nothing, warn: nothing };
const consumerGroup = { getNodeIds: () => [], hasSeekOffset: () => false, resolveOffset: nothing, isPaused: () => false, heartbeat: nothing, commitOffsetsIfNecessary: nothing };
const runner = new Runner({ logger, consumerGroup, concurrency: 1, eachMessage: onOrder, onCrash: console.error });
runner.running = true;
const again = () => runner.processEachMessage({ topic: "orders", partition: 0, messages: [{ offset: "1" }, { offset: "2" }] }).then(() => setImmediate(again));
again();
process.on("SIGTERM", () => process.exit());
console.log("ready");
