import { randomBytes } from 'node:crypto';
import type { ProjectKey } from '../../values/project-key.ts';
import {
  HISTORY_LENGTH,
  HISTORY_MAX_LENGTH,
  type NumberedEvent,
  type PresenceEvent,
  type PresencePosition,
  type PresenceScope,
  type PresenceWatch,
  type PresenceWatcher,
  WATCH_LEASE_MS,
} from '../presence-store.ts';
import { detachString } from './detach.ts';

/** A watcher of the events after `after`. */
interface WatcherState {
  readonly watcher: PresenceWatcher;
  readonly after: number;
}

/** The last events of a watched group, and the watchers of the next ones. */
export class GroupLog implements PresenceScope {
  readonly project: ProjectKey;
  readonly groupId: string;
  readonly #epoch = randomBytes(8).toString('hex');
  #leaseEndsAt: number;
  #offset = 0;
  #publishedTo = 0;
  /** The event with offset n is at n % HISTORY_LENGTH; null when the log has ended. */
  #history: (PresenceEvent | undefined)[] | null = [];
  /** How many events the history has, and how much text. */
  #count = 0;
  #textLength = 0;
  readonly #watching = new Set<WatcherState>();
  /** Events to be delivered. A watcher that makes a change in its call receives it after all have received this event. */
  readonly #undelivered: NumberedEvent[] = [];

  constructor({ project, groupId }: PresenceScope, now: number) {
    this.project = project;
    this.groupId = detachString(groupId);
    this.#leaseEndsAt = now + WATCH_LEASE_MS;
  }

  get offset(): number {
    return this.#offset;
  }

  isWatched(now: number): boolean {
    return this.#leaseEndsAt > now;
  }

  renew(now: number): void {
    this.#leaseEndsAt = Math.max(this.#leaseEndsAt, now + WATCH_LEASE_MS);
  }

  /** With `upTo` does nothing where that position of the record, or a greater one, was published. */
  append(event: PresenceEvent, upTo?: number): void {
    if (this.#history === null || (upTo !== undefined && upTo <= this.#publishedTo)) return;
    this.#publishedTo = upTo ?? this.#publishedTo;
    if (this.#count === HISTORY_LENGTH) this.#dropOldest(this.#history);
    this.#offset += 1;
    this.#history[this.#offset % HISTORY_LENGTH] = event;
    this.#count += 1;
    this.#textLength += textLength(event);
    while (this.#count > 1 && this.#textLength > HISTORY_MAX_LENGTH) this.#dropOldest(this.#history);
    if (this.#watching.size === 0) return;
    this.#undelivered.push([this.#offset, event]);
    if (this.#undelivered.length === 1) this.#deliver();
  }

  /** @param renew called when the watch is renewed */
  watch(watcher: PresenceWatcher, renew: (now: number) => void): PresenceWatch {
    const watching: WatcherState = { watcher, after: this.#offset };
    this.#watching.add(watching);
    return {
      position: { epoch: this.#epoch, offset: this.#offset },
      since: async (position) => this.#since(position),
      renew: async (now) => renew(now),
      close: () => void this.#watching.delete(watching),
    };
  }

  /** Ends the log: its watches are lost, and none of its positions can be resumed. */
  end(): void {
    this.#history = null;
    for (const watching of this.#watching) {
      this.#watching.delete(watching);
      watching.watcher.onLost();
    }
  }

  #since({ epoch, offset }: PresencePosition): NumberedEvent[] | null {
    const missed = this.#offset - offset;
    if (this.#history === null || epoch !== this.#epoch || missed < 0 || missed > this.#count) return null;
    const events: NumberedEvent[] = [];
    for (let next = offset + 1; next <= this.#offset; next += 1) {
      events.push([next, this.#history[next % HISTORY_LENGTH] as PresenceEvent]);
    }
    return events;
  }

  #dropOldest(history: (PresenceEvent | undefined)[]): void {
    const index = (this.#offset - this.#count + 1) % HISTORY_LENGTH;
    this.#textLength -= textLength(history[index] as PresenceEvent);
    history[index] = undefined;
    this.#count -= 1;
  }

  #deliver(): void {
    try {
      // Events that are appended meanwhile are delivered by this loop.
      for (const [offset, event] of this.#undelivered) {
        for (const { watcher, after } of this.#watching) if (offset > after) watcher.onEvent(offset, event);
      }
    } finally {
      this.#undelivered.length = 0;
    }
  }
}

/** The length of the locations, data and user IDs of an event; the rest is short. */
function textLength(event: PresenceEvent): number {
  if ('userIds' in event) return event.userIds.reduce((sum, id) => sum + id.length, 0);
  if (!('location' in event)) return 0;
  const from = 'from' in event ? (event.from?.length ?? 0) : 0;
  const data = 'data' in event ? (event.data?.length ?? 0) : 0;
  return event.userId.length + event.location.length + from + data;
}
