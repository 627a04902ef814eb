import { randomBytes } from 'node:crypto';
import { type Location, locationMatches, parseJson } from '@rollcall/protocol';
import { groupNotFound } from '../../core/errors.ts';
import type { ThreadFilter, ThreadPage, ThreadRecord } from '../../store/ports/threads.ts';
import { StoreUnavailableError } from '../../values/engine-errors.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import {
  type EventPosition,
  eventId,
  removedEvent,
  threadEvent,
  threadsSnapshot,
} from '../../wire/conversation-events.ts';
import { heartbeatText } from '../../wire/event-text.ts';
import type { ConversationFeed } from './conversation-feed.ts';
import type { EventSession, EventSource } from './event-session.ts';
import { type FeedParts, Repeated } from './feed-parts.ts';

/** Threads of a snapshot, and bytes of their texts at most. */
const SNAPSHOT = { after: null, limit: 50, maxBytes: 1_024 * 1_024 } as const;
/** How often the latest threads are compared with what was sent, in milliseconds: a notification can be lost. */
const COMPARED_EVERY_MS = 8_000;
/** Of how many threads the feed remembers what was sent, or that the filter hides them. */
const REMEMBERED_MAX = 1_000;
/** How many events a reader who comes back can have missed: more than one reading finds. */
const STORED_EVENTS_MAX = 2_000;
/** Most changed threads that wait to be read; after more, each reader begins again with a snapshot. */
const WAITING_MAX = 1_000;

/** The position of a reader who needs a snapshot. */
const NOWHERE = -1;

/** A thread changed, or left the list. */
interface ListEvent {
  readonly position: number;
  readonly threadId: string;
}

/**
 * The threads of one group that pass a filter, for all of its streams on this process. Changes are collected for up to a second
 * (the hub's tick), then each changed thread is read once.
 */
export class ThreadListFeed implements ConversationFeed, EventSource {
  readonly sessions = new Set<EventSession>();
  readonly groupId: string;
  idleSince: number | null;
  readonly #project: ProjectKey;
  readonly #filter: ThreadFilter;
  readonly #listName: readonly (string | number)[];
  readonly #parts: FeedParts;
  #epoch = newEpoch();
  #position = 0;
  #comparedAt: number;
  #waiting = new Set<string>();
  #isComparisonDue = true;
  /** The revision that was sent last; null: the filter hides the thread. */
  readonly #sent = new Map<string, string | null>();
  readonly #events: ListEvent[] = [];
  /** Null until the feed has begun, and after changes were dropped: then each reader begins again with a snapshot. */
  #beginning: Promise<void> | null = null;
  readonly #update = new Repeated(() => this.#read());

  constructor(
    project: ProjectKey,
    filter: ThreadFilter & { readonly groupId: string },
    listName: readonly (string | number)[],
    parts: FeedParts,
  ) {
    this.#project = project;
    this.#filter = filter;
    this.#listName = listName;
    this.#parts = parts;
    this.groupId = filter.groupId;
    this.idleSince = parts.clock.now();
    this.#comparedAt = this.idleSince;
  }

  async join(session: EventSession, from: EventPosition | null): Promise<void> {
    this.sessions.add(session);
    this.idleSince = null;
    await this.#begin();
    if (session.ending !== null) return;
    const isKnown = from !== null && from.epoch === this.#epoch && this.#covers(from.position);
    if (isKnown) session.position = from.position;
    else session.opening = await this.#snapshot(session);
  }

  ended(session: EventSession): void {
    this.sessions.delete(session);
    if (this.sessions.size === 0) this.idleSince = this.#parts.clock.now();
    this.#parts.ended(session);
  }

  changed(threadId: string): void {
    if (this.#waiting.size < WAITING_MAX) this.#waiting.add(threadId);
    else if (!this.#waiting.has(threadId)) this.#beginning = null;
  }

  /** Call it once a second. */
  revalidate(now: number): void {
    const age = now - this.#comparedAt;
    if (age < 0 || age >= COMPARED_EVERY_MS) {
      this.#comparedAt = now;
      this.#isComparisonDue = true;
    }
    for (const session of this.sessions) session.resume();
    if (this.#waiting.size > 0 || this.#isComparisonDue) void this.#update.request();
  }

  heartbeat(): void {
    const text = Buffer.from(heartbeatText(this.#id(this.#position)));
    for (const session of [...this.sessions])
      session.heartbeat(session.position === this.#position ? text : null);
  }

  async catchUp(session: EventSession): Promise<void> {
    try {
      if (this.#covers(session.position)) {
        const [missed, position] = [this.#after(session.position), this.#position];
        const text = await this.#textFor(session, missed);
        session.position = position;
        session.write(text);
      } else session.write(await this.#snapshot(session));
      if (session.position >= this.#position) session.caughtUp();
    } catch (error) {
      this.#failed(error, [session]);
    }
  }

  async #read(): Promise<void> {
    // What changes meanwhile is read for the next reader, who may resume.
    if (this.sessions.size === 0) return;
    try {
      await this.#begin();
    } catch (error) {
      return this.#failed(error, this.sessions);
    }
    const changed = this.#waiting;
    this.#waiting = new Set();
    const isComparisonDue = this.#isComparisonDue;
    this.#isComparisonDue = false;
    try {
      const first = this.#position;
      if (isComparisonDue) await this.#compare(changed);
      const threads = new Map<string, ThreadRecord | null>();
      for (const threadId of changed) {
        const thread = await this.#find(threadId, null);
        threads.set(threadId, thread);
        this.#add(threadId, thread?.revision ?? null);
      }
      const events = this.#after(first);
      if (events.length > 0) await this.#send(events, first, threads);
    } catch (error) {
      for (const threadId of changed) this.changed(threadId);
      this.#isComparisonDue ||= isComparisonDue;
      this.#failed(error, this.sessions);
    }
  }

  /** Adds the threads at the head of the list that are not as they were sent, and those that should be there and are not. */
  async #compare(changed: Set<string>): Promise<void> {
    const { store } = this.#parts;
    if (!(await store.groups.exists(this.#project, this.groupId))) {
      for (const session of [...this.sessions]) session.end(groupNotFound(this.groupId));
      return;
    }
    const { threads } = await this.#head(null);
    const head = new Set(threads.map(({ id }) => id));
    for (const { id, revision } of threads) if (this.#sent.get(id) !== revision) changed.add(id);
    for (const [id, revision] of this.#sent)
      if (revision !== null && !head.has(id) && this.#sent.size <= SNAPSHOT.limit) changed.add(id);
  }

  /** The thread with the `unread` of a client token's user, where the filter shows it. */
  async #find(threadId: string, viewer: string | null): Promise<ThreadRecord | null> {
    const thread = await this.#parts.store.threads.find(this.#project, threadId, viewer);
    return thread !== null && passes(thread, this.#filter) ? thread : null;
  }

  /** Adds an event, unless the thread is as it was sent, or was never within the filter. */
  #add(threadId: string, revision: string | null): void {
    const sent = this.#sent.get(threadId);
    this.#sent.delete(threadId);
    this.#sent.set(threadId, revision);
    if (this.#sent.size > REMEMBERED_MAX) this.#sent.delete(this.#sent.keys().next().value as string);
    if (sent === revision) return;
    this.#position += 1;
    this.#events.push({ position: this.#position, threadId });
    if (this.#events.length > STORED_EVENTS_MAX) this.#events.shift();
  }

  async #send(
    events: readonly ListEvent[],
    from: number,
    threads: ReadonlyMap<string, ThreadRecord | null>,
  ): Promise<void> {
    const position = this.#position;
    const level = Buffer.from(
      events.map((event) => this.#text(event, threads.get(event.threadId) ?? null)).join(''),
    );
    for (const session of [...this.sessions]) {
      if (session.isFull) session.fallBehind();
      if (session.isBehind) continue;
      const isAlike = session.request.viewer === undefined && session.position === from;
      const text = isAlike ? level : await this.#textFor(session, this.#after(session.position));
      session.send(text, position);
    }
  }

  /** The events as the threads are now, for one reader. */
  async #textFor(session: EventSession, events: readonly ListEvent[]): Promise<Buffer> {
    const viewer = session.request.viewer?.userId ?? null;
    const texts: string[] = [];
    for (const event of events) texts.push(this.#text(event, await this.#find(event.threadId, viewer)));
    return Buffer.from(texts.join(''));
  }

  #text({ position, threadId }: ListEvent, thread: ThreadRecord | null): string {
    return thread === null
      ? removedEvent(threadId, this.#id(position))
      : threadEvent(thread, this.#id(position));
  }

  async #snapshot(session: EventSession): Promise<Buffer> {
    const { pageTokens } = this.#parts;
    const viewer = session.request.viewer?.userId ?? null;
    const [epoch, position] = [this.#epoch, this.#position];
    const { threads, last } = await this.#head(viewer);
    // What changed before the feed began again is read once more.
    session.position = epoch === this.#epoch ? position : NOWHERE;
    const token = last === null ? null : pageTokens.issue([...this.#listName], last);
    return Buffer.from(threadsSnapshot(threads, token, this.#id(position)));
  }

  #after(start: number): ListEvent[] {
    return this.#events.filter(({ position }) => position > start);
  }

  /** Takes the head of the list as what is known, from which each reader's snapshot goes on. Idempotent. */
  #begin(): Promise<void> {
    this.#beginning ??= this.#readBeginning().catch((error) => {
      this.#beginning = null;
      throw error;
    });
    return this.#beginning;
  }

  async #readBeginning(): Promise<void> {
    this.#waiting.clear();
    const { threads } = await this.#head(null);
    this.#epoch = newEpoch();
    this.#sent.clear();
    this.#events.length = 0;
    for (const { id, revision } of threads) this.#sent.set(id, revision);
    for (const session of this.sessions) {
      session.position = NOWHERE;
      session.fallBehind();
    }
  }

  #head(viewer: string | null): Promise<ThreadPage> {
    return this.#parts.store.threads.list(this.#project, { ...SNAPSHOT, filter: this.#filter, viewer });
  }

  #covers(position: number): boolean {
    const oldest = this.#events[0]?.position ?? this.#position + 1;
    return position <= this.#position && position >= oldest - 1;
  }

  #id(position: number): string {
    return eventId({ epoch: this.#epoch, position });
  }

  #failed(err: unknown, sessions: Iterable<EventSession>): void {
    if (err instanceof StoreUnavailableError) {
      // What was read and not sent is read again.
      for (const session of sessions) if (session.position < this.#position) session.fallBehind();
      return;
    }
    this.#parts.log.error({ err, groupId: this.groupId }, 'a stream of threads failed');
    for (const session of [...sessions]) session.disconnect();
  }
}

const newEpoch = () => randomBytes(8).toString('hex');

/** Whether the filter shows the thread. */
function passes(thread: ThreadRecord, { groupId, location, resolved }: ThreadFilter): boolean {
  if (thread.groupId !== groupId || (resolved !== null && resolved !== (thread.resolvedAt !== null)))
    return false;
  if (location === null) return true;
  if (thread.location === null) return false;
  if (!location.partial) return thread.location === location.location;
  return locationMatches(parseJson(thread.location) as Location, parseJson(location.location) as Location);
}
