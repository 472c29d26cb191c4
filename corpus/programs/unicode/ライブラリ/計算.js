'use strict';
function 計算する(n) {
  let x = 1;
  for (let i = 0; i < n; i++) x = (x * 7 + i) | 0;
  return x;
}
module.exports = { 計算する };
