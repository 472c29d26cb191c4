// A loop that is pinged at random moments: it logs when each ping was sent and how long it took until it was answered,
// in milliseconds. `pings.js KIND LOG` is the loop; it starts `pings.js PORT` in another process, which pings it.
const dgram = require('dgram');
const fs = require('fs');
const [, , kind, log] = process.argv;
const now = () => Number(process.hrtime.bigint()) / 1e6;

function busy(ms) {
  for (const end = now() + ms; now() < end; );
}

const KINDS = {
  // A long turn each second, and short ones.
  stalls() {
    setInterval(() => busy(300), 1000);
    setInterval(() => busy(1), 10);
  },
  // Never idle, and no turn is long.
  saturated() {
    const turn = () => {
      busy(2 + Math.random() * 6);
      setImmediate(turn);
    };
    turn();
  },
};

if (log) {
  const socket = dgram.createSocket('udp4');
  socket.on('message', (bytes) => {
    const sent = bytes.readDoubleLE();
    fs.appendFileSync(log, `${sent} ${now() - sent}\n`);
  });
  socket.bind(0, '127.0.0.1', () => {
    const { spawn } = require('child_process');
    const client = spawn(process.execPath, [__filename, String(socket.address().port)], { stdio: ['pipe', 'ignore', 'ignore'] });
    client.unref();
    KINDS[kind]();
    console.log('ready');
  });
} else {
  const socket = dgram.createSocket('udp4');
  const ping = () => {
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleLE(now());
    socket.send(bytes, Number(kind), '127.0.0.1');
    setTimeout(ping, 1 - Math.log(Math.random()) * 8);
  };
  ping();
  // It ends with the loop.
  process.stdin.on('end', () => process.exit()).resume();
}
