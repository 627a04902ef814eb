import { FairQueue } from './postgres-queue.ts';

/** Lets one operation at a time change a row, so that many of them wait here, and not each on a connection. */
export class RowTurns {
  readonly #busy = new Set<string>();
  readonly #queue = new FairQueue<void>('too many writes of the same at once');

  /** @throws StoreUnavailableError when it is not its turn by then */
  async during<Answer>(row: string, until: number, use: () => Promise<Answer>): Promise<Answer> {
    if (this.#busy.has(row)) await this.#queue.wait(row, until, () => {});
    this.#busy.add(row);
    try {
      return await use();
    } finally {
      if (!this.#queue.giveTo(row)) this.#busy.delete(row);
    }
  }
}
