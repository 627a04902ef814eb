import type { Broker, Notification } from '../../broker/broker.ts';
import { Repeated } from '../../concurrency/repeated.ts';
import type { RecordFollower, RecordListener } from '../../core/changes/record-follower.ts';
import type { TopicChanges } from '../../core/changes/topic-changes.ts';
import { conversationTopic, presenceTopic, type Topic } from '../../store/changes/change-topics.ts';
import type { ThreadFilter, ThreadPosition } from '../../store/ports/threads.ts';
import { StoreUnavailableError } from '../../values/engine-errors.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import type { AccessChecks } from '../sessions/access-checks.ts';
import type { ConversationFeed, FeedParts } from './conversation-feed.ts';
import { type FollowedThread, MessageFeed } from './message-feed.ts';
import { RevisionWalk } from './revision-walk.ts';
import { ThreadListFeed } from './thread-list-feed.ts';

export interface GroupParts extends FeedParts {
  readonly record: RecordFollower;
  readonly broker: Pick<Broker, 'follow'>;
  readonly access: AccessChecks;
}

/**
 * How often the threads of a group are compared with what they were, in milliseconds: a notification can be lost. A page is
 * read at each tick, so a group with very many threads takes longer.
 */
const COMPARED_EVERY_MS = 8_000;
/** How long a feed without readers is retained, so that a returning reader resumes, in milliseconds. */
const IDLE_MAX_MS = 60_000;
/** Most lists without readers: every change is applied to each list, and a caller may request any filter. */
const IDLE_MAX = 100;

/**
 * The feeds of a group's threads and messages on this process. As long as it is open, it follows what the record of changes has of
 * the threads, and of who may read. The Broker's messages of the same come sooner, and can be lost.
 */
export class GroupConversation implements RecordListener {
  readonly project: ProjectKey;
  readonly groupId: string;
  /** How many streams of the group are being opened. */
  opening = 0;
  readonly #parts: GroupParts;
  /** One for each filter. */
  readonly #lists = new Map<string, ThreadListFeed>();
  /** By thread: several where a thread was deleted and another one has its ID. */
  readonly #messages = new Map<string, MessageFeed[]>();
  /** Finds changes for all lists; null while there is none. */
  #walk: RevisionWalk | null = null;
  #comparedAt = 0;
  readonly #comparison = new Repeated(() => this.#compareThreads());
  readonly #ends: readonly (() => void)[];

  constructor(project: ProjectKey, groupId: string, parts: GroupParts) {
    const { record, broker } = parts;
    this.project = project;
    this.groupId = groupId;
    this.#parts = parts;
    this.#ends = [
      record.follow(project, [conversationTopic(groupId), presenceTopic(groupId)], this),
      broker.follow({ type: 'conversation', project, groupId }),
      broker.follow({ type: 'eligibility', project }),
    ];
  }

  /** No stream is being opened, and no feed has had a reader for a while. */
  get isIdle(): boolean {
    return this.opening === 0 && this.#lists.size === 0 && this.#messages.size === 0;
  }

  /** The filter is one of threads of the group. */
  threads(filter: ThreadFilter, listName: readonly (string | number)[]): ThreadListFeed {
    const key = JSON.stringify(filter);
    const known = this.#lists.get(key);
    if (known !== undefined) return known;
    const own = { ...filter, groupId: this.groupId };
    const walk = this.#walk ?? this.#beginWalk();
    const feed = new ThreadListFeed(this.project, own, listName, this.#parts, () => walk.begin());
    this.#lists.set(key, feed);
    return feed;
  }

  messages(thread: FollowedThread, at: ThreadPosition): MessageFeed {
    const ofThread = this.#messages.get(thread.id) ?? [];
    const known = ofThread.find(({ createdAt }) => createdAt === thread.createdAt);
    if (known !== undefined) return known;
    const feed = new MessageFeed(this.project, thread, at, this.#parts);
    this.#messages.set(thread.id, [...ofThread, feed]);
    return feed;
  }

  *#feeds(): Iterable<ConversationFeed> {
    yield* this.#lists.values();
    yield* this.messageFeeds();
  }

  *messageFeeds(): Iterable<MessageFeed> {
    for (const ofThread of this.#messages.values()) yield* ofThread;
  }

  /** The Broker has a change of a thread. The record has the same within two seconds. */
  changed({ threadId, only }: Notification & { readonly type: 'conversation' }): void {
    if (only !== 'messages') for (const feed of this.#lists.values()) feed.changed(threadId);
    if (only !== 'threads') for (const feed of this.#messages.get(threadId) ?? []) feed.changed();
  }

  onChanges(_topic: Topic, { threads, users, isOfGroup, isGroupRemoved }: TopicChanges): void {
    // The threads that go with a group are not recorded one by one.
    if (isGroupRemoved) this.#recorded(null);
    else if (threads.size > 0) this.#recorded(threads);
    if (isOfGroup || users.size > 0) this.#parts.access.request(this.project, isOfGroup ? null : [...users]);
  }

  onGap(): void {
    this.#recorded(null);
    this.#parts.access.request(this.project, null);
  }

  /** Call it once a second. */
  tick(now: number): void {
    this.#dropIdle(now);
    for (const feed of this.#feeds()) feed.tick();
    if (this.#lists.size === 0) this.#walk = null;
    else void this.#comparison.request();
  }

  close(): void {
    for (const end of this.#ends) end();
  }

  /** Of lists, those whose last reader left most recently are retained. */
  #dropIdle(now: number): void {
    const idle = [...this.#lists].filter(([, { idleSince }]) => idleSince !== null);
    const latestFirst = idle.sort(([, one], [, other]) => (other.idleSince ?? 0) - (one.idleSince ?? 0));
    for (const [index, [key, feed]] of latestFirst.entries())
      if (index >= IDLE_MAX || isExpired(feed, now)) this.#lists.delete(key);
    for (const [threadId, ofThread] of this.#messages) {
      const left = ofThread.filter((feed) => !isExpired(feed, now));
      if (left.length === 0) this.#messages.delete(threadId);
      else this.#messages.set(threadId, left);
    }
  }

  /** These threads, or with null any of them, may have changed: they are read at once. */
  #recorded(threadIds: ReadonlySet<string> | null): void {
    const revisionOf = (id: string) => this.#walk?.revisionOf(id) ?? null;
    const threads = threadIds === null ? null : new Map([...threadIds].map((id) => [id, revisionOf(id)]));
    for (const feed of this.#lists.values()) feed.recorded(threads);
  }

  #beginWalk(): RevisionWalk {
    const { project, groupId } = this;
    const { store, reads, clock } = this.#parts;
    this.#comparedAt = clock.now();
    this.#walk = new RevisionWalk((after) =>
      reads.run(project, () => store.conversationFeed.revisions(project, groupId, after)),
    );
    return this.#walk;
  }

  async #compareThreads(): Promise<void> {
    const walk = this.#walk;
    const now = this.#parts.clock.now();
    const isDue = walk?.isUnderWay === true || Math.abs(now - this.#comparedAt) >= COMPARED_EVERY_MS;
    if (walk === null || !isDue) return;
    if (!walk.isUnderWay) this.#comparedAt = now;
    try {
      await walk.begin();
      const differences = await walk.step();
      for (const feed of this.#lists.values()) feed.compare(differences);
    } catch (err) {
      if (!(err instanceof StoreUnavailableError))
        this.#parts.log.error(
          { err, groupId: this.groupId },
          'threads of a group could not be compared; the next comparison reads them again',
        );
    }
  }
}

/** Whether it has had no reader for so long that it is no longer needed. */
const isExpired = ({ idleSince }: ConversationFeed, now: number) =>
  Math.abs(now - (idleSince ?? now)) > IDLE_MAX_MS;
