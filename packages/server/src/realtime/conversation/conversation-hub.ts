import type { Broker, Notification } from '../../broker/broker.ts';
import { Repeated } from '../../concurrency/repeated.ts';
import type { RecordFollower } from '../../core/changes/record-follower.ts';
import { threadNotFound } from '../../core/conversation/conversation-errors.ts';
import { USERS_TOPIC } from '../../store/changes/change-topics.ts';
import type { ThreadFilter } from '../../store/ports/threads.ts';
import { StoreUnavailableError } from '../../values/engine-errors.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import { slices } from '../../values/slices.ts';
import type { EventPosition } from '../../wire/conversation-events.ts';
import { AccessChecks } from '../sessions/access-checks.ts';
import { EventSession } from '../sessions/event-session.ts';
import { OpenStreams } from '../sessions/open-streams.ts';
import type { WatchRequest } from '../sessions/stream-request.ts';
import { requireAccess } from '../sessions/watch-access.ts';
import type { ConversationFeed, FeedParts } from './conversation-feed.ts';
import { FeedReads } from './feed-reads.ts';
import { GroupConversation, type GroupParts } from './group-conversation.ts';

/** Threads whose positions are read in one statement. */
const COMPARED_AT_ONCE = 500;

interface Parts extends Omit<FeedParts, 'ended' | 'reads'> {
  readonly broker: Broker;
  readonly record: RecordFollower;
}

/** All streams of threads and messages of this process. */
export class ConversationHub {
  readonly #parts: GroupParts;
  /** By project and group: those with feeds, or with streams that are being opened. */
  readonly #groups = new Map<string, GroupConversation>();
  /** Of the projects of these groups: what ends following their users. */
  readonly #users = new Map<ProjectKey, () => void>();
  readonly #streams: OpenStreams<EventSession>;
  readonly #comparison = new Repeated(() => this.#comparePositions());

  constructor(parts: Parts) {
    this.#streams = new OpenStreams(parts, {
      tick: () => this.#tick(),
      onChange: (change) => this.#onChange(change),
    });
    this.#parts = {
      ...parts,
      reads: new FeedReads(),
      access: new AccessChecks(parts.store, this.#streams),
      ended: (session) => this.#streams.ended(session),
    };
  }

  get streamCount(): number {
    return this.#streams.size;
  }

  /** Adds a reader of a thread's messages. @throws ServiceError `thread_not_found`, or when the reader may not watch */
  async openMessages(
    request: WatchRequest,
    threadId: string,
    from: EventPosition | null,
  ): Promise<EventSession> {
    const { project } = request.caller;
    const { store } = this.#parts;
    return this.#open(request, from, async (group) => {
      // The group is read second: it is that of the thread at the position, or of one that was made in its place meanwhile,
      // and then the feed ends.
      const positions = await store.conversationFeed.positions(project, [threadId]);
      const thread = await store.threads.find(project, threadId, null);
      const at = positions.get(threadId);
      if (thread?.groupId !== request.groupId || at === undefined) throw threadNotFound(threadId);
      return group.messages(thread, at);
    });
  }

  /** Adds a reader of a group's threads. @throws ServiceError when the group does not exist, or the reader may not watch */
  async openThreads(
    request: WatchRequest,
    filter: ThreadFilter,
    listName: readonly (string | number)[],
    from: EventPosition | null,
  ): Promise<EventSession> {
    return this.#open(request, from, async (group) => group.threads(filter, listName));
  }

  /** Ends all streams at once; no more are opened. Idempotent. */
  stop(): void {
    this.#streams.stop();
  }

  /** Releases everything. Idempotent. */
  close(): void {
    this.#streams.close();
    for (const group of this.#groups.values()) group.close();
    for (const end of this.#users.values()) end();
    this.#groups.clear();
    this.#users.clear();
  }

  async #open(
    request: WatchRequest,
    from: EventPosition | null,
    findFeed: (group: GroupConversation) => Promise<ConversationFeed>,
  ): Promise<EventSession> {
    const { store, record } = this.#parts;
    const { project } = request.caller;
    await requireAccess(store, request);
    this.#streams.requireOpen();
    const group = this.#groupOf(project, request.groupId);
    group.opening += 1;
    try {
      // Before the feed reads: what is recorded from then on is shown.
      await record.begun(project);
      return await this.#join(request, from, await findFeed(group));
    } finally {
      group.opening -= 1;
    }
  }

  async #join(
    request: WatchRequest,
    from: EventPosition | null,
    feed: ConversationFeed,
  ): Promise<EventSession> {
    this.#streams.requireOpen();
    const session = new EventSession(request, feed);
    this.#streams.add(session);
    try {
      await feed.join(session, from);
      // The reader may have lost access while it joined.
      await requireAccess(this.#parts.store, request);
    } catch (error) {
      session.close();
      throw error;
    }
    return this.#streams.requireGoing(session);
  }

  #groupOf(project: ProjectKey, groupId: string): GroupConversation {
    const key = keyOf(project, groupId);
    const group = this.#groups.get(key) ?? new GroupConversation(project, groupId, this.#parts);
    this.#groups.set(key, group);
    if (!this.#users.has(project)) this.#users.set(project, this.#followUsers(project));
    return group;
  }

  #followUsers(project: ProjectKey): () => void {
    const { record, access } = this.#parts;
    return record.follow(project, [USERS_TOPIC], {
      onChanges(_topic, { users }) {
        if (users.size > 0) access.request(project, [...users]);
      },
      onGap: () => access.request(project, null),
    });
  }

  #tick(): void {
    const now = this.#parts.clock.now();
    const projects = new Set<ProjectKey>();
    for (const [key, group] of this.#groups) {
      group.tick(now);
      if (!group.isIdle) {
        projects.add(group.project);
        continue;
      }
      group.close();
      this.#groups.delete(key);
    }
    for (const [project, end] of this.#users) {
      if (projects.has(project)) continue;
      end();
      this.#users.delete(project);
    }
    void this.#comparison.request();
    this.#parts.access.tick();
  }

  #onChange(change: Notification): void {
    if (change.type === 'eligibility') this.#parts.access.request(change.project, change.userIds);
    else if (change.type === 'conversation')
      this.#groups.get(keyOf(change.project, change.groupId))?.changed(change);
  }

  /** Reads where the threads with readers are, because a notification can be lost. */
  async #comparePositions(): Promise<void> {
    const { store, reads, log } = this.#parts;
    const feeds = [...this.#groups.values()].flatMap((group) => [...group.messageFeeds()]);
    const read = feeds.filter(({ sessions }) => sessions.size > 0);
    try {
      for (const [project, own] of Map.groupBy(read, (feed) => feed.project)) {
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
}

const keyOf = (project: ProjectKey, groupId: string) => JSON.stringify([project, groupId]);
