/**
 * How many socket writes a second the streams of this process make before events are merged: about 60 % of what a slow core
 * makes, so that requests have the rest (docs/adr/0013 has the measurement).
 */
const WRITES_PER_SECOND = 80_000;
/** For how long unused writes are saved up, and for how long writes can be owed, in seconds. */
const SAVED_SECONDS = 0.1;
const OWED_SECONDS = 1;

/** A budget of socket writes that fills with time. A free budget can be overdrawn once. */
export class WriteBudget {
  readonly #perSecond: number;
  #left: number;
  #at: number;

  constructor(now: number, perSecond = WRITES_PER_SECOND) {
    this.#perSecond = perSecond;
    this.#left = perSecond * SAVED_SECONDS;
    this.#at = now;
  }

  isFree(now: number): boolean {
    // A clock that is set back or forth changes the budget within its bounds.
    const seconds = Math.max(0, now - this.#at) / 1_000;
    this.#at = now;
    this.#left = Math.min(this.#perSecond * SAVED_SECONDS, this.#left + seconds * this.#perSecond);
    return this.#left > 0;
  }

  spend(writes: number): void {
    this.#left = Math.max(-this.#perSecond * OWED_SECONDS, this.#left - writes);
  }
}
