"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.Basket = void 0;
/** Adds prices, slowly. */
class Basket {
    articles;
    constructor(articles) {
        this.articles = articles;
    }
    totalPrice(rounds) {
        let total = 0;
        for (let round = 0; round < rounds; round++) {
            total += this.articles.reduce((sum, article) => sum + article.price + (article.name.length & round), 0);
        }
        return total;
    }
}
exports.Basket = Basket;
//# sourceMappingURL=basket.js.map