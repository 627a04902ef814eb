/** A part of a list. */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** The token of the next page, or null when nothing follows. */
  readonly next: string | null;
  /** How many entries the whole list has; null for lists that do not say. */
  readonly total: number | null;
}

/** Which part of a list. */
export interface PageOptions {
  /** 1 to 10,000. Default: 1,000. */
  readonly limit?: number | undefined;
  /** `next` of the page before. */
  readonly token?: string | undefined;
}

const LIMIT = 1_000;

/**
 * A list that comes in pages: loop over its entries with `for await`, which asks for pages as it goes, or ask for single
 * pages. Nothing is asked before. Entries that come and go meanwhile make no other appear twice or vanish.
 */
export class PagedList<Item> implements AsyncIterable<Item> {
  readonly #read: (page: PageOptions) => Promise<Page<Item>>;

  /** @internal */
  constructor(read: (page: PageOptions) => Promise<Page<Item>>) {
    this.#read = read;
  }

  /** One page. @throws RollcallError */
  page({ limit = LIMIT, token }: PageOptions = {}): Promise<Page<Item>> {
    return this.#read({ limit, token });
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for (let token: string | undefined; ; ) {
      const { items, next } = await this.page({ token });
      yield* items;
      if (next === null) return;
      token = next;
    }
  }

  /** The whole list at once. @throws RollcallError */
  async toArray(): Promise<Item[]> {
    const all: Item[] = [];
    for await (const item of this) all.push(item);
    return all;
  }
}
