// A function that runs for a given time after an await, for ever: how often can a recorder still read what awaits it?
// The first argument is that time in milliseconds. Two functions await it, one twice as often as the other.

const ms = Number(process.argv[2] ?? '1');
const soon = () => new Promise((resolve) => setImmediate(resolve));
let sum = 0;

function burn() {
  const end = performance.now() + ms;
  while (performance.now() < end) for (let i = 0; i < 200; i++) sum += Math.sqrt(i + sum % 7);
}

async function continuation() {
  await soon();
  burn();
}

async function often() {
  await continuation();
  await continuation();
}

async function seldom() {
  await continuation();
}

for (;;) {
  await often();
  await seldom();
}
