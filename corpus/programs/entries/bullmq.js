// BullMQ with a Redis on the port of REDIS_PORT: a job that works at once and after an await.
const { Queue, Worker } = require("bullmq");
const { soon, spin } = require("./spin.js");

function workJob() { spin(2); }
function workLoaded() { spin(2); }
async function resize() { workJob(); await soon(); workLoaded(); }

const connection = { port: Number(process.env.REDIS_PORT), maxRetriesPerRequest: null };
const queue = new Queue("images", { connection });
new Worker("images", resize, { connection }).on("completed", () => queue.add("image", {}, { removeOnComplete: true }));
process.on("SIGTERM", () => process.exit());
Promise.all([queue.add("image", {}), queue.add("image", {})]).then(() => console.log("ready"));
