'use strict';
const crypto = require('crypto');

const WORDS = ['lamp', 'chair', 'table', 'shelf', 'carpet', 'mirror', 'clock', 'vase', 'sofa', 'desk'];

class Item {
  #cents;

  constructor(id) {
    this.id = id;
    this.name = `${WORDS[id % 10]} ${WORDS[(id * 7) % 10]} ${id}`;
    this.#cents = 100 + ((id * 7919) % 9000);
    this.score = 0;
  }

  get price() {
    return this.#cents / 100;
  }

  set price(euros) {
    this.#cents = Math.round(euros * 100);
  }

  get label() {
    return `${this.name.toUpperCase()} (${this.price.toFixed(2)})`;
  }

  #digest() {
    return crypto.createHash('sha1').update(this.name).digest('hex');
  }

  static compare(a, b) {
    return a.price - b.price || a.name.localeCompare(b.name);
  }

  toJSON() {
    return { id: this.id, name: this.name, price: this.price, digest: this.#digest() };
  }
}

class Catalogue {
  constructor(size) {
    this.items = Array.from({ length: size }, (unused, id) => new Item(id));
  }

  *[Symbol.iterator]() {
    yield* this.items;
  }

  page(number, size) {
    return [...this].sort(Item.compare).slice((number - 1) * size, number * size);
  }

  search(query) {
    const pattern = new RegExp(`\\b(${query}|${query}s)\\b.*\\d+`, 'i');
    const found = [];
    for (const item of this) {
      const match = pattern.exec(item.name);
      if (!match) continue;
      item.score = match[0].length / item.name.length;
      found.push(item);
    }
    return found;
  }
}

module.exports = { Catalogue, Item };
