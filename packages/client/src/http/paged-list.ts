/** One page of a list. */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** The token of the next page, or null when nothing follows. */
  readonly next: string | null;
  /** How many entries the whole list has; null where the server does not count them. */
  readonly total: number | null;
}

/** Which page of a list. */
export interface PageOptions {
  /** 1 to 10,000; of threads and messages to 1,000. Default: 1,000. */
  readonly limit?: number | undefined;
  /** `next` of the page before. */
  readonly token?: string | undefined;
}

const DEFAULT_LIMIT = 1_000;

/**
 * A paged list. `for await` iterates over its entries and requests pages as needed; `page()` requests a single page. The
 * first request is sent by one of them. Entries added or removed meanwhile do not make another appear twice or vanish.
 */
export class PagedList<Item> implements AsyncIterable<Item> {
  readonly #read: (page: PageOptions) => Promise<Page<Item>>;

  /** @internal */
  constructor(read: (page: PageOptions) => Promise<Page<Item>>) {
    this.#read = read;
  }

  /** One page. @throws RollcallError */
  page({ limit = DEFAULT_LIMIT, token }: PageOptions = {}): Promise<Page<Item>> {
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
