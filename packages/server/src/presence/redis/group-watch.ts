import { hash } from 'node:crypto';
import type { PresenceEvent, PresencePosition, PresenceWatcher } from '../presence-store.ts';
import { CHECKSUM_LENGTH } from './presence-scripts.ts';

export interface GroupMessage {
  readonly epoch: string;
  /** The event's, or where there is none that of the last one; -1 where the epoch has ended. */
  readonly offset: number;
  readonly event: PresenceEvent | null;
  /** Of the event's text: see lua/group-history.lua. */
  readonly checksum: string;
}

const SHAPE = /^([A-Za-z0-9_]{1,64}) (-?\d+) /;

/** Reads `epoch offset event`, the last of it JSON or nothing; null where it is something else. */
export function readMessage(text: string): GroupMessage | null {
  const [start = '', epoch = '', offset] = SHAPE.exec(text) ?? [];
  if (start === '') return null;
  try {
    const event = start.length === text.length ? null : readEvent(text.slice(start.length));
    const checksum = event === null ? '' : checksumOf(text.slice(start.length));
    return event === null || isEvent(event) ? { epoch, offset: Number(offset), event, checksum } : null;
  } catch {
    return null;
  }
}

/** The event of a text of JSON, without the time of its caller, which makes texts differ. */
export function readEvent(text: string): PresenceEvent {
  const { now: _now, ...event } = JSON.parse(text);
  return event;
}

const checksumOf = (text: string) => hash('sha1', text, 'hex').slice(0, CHECKSUM_LENGTH);

/** Validates a message: an invalid event of a foreign client would throw far from here. */
function isEvent(event: Readonly<Record<string, unknown>>): boolean {
  const areTexts = (...names: string[]) => names.every((name) => typeof event[name] === 'string');
  switch (event.type) {
    case 'arrived':
      return areTexts('userId', 'location') && Number.isSafeInteger(event.incarnation);
    case 'data':
      return areTexts('userId', 'location') && (event.data === null || areTexts('data'));
    case 'releasing':
      return areTexts('userId', 'connection');
    case 'departed':
      return areTexts('userId', 'location');
    case 'durable':
      return areTexts('userId', 'location') && Number.isSafeInteger(event.at);
    case 'usersRemoved':
    case 'users':
    case 'profiles':
      return Array.isArray(event.userIds);
    default:
      return event.type === 'group' || event.type === 'groupRemoved';
  }
}

/**
 * One watcher's view of a group's channel: from its position on, in order, without a gap. The channel is subscribed to
 * before the position is known; messages that come before it wait.
 */
export class GroupWatch {
  readonly #watcher: PresenceWatcher;
  #position: PresencePosition | null = null;
  #waiting: GroupMessage[] = [];
  /** Whether every message of before the position has come: no later one has a known offset, or is of an earlier epoch. */
  #isDrained = false;
  #isOver = false;

  constructor(watcher: PresenceWatcher) {
    this.#watcher = watcher;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Of the last event that came. */
  get position(): PresencePosition | null {
    return this.#position;
  }

  /** To be called when all that was published before the position has come. */
  drained(): void {
    this.#isDrained = true;
  }

  /** Passes on what came after the position, and from now on each message at once. */
  begin(position: PresencePosition): void {
    this.#position = position;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const message of waiting) this.receive(message);
  }

  receive(message: GroupMessage): void {
    if (this.#isOver) return;
    if (this.#position === null) {
      this.#waiting.push(message);
      return;
    }
    const { epoch, offset } = this.#position;
    if (message.epoch !== epoch && !this.#isDrained) return;
    const isNext = message.event !== null && message.offset === offset + 1;
    // The engine counts an offset again that it has lost.
    const isRecounted = this.#isDrained && message.event !== null && message.offset <= offset;
    const isGap = message.offset > offset && !isNext;
    if (message.epoch !== epoch || message.offset < 0 || isGap || isRecounted) {
      this.lose();
    } else if (isNext) {
      this.#position = { epoch, offset: message.offset, checksum: message.checksum };
      this.#watcher.onEvent(message.offset, message.event as PresenceEvent, message.checksum);
    }
  }

  end(): void {
    this.#isOver = true;
    this.#waiting = [];
  }

  lose(): void {
    if (this.#isOver) return;
    this.end();
    // Without a position there is no watch yet: the call that opens it rejects.
    if (this.#position !== null) this.#watcher.onLost();
  }
}
