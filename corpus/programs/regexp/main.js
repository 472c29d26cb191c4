'use strict';
// Compiled regular expressions, String.replace with a callback, named groups, sticky, unicode,
// lookbehind, split, matchAll, and one with catastrophic backtracking.
const log = Array.from({ length: 400 }, (unused, i) =>
  `10.0.${i % 256}.7 - user${i} [12/Mar/2024:10:${String(i % 60).padStart(2, '0')}:01 +0000] "GET /item/${i}?q=a%20b;c=(${i}) HTTP/1.1" 200 ${i * 37} "-" "Mozilla/5.0 (X11; Linux x86_64)"`,
).join('\n');

const LINE = /^(?<ip>\S+) \S+ (?<user>\S+) \[(?<time>[^\]]+)\] "(?<method>[A-Z]+) (?<url>[^ "]+)[^"]*" (?<status>\d{3}) (?<size>\d+)/gm;
const SEMICOLON = /;\s*(\w+)=\((\d+)\)/g;
const SLOW = /^(a+)+$/;
const WORD = /\p{L}+/gu;
const BEHIND = /(?<=user)\d+/g;
const STICKY = /\s*(\S+)/y;

function parseLines() {
  let bytes = 0;
  for (const match of log.matchAll(LINE)) bytes += Number(match.groups.size);
  return bytes;
}

function maskUsers() {
  return log.replace(/user(\d+)/g, function maskOne(all, id) { return 'u' + (Number(id) % 7); });
}

function decode() {
  return log.replace(/%([0-9a-f]{2})/gi, (all, hex) => String.fromCharCode(parseInt(hex, 16)));
}

function semicolons() { return log.replace(SEMICOLON, ' $1[$2]'); }
function words() { return log.match(WORD).length; }
function ids() { return log.match(BEHIND).length; }
function split() { return log.split(/[\s"[\]]+/).length; }
function backtrack() { return SLOW.test('a'.repeat(18) + 'b'); }

function tokens() {
  let count = 0;
  STICKY.lastIndex = 0;
  while (STICKY.exec(log)) count++;
  return count;
}

const end = Date.now() + (Number(process.argv[2]) || 3000);
while (Date.now() < end) [parseLines, maskUsers, decode, semicolons, words, ids, split, tokens, backtrack].forEach((work) => work());
