declare module 'tiny-hash' {
  export function hashRounds(text: string, rounds: number): number;
}
