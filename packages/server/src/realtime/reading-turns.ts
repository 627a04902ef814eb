/** How many readings a process has under way at once: enough to keep an engine busy, and room for requests in between. */
const AT_ONCE = 32;

/**
 * Lets the readings that follow each other in a crowd have their turns. After an outage every group is read anew: thousands of
 * readings at once would make each request of that moment wait behind them.
 */
export class ReadingTurns {
  #free = AT_ONCE;
  readonly #waiting: (() => void)[] = [];

  /** Does the task when it is its turn. It must not wait for another turn. */
  async take<Result>(task: () => Promise<Result>): Promise<Result> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await task();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}
