import { randomBytes } from 'node:crypto';
import type { ThreadFilter, ThreadPage, ThreadRecord } from '../../store/ports/threads.ts';
import type { Revision } from '../../store/precondition.ts';
import { locationTest } from '../../values/location-pairs.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import { eventId, removedEvent, threadEvent, threadsSnapshot } from '../../wire/conversation-events.ts';
import type { StreamEvent } from '../../wire/stream-event.ts';
import type { EventSession } from '../sessions/event-session.ts';
import { textOf } from '../text/events-text.ts';
import type { Text } from '../text/pieces.ts';
import { ConversationFeed, type FeedParts, NOWHERE } from './conversation-feed.ts';
import type { Differences } from './revision-walk.ts';
import { ThreadTexts } from './thread-texts.ts';

/** Threads of a snapshot, and bytes of their texts at most. A reader who missed more threads gets a snapshot. */
const SNAPSHOT = { after: null, limit: 50, maxBytes: 1_024 * 1_024 } as const;
/** Of how many threads the feed remembers what was sent, or that the filter hides them. */
const REMEMBERED_MAX = 1_000;
/** No revision: a reader's snapshot, or what it missed, has a thread that is not sent to the others yet. */
const SHOWN_TO_SOME = '';
/** How many events a returning reader can have missed: more than one reading finds. */
const STORED_EVENTS_MAX = 2_000;
/** Most changed threads that wait to be read; after more, each reader begins again with a snapshot. */
const WAITING_MAX = 1_000;

/** A thread changed, or left the list. */
interface ListEvent {
  readonly position: number;
  readonly threadId: string;
  /** Whether a reader with everything before it may have the thread. */
  readonly wasShown: boolean;
}

/**
 * The threads of one group that pass a filter, for all of its streams on this process. Changes are collected for up to a second
 * (the hub's tick), then each changed thread is read once.
 */
export class ThreadListFeed extends ConversationFeed {
  readonly #filter: ThreadFilter;
  readonly #passes: (thread: ThreadRecord) => boolean;
  readonly #listName: readonly (string | number)[];
  readonly #beginComparison: () => Promise<void>;
  /** With the revision that the thread had before, or null where it is sent in any case. */
  #waiting = new Map<string, Revision | null>();
  /** The revision that was sent last, or {@link SHOWN_TO_SOME}; null: the filter hides the thread. */
  readonly #sent = new Map<string, Revision | null>();
  /** Whether the filter hides every thread that is not in `#sent`; else a reader may have it from a page of the list. */
  #isSentComplete = false;
  readonly #events: ListEvent[] = [];
  /** Null until the feed has begun, and after changes were dropped: then each reader begins again with a snapshot. */
  #beginning: Promise<void> | null = null;

  /** `beginComparison` resolves when each later change of the group's threads will be found. */
  constructor(
    project: ProjectKey,
    filter: ThreadFilter,
    listName: readonly (string | number)[],
    parts: FeedParts,
    beginComparison: () => Promise<void>,
  ) {
    super(project, { epoch: newEpoch(), position: 0 }, parts);
    this.#filter = filter;
    this.#passes = threadTest(filter);
    this.#listName = listName;
    this.#beginComparison = beginComparison;
  }

  /** The thread is read with the next tick. */
  changed(threadId: string): void {
    this.#wait(threadId, null);
  }

  /**
   * What was recorded within a second is read at once; a thread that still has the revision that was known of it was recorded
   * before the list was read. With null each reader begins again with a snapshot.
   */
  recorded(threads: ReadonlyMap<string, Revision | null> | null): void {
    if (threads === null) this.#beginning = null;
    else
      for (const [threadId, known] of threads) if (!this.#waiting.has(threadId)) this.#wait(threadId, known);
    void this.update.request();
  }

  #wait(threadId: string, known: Revision | null): void {
    if (this.#waiting.size < WAITING_MAX || this.#waiting.has(threadId)) this.#waiting.set(threadId, known);
    else this.#beginning = null;
  }

  /** Reads those threads that were not sent as they are now. */
  compare(differences: Differences): void {
    for (const [threadId, revision] of differences) {
      // Each reader begins again with a snapshot, whatever else has changed.
      if (this.#beginning === null) return;
      if (this.#sent.get(threadId) !== revision) this.changed(threadId);
    }
  }

  /** Call it once a second. */
  override tick(): void {
    super.tick();
    if (this.#waiting.size > 0 || this.#beginning === null) void this.update.request();
  }

  protected async sendMissed(session: EventSession): Promise<void> {
    const missed = this.covers(session.position) ? this.#after(session.position) : null;
    if (missed === null || missed.length > SNAPSHOT.limit) session.write(await this.snapshot(session));
    else await this.#sendEvents(session, missed);
  }

  protected async read(): Promise<void> {
    // Later changes are read for the next reader, who may resume.
    if (this.sessions.size === 0) return;
    let changed: ReadonlyMap<string, Revision | null> = new Map();
    try {
      await this.begin();
      changed = this.#waiting;
      this.#waiting = new Map();
      const from = this.at.position;
      const threads = new Map<string, ThreadRecord | null>();
      for (const [threadId, known] of changed) {
        const thread = await this.#find(threadId, null);
        if (known !== null && thread?.revision === known && !this.#sent.has(threadId)) continue;
        threads.set(threadId, thread);
        this.#add(threadId, thread?.revision ?? null);
      }
      const events = this.#after(from);
      if (events.length > 0) await this.#send(events, threads);
    } catch (error) {
      for (const [threadId, known] of changed) this.#wait(threadId, known);
      this.failed(error, this.sessions);
    }
  }

  /** The thread with the `unread` of a client token's user, where the filter shows it. */
  async #find(threadId: string, viewer: string | null): Promise<ThreadRecord | null> {
    const { store, reads } = this.parts;
    const thread = await reads.run(this.project, () => store.threads.find(this.project, threadId, viewer));
    return thread !== null && this.#passes(thread) ? thread : null;
  }

  /** Adds an event, unless the thread is as it was sent, or is known to have been hidden before. */
  #add(threadId: string, revision: Revision | null): void {
    const sent = this.#sentOf(threadId);
    this.#remember(threadId, revision);
    if (sent === revision) return;
    const position = this.at.position + 1;
    this.at = { epoch: this.at.epoch, position };
    this.#events.push({ position, threadId, wasShown: sent !== null });
    if (this.#events.length > STORED_EVENTS_MAX) this.#events.shift();
  }

  /** Undefined where the feed does not know whether the filter hid the thread. */
  #sentOf(threadId: string): Revision | null | undefined {
    const sent = this.#sent.get(threadId);
    return sent === undefined && this.#isSentComplete ? null : sent;
  }

  #remember(threadId: string, revision: Revision | null): void {
    this.#sent.delete(threadId);
    if (revision !== null || !this.#isSentComplete) this.#sent.set(threadId, revision);
    if (this.#sent.size <= REMEMBERED_MAX) return;
    this.#isSentComplete = false;
    this.#sent.delete(this.#sent.keys().next().value as string);
  }

  /** A reader gets the threads as they are now. Where they are hidden at the next reading, all readers are sent that. */
  #showToSome(threads: Iterable<ThreadRecord>): void {
    for (const { id } of threads) if (this.#sentOf(id) === null) this.#remember(id, SHOWN_TO_SOME);
  }

  /** Sends the threads of these events as they were read. Readers whose texts are alike get the same bytes. */
  async #send(
    events: readonly ListEvent[],
    threads: ReadonlyMap<string, ThreadRecord | null>,
  ): Promise<void> {
    const texts: (ThreadTexts | null)[] = [];
    for (const event of events) {
      const thread = threads.get(event.threadId) ?? null;
      texts.push(thread === null ? null : await this.#textsOf(thread, event, this.sessions));
    }
    const made = new Map<string, Text>();
    const textFor = (session: EventSession): Text => {
      const key = `${session.position} ${texts.map((text) => text?.unreadOf(session))}`;
      const known = made.get(key);
      if (known !== undefined) return known;
      const own = events.flatMap((event, index) =>
        event.position > session.position ? [texts[index]?.for(session) ?? this.#event(event, null)] : [],
      );
      const text = textOf(own);
      made.set(key, text);
      return text;
    };
    await this.sendAll((events[0]?.position ?? 0) - 1, textFor);
  }

  #textsOf(thread: ThreadRecord, { position }: ListEvent, sessions: Iterable<EventSession>) {
    return ThreadTexts.of(this.parts, this.project, thread, this.idAt(position), sessions);
  }

  /** Sends the events as the threads are now. */
  async #sendEvents(session: EventSession, events: readonly ListEvent[]): Promise<void> {
    const { epoch, position } = this.at;
    const viewer = session.request.viewer?.userId ?? null;
    const changes: StreamEvent[] = [];
    for (const event of events) {
      const thread = await this.#find(event.threadId, viewer);
      if (thread !== null) this.#showToSome([thread]);
      if (thread !== null || event.wasShown) changes.push(this.#event(event, thread));
    }
    // Where the feed has begun again, the reader begins with a snapshot.
    if (epoch !== this.at.epoch) return;
    session.position = position;
    session.write(textOf(changes));
  }

  #event({ position, threadId }: ListEvent, thread: ThreadRecord | null): StreamEvent {
    return thread === null
      ? removedEvent(threadId, this.idAt(position))
      : threadEvent(thread, this.idAt(position));
  }

  protected async snapshot(session: EventSession): Promise<Text> {
    const { pageTokens } = this.parts;
    const viewer = session.request.viewer?.userId ?? null;
    const { epoch, position } = this.at;
    const { threads, last } = await this.#head(viewer);
    this.#showToSome(threads);
    // Changes from before the feed began again are read once more.
    session.position = epoch === this.at.epoch ? position : NOWHERE;
    const token = pageTokens.next([...this.#listName], last);
    return textOf([threadsSnapshot(threads, token, eventId({ epoch, position }))]);
  }

  /** The last event of each thread after a position, for a reader who has everything up to there. */
  #after(start: number): ListEvent[] {
    const events = this.#events.filter(({ position }) => position > start);
    const wasShown = new Map(events.toReversed().map((event) => [event.threadId, event.wasShown]));
    const latest = new Map(events.map((event) => [event.threadId, event]));
    return events
      .filter((event) => latest.get(event.threadId) === event)
      .map((event) => ({ ...event, wasShown: wasShown.get(event.threadId) !== false }));
  }

  /** Takes the head of the list as what is known, from which each reader's snapshot goes on. Idempotent. */
  protected begin(): Promise<void> {
    this.#beginning ??= this.#readBeginning().catch((error) => {
      this.#beginning = null;
      throw error;
    });
    return this.#beginning;
  }

  async #readBeginning(): Promise<void> {
    await this.#beginComparison();
    this.#waiting.clear();
    const { threads, last } = await this.#head(null);
    this.at = { epoch: newEpoch(), position: this.at.position };
    this.#sent.clear();
    this.#events.length = 0;
    for (const { id, revision } of threads) this.#sent.set(id, revision);
    this.#isSentComplete = last === null;
    this.restartAll();
  }

  #head(viewer: string | null): Promise<ThreadPage> {
    const { store, reads } = this.parts;
    const request = { ...SNAPSHOT, filter: this.#filter, viewer };
    return reads.runLong(
      this.project,
      () => store.threads.list(this.project, request),
      ({ threads }) => threads.map(({ metadata }) => metadata),
    );
  }

  protected covers(position: number): boolean {
    const oldest = this.#events[0]?.position ?? this.at.position + 1;
    return position <= this.at.position && position >= oldest - 1;
  }

  protected logFailure(err: unknown): void {
    this.parts.log.error(
      { err, groupId: this.#filter.groupId },
      'a stream of threads failed and is closed; its client reconnects and resumes',
    );
  }
}

const newEpoch = () => randomBytes(8).toString('hex');

function threadTest({ groupId, location, resolved }: ThreadFilter): (thread: ThreadRecord) => boolean {
  const passes = locationTest(location);
  return (thread) =>
    thread.groupId === groupId &&
    (resolved === null || resolved === (thread.resolvedAt !== null)) &&
    (location === null || (thread.location !== null && passes(thread.location)));
}
