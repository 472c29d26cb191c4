// Keeps libuv's thread pool as busy as it can be with one kind of work, or hardly uses it.
const [, , kind] = process.argv;

/** So many requests at a time, again and again. */
function keep(count, ask) {
  const again = () => ask(() => setImmediate(again));
  for (let row = 0; row < count; row++) again();
}

const KINDS = {
  zlib() {
    // All of it is one request.
    const text = Buffer.from(Array.from({ length: 1 << 18 }, Math.random).join());
    const options = { level: 9, chunkSize: text.length };
    keep(16, (done) => require('zlib').gzip(text, options, done));
  },
  crypto() {
    keep(16, (done) => require('crypto').pbkdf2('secret', 'salt', 50000, 32, 'sha256', done));
  },
  quiet() {
    setInterval(() => require('fs').stat(__filename, () => {}), 200);
  },
};

KINDS[kind]();
// A little work for the CPU: without a sample there is no recording.
setInterval(() => {
  for (const end = Date.now() + 5; Date.now() < end; );
}, 50);
setTimeout(() => console.log('ready'), 300);
