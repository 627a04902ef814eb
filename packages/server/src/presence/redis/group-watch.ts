import { hash } from 'node:crypto';
import type { PresenceEvent, PresencePosition, PresenceWatcher } from '../presence-store.ts';
import { CHECKSUM_LENGTH } from './presence-scripts.ts';

/** A message of a group's channel. */
export interface GroupMessage {
  readonly epoch: string;
  /** The event's, or where there is none that of the last one; -1 where the epoch has ended. */
  readonly offset: number;
  readonly event: PresenceEvent | null;
  /** Of the event's text: see lua/group.lua. */
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

/** The event of a text of JSON. The time of its caller, which makes texts differ, is no part of it. */
export function readEvent(text: string): PresenceEvent {
  const { now: _now, ...event } = JSON.parse(text);
  return event;
}

const checksumOf = (text: string) => hash('sha1', text, 'hex').slice(0, CHECKSUM_LENGTH);

/** What a stranger published as an event would throw far from here. */
function isEvent(event: Readonly<Record<string, unknown>>): boolean {
  const areTexts = (...names: string[]) => names.every((name) => typeof event[name] === 'string');
  switch (event.type) {
    case 'placed':
      return areTexts('userId', 'location') && Number.isSafeInteger(event.incarnation);
    case 'left':
      return areTexts('userId', 'location');
    case 'durable':
      return areTexts('userId', 'location') && Number.isSafeInteger(event.at);
    case 'removed':
    case 'users':
      return Array.isArray(event.userIds);
    default:
      return event.type === 'group' || event.type === 'gone';
  }
}

/**
 * One watcher's view of a group's channel: from its position on, in order, without a gap. Messages come before the
 * position is known, as the channel is heard first; they wait for it.
 */
export class GroupWatch {
  readonly #watcher: PresenceWatcher;
  #position: PresencePosition | null = null;
  #waiting: GroupMessage[] = [];
  /** Whether a message of the epoch has come: until then, another epoch is an earlier one. */
  #isHeard = false;
  /** Whether every message of before the position has come: then none has an offset that is known already. */
  #isSettled = false;
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
  settle(): void {
    this.#isSettled = true;
  }

  /** Tells what has come after the position, and from now on at once. */
  begin(position: PresencePosition): void {
    this.#position = position;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const message of waiting) this.hear(message);
  }

  hear(message: GroupMessage): void {
    if (this.#isOver) return;
    if (this.#position === null) {
      this.#waiting.push(message);
      return;
    }
    const { epoch, offset } = this.#position;
    if (message.epoch === epoch) this.#isHeard = true;
    else if (!this.#isHeard) return;
    const isNext = message.event !== null && message.offset === offset + 1;
    // The engine counts an offset again that it has lost.
    const isRecounted = this.#isSettled && message.event !== null && message.offset <= offset;
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
    // Whoever has no position yet gets no watch: that is told where it was asked for.
    if (this.#position !== null) this.#watcher.onLost();
  }
}
