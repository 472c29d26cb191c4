"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
// The program: it burns CPU for as many milliseconds as its argument says, in functions of known places.
const basket_1 = require("./basket");
const primes_1 = require("./primes");
const tiny_hash_1 = require("tiny-hash");
const runShop = (options) => {
    const end = Date.now() + options.milliseconds;
    let sum = 0;
    while (Date.now() < end) {
        const basket = new basket_1.Basket([{ name: 'tea', price: 3 }, { name: 'grüße', price: 4 }]);
        sum += basket.totalPrice(20_000);
        sum += (0, primes_1.countPrimes)(20_000);
        sum += (0, tiny_hash_1.hashRounds)('nodescope', 20_000);
    }
    return sum;
};
const article = { name: 'last', price: runShop({ milliseconds: Number(process.argv[2] ?? 100) }) };
process.stdout.write(article.price > 0 ? 'done\n' : 'nothing\n');
//# sourceMappingURL=main.js.map