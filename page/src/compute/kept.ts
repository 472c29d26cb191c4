// Values that are made once, and anew only when something that they depend on changes.

import type { State } from "../select/state.ts";

export class Kept {
  private readonly values = new Map<string, { key: string; value: unknown }>();

  /** `make`'s value, made anew only when the key changes; the old one is `make`'s to use up. */
  once<T>(slot: string, key: string, make: (old: T | undefined) => T): T {
    const known = this.values.get(slot);
    if (known?.key === key) return known.value as T;
    const value = make(known?.value as T | undefined);
    this.values.set(slot, { key, value });
    return value;
  }
}

/** A text that changes with these parts of the state. */
export function keyOf(state: State, ...names: (keyof State)[]): string {
  return JSON.stringify(names.map((name) => state[name]));
}
