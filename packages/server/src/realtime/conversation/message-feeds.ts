import { Repeated } from '../../concurrency/repeated.ts';
import type { ThreadPosition } from '../../store/ports/threads.ts';
import { StoreUnavailableError } from '../../values/engine-errors.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import { slices } from '../../values/slices.ts';
import { type FeedParts, isExpired } from './feed-parts.ts';
import { type FollowedThread, MessageFeed } from './message-feed.ts';

/** Threads whose positions are read in one statement. */
const COMPARED_AT_ONCE = 500;

/** The threads of this process whose messages have readers. */
export class MessageFeeds {
  readonly #parts: FeedParts;
  /** By project and thread, then by what distinguishes a thread from one that was deleted and had its ID. */
  readonly #feeds = new Map<string, Map<string, MessageFeed>>();
  readonly #comparison = new Repeated(() => this.#compare());

  constructor(parts: FeedParts) {
    this.#parts = parts;
  }

  feed(project: ProjectKey, thread: FollowedThread, at: ThreadPosition): MessageFeed {
    const key = keyOf(project, thread.id);
    const ofThread = this.#feeds.get(key) ?? new Map<string, MessageFeed>();
    const identity = JSON.stringify([thread.groupId, thread.createdAt]);
    const feed = ofThread.get(identity) ?? new MessageFeed(project, thread, at, this.#parts);
    this.#feeds.set(key, ofThread.set(identity, feed));
    return feed;
  }

  changed(project: ProjectKey, threadId: string): void {
    for (const feed of this.#feeds.get(keyOf(project, threadId))?.values() ?? []) feed.changed();
  }

  heartbeat(): void {
    for (const feed of this.#all()) feed.heartbeat();
  }

  /** Call it once a second. */
  tick(now: number): void {
    for (const [key, ofThread] of this.#feeds) {
      for (const [identity, feed] of ofThread) {
        if (isExpired(feed.idleSince, now)) ofThread.delete(identity);
        else feed.tick();
      }
      if (ofThread.size === 0) this.#feeds.delete(key);
    }
    void this.#comparison.request();
  }

  /** Reads where the threads are, because a notification can be lost: one statement for 500 threads. */
  async #compare(): Promise<void> {
    const { store, reads, log } = this.#parts;
    const followed = [...this.#all()].filter(({ idleSince }) => idleSince === null);
    try {
      for (const [project, own] of Map.groupBy(followed, (feed) => feed.project)) {
        for (const some of slices(own, COMPARED_AT_ONCE)) {
          const ids = some.map(({ threadId }) => threadId);
          const positions = await reads.run(project, () => store.conversationFeed.positions(project, ids));
          for (const feed of some) if (!feed.isAt(positions.get(feed.threadId))) feed.changed();
        }
      }
    } catch (err) {
      if (!(err instanceof StoreUnavailableError))
        log.error({ err }, 'positions of threads could not be read; the next comparison reads them again');
    }
  }

  *#all(): Iterable<MessageFeed> {
    for (const ofThread of this.#feeds.values()) yield* ofThread.values();
  }
}

const keyOf = (project: ProjectKey, threadId: string) => JSON.stringify([project, threadId]);
