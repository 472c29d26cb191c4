'use strict';
// Code that has no file: eval, new Function, vm scripts with and without a name, a sourceURL, and a compiled template.
const vm = require('vm');

const body = 'let x = 1; for (let i = 0; i < 20000; i++) x = (x * 31 + i) | 0; return x;';
const viaEval = eval(`(function viaEval() { ${body} })`);
const indirect = (0, eval)(`(function viaIndirectEval() { ${body} })`);
const viaFunction = new Function('unused', body);
const named = vm.runInThisContext(`(function viaVm() { ${body} })`, { filename: '/srv/templates/mail template.js' });
const unnamed = vm.runInThisContext(`(function viaUnnamedVm() { ${body} })`);
const context = vm.createContext({});
const sandboxed = vm.runInContext(`(function viaContext() { ${body} })`, context, 'sandbox-rule-7');
const sourceUrl = new Function(body + '\n//# sourceURL=compiled://rules/discount.js');
const compiled = vm.compileFunction(body, [], { filename: 'compiled-function.js' });

function once() {
  vm.runInNewContext('let x = 0; for (let i = 0; i < 20000; i++) x += i; x');
  eval('for (var i = 0; i < 20000; i++) ;');
}

const end = Date.now() + (Number(process.argv[2]) || 3000);
while (Date.now() < end) {
  for (const work of [viaEval, indirect, viaFunction, named, unnamed, sandboxed, sourceUrl, compiled, once]) {
    for (let i = 0; i < (work === once ? 2 : 20); i++) work();
  }
}
