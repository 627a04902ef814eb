import { threadNotFound } from '../../core/conversation/conversation-errors.ts';
import type { ThreadChanges } from '../../store/ports/conversation-feed.ts';
import { MARKDOWN_END, type MessageRecord } from '../../store/ports/messages.ts';
import type { ThreadPosition, ThreadRecord } from '../../store/ports/threads.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import {
  appendedEvent,
  type EventPosition,
  eventId,
  messageEvent,
  messagesSnapshot,
  removedEvent,
  threadEvent,
} from '../../wire/conversation-events.ts';
import type { StreamEvent } from '../../wire/stream-event.ts';
import type { EventSession } from '../sessions/event-session.ts';
import { textOf } from '../text/events-text.ts';
import type { Text } from '../text/pieces.ts';
import { ConversationFeed, type FeedParts, NOWHERE } from './conversation-feed.ts';
import { ThreadTexts } from './thread-texts.ts';

/** Messages of a snapshot: as many as a page has by default, and fewer where they are long. */
const SNAPSHOT = { order: 'descending', after: null, limit: 50, maxBytes: 1_024 * 1_024 } as const;
/** Of how many messages the feed remembers the length, so that an append is sent as its text alone. */
const REMEMBERED_MAX = 1_000;

/** How long a message was when the feed last sent it. */
interface Remembered {
  readonly writtenPosition: number;
  readonly jsonLength: number;
}

/** A thread that is deleted and created again is another one, of another time if not of another group. */
export type FollowedThread = Pick<ThreadRecord, 'id' | 'groupId' | 'createdAt'>;

/** One event for all readers. */
interface FeedEvent {
  readonly position: number;
  readonly event: StreamEvent;
  /** The same for a reader who does not have the state before it; only of an append. */
  readonly whole?: StreamEvent;
  /** The thread's own: readers with client tokens get their `unread` with it. */
  readonly isThread?: true;
}

/**
 * The messages of one thread for all of its streams on this process. The store is the record of what changed: the feed
 * reads what came after its position whenever it is notified of a change, so every process sends the same events in the same
 * order, and a lost notification only delays them.
 */
export class MessageFeed extends ConversationFeed {
  readonly threadId: string;
  readonly groupId: string;
  readonly createdAt: number;
  readonly #remembered = new Map<string, Remembered>();
  /** How often the feed has begun again. What was read before it did leads to no position of now. */
  #beginnings = 0;

  constructor(project: ProjectKey, thread: FollowedThread, at: EventPosition, parts: FeedParts) {
    super(project, at, parts);
    this.threadId = thread.id;
    this.groupId = thread.groupId;
    this.createdAt = thread.createdAt;
  }

  /** Reads and sends what came after the feed's position. */
  changed(): void {
    void this.update.request();
  }

  isAt(at: ThreadPosition | undefined): boolean {
    return at?.epoch === this.at.epoch && at.position === this.at.position;
  }

  protected begin(): Promise<void> {
    return this.update.request();
  }

  protected covers(position: number): boolean {
    return position <= this.at.position;
  }

  /** Sends a bounded piece of what came after the reader's position. */
  protected async sendMissed(session: EventSession): Promise<void> {
    const beginning = this.#beginnings;
    const changes = await this.#changesSince(session.position);
    if (changes.kind === 'threadAbsent') {
      session.end(threadNotFound(this.threadId));
    } else if (changes.epoch !== this.at.epoch) {
      await this.update.request();
    } else if (changes.kind === 'gone') {
      session.write(await this.snapshot(session));
    } else {
      const events = this.#eventsOf(changes, session.position);
      const text = this.#textFor(session, events, NOWHERE, await this.#threadTexts(changes, [session]));
      session.position = this.#positionRead(changes.position, beginning);
      session.write(text);
    }
  }

  protected async read(): Promise<void> {
    try {
      if (await this.#readOnce()) void this.update.request();
    } catch (error) {
      this.failed(error, this.sessions);
    }
  }

  /** Reads and sends what came after the feed's position. Whether there may be more. */
  async #readOnce(): Promise<boolean> {
    if (this.sessions.size === 0) return false;
    const { position, epoch } = this.at;
    const changes = await this.#changesSince(position);
    if (changes.kind === 'threadAbsent') {
      this.#endAll();
      return false;
    }
    if (changes.kind === 'gone' || changes.epoch !== epoch) {
      await this.#beginAgain();
      return false;
    }
    if (changes.position === position) return false;
    const events = this.#eventsOf(changes, position);
    for (const message of changes.messages) this.#remember(message);
    for (const { id } of changes.removed) this.#remembered.delete(id);
    this.at = { epoch, position: changes.position };
    await this.#send(events, position, changes);
    return true;
  }

  /**
   * Each reader gets a snapshot: what came after the feed's position is not stored, the store came back older, or the thread has
   * another epoch, as after `rollcall new-epoch`. Those of a thread that was deleted, and created again, get the end instead.
   */
  async #beginAgain(): Promise<void> {
    const { store, reads } = this.parts;
    const ids = [this.threadId];
    const positions = await reads.run(this.project, () =>
      store.conversationFeed.positions(this.project, ids),
    );
    const at = positions.get(this.threadId);
    if (at === undefined) return this.#endAll();
    this.#remembered.clear();
    this.#beginnings += 1;
    this.at = at;
    this.restartAll();
    this.tick();
  }

  /** Where a reader is who has what was read: nowhere, if the feed has begun again meanwhile. */
  #positionRead(position: number, beginning: number): number {
    return beginning === this.#beginnings ? position : NOWHERE;
  }

  #changesSince(position: number) {
    const { store, reads } = this.parts;
    return reads.run(this.project, () =>
      store.conversationFeed.changesSince(this.project, this.threadId, position),
    );
  }

  #eventsOf(changes: ThreadChanges, after: number): FeedEvent[] {
    const { epoch, messages, removed, thread, threadPosition } = changes;
    const id = (position: number) => eventId({ epoch, position });
    const owner = { threadId: this.threadId, groupId: this.groupId };
    const events: FeedEvent[] = messages.map((message) => {
      const { position } = message;
      const whole = messageEvent(message, owner, id(position));
      const appended = this.#appended(message);
      if (appended === null) return { position, event: whole };
      return {
        position,
        event: appendedEvent(message.id, appended, message.markdownLength as number, id(position)),
        whole,
      };
    });
    for (const { id: messageId, position } of removed) {
      events.push({ position, event: removedEvent(messageId, id(position)) });
    }
    // Where the changes are a part, a later part has it: a reader who resumes from its ID has everything before.
    if (threadPosition > after && threadPosition <= changes.position)
      events.push({
        position: threadPosition,
        event: threadEvent(thread, id(threadPosition)),
        isThread: true,
      });
    return events.sort((a, b) => a.position - b.position);
  }

  /** The text appended since the feed sent the message, escaped; null where it was changed otherwise. */
  #appended({ id, content, writtenPosition, markdownLength, deletedAt }: MessageRecord): string | null {
    const before = this.#remembered.get(id);
    if (before?.writtenPosition !== writtenPosition || markdownLength === null || deletedAt !== null)
      return null;
    return content.slice(before.jsonLength - MARKDOWN_END.length, -MARKDOWN_END.length);
  }

  #remember({ id, writtenPosition, content }: MessageRecord): void {
    this.#remembered.delete(id);
    this.#remembered.set(id, { writtenPosition, jsonLength: content.length });
    if (this.#remembered.size <= REMEMBERED_MAX) return;
    const [oldest] = this.#remembered.keys();
    this.#remembered.delete(oldest as string);
  }

  /** Readers who have everything up to `from` are sent the same bytes, unless the thread's `unread` is among them. */
  async #send(events: readonly FeedEvent[], from: number, changes: ThreadChanges): Promise<void> {
    const level = textOf(events.map(({ event }) => event));
    const hasThread = events.some(({ isThread }) => isThread);
    const texts = hasThread ? await this.#threadTexts(changes, this.sessions) : null;
    await this.sendAll(from, (session) => {
      const isAlike = session.position === from && (texts === null || texts.unreadOf(session) === null);
      return isAlike ? level : this.#textFor(session, events, from, texts);
    });
  }

  #threadTexts({ thread, epoch, threadPosition: position }: ThreadChanges, sessions: Iterable<EventSession>) {
    return ThreadTexts.of(this.parts, this.project, thread, eventId({ epoch, position }), sessions);
  }

  /** A reader who began in between has a part of the events: an append to what it has is sent as the whole message. */
  #textFor(
    session: EventSession,
    events: readonly FeedEvent[],
    from: number,
    texts: ThreadTexts | null,
  ): Text {
    const due = events.filter(({ position }) => position > session.position);
    const own = due.map(({ isThread, event, whole = event }) => {
      if (isThread === true && texts !== null) return texts.for(session);
      return session.position > from ? whole : event;
    });
    return textOf(own);
  }

  /** The newest messages, for one reader, who has everything up to the position that they are of. */
  protected async snapshot(session: EventSession): Promise<Text> {
    const { store, reads, pageTokens } = this.parts;
    const viewer = session.request.viewer?.userId ?? null;
    const list = { ...SNAPSHOT, limit: session.request.snapshotLimit ?? SNAPSHOT.limit };
    const beginning = this.#beginnings;
    const read = async () => {
      const messages = await store.messages.list(this.project, this.threadId, list);
      // Read second, the thread has every change up to the position of the messages: no event has these changes.
      return [messages, await store.threads.find(this.project, this.threadId, viewer)] as const;
    };
    const [page, thread] = await reads.runLong(
      this.project,
      read,
      ([found]) => found?.messages.map(({ content }) => content) ?? [],
    );
    // Another one was made in place of the feed's thread.
    if (page === null || thread?.groupId !== this.groupId || thread.createdAt !== this.createdAt) {
      session.end(threadNotFound(this.threadId));
      return textOf([]);
    }
    session.position = this.#positionRead(page.at.position, beginning);
    if (session.position === this.at.position) for (const message of page.messages) this.#remember(message);
    const listName = [this.project, 'messages', this.threadId, 'descending'];
    const token = pageTokens.next(listName, page.last);
    return textOf([messagesSnapshot(thread, page.messages, token, eventId(page.at))]);
  }

  #endAll(): void {
    for (const session of [...this.sessions]) session.end(threadNotFound(this.threadId));
  }

  protected logFailure(err: unknown): void {
    this.parts.log.error(
      { err, threadId: this.threadId },
      'a stream of messages failed and is closed; its client reconnects and resumes',
    );
  }
}
