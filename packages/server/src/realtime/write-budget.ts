/**
 * How many socket writes a second the streams of this process make before it is better to gather what is to be told:
 * about half of what one core does beside answering requests (docs/adr/0013 has the measurement).
 */
const WRITES_PER_SECOND = 60_000;
/** For how long writes that were not made are saved up, and for how long at most more than all are owed, in seconds. */
const SAVED_SECONDS = 0.1;
const OWED_SECONDS = 1;

/** Socket writes as a budget that fills with time. Whoever finds it free may overdraw it, and the next one waits. */
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
    // A clock that is set back or forth pays for no more than there is room for.
    const seconds = Math.max(0, now - this.#at) / 1_000;
    this.#at = now;
    this.#left = Math.min(this.#perSecond * SAVED_SECONDS, this.#left + seconds * this.#perSecond);
    return this.#left > 0;
  }

  spend(writes: number): void {
    this.#left = Math.max(-this.#perSecond * OWED_SECONDS, this.#left - writes);
  }
}
