"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.countPrimes = countPrimes;
function isPrime(candidate) {
    for (let divisor = 2; divisor * divisor <= candidate; divisor++) {
        if (candidate % divisor === 0) {
            return false;
        }
    }
    return candidate > 1;
}
/** How many primes there are up to a limit. */
function countPrimes(limit) {
    let count = 0;
    for (let candidate = 2; candidate <= limit; candidate++) {
        if (isPrime(candidate)) {
            count++;
        }
    }
    return count;
}
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
//# sourceMappingURL=app.js.map
