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
//# sourceMappingURL=primes.js.map