'use strict';

class Basket extends Map {
  static fill(catalogue, count) {
    const basket = new Basket();
    catalogue.items.forEach(function addItem(item) {
      if (item.id % 13 === 0 && basket.size < count) basket.set(item.id, item);
    });
    return basket;
  }

  get total() {
    return [...this.values()].reduce((sum, item) => sum + item.price, 0);
  }

  toJSON() {
    return Object.fromEntries(this);
  }
}

module.exports = { Basket };
