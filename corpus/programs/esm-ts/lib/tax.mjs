export async function tax(cents) {
  let sum = 0;
  for (let i = 0; i < 20000; i++) sum = (sum + cents * i) % 1009;
  return sum;
}
export default () => tax(1);
