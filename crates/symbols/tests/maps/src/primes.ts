type Limit = number;

function isPrime(candidate: number): boolean {
  for (let divisor = 2; divisor * divisor <= candidate; divisor++) {
    if (candidate % divisor === 0) {
      return false;
    }
  }
  return candidate > 1;
}

/** How many primes there are up to a limit. */
export function countPrimes(limit: Limit): number {
  let count = 0;
  for (let candidate = 2; candidate <= limit; candidate++) {
    if (isPrime(candidate)) {
      count++;
    }
  }
  return count;
}
