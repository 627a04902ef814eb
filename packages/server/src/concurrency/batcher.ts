interface Waiting<Item, Result> {
  readonly item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/** Handles items of one kind: one result each, in their order; a result that is an Error rejects that item alone. */
type Handle<Kind, Item, Result> = (
  kind: Kind,
  items: readonly Item[],
) => Promise<readonly (Result | Error)[]>;

/**
 * Collects the items of one event-loop tick into one call for each kind. Most of the cost of a call to a server is sending
 * it, and under load many requests make one in the same tick. An item that comes alone is handled at the end of its tick.
 */
export class Batcher<Kind, Item, Result> {
  readonly #handle: Handle<Kind, Item, Result>;
  readonly #batchMax: number;
  readonly #callsMax: number;
  #waiting = new Map<Kind, Waiting<Item, Result>[]>();
  /** The calls under way of each kind. */
  readonly #calls = new Map<Kind, number>();
  /** The items of kinds that have as many calls under way as they may. */
  readonly #held = new Map<Kind, Waiting<Item, Result>[]>();

  /**
   * @param batchMax most items of a call. One with so many is made at once, before the end of the tick. Choose a small number where
   *   the server is to work during the rest of the tick.
   * @param callsMax most calls of a kind that are under way at once. Items that come then wait until one ends, and are a call
   *   together: a busy server gets fewer and larger ones. Default: no limit.
   */
  constructor(batchMax: number, handle: Handle<Kind, Item, Result>, callsMax = Number.POSITIVE_INFINITY) {
    this.#handle = handle;
    this.#batchMax = batchMax;
    this.#callsMax = callsMax;
  }

  /** Rejects with the error of its own result, or with that of the whole call. */
  add(kind: Kind, item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.size === 0) setImmediate(() => this.flush());
      const batch = this.#waiting.get(kind) ?? [];
      batch.push({ item, resolve, reject });
      if (batch.length === this.#batchMax) {
        this.#waiting.set(kind, []);
        this.#start(kind, batch);
      } else this.#waiting.set(kind, batch);
    });
  }

  /** Handles the waiting items at once, so that what is sent next cannot overtake them. */
  flush(): void {
    const kinds = this.#waiting;
    // A map that is cleared retains its old table, and with it the old items, until the next garbage collection.
    this.#waiting = new Map();
    for (const [kind, batch] of kinds) if (batch.length > 0) this.#start(kind, batch);
  }

  #start(kind: Kind, batch: Waiting<Item, Result>[]): void {
    const calls = this.#calls.get(kind) ?? 0;
    if (calls >= this.#callsMax) {
      const held = this.#held.get(kind);
      if (held === undefined) this.#held.set(kind, batch);
      else held.push(...batch);
      return;
    }
    this.#calls.set(kind, calls + 1);
    void this.#call(kind, batch).then(() => this.#ended(kind));
  }

  #ended(kind: Kind): void {
    const calls = (this.#calls.get(kind) as number) - 1;
    if (calls === 0) this.#calls.delete(kind);
    else this.#calls.set(kind, calls);
    const held = this.#held.get(kind);
    if (held === undefined) return;
    const batch = held.splice(0, this.#batchMax);
    if (held.length === 0) this.#held.delete(kind);
    this.#start(kind, batch);
  }

  async #call(kind: Kind, batch: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#handle(
        kind,
        batch.map(({ item }) => item),
      );
      for (const [index, { resolve, reject }] of batch.entries()) {
        const result = results[index] as Result | Error;
        if (result instanceof Error) reject(result);
        else resolve(result);
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
