import { threadNotFound } from '../../core/conversation-errors.ts';
import type { ThreadChanges } from '../../store/ports/conversation-feed.ts';
import { MARKDOWN_END, type MessageRecord } from '../../store/ports/messages.ts';
import { StoreUnavailableError } from '../../values/engine-errors.ts';
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
import { heartbeatText } from '../../wire/event-text.ts';
import type { ConversationFeed } from './conversation-feed.ts';
import type { EventSession, EventSource } from './event-session.ts';
import { type FeedParts, Repeated } from './feed-parts.ts';

/** Messages of a snapshot: as many as a page has by default, and fewer where they are long. */
const SNAPSHOT = { order: 'descending', after: null, limit: 50, maxBytes: 1_024 * 1_024 } as const;
/** Of how many messages the feed remembers the length, so that an append is sent as its text alone. */
const REMEMBERED_MAX = 1_000;

/** The position of a reader who needs a snapshot. */
const NOWHERE = -1;

/** How long a message was when the feed last sent it. */
interface Remembered {
  readonly writtenPosition: number;
  readonly jsonLength: number;
}

/** One event for all readers. */
interface FeedEvent {
  readonly position: number;
  readonly text: string;
  /** The same for a reader who does not have the state before it; only of an append. */
  readonly whole?: string;
}

/**
 * The messages of one thread for all of its streams on this process. The store is the record of what changed: the feed
 * reads what came after its position whenever it is notified of a change, so every process sends the same events in the same
 * order, and a lost notification only delays them.
 */
export class MessageFeed implements ConversationFeed, EventSource {
  readonly sessions = new Set<EventSession>();
  readonly groupId: string;
  idleSince: number | null;
  readonly #project: ProjectKey;
  readonly #threadId: string;
  readonly #parts: FeedParts;
  readonly #remembered = new Map<string, Remembered>();
  readonly #update = new Repeated(() => this.#read());
  #at: EventPosition;

  constructor(
    project: ProjectKey,
    thread: { id: string; groupId: string },
    at: EventPosition,
    parts: FeedParts,
  ) {
    this.#project = project;
    this.#threadId = thread.id;
    this.groupId = thread.groupId;
    this.#at = at;
    this.#parts = parts;
    this.idleSince = parts.clock.now();
  }

  /** Adds a reader, who resumes from a position where that can be, and begins with a snapshot otherwise. */
  async join(session: EventSession, from: EventPosition | null): Promise<void> {
    this.sessions.add(session);
    this.idleSince = null;
    await this.#update.request();
    if (session.ending !== null) return;
    const resumes = from !== null && from.epoch === this.#at.epoch && from.position <= this.#at.position;
    if (resumes) session.position = from.position;
    else session.opening = await this.#snapshot(session);
  }

  ended(session: EventSession): void {
    this.sessions.delete(session);
    if (this.sessions.size === 0) this.idleSince = this.#parts.clock.now();
    this.#parts.ended(session);
  }

  changed(): void {
    void this.#update.request();
  }

  revalidate(): void {
    for (const session of this.sessions) session.resume();
    void this.#update.request();
  }

  heartbeat(): void {
    const text = Buffer.from(heartbeatText(eventId(this.#at)));
    for (const session of [...this.sessions])
      session.heartbeat(session.position === this.#at.position ? text : null);
  }

  async catchUp(session: EventSession): Promise<void> {
    try {
      while (session.ending === null && !session.isFull) {
        // What comes after the feed's position is sent to all.
        if (session.position >= this.#at.position) return session.caughtUp();
        await this.#sendMissed(session);
      }
    } catch (error) {
      this.#failed(error, [session]);
    }
  }

  /** Sends a bounded piece of what came after the reader's position. */
  async #sendMissed(session: EventSession): Promise<void> {
    const { conversationFeed } = this.#parts.store;
    const changes = await conversationFeed.changesSince(this.#project, this.#threadId, session.position);
    if (changes.kind === 'threadAbsent') session.end(threadNotFound(this.#threadId));
    else if (changes.epoch !== this.#at.epoch) session.end(threadNotFound(this.#threadId));
    else if (changes.kind === 'gone') {
      session.write(await this.#snapshot(session));
    } else {
      const events = this.#eventsOf(changes, session.position).map(({ text, whole = text }) => whole);
      session.position = changes.position;
      session.write(Buffer.from(events.join('')));
    }
  }

  async #read(): Promise<void> {
    try {
      if (await this.#readOnce()) void this.#update.request();
    } catch (error) {
      this.#failed(error, this.sessions);
    }
  }

  /** Reads and sends what came after the feed's position. Whether there may be more. */
  async #readOnce(): Promise<boolean> {
    if (this.sessions.size === 0) return false;
    const { position, epoch } = this.#at;
    const { conversationFeed } = this.#parts.store;
    const changes = await conversationFeed.changesSince(this.#project, this.#threadId, position);
    if (changes.kind === 'threadAbsent') {
      this.#endAll();
      return false;
    }
    // The thread is another one of the same ID.
    if (changes.epoch !== epoch) {
      this.#endAll();
      return false;
    }
    if (changes.kind === 'gone') {
      this.#remembered.clear();
      const positions = await conversationFeed.positions(this.#project, [this.#threadId]);
      const at = positions.get(this.#threadId);
      if (at?.epoch !== epoch) this.#endAll();
      else {
        this.#at = at;
        for (const session of this.sessions)
          if (session.isBehind) session.position = NOWHERE;
          else session.write(await this.#snapshot(session));
      }
      return false;
    }
    if (changes.position === position) return false;
    const events = this.#eventsOf(changes, position);
    for (const message of changes.messages) this.#remember(message);
    for (const { id } of changes.removed) this.#remembered.delete(id);
    this.#at = { epoch, position: changes.position };
    await this.#send(events, position, changes);
    return true;
  }

  #eventsOf({ epoch, messages, removed, thread, threadPosition }: ThreadChanges, after: number): FeedEvent[] {
    const id = (position: number) => eventId({ epoch, position });
    const owner = { threadId: this.#threadId, groupId: this.groupId };
    const events: FeedEvent[] = messages.map((message) => {
      const { position } = message;
      const whole = messageEvent(message, owner, id(position));
      const appended = this.#appended(message);
      if (appended === null) return { position, text: whole };
      return {
        position,
        text: appendedEvent(message.id, appended, message.markdownLength as number, id(position)),
        whole,
      };
    });
    for (const { id: messageId, position } of removed) {
      events.push({ position, text: removedEvent(messageId, id(position)) });
    }
    if (threadPosition > after)
      events.push({ position: threadPosition, text: threadEvent(thread, id(threadPosition)) });
    return events.sort((a, b) => a.position - b.position);
  }

  /** What was appended since the feed sent the message, escaped; null where it was changed otherwise. */
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

  /** Readers who have everything up to `from` are sent the same bytes. */
  async #send(events: readonly FeedEvent[], from: number, { position, threadPosition }: ThreadChanges) {
    const level = Buffer.from(events.map(({ text }) => text).join(''));
    for (const session of [...this.sessions]) {
      if (session.isBehind || session.position >= position) continue;
      const viewer = session.request.viewer?.userId;
      if (viewer !== undefined && threadPosition > from) {
        const text = await this.#threadFor(
          viewer,
          eventId({ epoch: this.#at.epoch, position: threadPosition }),
        );
        const own = events.map((event) =>
          event.position === threadPosition ? { ...event, text: text ?? event.text } : event,
        );
        session.send(this.#textFor(session, own, from), position);
      } else session.send(session.position === from ? level : this.#textFor(session, events, from), position);
    }
  }

  /** A reader who began in between has a part of the events: an append to what it has is sent as the whole message. */
  #textFor(session: EventSession, events: readonly FeedEvent[], from: number): Buffer {
    const due = events.filter((event) => event.position > session.position);
    const texts = due.map(({ text, whole = text }) => (session.position > from ? whole : text));
    return Buffer.from(texts.join(''));
  }

  async #threadFor(viewer: string, id: string): Promise<string | null> {
    const thread = await this.#parts.store.threads.find(this.#project, this.#threadId, viewer);
    return thread === null ? null : threadEvent(thread, id);
  }

  /** The newest messages, for one reader, who has everything up to the position that they are of. */
  async #snapshot(session: EventSession): Promise<Buffer> {
    const { store, pageTokens } = this.#parts;
    const viewer = session.request.viewer?.userId ?? null;
    const [page, thread] = await Promise.all([
      store.messages.list(this.#project, this.#threadId, SNAPSHOT),
      store.threads.find(this.#project, this.#threadId, viewer),
    ]);
    if (page === null || thread === null || page.at.epoch !== this.#at.epoch) {
      session.end(threadNotFound(this.#threadId));
      return Buffer.alloc(0);
    }
    session.position = page.at.position;
    if (page.at.position === this.#at.position) for (const message of page.messages) this.#remember(message);
    const list = [this.#project, 'messages', this.#threadId, 'descending'];
    const token = page.last === null ? null : pageTokens.issue(list, page.last);
    return Buffer.from(messagesSnapshot(thread, page.messages, token, eventId(page.at)));
  }

  #endAll(): void {
    for (const session of [...this.sessions]) session.end(threadNotFound(this.#threadId));
  }

  /** Where the store is away, the next revalidation goes on; another failure ends the streams, which come back. */
  #failed(err: unknown, sessions: Iterable<EventSession>): void {
    if (err instanceof StoreUnavailableError) {
      // What was read and not sent is read again.
      for (const session of sessions) if (session.position < this.#at.position) session.fallBehind();
      return;
    }
    this.#parts.log.error({ err, threadId: this.#threadId }, 'a stream of messages failed');
    for (const session of [...sessions]) session.disconnect();
  }
}
