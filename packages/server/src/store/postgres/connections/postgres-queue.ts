import { StoreUnavailableError } from '../../store.ts';

/** Who waits in one line: a project, as a rule. */
export type Whose = unknown;

interface Waiting<Given> {
  take(given: Given): void;
  reject(error: unknown): void;
}

/** Those who wait for the same. Each project has a line of its own, and the lines take turns: a long one delays itself. */
export class FairQueue<Given> {
  readonly #lines = new Map<Whose, Set<Waiting<Given>>>();
  readonly #whyLate: string;

  /** `whyLate` is what those are told whose turn does not come in time. */
  constructor(whyLate: string) {
    this.#whyLate = whyLate;
  }

  get isEmpty(): boolean {
    return this.#lines.size === 0;
  }

  /** How many stand in a line. */
  lengthOf(whose: Whose): number {
    return this.#lines.get(whose)?.size ?? 0;
  }

  /**
   * Waits for a turn until that time of `performance.now()`, and then at once does with what it is given what `use` says.
   * @throws StoreUnavailableError
   */
  wait<Answer>(
    whose: Whose,
    until: number,
    use: (given: Given) => Answer | Promise<Answer>,
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      // After a turn of the event loop that took long, the answers that came meanwhile are read first.
      const limit = setTimeout(() => setImmediate(refuse), Math.max(0, until - performance.now()));
      const waiting: Waiting<Given> = {
        take(given) {
          clearTimeout(limit);
          resolve(use(given));
        },
        reject(error) {
          clearTimeout(limit);
          reject(error);
        },
      };
      const refuse = () => {
        if (this.#remove(whose, waiting)) reject(new StoreUnavailableError(this.#whyLate));
      };
      const line = this.#lines.get(whose);
      if (line === undefined) this.#lines.set(whose, new Set([waiting]));
      else line.add(waiting);
    });
  }

  /** Gives it to whoever is next of those who may have it. False when nobody waits for it. */
  give(given: Given, mayHave: (whose: Whose) => boolean = () => true): boolean {
    for (const whose of this.#lines.keys()) if (mayHave(whose)) return this.giveTo(whose, given);
    return false;
  }

  /** Gives it to the first of one line, which then is the last of the lines. False when nobody stands there. */
  giveTo(whose: Whose, given: Given): boolean {
    const line = this.#lines.get(whose);
    if (line === undefined) return false;
    const [first] = line as Iterable<Waiting<Given>> as [Waiting<Given>];
    this.#lines.delete(whose);
    line.delete(first);
    if (line.size > 0) this.#lines.set(whose, line);
    first.take(given);
    return true;
  }

  refuseAll(error: unknown): void {
    const lines = [...this.#lines.values()];
    this.#lines.clear();
    for (const line of lines) for (const waiting of line) waiting.reject(error);
  }

  #remove(whose: Whose, waiting: Waiting<Given>): boolean {
    const line = this.#lines.get(whose);
    if (line?.delete(waiting) !== true) return false;
    if (line.size === 0) this.#lines.delete(whose);
    return true;
  }
}
