'use strict';
const _ = require('lodash');
const postcss = require('postcss');
const nested = require('postcss-nested');

const css = _.range(60).map((i) => `.card-${i} { color: red; &:hover { color: blue; .icon { width: ${i}px } } }`).join('\n');

function build() {
  return postcss([nested]).process(css, { from: undefined }).css.length;
}

function group() {
  return _.sortBy(_.range(3000), (n) => (n * 7919) % 1009).length;
}

const end = Date.now() + (Number(process.argv[2]) || 3000);
while (Date.now() < end) {
  build();
  group();
}
