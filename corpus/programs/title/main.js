'use strict';
// comm with blanks and digits: process.title, which pool threads of Node 18 inherit.
process.title = process.argv[3] || 'api worker 3';
const crypto = require('crypto');

function hash() {
  let h = 1;
  for (let i = 0; i < 300000; i++) h = Math.imul(h ^ i, 16777619);
  return h;
}

const end = Date.now() + (Number(process.argv[2]) || 3000);
(function turn() {
  hash();
  crypto.pbkdf2('secret', 'salt', 5000, 32, 'sha1', () => (Date.now() < end ? turn() : undefined));
  hash();
})();
