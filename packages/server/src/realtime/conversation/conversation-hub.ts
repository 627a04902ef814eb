import type { Broker, Change } from '../../broker/broker.ts';
import type { Caller } from '../../core/caller.ts';
import { threadNotFound } from '../../core/conversation-errors.ts';
import { ServiceError } from '../../core/service-error.ts';
import type { ThreadFilter } from '../../store/ports/threads.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import type { EventPosition } from '../../wire/conversation-events.ts';
import { CredentialChecks } from '../sessions/credential-checks.ts';
import type { WatchRequest } from '../sessions/stream-request.ts';
import { endWithoutAccess, requireAccess } from '../sessions/watch-access.ts';
import { EventSession } from './event-session.ts';
import type { FeedParts } from './feed-parts.ts';
import { MessageFeed } from './message-feed.ts';
import { ThreadListFeed } from './thread-list-feed.ts';

const TICK_MS = 1_000;
const HEARTBEAT_MS = 15_000;
/** How often who may read is checked, in milliseconds: the end of a membership can be missed. */
const ACCESS_CHECKED_EVERY_MS = 8_000;
/** How long a feed without readers is kept, so that a reader who comes back resumes, in milliseconds. */
const IDLE_MAX_MS = 60_000;

interface Parts extends Omit<FeedParts, 'ended'> {
  readonly broker: Broker;
}

type Feed = MessageFeed | ThreadListFeed;

/** All streams of threads and messages of this process. */
export class ConversationHub {
  readonly #parts: Parts;
  readonly #feedParts: FeedParts;
  readonly #feeds = new Map<string, Feed>();
  readonly #sessions = new Set<EventSession>();
  readonly #credentials: CredentialChecks;
  readonly #stops: readonly (() => void)[];
  #accessCheckedAt: number;
  #isClosed = false;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#feedParts = { ...parts, ended: (session) => this.#ended(session) };
    this.#credentials = new CredentialChecks(parts, this.#sessions);
    this.#accessCheckedAt = parts.clock.now();
    this.#stops = [
      parts.clock.every(TICK_MS, () => this.#tick()),
      parts.clock.every(HEARTBEAT_MS, () => {
        for (const feed of this.#feeds.values()) feed.heartbeat();
      }),
      parts.broker.subscribe((change) => this.#onChange(change)),
    ];
  }

  /** The number of open streams. */
  get streamCount(): number {
    return this.#sessions.size;
  }

  /** Adds a reader of a thread's messages. @throws ServiceError `thread_not_found`, or when the reader may not watch */
  async openMessages(
    request: WatchRequest,
    threadId: string,
    from: EventPosition | null,
  ): Promise<EventSession> {
    const { project } = request.caller;
    const { store } = this.#parts;
    return this.#open(request, from, async () => {
      const [thread, positions] = await Promise.all([
        store.threads.find(project, threadId, null),
        store.conversationFeed.positions(project, [threadId]),
      ]);
      const at = positions.get(threadId);
      // One of this ID that was made again in another group is another thread.
      if (thread?.groupId !== request.groupId || at === undefined) throw threadNotFound(threadId);
      const key = `${messagesPrefix(project, threadId)}${at.epoch}`;
      return this.#feed(key, () => new MessageFeed(project, thread, at, this.#feedParts));
    });
  }

  /** Adds a reader of a group's threads. @throws ServiceError when the group does not exist, or the reader may not watch */
  async openThreads(
    request: WatchRequest,
    filter: ThreadFilter,
    listName: readonly (string | number)[],
    from: EventPosition | null,
  ): Promise<EventSession> {
    const { project } = request.caller;
    const own = { ...filter, groupId: request.groupId };
    const key = JSON.stringify(['threads', project, own]);
    return this.#open(request, from, async () =>
      this.#feed(key, () => new ThreadListFeed(project, own, listName, this.#feedParts)),
    );
  }

  /** Ends all streams at once; no more are opened. Idempotent. */
  stop(): void {
    this.#isClosed = true;
    for (const session of [...this.#sessions]) session.stop();
  }

  /** Releases everything. Idempotent. */
  close(): void {
    this.stop();
    for (const stop of this.#stops) stop();
    this.#feeds.clear();
  }

  async #open(
    request: WatchRequest,
    from: EventPosition | null,
    findFeed: () => Promise<Feed>,
  ): Promise<EventSession> {
    await requireAccess(this.#parts.store, request);
    const feed = await findFeed();
    if (this.#isClosed) throw stopping();
    const session = new EventSession(request, feed);
    this.#sessions.add(session);
    try {
      await feed.join(session, from);
    } catch (error) {
      session.close();
      throw error;
    }
    // The reader may have lost access while it joined.
    await requireAccess(this.#parts.store, request).catch((error) => session.end(error));
    if (session.ending === null) return session;
    throw session.ending === 'closed' ? stopping() : session.ending;
  }

  #feed(key: string, newFeed: () => Feed): Feed {
    const feed = this.#feeds.get(key) ?? newFeed();
    this.#feeds.set(key, feed);
    return feed;
  }

  #ended(session: EventSession): void {
    this.#sessions.delete(session);
    session.request.viewer?.permit?.release();
  }

  #tick(): void {
    const now = this.#parts.clock.now();
    for (const [key, feed] of this.#feeds) {
      if (feed.idleSince !== null && Math.abs(now - feed.idleSince) > IDLE_MAX_MS) this.#feeds.delete(key);
      else feed.revalidate(now);
    }
    this.#credentials.tick();
    if (Math.abs(now - this.#accessCheckedAt) < ACCESS_CHECKED_EVERY_MS) return;
    this.#accessCheckedAt = now;
    this.#checkAccess();
  }

  /** Ends streams of callers who may no longer read; where the store is away, the next check does. */
  #checkAccess(concerns: (caller: Caller) => boolean = () => true): void {
    const sessions = [...this.#sessions].filter(({ request }) => concerns(request.caller));
    endWithoutAccess(this.#parts.store, sessions).catch(() => {});
  }

  #onChange(change: Change): void {
    if (change.type === 'eligibility' || change.type === 'changes') return;
    if (change.type === 'conversation') {
      const { project, groupId, threadId } = change;
      if (threadId === null || groupId === null) this.#checkAccess((caller) => caller.project === project);
      else this.#changed(project, groupId, threadId);
    } else {
      const concerned = [...this.#sessions].filter(({ request: { caller } }) =>
        change.type === 'project'
          ? caller.projectId === change.projectId
          : caller.sessionId === change.sessionId,
      );
      void this.#credentials.check(concerned);
    }
  }

  #changed(project: ProjectKey, groupId: string, threadId: string): void {
    const own = messagesPrefix(project, threadId);
    const lists = listPrefix(project);
    for (const [key, feed] of this.#feeds) {
      const isList = feed.groupId === groupId && key.startsWith(lists);
      if (isList || key.startsWith(own)) feed.changed(threadId);
    }
  }
}

const messagesPrefix = (project: ProjectKey, threadId: string) =>
  JSON.stringify(['messages', project, threadId]);
const listPrefix = (project: ProjectKey) => `["threads",${JSON.stringify(project)},`;

const stopping = () =>
  new ServiceError('error', 'the server is stopping; nothing was opened, try again', {
    status: 503,
    headers: { 'Retry-After': '1' },
  });
