export function spin(ms) {
  const end = performance.now() + ms;
  let sum = 0;
  while (performance.now() < end) sum += Math.sqrt(sum + 1);
  return sum;
}

export const soon = () => new Promise((resolve) => setTimeout(resolve, 1));
