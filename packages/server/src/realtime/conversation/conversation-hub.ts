import type { Broker, Notification } from '../../broker/broker.ts';
import type { RecordFollower } from '../../core/changes/record-follower.ts';
import { threadNotFound } from '../../core/conversation/conversation-errors.ts';
import type { ThreadFilter } from '../../store/ports/threads.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import type { EventPosition } from '../../wire/conversation-events.ts';
import { AccessChecks } from '../sessions/access-checks.ts';
import { EventSession } from '../sessions/event-session.ts';
import { OpenStreams } from '../sessions/open-streams.ts';
import type { WatchRequest } from '../sessions/stream-request.ts';
import { requireAccess } from '../sessions/watch-access.ts';
import type { FeedParts } from './feed-parts.ts';
import { FeedReads } from './feed-reads.ts';
import type { MessageFeed } from './message-feed.ts';
import { MessageFeeds } from './message-feeds.ts';
import { RecordedConversations } from './recorded-conversations.ts';
import type { ThreadListFeed } from './thread-list-feed.ts';
import { ThreadListFeeds } from './thread-list-feeds.ts';

interface Parts extends Omit<FeedParts, 'ended' | 'reads'> {
  readonly broker: Broker;
  readonly record: RecordFollower;
}

/** All streams of threads and messages of this process. */
export class ConversationHub {
  readonly #parts: FeedParts;
  readonly #messages: MessageFeeds;
  /** By project and group. */
  readonly #lists = new Map<string, ThreadListFeeds>();
  readonly #streams: OpenStreams<EventSession>;
  readonly #access: AccessChecks;
  readonly #recorded: RecordedConversations;
  /** The groups whose streams are being opened. */
  readonly #opening = new Set<{ readonly project: ProjectKey; readonly groupId: string }>();

  constructor(parts: Parts) {
    this.#streams = new OpenStreams(parts, {
      tick: () => this.#tick(),
      heartbeat: () => this.#heartbeat(),
      onChange: (change) => this.#onChange(change),
    });
    this.#parts = { ...parts, reads: new FeedReads(), ended: (session) => this.#streams.ended(session) };
    this.#messages = new MessageFeeds(this.#parts);
    this.#access = new AccessChecks(parts.store, this.#streams);
    this.#recorded = new RecordedConversations(parts, {
      onThreads: (project, groupId, threadIds) =>
        this.#lists.get(listsKey(project, groupId))?.recorded(threadIds),
      onGap: (project, groupId) => this.#lists.get(listsKey(project, groupId))?.recorded(null),
      onAccess: (project, userIds) => this.#access.request(project, userIds),
    });
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
    return this.#open(request, from, async () => {
      // The group is read second: it is that of the thread at the position, or of one that was made in its place meanwhile,
      // and then the feed ends.
      const positions = await store.conversationFeed.positions(project, [threadId]);
      const thread = await store.threads.find(project, threadId, null);
      const at = positions.get(threadId);
      if (thread?.groupId !== request.groupId || at === undefined) throw threadNotFound(threadId);
      return this.#messages.feed(project, thread, at);
    });
  }

  /** Adds a reader of a group's threads. @throws ServiceError when the group does not exist, or the reader may not watch */
  async openThreads(
    request: WatchRequest,
    filter: ThreadFilter,
    listName: readonly (string | number)[],
    from: EventPosition | null,
  ): Promise<EventSession> {
    const { groupId, caller } = request;
    return this.#open(request, from, async () => {
      const key = listsKey(caller.project, groupId);
      const lists = this.#lists.get(key) ?? new ThreadListFeeds(caller.project, groupId, this.#parts);
      this.#lists.set(key, lists);
      return lists.feed(filter, listName);
    });
  }

  /** Ends all streams at once; no more are opened. Idempotent. */
  stop(): void {
    this.#streams.stop();
  }

  /** Releases everything. Idempotent. */
  close(): void {
    this.#streams.close();
    this.#recorded.close();
  }

  async #open(
    request: WatchRequest,
    from: EventPosition | null,
    findFeed: () => Promise<MessageFeed | ThreadListFeed>,
  ): Promise<EventSession> {
    const opening = { project: request.caller.project, groupId: request.groupId };
    this.#opening.add(opening);
    try {
      return await this.#openFollowed(request, from, findFeed);
    } finally {
      this.#opening.delete(opening);
    }
  }

  async #openFollowed(
    request: WatchRequest,
    from: EventPosition | null,
    findFeed: () => Promise<MessageFeed | ThreadListFeed>,
  ): Promise<EventSession> {
    await requireAccess(this.#parts.store, request);
    // Before the feed reads: what is recorded from then on is shown.
    await this.#recorded.follow({ project: request.caller.project, groupId: request.groupId });
    const feed = await findFeed();
    this.#streams.requireOpen();
    const session = new EventSession(request, feed);
    this.#streams.add(session);
    try {
      await feed.join(session, from);
    } catch (error) {
      session.close();
      throw error;
    }
    // The reader may have lost access while it joined.
    await requireAccess(this.#parts.store, request).catch((error) => session.end(error));
    return this.#streams.requireGoing(session);
  }

  #tick(): void {
    const now = this.#parts.clock.now();
    this.#messages.tick(now);
    for (const [key, lists] of this.#lists) {
      lists.tick(now);
      if (lists.isEmpty) this.#lists.delete(key);
    }
    this.#recorded.followOnly(this.#followed());
    this.#access.tick();
  }

  /** The groups with readers, or with lists that wait for readers to come back. */
  *#followed() {
    for (const { request } of this.#streams)
      yield { project: request.caller.project, groupId: request.groupId as string };
    yield* this.#opening;
    yield* this.#lists.values();
  }

  #heartbeat(): void {
    this.#messages.heartbeat();
    for (const lists of this.#lists.values()) lists.heartbeat();
  }

  #onChange(change: Notification): void {
    if (change.type === 'eligibility') this.#access.request(change.project, change.userIds);
    if (change.type !== 'conversation') return;
    const { project, groupId, threadId, only } = change;
    // The record of changes has the same change within two seconds, for a notification that is lost.
    if (only !== 'messages') this.#lists.get(listsKey(project, groupId))?.changed(threadId);
    if (only !== 'threads') this.#messages.changed(project, threadId);
  }
}

const listsKey = (project: ProjectKey, groupId: string) => JSON.stringify([project, groupId]);
