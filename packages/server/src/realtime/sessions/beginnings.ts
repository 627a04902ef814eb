import { WRITES_PER_TICK } from '../channels/channel.ts';

interface Beginner {
  /** About how many pieces its first text has. */
  readonly firstWrites: number;
  begins(): void;
}

/**
 * Readers who begin, in their order. A first text can be megabytes, which a fast network takes at once. So when the writes of an
 * event-loop tick are made, the next readers begin in the tick that follows.
 */
export class Beginnings {
  readonly #waiting: Beginner[] = [];
  /** Of this tick. */
  #writes = 0;
  #nextTick: NodeJS.Immediate | null = null;

  add(reader: Beginner): void {
    this.#waiting.push(reader);
    this.#run();
  }

  #run(): void {
    while (this.#writes < WRITES_PER_TICK) {
      const reader = this.#waiting.shift();
      if (reader === undefined) break;
      this.#writes += reader.firstWrites;
      reader.begins();
    }
    this.#nextTick ??= setImmediate(() => {
      this.#nextTick = null;
      this.#writes = 0;
      if (this.#waiting.length > 0) this.#run();
    });
  }
}
