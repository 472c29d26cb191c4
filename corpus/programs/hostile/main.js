'use strict';
// Names that try to break out of whatever shows them. V8 takes the name from the source, so a
// property key is the way in; process.title is the way into comm.
const vm = require('vm');
const ROUNDS = 20000;
const names = [
  '\x1b[31mred\x1b[0m', '\x1b]0;title\x07', '<script>alert(1)</script>', ']]><![CDATA[', '"double"', "'single'", '`back`',
  'semi;colon', 'a;b 12', 'amp&amp;&lt;', 'percent%s%n', '$(touch /tmp/owned)', '../../etc/passwd', 'paren(open', 'close)paren',
  'bracket [k]_[k]', 'arrow->two', 'plus+0x10', 'tab\there', 'new\nline', 'return\rcarriage', 'nul\0byte', 'JS:*fake /srv/fake.js:1:1', '',
  ' leading', 'trailing ', 'back\\slash', 'rtl\u202eoverride', 'zero\u200bwidth', 'lone\ud800surrogate', '__proto__', 'constructor',
  '#comment', '(root)', '[unknown]', 'node:fs:1:1', ':', 'x'.repeat(600),
];

const functions = names.map((name) => {
  const source = `({ ${JSON.stringify(name)}(n) { let x = 0; for (let i = 0; i < n; i++) x = (x * 31 + i) | 0; return x; } })`;
  const object = vm.runInThisContext(source, { filename: '/srv/hostile/plugin.js' });
  return Object.getOwnPropertyDescriptor(object, name === '__proto__' ? '__proto__' : name).value;
});

const files = ['/srv/hostile/a b;c (d).js', '/srv/hostile/<img src=x onerror=alert(1)>.js', '/srv/hostile/line\nbreak.js', 'data:text/javascript,1'];
for (const filename of files) {
  functions.push(vm.runInThisContext(`(function inOddFile(n) { let x = 0; for (let i = 0; i < n; i++) x = (x * 31 + i) | 0; return x; })`, { filename }));
}

// A name given afterwards does not reach V8's code events.
Object.defineProperty(functions[0], 'name', { value: 'renamed later' });

process.title = '\x1b[31m<b>;a&b "1';
const end = Date.now() + (Number(process.argv[2]) || 3000);
while (Date.now() < end) for (const work of functions) for (let i = 0; i < 20; i++) work(ROUNDS);
