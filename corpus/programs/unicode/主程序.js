'use strict';
// Names beyond ASCII: Chinese, Japanese, Cyrillic, accents, emoji (only as a property name), right-to-left.
const { 計算する } = require('./ライブラリ/計算');
const ROUNDS = 30000;

function 计算总和(次数) {
  let 和 = 0;
  for (let i = 0; i < 次数; i++) 和 = (和 * 31 + i) | 0;
  return 和;
}

function вычислить(n) {
  let x = 0;
  for (let i = 0; i < n; i++) x = (x * 17 + i) | 0;
  return x;
}

function größeÄndern(n) {
  let x = 0;
  for (let i = 0; i < n; i++) x = (x * 13 + i) | 0;
  return x;
}

const חישוב = {
  '🚀 launch'(n) {
    let x = 0;
    for (let i = 0; i < n; i++) x = (x * 11 + i) | 0;
    return x;
  },
  get 値() { return 計算する(ROUNDS); },
};

const end = Date.now() + (Number(process.argv[2]) || 2000);
while (Date.now() < end) {
  for (let i = 0; i < 50; i++) {
    计算总和(ROUNDS); вычислить(ROUNDS); größeÄndern(ROUNDS); חישוב['🚀 launch'](ROUNDS); 計算する(ROUNDS);
    if (חישוב.値 === 0.5) throw new Error();
  }
}
