/** Repeatable random choices: the same seed gives the same choices (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 up to, not including, 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number below `bound`. */
  below(bound: number): number {
    return Math.floor(this.next() * bound);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<Value>(values: readonly Value[]): Value {
    return values[this.below(values.length)] as Value;
  }

  /** Up to `most` of the values, in any order, with repetitions. */
  some<Value>(values: readonly Value[], most: number): Value[] {
    return Array.from({ length: this.below(most + 1) }, () => this.pick(values));
  }

  /** The fields, each of them left out with the given probability. */
  sparse<Fields extends object>(fields: Fields, left: number): Partial<Fields> {
    return Object.fromEntries(Object.entries(fields).filter(() => !this.chance(left))) as Partial<Fields>;
  }
}
