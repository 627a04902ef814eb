import { StoreUnavailableError } from '../../store.ts';
import { FairQueue, type Whose } from './postgres-queue.ts';

/** Places for what may take long. No project has more of them than it leaves to the others. */
export class Places {
  readonly #taken = new Map<Whose, number>();
  readonly #queue: FairQueue<void>;
  readonly #whyLate: string;
  readonly #mostWaiting: number;
  #free: number;

  /** `whyLate` is what those are told who get no place in time, or find as many of their project waiting as may wait. */
  constructor(places: number, whyLate: string, mostWaiting = Number.POSITIVE_INFINITY) {
    this.#free = places;
    this.#whyLate = whyLate;
    this.#mostWaiting = mostWaiting;
    this.#queue = new FairQueue(whyLate);
  }

  /** @throws StoreUnavailableError when there is no place by then, or too many wait already */
  async during<Answer>(whose: Whose, until: number, use: () => Promise<Answer>): Promise<Answer> {
    if (this.#hasFor(whose)) this.#count(whose, 1);
    else if (this.#queue.lengthOf(whose) >= this.#mostWaiting) throw new StoreUnavailableError(this.#whyLate);
    else await this.#queue.wait(whose, until, () => this.#count(whose, 1));
    try {
      return await use();
    } finally {
      this.#count(whose, -1);
      while (this.#queue.give(undefined, (next) => this.#hasFor(next)));
    }
  }

  /** Refuses those who wait. */
  refuseAll(error: unknown): void {
    this.#queue.refuseAll(error);
  }

  #hasFor(whose: Whose): boolean {
    return (this.#taken.get(whose) ?? 0) < this.#free;
  }

  #count(whose: Whose, by: 1 | -1): void {
    const taken = (this.#taken.get(whose) ?? 0) + by;
    if (taken === 0) this.#taken.delete(whose);
    else this.#taken.set(whose, taken);
    this.#free -= by;
  }
}
