import { once } from '../../concurrency/once.ts';
import type { RevisionPage } from '../../store/ports/conversation-feed.ts';
import type { Revision } from '../../store/precondition.ts';

/** Most threads of a group that are compared; a walk ends there. Bounds the memory of a walk to some 15 MB. */
const COMPARED_MAX = 100_000;

interface Known {
  revision: Revision;
  /** The walk that found the thread last. */
  walk: number;
}

/** Threads that changed since the walk before, with their revisions: null where the thread was not found. */
export type Differences = ReadonlyMap<string, Revision | null>;

/**
 * Walks over the revisions of a group's threads, a page at a time, and finds those that changed since the walk before: also
 * where nothing was published of them.
 */
export class RevisionWalk {
  readonly #read: (after: string | null) => Promise<RevisionPage>;
  readonly #known = new Map<string, Known>();
  #walk = 0;
  #found = 0;
  #after: string | null = null;

  constructor(read: (after: string | null) => Promise<RevisionPage>) {
    this.#read = read;
  }

  get isUnderWay(): boolean {
    return this.#after !== null;
  }

  /** What is known of a thread; null where it is unknown. */
  revisionOf(threadId: string): Revision | null {
    return this.#known.get(threadId)?.revision ?? null;
  }

  /** The first walk, with which the others are compared. A failed one goes on with the next call. */
  readonly begin = once(async () => {
    do await this.step();
    while (this.isUnderWay);
  });

  /** Reads the next page. The differences of the last page include the threads that were on no page of the walk. */
  async step(): Promise<Differences> {
    const { threads, last } = await this.#read(this.#after);
    const differences = new Map<string, Revision | null>();
    for (const { id, revision } of threads) {
      const known = this.#known.get(id);
      if (known?.revision !== revision) differences.set(id, revision);
      if (known === undefined) this.#known.set(id, { revision, walk: this.#walk });
      else Object.assign(known, { revision, walk: this.#walk });
    }
    this.#found += threads.length;
    this.#after = this.#found < COMPARED_MAX ? last : null;
    if (this.#after === null) this.#end(differences);
    return differences;
  }

  #end(differences: Map<string, Revision | null>): void {
    for (const [id, { walk }] of this.#known) {
      if (walk === this.#walk) continue;
      differences.set(id, null);
      this.#known.delete(id);
    }
    this.#walk += 1;
    this.#found = 0;
  }
}
