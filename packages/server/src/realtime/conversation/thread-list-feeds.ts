import { Repeated } from '../../concurrency/repeated.ts';
import type { ThreadFilter } from '../../store/ports/threads.ts';
import { StoreUnavailableError } from '../../values/engine-errors.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import { type FeedParts, isExpired } from './feed-parts.ts';
import { RevisionWalk } from './revision-walk.ts';
import { ThreadListFeed } from './thread-list-feed.ts';

/**
 * How often the threads of a group are compared with what they were, in milliseconds: a notification can be lost. A page is
 * read at each tick, so a group with very many threads takes longer.
 */
const COMPARED_EVERY_MS = 8_000;

/** The lists of one group's threads, one for each filter, and the comparison that finds changes for all of them. */
export class ThreadListFeeds {
  readonly project: ProjectKey;
  readonly groupId: string;
  readonly #parts: FeedParts;
  readonly #feeds = new Map<string, ThreadListFeed>();
  readonly #walk: RevisionWalk;
  #comparedAt: number;
  readonly #comparison = new Repeated(() => this.#compare());

  constructor(project: ProjectKey, groupId: string, parts: FeedParts) {
    const { store, reads, clock } = parts;
    this.project = project;
    this.groupId = groupId;
    this.#parts = parts;
    this.#comparedAt = clock.now();
    this.#walk = new RevisionWalk((after) =>
      reads.run(project, () => store.conversationFeed.revisions(project, groupId, after)),
    );
  }

  /** No filter has had a reader for a while. */
  get isEmpty(): boolean {
    return this.#feeds.size === 0;
  }

  /** The filter is one of threads of the group. */
  feed(filter: ThreadFilter, listName: readonly (string | number)[]): ThreadListFeed {
    const key = JSON.stringify(filter);
    const own = { ...filter, groupId: this.groupId };
    const feed =
      this.#feeds.get(key) ??
      new ThreadListFeed(this.project, own, listName, this.#parts, () => this.#walk.begin());
    this.#feeds.set(key, feed);
    return feed;
  }

  changed(threadId: string): void {
    for (const feed of this.#feeds.values()) feed.changed(threadId);
  }

  /** The record has changes of these threads, or with null may have changes of all: they are read at once. */
  recorded(threadIds: ReadonlySet<string> | null): void {
    const threads =
      threadIds === null ? null : new Map([...threadIds].map((id) => [id, this.#walk.revisionOf(id)]));
    for (const feed of this.#feeds.values()) feed.recorded(threads);
  }

  heartbeat(): void {
    for (const feed of this.#feeds.values()) feed.heartbeat();
  }

  /** Call it once a second. */
  tick(now: number): void {
    for (const [key, feed] of this.#feeds) {
      if (isExpired(feed.idleSince, now)) this.#feeds.delete(key);
      else feed.tick();
    }
    void this.#comparison.request();
  }

  async #compare(): Promise<void> {
    const now = this.#parts.clock.now();
    const isDue = this.#walk.isUnderWay || Math.abs(now - this.#comparedAt) >= COMPARED_EVERY_MS;
    if (!isDue || this.isEmpty) return;
    if (!this.#walk.isUnderWay) this.#comparedAt = now;
    try {
      await this.#walk.begin();
      const differences = await this.#walk.step();
      for (const feed of this.#feeds.values()) feed.compare(differences);
    } catch (err) {
      if (!(err instanceof StoreUnavailableError))
        this.#parts.log.error(
          { err, groupId: this.groupId },
          'threads of a group could not be compared; the next comparison reads them again',
        );
    }
  }
}
