// The program: it burns CPU for as many milliseconds as its argument says, in functions of known places.
import { Basket, type Article } from './basket';
import { countPrimes } from './primes';
import { hashRounds } from 'tiny-hash';

interface Options {
  milliseconds: number;
}

const runShop = (options: Options): number => {
  const end = Date.now() + options.milliseconds;
  let sum = 0;
  while (Date.now() < end) {
    const basket = new Basket([{ name: 'tea', price: 3 }, { name: 'grüße', price: 4 }]);
    sum += basket.totalPrice(20_000);
    sum += countPrimes(20_000);
    sum += hashRounds('nodescope', 20_000);
  }
  return sum;
};

const article: Article = { name: 'last', price: runShop({ milliseconds: Number(process.argv[2] ?? 100) }) };
process.stdout.write(article.price > 0 ? 'done\n' : 'nothing\n');
